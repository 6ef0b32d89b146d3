// SPDX-License-Identifier: MIT
// archive.h: arrays that a run writes into .npz archives.
#ifndef VYRE_TOOL_ARCHIVE_H
#define VYRE_TOOL_ARCHIVE_H

#include "tools/command/command.h"
#include "tools/data/npz.h"

bool archive_add(command *c, const spec *to, const array *a, vy_diag *d); // to->text, to->member
bool archives_write(command *c, vy_diag *d);                              // to c->files
void archives_free(command *c);

#endif
