// SPDX-License-Identifier: MIT
// derive.c: the derivative of a program: simplifies a copy of it, and differentiates that.
//
// **Short loops** are unrolled first: constant indices make values of arrays, and what an unrolled
// loop carries needs no tape.  For a gather the loop is better kept: the nine places of a 3×3
// filter become nine sums over preimages, each with its own guards, where the loop gives one sum
// with exact bounds,
//
//   for u in max(1, i) - 1..min(H, i + 2) { … }
//
// So where loops would be unrolled, the program is first differentiated with its loops kept, and
// that is the result if all its sums over invocations became gathers and nothing has to be stored
// for it.
#include "autodiff/gather/gather.h"
#include "autodiff/core/reverse.h"
#include "autodiff/driver/observed.h"
#include "autodiff/rewrite/rewrite.h"
#include "ir/build/function.h"
#include "ir/pass/pass.h"

#include <stdio.h>
#include <string.h>

// The only program of the text itself, or of what it imports if it declares none.
static const vy_program *only_program(const vy_module *m)
{
    const vy_program *found[2] = {NULL};
    uint32_t count[2] = {0};
    for (uint32_t i = 0; i < m->programs.count; i++) {
        const bool imported = vy_program_imported(m->programs.data[i]);
        found[imported] = m->programs.data[i];
        count[imported]++;
    }
    const bool from = count[0] == 0;
    return count[from] == 1 ? found[from] : NULL;
}

const vy_program *vy_choose_program(const vy_module *m, const char *name, vy_diag *diag)
{
    const uint32_t n = m->programs.count;
    const vy_program *p = name ? vy_module_find(m, name) : only_program(m);
    if (p) return p;
    if (name)
        vy_diag_set(diag, VY_E_GRAD_PROGRAM, 0, 0, NULL, "there is no program `%s`", name);
    else
        vy_diag_set(diag, VY_E_GRAD_PROGRAM, 0, 0, NULL,
                    n ? "the module has several programs" : "the module has no program");
    return NULL;
}

// The order of the derivative: the next one whose names are all free: where a parameter is called
// `grad_x` already, the gradient of x is `grad2_x`.
uint32_t vy_next_order(const vy_program *p)
{
    uint32_t n = p->order + 1;
    for (bool taken = true; taken; n += taken) {
        taken = false;
        for (uint32_t i = 1; i <= vy_program_buffer_count(p) && !taken; i++)
            taken = vy_text_is_taken(p, vy_program_buffer(p, (vy_buffer){i}).name, n);
        for (uint32_t i = 0; i < vy_program_scalar_count(p) && !taken; i++)
            taken = vy_text_is_taken(p, vy_program_scalar(p, i).name, n);
    }
    return n;
}

// The result starts as an empty module that refers to the same source file.
vy_module *vy_result_module(const vy_program *p)
{
    vy_module *out = vy_module_new();
    if (!out) return NULL;
    out->order = vy_next_order(p);
    if (!vy_take_files(out, p->module)) {
        vy_module_free(out);
        return NULL;
    }
    return out;
}

// *unrolled: in: may loops be unrolled?  Out: were any?
static bool simplify(vy_program *p, bool *unrolled)
{
    vy_opt_options options = {.level = 2};
    vy_pass_context c = {.options = &options};
    if (!vy_pass_own_atomics(p, &c) || !vy_pass_forward(p, &c) || !vy_pass_count_loops(p, &c) ||
        !vy_pass_constant_trips(p, &c))
        return false;
    c.changed = false;
    if (*unrolled && !vy_pass_unroll(p, &c)) return false;
    *unrolled = c.changed;
    // Arrays with constant indices become values: a checkpoint keeps those that are live into it.
    return vy_pass_scalarise(p, &c) && vy_pass_forward(p, &c) && vy_pass_dse(p, &c) &&
           vy_pass_licm(p, &c) && vy_pass_cleanup(p, &c) && vy_pass_dce(p, &c);
}

typedef struct derivation {
    const vy_program *source;
    const vy_grad_options *options;
    bool unrolled;
} derivation;

// NULL: *diag.
static vy_module *derive(derivation *d, const reverse_observer *observer, vy_diag *diag)
{
    vy_module *out = vy_result_module(d->source), *scratch = vy_module_new();
    vy_program *primal = out && scratch ? vy_program_clone(d->source, scratch) : NULL;
    if (primal && !vy_functions_follow(d->source, out, vy_program_clone, NULL)) {
        vy_program_free(primal);
        primal = NULL;
    }
    if (primal) vy_program_drop_marks(primal); // of a program that was optimised before
    bool ok = primal && vy_raise_lowered(primal) && simplify(primal, &d->unrolled);
    if (ok) {
        reverse r = {.p = primal, .options = d->options, .out = out};
        vy_structure_free(&primal->kept); // the analysis has its own
        ok = vy_differentiate(primal, d->source, observer, &r);
    }
    // Only its stages are named by it: those of the next derivative are named as those of a text.
    for (uint32_t k = 0; ok && k < out->programs.count; k++) out->programs.data[k]->stem = NULL;
    if (!ok) {
        if (out && !vy_module_ok(out))
            *diag = out->diag;
        else if (scratch && !vy_module_ok(scratch))
            *diag = scratch->diag;
        else
            vy_diag_set(diag, VY_E_MEMORY, 0, 0, NULL, "out of memory");
        vy_module_free(out);
        out = NULL;
    }
    vy_program_free(primal);
    vy_module_free(scratch);
    return out;
}

