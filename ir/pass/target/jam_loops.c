// SPDX-License-Identifier: MIT
// jam_loops.c: four or eight iterations of a loop run the loops inside it together.
//
//   for i in 0..n {                      for q in 0..n/4 {                           i = 4q
//       var fit = 0.0;                       var fit0 = 0.0; … var fit3 = 0.0;
//       for j in 0..m {                      for j in 0..m {
//           fit = fit * t[i] + c[j];  →          let v = c[j];
//       }                                        fit0 = fit0 * t[i] + v; …
//       total += fit * fit;                      fit3 = fit3 * t[i + 3] + v;
//   }                                        }
//                                            total += fit0 * fit0; … total += fit3 * fit3;
//                                        }
//                                        for k in n/4*4..n { … }
//
// What iterations have in common is then computed once: the loop, its counter, what is loaded from
// the same places.  And where each iteration adds to the same elements, as the reverse of the loop
// above adds to the gradient of c, four additions take one load and one store (forward.c, dse.c).
// A driver on a CPU loads and stores lane by lane, which takes most of the time of such loops, and
// it has a local array with a varying index in memory.  So has a GPU.
//
// Unrolled and jammed, as compilers call it.  The same operations on the same values, each sum in
// its order, so the same bits: jam_allowed.c.  Which loops: jam_saving.c; of loops in one another,
// one.  unroll_and_jam.c does it to a variable of the domain, whose elements are in no order.
//
// The counter is from + t*step, t < n, which is below its end, so no number wraps around; a loop
// that runs backwards begins with the greatest t.  Runs after the flags are set, which its copies
// keep: they make the accesses that there were.  Before the passes that look at innermost loops.
#include "ir/pass/target/jam_loops.h"
#include "ir/pass/pass.h"

typedef struct jam {
    vy_loop_jam x;
    uint8_t *factor; // by LOOP: how many iterations become one; 0: it stays
    uint8_t *chosen; // by LOOP
    uint32_t copies; // of the loop that is built
    double *saves;   // by LOOP
    vy_id_vec args, out;
    bool any;
} jam;

static const vy_program *program(const jam *j) { return j->x.w.p; }

static bool jam_stopped(const jam *j) { return vy_rewrite_stopped(&j->x.w); }

static uint32_t slots_of(const jam *j, uint32_t opener)
{
    return vy_slot_count(program(j), &j->x.w.s, opener);
}

static uint32_t copies_of(const jam *j, uint32_t id) { return j->x.differs[id] ? j->copies : 1; }

// ------------------------------------------------------------------------------------------ copies
// What `id` is in copy q.  (What the loop carries: what the copy before leaves.)
static uint32_t in_copy(const jam *j, uint32_t q, uint32_t id)
{
    const uint32_t loop = j->x.loop;
    if (VY_IS_LEAF(id) || id < loop) return vy_new(&j->x.w, id);
    while (q && id > loop && id <= loop + slots_of(j, loop)) {
        id = vy_slot_next(program(j), &j->x.w.s, loop, id - loop - 1);
        q--;
        if (VY_IS_LEAF(id) || id < loop) return vy_new(&j->x.w, id);
    }
    return j->x.maps[j->x.differs[id] ? q : 0][id];
}

static void push_value(jam *j, uint32_t id) { j->x.w.oom |= !vy_vec_push(&j->args, id); }

static void copy_for(jam *j, uint32_t q, uint32_t id)
{
    j->args.count = 0;
    for (uint32_t k = 0; k < program(j)->insts.data[id].nargs; k++)
        push_value(j, in_copy(j, q, vy_arg(program(j), id, k)));
    if (!jam_stopped(j)) vy_copy_with(j->x.w.b, program(j), id, j->args.data, j->x.maps[q]);
}

static void copy_unit(jam *j, uint32_t from, uint32_t to)
{
    for (uint32_t q = 0; q < j->copies; q++)
        for (uint32_t id = from; id < to && !jam_stopped(j); id++)
            if (q < copies_of(j, id)) copy_for(j, q, id);
}

// --------------------------------------------------------------------------------- loops in common
// The values that `marker` passes on, for each copy that has its own.  slot: the first that gets
// one.
static void collect_values(jam *j, uint32_t marker, uint32_t from, uint32_t slot)
{
    j->args.count = 0;
    for (uint32_t k = from; k < program(j)->insts.data[marker].nargs; k++)
        for (uint32_t q = 0; q < copies_of(j, slot + k - from); q++)
            push_value(j, in_copy(j, q, vy_arg(program(j), marker, k)));
    j->out.count = 0;
    j->x.w.oom |= !vy_vec_reserve(&j->out, j->args.count + 1);
}

static void map_slots(jam *j, uint32_t slot, uint32_t n)
{
    const uint32_t *made = j->out.data;
    for (uint32_t k = 0; k < n && !jam_stopped(j); k++)
        for (uint32_t q = 0; q < copies_of(j, slot + k); q++) {
            j->x.maps[q][slot + k] = *made;
            vy_pass_name(j->x.w.b, program(j), slot + k, *made++);
        }
}

