// SPDX-License-Identifier: MIT
// text_roles.c: roles of the parameters of a derivative that is a text.
//
// A derivative made here has them (vy_derivative_role).  A text, written by hand or printed and
// parsed again, does not.  There the names of docs/language.md 9.1 decide, grad_x, ct2_x, dot_x,
// and nowhere else.
#include "autodiff/transform.h"

#include <string.h>

const char *vy_text_base(const char *name)
{
    static const char *const prefixes[] = {"grad", "ct", "dot"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        const size_t n = strlen(prefixes[i]);
        if (strncmp(name, prefixes[i], n) != 0) continue;
        const char *rest = name + n + strspn(name + n, "0123456789");
        if (*rest == '_' && rest[1]) return rest + 1;
    }
    return NULL;
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
        if (strncmp(info.name, "dot", 3) == 0)
            role.kind = info.cls == VY_OUT ? VY_IS_TANGENT_OUT : VY_IS_TANGENT;
        else
            role.kind = info.cls == VY_IN ? VY_IS_COTANGENT
                        : of.id           ? VY_IS_GRADIENT
                                          : VY_IS_SCALAR_GRADIENT;
        role.of = role.root = base;
    }
    if (of.id) role.of = role.root = vy_program_buffer(source, of).name;
    role.parameter = role.root_parameter = of.id;
    for (uint32_t i = 0; !of.id && i < vy_program_scalar_count(source); i++)
        if (strcmp(vy_program_scalar(source, i).name, role.of) == 0)
            return role.parameter = i, role;
    if (!of.id) role.kind = VY_IS_PARAMETER;
    return role;
}
