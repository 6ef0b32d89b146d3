// SPDX-License-Identifier: MIT
// revolve_match.c: the two repeats that a `repeat … checkpoint(revolve, k)` has become.
//
//   buffer tape: f32[n, N];
//   repeat t in 0..n { copy(u, tape[t]); BODY }                  forward
//   …
//   repeat t in 0..n { … tape[n - 1 - t] …; the reverse }        reverse
//
// Each is recognised by the place in the text that it comes from.  The states are what the copies
// at the start of the forward repeat put on tapes.  BODY can be run again on other buffers if it
// writes states and buffers of its own only; dispatches that write nothing of the kind (they record
// what others read) are left out then.
#include "ir/host/revolve.h"

static const vy_dim_node *node(const vy_pipeline *l, vy_dim d)
{
    return &l->signature->dims.data[d.id];
}

static bool is_number(const vy_pipeline *l, vy_dim d, int64_t value)
{
    return node(l, d)->op == VY_DIM_CONST && node(l, d)->value == value;
}

static bool is_counter(const vy_pipeline *l, vy_dim d, uint32_t step)
{
    return node(l, d)->op == VY_DIM_STEP && node(l, d)->value == step;
}

// Is it n − 1 − t?
static bool is_reversed(const revolve_loop *x, vy_dim d)
{
    const vy_dim_node *n = node(x->l, d);
    if (n->op != VY_DIM_SUB || !is_counter(x->l, (vy_dim){n->b}, x->reverse)) return false;
    const vy_dim_node *last = node(x->l, (vy_dim){n->a}), *all = node(x->l, x->count);
    if (all->op == VY_DIM_CONST) return last->op == VY_DIM_CONST && last->value == all->value - 1;
    return last->op == VY_DIM_SUB && is_number(x->l, (vy_dim){last->b}, 1) &&
           vy_equal_dims(x->l->signature, (vy_dim){last->a}, x->count);
}

static uint32_t end_of(const vy_pipeline *l, uint32_t opener)
{
    return l->steps.data[opener].partner;
}

static bool opens(const vy_pipe_step *s)
{
    return s->kind == VY_PIPE_REPEAT || s->kind == VY_PIPE_CHECKPOINT;
}

// ----------------------------------------------------------------------------------------- states
// Does the step copy a buffer to a row of another one that the forward counter numbers?
static bool writes_tape(const revolve_loop *x, uint32_t at)
{
    const vy_pipe_step *s = &x->l->steps.data[at];
    if (s->kind != VY_PIPE_DISPATCH || s->arg_count != 2 || s->args[0].rank) return false;
    const vy_program *p = x->l->module->programs.data[s->program];
    return s->args[1].rank == 1 && is_counter(x->l, s->args[1].index[0], x->forward) &&
           x->l->signature->buffers.data[s->args[1].buffer.id].workspace && p->buffers.count == 3 &&
           p->buffers.data[1].cls == VY_IN && p->buffers.data[2].cls == VY_OUT;
}

static const revolve_state *state_on(const revolve_loop *x, uint32_t tape)
{
    for (uint32_t i = 0; i < x->state_count; i++)
        if (x->states[i].tape == tape) return &x->states[i];
    return NULL;
}

static const revolve_state *state_in(const revolve_loop *x, uint32_t buffer)
{
    for (uint32_t i = 0; i < x->state_count; i++)
        if (x->states[i].buffer == buffer) return &x->states[i];
    return NULL;
}

static bool find_states(revolve_loop *x, vy_arena *arena)
{
    const uint32_t end = end_of(x->l, x->forward);
    x->states = vy_arena_alloc(arena, (end - x->forward) * sizeof *x->states);
    if (!x->states) return false;
    for (x->body = x->forward + 1; x->body < end && writes_tape(x, x->body); x->body++) {
        const vy_pipe_arg *a = x->l->steps.data[x->body].args;
        if (state_on(x, a[1].buffer.id) || state_in(x, a[0].buffer.id)) return false;
        x->states[x->state_count++] = (revolve_state){a[1].buffer.id, a[0].buffer.id, {0}};
    }
    return x->state_count > 0;
}

// ----------------------------------------------------------------------------------------- repeats
static bool is_of(const vy_pipe_step *s, const vy_pipe_step *at)
{
    return s->kind == VY_PIPE_REPEAT && !s->test && s->line == at->line && s->column == at->column;
}

