// SPDX-License-Identifier: MIT
// share_arms.c: an `if` takes from an earlier one on the same condition what that computes as well.
//
//   if c { a = load x[i], s = s + a * p }      if c { a = load x[i], s = s + a * p, m = a * q }
//   if d { s = s + … }                      →  if d { s = s + … }
//   if c { b = load x[i], s = s + b * q }      if c { s = s + m }
//
// The terms of a gather, and those of two gathers in one program, read the same neighbours under
// the same conditions, but are added up in an order that may not change; so fuse_ifs cannot join
// their `if`s.  Here everything that the later one computes and that the earlier one could compute
// as well moves there, and the earlier one yields what is still needed: a sum, which ifconvert
// makes a select.  That pays if the loads and operations saved are worth more than the values
// yielded.
//
// Both are in one block, and only their first arms are considered.  Values between the two that
// depend on nothing in between move before the first.  `forward` then merges the loads.
// Near-linear: each `if` is compared with the first on its condition only, through a table of
// hashes.  Needs valid structure; keeps the order of everything that is observable, lines and
// names.
#include "ir/core/functions.h"
#include "ir/facts/memory.h"
#include "ir/facts/price.h"
#include "ir/pass/pass.h"

enum { DEPTH = 16 };

// Where may a value of the later `if`, or one between the two, be computed?
typedef enum place { NOWHERE, IN_ARM, BEFORE } place;

typedef struct share {
    vy_rewrite w;
    vy_writes writes;
    uint32_t *last;  // by condition: the first `if` on it in the block looked at last, or 0
    uint32_t *next;  // by IF: the next one that takes from the same head
    uint32_t *tail;  // by head: the last of them
    uint32_t *asked; // by instruction: the later `if` for which `place` holds
    uint8_t *place;
    uint32_t *named; // by instruction: the head for which `same` holds
    uint32_t *same;  // by instruction: the first one equal to it, under the head's condition
    uint32_t *table; // by hash: an instruction, or 0
    uint32_t mask;
    uint32_t *first_before, *last_before; // by head: what moves before it, in order …
    uint32_t *next_before;                // … a list
    uint32_t *before;                     // by instruction: the head before which it moves, or 0
    uint8_t *gone;                        // by instruction: it moves
    uint8_t *yields;                      // by instruction that moves into an arm: it is yielded
    bool any;
} share;

static uint32_t middle_of(const share *x, uint32_t id) { return x->w.s.partner[id]; }
static uint32_t end_of(const share *x, uint32_t id) { return vy_closer(x->w.p, &x->w.s, id); }

// Which result of `head` is `id`?  UINT32_MAX: none.
static uint32_t result_of(const share *x, uint32_t id, uint32_t head)
{
    const uint32_t end = end_of(x, head);
    if (VY_IS_LEAF(id) || x->w.p->insts.data[id].op != VY_OP_RESULT) return UINT32_MAX;
    return vy_opener(x->w.p, &x->w.s, id) == head ? id - end - 1 : UINT32_MAX;
}

static bool is_directly_in_arm(const share *x, uint32_t id, uint32_t opener)
{
    return x->w.s.parent[id] == opener && id < middle_of(x, opener);
}

// ------------------------------------------------------------------------------- what could move
// Could it be computed elsewhere, if its operands are there?
static bool may_move(const share *x, uint32_t head, uint32_t id)
{
    const vy_inst *i = &x->w.p->insts.data[id];
    const vy_op op = (vy_op)i->op;
    if (vy_is_slot(op) || vy_is_marker(op) || i->type == VY_VOID || vy_is_tuple(x->w.p, id))
        return false;
    if (vy_op_infos[op].effect == VY_PURE) return true;
    return op == VY_OP_LOAD && !vy_written_between(&x->writes, i->aux, head, id);
}

static place find_place(share *x, uint32_t head, uint32_t later, uint32_t id, int depth);

static place operand_place(share *x, uint32_t head, uint32_t later, uint32_t a, int depth)
{
    if (VY_IS_LEAF(a) || a < head) return BEFORE;
    if (result_of(x, a, head) != UINT32_MAX) return IN_ARM;
    return find_place(x, head, later, a, depth);
}

