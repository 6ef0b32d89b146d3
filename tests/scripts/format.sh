#!/bin/sh
# ONCE
# C files are as clang-format 14 leaves them.  `tests/scripts/format.sh --fix` rewrites them.
set -eu
cd "${SRC:-$(dirname "$0")/../..}"
command -v clang-format >/dev/null || { echo "no clang-format"; exit 77; }
status=0
for file in $(find ir autodiff spirv vkrt session tools tests examples -name '*.[ch]' | sort); do
    if [ "${1:-}" = --fix ]; then
        clang-format --style=file -i "$file"
    elif ! clang-format --style=file --dry-run -Werror "$file" 2>/dev/null; then
        echo "$file: not formatted (tests/scripts/format.sh --fix)"
        clang-format --style=file "$file" | diff "$file" - | head -n 6 || true
        status=1
    fi
done
exit $status
