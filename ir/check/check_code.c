// SPDX-License-Identifier: MIT
// check_code.c: is the code well formed?
//
// Runs after every pass of a debug build, and on every file from outside.  Operands exist, are
// defined earlier and visible; markers pair up; carried and yielded values agree in number and
// type; types follow the table.  Nothing is used before it was checked, because the code may come
// from a file whose digest an attacker computed.
//
// A value is visible while its region is open: regions get serial numbers as they open, and a
// closed one never opens again.
#include "ir/check/check.h"
#include "ir/core/access.h"
#include "ir/core/functions.h"

#include <string.h>

typedef struct region {
    uint32_t opener, middle; // middle: ELSE or TEST once seen
    uint32_t serial, outer;
} region;

typedef struct checker {
    vy_program *p;
    uint32_t *home;  // by instruction: serial of the region its value is visible in
    uint8_t *open;   // by serial
    uint32_t serial; // the last one assigned
    region *stack;   // open constructs
    uint32_t depth;
    vy_op awaited; // CARRY, RESULT or PICK that must come next, of `owner`, while next < count
    uint32_t owner, next, count;
    const char *wrong; // first finding
} checker;

static bool bad(checker *c, const char *what)
{
    if (!c->wrong) c->wrong = what;
    return false;
}

static const vy_inst *inst_of(const checker *c, uint32_t id) { return &c->p->insts.data[id]; }

static uint32_t here(const checker *c) { return c->depth ? c->stack[c->depth - 1].serial : 0; }

// Is operand k of `id` a value that may be used there?
static bool value(checker *c, uint32_t id, uint32_t k)
{
    const vy_program *p = c->p;
    uint32_t v = vy_arg(p, id, k);
    if (VY_IS_LEAF(v)) {
        if (VY_LEAF_INDEX(v) >= p->leaves.count) return bad(c, "an operand names no leaf");
        return p->leaves.data[VY_LEAF_INDEX(v)].kind != VY_LEAF_POISON ||
               bad(c, "an operand is poison");
    }
    if (v == 0 || v >= id) return bad(c, "an operand does not come before its use");
    if (p->insts.data[v].type == VY_VOID || vy_is_tuple(p, v))
        return bad(c, "an operand has no value");
    return c->open[c->home[v]] || bad(c, "an operand is not visible");
}

static bool values(checker *c, uint32_t id, uint32_t from, uint32_t to)
{
    for (uint32_t k = from; k < to; k++)
        if (!value(c, id, k)) return false;
    return true;
}

static vy_type arg_type(const checker *c, uint32_t id, uint32_t k)
{
    return vy_id_type(c->p, vy_arg(c->p, id, k));
}

static bool arg_is(checker *c, uint32_t id, uint32_t k, vy_type t)
{
    return arg_type(c, id, k) == t || bad(c, "an operand is of the wrong type");
}

static bool is_integer(vy_type t) { return t >= VY_I32 && t <= VY_U64; }

// ------------------------------------------------------------------------------------ plain values
static bool ruled(checker *c, uint32_t id)
{
    const vy_inst *i = inst_of(c, id);
    const vy_op_info *info = &vy_op_infos[i->op];
    if (i->nargs != info->arity) return bad(c, "wrong number of operands");
    vy_type t = arg_type(c, id, 0);
    for (uint32_t k = 1; k < i->nargs; k++)
        if (!arg_is(c, id, k, t)) return false;
    vy_type result = vy_rule_type(info->rule, t);
    return (result != VY_VOID && result == i->type) || bad(c, "the operation is not for this type");
}

static void await(checker *c, vy_op op, uint32_t owner, uint32_t count)
{
    c->awaited = op;
    c->owner = owner;
    c->next = 0;
    c->count = count;
}

// The interfaces of the module's functions have been checked before.
static bool call(checker *c, uint32_t id)
{
    const vy_inst *i = inst_of(c, id);
    const vy_module *m = c->p->module;
    if (i->aux >= m->functions.count) return bad(c, "no such function");
    const vy_function *f = &m->functions.data[i->aux];
    if (!vy_function_has_rule(f)) return bad(c, "the function is to be inlined");
    if (vy_function_type(f) != (vy_type)i->type) return bad(c, "wrong type of result");
    if (i->nargs != f->code->scalars.count) return bad(c, "wrong number of operands");
    for (uint32_t k = 0; k < i->nargs; k++)
        if (!arg_is(c, id, k, f->code->scalars.data[k].type)) return false;
    if (f->result_count > 1) await(c, VY_OP_PICK, id, f->result_count);
    return true;
}

