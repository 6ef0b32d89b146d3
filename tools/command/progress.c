// SPDX-License-Identifier: MIT
// progress.c: one thread that sleeps, and reports after a second which step is running.
#include "tools/command/command.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static struct {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    const char *what;
    bool running, stop;
} line = {.mutex = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

static void *tell(void *unused)
{
    (void)unused;
    bool shown = false;
    struct timespec next;
    clock_gettime(CLOCK_REALTIME, &next); // what pthread_cond_timedwait counts by
    pthread_mutex_lock(&line.mutex);
    for (unsigned seconds = 1; !line.stop; seconds++) {
        next.tv_sec++;
        while (!line.stop && pthread_cond_timedwait(&line.wake, &line.mutex, &next) == 0) {}
        if (line.stop) break;
        fprintf(stderr, "\r" TOOL_NAME ": %s … %u s\033[K", line.what, seconds);
        fflush(stderr);
        shown = true;
    }
    pthread_mutex_unlock(&line.mutex);
    if (shown) fputs("\r\033[K", stderr);
    return NULL;
}

void progress_begin(const command *c, const char *what)
{
    progress_end();
    if (c->o.quiet || !isatty(STDERR_FILENO)) return;
    line.what = what;
    line.stop = false;
    line.running = pthread_create(&line.thread, NULL, tell, NULL) == 0; // else nothing is reported
}

void progress_end(void)
{
    if (!line.running) return;
    pthread_mutex_lock(&line.mutex);
    line.stop = true;
    pthread_cond_signal(&line.wake);
    pthread_mutex_unlock(&line.mutex);
    pthread_join(line.thread, NULL);
    line.running = false;
}
