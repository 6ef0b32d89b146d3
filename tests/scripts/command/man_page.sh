#!/bin/sh
# ONCE
# groff has nothing to say about the manual page, and shows each verb.
command -v groff >/dev/null || { echo "no groff (groff-base)"; exit 77; }
"$VYRE_GRAD" man >vyre-grad.1 || exit 1
groff -K utf8 -man -ww -Tutf8 vyre-grad.1 >shown 2>said
[ ! -s said ] || { cat said; exit 1; }
for verb in grad jvp run check explain fit bench compile inspect; do
    grep -q "\b$verb\b" shown || { echo "it does not show $verb"; exit 1; }
done
