//! The order of documents for a question: signals, their sum, and what each hit says for itself.

use super::dates;
use super::evidence::Evidence;
use super::index::{BREAK, Entry, Index, NONE};
use super::kin::{self, Akin};
use super::meaning::unit;
use super::newer;
use super::question::Question;
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
    /// It holds no word of the question, but much of what the documents found speak of. Between 0 and 1: such
    /// documents stand below all others.
    pub akin: f32,
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
    /// The person the question names says it.
    pub speaker: f32,
    /// It replies to a turn that asked the same.
    pub reply: f32,
    /// It asks instead of telling (held against it).
    pub asks: f32,
    /// It was written by an assistant and not by the user (held against it).
    pub assistant: f32,
}

/// How much another form of a word counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Forms {
    /// A word of nearly the same meaning.
    pub same: f32,
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
            akin: 0.5,
            talk: Talk { near: 0.8, session: 0.8, speaker: 0.3, reply: 0.6, asks: 0.5, assistant: 1.0 },
            forms: Forms { same: 0.2, short: 0.5, spelling: 0.6 },
        }
    }
}

/// A document that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The document, or the session.
    pub id: String,
    /// The sum of its signals.
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
/// How many standard deviations above the mean a meaning stands out.
const STANDS_OUT: f32 = 1.0;
/// Texts that are farther apart have nothing to do with each other, even when all others are farther still.
const MEANT: f32 = 0.25;
/// How much the day of a session counts beside the day of its turns.
const SESSION_DATE: f32 = 1.5;
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
    /// How near each entry's meaning is, when that is asked for.
    nearness: Vec<f32>,
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
        let mut hits: Vec<Hit> = ranked.iter().map(|(place, score)| ranking.hit(*place, *score)).collect();
        let room = query.limit.saturating_sub(hits.len());
        if room > 0 && query.weights.akin > 0.0 {
            hits.extend(ranking.akin(&ranked, room));
        }
        hits
    }

    /// The sessions that answer a question, best first: each as good as the mean of its best turns, and
    /// as itself. That one turn of many is near in meaning finds a session, and says nothing of its place.
    pub fn sessions(&self, query: &Query<'_>) -> Vec<Hit> {
        let query = &Query { weights: Weights { meaning: 0.0, ..query.weights }, ..query.clone() };
        let mut ranking = Ranking::new(self, query);
        let ranked = ranking.run(usize::MAX);
        let mut best: HashMap<u32, Vec<(usize, f32)>> = HashMap::new();
        for (place, score) in ranked {
            let session = self.counts.session_of[ranking.found[place] as usize];
            let turns = best.entry(session).or_default();
            if session != NONE && turns.len() < speaking(ranking.entry(place)) {
                turns.push((place, score));
            }
        }
        let mean = |turns: &[(usize, f32)]| {
            let shares = turns.iter().map(|(place, score)| score / speaking(ranking.entry(*place)) as f32);
            shares.sum::<f32>()
        };
        let dates = ranking.dates();
        let day = |place: usize| dates.get(ranking.found[place] as usize).copied().unwrap_or(0.0);
        let whole = |session: u32, place: usize| {
            query.weights.talk.session * ranking.evidence.session[session as usize]
                + query.weights.date * SESSION_DATE * day(place)
        };
        let mut sessions: Vec<(f32, usize)> = best
            .iter()
            .filter_map(|(session, turns)| {
                turns.first().map(|(place, _)| (mean(turns) + whole(*session, *place), *place))
            })
            .collect();
        sessions.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let hit = |(score, place): (f32, usize)| {
            let turn = self.entries[ranking.found[place] as usize].turn.as_ref()?;
            Some(Hit { id: turn.session.clone(), score, ..ranking.hit(place, score) })
        };
        sessions.into_iter().take(query.limit).filter_map(hit).collect()
    }
}

impl<'a> Ranking<'a> {
    fn new(index: &'a Index, query: &'a Query<'a>) -> Self {
        let question = Question::of(query, index);
        let mut evidence = Evidence::of(index, &question);
        scale(&mut evidence.session);
        let nearness = query.meaning.map(|asked| nearness(index, asked)).unwrap_or_default();
        let (found, columns, overtaken) = (Vec::new(), Vec::new(), HashMap::new());
        Self { index, query, question, evidence, nearness, found, columns, overtaken }
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
        let outstanding = outstanding(&self.nearness);
        let asks_nothing = self.query.text.trim().is_empty();
        let is_found = |at: usize| {
            asks_nothing
                || self.evidence.own[at] > 0.0
                || self.evidence.near[at] > 0.0
                || dates.get(at).is_some_and(|fit| *fit > 0.0)
                || self.is_spoken(at)
                || self.nearness.get(at).is_some_and(|near| *near >= outstanding)
        };
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
        if !self.nearness.is_empty() {
            // All texts are somewhat near each other, and that says nothing: what counts is by how much one is nearer.
            let usual = if self.nearness.len() > 1 { mean(&self.nearness) } else { 0.0 };
            let near = |this: &Self, place: usize| (this.nearness[this.found[place] as usize] - usual).max(0.0);
            self.counted("meaning", weights.meaning, near);
        }
        self.shared("recent", weights.recent, |this, place| this.recent(place));
        self.shared("kind", weights.kind, |this, place| kind(&this.entry(place).kind));
        if self.index.counts.sessions.each.is_empty() {
            return self.finish(wanted);
        }
        let talk = weights.talk;
        self.counted("near", talk.near, |this, place| this.evidence.near[this.found[place] as usize]);
        self.shared("session", talk.session, |this, place| this.session(place));
        self.shared("speaker", talk.speaker, |this, place| this.speaks(place));
        self.counted("reply", talk.reply, |this, place| this.reply(place));
        self.shared("asks", -talk.asks, |this, place| this.asks(place));
        self.shared("assistant", -talk.assistant, |this, place| this.assistant(place));
        self.finish(wanted)
    }

