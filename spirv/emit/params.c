// SPDX-License-Identifier: MIT
// params.c: the inputs of a kernel: the parameter block, built-ins, extents, the domain.
//
// The block holds every scalar parameter in order of declaration (so its beginning does not depend
// on the body), then hidden fields: extents that are expressions, group bases, group counts.  Only
// fields in use become members of the SPIR-V struct.  Everything is made on demand in the prologue.
#include "spirv/emit/emit.h"
#include "spirv/describe/describe.h"

#include <stdio.h>
#include <string.h>

static const char axis_name[] = "xyz";

// ------------------------------------------------------------------------------------- the fields
static uint32_t clamp_u32(int64_t v)
{
    return v < 0 ? 0 : v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
}

// In a hosted kernel lengths are asked of bindings, and group counts of the device.
static bool symbol_source(const vy_fn *f, const vy_expr *x, vy_emit_extent *e)
{
    if (!f->d->hosted || x->op != VY_EXPR_SYMBOL) return false;
    for (uint32_t axis = 0; axis < 3; axis++)
        if (f->d->group_sym[axis] == x->value + 1) e->groups = axis + 1;
    for (uint32_t b = 1; b < f->p->buffers.count; b++)
        if (f->d->extent_sym[b] == x->value + 1 && vy_has_length(f, b)) e->length_of = b;
    if (e->length_of) f->arrays[e->length_of].measured = true;
    return e->groups || e->length_of;
}

// Where an extent comes from: a constant, a 32-bit scalar as it is, or a field the host computes.
static void extent_source(vy_fn *f, const char *what, uint32_t axis, uint32_t expr,
                          vy_emit_extent *e)
{
    const vy_expr *x = &f->d->exprs.data[expr];
    if (x->op == VY_EXPR_CONST) {
        e->constant = true;
        e->value = clamp_u32(x->value);
        return;
    }
    if (x->op == VY_EXPR_SYMBOL && x->value < f->p->scalars.count) {
        vy_type t = f->p->scalars.data[x->value].type;
        if (t == VY_U32 || t == VY_I32) {
            e->field = (uint32_t)x->value + 1;
            return;
        }
    }
    if (symbol_source(f, x, e)) return;
    char name[96];
    snprintf(name, sizeof name, "_%.60s_%u", what, axis);
    e->field = vy_describe_param(f->d, name, VY_PARAM_EXPR, VY_U32, expr) + 1;
}

static void add_extents(vy_fn *f)
{
    const vy_program *p = f->p;
    for (uint32_t i = 0; i < p->overs.count; i++)
        extent_source(f, p->overs.data[i].name, i, f->d->domain[i], &f->over_extents[i]);
    for (uint32_t b = 1; b < p->buffers.count; b++) {
        const vy_buf *buf = &p->buffers.data[b];
        const vy_mem_facts *use = &f->facts->buffers[b];
        for (uint32_t k = 0; k < buf->rank; k++) {
            bool wanted = use->len_used || ((use->loaded || use->stored) && (k || use->guarded));
            if (wanted)
                extent_source(f, buf->name, k, vy_describe_dim(f->d, buf->dims[k]),
                              &f->arrays[b].extents[k]);
        }
    }
}

// Bindings are numbered as describe.c lists them.  A binding that the code never accesses has a
// field too, so that the caller who binds a slice need not know.
static void add_offset_fields(vy_fn *f)
{
    char name[96];
    for (uint32_t b = 1, binding = 0; f->d->sliced && b < f->p->buffers.count; b++) {
        const vy_buf *buf = &f->p->buffers.data[b];
        if (!vy_is_global(buf->cls)) continue;
        snprintf(name, sizeof name, "_offset_%.80s", buf->name);
        if (f->d->sliced[b])
            f->arrays[b].offset_field =
                vy_describe_param(f->d, name, VY_PARAM_OFFSET, VY_U32, binding) + 1;
        binding++;
    }
}

static void add_group_fields(vy_fn *f)
{
    const vy_program *p = f->p;
    bool base[3] = {0}, count[3] = {0};
    for (uint32_t a = 0; a < 3; a++) base[a] = p->overs.count > a;
    for (uint32_t i = 0; i < p->leaves.count; i++) {
        const vy_leaf *l = &p->leaves.data[i];
        if (l->kind != VY_LEAF_BUILTIN || !f->facts->leaf_used[i] || l->axis > 2) continue;
        base[l->axis] |= l->index == VY_GID || l->index == VY_WID;
        count[l->axis] |= l->index == VY_NUM_GROUPS;
    }
    char name[32];
    if (f->d->hosted) return;
    for (uint32_t a = 0; a < 3; a++) {
        snprintf(name, sizeof name, "_group_base_%c", axis_name[a]);
        if (base[a])
            f->base_field[a] = vy_describe_param(f->d, name, VY_PARAM_GROUP_BASE, VY_U32, a) + 1;
    }
    for (uint32_t a = 0; a < 3; a++) {
        snprintf(name, sizeof name, "_num_groups_%c", axis_name[a]);
        if (count[a])
            f->count_field[a] = vy_describe_param(f->d, name, VY_PARAM_NUM_GROUPS, VY_U32, a) + 1;
    }
}

