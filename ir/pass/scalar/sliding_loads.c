// SPDX-License-Identifier: MIT
// sliding_loads.c: a loop that loads neighbours keeps those that it loads again.
//
//   for j in 0..n { s += w0 * x[c + j] + w1 * x[c + j + 1] + w2 * x[c + j + 2] }
//                                                      →
//   var a = x[c]; var b = x[c + 1];          if the loop runs at all
//   for j in 0..n { let t = x[c + j + 2]; s += w0 * a + w1 * b + w2 * t; a = b; b = t; }
//
// The element at offset d of an iteration is the one at d + 1 of the iteration before.  Blocks of
// filter weights (coarsen) load a window in each iteration, and so do stencils along a loop.
//
// Loads of buffers that nothing in the program writes to, in innermost counted loops of step 1, at
// indices that differ in one axis by constants, of which the common part is the counter plus what
// does not change.  Indices wrap alike in both iterations, so loads out of range give zero in both.
// What is carried besides is bounded.  Same bits; n log n in the loads of a loop.
#include "ir/pass/pass.h"
#include "ir/pass/scalar/follows.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 16 };

typedef struct window {
    uint32_t load, base, axis;
    uint32_t offset;  // of the index, modulo 2³²
    uint32_t carried; // 1 + its number among what the loop carries; 0: it is loaded
} window;

VY_VEC_TYPE(window_vec, window);

typedef struct sliding {
    vy_rewrite w;
    uint8_t *written;  // by buffer
    window_vec loads;  // by loop, then by address, then by offset
    uint32_t *first;   // by loop: 1 + the first of its loads
    uint32_t *carried; // by load: as above
    uint32_t loop;     // that is being made
    vy_remade made;
} sliding;

// ------------------------------------------------------------------------------------- the indices
// Takes a constant off an index.
static void split(const vy_program *p, uint32_t index, window *out)
{
    const vy_op op = VY_IS_LEAF(index) ? VY_OP_LOAD : (vy_op)p->insts.data[index].op;
    int64_t k;
    out->base = index;
    out->offset = 0;
    if ((op != VY_OP_ADD && op != VY_OP_SUB) || !vy_id_int(p, vy_arg(p, index, 1), &k)) return;
    out->base = vy_arg(p, index, 0);
    out->offset = op == VY_OP_ADD ? (uint32_t)k : (uint32_t)-k;
}

static bool is_candidate(const sliding *s, uint32_t id, uint32_t loop, window *out)
{
    const vy_program *p = s->w.p;
    const vy_inst *i = &p->insts.data[id];
    uint32_t changing = 0;
    if (i->op != VY_OP_LOAD || s->w.s.parent[id] != loop || s->written[i->aux]) return false;
    for (uint32_t k = 0; k < i->nargs; k++)
        if (!vy_is_ahead(vy_arg(p, id, k), loop)) changing++, out->axis = k;
    if (changing != 1) return false;
    split(p, vy_arg(p, id, out->axis), out);
    out->load = id;
    return vy_follows(p, out->base, loop);
}

// --------------------------------------------------------------------------------------- the loads
// qsort has no argument for it.
typedef struct sorted {
    const vy_program *p;
    window w;
} sorted;

// By what is loaded: all but the offset.
static int by_address(const vy_program *p, const window *x, const window *y)
{
    const vy_inst *a = &p->insts.data[x->load], *b = &p->insts.data[y->load];
    if (a->aux != b->aux) return a->aux < b->aux ? -1 : 1;
    if (x->axis != y->axis) return x->axis < y->axis ? -1 : 1;
    if (x->base != y->base) return x->base < y->base ? -1 : 1;
    for (uint32_t k = 0; k < a->nargs; k++) {
        const uint32_t m = vy_arg(p, x->load, k), n = vy_arg(p, y->load, k);
        if (k != x->axis && m != n) return m < n ? -1 : 1;
    }
    return 0;
}

static int by_offset(const void *x, const void *y)
{
    const sorted *a = x, *b = y;
    const int order = by_address(a->p, &a->w, &b->w);
    const int32_t m = (int32_t)a->w.offset, n = (int32_t)b->w.offset;
    return order ? order : m != n ? (m < n ? -1 : 1) : a->w.load < b->w.load ? -1 : 1;
}

// Is `y` the neighbour whose element `x` has in the next iteration?
static bool is_next(const vy_program *p, const window *x, const window *y)
{
    return by_address(p, x, y) == 0 && y->offset == x->offset + 1;
}

static bool sort_loads(sliding *s, uint32_t from)
{
    const uint32_t n = s->loads.count - from;
    sorted *all = vy_rewrite_table(&s->w, n * sizeof *all);
    for (uint32_t k = 0; all && k < n; k++) all[k] = (sorted){s->w.p, s->loads.data[from + k]};
    if (all) qsort(all, n, sizeof *all, by_offset);
    for (uint32_t k = 0; all && k < n; k++) s->loads.data[from + k] = all[k].w;
    return all != NULL;
}

// Chooses what `loop` carries; forgets its loads if that is nothing.
static bool choose(sliding *s, uint32_t loop, uint32_t from)
{
    uint32_t carried = 0;
    if (s->loads.count - from < 2 || !sort_loads(s, from)) {
        s->loads.count = from;
        return !s->w.oom;
    }
    for (uint32_t k = from; k + 1 < s->loads.count && carried < MOST; k++)
        if (is_next(s->w.p, &s->loads.data[k], &s->loads.data[k + 1]))
            s->loads.data[k].carried = ++carried;
    for (uint32_t k = from; k < s->loads.count; k++)
        s->carried[s->loads.data[k].load] = s->loads.data[k].carried;
    if (carried)
        s->first[loop] = from + 1;
    else
        s->loads.count = from;
    return true;
}

