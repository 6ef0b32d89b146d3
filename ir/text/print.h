// SPDX-License-Identifier: MIT
// print.h: the internals of the printer.
//
//   print.c        modules, heads of programs      print_plan.c   what is written inline
//   print_code.c   statements, in program order    print_slot.c   carries and yields as variables
//   print_expr.c   expressions                     print_name.c   unique names
//   print_pipe.c   pipelines                print_vector.c what is printed as vectors
//   print_store.c  stores                   print_operand.c operands of vectors
//   print_made.c   vectors of scalars
//
// The text must make the builder emit the same instructions in the same order.  Two facts ensure
// this: expressions are evaluated left to right, and the builder orders the values that a construct
// carries or yields by the declarations of their variables.
#ifndef VYRE_PRINT_H
#define VYRE_PRINT_H

#include "ir/core/flow.h"
#include "ir/core/vector_params.h"

VY_VEC_TYPE(print_text, char);

typedef struct print_name {
    uint32_t text, length; // in print_names.text
    uint32_t next;         // with every smaller suffix, from 2, this name is visible
    bool visible;
} print_name;
VY_VEC_TYPE(print_name_vec, print_name);

typedef struct print_names {
    print_text text;
    print_name_vec all; // [0] is a dummy
    uint32_t *table, table_size;
    vy_id_vec scope;  // visible names, innermost last
    uint32_t unnamed; // v1, v2, …
} print_names;

// A vector of values that need not be next to each other (print_made.c).
typedef struct print_made {
    uint32_t id[VY_MOST_COMPONENTS];
    uint8_t n;
} print_made;
VY_VEC_TYPE(print_made_vec, print_made);

// A variable of the text.
typedef struct print_var {
    uint32_t name;    // index in names
    uint32_t content; // the value it holds at this point; 0: none of interest
    uint32_t level;   // nesting depth at which it may be assigned here
    uint32_t stamp;   // of the last arm's end that assigned it
    uint8_t lanes;    // of a vector's variable, of which it is one component: how many; 0: a scalar
    uint8_t lane;     // which, from 1
} print_var;
VY_VEC_TYPE(print_var_vec, print_var);

// One value that a construct carries or yields.
typedef struct print_slot {
    uint32_t var;        // index in vars
    uint32_t entry;      // what the variable held at the opening
    uint32_t then_yield; // IF; else 0
    uint32_t end_yield;
    uint32_t result;
    uint32_t outer_level;
    uint8_t lanes; // of the vector of which it is the first component; else 0
} print_slot;
VY_VEC_TYPE(print_slot_vec, print_slot);

typedef struct print_frame {
    uint32_t opener, middle, closer; // middle: ELSE, TEST or 0
    uint32_t slot_start;
    uint32_t scope, inner_scope; // names visible before
    bool inverted;               // IF printed as `if !c {` with the else arm
    bool chained;                // IF printed as `else if`
    bool chains;                 // its else arm is one
    bool in_second;              // after the middle
    bool condition_block;        // WHILE printed as `while { …; c } {`
} print_frame;
VY_VEC_TYPE(print_frame_vec, print_frame);

typedef struct printer {
    const vy_program *p;
    print_text out;
    bool failed;
    vy_structure s;
    uint32_t *block;     // the arrays below
    uint32_t *use_start; // users of value id: uses[use_start[id] … use_start[id + 1])
    uint32_t *uses;
    uint32_t *var;   // CARRY, RESULT: variable; index in vars + 1
    uint32_t *name;  // of lets and loop variables, and aliases; index in names
    uint16_t *width; // of a tree that may be written inline; 0: none
    uint8_t *height, *inlined;
    uint8_t *lanes;  // components of the group that begins here; 0: none does
    uint8_t *lane;   // 1 + the number of the component that it is; 0: of none
    uint8_t *turned; // are its two operands exchanged, for those of its group to be alike?
    uint8_t *vector; // by buffer: components of its rows; 0: it is one of scalars
    uint32_t
        *made; // by instruction: what it is a component of, or computed for; index in makes + 1
    print_made_vec makes;
    uint32_t *slot; // by value that is only assigned to a variable: the result of that slot; else 0
    vy_vector_param *params; // by scalar parameter
    uint32_t *param_name; // by the first of a vector: index in names; 0: it is printed as scalars
    vy_id_vec pending;    // print_plan.c
    print_names names;
    print_var_vec vars;
    print_slot_vec slots;
    print_frame_vec frames;
    vy_id_vec order;         // yields of an arm, while planning
    vy_id_vec aliases;       // values that have a second name until the arm ends
    bool shadows_literals;   // a parameter is called inf or nan
    uint32_t *array_name;    // by buffer: index in names; 0: not declared yet
    const uint32_t *numbers; // pipelines, by step: name of its counter or value; 0: written inline
    const vy_pipeline *pipeline;
    char *const *functions; // by function of the module: its name in the text
    uint32_t stamp;
    uint32_t hint; // slot of the enclosing construct to look at first
} printer;

