//! The gates of a dream's result: what changed rests on something, nothing is forgotten, little is removed, everything can
//! still be found, and no hard fact came in from elsewhere. One refusal, and it waits for a person.

use super::world::{Known, Step, World, successors};
use crate::limits::Limits;
use crate::memory::hard_facts::{self, Passage};
use crate::memory::recall::{Document, Index, Query, content_words};
use crate::memory::similarity::{Kinship, Saying, is_said, sayings};
use crate::memory::{Kind, Topic, index, name};
use crate::secrets;
use jiff::Zoned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Why a dream does not land by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// Something new is said and nothing is named that it rests on.
    NoSource {
        /// Where.
        path: String,
        /// What.
        says: String,
    },
    /// Words are quoted that nobody said.
    Misquoted {
        /// Where.
        path: String,
        /// Which.
        quote: String,
    },
    /// A number, a date, a name of a thing or an address is stated that no source has.
    Unsupported {
        /// Where.
        path: String,
        /// Which.
        fact: String,
    },
    /// Something is no longer said, and nothing contradicts it.
    Forgotten {
        /// Where it was said.
        path: String,
        /// What.
        said: String,
    },
    /// Too many memories would go.
    TooManyRemoved {
        /// How many.
        removed: u64,
        /// Of how many.
        of: u64,
    },
    /// A memory would not be found any more.
    NotFound {
        /// Which.
        path: String,
        /// By what it was found before.
        question: String,
    },
    /// The index would grow beyond what is loaded.
    IndexTooLong {
        /// Its lines.
        lines: u64,
        /// Its bytes.
        bytes: u64,
    },
    /// What the person vouches for would rest on what somebody else said.
    Taints(String),
    /// A credential would be kept.
    Credential(String),
    /// No memory can be called that, or hold that.
    Unfit {
        /// Which.
        path: String,
        /// Why.
        why: String,
    },
    /// The model did not come to an end.
    Unfinished,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::NoSource { path, says } => write!(f, "{path} would say “{says}” and names nothing it rests on"),
            Refusal::Misquoted { path, quote } => write!(f, "{path} quotes “{quote}”, which nobody said"),
            Refusal::Unsupported { path, fact } => write!(f, "{path} states “{fact}”, which is in none of its sources"),
            Refusal::Forgotten { path, said } => write!(f, "{path} says “{said}”, and nobody would say it any more"),
            Refusal::TooManyRemoved { removed, of } => write!(f, "{removed} of {of} memories would go"),
            Refusal::NotFound { path, question } => write!(f, "{path} would not be found any more by “{question}”"),
            Refusal::IndexTooLong { lines, bytes } => {
                write!(f, "the index would have {lines} lines and {bytes} bytes, more than are loaded")
            }
            Refusal::Taints(path) => {
                write!(f, "{path} would rest on a conversation that a dream read whole, not only on your words")
            }
            Refusal::Credential(path) => write!(f, "{path} would hold a credential"),
            Refusal::Unfit { path, why } => write!(f, "{path}: {why}"),
            Refusal::Unfinished => write!(f, "the model did not come to an end"),
        }
    }
}

/// Who decided on the steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// Code, which adds no words but dates.
    Code,
    /// A model, whose hard facts and sources are checked.
    Model,
}

/// Everything that speaks against these steps.
pub(super) fn trial(world: &World, steps: &[Step], by: By, now: &Zoned, limits: &Limits) -> Vec<Refusal> {
    if steps.is_empty() {
        return Vec::new();
    }
    let after = world.after(steps, limits);
    let mut refusals = Vec::new();
    for step in steps {
        refusals.extend(unfit(step, world, limits));
        if by == By::Model {
            refusals.extend(unsourced(step, world, limits));
            refusals.extend(taints(step, world, limits));
        }
        refusals.extend(forgotten(step, world, &after));
    }
    let (removed, of) = (steps.iter().filter(|step| step.is_removal()).count() as u64, world.memories.len() as u64);
    if removed * 100 > limits.dream_removed_percent * of {
        refusals.push(Refusal::TooManyRemoved { removed, of });
    }
    refusals.extend(too_long(world, &after, limits));
    refusals.extend(not_found(world, &after, steps, now, limits));
    refusals
}

