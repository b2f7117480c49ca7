//! How well the local ranking finds what a question asks for, and how fast, beside rankings that need no model either.
//!
//! `cargo bench -p scrubjay --bench recall -- [--data PATH] [--only PART]... [--set SIGNAL=WEIGHT]...
//! [--embeddings URL] [--push FILE] [--pairs FILE] [--show]`
//!
//! PATH is a folder of data sets (default: `SCRUBJAY_BENCH_DATA`, then `../shared/bench` beside the workspace). Parts:
//! pairs, locomo, beam, longmemeval, precision, facts, speed. `--set` changes the weight of a signal, to see what it is worth.
//! `--embeddings` asks a service for the vectors of all texts and questions (`vectors.py` is one) and adds them as one more
//! signal. `--push FILE` measures instead which prompts bring a memory and which should not (`push.rs`). `--show` prints questions whose outdated or wrong statement came first.

// The modules of a benchmark are its own.
#![allow(missing_docs, unreachable_pub, clippy::print_stdout)]

mod baselines;
mod data;
mod meanings;
mod measure;
mod pairs;
mod push;
mod speed;

use baselines::{Baselines, System};
use data::{Corpus, Failure};
use jiff::tz::TimeZone;
use meanings::Meanings;
use measure::{Run, header, score};
use scrubjay::memory::recall::{Hit, Index, Query, Weights};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

#[derive(Default)]
pub struct Asked {
    data: PathBuf,
    only: Vec<String>,
    show: bool,
    push: Option<PathBuf>,
    pairs: Option<PathBuf>,
    weights: Weights,
    meanings: Option<Meanings>,
}

impl Asked {
    fn wants(&self, part: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == part)
    }
}

fn asked() -> Result<Asked, Failure> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/bench");
    let data = std::env::var_os("SCRUBJAY_BENCH_DATA").map_or_else(beside, PathBuf::from);
    let mut asked = Asked { data, ..Asked::default() };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--data" => asked.data = value()?.into(),
            "--only" => asked.only.push(value()?),
            "--embeddings" => asked.meanings = Some(Meanings::at(&value()?)?),
            "--set" => {
                let value = value()?;
                let (name, weight) = value.split_once('=').ok_or("--set takes SIGNAL=WEIGHT")?;
                set(&mut asked.weights, name, weight.parse()?)?;
            }
            "--show" => asked.show = true,
            "--pairs" => asked.pairs = Some(value()?.into()),
            "--push" => asked.push = Some(value()?.into()),
            "--bench" => {}
            other => return Err(format!("{other} is not known here; the head of main.rs says what is").into()),
        }
    }
    Ok(asked)
}

fn set(weights: &mut Weights, name: &str, value: f32) -> Result<(), Failure> {
    let place = match name {
        "words" => &mut weights.words,
        "phrase" => &mut weights.phrase,
        "cover" => &mut weights.cover,
        "answer" => &mut weights.answer,
        "date" => &mut weights.date,
        "recent" => &mut weights.recent,
        "kind" => &mut weights.kind,
        "newer" => &mut weights.newer,
        "meaning" => &mut weights.meaning,
        "near" => &mut weights.talk.near,
        "session" => &mut weights.talk.session,
        "assistant" => &mut weights.talk.assistant,
        "short" => &mut weights.forms.short,
        "spelling" => &mut weights.forms.spelling,
        _ => return Err(format!("there is no signal called {name}").into()),
    };
    *place = value;
    Ok(())
}

/// The public recall, over one corpus.
struct Ours<'a> {
    index: Index,
    asked: &'a Asked,
    /// What the questions mean.
    meanings: HashMap<String, Vec<f32>>,
    places: HashMap<String, usize>,
    corpus: &'a Corpus,
}

impl<'a> Ours<'a> {
    fn new(corpus: &'a Corpus, asked: &'a Asked) -> Self {
        let mut index = Index::default();
        index.update(corpus.documents.clone(), []);
        let meanings = asked.meanings.as_ref().map(|meanings| meanings.of(corpus, &mut index)).unwrap_or_default();
        let places =
            corpus.documents.iter().enumerate().map(|(place, document)| (document.id.clone(), place)).collect();
        Self { index, asked, meanings, places, corpus }
    }

    fn recall(&self, text: &str, limit: usize) -> Vec<usize> {
        self.hits(text, limit).iter().map(|hit| self.places[&hit.id]).collect()
    }

    /// Sessions by their best turn: the program lists turns, and who looks for a session opens the first.
    fn by_session(&self, text: &str, limit: usize) -> Vec<usize> {
        let mut sessions = Vec::new();
        for turn in self.recall(text, usize::MAX) {
            let session = self.corpus.session_of(turn);
            if !sessions.contains(&session) {
                sessions.push(session);
            }
        }
        sessions.truncate(limit);
        sessions
    }

