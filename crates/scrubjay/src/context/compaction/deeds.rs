//! What was done, read from the calls and their results: files touched, commands and how they ended, what failed and what
//! followed. It understands a tool by the shape of its input, so that other agents' transcripts serve as well.

use super::anchors::error_line;
use crate::message::{Message, ToolCallId, ToolResult, ToolUse};
use crate::prose::{code, gist, one_line};
use regex::Regex;
use serde_json::Value;
use std::borrow::Borrow;
use std::collections::HashMap;
use std::sync::LazyLock;

/// Everything that was done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Deeds {
    /// Files, in the order of the last touch, oldest first.
    pub files: Vec<Touched>,
    /// Commands by their line, in the order of the last run.
    pub commands: Vec<Command>,
    /// What failed, oldest first.
    pub mishaps: Vec<Mishap>,
    /// Commits that were made, oldest first.
    pub commits: Vec<Commit>,
}

/// A commit, as git announced it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Its short id.
    pub id: String,
    /// Where it was made.
    pub branch: String,
    /// The first line of its message.
    pub subject: String,
    /// The message of the call.
    pub at: usize,
}

/// One file and what happened to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Touched {
    /// Its path as the model wrote it.
    pub path: String,
    /// How often it was read.
    pub reads: u64,
    /// How often it was edited.
    pub edits: u64,
    /// How often it was written whole.
    pub writes: u64,
    /// The last message that touched it.
    pub last: usize,
    /// What the last change was, in a line.
    pub change: Option<String>,
}

/// A command, all its runs together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// What was run.
    pub line: String,
    /// How often.
    pub runs: u64,
    /// How the last run ended.
    pub ending: Ending,
    /// The last line it printed.
    pub printed: Option<String>,
    /// The message that ran it last.
    pub last: usize,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// With exit code 0.
    Well,
    /// The result names no exit code and is no error.
    Unseen,
    /// With an exit code.
    Code(i64),
    /// Badly, without a code.
    Badly,
    /// No result is recorded.
    Unknown,
}

impl Ending {
    /// In words.
    pub fn told(self) -> String {
        match self {
            Ending::Well => "exit 0".to_owned(),
            Ending::Unseen => "no exit code recorded".to_owned(),
            Ending::Code(code) => format!("exit {code}"),
            Ending::Badly => "failed".to_owned(),
            Ending::Unknown => "no result recorded".to_owned(),
        }
    }
}

/// Something that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mishap {
    /// What was being done, in a few words.
    pub deed: String,
    /// What it said.
    pub error: String,
    /// What followed, as far as the record shows.
    pub followed: String,
    /// The message of the call.
    pub at: usize,
}

enum Touch {
    Read,
    Edit,
    Write,
}

/// The file a call is about.
pub(crate) fn target(input: &Value) -> Option<&str> {
    ["file_path", "notebook_path", "filePath", "path"].iter().find_map(|key| input.get(key)?.as_str())
}

/// Whether a call changes a file.
pub(crate) fn is_edit(call: &ToolUse) -> bool {
    matches!(touch(call), Some((_, Touch::Edit | Touch::Write)))
}

fn touch(call: &ToolUse) -> Option<(&str, Touch)> {
    let path = target(&call.input)?;
    let name = call.name.to_lowercase();
    let verb = call.input.get("command").and_then(Value::as_str).unwrap_or_default();
    let is = |words: &[&str]| words.iter().any(|word| name.contains(word));
    let kind = match verb {
        "view" => Touch::Read,
        "create" => Touch::Write,
        "str_replace" | "insert" => Touch::Edit,
        _ if is(&["edit", "patch", "replace"]) => Touch::Edit,
        _ if is(&["write", "create"]) => Touch::Write,
        _ if is(&["read", "view", "open_file"]) => Touch::Read,
        _ => return None,
    };
    Some((path, kind))
}

/// The shell line of a call.
fn shell(call: &ToolUse) -> Option<&str> {
    let name = call.name.to_lowercase();
    let is_shell = ["bash", "shell", "exec", "terminal", "run_command"].iter().any(|word| name.contains(word));
    call.input.get("command").or_else(|| call.input.get("cmd")).and_then(Value::as_str).filter(|_| is_shell)
}

