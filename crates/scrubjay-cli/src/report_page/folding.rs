//! From a transcript and its ledger to facts: one walk over each, and the two held against each other.

use super::Subject;
use super::facts::{
    Boundary, Cache, Calls, Card, Event, LONGEST, Lost, Miss, Money, Net, Request, SessionReport, Step, told,
};
use super::remembering;
use crate::compaction::author;
use crate::failure::Failure;
use crate::paper::{counted, size};
use crate::shelf::damage_in_words;
use jiff::Timestamp;
use scrubjay::context::budget_of;
use scrubjay::ledger::book::{self, Book};
use scrubjay::ledger::savings::{Account, Amount, Kind};
use scrubjay::ledger::waterfall::Waterfall;
use scrubjay::ledger::{Called, Layer, Row, health};
use scrubjay::message::{Origin, SessionId, Usage};
use scrubjay::prompt_cache::planner::Warmth;
use scrubjay::transcript::{
    Call, Compaction, Damage, Entry, Extracted, Finding, Moment, Point, Record, Transcript, Trigger, Way, Writer,
    course,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How much of a question is told.
const QUESTION: usize = 110;

/// How many findings of a compaction are told; the session's file has all of them.
const FINDINGS: usize = 40;

impl SessionReport {
    /// Read a session through.
    pub(crate) fn of(subject: &Subject<'_>) -> Result<Self, Failure> {
        let session = subject.session();
        let limits = Arc::new(subject.limits.clone());
        let (transcript, damage) = Transcript::peek(subject.transcript, SessionId::new(session.as_str()), limits)?;
        let file = Book::path_of(subject.transcript);
        let ledger = book::read(&file, subject.limits)
            .map_err(|error| Failure::failed(format!("the receipts in {} cannot be read: {error}", file.display())))?;
        let walked = Walk::along(transcript.records(), subject);
        let booked = Booked::of(&ledger.records);
        let used = transcript.view().count.total();
        let model = transcript.view().opening.as_ref().map(|opening| told(&opening.model, LONGEST));
        let mut report = Self {
            session: Card {
                id: session,
                title: walked.asked.first().cloned().unwrap_or_default(),
                model: model.unwrap_or_default(),
                began: transcript.records().first().map(|record| record.at),
                ended: transcript.records().last().map(|record| record.at),
                questions: walked.asked.len() as u64,
            },
            window: budget_of(subject.window, used, subject.settings, subject.limits),
            cache: cache(&ledger.records, &walked),
            requests: booked.requests(walked.requests),
            changes: walked.changes,
            events: walked.events,
            money: money(&ledger.records, &transcript, subject),
            compactions: walked.compactions,
            memories: Vec::new(),
            proposals: Vec::new(),
            gaps: gaps(&damage, &ledger.damage),
        };
        remembering::fill(&mut report, subject)?;
        report.events.sort_by_key(|event| (event.after, event.at));
        Ok(report)
    }
}

fn gaps(session: &[Damage], receipts: &[Damage]) -> Vec<String> {
    let mut gaps = Vec::new();
    if !session.is_empty() {
        gaps.push(damage_in_words(session));
    }
    if !receipts.is_empty() {
        gaps.push(format!("{} could not be read", counted(receipts.len() as u64, "receipt")));
    }
    gaps
}

/// What the transcript says.
#[derive(Default)]
struct Walk {
    asked: Vec<String>,
    requests: Vec<(Point, Call, String)>,
    changes: Vec<Point>,
    events: Vec<Event>,
    compactions: Vec<Boundary>,
}

impl Walk {
    fn along(records: &[Record], subject: &Subject<'_>) -> Self {
        let mut walk = Self::default();
        let mut points = course(records, subject.limits).into_iter().peekable();
        for record in records {
            let point = points.next_if(|point| point.entry == record.id);
            walk.step(record, records, point);
        }
        walk
    }

    fn step(&mut self, record: &Record, records: &[Record], point: Option<Point>) {
        if let Entry::Said(message) = &record.entry
            && message.origin == Origin::Person
        {
            let words = message.text().split_whitespace().collect::<Vec<_>>().join(" ");
            self.asked.push(beginning(&told(&words, usize::MAX)));
        }
        if let (Entry::Compacted(compaction), Some(point)) = (&record.entry, &point) {
            let back = |other: &Record| matches!(other.entry, Entry::Reverted { entry } if entry == record.id);
            let boundary = boundary(compaction, point, self.requests.len() as u64);
            self.compactions.push(Boundary { taken_back: records.iter().any(back), ..boundary });
        }
        match (&record.entry, point) {
            (Entry::Replied(call), Some(point)) if point.moment == Moment::Answered => {
                let asked = self.asked.last().cloned().unwrap_or_default();
                self.requests.push((point, call.clone(), asked));
            }
            (_, Some(point)) => self.changes.push(point),
            (_, None) => {}
        }
        let after = self.requests.len() as u64;
        if let Some((layer, what)) = event(&record.entry, records) {
            let idle = matches!(&record.entry, Entry::Extracted(extracted) if extracted.saved.is_empty());
            self.tell(Event { acted: !idle, ..Event::new(after, record.at, layer, &what) });
        }
    }

    /// Calls of one agent or one dream in a row are one event.
    fn tell(&mut self, event: Event) {
        let again = |last: &&mut Event| last.after == event.after && last.what == event.what;
        match self.events.last_mut().filter(again) {
            Some(_) => {}
            None => self.events.push(event),
        }
    }
}

/// The first words of a question.
fn beginning(question: &str) -> String {
    let Some((end, _)) = question.char_indices().nth(QUESTION) else { return question.to_owned() };
    let whole = question[..end].rsplit_once(' ').map_or(&question[..end], |(words, _)| words);
    format!("{whole}…")
}

/// What an entry says that a layer did.
fn event(entry: &Entry, records: &[Record]) -> Option<(Layer, String)> {
    Some(match entry {
        Entry::Spilled(one) => (
            Layer::ToolResults,
            format!("{} answered {}; stored, the model sees {}", one.tool, size(one.bytes), size(one.shown)),
        ),
        Entry::Cleared { results, because } => {
            let results = counted(results.len() as u64, "old result");
            (Layer::Microcompaction, format!("{results} cleared (cause: {})", because.word()))
        }
        Entry::Noted(noted) => {
            let by = if noted.by == Writer::Model { "a model" } else { "code" };
            (Layer::SessionNotes, format!("notes brought up to date by {by}"))
        }
        Entry::Compacted(compaction) => {
            let messages = author(compaction.author);
            (Layer::Compaction, format!("compacted {}, summary by {messages}", trigger(compaction.trigger)))
        }
        Entry::GivenBack { messages, .. } => {
            (Layer::Compaction, format!("{} given back", counted(messages.len() as u64, "message")))
        }
        Entry::Hid(hiding) => match hiding.hide.first() {
            Some(span) if span.way == Way::Snip => (Layer::Snip, "a stretch taken out".to_owned()),
            Some(_) => (Layer::Collapse, format!("{} folded", counted(hiding.hide.len() as u64, "stretch"))),
            None => (Layer::Collapse, "shown again".to_owned()),
        },
        Entry::Reverted { entry } => {
            let undone = records.iter().find(|record| record.id == *entry)?;
            let (layer, what) = event(&undone.entry, &[])?;
            (layer, format!("taken back: {what}"))
        }
        Entry::Failed { layer, because } => {
            let source = if layer == Compaction::LAYER { "compact" } else { layer };
            (Layer::of_source(source), format!("failed: {because}"))
        }
        Entry::Recalled(recalled) => (Layer::Recall, format!("recalled {}", names(&recalled.files).join(", "))),
        Entry::Extracted(extracted) => (Layer::Extraction, learnt(extracted)),
        Entry::Replied(call) if call.source.starts_with("agent:") => {
            (Layer::Agents, format!("{} at work", call.source.replacen(':', " ", 1)))
        }
        Entry::Replied(call) if call.source == "dream" => (Layer::Dreaming, "a model dreams".to_owned()),
        _ => return None,
    })
}

fn learnt(extracted: &Extracted) -> String {
    match extracted.saved.as_slice() {
        [] => format!("looked through {}: nothing to keep", counted(extracted.messages, "message")),
        saved => format!("saved {}", saved.join(", ")),
    }
}

fn names(files: &[std::path::PathBuf]) -> Vec<String> {
    files.iter().filter_map(|file| Some(file.file_name()?.to_string_lossy().into_owned())).collect()
}

fn trigger(trigger: Trigger) -> &'static str {
    match trigger {
        Trigger::Auto => "automatically",
        Trigger::Manual => "on request",
    }
}

