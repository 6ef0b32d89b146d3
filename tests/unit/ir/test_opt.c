// SPDX-License-Identifier: MIT
// test_opt.c: every pass on a small program where it matters, and random programs before and after.
#include "tests/unit/eval_util.h"
#include "ir/pass/pass.h"
#include "ir/facts/range.h"
#include "tests/unit/failing.h"

#include <stdio.h>
#include <stdlib.h>

static void optimize(vy_module *m, int level, const char *skip)
{
    vy_opt_options o = {.level = level, .skip = skip, .subgroup_add = true};
    if (!vy_optimize(m, &o)) fail_msg("%s", vy_module_diag(m)->text);
}

static uint32_t count_op(const vy_program *p, vy_op op)
{
    uint32_t n = 0;
    for (uint32_t id = 1; id < p->insts.count; id++) n += p->insts.data[id].op == op;
    return n;
}

static uint32_t count_flag(const vy_program *p, uint8_t flag)
{
    uint32_t n = 0;
    for (uint32_t id = 1; id < p->insts.count; id++)
        n += vy_op_is_memory((vy_op)p->insts.data[id].op) && (p->insts.data[id].flags & flag);
    return n;
}

// ---------------------------------------------------------------------------- one program per pass
// out f32[N] y, in f32[N] x, over(i: N), scalars N and M.
typedef struct frame {
    vy_builder *b;
    vy_value n, m, i, zero;
    vy_buffer x, y;
    int opened; // constructs to close again
} frame;

static frame open_frame(void)
{
    frame f = {.b = vy_program_begin(vy_module_new(), "p")};
    f.n = vy_param_scalar(f.b, "N", VY_U32);
    f.m = vy_param_scalar(f.b, "M", VY_U32);
    vy_dim d = vy_dim_value(f.b, f.n);
    f.x = vy_param_buffer(f.b, "x", VY_IN, VY_F32, 1, &d);
    f.y = vy_param_buffer(f.b, "y", VY_INOUT, VY_F32, 1, &d);
    f.i = vy_over(f.b, "i", d);
    f.zero = u32(f.b, 0);
    return f;
}

static vy_value half(frame *f, vy_value v) { return vy_mul(f->b, v, f32(f->b, 0.5)); }

static void build_dce(frame *f)
{
    vy_var unused = vy_var_new(f->b, "unused", f32(f->b, 0));
    vy_for(f->b, "k", f->zero, f->m);
    vy_set(f->b, unused, vy_add(f->b, vy_get(f->b, unused), load1(f->b, f->x, f->i)));
    vy_end(f->b);
    store1(f->b, f->y, f->i, f32(f->b, 1));
}

static void build_forward(frame *f)
{
    store1(f->b, f->y, f->i, half(f, load1(f->b, f->x, f->i)));
    store1(f->b, f->y, vy_mul(f->b, f->i, f->i),
           vy_call(f->b, "exp", 1, &(vy_value){load1(f->b, f->y, f->i).id}));
}

static void build_unroll(frame *f)
{
    vy_var s = vy_var_new(f->b, "s", f32(f->b, 0));
    vy_value k = vy_for_step(f->b, "k", u32(f->b, 1), u32(f->b, 8), u32(f->b, 3), true);
    vy_set(f->b, s, vy_add(f->b, half(f, vy_get(f->b, s)), load1(f->b, f->x, k)));
    vy_end(f->b);
    store1(f->b, f->y, f->i, vy_get(f->b, s));
}

static void build_scalarise(frame *f)
{
    vy_dim three = vy_dim_const(f->b, 3);
    vy_buffer v = vy_local_array(f->b, "v", VY_F32, 1, &three);
    vy_value k = vy_for(f->b, "k", f->zero, f->n);
    vy_if(f->b, vy_lt(f->b, k, f->i));
    store1(f->b, v, u32(f->b, 1), vy_add(f->b, load1(f->b, v, u32(f->b, 1)), load1(f->b, f->x, k)));
    vy_end(f->b);
    store1(f->b, v, u32(f->b, 7), f32(f->b, 7)); // out of range: nothing
    vy_end(f->b);
    store1(f->b, f->y, f->i,
           vy_add(f->b, load1(f->b, v, u32(f->b, 1)), load1(f->b, v, u32(f->b, 7))));
}

static void build_ifconvert(frame *f)
{
    vy_value x = load1(f->b, f->x, f->i);
    vy_var v = vy_var_new(f->b, "v", x);
    vy_if(f->b, vy_lt(f->b, x, f32(f->b, 0)));
    vy_set(f->b, v, half(f, x));
    vy_end(f->b);
    store1(f->b, f->y, f->i, vy_get(f->b, v));
}

static void build_licm(frame *f)
{
    vy_var s = vy_var_new(f->b, "s", f32(f->b, 0));
    vy_for(f->b, "k", f->zero, f->m);
    vy_set(f->b, s, vy_add(f->b, half(f, vy_get(f->b, s)), half(f, load1(f->b, f->x, f->i))));
    vy_end(f->b);
    store1(f->b, f->y, f->i, vy_get(f->b, s));
}

static void build_dse(frame *f)
{
    store1(f->b, f->y, f->i, f32(f->b, 1));
    store1(f->b, f->y, f->i, f32(f->b, 2));
}

static void build_dead_arrays(frame *f)
{
    vy_dim three = vy_dim_const(f->b, 3);
    vy_shared_array(f->b, "s", VY_F32, 1, &three);
    store1(f->b, f->y, f->i, f32(f->b, 2));
}

// y[i] = y[i]/2 + x[i], M times: one load and one store, the latter only if M > 0.
static void build_promote_elements(frame *f)
{
    vy_for(f->b, "k", f->zero, f->m);
    store1(f->b, f->y, f->i,
           vy_add(f->b, half(f, load1(f->b, f->y, f->i)), load1(f->b, f->x, f->i)));
    vy_end(f->b);
}

// Two neighbouring ifs on one condition.
static void build_fuse_ifs(frame *f)
{
    vy_value c = vy_lt(f->b, load1(f->b, f->x, f->i), f32(f->b, 1));
    for (int k = 0; k < 2; k++) {
        vy_if(f->b, c);
        atomic1(f->b, "add", f->y, f->i, f32(f->b, k + 1));
        vy_end(f->b);
    }
}

// A condition that the domain implies.
static void build_implied(frame *f)
{
    vy_if(f->b, vy_lt(f->b, f->i, f->n));
    atomic1(f->b, "add", f->y, f->i, load1(f->b, f->x, f->i));
    vy_end(f->b);
}

// The inner select matters only where the outer one takes it.
static void build_nested_selects(frame *f)
{
    vy_value c = vy_lt(f->b, f->i, f->m), a = load1(f->b, f->x, f->i);
    vy_value v = half(f, vy_select(f->b, c, a, f32(f->b, 1)));
    store1(f->b, f->y, f->i, vy_select(f->b, c, v, f32(f->b, 2)));
}

// Two ifs on one condition read the same element; what is between them depends on the first.
static void build_share_arms(frame *f)
{
    vy_value c = vy_lt(f->b, f->i, f->m);
    vy_var v = vy_var_new(f->b, "v", f32(f->b, 0));
    for (int k = 0; k < 2; k++) {
        vy_if(f->b, c);
        vy_set(f->b, v, vy_add(f->b, vy_get(f->b, v), load1(f->b, f->x, f->i)));
        vy_end(f->b);
        vy_set(f->b, v, half(f, vy_get(f->b, v)));
    }
    store1(f->b, f->y, f->i, vy_get(f->b, v));
}

