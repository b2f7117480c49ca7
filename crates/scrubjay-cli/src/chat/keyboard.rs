//! The keyboard: lines a person types, with editing, history and more than one line where that is wanted.
//!
//! Reading blocks, so it has a thread of its own; the chat asks for a line and waits.

use super::pastes::Pastes;
use super::slash::COMMANDS;
use crate::failure::Failure;
use crate::paper::Ink;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{
    Cmd, ColorMode, Config, Context, Editor, EventHandler, ExternalPrinter, Helper, KeyCode, KeyEvent, Modifiers,
};
use scrubjay::limits::Limits;
use std::fs::OpenOptions;
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use tokio::sync::oneshot;

/// What came from the keyboard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Typed {
    /// A line, or several.
    Line(String),
    /// Ctrl-C.
    Interrupted,
    /// Ctrl-D, or the input has ended.
    End,
}

/// What a line is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Something for the model: remembered, and may have several lines.
    Question,
    /// An answer to the program.
    Answer,
}

struct Wanted {
    prompt: String,
    purpose: Purpose,
    reply: oneshot::Sender<Typed>,
}

/// The way to the thread that reads.
pub(super) struct Keyboard {
    wanted: mpsc::Sender<Wanted>,
    /// Lines for above the one that is being typed; where there is no terminal, there is nothing above.
    above: Option<mpsc::Sender<String>>,
    /// How the terminal was before anybody read from it.
    before: Option<Termios>,
    pastes: Pastes,
}

impl Keyboard {
    /// Begin to listen.
    pub(super) fn start(history: &Path, ink: Ink, limits: &Limits) -> Result<Self, Failure> {
        let before = tcgetattr(std::io::stdin()).ok();
        let silent = |error: ReadlineError| Failure::failed(format!("the terminal cannot be read: {error}"));
        let remembered = usize::try_from(limits.history_lines).unwrap_or(usize::MAX);
        let config = Config::builder()
            .max_history_size(remembered)
            .map_err(silent)?
            .color_mode(if ink == Ink::Coloured { ColorMode::Enabled } else { ColorMode::Disabled })
            .bracketed_paste(true)
            .build();
        let pastes = Pastes::default();
        let mut editor = Editor::<Lines, FileHistory>::with_config(config).map_err(silent)?;
        editor.set_helper(Some(Lines { purpose: Purpose::Question, pastes: pastes.clone() }));
        let paste = KeyEvent(KeyCode::BracketedPasteStart, Modifiers::NONE);
        editor.bind_sequence(paste, EventHandler::Conditional(Box::new(pastes.clone())));
        editor.bind_sequence(KeyEvent(KeyCode::Enter, Modifiers::ALT), Cmd::Newline);
        let history = remember_in(history, &mut editor);
        let above = match editor.create_external_printer() {
            Ok(printer) => Some(print_above(printer)?),
            Err(_) => None,
        };
        let (wanted, asked) = mpsc::channel();
        thread("keyboard", move || listen(&asked, editor, history.as_deref()))?;
        Ok(Self { wanted, above, before, pastes })
    }

    /// How many columns the terminal has, where lines can be shown and taken back.
    pub(super) fn columns(&self) -> Option<usize> {
        self.above.as_ref()?;
        tcgetwinsize(std::io::stdout()).ok().map(|size| size.ws_col.into())
    }

    /// Show a line above the one that is being typed. Whether that can be done here.
    pub(super) fn print(&self, line: &str) -> bool {
        self.above.as_ref().is_some_and(|above| above.send(format!("{line}\n")).is_ok())
    }

    /// Leave the terminal as it was, although somebody still reads from it.
    pub(super) fn give_back(&self) {
        if let Some(before) = &self.before
            && let Err(error) = tcsetattr(std::io::stdin(), OptionalActions::Drain, before)
        {
            tracing::warn!(%error, "the terminal was not put back");
        }
    }

    /// Which parts of a line that was just read were pasted.
    pub(super) fn pasted(&self, line: &str) -> Vec<Range<usize>> {
        self.pastes.of(line)
    }

    /// The next line. A reader that is gone has come to its end.
    pub(super) async fn read(&self, prompt: &str, purpose: Purpose) -> Typed {
        let (reply, typed) = oneshot::channel();
        match self.wanted.send(Wanted { prompt: prompt.to_owned(), purpose, reply }) {
            Ok(()) => typed.await.unwrap_or(Typed::End),
            Err(_) => Typed::End,
        }
    }
}

