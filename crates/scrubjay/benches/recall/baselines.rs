//! The rankings of `baseline.py` that need no weights, ported: BM25, BM25 with context, and `lex_plus`.

use crate::data::Corpus;
use std::collections::HashMap;

// The engine's own stemmer, so that both sides know the same words.
#[path = "../../src/memory/recall/stem.rs"]
#[allow(unused_imports)]
mod stem;

const STOP: &str = "a an and are as at be been being but by can could did do does doing for from had has have having he her hers
him his how i if in into is it its itself me my myself of on or our ours she should so some such than that the their theirs
them then there these they this those to too was we were what when where which while who whom why will with would you your
yours";

fn terms(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    let mut found = Vec::new();
    let mut rest = lower.as_str();
    while let Some(start) = rest.find(|c: char| c.is_ascii_alphanumeric()) {
        rest = &rest[start..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let word = &rest[..end];
        rest = &rest[end..];
        if let Some(tail) = rest.strip_prefix('\'') {
            let letters = tail.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(tail.len());
            rest = if letters > 0 { &tail[letters..] } else { rest };
        }
        if !STOP.split_whitespace().any(|stop| stop == word) {
            found.push(stem::stem(word));
        }
    }
    found
}

struct Bm25 {
    postings: HashMap<String, Vec<(usize, f64)>>,
    count: usize,
}

impl Bm25 {
    fn new(texts: &[String]) -> Self {
        const K1: f64 = 1.2;
        const B: f64 = 0.75;
        let documents: Vec<Vec<String>> = texts.iter().map(|text| terms(text)).collect();
        let mean = documents.iter().map(Vec::len).sum::<usize>() as f64 / documents.len().max(1) as f64;
        let mut postings: HashMap<String, Vec<(usize, f64)>> = HashMap::new();
        for (place, words) in documents.iter().enumerate() {
            let mut counts: HashMap<&String, f64> = HashMap::new();
            for word in words {
                *counts.entry(word).or_default() += 1.0;
            }
            for (word, count) in counts {
                let norm = K1 * (1.0 - B + B * words.len() as f64 / mean);
                postings.entry(word.clone()).or_default().push((place, count / (count + norm)));
            }
        }
        Self { postings, count: documents.len() }
    }

    fn scores(&self, asked: &[String]) -> Vec<f64> {
        let mut scores = vec![0.0; self.count];
        for postings in asked.iter().filter_map(|word| self.postings.get(word)) {
            let held = postings.len() as f64;
            let rarity = (1.0 + (self.count as f64 - held + 0.5) / (held + 0.5)).ln();
            for (place, share) in postings {
                scores[*place] += rarity * share;
            }
        }
        scores
    }
}

fn scaled(scores: &[f64]) -> Vec<f64> {
    let (least, most) = scores.iter().fold((f64::MAX, f64::MIN), |(a, b), score| (a.min(*score), b.max(*score)));
    scores.iter().map(|score| if most > least { (score - least) / (most - least) } else { 0.0 }).collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    Bm25,
    Context,
    LexPlus,
    SessionBm25,
    BestTurn,
}

/// All baselines over one corpus.
pub struct Baselines {
    own: Bm25,
    near: Bm25,
    wide: Bm25,
    sessions: Bm25,
    owner: Vec<usize>,
    speakers: Vec<String>,
    names: Vec<String>,
}

impl Baselines {
    pub fn new(corpus: &Corpus) -> Self {
        let lines = &corpus.lines;
        let around = |reach: usize| -> Vec<String> {
            (0..lines.len())
                .map(|at| {
                    [
                        &lines[at.saturating_sub(reach)..at],
                        &lines[(at + 1).min(lines.len())..(at + 1 + reach).min(lines.len())],
                    ]
                    .concat()
                    .join(" ")
                })
                .collect()
        };
        let whole = |session: &crate::data::Session| {
            let date = if session.date.is_empty() { String::new() } else { format!("{}\n", session.date) };
            format!("{date}{}", lines[session.from..session.to].join("\n"))
        };
        let mut owner = vec![0; lines.len()];
        for (number, session) in corpus.sessions.iter().enumerate() {
            owner[session.from..session.to].fill(number);
        }
        let speakers: Vec<String> =
            lines.iter().map(|line| line.split(':').next().unwrap_or_default().to_owned()).collect();
        let mut names = speakers.clone();
        names.sort();
        names.dedup();
        let whole: Vec<String> = match corpus.sessions.as_slice() {
            [] => vec![String::new()],
            sessions => sessions.iter().map(whole).collect(),
        };
        Self {
            own: Bm25::new(lines),
            near: Bm25::new(&around(1)),
            wide: Bm25::new(&around(3)),
            sessions: Bm25::new(&whole),
            owner,
            speakers,
            names,
        }
    }

    fn lex_plus(&self, question: &str, asked: &[String]) -> Vec<f64> {
        let (own, near, wide) =
            (scaled(&self.own.scores(asked)), scaled(&self.near.scores(asked)), scaled(&self.wide.scores(asked)));
        let sessions = scaled(&self.sessions.scores(asked));
        let lower = question.to_lowercase();
        let named: Vec<&String> = self.names.iter().filter(|name| lower.contains(&name.to_lowercase())).collect();
        let speaks = |place: usize| if named.len() == 1 && &self.speakers[place] == named[0] { 0.15 } else { 0.0 };
        (0..own.len())
            .map(|place| {
                own[place] + 0.3 * near[place] + 0.3 * wide[place] + 0.4 * sessions[self.owner[place]] + speaks(place)
            })
            .collect()
    }

    /// Places of documents (or sessions), best first, ties in order; like the original, also what has no score.
    pub fn rank(&self, system: System, question: &str) -> Vec<usize> {
        let asked = terms(question);
        let scores = match system {
            System::Bm25 => self.own.scores(&asked),
            System::Context => {
                let near = self.near.scores(&asked);
                self.own.scores(&asked).iter().zip(near).map(|(own, near)| own + 0.5 * near).collect()
            }
            System::LexPlus => self.lex_plus(question, &asked),
            System::SessionBm25 => self.sessions.scores(&asked),
            System::BestTurn => {
                let mut best = vec![f64::MIN; self.sessions.count];
                for (place, score) in self.lex_plus(question, &asked).into_iter().enumerate() {
                    best[self.owner[place]] = best[self.owner[place]].max(score);
                }
                best
            }
        };
        let mut order: Vec<usize> = (0..scores.len()).collect();
        order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
        order
    }
}
