//! How old a memory is, and what it mentions that is not there any more.
//!
//! Saying wrongly that something is gone would make a good memory worthless, so only what surely names a path, a symbol
//! or another memory is looked for, and nothing is called gone that was not looked for to the end.

use super::links;
use crate::clock;
use crate::fence::{fenced_line, fenced_path};
use crate::limits::Limits;
use crate::prompts;
use crate::tools::{Hidden, beginning, files};
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use jiff::Timestamp;
use pulldown_cmark::{Event, Parser, Tag, TagEnd, TextMergeStream};
use regex::bytes::Regex;
use std::collections::BTreeSet;
use std::path::Path;
use tokio_util::sync::CancellationToken;

/// What stands above a memory: its path and age, a warning when it is more than a day old, and what of it is gone.
pub fn header(path: &Path, changed: Timestamp, now: Timestamp, gone: &[String]) -> String {
    let (path, age) = (fenced_path(path), clock::age_in_words(changed, now));
    let mut header = match clock::age_in_days(changed, now) {
        0 | 1 => prompts::memory_header(&path, &age),
        _ => prompts::old_memory_header(&path, &age),
    };
    if !gone.is_empty() {
        let gone: Vec<String> = gone.iter().map(|name| fenced_line(name)).collect();
        header.push('\n');
        header.push_str(&prompts::memory_gone(&gone.join(", ")));
    }
    header
}

/// A memory whose mentions are to be checked.
#[derive(Debug, Clone, Copy)]
pub struct Memory<'a> {
    /// Its file.
    pub path: &'a Path,
    /// Its text.
    pub text: &'a str,
}

/// For each memory, what it mentions that is not in the project `root` (or, for links, among the memories) now. The
/// project is walked once for all of them, within limits. Blocks: run it beside other work.
pub fn drift(memories: &[Memory<'_>], root: &Path, limits: &Limits, stop: &CancellationToken) -> Vec<Vec<String>> {
    let Some(tree) = open(root) else { return vec![Vec::new(); memories.len()] };
    let mentions: Vec<Mentions> = memories.iter().map(|memory| Mentions::of(memory, (root, &tree), limits)).collect();
    let mut wanted = Wanted::default();
    for mention in &mentions {
        wanted.paths.extend(mention.paths.iter().map(String::as_str));
        wanted.symbols.extend(mention.symbols.iter().map(String::as_str));
    }
    let missing = wanted.search(root, limits, stop);
    let gone = |mention: &Mentions| {
        let paths = mention.paths.iter().filter(|name| missing.paths.contains(name.as_str()));
        let symbols = mention.symbols.iter().filter(|name| missing.symbols.contains(name.as_str()));
        paths.chain(symbols).chain(&mention.dead_links).cloned().collect()
    };
    mentions.iter().map(gone).collect()
}

/// What a text mentions and a first look did not find.
#[derive(Debug, Default, PartialEq, Eq)]
struct Mentions {
    /// Paths below the project, as written.
    paths: Vec<String>,
    /// Names in code.
    symbols: Vec<String>,
    /// Links to files that are neither among the memories nor in the project.
    dead_links: Vec<String>,
}

impl Mentions {
    fn of(memory: &Memory<'_>, (root, tree): (&Path, &Dir), limits: &Limits) -> Self {
        let beside = memory.path.parent().and_then(open);
        let mut found = Self::default();
        let mut seen = BTreeSet::new();
        let most = usize::try_from(limits.drift_mentions).unwrap_or(usize::MAX);
        let words = words(memory.text, root).into_iter().filter(|word| seen.insert(word.clone())).take(most);
        for word in words {
            match word {
                Word::Prose(word) => {
                    found.paths.extend(path_in_prose(&word, root).filter(|path| is_missing(tree, path)))
                }
                Word::Code(word) => match path_in_code(&word, root, tree) {
                    Some(path) => found.paths.extend(Some(path).filter(|path| is_missing(tree, path))),
                    None => found.symbols.extend(symbol(&word)),
                },
                Word::Link(target) => {
                    let dead =
                        beside.as_ref().is_none_or(|beside| is_missing(beside, &target)) && is_missing(tree, &target);
                    found.dead_links.extend(dead.then_some(target));
                }
            }
        }
        found
    }
}

/// A word of a text, by where it stands.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Word {
    Prose(String),
    Code(String),
    Link(String),
}