static bool names(const vy_pipe_step *s, uint32_t buffer)
{
    if (s->kind == VY_PIPE_VALUE) return s->buffer.id == buffer;
    for (uint32_t k = 0; s->kind == VY_PIPE_DISPATCH && k < s->arg_count; k++)
        if (s->args[k].buffer.id == buffer) return true;
    return false;
}

static bool uses(const vy_pipeline *l, uint32_t from, uint32_t to, uint32_t buffer)
{
    for (uint32_t i = from; i < to; i++)
        if (names(&l->steps.data[i], buffer)) return true;
    return false;
}

// The repeat of the place, in the same block as the forward one and after it, that uses its tape.
static bool find_reverse(revolve_loop *x, const vy_pipe_step *at)
{
    const vy_pipe_step *steps = x->l->steps.data;
    for (uint32_t i = end_of(x->l, x->forward) + 1; i < x->l->steps.count; i++) {
        if (steps[i].kind == VY_PIPE_END) return false;
        x->reverse = i;
        if (is_of(&steps[i], at) && uses(x->l, i, end_of(x->l, i), x->states[0].tape)) return true;
        if (opens(&steps[i])) i = end_of(x->l, i);
    }
    return false;
}

// Is it a repeat that tapes what its iterations begin with, and has a reverse?
static bool is_pair(revolve_loop *x, uint32_t forward, const vy_pipe_step *at, vy_arena *arena)
{
    x->forward = forward, x->state_count = 0;
    return find_states(x, arena) && find_reverse(x, at);
}

// The last such repeat of the place.  One that runs ahead, or again, tapes nothing; those inside of
// the repeats of the place are of their segments, which have one iteration.
static bool find_repeats(revolve_loop *x, const vy_pipe_step *at, vy_arena *arena)
{
    const vy_pipeline *l = x->l;
    uint32_t last = 0; // + 1
    for (uint32_t i = 0; i < l->steps.count; i++) {
        if (!is_of(&l->steps.data[i], at)) continue;
        if (is_pair(x, i, at, arena)) last = i + 1;
        i = end_of(l, i);
    }
    if (!last || !is_pair(x, last - 1, at, arena)) return false;
    const vy_pipe_step *f = &l->steps.data[x->forward], *r = &l->steps.data[x->reverse];
    x->count = f->to;
    return is_number(l, f->from, 0) && is_number(l, r->from, 0) &&
           vy_equal_dims(l->signature, f->to, r->to);
}

// Tapes are used by the reverse only, for its iteration.
static bool tapes_fit(const revolve_loop *x, uint32_t at)
{
    const vy_pipe_step *s = &x->l->steps.data[at];
    const bool inside = at > x->reverse && at < end_of(x->l, x->reverse);
    if (s->kind == VY_PIPE_BUFFER && state_on(x, s->buffer.id)) return at < x->forward;
    if (s->kind == VY_PIPE_VALUE && state_on(x, s->buffer.id))
        return inside && is_reversed(x, s->index[0]);
    if (s->kind != VY_PIPE_DISPATCH || (at > x->forward && at < x->body)) return true;
    const vy_program *p = x->l->module->programs.data[s->program];
    for (uint32_t i = 1, n = 0; i < p->buffers.count; i++) {
        if (!vy_pipe_binds(&p->buffers.data[i])) continue;
        const vy_pipe_arg *a = &s->args[n++];
        if (!state_on(x, a->buffer.id)) continue;
        if (!inside || !a->rank || !is_reversed(x, a->index[0])) return false;
        if (p->buffers.data[i].cls != VY_IN) return false;
    }
    return true;
}

// ------------------------------------------------------------------------------------------- body
enum { WRITES_OWN = 1, WRITES_OTHER = 2 };

static unsigned writes(const revolve_loop *x, const vy_pipe_step *s, uint8_t *others)
{
    const vy_program *p = x->l->module->programs.data[s->program];
    unsigned mask = 0;
    for (uint32_t i = 1, n = 0; i < p->buffers.count; i++) {
        if (!vy_pipe_binds(&p->buffers.data[i])) continue;
        const uint32_t buffer = s->args[n++].buffer.id;
        if (p->buffers.data[i].cls == VY_IN) continue;
        const bool own = x->inner[buffer] || state_in(x, buffer);
        mask |= own ? WRITES_OWN : WRITES_OTHER;
        if (!own) others[buffer] = 1;
    }
    return mask;
}

