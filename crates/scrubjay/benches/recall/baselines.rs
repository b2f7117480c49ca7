//! The rankings of `baseline.py` that need no weights, ported: BM25 (plain, with context, fed back, over what users said) and
//! `lex_plus`.

use crate::data::Corpus;
use frostem::{Algorithm, Stemmer};
use std::collections::HashMap;

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
            found.push(Stemmer::new(Algorithm::English).stem(word).into_owned());
        }
    }
    found
}

struct Bm25 {
    documents: Vec<Vec<String>>,
    postings: HashMap<String, Vec<(usize, f64)>>,
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
        Self { documents, postings }
    }

    fn rarity(&self, word: &str) -> f64 {
        let held = self.postings.get(word).map_or(0, Vec::len) as f64;
        (1.0 + (self.documents.len() as f64 - held + 0.5) / (held + 0.5)).ln()
    }

    fn scores(&self, asked: &[String]) -> Vec<f64> {
        self.weighted(asked.iter().map(|word| (word, 1.0)))
    }

    fn weighted<'a>(&self, asked: impl Iterator<Item = (&'a String, f64)>) -> Vec<f64> {
        let mut scores = vec![0.0; self.documents.len()];
        for (word, weight) in asked {
            let rarity = weight * self.rarity(word);
            for (place, share) in self.postings.get(word).into_iter().flatten() {
                scores[*place] += rarity * share;
            }
        }
        scores
    }

    /// Asked again with the words of what was found first (RM3).
    fn fed_back(&self, asked: &[String]) -> Vec<f64> {
        const DOCUMENTS: usize = 10;
        const TERMS: usize = 15;
        const ASKED: f64 = 0.6;
        let asked: Vec<&String> = asked.iter().filter(|word| self.postings.contains_key(*word)).collect();
        let first = self.weighted(asked.iter().map(|word| (*word, 1.0)));
        let best: Vec<usize> = order(&first).into_iter().take(DOCUMENTS).filter(|place| first[*place] > 0.0).collect();
        let all: f64 = best.iter().map(|place| first[*place]).sum();
        let mut told: HashMap<&String, f64> = HashMap::new();
        for place in &best {
            let words = &self.documents[*place];
            let share = first[*place] / all / words.len().max(1) as f64;
            for word in words {
                *told.entry(word).or_default() += share * self.rarity(word);
            }
        }
        let mut told: Vec<(&String, f64)> = told.into_iter().collect();
        told.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
        told.truncate(TERMS);
        let sum: f64 = told.iter().map(|(_, weight)| weight).sum();
        let again = asked.iter().map(|word| (*word, ASKED / asked.len() as f64));
        self.weighted(again.chain(told.iter().map(|(word, weight)| (*word, (1.0 - ASKED) * weight / sum))))
    }
}

/// Places by score, ties in order.
fn order(scores: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
    order
}

const USER: &str = "user:";

fn scaled(scores: &[f64]) -> Vec<f64> {
    let (least, most) = scores.iter().fold((f64::MAX, f64::MIN), |(a, b), score| (a.min(*score), b.max(*score)));
    scores.iter().map(|score| if most > least { (score - least) / (most - least) } else { 0.0 }).collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    Bm25,
    Context,
    FedBack,
    User,
    LexPlus,
    SessionBm25,
    SessionFedBack,
    SessionUser,
    BestTurnBm25,
    BestTurnUser,
    BestTurn,
}

/// What users said, where somebody is a user.
struct Users {
    turns: Bm25,
    /// Where each turn stands among all.
    places: Vec<usize>,
    sessions: Bm25,
}

impl Users {
    fn of(corpus: &Corpus) -> Option<Self> {
        let lines = &corpus.lines;
        let is_user = |place: &usize| lines[*place].starts_with(USER);
        let said = |range: std::ops::Range<usize>| range.filter(is_user).map(|place| lines[place].clone());
        let places: Vec<usize> = (0..lines.len()).filter(is_user).collect();
        let turns: Vec<String> = said(0..lines.len()).collect();
        let sessions =
            corpus.sessions.iter().map(|session| said(session.from..session.to).collect::<Vec<_>>().join("\n"));
        let sessions: Vec<String> = sessions.collect();
        (!places.is_empty()).then(|| Self { turns: Bm25::new(&turns), places, sessions: Bm25::new(&sessions) })
    }

    /// One score for each turn of the corpus; whoever is no user ranks last.
    fn scores(&self, asked: &[String], count: usize) -> Vec<f64> {
        let mut scores = vec![-1.0; count];
        for (place, score) in self.places.iter().zip(self.turns.scores(asked)) {
            scores[*place] = score;
        }
        scores
    }
}

/// All baselines over one corpus.
pub struct Baselines {
    own: Bm25,
    near: Bm25,
    wide: Bm25,
    sessions: Bm25,
    users: Option<Users>,
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
            users: Users::of(corpus),
            own: Bm25::new(lines),
            near: Bm25::new(&around(1)),
            wide: Bm25::new(&around(3)),
            sessions: Bm25::new(&whole),
            owner,
            speakers,
            names,
        }
    }

    /// What plain BM25 gives each document.
    pub fn scores(&self, question: &str) -> Vec<f64> {
        self.own.scores(&terms(question))
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

    /// Of each session the score of its best turn.
    fn best_turns(&self, scores: &[f64]) -> Vec<f64> {
        let mut best = vec![f64::MIN; self.sessions.documents.len()];
        for (place, score) in scores.iter().enumerate() {
            best[self.owner[place]] = best[self.owner[place]].max(*score);
        }
        best
    }

    /// Whether a system can be asked here.
    pub fn has(&self, system: System) -> bool {
        self.users.is_some() || !matches!(system, System::User | System::SessionUser | System::BestTurnUser)
    }

    /// Places of documents (or sessions), best first, ties in order; like the original, also what has no score.
    pub fn rank(&self, system: System, question: &str) -> Vec<usize> {
        let asked = terms(question);
        let users = || self.users.as_ref().map(|users| users.scores(&asked, self.owner.len())).unwrap_or_default();
        let scores = match system {
            System::Bm25 => self.own.scores(&asked),
            System::Context => {
                let near = self.near.scores(&asked);
                self.own.scores(&asked).iter().zip(near).map(|(own, near)| own + 0.5 * near).collect()
            }
            System::FedBack => self.own.fed_back(&asked),
            System::User => users(),
            System::LexPlus => self.lex_plus(question, &asked),
            System::SessionBm25 => self.sessions.scores(&asked),
            System::SessionFedBack => self.sessions.fed_back(&asked),
            System::SessionUser => self.users.as_ref().map(|users| users.sessions.scores(&asked)).unwrap_or_default(),
            System::BestTurnBm25 => self.best_turns(&self.own.scores(&asked)),
            System::BestTurnUser => self.best_turns(&users()),
            System::BestTurn => self.best_turns(&self.lex_plus(question, &asked)),
        };
        order(&scores)
    }
}
