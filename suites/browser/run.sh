#!/usr/bin/env bash
# The page of `scrubjay report` in a real browser: its parts, its numbers, its keys, both themes, a phone, no script.
# Needs: cargo, python3, chromium (or the program that CHROMIUM names). With SHOTS=DIR the pictures are kept there.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

export REPORT_DIR=$scratch
cargo test --quiet --manifest-path "$root/Cargo.toml" -p scrubjay-cli --test cli report::for_a_browser -- --ignored --exact
HOME=$scratch python3 "$here/check.py" "$scratch" ${SHOTS:+"$SHOTS"}
