// SPDX-License-Identifier: MIT
// emit_atomics.c: atomics.  Out of range they do nothing and give 0.
//
//   integers          native
//   float add, sub    native where the feature is enabled, else a compare-exchange loop on the bits
//   float exchange    native on the bits
//   other floats      a compare-exchange loop
//   owned elements    read, compute, write (no other invocation accesses them); local arrays too
//
// A loop reads old value and bits once; a failed exchange returns the next ones.
#include "spirv/emit/emit.h"
#include "ir/core/access.h"
#include "spirv/facts/facts.h"

typedef struct vy_update {
    vy_fn *f;
    const vy_array *a;
    vy_op op;
    vy_type type;
    uint32_t value, expected; // ids
} vy_update;

// Compares as the interpreter does: bits, so that −0 is not 0.
static uint32_t same_bits(vy_fn *f, vy_type t, uint32_t a, uint32_t b)
{
    vy_spv *m = f->m;
    uint32_t bools = vy_bool_type(f), u32 = vy_spv_type(m, VY_U32);
    if (t == VY_F16) { // widening keeps values and signs, and needs no 16-bit integers
        a = vy_cast_id(f, VY_F32, VY_F16, a);
        b = vy_cast_id(f, VY_F32, VY_F16, b);
    }
    if (t == VY_F32 || t == VY_F16)
        return VY_DO(f, SpvOpIEqual, bools, VY_DO(f, SpvOpBitcast, u32, a),
                     VY_DO(f, SpvOpBitcast, u32, b));
    if (t != VY_F64) return VY_DO(f, SpvOpIEqual, bools, a, b);
    uint32_t pair = VY_INTERN(m, SpvOpTypeVector, 0, u32, 2);
    uint32_t both = VY_INTERN(m, SpvOpTypeVector, 0, bools, 2);
    a = VY_DO(f, SpvOpBitcast, pair, a);
    b = VY_DO(f, SpvOpBitcast, pair, b);
    return VY_DO(f, SpvOpAll, bools, VY_DO(f, SpvOpIEqual, both, a, b));
}

// New value of the element, from its old one.
static uint32_t apply(const vy_update *u, uint32_t old)
{
    vy_fn *f = u->f;
    uint32_t type = vy_spv_type(f->m, u->type), bools = vy_bool_type(f), v = u->value;
    bool is_float = vy_type_is_float(u->type), is_signed = vy_type_is_signed(u->type);
    SpvOp less = is_float ? SpvOpFOrdLessThan : is_signed ? SpvOpSLessThan : SpvOpULessThan;
    switch (u->op) {
    case VY_OP_ATOMIC_ADD: return VY_DO(f, is_float ? SpvOpFAdd : SpvOpIAdd, type, old, v);
    case VY_OP_ATOMIC_MIN: // min(old, value)
        return VY_DO(f, SpvOpSelect, type, VY_DO(f, less, bools, old, v), old, v);
    case VY_OP_ATOMIC_MAX:
        return VY_DO(f, SpvOpSelect, type, VY_DO(f, less, bools, v, old), old, v);
    case VY_OP_ATOMIC_AND: return VY_DO(f, SpvOpBitwiseAnd, type, old, v);
    case VY_OP_ATOMIC_OR: return VY_DO(f, SpvOpBitwiseOr, type, old, v);
    case VY_OP_ATOMIC_XOR: return VY_DO(f, SpvOpBitwiseXor, type, old, v);
    case VY_OP_ATOMIC_CAS: {
        uint32_t same = same_bits(f, u->type, old, u->expected);
        return VY_DO(f, SpvOpSelect, type, same, v, old);
    }
    default: return v; // exchange
    }
}

static SpvOp native_op(vy_op op, vy_type type)
{
    bool is_signed = vy_type_is_signed(type);
    switch (op) {
    case VY_OP_ATOMIC_ADD: return SpvOpAtomicIAdd;
    case VY_OP_ATOMIC_MIN: return is_signed ? SpvOpAtomicSMin : SpvOpAtomicUMin;
    case VY_OP_ATOMIC_MAX: return is_signed ? SpvOpAtomicSMax : SpvOpAtomicUMax;
    case VY_OP_ATOMIC_AND: return SpvOpAtomicAnd;
    case VY_OP_ATOMIC_OR: return SpvOpAtomicOr;
    case VY_OP_ATOMIC_XOR: return SpvOpAtomicXor;
    default: return SpvOpAtomicExchange;
    }
}

