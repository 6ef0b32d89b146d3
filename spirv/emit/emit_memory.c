// SPDX-License-Identifier: MIT
// emit_memory.c: loads and stores, with their range guards.
//
//   load    address = in range ? linear : 0;  value = in range ? memory[address] : 0
//           without a branch.  Element 0 always exists: nothing bound is empty (kernel.h).
//           Where the first indices are known to be in range, their part of the address is without
//           a condition, and the rest is 0 if it is not in range.
//   store   if (in range) memory[linear] = value
//
// Each axis is compared by itself, as unsigned, so one comparison covers negative indices too.
// In kernels with barriers, lanes outside the domain are out of range everywhere (see uniform.c for
// the exception).
#include "spirv/emit/emit.h"
#include "spirv/facts/facts.h"
#include "ir/core/access.h"
#include "ir/core/flow.h"

// bool: index below the extent; 0 when that is certain.  *as_u32: the index for the address.
static uint32_t check_axis(vy_fn *f, uint32_t arg, vy_emit_extent *e, bool guard, uint32_t *as_u32)
{
    vy_spv *m = f->m;
    vy_type t = vy_id_type(f->p, arg);
    const vy_scalar *constant = vy_id_const(f->p, arg);
    uint32_t u32 = vy_spv_type(m, VY_U32), v;
    if (constant && constant->u <= UINT32_MAX) {
        *as_u32 = v = vy_spv_u32(m, (uint32_t)constant->u);
        if (!guard || (e->constant && constant->u < e->value)) return 0;
        return VY_DO(f, SpvOpULessThan, vy_bool_type(f), v, vy_extent_id(f, e, VY_EXTENT_U32));
    }
    v = vy_val(f, arg);
    if (vy_type_size(t) == 8) {
        *as_u32 = VY_DO(f, SpvOpUConvert, u32, v);
        if (!guard) return 0;
        if (t == VY_I64) v = VY_DO(f, SpvOpBitcast, vy_spv_type(m, VY_U64), v);
        return VY_DO(f, SpvOpULessThan, vy_bool_type(f), v, vy_extent_id(f, e, VY_EXTENT_U64));
    }
    *as_u32 = v = t == VY_U32 ? v : vy_cast_id(f, VY_U32, t, v);
    if (!guard) return 0;
    uint32_t limit = vy_extent_id(f, e, t == VY_I32 ? VY_EXTENT_31 : VY_EXTENT_U32);
    return VY_DO(f, SpvOpULessThan, vy_bool_type(f), v, limit);
}

static uint32_t settle_address(vy_fn *f, uint32_t i, uint32_t address)
{
    return f->m->hooks->address ? f->m->hooks->address(f, i, address) : address;
}

// How many of the first indices are the invocation's own place, in a workspace that has several
// further axes (ir/pass/target/place_workspaces.c); else 0.
static uint32_t own_axes(const vy_fn *f, uint32_t i)
{
    const vy_program *p = f->p;
    const vy_buf *b = &p->buffers.data[p->insts.data[i].aux];
    uint32_t k = 0;
    for (; b->workspace && k < b->rank; k++) {
        const uint32_t index = vy_arg(p, i, k);
        if (!VY_IS_LEAF(index) || p->leaves.data[VY_LEAF_INDEX(index)].kind != VY_LEAF_OVER) break;
    }
    return k + 1 < b->rank ? k : 0;
}

static uint32_t row_major(vy_fn *f, vy_emit_extent *extents, const uint32_t *index, uint32_t rank)
{
    uint32_t at = index[0];
    for (uint32_t k = 1; k < rank; k++) {
        const uint32_t extent = vy_extent_id(f, &extents[k], VY_EXTENT_U32);
        at = vy_u32_op(f, SpvOpIAdd, vy_u32_op(f, SpvOpIMul, at, extent), index[k]);
    }
    return at;
}

