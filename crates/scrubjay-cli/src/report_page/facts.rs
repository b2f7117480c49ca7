//! What a page tells of a session, before any of it is drawn: the JSON of `scrubjay report --json`, field by field. Every word
//! in it that somebody else wrote is redacted and made visible when it enters ([`told`]).

use crate::layers::Marked as _;
use jiff::Timestamp;
use scrubjay::ledger::savings::{Amount, Kind};
use scrubjay::ledger::{Certainty, Layer};
use scrubjay::message::Usage;
use scrubjay::secrets::veiled;
use scrubjay::tokens::Budget;
use scrubjay::tools::shown;
use scrubjay::transcript::{Filling, Finding, Point};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// A session, counted through.
#[derive(Debug, Serialize)]
pub(crate) struct SessionReport {
    pub(crate) session: Card,
    /// The lines of the window, and how full it was in the end.
    pub(crate) window: Budget,
    /// Every answered request of the conversation.
    pub(crate) requests: Vec<Request>,
    /// What changed the window between two of them.
    pub(crate) changes: Vec<Point>,
    /// What the layers did, in order.
    pub(crate) events: Vec<Event>,
    pub(crate) cache: Cache,
    pub(crate) money: Money,
    pub(crate) compactions: Vec<Boundary>,
    /// What this session wrote into the memory, and what became of it.
    pub(crate) memories: Vec<Change>,
    /// What dreams would do and did not do by themselves.
    pub(crate) proposals: Vec<Proposed>,
    /// What could not be read.
    pub(crate) gaps: Vec<String>,
}

/// What a session is.
#[derive(Debug, Serialize)]
pub(crate) struct Card {
    pub(crate) id: String,
    /// The beginning of the first question.
    pub(crate) title: String,
    pub(crate) model: String,
    pub(crate) began: Option<Timestamp>,
    pub(crate) ended: Option<Timestamp>,
    pub(crate) questions: u64,
}

/// One answered request of the conversation.
#[derive(Debug, Serialize)]
pub(crate) struct Request {
    /// From 1.
    pub(crate) number: u64,
    pub(crate) at: Timestamp,
    /// Which question of the person it belongs to, and how that begins.
    pub(crate) question: u64,
    pub(crate) asked: String,
    pub(crate) model: String,
    /// What the service counted.
    pub(crate) usage: Usage,
    /// What stood in the window afterwards.
    pub(crate) filling: Filling,
    /// What each layer kept out of it by then, estimated.
    #[serde(serialize_with = "by_word")]
    pub(crate) kept_out: BTreeMap<Layer, u64>,
    /// What would have stood there otherwise, estimated: nothing kept out, but compacted when it is full.
    pub(crate) without: u64,
    /// How long nothing was asked before it.
    pub(crate) pause_seconds: Option<i64>,
    /// Whether the cache could still hold what came before.
    pub(crate) warm: Option<bool>,
    /// Whether only the hour-long lifetime had kept it.
    pub(crate) outlived: bool,
    /// Where the cache gave less than the last request had left in it, and where we said so before.
    pub(crate) misses: Vec<Miss>,
    /// What it cost, where every price is known.
    pub(crate) usd: Option<f64>,
    /// What all layers together had saved by then, costs taken off.
    pub(crate) net: Sum,
}

/// A break of the cached prefix.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Miss {
    /// From the closed list of causes.
    pub(crate) cause: &'static str,
    /// What had to be processed again; a break that was announced is not counted as a loss.
    pub(crate) lost_tokens: Option<u64>,
    /// The part that changed.
    pub(crate) part: Option<String>,
    pub(crate) announced: bool,
}

/// Something a layer did.
#[derive(Debug, Serialize)]
pub(crate) struct Event {
    /// How many requests had been answered.
    pub(crate) after: u64,
    pub(crate) at: Timestamp,
    #[serde(serialize_with = "word")]
    pub(crate) layer: Layer,
    /// The number of the layer, or the letter of what is none.
    pub(crate) letter: char,
    pub(crate) what: String,
    /// Whether anything came of it.
    pub(crate) acted: bool,
}

impl Event {
    pub(crate) fn new(after: u64, at: Timestamp, layer: Layer, what: &str) -> Self {
        Self { after, at, layer, letter: layer.mark().letter, what: told(what, LONGEST), acted: true }
    }
}

/// How much of one finding, one event or one line is told.
pub(crate) const LONGEST: usize = 240;

/// The cache over the whole session.
#[derive(Debug, Serialize)]
pub(crate) struct Cache {
    pub(crate) usage: Usage,
    /// The share of the conversation's input that came from the cache.
    pub(crate) hit_rate: Option<f64>,
    /// How often it gave less than promised and what that took, by cause.
    pub(crate) lost: BTreeMap<&'static str, Lost>,
}

#[derive(Debug, Default, Serialize)]
pub(crate) struct Lost {
    pub(crate) times: u64,
    pub(crate) tokens: u64,
}

