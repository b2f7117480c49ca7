//! Skill: instructions for a kind of task, kept in `SKILL.md` folders, loaded when they are needed.

use super::file::{explain, load, load_resolved};
use super::input::{at_once, card, parse};
use super::place::resolve;
use super::shown::{counted, cut, shown, shown_path};
use crate::limits::Limits;
use crate::model::Pending;
use crate::tool::{Bench, Effect, Tool, ToolOutcome};
use crate::transcript::ToolSpec;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Loads a skill.
pub struct Skill {
    spec: ToolSpec,
    /// The file of each skill, by name.
    files: BTreeMap<String, PathBuf>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    name: String,
}

impl Skill {
    /// The skills in these directories, or nothing when there are none: then the tool is not offered. Where two skills
    /// have one name, the earlier directory wins. The listing is made once, here, because it is part of what every
    /// request begins with.
    pub fn in_dirs(dirs: &[PathBuf], limits: &Limits) -> Option<Self> {
        let mut files = BTreeMap::new();
        let mut listing = String::new();
        for folder in dirs.iter().flat_map(|dir| folders(&resolve(dir, ""))) {
            let file = folder.join("SKILL.md");
            if let Some(name) = folder.file_name().and_then(|name| name.to_str()).filter(|name| is_name(name))
                && is_itself(&file)
            {
                files.entry(name.to_owned()).or_insert(file);
            }
        }
        files.retain(|name, file| match description(file, limits) {
            Some(text) => {
                listing.push_str(&format!("- {name}: {text}\n"));
                true
            }
            None => false,
        });
        let names: Vec<&String> = files.keys().collect();
        let spec = card(
            "Skill",
            &include_str!("../../prompts/tools/skill.md").replace("{skills}", listing.trim_end()),
            &["name"],
            json!({ "name": { "type": "string", "enum": names } }),
        );
        (!files.is_empty()).then_some(Self { spec, files })
    }
}

/// The folders of a directory, sorted by name.
fn folders(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
    let mut folders: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

/// No link leads elsewhere: a repository must not make a skill of a file outside of it.
fn is_itself(file: &Path) -> bool {
    resolve(file, "") == file
}

/// A name a model can say back.
fn is_name(name: &str) -> bool {
    !name.starts_with(['.', '-']) && name.chars().all(|letter| letter.is_alphanumeric() || "-_.:".contains(letter))
}

/// The `description:` of a skill's header, on one line. A skill without a readable file is not a skill.
fn description(file: &Path, limits: &Limits) -> Option<String> {
    const SHOWN: u64 = 500;
    let loaded = load(file, limits.front_matter_bytes).ok()?;
    let text = String::from_utf8_lossy(&loaded.bytes);
    let said = text.lines().find_map(|line| line.strip_prefix("description:")).unwrap_or_default();
    let said = said.trim().trim_matches(['"', '\'']);
    Some(if said.is_empty() { "(no description)".to_owned() } else { shown(&cut(said, SHOWN)).into_owned() })
}

impl Tool for Skill {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn effect(&self, _: &Value, _: &Path) -> Effect {
        Effect::Nothing
    }

    fn call<'a>(&'a self, input: &'a Value, bench: &'a Bench<'a>) -> Pending<'a, ToolOutcome> {
        match parse::<Input>(input) {
            Err(refusal) => at_once(refusal),
            Ok(input) => {
                let (file, most) = (self.files.get(&input.name).cloned(), bench.limits.skill_bytes);
                let known = self.files.keys().cloned().collect::<Vec<_>>().join(", ");
                let Some(file) = file else {
                    let name = shown(&input.name).into_owned();
                    return at_once(ToolOutcome::error(format!(
                        "There is no skill called {name}. There are: {known}."
                    )));
                };
                Box::pin(async move {
                    let loading = tokio::task::spawn_blocking(move || text(&file, most));
                    loading.await.unwrap_or_else(|_| ToolOutcome::error("Loading stopped before it was done."))
                })
            }
        }
    }
}

fn text(file: &Path, most: u64) -> ToolOutcome {
    let loaded =
        if is_itself(file) { load_resolved(file, most) } else { Err(std::io::Error::other("it is a link now")) };
    match loaded {
        Err(error) => ToolOutcome::error(format!("{} cannot be loaded: {}.", shown_path(file), explain(&error))),
        Ok(loaded) => {
            let text = String::from_utf8_lossy(&loaded.bytes);
            let folder = shown_path(file.parent().unwrap_or(file));
            let cut = if loaded.whole {
                String::new()
            } else {
                format!("\n[cut after {}; read the rest with Read]", counted(loaded.bytes.len(), "byte"))
            };
            ToolOutcome::ok(format!("Files of this skill lie in {folder}.\n\n{}{cut}", shown(&text)))
        }
    }
}