// -------------------------------------------------------------------------------------- loops kept
static void no_note(void *user, const reverse *r, const vy_program *result)
{
    (void)user, (void)r, (void)result;
}

static bool stores_nothing(const vy_module *m)
{
    for (uint32_t k = 0; k < m->programs.count; k++)
        for (uint32_t i = 1; i < m->programs.data[k]->buffers.count; i++)
            if (m->programs.data[k]->buffers.data[i].workspace) return false;
    for (uint32_t k = 0; k < m->pipelines.count; k++)
        for (uint32_t i = 0; i < m->pipelines.data[k]->steps.count; i++)
            if (m->pipelines.data[k]->steps.data[i].kind == VY_PIPE_BUFFER) return false;
    return true;
}

// The result with loops kept, or NULL if that is none or not good enough.
static vy_module *derive_loops(derivation *d, const reverse_observer *observer)
{
    vy_arena arena = {0};
    vy_gather_notes notes = {.arena = &arena, .counts_only = true};
    const reverse_observer count = {.note = no_note, .gathers = &notes};
    vy_diag ignored = {0};
    derivation kept = *d;
    kept.unrolled = false;
    vy_module *out = derive(&kept, &count, &ignored);
    uint32_t left = 0;
    for (uint32_t k = 0; k < notes.notes.count; k++)
        left += notes.notes.data[k].sites - notes.notes.data[k].gathered;
    if (out && (!notes.notes.count || left || !stores_nothing(out))) {
        vy_module_free(out);
        out = NULL;
    }
    vy_vec_free(&notes.notes);
    vy_vec_free(&notes.elsewhere);
    vy_arena_free(&arena);
    if (!out || !observer) return out;
    vy_module_free(out); // rerun with the caller's observer
    kept.unrolled = false;
    return derive(&kept, observer, &ignored);
}

static bool would_unroll(const derivation *d)
{
    vy_module *scratch = vy_module_new();
    vy_program *p = scratch ? vy_program_clone(d->source, scratch) : NULL;
    bool unrolled = true, ok = p && simplify(p, &unrolled);
    vy_program_free(p);
    vy_module_free(scratch);
    return ok && unrolled;
}

// ---------------------------------------------------------------------------------------- roles
static void number_role(vy_derivative_role *role, const vy_program *source)
{
    const bool scalar = role->kind == VY_IS_SCALAR_GRADIENT || role->kind == VY_IS_SCALAR_TANGENT;
    const uint32_t id = role->of && !scalar ? vy_program_find_buffer(source, role->of).id : 0;
    if (!id) return;
    role->parameter = id;
    if (role->root && !source->buffers.data[id].role.root) role->root_parameter = id;
}

// Roles name parameters of the source.  What was differentiated has other numbers for those that
// follow arrays, as workspaces do, where rewriting has removed or added an array.
void vy_number_roles(vy_module *m, const vy_program *source)
{
    for (uint32_t k = 0; k < m->programs.count; k++)
        for (uint32_t i = 1; i < m->programs.data[k]->buffers.count; i++)
            number_role(&m->programs.data[k]->buffers.data[i].role, source);
    for (uint32_t k = 0; k < m->pipelines.count; k++)
        for (uint32_t i = 1; i < m->pipelines.data[k]->signature->buffers.count; i++)
            number_role(&m->pipelines.data[k]->signature->buffers.data[i].role, source);
}

vy_module *vy_derive(const vy_program *source, const vy_grad_options *options,
                     const reverse_observer *observer, vy_diag *diag)
{
    if (vy_refuse_exact_sums(source, diag)) return NULL;
    const uint64_t before = vy_memory_failures();
    derivation d = {.source = source, .options = options};
    bool gathers = options->accumulate != VY_ACCUMULATE_ATOMIC && source->overs.count;
    vy_module *out = gathers && would_unroll(&d) ? derive_loops(&d, observer) : NULL;
    d.unrolled = true;
    if (!out) out = derive(&d, observer, diag);
    if (out) vy_number_roles(out, source);
    if (vy_memory_failures() == before) return out;
    // An alternative or an analysis was given up for want of memory: this is not the result that
    // there would have been.
    vy_module_free(out);
    vy_diag_set(diag, VY_E_MEMORY, 0, 0, NULL, "out of memory");
    return NULL;
}
