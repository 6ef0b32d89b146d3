// SPDX-License-Identifier: MIT
// control.c: blocks and constructs.
//
// Blocks are followed from the first one.  A merge instruction opens a construct of the builder,
// and names where the code goes on behind it; a branch to such a place from the inside leaves the
// construct (vy_block_leave), or falls out of it where nothing follows.  A loop is
//
//   header:  LoopMerge M C            while true {
//            … BranchConditional c       header; test c
//                                        block { body }        a branch to C leaves the block
//   C:       … Branch header             the code of C
//                                     }                        a branch to M ends the loop
//
// An OpPhi is a variable, set where a branch reaches its block.  Nothing is trusted: a branch must
// go to a block of the function that is not built yet, or to where an open construct ends.
#include "spirv/read/reading.h"

enum { DEEPEST = 400, MOST_INSTRUCTIONS = 4 << 20 };

static uint32_t word(const reading *r, uint32_t i) { return read_word(&r->w, r->at, i); }

static bool wrong(reading *r, const char *what)
{
    return read_fail(r, VY_E_SHADER_WORDS, "", "%s", what);
}

// ----------------------------------------------------------------------------------------- blocks
// The merge instruction of the block, before its end; 0: it has none.
static uint32_t merge_of(const reading *r, uint32_t label)
{
    uint32_t at = read_definition(&r->w, label);
    while (at < r->w.count && !read_ends_block(read_op(&r->w, at))) {
        const SpvOp op = read_op(&r->w, at);
        if (op == SpvOpSelectionMerge || op == SpvOpLoopMerge) return at;
        at = read_next(&r->w, at);
    }
    return 0;
}

static bool is_label(const reading *r, uint32_t id) { return read_op_of(&r->w, id) == SpvOpLabel; }

// Sets the OpPhi of `to` to what they are for a branch from `from`.
bool read_edge(reading *r, uint32_t from, uint32_t to)
{
    uint32_t at = read_definition(&r->w, to);
    if (!is_label(r, to)) return wrong(r, "a branch to what is no block");
    for (at = read_next(&r->w, at); at < r->w.count; at = read_next(&r->w, at)) {
        const SpvOp op = read_op(&r->w, at);
        if (op == SpvOpLine || op == SpvOpNoLine) continue;
        if (op != SpvOpPhi) break;
        const uint32_t id = read_word(&r->w, at, 2);
        uint32_t value = 0;
        for (uint32_t i = 3; i + 1 < read_length(&r->w, at); i += 2)
            if (read_word(&r->w, at, i + 1) == from) value = read_word(&r->w, at, i);
        if (!value) return wrong(r, "an OpPhi lacks a predecessor");
        if (!r->kept[id]) return wrong(r, "an OpPhi of another function");
        for (uint32_t k = 0; k < read_type_of(r, read_type_id(r, id))->scalars; k++)
            vy_set(r->b, r->kept[id][k], read_scalar(r, value, k));
    }
    return !vy_builder_failed(r->b);
}

static bool phi(reading *r) // its value from here on
{
    const uint32_t id = word(r, 2), type = word(r, 1), n = read_type_of(r, type)->scalars;
    vy_value *v = read_room(r, type);
    if (!v) return false;
    for (uint32_t k = 0; k < n && r->kept[id]; k++) v[k] = vy_get(r->b, r->kept[id][k]);
    return read_define(r, id, n, v);
}

// ------------------------------------------------------------------------------------- constructs
bool read_open_exit(reading *r, read_exit e)
{
    return vy_vec_push(&r->exits, e) || read_no_memory(r);
}

// Is a branch to `label` the end of an open construct?  Of the innermost one nothing need be done
// but to stop; *out says how to leave another.
read_exit *read_exit_to(const reading *r, uint32_t label)
{
    for (uint32_t k = r->exits.count; k-- > 0;)
        if (r->exits.data[k].label == label) return &r->exits.data[k];
    return NULL;
}

void read_leave(reading *r, read_exit *e)
{
    e->reached |= !r->unreached;
    if (e->falls.id) vy_set(r->b, e->falls, vy_bool(r->b, true));
    if (e == &r->exits.data[r->exits.count - 1] && !e->is_loop) return; // falls out of it
    if (e->is_loop)
        vy_break(r->b);
    else
        vy_block_leave(r->b, e->block);
}

