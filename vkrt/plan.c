// SPDX-License-Identifier: MIT
// plan.c: creating, destroying and querying executable plans.
#include "vkrt/plan_internal.h"

// calloc that accepts zero.
static void *zeros(size_t count, size_t size) { return calloc(count ? count : 1, size); }

// What serves one kernel after the other, as large as the largest of them needs.
static bool allocate_for_kernels(vkrt_plan *x)
{
    const vy_plan *p = x->plan;
    uint32_t bindings = 0, symbols = 0, exprs = 0, params = 0;
    for (uint32_t i = 0; i < p->kernel_count; i++) {
        const vy_kernel *k = &p->kernels[i];
        if (k->binding_count > bindings) bindings = k->binding_count;
        if (k->symbol_count > symbols) symbols = k->symbol_count;
        if (k->expr_count > exprs) exprs = k->expr_count;
        if (k->iteration_count > exprs) exprs = k->iteration_count;
        if (k->param_bytes > params) params = k->param_bytes;
    }
    x->kernel_symbols = zeros(symbols, sizeof *x->kernel_symbols);
    x->kernel_values = zeros(exprs, sizeof *x->kernel_values);
    x->infos = zeros(bindings + 1, sizeof *x->infos);
    x->bounds = zeros(bindings + 1, sizeof *x->bounds);
    x->writes = zeros(bindings + 1, sizeof *x->writes);
    x->params = zeros(params, 1);
    return x->kernel_symbols && x->kernel_values && x->infos && x->bounds && x->writes && x->params;
}

static bool allocate_arrays(vkrt_plan *x)
{
    const vy_plan *p = x->plan;
    x->pipelines = zeros(p->kernel_count, sizeof *x->pipelines);
    x->caches = zeros(p->kernel_count, sizeof *x->caches);
    x->compile_ns = zeros(p->kernel_count, sizeof *x->compile_ns);
    x->buffers = zeros(p->buffer_count, sizeof *x->buffers);
    x->symbols = zeros(p->symbol_count, sizeof *x->symbols);
    x->sources = zeros(p->symbol_count, sizeof *x->sources);
    x->source_buffer = zeros(p->symbol_count, sizeof *x->source_buffer);
    x->source_axis = zeros(p->symbol_count, sizeof *x->source_axis);
    x->values = zeros(p->expr_count, sizeof *x->values);
    x->value_known = zeros(p->expr_count, sizeof *x->value_known);
    x->value_bad = zeros(p->expr_count, sizeof *x->value_bad);
    x->sizing = zeros(p->symbol_count, sizeof *x->sizing);
    x->step_sets = zeros(p->step_count, sizeof *x->step_sets);
    bool ok = x->pipelines && x->caches && x->compile_ns && x->buffers && x->symbols &&
              x->sources && x->source_buffer && x->source_axis && x->values && x->value_known &&
              x->value_bad && x->sizing && x->step_sets && allocate_for_kernels(x) &&
              vkrt_names_make(x) && vkrt_cursor_alloc(x, &x->at);
    for (uint32_t i = 0; ok && i < p->buffer_count; i++) {
        x->buffers[i].shape = zeros(p->buffers[i].rank, sizeof(uint64_t));
        ok = x->buffers[i].shape;
    }
    for (uint32_t i = 0; ok && i < p->step_count; i++) {
        if (p->steps[i].kind != VY_STEP_DISPATCH) continue;
        uint32_t count = p->kernels[p->steps[i].kernel].binding_count + 1;
        x->step_sets[i].key = zeros(count, sizeof *x->step_sets[i].key);
        ok = x->step_sets[i].key;
    }
    return ok;
}

