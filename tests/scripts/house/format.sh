#!/bin/sh
# ONCE
# C files are as clang-format 14 leaves them.  `tests/scripts/house/format.sh --fix` rewrites them.
set -eu
cd "${SRC:-$(dirname "$0")/../../..}"
command -v clang-format >/dev/null || { echo "no clang-format"; exit 77; }
files=$(find ir autodiff spirv vkrt session tools tests examples python -name '*.[ch]' | sort)
if [ "${1:-}" = --fix ]; then
    exec clang-format --style=file -i $files
fi
# All in one process, which takes a sixth of the time of one for each; which of them it was is asked afterwards.
clang-format --style=file --dry-run -Werror $files 2>/dev/null && exit 0
for file in $files; do
    if ! clang-format --style=file "$file" | diff -q "$file" - >/dev/null; then
        echo "$file: not formatted (tests/scripts/house/format.sh --fix)"
        clang-format --style=file "$file" | diff "$file" - | head -n 6 || true
    fi
done
exit 1