static uint32_t bits(vy_type t) { return t == VY_BOOL ? 0 : vy_type_size(t); }

static bool special(checker *c, uint32_t id)
{
    const vy_inst *i = inst_of(c, id);
    vy_op op = (vy_op)i->op;
    if (op == VY_OP_BARRIER) return (!i->nargs && !i->type) || bad(c, "a barrier has no operands");
    if (op == VY_OP_APPLY) return call(c, id);
    if (op == VY_OP_RETURN)
        return (c->p->function && !c->depth && id + 1 == c->p->insts.count && !i->type) ||
               bad(c, "only functions return, at their end");
    uint32_t arity = op == VY_OP_SELECT ? 3 : vy_op_infos[op].arity;
    if (i->nargs != arity) return bad(c, "wrong number of operands");
    if (!vy_type_computes(i->type)) return bad(c, "not a type of values");
    switch (op) {
    case VY_OP_SELECT:
        return arg_is(c, id, 0, VY_BOOL) && arg_is(c, id, 1, (vy_type)i->type) &&
               arg_is(c, id, 2, (vy_type)i->type);
    case VY_OP_CAST: return true;
    case VY_OP_CANDIDATE:
        return (vy_type_is_float((vy_type)i->type) || bad(c, "a candidate is a float")) &&
               arg_is(c, id, 0, (vy_type)i->type) && arg_is(c, id, 1, VY_U32);
    case VY_OP_BITCAST:
        return (bits((vy_type)i->type) >= 4 &&
                bits(arg_type(c, id, 0)) == bits((vy_type)i->type)) ||
               bad(c, "a bitcast needs 32- or 64-bit types of one size");
    case VY_OP_SG_BROADCAST:
    case VY_OP_SG_SHUFFLE:
    case VY_OP_SG_SHUFFLE_XOR:
        return arg_is(c, id, 0, (vy_type)i->type) && arg_is(c, id, 1, VY_U32);
    case VY_OP_SG_ANY:
    case VY_OP_SG_ALL:
        return (arg_is(c, id, 0, VY_BOOL) && i->type == VY_BOOL) || bad(c, "the result is a bool");
    default: return bad(c, "unknown operation");
    }
}

static bool memory(checker *c, uint32_t id)
{
    const vy_inst *i = inst_of(c, id);
    vy_op op = (vy_op)i->op;
    if (i->aux == 0 || i->aux >= c->p->buffers.count) return bad(c, "no such buffer");
    const vy_buf *buf = &c->p->buffers.data[i->aux];
    vy_type element = vy_type_loaded(buf->type);
    if (op == VY_OP_ZERO)
        return (buf->cls >= VY_SHARED && !i->nargs && !i->type) || bad(c, "only arrays clear");
    uint32_t extra = op == VY_OP_LOAD ? 0 : op == VY_OP_ATOMIC_CAS ? 2 : 1;
    if (i->nargs != buf->rank + extra) return bad(c, "wrong number of indices");
    for (uint32_t k = 0; k < buf->rank; k++)
        if (!is_integer(arg_type(c, id, k))) return bad(c, "an index is not an integer");
    for (uint32_t k = buf->rank; k < i->nargs; k++)
        if (!arg_is(c, id, k, element)) return false;
    vy_type result = op == VY_OP_STORE ? VY_VOID : element;
    if (vy_axes_known(c->p, id) > buf->rank) return bad(c, "more indices in range than there are");
    return i->type == result || bad(c, "wrong type of result");
}

// ---------------------------------------------------------------------------------------- markers
static bool awaited(checker *c, uint32_t id)
{
    const vy_inst *i = inst_of(c, id);
    if (i->nargs != 1 || vy_arg(c->p, id, 0) != c->owner || i->aux != c->next)
        return bad(c, "carried values or results are out of order");
    uint32_t skip = inst_of(c, c->owner)->nargs - c->count; // bounds or `keep` come first
    c->next++;
    if (i->op == VY_OP_PICK)
        return i->type == c->p->module->functions.data[inst_of(c, c->owner)->aux].results[i->aux] ||
               bad(c, "wrong type of result");
    return arg_is(c, c->owner, skip + i->aux, (vy_type)i->type);
}

