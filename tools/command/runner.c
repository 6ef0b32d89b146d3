// SPDX-License-Identifier: MIT
// runner.c: see runner.h.
#include "tools/command/runner.h"

bool spirv_options(command *c, vy_spirv_options *o, vy_diag *d)
{
    if (!take_settings(c, d)) return false;
    *o = vys_spirv_options(&(vys_facts){0}, &c->work.settings);
    return true;
}

void note_validation(command *c, const char *name, const vy_compiled *compiled)
{
    enum { STEPS_A_SECOND = 10000000 }; // docs/performance.md, "Compile cost"
    const vy_validation *v = &compiled->validation;
    if (c->o.no_validate || v->done || c->validation_reported) return;
    note(c,
         "%s: %s is not validated: spirv-val would take about %llu s for its %u blocks, nested %u "
         "deep; --validate always does it all the same",
         c->o.file, name, (unsigned long long)(v->steps / STEPS_A_SECOND + 1), v->blocks,
         v->nesting);
    c->validation_reported = true;
}

bool runner_prepare(runner *r, command *c, binding *b, vy_diag *d)
{
    if (!take_settings(c, d) || !vys_runner_prepare(r, &c->work, b, d)) return false;
    if (r->compiled) note_validation(c, vys_entry_name(r->what), r->compiled);
    return true;
}

bool runner_prepare_steps(runner *r, command *c, binding *b, const vy_plan *steps, vy_diag *d)
{
    return take_settings(c, d) && vys_runner_prepare_steps(r, &c->work, b, steps, d);
}

// What the interpreter saw; a race or a read of what was never written means a wrong program.
static bool tell_report(const command *c, const runner *r, vy_diag *d)
{
    const vy_eval_report *report = &r->seen;
    if (!c->o.report) return true;
    note(c, "%s: %llu data races, %llu accesses out of range, %llu reads before a write",
         vys_entry_name(r->what), (unsigned long long)report->races,
         (unsigned long long)report->out_of_range, (unsigned long long)report->uninitialised);
    if (!report->races && !report->uninitialised) return true;
    *d = report->first;
    d->severity = VY_ERROR;
    return false;
}

bool runner_run(runner *r, command *c, double *ms, vy_diag *d)
{
    return take_settings(c, d) && vys_runner_run(r, &c->work, ms, d) &&
           (r->plan || tell_report(c, r, d));
}
