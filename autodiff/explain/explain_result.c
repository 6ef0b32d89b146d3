// SPDX-License-Identifier: MIT
// explain_result.c: gradients, adjoints and storage, as the optimised result shows them.
//
// How a gradient is summed is read from the result, not from the plan: passes convert atomic
// additions to plain ones (ir/pass/sums/mark_owned.c) and plain ones to stores
// (ir/pass/sums/promote.c, ir/pass/scalar/forward.c).
#include "autodiff/explain/explain_build.h"

#include <stdlib.h>
#include <string.h>

// ------------------------------------------------------------------------------------ what is what
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
        x->roles[vy_explain_find(x, b->mask)] = (explain_role){VY_WORK_MASK, b->name, 0};
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

// The first domain variable for which no axis has it as index in every access, and the access that
// shows it: where the proof of ir/pass/sums/mark_owned.c fails.
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

vy_sum_kind vy_explain_sum(const vy_program *p, uint32_t buffer, uint32_t *places)
{
    bool loads = false, atomic = false, owned = false;
    *places = 0;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        vy_op op = (vy_op)i->op;
        if (!vy_op_is_memory(op) || i->aux != buffer) continue;
        loads |= op == VY_OP_LOAD;
        *places += op != VY_OP_LOAD;
        atomic |= vy_strength_of(p, id) == VY_STRENGTH_ATOMIC;
        owned |= vy_strength_of(p, id) == VY_STRENGTH_OWNED;
    }
    return !*places         ? VY_SUM_ZERO
           : atomic         ? VY_SUM_ATOMIC
           : owned || loads ? VY_SUM_ADD
                            : VY_SUM_STORE;
}

vy_sum_kind vy_explain_ordered_kind(const vy_program *p)
{
    for (uint32_t b = 1; b < p->buffers.count; b++) {
        const vy_buf *from = &p->buffers.data[b];
        if (from->cls != VY_IN) continue;
        if (from->made == VY_MADE_SUMS) return from->type == VY_F32 ? VY_SUM_WIDE : VY_SUM_EXACT;
        if (from->made == VY_MADE_PARTS) return VY_SUM_TERMS;
    }
    return VY_SUM_ZERO;
}

// The step that writes a buffer first: with what @init says.
static const vy_program *writer_of(const explaining *x, const char *name)
{
    for (uint32_t i = 0; i < x->derived->programs.count; i++) {
        const vy_program *p = x->derived->programs.data[i];
        uint32_t own = vy_program_find_buffer(p, name).id;
        for (uint32_t id = 1; own && id < p->insts.count; id++)
            if (p->insts.data[id].aux == own &&
                vy_op_infos[p->insts.data[id].op].effect == VY_WRITE)
                return p;
    }
    return x->result;
}

static void explain_gather(explaining *x, vy_explain_gradient *g)
{
    const vy_gather_note *n = NULL;
    for (uint32_t k = 0; k < x->gathers.notes.count; k++)
        if (strcmp(x->gathers.notes.data[k].buffer, g->name) == 0) n = &x->gathers.notes.data[k];
    if (!n) return;
    if (n->gathered) g->sum = n->gathered == n->sites ? VY_SUM_GATHER : VY_SUM_BOTH;
    if (n->owned) g->sum = VY_SUM_ADD;
    g->program = n->program;
    g->tree = n->tree;
    g->assumes = n->assumes;
    g->otherwise = n->otherwise;
    g->map = n->map;
    if (!n->sites && g->sum != VY_SUM_ATOMIC) return; // its elements are plainly one invocation's
    g->why = n->why;
    g->why_line = n->line;
}

static void explain_gradient(explaining *x, const note_gradient *note, vy_explain_gradient *g)
{
    *g = (vy_explain_gradient){.name = note->name, .of = note->of, .start = "zero", .shape = ""};
    const vy_program *p = writer_of(x, note->name);
    uint32_t id = vy_program_find_buffer(p, note->name).id;
    if (!id && x->signature) { // no step has it
        p = x->signature;
        id = vy_program_find_buffer(p, note->name).id;
    }
    if (!id) return;
    const vy_buf *b = &p->buffers.data[id];
    g->type = b->type;
    g->shape = vy_explain_shape(x, p, id);
    if (b->init == VY_INIT_ONES) g->start = "ones";
    if (b->init == VY_INIT_COPY) g->start = vy_explain_text(x, b->init_from);
    g->sum = vy_explain_sum(p, id, &g->places);
    if (g->sum == VY_SUM_ATOMIC && p == x->result) why_atomic(x, id, g);
    if (g->variable) g->variable = vy_explain_text(x, g->variable);
    explain_gather(x, g);
}

void vy_explain_gradients(explaining *x)
{
    const notes *n = &x->notes;
    vy_explain_gradient *list = vy_explain_array(x, n->gradients.count, sizeof *list);
    for (uint32_t i = 0; list && i < n->gradients.count; i++)
        explain_gradient(x, &n->gradients.data[i], &list[i]);
    x->e->gradients = list;
    x->e->gradient_count = n->gradients.count;
}

// ---------------------------------------------------------------------------------------- adjoints
// A parameter or an array, local ones too; 0: none.
static uint32_t named(const vy_program *p, const char *name)
{
    uint32_t i = p->buffers.count;
    while (--i && strcmp(p->buffers.data[i].name, name) != 0) {}
    return i;
}

