// SPDX-License-Identifier: MIT
// exact_sum.c: sums of floats that are exact, so that their order does not matter.
//
// A float is m · 2^p with an integer m of 24 bits (f32).  A sum is kept as integers, one 32-bit
// word for every eighth power of two:
//
//   word k of a sum counts 2^(8k − 149), as a signed number       (f64: 2^(8k − 1074))
//   m · 2^p  is added to word k = (p + 149) / 8, shifted by the rest: |m << 7| < 2^31, one atomic
//
// A word that leaves [−2^31, 2^31) has wrapped around, and the invocation that sees it carries
// 2^32, that is ±1, to word k + 4.  Which additions wrap depends on their order; how many more wrap
// upwards than downwards does not, since a word and the number of its wraps together are the exact
// sum.  Integer addition does the rest: all words, and so the sum, are the same in any order, on
// any device, and the one rounding happens when the sum is read.  The four words above the largest
// float's take the carries of 2^32 additions of it.
//
// inf and NaN set bits of a last word: they give what IEEE 754 gives, also where finite terms
// would cancel or their sum overflows on the way.  A sum that is 0 is +0.  Subnormal terms count in
// full.
//
// The obvious other way, a fixed point chosen per element by a first run of the same program, takes
// three words instead of 37, but twice the time, and both runs would have to compute the same bits.
//
// f64 splits into three parts of at most 24 bits, each added like an f32.  f16 uses the words of
// f32 that its numbers can reach.
#include "autodiff/deterministic/exact_sum.h"
#include "ir/build/edit.h"
#include "ir/text/text.h"

#include <math.h>

enum {
    WORDS_F16 = 10, // 12 … 21 of those of f32
    FIRST_F16 = 12,
    WORDS_F32 = 36,  // largest p is 253
    WORDS_F64 = 266, // largest p is 2045 + 48
    APART = 4,       // words to where a carry goes
    CARRY_DIGITS = 4,
};

