// SPDX-License-Identifier: MIT
// merge_additions.c: additions to one element are merged into the last of them.
//
//   atomic_add(g[i], a);                        →   atomic_add(g[i], a + b);
//   atomic_add(g[i], b);
//
//   for c in 0..C {                                 for c in 0..C { s += a(c); }
//       s += a(c);                                  let t = f(s);
//       atomic_add(g[i, c], k * a(c));          →   for c in 0..C {
//   }                                                   atomic_add(g[i, c], k * a(c) + t * b(c));
//   let t = f(s);                               }
//   for c in 0..C { atomic_add(g[i, c], t * b(c)); }
//
// The gradient of a value with several uses is added to once per use, and where the later addition
// needs a sum over the earlier ones (softmax, normalisations), that is a row which is written, read
// and written again.  For a row that is written once, `mark_single_access` also finds that it need
// not be read at all.
//
// Additions of floats have no guaranteed order, so an addition may be delayed until a second one if
//   - the old values of both are unused
//   - between the two, the memory is accessed by such additions only, and no barrier separates them
//     (after it other invocations could observe the element).  The interval runs from the first
//     addition to the second; of loops around either, it includes the entire loop
//   - the second executes as often: both are in the same straight line, or they are in the bodies
//     of two loops that are in one straight line and have the same range; neither loop can be left
//     early
//   - the index is the same value; in two loops, the same function of the counter.  Their
//     directions may differ
//   - the term is available at the second: a value of the straight line is; a value of a loop is
//     recomputed from values before the loop, the counter, and loads of memory that neither the
//     loops nor the gap between them write.
// Adding the terms to one another first rounds differently; zeros, infinities and NaN are kept as
// in promote.c.
//
// Recomputing must be cheap: values that are then computed in both loops, and that the second has
// not computed already, may take two loads and arithmetic, but no division or function.  That costs
// less than one load and one store, or an atomic.
//
// Each round moves each addition at most once; there are at most ROUNDS rounds.  Needs valid
// structure; keeps lines and names.
#include "ir/facts/addition.h"
#include "ir/facts/price.h"
#include "ir/pass/pass.h"

#include <string.h>

enum { MAX_ACCESSES = 64, MAX_NODES = 48, MAX_STEPS = 64, MAX_RECOMPUTED = 2, MAX_BODY = 256 };

// The expression of a term inside its loop: its instructions, ascending.
typedef struct nodes {
    uint32_t count, at[MAX_NODES];
} nodes;

typedef struct sink {
    vy_rewrite w;
    vy_addition_facts a;
    vy_writes written;
    uint32_t *target;     // by addition: the one that it is merged into, or 0
    uint32_t *line;       // by addition: the one in its straight line that is merged into it, or 0
    uint32_t *loop;       // the same for another loop
    uint32_t *kept;       // by addition: the term of the one in `line`
    uint32_t *recomputed; // by instruction: its value in the other loop
    bool any;
} sink;

static uint32_t term_of(const sink *k, uint32_t site)
{
    return vy_arg(k->w.p, site, k->w.p->insts.data[site].nargs - 1);
}

// ------------------------------------------------------------------------------------------- where
// Does the second execute as often as the first, if neither is left early?
static bool in_line(const sink *k, uint32_t x, uint32_t y)
{
    uint32_t parent = k->w.s.parent[x];
    if (k->w.s.parent[y] != parent) return false;
    if (!parent) return true;
    vy_op op = (vy_op)k->w.p->insts.data[parent].op;
    uint32_t split = op == VY_OP_IF      ? k->w.s.partner[parent]
                     : op == VY_OP_WHILE ? k->w.s.test[parent]
                                         : 0;
    return x > split || y < split;
}

static bool is_counted(const sink *k, uint32_t id)
{
    return id && k->w.p->insts.data[id].op == VY_OP_LOOP && !vy_exits(k->w.p, id);
}

static bool same_range(const sink *k, uint32_t x, uint32_t y)
{
    if (!is_counted(k, x) || !is_counted(k, y)) return false;
    if (k->w.p->insts.data[x].type != k->w.p->insts.data[y].type) return false;
    for (uint32_t n = 0; n < 3; n++)
        if (vy_arg(k->w.p, x, n) != vy_arg(k->w.p, y, n)) return false;
    return true;
}

// Is x in the first loop provably the same expression as y in the second?
static bool same_value(const sink *k, uint32_t first, uint32_t second, uint32_t x, uint32_t y,
                       uint32_t *steps)
{
    if (VY_IS_LEAF(x) || x < first) return x == y;
    if (x == first || VY_IS_LEAF(y) || y <= second) return x == first && y == second;
    if (++*steps > MAX_STEPS) return false;
    const vy_inst *i = &k->w.p->insts.data[x], *j = &k->w.p->insts.data[y];
    vy_effect effect = vy_op_infos[i->op].effect;
    if (effect != VY_PURE && i->op != VY_OP_LOAD) return false;
    if (i->op != j->op || i->type != j->type || i->aux != j->aux || i->nargs != j->nargs)
        return false;
    if (i->op == VY_OP_LOAD &&
        vy_written_between(&k->written, i->aux, first, k->w.s.partner[second]))
        return false;
    for (uint32_t n = 0; n < i->nargs; n++)
        if (!same_value(k, first, second, vy_arg(k->w.p, x, n), vy_arg(k->w.p, y, n), steps))
            return false;
    return true;
}

