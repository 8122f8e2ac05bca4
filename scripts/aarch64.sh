#!/usr/bin/env bash
# Compiles Relay for AArch64 on an x86-64 Debian and runs it under qemu: every operator as machine code against recorded results, the
# unit tests of code generation and of the machine, the golden files of programs that run, and a model compiled here that runs there.
#   scripts/aarch64.sh [JOBS]
# Debian's packages for arm64 are unpacked into build-aarch64/sysroot; nothing of them is installed. Emulated code is some twenty times
# slower.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=${1:-2}
build=$PWD/build-aarch64
export RELAY_SYSROOT=${RELAY_SYSROOT:-$build/sysroot}

scripts/setup.sh --only clang --only lld --only qemu-user

# A package database of its own, so that the system's does not learn of another architecture.
make_sysroot() {
  local apt=$build/apt
  mkdir -p "$apt"/state/lists/partial "$apt"/cache/archives/partial
  : > "$apt/status"
  printf '%s\n' 'APT::Architecture "arm64";' 'APT::Architectures { "arm64"; };' "Dir::State \"$apt/state\";" \
    "Dir::State::status \"$apt/status\";" "Dir::Cache \"$apt/cache\";" > "$apt/apt.conf"
  export APT_CONFIG=$apt/apt.conf
  apt-get update -qq
  apt-get install -y -qq --download-only --no-install-recommends libc6-dev libstdc++-12-dev libfmt-dev libspdlog-dev \
    nlohmann-json3-dev libcli11-dev zlib1g-dev llvm-19-dev libonnx-dev libgtest-dev libgmock-dev > /dev/null
  unset APT_CONFIG
  rm -rf "$RELAY_SYSROOT.part"
  mkdir -p "$RELAY_SYSROOT.part"
  for package in "$apt"/cache/archives/*.deb; do dpkg -x "$package" "$RELAY_SYSROOT.part"; done
  mv "$RELAY_SYSROOT.part" "$RELAY_SYSROOT"
  rm -rf "$apt"
}
[ -d "$RELAY_SYSROOT" ] || make_sysroot

cmake --preset aarch64 > /dev/null
cmake --build --preset aarch64 --parallel "$jobs"

emulator=(qemu-aarch64 -L "$RELAY_SYSROOT")
# What starts the command by its path starts it under the emulator.
mkdir -p "$build/emulated/bin"
printf '#!/bin/sh\nexec qemu-aarch64 -L "%s" "%s/bin/relay" "$@"\n' "$RELAY_SYSROOT" "$build" > "$build/emulated/bin/relay"
chmod +x "$build/emulated/bin/relay"
export RELAY_TIMEOUT_FACTOR=20

failed=
run() {
  echo "aarch64: $*" | cut -c1-120
  "$@" || failed="$failed $1"
}
run "${emulator[@]}" "$build/bin/relay_conformance" ops tests/op/data/*.jsonl --differences docs/differences-from-tvm.md \
  --pins tests/conformance/pins.tsv --executor vm --target aarch64
run "${emulator[@]}" "$build/bin/relay_tests" --gtest_brief=1 \
  --gtest_filter='Codegen*:Contraction*:SmallIntegers*:BFloat16*:Machine*:Vm*:Runtime*:-VmRandom.*'
run tests/run_golden -b "$build/emulated" tests/run

# A program that this machine compiles for the other.
if [ -x build/bin/relay ]; then
  printf 'def @main(%%x: Tensor[(3, 4), float32], %%w: Tensor[(5, 4), float32]) { nn.softmax(nn.dense(%%x, %%w)) }\n' > "$build/dense.rly"
  run build/bin/relay compile --target aarch64 "$build/dense.rly" -o "$build/dense.rlx"
  arguments=(--arg random --arg random)
  run diff <(build/bin/relay run "$build/dense.rly" --executor eval "${arguments[@]}") \
    <("$build/emulated/bin/relay" run "$build/dense.rlx" "${arguments[@]}")
fi
if [ -n "$failed" ]; then
  echo "aarch64: failed" >&2
  exit 1
fi
echo "aarch64: all passed"
