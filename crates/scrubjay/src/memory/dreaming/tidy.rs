//! Tidying without a model: what needs no judgement is done, what needs some is listed.

use super::repair::{self, Link};
use super::world::{Known, Step, World};
use crate::digest::Digest;
use crate::limits::Limits;
use crate::memory::journal::{Cause, Recorded};
use crate::memory::similarity::{self, Analysis, Relation};
use crate::memory::{Memory, MemoryError, Topic, Trust, freshness, index};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};
use tokio_util::sync::CancellationToken;

/// What code did by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fix {
    /// Two memories said the same; one of them says it now.
    Merged {
        /// The one that stays.
        kept: String,
        /// The one that goes.
        gone: String,
    },
    /// Dates were made absolute.
    Dated(String),
    /// A link led nowhere; its words stay.
    Unlinked {
        /// In which memory.
        path: String,
        /// Where it led.
        target: String,
    },
    /// A description was too long for its line; it stands in the text now.
    Shortened(String),
}

/// What somebody has to judge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// Two memories do not agree.
    Contradiction {
        /// The one that was written later.
        newer: String,
        /// What it says.
        newer_says: String,
        /// The other.
        older: String,
        /// What that says.
        older_says: String,
    },
    /// Two memories are much alike.
    Alike(String, String),
    /// A memory mentions what is not there any more.
    Drifted {
        /// Which.
        path: String,
        /// What is gone.
        gone: Vec<String>,
    },
    /// The index does not fit what a session begins with.
    IndexTooLong {
        /// Its lines.
        lines: u64,
        /// How many are loaded.
        most: u64,
        /// The memories that earn their place least, those first that were shown and never used.
        least: Vec<String>,
    },
}

impl Finding {
    /// The memories it is about.
    pub fn paths(&self) -> Vec<&str> {
        match self {
            Finding::Contradiction { newer, older, .. } => vec![newer, older],
            Finding::Alike(one, other) => vec![one, other],
            Finding::Drifted { path, .. } => vec![path],
            Finding::IndexTooLong { .. } => Vec::new(),
        }
    }
}

impl Fix {
    /// The memory that says something else for it.
    fn path(&self) -> &str {
        match self {
            Fix::Merged { kept: path, .. } | Fix::Dated(path) | Fix::Unlinked { path, .. } | Fix::Shortened(path) => {
                path
            }
        }
    }
}

impl fmt::Display for Fix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fix::Merged { kept, gone } => write!(f, "{gone} was merged into {kept}"),
            Fix::Dated(path) => write!(f, "{path}: dates were made absolute"),
            Fix::Unlinked { path, target } => {
                write!(f, "{path}: a link to {target}, which is gone, is plain words now")
            }
            Fix::Shortened(path) => write!(f, "{path}: its description moved into the text and is short now"),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Finding::Contradiction { newer, newer_says, older, older_says } => {
                write!(f, "{newer} (newer) says “{newer_says}” and {older} says “{older_says}”: which holds?")
            }
            Finding::Alike(one, other) => write!(f, "{one} and {other} are much alike: one memory or two?"),
            Finding::Drifted { path, gone } => {
                write!(f, "{path} mentions what is not there any more: {}", gone.join(", "))
            }
            Finding::IndexTooLong { lines, most, least } => {
                write!(f, "the index has {lines} lines and {most} are loaded: what can be merged? ")?;
                write!(f, "The least used are {}", least.join(", "))
            }
        }
    }
}

/// What tidying found and did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// How many memories were looked at.
    pub memories: usize,
    /// What code did.
    pub fixes: Vec<Fix>,
    /// What is left to judge.
    pub findings: Vec<Finding>,
}

/// Of an index that is too long so many memories are named that could make room.
const NAMED: usize = 20;

/// What tidying works with besides the memories.
pub(super) struct Around<'a> {
    pub(super) memory: &'a Path,
    pub(super) root: &'a Path,
    pub(super) zone: &'a TimeZone,
    pub(super) limits: &'a Limits,
    pub(super) stop: &'a CancellationToken,
}

/// A memory while it is being tidied.
struct Draft {
    topic: Topic,
    merged: Vec<String>,
    notes: Vec<&'static str>,
}