// print_out.c
void print_str(printer *o, const char *text);
void print_bytes(printer *o, const char *text, size_t n);
void print_u64(printer *o, uint64_t value);
void print_indent(printer *o);
void print_identifier(printer *o, const char *name); // in back quotes where needed

// printer.c
bool print_tables(printer *o); // by instruction, empty; false: out of memory
void print_free(printer *o);

// print_head.c
// "h * w <= cstep"; NULL: memory.  To be freed with vy_free.
char *vy_assumption_text(const vy_program *p, const vy_assumption *a);
// print_dim.c
void print_dims(printer *o, const vy_buf *b);
void print_dim(printer *o, uint32_t dim, int outer, uint32_t depth); // outer: 0; depth: of brackets
// `value(x[i])`: an element of a buffer that the host has read
void print_step_element(printer *o, const vy_pipe_step *s, uint32_t depth);
void print_number(printer *o, int64_t step, uint32_t depth); // VY_DIM_STEP

// print_function.c
char **print_function_names(const vy_module *m, vy_arena *arena); // NULL: out of memory
void print_function_head(printer *o, uint32_t index);             // up to the opening brace
void print_return(printer *o, uint32_t id);
void print_rule(printer *o, vy_rule_of kind, const char *name, const char *after);

// print_head.c
void print_init(printer *o, const vy_buf *b); // `@init(ones) `
void print_head(printer *o);                  // up to the opening brace
void print_reserve_names(printer *o);         // those of the parameters

// print_pipe.c
void print_pipeline(print_text *out, bool *failed, const vy_pipeline *l);

// print_name.c
bool print_names_init(print_names *n);
void print_names_free(print_names *n);
uint32_t print_names_add(printer *o, const char *text, size_t length); // exactly; makes it visible
uint32_t print_names_unique(printer *o, const char *wish);             // "": unnamed
uint32_t print_names_like(printer *o, uint32_t name);                  // with a suffix
void print_names_close(printer *o, uint32_t scope);
void print_name_of(printer *o, uint32_t name);
enum { PRINT_NAME_SIZE = 96 };
// The identifier for a debug name, and its length.
size_t print_names_identifier(const char *name, char out[PRINT_NAME_SIZE]);

// print_plan.c
bool print_plan(printer *o);
static inline uint32_t print_use_count(const printer *o, uint32_t id)
{
    return o->use_start[id + 1] - o->use_start[id];
}
bool print_used_between(const printer *o, uint32_t id, uint32_t after, uint32_t upto);
// The initial value of a slot of an IF: a yield from outside, or 0.
uint32_t print_if_start(uint32_t opener, uint32_t then_yield, uint32_t else_yield);
bool print_is_plain(const printer *o, uint32_t id); // an instruction that is no CARRY or RESULT
bool print_swapped(const printer *o, uint32_t id);  // LT, LE written as > >=

// print_expr.c
void print_expr(printer *o, uint32_t id, int precedence, bool typed);
// typed: the context determines the type; else a literal without suffix is of type `natural`.
void print_const(printer *o, uint32_t id, bool typed, vy_type natural);
void print_scalar(printer *o, vy_type type, vy_scalar v, bool typed, vy_type natural);
void print_element(printer *o, uint32_t id);                     // buf[…] of a memory operation
bool print_compound(printer *o, uint32_t id, uint32_t old);      // ` += e` if id is old + e
bool print_reads(const printer *o, uint32_t id, uint32_t value); // in the tree of id
void print_ref(printer *o, uint32_t id);                         // the name of a value
void print_operation(printer *o, uint32_t id, int precedence);   // itself, not a name for it
void print_atomic(printer *o, uint32_t id);

