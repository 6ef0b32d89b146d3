// SPDX-License-Identifier: MIT
// affine.c: the isl context of one program: dimensions, and what is known of scalars from them.
// Parameters are in affine_param.c, expressions in affine_value.c (arithmetic on two functions:
// affine_number.c), iteration domains in iteration_domain.c, limits in affine_limit.c.
#include "autodiff/affine/nest_memo.h"
#include "ir/build/edit.h"

#include <isl/options.h>
#include <stdio.h>
#include <string.h>

const char *vy_affine_why_text(vy_affine_why why)
{
    static const char *const texts[VY_AFFINE_WHY_COUNT] = {
        [VY_AFFINE_FINE] = "is affine",
        [VY_AFFINE_DATA] = "depends on data",
        [VY_AFFINE_WRAP] = "could wrap around",
        [VY_AFFINE_PRODUCT] = "is a product of two values that are not constant",
        [VY_AFFINE_DIVISION] =
            ("divides by something other than a positive constant, or divides a value that may be "
             "negative"),
        [VY_AFFINE_OPERATION] = "is not a sum of constant multiples",
        [VY_AFFINE_BUILTIN] = "depends on the place in the dispatch",
        [VY_AFFINE_LIMIT] = "is too involved",
    };
    return texts[why];
}

// -------------------------------------------------------------------------------------- dimensions
static vy_number constant(isl_space *space, int64_t value)
{
    return (vy_number){vy_isl_number(space, value), {value, value}};
}

static vy_number opaque(vy_affine *a, isl_space *space, uint32_t d)
{
    vy_extent e = a->facts.form[d];
    vy_number n = vy_affine_param_number(a, space, true, e.base);
    n.pa = vy_isl_pw_aff_add_constant_val(n.pa, e.offset);
    n.range.lo += e.offset;
    n.range.hi += e.offset;
    return n;
}

// x / y of an x that may be negative: dimensions round to 0, isl down.  What is known is its range.
static vy_number truncated(vy_affine *a, isl_space *space, uint32_t d, vy_number x, vy_number y)
{
    const bool divides = a->p->dims.data[d].op == VY_DIM_DIV;
    vy_number n = opaque(a, space, d);
    vy_interval r;
    if (divides && vy_interval_exactly(VY_OP_DIV, x.range, y.range, &r)) {
        if (n.range.lo < r.lo) n.range.lo = r.lo;
        if (n.range.hi > r.hi) n.range.hi = r.hi;
    }
    vy_affine_drop(x, y);
    return n;
}

// Dimensions are exact 64-bit numbers: nothing wraps.
static vy_number dim_operation(vy_affine *a, isl_space *space, uint32_t d)
{
    const vy_dim_node *n = &a->p->dims.data[d];
    const vy_dim_node *by = &a->p->dims.data[n->b];
    bool divides = n->op == VY_DIM_DIV || n->op == VY_DIM_REM;
    bool scales =
        n->op == VY_DIM_MUL && (by->op == VY_DIM_CONST || a->p->dims.data[n->a].op == VY_DIM_CONST);
    if (n->op == VY_DIM_SQRT || (n->op == VY_DIM_MUL && !scales) ||
        (divides && (by->op != VY_DIM_CONST || by->value <= 0)))
        return opaque(a, space, d);
    vy_number x = vy_affine_dim_number(a, isl_space_copy(space), n->a);
    vy_number y = vy_affine_dim_number(a, isl_space_copy(space), n->b);
    if (divides && x.range.lo < 0) return truncated(a, space, d, x, y);
    isl_space_free(space);
    vy_op op = n->op == VY_DIM_ADD   ? VY_OP_ADD
               : n->op == VY_DIM_SUB ? VY_OP_SUB
               : n->op == VY_DIM_MUL ? VY_OP_MUL
               : n->op == VY_DIM_DIV ? VY_OP_DIV
               : n->op == VY_DIM_REM ? VY_OP_REM
               : n->op == VY_DIM_MIN ? VY_OP_MIN
                                     : VY_OP_MAX;
    return vy_affine_combine(op, x, y);
}

vy_number vy_affine_dim_number(vy_affine *a, isl_space *space, uint32_t d)
{
    const vy_dim_node *n = &a->p->dims.data[d];
    switch (n->op) {
    case VY_DIM_CONST: return constant(space, n->value);
    case VY_DIM_SCALAR: return vy_affine_param_number(a, space, false, (uint32_t)n->value);
    case VY_DIM_UNKNOWN:
    case VY_DIM_GROUPS:
    case VY_DIM_STEP: return opaque(a, space, d);
    default:
        return a->number_whole && a->number_whole[d] ? opaque(a, space, d)
                                                     : dim_operation(a, space, d);
    }
}

isl_pw_aff *vy_affine_dim(vy_affine *a, isl_space *space, vy_dim d)
{
    return vy_affine_dim_number(a, space, d.id).pa;
}

