// SPDX-License-Identifier: MIT
// counter.c: counters for loops whose trip count depends on data.
//
//   while c { BODY }      becomes      var n = 0u;  while c { let at = n; BODY; n += 1; }
//
// with n declared at the top of the program, or of the checkpoint that records, so that it counts
// across all executions of an inner loop.  `at` is the iteration's row on a tape, the final n the
// length of the tape.  They are ordinary variables of the primal, so the reverse sweep gets them
// like any other: from the closed form n₀ + k inside the loop, from a tape of the loop around it.
// Unused ones are removed with the rest of the dead code.
#include "autodiff/core/counter.h"
#include "autodiff/facts/trip_bound.h"
#include "autodiff/storage/storage.h"
#include "ir/build/rewrite.h"

#include <string.h>

// A variable is threaded through the constructs between its declaration and its loop.
typedef struct variable {
    uint32_t counter;
    bool most;   // vy_counter.most: the maximum over executions of the context
    uint32_t id; // current value, in the new program
} variable;
VY_VEC_TYPE(variable_vec, variable);

typedef struct thread { // construct ← variable, a list per construct
    uint32_t variable, next;
} thread;
VY_VEC_TYPE(thread_vec, thread);

typedef struct counting {
    vy_rewrite w;
    const uint32_t *old_hints;
    uint32_t *first;          // by opener: + 1, the first of its threads
    uint8_t *busy;            // by WHILE: its condition is more than an expression
    vy_counter_vec *counters; // loop, context: ids of the OLD program until the end
    variable_vec variables;
    thread_vec threads;
    vy_id_vec hints;
} counting;

// -------------------------------------------------------------------------------------- what to do
static void pass_through(counting *w, uint32_t construct, uint32_t variable)
{
    thread t = {variable, w->first[construct]};
    if (!vy_vec_push(&w->threads, t))
        w->w.oom = true;
    else
        w->first[construct] = w->threads.count;
}

static void add_counter(counting *w, uint32_t loop, uint32_t context)
{
    vy_counter c = {.loop = loop, .context = context};
    variable at = {.counter = w->counters->count}, most = {at.counter, true, 0};
    if (!vy_vec_push(w->counters, c) || !vy_vec_push(&w->variables, at) ||
        !vy_vec_push(&w->variables, most)) {
        w->w.oom = true;
        return;
    }
    for (uint32_t up = loop; up && up != context; up = w->w.s.parent[up])
        pass_through(w, up, w->variables.count - 2);
    for (uint32_t up = context; up; up = w->w.s.parent[up])
        pass_through(w, up, w->variables.count - 1);
}

static void add_counters(counting *w)
{
    vy_lows lows;
    if (!vy_lows_make(&lows, w->w.p, &w->w.s, &w->w.arena)) w->w.oom = true;
    const vy_bounds bounds = {.p = w->w.p, .lows = &lows, .b = w->w.b, .hints = w->old_hints};
    for (uint32_t id = 1; id < w->w.p->insts.count && !w->w.oom; id++) {
        if (!vy_is_loop((vy_op)w->w.p->insts.data[id].op) || vy_trip_bound(&bounds, id).id)
            continue;
        for (uint32_t up = w->w.s.parent[id]; up; up = w->w.s.parent[up])
            if (w->w.p->insts.data[up].op == VY_OP_CHECKPOINT) add_counter(w, id, up);
        add_counter(w, id, 0);
    }
}

// Marks conditions that are more than expressions of carried values and of constant memory: their
// values could be taped for an iteration that never runs.
static void find_busy_conditions(counting *w, const uint8_t *written)
{
    for (uint32_t id = 1; id < w->w.p->insts.count; id++) {
        if (w->w.p->insts.data[id].op != VY_OP_TEST) continue;
        uint32_t opener = w->w.s.partner[id];
        for (uint32_t k = opener + 1; k < id && !w->busy[opener]; k++) {
            const vy_inst *i = &w->w.p->insts.data[k];
            vy_effect effect = vy_op_infos[i->op].effect;
            bool fixed = effect == VY_READ && !written[i->aux];
            bool simple =
                effect == VY_PURE || fixed || i->op == VY_OP_CARRY || i->op == VY_OP_RESULT;
            w->busy[opener] = !simple;
        }
    }
}

