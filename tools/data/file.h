// SPDX-License-Identifier: MIT
// file.h: reading files whole, and writing several so that either all appear or none.
#ifndef VYRE_TOOL_FILE_H
#define VYRE_TOOL_FILE_H

#include "tools/data/tool.h"

#define FILE_LIMIT ((size_t)1 << 28) // of program text: 256 MiB
#define DATA_LIMIT ((size_t)1 << 36) // of data

// Appends the whole file to `out`; path "-" is stdin.  False with *d: cannot be read, a directory,
// larger than `limit`, memory.
bool file_read(const char *path, size_t limit, text *out, vy_diag *d);

// Files to be written.  Each is complete on the disk under a temporary name next to its own before
// output_commit renames the first; output_discard (also after commit) removes what is left.
typedef struct output_file {
    char *path, *temporary; // temporary NULL: a device or pipe
    text contents;          // device or pipe: written at commit
} output_file;
typedef struct outputs {
    output_file *files;
    uint32_t count, capacity;
    uint64_t (*sources)[2]; // device and inode of the files that must stay
    uint32_t source_count;
} outputs;
// What this file holds is not replaced: output_add refuses it, under whatever name.  False: memory.
bool output_keep(outputs *o, const char *path);
bool output_add(outputs *o, const char *path, const void *data, size_t size, vy_diag *d);
// Could output_add write that file?  Of what takes long before it is written.
bool output_check(const outputs *o, const char *path, vy_diag *d);
bool output_commit(outputs *o, vy_diag *d);
void output_discard(outputs *o);

// Writes all of it to stdout.
bool stdout_write(const char *data, size_t size, vy_diag *d);

bool is_directory(const char *path);
bool ends_in(const char *path, const char *suffix);

#endif
