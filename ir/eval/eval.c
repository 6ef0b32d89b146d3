// SPDX-License-Identifier: MIT
// eval.c: the reference interpreter: one dispatch, workgroup by workgroup.  See eval.h.
#include "ir/build/function.h"
#include "ir/eval/eval.h"

#include <inttypes.h>
#include <string.h>

// Registers and local arrays of a chunk stay below this if the program allows splitting workgroups.
#define CHUNK_BYTES ((uint64_t)64 << 20)

// ------------------------------------------------------------------------------------------ leaves
static vy_scalar builtin_value(const vy_machine *m, const vy_leaf *leaf, uint32_t lane)
{
    const uint32_t axis = leaf->axis < 3 ? leaf->axis : 2, linear = m->linear[lane];
    vy_scalar v = {.u = 0};
    switch ((vy_builtin)leaf->index) {
    case VY_GID: v.u = m->gids[3 * (size_t)lane + axis]; break;
    case VY_LID: v.u = m->lids[3 * (size_t)linear + axis]; break;
    case VY_WID: v.u = m->group_id[axis]; break;
    case VY_NUM_GROUPS: v.u = m->groups[axis]; break;
    case VY_LINDEX: v.u = linear; break;
    case VY_LANE: v.u = linear % m->options.subgroup_size; break;
    case VY_SUBGROUP_SIZE: v.u = m->options.subgroup_size; break;
    }
    return v;
}

static vy_scalar leaf_value(const vy_machine *m, const vy_leaf *leaf, uint32_t lane)
{
    vy_scalar v = {.u = 0};
    switch ((vy_leaf_kind)leaf->kind) {
    case VY_LEAF_CONST: return leaf->value;
    case VY_LEAF_SCALAR: return m->scalars[leaf->index];
    case VY_LEAF_LEN: v.u = m->bounds[leaf->index].dims[leaf->axis]; break;
    case VY_LEAF_OVER:
        v.u = vy_eval_over(m, leaf->index, m->gids + 3 * (size_t)lane);
        if (m->padding[lane] && v.u >= m->extents[leaf->index]) v.u = m->extents[leaf->index] - 1;
        break;
    case VY_LEAF_BUILTIN: v = builtin_value(m, leaf, lane); break;
    default: break;
    }
    return vy_wrap(VY_U32, v);
}

// Uniform leaves are filled in once, varying ones for every chunk.
static void fill_constants(vy_machine *m)
{
    for (uint32_t k = 0; k < m->p->leaves.count; k++) {
        if (m->leaf_regs[k] == UINT32_MAX) continue;
        vy_scalar *r = vy_reg(m, m->leaf_regs[k]);
        const vy_scalar v = leaf_value(m, &m->p->leaves.data[k], 0);
        for (uint32_t l = 0; l < m->lane_capacity; l++) r[l] = v;
    }
}

static void fill_varying(vy_machine *m)
{
    for (uint32_t k = 0; k < m->varying_count; k++) {
        const uint32_t index = m->varying[k];
        vy_scalar *r = vy_reg(m, m->leaf_regs[index]);
        for (uint32_t l = 0; l < m->lanes; l++) r[l] = leaf_value(m, &m->p->leaves.data[index], l);
    }
}

// --------------------------------------------------------------------------------------- execution
static void run_chunk(vy_machine *m)
{
    fill_varying(m);
    vy_set_active(m, m->identity, m->lanes);
    m->pc = 0;
    if (m->hooks->path_hash || m->hooks->trace || m->dots) {
        while (m->pc < m->code_count && !m->failed) {
            const vy_xinst *x = &m->code[m->pc++];
            m->steps += m->nact;
            if (m->hooks->path_hash) vy_path_note(m, x);
            if (m->hooks->trace) vy_trace_before(m, x);
            x->run(m, x);
            if (m->hooks->trace) vy_trace_after(m, x);
            if (m->dots) vy_dual_step(m, x);
        }
    } else {
        while (m->pc < m->code_count && !m->failed) {
            const vy_xinst *x = &m->code[m->pc++];
            m->steps += m->nact;
            x->run(m, x);
        }
    }
    if (!m->failed && m->options.max_steps && m->steps > m->options.max_steps)
        vy_eval_fail(m, VY_E_EVAL_STEPS, m->p->line, 0, "gave up after %" PRIu64 " steps",
                     m->options.max_steps);
}

// A pseudo-random bijection of [0, n): a Feistel network on the smallest even number of bits that
// holds n − 1, repeated until the result is below n (at most four times on average).
static uint64_t shuffled(uint64_t i, uint64_t n, uint64_t seed)
{
    uint32_t half = 1;
    while (half < 32 && (n - 1) >> (2 * half)) half++;
    const uint64_t mask = (1ull << half) - 1;
    do {
        uint64_t left = i >> half, right = i & mask;
        for (uint64_t round = 0; round < 4; round++) {
            uint64_t f = (right + 1 + (round << 40)) * 0x9e3779b97f4a7c15ull ^ seed;
            f = (f ^ (f >> 30)) * 0xbf58476d1ce4e5b9ull;
            const uint64_t next = left ^ ((f ^ (f >> 31)) & mask);
            left = right;
            right = next;
        }
        i = left << half | right;
    } while (i >= n);
    return i;
}

