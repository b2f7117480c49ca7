//! ls, find and stat. Links are named and never followed.

use super::options::{Known, number, read, unknown};
use super::{Command, Look, Named};
use crate::tools::file::explain;
use crate::tools::handles::{About, Handles, names_in};
use crate::tools::shown::shown_path;
use globset::{GlobBuilder, GlobMatcher};
use jiff::Timestamp;
use rustix::fs::FileType;
use std::cmp::Reverse;
use std::path::{Path, PathBuf};

/// What is listed, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ls {
    long: bool,
    hidden: bool,
    by_time: bool,
    reversed: bool,
    itself: bool,
}

/// What is looked for.
#[derive(Debug)]
pub(super) struct Find {
    names: Vec<GlobMatcher>,
    paths: Vec<GlobMatcher>,
    kind: Option<char>,
    least_depth: usize,
    most_depth: usize,
}

impl PartialEq for Find {
    fn eq(&self, other: &Self) -> bool {
        (self.kind, self.least_depth, self.most_depth) == (other.kind, other.least_depth, other.most_depth)
    }
}

pub(super) fn ls(words: &[String]) -> Result<(Command, Vec<String>), String> {
    let long = &[("all", 'a'), ("almost-all", 'A'), ("reverse", 'r'), ("directory", 'd'), ("human-readable", 'h')];
    let given = read("ls", words, &Known { bare: "1laAtrdhFGp", valued: "", long })?;
    let ls = Ls {
        long: given.has('l'),
        hidden: given.has('a') || given.has('A'),
        by_time: given.has('t'),
        reversed: given.has('r'),
        itself: given.has('d'),
    };
    Ok((Command::Ls(ls), given.operands))
}