// Do additions in two loops address the same element in the same iteration?
static bool same_element(const sink *k, uint32_t a, uint32_t b)
{
    const vy_inst *i = &k->w.p->insts.data[a], *j = &k->w.p->insts.data[b];
    uint32_t first = k->w.s.parent[a], second = k->w.s.parent[b], steps = 0;
    if (i->aux != j->aux) return false;
    for (uint32_t n = 0; n + 1 < i->nargs; n++)
        if (!same_value(k, first, second, vy_arg(k->w.p, a, n), vy_arg(k->w.p, b, n), &steps))
            return false;
    return true;
}

// -------------------------------------------------------------------------------------------- cost
static bool push_node(nodes *set, uint32_t id)
{
    uint32_t n = set->count;
    while (n && set->at[n - 1] > id) n--;
    if (n && set->at[n - 1] == id) return true;
    if (set->count == MAX_NODES) return false;
    memmove(set->at + n + 1, set->at + n, (set->count - n) * sizeof *set->at);
    set->at[n] = id;
    set->count++;
    return true;
}

static bool available(const sink *k, uint32_t first, uint32_t second, uint32_t id)
{
    const vy_inst *i = &k->w.p->insts.data[id];
    if (k->w.s.parent[id] != first) return false;
    if (i->op != VY_OP_LOAD) return vy_op_infos[i->op].effect == VY_PURE;
    return !vy_written_between(&k->written, i->aux, first, k->w.s.partner[second]);
}

// Collects the expression of the term of `site` in its loop.  False: too large, or not available in
// the second.
static bool collect(const sink *k, uint32_t site, uint32_t second, nodes *set)
{
    uint32_t first = k->w.s.parent[site], term = term_of(k, site);
    set->count = 0;
    if (!VY_IS_LEAF(term) && term > first) push_node(set, term);
    for (uint32_t done = site; set->count;) { // operands have smaller ids: from the largest down
        uint32_t n = set->count;
        while (n && set->at[n - 1] >= done) n--;
        if (!n) return true;
        done = set->at[n - 1];
        if (!available(k, first, second, done)) return false;
        for (uint32_t a = 0; a < k->w.p->insts.data[done].nargs; a++) {
            uint32_t x = vy_arg(k->w.p, done, a);
            if (!VY_IS_LEAF(x) && x > first && !push_node(set, x)) return false;
        }
    }
    return true;
}

static uint32_t price(const sink *k, uint32_t id)
{
    const vy_inst *i = &k->w.p->insts.data[id];
    if (i->op == VY_OP_LOAD) return 1;
    return vy_is_cheap((vy_op)i->op) ? 0 : MAX_RECOMPUTED + 1;
}

// Does the second loop compute it before `site`?
static bool already_computed(const sink *k, uint32_t first, uint32_t site, uint32_t id)
{
    uint32_t second = k->w.s.parent[site], end = site;
    if (end - second > MAX_BODY) end = second + MAX_BODY;
    for (uint32_t y = second + 1; y < end; y++) {
        uint32_t steps = 0;
        if (k->w.s.parent[y] == second && same_value(k, first, second, id, y, &steps)) return true;
    }
    return false;
}

static bool contains(const nodes *set, uint32_t id, uint32_t *at)
{
    for (*at = 0; *at < set->count; ++*at)
        if (set->at[*at] == id) return true;
    return false;
}

// Is it cheap to compute the term of `a` at `b`?  Values that only `a` uses move there for free.
static bool is_cheap(const sink *k, uint32_t a, uint32_t b, const nodes *set)
{
    uint32_t moved[MAX_NODES] = {0}, total = 0, at; // uses that move
    if (contains(set, term_of(k, a), &at)) moved[at]++;
    for (uint32_t n = set->count; n-- > 0 && total <= MAX_RECOMPUTED;) {
        uint32_t id = set->at[n];
        if (moved[n] < k->a.uses[id]) {
            uint32_t cost = price(k, id);
            if (cost && !already_computed(k, k->w.s.parent[a], b, id)) total += cost;
            continue;
        }
        for (uint32_t x = 0; x < k->w.p->insts.data[id].nargs; x++)
            if (contains(set, vy_arg(k->w.p, id, x), &at)) moved[at]++;
    }
    return total <= MAX_RECOMPUTED;
}

// ---------------------------------------------------------------------------------------- choosing
static bool suits(const sink *k, uint32_t a, uint32_t b)
{
    uint32_t first = k->w.s.parent[a], second = k->w.s.parent[b];
    if (first == second)
        return in_line(k, a, b) && vy_same_element(k->w.p, a, b) && !k->line[b] &&
               vy_only_added(&k->a, a, a, b);
    nodes set;
    if (k->line[a] || k->loop[a] || k->loop[b]) return false; // next round
    return same_range(k, first, second) && in_line(k, first, second) && same_element(k, a, b) &&
           vy_only_added(&k->a, a, first, k->w.s.partner[second]) && collect(k, a, second, &set) &&
           is_cheap(k, a, b, &set);
}