// An OUT buffer starts as zero, unless its first use makes that pointless: an overwrite of all of
// it, or a dispatch that clears it or, taking it as OUT without `clear`, is known to write all of
// it.  The body of a repeat may run no iteration, so a first use in it decides nothing.
static bool starts_as_zero(const vy_plan *p, uint32_t buffer)
{
    uint32_t body_end = 0;
    if (p->buffers[buffer].role != VY_ROLE_OUT) return false;
    for (uint32_t i = 0; i < p->step_count; i++) {
        const vy_plan_step *s = &p->steps[i];
        bool sure = i >= body_end, target = s->buffer == buffer;
        if (s->kind == VY_STEP_REPEAT && i + 1 + s->count > body_end) body_end = i + 1 + s->count;
        if (s->kind == VY_STEP_FILL && target) return !sure || s->part;
        if (s->kind == VY_STEP_COPY && s->source == buffer) return true;
        if (s->kind == VY_STEP_COPY && target) return !sure || s->part;
        if (s->kind == VY_STEP_READBACK && target) return true;
        if (s->kind != VY_STEP_DISPATCH) continue;
        const vy_kernel *k = &p->kernels[s->kernel];
        for (uint32_t b = 0; b < k->binding_count; b++) {
            if (s->args[b].buffer != buffer) continue;
            bool whole = s->args[b].offset == VY_NO_EXPR;
            return !sure || !whole || k->bindings[b].access != VY_ACCESS_OUT;
        }
    }
    return true;
}

// Counters of repeats that a shape depends on: back from the shapes to the symbols.
static void find_sizing(vkrt_plan *x)
{
    const vy_plan *p = x->plan;
    bool *needed = x->value_bad; // free until the first evaluation
    for (uint32_t b = 0; b < p->buffer_count; b++)
        for (uint32_t a = 0; a < p->buffers[b].rank; a++) needed[p->buffers[b].dims[a]] = true;
    for (uint32_t i = p->expr_count; i-- > 0;) {
        const vy_expr *e = &p->exprs[i];
        if (!needed[i] || e->op == VY_EXPR_CONST) continue;
        if (e->op == VY_EXPR_SYMBOL)
            x->sizing[e->value] = p->symbols[e->value].kind == VY_SYMBOL_REPEAT;
        else
            needed[e->a] = needed[e->b] = true;
    }
}

static vkrt_status compile_kernels(vkrt_plan *x, vkrt_error *error)
{
    for (uint32_t i = 0; i < x->plan->step_count; i++) {
        const vy_plan_step *s = &x->plan->steps[i];
        if (s->kind != VY_STEP_DISPATCH || x->pipelines[s->kernel]) continue;
        const vy_kernel *k = &x->plan->kernels[s->kernel];
        uint64_t before = vkrt_now_ns();
        vkrt_status status = x->desc.trust_loops || (k->watched && x->watch != VY_NO_EXPR)
                                 ? VKRT_OK
                                 : vkrt_check_open_loops(vkrt_device_get_info(x->device), k, error);
        if (status) return status;
        status = vkrt_pipeline_get(x->device, &x->plan->kernels[s->kernel],
                                   &x->pipelines[s->kernel], &x->caches[s->kernel], error);
        if (status) return status;
        x->compile_ns[s->kernel] = vkrt_now_ns() - before;
    }
    return VKRT_OK;
}

static uint32_t watch_buffer(const vy_plan *p)
{
    uint32_t last = VY_NO_EXPR; // that a readback read
    for (uint32_t i = 0; i < p->step_count; i++) {
        const vy_plan_step *s = &p->steps[i];
        if (s->kind == VY_STEP_READBACK) last = s->buffer;
        if (s->kind == VY_STEP_CHECK && s->check == VY_CHECK_LOOPS) return last;
    }
    return VY_NO_EXPR;
}

static vkrt_status create(vkrt_device *device, const vy_plan *plan, void *owned,
                          const vkrt_plan_desc *desc, vkrt_plan **out, vkrt_error *error)
{
    *out = NULL;
    uint32_t depth;
    vkrt_plan_desc d;
    vkrt_status status = vkrt_check_plan(plan, &depth, error);
    if (!status)
        status = vkrt_take_desc(&d, sizeof d, VKRT_PLAN_DESC_FIRST, desc, "vkrt_plan_desc", error);
    if (!status && device->inspecting)
        status = vkrt_fail(error, VKRT_BAD_ARGUMENT, "open it without vkrt_device_desc.inspect",
                           "the device was opened for inspection only");
    vkrt_plan *x = status ? NULL : calloc(1, sizeof *x);
    if (!x) {
        free(owned);
        return status ? status : vkrt_fail_memory(error);
    }
    x->device = device;
    x->plan = plan;
    x->owned = owned;
    x->max_depth = depth;
    x->desc = d;
    x->watch = watch_buffer(plan);
    status = allocate_arrays(x) ? compile_kernels(x, error) : vkrt_fail_memory(error);
    if (status) {
        vkrt_plan_destroy(x);
        return status;
    }
    find_sizing(x);
    for (uint32_t i = 0; i < plan->buffer_count; i++)
        x->buffers[i].zero_first = starts_as_zero(plan, i);
    *out = x;
    return VKRT_OK;
}

