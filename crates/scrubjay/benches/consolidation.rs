//! What a dream finds and does without a model: a store of 400 memories with planted duplicates, contradictions, dead
//! pointers and stale dates, and lists of facts in which later ones overwrite earlier ones.
//!
//! `cargo bench -p scrubjay --bench consolidation -- [Conflict_Resolution.json]`

use jiff::{SignedDuration, Timestamp};
use scrubjay::clock::Clock as _;
use scrubjay::limits::Limits;
use scrubjay::memory::dreaming::{Dreams, Finding, Fix, Judgement, Landed};
use scrubjay::memory::recall::{Document, Index, Query};
use scrubjay::memory::{Cause, Change, Edit, Place, SharedMemory};
use scrubjay::paths::Layout;
use scrubjay_providers::Offline;
use scrubjay_testkit::{FixedClock, Setting, Story};
use std::collections::BTreeSet;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use tokio_util::sync::CancellationToken;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    planted()?;
    match std::env::args().skip(1).find(|word| word.ends_with(".json")) {
        Some(file) => overwritten(Path::new(&file)),
        None => Ok(()),
    }
}

/// A memory to dream over.
struct Store {
    story: Story,
    memory: SharedMemory,
    clock: FixedClock,
}

impl Store {
    fn new() -> Outcome<Self> {
        let (clock, limits) = (FixedClock::default(), Limits::default());
        let mut setting = Setting::new(Arc::new(Offline::new(&limits)));
        setting.clock = clock.clone();
        let story = setting.begin()?;
        let project = Layout::at(story.home.data()).project(Path::new("/bench"), &limits);
        let (memory, _) = SharedMemory::open(&Place::of(&project), &project, Arc::new(clock.clone()), &limits)?;
        Ok(Self { story, memory, clock })
    }

    /// Save these at once, each a minute older than the next.
    fn save(&self, memories: &[(String, String)]) -> Outcome<()> {
        let edits = memories.iter().map(|(path, text)| Edit::create(path.as_str(), text.as_str())).collect();
        self.memory.with(|memory| memory.commit(Change { cause: Cause::Person, edits }))?;
        for (at, (path, _)) in memories.iter().enumerate() {
            let age = SignedDuration::from_mins(i64::try_from(memories.len() - at)?);
            let time: Timestamp = self.clock.now() - age;
            std::fs::File::options().append(true).open(self.memory.dir().join(path))?.set_modified(time.into())?;
        }
        Ok(())
    }

    fn dream(&self) -> Outcome<Landed> {
        let dreams = Dreams::over(
            self.memory.clone(),
            &self.story.home.data(),
            &self.story.home.project(),
            self.story.session.desk(),
        );
        Ok(dreams.plan(dreams.news("story")?, CancellationToken::new())?.land(Judgement::Nobody)?)
    }

    fn pollution(&self) -> Outcome<f64> {
        let root = self.story.home.project();
        let found = self.memory.with(|memory| memory.pollution(&root, &CancellationToken::new()))?;
        Ok(found.share().unwrap_or_default())
    }

    fn texts(&self) -> Outcome<Vec<String>> {
        let paths: Vec<String> = self.memory.with(|memory| memory.list().map(|entry| entry.path.clone()).collect());
        let mut texts = Vec::new();
        for path in paths {
            texts.extend(self.memory.with(|memory| memory.text(&path))?.map(|(_, text)| text));
        }
        Ok(texts)
    }
}

/// Numbers that are the same each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn name(&mut self) -> String {
        const BEGIN: [&str; 16] =
            ["ka", "lo", "mi", "ru", "ta", "ve", "zo", "pi", "su", "ne", "bo", "da", "fi", "go", "hu", "je"];
        const END: [&str; 12] =
            ["rtex", "lden", "nova", "mbra", "ssel", "trix", "quin", "plex", "gard", "wick", "stra", "zeno"];
        let mut part = |of: &[&'static str]| of[usize::try_from(self.roll(of.len() as u64)).unwrap_or(0)];
        format!("{}{}{}", part(&BEGIN), part(&BEGIN), part(&END))
    }
}

const PEOPLE: [&str; 8] = ["Ada", "Grace", "Alan", "Barbara", "Edsger", "Donald", "Frances", "Niklaus"];
const BASE: usize = 300;
const EXACT: usize = 30;
const NEAR: usize = 30;
const CONTRADICTED: usize = 40;
const DEAD: usize = 25;
const STALE: usize = 25;

/// What a memory says: two sentences, and the detail in the first.
struct Fact {
    name: String,
    first: [String; 2],
    detail: String,
    second: String,
}

