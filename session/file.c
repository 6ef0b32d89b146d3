// SPDX-License-Identifier: MIT
// file.c: see file.h.
#include "session/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LARGEST ((off_t)1 << 28) // the parser's own limit is smaller, and says so

// It may have grown or shrunk since its size was queried.
char *vys_file_regular(int fd, struct stat *s, const char **why)
{
    *why = strerror(errno);
    if (fstat(fd, s) != 0) return NULL;
    *why = S_ISDIR(s->st_mode) ? "it is a folder" : "it is no regular file";
    if (!S_ISREG(s->st_mode)) return NULL;
    *why = "it is too large";
    if (s->st_size > LARGEST) return NULL;
    *why = NULL; // memory
    const size_t size = (size_t)s->st_size;
    char *text = malloc(size + 1);
    size_t have = 0;
    while (text && have < size) {
        const ssize_t n = read(fd, text + have, size - have);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        have += (size_t)n;
    }
    if (text) text[have] = 0;
    s->st_size = (off_t)have;
    return text;
}

bool vys_file_read(const char *path, void **data, size_t *size, vy_diag *d)
{
    struct stat s;
    const char *why;
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); // a pipe must not block
    if (fd < 0) return vys_fail(d, VYS_READ, NULL, "cannot open %s: %s", path, strerror(errno));
    *data = vys_file_regular(fd, &s, &why);
    close(fd);
    if (!*data && !why) return vys_fail_memory(d);
    if (!*data) return vys_fail(d, VYS_READ, NULL, "cannot read %s: %s", path, why);
    *size = (size_t)s.st_size;
    return true;
}
