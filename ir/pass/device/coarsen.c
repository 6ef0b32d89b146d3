// SPDX-License-Identifier: MIT
// coarsen.c: one invocation computes several neighbouring elements where that saves loads.
//
//   over(i: M, k: K)                    over(i: (M + 3) / 4, k: (K + 3) / 4)
//   for j in 0..N {                 →   for j in 0..N {
//     s += a[i, j] * b[k, j]              4 loads of a, 4 of b, 16 multiply-adds
//   }                                   }
//
// A gathered gradient computes one element per invocation: in a matrix product each multiplication
// then waits for two loads, and neighbours repeat one of them.  Shaders written by hand keep a
// block of elements in registers instead ("thread coarsening", "register blocking", "unroll and
// jam").  unroll_and_jam.c does that for any program; this file chooses the domain variables and
// factors.
//
// The cost of an instruction is multiplied by the trip counts of the loops around it; along the
// variables that it does not depend on (domain_dependence.c), one instruction serves all copies.
// All ways to compute at most options->coarsen elements along at most MAX_AXES variables are
// compared, and the cheapest is chosen if it saves at least a quarter, or an eighth where most of
// that is additions to one element (coarsen_price.c).  Carried values that do not fit into
// registers are loaded and stored in each iteration.  Limits: the carried values that a device
// takes (options->carried), compile time of drivers grows with the square of the basic blocks, and
// loops that `strip_mine` takes must stay short enough for it.  Elements beyond the end of an odd
// extent and empty lanes count as cost too, where extents are known (options->extent).  A domain
// keeps at least options->invocations, because devices hide latency with them.
//
// The bits do not change, as each element is computed as before, in the same order; only atomic
// additions are made in another order, which nothing guarantees.  Invocations of the program must
// be independent: no barriers, subgroup operations, built-ins or shared memory, and of memory that
// is loaded and stored only what coarsen_memory.c allows.  A variable on which a trip count depends
// is left alone: the loops of one invocation must not become longer (vkrt.h, loop_iteration_limit).
// Loops within an `if` that diverges are copied with it.
// Runs only if options->coarsen > 1, after `mark_in_range`, `mark_owned` and `mark_single_access`,
// whose flags the copies keep.  Printed text stays as it was.
#include "ir/pass/device/coarsen.h"
#include "ir/pass/device/known_sizes.h"
#include "ir/core/pipe.h"
#include "ir/core/flow.h"
#include "ir/facts/domain_dependence.h"
#include "ir/facts/owner_axes.h"
#include "ir/facts/price.h"

enum {
    MAX_AXES = 3,
    REGISTERS = 40,   // values that a loop carries without loads and stores
    HELD = 4,         // elements of local arrays for each value that a loop may carry
    MAX_CODE = 8192,  // instructions
    MAX_BLOCKS = 128, // basic blocks
    GPU_CODE = 448,   // more than that of 8 × 8 products, for what holds more in registers
    GPU_BLOCKS = 512,
    MAX_CHUNK = 88,   // LARGEST_BODY of strip_mine.c, less what closes the loop
    ROW = 8,          // invocations that a device runs side by side, at least
    MOST = 9,         // elements along one variable; where a loop may carry many values, …
    MOST_OF_FEW = 16, // … so many if all that is made is at most
    FEW = 512,        // instructions
    MASKS = 1 << VY_ALONG_AXES,
};
// What is left, at most: where loads are saved, which caches and drivers may make cheap; where
// additions are, which stay what they are, while the iterations saved with them count as nothing.
static const double least_gain = 0.75, least_of_additions = 0.875, per_axis = 1.05, spill = 1;

// Totals of the instructions that differ along the same variables.
typedef struct part {
    double cost, moved; // moved: executed CARRYs
    double added;       // of the cost: additions that all lanes make to one element
    uint64_t code, blocks;
    uint64_t carried; // values carried by a loop, maximum: outer loops carry its results
    uint64_t body;    // instructions in the body of an innermost loop, maximum
    uint64_t held;    // elements of local arrays
} part;

