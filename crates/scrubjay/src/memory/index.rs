//! The index, `MEMORY.md`: one line for each memory, made from the memories, with whatever prose a person put around them.

use super::name;
use super::scan::Entry;
use super::similarity::{Saying, is_said, sayings};
use super::topic::Topic;
use crate::limits::Limits;
use crate::prompts;
use crate::secrets;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

/// A title longer than this leaves no room for a hook.
const TITLE: usize = 60;

/// What an index says about one memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pointer {
    /// Where it points, below the folder of the index.
    pub(super) path: String,
    /// What it calls the memory.
    pub(super) title: String,
    /// What it says about it.
    pub(super) hook: String,
}

/// What became of an index.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Rebuilt {
    pub(super) bytes: Vec<u8>,
    /// Lines that pointed nowhere, or pointed twice.
    pub(super) dropped: Vec<String>,
}

/// The line of a memory: its name, and its description as far as there is room.
pub(super) fn line(entry: &Entry, path: &str, limits: &Limits) -> String {
    let most = usize::try_from(limits.index_line_chars).unwrap_or(usize::MAX);
    let mut title = shortened(&one_line(&secrets::left_out(&entry.name)), TITLE.min(most));
    if title.contains(['\\', '[', ']']) {
        title = title.replace('\\', "/").replace('[', "\\[").replace(']', "\\]");
    }
    let target = if path.contains([' ', '(', ')']) { format!("<{path}>") } else { path.to_owned() };
    let pointer = format!("- [{title}]({target})");
    let hook = secrets::left_out(&entry.description);
    let hook = one_line(&hook);
    let room = most.saturating_sub(pointer.chars().count() + " — ".chars().count());
    match shortened(&hook, room) {
        hook if hook.is_empty() => pointer,
        hook => format!("{pointer} — {hook}"),
    }
}

/// A topic whose description fits its line; what does not fit moves into the text. `None` if it fits as it is, or is short and only
/// its name and path are long: that one is cut in its line alone, since recall reads all of it.
pub(super) fn fitted(topic: &Topic, path: &str, limits: &Limits) -> Option<Topic> {
    const SHORT: usize = 80;
    let description = one_line(&topic.description);
    let title = topic.name.chars().count().min(TITLE);
    let taken = title + path.chars().count() + "- []() — ".chars().count();
    let room = usize::try_from(limits.index_line_chars).unwrap_or(usize::MAX).saturating_sub(taken).max(SHORT);
    if description.chars().count() <= room {
        return None;
    }
    let end = description.char_indices().nth(room).map_or(description.len(), |(at, _)| at);
    let fits = &description[..end];
    let clause = fits.rfind([',', ';', ':', '.', '，', '；', '。']).filter(|at| *at > fits.len() / 2);
    let word = fits.rfind(' ').filter(|at| *at > fits.len() / 2);
    let short = fits[..clause.or(word).unwrap_or(fits.len())].trim_end_matches([' ', ',', ';', ':', '.', '-', '—']);
    let said = is_said(&Saying::of(&description), &sayings(&topic.body));
    let body = if said { topic.body.clone() } else { format!("{description}\n\n{}", topic.body.trim_start()) };
    Some(Topic { description: short.to_owned(), body, ..topic.clone() })
}

/// Text on one line, with nothing in it that moves a cursor.
fn one_line(text: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| byte == b' ' || byte.is_ascii_graphic();
    if text.bytes().all(is_plain) && text.trim_ascii() == text && !text.contains("  ") {
        return text.into();
    }
    let spaced: String =
        text.chars().map(|c| if c.is_control() || c == '\u{2028}' || c == '\u{2029}' { ' ' } else { c }).collect();
    spaced.split_whitespace().collect::<Vec<_>>().join(" ").into()
}

