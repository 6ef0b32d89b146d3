// SPDX-License-Identifier: MIT
// file.c: see file.h.
//
// Nothing is fsync'd: after a crash of the machine a renamed file may be the old one or the new
// one, and both are complete on every journalling file system; waiting for the disk would cost more
// than the rest of a compilation.
#include "tools/data/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool is_directory(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

bool ends_in(const char *path, const char *suffix)
{
    size_t n = strlen(path), m = strlen(suffix);
    return n > m && !strcmp(path + n - m, suffix);
}

// ---------------------------------------------------------------------------------------- reading
static bool read_all(int fd, const char *path, size_t limit, text *out, vy_diag *d)
{
    struct stat s;
    size_t want = 1 << 16, size = 0;
    if (fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_size > 0 && (uint64_t)s.st_size <= limit)
        want = (size_t)s.st_size + 1; // one more, so that the next read finds the end
    char *block = NULL;
    for (;;) {
        char *more = realloc(block, size + want);
        if (!more) return free(block), fail_memory(d);
        block = more;
        ssize_t n;
        do n = read(fd, block + size, want);
        while (n < 0 && errno == EINTR);
        if (n < 0) {
            fail(d, TOOL_READ, "", "cannot read %s: %s", path, strerror(errno));
            return free(block), false;
        }
        if (n == 0) break;
        size += (size_t)n;
        want -= (size_t)n;
        if (size > limit) {
            fail(d, TOOL_INPUT, "split it", "%s is larger than %zu MiB", path, limit >> 20);
            return free(block), false;
        }
        if (want == 0) want = size;
    }
    text_add(out, block, size);
    free(block);
    return !out->failed || fail_memory(d);
}

bool file_read(const char *path, size_t limit, text *out, vy_diag *d)
{
    if (!strcmp(path, "-")) return read_all(STDIN_FILENO, "stdin", limit, out, d);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return fail(d, TOOL_READ, "", "cannot open %s: %s", path, strerror(errno));
    bool ok = is_directory(path) ? fail(d, TOOL_READ, "", "%s is a directory", path)
                                 : read_all(fd, path, limit, out, d);
    close(fd);
    return ok;
}

// ---------------------------------------------------------------------------------------- writing
static bool write_all(int fd, const char *data, size_t size)
{
    while (size) {
        ssize_t n = write(fd, data, size);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        data += n;
        size -= (size_t)n;
    }
    return true;
}

static bool fail_write(vy_diag *d, const char *path)
{
    return fail(d, TOOL_WRITE, NULL, "cannot write %s: %s", path, strerror(errno));
}

bool stdout_write(const char *data, size_t size, vy_diag *d)
{
    return write_all(STDOUT_FILENO, data, size) ||
           fail(d, TOOL_WRITE, "", "cannot write the output: %s", strerror(errno));
}

// The target of a link as a path from here, or NULL.
static char *follow(const char *path)
{
    char target[PATH_MAX];
    const ssize_t n = readlink(path, target, sizeof target - 1);
    if (n <= 0) return NULL;
    target[n] = 0;
    const char *slash = strrchr(path, '/');
    const size_t folder = target[0] == '/' || !slash ? 0 : (size_t)(slash - path) + 1;
    char *full = malloc(folder + (size_t)n + 1);
    if (!full) return NULL;
    memcpy(full, path, folder);
    memcpy(full + folder, target, (size_t)n + 1);
    return full;
}

// The file that a name refers to: the target of a link, so that the link is kept, even if the
// target does not exist yet, as editors do.  NULL: memory, or a cycle of links (errno says which).
static char *real_target(const char *path)
{
    enum { MOST_LINKS = 40 }; // as many as the kernel follows
    struct stat s;
    char *at = realpath(path, NULL);
    if (at) return at;
    at = strdup(path);
    if (at && stat(path, &s) == 0) return at; // /dev/stdout: it exists, but has no path
    for (int i = 0; at && i < MOST_LINKS; i++) {
        if (lstat(at, &s) || !S_ISLNK(s.st_mode)) return at;
        char *next = follow(at);
        free(at);
        at = next;
    }
    if (at) errno = ELOOP;
    free(at);
    return NULL;
}

