//! The long-term memory of this project, as the commands and the chat use it: who is meant by a name, and what a person is
//! told about a change.

pub(crate) mod draft;
pub(crate) mod dreams;
pub(crate) mod inbox;
pub(crate) mod news;
pub(crate) mod receipt;

use crate::failure::{Exit, Failure};
use crate::nearest::nearest;
use crate::paper::Paper;
use crate::remembered;
use crate::seat::WallClock;
use crate::workplace::Workplace;
use scrubjay::memory::{Cause, Change, ChangeId, Edit, Entry, Memory, MemoryError, Origins, Recorded, Repairs, name};
use scrubjay::tools::shown;
use std::collections::HashSet;
use std::sync::Arc;

use receipt::Told;

/// How a memory begins.
pub(crate) const FIRST: &str =
    "`scrubjay remember \"Never mock the database\"` writes one down, `scrubjay import DIR` brings others";

/// `1 memory`, `2 memories`.
pub(crate) fn how_many(count: usize) -> String {
    if count == 1 { "1 memory".to_owned() } else { format!("{count} memories") }
}

/// Open the memory, and say what was found out of order.
pub(crate) fn open(workplace: &Workplace, paper: &Paper) -> Result<Memory, Failure> {
    let (memory, repairs) = open_quietly(workplace)?;
    if let Some(why) = workplace.settings.memory_off_because() {
        paper.talk(&format!("memory is off, so no session reads this: {why}; `scrubjay flags` shows where from"));
    }
    notices(&repairs).iter().for_each(|notice| paper.warn(notice));
    Ok(memory)
}

/// Open the memory.
pub(crate) fn open_quietly(workplace: &Workplace) -> Result<(Memory, Repairs), Failure> {
    Ok(Memory::open(&remembered::place(workplace)?, Arc::new(WallClock), &workplace.limits)?)
}

/// The same, where there is one: whoever only looks makes none.
pub(crate) fn peek(workplace: &Workplace) -> Result<Option<(Memory, Repairs)>, Failure> {
    let is_there = remembered::place(workplace)?.memory.symlink_metadata().is_ok();
    is_there.then(|| open_quietly(workplace)).transpose()
}

/// What a person should know about how the memory was found.
pub(crate) fn notices(repairs: &Repairs) -> Vec<String> {
    let mut notices = repairs.notices.clone();
    notices.extend(repairs.finished.map(|change| format!("change {change} had been interrupted and is finished now")));
    notices.extend(repairs.rescued.iter().map(|path| format!("a version that would have been lost is kept in {path}")));
    notices.extend(repairs.refused.iter().map(|why| format!("the memory can only be read: {why}")));
    notices
}

/// The memory a person means: its file, its file without `.md`, its title, or its file without the folders.
pub(crate) fn find(memory: &Memory, typed: &str) -> Result<Entry, Failure> {
    let entries = &memory.scan().entries;
    let fold = name::fold(typed.trim());
    let is_file = |entry: &&Entry| {
        let path = name::fold(&entry.path);
        path == fold || path.strip_suffix(".md") == Some(&fold)
    };
    if let Some(entry) = entries.iter().find(|entry| entry.path == typed).or_else(|| entries.iter().find(is_file)) {
        return Ok(entry.clone());
    }
    let titled: Vec<&Entry> = entries.iter().filter(|entry| name::fold(&entry.name) == fold).collect();
    let is_named = |entry: &&Entry| is_last(&entry.path, &fold);
    let meant = if titled.is_empty() { entries.iter().filter(is_named).collect() } else { titled };
    match meant.as_slice() {
        [one] => Ok((*one).clone()),
        [] => Err(not_loaded(memory, &fold).unwrap_or_else(|| {
            unknown(typed, entries.iter().flat_map(|entry| [stem(&entry.path), entry.name.as_str()]))
        })),
        several => {
            let files: Vec<&str> = several.iter().map(|entry| entry.path.as_str()).collect();
            Err(Failure::usage(format!("{} memories are called `{}`", several.len(), shown(typed)))
                .fix(format!("name the file: {}", files.join(", "))))
        }
    }
}

/// Whether a path leads through folders to a file of this name.
fn is_last(path: &str, fold: &str) -> bool {
    name::fold(path).rsplit_once('/').is_some_and(|(_, file)| file == fold || stem(file) == fold)
}

