//! Edit: one exact piece of text for another.

use super::input::{at_once, card, parse};
use super::keeper::{self, Keeper, Replacement};
use super::place::resolve;
use super::shown::{counted, cut, shown, shown_path};
use super::write::{Standing, standing};
use crate::model::Pending;
use crate::tool::{Bench, Effect, Tool, ToolOutcome};
use crate::transcript::ToolSpec;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// Changes part of a file.
pub struct Edit {
    spec: ToolSpec,
    keeper: Option<Arc<dyn Keeper>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    file_path: String,
    old_string: String,
    new_string: String,
    #[serde(default)]
    replace_all: Option<bool>,
}

/// A file's bytes after a change, and where it happened.
#[derive(Debug, PartialEq)]
struct Changed {
    bytes: Vec<u8>,
    /// Where the first new text begins.
    at: usize,
    /// How long each new text is.
    length: usize,
    /// How many places changed.
    places: usize,
}

impl Edit {
    /// The tool.
    pub fn new() -> Self {
        Self::kept_by(None)
    }

    /// The same, with a folder in which writing is somebody's business.
    pub fn kept_by(keeper: Option<Arc<dyn Keeper>>) -> Self {
        let spec = card(
            "Edit",
            include_str!("../../prompts/tools/edit.md"),
            &["file_path", "old_string", "new_string"],
            json!({
                "file_path": { "type": "string" },
                "old_string": { "type": "string" },
                "new_string": { "type": "string" },
                "replace_all": { "type": "boolean" },
            }),
        );
        Self { spec, keeper }
    }
}

impl Default for Edit {
    fn default() -> Self {
        Self::new()
    }
}

impl Tool for Edit {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn effect(&self, input: &Value, dir: &Path) -> Effect {
        parse::<Input>(input).map_or(Effect::Nothing, |input| Effect::Writes(resolve(dir, input.file_path)))
    }

    /// A text that is not there, or a file that was not read, is no question for the user.
    fn foresee<'a>(
        &'a self,
        input: &'a Value,
        bench: &'a Bench<'a>,
        may_look: bool,
    ) -> Pending<'a, Option<ToolOutcome>> {
        Box::pin(async move {
            let input = parse::<Input>(input).ok()?;
            let path = bench.approved_path()?;
            if !may_look {
                let unread = include_str!("../../prompts/tools/read_first.md").trim_end();
                return (!bench.seen.contains_key(path))
                    .then(|| ToolOutcome::error(format!("{}: {unread}", shown_path(path))));
            }
            prepared(path, &input, bench).await.err()
        })
    }

    fn call<'a>(&'a self, input: &'a Value, bench: &'a Bench<'a>) -> Pending<'a, ToolOutcome> {
        match parse::<Input>(input) {
            Err(refusal) => at_once(refusal),
            Ok(input) => {
                let path = bench.approved_path().map_or_else(|| resolve(bench.dir, &input.file_path), Path::to_owned);
                let limits = bench.limits.clone();
                Box::pin(async move {
                    let most = limits.read_file_bytes;
                    let (before, changed) = match prepared(&path, &input, bench).await {
                        Ok(prepared) => prepared,
                        Err(refusal) => return refusal,
                    };
                    let (places, snippet) =
                        (counted(changed.places, "place"), snippet(&changed, limits.read_line_chars));
                    let done = format!("Changed {places} in {}:\n{snippet}", shown_path(&path));
                    let (before, occasion) = (Some(before), bench.occasion.clone());
                    let change = Replacement { path: path.clone(), before, bytes: changed.bytes, occasion };
                    match keeper::replace(self.keeper.as_ref(), change, bench.memory, most).await {
                        Ok(kept) => kept.outcome(path, done),
                        Err(why) => ToolOutcome::error(why),
                    }
                })
            }
        }
    }
}

/// The file as it is and as it would be, or why it stays as it is.
async fn prepared(path: &Path, input: &Input, bench: &Bench<'_>) -> Result<(Vec<u8>, Changed), ToolOutcome> {
    let (looked, seen, most) = (path.to_owned(), bench.seen.get(path).cloned(), bench.limits.read_file_bytes);
    let looking = tokio::task::spawn_blocking(move || standing(&looked, seen.as_ref(), most));
    let before = match looking.await {
        Ok(Standing::Known(bytes)) => bytes,
        Ok(Standing::Refused(why)) => return Err(ToolOutcome::error(why)),
        Ok(Standing::Absent) => return Err(absent(path)),
        Err(_) => return Err(ToolOutcome::error("Editing stopped before it was done.")),
    };
    let changed = change(&before, input)
        .map_err(|why| ToolOutcome::error(format!("{}: {why} Nothing was changed.", shown_path(path))))?;
    Ok((before, changed))
}