/// Tidy: the steps that need no judgement, and a report of those and of what is left.
pub(super) fn tidy(world: &World, days: &Days, around: &Around<'_>) -> (Vec<Step>, Report) {
    let mut report = Report { memories: world.memories.len(), ..Report::default() };
    let mut drafts = repaired(world, days, around, &mut report);
    let into = join(world, &mut drafts, around.limits, &mut report);
    relink(world, &mut drafts, &into, around, &mut report);
    drift(&drafts, around, &mut report);
    // Where not all can be judged, those about what is used come before those about what is not.
    let worth = |finding: &Finding| finding.paths().into_iter().map(|path| world.worth(path)).fold(0.0, f64::max);
    report.findings.sort_by(|a, b| worth(b).total_cmp(&worth(a)));
    let (lines, most) = (drafts.len() as u64, around.limits.index_lines);
    if let Some(over) = lines.checked_sub(most).filter(|over| *over > 0) {
        let least = least_used(world, &drafts, usize::try_from(over).unwrap_or(usize::MAX).min(NAMED));
        report.findings.insert(0, Finding::IndexTooLong { lines, most, least });
    }
    let mut steps = steps(world, drafts, &into, around.limits);
    let declined: Vec<Step> = steps.extract_if(.., |step| world.is_left_alone(step)).collect();
    report.fixes.retain(|fix| !declined.iter().any(|step| step.path == fix.path()));
    (steps, report)
}

/// So many memories that earn their place least, the least first; of two that are worth the same the older one.
fn least_used(world: &World, drafts: &BTreeMap<String, Draft>, count: usize) -> Vec<String> {
    let mut paths: Vec<&String> = drafts.keys().collect();
    paths.sort_by(|a, b| {
        world.worth(a).total_cmp(&world.worth(b)).then_with(|| modified(world, a).cmp(&modified(world, b)))
    });
    paths.into_iter().take(count).cloned().collect()
}

fn repaired(world: &World, days: &Days, around: &Around<'_>, report: &mut Report) -> BTreeMap<String, Draft> {
    let mut drafts = BTreeMap::new();
    for (path, known) in &world.memories {
        let mut draft = Draft { topic: known.topic.clone(), merged: Vec::new(), notes: Vec::new() };
        let day = |paragraph: &str| days.of(path, paragraph, known.entry.modified(), around.zone);
        let (body, description) = (repair::dated(&draft.topic.body, day), repair::dated(&draft.topic.description, day));
        if body != draft.topic.body || description != draft.topic.description {
            (draft.topic.body, draft.topic.description) = (body, description);
            draft.notes.push("dates made absolute");
            report.fixes.push(Fix::Dated(path.clone()));
        }
        if let Some(short) = index::fitted(&draft.topic, path, around.limits) {
            draft.topic = short;
            draft.notes.push("description shortened");
            report.fixes.push(Fix::Shortened(path.clone()));
        }
        drafts.insert(path.clone(), draft);
    }
    drafts
}

/// Merge what says the same; list what does not agree. Returns where the facts of merged memories went.
fn join(
    world: &World,
    drafts: &mut BTreeMap<String, Draft>,
    limits: &Limits,
    report: &mut Report,
) -> BTreeMap<String, String> {
    let mut taken: Vec<Analysis> = drafts.iter().map(|(path, draft)| Analysis::of(path, &draft.topic)).collect();
    let common = similarity::common(taken.iter());
    let pairs = similarity::pairs(&taken, limits);
    let mut into = BTreeMap::new();
    for (a, b) in &pairs {
        let (one, other) = (&taken[*a], &taken[*b]);
        let stand = !into.contains_key(&one.path) && !into.contains_key(&other.path);
        let same = || similarity::relation(one, other, &common) == Some(Relation::Same);
        if !stand || !may_merge(world, &one.path, &other.path) || !same() {
            continue;
        }
        let (kept, gone) = if keeps_first(world, one, other) { (*a, *b) } else { (*b, *a) };
        let topic = similarity::merged(&taken[kept], &taken[gone]);
        let (kept_path, gone_path) = (taken[kept].path.clone(), taken[gone].path.clone());
        taken[kept] = Analysis::of(&kept_path, &topic);
        let merged = drafts.remove(&gone_path).map(|draft| draft.merged).unwrap_or_default();
        if let Some(draft) = drafts.get_mut(&kept_path) {
            draft.topic = topic;
            draft.merged.extend(merged.into_iter().chain([gone_path.clone()]));
        }
        report.fixes.push(Fix::Merged { kept: kept_path.clone(), gone: gone_path.clone() });
        into.insert(gone_path, kept_path);
    }
    // What was said five times over and is said once now is no common word any more.
    let common = similarity::common(taken.iter().filter(|one| !into.contains_key(&one.path)));
    let pairs = pairs.iter().map(|(a, b)| (&taken[*a], &taken[*b]));
    let left = pairs.filter(|(one, other)| !into.contains_key(&one.path) && !into.contains_key(&other.path));
    let judged = left.filter_map(|(one, other)| {
        let relation = similarity::relation(one, other, &common)?;
        Some(judged(world, one.path.clone(), other.path.clone(), relation))
    });
    report.findings.extend(judged);
    into
}

