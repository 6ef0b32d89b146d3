// SPDX-License-Identifier: MIT
// subgroup_runs.c: neighbouring lanes of a subgroup add up first, where they are likely to add to
// the same element.
//
//                               full = subgroup_add(1) == subgroup_size    // once per program
//   atomic_add(g[k[i]], x[i])
//                          →    joins = full && lane > 0 && k == k of lane − 1
//                               sum = x; on = joins
//                               for s in 0..log2 of subgroup_size {        // a segmented scan
//                                   v, o = sum, on of lane − 2^s
//                                   if on { sum += v; on = o }
//                               }
//                               if !(joins of lane + 1) {                  // the last of a run
//                                   atomic_add(g[k[i]], sum)
//                               }
//
// Atomic additions to one element are serialised.  subgroup_reduce.c avoids that where a whole
// workgroup adds to one element; here the index differs, in a way that only the data determine.
// Equal indices of neighbours mostly form runs (sorted segments, pixels of a cell), so the last
// lane of a run adds for all of it.  log2 steps with two shuffles each find the sums for any
// mixture of runs.  Comparing all lanes with all others would also find equal indices that are
// apart, but takes as many steps as a subgroup has lanes; and rounds of reductions (the index of
// the lowest lane, the lanes that have it, their sum) cost lavapipe more than the additions.
//
// Where the size of subgroups is known (vy_opt_options.subgroup_size), the steps are straight code:
// on lavapipe the loop takes longer than what is in it.  In subgroups of another size each lane
// then adds by itself.  A GPU has more steps, and its compiler may write a long sequence for each
// shuffle (AMD's for gfx1100), so sizes of GPUs are not given (session/target.c).
//
// A shuffle reads padding lanes, and from an inactive lane it is undefined.  So runs are joined
// only in subgroups all of whose lanes are active and inside the domain, which one reduction
// determines; in other subgroups each lane adds by itself, as before.
//
// Which additions.  Additions of floats, in control flow that is uniform in the workgroup, to a
// buffer that is only added to and whose old values are unused; the index differs on at most
// MAX_AXES axes, in 32 bits.  And neighbours are likely to have equal indices, a guess by what the
// index is made of:
//
//   g[i] in over(i, j), g[i / 4],  yes: an axis does not follow the fastest domain variable
//     g[u32(f32(i) * scale)]
//   g[k[i]]                        yes: loaded integers (segments, faces, bonds) are mostly sorted
//                                  or near each other; where not, little is lost
//   g[u32(x[i])]                   no: rounded floats; samples of an image hit neighbouring
//                                  elements, not the same one
//   g[i + 1]                       no: never the same
//   g[h ^ k], g[h * k]             no: a hash, scattered on purpose
//
// Gains and costs are in docs/performance.md.
//
// Runs after `subgroup_reduce`, if shuffles may be used too.  Needs valid structure; keeps lines
// and names.
#include "ir/pass/sums/subgroup_reduce.h"

#include "ir/facts/addition.h"
#include "ir/check/uniform.h"

enum { MAX_AXES = 3 };

// How a number differs among neighbouring lanes, a guess: not; from row to row; seldom; as integers
// or floats of the data do; always; on purpose.  Of several operands, the largest kind counts.
enum { SAME, ROWS, SELDOM, INTEGERS, FLOATS, APART, SCATTERED };

typedef struct combine {
    vy_rewrite w;
    const vy_opt_options *options;
    const uint32_t *differs;
    uint8_t *sums;      // by memory
    uint8_t *kind;      // by instruction: see above
    uint8_t *chosen;    // by instruction
    uint8_t *divergent; // by opening marker: not all invocations of a workgroup execute its body
    uint32_t count;
    vy_value full; // all lanes of the subgroup are active and inside the domain
} combine;

// ---------------------------------------------------------------------------------------- choosing
static uint8_t leaf_kind(const combine *c, uint32_t id)
{
    const vy_leaf *l = &c->w.p->leaves.data[VY_LEAF_INDEX(id)];
    if (!vy_leaf_differs(c->w.p, id)) return SAME;
    if (l->kind == VY_LEAF_OVER) return l->index + 1 == c->w.p->overs.count ? APART : ROWS;
    bool own_axis = l->index == VY_GID || l->index == VY_LID;
    return own_axis && l->axis > 0 ? ROWS : APART;
}

static uint8_t kind_of(const combine *c, uint32_t id)
{
    return VY_IS_LEAF(id) ? leaf_kind(c, id) : c->kind[id];
}

// A quotient of domain variables, or a float product, is the same for several neighbours.
static uint8_t scaled(uint8_t kind) { return kind == APART ? SELDOM : kind; }

