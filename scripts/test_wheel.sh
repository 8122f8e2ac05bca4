#!/usr/bin/env bash
# The Python package's tests from installed wheels: scripts/test_wheel.sh [--with-torch] [PYTHON...]; every interpreter that
# scripts/pythons.sh finds if none is named. Each gets an empty environment in build-wheel/, and runs in a folder from which
# the sources cannot be imported. With --with-torch the first also gets PyTorch and ONNX Runtime, for the tests of all of them
# in one process.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
with_torch=no
if [ "${1:-}" = --with-torch ]; then
  with_torch=yes
  shift
fi
if [ $# -eq 0 ]; then
  mapfile -t pythons < <(scripts/pythons.sh)
  set -- "${pythons[@]}"
fi
if [ $# -eq 0 ]; then
  echo "test-wheel: no CPython 3.10 to 3.13 with its development files was found" >&2
  exit 1
fi
say() { echo "test-wheel: $*"; }
scripts/wheel.sh "$@"

empty=$(mktemp -d)
trap 'rm -rf "$empty"' EXIT
unset PYTHONPATH PYTHONHOME
# What the tests need besides the wheels, in the versions that the other tests have.
grep -E '^(mypy|onnx|pytest)==' requirements-test.txt > "$empty/requirements.txt"
failed=()
first=yes
for python in "$@"; do
  tag=$("$python" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
  env=$root/build-wheel/test-$tag
  rm -rf "$env"
  "$python" -m venv "$env"
  install() { "$env/bin/python" -m pip install --quiet --disable-pip-version-check "$@" < /dev/null; }
  # $1 names the run, the others are folders of tests.
  tests() {
    local name=$1
    shift
    say "$name"
    (cd "$empty" && RELAY_WHEELS=$root/dist RELAY_BIN=$env/bin/relay \
      "$env/bin/python" -B -m pytest -c "$root/pytest.ini" --rootdir "$root" "$@") || failed+=("$name")
  }

  # Alone: NumPy is all that comes along, and without it the message says so.
  install --no-deps dist/relay_lang-*-"$tag"-*.whl
  (cd "$empty" && "$env/bin/python" -c 'import relay; relay.const(1.0)' 2>&1 || true) | grep -q "No module named 'numpy'" ||
    failed+=("$tag: without NumPy")
  install dist/relay_lang-*-"$tag"-*.whl dist/relay_lang_tvm-*.whl
  others=$("$env/bin/python" -m pip list --disable-pip-version-check --format freeze | sed 's/==.*//' | grep -vxE 'pip|setuptools|numpy|relay-lang|relay-lang-tvm' || true)
  [ -z "$others" ] || failed+=("$tag: installs $others")

  install -r "$empty/requirements.txt"
  numpy=$("$env/bin/python" -c 'import numpy; print(numpy.__version__)')
  tests "$tag, NumPy $numpy" "$root/tests/wheel" "$root/tests/python" "$root/tests/conformance/python" "$root/tests/scripts"
  if [ "$first" = yes ]; then
    first=no
    install numpy==1.26.4 'ml_dtypes<0.6'
    tests "$tag, NumPy 1.26.4" "$root/tests/python"
    if [ "$with_torch" = yes ]; then
      grep -E '^(onnxruntime|torch)==' benchmarks/models/requirements.txt > "$empty/peers.txt"
      install "numpy==$numpy" -r "$empty/peers.txt"
      tests "$tag, with PyTorch" "$root/tests/wheel/test_together.py"
    fi
  fi
done
if [ ${#failed[@]} -gt 0 ]; then
  printf 'test-wheel: FAILED: %s\n' "${failed[@]}" >&2
  exit 1
fi
say "all passed"
