// SPDX-License-Identifier: MIT
// fuzz_command.c: command lines, and diagnostics about arbitrary text.
//
// The first letter selects what the rest is:
//   s  letter of a type, then NAME=SPEC        o  the words of a command line, one a line
//   n  letter of a type, then a number         d  line, column (two bytes each), then a source text
#include "tests/fuzz/fuzz.h"
#include "tools/data/data.h"
#include "tools/data/number.h"
#include "tools/command/options.h"

#include <stdlib.h>
#include <string.h>

static vy_type type_of(char letter) { return (vy_type)(1 + (uint8_t)letter % (VY_TYPE_COUNT - 1)); }

static void fill(spec *s, vy_type type)
{
    array a = {.rank = 1, .shape = {7}};
    text out = {0};
    vy_diag d = {0};
    uint64_t count = 1;
    if (s->has_shape) {
        a.rank = s->rank;
        memcpy(a.shape, s->shape, sizeof a.shape);
        for (uint32_t k = 0; k < s->rank; k++)
            if (__builtin_mul_overflow(count, s->shape[k], &count) || count > 5000) return;
    }
    if (s->kind == SPEC_LIST) {
        require(spec_count(s, type, &count, &d), "count");
        a.rank = 1;
        a.shape[0] = count;
    }
    require(vys_array_alloc(&a, "x", type, &d), "%s", d.text);
    if (spec_fill(s, type, &a, &d)) {
        array_print(s->name, &a, true, &out);
        array_json(&a, &out);
        npy_write(&a, &out);
    } else {
        require_diag(&d, NULL, 0);
    }
    text_free(&out);
    vys_array_free(&a);
}

static void try_spec(char *words)
{
    spec s = {0};
    vy_diag d = {0};
    const vy_type type = type_of(*words);
    if (!spec_parse(&s, "--in", words + (*words != 0), &d))
        require_diag(&d, NULL, 0);
    else if (s.kind != SPEC_NPY && s.kind != SPEC_BIN) // files are fuzz_npy's
        fill(&s, type);
    spec_free(&s);
}

static void try_number(const char *s)
{
    vy_scalar v, again;
    char out[NUMBER_TEXT];
    const vy_type type = type_of(*s);
    s += *s != 0;
    if (number_parse(type, s, strlen(s), &v)) return;
    size_t n = number_text(type, v, out);
    require(n < NUMBER_TEXT && strlen(out) == n, "length of a number");
    const char *why = number_parse(type, out, n, &again);
    require(!why && vy_scalar_same(type, v, again), "%s reads back another: %s", s, out);
}

static void try_options(char *words)
{
    char *argv[64], *save = NULL;
    int argc = 0;
    options o;
    text help = {0};
    vy_diag d = {0};
    argv[argc++] = (char *)TOOL_NAME;
    for (char *w = strtok_r(words, "\n", &save); w && argc < 63; w = strtok_r(NULL, "\n", &save))
        argv[argc++] = w;
    argv[argc] = NULL;
    if (!options_read(&o, argc, argv, &d))
        require_diag(&d, NULL, 0);
    else if (o.help)
        options_help(o.verb, &help);
    text_free(&help);
    options_free(&o);
}

// Any position, also beyond the text or within a character.
static void try_diag(const uint8_t *data, size_t size)
{
    if (size < 4) return;
    vy_diag d = {.severity = VY_ERROR,
                 .code = "E0105",
                 .line = data[0] | (uint32_t)data[1] << 8,
                 .column = data[2] | (uint32_t)data[3] << 8};
    data += 4, size -= 4;
    size_t n = size < sizeof d.text - 1 ? size : sizeof d.text - 1;
    memcpy(d.text, data, n);
    memcpy(d.fix, data, n < sizeof d.fix ? n : sizeof d.fix - 1);
    if (!d.text[0]) d.text[0] = '?';
    require_diag(&d, (const char *)data, size);
    char small[24];
    for (size_t room = 0; room <= sizeof small; room++)
        vy_diag_format(&d, "f", (const char *)data, size, true, small, room);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size) return 0;
    if (data[0] == 'd') return try_diag(data + 1, size - 1), 0;
    char *words = malloc(size);
    require(words != NULL, "memory");
    memcpy(words, data + 1, size - 1);
    words[size - 1] = 0;
    if (data[0] == 's') try_spec(words);
    if (data[0] == 'n') try_number(words);
    if (data[0] == 'o') try_options(words);
    free(words);
    return 0;
}
