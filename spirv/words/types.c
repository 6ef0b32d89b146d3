// SPDX-License-Identifier: MIT
// types.c: types and constants, deduplicated.
//
// The table holds offsets into the GLOBALS section; an entry's key is its instruction without the
// result id, so nothing is stored twice.
#include "spirv/words/module.h"

#include <string.h>

// Word of the instruction that holds its result id: OpType… has no result type.
static uint32_t result_word(uint32_t first_word)
{
    SpvOp op = (SpvOp)(first_word & SpvOpCodeMask);
    return op >= SpvOpTypeVoid && op <= SpvOpTypePipe ? 1 : 2;
}

static uint32_t hash_words(uint32_t h, const uint32_t *w, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        h = (h ^ w[i]) * 0x9E3779B1u;
        h ^= h >> 15;
    }
    return h;
}

static uint32_t hash_of(const uint32_t *inst)
{
    uint32_t r = result_word(inst[0]), n = inst[0] >> SpvWordCountShift;
    uint32_t h = hash_words(0, inst, r);
    return hash_words(h, inst + r + 1, n - r - 1);
}

static bool grow_table(vy_spv *m)
{
    uint32_t size = m->table_size ? m->table_size * 2 : 128;
    uint32_t *table = vy_realloc(NULL, (size_t)size * sizeof *table);
    if (!table) {
        m->oom = true;
        return false;
    }
    memset(table, 0, (size_t)size * sizeof *table);
    const uint32_t *globals = m->sections[VY_SEC_GLOBALS].data;
    for (uint32_t i = 0; i < m->table_size; i++) {
        if (!m->table[i]) continue;
        uint32_t slot = hash_of(globals + m->table[i] - 1) & (size - 1);
        while (table[slot]) slot = (slot + 1) & (size - 1);
        table[slot] = m->table[i];
    }
    vy_free(m->table);
    m->table = table;
    m->table_size = size;
    return true;
}

uint32_t vy_spv_intern(vy_spv *m, SpvOp op, uint32_t type, uint32_t n, const uint32_t *operands)
{
    if (m->oom || (m->table_used * 2 >= m->table_size && !grow_table(m))) return 1;
    uint32_t key[2] = {(n + (type ? 3 : 2)) << SpvWordCountShift | (uint32_t)op, type};
    uint32_t lead = type ? 2 : 1; // words before the result id
    uint32_t h = hash_words(hash_words(0, key, lead), operands, n);
    const vy_words *g = &m->sections[VY_SEC_GLOBALS];
    uint32_t slot = h & (m->table_size - 1);
    for (; m->table[slot]; slot = (slot + 1) & (m->table_size - 1)) {
        const uint32_t *w = g->data + m->table[slot] - 1;
        if (memcmp(w, key, (size_t)lead * 4) == 0 &&
            (!n || memcmp(w + lead + 1, operands, (size_t)n * 4) == 0))
            return w[lead];
    }
    uint32_t id = vy_spv_id(m), words[3] = {key[0], type ? type : id, id};
    if (!vy_vec_reserve(&m->sections[VY_SEC_GLOBALS], lead + 1 + n)) {
        m->oom = true;
        return id;
    }
    m->table[slot] = g->count + 1;
    m->table_used++;
    memcpy(g->data + g->count, words, (size_t)(lead + 1) * 4);
    if (n) memcpy(g->data + g->count + lead + 1, operands, (size_t)n * 4);
    m->sections[VY_SEC_GLOBALS].count += lead + 1 + n;
    return id;
}

// ------------------------------------------------------------------------------------------ types
uint32_t vy_type_bits(vy_type t) { return t == VY_BOOL ? 32 : vy_type_size(t) * 8; }

vy_type vy_unsigned_of(vy_type t)
{
    switch (t) {
    case VY_I32: return VY_U32;
    case VY_I64: return VY_U64;
    case VY_I8: return VY_U8;
    case VY_I16: return VY_U16;
    default: return t;
    }
}

uint32_t vy_spv_int_type(vy_spv *m, uint32_t width, bool is_signed)
{
    return VY_INTERN(m, SpvOpTypeInt, 0, width, is_signed);
}

static void declare_needs(vy_spv *m, vy_type t)
{
    switch (t) {
    case VY_I64:
    case VY_U64:
        vy_spv_capability(m, SpvCapabilityInt64);
        vy_spv_feature(m, VY_FEATURE_BIT(INT64));
        break;
    case VY_F16:
        vy_spv_capability(m, SpvCapabilityFloat16);
        vy_spv_feature(m, VY_FEATURE_BIT(FLOAT16));
        break;
    case VY_F64:
        vy_spv_capability(m, SpvCapabilityFloat64);
        vy_spv_feature(m, VY_FEATURE_BIT(FLOAT64));
        break;
    default: break;
    }
}

uint32_t vy_spv_type(vy_spv *m, vy_type t)
{
    if (m->types[t]) return m->types[t];
    uint32_t id;
    declare_needs(m, t);
    if (t == VY_BOOL)
        id = vy_spv_intern(m, SpvOpTypeBool, 0, 0, NULL);
    else if (t == VY_VOID)
        id = vy_spv_intern(m, SpvOpTypeVoid, 0, 0, NULL);
    else if (vy_type_is_float(t))
        id = VY_INTERN(m, SpvOpTypeFloat, 0, vy_type_bits(t));
    else
        id = vy_spv_int_type(m, vy_type_bits(t), vy_type_is_signed(t));
    return m->types[t] = id;
}

