//! Where agents work and what they keep: worktrees, memories, and the words about what they are doing.

use scrubjay::agents::worktree::{Settled, Worktree};
use scrubjay::agents::{Definitions, Folders, Memories, Staff};
use scrubjay::event::Event;
use scrubjay::gate::{Gate, Verdict};
use scrubjay::ledger::Row;
use scrubjay::limits::Limits;
use scrubjay::message::Usage;
use scrubjay::model::ModelError;
use scrubjay::prompt::Prompt;
use scrubjay::prompt_cache::prices::Prices;
use scrubjay::tool::{Effect, Tool};
use scrubjay::tools;
use scrubjay_providers::scripted::{self, Scripted, Turn};
use scrubjay_testkit::{Home, Setting, Story};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

fn hands() -> Vec<Arc<dyn Tool>> {
    tools::standard(&[], &Limits::default())
}

fn built_in() -> Staff {
    Staff::new(Definitions::built_in(&Limits::default()))
}

fn is_agent(prompt: &Prompt) -> bool {
    prompt.system.contains("Another agent started you")
}

fn last_results(prompt: &Prompt) -> Vec<String> {
    let results = |message: &scrubjay::message::Message| message.tool_results().map(|r| r.text()).collect::<Vec<_>>();
    prompt.history.iter().rev().map(|message| results(message)).find(|found| !found.is_empty()).unwrap_or_default()
}

/// The conversation follows a script, agents and forks answer by their prompt.
fn two(
    script: Vec<Turn>,
    agent: impl Fn(&Prompt) -> Result<Turn, ModelError> + Send + Sync + 'static,
) -> Arc<Scripted> {
    let script = Mutex::new(std::collections::VecDeque::from(script));
    let answer = move |prompt: &Prompt| match is_agent(prompt) || scrubjay::agents::fork::is_fork(prompt) {
        true => agent(prompt),
        false => Ok(script.lock().unwrap().pop_front().unwrap_or_else(|| Turn::text("(nothing more to say)"))),
    };
    Arc::new(Scripted::new().afterwards(answer))
}

