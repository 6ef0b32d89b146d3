// SPDX-License-Identifier: MIT
// fields.c: see fields.h.
#include "autodiff/driver/fields.h"

#include "autodiff/driver/observed.h"
#include "ir/core/ir.h"
#include "ir/core/mem.h"

#include <string.h>

typedef bool fits(const vy_program *p, vy_buffer b);

static bool is_field(const char *of, const char *name)
{
    const size_t n = strlen(of);
    return strncmp(name, of, n) == 0 && name[n] == '.';
}

// Appends to all[count], if that is wanted, the fields of `name`, or else the name itself: what is
// wrong with it is said later.  Returns how many there are then.
static uint32_t add(const char **all, uint32_t count, const vy_program *p, const char *name,
                    fits *fit)
{
    const uint32_t before = count;
    if (!vy_program_find_buffer(p, name).id)
        for (uint32_t i = 1; i < p->buffers.count; i++) {
            const char *field = p->buffers.data[i].name;
            if (!is_field(name, field) || !fit(p, (vy_buffer){i})) continue;
            if (all) all[count] = field;
            count++;
        }
    if (count > before) return count;
    if (all) all[count] = name;
    return count + 1;
}

static const char **expand(const vy_program *p, const char *const *names, uint32_t *count,
                           fits *fit)
{
    uint32_t room = 0, n = 0;
    for (uint32_t k = 0; k < *count; k++) room = add(NULL, room, p, names[k], fit);
    const char **all = vy_realloc(NULL, ((size_t)room + 1) * sizeof *all);
    for (uint32_t k = 0; all && k < *count; k++) n = add(all, n, p, names[k], fit);
    *count = n;
    return all;
}

// The program, or the signature of the pipeline, that the request is about; NULL: an error that is
// found later.
static const vy_program *asked(const vy_module *m, const char *name)
{
    vy_diag ignored = {0};
    const vy_program *p = name ? vy_module_find(m, name) : NULL;
    const vy_pipeline *l = name && !p ? vy_module_find_pipeline(m, name) : NULL;
    if (p || l) return p ? p : l->signature;
    return name ? NULL : vy_choose_program(m, name, &ignored);
}

bool vy_fields_name(vy_named_fields *f, const vy_module *m, const vy_grad_options *o, vy_diag *diag)
{
    const vy_program *p = vy_module_ok(m) ? asked(m, o->program) : NULL;
    *f = (vy_named_fields){.o = *o};
    if (!p) return true;
    if (o->of) f->o.of = f->of = expand(p, o->of, &f->o.of_count, vy_grad_default_of);
    if (o->wrt) f->o.wrt = f->wrt = expand(p, o->wrt, &f->o.wrt_count, vy_grad_default_wrt);
    if (!o->of == !f->of && !o->wrt == !f->wrt) return true;
    vy_fields_free(f);
    vy_diag_set(diag, VY_E_MEMORY, 0, 0, NULL, "out of memory");
    return false;
}

void vy_fields_free(vy_named_fields *f)
{
    vy_free(f->of);
    vy_free(f->wrt);
}
