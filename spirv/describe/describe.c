// SPDX-License-Identifier: MIT
// describe.c: the kernel's description (kernel.h): symbols, expressions, bindings, parameter block.
#include "spirv/describe/describe.h"

#include "ir/text/print.h"

#include <stdio.h>
#include <string.h>

// ------------------------------------------------------------------------------------ expressions

static const char *copy(vy_describe *d, const char *s)
{
    char *c = s ? vy_arena_strdup(d->arena, s, strlen(s)) : NULL;
    if (s && !c) d->oom = true;
    return c;
}

static bool is_parameter(const vy_buf *b)
{
    return b->cls == VY_IN || b->cls == VY_OUT || b->cls == VY_INOUT;
}

static void add_extent_symbols(vy_describe *d)
{
    uint32_t binding = 0;
    for (uint32_t i = 1; i < d->p->buffers.count && !d->oom; i++) {
        const vy_buf *b = &d->p->buffers.data[i];
        if (!is_parameter(b) || (d->p->signature && b->workspace)) {
            binding += is_parameter(b);
            continue;
        }
        if (b->rank && d->p->dims.data[b->dims[0].id].op == VY_DIM_UNKNOWN) {
            size_t n = strlen(b->name) + 6;
            char *name = vy_arena_alloc(d->arena, n);
            if (name)
                snprintf(name, n, "len(%s)", b->name);
            else
                d->oom = true;
            d->extent_sym[i] = d->symbols.count + 1;
            vy_describe_symbol(d, (vy_symbol){name, VY_SYMBOL_EXTENT, "u32", binding, 0});
        }
        binding++;
    }
}

// With a domain, no used dimension names group counts (ir/check/check_dims.c).
static void add_group_symbols(vy_describe *d)
{
    static const char *const names[] = {"num_groups.x", "num_groups.y", "num_groups.z"};
    bool used[3] = {0};
    for (uint32_t i = 1; i < d->p->dims.count && !d->p->overs.count; i++)
        if (d->p->dims.data[i].op == VY_DIM_GROUPS) used[d->p->dims.data[i].value] = true;
    for (uint32_t axis = 0; axis < 3 && !d->oom; axis++) {
        if (!used[axis]) continue;
        d->group_sym[axis] = d->symbols.count + 1;
        vy_describe_symbol(d, (vy_symbol){names[axis], VY_SYMBOL_GROUPS, "u32", 0, axis});
    }
}

bool vy_describe_symbols(vy_describe *d, const vy_program *p, vy_arena *arena)
{
    *d = (vy_describe){.p = p, .arena = arena};
    d->dim_exprs = vy_arena_alloc(arena, p->dims.count * sizeof *d->dim_exprs);
    d->extent_sym = vy_arena_alloc(arena, p->buffers.count * sizeof *d->extent_sym);
    d->domain = vy_arena_alloc(arena, (p->overs.count + 1) * sizeof *d->domain);
    d->oom = !d->dim_exprs || !d->extent_sym || !d->domain;
    for (uint32_t i = 0; i < p->scalars.count && !d->oom; i++) {
        const vy_scalar_param *s = &p->scalars.data[i];
        vy_describe_symbol(d, (vy_symbol){copy(d, s->name), VY_SYMBOL_SCALAR, vy_type_name(s->type),
                                          0, 0});
    }
    if (!d->oom) add_extent_symbols(d);
    if (!d->oom) add_group_symbols(d);
    return !d->oom;
}

void vy_describe_begin(vy_describe *d, const vy_program *p, vy_arena *arena, vy_kernel *kernel)
{
    if (!vy_describe_symbols(d, p, arena)) return;
    d->kernel = kernel;
    vy_describe_dims(d);
    for (uint32_t i = 0; i < p->overs.count && !d->oom; i++) {
        vy_dim extent = p->overs.data[i].extent;
        const vy_dim_node *n = &p->dims.data[extent.id];
        uint32_t e = vy_describe_dim(d, extent);
        bool natural =
            n->op == VY_DIM_UNKNOWN ||
            (n->op == VY_DIM_SCALAR && !vy_type_is_signed(p->scalars.data[n->value].type));
        uint32_t zero = natural ? 0 : vy_describe_expr(d, (vy_expr){.op = VY_EXPR_CONST});
        d->domain[i] =
            natural ? e : vy_describe_binary(d, VY_EXPR_MAX, e, zero); // a negative extent is 0
    }
}

uint32_t vy_describe_param(vy_describe *d, const char *name, vy_param_kind kind, vy_type type,
                           uint32_t index)
{
    for (uint32_t i = 0; i < d->params.count; i++) {
        const vy_kernel_param *o = &d->params.data[i];
        if (o->kind == kind && o->index == index) return i;
    }
    uint32_t size = vy_type_size(type), align = size == 8 ? 8 : 4;
    uint32_t offset = (d->param_bytes + align - 1) & ~(align - 1);
    vy_kernel_param param = {copy(d, name), kind, vy_type_name(type), index, offset, size};
    const bool given = vy_describe_is_given(d, &param);
    if (given) param.offset = d->p->scalars.data[index].layout.offset;
    if (!vy_vec_push(&d->params, param)) d->oom = true;
    if (!given) d->param_bytes = offset + (size == 8 ? 8 : 4);
    return d->oom ? 0 : d->params.count - 1;
}