fn judged(world: &World, one: String, other: String, relation: Relation) -> Finding {
    let Relation::Disputed(one_says, other_says) = relation else { return Finding::Alike(one, other) };
    if modified(world, &one) >= modified(world, &other) {
        Finding::Contradiction { newer: one, newer_says: one_says, older: other, older_says: other_says }
    } else {
        Finding::Contradiction { newer: other, newer_says: other_says, older: one, older_says: one_says }
    }
}

fn modified(world: &World, path: &str) -> Option<Timestamp> {
    world.memories.get(path).map(|known| known.entry.modified())
}

/// Whether what a merge would drop besides the text is nothing (how far two may be trusted, and keys only others know), and the
/// person did not take them apart before.
fn may_merge(world: &World, one: &str, other: &str) -> bool {
    let (Some(one), Some(other)) = (world.memories.get(one), world.memories.get(other)) else { return false };
    let foreign = |text: &str| {
        let document = crate::frontmatter::parse(text, &["name", "description", "type"], &Limits::default());
        document.unknown().map(str::to_owned).collect::<Vec<_>>()
    };
    // What nobody said anything about was written by hand, and is trusted as such.
    let trust = |known: &Known| known.trust.unwrap_or(Trust::Clean);
    !world.are_parted(one, other) && trust(one) == trust(other) && foreign(&one.text) == foreign(&other.text)
}

/// The one that earned its place stays, under its name and its description; of two that did alike the longer one, and of two
/// that are as long the newer one.
fn keeps_first(world: &World, one: &Analysis, other: &Analysis) -> bool {
    let rank = |taken: &Analysis| {
        let (is_copy, worth) = (taken.path.contains(".conflict-"), world.worth(&taken.path));
        (!is_copy, worth, taken.sayings.len(), taken.words.len(), modified(world, &taken.path))
    };
    rank(one) >= rank(other)
}

/// Links follow what was merged; those that lead nowhere become plain words.
fn relink(
    world: &World,
    drafts: &mut BTreeMap<String, Draft>,
    into: &BTreeMap<String, String>,
    around: &Around<'_>,
    report: &mut Report,
) {
    let standing: BTreeSet<String> = drafts.keys().cloned().collect();
    for (path, draft) in drafts.iter_mut() {
        let beside = Path::new(path).parent().unwrap_or(Path::new(""));
        let decide = |target: &str| {
            let file = target.split(['#', '?']).next().unwrap_or_default().trim_start_matches("./");
            let is_memory = file.ends_with(".md") && !file.contains([':', '%']) && !file.starts_with(['/', '~']);
            let inside = beside.join(file).to_string_lossy().into_owned();
            match into.get(&inside) {
                Some(kept) if is_memory => Link::Leads(end(into, kept).to_owned()),
                _ if !is_memory || standing.contains(&inside) || file.contains("..") => Link::Stays,
                _ if is_there(&around.memory.join(&inside)) || is_there(&around.root.join(file)) => Link::Stays,
                _ => Link::Dead,
            }
        };
        let (body, dead) = repair::relinked(&draft.topic.body, decide);
        if body != draft.topic.body {
            draft.topic.body = body;
            draft.notes.push("links repaired");
        }
        let was_linked = |target: &String| world.memories.get(path).is_some_and(|known| known.text.contains(target));
        let dead = dead.into_iter().filter(was_linked);
        report.fixes.extend(dead.map(|target| Fix::Unlinked { path: path.clone(), target }));
    }
}