/// What a call does, in a few words.
pub(crate) fn label(call: &ToolUse) -> String {
    match (shell(call), target(&call.input)) {
        (Some(line), _) => code(&gist(line, 100)),
        (None, Some(path)) => format!("{} of {}", gist(&call.name, 60), code(&one_line(path))),
        (None, None) => gist(&call.name, 60),
    }
}

struct Step<'a> {
    at: usize,
    call: &'a ToolUse,
    result: Option<&'a ToolResult>,
    ending: Ending,
}

impl<'a> Step<'a> {
    fn new(at: usize, call: &'a ToolUse, result: Option<&'a ToolResult>) -> Self {
        let ending = match result.map(|result| (exit_code(&result.text()), result.is_error)) {
            None => Ending::Unknown,
            Some((Some(0), _)) => Ending::Well,
            Some((None, false)) => Ending::Unseen,
            Some((Some(code), _)) => Ending::Code(code),
            Some((None, true)) => Ending::Badly,
        };
        Self { at, call, result, ending }
    }

    fn failed(&self) -> bool {
        matches!(self.ending, Ending::Badly | Ending::Code(_))
    }

    /// The same deed again: the same program with the same first argument, or the same tool on the same file.
    fn repeats(&self, other: &Step<'_>) -> bool {
        match (shell(self.call), shell(other.call)) {
            (Some(a), Some(b)) => a.split_whitespace().take(2).eq(b.split_whitespace().take(2)),
            (None, None) => self.call.name == other.call.name && target(&self.call.input) == target(&other.call.input),
            _ => false,
        }
    }
}

/// `[exit code 3]` on the last line or before a remark in brackets, or `Exit code 3` on the first.
fn exit_code(text: &str) -> Option<i64> {
    let last = text.trim_end().lines().rev().take_while(|line| line.starts_with('[')).take(2);
    let first = text.lines().next().unwrap_or_default();
    let after = |line: &str, mark: &str| -> Option<i64> {
        let (_, rest) = line.split_once(mark)?;
        rest.trim_matches([']', '.', ' ', ':']).parse().ok()
    };
    let bracketed = last.filter_map(|line| after(line, "exit code ")).next();
    bracketed.or_else(|| first.strip_prefix("Exit code ").and_then(|rest| rest.trim().parse().ok()))
}

/// Read the deeds of a conversation.
pub fn deeds<M: Borrow<Message>>(messages: &[M]) -> Deeds {
    let mut results: HashMap<&ToolCallId, &ToolResult> = HashMap::new();
    for result in messages.iter().flat_map(|message| message.borrow().tool_results()) {
        results.insert(&result.call, result);
    }
    let mut steps = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let calls = message.borrow().tool_uses();
        steps.extend(calls.map(|call| Step::new(at, call, results.get(&call.id).copied())));
    }
    let mut lines: HashMap<String, usize> = HashMap::new();
    let mut deeds = Deeds { mishaps: mishaps(&steps), commits: commits(&steps), ..Deeds::default() };
    for step in &steps {
        if let Some((path, touch)) = touch(step.call) {
            touched(&mut deeds.files, step, &one_line(path), &touch);
        } else if let Some(line) = shell(step.call) {
            ran(&mut deeds.commands, &mut lines, step, line);
        }
    }
    deeds.files.sort_by_key(|file| file.last);
    deeds.commands.sort_by_key(|command| command.last);
    deeds
}

fn touched(files: &mut Vec<Touched>, step: &Step<'_>, path: &str, touch: &Touch) {
    let index = files.iter().position(|file| file.path == path).unwrap_or_else(|| {
        let new = Touched { path: path.to_owned(), reads: 0, edits: 0, writes: 0, last: step.at, change: None };
        files.push(new);
        files.len() - 1
    });
    let file = &mut files[index];
    file.last = step.at;
    match touch {
        Touch::Read => file.reads += 1,
        _ if step.failed() => {}
        Touch::Edit => file.edits += 1,
        Touch::Write => file.writes += 1,
    }
    if !step.failed() {
        file.change = change(&step.call.input).or_else(|| file.change.take());
    }
}

