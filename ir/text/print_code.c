// SPDX-License-Identifier: MIT
// print_code.c: a program's instructions as statements.
#include "ir/text/print.h"

#include "ir/core/functions.h"

#include <string.h>

static print_frame *top(printer *o) { return &o->frames.data[o->frames.count - 1]; }

static vy_op op_of(const printer *o, uint32_t id) { return (vy_op)o->p->insts.data[id].op; }

static void line(printer *o, const char *text)
{
    print_indent(o);
    print_str(o, text);
}

static void push_frame(printer *o, print_frame f)
{
    f.inner_scope = o->names.scope.count;
    if (!vy_vec_push(&o->frames, f)) o->failed = true;
}

static print_frame make_frame(printer *o, uint32_t opener)
{
    print_frame f = {.opener = opener, .scope = o->names.scope.count};
    f.middle = op_of(o, opener) == VY_OP_IF ? o->s.partner[opener] : 0;
    f.closer = vy_closer(o->p, &o->s, opener);
    return f;
}

// --------------------------------------------------------------------------------------------- if
static void open_if(printer *o, uint32_t id)
{
    print_frame f = make_frame(o, id);
    f.chained = o->frames.count && top(o)->chains;
    print_slots_open(o, &f);
    if (o->failed) return;
    f.inverted = f.middle == id + 1 && print_slots_done(o, &f, false);
    if (!f.chained) print_indent(o);
    print_str(o, f.inverted ? "if !" : "if ");
    print_expr(o, vy_arg(o->p, id, 0), f.inverted ? 11 : 0, false);
    print_str(o, " {\n");
    push_frame(o, f);
    if (!o->failed) print_slots_enter(o, top(o));
}

static bool chains(printer *o, const print_frame *f)
{
    uint32_t id = f->middle + 1;
    while (id < f->closer && o->inlined[id]) id++;
    return !f->inverted && op_of(o, id) == VY_OP_IF && print_slots_chain(o, f, id);
}

static void turn_if(printer *o)
{
    print_frame *f = top(o);
    print_slots_assign(o, f, false, 0);
    print_aliases_end(o);
    print_names_close(o, f->inner_scope);
    f->in_second = true;
    print_slots_second(o, f);
    bool empty = f->middle + 1 == f->closer && print_slots_done(o, f, true);
    if (f->inverted || empty) return;
    o->frames.count--;
    line(o, "} else ");
    o->frames.count++;
    f->chains = chains(o, f);
    if (!f->chains) print_str(o, "{\n");
}

static void close_if(printer *o)
{
    print_frame f = *top(o);
    if (!f.chains) print_slots_assign(o, &f, true, 0);
    print_aliases_end(o);
    print_names_close(o, f.inner_scope);
    o->frames.count--;
    print_slots_close(o, &f);
    if (!f.chains) { // else the inner one has written it
        // A chained `if` is at the position of its parent.
        uint32_t depth = o->frames.count;
        for (uint32_t i = depth; i > 0 && o->frames.data[i - 1].chains; i--) o->frames.count--;
        line(o, "}\n");
        o->frames.count = depth;
    }
}

// ------------------------------------------------------------------------------------------ loops
// Is it made of literals only, when read as text?  Then its type comes from the context.
static bool only_literals(const printer *o, uint32_t id)
{
    if (VY_IS_LEAF(id)) return vy_id_const(o->p, id) != NULL;
    const vy_inst *i = &o->p->insts.data[id];
    vy_op op = op_of(o, id);
    if (!o->inlined[id] || vy_op_infos[op].effect != VY_PURE) return false;
    if (op == VY_OP_CAST || op == VY_OP_BITCAST || op == VY_OP_APPLY) return false;
    for (uint32_t k = op == VY_OP_SELECT; k < i->nargs; k++)
        if (!only_literals(o, vy_arg(o->p, id, k))) return false;
    return true;
}

static void print_bounds(printer *o, uint32_t id)
{
    const vy_inst *i = &o->p->insts.data[id];
    uint32_t from = vy_arg(o->p, id, 0), to = vy_arg(o->p, id, 1), step = vy_arg(o->p, id, 2);
    const vy_scalar *k = vy_id_const(o->p, step);
    bool reverse = i->flags & VY_FLAG_REVERSE, unit = k && k->u == 1;
    // Bounds that are all literals are u32.
    bool literal = only_literals(o, from) && only_literals(o, to) && k && i->type != VY_U32;
    bool convert = literal && !vy_id_const(o->p, from); // like select(c, 1, 2)
    if (reverse) print_str(o, "rev(");
    if (convert) {
        print_str(o, vy_type_name((vy_type)i->type));
        print_str(o, "(");
    }
    if (literal && !convert)
        print_const(o, from, false, VY_U32);
    else
        print_expr(o, from, 0, !convert);
    if (convert) print_str(o, ")");
    print_str(o, "..");
    print_expr(o, to, 0, true);
    if (reverse) print_str(o, ")");
    if (unit) return;
    print_str(o, " step ");
    print_expr(o, step, 0, true);
}

