//! Anchors: the exact strings one cannot reconstruct from memory (paths, names, numbers, links, errors, ids), with who said
//! them how often and when, ranked by how likely they are to be needed again.

use crate::limits::Limits;
use crate::message::{Kind, Message, Origin};
use crate::prose::{gist, head};
use regex::Regex;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Borrow;
use std::collections::HashMap;
use std::sync::LazyLock;

/// What kind of string it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sort {
    /// A path or a file name.
    Path,
    /// A name in code.
    Name,
    /// A command-line flag.
    Flag,
    /// A number with its unit.
    Number,
    /// A link.
    Url,
    /// The line of an error, or its code.
    Error,
    /// A pull request, issue or commit.
    Reference,
    /// A version.
    Version,
}

/// One string and its history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anchor {
    /// The string.
    pub text: String,
    /// What it is.
    pub sort: Sort,
    /// In how many texts the person, the model and the tools said it: a name that one text repeats is that text's affair.
    pub by: Counts,
    /// The message that said it first.
    pub first: usize,
    /// The message that said it last.
    pub last: usize,
    /// The larger, the more it matters.
    pub weight: u64,
}

impl Anchor {
    /// Whether it is more than a passing mention.
    pub fn matters(&self) -> bool {
        self.by.all() > 1 || self.by.person > 0 || self.by.edits > 0
    }
}

/// Texts by speaker.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// The person.
    pub person: u64,
    /// The model, in prose.
    pub model: u64,
    /// The model, as something it changed with a tool.
    pub edits: u64,
    /// The model, as any other input of a tool.
    pub calls: u64,
    /// Tools.
    pub tools: u64,
}

impl Counts {
    /// All texts.
    pub fn all(&self) -> u64 {
        self.person + self.model + self.edits + self.calls + self.tools
    }
}

/// Every anchor of a conversation, the most important first.
pub fn anchors<M: Borrow<Message>>(messages: &[M], limits: &Limits) -> Vec<Anchor> {
    let mut seen: HashMap<(Sort, String), Anchor> = HashMap::new();
    let scan = usize::try_from(limits.anchor_scan_bytes).unwrap_or(usize::MAX);
    for (index, message) in messages.iter().map(Borrow::borrow).enumerate() {
        for (place, text) in places(message) {
            let mut named = in_text(head(&text, scan));
            named.sort_unstable();
            named.dedup();
            for (sort, found) in named {
                let anchor = seen.entry((sort, found.clone())).or_insert_with(|| Anchor {
                    text: found,
                    sort,
                    by: Counts::default(),
                    first: index,
                    last: index,
                    weight: 0,
                });
                *place(&mut anchor.by) += 1;
                anchor.last = index;
            }
        }
    }
    let mut all: Vec<Anchor> = seen.into_values().collect();
    for anchor in &mut all {
        anchor.weight = weight(anchor, messages.len());
    }
    all.sort_by(|a, b| {
        b.weight.cmp(&a.weight).then(b.last.cmp(&a.last)).then_with(|| a.text.cmp(&b.text)).then(a.sort.cmp(&b.sort))
    });
    all
}

type Place = fn(&mut Counts) -> &mut u64;

/// The texts of a message, each with the counter it belongs to. Thinking is the model's own affair and is not read.
fn places(message: &Message) -> Vec<(Place, String)> {
    let said: Place = match message.origin {
        Origin::Person | Origin::Task => |by| &mut by.person,
        Origin::Model => |by| &mut by.model,
        _ => |by| &mut by.tools,
    };
    let mut all: Vec<(Place, String)> = Vec::new();
    for block in &message.blocks {
        match block.kind() {
            Kind::Text(text) => all.push((said, text.clone())),
            Kind::ToolUse(call) => {
                let (target, rest) = call_texts(&call.input);
                let place: Place = if super::deeds::is_edit(call) { |by| &mut by.edits } else { |by| &mut by.calls };
                all.extend(target.map(|path| (place, path)));
                all.push((|by| &mut by.calls, rest));
            }
            Kind::ToolResult(result) => all.push((|by| &mut by.tools, result.text())),
            Kind::Image | Kind::Document | Kind::Thinking(_) | Kind::Summary(_) | Kind::Other(_) => {}
        }
    }
    all
}

