// SPDX-License-Identifier: MIT
// declare.c: what a program declares: dimensions, parameters, arrays, its domain and workgroup.
#include "ir/build/build.h"
#include "ir/build/edit.h"
#include "ir/core/dims.h"

#include <string.h>

// -------------------------------------------------------------------------------------- dimensions
static vy_dim dim_node(vy_builder *b, vy_dim_node node)
{
    if (vy_builder_failed(b)) return (vy_dim){0};
    if (!vy_vec_push(&b->p->dims, node)) {
        vy_build_oom(b);
        return (vy_dim){0};
    }
    return (vy_dim){b->p->dims.count - 1};
}

vy_dim vy_dim_const(vy_builder *b, int64_t value)
{
    return dim_node(b, (vy_dim_node){.op = VY_DIM_CONST, .value = value});
}

vy_dim vy_dim_step(vy_builder *b, uint32_t step)
{
    return dim_node(b, (vy_dim_node){.op = VY_DIM_STEP, .value = step});
}

vy_dim vy_dim_groups(vy_builder *b, uint32_t axis)
{
    if (!vy_builder_failed(b) && axis > 2) {
        vy_build_fail(b, VY_E_API, "vy_dim_groups: axis %u", axis);
        return (vy_dim){0};
    }
    return dim_node(b, (vy_dim_node){.op = VY_DIM_GROUPS, .value = axis});
}

vy_dim vy_dim_unknown(vy_builder *b) { return dim_node(b, (vy_dim_node){.op = VY_DIM_UNKNOWN}); }

vy_dim vy_dim_value(vy_builder *b, vy_value v)
{
    if (vy_builder_failed(b)) return (vy_dim){0};
    const vy_leaf *l =
        VY_IS_LEAF(v.id) && vy_visible(b, v.id) ? &b->p->leaves.data[VY_LEAF_INDEX(v.id)] : NULL;
    bool integer = l && vy_type_is_integer((vy_type)l->type);
    if (integer && l->kind == VY_LEAF_SCALAR)
        return dim_node(b, (vy_dim_node){.op = VY_DIM_SCALAR, .value = l->index});
    if (integer && l->kind == VY_LEAF_CONST) return vy_dim_const(b, l->value.i);
    vy_build_fail(b, VY_E_API, "vy_dim_value: not an integer scalar parameter or constant");
    return (vy_dim){0};
}

vy_dim vy_dim_binary(vy_builder *b, vy_dim_op op, vy_dim x, vy_dim y)
{
    if (vy_builder_failed(b)) return (vy_dim){0};
    uint32_t n = b->p->dims.count;
    if (op < VY_DIM_ADD || op > VY_DIM_SQRT || !x.id || !y.id || x.id >= n || y.id >= n) {
        vy_build_fail(b, VY_E_API, "vy_dim_binary: bad operation or operand");
        return (vy_dim){0};
    }
    const vy_dim_node *dx = &b->p->dims.data[x.id], *dy = &b->p->dims.data[y.id];
    if ((op == VY_DIM_ADD || op == VY_DIM_SUB) && dy->op == VY_DIM_CONST && dy->value == 0)
        return x;
    vy_dim_node node = {.op = op, .a = x.id, .b = y.id};
    int64_t v;
    bool folds = dx->op == VY_DIM_CONST && dy->op == VY_DIM_CONST;
    if (folds && node.op == VY_DIM_ADD)
        folds = !__builtin_add_overflow(dx->value, dy->value, &v);
    else if (folds && node.op == VY_DIM_SUB)
        folds = !__builtin_sub_overflow(dx->value, dy->value, &v);
    else if (folds && node.op == VY_DIM_MUL)
        folds = !__builtin_mul_overflow(dx->value, dy->value, &v);
    else if (folds && node.op == VY_DIM_MIN)
        v = dx->value < dy->value ? dx->value : dy->value;
    else if (folds && node.op == VY_DIM_MAX)
        v = dx->value > dy->value ? dx->value : dy->value;
    else if (folds && node.op == VY_DIM_SQRT)
        v = vy_isqrt(dx->value);
    else if (folds && dy->value > 0)
        v = node.op == VY_DIM_DIV ? dx->value / dy->value : dx->value % dy->value;
    else
        folds = false; // overflow and division by zero are reported at launch, with the names
    return folds ? vy_dim_const(b, v) : dim_node(b, node);
}

// Is the dimension not negative, by its form?  Forms that are deeper than `depth` are not.
static bool is_natural(const vy_program *p, uint32_t dim, uint32_t depth)
{
    const vy_dim_node *n = &p->dims.data[dim];
    switch (n->op) {
    case VY_DIM_SCALAR: return !vy_type_is_signed(p->scalars.data[n->value].type);
    case VY_DIM_CONST: return n->value >= 0;
    case VY_DIM_UNKNOWN:
    case VY_DIM_GROUPS: return true;
    case VY_DIM_MIN:
        return depth && is_natural(p, n->a, depth - 1) && is_natural(p, n->b, depth - 1);
    case VY_DIM_MAX:
        return depth && (is_natural(p, n->a, depth - 1) || is_natural(p, n->b, depth - 1));
    default: return false;
    }
}

