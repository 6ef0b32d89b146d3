// SPDX-License-Identifier: MIT
// marks.c: lowered programs: what passes say about a program beyond the language.
//
//   mark         on                      meaning
//   @in_range    load, store, atomic     every index is in range: a device need not check it
//   @in_range(2) load, store, atomic     the first two are
//   @owned       atomic                  no other invocation updates the element: no atomic needed
//   @once        atomic_add, @owned      nothing has touched the element, which is zero: a store
//
// Passes set them on accesses, the emitter and other passes read them, the interpreter checks them
// in every run (eval_marks.c).  Operations with form LOWERED (ops.h) state such facts about
// values.  Whether a program is lowered is not a flag but follows from its code, so it cannot be
// forgotten where code is copied; the printer declares it, and in text a program that is not
// declared `@lowered` may have none of this (docs/language.md 16).
#include "ir/core/ir.h"

#include <string.h>

static const struct {
    const char *name;
    uint8_t flag;
} marks[] = {
    {"in_range", VY_FLAG_INRANGE},
    {"owned", VY_FLAG_OWNED},
    {"once", VY_FLAG_ONCE},
};
enum { MARKS = sizeof marks / sizeof *marks };

const char *vy_mark_name(uint8_t flag)
{
    for (uint32_t k = 0; k < MARKS; k++)
        if (marks[k].flag == flag) return marks[k].name;
    return NULL;
}

uint8_t vy_mark_named(const char *name, size_t n)
{
    for (uint32_t k = 0; k < MARKS; k++)
        if (strlen(marks[k].name) == n && memcmp(marks[k].name, name, n) == 0) return marks[k].flag;
    return 0;
}

uint8_t vy_marks_allowed(vy_op op, uint8_t flags)
{
    const uint8_t range =
        flags & VY_FLAG_INRANGE ? VY_FLAG_INRANGE : VY_FLAG_INRANGE | VY_FLAG_FIRSTS;
    if (op == VY_OP_LOAD || op == VY_OP_STORE) return range;
    if (!vy_op_is_atomic(op)) return 0;
    bool adds_own = op == VY_OP_ATOMIC_ADD && flags & VY_FLAG_OWNED;
    return range | VY_FLAG_OWNED | (adds_own ? VY_FLAG_ONCE : 0);
}

static uint8_t marks_of(const vy_inst *i)
{
    return vy_op_is_memory((vy_op)i->op) ? i->flags & VY_FLAG_MARKS : 0;
}

bool vy_program_lowered(const vy_program *p)
{
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (marks_of(i) || vy_op_is_lowered((vy_op)i->op)) return true;
    }
    return false;
}

void vy_program_forget_stored(vy_program *p)
{
    for (uint32_t i = 1; i < p->buffers.count; i++) p->buffers.data[i].stored_first = false;
}

void vy_program_drop_marks(vy_program *p)
{
    vy_program_forget_stored(p);
    for (uint32_t id = 1; id < p->insts.count; id++)
        p->insts.data[id].flags &= (uint8_t)~marks_of(&p->insts.data[id]);
}

void vy_drop_marks(vy_module *m)
{
    for (uint32_t k = 0; k < m->programs.count; k++) vy_program_drop_marks(m->programs.data[k]);
}
