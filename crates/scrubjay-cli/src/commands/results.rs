//! `scrubjay results`: tool results that were too large for the window and lie on disk, whole.

use super::chosen;
use crate::arguments::WhichSession;
use crate::failure::Failure;
use crate::paper::{Form, Paper, Tone, size, unwritten};
use crate::report::ago;
use crate::shelf::{Place, Shelf};
use crate::workplace::Workplace;
use jiff::Timestamp;
use scrubjay::paths::ProjectLayout;
use scrubjay::tools::shown;
use scrubjay::transcript::{Entry, Spilled, Transcript};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

/// One stored result, as a session tells of it.
struct Stored {
    session: String,
    spilled: Spilled,
    at: Timestamp,
    /// Where it lies, if it does.
    file: Option<PathBuf>,
}

/// The session and the name of a stored result's file.
///
/// Only its place below a project counts: a record is not trusted to name any file of the machine, and a data folder that
/// was moved keeps its results.
pub(super) fn place_of(file: &Path) -> Option<(&OsStr, &OsStr)> {
    let folder = file.parent()?;
    let session = folder.parent()?.file_name()?;
    (folder.file_name()? == "tool-results").then_some((session, file.file_name()?))
}

/// The file of a stored result: a plain one, reached through no link below the project.
fn found(file: &Path, project: &ProjectLayout) -> Option<PathBuf> {
    let (session, name) = place_of(file)?;
    let session = project.dir().join(session);
    let folder = session.join("tool-results");
    let file = folder.join(name);
    let kind = |path: &Path| path.symlink_metadata().ok().map(|meta| meta.file_type());
    let plain = kind(&session)?.is_dir() && kind(&folder)?.is_dir() && kind(&file)?.is_file();
    plain.then_some(file)
}

fn stored(place: &Place, transcript: &Transcript, project: &ProjectLayout) -> Vec<Stored> {
    let spilled = transcript.records().iter().filter_map(|record| match &record.entry {
        Entry::Spilled(spilled) => Some((spilled, record.at)),
        _ => None,
    });
    let one = |(spilled, at): (&Spilled, Timestamp)| Stored {
        session: place.id.clone(),
        file: found(&spilled.file, project),
        spilled: spilled.clone(),
        at,
    };
    spilled.map(one).collect()
}

/// Those of one session.
pub(super) fn list(workplace: &Workplace, paper: &Paper, which: &WhichSession) -> Result<(), Failure> {
    let (shelf, place) = chosen(workplace, which)?;
    let (transcript, _) = shelf.peek(&place)?;
    report(&stored(&place, &transcript, &workplace.project()), paper)
}

/// Those of every session.
pub(super) fn list_all(workplace: &Workplace, paper: &Paper) -> Result<(), Failure> {
    let (shelf, project) = (Shelf::of(workplace), workplace.project());
    let mut all = Vec::new();
    for place in shelf.places()? {
        match shelf.peek(&place) {
            Ok((transcript, _)) => all.extend(stored(&place, &transcript, &project)),
            Err(error) => paper.warn(&error.to_string()),
        }
    }
    report(&all, paper)
}

fn report(all: &[Stored], paper: &Paper) -> Result<(), Failure> {
    if paper.form == Form::Json {
        return paper.json("results", json!({ "results": all.iter().map(as_json).collect::<Vec<_>>() }));
    }
    if all.is_empty() {
        return Err(Failure::nothing_found("no tool result was stored").fix("--all looks at every session"));
    }
    let now = Timestamp::now();
    for one in all {
        let Spilled { call, tool, bytes, shown: seen, .. } = &one.spilled;
        let gone = if one.file.is_some() { "" } else { "  (its file is gone)" };
        paper.line(&format!(
            "{}  {:<10} {:>9}, {:>9} shown  {:<12} {}{gone}",
            paper.ink.paint(Tone::Strong, &shown(call.as_str())),
            shown(tool),
            size(*bytes),
            size(*seen),
            ago(one.at, now),
            paper.ink.paint(Tone::Faint, &one.session),
        ))?;
    }
    Ok(())
}

