// SPDX-License-Identifier: MIT
// keep_less.c: what a reverse keeps less and less of, where tapes are too large.
//
// A derivative is tried, and where its tapes are beyond the limit another one that needs less:
//
//   1. tapes that are too long for one buffer of the device (maxStorageBufferRange): a tape of its
//      own for each value (vy_grad_options.split_tapes)
//   2. what is kept: only what cannot be recomputed, √n states of long loops, and so on; `storage`
//      counts these ways
//   3. still too much, of a program whose domain may run in batches: the first way again, in as
//      many batches as its need is a multiple of the limit, more where that was not enough, until
//      more do not need less; then the next way.
//
// So what is refused in the end, with the least that any try needed, is beyond the limit for the
// batch of one row of the domain.
#include "session/internal.h"
#include "session/work.h"

#include <stdlib.h>
#include <string.h>

// What is kept less and less: the values of `storage`.
enum {
    FASTEST,
    LEAN,                          // only what cannot be recomputed
    SQRT,                          // √n states of long loops
    REVOLVE,                       // of outermost repeats MOST_STATES, then one less, … 1
    MOST_STATES = 10,              // as the schedule has (ir/host/revolve.c)
    AGAIN = REVOLVE + MOST_STATES, // checkpoints in checkpoints: segments of segments
    LEAST = AGAIN + 1,             // … in checkpoints
};
_Static_assert((int)LEAST < (int)VYS_WAYS, "vys_work.needs has one for each");

enum { MOST_BATCHES = 1 << 24, MOST_IDLE = 2 };

// ----------------------------------------------------------------------------------------- options
static uint32_t cuts(uint32_t storage)
{
    return storage < AGAIN ? storage >= SQRT : storage - AGAIN + 2;
}

static uint32_t states_of(uint32_t storage)
{
    if (storage < REVOLVE) return 0;
    return storage < AGAIN ? AGAIN - storage : 1;
}

static uint32_t most(uint32_t x, uint32_t y) { return x > y ? x : y; }

void vys_keep_options(const vys_work *w, vy_grad_options *g)
{
    const vys_settings *s = &w->settings;
    const uint32_t storage = s->keep == VYS_KEEP_SQRT && w->storage < SQRT ? SQRT : w->storage;
    g->lean_sums = w->lean;
    g->frugal = storage > FASTEST;
    g->checkpoint = cuts(storage);
    g->revolve = states_of(storage);
    g->split_tapes = w->split;
    g->batches = w->divides && !s->forward ? most(s->batches, w->batches) : 0;
}

vys_store vys_stores(const vys_work *w, uint32_t *states)
{
    static const vys_store stores[] = {VYS_STORE_FASTEST, VYS_STORE_LEAN, VYS_STORE_SQRT};
    const bool revolves = w->storage >= REVOLVE && w->storage < AGAIN;
    *states = revolves && w->revolves ? states_of(w->storage) : 0;
    if (w->storage < REVOLVE) return stores[w->storage];
    if (revolves) return w->revolves ? VYS_STORE_REVOLVE : VYS_STORE_SQRT;
    return VYS_STORE_SEGMENTS;
}

// ------------------------------------------------------------------------------------------- needs

typedef struct need {
    uint64_t bytes, limit; // UINT64_MAX, 0: not said
    bool one;              // the limit is of one buffer
} need;

static uint64_t number_at(const char *text)
{
    while (text && *text && (*text < '0' || *text > '9')) text++;
    return text && *text ? strtoull(text, NULL, 10) : 0;
}

// All errors that say it say "N bytes", what tapes need, first, and "the limit … is N" last.
static need need_of(const vy_diag *d)
{
    const char *end = strstr(d->text, " bytes"), *at = end, *is = strstr(d->text, "the limit");
    while (at && at > d->text && at[-1] >= '0' && at[-1] <= '9') at--;
    return (need){.bytes = at == end ? UINT64_MAX : strtoull(at, NULL, 10),
                  .limit = number_at(is),
                  .one = is && strstr(is, "one buffer")};
}

// The first try of a run forgets those of the last one.
static void note_need(vys_work *w, const vy_diag *d, uint64_t bytes)
{
    if (w->storage == FASTEST && !w->lean && !w->split && !w->batches) w->tries = 0;
    if (!w->tries++ || bytes < w->least_bytes) w->least = *d, w->least_bytes = bytes;
    if (!w->batches) w->needs[w->storage] = bytes;
}

// Nothing keeps less: the error is the one of the way that needs least, not of the last one.
static bool give_up(vys_work *w, vy_diag *d)
{
    if (w->tries > 1) {
        *d = w->least;
        vys_append(d->text, sizeof d->text, " (the least of %u ways to keep less)", w->tries);
    }
    w->tries = 0;
    return false;
}

// ----------------------------------------------------------------------------------- the next try
// Where no repeat follows the schedule, fewer states change nothing.
static uint32_t less(const vys_work *w)
{
    const bool skip = w->storage >= SQRT && w->storage < AGAIN && !w->revolves;
    return skip ? AGAIN : w->storage + 1;
}

// How many batches have that much room, if `now` take so many bytes: at least twice as many.
static uint32_t enough(uint64_t bytes, uint64_t limit, uint32_t now)
{
    uint64_t times = bytes == UINT64_MAX || !limit ? 2 : bytes / limit + (bytes % limit != 0);
    if (times < 2) times = 2;
    return times > MOST_BATCHES / now ? MOST_BATCHES : (uint32_t)times * now;
}

static void begin_batches(vys_work *w, uint32_t storage, uint64_t limit)
{
    w->storage = storage;
    w->batches = enough(w->needs[storage], limit, most(w->settings.batches, 1));
    w->batch_bytes = UINT64_MAX;
    w->idle = 0;
}

// Where twice as many batches need no less, and again, each is down to a row of the domain.  (Once
// may be an accident: a run that exceeds the limit says what it needed until then, and rows that
// all batches do not divide have a batch of their own.)
static bool add_batches(vys_work *w, const need *n)
{
    const bool less = n->bytes == UINT64_MAX || n->bytes < w->batch_bytes;
    w->idle = less ? 0 : w->idle + 1;
    if (w->batches >= MOST_BATCHES || w->idle == MOST_IDLE) return false;
    w->batches = enough(n->bytes, n->limit, w->batches);
    if (less) w->batch_bytes = n->bytes;
    return true;
}

static bool next_way(vys_work *w, const need *n)
{
    if (w->batches && add_batches(w, n)) return true;
    if (w->batches && w->storage < LEAST)
        begin_batches(w, less(w), n->limit);
    else if (!w->batches && w->storage < LEAST)
        w->storage = less(w);
    else if (!w->batches && w->divides)
        begin_batches(w, FASTEST, n->limit);
    else
        return false;
    return true;
}

static bool keep_less(vys_work *w, const need *n)
{
    const vys_settings *s = &w->settings;
    if (s->deterministic && !w->lean) return w->lean = true;
    if (n->one && !w->split) return w->split = true;
    const bool chosen = s->keep != VYS_KEEP_AUTO || s->order > 1;
    return !chosen && next_way(w, n);
}

bool vys_derive_with_less(vys_work *w, vy_diag *d)
{
    if (!vys_diag_is(d, VYS_TAPE) && !vy_diag_is(d, VY_E_EVAL_LIMIT)) return false;
    const need n = need_of(d);
    note_need(w, d, n.bytes);
    if (!keep_less(w, &n)) return give_up(w, d);
    vy_module_free(w->derived);
    w->derived = NULL;
    *d = (vy_diag){0};
    return true;
}
