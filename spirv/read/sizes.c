// SPDX-License-Identifier: MIT
// sizes.c: which specialisation constants size a module's arrays.
//
//   layout(local_size_x_id = 0) in;  layout(constant_id = 1) const uint TILE = 128;
//   float a[TILE * TILE / gl_WorkGroupSize.x];       --spec 0=V (now 1), --spec TILE=V (now 128)
//
// A host gives such constants; with their defaults arrays may be larger than those of any device,
// or of no elements, which makes the module invalid.  So the error says which have their defaults.
#include "spirv/read/reading.h"

#include <stdio.h>
#include <string.h>

// Operands of a constant that are constants: the last ones of some operations are numbers.
static uint32_t operands(const read_words *w, uint32_t at, uint32_t *first)
{
    const SpvOp op = read_op(w, at), of = (SpvOp)read_word(w, at, 3);
    const uint32_t length = read_length(w, at);
    *first = op == SpvOpSpecConstantOp ? 4 : 3;
    if (op == SpvOpSpecConstantComposite) return length;
    if (op != SpvOpSpecConstantOp) return 0;
    if (of == SpvOpCompositeExtract) return length < 5 ? length : 5;
    if (of == SpvOpCompositeInsert || of == SpvOpVectorShuffle) return length < 6 ? length : 6;
    return length;
}

static void mark(const reading *r, uint8_t *sizes, uint32_t id)
{
    if (id < r->w.bound) sizes[id] = 1;
}

// By id: is it a constant that the length of an array is computed from?  Definitions come before
// their uses, so one walk from the last to the first is enough.
static void mark_all(const reading *r, const vy_id_vec *places, uint8_t *sizes)
{
    const read_words *w = &r->w;
    for (uint32_t k = places->count; k-- > 0;) {
        const uint32_t at = places->data[k];
        const SpvOp op = read_op(w, at);
        if (op == SpvOpTypeArray) mark(r, sizes, read_word(w, at, 3));
        const uint32_t id = read_word(w, at, 2);
        if (op == SpvOpTypeArray || id >= w->bound || !sizes[id]) continue;
        uint32_t first, end = operands(w, at, &first);
        for (uint32_t i = first; i < end; i++) mark(r, sizes, read_word(w, at, i));
    }
}

static bool is_place(SpvOp op)
{
    return op == SpvOpTypeArray || (op >= SpvOpSpecConstantTrue && op <= SpvOpSpecConstantOp);
}

static bool find_places(const reading *r, vy_id_vec *places)
{
    const read_words *w = &r->w;
    for (uint32_t at = READ_HEADER; at < w->functions; at = read_next(w, at))
        if (is_place(read_op(w, at)) && !vy_vec_push(places, at)) return false;
    return true;
}

// Behind what the fix says already.
static void add_constant(const reading *r, uint32_t at, uint32_t number, bool first)
{
    vy_diag *d = &r->m->diag;
    const size_t used = strlen(d->fix);
    const char *name = read_name(r, read_word(&r->w, at, 2));
    char text[16];
    snprintf(text, sizeof text, "%u", number);
    const int n =
        snprintf(d->fix + used, sizeof d->fix - used, "%s--spec %.40s=V (now %u)",
                 first ? "; constants size its arrays: give them as the host does, " : ", ",
                 *name ? name : text, read_word(&r->w, at, 3));
    if (n < 0 || (size_t)n >= sizeof d->fix - used) d->fix[used] = 0; // no room: as before
}

void read_name_sizes(const reading *r)
{
    vy_id_vec places = {0};
    uint8_t *sizes = vy_realloc(NULL, r->w.bound + 1);
    const bool ok = sizes && find_places(r, &places);
    if (ok) memset(sizes, 0, r->w.bound + 1);
    if (ok) mark_all(r, &places, sizes);
    bool first = true;
    for (uint32_t k = 0; ok && k < places.count; k++) {
        const uint32_t at = places.data[k], id = read_word(&r->w, at, 2);
        const uint32_t *number = read_decoration(r, id, SpvDecorationSpecId);
        if (read_op(&r->w, at) != SpvOpSpecConstant || !sizes[id] || !number) continue;
        if (read_specified(r, id)) continue;
        add_constant(r, at, *number, first);
        first = false;
    }
    vy_free(sizes);
    vy_vec_free(&places);
}
