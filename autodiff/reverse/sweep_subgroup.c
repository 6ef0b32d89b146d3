// SPDX-License-Identifier: MIT
// sweep_subgroup.c: the reverse of subgroup operations.
//
//   y = subgroup_add(x)            x̄ += subgroup_add(ȳ)
//   y = subgroup_mul(x)            x̄ += subgroup_add(ȳ) · product of the other lanes' x, from
//                                  those below and those above: an x may be 0
//   y = subgroup_inclusive_add(x)  x̄ += Σ ȳ of this lane and those above
//   y = subgroup_exclusive_add(x)  x̄ += Σ ȳ of the lanes above
//   y = subgroup_shuffle(x, k)     x̄ += Σ ȳ of the lanes whose k is this lane
//
// In general, the last one needs a loop over all lanes.  If the source lane is this lane plus,
// minus or xor a value that is uniform in the subgroup, at most one lane reads this one, and it is
// known which; if all lanes read from one lane, that lane gets their sum.  A lane that does not
// exist gives 0 when read, and reads nothing.
//
// An operation is reached by the entire workgroup, and so is its reverse, which may therefore
// consist of such operations, too.  Sequences of several are written in the language and inlined
// here, so they can be differentiated again.  Padding lanes need no care, see subgroup.c.  Adjoints
// of halves are f32 (adjoint.h).

#include "autodiff/core/adjoint.h"
#include "autodiff/reverse/sweeps.h"
#include "ir/text/text.h"

#include <string.h>

// The number of lanes is a power of two: popcount(subgroup_size - 1) is its logarithm.
#define SUMS(T)                                                                                      \
    "fn above(x: " T ") -> " T " {\n"                                                                \
    "    var s = x;\n"                                                                               \
    "    for k in 0u..popcount(subgroup_size - 1) { s += subgroup_shuffle(s, lane + (1u << k)); }\n" \
    "    return s;\n"                                                                                \
    "}\n"                                                                                            \
    "fn readers(x: " T ", from: u32) -> " T " {\n"                                                   \
    "    var s: " T ";\n"                                                                            \
    "    for l in 0u..subgroup_size {\n"                                                             \
    "        let g = subgroup_shuffle(x, l);\n"                                                      \
    "        s += select(subgroup_shuffle(from, l) == lane, g, 0);\n"                                \
    "    }\n"                                                                                        \
    "    return s;\n"                                                                                \
    "}\n"                                                                                            \
    "fn others(x: " T ") -> " T " {\n"                                                               \
    "    var low = x;\n"                                                                             \
    "    var high = x;\n"                                                                            \
    "    for k in 0u..popcount(subgroup_size - 1) {\n"                                               \
    "        let d = 1u << k;\n"                                                                     \
    "        let l = subgroup_shuffle(low, lane - d);\n"                                             \
    "        low *= select(subgroup_shuffle(true, lane - d), l, 1);\n"                               \
    "        let h = subgroup_shuffle(high, lane + d);\n"                                            \
    "        high *= select(subgroup_shuffle(true, lane + d), h, 1);\n"                              \
    "    }\n"                                                                                        \
    "    let l = subgroup_shuffle(low, lane - 1);\n"                                                 \
    "    let h = subgroup_shuffle(high, lane + 1);\n"                                                \
    "    return select(subgroup_shuffle(true, lane - 1), l, 1) *\n"                                  \
    "           select(subgroup_shuffle(true, lane + 1), h, 1);\n"                                   \
    "}\n"

// The functions for values of `type`; for bool, + is or.
static const char *source_of(vy_type type)
{
    switch (type) {
    case VY_F16: return SUMS("f16");
    case VY_F32: return SUMS("f32");
    case VY_F64: return SUMS("f64");
    default:
        return "fn above(x: bool) -> bool {\n"
               "    var s = x;\n"
               "    for k in 0u..popcount(subgroup_size - 1) {\n"
               "        s |= subgroup_shuffle(s, lane + (1u << k));\n"
               "    }\n"
               "    return s;\n"
               "}\n"
               "fn readers(x: bool, from: u32) -> bool {\n"
               "    var s = false;\n"
               "    for l in 0u..subgroup_size {\n"
               "        let m = subgroup_shuffle(x, l);\n"
               "        s |= m & (subgroup_shuffle(from, l) == lane);\n"
               "    }\n"
               "    return s;\n"
               "}\n";
    }
}

// Inlines a call of one of them with `x` and, unless it is 0, `from`.
static uint32_t call(reverse *r, const char *name, uint32_t x, uint32_t from)
{
    if (vy_builder_failed(r->b)) return 0;
    const char *text = source_of(vy_id_type(vy_builder_program(r->b), x));
    vy_value args[2] = {{x}, {from}}, result = {0};
    vy_inline_source(r->b, text, strlen(text), name, from ? 2 : 1, args, 1, &result);
    return result.id;
}

