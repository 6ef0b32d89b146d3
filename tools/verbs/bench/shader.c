// SPDX-License-Identifier: MIT
// shader.c: see shader.h.
//
// One pass: decorations stand before types, types before what uses them.  The module has passed
// spirv-val, so ids are defined.  Lengths are checked all the same: nothing here may depend on
// another library's care.
#include "tools/verbs/bench/shader.h"

#include <spirv/unified1/spirv.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER = 5, NONE = UINT32_MAX, MAX_FIELDS = 64 };

typedef struct entity {
    size_t at;      // where the type, constant or variable is defined; 0: something else
    uint64_t bytes; // of a value of the type; 0: it has no size
    uint32_t set, binding;
    uint32_t read_only; // members that are NonWritable
    // Of a type: variables of storage class Uniform are storage buffers (before SPIR-V 1.3).
    bool buffer_block;
} entity;

typedef struct module {
    const uint32_t *words;
    size_t count;
    uint32_t bound;
    entity *entities; // by id
    const char *path;
    vy_diag *d;
} module;

static uint32_t length_at(const module *m, size_t at) { return m->words[at] >> SpvWordCountShift; }
static SpvOp op_at(const module *m, size_t at) { return (SpvOp)(m->words[at] & SpvOpCodeMask); }
static uint32_t word(const module *m, size_t at, uint32_t i) // 0 past the instruction's end
{
    return i < length_at(m, at) ? m->words[at + i] : 0;
}
static entity *entity_of(const module *m, uint32_t id) // the one of id 0 is empty
{
    return &m->entities[id < m->bound ? id : 0];
}
static size_t definition(const module *m, uint32_t id) { return entity_of(m, id)->at; }

// The instructions one after the other; 0 at the end.
static size_t next(const module *m, size_t at)
{
    const size_t to = at ? at + length_at(m, at) : HEADER;
    if (to >= m->count || length_at(m, to) == 0 || length_at(m, to) > m->count - to) return 0;
    return to;
}

static bool refuse(const module *m, const char *fix, const char *what, uint32_t number)
{
    return fail(m->d, TOOL_PLAN, fix, "%.200s: %s %u", m->path, what, number);
}

// ------------------------------------------------------------------------------------------- types
// Bytes of a value of the type defined at `at`, whose parts are defined before it.
static uint64_t bytes_of(const module *m, size_t at)
{
    const uint64_t part = entity_of(m, word(m, at, 2))->bytes;
    uint64_t total = 0;
    switch (op_at(m, at)) {
    case SpvOpTypeInt:
    case SpvOpTypeFloat: return word(m, at, 2) / 8;
    case SpvOpTypeBool: return 4;
    case SpvOpTypeVector:
    case SpvOpTypeMatrix: total = word(m, at, 3); break;
    case SpvOpTypeArray: {
        const size_t length = definition(m, word(m, at, 3));
        total = length ? word(m, length, 3) : 0;
        break;
    }
    case SpvOpTypeStruct:
        for (uint32_t i = 2; i < length_at(m, at) && total <= UINT32_MAX; i++)
            total += entity_of(m, m->words[at + i])->bytes;
        return total;
    default: return 0;
    }
    // More than 32 bits count is more than any device has.
    return __builtin_mul_overflow(total, part, &total) || total > UINT32_MAX ? UINT32_MAX : total;
}

static uint32_t pointee(const module *m, size_t variable)
{
    const size_t pointer = definition(m, word(m, variable, 1));
    return pointer ? word(m, pointer, 3) : 0;
}

static uint32_t member_offset(const module *m, uint32_t type, uint32_t index)
{
    for (size_t at = next(m, 0); at; at = next(m, at))
        if (op_at(m, at) == SpvOpMemberDecorate && word(m, at, 1) == type &&
            word(m, at, 2) == index && word(m, at, 3) == SpvDecorationOffset)
            return word(m, at, 4);
    return NONE;
}

// --------------------------------------------------------------------------------------- variables
static bool add_buffer(shader *s, const module *m, size_t at)
{
    const entity *variable = entity_of(m, word(m, at, 2)), *type = entity_of(m, pointee(m, at));
    shader_binding *more = realloc(s->bindings, (s->binding_count + 1) * sizeof *more);
    if (!more) return fail_memory(m->d);
    s->bindings = more;
    if (!type->at || op_at(m, type->at) != SpvOpTypeStruct)
        return refuse(m, "declare one block per binding", "an array of buffers at binding",
                      variable->binding);
    const bool read_only = type->read_only >= length_at(m, type->at) - 2;
    s->bindings[s->binding_count++] = (shader_binding){variable->set, variable->binding, read_only};
    return true;
}