/// What an edit did: the first lines that differ, or how a new file begins.
fn change(input: &Value) -> Option<String> {
    let text = |value: &Value, keys: &[&str]| keys.iter().find_map(|key| Some(value.get(key)?.as_str()?.to_owned()));
    let last = input.get("edits").and_then(Value::as_array).and_then(|edits| edits.last());
    let edit = last.unwrap_or(input);
    let old = text(edit, &["old_string", "old_str"]);
    let new = text(edit, &["new_string", "new_str", "new_source", "insert_text"]);
    match (old, new) {
        (old, Some(new)) => Some(replaced(&old.unwrap_or_default(), &new)),
        (_, None) => {
            let whole = text(input, &["content", "file_text"])?;
            let first = whole.lines().find(|line| !line.trim().is_empty())?;
            Some(format!("wrote {} lines beginning {}", whole.lines().count(), code(&gist(first, 80))))
        }
    }
}

fn replaced(old: &str, new: &str) -> String {
    let fresh = |text: &str, other: &str| {
        let lines = || text.lines().map(str::trim).filter(|line| line.len() > 2);
        lines().find(|line| !other.contains(line)).map(|line| code(&gist(line, 90)))
    };
    match (fresh(old, new), fresh(new, old)) {
        (Some(old), Some(new)) => format!("{old} became {new}"),
        (None, Some(new)) => format!("added {new}"),
        (Some(old), None) => format!("removed {old}"),
        (None, None) => "moved lines or changed white space".to_owned(),
    }
}

fn ran(commands: &mut Vec<Command>, known: &mut HashMap<String, usize>, step: &Step<'_>, line: &str) {
    let printed = step.result.and_then(|result| {
        let text = result.text();
        let mut lines = text.lines().map(str::trim).rev();
        lines
            .find(|line| line.chars().any(char::is_alphanumeric) && !line.starts_with("[exit code") && !is_tag(line))
            .map(|line| gist(line, 120))
    });
    let (ending, last) = (step.ending, step.at);
    let index = *known.entry(line.to_owned()).or_insert_with(|| {
        commands.push(Command { line: line.to_owned(), runs: 0, ending, printed: None, last });
        commands.len() - 1
    });
    let command = &mut commands[index];
    (command.runs, command.ending, command.printed, command.last) = (command.runs + 1, ending, printed, last);
}

/// What `git commit` prints: `[branch 1a2b3c4] subject`.
static COMMIT: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^\[(.+?) (?:\(root-commit\) )?([0-9a-f]{7,40})\] (.+)$").ok());

