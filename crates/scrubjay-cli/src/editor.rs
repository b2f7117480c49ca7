//! A text in the person's own editor: on a copy, so that nothing half-written ever counts.

use crate::failure::Failure;
use crate::workplace::Workplace;
use scrubjay::paths::{create_dir_private, write_private};
use scrubjay::tools::shown_path;
use std::io::{IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use tokio::signal::unix::{SignalKind, signal};

const USUAL: &str = "vi";

/// The text as the person wants it: from the editor where one sits at a terminal, otherwise from standard input.
pub(crate) fn rewritten(name: &str, text: &str, workplace: &Workplace) -> Result<String, Failure> {
    if std::io::stdin().is_terminal() { edited(name, text, workplace) } else { from_standard_input() }
}

/// All of standard input.
pub(crate) fn from_standard_input() -> Result<String, Failure> {
    let mut text = String::new();
    let read = std::io::stdin().lock().read_to_string(&mut text);
    read.map_err(|error| Failure::usage(format!("standard input is not text: {error}")))?;
    Ok(text)
}

/// The text as the editor left it.
fn edited(name: &str, text: &str, workplace: &Workplace) -> Result<String, Failure> {
    let file = copy(name, text, workplace)?;
    let ended = run(&editor(workplace), &file);
    let new = std::fs::read_to_string(&file);
    match (ended, new) {
        (Ok(()), Ok(new)) => {
            clear(&file);
            Ok(new)
        }
        (Ok(()), Err(error)) => {
            Err(Failure::failed(format!("what the editor left cannot be read ({error}), so nothing was changed"))
                .fix(format!("the copy is in {}", shown_path(&file))))
        }
        (Err(why), new) => {
            let failure = Failure::failed(format!("{why}, so nothing was changed"));
            if new.is_ok_and(|new| new != text) {
                return Err(failure.fix(format!("what you wrote is kept in {}", shown_path(&file))));
            }
            clear(&file);
            Err(failure.fix("VISUAL or EDITOR names the editor; a text can also be given on standard input"))
        }
    }
}

/// A copy of a text that nothing else touches.
pub(crate) fn copy(name: &str, text: &str, workplace: &Workplace) -> Result<PathBuf, Failure> {
    let folder = workplace.places.state.join("edit").join(crate::identifier::fresh().simple().to_string());
    let file = folder.join(name.rsplit('/').next().unwrap_or(name));
    let written = create_dir_private(&folder).and_then(|()| write_private(&file, text.as_bytes()));
    written.map_err(|error| Failure::failed(format!("{} cannot be written: {error}", shown_path(&file))))?;
    Ok(file)
}

fn editor(workplace: &Workplace) -> String {
    let named = |name: &str| workplace.environment.get(name).map(str::trim).filter(|value| !value.is_empty());
    named("VISUAL").or_else(|| named("EDITOR")).unwrap_or(USUAL).to_owned()
}

/// The editor's name may come with flags, so a shell reads it; the file is never part of that line.
fn run(editor: &str, file: &Path) -> Result<(), String> {
    // Ctrl-C belongs to the editor while it runs.
    let _held = signal(SignalKind::interrupt()).map_err(|error| format!("Ctrl-C cannot be held back: {error}"))?;
    let status = Command::new("sh").args(["-c", &format!("{editor} \"$1\""), "sh"]).arg(file).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("the editor `{editor}` ended with {status}")),
        Err(error) => Err(format!("the editor `{editor}` could not be started: {error}")),
    }
}

/// A copy that stays behind is nobody's loss.
fn clear(file: &Path) {
    let cleared = file.parent().map_or(Ok(()), std::fs::remove_dir_all);
    if let Err(error) = cleared {
        tracing::warn!(%error, "the copy for the editor is still there");
    }
}
