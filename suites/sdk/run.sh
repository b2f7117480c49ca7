#!/usr/bin/env bash
# The official Python SDKs against the simulator: what they understand, a real client understands.
# Needs: cargo, python3 with venv, and a package index for pip. Leaves nothing behind.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
scratch=$(mktemp -d)
simulator=

cleanup() {
    if [ -n "$simulator" ]; then
        kill "$simulator" 2>/dev/null || true
        wait "$simulator" 2>/dev/null || true
    fi
    rm -rf "$scratch"
}
trap cleanup EXIT

cargo build --quiet --manifest-path "$root/Cargo.toml" -p scrubjay-testkit --example simulator
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check anthropic openai

target=$(cargo metadata --manifest-path "$root/Cargo.toml" --format-version 1 --no-deps |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')
mkfifo "$scratch/address"
"$target/debug/examples/simulator" --script "$here/script.json" --key suite-key >"$scratch/address" &
simulator=$!
read -r url <"$scratch/address"

env -u ANTHROPIC_API_KEY -u ANTHROPIC_AUTH_TOKEN -u OPENAI_API_KEY NO_PROXY=127.0.0.1 HOME="$scratch" \
    "$scratch/venv/bin/python" "$here/check.py" "$url"
