// SPDX-License-Identifier: MIT
// lanes.c: what lanes of a subgroup do together that is no single operation of ours: scans,
// clusters, quads, ballots.
//
// An inclusive scan adds what stands 1, 2, 4, … lanes below; a cluster adds what stands across it,
// at lane ^ 1, lane ^ 2, ….  Both are shuffles, so they have derivatives.  A ballot is four sums of
// bits, each of which one lane has.
#include "spirv/read/reading.h"

#include <math.h>
#include <string.h>

enum { MOST_LANES = 128 };

static uint32_t word(const reading *r, uint32_t i) { return read_word(&r->w, r->at, i); }

static vy_value number(reading *r, uint32_t k) { return vy_int(r->b, VY_U32, k); }

static vy_value own_lane(reading *r) { return vy_builtin_value(r->b, VY_LANE, 0); }

static vy_value from_lane(reading *r, vy_value x, vy_value lane)
{
    return vy_subgroup_lane(r->b, "shuffle", x, lane);
}

// ------------------------------------------------------------------------------ scans, clusters
static vy_value combined(reading *r, const char *name, vy_value x, vy_value y)
{
    if (!strcmp(name, "add")) return vy_add(r->b, x, y);
    if (!strcmp(name, "mul")) return vy_mul(r->b, x, y);
    if (!strcmp(name, "and") || !strcmp(name, "all")) return vy_and(r->b, x, y);
    if (!strcmp(name, "or") || !strcmp(name, "any")) return vy_or(r->b, x, y);
    if (!strcmp(name, "xor")) return vy_xor(r->b, x, y);
    return vy_call(r->b, name, 2, (vy_value[]){x, y});
}

// The least or greatest number of a type.
static vy_value extreme(reading *r, vy_type t, bool least)
{
    if (vy_type_is_float(t)) return vy_float(r->b, t, least ? -INFINITY : INFINITY);
    const int64_t bits = 8 * (int64_t)vy_type_size(t);
    if (!vy_type_is_signed(t)) return vy_int(r->b, t, least ? 0 : -1);
    const int64_t most = bits == 64 ? INT64_MAX : INT32_MAX;
    return vy_int(r->b, t, least ? -most - 1 : most);
}

// What changes no number that it is combined with.
static vy_value neutral(reading *r, const char *name, vy_type t)
{
    const bool one = !strcmp(name, "mul");
    if (t == VY_BOOL) return vy_bool(r->b, !strcmp(name, "all"));
    if (!strcmp(name, "min")) return extreme(r, t, false);
    if (!strcmp(name, "max")) return extreme(r, t, true);
    if (!strcmp(name, "and")) return vy_int(r->b, t, -1);
    return vy_type_is_float(t) ? vy_float(r->b, t, one) : vy_int(r->b, t, one);
}

static vy_value below(reading *r, vy_value x, uint32_t by, vy_value otherwise, vy_value combine)
{
    const vy_value own = own_lane(r), has = vy_le(r->b, number(r, by), own);
    return vy_select(r->b, has, combine.id ? combine : x, otherwise);
}

static vy_value lane_before(reading *r, uint32_t by)
{
    const vy_value n = number(r, by);
    return vy_sub(r->b, own_lane(r), n);
}

vy_value read_scan(reading *r, const char *name, bool exclusive, vy_value x)
{
    const vy_type t = vy_value_type(r->b, x);
    for (uint32_t by = 1; by < MOST_LANES && !vy_builder_failed(r->b); by *= 2) {
        const vy_value other = from_lane(r, x, lane_before(r, by));
        x = below(r, x, by, x, combined(r, name, other, x));
    }
    if (!exclusive || vy_builder_failed(r->b)) return x;
    const vy_value last = from_lane(r, x, lane_before(r, 1));
    return below(r, last, 1, neutral(r, name, t), (vy_value){0});
}

