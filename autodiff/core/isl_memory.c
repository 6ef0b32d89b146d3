// SPDX-License-Identifier: MIT
// isl_memory.c: see isl_memory.h.
#include "autodiff/core/isl_memory.h"

#include "autodiff/core/isl_numbers.h"
#include "ir/core/mem.h"

#include <errno.h>
#include <gmp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// Enough for isl's GMP allocations between a failure and isl's own next allocation: the numbers of
// one row of a tableau.
#define RESERVE ((size_t)1 << 20)

// More than a new context allocates.  Whether that much is available is tested beforehand: when one
// of these allocations fails, isl (0.25) reads the options of a context that has none yet.
#define CONTEXT_ROOM ((size_t)64 << 10)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned users; // of the allocation functions, over all threads
static struct {
    void *(*allocate)(size_t);
    void *(*reallocate)(void *, size_t, size_t);
    void (*release)(void *, size_t);
} before;
static _Thread_local vy_isl_memory *innermost;

// -------------------------------------------------------------------------------- GMP's functions
static bool reserved(const void *p)
{
    for (const vy_isl_memory *m = innermost; m; m = m->outer)
        if ((uintptr_t)p - (uintptr_t)m->reserve < RESERVE) return true;
    return false;
}

// NULL: there is no reserve, or too little left.
static void *take_reserve(size_t size)
{
    vy_isl_memory *m = innermost;
    if (!m || size > RESERVE - 16 - m->used) return NULL;
    void *p = m->reserve + m->used;
    m->used += (size + 15) & ~(size_t)15;
    if (!m->failed) vy_memory_failed();
    m->failed = true;
    if (m->ctx) isl_ctx_abort(m->ctx);
    return p;
}

// While this thread has a context its small numbers are isl's, and begin and end with it.
static bool is_ours(size_t size) { return innermost && vy_isl_is_small(size); }

static void *last_resort(size_t size)
{
    void *p = take_reserve(size);
    if (p) return p;
    return before.allocate(size < VY_ISL_SMALL ? VY_ISL_SMALL : size); // which ends the process
}

static void *allocate(size_t size)
{
    void *p = is_ours(size) ? vy_isl_number_take(size) : malloc(size);
    return p ? p : last_resort(size);
}

// Of a block that is not in the reserve.
static void free_block(void *p, size_t size)
{
    if (is_ours(size))
        vy_isl_number_give(p, size);
    else
        free(p);
}

// The block with another size; NULL: memory, or it is in the reserve.
static void *resized(void *old, size_t had, size_t size)
{
    if (reserved(old)) return NULL;
    const bool was = is_ours(had), will = is_ours(size);
    if (!was && !will) return realloc(old, size);
    if (was && will && vy_isl_number_fits(had, size)) return old;
    void *p = will ? vy_isl_number_take(size) : malloc(size);
    if (!p) return NULL;
    memcpy(p, old, had < size ? had : size);
    free_block(old, had);
    return p;
}

static void *reallocate(void *old, size_t had, size_t size)
{
    void *p = resized(old, had, size);
    if (p) return p;
    p = last_resort(size);
    memcpy(p, old, had < size ? had : size);
    if (!reserved(old)) free_block(old, had);
    return p;
}

static void release(void *p, size_t size)
{
    if (!reserved(p)) free_block(p, size);
}

// Allocation functions other than GMP's defaults were set by the program on purpose, and numbers
// may have been allocated by them: they stay.
static void install(void)
{
    mp_get_memory_functions(&before.allocate, &before.reallocate, &before.release);
    extern void *__gmp_default_allocate(size_t);
    if (before.allocate == __gmp_default_allocate)
        mp_set_memory_functions(allocate, reallocate, release);
}

static void uninstall(void)
{
    void *(*now)(size_t);
    mp_get_memory_functions(&now, NULL, NULL);
    if (now == allocate)
        mp_set_memory_functions(before.allocate, before.reallocate, before.release);
}

// ------------------------------------------------------------------------------------- begin, end
bool vy_isl_memory_begin(vy_isl_memory *m)
{
    *m = (vy_isl_memory){.reserve = malloc(RESERVE), .outer = innermost, .error = errno};
    if (!m->reserve) return false;
    errno = 0;
    innermost = m;
    pthread_mutex_lock(&lock);
    if (users++ == 0) install();
    pthread_mutex_unlock(&lock);
    void *room = malloc(CONTEXT_ROOM);
    free(room);
    if (room) m->ctx = isl_ctx_alloc();
    return m->ctx != NULL;
}

void vy_isl_memory_end(vy_isl_memory *m)
{
    if (!m->reserve) return;
    if (m->forget) m->forget(m);
    isl_ctx_free(m->ctx);
    m->ctx = NULL;
    pthread_mutex_lock(&lock);
    if (--users == 0) uninstall();
    pthread_mutex_unlock(&lock);
    for (vy_isl_memory **at = &innermost; *at; at = &(*at)->outer)
        if (*at == m) {
            *at = m->outer;
            break;
        }
    if (!innermost) vy_isl_numbers_free();
    free(m->reserve);
    m->reserve = NULL;
    errno = m->error;
}

vy_isl_memory *vy_isl_memory_of(const isl_ctx *ctx)
{
    vy_isl_memory *m = innermost;
    while (m && m->ctx != ctx) m = m->outer;
    return ctx ? m : NULL;
}

bool vy_isl_memory_failed(const vy_isl_memory *m)
{
    return m->failed || errno == ENOMEM ||
           (m->ctx && isl_ctx_last_error(m->ctx) == isl_error_alloc);
}
