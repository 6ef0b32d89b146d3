// SPDX-License-Identifier: MIT
// arrays.c: declares buffers, shared and local arrays: SPIR-V variables and the type of an element
// in memory.
//
//   language        in memory
//   bool            u32, 0 or 1
//   i8 u8 i16 u16   the 8- or 16-bit integer (buffers only)
//   others          unchanged; unsigned bits (VY_MEM_BITS) or pairs in u32 words (VY_MEM_HALVES)
//                   where atomics need compare-exchange
//
// Only what is accessed is declared.
#include "spirv/emit/emit.h"
#include "spirv/describe/describe.h"

static bool is_array(const vy_buf *b) { return b->cls == VY_SHARED || b->cls == VY_LOCAL; }

// Type of an element in memory.
static uint32_t memory_type(vy_fn *f, const vy_buf *b, vy_mem_form form)
{
    vy_spv *m = f->m;
    if (form == VY_MEM_HALVES || b->type == VY_BOOL) return vy_spv_type(m, VY_U32);
    if (form == VY_MEM_BITS) return vy_spv_type(m, b->type == VY_F64 ? VY_U64 : VY_U32);
    if (is_array(b)) return vy_spv_type(m, b->type);
    switch (b->type) {
    case VY_I8:
    case VY_U8:
        vy_spv_capability(m, SpvCapabilityStorageBuffer8BitAccess);
        vy_spv_extension(m, VY_EXT_8BIT_STORAGE);
        vy_spv_feature(m, VY_FEATURE_BIT(STORAGE_8BIT));
        return vy_spv_int_type(m, 8, b->type == VY_I8);
    case VY_I16:
    case VY_U16:
    case VY_F16:
        vy_spv_capability(m, SpvCapabilityStorageBuffer16BitAccess);
        vy_spv_extension(m, VY_EXT_16BIT_STORAGE);
        vy_spv_feature(m, VY_FEATURE_BIT(STORAGE_16BIT));
        if (b->type == VY_F16) return vy_spv_type(m, VY_F16);
        return vy_spv_int_type(m, 16, b->type == VY_I16);
    default: return vy_spv_type(m, b->type);
    }
}

static uint32_t memory_size(const vy_buf *b, vy_mem_form form)
{
    return form == VY_MEM_HALVES ? 4 : vy_type_size(b->type);
}

// struct { element data[]; }, shared by all buffers of one kind of which all or none are written:
// NVIDIA's compiler (580.159) takes NonWritable on one variable as said of its type, and then keeps
// loads from the others across stores.
static uint32_t block_type(vy_fn *f, const vy_array *a, uint32_t stride, bool written)
{
    vy_spv *m = f->m;
    uint32_t *slot = &m->block_types[written][a->type * 3 + a->form];
    if (*slot) return *slot;
    uint32_t array = vy_spv_id(m), block = vy_spv_id(m);
    VY_GLOBAL(m, SpvOpTypeRuntimeArray, array, a->elem);
    VY_GLOBAL(m, SpvOpTypeStruct, block, array);
    VY_DECORATE(m, array, SpvDecorationArrayStride, stride);
    VY_DECORATE(m, block, SpvDecorationBlock);
    VY_PUT(m, &m->sections[VY_SEC_ANNOTATIONS], SpvOpMemberDecorate, block, 0, SpvDecorationOffset,
           0);
    return *slot = block;
}

static bool is_declared(const vy_fn *f, uint32_t buffer)
{
    const vy_mem_facts *use = &f->facts->buffers[buffer];
    return !is_array(&f->p->buffers.data[buffer]) &&
           (use->loaded || use->stored || f->arrays[buffer].measured);
}

static vy_place_of place_of(const vy_fn *f, uint32_t buffer)
{
    const uint32_t base = f->p->buffers.data[buffer].view_of;
    return f->d->places[base ? base : buffer];
}

// What variables of the same memory have in common: a view and what it views, and what a hosted
// kernel binds at one place.  Stands at the first of them.
static vy_memory *memory_of(vy_fn *f, uint32_t buffer)
{
    const uint32_t base = f->p->buffers.data[buffer].view_of;
    uint32_t first = base ? base : buffer;
    if (f->d->hosted) {
        const vy_place_of place = place_of(f, buffer);
        for (first = 1; first < buffer; first++) {
            const vy_place_of other = place_of(f, first);
            if (is_declared(f, first) && other.set == place.set && other.binding == place.binding)
                break;
        }
    }
    return &f->arrays[first].memory;
}

static void note_memory(vy_fn *f, uint32_t buffer)
{
    vy_memory *memory = memory_of(f, buffer);
    memory->variables++;
    memory->loaded |= f->facts->buffers[buffer].loaded;
    memory->stored |= f->facts->buffers[buffer].stored;
}