vy_dim vy_dim_natural(vy_builder *b, vy_dim d)
{
    enum { DEPTH = 4 };
    if (vy_builder_failed(b)) return (vy_dim){0};
    if (is_natural(b->p, d.id, DEPTH)) return d;
    return vy_dim_binary(b, VY_DIM_MAX, d, vy_dim_const(b, 0));
}

// -------------------------------------------------------------------------------------- parameters
static const char *keep_name(vy_builder *b, const char *name)
{
    const char *copy = vy_arena_strdup(&b->m->arena, name, strlen(name));
    if (!copy) vy_build_oom(b);
    return copy;
}

vy_buffer vy_build_buffer(vy_builder *b, const char *name, vy_buffer_class cls, vy_type type,
                          uint32_t rank, const vy_dim *dims)
{
    if (vy_builder_failed(b)) return (vy_buffer){0};
    if (rank == 0 || rank > VY_MAX_RANK) {
        vy_build_fail(b, VY_E_LIMIT, "`%s` has %u axes; 1 to %u are allowed", name, rank,
                      VY_MAX_RANK);
        return (vy_buffer){0};
    }
    uint32_t id = b->p->buffers.count;
    vy_buf buf = {.cls = cls,
                  .type = type,
                  .rank = rank,
                  .link = ++b->m->links,
                  .line = b->line,
                  .binding = vy_is_global(cls) ? b->parameters : 0,
                  .name = keep_name(b, name),
                  .dims = vy_arena_alloc(&b->m->arena, rank * sizeof *dims)};
    if (!buf.name || !buf.dims || !vy_vec_push(&b->p->buffers, buf) ||
        !vy_vec_push(&b->versions, 0u)) {
        vy_build_oom(b);
        return (vy_buffer){0};
    }
    vy_names_added(b->p);
    b->parameters += vy_is_global(cls);
    memcpy(buf.dims, dims, rank * sizeof *dims);
    for (uint32_t i = 0; i < rank; i++)
        if (!dims[i].id || dims[i].id >= b->p->dims.count)
            vy_build_fail(b, VY_E_API, "`%s`: bad dimension %u", name, i);
    return (vy_buffer){id};
}

// Makes `?` the length of this buffer.
static void own_unknown(vy_builder *b, vy_buffer buf)
{
    if (vy_builder_failed(b)) return;
    const vy_buf *info = &b->p->buffers.data[buf.id];
    for (uint32_t i = 0; i < info->rank; i++) {
        vy_dim_node *node = &b->p->dims.data[info->dims[i].id];
        if (node->op != VY_DIM_UNKNOWN) continue;
        if (node->value == 0) {
            node->value = buf.id;
        } else { // the node belongs to another buffer: each `?` is a length of its own
            info->dims[i] = vy_dim_unknown(b);
            if (info->dims[i].id) b->p->dims.data[info->dims[i].id].value = buf.id;
        }
    }
}

static vy_buffer declare_buffer(vy_builder *b, const char *name, vy_buffer_class cls, vy_type type,
                                uint32_t rank, const vy_dim *dims)
{
    vy_buffer buf = vy_build_buffer(b, name, cls, type, rank, dims);
    own_unknown(b, buf);
    return buf;
}

vy_buffer vy_param_buffer(vy_builder *b, const char *name, vy_buffer_class cls, vy_type type,
                          uint32_t rank, const vy_dim *dims)
{
    return declare_buffer(b, name, cls, type, rank, dims);
}

vy_buffer vy_shared_array(vy_builder *b, const char *name, vy_type type, uint32_t rank,
                          const vy_dim *dims)
{
    return declare_buffer(b, name, VY_SHARED, type, rank, dims);
}

vy_buffer vy_local_array(vy_builder *b, const char *name, vy_type type, uint32_t rank,
                         const vy_dim *dims)
{
    vy_buffer buf = declare_buffer(b, name, VY_LOCAL, type, rank, dims);
    if (buf.id) vy_emit(b, VY_OP_ZERO, VY_VOID, buf.id, 0, NULL);
    return buf;
}

vy_buffer vy_local_undefined(vy_builder *b, const char *name, vy_type type, uint32_t rank,
                             const vy_dim *dims)
{
    return declare_buffer(b, name, VY_LOCAL, type, rank, dims);
}

void vy_buffer_binding(vy_builder *b, vy_buffer buf, uint32_t set, uint32_t binding)
{
    if (vy_builder_failed(b) || !buf.id || buf.id >= b->p->buffers.count) return;
    b->p->buffers.data[buf.id].set = set;
    b->p->buffers.data[buf.id].binding = binding;
}