static bool is_simple(const vy_program *p, const vy_structure *s, uint32_t loop)
{
    int64_t step;
    const vy_inst *i = &p->insts.data[loop];
    if (i->op != VY_OP_LOOP || vy_exits(p, loop) || (i->flags & VY_FLAG_REVERSE)) return false;
    if (!vy_id_int(p, vy_arg(p, loop, 2), &step) || step != 1) return false;
    for (uint32_t id = loop + 1; id < s->partner[loop]; id++)
        if (vy_is_loop((vy_op)p->insts.data[id].op)) return false;
    return true;
}

static bool find_windows(sliding *s)
{
    const vy_program *p = s->w.p;
    s->written = vy_rewrite_table(&s->w, p->buffers.count);
    s->first = vy_rewrite_ids(&s->w);
    s->carried = vy_rewrite_ids(&s->w);
    if (s->w.oom) return false;
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        const vy_buf *b = &p->buffers.data[i]; // a view may be written through another
        s->written[i] = !vy_is_global(b->cls) || b->view_of != 0;
        if (b->view_of) s->written[b->view_of] = 1;
    }
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_op op = (vy_op)p->insts.data[id].op;
        if (vy_op_is_memory(op) && op != VY_OP_LOAD) s->written[p->insts.data[id].aux] = 1;
    }
    for (uint32_t loop = 1; loop < p->insts.count; loop++) {
        if (!vy_is_loop((vy_op)p->insts.data[loop].op)) continue;
        const uint32_t from = s->loads.count;
        // The loops inside of one that is not simple are looked at later.
        if (!is_simple(p, &s->w.s, loop)) continue;
        for (uint32_t id = loop + 1; id < s->w.s.partner[loop]; id++) {
            window load = {0};
            if (is_candidate(s, id, loop, &load) && !vy_vec_push(&s->loads, load)) return false;
        }
        if (!choose(s, loop, from)) return false;
    }
    return true;
}

// ---------------------------------------------------------------------------------------- the loop
static uint32_t load_at_start(sliding *s, const window *load)
{
    const vy_program *p = s->w.p;
    const vy_inst *i = &p->insts.data[load->load];
    uint32_t args[VY_MAX_RANK], at = 0;
    for (uint32_t k = 0; k < i->nargs; k++)
        args[k] = k == load->axis ? vy_followed_first(&s->w, vy_arg(p, load->load, k), s->loop).id
                                  : vy_new_arg(&s->w, load->load, k);
    uint32_t *map = s->w.map;
    const uint32_t before = map[load->load];
    vy_rewrite_moved(&s->w, load->load, args, map);
    at = map[load->load];
    map[load->load] = before;
    return at;
}

static const window *end_of(const sliding *s, const window *first)
{
    const window *l = first, *end = s->loads.data + s->loads.count;
    while (l < end && s->w.s.parent[l->load] == s->w.s.parent[first->load]) l++;
    return l;
}

// The n values before the first iteration, where there is one.
static void begin_windows(sliding *s, const window *first, const window *end, uint32_t n)
{
    vy_rewrite *w = &s->w;
    uint32_t loaded[MOST], zero[MOST], *in = s->made.in + s->made.own;
    const bool unsure = vy_begin_if_unsure(w->b, vy_new_runs(w, s->loop).id);
    for (const window *l = first; l < end; l++) {
        if (!l->carried) continue;
        loaded[l->carried - 1] = load_at_start(s, l);
        zero[l->carried - 1] = vy_zero(w->b, vy_id_type(w->p, l->load)).id;
    }
    if (!unsure) {
        memcpy(in, loaded, n * sizeof *in);
        return;
    }
    vy_begin_else(w->b, n, loaded);
    vy_end_if(w->b, n, zero, in);
}

static uint32_t take_carried(void *pass, uint32_t id)
{
    sliding *s = pass;
    if (!s->carried[id]) return 0;
    s->w.map[id] = s->made.out[s->made.own + s->carried[id] - 1];
    return id;
}

static uint32_t instead(void *pass, uint32_t id)
{
    sliding *s = pass;
    uint32_t n = 0;
    if (!s->first[id]) return 0;
    const window *first = &s->loads.data[s->first[id] - 1], *end = end_of(s, first);
    for (const window *l = first; l < end; l++) n += l->carried != 0;
    s->loop = id;
    if (!vy_remake(&s->w, &s->made, id, n)) return id;
    begin_windows(s, first, end, n);
    vy_remake_begin(&s->w, &s->made);
    vy_remake_body(&s->w, &s->made, take_carried, s);
    vy_remake_next(&s->w, &s->made);
    for (const window *l = first; l < end; l++)
        if (l->carried) s->made.in[s->made.own + l->carried - 1] = vy_new(&s->w, l[1].load);
    vy_remake_end(&s->w, &s->made);
    return vy_remake_last(&s->w, &s->made);
}

bool vy_pass_sliding_loads(vy_program *p, vy_pass_context *c)
{
    sliding s = {.loop = 0};
    bool ok = vy_rewrite_begin(&s.w, p);
    if (ok && (vy_constructs(p) & VY_LOOPS)) ok = find_windows(&s);
    if (ok && s.loads.count) vy_rewrite_run(&s.w, instead, &s);
    vy_vec_free(&s.loads);
    return vy_rewrite_end(&s.w, ok, &c->changed);
}
