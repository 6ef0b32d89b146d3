#!/bin/sh
# DEVICE
# The examples run, under the validation layers, and compute what the interpreter computes.
set -u
bad=0
bin=$BUILD/examples data=$SRC/examples/data
wrong() { echo "wrong: $*"; bad=1; }
"$VYRE_GRAD" devices | grep -q features: || { echo "no Vulkan device"; exit 77; }

# compare GOT JSON TOLERANCE: lines `NAME = v v …` against `run --json`.
compare() {
    python3 - "$@" <<'PY' || wrong "$1 differs from $2"
import json, sys
got = dict((n, [float(v) for v in rest.split()]) for n, _, rest in
           (line.partition(" =") for line in open(sys.argv[1]) if " = " in line and line[0] != " "
            and ":" not in line and "{" not in line))
want = json.load(open(sys.argv[2]))["outputs"]
seen = 0
for name in want:
    if name not in got:
        continue
    a, b = got[name], want[name]["data"]
    error = max(abs(x - y) for x, y in zip(a, b)) / max(1, max(map(abs, b)))
    seen += name.startswith("grad_")
    if len(a) != len(b) or not error <= float(sys.argv[3]):
        sys.exit("%s: %r, expected %r (error %g)" % (name, a, b, error))
if seen != sum(n.startswith("grad_") for n in want):
    sys.exit("a gradient was not printed")
PY
}

# gmm's data as NAME=VALUE,… and as --in NAME=VALUE,…
values=$(python3 - "$data/gmm_tiny.json" <<'PY'
import json, sys
d = json.load(open(sys.argv[1]))["input"]
flat = lambda v: [y for x in v for y in flat(x)] if isinstance(v, list) else [v]
print(*("%s=%s" % (n, ",".join(map(repr, flat(d[n])))) for n in ("alpha", "mu", "q", "l", "x")))
PY
) || exit 1
ins=
for v in $values; do ins="$ins --in $v"; done
sizes="N=4 K=2 D=3"
sed 's/f32/f64/g' "$SRC/examples/gmm.vyre" >gmm64.vyre

# run FORM FILE TOLERANCE: both device examples against the interpreter.
both() {
    "$VYRE_GRAD" run "$2" --grad --json --engine eval --set m=2 --set gamma=0.7 $ins >want.json ||
        wrong "the interpreter on $2"
    "$bin/dozen_lines" "$2" m=2 gamma=0.7 $values >out.$1 || wrong "dozen_lines $2"
    compare out.$1 want.json "$3"
    "$VYRE_GRAD" grad "$2" --with-value --enable shader_atomic_int64 -o $1/ || wrong "grad -o $1/"
    "$bin/vulkan_only" $1/gmm_grad.spv $1/gmm_grad.json m=2 gamma=0.7 $sizes $values >out.$1 ||
        wrong "vulkan_only $1"
    compare out.$1 want.json "$3"
}
both f32 "$SRC/examples/gmm.vyre" 2e-6

# A derivative of several kernels: the length of its tape depends on data.
cat >iterations.vyre <<'VYRE'
program iterations(x: in f32[N], y: out f32[N], N: u32) over(i: N)
{
    var s = x[i];
    while s > 0.5 { s = s * sin(s); }
    y[i] = s;
}
VYRE
"$VYRE_GRAD" run iterations.vyre --grad --json --engine eval --in x=0.6,1.2 >want.json ||
    wrong "the interpreter on iterations.vyre"
# A loop of 100,000 iterations, which lavapipe leaves after 65,535 unless compiled accordingly.
cat >long.vyre <<'V'
program f(x: in f32[N], y: out f32[N], N: u32, K: u32) over(i: N)
{
    var s = 0.0;
    for k in 0..K { if x[i] * f32(k) >= 0.0 { s += x[i]; } }
    y[i] = s;
}
V
"$bin/dozen_lines" long.vyre x=1,2 K=100000 >out.long || wrong "dozen_lines long.vyre"
[ "$(cat out.long)" = "grad_x = 100000 100000" ] || { cat out.long; wrong "a long loop"; }

"$bin/dozen_lines" iterations.vyre x=0.6,1.2 >out.iterations || wrong "dozen_lines iterations.vyre"
compare out.iterations want.json 2e-6
"$VYRE_GRAD" grad iterations.vyre --with-value -o iterations/ || wrong "grad -o iterations/"
"$bin/vulkan_only" iterations/iterations_grad.spv iterations/iterations_grad.json N=2 x=0.6,1.2 >out.iterations ||
    wrong "vulkan_only iterations"
compare out.iterations want.json 2e-6
"$VYRE_GRAD" devices | grep -q shader_float64 && both f64 gmm64.vyre 1e-12

# fills, copies, workspaces through the manifest; a `?` output is given with its size
cat >steps.vyre <<'TXT'
program steps(x: inout f32[N], w: in f32[?], y: out f32[1], s: f32, N: u32) over(i: N)
{
    for t in 0..4 {
        x[i] = x[i] * w[i] + s;
    }
    atomic_add(y[0], x[i] * x[i]);
}
TXT
"$VYRE_GRAD" run steps.vyre --grad --json --engine eval --in x=1,2,3 --in w=0.5,1,2 --set s=0.25 >want.json ||
    wrong "the interpreter on steps.vyre"
