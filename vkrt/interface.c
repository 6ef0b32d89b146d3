// SPDX-License-Identifier: MIT
// interface.c: see interface.h.  One walk notes what each id is; a second one, over the variables,
// makes slots of them.
//
// Numbers are those of the SPIR-V specification; only what compute shaders can have is known here.
#include "vkrt/interface.h"

enum { // opcodes
    OP_ENTRY_POINT = 15,
    OP_CAPABILITY = 17,
    OP_TYPE_INT = 21,
    OP_TYPE_FLOAT = 22,
    OP_TYPE_VECTOR = 23,
    OP_TYPE_MATRIX = 24,
    OP_TYPE_IMAGE = 25,
    OP_TYPE_SAMPLER = 26,
    OP_TYPE_SAMPLED_IMAGE = 27,
    OP_TYPE_ARRAY = 28,
    OP_TYPE_RUNTIME_ARRAY = 29,
    OP_TYPE_STRUCT = 30,
    OP_TYPE_POINTER = 32,
    OP_CONSTANT = 43,
    OP_SPEC_CONSTANT = 50,
    OP_VARIABLE = 59,
    OP_DECORATE = 71,
};
enum { DECORATION_BUFFER_BLOCK = 3, DECORATION_BINDING = 33, DECORATION_SET = 34 };
enum { STORAGE_UNIFORM_CONSTANT = 0, STORAGE_UNIFORM = 2, STORAGE_PUSH = 9, STORAGE_BUFFER = 12 };
enum { MAX_BOUND = 0x3fffff }; // what Vulkan asks implementations to take
enum { DIM_BUFFER = 5, EXECUTION_COMPUTE = 5 };

typedef struct spirv_id {
    uint16_t op;       // of what declares it
    bool buffer_block; // the old form of a storage buffer
    bool has_set, has_binding;
    uint32_t set, binding;
    uint32_t inner;  // type: element, pointee; variable: its type
    uint32_t number; // constant: value; array: id of its length; pointer, variable: storage class
    uint32_t dim;    // image
    bool storage;    // image: not sampled
} spirv_id;

typedef struct reader {
    vkrt_interface *out;
    spirv_id *ids;
    uint32_t bound;
    const char *entry;
} reader;

static const struct {
    uint32_t capability;
    vy_feature_index feature;
} CAPABILITIES[] = {
    {9, VY_FEATURE_INDEX_FLOAT16},
    {10, VY_FEATURE_INDEX_FLOAT64},
    {11, VY_FEATURE_INDEX_INT64},
    {22, VY_FEATURE_INDEX_INT16},
    {39, VY_FEATURE_INDEX_INT8},
    {61, VY_FEATURE_INDEX_SUBGROUP_BASIC},
    {62, VY_FEATURE_INDEX_SUBGROUP_VOTE},
    {63, VY_FEATURE_INDEX_SUBGROUP_ARITHMETIC},
    {64, VY_FEATURE_INDEX_SUBGROUP_BALLOT},
    {65, VY_FEATURE_INDEX_SUBGROUP_SHUFFLE},
    {4433, VY_FEATURE_INDEX_STORAGE_16BIT},
    {4448, VY_FEATURE_INDEX_STORAGE_8BIT},
};

// --- First walk ----------------------------------------------------------------------------------

static void decorate(spirv_id *id, const uint32_t *w, uint32_t length)
{
    if (w[2] == DECORATION_BUFFER_BLOCK) id->buffer_block = true;
    if (length < 4) return;
    if (w[2] == DECORATION_SET) id->set = w[3], id->has_set = true;
    if (w[2] == DECORATION_BINDING) id->binding = w[3], id->has_binding = true;
}

static void entry_point(const reader *r, const uint32_t *w, uint32_t length)
{
    const size_t room = (length - 3) * sizeof *w, size = strlen(r->entry) + 1;
    if (w[1] == EXECUTION_COMPUTE && size <= room && !memcmp(&w[3], r->entry, size))
        r->out->has_entry = true;
}

// The least number of words of the instruction, and which of them is its id; 0: not recorded.
static bool shape_of(uint32_t op, uint32_t *least, uint32_t *result)
{
    *result = 1;
    switch (op) {
    case OP_TYPE_SAMPLER:
    case OP_TYPE_STRUCT: *least = 2; return true;
    case OP_TYPE_SAMPLED_IMAGE:
    case OP_TYPE_RUNTIME_ARRAY: *least = 3; return true;
    case OP_DECORATE: *least = 3; return true;
    case OP_TYPE_ARRAY:
    case OP_TYPE_POINTER: *least = 4; return true;
    case OP_TYPE_IMAGE: *least = 9; return true;
    case OP_CONSTANT:
    case OP_SPEC_CONSTANT:
    case OP_VARIABLE:
        *least = 4;
        *result = 2;
        return true;
    default: return false;
    }
}

