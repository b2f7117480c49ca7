//! The copy a model works on: plain files beside the memory, made for one dream and gone after it. What it left there is
//! read back as steps; the marks with which it names what they rest on are checked by code and never reach a memory.

use super::evidence::Evidence;
use super::trial::Refusal;
use super::world::{Step, World};
use crate::frontmatter;
use crate::limits::Limits;
use crate::memory::folder::Folder;
use crate::memory::scan::{Scan, Team, scan};
use crate::memory::{Topic, name};
use crate::paths;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

const BEGINS: &str = "copy-";
const KEYS: &[&str] = &["name", "description", "type", "merged", "cites", "remove"];

/// Where the copy of one dream is; with this it goes away.
#[derive(Debug)]
pub(super) struct Workplace(PathBuf);

impl Workplace {
    pub(super) fn of(dreams: &Path, token: &str) -> Self {
        Self(dreams.join(format!("{BEGINS}{token}")))
    }

    /// The path without links, because that is what tools report.
    pub(super) fn path(&self) -> PathBuf {
        self.0.canonicalize().unwrap_or_else(|_| self.0.clone())
    }
}

impl Drop for Workplace {
    fn drop(&mut self) {
        // Best effort: what stays is swept by the next dream.
        std::fs::remove_dir_all(&self.0).unwrap_or_default();
    }
}

/// Write every memory there, after clearing away what earlier dreams left.
pub(super) fn make(dreams: &Path, workplace: &Workplace, world: &World) -> io::Result<PathBuf> {
    paths::create_dir_private(dreams)?;
    sweep(dreams)?;
    let dir = &workplace.0;
    paths::create_dir_private(dir)?;
    for (path, known) in &world.memories {
        let file = dir.join(path);
        file.parent().map_or(Ok(()), paths::create_dir_private)?;
        std::fs::write(&file, &known.text)?;
    }
    Ok(workplace.path())
}

/// Whoever holds the lease is the only one who dreams: every other copy is left over.
fn sweep(dreams: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(dreams)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(BEGINS) && entry.file_type()?.is_dir() {
            std::fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

/// What a model left: steps from the memories it was given, and what is wrong with how it named their sources.
pub(super) fn harvest(
    dir: &Path,
    world: &World,
    evidence: &Evidence,
    limits: &Limits,
) -> io::Result<(Vec<Step>, Vec<Refusal>)> {
    let found = scan(&Folder::open(dir)?, &Scan::default(), Team::Off, limits)?;
    let mut harvest = Harvest { dir, world, evidence, limits, steps: BTreeMap::new(), refusals: Vec::new() };
    let mut left: BTreeSet<&str> = BTreeSet::new();
    for entry in &found.entries {
        left.insert(&entry.path);
        let text = String::from_utf8_lossy(&std::fs::read(dir.join(&entry.path))?).into_owned();
        if world.memories.get(&entry.path).is_none_or(|known| known.text != text) {
            harvest.take(&entry.path, &text);
        }
    }
    for odd in &found.left_out {
        harvest.refusals.push(Refusal::Unfit { path: odd.path.clone(), why: odd.why.clone() });
    }
    let gone: Vec<&String> = world.memories.keys().filter(|path| !left.contains(path.as_str())).collect();
    gone.into_iter().for_each(|path| harvest.remove(path, None, "the model removed it".to_owned()));
    harvest.follow_merges();
    Ok((harvest.steps.into_values().collect(), harvest.refusals))
}

struct Harvest<'a> {
    dir: &'a Path,
    world: &'a World,
    evidence: &'a Evidence,
    limits: &'a Limits,
    steps: BTreeMap<String, Step>,
    refusals: Vec<Refusal>,
}

impl Harvest<'_> {
    fn take(&mut self, path: &str, text: &str) {
        let document = frontmatter::parse(text, KEYS, self.limits);
        let topic = Topic::read(text, self.limits);
        if let Some(why) = document.get("remove") {
            return self.remove(path, None, why.to_owned());
        }
        if topic.body.trim().is_empty() && topic.description.trim().is_empty() {
            return self.remove(path, None, "the model emptied it".to_owned());
        }
        let merged: Vec<String> = list(&document, "merged").into_iter().map(|name| self.inside(&name)).collect();
        let mut citations = Vec::new();
        for quote in list(&document, "cites") {
            match self.evidence.source_of(&quote) {
                Some(citation) => citations.push(citation),
                None => self.refusals.push(Refusal::Misquoted { path: path.to_owned(), quote }),
            }
        }
        let was = self.world.memories.get(path);
        let after = match was {
            Some(known) => known.saying(&topic, self.limits),
            None => topic.text(),
        };
        // One that took over another may say what it said.
        if merged.is_empty() && was.is_some_and(|known| known.text == after) {
            return;
        }
        let (sources, cited) = citations.into_iter().map(|one| (one.source, (one.text, one.day))).unzip();
        let step = Step {
            path: path.to_owned(),
            base: was.map(|known| known.entry.digest.clone()),
            before: was.map(|known| known.text.clone()),
            after: Some(after),
            merged,
            into: None,
            sources,
            cited,
            keeps_age: false,
            because: "judged by the model".to_owned(),
        };
        self.steps.insert(path.to_owned(), step);
    }

    /// A path as it is among the memories, however the model spelt it.
    fn inside(&self, name: &str) -> String {
        let below = Path::new(name).strip_prefix(self.dir).ok().and_then(Path::to_str).unwrap_or(name);
        below.trim_start_matches("./").to_owned()
    }

    fn remove(&mut self, path: &str, into: Option<String>, because: String) {
        let Some(known) = self.world.memories.get(path) else { return };
        let step = Step {
            path: path.to_owned(),
            base: Some(known.entry.digest.clone()),
            before: Some(known.text.clone()),
            after: None,
            merged: Vec::new(),
            into,
            sources: Vec::new(),
            cited: Vec::new(),
            keeps_age: false,
            because,
        };
        self.steps.insert(path.to_owned(), step);
    }

    /// What was merged goes away, and those who took it over must be there.
    fn follow_merges(&mut self) {
        let merges: Vec<(String, String)> = self
            .steps
            .values()
            .flat_map(|step| step.merged.iter().map(|gone| (gone.clone(), step.path.clone())))
            .collect();
        let mut taken = BTreeSet::new();
        for (gone, kept) in merges {
            let known = name::parts(&gone).is_ok() && self.world.memories.contains_key(&gone);
            match known && gone != kept && taken.insert(gone.clone()) {
                true => self.remove(&gone, Some(kept.clone()), format!("merged into {kept}")),
                false => {
                    let why = format!("it names `{gone}` as merged, which is not there or was merged twice");
                    self.refusals.push(Refusal::Unfit { path: kept, why });
                }
            }
        }
    }
}

/// A list that may also be written as one text.
fn list(document: &frontmatter::Document<'_>, key: &str) -> Vec<String> {
    match document.list(key) {
        [] => document.get(key).filter(|text| !text.trim().is_empty()).map(str::to_owned).into_iter().collect(),
        items => items.to_vec(),
    }
}
