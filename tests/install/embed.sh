#!/usr/bin/env bash
# Installs a build into a folder of its own, moves that, and builds and runs examples/embed against it, as somebody would who
# has neither the sources nor the build folder at hand: embed.sh CMAKE BUILD EXAMPLE COMPILER
set -euo pipefail
cmake=$1 build=$2 example=$3 compiler=$4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }

"$cmake" --install "$build" --prefix "$folder/first" > "$folder/log" || { cat "$folder/log"; exit 1; }
# Nothing may remember where it was installed to.
prefix=$folder/prefix
mv "$folder/first" "$prefix"
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name relay.pc)")
export PKG_CONFIG_PATH

[ -z "$(find "$prefix" -name '*.py*' -o -name '_core*')" ] || fail "parts of the Python package were installed"
if grep -rIl -e "$build" -e "$folder/first" "$prefix"; then fail "the files above name the build folder"; fi

# The command.
printf 'def @main(%%x: float32) { %%x + 1f }\n' > "$folder/program.rly"
"$prefix/bin/relay" run "$folder/program.rly" --arg 2 > "$folder/out"
grep -q '^3.0$' "$folder/out" || fail "the command says $(cat "$folder/out")"

# What shells complete, and the manual page.
for file in bash-completion/completions/relay zsh/site-functions/_relay fish/vendor_completions.d/relay.fish man/man1/relay.1; do
  grep -q executor "$prefix/share/$file" || fail "share/$file is missing or knows no option"
done

# C++ with CMake: compiles, runs and saves. The copy keeps the build out of the example's folder.
cp -r "$example" "$folder/embed"
cd "$folder/embed"
"$cmake" -S . -B build -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$compiler" > "$folder/log" ||
  { cat "$folder/log"; exit 1; }
"$cmake" --build build > "$folder/log" || { cat "$folder/log"; exit 1; }
# Six digits: the last ones, and how wide they are printed, depend on the instruction set.
digits() { "$@" | sed -E 's/([0-9]\.[0-9]{6})[0-9]*/\1/g; s/ +([],])/\1/g'; }
expected=$'[[0.731058, 0.268941]]\n[[0.731058, 0.268941],\n [0.5, 0.5]]'
[ "$(digits build/compile_and_run model.rlx)" = "$expected" ] || fail "compile_and_run says $(build/compile_and_run)"

# A project in C alone finds the shared library; one that asks for another version is told.
mkdir "$folder/c"
printf 'cmake_minimum_required(VERSION 3.20)\nproject(c LANGUAGES C)\nfind_package(relay ${WANTED} REQUIRED)
add_executable(run_saved %s/run_saved.c)\ntarget_link_libraries(run_saved PRIVATE relay::runtime_c)\n' "$example" > "$folder/c/CMakeLists.txt"
"$cmake" -S "$folder/c" -B "$folder/c/build" -DCMAKE_PREFIX_PATH="$prefix" > "$folder/log" || { cat "$folder/log"; exit 1; }
"$cmake" --build "$folder/c/build" > "$folder/log" || { cat "$folder/log"; exit 1; }
"$folder/c/build/run_saved" model.rlx | grep -q ': 0.7311 0.2689$' || fail "run_saved of CMake"
if "$cmake" -S "$folder/c" -B "$folder/c/other" -DCMAKE_PREFIX_PATH="$prefix" -DWANTED=99 > "$folder/log" 2>&1; then
  fail "another version was accepted"
fi
grep -q 'version: ' "$folder/log" || { cat "$folder/log"; fail "no word on the version"; }

if command -v pkg-config > /dev/null; then
  # C with pkg-config, where there is the machine alone.
  make --silent run_saved
  ./run_saved model.rlx | grep -q "^relay $(pkg-config --modversion relay-runtime): 0.7311 0.2689\$" || fail "run_saved"
  ldd ./run_saved > "$folder/log"
  grep -q "$prefix/.*librelay_runtime.so" "$folder/log" || fail "run_saved uses another library"
  if grep -q LLVM "$folder/log"; then fail "the machine needs LLVM"; fi
  status=0
  ./run_saved missing.rlx 2> "$folder/log" || status=$?
  [ "$status" -eq 1 ] && grep -q '^cannot load: .*missing.rlx' "$folder/log" || fail "a missing model: $status, $(cat "$folder/log")"
  # C++ with pkg-config.
  read -ra flags <<< "$(pkg-config --cflags --libs relay)"
  "$compiler" -std=c++20 compile_and_run.cpp "${flags[@]}" -o by_pkg_config
  [ "$(digits ./by_pkg_config)" = "$expected" ] || fail "compile_and_run by pkg-config"
fi

# A plug-in is compiled against the installed headers and loaded by the installed command.
"$compiler" -std=c++20 -O1 -fPIC -shared -I "$prefix/include" "$example/../plugin/cube.cpp" -o "$folder/cube.so"
"$prefix/bin/relay" run --plugin "$folder/cube.so" "$example/../plugin/cube.rly" --arg '[1, 2, -3]' > "$folder/out"
grep -q '^\[0.0, 3.0, 0.0\]$' "$folder/out" || fail "the plug-in says $(cat "$folder/out")"
echo "installed, $(du -sm "$prefix" | cut -f1) MB; compile_and_run and run_saved agree"