// ------------------------------------------------------------------------------------- begin, end
bool vy_affine_name_scalars(vy_program *p)
{
    uint8_t *has = vy_realloc(NULL, p->scalars.count + 1);
    bool ok = has != NULL;
    if (ok) memset(has, 0, p->scalars.count + 1);
    for (uint32_t i = 1; ok && i < p->dims.count; i++)
        if (p->dims.data[i].op == VY_DIM_SCALAR) has[p->dims.data[i].value] = 1;
    for (uint32_t i = 0; ok && i < p->scalars.count; i++) {
        const vy_dim_node n = {.op = VY_DIM_SCALAR, .value = i};
        if (!has[i] && vy_type_is_integer(p->scalars.data[i].type)) ok = vy_vec_push(&p->dims, n);
    }
    vy_free(has);
    return ok;
}

// The least value of dimension d: of a scalar, the least of its type.
static int64_t least(const vy_affine *a, uint32_t d)
{
    const vy_dim_node *n = &a->p->dims.data[d];
    if (n->op == VY_DIM_CONST) return n->value;
    if (n->op == VY_DIM_SCALAR) return vy_affine_scalar_range(a, (uint32_t)n->value).lo;
    return INT64_MIN / 4;
}

// Derives bounds of scalars from one extent: dimension d is at most `most`.
static void bound_scalars(vy_affine *a, uint32_t d, int64_t most, int depth)
{
    const vy_dim_node *n = &a->p->dims.data[d];
    const vy_dim_node *y = n->op >= VY_DIM_ADD ? &a->p->dims.data[n->b] : NULL;
    int64_t c = y && y->op == VY_DIM_CONST ? y->value : 0;
    if (depth == 0 || most > INT64_MAX / 4) return;
    if (n->op == VY_DIM_SCALAR && most < a->most[n->value]) a->most[n->value] = most;
    if (n->op == VY_DIM_ADD) {
        if (least(a, n->b) > INT64_MIN / 8)
            bound_scalars(a, n->a, most - least(a, n->b), depth - 1);
        if (least(a, n->a) > INT64_MIN / 8)
            bound_scalars(a, n->b, most - least(a, n->a), depth - 1);
    }
    if (n->op == VY_DIM_SUB && y->op == VY_DIM_CONST) bound_scalars(a, n->a, most + c, depth - 1);
    if (n->op == VY_DIM_MUL && c > 0) bound_scalars(a, n->a, most / c, depth - 1);
    if (n->op == VY_DIM_DIV && c > 0 && c < INT32_MAX)
        bound_scalars(a, n->a, most * c + c - 1, depth - 1);
    const vy_dim_node *x = y ? &a->p->dims.data[n->a] : NULL;
    if (n->op == VY_DIM_MUL && x->op == VY_DIM_CONST && x->value > 0)
        bound_scalars(a, n->b, most / x->value, depth - 1);
}

static isl_pw_aff *constant_function(isl_ctx *ctx, int64_t value)
{
    return vy_isl_number(vy_isl_space_set_alloc(ctx, 0, 0), value);
}

// Adds lo ≤ v ≤ hi to the context; v is a function of parameters alone, or NULL.
static bool constrain_context(vy_affine *a, isl_pw_aff *v, int64_t lo, int64_t hi)
{
    if (!v) return false;
    isl_set *fits = vy_isl_pw_aff_ge_set(isl_pw_aff_copy(v), constant_function(a->ctx, lo));
    fits = vy_isl_set_intersect(fits, vy_isl_pw_aff_le_set(v, constant_function(a->ctx, hi)));
    return vy_affine_add_to_context(a, vy_isl_set_params(fits));
}

// Bounds of scalars that follow from the extents of buffers and of the domain.
static void bound_extents(vy_affine *a)
{
    enum { DEPTH = 16 };
    const vy_program *p = a->p;
    for (uint32_t i = 0; i < p->overs.count; i++)
        bound_scalars(a, p->overs.data[i].extent.id, VY_AFFINE_EXTENT - 1, DEPTH);
    for (uint32_t i = 1; i < p->buffers.count; i++)
        for (uint32_t k = 0; k < p->buffers.data[i].rank; k++)
            bound_scalars(a, p->buffers.data[i].dims[k].id, VY_AFFINE_EXTENT - 1, DEPTH);
    uint8_t *seen = vy_arena_alloc(&a->arena, p->dims.count);
    a->failed |= !seen;
    for (uint32_t i = 1; seen && i < p->buffers.count; i++) // compound extents go into the context
        for (uint32_t k = 0; k < p->buffers.data[i].rank; k++) {
            uint32_t d = p->buffers.data[i].dims[k].id;
            if (p->dims.data[d].op < VY_DIM_ADD || p->dims.data[d].op == VY_DIM_SQRT || seen[d])
                continue;
            seen[d] = 1;
            isl_space *space = vy_isl_space_set_alloc(a->ctx, 0, 0);
            vy_number n = vy_affine_dim_number(a, space, d);
            constrain_context(a, n.pa, 0, VY_AFFINE_EXTENT - 1);
        }
}

