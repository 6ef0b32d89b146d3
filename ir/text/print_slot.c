// SPDX-License-Identifier: MIT
// print_slot.c: carried and yielded values as variables of the text.
//
// The simple way gives every slot of a construct its own variable: declared before it, assigned at
// the end of each arm.  Code that a person would write uses one variable for an entire chain of
// values, so a slot reuses the variable that holds its initial value if that value is dead
// afterwards, or the variable that its result is assigned to at the end of the enclosing arm.  The
// builder orders the slots of a construct by the declarations of their variables: so within one
// construct, the variables of the slots must ascend.
//
// The slots of a vector (print_vector.c) have the variable of one, which is one of printer.vars for
// each component: those of an older vector that would do for them one by one, or a new one.
#include "ir/text/print.h"

#include "ir/core/vector_slots.h"

uint32_t print_arm_end(const printer *o)
{
    if (o->frames.count == 0) return UINT32_MAX;
    const print_frame *f = &o->frames.data[o->frames.count - 1];
    bool first_arm = o->p->insts.data[f->opener].op == VY_OP_IF && !f->in_second;
    return first_arm ? f->middle : f->closer;
}

static bool is_loop(const printer *o, uint32_t opener)
{
    return vy_is_loop((vy_op)o->p->insts.data[opener].op);
}

static print_frame make_frame(const printer *o, uint32_t opener)
{
    print_frame f = {.opener = opener, .closer = vy_closer(o->p, &o->s, opener)};
    if (o->p->insts.data[opener].op == VY_OP_IF) f.middle = o->s.partner[opener];
    return f;
}

static uint32_t slot_count(const printer *o, const print_frame *f)
{
    return vy_slot_count(o->p, &o->s, f->opener);
}

// The initial value of slot k; 0: none.
static uint32_t slot_start(const printer *o, const print_frame *f, uint32_t k)
{
    switch (o->p->insts.data[f->opener].op) {
    case VY_OP_IF:
        return print_if_start(f->opener, vy_arg(o->p, f->middle, k), vy_arg(o->p, f->closer, k));
    case VY_OP_LOOP:
    case VY_OP_WHILE: return vy_slot_init(o->p, f->opener, k);
    default: return 0;
    }
}

static bool held_by(const printer *o, uint32_t value, uint32_t var)
{
    return value && !VY_IS_LEAF(value) && o->var[value] == var + 1;
}

// Can the variable be assigned here, and does it follow those chosen so far?
static bool usable(const printer *o, uint32_t var, int64_t last)
{
    return o->vars.data[var].level == o->frames.count && (int64_t)var > last;
}

// The variable that holds the initial value, if that value dies here; else -1.
static int64_t dying_variable(const printer *o, const print_frame *f, uint32_t start, int64_t last)
{
    if (!start || VY_IS_LEAF(start) || !o->var[start] || o->name[start]) return -1;
    uint32_t var = o->var[start] - 1;
    uint32_t from = is_loop(o, f->opener) ? f->opener : f->closer;
    if (o->vars.data[var].content != start || !usable(o, var, last)) return -1;
    return print_used_between(o, start, from, print_arm_end(o)) ? -1 : (int64_t)var;
}

// The result of the slot that begins with `id`, if that is the last use of it, at a construct in
// the region of `id`; else 0.
static uint32_t started(const printer *o, uint32_t id)
{
    uint32_t n = print_use_count(o, id);
    if (n == 0) return 0;
    uint32_t last = o->uses[o->use_start[id + 1] - 1], opener = vy_opener(o->p, &o->s, last);
    vy_op op = (vy_op)o->p->insts.data[last].op;
    if (op != VY_OP_ELSE && op != VY_OP_ENDIF && !vy_is_loop(op)) return 0;
    if (opener < id || o->s.parent[opener] != o->s.parent[id] || last >= print_arm_end(o)) return 0;
    print_frame f = make_frame(o, opener);
    uint32_t slots = slot_count(o, &f);
    for (uint32_t k = 0; k < slots; k++)
        if (slot_start(o, &f, k) == id) return f.closer + 1 + k;
    return 0;
}