// A sum and a product of the same elements.
static void build_fuse_loops(frame *f)
{
    vy_value result = f32(f->b, 0);
    for (int n = 0; n < 2; n++) {
        vy_var v = vy_var_new(f->b, "v", f32(f->b, n));
        vy_value k = vy_for(f->b, "k", f->zero, f->m), x = load1(f->b, f->x, k);
        vy_set(f->b, v, n ? vy_mul(f->b, vy_get(f->b, v), x) : vy_add(f->b, vy_get(f->b, v), x));
        vy_end(f->b);
        result = vy_add(f->b, result, vy_get(f->b, v));
    }
    store1(f->b, f->y, f->i, result);
}

// Two additions to one element.
static void build_merge_additions(frame *f)
{
    vy_value x = load1(f->b, f->x, f->i);
    atomic1(f->b, "add", f->y, f->i, x);
    atomic1(f->b, "add", f->y, f->i, half(f, x));
}

static void build_mark_owned(frame *f) { atomic1(f->b, "add", f->y, f->i, f32(f->b, 2)); }

// Additions to an output: two to elements of their own, two to the same element, and one that
// `promote_sums` moves out of a loop.
static void build_single_access(frame *f)
{
    vy_dim dims[2] = {vy_dim_value(f->b, f->n), vy_dim_const(f->b, 5)};
    vy_buffer z = vy_param_buffer(f->b, "z", VY_OUT, VY_F32, 2, dims);
    const uint32_t columns[4] = {0, 1, 2, 2};
    for (int k = 0; k < 4; k++) {
        vy_value at[2] = {f->i, u32(f->b, columns[k])};
        if (k == 3) vy_if(f->b, vy_lt(f->b, load1(f->b, f->x, f->i), f32(f->b, 1)));
        vy_atomic(f->b, "add", z, at, f32(f->b, (float)k));
        if (k == 3) vy_end(f->b);
    }
    vy_for(f->b, "k", f->zero, f->m);
    vy_atomic(f->b, "add", z, (vy_value[]){f->i, u32(f->b, 3)}, load1(f->b, f->x, f->i));
    vy_end(f->b);
}

// A carry that becomes invariant only after forwarding; invariant_carries does not look through
// the checkpoint.
static void build_cleanup(frame *f)
{
    vy_var s = vy_var_new(f->b, "s", f32(f->b, 3)), t = vy_var_new(f->b, "t", f32(f->b, 0));
    vy_dim one = vy_dim_const(f->b, 1);
    vy_buffer v = vy_local_array(f->b, "v", VY_F32, 1, &one);
    store1(f->b, v, f->zero, f32(f->b, 3));
    vy_for(f->b, "k", f->zero, f->m);
    vy_set(f->b, t, vy_add(f->b, vy_get(f->b, t), vy_get(f->b, s)));
    vy_checkpoint(f->b);
    vy_set(f->b, s, load1(f->b, v, f->zero));
    vy_end(f->b);
    vy_end(f->b);
    store1(f->b, f->y, f->i, vy_get(f->b, t));
}

// A branch taken twice, with a store between the two.
static void build_cse_regions(frame *f)
{
    vy_value x = load1(f->b, f->x, f->i), positive = vy_lt(f->b, f32(f->b, 0), x);
    for (int k = 0; k < 2; k++) {
        vy_var t = vy_var_new(f->b, "t", f32(f->b, 0));
        vy_if(f->b, positive);
        vy_else(f->b); // (what first arms have in common, share_arms finds)
        vy_value v = x;
        for (int n = 0; n < 9; n++) v = vy_call(f->b, "exp", 1, &(vy_value){half(f, v).id});
        vy_set(f->b, t, v);
        vy_end(f->b);
        store1(f->b, f->y, k ? vy_add(f->b, f->i, u32(f->b, 6)) : f->i, vy_get(f->b, t));
    }
}

// A mask that stays 1.
static void build_invariant_carries(frame *f)
{
    vy_var s = vy_var_new(f->b, "s", u32(f->b, 1)), t = vy_var_new(f->b, "t", f32(f->b, 0));
    vy_for(f->b, "k", f->zero, f->m);
    vy_value x = load1(f->b, f->x, f->i), on = vy_ne(f->b, vy_get(f->b, s), f->zero);
    vy_set(f->b, t, vy_add(f->b, vy_get(f->b, t), vy_select(f->b, on, x, f32(f->b, 7))));
    vy_set(f->b, s, vy_cast(f->b, VY_U32, on));
    vy_end(f->b);
    store1(f->b, f->y, f->i, vy_get(f->b, t));
}

static void build_subgroup_reduce(frame *f)
{
    vy_for(f->b, "k", f->zero, u32(f->b, 3));
    vy_value x = load1(f->b, f->x, f->i);
    atomic1(f->b, "add", f->y, f->m, x);
    vy_end(f->b);
}

static void build_promote_sums(frame *f)
{
    vy_for(f->b, "k", f->zero, f->m);
    atomic1(f->b, "add", f->y, vy_rem(f->b, f->i, u32(f->b, 2)), load1(f->b, f->x, f->i));
    vy_end(f->b);
}

// A row that is summed first; it ends past the end of the buffer.
static void build_promote_rows(frame *f)
{
    vy_value k = vy_for(f->b, "k", f->zero, f->m), c = vy_for(f->b, "c", f->zero, u32(f->b, 12));
    atomic1(f->b, "add", f->y, c, load1(f->b, f->x, k));
    vy_end(f->b);
    vy_end(f->b);
}

// What every iteration sets to the same value need not be carried.
static void build_invariant_results(frame *f)
{
    vy_var t = vy_var_new(f->b, "t", f32(f->b, 0));
    vy_for(f->b, "k", f->zero, f->m);
    atomic1(f->b, "add", f->y, f->i, f32(f->b, 1));
    vy_set(f->b, t, f32(f->b, 5));
    vy_end(f->b);
    atomic1(f->b, "add", f->y, f->i, vy_get(f->b, t));
}

// load, sin, atomic, store: the first two feed the last.
static void build_schedule_uses(frame *f)
{
    vy_value x = load1(f->b, f->x, f->i), s = vy_call(f->b, "sin", 1, &x);
    atomic1(f->b, "add", f->y, f->i, f32(f->b, 1));
    store1(f->b, f->y, vy_add(f->b, f->i, u32(f->b, 6)), s);
}

static uint32_t place_of(const vy_program *p, vy_op op)
{
    for (uint32_t id = 1; id < p->insts.count; id++)
        if (p->insts.data[id].op == op) return id;
    return 0;
}

static uint32_t stats(const vy_program *p, int what)
{
    switch (what) {
    case 0: return p->insts.count;
    case 1: return count_op(p, VY_OP_LOAD);
    case 2: return count_op(p, VY_OP_CARRY);
    case 3: return count_op(p, VY_OP_SELECT);
    case 4: return p->buffers.count;
    case 5: return count_flag(p, VY_FLAG_INRANGE);
    case 6: return count_flag(p, VY_FLAG_OWNED);
    case 11: return count_flag(p, VY_FLAG_ONCE);
    case 8: return count_op(p, VY_OP_IF);
    case 9: return count_op(p, VY_OP_SG_ADD);
    case 10: return place_of(p, VY_OP_SIN);
    default: { // order: depths of loads
        vy_structure s;
        uint32_t sum = 0;
        assert_true(vy_structure_make(p, &s));
        for (uint32_t id = 1; id < p->insts.count; id++)
            if (p->insts.data[id].op == VY_OP_LOAD) sum += s.depth[id];
        vy_structure_free(&s);
        return sum;
    }
    }
}