    fn hits(&self, text: &str, limit: usize) -> Vec<Hit> {
        let mut query = Query::new(text, self.corpus.now().to_zoned(TimeZone::UTC), limit);
        query.weights = self.asked.weights;
        query.meaning = self.meanings.get(text).map(Vec::as_slice);
        self.index.recall(&query)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Turn,
    Session,
    /// Sessions, and the evidence names them.
    NamedSession,
}

fn gold(corpus: &Corpus, unit: Unit, gold: &[usize]) -> Vec<usize> {
    let mut gold: Vec<usize> = if unit == Unit::Session {
        gold.iter().map(|place| corpus.session_of(*place)).collect()
    } else {
        gold.to_vec()
    };
    gold.sort_unstable();
    gold.dedup();
    gold
}

/// What `baseline.py` calls bm25, bm25_ctx, bm25_rm3, bm25_user and lex_plus.
const TURNS: &[(&str, System)] = &[
    ("BM25", System::Bm25),
    ("BM25 with context", System::Context),
    ("BM25 fed back", System::FedBack),
    ("BM25 over the user's turns", System::User),
    ("lex_plus", System::LexPlus),
];
/// The same over sessions, and by their best turn (max_turn).
const SESSIONS: &[(&str, System)] = &[
    ("BM25", System::SessionBm25),
    ("BM25 fed back", System::SessionFedBack),
    ("BM25 over the user's turns", System::SessionUser),
    ("best turn by BM25", System::BestTurnBm25),
    ("best turn by BM25 of the user's", System::BestTurnUser),
    ("best turn by lex_plus", System::BestTurn),
];

/// One table: every baseline and ours over the same questions.
fn compare(title: &str, corpora: &[Corpus], unit: Unit, asked: &Asked) {
    let systems: &[(&str, System)] = match unit {
        Unit::Turn => TURNS,
        _ => SESSIONS,
    };
    let has = |system: System| corpora.first().is_some_and(|corpus| Baselines::new(corpus).has(system));
    let systems: Vec<(&str, System)> = systems.iter().filter(|(_, system)| has(*system)).copied().collect();
    let mut runs: Vec<Run> = (0..=systems.len()).map(|_| Run::default()).collect();
    for (number, corpus) in corpora.iter().enumerate() {
        let (baselines, ours) = (Baselines::new(corpus), Ours::new(corpus, asked));
        for question in &corpus.questions {
            let gold = gold(corpus, unit, &question.gold);
            for (place, run) in runs.iter_mut().enumerate() {
                let start = Instant::now();
                let ranked = match systems.get(place) {
                    Some((_, system)) => baselines.rank(*system, &question.text),
                    None if unit == Unit::Turn => ours.recall(&question.text, 20),
                    None => ours.by_session(&question.text, 20),
                };
                run.time += start.elapsed();
                run.scores.push((number, question.category.clone(), score(&ranked, &gold)));
            }
        }
    }
    let documents: usize = corpora
        .iter()
        .map(|corpus| if unit == Unit::Turn { corpus.documents.len() } else { corpus.sessions.len() })
        .sum();
    header(&format!("{title}: {documents} documents, {} questions", runs[0].scores.len()));
    for ((name, _), run) in systems.iter().zip(&runs) {
        run.print(name);
    }
    let ours = &runs[systems.len()];
    ours.print("**scrubjay**");
    details(ours, &runs[systems.len() - 1], corpora.len());
}

/// Ours by part and by category, beside the last baseline. The weights were fitted on the first part, but figures of both
/// were seen while signals were chosen: the second part is less seen, not unseen.
fn details(ours: &Run, baseline: &Run, corpora: usize) {
    if !(5..=20).contains(&corpora) {
        return;
    }
    let seen = corpora * 3 / 5;
    println!("\nR@5 / R@10 / nDCG@10, ours · baseline above");
    println!(
        "- conversations 1–{seen}: {} · {}",
        ours.line(|corpus, _| corpus < seen),
        baseline.line(|corpus, _| corpus < seen)
    );
    println!(
        "- conversations {}–{corpora}: {} · {}",
        seen + 1,
        ours.line(|corpus, _| corpus >= seen),
        baseline.line(|corpus, _| corpus >= seen)
    );
    for category in ours.categories() {
        println!("- {category}: {} · {}", ours.line(|_, c| c == category), baseline.line(|_, c| c == category));
    }
}

/// How often what is outdated comes before what replaced it.
fn stale(title: &str, corpora: &[Corpus], asked: &Asked) {
    let (mut pairs, mut ours_stale, mut baseline_stale, mut top_10) = (0, 0, 0, 0);
    for corpus in corpora {
        let (baselines, ours) = (Baselines::new(corpus), Ours::new(corpus, asked));
        for question in corpus.questions.iter().filter(|question| !question.wrong.is_empty()) {
            let first = |ranked: &[usize], of: &[usize]| {
                ranked.iter().position(|place| of.contains(place)).unwrap_or(usize::MAX)
            };
            let is_stale = |ranked: &[usize]| first(ranked, &question.wrong) < first(ranked, &question.gold);
            let ranked = ours.recall(&question.text, usize::MAX);
            pairs += 1;
            if asked.show && is_stale(&ranked) {
                println!(
                    "    {} -> outdated at {}, current at {}",
                    question.text,
                    first(&ranked, &question.wrong),
                    first(&ranked, &question.gold)
                );
            }
            ours_stale += usize::from(is_stale(&ranked));
            top_10 += usize::from(first(&ranked, &question.gold) < 10);
            baseline_stale += usize::from(is_stale(&baselines.rank(System::Bm25, &question.text)));
        }
    }
    let share = |count: usize| count as f64 / pairs.max(1) as f64;
    println!("\n### {title}: {pairs} questions\n");
    println!(
        "- outdated first: {:.3} (BM25 {:.3})\n- current one in the first ten: {:.3}",
        share(ours_stale),
        share(baseline_stale),
        share(top_10)
    );
}

fn facts(dir: &Path, asked: &Asked) -> Result<(), Failure> {
    println!(
        "\n### Facts that overwrite facts, single hop: the newest value first\n\n| list | facts | BM25 | scrubjay | in the first ten | ms/query |\n|---|---|---|---|---|---|"
    );
    let (mut all, mut right) = (0, 0);
    for (name, corpus) in data::facts(dir)? {
        let (baselines, ours) = (Baselines::new(&corpus), Ours::new(&corpus, asked));
        let (mut bm25, mut first, mut ten) = (0, 0, 0);
        let mut time = std::time::Duration::ZERO;
        for question in &corpus.questions {
            let is_gold = |place: Option<&usize>| place.is_some_and(|place| question.gold.contains(place));
            bm25 += usize::from(is_gold(baselines.rank(System::Bm25, &question.text).first()));
            let start = Instant::now();
            let ranked = ours.recall(&question.text, 10);
            time += start.elapsed();
            first += usize::from(is_gold(ranked.first()));
            ten += usize::from(ranked.iter().any(|place| is_gold(Some(place))));
            if asked.show && !is_gold(ranked.first()) {
                println!("    {} -> {:?}", question.text, ranked.first().map(|place| &corpus.lines[*place]));
            }
        }
        let count = corpus.questions.len();
        let share = |part: usize| part as f64 / count as f64;
        let each = time.as_secs_f64() * 1000.0 / count as f64;
        println!(
            "| {name} | {} | {:.2} | {:.2} | {:.2} | {each:.2} |",
            corpus.documents.len(),
            share(bm25),
            share(first),
            share(ten)
        );
        all += count;
        right += first;
    }
    println!("\nall lists: {:.3}", f64::from(right as u32) / f64::from(all as u32));
    Ok(())
}

fn main() -> Result<(), Failure> {
    let asked = asked()?;
    if let Some(file) = &asked.push {
        return push::measure(file, &asked);
    }
    if !asked.data.exists() {
        println!(
            "no data in {}: pass --data PATH or set SCRUBJAY_BENCH_DATA; only speed is measured",
            asked.data.display()
        );
    }
    if asked.wants("pairs") {
        pairs::measure(asked.pairs.as_deref(), asked.show)?;
    }
    if asked.data.exists() {
        quality(&asked)?;
    }
    if asked.wants("speed") {
        speed::measure();
    }
    Ok(())
}

fn quality(asked: &Asked) -> Result<(), Failure> {
    let dir = asked.data.as_path();
    if asked.wants("locomo") {
        let corpora = data::locomo(dir)?;
        compare("LoCoMo, turns", &corpora, Unit::Turn, asked);
        compare("LoCoMo, sessions", &corpora, Unit::Session, asked);
    }
    if asked.wants("beam") {
        let (corpora, updates) = data::beam(dir)?;
        compare("BEAM, turns", &corpora, Unit::Turn, asked);
        stale("BEAM, updates", &updates, asked);
    }
    if asked.wants("longmemeval") {
        compare("LongMemEval pool, sessions", &data::longmemeval(dir)?, Unit::NamedSession, asked);
    }
    if asked.wants("precision") {
        let corpora = data::precision(dir)?;
        compare("PrecisionMemBench, beliefs", &corpora, Unit::Turn, asked);
        stale("PrecisionMemBench, superseded beliefs", &corpora, asked);
    }
    if asked.wants("facts") {
        facts(dir, asked)?;
    }
    Ok(())
}
