// SPDX-License-Identifier: MIT
// module.h: parts of the command that are loaded when they are needed, with libraries of their own.
#ifndef VYRE_TOOL_MODULE_H
#define VYRE_TOOL_MODULE_H

// The module of that file name, from beside the command (in a build folder), else from where it is
// installed.  NULL: `why`.
void *module_load(const char *file, char why[200]);

#endif