// A branch from block `from` to `to`, inside an arm or at the end of a block.
bool read_go(reading *r, uint32_t from, uint32_t to)
{
    if (!read_edge(r, from, to)) return false;
    read_exit *e = read_exit_to(r, to);
    if (e) {
        read_leave(r, e);
        return !vy_builder_failed(r->b);
    }
    return read_follow(r, to);
}

static bool deeper(reading *r)
{
    if (r->depth++ < DEEPEST) return true;
    return read_fail(r, VY_E_SHADER_LIMIT, "", "constructs are nested more than %d deep", DEEPEST);
}

// Opens a block that a branch to `merge` leaves.
static bool begin_selection(reading *r, uint32_t merge)
{
    return deeper(r) &&
           read_open_exit(r, (read_exit){.label = merge, .block = vy_block_begin(r->b)});
}

// Says whether what follows is reached.
static bool end_selection(reading *r)
{
    vy_end(r->b);
    r->depth--;
    return r->exits.data[--r->exits.count].reached;
}

static const vy_scalar *constant(const reading *r, vy_value v)
{
    return vy_builder_failed(r->b) ? NULL : vy_id_const(vy_builder_program(r->b), v.id);
}

static bool two_arms(reading *r, uint32_t block, uint32_t condition, uint32_t yes, uint32_t no)
{
    const vy_value c = read_scalar(r, condition, 0);
    const vy_scalar *known = constant(r, c);
    if (known || yes == no) return read_go(r, block, !known || known->u ? yes : no);
    if (!deeper(r)) return false;
    vy_if(r->b, c);
    bool ok = read_go(r, block, yes);
    if (ok) vy_else(r->b);
    ok = ok && read_go(r, block, no);
    if (ok) vy_end(r->b);
    r->depth--;
    return ok && !vy_builder_failed(r->b);
}

// ----------------------------------------------------------------------------------------- loops
static bool build_block(reading *r, uint32_t label, uint32_t *end);
static bool end_block(reading *r, uint32_t label, uint32_t at, uint32_t *next);

// Builds the blocks from the header to the one that tests; *body: where the loop goes on from it.
static bool header_test(reading *r, uint32_t header, uint32_t test, uint32_t merge, uint32_t *body)
{
    uint32_t label = header, at;
    while (build_block(r, label, &at) && label != test) {
        label = read_word(&r->w, at, 1);
        r->built[label] = true;
    }
    if (vy_builder_failed(r->b) || label != test) return false;
    const uint32_t yes = read_word(&r->w, at, 2), no = read_word(&r->w, at, 3);
    const vy_value c = read_scalar(r, read_word(&r->w, at, 1), 0);
    *body = yes == merge ? no : yes;
    vy_while_test(r->b, yes == merge ? vy_not(r->b, c) : c);
    return !vy_builder_failed(r->b);
}

// The iteration up to the continue construct.  *left: the test may end the loop.
static bool loop_body(reading *r, uint32_t header, uint32_t merge, uint32_t again, bool *left)
{
    const uint32_t test = read_test_block(r, header, merge, again);
    uint32_t at, body = 0, next = 0;
    *left = test != 0;
    if (test) {
        if (!header_test(r, header, test, merge, &body)) return false;
    } else {
        vy_while_test(r->b, vy_bool(r->b, true));
    }
    const read_exit to_header = {.label = header, .block = vy_block_begin(r->b)};
    const read_exit to_again = {.label = again,
                                .block = again == header ? 0 : vy_block_begin(r->b)};
    if (!read_open_exit(r, to_header) || (again != header && !read_open_exit(r, to_again)))
        return false;
    bool ok = test ? read_go(r, test, body)
                   : build_block(r, header, &at) && end_block(r, header, at, &next);
    return ok && (!next || read_follow(r, next));
}

// *reached: what follows the loop is.
static bool loop(reading *r, uint32_t header, uint32_t merge, uint32_t again, bool *reached)
{
    bool left;
    if (!deeper(r) || !read_open_exit(r, (read_exit){.label = merge, .is_loop = true}))
        return false;
    vy_loop_hint hint;
    if (!read_carried(r, header, &hint)) return false;
    vy_while_hint(r->b, &hint);
    if (!loop_body(r, header, merge, again, &left)) return false;
    if (again != header) { // the end of the iteration, which each `continue` reaches, if one does
        const bool goes_on = r->exits.data[--r->exits.count].reached;
        vy_end(r->b);
        r->unreached += !goes_on;
        if (!read_follow(r, again)) return false;
        r->unreached -= !goes_on;
    }
    vy_end(r->b);
    vy_end(r->b);
    r->exits.count -= 2;
    *reached = left || r->exits.data[r->exits.count].reached;
    r->depth--;
    return !vy_builder_failed(r->b);
}