// Nothing that the advance runs reads what it leaves out.
static bool reads_none(const revolve_loop *x, const uint8_t *others)
{
    for (uint32_t i = x->body; i < end_of(x->l, x->forward); i++) {
        const vy_pipe_step *s = &x->l->steps.data[i];
        if (s->kind == VY_PIPE_VALUE && others[s->buffer.id]) return false;
        for (uint32_t k = 0; s->kind == VY_PIPE_DISPATCH && !x->skipped[i] && k < s->arg_count; k++)
            if (others[s->args[k].buffer.id]) return false;
    }
    return true;
}

static bool begins(revolve_loop *x, const vy_pipe_step *s)
{
    x->inner[s->buffer.id] = 1;
    return x->l->signature->buffers.data[s->buffer.id].init == VY_INIT_NONE;
}

static bool look_at_body(revolve_loop *x, vy_arena *arena)
{
    const vy_pipeline *l = x->l;
    const uint32_t end = end_of(l, x->forward), buffers = l->signature->buffers.count;
    uint8_t *others = vy_arena_alloc(arena, buffers);
    x->skipped = vy_arena_alloc(arena, l->steps.count);
    x->inner = vy_arena_alloc(arena, buffers);
    if (!others || !x->skipped || !x->inner) return false;
    for (uint32_t i = x->body; i < end; i++)
        if (l->steps.data[i].kind == VY_PIPE_BUFFER && !begins(x, &l->steps.data[i])) return false;
    for (uint32_t i = x->body; i < end; i++) {
        if (l->steps.data[i].kind != VY_PIPE_DISPATCH) continue;
        const unsigned mask = writes(x, &l->steps.data[i], others);
        if (mask == (WRITES_OWN | WRITES_OTHER)) return false;
        x->skipped[i] = mask == WRITES_OTHER;
    }
    return reads_none(x, others);
}

// ----------------------------------------------------------------------------------------- all
// Steps before the forward repeat keep their numbers, so what is computed from them stays as it is.
// Operands come before what uses them.  False: so deep that the rewriting would not recurse safely.
static bool find_varying(revolve_loop *x, vy_arena *arena)
{
    enum { DEEP = 1000 };
    const vy_dim_vec *dims = &x->l->signature->dims;
    uint16_t *depth = vy_arena_alloc(arena, dims->count * sizeof *depth);
    x->varies = vy_arena_alloc(arena, dims->count);
    if (!depth || !x->varies) return false;
    for (uint32_t i = 1; i < dims->count; i++) {
        const vy_dim_node *d = &dims->data[i];
        x->varies[i] = d->op == VY_DIM_STEP && d->value >= (int64_t)x->forward;
        if (d->op < VY_DIM_ADD) continue;
        x->varies[i] = x->varies[d->a] || x->varies[d->b];
        depth[i] = (uint16_t)((depth[d->a] > depth[d->b] ? depth[d->a] : depth[d->b]) + 1);
        if (depth[i] > DEEP) return false;
    }
    return true;
}

// The step that begins the buffer in the block of the forward repeat, before it; else 0.
static uint32_t begins_beside(const revolve_loop *x, uint32_t buffer)
{
    for (uint32_t i = x->forward; i-- > 0;) {
        const vy_pipe_step *s = &x->l->steps.data[i];
        if (s->kind == VY_PIPE_END) i = s->partner;
        if (opens(s)) return 0; // the block begins
        if (s->kind == VY_PIPE_BUFFER && s->buffer.id == buffer) return i + 1;
    }
    return 0;
}

// Is what the forward repeat computes used by the reverse one only?  So it is where a `checkpoint`
// around both runs again: the schedule advances from the first state by itself.
static bool only_replays(const revolve_loop *x)
{
    const uint32_t end = end_of(x->l, x->forward);
    for (uint32_t i = x->body; i < end; i++)
        if (x->skipped[i]) return false;
    for (uint32_t k = 0; k < x->state_count; k++) {
        const uint32_t buffer = x->states[k].buffer;
        if (!begins_beside(x, buffer) || uses(x->l, end, x->l->steps.count, buffer)) return false;
    }
    return true;
}

const char *revolve_match(revolve_loop *x, const vy_pipeline *l, const vy_pipe_step *at,
                          vy_arena *arena)
{
    x->l = l;
    if (!find_repeats(x, at, arena))
        return "no buffer from outside that it reads and writes is kept for each iteration";
    if (!find_varying(x, arena)) return "its numbers are too involved";
    if (x->varies[x->count.id]) return "its number of iterations is read inside of it";
    if (!look_at_body(x, arena)) return "its body changes more than its states";
    for (uint32_t i = 0; i < l->steps.count; i++)
        if (!tapes_fit(x, i)) return "its states are used elsewhere, too";
    x->replays = only_replays(x);
    return NULL;
}
