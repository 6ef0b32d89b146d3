// SPDX-License-Identifier: MIT
// print_made.c: vectors that are made of scalars.
//
//   p_x = load x[i]
//   j = i + 1               →    let p = vec2(x[i], x[i + 1]);
//   p_y = load x[j]
//
// Values that follow each other and are named as the front end names the components of a variable,
// with nothing between but what the expression of the next one computes: as in print_plan.c, a
// stack says whether that is so.  Whether it is must not depend on what else is printed as a
// vector, nor on names that are printed with a number behind them, or the text printed again could
// be another: so it is decided first, by uses, operations and names alone.  What is only assigned
// to a variable has its name when the text is read again, whatever it was called before: of that
// the variable decides.  Components that are computed alike, and next to each other, are an
// operation on vectors instead (print_vector.c).
#include "ir/text/print.h"

#include "ir/core/functions.h"
#include "ir/core/vector_slots.h"

#include <string.h>

enum { MOST_BETWEEN = 12 }; // the text has one line for all of it

typedef struct finder {
    printer *o;
    uint32_t *count, *first; // by value: its uses, and the first of them
    vy_id_vec stack;         // what waits for its user
    print_made now;          // the components so far
    uint32_t good;           // of which so many may be one
} finder;

static const vy_inst *inst(const finder *f, uint32_t id) { return &f->o->p->insts.data[id]; }

static bool is_value(const finder *f, uint32_t id)
{
    const vy_inst *i = inst(f, id);
    const vy_effect e = vy_op_infos[i->op].effect;
    return (e == VY_PURE || e == VY_READ) && i->op != VY_OP_PICK && !vy_is_tuple(f->o->p, id);
}

static bool count_uses(finder *f)
{
    const vy_program *p = f->o->p;
    const uint32_t n = p->insts.count;
    f->count = vy_realloc(NULL, (size_t)n * 2 * sizeof *f->count);
    if (!f->count) return false;
    memset(f->count, 0, (size_t)n * 2 * sizeof *f->count);
    f->first = f->count + n;
    for (uint32_t id = 1; id < n; id++) {
        const vy_inst *i = &p->insts.data[id];
        if (i->op == VY_OP_CARRY || i->op == VY_OP_RESULT) continue;
        for (uint32_t k = 0; k < i->nargs; k++) {
            const uint32_t a = vy_arg(p, id, k);
            if (!VY_IS_LEAF(a) && f->count[a]++ == 0) f->first[a] = id;
        }
    }
    return true;
}

// The slots of what is assigned by marker `id`, and used nowhere else.
static void find_assigned(finder *f, uint32_t id)
{
    printer *o = f->o;
    const vy_op op = (vy_op)inst(f, id)->op;
    const bool opens = vy_is_loop(op), ends = op == VY_OP_ELSE || vy_op_closes(op);
    if (!opens && !ends) return;
    const uint32_t opener = opens ? id : vy_opener(o->p, &o->s, id);
    const uint32_t slots = vy_slot_count(o->p, &o->s, opener), skip = inst(f, id)->nargs - slots;
    for (uint32_t k = 0; k < slots; k++) {
        const uint32_t a = vy_arg(o->p, id, skip + k);
        if (!VY_IS_LEAF(a) && f->count[a] == 1) o->slot[a] = vy_result(o->p, &o->s, opener, k);
    }
}

// ------------------------------------------------------------------------------------- one of them
bool print_is_component(const printer *o, uint32_t first, uint32_t id, uint32_t k)
{
    const vy_inst *a = &o->p->insts.data[first], *b = &o->p->insts.data[id];
    const uint32_t slot = o->slot[first];
    if (a->type != b->type || !vy_vector_prefix((vy_type)a->type)) return false;
    if (slot || o->slot[id])
        return slot && o->lane[slot] == 1 && k < o->lanes[slot] && o->slot[id] == slot + k;
    const char *x = vy_string(&o->p->module->names, a->name),
               *y = vy_string(&o->p->module->names, b->name);
    const size_t length = vy_component_stem(y, k);
    return length && length == vy_component_stem(x, 0) && memcmp(x, y, length) == 0;
}

// Is it the next component of the vector that the first one belongs to?
static bool continues(const finder *f, uint32_t id)
{
    const print_made *m = &f->now;
    return m->n && m->n < VY_MOST_COMPONENTS && print_is_component(f->o, m->id[0], id, m->n);
}

