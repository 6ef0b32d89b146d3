// SPDX-License-Identifier: MIT
// nest_memo.h: iteration domains and access relations that isl has computed once.
//
//   for j in 0..M { … w[j] … }   for j in 0..M { … w[j] … }
//   { [i, j] : 0 <= i < N and 0 <= j < M }, once
//
// Unrolled code and programs of many similar loops have hundreds of places of one shape.  The key
// of a domain is what it is made from: of each construct around the place its kind, its operands
// and its name.  An operand that depends on a loop's counter can only be that of a chain with this
// very loop at this very depth, so equal keys mean equal sets.  Parameters that were given bounds
// since make the context another one, and with it the domain.
#ifndef VYRE_NEST_MEMO_H
#define VYRE_NEST_MEMO_H

#include "autodiff/affine/access.h"

// A domain with all that vy_nest_make finds, and relations of accesses under it.
typedef struct vy_known_nest vy_known_nest;

// The words of a key, in the arena of n->a.
typedef struct vy_nest_key {
    uint32_t *words;
    uint32_t count;
} vy_nest_key;
// Of the chain of `count` openers around the place of the nest, of which at most `levels` loops are
// dimensions.  NULL words: memory, and n->a has failed.
vy_nest_key vy_nest_key_of(vy_nest *n, const uint32_t *opener, uint32_t count, uint32_t levels);
// Fills in what is known of a nest with this key.  False: nothing is.
bool vy_nest_recall(vy_nest *n, vy_nest_key key, const uint32_t *opener, uint32_t count);
// Nothing is remembered of what isl gave up.  Out of memory: n->a has failed.
void vy_nest_remember(vy_nest *n, vy_nest_key key, const uint32_t *opener, uint32_t count);
// Is the domain of the nest known to lie in the context of now?
bool vy_access_in_context(const vy_affine_access *x);
// The relation of an access whose nest, axes and index are the same; NULL: none is known.
isl_map *vy_access_recall(const vy_affine_access *x, uint32_t axes);
void vy_access_remember(const vy_affine_access *x, uint32_t axes, isl_map *map); // keeps `map`
void vy_nest_memo_free(vy_affine *a);

#endif