static bool add_push_constants(shader *s, const module *m, size_t at)
{
    const uint32_t type = pointee(m, at);
    const size_t body = definition(m, type);
    const uint32_t count = body ? length_at(m, body) - 2 : 0;
    if (s->fields) return refuse(m, "make it one", "a second push constant block, id", type);
    if (count > MAX_FIELDS) return refuse(m, "use fewer", "push constants beyond 64:", count);
    s->fields = calloc(count + 1, sizeof *s->fields);
    if (!s->fields) return fail_memory(m->d);
    for (uint32_t i = 0; i < count; i++) {
        const size_t field = definition(m, m->words[body + 2 + i]);
        const SpvOp op = field ? op_at(m, field) : SpvOpNop;
        if (op != SpvOpTypeInt && op != SpvOpTypeFloat)
            return refuse(m, "make it a scalar: int, uint, float or double",
                          "not a scalar: push constant", i);
        s->fields[i] =
            (shader_field){member_offset(m, type, i), word(m, field, 2) / 8, op == SpvOpTypeFloat};
    }
    s->field_count = count;
    return true;
}

static bool add_variable(shader *s, const module *m, size_t at)
{
    switch (word(m, at, 3)) {
    case SpvStorageClassStorageBuffer: return add_buffer(s, m, at);
    case SpvStorageClassUniform:
        if (entity_of(m, pointee(m, at))->buffer_block) return add_buffer(s, m, at);
        return refuse(m, "declare it `buffer`, or its members as push constants",
                      "a uniform block at binding", entity_of(m, word(m, at, 2))->binding);
    case SpvStorageClassPushConstant: return add_push_constants(s, m, at);
    case SpvStorageClassWorkgroup: {
        const uint64_t bytes = s->shared_bytes + entity_of(m, pointee(m, at))->bytes;
        s->shared_bytes = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
        return true;
    }
    case SpvStorageClassInput:
    case SpvStorageClassPrivate:
    case SpvStorageClassFunction: return true;
    default:
        return refuse(m, "use storage buffers, push constants and shared memory only",
                      "a resource of storage class", word(m, at, 3));
    }
}

// -------------------------------------------------------------------------------- the whole module
static const struct {
    SpvCapability capability;
    vy_features feature;
} capabilities[] = {
    {SpvCapabilityShader, 0},
    {SpvCapabilityMatrix, 0},
    {SpvCapabilityFloat64, VY_FEATURE_BIT(FLOAT64)},
    {SpvCapabilityFloat16, VY_FEATURE_BIT(FLOAT16)},
    {SpvCapabilityInt64, VY_FEATURE_BIT(INT64)},
    {SpvCapabilityInt16, VY_FEATURE_BIT(INT16)},
    {SpvCapabilityInt8, VY_FEATURE_BIT(INT8)},
    {SpvCapabilityStorageBuffer16BitAccess, VY_FEATURE_BIT(STORAGE_16BIT)},
    {SpvCapabilityStorageBuffer8BitAccess, VY_FEATURE_BIT(STORAGE_8BIT)},
    {SpvCapabilityInt64Atomics, VY_FEATURE_BIT(ATOMIC_INT64)},
    {SpvCapabilityAtomicFloat32AddEXT, VY_FEATURE_BIT(ATOMIC_FLOAT32_ADD)},
    {SpvCapabilityAtomicFloat64AddEXT, VY_FEATURE_BIT(ATOMIC_FLOAT64_ADD)},
    {SpvCapabilityGroupNonUniform, VY_FEATURE_BIT(SUBGROUP_BASIC)},
    {SpvCapabilityGroupNonUniformVote, VY_FEATURE_BIT(SUBGROUP_VOTE)},
    {SpvCapabilityGroupNonUniformArithmetic, VY_FEATURE_BIT(SUBGROUP_ARITHMETIC)},
    {SpvCapabilityGroupNonUniformBallot, VY_FEATURE_BIT(SUBGROUP_BALLOT)},
    {SpvCapabilityGroupNonUniformShuffle, VY_FEATURE_BIT(SUBGROUP_SHUFFLE)},
};