fn unfit(step: &Step, world: &World, limits: &Limits) -> Option<Refusal> {
    let text = step.after.as_ref()?;
    let unfit = |why: &str| Some(Refusal::Unfit { path: step.path.clone(), why: why.to_owned() });
    let file = step.path.rsplit('/').next().unwrap_or_default();
    match name::parts(&step.path) {
        Err(why) => return unfit(why),
        Ok(_) if step.base.is_none() && !name::is_slug(file) => return unfit("a new memory needs a plain name"),
        Ok(_) => {}
    }
    if text.len() as u64 > limits.memory_file_bytes {
        return unfit("it would be too long");
    }
    let known: String = sources_in(step, world).into_iter().map(|known| known.text.as_str()).collect();
    let is_new = |found: &secrets::Finding| !known.contains(&text[found.span.clone()]);
    secrets::scan(text).iter().any(is_new).then(|| Refusal::Credential(step.path.clone()))
}

/// The memories whose words a step may use: its own and those it takes over.
fn sources_in<'a>(step: &Step, world: &'a World) -> Vec<&'a Known> {
    std::iter::once(&step.path).chain(&step.merged).filter_map(|path| world.memories.get(path)).collect()
}

/// New statements need a source, and their hard facts must occur in it. How they are worded is not judged.
fn unsourced(step: &Step, world: &World, limits: &Limits) -> Vec<Refusal> {
    let Some(text) = &step.after else { return Vec::new() };
    let (topic, known) = (Topic::read(text, limits), sources_in(step, world));
    let path = || step.path.clone();
    if step.sources.is_empty() && step.merged.is_empty() {
        let said: Vec<Saying> = known.into_iter().flat_map(|known| all_sayings(&known.topic)).collect();
        let news = all_sayings(&topic).into_iter();
        let news = news.filter(|saying| saying.says_something() && !is_said(saying, &said));
        return news.map(|saying| Refusal::NoSource { path: path(), says: saying.text }).collect();
    }
    let memories = known.iter().map(|known| Passage { text: &known.text, day: None });
    let cited = step.cited.iter().map(|(text, day)| Passage { text, day: Some(*day) });
    let shown: Vec<Passage<'_>> = memories.chain(cited).collect();
    let stated = [topic.name.as_str(), &topic.description, &topic.body].join("\n");
    let missing = hard_facts::unsupported(&stated, &shown).into_iter();
    missing.map(|fact| Refusal::Unsupported { path: path(), fact: fact.to_string() }).collect()
}

/// What a memory says, its description included.
fn all_sayings(topic: &Topic) -> Vec<Saying> {
    let mut all = sayings(&topic.body);
    all.extend([Saying::of(&topic.description), Saying::of(&topic.name)]);
    all
}

/// What the person vouches for must not come to rest on what others said.
fn taints(step: &Step, world: &World, limits: &Limits) -> Option<Refusal> {
    let text = step.after.as_ref()?;
    // Whoever dreams reads whole conversations, not only the user's words.
    let foreign = !step.sources.is_empty();
    let touches = world.memories.contains_key(&step.path) || !step.merged.is_empty();
    let about_person = matches!(Topic::read(text, limits).kind, Kind::User | Kind::Feedback);
    (foreign && (touches || about_person)).then(|| Refusal::Taints(step.path.clone()))
}

/// Whatever was said is still said by whoever took it over, or something that does not agree with it is.
fn forgotten(step: &Step, world: &World, after: &World) -> Vec<Refusal> {
    let Some(was) = world.memories.get(&step.path) else { return Vec::new() };
    if step.is_removal() {
        return Vec::new();
    }
    let heir = step.into.as_deref().unwrap_or(&step.path);
    let Some(now) = after.memories.get(heir) else {
        let said = was.topic.description.clone();
        return vec![Refusal::Forgotten { path: step.path.clone(), said }];
    };
    let now = all_sayings(&now.topic);
    let named = !step.sources.is_empty() || !step.merged.is_empty() || step.into.is_some();
    let settling = if named { Settling::Allowed } else { Settling::Refused };
    let was = sayings(&was.topic.body).into_iter().filter(Saying::says_something);
    let lost = was.filter(|saying| !is_kept(saying, &now, settling));
    lost.map(|saying| Refusal::Forgotten { path: step.path.clone(), said: saying.text }).collect()
}

/// Whether one of two sayings that do not agree may take the other's place: only where something is named it rests on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Settling {
    Allowed,
    Refused,
}

fn is_kept(saying: &Saying, now: &[Saying], settling: Settling) -> bool {
    let settled = |other: &Saying| settling == Settling::Allowed && other.kinship(saying) == Kinship::Disputes;
    is_said(saying, now) || now.iter().any(|other| other.rewords(saying) || settled(other))
}

fn too_long(before: &World, after: &World, limits: &Limits) -> Option<Refusal> {
    let size = |world: &World| {
        let lines = world.memories.values().map(|known| index::line(&known.entry, &known.entry.path, limits));
        lines.fold((0, 0), |(lines, bytes), line| (lines + 1, bytes + line.len() as u64 + 1))
    };
    let ((lines, bytes), (old_lines, old_bytes)) = (size(after), size(before));
    let fits = lines <= limits.index_lines.max(old_lines) && bytes <= limits.index_bytes.max(old_bytes);
    (!fits).then_some(Refusal::IndexTooLong { lines, bytes })
}