// The linear index in its workgroup of the i-th invocation to run.  Subgroup operations identify
// lanes by their order, so programs that have them keep it.
static uint32_t place_of(const vy_machine *m, uint32_t i, uint32_t lanes)
{
    const uint64_t seed = m->options.shuffle_seed;
    if (!seed || m->subgroups) return i;
    return (uint32_t)shuffled(i, lanes, seed ^ (m->group + 1) * 0x9e3779b97f4a7c15ull);
}

static void run_group(vy_machine *m)
{
    const uint32_t lanes = m->workgroup[0] * m->workgroup[1] * m->workgroup[2];
    vy_eval_group_position(m, m->group, m->group_id);
    m->epoch = 0;
    for (uint32_t id = 1; id < m->p->buffers.count; id++) {
        vy_bound *b = &m->bounds[id];
        if (b->cls == VY_SHARED) memset(b->data, 0, b->count * b->size);
        if (b->cls == VY_SHARED && b->dot) vy_dual_restart(m, id);
    }
    m->lanes = 0;
    for (uint32_t i = 0; i < lanes && !m->failed; i++) {
        const uint32_t place = place_of(m, i, lanes);
        const bool inside = vy_eval_locate(m, m->group_id, place, m->gids + 3 * (size_t)m->lanes);
        if (inside || m->cooperative) {
            m->padding[m->lanes] = !inside;
            m->linear[m->lanes++] = place;
        }
        if (m->lanes == m->lane_capacity || (m->lanes && i + 1 == lanes)) {
            run_chunk(m);
            m->lanes = 0;
        }
    }
}

// ------------------------------------------------------------------------------------------ memory
static uint32_t choose_lanes(const vy_machine *m)
{
    uint64_t lanes = 1, inside = 1;
    for (uint32_t k = 0; k < 3; k++) {
        lanes *= m->workgroup[k];
        inside *= m->workgroup[k] < m->size[k] ? m->workgroup[k] : m->size[k];
    }
    if (m->cooperative) return (uint32_t)lanes;
    const uint64_t each = (uint64_t)m->reg_count * sizeof(vy_scalar) + m->local_bytes;
    if (inside > CHUNK_BYTES / each) inside = CHUNK_BYTES / each;
    return inside ? (uint32_t)inside : 1;
}

static void number_lanes(vy_machine *m)
{
    uint32_t *lid = m->lids;
    for (uint32_t l = 0; l < m->lane_capacity; l++) m->identity[l] = l;
    for (uint32_t z = 0; z < m->workgroup[2]; z++)
        for (uint32_t y = 0; y < m->workgroup[1]; y++)
            for (uint32_t x = 0; x < m->workgroup[0]; x++, lid += 3)
                lid[0] = x, lid[1] = y, lid[2] = z;
}

static bool make_lanes(vy_machine *m)
{
    const uint64_t n = m->lane_capacity = choose_lanes(m);
    const uint64_t all = (uint64_t)m->workgroup[0] * m->workgroup[1] * m->workgroup[2];
    m->regs = vy_eval_alloc(m, n * m->reg_count, sizeof *m->regs);
    m->identity = vy_eval_alloc(m, n, sizeof *m->identity);
    m->lists = vy_eval_alloc(m, 2 * n * m->max_depth, sizeof *m->lists);
    m->frames = vy_eval_alloc(m, m->max_depth, sizeof *m->frames);
    m->offsets = vy_eval_alloc(m, n, sizeof *m->offsets);
    m->scratch = vy_eval_alloc(m, n * (m->max_moves ? m->max_moves : 1), sizeof *m->scratch);
    m->marks = vy_eval_alloc(m, n, sizeof *m->marks);
    m->padding = vy_eval_alloc(m, n, sizeof *m->padding);
    m->linear = vy_eval_alloc(m, n, sizeof *m->linear);
    if (m->hooks->trace) {
        m->finite = vy_eval_alloc(m, n, sizeof *m->finite);
        m->origin = vy_eval_alloc(m, n, sizeof *m->origin);
    }
    m->gids = vy_eval_alloc(m, 3 * (n + 1), sizeof *m->gids); // one more may be tried when full
    m->lids = vy_eval_alloc(m, 3 * all, sizeof *m->lids);
    for (uint32_t id = 1; id < m->p->buffers.count; id++) {
        vy_bound *b = &m->bounds[id];
        if (b->cls != VY_LOCAL) continue;
        b->data = vy_eval_alloc(m, n, b->lane_stride ? b->lane_stride : 1);
        b->owned = b->data != NULL;
    }
    if (m->hooks->dual) m->dots = vy_eval_alloc(m, n * m->reg_count, sizeof *m->dots);
    for (uint32_t id = 1; id < m->p->buffers.count && m->hooks->dual; id++)
        if (m->bounds[id].cls == VY_LOCAL && !vy_dual_make_one(m, id)) return false;
    if (m->failed) return false;
    number_lanes(m);
    fill_constants(m);
    return !m->dots || vy_dual_leaves(m);
}

