// SPDX-License-Identifier: MIT
// gradcheck_claims.h: what the compiler claims about a program beside its numbers, checked against
// them; part of gradcheck_file.c.
//
//   ends       where vy_grad_ends says that a buffer's derivative ends, its gradient is all zeros
//   constants  a text with altered constants, overridden from outside with the original values, is
//              the same program
enum { MOST_CONSTANTS = 8 };

static bool all_zero(const image *g, const char *name)
{
    const int k = find(g, name);
    for (uint64_t e = 0; k >= 0 && e < g->counts[k]; e++)
        if (((const double *)g->buffers[k].data)[e] != 0) return false;
    return true;
}

static bool check_ends(job *j, const vy_program *p, const image *g)
{
    for (uint32_t i = 1; i < p->buffers.count; i++) {
        char name[300];
        vy_grad_end end;
        snprintf(name, sizeof name, "grad_%.280s", p->buffers.data[i].name);
        // The cotangent of a chosen output is also the gradient of its own contents.
        if (chosen(j->c.of, p->buffers.data[i].name, false)) continue;
        if (!vy_grad_ends(p, (vy_buffer){i}, &end) || all_zero(g, name)) continue;
        snprintf(message, sizeof message,
                 "%s is not zero, although %s at line %u is said to end it", name, end.what,
                 end.line);
        return fail(j, "ends");
    }
    return true;
}

// `const NAME: TYPE = NUMBER;` at the start of a line: its name, and where the number is.  Other
// constants are skipped.
static bool next_constant(char **at, char *name, size_t size, char **number, size_t *digits)
{
    char *end = strstr(*at, "const ");
    const char *colon = end ? strchr(end, ':') : NULL;
    if (!colon || !(*number = strstr(colon, "= "))) return false;
    *number += 2;
    *digits = strspn(*number, "0123456789");
    snprintf(name, size, "%.*s", (int)(colon - end - 6), end + 6);
    *at = *number;
    return true;
}

static bool check_constants(job *j, const vy_module *m)
{
    char names[MOST_CONSTANTS][100], values[MOST_CONSTANTS][40], *number;
    vy_define defines[MOST_CONSTANTS];
    char *text = strdup(j->text), *at = text;
    uint32_t n = 0;
    for (size_t digits;
         n < MOST_CONSTANTS && next_constant(&at, names[n], sizeof *names, &number, &digits);) {
        if (!digits || number[digits] != ';') continue;
        snprintf(values[n], sizeof *values, "%.*s", (int)digits, number);
        memset(number, number[digits - 1] == '1' ? '2' : '1', digits);
        defines[n] = (vy_define){names[n], values[n]};
        n++;
    }
    vy_module *other = n ? vy_parse_with(text, strlen(text), "test", defines, n) : NULL;
    char *was = vy_print(m, NULL),
         *is = other && vy_module_ok(other) ? vy_print(other, NULL) : NULL;
    const bool ok = !n || (was && is && strcmp(was, is) == 0);
    snprintf(message, sizeof message, "with other numbers and set from outside: %s",
             is      ? "another program"
             : other ? vy_module_diag(other)->text
                     : "memory");
    free(was);
    free(is);
    free(text);
    vy_module_free(other);
    return ok || fail(j, "constants");
}
