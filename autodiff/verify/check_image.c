// SPDX-License-Identifier: MIT
// check_image.c: the data of one run, and running it.
#include "autodiff/verify/check_internal.h"

#include "ir/core/derive_as.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool vy_check_memory(check *c)
{
    if (c->d->severity != VY_ERROR) vy_diag_set(c->d, VY_E_MEMORY, 0, 0, NULL, "out of memory");
    return false;
}

bool vy_check_bad(check *c, const char *format, ...)
{
    char text[300];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    vy_diag_set(c->d, VY_E_API, 0, 0, "see vy_check_request in autodiff/check.h", "%s", text);
    return false;
}

uint64_t vy_check_random(uint64_t x) // S. Vigna, https://prng.di.unimi.it/splitmix64.c
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

// -------------------------------------------------------------------------------------- subjects
vy_check_subject vy_check_result_of(const vy_module *m)
{
    const uint32_t n = vy_module_pipeline_count(m);
    if (n) return (vy_check_subject){NULL, vy_module_pipeline(m, n - 1)};
    return (vy_check_subject){vy_module_program(m, 0), NULL};
}

const vy_pipeline *vy_check_stand_in(const vy_pipeline *l)
{
    bool exact = false;
    for (uint32_t i = 0; i < l->steps.count; i++)
        exact |= l->steps.data[i].kind == VY_PIPE_DISPATCH &&
                 vy_exact_sums(l->module->programs.data[l->steps.data[i].program]);
    return exact ? vy_derived_as(l) : l;
}

const vy_program *vy_check_parameters(vy_check_subject s)
{
    return s.pipeline ? vy_pipeline_signature(s.pipeline) : s.program;
}

const vy_program *vy_check_program_at(vy_check_subject s, uint32_t index)
{
    if (s.pipeline) return vy_module_program(vy_pipeline_module(s.pipeline), index);
    return index == 0 ? s.program : NULL;
}

// -------------------------------------------------------------------------------------- parameters
static bool is_parameter(const vy_program *p, uint32_t id)
{
    const vy_buf *b = &p->buffers.data[id];
    return vy_is_global(b->cls) && !b->workspace;
}

static void *blank(uint64_t count, uint64_t size)
{
    uint64_t bytes;
    if (__builtin_mul_overflow(count ? count : 1, size, &bytes) || bytes > PTRDIFF_MAX) return NULL;
    void *memory = vy_realloc(NULL, (size_t)bytes);
    return memory ? memset(memory, 0, (size_t)bytes) : NULL;
}

// Lists the parameters of p; shapes and data come later.
static bool begin_image(check *c, vy_check_subject s, bool wide, image *m)
{
    const vy_program *p = vy_check_parameters(s);
    const uint32_t n = p->buffers.count, scalars = c->q->scalar_count;
    *m = (image){.p = p, .pipeline = s.pipeline, .wide = wide, .scalar_count = scalars};
    m->buffers = blank(n, sizeof *m->buffers);
    m->types = blank(n, sizeof *m->types);
    m->counts = blank(n, sizeof *m->counts);
    m->shared = blank(n, sizeof *m->shared);
    m->at = blank(n, sizeof *m->at);
    m->scalars = blank(scalars, sizeof *m->scalars);
    m->scalar_at = blank(p->scalars.count, sizeof *m->scalar_at);
    if (!m->buffers || !m->types || !m->counts || !m->shared || !m->at || !m->scalars ||
        !m->scalar_at)
        return vy_check_memory(c);
    if (scalars) memcpy(m->scalars, c->q->scalars, scalars * sizeof *m->scalars);
    for (uint32_t k = scalars; k-- > 0;) { // the first of a name
        const char *name = m->scalars[k].name;
        const uint32_t i = name ? vy_program_find_scalar(p, name) : UINT32_MAX;
        if (i != UINT32_MAX) m->scalar_at[i] = k + 1;
    }
    for (uint32_t id = 1; id < n; id++) {
        const vy_buf *b = &p->buffers.data[id];
        if (!is_parameter(p, id)) continue;
        m->types[m->count] = wide && vy_type_is_float(b->type) ? VY_F64 : b->type;
        m->buffers[m->count++] = (vy_eval_buffer){.name = b->name, .rank = b->rank};
        m->at[id] = m->count;
    }
    return true;
}

