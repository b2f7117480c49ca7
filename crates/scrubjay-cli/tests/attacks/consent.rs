//! Consent is as wide as what was shown: what "always" and accept-edits must not cover, and what they must.

use crate::tally::Tally;
use scrubjay::gate::{Gate, Verdict};
use scrubjay::permission::{Mode, Permissions};
use scrubjay::tool::{Effect, Tool};
use scrubjay::tools::edit::Edit;
use scrubjay::tools::read::Read;
use scrubjay::tools::shell::Bash;
use scrubjay::tools::write::Write;
use serde::Deserialize;
use serde_json::json;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

#[derive(Deserialize)]
struct List {
    steering: Vec<String>,
    outside: Vec<String>,
    ordinary: Vec<String>,
    said: Vec<Said>,
}

#[derive(Deserialize)]
struct Said {
    line: String,
    covers: Vec<String>,
    leaves: Vec<String>,
}

fn list() -> List {
    toml::from_str(include_str!("../../../../suites/attacks/consent.toml")).unwrap()
}

fn ground() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().canonicalize().unwrap().join("project");
    for name in [".git/hooks", "sub", "bare/objects", "bare/refs"] {
        fs::create_dir_all(project.join(name)).unwrap();
    }
    fs::create_dir(project.parent().unwrap().join("outside")).unwrap();
    fs::write(project.join("bare/HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::write(project.join("real-envrc.sh"), "\n").unwrap();
    for (link, target) in [
        ("link-to-hook", ".git/hooks/pre-commit"),
        ("link-to-git", ".git"),
        (".envrc", "real-envrc.sh"),
        ("out", "../outside"),
    ] {
        symlink(target, project.join(link)).unwrap();
    }
    (folder, project)
}

fn permissions(mode: Mode, allow: &[&str], dir: &Path) -> Permissions {
    let allow = allow.iter().map(|rule| rule.parse().unwrap()).collect();
    Permissions { mode, allow, dir: dir.to_owned(), sandboxed: true, ..Permissions::default() }
}

fn changes(tool: &dyn Tool, path: &str, dir: &Path) -> Effect {
    let input = json!({ "file_path": path, "content": "x", "old_string": "a", "new_string": "b" });
    let fields: &[&str] = if tool.spec().name == "Write" {
        &["file_path", "content"]
    } else {
        &["file_path", "old_string", "new_string"]
    };
    let kept = input.as_object().unwrap().clone().into_iter().filter(|(name, _)| fields.contains(&name.as_str()));
    tool.effect(&kept.collect(), dir)
}

fn runs(line: &str, dir: &Path) -> Effect {
    Bash::new().effect(&json!({ "command": line }), dir)
}

// spec: Q6
#[test]
fn no_consent_to_ordinary_files_covers_those_that_steer() {
    let (_held, project) = ground();
    let mut tally = Tally::of("consent: files");
    let List { steering, outside, ordinary, .. } = list();
    let tools: [Box<dyn Tool>; 2] = [Box::new(Write::new()), Box::new(Edit::new())];
    for tool in &tools {
        let name = tool.spec().name.as_str();
        let ask = permissions(Mode::Ask, &[], &project);
        let always = ask.always(name, &changes(tool.as_ref(), "src/main.rs", &project)).into_iter().collect::<Vec<_>>();
        for path in steering.iter().chain(&outside) {
            let effect = changes(tool.as_ref(), path, &project);
            assert!(matches!(effect, Effect::Writes(_)), "{path}");
            tally.control(Gate::open().decide(name, &effect) == Verdict::Allow);
            tally.tried(format!("always {name}: {path}"), ask.is_covered(&always, name, &effect));
            tally.tried(format!("always after {path}"), ask.always(name, &effect).is_some());
            let free =
                |mode, allow: &[&str]| permissions(mode, allow, &project).decide(name, &effect) == Verdict::Allow;
            tally.tried(format!("accept-edits {name}: {path}"), free(Mode::AcceptEdits, &[]));
        }
        for path in &steering {
            let effect = changes(tool.as_ref(), path, &project);
            for rule in [name.to_owned(), format!("{name}(**)"), format!("{name}(/**)")] {
                let verdict = permissions(Mode::AcceptEdits, &[&rule], &project).decide(name, &effect);
                tally.tried(format!("allow {rule}: {path}"), verdict == Verdict::Allow);
            }
        }
        for path in &ordinary {
            let effect = changes(tool.as_ref(), path, &project);
            assert!(ask.is_covered(&always, name, &effect), "{name} {path}");
            let verdict = permissions(Mode::AcceptEdits, &[], &project).decide(name, &effect);
            assert_eq!(verdict, Verdict::Allow, "{name} {path}");
        }
    }
    tally.finish();
}

// spec: Q6
#[test]
fn no_consent_to_a_command_covers_another() {
    let (_held, project) = ground();
    let mut tally = Tally::of("consent: commands");
    let ask = permissions(Mode::Ask, &[], &project);
    for Said { line, covers, leaves } in list().said {
        let granted: Vec<_> = ask.always("Bash", &runs(&line, &project)).into_iter().collect();
        assert_eq!(granted.len(), 1, "{line}");
        for other in &leaves {
            let effect = runs(other, &project);
            let free = ask.is_covered(&granted, "Bash", &effect) || ask.decide("Bash", &effect) == Verdict::Allow;
            tally.tried(format!("{line} ⇒ {other:?}"), free);
            tally.control(Gate::open().decide("Bash", &effect) == Verdict::Allow);
        }
        for same in &covers {
            assert!(ask.is_covered(&granted, "Bash", &runs(same, &project)), "{line} ⇒ {same}");
        }
    }
    tally.finish();
}

// spec: Q6
#[test]
fn consent_to_read_one_file_outside_is_no_consent_to_another() {
    let (_held, project) = ground();
    let mut tally = Tally::of("consent: reading");
    let ask = permissions(Mode::Ask, &[], &project);
    let reads = |path: &str| Read::new().effect(&json!({ "file_path": path }), &project);
    let granted: Vec<_> = ask.always("Read", &reads("/usr/include/stdio.h")).into_iter().collect();
    assert!(ask.is_covered(&granted, "Read", &reads("/usr/include/stdio.h")));
    for other in
        ["/etc/passwd", "/usr/include/stdio.hx", "/usr/include/stdlib.h", "/usr/include", "../beside.txt", "out/x"]
    {
        tally.tried(other, ask.is_covered(&granted, "Read", &reads(other)));
        tally.control(Gate::open().decide("Read", &reads(other)) == Verdict::Allow);
    }
    tally.finish();
}
