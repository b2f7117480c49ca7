//! From a person's words to a memory: which type, which title, which days. Rules of thumb, each of which says why.

use crate::failure::Failure;
use jiff::civil::Date;
use scrubjay::dates;
use scrubjay::limits::Limits;
use scrubjay::memory::draft::{description, has, kind_of, spaced, title};
use scrubjay::memory::{
    Cause, Change, DuplicateMatch, Edit, FileDiff, Kind, Memory, Scope, Team, Topic, credential, name, scope_of,
};
use scrubjay::secrets;
use scrubjay::tools::shown_path;
use std::io::{ErrorKind, Read as _};
use std::path::Path;

use super::receipt::Told;
use crate::paper::size;

/// What a person asked to be remembered.
#[derive(Debug, Default)]
pub(crate) struct Asked<'a> {
    pub(crate) text: &'a str,
    pub(crate) kind: Option<Kind>,
    pub(crate) name: Option<&'a str>,
    pub(crate) description: Option<&'a str>,
    /// Whose it is to be.
    pub(crate) scope: Option<Scope>,
}

/// A memory that is not saved yet.
#[derive(Debug)]
pub(crate) struct Draft {
    topic: Topic,
    text: String,
    /// Whether the person chose the title.
    named: bool,
    /// Whose the person wants it to be.
    scope: Option<Scope>,
    /// What is odd about it.
    notes: Vec<String>,
}

/// The text of a file that the user wants remembered.
pub(crate) fn read_file(file: &Path, limits: &Limits) -> Result<String, Failure> {
    let name = shown_path(file);
    let unread = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => Failure::nothing_found(format!("there is no file {name}")),
        _ => Failure::failed(format!("{name} cannot be read: {error}")),
    };
    let found = std::fs::metadata(file).map_err(unread)?;
    if found.is_dir() {
        let fix = format!("`scrubjay import {name}` brings in a folder");
        return Err(Failure::usage(format!("{name} is a folder, not a file")).fix(fix));
    }
    if !found.is_file() {
        return Err(Failure::usage(format!("{name} is not a plain file")));
    }
    let most = limits.memory_file_bytes;
    let mut bytes = Vec::new();
    std::fs::File::open(file).and_then(|file| file.take(most + 1).read_to_end(&mut bytes)).map_err(unread)?;
    if bytes.len() as u64 > most {
        return Err(Failure::usage(format!("{name} is larger than {}, the most a memory may have", size(most)))
            .fix("save the part that matters, or remember where the file is"));
    }
    let text = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
    let text = text.ok_or_else(|| Failure::usage(format!("{name} is not a text file")))?;
    match text.trim().is_empty() {
        true => Err(Failure::usage(format!("{name} is empty"))),
        false => Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text)),
    }
}

/// What is better not remembered, the words that betray it, and what of it is worth keeping.
const HINTS: &[(&[&str], &str)] = &[
    (
        &["todo", "wip", "in progress", "working on", "next step", "left off"],
        "this looks like the state of today's work, which is wrong tomorrow; worth keeping is what was decided, and why",
    ),
    (
        &["fixed by", "the fix was", "the fix is", "workaround"],
        "this looks like a fix recipe, which the code and its history hold better; worth keeping is the rule that avoids the fault",
    ),
    (
        &["is defined in", "is implemented in", "commit", "the function", "```"],
        "the code and its history already say such things, and stay true; worth keeping is why it is so",
    ),
    (
        &["is stupid", "is lazy", "is incompetent", "is an idiot", "is annoying"],
        "this judges a person; worth keeping is what helps to work with them",
    ),
];

impl Draft {
    /// What a memory of these words would be, on the day they are said.
    pub(crate) fn of(asked: &Asked<'_>, today: Date, limits: &Limits) -> Result<Self, Failure> {
        let read = Topic::read(asked.text, limits);
        let body = read.body.trim();
        if body.is_empty() {
            return Err(Failure::usage("there is nothing to remember").fix("scrubjay remember \"what to remember\""));
        }
        let mut notes = Vec::new();
        let kind = match (asked.kind, read.kind) {
            (Some(kind), _) => kind,
            (None, Kind::Untyped) => {
                let (kind, why) = kind_of(body);
                notes.push(format!("kept as type {}: {why}; --type says otherwise", kind.as_str()));
                kind
            }
            (None, kind) => kind,
        };
        let chosen = asked.name.map(str::to_owned).or(Some(read.name).filter(|name| !name.is_empty()));
        let described = asked.description.map(str::to_owned).or(Some(read.description).filter(|text| !text.is_empty()));
        let named = chosen.is_some();
        let (body, description) = (format!("{body}\n"), described.unwrap_or_else(|| description(body)));
        // A project's days must still be right when they are read; a rule such as "never on a Friday" must stay a rule.
        let dated = |text: &str| if kind == Kind::Project { dates::absolute(text, today) } else { text.to_owned() };
        let name = chosen.unwrap_or_else(|| title(&dated(&body)));
        let shown = |text: &str| secrets::left_out(text);
        let topic = Topic { name: shown(&name), description: shown(&dated(&description)), kind, body: dated(&body) };
        if topic.name.replace('…', "").trim().is_empty() {
            return Err(
                Failure::usage("the title would be nothing but a credential").fix("--name says what it is about")
            );
        }
        if topic.body != body {
            notes.push(format!("days are written out, counted from {today}, so that they stay right"));
        }
        notes.extend(hints(
            &[asked.text, asked.name.unwrap_or_default(), asked.description.unwrap_or_default()].join("\n"),
        ));
        let text = match asked.text {
            whole if Topic::read(whole, limits) == topic => whole.to_owned(),
            headed if headed.starts_with("---") => topic.text_over(headed, limits),
            _ => topic.text(),
        };
        Ok(Self { topic, text, named, scope: asked.scope, notes })
    }

