// SPDX-License-Identifier: MIT
// shared_slots.c: values that registers have no room for are kept in shared memory.
//
//   let k0 = k[j, 0]; … let k63 = k[j, 63];       shared kept: f32[16, 64, 4];
//   for i in … {                                  let k0 = k[j, 0]; kept[0, lid.x, 0] = k0; …
//       … k0 * q[i, 0] …                      →   for i in … {
//   }                                                 … kept[0, lid.x, 0] * q[i, 0] …
//                                                 }
//
// A GPU has some 256 registers for an invocation.  A loop that carries 128 sums and uses 128 values
// from before it needs more: compilers then keep some in scratch memory, which is global memory,
// and load them in each iteration.  Shared memory is next to the registers; four values of one lane
// are together, so that they are one load, and lanes are next to each other.  A lane loads what it
// stored itself, so that no barrier is needed and the bits are the same.
//
// Which values: floats of 32 bits, which differ between lanes, made outside of loops and used only
// in them; as many as are beyond ROOM, the last ones first: those before them are loaded by then.
// Only where all of these fit, in shared memory that every device has; of a row of lanes.  For GPUs
// (options->uniform_starts).  Runs last: it fixes the shape of the workgroup.
#include "ir/check/uniform.h"
#include "ir/pass/pass.h"

enum {
    ROOM = 208,    // registers of 256 for what lives through a loop; the others are for iterations
    BYTES = 16384, // of shared memory, which every device has
    TOGETHER = 4,  // that are one load
};

typedef struct slots {
    vy_rewrite w;
    const uint32_t *along[3]; // by axis, by instruction: it differs between lanes along that
    uint8_t *may;             // by instruction: it may have a slot
    uint32_t *slot;           // 1 + its slot
    uint32_t *loaded, *where; // by instruction: the load of it, in which region
    vy_buffer kept;
    uint32_t count;
} slots;

static bool differs(const slots *x, uint32_t id)
{
    for (uint32_t axis = 0; axis < 3; axis++)
        if (x->w.p->workgroup[axis] > 1 && x->along[axis][id]) return true;
    return false;
}

// ---------------------------------------------------------------------------------------- choosing
static void find_candidates(slots *x)
{
    const vy_program *p = x->w.p;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        const bool made = vy_op_infos[i->op].effect == VY_PURE || i->op == VY_OP_LOAD;
        x->may[id] = made && i->type == VY_F32 && !x->w.s.parent[id] && differs(x, id);
        const bool inside = x->w.s.parent[id] && !vy_is_marker((vy_op)i->op);
        for (uint32_t k = 0; k < i->nargs && !inside; k++)
            if (!VY_IS_LEAF(vy_arg(p, id, k))) x->may[vy_arg(p, id, k)] = 0;
    }
}

// Registers that hold what an outermost loop carries, and what it uses from before it.
static uint32_t count_alive(slots *x, uint32_t loop, uint32_t *seen)
{
    const vy_program *p = x->w.p;
    const uint32_t n = vy_slot_count(p, &x->w.s, loop);
    uint32_t alive = 0;
    for (uint32_t k = 0; k < n; k++) alive += differs(x, vy_carry(loop, k));
    for (uint32_t id = loop + 1; id <= x->w.s.partner[loop]; id++)
        for (uint32_t k = 0; k < p->insts.data[id].nargs; k++) {
            const uint32_t a = vy_arg(p, id, k);
            if (VY_IS_LEAF(a) || a >= loop || seen[a] == loop) continue;
            seen[a] = loop;
            alive += differs(x, a);
        }
    return alive;
}

// How many values are beyond the room that there is, in the loop that needs most?
static uint32_t count_beyond(slots *x)
{
    const vy_program *p = x->w.p;
    uint32_t *seen = vy_rewrite_ids(&x->w), most = 0;
    for (uint32_t id = 1; seen && id < p->insts.count; id++) {
        if (p->insts.data[id].op != VY_OP_LOOP || x->w.s.parent[id]) continue;
        const uint32_t alive = count_alive(x, id, seen);
        if (alive > most) most = alive;
    }
    return most > ROOM ? most - ROOM : 0;
}

static uint32_t rounded(uint32_t n) { return (n + TOGETHER - 1) / TOGETHER * TOGETHER; }

// All that is beyond, or nothing: a loop that would spill all the same has more to load, not less.
static void choose(slots *x)
{
    const vy_program *p = x->w.p;
    const uint32_t room = BYTES / (4 * p->workgroup[0]), beyond = rounded(count_beyond(x));
    uint32_t first = p->insts.count;
    while (first > 1 && x->count < beyond) x->count += x->may[--first];
    if (x->count < beyond || beyond > room) x->count = 0;
    for (uint32_t id = first, n = 0; x->count && id < p->insts.count; id++)
        if (x->may[id]) x->slot[id] = ++n;
}

// --------------------------------------------------------------------------------------- rewriting
static vy_value u32(const slots *x, uint32_t n) { return vy_int(x->w.b, VY_U32, n); }

