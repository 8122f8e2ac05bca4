#!/usr/bin/env bash
# Builds the wheels of relay-lang (one for each interpreter) and of relay-lang-tvm into dist/: scripts/wheel.sh [PYTHON...].
# Everything in between stays in build-wheel/ and build-cp*/, so that the next build is quick.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- python3
export CMAKE_BUILD_PARALLEL_LEVEL=${JOBS:-$(nproc)}
# The compiler and the flags of the other builds: an interpreter may have been built with one of another name.
export CXX=${CXX:-c++}
export CMAKE_ARGS="-DRELAY_WERROR=${RELAY_WERROR:-OFF} ${CMAKE_ARGS:-}"
platform=manylinux_2_36_x86_64
say() { echo "wheel: $*"; }

mkdir -p build-wheel dist
# pyproject.toml says what it is built with; an environment that stays is quicker than one that pip makes each time.
sed -n '/^requires = \[/,/^\]/s/^  "\(.*\)",.*/\1/p' pyproject.toml | cat - requirements-wheel.txt > build-wheel/requirements.txt
for python in "$@"; do
  tag=$("$python" -c 'import sys; print("%s%d%d" % (sys.implementation.name[:1] + "p", *sys.version_info[:2]))')
  env=build-wheel/env-$tag
  if ! cmp -s build-wheel/requirements.txt "$env/requirements.txt"; then
    say "installing build requirements for $python"
    rm -rf "$env"
    "$python" -m venv "$env"
    "$env/bin/python" -m pip install --quiet --disable-pip-version-check -r build-wheel/requirements.txt < /dev/null
    cp build-wheel/requirements.txt "$env/requirements.txt"
  fi

  raw=build-wheel/raw-$tag
  rm -rf "$raw"
  say "building for $tag"
  build=("$env/bin/python" -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir)
  "${build[@]}" "$raw" .
  rm -f dist/relay_lang-*-"$tag"-*.whl dist/relay_lang_tvm-*.whl
  PATH=$PWD/$env/bin:$PATH "$env/bin/auditwheel" repair --plat "$platform" --wheel-dir dist "$raw"/relay_lang-*.whl 2> "$raw/log" ||
    { cat "$raw/log" >&2; exit 1; }
  "${build[@]}" dist ./python
done
for wheel in dist/*.whl; do
  say "$wheel: $(du -k "$wheel" | cut -f1) KiB"
done
