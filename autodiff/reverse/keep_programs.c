// SPDX-License-Identifier: MIT
// keep_programs.c: a derivative cut into two programs at the values found by keep_find.c.
//
//   program step_grad(b: in, ct: in, g: out) over(i: N)      { g[i] = ct[i] * sin(b[i] - b[i+1]); }
//
//   program keep(b: in, kept: out) over(i: N)                { kept[i] = sin(b[i] - b[i+1]); }
//   program step_grad_kept(ct: in, g: out, kept: in) over(…) { g[i] = ct[i] * kept[i]; }
//
// Both are the program itself: in the first one all of its writes are left out and the values are
// stored at the end, in the second one loads take the place of the values.  What nothing needs then
// is removed as from any program, and what is left shows whether the cut was one.
#include "autodiff/reverse/keep.h"
#include "autodiff/reverse/sweeps.h"
#include "ir/build/build.h"
#include "ir/build/rewrite.h"
#include "ir/check/check.h"
#include "ir/pass/pass.h"

#include <stdio.h>
#include <string.h>

typedef struct parting {
    vy_rewrite w;
    const keep_cut *cut;
    uint32_t *uses;
    uint32_t kept[VY_KEEP_MOST]; // buffers of the new program
    uint32_t load[VY_KEEP_MOST]; // of their elements; 0: they are written
} parting;

static bool is_name_taken(const vy_program *p, const char *name)
{
    for (uint32_t k = 0; k < p->overs.count; k++)
        if (strcmp(p->overs.data[k].name, name) == 0) return true;
    return vy_program_find_buffer(p, name).id || vy_program_find_scalar(p, name) != UINT32_MAX;
}

// An element for each invocation.
static void declare(parting *x, uint32_t k, vy_buffer_class cls)
{
    const vy_program *p = x->w.p;
    vy_dim dims[VY_MAX_RANK];
    char name[24] = "kept";
    for (uint32_t n = 2; is_name_taken(vy_builder_program(x->w.b), name); n++)
        snprintf(name, sizeof name, "kept_%u", n);
    for (uint32_t n = 0; n < p->overs.count; n++)
        dims[n] = vy_dim_natural(x->w.b, p->overs.data[n].extent);
    const vy_type type = (vy_type)p->insts.data[x->cut->value[k]].type;
    x->kept[k] = vy_build_buffer(x->w.b, name, cls, type, p->overs.count, dims).id;
}

static uint32_t own_element(parting *x, uint32_t *index)
{
    const uint32_t n = x->w.p->overs.count;
    for (uint32_t k = 0; k < n; k++) index[k] = vy_leaf_other(x->w.b, VY_LEAF_OVER, VY_U32, k, 0);
    return n;
}

static void load_all(parting *x)
{
    uint32_t index[VY_MAX_RANK];
    const uint32_t n = own_element(x, index);
    for (uint32_t k = 0; k < x->cut->count; k++) {
        const vy_type type = (vy_type)x->w.p->insts.data[x->cut->value[k]].type;
        x->load[k] = vy_emit(x->w.b, VY_OP_LOAD, type, x->kept[k], n, index);
    }
}

static void store_all(parting *x)
{
    uint32_t index[VY_MAX_RANK + 1];
    const uint32_t n = own_element(x, index);
    for (uint32_t k = 0; k < x->cut->count; k++) {
        index[n] = vy_new(&x->w, x->cut->value[k]);
        vy_emit(x->w.b, VY_OP_STORE, VY_VOID, x->kept[k], n + 1, index);
    }
}

static uint32_t without_writes(void *pass, uint32_t id)
{
    parting *x = pass;
    const vy_effect effect = vy_op_infos[x->w.p->insts.data[id].op].effect;
    return (effect == VY_WRITE || effect == VY_CONV) && !x->uses[id] ? id : 0;
}

static uint32_t with_loads(void *pass, uint32_t id)
{
    parting *x = pass;
    for (uint32_t k = 0; k < x->cut->count; k++) {
        if (x->cut->value[k] != id) continue;
        vy_rewrite_copy(&x->w, id); // a result has its place after its construct
        vy_rewrite_as(&x->w, id, x->load[k]);
        return id;
    }
    return 0;
}

static vy_program *part(const vy_program *p, const keep_cut *cut, bool reads)
{
    parting x = {.cut = cut};
    bool ok = vy_rewrite_begin(&x.w, (vy_program *)p);
    x.uses = ok ? vy_rewrite_uses(&x.w) : NULL;
    ok = x.uses != NULL;
    if (ok && vy_rewrite_open(&x.w)) {
        for (uint32_t k = 0; k < cut->count; k++) declare(&x, k, reads ? VY_IN : VY_OUT);
        if (reads) load_all(&x);
        vy_rewrite_range(&x.w, 1, p->insts.count, reads ? with_loads : without_writes, &x);
        if (!reads) store_all(&x);
    }
    return vy_rewrite_take(&x.w, ok);
}

static bool clean(vy_program *p)
{
    vy_pass_context c = {0};
    return vy_pass_cleanup(p, &c) && vy_pass_dce(p, &c) && vy_pass_cleanup(p, &c);
}

// Does the program access nothing but inputs and what it writes of the cut, its last buffers?
static bool only_writes(const vy_program *p, const keep_use *uses, uint32_t buffers)
{
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (vy_op_infos[i->op].effect == VY_CONV) return false;
        if (!vy_op_is_memory((vy_op)i->op)) continue;
        if (i->op == VY_OP_LOAD ? i->aux >= buffers || uses[i->aux] == VY_KEEP_OTHER
                                : i->op != VY_OP_STORE || i->aux < buffers)
            return false;
    }
    return true;
}

static bool reads_state(const vy_program *p, const keep_use *uses, uint32_t buffers)
{
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (vy_op_is_memory((vy_op)i->op) && i->aux < buffers && uses[i->aux] == VY_KEEP_STATE)
            return true;
    }
    return false;
}

// A program with a head of its own: it is no stage of a derivative.
static void begin_anew(vy_program *p)
{
    memset(p->rules, 0, sizeof p->rules);
    p->stem = NULL;
    p->gathers = p->exact_sums = false;
}

vy_program *vy_keep_writer(const vy_program *p, const keep_use *uses, const keep_cut *cut)
{
    vy_program *made = part(p, cut, false);
    if (made) begin_anew(made);
    if (made && clean(made) && only_writes(made, uses, p->buffers.count) &&
        vy_drop_unused(made, VY_DROP_ALL) && vy_check_program(made))
        return made;
    vy_program_free(made);
    return NULL;
}

vy_program *vy_keep_reader(const vy_program *p, const keep_use *uses, const keep_cut *cut)
{
    vy_program *made = part(p, cut, true);
    if (made && clean(made) && !reads_state(made, uses, p->buffers.count)) return made;
    vy_program_free(made);
    return NULL;
}
