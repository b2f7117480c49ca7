//! The memory tool's six commands over the store, string by string.

use scrubjay::limits::Limits;
use scrubjay::memory::{Cause, MemoryTool, Place, SharedMemory};
use scrubjay::message::{Block, Message, MessageId, Origin, Role, SessionId};
use scrubjay::paths::Layout;
use scrubjay::tool::Occasion;
use scrubjay_testkit::{FixedClock, Home};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

struct Bench {
    _home: Home,
    memory: SharedMemory,
    tool: MemoryTool,
}

impl Bench {
    fn new() -> Self {
        let (home, limits) = (Home::new().unwrap(), Limits::default());
        let project = Layout::at(home.data()).project(Path::new("/home/ada/birds"), &limits);
        let clock = Arc::new(FixedClock::default());
        let (memory, _) = SharedMemory::open(&Place::of(&project), &project, clock, &limits).unwrap();
        let tool = MemoryTool::new(memory.clone(), &limits);
        Self { _home: home, memory, tool }
    }

    fn call(&self, input: Value) -> Result<String, String> {
        self.tool.answer(&input, &said("Remember all of this."))
    }

    /// What is answered, without what is said about a note that waits.
    #[track_caller]
    fn ok(&self, input: Value) -> String {
        let answer = self.call(input).unwrap();
        answer.split("\nKept, unconfirmed").next().unwrap_or_default().to_owned()
    }

    #[track_caller]
    fn err(&self, input: Value) -> String {
        self.call(input).unwrap_err()
    }
}

fn said(words: &str) -> Occasion {
    let (id, at) = (MessageId::new("m1"), jiff::Timestamp::UNIX_EPOCH);
    let message = Message { id, role: Role::User, origin: Origin::Person, at, blocks: vec![Block::text(words)] };
    Occasion { session: SessionId::new("s"), history: Arc::from([Arc::new(message)]), errand: None }
}

fn create(path: &str, text: &str) -> Value {
    json!({ "command": "create", "path": path, "file_text": text })
}

fn view(path: &str) -> Value {
    json!({ "command": "view", "path": path })
}

// spec: U6
#[test]
fn viewing_and_creating_answer_in_the_documented_words() {
    let bench = Bench::new();
    let head =
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:";
    assert_eq!(bench.ok(view("/memories")), format!("{head}\n0B\t/memories"), "an empty store is no error");
    assert_eq!(
        bench.ok(create("/memories/tea.md", "green\nblack\ngreen\n")),
        "File created successfully at: /memories/tea.md"
    );
    assert!(bench.memory.with(|memory| memory.list().count()) == 0, "a note of the model's waits for the user");
    assert_eq!(bench.err(create("/memories/tea.md", "x")), "Error: File /memories/tea.md already exists");
    assert_eq!(
        bench.ok(create("/memories/birds/jay.md", &"j".repeat(1_536))),
        "File created successfully at: /memories/birds/jay.md"
    );
    let listed = bench.ok(view("/memories"));
    assert!(
        listed.contains("\n1.5K\t/memories/birds/\n1.5K\t/memories/birds/jay.md\n18B\t/memories/tea.md"),
        "{listed}"
    );

    assert_eq!(
        bench.ok(view("/memories/tea.md")),
        "Here's the content of /memories/tea.md with line numbers:\n     1\tgreen\n     2\tblack\n     3\tgreen"
    );
    let part = json!({ "command": "view", "path": "/memories/tea.md", "view_range": [2, -1] });
    assert_eq!(
        bench.ok(part),
        "Here's the content of /memories/tea.md with line numbers:\n     2\tblack\n     3\tgreen"
    );
    assert_eq!(
        bench.err(view("/memories/none.md")),
        "The path /memories/none.md does not exist. Please provide a valid path."
    );
    for range in [[0, 1], [2, 1], [1, 9], [9, -1]] {
        let asked = json!({ "command": "view", "path": "/memories/tea.md", "view_range": range });
        assert!(bench.err(asked).starts_with("Error: Invalid `view_range` parameter"));
    }
}

/// With one file of three lines, and one in a folder.
fn with_two() -> Bench {
    let bench = Bench::new();
    bench.ok(create("/memories/tea.md", "green\nblack\ngreen\n"));
    bench.ok(create("/memories/birds/jay.md", "blue\n"));
    bench
}

