// SPDX-License-Identifier: MIT
// fit.c: `vyre-grad fit`: trains parameters of a program or pipeline.
//
// The loss, its gradient and the optimiser are one pipeline (autodiff/train.h) with all its buffers
// on the device.  It runs in windows of as many steps as take about a tenth of a second; between
// them the host reads the losses, reports, writes checkpoints and looks for an interrupt.
#include "tools/verbs/fit/fit.h"

#include <stdlib.h>
#include <string.h>

static bool write_out(const fit *f, command *c, vy_diag *d)
{
    for (uint32_t i = 0; i < f->out.count; i++) {
        const spec *o = &f->out.data[i];
        const bound_buffer *b = fit_buffer(f, o->name);
        if (!write_array(c, o, &b->value, d)) return false;
    }
    return true;
}

static void fit_free(fit *f)
{
    fit_shard_free(f);
    vys_runner_free(&f->run);
    vys_binding_free(&f->data);
    names_free(&f->ranks.names);
    specs_free(&f->in);
    specs_free(&f->out);
    names_free(&f->zeros);
    names_free(&f->batch);
    text_free(&f->optimiser);
    saved_free(&f->resumed);
    free(f->start);
    free(f->losses);
    free(f->read);
}

// For an engine of its own: no data, no device.
static bool write_pipeline(fit *f, command *c, vy_diag *d)
{
    vys_entry what;
    return select_entry(c, c->module, &what, d) && fit_train(f, c, what, d) &&
           write_all_forms(c, c->work.derived, c->o.write_pipeline, d);
}

static bool write_results(fit *f, command *c, vy_diag *d)
{
    return fit_print(f, c, d) && (!c->o.plot || fit_plot(f, c, d)) &&
           (f->stopped || write_out(f, c, d));
}

static bool train(fit *f, command *c, vy_diag *d)
{
    return fit_prepare(f, c, d) && fit_run(f, c, d) &&
           (f->ranks.comm.rank || write_results(f, c, d));
}

// The names in the lists may have become those of fields when the module was read.
static bool load(fit *f, command *c, vy_diag *d)
{
    if (!load_module(c, d)) return false;
    f->train.loss = c->o.of.count ? c->o.of.data[0] : NULL;
    f->train.params = c->o.params.data, f->train.param_count = c->o.params.count;
    return true;
}

bool verb_fit(command *c, vy_diag *d)
{
    fit f = {0};
    const bool ok = (!c->o.shard || fit_ranks_open(&f, c, d)) && fit_options(&f, c, d) &&
                    load(&f, c, d) &&
                    (c->o.write_pipeline ? write_pipeline(&f, c, d) : train(&f, c, d));
    if (ok && f.stopped) c->status = STATUS_CHECK;
    fit_ranks_close(&f, c, ok, d);
    fit_free(&f);
    return ok;
}
