// SPDX-License-Identifier: MIT
// codes.h: diagnostics of the session layer.  X(id, code, blame, standard fix)
//
// The command has them too, and more of its own (tools/data/codes.h); those of programs are in
// ir/diag_codes.h.  docs/diagnostics.md explains them.
// clang-format off
X(MEMORY,      "E0001", SYSTEM,  "close other programs or use a smaller input")
X(USAGE,       "E0801", PROGRAM, "")
X(UNAVAILABLE, "E0802", PROGRAM, "")
X(SELECT,      "E0803", PROGRAM, "name one")
X(MISSING,     "E0805", PROGRAM, "")
X(SHAPE,       "E0806", PROGRAM, "give shapes and scalars that fit the declarations")
X(DATA,        "E0807", PROGRAM, "give numbers of the declared type")
X(INPUT,       "E0810", PROGRAM, "")
X(TAPE,        "E0811", PROGRAM, "raise the limit, or run fewer invocations or iterations")
X(READ,        "E0901", SYSTEM,  "name a file that exists and may be read")
X(WRITE,       "E0902", SYSTEM,  "")
X(DEVICE,      "E0903", SYSTEM,  "")
X(RANKS,       "E0905", SYSTEM,  "start all ranks again; --resume goes on from the last checkpoint, on any number of them")
// clang-format on
