// SPDX-License-Identifier: MIT
// isl_known.c: see isl_known.h.
#include "autodiff/core/isl_known.h"

#include "ir/core/mem.h"

#include <string.h>

enum { OPERANDS = 3, NUMBERS = 5 };

// Kinds of objects, and what isl calls them.
#define KINDS(X)                                                                                   \
    X(space)                                                                                       \
    X(local_space)                                                                                 \
    X(id)                                                                                          \
    X(aff)                                                                                         \
    X(aff_list)                                                                                    \
    X(multi_aff)                                                                                   \
    X(pw_aff)                                                                                      \
    X(basic_set)                                                                                   \
    X(set)                                                                                         \
    X(map)                                                                                         \
    X(ast_node)
typedef enum kind {
    NOTHING,
#define KIND(K) IS_##K,
    KINDS(KIND)
#undef KIND
} kind;

typedef enum function {
#define ONE(R, name, A) ASK_##name,
#define TWO(R, name, A, B) ASK_##name,
#define KEPT1(name, A) ASK_##name,
#define KEPT2(name, A, B) ASK_##name,
    VY_ISL_KNOWN(ONE, TWO, ONE, ONE, ONE, ONE, ONE, ONE, ONE, ONE, KEPT1, KEPT2)
#undef ONE
#undef TWO
#undef KEPT1
#undef KEPT2
        ASK_space_set_alloc,
    ASK_space_params_alloc,
    ASK_aff_list_alloc,
    ASK_tree
} function;

typedef struct object {
    kind kind;
    void *is;
} object;

typedef struct question {
    function function;
    object of[OPERANDS];
    int64_t number[NUMBERS];
} question;

typedef struct answer {
    question question;
    uint64_t hash;
    object result; // nothing: `holds`
    bool holds;
} answer;
VY_VEC_TYPE(answer_vec, answer);

// Answers in the order in which they were found, and a table of them by question, 1 + index: open
// addressing, at most half full.
struct vy_isl_answers {
    answer_vec all;
    uint32_t *slot, room;
};

// ----------------------------------------------------------------------------------------- objects
static void *copy_of(object o)
{
    switch (o.kind) {
#define KIND(K)                                                                                    \
    case IS_##K: return isl_##K##_copy(o.is);
        KINDS(KIND)
#undef KIND
    default: return NULL;
    }
}

static void drop(object o)
{
    switch (o.kind) {
#define KIND(K)                                                                                    \
    case IS_##K: isl_##K##_free(o.is); return;
        KINDS(KIND)
#undef KIND
    default: return;
    }
}

static isl_ctx *context_of(object o)
{
    switch (o.kind) {
#define KIND(K)                                                                                    \
    case IS_##K: return isl_##K##_get_ctx(o.is);
        KINDS(KIND)
#undef KIND
    default: return NULL;
    }
}

static void drop_operands(const question *q)
{
    for (uint32_t k = 0; k < OPERANDS; k++) drop(q->of[k]);
}

// ------------------------------------------------------------------------------------------- table
static uint64_t mixed(uint64_t h, uint64_t with)
{
    h = (h ^ with) * 0x9E3779B97F4A7C15u;
    return h ^ h >> 29;
}

static uint64_t hash_of(const question *q)
{
    uint64_t h = mixed(0, (uint64_t)q->function);
    for (uint32_t k = 0; k < OPERANDS && q->of[k].is; k++)
        h = mixed(h, (uint64_t)(uintptr_t)q->of[k].is);
    for (uint32_t k = 0; k < NUMBERS; k++) h = mixed(h, (uint64_t)q->number[k]);
    return h;
}

static bool same(const question *x, const question *y)
{
    if (x->function != y->function) return false;
    for (uint32_t k = 0; k < OPERANDS; k++)
        if (x->of[k].is != y->of[k].is) return false;
    return !memcmp(x->number, y->number, sizeof x->number);
}