// `id` follows `head`.  What moved before this head or an earlier one is there.
static place find_place(share *x, uint32_t head, uint32_t later, uint32_t id, int depth)
{
    if (x->gone[id]) return x->before[id] && x->before[id] <= head ? BEFORE : NOWHERE;
    if (x->asked[id] == later) return (place)x->place[id];
    const bool in_arm = is_directly_in_arm(x, id, later);
    const bool between = id < later && x->w.s.parent[id] == x->w.s.parent[later];
    place best = in_arm ? IN_ARM : between ? BEFORE : NOWHERE;
    if (best && (!depth || !may_move(x, head, id))) best = NOWHERE;
    for (uint32_t k = 0; best && k < x->w.p->insts.data[id].nargs; k++) {
        place a = operand_place(x, head, later, vy_arg(x->w.p, id, k), depth - 1);
        if (a == NOWHERE || (a == IN_ARM && between)) best = NOWHERE;
    }
    x->asked[id] = later;
    x->place[id] = (uint8_t)best;
    return best;
}

// --------------------------------------------------------------------------------- equal values
// A name for operand `a` of a value under the condition of `head`, the same for equal values.
static uint32_t name_of(const share *x, uint32_t head, uint32_t a)
{
    const uint32_t k = result_of(x, a, head);
    if (k != UINT32_MAX) a = vy_arg(x->w.p, middle_of(x, head), k);
    return !VY_IS_LEAF(a) && x->named[a] == head ? x->same[a] : a;
}

static bool is_equal(const share *x, uint32_t head, uint32_t a, uint32_t b)
{
    const vy_inst *i = &x->w.p->insts.data[a], *j = &x->w.p->insts.data[b];
    if (i->op != j->op || i->type != j->type || i->aux != j->aux || i->nargs != j->nargs)
        return false;
    for (uint32_t k = 0; k < i->nargs; k++)
        if (name_of(x, head, vy_arg(x->w.p, a, k)) != name_of(x, head, vy_arg(x->w.p, b, k)))
            return false;
    return true;
}

// The entry of a value equal to `id`, or else one that is free or, rarely, of another value.
static uint32_t *slot_of(share *x, uint32_t head, uint32_t id)
{
    enum { PROBES = 16 };
    const vy_inst *i = &x->w.p->insts.data[id];
    uint64_t h = ((uint64_t)head << 32 | i->op) * 0x9E3779B97F4A7C15u ^ i->aux;
    for (uint32_t k = 0; k < i->nargs; k++)
        h = (h ^ (h >> 29) ^ name_of(x, head, vy_arg(x->w.p, id, k))) * 0xBF58476D1CE4E5B9u;
    uint32_t *slot = NULL;
    for (uint32_t k = 0; k < PROBES; k++) {
        slot = &x->table[((h >> 32) + k) & x->mask];
        if (!*slot || (x->named[*slot] == head && is_equal(x, head, *slot, id))) break;
    }
    return slot;
}

// Enters the values of the head's arm.
static void enter_arm(share *x, uint32_t head)
{
    for (uint32_t id = head + 1; id < middle_of(x, head); id++) {
        if (!is_directly_in_arm(x, id, head) || !may_move(x, head, id)) continue;
        x->named[id] = head;
        x->same[id] = id;
        *slot_of(x, head, id) = id;
    }
}

// Looks `id` up, or enters it.  Returns what need not be computed again.
static uint32_t look_up(share *x, uint32_t head, uint32_t id)
{
    x->named[id] = head;
    x->same[id] = id;
    uint32_t *slot = slot_of(x, head, id);
    if (*slot && x->named[*slot] == head && is_equal(x, head, *slot, id)) {
        x->same[id] = x->same[*slot];
        return vy_price_of((vy_op)x->w.p->insts.data[id].op)->again;
    }
    *slot = id;
    return 0;
}

