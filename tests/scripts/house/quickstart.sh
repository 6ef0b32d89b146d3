#!/bin/sh
# ONCE
# DEVICE
# tools/quickstart in a tree that is built: at most 60 lines, a gradient, a picture, and how to find the command.
set -eu
[ "$(realpath "$BUILD")" = "$(realpath "$SRC")/build" ] || exit 77 # it builds there
# As where the command is not found yet.
PATH=$(printf %s "$PATH" | tr : "\n" | grep -v build/tools | paste -sd:)
"$SRC/tools/quickstart" >out 2>&1 || { cat out; exit 1; }
bad=0
[ "$(wc -l <out)" -le 60 ] || { echo "it says $(wc -l <out) lines"; bad=1; }
for words in 'program norm_grad' 'grad_x f32\[2, 2\] = \[0.6, 0.8' '^ok: ' 'export PATH='; do
    grep -q "$words" out || { echo "it does not say $words"; bad=1; }
done
picture=$(sed -n 's/^The line.*drawn: \(.*png\) .*/\1/p' out)
[ "$(head -c 4 "$picture" | tail -c 3)" = PNG ] || { echo "'$picture' is no picture"; bad=1; }
[ $bad = 0 ] || cat out
exit $bad
