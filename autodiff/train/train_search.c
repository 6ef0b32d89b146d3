// SPDX-License-Identifier: MIT
// train_search.c: steps of optimisers that evaluate the loss several times (shaders/optimisers/).
//
//   pack(flat(w), x, at=0);                                             each parameter
//   repeat t in 0..count {
//       repeat first in 0..begin - t { evaluate x: loss, gradient }
//       unpack(loss, losses[t]); rate(losses[t], step, rate, lr=…); next_step(losses[t], step);
//       propose(x, loss, gradient, at, rate, searching, …);
//       while {
//           evaluate `at`: loss_at, gradient_at
//           judge(x, loss, at, loss_at, gradient_at, searching, …);
//           value(searching[0])
//       } {}
//       accept(x, loss, gradient, at, loss_at, gradient_at, …);
//   }
//   unpack(x, flat(w), at=0);
//
// To evaluate is to unpack a vector into the parameters, to dispatch the derivative, and to pack
// the gradients.  The three pipelines are wired by the names of their parameters; what `accept`
// changes is a state, which stays from run to run, except for x, which the parameters are.
#include "autodiff/train/train_build.h"

#include <string.h>

typedef struct train_wire { // a parameter of the three pipelines
    const vy_buf *b;
    const vy_program *of;
    bool state;
    vy_buffer made;
} train_wire;

static train_wire *wire_called(const training *t, const char *name)
{
    for (uint32_t i = 0; i < t->wire_count; i++)
        if (!strcmp(t->wires[i].b->name, name)) return &t->wires[i];
    return NULL;
}

// ------------------------------------------------------------------------------------------- check
static bool refuse(training *t, const char *phase, const char *name)
{
    return train_fail(t, VY_E_GRAD_PROGRAM, 0,
                      "buffers of an optimiser that searches have the type of the loss or u32, one "
                      "shape of constants and n, and n is its only scalar",
                      "`%s` of `%s` is not what optimisers take", name, phase);
}

static vy_dim dim_of(const training *t, const train_wire *w, uint32_t axis)
{
    const vy_dim_node *n = &w->of->dims.data[w->b->dims[axis].id];
    return n->op == VY_DIM_CONST ? vy_dim_const(t->b, n->value) : t->total;
}

static bool same_dim(const train_wire *w, const train_wire *v, uint32_t axis)
{
    const vy_dim_node *a = &w->of->dims.data[w->b->dims[axis].id],
                      *b = &v->of->dims.data[v->b->dims[axis].id];
    return a->op == b->op && (a->op != VY_DIM_CONST || a->value == b->value);
}

static bool fits(const training *t, const train_wire *w, const train_wire *before)
{
    bool ok = w->b->type == t->type || w->b->type == VY_U32;
    for (uint32_t k = 0; ok && k < w->b->rank; k++) {
        const vy_dim_op op = w->of->dims.data[w->b->dims[k].id].op;
        ok = op == VY_DIM_CONST || op == VY_DIM_SCALAR;
    }
    if (!ok || !before) return ok;
    ok = w->b->type == before->b->type && w->b->rank == before->b->rank;
    for (uint32_t k = 0; ok && k < w->b->rank; k++) ok = same_dim(w, before, k);
    return ok;
}

static bool wire(training *t, uint32_t phase, const vy_buf *b)
{
    const vy_program *of = t->phases[phase]->signature;
    train_wire w = {.b = b, .of = of}, *before = wire_called(t, b->name);
    if (!fits(t, &w, before) || b->cls == VY_OUT) return refuse(t, of->name, b->name);
    if (!before) t->wires[t->wire_count++] = w, before = &t->wires[t->wire_count - 1];
    before->state |= phase == TRAIN_ACCEPT && b->cls == VY_INOUT && strcmp(b->name, "x") != 0;
    return true;
}

// What is passed between the pipelines and the derivative: name, class of numbers, is it a vector?
static bool check_known(training *t)
{
    static const struct {
        const char *name;
        bool integer, vector;
    } known[] = {{"x", false, true},        {"loss", false, false},    {"gradient", false, true},
                 {"at", false, true},       {"loss_at", false, false}, {"gradient_at", false, true},
                 {"searching", true, false}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const train_wire *w = wire_called(t, known[i].name);
        const vy_dim_node *n = w ? &w->of->dims.data[w->b->dims[0].id] : NULL;
        const bool good =
            w && w->b->rank == 1 && (w->b->type == VY_U32) == known[i].integer &&
            (known[i].vector ? n->op == VY_DIM_SCALAR : n->op == VY_DIM_CONST && n->value == 1);
        if (!good) return refuse(t, t->phases[TRAIN_PROPOSE]->name, known[i].name);
    }
    return true;
}

