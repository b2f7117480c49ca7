//! The header of a Markdown file: read leniently and within bounds, written strictly, and nothing in it is ever lost.
//!
//! Models and people write headers that are not YAML (`description: Tests: use the real DB`). Refusing those would
//! lose memories, so strict YAML is tried first and a line-wise reading follows. Whatever is not understood stays in
//! its place, byte for byte, and comes back when the file is rewritten.

use crate::limits::Limits;
use serde::de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, Visitor};
use std::fmt;

const FENCE: &str = "---";

/// How a header was understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// It is YAML.
    Strict,
    /// It is not, or YAML would have cut a value: known keys were read line by line.
    Lenient,
    /// There is no header.
    None,
}

/// What a known key says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// One text.
    Text(String),
    /// A list of texts.
    List(Vec<String>),
}

/// One stretch of a header, in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Field {
        key: String,
        value: Value,
        /// How the file says it, as long as nobody changes it and YAML reads it the same way.
        stood: Option<String>,
    },
    Verbatim(String),
}

impl Part {
    fn says_the_same(&self, other: &Part) -> bool {
        matches!((self, other), (Part::Field { value: one, .. }, Part::Field { value: two, .. }) if one == two)
    }
}

/// A Markdown file in two halves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document<'a> {
    parts: Vec<Part>,
    /// Everything after the header, byte for byte.
    pub body: &'a str,
    /// How the header was read.
    pub how: How,
}

impl<'a> Document<'a> {
    /// A file with this body and no header yet.
    pub fn new(body: &'a str) -> Self {
        Self { parts: Vec::new(), body, how: How::None }
    }

    /// The text of a known key; of a list, its first item.
    pub fn get(&self, key: &str) -> Option<&str> {
        match self.value(key)? {
            Value::Text(text) => Some(text),
            Value::List(items) => items.first().map(String::as_str),
        }
    }

    /// The items of a known key; a single text is a list of one.
    pub fn list(&self, key: &str) -> &[String] {
        match self.value(key) {
            Some(Value::Text(text)) => std::slice::from_ref(text),
            Some(Value::List(items)) => items,
            None => &[],
        }
    }

    /// What a known key says.
    pub fn value(&self, key: &str) -> Option<&Value> {
        self.fields().find(|(name, _)| *name == key).map(|(_, value)| value)
    }

    /// The known keys, in the order of the file.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.parts.iter().filter_map(|part| match part {
            Part::Field { key, value, .. } => Some((key.as_str(), value)),
            Part::Verbatim(_) => None,
        })
    }

    /// What was not understood: unknown keys, comments, blank lines; exactly as they stand.
    pub fn unknown(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Verbatim(lines) => Some(lines.as_str()),
            Part::Field { .. } => None,
        })
    }

    /// Give a key a value: in its place, or at the end of the header. One that it has already stays as it is written.
    pub fn set(&mut self, key: &str, value: Value) {
        let is_meant = |part: &&mut Part| matches!(part, Part::Field { key: name, .. } if name == key);
        let new = Part::Field { key: key.to_owned(), value, stood: None };
        match self.parts.iter_mut().find(is_meant) {
            Some(part) if part.says_the_same(&new) => {}
            Some(part) => *part = new,
            None => self.parts.push(new),
        }
        if self.how == How::None {
            self.how = How::Strict;
        }
    }

    /// Take a key out with every line that says it: of one that stands there twice the earlier lines stayed as they were.
    pub fn take(&mut self, key: &str) -> Option<Value> {
        let says_it = |part: &mut Part| match part {
            Part::Field { key: name, .. } => name == key,
            Part::Verbatim(lines) => key_of(lines) == Some(key),
        };
        let taken: Vec<Part> = self.parts.extract_if(.., says_it).collect();
        taken.into_iter().find_map(|part| match part {
            Part::Field { value, .. } => Some(value),
            Part::Verbatim(_) => None,
        })
    }

    /// Give a key a text.
    pub fn set_text(&mut self, key: &str, text: impl Into<String>) {
        self.set(key, Value::Text(text.into()));
    }
}