/// The file a call is about, and every other string of its input.
fn call_texts(input: &Value) -> (Option<String>, String) {
    let target = super::deeds::target(input).map(str::to_owned);
    let mut rest = String::new();
    if let Value::Object(fields) = input {
        for (_, value) in fields.iter().filter(|(_, value)| value.as_str() != target.as_deref() || target.is_none()) {
            gather(value, &mut rest);
        }
    }
    (target, rest)
}

fn gather(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => {
            out.push_str(text);
            out.push('\n');
        }
        Value::Array(items) => items.iter().for_each(|item| gather(item, out)),
        Value::Object(fields) => fields.values().for_each(|item| gather(item, out)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// What the person said counts most, then what was changed, then what kept coming back, most of all near the end.
fn weight(anchor: &Anchor, messages: usize) -> u64 {
    let by = anchor.by;
    let log = |count: u64| u64::from((count + 1).ilog2());
    let said = 80 * by.person.min(3) + 50 * by.edits.min(2) + 8 * log(by.edits);
    let recurs = 14 * log(by.model) + 10 * log(by.calls) + 9 * log(by.tools);
    let recency = 24 * (anchor.last as u64 + 1) / (messages as u64).max(1);
    // A name in code is found again by reading the code; an id, a branch or a flag is not.
    let sort = match anchor.sort {
        Sort::Url | Sort::Reference | Sort::Path => 15,
        Sort::Flag | Sort::Version | Sort::Error => 10,
        Sort::Name => 6,
        Sort::Number => 0,
    };
    said + recurs + sort + if by.all() > 1 { recency } else { recency / 4 }
}

/// The anchors of a text, in order, with repetitions.
pub fn in_text(text: &str) -> Vec<(Sort, String)> {
    let mut found = Vec::new();
    for line in text.lines() {
        found.extend(error_line(line).map(|error| (Sort::Error, error)));
        for chunk in line.split_whitespace() {
            in_chunk(chunk, &mut found);
        }
    }
    found
}

/// What a line that reports an error holds near its beginning.
static ERROR: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"[Ee]rror:|error\[|ERROR|panic:|panicked at|Exception:|fatal:|FAIL|Traceback").ok());

/// A line that reports an error, shortened.
pub fn error_line(line: &str) -> Option<String> {
    let line = line.trim();
    let is_error = ERROR.as_ref()?.is_match(head(line, 60));
    is_error.then(|| gist(line, 160)).filter(|line| line.len() > 8)
}

fn in_chunk(chunk: &str, found: &mut Vec<(Sort, String)>) {
    if let Some(at) = chunk.find("https://").or_else(|| chunk.find("http://")) {
        let link = chunk[at..].split(['"', '\'', '`', '<', '>', ')', ']']).next().unwrap_or_default();
        found.push((Sort::Url, link.trim_end_matches(['.', ',', ';', ':']).to_owned()));
        return;
    }
    let breaks = |c: char| {
        matches!(c, '"' | '\'' | '`' | '(' | ')' | '[' | ']' | '{' | '}' | '<' | '>' | ',' | ';' | '|' | '=' | '*')
            || matches!(c, '!' | '?' | '&' | '\\' | '…' | '，' | '。' | '；' | '：' | '、' | '（' | '）' | '「' | '」')
    };
    for token in chunk.split(breaks).filter(|token| token.len() > 1) {
        let token = token.trim_end_matches(['.', ':', '-']).trim_start_matches(':');
        if token.starts_with('/') && chunk.contains(&format!("<{token}>")) {
            continue;
        }
        match classify(token) {
            Some((sort, text)) => found.push((sort, text.to_owned())),
            None => parts(token, found),
        }
    }
}

/// `pkg.Name` and `module::name` are read by their parts.
fn parts(token: &str, found: &mut Vec<(Sort, String)>) {
    let names = token.split([':', '.', '#', '@', '%']).filter(|part| part.len() > 3 && is_name(part));
    found.extend(names.map(|part| (Sort::Name, part.to_owned())));
}

