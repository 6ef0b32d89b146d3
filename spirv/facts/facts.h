// SPDX-License-Identifier: MIT
// facts.h: what is known of a program before anything is emitted.
#ifndef VYRE_SPIRV_FACTS_H
#define VYRE_SPIRV_FACTS_H

#include "spirv/words/module.h"

// How a buffer is declared.
typedef enum vy_mem_form {
    VY_MEM_PLAIN, // with the program's element type
    VY_MEM_BITS,  // a float buffer declared as unsigned, for compare-exchange
    VY_MEM_HALVES // an f16 buffer declared as u32 words, two elements each, for the same reason
} vy_mem_form;

typedef struct vy_mem_facts {
    bool loaded, stored, guarded, len_used;
    bool atomic, atomic_other; // other: a float atomic other than addition
    uint32_t line, column;     // of the first atomic, for diagnostics
    vy_mem_form form;
} vy_mem_facts;

typedef struct vy_facts {
    vy_mem_facts *buffers; // by buffer id
    bool *leaf_used;       // by leaf index
    uint32_t *partner;     // IF → ELSE → ENDIF, others 0
    bool *uniform;         // by instruction; only where padding lanes stay alive, else NULL
    bool *alike;           // by instruction; NULL without loops.  For both see uniform.c
    bool *shared_place;    // by instruction: see shared_places.c
    bool *combined;        // by instruction; NULL where nothing is: see combined.c
    uint8_t *steady_place; // by instruction: see steady_places.c; NULL: none
    bool barrier, subgroup, loop;
    uint32_t nesting; // greatest depth of nested constructs
} vy_facts;
// False with m->diag filled (an atomic that is not available) or m->oom.
bool vy_facts_make(vy_spv *m, const vy_program *p, vy_facts *f);
void vy_facts_free(vy_facts *f);
bool *vy_shared_places_make(const vy_program *p);                        // vy_free it; NULL: memory
uint8_t *vy_steady_places_make(const vy_program *p);                     // the same
bool *vy_combined_make(const vy_program *p);                             // the same
typedef enum vy_sameness { VY_ALIKE, VY_UNIFORM, VY_EQUAL } vy_sameness; // uniform.c
bool *vy_uniform_make(const vy_program *p, vy_sameness kind);            // vy_free it; NULL: memory
bool vy_is_uniform(const vy_program *p, const bool *uniform, uint32_t id); // a leaf, too

// whole.c: where a last workgroup has from..to invocations on the axis, an element of the shared
// array is read that no invocation fills; others: only if the other axes are long enough for a full
// workgroup.
typedef struct vy_whole {
    uint32_t axis, from, to, buffer, others;
} vy_whole;
VY_VEC_TYPE(vy_whole_vec, vy_whole);
bool vy_find_wholes(const vy_program *p, vy_whole_vec *out); // false: memory
// What the first use of each buffer does, by id; VY_UNTOUCHED throughout without a domain.
enum { VY_UNTOUCHED, VY_WRITES_ALL, VY_TOUCHES };
void vy_first_uses(const vy_program *p, uint8_t *uses);
// True if the buffer is an `out`, all of which the program provably writes before any other access.
bool vy_fully_written(const vy_program *p, uint32_t buffer);
bool vy_dim_equal(const vy_program *p, vy_dim a, vy_dim b);

#endif
