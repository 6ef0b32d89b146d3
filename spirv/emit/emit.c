// SPDX-License-Identifier: MIT
// emit.c: a function, from the first to the last instruction, and a kernel's entry point.
#include "spirv/emit/emit.h"
#include "spirv/describe/describe.h"

#include <string.h>

// -------------------------------------------------------------------------------------------- body
static void place_line(vy_fn *f, const vy_inst *in)
{
    if (!f->lines || !in->line || f->out != &f->code) return;
    if (in->line == f->last_line && in->column == f->last_column) return;
    const vy_module *source = f->p->module;
    VY_PUT(f->m, f->out, SpvOpLine, f->m->file + vy_source_number(source, in->line),
           vy_module_place(source, in->line).line, in->column);
    f->last_line = in->line;
    f->last_column = in->column;
}

static uint32_t emit_value(vy_fn *f, uint32_t i, vy_op op)
{
    if (vy_op_is_atomic(op)) return vy_emit_atomic(f, i);
    if (vy_op_is_subgroup(op)) return vy_emit_subgroup(f, i);
    switch (op) {
    case VY_OP_LOAD: return vy_emit_load(f, i);
    case VY_OP_STORE:
        if (f->library)
            f->returned = vy_val(f, vy_arg(f->p, i, 1));
        else
            vy_emit_store(f, i);
        return 0;
    case VY_OP_ZERO: vy_emit_zero(f, i); return 0;
    case VY_OP_BARRIER: vy_emit_barrier(f); return 0;
    default: return vy_emit_op(f, i);
    }
}

bool vy_emit_body(vy_fn *f)
{
    const vy_program *p = f->p;
    for (uint32_t i = 1; i < p->insts.count && !f->m->oom; i++) {
        const vy_inst *in = &p->insts.data[i];
        vy_op op = (vy_op)in->op;
        f->line = in->line ? in->line : f->line;
        if (vy_op_infos[op].effect == VY_CTRL) {
            if (!vy_emit_control(f, i)) return false;
        } else {
            place_line(f, in);
            f->ids[i] = emit_value(f, i, op);
        }
        if (in->name && f->names && f->ids[i])
            vy_spv_name(f->m, f->ids[i], vy_string(&p->module->names, in->name));
    }
    return !f->m->oom;
}

bool vy_fn_begin(vy_fn *f, vy_spv *m, const vy_program *p)
{
    size_t extents = 0;
    for (uint32_t b = 1; b < p->buffers.count; b++) extents += p->buffers.data[b].rank;
    size_t insts = p->insts.count + 1, leaves = p->leaves.count + 1, buffers = p->buffers.count + 1;
    *f = (vy_fn){.m = m, .p = p};
    f->ids = vy_realloc(NULL, (insts + leaves + p->overs.count + 1) * sizeof *f->ids);
    f->arrays = vy_realloc(NULL, buffers * sizeof *f->arrays);
    f->extents = vy_realloc(NULL, (extents + p->overs.count + 1) * sizeof *f->extents);
    if (!f->ids || !f->arrays || !f->extents) {
        m->oom = true;
        return false;
    }
    memset(f->ids, 0, (insts + leaves + p->overs.count + 1) * sizeof *f->ids);
    memset(f->arrays, 0, buffers * sizeof *f->arrays);
    memset(f->extents, 0, (extents + p->overs.count + 1) * sizeof *f->extents);
    f->leaf_ids = f->ids + insts;
    f->over_ids = f->leaf_ids + leaves;
    vy_emit_extent *next = f->extents;
    for (uint32_t b = 1; b < p->buffers.count; b++) {
        f->arrays[b].extents = next;
        next += p->buffers.data[b].rank;
    }
    f->over_extents = next;
    f->out = &f->code;
    return vy_vec_reserve(&f->code, 8 * p->insts.count + 64) || !(m->oom = true);
}

void vy_fn_join(vy_fn *f, uint32_t function, uint32_t type, uint32_t fn_type, uint32_t n_params,
                const uint32_t *params, uint32_t label)
{
    vy_spv *m = f->m;
    vy_words *to = &m->sections[VY_SEC_FUNCTIONS];
    VY_PUT(m, to, SpvOpFunction, type, function, SpvFunctionControlMaskNone, fn_type);
    for (uint32_t i = 0; i < n_params; i++)
        VY_PUT(m, to, SpvOpFunctionParameter, params[2 * i], params[2 * i + 1]);
    VY_PUT(m, to, SpvOpLabel, label);
    const vy_words *parts[] = {&f->variables, &f->prologue, &f->code};
    for (int i = 0; i < 3; i++) {
        if (!vy_vec_reserve(to, parts[i]->count + 1)) {
            m->oom = true;
            return;
        }
        if (parts[i]->count)
            memcpy(to->data + to->count, parts[i]->data, (size_t)parts[i]->count * 4);
        to->count += parts[i]->count;
    }
    vy_spv_put(m, to, SpvOpFunctionEnd, 0, NULL);
}

void vy_fn_free(vy_fn *f)
{
    vy_vec_free(&f->variables);
    vy_vec_free(&f->prologue);
    vy_vec_free(&f->code);
    vy_vec_free(&f->frames);
    vy_vec_free(&f->init_ids);
    vy_vec_free(&f->interface);
    vy_vec_free(&f->listed);
    vy_free(f->target.arrays);
    vy_free(f->target.many);
    vy_free(f->ids);
    vy_free(f->arrays);
    vy_free(f->extents);
    vy_free(f->params);
}