fn classify(token: &str) -> Option<(Sort, &str)> {
    let (first, rest) = (token.chars().next()?, token.get(1..));
    let digits = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    if let Some(flag) = token.strip_prefix("--") {
        return flag.starts_with(|c: char| c.is_ascii_lowercase()).then_some((Sort::Flag, token));
    }
    if first == '#' && rest.is_some_and(digits) {
        return Some((Sort::Reference, token));
    }
    let path = without_line_number(token);
    if is_path(path) {
        return Some((Sort::Path, path));
    }
    if is_commit(token) || is_issue(token) {
        return Some((Sort::Reference, token));
    }
    if is_version(token) {
        return Some((Sort::Version, token));
    }
    if first.is_ascii_digit() && has_unit(token) {
        return Some((Sort::Number, token));
    }
    if is_error_code(token) {
        return Some((Sort::Error, token));
    }
    is_name(token).then_some((Sort::Name, token))
}

/// `src/a.rs:12:5` is about `src/a.rs`.
fn without_line_number(token: &str) -> &str {
    let mut token = token;
    while let Some((before, after)) = token.rsplit_once(':') {
        if before.is_empty() || !after.chars().all(|c| c.is_ascii_digit()) {
            return token;
        }
        token = before;
    }
    token
}

const ENDINGS: [&str; 2] = [
    "rs go py js ts tsx jsx md sh json jsonl yaml yml toml c h cpp hpp java kt rb php cs swift sql html css lock txt cfg",
    "ini env proto ipynb xml csv log mod sum vue svelte lua ex zig snap tf gradle bat ps1 scala dart r jl",
];

fn is_file_ending(text: &str) -> bool {
    ENDINGS.iter().flat_map(|line| line.split(' ')).any(|ending| ending == text)
}

fn is_path(token: &str) -> bool {
    let allowed = token.chars().all(|c| c.is_alphanumeric() || "/._-~@+$".contains(c));
    let letters = token.chars().filter(|c| c.is_alphabetic()).count();
    if !allowed || letters < 2 {
        return false;
    }
    let components = token.split('/').filter(|part| part.chars().any(char::is_alphanumeric)).count();
    let rooted = token.starts_with(['/', '~', '.']) && components >= 1 && token.contains('/');
    let file = token.rsplit('/').next().and_then(|name| name.rsplit_once('.'));
    rooted || components >= 2 || file.is_some_and(|(stem, ending)| !stem.is_empty() && is_file_ending(ending))
}

fn is_commit(token: &str) -> bool {
    let hex = token.chars().all(|c| c.is_ascii_digit() || ('a'..='f').contains(&c));
    let mixed = token.chars().any(|c| c.is_ascii_digit()) && token.chars().any(|c| c.is_ascii_alphabetic());
    hex && mixed && (7..=40).contains(&token.len())
}

/// `ENT-221`.
fn is_issue(token: &str) -> bool {
    token.split_once('-').is_some_and(|(project, number)| {
        (2..=10).contains(&project.len())
            && project.chars().all(|c| c.is_ascii_uppercase())
            && !number.is_empty()
            && number.chars().all(|c| c.is_ascii_digit())
    })
}

fn is_version(token: &str) -> bool {
    let number = token.strip_prefix('v').unwrap_or(token);
    let enough = if number.len() < token.len() { 2 } else { 3 };
    let core = number.split(['-', '+']).next().unwrap_or_default();
    let parts: Vec<&str> = core.split('.').collect();
    parts.len() >= enough
        && parts.len() <= 4
        && parts.iter().all(|part| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit()))
}

fn has_unit(token: &str) -> bool {
    const UNITS: &[&str] =
        &["ms", "s", "m", "h", "d", "k", "x", "kb", "mb", "gb", "kib", "mib", "gib", "%", "px", "ns", "us", "µs"];
    let unit = token.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ',' | '_'));
    UNITS.contains(&unit.to_lowercase().as_str())
}