pub(super) fn list(ls: &Ls, named: &[Named<'_>], look: &Look<'_>) -> Result<String, String> {
    let mut out = String::new();
    for (at, one) in named.iter().enumerate() {
        let about = looked_at(one.path)?;
        if !about.is_dir() || ls.itself {
            out.push_str(&row(ls, one.name, &about));
            continue;
        }
        if named.len() > 1 {
            out.push_str(&format!("{}{}:\n", if at > 0 { "\n" } else { "" }, one.name));
        }
        let mut entries: Vec<(String, About)> = children(one.path)?;
        entries.retain(|(name, _)| (ls.hidden || !name.starts_with('.')) && look.visible.shows(&one.path.join(name)));
        if ls.by_time {
            entries.sort_by_key(|(name, about)| (Reverse(about.changed()), name.clone()));
        }
        if ls.reversed {
            entries.reverse();
        }
        entries.iter().for_each(|(name, about)| out.push_str(&row(ls, name, about)));
    }
    Ok(out)
}

fn row(ls: &Ls, name: &str, about: &About) -> String {
    let name = shown_path(Path::new(name));
    if !ls.long {
        return format!("{name}\n");
    }
    format!("{} {:>9} {} {name}\n", mode(about), about.len(), changed(about))
}

fn mode(about: &About) -> String {
    let bits = about.rights();
    let letters = "rwxrwxrwx".chars().enumerate();
    let rights: String = letters.map(|(at, letter)| if bits & (0o400 >> at) == 0 { '-' } else { letter }).collect();
    format!("{}{rights}", letter_of(about.kind()))
}

fn letter_of(kind: FileType) -> char {
    match kind {
        FileType::Directory => 'd',
        FileType::Symlink => 'l',
        FileType::RegularFile => '-',
        _ => '?',
    }
}

fn changed(about: &About) -> Timestamp {
    Timestamp::from_second(about.changed().0).unwrap_or_default()
}

fn looked_at(path: &Path) -> Result<About, String> {
    Handles::new().about(path).map_err(|error| format!("{}: {}.", shown_path(path), explain(&error)))
}

fn children(dir: &Path) -> Result<Vec<(String, About)>, String> {
    let names = names_in(dir).map_err(|error| format!("{}: {}.", shown_path(dir), explain(&error)))?;
    let mut handles = Handles::new();
    let entries = names.filter_map(|name| {
        let about = handles.about(&dir.join(&name)).ok()?;
        Some((name.to_string_lossy().into_owned(), about))
    });
    let mut entries: Vec<_> = entries.collect();
    entries.sort_by(|one, other| one.0.cmp(&other.0));
    Ok(entries)
}

pub(super) fn find(words: &[String]) -> Result<(Command, Vec<String>), String> {
    let places = words.iter().take_while(|word| !word.starts_with('-')).cloned().collect::<Vec<_>>();
    let mut find = Find { names: Vec::new(), paths: Vec::new(), kind: None, least_depth: 0, most_depth: usize::MAX };
    let mut tests = words[places.len()..].iter();
    while let Some(test) = tests.next() {
        if test == "-print" {
            continue;
        }
        let known = ["-name", "-iname", "-path", "-type", "-maxdepth", "-mindepth"].contains(&test.as_str());
        let value = tests.next().filter(|_| known).ok_or_else(|| unknown("find", test))?;
        match test.as_str() {
            "-name" => find.names.push(glob(value, Case::Kept)?),
            "-iname" => find.names.push(glob(value, Case::Folded)?),
            "-path" => find.paths.push(glob(value, Case::Kept)?),
            "-type" => find.kind = Some(kind(value)?),
            "-maxdepth" => find.most_depth = number("find", value)?,
            _ => find.least_depth = number("find", value)?,
        }
    }
    Ok((Command::Find(find), places))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Case {
    Kept,
    Folded,
}

fn glob(pattern: &str, case: Case) -> Result<GlobMatcher, String> {
    let built = GlobBuilder::new(pattern).case_insensitive(case == Case::Folded).build();
    built.map(|glob| glob.compile_matcher()).map_err(|error| format!("`{pattern}` cannot be used: {error}."))
}

fn kind(value: &str) -> Result<char, String> {
    match value {
        "f" => Ok('-'),
        "d" => Ok('d'),
        "l" => Ok('l'),
        other => Err(format!("`find -type {other}` is not answered here; f, d and l are.")),
    }
}

pub(super) fn search(find: &Find, named: &[Named<'_>], look: &Look<'_>) -> Result<String, String> {
    let mut out = String::new();
    for one in named {
        let mut waiting: Vec<(PathBuf, PathBuf, usize)> = vec![(one.path.to_owned(), PathBuf::from(one.name), 0)];
        while let Some((path, name, depth)) = waiting.pop() {
            if look.stop.is_cancelled() || out.len() as u64 > look.limits.shell_output_bytes {
                return Ok(out);
            }
            if !look.visible.shows(&path) {
                continue;
            }
            let about = match looked_at(&path) {
                Ok(about) => about,
                // What was named must be there; what was found below may be gone again.
                Err(why) if depth == 0 => return Err(why),
                Err(_) => continue,
            };
            if find.wants(&name, &about, depth) {
                out.push_str(&shown_path(&name));
                out.push('\n');
            }
            if about.is_dir() && depth < find.most_depth {
                let below = children(&path).unwrap_or_default().into_iter().rev();
                waiting.extend(below.map(|(child, _)| (path.join(&child), name.join(&child), depth + 1)));
            }
        }
    }
    Ok(out)
}

impl Find {
    fn wants(&self, name: &Path, about: &About, depth: usize) -> bool {
        let file = name.file_name().map(Path::new).unwrap_or(name);
        depth >= self.least_depth
            && self.kind.is_none_or(|kind| letter_of(about.kind()) == kind)
            && self.names.iter().all(|glob| glob.is_match(file))
            && self.paths.iter().all(|glob| glob.is_match(name))
    }
}

pub(super) fn stat(named: &[Named<'_>]) -> Result<String, String> {
    let row = |one: &Named<'_>| {
        let about = looked_at(one.path)?;
        Ok(format!("{}: {} {} bytes, changed {}\n", one.name, mode(&about), about.len(), changed(&about)))
    };
    named.iter().map(row).collect()
}