static void declare_buffer(vy_fn *f, uint32_t buffer)
{
    vy_spv *m = f->m;
    const vy_buf *b = &f->p->buffers.data[buffer];
    const bool uniform = f->d->hosted && b->layout.uniform;
    const vy_place_of place = place_of(f, buffer);
    const vy_memory *memory = memory_of(f, buffer);
    vy_array *a = &f->arrays[buffer];
    a->type = b->type;
    a->form = f->facts->buffers[buffer].form;
    a->cls = uniform ? SpvStorageClassUniform : SpvStorageClassStorageBuffer;
    a->elem = memory_type(f, b, a->form);
    a->pointer = vy_spv_pointer(m, a->cls, a->elem);
    uint32_t block = uniform ? vy_uniform_block(f, buffer)
                             : block_type(f, a, memory_size(b, a->form), memory->stored);
    uint32_t pointer = vy_spv_pointer(m, a->cls, block);
    a->var = vy_spv_id(m);
    VY_GLOBAL(m, SpvOpVariable, pointer, a->var, (uint32_t)a->cls);
    VY_DECORATE(m, a->var, SpvDecorationDescriptorSet, place.set);
    VY_DECORATE(m, a->var, SpvDecorationBinding, place.binding);
    if (memory->variables > 1 && !uniform) VY_DECORATE(m, a->var, SpvDecorationAliased);
    if (!memory->stored && !uniform) VY_DECORATE(m, a->var, SpvDecorationNonWritable);
    // A barrier makes a workgroup's stores visible to itself only through coherent memory.
    if (f->facts->barrier && memory->loaded && memory->stored)
        VY_DECORATE(m, a->var, SpvDecorationCoherent);
    vy_spv_name(m, a->var, b->name);
    vy_interface(f, a->var);
}

bool vy_buffers_declare(vy_fn *f)
{
    for (uint32_t i = 1; i < f->p->buffers.count; i++)
        if (is_declared(f, i)) note_memory(f, i);
    for (uint32_t i = 1; i < f->p->buffers.count; i++)
        if (is_declared(f, i)) declare_buffer(f, i);
    return !f->m->oom;
}

// ---------------------------------------------------------------------------- shared, local arrays
// The checker allows far less; this only keeps unchecked programs from overflowing.
#define MAX_ELEMENTS (1u << 24)

// Number of elements, from constant dimensions; false with a diagnostic.
static bool array_length(vy_fn *f, const vy_buf *b, vy_emit_extent *extents, uint32_t *length)
{
    uint64_t n = 1;
    for (uint32_t k = 0; k < b->rank; k++) {
        const vy_expr *e = &f->d->exprs.data[vy_describe_dim(f->d, b->dims[k])];
        uint64_t extent = e->value < 0 ? 0 : (uint64_t)e->value;
        if (e->op != VY_EXPR_CONST || extent > MAX_ELEMENTS || n * extent > MAX_ELEMENTS) {
            vy_diag_set(f->m->diag, VY_E_API, b->line, 0, "run vy_module_check before vy_compile",
                        "the size of array `%s` is not constant, or too large", b->name);
            return false;
        }
        extents[k] = (vy_emit_extent){.constant = true, .value = (uint32_t)extent};
        n *= extent;
    }
    *length = n ? (uint32_t)n : 1; // SPIR-V has no empty arrays; every access is out of range
    return true;
}

static bool declare_array(vy_fn *f, uint32_t buffer)
{
    vy_spv *m = f->m;
    const vy_buf *b = &f->p->buffers.data[buffer];
    vy_array *a = &f->arrays[buffer];
    uint32_t length;
    if (!array_length(f, b, a->extents, &length)) return false;
    a->type = b->type;
    a->form = f->facts->buffers[buffer].form;
    a->cls = b->cls == VY_SHARED ? SpvStorageClassWorkgroup : SpvStorageClassFunction;
    a->elem = memory_type(f, b, a->form);
    a->pointer = vy_spv_pointer(m, a->cls, a->elem);
    if (a->form == VY_MEM_HALVES) length = (length + 1) / 2;
    if (b->cls == VY_SHARED) f->d->kernel->shared_bytes += length * memory_size(b, a->form);
    a->length = length;
    a->array_type = VY_INTERN(m, SpvOpTypeArray, 0, a->elem, vy_spv_u32(m, length));
    uint32_t pointer = vy_spv_pointer(m, a->cls, a->array_type);
    a->var = vy_spv_id(m);
    if (a->cls == SpvStorageClassFunction) {
        VY_PUT(m, &f->variables, SpvOpVariable, pointer, a->var, (uint32_t)a->cls);
    } else {
        VY_GLOBAL(m, SpvOpVariable, pointer, a->var, (uint32_t)a->cls);
        vy_interface(f, a->var);
    }
    vy_spv_name(m, a->var, b->name);
    return true;
}

bool vy_arrays_declare(vy_fn *f)
{
    for (uint32_t i = 1; i < f->p->buffers.count && !f->m->oom; i++) {
        const vy_mem_facts *use = &f->facts->buffers[i];
        bool used = use->loaded || use->stored || use->len_used;
        if (is_array(&f->p->buffers.data[i]) && used && !declare_array(f, i)) return false;
    }
    return !f->m->oom;
}
