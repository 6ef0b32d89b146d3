// SPDX-License-Identifier: MIT
// check_print.c: the result of `check` as a table and as JSON.
#include "tools/check.h"
#include "tools/json_out.h"
#include "tools/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SHOWN 16 // kinks before `…`

static const char *verdict_name(vy_check_verdict v)
{
    return v == VY_CHECK_PASSED ? "ok" : v == VY_CHECK_FAILED ? "FAILED" : "-";
}

// ------------------------------------------------------------------------------------------- table
static void print_choices(const checking *k, text *out)
{
    const char *lead = "chosen:";
    for (uint32_t i = 0; i < k->start.scalar_count; i++) {
        const bound_scalar *s = &k->start.scalars[i];
        char number[NUMBER_TEXT];
        if (!s->chosen) continue;
        number_text(s->info.type, s->value, number);
        text_printf(out, "%s --set %s=%s", lead, s->info.name, number);
        lead = "";
    }
    for (uint32_t i = k->chosen_data; i < k->in.count; i++) {
        text_printf(out, "%s --in %s=", lead, k->in.data[i].name);
        spec_text(&k->in.data[i], out);
        lead = "";
    }
    if (!*lead) text_puts(out, "\n");
}

static void print_row(const vy_check_row *row, text *out)
{
    char compared[60] = "", worst[120] = "", error[40] = "", other[60] = "";
    if (row->test != VY_CHECK_RACES && row->verdict != VY_CHECK_SKIPPED)
        snprintf(compared, sizeof compared, "%llu of %llu", (unsigned long long)row->compared,
                 (unsigned long long)row->elements);
    if (row->has_worst) {
        snprintf(worst, sizeof worst, "[%llu] %.9g, %.9g", (unsigned long long)row->worst, row->got,
                 row->expected);
        snprintf(error, sizeof error, "%.1e", row->error);
    }
    if (row->kinks) snprintf(other, sizeof other, " %llu kinks", (unsigned long long)row->kinks);
    if (row->unsure)
        snprintf(other + strlen(other), sizeof other - strlen(other), " %llu unsure",
                 (unsigned long long)row->unsure);
    text_printf(out, "%-12s %-14s %-16s %-36s %-8s %s%s%s%s\n", vy_check_test_name(row->test),
                row->buffer, compared, worst, error, verdict_name(row->verdict), other,
                *row->note ? " " : "", row->note);
}

static void print_kinks(const vy_check_row *row, bool all, text *out)
{
    if (!row->kinks) return;
    text_printf(out, "kink: %s", row->buffer);
    for (uint64_t i = 0; i < row->kinks && (all || i < SHOWN); i++)
        text_printf(out, "%s[%llu]", i ? ", " : " ", (unsigned long long)row->kink_at[i]);
    text_puts(out, !all && row->kinks > SHOWN ? ", …\n" : "\n");
}

static void print_nonfinite(const vy_check_nonfinite *n, const char *file, const char *what,
                            text *out)
{
    if (!n->buffer) return;
    text_printf(out, "not finite: %s[%llu] is %s", n->buffer, (unsigned long long)n->index,
                isnan(n->value) ? "nan"
                : n->value > 0  ? "inf"
                                : "-inf");
    if (n->operation && !strcmp(n->operation, "load"))
        text_printf(out, ", from data loaded at %s:%u:%u\n", file, n->line, n->column);
    else if (n->operation && n->line)
        text_printf(out, ", first from `%s` in the %s of %s:%u:%u\n", n->operation, what, file,
                    n->line, n->column);
    else
        text_puts(out, "\n");
}

static uint32_t count_verdict(const checking *k, vy_check_verdict v)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < k->result->count; i++) n += k->result->rows[i].verdict == v;
    return n;
}

static void table(const checking *k, const command *c, bool failures_only, text *out)
{
    const vy_check_result *r = k->result;
    const char *file = vy_module_file(c->module);
    if (!failures_only) {
        text_printf(out, "check %s with %s on %s\n", vy_program_name(checked_program(k)),
                    vy_program_name(k->gradient.program), k->device ? k->device : "no device");
        print_choices(k, out);
        text_printf(out, "%-12s %-14s %-16s %-36s %-8s\n", "test", "buffer", "compared",
                    "worst: got, expected", "error");
    }
    for (uint32_t i = 0; i < r->count; i++)
        if (!failures_only || r->rows[i].verdict == VY_CHECK_FAILED) print_row(&r->rows[i], out);
    for (uint32_t i = 0; i < r->count && !failures_only; i++)
        print_kinks(&r->rows[i], c->o.verbose, out);
    if (!failures_only || !r->passed) {
        print_nonfinite(&r->forward, file, "forward program", out);
        print_nonfinite(&r->gradient, file, "derivative", out);
    }
    const uint32_t failed = count_verdict(k, VY_CHECK_FAILED);
    const uint32_t ran = r->count - count_verdict(k, VY_CHECK_SKIPPED);
    if (failed)
        text_printf(out, "FAILED: %u of %u tests\n", failed, ran);
    else if (!failures_only)
        text_printf(out, "ok: %u tests\n", ran);
}

