#!/usr/bin/env bash
# The tests of the Python package under AddressSanitizer, UndefinedBehaviorSanitizer and Python's debug allocator:
# scripts/asan_python.sh JOBS [PYTEST-OPTION...]. Objects of the bindings that are left at the end of a process fail it, too.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=$1
shift
python=$PWD/.venv/bin/python

cmake --preset debug -DRELAY_PYTHON=ON -DPython_EXECUTABLE="$python" > /dev/null
cmake --build --preset debug --parallel "$jobs" --target relay_python relay

# The interpreter is not built with the sanitizers, so their libraries have to come first; libstdc++ before the module does, since
# they look for its functions when they start.
library() { "${CXX:-g++}" -print-file-name="$1"; }
export LD_PRELOAD="$(library libasan.so) $(library libubsan.so) $(library libstdc++.so)"
# Leaks of the interpreter are not ours. The rest is as for `ctest --preset debug`.
export ASAN_OPTIONS=detect_leaks=0:intercept_tls_get_addr=0:handle_segv=1:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1
export PYTHONMALLOC=debug RELAY_PYTHON_LEAKS=1 RELAY_TIMEOUT_FACTOR=8
export PYTHONPATH=$PWD/build-asan/python RELAY_BIN=$PWD/build-asan/bin/relay

log=$(mktemp)
trap 'rm -f "$log"' EXIT
tests=("$@")
[[ ${#tests[@]} -gt 0 ]] || tests=(tests/python tests/conformance/python)
status=0
"$python" -m pytest -q "${tests[@]}" 2>&1 | tee "$log" || status=${PIPESTATUS[0]}
if grep -E '^nanobind: leaked' "$log"; then
  echo "objects of the bindings outlive the interpreter" >&2
  status=1
fi
exit "$status"
