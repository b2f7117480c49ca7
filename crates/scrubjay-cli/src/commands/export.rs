//! `scrubjay export`: every memory as a plain file, with the index. What looks like a credential does not leave.

use crate::arguments::ExportFlags;
use crate::failure::Failure;
use crate::memories;
use crate::paper::{Form, Paper, unwritten};
use crate::workplace::Workplace;
use scrubjay::memory::{Memory, name};
use scrubjay::paths::{create_dir_private, write_private};
use scrubjay::secrets;
use scrubjay::tools::shown_path;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A file that goes out.
struct Leaving {
    path: String,
    text: String,
    modified: SystemTime,
}

pub(super) fn run(flags: &ExportFlags, workplace: &Workplace, paper: &Paper) -> Result<(), Failure> {
    let memory = memories::open(workplace, paper)?;
    let (files, redacted) = leaving(&memory)?;
    if files.is_empty() {
        return Err(Failure::nothing_found("nothing is remembered, so nothing can be exported").fix(memories::FIRST));
    }
    if redacted > 0 {
        paper.warn(&format!("{redacted} of them held what looks like a credential; it was replaced by a mark"));
    }
    if flags.to.as_os_str() == "-" {
        return to_standard_output(&files, paper);
    }
    let to = workplace.dir.join(&flags.to);
    must_be_free(&to)?;
    if !flags.trial.dry_run {
        write(&to, &files, &memory)?;
    }
    let (count, shown) = (memories::how_many(files.len()), shown_path(&to));
    match (paper.form, flags.trial.dry_run) {
        (Form::Json, dry_run) => {
            let names: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
            paper.json("export", json!({ "to": to, "memories": names, "redacted": redacted, "written": !dry_run }))
        }
        (Form::Words, true) => paper.line(&format!("{count} and the index would be written to {shown}")),
        (Form::Words, false) => paper.line(&format!("{count} and the index written to {shown}")),
    }
}

/// Every memory, and how many of them lost a credential on the way.
fn leaving(memory: &Memory) -> Result<(Vec<Leaving>, usize), Failure> {
    let key = crate::identifier::fresh().into_bytes();
    let (mut files, mut redacted) = (Vec::new(), 0);
    for entry in &memory.scan().entries {
        let Some((_, text)) = memory.text(&entry.path)? else { continue };
        let clean = secrets::redact(&text, &key);
        redacted += usize::from(clean != text);
        files.push(Leaving { path: entry.path.clone(), text: clean, modified: entry.modified().into() });
    }
    Ok((files, redacted))
}

fn to_standard_output(files: &[Leaving], paper: &Paper) -> Result<(), Failure> {
    if paper.form == Form::Json {
        let rows: Vec<Value> = files.iter().map(|file| json!({ "name": file.path, "text": file.text })).collect();
        return paper.json("export", json!({ "memories": rows }));
    }
    let mut out = std::io::stdout().lock();
    let is_terminal = out.is_terminal();
    for file in files {
        let text = if is_terminal { scrubjay::tools::shown(&file.text) } else { file.text.as_str().into() };
        writeln!(out, "<!-- {} -->\n{}", file.path, text.trim_end()).map_err(unwritten)?;
    }
    out.flush().map_err(unwritten)
}

/// Nothing is overwritten, and no link is followed.
fn must_be_free(to: &Path) -> Result<(), Failure> {
    let taken = |why: &str| {
        Failure::usage(format!("{} {why}, and an export overwrites nothing", shown_path(to)))
            .fix("name a folder that is new or empty")
    };
    match to.symlink_metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Failure::failed(format!("{} cannot be looked at: {error}", shown_path(to)))),
        Ok(meta) if !meta.is_dir() => Err(taken("is not a folder")),
        Ok(_) => match std::fs::read_dir(to).map(|mut listed| listed.next().is_some()) {
            Ok(false) => Ok(()),
            Ok(true) => Err(taken("is not empty")),
            Err(error) => Err(Failure::failed(format!("{} cannot be read: {error}", shown_path(to)))),
        },
    }
}

fn write(to: &Path, files: &[Leaving], memory: &Memory) -> Result<(), Failure> {
    let failed = |path: &Path, error: std::io::Error| {
        Failure::failed(format!("{} cannot be written: {error}", shown_path(path)))
            .fix("what was written so far is complete; make room and export into another folder")
    };
    let put = |path: PathBuf, text: &str| {
        let parent = path.parent().unwrap_or(to);
        create_dir_private(parent).map_err(|error| failed(parent, error))?;
        write_private(&path, text.as_bytes()).map_err(|error| failed(&path, error))
    };
    for file in files {
        let path = to.join(&file.path);
        put(path.clone(), &file.text)?;
        keep_age(&path, file.modified);
    }
    let index = memory.whole_index()?;
    let key = crate::identifier::fresh().into_bytes();
    put(to.join(name::INDEX), &secrets::redact(&index, &key))
}

/// A memory is as old outside as it is here. Where that cannot be kept, it counts as new.
fn keep_age(file: &Path, age: SystemTime) {
    let plain = file.symlink_metadata().is_ok_and(|meta| meta.is_file());
    let kept = || File::options().write(true).open(file).and_then(|file| file.set_modified(age));
    if let Err(error) = if plain { kept() } else { Ok(()) } {
        tracing::warn!(%error, "the age of a memory was not kept");
    }
}