static const struct one {
    const char *pass;
    void (*build)(frame *f);
    int what; // see stats
    uint32_t with, without;
} ones[] = {
    {"dce", build_dce, 0, 2, 8},
    {"forward", build_forward, 1, 1, 2},
    {"unroll", build_unroll, 2, 0, 1},
    {"scalarise", build_scalarise, 4, 3, 4},
    {"ifconvert", build_ifconvert, 3, 1, 0},
    {"licm", build_licm, 7, 0, 1},
    {"dse", build_dse, 0, 2, 3},
    {"dead_arrays", build_dead_arrays, 4, 3, 4},
    {"cleanup", build_cleanup, 2, 1, 2},
    {"invariant_carries", build_invariant_carries, 3, 0, 1},
    {"cse_regions", build_cse_regions, 8, 1, 2},
    {"mark_in_range", build_licm, 5, 2, 0},
    {"mark_owned", build_mark_owned, 6, 1, 0},
    {"mark_single_access", build_single_access, 11, 3, 0},
    {"promote_elements", build_promote_elements, 7, 0, 1},
    {"fuse_ifs", build_fuse_ifs, 8, 1, 2},
    {"implied", build_implied, 8, 0, 1},
    {"share_arms", build_share_arms, 1, 1, 2},
    {"nested_selects", build_nested_selects, 3, 1, 2},
    {"fuse_loops", build_fuse_loops, 1, 1, 2},
    {"merge_additions", build_merge_additions, 6, 1, 2},
    {"subgroup_reduce", build_subgroup_reduce, 9, 1, 0},
    {"promote_sums", build_promote_sums, 2, 1, 0},
    {"promote_rows", build_promote_rows, 4, 4, 3},
    {"invariant_results", build_invariant_results, 2, 1, 2},
    {"schedule_uses", build_schedule_uses, 10, 4, 2},
};

// Skipping a pass changes the program, but not what it computes.
static void test_each_pass(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT(ones); k++) {
        float y[3][6] = {{0}};
        for (int variant = 0; variant < 3; variant++) {
            frame f = open_frame();
            ones[k].build(&f);
            test_program t = {.m = vy_builder_module(f.b), .b = f.b};
            finish(&t);
            if (variant) optimize(t.m, 2, variant == 1 ? NULL : ones[k].pass);
            uint32_t got = stats(t.p, ones[k].what),
                     want = variant == 1 ? ones[k].with : ones[k].without;
            if (variant && got != want)
                fail_msg("%s%s: %u, not %u", variant == 1 ? "" : "without ", ones[k].pass, got,
                         want);
            float x[6] = {1, -2, 3.5f, -4, 5, 0.25f};
            float z[6][5] = {{0}};
            vy_eval_buffer buffers[] = {{"x", x, (uint64_t[]){6}, 1},
                                        {"y", y[variant], (uint64_t[]){6}, 1},
                                        {"z", z, (uint64_t[]){6, 5}, 2}};
            uint32_t bound = vy_program_find_buffer(t.p, "z").id ? 3 : 2;
            vy_eval_scalar scalars[] = {{"M", {.u = 4}}};
            vy_diag d;
            if (!vy_eval(t.p, buffers, bound, scalars, 1, NULL, NULL, &d)) fail_msg("%s", d.text);
            assert_memory_equal(y[0], y[variant], sizeof y[0]);
            drop(&t);
        }
    }
}

static void test_pass_names(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT(ones); k++) {
        bool found = false;
        for (uint32_t i = 0; vy_opt_pass_name(i); i++)
            found |= strcmp(vy_opt_pass_name(i), ones[k].pass) == 0;
        assert_true(found);
    }
    // Each pass has a test; some have others (test_strip_mine, test_mark_owned, text/opt:
    // fast_math, lengths, promote_rows, select_factors, sliding_loads, subgroup_runs, coarsen, drop_ad_marks, inline_calls, count_loops, group_vectors,
    // hoist_first, place_workspaces, unit/spirv/test_places, unit/ir/test_stored,
    // unit/ir/test_shared_copies and unit/ir/test_row_lanes).
    static const char *const elsewhere[] = {
        "strip_mine",  "algebra",          "registers",       "equal_carries",  "subgroup_runs",
        "coarsen",     "drop_ad_marks",    "inline_calls",    "count_loops",    "group_vectors",
        "hoist_first", "place_workspaces", "mark_stored",     "shared_copies",  "lane_loads",
        "flatten_ifs", "meeting_sums",     "adjoint_terms",   "row_lanes",      "equal_products",
        "lengths",     "sliding_loads",    "select_factors",  "early_sums",     "uniform_starts",
        "check_ahead", "workgroup_planes", "group_quotients", "jam_iterations", "shared_slots",
        "online_sums", "jam_loops"};
    for (uint32_t i = 0; vy_opt_pass_name(i); i++) {
        const char *name = vy_opt_pass_name(i);
        bool found = false;
        for (size_t k = 0; k < COUNT(elsewhere); k++) found |= strcmp(name, elsewhere[k]) == 0;
        for (size_t k = 0; k < COUNT(ones); k++)
            found |= strcmp(vy_opt_pass_name(i), ones[k].pass) == 0;
        assert_true(found);
    }
}

// ------------------------------------------------------------------------------ what must not move
// A load out of range gives zero even after a store with the same index.
static void test_forward_out_of_range(void **state)
{
    (void)state;
    frame f = open_frame();
    vy_value far = vy_add(f.b, f.i, u32(f.b, 3));
    store1(f.b, f.y, far, f32(f.b, 9));
    store1(f.b, f.y, f.i, load1(f.b, f.y, far));
    test_program t = {.m = vy_builder_module(f.b), .b = f.b};
    finish(&t);
    optimize(t.m, 3, NULL);
    float x[4] = {0}, y[4] = {1, 1, 1, 1};
    vy_eval_buffer buffers[] = {{"x", x, (uint64_t[]){4}, 1}, {"y", y, (uint64_t[]){4}, 1}};
    vy_eval_scalar scalars[] = {{"M", {.u = 4}}};
    vy_diag d;
    assert_true(vy_eval(t.p, buffers, 2, scalars, 1, NULL, NULL, &d));
    assert_true(y[0] == 9 && y[1] == 0 && y[2] == 0);
    drop(&t);
}

// A store that an arm may read is not dead, although another one follows.
static void test_dse_arm_reads(void **state)
{
    (void)state;
    frame f = open_frame();
    vy_dim d = vy_dim_value(f.b, f.n);
    vy_buffer z = vy_param_buffer(f.b, "z", VY_INOUT, VY_F32, 1, &d);
    vy_value far = vy_add(f.b, f.i, u32(f.b, 3)); // not proved in range: never forwarded
    store1(f.b, f.y, far, f32(f.b, 1));
    vy_if(f.b, vy_lt(f.b, load1(f.b, f.x, f.i), f32(f.b, 0)));
    store1(f.b, z, f.i, load1(f.b, f.y, far));
    vy_end(f.b);
    store1(f.b, f.y, far, f32(f.b, 2));
    vy_program *p = vy_program_end(f.b);
    assert_non_null(p);
    optimize(p->module, 3, NULL);
    assert_int_equal(count_op(p, VY_OP_STORE), 3);
    vy_module_free(p->module);
}

// Loads stay on their side of a barrier, and subgroup operations in their loop.
static int64_t extent_of(void *user, const vy_program *p, uint32_t axis)
{
    (void)p;
    return ((const int64_t *)user)[axis];
}

