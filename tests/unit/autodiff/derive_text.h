// SPDX-License-Identifier: MIT
// derive_text.h: does a derivative's text say all that its next derivative depends on?
//
// Each program and pipeline p of a module is differentiated in each mode, and the module g is
// printed and parsed again: g' == g, also in the binary form.  Then both are differentiated, and
// the two results must print the same bytes, except that intermediates of pipelines may begin in
// other places, workspaces and arrays be in another order (a text has parameters, then shared
// arrays), the factors of a length be in another order (equal lengths are stated as the first one
// was), and a function or program have another name everywhere: that means nothing.  What a pass
// left beside the text (a flag of a buffer, a role, a link) and a later pass read would make a
// difference here.
#ifndef VYRE_DERIVE_TEXT_H
#define VYRE_DERIVE_TEXT_H

#include "autodiff/grad.h"
#include "ir/core/ir.h"
#include "ir/pipeline.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct mode {
    const char *name;
    vy_grad_options options;
} mode;

static const mode modes[] = {
    {"grad", {0}},
    {"atomic", {.accumulate = VY_ACCUMULATE_ATOMIC}},
    {"again", {.again = true, .accumulate = VY_ACCUMULATE_ATOMIC}},
    {"sqrt", {.checkpoint = 1, .seed_buffer = true}},
    {"deterministic", {.deterministic = true, .with_value = true}},
    {"jvp", {.forward = true}},
};
enum { MODES = sizeof modes / sizeof *modes };

static int wrong, compared, refused; // over all modules

static vy_module *derive(const vy_module *m, const char *name, const mode *how, vy_diag *d)
{
    vy_grad_options o = how->options;
    o.program = name;
    o.plain_too = true; // it becomes a text
    *d = (vy_diag){0};
    return o.forward ? vy_jvp(m, &o, d) : vy_grad(m, &o, d);
}

static void report(const char *file, const char *name, const mode *a, const mode *b,
                   const char *what)
{
    printf("%s %s: %s%s%s: %s\n", file, name, a->name, b ? ", " : "", b ? b->name : "", what);
    wrong++;
}

static const char *root_of(const vy_module *g)
{
    const uint32_t n = vy_module_pipeline_count(g);
    if (n) return vy_pipeline_name(vy_module_pipeline(g, n - 1));
    return vy_program_name(vy_module_program(g, vy_module_program_count(g) - 1));
}

// With SHOW=1 in the environment: the first one, as a.vyre and b.vyre.
static void show_difference(const char *a, const char *b)
{
    if (!getenv("SHOW")) return;
    FILE *x = fopen("a.vyre", "w"), *y = fopen("b.vyre", "w");
    if (x && y) fputs(a, x), fputs(b, y);
    if (x) fclose(x);
    if (y) fclose(y);
    exit(1);
}

// One of the two texts.
typedef struct reader {
    const char *at;
    uint32_t lines; // read, whose place counts
    uint64_t begun; // sum over those whose place does not
} reader;

static uint64_t hash_of(const char *at, size_t n, uint64_t seed)
{
    uint64_t hash = 0xcbf29ce484222325ull + seed; // FNV-1a
    for (size_t k = 0; k < n; k++) hash = (hash ^ (uint8_t)at[k]) * 0x100000001b3ull;
    return hash;
}

static void add_line(reader *r, const char *at, size_t n, uint64_t seed)
{
    r->begun += hash_of(at, n, seed);
}

// Does the text begin with an opening parenthesis that its end closes?
static bool is_enclosed(const char *at, size_t n)
{
    size_t depth = 0;
    for (size_t k = 0; k < n; k++) {
        depth += at[k] == '(';
        depth -= at[k] == ')';
        if (!depth) return n > 1 && k == n - 1;
    }
    return false;
}

// Where the first operator outside parentheses is that is `one`, or with `other` any but that; n:
// there is none.
static size_t find_operator(const char *at, size_t n, char one, bool other)
{
    size_t depth = 0;
    for (size_t k = 0; k + 2 < n; k++) {
        depth += at[k] == '(';
        depth -= at[k] == ')';
        if (depth || at[k] != ' ' || at[k + 2] != ' ' || !strchr("+-*/%", at[k + 1])) continue;
        if ((at[k + 1] == one) != other) return k;
    }
    return n;
}

