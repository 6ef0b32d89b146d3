// SPDX-License-Identifier: MIT
// counter.c: counters for loops whose trip count only the data decide.
//
//   while c { BODY }      becomes, as if written      var n = 0u;  while c { let at = n; BODY; n += 1; }
//
// with n declared at the top of the program, or of the checkpoint that records: a nest of loops
// counts on.  `at` says where on a tape the iteration goes, the final n how long the tape must be.
// They are ordinary variables of the primal, so the reverse sweep has them as it has any other:
// from the closed form n₀ + k inside the loop, from a tape of the loop around it.  Those that
// nothing asks for are removed with the rest of the dead code.
#include "autodiff/core/counter.h"
#include "autodiff/facts/trip_bound.h"
#include "autodiff/storage/storage.h"
#include "ir/core/flow.h"

#include <string.h>

// A variable is threaded through the constructs between its declaration and its loop.
typedef struct variable {
    uint32_t counter;
    bool most;   // vy_counter.most: the maximum over executions of the context
    uint32_t id; // value now, in the new program
} variable;
VY_VEC_TYPE(variable_vec, variable);

typedef struct thread { // construct ← variable, a list per construct
    uint32_t variable, next;
} thread;
VY_VEC_TYPE(thread_vec, thread);

typedef struct rewriter {
    const vy_program *p;
    vy_structure s;
    vy_builder *b;
    const uint32_t *old_hints;
    uint32_t *map;
    uint32_t *first;          // by opener: its threads + 1
    uint8_t *busy;            // by WHILE: its condition is more than an expression
    vy_counter_vec *counters; // loop, context: ids of the OLD program until the end
    variable_vec variables;
    thread_vec threads;
    vy_id_vec hints;
    bool oom;
} rewriter;

static bool is_loop(const vy_program *p, uint32_t id)
{
    return p->insts.data[id].op == VY_OP_LOOP || p->insts.data[id].op == VY_OP_WHILE;
}

// -------------------------------------------------------------------------------------- what to do
static void pass_through(rewriter *w, uint32_t construct, uint32_t variable)
{
    thread t = {variable, w->first[construct]};
    if (!vy_vec_push(&w->threads, t))
        w->oom = true;
    else
        w->first[construct] = w->threads.count;
}

static void add_counter(rewriter *w, uint32_t loop, uint32_t context)
{
    vy_counter c = {.loop = loop, .context = context};
    variable at = {.counter = w->counters->count}, most = {at.counter, true, 0};
    if (!vy_vec_push(w->counters, c) || !vy_vec_push(&w->variables, at) ||
        !vy_vec_push(&w->variables, most)) {
        w->oom = true;
        return;
    }
    for (uint32_t up = loop; up && up != context; up = w->s.parent[up])
        pass_through(w, up, w->variables.count - 2);
    for (uint32_t up = context; up; up = w->s.parent[up])
        pass_through(w, up, w->variables.count - 1);
}

static void add_counters(rewriter *w)
{
    vy_bounds bounds = {.p = w->p, .b = w->b, .hints = w->old_hints};
    for (uint32_t id = 1; id < w->p->insts.count && !w->oom; id++) {
        if (!is_loop(w->p, id) || vy_trip_bound(&bounds, id).id) continue;
        for (uint32_t up = w->s.parent[id]; up; up = w->s.parent[up])
            if (w->p->insts.data[up].op == VY_OP_CHECKPOINT) add_counter(w, id, up);
        add_counter(w, id, 0);
    }
}

// What is more than an expression of carried values and of memory that stays: its values could go
// on a tape for an iteration that never is.
static void find_busy_conditions(rewriter *w, const uint8_t *written)
{
    for (uint32_t id = 1; id < w->p->insts.count; id++) {
        if (w->p->insts.data[id].op != VY_OP_TEST) continue;
        uint32_t opener = w->s.partner[id];
        for (uint32_t k = opener + 1; k < id && !w->busy[opener]; k++) {
            const vy_inst *i = &w->p->insts.data[k];
            vy_effect effect = vy_op_infos[i->op].effect;
            bool fixed = effect == VY_READ && !written[i->aux];
            bool simple =
                effect == VY_PURE || fixed || i->op == VY_OP_CARRY || i->op == VY_OP_RESULT;
            w->busy[opener] = !simple;
        }
    }
}

// --------------------------------------------------------------------------------------- rewriting
static void copy_range(rewriter *w, uint32_t first, uint32_t last);

