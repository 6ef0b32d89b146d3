// SPDX-License-Identifier: MIT
// take.c: structs of options of callers, with the codes of the session layer.
#include "session/internal.h"

#include "session/fail.h"

bool vys_take(void *to, size_t known, const void *from, const char *what, vy_diag *d)
{
    vy_diag wrong = {0};
    if (d->severity == VY_ERROR) return false;
    return vy_take_options(to, known, known, from, what, &wrong) ||
           vys_fail(d, VYS_USAGE, wrong.fix, "%s", wrong.text);
}