impl Fact {
    fn new(kind: usize, dice: &mut Dice) -> Self {
        let (name, other) = (dice.name(), dice.name());
        let person = PEOPLE[usize::try_from(dice.roll(8)).unwrap_or(0)];
        let number = 1_000 + dice.roll(9_000);
        let (before, after, second) = match kind % 6 {
            0 => (format!("The {name} service listens on port "), ".".to_owned(), format!("Its logs go to {other}.")),
            1 => (
                format!("The backup of {name} keeps "),
                " files.".to_owned(),
                format!("{person} checks it against {other}."),
            ),
            2 => (
                format!("Restarting {name} takes "),
                " seconds.".to_owned(),
                format!("Never do it while {other} migrates."),
            ),
            3 => (
                format!("The customer {name} pays "),
                " euros.".to_owned(),
                format!("{person} sends the bill through {other}."),
            ),
            4 => (
                format!("The dashboard of {name} shows "),
                " points.".to_owned(),
                format!("It was built by {person} for {other}."),
            ),
            _ => (
                format!("The cache of {name} holds "),
                " entries.".to_owned(),
                format!("Ask {person} before you clear {other}."),
            ),
        };
        Self { name, first: [before, after], detail: number.to_string(), second }
    }

    fn sentence(&self, detail: &str) -> String {
        format!("{}{detail}{}", self.first[0], self.first[1])
    }

    fn text(&self, description: &str, body: &str) -> String {
        format!("---\nname: {}\ndescription: {description} {}\ntype: project\n---\n{body}\n", self.name, self.name)
    }
}

struct Planted {
    memories: Vec<(String, String)>,
    /// Words that must still be said somewhere.
    facts: Vec<String>,
    duplicates: BTreeSet<[String; 2]>,
    contradictions: BTreeSet<[String; 2]>,
    dead: BTreeSet<String>,
    stale: BTreeSet<String>,
}

fn plant() -> Planted {
    let mut dice = Dice(7);
    let base: Vec<Fact> = (0..BASE).map(|kind| Fact::new(kind, &mut dice)).collect();
    let path = |kind: &str, at: usize| format!("project_{kind}_{at:03}.md");
    let mut planted = Planted {
        memories: Vec::new(),
        facts: Vec::new(),
        duplicates: BTreeSet::new(),
        contradictions: BTreeSet::new(),
        dead: BTreeSet::new(),
        stale: BTreeSet::new(),
    };
    for (at, fact) in base.iter().enumerate() {
        let (first, from_end) = (fact.sentence(&fact.detail), BASE - 1 - at);
        let mut body = format!("{first} {}", fact.second);
        planted.facts.extend([first, fact.second.clone()]);
        if from_end < DEAD {
            body.push_str(&format!(" See [the notes on {}](project_gone_{at}.md).", fact.name));
            planted.dead.insert(path("base", at));
            planted.facts.push(format!("the notes on {}", fact.name));
        } else if from_end < DEAD + STALE {
            body.push_str(&format!(" The move of {} starts tomorrow.", fact.name));
            planted.stale.insert(path("base", at));
            planted.facts.push(format!("The move of {} starts 2026-03-04 (tomorrow).", fact.name));
        }
        planted.memories.push((path("base", at), fact.text("about", &body)));
    }
    for (at, fact) in base.iter().enumerate().take(EXACT) {
        let body = format!("{} {}", fact.sentence(&fact.detail), fact.second);
        planted.memories.push((path("exact", at), fact.text("about", &body)));
        planted.duplicates.insert([path("base", at), path("exact", at)]);
    }
    for (at, fact) in base.iter().enumerate().skip(EXACT).take(NEAR) {
        let more = format!("{} asked for it.", PEOPLE[at % PEOPLE.len()]);
        let body = format!("{}\n\n- {}\n- {more}", fact.second, fact.sentence(&fact.detail).to_lowercase());
        planted.facts.push(more);
        planted.memories.push((path("near", at), fact.text("more about", &body)));
        planted.duplicates.insert([path("base", at), path("near", at)]);
    }
    for (at, fact) in base.iter().enumerate().skip(EXACT + NEAR).take(CONTRADICTED) {
        let newer = fact.sentence(&(dice.roll(900) + 77).to_string());
        planted.facts.push(newer.clone());
        planted.memories.push((path("newer", at), fact.text("news of", &newer)));
        planted.contradictions.insert([path("base", at), path("newer", at)]);
    }
    planted
}

fn planted() -> Outcome<()> {
    let planted = plant();
    let store = Store::new()?;
    store.save(&planted.memories)?;
    let before = store.pollution()?;
    let began = Instant::now();
    let landed = store.dream()?;
    println!("store of {} memories, dreamt over in {:.1?}\n", planted.memories.len(), began.elapsed());
    for reason in landed.proposal.iter().flat_map(|proposal| &proposal.reasons) {
        println!("refused: {reason}");
    }
    let report = &landed.report;
    let (mut merged, mut dead, mut stale) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for fix in &report.fixes {
        match fix {
            Fix::Merged { kept, gone } => drop(merged.insert(sorted(kept, gone))),
            Fix::Unlinked { path, .. } => drop(dead.insert(path.clone())),
            Fix::Dated(path) => drop(stale.insert(path.clone())),
            Fix::Shortened(_) => {}
        }
    }
    let (mut disputed, mut newest) = (BTreeSet::new(), 0);
    for finding in &report.findings {
        if let Finding::Contradiction { newer, older, .. } = finding {
            newest += usize::from(newer.contains("newer") && planted.contradictions.contains(&sorted(newer, older)));
            disputed.insert(sorted(newer, older));
        }
    }
    println!("| planted | number | found | found besides |\n| --- | --- | --- | --- |");
    row("duplicates, merged", &planted.duplicates, &merged);
    row("contradictions, listed", &planted.contradictions, &disputed);
    row("dead pointers, repaired", &planted.dead, &dead);
    row("stale dates, repaired", &planted.stale, &stale);
    println!("\nof the contradictions found, the newer one was told from the older one {newest} times");
    let texts = store.texts()?;
    let lower: Vec<String> = texts.iter().map(|text| text.to_lowercase()).collect();
    let lost = planted.facts.iter().filter(|fact| !lower.iter().any(|text| text.contains(&fact.to_lowercase())));
    println!("facts lost: {} of {}", lost.count(), planted.facts.len());
    let again = store.dream()?;
    println!("memories: {} before, {} after", planted.memories.len(), texts.len());
    println!("share of memories in the way: {before:.3} before, {:.3} after", store.pollution()?);
    println!("a second dream changes {} memories\n", again.touched().len());
    Ok(())
}

