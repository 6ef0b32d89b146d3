// SPDX-License-Identifier: MIT
// probe.c: see probe.h.  The child writes plain structs into a pipe: a head, then per job an
// outcome with its executables and figures.  Where the pipe ends early, the driver has ended the
// process on the current job, and another child continues after it.
#define _GNU_SOURCE // pipe2
#include "tools/command/probe.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct head {
    vkrt_status status;
    vkrt_error error;
    char device[256], driver[512];
} head;

typedef struct outcome {
    vkrt_status status;
    vkrt_error error;
    uint32_t executable_count;
} outcome;

// --- The child -----------------------------------------------------------------------------------

static bool put(int to, const void *data, size_t size)
{
    for (const char *at = data; size > 0;) {
        const ssize_t n = write(to, at, size);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        at += n;
        size -= (size_t)n;
    }
    return true;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

// A library that is already loaded is not searched for on the system; LD_LIBRARY_PATH would have to
// be set before this process starts.  Names are sorted, so that libdrm.so precedes the libdrm_….so
// that need it; what cannot be loaded yet is tried again.
static void load_libraries(const char *folder)
{
    char *paths[256];
    uint32_t count = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && count < COUNT_OF(paths) && (e = readdir(dir));) {
        const char *version = strstr(e->d_name, ".so.");
        if (!version || strchr(version + 4, '.')) continue; // the name that other libraries use
        paths[count] = malloc(strlen(folder) + strlen(e->d_name) + 2);
        if (paths[count]) sprintf(paths[count++], "%s/%s", folder, e->d_name);
    }
    if (dir) closedir(dir);
    qsort(paths, count, sizeof *paths, by_name);
    for (uint32_t i = 0; i < 2 * count; i++)
        if (dlopen(paths[i % count], RTLD_NOW | RTLD_GLOBAL)) continue;
    for (uint32_t i = 0; i < count; i++) free(paths[i]);
}

static void choose_driver(const driver_choice *choice)
{
    if (choice->file) {
        setenv("VK_DRIVER_FILES", choice->file, 1);
        setenv("VK_ICD_FILENAMES", choice->file, 1); // for loaders before 1.3.207
        unsetenv("VYRE_DEVICE");
    }
    if (choice->chip) setenv("RADV_FORCE_FAMILY", choice->chip, 1);
    if (choice->libraries) load_libraries(choice->libraries);
}

static bool send_inspection(int to, const vkrt_inspection *in)
{
    for (uint32_t i = 0; i < in->executable_count; i++) {
        const vkrt_executable *e = &in->executables[i];
        if (!put(to, e, sizeof *e) || !put(to, e->figures, e->figure_count * sizeof *e->figures) ||
            !put(to, e->assembly, e->assembly_size))
            return false;
    }
    return true;
}

static void child_main(int to, const driver_choice *choice, const char *name, const probe_job *jobs,
                       uint32_t count)
{
    vkrt_instance *instance = NULL;
    vkrt_device *device = NULL;
    head h = {0};
    choose_driver(choice);
    const vkrt_device_desc desc = {.device = name, .inspect = true};
    h.status = vkrt_instance_create(NULL, &instance, &h.error);
    if (!h.status) h.status = vkrt_device_create(instance, &desc, &device, &h.error);
    if (device) {
        const vkrt_device_info *info = vkrt_device_get_info(device);
        memcpy(h.device, info->name, sizeof h.device);
        memcpy(h.driver, info->driver, sizeof h.driver);
    }
    bool ok = put(to, &h, sizeof h) && !h.status;
    for (uint32_t i = 0; ok && i < count; i++) {
        const probe_job *j = &jobs[i];
        outcome o = {0};
        vkrt_inspection *in = NULL;
        o.status =
            vkrt_device_inspect(device, j->words, j->word_count, j->entry, j->needs, &in, &o.error);
        if (in) o.executable_count = in->executable_count;
        ok = put(to, &o, sizeof o) && (!in || send_inspection(to, in));
        vkrt_inspection_free(in);
    }
    vkrt_device_destroy(device);
    const uint32_t messages = instance ? vkrt_instance_message_count(instance) : 0;
    for (uint32_t i = 0; i < messages; i++) {
        const char *message = vkrt_instance_message(instance, i);
        if (message) fprintf(stderr, TOOL_NAME ": validation: %s\n", message);
    }
    vkrt_instance_destroy(instance);
    if (ok) put(to, &messages, sizeof messages);
    fflush(stderr);
    _exit(0); // without the parent's atexit handlers
}

// --- The parent ----------------------------------------------------------------------------------

typedef struct child {
    pid_t id;
    int from;
    FILE *said; // its stderr
    uint64_t seconds;
    bool late; // it took too long and was ended
} child;

static bool start(child *c, const driver_choice *choice, const char *device, const probe_job *jobs,
                  uint32_t count, vy_diag *d)
{
    int ends[2];
    c->late = false;
    c->said = tmpfile();
    if (!c->said || pipe2(ends, O_CLOEXEC))
        return fail(d, TOOL_DEVICE, NULL, "cannot talk to a child process: %s", strerror(errno));
    fflush(NULL);
    c->id = fork();
    if (c->id == 0) {
        dup2(fileno(c->said), STDERR_FILENO);
        dup2(fileno(c->said), STDOUT_FILENO);
        child_main(ends[1], choice, device, jobs, count);
    }
    close(ends[1]);
    c->from = ends[0];
    if (c->id > 0) return true;
    close(c->from);
    return fail(d, TOOL_DEVICE, NULL, "cannot start a child process: %s", strerror(errno));
}

