// SPDX-License-Identifier: MIT
// import.h: `import "PATH";` of a text, from the file system.
//
//   char id[VYS_IDENTITY] = "";
//   vys_file_identity("model.vyre", id);            // so that a file that imports it is a cycle
//   vy_parse_options o = {.import = vys_import_file, .identity = id};
//   vy_module *m = vy_parse_from(text, size, "model.vyre", &o);
//   vys_task_build(s, m, &settings, &task, &d);
//   vy_module_diag_format(m, &d, false, message, sizeof message);   // names the right file
//
// A path is relative to the folder of the file that imports it, and may be absolute; that of a text
// whose name has no folder is relative to the working directory.  A relative one that names nothing
// there is looked for in the folders that `user` gives.  Only regular files are read.
#ifndef VYRE_SESSION_IMPORT_H
#define VYRE_SESSION_IMPORT_H

#include "session/fail.h"

#ifdef __cplusplus
extern "C" {
#endif

// `user`: NULL, or a `const char *const *`: the folders that are searched, in this order, and NULL.
VYS_API void vys_import_file(void *user, vy_import *request);
// Equal for two paths exactly if they are one file.  False: it cannot be examined; `out` is "".
enum { VYS_IDENTITY = 48 };
VYS_API bool vys_file_identity(const char *path, char out[VYS_IDENTITY]);

#ifdef __cplusplus
}
#endif
#endif
