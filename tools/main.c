// SPDX-License-Identifier: MIT
// main.c: the vyre-grad command.
//
// A verb prepares everything it will write in memory and in temporary files; only when all has gone
// well are files renamed and stdout written.  So a failure leaves nothing half done.
#include "tools/command/archive.h"
#include "tools/command/gpu.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool (*const run_verb[VERB_COUNT])(command *, vy_diag *) = {
#define X(id, name, function, ...) [VERB_##id] = function,
    VERBS(X)
#undef X
};

// A closed stdin, stdout or stderr must not become the next file that is opened.
static void hold_standard_files(void)
{
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd ? O_RDONLY : O_WRONLY) < 0) _exit(2);
}

static bool want_color(int choice)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    if (choice != COLOR_AUTO) return choice == COLOR_ALWAYS;
    return isatty(STDERR_FILENO) && !(no && *no) && !(term && !strcmp(term, "dumb"));
}

// `-o x.json` of the verbs that print results: what --json would have printed.
static bool results_to_file(command *c, vy_diag *d)
{
    const verb v = c->o.verb;
    if (!verb_takes(v, HAS_RESULTS) || !c->o.output) return true;
    c->o.json = true;
    return ends_in(c->o.output, ".json") ||
           fail(d, TOOL_FORM, "end PATH in .json, or write arrays with --out NAME=@file.npy",
                "-o %s: `%s` writes its results as .json", c->o.output, verb_name(v));
}

static bool finish(command *c, vy_diag *d)
{
    const bool to_file = c->o.output && c->out.size;
    if (c->out.failed) return fail_memory(d);
    if (to_file && !output_add(&c->files, c->o.output, c->out.data, c->out.size, d)) return false;
    if (!archives_write(c, d) || !output_commit(&c->files, d)) return false;
    if (c->stream.size) return stdout_write(c->stream.data, c->stream.size, d);
    return to_file || stdout_write(c->out.data, c->out.size, d);
}

static bool run(command *c, vy_diag *d)
{
    if (c->o.topic) return help_topic(c, d) && finish(c, d);
    if (c->o.help) return options_help(c->o.verb, &c->out), c->o.output = NULL, finish(c, d);
    if (c->o.version) {
        text_printf(&c->out, "%s %s\n", TOOL_NAME, vy_version());
        return c->o.output = NULL, finish(c, d);
    }
    bool ok = results_to_file(c, d) && run_verb[c->o.verb](c, d);
    progress_end();
    ok = gpu_close(c, d) && ok; // also tells what the validation layers said
    if (vy_memory_failures())   // even one that was survived: its effects are unknown
        ok = false, *d = (vy_diag){0}, fail_memory(d);
    return ok && finish(c, d);
}

int main(int argc, char **argv)
{
    command c = {0};
    vy_diag d = {0};
    hold_standard_files();
    bool ok = options_read(&c.o, argc, argv, &d);
    const bool json = c.o.json;
    c.color = want_color(c.o.color);
    ok = ok && run(&c, &d);
    if (!ok && !c.muted) report(&c, &d, json);
    output_discard(&c.files);
    archives_free(&c);
    text_free(&c.out);
    text_free(&c.stream);
    text_free(&c.contents);
    text_free(&c.words);
    vys_work_free(&c.work);
    vy_module_free(c.module);
    names_free(&c.shaped);
    options_free(&c.o);
    const int status = ok ? c.status : d.blame == VY_BLAME_SYSTEM ? STATUS_SYSTEM : STATUS_WRONG;
    if (c.abandoned) { // exit handlers of the driver's libraries would free what its threads use
        fflush(NULL);
        _exit(status);
    }
    return status;
}