/// At most so many characters, cut at a word and with a mark.
fn shortened(text: &str, most: usize) -> String {
    if text.len() <= most || text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    let at_word = kept.rfind(' ').filter(|at| *at > kept.len() / 2).map_or(kept.as_str(), |at| &kept[..at]);
    if most == 0 { String::new() } else { at_word.trim_end().to_owned() + "…" }
}

/// What a line points to, if it is a line of the index and not prose.
pub(super) fn pointer(line: &[u8]) -> Option<Pointer> {
    let line = std::str::from_utf8(line).ok()?.trim_end();
    let indent = line.len() - line.trim_start_matches(' ').len();
    let rest = line.trim_start_matches(' ').strip_prefix(['-', '*', '+']).filter(|_| indent <= 3)?;
    let rest = rest.trim_start_matches([' ', '\t']).strip_prefix('[')?;
    let close = rest.match_indices("](").map(|(at, _)| at).find(|at| !rest[..*at].ends_with('\\'))?;
    let (title, rest) = (&rest[..close], &rest[close + "](".len()..]);
    let (target, rest) = match rest.strip_prefix('<') {
        Some(inner) => inner.split_once(">)")?,
        None => rest.split_once(')')?,
    };
    let target = target.strip_prefix("./").unwrap_or(target).replace("%20", " ");
    let hook = rest.trim_start().trim_start_matches(['—', '–', '-', ':']).trim();
    let title = title.replace("\\[", "[").replace("\\]", "]");
    name::parts(&target).is_ok().then(|| Pointer { path: target, title, hook: hook.to_owned() })
}

/// Each line of an index, and whether it lies in a fence, where nothing points.
pub(super) fn lines(old: &[u8]) -> Vec<(&[u8], bool)> {
    let all: Vec<&[u8]> = old.split_inclusive(|byte| *byte == b'\n').collect();
    let is_fence = |line: &&[u8]| line.trim_ascii_start().starts_with(b"```");
    // A fence that nobody closed is no fence, or it would swallow the rest.
    let paired = all.iter().filter(|line| is_fence(line)).count() / 2 * 2;
    let mut seen = 0;
    let mut mark = |line| {
        let fence = is_fence(&line);
        seen += usize::from(fence);
        (line, seen <= paired && (seen % 2 == 1 || fence))
    };
    all.into_iter().map(&mut mark).collect()
}

/// The pointers of an index by path; of two for one memory the first.
pub(super) fn pointers(old: &[u8]) -> BTreeMap<String, (Pointer, String)> {
    let mut found = BTreeMap::new();
    for (line, fenced) in lines(old) {
        if let Some(pointer) = pointer(line).filter(|_| !fenced) {
            let text = String::from_utf8_lossy(line).trim_end().to_owned();
            found.entry(pointer.path.clone()).or_insert((pointer, text));
        }
    }
    found
}