void vy_eval_release(vy_machine *m)
{
    for (uint32_t id = 1; m->bounds && id < m->p->buffers.count; id++) {
        vy_bound *b = &m->bounds[id];
        if (b->owned) vy_free(b->data);
        vy_free(b->dims);
        vy_free(b->touches);
        vy_free(b->written);
        vy_free(b->owner);
        vy_free(b->dropped);
        vy_free(b->filled);
        vy_dual_release(b);
    }
    void *const blocks[] = {m->bounds,  m->scalars,  m->dim_values, m->dim_states, m->extents,
                            m->code,    m->operands, m->leaf_regs,  m->regs,       m->identity,
                            m->lists,   m->frames,   m->offsets,    m->scratch,    m->marks,
                            m->padding, m->linear,   m->gids,       m->lids,       m->varying,
                            m->finite,  m->origin,   m->dots,       m->sums,       m->redundant};
    for (size_t k = 0; k < sizeof blocks / sizeof *blocks; k++) vy_free(blocks[k]);
}

static bool run_program(const vy_program *p, const vy_eval_buffer *buffers, uint32_t buffer_count,
                        const vy_eval_scalar *scalars, uint32_t scalar_count,
                        const vy_eval_options *options, const vy_eval_hooks *hooks,
                        vy_eval_report *report, vy_diag *diag)
{
    static const vy_eval_hooks no_hooks = {0};
    vy_diag unwanted;
    vy_machine m = {.p = p, .hooks = hooks ? hooks : &no_hooks, .report = report};
    m.diag = diag ? diag : &unwanted;
    *m.diag = (vy_diag){0};
    if (options) m.options = *options;
    if (report) *report = (vy_eval_report){0};
    if (m.options.subgroup_size == 0) m.options.subgroup_size = 32;
    if (m.hooks->steps) m.steps = *m.hooks->steps;
    if (!p) {
        vy_eval_fail(&m, VY_E_API, 0, 0, "there is no program to run");
        return false;
    }
    bool ok = vy_eval_bind(&m, buffers, buffer_count, scalars, scalar_count) && vy_dual_make(&m);
    if (ok && m.group_count) {
        ok = vy_eval_decode(&m) && vy_shadow_make(&m) && vy_marks_make(&m) && vy_partial_make(&m) &&
             make_lanes(&m);
        // Without instructions, even the largest launch ends at once.
        for (uint64_t g = 0; ok && m.code_count && g < m.group_count && !m.failed; g++) {
            const uint64_t seed = m.options.shuffle_seed;
            m.group = seed ? shuffled(g, m.group_count, seed) : g;
            run_group(&m);
        }
    }
    if (m.hooks->steps) *m.hooks->steps = m.steps;
    if (m.hooks->dual && !m.failed) vy_dual_finish(&m);
    vy_eval_release(&m);
    return !m.failed;
}

static void no_calls(const vy_module *scratch, vy_diag *diag)
{
    if (!diag) return;
    if (scratch && !vy_module_ok(scratch))
        *diag = scratch->diag;
    else
        vy_diag_set(diag, VY_E_MEMORY, 0, 0, NULL, "out of memory");
}

// Calls are inlined first (ir/core/functions.h); tangents are those of the rules.
bool vy_eval_hooked(const vy_program *p, const vy_eval_buffer *buffers, uint32_t buffer_count,
                    const vy_eval_scalar *scalars, uint32_t scalar_count,
                    const vy_eval_options *options, const vy_eval_hooks *hooks,
                    vy_eval_report *report, vy_diag *diag)
{
    vy_module *scratch;
    if (!p || !vy_program_applies(p))
        return run_program(p, buffers, buffer_count, scalars, scalar_count, options, hooks, report,
                           diag);
    const bool dual = hooks && hooks->dual;
    vy_program *plain = vy_without_calls(p, dual ? VY_INLINE_DUAL : VY_INLINE_VALUES, &scratch);
    if (!plain) no_calls(scratch, diag);
    const bool ok = plain && run_program(plain, buffers, buffer_count, scalars, scalar_count,
                                         options, hooks, report, diag);
    vy_program_free(plain);
    vy_module_free(scratch);
    return ok;
}

bool vy_eval(const vy_program *p, const vy_eval_buffer *buffers, uint32_t buffer_count,
             const vy_eval_scalar *scalars, uint32_t scalar_count, const vy_eval_options *options,
             vy_eval_report *report, vy_diag *diag)
{
    vy_eval_options o;
    return vy_take_options(&o, sizeof o, sizeof o, options, "vy_eval_options", diag) &&
           vy_eval_hooked(p, buffers, buffer_count, scalars, scalar_count, &o, NULL, report, diag);
}
