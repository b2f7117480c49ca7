//! Which prompts bring a memory, and which bring one that nobody wanted.
//!
//! `cargo bench -p scrubjay --bench recall -- --push FILE [--data PATH] [--embeddings URL] [--show]`
//!
//! A *false injection* is a prompt for which nothing should come and something does. Everything is reported by folds: the
//! weights of the signs and the floor are fitted on four fifths of the prompts and applied to the last, and no memory that must
//! come is in two folds. Calibration is measured over stores of several sizes, with memories of somebody else added.

use crate::Asked;
use crate::baselines::Baselines;
use crate::data::{self, Corpus, Failure, Prompt};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use scrubjay::memory::recall::{BY_MODEL, BY_WORDS, Document, Fit, Index, Query, SIGNS, Signs};
use std::collections::HashMap;
use std::path::Path;
use std::time::Instant;

const FOLDS: usize = 5;
const PLACES: usize = 5;
/// The share of prompts without a memory that may bring one all the same.
const FALSE: f64 = 0.10;
/// Signs that no prompt here can tell anything of keep their weight: no prompt names a day, and how many prompts of a set want
/// a memory is the set's doing, not the store's.
const KEPT: [usize; 2] = [4, 5];
/// Memories of somebody else beside those of the file.
const OTHERS: [usize; 3] = [0, 1_000, 100_000];
/// In a large store only every so manyth prompt is asked.
const SPARSE: usize = 5;

/// A prompt and a memory.
struct Pair {
    prompt: usize,
    memory: Option<usize>,
    signs: Signs,
    wanted: bool,
}

/// What a ranking says of each memory for each prompt, in one unit over all folds.
struct Verdicts {
    scores: Vec<Vec<f64>>,
}

struct Bench<'a> {
    corpus: Corpus,
    prompts: Vec<Prompt>,
    folds: Vec<usize>,
    asked: &'a Asked,
    start: Fit,
}

pub fn measure(file: &Path, asked: &Asked) -> Result<(), Failure> {
    let (corpus, prompts) = data::push(file)?;
    let start = if asked.meanings.is_some() { BY_MODEL } else { BY_WORDS };
    let bench = Bench { folds: folds(&prompts), corpus, prompts, asked, start };
    println!("### Pushed: {} memories, {} prompts\n", bench.corpus.documents.len(), bench.prompts.len());
    let mut stores = Vec::new();
    for others in OTHERS {
        let others = if others == 0 { Vec::new() } else { data::others(&asked.data, others)? };
        stores.push(bench.pairs(others));
    }
    let small = bench.small();
    let fits: Vec<Fit> = (0..FOLDS).map(|fold| bench.fit(&stores[0], Some(fold))).collect();
    bench.tables(&stores[0], &fits);
    bench.calibration(
        &[("10", &small), ("as given", &stores[0]), ("1,000 more", &stores[1]), ("100,000 more", &stores[2])],
        &fits,
    );
    println!("\nFitted on all prompts: {:?}", bench.fit(&stores[0], None));
    Ok(())
}