static uint32_t mapped(const rewriter *w, uint32_t id, uint32_t k)
{
    return vy_map(w->map, vy_arg(w->p, id, k));
}

static uint32_t mapped_next(const rewriter *w, uint32_t loop, uint32_t k)
{
    return vy_map(w->map, vy_slot_next(w->p, &w->s, loop, k));
}

static uint32_t number(rewriter *w, uint32_t v) { return vy_int(w->b, VY_U32, v).id; }

// What a construct hands through: `own` values and the variables.
typedef struct passing {
    uint32_t own, total;
    uint32_t *in, *out; // of `total` entries
    vy_id_vec ids;
} passing;

static bool passing_make(rewriter *w, uint32_t construct, uint32_t own, passing *x)
{
    *x = (passing){.own = own, .total = own};
    for (uint32_t t = w->first[construct]; t; t = w->threads.data[t - 1].next) x->total++;
    if (!vy_vec_reserve(&x->ids, 2 * x->total + 1)) {
        w->oom = true;
        return false;
    }
    x->in = x->ids.data;
    x->out = x->in + x->total;
    return true;
}

static void read_variables(const rewriter *w, uint32_t construct, const passing *x, uint32_t *to)
{
    uint32_t k = x->own;
    for (uint32_t t = w->first[construct]; t; t = w->threads.data[t - 1].next)
        to[k++] = w->variables.data[w->threads.data[t - 1].variable].id;
}

static void write_variables(rewriter *w, uint32_t construct, const passing *x, const uint32_t *from)
{
    uint32_t k = x->own;
    for (uint32_t t = w->first[construct]; t; t = w->threads.data[t - 1].next)
        w->variables.data[w->threads.data[t - 1].variable].id = from[k++];
}

static void keep_name(rewriter *w, uint32_t old, uint32_t id)
{
    uint32_t name = w->p->insts.data[old].name;
    w->map[old] = id;
    if (name) vy_name(w->b, (vy_value){id}, vy_string(&w->p->module->names, name));
}

static void copy_if(rewriter *w, uint32_t opener)
{
    uint32_t middle = w->s.partner[opener], end = w->s.partner[middle];
    passing x;
    if (!passing_make(w, opener, w->p->insts.data[end].nargs, &x)) return;
    read_variables(w, opener, &x, x.out); // as they are before
    vy_begin_if(w->b, mapped(w, opener, 0));
    copy_range(w, opener + 1, middle);
    for (uint32_t k = 0; k < x.own; k++) x.in[k] = mapped(w, middle, k);
    read_variables(w, opener, &x, x.in);
    vy_begin_else(w->b, x.total, x.in);
    write_variables(w, opener, &x, x.out);
    copy_range(w, middle + 1, end);
    for (uint32_t k = 0; k < x.own; k++) x.in[k] = mapped(w, end, k);
    read_variables(w, opener, &x, x.in);
    vy_end_if(w->b, x.total, x.in, x.out);
    for (uint32_t k = 0; k < x.own; k++) keep_name(w, end + 1 + k, x.out[k]);
    write_variables(w, opener, &x, x.out);
    vy_vec_free(&x.ids);
}

static void copy_checkpoint(rewriter *w, uint32_t opener)
{
    uint32_t end = w->s.partner[opener];
    passing x;
    if (!passing_make(w, opener, w->p->insts.data[end].nargs, &x)) return;
    vy_begin_checkpoint(w->b);
    uint32_t begun = vy_builder_program(w->b)->insts.count - 1;
    w->map[opener] = begun;
    for (uint32_t v = 0; v < w->variables.count; v++)
        if (!w->variables.data[v].most &&
            w->counters->data[w->variables.data[v].counter].context == opener)
            w->variables.data[v].id = number(w, 0);
    copy_range(w, opener + 1, end);
    for (uint32_t k = 0; k < x.own; k++) x.in[k] = mapped(w, end, k);
    for (uint32_t v = 1; v < w->variables.count; v += 2) { // `at` stands before its `most`
        variable *most = &w->variables.data[v];
        if (w->counters->data[most->counter].context != opener) continue;
        most->id = vy_max(w->b, (vy_value){most->id}, (vy_value){most[-1].id}).id;
    }
    read_variables(w, opener, &x, x.in);
    vy_end_checkpoint(w->b, x.total, x.in, x.out);
    for (uint32_t k = 0; k < x.own; k++) keep_name(w, end + 1 + k, x.out[k]);
    write_variables(w, opener, &x, x.out);
    vy_vec_free(&x.ids);
}

