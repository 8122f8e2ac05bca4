#!/usr/bin/env bash
# Configures a preset, builds it and runs every test: scripts/test.sh PRESET JOBS [CMAKE-OPTION...]
# The last line is ctest's summary; the exit status is that of the first step that failed.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
jobs=$2
shift 2

log=$(mktemp)
trap 'rm -f "$log"' EXIT
cmake --preset "$preset" "$@" > "$log" 2>&1 || { status=$?; cat "$log"; exit $status; }
cmake --build --preset "$preset" --parallel "$jobs"

status=0
ctest --preset "$preset" --parallel "$jobs" --no-tests=error 2>&1 | tee "$log" || status=${PIPESTATUS[0]}
# ctest ends with timings, or with the names of what failed; its summary is worth more as the last line.
grep -E '^[0-9]+% tests passed' "$log" | tail -n 1 || true
exit "$status"
