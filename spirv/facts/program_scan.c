// SPDX-License-Identifier: MIT
// program_scan.c: one scan over a program, before anything is emitted.
//
// The form of a buffer (float or bits) and the layout of the parameter block must be known before
// the first access, but depend on all of them.
#include "spirv/facts/facts.h"
#include "ir/core/access.h"
#include "ir/core/flow.h"

#include <stdio.h>
#include <string.h>

static bool allocate(vy_facts *f, const vy_program *p)
{
    size_t buffers = p->buffers.count, insts = p->insts.count, leaves = p->leaves.count;
    f->buffers = vy_realloc(NULL, (buffers + 1) * sizeof *f->buffers);
    f->partner = vy_realloc(NULL, (insts + 1) * sizeof *f->partner);
    f->leaf_used = vy_realloc(NULL, leaves + 1);
    if (!f->buffers || !f->partner || !f->leaf_used) return false;
    memset(f->buffers, 0, (buffers + 1) * sizeof *f->buffers);
    memset(f->partner, 0, (insts + 1) * sizeof *f->partner);
    memset(f->leaf_used, 0, leaves + 1);
    return true;
}

static void note_memory(vy_facts *f, const vy_program *p, uint32_t i)
{
    const vy_inst *in = &p->insts.data[i];
    vy_op op = (vy_op)in->op;
    const vy_buf *b = &p->buffers.data[in->aux];
    vy_mem_facts *m = &f->buffers[in->aux];
    m->loaded |= op != VY_OP_STORE;
    m->stored |= op != VY_OP_LOAD;
    m->guarded |= !(in->flags & VY_FLAG_INRANGE);
    // An element that no other invocation accesses is loaded and stored plainly.
    if (vy_strength_of(p, i) != VY_STRENGTH_ATOMIC) return;
    if (!m->atomic) {
        m->line = in->line;
        m->column = in->column;
    }
    m->atomic = true;
    if (vy_type_is_float(b->type)) m->atomic_other |= op != VY_OP_ATOMIC_ADD;
}

static bool scan(vy_facts *f, const vy_program *p)
{
    vy_words open = {0};
    bool ok = true;
    for (uint32_t i = 1; i < p->insts.count && ok; i++) {
        const vy_inst *in = &p->insts.data[i];
        vy_op op = (vy_op)in->op;
        const uint32_t *args = vy_args(p, i);
        for (uint32_t k = 0; k < in->nargs; k++)
            if (VY_IS_LEAF(args[k])) f->leaf_used[VY_LEAF_INDEX(args[k])] = true;
        if (vy_op_is_memory(op)) note_memory(f, p, i);
        if (op == VY_OP_BARRIER || vy_clears_shared(p, i)) f->barrier = true;
        if (vy_op_is_subgroup(op)) f->subgroup = true;
        if (vy_is_loop(op)) f->loop = true;
        if (vy_op_opens(op)) ok = vy_vec_push(&open, i);
        if (open.count > f->nesting) f->nesting = open.count;
        if ((op == VY_OP_ELSE || vy_op_closes(op)) && open.count) {
            f->partner[open.data[open.count - 1]] = i;
            if (op == VY_OP_ELSE)
                open.data[open.count - 1] = i;
            else
                open.count--;
        }
    }
    vy_vec_free(&open);
    return ok;
}

// ----------------------------------------------------------------------------- what atomics need
static bool enabled(const vy_spv *m, vy_features feature)
{
    return (m->options->enabled & feature) == feature;
}

static bool refuse(vy_spv *m, const vy_buf *b, const vy_mem_facts *f, vy_features a,
                   const char *instead)
{
    char fix[300] = "";
    const char *name = vy_feature_name((uint32_t)__builtin_ctzll(a));
    snprintf(fix, sizeof fix, "--enable %s, if the device has it, or %s", name, instead);
    vy_diag_set(m->diag, VY_E_ATOMIC_FEATURE, f->line, f->column, fix,
                "an atomic on `%s` (%s) needs 64-bit atomics (%s), which are not enabled", b->name,
                vy_type_name(b->type), name);
    return false;
}