// Large domains get larger workgroups, where nothing says how large and nothing sees it.
static void test_workgroup(void **state)
{
    (void)state;
    static const struct {
        const char *head, *body;
        int64_t extent[2];
        uint32_t most, x, y;
    } cases[] = {
        {"over(i: N)", "y[i] = 1.0;", {262144}, 256, 256, 1},
        {"over(i: N)", "y[i] = 1.0;", {262143}, 256, 64, 1},
        {"over(i: N)", "y[i] = 1.0;", {-1}, 256, 256, 1},
        {"over(i: N)", "y[i] = 1.0;", {1 << 20}, 128, 128, 1},
        {"over(i: N)", "y[i] = 1.0;", {1 << 20}, 0, 64, 1},
        {"over(i: N)", "y[i] = f32(lindex);", {1 << 20}, 256, 64, 1},
        {"workgroup(64) over(i: N)", "y[i] = 1.0;", {1 << 20}, 256, 64, 1},
        {"over(i: N, j: 512)", "y[i * 512 + j] = 1.0;", {512, 512}, 256, 16, 16},
        {"over(i: N, j: 512)", "y[i * 512 + j] = 1.0;", {511, 512}, 256, 8, 8},
    };
    for (size_t k = 0; k < COUNT(cases); k++) {
        char text[200];
        snprintf(text, sizeof text, "program t(y: out f32[?], N: u32) %s { %s }", cases[k].head,
                 cases[k].body);
        vy_module *m = vy_parse(text, strlen(text), "t.vyre");
        assert_true(vy_module_ok(m));
        vy_opt_options o = {.level = 2,
                            .workgroup = cases[k].most,
                            .extent = extent_of,
                            .user = (void *)cases[k].extent};
        assert_true(vy_optimize(m, &o));
        const vy_program *p = vy_module_program(m, 0);
        assert_int_equal(p->workgroup[0], cases[k].x);
        assert_int_equal(p->workgroup[1], cases[k].y);
        vy_module_free(m);
    }
}

// Rows fill the lanes of a driver that runs them on a CPU, and of several axes the last two are
// tiled, where nothing says how large a workgroup is and nothing sees it.
static void test_rows_fill_lanes(void **state)
{
    (void)state;
    static const struct {
        const char *head, *value;
        int64_t extent[4];
        uint32_t lanes, shape[3];
    } cases[] = {
        {"over(b: N, i: N, j: N)", "1.0", {4, 256, 256}, 8, {8, 8, 1}},
        {"over(b: N, i: N, j: N)", "1.0", {4, 256, 256}, 16, {16, 4, 1}},
        {"over(b: N, i: N, j: N)", "1.0", {4, 256, 256}, 4, {4, 16, 1}},
        {"over(b: N, i: N, j: N)", "1.0", {4, 256, 256}, 0, {4, 4, 4}},
        {"over(b: N, i: N, j: N)", "1.0", {4, -1, -1}, 8, {8, 8, 1}},
        {"over(b: N, i: N, j: N)", "1.0", {4, 8, 256}, 8, {8, 8, 1}},
        {"over(b: N, i: N, j: N)", "1.0", {4, 3, 256}, 8, {8, 4, 2}},
        {"over(b: N, i: N, j: N)", "1.0", {4, 2, 256}, 8, {8, 2, 4}},
        {"over(b: N, i: N, j: N)", "1.0", {4, 1, 256}, 8, {8, 2, 4}}, // or only the run decides
        {"over(b: N, i: 2, j: N)", "1.0", {4, 256, 256}, 8, {8, 2, 4}},
        {"over(a: N, b: N, i: N, j: N)", "1.0", {4, 4, 2, 256}, 8, {8, 2, 4}},
        {"over(i: N, j: N)", "1.0", {256, 2}, 8, {8, 8, 1}},
        {"workgroup(4, 4, 4) over(b: N, i: N, j: N)", "1.0", {4, 256, 256}, 8, {8, 2, 4}},
        {"workgroup(8, 2, 2) over(b: N, i: N, j: N)", "1.0", {4, 256, 256}, 8, {8, 2, 2}},
        {"over(b: N, i: N, j: N)", "f32(lindex)", {4, 256, 256}, 8, {4, 4, 4}},
        {"over(i: N, j: N)", "sum(k in 0..j + 1: f32(k))", {8, 256}, 8, {64, 1, 1}},
        {"over(i: N, j: N)", "sum(k in j..N: f32(k))", {-1, -1}, 8, {64, 1, 1}},
        {"over(i: N, j: N)", "sum(k in 0..j + 1: f32(k))", {8, 256}, 0, {8, 8, 1}},
        {"over(i: N, j: N)", "sum(k in 0..i + 1: f32(k))", {8, 256}, 8, {8, 8, 1}},
        {"over(i: N, j: N)", "sum(k in 0..j + 1: f32(k))", {8, 32}, 8, {8, 8, 1}},
        {"over(i: N, j: N)", "sum(k in 0..j + 1: f32(k))", {1, 256}, 8, {8, 8, 1}},
    };
    for (size_t k = 0; k < COUNT(cases); k++) {
        char text[200];
        snprintf(text, sizeof text, "program t(y: out f32[?], N: u32) %s { atomic_add(y[0], %s); }",
                 cases[k].head, cases[k].value);
        vy_module *m = vy_parse(text, strlen(text), "t.vyre");
        assert_true(vy_module_ok(m));
        vy_opt_options o = {.level = 2,
                            .lanes = cases[k].lanes,
                            .extent = extent_of,
                            .user = (void *)cases[k].extent};
        assert_true(vy_optimize(m, &o));
        const vy_program *p = vy_module_program(m, 0);
        for (int axis = 0; axis < 3; axis++)
            assert_int_equal(p->workgroup[axis], cases[k].shape[axis]);
        vy_module_free(m);
    }
}

// One addition for a workgroup outside control flow, and one for a subgroup inside it.
static void test_workgroup_sums(void **state)
{
    (void)state;
    static const char text[] =
        "program t(x: in f32[N], s: out f32[4], N: u32) workgroup(64) over(i: N) {"
        "    atomic_add(s[3], x[i]); for k in 0..3u { atomic_add(s[k], x[i]); } }";
    vy_module *m = vy_parse(text, strlen(text), "t.vyre");
    assert_true(vy_module_ok(m));
    vy_opt_options o = {.level = 1, .subgroup_add = true, .workgroup_sums = true};
    assert_true(vy_optimize(m, &o));
    const vy_program *p = vy_module_program(m, 0);
    assert_int_equal(count_op(p, VY_OP_BARRIER), 2);
    assert_int_equal(count_op(p, VY_OP_ATOMIC_ADD), 3);
    vy_module_free(m);
}