static bool take_shape(check *c, image *m, uint32_t i, const uint64_t *shape, uint32_t rank)
{
    uint64_t count = 1;
    if (rank != m->buffers[i].rank || (rank && !shape))
        return vy_check_bad(c, "buffer %s has %u dimensions, but a shape of %u is given",
                            m->buffers[i].name, m->buffers[i].rank, rank);
    for (uint32_t k = 0; k < rank; k++)
        if (__builtin_mul_overflow(count, shape[k], &count) && shape[k])
            return vy_check_bad(c, "buffer %s is too large", m->buffers[i].name);
    m->buffers[i].shape = shape;
    m->counts[i] = count;
    return true;
}

static bool allocate(check *c, image *m, uint32_t i)
{
    m->buffers[i].data = blank(m->counts[i], vy_type_size(m->types[i]));
    return m->buffers[i].data != NULL || vy_check_memory(c);
}

// Elements of another type: own types to double.
static void convert(vy_type from, const void *in, vy_type to, void *out, uint64_t count)
{
    if (from == to) {
        if (count) memcpy(out, in, count * vy_type_size(to));
        return;
    }
    for (uint64_t e = 0; e < count; e++)
        vy_scalar_write(to, vy_scalar_read(from, (const char *)in + e * vy_type_size(from)),
                        (char *)out + e * vy_type_size(to));
}

// The one of that name; `near` is its index if the list has the order of the program.
static const vy_eval_buffer *given(const vy_eval_buffer *list, uint32_t count, const char *name,
                                   uint32_t near)
{
    for (uint32_t i = 0, k = near; i < count; i++, k++) {
        const vy_eval_buffer *b = &list[k % count];
        if (b->name && strcmp(b->name, name) == 0) return b;
    }
    return NULL;
}

bool vy_image_primal(check *c, bool wide, image *m)
{
    if (!begin_image(c, c->q->primal, wide, m)) return false;
    const vy_program *p = m->p;
    for (uint32_t i = 0; i < m->count; i++) {
        const char *name = m->buffers[i].name;
        const vy_buf *b = &p->buffers.data[vy_program_find_buffer(p, name).id];
        const vy_eval_buffer *from = given(c->q->buffers, c->q->buffer_count, name, i);
        if (!from || (!from->data && b->cls != VY_OUT))
            return vy_check_bad(c, "buffer %s is not given", name);
        if (!take_shape(c, m, i, from->shape, from->rank) || !allocate(c, m, i)) return false;
        if (b->cls != VY_OUT)
            convert(b->type, from->data, m->types[i], m->buffers[i].data, m->counts[i]);
    }
    return true;
}

bool vy_image_share(check *c, const image *base, image *m)
{
    if (!begin_image(c, (vy_check_subject){base->p, base->pipeline}, base->wide, m)) return false;
    for (uint32_t i = 0; i < m->count; i++) {
        m->buffers[i].shape = base->buffers[i].shape;
        m->counts[i] = base->counts[i];
        m->shared[i] = vy_image_class(base, i) == VY_IN;
        if (m->shared[i]) m->buffers[i].data = base->buffers[i].data;
        if (!m->shared[i] && !allocate(c, m, i)) return false;
    }
    return true;
}

void vy_image_restart(const image *base, image *m)
{
    for (uint32_t i = 0; i < m->count; i++)
        if (vy_image_class(m, i) == VY_INOUT && m->counts[i])
            memcpy(m->buffers[i].data, base->buffers[i].data, vy_image_bytes(m, i));
    if (m->scalar_count) memcpy(m->scalars, base->scalars, m->scalar_count * sizeof *m->scalars);
}

void vy_image_free(image *m)
{
    for (uint32_t i = 0; i < m->count; i++)
        if (!m->shared[i]) vy_free(m->buffers[i].data);
    vy_free(m->buffers);
    vy_free(m->types);
    vy_free(m->counts);
    vy_free(m->shared);
    vy_free(m->at);
    vy_free(m->scalars);
    vy_free(m->scalar_at);
    *m = (image){0};
}

int vy_image_find(const image *m, const char *name)
{
    return (int)m->at[vy_program_find_buffer(m->p, name).id] - 1;
}

static int find_scalar(const image *m, const char *name)
{
    const uint32_t i = vy_program_find_scalar(m->p, name);
    return i == UINT32_MAX ? -1 : (int)m->scalar_at[i] - 1;
}

// ------------------------------------------------------------------------------------- derivatives
vy_derivative_role vy_image_role(const image *primal, const image *derived, uint32_t i)
{
    return vy_role_of(derived->p, vy_program_find_buffer(derived->p, derived->buffers[i].name),
                      primal->p);
}

