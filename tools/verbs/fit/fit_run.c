// SPDX-License-Identifier: MIT
// fit_run.c: the windows of a training.
#include "tools/verbs/fit/fit.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static volatile sig_atomic_t interrupt_seen;

static void on_interrupt(int signal)
{
    (void)signal;
    interrupt_seen = 1;
}

// The first SIGINT ends the training after its window, the second one the process.
static void listen_for_interrupt(struct sigaction *old)
{
    struct sigaction now = {.sa_handler = on_interrupt, .sa_flags = SA_RESETHAND | SA_RESTART};
    interrupt_seen = 0;
    sigemptyset(&now.sa_mask);
    sigaction(SIGINT, &now, old);
}

static uint64_t to_next(uint64_t done, uint64_t every)
{
    return every ? every - done % every : UINT64_MAX;
}

// Steps of the next window: those that take about a tenth of a second, up to the next checkpoint.
static uint64_t next_window(const fit *f, const command *c, uint64_t now)
{
    const uint64_t left = c->o.steps - f->done, save = to_next(f->done, c->o.checkpoint_every);
    uint64_t n = now < f->window ? now : f->window;
    n = n < left ? n : left;
    return n < save ? n : save;
}

static bool room_for(fit *f, uint64_t steps, vy_diag *d)
{
    const uint64_t need = f->done - f->first + steps;
    if (need <= f->loss_room) return true;
    double *more = realloc(f->losses, need * 2 * sizeof *more);
    if (!more) return fail_memory(d);
    f->losses = more;
    f->loss_room = need * 2;
    return true;
}

// The number of the next step, as the device has counted; UINT64_MAX: without a tolerance all are.
static bool read_step(fit *f, uint64_t *next, vy_diag *d)
{
    const bound_buffer *b = fit_buffer(f, f->made.step);
    uint32_t step = 0;
    *next = UINT64_MAX;
    if (!(f->train.tolerance > 0)) return true;
    if (!vys_runner_read_one(&f->run, b, &step, d)) return false;
    *next = step;
    return true;
}

// Losses of the window that has run; stops at the first that is no finite number, and after that of
// the step from which on nothing changes.
static bool read_losses(fit *f, uint64_t steps, vy_diag *d)
{
    const bound_buffer *b = fit_buffer(f, f->made.losses);
    uint64_t next;
    if (!room_for(f, steps, d) || !vys_runner_read_one(&f->run, b, f->read, d) ||
        !read_step(f, &next, d))
        return false;
    const uint32_t size = vy_type_size(b->value.type);
    for (uint64_t i = 0; i < steps && !fit_ended(f); i++) {
        const double loss = vy_scalar_read(b->value.type, (const char *)f->read + i * size).f;
        f->losses[f->done - f->first] = loss;
        f->stopped = !isfinite(loss);
        f->settled = !f->stopped && f->done == next;
        f->done += !fit_ended(f);
    }
    return true;
}

static bool run_steps(fit *f, command *c, uint64_t steps, double *ms, vy_diag *d)
{
    if (c->o.shard)
        return take_settings(c, d) &&
               vys_ranks_run(&f->ranks.all, &c->work, (uint32_t)steps, ms, d);
    return fit_set_count(f, steps, d) && runner_run(&f->run, c, ms, d);
}

static bool run_window(fit *f, command *c, uint64_t steps, double *wall_ms, vy_diag *d)
{
    double ms = 0;
    const double start = now_ms();
    if (!run_steps(f, c, steps, &ms, d) || !read_losses(f, steps, d)) return false;
    *wall_ms = now_ms() - start;
    f->device_ms += ms;
    return true;
}

// What a checkpoint and the results hold, from the device.
static bool fetch(fit *f, vy_diag *d)
{
    for (uint32_t i = 0; i < f->data.buffer_count; i++) {
        bound_buffer *b = &f->data.buffers[i];
        if (fit_is_kept(f, b) && !vys_runner_read_one(&f->run, b, b->value.data, d)) return false;
    }
    return true;
}

static bool save(fit *f, const command *c, vy_diag *d)
{
    return f->ranks.comm.rank || (fetch(f, d) && fit_save(f, c, d));
}

// Results are written even where the checkpoint cannot be.
static bool save_interrupted(fit *f, const command *c, vy_diag *d)
{
    vy_diag why = {0};
    if (f->ranks.comm.rank) return true;
    if (!fetch(f, d)) return false;
    if (!fit_save(f, c, &why)) note(c, "there is no checkpoint: %s", why.text);
    return true;
}

// What the ranks of a training must agree on between windows.
static bool agree(fit *f, command *c, uint64_t *want, vy_diag *d)
{
    bool interrupted = interrupt_seen;
    if (!c->o.shard) return true;
    if (!fit_ranks_pulse(f, c, want, &interrupted, d)) return false;
    interrupt_seen = interrupted;
    return true;
}

static bool run_all(fit *f, command *c, vy_diag *d)
{
    uint64_t want = 1;
    while (f->done < c->o.steps && !fit_ended(f)) {
        double ms = 0;
        if (!agree(f, c, &want, d)) return false;
        if (interrupt_seen) break;
        const uint64_t steps = next_window(f, c, want);
        if (!run_window(f, c, steps, &ms, d)) return false;
        if (ms < 60 && steps == want) want *= 2;
        if (ms > 300 && want > 1) want /= 2;
        const bool last = f->done == c->o.steps || fit_ended(f) || interrupt_seen;
        fit_report(f, c, last);
        const bool due = c->o.checkpoint_every && f->done % c->o.checkpoint_every == 0;
        if (due && !fit_ended(f) && !save(f, c, d)) return false;
    }
    f->interrupted = interrupt_seen && !fit_ended(f) && f->done < c->o.steps;
    const bool saved = c->o.checkpoint_every && f->done % c->o.checkpoint_every == 0;
    return f->interrupted && !saved ? save_interrupted(f, c, d) : fetch(f, d);
}

bool fit_run(fit *f, command *c, vy_diag *d)
{
    struct sigaction old;
    f->began = now_ms();
    f->cpu_began = cpu_ms();
    listen_for_interrupt(&old);
    const bool ok = run_all(f, c, d);
    sigaction(SIGINT, &old, NULL);
    return ok;
}