static void place_of(const slots *x, uint32_t slot, vy_value at[3])
{
    at[0] = u32(x, (slot - 1) / TOGETHER), at[2] = u32(x, (slot - 1) % TOGETHER);
    at[1] = vy_builtin_value(x->w.b, VY_LID, 0);
}

static void store(slots *x, uint32_t id)
{
    vy_value at[3];
    place_of(x, x->slot[id], at);
    const uint32_t args[] = {at[0].id, at[1].id, at[2].id, vy_new(&x->w, id)};
    vy_emit(x->w.b, VY_OP_STORE, VY_VOID, x->kept.id, 4, args);
    vy_emit_flags(x->w.b, vy_builder_program(x->w.b)->insts.count - 1, VY_FLAG_INRANGE);
}

// What encloses `id`: a construct, or the second arm of an IF.
static uint32_t region_of(const slots *x, uint32_t id)
{
    const uint32_t up = x->w.s.parent[id];
    return up && x->w.p->insts.data[up].op == VY_OP_IF && !vy_in_then(&x->w.s, up, id)
               ? x->w.s.partner[up]
               : up;
}

static uint32_t load(slots *x, uint32_t user, uint32_t id)
{
    const uint32_t region = region_of(x, user);
    if (x->loaded[id] && x->where[id] == region) return x->loaded[id];
    vy_value at[3];
    place_of(x, x->slot[id], at);
    const uint32_t args[] = {at[0].id, at[1].id, at[2].id};
    x->where[id] = region;
    x->loaded[id] = vy_emit(x->w.b, VY_OP_LOAD, VY_F32, x->kept.id, 3, args);
    vy_emit_flags(x->w.b, x->loaded[id], VY_FLAG_INRANGE);
    return x->loaded[id];
}

static void copy_with_loads(slots *x, uint32_t id)
{
    const uint32_t n = x->w.p->insts.data[id].nargs;
    uint32_t *args = vy_rewrite_table(&x->w, (n + 1) * sizeof *args);
    for (uint32_t k = 0; args && k < n; k++) {
        const uint32_t a = vy_arg(x->w.p, id, k);
        args[k] = !VY_IS_LEAF(a) && x->slot[a] ? load(x, id, a) : vy_new(&x->w, a);
    }
    if (!args || vy_rewrite_stopped(&x->w)) return;
    vy_rewrite_at(&x->w, id);
    vy_copy_with(x->w.b, x->w.p, id, args, x->w.map);
}

static uint32_t instead(void *pass, uint32_t id)
{
    slots *x = pass;
    const vy_program *p = x->w.p;
    bool any = false;
    for (uint32_t k = 0; k < p->insts.data[id].nargs; k++) {
        const uint32_t a = vy_arg(p, id, k);
        any |= !VY_IS_LEAF(a) && x->slot[a];
    }
    if (any)
        copy_with_loads(x, id);
    else
        vy_rewrite_copy(&x->w, id);
    if (x->slot[id] && !vy_rewrite_stopped(&x->w)) store(x, id);
    return id;
}

static void rebuild(slots *x)
{
    if (!vy_rewrite_open(&x->w)) return;
    vy_builder *b = x->w.b;
    const uint32_t rows = (x->count + TOGETHER - 1) / TOGETHER;
    const vy_dim dims[] = {vy_dim_const(b, rows), vy_dim_const(b, x->w.p->workgroup[0]),
                           vy_dim_const(b, TOGETHER)};
    char text[320];
    const char *name = vy_free_name(vy_builder_program(b), "kept", "slots", text);
    x->kept = vy_shared_array(b, name, VY_F32, 3, dims);
    vy_builder_program(b)->has_workgroup = true;
    vy_rewrite_range(&x->w, 1, x->w.p->insts.count, instead, x);
}

static bool prepare(slots *x)
{
    x->w.oom |= !vy_differences_by_axis(x->w.p, &x->w.s, &x->w.arena, x->along);
    x->may = vy_rewrite_bytes(&x->w), x->slot = vy_rewrite_ids(&x->w);
    x->loaded = vy_rewrite_ids(&x->w), x->where = vy_rewrite_ids(&x->w);
    return !x->w.oom;
}

// A row of lanes, whose shared memory is free.
static bool suits(const vy_program *p)
{
    for (uint32_t k = 1; k < p->buffers.count; k++)
        if (p->buffers.data[k].cls == VY_SHARED) return false;
    return (vy_constructs(p) & VY_LOOPS) && p->overs.count && p->workgroup[0] > 1 &&
           p->workgroup[1] == 1 && p->workgroup[2] == 1;
}

bool vy_pass_shared_slots(vy_program *p, vy_pass_context *context)
{
    if (!context->options || !context->options->uniform_starts || !suits(p)) return true;
    slots x = {0};
    const bool ok = vy_rewrite_begin(&x.w, p) && prepare(&x);
    if (ok) find_candidates(&x), choose(&x);
    if (ok && x.count) rebuild(&x);
    return vy_rewrite_end(&x.w, ok, &context->changed);
}
