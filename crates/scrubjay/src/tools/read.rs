//! Read: a file, one page at a time, with line numbers.

use super::file::{Loaded, explain, load_resolved};
use super::handles::names_in;
use super::input::{at_once, card, parse};
use super::picture::{base64, media_type};
use super::place::resolve;
use super::shown::{counted, cut, shown, shown_path};
use crate::digest::Digest;
use crate::limits::Limits;
use crate::message::Block;
use crate::model::Pending;
use crate::tool::{Bench, Effect, Tool, ToolOutcome, Visible};
use crate::transcript::ToolSpec;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::Path;

/// Shows a file.
pub struct Read {
    spec: ToolSpec,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    file_path: String,
    offset: Option<u64>,
    limit: Option<u64>,
}

impl Read {
    /// The tool.
    pub fn new() -> Self {
        let spec = card(
            "Read",
            include_str!("../../prompts/tools/read.md"),
            &["file_path"],
            json!({
                "file_path": { "type": "string" },
                "offset": { "type": "integer", "minimum": 1 },
                "limit": { "type": "integer", "minimum": 1 },
            }),
        );
        Self { spec }
    }
}

impl Default for Read {
    fn default() -> Self {
        Self::new()
    }
}

impl Tool for Read {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn effect(&self, input: &Value, dir: &Path) -> Effect {
        parse::<Input>(input).map_or(Effect::Nothing, |input| Effect::Reads(vec![resolve(dir, input.file_path)]))
    }

    fn call<'a>(&'a self, input: &'a Value, bench: &'a Bench<'a>) -> Pending<'a, ToolOutcome> {
        match parse::<Input>(input) {
            Err(refusal) => at_once(refusal),
            Ok(input) => {
                let path = bench.approved_path().map_or_else(|| resolve(bench.dir, &input.file_path), Path::to_owned);
                let (limits, visible) = (bench.limits.clone(), bench.visible.clone());
                Box::pin(async move {
                    let reading = tokio::task::spawn_blocking(move || read(&path, &input, &limits, &visible));
                    reading.await.unwrap_or_else(|_| ToolOutcome::error("Reading stopped before it was done."))
                })
            }
        }
    }
}

fn read(path: &Path, input: &Input, limits: &Limits, visible: &Visible) -> ToolOutcome {
    match load_resolved(path, limits.read_file_bytes) {
        Ok(loaded) => show(path, &loaded, input, limits),
        Err(error) => {
            let near =
                if error.kind() == std::io::ErrorKind::NotFound { near_names(path, visible) } else { String::new() };
            ToolOutcome::error(format!("{} cannot be read: {}.{near}", shown_path(path), explain(&error)))
        }
    }
}

fn show(path: &Path, loaded: &Loaded, input: &Input, limits: &Limits) -> ToolOutcome {
    let bytes = &loaded.bytes;
    let outcome = if let Some(media) = media_type(bytes) {
        picture(path, loaded, media, limits)
    } else if is_binary(bytes) {
        return ToolOutcome::error(format!(
            "{} is not text ({}{}). Look at it with a program that knows its format.",
            shown_path(path),
            if loaded.whole { "" } else { "more than " },
            counted(bytes.len(), "byte"),
        ));
    } else if bytes.is_empty() {
        ToolOutcome::ok(format!("{} is empty.", shown_path(path)))
    } else {
        page(path, loaded, input, limits)
    };
    if loaded.whole && !outcome.is_error { outcome.saw(path.to_owned(), Digest::of(bytes)) } else { outcome }
}

fn picture(path: &Path, loaded: &Loaded, media: &str, limits: &Limits) -> ToolOutcome {
    let size = loaded.bytes.len();
    if !loaded.whole || size as u64 > limits.image_bytes {
        return ToolOutcome::error(format!(
            "{} is a picture ({media}, {}), too large to be shown; the limit is {} bytes. Make a smaller copy and read that.",
            shown_path(path),
            counted(size, "byte"),
            limits.image_bytes,
        ));
    }
    let mut outcome = ToolOutcome::ok(format!("{} is a picture ({media}).", shown_path(path)));
    outcome.parts.push(Block::image(media, &base64(&loaded.bytes)));
    outcome
}

/// A NUL byte, or more than a tenth of broken UTF-8, near the beginning.
fn is_binary(bytes: &[u8]) -> bool {
    const LOOKED_AT: usize = 8_192;
    let head = &bytes[..bytes.len().min(LOOKED_AT)];
    let broken: usize = head.utf8_chunks().map(|chunk| chunk.invalid().len()).sum();
    head.contains(&0) || broken * 10 > head.len()
}

/// One page: numbered lines, and what the reader should know about the rest.
fn page(path: &Path, loaded: &Loaded, input: &Input, limits: &Limits) -> ToolOutcome {
    let first = as_size(input.offset.unwrap_or(1).max(1));
    let total = lines(&loaded.bytes).count();
    if first > total {
        return ToolOutcome::error(format!(
            "{} has {}; there is no line {first}. Read it with a smaller offset.",
            shown_path(path),
            counted(total, "line"),
        ));
    }
    let most = as_size(input.limit.unwrap_or(limits.read_lines).clamp(1, limits.read_lines));
    let mut text = String::new();
    let mut last = first - 1;
    for line in lines(&loaded.bytes).skip(first - 1).take(most) {
        let line = String::from_utf8_lossy(line);
        let row = format!("{:>6}\t{}\n", last + 1, shown(&cut(&line, limits.read_line_chars)));
        if last >= first && text.len() + row.len() > as_size(limits.read_bytes) {
            break;
        }
        text.push_str(&row);
        last += 1;
    }
    for note in notes(loaded, last, total) {
        text.push_str(&format!("[{note}]\n"));
    }
    ToolOutcome::ok(text)
}

