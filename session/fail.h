// SPDX-License-Identifier: MIT
// fail.h: errors of the session layer as values.
#ifndef VYRE_SESSION_FAIL_H
#define VYRE_SESSION_FAIL_H

#include "ir/vyre.h"

#include <stdarg.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef VYS_API
#if defined(_WIN32) && defined(VY_BUILD)
#define VYS_API __declspec(dllexport)
#elif defined(_WIN32) && !defined(VY_STATIC)
#define VYS_API __declspec(dllimport)
#elif defined(_WIN32)
#define VYS_API
#else
#define VYS_API __attribute__((visibility("default")))
#endif
#endif
// Compilers that can compare a format with its arguments do.
#if defined(__GNUC__)
#define VYS_FORMAT(at, first) __attribute__((format(printf, at, first)))
#else
#define VYS_FORMAT(at, first)
#endif

typedef enum vys_code {
#define X(id, code, blame, fix) VYS_##id,
#include "session/codes.h"
#undef X
} vys_code;

// Fills *d, unless it holds an error already (the first one sticks), and returns false.  `fix`
// NULL: the code's own.
VYS_API bool vys_fail(vy_diag *d, vys_code code, const char *fix, const char *format, ...)
    VYS_FORMAT(4, 5);
VYS_API bool vys_fail_memory(vy_diag *d);
VYS_API bool vys_diag_is(const vy_diag *d, vys_code code);
// The same for codes of another table.
VYS_API bool vys_fail_as(vy_diag *d, const char *code, vy_blame blame, const char *fix,
                         const char *format, va_list args) VYS_FORMAT(5, 0);

#ifdef __cplusplus
}
#endif
#endif
