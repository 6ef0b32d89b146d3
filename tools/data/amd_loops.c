// SPDX-License-Identifier: MIT
// amd_loops.c: see amd_loops.h.
//
//   BB2:                                     a label
//       buffer_load_dword v4, v3, s[0:3], 0 offen       ; e0301000 80000403
//       v_fmac_f32_e32 v1, v4, v2                       ; 56020504
//       s_cbranch_scc1 BB2                   a branch back: the loop is all from the label to here
//
// Loops nest, so one that begins before another ends ends after it.
#include "tools/data/amd_loops.h"

#include <stdlib.h>
#include <string.h>

typedef struct sums { // of all instructions up to one
    uint32_t multiply_adds, memory;
} sums;

typedef struct loop {
    uint32_t from, to; // its instructions, the last one included
} loop;

typedef struct listing {
    uint32_t count, labels; // instructions; labels: the greatest number of one, + 1
    sums *before;           // by instruction, and at the end
    uint32_t *target;       // by label: 1 + its instruction
    uint32_t *last;         // by instruction: 1 + the last one that branches back to it
} listing;

// ------------------------------------------------------------------------------------------- lines
// The number of a block, `BB12`; −1: something else.
static long block(const char *s)
{
    char *end;
    if (strncmp(s, "BB", 2) || s[2] < '0' || s[2] > '9') return -1;
    const long n = strtol(s + 2, &end, 10);
    return n < 1 << 24 ? n : -1;
}

// The next line without leading spaces, and where it ends; false at the end of the text.
static bool next_line(const char **at, const char **line, const char **end)
{
    if (!**at) return false;
    *line = *at + strspn(*at, " \t");
    *end = *at + strcspn(*at, "\n");
    *at = **end ? *end + 1 : *end;
    return true;
}

static bool is_instruction(const char *line, const char *end)
{
    return line < end && *line >= 'a' && *line <= 'z';
}

static bool begins(const char *s, const char *const *with)
{
    for (; *with; with++)
        if (!strncmp(s, *with, strlen(*with))) return true;
    return false;
}

// One after `::` is the second half of an instruction that does two.
static uint32_t multiply_adds(const char *line, const char *end)
{
    static const char *const names[] = {"v_fma_",       "v_fmac_", "v_fmaak_",     "v_fmamk_",
                                        "v_mad_f",      "v_mac_f", "v_dual_fmac_", "v_dual_fmaak_",
                                        "v_dual_fmamk", NULL};
    static const char *const pairs[] = {"v_pk_fma", "v_dot2", NULL};
    uint32_t n = begins(line, names) + 2u * begins(line, pairs);
    const char *second = strstr(line, ":: ");
    return n + (second && second < end && begins(second + 3, names));
}

static bool is_memory(const char *line)
{
    // What writes back or empties a cache, `buffer_gl0_inv`, is none.
    static const char *const names[] = {"buffer_load",   "buffer_store",  "buffer_atomic",
                                        "tbuffer_",      "global_load",   "global_store",
                                        "global_atomic", "flat_",         "scratch_load",
                                        "scratch_store", "ds_",           "image_",
                                        "s_load",        "s_buffer_load", NULL};
    return begins(line, names);
}

// The block that it branches to; −1: it does not branch.
static long branches_to(const char *line, const char *end)
{
    if (strncmp(line, "s_branch", 8) && strncmp(line, "s_cbranch", 9)) return -1;
    const char *to = strstr(line, " BB");
    return to && to < end ? block(to + 1) : -1;
}

// ----------------------------------------------------------------------------------------- listing
static void measure(listing *l, const char *text)
{
    const char *line, *end;
    for (const char *at = text; next_line(&at, &line, &end);) {
        const long label = block(line);
        if (label >= (long)l->labels) l->labels = (uint32_t)label + 1;
        l->count += label < 0 && is_instruction(line, end);
    }
}

static void read_listing(listing *l, const char *text)
{
    const char *line, *end;
    uint32_t n = 0;
    for (const char *at = text; next_line(&at, &line, &end);) {
        const long label = block(line);
        if (label >= 0) l->target[label] = n + 1;
        if (label >= 0 || !is_instruction(line, end)) continue;
        const long to = branches_to(line, end);
        if (to >= 0 && to < (long)l->labels && l->target[to]) l->last[l->target[to] - 1] = n + 1;
        l->before[n + 1].multiply_adds = l->before[n].multiply_adds + multiply_adds(line, end);
        l->before[n + 1].memory = l->before[n].memory + is_memory(line);
        n++;
    }
}

bool amd_loops(const char *assembly, amd_loop **out, uint32_t *count)
{
    listing l = {0};
    measure(&l, assembly);
    l.before = calloc(l.count + 1u, sizeof *l.before);
    l.target = calloc(l.labels + 1u, sizeof *l.target);
    l.last = calloc(l.count + 1u, sizeof *l.last);
    *out = calloc(l.count + 1u, sizeof **out);
    *count = 0;
    const bool ok = l.before && l.target && l.last && *out;
    if (ok) read_listing(&l, assembly);
    loop now = {0}; // the last one that has begun and contains no other so far; to 0: none
    for (uint32_t i = 0; ok && i <= l.count; i++) {
        const bool opens = i < l.count && l.last[i];
        if (now.to && (i == l.count || i == now.to)) {
            const sums a = l.before[now.from], b = l.before[now.to];
            (*out)[(*count)++] = (amd_loop){now.to - now.from, b.multiply_adds - a.multiply_adds,
                                            b.memory - a.memory};
            now.to = 0;
        }
        if (opens) now = (loop){i, l.last[i]};
    }
    free(l.before);
    free(l.target);
    free(l.last);
    if (!ok) free(*out), *out = NULL;
    return ok;
}
