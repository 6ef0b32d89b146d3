// SPDX-License-Identifier: MIT
// stored_once.c: elements to which an invocation stores once at most.
//
//   for k in 0..4 { y[(j * n + k) * 8 + i % 8] = …; }      32 k + something of the invocation
//   y[p] = …;  y[p + 4] = …;                               4 apart
//
// The cotangent of such an element is read where the caller has it: there is no copy of it that the
// reverse of a store clears, and nothing to keep for a gather (reverse/params.c, shadow.c).
//
// An index is a sum of values times constants, in the wrapping arithmetic of 32 bits: counters of
// loops of constant length, and values that these loops do not change.  The latter are what they
// are.  The counters make a number of mixed radix if each factor is more than all that the smaller
// ones add up to, and no more than 2³² in all: then different iterations have different numbers.
// A counter that is an axis by itself tells iterations apart anyway, however many there are, and so
// does one counter alone times an odd number: y[i * K + k].
//
// Between two barriers other invocations store to other elements, or the program has a race.  After
// a barrier y[i + 1] of one invocation is y[i] of its neighbour: there only counters and constants
// that are axes say of all invocations that they differ.
#include "autodiff/facts/facts.h"
#include "ir/core/access.h"
#include "ir/core/divisor.h"

enum { MOST_TERMS = 8, MOST_STEPS = 64 };

#define WRAP (INT64_C(1) << 32)

// constant + Σ by · term, modulo 2³²; no term twice.
typedef struct sum {
    uint32_t term[MOST_TERMS], by[MOST_TERMS];
    uint32_t count, steps, constant;
    bool failed; // it has too many terms
} sum;

// A counter: from 0 to `last`, times `by`, which is not negative but for its sign.
typedef struct digit {
    int64_t by, last;
} digit;

// --------------------------------------------------------------------------------------- the index
static void add_term(sum *s, uint32_t id, uint32_t by)
{
    uint32_t k = 0;
    while (k < s->count && s->term[k] != id) k++;
    s->failed |= k == MOST_TERMS;
    if (s->failed) return;
    if (k == s->count) s->by[s->count++] = 0;
    s->term[k] = id;
    s->by[k] += by;
}

static bool is_narrow(const vy_program *p, uint32_t id)
{
    const vy_type t = vy_id_type(p, id);
    return vy_type_is_integer(t) && vy_type_size(t) == 4;
}

static void add(const vy_program *p, sum *s, uint32_t id, uint32_t by);

// What is not a sum or a multiple is a term.
static void add_instruction(const vy_program *p, sum *s, uint32_t id, uint32_t by)
{
    const vy_inst *i = &p->insts.data[id];
    int64_t c;
    switch ((vy_op)i->op) {
    case VY_OP_ADD:
    case VY_OP_SUB:
        add(p, s, vy_arg(p, id, 0), by);
        add(p, s, vy_arg(p, id, 1), i->op == VY_OP_ADD ? by : 0 - by);
        return;
    case VY_OP_MUL:
        for (uint32_t k = 0; k < 2; k++)
            if (vy_id_int(p, vy_arg(p, id, k), &c)) {
                add(p, s, vy_arg(p, id, 1 - k), by * (uint32_t)c);
                return;
            }
        break;
    case VY_OP_SHL:
        if (!vy_id_int(p, vy_arg(p, id, 1), &c) || c < 0 || c > 31) break;
        add(p, s, vy_arg(p, id, 0), by << c);
        return;
    case VY_OP_CAST:
    case VY_OP_BITCAST:
        if (!is_narrow(p, vy_arg(p, id, 0))) break;
        add(p, s, vy_arg(p, id, 0), by);
        return;
    default: break;
    }
    add_term(s, id, by);
}