// --------------------------------------------------------------------------------------- rewriting
static uint32_t number(counting *w, uint32_t v) { return vy_int(w->w.b, VY_U32, v).id; }

static variable *variable_of(counting *w, uint32_t thread)
{
    return &w->variables.data[w->threads.data[thread - 1].variable];
}

// Rebuilds a construct so that it carries or yields its variables, after its own values.
static bool remake(counting *w, uint32_t construct, vy_remade *x)
{
    uint32_t n = 0;
    for (uint32_t t = w->first[construct]; t; t = w->threads.data[t - 1].next) n++;
    return vy_remake(&w->w, x, construct, n);
}

static void read_variables(counting *w, const vy_remade *x, uint32_t *to)
{
    uint32_t k = x->own;
    for (uint32_t t = w->first[x->opener]; t; t = w->threads.data[t - 1].next)
        to[k++] = variable_of(w, t)->id;
}

static void write_variables(counting *w, const vy_remade *x, const uint32_t *from)
{
    uint32_t k = x->own;
    for (uint32_t t = w->first[x->opener]; t; t = w->threads.data[t - 1].next)
        variable_of(w, t)->id = from[k++];
}

static uint32_t thread_variables(void *pass, uint32_t id);

static void copy_if(counting *w, vy_remade *x)
{
    read_variables(w, x, x->out); // their values before the `if`
    vy_remake_begin(&w->w, x);
    vy_remake_body(&w->w, x, thread_variables, w);
    vy_remake_then(&w->w, x);
    read_variables(w, x, x->in);
    vy_remake_else(&w->w, x);
    write_variables(w, x, x->out);
    vy_remake_other(&w->w, x, thread_variables, w);
    vy_remake_next(&w->w, x);
}

static void copy_checkpoint(counting *w, vy_remade *x)
{
    vy_remake_begin(&w->w, x);
    for (uint32_t v = 0; v < w->variables.count; v += 2) { // each `at` is followed by its `most`
        variable *at = &w->variables.data[v];
        if (w->counters->data[at->counter].context == x->opener) at->id = number(w, 0);
    }
    vy_remake_body(&w->w, x, thread_variables, w);
    vy_remake_next(&w->w, x);
    for (uint32_t v = 1; v < w->variables.count; v += 2) {
        variable *most = &w->variables.data[v];
        if (w->counters->data[most->counter].context != x->opener) continue;
        most->id = vy_max(w->w.b, (vy_value){most->id}, (vy_value){most[-1].id}).id;
    }
}

// The body of a `while` with a busy condition becomes an `if` on the condition; the loop itself
// ends after the iteration in which the condition was false.
static void body_as_if(counting *w, vy_remade *x)
{
    vy_builder *b = w->w.b;
    uint32_t loop = x->opener, end = w->w.s.partner[loop], test = w->w.s.test[loop];
    uint32_t n = x->total + 1, *elses = vy_rewrite_table(&w->w, 2 * (size_t)n * sizeof *elses);
    if (!elses) return;
    uint32_t *results = elses + n;
    vy_loop_test(b, vy_bool(b, true).id);
    vy_rewrite_range(&w->w, vy_carry(loop, x->own), test, thread_variables, w);
    for (uint32_t k = 0; k < x->own; k++) elses[k] = vy_new(&w->w, vy_carry(loop, k));
    read_variables(w, x, elses);
    elses[x->total] = vy_bool(b, false).id;
    vy_begin_if(b, vy_new_arg(&w->w, test, 0));
    vy_rewrite_range(&w->w, test + 1, end, thread_variables, w);
    vy_remake_next(&w->w, x);
    read_variables(w, x, x->in);
    x->in[x->total] = x->keep ? x->keep : vy_bool(b, true).id; // there is room for one more
    vy_begin_else(b, n, x->in);
    vy_end_if(b, n, elses, results);
    memcpy(x->in, results, x->total * sizeof *results);
    x->keep = results[x->total];
    write_variables(w, x, x->in);
}

