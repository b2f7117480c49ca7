//! `scrubjay man`: the manual, made from the same tree as the help.

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::paper::{Form, Paper, unwritten};
use clap::CommandFactory as _;
use clap_mangen::Man;
use scrubjay::tools::shown_path;
use serde_json::json;
use std::io::Write as _;
use std::path::Path;

/// The first page to standard output, or every page into a folder.
pub(crate) fn run(out: Option<&Path>, paper: &Paper) -> Result<(), Failure> {
    let mut whole = Arguments::command();
    whole.build();
    let Some(folder) = out else {
        let page = rendered(whole)?;
        let mut out = std::io::stdout().lock();
        return out.write_all(&page).and_then(|()| out.flush()).map_err(unwritten);
    };
    let unwritten = |error| Failure::failed(format!("{} cannot be written to: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(unwritten)?;
    let mut written = Vec::new();
    for (name, command) in pages(whole) {
        let file = folder.join(format!("{name}.1"));
        std::fs::write(&file, rendered(command)?).map_err(unwritten)?;
        written.push(file);
    }
    match paper.form {
        Form::Json => paper.json("man", json!({ "files": written })),
        Form::Words => paper.line(&format!("{} pages in {}", written.len(), shown_path(folder))),
    }
}

fn rendered(command: clap::Command) -> Result<Vec<u8>, Failure> {
    let mut page = Vec::new();
    Man::new(command)
        .render(&mut page)
        .map_err(|error| Failure::failed(format!("the manual cannot be made: {error}")))?;
    Ok(page)
}

/// Each command with those below it, under the name its page has: `scrubjay-memory-ls`.
fn pages(command: clap::Command) -> Vec<(String, clap::Command)> {
    let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
    let below = command.get_subcommands().filter(|below| below.get_name() != "help" && !below.is_hide_set());
    let below: Vec<_> = below.cloned().flat_map(pages).collect();
    std::iter::once((name, command)).chain(below).collect()
}
