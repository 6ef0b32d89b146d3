// SPDX-License-Identifier: MIT
// emit_subgroup.c: the barrier and operations among lanes.
//
// Lanes outside the domain take part as the identity.  Reading a lane that does not exist gives 0.
// A fold of floats starts from the identity on some devices, so −0 may become 0.
#include "spirv/emit/emit.h"

void vy_emit_barrier(vy_fn *f)
{
    vy_spv *m = f->m;
    uint32_t group = vy_spv_u32(m, SpvScopeWorkgroup);
    uint32_t memory =
        vy_spv_u32(m, SpvMemorySemanticsAcquireReleaseMask | SpvMemorySemanticsWorkgroupMemoryMask |
                          SpvMemorySemanticsUniformMemoryMask);
    VY_PUT(m, f->out, SpvOpControlBarrier, group, group, memory);
}

typedef struct fold {
    SpvOp on_float, on_signed, on_unsigned, on_bool;
    SpvGroupOperation how;
} fold;

static fold fold_of(vy_op op)
{
    const SpvOp none = SpvOpNop;
    fold add = {SpvOpGroupNonUniformFAdd, SpvOpGroupNonUniformIAdd, SpvOpGroupNonUniformIAdd, none,
                SpvGroupOperationReduce};
    switch (op) {
    case VY_OP_SG_INCLUSIVE_ADD: add.how = SpvGroupOperationInclusiveScan; return add;
    case VY_OP_SG_EXCLUSIVE_ADD: add.how = SpvGroupOperationExclusiveScan; return add;
    case VY_OP_SG_MUL:
        return (fold){SpvOpGroupNonUniformFMul, SpvOpGroupNonUniformIMul, SpvOpGroupNonUniformIMul,
                      none, add.how};
    case VY_OP_SG_MIN:
        return (fold){SpvOpGroupNonUniformFMin, SpvOpGroupNonUniformSMin, SpvOpGroupNonUniformUMin,
                      none, add.how};
    case VY_OP_SG_MAX:
        return (fold){SpvOpGroupNonUniformFMax, SpvOpGroupNonUniformSMax, SpvOpGroupNonUniformUMax,
                      none, add.how};
    case VY_OP_SG_AND:
        return (fold){none, SpvOpGroupNonUniformBitwiseAnd, SpvOpGroupNonUniformBitwiseAnd,
                      SpvOpGroupNonUniformLogicalAnd, add.how};
    case VY_OP_SG_OR:
        return (fold){none, SpvOpGroupNonUniformBitwiseOr, SpvOpGroupNonUniformBitwiseOr,
                      SpvOpGroupNonUniformLogicalOr, add.how};
    case VY_OP_SG_XOR:
        return (fold){none, SpvOpGroupNonUniformBitwiseXor, SpvOpGroupNonUniformBitwiseXor,
                      SpvOpGroupNonUniformLogicalXor, add.how};
    default: return add;
    }
}

static uint32_t identity(vy_fn *f, vy_op op, vy_type t)
{
    vy_spv *m = f->m;
    bool is_float = vy_type_is_float(t), is_signed = vy_type_is_signed(t);
    uint64_t greatest = UINT64_MAX >> (is_signed ? 65 - vy_type_bits(t) : 64 - vy_type_bits(t));
    switch (op) {
    case VY_OP_SG_MUL: return is_float ? vy_spv_float(m, t, 1) : vy_spv_int(m, t, 1);
    case VY_OP_SG_MIN:
        if (is_float) return vy_spv_float(m, t, __builtin_inf());
        return vy_spv_const(m, t, (vy_scalar){.u = greatest});
    case VY_OP_SG_MAX:
        if (is_float) return vy_spv_float(m, t, -__builtin_inf());
        return vy_spv_const(m, t, (vy_scalar){.u = is_signed ? ~greatest : 0});
    case VY_OP_SG_AND:
    case VY_OP_SG_ALL: return t == VY_BOOL ? vy_spv_bool(m, true) : vy_spv_int(m, t, -1);
    default: return vy_spv_zero(m, t);
    }
}

void vy_need_subgroup(vy_fn *f, SpvCapability c, vy_features feature, vy_type t)
{
    vy_spv_capability(f->m, SpvCapabilityGroupNonUniform);
    vy_spv_capability(f->m, c);
    vy_spv_feature(f->m, feature | VY_FEATURE_BIT(SUBGROUP_BASIC));
    if (t == VY_F16 || t == VY_I64 || t == VY_U64)
        vy_spv_feature(f->m, VY_FEATURE_BIT(SUBGROUP_EXTENDED_TYPES));
}

