// SPDX-License-Identifier: MIT
// raise_states.c: repeats of which the reverse keeps some states only.
//
//   repeat t in A..B checkpoint(k) { step(u, k, v); step(v, k, u); }
//
// becomes
//
//   LOOP s = 0..⌈n/k⌉ [u, v]                   n = B − A; k = ⌈√n⌉ for checkpoint(sqrt)
//     CHECKPOINT
//       LOOP j = 0..min(k, n − s·k) [u, v]     t = A + s·k + j
//         ZERO u'; STORE u' ← u; …             the body, on u' and v'
//         [LOAD u', LOAD v']
//
// so that what an iteration passes to the next one are values, of which the forward sweep keeps one
// set for each segment, and the replay of a segment one for each of its iterations.  (Lowering lets
// all of them live in one buffer.)  A *state* is a buffer from outside that the body both reads and
// writes.  A buffer whose slices are numbered by the counter itself, `s[t + 1]`, holds the states
// of all iterations anyway: it stays as it is.
#include "ir/host/raise.h"

#include <string.h>

enum { READ = 1, WRITTEN = 2, INSIDE = 4, NUMBERED = 8 };

// Does dimension d depend on the counter of step `at`, other than by a remainder?
static bool counts(const vy_program *p, vy_dim dim, uint32_t at, uint32_t depth)
{
    enum { DEEP = 64 };
    const vy_dim_node *d = &p->dims.data[dim.id];
    if (depth > DEEP) return true;
    if (d->op == VY_DIM_STEP) return d->value == at;
    if (d->op < VY_DIM_ADD || d->op == VY_DIM_REM) return false;
    return counts(p, (vy_dim){d->a}, at, depth + 1) || counts(p, (vy_dim){d->b}, at, depth + 1);
}

static void look_at_dispatch(const vy_pipeline *l, const vy_pipe_step *s, uint32_t at,
                             uint8_t *flags)
{
    const vy_program *p = l->module->programs.data[s->program];
    for (uint32_t i = 1, n = 0; i < p->buffers.count; i++) {
        const vy_buf *b = &p->buffers.data[i];
        if (!vy_pipe_binds(b)) continue;
        const vy_pipe_arg *a = &s->args[n++];
        flags[a->buffer.id] |= (vy_host_takes(b) ? READ : 0) | (vy_host_gives(b) ? WRITTEN : 0);
        for (uint32_t k = 0; k < a->rank; k++)
            if (counts(l->signature, a->index[k], at, 0)) flags[a->buffer.id] |= NUMBERED;
    }
}

static bool is_state(const raising *r, uint32_t buffer, uint8_t flags)
{
    const vy_buf *b = &r->l->signature->buffers.data[buffer];
    if (flags != (READ | WRITTEN)) return false;
    for (uint32_t k = 0; k < b->rank; k++)
        if (r->unknown[b->dims[k].id]) return false;
    return true;
}

// The states of the repeat; false: there are none, or memory.
static bool find_states(raising *r, uint32_t at, raise_segments *g)
{
    const vy_pipeline *l = r->l;
    const uint32_t buffers = l->signature->buffers.count;
    uint8_t *flags = raise_room(r, buffers, 1);
    for (uint32_t i = at + 1; flags && i < l->steps.data[at].partner; i++) {
        const vy_pipe_step *s = &l->steps.data[i];
        if (s->kind == VY_PIPE_DISPATCH) look_at_dispatch(l, s, at, flags);
        if (s->kind == VY_PIPE_VALUE) flags[s->buffer.id] |= READ;
        if (s->kind == VY_PIPE_BUFFER) flags[s->buffer.id] |= INSIDE;
    }
    for (uint32_t i = 1; flags && i < buffers; i++) g->count += is_state(r, i, flags[i]);
    g->outer = raise_room(r, g->count, sizeof *g->outer);
    g->inner = raise_room(r, g->count, sizeof *g->inner);
    for (int k = 0; k < 2; k++) g->values[k] = raise_room(r, g->count, sizeof *g->values[k]);
    for (uint32_t i = 1, n = 0; g->values[1] && i < buffers; i++)
        if (is_state(r, i, flags[i])) g->outer[n++] = i;
    return g->count > 0 && !vy_builder_failed(r->b);
}

// ----------------------------------------------------------------------------------------- lengths
static vy_dim two(raising *r, vy_dim_op op, vy_dim x, vy_dim y)
{
    return vy_dim_binary(r->b, op, x, y);
}

// Several repeats may end at one number: the bound of the first one is known at all of them, that
// of a later one may begin after the first.
static void hint(raising *r, uint32_t id, vy_dim bound)
{
    if (VY_IS_LEAF(id) || !bound.id || vy_builder_failed(r->b)) return;
    while (r->hints.count <= id)
        if (!vy_vec_push(&r->hints, 0u)) {
            vy_build_oom(r->b);
            return;
        }
    if (!r->hints.data[id]) r->hints.data[id] = bound.id;
}