static void add(const vy_program *p, sum *s, uint32_t id, uint32_t by)
{
    int64_t c;
    s->failed |= s->steps++ == MOST_STEPS || !is_narrow(p, id);
    if (s->failed) return;
    if (vy_id_int(p, id, &c))
        s->constant += by * (uint32_t)c;
    else if (VY_IS_LEAF(id))
        add_term(s, id, by);
    else
        add_instruction(p, s, id, by);
}

// False: it has too many terms, or is no number of 32 bits.
static bool sum_of(const vy_program *p, uint32_t id, sum *s)
{
    *s = (sum){0};
    add(p, s, id, 1);
    uint32_t kept = 0;
    for (uint32_t k = 0; k < s->count; k++) {
        if (!s->by[k]) continue; // terms that cancel each other
        s->term[kept] = s->term[k];
        s->by[kept++] = s->by[k];
    }
    s->count = kept;
    return !s->failed;
}

// ---------------------------------------------------------------------------------------- counters
static bool is_around(const grad_facts *f, uint32_t loop, uint32_t id)
{
    for (uint32_t l = f->home[id]; l; l = f->home[l])
        if (l == loop) return true;
    return false;
}

// Takes the term as a digit, and its least value to the constant.  False: the loop's length is no
// constant.
static bool take_digit(const grad_facts *f, sum *s, uint32_t k, digit *d)
{
    const vy_program *p = f->p;
    uint64_t trips;
    int64_t from, step;
    const uint32_t loop = s->term[k];
    if (!vy_constant_trips(p, loop, &trips) || trips > UINT32_MAX ||
        !vy_id_int(p, vy_arg(p, loop, 0), &from) || !vy_id_int(p, vy_arg(p, loop, 2), &step))
        return false;
    const uint32_t by = s->by[k] * (uint32_t)step;
    d->by = by < UINT32_C(1) << 31 ? (int64_t)by : (int64_t)by - WRAP;
    d->last = trips ? (int64_t)trips - 1 : 0;
    s->constant += s->by[k] * (uint32_t)from;
    s->by[k] = 0;
    return true;
}

static int64_t magnitude(int64_t x) { return x < 0 ? -x : x; }

// Are these the digits of a number, which is below 2³²?
static bool is_number(digit *d, uint32_t n)
{
    int64_t all = 0;
    for (uint32_t k = 0; k < n; k++) { // the least factor that is left
        for (uint32_t j = k + 1; j < n; j++)
            if (magnitude(d[j].by) < magnitude(d[k].by)) {
                const digit moved = d[j];
                d[j] = d[k];
                d[k] = moved;
            }
        const int64_t by = magnitude(d[k].by);
        if (d[k].last && by <= all) return false;
        all += by * d[k].last; // below 2^63: two numbers of 32 bits, of which one is signed
        if (all >= WRAP) return false;
    }
    return true;
}

// Are no two iterations of the loops alike in this index, the iterations of others being the same?
static bool tells_apart(const grad_facts *f, uint32_t index, const uint32_t *loops, uint32_t n)
{
    digit d[MOST_TERMS];
    sum s;
    if (n > MOST_TERMS || !sum_of(f->p, index, &s)) return false;
    for (uint32_t j = 0; j < n; j++) {
        uint32_t k = 0;
        while (k < s.count && s.term[k] != loops[j]) k++;
        if (k == s.count) return false;
        if (n == 1 && s.by[k] % 2) { // an odd number has an inverse, so it is as good as an axis
            s.by[k] = 0;
            d[j] = (digit){0};
        } else if (!take_digit(f, &s, k, &d[j])) {
            return false;
        }
    }
    for (uint32_t k = 0; k < s.count; k++)
        for (uint32_t j = 0; j < n && s.by[k]; j++)
            if (!VY_IS_LEAF(s.term[k]) && vy_encloses(f, loops[j], s.term[k])) return false;
    return is_number(d, n);
}

// Is an element that the invocation does not store to twice not stored to by another one, either?
static bool is_alone(const grad_facts *f, uint32_t id)
{
    return !f->barriers || f->p->buffers.data[f->p->insts.data[id].aux].cls == VY_LOCAL;
}