static void need_int64(const vy_update *u)
{
    bool shared = u->a->cls == SpvStorageClassWorkgroup;
    vy_spv_capability(u->f->m, SpvCapabilityInt64Atomics);
    vy_spv_feature(u->f->m,
                   shared ? VY_FEATURE_BIT(ATOMIC_INT64_SHARED) : VY_FEATURE_BIT(ATOMIC_INT64));
}

static void need_float_add(const vy_update *u)
{
    vy_spv *m = u->f->m;
    bool shared = u->a->cls == SpvStorageClassWorkgroup, f64 = u->type == VY_F64;
    vy_features f32_bit =
        shared ? VY_FEATURE_BIT(ATOMIC_FLOAT32_ADD_SHARED) : VY_FEATURE_BIT(ATOMIC_FLOAT32_ADD);
    vy_features f64_bit =
        shared ? VY_FEATURE_BIT(ATOMIC_FLOAT64_ADD_SHARED) : VY_FEATURE_BIT(ATOMIC_FLOAT64_ADD);
    vy_spv_extension(m, VY_EXT_ATOMIC_FLOAT_ADD);
    vy_spv_capability(m, f64 ? SpvCapabilityAtomicFloat64AddEXT : SpvCapabilityAtomicFloat32AddEXT);
    vy_spv_feature(m, f64 ? f64_bit : f32_bit);
}

static uint32_t scope_id(const vy_update *u)
{
    return vy_spv_u32(u->f->m,
                      u->a->cls == SpvStorageClassWorkgroup ? SpvScopeWorkgroup : SpvScopeDevice);
}

static uint32_t native(const vy_update *u, uint32_t address)
{
    vy_fn *f = u->f;
    uint32_t type = vy_spv_type(f->m, u->type), none = vy_spv_u32(f->m, 0);
    uint32_t pointer = vy_element_pointer(f, u->a, address), scope = scope_id(u);
    if (vy_type_is_float(u->type)) {
        need_float_add(u);
        return VY_DO(f, SpvOpAtomicFAddEXT, type, pointer, scope, none, u->value);
    }
    if (vy_type_size(u->type) == 8) need_int64(u);
    if (u->op == VY_OP_ATOMIC_CAS)
        return VY_DO(f, SpvOpAtomicCompareExchange, type, pointer, scope, none, none, u->value,
                     u->expected);
    return VY_DO(f, native_op(u->op, u->type), type, pointer, scope, none, u->value);
}

// A float element declared as unsigned bits.
static uint32_t by_bits(const vy_update *u, uint32_t address)
{
    vy_fn *f = u->f;
    vy_spv *m = f->m;
    uint32_t type = vy_spv_type(m, u->type), bits = u->a->elem, none = vy_spv_u32(m, 0);
    uint32_t pointer = vy_element_pointer(f, u->a, address), scope = scope_id(u);
    if (u->type == VY_F64) need_int64(u);
    if (u->op == VY_OP_ATOMIC_EXCHANGE) {
        uint32_t v = VY_DO(f, SpvOpBitcast, bits, u->value);
        v = VY_DO(f, SpvOpAtomicExchange, bits, pointer, scope, none, v);
        return VY_DO(f, SpvOpBitcast, type, v);
    }
    uint32_t first = VY_DO(f, SpvOpAtomicLoad, bits, pointer, scope, none);
    vy_spin spin;
    uint32_t state = vy_spin_begin(f, &spin, bits, first);
    uint32_t old = VY_DO(f, SpvOpBitcast, type, state);
    uint32_t next = VY_DO(f, SpvOpBitcast, bits, apply(u, old));
    uint32_t seen =
        VY_DO(f, SpvOpAtomicCompareExchange, bits, pointer, scope, none, none, next, state);
    vy_spin_end(f, &spin, VY_DO(f, SpvOpIEqual, vy_bool_type(f), seen, state), seen);
    return old;
}

static uint32_t by_halves(const vy_update *u, uint32_t address)
{
    vy_halves h = vy_halves_begin(u->f, u->a, address);
    return vy_halves_end(u->f, &h, apply(u, h.old));
}