fn git(dir: &Path, args: &[&str]) -> String {
    let identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false"];
    let output = Command::new("git").args(identity).args(args).current_dir(dir).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// A repository with one commit, and a change that was not committed.
fn repository() -> Home {
    let home = Home::new().unwrap();
    home.write("sub/a.txt", "committed\n").unwrap();
    git(&home.project(), &["init", "-q", "-b", "main"]);
    git(&home.project(), &["add", "."]);
    git(&home.project(), &["commit", "-q", "-m", "first"]);
    home.write("sub/a.txt", "not committed\n").unwrap();
    home
}

fn worktrees(home: &Home) -> usize {
    git(&home.project(), &["worktree", "list"]).lines().count()
}

fn wish(more: Value) -> Value {
    let mut input = json!({ "prompt": "Change a.txt.", "description": "change it", "worktree": true });
    input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    input
}

// spec: A3
#[tokio::test]
async fn a_worktree_with_changes_is_kept_and_one_without_leaves_no_trace() {
    let calls = Turn::call("Agent", wish(json!({ "name": "writer" })))
        .and_call("Agent", wish(json!({ "name": "reader" })))
        .and_call("Agent", wish(json!({ "fork": true, "prompt": "Write b.txt." })));
    let model = two(vec![calls, Turn::text("ok")], |prompt| {
        let task = prompt.rendering();
        Ok(match last_results(prompt).as_slice() {
            [seen] if task.contains("called writer") && seen.contains("committed") => {
                assert!(!seen.contains("not committed"), "made from the last commit: {seen}");
                Turn::call(
                    "Edit",
                    json!({ "file_path": "sub/a.txt", "old_string": "committed", "new_string": "changed" }),
                )
            }
            [edited] if task.contains("called writer") && !edited.contains("ommitted\n") => Turn::text("I changed it."),
            [read] if task.contains("called reader") && read.contains("ommitted") => Turn::text("I only looked."),
            [wrote] if task.contains("Write b.txt.") && wrote.contains("b.txt") => Turn::text("Forked and written."),
            _ if task.contains("Write b.txt.") => {
                Turn::call("Write", json!({ "file_path": "b.txt", "content": "new" }))
            }
            _ => Turn::call("Read", json!({ "file_path": "sub/a.txt" })),
        })
    });
    // What may be done in the tree may be done in its worktree, and nothing else.
    let home = repository();
    let top = home.project().canonicalize().unwrap();
    let gate = Gate::new(move |_, effect| match effect {
        Effect::Writes(path) if !path.starts_with(&top) => Verdict::Deny(format!("{} is elsewhere", path.display())),
        _ => Verdict::Allow,
    });
    let setting = Setting { gate, ..Setting::new(model.clone()).tools(hands()).staff(built_in()) };
    let mut story = setting.begin_in(home).unwrap();
    story.ask("Go").await.unwrap();
    let reports = last_results(model.prompts().last().unwrap());
    assert!(reports[0].starts_with("I changed it.") && reports[0].contains("(1 file changed)"), "{}", reports[0]);
    assert_eq!(reports[1], "I only looked.");
    assert!(reports[2].starts_with("Forked and written.") && reports[2].contains("on branch scrubjay/fork-1-story"));
    let tree = story.home.data().join("story/worktrees/general-1");
    assert!(reports[0].contains(&tree.display().to_string()));
    assert_eq!(std::fs::read_to_string(tree.join("sub/a.txt")).unwrap(), "changed\n");
    assert_eq!(std::fs::read_to_string(story.home.project().join("sub/a.txt")).unwrap(), "not committed\n");
    assert!(!story.home.data().join("story/worktrees/general-2").exists(), "nothing changed");
    assert_eq!(worktrees(&story.home), 3, "the tree and the two that changed");
    let branches = git(&story.home.project(), &["branch", "--list", "scrubjay/*"]);
    assert!(branches.contains("general-1") && branches.contains("fork-1") && !branches.contains("general-2"));
}

// spec: A3
#[tokio::test]
async fn a_worktree_needs_a_repository_and_the_right_to_change_something() {
    let refused = |home: Home, gate: Gate| async move {
        let model = two(vec![Turn::call("Agent", wish(json!({}))), Turn::text("ok")], |_| Ok(Turn::text("never")));
        let setting = Setting { gate, ..Setting::new(model.clone()).tools(hands()).staff(built_in()) };
        let mut story = setting.begin_in(home).unwrap();
        story.ask("Go").await.unwrap();
        assert!(!story.home.data().join("story/worktrees/general-1").exists());
        last_results(model.prompts().last().unwrap()).pop().unwrap()
    };
    assert!(refused(Home::new().unwrap(), Gate::open()).await.contains("needs a git repository"));
    let reads = Gate::new(|_, effect| match effect.is_read_only() || *effect == Effect::Summons {
        true => Verdict::Allow,
        false => Verdict::Deny("nothing is changed here".into()),
    });
    assert!(refused(repository(), reads).await.contains("nothing is changed here"));
}

/// A worktree that is made, looked at by git itself, and removed.
async fn comes_and_goes(home: &Home, from: &Path, name: &str) {
    let dir = home.data().join("worktrees").join(name);
    let tree = Worktree::create(from, &dir, &format!("scrubjay/{name}"), &Limits::default()).await.unwrap();
    assert_eq!(git(&tree.dir, &["status", "--porcelain"]), "", "{name}: clean, as git sees it");
    assert_eq!(git(&tree.dir, &["branch", "--show-current"]), tree.branch);
    assert_eq!(git(&tree.dir, &["rev-parse", "HEAD"]), git(from, &["rev-parse", "HEAD"]));
    git(from, &["worktree", "prune"]);
    let listed = || git(from, &["worktree", "list"]).contains(&dir.display().to_string());
    assert!(listed() && tree.dir.join("sub/a.txt").exists());
    let again = Worktree::create(from, &dir, "scrubjay/other", &Limits::default()).await.unwrap_err();
    assert!(again.contains("exists") && tree.dir.join("sub/a.txt").exists(), "{again}");
    let taken = Worktree::create(from, &dir.with_extension("b"), &tree.branch, &Limits::default()).await.unwrap_err();
    assert!(taken.contains("could not make"), "{taken}");
    assert!(!dir.with_extension("b").exists(), "nothing is left of it");
    assert_eq!(tree.settle().await, Settled::Removed);
    assert!(!listed());
    assert_eq!(git(from, &["branch", "--list", "scrubjay/*"]), "");
    assert_eq!(home.data().join("worktrees").read_dir().unwrap().count(), 0, "nothing of ours is left");
    git(from, &["fsck", "--strict"]);
}

// spec: A3
#[tokio::test]
async fn worktrees_are_made_of_every_usual_repository() {
    let home = repository();
    comes_and_goes(&home, &home.project(), "plain").await;
    git(&home.project(), &["pack-refs", "--all"]);
    comes_and_goes(&home, &home.project().join("sub"), "packed").await;
    let side = home.path().join("side");
    git(&home.project(), &["worktree", "add", "-q", "-b", "side", side.to_str().unwrap()]);
    comes_and_goes(&home, &side, "linked").await;
    git(&side, &["checkout", "-q", "--detach"]);
    comes_and_goes(&home, &side, "detached").await;

    let outer = home.path().join("outer");
    git(home.path(), &["init", "-q", "-b", "main", "outer"]);
    let source = home.project().display().to_string();
    git(&outer, &["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &source, "module"]);
    comes_and_goes(&home, &outer.join("module"), "submodule").await;

    let other = home.path().join("sha256");
    git(home.path(), &["init", "-q", "-b", "main", "--object-format=sha256", "sha256"]);
    std::fs::create_dir(other.join("sub")).unwrap();
    std::fs::write(other.join("sub/a.txt"), "a").unwrap();
    git(&other, &["add", "."]);
    git(&other, &["commit", "-q", "-m", "first"]);
    comes_and_goes(&home, &other, "sha256").await;
}

const REVIEWER: &str = "---\nname: team:reviewer\ndescription: reviews\ntools: Grep\nmemory: SCOPE\n---\nYou review.\n";

fn reviewer(home: &Home, scope: &str) -> Staff {
    // The person's own definition: a repository's could not have the person's memory.
    std::fs::create_dir_all(home.path().join("agents")).unwrap();
    std::fs::write(home.path().join("agents/reviewer.md"), REVIEWER.replace("SCOPE", scope)).unwrap();
    let root = home.project().canonicalize().unwrap();
    let folders = Folders { person: vec![home.path().join("agents")], project: Vec::new(), root: root.clone() };
    let context: scrubjay::agents::staff::Context = Arc::new(|session, indexes, nonce| {
        let text = scrubjay::instructions::context(&[], indexes, nonce);
        let at = jiff::Timestamp::UNIX_EPOCH;
        text.map(|text| scrubjay::instructions::message(session, text, at)).into_iter().collect()
    });
    let memories = Memories {
        home: home.data().canonicalize().unwrap(),
        root,
        remote: None,
        main: Some(home.data().join("main")),
    };
    Staff { context, memories: Some(memories), ..Staff::new(Definitions::load(&folders, &Limits::default())) }
}

fn memory_file(name: &str, body: &str) -> String {
    format!("---\nname: {name}\ndescription: {body}\ntype: project\n---\n{body}\n")
}

/// One session in which the reviewer is told something and looks at something; what its requests began with.
async fn reviewed(
    home: Home,
    scope: &str,
    dir: &Path,
    question: &str,
    writes: Vec<(PathBuf, String)>,
) -> (Story, Prompt) {
    let dir = dir.to_owned();
    let outside = home.project().join("outside.md");
    let main = home.data().join("main/x.md");
    let call = Turn::call("Agent", json!({ "agent": "team:reviewer", "prompt": "Review.", "description": "review" }));
    let model = two(vec![call, Turn::text("ok")], move |prompt| {
        let write = |path: &Path, text: &str| json!({ "file_path": path, "content": text });
        Ok(match last_results(prompt).as_slice() {
            [] => {
                let memories = writes
                    .iter()
                    .fold(Turn::default(), |turn, (name, text)| turn.and_call("Write", write(&dir.join(name), text)));
                memories.and_call("Write", write(&outside, "x")).and_call("Write", write(&main, "x"))
            }
            results => Turn::text(results.join("\n")),
        })
    });
    let staff = reviewer(&home, scope);
    let gate =
        Gate::new(
            |_, effect| if effect.is_read_only() || *effect == Effect::Summons { Verdict::Allow } else { Verdict::Ask },
        );
    let person = scrubjay::desk::Person::absent("nobody was to be asked");
    let setting = Setting { gate, person, ..Setting::new(model.clone()).tools(hands()).staff(staff) };
    let mut story = setting.begin_in(home).unwrap();
    story.ask(question).await.unwrap();
    let first = model.prompts().into_iter().find(is_agent).unwrap();
    let report = last_results(model.prompts().last().unwrap()).join("\n");
    assert_eq!(report.matches("in its own memory directory only").count(), 2, "{report}");
    (story, first)
}

// spec: A5
#[tokio::test]
async fn what_an_agent_learns_in_one_session_it_has_in_the_next() {
    for scope in ["user", "project", "local"] {
        let home = Home::new().unwrap();
        let dir = match scope {
            "user" => home.data().canonicalize().unwrap().join("agent-memory/team-reviewer"),
            "project" => home.project().canonicalize().unwrap().join(".claude/agent-memory/team-reviewer"),
            _ => home.project().canonicalize().unwrap().join(".claude/agent-memory-local/team-reviewer"),
        };
        let said = memory_file("Migrations", "integration tests run against the real database");
        let found = memory_file("Parser", "the parser lives in seeds.rs since March");
        let writes = vec![("project_migrations.md".into(), said), ("project_parser.md".into(), found)];
        let question = "Have the reviewer remember that integration tests run against the real database.";
        let (story, first) = reviewed(home, scope, &dir, question, writes).await;
        assert!(
            first.rendering().contains("(Nothing is remembered yet.)"),
            "{scope}: the index is loaded, empty or not"
        );
        let hint = match scope {
            "user" => "Keep it general",
            "project" => "everybody who works on the project shares it",
            _ => "on this machine and is not committed",
        };
        assert!(first.system.contains(hint) && first.system.contains("## How to save"), "{scope}");
        assert!(!first.rendering().contains("search past"), "no recall");
        assert!(dir.join("project_migrations.md").is_file() && !story.home.project().join("outside.md").exists());
        assert!(!story.home.data().join("main/x.md").exists(), "the main memory is another's");

        // Another session, another day.
        let Story { session, home, .. } = story;
        drop(session);
        std::fs::remove_dir_all(home.data().join("story")).unwrap();
        std::fs::remove_file(home.data().join("story.jsonl")).unwrap();
        let (_story, next) = reviewed(home, scope, &dir, "Review again.", Vec::new()).await;
        let told = next.instructions[0].text();
        assert!(
            !told.contains("[Migrations](project_migrations.md)"),
            "{scope}: an agent's own notes are in no index: {told}"
        );
        let quoted = told.split("Unconfirmed notes of this agent").nth(1).unwrap_or_default();
        for file in ["> project_migrations.md: ", "> project_parser.md: "] {
            assert!(quoted.contains(file), "{scope}: quoted under a heading: {told}");
        }
    }
}

/// A story with one agent in the background that reads on and on; `small` answers the questions about it.
async fn watched(small: Option<Arc<Scripted>>, model: Scripted, switch: &str) -> (Story, Vec<String>) {
    let gate = scripted::Gate::new();
    let held = gate.clone();
    let turn = Mutex::new(0);
    let script = Mutex::new(std::collections::VecDeque::from([
        Turn::call("Agent", json!({ "prompt": "Look.", "description": "look", "background": true, "name": "scout" })),
        Turn::text("started"),
    ]));
    let usage = Usage { cache_read: 9_000, input: 10, output: 5, ..Usage::default() };
    let model = Arc::new(model.afterwards(move |prompt| {
        if prompt.history.last().is_some_and(|last| last.text().contains("three to five words")) {
            return Ok(Turn::text("Forking words about seeds").counting(usage));
        }
        if !is_agent(prompt) {
            return Ok(script.lock().unwrap().pop_front().unwrap_or_else(|| Turn::text("later")));
        }
        let mut turn = turn.lock().unwrap();
        *turn += 1;
        Ok(match *turn {
            1 => Turn::call("Read", json!({ "file_path": "src/seeds.rs" })).counting(usage),
            _ => Turn::text("slow").behind(&held),
        })
    }));
    let staff = Staff { small: small.map(|small| small as Arc<dyn scrubjay::model::Model>), ..built_in() };
    let setting = Setting::new(model).tools(hands()).staff(staff).switch("layers.agent_summary", switch);
    let mut story = setting.begin().unwrap();
    story.ask("Go").await.unwrap();
    gate.reached().await;
    // The clock stands still until everybody waits; then half a minute passes, twice.
    for _ in 0..2 {
        tokio::time::sleep(std::time::Duration::from_secs(31)).await;
    }
    let words = story.events().into_iter().filter_map(|event| match event {
        Event::Agent { name, state: "running", words, .. } if name == "scout" => Some(words),
        _ => None,
    });
    let words = words.skip(1).collect();
    (story, words)
}

// spec: A6
#[tokio::test(start_paused = true)]
async fn every_half_minute_a_few_words_say_what_an_agent_is_doing() {
    let cheap = Prices { input: Some(0.1), read: Some(0.01), output: Some(0.5), ..Prices::default() };
    let small = || Scripted::new().named("small").priced(cheap);
    let saying = |words: &str| {
        Arc::new(small().then(Turn::text(words).counting(Usage { input: 300, output: 6, ..Usage::default() })))
    };

    let one = saying("Reading the seed parser.");
    let (mut story, words) = watched(Some(one.clone()), Scripted::new(), "true").await;
    assert_eq!(words, ["Reading the seed parser"], "asked once, because nothing was new the second time");
    let asked = &one.prompts()[0];
    assert!(asked.tools.is_empty() && asked.history[0].text().contains("src/seeds.rs"), "a bounded tail, no tools");
    assert_eq!(story.session.agents().list()[0].words, "Reading the seed parser");
    story.session.ended("other").await.unwrap();
    let ours = |row: &Row| matches!(row, Row::Called(called) if called.source == "agent_summary" && called.is_ours());
    assert_eq!(story.session.ledger().iter().filter(|row| ours(row)).count(), 1, "it is our own spending");

    let (_, words) =
        watched(Some(saying("I think that it is reading quite a few files")), Scripted::new(), "true").await;
    assert_eq!(words, ["Reading src/seeds.rs"], "what is not three to five words is not shown");

    let dear =
        Prices { input: Some(90.0), read: Some(0.001), output: Some(0.001), write_5m: Some(90.0), write_1h: None };
    let unused = Arc::new(Scripted::new().named("small").priced(Prices { input: Some(90.0), ..cheap }));
    let (_, words) =
        watched(Some(unused.clone()), Scripted::new().priced(Prices { input: Some(0.001), ..dear }), "true").await;
    assert_eq!(
        (words, unused.prompts().len()),
        (vec!["Forking words about seeds".to_owned()], 0),
        "a fork was cheaper"
    );

    let (_, words) = watched(None, Scripted::new(), "false").await;
    assert_eq!(words, Vec::<String>::new(), "switched off");
}
