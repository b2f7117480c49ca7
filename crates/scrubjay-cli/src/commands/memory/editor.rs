//! A memory in the person's own editor: on a copy, so that nothing half-written is ever a memory.

use crate::failure::Failure;
use crate::workplace::Workplace;
use scrubjay::paths::{create_dir_private, write_private};
use scrubjay::tools::shown_path;
use std::path::Path;
use std::process::Command;
use tokio::signal::unix::{SignalKind, signal};

const USUAL: &str = "vi";

/// The text as the editor left it.
pub(super) fn edited(name: &str, text: &str, workplace: &Workplace) -> Result<String, Failure> {
    let folder = workplace.places.state.join("edit").join(uuid::Uuid::now_v7().simple().to_string());
    let file = folder.join(name.rsplit('/').next().unwrap_or(name));
    let unusable = |error: std::io::Error| Failure::failed(format!("{} cannot be written: {error}", shown_path(&file)));
    create_dir_private(&folder).map_err(unusable)?;
    write_private(&file, text.as_bytes()).map_err(unusable)?;
    let ended = run(&editor(workplace), &file);
    let new = std::fs::read_to_string(&file);
    match (ended, new) {
        (Ok(()), Ok(new)) => {
            clear(&folder);
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
            clear(&folder);
            Err(failure.fix("VISUAL or EDITOR names the editor; a text can also be given on standard input"))
        }
    }
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
fn clear(folder: &Path) {
    if let Err(error) = std::fs::remove_dir_all(folder) {
        tracing::warn!(%error, "the copy for the editor is still there");
    }
}
