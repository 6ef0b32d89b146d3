// SPDX-License-Identifier: MIT
// json_out.h: JSON objects for --json, on cJSON.
#ifndef VYRE_TOOL_JSON_OUT_H
#define VYRE_TOOL_JSON_OUT_H

#include "tools/data/data.h"

#include <cjson/cJSON.h>

// Appends the object and a newline; frees it.  False: memory (also when `object` is NULL).
bool json_finish(cJSON *object, text *out);
// {"error": {…}}
bool json_diag(const vy_diag *d, const char *file, text *out);
// {"type", "shape", "data"}; NULL: memory.
cJSON *json_array(const array *a);
// Adds a number in shortest form, rounded to `digits` significant ones; negative: null.
bool json_number(cJSON *object, const char *key, double value, int digits);
bool json_integer(cJSON *object, const char *key, uint64_t value);
bool json_string(cJSON *object, const char *key, const char *value); // NULL: null

#endif