fn notes(loaded: &Loaded, last: usize, total: usize) -> Vec<String> {
    let bytes = &loaded.bytes;
    let mut notes = Vec::new();
    if last < total {
        let more = counted(total - last, "more line");
        notes.push(format!("{more} of {total}; continue with offset {}", last + 1));
    }
    if !loaded.whole {
        notes.push(format!(
            "only the first {} bytes of this file were looked at, so it cannot be edited; use Grep to find what you need",
            bytes.len()
        ));
    }
    if std::str::from_utf8(bytes).is_err() {
        notes.push("parts of this file are not UTF-8 and are shown as \u{fffd}".to_owned());
    }
    if bytes.starts_with(b"\xef\xbb\xbf") {
        notes.push("this file starts with a byte-order mark, which stays".to_owned());
    }
    if bytes.windows(2).any(|pair| pair == b"\r\n") {
        notes.push("lines of this file end with CR LF; write line breaks as usual, Edit keeps them".to_owned());
    }
    notes
}

/// Lines without their endings and without a leading byte-order mark. A last line break starts no new line.
fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    bytes.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line))
}

fn as_size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Names in the same directory that look like the one that is missing.
fn near_names(path: &Path, visible: &Visible) -> String {
    const LOOKED_AT: usize = 2_000;
    const NAMED: usize = 3;
    let (Some(parent), Some(wanted)) = (path.parent(), path.file_name()) else { return String::new() };
    let wanted = wanted.to_string_lossy().to_lowercase();
    let Ok(entries) = names_in(parent) else {
        return format!(" Its directory {} does not exist either.", shown_path(parent));
    };
    let mut near: Vec<(usize, String)> = entries
        .take(LOOKED_AT)
        .filter(|name| visible.shows(&parent.join(name)))
        .map(|name| (distance(&wanted, &name.to_string_lossy().to_lowercase()), shown_path(Path::new(&name))))
        .filter(|(distance, _)| *distance <= wanted.chars().count() / 3 + 1)
        .collect();
    near.sort();
    let names: Vec<String> = near.into_iter().take(NAMED).map(|(_, name)| name).collect();
    if names.is_empty() { String::new() } else { format!(" Near names there: {}.", names.join(", ")) }
}

/// How many letters have to change to make one word of the other.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (line, letter) in one.chars().enumerate() {
        let mut corner = row[0];
        row[0] = line + 1;
        for (column, against) in other.iter().enumerate() {
            let change = corner + usize::from(letter != *against);
            corner = row[column + 1];
            row[column + 1] = change.min(row[column] + 1).min(corner + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown_page(bytes: &[u8], offset: Option<u64>, limit: Option<u64>) -> String {
        let loaded = Loaded { bytes: bytes.to_vec(), whole: true };
        let input = Input { file_path: String::new(), offset, limit };
        let limits = Limits { read_lines: 3, read_line_chars: 5, read_bytes: 40, ..Limits::default() };
        show(Path::new("/f"), &loaded, &input, &limits).parts[0].as_text().unwrap().to_owned()
    }

    // spec: R1
    #[test]
    fn pages() {
        for (bytes, offset, limit, text) in [
            (&b"a\nb\n"[..], None, None, "     1\ta\n     2\tb\n"),
            (b"a\nb", None, None, "     1\ta\n     2\tb\n"),
            (b"\n", None, None, "     1\t\n"),
            (b"", None, None, "/f is empty."),
            (
                b"1\n2\n3\n4\n5\n",
                None,
                None,
                "     1\t1\n     2\t2\n     3\t3\n[2 more lines of 5; continue with offset 4]\n",
            ),
            (b"1\n2\n3\n4\n5\n", Some(4), None, "     4\t4\n     5\t5\n"),
            (b"1\n2\n3\n", Some(2), Some(1), "     2\t2\n[1 more line of 3; continue with offset 3]\n"),
            (b"1\n", Some(9), None, "/f has 1 line; there is no line 9. Read it with a smaller offset."),
            (b"1\n", Some(0), Some(0), "     1\t1\n"),
            (b"abcdefgh\n", None, None, "     1\tabcde… [3 more characters in this line]\n"),
            (
                b"a\r\nb\r\n",
                None,
                None,
                "     1\ta\n     2\tb\n[lines of this file end with CR LF; write line breaks as usual, Edit keeps them]\n",
            ),
            (b"\xef\xbb\xbfa\n", None, None, "     1\ta\n[this file starts with a byte-order mark, which stays]\n"),
            (
                b"caf\xe9 with many letters\n",
                None,
                Some(1),
                "     1\tcaf\u{fffd} … [17 more characters in this line]\n[parts of this file are not UTF-8 and are shown as \u{fffd}]\n",
            ),
            (b"\x1b[1m\n", None, None, "     1\t⟦U+001B⟧[1m\n"),
            (b"a\0b", None, None, "/f is not text (3 bytes). Look at it with a program that knows its format."),
        ] {
            assert_eq!(shown_page(bytes, offset, limit), text);
        }
    }

    #[test]
    fn a_page_ends_at_its_bytes_too_but_always_shows_a_line() {
        let text = shown_page("ääääääääää\nb\n".as_bytes(), None, None);
        assert!(text.starts_with("     1\täääää…") && text.contains("continue with offset 2"), "{text}");
    }

    #[test]
    fn distances() {
        for (one, other, far) in [("", "", 0), ("a", "", 1), ("main.rs", "mian.rs", 2), ("kitten", "sitting", 3)] {
            assert_eq!(distance(one, other), far);
        }
    }
}