static void test_barrier_stays(void **state)
{
    (void)state;
    frame f = open_frame();
    vy_dim d = vy_dim_const(f.b, 64);
    vy_buffer s = vy_shared_array(f.b, "s", VY_F32, 1, &d);
    vy_var v = vy_var_new(f.b, "v", f32(f.b, 0));
    vy_value k = lid(f.b, 0), other = vy_xor(f.b, k, u32(f.b, 1));
    store1(f.b, s, k, load1(f.b, f.x, f.i));
    vy_for(f.b, "n", f.zero, f.m);
    vy_barrier(f.b);
    vy_value got = load1(f.b, s, other);
    vy_barrier(f.b);
    store1(f.b, s, k, vy_add(f.b, got, vy_subgroup(f.b, "add", f32(f.b, 1))));
    vy_set(f.b, v, vy_add(f.b, vy_get(f.b, v), load1(f.b, s, k)));
    vy_end(f.b);
    store1(f.b, f.y, f.i, vy_get(f.b, v));
    test_program t = {.m = vy_builder_module(f.b), .b = f.b};
    finish(&t);
    optimize(t.m, 3, NULL);
    vy_structure st;
    assert_true(vy_structure_make(t.p, &st));
    uint32_t inside = 0, barriers = 0;
    for (uint32_t id = 1; id < t.p->insts.count; id++) {
        vy_op op = (vy_op)t.p->insts.data[id].op;
        if (op == VY_OP_BARRIER) barriers++;
        if (op == VY_OP_SG_ADD) assert_int_equal(st.depth[id], 1);
        if (op == VY_OP_LOAD && st.depth[id] == 1) inside += barriers == 1;
    }
    vy_structure_free(&st);
    assert_int_equal(inside, 1);
    drop(&t);
}

// A loop and an if with values in them that are used, and with `more` others that are not.
static vy_module *with_unused(uint32_t more)
{
    frame f = open_frame();
    vy_value none = load1(f.b, f.x, f.zero);
    for (uint32_t k = 0; k < more; k++) none = vy_mul(f.b, none, half(&f, none));
    vy_var s = vy_var_new(f.b, "s", load1(f.b, f.x, f.i));
    vy_value k = vy_for(f.b, "k", f.zero, f.m);
    for (uint32_t j = 0; j < more; j++) none = vy_add(f.b, none, load1(f.b, f.x, k));
    vy_if(f.b, vy_lt(f.b, load1(f.b, f.x, k), vy_get(f.b, s)));
    for (uint32_t j = 0; j < more; j++) none = vy_sub(f.b, none, vy_get(f.b, s));
    vy_set(f.b, s, vy_mul(f.b, vy_get(f.b, s), load1(f.b, f.x, k)));
    vy_end(f.b);
    vy_end(f.b);
    store1(f.b, f.y, f.i, vy_get(f.b, s));
    vy_module *m = vy_builder_module(f.b);
    vy_program_end(f.b);
    return m;
}

// Values without use are taken out of a program where it is: what is left is what there would be
// without them, in as much memory as it needs.
static void test_unused_values(void **state)
{
    (void)state;
    for (uint32_t more = 1; more < 40; more += 19) {
        vy_module *all = with_unused(more), *few = with_unused(0);
        vy_program *p = all->programs.data[0], *q = few->programs.data[0];
        vy_pass_context c = {0}, d = {0};
        assert_true(vy_pass_dce(q, &d) && vy_pass_dce(p, &c) && c.changed);
        assert_int_equal(p->insts.count, q->insts.count);
        assert_int_equal(p->insts.capacity, p->insts.count);
        assert_int_equal(p->args.capacity, p->args.count);
        assert_true(vy_module_check(all));
        char *text = vy_print(all, NULL), *want = vy_print(few, NULL);
        assert_string_equal(text, want);
        vy_free(text);
        vy_free(want);
        c.changed = false;
        assert_true(vy_pass_dce(p, &c) && !c.changed);
        vy_module_free(all);
        vy_module_free(few);
    }
}

static void test_levels(void **state)
{
    (void)state;
    uint32_t sizes[4];
    for (int level = 0; level < 4; level++) {
        frame f = open_frame();
        build_unroll(&f);
        build_dce(&f);
        test_program t = {.m = vy_builder_module(f.b), .b = f.b};
        finish(&t);
        optimize(t.m, level, NULL);
        sizes[level] = t.p->insts.count;
        uint32_t proved = count_flag(t.p, VY_FLAG_INRANGE);
        if (level == 0)
            assert_int_equal(proved, 0);
        else
            assert_true(proved > 0);
        drop(&t);
    }
    assert_true(sizes[1] < sizes[0]);
    frame f = open_frame();
    build_licm(&f);
    vy_program *p = vy_program_end(f.b);
    vy_opt_options o = {.level = 0, .unchecked = true};
    assert_true(vy_optimize(p->module, &o));
    assert_int_equal(count_flag(p, VY_FLAG_INRANGE),
                     count_op(p, VY_OP_LOAD) + count_op(p, VY_OP_STORE));
    vy_module_free(p->module);
}

// ------------------------------------------------------------------------------- what guards prove
typedef enum shape { IN_N, IN_NM, IN_N1 } shape; // f32[N], f32[N*M], f32[N+1]

typedef struct claim {
    const char *name;
    vy_value (*index)(frame *f, vy_value k); // may open constructs
    shape in;
    bool proved;
} claim;

static void c_if(frame *f, vy_value c)
{
    vy_if(f->b, c);
    f->opened++;
}

static vy_value c_for(frame *f, vy_value from, vy_value to)
{
    f->opened++;
    return vy_for(f->b, "q", from, to);
}

static vy_value c_i(frame *f, vy_value k)
{
    (void)k;
    return f->i;
}
static vy_value c_next(frame *f, vy_value k)
{
    (void)k;
    return vy_add(f->b, f->i, u32(f->b, 1));
}
static vy_value c_prev(frame *f, vy_value k)
{
    (void)k;
    return vy_sub(f->b, f->i, u32(f->b, 1));
}
static vy_value c_prev_if(frame *f, vy_value k)
{
    (void)k;
    c_if(f, vy_lt(f->b, f->zero, f->i));
    return vy_sub(f->b, f->i, u32(f->b, 1));
}
static vy_value c_prev_ne(frame *f, vy_value k)
{
    (void)k;
    c_if(f, vy_ne(f->b, f->i, f->zero));
    return vy_add(f->b, f->i, vy_int(f->b, VY_U32, -1));
}
static vy_value c_next_if(frame *f, vy_value k)
{
    (void)k;
    vy_value next = vy_add(f->b, f->i, u32(f->b, 1));
    c_if(f, vy_lt(f->b, next, f->n));
    return next;
}
static vy_value c_next_return(frame *f, vy_value k)
{
    (void)k;
    vy_value next = vy_add(f->b, f->i, u32(f->b, 2));
    vy_if(f->b, vy_le(f->b, f->n, next));
    vy_return(f->b);
    vy_end(f->b);
    return next;
}
static vy_value c_late(frame *f, vy_value k) // i + 1 < N says nothing of i + 2
{
    (void)k;
    c_if(f, vy_lt(f->b, vy_add(f->b, f->i, u32(f->b, 1)), f->n));
    return vy_add(f->b, f->i, u32(f->b, 2));
}
static vy_value c_else(frame *f, vy_value k)
{
    (void)k;
    c_if(f, vy_lt(f->b, f->m, f->n));
    vy_else(f->b);
    return f->m;
}
static vy_value c_and(frame *f, vy_value k)
{
    (void)k;
    c_if(f, vy_and(f->b, vy_lt(f->b, f->m, f->n), vy_lt(f->b, f->zero, f->i)));
    return f->m;
}
static vy_value c_or(frame *f, vy_value k)
{
    (void)k;
    c_if(f, vy_or(f->b, vy_lt(f->b, f->m, f->n), vy_lt(f->b, f->zero, f->i)));
    return f->m;
}
static vy_value c_mirror(frame *f, vy_value k)
{
    (void)k;
    return vy_sub(f->b, vy_sub(f->b, f->n, u32(f->b, 1)), f->i);
}
static vy_value c_mirror_bad(frame *f, vy_value k)
{
    (void)k;
    return vy_sub(f->b, f->n, f->i);
}
static vy_value c_k(frame *f, vy_value k)
{
    (void)f;
    return k;
}
static vy_value c_flat(frame *f, vy_value k) { return vy_add(f->b, vy_mul(f->b, f->i, f->m), k); }
static vy_value c_flat_bad(frame *f, vy_value k)
{
    return vy_add(f->b, vy_mul(f->b, k, f->m), f->i);
}
static vy_value c_flat_n(frame *f, vy_value k) { return vy_add(f->b, vy_mul(f->b, k, f->n), f->i); }
static vy_value c_rem(frame *f, vy_value k) { return vy_rem(f->b, k, f->n); }
static vy_value c_rem_m(frame *f, vy_value k) { return vy_rem(f->b, k, f->m); }
static vy_value c_min(frame *f, vy_value k)
{
    return vy_min(f->b, k, vy_sub(f->b, f->n, u32(f->b, 1)));
}
static vy_value c_zero(frame *f, vy_value k)
{
    (void)k;
    return f->zero;
}
static vy_value c_one(frame *f, vy_value k)
{
    (void)k;
    return u32(f->b, 1);
}
static vy_value c_loop(frame *f, vy_value k)
{
    (void)k;
    return c_for(f, f->zero, f->n);
}
static vy_value c_loop_tail(frame *f, vy_value k)
{
    (void)k;
    return c_for(f, f->i, f->n);
}
static vy_value c_loop_head(frame *f, vy_value k)
{
    (void)k;
    return c_for(f, f->zero, f->i);
}
static vy_value c_loop_next(frame *f, vy_value k)
{
    (void)k;
    vy_value q = c_for(f, f->zero, vy_sub(f->b, f->n, u32(f->b, 1)));
    return vy_add(f->b, q, u32(f->b, 1));
}
static vy_value c_signed(frame *f, vy_value k)
{
    (void)k;
    return vy_cast(f->b, VY_I32, f->i);
}
static vy_value c_signed_if(frame *f, vy_value k)
{
    (void)k;
    vy_value j = vy_sub(f->b, vy_cast(f->b, VY_I32, f->i), i32(f->b, 2));
    c_if(f,
         vy_and(f->b, vy_le(f->b, i32(f->b, 0), j), vy_lt(f->b, j, vy_cast(f->b, VY_I32, f->n))));
    return j;
}
static vy_value c_wide(frame *f, vy_value k)
{
    (void)k;
    return vy_cast(f->b, VY_I64, f->i);
}
static vy_value c_gid(frame *f, vy_value k)
{
    (void)k;
    return gid(f->b, 0);
}