static uint32_t plainly(const vy_update *u, uint32_t address, bool once)
{
    uint32_t old = once ? vy_spv_zero(u->f->m, u->type) : vy_read_element(u->f, u->a, address);
    vy_write_element(u->f, u->a, address, apply(u, old));
    return old;
}

// What one lane of those that add to one element does, with their sum as the value.  Lanes that are
// active here are those that add: operations among lanes take no others.  Where all add 0 nothing
// is done, which leaves a −0 as it is.
typedef struct combination {
    vy_guard some, one;
} combination;

static combination begin_combined(vy_update *u, uint32_t address)
{
    vy_fn *f = u->f;
    const vy_type t = u->type;
    const uint32_t type = vy_spv_type(f->m, t), bools = vy_bool_type(f), own = u->value;
    const uint32_t scope = vy_spv_u32(f->m, SpvScopeSubgroup), zero = vy_spv_zero(f->m, t);
    const bool is_float = vy_type_is_float(t);
    vy_need_subgroup(f, SpvCapabilityGroupNonUniformVote, VY_FEATURE_BIT(SUBGROUP_VOTE), t);
    vy_need_subgroup(f, SpvCapabilityGroupNonUniformArithmetic, VY_FEATURE_BIT(SUBGROUP_ARITHMETIC),
                     t);
    combination c;
    const uint32_t adds =
        VY_DO(f, is_float ? SpvOpFUnordNotEqual : SpvOpINotEqual, bools, own, zero);
    c.some = vy_guard_begin(f, VY_DO(f, SpvOpGroupNonUniformAny, bools, scope, adds));
    const uint32_t same = VY_DO(f, SpvOpGroupNonUniformAllEqual, bools, scope, address);
    const uint32_t sum = VY_DO(f, is_float ? SpvOpGroupNonUniformFAdd : SpvOpGroupNonUniformIAdd,
                               type, scope, (uint32_t)SpvGroupOperationReduce, own);
    const uint32_t first = VY_DO(f, SpvOpGroupNonUniformElect, bools, scope);
    const uint32_t apart = VY_DO(f, SpvOpLogicalNot, bools, same);
    u->value = vy_select_id(f, type, same, sum, own);
    c.one = vy_guard_begin(f, VY_DO(f, SpvOpLogicalOr, bools, first, apart));
    return c;
}

static void end_combined(vy_fn *f, const combination *c)
{
    vy_guard_end(f, c->one, 0, 0, 0);
    vy_guard_end(f, c->some, 0, 0, 0);
}

static uint32_t update(const vy_update *u, uint32_t address, vy_strength strength)
{
    if (strength >= VY_STRENGTH_OWNED) return plainly(u, address, strength == VY_STRENGTH_ONLY);
    if (u->a->form == VY_MEM_HALVES) return by_halves(u, address);
    return u->a->form == VY_MEM_BITS ? by_bits(u, address) : native(u, address);
}

uint32_t vy_emit_atomic(vy_fn *f, uint32_t i)
{
    const vy_inst *in = &f->p->insts.data[i];
    const vy_buf *b = &f->p->buffers.data[in->aux];
    vy_update u = {.f = f,
                   .a = &f->arrays[in->aux],
                   .op = (vy_op)in->op,
                   .type = vy_type_loaded(b->type)};
    u.value = vy_val(f, vy_arg(f->p, i, in->nargs - 1));
    if (u.op == VY_OP_ATOMIC_CAS) u.expected = vy_val(f, vy_arg(f->p, i, in->nargs - 2));
    vy_address at = vy_find_place(f, i, true);
    vy_guard g = vy_guard_begin(f, at.ok);
    const bool combined = f->facts->combined && f->facts->combined[i];
    combination c;
    if (combined) c = begin_combined(&u, at.address);
    const uint32_t old = update(&u, at.address, vy_strength_of(f->p, i));
    if (combined) {
        end_combined(f, &c);
        return vy_guard_end(f, g, 0, 0, 0);
    }
    const uint32_t zero = vy_spv_zero(f->m, u.type);
    return vy_guard_end(f, g, vy_spv_type(f->m, u.type), old, zero);
}
