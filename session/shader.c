// SPDX-License-Identifier: MIT
// shader.c: see shader.h.
//
// The compiler is a child process, so that nothing of it is linked, and one that crashes is an
// error like another.  It writes to a temporary file; what it prints is read if it fails.
#include "session/shader.h"

#include "session/file.h"
#include "session/internal.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { MOST_WORDS = 16 };

typedef struct compiler {
    const char *suffix, *command, *package;
    const char *words[MOST_WORDS]; // behind the command; NULL ends them
    const char *output;            // the option before the name of the result
} compiler;

// Of several rows for one suffix the first whose compiler is installed.
static const compiler compilers[] = {
    {".comp",
     "glslangValidator",
     "glslang-tools",
     {"-V", "-g", "-S", "comp", "--target-env", "vulkan1.2", NULL},
     "-o"},
    {".glsl",
     "glslangValidator",
     "glslang-tools",
     {"-V", "-g", "-S", "comp", "--target-env", "vulkan1.2", NULL},
     "-o"},
    {".hlsl",
     "dxc",
     "the DirectX shader compiler",
     {"-spirv", "-T", "cs_6_2", "-E", "main", "-fspv-debug=line", NULL},
     "-Fo"},
    {".hlsl",
     "glslangValidator",
     "glslang-tools",
     {"-D", "-V", "-g", "-S", "comp", "-e", "main", "--target-env", "vulkan1.2", NULL},
     "-o"},
    {".slang", "slangc", "Slang", {"-target", "spirv", "-g", "-O0", NULL}, "-o"},
};

static const compiler *compiler_of(const char *path)
{
    const size_t n = strlen(path);
    for (size_t i = 0; i < COUNT_OF(compilers); i++) {
        const size_t m = strlen(compilers[i].suffix);
        if (n > m && !strcasecmp(path + n - m, compilers[i].suffix)) return &compilers[i];
    }
    return NULL;
}

bool vys_shader_takes(const char *path) { return compiler_of(path) != NULL; }

// ---------------------------------------------------------------------------------------- the call
typedef struct call {
    char **words; // of the command line, each malloc'd; NULL ends them
    uint32_t count;
    FILE *said;
    char result[4096]; // the temporary file; "": none yet
} call;

static bool add(call *c, const char *before, const char *word, vy_diag *d)
{
    const size_t n = strlen(before) + strlen(word) + 1;
    char *both = malloc(n);
    if (!both) return vys_fail_memory(d);
    snprintf(both, n, "%s%s", before, word);
    c->words[c->count++] = both;
    return true;
}

static bool make_words(call *c, const compiler *f, const char *path, const vys_shader_options *o,
                       vy_diag *d)
{
    c->words = calloc(MOST_WORDS + 5 + o->define_count + o->include_count, sizeof *c->words);
    bool ok = (c->words || vys_fail_memory(d)) && add(c, "", f->command, d);
    for (uint32_t i = 0; ok && f->words[i]; i++) ok = add(c, "", f->words[i], d);
    for (uint32_t i = 0; ok && i < o->define_count; i++) ok = add(c, "-D", o->defines[i], d);
    for (uint32_t i = 0; ok && i < o->include_count; i++) ok = add(c, "-I", o->includes[i], d);
    return ok && add(c, "", f->output, d) && add(c, "", c->result, d) && add(c, "", path, d);
}

static void free_words(call *c)
{
    for (uint32_t i = 0; i < c->count; i++) free(c->words[i]);
    free(c->words);
    c->words = NULL;
    c->count = 0;
}

static bool temporary(call *c, vy_diag *d)
{
    const char *folder = getenv("TMPDIR");
    const int n = snprintf(c->result, sizeof c->result, "%s/vyre-XXXXXX",
                           folder && *folder ? folder : "/tmp");
    const int file = n > 0 && (size_t)n < sizeof c->result ? mkstemp(c->result) : -1;
    if (file >= 0) close(file);
    if (file < 0) c->result[0] = '\0';
    c->said = file < 0 ? NULL : tmpfile();
    return c->said || vys_fail(d, VYS_WRITE, "make room in /tmp, or set TMPDIR",
                               "cannot write a temporary file: %s", strerror(errno));
}