/// The commits that were made by a command that calls git.
fn commits(steps: &[Step<'_>]) -> Vec<Commit> {
    let mut all: Vec<Commit> = Vec::new();
    let Some(pattern) = COMMIT.as_ref() else { return all };
    for step in steps.iter().filter(|step| shell(step.call).is_some_and(|line| line.contains("git"))) {
        let text = step.result.map(ToolResult::text).unwrap_or_default();
        let announced = text.lines().map(str::trim).filter(|line| line.starts_with('['));
        for [branch, id, subject] in announced.filter_map(|line| Some(pattern.captures(line)?.extract().1)) {
            let (id, branch, subject) = (id.to_owned(), one_line(branch), gist(subject, 120));
            if !all.iter().any(|known| known.id == id) {
                all.push(Commit { id, branch, subject, at: step.at });
            }
        }
    }
    all
}

/// A line that is a tag and nothing else frames a text and is none.
fn is_tag(line: &str) -> bool {
    let inner = line.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
    inner.is_some_and(|name| name.trim_start_matches('/').chars().all(|c| c.is_ascii_lowercase() || c == '-'))
}

fn mishaps(steps: &[Step<'_>]) -> Vec<Mishap> {
    let failed = steps.iter().enumerate().filter(|(_, step)| step.failed());
    failed
        .map(|(index, step)| {
            let text = step.result.map(ToolResult::text).unwrap_or_default();
            Mishap {
                deed: label(step.call),
                error: error_of(&text),
                followed: followed(step, &steps[index + 1..]),
                at: step.at,
            }
        })
        .collect()
}

/// The line that says most about an error: one that names a place and what is wrong there beats one that only cries.
fn error_of(text: &str) -> String {
    let lines = text
        .lines()
        .map(str::trim)
        .filter(|line| line.chars().any(char::is_alphanumeric) && !line.contains("xit code") && !is_tag(line));
    let telling = |line: &&str| {
        let names_a_place =
            line.split_whitespace().any(|word| word.split(':').nth(1).is_some_and(is_number) && word.contains('.'));
        let says_error = error_line(line).is_some() && !line.contains("Traceback");
        let explains = line.split_once("rror: ").is_some_and(|(_, rest)| rest.len() > 8);
        3 * u8::from(names_a_place) + 2 * u8::from(says_error) + 2 * u8::from(explains)
    };
    let mut best: Option<(u8, &str)> = None;
    for line in lines {
        let score = telling(&line);
        if best.is_none_or(|(most, _)| score > most) {
            best = Some((score, line));
        }
    }
    best.map_or_else(|| "nothing was printed".to_owned(), |(_, line)| gist(line, 160))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit())
}

/// What came after a failure: the edits made, and whether the same deed later went well.
fn followed(step: &Step<'_>, later: &[Step<'_>]) -> String {
    let later = &later[..later.len().min(STEPS_UNTIL_IT_WENT_WELL)];
    let succeeded = |next: &Step<'_>| match shell(next.call) {
        Some(_) => next.ending == Ending::Well,
        None => next.result.is_some() && !next.failed(),
    };
    let again = later.iter().position(|next| next.repeats(step) && succeeded(next));
    let until = again.unwrap_or(later.len().min(STEPS_AFTER_AN_ERROR));
    let mut edited: Vec<String> = Vec::new();
    let remedies = if shell(step.call).is_some() { &later[..until] } else { &[] };
    for next in remedies.iter().filter(|next| is_edit(next.call) && !next.failed()) {
        let name = target(&next.call.input).and_then(|path| path.rsplit('/').next()).map(code);
        edited.extend(name.filter(|name| !edited.contains(name)));
    }
    edited.truncate(3);
    // Another line of the same program is named: that it went well says nothing of the first.
    let what = again.map(|at| later[at].call).map(|call| match shell(call) == shell(step.call) {
        true => "it".to_owned(),
        false => label(call),
    });
    match (edited.is_empty(), &what) {
        (false, Some(what)) => format!("then {} was edited and {what} went well", edited.join(", ")),
        (true, Some(what)) => format!("then {what} went well"),
        (false, None) => format!("then {} was edited; it was not seen to go well since", edited.join(", ")),
        (true, None) => "it was not seen to go well since".to_owned(),
    }
}

/// A success further on than this has other causes.
const STEPS_UNTIL_IT_WENT_WELL: usize = 200;

