// SPDX-License-Identifier: MIT
// failing.h: which allocations fail one after another, in tests that let each one fail.
#ifndef VYRE_TEST_FAILING_H
#define VYRE_TEST_FAILING_H

#include <stdlib.h>

static long number_in(const char *name, long otherwise)
{
    const char *given = getenv(name);
    return given && atol(given) > 0 ? atol(given) : otherwise;
}

// The one after `n`: all of the first 300, then ever fewer, so that time does not grow with the
// square of their number.  Of the later ones only every VYRE_SHAREth fails, beginning with one that
// VYRE_FRESH_SEED chooses.
static inline long next_failing(long n)
{
    const long share = number_in("VYRE_SHARE", 1);
    if (n < 300) return n + 1;
    const long first = n == 300 ? number_in("VYRE_FRESH_SEED", 0) % share : 0;
    return n + share * (1 + n / 200) - first;
}

#endif