bool print_starts_variable(const printer *o, uint32_t id)
{
    const bool made = print_made_component(o, id);
    const uint32_t result = started(o, id), n = made ? print_made_of(o, id)->n : o->lanes[id];
    if (!n) return result && !o->lane[result];
    bool all = result && o->lanes[result] == n;
    for (uint32_t j = 1; all && j < n; j++) all = started(o, print_member(o, id, j)) == result + j;
    return all;
}

// Does anything that is printed at the opening read `value`?
static bool opening_reads(const printer *o, const print_frame *f, uint32_t value)
{
    const vy_inst *i = &o->p->insts.data[f->opener];
    for (uint32_t k = 0; k < i->nargs; k++)
        if (print_reads(o, vy_arg(o->p, f->opener, k), value)) return true;
    return false;
}

// The variable that the result is assigned to when the enclosing arm ends; else -1.
static int64_t target_variable(printer *o, const print_frame *f, uint32_t start, uint32_t result,
                               int64_t last)
{
    if (o->frames.count == 0) return -1;
    const print_frame *outer = &o->frames.data[o->frames.count - 1];
    uint32_t end = print_arm_end(o), n = slot_count(o, outer), uses = print_use_count(o, result);
    if (n == 0 || uses == 0 || o->uses[o->use_start[result + 1] - 1] != end) return -1;
    uint32_t skip = o->p->insts.data[end].nargs - n, k = o->hint % n, tries = 0;
    while (tries < n && vy_arg(o->p, end, skip + k) != result) tries++, k = k + 1 == n ? 0 : k + 1;
    if (tries == n) return -1;
    o->hint = k + 1;
    uint32_t var = o->slots.data[outer->slot_start + k].var;
    uint32_t old = o->vars.data[var].content;
    if (!usable(o, var, last)) return -1;
    bool loop = is_loop(o, f->opener);
    bool assigns =
        start && start != old && (loop || (print_is_plain(o, start) && o->inlined[start]));
    if (!held_by(o, old, var)) return var;
    // The old contents of a variable assigned before the construct are lost inside it, too.
    if (print_used_between(o, old, loop || assigns ? f->opener : f->closer, end)) return -1;
    return assigns && opening_reads(o, f, old) ? -1 : (int64_t)var;
}

static int64_t choose_place(printer *o, const print_frame *f, uint32_t k, int64_t last)
{
    uint32_t start = slot_start(o, f, k);
    int64_t var = dying_variable(o, f, start, last);
    return var >= 0 ? var : target_variable(o, f, start, f->closer + 1 + k, last);
}

// The number of slots, from k on, that are one variable.
static uint32_t lanes_at(const printer *o, const print_frame *f, uint32_t k)
{
    const uint32_t n = o->lanes[f->closer + 1 + k];
    return n ? n : 1;
}

static const char *wish(const printer *o, const print_frame *f, uint32_t k)
{
    uint32_t name = o->p->insts.data[f->closer + 1 + k].name;
    if (!name && is_loop(o, f->opener)) name = o->p->insts.data[f->opener + 1 + k].name;
    return vy_string(&o->p->module->names, name);
}

// The first of the n older variables for slots k, k + 1, …; -1: there are none.  A loop carries all
// components of a variable that it assigns; an arm assigns one component only if the slot is called
// like it, as several would be a vector when the text is read again.
static int64_t choose_places(printer *o, const print_frame *f, uint32_t k, uint32_t n, int64_t last)
{
    const int64_t var = choose_place(o, f, k, last);
    if (var < 0) return -1;
    const print_var *v = &o->vars.data[var];
    const bool called = v->lanes && vy_component_stem(wish(o, f, k), v->lane - 1u);
    if (n == 1) return v->lanes && (is_loop(o, f->opener) || !called) ? -1 : var;
    if (v->lanes != n || v->lane != 1) return -1;
    for (uint32_t j = 1; j < n; j++)
        if (choose_place(o, f, k + j, var + j - 1) != var + j) return -1;
    return var;
}