    /// Whose it becomes, and what there is to say about it. Where nobody said so, no credential is offered to the team.
    fn home(&self, memory: &Memory) -> (Scope, Option<String>) {
        match (self.scope, memory.place().team) {
            (Some(scope), _) => (scope, None),
            (None, Team::Off) => (Scope::Private, None),
            (None, Team::On) if credential(&self.text, "").is_some() => {
                (Scope::Private, Some("kept private: what holds a credential is not shared".to_owned()))
            }
            (None, Team::On) => match scope_of(self.topic.kind, &self.topic.body) {
                (Scope::Private, why) => (Scope::Private, Some(format!("kept private: {why}; --team says otherwise"))),
                (Scope::Team, why) => {
                    (Scope::Team, Some(format!("shared with the team: {why}; --private says otherwise")))
                }
            },
        }
    }

    /// What the person should know about it.
    pub(crate) fn notes(&self, memory: &Memory) -> Vec<String> {
        self.home(memory).1.into_iter().chain(self.notes.iter().cloned()).collect()
    }

    /// The edit that saves it: under its own name, or under the next one that is free. What is there already is not
    /// written twice.
    fn edit(&self, memory: &Memory) -> Result<Edit, Failure> {
        let (scope, _) = self.home(memory);
        let file = self.topic.file_name();
        for number in 1_u32.. {
            let path = scope.path(&numbered(&file, number));
            match memory.text(&path)? {
                None => return Ok(Edit::create(path, self.text.as_str())),
                Some((entry, text)) if text == self.text => return Ok(Edit::update(&entry, text)),
                Some(_) if self.named => {
                    let stem = super::typed(&path);
                    return Err(Failure::usage(format!(
                        "there is a memory `{path}` already, and it says something else"
                    ))
                    .fix(format!("`scrubjay memory edit {stem}` changes it; another --name keeps both")));
                }
                Some(_) => {}
            }
        }
        Err(Failure::failed("no name is left for this memory"))
    }

    /// What saving it would change.
    pub(crate) fn rehearsed(&self, memory: &Memory) -> Result<FileDiff, Failure> {
        let edit = self.edit(memory)?;
        let before = memory.text(&edit.path)?.map(|(_, text)| text);
        Ok(FileDiff { path: edit.path, before, after: Some(self.text.clone()) })
    }

    /// Save it.
    pub(crate) fn save(self, memory: &mut Memory) -> Result<Told, Failure> {
        let (edit, mut notes) = (self.edit(memory)?, self.notes(memory));
        notes.extend(memory.duplicates(&self.topic)?.iter().map(duplicate));
        let stem = super::typed(&edit.path);
        let receipt = memory.commit(Change { cause: Cause::Person, edits: vec![edit] })?;
        let mut told = Told::of(receipt, memory);
        if told.receipt().changed() {
            told = told.with_notes(notes);
            let missing: Vec<String> = self.topic.missing_parts().iter().map(|part| format!("**{part}:**")).collect();
            if !missing.is_empty() {
                let parts = missing.join(" and ");
                told = told.with_note(format!("with {parts} it can be judged later: `scrubjay memory edit {stem}`"));
            }
        }
        Ok(told)
    }
}

/// What a person should know of a memory that is there beside the new one.
fn duplicate(found: &DuplicateMatch) -> String {
    match found {
        DuplicateMatch::Same(path) => {
            let old = super::typed(path);
            format!(
                "`{path}` says the same already: `scrubjay undo` takes the new one back, `scrubjay forget {old}` the old one"
            )
        }
        DuplicateMatch::Contrary(path) => {
            format!("`{path}` says otherwise: if that no longer holds, `scrubjay forget {}`", super::typed(path))
        }
    }
}

/// `file.md`, `file_2.md`, `file_3.md` and so on.
pub(crate) fn numbered(path: &str, number: u32) -> String {
    let (folder, file) = path.split_at(path.rfind('/').map_or(0, |at| at + 1));
    match number {
        1 => path.to_owned(),
        number => format!("{folder}{}.md", name::slug_of(&suffixed(super::stem(file), number))),
    }
}