static void test_guards(void **state)
{
    (void)state;
    static const claim claims[] = {
        {"i", c_i, IN_N, true},
        {"i in N+1", c_i, IN_N1, true},
        {"i+1", c_next, IN_N, false},
        {"i+1 in N+1", c_next, IN_N1, true},
        {"i-1", c_prev, IN_N, false},
        {"i-1 if 0<i", c_prev_if, IN_N, true},
        {"i-1 if i!=0", c_prev_ne, IN_N, true},
        {"i+1 if i+1<N", c_next_if, IN_N, true},
        {"i+2 after return", c_next_return, IN_N, true},
        {"i+2 if i+1<N", c_late, IN_N, false},
        {"M in the else of M<N", c_else, IN_N, false},
        {"M if M<N && …", c_and, IN_N, true},
        {"M if M<N || …", c_or, IN_N, false},
        {"N-1-i", c_mirror, IN_N, true},
        {"N-i", c_mirror_bad, IN_N, false},
        {"N-i in N+1", c_mirror_bad, IN_N1, true},
        {"k of 0..M", c_k, IN_N, false},
        {"i*M+k", c_flat, IN_NM, true},
        {"k*M+i", c_flat_bad, IN_NM, false},
        {"k*N+i", c_flat_n, IN_NM, true},
        {"k%N", c_rem, IN_N, true},
        {"k%M", c_rem_m, IN_N, false},
        {"min(k, N-1)", c_min, IN_N, true},
        {"0", c_zero, IN_N, true},
        {"1", c_one, IN_N, false},
        {"1 in N+1", c_one, IN_N1, true},
        {"q of 0..N", c_loop, IN_N, true},
        {"q of i..N", c_loop_tail, IN_N, true},
        {"q of 0..i", c_loop_head, IN_N, true},
        {"q+1 of 0..N-1", c_loop_next, IN_N, true},
        {"i32(i)", c_signed, IN_N, false},
        {"i32(i)-2 if in range", c_signed_if, IN_N, true},
        {"i64(i)", c_wide, IN_N, true},
        {"gid.x", c_gid, IN_N, false},
    };
    for (size_t n = 0; n < COUNT(claims); n++) {
        frame f = open_frame();
        vy_dim dn = vy_dim_value(f.b, f.n), dm = vy_dim_value(f.b, f.m);
        vy_dim in = claims[n].in == IN_N ? dn
                    : claims[n].in == IN_NM
                        ? vy_dim_binary(f.b, VY_DIM_MUL, dm, dn)
                        : vy_dim_binary(f.b, VY_DIM_ADD, vy_dim_const(f.b, 1), dn);
        vy_buffer z = vy_param_buffer(f.b, "z", VY_INOUT, VY_F32, 1, &in);
        vy_value k = vy_for(f.b, "k", f.zero, f.m);
        atomic1(f.b, "add", z, claims[n].index(&f, k), f32(f.b, 1));
        while (f.opened--) vy_end(f.b);
        vy_end(f.b);
        test_program t = {.m = vy_builder_module(f.b), .b = f.b};
        finish(&t);
        vy_structure s;
        vy_arena arena = {0};
        assert_true(vy_structure_make(t.p, &s));
        uint8_t *proved = vy_arena_alloc(&arena, t.p->insts.count);
        assert_true(vy_prove_ranges(t.p, &s, &arena, proved));
        uint32_t store = 0;
        for (uint32_t id = 1; id < t.p->insts.count; id++)
            if (t.p->insts.data[id].op == VY_OP_ATOMIC_ADD) store = id;
        if (proved[store] != claims[n].proved)
            fail_msg("%s is %sproved", claims[n].name, proved[store] ? "" : "not ");
        vy_structure_free(&s);
        vy_arena_free(&arena);
        drop(&t);
    }
}

// --------------------------------------------------------------------------------- random programs
enum { VARS = 5, MAX_LOOPS = 3, N = 7, M = 3 };

typedef struct gen {
    frame f;
    uint64_t random;
    vy_buffer local[2], q, y2;
    vy_var vars[VARS];
    vy_value loops[MAX_LOOPS];
    uint32_t loop_count;
    int budget;
} gen;

static uint32_t pick(gen *g, uint32_t n)
{
    g->random = g->random * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)((g->random >> 33) % n);
}

static vy_value get_var(gen *g) { return vy_get(g->f.b, g->vars[pick(g, VARS)]); }

static vy_value any_index(gen *g, int depth)
{
    vy_builder *b = g->f.b;
    vy_value k = g->loop_count ? g->loops[pick(g, g->loop_count)] : g->f.i;
    switch (pick(g, depth ? 12 : 4)) {
    case 0: return g->f.i;
    case 1: return k;
    case 2: return u32(b, pick(g, 5));
    case 3: return pick(g, 2) ? g->f.n : g->f.m;
    case 4: return vy_add(b, any_index(g, depth - 1), u32(b, pick(g, 4) ? 1 : -1));
    case 5: return vy_sub(b, any_index(g, depth - 1), any_index(g, depth - 1));
    case 6: return vy_add(b, vy_mul(b, any_index(g, depth - 1), pick(g, 2) ? g->f.m : g->f.n), k);
    case 7: return vy_rem(b, any_index(g, depth - 1), any_index(g, depth - 1));
    case 8: return vy_div(b, any_index(g, depth - 1), any_index(g, depth - 1));
    case 9: return vy_min(b, any_index(g, depth - 1), any_index(g, depth - 1));
    case 10: return vy_max(b, any_index(g, depth - 1), any_index(g, depth - 1));
    default: return vy_select(b, vy_lt(b, k, any_index(g, depth - 1)), any_index(g, depth - 1), k);
    }
}