// ----------------------------------------------------------------------------------------- the end
// Must it be zero before the dispatch?  The host of a shader clears what it needs cleared.
static bool is_cleared(const vy_describe *d, const vy_buf *b, uint8_t use)
{
    if (b->init != VY_INIT_NONE || b->cls == VY_IN || (d->hosted && b->layout.given)) return false;
    if (b->stored_first) return false;
    return b->cls == VY_OUT ? use != VY_WRITES_ALL : b->workspace;
}

static void describe_binding(vy_describe *d, uint32_t buffer, uint8_t use, vy_kernel_binding *out)
{
    const vy_buf *b = &d->p->buffers.data[buffer];
    uint32_t *dims = vy_arena_alloc(d->arena, (b->rank + 1) * sizeof *dims);
    if (!dims) {
        d->oom = true;
        return;
    }
    for (uint32_t k = 0; k < b->rank; k++) dims[k] = vy_describe_dim(d, b->dims[k]);
    *out = (vy_kernel_binding){
        .name = copy(d, b->name),
        .set = d->places[buffer].set,
        .binding = d->places[buffer].binding,
        .access = b->cls == VY_IN    ? VY_ACCESS_IN
                  : b->cls == VY_OUT ? VY_ACCESS_OUT
                                     : VY_ACCESS_INOUT,
        .clear = is_cleared(d, b, use),
        .workspace = b->workspace,
        .init = b->init == VY_INIT_ONES   ? "1"
                : b->init == VY_INIT_COPY ? copy(d, b->init_from)
                                          : NULL,
        .type = vy_type_name(b->type),
        .elem_size = vy_type_size(b->type),
        .rank = b->rank,
        .dims = dims,
        .from = vy_describe_from(d, &b->layout, b->rank, false),
    };
}

static void describe_watch(vy_describe *d, vy_kernel_binding *out)
{
    uint32_t *dims = vy_arena_alloc(d->arena, sizeof *dims);
    if (!dims) {
        d->oom = true;
        return;
    }
    dims[0] = vy_describe_expr(d, (vy_expr){.op = VY_EXPR_CONST, .value = 1});
    *out = (vy_kernel_binding){.name = VY_WATCH_NAME,
                               .set = d->kernel->watch_set,
                               .binding = d->kernel->watch_binding,
                               .access = VY_ACCESS_INOUT,
                               .workspace = true,
                               .init = "1",
                               .type = vy_type_name(VY_U32),
                               .elem_size = vy_type_size(VY_U32),
                               .rank = 1,
                               .dims = dims};
}

static void *copy_block(vy_describe *d, const void *data, size_t size)
{
    void *block = vy_arena_alloc(d->arena, size + 1);
    if (!block)
        d->oom = true;
    else if (size)
        memcpy(block, data, size);
    return block;
}

// 1 where all axes but this one are long enough for a full workgroup, else 0.
static uint32_t describe_others(vy_describe *d, uint32_t axis)
{
    uint32_t all = vy_describe_expr(d, (vy_expr){.op = VY_EXPR_CONST, .value = 1});
    for (uint32_t k = 0; k < d->p->overs.count && k < 3; k++) {
        const vy_expr size = {.op = VY_EXPR_CONST, .value = d->p->workgroup[k]};
        if (k == axis || size.value == 1) continue;
        const uint32_t var = d->p->overs.count - 1 - k;
        const uint32_t groups =
            vy_describe_binary(d, VY_EXPR_DIV, d->domain[var], vy_describe_expr(d, size));
        all = vy_describe_binary(d, VY_EXPR_MIN, all, groups);
    }
    return all;
}

// A last workgroup with n of W invocations on the axis has idle = W−1 − (size+W−1) mod W = W − n
// others, 0 if it is full.  Rotating by a − 1 maps the sizes n from a to b to the largest numbers:
// (idle + a − 1) mod W is below W−1 − (b−a) for all other sizes, and for those only.
static void describe_need(vy_describe *d, const vy_whole *x, vy_kernel_need *out)
{
    const vy_program *p = d->p;
    const uint32_t w = p->workgroup[x->axis], var = p->overs.count - 1 - x->axis;
    const uint32_t last =
        vy_describe_expr(d, (vy_expr){.op = VY_EXPR_CONST, .value = (int64_t)w - 1});
    const uint32_t full = vy_describe_expr(d, (vy_expr){.op = VY_EXPR_CONST, .value = w});
    const uint32_t shift =
        vy_describe_expr(d, (vy_expr){.op = VY_EXPR_CONST, .value = (int64_t)x->from - 1});
    const uint32_t limit =
        vy_describe_expr(d, (vy_expr){.op = VY_EXPR_CONST,
                                      .value = (int64_t)w - 1 - (x->to - x->from)});
    uint32_t need = vy_describe_binary(d, VY_EXPR_ADD, d->domain[var], last);
    need = vy_describe_binary(d, VY_EXPR_SUB, last, vy_describe_binary(d, VY_EXPR_REM, need, full));
    if (x->from > 1)
        need = vy_describe_binary(d, VY_EXPR_REM, vy_describe_binary(d, VY_EXPR_ADD, need, shift),
                                  full);
    if (x->others) need = vy_describe_binary(d, VY_EXPR_MUL, need, describe_others(d, x->axis));
    char text[400], rotated[60] = "idle there";
    if (x->from > 1) snprintf(rotated, sizeof rotated, "(idle there + %u) %% %u", x->from - 1, w);
    snprintf(text, sizeof text,
             "shared array `%.60s` of %.60s is read where invocations outside of the domain "
             "would have filled it: round `%.40s` up to a multiple of %u, the workgroup's size, "
             "and guard loads and stores in its place (E0715); %s",
             p->buffers.data[x->buffer].name, p->name, p->overs.data[var].name, w, rotated);
    *out = (vy_kernel_need){need, limit, copy(d, text), NULL};
}