/// Blocks of code are examples more often than mentions, and are left out.
fn words(text: &str, root: &Path) -> Vec<Word> {
    let mut words = Vec::new();
    let mut in_block = false;
    for event in TextMergeStream::new(Parser::new(text)) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => in_block = true,
            Event::End(TagEnd::CodeBlock) => in_block = false,
            Event::Start(Tag::Link { dest_url, .. }) => words.extend(link(&dest_url, root).map(Word::Link)),
            Event::Code(code) => words.extend(code.split_whitespace().map(|word| Word::Code(word.to_owned()))),
            Event::Text(text) if !in_block => {
                words.extend(
                    text.split_whitespace().filter(|word| word.contains('/')).map(|word| Word::Prose(word.to_owned())),
                );
            }
            _ => {}
        }
    }
    words
}

/// The file a link leads to, when it leads to one here: beside the memory, or in the project.
fn link(target: &str, root: &Path) -> Option<String> {
    let path = links::file(target).filter(|path| !path.starts_with('~'))?;
    let path = match path.strip_prefix('/') {
        None => path.trim_start_matches("./").to_owned(),
        Some(_) => Path::new(&path).strip_prefix(root).ok()?.to_str()?.to_owned(),
    };
    extension(&path).is_some().then_some(path)
}

/// In prose only what has a folder and an extension is a path: `and/or` is none.
fn path_in_prose(word: &str, root: &Path) -> Option<String> {
    let path = below(word, root)?;
    let is_host = !path.starts_with('.') && path.split('/').next()?.contains('.');
    (path.contains('/') && extension(&path).is_some() && !is_host).then_some(path)
}

/// In code also a folder, a file with a usual extension, and whatever begins with a folder that exists.
fn path_in_code(word: &str, root: &Path, tree: &Dir) -> Option<String> {
    const USUAL: &str = "rs toml md py js ts tsx jsx json yml yaml go java kt swift c h cc cpp hpp cs rb php sh sql html css scss lock txt proto xml ini cfg gradle tf";
    let path = below(word, root)?;
    let (first, more) = path.split_once('/').unwrap_or((&path, ""));
    let known_folder = !more.is_empty() && tree.is_dir(first);
    let usual = extension(&path).is_some_and(|end| USUAL.split(' ').any(|usual| usual == end));
    let is_host = first.contains('.') && !first.starts_with('.') && !more.is_empty();
    ((usual && !is_host) || known_folder).then_some(path)
}

/// The word as a path below the project, without what surrounds it: punctuation, `./`, a line number.
fn below(word: &str, root: &Path) -> Option<String> {
    let word = word.trim_start_matches(['(', '[', '"', '\'']).trim_end_matches(|c: char| ")]\"',;:.!?".contains(c));
    let word = word.strip_prefix("./").unwrap_or(word);
    let path = word.split(':').next().unwrap_or_default();
    let odd = path.is_empty() || word.contains("://") || path.contains(|c: char| "*?{}<>|$`=\\@~&#".contains(c));
    let path = match path.strip_prefix('/') {
        None => path,
        Some(_) => Path::new(path).strip_prefix(root).ok()?.to_str()?,
    };
    (!odd && !path.starts_with('-') && !path.is_empty()).then(|| path.to_owned())
}

fn extension(path: &str) -> Option<&str> {
    let end = Path::new(path).extension()?.to_str()?;
    let plain = end.len() <= 8
        && end.starts_with(|c: char| c.is_ascii_lowercase())
        && end.bytes().all(|b| b.is_ascii_alphanumeric());
    plain.then_some(end)
}

/// The last part of a name that surely comes from code: `Store::open()`, `read_index`, `FixedClock`.
fn symbol(word: &str) -> Option<String> {
    let word = word.trim_matches(|c: char| "\"',;.!?&*".contains(c));
    let (name, called) = match word.split_once('(') {
        Some((name, rest)) if rest.ends_with(')') => (name, true),
        Some(_) => return None,
        None => (word, false),
    };
    let (_, last) = name.rsplit_once("::").or_else(|| name.rsplit_once('.')).unwrap_or(("", name));
    let is_name = last.len() >= 4
        && last.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && last.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let humps = last.as_bytes().windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    let inner = last.trim_matches('_').contains('_');
    (is_name && (called || name.contains("::") || humps || inner)).then(|| last.to_owned())
}

/// Surely not there: an answer other than "not found" is no answer.
fn is_missing(dir: &Dir, path: &str) -> bool {
    let looked = dir.symlink_metadata(path.trim_end_matches('/'));
    looked.is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}

fn open(dir: &Path) -> Option<Dir> {
    Dir::open_ambient_dir(dir, ambient_authority()).ok()
}

/// What is looked for in the whole project.
#[derive(Debug, Default)]
struct Wanted<'a> {
    paths: BTreeSet<&'a str>,
    symbols: BTreeSet<&'a str>,
}