"$VYRE_GRAD" grad steps.vyre -o steps.spv || wrong "grad steps.vyre"
"$VYRE_GRAD" grad steps.vyre -o steps.json || wrong "grad steps.vyre -o steps.json"
"$bin/vulkan_only" steps.spv steps.json x=1,2,3 w=0.5,1,2 s=0.25 N=3 grad_w=0,0,0 >out.steps || wrong "vulkan_only steps"
compare out.steps want.json 2e-6

# a manifest and a module of two runs, as a kill between two renames may leave them
"$VYRE_GRAD" grad steps.vyre -O1 -o other.spv || wrong "grad -O1"
cmp -s steps.spv other.spv && wrong "-O1 gives the same module: nothing is tested"
"$bin/vulkan_only" other.spv steps.json x=1,2,3 w=0.5,1,2 s=0.25 N=3 grad_w=0,0,0 >out.steps 2>err &&
    wrong "a module of another run was taken"
grep -q 'another run' err || { wrong "no word on the module of another run"; cat err; }

# slices that overlap are refused as `run` refuses them
cat >slices.vyre <<'TXT'
program add(a: in f32[M], b: inout f32[M], M: u32) over(i: M) { b[i] += a[i]; }
pipeline two(u: inout f32[T, N], k: u32, l: u32, T: u32, N: u32) { add(u[k], u[l]); }
TXT
"$VYRE_GRAD" compile slices.vyre --quiet -o slices.spv || wrong "compile slices.vyre"
"$bin/vulkan_only" slices.spv slices.json u=1,2,3,4 T=2 N=2 k=0 l=1 >out.slices || wrong "slices apart"
[ "$(cat out.slices)" = "u = 1 2 4 6" ] || { wrong "slices apart"; cat out.slices; }
"$bin/vulkan_only" slices.spv slices.json u=1,2,3,4 T=2 N=2 k=1 l=1 >out.slices 2>err && wrong "slices that overlap"
grep -q 'share elements' err || { wrong "no word on slices that overlap"; cat err; }

# the gradient of the wave equation, of which every third state is kept
wave=$SRC/examples/wave.vyre
field() { python3 -c "import math; print(','.join('%.3f' % ($1) for k in range(20)))"; }
u=$(field "math.sin(0.7 * k)") c=$(field "0.3 + 0.01 * k") seen=$(field "0.1 * math.cos(k)")
"$VYRE_GRAD" run $wave -p wave --grad --json --engine eval --in "u[4,5]=$u" --in "c[4,5]=$c" --in "seen[4,5]=$seen" \
    --set T=9 >want.json || wrong "the interpreter on wave.vyre"
"$VYRE_GRAD" grad $wave -p wave --quiet -o wave.spv || wrong "grad wave.vyre"
"$bin/vulkan_only" wave.spv wave.json u=$u c=$c seen=$seen T=9 H=4 W=5 >out.wave || wrong "vulkan_only wave"
compare out.wave want.json 2e-6

# the gradient of a loop that ends when it has converged
cat >newton.vyre <<'TXT'
program start(x: in f32[N], y: out f32[N], change: out f32[1], N: u32) over(i: N)
{
    y[i] = 1.0 + x[i];
    if i == 0 { change[0] = 1.0; }
}
program clear(change: out f32[1]) over(i: 1) { change[0] = 0.0; }
program improve(x: in f32[N], y: inout f32[N], change: inout f32[1], N: u32) over(i: N)
{
    let next = 0.5 * (y[i] + x[i] / y[i]);
    atomic_max(change[0], stop_grad(abs(next - y[i])));
    y[i] = next;
}
program same(x: in f32[N], y: out f32[N], N: u32) over(i: N) { y[i] = x[i]; }
pipeline newton(x: in f32[N], y: out f32[N], N: u32, eps: f32)
{
    buffer w: f32[N];
    buffer change: f32[1];
    start(x, w, change);
    while value(change[0]) > eps { clear(change); improve(x, w, change); }
    same(w, y);
}
TXT
"$VYRE_GRAD" run newton.vyre --grad --json --engine eval --in x=2,3,50 --set eps=1e-3 >want.json ||
    wrong "the interpreter on newton.vyre"
"$VYRE_GRAD" grad newton.vyre --quiet -o newton.spv || wrong "grad newton.vyre"
"$bin/vulkan_only" newton.spv newton.json x=2,3,50 N=3 eps=1e-3 >out.newton || wrong "vulkan_only newton"
compare out.newton want.json 2e-6