vy_value read_cluster(reading *r, const char *name, uint32_t size, vy_value x)
{
    for (uint32_t by = 1; by < size && !vy_builder_failed(r->b); by *= 2)
        x = combined(r, name, x, vy_subgroup_lane(r->b, "shuffle_xor", x, number(r, by)));
    return x;
}

// ----------------------------------------------------------------------------------------- quads
static bool define_each(reading *r, vy_value from)
{
    const uint32_t type = word(r, 1), n = read_type_of(r, type)->scalars;
    vy_value *v = read_room(r, type);
    for (uint32_t k = 0; v && k < n; k++) v[k] = from_lane(r, read_scalar(r, word(r, 4), k), from);
    return v && !vy_builder_failed(r->b) && read_define(r, word(r, 2), n, v);
}

// type, result, scope, value, which: 0 across x, 1 across y, 2 across both; or the lane of four
static bool quad(reading *r, bool swap)
{
    const vy_value own = own_lane(r), which = read_as(r, VY_U32, read_scalar(r, word(r, 5), 0));
    const vy_value first = vy_and(r->b, own, vy_not(r->b, number(r, 3)));
    return define_each(r, swap ? vy_xor(r->b, own, vy_add(r->b, which, number(r, 1)))
                               : vy_or(r->b, first, which));
}

// --------------------------------------------------------------------------------------- ballots
// In the word that has it: 1 << lane % 32.
static vy_value lane_bit(reading *r, vy_value lane)
{
    const vy_value at = vy_and(r->b, lane, number(r, 31));
    return vy_shl(r->b, number(r, 1), at);
}

// Word k of the mask of the lanes for which c holds.
static vy_value ballot_word(reading *r, vy_value c, uint32_t k)
{
    const vy_value own = own_lane(r), zero = number(r, 0);
    const vy_value bit = lane_bit(r, own), index = number(r, k);
    const vy_value mine = vy_eq(r->b, vy_shr(r->b, own, number(r, 5)), index);
    const vy_value has = vy_and(r->b, mine, c);
    return vy_subgroup(r->b, "or", vy_select(r->b, has, bit, zero));
}

static bool ballot(reading *r)
{
    vy_value v[4];
    for (uint32_t k = 0; k < 4; k++) v[k] = ballot_word(r, read_scalar(r, word(r, 4), 0), k);
    return !vy_builder_failed(r->b) && read_define(r, word(r, 2), 4, v);
}

// The bit of a lane in a mask of four words.
static bool mask_bit(reading *r, uint32_t mask, vy_value lane)
{
    vy_value of = read_scalar(r, mask, 3);
    const vy_value at = vy_shr(r->b, lane, number(r, 5));
    for (uint32_t k = 3; k-- > 0;) {
        const vy_value word_k = read_scalar(r, mask, k);
        of = vy_select(r->b, vy_eq(r->b, at, number(r, k)), word_k, of);
    }
    const vy_value shifted = vy_shr(r->b, of, vy_and(r->b, lane, number(r, 31)));
    const vy_value zero = number(r, 0);
    const vy_value v = vy_ne(r->b, vy_and(r->b, shifted, number(r, 1)), zero);
    return !vy_builder_failed(r->b) && read_define(r, word(r, 2), 1, &v);
}

static vy_value bit_count(reading *r, vy_value x) { return vy_call(r->b, "popcount", 1, &x); }

// The lanes of word k that count: all, those up to the own one, or those below it.
static vy_value counted_lanes(reading *r, uint32_t how, uint32_t k)
{
    if (how == SpvGroupOperationReduce) return number(r, UINT32_MAX);
    const vy_value own = own_lane(r), at = vy_shr(r->b, own, number(r, 5));
    const vy_value bit = lane_bit(r, own);
    vy_value under = vy_sub(r->b, bit, number(r, 1));
    if (how == SpvGroupOperationInclusiveScan) under = vy_or(r->b, under, bit);
    const vy_value here = vy_eq(r->b, at, number(r, k)), before = vy_lt(r->b, number(r, k), at);
    const vy_value none = number(r, 0);
    const vy_value whole = vy_select(r->b, before, number(r, UINT32_MAX), none);
    return vy_select(r->b, here, under, whole);
}

