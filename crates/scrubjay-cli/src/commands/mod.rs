//! The commands: each does one thing, says what it saw or did, and leaves.

mod agents;
pub(crate) mod compact;
mod config;
mod context;
mod cost;
mod doctor;
pub(crate) mod dream;
mod export;
mod import;
mod inbox;
mod jobs;
mod letters;
mod limits;
pub(crate) mod man;
pub(crate) mod memory;
pub(crate) mod notes;
mod period;
pub(crate) mod print;
pub(crate) mod recall;
mod report;
mod results;
mod savings;
mod sessions;
mod status;
mod sweep;
pub(crate) mod teammate;

use crate::arguments::{Arguments, Command, ConfigCommand, InboxCommand, ResultsCommand, WhichSession};
use crate::failure::Failure;
use crate::memories::dreams::Wish;
use crate::paper::{Paper, unwritten};
use crate::shelf::{Place, Shelf};
use crate::workplace::Workplace;
use clap::CommandFactory as _;
use std::io::Write as _;

/// Run one of the commands that need no model.
pub(crate) async fn run(command: &Command, workplace: &Workplace, paper: &Paper) -> Result<(), Failure> {
    match command {
        Command::Status | Command::Chat | Command::Demo(_) | Command::Teammate(_) => status::run(workplace, paper),
        Command::Scan(flags) => crate::scan::run(flags, workplace, paper),
        Command::Sessions { all } => {
            sessions::run(workplace, paper, if *all { usize::MAX } else { sessions::usual(workplace) })
        }
        Command::Context(flags) => context::run(workplace, paper, flags).await,
        Command::Compact(flags) if flags.report => compact::report(workplace, paper, &flags.which),
        Command::Compact(flags) => compact::list(workplace, paper, &flags.which),
        Command::Uncompact(flags) => compact::list_replaced(workplace, paper, &flags.which),
        Command::Memory { what } => memory::run(what, workplace, paper),
        Command::Recall(flags) => recall::run(flags, workplace, paper).await,
        Command::Remember(flags) => memory::remember(flags, workplace, paper),
        Command::Forget(flags) => memory::forget(flags, workplace, paper),
        Command::Undo(flags) => memory::undo(flags, workplace, paper),
        Command::Fsck(flags) => memory::check(*flags, workplace, paper),
        Command::Import(flags) => import::run(flags, workplace, paper),
        Command::Export(flags) => export::run(flags, workplace, paper),
        Command::Results { what } => stored(what, workplace, paper),
        Command::Cost(flags) => cost::run(workplace, paper, flags),
        Command::Savings(flags) => savings::run(workplace, paper, flags),
        Command::Report(flags) => report::run(flags, workplace, paper),
        Command::Notes { which } => notes::run(workplace, paper, which),
        Command::Flags => config::flags(workplace, paper),
        Command::Limits => limits::run(workplace, paper),
        Command::Config { what: ConfigCommand::Path } => config::path(workplace, paper),
        Command::Config { what: ConfigCommand::Show { origin: true } } => config::flags(workplace, paper),
        Command::Config { what: ConfigCommand::Show { origin: false } } => config::show(workplace, paper),
        Command::Jobs { what } => jobs::run(what.as_ref(), workplace, paper).await,
        Command::Dream(flags) => match (flags.wish(), flags.trial.dry_run) {
            (Wish::Apply(id), true) => dream::rehearse_applying(id.as_deref(), workplace, paper),
            (wish, _) => dream::settle(wish, workplace, paper),
        },
        Command::Inbox(flags) => match &flags.agent {
            Some(name) => letters::inbox(name, flags.letter.as_deref(), workplace, paper),
            None => inbox::run(&InboxCommand::wish(flags.what.as_ref()), workplace, paper),
        },
        Command::Agents { what } => agents::run(what.as_ref(), workplace, paper),
        Command::Send(flags) => letters::send(flags, workplace, paper).await,
        Command::Doctor(flags) => doctor::run(flags, workplace, paper),
        Command::Completions { shell } => completions(*shell),
        Command::Man { out } => man::run(out.as_deref(), paper),
    }
}

fn stored(what: &ResultsCommand, workplace: &Workplace, paper: &Paper) -> Result<(), Failure> {
    match what {
        ResultsCommand::Ls { all: true, .. } => results::list_all(workplace, paper),
        ResultsCommand::Ls { which, .. } => results::list(workplace, paper, which),
        ResultsCommand::Get { call, which } => results::get(workplace, paper, which, call),
        ResultsCommand::Gc { dry_run: true, .. } => sweep::run(workplace, paper, sweep::Resolve::Look),
        ResultsCommand::Gc { yes: true, .. } => sweep::run(workplace, paper, sweep::Resolve::Remove),
        ResultsCommand::Gc { .. } => sweep::run(workplace, paper, sweep::Resolve::Ask),
    }
}

/// Without a command: where things stand, whatever that is.
pub(crate) fn at_rest(workplace: &Workplace, paper: &Paper) -> Result<(), Failure> {
    status::run(workplace, paper)
}

/// Completions need nothing but the command line itself.
pub(crate) fn completions(shell: clap_complete::Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "scrubjay", &mut script);
    let mut out = std::io::stdout().lock();
    out.write_all(&script).and_then(|()| out.flush()).map_err(unwritten)
}

fn chosen(workplace: &Workplace, which: &WhichSession) -> Result<(Shelf, Place), Failure> {
    let shelf = Shelf::of(workplace);
    let place = shelf.find(&which.session)?;
    Ok((shelf, place))
}