static vy_value any_condition(gen *g)
{
    vy_builder *b = g->f.b;
    vy_value x = any_index(g, 1), y = any_index(g, 1);
    switch (pick(g, 7)) {
    case 0: return vy_le(b, x, y);
    case 1: return vy_ne(b, x, u32(b, 0));
    case 2: return vy_eq(b, x, y);
    case 3: return vy_and(b, vy_lt(b, x, y), vy_lt(b, u32(b, 0), any_index(g, 1)));
    case 4: return vy_not(b, vy_or(b, vy_lt(b, x, y), vy_le(b, y, any_index(g, 1))));
    case 5: return vy_lt(b, get_var(g), get_var(g));
    default: return vy_lt(b, x, y);
    }
}

static vy_value any_load(gen *g)
{
    vy_builder *b = g->f.b;
    vy_value index[2] = {g->f.i, any_index(g, 2)};
    switch (pick(g, 5)) {
    case 0: return load1(b, g->f.x, index[1]);
    case 1: return load1(b, g->q, index[1]);
    case 2: return load1(b, g->local[pick(g, 2)], pick(g, 2) ? u32(b, pick(g, 4)) : index[1]);
    case 3: return load1(b, g->local[0], u32(b, pick(g, 3)));
    default: return vy_load(b, g->y2, index);
    }
}

static void any_store(gen *g)
{
    vy_builder *b = g->f.b;
    vy_value index[2] = {g->f.i, pick(g, 2) ? u32(b, pick(g, 4)) : any_index(g, 2)};
    switch (pick(g, 4)) {
    case 0: store1(b, g->local[1], index[1], get_var(g)); break;
    case 1: store1(b, g->local[0], u32(b, pick(g, 4)), get_var(g)); break;
    default: vy_store(b, g->y2, index, get_var(g));
    }
}

static vy_value any_value(gen *g, int depth)
{
    vy_builder *b = g->f.b;
    switch (pick(g, depth ? 7 : 3)) {
    case 0: return f32(b, pick(g, 5));
    case 1: return get_var(g);
    case 2: return any_load(g);
    case 3: return vy_add(b, any_value(g, depth - 1), any_value(g, depth - 1));
    case 4: return vy_mul(b, any_value(g, depth - 1), f32(b, 0.5));
    case 5: return vy_sub(b, any_value(g, depth - 1), any_value(g, depth - 1));
    default:
        return vy_select(b, any_condition(g), any_value(g, depth - 1), any_value(g, depth - 1));
    }
}

static void any_block(gen *g, int depth);

static void any_loop(gen *g, int depth)
{
    vy_builder *b = g->f.b;
    bool counted = g->loop_count < MAX_LOOPS && pick(g, 5);
    if (counted) {
        vy_value to = pick(g, 3) ? (pick(g, 2) ? g->f.m : g->f.n) : u32(b, pick(g, 5));
        vy_value step = u32(b, 1 + pick(g, 4) / 3);
        g->loops[g->loop_count++] =
            vy_for_step(b, "k", u32(b, pick(g, 3) / 2), to, step, pick(g, 3) == 0);
    } else {
        vy_var n = vy_var_new(b, "n", u32(b, 0));
        vy_while(b);
        vy_while_test(b, vy_lt(b, vy_get(b, n), u32(b, 3)));
        vy_set(b, n, vy_add(b, vy_get(b, n), u32(b, 1)));
    }
    any_block(g, depth - 1);
    vy_end(b);
    if (counted) g->loop_count--;
}

static void any_statement(gen *g, int depth)
{
    vy_builder *b = g->f.b;
    switch (pick(g, depth ? 9 : 4)) {
    case 0: any_store(g); break;
    case 1:
    case 2: vy_set(b, g->vars[pick(g, VARS)], any_value(g, 2)); break;
    case 3:
        if (g->loop_count && pick(g, 3) == 0) {
            vy_if(b, any_condition(g));
            if (pick(g, 2))
                vy_break(b);
            else
                vy_continue(b);
            vy_end(b);
        } else {
            any_store(g);
        }
        break;
    case 4:
    case 5:
    case 6:
        vy_if(b, any_condition(g));
        any_block(g, depth - 1);
        if (pick(g, 2)) {
            vy_else(b);
            any_block(g, depth - 1);
        }
        vy_end(b);
        break;
    default: any_loop(g, depth);
    }
}

static void any_block(gen *g, int depth)
{
    for (uint32_t n = 1 + pick(g, 4); n-- > 0 && g->budget > 0; g->budget--)
        any_statement(g, depth);
}

static test_program random_program(uint64_t seed)
{
    gen g = {.f = open_frame(), .random = seed * 0x9E3779B97F4A7C15u + 1, .budget = 30};
    vy_builder *b = g.f.b;
    vy_dim dn = vy_dim_value(b, g.f.n), dm = vy_dim_value(b, g.f.m), three = vy_dim_const(b, 3);
    vy_dim nm = vy_dim_binary(b, VY_DIM_MUL, dn, dm), two[2] = {dn, vy_dim_const(b, 4)};
    g.q = vy_param_buffer(b, "q", VY_IN, VY_F32, 1, &nm);
    g.y2 = vy_param_buffer(b, "z", VY_INOUT, VY_F32, 2, two);
    g.local[0] = vy_local_array(b, "a", VY_F32, 1, &three);
    g.local[1] = vy_local_array(b, "d", VY_F32, 1, &three);
    for (int k = 0; k < VARS; k++) g.vars[k] = vy_var_new(b, "v", f32(b, k));
    any_block(&g, 4);
    vy_value sum = f32(b, 0);
    for (int k = 0; k < VARS; k++) sum = vy_add(b, sum, vy_get(b, g.vars[k]));
    store1(b, g.f.y, g.f.i, sum);
    test_program t = {.m = vy_builder_module(b), .b = b};
    finish(&t);
    return t;
}

typedef struct data {
    float x[N], y[N], q[N * M], z[N * 4];
} data;

static void fill(data *d)
{
    for (int k = 0; k < N; k++) d->x[k] = (float)k * 1.25f - 3, d->y[k] = 5;
    for (int k = 0; k < N * M; k++) d->q[k] = (float)(k % 5);
    for (int k = 0; k < N * 4; k++) d->z[k] = (float)(k % 3);
}

static void run(const vy_program *p, data *d, vy_eval_report *report)
{
    vy_eval_buffer buffers[] = {{"x", d->x, (uint64_t[]){N}, 1},
                                {"y", d->y, (uint64_t[]){N}, 1},
                                {"q", d->q, (uint64_t[]){N * M}, 1},
                                {"z", d->z, (uint64_t[]){N, 4}, 2}};
    vy_eval_scalar scalars[] = {{"M", {.u = M}}};
    vy_eval_options o = {.report_out_of_range = report != NULL, .max_steps = 100000000};
    vy_diag diag;
    if (!vy_eval(p, buffers, 4, scalars, 1, &o, report, &diag)) fail_msg("%s", diag.text);
}

