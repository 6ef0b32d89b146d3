#!/bin/sh
# ONCE
# The shared libraries export vy_…, vkrt_… and vys_… and nothing else: no volk, no SPIRV-Tools, no helper; and
# each of these with a version, where the build has them.
set -eu
status=0
for pair in vyre:vy_ vkrt:vkrt_ vyre-session:vys_; do
    library=$BUILD/lib${pair%:*}.so prefix=${pair#*:}
    [ -e "$library" ] || library=$BUILD/vkrt/lib${pair%:*}.so
    [ -e "$library" ] || library=$BUILD/session/lib${pair%:*}.so
    names=$(nm -D --defined-only "$library" | awk '$2 != "A" {print $3}')
    if ! printf '%s\n' "$names" | grep -q "^$prefix"; then
        echo "$library exports no $prefix… at all"
        status=1
    fi
    others=$(printf '%s\n' "$names" | grep -v "^$prefix" || true)
    plain=$(printf '%s\n' "$names" | grep -v '@@' || true)
    if [ -n "$plain" ] && grep -q 'version-script' "$BUILD/build.ninja"; then
        printf '%s exports these without a version:\n%s\n' "$library" "$plain"
        status=1
    fi
    if [ -n "$others" ]; then
        printf '%s exports what it should hide:\n%s\n' "$library" "$others"
        status=1
    fi
done
exit $status
