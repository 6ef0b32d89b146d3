// SPDX-License-Identifier: MIT
// bind.c: --set and --in to values of parameters.
#include "tools/command/bind.h"

#include "tools/data/file.h"
#include "tools/data/number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const vys_words option_words = {
    .given = "--set",
    .scalar = {"add --set ", "=VALUE"},
    .data = {"add --in ", "=SPEC, for example --in ", "=ones"},
    .length = {"give it: --in ", "[N]=SPEC", "[N]=zeros"},
    .groups = "add --groups X,Y,Z",
    .no_groups = "leave --groups out",
    .select = {"name one with -p: ", "did you mean -p "},
    .tape = "raise --tape-limit, or run fewer invocations or iterations",
};

// ------------------------------------------------------------------------------------------- SPECs
// @DIR/, @FILE.npz
static bool parse_folder(specs *s, const char *option, const char *argument, vy_diag *d)
{
    const char *path = argument + 1;
    char fix[120];
    snprintf(fix, sizeof fix, "a folder ends in a slash: %s @%.80s/", option, path);
    if (!ends_in(path, "/") && strcmp(path, "/") && !ends_in(path, ".npz"))
        return fail(d, TOOL_SPEC, is_directory(path) ? fix : "write NAME=@FILE, @DIR/ or @FILE.npz",
                    "%s %s: expected NAME=SPEC, @DIR/ or @FILE.npz", option, argument);
    return names_add(&s->folders, path) || fail_memory(d);
}

bool specs_parse(specs *s, const char *option, const names *arguments, vy_diag *d)
{
    *s = (specs){0};
    if (!arguments->count) return true;
    s->data = calloc(arguments->count, sizeof *s->data);
    if (!s->data) return fail_memory(d);
    const bool folders = !strcmp(option, "--in") || !strcmp(option, "--out");
    for (uint32_t i = 0; i < arguments->count; i++) {
        const char *word = arguments->data[i];
        if (folders && word[0] == '@') {
            if (!parse_folder(s, option, word, d)) return false;
            continue;
        }
        spec *now = &s->data[s->count++];
        if (!spec_parse(now, option, word, d)) return false;
        if (!folders && now->kind == SPEC_STREAM) // they may be read again
            return fail(d, TOOL_SPEC, "write it into a file", "%s %s: --in alone reads stdin",
                        option, word);
        spec *first = specs_find(s, now->name);
        if (first != now) return fail(d, TOOL_USAGE, "", "%s gives %s twice", option, now->name);
    }
    return true;
}

bool outputs_parse(specs *s, const options *o, vy_diag *d)
{
    if (!specs_parse(s, "--out", &o->out, d)) return false;
    for (uint32_t i = 0; i < s->count; i++)
        s->data[i].frames = o->frames && s->data[i].kind == SPEC_PNG;
    return true;
}

bool specs_add(specs *s, spec now, vy_diag *d)
{
    spec *more = realloc(s->data, (s->count + 1) * sizeof *more);
    if (more) s->data = more;
    if (!more || !now.name || !now.text) {
        spec_free(&now);
        return fail_memory(d);
    }
    s->data[s->count++] = now;
    return true;
}

void specs_free(specs *s)
{
    for (uint32_t i = 0; i < s->count; i++) spec_free(&s->data[i]);
    spec_free(&s->fallback);
    names_free(&s->folders);
    free(s->data);
    *s = (specs){0};
}

spec *specs_find(const specs *s, const char *name)
{
    for (uint32_t i = 0; i < s->count; i++)
        if (!strcmp(s->data[i].name, name)) return &s->data[i];
    return NULL;
}

// ----------------------------------------------------------------------------------------- scalars
typedef struct assignment { // --set NAME=VALUE
    const char *word;
    char name[200];
    const char *value;
} assignment;