static bool write_temporary(output_file *f, const struct stat *old, const void *data, size_t size,
                            vy_diag *d)
{
    size_t room = strlen(f->path) + 40;
    f->temporary = malloc(room);
    if (!f->temporary) return fail_memory(d);
    int fd = -1;
    for (int i = 0; i < 100 && fd < 0; i++) { // skips names left by killed processes
        snprintf(f->temporary, room, "%s.%ld.%d.tmp", f->path, (long)getpid(), i);
        fd = open(f->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST) break;
    }
    if (fd < 0) {
        fail_write(d, f->path);
        free(f->temporary);
        f->temporary = NULL; // nothing of ours to remove
        return false;
    }
    bool ok = write_all(fd, data, size);
    if (old && fchmod(fd, old->st_mode & 07777)) ok = false;
    int error = errno;
    if (close(fd))
        ok = false, error = errno; // where quotas and network disks report that they are full
    errno = error;
    return ok || fail_write(d, f->path);
}

bool output_keep(outputs *o, const char *path)
{
    struct stat s;
    const int bad = strcmp(path, "-") ? stat(path, &s) : fstat(STDIN_FILENO, &s);
    if (bad || !S_ISREG(s.st_mode)) return true;
    void *more = realloc(o->sources, (o->source_count + 1) * sizeof *o->sources);
    if (!more) return false;
    o->sources = more;
    o->sources[o->source_count][0] = s.st_dev;
    o->sources[o->source_count++][1] = s.st_ino;
    return true;
}

static bool is_source(const outputs *o, const struct stat *s)
{
    if (!S_ISREG(s->st_mode)) return false;
    for (uint32_t i = 0; i < o->source_count; i++)
        if (s->st_dev == o->sources[i][0] && s->st_ino == o->sources[i][1]) return true;
    return false;
}

bool output_add(outputs *o, const char *path, const void *data, size_t size, vy_diag *d)
{
    if (o->count == o->capacity) {
        uint32_t capacity = o->capacity ? 2 * o->capacity : 4;
        output_file *files = realloc(o->files, capacity * sizeof *files);
        if (!files) return fail_memory(d);
        o->files = files;
        o->capacity = capacity;
    }
    output_file *f = &o->files[o->count++];
    *f = (output_file){.path = real_target(path)};
    if (!f->path) return errno == ENOMEM ? fail_memory(d) : fail_write(d, path);
    struct stat s;
    const bool there = stat(f->path, &s) == 0;
    if (there && S_ISDIR(s.st_mode))
        return fail(d, TOOL_WRITE, NULL, "cannot write %s: it is a directory", path);
    if (there && is_source(o, &s))
        return fail(d, TOOL_USAGE, "write to another PATH",
                    "%s is the file that is read: it would be replaced", path);
    if (there && access(f->path, W_OK)) return fail_write(d, path);
    if (there && !S_ISREG(s.st_mode)) { // /dev/stdout, a pipe: no name to replace
        text_add(&f->contents, data, size);
        return !f->contents.failed || fail_memory(d);
    }
    return write_temporary(f, there ? &s : NULL, data, size, d);
}

bool output_check(const outputs *o, const char *path, vy_diag *d)
{
    outputs probe = {.sources = o->sources, .source_count = o->source_count};
    const bool ok = output_add(&probe, path, "", 0, d);
    probe.sources = NULL; // those of `o`
    output_discard(&probe);
    return ok;
}

bool output_commit(outputs *o, vy_diag *d)
{
    for (uint32_t i = 0; i < o->count; i++) { // first what can fail because the disk is full
        output_file *f = &o->files[i];
        if (f->temporary) continue;
        int fd = open(f->path, O_WRONLY | O_CLOEXEC);
        if (fd < 0) return fail_write(d, f->path);
        bool ok = write_all(fd, f->contents.data, f->contents.size);
        if (close(fd)) ok = false;
        if (!ok) return fail_write(d, f->path);
    }
    for (uint32_t i = 0; i < o->count; i++) {
        output_file *f = &o->files[i];
        if (!f->temporary) continue;
        if (rename(f->temporary, f->path)) return fail_write(d, f->path);
        free(f->temporary);
        f->temporary = NULL;
    }
    return true;
}

void output_discard(outputs *o)
{
    for (uint32_t i = 0; i < o->count; i++) {
        if (o->files[i].temporary) unlink(o->files[i].temporary);
        free(o->files[i].temporary);
        free(o->files[i].path);
        text_free(&o->files[i].contents);
    }
    free(o->files);
    free(o->sources);
    *o = (outputs){0};
}