static uint32_t reduce(vy_fn *f, uint32_t i, vy_op op)
{
    vy_spv *m = f->m;
    vy_type t = (vy_type)f->p->insts.data[i].type;
    uint32_t type = vy_spv_type(m, t), x = vy_val(f, vy_arg(f->p, i, 0));
    uint32_t scope = vy_spv_u32(m, SpvScopeSubgroup);
    if (f->in_domain) x = vy_select_id(f, type, f->in_domain, x, identity(f, op, t));
    if (op == VY_OP_SG_ANY || op == VY_OP_SG_ALL) {
        vy_need_subgroup(f, SpvCapabilityGroupNonUniformVote, VY_FEATURE_BIT(SUBGROUP_VOTE), t);
        SpvOp vote = op == VY_OP_SG_ANY ? SpvOpGroupNonUniformAny : SpvOpGroupNonUniformAll;
        return VY_DO(f, vote, type, scope, x);
    }
    vy_need_subgroup(f, SpvCapabilityGroupNonUniformArithmetic, VY_FEATURE_BIT(SUBGROUP_ARITHMETIC),
                     t);
    fold o = fold_of(op);
    SpvOp code = t == VY_BOOL           ? o.on_bool
                 : vy_type_is_float(t)  ? o.on_float
                 : vy_type_is_signed(t) ? o.on_signed
                                        : o.on_unsigned;
    return VY_DO(f, code, type, scope, (uint32_t)o.how, x);
}

static bool power_of_two(uint32_t n) { return n && !(n & (n - 1)); }

// Does the lane take part?  All lanes of a subgroup do, unless the workgroup does not fill it or,
// on devices whose subgroups are pieces of rows, the row of the workgroup does not.
static uint32_t lane_exists(vy_fn *f, uint32_t lane)
{
    vy_spv *m = f->m;
    const uint32_t *w = f->p->workgroup;
    uint32_t u32 = vy_spv_type(m, VY_U32), bools = vy_bool_type(f), total = w[0] * w[1] * w[2];
    uint32_t size = vy_subgroup_size(f);
    // A row runs in vectors of this many lanes; the surplus lanes of its last vector do not exist.
    const uint32_t lanes = f->m->options->lanes;
    // The subgroup size is a power of two too, so the workgroup fills subgroups, or part of one.
    if (power_of_two(total) && !(lanes && w[0] % lanes)) {
        size = VY_EXT(f, GLSLstd450UMin, u32, size, vy_spv_u32(m, total));
        return VY_DO(f, SpvOpULessThan, bools, lane, size);
    }
    vy_need_subgroup(f, SpvCapabilityGroupNonUniformBallot, VY_FEATURE_BIT(SUBGROUP_BALLOT),
                     VY_U32);
    uint32_t scope = vy_spv_u32(m, SpvScopeSubgroup),
             four = VY_INTERN(m, SpvOpTypeVector, 0, u32, 4);
    uint32_t ballot = VY_DO(f, SpvOpGroupNonUniformBallot, four, scope, vy_spv_bool(m, true));
    uint32_t inside = VY_DO(f, SpvOpULessThan, bools, lane, size);
    uint32_t safe = VY_DO(f, SpvOpSelect, u32, inside, lane, vy_spv_u32(m, 0));
    uint32_t active = VY_DO(f, SpvOpGroupNonUniformBallotBitExtract, bools, scope, ballot, safe);
    return VY_DO(f, SpvOpLogicalAnd, bools, inside, active);
}

static bool is_op(const vy_program *p, uint32_t id, vy_op op)
{
    return !VY_IS_LEAF(id) && p->insts.data[id].op == op;
}

static bool is_lane(const vy_program *p, uint32_t id)
{
    if (!VY_IS_LEAF(id)) return false;
    const vy_leaf *l = &p->leaves.data[VY_LEAF_INDEX(id)];
    return l->kind == VY_LEAF_BUILTIN && l->index == VY_LANE;
}

// lane − lane % n, the first lane of a vector.
static bool begins_vector(const vy_program *p, uint32_t id, uint32_t n)
{
    if (!is_op(p, id, VY_OP_SUB) || !is_lane(p, vy_arg(p, id, 0))) return false;
    const uint32_t own = vy_arg(p, id, 1);
    const vy_scalar *by = is_op(p, own, VY_OP_REM) ? vy_id_const(p, vy_arg(p, own, 1)) : NULL;
    return by && by->u == n && is_lane(p, vy_arg(p, own, 0));
}

