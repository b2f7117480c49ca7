//! The order of documents for a question: signals, their sum, and what each hit says for itself.

use super::dates;
use super::evidence::Evidence;
use super::index::{BREAK, Entry, Index};
use super::meaning::unit;
use super::newer;
use super::question::Question;
use super::relevance::{BY_MODEL, BY_WORDS, Sayings, Signs};
use super::{Query, Voice};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::collections::HashMap;

/// How much each signal counts. They were set by hand and rounded; each can be switched off with 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    /// The question's words in the document itself, by rarity, field and length.
    pub words: f32,
    /// Words that stand together in the question stand together in the document.
    pub phrase: f32,
    /// How much of the question is covered at all.
    pub cover: f32,
    /// It holds the kind of answer that is wanted: a time, a number.
    pub answer: f32,
    /// It is from the days the question names.
    pub date: f32,
    /// It is recent. What was said when is for the question to ask: in conversations this does not count.
    pub recent: f32,
    /// Corrections and facts about the person come before references.
    pub kind: f32,
    /// A later statement about the same thing comes before an earlier one.
    pub newer: f32,
    /// Its meaning is near, if there are vectors.
    pub meaning: f32,
    /// Signals of conversations.
    pub talk: Talk,
    /// Forms a word may take.
    pub forms: Forms,
}

/// How much the signals of a conversation count.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Talk {
    /// The turns around it speak of the same.
    pub near: f32,
    /// Its session speaks of the same.
    pub session: f32,
    /// It was written by an assistant and not by the user (held against it).
    pub assistant: f32,
}

/// How much another form of a word counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Forms {
    /// A short form that some document explains.
    pub short: f32,
    /// A word that differs by a slip.
    pub spelling: f32,
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            words: 1.0,
            phrase: 0.5,
            cover: 0.2,
            answer: 0.5,
            date: 1.0,
            recent: 0.05,
            kind: 0.05,
            newer: 1.0,
            meaning: 0.8,
            talk: Talk { near: 0.8, session: 0.8, assistant: 1.0 },
            forms: Forms { short: 0.5, spelling: 0.6 },
        }
    }
}

/// A document that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The document.
    pub id: String,
    /// How likely it is wanted, between 0 and 1: the same for every question and every store.
    pub relevance: f32,
    /// What that rests on.
    pub signs: Signs,
    /// The sum of its signals: its place among the others.
    pub score: f32,
    /// Why it stands where it stands, strongest first.
    pub signals: Vec<Signal>,
}

/// One reason for a place in the order.
#[derive(Debug, Clone, PartialEq)]
pub struct Signal {
    /// The field of [`Weights`], [`Talk`] or [`Forms`] it belongs to.
    pub name: &'static str,
    /// What it adds to the score.
    pub value: f32,
    /// The words, names or documents it comes from, where there are some.
    pub terms: Vec<String>,
}

/// A session of more words than this speaks of many things, and being from it says less.
const SESSION_WORDS: f32 = 999.0;
const DAY_SECONDS: f32 = 24.0 * 60.0 * 60.0;
/// After so many days a document is half as recent.
const HALF_LIFE_DAYS: f32 = 90.0;
/// How many of the best are looked at word by word.
const CLOSE_LOOK: usize = 400;
/// A form less sure than this may be another word.
pub(super) const SURE: f32 = 0.5;
/// Words further apart are not together.
const TOGETHER: usize = 4;
/// By so much one has to be nearer than the mean for its meaning to count in full.
const NEARER: f32 = 0.4;
/// So many vectors tell how near a model calls texts that have nothing to do with each other.
const TELLING: usize = 10;
/// Texts that have nothing to do with each other are at most so near; a model that calls them nearer is taken at that.
const FAR: f32 = 0.12;
/// One signal over all documents found, before its weight.
struct Column {
    name: &'static str,
    weight: f32,
    values: Vec<f32>,
}

/// So that the best is 1. What holds nothing has 0, so this is min–max.
fn scale(values: &mut [f32]) {
    let most = values.iter().copied().fold(0.0, f32::max);
    if most > 0.0 {
        values.iter_mut().for_each(|value| *value /= most);
    }
}

/// A question on its way through an index.
struct Ranking<'a> {
    index: &'a Index,
    query: &'a Query<'a>,
    question: Question,
    evidence: Evidence,
    /// How near each entry's meaning is: its head, and all of it.
    nearness: Vec<[f32; 2]>,
    /// What speaks for each entry, and how likely it is wanted.
    signs: Vec<Signs>,
    relevance: Vec<f32>,
    found: Vec<u32>,
    columns: Vec<Column>,
    /// The earlier statements that a place went before.
    overtaken: HashMap<usize, Vec<usize>>,
}

