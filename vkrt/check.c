// SPDX-License-Identifier: MIT
// check.c: kernels and plans may be hand-written or read from a file, so every index in them is
// checked once here; everything after asserts nothing and trusts them.
#include "vkrt/internal.h"

#define FIX "this is a fault of the code that made the kernel description"

#define REQUIRE(condition, ...)                                                                    \
    do {                                                                                           \
        if (!(condition)) return vkrt_fail(error, VKRT_BAD_KERNEL, FIX, __VA_ARGS__);              \
    } while (0)

static vkrt_status check_exprs(const char *who, const vy_expr *exprs, uint32_t count,
                               uint32_t symbols, vkrt_error *error)
{
    for (uint32_t i = 0; i < count; i++) {
        const vy_expr *e = &exprs[i];
        REQUIRE((unsigned)e->op <= VY_EXPR_SQRT, "%s: expression %u has no such operation", who, i);
        if (e->op == VY_EXPR_SYMBOL)
            REQUIRE(e->value >= 0 && e->value < symbols, "%s: expression %u names no symbol", who,
                    i);
        else if (e->op != VY_EXPR_CONST)
            REQUIRE(e->a < i && e->b < i, "%s: expression %u uses a later one", who, i);
    }
    return VKRT_OK;
}

static vkrt_status check_dims(const char *who, const char *name, uint32_t rank,
                              const uint32_t *dims, uint32_t exprs, vkrt_error *error)
{
    REQUIRE(name, "%s: a buffer has no name", who);
    REQUIRE(rank == 0 || dims, "%s: buffer '%s' has no dimensions", who, name);
    for (uint32_t i = 0; i < rank; i++)
        REQUIRE(dims[i] < exprs, "%s: axis %u of '%s' names no expression", who, i, name);
    return VKRT_OK;
}

static vkrt_status check_symbols(const char *who, const vy_symbol *symbols, uint32_t count,
                                 uint32_t buffers, vkrt_error *error)
{
    for (uint32_t i = 0; i < count; i++) {
        const vy_symbol *s = &symbols[i];
        REQUIRE(s->name, "%s: symbol %u has no name", who, i);
        if (s->kind == VY_SYMBOL_SCALAR)
            REQUIRE(vkrt_type_size(s->type), "%s: scalar '%s' has an unknown type", who, s->name);
        if (s->kind == VY_SYMBOL_GROUPS)
            REQUIRE(s->axis < 3, "%s: '%s' counts groups on no axis", who, s->name);
        if (s->kind == VY_SYMBOL_EXTENT)
            REQUIRE(s->buffer < buffers, "%s: '%s' is the extent of no buffer", who, s->name);
    }
    return VKRT_OK;
}

// The module's entry point; drivers crash when it is absent.
static bool has_entry(const vy_kernel *k)
{
    for (size_t at = 5; at < k->word_count;) {
        uint32_t length = k->words[at] >> 16, opcode = k->words[at] & 0xffff;
        if (length == 0 || length > k->word_count - at) return false;
        if (opcode == 15 && length > 3 && k->words[at + 1] == 5) { // OpEntryPoint GLCompute
            const char *name = (const char *)&k->words[at + 3];
            size_t room = (length - 3) * 4, size = strlen(k->entry) + 1;
            if (size <= room && memcmp(name, k->entry, size) == 0) return true;
        }
        at += length;
    }
    return false;
}

static vkrt_status check_params(const vy_kernel *k, vkrt_error *error)
{
    REQUIRE(k->param_bytes % 4 == 0, "%s: size of the parameter block is not a multiple of 4",
            k->name);
    REQUIRE(k->param_bytes > 0 || k->param_set == VY_NO_BINDING, "%s: empty parameter block",
            k->name);
    for (uint32_t i = 0; i < k->param_count; i++) {
        const vy_kernel_param *p = &k->params[i];
        bool axis = p->kind == VY_PARAM_GROUP_BASE || p->kind == VY_PARAM_NUM_GROUPS;
        uint32_t limit = p->kind == VY_PARAM_SCALAR   ? k->symbol_count
                         : p->kind == VY_PARAM_OFFSET ? k->binding_count
                         : axis                       ? 3
                                                      : k->expr_count;
        REQUIRE((unsigned)p->kind <= VY_PARAM_OFFSET && p->index < limit,
                "%s: parameter %u refers to nothing", k->name, i);
        REQUIRE(p->size > 0 && p->size <= 8 && p->offset <= k->param_bytes &&
                    p->size <= k->param_bytes - p->offset,
                "%s: parameter %u lies outside the block", k->name, i);
    }
    return VKRT_OK;
}

