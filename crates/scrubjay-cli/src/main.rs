//! scrubjay: the terminal agent and its doors.

mod arguments;
mod background;
mod cache;
mod chat;
mod cheap;
mod commands;
mod compaction;
mod demo;
mod editor;
mod environment;
mod failure;
mod happening;
mod health;
mod identifier;
mod instructed;
mod kinds;
mod layers;
mod letters;
mod log;
mod memories;
mod nearest;
mod paper;
mod permit;
mod places;
mod remote_flags;
mod redaction;
mod remedies;
mod remembered;
mod report;
mod report_page;
mod sandbox;
mod scan;
mod seat;
mod service;
mod shelf;
mod sketch;
mod staffed;
mod teammates;
mod watch;
mod web_fetch;
mod window;
mod workplace;

use arguments::{Arguments, Command, DemoFlags, OutputFormat};
use clap::{CommandFactory as _, FromArgMatches as _};
use environment::Environment;
use failure::{Exit, Failure};
use memories::dreams::Wish;
use paper::{Form, Paper};
use seat::Seat;
use std::process::ExitCode;
use workplace::Workplace;

fn main() -> ExitCode {
    let arguments = match read_arguments() {
        Ok(arguments) => arguments,
        Err(exit) => return exit,
    };
    let environment = Environment::of_process();
    environment.close();
    let mut paper = Paper::new(&arguments.general, &environment);
    if arguments.print.is_some() && arguments.output_format != OutputFormat::Text {
        paper.form = Form::Json;
    }
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => {
            paper.failure(&Failure::failed(format!("the program cannot start: {error}")));
            return Exit::Failed.into();
        }
    };
    let done = runtime.block_on(run(&arguments, environment, &paper));
    // A read of the keyboard may still be waiting for a key; nobody waits for it.
    runtime.shutdown_background();
    match done {
        Ok(()) => Exit::Fine.into(),
        Err(failure) => {
            if !failure.message.is_empty() {
                paper.failure(&failure);
            }
            failure.exit.into()
        }
    }
}

/// What was typed. Help and the version are answers; a mistake is told in the form that was asked for.
fn read_arguments() -> Result<Arguments, ExitCode> {
    let typed = arguments::command().try_get_matches().and_then(|found| Arguments::from_arg_matches(&found));
    typed.map_err(|error| {
        let in_json = std::env::args_os().take_while(|word| word != "--").any(|word| word == "--json");
        if !error.use_stderr() || !in_json {
            error.exit();
        }
        let failure = misread(&error.render().to_string());
        eprintln!("{}", failure.veiled().to_json());
        Exit::Usage.into()
    })
}

/// A mistake on the command line, told by its first paragraph; the tip below it is what to do.
fn misread(said: &str) -> Failure {
    let first: Vec<&str> = said.lines().take_while(|line| !line.is_empty()).map(str::trim).collect();
    let tip = said.lines().find_map(|line| line.trim().strip_prefix("tip: "));
    let message = first.join(" ");
    Failure::usage(message.trim_start_matches("error: ")).fix(tip.unwrap_or("`scrubjay --help` says what can be typed"))
}

async fn run(arguments: &Arguments, environment: Environment, paper: &Paper) -> Result<(), Failure> {
    match &arguments.command {
        Some(Command::Completions { shell }) => return commands::completions(*shell),
        Some(Command::Man { out }) => return commands::man::run(out.as_deref(), paper),
        Some(Command::Demo(flags)) => return demo::run(flags, &environment, paper).await,
        _ => {}
    }
    let workplace = Workplace::find(arguments, environment)?.with_remote_flags().await;
    workplace.settings.warnings.iter().for_each(|warning| paper.warn(warning));
    let goes_on = arguments.session.newest || arguments.session.resume.is_some();
    match (&arguments.command, &arguments.print, &arguments.words) {
        (Some(Command::Chat), _, _) => talk(arguments, workplace, paper).await,
        (Some(Command::Compact(flags)), _, _) if !flags.list && !flags.report => {
            let seat = sit_down(arguments, workplace, paper).await?;
            commands::compact::run(arguments, flags, seat, paper).await
        }
        (Some(Command::Uncompact(flags)), _, _) if !flags.list => {
            let seat = sit_down(arguments, workplace, paper).await?;
            commands::compact::undo(arguments, flags, &seat, paper)
        }
        (Some(Command::Dream(flags)), _, _) if flags.wish() == Wish::Dream => {
            let seat = sit_down(arguments, workplace, paper).await?;
            commands::dream::run(seat, paper).await
        }
        (Some(Command::Teammate(flags)), _, _) => {
            let seat = sit_down(arguments, workplace, paper).await?;
            commands::teammate::run(arguments, flags, seat, paper).await
        }
        (Some(command), _, _) => commands::run(command, &workplace, paper).await,
        (None, Some(_), _) => {
            let seat = sit_down(arguments, workplace, paper).await?;
            commands::print::run(arguments, seat, paper).await
        }
        (None, None, Some(word)) => Err(unknown(word)),
        (None, None, None) if goes_on => talk(arguments, workplace, paper).await,
        (None, None, None) if is_first_time(&workplace, paper) => welcome(&workplace, paper).await,
        (None, None, None) => commands::at_rest(&workplace, paper),
    }
}

/// Nothing of the person's is there yet, and from now on there is a place for it: the next time is not the first.
fn is_first_time(workplace: &Workplace, paper: &Paper) -> bool {
    paper.form == Form::Words && !workplace.places.data.exists() && workplace.places.prepare().is_ok()
}

/// The first time the demo is played. Where it cannot be, that is said, and everything else works all the same.
async fn welcome(workplace: &Workplace, paper: &Paper) -> Result<(), Failure> {
    match demo::run(&DemoFlags::default(), &workplace.environment, paper).await {
        Err(failure) if failure.exit == Exit::Failed => {
            paper.warn(&format!("the demo cannot be played: {failure}"));
            commands::at_rest(workplace, paper)
        }
        played => played,
    }
}

async fn talk(arguments: &Arguments, workplace: Workplace, paper: &Paper) -> Result<(), Failure> {
    let seat = sit_down(arguments, workplace, paper).await?;
    chat::run(arguments, seat, paper).await
}

async fn sit_down(arguments: &Arguments, workplace: Workplace, paper: &Paper) -> Result<Seat, Failure> {
    workplace.places.prepare()?;
    log::begin(&workplace.places.log(), paper.volume);
    Seat::take(arguments, workplace, paper).await
}

fn unknown(word: &str) -> Failure {
    let command = Arguments::command();
    let names = command.get_subcommands().map(clap::Command::get_name);
    let meant =
        nearest::nearest(word, names).map(|name| format!("; did you mean `scrubjay {name}`?")).unwrap_or_default();
    Failure::usage(format!("there is no command `{}`{meant}", scrubjay::tools::shown(word)))
        .fix("`scrubjay --help` lists them; a question is asked with -p")
}