static void open_loop(printer *o, uint32_t id)
{
    print_frame f = make_frame(o, id);
    print_slots_open(o, &f);
    if (o->failed) return;
    line(o, "for ");
    push_frame(o, f);
    if (o->failed) return;
    uint32_t name =
        print_names_unique(o, vy_string(&o->p->module->names, o->p->insts.data[id].name));
    print_name_of(o, name);
    o->name[id] = name;
    print_str(o, " in ");
    print_bounds(o, id);
    print_str(o, " {\n");
    print_slots_enter(o, top(o));
}

static void open_while(printer *o, uint32_t id)
{
    print_frame f = make_frame(o, id);
    f.middle = o->s.test[id];
    print_slots_open(o, &f);
    if (o->failed) return;
    uint32_t first = id + 1;
    while (op_of(o, first) == VY_OP_CARRY || o->inlined[first]) first++;
    f.condition_block = first != f.middle;
    line(o, f.condition_block ? "while {\n" : "while ");
    push_frame(o, f);
    if (!o->failed) print_slots_enter(o, top(o));
}

static void test_while(printer *o, uint32_t id)
{
    print_frame *f = top(o);
    if (f->condition_block) print_indent(o);
    print_expr(o, vy_arg(o->p, id, 0), 0, false);
    if (f->condition_block) {
        print_str(o, "\n");
        o->frames.count--;
        line(o, "}");
        o->frames.count++;
    }
    print_str(o, " {\n");
    f->in_second = true;
    print_slots_second(o, f);
}

// `if c { break; }` if the loop continues on !c; the front end swaps the arms of `if !c`.
static void print_exit(printer *o, uint32_t keep)
{
    bool negated = !VY_IS_LEAF(keep) && o->inlined[keep] && op_of(o, keep) == VY_OP_NOT;
    line(o, negated ? "if " : "if !");
    if (negated)
        print_expr(o, vy_arg(o->p, keep, 0), 0, false);
    else
        print_expr(o, keep, 11, false);
    print_str(o, " { break; }\n");
}

static void close_region(printer *o)
{
    print_frame f = *top(o);
    uint32_t keep = vy_keep(o->p, &o->s, f.opener);
    print_slots_assign(o, &f, true, keep);
    if (keep) print_exit(o, keep);
    print_aliases_end(o);
    print_names_close(o, f.inner_scope);
    o->frames.count--;
    print_slots_close(o, &f);
    line(o, "}\n");
}

static void open_checkpoint(printer *o, uint32_t id)
{
    print_frame f = make_frame(o, id);
    print_slots_open(o, &f);
    if (o->failed) return;
    line(o, "checkpoint {\n");
    push_frame(o, f);
    if (!o->failed) print_slots_enter(o, top(o));
}

// ------------------------------------------------------------------------------------- statements
static void print_array_declaration(printer *o, uint32_t buffer, const char *word, const char *end)
{
    const vy_buf *b = &o->p->buffers.data[buffer];
    o->array_name[buffer] = print_names_unique(o, b->name);
    line(o, word);
    print_name_of(o, o->array_name[buffer]);
    print_str(o, ": ");
    print_buffer_type(o, b);
    print_dims(o, b);
    print_str(o, end);
}

static void print_zero(printer *o, uint32_t id)
{
    uint32_t buffer = o->p->insts.data[id].aux;
    if (!o->array_name[buffer]) {
        print_array_declaration(o, buffer, "local ", ";\n");
        return;
    }
    line(o, o->p->buffers.data[buffer].cls == VY_SHARED ? "shared " : "local ");
    print_name_of(o, o->array_name[buffer]);
    print_str(o, ";\n");
}

// `let v = p[i] * s;`
static void print_group(printer *o, uint32_t id)
{
    const char *first = vy_string(&o->p->module->names, o->p->insts.data[id].name);
    const uint32_t name = print_vector_name(o, first);
    const uint32_t values[] = {id, id + 1, id + 2, id + 3};
    const bool variable = print_starts_variable(o, id);
    line(o, variable ? "var " : "let ");
    print_name_of(o, name);
    print_str(o, " = ");
    print_operation(o, id, 0);
    print_str(o, ";\n");
    if (variable) print_declare(o, name, o->lanes[id], values);
    for (uint32_t j = 0; j < o->lanes[id]; j++) {
        if (variable)
            o->var[id + j] = o->vars.count - o->lanes[id] + j + 1;
        else
            o->name[id + j] = name;
    }
}

static void print_let(printer *o, uint32_t id)
{
    const char *wish = vy_string(&o->p->module->names, o->p->insts.data[id].name);
    const bool variable = print_starts_variable(o, id);
    const uint32_t name = variable ? print_scalar_name(o, wish) : print_names_unique(o, wish);
    line(o, variable ? "var " : "let ");
    print_name_of(o, name);
    print_str(o, " = ");
    print_operation(o, id, 0);
    print_str(o, ";\n");
    if (!variable) {
        o->name[id] = name;
        return;
    }
    print_declare(o, name, 0, &id);
    o->var[id] = o->vars.count;
}