// ----------------------------------------------------------------------------------------- kernels
static void declare_entry(vy_fn *f, uint32_t function, const char *entry)
{
    vy_spv *m = f->m;
    const uint32_t *size = f->p->workgroup;
    uint32_t head[] = {SpvExecutionModelGLCompute, function};
    // Before SPIR-V 1.4 the interface lists inputs only, from 1.4 on all global variables in use.
    uint32_t count = 0;
    for (uint32_t i = 0; i < f->interface.count; i++) {
        bool input = false;
        for (uint32_t k = 0; k < VY_INPUT_COUNT; k++)
            input |= m->input_vars[k] == f->interface.data[i];
        if (input || m->version >= 0x00010400) f->interface.data[count++] = f->interface.data[i];
    }
    vy_spv_put_text(m, &m->sections[VY_SEC_ENTRY], SpvOpEntryPoint, 2, head, entry, count,
                    f->interface.data);
    VY_PUT(m, &m->sections[VY_SEC_MODES], SpvOpExecutionMode, function, SpvExecutionModeLocalSize,
           size[0], size[1], size[2]);
    vy_spv_name(m, function, entry);
}

// Preserve −0, inf and nan, except under --fast-math; --precise and @exact: also round to nearest
// even.  Only as far as the features are enabled.
static void float_controls(vy_fn *f, uint32_t function)
{
    static const struct {
        vy_type type;
        vy_features keep, round;
    } rows[] = {
        {VY_F16, VY_FEATURE_BIT(SIGNED_ZERO_INF_NAN_16), VY_FEATURE_BIT(ROUNDING_RTE_16)},
        {VY_F32, VY_FEATURE_BIT(SIGNED_ZERO_INF_NAN_32), VY_FEATURE_BIT(ROUNDING_RTE_32)},
        {VY_F64, VY_FEATURE_BIT(SIGNED_ZERO_INF_NAN_64), VY_FEATURE_BIT(ROUNDING_RTE_64)},
    };
    vy_spv *m = f->m;
    if (m->options->fast_math && !f->exact) return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!m->types[rows[i].type]) continue;
        vy_features have = m->options->enabled & (rows[i].keep | (f->exact ? rows[i].round : 0));
        uint32_t width = vy_type_bits(rows[i].type);
        if (!have) continue;
        vy_spv_feature(m, have);
        vy_spv_extension(m, VY_EXT_FLOAT_CONTROLS);
        if (have & rows[i].keep) {
            vy_spv_capability(m, SpvCapabilitySignedZeroInfNanPreserve);
            VY_PUT(m, &m->sections[VY_SEC_MODES], SpvOpExecutionMode, function,
                   SpvExecutionModeSignedZeroInfNanPreserve, width);
        }
        if (have & rows[i].round) {
            vy_spv_capability(m, SpvCapabilityRoundingModeRTE);
            VY_PUT(m, &m->sections[VY_SEC_MODES], SpvOpExecutionMode, function,
                   SpvExecutionModeRoundingModeRTE, width);
        }
    }
}

static bool emit_all(vy_fn *f)
{
    if (!vy_arrays_declare(f)) return false;
    vy_params_declare(f);
    if (f->m->oom || !vy_buffers_declare(f)) return false;
    uint32_t group, inside = vy_domain_check(f, &group);
    // Without barriers and the like, lanes outside the domain skip the whole body; a workgroup
    // outside does so in any case.
    bool skip = !f->facts->barrier && !f->facts->subgroup;
    f->in_domain = skip ? 0 : inside;
    const vy_hooks *hooks = f->m->hooks;
    const uint32_t lanes = hooks->lanes ? hooks->lanes(f) : 0;
    if (skip) group = vy_and_bool(f, group, inside);
    vy_guard g = vy_guard_begin(f, vy_and_bool(f, lanes, group));
    bool ok = vy_emit_body(f);
    vy_guard_end(f, g, 0, 0, 0);
    if (ok && hooks->end) hooks->end(f);
    vy_spv_put(f->m, &f->code, SpvOpReturn, 0, NULL);
    return ok;
}

bool vy_emit_kernel(vy_spv *m, const vy_program *p, const char *entry, vy_describe *d)
{
    vy_facts facts = {0};
    vy_fn f = {0};
    bool ok = vy_facts_make(m, p, &facts) && vy_fn_begin(&f, m, p);
    if (ok) {
        uint32_t function = vy_spv_id(m), label = vy_spv_id(m);
        uint32_t type = vy_spv_type(m, VY_VOID), fn = VY_INTERN(m, SpvOpTypeFunction, 0, type);
        f.facts = &facts;
        f.d = d;
        f.block = label;
        f.exact = m->options->precise || p->exact;
        f.lines = m->file != 0;
        f.names = !m->options->strip;
        ok = emit_all(&f);
        vy_fn_join(&f, function, type, fn, 0, NULL, label);
        declare_entry(&f, function, entry);
        ok = ok && vy_emit_library(m);
        d->kernel->nesting = f.nesting + m->lib_nesting;
        d->kernel->nesting_line = vy_module_place(p->module, f.at).line;
        float_controls(&f, function);
    }
    vy_fn_free(&f);
    vy_facts_free(&facts);
    return ok && !m->oom;
}