static void copy_loop(counting *w, vy_remade *x)
{
    read_variables(w, x, x->in);
    vy_remake_begin(&w->w, x);
    write_variables(w, x, x->out);
    for (uint32_t t = w->first[x->opener]; t; t = w->threads.data[t - 1].next) {
        const variable *v = variable_of(w, t);
        vy_counter *c = &w->counters->data[v->counter];
        if (c->loop == x->opener && !v->most) c->at = v->id;
    }
    if (w->busy[x->opener]) {
        body_as_if(w, x);
    } else {
        vy_remake_body(&w->w, x, thread_variables, w);
        vy_remake_next(&w->w, x);
    }
    // Every iteration is counted, including the last.
    for (uint32_t t = w->first[x->opener]; t; t = w->threads.data[t - 1].next) {
        variable *v = variable_of(w, t);
        const vy_counter *c = &w->counters->data[v->counter];
        if (c->loop == x->opener && !v->most)
            v->id = vy_add(w->w.b, (vy_value){c->at}, (vy_value){number(w, 1)}).id;
    }
}

// Rebuilds a construct that variables are threaded through, or whose condition is busy.  The
// recursion is as deep as constructs nest.
static uint32_t thread_variables(void *pass, uint32_t id)
{
    counting *w = pass;
    vy_op op = (vy_op)w->w.p->insts.data[id].op;
    vy_remade x;
    if (!vy_op_opens(op) || !(w->first[id] || w->busy[id]) || !remake(w, id, &x)) return 0;
    if (op == VY_OP_IF)
        copy_if(w, &x);
    else if (op == VY_OP_CHECKPOINT)
        copy_checkpoint(w, &x);
    else
        copy_loop(w, &x);
    read_variables(w, &x, x.in);
    vy_remake_end(&w->w, &x);
    write_variables(w, &x, x.out);
    return vy_remake_last(&w->w, &x);
}

// ------------------------------------------------------------------------------------- entry point
static void move_hints(counting *w)
{
    uint32_t n = vy_builder_program(w->w.b)->insts.count + 1;
    w->w.oom |= !vy_vec_reserve(&w->hints, n);
    if (vy_rewrite_stopped(&w->w)) return;
    w->hints.count = n;
    memset(w->hints.data, 0, n * sizeof *w->hints.data);
    for (uint32_t id = 1; w->old_hints && id < w->w.p->insts.count; id++) {
        uint32_t now = w->w.map[id];
        if (w->old_hints[id] && !VY_IS_LEAF(now) && now < n) w->hints.data[now] = w->old_hints[id];
    }
}

static void count_loops(counting *w)
{
    add_counters(w);
    for (uint32_t v = 0; v < w->variables.count; v++) w->variables.data[v].id = number(w, 0);
    vy_rewrite_range(&w->w, 1, w->w.p->insts.count, thread_variables, w);
    move_hints(w);
    for (uint32_t v = 0; v < w->variables.count; v++) {
        vy_counter *c = &w->counters->data[w->variables.data[v].counter];
        if (w->variables.data[v].most == (c->context != 0)) c->most = w->variables.data[v].id;
    }
    for (uint32_t k = 0; k < w->counters->count; k++) {
        vy_counter *c = &w->counters->data[k];
        c->loop = w->w.map[c->loop];
        c->context = c->context ? w->w.map[c->context] : 0;
    }
}

static bool find_busy_loops(counting *w)
{
    const vy_program *p = w->w.p;
    uint8_t *written = vy_rewrite_table(&w->w, p->buffers.count);
    w->first = vy_rewrite_ids(&w->w);
    w->busy = vy_rewrite_bytes(&w->w);
    if (w->w.oom) return false;
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (vy_op_infos[p->insts.data[id].op].effect == VY_WRITE)
            written[p->insts.data[id].aux] = 1;
    find_busy_conditions(w, written);
    return true;
}

bool vy_count_loops(vy_program *p, uint32_t **hints, vy_counter_vec *counters)
{
    counting w = {.old_hints = *hints, .counters = counters};
    counters->count = 0;
    if (!(vy_constructs(p) & VY_LOOPS)) return true; // hints stay those of the same instructions
    bool ok = vy_rewrite_begin(&w.w, p) && find_busy_loops(&w), changed = false;
    if (ok && vy_rewrite_open(&w.w)) count_loops(&w);
    ok = vy_rewrite_end(&w.w, ok, &changed);
    vy_vec_free(&w.variables);
    vy_vec_free(&w.threads);
    if (!ok) {
        vy_vec_free(&w.hints);
        return false;
    }
    vy_free(*hints);
    *hints = w.hints.data;
    return true;
}
