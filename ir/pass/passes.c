// SPDX-License-Identifier: MIT
// passes.c: the pipeline.
#include "ir/check/check.h"
#include "ir/pass/pass.h"

#include <string.h>

// Order: first the passes that uncover constants (unroll, scalarise), then those that share and
// move, then those that remove.  The last `cleanup` makes the result what the parser would build
// from its text; after it, `mark_in_range`, `mark_owned`, `mark_single_access` and `mark_stored`
// only set flags, which `coarsen` and `strip_mine` copy, and what rewrites a program tidies it up.
// clang-format off
static const struct {
    const char *name;
    bool (*run)(vy_program *p, vy_pass_context *c);
    int level; // lowest that runs it
    bool tidy; // what it rewrites is made what the parser would build from its text
} pipeline[] = {
    {"inline_calls",       vy_pass_inline_calls,       0, 0}, // only if it will not be differentiated
    {"cleanup",            vy_pass_cleanup,            0, 0},
    {"algebra",            vy_pass_algebra,            0, 0}, // only under fast-math
    {"drop_ad_marks",      vy_pass_drop_ad_marks,      1, 0}, // only if it will not be differentiated
    {"dce",                vy_pass_dce,                1, 0},
    {"forward",            vy_pass_forward,            1, 0},
    {"lengths",            vy_pass_lengths,            1, 0}, // only if it will not be differentiated
    {"count_loops",        vy_pass_count_loops,        1, 0}, // of indices that forward made values
    {"unroll",             vy_pass_unroll,             2, 0},
    {"licm",               vy_pass_licm,               2, 0}, // indices that do not change
    {"hoist_first",        vy_pass_hoist_first,        2, 0}, // of values that licm did not move
    {"promote_elements",   vy_pass_promote_elements,   2, 0},
    {"promote_sums",       vy_pass_promote_sums,       2, 0},
    {"promote_rows",       vy_pass_promote_rows,       2, 0},
    {"registers",          vy_pass_registers,          2, 0}, // only where options->registers
    {"scalarise",          vy_pass_scalarise,          2, 0},
    {"invariant_carries",  vy_pass_invariant_carries,  2, 0}, // former array elements too
    {"cleanup",            vy_pass_cleanup,            2, 0},
    {"implied",            vy_pass_implied,            2, 0},
    {"fuse_ifs",           vy_pass_fuse_ifs,           1, 0},
    {"cse_regions",        vy_pass_cse_regions,        2, 0}, // fused ifs too
    {"fuse_loops",         vy_pass_fuse_loops,         2, 0}, // their ifs become adjacent
    {"fuse_ifs",           vy_pass_fuse_ifs,           2, 0}, // of newly equal conditions
    {"share_arms",         vy_pass_share_arms,         2, 0}, // what is left of ifs becomes cheap
    {"ifconvert",          vy_pass_ifconvert,          2, 0},
    {"nested_selects",     vy_pass_nested_selects,     2, 0}, // selects that were ifs, too
    {"forward",            vy_pass_forward,            2, 0},
    {"equal_carries",      vy_pass_equal_carries,      2, 0}, // that begin with what forward found
    {"licm",               vy_pass_licm,               2, 0},
    {"merge_additions",    vy_pass_merge_additions,    2, 0}, // of loops that ifconvert freed of ifs
    {"invariant_results",  vy_pass_invariant_results,  2, 0},
    {"dse",                vy_pass_dse,                2, 0},
    {"forward",            vy_pass_forward,            2, 0}, // buffers that lost their stores read 0
    {"invariant_results",  vy_pass_invariant_results,  2, 0}, // results that the first run made equal
    {"dce",                vy_pass_dce,                1, 0},
    {"early_sums",         vy_pass_early_sums,         2, 1}, // of loops that lost their flags
    {"fuse_loops",         vy_pass_fuse_loops,         2, 0}, // of sums that merge_additions left alone
    {"dead_arrays",        vy_pass_dead_arrays,        1, 0},
    {"cleanup",            vy_pass_cleanup,            1, 0},
    {"schedule_uses",      vy_pass_schedule_uses,      1, 0},
    {"group_vectors",      vy_pass_group_vectors,      1, 0},
    {"flatten_ifs",        vy_pass_flatten_ifs,        2, 1}, // only where options->lanes
    {"equal_products",     vy_pass_equal_products,     2, 1}, // only where options->registers
    {"adjoint_terms",      vy_pass_adjoint_terms,      2, 1}, // the same
    {"meeting_sums",       vy_pass_meeting_sums,       2, 1}, // only where options->registers
    {"mark_in_range",      vy_pass_mark_in_range,      1, 0},
    {"mark_owned",         vy_pass_mark_owned,         1, 0},
    {"mark_single_access", vy_pass_mark_single_access, 1, 0}, // among owned elements
    {"mark_stored",        vy_pass_mark_stored,        1, 0}, // of workspaces, which keep it
    {"place_workspaces",   vy_pass_place_workspaces,   1, 0}, // only where options->by_invocation
    {"online_sums",        vy_pass_online_sums,        2, 1}, // only where options->by_invocation
    {"row_lanes",          vy_pass_row_lanes,          2, 1}, // only where options->rows
    {"coarsen",            vy_pass_coarsen,            2, 1}, // copies flagged accesses
    {"group_quotients",    vy_pass_group_quotients,    2, 1}, // only where options->uniform_starts
    {"uniform_starts",     vy_pass_uniform_starts,     2, 1}, // the same
    {"workgroup_planes",   vy_pass_workgroup_planes,   2, 1}, // the same
    {"check_ahead",        vy_pass_check_ahead,        2, 1}, // the same; of blocks
    {"select_factors",     vy_pass_select_factors,     2, 1}, // of blocks
    {"jam_loops",          vy_pass_jam_loops,          2, 1}, // copies flagged accesses
    {"lane_loads",         vy_pass_lane_loads,         2, 1}, // only where options->lanes
    {"sliding_loads",      vy_pass_sliding_loads,      2, 1}, // of blocks, too
    {"jam_iterations",     vy_pass_jam_iterations,     2, 1}, // only where options->uniform_starts
    {"strip_mine",         vy_pass_strip_mine,         0, 1}, // copies flagged accesses; proves none
    {"subgroup_reduce",    vy_pass_subgroup_reduce,    1, 1}, // only where options->subgroup_add
    {"shared_copies",      vy_pass_shared_copies,      1, 1}, // only where options->number
    {"subgroup_runs",      vy_pass_subgroup_runs,      1, 1}, // the same; for the remaining additions
    {"shared_slots",       vy_pass_shared_slots,       2, 1}, // only where options->uniform_starts
};
// clang-format on
enum { PASS_COUNT = sizeof pipeline / sizeof *pipeline };

