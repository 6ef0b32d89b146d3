#!/bin/sh
# ONCE
# lavapipe computes differently on another processor: also without AVX2 and AVX-512, operations give
# what the interpreter gives (spirv/target/lavapipe_rounding.c).  GALLIUM_OVERRIDE_CPU_CAPS makes
# Mesa not use them.
vyre-grad devices 2>/dev/null | grep -q llvmpipe || { echo "the device is not lavapipe"; exit 77; }
GALLIUM_OVERRIDE_CPU_CAPS=avx "$BUILD/tests/unit_test_device" >out 2>&1 && exit 0
grep -v '\[ *\(RUN\|OK\) *\]' out
exit 1
