//! Deny means deny: a rule that refuses a path or a command, and the ways around it.

use crate::stage::Stage;
use crate::tally::Tally;
use scrubjay::gate::Verdict;
use scrubjay::permission::{Mode, Permissions};
use scrubjay::tool::Tool as _;
use scrubjay::tools::shell::Bash;
use scrubjay_testkit::simulator::{Script, Simulator, text, tool_use};
use serde::Deserialize;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[derive(Deserialize)]
struct List {
    path: Vec<Class>,
    command: Vec<Class>,
}

#[derive(Deserialize)]
struct Class {
    deny: Vec<String>,
    proven: Vec<String>,
    refused: Vec<String>,
    harmless: Vec<String>,
    asked: Vec<String>,
}

fn list() -> List {
    toml::from_str(include_str!("../../../../suites/attacks/deny.toml")).unwrap()
}

const CANARY: &str = "CANARY-5290";

/// A project with files that a rule refuses.
fn fill(project: &Path) {
    for folder in ["sub", "secrets", "locked"] {
        fs::create_dir_all(project.join(folder)).unwrap();
    }
    for (name, text) in [
        (".env", format!("KEY={CANARY}\n")),
        ("secrets/key.txt", format!("{CANARY}\n")),
        ("notes.txt", "touch\n".to_owned()),
        ("sub/a.txt", "a\n".to_owned()),
        ("victim.txt", "precious\n".to_owned()),
        ("list", "victim.txt\n".to_owned()),
        ("script.sh", "#!/bin/sh\nrm victim.txt\n".to_owned()),
    ] {
        fs::write(project.join(name), text).unwrap();
    }
    fs::set_permissions(project.join("script.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink(".env", project.join("link-to-env")).unwrap();
    symlink("secrets", project.join("link-to-secrets")).unwrap();
}

struct Ground(tempfile::TempDir);

impl Ground {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("project")).unwrap();
        fill(&folder.path().join("project"));
        Self(folder)
    }

    fn project(&self) -> PathBuf {
        self.0.path().canonicalize().unwrap().join("project")
    }

    /// Whether the line gets at what is refused where nothing defends.
    fn is_harmed_by(&self, line: &str) -> bool {
        let ran =
            Command::new("bash").args(["-c", line]).current_dir(self.project()).stdin(Stdio::null()).output().unwrap();
        let said = [ran.stdout, ran.stderr].concat();
        String::from_utf8_lossy(&said).contains(CANARY) || !self.project().join("victim.txt").exists()
    }
}

/// Everything is allowed, by mode or by rule, except what the rules refuse.
fn verdicts(deny: &[String], line: &str, dir: &Path) -> [Verdict; 2] {
    let rules = |texts: &[String]| texts.iter().map(|rule| rule.parse().unwrap()).collect::<Vec<_>>();
    let effect = Bash::new().effect(&json!({ "command": line }), dir);
    let deny = rules(deny);
    [(Mode::AllowAll, Vec::new()), (Mode::Ask, vec!["Bash".parse().unwrap(), "Bash(*)".parse().unwrap()])].map(
        |(mode, allow)| {
            let dir = dir.to_owned();
            Permissions { mode, allow, deny: deny.clone(), dir, sandboxed: true, ..Permissions::default() }
                .decide("Bash", &effect)
        },
    )
}

fn try_class(name: &'static str, classes: &[Class]) {
    let mut tally = Tally::of(name);
    let ground = Ground::new();
    let (mut unharmed, mut hindered) = (Vec::new(), Vec::new());
    for Class { deny, proven, refused, harmless, asked } in classes {
        for line in proven.iter().chain(refused).chain(asked) {
            let free = verdicts(deny, line, &ground.project()).contains(&Verdict::Allow);
            tally.tried(format!("{deny:?}: {line}"), free);
        }
        for line in refused {
            let [verdict, _] = verdicts(deny, line, &ground.project());
            tally.tried(format!("{deny:?}, not refused: {line}"), !matches!(verdict, Verdict::Deny(_)));
        }
        for line in harmless.iter().filter(|line| !line.starts_with("git-is-not-here")) {
            let allowed = verdicts(deny, line, &ground.project()).iter().all(|verdict| *verdict == Verdict::Allow);
            hindered.extend((!allowed).then_some(line.clone()));
        }
        for line in proven.iter().filter(|_| cfg!(target_os = "linux")) {
            let harmed = Ground::new().is_harmed_by(line);
            tally.control(harmed);
            unharmed.extend((!harmed).then_some(line.clone()));
        }
    }
    tally.control(Ground::new().is_harmed_by("cat .env; rm victim.txt"));
    tally.finish();
    assert!(unharmed.is_empty(), "these are marked as proven and do no harm:\n{}", unharmed.join("\n"));
    assert!(hindered.is_empty(), "these must run:\n{}", hindered.join("\n"));
}