bool vy_gradient_of(const image *primal, const image *derived, uint32_t i, gradient_of *out)
{
    *out = (gradient_of){-1, -1};
    const vy_derivative_role role = vy_image_role(primal, derived, i);
    if (role.kind == VY_IS_GRADIENT) out->buffer = vy_image_find(primal, role.of);
    if (role.kind == VY_IS_SCALAR_GRADIENT) out->scalar = find_scalar(primal, role.of);
    return out->buffer >= 0 || out->scalar >= 0;
}

static const uint64_t one_element[1] = {1};

// A buffer of the derivative that the primal does not have: a gradient, a cotangent, or a tangent.
static bool derived_only(check *c, const image *primal, image *m, uint32_t i, uint64_t seed)
{
    const char *name = m->buffers[i].name;
    gradient_of of;
    const vy_derivative_role role = vy_image_role(primal, m, i);
    const bool gradient = vy_gradient_of(primal, m, i, &of);
    const bool tangent = vy_is_tangent(role.kind);
    const bool other = role.kind == VY_IS_COTANGENT || tangent;
    const int like = gradient ? of.buffer : other ? vy_image_find(primal, role.of) : -1;
    if (!gradient && !tangent && like < 0)
        return vy_check_bad(c, "%s of %s is neither a gradient nor a cotangent", name, m->p->name);
    const vy_eval_buffer *b = like >= 0 ? &primal->buffers[like] : NULL;
    if (!take_shape(c, m, i, b ? b->shape : one_element, b ? b->rank : 1) || !allocate(c, m, i))
        return false;
    if (tangent) return true; // zeros
    const vy_type own = m->p->buffers.data[vy_program_find_buffer(m->p, name).id].type;
    const vy_eval_buffer *from =
        gradient || seed ? NULL : given(c->q->cotangents, c->q->cotangent_count, name, i);
    if (from && (from->rank != m->buffers[i].rank ||
                 memcmp(from->shape, b->shape, b->rank * sizeof *b->shape) != 0))
        return vy_check_bad(c, "cotangent %s has another shape than its output", name);
    if (from) convert(own, from->data, m->types[i], m->buffers[i].data, m->counts[i]);
    for (uint64_t e = 0; !from && e < m->counts[i]; e++) {
        vy_scalar v = {.f = gradient ? NAN : 1};
        // between −1.5 and 1.5, never near zero
        if (seed && !gradient) {
            const uint64_t r = vy_check_random(seed + e * 0x10001 + i);
            v.f = (0.5 + ldexp((double)(r >> 12), -52)) * (r & 1 ? 1 : -1);
        }
        vy_scalar_write(m->types[i], v, (char *)m->buffers[i].data + e * vy_type_size(m->types[i]));
    }
    return true;
}

bool vy_image_derived(check *c, const image *primal, vy_check_subject s, uint64_t seed, image *m)
{
    if (!begin_image(c, s, primal->wide, m)) return false;
    for (uint32_t i = 0; i < m->count; i++) {
        const vy_derivative_role role = vy_image_role(primal, m, i);
        const bool shared = role.kind == VY_IS_PRIMAL || role.kind == VY_IS_VALUE;
        const int same = shared ? vy_image_find(primal, role.of) : -1;
        if (same < 0) {
            if (!derived_only(c, primal, m, i, seed)) return false;
            continue;
        }
        const vy_eval_buffer *from = &primal->buffers[same];
        if (!take_shape(c, m, i, from->shape, from->rank) || !allocate(c, m, i)) return false;
        if (m->types[i] != primal->types[same])
            return vy_check_bad(c, "%s of %s is of another type than before", from->name,
                                m->p->name);
        if (vy_image_class(m, i) != VY_OUT && m->counts[i])
            memcpy(m->buffers[i].data, from->data, vy_image_bytes(m, i));
    }
    return true;
}

// ----------------------------------------------------------------------------------------- running
bool vy_check_run(check *c, image *m, check_run *run)
{
    vy_eval_options o = {.f64 = m->wide,
                         .subgroup_size = c->q->subgroup_size,
                         .report_races = run->races || run->reports,
                         .report_uninitialised = run->reports,
                         .report_out_of_range = run->reports,
                         .max_steps = c->q->max_steps,
                         .shuffle_seed = run->shuffle_seed};
    memcpy(o.groups, c->q->groups, sizeof o.groups);
    c->r->runs++;
    if (m->pipeline)
        return vy_eval_pipeline_hooked(m->pipeline, m->buffers, m->count, m->scalars,
                                       m->scalar_count, &o, &run->hooks, &run->report, c->d);
    return vy_eval_hooked(m->p, m->buffers, m->count, m->scalars, m->scalar_count, &o, &run->hooks,
                          &run->report, c->d);
}