typedef struct coarsen {
    const vy_program *p;
    const vy_opt_options *options;
    vy_structure s;
    vy_along along;
    vy_arena arena;
    uint8_t *use;       // by buffer: coarsen_memory.c
    const bool *owned;  // by buffer: vy_find_owned
    double *iterations; // by opening marker: how often its body is executed
    part parts[MASKS];
    uint8_t masks[MASKS];
    uint32_t mask_count, axes;
    bool chunked, gpu;
    int64_t extent[VY_ALONG_AXES]; // -1: not known
    bool suits[VY_ALONG_AXES];
    uint32_t factor[VY_ALONG_AXES], best[VY_ALONG_AXES];
    double one, one_added;     // as it is: the cost, and that of additions
    double best_cost, written; // number of executed stores
    uint32_t write_runs;       // writes without a marker between them: one `if` for each copy
} coarsen;

static bool op_writes(vy_op op) { return vy_op_infos[op].effect == VY_WRITE; }

// -------------------------------------------------------------------------------- which programs
static bool inst_suits(const vy_program *p, uint32_t id)
{
    const vy_inst *i = &p->insts.data[id];
    const vy_op op = (vy_op)i->op;
    if (op == VY_OP_CHECKPOINT || vy_op_infos[op].effect == VY_CONV) return false;
    return vy_op_is_memory(op) || vy_op_infos[op].effect != VY_WRITE;
}

static bool program_suits(const vy_program *p)
{
    if (vy_sees_workgroup(p)) return false; // or has no domain
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (!inst_suits(p, id)) return false;
    return true;
}

// The variables along which an `if` around an instruction diverges.
static uint8_t diverging_ifs(const coarsen *c, uint32_t id)
{
    uint8_t bits = 0;
    for (uint32_t up = c->s.parent[id]; up; up = c->s.parent[up])
        if (c->p->insts.data[up].op == VY_OP_IF) bits |= c->along.route[up];
    return bits;
}

// False: out of memory.  Variables that control loops, or whose extent is not available as a value,
// are left alone.
static bool find_axes(coarsen *c, bool *found)
{
    const vy_program *p = c->p;
    const uint32_t *classes = vy_dim_classes(p, &c->arena);
    uint8_t decides = 0;
    if (!classes) return false;
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (vy_is_loop((vy_op)p->insts.data[id].op))
            decides |= c->along.route[id] & ~diverging_ifs(c, id);
    c->axes = p->overs.count - c->along.first;
    for (uint32_t k = 0; k < c->axes; k++) {
        const uint32_t axis = c->along.first + k;
        c->extent[k] = vy_known_extent(p, c->options, axis, !c->gpu);
        c->suits[k] = !(decides >> k & 1) && vy_axis_has_extent(p, axis, classes);
        c->factor[k] = c->best[k] = 1;
        *found |= c->suits[k];
    }
    return true;
}

// --------------------------------------------------------------------------------------- costs
static double reached(const coarsen *c, uint32_t id)
{
    const uint32_t up = c->s.parent[id];
    return up ? c->iterations[up] : 1;
}

static void add_price(const coarsen *c, part *to, uint32_t id, uint8_t along)
{
    const double times = reached(c, id);
    const bool together = !c->gpu && vy_adds_for_all_lanes(c->p, id, along, c->axes);
    to->cost += times * (together ? VY_PRICE_ADD_TOGETHER : vy_price_of_copy(c->p, id));
    to->added += together ? times * VY_PRICE_ADD_TOGETHER : 0;
}

static void add_up(coarsen *c)
{
    const vy_program *p = c->p;
    uint32_t carried[MASKS] = {0}, body[MASKS] = {0}, innermost = 0;
    bool writing = false;
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        const vy_op op = (vy_op)i->op;
        const bool waits = op_writes(op) && !vy_writes_at_once(p, c->use, id);
        const uint8_t mask = waits ? vy_written_along(&c->along, id) : c->along.of[id];
        part *at = &c->parts[mask];
        add_price(c, at, id, waits ? mask : UINT8_MAX);
        const bool guarded = waits && mask; // else it adds the sum of all copies
        c->written += guarded ? reached(c, id) : 0;
        c->write_runs += guarded && !writing;
        writing = guarded || (writing && !vy_is_marker(op));
        at->code++;
        at->blocks += vy_blocks_of_copy(i);
        body[mask] += op_writes(op) ? 4 : 1;
        if (vy_op_opens(op))
            c->iterations[id] = reached(c, id) * (vy_is_loop(op) ? vy_expected_trips(p, id) : 1);
        if (vy_is_loop(op)) {
            innermost = id;
            for (uint32_t m = 0; m < MASKS; m++) body[m] = carried[m] = 0;
        } else if (op == VY_OP_CARRY) {
            if (++carried[mask] > at->carried) at->carried = carried[mask];
            at->moved += reached(c, id);
        } else if (op == VY_OP_ENDLOOP) {
            const uint32_t loop = c->s.partner[id];
            for (uint32_t m = 0; m < MASKS && innermost == loop; m++)
                if (body[m] > c->parts[m].body) c->parts[m].body = body[m];
        }
    }
    for (uint32_t b = 1; b < p->buffers.count; b++)
        c->parts[c->along.array[b]].held += vy_local_elements(p, b);
    for (uint32_t m = 0; m < MASKS; m++)
        if (c->parts[m].code) c->masks[c->mask_count++] = (uint8_t)m;
}

