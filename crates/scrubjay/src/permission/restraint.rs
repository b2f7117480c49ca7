//! Whether a rule that restrains means a call. One part of the call is enough, and what cannot be told is asked about.

use super::lines::{Places, path_like_to_anybody};
use super::rule::{Rule, is_host, like};
use super::{Meant, Permissions, always};
use crate::tool::Effect;
use crate::tools::shell::reading;
use crate::tools::shell::sight::{self, SeenWord, Sight, program};
use std::fs::ReadDir;
use std::path::{Path, PathBuf};

/// Files that are looked at before a command that reads a whole folder is asked about instead.
const MOST_FILES: usize = 20_000;

/// Programs that open no file they are not told to open: their words say everything.
const ONLY_NAMED: &[&str] = &["cd", "chmod", "kill", "mkdir", "rm", "rmdir", "sleep", "touch", ":"];

/// Programs that print their words.
const PRINTS: &[&str] = &["echo", "printf", "true", "false", ":"];

impl Permissions {
    /// Whether one of these rules means a call.
    pub(super) fn meant(&self, rules: &[Rule], tool: &str, effect: &Effect) -> Meant {
        match effect {
            Effect::Runs { command, .. } => self.line_meant(rules, tool, command),
            _ => {
                let means = |rule: &Rule| self.concerns(rule, tool, effect) && self.means(rule, effect);
                if rules.iter().any(means) { Meant::Surely } else { Meant::No }
            }
        }
    }

    /// A rule about a path is about every tool that gets at it.
    fn concerns(&self, rule: &Rule, tool: &str, effect: &Effect) -> bool {
        let about_path = rule.pattern.is_some();
        rule.tool == tool
            || match effect {
                Effect::Reads(_) => about_path && rule.tool == "Read",
                // Who edits a file has read it.
                Effect::Writes(_) => about_path && (is_writing(&rule.tool) || (rule.tool == "Read" && tool == "Edit")),
                _ => false,
            }
    }

    fn means(&self, rule: &Rule, effect: &Effect) -> bool {
        let Some(pattern) = &rule.pattern else { return true };
        match effect {
            Effect::Reads(paths) => paths.iter().any(|path| rule.catches(&self.dir, path)),
            Effect::Writes(path) => rule.catches(&self.dir, path),
            Effect::Reaches(host) => is_host(pattern, host),
            _ => false,
        }
    }

    fn line_meant(&self, rules: &[Rule], tool: &str, line: &str) -> Meant {
        let mut commands = rules.iter().filter(|rule| rule.tool == tool).peekable();
        let of_paths = |writing: bool| -> Vec<&Rule> {
            let is_meant = |rule: &&Rule| {
                rule.pattern.is_some()
                    && rule.tool != tool
                    && if writing { is_writing(&rule.tool) } else { rule.tool == "Read" }
            };
            rules.iter().filter(is_meant).collect()
        };
        let (reads, writes) = (of_paths(false), of_paths(true));
        if commands.peek().is_none() && reads.is_empty() && writes.is_empty() {
            return Meant::No;
        }
        let sight = sight::look(line);
        let by_command = commands.map(|rule| self.command_meant(rule, line, &sight));
        let by_path = [(reads, false), (writes, true)]
            .into_iter()
            .filter(|(rules, _)| !rules.is_empty())
            .map(|(rules, writing)| self.paths_meant(&rules, writing, &sight));
        by_command.chain(by_path).max().unwrap_or(Meant::No)
    }

    fn command_meant(&self, rule: &Rule, line: &str, sight: &Sight) -> Meant {
        let Some(pattern) = &rule.pattern else { return Meant::Surely };
        let denied = Denied::read(pattern);
        let found = sight.commands.iter().map(|words| denied.meets(words)).max().unwrap_or(Meant::No);
        match found {
            Meant::No if !sight.certain && !self.names_all(line) => Meant::Maybe,
            found => found,
        }
    }

    /// Whether a line leads to a path that these rules mean.
    fn paths_meant(&self, rules: &[&Rule], writing: bool, sight: &Sight) -> Meant {
        let caught = |path: &Path| rules.iter().any(|rule| rule.catches(&self.dir, path));
        let mut places = Places::at(&self.dir);
        let mut worst = if sight.certain { Meant::No } else { Meant::Maybe };
        for target in &sight.redirects {
            worst = worst.max(target.as_ref().map_or(Meant::Maybe, |target| surely_if(places.leads(target, caught))));
        }
        for words in &sight.commands {
            worst = worst.max(self.words_meant(words, &places, writing, &caught));
            if words.first().is_some_and(|name| name.as_deref() == Some("cd")) && !places.change(words) {
                worst = worst.max(Meant::Maybe);
            }
        }
        worst
    }

