// SPDX-License-Identifier: MIT
// explain.c: `vyre-grad explain`: what reverse mode made of a program, as text for people.
#include "tools/verbs/explain/explain.h"

#include "tools/data/number.h"
#include "tools/command/runner.h"

#include <stdlib.h>
#include <string.h>

// ------------------------------------------------------------------------------------------- loops
static void put_place(const char *name, const vy_module *m, uint32_t line, text *out)
{
    text_printf(out, "%s%s", name, *name ? ", " : "");
    explain_line(m, line, out);
}

static const char *had_word(vy_had_how how)
{
    return how == VY_HAD_TAPE ? "carried, on a tape: " : "carried, in closed form: ";
}

// Values that the loop carries and the reverse sweep needs.
static void put_carried(const vy_explain_loop *l, vy_had_how how, text *out)
{
    uint32_t count = 0, unnamed = 0;
    for (uint32_t i = 0; i < l->carried_count; i++) {
        const vy_explain_carried *c = &l->carried[i];
        if (c->how != how) continue;
        unnamed += !*c->name && how == VY_HAD_TAPE; // others are the compiler's own counters
        if (!*c->name) continue;
        text_printf(out, "%s%s%s", count ? ", " : "      ", count ? "" : had_word(how), c->name);
        count++;
    }
    if (unnamed)
        text_printf(out, "%s%s%u without a name", count ? ", " : "      ",
                    count ? "" : had_word(how), unnamed);
    if (count || unnamed) text_puts(out, "\n");
}

static const char *iterations(uint32_t copies, const vy_amount *a)
{
    return copies ? a->text : "-";
}

static void put_loops(const vy_explanation *e, const vy_module *m, text *out)
{
    size_t width[3] = {8, 8, 10}, name = 0;
    for (uint32_t i = 0; i < e->loop_count; i++) {
        const vy_explain_loop *l = &e->loops[i];
        text t = {0};
        put_place(l->name, m, l->line, &t);
        if (t.size > name && t.size <= 30) name = t.size;
        out->failed |= t.failed;
        text_free(&t);
        explain_widen(&width[0], iterations(l->forward_copies, &l->forward_each));
        explain_widen(&width[1], iterations(l->again_copies, &l->again_each));
        explain_widen(&width[2], iterations(l->reversed_copies, &l->reversed_each));
    }
    if (!e->loop_count) return;
    static const char title[] = "loops, iterations per invocation";
    if (name + 2 < sizeof title - 1) name = sizeof title - 3;
    text_puts(out, "\n");
    explain_cell(title, name + 2, out);
    explain_cell("forward", width[0], out);
    explain_cell("run again", width[1], out);
    text_puts(out, "reversed\n");
    for (uint32_t i = 0; i < e->loop_count; i++) {
        const vy_explain_loop *l = &e->loops[i];
        text_puts(out, "  ");
        const size_t start = out->size;
        put_place(l->name, m, l->line, out);
        explain_pad(out, start, name);
        explain_formula_cell(iterations(l->forward_copies, &l->forward_each), width[0], out);
        explain_formula_cell(iterations(l->again_copies, &l->again_each), width[1], out);
        explain_formula(iterations(l->reversed_copies, &l->reversed_each), out);
        text_puts(out, "\n");
        put_carried(l, VY_HAD_TAPE, out);
        put_carried(l, VY_HAD_CLOSED, out);
    }
}

// ----------------------------------------------------------------------------------------- storage
static void put_values(const vy_explanation *e, const vy_module *m, text *out)
{
    static const char *const why[] = {
        [VY_KEPT_CARRIED] = "the loop carries it",
        [VY_KEPT_OVERWRITTEN] = "the memory it was loaded from is overwritten",
        [VY_KEPT_ONCE] = "only the forward run can compute it",
        [VY_KEPT_COSTLY] = "cheaper than recomputing it",
        [VY_KEPT_LOG] = "the reverse puts it back",
    };
    for (uint32_t i = 0; i < e->value_count; i++) {
        const vy_explain_value *v = &e->values[i];
        const char *what = *v->name ? v->name : v->from ? "an element of " : "a value";
        text_printf(out, "  %s%s, %s, ", what, *v->name || !v->from ? "" : v->from,
                    vy_type_name(v->type));
        explain_line(m, v->line, out);
        if (v->loop_line) text_puts(out, ", in loop "), put_place(v->loop, m, v->loop_line, out);
        text_printf(out, ": %s\n      in %s, ", why[v->why], v->tape);
        if (v->per_invocation) explain_amount(&v->each, " bytes per invocation, ", out);
        explain_amount(&v->all, " bytes in all\n", out);
    }
}