static uint32_t lane(reverse *r) { return vy_builtin_value(r->b, VY_LANE, 0).id; }

// The sum over all lanes; of conditions: does any hold?
static uint32_t of_all(reverse *r, uint32_t x)
{
    const vy_program *p = vy_builder_program(r->b);
    const vy_scalar *k = vy_id_const(p, x);
    vy_type type = vy_id_type(p, x);
    if (type == VY_BOOL && k && k->u) return x;
    return vy_emit(r->b, type == VY_BOOL ? VY_OP_SG_ANY : VY_OP_SG_ADD, type, 0, 1, &x);
}

static uint32_t shuffle(reverse *r, vy_op op, uint32_t x, uint32_t from)
{
    vy_type type = vy_id_type(vy_builder_program(r->b), x);
    return vy_emit(r->b, op, type, 0, 2, (uint32_t[]){x, from});
}

static uint32_t only_if(reverse *r, uint32_t condition, uint32_t x)
{
    vy_type type = vy_id_type(vy_builder_program(r->b), x);
    return vy_select(r->b, (vy_value){condition}, (vy_value){x}, vy_zero(r->b, type)).id;
}

// -------------------------------------------------------------------------------- which lane reads
// Is the value of the primal provably uniform among the lanes of a subgroup that execute `user`?
static bool is_uniform(const reverse *r, uint32_t id, uint32_t user, uint32_t depth)
{
    const vy_program *p = r->p;
    if (VY_IS_LEAF(id)) {
        const vy_leaf *l = &p->leaves.data[VY_LEAF_INDEX(id)];
        if (l->kind == VY_LEAF_OVER) return false;
        return l->kind != VY_LEAF_BUILTIN || l->index == VY_WID || l->index == VY_NUM_GROUPS ||
               l->index == VY_SUBGROUP_SIZE;
    }
    const vy_inst *i = &p->insts.data[id];
    vy_op op = (vy_op)i->op;
    bool reads_lane = op == VY_OP_SG_SHUFFLE || op == VY_OP_SG_BROADCAST;
    bool scans = op == VY_OP_SG_INCLUSIVE_ADD || op == VY_OP_SG_EXCLUSIVE_ADD;
    if (depth == 0 || scans || op == VY_OP_SG_SHUFFLE_XOR) return false;
    if (reads_lane) return is_uniform(r, vy_arg(p, id, 1), user, depth - 1);
    if (vy_op_is_subgroup(op)) return true;
    // A loop around a subgroup operation runs uniformly.
    if (op == VY_OP_LOOP) return vy_encloses(&r->facts, id, user);
    bool reads = op == VY_OP_LOAD && p->buffers.data[i->aux].cls == VY_IN;
    if (vy_op_infos[op].effect != VY_PURE && !reads) return false;
    for (uint32_t k = 0; k < i->nargs; k++)
        if (!is_uniform(r, vy_arg(p, id, k), user, depth - 1)) return false;
    return true;
}

enum { DEPTH = 6 }; // of expressions visited

static bool is_builtin(const reverse *r, uint32_t id, vy_builtin which)
{
    if (!VY_IS_LEAF(id)) return false;
    const vy_leaf *l = &r->p->leaves.data[VY_LEAF_INDEX(id)];
    return l->kind == VY_LEAF_BUILTIN && l->index == (uint32_t)which;
}

// lane op c, c op lane: c, if it is uniform; else 0.
static uint32_t offset_of(const reverse *r, uint32_t k, vy_op op, bool lane_first, uint32_t user)
{
    if (VY_IS_LEAF(k) || r->p->insts.data[k].op != op) return 0;
    uint32_t x = vy_arg(r->p, k, !lane_first), c = vy_arg(r->p, k, lane_first);
    return is_builtin(r, x, VY_LANE) && is_uniform(r, c, user, DEPTH) ? c : 0;
}

// (lane + c) % subgroup_size: c; 0: not of that form.
static uint32_t rotation_of(const reverse *r, uint32_t k, uint32_t user)
{
    if (VY_IS_LEAF(k) || r->p->insts.data[k].op != VY_OP_REM) return 0;
    uint32_t sum = vy_arg(r->p, k, 0);
    if (!is_builtin(r, vy_arg(r->p, k, 1), VY_SUBGROUP_SIZE)) return 0;
    uint32_t c = offset_of(r, sum, VY_OP_ADD, true, user);
    return c ? c : offset_of(r, sum, VY_OP_ADD, false, user);
}