/// Read a file. Every text is accepted; `known` are the keys whose values matter here.
///
/// ```
/// use scrubjay::{frontmatter, limits::Limits};
/// let file = "---\nname: Tests: use the real DB\nowner: ada\n---\nNever mock it.\n";
/// let doc = frontmatter::parse(file, &["name"], &Limits::default());
/// assert_eq!(doc.get("name"), Some("Tests: use the real DB"));
/// assert_eq!(doc.body, "Never mock it.\n");
/// assert!(frontmatter::render(&doc).contains("owner: ada\n"));
/// ```
pub fn parse<'a>(text: &'a str, known: &[&str], limits: &Limits) -> Document<'a> {
    let cap = usize::try_from(limits.front_matter_bytes).unwrap_or(usize::MAX);
    let Some((header, body, closed)) = split(text, known, cap) else { return Document::new(text) };
    let entries = entries(header);
    if closed
        && !entries.iter().any(|entry| entry.is_known(known) && entry.would_be_cut())
        && let Some(values) = strictly(header, &entries, known)
    {
        return Document { parts: place(&entries, values, How::Strict), body, how: How::Strict };
    }
    let values = entries.iter().map(|entry| entry.is_known(known).then(|| entry.read_by_line()).flatten()).collect();
    let values = last_of_each(&entries, values);
    Document { parts: place(&entries, values, How::Lenient), body, how: How::Lenient }
}

/// Write a file: new values and those that are not YAML as double-quoted scalars, everything else as it stood.
pub fn render(document: &Document<'_>) -> String {
    if document.how == How::None && document.parts.is_empty() {
        return document.body.to_owned();
    }
    let mut out = format!("{FENCE}\n");
    for part in &document.parts {
        match part {
            Part::Verbatim(lines) | Part::Field { stood: Some(lines), .. } => out.push_str(lines),
            Part::Field { key, value: Value::Text(text), .. } => out.push_str(&format!("{key}: {}\n", quoted(text))),
            Part::Field { key, value: Value::List(items), .. } => {
                let items: Vec<String> = items.iter().map(|item| quoted(item)).collect();
                out.push_str(&format!("{key}: [{}]\n", items.join(", ")));
            }
        }
    }
    out.push_str(FENCE);
    out.push('\n');
    out + document.body
}

/// Header, body, and whether a closing fence was there. Only the first `cap` bytes are looked at.
fn split<'a>(text: &'a str, known: &[&str], cap: usize) -> Option<(&'a str, &'a str, bool)> {
    let rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    let opening = rest.split_inclusive('\n').next().filter(|line| is_fence(line) && line.ends_with('\n'))?;
    let start = &rest[opening.len()..];
    let mut end = 0;
    for line in start.split_inclusive('\n') {
        if opening.len() + end + line.len() > cap {
            break;
        }
        if is_fence(line) {
            return Some((&start[..end], &start[end + line.len()..], true));
        }
        end += line.len();
    }
    // The closing fence is missing: the header is what looks like one, if it begins with a key we know.
    let mut end = 0;
    for line in start.split_inclusive('\n') {
        let fits = opening.len() + end + line.len() <= cap && line.ends_with('\n');
        if !fits || line.trim().is_empty() || !(key_of(line).is_some() || line.starts_with([' ', '\t', '#'])) {
            break;
        }
        end += line.len();
    }
    let begins_known = key_of(start).is_some_and(|key| known.contains(&key));
    (begins_known && end > 0).then(|| (&start[..end], &start[end..], false))
}

fn is_fence(line: &str) -> bool {
    line.trim_end_matches(['\r', '\n', ' ', '\t']) == FENCE
}

/// The key of a line such as `key: value`, if it is one.
fn key_of(line: &str) -> Option<&str> {
    let line = line.lines().next().unwrap_or_default();
    let (key, rest) = line.split_once(':')?;
    let key = key.trim_end();
    let bare = ['"', '\''].iter().find_map(|quote| key.strip_prefix(*quote)?.strip_suffix(*quote)).unwrap_or(key);
    let is_word = |c: char| c.is_alphanumeric() || "_-. ".contains(c);
    let plain = !bare.is_empty() && bare.chars().all(is_word) && bare.starts_with(|c: char| c.is_alphanumeric());
    (plain && (rest.is_empty() || rest.starts_with([' ', '\t']))).then_some(bare)
}

/// A key and the indented lines that belong to it, or lines that belong to nothing.
struct Entry<'a> {
    key: Option<&'a str>,
    lines: &'a str,
}

fn entries(header: &str) -> Vec<Entry<'_>> {
    let mut entries: Vec<Entry<'_>> = Vec::new();
    let (mut start, mut at) = (0, 0);
    for line in header.split_inclusive('\n') {
        let key = key_of(line);
        let continues = line.starts_with([' ', '\t']) || line.trim().is_empty() || is_item(line.trim_end());
        match entries.last_mut() {
            Some(last) if continues => last.lines = &header[start..at + line.len()],
            _ => {
                start = at;
                entries.push(Entry { key, lines: line });
            }
        }
        at += line.len();
    }
    entries
}

