// SPDX-License-Identifier: MIT
// lower_carries.c: tensors that a repeat carries from one iteration to the next.
//
//   LOOP … [a]                        a = LOAD b, all of it
//     CARRY c
//     ZERO x; STORE x ← c; …          an iteration works on an array of its own
//     n = LOAD x
//   ENDLOOP [n];  RESULT r            STORE b ← r
//
// A carried tensor has one buffer P: it begins as the initial value, and each iteration leaves the
// next one there.  Where x is used as above, x is P, and where nothing else uses b meanwhile, P is
// b: then nothing is copied.  What an iteration adds to a carried tensor by a dispatch, in place,
// is added in P.
#include "ir/core/flow.h"
#include "ir/host/lower.h"

static bool is_access(const vy_program *h, uint32_t id, uint32_t buffer)
{
    return vy_op_is_memory((vy_op)h->insts.data[id].op) && h->insts.data[id].aux == buffer;
}

// A constant that is stored to all of a buffer.
static bool is_clear(const vy_program *h, uint32_t id)
{
    const vy_inst *i = &h->insts.data[id];
    return i->op == VY_OP_STORE && i->nargs == 1 && vy_id_const(h, vy_arg(h, id, 0));
}

// Does nothing but clears touch the buffer between two instructions, of which the second overwrites
// all of it?
static bool is_kept(const vy_program *h, uint32_t buffer, uint32_t from, uint32_t to)
{
    for (uint32_t id = from + 1; id < to; id++)
        if (is_access(h, id, buffer) && !is_clear(h, id)) return false;
    return true;
}

// Is it a LOAD of all of a buffer?
static bool is_whole_load(const vy_program *h, uint32_t id)
{
    return !VY_IS_LEAF(id) && h->insts.data[id].op == VY_OP_LOAD && h->insts.data[id].nargs == 0;
}

// The STORE of `value` to all of a buffer, in the block of `parent`; 0: none, or several.
static uint32_t whole_store_of(const lowering *w, uint32_t value, uint32_t first, uint32_t last,
                               uint32_t parent)
{
    const vy_program *h = w->h;
    uint32_t found = 0;
    for (uint32_t id = first; id < last; id++) {
        if (h->insts.data[id].op != VY_OP_STORE || h->insts.data[id].nargs != 1 ||
            vy_arg(h, id, 0) != value || w->s.parent[id] != parent)
            continue;
        if (found) return 0;
        found = id;
    }
    return found;
}

// --------------------------------------------------------------------------------------- decisions
// The zero that is stored to array x after LOAD n, at the end of its life: nothing reads it.  0:
// there is none; UINT32_MAX: something else touches the array.
static uint32_t last_clear(const lowering *w, uint32_t x, uint32_t n, uint32_t end)
{
    const vy_program *h = w->h;
    uint32_t found = 0;
    for (uint32_t id = n + 1; id < end; id++) {
        if (!is_access(h, id, x)) continue;
        const vy_inst *i = &h->insts.data[id];
        const bool constant = i->op == VY_OP_STORE && vy_id_const(h, vy_arg(h, id, i->nargs - 1));
        if (found || !constant) return UINT32_MAX;
        found = id;
    }
    return found;
}

// The array x that is slot k's buffer during an iteration, or 0.
static uint32_t find_array(const lowering *w, uint32_t loop, uint32_t k, uint32_t *store)
{
    const vy_program *h = w->h;
    const uint32_t c = vy_carry(loop, k), n = vy_slot_next(h, &w->s, loop, k);
    const uint32_t end = vy_closer(h, &w->s, loop);
    if (!is_whole_load(h, n) || n < loop || w->s.parent[n] != loop) return 0;
    const uint32_t x = h->insts.data[n].aux;
    *store = whole_store_of(w, c, loop, n, loop);
    if (h->buffers.data[x].cls != VY_LOCAL || !*store || h->insts.data[*store].aux != x) return 0;
    if (last_clear(w, x, n, end) == UINT32_MAX) return 0;
    uint32_t zero = 0;
    for (uint32_t id = loop + 1; id < *store; id++)
        if (is_access(h, id, x)) {
            if (zero || h->insts.data[id].op != VY_OP_ZERO) return 0;
            zero = id;
        }
    // Other uses of c come before the array changes.
    for (uint32_t id = *store + 1; id < w->last[c]; id++)
        if (is_access(h, id, x) && h->insts.data[id].op != VY_OP_LOAD) return 0;
    return w->last[c] <= n ? x : 0;
}

// Has a slot before k the same array?
static bool is_taken(const lowering *w, uint32_t loop, uint32_t k, uint32_t x)
{
    for (uint32_t j = 0; j < k; j++)
        if (w->array[vy_carry(loop, j)] == x) return true;
    return false;
}

// The STORE of slot k's result to the buffer from which it was loaded, if nothing else uses either;
// or 0.
static uint32_t find_home(const lowering *w, uint32_t loop, uint32_t k)
{
    const vy_program *h = w->h;
    const uint32_t a = vy_slot_init(h, loop, k), r = vy_result(h, &w->s, loop, k);
    if (!is_whole_load(h, a) || w->last[a] != loop || w->s.parent[a] != w->s.parent[loop]) return 0;
    const uint32_t b = h->insts.data[a].aux;
    const uint32_t store = whole_store_of(w, r, r, h->insts.count, w->s.parent[loop]);
    if (!store || h->insts.data[store].aux != b || w->last[r] != store) return 0;
    for (uint32_t j = 0; j < vy_slot_count(h, &w->s, loop); j++)
        if (j != k && vy_slot_init(h, loop, j) == a) return 0;
    return is_kept(h, b, a, store) && h->buffers.data[b].cls != VY_IN ? store : 0;
}