// Returns the last of the marker's slots.
static uint32_t open_joint(jam *j, uint32_t id)
{
    const vy_inst *i = &program(j)->insts.data[id];
    vy_rewrite_at(&j->x.w, id);
    collect_values(j, id, 3, id + 1);
    uint32_t bound[3];
    for (uint32_t k = 0; k < 3; k++) bound[k] = in_copy(j, 0, vy_arg(program(j), id, k));
    if (jam_stopped(j)) return id;
    const uint32_t counter = vy_begin_loop(j->x.w.b, (vy_type)i->type, i->flags, bound[0], bound[1],
                                           bound[2], j->args.count, j->args.data, j->out.data);
    if (!jam_stopped(j)) vy_rewrite_as(&j->x.w, id, counter);
    map_slots(j, id + 1, slots_of(j, id));
    return id + slots_of(j, id);
}

static uint32_t close_joint(jam *j, uint32_t id)
{
    const uint32_t slots = program(j)->insts.data[id].nargs;
    collect_values(j, id, 0, id + 1);
    if (!jam_stopped(j)) vy_end_loop(j->x.w.b, 0, j->args.count, j->args.data, j->out.data);
    map_slots(j, id + 1, slots);
    return id + slots;
}

static bool is_joint_end(const jam *j, uint32_t id)
{
    return program(j)->insts.data[id].op == VY_OP_ENDLOOP && j->x.joint[j->x.w.s.partner[id]];
}

static void copy_body(jam *j, uint32_t loop)
{
    const uint32_t end = j->x.w.s.partner[loop];
    for (uint32_t id = loop + 1 + slots_of(j, loop); id < end && !jam_stopped(j);) {
        uint32_t to = id;
        while (to < end && !j->x.joint[to] && !is_joint_end(j, to)) to++;
        copy_unit(j, id, to);
        if (to == end || jam_stopped(j)) return;
        id = (j->x.joint[to] ? open_joint(j, to) : close_joint(j, to)) + 1;
    }
}

// ---------------------------------------------------------------------------------------- the loop
// The loop's variable in iteration t of n.
static uint32_t counter_at(jam *j, uint32_t loop, vy_value t, vy_value n)
{
    vy_builder *b = j->x.w.b;
    const vy_inst *i = &program(j)->insts.data[loop];
    const vy_type u = vy_value_type(b, n);
    if (i->flags & VY_FLAG_REVERSE) t = vy_sub(b, vy_sub(b, n, vy_int(b, u, 1)), t);
    const vy_value from = vy_cast(b, u, (vy_value){vy_new_arg(&j->x.w, loop, 0)});
    const vy_value step = vy_cast(b, u, (vy_value){vy_new_arg(&j->x.w, loop, 2)});
    return vy_cast(b, (vy_type)i->type, vy_add(b, from, vy_mul(b, t, step))).id;
}

// values: what it carries, and then its results.
static void emit_jammed(jam *j, uint32_t loop, vy_value times, vy_value n, uint32_t *values,
                        uint32_t *carries)
{
    vy_builder *b = j->x.w.b;
    const vy_type u = vy_value_type(b, n);
    const uint32_t slots = slots_of(j, loop), one = vy_int(b, u, 1).id, none = vy_zero(b, u).id;
    const vy_value q = {vy_begin_loop(b, u, 0, none, times.id, one, slots, values, carries)};
    const vy_value first = vy_mul(b, q, vy_int(b, u, j->copies));
    for (uint32_t k = 0; k < j->copies && !jam_stopped(j); k++) {
        j->x.maps[k][loop] = counter_at(j, loop, vy_add(b, first, vy_int(b, u, k)), n);
        if (!VY_IS_LEAF(j->x.maps[k][loop])) vy_pass_name(b, program(j), loop, j->x.maps[k][loop]);
    }
    for (uint32_t s = 0; s < slots; s++) j->x.maps[0][loop + 1 + s] = carries[s];
    copy_body(j, loop);
    for (uint32_t s = 0; s < slots && !jam_stopped(j); s++)
        carries[s] = in_copy(j, j->copies - 1, vy_slot_next(program(j), &j->x.w.s, loop, s));
    vy_end_loop(b, 0, slots, carries, values);
}

static void emit_rest(jam *j, uint32_t loop, vy_value from, vy_value n, uint32_t *values,
                      uint32_t *carries)
{
    vy_rewrite *w = &j->x.w;
    const uint32_t slots = slots_of(j, loop), end = w->s.partner[loop];
    const vy_type u = vy_value_type(w->b, n);
    const uint32_t one = vy_int(w->b, u, 1).id;
    const vy_value t = {vy_begin_loop(w->b, u, 0, from.id, n.id, one, slots, values, carries)};
    if (jam_stopped(j)) return;
    for (uint32_t s = 0; s < slots; s++) w->map[loop + 1 + s] = carries[s];
    vy_rewrite_as(w, loop, counter_at(j, loop, t, n));
    vy_rewrite_range(w, loop + 1 + slots, end, NULL, NULL);
    for (uint32_t s = 0; s < slots && !jam_stopped(j); s++)
        carries[s] = vy_new(w, vy_slot_next(w->p, &w->s, loop, s));
    vy_end_loop(w->b, 0, slots, carries, values);
}