vkrt_status vkrt_plan_create(vkrt_device *device, const vy_plan *plan, const vkrt_plan_desc *desc,
                             vkrt_plan **out, vkrt_error *error)
{
    return create(device, plan, NULL, desc, out, error);
}

void vkrt_plan_destroy(vkrt_plan *x)
{
    if (!x) return;
    if (!x->device->abandoned && x->in_flight) // the segments that would follow are dropped
        x->device->vk.vkWaitForFences(x->device->handle, 1, &x->in_flight->fence, VK_TRUE,
                                      UINT64_MAX);
    vkrt_plan_hold(x, false);
    vkrt_watch_free(x);
    vkrt_semaphores_free(&x->waits);
    vkrt_semaphores_free(&x->signals);
    for (uint32_t i = 0; i < VKRT_KEPT_SEGMENTS; i++) vkrt_segment_destroy(x, &x->segments[i]);
    for (uint32_t i = 0; x->pipelines && i < x->plan->kernel_count; i++)
        vkrt_pipeline_put(x->device, x->pipelines[i]);
    for (uint32_t i = 0; x->buffers && i < x->plan->buffer_count; i++) {
        vkrt_plan_release(x, i);
        free(x->buffers[i].shape);
    }
    for (uint32_t i = 0; x->step_sets && i < x->plan->step_count; i++) free(x->step_sets[i].key);
    vkrt_cursor_free(&x->at);
    void *const arrays[] = {
        x->pipelines,
        x->caches,
        x->compile_ns,
        x->buffers,
        x->symbols,
        x->sources,
        x->source_axis,
        x->values,
        x->value_known,
        x->step_sets,
        x->kernel_symbols,
        x->infos,
        x->source_buffer,
        x->kernel_values,
        x->writes,
        x->params,
        x->times,
        x->owned,
        x->value_bad,
        x->sizing,
        x->bounds,
        x->symbol_names.slots,
        x->buffer_names.slots,
    };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) free(arrays[i]);
    free(x);
}

// --- One kernel as a plan ------------------------------------------------------------------------

typedef struct kernel_plan {
    vy_plan plan;
    vy_plan_step *steps;
    vy_plan_buffer *buffers;
    vy_plan_arg *args;
    uint32_t *values;
    vy_expr *exprs;
} kernel_plan;

static kernel_plan *allocate_kernel_plan(const vy_kernel *k)
{
    // One allocation; the parts are ordered by falling alignment.
    size_t steps = (size_t)k->binding_count + 1, buffers = (size_t)k->binding_count;
    size_t exprs = (size_t)k->expr_count + k->symbol_count;
    kernel_plan *m = calloc(1, sizeof *m + steps * sizeof *m->steps +
                                   buffers * (sizeof *m->buffers + sizeof *m->args) +
                                   exprs * sizeof *m->exprs + k->symbol_count * sizeof *m->values);
    if (!m) return NULL;
    m->steps = (vy_plan_step *)(m + 1);
    m->exprs = (vy_expr *)(m->steps + steps);
    m->buffers = (vy_plan_buffer *)(m->exprs + exprs);
    m->args = (vy_plan_arg *)(m->buffers + buffers);
    m->values = (uint32_t *)(m->args + buffers);
    return m;
}

// binding.init as a step of the plan; "1" becomes the bits of one in the element type.
static bool init_step(const vy_kernel *k, uint32_t b, vy_plan_step *step)
{
    const vy_kernel_binding *binding = &k->bindings[b];
    *step = (vy_plan_step){.kind = VY_STEP_FILL, .buffer = b};
    if (strcmp(binding->init, "1") == 0) {
        int64_t one = 0;
        bool ok = vkrt_pack_int(binding->type, 1, &one);
        step->pattern = (uint64_t)one;
        return ok;
    }
    step->kind = VY_STEP_COPY;
    for (step->source = 0; step->source < k->binding_count; step->source++)
        if (strcmp(k->bindings[step->source].name, binding->init) == 0) return true;
    return false;
}