/// A memory that was removed and may come back: its path.
pub(crate) fn find_removed(memory: &Memory, typed: &str) -> Result<String, Failure> {
    let log = memory.log()?;
    let gone: Vec<&str> = log
        .iter()
        .rev()
        .flat_map(|change| change.edits.iter().filter(|edit| edit.after.is_none()).map(|edit| edit.path.as_str()))
        .filter(|path| memory.scan().get(path).is_none())
        .collect();
    let fold = name::fold(typed.trim());
    // Its title is not known any more, but a name was made of it.
    let titled = format!("_{}", name::slug_of(typed));
    let is_file = |path: &&&str| name::fold(path) == fold || name::fold(stem(path)) == fold || is_last(path, &fold);
    let meant = gone.iter().find(is_file).or_else(|| gone.iter().find(|path| stem(path).ends_with(&titled)));
    match meant {
        Some(path) => Ok((*path).to_owned()),
        None if find(memory, typed).is_ok() => Err(Failure::usage(format!("`{}` was not removed", shown(typed)))
            .fix("an earlier text of it comes back with `scrubjay memory log NAME` and `scrubjay memory undo CHANGE`")),
        None => Err(unknown(typed, gone.iter().map(|path| stem(path)))
            .fix("`scrubjay memory log` shows what was removed and when")),
    }
}

/// A file of that name that is there and is no memory.
fn not_loaded(memory: &Memory, fold: &str) -> Option<Failure> {
    let left_out = &memory.scan().left_out;
    let is_meant = |path: &str| path == fold || stem(path) == fold;
    let file = left_out.iter().find(|file| is_meant(&name::fold(&file.path)))?;
    let told = format!("`{}` is there, but it is not loaded, because {}", file.path, file.why);
    Some(Failure::nothing_found(told).fix("`scrubjay memory check` lists all such files"))
}

fn unknown<'a>(typed: &str, known: impl Iterator<Item = &'a str>) -> Failure {
    let file = if typed.ends_with(".md") { typed.to_owned() } else { format!("{typed}.md") };
    if let Err(why) = name::parts(&file) {
        return MemoryError::Name { path: typed.to_owned(), why }.into();
    }
    let known: Vec<&str> = known.collect();
    let mut near: Vec<&str> = nearest(stem(typed), known.iter().copied()).into_iter().collect();
    if near.is_empty() {
        near.extend(known.iter().filter(|name| holds_words(name, typed)).take(SUGGESTIONS));
    }
    let meant = if near.is_empty() { String::new() } else { format!("; did you mean `{}`?", near.join("`, `")) };
    Failure::nothing_found(format!("there is no memory `{typed}`{meant}"))
        .fix("`scrubjay memory ls` lists them, `scrubjay memory log` shows what was removed")
}

/// Whether a name holds every word of what was typed.
fn holds_words(name: &str, typed: &str) -> bool {
    let name = name::fold(name);
    let mut words = stem(typed).split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 1).peekable();
    words.peek().is_some() && words.all(|word| name.contains(&name::fold(word)))
}

/// How many names are suggested at most.
const SUGGESTIONS: usize = 3;

/// A file's name without `.md`, which is enough to name it.
pub(crate) fn stem(path: &str) -> &str {
    path.strip_suffix(".md").unwrap_or(path)
}

/// The same as one types it into a shell.
pub(crate) fn typed(path: &str) -> String {
    let means_itself = |c: char| !c.is_ascii() || c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    let plain = |c: char| means_itself(c) && !c.is_whitespace();
    let stem = stem(path);
    if stem.chars().all(plain) { stem.to_owned() } else { format!("'{}'", stem.replace('\'', r"'\''")) }
}

/// The change that `undo` without a number means: the last one that this program made and that was not taken back.
pub(crate) fn last_change(log: &[Recorded]) -> Option<ChangeId> {
    let mut taken_back = HashSet::new();
    for change in log {
        if let Cause::Undo { of } = change.cause {
            // Taking an undo back brings the change it was about back.
            let undone = log.iter().find(|other| other.id == of).map(|other| &other.cause);
            if let Some(Cause::Undo { of: first }) = undone {
                taken_back.remove(first);
            }
            taken_back.insert(of);
        }
    }
    let counts = |change: &&Recorded| {
        let ours = !matches!(change.cause, Cause::Undo { .. } | Cause::Outside | Cause::Index);
        // A dream that only proposed is recorded, and changed nothing.
        ours && !change.edits.is_empty() && !taken_back.contains(&change.id)
    };
    log.iter().rev().find(counts).map(|change| change.id)
}

/// Make a change that the person asked for.
pub(crate) fn make(memory: &mut Memory, edits: Vec<Edit>) -> Result<Told, Failure> {
    let receipt = memory.commit(Change { cause: Cause::Person, edits })?;
    Ok(Told::of(receipt, memory))
}

/// Put memories into the trash.
pub(crate) fn forget(memory: &mut Memory, names: &[String]) -> Result<Told, Failure> {
    let entries = names.iter().map(|name| find(memory, name)).collect::<Result<Vec<_>, _>>()?;
    let mut seen = HashSet::new();
    make(memory, entries.iter().filter(|entry| seen.insert(entry.path.clone())).map(Edit::remove).collect())
}