/// `E0308`, `TS2345`, `ENOENT`.
fn is_error_code(token: &str) -> bool {
    let letters = token.len() - token.trim_start_matches(|c: char| c.is_ascii_uppercase()).len();
    let number = &token[letters..];
    let coded =
        (1..=4).contains(&letters) && (3..=6).contains(&number.len()) && number.chars().all(|c| c.is_ascii_digit());
    let errno = token.starts_with('E') && (5..=12).contains(&token.len()) && letters == token.len() && token != "ERROR";
    coded
        || (errno
            && ["ENO", "EAC", "EEX", "EPI", "EIN", "EPE", "ECO", "EAD", "ETI", "EIS"]
                .iter()
                .any(|e| token.starts_with(e)))
}

/// snake_case, CamelCase, camelCase, SCREAMING_CASE, kebab-case of three words and more.
fn is_name(token: &str) -> bool {
    let plain = token.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    if !plain || token.len() < 4 || !token.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        return false;
    }
    let snake = token.trim_matches('_').contains('_') && token.chars().any(|c| c.is_ascii_alphabetic());
    let humps =
        token.as_bytes().windows(2).filter(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase()).count();
    let kebab = token.split('-').filter(|part| !part.is_empty()).count() >= 3 && !token.contains("--");
    snake || humps >= 1 || kebab
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Block, Role};
    use proptest::prelude::*;
    use serde_json::json;

    fn said(origin: Origin, blocks: Vec<Block>) -> Message {
        Message { id: "m".into(), role: Role::User, origin, at: jiff::Timestamp::UNIX_EPOCH, blocks }
    }

    // spec: C11
    #[test]
    fn exact_strings_are_found() {
        for (text, sort, expected) in [
            ("see src/lib.rs:12:5, please", Sort::Path, "src/lib.rs"),
            ("(~/notes/a.md)", Sort::Path, "~/notes/a.md"),
            ("push soph/list-command now", Sort::Path, "soph/list-command"),
            ("edit `setup.go`.", Sort::Path, "setup.go"),
            ("call read_file()", Sort::Name, "read_file"),
            ("id.CheckpointID(string)", Sort::Name, "CheckpointID"),
            ("with hasNew set", Sort::Name, "hasNew"),
            ("use --force-with-lease", Sort::Flag, "--force-with-lease"),
            ("it took 250ms", Sort::Number, "250ms"),
            ("about 45%", Sort::Number, "45%"),
            ("(https://a.b/c?d=1#e).", Sort::Url, "https://a.b/c?d=1#e"),
            ("compare to PR #343", Sort::Reference, "#343"),
            ("ENT-221 is open", Sort::Reference, "ENT-221"),
            ("commit 5952698a", Sort::Reference, "5952698a"),
            ("go-git v5.16.5", Sort::Version, "v5.16.5"),
            ("error[E0308]: mismatched types", Sort::Error, "E0308"),
            ("open: ENOENT", Sort::Error, "ENOENT"),
            ("error: cannot find value", Sort::Error, "error: cannot find value"),
        ] {
            assert!(in_text(text).contains(&(sort, expected.to_owned())), "{text}: {:?}", in_text(text));
        }
    }

    #[test]
    fn plain_words_are_not_anchors() {
        assert_eq!(in_text("</system-reminder>"), []);
        assert_eq!(
            in_text("Well, this is plain - and so on... 12 of 30 (e.g. here) and/or I"),
            [(Sort::Path, "and/or".to_owned())]
        );
    }

    // spec: C11
    #[test]
    fn what_the_person_said_and_what_was_changed_rank_first() {
        let result = crate::message::ToolResult {
            call: "t".into(),
            parts: vec![Block::text("noise_name ".repeat(30))],
            is_error: false,
        };
        let messages = [
            said(Origin::Person, vec![Block::text("look at parse_header")]),
            said(
                Origin::Model,
                vec![Block::tool_use("t".into(), "Edit", json!({"file_path": "/p/src/head.rs", "old_string": "a"}))],
            ),
            said(Origin::Tool, vec![Block::tool_result(result)]),
        ];
        let ranked: Vec<_> = anchors(&messages, &Limits::default()).into_iter().map(|anchor| anchor.text).collect();
        assert_eq!(ranked, ["parse_header", "/p/src/head.rs", "noise_name"]);
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "\\PC{0,200}") {
            for (_, anchor) in in_text(&text) {
                prop_assert!(!anchor.is_empty());
            }
        }
    }
}