impl<'a> Entry<'a> {
    fn is_known(&self, known: &[&str]) -> bool {
        self.key.is_some_and(|key| known.contains(&key))
    }

    fn first_rest(&self) -> &'a str {
        let first = self.lines.split('\n').next().unwrap_or_default();
        first.split_once(':').map_or("", |(_, rest)| rest).trim_matches([' ', '\t', '\r'])
    }

    /// YAML takes ` #` for a comment; in prose it is an issue number.
    fn would_be_cut(&self) -> bool {
        let rest = self.first_rest();
        let cut = |text: &str| !text.starts_with(['"', '\'']) && text.contains(" #");
        let items_cut = || self.following().any(|line| cut(line.trim_start_matches(['-', ' '])));
        !rest.starts_with(['|', '>', '[', '{']) && (rest.starts_with('#') || cut(rest) || items_cut())
    }

    fn looks_like_list(&self) -> bool {
        let rest = self.first_rest();
        rest.starts_with('[') || (rest.is_empty() && self.following().next().is_some_and(is_item))
    }

    fn following(&self) -> impl Iterator<Item = &'a str> {
        self.lines.lines().skip(1).map(str::trim).filter(|line| !line.is_empty())
    }

    /// The value as a person reads it; `None` leaves the lines as they are.
    fn read_by_line(&self) -> Option<Value> {
        let rest = self.first_rest();
        let more: Vec<&str> = self.following().collect();
        match rest.chars().next() {
            None if more.is_empty() => Some(Value::Text(String::new())),
            None if more.iter().all(|line| is_item(line)) => {
                Some(Value::List(more.iter().map(|line| unquoted(line[1..].trim())).collect()))
            }
            None => None,
            Some('|') if is_block_mark(rest) => Some(Value::Text(more.join("\n"))),
            Some('>') if is_block_mark(rest) => Some(Value::Text(more.join(" "))),
            Some('[') if more.is_empty() => match serde_json::from_str::<Vec<String>>(rest) {
                Ok(items) => Some(Value::List(items)),
                Err(_) => Some(Value::Text(rest.to_owned())),
            },
            Some(_) => {
                let whole: Vec<&str> = std::iter::once(rest).chain(more).collect();
                Some(Value::Text(unquoted(&whole.join(" "))))
            }
        }
    }
}

fn is_item(line: &str) -> bool {
    line == "-" || line.starts_with("- ")
}

fn is_block_mark(rest: &str) -> bool {
    rest.len() <= 3 && rest[1..].chars().all(|c| c.is_ascii_digit() || c == '-' || c == '+')
}

fn unquoted(text: &str) -> String {
    if let Ok(inner) = serde_json::from_str::<String>(text) {
        return inner;
    }
    match text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
        Some(inner) if !inner.replace("''", "").contains('\'') => inner.replace("''", "'"),
        _ => text.to_owned(),
    }
}