# several kernels and steps: values read back, repeats, slices at any element
pipelines=$SRC/tests/text/pipeline
pipeline() { # FILE NAME WANT ARGUMENTS…
    "$VYRE_GRAD" compile "$pipelines/$1.vyre" --quiet -p "$2" -o pipe.spv || wrong "compile -p $2"
    want=$3 name=$2
    shift 3
    "$bin/vulkan_only" pipe.spv pipe.json "$@" >out.pipe || wrong "vulkan_only $name"
    [ "$(cat out.pipe)" = "$want" ] || { wrong "$name: expected $want"; cat out.pipe; }
}
pipeline tape tape 'y = 1 5 14 30
n = 10' N=4 x=1,2,3,4
pipeline tape grow 's = 0 1 3 6 10' T=5
pipeline heat heat 'u = 0 0 8 0 0 0 2 4 2 0 0 2 3 2 0 0 1.75 2.5 1.75 0' T=3 N=5 k=0.25 \
    u=0,0,8,0,0,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9
pipeline control loops 'r = 5 15 10 5 2 1 0 0' n=5 r=0,0,0,0,0,0,0,0
pipeline control compare 'r = 0 0 0 1 1 1 5 4' n=9 m=3 r=0,0,0,0,0,0,0,0
pipeline parts own 'y = 4 5 6
z = 4 5 6 3 4 5' N=3 x=1,2,3
pipeline parts grouped 'hits = 12 0 12 3' G=3
pipeline parts open 'y = 15 5' x=1,2,3,4,5

# more scalars than push constants hold: they are passed in a storage buffer
names=$(seq -f 'a%g' 40)
{
    echo "program many(x: in f32[N], y: out f32[N], N: u32$(printf ', %s: f32' $names)) over(i: N)"
    echo "{ y[i] = x[i] * x[i] * (a1$(printf ' + %s' $names)); }"
} >many.vyre
"$VYRE_GRAD" run many.vyre --grad --json --engine eval --in x=1,2 $(printf -- '--set %s=0.5 ' $names) \
    >want.json || wrong "the interpreter on many.vyre"
"$VYRE_GRAD" grad many.vyre -o many/ || wrong "grad many.vyre"
grep -q '"in": {"set"' many/many_grad.json || wrong "40 scalars are no push constants"
"$bin/vulkan_only" many/many_grad.spv many/many_grad.json N=2 x=1,2 $(printf '%s=0.5 ' $names) >out.many ||
    wrong "vulkan_only many"
compare out.many want.json 2e-6

# a program built without text equals the one that its text parses to
"$bin/build_program" --print mixture.vyre >out.built || wrong "build_program"
"$VYRE_GRAD" run mixture.vyre --grad --json --engine eval --in x=-1,-0.5,0.25,1,1.75 --in c=-0.5,1 \
    --in w=0.25,0.75 --set s=0.5 >want.json || wrong "the text of build_program"
compare out.built want.json 1e-7

# derivatives beside their source, and a table of their parameters' roles
"$bin/roles" mixture.vyre >out.roles || wrong "roles mixture.vyre"
grep -v '^//' out.roles >roles.vyre
"$VYRE_GRAD" print roles.vyre | cmp -s - roles.vyre || wrong "the module does not print as it was read"
grep -q '^//   overwrites grad_x: gradient x$' out.roles || wrong "no role of grad_x"

# a shader, and its gradient bound in its place
masses='--in m.at[4,3]=0,0,0,1,0.25,0,2.5,0,0.5,3,1,0 --in m.kg=1,2,0.5,1 --in m.speed[4,3]=0,0.5,0,0,0,0,1,0,0,0,0,-1'
"$VYRE_GRAD" run "$SRC/examples/springs.comp" --grad --wrt stiffness,m.at --json --engine eval $masses \
    --in stiffness=10,20,5,0 --set gravity=0,0,-10 --set dt=0.125 --set n=4 --set rest=1 --in energy[4]=zeros >want.json ||
    wrong "the interpreter on springs.comp"
"$bin/drop_in" >out.springs || wrong "drop_in"
compare out.springs want.json 2e-6

# mistakes are reported, with status 1
says() { # TEXT COMMAND…
    text=$1
    shift
    "$@" >out 2>err
    [ $? -eq 1 ] || wrong "$* did not end with 1"
    grep -q "$text" err || { wrong "$* does not say: $text"; cat err; }
}
says 'usage' "$bin/vulkan_only"
says 'cannot read none' "$bin/vulkan_only" none none
says 'no SPIR-V' "$bin/vulkan_only" steps.json steps.json
says 'no Vyre manifest' "$bin/vulkan_only" steps.spv steps.spv
says 'give the scalar' "$bin/vulkan_only" steps.spv steps.json
says 'give the buffer x' "$bin/vulkan_only" steps.spv steps.json s=1 N=3 w=1
says '3 elements, but 2' "$bin/vulkan_only" steps.spv steps.json s=1 N=3 w=1,1,1 x=1,2 grad_w=0,0,0
says 'is -1' "$bin/vulkan_only" steps.spv steps.json s=1 N=-1 w=1,1,1 x=1,2
says 'cannot read' "$bin/dozen_lines" none.vyre
says 'E01' "$bin/dozen_lines" want.json
says 'E01' "$bin/roles" want.json
says 'no buffer\|no scalar\|no parameter' "$bin/dozen_lines" steps.vyre z=1
says 'numbers are expected' "$bin/dozen_lines" steps.vyre x=one
exit $bad
