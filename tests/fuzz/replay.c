// SPDX-License-Identifier: MIT
// replay.c: runs a harness on files, and on the files of folders, without libFuzzer.
//
//   replay_text PATH…      names each file before it runs it (after a crash, the last line is it)
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool replay_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    struct stat s;
    if (!f || fstat(fileno(f), &s)) {
        fprintf(stderr, "%s: cannot be read\n", path);
        if (f) fclose(f);
        return false;
    }
    // Exactly as large as the file, so that a sanitizer sees a read beyond it.
    uint8_t *data = malloc(s.st_size ? (size_t)s.st_size : 1);
    bool ok = data && fread(data, 1, (size_t)s.st_size, f) == (size_t)s.st_size;
    fclose(f);
    printf("%s\n", path);
    fflush(stdout);
    if (ok) LLVMFuzzerTestOneInput(data, (size_t)s.st_size);
    free(data);
    return ok;
}

static int visible(const struct dirent *e) { return e->d_name[0] != '.'; }

static bool replay(const char *path, uint32_t *count)
{
    struct dirent **names;
    int n = scandir(path, &names, visible, alphasort);
    if (n < 0) return ++*count, replay_file(path);
    bool ok = true;
    for (int i = 0; i < n; i++) {
        char file[4096];
        snprintf(file, sizeof file, "%s/%s", path, names[i]->d_name);
        ok = replay(file, count) && ok;
        free(names[i]);
    }
    free(names);
    return ok;
}

int main(int argc, char **argv)
{
    uint32_t count = 0;
    bool ok = true;
    for (int i = 1; i < argc; i++) ok = replay(argv[i], &count) && ok;
    printf("%u files\n", count);
    return ok && count ? 0 : 1;
}