// spec: X2
#[test]
fn no_command_line_gets_at_a_path_that_is_refused() {
    try_class("deny: paths", &list().path);
}

// spec: X2
#[test]
fn no_disguise_brings_back_a_command_that_is_refused() {
    try_class("deny: commands", &list().command);
}

// spec: X1
#[tokio::test(flavor = "multi_thread")]
async fn no_tool_shows_a_file_that_is_refused() {
    let mut tally = Tally::of("deny: tools");
    let calls: Vec<(&str, Value)> = vec![
        ("Read", json!({ "file_path": ".env" })),
        ("Read", json!({ "file_path": "./sub/../.env" })),
        ("Read", json!({ "file_path": ".ENV" })),
        ("Read", json!({ "file_path": "link-to-env" })),
        ("Read", json!({ "file_path": "secrets/key.txt" })),
        ("Read", json!({ "file_path": "link-to-secrets/key.txt" })),
        ("Read", json!({ "file_path": "secrets/none.txt" })),
        ("Read", json!({ "file_path": ".enx" })),
        ("Grep", json!({ "pattern": "CANARY", "hidden": true, "output": "content" })),
        ("Grep", json!({ "pattern": "KEY|CANARY", "hidden": true, "output": "files" })),
        ("Grep", json!({ "pattern": "CANARY", "hidden": true, "output": "count" })),
        ("Grep", json!({ "pattern": "CANARY", "path": "secrets", "output": "content" })),
        ("Grep", json!({ "pattern": "CANARY", "path": ".env", "output": "content" })),
        ("Grep", json!({ "pattern": "CANARY", "path": "link-to-secrets", "output": "content" })),
        ("Grep", json!({ "pattern": "CANARY", "glob": ".env", "hidden": true, "output": "content" })),
        ("Grep", json!({ "pattern": "(?s)CANARY.*", "multiline": true, "hidden": true, "output": "content" })),
        ("Glob", json!({ "pattern": "**/*", "hidden": true })),
        ("Glob", json!({ "pattern": ".env*", "hidden": true })),
        ("Glob", json!({ "pattern": "secrets/*" })),
        ("Glob", json!({ "pattern": "*", "path": "secrets" })),
        ("Edit", json!({ "file_path": ".env", "old_string": "KEY=x", "new_string": "y" })),
        ("Bash", json!({ "command": "cat .env" })),
        ("Bash", json!({ "command": "grep -r CANARY ." })),
        ("Bash", json!({ "command": "sh -c 'cat secrets/*'" })),
    ];
    for deny in ["permissions.deny = [\"Read(.env)\", \"Read(secrets/**)\"]\n", ""] {
        let mut script = Script::new();
        for (tool, input) in &calls {
            script = script.reply(tool_use(*tool, input.clone()));
        }
        let simulator = Simulator::start(script.reply(text("Done."))).await.unwrap();
        let stage = Stage::with(&simulator);
        fill(&stage.project());
        stage.write(".scrubjay.toml", deny);
        let ran = stage.run(&["-p", "look around", "--permission-mode", "allow-all"]);
        let requests = simulator.requests();
        let results = requests[requests.len() - 1].tool_results();
        assert_eq!(results.len(), calls.len(), "{ran:#?}");
        for ((tool, input), (_, said)) in calls.iter().zip(&results) {
            // Names that the call itself said are no news.
            let asked_for = input.to_string();
            let shows = |word: &str| said.contains(word) && !asked_for.contains(word);
            let leaks = said.contains(CANARY) || shows("key.txt") || shows(".env") || said.contains("secrets/key.txt:");
            if deny.is_empty() {
                tally.control(leaks);
            } else {
                tally.tried(format!("{tool} {input}: {said}"), leaks);
            }
        }
        assert_eq!(ran.code, Some(if deny.is_empty() { 0 } else { 4 }), "{ran:#?}");
    }
    tally.finish();
}
