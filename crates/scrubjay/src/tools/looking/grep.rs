//! grep.

use super::options::{Known, number, read as options};
use super::{Command, Look, Named};
use crate::tools::shown::{cut, shown_path};
use crate::tools::walk::{Hidden, files};
use globset::{Glob, GlobMatcher};
use regex::{Regex, RegexBuilder};
use std::path::Path;

/// What is searched for, and what is shown of it.
#[derive(Debug)]
pub(super) struct Search {
    pattern: Regex,
    pub(super) recursive: bool,
    inverted: bool,
    only_matching: bool,
    shows: Shows,
    numbered: bool,
    /// Whether names stand before lines; decided by the files where it was not said.
    named: Option<bool>,
    before: usize,
    after: usize,
    most: usize,
    include: Option<GlobMatcher>,
}

impl PartialEq for Search {
    fn eq(&self, other: &Self) -> bool {
        self.pattern.as_str() == other.pattern.as_str()
            && self.shows == other.shows
            && self.recursive == other.recursive
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shows {
    Lines,
    Files,
    Count,
    Nothing,
}

const KNOWN: Known = Known {
    bare: "rRnilcvwxohHEFGsq",
    valued: "eABCmg",
    long: &[
        ("recursive", 'r'),
        ("line-number", 'n'),
        ("ignore-case", 'i'),
        ("files-with-matches", 'l'),
        ("count", 'c'),
        ("invert-match", 'v'),
        ("word-regexp", 'w'),
        ("only-matching", 'o'),
        ("no-filename", 'h'),
        ("extended-regexp", 'E'),
        ("fixed-strings", 'F'),
        ("regexp", 'e'),
        ("after-context", 'A'),
        ("before-context", 'B'),
        ("context", 'C'),
        ("max-count", 'm'),
        ("include", 'g'),
        ("no-messages", 's'),
        ("quiet", 'q'),
    ],
};

pub(super) fn read(words: &[String]) -> Result<(Command, Vec<String>), String> {
    let mut given = options("grep", words, &KNOWN)?;
    let mut patterns: Vec<String> = given.values('e').map(str::to_owned).collect();
    if patterns.is_empty() {
        if given.operands.is_empty() {
            return Err("`grep` needs a pattern.".to_owned());
        }
        patterns.push(given.operands.remove(0));
    }
    let patterns: Vec<String> = patterns
        .iter()
        .map(|pattern| match (given.has('F'), given.has('E')) {
            (true, _) => regex::escape(pattern),
            (false, true) => pattern.clone(),
            (false, false) => from_basic(pattern),
        })
        .collect();
    let joined = format!("(?:{})", patterns.join("|"));
    let joined = if given.has('w') { format!(r"\b{joined}\b") } else { joined };
    let joined = if given.has('x') { format!("^{joined}$") } else { joined };
    let pattern = RegexBuilder::new(&joined).case_insensitive(given.has('i')).build();
    let pattern =
        pattern.map_err(|_| "The pattern of `grep` cannot be used. Escape what is meant literally.".to_owned())?;
    let count = |letter: char| given.value(letter).map(|value| number::<usize>("grep", value)).transpose();
    let around = count('C')?.unwrap_or(0);
    let include = given.value('g').map(Glob::new).transpose();
    let include = include.map_err(|error| format!("--include cannot be used: {error}."))?;
    let search = Search {
        pattern,
        recursive: given.has('r') || given.has('R'),
        inverted: given.has('v'),
        only_matching: given.has('o'),
        shows: match () {
            () if given.has('q') => Shows::Nothing,
            () if given.has('l') => Shows::Files,
            () if given.has('c') => Shows::Count,
            () => Shows::Lines,
        },
        numbered: given.has('n'),
        named: if given.has('h') { Some(false) } else { given.has('H').then_some(true) },
        before: count('B')?.unwrap_or(around),
        after: count('A')?.unwrap_or(around),
        most: count('m')?.unwrap_or(usize::MAX),
        include: include.map(|glob| glob.compile_matcher()),
    };
    Ok((Command::Grep(search), given.operands))
}

/// In a basic pattern the signs of repetition and choice are escaped to mean something, elsewhere to mean nothing.
fn from_basic(pattern: &str) -> String {
    let mut out = String::new();
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some(sign @ ('|' | '+' | '?' | '(' | ')' | '{' | '}')) => out.push(sign),
                Some(other) => out.extend(['\\', other]),
                None => out.push_str("\\\\"),
            },
            '|' | '+' | '?' | '(' | ')' | '{' | '}' => out.extend(['\\', letter]),
            other => out.push(other),
        }
    }
    out
}