/// Prompts for the same memory are in one fold.
fn folds(prompts: &[Prompt]) -> Vec<usize> {
    let mut keys: HashMap<String, usize> = HashMap::new();
    let fold = |(number, prompt): (usize, &Prompt)| {
        let memory = prompt.must.first().or(prompt.relevant.first());
        let key = memory.map_or_else(|| format!("none {number}"), |memory| format!("memory {memory}"));
        let next = keys.len();
        *keys.entry(key).or_insert(next) * 7 % 11 % FOLDS
    };
    prompts.iter().enumerate().map(fold).collect()
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

impl Bench<'_> {
    fn index(&self, others: Vec<Document>) -> (Index, HashMap<String, Vec<f32>>) {
        let mut index = Index::default();
        index.update(self.corpus.documents.iter().cloned().chain(others), []);
        let meanings = self.asked.meanings.as_ref().map(|meanings| meanings.of(&self.corpus, &mut index));
        (index, meanings.unwrap_or_default())
    }

    /// Every prompt with every memory of a store.
    fn pairs(&self, others: Vec<Document>) -> Vec<Pair> {
        let sparse = if others.len() > 10_000 { SPARSE } else { 1 };
        let (index, meanings) = self.index(others);
        let places: HashMap<&str, usize> =
            self.corpus.documents.iter().enumerate().map(|(at, document)| (document.id.as_str(), at)).collect();
        let mut pairs = Vec::new();
        let start = Instant::now();
        for (number, prompt) in self.prompts.iter().enumerate().step_by(sparse) {
            let now = Timestamp::UNIX_EPOCH.to_zoned(TimeZone::UTC);
            let mut query = Query::new(&prompt.text, now, usize::MAX);
            (query.floor, query.meaning) = (0.0, meanings.get(&prompt.text).map(Vec::as_slice));
            for hit in index.recall(&query) {
                let memory = places.get(hit.id.as_str()).copied();
                let wanted = memory.is_some_and(|memory| prompt.relevant.contains(&memory));
                pairs.push(Pair { prompt: number, memory, signs: hit.signs, wanted });
            }
        }
        let each = start.elapsed().as_secs_f64() * 1000.0 / (self.prompts.len() / sparse) as f64;
        println!("store of {}: {each:.1} ms a prompt, every memory ranked", index.len());
        pairs
    }

    /// Ten memories at a time, whichever they are: as in life, few prompts are about one of them.
    fn small(&self) -> Vec<Pair> {
        let mut pairs = Vec::new();
        for (number, prompt) in self.prompts.iter().enumerate() {
            let count = self.corpus.documents.len();
            let chosen: Vec<usize> = (0..10.min(count)).map(|step| (number * 31 + step * 17) % count).collect();
            let mut index = Index::default();
            index.update(chosen.iter().map(|at| self.corpus.documents[*at].clone()), []);
            let mut query = Query::new(&prompt.text, Timestamp::UNIX_EPOCH.to_zoned(TimeZone::UTC), usize::MAX);
            query.floor = 0.0;
            for hit in index.recall(&query) {
                let memory = self.corpus.documents.iter().position(|document| document.id == hit.id);
                let wanted = memory.is_some_and(|memory| prompt.relevant.contains(&memory));
                pairs.push(Pair { prompt: number, memory, signs: hit.signs, wanted });
            }
        }
        if self.asked.meanings.is_some() { Vec::new() } else { pairs }
    }

    /// Logistic regression by Newton's method, a little held back.
    fn fit(&self, pairs: &[Pair], without: Option<usize>) -> Fit {
        const N: usize = SIGNS + 1;
        const RIDGE: f64 = 1.0;
        let mut weights = [0.0f64; N];
        let kept = |signs: &Signs| -> f64 {
            KEPT.iter().map(|at| f64::from(signs.values()[*at] * self.start.weights[*at])).sum()
        };
        for _ in 0..25 {
            let mut slope = [0.0; N];
            let mut bend = [[0.0; N]; N];
            for pair in pairs {
                if without.is_some_and(|fold| self.folds[pair.prompt] == fold) {
                    continue;
                }
                let x = inputs(&pair.signs);
                let p = sigmoid(kept(&pair.signs) + x.iter().zip(weights).map(|(x, w)| x * w).sum::<f64>());
                for i in 0..N {
                    slope[i] += x[i] * (f64::from(u8::from(pair.wanted)) - p);
                    for j in 0..N {
                        bend[i][j] += x[i] * x[j] * p * (1.0 - p);
                    }
                }
            }
            for i in 0..N {
                let ridge = if i == 0 { 1e-6 } else { RIDGE };
                slope[i] -= ridge * weights[i];
                bend[i][i] += ridge;
            }
            let step = solve(bend, slope);
            weights.iter_mut().zip(step).for_each(|(weight, step)| *weight += step);
        }
        let mut fit = Fit { base: weights[0] as f32, weights: [0.0; SIGNS] };
        for (at, weight) in fit.weights.iter_mut().enumerate() {
            *weight = weights[at + 1] as f32;
        }
        KEPT.iter().for_each(|at| fit.weights[*at] = self.start.weights[*at]);
        fit
    }

    fn verdicts(&self, pairs: &[Pair], score: impl Fn(&Pair) -> f64) -> Verdicts {
        let mut scores = vec![vec![0.0; self.corpus.documents.len()]; self.prompts.len()];
        for pair in pairs {
            if let Some(memory) = pair.memory {
                scores[pair.prompt][memory] = score(pair);
            }
        }
        Verdicts { scores }
    }

    fn tables(&self, pairs: &[Pair], fits: &[Fit]) {
        let by_fold = self.verdicts(pairs, |pair| f64::from(pair.signs.relevance(&fits[self.folds[pair.prompt]])));
        let shipped = self.verdicts(pairs, |pair| f64::from(pair.signs.relevance(&self.start)));
        let baselines = Baselines::new(&self.corpus);
        let bm25 = Verdicts { scores: self.prompts.iter().map(|prompt| baselines.scores(&prompt.text)).collect() };
        let near = self.verdicts(pairs, |pair| f64::from(pair.signs.near));
        println!(
            "\n| floor fitted on the other folds | must@5 | lexical | related | none-shared | false injections | pushed where wanted |\n|---|---|---|---|---|---|---|"
        );
        self.row("BM25", &bm25);
        self.row(if self.asked.meanings.is_some() { "the service's vectors alone" } else { "the table alone" }, &near);
        self.row("**scrubjay**, weights by folds", &by_fold);
        self.row("scrubjay, weights as shipped", &shipped);
        println!(
            "\nThe curve: must@5 when so many prompts without a memory bring one.\n\n| false injections | BM25 | nearness alone | scrubjay by folds |\n|---|---|---|---|"
        );
        for share in [0.0, 0.02, 0.05, 0.10, 0.15, 0.20, 0.30, 0.50, 1.0] {
            let all = |verdicts: &Verdicts| self.found(verdicts, |_| self.floor(verdicts, share, None), None);
            println!("| {:.0} % | {:.2} | {:.2} | {:.2} |", share * 100.0, all(&bm25), all(&near), all(&by_fold));
        }
        if self.asked.show {
            self.show(&by_fold);
        }
    }

    /// The lowest floor over which at most this share of the prompts without a memory bring one, outside of a fold.
    fn floor(&self, verdicts: &Verdicts, share: f64, without: Option<usize>) -> f64 {
        let mut best: Vec<f64> = (0..self.prompts.len())
            .filter(|number| self.prompts[*number].relevant.is_empty() && Some(self.folds[*number]) != without)
            .map(|number| verdicts.scores[number].iter().copied().fold(0.0, f64::max))
            .collect();
        best.sort_by(|a, b| b.total_cmp(a));
        best.get((share * best.len() as f64).floor() as usize).map_or(0.0, |score| score + 1e-9)
    }

    fn pushed(&self, verdicts: &Verdicts, number: usize, floor: f64) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.corpus.documents.len()).collect();
        order.sort_by(|a, b| verdicts.scores[number][*b].total_cmp(&verdicts.scores[number][*a]));
        order.retain(|memory| verdicts.scores[number][*memory] >= floor);
        order.truncate(PLACES);
        order
    }

    fn found(&self, verdicts: &Verdicts, floor: impl Fn(usize) -> f64, difficulty: Option<&str>) -> f64 {
        let (mut all, mut there) = (0, 0);
        for (number, prompt) in self.prompts.iter().enumerate() {
            if difficulty.is_none_or(|difficulty| difficulty == prompt.difficulty) {
                let pushed = self.pushed(verdicts, number, floor(self.folds[number]));
                all += prompt.must.len();
                there += prompt.must.iter().filter(|memory| pushed.contains(memory)).count();
            }
        }
        there as f64 / all.max(1) as f64
    }

    fn row(&self, name: &str, verdicts: &Verdicts) {
        let floors: Vec<f64> = (0..FOLDS).map(|fold| self.floor(verdicts, FALSE, Some(fold))).collect();
        let floor = |fold: usize| floors[fold];
        let part = |difficulty: Option<&str>| self.found(verdicts, floor, difficulty);
        let count = |number: usize| self.pushed(verdicts, number, floor(self.folds[number])).len();
        let (mut none, mut falsely, mut some, mut pushed) = (0, 0, 0, 0);
        for (number, prompt) in self.prompts.iter().enumerate() {
            if prompt.relevant.is_empty() {
                (none, falsely) = (none + 1, falsely + usize::from(count(number) > 0));
            } else {
                (some, pushed) = (some + 1, pushed + count(number));
            }
        }
        println!(
            "| {name} | {:.2} | {:.2} | {:.2} | {:.2} | {:.3} | {:.1} |",
            part(None),
            part(Some("lexical")),
            part(Some("related")),
            part(Some("none-shared")),
            falsely as f64 / none.max(1) as f64,
            pushed as f64 / some.max(1) as f64
        );
    }

    /// How far what is said from what is so, over everything that is at least a little likely.
    fn calibration(&self, stores: &[(&str, &Vec<Pair>)], fits: &[Fit]) {
        println!("\n| store | calibration error | over what a search shows | said → so (pairs) |\n|---|---|---|---|");
        for (name, pairs) in stores {
            let said: Vec<(f64, bool)> = pairs
                .iter()
                .map(|pair| (f64::from(pair.signs.relevance(&fits[self.folds[pair.prompt]])), pair.wanted))
                .collect();
            let shown: Vec<(f64, bool)> = said.iter().copied().filter(|(said, _)| *said >= 0.02).collect();
            let curve: Vec<String> =
                bins(&shown).iter().map(|(said, so, n)| format!("{said:.2} → {so:.2} ({n})")).collect();
            println!("| {name} | {:.4} | {:.4} | {} |", error(&said), error(&shown), curve.join(", "));
        }
    }

    fn show(&self, verdicts: &Verdicts) {
        let floors: Vec<f64> = (0..FOLDS).map(|fold| self.floor(verdicts, FALSE, Some(fold))).collect();
        for (number, prompt) in self.prompts.iter().enumerate() {
            let pushed = self.pushed(verdicts, number, floors[self.folds[number]]);
            let names: Vec<String> = pushed
                .iter()
                .map(|at| format!("{} {:.2}", self.corpus.documents[*at].name, verdicts.scores[number][*at]))
                .collect();
            let missed = prompt.must.iter().filter(|memory| !pushed.contains(memory));
            let missed: Vec<String> = missed
                .map(|at| format!("{} {:.2}", self.corpus.documents[*at].name, verdicts.scores[number][*at]))
                .collect();
            if !missed.is_empty() || (prompt.relevant.is_empty() && !pushed.is_empty()) {
                println!("    [{}] {} -> {names:?}, missed {missed:?}", prompt.difficulty, prompt.text);
            }
        }
    }
}