// type, result, scope, operation, mask
static bool count(reading *r)
{
    const uint32_t how = word(r, 4);
    vy_value sum = number(r, 0);
    if (how > SpvGroupOperationExclusiveScan)
        return read_refuse(r, "use the whole subgroup", "a count of a ballot among some lanes");
    for (uint32_t k = 0; k < 4; k++) {
        const vy_value bits = read_scalar(r, word(r, 5), k);
        const vy_value in = vy_and(r->b, bits, counted_lanes(r, how, k));
        sum = vy_add(r->b, sum, bit_count(r, in));
    }
    sum = read_as(r, read_scalar_type(r, word(r, 1), 0), sum);
    return !vy_builder_failed(r->b) && read_define(r, word(r, 2), 1, &sum);
}

// The number of the lowest or highest bit of a word that is not 0.
static vy_value found_bit(reading *r, vy_value x, bool lowest)
{
    const vy_value one = number(r, 1);
    if (lowest) {
        const vy_value less = vy_sub(r->b, x, one);
        return bit_count(r, vy_and(r->b, vy_not(r->b, x), less));
    }
    for (uint32_t by = 1; by < 32; by *= 2) x = vy_or(r->b, x, vy_shr(r->b, x, number(r, by)));
    return vy_sub(r->b, bit_count(r, x), one);
}

// type, result, scope, mask
static bool find_bit(reading *r, bool lowest)
{
    vy_value found = number(r, 0);
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t k = lowest ? 3 - i : i;
        const vy_value of = read_scalar(r, word(r, 4), k);
        const vy_value first = number(r, 32 * k);
        const vy_value at = vy_add(r->b, found_bit(r, of, lowest), first);
        found = vy_select(r->b, vy_ne(r->b, of, number(r, 0)), at, found);
    }
    found = read_as(r, read_scalar_type(r, word(r, 1), 0), found);
    return !vy_builder_failed(r->b) && read_define(r, word(r, 2), 1, &found);
}

static bool all_equal(reading *r)
{
    const uint32_t n = read_scalar_count(r, word(r, 4));
    vy_value all = vy_bool(r->b, true);
    for (uint32_t k = 0; k < n; k++) {
        const vy_value x = read_scalar(r, word(r, 4), k);
        const vy_value first = vy_subgroup_lane(r->b, "broadcast", x, number(r, 0));
        all = vy_and(r->b, all, vy_eq(r->b, x, first));
    }
    all = vy_subgroup(r->b, "all", all);
    return !vy_builder_failed(r->b) && read_define(r, word(r, 2), 1, &all);
}

bool read_lanes(reading *r, SpvOp op, bool *mine)
{
    *mine = true;
    switch (op) {
    case SpvOpGroupNonUniformBallot: return ballot(r);
    case SpvOpGroupNonUniformInverseBallot: return mask_bit(r, word(r, 4), own_lane(r));
    case SpvOpGroupNonUniformBallotBitExtract:
        return mask_bit(r, word(r, 4), read_as(r, VY_U32, read_scalar(r, word(r, 5), 0)));
    case SpvOpGroupNonUniformBallotBitCount: return count(r);
    case SpvOpGroupNonUniformBallotFindLSB: return find_bit(r, true);
    case SpvOpGroupNonUniformBallotFindMSB: return find_bit(r, false);
    case SpvOpGroupNonUniformAllEqual: return all_equal(r);
    case SpvOpGroupNonUniformQuadSwap: return quad(r, true);
    case SpvOpGroupNonUniformQuadBroadcast: return quad(r, false);
    default: *mine = false; return true;
    }
}