const char *vy_opt_pass_name(uint32_t index)
{
    return index < PASS_COUNT ? pipeline[index].name : NULL;
}

static bool wanted(const char *which, const char *name)
{
    return which && (strcmp(which, "all") == 0 || strcmp(which, name) == 0);
}

static bool dump(vy_module *m, const vy_opt_options *o, const char *name)
{
    if (!o->dump || !wanted(o->dump_after, name)) return true;
    char *text = vy_print(m, NULL);
    if (!text) {
        vy_fail_oom(m);
        return false;
    }
    o->dump(o->user, name, text);
    vy_free(text);
    return true;
}

// growth: by program.
static bool run(vy_module *m, uint32_t pass, const vy_opt_options *o, vy_growth *growth)
{
    for (uint32_t i = 0; i < m->programs.count; i++) {
        vy_pass_context c = {.options = o, .growth = &growth[i]};
        if (!pipeline[pass].run(m->programs.data[i], &c)) return false;
        if (pipeline[pass].tidy && c.changed && !vy_pass_tidy(m->programs.data[i], &c))
            return false;
#ifdef VY_CHECKS // see meson_options.txt: debug and sanitizer builds
        // Only the invariants that passes must keep: language rules were checked at the boundary,
        // and unrolling may make a violation provable that was not.
        if (!vy_check_consistent(m->programs.data[i])) return false;
#endif
    }
    return dump(m, o, pipeline[pass].name);
}

bool vy_optimize(vy_module *m, const vy_opt_options *options)
{
    static const vy_opt_options defaults = {.level = 2};
    vy_opt_options taken;
    const vy_opt_options *o = &taken;
    const uint64_t before = vy_memory_failures();
    if (!vy_module_ok(m) ||
        !vy_take_options(&taken, sizeof taken, sizeof taken, options ? options : &defaults,
                         "vy_opt_options", &m->diag))
        return false;
    for (uint32_t i = 0; i < m->programs.count; i++) {
        m->programs.data[i]->fast_math |= o->fast_math;
        vy_reshape(m->programs.data[i], o);
        vy_enlarge_workgroup(m->programs.data[i], o);
        vy_program_forget_stored(m->programs.data[i]);
    }
    vy_arena arena = {0};
    vy_growth *growth = vy_arena_room(&arena, m->programs.count, sizeof *growth);
    for (uint32_t pass = 0; growth && pass < PASS_COUNT; pass++) {
        if (o->level < pipeline[pass].level &&
            !(o->unchecked && pipeline[pass].run == vy_pass_mark_in_range))
            continue;
        if (o->skip && strcmp(o->skip, pipeline[pass].name) == 0) continue;
        if (!run(m, pass, o, growth)) break;
    }
    vy_arena_free(&arena);
    for (uint32_t i = 0; i < m->programs.count; i++) vy_structure_free(&m->programs.data[i]->kept);
    return vy_module_memory(m, before);
}