// Starts it.  0, or why it could not be started; ENOENT: it is not installed.
static int start(const call *c, const compiler *f, pid_t *child)
{
    posix_spawn_file_actions_t to;
    int error = posix_spawn_file_actions_init(&to);
    if (error) return error;
    error = posix_spawn_file_actions_adddup2(&to, fileno(c->said), STDOUT_FILENO);
    if (!error) error = posix_spawn_file_actions_adddup2(&to, fileno(c->said), STDERR_FILENO);
    if (!error) error = posix_spawnp(child, f->command, &to, NULL, c->words, environ);
    posix_spawn_file_actions_destroy(&to);
    return error;
}

// The next compiler for shaders of this suffix; NULL: there is none.
static const compiler *next_of(const compiler *f)
{
    const compiler *next = f + 1;
    const bool same = next < compilers + COUNT_OF(compilers) && !strcmp(next->suffix, f->suffix);
    return same ? next : NULL;
}

// Runs the first that is installed, which `f` is then, to its end.  False: none could be started.
static bool run(call *c, const compiler **f, const char *path, const vys_shader_options *o,
                int *status, vy_diag *d)
{
    pid_t child;
    if (!make_words(c, *f, path, o, d)) return false;
    const int error = start(c, *f, &child);
    if (error == ENOENT && next_of(*f)) {
        *f = next_of(*f);
        free_words(c);
        return run(c, f, path, o, status, d);
    }
    char fix[100];
    snprintf(fix, sizeof fix, "install %s, or give a .spv", (*f)->package);
    if (error)
        return vys_fail(d, VYS_UNAVAILABLE, fix, "%s shaders need %s: %s", (*f)->suffix,
                        (*f)->command, strerror(error));
    while (waitpid(child, status, 0) < 0 && errno == EINTR) {}
    return true;
}

// glslc, for which many shaders are written, includes without being asked to.
static const char *fix_of(const char *said)
{
    return strstr(said, "GL_GOOGLE_include_directive")
               ? "add `#extension GL_GOOGLE_include_directive : require` below #version, or compile "
                 "it with `glslc -g` and give the .spv"
               : "correct the shader";
}

// The first line of what it said that is about an error, else the last one.
static bool refused(call *c, const compiler *f, const char *path, vy_diag *d)
{
    char line[512], said[512] = "";
    rewind(c->said);
    while (fgets(line, sizeof line, c->said)) {
        line[strcspn(line, "\r\n")] = '\0';
        if (*line && strcmp(line, path)) snprintf(said, sizeof said, "%s", line);
        if (strstr(line, "ERROR") || strstr(line, "error")) break;
    }
    return vys_fail(d, VYS_INPUT, fix_of(said), "%s refuses %s: %.300s", f->command, path,
                    *said ? said : "it ended without saying why");
}

bool vys_shader_compile(const char *path, const vys_shader_options *options, void **words,
                        size_t *size, vy_diag *d)
{
    vys_shader_options taken;
    const compiler *f = compiler_of(path);
    call c = {0};
    int status = 0;
    if (!vys_take(&taken, sizeof taken, options, "vys_shader_options", d)) return false;
    if (!f)
        return vys_fail(d, VYS_USAGE, "name it .comp, .glsl, .hlsl or .slang",
                        "no compiler is known for %s", path);
    if (access(path, R_OK))
        return vys_fail(d, VYS_READ, NULL, "cannot open %s: %s", path, strerror(errno));
    bool ok = temporary(&c, d) && run(&c, &f, path, &taken, &status, d);
    if (ok && (!WIFEXITED(status) || WEXITSTATUS(status))) ok = refused(&c, f, path, d);
    ok = ok && vys_file_read(c.result, (void **)words, size, d);
    if (*c.result) unlink(c.result);
    if (c.said) fclose(c.said);
    free_words(&c);
    return ok;
}