// The factors of a length, however they are put together.
static void add_factors(reader *r, const char *at, size_t n, uint64_t seed)
{
    while (is_enclosed(at, n)) at++, n -= 2;
    const size_t k = find_operator(at, n, '*', true) < n ? n : find_operator(at, n, '*', false);
    if (k == n) {
        add_line(r, at, n, seed);
        return;
    }
    add_factors(r, at, k, seed);
    add_factors(r, at + k + 3, n - k - 3, seed);
}

// `buffer a: f32[n * (b + c)];`, whose factors may be in any order.
static void add_buffer(reader *r, const char *at, size_t n)
{
    const char *open = memchr(at, '[', n);
    size_t from = open ? (size_t)(open - at) + 1 : n, to = n, depth = 0;
    while (to > from && at[to - 1] != ']') to--;
    add_line(r, at, from, 0);
    uint64_t axis = hash_of(at, from, 0);
    for (size_t k = from; k < to; k++) {
        depth += at[k] == '(';
        depth -= at[k] == ')';
        if (k < to - 1 && (depth || at[k] != ',')) continue;
        add_factors(r, at + from, k - from, ++axis);
        from = k + 2; // behind a comma and a space
    }
}

// `local v: f32[8];` is `local v: f32[8] undefined;` and `local v;` behind it.  Where it is cleared
// counts, but not among others that are cleared there.
static void add_local(reader *r, const char *at, size_t n)
{
    const char *colon = memchr(at, ':', n), *end = colon ? strchr(at, ']') + 1 : at + n - 1;
    if (colon) add_line(r, at, (size_t)(end - at), 0);
    if (*end == ';') add_line(r, at, (size_t)((colon ? colon : end) - at), r->lines + 1);
}

// Does its place count?  If not, adds it to r->begun.
static bool moves(reader *r, const char *at, size_t n)
{
    static const char *const words[] = {"buffer ", "@workspace ", "shared ", "local "};
    bool found = false;
    for (size_t k = 0; k < 4; k++) found |= strncmp(at, words[k], strlen(words[k])) == 0;
    if (!found) return false;
    if (*at == 'l') return add_local(r, at, n), true;
    if (*at == 'b') return add_buffer(r, at, n), true;
    if (*at == '@') // without the comma or bracket at its end
        while (n && strchr(",)", at[n - 1])) n--;
    add_line(r, at, n, 0);
    return true;
}

// The next line whose place counts.  NULL: there is none.
static const char *next_line(reader *r, size_t *n)
{
    while (*r->at) {
        const char *line = r->at, *at = line + strspn(line, " ");
        *n = strcspn(line, "\n");
        r->at += *n + (line[*n] == '\n');
        if (moves(r, at, *n - (size_t)(at - line))) continue;
        r->lines++;
        return line;
    }
    return NULL;
}

static size_t word_at(const char *at, const char *end)
{
    size_t n = 0;
    while (at + n < end && (isalnum((unsigned char)at[n]) || at[n] == '_')) n++;
    return n;
}

// A name without the number or the hash that keeps it apart from others.
static size_t stem_of(const char *word, size_t n)
{
    size_t digits = 0;
    while (digits < n && isxdigit((unsigned char)word[n - 1 - digits])) digits++;
    return digits && digits < n && word[n - 1 - digits] == '_' ? n - digits - 1 : n;
}

// What a function or program is called in each text: one name everywhere, and nothing else's.
typedef struct word {
    const char *at;
    size_t n;
} word;
typedef struct word_pair {
    word in[2];
} word_pair;
VY_VEC_TYPE(word_pairs, word_pair);

static bool same_word(word a, word b) { return a.n == b.n && memcmp(a.at, b.at, a.n) == 0; }

static bool same_name(word_pairs *names, word a, word b)
{
    const size_t stem = stem_of(a.at, a.n);
    if (stem != stem_of(b.at, b.n) || memcmp(a.at, b.at, stem) != 0) return false;
    if (stem == a.n && stem == b.n) return true;
    for (uint32_t k = 0; k < names->count; k++) {
        const bool x = same_word(names->data[k].in[0], a), y = same_word(names->data[k].in[1], b);
        if (x || y) return x && y;
    }
    return vy_vec_push(names, ((word_pair){{a, b}}));
}

// Are lines equal but for what functions and programs are called, whose names mean nothing?
static bool same_line(word_pairs *names, const char *p, size_t m, const char *q, size_t n)
{
    const char *a = p, *b = q, *last = p + m, *end = q + n;
    while (a < last && b < end) {
        const word x = {a, word_at(a, last)}, y = {b, word_at(b, end)};
        if (!x.n && !y.n) {
            if (*a++ != *b++) return false;
            continue;
        }
        const bool rule = a - p > 4 && (!memcmp(a - 5, "@vjp(", 5) || !memcmp(a - 5, "@jvp(", 5));
        const bool called =
            rule || (a + x.n < last && b + y.n < end && a[x.n] == '(' && b[y.n] == '(');
        if (called ? !same_name(names, x, y) : !same_word(x, y)) return false;
        a += x.n, b += y.n;
    }
    return a == last && b == end;
}