// The invocation's place times the size of what it has there, and the place within: the first is
// the same in all loops, and often all lanes have the same second.  So a driver on a CPU separates
// the lanes' addresses once, before the loops.  With ((i * 255 + s) * 8 + j) in place of
// i * 2040 + (s * 8 + j) lavapipe separates them in each iteration.
static uint32_t own_address(vy_fn *f, vy_emit_extent *extents, const uint32_t *index, uint32_t own,
                            uint32_t rank)
{
    uint32_t size = vy_extent_id(f, &extents[own], VY_EXTENT_U32);
    for (uint32_t k = own + 1; k < rank; k++)
        size = vy_u32_op(f, SpvOpIMul, size, vy_extent_id(f, &extents[k], VY_EXTENT_U32));
    const uint32_t at = vy_u32_op(f, SpvOpIMul, row_major(f, extents, index, own), size);
    return vy_u32_op(f, SpvOpIAdd, at, row_major(f, extents + own, index + own, rank - own));
}

// y[b, o, u, v], of which b and o are known to be in range: a part for (b, o) and one for (u, v),
// which is 0 if (u, v) is not in range, and which loads that differ in b share (coarsen).  The
// first part is that of element [b, o, 0, 0]; of an empty buffer it is 0, as the size of (u, v) is.
// Modulo 2³² the sum is the row-major address.
static uint32_t split_address(vy_fn *f, uint32_t i, uint32_t ok, const uint32_t *index)
{
    const uint32_t buffer = f->p->insts.data[i].aux, first = vy_axes_known(f->p, i);
    const uint32_t rank = f->p->buffers.data[buffer].rank, u32 = vy_spv_type(f->m, VY_U32);
    vy_emit_extent *extents = f->arrays[buffer].extents;
    uint32_t size = vy_extent_id(f, &extents[first], VY_EXTENT_U32);
    for (uint32_t k = first + 1; k < rank; k++)
        size = vy_u32_op(f, SpvOpIMul, size, vy_extent_id(f, &extents[k], VY_EXTENT_U32));
    const uint32_t rest = row_major(f, extents + first, index + first, rank - first);
    const uint32_t at = vy_u32_op(f, SpvOpIMul, row_major(f, extents, index, first), size);
    return vy_u32_op(f, SpvOpIAdd, at, vy_select_id(f, u32, ok, rest, vy_spv_u32(f->m, 0)));
}

// Is the address of a load to be split, once its range is checked?  Not where invocations outside
// the domain load, of which nothing is known, nor where element 0 of the array need not exist.
static bool is_split(const vy_fn *f, uint32_t i, uint32_t in_domain)
{
    const vy_array *a = &f->arrays[f->p->insts.data[i].aux];
    return f->facts->shared_place[i] && !in_domain && !a->offset_field &&
           !vy_is_strided(f, f->p->insts.data[i].aux) && a->cls == SpvStorageClassStorageBuffer;
}

vy_address vy_find_place(vy_fn *f, uint32_t i, bool zero_on_padding)
{
    const vy_inst *in = &f->p->insts.data[i];
    const uint32_t rank = f->p->buffers.data[in->aux].rank, known = vy_axes_known(f->p, i);
    vy_emit_extent *extents = f->arrays[in->aux].extents;
    vy_address place = {zero_on_padding ? f->in_domain : 0, 0, false};
    const bool split = is_split(f, i, place.ok);
    uint32_t index[VY_MAX_RANK];
    for (uint32_t k = 0; k < rank; k++) {
        const bool guard = k >= known && !f->m->options->unchecked;
        const uint32_t ok = check_axis(f, vy_arg(f->p, i, k), &extents[k], guard, &index[k]);
        place.ok = vy_and_bool(f, place.ok, ok);
    }
    const uint32_t own = own_axes(f, i);
    const uint32_t steady = f->facts->steady_place ? f->facts->steady_place[i] : 0;
    place.safe = split && place.ok;
    if (rank == 0)
        place.address = vy_spv_u32(f->m, 0);
    else if (vy_is_strided(f, in->aux))
        place.address = vy_strided_address(f, in->aux, index);
    else if (place.safe)
        place.address = split_address(f, i, place.ok, index);
    else if (own || steady)
        place.address = own_address(f, extents, index, own ? own : steady, rank);
    else
        place.address = row_major(f, extents, index, rank);
    const uint32_t offset = f->arrays[in->aux].offset_field;
    if (offset) place.address = vy_u32_op(f, SpvOpIAdd, place.address, vy_param_id(f, offset - 1));
    place.address = settle_address(f, i, place.address);
    return place;
}

