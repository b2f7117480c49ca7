//! A folder or a file that is swapped for a link out of the project, all the while that tools look at it.

use crate::tally::Tally;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use scrubjay::digest::FilesSeen;
use scrubjay::instructions::{Approvals, Places};
use scrubjay::limits::Limits;
use scrubjay::message::ToolCallId;
use scrubjay::tool::{Bench, Confinement, Effect, Occasion, Tool, Visible};
use scrubjay::tools::looking::Looking;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tokio_util::sync::CancellationToken;

/// Never to be seen: in a file outside, and in its name.
const CANARY: &str = "canary";

/// How often things are swapped while one tool looks at them, at least.
const SWAPS: usize = 1_000;

/// How often the control tries to be deceived before it is given up.
const TRIES: usize = 2_000_000;

/// A project with a folder and a file that have a double outside.
struct Field {
    _folder: tempfile::TempDir,
    project: PathBuf,
}

impl Field {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().canonicalize().unwrap();
        let (project, outside) = (at.join("project"), at.join("outside"));
        fs::create_dir_all(project.join("d/deep")).unwrap();
        fs::create_dir_all(outside.join("deep")).unwrap();
        for (place, word) in [(&project, "public"), (&outside, CANARY)] {
            let dir = if place == &project { place.join("d") } else { place.clone() };
            for name in ["a.txt", "deep/b.txt", "a.png"] {
                let head: &[u8] = if name == "a.png" { b"\x89PNG\r\n\x1a\n\n" } else { b"" };
                fs::write(dir.join(name), [head, word.as_bytes(), b"\n"].concat()).unwrap();
            }
            fs::write(dir.join(format!("{word}.txt")), format!("{word}\n")).unwrap();
            fs::write(dir.join("deep").join(format!("{word}-name.txt")), "x\n").unwrap();
        }
        fs::write(project.join("leaf.txt"), "public\n").unwrap();
        fs::write(project.join("AGENTS.md"), "@d/a.txt\n@leaf.txt\n").unwrap();
        symlink(&outside, project.join("d.other")).unwrap();
        symlink(outside.join("a.txt"), project.join("leaf.other")).unwrap();
        Self { _folder: folder, project }
    }

    /// Swap the folder and the file for links, on and on, while something looks at them.
    fn while_swapping<T>(&self, look: impl FnOnce(&AtomicUsize) -> T) -> T {
        let (stop, swaps) = (AtomicBool::new(false), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    for (one, other) in [("d", "d.other"), ("leaf.txt", "leaf.other")] {
                        let (one, other) = (self.project.join(one), self.project.join(other));
                        renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).unwrap();
                    }
                    swaps.fetch_add(1, Ordering::Relaxed);
                    std::thread::yield_now();
                }
            });
            let seen = look(&swaps);
            stop.store(true, Ordering::Relaxed);
            seen
        })
    }

    /// What one call shows, where the gate lets it through: everything it says it reads lies in the project.
    async fn shown(&self, tool: &dyn Tool, input: &Value) -> String {
        let approved = tool.effect(input, &self.project);
        match &approved {
            Effect::Reads(paths) if paths.iter().all(|path| path.starts_with(&self.project)) => {}
            _ => return String::new(),
        }
        let (seen, limits, cancel) = (FilesSeen::new(), Limits::default(), CancellationToken::new());
        let bench = Bench {
            dir: &self.project,
            seen: &seen,
            limits: &limits,
            call: &ToolCallId::new("t1"),
            approved: &approved,
            confinement: Confinement::Usual,
            occasion: &Occasion::default(),
            cancel: &cancel,
            view: None,
            summon: None,
            memory: None,
            visible: &Visible::default(),
        };
        let outcome = tool.call(input, &bench).await;
        // A picture is shown as base64; the word stands at a place where that is always the same.
        format!("{:?}", outcome.parts).replace("Y2FuYXJ5", CANARY)
    }
}

/// Read only what leads into the project, looked up first: what the tools must not do.
fn looked_up_first(path: &Path, project: &Path) -> Option<String> {
    path.canonicalize().ok().filter(|real| real.starts_with(project))?;
    fs::read_to_string(path).ok()
}