// `let (p, q) = f(x);`, with the names of the results, which follow.
static void print_tuple(printer *o, uint32_t id)
{
    print_indent(o);
    print_str(o, "let (");
    for (uint32_t k = id + 1; k < o->p->insts.count && op_of(o, k) == VY_OP_PICK; k++) {
        const char *name = vy_string(&o->p->module->names, o->p->insts.data[k].name);
        if (k > id + 1) print_str(o, ", ");
        o->name[k] = print_names_unique(o, name);
        print_name_of(o, o->name[k]);
    }
    print_str(o, ") = ");
    print_operation(o, id, 0);
    print_str(o, ";\n");
}

static bool is_unused(const printer *o, uint32_t id)
{
    bool any = false;
    for (uint32_t j = 0; j == 0 || j < o->lanes[id]; j++) any |= print_use_count(o, id + j) != 0;
    return !any;
}

static void print_plain(printer *o, uint32_t id)
{
    const vy_inst *i = &o->p->insts.data[id];
    if (i->op == VY_OP_STORE) {
        print_store(o, id);
    } else if (i->op == VY_OP_RETURN) {
        print_return(o, id);
    } else if (i->op == VY_OP_ZERO) {
        print_zero(o, id);
    } else if (i->op == VY_OP_BARRIER) {
        line(o, "barrier();\n");
    } else if (vy_op_is_atomic((vy_op)i->op) && !i->name && is_unused(o, id)) {
        print_indent(o);
        print_atomic(o, id);
        print_str(o, ";\n");
    } else if (vy_is_tuple(o->p, id)) {
        print_tuple(o, id);
    } else if (o->lanes[id]) {
        print_group(o, id);
    } else if (print_made_component(o, id) > 1) {
        print_made_vector(o, id);
    } else {
        print_let(o, id);
    }
}

static void print_inst(printer *o, uint32_t id)
{
    switch (op_of(o, id)) {
    case VY_OP_IF: open_if(o, id); break;
    case VY_OP_ELSE: turn_if(o); break;
    case VY_OP_ENDIF: close_if(o); break;
    case VY_OP_LOOP: open_loop(o, id); break;
    case VY_OP_WHILE: open_while(o, id); break;
    case VY_OP_TEST: test_while(o, id); break;
    case VY_OP_CHECKPOINT: open_checkpoint(o, id); break;
    case VY_OP_ENDLOOP:
    case VY_OP_ENDCHECKPOINT: close_region(o); break;
    case VY_OP_CARRY:
    case VY_OP_PICK: // print_tuple
    case VY_OP_RESULT: break;
    default: print_plain(o, id); break;
    }
}

// ----------------------------------------------------------------------------------------- arrays
typedef struct array_facts {
    uint32_t first, last, clear; // uses; the first ZERO
} array_facts;

static uint32_t region_end(const printer *o, uint32_t id)
{
    uint32_t opener = o->s.parent[id];
    if (!opener) return UINT32_MAX;
    bool in_then = op_of(o, opener) == VY_OP_IF && vy_in_then(&o->s, opener, id);
    return in_then ? o->s.partner[opener] : vy_closer(o->p, &o->s, opener);
}

// Arrays declared at the top: shared ones, which the parser numbers before all local ones, and
// local ones whose first ZERO does not precede all uses or is out of the order of their numbers.
static void declare_arrays(printer *o)
{
    const vy_program *p = o->p;
    uint32_t n = p->buffers.count, keep = n, before = UINT32_MAX;
    array_facts *facts = vy_realloc(NULL, (size_t)n * sizeof *facts);
    if (!facts) {
        o->failed = true;
        return;
    }
    memset(facts, 0, (size_t)n * sizeof *facts);
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (!vy_op_is_memory((vy_op)i->op)) continue;
        array_facts *a = &facts[i->aux];
        if (!a->first) a->first = id;
        if (!a->clear && i->op == VY_OP_ZERO) a->clear = id;
        a->last = id;
    }
    for (uint32_t b = n; b-- > 1; keep = b) {
        const array_facts *a = &facts[b];
        if (p->buffers.data[b].cls != VY_LOCAL) continue; // a shared array or workspace made late
        if (!a->clear || a->clear != a->first) break;
        if (a->last >= region_end(o, a->clear) || a->clear >= before) break;
        before = a->clear;
    }
    for (uint32_t b = 1; b < n && !o->failed; b++)
        if (p->buffers.data[b].cls == VY_SHARED) print_array_declaration(o, b, "shared ", ";\n");
    for (uint32_t b = 1; b < keep && !o->failed; b++)
        if (p->buffers.data[b].cls == VY_LOCAL)
            print_array_declaration(o, b, "local ", " undefined;\n");
    vy_free(facts);
}

void print_code(printer *o)
{
    declare_arrays(o);
    print_params(o);
    for (uint32_t id = 1; id < o->p->insts.count && !o->failed; id++)
        if (!o->inlined[id] && !print_is_later_component(o, id)) print_inst(o, id);
}