/// The words of an index that are no lines of memories, without empty lines.
pub(super) fn prose(old: &[u8]) -> String {
    let is_prose = |(line, fenced): &(&[u8], bool)| *fenced || pointer(line).is_none();
    let lines =
        lines(old).into_iter().filter(is_prose).map(|(line, _)| String::from_utf8_lossy(line).trim_end().to_owned());
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

/// What changed in the words of an index, a line each.
pub(super) fn edited_prose(scope: &str, before: &str, after: &str) -> Vec<String> {
    const SHOWN: usize = 200;
    let told = |how: &str, from: &str, to: &str| -> Vec<String> {
        let known: HashSet<&str> = from.lines().collect();
        let new = to.lines().filter(|line| !known.contains(line));
        let short = |line: &str| line.chars().take(SHOWN).collect::<String>();
        new.map(|line| format!("{scope}{} was edited by hand, {how}: {}", name::INDEX, short(line))).collect()
    };
    [told("added", before, after), told("taken out", after, before)].concat()
}

/// The index of these memories (path below the index, line), sorted by path. Prose stays where it is, lines keep their
/// places, new ones come after the last.
pub(super) fn rebuilt(old: &[u8], wanted: &[(String, String)]) -> Rebuilt {
    let place: HashMap<&str, usize> = wanted.iter().enumerate().map(|(at, (path, _))| (path.as_str(), at)).collect();
    let mut used = vec![false; wanted.len()];
    let (mut bytes, mut dropped, mut last) = (Vec::with_capacity(old.len()), Vec::new(), None);
    for (line, fenced) in lines(old) {
        let Some(pointer) = pointer(line).filter(|_| !fenced) else {
            bytes.extend_from_slice(line);
            continue;
        };
        match place.get(pointer.path.as_str()).filter(|at| !used[**at]) {
            Some(&at) => {
                used[at] = true;
                bytes.extend_from_slice(wanted[at].1.as_bytes());
                bytes.extend_from_slice(ending(line));
                last = Some(bytes.len());
            }
            None => dropped.push(String::from_utf8_lossy(line).trim_end().to_owned()),
        }
    }
    let new = wanted.iter().zip(&used).filter(|(_, used)| !**used).map(|((_, line), _)| line.as_str());
    Rebuilt { bytes: with_new(bytes, last, new), dropped }
}

/// New lines come after the last one.
fn with_new<'a>(mut bytes: Vec<u8>, last: Option<usize>, lines: impl Iterator<Item = &'a str>) -> Vec<u8> {
    let mut new = Vec::new();
    for line in lines {
        new.extend_from_slice(line.as_bytes());
        new.push(b'\n');
    }
    let at = last.unwrap_or(bytes.len());
    if !new.is_empty() && at > 0 && bytes[at - 1] != b'\n' {
        new.insert(0, b'\n');
        if at == bytes.len() {
            new.pop();
        }
    }
    bytes.splice(at..at, new);
    bytes
}

/// The same for an index that is in step with all memories but these (path below the index, line, or `None` for one that
/// is gone): no line but theirs is looked at.
pub(super) fn patched(old: &[u8], changed: &BTreeMap<&str, Option<String>>) -> Vec<u8> {
    let all = lines(old);
    let mut theirs: BTreeMap<usize, &str> = BTreeMap::new();
    for path in changed.keys() {
        let points = |line: &[u8]| pointer(line).is_some_and(|pointer| pointer.path == *path);
        let sought = memchr::memmem::Finder::new(path.as_bytes());
        let found = all.iter().position(|(line, fenced)| !fenced && sought.find(line).is_some() && points(line));
        theirs.extend(found.map(|at| (at, *path)));
    }
    let line_of = |at: usize| theirs.get(&at).map(|path| changed[path].as_deref());
    let stays = |at: &usize| match line_of(*at) {
        Some(line) => line.is_some(),
        None => !all[*at].1 && pointer(all[*at].0).is_some(),
    };
    let last_line = (0..all.len()).rev().find(stays);
    let (mut bytes, mut last) = (Vec::with_capacity(old.len()), None);
    for (at, (line, _)) in all.iter().enumerate() {
        match line_of(at) {
            None => bytes.extend_from_slice(line),
            Some(None) => {}
            Some(Some(new)) => {
                bytes.extend_from_slice(new.as_bytes());
                bytes.extend_from_slice(ending(line));
            }
        }
        if last_line == Some(at) {
            last = Some(bytes.len());
        }
    }
    let placed: HashSet<&str> = theirs.values().copied().collect();
    let new = changed.iter().filter(|(path, _)| !placed.contains(*path)).filter_map(|(_, line)| line.as_deref());
    with_new(bytes, last, new)
}

