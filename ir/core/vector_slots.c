// SPDX-License-Identifier: MIT
// vector_slots.c: see vector_slots.h.
#include "ir/core/vector_slots.h"

#include <string.h>

enum { LONGEST_NAME = 70 };

// adj_x and dot_y are what derivatives call those of x and y.
static bool is_of_derivative(const char *name, size_t length)
{
    return length == 3 && (memcmp(name, "adj", 3) == 0 || memcmp(name, "dot", 3) == 0);
}

size_t vy_component_stem(const char *name, uint32_t k)
{
    const size_t n = strlen(name);
    const bool fits = n > 2 && n <= LONGEST_NAME && k < VY_MOST_COMPONENTS;
    const bool named = fits && name[n - 2] == '_' && name[n - 1] == "xyzw"[k];
    return named && !is_of_derivative(name, n - 2) ? n - 2 : 0;
}

bool vy_has_component_names(const vy_program *p)
{
    for (uint32_t id = 1; id < p->insts.count; id++) {
        const uint32_t name = p->insts.data[id].name;
        if (name && vy_component_stem(vy_string(&p->module->names, name), 0)) return true;
    }
    return false;
}

// That of the result; the carry has it where the passes made the result anew.
static const char *name_of(const vy_program *p, const vy_structure *s, uint32_t opener, uint32_t k)
{
    uint32_t name = p->insts.data[vy_result(p, s, opener, k)].name;
    if (!name && vy_is_loop((vy_op)p->insts.data[opener].op))
        name = p->insts.data[vy_carry(opener, k)].name;
    return vy_string(&p->module->names, name);
}

static bool goes_on(const vy_program *p, const vy_structure *s, uint32_t opener, uint32_t k,
                    uint32_t n)
{
    const uint32_t first = vy_result(p, s, opener, k);
    const char *a = name_of(p, s, opener, k), *b = name_of(p, s, opener, k + n);
    const size_t stem = vy_component_stem(a, 0);
    return vy_component_stem(b, n) == stem && memcmp(a, b, stem) == 0 &&
           p->insts.data[first].type == p->insts.data[first + n].type;
}

uint32_t vy_vector_at_slot(const vy_program *p, const vy_structure *s, uint32_t opener, uint32_t k)
{
    const uint32_t slots = vy_slot_count(p, s, opener);
    const vy_inst *result = &p->insts.data[vy_result(p, s, opener, k)];
    uint32_t n = 1;
    if (!vy_vector_prefix((vy_type)result->type)) return 0;
    if (!vy_component_stem(name_of(p, s, opener, k), 0)) return 0;
    while (n < VY_MOST_COMPONENTS && k + n < slots && goes_on(p, s, opener, k, n)) n++;
    return n > 1 ? n : 0;
}
