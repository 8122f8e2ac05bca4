#!/usr/bin/env bash
# Installs what whole models are compared with (benchmarks/models/requirements.txt) from PyPI. Quick where nothing is missing.
#
#   scripts/peers.sh               all of it, into .venv-peers (about 2 GB)
#   scripts/peers.sh --runtimes    NumPy, ONNX Runtime and OpenVINO alone, into .venv-runtimes (about 300 MB)
set -euo pipefail
cd "$(dirname "$0")/.."
wanted=benchmarks/models/requirements.txt
folder=.venv-peers
pattern='^[^#]'
if [ "${1:-}" = --runtimes ]; then
  folder=.venv-runtimes
  pattern='^(numpy|onnxruntime|openvino)=='
  shift
fi
if [ $# -gt 0 ]; then
  echo "peers: usage: scripts/peers.sh [--runtimes]" >&2
  exit 2
fi
stamp=$folder/requirements.txt
if ! cmp -s "$wanted" "$stamp" || [ ! -x "$folder/bin/python" ]; then
  echo "peers: installing $(grep -E "$pattern" "$wanted" | tr '\n' ' ')"
  python3 -m venv "$folder"
  grep -E "$pattern" "$wanted" > "$folder/installing.txt"
  "$folder/bin/python" -m pip install --quiet --disable-pip-version-check -r "$folder/installing.txt" < /dev/null
  cp "$wanted" "$stamp"
fi