/// The same index with the lines in the order of what their memories are worth, as far as nobody put words between them; `None`
/// if that is how they stand.
pub(super) fn ranked(old: &[u8], worth: impl Fn(&str) -> f64) -> Option<Vec<u8>> {
    let all = lines(old);
    let worth_of = |(line, fenced): &(&[u8], bool)| pointer(line).filter(|_| !fenced).map(|found| worth(&found.path));
    let worths: Vec<Option<f64>> = all.iter().map(worth_of).collect();
    let first = worths.iter().position(Option::is_some)?;
    let end = worths.iter().rposition(Option::is_some)? + 1;
    let mut run: Vec<(&[u8], f64)> =
        (first..end).map(|at| Some((all[at].0, worths[at]?))).collect::<Option<Vec<_>>>()?;
    run.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    let mut bytes = Vec::with_capacity(old.len());
    all[..first].iter().for_each(|(line, _)| bytes.extend_from_slice(line));
    for ((line, _), (place, _)) in run.iter().zip(&all[first..end]) {
        bytes.extend_from_slice(&line[..line.len() - ending(line).len()]);
        bytes.extend_from_slice(ending(place));
    }
    all[end..].iter().for_each(|(line, _)| bytes.extend_from_slice(line));
    (bytes != old).then_some(bytes)
}

pub(super) fn ending(line: &[u8]) -> &'static [u8] {
    match line {
        [.., b'\r', b'\n'] => b"\r\n",
        [.., b'\n'] => b"\n",
        _ => b"",
    }
}

/// An index as a session begins with it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoadedIndex {
    /// Its text, cut where it is too long, with the warning after it.
    pub text: String,
    /// How many lines it has, if some of them were left out for their number.
    pub line_cut: Option<usize>,
    /// How many bytes those lines have, if some of them were left out for their size.
    pub byte_cut: Option<usize>,
    /// What was said about it.
    pub warning: Option<String>,
}

impl LoadedIndex {
    /// How much of it a session sees, for people; nothing where that is all of it.
    pub fn seen(&self, limits: &Limits) -> Option<String> {
        let lines = self.line_cut.map(|lines| format!("the first {} of its {lines} lines", limits.index_lines));
        let bytes = self.byte_cut.map(|bytes| format!("the first {} of {bytes} bytes", limits.index_bytes));
        let parts: Vec<String> = lines.into_iter().chain(bytes).collect();
        (!parts.is_empty()).then(|| format!("sessions see {}", parts.join(", and of these ")))
    }
}

/// Cut an index to what is loaded: so many lines, then so many bytes, at the end of a line where there is one.
///
/// ```
/// use scrubjay::{limits::Limits, memory::load_index};
/// let loaded = load_index("- [Role](user_role.md) — writes Rust\n", "MEMORY.md", &Limits::default());
/// assert_eq!((loaded.line_cut, loaded.byte_cut, loaded.warning), (None, None, None));
/// ```
pub fn load_index(text: &str, file: &str, limits: &Limits) -> LoadedIndex {
    let most_lines = usize::try_from(limits.index_lines).unwrap_or(usize::MAX);
    let most_bytes = usize::try_from(limits.index_bytes).unwrap_or(usize::MAX);
    let lines = text.split_inclusive('\n').count();
    let by_lines: usize = text.split_inclusive('\n').take(most_lines).map(str::len).sum();
    let mut shown = &text[..by_lines];
    let bytes = shown.len();
    if bytes > most_bytes {
        let whole = &shown[..shown.floor_char_boundary(most_bytes)];
        shown = whole.rfind('\n').map_or(whole, |at| &whole[..=at]);
    }
    let line_cut = (lines > most_lines).then_some(lines);
    let byte_cut = (bytes > most_bytes).then_some(bytes);
    let mut why = Vec::new();
    why.extend(line_cut.map(|lines| format!("it has {lines} lines and the first {most_lines} are loaded")));
    why.extend(byte_cut.map(|bytes| {
        format!(
            "{} has {bytes} bytes and the first {most_bytes} are loaded",
            if line_cut.is_some() { "what is left" } else { "it" }
        )
    }));
    let warning = (!why.is_empty()).then(|| prompts::index_cut(&why.join("; "), file));
    let text = match &warning {
        Some(warning) => format!("{}\n\n{warning}", shown.trim_end_matches('\n')),
        None => shown.to_owned(),
    };
    LoadedIndex { text, line_cut, byte_cut, warning }
}

