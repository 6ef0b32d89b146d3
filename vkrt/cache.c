// SPDX-License-Identifier: MIT
// cache.c: compiled kernels on disk.
//
// One file per kernel, device and driver holds the driver's data for that kernel (of a Vulkan
// pipeline cache).  Drivers trust it, so the file carries a checksum.  A file that fails it, is not
// a regular file of ours, or cannot be read or written is not an error: the cache only saves time.
// Files appear by a rename, so that processes may share a folder.  Using a file updates its time;
// the least recently used are removed when the folder has grown too large (trim.c).
#define _GNU_SOURCE // O_NOFOLLOW, futimens
#include "vkrt/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_FILE_BYTES ((size_t)64 << 20)

typedef struct file_header {
    char magic[8];
    vkrt_hash checksum; // of everything after this field
    vkrt_hash kernel;
    uint8_t uuid[16];
    uint32_t driver_version, vendor_id, device_id, unused;
    uint64_t blob_bytes;
} file_header; // followed by the blob

#define MAGIC "VKRTPC2\n"
#define UNSUMMED (offsetof(file_header, checksum) + sizeof(vkrt_hash))

// Two independent 64-bit FNV-1a style streams over 8-byte words, finished with splitmix64's mixer.
vkrt_hash vkrt_hash_bytes(vkrt_hash seed, const void *data, size_t size)
{
    uint64_t a = seed.word[0] ^ 0xcbf29ce484222325u, b = seed.word[1] ^ 0x9e3779b97f4a7c15u;
    const unsigned char *bytes = data;
    for (size_t i = 0; i < size; i += 8) {
        uint64_t w = 0;
        memcpy(&w, bytes + i, size - i < 8 ? size - i : 8);
        a = (a ^ w) * 0x100000001b3u;
        a ^= a >> 29;
        b = (b + w) * 0xd6e8feb86659fd93u;
        b ^= b >> 32;
    }
    uint64_t *const words[] = {&a, &b};
    for (int i = 0; i < 2; i++) {
        uint64_t x = *words[i] + size;
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
        x = (x ^ x >> 27) * 0x94d049bb133111ebu;
        *words[i] = x ^ x >> 31;
    }
    return (vkrt_hash){{a, b}};
}

// --- Where ---------------------------------------------------------------------------------------

// Makes `path` and its parents; errors show when the file is opened.
static void make_dirs(char *path)
{
    for (char *p = path + 1; *p; p++) {
        if (*p != '/') continue;
        *p = '\0';
        mkdir(path, 0700);
        *p = '/';
    }
    mkdir(path, 0700);
}

// Creates and returns the directory of the cache; NULL: there is to be none, or out of memory.
static char *cache_dir(const char *given)
{
    const char *base = given ? given : getenv("VYRE_CACHE_DIR"), *tail = "";
    if (base && !base[0]) return NULL;
    if (!base) {
        base = getenv("XDG_CACHE_HOME");
        tail = "/vyre";
        if (!base || base[0] != '/') { // the XDG specification ignores relative paths
            base = getenv("HOME");
            tail = "/.cache/vyre";
        }
        if (!base || !base[0]) return NULL;
    }
    size_t size = strlen(base) + strlen(tail) + 1;
    char *dir = malloc(size);
    if (!dir) return NULL;
    snprintf(dir, size, "%s%s", base, tail);
    make_dirs(dir);
    return dir;
}

static file_header header_for(const vkrt_device_info *info, vkrt_hash kernel, size_t blob)
{
    file_header h = {
        .magic = MAGIC,
        .kernel = kernel,
        .driver_version = info->driver_version,
        .vendor_id = info->vendor_id,
        .device_id = info->device_id,
        .blob_bytes = blob,
    };
    memcpy(h.uuid, info->cache_uuid, sizeof h.uuid);
    return h;
}

// The file's name; the header repeats the facts that the device's hash is computed from.
static char *file_path(const vkrt_device *device, vkrt_hash kernel)
{
    if (!device->cache.dir) return NULL;
    const file_header h = header_for(&device->physical.info, (vkrt_hash){{0, 0}}, 0);
    const vkrt_hash on =
        vkrt_hash_bytes((vkrt_hash){{3, 4}}, &h.uuid, sizeof h - offsetof(file_header, uuid));
    size_t size = strlen(device->cache.dir) + VKRT_CACHE_NAME_CHARS + 2;
    char *path = malloc(size);
    if (path)
        snprintf(path, size, "%s/" VKRT_CACHE_PREFIX "%016llx-%016llx%016llx" VKRT_CACHE_SUFFIX,
                 device->cache.dir, (unsigned long long)on.word[0],
                 (unsigned long long)kernel.word[0], (unsigned long long)kernel.word[1]);
    return path;
}

// --- Reading -------------------------------------------------------------------------------------

