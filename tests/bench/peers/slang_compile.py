# SPDX-License-Identifier: MIT
"""slang_compile.py LIBRARY IN.slang OUT.spv [OPTION…]: compiles one file with Slang's library, by the calls of slangc.

Prints the seconds of processor time from opening the library to the written file: Python's own start is not counted.
"""
import ctypes
import os
import sys
import time


def main() -> None:
    library, source, target = sys.argv[1:4]
    start = time.process_time()
    slang = ctypes.CDLL(library)
    pointer, text = ctypes.c_void_p, ctypes.c_char_p
    slang.spCreateSession.restype = slang.spCreateCompileRequest.restype = pointer
    slang.spCreateSession.argtypes = [text]
    slang.spCreateCompileRequest.argtypes = slang.spCompile.argtypes = slang.spGetDiagnosticOutput.argtypes = [pointer]
    slang.spProcessCommandLineArguments.argtypes = [pointer, ctypes.POINTER(text), ctypes.c_int]
    slang.spGetDiagnosticOutput.restype = text
    slang.spGetCompileRequestCode.argtypes = [pointer, ctypes.POINTER(ctypes.c_size_t)]
    slang.spGetCompileRequestCode.restype = pointer
    request = slang.spCreateCompileRequest(slang.spCreateSession(None))
    words = [source, "-target", "spirv", "-entry", "main", "-stage", "compute", "-I", os.path.dirname(os.path.abspath(__file__))]
    words += sys.argv[4:]
    arguments = (text * len(words))(*[word.encode() for word in words])
    if slang.spProcessCommandLineArguments(request, arguments, len(words)) < 0 or slang.spCompile(request) < 0:
        sys.exit((slang.spGetDiagnosticOutput(request) or b"").decode())
    size = ctypes.c_size_t()
    code = slang.spGetCompileRequestCode(request, ctypes.byref(size))
    with open(target, "wb") as f:
        f.write(ctypes.string_at(code, size.value))
    print(time.process_time() - start)


main()