void check_print(const checking *k, command *c)
{
    text errors = {0};
    table(k, c, c->o.quiet, c->o.quiet ? &errors : &c->out);
    if (errors.size) fwrite(errors.data, 1, errors.size, stderr);
    if (errors.failed) c->out.failed = true;
    text_free(&errors);
}

// -------------------------------------------------------------------------------------------- JSON
static bool json_real(cJSON *object, const char *key, double value)
{
    char number[NUMBER_TEXT];
    number_text(VY_F64, (vy_scalar){.f = value}, number);
    return isfinite(value) ? cJSON_AddRawToObject(object, key, number) != NULL
                           : json_string(object, key, number);
}

static bool json_kinks(cJSON *object, const vy_check_row *row)
{
    text list = {0};
    text_puts(&list, "[");
    for (uint64_t i = 0; i < row->kinks; i++)
        text_printf(&list, "%s%llu", i ? "," : "", (unsigned long long)row->kink_at[i]);
    text_puts(&list, "]");
    const bool ok = !list.failed && cJSON_AddRawToObject(object, "kinks", list.data) != NULL;
    text_free(&list);
    return ok;
}

static bool json_row(cJSON *rows, const vy_check_row *row)
{
    static const char *const verdicts[] = {"passed", "failed", "skipped"};
    cJSON *object = cJSON_CreateObject();
    if (!object || !cJSON_AddItemToArray(rows, object)) return cJSON_Delete(object), false;
    bool ok = json_string(object, "test", vy_check_test_name(row->test)) &&
              json_string(object, "buffer", *row->buffer ? row->buffer : NULL) &&
              json_string(object, "verdict", verdicts[row->verdict]) &&
              json_real(object, "tolerance", row->tolerance) &&
              json_integer(object, "elements", row->elements) &&
              json_integer(object, "compared", row->compared) &&
              json_integer(object, "failed", row->failed) &&
              json_integer(object, "unsure", row->unsure) && json_kinks(object, row);
    if (ok && row->has_worst) {
        cJSON *worst = cJSON_AddObjectToObject(object, "worst");
        ok = worst && json_integer(worst, "index", row->worst) &&
             json_real(worst, "got", row->got) && json_real(worst, "expected", row->expected) &&
             json_real(worst, "error", row->error);
    } else if (ok) {
        ok = json_string(object, "worst", NULL);
    }
    return ok && json_string(object, "note", row->note);
}

static bool json_nonfinite(cJSON *top, const char *key, const vy_check_nonfinite *n)
{
    if (!n->buffer) return json_string(top, key, NULL);
    cJSON *object = cJSON_AddObjectToObject(top, key);
    return object && json_string(object, "buffer", n->buffer) &&
           json_integer(object, "index", n->index) && json_real(object, "value", n->value) &&
           json_string(object, "operation", n->operation) &&
           json_integer(object, "line", n->line) && json_integer(object, "column", n->column);
}

static bool json_scalars(cJSON *top, const binding *b)
{
    cJSON *object = cJSON_AddObjectToObject(top, "scalars");
    for (uint32_t i = 0; object && i < b->scalar_count; i++) {
        const bound_scalar *s = &b->scalars[i];
        char number[NUMBER_TEXT];
        number_text(s->info.type, s->value, number);
        const bool text = vy_type_is_float(s->info.type) && !isfinite(s->value.f);
        if (!(text ? json_string(object, s->info.name, number)
                   : cJSON_AddRawToObject(object, s->info.name, number) != NULL))
            return false;
    }
    return object != NULL;
}

bool check_json(const checking *k, command *c, vy_diag *d)
{
    const vy_check_result *r = k->result;
    cJSON *top = cJSON_CreateObject();
    bool ok = top && json_string(top, "program", vy_program_name(checked_program(k))) &&
              json_string(top, "gradient_program", vy_program_name(k->gradient.program)) &&
              json_string(top, "device", k->device) &&
              cJSON_AddBoolToObject(top, "passed", r->passed) && json_scalars(top, &k->start);
    cJSON *rows = ok ? cJSON_AddArrayToObject(top, "tests") : NULL;
    ok = rows != NULL;
    for (uint32_t i = 0; ok && i < r->count; i++) ok = json_row(rows, &r->rows[i]);
    cJSON *bad = ok ? cJSON_AddObjectToObject(top, "not_finite") : NULL;
    ok = bad && json_nonfinite(bad, "forward", &r->forward) &&
         json_nonfinite(bad, "gradient", &r->gradient) && json_integer(top, "runs", r->runs) &&
         json_number(top, "time_ms", k->ms, 6);
    if (ok) return json_finish(top, &c->out) || fail_memory(d);
    cJSON_Delete(top);
    return fail_memory(d);
}
