// SPDX-License-Identifier: MIT
// text_roles.c: names of the parameters of derivatives, and roles by them for texts.
//
// A derivative made here has roles (vy_derivative_role).  A text, written by hand or printed and
// parsed again, does not.  There the names of docs/language.md 9.1 decide, grad_x, ct2_x, dot_x,
// and nowhere else.
#include "autodiff/driver/observed.h"
#include "autodiff/transform.h"

#include <stdio.h>
#include <string.h>

enum { GRAD, CT, DOT, PREFIXES };
static const char *const prefixes[PREFIXES] = {[GRAD] = "grad", [CT] = "ct", [DOT] = "dot"};

// The x of name = PREFIX_x and PREFIXn_x, or NULL.
static const char *after_prefix(const char *name, const char *prefix)
{
    const size_t n = strlen(prefix);
    if (strncmp(name, prefix, n) != 0) return NULL;
    const char *rest = name + n + strspn(name + n, "0123456789");
    return *rest == '_' && rest[1] ? rest + 1 : NULL;
}

const char *vy_text_base(const char *name)
{
    const char *base = NULL;
    for (int k = 0; k < PREFIXES && !base; k++) base = after_prefix(name, prefixes[k]);
    return base;
}

bool vy_text_is_taken(const vy_program *p, const char *of, uint32_t n)
{
    for (int k = 0; k < PREFIXES; k++) {
        char text[400], number[16] = "";
        if (n > 1) snprintf(number, sizeof number, "%u", n);
        const int length = snprintf(text, sizeof text, "%s%s_%s", prefixes[k], number, of);
        if (length < 0 || (size_t)length >= sizeof text) continue; // too long: refused later
        if (vy_program_find_buffer(p, text).id || vy_program_find_scalar(p, text) != UINT32_MAX)
            return true;
    }
    return false;
}

void vy_text_gradients(vy_program *p)
{
    for (uint32_t i = 1; p->order && i < p->buffers.count; i++) {
        vy_buf *b = &p->buffers.data[i];
        const bool result = b->cls == VY_OUT || b->cls == VY_INOUT;
        const char *of = result && !b->workspace ? after_prefix(b->name, prefixes[GRAD]) : NULL;
        if (!of || b->role.kind != VY_IS_PARAMETER) continue;
        b->role = (vy_derivative_role){.kind = VY_IS_GRADIENT, .of = of};
    }
}

vy_derivative_role vy_role_of(const vy_program *derived, vy_buffer b, const vy_program *source)
{
    const vy_buffer_info info = vy_program_buffer(derived, b);
    vy_derivative_role role = info.role;
    if (role.kind != VY_IS_PARAMETER || !info.name || info.workspace) return role;
    vy_buffer of = vy_program_find_buffer(source, info.name);
    role.kind = info.cls == VY_OUT ? VY_IS_VALUE : VY_IS_PRIMAL;
    if (!of.id) {
        const char *base = vy_text_base(info.name);
        if (!base) return role.kind = VY_IS_PARAMETER, role;
        of = vy_program_find_buffer(source, base);
        if (after_prefix(info.name, prefixes[DOT]))
            role.kind = info.cls == VY_OUT ? VY_IS_TANGENT_OUT
                        : of.id            ? VY_IS_TANGENT
                                           : VY_IS_SCALAR_TANGENT;
        else
            role.kind = info.cls == VY_IN ? VY_IS_COTANGENT
                        : of.id           ? VY_IS_GRADIENT
                                          : VY_IS_SCALAR_GRADIENT;
        role.of = role.root = base;
    }
    if (of.id) role.of = role.root = vy_program_buffer(source, of).name;
    role.parameter = role.root_parameter = of.id;
    role.root_kind = role.kind;
    for (uint32_t i = 0; !of.id && i < vy_program_scalar_count(source); i++)
        if (strcmp(vy_program_scalar(source, i).name, role.of) == 0)
            return role.parameter = i, role;
    if (!of.id) role.kind = role.root_kind = VY_IS_PARAMETER;
    return role;
}