// -------------------------------------------------------------------------------- the decision
// Moves `id`, if it is a value between the two, and what it needs from there.
static void move_before(share *x, uint32_t head, uint32_t later, uint32_t id)
{
    if (VY_IS_LEAF(id) || id < head || id > later || x->gone[id] || x->asked[id] != later ||
        x->place[id] != BEFORE)
        return;
    for (uint32_t k = 0; k < x->w.p->insts.data[id].nargs; k++)
        move_before(x, head, later, vy_arg(x->w.p, id, k));
    x->gone[id] = 1;
    x->before[id] = head;
    if (x->last_before[head])
        x->next_before[x->last_before[head]] = id;
    else
        x->first_before[head] = id;
    x->last_before[head] = id;
}

static bool moves_in(const share *x, uint32_t later, uint32_t id)
{
    return !VY_IS_LEAF(id) && id > later && x->asked[id] == later && x->place[id] == IN_ARM;
}

// Marks the values that move, but are used by what stays in `later`; returns their number.
static uint32_t mark_yields(share *x, uint32_t later)
{
    uint32_t n = 0;
    for (uint32_t id = later + 1; id <= middle_of(x, later); id++) {
        if (moves_in(x, later, id)) continue;
        for (uint32_t k = 0; k < x->w.p->insts.data[id].nargs; k++) {
            uint32_t a = vy_arg(x->w.p, id, k);
            if (!moves_in(x, later, a) || x->yields[a]) continue;
            x->yields[a] = 1;
            n++;
        }
    }
    return n;
}

static void accept(share *x, uint32_t head, uint32_t later)
{
    for (uint32_t id = later + 1; id < middle_of(x, later); id++) {
        if (!moves_in(x, later, id)) continue;
        for (uint32_t k = 0; k < x->w.p->insts.data[id].nargs; k++)
            move_before(x, head, later, vy_arg(x->w.p, id, k));
        x->gone[id] = 1;
    }
    x->next[x->tail[head] ? x->tail[head] : head] = later;
    x->tail[head] = later;
    x->any = true;
}

static void compare(share *x, uint32_t head, uint32_t later)
{
    uint32_t saved = 0;
    for (uint32_t id = later + 1; id < middle_of(x, later); id++)
        if (is_directly_in_arm(x, id, later) && find_place(x, head, later, id, DEPTH) == IN_ARM)
            saved += look_up(x, head, id);
    if (saved && saved > mark_yields(x, later)) {
        accept(x, head, later);
        return;
    }
    for (uint32_t id = later + 1; id < middle_of(x, later); id++) {
        x->yields[id] = 0;
        if (x->named[id] == head) x->named[id] = 0; // it is not in the arm
    }
}

// Are both in the same block: is there no marker of the construct around them in between?
static bool in_one_block(const share *x, uint32_t a, uint32_t b)
{
    const uint32_t up = x->w.s.parent[a];
    if (up != x->w.s.parent[b]) return false;
    if (!up) return true;
    if (x->w.p->insts.data[up].op == VY_OP_IF)
        return vy_in_then(&x->w.s, up, a) == vy_in_then(&x->w.s, up, b);
    const uint32_t test = x->w.s.test[up];
    return !test || (a < test) == (b < test);
}

static void find_arms(share *x)
{
    const vy_program *p = x->w.p;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        if (p->insts.data[id].op != VY_OP_IF || VY_IS_LEAF(vy_arg(p, id, 0))) continue;
        uint32_t *head = &x->last[vy_arg(p, id, 0)];
        if (*head && in_one_block(x, *head, id)) {
            compare(x, *head, id);
        } else {
            *head = id;
            enter_arm(x, id);
        }
    }
}

// ------------------------------------------------------------------------------------ the rewrite
static uint32_t instead(void *pass, uint32_t id);

// Does the head yield it for `later`?  (What is further inside may be yielded by another one.)
static bool is_yielded(const share *x, uint32_t later, uint32_t id)
{
    return x->yields[id] && is_directly_in_arm(x, id, later);
}

static uint32_t count_yields(const share *x, uint32_t head)
{
    uint32_t n = 0;
    for (uint32_t later = x->next[head]; later; later = x->next[later])
        for (uint32_t id = later + 1; id < middle_of(x, later); id++) n += is_yielded(x, later, id);
    return n;
}

