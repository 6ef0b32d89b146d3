// SPDX-License-Identifier: MIT
// eval_path.c: a hash of the path taken.
//
// A finite difference across a kink means nothing.  Two probes for which the program makes the same
// decisions everywhere are on one smooth piece of it, and comparing this hash detects that: it
// covers branches, trip counts, the operands chosen by select, min, max and abs, and integers
// obtained from floats.  Decisions are derived from the operands, before the instruction runs.
#include "ir/eval/eval.h"

#include <math.h>

static uint64_t scramble(
    uint64_t v) // splitmix64's finaliser, https://prng.di.unimi.it/splitmix64.c
{
    v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9ull;
    v = (v ^ (v >> 27)) * 0x94d049bb133111ebull;
    return v ^ (v >> 31);
}

void vy_path_mix(vy_machine *m, const vy_xinst *x, uint32_t lane, uint64_t choice)
{
    const uint64_t who = (m->group << 20) + m->linear[lane];
    uint64_t *h = m->hooks->path_hash;
    *h = scramble(*h ^ scramble(who * 0x9e3779b97f4a7c15ull + x->inst) ^ scramble(choice + 1));
}

static bool less(vy_type type, vy_scalar a, vy_scalar b)
{
    if (vy_type_is_float(type)) return a.f < b.f;
    return vy_type_is_signed(type) ? a.i < b.i : a.u < b.u;
}

static uint64_t sign_of(vy_type type, vy_scalar v)
{
    const vy_scalar zero = {.u = 0};
    return (uint64_t)less(type, zero, v) + 2 * (uint64_t)less(type, v, zero);
}

// The decision of one lane; false if the instruction makes none.
static bool decision(const vy_machine *m, const vy_xinst *x, uint32_t l, uint64_t *choice)
{
    const vy_type type = (vy_type)x->operand_type;
    const vy_scalar a = vy_reg(m, x->a)[l], b = vy_reg(m, x->b)[l], c = vy_reg(m, x->c)[l];
    vy_scalar v = {.u = 0};
    switch ((vy_op)x->op) {
    case VY_OP_IF:
    case VY_OP_TEST:
    case VY_OP_SELECT: *choice = a.u; return true;
    case VY_OP_LOOP: *choice = scramble(a.u) ^ scramble(b.u + 1) ^ scramble(c.u + 2); return true;
    case VY_OP_ENDLOOP: *choice = a.u; return (x->flags & VY_FLAG_EXIT) != 0;
    case VY_OP_MIN: *choice = less(type, a, b); return true;
    case VY_OP_MAX: *choice = less(type, b, a); return true;
    case VY_OP_CLAMP: // below, between or above its bounds
        *choice = less(type, a, b) ? 1 : 2 * (uint64_t)less(type, c, a);
        return true;
    case VY_OP_ABS:
    case VY_OP_SIGN: *choice = sign_of(type, a); return true;
    case VY_OP_FLOOR:
    case VY_OP_CEIL:
    case VY_OP_TRUNC:
    case VY_OP_ROUND:
        vy_scalar_eval((vy_op)x->op, type, type, &a, 0, m->options.f64, &v);
        *choice = v.u;
        return true;
    case VY_OP_FMOD: // how often b was subtracted
        v.f = trunc(a.f / b.f);
        *choice = v.u;
        return true;
    case VY_OP_CAST:
        if (vy_type_is_float(type) && vy_type_is_float((vy_type)x->type)) return false;
        vy_scalar_eval(VY_OP_CAST, type, (vy_type)x->type, &a, 0, m->options.f64, &v);
        *choice = v.u;
        return true;
    default: return false;
    }
}

void vy_path_note(vy_machine *m, const vy_xinst *x)
{
    uint64_t choice = 0;
    for (uint32_t k = 0; k < m->nact; k++) {
        const uint32_t l = m->act[k];
        if (m->padding[l]) continue;
        if (!decision(m, x, l, &choice)) return;
        vy_path_mix(m, x, l, choice);
    }
}
