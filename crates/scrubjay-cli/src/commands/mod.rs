//! The commands: each looks, says what it saw, and leaves.

mod config;
mod context;
mod cost;
mod doctor;
mod limits;
pub(crate) mod print;
mod sessions;
mod status;

use crate::arguments::{Arguments, Command, ConfigCommand, WhichSession};
use crate::failure::Failure;
use crate::paper::{Paper, unwritten};
use crate::shelf::{Place, Shelf};
use crate::workplace::Workplace;
use clap::CommandFactory as _;
use std::io::Write as _;

/// Run one of the commands that only look.
pub(crate) async fn run(command: &Command, workplace: &Workplace, paper: &Paper) -> Result<(), Failure> {
    match command {
        Command::Status | Command::Chat => status::run(workplace, paper),
        Command::Sessions { all } => {
            sessions::run(workplace, paper, if *all { usize::MAX } else { sessions::usual(workplace) })
        }
        Command::Context { which, exact } => {
            let counting = if *exact { context::Counting::Exact } else { context::Counting::Estimate };
            context::run(workplace, paper, which, counting).await
        }
        Command::Cost { which } => cost::run(workplace, paper, which),
        Command::Flags => config::flags(workplace, paper),
        Command::Limits => limits::run(workplace, paper),
        Command::Config { what: ConfigCommand::Path } => config::path(workplace, paper),
        Command::Config { what: ConfigCommand::Show { origin: true } } => config::flags(workplace, paper),
        Command::Config { what: ConfigCommand::Show { origin: false } } => config::show(workplace, paper),
        Command::Doctor => doctor::run(workplace, paper),
        Command::Completions { shell } => completions(*shell),
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