void vy_buffer_workspace(vy_builder *b, vy_buffer buf)
{
    if (vy_builder_failed(b) || !buf.id || buf.id >= b->p->buffers.count) return;
    b->p->buffers.data[buf.id].workspace = true;
}

void vy_build_vector(vy_builder *b, vy_buffer buf, bool vector)
{
    if (vy_builder_failed(b) || !buf.id || buf.id >= b->p->buffers.count) return;
    b->p->buffers.data[buf.id].vector = vector;
}

void vy_buffer_owned(vy_builder *b, vy_buffer buf)
{
    if (vy_builder_failed(b) || !buf.id || buf.id >= b->p->buffers.count) return;
    vy_buf *info = &b->p->buffers.data[buf.id];
    if (vy_is_global(info->cls)) info->owned = true;
}

void vy_buffer_init(vy_builder *b, vy_buffer buf, vy_init init, const char *from)
{
    if (vy_builder_failed(b) || !buf.id || buf.id >= b->p->buffers.count) return;
    vy_buf *info = &b->p->buffers.data[buf.id];
    info->init = init;
    info->init_from = from ? keep_name(b, from) : NULL;
}

void vy_buffer_role(vy_builder *b, vy_buffer buf, const vy_derivative_role *role)
{
    if (vy_builder_failed(b) || !buf.id || buf.id >= b->p->buffers.count) return;
    b->p->buffers.data[buf.id].role = (vy_derivative_role){
        .kind = role->kind,
        .of = role->of ? keep_name(b, role->of) : NULL,
        .parameter = role->parameter,
        .root = role->root ? keep_name(b, role->root) : NULL,
        .root_parameter = role->root_parameter,
        .root_kind = role->root_kind,
    };
}

vy_value vy_param_scalar(vy_builder *b, const char *name, vy_type type)
{
    if (vy_builder_failed(b)) return (vy_value){0};
    vy_scalar_param s = {.name = keep_name(b, name),
                         .type = type,
                         .line = b->line,
                         .link = ++b->m->links};
    if (!s.name || !vy_vec_push(&b->p->scalars, s)) {
        vy_build_oom(b);
        return (vy_value){0};
    }
    vy_names_added(b->p);
    return (vy_value){vy_leaf_other(b, VY_LEAF_SCALAR, type, b->p->scalars.count - 1, 0)};
}

void vy_workgroup(vy_builder *b, uint32_t x, uint32_t y, uint32_t z)
{
    if (vy_builder_failed(b)) return;
    b->p->has_workgroup = true;
    b->p->workgroup[0] = x, b->p->workgroup[1] = y, b->p->workgroup[2] = z;
}

void vy_exact(vy_builder *b)
{
    if (vy_builder_failed(b)) return;
    if (b->p->signature || b->p->insts.count > 1)
        vy_build_fail(b, VY_E_API, "vy_exact: call it for a program, before its first instruction");
    b->p->exact = true;
}

static void set_rule(vy_builder *b, vy_rule_of kind, const char *rule)
{
    if (vy_builder_failed(b)) return;
    if (b->p->signature || b->p->function || !vy_name_printable(rule)) {
        vy_build_fail(b, VY_E_API, "vy_program_%s: only a program has a rule, which has a name",
                      kind == VY_VJP ? "vjp" : "jvp");
        return;
    }
    b->p->rules[kind] = keep_name(b, rule);
}

void vy_program_vjp(vy_builder *b, const char *rule) { set_rule(b, VY_VJP, rule); }
void vy_program_jvp(vy_builder *b, const char *rule) { set_rule(b, VY_JVP, rule); }

vy_value vy_over(vy_builder *b, const char *name, vy_dim extent)
{
    if (vy_builder_failed(b)) return (vy_value){0};
    vy_over_var v = {.name = keep_name(b, name), .extent = extent};
    if (!extent.id || extent.id >= b->p->dims.count) {
        vy_build_fail(b, VY_E_API, "vy_over: bad extent of `%s`", name);
        return (vy_value){0};
    }
    if (!v.name || !vy_vec_push(&b->p->overs, v)) {
        vy_build_oom(b);
        return (vy_value){0};
    }
    return (vy_value){vy_leaf_other(b, VY_LEAF_OVER, VY_U32, b->p->overs.count - 1, 0)};
}

void vy_assume(vy_builder *b, vy_dim least, vy_dim most)
{
    if (vy_builder_failed(b)) return;
    vy_program *p = b->p;
    if (!least.id || least.id >= p->dims.count || !most.id || most.id >= p->dims.count) {
        vy_build_fail(b, VY_E_API, "vy_assume: a bad dimension");
        return;
    }
    for (uint32_t k = 0; k < p->assumes.count; k++)
        if (vy_equal_dims(p, p->assumes.data[k].least, least) &&
            vy_equal_dims(p, p->assumes.data[k].most, most))
            return;
    if (!vy_vec_push(&p->assumes, ((vy_assumption){least, most}))) vy_build_oom(b);
}
