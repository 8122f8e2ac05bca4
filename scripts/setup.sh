#!/usr/bin/env bash
# Installs what building and testing need and this machine lacks, on Debian 12 or later: Debian packages (as root or
# through sudo) and, into .venv, the PyPI packages of requirements-test.txt. Quick where nothing is missing.
#
#   scripts/setup.sh                   what building and testing need
#   scripts/setup.sh --build           what building needs: no .venv
#   scripts/setup.sh --docs            what the documentation site needs besides: .venv-docs
#   scripts/setup.sh --docs-check      and what looks at it: chromium
#   scripts/setup.sh --wheel           what building wheels needs: no .venv
#   scripts/setup.sh --only PACKAGE    these Debian packages only (may be repeated), no .venv
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(
  make cmake ninja-build g++ ccache lld git ca-certificates
  libfmt-dev libspdlog-dev nlohmann-json3-dev libcli11-dev zlib1g-dev libedit2
  llvm-19-dev libdnnl-dev libonnx-dev
  libgtest-dev libgmock-dev libbenchmark-dev
  python3 python3-venv python3-dev
)
with_venv=yes
with_docs=no
if [ "${1:-}" = --build ]; then
  with_venv=no
  shift
elif [ "${1:-}" = --docs ] || [ "${1:-}" = --docs-check ]; then
  with_docs=yes
  with_venv=no
  packages=(python3 python3-venv)
  [ "$1" = --docs ] || packages+=(chromium)
  shift
elif [ "${1:-}" = --wheel ]; then
  packages+=(libzstd-dev)
  with_venv=no
  shift
elif [ "${1:-}" = --only ]; then
  packages=()
  with_venv=no
  while [ $# -ge 2 ] && [ "$1" = --only ]; do
    packages+=("$2")
    shift 2
  done
fi
if [ $# -gt 0 ]; then
  echo "setup: usage: scripts/setup.sh [--build | --wheel | --docs | --docs-check | --only PACKAGE...]" >&2
  exit 2
fi

say() { echo "setup: $*"; }

missing_packages() {
  local installed package
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${packages[@]}" 2> /dev/null |
    sed -n 's/^installed //p' || true)
  for package in "${packages[@]}"; do
    grep -qxF -- "$package" <<< "$installed" || echo "$package"
  done
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  else
    sudo --non-interactive "$@"
  fi
}

if command -v dpkg-query > /dev/null; then
  listed=$(missing_packages)
  read -ra missing <<< "${listed//$'\n'/ }"
  if [ "${#missing[@]}" -gt 0 ]; then
    say "installing Debian packages: ${missing[*]}"
    if [ "$(id -u)" -ne 0 ] && ! sudo --non-interactive true 2> /dev/null; then
      say "this needs root; run: sudo apt-get install ${missing[*]}" >&2
      exit 1
    fi
    # The package lists may be missing or old; fetch them only where the install fails without.
    install=(env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}")
    if ! as_root "${install[@]}" < /dev/null > /dev/null 2>&1; then
      as_root apt-get update -qq < /dev/null
      as_root "${install[@]}" < /dev/null > /dev/null
    fi
    say "installed ${#missing[@]} Debian packages"
  fi
else
  say "no Debian here: install the equivalents of ${packages[*]}"
fi

# install_into FOLDER REQUIREMENTS: a virtual environment with what a file lists, made anew where the file has changed.
install_into() {
  if ! cmp -s "$2" "$1/$2" || [ ! -x "$1/bin/python" ]; then
    say "installing PyPI packages into $1: $(grep -v '^#' "$2" | tr '\n' ' ')"
    python3 -m venv "$1"
    "$1/bin/python" -m pip install --quiet --disable-pip-version-check -r "$2" < /dev/null
    cp "$2" "$1/$2"
    say "installed into $1"
  fi
}
if [ "$with_venv" = yes ]; then
  install_into .venv requirements-test.txt
fi
if [ "$with_docs" = yes ]; then
  install_into .venv-docs requirements-docs.txt
fi
