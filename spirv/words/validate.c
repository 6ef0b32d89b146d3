// SPDX-License-Identifier: MIT
// validate.c: libspirv's validator and disassembler.
//
// Both are C++, whose `new` throws when out of memory.  C cannot catch that, and an uncaught
// exception ends the process.  But before `new` throws it calls the new-handler, and ours jumps
// back to before the call of libspirv.  Memory that libspirv had allocated by then is leaked.  The
// handler belongs to the entire process, so it is installed only while libspirv runs, and passes on
// failures of other threads.
#include "spirv/words/module.h"

#include <pthread.h>
#include <setjmp.h>

#include <spirv-tools/libspirv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const spv_target_env environments[] = {SPV_ENV_VULKAN_1_1, SPV_ENV_VULKAN_1_2,
                                              SPV_ENV_VULKAN_1_3};

// ----------------------------------------------------------------------------------------- memory
typedef void (*new_handler)(void);
extern new_handler set_new_handler(new_handler) __asm__("_ZSt15set_new_handlerPFvvE");
extern void throw_bad_alloc(void) __asm__("_ZSt17__throw_bad_allocv");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned inside; // threads in libspirv
static new_handler before;
static _Thread_local jmp_buf *way_out;

static void on_no_memory(void)
{
    if (way_out) longjmp(*way_out, 1);
    if (before) before(); // another thread's failure: as if ours were not installed
    if (!before) throw_bad_alloc();
}

static void enter(jmp_buf *out)
{
    pthread_mutex_lock(&lock);
    if (inside++ == 0) before = set_new_handler(on_no_memory);
    pthread_mutex_unlock(&lock);
    way_out = out;
}

static void leave(void)
{
    way_out = NULL;
    pthread_mutex_lock(&lock);
    if (--inside == 0) {
        new_handler now = set_new_handler(before);
        if (now != on_no_memory) set_new_handler(now); // replaced by other code meanwhile
    }
    pthread_mutex_unlock(&lock);
}

// Runs a call that uses libspirv; false: out of memory.
static bool guarded(void (*call)(void *), void *user)
{
    jmp_buf out;
    if (setjmp(out)) {
        leave();
        vy_memory_failed();
        return false;
    }
    enter(&out);
    call(user);
    leave();
    return true;
}

// -------------------------------------------------------------------------------------- validator
typedef struct validation {
    const uint32_t *words;
    size_t count;
    vy_target target;
    spv_result_t result;
    char why[300];
} validation;

static void validate(void *user)
{
    validation *v = user;
    spv_context context = spvContextCreate(environments[v->target]);
    spv_diagnostic why = NULL;
    spv_const_binary_t binary = {v->words, v->count};
    v->result = context ? spvValidate(context, &binary, &why) : SPV_ERROR_OUT_OF_MEMORY;
    snprintf(v->why, sizeof v->why, "%s", why && why->error ? why->error : "no reason given");
    spvDiagnosticDestroy(why);
    spvContextDestroy(context);
}

bool vy_spirv_validate(const uint32_t *words, size_t count, vy_target target, vy_diag *diag)
{
    validation v = {.words = words, .count = count, .target = target};
    if (!guarded(validate, &v) || v.result == SPV_ERROR_OUT_OF_MEMORY)
        vy_diag_set(diag, VY_E_MEMORY, 0, 0, NULL, "out of memory");
    else if (v.result != SPV_SUCCESS)
        vy_diag_set(diag, VY_E_INVALID_SPIRV, 0, 0, NULL, "internal: invalid SPIR-V for %s: %.300s",
                    vy_target_name(target), v.why);
    else
        return true;
    return false;
}

// ----------------------------------------------------------------------------------- disassembler
typedef struct disassembly {
    const uint32_t *words;
    size_t count, size;
    bool color;
    char *text;
} disassembly;

static void disassemble(void *user)
{
    disassembly *d = user;
    spv_context context = spvContextCreate(SPV_ENV_UNIVERSAL_1_6);
    spv_text text = NULL;
    uint32_t how = SPV_BINARY_TO_TEXT_OPTION_INDENT | SPV_BINARY_TO_TEXT_OPTION_FRIENDLY_NAMES |
                   SPV_BINARY_TO_TEXT_OPTION_NO_HEADER |
                   (d->color ? SPV_BINARY_TO_TEXT_OPTION_COLOR : 0);
    if (context && spvBinaryToText(context, d->words, d->count, how, &text, NULL) == SPV_SUCCESS) {
        d->text = malloc(text->length + 1);
        if (d->text) {
            memcpy(d->text, text->str, text->length);
            d->text[text->length] = 0;
            d->size = text->length;
        }
    }
    spvTextDestroy(text);
    spvContextDestroy(context);
}

char *vy_spirv_disassemble(const uint32_t *words, size_t count, bool color, size_t *size)
{
    disassembly d = {.words = words, .count = count, .color = color};
    if (!guarded(disassemble, &d))
        return NULL; // nothing is allocated by us before libspirv's last `new`
    if (size && d.text) *size = d.size;
    return d.text;
}