// False: an id beyond the module's bound, or an instruction too short.
static bool note(const reader *r, const uint32_t *w, uint32_t op, uint32_t length)
{
    uint32_t least, result;
    if (op == OP_ENTRY_POINT && length > 3) entry_point(r, w, length);
    for (size_t i = 0; op == OP_CAPABILITY && length > 1 && i < 12; i++)
        if (CAPABILITIES[i].capability == w[1])
            r->out->features |= (vy_features)1 << CAPABILITIES[i].feature;
    if (!shape_of(op, &least, &result)) return true;
    if (length < least || w[result] >= r->bound) return false;
    spirv_id *id = &r->ids[w[result]];
    if (op == OP_DECORATE) return decorate(id, w, length), true;
    id->op = (uint16_t)op;
    switch (op) {
    case OP_TYPE_SAMPLED_IMAGE:
    case OP_TYPE_RUNTIME_ARRAY: id->inner = w[2]; break;
    case OP_TYPE_ARRAY: id->inner = w[2], id->number = w[3]; break;
    case OP_TYPE_POINTER: id->number = w[2], id->inner = w[3]; break;
    case OP_TYPE_IMAGE: id->dim = w[3], id->storage = w[7] == 2; break;
    case OP_CONSTANT:
    case OP_SPEC_CONSTANT: id->number = w[3]; break;
    case OP_VARIABLE: id->inner = w[1], id->number = w[3]; break;
    }
    return id->inner < r->bound && (op != OP_TYPE_ARRAY || id->number < r->bound);
}

// --- Variables -----------------------------------------------------------------------------------

static bool descriptor_type(const spirv_id *type, uint32_t storage, VkDescriptorType *out)
{
    const bool uniform = storage == STORAGE_UNIFORM && !type->buffer_block;
    switch (type->op) {
    case OP_TYPE_SAMPLER: *out = VK_DESCRIPTOR_TYPE_SAMPLER; return true;
    case OP_TYPE_SAMPLED_IMAGE: *out = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER; return true;
    case OP_TYPE_IMAGE:
        if (type->dim == DIM_BUFFER)
            *out = type->storage ? VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER
                                 : VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER;
        else
            *out =
                type->storage ? VK_DESCRIPTOR_TYPE_STORAGE_IMAGE : VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE;
        return true;
    case OP_TYPE_STRUCT:
        *out = uniform ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        return true;
    default: return false;
    }
}

static void add_slot(vkrt_interface *out, vkrt_slot slot)
{
    for (uint32_t i = 0; i < out->slot_count; i++) { // one binding, seen as several types
        vkrt_slot *s = &out->slots[i];
        if (s->set != slot.set || s->binding != slot.binding) continue;
        if (s->count < slot.count) s->count = slot.count;
        return;
    }
    out->slots[out->slot_count++] = slot;
    if (slot.set >= out->set_count) out->set_count = slot.set + 1;
}

static vkrt_status take_variable(const reader *r, const spirv_id *v, vkrt_error *error)
{
    vkrt_slot slot = {v->set, v->binding, 1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER};
    const spirv_id *type = &r->ids[r->ids[v->inner].inner];
    // A bound on the depth, so that a type that contains itself ends here too.
    for (uint32_t depth = 0; depth < 16; depth++) {
        if (type->op != OP_TYPE_ARRAY && type->op != OP_TYPE_RUNTIME_ARRAY) break;
        if (type->op == OP_TYPE_ARRAY) slot.count *= r->ids[type->number].number;
        type = &r->ids[type->inner];
    }
    if (v->set >= VKRT_INTERFACE_SETS || slot.count == 0 || slot.count > 4096 ||
        !descriptor_type(type, v->number, &slot.type))
        return vkrt_fail(error, VKRT_BAD_KERNEL, "",
                         "set %u binding %u of the module has a type that cannot be bound here",
                         v->set, v->binding);
    add_slot(r->out, slot);
    return VKRT_OK;
}

static vkrt_status take_variables(const reader *r, vkrt_error *error)
{
    uint32_t most = 0;
    vkrt_status status = VKRT_OK;
    for (uint32_t i = 0; i < r->bound; i++) most += r->ids[i].op == OP_VARIABLE;
    r->out->slots = calloc(most + 1, sizeof *r->out->slots);
    if (!r->out->slots) return vkrt_fail_memory(error);
    for (uint32_t i = 0; !status && i < r->bound; i++) {
        const spirv_id *v = &r->ids[i];
        if (v->op != OP_VARIABLE) continue;
        // A range may be larger than what the shader declares; this is what every device has.
        if (v->number == STORAGE_PUSH) r->out->push_bytes = 128;
        if (v->has_set && v->has_binding &&
            (v->number == STORAGE_UNIFORM_CONSTANT || v->number == STORAGE_UNIFORM ||
             v->number == STORAGE_BUFFER))
            status = take_variable(r, v, error);
    }
    return status;
}

// --- The call ------------------------------------------------------------------------------------

vkrt_status vkrt_interface_read(const uint32_t *words, size_t word_count, const char *entry,
                                vkrt_interface *out, vkrt_error *error)
{
    *out = (vkrt_interface){0};
    if (!words || word_count < 5 || words[0] != 0x07230203 || words[3] > MAX_BOUND)
        return vkrt_fail(error, VKRT_BAD_KERNEL, "give a SPIR-V module of this byte order",
                         "not SPIR-V");
    out->spirv_version = words[1];
    reader r = {out, calloc(words[3] + 1u, sizeof *r.ids), words[3], entry};
    if (!r.ids) return vkrt_fail_memory(error);
    bool ok = true;
    for (size_t at = 5; ok && at < word_count;) {
        const uint32_t length = words[at] >> 16;
        ok = length > 0 && length <= word_count - at &&
             note(&r, words + at, words[at] & 0xffff, length);
        at += length;
    }
    vkrt_status status = ok ? take_variables(&r, error)
                            : vkrt_fail(error, VKRT_BAD_KERNEL, "look at it with spirv-val",
                                        "the SPIR-V module is damaged");
    free(r.ids);
    return status;
}

void vkrt_interface_free(vkrt_interface *face)
{
    free(face->slots);
    face->slots = NULL;
}
