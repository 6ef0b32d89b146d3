// SPDX-License-Identifier: MIT
// cache.c: compiled pipelines on disk.
//
// One file per device and driver holds the hashes of the kernels compiled so far and Vulkan's own
// cache blob.  Drivers trust that blob, so the file carries a checksum; a file that fails it,
// cannot be read or cannot be written is no error: the cache only ever saves time.  Writers merge
// with what others wrote meanwhile and replace the file in one rename.
#define _POSIX_C_SOURCE 200809L
#include "vkrt/internal.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_FILE_BYTES ((size_t)256 << 20)

typedef struct file_header {
    char magic[8];
    vkrt_hash checksum; // of everything after this field
    uint8_t uuid[16];
    uint32_t driver_version, vendor_id, device_id, kernel_count;
    uint64_t blob_bytes;
} file_header; // followed by kernel_count hashes and the blob

#define MAGIC "VKRTPC1\n"
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

static bool same(vkrt_hash a, vkrt_hash b)
{
    return a.word[0] == b.word[0] && a.word[1] == b.word[1];
}

static bool find(const vkrt_disk_cache *cache, uint32_t count, vkrt_hash kernel)
{
    for (uint32_t i = 0; i < count; i++)
        if (same(cache->kernels[i], kernel)) return true;
    return false;
}

bool vkrt_cache_knows(const vkrt_disk_cache *cache, vkrt_hash kernel)
{
    return find(cache, cache->loaded_count, kernel);
}

static void append(vkrt_disk_cache *cache, vkrt_hash kernel)
{
    if (find(cache, cache->kernel_count, kernel)) return;
    if (cache->kernel_count == cache->kernel_capacity) {
        uint32_t capacity = 2 * cache->kernel_capacity + 32;
        vkrt_hash *grown = realloc(cache->kernels, capacity * sizeof *grown);
        if (!grown) return;
        cache->kernels = grown;
        cache->kernel_capacity = capacity;
    }
    cache->kernels[cache->kernel_count++] = kernel;
}

void vkrt_cache_add(vkrt_disk_cache *cache, vkrt_hash kernel)
{
    if (!cache->path) return;
    uint32_t before = cache->kernel_count;
    append(cache, kernel);
    cache->dirty = cache->dirty || cache->kernel_count > before;
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

// Directory of the cache, made; NULL: none wanted, or no memory (then there is no cache).
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

static char *cache_path(const vkrt_device_info *info, const char *given)
{
    char *dir = cache_dir(given);
    if (!dir) return NULL;
    char uuid[33];
    for (int i = 0; i < 16; i++) snprintf(uuid + 2 * i, 3, "%02x", info->cache_uuid[i]);
    size_t size = strlen(dir) + 96;
    char *path = malloc(size);
    if (path)
        snprintf(path, size, "%s/pipelines-%s-%x-%x-%x.bin", dir, uuid, info->vendor_id,
                 info->device_id, info->driver_version);
    free(dir);
    return path;
}

// --- Reading -------------------------------------------------------------------------------------

// The whole file, or NULL.
static unsigned char *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    struct stat st;
    unsigned char *data = NULL;
    bool ok = fstat(fileno(file), &st) == 0 && S_ISREG(st.st_mode) &&
              st.st_size >= (off_t)sizeof(file_header) && (size_t)st.st_size <= MAX_FILE_BYTES;
    if (ok) data = malloc((size_t)st.st_size);
    if (data) {
        *size = fread(data, 1, (size_t)st.st_size, file);
        if (*size != (size_t)st.st_size) {
            free(data);
            data = NULL;
        }
    }
    fclose(file);
    return data;
}

static bool valid(const vkrt_device_info *info, const unsigned char *data, size_t size,
                  file_header *h)
{
    memcpy(h, data, sizeof *h);
    if (memcmp(h->magic, MAGIC, sizeof h->magic) != 0) return false;
    if (memcmp(h->uuid, info->cache_uuid, sizeof h->uuid) != 0) return false;
    if (h->driver_version != info->driver_version || h->vendor_id != info->vendor_id ||
        h->device_id != info->device_id)
        return false;
    size_t left = size - sizeof *h;
    if (h->kernel_count > left / sizeof(vkrt_hash)) return false;
    if (h->blob_bytes != left - h->kernel_count * sizeof(vkrt_hash)) return false;
    vkrt_hash sum = vkrt_hash_bytes((vkrt_hash){{0, 0}}, data + UNSUMMED, size - UNSUMMED);
    return same(sum, h->checksum);
}

