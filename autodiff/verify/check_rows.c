// SPDX-License-Identifier: MIT
// check_rows.c: the result of a check, as data.
#include "autodiff/verify/check_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *vy_check_test_name(vy_check_test test)
{
    static const char *const names[VY_CHECK_TESTS] = {
        [VY_CHECK_DIFFERENCES] = "differences",
        [VY_CHECK_DIRECTION] = "direction",
        [VY_CHECK_PRIMAL] = "primal",
        [VY_CHECK_POISON] = "poison",
        [VY_CHECK_TWICE] = "twice",
        [VY_CHECK_INPUTS] = "inputs",
        [VY_CHECK_RACES] = "races",
        [VY_CHECK_DEVICE] = "device",
        [VY_CHECK_DEVICE_TWICE] = "device twice",
        [VY_CHECK_TANGENTS] = "tangents",
        [VY_CHECK_PROGRAM] = "program",
        [VY_CHECK_DEVICE_FORWARD] = "device outputs",
        [VY_CHECK_RANGE] = "range",
        [VY_CHECK_FORWARD] = "forward",
        [VY_CHECK_STAND_IN] = "stand-in",
    };
    return test < VY_CHECK_TESTS ? names[test] : "";
}

vy_check_row *vy_check_row_add(vy_check_result *r, vy_check_test test, const char *buffer)
{
    if (r->count == r->capacity &&
        !vy_vec_grow(&r->rows, &r->capacity, r->count + 1, sizeof *r->rows))
        return NULL;
    vy_check_row *row = &r->rows[r->count++];
    *row = (vy_check_row){.test = test, .buffer = buffer, .floor = 1};
    return row;
}

void vy_check_row_note(vy_check_row *row, uint64_t index, double got, double expected)
{
    // Equal infinities agree, and so do NaNs; any other value that is not finite has error ∞.
    double error = fabs(got - expected) / fmax(row->floor, fmax(fabs(got), fabs(expected)));
    if (got == expected || (isnan(got) && isnan(expected))) error = 0;
    if (isnan(error)) error = INFINITY;
    row->compared++;
    row->failed += error > row->tolerance;
    if (row->has_worst && error <= row->error) return;
    row->has_worst = true;
    row->worst = index;
    row->got = got;
    row->expected = expected;
    row->error = error;
}

bool vy_check_row_kink(vy_check_row *row, uint64_t index)
{
    // The list's capacity is the next power of two.
    if ((row->kinks & (row->kinks - 1)) == 0) {
        const uint64_t room = row->kinks ? 2 * row->kinks : 1;
        if (room > SIZE_MAX / sizeof *row->kink_at) return false;
        uint64_t *more = vy_realloc(row->kink_at, (size_t)room * sizeof *more);
        if (!more) return false;
        row->kink_at = more;
    }
    row->kink_at[row->kinks++] = index;
    return true;
}

void vy_check_row_close(vy_check_result *r, vy_check_row *row)
{
    // What could not be compared at all has neither passed nor failed.  At kinks there is nothing
    // to verify.
    const bool nothing = row->elements && !row->compared && !row->kinks;
    row->verdict = row->failed ? VY_CHECK_FAILED : nothing ? VY_CHECK_SKIPPED : VY_CHECK_PASSED;
    if (nothing && !*row->note) snprintf(row->note, sizeof row->note, "nothing could be compared");
    if (row->verdict == VY_CHECK_FAILED) r->passed = false;
}

double vy_check_floor_of(vy_type type, uint64_t count, const void *data, double size)
{
    double most = isfinite(size) ? size : 1;
    for (uint64_t e = 0; e < count && vy_type_is_float(type); e++) {
        const double v = vy_scalar_read(type, (const char *)data + e * vy_type_size(type)).f;
        if (isfinite(v)) most = fmax(most, fabs(v));
    }
    return most > 0 && most < 1 ? most : 1;
}

vy_check_row *vy_check_compare(vy_check_result *r, vy_check_test test, const char *buffer,
                               vy_type type, uint64_t count, const void *got, const void *expected,
                               double tolerance)
{
    return vy_check_compare_to(r, test, buffer, type, count, got, expected, tolerance, 1);
}

vy_check_row *vy_check_compare_to(vy_check_result *r, vy_check_test test, const char *buffer,
                                  vy_type type, uint64_t count, const void *got,
                                  const void *expected, double tolerance, double floor)
{
    vy_check_row *row = vy_check_row_add(r, test, buffer);
    if (!row) return NULL;
    const uint32_t size = vy_type_size(type);
    row->elements = count;
    row->tolerance = tolerance;
    row->floor = floor;
    for (uint64_t e = 0; e < count; e++) {
        const vy_scalar a = vy_scalar_read(type, (const char *)got + e * size);
        const vy_scalar b = vy_scalar_read(type, (const char *)expected + e * size);
        const bool same = vy_scalar_same(type, a, b);
        double x = a.f, y = b.f;
        if (!vy_type_is_float(type)) {
            x = vy_type_is_signed(type) ? (double)a.i : (double)a.u;
            y = vy_type_is_signed(type) ? (double)b.i : (double)b.u;
        }
        const uint64_t failed = row->failed;
        if (tolerance > 0 && !isfinite(y)) {
            row->unsure++;
            continue;
        }
        vy_check_row_note(row, e, x, same ? x : y);
        if (!same && tolerance == 0 && row->failed == failed) row->failed++; // 0 and −0, say
    }
    vy_check_row_close(r, row);
    return row;
}

vy_check_row *vy_check_skip(vy_check_result *r, vy_check_test test, const char *buffer,
                            const char *why)
{
    vy_check_row *row = vy_check_row_add(r, test, buffer);
    if (!row) return NULL;
    row->verdict = VY_CHECK_SKIPPED;
    snprintf(row->note, sizeof row->note, "%s", why);
    return row;
}

void vy_check_free(vy_check_result *r)
{
    if (!r) return;
    for (uint32_t i = 0; i < r->count; i++) vy_free(r->rows[i].kink_at);
    vy_free(r->rows);
    vy_free(r);
}

void vy_check_note(const check *c, vy_check_row *row, const vy_diag *d)
{
    const vy_module *m = vy_check_parameters(c->q->primal)->module;
    const vy_file_place at = vy_module_place(m, d->line);
    const bool imported = at.file != m->file;
    snprintf(row->note, sizeof row->note, "%.60s%s%u:%u: %.*s", imported ? at.file : "",
             imported ? ":" : "", at.line, d->column, imported ? 110 : 180, d->text);
}