/// An index without the lines that point to these memories.
pub(super) fn without<'a>(text: &'a str, hidden: &HashSet<&str>) -> Cow<'a, str> {
    if hidden.is_empty() {
        return text.into();
    }
    let shown = lines(text.as_bytes()).into_iter().filter(|(line, fenced)| {
        *fenced || pointer(line).is_none_or(|pointer| !hidden.contains(pointer.path.as_str()))
    });
    shown.map(|(line, _)| String::from_utf8_lossy(line)).collect::<String>().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Kind;
    use proptest::prelude::*;

    fn entry(path: &str, name: &str, description: &str) -> Entry {
        let entry = Entry::of(path.into(), "", Default::default(), &Limits::default());
        Entry { name: name.into(), description: description.into(), ..entry }
    }

    fn said(path: &str, name: &str, description: &str) -> String {
        line(&entry(path, name, description), path, &Limits::default())
    }

    fn build(old: &str, wanted: &[(&str, &str)]) -> (String, Vec<String>) {
        let wanted: Vec<_> = wanted.iter().map(|(path, line)| ((*path).to_owned(), (*line).to_owned())).collect();
        let built = rebuilt(old.as_bytes(), &wanted);
        (String::from_utf8(built.bytes).unwrap(), built.dropped)
    }

    // spec: D9
    #[test]
    fn a_line_is_short_and_says_name_and_description() {
        for path in ["a (1).md", "a b.md", "deep/a).md"] {
            let line = said(path, "A", "b");
            assert_eq!(line, format!("- [A](<{path}>) — b"));
            assert_eq!(pointer(line.as_bytes()).map(|found| found.path).as_deref(), Some(path), "{line}");
        }
        assert_eq!(said("user_role.md", "Role", "writes Rust"), "- [Role](user_role.md) — writes Rust");
        assert_eq!(said("a b.md", "x [y]", ""), "- [x \\[y\\]](<a b.md>)");
        let long = said("project_release.md", &"many words ".repeat(20), &"what it is about ".repeat(20));
        assert!(long.chars().count() <= 150, "{long}");
        assert!(long.contains("…](project_release.md) — what it is") && long.ends_with('…'), "{long}");
        assert_eq!(said("a.md", "one\ntwo\u{1b}[2J", "x\r\ny"), "- [one two \\[2J](a.md) — x y");
    }

    // spec: Z6
    #[test]
    fn a_long_description_moves_into_the_text() {
        let limits = Limits::default();
        let long = "how the staging database is reached, with the port, the user, the jump host and everything else that was asked for lately, also by others";
        let topic = Topic {
            name: "Staging".into(),
            description: long.into(),
            kind: Kind::Reference,
            body: "Port 5433.\n".into(),
        };
        let short = fitted(&topic, "reference_staging.md", &limits).unwrap();
        assert_eq!(short.description, "how the staging database is reached, with the port, the user");
        assert_eq!(short.body, format!("{long}\n\nPort 5433.\n"));
        assert_eq!(fitted(&short, "reference_staging.md", &limits), None);
    }

    // spec: V5
    #[test]
    fn lines_are_ranked_where_nobody_put_words_between_them() {
        let worth = |path: &str| if path == "b.md" { 0.9 } else { 0.5 };
        let ranked = |old: &str| ranked(old.as_bytes(), worth).map(|bytes| String::from_utf8(bytes).unwrap());
        let old = "# Mine\n- [A](a.md) — a\r\n- [C](c.md)\n- [B](b.md) — b\n\nThe end.";
        let new = "# Mine\n- [B](b.md) — b\r\n- [A](a.md) — a\n- [C](c.md)\n\nThe end.";
        assert_eq!(ranked(old).as_deref(), Some(new));
        assert_eq!(ranked(new), None);
        assert_eq!(ranked("- [A](a.md)\nThese belong together:\n- [B](b.md)\n"), None);
        assert_eq!(ranked("no lines"), None);
        assert_eq!(ranked("- [A](a.md)\n- [B](b.md)").as_deref(), Some("- [B](b.md)\n- [A](a.md)"));
    }

    // spec: D10
    #[test]
    fn prose_stays_and_lines_follow_the_files() {
        let old = "# Memory\n\nAda's own words, with [a link](https://x.y) and [one](b.md) in them.\n- [Old](a.md) — stale\n* [Gone](gone.md): nothing\n- [Old](a.md) — again\n\nThe end.\n";
        let (new, dropped) = build(old, &[("a.md", "- [A](a.md) — a"), ("b.md", "- [B](b.md) — b")]);
        assert_eq!(
            new,
            "# Memory\n\nAda's own words, with [a link](https://x.y) and [one](b.md) in them.\n- [A](a.md) — a\n- [B](b.md) — b\n\nThe end.\n"
        );
        assert_eq!(dropped, ["* [Gone](gone.md): nothing", "- [Old](a.md) — again"]);
        assert_eq!(build(&new, &[("a.md", "- [A](a.md) — a"), ("b.md", "- [B](b.md) — b")]), (new, vec![]));
        assert_eq!(build("", &[("a.md", "- A")]).0, "- A\n");
        assert_eq!(build("words", &[("a.md", "- A")]).0, "words\n- A");
        assert_eq!(build("- [x](a.md)\r\nwords\r\n", &[("a.md", "- A")]).0, "- A\r\nwords\r\n");
        let fenced = "```\n- [An example](example.md) — of a line\n```\n";
        assert_eq!(build(fenced, &[]), (fenced.to_owned(), vec![]));
        assert_eq!(build("```\n- [x](gone.md)\n", &[]).0, "```\n", "a fence that nobody closed");
        let both = format!("{fenced}- [A](example.md)\n");
        let few = BTreeMap::from([("example.md", Some("- [B](example.md)".to_owned()))]);
        assert_eq!(String::from_utf8(patched(both.as_bytes(), &few)).unwrap(), format!("{fenced}- [B](example.md)\n"));
    }

    #[test]
    fn bytes_that_are_no_text_are_prose() {
        let old = b"\xff\xfe prose\n- [x](a.md)\n\xff";
        let built = rebuilt(old, &[("a.md".to_owned(), "- A".to_owned())]);
        assert_eq!(built.bytes, b"\xff\xfe prose\n- A\n\xff");
    }

    // spec: D9
    // safety: F-41
    #[test]
    fn an_index_is_cut_by_lines_then_by_bytes_and_says_so() {
        let limits = Limits::default();
        let load = |text: &str| load_index(text, "MEMORY.md", &limits);
        let lines = |count: usize, length: usize| (0..count).map(|_| "x".repeat(length - 1) + "\n").collect::<String>();
        let fits = lines(200, 125);
        assert_eq!(load(&fits), LoadedIndex { text: fits, ..LoadedIndex::default() });

        let many = load(&lines(201, 10));
        assert_eq!((many.line_cut, many.byte_cut), (Some(201), None));
        assert!(many.text.starts_with(&lines(200, 10)) && many.text.contains("201 lines"), "{}", many.text);

        let heavy = load(&lines(200, 985));
        assert_eq!((heavy.line_cut, heavy.byte_cut), (None, Some(197_000)));
        assert!(heavy.text.starts_with(&lines(25, 985)), "cut at a line");
        assert!(heavy.text.len() < 26_000 && heavy.warning.unwrap().contains("197000 bytes"));

        let both = load(&lines(300, 200));
        assert_eq!((both.line_cut, both.byte_cut), (Some(300), Some(40_000)));

        let one = load(&"é".repeat(20_000));
        assert_eq!(one.byte_cut, Some(40_000));
        assert!(one.text.starts_with(&"é".repeat(12_500)) && !one.text.starts_with(&"é".repeat(12_501)));
        let odd = load(&("x".to_owned() + &"é".repeat(20_000)));
        assert!(odd.text.starts_with(&("x".to_owned() + &"é".repeat(12_499) + "\n")), "at the last whole character");
        assert_eq!(load(&"\r".repeat(30_000)).byte_cut, Some(30_000));
    }

    // spec: D10
    #[test]
    fn hidden_memories_have_no_line() {
        let text = "prose\n- [A](a.md) — a\n- [B](b.md) — b\n";
        assert_eq!(without(text, &HashSet::from(["b.md"])), "prose\n- [A](a.md) — a\n");
        assert_eq!(without(text, &HashSet::new()), text);
    }

    proptest! {
        // safety: F-41
        #[test]
        fn any_text_can_be_loaded_and_rebuilt(text in "(.|\n|\r|- \\[a\\]\\(a.md\\)|```|é){0,60}", lines in 1_u64..20, bytes in 1_u64..300) {
            let limits = Limits { index_lines: lines, index_bytes: bytes, ..Limits::default() };
            let loaded = load_index(&text, "MEMORY.md", &limits);
            prop_assert_eq!(loaded.warning.is_some(), loaded.line_cut.is_some() || loaded.byte_cut.is_some());
            let wanted = [("a.md", "- [A](a.md) — a"), ("b.md", "- [B](b.md)")].map(|(path, line)| (path.to_owned(), line.to_owned()));
            let once = rebuilt(text.as_bytes(), &wanted);
            let found = pointers(&once.bytes);
            prop_assert_eq!(found.keys().map(String::as_str).collect::<Vec<_>>(), vec!["a.md", "b.md"]);
            let twice = rebuilt(&once.bytes, &wanted);
            prop_assert_eq!(twice, Rebuilt { bytes: once.bytes, dropped: vec![] });
        }

        /// Looking for a few lines gives what making all of them anew gives.
        // spec: D10
        #[test]
        fn an_index_in_step_is_changed_where_something_changed(
            text in "(.|\n|\r\n|- \\[a\\]\\(a.md\\)|- \\[b\\]\\(aa.md\\)|```|é){0,40}",
            before in proptest::collection::btree_map("a{1,3}( b)?", 0_u8..3, 0..5),
            after in proptest::collection::btree_map("a{1,3}( b)?", proptest::option::of(0_u8..3), 0..5),
        ) {
            let lines = |memories: &BTreeMap<String, u8>| -> Vec<(String, String)> {
                let line = |(name, n): (&String, &u8)| {
                    let path = format!("{name}.md");
                    (path.clone(), said(&path, &format!("about {n} {name}.md"), "d"))
                };
                memories.iter().map(line).collect::<BTreeMap<_, _>>().into_iter().collect()
            };
            let old = rebuilt(text.as_bytes(), &lines(&before)).bytes;
            let (mut all, mut changed) = (before.clone(), BTreeMap::new());
            for (name, n) in &after {
                match n {
                    Some(n) => drop(all.insert(name.clone(), *n)),
                    None => drop(all.remove(name)),
                }
                let line = n.map(|n| lines(&BTreeMap::from([(name.clone(), n)])).remove(0).1);
                changed.insert(format!("{name}.md"), line);
            }
            let expected = rebuilt(&old, &lines(&all)).bytes;
            let few = changed.iter().map(|(path, line)| (path.as_str(), line.clone())).collect();
            let found = patched(&old, &few);
            prop_assert_eq!(String::from_utf8_lossy(&found), String::from_utf8_lossy(&expected));
        }

        #[test]
        fn a_line_points_to_its_memory(name in any::<String>(), description in any::<String>()) {
            for path in ["a.md", "team/with (some) space.md"] {
                let said = said(path, &name, &description);
                let found = pointer(said.as_bytes());
                prop_assert_eq!(found.map(|pointer| pointer.path), Some(path.to_owned()), "{}", said);
                prop_assert!(!said.contains('\n'));
            }
        }
    }
}
