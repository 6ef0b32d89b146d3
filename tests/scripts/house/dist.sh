#!/bin/sh
# ONCE
# The tarball of `meson dist` builds and passes tests without a network: it has all that the build and the tests read,
# and it is no git repository.  The command is built as tools/quickstart does it; text tests of one folder and a script
# that reads most of the tree stand for all.
# One run in four builds it, by the seed: it is a build of its own, half a minute.
set -eu
[ "${VYRE_SHARE:-1}" = 1 ] || [ $((${VYRE_FRESH_SEED:-0} % 4)) = 0 ] || {
    echo "one run in four, by the seed; VYRE_SHARE=1 always"
    exit 77
}
git -C "$SRC" rev-parse --git-dir >/dev/null 2>&1 || { echo "no git repository: nothing to make a tarball of"; exit 77; }
meson dist -C "$BUILD" --no-tests --allow-dirty --formats gztar >dist.log 2>&1 || { cat dist.log; exit 1; }
tar -xf "$BUILD"/meson-dist/vyre-*.tar.gz
cd vyre-*/
for lost in session/README.md LICENSE debian/control tests/run examples/model.vyre docs/gallery/splats.png; do
    [ -s $lost ] || { echo "the tarball has no $lost"; exit 1; }
done

# Without a network, where the system lets us.
offline="unshare --map-root-user --net"
$offline true 2>/dev/null || { offline=; echo "note: this system has no network namespaces for us"; }
! command -v clang >/dev/null || export CC=clang
unset MAKEFLAGS BUILD SRC VYRE_GRAD
$offline sh -euc '
    meson setup built -Djoined=true -Doptimization=0 -Ddebug=false -Dchecks=off -Dwarning_level=0 -Dtests=false \
        -Dpython=disabled
    ninja -C built tools/vyre-grad
    tests/run --build built tests/text/parse tests/scripts/house/documents.py
' >../log 2>&1 || { tail -n 40 ../log; exit 1; }
tail -n 1 ../log