// Pops the operands that were computed for it alone, the last one first.
static void pop_operands(finder *f, uint32_t id)
{
    const uint32_t n = inst(f, id)->nargs;
    const bool swapped = print_swapped(f->o, id);
    vy_id_vec *s = &f->stack;
    for (uint32_t k = n; k-- > 0;) {
        const uint32_t a = vy_arg(f->o->p, id, swapped ? n - 1 - k : k);
        if (!VY_IS_LEAF(a) && s->count && s->data[s->count - 1] == a && !inst(f, a)->name &&
            !f->o->slot[a])
            s->count--;
    }
}

// Are the components all that waits, and used only after the last of them?
static bool is_clean(const finder *f, uint32_t last)
{
    const print_made *m = &f->now;
    bool clean = f->stack.count == m->n;
    for (uint32_t k = 0; clean && k < m->n; k++) {
        const uint32_t id = m->id[k];
        clean = f->stack.data[k] == id && (!f->count[id] || f->first[id] > last);
    }
    return clean;
}

// ---------------------------------------------------------------------------------------- the next
static bool finish(finder *f)
{
    printer *o = f->o;
    print_made m = f->now;
    const uint32_t good = f->good;
    f->now.n = 0;
    f->good = f->stack.count = 0;
    if (good < 2 || print_operation_size(o, m.id[0]) == good) return true;
    m.n = (uint8_t)good;
    if (!vy_vec_push(&o->makes, m)) return false;
    for (uint32_t id = m.id[0]; id <= m.id[good - 1]; id++) o->made[id] = o->makes.count;
    return true;
}

static bool enter(finder *f, uint32_t id)
{
    f->now.id[f->now.n++] = id;
    if (!vy_vec_push(&f->stack, id)) return false;
    if (f->now.n > 1 && is_clean(f, id)) f->good = f->now.n;
    return f->now.n == 1 || f->good == f->now.n || finish(f);
}

static bool visit(finder *f, uint32_t id)
{
    if (!is_value(f, id)) return finish(f);
    if (f->now.n) pop_operands(f, id);
    if (continues(f, id)) return enter(f, id);
    if (print_is_component(f->o, id, id, 0)) return finish(f) && enter(f, id);
    if (inst(f, id)->name && !f->o->slot[id]) return finish(f);
    if (!f->now.n) return true;
    const bool waits = f->count[id] == 1 && id - f->now.id[0] < MOST_BETWEEN;
    return waits ? vy_vec_push(&f->stack, id) : finish(f);
}

bool print_find_made(printer *o)
{
    finder f = {.o = o};
    bool ok = count_uses(&f);
    for (uint32_t id = 1; ok && id < o->p->insts.count; id++) find_assigned(&f, id);
    for (uint32_t id = 1; ok && id < o->p->insts.count; id++) {
        const uint32_t row = print_row_size(o, id); // a vector already
        ok = row ? finish(&f) : visit(&f, id);
        if (row) id += row - 1;
    }
    ok = ok && finish(&f);
    vy_vec_free(&f.stack);
    vy_free(f.count);
    return ok;
}

// -------------------------------------------------------------------------------------- the others
bool print_is_made(const printer *o, const uint32_t *values, uint32_t n)
{
    const print_made *m = VY_IS_LEAF(values[0]) ? NULL : print_made_of(o, values[0]);
    if (!m || m->n != n) return false;
    return memcmp(m->id, values, n * sizeof *values) == 0;
}

uint32_t print_made_component(const printer *o, uint32_t id)
{
    const print_made *m = print_made_of(o, id);
    for (uint32_t k = 0; m && k < m->n; k++)
        if (m->id[k] == id) return k + 1;
    return 0;
}

// `let p = vec2(x[i], x[i + 1]);`, when all of it has been computed.
void print_made_vector(printer *o, uint32_t last)
{
    const print_made m = *print_made_of(o, last);
    const char *first = vy_string(&o->p->module->names, o->p->insts.data[m.id[0]].name);
    const uint32_t name = print_vector_name(o, first);
    const bool variable = print_starts_variable(o, m.id[0]);
    print_indent(o);
    print_str(o, variable ? "var " : "let ");
    print_name_of(o, name);
    print_str(o, " = ");
    print_vector_type(o, (vy_type)o->p->insts.data[last].type, m.n);
    for (uint32_t k = 0; k < m.n; k++) {
        print_str(o, k ? ", " : "(");
        print_operation(o, m.id[k], 0);
    }
    print_str(o, ");\n");
    if (variable) print_declare(o, name, m.n, m.id);
    for (uint32_t k = 0; k < m.n; k++) {
        o->inlined[m.id[k]] = 0;
        o->lane[m.id[k]] = (uint8_t)(k + 1);
        if (variable)
            o->var[m.id[k]] = o->vars.count - m.n + k + 1;
        else
            o->name[m.id[k]] = name;
    }
}