static bool set_scalar(binding *b, const assignment *a, const char *name, size_t length, vy_diag *d)
{
    bound_scalar *s = vys_binding_scalar(b, "--set", name, d);
    if (!s && d->severity == VY_ERROR && vy_program_has_constant(b->program, name))
        snprintf(d->fix, sizeof d->fix, "%.80s is a constant of the file: give -D %.80s", name,
                 a->word);
    if (!s) return false;
    if (s->known) return fail(d, TOOL_USAGE, "", "--set gives %s twice", s->info.name);
    vy_type type = b->f64 && vy_type_is_float(s->info.type) ? VY_F64 : s->info.type;
    const char *why = number_parse(type, a->value, length, &s->value);
    if (why)
        return fail(d, TOOL_DATA, "", "--set %s: %s (%s is %s)", a->word, why, s->info.name,
                    vy_type_name(s->info.type));
    s->known = true;
    return true;
}

static bool has_scalar(const binding *b, const char *name)
{
    return vy_program_find_scalar(b->program, name) != UINT32_MAX;
}

// Component `k` of a vector of a shader, NAME.k: a scalar, or one that nothing reads.
static bool is_component(const binding *b, const char *vector, uint32_t k, char name[220])
{
    snprintf(name, 220, "%s.%u", vector, k);
    return has_scalar(b, name) || vy_program_leaves_unread(b->program, name);
}

static bool set_vector(binding *b, assignment *a, vy_diag *d)
{
    char name[220];
    uint32_t n = 0, given = 0;
    while (is_component(b, a->name, n, name)) n++;
    for (;; a->value++) {
        const size_t length = strcspn(a->value, ",");
        if (given < n && is_component(b, a->name, given, name) && has_scalar(b, name) &&
            !set_scalar(b, a, name, length, d))
            return false;
        given++;
        a->value += length;
        if (!*a->value) break;
    }
    if (given == n) return true;
    return fail(d, TOOL_USAGE, "", "--set %s: %s has %u components, but %u are given", a->word,
                a->name, n, given);
}

bool binding_set(binding *b, const names *assignments, vy_diag *d)
{
    char first[220];
    for (uint32_t i = 0; i < assignments->count; i++) {
        assignment a = {.word = assignments->data[i]};
        const char *equals = strchr(a.word, '=');
        if (!equals || equals == a.word)
            return fail(d, TOOL_USAGE, NULL, "--set %s: expected NAME=VALUE", a.word);
        snprintf(a.name, sizeof a.name, "%.*s",
                 equals - a.word > 199 ? 199 : (int)(equals - a.word), a.word);
        a.value = equals + 1;
        if (!has_scalar(b, a.name) && is_component(b, a.name, 0, first)) {
            if (!set_vector(b, &a, d)) return false;
        } else if (has_scalar(b, a.name) || !vy_program_leaves_unread(b->program, a.name)) {
            if (!set_scalar(b, &a, a.name, strlen(a.value), d)) return false;
        }
    }
    return true;
}

// ----------------------------------------------------------------------------------------- buffers
// What a SPEC says about the shape of its buffer.
static bool take_shape(bound_buffer *buf, vy_diag *d)
{
    spec *s = buf->given;
    const uint32_t rank = buf->info.rank;
    uint64_t count = 0;
    if (spec_has_count(s) && !spec_count(s, buf->info.type, &count, d)) return false;
    if (s->has_shape) {
        if (s->rank != rank)
            return fail(d, TOOL_SHAPE, "", "%s has %u axes, but %u are given", buf->info.name, rank,
                        s->rank);
        memcpy(buf->value.shape, s->shape, sizeof s->shape);
        buf->state = VYS_SHAPE_FULL;
        return true;
    }
    if (!spec_has_count(s)) return true;
    // A file of the same rank has its own shape; anything else of rank 0 or 1 is taken as flat.
    const bool shaped = spec_is_file(s) && s->kind != SPEC_BIN;
    if (shaped && s->file.rank == rank) {
        memcpy(buf->value.shape, s->file.shape, sizeof s->file.shape);
        buf->state = VYS_SHAPE_FULL;
        return true;
    }
    if (shaped && s->file.rank > 1)
        return fail(d, TOOL_SHAPE,
                    s->kind == SPEC_PNG ? "a grey picture is [H, W], any other [H, W, 3]"
                                        : "reshape it, or make it flat",
                    "%s has %u axes, but %s has %u", buf->info.name, rank, s->text, s->file.rank);
    buf->flat = count;
    buf->value.shape[0] = count;
    buf->state = rank == 1 ? VYS_SHAPE_FULL : VYS_SHAPE_FLAT;
    return true;
}