// A copy in which every access without a proof is guarded by hand: then nothing may be out of
// range.
static void guarded_access(vy_builder *b, const vy_program *p, uint32_t id, uint32_t *map)
{
    const vy_inst *i = &p->insts.data[id];
    const vy_buf *buf = &p->buffers.data[i->aux];
    uint32_t inside = vy_leaf_const(b, VY_BOOL, (vy_scalar){.u = 1}), results[1];
    for (uint32_t k = 0; k < buf->rank; k++) {
        uint32_t args[2] = {vy_map(map, vy_arg(p, id, k)),
                            vy_leaf_other(b, VY_LEAF_LEN, VY_U32, i->aux, k)};
        args[0] = vy_emit(b, VY_OP_LT, VY_BOOL, 0, 2, args);
        args[1] = inside;
        inside = vy_emit(b, VY_OP_AND, VY_BOOL, 0, 2, args);
    }
    vy_begin_if(b, inside);
    vy_copy_inst(b, p, id, map);
    uint32_t n = i->op == VY_OP_LOAD, zero = vy_leaf_const(b, buf->type, (vy_scalar){.u = 0});
    vy_begin_else(b, n, &map[id]);
    vy_end_if(b, n, &zero, results);
    if (n) map[id] = results[0];
}

static vy_program *guarded(const vy_program *p)
{
    vy_builder *b = vy_rebuild_begin(p);
    uint32_t *map = calloc(p->insts.count, sizeof *map);
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        bool access = i->op == VY_OP_LOAD || i->op == VY_OP_STORE;
        if (access && !(i->flags & VY_FLAG_INRANGE))
            guarded_access(b, p, id, map);
        else
            vy_copy_inst(b, p, id, map);
    }
    free(map);
    vy_program *fresh = vy_rebuild_end(b);
    assert_non_null(fresh);
    return fresh;
}

// What passes leave prints, parses and runs like any other program.
static void check_text(const vy_module *m, uint64_t seed, const data *want)
{
    size_t size;
    char *text = vy_print(m, &size);
    assert_non_null(text);
    vy_module *again = vy_parse(text, size, "printed");
    if (!vy_module_ok(again)) {
        fprintf(stderr, "%s\n%s:%u\n", text, vy_module_diag(again)->text,
                vy_module_diag(again)->line);
        fail_msg("seed %llu: the printed text does not parse", (unsigned long long)seed);
    }
    if (!vy_module_equal(m, again)) {
        char *second = vy_print(again, NULL);
        fprintf(stderr, "printed\n%s\nparsed\n%s\n", text, second);
        vy_free(second);
        fail_msg("seed %llu: the printed text parses to something else", (unsigned long long)seed);
    }
    data got;
    fill(&got);
    run(vy_module_program(again, 0), &got, NULL);
    assert_memory_equal(want, &got, sizeof got);
    vy_module_free(again);
    vy_free(text);
}

static void check_random(uint64_t seed, int level, const char *skip, uint32_t chunk,
                         const data *want)
{
    test_program t = random_program(seed);
    vy_opt_options o = {.level = level,
                        .skip = skip,
                        .chunk = chunk,
                        .subgroup_add = chunk || skip,
                        .workgroup_sums = chunk != 0,
                        .subgroup_types = chunk != 0};
    if (!vy_optimize(t.m, &o)) fail_msg("%s", vy_module_diag(t.m)->text);
    data got;
    fill(&got);
    run(t.p, &got, NULL);
    if (memcmp(want, &got, sizeof got) != 0)
        fail_msg("seed %llu: -O%d without %s gives something else", (unsigned long long)seed, level,
                 skip ? skip : "nothing");
    vy_eval_report report = {0};
    vy_program *p = guarded(t.p);
    fill(&got);
    run(p, &got, &report);
    if (report.out_of_range)
        fail_msg("seed %llu: -O%d: %s", (unsigned long long)seed, level, report.first.text);
    vy_program_free(p);
    // Includes a binary round trip: proofs and names are preserved.
    size_t size;
    void *block = vy_binary_write(t.m, &size);
    vy_module *copy = vy_binary_read(block, size);
    if (!vy_module_ok(copy))
        fail_msg("seed %llu: %s", (unsigned long long)seed, vy_module_diag(copy)->text);
    assert_true(vy_module_equal(t.m, copy));
    vy_module_free(copy);
    vy_free(block);
    // Unless cleanup ran last, parsing the printed text simplifies it.
    if (!chunk && (!skip || strcmp(skip, "cleanup") != 0)) check_text(t.m, seed, want);
    drop(&t);
}

static void test_random(void **state)
{
    (void)state;
    static const char *const passes[] = {NULL,
                                         "cleanup",
                                         "dce",
                                         "forward",
                                         "unroll",
                                         "scalarise",
                                         "ifconvert",
                                         "licm",
                                         "dse",
                                         "dead_arrays",
                                         "mark_in_range",
                                         "mark_owned",
                                         "mark_single_access",
                                         "promote_elements",
                                         "fuse_ifs",
                                         "implied",
                                         "share_arms",
                                         "nested_selects",
                                         "lengths",
                                         "promote_sums",
                                         "promote_rows",
                                         "fuse_loops",
                                         "merge_additions"};
    const char *text = getenv("VYRE_SEEDS");
    uint64_t seeds = text ? strtoull(text, NULL, 10) : 200, first = 1;
    if ((text = getenv("VYRE_SEED"))) first = strtoull(text, NULL, 10), seeds = 1;
    for (uint64_t seed = first; seed < first + seeds; seed++) {
        test_program t = random_program(seed);
        data want;
        fill(&want);
        run(t.p, &want, NULL);
        drop(&t);
        for (int level = 0; level < 4; level++) check_random(seed, level, NULL, 0, &want);
        check_random(seed, 2, passes[1 + seed % (COUNT(passes) - 1)], 0, &want);
        check_random(seed, 2, NULL, 3, &want);
    }
}

// Every allocation fails once: an error with the right code, no crash, no leak.
static void test_no_memory(void **state)
{
    (void)state;
    bool whole = false;
    for (long n = 0; !whole; n = next_failing(n)) {
        test_program t = random_program(5);
        vy_test_fail_after(n);
        vy_opt_options o = {.level = 3};
        whole = vy_optimize(t.m, &o);
        vy_test_fail_after(-1);
        if (!whole) assert_string_equal(vy_module_diag(t.m)->code, "E0001");
        drop(&t);
    }
    test_program t = random_program(5);
    size_t size;
    void *block = vy_binary_write(t.m, &size);
    whole = false;
    for (long n = 0; !whole; n = next_failing(n)) {
        size_t other;
        vy_test_fail_after(n);
        void *again = vy_binary_write(t.m, &other);
        vy_module *m = vy_binary_read(block, size);
        vy_test_fail_after(-1);
        whole = again && m && vy_module_ok(m);
        if (m && !vy_module_ok(m)) assert_string_equal(vy_module_diag(m)->code, "E0001");
        vy_module_free(m);
        vy_free(again);
    }
    vy_free(block);
    drop(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_pass),
        cmocka_unit_test(test_pass_names),
        cmocka_unit_test(test_forward_out_of_range),
        cmocka_unit_test(test_dse_arm_reads),
        cmocka_unit_test(test_workgroup),
        cmocka_unit_test(test_rows_fill_lanes),
        cmocka_unit_test(test_workgroup_sums),
        cmocka_unit_test(test_barrier_stays),
        cmocka_unit_test(test_unused_values),
        cmocka_unit_test(test_levels),
        cmocka_unit_test(test_guards),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
