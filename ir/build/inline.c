// SPDX-License-Identifier: MIT
// inline.c: copies the code of a function to where it is called.
//
// For forward dual numbers the rule has to be visible in the code, which has only operations of the
// language; with `·` for stop_grad, so that the rule itself is not differentiated:
//
//   @vjp(g): f(x, y)  →  straight_through(f(x, y), ·gx * x + ·gy * y)   where (gx, gy) = g(x, y, 1)
//   @jvp(h): f(x, y)  →  straight_through(f(x, y), h(·x, ·y, x, y))     for h is linear in the last
//
// The tangent is h's value, so calls inside h count by their bodies, whatever their rules state
// (one may be of f itself).
//
// A chain of functions of which each calls the next one twice is exponentially long when inlined;
// where everything folds, not even the limit of instructions stops it.  So what is visited counts.
#include "ir/build/build.h"
#include "ir/build/edit.h"
#include "ir/build/function.h"
#include "ir/build/live.h"

#include <string.h>

enum {
    MOST_DEPTH = 200,
    MOST_VISITED = 1 << 23, // instructions, by one builder
};

typedef struct inliner {
    vy_builder *b;
    const vy_program *fn;
    const uint32_t *given; // the arguments
    uint32_t *map;         // by instruction
    uint32_t *args;        // room for the operands of one
    vy_inline_mode mode;
    uint32_t depth;
} inliner;

static bool inline_at(vy_builder *b, uint32_t function, const uint32_t *args, uint32_t *results,
                      vy_inline_mode mode, uint32_t depth);
static bool call_at(vy_builder *b, uint32_t function, const uint32_t *args, uint32_t *results,
                    vy_inline_mode mode, uint32_t depth);

// ------------------------------------------------------------------------------------ instructions
static uint32_t leaf_here(const inliner *n, uint32_t id)
{
    const vy_leaf *l = &n->fn->leaves.data[VY_LEAF_INDEX(id)];
    if (l->kind == VY_LEAF_SCALAR) return n->given[l->index];
    if (l->kind == VY_LEAF_CONST) return vy_leaf_const(n->b, (vy_type)l->type, l->value);
    return vy_leaf_other(n->b, (vy_leaf_kind)l->kind, (vy_type)l->type, l->index, l->axis);
}

// A call inside, inlined: its results, in place of the PICKs of several.
static void copy_call(inliner *n, uint32_t id)
{
    const uint32_t function = n->fn->insts.data[id].aux;
    uint32_t results[VY_MAX_RANK];
    if (!call_at(n->b, function, n->args, results, n->mode, n->depth + 1)) return;
    for (uint32_t k = 0; k < vy_function_of(n->b->m, function)->result_count; k++)
        n->map[vy_call_result(n->fn, id, k)] = results[k];
}

static void copy(inliner *n, uint32_t id, uint32_t *results)
{
    const vy_inst *i = &n->fn->insts.data[id];
    const bool stays = n->mode == VY_INLINE_ONE;
    if (i->op == VY_OP_PICK && !stays) return; // copy_call
    uint32_t *to = i->op == VY_OP_RETURN ? results : n->args;
    for (uint32_t k = 0; k < i->nargs; k++) {
        const uint32_t a = vy_arg(n->fn, id, k);
        to[k] = VY_IS_LEAF(a) ? leaf_here(n, a) : n->map[a];
    }
    if (i->op == VY_OP_RETURN) return;
    if (i->op == VY_OP_APPLY && !stays)
        copy_call(n, id);
    else
        vy_copy_with(n->b, n->fn, id, n->args, n->map);
}

static uint32_t most_operands(const vy_program *p)
{
    uint32_t most = 0;
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (most < p->insts.data[id].nargs) most = p->insts.data[id].nargs;
    return most;
}

static bool is_too_much(vy_builder *b, const vy_program *fn, uint32_t depth)
{
    b->inlined += fn->insts.count;
    if (depth <= MOST_DEPTH && b->inlined <= MOST_VISITED) return false;
    vy_build_fail(b, VY_E_LIMIT, "calls of `%s` are nested too deep or too often", fn->name);
    return true;
}

static bool inline_at(vy_builder *b, uint32_t function, const uint32_t *args, uint32_t *results,
                      vy_inline_mode mode, uint32_t depth)
{
    const vy_program *fn = vy_function_of(b->m, function)->code;
    if (b->failed || is_too_much(b, fn, depth)) return false;
    const uint32_t line = b->line, column = b->column, room = most_operands(fn);
    uint32_t *block = vy_realloc(NULL, ((size_t)fn->insts.count + room) * sizeof *block);
    if (!block) {
        vy_build_oom(b);
        return false;
    }
    inliner n = {b, fn, args, block, block + fn->insts.count, mode, depth};
    for (uint32_t id = 1; id < fn->insts.count && !b->failed; id++) copy(&n, id, results);
    vy_free(block);
    vy_at(b, line, column);
    return !b->failed;
}

// ------------------------------------------------------------------------------- for dual numbers
static uint32_t stopped(vy_builder *b, uint32_t v)
{
    const vy_type t = vy_id_type(b->p, v);
    return vy_type_is_float(t) ? vy_emit(b, VY_OP_STOP_GRAD, t, 0, 1, &v) : v;
}

static bool is_float(const vy_function *f, uint32_t param)
{
    return vy_type_is_float(f->code->scalars.data[param].type);
}