static bool enter(checker *c, uint32_t id, uint32_t outer)
{
    if (c->depth >= VY_MAX_NESTING) return bad(c, "nested too deep");
    uint32_t serial = ++c->serial;
    c->open[serial] = 1;
    c->stack[c->depth++] = (region){.opener = id, .serial = serial, .outer = outer};
    return true;
}

static bool open_marker(checker *c, uint32_t id)
{
    const vy_inst *i = inst_of(c, id);
    uint32_t outer = here(c);
    if (i->op == VY_OP_LOOP) {
        if (i->nargs < 3) return bad(c, "a loop without bounds");
        if (!is_integer((vy_type)i->type)) return bad(c, "a loop variable is not an integer");
        for (uint32_t k = 0; k < 3; k++)
            if (!arg_is(c, id, k, (vy_type)i->type)) return false;
        await(c, VY_OP_CARRY, id, i->nargs - 3);
    } else if (i->type != VY_VOID) {
        return bad(c, "a marker with a value");
    } else if (i->op == VY_OP_IF) {
        if (i->nargs != 1) return bad(c, "an if needs one condition");
        if (!arg_is(c, id, 0, VY_BOOL)) return false;
    } else if (i->op == VY_OP_WHILE) {
        await(c, VY_OP_CARRY, id, i->nargs);
    } else if (i->nargs) {
        return bad(c, "wrong number of operands");
    }
    if (!enter(c, id, outer)) return false;
    c->home[id] = here(c); // the loop variable belongs to the body
    return true;
}

static bool middle_marker(checker *c, uint32_t id)
{
    const vy_inst *i = inst_of(c, id);
    region *r = c->depth ? &c->stack[c->depth - 1] : NULL;
    vy_op want = i->op == VY_OP_ELSE ? VY_OP_IF : VY_OP_WHILE;
    if (!r || inst_of(c, r->opener)->op != want || r->middle)
        return bad(c, "a marker is outside its construct");
    r->middle = id;
    if (i->op == VY_OP_TEST)
        return (i->nargs == 1 && arg_is(c, id, 0, VY_BOOL)) || bad(c, "a test needs a bool");
    c->open[r->serial] = 0;
    r->serial = ++c->serial;
    c->open[r->serial] = 1;
    return true;
}

static bool close_loop(checker *c, uint32_t id, const region *r)
{
    const vy_inst *i = inst_of(c, id), *opener = inst_of(c, r->opener);
    uint32_t from = vy_init_arg(c->p, r->opener), keep = vy_next_arg(c->p, r->opener);
    uint32_t n = opener->nargs - from;
    if (opener->op == VY_OP_WHILE && !r->middle) return bad(c, "a while without a test");
    if (i->nargs != n + keep) return bad(c, "a loop does not yield what it carries");
    if (keep && !arg_is(c, id, 0, VY_BOOL)) return false;
    for (uint32_t k = 0; k < n; k++)
        if (!arg_is(c, id, keep + k, arg_type(c, r->opener, from + k))) return false;
    await(c, VY_OP_RESULT, id, n);
    return true;
}

static bool close_marker(checker *c, uint32_t id)
{
    static const uint16_t opens[][2] = {{VY_OP_ENDIF, VY_OP_IF},
                                        {VY_OP_ENDLOOP, VY_OP_LOOP},
                                        {VY_OP_ENDLOOP, VY_OP_WHILE},
                                        {VY_OP_ENDCHECKPOINT, VY_OP_CHECKPOINT}};
    const vy_inst *i = inst_of(c, id);
    if (!c->depth) return bad(c, "a construct is closed twice");
    region r = c->stack[c->depth - 1];
    bool fits = false;
    for (uint32_t k = 0; k < 4; k++)
        fits |= opens[k][0] == i->op && opens[k][1] == inst_of(c, r.opener)->op;
    if (!fits) return bad(c, "a construct is closed by the wrong marker");
    if (i->op == VY_OP_ENDLOOP) {
        if (!close_loop(c, id, &r)) return false;
    } else {
        await(c, VY_OP_RESULT, id, i->nargs);
    }
    if (i->op == VY_OP_ENDIF) {
        if (!r.middle) return bad(c, "an if without an else");
        if (inst_of(c, r.middle)->nargs != i->nargs) return bad(c, "the arms yield differently");
        for (uint32_t k = 0; k < i->nargs; k++)
            if (!arg_is(c, id, k, arg_type(c, r.middle, k))) return false;
    }
    c->open[r.serial] = 0;
    c->depth--;
    c->home[id] = here(c);
    return true;
}

