// SPDX-License-Identifier: MIT
// explain_result.c: gradients, adjoints and storage, as the optimised result shows them.
//
// What a gradient is added up with is what the result does, not what was planned: passes turn atomic
// additions into plain ones (ir/owner.c) and plain ones into stores (ir/promote.c, ir/forward.c).
#include "explain_build.h"

#include <stdlib.h>
#include <string.h>

// ------------------------------------------------------------------------------------- what is what
static int by_name(const void *a, const void *b)
{
    return strcmp(((const explain_name *)a)->name, ((const explain_name *)b)->name);
}

uint32_t vy_explain_find(const explaining *x, const char *name)
{
    const explain_name key = {.name = name};
    if (!name) return 0;
    const explain_name *n =
        bsearch(&key, x->names, x->result->buffers.count, sizeof *x->names, by_name);
    return n ? n->id : 0;
}

void vy_explain_index(explaining *x)
{
    const notes *n = &x->notes;
    uint32_t count = x->result->buffers.count;
    x->names = vy_explain_array(x, count, sizeof *x->names);
    x->roles = vy_explain_array(x, count, sizeof *x->roles);
    if (x->failed) return;
    for (uint32_t i = 0; i < count; i++) {
        x->names[i] = (explain_name){i ? x->result->buffers.data[i].name : "", i};
        x->roles[i].kind = VY_WORK_OTHER;
    }
    qsort(x->names, count, sizeof *x->names, by_name);
    for (uint32_t i = 0; i < n->values.count; i++) {
        explain_role *r = &x->roles[vy_explain_find(x, n->values.data[i].tape)];
        r->kind = VY_WORK_TAPE;
        r->values++;
    }
    for (uint32_t i = 0; i < n->buffers.count; i++) {
        const note_buffer *b = &n->buffers.data[i];
        bool same = b->copy && strcmp(b->copy, b->name) == 0;
        x->roles[vy_explain_find(x, b->adjoint_name)] = (explain_role){VY_WORK_ADJOINT, b->name, 0};
        x->roles[vy_explain_find(x, b->copy)] =
            (explain_role){same ? VY_WORK_CONTENTS : VY_WORK_COPY, b->name, 0};
    }
}

// --------------------------------------------------------------------------------------- gradients
static bool is_over(const vy_program *p, uint32_t id, uint32_t variable)
{
    if (!VY_IS_LEAF(id)) return false;
    const vy_leaf *l = &p->leaves.data[VY_LEAF_INDEX(id)];
    return l->kind == VY_LEAF_OVER && l->index == variable;
}

// The first domain variable that is on no axis in every access, and the access that shows it: the
// proof of ir/owner.c, told where it fails.
static void why_atomic(const explaining *x, uint32_t buffer, vy_explain_gradient *g)
{
    const vy_program *p = x->result;
    for (uint32_t v = 0; v < p->overs.count; v++) {
        uint32_t axes = UINT32_MAX, line = 0;
        for (uint32_t id = 1; id < p->insts.count && axes; id++) {
            const vy_inst *i = &p->insts.data[id];
            uint32_t here = 0;
            if (!vy_op_is_memory((vy_op)i->op) || i->aux != buffer) continue;
            for (uint32_t k = 0; k < p->buffers.data[buffer].rank; k++)
                if (is_over(p, vy_arg(p, id, k), v)) here |= 1u << k;
            axes &= here;
            if (!axes) line = i->line;
        }
        if (axes) continue;
        g->variable = p->overs.data[v].name;
        g->line = line;
        return;
    }
}

static void how_summed(const explaining *x, uint32_t buffer, vy_explain_gradient *g)
{
    const vy_program *p = x->result;
    bool loads = false, atomic = false, owned = false;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        vy_op op = (vy_op)i->op;
        if (!vy_op_is_memory(op) || i->aux != buffer) continue;
        loads |= op == VY_OP_LOAD;
        g->places += op != VY_OP_LOAD;
        atomic |= vy_op_is_atomic(op) && !(i->flags & VY_FLAG_OWNED);
        owned |= vy_op_is_atomic(op);
    }
    g->sum = !g->places       ? VY_SUM_ZERO
             : atomic         ? VY_SUM_ATOMIC
             : owned || loads ? VY_SUM_ADD
                              : VY_SUM_STORE;
}

void vy_explain_gradients(explaining *x)
{
    const notes *n = &x->notes;
    vy_explain_gradient *list = vy_explain_array(x, n->gradients.count, sizeof *list);
    for (uint32_t i = 0; list && i < n->gradients.count; i++) {
        const note_gradient *note = &n->gradients.data[i];
        uint32_t id = vy_explain_find(x, note->name);
        const vy_buf *b = &x->result->buffers.data[id];
        vy_explain_gradient *g = &list[i];
        *g =
            (vy_explain_gradient){.name = note->name, .of = note->of, .start = "zero", .shape = ""};
        if (!id) continue;
        g->type = b->type;
        g->shape = vy_explain_shape(x, x->result, id);
        if (b->init == VY_INIT_ONES) g->start = "ones";
        if (b->init == VY_INIT_COPY) g->start = vy_explain_text(x, b->init_from);
        how_summed(x, id, g);
        if (g->sum == VY_SUM_ATOMIC) why_atomic(x, id, g);
        if (g->variable) g->variable = vy_explain_text(x, g->variable);
    }
    x->e->gradients = list;
    x->e->gradient_count = n->gradients.count;
}