/// List a folder that was looked up first.
fn listed_first(path: &Path, project: &Path) -> Option<String> {
    path.canonicalize().ok().filter(|real| real.starts_with(project))?;
    Some(fs::read_dir(path).ok()?.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
}

fn tools() -> Vec<(Arc<dyn Tool>, Value)> {
    let all = scrubjay::tools::standard(&[], &Limits::default());
    let tool = |name: &str| all.iter().find(|tool| tool.spec().name == name).unwrap().clone();
    let looking: Arc<dyn Tool> = Arc::new(Looking::instead_of(tool("Bash").spec().clone(), None));
    let mut calls: Vec<(Arc<dyn Tool>, Value)> = Vec::new();
    for path in ["d/a.txt", "d/deep/b.txt", "leaf.txt", "d/a.png", "d/canary.tx", "d/deep/canary-nam.txt"] {
        calls.push((tool("Read"), json!({ "file_path": path })));
    }
    for output in ["files", "content", "count"] {
        calls.push((tool("Grep"), json!({ "pattern": "canary|x", "output": output })));
        calls.push((tool("Grep"), json!({ "pattern": "canary", "path": "d", "output": output })));
    }
    calls.push((tool("Grep"), json!({ "pattern": "canary", "path": "leaf.txt", "output": "content" })));
    for (pattern, path) in [("**/*.txt", "."), ("d/*", "."), ("d/deep/*.txt", "."), ("*.txt", "d/deep")] {
        calls.push((tool("Glob"), json!({ "pattern": pattern, "path": path })));
    }
    let lines = [
        "cat d/a.txt",
        "cat leaf.txt",
        "head d/deep/b.txt",
        "ls d",
        "ls -l d/deep",
        "find .",
        "find d",
        "grep -r canary .",
    ];
    calls.extend(lines.map(|line| (looking.clone(), json!({ "command": line }))));
    calls
}

// spec: X1
#[tokio::test(flavor = "multi_thread")]
async fn no_swap_lets_a_tool_look_outside() {
    let mut tally = Tally::of("races");
    let field = Field::new();
    let runtime = tokio::runtime::Handle::current();
    for (tool, input) in tools() {
        let name = tool.spec().name.clone();
        let (calls, shown) = tokio::task::block_in_place(|| {
            field.while_swapping(|swaps| {
                let (mut calls, mut leaks) = (0, Vec::new());
                while swaps.load(Ordering::Relaxed) < SWAPS || calls < SWAPS {
                    let shown = runtime.block_on(field.shown(tool.as_ref(), &input));
                    calls += 1;
                    // A name that the model wrote itself is told back.
                    let told = input.to_string().contains(CANARY) && shown.contains("cannot be read");
                    if shown.contains(CANARY) && (!told || shown.contains("Near names")) {
                        leaks.push(shown);
                    }
                }
                (calls, leaks)
            })
        });
        for at in 0..calls {
            tally.tried(format!("{name} {input}: {}", shown.get(at).map_or("", String::as_str)), at < shown.len());
        }
    }
    includes(&mut tally, &field);
    control(&mut tally, &field);
    tally.finish();
}

/// Files that an instruction file of the project includes.
fn includes(tally: &mut Tally, field: &Field) {
    let project = field.project.clone();
    let places = Places {
        managed: vec![],
        user: vec![],
        home: project.join("home"),
        root: project.clone(),
        dir: project.clone(),
    };
    let approvals = Approvals::read(&project.join("none")).unwrap_or_default();
    field.while_swapping(|swaps| {
        let mut calls = 0;
        while swaps.load(Ordering::Relaxed) < SWAPS || calls < SWAPS {
            let loaded = scrubjay::instructions::load(&places, &approvals, &Limits::default());
            tally.tried("an included file", format!("{loaded:?}").contains(CANARY));
            calls += 1;
        }
    });
}

/// Looks at a path in a project.
type Way = fn(&Path, &Path) -> Option<String>;

fn control(tally: &mut Tally, field: &Field) {
    let project = &field.project;
    let ways: [(&str, Way); 3] = [("d/a.txt", looked_up_first), ("leaf.txt", looked_up_first), ("d", listed_first)];
    for (path, way) in ways {
        let leaked = field.while_swapping(|_| {
            let path = project.join(path);
            (0..TRIES).any(|_| way(&path, project).is_some_and(|shown| shown.contains(CANARY)))
        });
        assert!(leaked, "{path}: looking up first was never deceived, so the race proves nothing");
        tally.control(leaked);
    }
}
