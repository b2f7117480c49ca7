#!/bin/sh
# Runs every case and says what came out where it was not what was expected.
cd "$(dirname "$0")/.." || exit 2
good=0
bad=0
for case in tests/cases/*/; do
    name=$(basename "$case")
    printf '== %s\n   %s\n' "$name" "$(cat "$case/command")"
    sed 's/^/   in   | /' "$case/input.csv" | tr -d '\r'
    got=$(cd "$case" && PATH="../../../bin:$PATH" sh command 2>&1)
    printf '%s\n' "$got" | sed 's/^/   out  | /'
    if [ "$got" = "$(cat "$case/expected")" ]; then
        good=$((good + 1))
        echo "   ok"
    else
        bad=$((bad + 1))
        sed 's/^/   want | /' "$case/expected"
        echo "   FAILED: $name: the output differs from tests/cases/$name/expected"
    fi
done
echo "$good passed, $bad failed"
[ "$bad" -eq 0 ]