fn as_json(one: &Stored) -> Value {
    json!({
        "session_id": one.session,
        "call": one.spilled.call.as_str(),
        "tool": one.spilled.tool,
        "bytes": one.spilled.bytes,
        "shown_bytes": one.spilled.shown,
        "at": one.at,
        "file": one.file,
    })
}

/// The whole text of one.
pub(super) fn get(workplace: &Workplace, paper: &Paper, which: &WhichSession, call: &str) -> Result<(), Failure> {
    let (shelf, place) = chosen(workplace, which)?;
    let (transcript, _) = shelf.peek(&place)?;
    let one = pick(stored(&place, &transcript, &workplace.project()), call)?;
    let name = shown(one.spilled.call.as_str());
    let Some(file) = &one.file else {
        return Err(Failure::nothing_found(format!("the file of result {name} is gone; only its preview is left")));
    };
    let bytes = std::fs::read(file)
        .map_err(|error| Failure::failed(format!("the file of result {name} cannot be read: {error}")))?;
    let mut out = std::io::stdout().lock();
    if paper.form == Form::Json {
        let mut data = as_json(&one);
        data["text"] = String::from_utf8_lossy(&bytes).into();
        drop(out);
        return paper.json("result-text", data);
    }
    // A terminal is protected; a pipe gets the exact bytes.
    let written = match out.is_terminal() {
        true => writeln!(out, "{}", shown(&String::from_utf8_lossy(&bytes))),
        false => out.write_all(&bytes),
    };
    written.and_then(|()| out.flush()).map_err(unwritten)
}

fn pick(mut all: Vec<Stored>, call: &str) -> Result<Stored, Failure> {
    if let Some(exact) = all.iter().position(|one| one.spilled.call.as_str() == call) {
        return Ok(all.swap_remove(exact));
    }
    all.retain(|one| one.spilled.call.as_str().starts_with(call));
    let many = all.len();
    match all.pop() {
        Some(one) if many == 1 => Ok(one),
        None => Err(Failure::nothing_found(format!("no stored result of this session answers `{}`", shown(call)))
            .fix("`scrubjay results ls --all` lists them; name their session with --session ID")),
        Some(_) => Err(Failure::usage(format!("{many} stored results begin with `{}`", shown(call)))
            .fix("give more of the id; `scrubjay results ls` lists them")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // safety: F-34
    #[test]
    fn only_the_place_below_a_project_counts() {
        let of = |file: &'static str| {
            place_of(Path::new(file)).map(|(session, name)| (session.to_str().unwrap(), name.to_str().unwrap()))
        };
        assert_eq!(of("/data/projects/p/s1/tool-results/ab.txt"), Some(("s1", "ab.txt")));
        assert_eq!(of("/moved/s1/tool-results/ab.txt"), Some(("s1", "ab.txt")));
        for odd in ["/etc/passwd", "tool-results/x", "/x/../tool-results/y", "/s/tool-results/..", "", "/"] {
            assert_eq!(of(odd), None, "{odd}");
        }
    }

    fn one(call: &str) -> Stored {
        let (tool, file) = ("Bash".to_owned(), PathBuf::new());
        let spilled = Spilled { call: call.into(), tool, file, bytes: 0, shown: 0 };
        Stored { session: String::new(), spilled, at: Timestamp::UNIX_EPOCH, file: None }
    }

    #[test]
    fn a_result_is_picked_by_its_id_or_the_beginning_of_it() {
        let all = || ["toolu_1", "toolu_12", "other"].map(one).into_iter().collect::<Vec<_>>();
        let pick = |call: &str| pick(all(), call).map(|one| one.spilled.call.to_string());
        assert_eq!(pick("toolu_1").unwrap(), "toolu_1");
        assert_eq!(pick("o").unwrap(), "other");
        assert!(pick("toolu_").unwrap_err().message.contains("2 stored results"));
        assert!(pick("zzz").is_err());
    }
}