static vy_type field_type(const vy_fn *f, const vy_kernel_param *param)
{
    return param->kind == VY_PARAM_SCALAR ? f->p->scalars.data[param->index].type : VY_U32;
}

// Type of the member: types without a memory form of their own are passed as u32.
static vy_type member_type(vy_type t) { return t == VY_BOOL || t == VY_F16 ? VY_U32 : t; }

// A scalar that is a length needs no field.
static void use_scalar(vy_fn *f, uint32_t scalar, bool *used)
{
    const uint32_t b = vy_length_of_scalar(f, scalar);
    if (b)
        f->arrays[b].measured = true;
    else
        used[scalar] = true;
}

static void use_extent(vy_fn *f, const vy_emit_extent *e, bool *used)
{
    if (e->field && e->field <= f->p->scalars.count)
        use_scalar(f, e->field - 1, used);
    else if (e->field)
        used[e->field - 1] = true;
}

static void mark_used_fields(vy_fn *f, bool *used)
{
    const vy_program *p = f->p;
    for (uint32_t i = p->scalars.count; i < f->d->params.count; i++) used[i] = true;
    for (uint32_t i = 0; i < p->leaves.count; i++) {
        const vy_leaf *l = &p->leaves.data[i];
        if (l->kind == VY_LEAF_SCALAR && f->facts->leaf_used[i]) use_scalar(f, l->index, used);
    }
    for (uint32_t i = 0; i < p->overs.count; i++) use_extent(f, &f->over_extents[i], used);
    for (uint32_t b = 1; b < p->buffers.count; b++)
        for (uint32_t k = 0; k < p->buffers.data[b].rank; k++)
            use_extent(f, &f->arrays[b].extents[k], used);
}

// -------------------------------------------------------------------------------------- the blocks
// The block of a field: its class, and of uniform ones set and binding.
typedef struct block {
    SpvStorageClass cls;
    vy_place_of place;
} block;

static block block_of(const vy_fn *f, uint32_t field)
{
    const vy_kernel *k = f->d->kernel;
    const vy_kernel_param *param = &f->d->params.data[field];
    if (!vy_describe_is_given(f->d, param))
        return (block){f->param_class, {k->param_set, k->param_binding}};
    const vy_layout *l = &f->p->scalars.data[param->index].layout;
    return l->uniform ? (block){SpvStorageClassUniform, {l->set, l->binding}}
                      : (block){SpvStorageClassPushConstant, {VY_NO_BINDING, VY_NO_BINDING}};
}

static bool same_block(block a, block b)
{
    return a.cls == b.cls && a.place.set == b.place.set && a.place.binding == b.place.binding;
}

static void add_member(vy_fn *f, uint32_t field, uint32_t type, vy_words *types)
{
    vy_spv *m = f->m;
    const vy_kernel_param *param = &f->d->params.data[field];
    uint32_t head[] = {type, types->count - 1}; // types->data[0] is the struct itself
    f->members[field] = head[1];
    if (!vy_vec_push(types, vy_spv_type(m, member_type(field_type(f, param))))) m->oom = true;
    VY_PUT(m, &m->sections[VY_SEC_ANNOTATIONS], SpvOpMemberDecorate, head[0], head[1],
           SpvDecorationOffset, param->offset);
    if (!m->options->strip)
        vy_spv_put_text(m, &m->sections[VY_SEC_NAMES], SpvOpMemberName, 2, head, param->name, 0,
                        NULL);
}

static void decorate_block(vy_fn *f, block b, uint32_t type, uint32_t var)
{
    vy_spv *m = f->m;
    VY_DECORATE(m, type, SpvDecorationBlock);
    vy_spv_name(m, type, "parameters");
    vy_spv_name(m, var, "params");
    vy_interface(f, var);
    if (b.place.set == VY_NO_BINDING) return;
    VY_DECORATE(m, var, SpvDecorationDescriptorSet, b.place.set);
    VY_DECORATE(m, var, SpvDecorationBinding, b.place.binding);
    if (b.cls == SpvStorageClassStorageBuffer) VY_DECORATE(m, var, SpvDecorationNonWritable);
}