// least ≤ most: what the first exceeds the second by is below 1.
static void describe_assumed(vy_describe *d, const vy_assumption *a, vy_kernel_need *out)
{
    const uint32_t least = vy_describe_dim(d, a->least), most = vy_describe_dim(d, a->most);
    const uint32_t none = vy_describe_expr(d, (vy_expr){.op = VY_EXPR_CONST, .value = 0});
    const uint32_t one = vy_describe_expr(d, (vy_expr){.op = VY_EXPR_CONST, .value = 1});
    const uint32_t over = vy_describe_binary(d, VY_EXPR_SUB, least, most);
    char text[400], *words = vy_assumption_text(d->p, a);
    snprintf(text, sizeof text,
             "%.60s assumes %.200s, which does not hold (E0717): launch it with scalars for which "
             "it does; exceeded by",
             d->p->name, words ? words : "");
    const uint32_t excess = vy_describe_binary(d, VY_EXPR_MAX, over, none);
    if (!words) d->oom = true;
    *out = (vy_kernel_need){excess, one, copy(d, text), words ? copy(d, words) : NULL};
    vy_free(words);
}

static void describe_needs(vy_describe *d)
{
    const uint32_t rank = d->p->overs.count;
    vy_whole_vec wholes = {0};
    bool ok = vy_find_wholes(d->p, &wholes);
    const uint32_t most = wholes.count + d->p->assumes.count;
    vy_kernel_need *needs = vy_arena_alloc(d->arena, (most + 1) * sizeof *needs);
    d->kernel->needs = needs;
    ok = ok && needs;
    for (uint32_t k = 0; ok && k < wholes.count && !d->oom; k++) {
        const vy_whole *x = &wholes.data[k];
        // The last axis is the product of all variables but two.
        if (x->axis < rank && (x->axis < 2 || rank == 3) && (rank <= 3 || !x->others))
            describe_need(d, x, &needs[d->kernel->need_count++]);
    }
    for (uint32_t k = 0; ok && k < d->p->assumes.count && !d->oom; k++)
        describe_assumed(d, &d->p->assumes.data[k], &needs[d->kernel->need_count++]);
    if (!ok) d->oom = true;
    vy_vec_free(&wholes);
}

bool vy_describe_end(vy_describe *d, const vy_spv *m)
{
    vy_kernel *k = d->kernel;
    const vy_program *p = d->p;
    vy_kernel_binding *bindings = vy_arena_alloc(d->arena, p->buffers.count * sizeof *bindings);
    uint8_t *uses = vy_arena_alloc(d->arena, p->buffers.count);
    if (!bindings || !uses) d->oom = true;
    if (!d->oom) vy_first_uses(p, uses);
    for (uint32_t i = 1; i < p->buffers.count && !d->oom; i++)
        if (is_parameter(&p->buffers.data[i]))
            describe_binding(d, i, uses[i], &bindings[k->binding_count++]);
    if (k->watched && !d->oom) describe_watch(d, &bindings[k->binding_count++]);
    if (!d->oom) describe_needs(d);
    k->name = copy(d, p->name);
    k->spirv_version = m->version;
    k->vulkan_version = 1u << 22 | (1 + (uint32_t)m->options->target) << 12;
    memcpy(k->local_size, p->workgroup, sizeof k->local_size);
    k->bindings = bindings;
    vy_describe_constants(d);
    k->param_bytes = d->param_bytes;
    k->symbol_count = d->symbols.count;
    k->symbols = copy_block(d, d->symbols.data, d->symbols.count * sizeof *d->symbols.data);
    k->expr_count = d->exprs.count;
    k->exprs = copy_block(d, d->exprs.data, d->exprs.count * sizeof *d->exprs.data);
    k->splits = !d->hosted; // else params.c gives each axis its base
    k->domain_rank = p->overs.count;
    k->domain = d->domain;
    k->subgroup_size = m->options->subgroup_size;
    vy_describe_iterations(d, k);
    return !d->oom;
}

void vy_describe_free(vy_describe *d)
{
    vy_vec_free(&d->exprs);
    vy_vec_free(&d->symbols);
    vy_vec_free(&d->params);
    vy_free(d->table);
}
