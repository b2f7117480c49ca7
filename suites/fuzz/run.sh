#!/usr/bin/env bash
# Throw random text at everything that reads what others wrote: so many seconds each, under an address sanitiser.
# usage: suites/fuzz/run.sh [SECONDS] [TARGET…]       needs: cargo-fuzz (installed if missing), a C++ compiler
# The first build is one of the whole engine under a sanitiser, and for `reply` of an HTTP client too: ten minutes of processor time.
set -euo pipefail
cd "$(dirname "$0")"
seconds=${1:-60}
shift $(($# > 0 ? 1 : 0))
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(memory_text transcript reply includes selection names shell)
command -v cargo-fuzz >/dev/null || cargo install cargo-fuzz --version 0.13.2 --locked
# The sanitiser is a matter of the nightly compiler; without one, the pinned compiler is asked to behave like it.
if rustup run nightly rustc --version >/dev/null 2>&1; then toolchain=+nightly; else toolchain=; export RUSTC_BOOTSTRAP=1; fi
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
bad=0
for target in "${targets[@]}"; do
    mkdir -p "$room/$target" "seeds/$target"
    # An input that takes longer than this many seconds, or more memory than this many megabytes, is a finding.
    if cargo $toolchain fuzz run --fuzz-dir . $([ "$target" != reply ] || echo --features=reply) "$target" "$room/$target" "seeds/$target" -- \
        -max_total_time="$seconds" -timeout=5 -rss_limit_mb=512 -max_len=8192 -print_final_stats=1 -verbosity=0 >"$room/$target.log" 2>&1
    then
        runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$room/$target.log")
        echo "$target: $runs inputs, nothing found"
    else
        bad=1
        echo "$target: something was found"
        tail -40 "$room/$target.log"
    fi
done
exit $bad