fn inputs(signs: &Signs) -> [f64; SIGNS + 1] {
    let mut inputs = [1.0; SIGNS + 1];
    for (at, value) in signs.values().into_iter().enumerate() {
        inputs[at + 1] = if KEPT.contains(&at) { 0.0 } else { f64::from(value) };
    }
    inputs
}

/// What was said and what was so, in ten steps.
fn bins(said: &[(f64, bool)]) -> Vec<(f64, f64, usize)> {
    let mut bins = vec![(0.0, 0.0, 0); 10];
    for (said, so) in said {
        let bin = &mut bins[((said * 10.0) as usize).min(9)];
        *bin = (bin.0 + said, bin.1 + f64::from(u8::from(*so)), bin.2 + 1);
    }
    let mean = |(said, so, count): (f64, f64, usize)| (said / count as f64, so / count as f64, count);
    bins.into_iter().filter(|(_, _, count)| *count > 0).map(mean).collect()
}

/// The mean distance between what was said and what was so.
fn error(said: &[(f64, bool)]) -> f64 {
    let off: f64 = bins(said).iter().map(|(said, so, count)| (said - so).abs() * *count as f64).sum();
    off / said.len().max(1) as f64
}

/// Gauss, with the largest pivot.
fn solve<const N: usize>(mut a: [[f64; N]; N], mut b: [f64; N]) -> [f64; N] {
    for column in 0..N {
        let pivot = (column..N).max_by(|x, y| a[*x][column].abs().total_cmp(&a[*y][column].abs())).unwrap_or(column);
        a.swap(column, pivot);
        b.swap(column, pivot);
        if a[column][column].abs() < 1e-12 {
            continue;
        }
        for row in 0..N {
            if row != column {
                let factor = a[row][column] / a[column][column];
                let pivot_row = a[column];
                a[row].iter_mut().zip(pivot_row).skip(column).for_each(|(x, y)| *x -= factor * y);
                b[row] -= factor * b[column];
            }
        }
    }
    let mut x = [0.0; N];
    for at in 0..N {
        x[at] = if a[at][at].abs() < 1e-12 { 0.0 } else { b[at] / a[at][at] };
    }
    x
}
