// SPDX-License-Identifier: MIT
// guess.c: guesses what the first build would note of variables.
//
// A variable is declared by what is done to it: a buffer that is stored to is no `in`, an array
// that is indexed at run time is none of scalars.  That is known when the program has been built,
// so it would be built twice.  The instructions nearly say it before: here their pointers are
// followed without building anything, as if every block ran and nothing but constants were known.
// If the first build notes exactly what was guessed, it is the last one.  Else what it noted takes
// the guess's place, and reading goes on as without: what a guess lacks is noted, and what it has
// too much is found by the comparison.  Modules with images are not guessed at.
// Likewise for values that outlive their constructs (outlives.c).
#include "spirv/read/reading.h"

#include <string.h>

static uint32_t use_count(const read_object *o) { return o->field_count + READ_MOST_SCALARS; }

static bool is_of_invocation(const reading *r, uint32_t at) // or of a workgroup: no parameter
{
    const SpvStorageClass s = (SpvStorageClass)read_word(&r->w, at, 3);
    return s == SpvStorageClassFunction || s == SpvStorageClassPrivate ||
           s == SpvStorageClassWorkgroup;
}

static bool has_images(const reading *r)
{
    for (uint32_t at = READ_HEADER; at < r->w.functions; at = read_next(&r->w, at)) {
        const SpvOp op = read_op(&r->w, at);
        if (op == SpvOpTypeImage || op == SpvOpTypeSampler) return true;
    }
    return false;
}

// ----------------------------------------------------------------------------------- instructions
static uint32_t word(const reading *r, uint32_t i) { return read_word(&r->w, r->at, i); }

static const read_pointer *pointer(const reading *r,
                                   uint32_t id) // NULL: it is of a caller, or none
{
    return id < r->w.bound ? r->pointers[id] : NULL;
}

static bool guess_pointer(reading *r, uint32_t id, uint8_t use)
{
    const read_pointer *p = pointer(r, id);
    return !p || read_note_transfer(r, p, use);
}

static bool guess_pointers(reading *r, uint32_t first, uint8_t use)
{
    bool ok = true;
    for (uint32_t i = first; ok && i < read_length(&r->w, r->at); i++)
        ok = guess_pointer(r, read_word(&r->w, r->at, i), use);
    return ok;
}

static bool guess_variable(reading *r)
{
    const uint32_t id = read_word(&r->w, r->at, 2);
    const SpvStorageClass s = (SpvStorageClass)read_word(&r->w, r->at, 3);
    if (!is_of_invocation(r, r->at)) return true;
    return read_make_object(r, id, s == SpvStorageClassWorkgroup ? READ_SHARED : READ_VARIABLE,
                            "") &&
           (read_length(&r->w, r->at) < 5 || guess_pointer(r, id, READ_IS_WRITTEN));
}

static bool guess_instruction(reading *r, SpvOp op)
{
    switch (op) {
    case SpvOpVariable: return guess_variable(r);
    case SpvOpAccessChain:
    case SpvOpInBoundsAccessChain: return !pointer(r, word(r, 3)) || read_access_chain(r);
    case SpvOpLoad: return guess_pointer(r, word(r, 3), READ_IS_READ);
    case SpvOpStore: return guess_pointer(r, word(r, 1), READ_IS_WRITTEN);
    case SpvOpCopyMemory:
        return guess_pointer(r, word(r, 1), READ_IS_WRITTEN) &&
               guess_pointer(r, word(r, 2), READ_IS_READ);
    case SpvOpExtInst: return guess_pointers(r, 5, READ_IS_WRITTEN);
    case SpvOpAtomicStore: return guess_pointer(r, word(r, 1), READ_IS_READ | READ_IS_WRITTEN);
    default:
        if (op < SpvOpAtomicLoad || op > SpvOpAtomicXor) return true;
        return guess_pointer(r, word(r, 3), READ_IS_READ | READ_IS_WRITTEN);
    }
}

// -------------------------------------------------------------------------------------- the guess
static bool is_indexed(const uint8_t *uses, const read_object *o)
{
    for (uint32_t k = 0; k < o->field_count; k++)
        if (uses[k] & READ_IS_INDEXED) return true;
    return false;
}

// Of what is declared as scalars the build notes nothing but which of a block's are read, and that
// not of fields that are buffers.
static void settle(reading *r, const read_object *o)
{
    uint8_t *uses = r->uses[o->variable];
    if (o->kind == READ_VARIABLE && !is_indexed(uses, o)) memset(uses, 0, use_count(o));
    for (uint32_t k = 0; o->kind == READ_PARAMETER && k < o->field_count; k++) {
        const read_field *f = &o->fields[k];
        if (!(uses[k] & READ_IS_INDEXED)) continue;
        for (uint32_t i = 0; i < read_elements(f) && f->first + i < READ_MOST_SCALARS; i++)
            uses[o->field_count + f->first + i] = 0;
    }
}

// The build makes its own objects and pointers.
static void forget(reading *r)
{
    for (uint32_t at = READ_HEADER; at < r->w.count; at = read_next(&r->w, at)) {
        const SpvOp op = read_op(&r->w, at);
        const bool chain = op == SpvOpAccessChain || op == SpvOpInBoundsAccessChain;
        if (!chain && (op != SpvOpVariable || !is_of_invocation(r, at))) continue;
        const uint32_t id = read_word(&r->w, at, 2);
        r->pointers[id] = NULL;
        r->objects[id] = NULL;
        if (!chain) r->now[id] = NULL;
    }
}

static bool guess_all(reading *r)
{
    bool ok = r->guessing = true;
    for (uint32_t at = READ_HEADER; ok && at < r->w.count; at = read_next(&r->w, at)) {
        r->at = at;
        ok = guess_instruction(r, read_op(&r->w, at));
    }
    for (uint32_t id = 1; ok && id < r->w.bound; id++)
        if (r->objects[id]) settle(r, r->objects[id]);
    r->guessing = false;
    forget(r);
    return ok && read_guess_outlives(r);
}

// What it makes is gone afterwards; the build gets that memory.
bool read_guess(reading *r)
{
    if (!r->guess || has_images(r)) return !(r->guess = false);
    const vy_arena building = r->building;
    r->building = (vy_arena){0};
    const bool ok = guess_all(r);
    vy_arena_free(&r->building);
    r->building = building;
    return ok;
}

// Is what this build noted what was guessed?  If not, it replaces the guess, for another build.
void read_compare_guess(reading *r)
{
    if (!r->guess) return;
    r->guess = false;
    r->noted |= memcmp(r->outlived, r->facts, r->w.bound) != 0;
    memcpy(r->facts, r->outlived, r->w.bound);
    for (uint32_t id = 1; id < r->w.bound; id++) {
        const read_object *o = r->objects[id];
        if (!o) r->uses[id] = NULL; // nothing has reached it
        if (!o || !r->now[id]) continue;
        r->noted |= memcmp(r->now[id], r->uses[id], use_count(o)) != 0;
        memcpy(r->uses[id], r->now[id], use_count(o));
    }
}