// ----------------------------------------------------------------------------------- one element
uint32_t vy_element_pointer(vy_fn *f, const vy_array *a, uint32_t address)
{
    if (a->cls == SpvStorageClassStorageBuffer)
        return VY_DO(f, SpvOpAccessChain, a->pointer, a->var, vy_spv_u32(f->m, 0), address);
    return VY_DO(f, SpvOpAccessChain, a->pointer, a->var, address);
}

static uint32_t word_of(vy_fn *f, uint32_t address)
{
    uint32_t u32 = vy_spv_type(f->m, VY_U32);
    return VY_DO(f, SpvOpShiftRightLogical, u32, address, vy_spv_u32(f->m, 1));
}

static uint32_t half_of(vy_fn *f, uint32_t address)
{
    return VY_DO(f, SpvOpBitwiseAnd, vy_spv_type(f->m, VY_U32), address, vy_spv_u32(f->m, 1));
}

uint32_t vy_read_element(vy_fn *f, const vy_array *a, uint32_t address)
{
    vy_spv *m = f->m;
    bool halves = a->form == VY_MEM_HALVES;
    if (a->cls == SpvStorageClassUniform) return vy_read_uniform(f, a, address);
    uint32_t pointer = vy_element_pointer(f, a, halves ? word_of(f, address) : address);
    uint32_t v = VY_DO(f, SpvOpLoad, a->elem, pointer);
    if (halves) return vy_half_of_word(f, v, half_of(f, address));
    if (a->form == VY_MEM_BITS) return VY_DO(f, SpvOpBitcast, vy_spv_type(m, a->type), v);
    if (a->type == VY_BOOL) return VY_DO(f, SpvOpINotEqual, vy_bool_type(f), v, vy_spv_u32(m, 0));
    vy_type loaded = vy_type_loaded(a->type);
    if (loaded == a->type) return v;
    return VY_DO(f, vy_type_is_signed(loaded) ? SpvOpSConvert : SpvOpUConvert,
                 vy_spv_type(m, loaded), v);
}

// A value in its memory form, except for VY_MEM_HALVES.
static uint32_t to_memory(vy_fn *f, const vy_array *a, uint32_t v)
{
    vy_spv *m = f->m;
    if (a->form == VY_MEM_BITS) return VY_DO(f, SpvOpBitcast, a->elem, v);
    if (a->type == VY_BOOL)
        return VY_DO(f, SpvOpSelect, a->elem, v, vy_spv_u32(m, 1), vy_spv_u32(m, 0));
    vy_type loaded = vy_type_loaded(a->type);
    if (loaded == a->type) return v;
    return VY_DO(f, vy_type_is_signed(loaded) ? SpvOpSConvert : SpvOpUConvert, a->elem, v);
}

// Neighbouring halves belong to other invocations, so the word changes by compare-exchange.
static void write_half(vy_fn *f, const vy_array *a, uint32_t address, uint32_t value)
{
    vy_halves h = vy_halves_begin(f, a, address);
    vy_halves_end(f, &h, value);
}

void vy_write_element(vy_fn *f, const vy_array *a, uint32_t address, uint32_t value)
{
    if (a->form == VY_MEM_HALVES) {
        write_half(f, a, address, value);
        return;
    }
    uint32_t v = to_memory(f, a, value);
    VY_PUT(f->m, f->out, SpvOpStore, vy_element_pointer(f, a, address), v);
}