fn sorted(one: &str, other: &str) -> [String; 2] {
    let mut pair = [one.to_owned(), other.to_owned()];
    pair.sort();
    pair
}

fn row<T: Ord>(name: &str, planted: &BTreeSet<T>, found: &BTreeSet<T>) {
    let right = found.intersection(planted).count();
    println!("| {name} | {} | {right} | {} |", planted.len(), found.len() - right);
}

/// Facts of a public list as memories, in their order; each question asked before the dream, and after the older one of
/// each contradiction it lists was set aside.
fn overwritten(file: &Path) -> Outcome<()> {
    let sets: Vec<serde_json::Value> = serde_json::from_slice(&std::fs::read(file)?)?;
    println!("| facts that overwrite each other | facts | merged | contradictions | newest first: before | after |");
    println!("| --- | --- | --- | --- | --- | --- |");
    for set in sets {
        let name = set["metadata"]["source"].as_str().unwrap_or_default();
        if !matches!(name, "factconsolidation_sh_6k" | "factconsolidation_sh_32k") {
            continue;
        }
        let lines = set["context"].as_str().unwrap_or_default().lines();
        let facts: Vec<&str> = lines
            .filter_map(|line| line.split_once(". "))
            .filter(|(number, _)| number.parse::<u32>().is_ok())
            .map(|(_, fact)| fact)
            .collect();
        let memories: Vec<(String, String)> = facts
            .iter()
            .enumerate()
            .map(|(at, fact)| {
                (
                    format!("reference_{at:05}.md"),
                    format!("---\nname: fact\ndescription: \"\"\ntype: reference\n---\n{fact}\n"),
                )
            })
            .collect();
        let store = Store::new()?;
        store.save(&memories)?;
        let questions: Vec<(&str, Vec<&str>)> = asked(&set);
        let before = right(&store, &questions, &BTreeSet::new())?;
        let landed = store.dream()?;
        let findings = landed.report.findings.iter();
        let older: BTreeSet<String> = findings
            .filter_map(
                |finding| if let Finding::Contradiction { older, .. } = finding { Some(older.clone()) } else { None },
            )
            .collect();
        let merged = landed.report.fixes.iter().filter(|fix| matches!(fix, Fix::Merged { .. })).count();
        let after = right(&store, &questions, &older)?;
        println!("| {name} | {} | {merged} | {} | {before:.2} | {after:.2} |", facts.len(), older.len());
    }
    Ok(())
}

fn asked(set: &serde_json::Value) -> Vec<(&str, Vec<&str>)> {
    let texts = |value: &'_ serde_json::Value| value.as_array().cloned().unwrap_or_default().len();
    let count = texts(&set["questions"]).min(texts(&set["answers"]));
    let answers =
        |at: usize| set["answers"][at].as_array().into_iter().flatten().filter_map(|one| one.as_str()).collect();
    (0..count).filter_map(|at| Some((set["questions"][at].as_str()?, answers(at)))).collect()
}

/// The share of questions whose first hit holds the answer that was given last.
fn right(store: &Store, questions: &[(&str, Vec<&str>)], without: &BTreeSet<String>) -> Outcome<f64> {
    let entries: Vec<_> = store.memory.with(|memory| memory.list().cloned().collect());
    let mut documents = Vec::new();
    for entry in entries.into_iter().filter(|entry| !without.contains(&entry.path)) {
        let (entry, topic) = store.memory.with(|memory| memory.read(&entry.path))?;
        let time = Some(entry.modified());
        documents.push(Document { id: topic.body.clone(), body: topic.body, time, ..Document::default() });
    }
    let mut index = Index::default();
    index.update(documents, []);
    let now = store.clock.now().to_zoned(jiff::tz::TimeZone::UTC);
    let holds = |question: &str, answers: &[&str]| {
        let hits = index.recall(&Query::new(question, now.clone(), 1));
        hits.first()
            .is_some_and(|hit| answers.iter().any(|answer| hit.id.to_lowercase().contains(&answer.to_lowercase())))
    };
    let found = questions.iter().filter(|(question, answers)| holds(question, answers)).count();
    Ok(found as f64 / questions.len().max(1) as f64)
}