/// Every memory that rests on a source, and what there is to say about them.
pub(crate) fn resting_on(
    memory: &Memory,
    source: &str,
    workplace: &Workplace,
) -> Result<(Vec<Entry>, Vec<String>), Failure> {
    let origins = Origins::named(source).with_messages(&workplace.project(), &workplace.limits);
    let origins = origins.map_err(|error| Failure::failed(format!("the sessions cannot be searched: {error}")))?;
    let derived = memory.derived_from(&origins)?;
    if derived.is_empty() {
        return Err(Failure::nothing_found(format!("no memory rests on `{}`", shown(source)))
            .fix("`scrubjay memory show NAME --json` says what one rests on"));
    }
    let said = derived.iter().filter(|one| one.said_by_person).map(|one| stem(&one.path)).collect::<Vec<_>>();
    let mut notes = Vec::new();
    if !said.is_empty() {
        notes.push(format!(
            "of these you said something yourself; `scrubjay memory restore NAME` keeps one: {}",
            said.join(", ")
        ));
    }
    let entries = derived.iter().filter_map(|one| memory.scan().get(&one.path).cloned()).collect();
    Ok((entries, notes))
}

/// Put everything that rests on a source into the trash, as one change.
pub(crate) fn forget_source(memory: &mut Memory, source: &str, workplace: &Workplace) -> Result<Told, Failure> {
    let (entries, notes) = resting_on(memory, source, workplace)?;
    Ok(make(memory, entries.iter().map(Edit::remove).collect())?.with_notes(notes))
}

/// Take a change back; without a number, the last one.
pub(crate) fn undo(memory: &mut Memory, change: Option<u64>) -> Result<Told, Failure> {
    let change = chosen_change(memory, change)?;
    let told = Told::of(memory.undo(change)?, memory);
    let note = if told.receipt().changed() {
        format!("change {change} is taken back")
    } else {
        format!("nothing of change {change} is left to take back: it was taken back already, or changed since")
    };
    Ok(told.with_note(note))
}

/// The change with this number, or the last one that can be taken back.
pub(crate) fn chosen_change(memory: &Memory, change: Option<u64>) -> Result<ChangeId, Failure> {
    match change {
        Some(number) => Ok(ChangeId(number)),
        None => last_change(&memory.log()?).ok_or_else(|| {
            Failure::nothing_found("there is no change to take back").fix("`scrubjay memory log` lists every change")
        }),
    }
}

impl From<MemoryError> for Failure {
    fn from(error: MemoryError) -> Self {
        let exit = match &error {
            MemoryError::Name { .. } | MemoryError::Taken { .. } | MemoryError::TooLarge { .. } => Exit::Usage,
            MemoryError::Missing(_) | MemoryError::NoChange(_) | MemoryError::NoText(_) => Exit::NothingFound,
            MemoryError::Foreign(_)
            | MemoryError::Tainted { .. }
            | MemoryError::Credential { .. }
            | MemoryError::CredentialInName { .. }
            | MemoryError::Personal { .. } => Exit::Refused,
            MemoryError::Io { .. }
            | MemoryError::Interrupted { .. }
            | MemoryError::Busy(_)
            | MemoryError::NotPlain { .. } => Exit::Failed,
        };
        Self::new(exit, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;
    use scrubjay::memory::Trace;

    /// A log of changes to one file, each for one of the causes.
    fn log(causes: &[Cause]) -> Vec<Recorded> {
        let edit: Trace = serde_json::from_str(r#"{"path": "a.md"}"#).expect("a trace");
        let one = |(at, cause): (usize, &Cause)| Recorded {
            id: ChangeId(at as u64 + 1),
            at: Timestamp::UNIX_EPOCH,
            cause: cause.clone(),
            edits: vec![edit.clone()],
            notices: Vec::new(),
        };
        causes.iter().enumerate().map(one).collect()
    }

    // spec: D11
    #[test]
    fn undo_without_a_number_walks_back() {
        let undo = |of| Cause::Undo { of: ChangeId(of) };
        for (causes, last) in [
            (vec![], None),
            (vec![Cause::Person, Cause::Person], Some(2)),
            (vec![Cause::Person, Cause::Person, undo(2)], Some(1)),
            (vec![Cause::Person, Cause::Person, undo(2), undo(1)], None),
            (vec![Cause::Person, Cause::Person, undo(2), undo(3)], Some(2)),
            (vec![Cause::Person, Cause::Outside, Cause::Index], Some(1)),
            (vec![Cause::Person, Cause::Dream, undo(1)], Some(2)),
        ] {
            assert_eq!(last_change(&log(&causes)), last.map(ChangeId), "{causes:?}");
        }
    }

    #[test]
    fn a_change_that_changed_nothing_is_not_the_last() {
        let mut log = log(&[Cause::Person, Cause::Dream]);
        assert_eq!(last_change(&log), Some(ChangeId(2)));
        log[1].edits.clear();
        assert_eq!(last_change(&log), Some(ChangeId(1)));
    }
}