// The slot of the question: its answer's, or an empty one.
static uint32_t *slot_of(const struct vy_isl_answers *t, const question *q, uint64_t hash)
{
    uint32_t at = (uint32_t)hash & (t->room - 1);
    for (; t->slot[at]; at = (at + 1) & (t->room - 1)) {
        if (same(&t->all.data[t->slot[at] - 1].question, q)) break;
    }
    return &t->slot[at];
}

static bool grow(struct vy_isl_answers *t)
{
    enum { FIRST = 256 };
    if (t->room > 2 * (t->all.count + 1)) return true;
    const uint32_t room = t->room ? 2 * t->room : FIRST;
    uint32_t *slot = vy_zeroed(room * sizeof *slot);
    if (!slot) return false;
    vy_free(t->slot);
    t->slot = slot;
    t->room = room;
    for (uint32_t k = 0; k < t->all.count; k++)
        *slot_of(t, &t->all.data[k].question, t->all.data[k].hash) = k + 1;
    return true;
}

void vy_isl_forget(vy_isl_memory *m)
{
    struct vy_isl_answers *t = m->answers;
    for (uint32_t k = 0; t && k < t->all.count; k++) {
        drop_operands(&t->all.data[k].question);
        drop(t->all.data[k].result);
    }
    if (t) {
        vy_free(t->slot);
        vy_vec_free(&t->all);
    }
    vy_free(t);
    m->answers = NULL;
}

uint32_t vy_isl_known_count(const vy_isl_memory *m)
{
    return m->answers ? m->answers->all.count : 0;
}

// --------------------------------------------------------------------------------- asking, keeping
// A question that is being asked.
typedef struct asking {
    question q;
    uint64_t hash;
    vy_isl_memory *m; // NULL: the answer is not to be remembered
} asking;

// The answer if it is known; else NULL, and what is needed to remember it is held.  ctx: where the
// question has no operands.
static const answer *known(asking *k, isl_ctx *ctx)
{
    for (uint32_t i = 0; i < OPERANDS; i++)
        if (k->q.of[i].kind && !k->q.of[i].is) return NULL;
    if (!ctx) ctx = context_of(k->q.of[0]);
    vy_isl_memory *m = vy_isl_memory_of(ctx);
    if (!m || vy_isl_memory_failed(m) || isl_ctx_last_error(ctx) != isl_error_none) return NULL;
    k->hash = hash_of(&k->q);
    const struct vy_isl_answers *t = m->answers;
    const uint32_t at = t && t->room ? *slot_of(t, &k->q, k->hash) : 0;
    if (at) return &t->all.data[at - 1];
    k->m = m;
    for (uint32_t i = 0; i < OPERANDS; i++) k->q.of[i].is = copy_of(k->q.of[i]);
    return NULL;
}

// Remembers the result (kept), or that it `holds`; but not what isl gave although it had too few
// operations: some of its functions (0.25) then give an approximation, or an operand.
static void remember(asking *k, object result, bool holds)
{
    vy_isl_memory *m = k->m;
    if (!m) return;
    if (isl_ctx_last_error(m->ctx) != isl_error_none) {
        drop_operands(&k->q);
        return;
    }
    if (vy_isl_known_count(m) == VY_ISL_MOST_ANSWERS) vy_isl_forget(m);
    if (!m->answers) m->answers = vy_zeroed(sizeof *m->answers);
    m->forget = vy_isl_forget;
    const answer a = {k->q, k->hash, {result.kind, copy_of(result)}, holds};
    if (m->answers && grow(m->answers) && vy_vec_push(&m->answers->all, a)) {
        *slot_of(m->answers, &k->q, k->hash) = m->answers->all.count;
        return;
    }
    m->failed = true;
    drop(a.result);
    drop_operands(&k->q);
}

// A known result, for which the operands are not needed.
static void *recalled(const asking *k, const answer *a)
{
    drop_operands(&k->q);
    return copy_of(a->result);
}