    fn words_meant(&self, words: &[SeenWord], places: &Places, writing: bool, caught: &dyn Fn(&Path) -> bool) -> Meant {
        let Some(Some(name)) = words.first() else { return Meant::Maybe };
        let name = program(name);
        if PRINTS.contains(&name.as_str()) {
            return if words.contains(&None) { Meant::Maybe } else { Meant::No };
        }
        let known: Option<Vec<String>> = words.iter().cloned().collect();
        let reads = known.as_deref().is_some_and(reading::only_reads);
        if reads && writing {
            return Meant::No;
        }
        let told: Vec<&String> = words.iter().skip(1).flatten().collect();
        if told.iter().any(|word| path_like_to_anybody(word).any(|path| places.leads(path, caught))) {
            return Meant::Surely;
        }
        let mentions =
            |word: &&&String| is_another_place(word) || pieces(word).any(|piece| places.leads(piece, caught));
        let settled = match known {
            Some(words) if reads => !self.reads_folder_with(&words, places, caught),
            // The user has named this very command, or a build tool, which is known to run the project's own code.
            Some(words) => ONLY_NAMED.contains(&name.as_str()) || self.is_named_by_rule(&words, always::is_build),
            None => false,
        };
        if settled && told.iter().find(mentions).is_none() { Meant::No } else { Meant::Maybe }
    }

    /// Whether a command that reads whole folders would come across such a file.
    fn reads_folder_with(&self, words: &[String], places: &Places, caught: &dyn Fn(&Path) -> bool) -> bool {
        let is_recursive = match words[0].as_str() {
            "rg" => true,
            "grep" | "egrep" | "fgrep" => words.iter().any(|word| {
                word == "--recursive" || (word.starts_with('-') && !word.starts_with("--") && word.contains('r'))
            }),
            _ => false,
        };
        is_recursive && places.folders(&words[1..]).iter().any(|folder| holds(folder, caught))
    }

    /// Whether rules that allow name each command of the line.
    fn names_all(&self, line: &str) -> bool {
        let is_named = |words: &Vec<String>| reading::only_reads(words) || self.is_named_by_rule(words, |_| true);
        reading::plain_commands(line).is_some_and(|commands| commands.iter().all(is_named))
    }

    /// Whether a rule that allows names this command: without a wildcard, or in a way that is good enough.
    fn is_named_by_rule(&self, words: &[String], good: impl Fn(&[String]) -> bool) -> bool {
        let first = words.first().map(String::as_str).unwrap_or_default();
        let patterns = self.allow.iter().filter(|rule| rule.tool == "Bash").filter_map(|rule| rule.pattern.as_deref());
        let names = |pattern: &str| {
            let is_literal = !pattern.contains('*');
            let is_same = pattern.split([' ', '*']).next() == Some(first);
            (is_literal || (is_same && good(words) && !sight::starts_others(&program(first))))
                && self.command_fits(pattern, words)
        };
        patterns.into_iter().any(names)
    }

    /// Files and folders of the project and beside it that no tool may read, for whoever holds a command back from them by
    /// other means. Where there are too many to look at, the folders that were not looked at are among them. Blocks.
    pub fn denied_files(&self) -> Vec<PathBuf> {
        let rules: Vec<&Rule> = self.deny.iter().filter(|rule| rule.tool == "Read" && rule.pattern.is_some()).collect();
        if rules.is_empty() {
            return Vec::new();
        }
        let denied = |path: &Path| rules.iter().any(|rule| rule.catches(&self.dir, path));
        // What is named outright is found wherever it lies, and so is what lies below a folder that is.
        let absolute = || rules.iter().filter_map(|rule| rule.pattern.as_deref()).filter(|path| path.starts_with('/'));
        let mut found: Vec<PathBuf> = absolute().filter_map(|path| Path::new(path).canonicalize().ok()).collect();
        let places = self.extra.iter().chain(&self.memory).chain([&self.dir]).cloned();
        let roots = absolute().filter(|path| path.contains(WILD)).map(folder_named).chain(places);
        found.extend(caught_below(roots.collect(), &denied));
        found
    }
}

fn is_writing(tool: &str) -> bool {
    matches!(tool, "Write" | "Edit")
}

fn surely_if(found: bool) -> Meant {
    if found { Meant::Surely } else { Meant::No }
}

/// Paths that lead somewhere else for each process.
fn is_another_place(word: &str) -> bool {
    word.contains("dev/fd") || word.contains("dev/std") || word.contains("proc/")
}

/// Parts of a word that might be a path to whoever gets the word: in code, in a list, in an address.
fn pieces(word: &str) -> impl Iterator<Item = &str> {
    let is_path = |letter: char| letter.is_alphanumeric() || "._-/+~".contains(letter);
    word.split(move |letter| !is_path(letter)).filter(|piece| !piece.is_empty())
}