/// The number survives the limit on the length of a name.
fn suffixed(stem: &str, number: u32) -> String {
    const LONGEST: usize = 56;
    format!("{}_{number}", &stem[..stem.floor_char_boundary(LONGEST)])
}

/// What a person should know before this is kept for long.
fn hints(text: &str) -> Vec<String> {
    let spaced = spaced(text);
    let mut hints: Vec<String> = HINTS
        .iter()
        .filter(|(words, _)| words.iter().any(|word| has(&spaced, word)))
        .map(|(_, hint)| (*hint).to_owned())
        .collect();
    if let Some(secret) = secrets::scan(text).first() {
        hints.push(format!(
            "this looks like a credential ({}). Memories are plain files that models read, and their history keeps them: \
             take it back, change the credential, and remember where it is kept instead",
            secret.rule
        ));
    }
    hints
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;
    use proptest::prelude::*;

    fn draft(text: &str) -> Draft {
        let asked = Asked { text, ..Asked::default() };
        Draft::of(&asked, date(2026, 11, 16), &Limits::default()).unwrap()
    }

    #[test]
    fn a_type_is_chosen_for_a_reason_that_is_told() {
        for (text, kind, word) in [
            ("Never mock the database.", Kind::Feedback, "`never`"),
            ("Please use tabs.", Kind::Feedback, "`please`"),
            ("I'm a violinist who writes Rust.", Kind::User, "`i'm`"),
            ("I prefer short answers", Kind::User, "`i prefer`"),
            ("Alarms are listed on https://status.example/board", Kind::Reference, "`https://`"),
            ("The freeze begins on 2026-11-20.", Kind::Project, "nothing"),
            ("Nevertheless the shipment left.", Kind::Project, "nothing"),
        ] {
            let draft = draft(text);
            assert_eq!(draft.topic.kind, kind, "{text}");
            assert!(draft.notes[0].contains(word) && draft.notes[0].contains("--type"), "{:?}", draft.notes);
        }
    }

    // spec: D6
    #[test]
    fn title_and_description_come_from_the_first_line() {
        let draft = draft("# Never mock the database; it hid a bug once. Really, a bad one\n\nMore.");
        assert_eq!(draft.topic.name, "Never mock the database");
        assert_eq!(draft.topic.file_name(), "feedback_never_mock_the_database.md");
        assert!(draft.topic.description.starts_with("Never mock the database; it hid"));
        assert!(draft.topic.body.ends_with("More.\n"));
    }

    // spec: D7
    #[test]
    fn days_of_a_project_are_written_out_and_rules_keep_theirs() {
        let project = draft("The freeze starts Thursday.");
        assert!(project.topic.body.contains("2026-11-19"), "{:?}", project.topic);
        assert!(
            project.topic.description.contains("2026-11-19") && project.notes.iter().any(|note| note.contains("days"))
        );
        assert_eq!(project.topic.name, "The freeze starts 2026-11-19 (Thursday)");
        assert_eq!(draft("Never deploy on Friday.").topic.body, "Never deploy on Friday.\n");
    }

    // spec: D8
    #[test]
    fn what_is_better_not_kept_is_named_with_what_is() {
        for text in [
            "WIP: the parser",
            "The fix was to restart it",
            "`f` is defined in src/x.rs",
            "Bob is lazy",
            "```\ncode\n```",
        ] {
            assert!(draft(text).notes.iter().any(|note| note.contains("worth keeping is")), "{text}");
        }
        assert!(!draft("The release is on 2026-12-01.").notes.iter().any(|note| note.contains("worth keeping")));
    }

    #[test]
    fn a_credential_is_named_and_stays_out_of_the_title() {
        let draft = draft(&format!(
            "Deploys use {} for now, see src/deploy.rs",
            ["ghp", "16C7e42F292c6912E7710c838347Ae178B4a"].join("_")
        ));
        assert!(draft.notes.iter().any(|note| note.contains("credential")), "{:?}", draft.notes);
        assert!(!format!("{}{}", draft.topic.name, draft.topic.description).contains("ghp_"), "{:?}", draft.topic);
        assert!(draft.topic.body.contains("ghp_"), "the person decides");
    }

    #[test]
    fn a_header_that_is_there_is_kept() {
        let text = "---\nname: Tests\ndescription: how to test\ntype: feedback\nmood: grim\n---\nAlways run them.\n";
        let draft = draft(text);
        assert_eq!((draft.text.as_str(), draft.notes.len()), (text, 0));
    }

    proptest! {
        #[test]
        fn any_words_become_a_memory_with_a_name_that_may_be_saved(text in "\\PC{0,80}(\n\\PC{0,20}){0,2}", number in 1_u32..200) {
            let asked = Asked { text: &text, ..Asked::default() };
            if let Ok(draft) = Draft::of(&asked, date(2026, 11, 16), &Limits::default()) {
                prop_assert!(name::is_slug(&numbered(&draft.topic.file_name(), number)), "{}", draft.topic.file_name());
                prop_assert!(draft.topic.name.chars().count() <= 48 || text.starts_with("---"));
            }
        }
    }
}