static uint8_t value_kind(const combine *c, uint32_t id)
{
    const vy_inst *i = &c->w.p->insts.data[id];
    const bool real = vy_type_is_float((vy_type)i->type);
    uint8_t most = SAME, differing = 0;
    if (!c->differs[id]) return SAME;
    if (i->op == VY_OP_LOAD) return real ? FLOATS : INTEGERS;
    if (vy_op_infos[i->op].effect != VY_PURE) return SCATTERED;
    for (uint32_t k = 0; k < i->nargs; k++) {
        uint8_t kind = kind_of(c, vy_arg(c->w.p, id, k));
        if (kind > most) most = kind;
        differing += kind != SAME;
    }
    switch (i->op) {
    case VY_OP_XOR: return SCATTERED;
    case VY_OP_MUL: return real ? scaled(most) : differing > 1 ? SCATTERED : most;
    case VY_OP_DIV:
    case VY_OP_SHR: return scaled(most);
    case VY_OP_ADD:
    case VY_OP_SUB:
    case VY_OP_MIN:
    case VY_OP_MAX:
    case VY_OP_REM:
    case VY_OP_SHL:
    case VY_OP_AND:
    case VY_OP_OR:
    case VY_OP_SELECT:
    case VY_OP_CAST: return most;
    default: return real ? most : SCATTERED;
    }
}

static bool suits(const combine *c, uint32_t id)
{
    const vy_inst *i = &c->w.p->insts.data[id];
    const vy_type type = c->w.p->buffers.data[i->aux].type;
    uint32_t axes = 0;
    uint8_t most = SAME;
    bool seldom = false;
    if (!vy_type_is_float(type) || !vy_subgroup_adds(c->options, type)) return false;
    if (!c->sums[vy_memory_of(c->w.p, i->aux)]) return false;
    if (vy_strength_of(c->w.p, id) != VY_STRENGTH_ATOMIC) return false;
    if (c->w.s.parent[id] && c->divergent[c->w.s.parent[id]]) return false;
    for (uint32_t k = 0; k + 1 < i->nargs; k++) {
        uint32_t index = vy_arg(c->w.p, id, k);
        vy_type t = vy_id_type(c->w.p, index);
        uint8_t kind = kind_of(c, index);
        if (kind == SAME) continue;
        if (t != VY_U32 && t != VY_I32) return false;
        if (kind > most) most = kind;
        seldom |= kind == SELDOM;
        axes++;
    }
    return axes > 0 && axes <= MAX_AXES && most <= (seldom ? FLOATS : INTEGERS);
}

static void choose_additions(combine *c)
{
    const vy_program *p = c->w.p;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        uint32_t parent = c->w.s.parent[id];
        c->kind[id] = value_kind(c, id);
        if (vy_op_opens((vy_op)i->op))
            c->divergent[id] = c->differs[id] != 0 || (parent && c->divergent[parent]);
        if (i->op != VY_OP_ATOMIC_ADD || !suits(c, id)) continue;
        c->chosen[id] = 1;
        c->count++;
    }
}

// -------------------------------------------------------------------------------------- rebuilding
static vy_value constant_u32(combine *c, int64_t n) { return vy_int(c->w.b, VY_U32, n); }

// 0: not known.  No subgroup of Vulkan has more lanes than a ballot has bits.
static uint32_t known_size(const combine *c)
{
    enum { MOST = 128 };
    return c->options->subgroup_size <= MOST ? c->options->subgroup_size : 0;
}

static vy_value lanes(combine *c)
{
    const uint32_t size = known_size(c);
    return size ? constant_u32(c, size) : vy_builtin_value(c->w.b, VY_SUBGROUP_SIZE, 0);
}

static vy_value is_full(combine *c)
{
    vy_value all = vy_builtin_value(c->w.b, VY_SUBGROUP_SIZE, 0);
    vy_value full = vy_eq(c->w.b, vy_subgroup(c->w.b, "add", constant_u32(c, 1)), all);
    // As many lanes may be active in a larger subgroup, in any places.
    if (known_size(c)) full = vy_and(c->w.b, full, vy_eq(c->w.b, all, lanes(c)));
    vy_name(c->w.b, full, "full");
    return full;
}

// Is the index of the previous lane the same?
static vy_value joins(combine *c, uint32_t site, vy_value lane)
{
    vy_builder *b = c->w.b;
    vy_value before = vy_sub(b, lane, vy_min(b, lane, constant_u32(c, 1)));
    vy_value same = vy_and(b, c->full, vy_lt(b, constant_u32(c, 0), lane));
    for (uint32_t k = 0; k + 1 < c->w.p->insts.data[site].nargs; k++) {
        if (kind_of(c, vy_arg(c->w.p, site, k)) == SAME) continue;
        vy_value own = {vy_new_arg(&c->w, site, k)};
        same = vy_and(b, same, vy_eq(b, own, vy_subgroup_lane(b, "shuffle", own, before)));
    }
    return same;
}

