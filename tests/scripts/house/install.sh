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

# The manual page and the completions of three shells.
for said in man/man1/vyre-grad.1 bash-completion/completions/vyre-grad zsh/site-functions/_vyre-grad \
    fish/vendor_completions.d/vyre-grad.fish; do
    [ -s "$(find "$root" -path "*/share/$said")" ] || { echo "$said is not installed"; exit 1; }
done

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

# Statically: what `pkg-config --static` says, where there is nothing but archives of ours.
mkdir static
ln -s "$libdir"/*.a static/
static() { PKG_CONFIG_SYSROOT_DIR= pkg-config --static --libs "$1" | sed "s#-L[^ ]*#-L$PWD/static#"; }
cc -std=c11 vyre.c -o vyre-static $include $(static vyre)
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
cc -std=c11 session.c -o session-static $(pkg-config --cflags vyre-session) $(static vyre-session)
./session-static

# One header for everything, and that of C++17; each compiler that is there.
cat >version.c <<'C'
#include <stdio.h>
#include <string.h>
#include <vyre/vyre.h>

int main(void)
{
    puts(vy_version());
    return strcmp(vy_version(), VY_VERSION) != 0;
}
C
cc -std=c11 -Wall -Wextra -Werror version.c -o version $(pkg-config --cflags --libs vyre-session)
[ "$(LD_LIBRARY_PATH=$libdir ./version)" = "$(pkg-config --modversion vyre)" ]
cat >wrapper.cpp <<'C'
#include <cstdio>
#include <vyre/vyre.hpp>

int main()
{
    const vyre::module m = vyre::module::parse(
        "program p(x: in f32[m, n], y: out f32[m], m: u32, n: u32, s: f32) over(i: m) {\n"
        "    y[i] = s * sum(j in 0..n: x[i, j] * x[i, j]);\n"
        "}\n");
    vyre::session s("interpreter");
    vyre::settings o;
    o.wrt = {"x"};
    o.with_value = true;
    vyre::task g = s.gradient(m, o);
    g.set("x", {2, 2}, std::vector<float>{1, 2, 3, 4}).set("s", 0.5f);
    const std::vector<float> slope = g.run().read<float>("grad_x"), y = g.read<float>("y");
    bool ok = slope == std::vector<float>{1, 2, 3, 4} && y == std::vector<float>{2.5f, 12.5f};
    try {
        vyre::module::parse("program p(y: out f32[1]) over(i: 1) {\n    y[0] = z;\n}\n");
        ok = false;
    } catch (const vyre::error &e) {
        ok = ok && std::string(e.code()) == "E0201" && e.line() == 2 && std::string(e.what()).find("y[0] = z;") < 100;
    }
    try {
        g.read<double>("y");
        ok = false;
    } catch (const vyre::error &e) {
        ok = ok && std::string(e.code()) == "E0807";
    }
    vyre::task moved = std::move(g);
    moved.set("x", {1, 2}, std::vector<float>{5, 6}).run();
    ok = ok && moved.read<float>("y") == std::vector<float>{30.5f} && m.text().find("program p(") < 10;
    std::puts(ok ? "wrapped" : "not wrapped");
    return !ok;
}
C
for compiler in g++ clang++; do
    command -v $compiler >/dev/null || continue
    $compiler -std=c++17 -Wall -Wextra -Werror -pedantic wrapper.cpp -o wrapper $(pkg-config --cflags --libs vyre-session)
    LD_LIBRARY_PATH=$libdir ./wrapper
done

# By the rules of MSVC: its macros, none of GNU's extensions; attributes in macros alone, which know the compiler.
# There is no such compiler here, but clang knows its macros.
if grep -rnE --include="*.h*" "__builtin_|__attribute__|__typeof__|__extension__" "$root" | grep -vE ':#define V[YK][A-Z_]*'; then
    echo "GNU's extensions in an installed header"
    exit 1
fi
if command -v clang >/dev/null; then
    mkdir vulkan-only
    ln -s "$(pkg-config --variable=includedir vulkan)"/vulkan "$(pkg-config --variable=includedir vulkan)"/vk_video vulkan-only/
    printf '#include <vyre/vyre.h>\n#include <vkrt/engine.h>\nint main(void) { return 0; }\n' >msvc.c
    clang --target=x86_64-pc-windows-msvc -ffreestanding -std=c11 -Wall -Wextra -pedantic -Wgnu -Werror -fsyntax-only \
        $include -Ivulkan-only msvc.c
fi

# Meson.
mkdir with-meson
cp session.c with-meson
printf '%s\n' "project('user', 'c')" "executable('user', 'session.c', dependencies: dependency('vyre-session'))" \
    "dependency('vyre', version: '>= 0.1')" >with-meson/meson.build
(meson setup with-meson/build with-meson && ninja -C with-meson/build) >meson.log 2>&1 || { cat meson.log; exit 1; }
LD_LIBRARY_PATH=$libdir ./with-meson/build/user

# CMake, where it is installed.
if command -v cmake >/dev/null; then
    mkdir with-cmake
    cp session.c with-cmake
    printf '%s\n' 'cmake_minimum_required(VERSION 3.16)' 'project(user C)' 'find_package(Vyre 0.1 REQUIRED)' \
        'add_executable(user session.c)' 'target_link_libraries(user Vyre::session)' >with-cmake/CMakeLists.txt
    cmake -S with-cmake -B with-cmake/build -DCMAKE_PREFIX_PATH="$root/usr/local" >cmake.log && cmake --build with-cmake/build >>cmake.log ||
        { cat cmake.log; exit 1; }
    LD_LIBRARY_PATH=$libdir ./with-cmake/build/user
else
    echo "no cmake: find_package(Vyre) was not tried"
fi

printf '#include "vkrt/vkrt.h"\nint main(void) { return 0; }\n' >vkrt.c
cc -std=c11 vkrt.c -o vkrt $(pkg-config --cflags --libs vkrt)
LD_LIBRARY_PATH=$libdir ./vkrt

command=$(find "$root" -path "*/bin/vyre-grad" -type f)
printf 'program p(x: in f32[2], y: out f32[2]) over(i: 2) { y[i] = x[i]; }\n' >p.vyre
"$command" print p.vyre
rm -rf "$root"
