// SPDX-License-Identifier: MIT
// request.c: which outputs are differentiated with respect to which inputs.
#include "autodiff/core/reverse.h"
#include "autodiff/reverse/sweeps.h"

#include <stdio.h>
#include <string.h>

// May it be named as an output, or as an input?
static bool is_requestable(const vy_buf *b, bool output)
{
    if (b->workspace) return false;
    return b->cls == VY_INOUT || b->cls == (output ? VY_OUT : VY_IN);
}

static void name_list(const vy_program *p, bool outputs, char *text, size_t size)
{
    size_t n = 0;
    text[0] = 0;
    for (uint32_t i = 1; i < p->buffers.count && n < size; i++) {
        const vy_buf *b = &p->buffers.data[i];
        if (is_requestable(b, outputs) && vy_type_is_float(b->type))
            n += (size_t)snprintf(text + n, size - n, "%s%s", n ? ", " : "", b->name);
    }
}

static uint32_t find_parameter(reverse *r, const char *name, bool output)
{
    char list[200], fix[260];
    const char *what = output ? "output" : "input";
    uint32_t id = vy_program_find_buffer(r->p, name).id;
    const vy_buf *buf = &r->p->buffers.data[id];
    bool fits = id && is_requestable(buf, output);
    name_list(r->p, output, list, sizeof list);
    snprintf(fix, sizeof fix,
             *list ? "the program's float %ss are: %s" : "the program has no float %ss%s", what,
             list);
    if (!fits)
        vy_reverse_fail(r, VY_E_BUFFER_NOT_FOUND, 0, fix, "program `%s` has no %s `%s`", r->p->name,
                        what, name);
    else if (!vy_type_is_float(buf->type))
        vy_reverse_fail(r, VY_E_NOT_DIFFERENTIABLE, 0, fix,
                        "%s `%s` holds %s; only floats have derivatives", what, name,
                        vy_type_name(buf->type));
    return r->failed ? 0 : id;
}

// A float scalar parameter named in wrt: marks its leaf (there is none if it is never used).
static bool choose_scalar(reverse *r, const char *name)
{
    for (uint32_t i = 0; i < r->p->scalars.count; i++) {
        const vy_scalar_param *s = &r->p->scalars.data[i];
        if (strcmp(s->name, name) != 0) continue;
        if (!vy_type_is_float(s->type)) {
            vy_reverse_fail(r, VY_E_NOT_DIFFERENTIABLE, 0, NULL,
                            "scalar `%s` is of type %s; only floats have derivatives", name,
                            vy_type_name(s->type));
            return true;
        }
        for (uint32_t k = 0; k < r->p->leaves.count; k++) {
            const vy_leaf *l = &r->p->leaves.data[k];
            if (l->kind != VY_LEAF_SCALAR || l->index != i) continue;
            r->facts.leaf_wrt[k] = 1;
        }
        return true;
    }
    return false;
}

// Is the scalar named in wrt?  (An unused one has no leaf, so its name is the only trace.)
static bool is_requested(const vy_grad_options *o, const char *name)
{
    for (uint32_t k = 0; o->wrt && k < o->wrt_count; k++)
        if (strcmp(o->wrt[k], name) == 0) return true;
    return false;
}

// An input whose gradient is added to the contents of the caller's buffer.  That of an `inout` is
// the sum of these contents and the gradient of what x begins as; its cotangent is apart from it.
static void choose_added(reverse *r, const char *name)
{
    const uint32_t id = vy_program_find_buffer(r->p, name).id;
    const uint32_t s = id ? UINT32_MAX : vy_program_find_scalar(r->p, name);
    if (id ? !r->facts.buffers[id].wrt : !is_requested(r->options, name))
        vy_reverse_fail(r, VY_E_BUFFER_NOT_FOUND, 0, "name it in `wrt` too",
                        "no gradient of `%s` is requested that could be added to", name);
    // Of an inout the adjoint begins as the cotangent.  (A program that is none of a host is
    // differentiated as a pipeline then, driver/starts_meet.c.)
    const bool behind = id && r->p->buffers.data[id].cls == VY_INOUT;
    if (behind && !r->p->host)
        vy_reverse_fail(r, VY_E_INTERNAL, 0, NULL, "the gradient of `%s` is added in a program",
                        name);
    if (id) r->facts.buffers[id].kept = !behind;
    if (id) r->facts.buffers[id].behind = behind;
    for (uint32_t k = 0; k < r->p->leaves.count && !id; k++) {
        const vy_leaf *l = &r->p->leaves.data[k];
        if (l->kind == VY_LEAF_SCALAR && l->index == s) r->facts.leaf_wrt[k] = 2;
    }
}

void vy_reverse_choose(reverse *r, const vy_program *source)
{
    const vy_grad_options *o = r->options;
    for (uint32_t i = 1; i < r->p->buffers.count; i++) {
        // The defaults are those of the program as written: simplifying may have removed a write or
        // an array, and rewriting added one, so numbers differ.
        const vy_buffer own = vy_program_find_buffer(source, r->p->buffers.data[i].name);
        if (!own.id || !vy_is_global(r->p->buffers.data[i].cls)) continue;
        r->facts.buffers[i].of = !o->of && vy_grad_default_of(source, own);
        r->facts.buffers[i].wrt = !o->wrt && vy_grad_default_wrt(source, own);
    }
    for (uint32_t k = 0; o->of && k < o->of_count && !r->failed; k++)
        r->facts.buffers[find_parameter(r, o->of[k], true)].of = true;
    for (uint32_t k = 0; o->wrt && k < o->wrt_count && !r->failed; k++)
        if (!choose_scalar(r, o->wrt[k]))
            r->facts.buffers[find_parameter(r, o->wrt[k], false)].wrt = true;
    for (uint32_t k = 0; k < o->add_count && !r->failed; k++) choose_added(r, o->add[k]);
    bool any_of = false;
    for (uint32_t i = 1; i < r->p->buffers.count; i++) {
        buffer_facts *f = &r->facts.buffers[i];
        any_of |= f->of;
        if (o->in_place && o->seed_buffer && f->of && f->wrt && !f->behind &&
            r->p->buffers.data[i].cls == VY_INOUT)
            f->kept = true;
    }
    if (!any_of && !r->failed)
        vy_reverse_fail(r, VY_E_NOT_DIFFERENTIABLE, 0, "give the program a float `out` buffer",
                        "program `%s` has no float output to differentiate", r->p->name);
    // A tangent of an inout input takes the place of that of its first contents, requested or not.
    for (uint32_t i = 1; r->forward && i < r->p->buffers.count; i++)
        if (r->facts.buffers[i].wrt && r->p->buffers.data[i].cls == VY_INOUT)
            r->facts.buffers[i].of = true;
}
