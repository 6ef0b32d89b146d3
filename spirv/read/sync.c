// SPDX-License-Identifier: MIT
// sync.c: what invocations do together: barriers, atomics, operations among lanes.
#include "spirv/read/reading.h"

#include <string.h>

static uint32_t word(const reading *r, uint32_t i) { return read_word(&r->w, r->at, i); }

// --------------------------------------------------------------------------------------- barriers
// subgroupBarrier() becomes the workgroup's, which orders all that it orders, and more.  Where some
// subgroups alone reach it, the checker says so (E0302).
static bool barrier(reading *r)
{
    uint32_t scope;
    if (!read_constant_u32(r, word(r, 1), &scope)) return false;
    if (scope != SpvScopeWorkgroup && scope != SpvScopeSubgroup)
        return read_refuse(r, "use barrier() or subgroupBarrier()",
                           "a barrier of more than a workgroup");
    vy_barrier(r->b);
    return !vy_builder_failed(r->b);
}

// ---------------------------------------------------------------------------------------- atomics
typedef struct atomic {
    SpvOp of;
    const char *name;
    int sign; // of the element: 1 signed, -1 unsigned, 0 either
} atomic;

static const atomic atomics[] = {
    {SpvOpAtomicIAdd, "add", 0},
    {SpvOpAtomicISub, "sub", 0},
    {SpvOpAtomicFAddEXT, "add", 0},
    {SpvOpAtomicSMin, "min", 1},
    {SpvOpAtomicUMin, "min", -1},
    {SpvOpAtomicSMax, "max", 1},
    {SpvOpAtomicUMax, "max", -1},
    {SpvOpAtomicFMinEXT, "min", 0},
    {SpvOpAtomicFMaxEXT, "max", 0},
    {SpvOpAtomicAnd, "and", 0},
    {SpvOpAtomicOr, "or", 0},
    {SpvOpAtomicXor, "xor", 0},
    {SpvOpAtomicExchange, "exchange", 0},
    {SpvOpAtomicIIncrement, "add", 0},
    {SpvOpAtomicIDecrement, "sub", 0},
};

static const atomic *find_atomic(SpvOp op)
{
    for (uint32_t k = 0; k < sizeof atomics / sizeof *atomics; k++)
        if (atomics[k].of == op) return &atomics[k];
    return NULL;
}

static vy_value atomic_value(reading *r, const atomic *a, vy_type type, vy_buffer buffer,
                             const vy_value *index)
{
    const bool one = a->of == SpvOpAtomicIIncrement || a->of == SpvOpAtomicIDecrement;
    const vy_value v =
        one ? vy_int(r->b, type, 1) : read_as(r, type, read_scalar(r, word(r, 6), 0));
    const bool is_signed = vy_type_is_signed(type);
    if (a->sign && (a->sign > 0) != is_signed) {
        read_refuse(r, "declare the buffer with the type that is compared",
                    "an atomic minimum or maximum of numbers of the other sign");
        return v;
    }
    return buffer.id ? vy_atomic(r->b, a->name, buffer, index, v) : read_any(r, type);
}

static bool read_atomic(reading *r, const atomic *a)
{
    const uint32_t id = word(r, 2);
    const vy_type type = read_scalar_type(r, word(r, 1), 0);
    vy_buffer buffer;
    vy_value *index;
    if (!read_element(r, word(r, 3), READ_IS_READ | READ_IS_WRITTEN, &buffer, &index)) return false;
    const vy_value v = atomic_value(r, a, type, buffer, index);
    return !vy_builder_failed(r->b) && read_define(r, id, 1, &v);
}

// result, pointer, scope, semantics, semantics, value, comparator
static bool compare_exchange(reading *r)
{
    const vy_type type = read_scalar_type(r, word(r, 1), 0);
    vy_buffer buffer;
    vy_value *index;
    if (!read_element(r, word(r, 3), READ_IS_READ | READ_IS_WRITTEN, &buffer, &index)) return false;
    const vy_value v = read_as(r, type, read_scalar(r, word(r, 7), 0));
    const vy_value expected = read_as(r, type, read_scalar(r, word(r, 8), 0));
    const vy_value old =
        buffer.id ? vy_atomic_cas(r->b, buffer, index, expected, v) : read_any(r, type);
    return !vy_builder_failed(r->b) && read_define(r, word(r, 2), 1, &old);
}

// -------------------------------------------------------------------------------------- subgroups
typedef struct group {
    SpvOp of;
    const char *name;
    int sign;
} group;

static const group groups[] = {
    {SpvOpGroupNonUniformIAdd, "add", 0},       {SpvOpGroupNonUniformFAdd, "add", 0},
    {SpvOpGroupNonUniformIMul, "mul", 0},       {SpvOpGroupNonUniformFMul, "mul", 0},
    {SpvOpGroupNonUniformSMin, "min", 1},       {SpvOpGroupNonUniformUMin, "min", -1},
    {SpvOpGroupNonUniformFMin, "min", 0},       {SpvOpGroupNonUniformSMax, "max", 1},
    {SpvOpGroupNonUniformUMax, "max", -1},      {SpvOpGroupNonUniformFMax, "max", 0},
    {SpvOpGroupNonUniformBitwiseAnd, "and", 0}, {SpvOpGroupNonUniformBitwiseOr, "or", 0},
    {SpvOpGroupNonUniformBitwiseXor, "xor", 0}, {SpvOpGroupNonUniformLogicalAnd, "all", 0},
    {SpvOpGroupNonUniformLogicalOr, "any", 0},
};

static const group *find_group(SpvOp op)
{
    for (uint32_t k = 0; k < sizeof groups / sizeof *groups; k++)
        if (groups[k].of == op) return &groups[k];
    return NULL;
}

