# The verbs. `just` lists them.

default:
    @just --list

# Everything a change must pass
check: format lint test docs

# Format check
format:
    cargo fmt --all --check

# Clippy, warnings denied
lint:
    cargo clippy --workspace --all-targets -- -D warnings

# The README's test command
test:
    cargo test

# Documentation, warnings denied
docs:
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps

# Licences, sources and banned crates
deny:
    cargo deny check bans licenses sources

# Rewrite generated documents and snapshots after a change on purpose
bless:
    UPDATE_DOCS=1 INSTA_UPDATE=always cargo test

# The official Python SDKs against the simulator
suite-sdk:
    suites/sdk/run.sh

# A short conversation with a real small model on this machine, in both dialects
suite-local-model:
    suites/local-model/run.sh

# Apply known faults one by one and expect the named test to fail
suite-red:
    suites/red/run.sh

# Try every attack of the list and print the table of docs/security.md
suite-attacks:
    suites/attacks/run.sh

# Letters between processes that are killed at random: 2,000 each way, and 2,000 from each of six senders
suite-letters:
    cargo test -p scrubjay --test it letters:: -- --ignored --nocapture

# Interrupt every operation of the memory at every system call
suite-faults:
    suites/faults/run.sh

# A million reads of a memory whose folder is swapped for a link all the while
suite-swap:
    cargo test -p scrubjay --test store -- --ignored a_million_opens

# Random text for everything that reads what others wrote, a minute each
suite-fuzz:
    suites/fuzz/run.sh

# The page of a session in a real browser
suite-browser:
    suites/browser/run.sh

# From the start of the process to the answer, beside ripgrep
bench-start:
    cargo bench -p scrubjay-cli --bench start

# Resume of a long session against a plain read-and-parse of the same bytes
bench:
    cargo bench -p scrubjay