fn end<'a>(into: &'a BTreeMap<String, String>, from: &'a str) -> &'a str {
    let mut at = from;
    for _ in 0..into.len() {
        match into.get(at) {
            Some(next) => at = next,
            None => break,
        }
    }
    at
}

/// Only "not found" means that nothing is there.
fn is_there(path: &Path) -> bool {
    !path.symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}

fn drift(drafts: &BTreeMap<String, Draft>, around: &Around<'_>, report: &mut Report) {
    let files: Vec<(PathBuf, &str)> =
        drafts.iter().map(|(path, draft)| (around.memory.join(path), draft.topic.body.as_str())).collect();
    let texts: Vec<_> = files.iter().map(|(path, text)| freshness::Memory { path, text }).collect();
    let gone = freshness::drift(&texts, around.root, around.limits, around.stop);
    let drifted = drafts.keys().zip(gone).filter(|(_, gone)| !gone.is_empty());
    report.findings.extend(drifted.map(|(path, gone)| Finding::Drifted { path: path.clone(), gone }));
}

fn steps(
    world: &World,
    drafts: BTreeMap<String, Draft>,
    into: &BTreeMap<String, String>,
    limits: &Limits,
) -> Vec<Step> {
    let mut steps = Vec::new();
    for (path, known) in &world.memories {
        let step = Step {
            path: path.clone(),
            base: Some(known.entry.digest.clone()),
            before: Some(known.text.clone()),
            after: None,
            merged: Vec::new(),
            into: into.get(path).map(|kept| end(into, kept).to_owned()),
            sources: Vec::new(),
            cited: Vec::new(),
            keeps_age: true,
            because: "said by another memory".to_owned(),
        };
        let Some(draft) = drafts.get(path) else {
            steps.push(step);
            continue;
        };
        if draft.topic == known.topic && draft.merged.is_empty() {
            continue;
        }
        let mut notes: Vec<String> = draft.notes.iter().map(|note| (*note).to_owned()).collect();
        if !draft.merged.is_empty() {
            notes.push(format!("merged with {}", draft.merged.join(", ")));
        }
        let after = Some(known.saying(&draft.topic, limits));
        steps.push(Step { after, merged: draft.merged.clone(), because: notes.join("; "), ..step });
    }
    steps
}

/// When each paragraph of a memory was written, as far as the journal knows.
#[derive(Debug, Default)]
pub(super) struct Days {
    texts: HashMap<String, Vec<(Timestamp, String)>>,
}

impl Days {
    /// Look up the memories that have dates which need it.
    pub(super) fn read(memory: &Memory, world: &World) -> Result<Self, MemoryError> {
        let wanted: BTreeSet<&str> = world
            .memories
            .iter()
            .filter(|(_, known)| repair::has_relative_dates(&known.text))
            .map(|(path, _)| path.as_str())
            .collect();
        let mut days = Self::default();
        if wanted.is_empty() {
            return Ok(days);
        }
        // What somebody wrote without the engine is as old as its file says.
        let by_engine = |change: &Recorded| !matches!(change.cause, Cause::Outside | Cause::Import { .. });
        for change in memory.log()?.into_iter().filter(by_engine) {
            for edit in change.edits {
                if let Some(text) = edit.text.filter(|_| wanted.contains(edit.path.as_str())) {
                    days.texts.entry(edit.path).or_default().push((change.at, text));
                }
            }
        }
        Ok(days)
    }

    /// The first day since which a memory has said this without a break; otherwise the day of its file.
    fn of(&self, path: &str, paragraph: &str, modified: Timestamp, zone: &TimeZone) -> Date {
        let said = self.texts.get(path).map(Vec::as_slice).unwrap_or_default().iter().rev();
        let first = said.take_while(|(_, text)| text.contains(paragraph.trim())).last();
        first.map_or(modified, |(at, _)| *at).to_zoned(zone.clone()).date()
    }
}

/// What tells a finding from every other: what it says, and about which texts.
pub(super) fn key(finding: &Finding, world: &World) -> String {
    let mut key = match finding {
        // As long as it is too long, it is the same finding.
        Finding::IndexTooLong { .. } => "index too long".to_owned(),
        other => other.to_string(),
    };
    for path in finding.paths() {
        if let Some(known) = world.memories.get(path) {
            key.push_str(known.entry.digest.as_str());
        }
    }
    Digest::of(key.as_bytes()).as_str().to_owned()
}