uint32_t vy_spv_pointer(vy_spv *m, SpvStorageClass cls, uint32_t pointee)
{
    return VY_INTERN(m, SpvOpTypePointer, 0, (uint32_t)cls, pointee);
}

// -------------------------------------------------------------------------------------- constants
uint32_t vy_spv_bool(vy_spv *m, bool value)
{
    return vy_spv_intern(m, value ? SpvOpConstantTrue : SpvOpConstantFalse, vy_spv_type(m, VY_BOOL),
                         0, NULL);
}

uint32_t vy_spv_u32(vy_spv *m, uint32_t value)
{
    uint32_t type = vy_spv_type(m, VY_U32), fresh = m->next_id;
    uint32_t id = VY_INTERN(m, SpvOpConstant, type, value);
    if (id < fresh) return id;
    if (!vy_vec_push(&m->known, id) || !vy_vec_push(&m->known, value)) m->oom = true;
    return id;
}

bool vy_spv_known_u32(const vy_spv *m, uint32_t id, uint32_t *value)
{
    uint32_t lo = 0, hi = m->known.count / 2;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (m->known.data[2 * mid] < id)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo >= m->known.count / 2 || m->known.data[2 * lo] != id) return false;
    *value = m->known.data[2 * lo + 1];
    return true;
}

uint32_t vy_spv_const(vy_spv *m, vy_type t, vy_scalar value)
{
    if (t == VY_BOOL) return vy_spv_bool(m, value.u != 0);
    if (t == VY_U32) return vy_spv_u32(m, (uint32_t)value.u);
    uint32_t type = vy_spv_type(m, t), words[2] = {0, 0};
    uint64_t bits = value.u;
    if (t == VY_F32) {
        float f = (float)value.f;
        memcpy(words, &f, 4);
        return vy_spv_intern(m, SpvOpConstant, type, 1, words);
    }
    if (t == VY_F16) {
        words[0] = vy_f16_bits(value.f);
        return vy_spv_intern(m, SpvOpConstant, type, 1, words);
    }
    words[0] = (uint32_t)bits; // of an f64, the same bits
    words[1] = (uint32_t)(bits >> 32);
    return vy_spv_intern(m, SpvOpConstant, type, vy_type_size(t) == 8 ? 2 : 1, words);
}

uint32_t vy_spv_float(vy_spv *m, vy_type t, double value)
{
    return vy_spv_const(m, t, (vy_scalar){.f = value});
}

uint32_t vy_spv_int(vy_spv *m, vy_type t, int64_t value)
{
    return vy_spv_const(m, t, (vy_scalar){.i = value});
}

uint32_t vy_spv_zero(vy_spv *m, vy_type t) { return vy_spv_const(m, t, (vy_scalar){.u = 0}); }

// --------------------------------------------------------------------------------- built-in inputs
uint32_t vy_spv_input(vy_spv *m, uint32_t input)
{
    static const struct {
        SpvBuiltIn builtin;
        const char *name;
    } inputs[VY_INPUT_COUNT] = {
        [VY_INPUT_GLOBAL_ID] = {SpvBuiltInGlobalInvocationId, "global_invocation_id"},
        [VY_INPUT_LOCAL_ID] = {SpvBuiltInLocalInvocationId, "local_invocation_id"},
        [VY_INPUT_NUM_GROUPS] = {SpvBuiltInNumWorkgroups, "num_workgroups"},
        [VY_INPUT_GROUP_ID] = {SpvBuiltInWorkgroupId, "workgroup_id"},
        [VY_INPUT_LINDEX] = {SpvBuiltInLocalInvocationIndex, "local_invocation_index"},
        [VY_INPUT_LANE] = {SpvBuiltInSubgroupLocalInvocationId, "subgroup_lane"},
        [VY_INPUT_SUBGROUP_SIZE] = {SpvBuiltInSubgroupSize, "subgroup_size"},
    };
    if (m->input_vars[input]) return m->input_vars[input];
    uint32_t type = vy_spv_type(m, VY_U32);
    if (input <= VY_INPUT_GROUP_ID) {
        if (!m->uint3_type) m->uint3_type = VY_INTERN(m, SpvOpTypeVector, 0, type, 3);
        type = m->uint3_type;
    }
    if (input == VY_INPUT_LANE || input == VY_INPUT_SUBGROUP_SIZE) {
        vy_spv_capability(m, SpvCapabilityGroupNonUniform);
        vy_spv_feature(m, VY_FEATURE_BIT(SUBGROUP_BASIC));
    }
    uint32_t pointer = vy_spv_pointer(m, SpvStorageClassInput, type), id = vy_spv_id(m);
    VY_GLOBAL(m, SpvOpVariable, pointer, id, SpvStorageClassInput);
    VY_DECORATE(m, id, SpvDecorationBuiltIn, (uint32_t)inputs[input].builtin);
    vy_spv_name(m, id, inputs[input].name);
    return m->input_vars[input] = id;
}
