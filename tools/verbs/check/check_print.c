// SPDX-License-Identifier: MIT
// check_print.c: the result of `check` as a table and as JSON.
#include "tools/verbs/check/check.h"
#include "tools/data/json_out.h"
#include "tools/data/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SHOWN 16 // kinks before `…`

// ------------------------------------------------------------------------------------------- table
// Appends the scalars that were chosen; `lead` precedes the first.
static void scalar_choices(const checking *k, bool integers, const char **lead, text *out)
{
    for (uint32_t i = 0; i < k->start.scalar_count; i++) {
        const bound_scalar *s = &k->start.scalars[i];
        char number[NUMBER_TEXT];
        if (!s->chosen || (integers && !vy_type_is_integer(s->info.type))) continue;
        number_text(s->info.type, s->value, number);
        text_printf(out, "%s --set %s=%s", *lead, s->info.name, number);
        *lead = "";
    }
}

// The length of a `?` buffer, where it is not the usual one.
static void length_choice(const checking *k, const char *name, text *out)
{
    const bound_buffer *b = vys_binding_find(&k->start, name);
    if (b && b->chosen_length && b->value.shape[0] != VYS_CHOSEN_LENGTH)
        text_printf(out, "[%llu]", (unsigned long long)b->value.shape[0]);
}

static void print_choices(const checking *k, text *out)
{
    const char *lead = "chosen:";
    scalar_choices(k, false, &lead, out);
    for (uint32_t i = k->chosen_data; i < k->in.count; i++) {
        text_printf(out, "%s --in %s", lead, k->in.data[i].name);
        length_choice(k, k->in.data[i].name, out);
        text_puts(out, "=");
        spec_text(&k->in.data[i], out);
        lead = "";
    }
    if (!*lead) text_puts(out, "\n");
}

void check_sizes_text(const checking *k, text *out)
{
    const char *lead = "";
    scalar_choices(k, true, &lead, out);
    for (uint32_t i = 0; i < k->start.buffer_count; i++) {
        const bound_buffer *b = &k->start.buffers[i];
        if (!b->chosen_length) continue;
        text_printf(out, " %s", b->info.name);
        length_choice(k, b->info.name, out);
    }
}

void check_advice(const checking *k, text *fix)
{
    const char *lead = "; or give other values than the chosen";
    scalar_choices(k, true, &lead, fix);
    for (uint32_t i = k->chosen_data; i < k->in.count; i++) {
        if (k->in.data[i].kind == SPEC_NORMAL) continue;
        text_printf(fix, "%s --in %s=", lead, k->in.data[i].name);
        spec_text(&k->in.data[i], fix);
        lead = "";
    }
}

enum { COLUMNS = 11, CELL = 48 };
typedef char cell[CELL];

// Rows of one test are in the order of the buffers; next[test] is where the search begins.
static const vy_check_row *find_row(const vy_check_result *r, vy_check_test test,
                                    const char *buffer, uint32_t next[VY_CHECK_TESTS])
{
    bool any = false;
    for (uint32_t i = 0; i < r->count && next[test] <= r->count; i++) {
        const uint32_t at = (next[test] + i) % r->count;
        if (r->rows[at].test != test) continue;
        any |= *r->rows[at].buffer != 0;
        if (strcmp(r->rows[at].buffer, buffer)) continue;
        next[test] = at + 1;
        return &r->rows[at];
    }
    if (!any) next[test] = UINT32_MAX; // no such tests were made
    return NULL;
}

static void real(double value, const char *format, char *out)
{
    if (isnan(value))
        strcpy(out, "nan"); // without its sign
    else
        snprintf(out, CELL, format, value);
}

// An error, or the reason why there is none; `!` marks a failure.
static void error_cell(const vy_check_row *row, char *out)
{
    if (!row || row->verdict == VY_CHECK_SKIPPED || !row->has_worst)
        strcpy(out, row && row->verdict == VY_CHECK_FAILED ? "!" : "-");
    else
        real(row->error, row->verdict == VY_CHECK_FAILED ? "%.1e!" : "%.1e", out);
}

static bool failed(const vy_check_row *row) { return row && row->verdict == VY_CHECK_FAILED; }

// All results of one gradient in a line.
static void gradient_line(const checking *k, const vy_check_row *row, uint32_t next[VY_CHECK_TESTS],
                          cell *out)
{
    const vy_check_result *r = k->result;
    const vy_check_row *direction = find_row(r, VY_CHECK_DIRECTION, row->buffer, next),
                       *tangents = find_row(r, VY_CHECK_TANGENTS, row->buffer, next),
                       *poison = find_row(r, VY_CHECK_POISON, row->buffer, next),
                       *twice = find_row(r, VY_CHECK_TWICE, row->buffer, next),
                       *device = find_row(r, VY_CHECK_DEVICE, row->buffer, next),
                       *second = find_row(r, VY_CHECK_DEVICE_TWICE, row->buffer, next);
    const bool again = failed(poison) || failed(twice);
    snprintf(out[0], CELL, "%.40s", row->buffer);
    snprintf(out[1], CELL, "%llu of %llu", (unsigned long long)row->compared,
             (unsigned long long)row->elements);
    snprintf(out[2], CELL, "%llu", (unsigned long long)row->kinks);
    if (row->has_worst) {
        snprintf(out[3], CELL, "[%llu]", (unsigned long long)row->worst);
        real(row->got, "%.9g", out[4]);
        real(row->expected, "%.9g", out[5]);
    }
    error_cell(row, out[6]);
    error_cell(tangents, out[7]);
    error_cell(direction, out[8]);
    strcpy(out[9], again ? "!" : "same");
    error_cell(device, out[10]);
    if (!device) strcpy(out[10], k->device ? "-" : "no device");
    if (!device && k->device_off) strcpy(out[10], "not run");
    if (failed(second)) strcat(out[10], " twice!");
}

