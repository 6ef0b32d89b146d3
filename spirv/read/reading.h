// SPDX-License-Identifier: MIT
// reading.h: one module that is being read, which the files of this folder share.
//
// A function of SPIR-V is built front to back by the builder of ir/: calls are inlined; vectors,
// matrices and structs are their scalars.  What must be known before its place is reached, like
// which values outlive the construct that computes them, a build finds out: it notes the fact, goes
// on with any value, and the program is built again with what has been noted.
#ifndef VYRE_READING_H
#define VYRE_READING_H

#include "ir/build/edit.h"
#include "ir/core/ir.h"
#include "spirv/read.h"
#include "spirv/read/words.h"

enum { READ_HEADER = 5 }; // words before the first instruction

typedef struct reading reading;

// Fails the module with the instruction that is being read.  False.
bool read_fail(reading *r, vy_code code, const char *fix, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
bool read_no_memory(reading *r);
// … because of what the instruction does: "OpX: … cannot be read".
bool read_refuse(reading *r, const char *fix, const char *what);

// ---- types.c: what is declared before the first function
typedef struct read_note { // OpName, OpDecorate, …
    uint32_t at, next;     // next: of the same id, index + 1
} read_note;

typedef struct read_type { // what a type of the module is in scalars
    SpvOp op;              // OpTypeInt, …; SpvOpNop: no type
    vy_type
        scalar; // of a bool, an integer, a float and what consists of them: as it lies in memory
    uint32_t element; // type id: of vectors, matrices, arrays; of pointers: what they point to
    uint32_t count;   // of elements or members; 0: a runtime array
    uint32_t scalars; // in a value of the type; 0: it has no values
    uint32_t fields;  // see read_field
    SpvStorageClass storage; // of pointers
} read_type;

extern const read_type read_no_type;
static inline const read_type *read_type_of(const reading *r, uint32_t type); // below
const char *read_name(const reading *r, uint32_t id);                         // "" if it has none
// Of component k of a value of this type that is called so: `v_x` if it is a vector, as the text's
// front end calls them (ir/core/vector_slots.h).
const char *read_component_name(reading *r, const char *name, uint32_t vector, uint32_t k);
// The components of a vector's type; 0: it is none.
uint32_t read_vector_size(const reading *r, uint32_t type);
const char *read_member_name(const reading *r, uint32_t type, uint32_t member);
// The operand of the decoration (some word where it has none); NULL: the id is not so decorated.
const uint32_t *read_decoration(const reading *r, uint32_t id, SpvDecoration d);
const uint32_t *read_member_decoration(const reading *r, uint32_t id, uint32_t member,
                                       SpvDecoration d);
bool read_take_notes(reading *r); // finds names and decorations; false: no memory
bool read_declarations(reading *r);

// ---- values.c: what ids stand for in the program being built
// Scalar k of a value; any value where it is not known yet.
vy_value read_scalar(reading *r, uint32_t id, uint32_t k);
uint32_t read_scalar_count(reading *r, uint32_t id);                // 0: it is no value
static inline uint32_t read_type_id(const reading *r, uint32_t id); // the type of a value; below
// Defines id as these scalars of its type.
bool read_define(reading *r, uint32_t id, uint32_t n, const vy_value *v);
vy_type read_scalar_type(const reading *r, uint32_t type, uint32_t k); // as it lies in memory
enum { READ_MOST_OF_VALUE = 1 << 16 };                                 // scalars of one value
// Room for the scalars of a value of the type, until the build ends; NULL: failed.
vy_value *read_room(reading *r, uint32_t type);
bool read_constant_u32(reading *r, uint32_t id, uint32_t *out);
const char *read_specified(const reading *r, uint32_t id); // by --spec, of a constant; or NULL
bool read_find_constants(reading *r); // those that the options name; false: the module's diag
vy_value read_any(reading *r, vy_type type); // stands for what is not known yet
// A value as its type is computed with (i32 for i8), normalised to the type.
vy_value read_narrow(reading *r, vy_type type, vy_value v);
vy_value read_as(reading *r, vy_type type, vy_value v); // the same bits in another type

// ---- variables.c, memory.c: variables.  Their scalars are in fields, one for each path through
// structs; a field is an array with an axis for each array, matrix and vector on the way.
typedef struct read_field {
    vy_type type; // as it lies in memory
    uint32_t rank;
    const uint32_t *dims;    // 0: a runtime array
    uint32_t vector;         // its last axis is that of a vector of so many; 0: it is none
    uint32_t first;          // its first scalar, where its scalars are kept apart
    uint32_t offset;         // in a block: of its first scalar, in bytes, …
    uint32_t within;         // … of that, in the element of a runtime array, …
    const uint32_t *strides; // … and from one to the next, by axis
    vy_buffer buffer;        // else; none: nothing accesses it
    const char *name;
} read_field;

typedef enum read_kind {
    READ_VARIABLE,  // of an invocation: variables of the builder, or local arrays
    READ_SHARED,    // of a workgroup: shared arrays
    READ_PARAMETER, // push constants, uniform blocks: scalar parameters, or `in` buffers
    READ_BUFFER,    // storage buffers
    READ_BUILTIN,
    READ_IMAGE, // images: one buffer of texels for each
    READ_SAMPLER,
} read_kind;

typedef struct read_alias { // one of several variables on one binding: see alias.c
    vy_buffer buffer;
    vy_type type;
    bool words;  // it has several types, and type is u32
    uint8_t use; // of all fields
} read_alias;

typedef struct read_object {
    read_kind kind;
    uint32_t variable; // the id of its OpVariable
    uint32_t type;     // of what it holds
    uint32_t field_count;
    read_field *fields;
    vy_var *vars;      // of VARIABLE
    vy_value *scalars; // of PARAMETER; none: nothing reads it
    read_alias *alias; // of BUFFER; NULL: its binding is its own
    SpvBuiltIn builtin;
} read_object;

typedef struct read_index {
    bool known;
    uint32_t number;
    vy_value value; // where it is not known: an integer
    uint32_t id;    // … whose value it is; 0: of none
} read_index;

typedef struct read_pointer {
    const read_object *object;
    uint32_t type;  // of what it points to
    uint32_t field; // the first below it
    uint32_t rank;
    read_index *index; // along the axes above it
    uint32_t sampler;  // of an image: the variable of its sampler; 0: its own
} read_pointer;

// ---- pointers.c
enum { READ_MOST_AXES = 64 };                           // of a pointer
read_pointer *read_pointer_of(reading *r, uint32_t id); // NULL: failed
bool read_access_chain(reading *r);
// ---- parameters.c
enum { READ_MOST_SCALARS = 256 }; // parameters of a block; others of it are buffers
uint32_t read_elements(const read_field *f);
uint32_t read_rank(const read_field *f);
// Its dimensions in the program; a field without axes has one element.  NULL: failed.
const vy_dim *read_dims(reading *r, const read_field *f);
const char *read_joined(reading *r, const char *a, const char *b); // a.b
bool read_member_names(reading *r);                                // finds which are unique
bool read_declare(reading *r, read_object *o);
vy_buffer_class read_class_of(uint8_t use);
// ---- alias.c
bool read_aliases(reading *r, uint32_t n, read_object **objects); // finds them
bool read_alias_load(reading *r, const read_alias *a, const read_field *f, const read_index *index,
                     vy_value *out);
bool read_alias_store(reading *r, const read_alias *a, const read_field *f, const read_index *index,
                      vy_value v);
// The element of the buffer that is such a scalar; false: none is, which has been reported.
bool read_alias_index(reading *r, const read_alias *a, const read_field *f, const read_index *index,
                      vy_value *out);
vy_value read_alias_length(reading *r, const read_alias *a, const read_field *f);

// ---- image.c, texel.c, sample.c: images, and what loads them stands for
bool read_is_image(const reading *r, uint32_t type); // or a sampler, or an array of them
bool read_image_object(reading *r, uint32_t id, read_object **out);
bool read_declare_images(reading *r, read_object *o);
bool read_sample(reading *r, SpvOp op, bool *mine);
bool read_image(reading *r, SpvOp op, bool *mine); // whatever else is of images
bool read_samplers_exist(reading *r); // every sampler that is described is one of the module

// ---- sizes.c: adds to the error that a limit is reached which constants size the arrays
void read_name_sizes(const reading *r);

// ---- guess.c: what the first build would note of variables
bool read_guess(reading *r);
void read_compare_guess(reading *r);
// ---- outlives.c: … of values
bool read_guess_outlives(reading *r);

// An object for the variable, with its fields; NULL: failed.
read_object *read_make_object(reading *r, uint32_t id, read_kind kind, const char *path);
bool read_make_uses(reading *r, uint32_t id, uint32_t n);
bool read_globals(reading *r); // the variables outside of functions, parameters among them
bool read_variable(reading *r, uint32_t id); // OpVariable of a function
bool read_load(reading *r);
bool read_store(reading *r);
bool read_store_to(reading *r, const read_pointer *p, uint32_t value);
bool read_store_scalars(reading *r, const read_pointer *p, const vy_value *v);
bool read_copy(reading *r); // OpCopyMemory
// Notes that all it points to is used so, as a guess.
bool read_note_transfer(reading *r, const read_pointer *p, uint8_t use);
bool read_load_from(reading *r, const read_pointer *p, vy_value *out);
bool read_array_length(reading *r);
// The element that a pointer to a scalar points to, of a buffer or array: for atomics.
bool read_element(reading *r, uint32_t pointer, uint8_t use, vy_buffer *buffer, vy_value **index);

// ---- operation.c, extended.c, composite.c, sync.c: instructions of a block
bool read_instruction(reading *r); // at r->at
// One with a value, which specialisation constants may be, too: v is for its scalars.
bool read_find_ours(reading *r); // before all others
bool read_operation(reading *r, SpvOp op, uint32_t type, uint32_t n, const uint32_t *operands,
                    vy_value *v);
bool read_composite(reading *r, SpvOp op, uint32_t type, uint32_t n, const uint32_t *operands,
                    vy_value *v, bool *mine);
bool read_extended(reading *r, uint32_t instruction, uint32_t type, uint32_t n,
                   const uint32_t *operands, vy_value *v);
vy_value read_f16_of_bits(reading *r, vy_value bits); // pack.c: an f16 from the low half of a u32
vy_value read_bits_of_f16(reading *r, vy_value x);    // … and back: u32
// Functions that pack small numbers into one, or unpack them; *mine: it is such a one.
bool read_bitcast(reading *r, uint32_t type, uint32_t operand, vy_value *v);
bool read_pack(reading *r, uint32_t instruction, uint32_t type, uint32_t n,
               const uint32_t *operands, vy_value *v, bool *mine);
// ---- parts.c: numbers in two parts, likewise
bool read_parts(reading *r, uint32_t instruction, uint32_t type, uint32_t n,
                const uint32_t *operands, vy_value *v, bool *mine);
// ---- lanes.c: a scan, and a sum of clusters, by the operation of this name
vy_value read_scan(reading *r, const char *name, bool exclusive, vy_value x);
vy_value read_cluster(reading *r, const char *name, uint32_t size, vy_value x);
bool read_lanes(reading *r, SpvOp op, bool *mine); // quads, ballots
bool read_sync(reading *r, bool *mine);            // barriers, atomics, lanes

// ---- places.c: the places of parameters in the shader's bindings; element: of a scalar's field
void read_place_buffer(reading *r, const read_object *o, const read_field *f);
void read_place_scalar(reading *r, const read_object *o, const read_field *f, uint32_t element,
                       vy_value scalar);
void read_forget_places(vy_program *p);

// ---- library.c: functions of our library are the operations that they compute
typedef struct read_library_call {
    char name[40];  // of the operation
    vy_type type;   // of its operands and its result
    uint32_t order; // of polygamma; 0: it is another
    uint32_t arity;
} read_library_call;

// Finds those of the module, and whether the shader is exact.
bool read_library(reading *r);
const read_library_call *read_library_of(const reading *r, uint32_t function); // or NULL
vy_value read_library_value(vy_builder *b, const read_library_call *call, const vy_value *x);

// ---- call.c: functions; control.c: blocks and constructs
bool read_function(reading *r, uint32_t id, const vy_var *results);
bool read_call(reading *r);

typedef struct read_exit { // a branch to `label` leaves …
    uint32_t label;
    bool is_loop;   // … the loop, …
    uint32_t block; // … or this block,
    vy_var falls;   // and sets this variable; none: no variable
    bool reached;   // there is such a branch in what has been built
} read_exit;
VY_VEC_TYPE(read_exit_vec, read_exit);

bool read_open_exit(reading *r, read_exit e);
// The open construct that a branch to `label` leaves; NULL: it leaves none.
read_exit *read_exit_to(const reading *r, uint32_t label);
void read_leave(reading *r, read_exit *e);
// Sets the OpPhi of block `to` to what they are for a branch from block `from`.
bool read_edge(reading *r, uint32_t from, uint32_t to);
// The code from a block on, up to the end of the innermost open construct.
bool read_follow(reading *r, uint32_t label);
// … after a branch to it, which may leave constructs instead.
bool read_go(reading *r, uint32_t from, uint32_t to);
// ---- header.c: the block whose branch ends the loop with this header, in a straight run of blocks
// from it that do nothing but that; 0: there is none
uint32_t read_test_block(const reading *r, uint32_t header, uint32_t merge, uint32_t again);
// ---- carried.c: what the body of the loop with this header may assign, of what is visible here
bool read_carried(reading *r, uint32_t header, vy_loop_hint *hint);
// ---- switch.c: OpSwitch at the end of block `from`, in a construct that its merge block leaves
bool read_switch(reading *r, uint32_t from);

// ---- domain.c: the program gets the domain that its guards tell of, if they do.  False: failed.
bool read_domain(vy_program *p);

// ---- launch.c: what the shape of the workgroup tells of its ids, where there is no domain
bool read_launch(vy_program *p);

// ---- steps.c: assumes of scalars by which loops count that they are positive
bool read_steps(vy_program *p);
// ---- lockstep.c: loops with barriers end for a workgroup together
bool read_lockstep(vy_program *p);
// ---- quotients.c: of a multiple and a part of one only the multiple's is left
bool read_quotients(vy_program *p);
// ---- subgroup_arms.c: operations among lanes are taken out of arms that entire subgroups take
bool read_subgroup_arms(vy_program *p);
// ---- once.c: stores that invocations make together to one element are left to the first one
bool read_once(vy_program *p);

// ---- facts that builds note
enum {
    READ_OUTLIVES = 1, // of a value: it is used outside of the construct that computes it
    READ_IS_READ = 1,  // of fields and scalars of a variable
    READ_IS_WRITTEN = 2,
    READ_IS_INDEXED = 4, // some index is known only when it runs
};

VY_VEC_TYPE(read_value_vec, vy_value);
VY_VEC_TYPE(read_note_vec, read_note);
VY_VEC_TYPE(read_name_vec, const char *);

typedef struct read_frame { // a function that is being inlined
    uint32_t id, end;       // end: the word of its OpFunctionEnd
    const vy_var *results;  // of each scalar
    struct read_frame *caller;
} read_frame;

struct reading {
    vy_module *m;
    vy_builder *b;
    read_words w;
    const vy_read_options *options;
    const char *file;
    vy_arena arena;    // of all builds
    uint32_t *note_at; // by id: index + 1
    read_note_vec notes;
    uint32_t *spec_number; // by specialisation constant of the options
    uint8_t *facts;        // by id: READ_OUTLIVES
    uint8_t **uses;        // by id of a variable: of its fields, then of its scalars; NULL: none
    uint8_t *decorated;    // by id: see same.h
    uint8_t *ours;         // by operation of SPIR-V: the operation of ours; see operation.c
    read_library_call **library; // by id of a function: the operation that it is, or NULL
    bool exact;                  // all floats of it: some operation is decorated so
    bool noted;                  // something is new, so it must be built again
    bool guess, guessing;        // the uses are a guess; are being guessed
    uint32_t entry, main;        // OpEntryPoint, its function
    uint32_t source;             // the file that lines count in
    uint32_t at;                 // the instruction that is being read
    uint32_t line, column;

    vy_arena building; // of this build, as is all that follows
    read_type *types;  // by id
    read_value_vec values;
    uint32_t *value_at;      // by id: index + 1 of its first scalar
    uint8_t **now;           // as uses: what this build has noted
    uint8_t *outlived;       // as facts: likewise
    vy_var **kept;           // by id: variables of its scalars: of OpPhi, and of what outlives
    read_pointer **pointers; // by id
    read_object **objects;   // by id of a variable
    const char **members;    // names of members of variables, in order
    uint32_t member_count;
    read_frame *frame;
    bool misplaced;       // some parameter cannot stay where the shader has it
    read_exit_vec exits;  // constructs that are open
    read_name_vec unread; // scalars of blocks that nothing reads
    bool *built;          // by id of a label: the block has been built, in this call
    uint32_t *seen;       // by id of a label: the last search that has reached it
    uint32_t seen_now;
    vy_id_vec privates; // variables outside of functions that an invocation has of its own
    uint32_t depth;     // of constructs
    uint32_t unreached; // ends of constructs before what is being built that nothing reaches
    uint32_t constants; // that are being made: each consists of the next
    uint64_t instructions;
};

// Asked several times for each instruction, like the next one: no call.
static inline const read_type *read_type_of(const reading *r, uint32_t type)
{
    return type < r->w.bound ? &r->types[type] : &read_no_type;
}

static inline uint32_t read_type_id(const reading *r, uint32_t id)
{
    return id < r->w.bound ? r->w.type[id] : 0;
}

#endif