// term32: word, what to add to it, and the bits of inf and NaN.  advance: one digit of 8 bits out
// of a word and the carry of the digits below.  round*: W holds the leading digit and those below
// it, `rest` whether anything is further down, K is the leading digit's place.
static const char source[] =
    "fn flags(special: bool, fraction: bool, minus: bool) -> i32 {\n"
    "    return select(special, select(fraction, 4, select(minus, 2, 1)), 0);\n"
    "}\n"
    "fn term32(v: f32) -> (u32, i32, i32) {\n"
    "    let u = bitcast_u32(v);\n"
    "    let e = (u >> 23) & 255;\n"
    "    let minus = (u >> 31) != 0;\n"
    "    let p = max(e, 1u) - 1;\n"
    "    let m = i32(((u & 0x7fffff) | select(e != 0, 0x800000u, 0u)) << (p & 7));\n"
    "    return (p >> 3, select(minus, -m, m), flags(e == 255, (u & 0x7fffff) != 0, minus));\n"
    "}\n"
    "fn term16(v: f16) -> (u32, i32, i32) {\n" // f32 holds it as a normal number
    "    let (k, q, f) = term32(f32(v));\n"
    "    return (select(q == 0 || f != 0, 0u, k - 12), q, f);\n"
    "}\n"
    "fn part(m: u64, p: u32, minus: bool) -> (u32, i32) {\n"
    "    let q = i32(u32(m & 0xffffff) << (p & 7));\n"
    "    return (p >> 3, select(minus, -q, q));\n"
    "}\n"
    "fn term64(v: f64) -> (u32, i32, u32, i32, u32, i32, i32) {\n"
    "    let u = bitcast_u64(v);\n"
    "    let e = u32(u >> 52) & 2047;\n"
    "    let fraction = u & 0xfffffffffffff;\n"
    "    let minus = (u >> 63) != 0;\n"
    "    let m = fraction | select(e != 0, 0x10000000000000u64, 0u64);\n"
    "    let p = max(e, 1u) - 1;\n"
    "    let (k0, q0) = part(m, p, minus);\n"
    "    let (k1, q1) = part(m >> 24, p + 24, minus);\n"
    "    let (k2, q2) = part(m >> 48, p + 48, minus);\n"
    "    return (k0, q0, k1, q1, k2, q2, flags(e == 2047, fraction != 0, minus));\n"
    "}\n"
    "fn advance(word: i32, carry: i32) -> (u32, i32) {\n"
    "    let low = (word & 255) + (carry & 255);\n"
    "    return (u32(low & 255), (word >> 8) + (carry >> 8) + (low >> 8));\n"
    "}\n"
    "fn zeros(digit: u32) -> i32 {\n" // that a digit leads with
    "    let a = digit | (digit >> 1);\n"
    "    let b = a | (a >> 2);\n"
    "    return 8 - i32(popcount(b | (b >> 4)));\n"
    "}\n"
    "fn round32(W: u32, rest: bool, K: i32, minus: bool) -> f32 {\n"
    "    let r = u32(max(8 - zeros(W >> 24), 8 * (3 - K)));\n"
    "    let kept = W >> r;\n"
    "    let below = W & ((1u << r) - 1);\n"
    "    let half = 1u << (r - 1);\n"
    "    let up = below > half || (below == half && (rest || (kept & 1) != 0));\n"
    "    let e = 8 * (K - 3) + i32(r);\n"
    "    let bits = e >= 254 ? 0x7f800000u : (u32(e) << 23) + kept + select(up, 1u, 0u);\n"
    "    return W == 0 ? 0.0 : bitcast_f32(bits | select(minus, 0x80000000u, 0u));\n"
    "}\n"
    "fn round16(W: u32, rest: bool, K: i32, minus: bool) -> f16 {\n" // K is a word of f32
    "    let r = u32(max(21 - zeros(W >> 24), 125 - 8 * (K - 3)));\n"
    "    let kept = W >> r;\n"
    "    let below = W & ((1u << r) - 1);\n"
    "    let half = 1u << (r - 1);\n"
    "    let up = below > half || (below == half && (rest || (kept & 1) != 0));\n"
    "    let unit = bitcast_f32(u32(8 * (K - 3) - 22 + i32(r)) << 23);\n" // 2^(8(K−3) − 149 + r)
    "    let v = f32(kept + select(up, 1u, 0u)) * unit;\n"
    "    return W == 0 ? 0.0f16 : f16(select(minus, -v, v));\n"
    "}\n"
    "fn round64(W: u64, rest: bool, K: i32, minus: bool) -> f64 {\n"
    "    let r = u64(max(11 - zeros(u32(W >> 56)), 8 * (7 - K)));\n"
    "    let kept = W >> r;\n"
    "    let below = W & ((1u64 << r) - 1);\n"
    "    let half = 1u64 << (r - 1);\n"
    "    let up = below > half || (below == half && (rest || (kept & 1) != 0));\n"
    "    let e = 8 * (K - 7) + i32(r);\n"
    "    let bits = e >= 2046 ? 0x7ff0000000000000u64\n"
    "                         : (u64(e) << 52) + kept + select(up, 1u64, 0u64);\n"
    "    return W == 0 ? 0.0f64 : bitcast_f64(bits | select(minus, 0x8000000000000000u64, 0u64));\n"
    "}\n";

static void call(vy_builder *b, const char *name, uint32_t nargs, const vy_value *args, uint32_t n,
                 vy_value *results)
{
    vy_inline_source(b, source, sizeof source - 1, name, nargs, args, n, results);
}

static uint32_t sum_words(vy_type t)
{
    return t == VY_F16 ? WORDS_F16 : t == VY_F32 ? WORDS_F32 : t == VY_F64 ? WORDS_F64 : 0;
}

uint32_t vy_fixed_words(vy_type t) { return sum_words(t) ? sum_words(t) + 1 : 0; }

static vy_value u32(vy_builder *b, uint32_t v) { return vy_int(b, VY_U32, v); }
static vy_value i32(vy_builder *b, int32_t v) { return vy_int(b, VY_I32, v); }

// ------------------------------------------------------------------------------------------ adding
// The carry of old + q: the sign of q where the sum has wrapped, else 0.
static vy_value carry_of(vy_builder *b, vy_value old, vy_value q)
{
    vy_value zero = i32(b, 0), minus = vy_lt(b, q, zero);
    vy_value wrapped = vy_ne(b, vy_lt(b, vy_add(b, old, q), old), minus);
    vy_value one = i32(b, 1);
    return vy_select(b, wrapped, vy_select(b, minus, i32(b, -1), one), zero);
}