static void print_gradients(const checking *k, text *out)
{
    static const char *const titles[COLUMNS] = {"gradient",  "compared",   "kinks", "worst",
                                                "value",     "difference", "error", "dual",
                                                "direction", "again",      "device"};
    size_t width[COLUMNS];
    cell line[COLUMNS];
    uint32_t next[VY_CHECK_TESTS] = {0};
    for (int pass = 0; pass < 2; pass++) // measure, print
        for (uint32_t i = 0; i <= k->result->count; i++) {
            memset(line, 0, sizeof line);
            if (i == 0)
                for (int n = 0; n < COLUMNS; n++) strcpy(line[n], titles[n]);
            else if (k->result->rows[i - 1].test == VY_CHECK_DIFFERENCES)
                gradient_line(k, &k->result->rows[i - 1], next, line);
            else
                continue;
            for (int n = 0; n < COLUMNS; n++) {
                const size_t size = strlen(line[n]);
                if (!pass && (i == 0 || size > width[n])) width[n] = size;
                const int pad = n + 1 < COLUMNS ? (int)width[n] : 0;
                if (pass) text_printf(out, "%-*s%s", pad, line[n], n + 1 < COLUMNS ? "  " : "\n");
            }
        }
}

// Tests with no column: one line each.
static void print_others(const checking *k, vy_check_test test, const char *what, text *out)
{
    const vy_check_result *r = k->result;
    uint32_t n = 0, bad = 0;
    for (uint32_t i = 0; i < r->count; i++) {
        const vy_check_row *row = &r->rows[i];
        if (row->test != test) continue;
        bad += row->verdict == VY_CHECK_FAILED;
        text_printf(out, "%s%s", n++ ? ", " : what, row->buffer);
    }
    if (n) text_puts(out, bad ? ": FAILED\n" : ": ok\n");
}

static void print_forward(const vy_check_result *r, text *out)
{
    for (uint32_t i = 0; i < r->count; i++)
        if (r->rows[i].test == VY_CHECK_FORWARD && r->rows[i].verdict != VY_CHECK_SKIPPED)
            text_printf(out, "forward mode, ⟨ct, J v⟩ = ⟨Jᵀ ct, v⟩: %s\n",
                        r->rows[i].verdict == VY_CHECK_FAILED ? "FAILED" : "ok");
}

// A failed test in words.
static void print_failure(const vy_check_row *row, text *out)
{
    cell got = "", expected = "", error = "";
    text_printf(out, "FAILED %s%s%s: ", vy_check_test_name(row->test), *row->buffer ? " " : "",
                row->buffer);
    if (!row->failed || !row->has_worst) {
        text_printf(out, "%s\n", row->note);
        return;
    }
    real(row->got, "%.17g", got);
    real(row->expected, "%.17g", expected);
    real(row->error, "%.1e", error);
    text_printf(out, "%llu of %llu elements", (unsigned long long)row->failed,
                (unsigned long long)row->compared);
    text_printf(out, "; worst [%llu]: %s, expected %s, error %s, allowed %.1e\n",
                (unsigned long long)row->worst, got, expected, error, row->tolerance);
}

static void print_unsure(const vy_check_row *row, text *out)
{
    if (row->unsure && row->test == VY_CHECK_DIFFERENCES)
        text_printf(out, "unsure: %llu elements of %s: NaN, or differences too inexact\n",
                    (unsigned long long)row->unsure, row->buffer);
    if (row->unsure && row->test == VY_CHECK_TANGENTS && row->verdict != VY_CHECK_SKIPPED)
        text_printf(out,
                    "unsure: %llu elements of %s: dual numbers give NaN, or vary with rounding\n",
                    (unsigned long long)row->unsure, row->buffer);
    if (row->verdict == VY_CHECK_SKIPPED)
        text_printf(out, "%s%s%s: %s\n", vy_check_test_name(row->test), *row->buffer ? " " : "",
                    row->buffer, row->note);
}

static void print_kinks(const vy_check_row *row, bool all, text *out)
{
    if (!row->kinks) return;
    text_printf(out, "kink: %s", row->buffer);
    for (uint64_t i = 0; i < row->kinks && (all || i < SHOWN); i++)
        text_printf(out, "%s[%llu]", i ? ", " : " ", (unsigned long long)row->kink_at[i]);
    text_puts(out, !all && row->kinks > SHOWN ? ", …\n" : "\n");
}

