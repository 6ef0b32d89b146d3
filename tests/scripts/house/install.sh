#!/bin/sh
# ONCE
# `meson install` installs a library that a user's program compiles against, links and runs with
# nothing but pkg-config, and a command that runs from its installed place.
set -eu
root=$(mktemp -d) # not under the source tree
meson install -C "$BUILD" --no-rebuild --quiet --destdir "$root" >install.log ||
    { cat install.log; exit 1; }

pc=$(find "$root" -name vyre.pc)
[ -n "$pc" ] || { echo "vyre.pc is not installed"; exit 1; }
libdir=$(dirname "$(dirname "$pc")")
export PKG_CONFIG_PATH="$(dirname "$pc")" PKG_CONFIG_SYSROOT_DIR="$root"
include=$(pkg-config --cflags vyre)

# Every installed header is self-contained, also in strict C11.
for header in $(cd "$root" && find . -path '*/include/vyre/*.h'); do
    name=${header#*/include/vyre/}
    case $name in ir/diag_codes.h | session/codes.h) continue ;; esac # a table of X(…)
    printf '#include "%s"\nint main(void) { return 0; }\n' "$name" >header.c
    cc -std=c11 -Wall -Wextra -Werror $include $(pkg-config --cflags vulkan) -fsyntax-only header.c
done

cat >vyre.c <<'C'
#include "ir/vyre.h"
#include <stdio.h>
#include <string.h>

int main(void)
{
    const char *text = "program p(x: in f32[n], y: out f32[n], n: u32) over(i: n) { y[i] = x[i]; }";
    vy_module *m = vy_parse(text, strlen(text), "p.vyre");
    int ok = m && vy_module_ok(m);
    vy_module_free(m);
    puts(ok ? "parsed" : "not parsed");
    return !ok;
}
C
cc -std=c11 vyre.c -o vyre $include $(pkg-config --libs vyre)
LD_LIBRARY_PATH=$libdir ./vyre
ln -s "$libdir"/libvyre.a . # statically, with everything it needs from the system
cc -std=c11 vyre.c -o vyre-static $include ./libvyre.a \
    $(PKG_CONFIG_SYSROOT_DIR= pkg-config --static --libs vyre | sed 's/-lvyre//g')
./vyre-static

cat >session.c <<'C'
#include "session/session.h"
#include <stdio.h>
#include <string.h>

int main(void)
{
    const char *text = "program p(x: in f32[n], y: out f32[n], n: u32) over(i: n) { y[i] = x[i] * x[i]; }";
    const vys_session_desc interpreter = {.interpreter = true};
    const vys_settings once = {.order = 1};
    const uint64_t n = 2;
    const float x[] = {3, 4};
    float g[2] = {0};
    vys_session *s;
    vys_task *t = NULL;
    vy_diag d = {0};
    if (vys_open(&interpreter, &s, &d) && vys_task_parse(s, text, strlen(text), "p", &once, &t, &d) &&
        vys_set(t, "x", VY_F32, 1, &n, x, &d) && vys_run(t, &d))
        vys_read(t, "grad_x", VY_F32, g, sizeof g, &d);
    vys_task_free(t);
    vys_close(s);
    printf("%g %g %s\n", g[0], g[1], d.text);
    return !(g[0] == 6 && g[1] == 8);
}
C
cc -std=c11 session.c -o session $(pkg-config --cflags --libs vyre-session)
LD_LIBRARY_PATH=$libdir ./session

printf '#include "vkrt/vkrt.h"\nint main(void) { return 0; }\n' >vkrt.c
cc -std=c11 vkrt.c -o vkrt $(pkg-config --cflags --libs vkrt)
LD_LIBRARY_PATH=$libdir ./vkrt

command=$(find "$root" -name vyre-grad -type f)
printf 'program p(x: in f32[2], y: out f32[2]) over(i: 2) { y[i] = x[i]; }\n' >p.vyre
"$command" print p.vyre
rm -rf "$root"
