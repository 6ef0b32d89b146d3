// SPDX-License-Identifier: MIT
// test_ranks.c: a training on several devices through vys_fit, with threads as its ranks.
#include "session/fit.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = 3, ROWS = 7, STEPS = 20 };

static const char mean_text[] =
    "program mse(x: in f32[N, 2], y: in f32[N], w: in f32[2], loss: out f32[1], N: u32) over(i: N)"
    "{ let e = x[i, 0] * w[0] + x[i, 1] * w[1] - y[i]; atomic_add(loss[0], e * e / f32(N)); }";
static const char sum_text[] =
    "program mse(x: in f32[N, 2], y: in f32[N], w: in f32[2], loss: out f32[1], N: u32) over(i: N)"
    "{ let e = x[i, 0] * w[0] + x[i, 1] * w[1] - y[i]; atomic_add(loss[0], 0.1 * e * e); }";
// Neighbours meet, also those that are on two ranks.
static const char chain_text[] =
    "program mse(x: in f32[N, 2], y: in f32[N], w: in f32[2], loss: out f32[1], N: u32) over(i: N)"
    "{ if i + 1 < N { let e = x[i, 0] * w[0] + x[i + 1, 1] * w[1] - y[i];"
    " atomic_add(loss[0], e * e / f32(N)); } }";
// Two layers: the gradient of u is final while that of w is computed.
static const char layers_text[] =
    "program first(x: in f32[N, 2], w: in f32[2, 3], h: out f32[N, 3], N: u32) over(i: N, j: 3)"
    "{ h[i, j] = tanh(0.2 * x[i, 0] * w[0, j] + x[i, 1] * w[1, j]); }"
    "program second(h: in f32[N, 3], u: in f32[3], y: in f32[N], loss: out f32[1], N: u32)"
    "over(i: N) { let e = sum(j in 0..3: h[i, j] * u[j]) - 0.1 * y[i];"
    " atomic_add(loss[0], e * e / f32(N)); }"
    "pipeline mse(x: in f32[N, 2], y: in f32[N], w: in f32[2, 3], u: in f32[3], loss: out f32[1],"
    " N: u32) { buffer h: f32[N, 3]; first(x, w, h); second(h, u, y, loss); }";
static const float x_all[ROWS][2] = {{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}, {6, 2}};
static const float y_all[ROWS] = {1, 3, 5, 8, 9, 11, 12};

// ------------------------------------------------------------------------------ threads that meet
typedef struct meeting {
    pthread_barrier_t all;
    void *data[RANKS];
    uint32_t ranks;
} meeting;

typedef struct begun {
    void *data;
    uint64_t count;
    vy_type type;
} begun;

typedef struct member {
    meeting *meeting;
    uint32_t rank;
    begun ring[8];
    uint32_t first, count;
    uint64_t counts[4]; // of the sums begun last
} member;

static const char *begin_sum(void *user, void *data, uint64_t count, vy_type type)
{
    member *m = user;
    memmove(m->counts, m->counts + 1, sizeof m->counts - sizeof *m->counts);
    m->counts[3] = count;
    m->ring[(m->first + m->count++) % 8] = (begun){data, count, type};
    return m->count > 8 ? "too many" : NULL;
}

static const char *finish(void *user, uint64_t timeout_ns)
{
    member *m = user;
    const begun b = m->ring[m->first++ % 8];
    const uint32_t size = vy_type_size(b.type);
    double sums[16] = {0};
    (void)timeout_ns;
    m->count--;
    m->meeting->data[m->rank] = b.data;
    pthread_barrier_wait(&m->meeting->all);
    for (uint32_t r = 0; r < m->meeting->ranks; r++)
        for (uint64_t i = 0; i < b.count; i++)
            sums[i] += vy_scalar_read(b.type, (char *)m->meeting->data[r] + i * size).f;
    pthread_barrier_wait(&m->meeting->all);
    for (uint64_t i = 0; i < b.count; i++)
        vy_scalar_write(b.type, (vy_scalar){.f = sums[i]}, (char *)b.data + i * size);
    return NULL;
}