// -------------------------------------------------------------------------------- opening, closing
void print_declare(printer *o, uint32_t name, uint32_t n, const uint32_t *values)
{
    for (uint32_t j = 0; j == 0 || j < n; j++) {
        print_var v = {.name = name, .content = values[j], .level = o->frames.count};
        if (n) v.lanes = (uint8_t)n, v.lane = (uint8_t)(j + 1);
        if (!vy_vec_push(&o->vars, v)) o->failed = true;
    }
}

// `f32`, `vec3`
static void print_slot_type(printer *o, vy_type type, uint32_t n)
{
    print_str(o, ": ");
    if (n > 1)
        print_vector_type(o, type, n);
    else
        print_str(o, vy_type_name(type));
}

// The variable of the n slots from k on.
static void declare_slots(printer *o, const print_frame *f, uint32_t k, uint32_t n, vy_type type)
{
    uint32_t start[VY_MOST_COMPONENTS], any = 0;
    for (uint32_t j = 0; j < n; j++) any |= start[j] = slot_start(o, f, k + j);
    print_indent(o);
    print_str(o, "var ");
    // The name becomes visible after the declaration, but it must not be a name visible now.
    const char *name = wish(o, f, k);
    const uint32_t made = n > 1 ? print_vector_name(o, name) : print_scalar_name(o, name);
    print_name_of(o, made);
    if (any) print_str(o, " = ");
    if (!any)
        print_slot_type(o, type, n);
    else if (n > 1)
        print_vector_of(o, start, n, type, 0);
    else
        print_expr(o, start[0], 0, false);
    print_str(o, ";\n");
    print_declare(o, made, n > 1 ? n : 0, start);
}

// Assigns the initial values to the older variables that do not hold them.
static void start_with(printer *o, const print_frame *f, uint32_t k, uint32_t n, uint32_t first)
{
    uint32_t start[VY_MOST_COMPONENTS];
    bool all = true;
    for (uint32_t j = 0; j < n; j++) {
        start[j] = slot_start(o, f, k + j);
        const bool written = start[j] && print_is_plain(o, start[j]) && o->inlined[start[j]];
        const bool needed = start[j] && start[j] != o->vars.data[first + j].content &&
                            (is_loop(o, f->opener) || written);
        if (!needed) start[j] = 0;
        all &= needed;
    }
    if (all && (n == 1 || print_assigned_at_once(o, start, n))) {
        print_assign(o, first, n, start);
        return;
    }
    for (uint32_t j = 0; j < n; j++)
        if (start[j]) print_assign(o, first + j, 1, &start[j]);
}

// The n slots from k on, which are one variable; returns the last of printer.vars that they have.
static int64_t open_slots(printer *o, const print_frame *f, uint32_t k, uint32_t n, int64_t last)
{
    const bool branches = o->p->insts.data[f->opener].op == VY_OP_IF;
    print_slot *s = &o->slots.data[o->slots.count];
    o->slots.count += n;
    for (uint32_t j = 0; j < n; j++)
        s[j] = (print_slot){.result = f->closer + 1 + k + j,
                            .then_yield = branches ? vy_arg(o->p, f->middle, k + j) : 0,
                            .end_yield = vy_slot_yield(o->p, &o->s, f->opener, k + j),
                            .lanes = (uint8_t)(j || n == 1 ? 0 : n)};
    const int64_t older = choose_places(o, f, k, n, last);
    const uint32_t var = older < 0 ? o->vars.count : (uint32_t)older;
    if (older < 0)
        declare_slots(o, f, k, n, (vy_type)o->p->insts.data[s->result].type);
    else
        start_with(o, f, k, n, var);
    for (uint32_t j = 0; j < n && !o->failed; j++) {
        s[j].var = var + j;
        s[j].entry = o->vars.data[s[j].var].content;
        s[j].outer_level = o->vars.data[s[j].var].level;
    }
    return s[n - 1].var;
}

