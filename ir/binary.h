// SPDX-License-Identifier: MIT
// binary.h: layout of the binary form; binary_write.c writes it, binary_read.c reads it.
//
//   0   8  magic "\x89VYRE\r\n\x1a": no text file, and damaged by any transfer that is not binary
//   8   4  version, little endian
//   12  4  what the table of operations was: the low bits of its digest
//   16  8  size of the payload
//   24 32  SHA-256 of (SHA-256 of the payload, bytes 8 … 23)
//   56     payload
//
// Payload: numbers as LEB128, signed ones in zigzag, strings as length and bytes, in this order:
//   order, file; names (debug names, by first use); programs:
//     name, line, workgroup ×3, written by the user?
//     scalars (name, type, line)   dimensions (op, value | a, b)
//     buffers (name, class, type, rank, dims, set, binding, view, workspace, init, from, line)
//     over-variables (name, extent)   leaves, by first use (kind, type, index, axis | bits)
//     instructions (op, type, flags, line delta, column, name, aux, operands)
//   An operand is 2·leaf+1 or 2·(distance back to the instruction).
#ifndef VYRE_BINARY_H
#define VYRE_BINARY_H

#include "ir.h"

#define VY_BINARY_VERSION 1u
enum { VY_BINARY_HEADER = 56, VY_BINARY_DIGEST = 24 };
extern const uint8_t vy_binary_magic[8];

uint32_t vy_binary_table_id(void);
// Digest of a block with its header in place.
void vy_binary_digest(const uint8_t *block, size_t size, uint8_t digest[32]);

#endif
