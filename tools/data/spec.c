// SPDX-License-Identifier: MIT
// spec.c: NAME=SPEC and NAME[2,3]=SPEC as text.
#include "tools/data/data.h"
#include "tools/data/file.h"
#include "tools/data/number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void spec_free(spec *s)
{
    free(s->name);
    free(s->text);
    free(s->member);
    vys_array_free(&s->file);
    *s = (spec){0};
}

static bool parse_shape(spec *s, const char *at, const char *end)
{
    s->has_shape = true;
    while (at < end) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        const char *stop = comma ? comma : end;
        vy_scalar n;
        if (s->rank == VYS_MAX_RANK || number_parse(VY_I64, at, (size_t)(stop - at), &n) || n.i < 0)
            return false;
        s->shape[s->rank++] = n.u;
        at = comma ? comma + 1 : end;
        if (comma && at == end) return false;
    }
    return s->rank > 0;
}

// The fields after a word, separated by colons: floats, the last one a seed.
static bool parse_random(spec *s, const char *fields)
{
    const char *first = strchr(fields, ':');
    const char *second = first ? strchr(first + 1, ':') : NULL;
    vy_scalar a, b, seed;
    if (!second || number_parse(VY_F64, fields, (size_t)(first - fields), &a) ||
        number_parse(VY_F64, first + 1, (size_t)(second - first - 1), &b) ||
        number_parse(VY_U64, second + 1, strlen(second + 1), &seed))
        return false;
    s->a = a.f;
    s->b = b.f;
    s->seed = seed.u;
    return true;
}

static bool parse_cycle(spec *s, const char *length)
{
    vy_scalar n;
    if (number_parse(VY_U32, length, strlen(length), &n) || n.u == 0) return false;
    s->a = (double)n.u;
    return true;
}

static const char *after(const char *string, const char *prefix)
{
    size_t n = strlen(prefix);
    return strncmp(string, prefix, n) ? NULL : string + n;
}

#define LINEAR ":linear"

#define NPZ ".npz"

// Of FILE.npz:MEMBER the member; NULL: the path names none.
static const char *member_of(const char *path)
{
    const char *found = NULL;
    for (const char *at = path; (at = strstr(at, NPZ ":")); at++) found = at + strlen(NPZ ":");
    return found && *found ? found : NULL;
}

// Of a path; SPEC_LIST: none of ours.
static spec_kind file_kind(const char *path)
{
    if (ends_in(path, ".npy")) return SPEC_NPY;
    if (ends_in(path, NPZ) || member_of(path)) return SPEC_NPZ;
    if (ends_in(path, ".png") || ends_in(path, ".png" LINEAR)) return SPEC_PNG;
    return ends_in(path, ".bin") ? SPEC_BIN : SPEC_LIST;
}

// Kind and parameters; *text receives what is kept as text.
static bool parse_kind(spec *s, const char *value, const char **kept)
{
    const char *rest;
    *kept = "";
    if (value[0] == '@') {
        *kept = value + 1;
        s->kind = strcmp(value, "@-") ? file_kind(value) : SPEC_STREAM;
        s->linear = s->kind == SPEC_PNG && ends_in(value, LINEAR);
        return s->kind != SPEC_LIST;
    }
    if (!strcmp(value, "zeros")) return s->kind = SPEC_CONST, *kept = "0", true;
    if (!strcmp(value, "ones")) return s->kind = SPEC_CONST, *kept = "1", true;
    if (!strcmp(value, "iota")) return s->kind = SPEC_IOTA, true;
    if ((rest = after(value, "cycle:"))) return s->kind = SPEC_CYCLE, parse_cycle(s, rest);
    if ((rest = after(value, "const:"))) return s->kind = SPEC_CONST, *kept = rest, *rest != 0;
    if ((rest = after(value, "uniform:"))) return s->kind = SPEC_UNIFORM, parse_random(s, rest);
    if ((rest = after(value, "normal:"))) return s->kind = SPEC_NORMAL, parse_random(s, rest);
    s->kind = SPEC_LIST;
    *kept = value;
    // A list begins like a number, true or false; anything else is a word we do not know.
    const char c = *value;
    return !c || (c >= '0' && c <= '9') || strchr("+-. ", c) || after(value, "inf") ||
           after(value, "nan") || after(value, "true") || after(value, "false");
}

bool spec_is_file(const spec *s)
{
    return s->kind == SPEC_NPY || s->kind == SPEC_NPZ || s->kind == SPEC_PNG ||
           s->kind == SPEC_BIN || s->kind == SPEC_STREAM;
}

bool spec_parse(spec *s, const char *option, const char *argument, vy_diag *d)
{
    *s = (spec){0};
    const char *equals = strchr(argument, '='), *bracket = strchr(argument, '[');
    if (!equals || equals == argument)
        return fail(d, TOOL_SPEC, NULL, "%s %s: expected NAME=SPEC", option, argument);
    if (bracket && bracket < equals) {
        if (bracket == argument || equals[-1] != ']' || !parse_shape(s, bracket + 1, equals - 1))
            return fail(d, TOOL_SPEC, "write NAME[2,3]=SPEC", "%s %s: malformed shape", option,
                        argument);
    } else {
        bracket = equals;
    }
    const char *kept;
    if (!parse_kind(s, equals + 1, &kept)) {
        const bool file = file_kind(equals + 1) != SPEC_LIST;
        char fix[100];
        snprintf(fix, sizeof fix, "a file is written with @: %.*s=@%.40s",
                 equals - argument > 30 ? 30 : (int)(equals - argument), argument, equals + 1);
        const char *other =
            strcmp(option, "--out") ? NULL : "end the file in .npy, .npz, .png or .bin";
        return fail(d, TOOL_SPEC, file ? fix : other, "%s %s: `%.60s` is not a SPEC", option,
                    argument, equals + 1);
    }
    s->name = strndup(argument, (size_t)(bracket - argument));
    const char *member = s->kind == SPEC_NPZ ? member_of(kept) : NULL;
    const size_t length = strlen(kept) - (s->linear ? strlen(LINEAR) : 0);
    s->text = strndup(kept, member ? (size_t)(member - 1 - kept) : length);
    if (member) s->member = strdup(member);
    return (s->name && s->text && (s->member || !member)) || fail_memory(d);
}