fn boundary(compaction: &Compaction, point: &Point, after: u64) -> Boundary {
    let cut = |findings: &[Finding]| -> Vec<Finding> {
        let told = |finding: &Finding| Finding { text: told(&finding.text, LONGEST), ..finding.clone() };
        findings.iter().take(FINDINGS).map(told).collect()
    };
    let (kept, dropped) =
        compaction.report.as_ref().map_or((&[][..], &[][..]), |report| (&report.kept, &report.dropped));
    Boundary {
        after,
        at: point.at,
        trigger: trigger(compaction.trigger),
        author: author(compaction.author),
        tokens_before: compaction.before,
        tokens_after: point.filling.total,
        score: compaction.report.as_ref().map(|report| report.score),
        kept: cut(kept),
        dropped: cut(dropped),
        kept_in_all: kept.len(),
        dropped_in_all: dropped.len(),
        taken_back: false,
    }
}

/// What the ledger says about one request.
struct Receipt {
    called: Called,
    misses: Vec<Miss>,
    kept_out: BTreeMap<Layer, u64>,
    more_without: i64,
    net: Amount,
}

/// What the ledger says.
struct Booked {
    receipts: Vec<Receipt>,
}

impl Booked {
    fn of(rows: &[Row]) -> Self {
        let mut account = Account::default();
        let (mut receipts, mut announced) = (Vec::<Receipt>::new(), Vec::new());
        for row in rows {
            account.apply(row);
            match row {
                Row::Called(called) if called.is_main() => receipts.push(Receipt {
                    called: called.clone(),
                    misses: std::mem::take(&mut announced),
                    kept_out: account.kept_out(),
                    more_without: account.more_without(),
                    net: account.savings().net(),
                }),
                Row::Announced { cause, .. } => {
                    announced.push(Miss { cause: cause.word(), lost_tokens: None, part: None, announced: true });
                }
                // It is booked behind the call that showed it.
                Row::Broke { lost, .. } => receipts.last_mut().into_iter().for_each(|receipt| {
                    let part = lost.part.as_ref().map(|part| told(&part.to_string(), LONGEST));
                    let lost_tokens = Some(lost.lost_tokens);
                    receipt.misses.push(Miss { cause: lost.cause.word(), lost_tokens, part, announced: false });
                }),
                _ => {}
            }
        }
        Self { receipts }
    }

