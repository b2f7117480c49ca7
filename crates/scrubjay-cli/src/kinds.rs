//! Kinds of agents in a person's hands: what there is, where each comes from, a new one, a changed one.

use crate::editor;
use crate::failure::{Exit, Failure};
use crate::nearest::nearest;
use crate::paper::{Ink, Tone};
use crate::staffed;
use crate::workplace::Workplace;
use scrubjay::agents::definition::{Author, is_kind};
use scrubjay::agents::{Definition, Definitions, Scope};
use scrubjay::memory::draft::cut;
use scrubjay::paths::{create_dir_private, write_private};
use scrubjay::prompts;
use scrubjay::tools::{shown, shown_path};
use serde_json::{Value, json};
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// When a change counts.
pub(crate) const FROM_NOW_ON: &str = "counts from the next start of scrubjay on";

/// How much of a description a list shows.
const WIDTH: usize = 76;

/// What a definition must look like.
const FORM: &str =
    "a definition begins with a header between two lines `---`, with at least a name, and a text follows";

/// Every kind as it is on disk now.
pub(crate) fn all(workplace: &Workplace) -> Definitions {
    Definitions::load(&staffed::folders(workplace), &workplace.limits)
}

/// The kind of this name, or the one that may have been meant.
pub(crate) fn find<'a>(kinds: &'a Definitions, name: &str) -> Result<&'a Definition, Failure> {
    kinds.get(name).ok_or_else(|| {
        let meant = nearest(name, kinds.iter().map(|kind| kind.name.as_str()));
        let meant = meant.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
        Failure::nothing_found(format!("there is no kind of agents `{}`{meant}", shown(name)))
            .fix("`scrubjay agents ls` and /agents list them")
    })
}

/// Where a kind comes from.
fn origin(kind: &Definition) -> String {
    let file = kind.file.as_deref().map(shown_path);
    match (kind.author, file) {
        (Author::Program, _) | (_, None) => "comes with the program".to_owned(),
        (Author::Person, Some(file)) => format!("yours, {file}"),
        (Author::Project, Some(file)) => format!("of this project, {file}"),
    }
}

/// Every kind in two lines.
pub(crate) fn listed(kinds: &Definitions, ink: Ink) -> String {
    let row = |kind: &Definition| {
        let (name, origin) = (ink.paint(Tone::Strong, &kind.name), ink.paint(Tone::Faint, &origin(kind)));
        let about = kind.description.split_whitespace().collect::<Vec<_>>().join(" ");
        format!("{name}  {origin}\n  {}", cut(&shown(&about), WIDTH))
    };
    kinds.iter().map(row).collect::<Vec<_>>().join("\n")
}

/// One kind: what it may do, and what it is told about itself.
pub(crate) fn described(kind: &Definition, ink: Ink) -> String {
    let tools = kind.tools.as_ref().map_or_else(|| "all of its caller's".to_owned(), |tools| tools.join(", "));
    let model = kind.model.as_deref().unwrap_or("its caller's");
    let mut rows = vec![("from", origin(kind)), ("when", kind.description.clone()), ("tools", tools)];
    if !kind.without.is_empty() {
        rows.push(("without", kind.without.join(", ")));
    }
    rows.push(("model", model.to_owned()));
    rows.push(("memory", kind.memory.map_or("none", Scope::word).to_owned()));
    rows.extend(kind.reads_only.then(|| ("may", "only read".to_owned())));
    rows.extend(kind.background.then(|| ("works", "in the background".to_owned())));
    rows.extend(kind.worktree.then(|| ("where", "in a git worktree of its own".to_owned())));
    rows.extend(kind.rounds.map(|rounds| ("rounds", format!("at most {rounds}"))));
    let rows: Vec<String> = rows.iter().map(|(name, value)| format!("  {name:<8} {}", shown(value))).collect();
    format!("{}\n{}\n\n{}", ink.paint(Tone::Strong, &kind.name), rows.join("\n"), shown(&kind.role))
}

/// The same for scripts.
pub(crate) fn as_json(kind: &Definition) -> Value {
    json!({
        "name": kind.name,
        "description": kind.description,
        "author": kind.author.word(),
        "file": kind.file,
        "tools": kind.tools,
        "without": kind.without,
        "model": kind.model,
        "memory": kind.memory.map(Scope::word),
        "reads_only": kind.reads_only,
        "background": kind.background,
        "worktree": kind.worktree,
        "rounds": kind.rounds,
    })
}

/// A definition that was written.
pub(crate) struct Saved {
    pub(crate) kind: Definition,
    pub(crate) file: PathBuf,
    /// What in it was not understood or is not allowed.
    pub(crate) notices: Vec<String>,
    /// Another author's of the same name, which it takes the place of.
    pub(crate) instead_of: Option<Author>,
}

impl Saved {
    /// What was done.
    pub(crate) fn words(&self) -> String {
        let instead = match self.instead_of {
            Some(Author::Program) => ", in place of the one that comes with the program",
            Some(Author::Person) => ", in place of yours",
            Some(Author::Project) => "; but the project has one of the same name, and that counts here",
            None => "",
        };
        format!("the agent {} is in {}{instead}; it {FROM_NOW_ON}", self.kind.name, shown_path(&self.file))
    }