void print_slots_open(printer *o, print_frame *f)
{
    uint32_t n = slot_count(o, f);
    int64_t last = -1;
    f->slot_start = o->slots.count;
    if (!vy_vec_reserve(&o->slots, n + 1)) {
        o->failed = true;
        return;
    }
    for (uint32_t k = 0; k < n && !o->failed; k += lanes_at(o, f, k))
        last = open_slots(o, f, k, lanes_at(o, f, k), last);
}

static print_slot *slots_of(const printer *o, const print_frame *f)
{
    return o->slots.data + f->slot_start;
}

// Called with the frame of the construct pushed.
void print_slots_enter(printer *o, const print_frame *f)
{
    uint32_t n = slot_count(o, f);
    for (uint32_t k = 0; k < n && !o->failed; k++) {
        print_slot *s = &slots_of(o, f)[k];
        print_var *v = &o->vars.data[s->var];
        v->level = o->frames.count;
        if (o->p->insts.data[f->opener].op == VY_OP_WHILE) v->level = UINT32_MAX; // until its test
        if (!is_loop(o, f->opener)) continue;
        v->content = f->opener + 1 + k;
        o->var[v->content] = s->var + 1;
    }
}

void print_slots_second(printer *o, const print_frame *f)
{
    uint32_t n = slot_count(o, f);
    bool branches = o->p->insts.data[f->opener].op == VY_OP_IF;
    for (uint32_t k = 0; k < n; k++) {
        print_slot *s = &slots_of(o, f)[k];
        if (branches) o->vars.data[s->var].content = s->entry;
        o->vars.data[s->var].level = o->frames.count;
    }
}

// Called with the frame popped.
void print_slots_close(printer *o, const print_frame *f)
{
    uint32_t n = slot_count(o, f);
    for (uint32_t k = 0; k < n; k++) {
        print_slot *s = &slots_of(o, f)[k];
        o->vars.data[s->var].level = s->outer_level;
        o->vars.data[s->var].content = s->result;
        o->var[s->result] = s->var + 1;
    }
    o->slots.count = f->slot_start;
}

bool print_slots_done(const printer *o, const print_frame *f, bool end)
{
    uint32_t n = slot_count(o, f);
    for (uint32_t k = 0; k < n; k++) {
        const print_slot *s = &slots_of(o, f)[k];
        uint32_t yield = end ? s->end_yield : s->then_yield;
        if (o->vars.data[s->var].content != yield) return false;
    }
    return true;
}

// Does the slot of f with that variable yield this result?
static bool passes_on(const printer *o, const print_frame *f, uint32_t var, uint32_t result)
{
    const uint32_t n = slot_count(o, f);
    for (uint32_t k = 0; k < n; k++)
        if (slots_of(o, f)[k].var == var) return slots_of(o, f)[k].end_yield == result;
    return false;
}

// Can the `if` at `inner`, alone in the second arm of `f`, be written as `else if`?  Its variables
// must all exist already and hold, after it, the values that `f` yields.
bool print_slots_chain(printer *o, const print_frame *f, uint32_t inner)
{
    print_frame g = make_frame(o, inner);
    uint32_t n = slot_count(o, &g), m = slot_count(o, f), covered = 0;
    int64_t last = -1;
    if (g.closer + n + 1 != f->closer) return false;
    for (uint32_t k = 0, size; k < n; k += size) {
        size = lanes_at(o, &g, k);
        last = choose_places(o, &g, k, size, last);
        if (last < 0) return false;
        for (uint32_t j = 0; j < size; j++) {
            uint32_t start = slot_start(o, &g, k + j);
            if (start && print_is_plain(o, start) && o->inlined[start]) return false;
            covered += passes_on(o, f, (uint32_t)last + j, g.closer + 1 + k + j);
        }
        last += size - 1;
    }
    for (uint32_t j = 0; j < m; j++) {
        const print_slot *s = &slots_of(o, f)[j];
        bool inside = !VY_IS_LEAF(s->end_yield) && s->end_yield > g.closer;
        if (!inside && o->vars.data[s->var].content != s->end_yield) return false;
        covered -= inside;
    }
    return covered == 0;
}
