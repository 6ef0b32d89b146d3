#!/bin/sh
# ONCE
# tools/setup: no package with a compiler's version in its name; downloads are announced first, with
# their sizes.
# apt-get and dpkg-query are stand-ins here, so that nothing is installed and no network is needed.
set -u
bad=0
wrong() { echo "wrong: $*"; bad=1; }
sed 's/#.*//' "$SRC/tools/packages.txt" | grep -E '[-+][0-9]+([-.]|[[:space:]]|$)' && wrong "a package with a version in its name"

mkdir bin
cat >bin/dpkg-query <<'END'
#!/bin/sh
for name; do :; done
[ "$name" = meson ] || echo installed
END
cat >bin/apt-get <<'END'
#!/bin/sh
echo "apt-get $*" >>"$LOG"
case "$*" in
*chromium*--print-uris*) echo "'http://x/c.deb' chromium-common_1_amd64.deb 32000000 SHA256:0" ;;
*--print-uris*)
    [ -e lists ] || exit 100
    echo "'http://x/m.deb' meson_1.0_all.deb 1500000 MD5Sum:0"
    echo "'http://x/n.deb' ninja-build_1.1_amd64.deb 500000 MD5Sum:0" ;;
*update*) : >lists ;;
esac
END
printf '#!/bin/sh\n[ "$1" = -n ] && shift\nexec "$@"\n' >bin/sudo
chmod +x bin/*
mkdir tools
cp "$SRC/tools/setup" "$SRC/tools/packages.txt" "$SRC/tools/swiftshader" tools/
export LOG=$PWD/log PATH="$PWD/bin:$PATH" VYRE_SWIFTSHADER="$PWD/none"
: >log
tools/setup --dry-run >out 2>&1 || wrong "--dry-run ended with $?"
grep -Eq 'apt-get (install -y|update|-q download chromium-common$)' log && wrong "--dry-run did something"
grep -q 'missing: meson' out || wrong "--dry-run names nothing"
: >log
tools/setup >out 2>&1 || wrong "ended with $?"
grep -n '' log | sed 's/^/    /'
grep -q 'installs 2 packages, 2.0 MB: meson ninja-build' out || wrong "no packages and size"
grep -q 'SwiftShader.*1 package, 32.0 MB' out || wrong "nothing on SwiftShader"
grep -q 'apt-get update' out || wrong "nothing on the lists of packages"
[ "$(grep -c 'apt-get install -y' log)" = 1 ] || wrong "installed $(grep -c 'apt-get install -y' log) times"
cat out

# --help and unknown arguments do nothing, in all three: nothing could be built here.
mkdir tests
cp "$SRC/tools/quickstart" "$SRC/tools/test" tools/
cp "$SRC/tests/run" "$SRC/tests/machine.py" "$SRC/tests/texttest.py" tests/
for tool in setup quickstart test; do
    for try in "0 --help" "0 -h" "2 --frob" "2 --dry-run --frob"; do
        : >log
        tools/$tool ${try#* } >out 2>&1
        status=$?
        [ $status = "${try%% *}" ] || wrong "tools/$tool ${try#* } ended with $status: $(cat out)"
        [ ! -s log ] || wrong "tools/$tool ${try#* } did something: $(cat log)"
        grep -q "tools/$tool\|unknown argument\|unrecognized arguments: .*--frob" out || wrong "tools/$tool ${try#* } says: $(cat out)"
    done
done
tools/test --quick -k loop --frob >out 2>&1
[ $? = 2 ] || wrong "tools/test looks at the first arguments only"
exit $bad
