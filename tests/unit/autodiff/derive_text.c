// SPDX-License-Identifier: MIT
// derive_text.c: what derive_text.h finds in files.
//
//   derive_text FILE…      - : from stdin
//
// Prints a line per difference, and a summary; exit 1 if there is one.  Files that are no modules
// are passed over.
#include "tests/unit/autodiff/derive_text.h"

static char *read_all(FILE *f, size_t *size)
{
    char *text = NULL;
    size_t n = 0, room = 0;
    do {
        char *more = realloc(text, room = 2 * room + 4096);
        if (!more) return free(text), NULL;
        text = more;
        n += fread(text + n, 1, room - n, f);
    } while (n == room);
    *size = n;
    return text;
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 1; i < argc; i++) {
        FILE *f = strcmp(argv[i], "-") ? fopen(argv[i], "r") : stdin;
        size_t size = 0;
        char *text = f ? read_all(f, &size) : NULL;
        vy_module *m = text ? vy_parse(text, size, argv[i]) : NULL;
        if (m && vy_module_ok(m)) check_all(argv[i], m);
        if (f && f != stdin) fclose(f);
        free(text);
        vy_module_free(m);
    }
    printf("%d pairs of derivatives compared, %d refused, %d differences\n", compared, refused,
           wrong);
    return wrong ? 1 : 0;
}