    /// The same for scripts.
    pub(crate) fn json(&self) -> Value {
        let mut data = as_json(&self.kind);
        data["notices"] = json!(self.notices);
        data["instead_of"] = json!(self.instead_of.map(Author::word));
        data
    }
}

/// Define a new kind, for the person or for the project.
pub(crate) fn create(name: &str, about: &str, author: Author, workplace: &Workplace) -> Result<Saved, Failure> {
    if !is_kind(name) {
        return Err(Failure::usage(format!("`{}` cannot be the name of an agent", shown(name)))
            .fix("letters, digits, `-`, `_` and `:`, beginning with a letter or digit, at most 64"));
    }
    let folders = staffed::folders(workplace);
    let folder = if author == Author::Project { folders.project.first() } else { folders.person.first() };
    let file = folder.cloned().unwrap_or_default().join(format!("{}.md", name.replace(':', "-")));
    let known = all(workplace);
    let same = known.get(name);
    let taken = same.filter(|same| same.author == author).and_then(|same| same.file.clone());
    if let Some(taken) = taken.or_else(|| file.symlink_metadata().is_ok().then(|| file.clone())) {
        return Err(Failure::usage(format!("there is already {}", shown_path(&taken)))
            .fix(format!("`scrubjay agents edit {name}` and /agents edit {name} change it")));
    }
    let text = editor::rewritten(&format!("{name}.md"), &prompts::new_agent(name, about), workplace)?;
    let (kind, notices) = checked((name, &text), author, &file, workplace)?;
    let saved = Saved { kind, file, notices, instead_of: same.map(|same| same.author) };
    make(&saved.file, &text, (author == Author::Project).then_some(workplace.root.as_path()))
        .map_err(|error| unsaved(&saved.file, &error, (name, &text), workplace))?;
    Ok(saved)
}

/// Change a kind; nothing where the text stayed as it was.
pub(crate) fn edit(name: &str, workplace: &Workplace) -> Result<Option<Saved>, Failure> {
    let kinds = all(workplace);
    let kind = find(&kinds, name)?;
    let Some(file) = kind.file.clone() else {
        return Err(Failure::new(Exit::Refused, format!("the agent {name} comes with the program and stays as it is"))
            .fix(format!("`scrubjay agents create {name}` makes one of your own that takes its place")));
    };
    let unread = |error| Failure::failed(format!("{} cannot be read: {error}", shown_path(&file)));
    let old = std::fs::read_to_string(&file).map_err(unread)?;
    let text = editor::rewritten(&format!("{name}.md"), &old, workplace)?;
    if text == old {
        return Ok(None);
    }
    let (changed, notices) = checked((name, &text), kind.author, &file, workplace)?;
    replace(&file, &text).map_err(|error| unsaved(&file, &error, (name, &text), workplace))?;
    Ok(Some(Saved { kind: changed, file, notices, instead_of: None }))
}

/// What was written must be an agent of this name; if it is none, it is not lost.
fn checked(
    (name, text): (&str, &str),
    author: Author,
    file: &Path,
    workplace: &Workplace,
) -> Result<(Definition, Vec<String>), Failure> {
    if text.trim().is_empty() {
        return Err(Failure::usage("the definition is empty, so nothing was written").fix(FORM));
    }
    let (kind, notices) = Definition::read(text, author, Some(file), &workplace.limits);
    let why = match kind {
        Some(kind) if kind.name == name => return Ok((kind, notices)),
        Some(kind) => format!("the definition is called `{}` and not `{name}`", kind.name),
        None => "this is no definition of an agent".to_owned(),
    };
    let kept = editor::copy(&format!("{name}.md"), text, workplace)?;
    Err(Failure::usage(format!("{why}, so nothing was changed"))
        .fix(format!("{FORM}; what you wrote is kept in {}", shown_path(&kept))))
}

fn unsaved(file: &Path, error: &io::Error, (name, text): (&str, &str), workplace: &Workplace) -> Failure {
    let failure = Failure::failed(format!("{} cannot be written: {error}", shown_path(file)));
    match editor::copy(&format!("{name}.md"), text, workplace) {
        Ok(kept) => failure.fix(format!("what you wrote is kept in {}", shown_path(&kept))),
        Err(_) => failure,
    }
}

/// A new file. One of the project never ends up outside of it, whatever links the repository brings.
fn make(file: &Path, text: &str, root: Option<&Path>) -> io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    match root {
        None => create_dir_private(folder)?,
        Some(root) => {
            let there = folder.ancestors().find(|dir| dir.symlink_metadata().is_ok()).unwrap_or(root);
            if !there.canonicalize()?.starts_with(root) {
                return Err(io::Error::other("a link leads out of the project"));
            }
            std::fs::create_dir_all(folder)?;
        }
    }
    OpenOptions::new().write(true).create_new(true).open(file)?.write_all(text.as_bytes())
}

/// The new bytes or the old ones, with the permissions it had, and through a link of the person's own.
fn replace(file: &Path, text: &str) -> io::Result<()> {
    let file = file.canonicalize()?;
    let permissions = file.metadata()?.permissions();
    write_private(&file, text.as_bytes())?;
    std::fs::set_permissions(&file, permissions)
}