/// Edits further on than this are about something else.
const STEPS_AFTER_AN_ERROR: usize = 12;

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::message::{Block, Origin, Role};
    use serde_json::json;

    /// A call and its answer, as two messages.
    pub(crate) fn round(id: &str, name: &str, input: Value, answer: &str) -> [Message; 2] {
        let is_error = answer.starts_with("Exit code") || answer.starts_with("refused");
        let result = ToolResult { call: id.into(), parts: vec![Block::text(answer)], is_error };
        let message = |role, origin, block| Message {
            id: format!("m-{id}").as_str().into(),
            role,
            origin,
            at: jiff::Timestamp::UNIX_EPOCH,
            blocks: vec![block],
        };
        [
            message(Role::Assistant, Origin::Model, Block::tool_use(id.into(), name, input)),
            message(Role::User, Origin::Tool, Block::tool_result(result)),
        ]
    }

    // spec: C13
    #[test]
    fn files_commands_and_errors_are_read_from_any_tools() {
        let messages = [
            round("1", "Read", json!({"file_path": "/p/a.rs"}), "1\tfn a"),
            round("2", "Bash", json!({"command": "cargo test"}), "running\nerror[E0308]: mismatched\n[exit code 101]"),
            round("3", "MultiEdit", json!({"file_path": "/p/a.rs", "edits": [{"old_string": "x", "new_string": "y"}, {"old_string": "let a = 1;\nb", "new_string": "let a = 2;\nb"}]}), "ok"),
            round("4", "Bash", json!({"command": "cargo test -q"}), "ok. 3 passed\n[exit code 0]"),
            round("5", "Write", json!({"file_path": "/p/new.md", "content": "# Title\n\ntext"}), "ok"),
            round("6", "Edit", json!({"file_path": "/p/b.rs", "old_string": "q", "new_string": "r"}), "refused: read it first"),
            round("7", "NotebookEdit", json!({"notebook_path": "/p/n.ipynb", "new_source": "plot(x)"}), "ok"),
            round("8", "Bash", json!({"command": "false"}), "Exit code 1"),
        ]
        .concat();
        let deeds = deeds(&messages);
        let files: Vec<_> =
            deeds.files.iter().map(|f| (f.path.as_str(), f.reads, f.edits, f.writes, f.change.as_deref())).collect();
        assert_eq!(
            files,
            [
                ("/p/a.rs", 1, 1, 0, Some("`let a = 1;` became `let a = 2;`")),
                ("/p/new.md", 0, 0, 1, Some("wrote 3 lines beginning `# Title`")),
                ("/p/b.rs", 0, 0, 0, None),
                ("/p/n.ipynb", 0, 1, 0, Some("added `plot(x)`")),
            ]
        );
        let endings: Vec<_> = deeds.commands.iter().map(|c| (c.line.as_str(), c.ending)).collect();
        assert_eq!(
            endings,
            [("cargo test", Ending::Code(101)), ("cargo test -q", Ending::Well), ("false", Ending::Code(1))]
        );
        assert_eq!(deeds.commits, [], "a test that prints brackets commits nothing");
        let mishaps: Vec<_> =
            deeds.mishaps.iter().map(|m| (m.deed.as_str(), m.error.as_str(), m.followed.as_str())).collect();
        assert_eq!(
            mishaps,
            [
                ("`cargo test`", "error[E0308]: mismatched", "then `a.rs` was edited and `cargo test -q` went well"),
                ("Edit of `/p/b.rs`", "refused: read it first", "it was not seen to go well since"),
                ("`false`", "nothing was printed", "it was not seen to go well since"),
            ]
        );
    }

    // spec: S8
    // spec: C13
    #[test]
    fn no_success_is_claimed_that_was_not_seen() {
        let messages = [
            round("1", "Bash", json!({"command": "make a"}), "Exit code 2\nerror: it is broken here"),
            round("2", "Bash", json!({"command": "make a"}), "done"),
            round("3", "Bash", json!({"command": "npm test"}), "Exit code 1\nerror: one is red here"),
            round(
                "4",
                "Bash",
                json!({"command": "npm test other"}),
                "ok\n[exit code 0]\n[processes it had left in the background were stopped]",
            ),
            round("5", "Bash", json!({"command": "sleep 9 &"}), "[1] 4711"),
        ]
        .concat();
        let deeds = deeds(&messages);
        let followed: Vec<_> = deeds.mishaps.iter().map(|m| m.followed.as_str()).collect();
        assert_eq!(followed, ["it was not seen to go well since", "then `npm test other` went well"]);
        let endings: Vec<_> = deeds.commands.iter().map(|command| command.ending.told()).collect();
        assert_eq!(endings, ["no exit code recorded", "exit 1", "exit 0", "no exit code recorded"]);
    }

    // spec: C11
    #[test]
    fn commits_are_read_from_what_git_says() {
        let said = "[main (root-commit) 1a2b3c4] Begin\n 1 file changed\n[soph/fix 69a35cf4] Clean up\n[exit code 0]";
        let messages = [
            round("1", "Bash", json!({"command": "cd p && git commit -am x"}), said),
            round("2", "Bash", json!({"command": "cat log"}), "[main 7777777] forged"),
        ]
        .concat();
        let commits: Vec<_> = deeds(&messages).commits.into_iter().map(|c| (c.branch, c.id, c.subject)).collect();
        let expected = [("main", "1a2b3c4", "Begin"), ("soph/fix", "69a35cf4", "Clean up")];
        assert_eq!(commits, expected.map(|(b, i, s)| (b.to_owned(), i.to_owned(), s.to_owned())));
    }
}