vkrt_status vkrt_check_kernel(const vy_kernel *k, vkrt_error *error)
{
    REQUIRE(k->name && k->entry, "a kernel has no name or entry point");
    if (k->hosted) // its addresses are those of buffers with padding, which only the host has
        return vkrt_fail(error, VKRT_BAD_KERNEL, "compile it without vy_spirv_options.host_layout",
                         "%s: it is bound as the shader that it is made from", k->name);
    REQUIRE(k->words && k->word_count > 5 && k->words[0] == 0x07230203, "%s: not SPIR-V", k->name);
    REQUIRE(has_entry(k), "%s: the module has no compute entry point '%s'", k->name, k->entry);
    for (int i = 0; i < 3; i++)
        REQUIRE(k->local_size[i] > 0, "%s: workgroup size %d is zero", k->name, i);
    vkrt_status status =
        check_symbols(k->name, k->symbols, k->symbol_count, k->binding_count, error);
    if (!status) status = check_exprs(k->name, k->exprs, k->expr_count, k->symbol_count, error);
    if (!status)
        status = check_exprs(k->name, k->iterations, k->iteration_count, k->symbol_count, error);
    if (!status) status = check_params(k, error);
    for (uint32_t i = 0; !status && i < k->binding_count; i++) {
        const vy_kernel_binding *b = &k->bindings[i];
        status = check_dims(k->name, b->name, b->rank, b->dims, k->expr_count, error);
        if (status) return status;
        REQUIRE(b->elem_size > 0, "%s: elements of '%s' have no size", k->name, b->name);
        REQUIRE(b->set != k->param_set || b->binding != k->param_binding,
                "%s: '%s' has the binding of the parameter block", k->name, b->name);
        for (uint32_t j = 0; j < i; j++)
            REQUIRE(b->set != k->bindings[j].set || b->binding != k->bindings[j].binding,
                    "%s: '%s' and '%s' have one binding", k->name, k->bindings[j].name, b->name);
    }
    REQUIRE(!k->watched || k->binding_count, "%s: watches loops, but has no binding to report to",
            k->name);
    for (uint32_t i = 0; !status && i < k->domain_rank; i++)
        REQUIRE(k->domain[i] < k->expr_count, "%s: domain axis %u has no expression", k->name, i);
    return status;
}

static vkrt_status check_dispatch(const vy_plan *p, uint32_t index, vkrt_error *error)
{
    const vy_plan_step *s = &p->steps[index];
    REQUIRE(s->kernel < p->kernel_count, "step %u dispatches no kernel", index);
    const vy_kernel *k = &p->kernels[s->kernel];
    REQUIRE(s->args || k->binding_count == 0, "step %u has no arguments", index);
    REQUIRE(s->symbols || k->symbol_count == 0, "step %u has no scalars", index);
    for (uint32_t i = 0; i < k->binding_count; i++) {
        REQUIRE(s->args[i].buffer < p->buffer_count, "step %u binds no buffer", index);
        REQUIRE(s->args[i].offset == VY_NO_EXPR || s->args[i].offset < p->expr_count,
                "step %u binds at no offset", index);
    }
    for (uint32_t i = 0; i < k->symbol_count; i++)
        REQUIRE(s->symbols[i] < p->expr_count, "step %u gives no value to '%s'", index,
                k->symbols[i].name);
    for (uint32_t i = 0; s->groups && i < 3; i++)
        REQUIRE(s->groups[i] < p->expr_count, "step %u has no group count", index);
    return VKRT_OK;
}

static vkrt_status check_copy(const vy_plan *p, uint32_t index, vkrt_error *error)
{
    const vy_plan_step *s = &p->steps[index];
    REQUIRE(!s->part || s->part->source_offset < p->expr_count, "step %u copies from no place",
            index);
    REQUIRE(s->source < p->buffer_count, "step %u copies no buffer", index);
    REQUIRE(s->buffer < p->buffer_count, "step %u copies to no buffer", index);
    REQUIRE(!s->part || p->buffers[s->source].elem_size == p->buffers[s->buffer].elem_size,
            "step %u copies elements of another size", index);
    return VKRT_OK;
}

static vkrt_status check_readback(const vy_plan *p, uint32_t index, vkrt_error *error)
{
    const vy_plan_step *s = &p->steps[index];
    REQUIRE(s->buffer < p->buffer_count && s->expr < p->expr_count, "step %u reads nothing back",
            index);
    REQUIRE(s->symbol < p->symbol_count && p->symbols[s->symbol].kind == VY_SYMBOL_READBACK,
            "step %u reads back into no symbol", index);
    REQUIRE(vkrt_type_size(p->buffers[s->buffer].type) == p->buffers[s->buffer].elem_size &&
                !vkrt_type_is_float(p->buffers[s->buffer].type),
            "step %u reads back a value that is not an integer", index);
    return VKRT_OK;
}