fn absent(path: &Path) -> ToolOutcome {
    let name = shown_path(path);
    ToolOutcome::error(format!("{name} does not exist, so there is nothing to edit. Create it with Write."))
}

/// The whole decision: which bytes the file has afterwards, or why it keeps those it has.
fn change(bytes: &[u8], input: &Input) -> Result<Changed, String> {
    if input.old_string.is_empty() {
        return Err("`old_string` is empty; use Write to replace the whole file.".to_owned());
    }
    if input.old_string == input.new_string {
        return Err("`old_string` and `new_string` are the same.".to_owned());
    }
    let (old, new) = in_its_endings(bytes, input);
    let places = occurrences(bytes, &old);
    let Some(&at) = places.first() else { return Err(not_found(bytes, &input.old_string)) };
    if places.len() > 1 && input.replace_all != Some(true) {
        return Err(not_unique(bytes, &places));
    }
    let mut out = Vec::with_capacity(bytes.len() + new.len());
    let mut done = 0;
    for place in &places {
        out.extend_from_slice(&bytes[done..*place]);
        out.extend_from_slice(new.as_bytes());
        done = place + old.len();
    }
    out.extend_from_slice(&bytes[done..]);
    Ok(Changed { bytes: out, at, length: new.len(), places: places.len() })
}

/// In a file whose every line ends with CR LF, a plain line break means one of those.
fn in_its_endings(bytes: &[u8], input: &Input) -> (String, String) {
    let breaks = bytes.iter().filter(|byte| **byte == b'\n').count();
    let pairs = bytes.windows(2).filter(|pair| *pair == b"\r\n").count();
    if breaks == 0 || breaks != pairs {
        return (input.old_string.clone(), input.new_string.clone());
    }
    let with_pairs = |text: &str| text.replace("\r\n", "\n").replace('\n', "\r\n");
    (with_pairs(&input.old_string), with_pairs(&input.new_string))
}

/// Where `wanted` begins, from left to right, without overlaps. Broken bytes part the file: `wanted` is text, so it never
/// reaches across them.
fn occurrences(bytes: &[u8], wanted: &str) -> Vec<usize> {
    let mut places = Vec::new();
    let mut start = 0;
    for chunk in bytes.utf8_chunks() {
        places.extend(chunk.valid().match_indices(wanted).map(|(at, _)| start + at));
        start += chunk.valid().len() + chunk.invalid().len();
    }
    places
}

fn line_of(bytes: &[u8], at: usize) -> usize {
    bytes[..at].iter().filter(|byte| **byte == b'\n').count() + 1
}

fn not_unique(bytes: &[u8], places: &[usize]) -> String {
    const NAMED: usize = 10;
    let mut lines: Vec<String> = places.iter().take(NAMED).map(|at| line_of(bytes, *at).to_string()).collect();
    if places.len() > NAMED {
        lines.push(format!("{} more", places.len() - NAMED));
    }
    format!(
        "`old_string` occurs {} times (lines {}). Include more of the lines around the one you mean, or set `replace_all`.",
        places.len(),
        lines.join(", "),
    )
}

/// Why a text is not there, with the line that is most like its first one.
fn not_found(bytes: &[u8], old: &str) -> String {
    const SHOWN: u64 = 200;
    const LOOKED_AT: usize = 20_000;
    if old.contains('⟦') {
        return include_str!("../../prompts/tools/edit_mark.md").trim_end().to_owned();
    }
    let text = String::from_utf8_lossy(bytes);
    let wanted = words(old.lines().find(|line| !line.trim().is_empty()).unwrap_or(old));
    let nearest = text
        .lines()
        .take(LOOKED_AT)
        .enumerate()
        .map(|(number, line)| (likeness(&wanted, line), number + 1, line))
        .max_by_key(|(likeness, number, _)| (*likeness, usize::MAX - number))
        .filter(|(likeness, ..)| *likeness > 0);
    match nearest {
        Some((_, number, line)) => format!(
            "`old_string` is not in the file, every space counts. The nearest line is {number}: `{}`",
            shown(&cut(line, SHOWN)),
        ),
        None => "`old_string` is not in the file, and nothing in it looks like it. Read the file again.".to_owned(),
    }
}