// ------------------------------------------------------------------------------ following blocks
// Builds the instructions of a block, and says where its last one is.
static bool build_block(reading *r, uint32_t label, uint32_t *end)
{
    uint32_t at = read_next(&r->w, read_definition(&r->w, label));
    for (; at < r->w.count; at = read_next(&r->w, at)) {
        r->at = at;
        const SpvOp op = read_op(&r->w, at);
        if (read_ends_block(op)) {
            *end = at;
            return true;
        }
        if (++r->instructions > MOST_INSTRUCTIONS)
            return read_fail(r, VY_E_SHADER_LIMIT, "", "inlined, it has more than %d instructions",
                             MOST_INSTRUCTIONS);
        if (op == SpvOpSelectionMerge || op == SpvOpLoopMerge) continue;
        if (op == SpvOpPhi ? !phi(r) : !read_instruction(r)) return false;
    }
    return wrong(r, "a block has no end");
}

static bool give_back(reading *r) // OpReturn, OpReturnValue
{
    if (read_op(&r->w, r->at) == SpvOpReturnValue)
        for (uint32_t k = 0; k < read_scalar_count(r, word(r, 1)); k++)
            if (r->frame->results)
                vy_set(r->b, r->frame->results[k], read_scalar(r, word(r, 1), k));
    vy_return(r->b);
    return !vy_builder_failed(r->b);
}

// The branch at the end of a block without a construct; *next: the block to go on with, 0: none.
static bool end_block(reading *r, uint32_t label, uint32_t at, uint32_t *next)
{
    *next = 0;
    r->at = at;
    switch (read_op(&r->w, at)) {
    case SpvOpBranch:
        if (!read_edge(r, label, word(r, 1))) return false;
        if (read_exit_to(r, word(r, 1)))
            read_leave(r, read_exit_to(r, word(r, 1)));
        else
            *next = word(r, 1);
        return !vy_builder_failed(r->b);
    case SpvOpBranchConditional: return two_arms(r, label, word(r, 1), word(r, 2), word(r, 3));
    case SpvOpSwitch: return read_switch(r, label);
    case SpvOpReturn:
    case SpvOpReturnValue: return give_back(r);
    case SpvOpUnreachable: return true;
    default: return read_refuse(r, "return instead", "an invocation that ends itself");
    }
}

// A block that begins a selection, and the code up to where its arms meet, if one is *reached.
static bool selection(reading *r, uint32_t label, uint32_t merge, bool *reached)
{
    uint32_t at, next;
    if (!build_block(r, label, &at) || !begin_selection(r, merge)) return false;
    bool ok = end_block(r, label, at, &next);
    if (ok && next) ok = read_follow(r, next);
    *reached = end_selection(r);
    return ok && !vy_builder_failed(r->b);
}

// The code from a block on, up to the end of the innermost open construct.  Where conditions are
// known some of it may not be reached, from the end of a construct on: it is built all the same, as
// its buffers are the module's.
bool read_follow(reading *r, uint32_t label)
{
    const uint32_t unreached = r->unreached;
    while (label) {
        if (!is_label(r, label)) return wrong(r, "a branch to what is no block");
        if (r->built[label]) return wrong(r, "two ways to a block that no construct joins");
        r->built[label] = true;
        const uint32_t merge = merge_of(r, label);
        uint32_t at = 0, next = 0;
        bool ok, reached = false;
        if (merge) {
            next = read_word(&r->w, merge, 1);
            ok = read_op(&r->w, merge) == SpvOpLoopMerge
                     ? loop(r, label, next, read_word(&r->w, merge, 2), &reached)
                     : selection(r, label, next, &reached);
            r->unreached += ok && !reached;
            if (ok && read_exit_to(r, next)) { // two constructs end at one place
                read_leave(r, read_exit_to(r, next));
                next = 0;
            }
        } else {
            ok = build_block(r, label, &at) && end_block(r, label, at, &next);
        }
        if (!ok || vy_builder_failed(r->b)) return false;
        label = next;
    }
    r->unreached = unreached;
    return true;
}