// ------------------------------------------------------------------------------------ the choice
static uint32_t copies(const coarsen *c, uint32_t mask)
{
    uint32_t n = 1;
    for (uint32_t k = 0; k < c->axes; k++)
        if (mask >> k & 1) n *= c->factor[k];
    return n;
}

// The factor by which copies beyond the end and empty lanes increase the work.
static double waste(const coarsen *c)
{
    double times = 1;
    bool row = true;
    for (uint32_t k = c->axes; k-- > 0;) {
        const int64_t n = c->extent[k], f = c->factor[k];
        if (n < 1) {
            row = false;
            continue;
        }
        const int64_t m = (n + f - 1) / f;
        times *= (double)(m * f) / (double)n;
        if (row && m > 1) times *= (double)((m + ROW - 1) / ROW * ROW) / (double)m;
        row &= m == 1; // the domain ends before a variable that has one value
    }
    return times;
}

static bool enough_invocations(const coarsen *c)
{
    double n = 1;
    for (uint32_t k = 0; k < c->axes; k++) {
        if (c->extent[k] < 0) return true;
        n *= (double)((c->extent[k] + c->factor[k] - 1) / c->factor[k]);
    }
    return n >= (double)c->options->invocations;
}

static part total(const coarsen *c)
{
    part t = {0};
    for (uint32_t n = 0; n < c->mask_count; n++) {
        const part *at = &c->parts[c->masks[n]];
        const uint32_t times = copies(c, c->masks[n]);
        t.cost += at->cost * times;
        t.moved += at->moved * times;
        t.added += at->added * times;
        t.code += at->code * times;
        t.blocks += at->blocks * times;
        t.carried += at->carried * times;
        t.body += at->body * times;
        t.held += at->held * times;
    }
    t.blocks += 2ull * c->write_runs * copies(c, MASKS - 1);
    return t;
}

static bool within_limits(const coarsen *c, const part *t)
{
    const uint32_t carried = c->options->carried ? c->options->carried : REGISTERS;
    uint64_t code = c->gpu ? GPU_CODE : MAX_CODE, blocks = c->gpu ? GPU_BLOCKS : MAX_BLOCKS;
    for (uint32_t k = 0; k < c->axes; k++)
        if (c->factor[k] > MOST) code = FEW; // drivers take long to compile more
    return t->code <= code && t->blocks <= blocks && t->carried <= carried &&
           t->held <= (uint64_t)HELD * carried && !(c->chunked && t->body > MAX_CHUNK) &&
           enough_invocations(c);
}

// The cost per element with the current factors, and what additions are of it; -1: over a limit.
static double cost(const coarsen *c, double *added)
{
    const uint32_t all = copies(c, MASKS - 1);
    const part t = total(c);
    if (all > 1 && !within_limits(c, &t)) return -1;
    double sum = t.cost;
    if (t.carried > REGISTERS && !c->gpu)
        sum += spill * t.moved * (t.carried - REGISTERS) / t.carried;
    sum += vy_prices[VY_WORK_STORE].cpu * c->written * (all - 1); // for the `if` around them
    *added = t.added / all * waste(c);
    return sum / all * waste(c);
}

static bool gains_enough(const coarsen *c, double now, double added)
{
    const bool by_additions = c->one_added - added > 0.5 * (c->one - now);
    return now < c->one * (by_additions ? least_of_additions : least_gain);
}