static void put_workspaces(const vy_explanation *e, text *out)
{
    for (uint32_t i = 0; i < e->workspace_count; i++) {
        const vy_explain_workspace *w = &e->workspaces[i];
        if (w->kind == VY_WORK_TAPE) continue;
        text_printf(out, "  %s: ", w->name);
        if (w->kind == VY_WORK_ADJOINT)
            text_printf(out, "the adjoint of %s", w->of);
        else if (w->kind == VY_WORK_MASK)
            text_printf(out, "which elements of %s have been reached by a derivative", w->of);
        else if (w->kind == VY_WORK_COPY)
            text_printf(out, "a copy of %s, which the program overwrites", w->of);
        else if (w->kind == VY_WORK_CONTENTS)
            text_puts(out, "its contents, which are read again");
        else
            text_puts(out, "a workspace");
        text_puts(out, ", ");
        explain_amount(&w->all, " bytes\n", out);
    }
}

static void put_rewound(const vy_explanation *e, text *out)
{
    for (uint32_t i = 0; i < e->buffer_count; i++)
        if (e->buffers[i].rewound)
            text_printf(out,
                        "  %s is on no tape: the reverse puts back the zeros that stores replaced, "
                        "and loads again\n",
                        e->buffers[i].name);
}

static void put_storage(const vy_explanation *e, const command *c, text *out)
{
    text_puts(out, "\nstored\n");
    put_rewound(e, out);
    if (!e->workspace_count) {
        text_puts(out, "  nothing: no tape, no workspace\n");
        return;
    }
    put_values(e, c->module, out);
    put_workspaces(e, out);
    text_puts(out, "  tapes ");
    explain_amount(&e->tape_all, " bytes, all workspaces ", out);
    explain_amount(&e->work_all, " bytes\n", out);
    explain_keep_text(c, &e->work_all, out);
}

// -------------------------------------------------------------------------------------- operations
static bool is_zero(const vy_amount *a) { return strcmp(a->text, "0") == 0; }

static void put_number(const vy_amount *a, text *out)
{
    char number[NUMBER_TEXT + 8] = "?";
    if (a->known) {
        size_t n = 0;
        if (a->atmost) strcpy(number, "≤"), n = strlen(number);
        number_text(VY_U64, (vy_scalar){.u = a->value}, number + n);
    }
    text_puts(out, number);
}

typedef struct operation {
    const char *name;
    const vy_amount *each[2], *all[2]; // forward, gradient
} operation;

// Only operations that occur; the sum of the float operations last.
static uint32_t list_operations(const vy_explanation *e, operation list[VY_COST_COUNT + 1])
{
    const vy_cost *f = &e->forward, *g = &e->gradient;
    uint32_t n = 0;
    for (int k = 0; k < VY_COST_COUNT; k++)
        if (!is_zero(&f->each[k]) || !is_zero(&g->each[k]))
            list[n++] = (operation){vy_cost_class_name((vy_cost_class)k),
                                    {&f->each[k], &g->each[k]},
                                    {&f->all[k], &g->all[k]}};
    list[n++] =
        (operation){"flops", {&f->each_flops, &g->each_flops}, {&f->all_flops, &g->all_flops}};
    return n;
}

// In two columns, or below each other where formulas are long.
static void put_formulas(const operation *list, uint32_t n, text *out)
{
    size_t width = 8;
    bool fit = true;
    for (uint32_t i = 0; i < n; i++) {
        size_t here = 0;
        explain_widen(&here, list[i].each[0]->text);
        fit &= here > 0;
        if (here > width) width = here;
    }
    text_puts(out, "\noperations per invocation\n");
    if (fit) {
        explain_cell("", 8, out), explain_cell("forward", width, out);
        text_puts(out, "gradient\n");
    }
    for (uint32_t i = 0; i < n; i++) {
        text_puts(out, "  ");
        explain_cell(list[i].name, 6, out);
        if (!fit) text_puts(out, "forward   ");
        if (fit)
            explain_formula_cell(list[i].each[0]->text, width, out);
        else
            explain_formula(list[i].each[0]->text, out);
        if (!fit) text_puts(out, "\n          gradient  ");
        explain_formula(list[i].each[1]->text, out);
        text_puts(out, "\n");
    }
}

static void put_totals(const operation *list, uint32_t n, text *out)
{
    text_puts(out, "\noperations in all\n");
    explain_cell("", 8, out), explain_cell("forward", 14, out);
    text_puts(out, "gradient\n");
    for (uint32_t i = 0; i < n; i++) {
        text_puts(out, "  ");
        explain_cell(list[i].name, 6, out);
        const size_t start = out->size;
        put_number(list[i].all[0], out);
        explain_pad(out, start, 14);
        put_number(list[i].all[1], out);
        text_puts(out, "\n");
    }
}

static void put_operations(const vy_explanation *e, text *out)
{
    operation list[VY_COST_COUNT + 1];
    const uint32_t n = list_operations(e, list);
    put_formulas(list, n, out);
    if (e->forward.invocations.known) put_totals(list, n, out);
    const double ratio = explain_ratio(e);
    if (ratio >= 0) text_printf(out, "  ratio   %.3g\n", ratio);
    if (e->forward.conditional || e->gradient.conditional)
        text_puts(out, "  at most: both arms of every `if` are counted\n");
}

