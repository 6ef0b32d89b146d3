// SPDX-License-Identifier: MIT
// gather_programs.c: which additions are gathered by one program, and what it is called.
//
// Those to one buffer whose elements are named by the same axes, one walk after the other; and
// those to other buffers if all happen at the same points (classes of sites, gather_find.c): in
//
//   atomic_add(ga[i], x);  atomic_add(gb[i], y);      over(i: N, j: M)
//
// both are sums over j, so one program computes x and y once.  A program that comes after others
// which add to its buffers adds to what they leave.
#include "autodiff/gather/gather_build.h"

#include "autodiff/stages/stages.h"

#include <stdio.h>
#include <string.h>

// Elements of one buffer, named by the same axes?
static bool same_elements(const gather *g, const gather_site *x, const gather_site *y)
{
    return x->access.buffer == y->access.buffer && x->axes == y->axes && x->single == y->single &&
           x->access.flat == y->access.flat && gather_same_extents(g, x, y);
}

// Moves the sites of program `from` to program `to` if each of them finds one there that is added
// at the same points.
static bool fuse(gather *g, uint32_t to, uint32_t from)
{
    if (g->programs[to].adds != g->programs[from].adds) return false;
    for (uint32_t w = 0; w <= g->class_count / 64; w++)
        if (g->programs[from].points[w] & ~g->programs[to].points[w]) return false;
    for (uint32_t k = 0; k < g->site_count; k++)
        if (g->sites[k].program == from + 1) g->sites[k].program = to + 1;
    g->programs[from].sites = 0;
    return true;
}

// Is the buffer also added to before program k?
static bool is_begun(const gather *g, uint32_t k)
{
    uint32_t buffer = g->sites[g->programs[k].first].access.buffer;
    if (g->r->buffers.data[buffer].cls == VY_INOUT) return true;
    for (uint32_t j = 0; j < g->site_count; j++)
        if (g->sites[j].access.buffer == buffer &&
            (!g->sites[j].gathered || g->sites[j].program < k + 1))
            return true;
    return false;
}

bool gather_has_name(const gather *g, const gather_program *q, const char *name)
{
    for (uint32_t k = 0; k < g->program_count; k++) {
        const gather_program *other = &g->programs[k];
        if (other != q && other->name && strcmp(other->name, name) == 0) return true;
        if (other->tree && strcmp(other->tree, name) == 0) return true;
        if (other->partial && strcmp(other->partial, name) == 0) return true;
    }
    return false;
}

static bool name_program(gather *g, gather_program *q, uint32_t number)
{
    char text[90] = "gather";
    size_t n = strlen(text);
    uint32_t last = 0;
    for (uint32_t k = 0; k < g->site_count; k++) {
        const vy_buf *b = &g->r->buffers.data[g->sites[k].access.buffer];
        if (g->sites[k].program != number || g->sites[k].access.buffer == last) continue;
        last = g->sites[k].access.buffer;
        const char *of = b->role.kind == VY_IS_GRADIENT ? b->role.of : b->name;
        if (n < 60) n += (size_t)snprintf(text + n, sizeof text - n, "_%.20s", of);
    }
    q->name = vy_stage_name(g->m, g->r, text);
    for (uint32_t k = 2; q->name && gather_has_name(g, q, q->name); k++) {
        snprintf(text + n, sizeof text - n, "_%u", k);
        q->name = vy_stage_name(g->m, g->r, text);
    }
    return q->name != NULL;
}

bool gather_make_programs(gather *g)
{
    const size_t words = g->class_count / 64 + 1;
    memset(g->points, 0, g->site_count * words * sizeof *g->points);
    g->program_count = 0;
    for (uint32_t k = 0; k < g->site_count; k++) g->sites[k].program = 0;
    for (uint32_t k = 0; k < g->site_count; k++) {
        gather_site *site = &g->sites[k];
        if (!site->gathered) continue;
        for (uint32_t j = 0; j < k && !site->program; j++)
            if (g->sites[j].program && same_elements(g, &g->sites[j], site))
                site->program = g->sites[j].program;
        if (!site->program) {
            uint64_t *points = g->points + g->program_count * words;
            g->programs[g->program_count++] = (gather_program){.first = k, .points = points};
            site->program = g->program_count;
        }
        g->programs[site->program - 1].sites++;
        g->programs[site->program - 1].points[site->points / 64] |= UINT64_C(1)
                                                                    << site->points % 64;
    }
    for (uint32_t k = 0; k < g->program_count; k++) g->programs[k].adds = is_begun(g, k);
    for (uint32_t k = 0; k < g->program_count; k++)
        for (uint32_t j = 0; j < g->program_count; j++)
            if (j != k && g->programs[j].sites && g->programs[k].sites && fuse(g, j, k)) break;
    for (uint32_t k = 0; k < g->program_count; k++) {
        if (!g->programs[k].sites) continue;
        for (uint32_t j = 0; j < g->site_count; j++)
            g->programs[k].small |= g->sites[j].program == k + 1 && g->sites[j].small;
        if (!name_program(g, &g->programs[k], k + 1)) return false;
    }
    return true;
}
