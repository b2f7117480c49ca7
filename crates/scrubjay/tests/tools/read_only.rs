//! Lines that are called read-only are run, and must leave everything as it was.

use proptest::prelude::*;
use scrubjay::tools::shell::reading::read_only_commands;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

/// Pieces from which hostile lines are made. Each that would do something does it in the working directory only.
const PIECES: &[&str] = &[
    "ls",
    "cat",
    "sort",
    "uniq",
    "find .",
    "sed -n",
    "head",
    "tail",
    "grep",
    "printf",
    "tree",
    "diff",
    "echo",
    "rg",
    "wc",
    "test",
    "cut",
    "tr",
    "nl",
    "cmp",
    "file",
    "du",
    "[",
    "]",
    "cd",
    "jq",
    "touch",
    "rm",
    "tee",
    "eval",
    "env",
    " ",
    " ",
    " ",
    " ",
    " ",
    "in",
    "two",
    "out",
    "pwn",
    "-",
    "-n",
    "-o",
    "-u",
    "-i",
    "-r",
    "-c",
    "-C",
    "-R",
    "-L",
    "1",
    "1p",
    "'1p'",
    "'1w out'",
    "'1,2p;1w out'",
    "s/a/b/w out",
    "--output=out",
    "--out",
    "-delete",
    "-exec",
    "-ok",
    "-fls",
    "-fprint",
    "-name",
    "{}",
    "+",
    "\\;",
    ";",
    "|",
    "||",
    "&&",
    "&",
    "|&",
    "\n",
    ">",
    ">>",
    ">|",
    "<",
    "<<",
    "<<<",
    "<>",
    "&>",
    "2>",
    "2>&1",
    "/dev/null",
    ">/dev/null",
    "2>/dev/null",
    "$(touch pwn)",
    "`touch pwn`",
    "$(",
    ")",
    "(",
    "<(",
    "'",
    "\"",
    "\\",
    "\\\n",
    "\\ ",
    "$",
    "${",
    "}",
    "{",
    "$'",
    "$IFS",
    "$PATH",
    "*",
    "?",
    "[a]",
    "~",
    "!",
    "#",
    "=",
    "A=1",
    "PATH=.",
    "%n",
    "'%n'",
    "PATH",
    "-v",
    "'a[$(touch pwn)]'",
    "x",
    "--",
    "--pre",
    "./pwn",
    "\t",
    "é",
];

fn snapshot(dir: &Path) -> BTreeMap<std::ffi::OsString, Vec<u8>> {
    std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            (entry.file_name(), std::fs::read(entry.path()).unwrap_or_default())
        })
        .collect()
}

fn prepared() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("in"), "b\na\na\n").unwrap();
    std::fs::write(home.path().join("two"), "a\n").unwrap();
    // A program that would be found by a changed `PATH`, and by nothing else.
    std::fs::create_dir(home.path().join("1")).unwrap();
    for name in ["ls", "cat", "pwn", "1/ls", "1/cat"] {
        std::fs::write(home.path().join(name), "#!/bin/sh\n: > pwned\n").unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(home.path().join(name), mode).unwrap();
    }
    home
}

fn run(line: &str, dir: &Path) {
    let mut child = Command::new("timeout")
        .args(["5", "bash", "-p", "-c", line])
        .current_dir(dir)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.wait().unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, failure_persistence: None, ..ProptestConfig::default() })]

    // spec: X2
    #[test]
    fn a_line_that_is_called_read_only_changes_nothing(
        first in 0..24usize,
        rest in proptest::collection::vec((0..PIECES.len(), prop_oneof![Just(" "), Just("")]), 0..8),
    ) {
        let line = PIECES[first].to_owned() + " " + &rest.iter().flat_map(|(index, gap)| [PIECES[*index], *gap]).collect::<String>();
        if read_only_commands(&line).is_some() {
            let home = prepared();
            let before = snapshot(home.path());
            run(&line, home.path());
            prop_assert_eq!(snapshot(home.path()), before, "{}", line);
        }
    }
}

#[test]
fn the_check_above_would_notice() {
    for line in ["sort -o out in", "echo x > in", "printf '1%n' PATH; ls", "PATH=. ls", "find . -name in -delete"] {
        assert_eq!(read_only_commands(line), None);
        let home = prepared();
        let before = snapshot(home.path());
        run(line, home.path());
        assert_ne!(snapshot(home.path()), before, "{line}");
    }
}