/// Letters that make a path a pattern.
const WILD: [char; 4] = ['*', '?', '[', '{'];

/// The folder that a pattern names outright.
fn folder_named(pattern: &str) -> PathBuf {
    pattern.split('/').take_while(|name| !name.contains(WILD)).collect::<Vec<_>>().join("/").into()
}

/// Whether a folder holds such a file; also where it is too large to be sure.
fn holds(folder: &Path, caught: &dyn Fn(&Path) -> bool) -> bool {
    caught_below(vec![folder.to_owned()], caught).next().is_some()
}

/// Files and folders below these that are caught; of what is too large to be looked at, the folders that were not.
fn caught_below<'a>(roots: Vec<PathBuf>, caught: &'a dyn Fn(&Path) -> bool) -> impl Iterator<Item = PathBuf> + use<'a> {
    let mut waiting = roots;
    let mut looking: Option<(PathBuf, ReadDir)> = None;
    let mut seen = 0;
    std::iter::from_fn(move || {
        loop {
            let Some((folder, entries)) = &mut looking else {
                let folder = waiting.pop()?;
                if seen > MOST_FILES {
                    return Some(folder);
                }
                looking = std::fs::read_dir(&folder).ok().map(|entries| (folder, entries));
                continue;
            };
            if seen > MOST_FILES {
                let folder = folder.clone();
                looking = None;
                return Some(folder);
            }
            seen += 1;
            match entries.next() {
                None => looking = None,
                Some(Err(_)) => {}
                Some(Ok(entry)) if caught(&entry.path()) => return Some(entry.path()),
                Some(Ok(entry)) if entry.file_type().is_ok_and(|kind| kind.is_dir()) => waiting.push(entry.path()),
                Some(Ok(_)) => {}
            }
        }
    })
}

/// A pattern for commands that restrains.
struct Denied {
    /// The pattern, and the same without the folder of its program.
    patterns: Vec<String>,
    program: String,
    /// What else must be there: words, and letters of flags.
    words: Vec<String>,
}

impl Denied {
    fn read(pattern: &str) -> Self {
        let (first, rest) = pattern.split_once(' ').unwrap_or((pattern, ""));
        let bare = format!("{}{}{rest}", program(first), if rest.is_empty() { "" } else { " " });
        let words = rest.split(' ').filter(|word| !word.is_empty() && !word.contains('*')).map(str::to_owned).collect();
        Self { patterns: vec![pattern.to_owned(), bare], program: program(first), words }
    }

    fn meets(&self, words: &[SeenWord]) -> Meant {
        let Some(Some(first)) = words.first() else { return Meant::No };
        let told: Vec<&str> = words.iter().map(|word| word.as_deref().unwrap_or("\u{fffd}")).collect();
        let as_written = told.join(" ");
        let name = program(first);
        let bare = std::iter::once(name.as_str()).chain(told.iter().skip(1).copied()).collect::<Vec<_>>().join(" ");
        let matches = |text: &String| {
            self.patterns
                .iter()
                .any(|pattern| like(pattern, text) || pattern.strip_suffix(" *").is_some_and(|stem| stem == text))
        };
        if matches(&as_written) || matches(&bare) {
            return Meant::Surely;
        }
        let is_same = like(&self.program, &name);
        if is_same && !self.words.is_empty() && (words.contains(&None) || self.is_scattered(&told)) {
            return Meant::Maybe;
        }
        let only_reads =
            || words.iter().cloned().collect::<Option<Vec<_>>>().is_some_and(|words| reading::only_reads(&words));
        let mentions = |word: &&str| pieces(word).any(|piece| like(&self.program, &program(piece)));
        // Some other program that is told about this one may start it.
        if !is_same && !self.program.starts_with('*') && told.iter().skip(1).any(mentions) && !only_reads() {
            return Meant::Maybe;
        }
        // A script that lies somewhere can do anything.
        if first.contains('/') && !is_same && !is_system(first) { Meant::Maybe } else { Meant::No }
    }

    /// Whether everything the pattern asks for is there in another arrangement: flags between or apart.
    fn is_scattered(&self, told: &[&str]) -> bool {
        let mut left = told.iter().skip(1);
        let is_cluster = |word: &str| word.starts_with('-') && !word.starts_with("--");
        let letters: String = told.iter().filter(|word| is_cluster(word)).copied().collect();
        self.words.iter().all(|wanted| {
            if is_cluster(wanted) {
                wanted.chars().all(|letter| letters.contains(letter))
            } else {
                left.any(|word| word == wanted)
            }
        })
    }
}

/// Programs of the system are what their names say.
fn is_system(path: &str) -> bool {
    ["/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/usr/local/bin/"].iter().any(|folder| path.starts_with(folder))
}
