// SPDX-License-Identifier: MIT
// names.c: buffers and scalars of a program by name.
//
// Each of the two tables has a hash index, made by the first search of a table that is not small,
// and published atomically: several threads may search a program that is not being changed.  Code
// that appends to a table reports it (vy_names_added) and the index grows with it; code that
// renames, removes or renumbers entries drops it (vy_names_drop).  An index that does not cover the
// entire table is not used, and without an index (memory may be out) the table is scanned: an index
// decides how long a search takes, never what it finds.  Of equal names the first is found; local
// arrays are not found by name.
#include "ir/core/ir.h"

#include <string.h>

enum { BUFFERS, SCALARS };
enum { SMALL = 32 }; // entries: a table up to this size is scanned faster than hashed

struct vy_names {
    uint32_t covered;    // entries of the table that are in the index
    uint32_t used, size; // size: of slots, a power of two
    uint32_t slots[];    // place in the table + 1; 0: free
};

static uint32_t count_of(const vy_program *p, int table)
{
    return table == BUFFERS ? p->buffers.count : p->scalars.count;
}

// NULL: the entry has no name that is searched for.
static const char *name_at(const vy_program *p, int table, uint32_t i)
{
    if (table == SCALARS) return p->scalars.data[i].name;
    return i && p->buffers.data[i].cls != VY_LOCAL ? p->buffers.data[i].name : NULL;
}

static uint32_t hash_of(const char *name)
{
    uint32_t h = 2166136261u;
    for (; *name; name++) h = (h ^ (unsigned char)*name) * 16777619u;
    return h;
}

static uint32_t *slot_of(vy_names *n, const vy_program *p, int table, const char *name)
{
    uint32_t slot = hash_of(name) & (n->size - 1);
    while (n->slots[slot] && strcmp(name_at(p, table, n->slots[slot] - 1), name) != 0)
        slot = (slot + 1) & (n->size - 1);
    return &n->slots[slot];
}

// Enters the entries from n->covered on; false: more room is needed, or entries were removed.
static bool cover(vy_names *n, const vy_program *p, int table)
{
    if (n->covered > count_of(p, table)) return false;
    for (; n->covered < count_of(p, table); n->covered++) {
        const char *name = name_at(p, table, n->covered);
        if (!name) continue;
        if (n->used * 2 >= n->size) return false;
        uint32_t *slot = slot_of(n, p, table, name);
        if (*slot) continue;
        *slot = n->covered + 1;
        n->used++;
    }
    return true;
}

static vy_names *make(const vy_program *p, int table)
{
    const uint64_t count = count_of(p, table);
    uint64_t size = 4 * SMALL;
    while (size < 4 * count) size *= 2; // room for the table to double in size
    if (size > UINT32_MAX) return NULL;
    vy_names *n = vy_realloc(NULL, sizeof *n + (size_t)size * sizeof *n->slots);
    if (!n) return NULL;
    *n = (vy_names){.size = (uint32_t)size};
    memset(n->slots, 0, (size_t)size * sizeof *n->slots);
    cover(n, p, table);
    return n;
}

static vy_names *index_of(const vy_program *p, int table)
{
    vy_names **at = (vy_names **)&p->by_name[table]; // programs are never constant objects
    vy_names *have = __atomic_load_n(at, __ATOMIC_ACQUIRE);
    if (have) return have;
    vy_names *fresh = make(p, table);
    if (!fresh ||
        __atomic_compare_exchange_n(at, &have, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return fresh;
    vy_free(fresh); // another thread was faster
    return have;
}

// UINT32_MAX: none.
static uint32_t index_called(const vy_program *p, int table, const char *name)
{
    const uint32_t count = count_of(p, table);
    vy_names *n = count > SMALL ? index_of(p, table) : NULL;
    if (n && n->covered == count) return *slot_of(n, p, table, name) - 1;
    for (uint32_t i = 0; i < count; i++) {
        const char *own = name_at(p, table, i);
        if (own && strcmp(own, name) == 0) return i;
    }
    return UINT32_MAX;
}

vy_buffer vy_program_find_buffer(const vy_program *p, const char *name)
{
    const uint32_t id = index_called(p, BUFFERS, name);
    return (vy_buffer){id == UINT32_MAX ? 0 : id};
}

uint32_t vy_program_find_scalar(const vy_program *p, const char *name)
{
    return index_called(p, SCALARS, name);
}

void vy_names_added(vy_program *p)
{
    for (int table = BUFFERS; table <= SCALARS; table++) {
        vy_names *n = p->by_name[table];
        if (!n || cover(n, p, table)) continue;
        vy_free(n); // the next search makes a larger one
        p->by_name[table] = NULL;
    }
}

void vy_names_drop(vy_program *p)
{
    for (int table = BUFFERS; table <= SCALARS; table++) {
        vy_free(p->by_name[table]);
        p->by_name[table] = NULL;
    }
}
