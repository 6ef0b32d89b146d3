// SPDX-License-Identifier: MIT
// binary.h: layout of the binary form.
//
//   binary_write.c, binary_put.c  module → bytes; its numbers and strings
//   binary_read.c, binary_get.c   bytes → module; its numbers and strings
//   binary_declarations.c, binary_pipe.c, binary_header.c   sections, written and read
//
//   0   8  magic "\x89VYRE\r\n\x1a": not a text file, and damaged by transfers that are not binary
//   8   4  version, little endian
//   12  4  identifies the table of operations: a 32-bit hash (vy_binary_table_id)
//   16  8  size of the payload
//   24 32  SHA-256 of (SHA-256 of the payload, bytes 8 … 23)
//   56     payload
//
// Payload: numbers are LEB128, signed ones zigzag, strings length and bytes.  In this order:
//   order, file; names (debug names, by first use); programs:
//     name, line, workgroup ×3, flags (1: the workgroup was written by the user, 2: @exact, 4: its
//       order is not the module's, 8, 16, 32: it has that name of VY_NAMES_OF, 64: @shader),
//       order with flag 4, the names
//     scalars (name, type, line, layout)   dimensions (op, value | a, b)
//     buffers (name, class, type, rank, dims, set, binding, view, flags (1: workspace, 2:
//       @owned, 4: of vectors), init, from, line, layout)
//     layout: flags (1: given, 2: uniform, 4: strides); of given ones offset, within, set,
//       binding, strides
//     over-variables (name, extent)   leaves, by first use (kind, type, index, axis | bits)
//     instructions (op, type, flags, line delta, column, name, aux, operands)
//   An operand is 2·leaf+1 or 2·(distance back to the instruction).
// Functions with a derivative of their own are between the names and the programs:
//   a program; types of its results; 1 + the numbers of its rules, 0: none
// Then pipelines:
//   the declarations of the signature, as for a program
//   steps (kind, line, column, then by kind; see binary_pipe.c)
// Then, to the end, imported files (name, lines of the module before it).
#ifndef VYRE_BINARY_H
#define VYRE_BINARY_H

#include "ir/core/ir.h"

#define VY_BINARY_VERSION 7u
enum { VY_BINARY_HEADER = 56, VY_BINARY_DIGEST = 24 };
extern const uint8_t vy_binary_magic[8];

uint32_t vy_binary_table_id(void);
// ---- writing
VY_VEC_TYPE(vy_bytes, uint8_t);
typedef struct vy_binary_writer {
    vy_bytes out;
    bool failed;
    const vy_module *m;
    uint32_t *name_number; // by offset in m->names
    uint32_t names;
    vy_id_vec name_order;
} vy_binary_writer;
void vy_binary_put_bytes(vy_binary_writer *w, const void *data, size_t n);
void vy_binary_put(vy_binary_writer *w, uint64_t v);
void vy_binary_put_signed(vy_binary_writer *w, int64_t v);
void vy_binary_put_string(vy_binary_writer *w, const char *s);
// Parameters.  dims, by dimension: on entry nonzero for those that are used elsewhere; receives the
// number of each in the file, 0 for those left out.
void vy_binary_put_declarations(vy_binary_writer *w, const vy_program *p, uint32_t *dims);
void vy_binary_put_pipeline(vy_binary_writer *w, const vy_pipeline *l);

// ---- reading
typedef struct vy_binary_reader {
    const uint8_t *at, *end;
    vy_module *m;
    const char *wrong; // first finding
    bool no_memory;
    uint32_t *names; // offsets in m->names
    uint32_t name_count;
} vy_binary_reader;
static inline bool vy_binary_ok(const vy_binary_reader *r) { return !r->wrong && !r->no_memory; }
uint64_t vy_binary_bad(vy_binary_reader *r, const char *what); // records the first finding; 0
void vy_binary_keep(vy_binary_reader *r, bool pushed); // !pushed: records that memory is out
uint64_t vy_binary_get(vy_binary_reader *r);
int64_t vy_binary_get_signed(vy_binary_reader *r);
uint32_t vy_binary_get_u32(vy_binary_reader *r);
uint64_t vy_binary_get_max(vy_binary_reader *r, uint64_t max);
// A number of elements of at least `least` bytes each.
uint32_t vy_binary_get_count(vy_binary_reader *r, uint32_t least);
// The bytes of a string; *n: its length.
const char *vy_binary_get_bytes(vy_binary_reader *r, uint32_t *n);
const char *vy_binary_get_string(vy_binary_reader *r);
// A name that can be written as text.
const char *vy_binary_get_name(vy_binary_reader *r);
vy_program *vy_binary_get_declarations(
    vy_binary_reader *r); // a program without code; NULL: an error
void vy_binary_get_pipeline(vy_binary_reader *r);

// The digest of a block whose header is complete but for the digest.
void vy_binary_digest(const uint8_t *block, size_t size, uint8_t digest[32]);

#endif
