#!/usr/bin/env bash
# Installs what whole models are compared with (benchmarks/models/requirements.txt) into .venv-peers. Quick where
# nothing is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
wanted=benchmarks/models/requirements.txt
stamp=.venv-peers/requirements.txt
if ! cmp -s "$wanted" "$stamp" || [ ! -x .venv-peers/bin/python ]; then
  echo "peers: installing $(grep -v '^#' "$wanted" | tr '\n' ' ')"
  python3 -m venv .venv-peers
  .venv-peers/bin/python -m pip install --quiet --disable-pip-version-check -r "$wanted" < /dev/null
  cp "$wanted" "$stamp"
fi