// ------------------------------------------------------------------------------------- one training
typedef struct job {
    const char *text;
    const vys_comm *comm;
    uint64_t from, rows;
    bool sums, device, layers;
    int runs;
    bool ok;
    float w[6], u[3], losses[STEPS];
    vy_diag d;
} job;

static const char *const params[] = {"w", "u"}, *const shard[] = {"x", "y"};

static void *train(void *user)
{
    job *j = user;
    vys_session *s = NULL;
    vys_task *t = NULL;
    const vys_fit fit = {.train = {.loss = "loss",
                                   .params = params,
                                   .param_count = 1 + j->layers,
                                   .optimiser = "momentum",
                                   .lr = 0.003},
                         .steps = STEPS,
                         .comm = j->comm,
                         .shard = j->comm ? shard : NULL,
                         .shard_count = j->comm ? 2 : 0,
                         .sums = j->sums};
    const float w[] = {0.5f, -0.25f, 0.75f, -0.5f, 0.125f, 1}, u[] = {1, -0.5f, 0.25f};
    const uint64_t count = j->layers ? 6 : 2;
    j->ok = vys_open(&(vys_session_desc){.interpreter = !j->device, .cache_dir = ""}, &s, &j->d) &&
            vys_fit_parse(s, j->text, strlen(j->text), "mse", &fit, NULL, &t, &j->d) &&
            vys_set(t, "x", VY_F32, 2, (uint64_t[]){j->rows, 2}, x_all[j->from], &j->d) &&
            vys_set_flat(t, "y", VY_F32, j->rows, y_all + j->from, &j->d) &&
            vys_set_flat(t, "w", VY_F32, count, w, &j->d) &&
            (!j->layers || vys_set_flat(t, "u", VY_F32, 3, u, &j->d));
    for (int i = 0; j->ok && i < j->runs; i++) j->ok = vys_run(t, &j->d);
    j->ok = j->ok && vys_read(t, "w", VY_F32, j->w, count * sizeof *j->w, &j->d) &&
            (!j->layers || vys_read(t, "u", VY_F32, j->u, sizeof j->u, &j->d)) &&
            vys_read(t, "losses", VY_F32, j->losses, sizeof j->losses, &j->d);
    vys_task_free(t);
    vys_close(s);
    return NULL;
}

// Rank r has the rows from cut[r] up to cut[r + 1]; *first: of rank 0, for those who look at it.
static void train_mixed(uint32_t ranks, const uint64_t *cut, job like, bool mixed, job jobs[RANKS],
                        member *first)
{
    meeting all = {.ranks = ranks};
    member members[RANKS];
    vys_comm comms[RANKS];
    pthread_t threads[RANKS];
    pthread_barrier_init(&all.all, NULL, ranks);
    for (uint32_t r = 0; r < ranks; r++) {
        members[r] = (member){.meeting = &all, .rank = r};
        comms[r] = (vys_comm){.size = sizeof(vys_comm),
                              .rank = r,
                              .ranks = ranks,
                              .user = &members[r],
                              .begin_sum = begin_sum,
                              .finish = finish};
        jobs[r] = like;
        jobs[r].comm = &comms[r];
        jobs[r].from = cut[r], jobs[r].rows = cut[r + 1] - cut[r];
        jobs[r].device &= !mixed || r == 0;
        assert_int_equal(pthread_create(&threads[r], NULL, train, &jobs[r]), 0);
    }
    for (uint32_t r = 0; r < ranks; r++) pthread_join(threads[r], NULL);
    pthread_barrier_destroy(&all.all);
    if (first) *first = members[0];
}

static void train_on(uint32_t ranks, const uint64_t *cut, job like, job jobs[RANKS])
{
    train_mixed(ranks, cut, like, false, jobs, NULL);
}

static bool has_device(void)
{
    vys_session *s;
    vy_diag d = {0};
    const bool ok = vys_open(&(vys_session_desc){.cache_dir = ""}, &s, &d);
    if (ok) vys_close(s);
    return ok;
}