bool binding_specs(binding *b, specs *in, const char *fallback, vy_diag *d)
{
    for (uint32_t i = 0; i < in->count; i++) {
        spec *s = &in->data[i];
        bound_buffer *buf = vys_binding_buffer(b, "--in", s->name, d);
        if (!buf) return false;
        if (buf->info.cls == VY_OUT && (s->kind != SPEC_CONST || strcmp(s->text, "0")))
            return fail(d, TOOL_DATA, "give only its shape: NAME[2,3]=zeros",
                        "%s is an `out` buffer: it starts as zeros", s->name);
        buf->given = s;
    }
    char assumed[80];
    snprintf(assumed, sizeof assumed, "fallback=%s", fallback ? fallback : "");
    if (fallback && !spec_parse(&in->fallback, "--in", assumed, d)) return false;
    if (!fallback && !vys_binding_given(b, d)) return false;
    for (uint32_t i = 0; i < b->buffer_count; i++) {
        bound_buffer *buf = &b->buffers[i];
        const bool needs = !buf->given && buf->info.cls != VY_OUT;
        if (needs && vy_type_is_float(buf->info.type)) buf->given = &in->fallback;
        if (buf->given && !take_shape(buf, d)) return false;
    }
    return true;
}

// `x[2,3]=1,2`: the count of a list or file and a shape given by hand.
static bool fill(bound_buffer *buf, vy_diag *d)
{
    spec *s = buf->given;
    uint64_t count = buf->value.count;
    if (spec_has_count(s) && !spec_count(s, buf->info.type, &count, d)) return false;
    if (count != buf->value.count)
        return fail(d, TOOL_SHAPE, "", "%s has %llu elements by its shape, but %llu are given",
                    buf->info.name, (unsigned long long)buf->value.count,
                    (unsigned long long)count);
    return spec_fill(s, buf->info.type, &buf->value, d);
}

bool binding_create(binding *b, vys_entry what, bool f64, vy_diag *d)
{
    const bool ok = vys_binding_create(b, what, f64, &option_words, d);
    b->fill = fill;
    return ok;
}

// -------------------------------------------------------------------------------------- cotangents
spec *specs_find_seed(const specs *ct, const vy_buffer_info *cotangent)
{
    // The tangent of an inout buffer that the caller did not give begins as zeros.
    if (cotangent->role.kind == VY_IS_TANGENT_OUT) return NULL;
    const char *of = vys_source_name(cotangent);
    return of ? specs_find(ct, of) : NULL;
}

static void *seed(void *user, const vy_buffer_info *cotangent)
{
    return specs_find_seed(user, cotangent);
}

bool binding_derive(binding *b, const binding *forward, specs *ct, vy_diag *d)
{
    return vys_binding_derive(b, forward, seed, ct, d);
}

static bool unused_seed(const char *name, bool tangents, vy_diag *d)
{
    if (tangents)
        return fail(d, TOOL_USAGE, "name it in --wrt",
                    "--dot %s: it is not an input of the derivative", name);
    return fail(d, TOOL_USAGE, "name it in --of",
                "--ct %s: it is not an output that is differentiated", name);
}

bool specs_all_used(const specs *ct, bool tangents, const binding *derived, const binding *forward,
                    vy_diag *d)
{
    for (uint32_t i = 0; i < ct->count; i++) {
        bool used = false;
        for (uint32_t k = 0; k < derived->buffer_count; k++) {
            const vy_buffer_info *b = &derived->buffers[k].info;
            used |= b->cls != VY_OUT && !vys_binding_source(forward, b) &&
                    specs_find_seed(ct, b) == &ct->data[i];
        }
        if (!used) return unused_seed(ct->data[i].name, tangents, d);
    }
    return true;
}