// The result that isl has given.
static void *given(asking *k, kind what, void *result)
{
    if (result)
        remember(k, (object){what, result}, false);
    else if (k->m)
        drop_operands(&k->q);
    return result;
}

static isl_bool decided(asking *k, isl_bool result)
{
    if (result != isl_bool_error)
        remember(k, (object){0}, result == isl_bool_true);
    else if (k->m)
        drop_operands(&k->q);
    return result;
}

// --------------------------------------------------------------------------------------- functions
#define ASK(R, name, operands, numbers, call)                                                      \
    asking k = {                                                                                   \
        .q = {.function = ASK_##name, .of = {UNPACK operands}, .number = {UNPACK numbers}}};       \
    const answer *have = known(&k, NULL);                                                          \
    return have ? recalled(&k, have) : given(&k, IS_##R, call);
#define DECIDE(name, operands, call)                                                               \
    asking k = {.q = {.function = ASK_##name, .of = {UNPACK operands}}};                           \
    const answer *have = known(&k, NULL);                                                          \
    return have ? (have->holds ? isl_bool_true : isl_bool_false) : decided(&k, call);
#define UNPACK(...) __VA_ARGS__

#define DO_TAKES1(R, name, A)                                                                      \
    isl_##R *vy_isl_##name(isl_##A *a) { ASK(R, name, ({IS_##A, a}), (0), isl_##name(a)) }
#define DO_TAKES2(R, name, A, B)                                                                   \
    isl_##R *vy_isl_##name(isl_##A *a, isl_##B *b)                                                 \
    {                                                                                              \
        ASK(R, name, ({IS_##A, a}, {IS_##B, b}), (0), isl_##name(a, b))                            \
    }
#define DO_N1(R, name, A)                                                                          \
    isl_##R *vy_isl_##name(isl_##A *a, int64_t i)                                                  \
    {                                                                                              \
        ASK(R, name, ({IS_##A, a}), (i), isl_##name(a, (int)i))                                    \
    }
#define DO_N2(R, name, A)                                                                          \
    isl_##R *vy_isl_##name(isl_##A *a, vy_isl_dim t, int64_t i)                                    \
    {                                                                                              \
        ASK(R, name, ({IS_##A, a}), (t, i), isl_##name(a, t, (unsigned)i))                         \
    }
#define DO_N3(R, name, A)                                                                          \
    isl_##R *vy_isl_##name(isl_##A *a, vy_isl_dim t, int64_t i, int64_t j)                         \
    {                                                                                              \
        ASK(R, name, ({IS_##A, a}), (t, i, j), isl_##name(a, t, (unsigned)i, (int)j))              \
    }
#define DO_N4(R, name, A)                                                                          \
    isl_##R *vy_isl_##name(isl_##A *a, vy_isl_dim t, int64_t i, vy_isl_dim u, int64_t j)           \
    {                                                                                              \
        ASK(R, name, ({IS_##A, a}), (t, i, u, j), isl_##name(a, t, (int)i, u, (int)j))             \
    }
#define DO_N5(R, name, A)                                                                          \
    isl_##R *vy_isl_##name(isl_##A *a, vy_isl_dim t, int64_t i, vy_isl_dim u, int64_t j,           \
                           int64_t n)                                                              \
    {                                                                                              \
        ASK(R, name, ({IS_##A, a}), (t, i, u, j, n),                                               \
            isl_##name(a, t, (unsigned)i, u, (unsigned)j, (unsigned)n))                            \
    }
#define DO_ID(R, name, A)                                                                          \
    isl_##R *vy_isl_##name(isl_##A *a, vy_isl_dim t, int64_t i, isl_id *id)                        \
    {                                                                                              \
        ASK(R, name, ({IS_##A, a}, {IS_id, id}), (t, i), isl_##name(a, t, (unsigned)i, id))        \
    }
#define DO_VALUE(R, name, A)                                                                       \
    isl_##R *vy_isl_##name(isl_##A *a, int64_t value)                                              \
    {                                                                                              \
        ASK(R, name, ({IS_##A, a}), (value),                                                       \
            isl_##name(a, a ? isl_val_int_from_si(isl_##A##_get_ctx(a), value) : NULL))            \
    }
#define DO_BOUND(R, name, A)                                                                       \
    isl_##R *vy_isl_##name(isl_##A *a, vy_isl_dim t, int64_t i, int64_t value)                     \
    {                                                                                              \
        ASK(R, name, ({IS_##A, a}), (t, i, value),                                                 \
            isl_##name(a, t, (unsigned)i,                                                          \
                       a ? isl_val_int_from_si(isl_##A##_get_ctx(a), value) : NULL))               \
    }
#define DO_KEEPS1(name, A)                                                                         \
    isl_bool vy_isl_##name(isl_##A *a) { DECIDE(name, ({IS_##A, a}), isl_##name(a)) }
#define DO_KEEPS2(name, A, B)                                                                      \
    isl_bool vy_isl_##name(isl_##A *a, isl_##B *b)                                                 \
    {                                                                                              \
        DECIDE(name, ({IS_##A, a}, {IS_##B, b}), isl_##name(a, b))                                 \
    }
VY_ISL_KNOWN(DO_TAKES1, DO_TAKES2, DO_N1, DO_N2, DO_N3, DO_N4, DO_N5, DO_ID, DO_VALUE, DO_BOUND,
             DO_KEEPS1, DO_KEEPS2)

isl_space *vy_isl_space_set_alloc(isl_ctx *ctx, uint32_t params, uint32_t dims)
{
    asking k = {.q = {.function = ASK_space_set_alloc, .number = {params, dims}}};
    const answer *have = known(&k, ctx);
    return have ? recalled(&k, have) : given(&k, IS_space, isl_space_set_alloc(ctx, params, dims));
}

isl_space *vy_isl_space_params_alloc(isl_ctx *ctx, uint32_t params)
{
    asking k = {.q = {.function = ASK_space_params_alloc, .number = {params}}};
    const answer *have = known(&k, ctx);
    return have ? recalled(&k, have) : given(&k, IS_space, isl_space_params_alloc(ctx, params));
}

isl_aff_list *vy_isl_aff_list_alloc(isl_ctx *ctx, int count)
{
    asking k = {.q = {.function = ASK_aff_list_alloc, .number = {count}}};
    const answer *have = known(&k, ctx);
    return have ? recalled(&k, have) : given(&k, IS_aff_list, isl_aff_list_alloc(ctx, count));
}

isl_pw_aff *vy_isl_variable(isl_space *space, vy_isl_dim type, uint32_t k)
{
    isl_local_space *ls = vy_isl_local_space_from_space(space);
    return vy_isl_pw_aff_from_aff(vy_isl_aff_var_on_domain(ls, type, k));
}

isl_pw_aff *vy_isl_number(isl_space *space, int64_t value)
{
    return vy_isl_pw_aff_from_aff(vy_isl_aff_val_on_domain_space(space, value));
}

// ------------------------------------------------------------------------------------------- trees
static asking tree(isl_map *of, isl_set *context, isl_space *names, int64_t number)
{
    return (asking){.q = {.function = ASK_tree,
                          .of = {{IS_map, of}, {IS_set, context}, {IS_space, names}},
                          .number = {number}}};
}

isl_ast_node *vy_isl_known_tree(isl_map *of, isl_set *context, isl_space *names, int64_t number)
{
    asking k = tree(of, context, names, number);
    const answer *have = known(&k, NULL);
    if (!have && k.m) drop_operands(&k.q);
    return have ? copy_of(have->result) : NULL;
}

void vy_isl_remember_tree(isl_map *of, isl_set *context, isl_space *names, int64_t number,
                          isl_ast_node *result)
{
    asking k = tree(of, context, names, number);
    if (result && !known(&k, NULL)) remember(&k, (object){IS_ast_node, result}, false);
}