// print_vector.c
void print_find_vectors(printer *o);
// Components of the rows of a buffer that is printed as one of vectors; 0: it is not.
static inline uint32_t print_vector_size(const printer *o, const vy_buf *b)
{
    return o->vector ? o->vector[b - o->p->buffers.data] : 0;
}
// How many indices its elements have.
static inline uint32_t print_rank(const printer *o, const vy_buf *b)
{
    return b->rank - (print_vector_size(o, b) != 0);
}
static inline bool print_is_later_component(const printer *o, uint32_t id)
{
    return o->lane[id] > 1;
}
static inline const print_made *print_made_of(const printer *o, uint32_t id)
{
    return o->made[id] ? &o->makes.data[o->made[id] - 1] : NULL;
}
static inline void print_make_group(printer *o, uint32_t id, uint32_t n)
{
    for (uint32_t j = 0; j < n; j++) o->lane[id + j] = (uint8_t)(j + 1);
    o->lanes[id] = (uint8_t)n;
}
// The first of its group; of what is in none itself.
static inline uint32_t print_group_begin(const printer *o, uint32_t id)
{
    if (!o->lane[id]) return id;
    return o->made[id] ? print_made_of(o, id)->id[0] : id - o->lane[id] + 1;
}
// Component k of the group that begins with `first`, and how many it has; 0: it is none.
static inline uint32_t print_member(const printer *o, uint32_t first, uint32_t k)
{
    return o->made[first] ? print_made_of(o, first)->id[k] : first + k;
}
static inline uint32_t print_group_size(const printer *o, uint32_t first)
{
    return o->made[first] && o->lane[first] == 1 ? print_made_of(o, first)->n : o->lanes[first];
}
// Operand k as it is printed.
static inline uint32_t print_arg(const printer *o, uint32_t id, uint32_t k)
{
    return vy_arg(o->p, id, k ^ o->turned[id]);
}
uint32_t print_group_of(const printer *o, uint32_t id, uint32_t k); // that operand k is; 0: none
uint32_t print_group_at(const printer *o, const uint32_t *values, uint32_t n); // that these are
bool print_is_broadcast(const printer *o, uint32_t id, uint32_t k); // one value for all of a group
bool print_group_is_operand(const printer *o, uint32_t id);         // of one group, and no more
void print_buffer_type(printer *o, const vy_buf *b);
void print_vector_type(printer *o, vy_type t, uint32_t n);
uint32_t print_vector_name(printer *o, const char *first); // by the name of its first component
uint32_t print_scalar_name(printer *o, const char *wish);  // of a variable that is no component
uint32_t print_row_size(const printer *o, uint32_t id); // of the row that begins here; 0: none does
// Components that follow each other, are named as such and computed alike; 0: they are not.
uint32_t print_operation_size(const printer *o, uint32_t id);
// Is `id` component k of the vector that begins with `first`, by what it is assigned to or called?
bool print_is_component(const printer *o, uint32_t first, uint32_t id, uint32_t k);

// print_made.c
bool print_find_made(printer *o); // false: out of memory
bool print_is_made(const printer *o, const uint32_t *values, uint32_t n);
uint32_t print_made_component(const printer *o, uint32_t id); // from 1; 0: it is none
void print_made_vector(printer *o, uint32_t last);

// print_params.c
bool print_find_params(printer *o); // false: out of memory
// Are these the components of a vector that is a parameter?
bool print_is_param(const printer *o, const uint32_t *values, uint32_t n);
void print_params(printer *o);                  // `let dir = vec3(dir_x, dir_y, dir_z);`
bool print_param(printer *o, const vy_leaf *l); // `dir.x`; false: it has no such name
static inline uint32_t print_param_name(const printer *o, const vy_vector_param *v)
{
    return v && o->param_name ? o->param_name[v->first] : 0;
}

// print_operand.c
void print_component(printer *o, uint32_t k);                         // `.x`
void print_element_component(printer *o, uint32_t index, uint32_t n); // of n: `.x` or `[k]`
void print_operand(printer *o, uint32_t id, uint32_t k, int precedence, bool typed);
// The vector of these values; of 0 a zero.
void print_vector_of(printer *o, const uint32_t *values, uint32_t n, vy_type type, int precedence);

// print_slot.c
// Declares a variable, of n components or, 0, a scalar, that holds these values from now on.
void print_declare(printer *o, uint32_t name, uint32_t n, const uint32_t *values);
void print_slots_open(printer *o, print_frame *f);         // chooses and declares variables
void print_slots_enter(printer *o, const print_frame *f);  // body or first arm begins
void print_slots_second(printer *o, const print_frame *f); // second arm begins
// Assignments at the end of an arm; `last` is an expression written after them, or 0.
void print_slots_assign(printer *o, const print_frame *f, bool end, uint32_t last);
void print_aliases_end(printer *o); // the arm is over
// Is it one statement to assign these n values to a vector?
bool print_assigned_at_once(const printer *o, const uint32_t *values, uint32_t n);
// To variable `first` of printer.vars, or the n components of a vector from there on.
void print_assign(printer *o, uint32_t first, uint32_t n, const uint32_t *values);
void print_slots_close(printer *o, const print_frame *f);
bool print_slots_done(const printer *o, const print_frame *f, bool end);  // nothing to assign
bool print_slots_chain(printer *o, const print_frame *f, uint32_t inner); // else-if possible
// Is value `id`, defined here, best declared as the variable of a later construct?
bool print_starts_variable(const printer *o, uint32_t id);
uint32_t print_arm_end(const printer *o); // marker that ends the region being printed

// print_store.c
void print_store(printer *o, uint32_t id);

// print_code.c
void print_code(printer *o);

#endif
