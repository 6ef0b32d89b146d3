// SPDX-License-Identifier: MIT
// check_json.c: the result of `check` as JSON.
#include "tools/verbs/check/check.h"
#include "tools/data/json_out.h"
#include "tools/data/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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

static bool json_nonfinite(cJSON *top, const char *key, const vy_module *m,
                           const vy_check_nonfinite *n)
{
    const vy_file_place at = vy_module_place(m, n->line);
    if (!n->buffer) return json_string(top, key, NULL);
    cJSON *object = cJSON_AddObjectToObject(top, key);
    return object && json_string(object, "buffer", n->buffer) &&
           json_integer(object, "index", n->index) && json_real(object, "value", n->value) &&
           json_string(object, "operation", n->operation) &&
           json_integer(object, "line", at.line) && json_integer(object, "column", n->column) &&
           (at.file == vy_module_file(m) || json_string(object, "file", at.file));
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

static bool json_rows(cJSON *object, const vy_check_result *r)
{
    cJSON *rows = cJSON_AddArrayToObject(object, "tests");
    bool ok = rows != NULL;
    for (uint32_t i = 0; ok && i < r->count; i++) ok = json_row(rows, &r->rows[i]);
    return ok;
}

// The round in several workgroups, or null and, where known, the reason why there is none.
static bool json_more(cJSON *top, const checking *k)
{
    const checking *more = k->more;
    if (!more)
        return json_string(top, "several_workgroups", NULL) &&
               json_string(top, "left_out", k->no_more[0] ? k->no_more : NULL);
    cJSON *object = cJSON_AddObjectToObject(top, "several_workgroups");
    return object && cJSON_AddBoolToObject(object, "passed", check_passed(more)) &&
           json_scalars(object, &more->start) && json_rows(object, more->result) &&
           json_string(top, "left_out", NULL);
}

bool check_json(const checking *k, command *c, vy_diag *d)
{
    const vy_check_result *r = k->result;
    const char *unverified =
        !r->unverified && k->more ? k->more->result->unverified : r->unverified;
    cJSON *top = cJSON_CreateObject();
    bool ok = top && json_string(top, "program", vys_entry_name(checked_program(k))) &&
              json_string(top, "gradient_program", vys_entry_name(k->gradient.what)) &&
              json_string(top, "device", k->device) &&
              cJSON_AddBoolToObject(top, "passed", check_passed(k)) &&
              json_string(top, "unverified", unverified) && json_scalars(top, &k->start) &&
              json_rows(top, r) && json_more(top, k);
    cJSON *bad = ok ? cJSON_AddObjectToObject(top, "not_finite") : NULL;
    ok = bad && json_nonfinite(bad, "forward", c->module, &r->forward) &&
         json_nonfinite(bad, "gradient", c->module, &r->gradient) &&
         json_integer(top, "runs", r->runs) && json_number(top, "time_ms", k->ms, 6);
    if (ok) return json_finish(top, &c->out) || fail_memory(d);
    cJSON_Delete(top);
    return fail_memory(d);
}
