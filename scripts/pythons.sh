#!/usr/bin/env bash
# The interpreters that the Python package is for, one path a line: Debian's version first, of every version one. Those of
# PATH come before those of pyenv, whose shims are no interpreters.
set -euo pipefail
for version in 3.11 3.10 3.12 3.13; do
  candidates=$(type -ap "python$version" | grep -v '/shims/' || true)
  if command -v pyenv > /dev/null; then
    candidates+=$'\n'$(ls -d "$(pyenv root)"/versions/"$version".*/bin/"python$version" 2> /dev/null || true)
  fi
  while read -r python; do
    # One without its development files or without venv is of no use.
    if [ -n "$python" ] && "$python" -c 'import ensurepip, os, sys, sysconfig, venv
sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' 2> /dev/null; then
      echo "$python"
      break
    fi
  done <<< "$candidates"
done