// Is the lane, on a device whose workgroups consist of whole vectors, the counter of a loop that
// ends with the vector, or the sum of it and the vector's first lane, which is 0?  Returns the
// counter; 0: no.
static uint32_t counted_lane(const vy_fn *f, uint32_t lane)
{
    const vy_program *p = f->p;
    const uint32_t lanes = f->m->options->lanes;
    if (!lanes || p->workgroup[0] % lanes) return 0;
    if (is_op(p, lane, VY_OP_ADD) && begins_vector(p, vy_arg(p, lane, 0), lanes))
        lane = vy_arg(p, lane, 1);
    if (!is_op(p, lane, VY_OP_LOOP) || vy_id_type(p, lane) != VY_U32) return 0;
    uint32_t to = vy_arg(p, lane, 1);
    if (is_op(p, to, VY_OP_MIN)) to = vy_arg(p, to, 1);
    const vy_scalar *end = vy_id_const(p, to);
    return end && end->u <= lanes ? lane : 0;
}

static uint32_t read_lane(vy_fn *f, uint32_t i, vy_op op)
{
    vy_spv *m = f->m;
    vy_type t = (vy_type)f->p->insts.data[i].type;
    uint32_t type = vy_spv_type(m, t), u32 = vy_spv_type(m, VY_U32), bools = vy_bool_type(f);
    uint32_t x = vy_val(f, vy_arg(f->p, i, 0)), lane = vy_val(f, vy_arg(f->p, i, 1));
    uint32_t scope = vy_spv_u32(m, SpvScopeSubgroup), known;
    // Lane 0 always exists.
    if (op == VY_OP_SG_BROADCAST && vy_spv_known_u32(m, lane, &known) && known == 0) {
        vy_need_subgroup(f, SpvCapabilityGroupNonUniformBallot, VY_FEATURE_BIT(SUBGROUP_BALLOT), t);
        return VY_DO(f, SpvOpGroupNonUniformBroadcast, type, scope, x, lane);
    }
    vy_need_subgroup(f, SpvCapabilityGroupNonUniformShuffle, VY_FEATURE_BIT(SUBGROUP_SHUFFLE), t);
    const uint32_t counter = t == VY_BOOL ? 0 : counted_lane(f, vy_arg(f->p, i, 1));
    if (counter && op != VY_OP_SG_SHUFFLE_XOR)
        return VY_DO(f, SpvOpGroupNonUniformShuffle, type, scope, x, vy_val(f, counter));
    if (op == VY_OP_SG_SHUFFLE_XOR) lane = VY_DO(f, SpvOpBitwiseXor, u32, vy_lane(f), lane);
    uint32_t exists = lane_exists(f, lane);
    lane = VY_DO(f, SpvOpSelect, u32, exists, lane, vy_spv_u32(m, 0));
    // Bools are shuffled as integers: not every device shuffles bools.
    if (t == VY_BOOL) x = vy_cast_id(f, VY_U32, VY_BOOL, x);
    uint32_t r = VY_DO(f, SpvOpGroupNonUniformShuffle, t == VY_BOOL ? u32 : type, scope, x, lane);
    if (t == VY_BOOL) r = VY_DO(f, SpvOpINotEqual, bools, r, vy_spv_u32(m, 0));
    return vy_select_id(f, type, exists, r, vy_spv_zero(m, t));
}

uint32_t vy_emit_subgroup(vy_fn *f, uint32_t i)
{
    vy_op op = (vy_op)f->p->insts.data[i].op;
    if (op == VY_OP_SG_BROADCAST || op == VY_OP_SG_SHUFFLE || op == VY_OP_SG_SHUFFLE_XOR)
        return read_lane(f, i, op);
    return reduce(f, i, op);
}

// Of the lanes that are active here, wherever that is.  32 bits: those of others need a feature.
uint32_t vy_emit_at_least(vy_fn *f, uint32_t i)
{
    const vy_type t = (vy_type)f->p->insts.data[i].type;
    const bool can = f->m->options->enabled & VY_FEATURE_BIT(SUBGROUP_ARITHMETIC);
    if (!can || vy_type_size(t) != 4) return vy_val(f, vy_arg(f->p, i, 0));
    return reduce(f, i, VY_OP_SG_MAX);
}
