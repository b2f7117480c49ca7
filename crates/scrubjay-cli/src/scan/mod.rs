//! `scrubjay scan`: what is already on this disk of other agents' sessions, and what each layer would have done there. It
//! reads and never writes, and shows no more of a message than a headline.

mod find;
mod kept;
mod layers;
mod lines;
mod progress;
mod session;
mod tally;
mod told;

use crate::arguments::ScanFlags;
use crate::failure::Failure;
use crate::paper::{Form, Paper};
use crate::service;
use crate::workplace::Workplace;
use find::{File, Found};
use progress::Progress;
use scrubjay::limits::Limits;
use session::Session;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use tally::{Measures, Tally};
use told::Told;

pub(crate) fn run(flags: &ScanFlags, workplace: &Workplace, paper: &Paper) -> Result<(), Failure> {
    let found = match flags.path.as_slice() {
        [] => Found::at_home(&workplace.places, &workplace.environment),
        paths => Found::at(paths, &workplace.dir),
    };
    let (sessions, mut unread) = read_all(&found.files, &workplace.limits, paper);
    unread.extend(found.unread.iter().cloned());
    unread.sort();
    let catalogue = service::catalogue(workplace)?;
    let measures = Measures { catalogue: &catalogue, settings: &workplace.settings, limits: &workplace.limits };
    let bytes = found.files.iter().map(|file| file.bytes).sum();
    let tally = Tally::of(sessions, &measures);
    if tally.requests + tally.asides == 0 {
        return Err(nothing(&found, &unread));
    }
    let told = Told { tally, files: found.files.len(), bytes, unread, next: next(workplace) };
    match paper.form {
        Form::Words => paper.line(&told.words(paper.ink)),
        Form::Json => paper.json("scan", told.json()),
    }
}

/// Files that are no transcript, and why.
type Unread = Vec<(PathBuf, String)>;

/// Read files side by side; who is done takes the next.
fn read_all(files: &[File], limits: &Limits, paper: &Paper) -> (Vec<Session>, Unread) {
    let progress = Progress::over(files.len(), files.iter().map(|file| file.bytes).sum());
    let next = AtomicUsize::new(0);
    let read = Mutex::new((Vec::new(), Unread::new()));
    let work = || {
        while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            let found = session::read(file, limits);
            let mut read = read.lock().unwrap_or_else(PoisonError::into_inner);
            match found {
                Ok(Some(session)) => read.0.push(session),
                Ok(None) => {
                    read.1.push((file.path.clone(), "no line of it is a record of Claude Code or Codex".to_owned()))
                }
                Err(error) => read.1.push((file.path.clone(), error.to_string())),
            }
            drop(read);
            progress.step(file.bytes);
        }
    };
    let hands = std::thread::available_parallelism().map_or(1, NonZero::get).min(files.len());
    std::thread::scope(|scope| {
        (0..hands).for_each(|_| drop(scope.spawn(work)));
        progress.draw(paper);
    });
    read.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn nothing(found: &Found, unread: &Unread) -> Failure {
    let why = match unread.first() {
        Some((path, why)) => format!(
            ": {} of {} could not be read, such as {} ({why})",
            unread.len(),
            found.files.len().max(unread.len()),
            scrubjay::tools::shown_path(path)
        ),
        None => String::new(),
    };
    Failure::nothing_found(format!("there is no session of Claude Code or Codex in {}{why}", found.places()))
        .fix("name files or folders with --path, or set CLAUDE_CONFIG_DIR or CODEX_HOME; `scrubjay chat` begins a session here")
}

/// The one command that is worth most now.
fn next(workplace: &Workplace) -> (&'static str, &'static str) {
    let memory = workplace.places.claude_memory(&workplace.environment, &workplace.root);
    let holds = std::fs::read_dir(memory).is_ok_and(|mut listed| listed.next().is_some());
    if holds {
        ("scrubjay import claude", "brings in what Claude Code remembers of this project; `--dry-run` looks first")
    } else {
        ("scrubjay chat", "works in this folder with all layers; without a key it looks things up")
    }
}