impl Index {
    /// The documents that answer a question, best first, with their reasons.
    pub fn recall(&self, query: &Query<'_>) -> Vec<Hit> {
        let mut ranking = Ranking::new(self, query);
        let ranked = ranking.run(query.limit);
        ranked.iter().map(|(place, score)| ranking.hit(*place, *score)).collect()
    }
}

impl<'a> Ranking<'a> {
    fn new(index: &'a Index, query: &'a Query<'a>) -> Self {
        let question = Question::of(query, index);
        let mut evidence = Evidence::of(index, &question);
        scale(&mut evidence.session);
        let by_model = query.meaning.and_then(|asked| nearness(index, asked));
        let fit = if by_model.is_some() { BY_MODEL } else { BY_WORDS };
        let nearness = by_model.unwrap_or_else(|| near_by_words(index, &question));
        let (found, columns, overtaken) = (Vec::new(), Vec::new(), HashMap::new());
        let (signs, relevance) = (Vec::new(), Vec::new());
        let mut ranking =
            Self { index, query, question, evidence, nearness, signs, relevance, found, columns, overtaken };
        let days = ranking.dates();
        let sayings = Sayings::of(&ranking.question, index);
        ranking.signs = (0..index.entries.len()).map(|at| ranking.sign(at, &sayings, &days)).collect();
        ranking.relevance = ranking.signs.iter().map(|signs| signs.relevance(&fit)).collect();
        ranking
    }

    /// What speaks for an entry. In a conversation what is said right before and after it is said of it, too.
    fn sign(&self, at: usize, sayings: &Sayings, days: &[f32]) -> Signs {
        let is_turn = self.index.entries[at].turn.is_some();
        let held = if is_turn { self.evidence.around[at] } else { self.evidence.held[at] };
        let [near_head, near] = self.nearness[at];
        let day = days.get(at).copied().unwrap_or(0.0);
        Signs { near_head, near, day, ..sayings.signs(held) }
    }

