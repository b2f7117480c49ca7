//! A clock that says it is before 1970, and files as old as that. The clock is a library of a few lines that is loaded
//! before the system's own; where there is no C compiler for it, only the files are tried.

use crate::stage::{Stage, finished};
use crate::tally::Tally;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const CLOCK: &str = r"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec *at) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, __func__);
    int said = real(id, at);
    if (id == CLOCK_REALTIME) at->tv_sec -= 3000000000L;
    return said;
}
";

/// A clock that is ninety years and more behind.
fn clock(folder: &Path) -> Option<PathBuf> {
    let (source, library) = (folder.join("clock.c"), folder.join("clock.so"));
    fs::write(&source, CLOCK).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).arg("-ldl");
    compiler.output().is_ok_and(|output| output.status.success()).then_some(library)
}

const VERBS: &[&[&str]] = &[
    &["-p", "Is anybody there?"],
    &["remember", "The ferry leaves at noon."],
    &["memory", "ls"],
    &["memory", "ls", "--json"],
    &["memory", "log"],
    &["memory", "show", "project_the_ferry_leaves_at_noon"],
    &["recall", "ferry"],
    &["recall", "--json", "ferry"],
    &["dream"],
    &["dream", "--dry-run"],
    &["inbox"],
    &["jobs"],
    &["agents"],
    &["sessions"],
    &["sessions", "--json"],
    &["status"],
    &["report", "--json"],
    &["report"],
    &["context"],
    &["savings"],
    &["cost"],
    &["doctor"],
    &["doctor", "--fix"],
    &["export", "-"],
    &["memory", "check"],
    &["undo"],
];

/// Whether the program fell over. An answer that it could not do something is none.
fn fell(stage: &Stage, verb: &[&str], library: Option<&Path>) -> bool {
    let mut command = stage.command(verb);
    command.envs(library.map(|library| ("LD_PRELOAD", library)));
    let ran = finished(command);
    let fell = !matches!(ran.code, Some(0..=4)) || ran.err.contains("panicked");
    if fell {
        println!("{verb:?}: {ran:#?}");
    }
    fell
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_before_1970_breaks_nothing() {
    let mut tally = Tally::of("clock");
    let held = tempfile::tempdir().unwrap();
    let library = clock(held.path());
    let stage = Stage::offline();
    match &library {
        Some(library) => {
            let date = Command::new("date").arg("+%Y").env("LD_PRELOAD", library).output().unwrap();
            let year = String::from_utf8_lossy(&date.stdout).trim().parse::<i32>();
            tally.control(year.is_ok_and(|year| year < 1970));
        }
        None => println!("no C compiler: the clock itself was not tried"),
    }
    for verb in VERBS.iter().filter(|_| library.is_some()) {
        tally.tried(format!("clock: {verb:?}"), fell(&stage, verb, library.as_deref()));
    }
    // And files of that time, seen by a clock of ours.
    let stage = Stage::offline();
    stage.run(&["remember", "The ferry leaves at noon."]).ended_with(0);
    stage.run(&["-p", "Is anybody there?"]).ended_with(0);
    for (at, file) in crate::stage::files(&stage.home()).iter().enumerate() {
        let then = ["1901-12-14T00:00:00", "1969-12-31T23:59:59", "1938-01-01T00:00:00"][at % 3];
        let touched = Command::new("touch").args(["-d", then]).arg(file).status().unwrap().success();
        let at = fs::metadata(file).unwrap().modified().unwrap();
        tally.control(touched && at < std::time::UNIX_EPOCH);
    }
    for verb in VERBS {
        tally.tried(format!("files: {verb:?}"), fell(&stage, verb, None));
    }
    tally.finish();
}