fn thread(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), Failure> {
    let begun = std::thread::Builder::new().name(name.to_owned()).spawn(work);
    begun.map(drop).map_err(|error| Failure::failed(format!("the keyboard cannot be read: {error}")))
}

/// Printing may wait until the next line is read, so nobody else waits with it.
fn print_above(mut printer: impl ExternalPrinter + Send + 'static) -> Result<mpsc::Sender<String>, Failure> {
    let (sender, lines) = mpsc::channel::<String>();
    thread("above", move || {
        for line in lines {
            if let Err(error) = printer.print(line) {
                tracing::warn!(%error, "a line was not shown");
            }
        }
    })?;
    Ok(sender)
}

/// A history that cannot be kept is no reason not to talk.
fn remember_in(path: &Path, editor: &mut Editor<Lines, FileHistory>) -> Option<PathBuf> {
    let ready = OpenOptions::new().append(true).create(true).mode(0o600).open(path);
    let loaded = ready.map_err(ReadlineError::Io).and_then(|_| editor.load_history(path));
    match loaded {
        Ok(()) => Some(path.to_owned()),
        Err(error) => {
            tracing::warn!(%error, "what is typed will not be remembered");
            None
        }
    }
}

fn listen(asked: &mpsc::Receiver<Wanted>, mut editor: Editor<Lines, FileHistory>, history: Option<&Path>) {
    while let Ok(Wanted { prompt, purpose, reply }) = asked.recv() {
        if let Some(lines) = editor.helper_mut() {
            lines.purpose = purpose;
            lines.pastes.begin();
        }
        let typed = match editor.readline(&prompt) {
            Ok(line) => Typed::Line(line),
            Err(ReadlineError::Interrupted) => Typed::Interrupted,
            Err(_) => Typed::End,
        };
        if let (Typed::Line(line), Purpose::Question) = (&typed, purpose) {
            remember(&mut editor, line, history);
        }
        if reply.send(typed).is_err() {
            return;
        }
    }
}

fn remember(editor: &mut Editor<Lines, FileHistory>, line: &str, history: Option<&Path>) {
    let kept = editor.add_history_entry(line).and_then(|_| match history {
        Some(path) => editor.append_history(path),
        None => Ok(()),
    });
    if let Err(error) = kept {
        tracing::warn!(%error, "a line was not remembered");
    }
}

/// What the editor asks about a line that is being typed.
struct Lines {
    purpose: Purpose,
    pastes: Pastes,
}

impl Helper for Lines {}
impl Highlighter for Lines {}

/// No hints: the editor asks for one after every edit, which is when pastes are followed.
impl Hinter for Lines {
    type Hint = String;

    fn hint(&self, line: &str, pos: usize, _: &Context<'_>) -> Option<String> {
        self.pastes.follow(line, pos);
        None
    }
}

impl Completer for Lines {
    type Candidate = String;

    fn complete(&self, line: &str, pos: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        let Some(begun) = line.get(..pos).and_then(|begun| begun.strip_prefix('/')) else {
            return Ok((pos, Vec::new()));
        };
        let names = COMMANDS.iter().map(|(name, _, _)| *name).filter(|name| name.starts_with(begun));
        Ok((1, names.map(str::to_owned).collect()))
    }
}

impl Validator for Lines {
    fn validate(&self, typed: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let more = self.purpose == Purpose::Question && wants_more(typed.input());
        Ok(if more { ValidationResult::Incomplete } else { ValidationResult::Valid(None) })
    }
}

/// A line that ends in a backslash, or an opened fence, goes on.
fn wants_more(typed: &str) -> bool {
    let fences = typed.lines().filter(|line| line.trim_start().starts_with("```")).count();
    typed.ends_with('\\') || !fences.is_multiple_of(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_lines_go_on() {
        for (typed, more) in [
            ("hello", false),
            ("hello \\", true),
            ("hello \\\nworld", false),
            ("```rust\nfn main() {}", true),
            ("```rust\nfn main() {}\n```", false),
            ("", false),
        ] {
            assert_eq!(wants_more(typed), more, "{typed:?}");
        }
    }
}
