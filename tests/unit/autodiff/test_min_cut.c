// SPDX-License-Identifier: MIT
// test_min_cut.c: minimum cuts of autodiff/storage/min_cut.c against all cuts of small random
// graphs.
#include "autodiff/storage/min_cut.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MOST_NODES = 9, MOST_EDGES = 40 };

typedef struct edge {
    uint32_t from, to;
    int32_t capacity;
} edge;

typedef struct graph {
    uint32_t nodes, edges;
    edge edge[MOST_EDGES];
} graph;

static uint64_t state = 1;

static uint32_t below(uint32_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % n;
}

// Capacity of the edges from `side` (bit n: node n is with the source) to the rest.
static int64_t across(const graph *g, uint32_t side)
{
    int64_t sum = 0;
    for (uint32_t k = 0; k < g->edges; k++)
        if ((side >> g->edge[k].from & 1) && !(side >> g->edge[k].to & 1))
            sum += g->edge[k].capacity;
    return sum;
}

static int64_t least_cut(const graph *g)
{
    int64_t least = INT64_MAX;
    for (uint32_t side = 1; side < 1u << g->nodes; side += 2) { // node 0 inside
        if (side & 2) continue;                                 // node 1 outside
        const int64_t sum = across(g, side);
        if (sum < least) least = sum;
    }
    return least;
}

// Builds the graph in `c`, which may have held another one before, and compares.
static void check(vy_cut *c, const graph *g)
{
    uint32_t side = 0;
    vy_cut_clear(c);
    for (uint32_t n = 2; n < g->nodes; n++) assert_int_equal(vy_cut_node(c), n);
    for (uint32_t k = 0; k < g->edges; k++)
        vy_cut_add(c, g->edge[k].from, g->edge[k].to, g->edge[k].capacity);
    assert_true(vy_cut_run(c));
    for (uint32_t n = 0; n < g->nodes; n++)
        if (vy_cut_at_source(c, n)) side |= 1u << n;
    const int64_t least = least_cut(g);
    if (least >= VY_CUT_NEVER) return; // no finite cut: it need only terminate
    assert_true(side & 1);
    assert_false(side & 2);
    assert_int_equal(across(g, side), least);
}

static int32_t any_capacity(uint32_t kind)
{
    switch (kind) {
    case 0: return (int32_t)below(4);                                 // many ties
    case 1: return below(3) ? (int32_t)below(100) : VY_CUT_NEVER;     // as plan.c has them
    case 2: return below(2) ? (int32_t)below(1 << 20) : VY_CUT_NEVER; // large sums
    default: return 1;
    }
}

static void random_graphs(void **unused)
{
    (void)unused;
    vy_cut c = {0};
    for (uint32_t round = 0; round < 6000; round++) {
        graph g = {.nodes = 2 + below(MOST_NODES - 1), .edges = below(MOST_EDGES + 1)};
        if (round % 8 == 7) g.edges = below(4); // most nodes are cut off already
        for (uint32_t k = 0; k < g.edges; k++) {
            edge e = {below(g.nodes), below(g.nodes), any_capacity(round % 4)};
            if (k && below(6) == 0) e = g.edge[k - 1]; // parallel
            if (k && below(8) == 0)
                e = (edge){g.edge[k - 1].to, g.edge[k - 1].from, e.capacity}; // there and back
            g.edge[k] = e;
        }
        check(&c, &g);
    }
    vy_cut_free(&c);
}

#define CHECK(n, ...)                                                                              \
    do {                                                                                           \
        graph g_ = {.nodes = n, .edge = {__VA_ARGS__}};                                            \
        g_.edges = sizeof((edge[]){__VA_ARGS__}) / sizeof(edge);                                   \
        check(&c, &g_);                                                                            \
    } while (0)

static void hostile(void **unused)
{
    (void)unused;
    const int32_t never = VY_CUT_NEVER;
    vy_cut c = {0};
    graph empty = {.nodes = 2};
    check(&c, &empty);
    CHECK(2, {0, 1, 7}, {0, 1, 5});                               // parallel
    CHECK(3, {0, 2, 3}, {2, 2, never}, {2, 1, 5});                // a loop at a node
    CHECK(4, {0, 2, 9}, {2, 3, never}, {3, 2, never}, {3, 1, 4}); // a cycle that may not be cut
    CHECK(4, {2, 3, never}, {3, 2, never}, {0, 1, 2});            // one that nothing reaches
    CHECK(3, {1, 2, never}, {2, 0, never}, {0, 1, 1});            // only back from the sink
    CHECK(3, {0, 2, never}, {2, 1, never});                       // no cut
    CHECK(5, {0, 2, never}, {2, 3, 10}, {3, 4, never}, {4, 2, never}, {4, 1, never});
    CHECK(6, {0, 2, 10}, {0, 3, 10}, {2, 4, 4}, {2, 5, 8}, {3, 5, 9}, {5, 4, 6}, {4, 1, 10},
          {5, 1, 10});
    // The flow on the first path's middle edge must be cancelled again.
    CHECK(4, {0, 2, 1}, {0, 3, 1}, {2, 3, 1}, {2, 1, 1}, {3, 1, 1});
    vy_cut_free(&c);
}

// A path of 100,000 nodes, as a body of that many instructions has: neither recursion nor quadratic
// time.
static void long_path(void **unused)
{
    (void)unused;
    enum { N = 100000 };
    vy_cut c = {0};
    vy_cut_clear(&c);
    uint32_t from = 0;
    for (uint32_t k = 0; k < N; k++) {
        const uint32_t to = vy_cut_node(&c);
        vy_cut_add(&c, from, to, k == N / 2 ? 3 : 4);
        from = to;
    }
    vy_cut_add(&c, from, 1, VY_CUT_NEVER);
    assert_true(vy_cut_run(&c));
    assert_true(vy_cut_at_source(&c, 2 + N / 2 - 1));
    assert_false(vy_cut_at_source(&c, 2 + N / 2));
    vy_cut_free(&c);
}

// Running out of memory anywhere is reported, without a crash or leak.
static void no_memory(void **unused)
{
    (void)unused;
    bool done = false;
    long n = 0;
    for (; !done && n < 1000; n++) {
        vy_cut c = {0};
        vy_test_fail_after(n);
        vy_cut_clear(&c);
        for (uint32_t k = 0; k < 100 && !c.oom; k++) {
            const uint32_t at = vy_cut_node(&c);
            vy_cut_add(&c, 0, at, 3);
            vy_cut_add(&c, at, 1, 2);
        }
        done = vy_cut_run(&c);
        vy_test_fail_after(-1);
        assert_true(done != c.oom);
        vy_cut_free(&c);
    }
    assert_true(done && n > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_graphs),
        cmocka_unit_test(hostile),
        cmocka_unit_test(long_path),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