static vy_value constant_i64(raising *r, int64_t v) { return vy_int(r->b, VY_I64, v); }

// From 0 to an unsigned scalar: as many as that says.
static bool is_counted(const raising *r, const vy_pipe_step *s)
{
    const vy_program *p = r->l->signature;
    const vy_dim_node *from = &p->dims.data[s->from.id], *to = &p->dims.data[s->to.id];
    return from->op == VY_DIM_CONST && from->value == 0 && to->op == VY_DIM_SCALAR &&
           !vy_type_is_signed(p->scalars.data[to->value].type);
}

// The iterations of a segment, for n ≥ 0 of them: k, or ⌈√n⌉ = isqrt(n − 1) + 1.
static vy_value length_of(raising *r, const vy_pipe_step *s, vy_value n)
{
    vy_builder *b = r->b;
    const vy_value one = constant_i64(r, 1);
    if (s->keep == VY_KEEP_EVERY) return vy_max(b, (vy_value){raise_number(r, s->keep_count)}, one);
    const vy_value m = vy_sub(b, vy_max(b, n, one), one);
    const vy_value root = vy_call(b, "sqrt", 1, &(vy_value){vy_cast(b, VY_F64, m).id});
    return vy_add(b, vy_cast(b, VY_I64, root), one);
}

static vy_dim upper(raising *r, vy_dim dim, uint32_t depth);

static vy_dim upper_of_both(raising *r, const vy_dim_node *d, uint32_t depth)
{
    const vy_dim x = upper(r, (vy_dim){d->a}, depth), y = upper(r, (vy_dim){d->b}, depth);
    if (d->op == VY_DIM_MIN && (!x.id || !y.id)) return x.id ? x : y;
    return x.id && y.id ? two(r, d->op, x, y) : (vy_dim){0};
}

// A dimension that is at least `dim`, without counters and without values but those that are
// extents; id 0: none is known.
static vy_dim upper(raising *r, vy_dim dim, uint32_t depth)
{
    enum { DEEP = 32 };
    const vy_dim_node *d = &r->l->signature->dims.data[dim.id];
    const vy_dim_node *b = &r->l->signature->dims.data[d->b];
    if (!r->unknown[dim.id]) return dim;
    if (r->extent[dim.id].id) return r->extent[dim.id];
    if (depth > DEEP) return (vy_dim){0};
    switch (d->op) {
    case VY_DIM_STEP: {
        const vy_pipe_step *s = &r->l->steps.data[d->value];
        const vy_dim to = s->kind == VY_PIPE_REPEAT ? upper(r, s->to, depth + 1) : (vy_dim){0};
        return to.id ? two(r, VY_DIM_SUB, to, vy_dim_const(r->b, 1)) : to;
    }
    case VY_DIM_ADD:
    case VY_DIM_MIN:
    case VY_DIM_MAX: return upper_of_both(r, d, depth + 1);
    case VY_DIM_SUB: {
        const vy_dim x = upper(r, (vy_dim){d->a}, depth + 1);
        if (x.id && b->op == VY_DIM_CONST) return two(r, VY_DIM_SUB, x, (vy_dim){d->b});
        return vy_host_natural(r->l, (vy_dim){d->b}) ? x : (vy_dim){0};
    }
    case VY_DIM_MUL:
    case VY_DIM_DIV: {
        const vy_dim x = upper(r, (vy_dim){d->a}, depth + 1);
        const bool scales = b->op == VY_DIM_CONST && b->value > 0;
        return x.id && scales ? two(r, d->op, x, (vy_dim){d->b}) : (vy_dim){0};
    }
    default: return (vy_dim){0};
    }
}

void raise_hint_extent(raising *r, uint32_t id, vy_dim to)
{
    const bool computed = r->l->signature->dims.data[to.id].op >= VY_DIM_ADD;
    if (r->unknown[to.id] || computed) hint(r, id, upper(r, to, 0));
}

// Bounds of the length of a segment and of their number, where scalars bound both.
static void bound(raising *r, const vy_pipe_step *s, bool each, vy_value c, vy_value segments)
{
    const bool every = s->keep == VY_KEEP_EVERY;
    const vy_dim one = vy_dim_const(r->b, 1), zero = vy_dim_const(r->b, 0);
    const vy_dim to = upper(r, s->to, 0);
    if (!to.id || (every && r->unknown[s->keep_count.id])) return;
    const bool known = !r->unknown[s->from.id];
    if (!known && !vy_host_natural(r->l, s->from)) return;
    vy_dim n = known ? two(r, VY_DIM_SUB, to, s->from) : to;
    n = is_counted(r, s) ? s->to : two(r, VY_DIM_MAX, n, zero);
    if (each) {
        hint(r, segments.id, n);
        return;
    }
    const vy_dim m = two(r, VY_DIM_SUB, two(r, VY_DIM_MAX, n, one), one);
    const vy_dim root = two(r, VY_DIM_ADD, two(r, VY_DIM_SQRT, m, m), one);
    const vy_dim k = every ? two(r, VY_DIM_MAX, s->keep_count, one) : root;
    hint(r, c.id, k);
    hint(r, segments.id,
         every ? two(r, VY_DIM_DIV, two(r, VY_DIM_SUB, two(r, VY_DIM_ADD, n, k), one), k) : root);
}

