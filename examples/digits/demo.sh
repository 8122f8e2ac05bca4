#!/bin/sh
# usage: demo.sh RELAY_BINARY -- reads the 360 held-back digits and shows the result; fails below accuracy 0.97.
set -eu
if [ $# -ne 1 ]; then
  echo "usage: $0 RELAY_BINARY" >&2
  exit 2
fi
exec python3 "$(dirname -- "$0")/demo.py" "$1"