// Completes the index of one word of a sum.
static void find_word(vy_builder *b, const vy_sum_place *place, vy_value word, vy_value *at)
{
    for (uint32_t k = 0; k < place->rank; k++) at[k] = place->at[k];
    at[place->rank] = place->first.id ? vy_add(b, place->first, word) : word;
}

static vy_value add_to_word(vy_builder *b, const vy_sum_place *place, vy_value word, vy_value q)
{
    vy_value at[VY_MAX_RANK + 1];
    find_word(b, place, word, at);
    return vy_atomic(b, "add", place->sums, at, q);
}

static void add_word(vy_builder *b, const vy_sum_place *sum, vy_value word, vy_value q)
{
    vy_value zero = i32(b, 0);
    vy_if(b, vy_ne(b, q, zero));
    vy_value carry = carry_of(b, add_to_word(b, sum, word, q), q);
    vy_var rest = vy_var_new(b, "carry", carry), place = vy_var_new(b, "word", word);
    vy_while(b);
    vy_while_test(b, vy_ne(b, vy_get(b, rest), zero));
    vy_value apart = u32(b, APART);
    vy_set(b, place, vy_add(b, vy_get(b, place), apart));
    vy_value left = vy_get(b, rest), old = add_to_word(b, sum, vy_get(b, place), left);
    vy_set(b, rest, carry_of(b, old, vy_get(b, rest)));
    vy_end(b);
    vy_end(b);
}

void vy_fixed_add(vy_builder *b, const vy_sum_place *place, vy_value v)
{
    static const char *const names[] = {"term16", "term32", "term64"};
    vy_type t = vy_value_type(b, v);
    if (vy_builder_failed(b)) return;
    uint32_t parts = t == VY_F64 ? 3 : 1;
    vy_value terms[7] = {0}, at[VY_MAX_RANK + 1];
    call(b, names[t - VY_F16], 1, &v, 2 * parts + 1, terms);
    vy_value flags = terms[2 * parts];
    vy_if(b, vy_ne(b, flags, i32(b, 0)));
    find_word(b, place, u32(b, sum_words(t)), at);
    vy_atomic(b, "or", place->sums, at, flags);
    vy_else(b);
    for (uint32_t k = 0; k < parts; k++) add_word(b, place, terms[2 * k], terms[2 * k + 1]);
    vy_end(b);
}

// --------------------------------------------------------------------------------------- reading
typedef struct reading {
    vy_builder *b;
    const vy_sum_place *place;
    uint32_t words;
    vy_value first, behind; // words that are not 0 are from `first` on, below `behind`
    vy_value minus;
} reading;

static vy_value word_at(reading *r, vy_value k)
{
    vy_value at[VY_MAX_RANK + 1];
    find_word(r->b, r->place, k, at);
    return vy_load(r->b, r->place->sums, at);
}

static void find_range(reading *r)
{
    vy_builder *b = r->b;
    vy_value n = u32(b, r->words);
    vy_var first = vy_var_new(b, NULL, n), behind = vy_var_new(b, NULL, u32(b, 0));
    vy_value k = vy_for(b, "k", u32(b, 0), n);
    vy_value zero = i32(b, 0);
    vy_if(b, vy_ne(b, word_at(r, k), zero));
    vy_set(b, first, vy_min(b, vy_get(b, first), k));
    vy_set(b, behind, vy_add(b, k, u32(b, 1)));
    vy_end(b);
    vy_end(b);
    r->first = vy_get(b, first);
    r->behind = vy_get(b, behind);
}

static void find_sign(reading *r)
{
    vy_builder *b = r->b;
    vy_var carry = vy_var_new(b, NULL, i32(b, 0));
    vy_value k = vy_for(b, "k", r->first, r->behind);
    vy_value args[] = {word_at(r, k), vy_get(b, carry)}, results[2] = {0};
    call(b, "advance", 2, args, 2, results);
    vy_set(b, carry, results[1]);
    vy_end(b);
    vy_value zero = i32(b, 0);
    r->minus = vy_lt(b, vy_get(b, carry), zero);
}