void vy_explain_buffers(explaining *x)
{
    const notes *n = &x->notes;
    vy_explain_buffer *list = vy_explain_array(x, n->buffers.count, sizeof *list);
    uint32_t count = 0;
    for (uint32_t i = 0; list && i < n->buffers.count; i++) {
        const note_buffer *note = &n->buffers.data[i];
        uint32_t id = named(x->forward, note->name);
        // Arrays that optimisation replaced by values are in neither program any more.
        if (!id) continue;
        const vy_buf *b = &x->forward->buffers.data[id];
        list[count++] = (vy_explain_buffer){.name = note->name,
                                            .cls = b->cls,
                                            .type = b->type,
                                            .shape = vy_explain_shape(x, x->forward, id),
                                            .adjoint = note->adjoint,
                                            .adjoint_name = note->adjoint_name,
                                            .rewound = note->rewound};
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

// A workspace whose last axes are those of the domain has elements for each invocation.
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
    r.all = vy_poly_scale(&c->space, vy_count_extent(c, c->dims, b, 0, b->rank), size, 1);
    if (r.per_invocation)
        r.each = vy_poly_scale(&c->space, vy_count_extent(c, c->dims, b, 0, own), size, 1);
    return r;
}

// Is it allocated by whoever runs the result?  Of several steps, all that the caller does not see.
static bool is_hidden(const explaining *x, const vy_buf *b)
{
    if (!vy_is_global(b->cls) || !x->signature || b->workspace) return b->workspace;
    uint32_t same = vy_program_find_buffer(x->signature, b->name).id;
    return !same || x->signature->buffers.data[same].workspace;
}

typedef struct totals {
    vy_poly tape_each, tape_all, all;
} totals;

static void add_workspace(explaining *x, const vy_program *p, uint32_t id, bytes n,
                          explain_role role, totals *t)
{
    vy_count *c = &x->memory->gradient;
    const vy_buf *b = &p->buffers.data[id];
    vy_explain_workspace *w = (vy_explain_workspace *)&x->e->workspaces[x->e->workspace_count++];
    *w = (vy_explain_workspace){.name = vy_explain_text(x, b->name),
                                .of = role.of,
                                .kind = role.kind,
                                .type = b->type,
                                .shape = vy_explain_shape(x, p, id),
                                .per_invocation = n.per_invocation,
                                .each = vy_count_amount(c, n.each),
                                .all = vy_count_amount(c, n.all)};
    t->all = vy_poly_add(&c->space, t->all, n.all);
    if (role.kind != VY_WORK_TAPE) return;
    t->tape_each = vy_poly_add(&c->space, t->tape_each, n.each);
    t->tape_all = vy_poly_add(&c->space, t->tape_all, n.all);
}

static void explain_workspaces(explaining *x)
{
    const vy_program *p = x->result, *g = x->signature;
    vy_count *c = &x->memory->gradient;
    totals t = {0};
    size_t most = p->buffers.count + (g ? g->buffers.count : 0);
    x->e->workspaces = vy_explain_array(x, most, sizeof *x->e->workspaces);
    if (!x->e->workspaces) return;
    for (uint32_t i = 1; i < p->buffers.count; i++)
        if (is_hidden(x, &p->buffers.data[i]))
            add_workspace(x, p, i, bytes_of(x, i), x->roles[i], &t);
    for (uint32_t i = 1; g && i < g->buffers.count; i++) { // what other steps pass on
        const vy_buf *b = &g->buffers.data[i];
        if (!b->workspace || vy_explain_find(x, b->name)) continue;
        vy_poly n = vy_count_extent(c, x->signature_dims, b, 0, b->rank);
        bytes all = {.all = vy_poly_scale(&c->space, n, vy_type_size(b->type), 1)};
        add_workspace(x, g, i, all, (explain_role){.kind = VY_WORK_OTHER}, &t);
    }
    x->e->tape_each = vy_count_amount(c, t.tape_each);
    x->e->tape_all = vy_count_amount(c, t.tape_all);
    x->e->work_all = vy_count_amount(c, t.all);
    x->work = t.all;
}

void vy_explain_ordered(explaining *x, const vy_program *signature, const vy_poly *dims)
{
    vy_explanation *e = x->e;
    vy_count *c = &x->memory->gradient;
    const uint32_t had = e->workspace_count;
    totals t = {.all = x->work};
    vy_explain_workspace *list = vy_explain_array(x, had + signature->buffers.count, sizeof *list);
    if (!list) return;
    for (uint32_t i = 0; i < had; i++) list[i] = e->workspaces[i];
    e->workspaces = list;
    for (uint32_t i = 1; i < signature->buffers.count; i++) {
        const vy_buf *b = &signature->buffers.data[i];
        bool listed = !b->workspace;
        for (uint32_t k = 0; k < had && !listed; k++) listed = !strcmp(list[k].name, b->name);
        if (listed) continue;
        vy_poly n = vy_count_extent(c, dims, b, 0, b->rank);
        bytes all = {.all = vy_poly_scale(&c->space, n, vy_type_size(b->type), 1)};
        add_workspace(x, signature, i, all, (explain_role){.kind = VY_WORK_OTHER}, &t);
    }
    e->work_all = vy_count_amount(c, t.all);
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
                               .per_invocation = b.per_invocation,
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