/// Double-quoted so that YAML, JSON and the line-wise reader all give the same text back.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => {
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Each entry with its value, or as it stands.
fn place(entries: &[Entry<'_>], values: Vec<Option<Value>>, how: How) -> Vec<Part> {
    let part = |(entry, value): (&Entry<'_>, Option<Value>)| match (entry.key, value) {
        (Some(key), Some(value)) => {
            // An alias means nothing without what it points to, which may change.
            let stands_alone = how == How::Strict && !entry.lines.contains('*');
            let stood = stands_alone.then(|| entry.lines.to_owned());
            Part::Field { key: key.to_owned(), value, stood }
        }
        _ => Part::Verbatim(entry.lines.to_owned()),
    };
    entries.iter().zip(values).map(part).collect()
}

/// Of a key that stands there twice the last value counts; the earlier lines stay where they are.
fn last_of_each(entries: &[Entry<'_>], mut values: Vec<Option<Value>>) -> Vec<Option<Value>> {
    let mut seen: Vec<&str> = Vec::new();
    for (entry, value) in entries.iter().zip(values.iter_mut()).rev() {
        let Some(key) = entry.key.filter(|_| value.is_some()) else { continue };
        if seen.contains(&key) {
            *value = None;
        } else {
            seen.push(key);
        }
    }
    values
}

/// One value per entry if the header is YAML and YAML sees the same keys as we do.
fn strictly(header: &str, entries: &[Entry<'_>], known: &[&str]) -> Option<Vec<Option<Value>>> {
    let keyed: Vec<usize> = (0..entries.len()).filter(|&at| entries[at].key.is_some()).collect();
    let mut values: Vec<Option<Value>> = entries.iter().map(|_| None).collect();
    if keyed.is_empty() {
        return header.lines().all(|line| line.trim().is_empty() || line.starts_with('#')).then_some(values);
    }
    let mut options = serde_saphyr::Options::default();
    options.strict_indentation = true;
    options.emit_comments = false;
    options.with_snippet = false;
    // Every event needs a byte of the header, so nothing in it may unfold to more than its own length.
    let most = header.len();
    let mut budget = serde_saphyr::Budget::default();
    budget.max_events = most.saturating_add(budget.max_depth);
    budget.max_nodes = most;
    budget.max_anchors = most;
    budget.max_aliases = most;
    options.budget = Some(budget);
    options.alias_limits.max_total_replayed_events = most;
    let reading = Reading { entries, keyed: &keyed, known, values: &mut values };
    serde_saphyr::with_deserializer_from_str_with_options(header, options, |de| reading.deserialize(de)).ok()?;
    Some(values)
}

/// Asks YAML for text where we know the key, so that `1.10` and `yes` stay what was written.
struct Reading<'r, 'e> {
    entries: &'r [Entry<'e>],
    keyed: &'r [usize],
    known: &'r [&'r str],
    values: &'r mut [Option<Value>],
}

impl<'de> DeserializeSeed<'de> for Reading<'_, '_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Reading<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("keys and values")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut left = self.keyed.iter();
        while let Some(key) = map.next_key::<String>()? {
            let at = *left.next().ok_or_else(|| A::Error::custom("more keys than lines"))?;
            let entry = &self.entries[at];
            if entry.key != Some(key.as_str()) {
                return Err(A::Error::custom("keys do not stand where their lines do"));
            }
            if !entry.is_known(self.known) {
                map.next_value::<IgnoredAny>()?;
            } else if entry.looks_like_list() {
                self.values[at] = Some(Value::List(map.next_value()?));
            } else {
                self.values[at] = Some(Value::Text(map.next_value::<Option<String>>()?.unwrap_or_default()));
            }
        }
        if left.next().is_some() { Err(A::Error::custom("fewer keys than lines")) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KNOWN: &[&str] = &["name", "description", "type", "paths"];

    fn read(text: &str) -> Document<'_> {
        parse(text, KNOWN, &Limits::default())
    }

    fn text(value: &str) -> Value {
        Value::Text(value.to_owned())
    }

    fn list(items: &[&str]) -> Value {
        Value::List(items.iter().map(|item| (*item).to_owned()).collect())
    }

    /// What a document says, whichever way it is written.
    fn said<'d>(doc: &'d Document<'_>) -> Vec<Result<(&'d str, &'d Value), &'d str>> {
        let part = |part: &'d Part| match part {
            Part::Field { key, value, .. } => Ok((key.as_str(), value)),
            Part::Verbatim(lines) => Err(lines.as_str()),
        };
        doc.parts.iter().map(part).collect()
    }

    // spec: X6
    #[test]
    fn headers_as_people_and_models_write_them() {
        use How::{Lenient, Strict};
        for (header, key, value, how) in [
            ("description: plain words", "description", text("plain words"), Strict),
            ("description: \"quoted: words\"", "description", text("quoted: words"), Strict),
            ("description: 'it''s'", "description", text("it's"), Strict),
            (
                "description: Integration tests: use real DB",
                "description",
                text("Integration tests: use real DB"),
                Lenient,
            ),
            ("description: @ada owns this", "description", text("@ada owns this"), Lenient),
            ("description: `make` first", "description", text("`make` first"), Lenient),
            ("description: * is not a glob", "description", text("* is not a glob"), Lenient),
            ("description: %s is for strings", "description", text("%s is for strings"), Lenient),
            ("description: [WIP] new parser", "description", text("[WIP] new parser"), Lenient),
            ("description: {a} b", "description", text("{a} b"), Lenient),
            ("description: \"hi\" said Ada", "description", text("\"hi\" said Ada"), Lenient),
            ("description: see #123 for more", "description", text("see #123 for more"), Lenient),
            ("description: #123", "description", text("#123"), Lenient),
            ("name: a\nname: b", "name", text("b"), Lenient),
            ("name: 1.10", "name", text("1.10"), Strict),
            ("name: yes", "name", text("yes"), Strict),
            ("name: 2026-03-01", "name", text("2026-03-01"), Strict),
            ("name:", "name", text(""), Strict),
            ("name: \"\"", "name", text(""), Strict),
            ("description: >\n  one\n  two\nname: x", "name", text("x"), Strict),
            ("description: |\n  one\n  two\nowner: a: b", "description", text("one\ntwo"), Lenient),
            ("description: >-\n  one\n  two\nowner: a: b", "description", text("one two"), Lenient),
            ("description: one\n  two\nowner: a: b", "description", text("one two"), Lenient),
            ("paths: [src/**, \"tests/**\"]", "paths", list(&["src/**", "tests/**"]), Strict),
            ("paths:\n  - src/**\n  - 1.10", "paths", list(&["src/**", "1.10"]), Strict),
            ("paths:\n- \"a\"\n- b", "paths", list(&["a", "b"]), Strict),
            ("paths:\n  - \"**/*.rs\"\n  - *.md", "paths", list(&["**/*.rs", "*.md"]), Lenient),
            ("paths:\n  - a #1 b", "paths", list(&["a #1 b"]), Lenient),
            ("\"name\": x", "name", text("x"), Strict),
            ("name\u{a0}: x", "name", text("x"), Lenient),
            ("name: x\r\ntype: user\r", "type", text("user"), Strict),
            ("name: \u{1f426} 名前", "name", text("\u{1f426} 名前"), Strict),
        ] {
            let file = format!("---\n{header}\n---\nbody\n");
            let doc = read(&file);
            assert_eq!((doc.value(key), doc.how, doc.body), (Some(&value), how, "body\n"), "{header:?}");
        }
    }

    // spec: X6
    #[test]
    fn fences_bom_and_missing_ends() {
        for (file, name, body) in [
            ("no header\n", None, "no header\n"),
            ("", None, ""),
            ("---", None, "---"),
            ("---\n---\n", None, ""),
            ("\u{feff}---\nname: x\n---\nb", Some("x"), "b"),
            ("---\r\nname: x\r\n---\r\nb\r\n", Some("x"), "b\r\n"),
            ("---  \nname: x\n--- \t\nb", Some("x"), "b"),
            ("---\nname: x\n---", Some("x"), ""),
            ("---\nname: x\ntype: user\n\nbody: kept\n", Some("x"), "\nbody: kept\n"),
            ("---\nA line, then: prose\n", None, "---\nA line, then: prose\n"),
            ("----\nname: x\n----\n", None, "----\nname: x\n----\n"),
            (" ---\nname: x\n---\n", None, " ---\nname: x\n---\n"),
        ] {
            let doc = read(file);
            assert_eq!((doc.get("name"), doc.body), (name, body), "{file:?}");
        }
        let late = format!("---\nowner: {}\nname: x\n---\nbody", "a".repeat(9_000));
        assert_eq!((read(&late).how, read(&late).body), (How::None, late.as_str()), "a header ends within its limit");
    }

    // spec: X6
    #[test]
    fn unknown_keys_come_back_as_they_were() {
        let file = "---\n# mine\nowner:   { team: birds }   # ours\nname: old\nmetadata:\n  a: [1,\n    2]\n\ntype: odd: one\n---\nbody";
        let mut doc = read(file);
        assert_eq!(doc.unknown().count(), 3);
        doc.set_text("name", "new \"name\"");
        doc.set_text("description", "added");
        assert_eq!(
            render(&doc),
            "---\n# mine\nowner:   { team: birds }   # ours\nname: \"new \\\"name\\\"\"\nmetadata:\n  a: [1,\n    2]\n\n\
             type: \"odd: one\"\ndescription: \"added\"\n---\nbody"
        );
        let twice = read("---\nname: a\nname: b\n---\n");
        assert_eq!(render(&twice), "---\nname: a\nname: \"b\"\n---\n", "nothing is dropped");
        let odd = "---\n&k owner: \"v\nname: x\"\n---\n";
        assert_ne!(read(odd).get("name"), Some("v name: x"), "one key's value is not another's");
        let nested = read("---\nname:\n  first: a\n---\n");
        assert_eq!(render(&nested), "---\nname:\n  first: a\n---\n", "a shape we do not know is left alone");
    }

    // spec: X6
    #[test]
    fn what_did_not_change_stays_as_it_is_written() {
        let file = "---\nname:   'it''s'\ndescription: >-\n  one\n  two\ntype: user\npaths: [ a,  b ]\n---\nbody";
        assert_eq!(render(&read(file)), file);
        let mut doc = read(file);
        doc.set_text("name", "it's");
        doc.set_text("description", "three");
        doc.set("paths", list(&["a", "b"]));
        let expected = "---\nname:   'it''s'\ndescription: \"three\"\ntype: user\npaths: [ a,  b ]\n---\nbody";
        assert_eq!(render(&doc), expected);
        let mut alias = read("---\nname: &n x\ndescription: *n\n---\n");
        alias.set_text("name", "y");
        assert_eq!(
            render(&alias),
            "---\nname: \"y\"\ndescription: \"x\"\n---\n",
            "an alias without its anchor says nothing"
        );
    }

    // spec: D6
    #[test]
    fn a_new_file_is_written_with_quoted_scalars() {
        let mut doc = Document::new("rule\n");
        doc.set_text("name", "Tests: \tuse\nDB #1");
        doc.set("paths", list(&["a\"b", "*"]));
        let file = render(&doc);
        assert_eq!(file, "---\nname: \"Tests: \\tuse\\nDB #1\"\npaths: [\"a\\\"b\", \"*\"]\n---\nrule\n");
        let again = read(&file);
        assert_eq!((said(&again), again.body), (said(&doc), "rule\n"));
        assert_eq!((doc.list("name").len(), doc.get("paths"), doc.list("none").len()), (1, Some("a\"b"), 0));
    }

    // safety: SG19
    // spec: X6
    #[test]
    fn bombs_return() {
        let mut laughs = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x]\n");
        for level in 1..9 {
            let before = format!("*a{},", level - 1).repeat(9);
            laughs.push_str(&format!("a{level}: &a{level} [{before}]\n"));
        }
        let anchors: String = (0..200_000).map(|n| format!("k{n}: &a{n} v\n")).collect();
        let bombs = [
            laughs + "name: *a8",
            "[".repeat(100_000),
            "name: ".to_owned() + &"[".repeat(100_000),
            "name: ".to_owned() + &"{a: ".repeat(50_000),
            "? ".repeat(50_000),
            "- ".repeat(50_000),
            anchors,
            "name: &a [*a, *a]".to_owned(),
            "a: ".repeat(50_000),
            "\"".repeat(100_001),
            "name: |9999999999\n x".to_owned(),
            "%YAML 1.2\n%TAG ! x\nname: !<tag:x> y".to_owned(),
            "\0\u{85}\u{2028}name: x".to_owned(),
            "name: \"\\ud800\"".to_owned(),
            (0..2_000).map(|n| " ".repeat(n % 200) + "a:\n").collect(),
        ];
        for bomb in bombs {
            for limit in [8_192, 1_048_576] {
                let mut limits = Limits::default();
                limits.set("front_matter_bytes", limit).unwrap();
                let file = format!("---\n{bomb}\n---\nthe body\n");
                let doc = parse(&file, KNOWN, &limits);
                assert!(doc.body.ends_with("the body\n"));
            }
        }
    }

    fn header_text() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            "(name|description|type|paths|owner): ",
            "[ \t]{0,3}",
            "(\r)?\n",
            "- ",
            "---",
            r##"[#:\[\]{}"'|>&*!%@`\\,-]"##,
            "[a-z]{1,6}",
            "\\PC",
            any::<char>().prop_map(String::from),
        ];
        proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        // spec: X6
        #[test]
        fn any_text_is_read_and_rewritten_without_loss(header in header_text(), body in "\\PC{0,20}") {
            for file in [format!("---\n{header}\n---\n{body}"), header.clone()] {
                let doc = read(&file);
                prop_assert!(file.ends_with(doc.body));
                let written = render(&doc);
                prop_assert!(written.ends_with(doc.body));
                let again = read(&written);
                prop_assert_eq!(said(&again), said(&doc), "{:?} was written as {:?}", file, written);
                prop_assert_eq!(again.body, doc.body);
                if doc.how == How::None { prop_assert_eq!(written, file); }
            }
        }

        // spec: X6
        #[test]
        fn any_value_survives(value in any::<String>(), items in proptest::collection::vec(any::<String>(), 0..4)) {
            let mut doc = Document::new("body");
            doc.set_text("name", value);
            doc.set("paths", Value::List(items));
            let file = render(&doc);
            let limits = Limits { front_matter_bytes: 1 << 20, ..Limits::default() };
            let again = parse(&file, KNOWN, &limits);
            prop_assert_eq!(said(&again), said(&doc));
        }
    }
}