// The leading digits of the sum's absolute value, from the lowest up.
static void find_digits(reading *r, vy_type wide, vy_value found[3])
{
    vy_builder *b = r->b;
    bool w64 = wide == VY_U64;
    vy_value zero = vy_zero(b, wide), none = vy_bool(b, false);
    vy_var carry = vy_var_new(b, NULL, i32(b, 0)), window = vy_var_new(b, NULL, zero);
    vy_var negate = vy_var_new(b, NULL, u32(b, 1)), lost = vy_var_new(b, NULL, none);
    vy_var W = vy_var_new(b, NULL, zero), rest = vy_var_new(b, NULL, none);
    vy_var K = vy_var_new(b, NULL, u32(b, 0));
    vy_value k = vy_for(b, "k", r->first, vy_add(b, r->behind, u32(b, CARRY_DIGITS)));
    vy_value inside = vy_lt(b, k, r->behind);
    // Behind the last word there is no other, or another sum's, to which others may be adding.
    vy_value any = word_at(r, vy_min(b, k, u32(b, r->words)));
    vy_value word = vy_select(b, inside, any, i32(b, 0));
    vy_value args[] = {word, vy_get(b, carry)}, results[2] = {0};
    call(b, "advance", 2, args, 2, results);
    vy_set(b, carry, results[1]);
    // −x = ~x + 1, digit by digit
    vy_value one = vy_get(b, negate);
    vy_value inverted = vy_add(b, vy_sub(b, u32(b, 255), results[0]), one);
    vy_set(b, negate, vy_shr(b, inverted, u32(b, 8)));
    vy_value digit = vy_select(b, r->minus, vy_and(b, inverted, u32(b, 255)), results[0]);
    vy_value old = vy_get(b, window), byte = vy_int(b, wide, 255);
    vy_value loses = vy_ne(b, vy_and(b, old, byte), zero);
    vy_set(b, lost, vy_or(b, vy_get(b, lost), loses));
    vy_value by = vy_int(b, wide, w64 ? 56 : 24);
    vy_value top = vy_shl(b, w64 ? vy_cast(b, wide, digit) : digit, by);
    vy_set(b, window, vy_or(b, vy_shr(b, old, vy_int(b, wide, 8)), top));
    vy_if(b, vy_ne(b, digit, u32(b, 0)));
    vy_set(b, W, vy_get(b, window));
    vy_set(b, rest, vy_get(b, lost));
    vy_set(b, K, k);
    vy_end(b);
    vy_end(b);
    found[0] = vy_get(b, W), found[1] = vy_get(b, rest), found[2] = vy_get(b, K);
}

vy_value vy_fixed_total(vy_builder *b, const vy_sum_place *place, vy_type t)
{
    static const char *const names[] = {"round16", "round32", "round64"};
    reading r = {.b = b, .place = place, .words = sum_words(t)};
    find_range(&r);
    find_sign(&r);
    vy_value found[3], total = {0};
    find_digits(&r, t == VY_F64 ? VY_U64 : VY_U32, found);
    vy_value digit = vy_cast(b, VY_I32, found[2]);
    if (t == VY_F16) digit = vy_add(b, digit, i32(b, FIRST_F16));
    vy_value args[] = {found[0], found[1], digit, r.minus};
    call(b, names[t - VY_F16], 4, args, 1, &total);
    vy_value flags = word_at(&r, u32(b, r.words)), zero = i32(b, 0);
    vy_var v = vy_var_new(b, NULL, total);
    vy_if(b, vy_ne(b, flags, zero));
    vy_value inf = vy_float(b, t, (double)INFINITY), nan = vy_float(b, t, (double)NAN);
    vy_value minus = vy_neg(b, inf);
    vy_value one = vy_select(b, vy_eq(b, flags, i32(b, 2)), minus, nan);
    vy_set(b, v, vy_select(b, vy_eq(b, flags, i32(b, 1)), inf, one));
    vy_end(b);
    return vy_get(b, v);
}

void vy_fixed_clear(vy_builder *b, const vy_sum_place *place, vy_type t)
{
    vy_value at[VY_MAX_RANK + 1];
    vy_value words = u32(b, vy_fixed_words(t));
    find_word(b, place, vy_for(b, "k", u32(b, 0), words), at);
    vy_store(b, place->sums, at, i32(b, 0));
    vy_end(b);
}
