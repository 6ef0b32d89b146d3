#!/bin/sh
# Files of the command: forms by suffix, nothing half written, full disks, links, closed stdout.
set -u
bad=0
wrong() { echo "wrong: $*"; bad=1; }
expect() { # STATUS COMMAND…
    want=$1
    shift
    "$@" >out 2>err
    got=$?
    [ $got -eq "$want" ] || { wrong "$* ended with $got, not $want"; cat err; }
}
cat >f.vyre <<'TXT'
program f(x: in f32[N], y: out f32[N], N: u32) over(i: N) { y[i] = sin(x[i]) * x[i]; }
TXT

# every suffix, and a directory for all
for verb in grad compile; do
    for form in vyre spv h json vyb; do
        expect 0 vyre-grad $verb f.vyre -o x.$form
        [ -s x.$form ] || wrong "$verb -o x.$form wrote nothing"
        [ ! -s out ] || wrong "$verb -o x.$form wrote to stdout too"
        rm -f x.*
    done
done
expect 0 vyre-grad grad f.vyre -o all/
for form in vyre spv h json; do [ -s all/f_grad.$form ] || wrong "no all/f_grad.$form"; done
expect 0 vyre-grad compile f.vyre -o all # it exists now
[ -s all/f.spv ] || wrong "no all/f.spv"
[ "$(od -An -tx4 -N4 all/f.spv | tr -d ' ')" = 07230203 ] || wrong "f.spv is no SPIR-V"

# same input, same bytes
expect 0 vyre-grad grad f.vyre -o a.spv
expect 0 vyre-grad grad f.vyre -o b.spv
cmp a.spv b.spv || wrong "two runs wrote different SPIR-V"
# the text of a result, the binary form and stdin are programs again
expect 0 vyre-grad grad f.vyre -o g.vyre
expect 0 vyre-grad print g.vyre
cmp out g.vyre || wrong "print of printed text differs"
expect 0 vyre-grad print g.vyre -o g.vyb
expect 0 vyre-grad print g.vyb
cmp out g.vyre || wrong "the binary form prints differently"
vyre-grad print - <g.vyre >out || wrong "print - failed"
cmp out g.vyre || wrong "stdin prints differently"

# a failure leaves what was there
echo precious >keep.spv
expect 1 vyre-grad grad f.vyre --wrt nothing -o keep.spv
[ "$(cat keep.spv)" = precious ] || wrong "a failed run changed its output"
expect 2 vyre-grad grad f.vyre -o none/x.spv
expect 2 vyre-grad grad missing.vyre -o keep.spv
expect 2 vyre-grad grad . -o keep.spv
[ "$(cat keep.spv)" = precious ] || wrong "a failed run changed its output"
# nor is the program itself overwritten, under any of its names
cp f.vyre own.vyre
ln -s own.vyre soft.vyre
ln own.vyre hard.vyre
mkdir own
ln own.vyre own/f_grad.vyre
for path in own.vyre soft.vyre hard.vyre ./own.vyre own/; do
    expect 1 vyre-grad grad own.vyre -o $path
    grep -q 'E0801.*\|is the file that is read' err || wrong "-o $path: $(cat err)"
    cmp f.vyre own.vyre || wrong "-o $path replaced the program"
done
vyre-grad print - -o hard.vyre <own.vyre 2>err && wrong "stdin was replaced"
cmp f.vyre own.vyre || wrong "stdin was replaced"
# full disks
expect 2 vyre-grad grad f.vyre -o /dev/full
for verb in grad print compile info; do
    vyre-grad $verb f.vyre >/dev/full 2>err
    [ $? -eq 2 ] || wrong "$verb >/dev/full"
    grep -q 'E0902' err || wrong "$verb >/dev/full says nothing"
done
# a limit on file sizes is a full disk for every file (and needs no mount)
(ulimit -f 1; trap '' XFSZ; head -c 3000 /dev/zero | tr '\0' ' ' >>f.vyre
 vyre-grad grad f.vyre -o keep.vyre; vyre-grad run f.vyre --engine eval --in x=ones --set N=5000 --out y=@keep.spv) \
    >out 2>err
[ "$(cat keep.spv)" = precious ] || wrong "a full disk changed the output"
# closed standard files
vyre-grad print g.vyre >&- 2>err
[ $? -eq 2 ] || wrong "print with a closed stdout"
vyre-grad grad f.vyre -o c.spv <&- >&- 2>&- || wrong "grad -o with all closed"
cmp a.spv c.spv || wrong "closed standard files changed the output"
vyre-grad grad f.vyre -o /dev/stdout | cmp - g.vyre || wrong "-o /dev/stdout"

# links stay links, modes stay
mkdir real
echo old >real/t.spv
chmod 640 real/t.spv
ln -s real/t.spv link.spv
expect 0 vyre-grad grad f.vyre -o link.spv
[ -L link.spv ] || wrong "the link was replaced"
cmp a.spv real/t.spv || wrong "the link's target was not written"
[ "$(stat -c %a real/t.spv)" = 640 ] || wrong "the mode changed"

# a link whose target does not exist yet: the target is written, the link stays; relative to the
# link's folder
mkdir folder
ln -s ../later.spv folder/dangling.spv
ln -s folder/dangling.spv twice.spv
expect 0 vyre-grad grad f.vyre -o twice.spv
[ -L twice.spv ] && [ -L folder/dangling.spv ] || wrong "a dangling link was replaced"
cmp a.spv later.spv || wrong "the target of a dangling link was not written"
ln -s loop.spv loop.spv
expect 2 vyre-grad grad f.vyre -o loop.spv
ln -s nowhere/x.spv lost.spv
expect 2 vyre-grad grad f.vyre -o lost.spv
[ -L loop.spv ] && [ -L lost.spv ] || wrong "a link that cannot be written through was replaced"

# --out: one output that cannot be written writes none
expect 2 vyre-grad run f.vyre --engine eval --in x=1 --grad --out y=@y.npy --out grad_x=@none/g.npy
[ ! -e y.npy ] || wrong "half of the --out files was written"
[ ! -s out ] || wrong "results printed although a file failed"

[ -z "$(find . -name '*.tmp')" ] || wrong "temporary files left: $(find . -name '*.tmp')"
exit $bad
