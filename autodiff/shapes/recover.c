// SPDX-License-Identifier: MIT
// recover.c: autodiff/shapes.h, the driver and the new program.
//
// Shaders index flat buffers of open length, a[i * K + k].  Nothing that comes later gets far with
// that: which elements two invocations share is a question about products, gathers have no domain,
// and every access is checked against a length that only the device knows.  With the shape declared
// all of them are as in a program that somebody wrote in two dimensions.
//
// What is proved of one buffer may need that scalars are extents of another (below 2³⁰).  That
// holds in the new program if the other gets its shape, so the proof is repeated without those that
// get none, until all that is assumed is declared.
//
// The shape is a promise about the data, and a launch with other data is refused (E0806), as for
// every declared shape.  `--shape a=?` leaves a buffer open.
#include "autodiff/shapes.h"
#include "autodiff/shapes/shapes_build.h"

#include "ir/check/check.h"
#include "ir/pass/pass.h"

#include <string.h>

enum { MOST_ATTEMPTS = 8 };

// ------------------------------------------------------------------------------------- the program
static void declare_shaped(shapes *s, uint32_t i)
{
    const shapes_buffer *b = &s->buffers[i];
    vy_program *p = vy_builder_program(s->w.b);
    vy_buf *buf = &p->buffers.data[i];
    const uint32_t more = b->one ? 0 : b->inner;
    vy_dim *dims = vy_arena_alloc(&p->module->arena, (buf->rank + more) * sizeof *dims);
    if (!dims) {
        s->w.oom = true;
        return;
    }
    for (uint32_t k = 0; k <= more; k++) dims[k] = b->dim[k];
    for (uint32_t k = 1; k <= b->inner && b->one; k++)
        dims[0] = vy_dim_binary(s->w.b, VY_DIM_MUL, dims[0], b->dim[k]);
    for (uint32_t k = 1; k < buf->rank; k++) dims[more + k] = buf->dims[k];
    p->dims.data[buf->dims[0].id] = (vy_dim_node){.op = VY_DIM_CONST}; // it has no other use
    buf->dims = dims;
    buf->rank += more;
}

// The index along an axis: the sum of its terms.
static uint32_t axis_value(shapes *s, const shapes_access *x, uint32_t axis)
{
    vy_builder *b = s->w.b;
    const vy_type t = vy_id_type(s->w.p, vy_arg(s->w.p, x->id, 0));
    vy_value sum = vy_zero(b, t);
    for (uint32_t k = 0; k < x->terms.count; k++) {
        const vy_flat_term *term = &x->terms.term[k];
        if (x->axis[k] != axis) continue;
        vy_value v = vy_int(b, t, term->constant);
        if (term->value) v = vy_mul(b, vy_cast(b, t, (vy_value){vy_new(&s->w, term->value)}), v);
        sum = term->minus ? vy_sub(b, sum, v) : vy_add(b, sum, v);
    }
    return sum.id;
}

static uint32_t access(void *pass, uint32_t id)
{
    shapes *s = pass;
    const vy_inst *i = &s->w.p->insts.data[id];
    if (!s->at[id] || !s->buffers[i->aux].is || s->buffers[i->aux].one) return 0;
    const shapes_access *x = &s->accesses.data[s->at[id] - 1];
    const uint32_t more = s->buffers[i->aux].inner;
    uint32_t *args = vy_rewrite_table(&s->w, (i->nargs + more) * sizeof *args);
    vy_rewrite_at(&s->w, id);
    for (uint32_t k = 0; args && k <= more; k++) args[k] = axis_value(s, x, k);
    for (uint32_t k = 1; args && k < i->nargs; k++) args[more + k] = vy_new_arg(&s->w, id, k);
    if (!args || vy_builder_failed(s->w.b)) return id;
    const uint32_t made =
        vy_emit(s->w.b, (vy_op)i->op, (vy_type)i->type, i->aux, i->nargs + more, args);
    vy_rewrite_as(&s->w, id, made);
    return id;
}

static void rebuild(shapes *s)
{
    const vy_program *p = s->w.p;
    if (!vy_rewrite_open(&s->w)) return;
    for (uint32_t i = 1; i < p->buffers.count; i++)
        if (s->buffers[i].is) declare_shaped(s, i);
    vy_rewrite_range(&s->w, 1, p->insts.count, access, s);
}

// -------------------------------------------------------------------------------------- the driver
static bool any(const shapes *s)
{
    for (uint32_t i = 1; i < s->w.p->buffers.count; i++)
        if (s->buffers[i].is) return true;
    return false;
}

static bool give_all(shapes *s, const vy_define *given, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++) {
        const uint32_t b = vy_program_find_buffer(s->w.p, given[k].name).id;
        if (!b || !s->buffers[b].is) {
            vy_fail(s->w.p->module, VY_E_SHADER_REQUEST, 0, 0,
                    b ? "its length is used, or it is part of a binding" : "see `print`",
                    b ? "the shape of %s is not open" : "it has no buffer %s", given[k].name);
            return false;
        }
        if (!shapes_give(s, b, given[k].value)) return false;
    }
    return true;
}

static void clear(shapes *s)
{
    memset(s->at, 0, s->w.p->insts.count * sizeof *s->at);
    s->accesses.count = 0;
}

// One attempt.  *again: a buffer whose extents were taken to be such gets no shape.
static bool attempt(shapes *s, bool *again)
{
    clear(s);
    bool ok = vy_affine_begin(&s->a, s->w.p, &s->w.s);
    if (ok) {
        shapes_settle(s);
        ok = shapes_read(s);
        shapes_strides(s);
        shapes_bound(s);
        *again = shapes_prove(s);
    }
    return vy_affine_end(&s->a) && ok && !s->w.oom;
}

// Finds the shapes.  False: the module's diag, or memory.
static bool find_shapes(shapes *s, const vy_define *given, uint32_t count)
{
    vy_program *p = s->w.p;
    bool ok = true, again = true;
    s->buffers = vy_rewrite_table(&s->w, p->buffers.count * sizeof *s->buffers);
    s->at = vy_rewrite_ids(&s->w);
    if (!s->buffers || !s->at) return false;
    shapes_candidates(s);
    if (!give_all(s, given, count)) return false;
    if (!any(s)) return true;
    if (!vy_affine_name_scalars(p)) return false;
    for (uint32_t k = 0; again && ok && any(s) && k < MOST_ATTEMPTS; k++) ok = attempt(s, &again);
    for (uint32_t i = 1; i < p->buffers.count && again; i++) {
        s->buffers[i].is &= s->buffers[i].given;
        s->buffers[i].one = true;
    }
    return ok;
}

static bool recover(vy_program *p, const vy_define *given, uint32_t count)
{
    shapes s = {0};
    vy_pass_context c = {0};
    const uint32_t dims = p->dims.count;
    const bool began = vy_rewrite_begin(&s.w, p);
    const bool ok = began && find_shapes(&s, given, count);
    if (ok && any(&s))
        rebuild(&s);
    else
        p->dims.count = dims;
    vy_vec_free(&s.accesses);
    if (!vy_rewrite_end(&s.w, ok || !vy_module_ok(p->module), &c.changed)) return false;
    return !c.changed || (vy_pass_cleanup(p, &c) && vy_pass_dce(p, &c) && vy_check_program(p));
}

bool vy_recover_shapes(vy_module *m, const vy_define *given, uint32_t count)
{
    for (uint32_t k = 0; vy_module_ok(m) && k < m->programs.count; k++)
        recover(m->programs.data[k], given, count);
    return vy_module_ok(m);
}
