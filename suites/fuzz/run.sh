#!/usr/bin/env bash
# Throw random text at everything that reads what others wrote: so many seconds each, under an address sanitiser.
# usage: suites/fuzz/run.sh [SECONDS] [TARGET…]       needs: cargo-fuzz (installed if missing), a C++ compiler
# The first build is one of the whole engine under a sanitiser, and for `reply` of an HTTP client too: ten minutes of processor time.
set -euo pipefail
cd "$(dirname "$0")"
seconds=${1:-60}
shift $(($# > 0 ? 1 : 0))
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(memory_text transcript reply includes selection names shell said foreign settings commands kept recall papers page)
command -v cargo-fuzz >/dev/null || cargo install cargo-fuzz --version 0.13.2 --locked
# The sanitiser is a matter of the nightly compiler; without one, the pinned compiler is asked to behave like it.
if rustup run nightly rustc --version >/dev/null 2>&1; then toolchain=+nightly; else toolchain=; export RUSTC_BOOTSTRAP=1; fi
# Where there is memory to write to: some targets open a store for every input.
[ ! -w /dev/shm ] || export TMPDIR=/dev/shm
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT

fuzz() { # TARGET SECONDS
    mkdir -p "$room/$1" "seeds/$1"
    # An input that takes longer than this many seconds, or more memory than this many megabytes, is a finding.
    cargo $toolchain fuzz run --fuzz-dir . $([ "$1" != reply ] || echo --features=reply) "$1" "$room/$1" "seeds/$1" -- \
        -max_total_time="$2" -timeout=5 -rss_limit_mb=1024 -max_len=8192 -print_final_stats=1 -verbosity=0 >"$room/$1.log" 2>&1
}

if fuzz control 60 || ! grep -q "panicked at" "$room/control.log"; then
    echo "control: nothing was found in what is broken on purpose, so the others mean nothing"
    tail -40 "$room/control.log"
    exit 1
fi
rm -rf artifacts/control
bad=0
for target in "${targets[@]}"; do
    if fuzz "$target" "$seconds"; then
        runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$room/$target.log")
        echo "$target: $runs inputs, nothing found"
    else
        bad=1
        echo "$target: something was found"
        tail -40 "$room/$target.log"
    fi
done
exit $bad