vy_halves vy_halves_begin(vy_fn *f, const vy_array *a, uint32_t address)
{
    vy_halves h = {.u32 = vy_spv_type(f->m, VY_U32)};
    h.half = half_of(f, address);
    h.pointer = vy_element_pointer(f, a, word_of(f, address));
    h.scope = a->cls == SpvStorageClassWorkgroup ? SpvScopeWorkgroup : SpvScopeDevice;
    uint32_t first =
        VY_DO(f, SpvOpAtomicLoad, h.u32, h.pointer, vy_spv_u32(f->m, h.scope), vy_spv_u32(f->m, 0));
    h.word = vy_spin_begin(f, &h.spin, h.u32, first);
    h.old = vy_half_of_word(f, h.word, h.half);
    return h;
}

uint32_t vy_halves_end(vy_fn *f, vy_halves *h, uint32_t value)
{
    vy_spv *m = f->m;
    uint32_t f16 = vy_spv_type(m, VY_F16), pair = VY_INTERN(m, SpvOpTypeVector, 0, f16, 2);
    uint32_t both = VY_DO(f, SpvOpBitcast, pair, h->word);
    both = VY_DO(f, SpvOpVectorInsertDynamic, pair, both, value, h->half);
    uint32_t next = VY_DO(f, SpvOpBitcast, h->u32, both), none = vy_spv_u32(m, 0);
    uint32_t seen = VY_DO(f, SpvOpAtomicCompareExchange, h->u32, h->pointer,
                          vy_spv_u32(m, h->scope), none, none, next, h->word);
    uint32_t done = VY_DO(f, SpvOpIEqual, vy_bool_type(f), seen, h->word);
    vy_spin_end(f, &h->spin, done, seen);
    return h->old;
}

// ------------------------------------------------------------------------------------ instructions
// A lane has its own local arrays, so where the index is a constant below the extent, padding lanes
// may load, too; what they load is not used.  (Mesa 22.3's lavapipe takes such elements for one
// where their indices are `select(lane in domain, constant, 0)`: text/grad/order/many_elements.)
static bool is_own_element(const vy_fn *f, uint32_t i, const vy_address *at)
{
    const vy_inst *in = &f->p->insts.data[i];
    if (f->arrays[in->aux].cls != SpvStorageClassFunction || at->ok != f->in_domain) return false;
    bool constant = true;
    for (uint32_t k = 0; k < f->p->buffers.data[in->aux].rank; k++)
        constant &= vy_id_const(f->p, vy_arg(f->p, i, k)) != NULL;
    return constant;
}

uint32_t vy_emit_load(vy_fn *f, uint32_t i)
{
    const vy_inst *in = &f->p->insts.data[i];
    const vy_array *a = &f->arrays[in->aux];
    vy_type loaded = vy_type_loaded(a->type);
    uint32_t type = vy_spv_type(f->m, loaded);
    vy_address at = vy_find_place(f, i, !(f->facts->uniform && f->facts->uniform[i]));
    if (!at.ok) return vy_read_element(f, a, at.address);
    uint32_t safe = at.address;
    if (!at.safe && !is_own_element(f, i, &at)) {
        uint32_t zero = vy_spv_u32(f->m, 0);
        safe = vy_select_id(f, vy_spv_type(f->m, VY_U32), at.ok, safe, zero);
        safe = settle_address(f, i, safe); // again: the select is new
    }
    uint32_t v = vy_read_element(f, a, safe);
    return vy_select_id(f, type, at.ok, v, vy_spv_zero(f->m, loaded));
}

void vy_emit_store(vy_fn *f, uint32_t i)
{
    const vy_inst *in = &f->p->insts.data[i];
    const vy_array *a = &f->arrays[in->aux];
    uint32_t value = vy_val(f, vy_arg(f->p, i, in->nargs - 1));
    vy_address at = vy_find_place(f, i, true);
    vy_guard g = vy_guard_begin(f, at.ok);
    vy_write_element(f, a, at.address, value);
    vy_guard_end(f, g, 0, 0, 0);
}