    fn entry(&self, place: usize) -> &'a Entry {
        &self.index.entries[self.found[place] as usize]
    }

    /// A signal that is counted, and compared with the best.
    fn counted(&mut self, name: &'static str, weight: f32, value: impl Fn(&Self, usize) -> f32) {
        self.shared(name, weight, value);
        if let Some(column) = self.columns.last_mut().filter(|column| column.name == name) {
            scale(&mut column.values);
        }
    }

    /// A signal that is a share as it is.
    fn shared(&mut self, name: &'static str, weight: f32, value: impl Fn(&Self, usize) -> f32) {
        if weight != 0.0 {
            let values = (0..self.found.len()).map(|place| value(self, place)).collect();
            self.columns.push(Column { name, weight, values });
        }
    }

    /// Signals for everything found, and the order they make: places in `found` with their scores.
    fn run(&mut self, wanted: usize) -> Vec<(usize, f32)> {
        let dates = self.dates();
        let asks_nothing = self.query.text.trim().is_empty();
        let is_found = |at: usize| asks_nothing || self.relevance[at] >= self.query.floor;
        self.found = (0..self.index.entries.len())
            .filter(|at| self.is_wanted(*at) && is_found(*at))
            .map(|at| at as u32)
            .collect();
        let weights = self.query.weights;
        self.counted("words", weights.words, |this, place| this.evidence.own[this.found[place] as usize]);
        self.shared("cover", weights.cover, |this, place| this.cover(place));
        self.shared("answer", weights.answer, |this, place| this.answer(place));
        if !dates.is_empty() {
            self.shared("date", weights.date, |this, place| dates[this.found[place] as usize]);
        }
        // All texts are somewhat near each other, and that says nothing: what counts is by how much one is nearer.
        let near: Vec<f32> = self.nearness.iter().map(|[head, whole]| head.max(*whole)).collect();
        let usual = if near.len() > 1 { mean(&near) } else { 0.0 };
        let most = near.iter().map(|near| near - usual).fold(NEARER, f32::max);
        let nearer = |this: &Self, place: usize| ((near[this.found[place] as usize] - usual) / most).max(0.0);
        self.shared("meaning", weights.meaning, nearer);
        self.shared("recent", weights.recent, |this, place| this.recent(place));
        self.shared("kind", weights.kind, |this, place| kind(&this.entry(place).kind));
        if self.index.counts.sessions.each.is_empty() {
            return self.finish(wanted);
        }
        let talk = weights.talk;
        self.counted("near", talk.near, |this, place| this.evidence.near[this.found[place] as usize]);
        self.shared("session", talk.session, |this, place| this.session(place));
        self.shared("assistant", -talk.assistant, |this, place| this.assistant(place));
        self.finish(wanted)
    }

    fn is_wanted(&self, at: usize) -> bool {
        self.query.kinds.is_empty() || self.query.kinds.contains(&self.index.entries[at].kind.as_str())
    }

    /// The close look at the best, and the final order of as many as are wanted.
    fn finish(&mut self, wanted: usize) -> Vec<(usize, f32)> {
        let mut together = vec![0.0; self.found.len()];
        for (place, _) in self.best(CLOSE_LOOK) {
            together[place] = self.together(place);
        }
        scale(&mut together);
        self.columns.push(Column { name: "phrase", weight: self.query.weights.phrase, values: together });
        if self.query.weights.newer > 0.0 {
            let best: Vec<(usize, f32)> = self.best(newer::COMPARED);
            let ranked: Vec<newer::Ranked> = best
                .iter()
                .map(|(place, score)| (self.found[*place], *score, self.relevance[self.found[*place] as usize]))
                .collect();
            let mut lifted = vec![0.0; self.found.len()];
            for lift in newer::lifts(self.index, &self.question, &ranked) {
                let place = best[lift.rank].0;
                lifted[place] = lift.by;
                self.overtaken.insert(place, lift.over.iter().map(|rank| best[*rank].0).collect());
            }
            self.columns.push(Column { name: "newer", weight: self.query.weights.newer, values: lifted });
        }
        self.best(wanted)
    }

    /// The best places with their scores, in order; of equals the newer first, then by id.
    fn best(&self, count: usize) -> Vec<(usize, f32)> {
        let score = |place: usize| self.columns.iter().map(|column| column.weight * column.values[place]).sum::<f32>();
        let mut order: Vec<(usize, f32)> = (0..self.found.len()).map(|place| (place, score(place))).collect();
        let compare = |a: &(usize, f32), b: &(usize, f32)| {
            let (x, y) = (self.entry(a.0), self.entry(b.0));
            b.1.total_cmp(&a.1).then_with(|| (y.time, &x.turn, &x.id).cmp(&(x.time, &y.turn, &y.id)))
        };
        if count < order.len() {
            order.select_nth_unstable_by(count, compare);
            order.truncate(count);
        }
        order.sort_by(compare);
        order
    }

    /// For each entry how well its day fits, when the question names days.
    fn dates(&self) -> Vec<f32> {
        if self.question.days.is_empty() {
            return Vec::new();
        }
        let zone: &TimeZone = self.query.now.time_zone();
        let fit = |entry: &Entry| {
            let time = entry.time.and_then(|seconds| Timestamp::from_second(seconds).ok())?;
            let date = zone.to_datetime(time).date();
            Some(self.question.days.iter().map(|days| dates::fit(*days, date)).fold(0.0, f32::max))
        };
        self.index.entries.iter().map(|entry| fit(entry).unwrap_or(0.0)).collect()
    }

    fn cover(&self, place: usize) -> f32 {
        let around = self.evidence.around[self.found[place] as usize];
        let held = self.question.concepts.iter().enumerate().filter(|(number, _)| around & (1 << number) != 0);
        let all: f32 = self.question.concepts.iter().map(|concept| concept.weight).sum();
        held.map(|(_, concept)| concept.weight).sum::<f32>() / all.max(f32::MIN_POSITIVE)
    }

    fn answer(&self, place: usize) -> f32 {
        let entry = self.entry(place);
        match (self.question.wants_time, self.question.wants_number) {
            (true, _) if entry.has_time => 1.0,
            (false, true) if entry.has_number => 0.3,
            _ => 0.0,
        }
    }

    fn recent(&self, place: usize) -> f32 {
        let Some(time) = self.entry(place).time.filter(|_| self.entry(place).turn.is_none()) else { return 0.0 };
        let days = (self.query.now.timestamp().as_second() - time).max(0) as f32 / DAY_SECONDS;
        (-days / HALF_LIFE_DAYS).exp2()
    }

    fn session(&self, place: usize) -> f32 {
        let session = self.index.counts.session_of[self.found[place] as usize];
        let Some(length) = self.index.counts.sessions.each.get(session as usize) else { return 0.0 };
        self.evidence.session[session as usize] * SESSION_WORDS / (SESSION_WORDS + length)
    }

    fn assistant(&self, place: usize) -> f32 {
        let voice = self.entry(place).turn.as_ref().map(|turn| turn.voice);
        if voice == Some(Voice::Assistant) { 1.0 } else { 0.0 }
    }

    /// Words that follow each other in the question, by how near they stand here.
    fn together(&self, place: usize) -> f32 {
        if self.evidence.held[self.found[place] as usize].count_ones() < 2 {
            return 0.0;
        }
        let concepts = &self.question.concepts;
        let mut last: Vec<Option<usize>> = vec![None; concepts.len()];
        let mut nearest = vec![usize::MAX; concepts.len()];
        for (at, term) in self.entry(place).terms.iter().enumerate().filter(|(_, term)| **term != BREAK) {
            for (word, _) in self.question.concepts_of(*term).filter(|(_, sure)| *sure >= SURE) {
                last[word] = Some(at);
                if let Some(before) = word.checked_sub(1).and_then(|before| last[before]).filter(|before| *before < at)
                {
                    nearest[word] = nearest[word].min(at - before);
                }
                if let Some(after) = last.get(word + 1).copied().flatten().filter(|after| *after < at) {
                    nearest[word + 1] = nearest[word + 1].min(at - after + 1);
                }
            }
        }
        let pairs = concepts.windows(2).zip(nearest.iter().skip(1)).filter(|(_, nearest)| **nearest <= TOGETHER);
        pairs.map(|(pair, nearest)| pair[0].weight.min(pair[1].weight) / *nearest as f32).sum()
    }

    fn hit(&self, place: usize, score: f32) -> Hit {
        let signals = self.columns.iter().map(|column| Signal {
            name: column.name,
            value: column.weight * column.values[place],
            terms: match column.name {
                "words" => self.held(place),
                "newer" => self.overtaken(place),
                _ => Vec::new(),
            },
        });
        let mut signals: Vec<Signal> = signals.filter(|signal| signal.value != 0.0).collect();
        signals.sort_by(|a, b| b.value.abs().total_cmp(&a.value.abs()));
        let at = self.found[place] as usize;
        Hit { id: self.entry(place).id.clone(), relevance: self.relevance[at], signs: self.signs[at], score, signals }
    }

    /// The documents that a later one went before.
    fn overtaken(&self, place: usize) -> Vec<String> {
        self.overtaken.get(&place).into_iter().flatten().map(|earlier| self.entry(*earlier).id.clone()).collect()
    }

    /// The question's words that a document holds; where it holds another form, that too.
    fn held(&self, place: usize) -> Vec<String> {
        let at = self.found[place];
        let mut held = Vec::new();
        for (number, concept) in self.question.concepts.iter().enumerate() {
            if self.evidence.held[at as usize] & (1 << number) != 0 {
                let holds = |term: u32| {
                    self.index.counts.postings(term).binary_search_by_key(&at, |posting| posting.entry).is_ok()
                };
                let form = concept
                    .forms
                    .iter()
                    .find(|form| holds(form.term))
                    .map(|form| &*self.index.lexicon.words[form.term as usize]);
                held.push(match form {
                    Some(form) if form != concept.word => format!("{}~{form}", concept.word),
                    _ => concept.word.clone(),
                });
            }
        }
        held
    }
}