static void choose_target(sink *k, uint32_t a)
{
    const vy_buf *buf = &k->w.p->buffers.data[k->w.p->insts.data[a].aux];
    uint32_t memory = vy_memory_of(k->w.p, k->w.p->insts.data[a].aux), seen = 0;
    if (buf->cls == VY_LOCAL || vy_type_loaded(buf->type) != buf->type) return;
    for (uint32_t n = vy_first_after(&k->a.touched, memory, a); n < k->a.touched.start[memory + 1];
         n++) {
        uint32_t b = k->a.touched.at[n];
        if (++seen > MAX_ACCESSES || !vy_adds_silently(&k->a, b)) return;
        if (!suits(k, a, b)) continue;
        k->target[a] = b;
        *(k->w.s.parent[a] == k->w.s.parent[b] ? &k->line[b] : &k->loop[b]) = a;
        k->any = true;
        return;
    }
}

// ---------------------------------------------------------------------------------------- the copy
static uint32_t recomputed(const sink *k, uint32_t first, uint32_t second, uint32_t id)
{
    if (VY_IS_LEAF(id)) return id;
    if (id == first) return k->w.map[second];
    return id < first ? k->w.map[id] : k->recomputed[id];
}

// The term of `a`, computed at `b`.
static uint32_t recompute_term(sink *k, uint32_t a, uint32_t b)
{
    uint32_t first = k->w.s.parent[a], second = k->w.s.parent[b], use[VY_MAX_RANK + 1];
    nodes set;
    collect(k, a, second, &set); // succeeds, as it did in suits()
    for (uint32_t n = 0; n < set.count && !vy_builder_failed(k->w.b); n++) {
        const vy_inst *i = &k->w.p->insts.data[set.at[n]];
        for (uint32_t x = 0; x < i->nargs; x++)
            use[x] = recomputed(k, first, second, vy_arg(k->w.p, set.at[n], x));
        vy_rewrite_moved(&k->w, set.at[n], use, k->recomputed);
    }
    return recomputed(k, first, second, term_of(k, a));
}

static uint32_t total(sink *k, uint32_t id)
{
    vy_value sum = {vy_new(&k->w, term_of(k, id))};
    if (k->line[id]) sum = vy_add(k->w.b, (vy_value){k->kept[id]}, sum);
    if (k->loop[id]) sum = vy_add(k->w.b, (vy_value){recompute_term(k, k->loop[id], id)}, sum);
    return sum.id;
}

static void merge_into(sink *k, uint32_t id)
{
    const vy_inst *i = &k->w.p->insts.data[id];
    uint32_t args[VY_MAX_RANK + 1];
    vy_new_args(&k->w, id, i->nargs - 1, args);
    vy_rewrite_at(&k->w, id);
    args[i->nargs - 1] = total(k, id);
    if (!vy_builder_failed(k->w.b)) vy_copy_with(k->w.b, k->w.p, id, args, k->w.map);
}

static uint32_t instead(void *pass, uint32_t id)
{
    sink *k = pass;
    uint32_t to = k->target[id];
    if (!to && !k->line[id] && !k->loop[id]) return 0;
    if (to && k->line[to] == id) {
        vy_rewrite_at(&k->w, id);
        k->kept[to] = total(k, id);
    } else if (!to) {
        merge_into(k, id);
    }
    return id;
}

static bool prepare_merging(sink *k)
{
    const vy_program *p = k->w.p;
    uint32_t **tables[] = {&k->target, &k->line, &k->loop, &k->kept, &k->recomputed};
    for (size_t n = 0; n < sizeof tables / sizeof *tables; n++) *tables[n] = vy_rewrite_ids(&k->w);
    if (k->w.oom) return false;
    return vy_addition_facts_make(&k->a, p, &k->w.s, &k->w.arena) &&
           vy_writes_make(&k->written, p, VY_COUNT_WRITES, &k->w.arena);
}

static bool has_two(const vy_program *p)
{
    uint32_t n = 0;
    for (uint32_t id = 1; id < p->insts.count && n < 2; id++)
        n += p->insts.data[id].op == VY_OP_ATOMIC_ADD;
    return n > 1;
}

bool vy_pass_merge_additions(vy_program *p, vy_pass_context *c)
{
    enum { ROUNDS = 8 };
    bool ok = true, more = has_two(p);
    for (uint32_t round = 0; ok && more && round < ROUNDS; round++) {
        sink k = {0};
        more = false;
        ok = vy_rewrite_begin(&k.w, p) && prepare_merging(&k);
        for (uint32_t id = 1; ok && id < p->insts.count; id++)
            if (vy_adds_silently(&k.a, id)) choose_target(&k, id);
        if (ok && k.any) vy_rewrite_run(&k.w, instead, &k);
        ok = vy_rewrite_end(&k.w, ok, &more);
        c->changed |= more;
    }
    return ok;
}