fn words(line: &str) -> BTreeSet<&str> {
    line.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()).collect()
}

/// How many letters of a line stand in words that were wanted; spaces do not count.
fn likeness(wanted: &BTreeSet<&str>, line: &str) -> usize {
    wanted.intersection(&words(line)).map(|word| word.chars().count()).sum()
}

/// The first changed lines with a few around them.
fn snippet(changed: &Changed, line_chars: u64) -> String {
    const AROUND: usize = 3;
    const MOST: usize = 40;
    let first = line_of(&changed.bytes, changed.at);
    let last = line_of(&changed.bytes, changed.at + changed.length);
    let from = first.saturating_sub(AROUND).max(1);
    let text = String::from_utf8_lossy(&changed.bytes);
    let rows = (last + AROUND - from + 1).min(MOST);
    text.lines()
        .enumerate()
        .skip(from - 1)
        .take(rows)
        .map(|(number, line)| format!("{:>6}\t{}\n", number + 1, shown(&cut(line, line_chars))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn input(old: &str, new: &str, replace_all: bool) -> Input {
        Input {
            file_path: String::new(),
            old_string: old.into(),
            new_string: new.into(),
            replace_all: Some(replace_all),
        }
    }

    #[test]
    fn changes() {
        for (before, old, new, all, after) in [
            (&b"a b c"[..], "b", "x", false, &b"a x c"[..]),
            (b"a a a", "a", "bb", true, b"bb bb bb"),
            (b"aaaa", "aa", "b", true, b"bb"),
            (b"one\r\ntwo\r\n", "one\ntwo", "1\n2\n3", false, b"1\r\n2\r\n3\r\n"),
            (b"one\r\ntwo\r\n", "two", "2\n3", false, b"one\r\n2\r\n3\r\n"),
            (b"one\r\ntwo\r\n", "one\r\ntwo", "x", false, b"x\r\n"),
            (b"mixed\r\nends\n", "ends\n", "e\n", false, b"mixed\r\ne\n"),
            (b"\xff\xfe bad \xff", "bad", "good", false, b"\xff\xfe good \xff"),
            (b"delete me", " me", "", false, b"delete"),
            ("ä€𝄞".as_bytes(), "€", "e", false, "äe𝄞".as_bytes()),
        ] {
            assert_eq!(change(before, &input(old, new, all)).unwrap().bytes, after, "{old:?}");
        }
    }

    #[test]
    fn refusals_say_what_to_do() {
        for (before, old, new, says) in [
            ("a", "", "x", "is empty"),
            ("a", "a", "a", "are the same"),
            ("a\na\nb\na", "a", "x", "occurs 3 times (lines 1, 2, 4)"),
            ("fn main() {\n    run(x);\n}\n", "run(y);", "z", "The nearest line is 2: `    run(x);`"),
            ("abc", "zzz", "x", "nothing in it looks like it"),
            ("\u{1b}[1m", "⟦U+001B⟧[1m", "x", "write the character itself"),
        ] {
            let why = change(before.as_bytes(), &input(old, new, false)).unwrap_err();
            assert!(why.contains(says), "{why}");
        }
    }

    #[test]
    fn the_snippet_shows_the_change_and_its_neighbours() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let changed = change(before.as_bytes(), &input("5", "five\nfünf", false)).unwrap();
        assert_eq!(
            snippet(&changed, 100),
            "     2\t2\n     3\t3\n     4\t4\n     5\tfive\n     6\tfünf\n     7\t6\n     8\t7\n     9\t8\n"
        );
    }

    proptest! {
        #[test]
        fn a_unique_piece_is_replaced_and_nothing_else(head in "[a-m\n]{0,30}", tail in "[a-m\n]{0,30}", new in "[n-z\n]{0,9}") {
            let changed = change(format!("{head}XYZ{tail}").as_bytes(), &input("XYZ", &new, false)).unwrap();
            prop_assert_eq!(String::from_utf8(changed.bytes).unwrap(), format!("{head}{new}{tail}"));
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..60), old in any::<String>()) {
            if let Ok(changed) = change(&bytes, &input(&old, "\n!", true)) {
                snippet(&changed, 3);
            }
        }
    }
}
