// SPDX-License-Identifier: MIT
// trim.c: keeps the folder of compiled kernels (cache.c) within a size by removing the least
// recently used files.
//
// Any number of processes may do so at a time, while others read and write: names are removed,
// never contents, so that a process that has opened a file can read it to its end, and a kernel
// whose file was removed is compiled again.  Only names that cache.c makes, or once made, are ever
// removed: the folder may hold other files.
#define _GNU_SOURCE // fstatat
#include "vkrt/internal.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAX_FILES 4096
#define DEFAULT_MIB 256
#define TEMPORARY_SECONDS 3600 // after which an unfinished file is one that a killed process left

typedef struct entry {
    char name[VKRT_CACHE_NAME_CHARS + 1];
    int64_t used_ns; // since 1970
    uint64_t bytes;  // on the disk
} entry;

typedef struct listing {
    entry *entries;
    size_t count, capacity;
    uint64_t bytes;
} listing;

// VYRE_CACHE_MIB, else DEFAULT_MIB; a value that is not a number is ignored.
static uint64_t limit_bytes(void)
{
    const char *text = getenv("VYRE_CACHE_MIB");
    char *end = NULL;
    unsigned long long mib =
        text && text[0] >= '0' && text[0] <= '9' ? strtoull(text, &end, 10) : 0;
    if (!end || *end || mib > (UINT64_MAX >> 20)) mib = DEFAULT_MIB;
    return (uint64_t)mib << 20;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool ends(const char *text, const char *with)
{
    size_t n = strlen(text), m = strlen(with);
    return n >= m && strcmp(text + n - m, with) == 0;
}

// One name of the folder: removed if it is a leftover, listed if it is a kernel's.
static void look_at(int dir, const char *name, time_t now, listing *l)
{
    struct stat st;
    const bool old_form =
        begins(name, "pipelines-") && ends(name, ".bin"); // one file for all kernels, once
    if (!old_form && !begins(name, VKRT_CACHE_PREFIX)) return;
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode)) return;
    const bool whole = strlen(name) == VKRT_CACHE_NAME_CHARS && ends(name, VKRT_CACHE_SUFFIX);
    if (!whole) {
        const bool temporary = strlen(name) == VKRT_CACHE_NAME_CHARS + 7; // .XXXXXX
        if (old_form || (temporary && now - st.st_mtim.tv_sec > TEMPORARY_SECONDS))
            unlinkat(dir, name, 0);
        return;
    }
    if (l->count == l->capacity) {
        size_t capacity = l->capacity ? 2 * l->capacity : 256;
        entry *grown = realloc(l->entries, capacity * sizeof *grown);
        if (!grown) return; // a file that is not listed stays until the next time
        l->entries = grown;
        l->capacity = capacity;
    }
    entry *e = &l->entries[l->count++];
    memcpy(e->name, name, sizeof e->name);
    e->used_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    e->bytes = (uint64_t)st.st_blocks * 512;
    l->bytes += e->bytes;
}

static int by_use(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->used_ns != y->used_ns) return x->used_ns < y->used_ns ? -1 : 1;
    return strcmp(x->name, y->name);
}

void vkrt_cache_trim(const char *path)
{
    DIR *stream = path ? opendir(path) : NULL;
    if (!stream) return;
    const int dir = dirfd(stream);
    const time_t now = time(NULL);
    const uint64_t limit = limit_bytes();
    listing l = {0};
    for (struct dirent *d; (d = readdir(stream));) look_at(dir, d->d_name, now, &l);
    if (l.bytes > limit || l.count > MAX_FILES) {
        // Down to three quarters, so that not every process has to do it again.
        const uint64_t aim = limit / 4 * 3;
        qsort(l.entries, l.count, sizeof *l.entries, by_use);
        size_t left = l.count;
        for (size_t i = 0; i < l.count && (l.bytes > aim || left > MAX_FILES / 4 * 3);
             i++, left--) {
            unlinkat(dir, l.entries[i].name, 0);
            l.bytes -= l.entries[i].bytes;
        }
    }
    free(l.entries);
    closedir(stream);
}