    /// Each request with its receipt. Both are in order; either may have lost some to damage.
    fn requests(&self, walked: Vec<(Point, Call, String)>) -> Vec<Request> {
        let mut left = self.receipts.iter();
        let (mut requests, mut last): (Vec<Request>, Option<Timestamp>) = (Vec::new(), None);
        let (mut kept_out, mut more, mut net) = (BTreeMap::new(), 0, Amount::default());
        for (point, call, asked) in walked {
            let mut ahead = left.clone();
            let found = ahead.find(|receipt| receipt.called.usage == call.usage && receipt.called.model == call.model);
            if let Some(receipt) = found {
                left = ahead;
                (kept_out, more, net) = (receipt.kept_out.clone(), receipt.more_without, receipt.net);
            }
            let called = found.map(|receipt| &receipt.called);
            let took = called.map_or(0, |called| i64::try_from(called.duration_ms).unwrap_or(0) / 1_000);
            requests.push(Request {
                number: requests.len() as u64 + 1,
                at: point.at,
                question: point.question,
                asked,
                model: told(&call.model, LONGEST),
                usage: call.usage,
                without: point.filling.total.saturating_add_signed(more),
                filling: point.filling,
                kept_out: kept_out.clone(),
                pause_seconds: last.map(|last| (point.at.as_second() - last.as_second() - took).max(0)),
                warm: called.and_then(|called| called.warmth).map(|warmth| warmth == Warmth::Warm),
                outlived: called.is_some_and(|called| called.outlived > 0),
                misses: found.map(|receipt| receipt.misses.clone()).unwrap_or_default(),
                usd: called.and_then(|called| called.money),
                net: net.into(),
            });
            last = Some(point.at);
        }
        requests
    }
}

fn cache(rows: &[Row], walked: &Walk) -> Cache {
    let mut usage = Usage::default();
    walked.requests.iter().for_each(|(_, call, _)| usage += call.usage);
    let mut lost: BTreeMap<&'static str, Lost> = BTreeMap::new();
    for row in rows {
        if let Row::Broke { lost: one, .. } = row {
            let all = lost.entry(one.cause.word()).or_default();
            (all.times, all.tokens) = (all.times + 1, all.tokens.saturating_add(one.lost_tokens));
        }
    }
    Cache { usage, hit_rate: health::cache_hit_rate(rows), lost }
}

/// The waterfall, with what was saved layer by layer and what that cost kind by kind.
fn money(rows: &[Row], transcript: &Transcript, subject: &Subject<'_>) -> Money {
    let fall = Waterfall::of(rows, None);
    let saved = fall.steps.iter().filter(|((kind, _), _)| *kind == Kind::Saving);
    let saved = saved.map(|((kind, layer), amount)| Step { kind: *kind, layer: Some(*layer), sum: (*amount).into() });
    let costs = [
        (Kind::Damage, fall.savings.damage),
        (Kind::ReadBack, fall.savings.read_back),
        (Kind::Premium, fall.savings.premium),
        (Kind::Spend, fall.savings.spend),
    ];
    let happened = |(_, amount): &(Kind, Amount)| *amount != Amount::default();
    let costs = costs.into_iter().filter(happened).map(|(kind, sum)| Step { kind, layer: None, sum: sum.into() });
    let calls = transcript.view().spent.iter().map(|((source, model), spent)| Calls {
        source: told(source, LONGEST),
        model: told(model, LONGEST),
        calls: spent.calls,
        usage: spent.usage,
        usd: (subject.price)(model, &spent.usage),
    });
    Money {
        without_usd: fall.without(),
        steps: saved.chain(costs).collect(),
        billed_usd: fall.billed.money,
        net: fall.savings.net().into(),
        by_layer: fall.savings.by_layer.iter().map(|(layer, sum)| Net { layer: *layer, sum: (*sum).into() }).collect(),
        calls: calls.collect(),
    }
}