// ------------------------------------------------------------------------------------------- loops
static uint32_t loop(raising *r, vy_value count, uint32_t n, const uint32_t *in, uint32_t *out)
{
    const uint32_t one = constant_i64(r, 1).id, zero = constant_i64(r, 0).id;
    return vy_begin_loop(r->b, VY_I64, 0, zero, count.id, one, n, in, out);
}

static uint32_t load_all(raising *r, uint32_t buffer)
{
    const vy_type type = vy_builder_program(r->b)->buffers.data[buffer].type;
    return vy_host_append(r->b, VY_OP_LOAD, type, buffer, 0, NULL);
}

static void store_all(raising *r, uint32_t buffer, uint32_t value)
{
    vy_emit(r->b, VY_OP_STORE, VY_VOID, buffer, 1, &value);
}

// The buffer of an iteration that begins as `value`.
static uint32_t inner_buffer(raising *r, uint32_t outer, uint32_t value)
{
    const vy_buf like = vy_builder_program(r->b)->buffers.data[r->current[outer]];
    char text[320];
    const char *name = vy_free_name(vy_builder_program(r->b), "in", like.name, text);
    const uint32_t made = vy_build_buffer(r->b, name, VY_LOCAL, like.type, like.rank, like.dims).id;
    vy_emit(r->b, VY_OP_ZERO, VY_VOID, made, 0, NULL);
    store_all(r, made, value);
    return made;
}

// Is the innermost block around step `at` that of a repeat?  A schedule inside of it is a
// checkpoint: the repeat outside keeps what it begins with, not the states of all its iterations.
static bool is_in_repeat(const raising *r, uint32_t at)
{
    const uint32_t block = vy_host_block_of(r->l, at);
    return block && r->l->steps.data[block - 1].kind == VY_PIPE_REPEAT;
}

bool raise_open_segments(raising *r, uint32_t at)
{
    const vy_pipe_step *s = &r->l->steps.data[at];
    raise_segments *g = raise_room(r, 1, sizeof *g);
    const bool cut = s->keep != VY_KEEP_ALL || (r->all && !r->open);
    if (!g || !cut || !find_states(r, at, g)) return false;
    vy_builder *b = r->b;
    const vy_value from = {raise_number(r, s->from)}, to = {raise_number(r, s->to)};
    const bool counted = is_counted(r, s);
    const vy_value zero = counted ? to : constant_i64(r, 0);
    const vy_value n = counted ? to : vy_max(b, vy_sub(b, to, from), zero);
    const bool each = r->revolve && vy_host_revolves(r->l, at);
    const vy_value c = each ? constant_i64(r, 1) : length_of(r, s, n);
    const vy_value one = constant_i64(r, 1), last = vy_sub(b, vy_add(b, n, c), one);
    const vy_value segments = each ? n : vy_div(b, last, c);
    bound(r, s, each, c, segments);
    uint32_t *in = g->values[0], *out = g->values[1];
    g->again = each && is_in_repeat(r, at);
    if (g->again) vy_begin_checkpoint(b);
    for (uint32_t k = 0; k < g->count; k++) in[k] = load_all(r, r->current[g->outer[k]]);
    const vy_value i = {loop(r, segments, g->count, in, out)};
    vy_begin_checkpoint(b);
    const vy_value base = vy_mul(b, i, c), left = vy_sub(b, n, base);
    const vy_value j = {loop(r, vy_min(b, c, left), g->count, out, in)};
    r->steps[at] = vy_add(b, from, vy_add(b, base, j)).id;
    for (uint32_t k = 0; k < g->count && !vy_builder_failed(b); k++) {
        g->inner[k] = inner_buffer(r, g->outer[k], in[k]);
        const uint32_t was = r->current[g->outer[k]];
        r->current[g->outer[k]] = g->inner[k];
        g->inner[k] = was; // to be restored
    }
    r->segments[at] = g;
    return true;
}

void raise_close_segments(raising *r, uint32_t at)
{
    raise_segments *g = r->segments[at];
    uint32_t *in = g->values[0], *out = g->values[1];
    if (vy_builder_failed(r->b)) return;
    for (uint32_t k = 0; k < g->count; k++) {
        in[k] = load_all(r, r->current[g->outer[k]]);
        r->current[g->outer[k]] = g->inner[k];
    }
    vy_end_loop(r->b, 0, g->count, in, out);
    vy_end_checkpoint(r->b, g->count, out, in);
    vy_end_loop(r->b, 0, g->count, in, out);
    for (uint32_t k = 0; k < g->count && !vy_builder_failed(r->b); k++)
        store_all(r, r->current[g->outer[k]], out[k]);
    if (g->again) vy_end_checkpoint(r->b, 0, NULL, NULL);
}
