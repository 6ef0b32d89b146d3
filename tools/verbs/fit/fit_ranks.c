// SPDX-License-Identifier: MIT
// fit_ranks.c: the processes of one training: how they begin, agree and end.
//
// Every rank runs the same command.  Rank 0 alone prints and writes.  Before the first step the
// ranks agree twice that all are well: an error of all of them is printed once, one of some by the
// first of those, with its number, and all end in order.  Later a rank that fails prints why and
// ends the others.  They also compare what they train, so that differing files or devices are an
// error and not a wrong result.
#include "tools/verbs/fit/fit.h"

#include "tools/data/module.h"
#include "tools/mpi/mpi_comm.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char MODULE[] = "vyre-mpi.so";

// ------------------------------------------------------------------------------------------- begin
bool fit_ranks_open(fit *f, command *c, vy_diag *d)
{
    char why[200] = "";
    const char *(*open)(vys_comm *) = NULL;
    void *library = module_load(MODULE, why),
         *symbol = library ? dlsym(library, "vyre_comm_open") : NULL;
    if (symbol) memcpy(&open, &symbol, sizeof open);
    if (!open)
        return fail(d, TOOL_UNAVAILABLE,
                    "install MPI (Debian: libopenmpi-dev, openmpi-bin) and build again",
                    "--shard needs MPI, and this build has none: %s", why);
    const char *failed = open(&f->ranks.comm);
    if (failed) return fail(d, TOOL_RANKS, NULL, "%s", failed);
    f->ranks.library = library;
    if (!f->ranks.comm.rank) return true;
    c->o.quiet = true, c->o.verbose = false;
    return true;
}

// CPU devices are for where there is nothing else.
static bool is_cpu(const vkrt_device_info *info) { return !strcmp(info->type, "CPU"); }

bool fit_ranks_choose_device(fit *f, command *c, vy_diag *d)
{
    uint32_t good = 0, seen = 0;
    if (c->o.device || getenv("VYRE_DEVICE")) return true;
    if (!gpu_open_instance(c, d)) return false;
    const vkrt_instance *all = c->gpu->instance;
    const uint32_t count = vkrt_instance_device_count(all);
    for (uint32_t i = 0; i < count; i++) good += !is_cpu(vkrt_instance_device_info(all, i));
    const uint32_t which = f->ranks.comm.local_rank % (good ? good : count ? count : 1);
    for (uint32_t i = 0; i < count; i++) {
        if (good && is_cpu(vkrt_instance_device_info(all, i))) continue;
        if (seen++ == which) snprintf(f->ranks.device, sizeof f->ranks.device, "%u", i);
    }
    if (*f->ranks.device) c->o.device = f->ranks.device;
    return true;
}

// --------------------------------------------------------------------------------------- agreement
static bool gather(const fit *f, const command *c, const uint64_t *own, uint64_t *all,
                   uint32_t count, vy_diag *d)
{
    return vys_comm_gather(&f->ranks.comm, own, all, count * sizeof *own,
                           c->o.timeout * 1000000000u, d);
}

static uint64_t *room(const fit *f, uint64_t count, vy_diag *d)
{
    uint64_t *all = calloc(f->ranks.comm.ranks * count + 1, sizeof *all);
    if (!all) fail_memory(d);
    return all;
}

// The first rank that failed, or all of them.
static void name_rank(const fit *f, const uint64_t *all, vy_diag *d)
{
    bool each = true;
    char text[sizeof d->text];
    for (uint32_t i = 0; i < f->ranks.comm.ranks; i++) each &= all[i] != 0;
    if (each) return;
    memcpy(text, d->text, sizeof text);
    snprintf(d->text, sizeof d->text, "rank %u: %.380s", f->ranks.comm.rank, text);
}

bool fit_ranks_agree(fit *f, command *c, bool ok, vy_diag *d)
{
    vy_diag own = {0};
    uint64_t *all = room(f, 1, &own);
    const uint64_t mine = ok ? 0 : d->blame == VY_BLAME_SYSTEM ? STATUS_SYSTEM : STATUS_WRONG;
    const uint32_t ranks = f->ranks.comm.ranks;
    uint32_t first = 0;
    f->ranks.agreed++;
    if (!all || !gather(f, c, &mine, all, 1, &own)) {
        if (ok) *d = own;
        free(all);
        return f->ranks.lost = true, false;
    }
    while (first < ranks && !all[first]) first++;
    if (first < ranks) f->ranks.over = true;
    if (!ok) name_rank(f, all, d);
    c->muted = first < ranks && first != f->ranks.comm.rank;
    if (ok && first < ranks) {
        fail(d, TOOL_RANKS, NULL, "rank %u failed", first);
        d->blame = all[first] == STATUS_SYSTEM ? VY_BLAME_SYSTEM : VY_BLAME_PROGRAM;
    }
    free(all);
    return ok && first == ranks;
}

