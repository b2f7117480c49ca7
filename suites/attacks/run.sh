#!/usr/bin/env bash
# Every attack of the list, as the table of docs/security.md: class, tried, succeeded, succeeded against the control,
# and the share that may still succeed with 95 % confidence. `cargo test` runs the same list with fewer memories to list.
set -euo pipefail
cd "$(dirname "$0")/../.."
LISTINGS="${LISTINGS:-1000}" cargo test --locked -p scrubjay-cli --test attacks -- --nocapture --test-threads=1 "$@" |
    sed -n '/attacks | test/d; s/^.*attacks | \(.*\)$/| \1 |/p'
