//! Instruction files of this run: where they are looked for, and what the person said about those outside of the project.

use crate::failure::Failure;
use crate::paper::Paper;
use crate::workplace::Workplace;
use jiff::Timestamp;
use scrubjay::Instructed;
use scrubjay::instructions::{self, Answer, Approvals, Loaded, Places, Waiting};
use scrubjay::memory::prompt::Index;
use scrubjay::message::{Message, SessionId};
use scrubjay::tools::shown_path;
use scrubjay::transcript::Opening;
use std::path::PathBuf;
use std::sync::Arc;

/// The files of whoever runs this machine, lowest first.
const MANAGED: [&str; 3] = ["/etc/scrubjay/CLAUDE.md", "/etc/scrubjay/AGENTS.md", "/etc/claude-code/CLAUDE.md"];

/// What becomes of files outside of the project that its instruction files name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Includes {
    /// The person is asked, where there is one.
    Asked,
    /// The command line approves them.
    Approved,
}

/// Read the files as they are now.
pub(crate) fn load(workplace: &Workplace) -> Loaded {
    let (approvals, unread) = match Approvals::read(&approvals_file(workplace)) {
        Ok(approvals) => (approvals, None),
        Err(error) => {
            let file = shown_path(&approvals_file(workplace));
            (Approvals::default(), Some(format!("{file} cannot be read ({error}); nothing in it is approved")))
        }
    };
    let mut loaded = instructions::load(&places(workplace), &approvals, &workplace.limits);
    loaded.warnings.extend(unread);
    loaded
}

/// The message a new session begins with, where there is anything to say: instruction files, then memory indexes.
pub(crate) fn messages(
    workplace: &Workplace,
    (session, indexes): (&SessionId, &[Index]),
    nonce: &str,
) -> Vec<Arc<Message>> {
    let text = instructions::context(&load(workplace).files, indexes, nonce);
    text.map(|text| instructions::message(session, text, Timestamp::now())).into_iter().collect()
}

/// What the files say after a compaction; the same words are the same message.
pub(crate) fn again(workplace: &Workplace, of: (&SessionId, &[Index]), opening: &Opening) -> Instructed {
    let fresh = messages(workplace, of, &opening.nonce);
    let same = fresh.len() == opening.instructions.len()
        && fresh.iter().zip(&opening.instructions).all(|(new, old)| new.blocks == old.blocks);
    let instructions = if same { opening.instructions.clone() } else { fresh };
    Instructed { opening: Opening { instructions, ..opening.clone() }, rules: load(workplace).rules }
}

/// Ends the tags around quoted text; nothing that was written before can know it.
pub(crate) fn nonce() -> String {
    const RANDOM_DIGITS: usize = 12;
    let drawn = crate::identifier::fresh().simple().to_string();
    drawn[drawn.len() - RANDOM_DIGITS..].to_owned()
}

/// Remember what the person said about some files.
pub(crate) fn remember(workplace: &Workplace, answers: &[(PathBuf, Answer)]) -> Result<(), Failure> {
    let file = approvals_file(workplace);
    let mut approvals = Approvals::read(&file).unwrap_or_default();
    for (path, answer) in answers {
        approvals.remember(path, *answer);
    }
    let unkept = |error| Failure::failed(format!("what you said cannot be kept in {}: {error}", shown_path(&file)));
    approvals.write(&file).map_err(unkept)
}

/// Before a session where nobody can be asked: say what is left out, or approve it where the command line does.
pub(crate) fn without_a_person(workplace: &Workplace, includes: Includes, paper: &Paper) -> Result<(), Failure> {
    let loaded = approved(workplace, includes)?;
    loaded.warnings.iter().for_each(|warning| paper.warn(warning));
    loaded.waiting.iter().for_each(|waiting| paper.warn(&left_out(waiting)));
    Ok(())
}

/// The files, after the command line's approval where it gives one. A file that was approved may name others.
pub(crate) fn approved(workplace: &Workplace, includes: Includes) -> Result<Loaded, Failure> {
    loop {
        let loaded = load(workplace);
        if includes == Includes::Asked || loaded.waiting.is_empty() {
            return Ok(loaded);
        }
        let answers: Vec<_> = loaded.waiting.iter().map(|waiting| (waiting.path.clone(), Answer::Approved)).collect();
        remember(workplace, &answers)?;
    }
}

fn left_out(waiting: &Waiting) -> String {
    format!(
        "{} names {}, which lies outside of this project and is left out; `scrubjay chat` asks about it, \
         `--approve-includes` includes it",
        shown_path(&waiting.by),
        shown_path(&waiting.path)
    )
}

fn approvals_file(workplace: &Workplace) -> PathBuf {
    workplace.project().includes()
}

fn places(workplace: &Workplace) -> Places {
    let own = &workplace.places;
    Places {
        managed: MANAGED.iter().map(PathBuf::from).collect(),
        user: vec![own.config.join("CLAUDE.md"), own.home.join(".claude/CLAUDE.md")],
        home: own.home.clone(),
        root: workplace.root.clone(),
        dir: workplace.dir.clone(),
    }
}
