//! The few plain requests that can be met without a model.

use scrubjay::transcript::ToolSpec;
use serde_json::{Value, json};

/// A tool call that meets a request.
#[derive(Debug, PartialEq)]
pub(super) struct Lookup {
    pub(super) tool: String,
    pub(super) input: Value,
    /// What to say while it runs.
    pub(super) why: String,
}

/// The lookup a question plainly asks for, if the tool for it is there.
pub(super) fn understood(question: &str, tools: &[ToolSpec]) -> Option<Lookup> {
    let line = question.trim().lines().next()?.trim();
    let command = line.strip_prefix('!').or_else(|| after(line, "run:"));
    if let Some(command) = command.map(str::trim).filter(|command| !command.is_empty()) {
        return call(tools, "Bash", &["command"], command);
    }
    for opening in ["show me ", "show ", "read ", "open ", "cat "] {
        if let Some(path) = after(line, opening).and_then(first_path) {
            return call(tools, "Read", &["file_path", "path"], path);
        }
    }
    for opening in ["where is ", "where are ", "find ", "search for ", "search ", "grep "] {
        if let Some(wanted) = after(line, opening).map(plain).filter(|wanted| !wanted.is_empty()) {
            if wanted.contains('*') {
                return call(tools, "Glob", &["pattern"], wanted);
            }
            return call(tools, "Grep", &["pattern"], &literally(wanted));
        }
    }
    first_path(line).and_then(|path| call(tools, "Read", &["file_path", "path"], path))
}

/// What follows an opening, whatever its case.
fn after<'a>(line: &'a str, opening: &str) -> Option<&'a str> {
    let head = line.get(..opening.len())?;
    head.eq_ignore_ascii_case(opening).then(|| &line[opening.len()..])
}

/// Without the quotes, articles and question marks people put around a thing.
fn plain(text: &str) -> &str {
    let text = text.trim().trim_end_matches(['?', '!', '.']);
    let text = ["the ", "a ", "an "].iter().find_map(|article| after(text, article)).unwrap_or(text);
    text.trim().trim_matches(['"', '\'', '`'])
}

/// The first word that looks like a path: with a slash or a file ending inside.
fn first_path(text: &str) -> Option<&str> {
    text.split_whitespace().map(|word| word.trim_matches(['"', '\'', '`', ',', ';', ':', '?', '(', ')', '!'])).find(
        |word| {
            let word = word.trim_end_matches('.');
            let ending = word.rsplit_once('.').map(|(stem, ending)| (!stem.is_empty() || word.len() > 2, ending));
            let has_ending = ending.is_some_and(|(named, ending)| {
                named
                    && (1..=8).contains(&ending.len())
                    && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
                    && ending.bytes().any(|byte| byte.is_ascii_alphabetic())
            });
            !word.contains("://") && (has_ending || (word.contains('/') && word.len() > 1))
        },
    )
}

/// A word as a pattern that means just that word.
fn literally(text: &str) -> String {
    let special = |c: char| "\\.+*?()|[]{}^$#&-~".contains(c);
    text.chars().flat_map(|c| special(c).then_some('\\').into_iter().chain([c])).collect()
}

/// A call of a tool by the name its own description gives to what it takes.
fn call(tools: &[ToolSpec], name: &str, keys: &[&str], value: &str) -> Option<Lookup> {
    let tool = tools.iter().find(|tool| tool.name == name)?;
    let schema: Value = serde_json::from_str(tool.input_schema.get()).ok()?;
    let known = |key: &&&str| schema.pointer(&format!("/properties/{key}")).is_some();
    let key = keys.iter().find(known).or(keys.first())?;
    let why = format!("No language model is configured; looking it up with {name}.");
    Some(Lookup { tool: name.to_owned(), input: json!({ *key: value }), why })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tools() -> Vec<ToolSpec> {
        let tool = |name: &str, key: &str| ToolSpec::new(name, "", &json!({ "properties": { key: {} } }));
        vec![tool("Read", "file_path"), tool("Grep", "pattern"), tool("Glob", "pattern"), tool("Bash", "command")]
    }

    #[test]
    fn plain_requests_are_understood_and_others_are_not() {
        for (question, expected) in [
            ("!ls -l", Some(("Bash", "ls -l"))),
            ("Run: cargo test", Some(("Bash", "cargo test"))),
            ("show Cargo.toml", Some(("Read", "Cargo.toml"))),
            ("Show me `src/lib.rs`, please", Some(("Read", "src/lib.rs"))),
            ("what does docs/a.md say?", Some(("Read", "docs/a.md"))),
            ("where is the parser?", Some(("Grep", "parser"))),
            ("find fn main()", Some(("Grep", r"fn main\(\)"))),
            ("find *.rs", Some(("Glob", "*.rs"))),
            ("! ", None),
            ("find ", None),
            ("hello there.", None),
            ("is 3.14 about right?", None),
            ("see https://example.com/a", None),
            ("", None),
        ] {
            let lookup = understood(question, &tools());
            let got = lookup
                .as_ref()
                .map(|l| (l.tool.as_str(), l.input.as_object().unwrap().values().next().unwrap().as_str().unwrap()));
            assert_eq!(got, expected, "{question}");
        }
        assert_eq!(understood("!ls", &[]), None, "only tools that are there are called");
    }

    proptest! {
        #[test]
        fn any_question_is_survived(question in any::<String>()) {
            understood(&question, &tools());
        }
    }
}
