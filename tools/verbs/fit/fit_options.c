// SPDX-License-Identifier: MIT
// fit_options.c: options of `fit` as a request (autodiff/train.h).
#include "tools/verbs/fit/fit.h"

#include "tools/data/number.h"

#include <stdlib.h>
#include <string.h>

// The number up to the next colon; *at moves behind it.  False: there is none.
static bool next_number(const char **at, vy_type type, vy_scalar *out)
{
    const size_t n = strcspn(*at, ":");
    if (number_parse(type, *at, n, out)) return false;
    *at += n;
    if (**at == ':') ++*at;
    return true;
}

static bool bad_rate(const char *lr, vy_diag *d)
{
    return fail(d, TOOL_USAGE, "write 1e-3, cosine:LR[:LAST[:STEPS]] or step:LR:FACTOR:EVERY",
                "--lr %.80s: a learning rate above 0 is expected", lr);
}

static bool parse_cosine(fit *f, const command *c, const char *at)
{
    vy_scalar lr, last = {.f = 0}, steps = {.u = c->o.steps};
    if (!next_number(&at, VY_F64, &lr) || (*at && !next_number(&at, VY_F64, &last)) ||
        (*at && !next_number(&at, VY_U32, &steps)))
        return false;
    f->train.schedule = VY_RATE_COSINE;
    f->train.lr = lr.f, f->train.last = last.f, f->train.period = (uint32_t)steps.u;
    return !*at && lr.f > 0 && last.f >= 0 && steps.u > 0;
}

static bool parse_step(fit *f, const char *at)
{
    vy_scalar lr, factor, every;
    if (!next_number(&at, VY_F64, &lr) || !next_number(&at, VY_F64, &factor) ||
        !next_number(&at, VY_U32, &every))
        return false;
    f->train.schedule = VY_RATE_STEP;
    f->train.lr = lr.f, f->train.factor = factor.f, f->train.period = (uint32_t)every.u;
    return !*at && lr.f > 0 && factor.f > 0 && every.u > 0;
}

static bool parse_rate(fit *f, const command *c, vy_diag *d)
{
    const char *lr = c->o.lr;
    vy_scalar v;
    if (!lr) return f->train.lr = vy_train_rate(f->train.optimiser), true;
    if (!strncmp(lr, "cosine:", 7)) return parse_cosine(f, c, lr + 7) || bad_rate(lr, d);
    if (!strncmp(lr, "step:", 5)) return parse_step(f, lr + 5) || bad_rate(lr, d);
    const char *at = lr;
    if (!next_number(&at, VY_F64, &v) || *at || !(v.f > 0) || v.f > 1e30) return bad_rate(lr, d);
    f->train.lr = v.f;
    return true;
}

// Losses of one optimiser that searches are of the same data, and fall.
static bool parse_tolerance(fit *f, const command *c, vy_diag *d)
{
    const char *at = c->o.tolerance;
    const bool searches = f->train.optimiser && !strcmp(f->train.optimiser, "lbfgs");
    vy_scalar v;
    if (!at) return f->train.tolerance = searches ? 1e-6 : 0, true;
    if (!next_number(&at, VY_F64, &v) || *at || !(v.f >= 0) || v.f >= 1)
        return fail(d, TOOL_USAGE, "write 1e-6, or 0 for all steps",
                    "--tolerance %.80s: a number from 0 up to 1 is expected", c->o.tolerance);
    f->train.tolerance = v.f;
    return true;
}

static bool bad_batch(const char *batch, vy_diag *d)
{
    return fail(d, TOOL_USAGE, "write --batch x,y:256 or x,y:256:SEED",
                "--batch %.80s: buffers and a number of rows are expected", batch);
}

// x,y:256[:SEED]
static bool parse_batch(fit *f, command *c, vy_diag *d)
{
    const char *batch = c->o.batch, *at = batch ? strchr(batch, ':') : NULL;
    vy_scalar rows, seed = {.u = 0};
    if (!batch) return true;
    if (!at) return bad_batch(batch, d);
    for (const char *name = batch; name < at;) {
        const size_t n = strcspn(name, ",:");
        char *copy = n ? strndup(name, n) : NULL;
        if (!n) return bad_batch(batch, d);
        if (!copy || !names_add(&c->o.owned, copy)) {
            free(copy);
            return fail_memory(d);
        }
        if (!names_add(&f->batch, copy)) return fail_memory(d);
        name += n + (name[n] == ',');
    }
    at++;
    if (!next_number(&at, VY_U32, &rows) || (*at && !next_number(&at, VY_U32, &seed)) || *at ||
        rows.u < 1)
        return bad_batch(batch, d);
    f->batch_rows = rows.u;
    f->train.seed = (uint32_t)seed.u;
    return true;
}

// An optimiser of the library, or a file.
static bool take_optimiser(fit *f, const command *c, vy_diag *d)
{
    const char *name = c->o.optimizer;
    if (!name) return true;
    for (uint32_t i = 0; vy_train_optimiser(i); i++)
        if (!strcmp(name, vy_train_optimiser(i))) return f->train.optimiser = name, true;
    if (!ends_in(name, ".vyre"))
        return fail(d, TOOL_USAGE, "optimisers are sgd, momentum, adam, lbfgs, or FILE.vyre",
                    "--optimizer %.80s: there is no such optimiser", name);
    if (!file_read(name, FILE_LIMIT, &f->optimiser, d)) return false;
    text_add(&f->optimiser, "", 1); // terminates it
    f->train.optimiser_text = f->optimiser.data;
    return !f->optimiser.failed || fail_memory(d);
}

static bool check_options(const options *o, vy_diag *d)
{
    if (o->of.count != 1)
        return fail(d, TOOL_USAGE, "name one output: --of loss", "fit needs the loss");
    if (!o->params.count)
        return fail(d, TOOL_USAGE, "name the inputs to train: --params w,b",
                    "fit needs parameters");
    return (o->steps >= 1 && o->steps <= UINT32_MAX) ||
           fail(d, TOOL_USAGE, "", "--steps is 1 to 4294967295");
}

static bool parts_alone(vy_diag *d)
{
    return fail(d, TOOL_USAGE, "add --shard x,y", "--parts is of --shard");
}

bool fit_options(fit *f, command *c, vy_diag *d)
{
    const options *o = &c->o;
    f->train.split = o->shard != NULL;
    const bool ok = check_options(o, d) && (!o->shard || fit_shard_options(f, c, d)) &&
                    (o->shard || !o->parts || parts_alone(d)) && take_optimiser(f, c, d) &&
                    parse_rate(f, c, d) && parse_tolerance(f, c, d) && parse_batch(f, c, d) &&
                    outputs_parse(&f->out, o, d) && (!o->plot || fit_plot_check(o->plot, d)) &&
                    (!o->resume || fit_load(&f->resumed, o->resume, d));
    f->train.batch = f->batch.data, f->train.batch_count = f->batch.count;
    return ok;
}