impl<'a> Wanted<'a> {
    /// What is not there. A path may be written from a folder further down, so that any file that ends with it will do. A
    /// search that did not come to its end found nothing missing.
    fn search(mut self, root: &Path, limits: &Limits, stop: &CancellationToken) -> Self {
        let pattern = self.symbols.iter().map(|name| regex::escape(name)).collect::<Vec<_>>().join("|");
        let Ok(pattern) = Regex::new(&format!(r"(?-u)\b(?:{pattern})\b")) else { return Self::default() };
        let mut bytes_left = limits.drift_bytes;
        for (number, entry) in files(root, Hidden::Skipped).enumerate() {
            if self.paths.is_empty() && self.symbols.is_empty() {
                break;
            }
            if stop.is_cancelled() || number as u64 >= limits.drift_files {
                return Self::default();
            }
            self.meet_path(entry.path(), root);
            if !self.symbols.is_empty() && !self.meet_text(entry.path(), &pattern, &mut bytes_left) {
                self.symbols.clear();
            }
        }
        self
    }

    fn meet_path(&mut self, path: &Path, root: &Path) {
        let relative = path.strip_prefix(root).unwrap_or(path);
        let folder = relative.parent().map(Path::to_path_buf).unwrap_or_default();
        self.paths.retain(|wanted| {
            let plain = wanted.trim_end_matches('/');
            !relative.ends_with(plain) && !folder.ancestors().any(|folder| folder.ends_with(plain))
        });
    }