/// What steps would come to, as recall and the index see it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tried {
    /// Questions of the recall test.
    pub asked: u64,
    /// How many of them find their memory now.
    pub found_before: u64,
    /// How many would find it, or whoever took over what it said.
    pub found_after: u64,
    /// Lines of the index now.
    pub lines_before: u64,
    /// Lines it would have.
    pub lines_after: u64,
}

/// Try these steps, and count.
pub(super) fn tried(world: &World, steps: &[Step], now: &Zoned, limits: &Limits) -> Tried {
    let after = world.after(steps, limits);
    let answers = answers(world, &after, steps, now, limits);
    let count = |found: fn(&Answered<'_>) -> bool| answers.iter().filter(|answer| found(answer)).count() as u64;
    Tried {
        asked: answers.len() as u64,
        found_before: count(|answer| answer.before),
        found_after: count(|answer| answer.after),
        lines_before: world.memories.len() as u64,
        lines_after: after.memories.len() as u64,
    }
}

/// A question of the recall test, and whether it finds the memory it is about.
struct Answered<'a> {
    path: &'a str,
    question: String,
    untouched: bool,
    before: bool,
    after: bool,
}

/// The recall test: what found a memory before still finds it, or whoever took over what it said.
fn answers<'a>(before: &'a World, after: &World, steps: &[Step], now: &Zoned, limits: &Limits) -> Vec<Answered<'a>> {
    let (old, new) = (index_of(before), index_of(after));
    let heirs = successors(steps);
    let changed: BTreeMap<&str, &Step> = steps.iter().map(|step| (step.path.as_str(), step)).collect();
    let mut questions = Vec::new();
    for (path, known) in &before.memories {
        let step = changed.get(path.as_str());
        if step.is_some_and(|step| step.is_removal()) {
            continue;
        }
        let asked = [known.topic.description.clone(), one_sentence(&known.topic)];
        let asked = asked.into_iter().filter(|question| content_words(question).len() >= 2);
        questions.extend(asked.map(|question| (step.is_none(), path.as_str(), question)));
    }
    // Changed memories first; of the others as many as may be asked.
    questions.sort_by_key(|(untouched, _, _)| *untouched);
    questions.truncate(usize::try_from(limits.dream_recall_queries).unwrap_or(usize::MAX));
    let finds = |index: &Index, question: &str, path: &str| {
        let query = Query::new(question, now.clone(), usize::try_from(limits.recall_places).unwrap_or(usize::MAX));
        index.recall(&query).iter().any(|hit| hit.id == path)
    };
    let answered = |(untouched, path, question): (bool, &'a str, String)| {
        let heir = heirs.get(path).copied().unwrap_or(path);
        let (before, after) = (finds(&old, &question, path), finds(&new, &question, heir));
        Answered { path, question, untouched, before, after }
    };
    questions.into_iter().map(answered).collect()
}

/// What would not be found any more.
fn not_found(before: &World, after: &World, steps: &[Step], now: &Zoned, limits: &Limits) -> Vec<Refusal> {
    let (mut lost, mut shifted, mut gained) = (Vec::new(), Vec::new(), 0);
    for answer in answers(before, after, steps, now, limits) {
        let refusal = || Refusal::NotFound { path: answer.path.to_owned(), question: answer.question.clone() };
        match (answer.before, answer.after) {
            (true, false) if answer.untouched => shifted.push(refusal()),
            (true, false) => lost.push(refusal()),
            (false, true) => gained += 1,
            _ => {}
        }
    }
    // What was not touched may change places with its neighbours, as long as no less is found in all.
    if shifted.len() > gained {
        lost.append(&mut shifted);
    }
    lost
}

/// The sentence that says the most.
fn one_sentence(topic: &Topic) -> String {
    let longest = sayings(&topic.body).into_iter().max_by_key(|saying| saying.words.len());
    longest.map(|saying| saying.text).unwrap_or_default()
}

fn index_of(world: &World) -> Index {
    let documents = world.memories.iter().map(|(path, known)| Document {
        id: path.clone(),
        name: known.entry.name.clone(),
        description: known.topic.description.clone(),
        body: known.topic.body.clone(),
        kind: known.topic.kind.as_str().to_owned(),
        time: Some(known.entry.modified()),
        ..Document::default()
    });
    let mut index = Index::default();
    index.update(documents, []);
    index
}