// Adds the file's kernels to the cache and makes a Vulkan cache of its blob, or of nothing.
static VkPipelineCache load(vkrt_device *device, VkResult *r)
{
    vkrt_disk_cache *cache = &device->cache;
    VkPipelineCacheCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
    VkPipelineCache handle = VK_NULL_HANDLE;
    size_t size = 0;
    unsigned char *data = cache->path ? read_file(cache->path, &size) : NULL;
    file_header h;
    if (data && valid(&device->physical.info, data, size, &h)) {
        const unsigned char *at = data + sizeof h;
        for (uint32_t i = 0; i < h.kernel_count; i++, at += sizeof(vkrt_hash)) {
            vkrt_hash kernel;
            memcpy(&kernel, at, sizeof kernel);
            append(cache, kernel);
        }
        info.initialDataSize = (size_t)h.blob_bytes;
        info.pInitialData = h.blob_bytes ? at : NULL;
    }
    *r = device->vk.vkCreatePipelineCache(device->handle, &info, NULL, &handle);
    free(data);
    return handle;
}

vkrt_status vkrt_cache_open(vkrt_device *device, const char *dir, vkrt_error *error)
{
    vkrt_disk_cache *cache = &device->cache;
    cache->path = cache_path(&device->physical.info, dir);
    VkResult r;
    cache->handle = load(device, &r);
    cache->loaded_count = cache->kernel_count;
    return r == VK_SUCCESS ? VKRT_OK : vkrt_device_fail(device, error, r, "pipeline cache");
}

// --- Writing -------------------------------------------------------------------------------------

static bool write_file(const char *path, const void *data, size_t size)
{
    size_t length = strlen(path) + 8;
    char *temp = malloc(length);
    if (!temp) return false;
    snprintf(temp, length, "%s.XXXXXX", path);
    int fd = mkstemp(temp);
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

static void save(vkrt_device *device)
{
    vkrt_disk_cache *cache = &device->cache;
    VkResult r;
    VkPipelineCache others = load(device, &r); // another process may have written meanwhile
    if (r == VK_SUCCESS) {
        device->vk.vkMergePipelineCaches(device->handle, cache->handle, 1, &others);
        device->vk.vkDestroyPipelineCache(device->handle, others, NULL);
    }
    size_t blob = 0, kernels = cache->kernel_count * sizeof(vkrt_hash);
    r = device->vk.vkGetPipelineCacheData(device->handle, cache->handle, &blob, NULL);
    if (r != VK_SUCCESS || blob > MAX_FILE_BYTES / 2) return;
    unsigned char *data = calloc(1, sizeof(file_header) + kernels + blob);
    if (!data) return;
    r = device->vk.vkGetPipelineCacheData(device->handle, cache->handle, &blob,
                                          data + sizeof(file_header) + kernels);
    const vkrt_device_info *info = &device->physical.info;
    file_header h = {
        .driver_version = info->driver_version,
        .vendor_id = info->vendor_id,
        .device_id = info->device_id,
        .kernel_count = cache->kernel_count,
        .blob_bytes = blob,
    };
    memcpy(h.magic, MAGIC, sizeof h.magic);
    memcpy(h.uuid, info->cache_uuid, sizeof h.uuid);
    memcpy(data, &h, sizeof h);
    if (kernels) memcpy(data + sizeof h, cache->kernels, kernels);
    size_t size = sizeof h + kernels + blob;
    h.checksum = vkrt_hash_bytes((vkrt_hash){{0, 0}}, data + UNSUMMED, size - UNSUMMED);
    memcpy(data, &h, sizeof h);
    if (r == VK_SUCCESS) write_file(cache->path, data, size);
    free(data);
}

void vkrt_cache_close(vkrt_device *device)
{
    vkrt_disk_cache *cache = &device->cache;
    if (cache->dirty && cache->handle && !device->lost) save(device);
    if (cache->handle) device->vk.vkDestroyPipelineCache(device->handle, cache->handle, NULL);
    free(cache->path);
    free(cache->kernels);
    *cache = (vkrt_disk_cache){0};
}
