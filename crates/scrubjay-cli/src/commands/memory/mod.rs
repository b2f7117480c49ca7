//! `scrubjay memory`: look at what is remembered, change it, and take it back.

mod care;
mod change;
mod look;

use crate::arguments::{ForgetFlags, MemoryCommand, RememberFlags, UndoFlags};
use crate::failure::Failure;
use crate::memories;
use crate::memories::draft::Asked;
use crate::paper::Paper;
use crate::workplace::Workplace;

pub(super) use care::{check, is_broken, pollution_in_words, pollution_json};
pub(crate) use look::{basis_in_words, ls_words, not_loaded, show_words, speaker_in_words};

pub(super) fn run(what: &MemoryCommand, workplace: &Workplace, paper: &Paper) -> Result<(), Failure> {
    if let MemoryCommand::Check(flags) = what {
        return check(*flags, workplace, paper);
    }
    let mut memory = memories::open(workplace, paper)?;
    match what {
        MemoryCommand::Ls { kind, by } => look::ls(&memory, *kind, *by, paper),
        MemoryCommand::Show { name } => look::show(&memory, name, workplace, paper),
        MemoryCommand::Log { name } => look::log(&memory, name.as_deref(), paper),
        MemoryCommand::Diff { change } => look::diff(&memory, *change, paper),
        MemoryCommand::Tokens => care::tokens(&memory, workplace, paper),
        MemoryCommand::Add(flags) => {
            let text = change::given(&flags.text)?;
            let (name, description) = (flags.name.as_deref(), flags.description.as_deref());
            let asked = Asked { text: &text, kind: flags.kind, name, description, scope: flags.whose.scope() };
            change::add(&mut memory, &asked, flags.trial, (workplace, paper))
        }
        MemoryCommand::Edit { name, trial } => change::edit(&mut memory, name, *trial, (workplace, paper)),
        MemoryCommand::Forget(flags) => change::forget(&mut memory, flags, (workplace, paper)),
        MemoryCommand::Restore { name, trial } => change::restore(&mut memory, name, *trial, paper),
        MemoryCommand::Undo(flags) => change::undo(&mut memory, flags, paper),
        MemoryCommand::Confirm { name } => change::confirm(&mut memory, name, paper),
        MemoryCommand::Check(_) => Ok(()),
    }
}

/// `scrubjay remember`.
pub(super) fn remember(flags: &RememberFlags, workplace: &Workplace, paper: &Paper) -> Result<(), Failure> {
    let text = match &flags.file {
        Some(file) if file.as_os_str() == "-" => change::given(&["-".to_owned()])?,
        Some(file) => memories::draft::read_file(&workplace.dir.join(file), &workplace.limits)?,
        None => change::given(&flags.text)?,
    };
    let asked = Asked { text: &text, kind: flags.kind, scope: flags.whose.scope(), ..Asked::default() };
    change::add(&mut memories::open(workplace, paper)?, &asked, flags.trial, (workplace, paper))
}

/// `scrubjay forget`.
pub(super) fn forget(flags: &ForgetFlags, workplace: &Workplace, paper: &Paper) -> Result<(), Failure> {
    change::forget(&mut memories::open(workplace, paper)?, flags, (workplace, paper))
}

/// `scrubjay undo`.
pub(super) fn undo(flags: &UndoFlags, workplace: &Workplace, paper: &Paper) -> Result<(), Failure> {
    change::undo(&mut memories::open(workplace, paper)?, flags, paper)
}
