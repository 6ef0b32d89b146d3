// SPDX-License-Identifier: MIT
// switch.c: OpSwitch as a chain of conditions.
//
//   switch (k) {                    f = false
//   case 1: a;                      if k == 1 | f { f = false; a; f = true; }
//   case 2: b; break;               if k == 2 | f { f = false; b; }
//   default: c;                     if !(k == 1 | k == 2) { c; }
//   }
//
// A case that goes on into the next one sets the flag f.  So cases are built in an order in which
// each stands before the one that it falls into.
#include "spirv/read/reading.h"

enum { MOST_CASES = 4096 };

typedef struct target {   // a block that a case begins
    uint32_t label, next; // next: the label of the case that it falls into; 0: none
    bool entered;         // some case falls into it
    bool done;
} target;

VY_VEC_TYPE(target_vec, target);

typedef struct cases {
    reading *r;
    uint32_t at, from, words; // words: of a literal
    uint32_t other;           // the default's label
    vy_value selector;
    target_vec targets;
    vy_var falls;
} cases;

static uint32_t case_count(const cases *c)
{
    return (read_length(&c->r->w, c->at) - 3) / (c->words + 1);
}

static uint32_t case_label(const cases *c, uint32_t k)
{
    return read_word(&c->r->w, c->at, 3 + k * (c->words + 1) + c->words);
}

static uint64_t case_literal(const cases *c, uint32_t k)
{
    const uint32_t i = 3 + k * (c->words + 1);
    const uint64_t high = c->words == 2 ? read_word(&c->r->w, c->at, i + 1) : 0;
    return read_word(&c->r->w, c->at, i) | high << 32;
}

static target *target_at(const cases *c, uint32_t label)
{
    for (uint32_t k = 0; k < c->targets.count; k++)
        if (c->targets.data[k].label == label) return &c->targets.data[k];
    return NULL;
}

static bool add(cases *c, uint32_t label)
{
    const target t = {.label = label};
    return target_at(c, label) || vy_vec_push(&c->targets, t) || read_no_memory(c->r);
}

// ------------------------------------------------------------------------------- what falls where
static bool visit(cases *c, vy_id_vec *todo, uint32_t label)
{
    reading *r = c->r;
    if (label >= r->w.bound || r->seen[label] == r->seen_now || read_exit_to(r, label)) return true;
    r->seen[label] = r->seen_now;
    return vy_vec_push(todo, label) || read_no_memory(c->r);
}

// The labels that the block ends in.
static bool visit_next(cases *c, vy_id_vec *todo, uint32_t label)
{
    const read_words *w = &c->r->w;
    bool ok = true;
    for (uint32_t at = read_definition(w, label); at && at < w->count; at = read_next(w, at)) {
        const SpvOp op = read_op(w, at);
        if (op == SpvOpBranch) return ok && visit(c, todo, read_word(w, at, 1));
        if (op == SpvOpBranchConditional)
            return ok && visit(c, todo, read_word(w, at, 2)) && visit(c, todo, read_word(w, at, 3));
        if (op == SpvOpSwitch) // its cases, and what they fall into
            for (uint32_t i = 2; ok && i < read_length(w, at); i++)
                ok = read_op_of(w, read_word(w, at, i)) != SpvOpLabel ||
                     visit(c, todo, read_word(w, at, i));
        if (op == SpvOpSelectionMerge || op == SpvOpLoopMerge)
            ok = ok && visit(c, todo, read_word(w, at, 1));
        if (op == SpvOpReturn || op == SpvOpReturnValue || op == SpvOpUnreachable ||
            op == SpvOpFunctionEnd)
            return ok;
    }
    return ok;
}

static bool find_next(cases *c, target *t)
{
    vy_id_vec todo = {0};
    c->r->seen_now++;
    bool ok = visit(c, &todo, t->label);
    while (ok && todo.count) {
        const uint32_t label = todo.data[--todo.count];
        target *other = label == t->label ? NULL : target_at(c, label);
        if (!other) {
            ok = visit_next(c, &todo, label);
            continue;
        }
        t->next = label;
        other->entered = true;
    }
    vy_vec_free(&todo);
    return ok;
}

