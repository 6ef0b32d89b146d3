// SPDX-License-Identifier: MIT
// print_name.c: names of values in printed text.
//
// A name is taken while it is visible and free again afterwards: inner scopes may not shadow names,
// sibling scopes may reuse them.  A printed name becomes the debug name when the text is parsed, so
// printing again yields the same name.
#include "ir/text/print.h"

#include "ir/text/front.h"

#include <stdio.h>
#include <string.h>

bool print_names_init(print_names *n)
{
    *n = (print_names){0};
    return vy_vec_push(&n->all, (print_name){0});
}

void print_names_free(print_names *n)
{
    vy_vec_free(&n->text);
    vy_vec_free(&n->all);
    vy_vec_free(&n->scope);
    vy_free(n->table);
}

static uint32_t hash_text(const char *s, size_t n)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)s[i]) * 16777619u;
    return h ^ (h >> 15);
}

static bool grow(print_names *n)
{
    uint32_t size = n->table_size ? n->table_size * 2 : 64;
    uint32_t *t = vy_realloc(NULL, (size_t)size * sizeof *t);
    if (!t) return false;
    memset(t, 0, (size_t)size * sizeof *t);
    for (uint32_t i = 1; i < n->all.count; i++) {
        const print_name *e = &n->all.data[i];
        uint32_t slot = hash_text(n->text.data + e->text, e->length) & (size - 1);
        while (t[slot]) slot = (slot + 1) & (size - 1);
        t[slot] = i;
    }
    vy_free(n->table);
    n->table = t;
    n->table_size = size;
    return true;
}

// The slot of the entry in the table, or the free slot for it.
static uint32_t *slot_called(const print_names *n, const char *text, size_t length)
{
    uint32_t slot = hash_text(text, length) & (n->table_size - 1);
    for (; n->table[slot]; slot = (slot + 1) & (n->table_size - 1)) {
        const print_name *e = &n->all.data[n->table[slot]];
        if (e->length == length && memcmp(n->text.data + e->text, text, length) == 0) break;
    }
    return &n->table[slot];
}

// Index of the entry, which is created if absent.  0: out of memory.
static uint32_t entry(printer *o, const char *text, size_t length)
{
    print_names *n = &o->names;
    if (n->all.count * 2 >= n->table_size && !grow(n)) goto fail;
    uint32_t *place = slot_called(n, text, length);
    if (*place) return *place;
    print_name fresh = {.text = n->text.count, .length = (uint32_t)length, .next = 2};
    if (!vy_vec_reserve(&n->text, length + 1) || !vy_vec_push(&n->all, fresh)) goto fail;
    memcpy(n->text.data + fresh.text, text, length);
    n->text.count += (uint32_t)length;
    // Keywords and names of the language are never free.
    n->all.data[n->all.count - 1].visible = vy_word_is_taken(text, length);
    return *place = n->all.count - 1;
fail:
    o->failed = true;
    return 0;
}

static uint32_t take_entry(printer *o, uint32_t e)
{
    o->names.all.data[e].visible = true;
    if (!vy_vec_push(&o->names.scope, e)) o->failed = true;
    return e;
}

uint32_t print_names_add(printer *o, const char *text, size_t length)
{
    uint32_t e = entry(o, text, length);
    return e ? take_entry(o, e) : 0;
}

static uint32_t unnamed(printer *o)
{
    for (;;) {
        char text[16];
        int n = snprintf(text, sizeof text, "v%u", ++o->names.unnamed);
        uint32_t e = entry(o, text, (size_t)n);
        if (!e || !o->names.all.data[e].visible) return e ? take_entry(o, e) : 0;
    }
}

// Debug names may contain anything; identifiers only letters, digits and `_`.
size_t print_names_identifier(const char *name, char out[PRINT_NAME_SIZE])
{
    size_t n = 0;
    for (; *name && n < 80; name++) {
        char c = *name;
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        bool digit = c >= '0' && c <= '9';
        if (digit && n == 0) out[n++] = '_';
        out[n++] = letter || digit ? c : '_';
    }
    out[n] = 0;
    return n;
}

uint32_t print_names_unique(printer *o, const char *wish)
{
    char text[PRINT_NAME_SIZE];
    size_t n = print_names_identifier(wish, text);
    if (n == 0) return unnamed(o);
    uint32_t base = entry(o, text, n);
    if (!base || !o->names.all.data[base].visible) return base ? take_entry(o, base) : 0;
    for (;;) {
        uint32_t suffix = o->names.all.data[base].next;
        size_t m = n + (size_t)snprintf(text + n, sizeof text - n, "_%u", suffix);
        uint32_t e = entry(o, text, m);
        if (!e || !o->names.all.data[e].visible) return e ? take_entry(o, e) : 0;
        o->names.all.data[base].next++;
    }
}

// `x_7` is free again: x may use the suffix 7.
static void give_back(print_names *n, const print_name *e)
{
    const char *text = n->text.data + e->text;
    uint32_t at = e->length, value = 0;
    while (at > 0 && text[at - 1] >= '0' && text[at - 1] <= '9') at--;
    if (at < 2 || text[at - 1] != '_' || e->length - at > 8) return;
    for (uint32_t i = at; i < e->length; i++) value = value * 10 + (uint32_t)(text[i] - '0');
    uint32_t base = *slot_called(n, text, at - 1);
    if (base && value >= 2 && value < n->all.data[base].next) n->all.data[base].next = value;
}

uint32_t print_names_like(printer *o, uint32_t name)
{
    char text[128];
    const print_name *e = &o->names.all.data[name];
    size_t n = e->length < 100 ? e->length : 100;
    memcpy(text, o->names.text.data + e->text, n);
    text[n] = 0;
    return print_names_unique(o, text);
}

void print_names_close(printer *o, uint32_t scope)
{
    while (o->names.scope.count > scope) {
        print_name *e = &o->names.all.data[o->names.scope.data[--o->names.scope.count]];
        e->visible = false;
        give_back(&o->names, e);
    }
}

void print_name_of(printer *o, uint32_t name)
{
    const print_name *e = &o->names.all.data[name];
    print_bytes(o, o->names.text.data + e->text, e->length);
}