    fn is_wanted(&self, at: usize) -> bool {
        self.query.kinds.is_empty() || self.query.kinds.contains(&self.index.entries[at].kind.as_str())
    }

    /// What is akin to those that were found, below all of them.
    fn akin(&self, ranked: &[(usize, f32)], room: usize) -> Vec<Hit> {
        let best: Vec<(u32, f32)> = ranked.iter().map(|(place, score)| (self.found[*place], *score)).collect();
        let last = best.last().map_or(0.0, |(_, score)| score.max(0.0));
        let kin = kin::akin(self.index, &best).into_iter().filter(|akin| self.is_wanted(akin.at as usize));
        let id = |at: u32| self.index.entries[at as usize].id.clone();
        let hit = |akin: Akin| {
            let score = self.query.weights.akin * last * akin.share;
            Hit {
                id: id(akin.at),
                score,
                signals: vec![Signal { name: "akin", value: score, terms: vec![id(akin.to)] }],
            }
        };
        kin.take(room).map(hit).collect()
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
            let ranked: Vec<(u32, f32)> = best.iter().map(|(place, score)| (self.found[*place], *score)).collect();
            let mut lifted = vec![0.0; self.found.len()];
            for lift in newer::lifts(self.index, &self.question, &ranked, &self.evidence.held) {
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

    /// Whether the one speaker that the question names says it.
    fn is_spoken(&self, at: usize) -> bool {
        let speaker = self.index.entries[at].turn.as_ref().map(|turn| &turn.speaker);
        speaker.is_some() && speaker == self.question.speaker.as_ref()
    }

    fn speaks(&self, place: usize) -> f32 {
        if self.is_spoken(self.found[place] as usize) { 1.0 } else { 0.0 }
    }

    /// Among people: how well the turn right before fits, if somebody else asked it.
    fn reply(&self, place: usize) -> f32 {
        let at = self.found[place] as usize;
        let (Some(turn), Some(before)) = (&self.index.entries[at].turn, at.checked_sub(1)) else { return 0.0 };
        let asked = &self.index.entries[before];
        let is_reply = asked.asks > 0
            && turn.voice == Voice::Peer
            && asked.turn.as_ref().is_some_and(|other| other.session == turn.session && other.speaker != turn.speaker);
        if is_reply { self.evidence.own[before] } else { 0.0 }
    }

    fn asks(&self, place: usize) -> f32 {
        let entry = self.entry(place);
        let is_peer = entry.turn.as_ref().is_some_and(|turn| turn.voice == Voice::Peer);
        if is_peer { f32::from(entry.asks) / 100.0 } else { 0.0 }
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
            let sure =
                self.question.concepts_of(*term).filter(|(word, sure)| *sure >= SURE && !concepts[*word].is_speaker);
            for (word, _) in sure {
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
        Hit { id: self.entry(place).id.clone(), score, signals }
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

/// How many turns speak for a session: among people several share what is talked of, to an assistant it is said once.
fn speaking(entry: &Entry) -> usize {
    if entry.turn.as_ref().is_some_and(|turn| turn.voice == Voice::Peer) { 2 } else { 1 }
}

/// How near each entry is to what was asked, in meaning; none when no vector fits. One that is not known is as near as
/// the mean, so that it neither wins nor loses by that.
fn nearness(index: &Index, asked: &[f32]) -> Vec<f32> {
    let Some(asked) = unit(asked) else { return Vec::new() };
    let near: Vec<Option<f32>> =
        index.entries.iter().map(|entry| index.vectors.nearness(entry.fingerprint, &asked)).collect();
    let known: Vec<f32> = near.iter().flatten().copied().collect();
    if known.is_empty() {
        return Vec::new();
    }
    let mean = mean(&known);
    near.into_iter().map(|near| near.unwrap_or(mean)).collect()
}

fn mean(values: &[f32]) -> f32 {
    values.iter().sum::<f32>() / values.len().max(1) as f32
}

/// What is as near as this is found by its meaning alone, whatever its words: it stands out among all there is. Models
/// differ in what they call near, so it is measured in standard deviations; few values cannot stand out as far.
fn outstanding(near: &[f32]) -> f32 {
    let mean_near = mean(near);
    let spread = mean(&near.iter().map(|value| (value - mean_near).powi(2)).collect::<Vec<_>>()).sqrt();
    let farthest = (near.len().saturating_sub(1) as f32).sqrt();
    (mean_near + spread * STANDS_OUT.min(farthest / 2.0)).max(MEANT)
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
