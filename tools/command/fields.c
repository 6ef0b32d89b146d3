// SPDX-License-Identifier: MIT
// fields.c: `--wrt p` of a buffer of structs names all its fields that can have a gradient.
//
// Such a buffer is several, `p.pos` and `p.mass` (docs/language.md 2.4); each may be named alone.
#include "tools/command/command.h"

#include "autodiff/grad.h"
#include "tools/command/bind.h"

#include <string.h>

typedef bool fits(const vy_program *p, vy_buffer b);

static bool is_field(const char *of, const char *name)
{
    const size_t n = strlen(of);
    return strncmp(name, of, n) == 0 && name[n] == '.';
}

static bool add_fields(names *all, const vy_program *p, const char *name, fits *fit)
{
    bool ok = true;
    for (uint32_t i = 1; ok && i <= vy_program_buffer_count(p); i++) {
        const char *field = vy_program_buffer(p, (vy_buffer){i}).name;
        if (is_field(name, field) && fit(p, (vy_buffer){i})) ok = names_add(all, field);
    }
    return ok;
}

static bool expand(names *list, const vy_program *p, fits *fit, vy_diag *d)
{
    names all = {0};
    bool ok = true;
    for (uint32_t i = 0; ok && i < list->count; i++) {
        const uint32_t before = all.count;
        const char *name = list->data[i];
        if (!vy_program_find_buffer(p, name).id) ok = add_fields(&all, p, name, fit);
        if (ok && all.count == before) ok = names_add(&all, name); // others are reported later
    }
    names_free(list);
    *list = all;
    return ok || fail_memory(d);
}

bool name_fields(command *c, vy_diag *d)
{
    vys_entry what;
    vy_diag none = {0};
    if (!c->o.of.count && !c->o.wrt.count && !c->o.params.count) return true;
    if (!vys_entry_find(c->module, c->o.program, &option_words, &what, &none))
        return true; // reported where it is needed
    return expand(&c->o.of, what.program, vy_grad_default_of, d) &&
           expand(&c->o.wrt, what.program, vy_grad_default_wrt, d) &&
           expand(&c->o.params, what.program, vy_grad_default_wrt, d);
}