static bool same_text(const char *x, const char *y)
{
    reader a = {.at = x}, b = {.at = y};
    word_pairs names = {0};
    size_t m = 0, n = 0;
    const char *p, *q;
    do p = next_line(&a, &m), q = next_line(&b, &n);
    while (p && q && same_line(&names, p, m, q, n));
    vy_vec_free(&names);
    return !p && !q && a.begun == b.begun;
}

static void compare(const char *file, const char *name, const mode *first, const mode *then,
                    const vy_module *g, const vy_module *read)
{
    vy_diag da, db;
    vy_module *a = derive(g, root_of(g), then, &da), *b = derive(read, root_of(read), then, &db);
    char *x = a ? vy_print(a, NULL) : NULL, *y = b ? vy_print(b, NULL) : NULL;
    compared++;
    refused += !a && !b;
    if (!a != !b) {
        report(file, name, first, then, a ? "only the text is refused" : "only the text is not");
        printf("    %s %s\n", a ? db.code : da.code, a ? db.text : da.text);
    } else if (a && (!x || !y || !same_text(x, y))) {
        report(file, name, first, then, "the derivatives differ");
        if (x && y) show_difference(x, y);
    }
    free(x);
    free(y);
    vy_module_free(a);
    vy_module_free(b);
}

// A text names what has no name in the module; names are no part of what is compared.
static void drop_names_of(vy_program *p)
{
    for (uint32_t i = 0; i < p->insts.count; i++) p->insts.data[i].name = 0;
    uint32_t count[VY_LOCAL + 1] = {0};
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        const vy_buffer_class cls = p->buffers.data[i].cls;
        char text[30]; // two of one name are an error
        const int n = snprintf(text, sizeof text, "array%d_%u", (int)cls, count[cls]++);
        if (cls > VY_INOUT)
            p->buffers.data[i].name = vy_arena_strdup(&p->module->arena, text, (size_t)n);
    }
}

static void drop_names(vy_module *m)
{
    for (uint32_t k = 0; k < m->programs.count; k++) drop_names_of(m->programs.data[k]);
    for (uint32_t k = 0; k < m->functions.count; k++) drop_names_of(m->functions.data[k].code);
    for (uint32_t k = 0; k < m->pipelines.count; k++)
        for (uint32_t i = 0; i < m->pipelines.data[k]->steps.count; i++)
            if (m->pipelines.data[k]->steps.data[i].counter)
                m->pipelines.data[k]->steps.data[i].counter = "t";
}

static void check_mode(const char *file, const vy_module *m, const char *name, const mode *how)
{
    vy_diag d;
    vy_module *g = derive(m, name, how, &d);
    if (!g) return;
    size_t size = 0, bytes = 0;
    char *text = vy_print(g, &size);
    vy_module *read = text ? vy_parse(text, size, file) : NULL;
    void *binary = vy_binary_write(g, &bytes);
    vy_module *loaded = binary ? vy_binary_read(binary, bytes) : NULL;
    if (!read || !vy_module_ok(read)) {
        report(file, name, how, NULL, "its text is no program");
        if (read) printf("    %s\n", vy_module_diag(read)->text);
    } else {
        if (!vy_module_equal(g, read)) report(file, name, how, NULL, "its text is another module");
        if (!loaded || !vy_module_equal(g, loaded))
            report(file, name, how, NULL, "its binary form is another module");
        drop_names(g);
        drop_names(read);
        for (int k = 0; k < MODES; k++) compare(file, name, how, &modes[k], g, read);
    }
    free(text);
    free(binary);
    vy_module_free(loaded);
    vy_module_free(read);
    vy_module_free(g);
}

static void check_all(const char *file, const vy_module *m)
{
    for (int k = 0; k < MODES; k++) {
        for (uint32_t i = 0; i < vy_module_program_count(m); i++)
            check_mode(file, m, vy_program_name(vy_module_program(m, i)), &modes[k]);
        for (uint32_t i = 0; i < vy_module_pipeline_count(m); i++)
            check_mode(file, m, vy_pipeline_name(vy_module_pipeline(m, i)), &modes[k]);
    }
}

#endif
