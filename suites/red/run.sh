#!/usr/bin/env bash
# Put known faults into a copy of the tree, one at a time, and expect the named test to fail.
# usage: suites/red/run.sh [RULE…] [--since COMMIT]
set -euo pipefail
cd "$(dirname "$0")/../.."
exec python3 suites/red/run.py "$@"
