#!/usr/bin/env bash
# Interrupt every operation of the memory at every system call, by a kill and by an error. Needs strace and python3.
set -euo pipefail
cd "$(dirname "$0")/../.."
exec python3 suites/faults/run.py "$@"