static bool choose_form(vy_spv *m, const vy_buf *b, vy_mem_facts *f)
{
    bool shared = b->cls == VY_SHARED;
    vy_features int64 = shared ? VY_FEATURE_BIT(ATOMIC_INT64_SHARED) : VY_FEATURE_BIT(ATOMIC_INT64);
    vy_features add32 =
        shared ? VY_FEATURE_BIT(ATOMIC_FLOAT32_ADD_SHARED) : VY_FEATURE_BIT(ATOMIC_FLOAT32_ADD);
    vy_features add64 =
        shared ? VY_FEATURE_BIT(ATOMIC_FLOAT64_ADD_SHARED) : VY_FEATURE_BIT(ATOMIC_FLOAT64_ADD);
    switch (b->type) {
    case VY_I32:
    case VY_U32: return true;
    case VY_I64:
    case VY_U64: return enabled(m, int64) || refuse(m, b, f, int64, "use a 32-bit element type");
    case VY_F16: f->form = VY_MEM_HALVES; return true;
    case VY_F32:
        if (f->atomic_other || !enabled(m, add32)) f->form = VY_MEM_BITS;
        return true;
    case VY_F64:
        if (!f->atomic_other && enabled(m, add64)) return true;
        f->form = VY_MEM_BITS;
        return enabled(m, int64) || refuse(m, b, f, int64, "accumulate in f32");
    default:
        vy_diag_set(m->diag, VY_E_API, f->line, f->column, "run vy_module_check before vy_compile",
                    "no device has atomics on `%s`, whose elements are %s", b->name,
                    vy_type_name(b->type));
        return false;
    }
}

static bool combines(const vy_spv *m, const vy_facts *f, const vy_program *p)
{
    const vy_features needed = VY_FEATURE_BIT(SUBGROUP_ARITHMETIC) | VY_FEATURE_BIT(SUBGROUP_VOTE);
    bool atomic = false;
    for (uint32_t b = 1; b < p->buffers.count; b++) atomic |= f->buffers[b].atomic;
    return atomic && m->options->combine_additions && enabled(m, needed) &&
           p->workgroup[0] * p->workgroup[1] * p->workgroup[2] > 1;
}

bool vy_facts_make(vy_spv *m, const vy_program *p, vy_facts *f)
{
    *f = (vy_facts){0};
    if (!allocate(f, p) || !scan(f, p)) {
        m->oom = true;
        return false;
    }
    for (uint32_t i = 0; i < p->leaves.count; i++)
        if (p->leaves.data[i].kind == VY_LEAF_LEN && f->leaf_used[i])
            f->buffers[p->leaves.data[i].index].len_used = true;
    for (uint32_t b = 1; b < p->buffers.count; b++)
        if (f->buffers[b].atomic && !choose_form(m, &p->buffers.data[b], &f->buffers[b]))
            return false;
    const bool padded = p->overs.count && (f->barrier || f->subgroup);
    if (padded) f->uniform = vy_uniform_make(p, VY_UNIFORM);
    if (f->loop) f->alike = vy_uniform_make(p, VY_ALIKE);
    f->shared_place = vy_shared_places_make(p);
    if (combines(m, f, p) && !(f->combined = vy_combined_make(p))) m->oom = true;
    const bool lavapipe = !(m->options->spared & VY_QUIRK_BIT(MANY_WAYS));
    if (f->loop && !lavapipe) f->steady_place = vy_steady_places_make(p);
    if ((padded && !f->uniform) || (f->loop && !f->alike) || !f->shared_place ||
        (f->loop && !lavapipe && !f->steady_place))
        m->oom = true;
    return !m->oom;
}

void vy_facts_free(vy_facts *f)
{
    vy_free(f->buffers);
    vy_free(f->partner);
    vy_free(f->alike);
    vy_free(f->shared_place);
    vy_free(f->combined);
    vy_free(f->steady_place);
    vy_free(f->leaf_used);
    vy_free(f->uniform);
    *f = (vy_facts){0};
}