void explain_text(const vy_explanation *e, const command *c, text *out)
{
    const vy_module *m = c->module;
    text_printf(out, "%s, reverse mode: %u kernel%s", e->program, e->step_count,
                e->step_count == 1 ? "" : "s");
    for (uint32_t i = 0; i < e->step_count; i++)
        text_printf(out, "%s%s", i ? ", " : " ", e->steps[i]);
    const vy_amount *n = &e->forward.invocations;
    text_puts(out, "; invocations: ");
    if (strcmp(n->text, "invocations") != 0)
        explain_amount(n, "\n", out);
    else if (n->known)
        text_printf(out, "%llu\n", (unsigned long long)n->value);
    else
        text_puts(out, "as --groups says\n");
    explain_gradients(e, m, out);
    explain_shapes(e, &c->shaped, out);
    explain_adjoints(e, out);
    explain_accesses(e, m, out);
    put_loops(e, m, out);
    put_storage(e, c, out);
    put_operations(e, out);
}

// ---------------------------------------------------------------------------------------- the verb
typedef struct explaining {
    command *c;
    const vy_module *m; // the command's, or a derivative that is differentiated again
    vys_entry from;
    const vy_opt_options *opt;
    const vy_sizes *sizes;
    vy_grad_options g;
    const char **results; // owned: names in `g`
} explaining;

static bool request(explaining *x, vy_diag *d)
{
    command *c = x->c;
    free(x->results);
    x->results = NULL;
    return vys_grad_options(&c->work, x->from, x->m != c->module, c->o.seed == SEED_BUFFER,
                            &x->results, &x->g, d);
}

// Run once more, as `run` would, where the workspaces are beyond the limit.  A derivative that is
// differentiated again keeps what is fastest.
static bool again(explaining *x, const vy_amount *bytes)
{
    return x->m == x->c->module && explain_with_less(x->c, bytes);
}

static bool of_pipeline(explaining *x, vy_diag *d);

// Where it keeps less by running in batches, it is a pipeline that runs.
static bool of_program(explaining *x, vy_diag *d)
{
    command *c = x->c;
    vy_explanation *e = NULL;
    do {
        vy_explanation_free(e);
        if (!request(x, d)) return fail_memory(d); // unless *d is filled already
        if (vy_explains_pipeline(x->m, &x->g)) return of_pipeline(x, d);
        e = vy_explain(x->m, &x->g, x->opt, x->sizes, d);
        if (!e) return fail_memory(d);
    } while (again(x, &e->work_all));
    bool ok = true;
    if (c->o.json)
        ok = explain_json(e, c, &c->out) || fail_memory(d);
    else
        explain_text(e, c, &c->out);
    vy_explanation_free(e);
    return ok;
}

static bool of_pipeline(explaining *x, vy_diag *d)
{
    command *c = x->c;
    vy_pipeline_explanation *e = NULL;
    do {
        vy_pipeline_explanation_free(e);
        e = request(x, d) ? vy_explain_pipeline(x->m, &x->g, x->opt, x->sizes, d) : NULL;
        if (!e) return fail_memory(d);
    } while (again(x, &e->gradient.bytes));
    bool ok = true;
    if (c->o.json)
        ok = explain_pipeline_json(e, c, &c->out) || fail_memory(d);
    else
        explain_pipeline_text(e, c, &c->out);
    vy_pipeline_explanation_free(e);
    return ok;
}

static bool explain(command *c, const vy_module *m, vys_entry from, binding *b, specs *in,
                    vy_diag *d)
{
    vys_sizes z = {0};
    bool ok = binding_create(b, from, false, d) && binding_set(b, &c->o.set, d) &&
              binding_specs(b, in, "normal:0:1:1", d) && vys_binding_infer_some(b, d) &&
              (!c->o.groups || binding_groups(b, c->o.groups, d)) && vys_sizes_of(&z, b, d) &&
              take_settings(c, d);
    c->work.settings.interpreter = false;
    const vys_facts anywhere = {0};
    const vys_asked asked = {&anywhere, &c->work.settings, NULL};
    const vy_opt_options opt = vys_opt_options(&asked, false);
    explaining x = {.c = c, .m = m, .from = from, .opt = &opt, .sizes = &z.sizes};
    progress_begin(c, "differentiating");
    ok = ok && request(&x, d) && (vy_explains_pipeline(m, &x.g) ? of_pipeline : of_program)(&x, d);
    progress_end();
    vys_sizes_free(&z);
    free(x.results);
    return ok;
}

bool verb_explain(command *c, vy_diag *d)
{
    binding b = {0};
    specs in = {0};
    vys_entry from;
    bool ok = load_module(c, d) && select_entry(c, c->module, &from, d);
    const vy_module *m = c->module;
    if (ok && c->o.order > 1) { // the last derivative is explained
        c->o.order--;
        c->work.again = true; // as --order makes what it differentiates
        ok = derive(c, from, NULL, d);
        c->o.order = 1;
        m = c->work.derived;
        if (ok) from = vys_entry_result(m);
    }
    ok = ok && specs_read(&in, &c->o.in, from, d) && explain(c, m, from, &b, &in, d);
    vys_binding_free(&b);
    specs_free(&in);
    return ok;
}