// False: the child has ended, or timed out.
static bool receive(child *c, void *data, size_t size)
{
    for (char *at = data; size > 0;) {
        struct pollfd p = {.fd = c->from, .events = POLLIN};
        const int ready =
            poll(&p, 1, c->seconds && c->seconds < 2000000 ? (int)c->seconds * 1000 : -1);
        if (ready < 0 && errno == EINTR) continue;
        if (ready == 0) c->late = true;
        if (ready <= 0) return false;
        const ssize_t n = read(c->from, at, size);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        at += n;
        size -= (size_t)n;
    }
    return true;
}

// The last line that the child wrote, without RADV's usual message about missing hardware.
static void last_words(FILE *said, char *out, size_t size, bool pass_on)
{
    char line[512];
    *out = '\0';
    rewind(said);
    while (fgets(line, sizeof line, said)) {
        if (strstr(line, "ac_compute_device_uuid")) continue;
        if (pass_on) fputs(line, stderr);
        line[strcspn(line, "\n")] = '\0';
        const char *from = line + strspn(line, " \t");
        if (*from) snprintf(out, size, "%.*s", (int)size - 1, from);
    }
}

// Ends the child.  `why`: how it ended, in words.
static void finish(child *c, char *why, size_t size, bool pass_on)
{
    int status = 0;
    char said[200];
    close(c->from);
    if (c->late) kill(c->id, SIGKILL);
    while (waitpid(c->id, &status, 0) < 0 && errno == EINTR) {}
    last_words(c->said, said, sizeof said, pass_on);
    fclose(c->said);
    if (c->late)
        snprintf(why, size, "the driver did not finish in %" PRIu64 " s", c->seconds);
    else if (WIFSIGNALED(status))
        snprintf(why, size, "the driver ended the process (%s)%s%s", strsignal(WTERMSIG(status)),
                 *said ? ": " : "", said);
    else
        snprintf(why, size, "the driver ended the process (exit status %d)%s%s",
                 WEXITSTATUS(status), *said ? ": " : "", said);
}

static bool take_result(child *c, probe_result *r)
{
    outcome o;
    if (!receive(c, &o, sizeof o)) return false;
    r->status = o.status;
    r->error = o.error;
    if (o.status) return true;
    r->inspection = calloc(1, sizeof *r->inspection);
    if (!r->inspection) return false;
    r->inspection->executables = calloc(o.executable_count + 1, sizeof(vkrt_executable));
    if (!r->inspection->executables) return false;
    for (uint32_t i = 0; i < o.executable_count; i++) {
        vkrt_executable *e = &r->inspection->executables[i];
        if (!receive(c, e, sizeof *e)) { // its pointers are the child's
            *e = (vkrt_executable){0};
            return false;
        }
        e->figures = calloc(e->figure_count + 1, sizeof *e->figures);
        e->assembly = e->assembly ? calloc(e->assembly_size, 1) : NULL;
        r->inspection->executable_count++;
        if (!e->figures || !receive(c, e->figures, e->figure_count * sizeof *e->figures) ||
            (e->assembly_size && (!e->assembly || !receive(c, e->assembly, e->assembly_size))))
            return false;
    }
    return true;
}

// One child for the jobs from *at on; *at is advanced past those that it has answered.
static bool round_of(probe *p, uint32_t *at, child *c, const driver_choice *choice,
                     const char *device, const probe_job *jobs, vy_diag *d)
{
    head h;
    char why[400];
    uint32_t messages = 0;
    if (!start(c, choice, device, jobs + *at, p->count - *at, d)) return false;
    const bool opened = receive(c, &h, sizeof h);
    bool alive = opened && !h.status;
    while (alive && *at < p->count && (alive = take_result(c, &p->results[*at]))) ++*at;
    alive = alive && receive(c, &messages, sizeof messages);
    finish(c, why, sizeof why, messages > 0);
    p->messages += messages;
    if (!opened) return fail(d, TOOL_DEVICE, "choose another --driver", "%s", why);
    if (h.status) {
        char said[200];
        snprintf(said, sizeof said, "%s", strstr(why, "): ") ? strstr(why, "): ") + 3 : "");
        return fail(d, TOOL_DEVICE, h.error.fix, "%s%s%s", h.error.text,
                    *said ? "; the driver says: " : "", said);
    }
    memcpy(p->device, h.device, sizeof p->device);
    memcpy(p->driver, h.driver, sizeof p->driver);
    if (*at == p->count) return true;
    probe_result *r = &p->results[(*at)++];
    vkrt_inspection_free(r->inspection);
    *r = (probe_result){.status = VKRT_DRIVER};
    snprintf(r->error.text, sizeof r->error.text, "%s", why);
    snprintf(
        r->error.fix, sizeof r->error.fix,
        "the chip or its compiler lacks something that the kernel uses; choose another --driver");
    return true;
}

bool probe_run(probe *p, const driver_choice *choice, const char *device, const probe_job *jobs,
               uint32_t count, uint64_t seconds, vy_diag *d)
{
    child c = {.seconds = seconds};
    *p = (probe){.results = calloc(count + 1u, sizeof *p->results), .count = count};
    if (!p->results) return fail_memory(d);
    uint32_t at = 0;
    bool ok = true;
    do ok = round_of(p, &at, &c, choice, device, jobs, d);
    while (ok && at < count);
    return ok;
}

void probe_free(probe *p)
{
    for (uint32_t i = 0; p->results && i < p->count; i++)
        vkrt_inspection_free(p->results[i].inspection);
    free(p->results);
    *p = (probe){0};
}
