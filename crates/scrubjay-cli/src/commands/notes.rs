//! `scrubjay notes`: the running notes of a session, as they are on disk.

use super::chosen;
use crate::arguments::WhichSession;
use crate::failure::Failure;
use crate::paper::{Form, Paper};
use crate::workplace::Workplace;
use scrubjay::context::session_notes;
use scrubjay::tools::shown;
use serde_json::json;
use std::path::Path;

pub(super) fn run(workplace: &Workplace, paper: &Paper, which: &WhichSession) -> Result<(), Failure> {
    let (_, place) = chosen(workplace, which)?;
    let file = session_notes::place(&place.path.with_extension(""));
    let Some(text) = read(&file)? else {
        return Err(
            Failure::nothing_found(NONE_YET).fix("`scrubjay sessions` lists sessions; `--session ID` names one")
        );
    };
    match paper.form {
        Form::Words => paper.line(shown(&text).trim_end()),
        Form::Json => paper.json("notes", json!({ "session_id": place.id, "file": file, "notes": text })),
    }
}

/// What a session without notes is told.
pub(crate) const NONE_YET: &str =
    "there are no notes yet: they are written once a conversation has grown to some ten thousand tokens";

/// The notes in a file; `None` where there are none.
pub(crate) fn read(file: &Path) -> Result<Option<String>, Failure> {
    match std::fs::read(file) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::failed(format!("the notes in {} cannot be read: {error}", file.display()))),
    }
}