// The entire file, or NULL.  It may have been replaced by a pipe, a device or a link: opening must
// neither block nor follow links, and only a regular file is read.
static unsigned char *read_file(const char *path, size_t *size)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) return NULL;
    struct stat st;
    unsigned char *data = NULL;
    bool ours = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
                (st.st_uid == geteuid() || st.st_uid == 0) &&
                st.st_size >= (off_t)sizeof(file_header) && (uint64_t)st.st_size <= MAX_FILE_BYTES;
    if (ours) data = malloc((size_t)st.st_size);
    for (*size = 0; data && *size < (size_t)st.st_size;) {
        ssize_t n = read(fd, data + *size, (size_t)st.st_size - *size);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            free(data);
            data = NULL;
            break;
        }
        *size += (size_t)n;
    }
    if (data) futimens(fd, NULL); // used now
    close(fd);
    return data;
}

static bool valid(const vkrt_device_info *info, vkrt_hash kernel, const unsigned char *data,
                  size_t size)
{
    file_header h, want = header_for(info, kernel, size - sizeof h);
    memcpy(&h, data, sizeof h);
    want.checksum = vkrt_hash_bytes((vkrt_hash){{0, 0}}, data + UNSUMMED, size - UNSUMMED);
    return memcmp(&h, &want, sizeof h) == 0;
}

VkPipelineCache vkrt_cache_begin(vkrt_device *device, vkrt_hash kernel, bool *found)
{
    VkPipelineCacheCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
    VkPipelineCache handle = VK_NULL_HANDLE;
    size_t size = 0;
    char *path = file_path(device, kernel);
    unsigned char *data = path ? read_file(path, &size) : NULL;
    *found = data && valid(&device->physical.info, kernel, data, size);
    if (*found) {
        info.initialDataSize = size - sizeof(file_header);
        info.pInitialData = info.initialDataSize ? data + sizeof(file_header) : NULL;
    }
    // Without folder there is nothing to load or save; without memory the kernel is compiled
    // without a cache.
    if (path && device->vk.vkCreatePipelineCache(device->handle, &info, device->allocator, &handle))
        handle = VK_NULL_HANDLE;
    free(data);
    free(path);
    return handle;
}

// --- Writing -------------------------------------------------------------------------------------

static bool write_file(const char *path, const void *data, size_t size)
{
    size_t length = strlen(path) + 8;
    char *temp = malloc(length);
    if (!temp) return false;
    snprintf(temp, length, "%s.XXXXXX", path);
    int fd = mkostemp(temp, O_CLOEXEC);
    bool ok = fd >= 0;
    for (size_t at = 0; ok && at < size;) {
        ssize_t n = write(fd, (const char *)data + at, size - at);
        if (n < 0 && errno == EINTR) continue;
        ok = n > 0;
        if (ok) at += (size_t)n;
    }
    if (fd >= 0) ok = close(fd) == 0 && ok;
    ok = ok && rename(temp, path) == 0;
    if (!ok && fd >= 0) unlink(temp);
    free(temp);
    return ok;
}

static void save(vkrt_device *device, VkPipelineCache handle, const char *path, vkrt_hash kernel)
{
    size_t blob = 0;
    VkResult r = device->vk.vkGetPipelineCacheData(device->handle, handle, &blob, NULL);
    if (r != VK_SUCCESS || blob > MAX_FILE_BYTES - sizeof(file_header)) return;
    unsigned char *data = calloc(1, sizeof(file_header) + blob);
    if (!data) return;
    r = device->vk.vkGetPipelineCacheData(device->handle, handle, &blob,
                                          data + sizeof(file_header));
    file_header h = header_for(&device->physical.info, kernel, blob);
    size_t size = sizeof h + blob;
    memcpy(data, &h, sizeof h);
    h.checksum = vkrt_hash_bytes((vkrt_hash){{0, 0}}, data + UNSUMMED, size - UNSUMMED);
    memcpy(data, &h, sizeof h);
    if (r == VK_SUCCESS && write_file(path, data, size)) device->cache.written++;
    free(data);
}

void vkrt_cache_end(vkrt_device *device, VkPipelineCache handle, vkrt_hash kernel, bool keep)
{
    if (!handle) return;
    char *path = keep ? file_path(device, kernel) : NULL;
    if (path) save(device, handle, path, kernel);
    free(path);
    device->vk.vkDestroyPipelineCache(device->handle, handle, device->allocator);
    if (device->cache.written < VKRT_CACHE_TRIM_EVERY) return;
    device->cache.written = 0;
    vkrt_cache_trim(device->cache.dir);
}

void vkrt_cache_open(vkrt_device *device, const char *dir) { device->cache.dir = cache_dir(dir); }

void vkrt_cache_close(vkrt_device *device)
{
    vkrt_disk_cache *cache = &device->cache;
    if (cache->written) vkrt_cache_trim(cache->dir);
    free(cache->dir);
    *cache = (vkrt_disk_cache){0};
}
