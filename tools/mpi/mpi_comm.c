// SPDX-License-Identifier: MIT
// mpi_comm.c: session/comm.h by MPI.
//
// A module of its own, which `fit --shard` loads, so that no other start of the command needs MPI.
// It depends on nothing of ours but the header.  Errors are returned as texts; where a process dies
// mpirun ends the others, and one that hangs is noticed when the time of a call is over.
//
// A call is one non-blocking collective operation.  Waiting polls: MPI_Wait would take a core for
// itself and has no limit of time.
#include "tools/mpi/mpi_comm.h"

#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct comm {
    MPI_Comm world;
    MPI_Request *begun; // a ring of `room` requests
    uint32_t first, count, room;
    char why[MPI_MAX_ERROR_STRING + 40];
} comm;

static const char *said(comm *c, int error)
{
    int n = 0;
    if (error == MPI_SUCCESS) return NULL;
    const int at = snprintf(c->why, sizeof c->why, "MPI: ");
    if (MPI_Error_string(error, c->why + at, &n)) return "MPI: an unknown error";
    return c->why;
}

// Room for one more request; NULL: memory.  Those that wait stay where they are in the order.
static MPI_Request *next(comm *c)
{
    if (c->count == c->room) {
        const uint32_t room = c->room ? 2 * c->room : 16;
        MPI_Request *more = malloc(room * sizeof *more);
        if (!more) return NULL;
        for (uint32_t i = 0; i < c->count; i++) more[i] = c->begun[(c->first + i) % c->room];
        free(c->begun);
        c->begun = more;
        c->first = 0;
        c->room = room;
    }
    return &c->begun[(c->first + c->count) % c->room];
}

static const char *begin_sum(void *user, void *data, uint64_t count, vy_type type)
{
    comm *c = user;
    MPI_Request *r = next(c);
    if (!r) return "out of memory";
    if (count > INT_MAX) return "an array has more than 2147483647 elements, which MPI cannot sum";
    const int error = MPI_Iallreduce(MPI_IN_PLACE, data, (int)count,
                                     type == VY_F64 ? MPI_DOUBLE : MPI_FLOAT, MPI_SUM, c->world, r);
    c->count += error == MPI_SUCCESS;
    return said(c, error);
}

static const char *begin_gather(void *user, const void *own, void *all, uint64_t bytes)
{
    comm *c = user;
    MPI_Request *r = next(c);
    if (!r) return "out of memory";
    if (bytes > INT_MAX) return "parts of an array take more than 2147483647 bytes";
    const int n = (int)bytes;
    const int error = MPI_Iallgather(own, n, MPI_BYTE, all, n, MPI_BYTE, c->world, r);
    c->count += error == MPI_SUCCESS;
    return said(c, error);
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

// Short at first, as a sum of small arrays takes microseconds.
static void rest(uint32_t polls)
{
    if (polls < 1000) return;
    const struct timespec t = {.tv_nsec = polls < 2000 ? 20000 : 500000};
    nanosleep(&t, NULL);
}

static const char *finish(void *user, uint64_t timeout_ns)
{
    comm *c = user;
    MPI_Request *r = &c->begun[c->first];
    const uint64_t start = now_ns();
    int done = 0;
    for (uint32_t polls = 0; !done; polls += polls < UINT32_MAX) {
        const int error = MPI_Test(r, &done, MPI_STATUS_IGNORE);
        if (error != MPI_SUCCESS) return said(c, error);
        if (done) break;
        if (timeout_ns && now_ns() - start > timeout_ns) {
            snprintf(c->why, sizeof c->why, "another rank has not answered for %.3g s (--timeout)",
                     (double)timeout_ns * 1e-9);
            return c->why;
        }
        rest(polls);
    }
    c->first = (c->first + 1) % c->room;
    c->count--;
    return NULL;
}

// Any call lets the library move what was begun; a completed request is tested again by finish.
static void progress(void *user)
{
    comm *c = user;
    int done = 1;
    for (uint32_t i = 0; i < c->count && done; i++)
        MPI_Test(&c->begun[(c->first + i) % c->room], &done, MPI_STATUS_IGNORE);
}

static void end_all(void *user, int status)
{
    comm *c = user;
    MPI_Abort(c->world, status);
}

static int local_rank(MPI_Comm world, int rank)
{
    MPI_Comm here;
    int local = rank;
    if (MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &here)) return local;
    MPI_Comm_rank(here, &local);
    MPI_Comm_free(&here);
    return local;
}

const char *vyre_comm_open(vys_comm *out)
{
    static comm one; // MPI is begun once
    int provided, rank = 0, ranks = 1;
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided)) return "MPI does not start";
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    one = (comm){.world = MPI_COMM_WORLD};
    *out = (vys_comm){.size = sizeof *out,
                      .rank = (uint32_t)rank,
                      .ranks = (uint32_t)ranks,
                      .local_rank = (uint32_t)local_rank(MPI_COMM_WORLD, rank),
                      .user = &one,
                      .begin_sum = begin_sum,
                      .begin_gather = begin_gather,
                      .finish = finish,
                      .abort = end_all,
                      .progress = progress};
    return NULL;
}

void vyre_comm_close(vys_comm *c)
{
    comm *own = c->user;
    free(own->begun);
    own->begun = NULL;
    MPI_Finalize();
}
