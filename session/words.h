// SPDX-License-Identifier: MIT
// words.h: how diagnostics phrase a fix: a command has options, a library has calls.
#ifndef VYRE_SESSION_WORDS_H
#define VYRE_SESSION_WORDS_H

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vys_words {
    const char *given;     // the source of a scalar's value that was given: "--set"
    const char *scalar[2]; // around its name, to give a scalar: "add --set ", "=VALUE"
    const char *data[3];   // … twice, to give a buffer
    const char *length[3]; // … a buffer's length; [1] of an input, [2] of an output
    const char *groups;    // to say how many workgroups run
    const char *no_groups; // not to
    const char *select[2]; // to name a program: before a list of names; before one
    const char *tape;      // to allow more workspace
} vys_words;

#ifdef __cplusplus
}
#endif
#endif
