// SPDX-License-Identifier: MIT
// gather_slice.h: sets of instructions, a bit each.
//
// Each place that is gathered has its slice of the program, and costs are added up over the slices
// of all places, again after each change.  A slice is mostly a small part of a large program, so 64
// instructions that are not in it are passed over at once.
#ifndef VYRE_GATHER_SLICE_H
#define VYRE_GATHER_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// Words of a set of `all` instructions.
static inline uint32_t gather_slice_words(uint32_t all) { return all / 64 + 1; }

static inline void gather_slice_clear(uint64_t *set, uint32_t all)
{
    memset(set, 0, gather_slice_words(all) * sizeof *set);
}

static inline bool gather_slice_has(const uint64_t *set, uint32_t id)
{
    return set[id / 64] >> id % 64 & 1;
}

static inline void gather_slice_add(uint64_t *set, uint32_t id)
{
    set[id / 64] |= UINT64_C(1) << id % 64;
}

// The least member after `id` that is not in `but` (NULL: which is empty); `all`: there is none.
static inline uint32_t gather_slice_next(const uint64_t *set, const uint64_t *but, uint32_t id,
                                         uint32_t all)
{
    id++;
    for (uint64_t from = UINT64_MAX << id % 64; id < all; id = id / 64 * 64 + 64) {
        const uint64_t left = set[id / 64] & from & (but ? ~but[id / 64] : UINT64_MAX);
        if (left) return id / 64 * 64 + (uint32_t)__builtin_ctzll(left);
        from = UINT64_MAX;
    }
    return all;
}

static inline uint32_t gather_slice_after(const uint64_t *set, uint32_t id, uint32_t all)
{
    return gather_slice_next(set, NULL, id, all);
}

// Adds all members of `more`, and says how many were not there.
static inline uint32_t gather_slice_join(uint64_t *set, const uint64_t *more, uint32_t all)
{
    uint32_t n = 0;
    for (uint32_t w = 0; w < gather_slice_words(all); w++) {
        n += (uint32_t)__builtin_popcountll(more[w] & ~set[w]);
        set[w] |= more[w];
    }
    return n;
}

#endif