static vy_plan_buffer plan_buffer(const vy_kernel_binding *b)
{
    static const vy_role ROLES[] = {VY_ROLE_IN, VY_ROLE_OUT, VY_ROLE_INOUT};
    return (vy_plan_buffer){
        .name = b->name,
        .role = b->workspace ? VY_ROLE_WORKSPACE : ROLES[(unsigned)b->access % 3],
        .type = b->type,
        .elem_size = b->elem_size,
        .rank = b->rank,
        .dims = b->dims,
    };
}

// The kernel's expressions, and after them one for each of its symbols.
static void copy_expressions(const vy_kernel *k, kernel_plan *m)
{
    if (k->expr_count) memcpy(m->exprs, k->exprs, k->expr_count * sizeof *m->exprs);
    for (uint32_t i = 0; i < k->symbol_count; i++) {
        m->values[i] = k->expr_count + i;
        m->exprs[m->values[i]] = (vy_expr){.op = VY_EXPR_SYMBOL, .value = i};
    }
}

vkrt_status vkrt_plan_create_for_kernel(vkrt_device *device, const vy_kernel *k,
                                        const vkrt_plan_desc *desc, vkrt_plan **out,
                                        vkrt_error *error)
{
    *out = NULL;
    vkrt_status status = vkrt_check_kernel(k, error);
    if (status) return status;
    if (k->watched)
        return vkrt_fail(error, VKRT_BAD_ARGUMENT, "use the plan it was compiled with",
                         "%s watches its loops, but no step would check them", k->name);
    kernel_plan *m = allocate_kernel_plan(k);
    if (!m) return vkrt_fail_memory(error);
    uint32_t steps = 0;
    for (uint32_t i = 0; i < k->binding_count; i++) {
        const vy_kernel_binding *b = &k->bindings[i];
        m->buffers[i] = plan_buffer(b);
        m->args[i] = (vy_plan_arg){i, VY_NO_EXPR};
        if (b->init && !init_step(k, i, &m->steps[steps++])) {
            free(m);
            return vkrt_fail(error, VKRT_BAD_KERNEL, "name a binding, or \"1\"",
                             "%s: '%s' starts as '%s', which is nothing", k->name, b->name,
                             b->init);
        }
    }
    copy_expressions(k, m);
    m->steps[steps++] =
        (vy_plan_step){.kind = VY_STEP_DISPATCH, .args = m->args, .symbols = m->values};
    m->plan = (vy_plan){
        .name = k->name,
        .kernels = k,
        .kernel_count = 1,
        .buffers = m->buffers,
        .buffer_count = k->binding_count,
        .symbols = k->symbols,
        .symbol_count = k->symbol_count,
        .exprs = m->exprs,
        .expr_count = k->expr_count + k->symbol_count,
        .steps = m->steps,
        .step_count = steps,
    };
    return create(device, &m->plan, m, desc, out, error);
}

// --- Questions -----------------------------------------------------------------------------------

vkrt_cache vkrt_plan_kernel_cache(const vkrt_plan *plan, uint32_t index, const char **name,
                                  uint64_t *ns)
{
    bool known = index < plan->plan->kernel_count;
    if (name) *name = known ? plan->plan->kernels[index].name : NULL;
    if (ns) *ns = known ? plan->compile_ns[index] : 0;
    return known ? plan->caches[index] : VKRT_CACHE_MISS;
}

vkrt_buffer_info vkrt_plan_buffer(const vkrt_plan *plan, uint32_t index)
{
    if (index >= plan->plan->buffer_count) return (vkrt_buffer_info){0};
    const vy_plan_buffer *b = &plan->plan->buffers[index];
    const vkrt_plan_buf *state = &plan->buffers[index];
    bool known = state->shaped || state->available;
    return (vkrt_buffer_info){
        .name = b->name,
        .type = b->type,
        .role = b->role,
        .rank = b->rank,
        .shape = known ? state->shape : NULL,
        .count = known ? state->bytes / b->elem_size : 0,
        .bytes = known ? state->bytes : 0,
    };
}

bool vkrt_plan_symbol(const vkrt_plan *plan, const char *name, int64_t *value)
{
    uint32_t s;
    if (!vkrt_find_symbol(plan, name, &s)) return false;
    bool fixed = plan->sources[s] != VKRT_SOURCE_NONE;
    if (!fixed && !plan->at.known[s]) return false;
    *value = fixed ? plan->symbols[s] : plan->at.symbols[s];
    return true;
}

vkrt_stats vkrt_plan_stats(const vkrt_plan *plan) { return plan->stats; }