// The scalar that an extent is, or a positive multiple of; NULL: it is something else.
static const vy_dim_node *multiplied(const vy_program *p, vy_dim extent)
{
    const vy_dim_node *d = &p->dims.data[extent.id], *x = d, *by = NULL;
    if (d->op == VY_DIM_MUL) {
        x = &p->dims.data[d->a];
        by = &p->dims.data[d->b];
    }
    if (by && x->op == VY_DIM_CONST) {
        const vy_dim_node *first = x;
        x = by;
        by = first;
    }
    const bool is = x->op == VY_DIM_SCALAR && (!by || (by->op == VY_DIM_CONST && by->value > 0));
    return is ? x : NULL;
}

static void find_extents(vy_affine *a)
{
    const vy_program *p = a->p;
    for (uint32_t i = 0; i < p->overs.count; i++) {
        const vy_dim_node *d = multiplied(p, p->overs.data[i].extent);
        if (d) a->extent[d->value] = VY_AFFINE_DOMAIN;
    }
    for (uint32_t i = 1; i < p->buffers.count; i++)
        for (uint32_t k = 0; k < p->buffers.data[i].rank; k++) {
            const vy_dim_node *d = &p->dims.data[p->buffers.data[i].dims[k].id];
            if (d->op == VY_DIM_SCALAR) a->extent[d->value] = VY_AFFINE_LENGTH;
        }
}

// What is known of dimensions that are numbers.
static void find_numbers(vy_affine *a)
{
    if (!a->numbers || a->failed) return;
    a->number_range = vy_arena_alloc(&a->arena, a->p->dims.count * sizeof *a->number_range);
    a->number_whole = vy_arena_alloc(&a->arena, a->p->dims.count);
    a->failed |= !a->number_range || !a->number_whole;
    for (uint32_t d = 0; d < a->p->dims.count && !a->failed; d++)
        a->number_range[d] = vy_affine_type(VY_I64);
    for (uint32_t id = 1; id < a->p->insts.count && !a->failed; id++) {
        const vy_extent e = a->facts.form[a->numbers[id].dim];
        if (!a->numbers[id].dim || !e.base || e.base == VY_NO_BASE || e.offset) continue;
        a->number_range[e.base] = a->numbers[id].range;
        if (a->numbers[id].product)
            a->number_whole[e.base] = a->number_whole[a->numbers[id].dim] = 1;
    }
}

// Who goes on with a shared context has all operations.
static void refresh(isl_ctx *ctx)
{
    isl_ctx_reset_error(ctx);
    isl_ctx_reset_operations(ctx);
}

// Its own context, or the shared one, as if that were new.
static void begin_context(vy_affine *a)
{
    a->memory = a->memory ? a->memory : &a->own;
    if (!a->memory->reserve && !vy_isl_memory_begin(a->memory)) return;
    a->ctx = a->memory->ctx;
    a->failed |= !a->ctx || vy_isl_memory_failed(a->memory);
    if (a->ctx) refresh(a->ctx);
}

bool vy_affine_begin_with(vy_affine *a, const vy_program *p, const vy_structure *s)
{
    *a = (vy_affine){.p = p,
                     .s = s,
                     .calm = a->calm,
                     .calm_extents = a->calm_extents,
                     .numbers = a->numbers,
                     .multiples = a->multiples,
                     .quotients = a->quotients,
                     .memory = a->memory};
    a->extent = vy_arena_alloc(&a->arena, p->scalars.count + 1);
    a->most = vy_arena_alloc(&a->arena, (p->scalars.count + 1) * sizeof *a->most);
    begin_context(a);
    a->failed |= !a->ctx || !a->extent || !a->most ||
                 !vy_intervals_make(&a->intervals, p, s, &a->arena) ||
                 !vy_dim_facts_make(&a->facts, p, &a->arena);
    find_numbers(a);
    if (a->failed) return false;
    isl_options_set_on_error(a->ctx, ISL_ON_ERROR_CONTINUE);
    vy_affine_limit(a, 0);
    a->context = vy_isl_set_universe(vy_isl_space_params_alloc(a->ctx, 0));
    for (uint32_t i = 0; i < p->scalars.count; i++)
        a->most[i] = a->calm && a->calm[i] ? VY_AFFINE_CALM : INT64_MAX / 2;
    find_extents(a);
    bound_extents(a);
    a->failed |= vy_isl_memory_failed(a->memory);
    return !a->failed;
}

bool vy_affine_begin(vy_affine *a, const vy_program *p, const vy_structure *s)
{
    *a = (vy_affine){0};
    return vy_affine_begin_with(a, p, s);
}

bool vy_affine_end(vy_affine *a)
{
    const bool ok = !a->failed && !(a->memory && vy_isl_memory_failed(a->memory));
    if (!ok) vy_memory_failed(); // sticks, even where a caller ignores the result
    for (uint32_t k = 0; k < a->params.count; k++) isl_id_free(a->params.data[k].id);
    vy_vec_free(&a->params);
    vy_nest_memo_free(a);
    isl_set_free(a->context);
    if (a->memory == &a->own)
        vy_isl_memory_end(a->memory);
    else if (ok && a->ctx)
        refresh(a->ctx);
    vy_arena_free(&a->arena);
    *a = (vy_affine){0};
    return ok;
}
