// SPDX-License-Identifier: MIT
// file.h: regular files read whole; for the files of the session layer only.
#ifndef VYRE_SESSION_FILE_H
#define VYRE_SESSION_FILE_H

#include "session/fail.h"

#include <sys/stat.h>

// All of a regular file and a terminating 0, malloc'd; *s is what it is, st_size what was read.
// NULL: *why.
char *vys_file_regular(int fd, struct stat *s, const char **why);
// The same of a path.  False with *d: E0901, E0001.
bool vys_file_read(const char *path, void **data, size_t *size, vy_diag *d);

#endif
