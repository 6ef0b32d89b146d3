// SPDX-License-Identifier: MIT
// codes.h: every diagnostic of the command itself.  X(id, code, blame, standard fix)
//
// The library's are in ir/diag_codes.h.  E08xx command line and data · E09xx files and devices
// docs/diagnostics.md explains them; tests/text/cmd has one failing command for each.
// clang-format off
X(MEMORY,      "E0001", SYSTEM,  "close other programs or use a smaller input")
X(USAGE,       "E0801", PROGRAM, "`vyre-grad --help` lists the verbs and their options")
X(UNAVAILABLE, "E0802", PROGRAM, "")
X(SELECT,      "E0803", PROGRAM, "name one with -p NAME")
X(SPEC,        "E0804", PROGRAM, "a SPEC is 1,2,3 | @file.npy | @file.npz | @file.png | @file.bin | zeros | ones | const:V | "
                                 "iota | cycle:N | uniform:LO:HI:SEED | normal:MEAN:STD:SEED")
X(MISSING,     "E0805", PROGRAM, "")
X(SHAPE,       "E0806", PROGRAM, "give shapes and scalars that fit the declarations: `vyre-grad info FILE` lists them")
X(DATA,        "E0807", PROGRAM, "give numbers of the declared type: `vyre-grad info FILE` lists them")
X(NPY,         "E0808", PROGRAM, "write it again with numpy.save")
X(FORM,        "E0809", PROGRAM, "end PATH in .spv, .vyre, .h or .json, or name a directory")
X(INPUT,       "E0810", PROGRAM, "")
X(TAPE,        "E0811", PROGRAM, "raise --tape-limit, or run fewer invocations or iterations")
X(PLAN,        "E0812", PROGRAM, "shaders/README.md says how plans and shaders fit together")
X(DISAGREE,    "E0813", PROGRAM, "")
X(RESUME,      "E0814", PROGRAM, "resume with the command that wrote it and more --steps, or start anew without --resume")
X(READ,        "E0901", SYSTEM,  "name a file that exists and may be read")
X(WRITE,       "E0902", SYSTEM,  "nothing was written; make room or choose another -o PATH")
X(DEVICE,      "E0903", SYSTEM,  "")
X(RANKS,       "E0905", SYSTEM,  "start all ranks again; --resume goes on from the last checkpoint, on any number of them")
X(VALIDATION,  "E0904", SYSTEM,  "this is a fault of vyre-grad, not of the program: please report it")
// clang-format on