static vkrt_status check_step(const vy_plan *p, uint32_t index, vkrt_error *error)
{
    const vy_plan_step *s = &p->steps[index];
    const bool parts = s->kind == VY_STEP_FILL || s->kind == VY_STEP_COPY;
    if (parts && s->part)
        REQUIRE(s->part->offset < p->expr_count && s->part->count < p->expr_count,
                "step %u has no such part", index);
    switch (s->kind) {
    case VY_STEP_DISPATCH: return check_dispatch(p, index, error);
    case VY_STEP_CHECK:
        REQUIRE(s->expr < p->expr_count && s->limit < p->expr_count, "step %u checks nothing",
                index);
        REQUIRE((unsigned)s->check <= VY_CHECK_LOOPS && s->text, "step %u says nothing", index);
        return VKRT_OK;
    case VY_STEP_COPY: return check_copy(p, index, error);
    case VY_STEP_READBACK: return check_readback(p, index, error);
    case VY_STEP_FILL: {
        REQUIRE(s->buffer < p->buffer_count, "step %u fills no buffer", index);
        uint32_t size = p->buffers[s->buffer].elem_size;
        REQUIRE(size == 1 || size == 2 || size == 4 || size == 8,
                "step %u fills elements of %u bytes", index, size);
        return VKRT_OK;
    }
    case VY_STEP_REPEAT:
        REQUIRE(s->expr < p->expr_count, "step %u repeats by no expression", index);
        REQUIRE(s->count <= p->step_count - index - 1, "step %u repeats beyond the end", index);
        REQUIRE(s->symbol < p->symbol_count && p->symbols[s->symbol].kind == VY_SYMBOL_REPEAT,
                "step %u counts in no symbol", index);
        return VKRT_OK;
    case VY_STEP_TEST:
        REQUIRE(s->expr < p->expr_count, "step %u tests no expression", index);
        return VKRT_OK;
    }
    return vkrt_fail(error, VKRT_BAD_KERNEL, FIX, "step %u has no such kind", index);
}

// Bodies of repeats must nest; *max_depth is how deep.
static vkrt_status check_nesting(const vy_plan *p, uint32_t *max_depth, vkrt_error *error)
{
    uint32_t *ends = malloc((p->step_count + 1) * sizeof *ends), depth = 0;
    if (!ends) return vkrt_fail_memory(error);
    vkrt_status status = VKRT_OK;
    *max_depth = 0;
    for (uint32_t i = 0; !status && i < p->step_count; i++) {
        while (depth > 0 && ends[depth - 1] <= i) depth--;
        if (p->steps[i].kind == VY_STEP_TEST && depth == 0)
            status = vkrt_fail(error, VKRT_BAD_KERNEL, FIX, "step %u leaves no repeat", i);
        if (p->steps[i].kind != VY_STEP_REPEAT) continue;
        uint32_t end = i + 1 + p->steps[i].count;
        if (depth > 0 && end > ends[depth - 1])
            status = vkrt_fail(error, VKRT_BAD_KERNEL, FIX, "step %u repeats beyond its body", i);
        ends[depth++] = end;
        if (depth > *max_depth) *max_depth = depth;
    }
    free(ends);
    return status;
}

vkrt_status vkrt_check_plan(const vy_plan *p, uint32_t *max_depth, vkrt_error *error)
{
    vkrt_status status = check_symbols("plan", p->symbols, p->symbol_count, p->buffer_count, error);
    if (!status) status = check_exprs("plan", p->exprs, p->expr_count, p->symbol_count, error);
    for (uint32_t i = 0; !status && i < p->buffer_count; i++) {
        const vy_plan_buffer *b = &p->buffers[i];
        status = check_dims("plan", b->name, b->rank, b->dims, p->expr_count, error);
        if (!status && b->elem_size == 0)
            status =
                vkrt_fail(error, VKRT_BAD_KERNEL, FIX, "elements of '%s' have no size", b->name);
    }
    for (uint32_t i = 0; !status && i < p->kernel_count; i++)
        status = vkrt_check_kernel(&p->kernels[i], error);
    for (uint32_t i = 0; !status && i < p->step_count; i++) status = check_step(p, i, error);
    for (uint32_t i = 0; !status && i < p->symbol_count; i++) {
        const vy_symbol *s = &p->symbols[i];
        if (s->kind == VY_SYMBOL_EXTENT && s->axis >= p->buffers[s->buffer].rank)
            status =
                vkrt_fail(error, VKRT_BAD_KERNEL, FIX, "'%s' is the extent of no axis", s->name);
    }
    return status ? status : check_nesting(p, max_depth, error);
}