// ------------------------------------------------------------------------------------ instructions
static uint8_t allowed_flags(vy_op op, uint8_t flags)
{
    if (op == VY_OP_LOOP) return VY_FLAG_REVERSE | VY_FLAG_EXIT;
    if (op == VY_OP_WHILE) return VY_FLAG_EXIT;
    return vy_marks_allowed(op, flags);
}

static bool check_inst(checker *c, uint32_t id)
{
    const vy_program *p = c->p;
    const vy_inst *i = inst_of(c, id);
    if (i->op == VY_OP_NONE || i->op >= VY_OP_COUNT) return bad(c, "unknown operation");
    vy_op op = (vy_op)i->op;
    if (i->type >= VY_TYPE_COUNT) return bad(c, "unknown type");
    if (i->args > p->args.count || i->nargs > p->args.count - i->args)
        return bad(c, "operands out of range");
    if (i->name && i->name >= p->module->names.count) return bad(c, "name out of range");
    if (i->flags & ~allowed_flags(op, i->flags)) return bad(c, "a flag that does not belong here");
    c->home[id] = here(c);
    bool waiting = c->next < c->count;
    if (waiting != (op == VY_OP_CARRY || op == VY_OP_RESULT || op == VY_OP_PICK) ||
        (waiting && op != c->awaited))
        return bad(c, "carried values or results are out of place");
    if (waiting) return awaited(c, id);
    bool uses_aux = vy_op_is_memory(op) || op == VY_OP_POLYGAMMA || op == VY_OP_APPLY;
    if (i->aux && !uses_aux) return bad(c, "a number that means nothing here");
    if (!values(c, id, 0, i->nargs)) return false;
    if (vy_op_is_memory(op)) return memory(c, id);
    if (vy_op_opens(op)) return open_marker(c, id);
    if (op == VY_OP_ELSE || op == VY_OP_TEST)
        return (i->type == VY_VOID || bad(c, "a marker with a value")) && middle_marker(c, id);
    if (vy_op_closes(op))
        return (i->type == VY_VOID || bad(c, "a marker with a value")) && close_marker(c, id);
    return vy_op_infos[op].rule == VY_RULE_S ? special(c, id) : ruled(c, id);
}

static bool check_all(checker *c)
{
    vy_program *p = c->p;
    if (p->insts.count == 0 || p->insts.count > VY_MAX_INSTRUCTIONS) {
        vy_fail(p->module, VY_E_LIMIT, p->line, 0, NULL, "`%s` has too many instructions", p->name);
        return false;
    }
    for (uint32_t id = 1; id < p->insts.count; id++) {
        if (check_inst(c, id)) continue;
        const vy_inst *i = inst_of(c, id);
        vy_fail(p->module, VY_E_INTERNAL, i->line, i->column, NULL, "`%s`, instruction %u (%s): %s",
                p->name, id, i->op < VY_OP_COUNT ? vy_op_infos[i->op].id : "?", c->wrong);
        return false;
    }
    if (c->depth == 0 && c->next >= c->count) return true;
    vy_fail(p->module, VY_E_INTERNAL, p->line, 0, NULL, "`%s`: a construct is not closed", p->name);
    return false;
}

bool vy_check_code(vy_program *p)
{
    vy_arena arena = {0};
    size_t n = p->insts.count + 1;
    checker c = {.p = p};
    c.home = vy_arena_alloc(&arena, n * sizeof *c.home);
    c.open = vy_arena_alloc(&arena, 2 * n + 1);                  // an IF has two regions
    const size_t most = n < VY_MAX_NESTING ? n : VY_MAX_NESTING; // constructs open at once
    c.stack = vy_arena_alloc(&arena, most * sizeof *c.stack);
    bool ok = c.home && c.open && c.stack;
    if (ok) {
        c.open[0] = 1;
        ok = check_all(&c);
    } else {
        vy_fail_oom(p->module);
    }
    vy_arena_free(&arena);
    return ok;
}