static bool add_capability(shader *s, const module *m, uint32_t capability)
{
    for (size_t i = 0; i < COUNT_OF(capabilities); i++)
        if ((uint32_t)capabilities[i].capability == capability)
            return s->features |= capabilities[i].feature, true;
    return refuse(m, "write the shader without it; `vyre-grad devices` lists what can be used",
                  "the runtime cannot enable SPIR-V capability", capability);
}

static void note_decoration(module *m, size_t at)
{
    entity *e = entity_of(m, word(m, at, 1));
    const bool whole = op_at(m, at) == SpvOpDecorate;
    const uint32_t decoration = word(m, at, whole ? 2 : 3);
    if (whole && decoration == SpvDecorationDescriptorSet) e->set = word(m, at, 3);
    if (whole && decoration == SpvDecorationBinding) e->binding = word(m, at, 3);
    if (whole && decoration == SpvDecorationBufferBlock) e->buffer_block = true;
    if (!whole && decoration == SpvDecorationNonWritable) e->read_only++;
}

static bool note_definition(module *m, size_t at)
{
    const SpvOp op = op_at(m, at);
    const bool type = op >= SpvOpTypeVoid && op <= SpvOpTypeFunction;
    const uint32_t id = type ? word(m, at, 1) : word(m, at, 2);
    if (op == SpvOpSpecConstant)
        return refuse(m, "write a `const`", "a specialisation constant, id", id);
    if (!type && op != SpvOpConstant && op != SpvOpVariable) return true;
    if (!id || id >= m->bound)
        return refuse(m, "compile it with glslangValidator -V",
                      "not SPIR-V: beyond its bound is id", id);
    m->entities[id].at = at;
    if (type) m->entities[id].bytes = bytes_of(m, at);
    return true;
}

// One instruction; types come before the variables that use them.
static bool read_instruction(shader *s, module *m, size_t at, bool *sized)
{
    const SpvOp op = op_at(m, at);
    if (op == SpvOpCapability) return add_capability(s, m, word(m, at, 1));
    if (op == SpvOpExecutionMode && word(m, at, 2) == SpvExecutionModeLocalSize) {
        for (uint32_t i = 0; i < 3; i++) s->local_size[i] = word(m, at, 3 + i);
        *sized = true;
    }
    if (op == SpvOpDecorate || op == SpvOpMemberDecorate) note_decoration(m, at);
    return note_definition(m, at) && (op != SpvOpVariable || add_variable(s, m, at));
}

static bool read_all(shader *s, module *m)
{
    uint32_t entries = 0;
    bool sized = false, named = false;
    for (size_t at = next(m, 0); at; at = next(m, at)) {
        if (op_at(m, at) == SpvOpEntryPoint) {
            entries++;
            named = length_at(m, at) > 4 && word(m, at, 1) == SpvExecutionModelGLCompute &&
                    !memcmp(&m->words[at + 3], "main\0\0\0", 8);
        }
        if (!read_instruction(s, m, at, &sized)) return false;
    }
    if (entries != 1 || !named)
        return fail(m->d, TOOL_PLAN, "compile one compute shader per file",
                    "%.200s: not one compute entry point called main", m->path);
    return sized || fail(m->d, TOOL_PLAN, "give local_size_x … as numbers",
                         "%.200s: the workgroup size is not constant", m->path);
}

bool shader_read(shader *s, const uint32_t *words, size_t count, const char *path, vy_diag *d)
{
    *s = (shader){0};
    module m = {.words = words, .count = count, .path = path, .d = d};
    if (count <= HEADER || words[3] > 0x400000 || words[4]) // the last one is reserved
        return fail(d, TOOL_PLAN, "compile it with glslangValidator -V", "%.200s: not SPIR-V",
                    path);
    m.bound = words[3];
    s->version = words[1];
    m.entities = calloc((size_t)m.bound + 1, sizeof *m.entities);
    bool ok = m.entities || fail_memory(d);
    for (uint32_t i = 1; ok && i < m.bound; i++) m.entities[i].set = m.entities[i].binding = NONE;
    ok = ok && read_all(s, &m);
    free(m.entities);
    return ok;
}

void shader_free(shader *s)
{
    free(s->bindings);
    free(s->fields);
    *s = (shader){0};
}