// Does slot k take over a tensor that the loop around carries, and give it the next one?
static bool is_nested(const lowering *w, uint32_t loop, uint32_t k)
{
    const vy_program *h = w->h;
    const uint32_t a = vy_slot_init(h, loop, k), up = w->s.parent[loop];
    if (VY_IS_LEAF(a) || h->insts.data[a].op != VY_OP_CARRY || !up || vy_arg(h, a, 0) != up)
        return false;
    const uint32_t r = vy_result(h, &w->s, loop, k);
    return w->last[a] == loop && w->last[r] == vy_closer(h, &w->s, up) &&
           vy_slot_next(h, &w->s, up, h->insts.data[a].aux) == r;
}

static void decide(lowering *w, uint32_t loop, uint32_t k)
{
    const vy_program *h = w->h;
    uint32_t store = 0;
    const uint32_t c = vy_carry(loop, k), x = find_array(w, loop, k, &store);
    if (x && !is_taken(w, loop, k, x)) {
        const uint32_t clear =
            last_clear(w, x, vy_slot_next(h, &w->s, loop, k), vy_closer(h, &w->s, loop));
        w->array[c] = x;
        w->nothing[store] = 1;
        if (clear) w->nothing[clear] = 1;
        for (uint32_t id = loop + 1; id < store; id++)
            if (is_access(h, id, x)) w->nothing[id] = 1; // its ZERO
    }
    const uint32_t home = find_home(w, loop, k);
    if (home) {
        const uint32_t a = vy_slot_init(h, loop, k);
        for (uint32_t id = a + 1; id <= home; id++)
            if (is_access(h, id, h->insts.data[home].aux)) w->nothing[id] = 1;
        w->early[home] = loop;
        w->array[vy_result(h, &w->s, loop, k)] = h->insts.data[home].aux;
    } else if (is_nested(w, loop, k)) {
        w->array[vy_result(h, &w->s, loop, k)] = UINT32_MAX;
    }
    const uint32_t n = vy_slot_next(h, &w->s, loop, k);
    if (!VY_IS_LEAF(n) && h->insts.data[n].op == VY_OP_PICK && !w->direct[n] &&
        w->last[n] == vy_closer(h, &w->s, loop)) {
        const uint32_t maker = vy_arg(h, n, 0), operand = lower_updated_by(w, n);
        if (operand != UINT32_MAX && vy_arg(h, maker, operand) == c && w->last[c] == maker)
            w->into[n] = c;
    }
}

void lower_decide_carries(lowering *w)
{
    for (uint32_t id = 1; id < w->h->insts.count; id++)
        if (vy_is_loop((vy_op)w->h->insts.data[id].op))
            for (uint32_t k = 0; k < vy_slot_count(w->h, &w->s, id); k++) decide(w, id, k);
}

// ------------------------------------------------------------------------------------------- steps
static lower_place begin_slot(lowering *w, uint32_t loop, uint32_t k)
{
    const vy_program *h = w->h;
    const uint32_t init = vy_slot_init(h, loop, k), r = vy_result(h, &w->s, loop, k);
    if (w->array[r]) return w->place[init]; // where it is already
    const vy_tensor shape = vy_host_shape(h->module, h, &w->s, vy_carry(loop, k));
    if (!shape.rank) vy_build_fail(w->b, VY_E_INTERNAL, "a carried tensor has no shape");
    const lower_place to = lower_temporary(w, &shape);
    const vy_scalar *c = vy_id_const(h, init);
    if (c)
        lower_fill(w, &to, c->f);
    else if (!lower_stopped(w))
        lower_copy(w, &w->place[init], &to);
    return to;
}

void lower_open_carries(lowering *w, uint32_t loop)
{
    for (uint32_t k = 0; k < vy_slot_count(w->h, &w->s, loop) && !lower_stopped(w); k++) {
        const uint32_t c = vy_carry(loop, k);
        const lower_place p = begin_slot(w, loop, k);
        w->place[c] = w->place[vy_result(w->h, &w->s, loop, k)] = p;
        if (w->array[c]) w->current[w->array[c]] = p.buffer;
    }
}

// Does another slot of the loop live where `p` is, which a copy would overwrite?
static bool is_other_slot(const lowering *w, uint32_t loop, uint32_t k, const lower_place *p)
{
    for (uint32_t j = 0; j < vy_slot_count(w->h, &w->s, loop); j++)
        if (j != k && lower_same_place(&w->place[vy_carry(loop, j)], p)) return true;
    return false;
}

void lower_close_carries(lowering *w, uint32_t end)
{
    const vy_program *h = w->h;
    const uint32_t loop = w->s.partner[end], count = vy_slot_count(h, &w->s, loop);
    lower_place *next = lower_room(w, count, sizeof *next);
    for (uint32_t pass = 0; next && pass < 2; pass++)
        for (uint32_t k = 0; k < count && !lower_stopped(w); k++) {
            const uint32_t n = vy_slot_next(h, &w->s, loop, k);
            const lower_place *to = &w->place[vy_carry(loop, k)];
            const vy_scalar *c = vy_id_const(h, n);
            if (!pass && !c) {
                next[k] = w->place[n];
                if (!is_other_slot(w, loop, k, &next[k])) continue;
                next[k] = lower_temporary(w, &to->shape);
                lower_copy(w, &w->place[n], &next[k]);
            } else if (pass && c) {
                lower_fill(w, to, c->f);
            } else if (pass && !lower_same_place(&next[k], to)) {
                lower_copy(w, &next[k], to);
            }
        }
}