// The body of a `while` whose condition is busy, as an `if` on the condition; the loop itself only
// ends when it was false.  Returns the keep of the ENDLOOP; in[] receives the next values.
static uint32_t copy_as_if(rewriter *w, uint32_t opener, uint32_t test, passing *x)
{
    uint32_t end = w->s.partner[opener], n = x->total + 1;
    bool leaves = vy_exits(w->p, opener);
    vy_id_vec ids = {0};
    if (!vy_vec_reserve(&ids, 3 * n)) {
        w->oom = true;
        return 0;
    }
    uint32_t *thens = ids.data, *elses = thens + n, *results = elses + n;
    for (uint32_t k = 0; k < x->own; k++) elses[k] = w->map[opener + 1 + k];
    read_variables(w, opener, x, elses);
    elses[x->total] = vy_bool(w->b, false).id;
    vy_begin_if(w->b, mapped(w, test, 0));
    copy_range(w, test + 1, end);
    for (uint32_t k = 0; k < x->own; k++) thens[k] = mapped_next(w, opener, k);
    read_variables(w, opener, x, thens);
    thens[x->total] = leaves ? mapped(w, end, 0) : vy_bool(w->b, true).id;
    vy_begin_else(w->b, n, thens);
    vy_end_if(w->b, n, elses, results);
    memcpy(x->in, results, x->total * sizeof *results);
    uint32_t keep = results[x->total];
    vy_vec_free(&ids);
    write_variables(w, opener, x, x->in);
    return keep;
}

static void copy_body(rewriter *w, uint32_t opener, passing *x)
{
    uint32_t end = w->s.partner[opener], start = vy_carry(opener, x->own), keep = 0;
    uint32_t test = w->busy[opener] ? w->s.test[opener] : 0;
    if (test) {
        vy_loop_test(w->b, vy_bool(w->b, true).id);
        copy_range(w, start, test);
        keep = copy_as_if(w, opener, test, x);
    } else {
        copy_range(w, start, end);
        for (uint32_t k = 0; k < x->own; k++) x->in[k] = mapped_next(w, opener, k);
        keep = vy_exits(w->p, opener) ? mapped(w, end, 0) : 0;
    }
    // This iteration is counted, the last one too.
    for (uint32_t t = w->first[opener]; t; t = w->threads.data[t - 1].next) {
        variable *v = &w->variables.data[w->threads.data[t - 1].variable];
        const vy_counter *c = &w->counters->data[v->counter];
        if (c->loop == opener && !v->most)
            v->id = vy_add(w->b, (vy_value){c->at}, (vy_value){number(w, 1)}).id;
    }
    read_variables(w, opener, x, x->in);
    vy_end_loop(w->b, keep, x->total, x->in, x->out);
}

static void copy_loop(rewriter *w, uint32_t opener)
{
    const vy_inst *o = &w->p->insts.data[opener];
    uint32_t end = w->s.partner[opener];
    bool counted = o->op == VY_OP_LOOP;
    passing x;
    if (!passing_make(w, opener, vy_slot_count(w->p, &w->s, opener), &x)) return;
    for (uint32_t k = 0; k < x.own; k++) x.in[k] = vy_map(w->map, vy_slot_init(w->p, opener, k));
    read_variables(w, opener, &x, x.in);
    if (counted)
        w->map[opener] =
            vy_begin_loop(w->b, (vy_type)o->type, o->flags & VY_FLAG_REVERSE, mapped(w, opener, 0),
                          mapped(w, opener, 1), mapped(w, opener, 2), x.total, x.in, x.out);
    else
        vy_begin_while(w->b, 0, x.total, x.in, x.out);
    if (!counted && x.total == 0) w->map[opener] = vy_builder_program(w->b)->insts.count - 1;
    if (!counted && x.total) w->map[opener] = x.out[0] - 1; // CARRYs stand directly behind
    if (counted) keep_name(w, opener, w->map[opener]);
    for (uint32_t k = 0; k < x.own; k++) keep_name(w, opener + 1 + k, x.out[k]);
    write_variables(w, opener, &x, x.out);
    for (uint32_t t = w->first[opener]; t; t = w->threads.data[t - 1].next) {
        const variable *v = &w->variables.data[w->threads.data[t - 1].variable];
        vy_counter *c = &w->counters->data[v->counter];
        if (c->loop == opener && !v->most) c->at = v->id;
    }
    copy_body(w, opener, &x);
    for (uint32_t k = 0; k < x.own; k++) keep_name(w, end + 1 + k, x.out[k]);
    write_variables(w, opener, &x, x.out);
    vy_vec_free(&x.ids);
}