bool vy_stores_once(const grad_facts *f, uint32_t id)
{
    uint32_t loops[MOST_TERMS], n = 0;
    const uint32_t rank = vy_rank_of(f->p, id);
    for (uint32_t loop = f->home[id]; loop; loop = f->home[loop]) {
        bool found = false;
        for (uint32_t k = 0; k < rank; k++) found |= vy_arg(f->p, id, k) == loop;
        if (found) continue;
        if (n == MOST_TERMS) return false;
        loops[n++] = loop;
    }
    for (uint32_t k = 0; k < rank && n && is_alone(f, id); k++)
        if (tells_apart(f, vy_arg(f->p, id, k), loops, n)) return true;
    return !n;
}

// ------------------------------------------------------------------------------------ two accesses
// Takes the counters of loops around `id` as digits.  False: something else changes in them.
static bool take_digits(const grad_facts *f, uint32_t id, sum *s, digit *d, uint32_t *n)
{
    for (uint32_t k = 0; k < s->count; k++) {
        if (VY_IS_LEAF(s->term[k])) continue;
        if (is_around(f, s->term[k], id)) {
            if (!take_digit(f, s, k, &d[(*n)++])) return false;
            continue;
        }
        for (uint32_t l = f->home[id]; l; l = f->home[l])
            if (vy_encloses(f, l, s->term[k])) return false;
    }
    return true;
}

// What both have, taken from both.  False: one has something else.
static bool cancel(sum *x, sum *y)
{
    for (uint32_t k = 0; k < x->count; k++) {
        uint32_t j = 0;
        if (!x->by[k]) continue;
        while (j < y->count && y->term[j] != x->term[k]) j++;
        if (j == y->count || x->by[k] != y->by[j]) return false;
        x->by[k] = y->by[j] = 0;
    }
    for (uint32_t k = 0; k < y->count; k++)
        if (y->by[k]) return false;
    return true;
}

// Is constant + Σ by · digit never a multiple of 2³²?
static bool is_never_zero(uint32_t constant, const digit *d, uint32_t n)
{
    const int64_t c = constant < UINT32_C(1) << 31 ? (int64_t)constant : (int64_t)constant - WRAP;
    int64_t low = c, high = c, factor = 0;
    for (uint32_t k = 0; k < n; k++) {
        const int64_t by = magnitude(d[k].by);
        if (!d[k].last || !by) continue;
        if (d[k].last >= WRAP / by) return false;
        *(d[k].by < 0 ? &low : &high) += d[k].by * d[k].last;
        factor = vy_common_divisor(factor, by);
    }
    if (low <= -WRAP || high >= WRAP) return false;
    return low > 0 || high < 0 || (factor && c % factor != 0);
}

static bool axis_differs(const grad_facts *f, uint32_t x, uint32_t y, uint32_t k)
{
    digit d[2 * MOST_TERMS];
    uint32_t n = 0;
    sum a, b;
    if (!sum_of(f->p, vy_arg(f->p, x, k), &a) || !sum_of(f->p, vy_arg(f->p, y, k), &b) ||
        !take_digits(f, x, &a, d, &n))
        return false;
    const uint32_t own = n;
    if (!take_digits(f, y, &b, d, &n) || !cancel(&a, &b)) return false;
    for (uint32_t j = own; j < n; j++) d[j].by = -d[j].by;
    return is_never_zero(a.constant - b.constant, d, n);
}

bool vy_stores_apart(const grad_facts *f, uint32_t x, uint32_t y)
{
    if (vy_different_elements(f->p, x, y)) return true; // of all invocations
    for (uint32_t k = 0; k < vy_rank_of(f->p, x) && is_alone(f, x); k++)
        if (axis_differs(f, x, y, k)) return true;
    return false;
}