// Emits, at the end of the head's arm, what `later` takes from it: not what moves before an `if`
// inside of `later`.
static void emit_moved(share *x, uint32_t later)
{
    for (uint32_t id = later + 1; id < middle_of(x, later); id++)
        if (x->gone[id] && !x->before[id] && is_directly_in_arm(x, id, later))
            vy_rewrite_moved(&x->w, id, NULL, x->w.map);
}

static void fill_arm(share *x, vy_remade *l)
{
    const uint32_t head = l->opener, end = end_of(x, head);
    vy_remake_then(&x->w, l);
    for (uint32_t k = 0; k < l->own; k++) x->w.map[end + 1 + k] = l->in[k];
    for (uint32_t later = x->next[head]; later; later = x->next[later]) emit_moved(x, later);
    uint32_t slot = l->own;
    for (uint32_t later = x->next[head]; later; later = x->next[later])
        for (uint32_t id = later + 1; id < middle_of(x, later); id++)
            if (is_yielded(x, later, id)) l->in[slot++] = x->w.map[id];
}

// Fills the yields of the other arm, or maps the values that have moved to the results.
static void finish(share *x, vy_remade *l, bool results)
{
    uint32_t slot = l->own;
    for (uint32_t later = x->next[l->opener]; later; later = x->next[later])
        for (uint32_t id = later + 1; id < middle_of(x, later); id++) {
            if (!is_yielded(x, later, id)) continue;
            if (results)
                vy_rewrite_as(&x->w, id, l->out[slot++]);
            else
                l->in[slot++] = vy_zero(x->w.b, (vy_type)x->w.p->insts.data[id].type).id;
        }
}

static uint32_t emit_head(share *x, uint32_t head)
{
    vy_remade l;
    for (uint32_t id = x->first_before[head]; id; id = x->next_before[id])
        vy_rewrite_moved(&x->w, id, NULL, x->w.map);
    if (!vy_remake(&x->w, &l, head, count_yields(x, head))) return head;
    vy_remake_begin(&x->w, &l);
    vy_remake_body(&x->w, &l, instead, x);
    if (!vy_rewrite_stopped(&x->w)) fill_arm(x, &l);
    vy_remake_else(&x->w, &l);
    vy_remake_other(&x->w, &l, instead, x);
    vy_remake_next(&x->w, &l);
    if (!vy_rewrite_stopped(&x->w)) finish(x, &l, false);
    vy_remake_end(&x->w, &l);
    if (!vy_rewrite_stopped(&x->w)) finish(x, &l, true);
    return vy_remake_last(&x->w, &l);
}

// Recursion is as deep as `if`s nest.
static uint32_t instead(void *pass, uint32_t id)
{
    share *x = pass;
    if (x->gone[id]) return id;
    return x->w.p->insts.data[id].op == VY_OP_IF && x->tail[id] ? emit_head(x, id) : 0;
}

static bool prepare_arms(share *x)
{
    uint32_t **ids[] = {&x->last, &x->next,   &x->tail,         &x->asked,       &x->named,
                        &x->same, &x->before, &x->first_before, &x->last_before, &x->next_before};
    size_t n = x->w.p->insts.count, size = 16;
    while (size < 2 * n) size *= 2; // several heads at a time
    x->mask = (uint32_t)size - 1;
    for (size_t k = 0; k < sizeof ids / sizeof *ids; k++) *ids[k] = vy_rewrite_ids(&x->w);
    x->table = vy_rewrite_table(&x->w, size * sizeof *x->table);
    x->place = vy_rewrite_bytes(&x->w);
    x->gone = vy_rewrite_bytes(&x->w);
    x->yields = vy_rewrite_bytes(&x->w);
    return !x->w.oom && vy_writes_make(&x->writes, x->w.p, VY_COUNT_WRITES, &x->w.arena);
}

bool vy_pass_share_arms(vy_program *p, vy_pass_context *c)
{
    if (!(vy_constructs(p) & VY_IFS)) return true;
    share x = {0};
    bool ok = vy_rewrite_begin(&x.w, p) && prepare_arms(&x);
    if (ok) find_arms(&x);
    if (ok && x.any) vy_rewrite_run(&x.w, instead, &x);
    return vy_rewrite_end(&x.w, ok, &c->changed);
}