static void note_hint(rewriter *w, uint32_t id)
{
    if (!w->old_hints || !w->old_hints[id] || VY_IS_LEAF(w->map[id])) return;
    if (w->hints.count <= w->map[id]) return;
    w->hints.data[w->map[id]] = w->old_hints[id];
}

// Copies [first, last); a construct with its results is one step.
static void copy_range(rewriter *w, uint32_t first, uint32_t last)
{
    for (uint32_t id = first; id < last && !w->oom && !vy_builder_failed(w->b); id++) {
        const vy_inst *i = &w->p->insts.data[id];
        vy_at(w->b, i->line, i->column);
        bool custom = vy_op_opens((vy_op)i->op) && (w->first[id] || w->busy[id]);
        if (!custom) {
            vy_copy_inst(w->b, w->p, id, w->map);
            continue;
        }
        if (i->op == VY_OP_IF)
            copy_if(w, id);
        else if (i->op == VY_OP_CHECKPOINT)
            copy_checkpoint(w, id);
        else
            copy_loop(w, id);
        id = vy_closer(w->p, &w->s, id) + vy_slot_count(w->p, &w->s, id);
    }
}

// ------------------------------------------------------------------------------------- entry point
static bool move_hints(rewriter *w)
{
    uint32_t n = vy_builder_program(w->b)->insts.count;
    if (!vy_vec_reserve(&w->hints, n + 1)) return false;
    memset(w->hints.data, 0, (n + 1) * sizeof *w->hints.data);
    w->hints.count = n + 1;
    for (uint32_t id = 1; id < w->p->insts.count; id++) note_hint(w, id);
    return true;
}

static vy_program *rewrite(rewriter *w)
{
    for (uint32_t v = 0; v < w->variables.count; v++) w->variables.data[v].id = number(w, 0);
    copy_range(w, 1, w->p->insts.count);
    if (w->oom || !move_hints(w)) {
        w->oom = true;
        vy_program_abandon(w->b);
        return NULL;
    }
    for (uint32_t v = 0; v < w->variables.count; v++) {
        vy_counter *c = &w->counters->data[w->variables.data[v].counter];
        if (w->variables.data[v].most == (c->context != 0)) c->most = w->variables.data[v].id;
    }
    for (uint32_t k = 0; k < w->counters->count; k++) {
        vy_counter *c = &w->counters->data[k];
        c->loop = w->map[c->loop];
        c->context = c->context ? w->map[c->context] : 0;
    }
    return vy_rebuild_end(w->b);
}

static void *zeroed(rewriter *w, size_t size)
{
    void *p = vy_realloc(NULL, w->p->insts.count * size);
    if (p) return memset(p, 0, w->p->insts.count * size);
    w->oom = true;
    return NULL;
}

bool vy_count_loops(vy_program *p, uint32_t **hints, vy_counter_vec *counters)
{
    rewriter w = {.p = p, .old_hints = *hints, .counters = counters};
    counters->count = 0;
    w.map = zeroed(&w, sizeof *w.map);
    w.first = zeroed(&w, sizeof *w.first);
    w.busy = zeroed(&w, sizeof *w.busy);
    uint8_t *written = vy_realloc(NULL, p->buffers.count);
    if (!written) w.oom = true;
    for (uint32_t i = 0; written && i < p->buffers.count; i++) written[i] = 0;
    for (uint32_t id = 1; written && id < p->insts.count; id++)
        if (vy_op_infos[p->insts.data[id].op].effect == VY_WRITE)
            written[p->insts.data[id].aux] = 1;
    if (!w.oom && !vy_structure_make(p, &w.s)) w.oom = true;
    vy_program *fresh = NULL;
    if (!w.oom && (w.b = vy_rebuild_begin(p))) {
        find_busy_conditions(&w, written);
        add_counters(&w);
        fresh = rewrite(&w);
    }
    if (w.oom) vy_fail_oom(p->module);
    if (fresh) {
        vy_program_replace(p, fresh);
        vy_free(*hints);
        *hints = w.hints.data;
    } else {
        vy_vec_free(&w.hints);
    }
    vy_structure_free(&w.s);
    vy_free(w.map);
    vy_free(w.first);
    vy_free(w.busy);
    vy_free(written);
    vy_vec_free(&w.variables);
    vy_vec_free(&w.threads);
    return fresh != NULL;
}