// A step of the scan: of now (the sum, and whether it continues further down), the next.
static void scan_step(combine *c, vy_value lane, vy_value distance, const uint32_t *now,
                      uint32_t *next, bool last)
{
    vy_builder *b = c->w.b;
    vy_value sum = {now[0]}, on = {now[1]}, zero = constant_u32(c, 0);
    vy_value from = vy_sub(b, lane, vy_min(b, lane, distance));
    vy_value before = vy_subgroup_lane(b, "shuffle", sum, from);
    vy_value further = last ? zero : vy_subgroup_lane(b, "shuffle", on, from);
    vy_value joined_there = vy_ne(b, on, zero);
    next[0] = vy_select(b, joined_there, vy_add(b, sum, before), sum).id;
    next[1] = last ? 0 : vy_select(b, joined_there, further, zero).id;
}

static vy_value scan_in_loop(combine *c, vy_value lane, const uint32_t *start)
{
    vy_builder *b = c->w.b;
    const vy_value zero = constant_u32(c, 0), one = constant_u32(c, 1);
    vy_value steps = vy_call(b, "popcount", 1, (vy_value[]){vy_sub(b, lanes(c), one)});
    uint32_t now[2] = {0, 0}, next[2], result[2] = {0, 0};
    vy_value s = {vy_begin_loop(b, VY_U32, 0, zero.id, steps.id, one.id, 2, start, now)};
    scan_step(c, lane, vy_shl(b, one, s), now, next, false);
    vy_end_loop(b, 0, 2, next, result);
    return (vy_value){result[0]};
}

// The sum of the lanes of this lane's run, up to this lane.
static vy_value run_sum(combine *c, vy_value lane, vy_value term, vy_value joined)
{
    const uint32_t size = known_size(c);
    uint32_t now[2] = {term.id, joined.id};
    if (!size) return scan_in_loop(c, lane, now);
    for (uint32_t n = 1; n < size && !vy_builder_failed(c->w.b); n *= 2)
        scan_step(c, lane, constant_u32(c, n), now, now, 2 * n >= size);
    return (vy_value){now[0]};
}

static void add_up(combine *c, uint32_t site)
{
    vy_builder *b = c->w.b;
    const vy_inst *i = &c->w.p->insts.data[site];
    uint32_t args[VY_MAX_RANK + 1];
    vy_new_args(&c->w, site, i->nargs, args);
    vy_rewrite_at(&c->w, site);
    vy_value lane = vy_builtin_value(b, VY_LANE, 0);
    vy_value joined = vy_cast(b, VY_U32, joins(c, site, lane));
    args[i->nargs - 1] = run_sum(c, lane, (vy_value){args[i->nargs - 1]}, joined).id;
    vy_value all = lanes(c), last = vy_sub(b, all, constant_u32(c, 1));
    vy_value after = vy_min(b, vy_add(b, lane, constant_u32(c, 1)), last);
    vy_value zero = constant_u32(c, 0);
    vy_value joined_by = vy_ne(b, vy_subgroup_lane(b, "shuffle", joined, after), zero);
    joined_by = vy_and(b, joined_by, vy_and(b, c->full, vy_lt(b, lane, last)));
    vy_begin_if(b, vy_not(b, joined_by).id);
    uint32_t id = vy_emit(b, VY_OP_ATOMIC_ADD, (vy_type)i->type, i->aux, i->nargs, args);
    vy_emit_flags(b, id, i->flags); // they hold: the same lane, with the same index
    vy_end_plain_if(b);
}

static uint32_t instead(void *pass, uint32_t id)
{
    combine *c = pass;
    if (!c->chosen[id]) return 0;
    add_up(c, id);
    return id;
}

static bool prepare_runs(combine *c)
{
    c->kind = vy_rewrite_bytes(&c->w);
    c->chosen = vy_rewrite_bytes(&c->w);
    c->divergent = vy_rewrite_bytes(&c->w);
    c->sums = vy_find_sums(c->w.p, &c->w.s, &c->w.arena);
    c->w.oom |= !c->sums;
    c->differs = c->w.oom ? NULL : vy_differences(c->w.p, &c->w.s, NULL, &c->w.arena);
    return c->differs != NULL;
}

bool vy_pass_subgroup_runs(vy_program *p, vy_pass_context *context)
{
    if (!vy_may_add_up(p, context->options) || !context->options->subgroup_shuffle) return true;
    combine c = {.options = context->options};
    bool ok = vy_rewrite_begin(&c.w, p) && prepare_runs(&c), any = false;
    if (ok) {
        choose_additions(&c);
        any = c.count && vy_padding_ends(p, &c.w.s, c.differs, &c.w.arena, &c.w.oom);
    }
    if (any && vy_rewrite_open(&c.w)) {
        c.full = is_full(&c);
        vy_rewrite_range(&c.w, 1, p->insts.count, instead, &c);
    }
    return vy_rewrite_end(&c.w, ok, &context->changed);
}