static void make_jammed(jam *j, uint32_t loop)
{
    vy_rewrite *w = &j->x.w;
    const uint32_t slots = slots_of(j, loop);
    uint32_t *values = vy_rewrite_table(w, 2 * ((size_t)slots + 1) * sizeof *values);
    if (!values) return;
    const vy_type u = vy_iteration_type((vy_type)w->p->insts.data[loop].type);
    const vy_value many = vy_int(w->b, u, j->copies), zero = vy_zero(w->b, u);
    vy_rewrite_at(w, loop);
    for (uint32_t s = 0; s < slots; s++) values[s] = vy_new(w, vy_slot_init(w->p, loop, s));
    const vy_value trips = vy_new_trips(w, loop), runs = vy_new_runs(w, loop);
    const vy_value n = vy_select(w->b, runs, trips, zero), times = vy_div(w->b, n, many);
    const vy_value from = vy_mul(w->b, times, many);
    emit_jammed(j, loop, times, n, values, values + slots + 1);
    if (from.id != n.id) emit_rest(j, loop, from, n, values, values + slots + 1);
    if (!jam_stopped(j)) vy_rewrite_slots(w, w->s.partner[loop], slots, values);
}

static uint32_t jammed_instead(void *pass, uint32_t id)
{
    jam *j = pass;
    if (!j->chosen[id]) return 0;
    j->copies = j->factor[id];
    if (vy_loop_jam_allowed(&j->x, id)) make_jammed(j, id); // fills the tables
    return vy_last_result(program(j), &j->x.w.s, id);
}

// ---------------------------------------------------------------------------------------- choosing
// What it saves in all iterations of the loops around it.
static double saves_in_all(jam *j, uint32_t loop)
{
    if (!vy_loop_jam_allowed(&j->x, loop)) return 0;
    uint32_t factor;
    double saves = vy_loop_jam_saves(&j->x, loop, &factor);
    j->factor[loop] = (uint8_t)factor;
    for (uint32_t up = j->x.w.s.parent[loop]; up && saves > 0; up = j->x.w.s.parent[up])
        if (vy_is_loop((vy_op)program(j)->insts.data[up].op))
            saves *= vy_expected_trips(program(j), up);
    return saves;
}

// Does a loop inside save more?
static bool is_better_inside(const jam *j, uint32_t loop)
{
    for (uint32_t id = loop + 1; id < j->x.w.s.partner[loop]; id++)
        if (j->saves[id] > j->saves[loop]) return true;
    return false;
}

// The outer ones first; none in another one.
static void choose_loops(jam *j, const vy_pass_context *context)
{
    const uint32_t n = program(j)->insts.count;
    for (uint32_t id = 1; id < n; id++)
        if (program(j)->insts.data[id].op == VY_OP_LOOP) j->saves[id] = saves_in_all(j, id);
    for (uint32_t id = 1; id < n; id++) {
        if (j->saves[id] <= 0 || is_better_inside(j, id)) continue;
        const uint64_t more = (uint64_t)j->factor[id] * (j->x.w.s.partner[id] - id);
        if (!vy_may_copy(context, program(j), more)) continue;
        j->chosen[id] = j->any = true;
        id = j->x.w.s.partner[id];
    }
}

static bool prepare_jam(jam *j)
{
    j->chosen = vy_rewrite_bytes(&j->x.w), j->factor = vy_rewrite_bytes(&j->x.w);
    j->saves = vy_rewrite_table(&j->x.w, program(j)->insts.count * sizeof *j->saves);
    return vy_loop_jam_tables(&j->x) && !j->x.w.oom;
}

// What iterations have in common is now next to each other.
static bool share_elements(vy_program *p, vy_pass_context *c)
{
    return vy_pass_forward(p, c) && vy_pass_dse(p, c);
}

// Where strip_mine.c makes more than eight iterations one of what this leaves, four: eight would
// make the code long, which takes seconds to compile.
static uint32_t most_jammed(const vy_program *p, const vy_opt_options *o)
{
    return vy_is_chunked(p, o) && o->chunk > VY_LOOPS_JAMMED ? VY_LEAST_JAMMED : VY_LOOPS_JAMMED;
}

bool vy_pass_jam_loops(vy_program *p, vy_pass_context *context)
{
    const vy_opt_options *o = context->options;
    if (!o || !(o->by_invocation || o->adjacent)) return true;
    if (!(vy_constructs(p) & VY_LOOPS)) return true;
    jam j = {.x.arrays_alone = !o->by_invocation, .x.most = most_jammed(p, o)};
    bool made = false;
    bool ok = vy_rewrite_begin(&j.x.w, p) && prepare_jam(&j);
    if (ok) choose_loops(&j, context);
    if (ok && j.any) vy_rewrite_run(&j.x.w, jammed_instead, &j);
    ok = vy_rewrite_end(&j.x.w, ok && !j.x.w.oom, &made);
    vy_vec_free(&j.args);
    vy_vec_free(&j.out);
    context->changed |= made;
    return ok && (!made || share_elements(p, context));
}
