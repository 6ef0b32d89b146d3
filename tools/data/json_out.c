// SPDX-License-Identifier: MIT
// json_out.c: see json_out.h.  cJSON keeps numbers as doubles, so ours go in as text.
#include "tools/data/json_out.h"

#include "tools/data/number.h"

#include <stdio.h>
#include <stdlib.h>

// Bytes of the UTF-8 character at `s`; 0: it is none (too long a form, a surrogate, beyond
// U+10FFFF, cut off).
static size_t character(const unsigned char *s)
{
    if (s[0] < 0x80) return 1;
    const size_t n = s[0] >= 0xf0 && s[0] <= 0xf4 ? 4 : s[0] >= 0xe0 ? 3 : s[0] >= 0xc2 ? 2 : 0;
    if (!n || s[0] > 0xf4) return 0;
    for (size_t k = 1; k < n; k++)
        if ((s[k] & 0xc0) != 0x80) return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return n;
}

// JSON is UTF-8, names of files are any bytes, and texts are cut anywhere: what is no character
// reads `\xff`.  All of that stands in strings.
static void add_characters(text *out, const char *printed)
{
    for (const unsigned char *s = (const unsigned char *)printed; *s;) {
        const unsigned char *from = s;
        size_t n;
        while (*s && (n = character(s))) s += n;
        text_add(out, from, (size_t)(s - from));
        if (*s) text_printf(out, "\\\\x%02x", *s++);
    }
}

bool json_finish(cJSON *object, text *out)
{
    char *printed = object ? cJSON_PrintUnformatted(object) : NULL;
    cJSON_Delete(object);
    if (!printed) return false;
    add_characters(out, printed);
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
