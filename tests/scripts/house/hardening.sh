#!/bin/sh
# ONCE
# The command and the libraries are built to fail safely: position independent, relocations
# read-only, no executable stack, checked stacks and string functions (meson.build).
set -u
command -v readelf >/dev/null || { echo "no readelf"; exit 77; }
bad=0
wrong() { echo "wrong: $*"; bad=1; }
optimised=$(python3 -c 'import json, sys
print({o["name"]: o["value"] for o in json.load(open(sys.argv[1]))}["optimization"])' "$BUILD/meson-info/intro-buildoptions.json")
python=$(find "$BUILD/python" -name '_core*.so') # none where its headers are missing
for file in "$VYRE_GRAD" "$BUILD"/libvyre.so "$BUILD"/vkrt/libvkrt.so "$BUILD"/session/libvyre-session.so $python; do
    [ -e "$file" ] || { wrong "no $file"; continue; }
    name=${file##*/}
    readelf -hW "$file" | grep -q 'Type:.*DYN' || wrong "$name is not position independent"
    readelf -lW "$file" | grep -q GNU_RELRO || wrong "$name has no read-only relocations"
    readelf -lW "$file" | grep GNU_STACK | grep -q 'RWE' && wrong "$name has an executable stack"
    readelf -dW "$file" | grep -Eq '\(FLAGS.*NOW' || wrong "$name binds lazily"
    readelf --dyn-syms -W "$file" | grep -q __stack_chk_fail || wrong "$name does not check its stacks"
    [ "$optimised" = 0 ] || readelf --dyn-syms -W "$file" | grep -q '_chk@' || wrong "$name is not fortified"
    [ "$(uname -m)" != x86_64 ] || readelf -nW "$file" | grep -q 'IBT' || echo "note: $name: objects without IBT (libraries linked in)"
done
exit $bad