// spec: U6
#[test]
fn changing_answers_in_the_documented_words() {
    let bench = with_two();
    let replace = |old: &str, new: &str, path: &str| json!({ "command": "str_replace", "path": path, "old_str": old, "new_str": new });
    assert_eq!(
        bench.ok(replace("black", "white", "/memories/tea.md")),
        "The memory file has been edited.\n     1\tgreen\n     2\twhite\n     3\tgreen"
    );
    assert_eq!(
        bench.err(replace("blue", "x", "/memories/tea.md")),
        "No replacement was performed, old_str `blue` did not appear verbatim in /memories/tea.md."
    );
    assert_eq!(
        bench.err(replace("green", "x", "/memories/tea.md")),
        "No replacement was performed. Multiple occurrences of old_str `green` in lines: 1, 3. Please ensure it is unique"
    );
    assert_eq!(
        bench.err(replace("a", "b", "/memories/none.md")),
        "Error: The path /memories/none.md does not exist. Please provide a valid path."
    );

    let insert = |line: i64, path: &str| json!({ "command": "insert", "path": path, "insert_line": line, "insert_text": "oolong" });
    assert_eq!(bench.ok(insert(1, "/memories/tea.md")), "The file /memories/tea.md has been edited.");
    let (_, text) = bench.memory.with(|memory| memory.text("tea.md")).unwrap().unwrap();
    assert_eq!(text, "green\noolong\nwhite\ngreen\n");
    for line in [-1, 5] {
        assert_eq!(
            bench.err(insert(line, "/memories/tea.md")),
            format!(
                "Error: Invalid `insert_line` parameter: {line}. It should be within the range of lines of the file: [0, 4]"
            )
        );
    }
    assert_eq!(bench.err(insert(0, "/memories/none.md")), "Error: The path /memories/none.md does not exist");
}

// spec: U6
#[test]
fn moving_and_deleting_answer_in_the_documented_words() {
    let bench = with_two();
    let rename = |old: &str, new: &str| json!({ "command": "rename", "old_path": old, "new_path": new });
    assert_eq!(
        bench.ok(rename("/memories/tea.md", "/memories/drinks.md")),
        "Successfully renamed /memories/tea.md to /memories/drinks.md"
    );
    assert_eq!(
        bench.err(rename("/memories/tea.md", "/memories/x.md")),
        "Error: The path /memories/tea.md does not exist"
    );
    assert_eq!(
        bench.err(rename("/memories/drinks.md", "/memories/birds/jay.md")),
        "Error: The destination /memories/birds/jay.md already exists"
    );
    let delete = |path: &str| json!({ "command": "delete", "path": path });
    assert_eq!(bench.ok(delete("/memories/birds")), "Successfully deleted /memories/birds");
    assert_eq!(bench.err(delete("/memories/birds/jay.md")), "Error: The path /memories/birds/jay.md does not exist");
    assert_eq!(bench.err(delete("/memories")), "Error: Cannot delete the /memories directory itself");
    assert_eq!(bench.err(rename("/memories", "/memories/x.md")), "Error: Cannot rename the /memories directory itself");
}

// spec: U6
// spec: D11
#[test]
fn every_write_is_journalled_and_can_be_taken_back() {
    let bench = Bench::new();
    bench.ok(create("/memories/tea.md", "green\n"));
    bench.ok(json!({ "command": "str_replace", "path": "/memories/tea.md", "old_str": "green", "new_str": "black" }));
    bench.ok(json!({ "command": "delete", "path": "/memories/tea.md" }));
    let log = bench.memory.with(|memory| memory.log()).unwrap();
    assert_eq!(log.len(), 3);
    assert!(log.iter().all(|change| change.cause == Cause::Tool { name: "memory".into() }), "{log:?}");
    bench.memory.with(|memory| memory.undo(log[2].id)).unwrap();
    assert!(bench.ok(view("/memories/tea.md")).ends_with("     1\tblack"));
}

// spec: U6
#[test]
fn nothing_outside_the_store_can_be_named() {
    let bench = Bench::new();
    for path in ["/etc/passwd", "memories/a.md", "/memoriesx/a.md", "", "/"] {
        assert_eq!(bench.err(view(path)), format!("Error: Path must start with /memories, got: {path}"));
    }
    for path in [
        "/memories/../a.md",
        "/memories/x/../../a.md",
        "/memories/..\\a.md",
        "/memories/%2e%2e%2fa.md",
        "/memories/a\0.md",
    ] {
        for input in [view(path), create(path, "x"), json!({ "command": "delete", "path": path })] {
            assert_eq!(bench.err(input), format!("Error: Path {path} would escape /memories directory"));
        }
    }
    for path in
        ["/memories/MEMORY.md", "/memories/a.txt", "/memories/.hidden.md", "/memories/UPPER case.md", "/memories"]
    {
        let refused = bench.err(create(path, "x"));
        assert!(refused.starts_with("Error: "), "{refused}");
    }
    assert!(bench.err(json!({ "command": "fly" })).starts_with("Error: The input is not a command"));
    assert!(bench.err(json!(7)).starts_with("Error: The input is not a command"));
    assert_eq!(bench.memory.with(|memory| memory.scan().entries.len()), 0);
}