/// Search. Of past sessions only the last lines that match are shown.
pub(super) fn run(
    search: &Search,
    named: &[Named<'_>],
    input: Option<&str>,
    look: &Look<'_>,
) -> Result<String, String> {
    let (mut rows, mut past) = (Vec::new(), Vec::new());
    if named.is_empty() {
        rows = search.rows(input.unwrap_or_default(), None, look);
    }
    let several = named.len() > 1 || search.recursive;
    for one in named {
        let is_dir = one.path.is_dir();
        if is_dir && !search.recursive {
            return Err(format!("{} is a directory; search it with -r.", shown_path(one.path)));
        }
        let found: Vec<_> = if is_dir {
            files(one.path, Hidden::Walked)
                .map(|file| file.into_path())
                .filter(|path| look.visible.shows(path))
                .collect()
        } else {
            vec![one.path.to_owned()]
        };
        for path in found.iter().take_while(|_| !look.stop.is_cancelled()) {
            if is_dir && !search.wants(path) {
                continue;
            }
            let text = match look.text(path) {
                Ok(text) => text,
                // Beside others, a file that is no text is passed over, as everywhere.
                Err(_) if is_dir => continue,
                Err(why) => return Err(why),
            };
            let shown = shown_name(one, path);
            let name = search.named.unwrap_or(several).then_some(shown.as_str());
            let found = search.rows(&text, name.or((search.shows == Shows::Files).then_some(shown.as_str())), look);
            let bucket = if look.past.is_some_and(|past| past.holds(path)) { &mut past } else { &mut rows };
            bucket.extend(found);
        }
    }
    if let Some(limit) = look.past.map(super::Past::most)
        && past.len() > limit
    {
        past.drain(..past.len() - limit);
        past.insert(0, format!("[only the last {limit} lines of past sessions are shown]"));
    }
    rows.append(&mut past);
    Ok(rows.into_iter().map(|row| row + "\n").collect())
}

fn shown_name(one: &Named<'_>, path: &Path) -> String {
    match path.strip_prefix(one.path) {
        Ok(below) if !below.as_os_str().is_empty() => shown_path(&Path::new(one.name).join(below)),
        _ => one.name.to_owned(),
    }
}

impl Search {
    fn wants(&self, path: &Path) -> bool {
        let name = path.file_name().map(Path::new).unwrap_or(path);
        self.include.as_ref().is_none_or(|glob| glob.is_match(name))
    }

    /// What is shown of one text.
    fn rows(&self, text: &str, name: Option<&str>, look: &Look<'_>) -> Vec<String> {
        let lines: Vec<&str> = text.lines().collect();
        let is_hit = |line: &str| self.pattern.is_match(line) != self.inverted;
        let hits: Vec<usize> = (0..lines.len()).filter(|at| is_hit(lines[*at])).take(self.most).collect();
        let head = name.map(|name| format!("{name}:")).unwrap_or_default();
        match self.shows {
            Shows::Nothing => return Vec::new(),
            Shows::Files => {
                return if hits.is_empty() { Vec::new() } else { vec![name.unwrap_or("(input)").to_owned()] };
            }
            Shows::Count => return vec![format!("{head}{}", hits.len())],
            Shows::Lines => {}
        }
        let mut rows = Vec::new();
        let mut next = 0;
        for hit in &hits {
            let from = hit.saturating_sub(self.before).max(next);
            if !rows.is_empty() && from != next && self.before + self.after > 0 {
                rows.push("--".to_owned());
            }
            let until = (hit + self.after + 1).min(lines.len());
            for (at, line) in lines.iter().enumerate().take(until).skip(from) {
                if at > *hit && hits.contains(&at) {
                    break;
                }
                let mark = if at == *hit { ':' } else { '-' };
                let number = if self.numbered { format!("{}{mark}", at + 1) } else { String::new() };
                let before = name.map(|name| format!("{name}{mark}")).unwrap_or_default();
                let parts = if at == *hit { self.parts(line) } else { vec![*line] };
                let shown = parts.iter().map(|part| cut(part, look.limits.search_line_chars));
                rows.extend(shown.map(|part| format!("{before}{number}{part}")));
                next = at + 1;
            }
        }
        rows
    }

    /// A matching line, or what of it matches.
    fn parts<'t>(&self, line: &'t str) -> Vec<&'t str> {
        match self.only_matching && !self.inverted {
            true => self.pattern.find_iter(line).map(|found| found.as_str()).collect(),
            false => vec![line],
        }
    }
}