bool train_search_check(training *t)
{
    size_t most = 0;
    for (uint32_t k = 0; k < TRAIN_PHASES; k++) most += t->phases[k]->signature->buffers.count;
    t->wires = train_room(t, most, sizeof *t->wires);
    if (!t->wires) return train_no_memory(t);
    for (uint32_t k = 0; k < TRAIN_PHASES; k++) {
        const vy_program *s = t->phases[k]->signature;
        if (s->scalars.count != 1) return refuse(t, s->name, "the scalars");
        for (uint32_t i = 1; i < s->buffers.count; i++)
            if (vy_pipe_binds(&s->buffers.data[i]) && !wire(t, k, &s->buffers.data[i]))
                return false;
    }
    if (!check_known(t)) return false;
    if (t->o->split)
        return train_fail(t, VY_E_GRAD_PROGRAM, 0, "take sgd, momentum or adam",
                          "this optimiser searches: it does not train on several devices");
    return !t->o->batch_count ||
           train_fail(t, VY_E_GRAD_PROGRAM, 0, "leave batches out, or take adam",
                      "this optimiser compares losses of the same data: it takes no batches");
}

// ----------------------------------------------------------------------------------------- buffers
size_t train_search_size(const training *t) { return t->wire_count; }

static vy_dim elements_of(const training *t, const vy_buf *b)
{
    vy_dim n = t->dims[b->dims[0].id];
    for (uint32_t k = 1; k < b->rank; k++)
        n = vy_dim_binary(t->b, VY_DIM_MUL, n, t->dims[b->dims[k].id]);
    return n;
}

static void place_parameters(training *t)
{
    t->total = (vy_dim){0};
    for (uint32_t i = 1; i < t->result->buffers.count && !train_failed(t); i++) {
        train_slot *s = &t->slots[i];
        if (s->place != TRAIN_PARAMETER) continue;
        const vy_dim n = elements_of(t, &t->result->buffers.data[i]);
        s->offset = t->total.id ? t->total : vy_dim_const(t->b, 0);
        t->total = t->total.id ? vy_dim_binary(t->b, VY_DIM_ADD, t->total, n) : n;
    }
}

static void shape_wire(const training *t, const train_wire *w, vy_dim *shape)
{
    for (uint32_t k = 0; k < w->b->rank; k++) shape[k] = dim_of(t, w, k);
}

void train_search_states(training *t)
{
    const char *of = t->o->optimiser && !t->o->optimiser_text ? t->o->optimiser : "search";
    vy_dim shape[VY_MAX_RANK];
    place_parameters(t);
    for (uint32_t i = 0; i < t->wire_count && !train_failed(t); i++) {
        train_wire *w = &t->wires[i];
        if (!w->state) continue;
        const char *name = train_own_name(t, of, w->b->name);
        ((const char **)t->out->states)[t->state_count++] = name;
        shape_wire(t, w, shape);
        w->made = vy_param_buffer(t->b, name, VY_INOUT, w->b->type, w->b->rank, shape);
    }
}

static void declare_others(training *t)
{
    vy_dim shape[VY_MAX_RANK];
    for (uint32_t i = 0; i < t->wire_count && !train_failed(t); i++) {
        train_wire *w = &t->wires[i];
        if (!strcmp(w->b->name, "rate")) w->made = t->rate_now;
        if (!strcmp(w->b->name, "step")) w->made = t->step;
        if (w->made.id) continue;
        shape_wire(t, w, shape);
        w->made = vy_pipeline_buffer(t->q, train_own_name(t, "", w->b->name), w->b->type,
                                     w->b->rank, shape);
    }
}

// ------------------------------------------------------------------------------------------- steps
static void pack(training *t, vy_buffer part, const char *all, vy_dim at)
{
    const vy_pipe_scalar given = train_number("at", at);
    const vy_pipe_arg args[] = {train_flat(part), train_entire(wire_called(t, all)->made)};
    if (!train_failed(t)) vy_pipeline_dispatch(t->q, t->pack, 2, args, 1, &given, NULL);
}

