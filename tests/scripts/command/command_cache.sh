#!/bin/sh
# DEVICE
# --verbose names the device and where pipelines were found; a second process finds them on disk.
set -u
vyre-grad devices >/dev/null 2>&1 || { echo "no Vulkan device"; exit 77; }
export VYRE_CACHE_DIR=$PWD/cache
cat >f.vyre <<'TXT'
program f(x: in f32[N], y: out f32[N], N: u32) over(i: N) { y[i] = sin(x[i]) * x[i]; }
TXT
bad=0
run() { vyre-grad run f.vyre --in x=1,2 --grad --verbose >out 2>err || { cat err; bad=1; }; }
lacks() { grep -q "$1" err || { echo "stderr lacks: $1"; cat err; bad=1; }; }
run
lacks '^vyre-grad: device '
lacks '^vyre-grad: f: pipeline compiled now'
lacks '^vyre-grad: f_grad: pipeline compiled now'
run
lacks '^vyre-grad: f: pipeline from the cache on disk'
lacks '^vyre-grad: f_grad: pipeline from the cache on disk'
vyre-grad run f.vyre --in x=1,2 --grad >again 2>err || bad=1
[ ! -s err ] || { echo "prints something without --verbose:"; cat err; bad=1; }
cmp out again || bad=1
exit $bad