/// How near each entry is by the vectors of a model; none when no vector fits. One that is not known is as near as the mean,
/// so that it neither wins nor loses by that.
fn nearness(index: &Index, asked: &[f32]) -> Option<Vec<[f32; 2]>> {
    let asked = unit(asked)?;
    let near: Vec<Option<f32>> =
        index.entries.iter().map(|entry| index.vectors.nearness(entry.fingerprint, &asked)).collect();
    let known: Vec<f32> = near.iter().flatten().copied().collect();
    if known.is_empty() {
        return None;
    }
    let usual = mean(&known);
    let nearer = if known.len() >= TELLING { (usual - FAR).max(0.0) } else { 0.0 };
    Some(near.into_iter().map(|near| [near.unwrap_or(usual) - nearer; 2]).collect())
}

/// How near each entry is by the table of words. One that has no name is as near as its text.
fn near_by_words(index: &Index, question: &Question) -> Vec<[f32; 2]> {
    let near = |entry: &Entry| {
        let [head, whole] = entry.meanings.each_ref().map(|meaning| meaning.near(&question.meaning));
        if entry.meanings[0].0.is_empty() { [whole; 2] } else { [head, whole] }
    };
    index.entries.iter().map(near).collect()
}

fn mean(values: &[f32]) -> f32 {
    values.iter().sum::<f32>() / values.len().max(1) as f32
}

/// What a person said of themselves and of our work weighs more than what can be looked up again.
fn kind(kind: &str) -> f32 {
    match kind {
        "feedback" => 1.0,
        "user" => 0.75,
        "project" => 0.5,
        _ => 0.0,
    }
}