static void print_nonfinite(const vy_check_nonfinite *n, const vy_module *m, const char *what,
                            text *out)
{
    const vy_file_place at = vy_module_place(m, n->line);
    if (!n->buffer) return;
    text_printf(out, "not finite: %s[%llu] is %s", n->buffer, (unsigned long long)n->index,
                isnan(n->value) ? "nan"
                : n->value > 0  ? "inf"
                                : "-inf");
    if (n->operation && !strcmp(n->operation, "load"))
        text_printf(out, ", from data loaded at %s:%u:%u\n", at.file, at.line, n->column);
    else if (n->operation && n->line)
        text_printf(out, ", first from `%s` in the %s of %s:%u:%u\n", n->operation, what, at.file,
                    at.line, n->column);
    else
        text_puts(out, "\n");
}

static uint32_t count_verdict(const checking *k, vy_check_verdict v)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < k->result->count; i++) n += k->result->rows[i].verdict == v;
    return n;
}

static uint32_t count_ran(const checking *k)
{
    return k->result->count - count_verdict(k, VY_CHECK_SKIPPED);
}

// What was checked in several workgroups: one line if nothing failed.
static void print_more(const checking *k, text *out)
{
    if (k->no_more[0]) text_printf(out, "several workgroups: left out: %s\n", k->no_more);
    if (!k->more) return;
    text_puts(out, "several workgroups:");
    check_sizes_text(k->more, out);
    if (check_passed(k->more)) {
        text_printf(out, ": ok: %u tests\n", count_ran(k->more));
        return;
    }
    text_puts(out, ": FAILED\n");
    if (!k->more->result->program.code) print_gradients(k->more, out);
}

static void table(const checking *k, const command *c, text *out)
{
    const vy_check_result *r = k->result;
    const vy_file_place range = vy_module_place(c->module, r->out_of_range.line);
    text_printf(out, "check %s: %s\n", vys_entry_name(checked_program(k)),
                k->device ? k->device : "reference interpreter alone");
    print_choices(k, out);
    if (r->program.code) {
        if (k->chosen_data < k->in.count)
            text_puts(out,
                      "on chosen data: give your own with --in NAME=SPEC if they are at fault\n");
        return;
    }
    print_gradients(k, out);
    for (uint32_t i = 0; i < r->count; i++) print_kinks(&r->rows[i], c->o.verbose, out);
    for (uint32_t i = 0; i < r->count; i++) print_unsure(&r->rows[i], out);
    print_forward(r, out);
    print_others(k, VY_CHECK_DEVICE_FORWARD, "outputs on the device: ", out);
    print_others(k, VY_CHECK_STAND_IN, "computes what is differentiated in its place: ", out);
    print_others(k, VY_CHECK_PRIMAL, "outputs unchanged: ", out);
    print_others(k, VY_CHECK_INPUTS, "inputs unchanged: ", out);
    print_others(k, VY_CHECK_RACES, "no data races", out);
    print_others(k, VY_CHECK_PROGRAM,
                 "the program itself has no data race and reads nothing unwritten", out);
    if (r->out_of_range_count)
        text_printf(
            out,
            "out of range, which gives 0 or does nothing: %llu accesses, first at %s:%u:%u: %s\n",
            (unsigned long long)r->out_of_range_count, range.file, range.line,
            r->out_of_range.column, r->out_of_range.text);
    print_more(k, out);
}

// The failures of a round, and their possible causes.
static void failures(const checking *k, const command *c, text *out)
{
    const vy_check_result *r = k->result;
    print_nonfinite(&r->forward, c->module, "forward program", out);
    print_nonfinite(&r->gradient, c->module, "derivative", out);
    if (k->second && !check_passed(k)) {
        text_puts(out, "in several workgroups, with");
        check_sizes_text(k, out);
        text_puts(out, ":\n");
    }
    for (uint32_t i = 0; i < r->count; i++)
        if (r->rows[i].verdict == VY_CHECK_FAILED) print_failure(&r->rows[i], out);
}

static void verdict(const checking *k, const command *c, text *out)
{
    const checking *more = k->more;
    const char *unverified = k->result->unverified;
    uint32_t bad = count_verdict(k, VY_CHECK_FAILED), ran = count_ran(k);
    failures(k, c, out);
    if (more) {
        failures(more, c, out);
        bad += count_verdict(more, VY_CHECK_FAILED);
        ran += count_ran(more);
        if (!unverified) unverified = more->result->unverified;
    }
    if (bad)
        text_printf(out, "FAILED: %u of %u tests\n", bad, ran);
    else if (unverified)
        text_printf(out, "not verified: nothing was compared of %s\n", unverified);
    else
        text_printf(out, "ok: %u tests\n", ran);
}

void check_print(const checking *k, command *c)
{
    text errors = {0};
    if (!c->o.quiet) table(k, c, &c->out);
    if (!c->o.quiet || !check_passed(k)) verdict(k, c, c->o.quiet ? &errors : &c->out);
    if (errors.size) fwrite(errors.data, 1, errors.size, stderr);
    if (errors.failed) c->out.failed = true;
    text_free(&errors);
}