/// From what it would have cost to what it did.
#[derive(Debug, Serialize)]
pub(crate) struct Money {
    /// What the same would have cost: billed and net together.
    pub(crate) without_usd: Option<f64>,
    /// From there to what was billed.
    pub(crate) steps: Vec<Step>,
    /// What all calls of the session cost, agents and background work included.
    pub(crate) billed_usd: Option<f64>,
    /// What is left of the savings.
    pub(crate) net: Sum,
    /// The net of each layer.
    pub(crate) by_layer: Vec<Net>,
    /// Every call, by who asked and which model answered.
    pub(crate) calls: Vec<Calls>,
}

/// One step of the waterfall: a saving is positive, a cost negative.
#[derive(Debug, Serialize)]
pub(crate) struct Step {
    #[serde(serialize_with = "kind")]
    pub(crate) kind: Kind,
    /// Whose saving; costs are of all layers together.
    #[serde(serialize_with = "some_word")]
    pub(crate) layer: Option<Layer>,
    pub(crate) sum: Sum,
}

/// The net of one layer.
#[derive(Debug, Serialize)]
pub(crate) struct Net {
    #[serde(serialize_with = "word")]
    pub(crate) layer: Layer,
    pub(crate) sum: Sum,
}

/// Tokens and money, and how sure they are.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Sum {
    pub(crate) tokens: i64,
    pub(crate) usd: Option<f64>,
    pub(crate) certainty: Certainty,
}

impl From<Amount> for Sum {
    fn from(amount: Amount) -> Self {
        Self { tokens: amount.tokens, usd: amount.money, certainty: amount.certainty }
    }
}

/// What one source took on one model.
#[derive(Debug, Serialize)]
pub(crate) struct Calls {
    pub(crate) source: String,
    pub(crate) model: String,
    pub(crate) calls: u64,
    pub(crate) usage: Usage,
    pub(crate) usd: Option<f64>,
}

/// A compaction: what it made of the window, and what survived.
#[derive(Debug, Serialize)]
pub(crate) struct Boundary {
    /// How many requests had been answered.
    pub(crate) after: u64,
    pub(crate) at: Timestamp,
    /// `automatic` or `asked for`.
    pub(crate) trigger: &'static str,
    /// Who wrote the summary.
    pub(crate) author: &'static str,
    pub(crate) tokens_before: u64,
    pub(crate) tokens_after: u64,
    /// The share of what matters that the new text still says, from 0 to 1.
    pub(crate) score: Option<f64>,
    pub(crate) kept: Vec<Finding>,
    pub(crate) dropped: Vec<Finding>,
    /// How many findings there were before the lists were cut.
    pub(crate) kept_in_all: usize,
    pub(crate) dropped_in_all: usize,
    /// Whether it was undone later.
    pub(crate) taken_back: bool,
}

/// One change of the memory.
#[derive(Debug, Serialize)]
pub(crate) struct Change {
    pub(crate) id: u64,
    pub(crate) at: Timestamp,
    /// Who caused it.
    pub(crate) by: String,
    pub(crate) dream: bool,
    pub(crate) taken_back: bool,
    pub(crate) files: Vec<File>,
}

/// What a change did to one memory.
#[derive(Debug, Serialize)]
pub(crate) struct File {
    pub(crate) path: String,
    /// `new`, `changed` or `removed`.
    pub(crate) what: &'static str,
    pub(crate) name: String,
    pub(crate) description: String,
    /// `user`, `feedback`, `project`, `reference` or `untyped`.
    pub(crate) kind: &'static str,
    /// As `diff -u` shows it, without its heading.
    pub(crate) diff: Vec<String>,
    /// How many lines of it were left out.
    pub(crate) more: usize,
}

/// What a dream proposes.
#[derive(Debug, Serialize)]
pub(crate) struct Proposed {
    pub(crate) id: String,
    pub(crate) at: Timestamp,
    pub(crate) reasons: Vec<String>,
    pub(crate) diff: Vec<String>,
    pub(crate) more: usize,
}

/// Words of a person, a model, a tool or a file: no credential, nothing that hides or turns the text around, not too long.
pub(crate) fn told(words: &str, most: usize) -> String {
    let veiled = veiled(words);
    let words = shown(&veiled);
    match words.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words.into_owned(),
    }
}

fn word<S: Serializer>(layer: &Layer, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(layer.word())
}

fn some_word<S: Serializer>(layer: &Option<Layer>, out: S) -> Result<S::Ok, S::Error> {
    layer.map(Layer::word).serialize(out)
}

fn by_word<S: Serializer>(layers: &BTreeMap<Layer, u64>, out: S) -> Result<S::Ok, S::Error> {
    out.collect_map(layers.iter().map(|(layer, tokens)| (layer.word(), tokens)))
}

fn kind<S: Serializer>(kind: &Kind, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(match kind {
        Kind::Saving => "saved",
        Kind::Damage => "cache_damage",
        Kind::ReadBack => "read_again",
        Kind::Premium => "longer_lifetime",
        Kind::Spend => "own_calls",
    })
}
