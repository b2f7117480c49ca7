//! Command lines that pretend to read: each must be asked about, and each proven one does harm where nothing defends.

use crate::tally::Tally;
use scrubjay::gate::Verdict;
use scrubjay::permission::{Mode, Permissions};
use scrubjay::tool::Tool as _;
use scrubjay::tools::shell::Bash;
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[derive(Deserialize)]
struct Group {
    #[serde(default)]
    proven: Vec<String>,
    #[serde(default)]
    unproven: Vec<String>,
    #[serde(default)]
    lines: Vec<String>,
}

fn groups() -> BTreeMap<String, Group> {
    toml::from_str(include_str!("../../../../suites/attacks/classifier.toml")).unwrap()
}

const CANARY: &str = "CANARY-7431";

/// A project beside a folder that it must not reach.
struct Ground(tempfile::TempDir);

impl Ground {
    fn new() -> Self {
        let ground = tempfile::tempdir().unwrap();
        let (outside, project) = (ground.path().join("outside"), ground.path().join("project"));
        fs::create_dir_all(project.join("sub")).unwrap();
        fs::create_dir_all(project.join(".git")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("secret.txt"), format!("{CANARY}\n")).unwrap();
        fs::write(outside.join("secret.json"), format!("\"{CANARY}\"\n")).unwrap();
        for (name, text) in [
            ("notes.txt", "touch pwned\n"),
            ("victim.txt", "precious\nthings\n"),
            ("data.csv", "b,2\na,1\n"),
            ("data.json", "{\"a\": 1}\n"),
            ("sub/a.txt", "a\n"),
            ("-odd", "odd\n"),
            ("list", "../outside/secret.txt\n"),
            ("list0", "../outside/secret.txt\0"),
            ("list-pwned", "pwned\n"),
            ("yes.txt", "y\ny\ny\n"),
            ("prog.jq", "env\n"),
            ("prog.sed", "1e touch pwned\n"),
            ("m.json", "0\n"),
            ("defs.jq", "def leak: env;\n"),
            ("magic", "0 string x y\n"),
            ("run.sh", "#!/bin/sh\ntouch pwned\ncat\n"),
            (".git/config", "[core]\n"),
        ] {
            fs::write(project.join(name), text).unwrap();
        }
        let sum = Command::new("md5sum").arg("../outside/secret.txt").current_dir(&project).output();
        fs::write(project.join("sums"), sum.map(|sum| sum.stdout).unwrap_or_default()).unwrap();
        fs::write(project.join("big.txt"), "line\n".repeat(3_000)).unwrap();
        fs::set_permissions(project.join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        for (name, target) in [
            ("link", "../outside/secret.txt"),
            ("-link", "../outside/secret.txt"),
            ("secret-link.json", "../outside/secret.json"),
            ("out", "../outside"),
            ("-dir", "../outside"),
        ] {
            symlink(target, project.join(name)).unwrap();
        }
        Self(ground)
    }

    fn project(&self) -> PathBuf {
        self.0.path().canonicalize().unwrap().join("project")
    }

    /// Every file with its bytes: what a line that only reads leaves alone.
    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        let mut folders = vec![self.project()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().flatten() {
                match entry.file_type().unwrap() {
                    kind if kind.is_dir() => folders.push(entry.path()),
                    kind if kind.is_file() => drop(found.insert(entry.path(), fs::read(entry.path()).unwrap())),
                    _ => {}
                }
            }
        }
        found
    }

    /// Whether the line does harm where nothing defends: prints what lies outside, changes something, or does not end.
    fn is_harmed_by(&self, line: &str, patience: Duration) -> bool {
        let before = self.files();
        let mut child = Command::new("bash")
            .args(["-c", line])
            .current_dir(self.project())
            .env("CANARY_VALUE", CANARY)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap();
        let (mut out, mut err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let outputs = [std::thread::spawn(move || text_of(&mut out)), std::thread::spawn(move || text_of(&mut err))];
        let began = Instant::now();
        let ended = loop {
            match child.try_wait().unwrap() {
                Some(_) => break true,
                None if began.elapsed() > patience => break false,
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        if !ended {
            let group = format!("-{}", child.id());
            Command::new("kill").args(["-KILL", "--", &group]).status().unwrap();
            child.wait().unwrap();
        }
        let said: String = outputs.map(|output| output.join().unwrap()).concat();
        !ended || said.contains(CANARY) || said.contains("secret.txt") || self.files() != before
    }
}

fn text_of(from: &mut impl std::io::Read) -> String {
    let mut bytes = Vec::new();
    from.take(1 << 20).read_to_end(&mut bytes).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn runs_unasked(project: &Path, line: &str) -> bool {
    [Mode::Ask, Mode::AcceptEdits, Mode::ReadOnly, Mode::Plan].into_iter().any(|mode| {
        let permissions = Permissions { mode, dir: project.to_owned(), sandboxed: true, ..Permissions::default() };
        let effect = Bash::new().effect(&json!({ "command": line }), project);
        permissions.decide("Bash", &effect) == Verdict::Allow
    })
}

/// Where a program is missing, nothing is proven about it.
fn is_installed(line: &str) -> bool {
    let name = line.split(' ').next().unwrap_or_default();
    !["jq", "file", "git", "awk"].contains(&name)
        || std::env::split_paths(&std::env::var_os("PATH").unwrap()).any(|dir| dir.join(name).is_file())
}

// spec: X2
#[test]
fn no_line_that_does_more_than_read_runs_unasked() {
    let ground = Ground::new();
    let mut tally = Tally::of("classifier");
    let mut groups = groups();
    groups.remove("harmless").unwrap();
    for group in groups.values() {
        for line in group.proven.iter().chain(&group.unproven) {
            tally.tried(line, runs_unasked(&ground.project(), line));
        }
    }
    // Coreutils of GNU: elsewhere the same words mean other things.
    let proven = |group: &Group| if cfg!(target_os = "linux") { group.proven.clone() } else { Vec::new() };
    let mut unharmed = Vec::new();
    for (name, group) in &groups {
        let patience = Duration::from_secs(if name == "endless" { 1 } else { 60 });
        for line in proven(group).into_iter().filter(|line| is_installed(line)) {
            let harmed = Ground::new().is_harmed_by(&line, patience);
            tally.control(harmed);
            unharmed.extend((!harmed).then_some(line));
        }
    }
    tally.control(Ground::new().is_harmed_by("sort -o victim.txt notes.txt", Duration::from_secs(60)));
    tally.finish();
    assert!(unharmed.is_empty(), "these are marked as proven and do no harm:\n{}", unharmed.join("\n"));
}

// spec: X2
#[test]
fn lines_that_only_read_run_unasked() {
    let ground = Ground::new();
    let groups = groups();
    let hostile: usize = groups.values().map(|group| group.proven.len() + group.unproven.len()).sum();
    let harmless = &groups["harmless"].lines;
    assert!(hostile >= 150 && harmless.len() >= 150);
    let asked: Vec<&String> = harmless.iter().filter(|line| !runs_unasked(&ground.project(), line)).collect();
    assert!(asked.is_empty(), "{asked:#?}");
}