// Sets *out to the x of the only lane that reads this one in the primal's operation `id`, 0 where
// none does.  False: several lanes may read it, or it is not known which.
static bool from_reader(reverse *r, uint32_t id, uint32_t x, uint32_t *out)
{
    uint32_t k = vy_arg(r->p, id, 1), c;
    bool is_xor = r->p->insts.data[id].op == VY_OP_SG_SHUFFLE_XOR;
    vy_op op = VY_OP_SG_SHUFFLE;
    vy_value at = {lane(r)};
    if (is_xor && is_uniform(r, k, id, DEPTH)) {
        op = VY_OP_SG_SHUFFLE_XOR;
        at.id = vy_primal(r, k);
    } else if (is_xor) {
        return false;
    } else if ((c = offset_of(r, k, VY_OP_ADD, true, id)) ||
               (c = offset_of(r, k, VY_OP_ADD, false, id))) {
        at = vy_sub(r->b, at, (vy_value){vy_primal(r, c)}); // wraps as the sum did
    } else if ((c = offset_of(r, k, VY_OP_SUB, true, id))) {
        at = vy_add(r->b, at, (vy_value){vy_primal(r, c)});
    } else if (offset_of(r, k, VY_OP_SUB, false, id) || offset_of(r, k, VY_OP_XOR, true, id) ||
               offset_of(r, k, VY_OP_XOR, false, id)) {
        at.id = vy_primal(r, k); // its own inverse
    } else if ((c = rotation_of(r, k, id))) {
        vy_value size = vy_builtin_value(r->b, VY_SUBGROUP_SIZE, 0);
        vy_value back = vy_sub(r->b, size, vy_rem(r->b, (vy_value){vy_primal(r, c)}, size));
        at = vy_rem(r->b, vy_add(r->b, at, back), size);
    } else {
        return false;
    }
    *out = shuffle(r, op, x, at.id);
    return true;
}

// --------------------------------------------------------------------------------------- the rules
// The sum of `x`, an adjoint or a mask, over the lanes that read from this one.
static uint32_t of_readers(reverse *r, uint32_t id, uint32_t x)
{
    uint32_t k = vy_arg(r->p, id, 1), at = vy_primal(r, k), found;
    if (from_reader(r, id, x, &found)) return found;
    if (r->p->insts.data[id].op == VY_OP_SG_SHUFFLE_XOR) {
        at = vy_emit(r->b, VY_OP_XOR, VY_U32, 0, 2, (uint32_t[]){lane(r), at});
    } else if (is_uniform(r, k, id, DEPTH)) {
        uint32_t all = of_all(r, x);
        return only_if(r, vy_eq(r->b, (vy_value){lane(r)}, (vy_value){at}).id, all);
    }
    return call(r, "readers", x, at);
}

// The sum over the lanes above, for inclusive scans with this one.
static uint32_t of_above(reverse *r, uint32_t id, uint32_t x)
{
    uint32_t s = call(r, "above", x, 0);
    if (r->p->insts.data[id].op == VY_OP_SG_INCLUSIVE_ADD || vy_builder_failed(r->b)) return s;
    vy_value one = vy_int(r->b, VY_U32, 1), next = vy_add(r->b, (vy_value){lane(r)}, one);
    return shuffle(r, VY_OP_SG_SHUFFLE, s, next.id);
}

// The contribution of `x`, an adjoint or a mask of the results, to this lane.
static uint32_t passed_back(reverse *r, uint32_t id, uint32_t x)
{
    vy_op op = (vy_op)r->p->insts.data[id].op;
    switch (op) {
    case VY_OP_SG_ADD:
    case VY_OP_SG_MUL: return of_all(r, x);
    case VY_OP_SG_INCLUSIVE_ADD:
    case VY_OP_SG_EXCLUSIVE_ADD: return of_above(r, id, x);
    default: return of_readers(r, id, x);
    }
}

uint32_t vy_subgroup_others(reverse *r, uint32_t x) { return call(r, "others", x, 0); }

void vy_reverse_subgroup(reverse *r, uint32_t id, uint32_t g, uint32_t mask)
{
    vy_op op = (vy_op)r->p->insts.data[id].op;
    uint32_t x = vy_arg(r->p, id, 0), edge = mask;
    if (!vy_is_active(&r->facts, x)) return;
    uint32_t passed = passed_back(r, id, g);
    if (mask || vy_subgroup_chooses(op))
        edge = passed_back(r, id, mask ? mask : vy_bool(r->b, true).id);
    if (op == VY_OP_SG_MUL) {
        const vy_type type = vy_id_type(vy_builder_program(r->b), g);
        uint32_t others = vy_subgroup_others(r, cast_to(r, type, vy_primal(r, x)));
        if (vy_builder_failed(r->b)) return;
        passed = vy_mul(r->b, (vy_value){passed}, (vy_value){others}).id;
        if (mask) passed = only_if(r, edge, passed);
    }
    vy_contribute(r, x, passed, edge);
}