static vy_type signed_as(vy_type t, int sign)
{
    if (sign == 0 || !vy_type_is_integer(t)) return t;
    if (vy_type_size(t) == 8) return sign > 0 ? VY_I64 : VY_U64;
    return sign > 0 ? VY_I32 : VY_U32;
}

// How many lanes a cluster has; 0: it is no number that is known, which has been reported.
static uint32_t cluster_size(reading *r)
{
    uint32_t size = 0;
    if (read_constant_u32(r, word(r, 6), &size) && size && !(size & (size - 1))) return size;
    if (!vy_builder_failed(r->b)) read_fail(r, VY_E_SHADER_WORDS, "", "a cluster of no power of 2");
    return 0;
}

static vy_value reduced(reading *r, const group *g, uint32_t how, uint32_t cluster, vy_value x)
{
    const bool sum = !strcmp(g->name, "add");
    switch (how) {
    case SpvGroupOperationReduce: return vy_subgroup(r->b, g->name, x);
    case SpvGroupOperationInclusiveScan:
        return sum ? vy_subgroup(r->b, "inclusive_add", x) : read_scan(r, g->name, false, x);
    case SpvGroupOperationExclusiveScan:
        return sum ? vy_subgroup(r->b, "exclusive_add", x) : read_scan(r, g->name, true, x);
    default: return read_cluster(r, g->name, cluster, x);
    }
}

// type, result, scope, operation, value, lanes in a cluster
static bool reduce(reading *r, const group *g)
{
    const uint32_t how = word(r, 4), id = word(r, 2), type = word(r, 1);
    const bool clusters = how == SpvGroupOperationClusteredReduce;
    if (how > SpvGroupOperationExclusiveScan && !clusters)
        return read_refuse(r, "use the whole subgroup", "an operation among some lanes");
    const uint32_t cluster = clusters ? cluster_size(r) : 0;
    vy_value *v = !clusters || cluster ? read_room(r, type) : NULL;
    if (!v) return false;
    for (uint32_t k = 0; k < read_type_of(r, type)->scalars; k++) {
        const vy_type t = vy_type_loaded(read_scalar_type(r, type, k));
        const vy_value x = read_as(r, signed_as(t, g->sign), read_scalar(r, word(r, 5), k));
        v[k] = read_as(r, t, reduced(r, g, how, cluster, x));
    }
    return !vy_builder_failed(r->b) && read_define(r, id, read_type_of(r, type)->scalars, v);
}

// The lane that a shuffle reads from: `delta` lanes below or above.
static vy_value lane(reading *r, SpvOp op, vy_value delta)
{
    const vy_value own = vy_builtin_value(r->b, VY_LANE, 0);
    if (op == SpvOpGroupNonUniformShuffleUp) return vy_sub(r->b, own, delta);
    if (op == SpvOpGroupNonUniformShuffleDown) return vy_add(r->b, own, delta);
    return delta;
}

// type, result, scope, value, lane
static bool exchange(reading *r, SpvOp op)
{
    const uint32_t type = word(r, 1);
    const bool first = op == SpvOpGroupNonUniformBroadcastFirst;
    const char *name = first || op == SpvOpGroupNonUniformBroadcast ? "broadcast"
                       : op == SpvOpGroupNonUniformShuffleXor       ? "shuffle_xor"
                                                                    : "shuffle";
    vy_value *v = read_room(r, type);
    if (!v) return false;
    const vy_value given = first ? vy_int(r->b, VY_U32, 0) : read_scalar(r, word(r, 5), 0);
    const vy_value from = lane(r, op, read_as(r, VY_U32, given));
    for (uint32_t k = 0; k < read_type_of(r, type)->scalars; k++)
        v[k] = vy_subgroup_lane(r->b, name, read_scalar(r, word(r, 4), k), from);
    return !vy_builder_failed(r->b) &&
           read_define(r, word(r, 2), read_type_of(r, type)->scalars, v);
}

static bool vote(reading *r, const char *name)
{
    const vy_value v = vy_subgroup(r->b, name, read_scalar(r, word(r, 4), 0));
    return !vy_builder_failed(r->b) && read_define(r, word(r, 2), 1, &v);
}

// The first lane that takes part.  All do where these operations may stand, which the sum of the
// lanes below makes sure of: it may only be asked where control flow is uniform.
static bool elect(reading *r)
{
    const vy_value below = vy_subgroup(r->b, "exclusive_add", vy_int(r->b, VY_U32, 1));
    const vy_value v = vy_eq(r->b, below, vy_int(r->b, VY_U32, 0));
    return !vy_builder_failed(r->b) && read_define(r, word(r, 2), 1, &v);
}

bool read_sync(reading *r, bool *mine)
{
    const SpvOp op = read_op(&r->w, r->at);
    *mine = true;
    switch (op) {
    case SpvOpControlBarrier: return barrier(r);
    case SpvOpMemoryBarrier: return true; // orders what a barrier has to order anyway
    case SpvOpAtomicCompareExchange: return compare_exchange(r);
    case SpvOpGroupNonUniformElect: return elect(r);
    case SpvOpGroupNonUniformBroadcast:
    case SpvOpGroupNonUniformBroadcastFirst:
    case SpvOpGroupNonUniformShuffle:
    case SpvOpGroupNonUniformShuffleXor:
    case SpvOpGroupNonUniformShuffleUp:
    case SpvOpGroupNonUniformShuffleDown: return exchange(r, op);
    case SpvOpGroupNonUniformAll: return vote(r, "all");
    case SpvOpGroupNonUniformAny: return vote(r, "any");
    default: break;
    }
    const atomic *a = find_atomic(op);
    const group *g = find_group(op);
    if (a) return read_atomic(r, a);
    return g ? reduce(r, g) : read_lanes(r, op, mine);
}