// -------------------------------------------------------------------------------------- comparison
// All ranks compare the same hashes, so all know.
static bool differ(fit *f, command *c, uint32_t rank, const char *what, vy_diag *d)
{
    f->ranks.over = true;
    c->muted = f->ranks.comm.rank != 0;
    return fail(d, TOOL_RANKS, "give every rank the same command, files and kind of device",
                "rank %u has another %s than rank 0", rank, what);
}

// Rank 0's and another's: the training itself, then the contents of each buffer.
static bool compare(fit *f, command *c, const uint64_t *all, uint32_t count, vy_diag *d)
{
    for (uint32_t r = 1; r < f->ranks.comm.ranks; r++)
        for (uint32_t i = 0; i < count; i++) {
            if (all[i] == all[(uint64_t)r * count + i]) continue;
            return differ(f, c, r, i ? f->data.buffers[i - 1].info.name : "training", d);
        }
    return true;
}

// A hash of eight bytes at a time, as data may be large.
static uint64_t hash_of(const array *a)
{
    const uint64_t bytes = a->count * vy_type_size(a->type);
    const char *at = a->data;
    uint64_t hash = fit_hash(0, a->shape, sizeof a->shape), word;
    for (uint64_t i = 0; i + sizeof word <= bytes; i += sizeof word) {
        memcpy(&word, at + i, sizeof word);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 32;
    }
    return at ? fit_hash(hash, at + bytes / 8 * 8, bytes % 8) : hash;
}

// The number of buffers is that of the training, which is compared first.
bool fit_ranks_same(fit *f, command *c, vy_diag *d)
{
    const uint32_t n = f->data.buffer_count;
    uint64_t *own = room(f, n + 1, d), *all = own ? room(f, n + 1, d) : NULL;
    bool ok = all != NULL;
    if (ok) own[0] = f->identity;
    ok = ok && gather(f, c, own, all, 1, d) && compare(f, c, all, 1, d);
    for (uint32_t i = 0; ok && i < n; i++) own[i + 1] = hash_of(&f->data.buffers[i].value);
    ok = ok && gather(f, c, own, all, n + 1, d) && compare(f, c, all, n + 1, d);
    free(own);
    free(all);
    return ok;
}

bool fit_ranks_pulse(fit *f, command *c, uint64_t *want, bool *interrupted, vy_diag *d)
{
    uint64_t own[3] = {*want, *interrupted, 0}, *all = room(f, 3, d);
    bool ok = all != NULL;
    for (uint32_t i = 0; ok && i < f->train.param_count; i++) {
        bound_buffer *b = fit_buffer(f, f->train.params[i]);
        ok = vys_runner_read_one(&f->run, b, b->value.data, d);
        own[2] = own[2] * 31 + (ok ? hash_of(&b->value) : 0);
    }
    ok = ok && gather(f, c, own, all, 3, d);
    for (uint32_t r = 0; ok && r < f->ranks.comm.ranks; r++) {
        *interrupted |= all[3 * r + 1] != 0;
        ok = all[3 * r + 2] == all[2] || differ(f, c, r, "result", d);
    }
    if (ok) *want = all[0];
    free(all);
    return ok;
}

// --------------------------------------------------------------------------------------------- end
// A rank that fails while others train: it says so and ends them.
static void end_others(const fit *f, const command *c, const vy_diag *d)
{
    vy_diag now = *d;
    snprintf(now.text, sizeof now.text, "rank %u: %.380s", f->ranks.comm.rank, d->text);
    report(c, &now, c->o.json && !f->ranks.comm.rank);
    fflush(NULL);
    f->ranks.comm.abort(f->ranks.comm.user,
                        d->blame == VY_BLAME_SYSTEM ? STATUS_SYSTEM : STATUS_WRONG);
}

void fit_ranks_close(fit *f, command *c, bool ok, vy_diag *d)
{
    void (*close)(vys_comm *) = NULL;
    if (!f->ranks.library) return;
    if (!ok && !f->ranks.over && !f->ranks.lost && f->ranks.agreed < FIT_AGREEMENTS)
        fit_ranks_agree(f, c, false, d);
    if (!ok && !f->ranks.over) end_others(f, c, d);
    // Now: once a rank has ended with an error, mpirun ends the others.
    if (!ok && !c->muted) report(c, d, c->o.json), fflush(NULL);
    c->muted |= !ok;
    if (f->ranks.comm.rank) {
        text_free(&c->out);
        text_free(&c->stream);
    }
    void *symbol = dlsym(f->ranks.library, "vyre_comm_close");
    if (symbol) memcpy(&close, &symbol, sizeof close);
    if (close) close(&f->ranks.comm);
}