static void search(coarsen *c, uint32_t axis, uint32_t used)
{
    if (axis == c->axes) {
        double added = 0, now = cost(c, &added);
        for (uint32_t k = 0; k < used; k++) now *= per_axis;
        if (now >= 0 && now < c->best_cost && gains_enough(c, now, added)) {
            c->best_cost = now;
            for (uint32_t k = 0; k < c->axes; k++) c->best[k] = c->factor[k];
        }
        return;
    }
    search(c, axis + 1, used);
    const uint32_t fixed = vy_axis_constant(c->p, c->along.first + axis);
    const uint32_t before = copies(c, MASKS - 1);
    const uint32_t most = c->options->carried > REGISTERS && !c->gpu ? MOST_OF_FEW : MOST;
    for (uint32_t f = 2; f <= most && c->suits[axis] && used < MAX_AXES; f++) {
        if ((f & (f - 1) && (f != fixed || f > MOST)) || before * f > c->options->coarsen) continue;
        if (c->extent[axis] >= 0 && c->extent[axis] < f) break;
        c->factor[axis] = f;
        search(c, axis + 1, used + 1);
    }
    c->factor[axis] = 1;
}

// False: out of memory.  *any: there is a candidate variable.
static bool prepare_coarsening(coarsen *c, bool *any)
{
    c->use = vy_arena_alloc(&c->arena, c->p->buffers.count);
    c->iterations = vy_arena_alloc(&c->arena, c->p->insts.count * sizeof *c->iterations);
    if (!(c->owned = vy_find_owned(c->p, &c->arena))) return false;
    if (!c->use || !c->iterations || !vy_structure_make(c->p, &c->s)) return false;
    if (!vy_copies_suit(c->p, c->owned, c->use)) return true;
    if (!vy_along_make(&c->along, c->p, &c->s, &c->arena)) return false;
    bool oom;
    if (!vy_steps_suit(&c->along, c->use, &c->arena, &oom)) return !oom;
    return find_axes(c, any);
}

static void choose_variables(coarsen *c)
{
    c->chunked = vy_is_chunked(c->p, c->options);
    add_up(c);
    c->chunked &= total(c).body <= MAX_CHUNK; // else `strip_mine` takes none of them anyway
    c->one = c->best_cost = cost(c, &c->one_added);
    search(c, 0, 0);
}

// For tests: as many elements as possible, whatever the gain.
static void choose_all(coarsen *c)
{
    uint32_t all = 1;
    for (uint32_t k = 0; k < c->axes; k++) {
        const uint32_t n = vy_axis_constant(c->p, c->along.first + k), f = c->options->coarsen;
        if (!c->suits[k] || n == 1 || all * f > 64) continue;
        c->best[k] = n && n < f ? n : f;
        all *= c->best[k];
    }
}

static bool rewrite(coarsen *c, vy_program *p, bool *changed)
{
    // From the last one: vy_jam may remove a variable, which renumbers those after it.
    for (uint32_t k = c->axes; k-- > 0;) {
        if (c->best[k] < 2) continue;
        vy_declare_owned(p, c->owned, c->use);
        *changed = true;
        if (!vy_jam(p, c->along.first + k, c->best[k], c->gpu)) return false;
    }
    if (*changed && c->gpu && !vy_split_interior(p)) return false;
    if (!*changed || p->has_workgroup) return true;
    vy_default_workgroup(p);
    vy_reshape(p, c->options);
    vy_enlarge_workgroup(p, c->options);
    return true;
}

static bool coarsen_by(vy_program *p, const vy_opt_options *options, void (*chosen)(coarsen *c),
                       bool *changed)
{
    coarsen *c = vy_realloc(NULL, sizeof *c);
    if (!c) {
        vy_fail_oom(p->module);
        return false;
    }
    *c = (coarsen){.p = p, .options = options, .gpu = options->adjacent};
    bool any = false, ok = prepare_coarsening(c, &any);
    if (!ok) vy_fail_oom(p->module);
    if (ok && any) {
        chosen(c);
        ok = rewrite(c, p, changed);
    }
    vy_structure_free(&c->s);
    vy_arena_free(&c->arena);
    vy_free(c);
    return ok;
}

bool vy_pass_coarsen(vy_program *p, vy_pass_context *c)
{
    const vy_opt_options *o = c->options;
    if (!o || o->coarsen < 2 || !(vy_constructs(p) & VY_LOOPS) || !program_suits(p)) return true;
    return coarsen_by(p, o, choose_variables, &c->changed);
}

bool vy_coarsen_all(vy_program *p, uint32_t factor, bool adjacent)
{
    bool changed = false;
    const vy_opt_options o = {.coarsen = factor, .adjacent = adjacent};
    return !program_suits(p) || coarsen_by(p, &o, choose_all, &changed);
}
