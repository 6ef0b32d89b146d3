// SPDX-License-Identifier: MIT
// fit_shard.c: `--shard x,y[:sum]` and `--parts N`: rows of the data as parts (session/shard.h).
//
// Every rank reads all data and keeps its rows.  The code is made for the first part, which is the
// longest, on all ranks: what a part computes does not depend on which rank has it, so that with
// --deterministic a number of parts stands for the same bits on any number of ranks.
#include "tools/verbs/fit/fit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_PARTS = 4 };

// ----------------------------------------------------------------------------------------- options
static bool take_name(fit *f, command *c, const char *name, size_t n, vy_diag *d)
{
    char *copy = strndup(name, n);
    if (copy && names_add(&c->o.owned, copy))
        return names_add(&f->ranks.names, copy) || fail_memory(d);
    free(copy);
    return fail_memory(d);
}

static bool parse_shard(fit *f, command *c, vy_diag *d)
{
    const char *all = c->o.shard, *at = all;
    const char *end = all + strcspn(all, ":");
    f->ranks.shard.sums = !strcmp(end, ":sum");
    bool good = !*end || f->ranks.shard.sums || !strcmp(end, ":mean");
    while (good && at <= end) {
        const size_t n = strcspn(at, ",:");
        good = n > 0;
        if (good && !take_name(f, c, at, n, d)) return false;
        at += n + 1;
    }
    f->ranks.shard.names = f->ranks.names.data;
    f->ranks.shard.count = f->ranks.names.count;
    return good || fail(d, TOOL_USAGE, "write --shard x,y or x,y:sum",
                        "--shard %.80s: buffers are expected", all);
}

static bool check_parts(fit *f, const command *c, vy_diag *d)
{
    const uint32_t ranks = f->ranks.comm.ranks;
    const uint64_t parts = c->o.parts ? c->o.parts : DEFAULT_PARTS;
    char fix[120];
    if (c->o.parts && !c->o.deterministic)
        return fail(d, TOOL_USAGE, "add --deterministic", "--parts fixes the order of sums");
    snprintf(fix, sizeof fix, "give --parts %llu, and the same with any number of ranks",
             (unsigned long long)((parts / ranks + 1) * ranks));
    if (c->o.deterministic && (parts % ranks || parts > UINT32_MAX))
        return fail(d, TOOL_USAGE, fix, "%llu parts are no multiple of %u ranks",
                    (unsigned long long)parts, ranks);
    f->ranks.parts = c->o.deterministic ? (uint32_t)parts : ranks;
    f->ranks.count = f->ranks.parts / ranks;
    return true;
}

bool fit_shard_options(fit *f, command *c, vy_diag *d)
{
    if (c->o.write_pipeline)
        return fail(d, TOOL_USAGE, "leave one of them out",
                    "--write-pipeline writes a training of one device, --shard trains on several");
    return parse_shard(f, c, d) && check_parts(f, c, d);
}

// What else makes it another training.
uint64_t fit_shard_identity(const fit *f, const command *c, uint64_t identity)
{
    if (!c->o.shard) return identity;
    const uint64_t parts = c->o.deterministic ? f->ranks.parts : 0;
    identity = fit_hash(identity, &parts, sizeof parts);
    return fit_hash(identity, c->o.shard, strlen(c->o.shard));
}

// ------------------------------------------------------------------------------------------- parts
static bool bind_part(fit *f, command *c, binding *b, uint32_t index, vy_diag *d)
{
    uint64_t from, rows;
    vys_shard_part(&f->ranks.shard, index, f->ranks.parts, &from, &rows);
    return vys_shard_bind(b, &f->ranks.shard, &f->ranks.whole, vys_entry_result(c->work.derived),
                          from, rows, d) &&
           vys_binding_tape(b, c->o.tape_limit, d);
}

static bool prepare_code(fit *f, command *c, vy_diag *d)
{
    const bool eval = c->o.engine == ENGINE_EVAL;
    return bind_part(f, c, &f->ranks.code_data, 0, d) &&
           optimize_final(c, c->work.derived, eval, &f->ranks.code_data, d) &&
           runner_prepare(&f->ranks.code, c, &f->ranks.code_data, d);
}

static bool prepare_part(fit *f, command *c, uint32_t k, vy_diag *d)
{
    vys_part *p = &f->ranks.part[k];
    const uint32_t index = f->ranks.comm.rank * f->ranks.count + k;
    p->data = k ? &f->ranks.data[k] : &f->data;
    p->run = k ? &f->ranks.run[k] : &f->run;
    if (!bind_part(f, c, p->data, index, d)) return false;
    const uint64_t rows = p->data->scalars[f->ranks.shard.scalar].value.u;
    p->weight = f->ranks.shard.sums ? 1 : (double)rows / (double)f->ranks.shard.rows;
    return (c->o.engine == ENGINE_EVAL
                ? runner_prepare(p->run, c, p->data, d)
                : runner_prepare_steps(p->run, c, p->data, f->ranks.code.steps, d)) &&
           vys_runner_upload(p->run, d);
}

static bool make_parts(fit *f, command *c, vy_diag *d)
{
    const uint32_t n = f->ranks.count;
    f->ranks.part = calloc(n, sizeof *f->ranks.part);
    f->ranks.data = calloc(n, sizeof *f->ranks.data);
    f->ranks.run = calloc(n, sizeof *f->ranks.run);
    if (!f->ranks.part || !f->ranks.data || !f->ranks.run) return fail_memory(d);
    for (uint32_t k = 0; k < n; k++)
        if (!prepare_part(f, c, k, d)) return false;
    f->ranks.all = (vys_ranks){.comm = &f->ranks.comm,
                               .made = &f->made,
                               .params = f->train.params,
                               .gradients = f->train.param_count,
                               .parts = f->ranks.part,
                               .count = n,
                               .ordered = c->o.deterministic,
                               .timeout_ns = c->o.timeout * 1000000000u};
    return vys_ranks_begin(&f->ranks.all, d);
}

bool fit_shard_prepare(fit *f, command *c, vy_diag *d)
{
    vys_shard *s = &f->ranks.shard;
    f->ranks.whole = f->data; // f->data becomes that of this rank's first part
    f->data = (binding){0};
    if (!vys_shard_rows(s, &f->ranks.whole, f->train.params, f->train.param_count, d)) return false;
    if (s->rows < f->ranks.parts)
        return fail(d, TOOL_SHAPE, "take fewer ranks (or --parts), or give more data",
                    "%s has %llu rows, fewer than %u parts", s->names[0],
                    (unsigned long long)s->rows, f->ranks.parts);
    return prepare_code(f, c, d) &&
           (f->ranks.parts == 1 || vys_shard_check(s, &f->ranks.whole, &f->ranks.code, &c->work,
                                                   &f->made, f->train.param_count, d)) &&
           make_parts(f, c, d);
}

void fit_shard_free(fit *f)
{
    fit_ranks *r = &f->ranks;
    vys_ranks_free(&r->all);
    if (r->code.what.program) vys_runner_free(&f->run); // before the code that it runs
    for (uint32_t k = 1; k < r->count; k++) {
        if (r->run) vys_runner_free(&r->run[k]);
        if (r->data) vys_binding_free(&r->data[k]);
    }
    vys_runner_free(&r->code);
    vys_binding_free(&r->code_data);
    vys_binding_free(&r->whole);
    free(r->part);
    free(r->data);
    free(r->run);
    r->part = NULL, r->data = NULL, r->run = NULL;
}