// h(·x, x): the slopes of the float results.
static void slopes_forward(vy_builder *b, const vy_function *f, const uint32_t *args, uint32_t *all,
                           uint32_t depth, uint32_t *slopes)
{
    uint32_t count = f->code->scalars.count, at = count;
    for (uint32_t k = 0; k < count; k++) {
        all[k] = stopped(b, args[k]);
        if (is_float(f, k)) all[at++] = args[k];
    }
    inline_at(b, f->rules[VY_JVP] - 1, all, slopes, VY_INLINE_VALUES, depth);
}

// Σ ·g(x, e) x, where e is 1 for the n-th of the float results.
static uint32_t slope_reverse(vy_builder *b, const vy_function *f, const uint32_t *args,
                              uint32_t *all, uint32_t depth, uint32_t n, vy_type t)
{
    uint32_t count = f->code->scalars.count, at = 0, sum = 0, floats = 0;
    uint32_t *partial = all + count + VY_MAX_RANK;
    memcpy(all, args, count * sizeof *args);
    for (uint32_t k = 0; k < f->result_count; k++) {
        const vy_type type = (vy_type)f->results[k];
        if (!vy_type_is_float(type)) continue;
        all[count + floats] = vy_float(b, type, floats == n).id;
        floats++;
    }
    if (!inline_at(b, f->rules[VY_VJP] - 1, all, partial, VY_INLINE_VALUES, depth)) return 0;
    for (uint32_t k = 0; k < count && !b->failed; k++) {
        if (!is_float(f, k)) continue;
        const vy_value d = {stopped(b, partial[at++])};
        const uint32_t term = vy_cast(b, t, vy_mul(b, d, (vy_value){args[k]})).id;
        sum = sum ? vy_add(b, (vy_value){sum}, (vy_value){term}).id : term;
    }
    return sum;
}

// Gives the float results their slopes.
static void with_slopes(vy_builder *b, const vy_function *f, const uint32_t *args,
                        uint32_t *results, uint32_t depth)
{
    const size_t room = 2 * (size_t)f->code->scalars.count + 2 * VY_MAX_RANK;
    uint32_t slopes[VY_MAX_RANK], *all = vy_realloc(NULL, room * sizeof *all), n = 0;
    if (!all) {
        vy_build_oom(b);
        return;
    }
    if (f->rules[VY_JVP]) slopes_forward(b, f, args, all, depth, slopes);
    for (uint32_t k = 0; k < f->result_count && !b->failed; k++) {
        const vy_type t = (vy_type)f->results[k];
        if (!vy_type_is_float(t)) continue;
        if (!f->rules[VY_JVP]) slopes[n] = slope_reverse(b, f, args, all, depth, n, t);
        const uint32_t both[] = {results[k], slopes[n++]};
        if (!b->failed) results[k] = vy_emit(b, VY_OP_STRAIGHT_THROUGH, t, 0, 2, both);
    }
    vy_free(all);
}

static bool call_at(vy_builder *b, uint32_t function, const uint32_t *args, uint32_t *results,
                    vy_inline_mode mode, uint32_t depth)
{
    const bool dual = mode == VY_INLINE_DUAL;
    if (!inline_at(b, function, args, results, dual ? VY_INLINE_VALUES : mode, depth)) return false;
    if (dual) with_slopes(b, vy_function_of(b->m, function), args, results, depth);
    return !b->failed;
}

bool vy_inline(vy_builder *b, uint32_t function, const uint32_t *args, uint32_t *results,
               vy_inline_mode mode)
{
    return inline_at(b, function, args, results, mode, 0);
}

// -------------------------------------------------------------------------------- all of a program
typedef struct calls {
    vy_rewrite w;
    vy_inline_mode mode;
} calls;

static uint32_t instead(void *pass, uint32_t id)
{
    calls *c = pass;
    const vy_inst *i = &c->w.p->insts.data[id];
    if (i->op != VY_OP_APPLY) return 0;
    uint32_t *args = vy_realloc(NULL, ((size_t)i->nargs + 1) * sizeof *args);
    if (!args) {
        c->w.oom = true;
        return id;
    }
    vy_new_args(&c->w, id, i->nargs, args);
    vy_rewrite_at(&c->w, id);
    const uint32_t count = vy_function_of(c->w.b->m, i->aux)->result_count;
    uint32_t results[VY_MAX_RANK], last = id;
    const bool ok = call_at(c->w.b, i->aux, args, results, c->mode, 0);
    vy_free(args);
    for (uint32_t k = 0; ok && k < count; k++)
        vy_rewrite_as(&c->w, last = vy_call_result(c->w.p, id, k), results[k]);
    return last;
}

bool vy_inline_calls(vy_program *p, vy_inline_mode mode, bool *changed)
{
    calls c = {.mode = mode};
    if (!vy_program_applies(p)) return true;
    const bool ok = vy_rewrite_begin(&c.w, p);
    if (ok) vy_rewrite_run(&c.w, instead, &c);
    return vy_rewrite_end(&c.w, ok, changed);
}

vy_program *vy_without_calls(const vy_program *p, vy_inline_mode mode, vy_module **scratch)
{
    bool changed = false;
    vy_module *m = *scratch = vy_module_new();
    vy_program *copy = m ? vy_program_clone(p, m) : NULL;
    if (copy && vy_inline_calls(copy, mode, &changed)) return copy;
    vy_program_free(copy);
    return NULL;
}