static bool in_loop(const vy_fn *f)
{
    for (uint32_t k = 0; k < f->frames.count; k++) {
        const vy_op op = (vy_op)f->p->insts.data[f->frames.data[k].opener].op;
        if (vy_is_loop(op)) return true;
    }
    return false;
}

static void clear_element(vy_fn *f, const vy_array *a, uint32_t at)
{
    uint32_t zero = vy_spv_intern(f->m, SpvOpConstantNull, a->elem, 0, NULL);
    VY_PUT(f->m, f->out, SpvOpStore, VY_DO(f, SpvOpAccessChain, a->pointer, a->var, at), zero);
}

static void clear_elements(vy_fn *f, const vy_array *a, uint32_t first, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++)
        clear_element(f, a, vy_u32_op(f, SpvOpIAdd, first, vy_spv_u32(f->m, k)));
}

// Invocation j of W clears the elements j, j + W, …, whether in the domain or not: invocations
// outside store nothing else, but the elements that they would have cleared must not be missing.
static void clear_shared(vy_fn *f, const vy_array *a)
{
    vy_spv *m = f->m;
    const uint32_t *w = f->p->workgroup;
    const uint32_t lanes = w[0] * w[1] * w[2], whole = a->length / lanes, left = a->length % lanes;
    const uint32_t first = vy_lindex(f), u32 = vy_spv_type(m, VY_U32);
    if (whole > VY_ZERO_STEP && !in_loop(f)) {
        vy_spin spin;
        uint32_t at = vy_spin_begin(f, &spin, u32, first);
        clear_element(f, a, at);
        uint32_t next = VY_DO(f, SpvOpIAdd, u32, at, vy_spv_u32(m, lanes));
        uint32_t end = vy_spv_u32(m, whole * lanes);
        vy_spin_end(f, &spin, VY_DO(f, SpvOpULessThanEqual, vy_bool_type(f), end, next), next);
    } else {
        for (uint32_t k = 0; k < whole; k++)
            clear_element(f, a, vy_u32_op(f, SpvOpIAdd, first, vy_spv_u32(m, k * lanes)));
    }
    if (!left) return;
    uint32_t some = VY_DO(f, SpvOpULessThan, vy_bool_type(f), first, vy_spv_u32(m, left));
    vy_guard g = vy_guard_begin(f, some);
    clear_element(f, a, vy_u32_op(f, SpvOpIAdd, first, vy_spv_u32(m, whole * lanes)));
    vy_guard_end(f, g, 0, 0, 0);
}

// A store of the entire array would be shorter, but drivers split it into its elements, and LLVM's
// time for those grows quadratically: 5 s for 512.  Hence a loop, but not inside another loop,
// where its iterations would have to be counted (ir/facts/trip_estimate.c).
void vy_emit_zero(vy_fn *f, uint32_t i)
{
    vy_spv *m = f->m;
    const vy_array *a = &f->arrays[f->p->insts.data[i].aux];
    if (!a->var) return; // never accessed
    if (a->cls == SpvStorageClassWorkgroup) {
        clear_shared(f, a);
        return;
    }
    if (a->length <= 2 * VY_ZERO_STEP || in_loop(f)) {
        uint32_t zero = vy_spv_intern(m, SpvOpConstantNull, a->array_type, 0, NULL);
        VY_PUT(m, f->out, SpvOpStore, a->var, zero);
        return;
    }
    const uint32_t whole = a->length - a->length % VY_ZERO_STEP, u32 = vy_spv_type(m, VY_U32);
    vy_spin spin;
    uint32_t at = vy_spin_begin(f, &spin, u32, vy_spv_u32(m, 0));
    clear_elements(f, a, at, VY_ZERO_STEP);
    uint32_t next = VY_DO(f, SpvOpIAdd, u32, at, vy_spv_u32(m, VY_ZERO_STEP));
    uint32_t done = VY_DO(f, SpvOpIEqual, vy_bool_type(f), next, vy_spv_u32(m, whole));
    vy_spin_end(f, &spin, done, next);
    clear_elements(f, a, vy_spv_u32(m, whole), a->length - whole);
}