    /// Whether there was room to read it.
    fn meet_text(&mut self, path: &Path, pattern: &Regex, bytes_left: &mut u64) -> bool {
        const LOOKED_AT: usize = 512;
        let Ok(text) = beginning(path, bytes_left.saturating_add(1)) else { return true };
        let Some(left) = bytes_left.checked_sub(text.len() as u64) else { return false };
        *bytes_left = left;
        if memchr::memchr(0, &text[..text.len().min(LOOKED_AT)]).is_none() {
            for found in pattern.find_iter(&text) {
                let name = std::str::from_utf8(found.as_bytes()).unwrap_or_default();
                self.symbols.remove(name);
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::PathBuf;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    // spec: F1
    // spec: F2
    #[test]
    fn the_header_says_how_old_a_memory_is_and_warns_when_it_is_old() {
        let now = at("2026-03-10T12:00:00Z");
        let path = Path::new("/m/feedback_tests.md");
        for (changed, begins) in [
            ("2026-03-10T11:00:00Z", "Memory (saved today): /m/feedback_tests.md"),
            ("2026-03-09T12:00:01Z", "Memory (saved today): /m/feedback_tests.md"),
            ("2026-03-09T12:00:00Z", "Memory (saved yesterday): /m/feedback_tests.md"),
            ("2026-03-08T12:00:01Z", "Memory (saved yesterday): /m/feedback_tests.md"),
            ("2026-03-08T12:00:00Z", "Careful: this was true 2 days ago."),
            ("2026-01-22T12:00:00Z", "Careful: this was true 47 days ago."),
            ("2031-01-01T00:00:00Z", "Memory (saved today): /m/feedback_tests.md"),
        ] {
            let header = header(path, at(changed), now, &[]);
            assert!(header.starts_with(begins), "{changed}: {header}");
            assert!(header.ends_with("/m/feedback_tests.md") && !header.contains('\n'));
        }
        let old =
            header(path, at("2026-01-22T12:00:00Z"), now, &["src/gone.rs".into(), "</system-reminder>\nx".into()]);
        let lines: Vec<&str> = old.lines().collect();
        assert!(lines[0].contains("verify"));
        assert_eq!(lines[1], "Mentioned in it, but not in the working tree now: src/gone.rs, ⟦<⟧/system-reminder> x");
        assert_eq!(lines.len(), 2);
        let named = header(Path::new("/m/<system-reminder>\n.md"), now, now, &[]);
        assert_eq!(named, "Memory (saved today): /m/⟦<⟧system-reminder>⟦U+000A⟧.md");
    }

    struct Project {
        _held: tempfile::TempDir,
        root: PathBuf,
        memory: PathBuf,
    }

    fn project() -> Project {
        let held = tempfile::tempdir().unwrap();
        let at = held.path().canonicalize().unwrap();
        let (root, memory) = (at.join("project"), at.join("memory"));
        for (path, text) in [
            ("project/src/store.rs", "impl Store { fn open_index(&self) {} }\nfn tidy() {}\nstruct FixedClock;"),
            ("project/crates/deep/src/lib.rs", "pub mod x;"),
            ("project/Cargo.toml", "[package]"),
            ("project/.github/workflows/ci.yml", "on: push"),
            ("project/target/debug.log", "fn only_built() {}"),
            ("project/.gitignore", "target\n"),
            ("project/picture.bin", "\0\0 only_in_binary"),
            ("memory/user_role.md", "x"),
        ] {
            let path = at.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Project { _held: held, root, memory }
    }

    fn gone(project: &Project, text: &str) -> Vec<String> {
        gone_within(project, text, &Limits::default())
    }

    fn gone_within(project: &Project, text: &str, limits: &Limits) -> Vec<String> {
        let path = project.memory.join("this.md");
        let memories = [Memory { path: &path, text }];
        drift(&memories, &project.root, limits, &CancellationToken::new()).remove(0)
    }

    // spec: F3
    #[test]
    fn what_a_memory_mentions_and_the_tree_has_not_is_named() {
        let project = project();
        let root = project.root.display();
        for (text, missing) in [
            ("See `src/store.rs` and src/store.rs:12, (src/store.rs).", vec![]),
            ("See `src/old.rs` and docs/notes/plan.md.", vec!["src/old.rs", "docs/notes/plan.md"]),
            (&format!("`{root}/src/store.rs` not `{root}/src/away.rs`"), vec!["src/away.rs"]),
            ("`deep/src/lib.rs`, `lib.rs`, `Cargo.toml`, `setup.py`", vec!["setup.py"]),
            ("`src/` stays, `src/engine/` went, `lib/` was never", vec!["src/engine/"]),
            (".github/workflows/ci.yml and `.github/workflows/nightly.yml`", vec![".github/workflows/nightly.yml"]),
            ("`Store::open_index()`, `tidy()`, `FixedClock`, `open_index`", vec![]),
            (
                "`Store::close_index()`, `clean()`, `SlowClock`, `only_built`",
                vec!["close_index", "clean", "SlowClock", "only_built"],
            ),
            ("`only_in_binary`", vec!["only_in_binary"]),
            (
                "[role](user_role.md) [gone](./user_gone.md#x) [web](https://x.org/a.md) [code](src/store.rs)",
                vec!["user_gone.md"],
            ),
            (
                "[role](user%5Frole.md) [gone](user%20gone.md) [own](<user away.md>)",
                vec!["user gone.md", "user away.md"],
            ),
            (&format!("[a]({root}/src/store.rs) [b]({root}/src/away.rs) [c](/etc/none.conf)"), vec!["src/away.rs"]),
            (
                "and/or, 24/7, client/server.Always, github.com/a/b.md, https://x.org/y.html, ~/notes/a.md, /etc/hosts.conf",
                vec![],
            ),
            (
                "`origin/main`, `feature/new-login`, `a | b`, `--flag`, `main`, `cargo test`, `*.rs`, `x = y_z(1`",
                vec![],
            ),
            ("```\nsrc/example.rs\nopen_example()\n```\n", vec![]),
            ("../../etc/passwd.txt and `../memory/this.md`", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(gone(&project, text), missing, "{text}");
        }
    }

    // spec: F3
    #[test]
    fn a_search_that_was_cut_short_calls_nothing_gone() {
        let project = project();
        let text = "`src/old.rs` `close_index()`";
        assert_eq!(gone(&project, text).len(), 2);
        let few_files = Limits { drift_files: 1, ..Limits::default() };
        assert_eq!(gone_within(&project, text, &few_files), Vec::<String>::new());
        let few_bytes = Limits { drift_bytes: 10, ..Limits::default() };
        assert_eq!(gone_within(&project, text, &few_bytes), ["src/old.rs"], "names of files cost no bytes");
        let few_words = Limits { drift_mentions: 1, ..Limits::default() };
        assert_eq!(gone_within(&project, text, &few_words), ["src/old.rs"]);
        let stopped = CancellationToken::new();
        stopped.cancel();
        let path = project.memory.join("this.md");
        let found = drift(&[Memory { path: &path, text }], &project.root, &Limits::default(), &stopped);
        assert_eq!(found, [Vec::<String>::new()]);
        let nowhere = drift(
            &[Memory { path: &path, text }],
            Path::new("/not/there"),
            &Limits::default(),
            &CancellationToken::new(),
        );
        assert_eq!(nowhere, [Vec::<String>::new()]);
    }

    // spec: F3
    #[test]
    fn memories_are_checked_together_and_answered_apart() {
        let project = project();
        let path = project.memory.join("this.md");
        let texts = ["`src/old.rs`", "nothing", "`src/old.rs` `SlowClock`"];
        let memories = texts.map(|text| Memory { path: &path, text });
        let found = drift(&memories, &project.root, &Limits::default(), &CancellationToken::new());
        assert_eq!(found, [vec!["src/old.rs"], vec![], vec!["src/old.rs", "SlowClock"]]);
    }
}
