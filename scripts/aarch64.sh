#!/usr/bin/env bash
# Compiles the run-time library for AArch64 on an x86-64 Debian, and programs by build/bin/relay; runs these under qemu and compares what
# they give with the same programs here: scripts/aarch64.sh [JOBS]
# Debian's packages for arm64 are unpacked into build-aarch64/sysroot (RELAY_SYSROOT: another folder); nothing of them is installed.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=${1:-2}
build=$PWD/build-aarch64
export RELAY_SYSROOT=${RELAY_SYSROOT:-$build/sysroot}

test -x build/bin/relay || { echo "aarch64: build/bin/relay is missing: run make" >&2; exit 1; }
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
include=(-I relay/vm/machine -O1)
clang --target=aarch64-linux-gnu --sysroot="$RELAY_SYSROOT" -fuse-ld=lld "${include[@]}" tests/aarch64/driver.c -L "$build/lib" -lrelay_runtime \
  -Wl,-rpath,"$build/lib" -o "$build/driver"
cc "${include[@]}" tests/aarch64/driver.c -L build/lib -lrelay_runtime -Wl,-rpath,"$PWD/build/lib" -o "$build/driver-here"
scripts/python tests/aarch64/agree.py build/bin/relay "$build/driver-here" qemu-aarch64 -L "$RELAY_SYSROOT" "$build/driver"