// The block that field `first` is in, with all others of it.
static void declare_block(vy_fn *f, uint32_t first, const bool *used)
{
    vy_spv *m = f->m;
    const block b = block_of(f, first);
    const uint32_t type = vy_spv_id(m), var = vy_spv_id(m);
    vy_words types = {0};
    if (!vy_vec_push(&types, type)) m->oom = true;
    for (uint32_t i = first; i < f->d->params.count && !m->oom; i++) {
        if (!used[i] || f->blocks[i] || !same_block(block_of(f, i), b)) continue;
        add_member(f, i, type, &types);
        f->blocks[i] = var;
    }
    if (!m->oom) {
        vy_spv_put(m, &m->sections[VY_SEC_GLOBALS], SpvOpTypeStruct, types.count, types.data);
        VY_GLOBAL(m, SpvOpVariable, vy_spv_pointer(m, b.cls, type), var, (uint32_t)b.cls);
        decorate_block(f, b, type, var);
    }
    vy_vec_free(&types);
}

// Push constants if there is room, which a host's must not be added to: pipelines with other ranges
// of them cannot share its descriptor sets.
static void place_block(vy_fn *f)
{
    vy_kernel *k = f->d->kernel;
    const uint32_t max = f->m->options->max_push_bytes;
    const bool push =
        f->d->hosted ? f->d->param_bytes == 0 : f->d->param_bytes <= (max ? max : 128);
    const vy_place_of none = {VY_NO_BINDING, VY_NO_BINDING};
    const vy_place_of place = push ? none : vy_describe_next_place(f->d);
    f->param_class = push ? SpvStorageClassPushConstant : SpvStorageClassStorageBuffer;
    k->param_set = place.set;
    k->param_binding = place.binding;
}

void vy_params_declare(vy_fn *f)
{
    vy_describe *d = f->d;
    for (uint32_t i = 0; i < f->p->scalars.count; i++) {
        const uint32_t before = d->param_bytes;
        vy_describe_param(d, f->p->scalars.data[i].name, VY_PARAM_SCALAR,
                          f->p->scalars.data[i].type, i);
        if (d->oom || !vy_length_of_scalar(f, i)) continue;
        d->params.data[i].size = 0; // no field
        d->param_bytes = before;
    }
    add_extents(f);
    add_offset_fields(f);
    add_group_fields(f);
    // One block of memory for tables by field: values, members, blocks, and which are used.
    uint32_t n = d->params.count;
    f->params = vy_realloc(NULL, (n + 1) * (3 * sizeof *f->params + sizeof(bool)));
    if (d->oom || !f->params) {
        f->m->oom = true;
        return;
    }
    memset(f->params, 0, (n + 1) * (3 * sizeof *f->params + sizeof(bool)));
    f->members = f->params + n + 1;
    f->blocks = f->members + n + 1;
    bool *used = (bool *)(f->blocks + n + 1);
    mark_used_fields(f, used);
    place_block(f);
    for (uint32_t i = 0; i < n && !f->m->oom; i++)
        if (used[i] && !f->blocks[i]) declare_block(f, i, used);
}

// Value of a field, loaded once, in the prologue.
uint32_t vy_param_id(vy_fn *f, uint32_t field)
{
    if (f->m->oom) return 1;
    if (f->params[field]) return f->params[field];
    const uint32_t scalars = f->p->scalars.count;
    const uint32_t measured = field < scalars ? vy_length_of_scalar(f, field) : 0;
    if (measured) return f->params[field] = vy_length_id(f, measured);
    vy_spv *m = f->m;
    vy_words *out = f->out;
    f->out = &f->prologue;
    const vy_kernel_param *param = &f->d->params.data[field];
    vy_type type = field_type(f, param), member = member_type(type);
    uint32_t t = vy_spv_type(m, member);
    uint32_t pointer = VY_DO(f, SpvOpAccessChain, vy_spv_pointer(m, block_of(f, field).cls, t),
                             f->blocks[field], vy_spv_u32(m, f->members[field]));
    uint32_t v = VY_DO(f, SpvOpLoad, t, pointer);
    if (type == VY_BOOL) v = VY_DO(f, SpvOpINotEqual, vy_bool_type(f), v, vy_spv_u32(m, 0));
    if (type == VY_F16) v = vy_half_of_word(f, v, vy_spv_u32(m, 0));
    if (param->kind == VY_PARAM_SCALAR) vy_spv_name(m, v, param->name);
    f->out = out;
    return f->params[field] = v;
}