// ------------------------------------------------------------------------------------- one by one
// Is the selector one of the literals of `label`, or of any case but the default's?
static vy_value matches(const cases *c, uint32_t label)
{
    vy_builder *b = c->r->b;
    const vy_type t = vy_value_type(b, c->selector);
    vy_value any = vy_bool(b, false);
    for (uint32_t k = 0; k < case_count(c); k++) {
        if (label ? case_label(c, k) != label : case_label(c, k) == c->other) continue;
        const vy_value literal = vy_int(b, t, (int64_t)case_literal(c, k));
        any = vy_or(b, any, vy_eq(b, c->selector, literal));
    }
    return any;
}

static vy_value selects(const cases *c, uint32_t label)
{
    return label == c->other ? vy_not(c->r->b, matches(c, 0)) : matches(c, label);
}

static bool build_case(cases *c, target *t)
{
    reading *r = c->r;
    const vy_value here = selects(c, t->label);
    t->done = true;
    vy_if(r->b, here);
    read_exit *leaves = read_exit_to(r, t->label);
    if (!read_edge(r, c->from, t->label)) return false;
    if (leaves) read_leave(r, leaves);
    vy_end(r->b);
    if (leaves || vy_builder_failed(r->b)) return !vy_builder_failed(r->b);
    vy_if(r->b, vy_or(r->b, here, vy_get(r->b, c->falls)));
    vy_set(r->b, c->falls, vy_bool(r->b, false));
    // Without a next case its end is that of the entire switch.
    const uint32_t end = t->next ? t->next : r->exits.data[r->exits.count - 1].label;
    read_exit e = {.label = end, .block = vy_block_begin(r->b)};
    e.falls = t->next ? c->falls : (vy_var){0};
    if (!read_open_exit(r, e) || !read_follow(r, t->label)) return false;
    const bool reached = r->exits.data[--r->exits.count].reached;
    r->exits.data[r->exits.count - 1].reached |= reached && !t->next;
    vy_end(r->b);
    vy_end(r->b);
    return !vy_builder_failed(r->b);
}

// The case, and those that it falls into.
static bool build_chain(cases *c, target *t)
{
    while (t && !t->done) {
        if (!build_case(c, t)) return false;
        t = t->next ? target_at(c, t->next) : NULL;
    }
    return true;
}

static bool build_cases(cases *c)
{
    bool ok = add(c, c->other);
    for (uint32_t k = 0; ok && k < case_count(c); k++) ok = add(c, case_label(c, k));
    for (uint32_t k = 0; ok && k < c->targets.count; k++)
        ok = read_exit_to(c->r, c->targets.data[k].label) || find_next(c, &c->targets.data[k]);
    c->falls = vy_var_new(c->r->b, "falls", vy_bool(c->r->b, false));
    for (uint32_t k = 0; ok && k < c->targets.count; k++)
        ok = c->targets.data[k].entered || build_chain(c, &c->targets.data[k]);
    for (uint32_t k = 0; ok && k < c->targets.count; k++)
        ok = c->targets.data[k].done ||
             read_fail(c->r, VY_E_SHADER_WORDS, "", "cases fall into one another");
    return ok;
}

bool read_switch(reading *r, uint32_t from)
{
    cases c = {.r = r, .at = r->at, .from = from, .other = read_word(&r->w, r->at, 2)};
    c.selector = read_scalar(r, read_word(&r->w, r->at, 1), 0);
    if (vy_builder_failed(r->b)) return false;
    c.words = vy_type_size(vy_value_type(r->b, c.selector)) == 8 ? 2 : 1;
    if (!r->exits.count)
        return read_fail(r, VY_E_SHADER_WORDS, "", "a switch without a merge block");
    if (case_count(&c) > MOST_CASES)
        return read_fail(r, VY_E_SHADER_LIMIT, "", "a switch of more than %d cases", MOST_CASES);
    const vy_scalar *known = vy_id_const(vy_builder_program(r->b), c.selector.id);
    uint32_t to = c.other;
    for (uint32_t k = 0; known && k < case_count(&c); k++)
        if ((uint32_t)case_literal(&c, k) == (uint32_t)known->u) to = case_label(&c, k);
    if (known || case_count(&c) == 0) return read_go(r, from, to);
    const bool ok = build_cases(&c);
    vy_vec_free(&c.targets);
    return ok;
}
