// SPDX-License-Identifier: MIT
// gather_addend.h: what additions add, kept by the reverse program.
#ifndef VYRE_GATHER_ADDEND_H
#define VYRE_GATHER_ADDEND_H

#include "autodiff/gather/gather_build.h"

void gather_need_again(gather *g); // what the sites need, where there is something kept
// Keeps what the sites of the program add where computing that again costs more.  False: nothing,
// or not where it has to be; some may be kept then.
bool gather_keep_addends(gather *g, uint32_t program);
void gather_addends_pay(gather *g, uint32_t before); // those of a program stay; before: kept.count
void gather_keep_less(gather *g, uint32_t count);    // only the first `count` of what is kept

#endif
