// SPDX-License-Identifier: MIT
// json_out.c: see json_out.h.  cJSON keeps numbers as doubles, so ours go in as text.
#include "tools/json_out.h"

#include "tools/number.h"

#include <stdio.h>
#include <stdlib.h>

bool json_finish(cJSON *object, text *out)
{
    char *printed = object ? cJSON_PrintUnformatted(object) : NULL;
    cJSON_Delete(object);
    if (!printed) return false;
    text_puts(out, printed);
    text_puts(out, "\n");
    cJSON_free(printed);
    return !out->failed;
}

bool json_string(cJSON *object, const char *key, const char *value)
{
    return value ? cJSON_AddStringToObject(object, key, value) != NULL
                 : cJSON_AddNullToObject(object, key) != NULL;
}

bool json_number(cJSON *object, const char *key, double value, int digits)
{
    char rounded[NUMBER_TEXT], shortest[NUMBER_TEXT];
    if (!(value >= 0)) return cJSON_AddNullToObject(object, key) != NULL;
    snprintf(rounded, sizeof rounded, "%.*g", digits, value);
    number_text(VY_F64, (vy_scalar){.f = atof(rounded)}, shortest);
    return cJSON_AddRawToObject(object, key, shortest) != NULL;
}

bool json_integer(cJSON *object, const char *key, uint64_t value)
{
    char number[NUMBER_TEXT];
    number_text(VY_U64, (vy_scalar){.u = value}, number);
    return cJSON_AddRawToObject(object, key, number) != NULL;
}

bool json_diag(const vy_diag *d, const char *file, text *out)
{
    cJSON *top = cJSON_CreateObject(), *error = cJSON_AddObjectToObject(top, "error");
    bool ok =
        error && json_string(error, "file", file) && json_integer(error, "line", d->line) &&
        json_integer(error, "column", d->column) &&
        json_string(error, "severity", d->severity == VY_WARNING ? "warning" : "error") &&
        json_string(error, "code", d->code) && json_string(error, "text", d->text) &&
        json_string(error, "fix", d->fix) &&
        json_integer(error, "status", d->blame == VY_BLAME_SYSTEM ? STATUS_SYSTEM : STATUS_WRONG);
    if (ok) return json_finish(top, out);
    cJSON_Delete(top);
    return false;
}

cJSON *json_array(const array *a)
{
    cJSON *object = cJSON_CreateObject();
    text shape = {0}, data = {0};
    text_puts(&shape, "[");
    shape_text(a->rank, a->shape, &shape);
    text_puts(&shape, "]");
    array_json(a, &data);
    bool ok = object && !shape.failed && !data.failed &&
              json_string(object, "type", vy_type_name(a->type)) &&
              cJSON_AddRawToObject(object, "shape", shape.data) &&
              cJSON_AddRawToObject(object, "data", data.data);
    text_free(&shape);
    text_free(&data);
    if (ok) return object;
    cJSON_Delete(object);
    return NULL;
}