static void unpack(training *t, vy_buffer all, vy_pipe_arg part, vy_dim at)
{
    const vy_pipe_scalar given = train_number("at", at);
    const vy_pipe_arg args[] = {train_flat(all), part};
    if (!train_failed(t)) vy_pipeline_dispatch(t->q, t->unpack, 2, args, 1, &given, NULL);
}

// Loss and gradient at a vector.
static void evaluate(training *t, const char *from, const char *loss, const char *gradient)
{
    const vy_dim zero = vy_dim_const(t->b, 0);
    const uint32_t n = t->result->buffers.count;
    for (uint32_t i = 1; i < n && !train_failed(t); i++)
        if (t->slots[i].place == TRAIN_PARAMETER)
            unpack(t, wire_called(t, from)->made, train_flat(t->slots[i].made), t->slots[i].offset);
    train_differentiate(t, NULL);
    for (uint32_t i = 1; i < n && !train_failed(t); i++) {
        const train_slot *s = &t->slots[i];
        if (s->place == TRAIN_LOSS)
            unpack(t, s->made, train_flat(wire_called(t, loss)->made), zero);
        if (s->place == TRAIN_GRADIENT) pack(t, s->made, gradient, t->slots[s->of].offset);
    }
}

static void phase(training *t, uint32_t k)
{
    const vy_program *s = t->phases[k]->signature;
    vy_pipe_arg *args = train_room(t, s->buffers.count, sizeof *args);
    uint32_t n = 0;
    if (!args || train_failed(t)) return;
    for (uint32_t i = 1; i < s->buffers.count; i++)
        if (vy_pipe_binds(&s->buffers.data[i]))
            args[n++] = train_entire(wire_called(t, s->buffers.data[i].name)->made);
    vy_pipeline_call(t->q, t->phases[k], n, args, 0, NULL, NULL);
}

static void search(training *t)
{
    const vy_dim zero = vy_dim_const(t->b, 0);
    vy_pipeline_while(t->q, VY_KEEP_ALL, (vy_dim){0});
    evaluate(t, "at", "loss_at", "gradient_at");
    phase(t, TRAIN_JUDGE);
    if (train_failed(t)) return;
    vy_pipeline_test(t->q, vy_pipeline_value(t->q, wire_called(t, "searching")->made, &zero));
    vy_pipeline_close(t->q);
}

static void step(training *t, const vy_dim *at)
{
    const vy_dim zero = vy_dim_const(t->b, 0);
    const vy_dim begin = vy_dim_binary(t->b, VY_DIM_SUB, vy_dim_value(t->b, t->begin), *at);
    vy_pipeline_repeat(t->q, "first", zero, begin, VY_KEEP_ALL, (vy_dim){0});
    evaluate(t, "x", "loss", "gradient");
    vy_pipeline_close(t->q);
    if (train_failed(t)) return;
    unpack(t, wire_called(t, "loss")->made, train_loss_row(t, at), zero);
    train_choose_rate(t, at);
    train_count_step(t, at);
    phase(t, TRAIN_PROPOSE);
    search(t);
    phase(t, TRAIN_ACCEPT);
}

void train_search_steps(training *t)
{
    const vy_dim zero = vy_dim_const(t->b, 0), to = vy_dim_value(t->b, t->count);
    const uint32_t n = t->result->buffers.count;
    declare_others(t);
    for (uint32_t i = 1; i < n && !train_failed(t); i++)
        if (t->slots[i].place == TRAIN_PARAMETER)
            pack(t, t->slots[i].full, "x", t->slots[i].offset);
    if (train_failed(t)) return;
    const vy_dim at = vy_pipeline_repeat(t->q, "t", zero, to, VY_KEEP_ALL, (vy_dim){0});
    step(t, &at);
    if (!train_failed(t)) vy_pipeline_close(t->q);
    for (uint32_t i = 1; i < n && !train_failed(t); i++)
        if (t->slots[i].place == TRAIN_PARAMETER)
            unpack(t, wire_called(t, "x")->made, train_flat(t->slots[i].full), t->slots[i].offset);
}