static void compare(const job *alone, const job *j)
{
    if (!j->ok) fail_msg("[%s] %s (%s)", j->d.code, j->d.text, j->d.fix);
    for (int i = 0; i < 6; i++) assert_true(fabsf(alone->w[i] - j->w[i]) <= 2e-5f);
    for (int i = 0; i < 3; i++) assert_true(fabsf(alone->u[i] - j->u[i]) <= 2e-5f);
    for (int i = 0; i < STEPS; i++)
        assert_true(fabsf(alone->losses[i] - j->losses[i]) <=
                    2e-5f * (1 + fabsf(alone->losses[i])));
}

static void expect_same(job like)
{
    static const uint64_t cuts[][RANKS + 1] = {{0, 7}, {0, 5, 7}, {0, 1, 4, 7}};
    job alone = like, jobs[RANKS];
    alone.rows = ROWS;
    train(&alone);
    if (!alone.ok) fail_msg("[%s] %s (%s)", alone.d.code, alone.d.text, alone.d.fix);
    assert_true(fabsf(alone.w[0] - 0.5f) > 0.01f);
    for (uint32_t n = 1; n <= RANKS; n++) {
        train_on(n, cuts[n - 1], like, jobs);
        for (uint32_t r = 0; r < n; r++) {
            compare(&alone, &jobs[r]);
            assert_memory_equal(jobs[0].w, jobs[r].w, sizeof jobs[r].w);
        }
    }
}

static void ranks_train_as_one(void **state)
{
    (void)state;
    for (int runs = 1; runs <= 2; runs++) {
        expect_same((job){.text = mean_text, .runs = runs});
        expect_same((job){.text = sum_text, .sums = true, .runs = runs});
    }
    if (has_device()) expect_same((job){.text = mean_text, .runs = 2, .device = true});
}

// Every rank measures it on rows of its own.
static void losses_that_do_not_follow_are_refused(void **state)
{
    static const uint64_t cut[] = {0, 3, 7};
    const job wrong[] = {{.text = mean_text, .sums = true, .runs = 1},
                         {.text = sum_text, .runs = 1},
                         {.text = chain_text, .runs = 1},
                         {.text = chain_text, .sums = true, .runs = 1}};
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        job jobs[RANKS];
        train_on(2, cut, wrong[i], jobs);
        for (int r = 0; r < 2; r++) {
            assert_false(jobs[r].ok);
            assert_string_equal(jobs[r].d.code, "E0806");
        }
    }
}

// Sums begin in the order in which gradients are final, and in another one where ranks disagree
// about it: the interpreter has no such order.
static void sums_begin_early(void **state)
{
    static const uint64_t cut[] = {0, 3, 7}, early[] = {1, 3, 6}, late[] = {1, 6, 3};
    (void)state;
    if (!has_device()) skip();
    job alone = {.text = layers_text, .layers = true, .device = true, .runs = 2, .rows = ROWS};
    train(&alone);
    assert_true(alone.ok && fabsf(alone.u[0] - 1) > 1e-3f && fabsf(alone.w[0] - 0.5f) > 1e-5f);
    for (int mixed = 0; mixed < 2; mixed++) {
        job jobs[RANKS];
        member first;
        train_mixed(2, cut, alone, mixed, jobs, &first);
        for (int r = 0; r < 2; r++) compare(&alone, &jobs[r]);
        assert_memory_equal(first.counts + 1, mixed ? late : early, sizeof early);
    }
}

static const char *broken(void *user, uint64_t timeout_ns)
{
    (void)user, (void)timeout_ns;
    return "the cable is cut";
}

static void wrong_requests(void **state)
{
    member m = {0};
    const vys_comm good = {
        .size = sizeof good, .ranks = 2, .user = &m, .begin_sum = begin_sum, .finish = broken};
    vys_comm small = good, outside = good;
    small.size = 8;
    outside.rank = 2;
    const vys_comm *const comms[] = {&small, &outside, &good};
    const char *const codes[] = {"E0801", "E0801", "E0905"};
    (void)state;
    for (int i = 0; i < 3; i++) {
        job j = {.text = mean_text, .comm = comms[i], .rows = ROWS, .runs = 1};
        train(&j);
        assert_false(j.ok);
        assert_string_equal(j.d.code, codes[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_train_as_one),
        cmocka_unit_test(losses_that_do_not_follow_are_refused),
        cmocka_unit_test(sums_begin_early),
        cmocka_unit_test(wrong_requests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
