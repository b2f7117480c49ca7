//! Where a command line goes: the directories it may be in, and the paths its words lead to.

use super::Permissions;
use crate::tools::shell::reading;
use crate::tools::shell::sight::SeenWord;
use crate::tools::{resolve, resolve_as_system};
use std::path::{Path, PathBuf};

/// Each `cd` may or may not have happened, so places double; nobody writes that many.
const MOST_PLACES: usize = 64;

/// Every directory a line might be in.
#[derive(Debug, Clone)]
pub(super) struct Places(Vec<PathBuf>);

impl Places {
    pub(super) fn at(dir: &Path) -> Self {
        Self(vec![dir.to_owned()])
    }

    /// Where a path may lead from here. A shell takes `..` out before it changes directory, and the system follows links
    /// first when it opens a file.
    fn targets(&self, path: &str) -> impl Iterator<Item = PathBuf> {
        self.0.iter().flat_map(move |dir| [resolve(dir, path), resolve_as_system(dir, path)])
    }

    /// Whether a path may lead to such a place.
    pub(super) fn leads(&self, path: &str, caught: impl Fn(&Path) -> bool) -> bool {
        self.targets(path).any(|real| caught(&real))
    }

    /// Follow a `cd`; says no when where it leads is not written there (`cd`, `cd -`).
    pub(super) fn change(&mut self, words: &[SeenWord]) -> bool {
        let to = words.iter().skip(1).last().cloned().flatten();
        let Some(to) = to.filter(|word| !word.starts_with('-') && !word.is_empty()) else { return false };
        let after: Vec<PathBuf> = self.targets(&to).collect();
        self.0.extend(after);
        self.0.sort();
        self.0.dedup();
        self.0.len() <= MOST_PLACES
    }

    /// The folders among these words; where there are none, those the line may be in.
    pub(super) fn folders(&self, words: &[String]) -> Vec<PathBuf> {
        let named = words.iter().flat_map(|word| self.targets(word)).filter(|path| path.is_dir());
        let named: Vec<PathBuf> = named.collect();
        if named.is_empty() { self.0.clone() } else { named }
    }
}

impl Permissions {
    /// Whether a read-only command line stays here: every word that could be a path leads to a place that may be read,
    /// from every directory the line might be in by then.
    pub(super) fn reads_here(&self, command: &str) -> bool {
        reading::read_only_commands(command).is_some_and(|commands| self.stays_here(&commands, |_| false))
    }

    /// The same for commands, of which some may go wherever they like.
    pub(super) fn stays_here(&self, commands: &[Vec<String>], is_free: impl Fn(&[String]) -> bool) -> bool {
        let mut places = Places::at(&self.dir);
        commands.iter().all(|words| {
            let Some((name, rest)) = words.split_first() else { return false };
            let stays = name == "echo"
                || is_free(words)
                || rest.iter().flat_map(|word| path_like(word)).all(|path| self.is_free(name, path, &places));
            let seen: Vec<SeenWord> = words.iter().cloned().map(Some).collect();
            stays && (name != "cd" || places.change(&seen))
        })
    }

    /// Two directories are compared by following the links in them.
    fn is_free(&self, command: &str, path: &str, places: &Places) -> bool {
        places.targets(path).all(|real| self.is_here(&real) && !(command == "diff" && real.is_dir()))
    }
}

/// What of a word could be a path: the word itself, because behind `--` a file may be called like a flag; what follows an
/// equals sign; and what may be attached to a one-letter flag.
pub(super) fn path_like(word: &str) -> impl Iterator<Item = &str> {
    let cluster = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    let attached = cluster.and_then(|rest| rest.char_indices().nth(1).map(|(at, _)| &rest[at..]));
    let further = cluster.and_then(|rest| rest.find(['/', '.', '~']).map(|at| &rest[at..]));
    let value = word.split_once('=').map(|(_, value)| value);
    [Some(word), value, attached, further].into_iter().flatten().filter(|path| !path.is_empty())
}

/// The same for programs of which nothing is known: `HEAD:file`, `@file`, `file:/there` as well.
pub(super) fn path_like_to_anybody(word: &str) -> impl Iterator<Item = &str> {
    let parts = word.split([':', '@', ',', '=']).filter(|part| !part.is_empty());
    path_like(word).chain(parts)
}
