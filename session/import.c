// SPDX-License-Identifier: MIT
// import.c: see import.h.
#include "session/import.h"

#include "session/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void put_identity(const struct stat *s, char out[VYS_IDENTITY])
{
    snprintf(out, VYS_IDENTITY, "%llx:%llx", (unsigned long long)s->st_dev,
             (unsigned long long)s->st_ino);
}

bool vys_file_identity(const char *path, char out[VYS_IDENTITY])
{
    struct stat s;
    out[0] = 0;
    if (stat(path, &s) != 0) return false;
    put_identity(&s, out);
    return true;
}

// `path` in the folder whose name is the first n bytes of `folder`; NULL: memory.
static char *joined(const char *folder, size_t n, const char *path)
{
    const size_t rest = strlen(path);
    const bool slash = n && folder[n - 1] != '/';
    char *out = malloc(n + slash + rest + 1);
    if (!out) return NULL;
    if (n) memcpy(out, folder, n);
    if (slash) out[n] = '/';
    memcpy(out + n + slash, path, rest + 1);
    return out;
}

// Opens the file `path` of that folder; false: it does not exist there.  *fd is -1 where it cannot
// be opened, with the error in errno.  *name is its path, NULL: memory.
static bool open_in(const char *folder, size_t n, const char *path, char **name, int *fd)
{
    free(*name);
    *name = joined(folder, n, path);
    // A pipe that nothing writes to must not block.
    *fd = *name ? open(*name, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
    return !*name || *fd >= 0 || errno != ENOENT;
}

// Beside the file `from`, then in the folders.
static int open_import(const char *from, const char *path, const char *const *folders, char **name)
{
    int fd;
    while (path[0] == '.' && path[1] == '/') path += 2;
    const char *slash = path[0] == '/' ? NULL : strrchr(from, '/');
    if (open_in(from, slash ? (size_t)(slash - from) + 1 : 0, path, name, &fd)) return fd;
    if (path[0] == '/' || !folders) return fd;
    while (*folders && !open_in(*folders, strlen(*folders), path, name, &fd)) folders++;
    return fd;
}

void vys_import_file(void *user, vy_import *request)
{
    struct stat s;
    char identity[VYS_IDENTITY];
    const char *why = "out of memory";
    char *path = NULL, *text = NULL;
    const int fd = open_import(vy_import_from(request), vy_import_path(request), user, &path);
    if (path && fd < 0) why = strerror(errno);
    if (fd >= 0) text = vys_file_regular(fd, &s, &why);
    if (fd >= 0) close(fd);
    if (text) {
        put_identity(&s, identity);
        vy_import_give(request, path, identity, text, (size_t)s.st_size);
    } else {
        vy_import_refuse(request, why ? why : "out of memory");
    }
    free(text);
    free(path);
}