// ----------------------------------------------------------------------------------------- adjoints
void vy_explain_buffers(explaining *x)
{
    const notes *n = &x->notes;
    vy_explain_buffer *list = vy_explain_array(x, n->buffers.count, sizeof *list);
    uint32_t count = 0;
    for (uint32_t i = 0; list && i < n->buffers.count; i++) {
        const note_buffer *note = &n->buffers.data[i];
        uint32_t id = vy_program_find_buffer(x->forward, note->name).id;
        // Arrays that optimisation made values of are in neither program any more.
        if (!id) continue;
        const vy_buf *b = &x->forward->buffers.data[id];
        list[count++] = (vy_explain_buffer){.name = note->name,
                                            .cls = b->cls,
                                            .type = b->type,
                                            .shape = vy_explain_shape(x, x->forward, id),
                                            .adjoint = note->adjoint,
                                            .adjoint_name = note->adjoint_name};
        if (note->adjoint == VY_ADJOINT_ARRAY && !vy_explain_find(x, note->adjoint_name))
            list[count - 1].adjoint_name = NULL; // its elements are values now
    }
    x->e->buffers = list;
    x->e->buffer_count = count;
}

// ------------------------------------------------------------------------------------------- bytes
typedef struct bytes {
    vy_poly each, all;
    bool per_invocation;
} bytes;

// The last axes of a workspace are the domain's: element for element an invocation's own.
static bytes bytes_of(const explaining *x, uint32_t id)
{
    vy_count *c = &x->memory->gradient;
    const vy_program *p = x->result;
    const vy_buf *b = &p->buffers.data[id];
    uint32_t n = p->overs.count, own = b->rank >= n ? b->rank - n : 0;
    int64_t size = vy_type_size(b->type);
    bytes r = {.per_invocation = n > 0 && b->rank >= n};
    for (uint32_t k = 0; k < n && r.per_invocation; k++) {
        vy_poly d = vy_poly_sub(&c->space, c->dims[b->dims[own + k].id],
                                c->dims[p->overs.data[k].extent.id]);
        r.per_invocation = d.count == 0;
    }
    r.all = vy_poly_scale(&c->space, vy_count_extent(c, b, 0, b->rank), size, 1);
    if (r.per_invocation) r.each = vy_poly_scale(&c->space, vy_count_extent(c, b, 0, own), size, 1);
    return r;
}

static void explain_workspaces(explaining *x)
{
    const vy_program *p = x->result;
    vy_count *c = &x->memory->gradient;
    vy_poly tape_each = {0}, tape_all = {0}, all = {0};
    vy_explain_workspace *list = vy_explain_array(x, p->buffers.count, sizeof *list);
    uint32_t count = 0;
    for (uint32_t i = 1; list && i < p->buffers.count; i++) {
        const vy_buf *b = &p->buffers.data[i];
        if (!b->workspace) continue;
        bytes n = bytes_of(x, i);
        vy_explain_workspace *w = &list[count++];
        *w = (vy_explain_workspace){.name = vy_explain_text(x, b->name),
                                    .type = b->type,
                                    .shape = vy_explain_shape(x, p, i),
                                    .per_invocation = n.per_invocation,
                                    .each = vy_count_amount(c, n.each),
                                    .all = vy_count_amount(c, n.all)};
        w->kind = x->roles[i].kind;
        w->of = x->roles[i].of;
        all = vy_poly_add(&c->space, all, n.all);
        if (w->kind != VY_WORK_TAPE) continue;
        tape_each = vy_poly_add(&c->space, tape_each, n.each);
        tape_all = vy_poly_add(&c->space, tape_all, n.all);
    }
    x->e->workspaces = list;
    x->e->workspace_count = count;
    x->e->tape_each = vy_count_amount(c, tape_each);
    x->e->tape_all = vy_count_amount(c, tape_all);
    x->e->work_all = vy_count_amount(c, all);
}

static void explain_values(explaining *x)
{
    const notes *n = &x->notes;
    vy_count *c = &x->memory->gradient;
    vy_explain_value *list = vy_explain_array(x, n->values.count, sizeof *list);
    uint32_t count = 0;
    for (uint32_t i = 0; list && i < n->values.count; i++) {
        const note_value *v = &n->values.data[i];
        uint32_t tape = vy_explain_find(x, v->tape);
        if (!tape) continue; // optimisation found that nothing reads it
        int64_t share = x->roles[tape].values;
        bytes b = bytes_of(x, tape);
        list[count++] =
            (vy_explain_value){.name = v->name,
                               .from = v->from,
                               .line = v->line,
                               .type = v->type,
                               .tape = v->tape,
                               .loop = v->loop,
                               .loop_line = v->loop_line,
                               .why = v->why,
                               .each =
                                   vy_count_amount(c, vy_poly_scale(&c->space, b.each, 1, share)),
                               .all =
                                   vy_count_amount(c, vy_poly_scale(&c->space, b.all, 1, share))};
    }
    x->e->values = list;
    x->e->value_count = count;
}

void vy_explain_storage(explaining *x)
{
    explain_workspaces(x);
    explain_values(x);
}
