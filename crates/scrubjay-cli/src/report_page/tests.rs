//! The folds over a transcript and a ledger that were written by hand, and the page over odd ones.

use super::*;
use jiff::{SignedDuration, Timestamp};
use scrubjay::ledger::book::Book;
use scrubjay::ledger::{Called, Certainty, Layer, Rates, Removed, Row, Sent};
use scrubjay::message::{Block, Origin, Role, StopReason};
use scrubjay::prompt_cache::fingerprint::Break;
use scrubjay::prompt_cache::planner::Warmth;
use scrubjay::settings::Sources;
use scrubjay::transcript::{
    Author, Began, Call, Cause, Compaction, Entry, FORMAT, Finding, Marks, Report, Transcript, Trigger, What,
};
use std::path::PathBuf;
use std::sync::Arc;

const WINDOW: ContextWindow = ContextWindow { size: 200_000, max_output: 32_000 };

/// A session that is written entry by entry and row by row.
struct Desk {
    folder: tempfile::TempDir,
    transcript: Transcript,
    book: Book,
    now: Timestamp,
    limits: Limits,
    settings: Settings,
}

fn usage(cache_read: u64, cache_write_5m: u64) -> Usage {
    Usage { cache_read, cache_write_5m, output: 10, ..Usage::default() }
}

impl Desk {
    fn new() -> Self {
        let (folder, limits) = (tempfile::tempdir().unwrap(), Limits::default());
        let (path, now) = (folder.path().join("s1.jsonl"), "2026-03-02T09:00:00Z".parse().unwrap());
        let began =
            Began { format: FORMAT, session: "s1".into(), dir: "/".into(), version: "t".into(), forked_from: None };
        let transcript = Transcript::create(&path, began, now, Arc::new(limits.clone())).unwrap();
        let book = Book::open(&Book::path_of(&path), &limits).unwrap();
        let settings = Settings::resolve(&Sources::default());
        Self { folder, transcript, book, now, limits, settings }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("s1.jsonl")
    }

    fn pass(&mut self, seconds: i64) {
        self.now += SignedDuration::from_secs(seconds);
    }

    fn say(&mut self, origin: Origin, words: &str) -> scrubjay::message::MessageId {
        let role = if origin == Origin::Model { Role::Assistant } else { Role::User };
        self.transcript.say(role, origin, vec![Block::text(words)], self.now).unwrap().id.clone()
    }

    fn add(&mut self, entry: Entry) {
        self.transcript.append(entry, self.now).unwrap();
    }

    fn book(&mut self, row: Row) {
        self.book.book(row).unwrap();
    }

    fn called(&self, source: &str, usage: Usage, warmth: Warmth) -> Called {
        let call = self.call(source, usage);
        let took = std::time::Duration::from_secs(4);
        let called = Called::of(self.now, &call, None, scrubjay::transcript::Ttl::FiveMinutes, took);
        let rates = Some(Rates { read: 0.5, write: 5.0, premium: Some(3.0) });
        Called { money: Some(0.25), rates, warmth: Some(warmth), ..called }
    }

    fn call(&self, source: &str, usage: Usage) -> Call {
        Call { source: source.into(), model: "m".into(), usage, stop: StopReason::EndTurn, cleared: 0 }
    }

    /// A question that is answered, with its receipt.
    fn ask(&mut self, words: &str, usage: Usage, warmth: Warmth) {
        self.answer(words, usage);
        self.book(Row::Called(self.called("main", usage, warmth)));
    }

    fn answer(&mut self, words: &str, usage: Usage) {
        self.say(Origin::Person, words);
        self.say(Origin::Model, "An answer.");
        self.add(Entry::Replied(self.call("main", usage)));
    }

    fn removed(&mut self, layer: Layer, tokens: u64) {
        let (at, certainty) = (self.now, Certainty::Estimated);
        self.book(Row::Removed(Removed { at, layer, tokens, sent: Sent::Never, certainty, forecast: None }));
    }

    fn subject<'a>(&'a self, path: &'a Path) -> Subject<'a> {
        Subject {
            transcript: path,
            window: WINDOW,
            price: &|_, _| Some(1.0),
            memory: None,
            proposals: &[],
            settings: &self.settings,
            limits: &self.limits,
            zone: TimeZone::UTC,
        }
    }

    fn report(&self) -> SessionReport {
        SessionReport::of(&self.subject(&self.path())).unwrap()
    }

    fn page(&self) -> String {
        let page = self.folder.path().join("page.html");
        write(&self.subject(&self.path()), &page, Overwrite::OwnPages).unwrap();
        std::fs::read_to_string(page).unwrap()
    }
}

#[test]
fn each_request_has_its_receipt_and_what_was_booked_before_it() {
    let mut desk = Desk::new();
    desk.ask("First?", usage(0, 1_000), Warmth::Cold);
    desk.pass(60);
    desk.removed(Layer::ToolResults, 7_000);
    desk.ask("Second?", usage(1_000, 100), Warmth::Warm);
    desk.pass(3_600);
    desk.book(Row::Announced { at: desk.now, cause: Cause::Us });
    desk.ask("Third?", usage(0, 1_200), Warmth::Cold);
    let lost = Break { cause: Cause::Ttl, lost_tokens: 1_100, part: None };
    desk.book(Row::Broke { at: desk.now, source: "main".into(), lost });

    let report = desk.report();
    let [first, second, third] = report.requests.as_slice() else { panic!("{:#?}", report.requests) };
    assert_eq!((first.without, second.without), (first.filling.total, second.filling.total + 7_000));
    assert!(first.kept_out.is_empty() && second.kept_out == [(Layer::ToolResults, 7_000)].into());
    assert_eq!([first, second, third].map(|one| one.pause_seconds), [None, Some(56), Some(3_596)]);
    assert_eq!([first, second, third].map(|one| one.warm), [Some(false), Some(true), Some(false)]);
    assert_eq!([first, second, third].map(|one| one.question), [1, 2, 3]);
    let causes =
        |one: &facts::Request| one.misses.iter().map(|miss| (miss.cause, miss.lost_tokens)).collect::<Vec<_>>();
    assert!(causes(first).is_empty() && causes(second).is_empty());
    assert_eq!(causes(third), [("us", None), ("ttl", Some(1_100))], "announced before it, noticed behind it");
    assert!((report.cache.lost["ttl"].times, report.cache.lost["ttl"].tokens) == (1, 1_100));
    assert_eq!(report.money.billed_usd, Some(0.75));
    assert_eq!(report.session.title, "First?");
}

#[test]
fn a_receipt_that_is_missing_does_not_move_the_others() {
    let mut desk = Desk::new();
    desk.ask("First?", usage(0, 1_000), Warmth::Cold);
    desk.answer("Second, whose receipt is lost?", usage(1_000, 100));
    desk.ask("Third?", usage(1_100, 50), Warmth::Warm);
    let report = desk.report();
    let warm: Vec<Option<bool>> = report.requests.iter().map(|request| request.warm).collect();
    assert_eq!(warm, [Some(false), None, Some(true)]);
    let usd: Vec<Option<f64>> = report.requests.iter().map(|request| request.usd).collect();
    assert_eq!(usd, [Some(0.25), None, Some(0.25)]);
}

#[test]
fn a_price_that_is_missing_is_told_and_not_made_up() {
    let mut desk = Desk::new();
    let row = desk.called("main", usage(0, 900), Warmth::Cold);
    desk.answer("What does it cost?", usage(0, 900));
    desk.book(Row::Called(Called { money: None, rates: None, ..row }));
    let report = desk.report();
    assert_eq!((report.money.billed_usd, report.money.without_usd), (None, None));
    let page = desk.page();
    assert!(page.contains("A price is not known") && page.contains("n/a") && !page.contains("class=\"whole"), "{page}");
}

#[test]
fn a_loss_is_told_as_plainly_as_a_gain() {
    let mut desk = Desk::new();
    desk.ask("First?", usage(0, 1_000), Warmth::Cold);
    let spent = desk.called("extract", usage(0, 50_000), Warmth::Warm);
    desk.book(Row::Called(spent));
    desk.ask("Second?", usage(1_000, 10), Warmth::Warm);
    let report = desk.report();
    assert_eq!(report.money.net.usd, Some(-0.25));
    let page = desk.page();
    assert!(page.contains("−$0.2500</data> net: the layers cost more than they saved"), "{page}");
    assert!(page.contains("class=\"loss\""));
}

fn finding(what: What, text: &str) -> Finding {
    Finding { what, text: text.into(), weight: 3 }
}

fn compacted(desk: &mut Desk, dropped: usize) {
    let first = desk.say(Origin::Person, &"long ago ".repeat(900));
    let last = desk.say(Origin::Model, &"and so on ".repeat(900));
    let before = desk.transcript.view().count.total();
    let blocks = vec![Block::text("A summary.")];
    let (id, at) = ("sum".into(), desk.now);
    let summary = Arc::new(scrubjay::message::Message { id, role: Role::User, origin: Origin::Summary, at, blocks });
    let report = Report {
        kept: vec![finding(What::Constraint, "Never push to main.")],
        dropped: (0..dropped).map(|n| finding(What::Anchor, &format!("seed_{n}"))).collect(),
        score: 0.75,
        unchecked: 0,
    };
    let compaction = Compaction {
        trigger: Trigger::Auto,
        author: Author::Model,
        first,
        last,
        summary,
        restored: Vec::new(),
        before,
        without_thinking: false,
        without_pictures: false,
        marks: Marks::default(),
        report: Some(report),
    };
    desk.add(Entry::Compacted(compaction.into()));
}

#[test]
fn a_compaction_says_what_it_kept_and_whether_it_was_taken_back() {
    let mut desk = Desk::new();
    desk.ask("First?", usage(0, 1_000), Warmth::Cold);
    compacted(&mut desk, 300);
    let place = desk.transcript.records().last().unwrap().id;
    desk.ask("Second?", usage(0, 900), Warmth::Warm);
    let report = desk.report();
    let [boundary] = report.compactions.as_slice() else { panic!("one compaction") };
    assert_eq!((boundary.after, boundary.taken_back, boundary.dropped_in_all), (1, false, 300));
    assert!(boundary.tokens_after < boundary.tokens_before && boundary.dropped.len() < 300);
    let [change] = report.changes.as_slice() else { panic!("one change") };
    assert_eq!((change.request, change.filling.total), (1, boundary.tokens_after));
    let page = desk.page();
    for words in
        ["Never push to main.", "75.0 %", "and 260 more", "scrubjay uncompact --session s1", "class=\"boundary\""]
    {
        assert!(page.contains(words), "{words}");
    }
    desk.add(Entry::Reverted { entry: place });
    assert!(desk.report().compactions[0].taken_back);
    assert!(desk.page().contains("taken back later"));
}

#[test]
fn a_long_question_is_told_by_its_first_words() {
    let mut desk = Desk::new();
    desk.ask(&"Where are all the seeds of the\nold oak hidden? ".repeat(9), usage(0, 10), Warmth::Cold);
    desk.ask(&"é".repeat(400), usage(10, 1), Warmth::Warm);
    let report = desk.report();
    assert!(report.session.title.ends_with("? Where are all…"), "{}", report.session.title);
    assert_eq!(report.requests[1].asked.chars().count(), 111);
}

#[test]
fn sessions_of_any_length_are_drawn() {
    for requests in [1, 2, 1_300] {
        let mut desk = Desk::new();
        for n in 0..requests {
            desk.ask("Again?", usage(n * 10, 10), Warmth::Warm);
            desk.pass(20);
        }
        let page = desk.page();
        assert!(!page.contains("NaN") && !page.contains("inf\""), "{requests}");
        let bars = page.matches("class=\"read\"").count() as u64;
        assert!(bars <= 560 && (requests == 1 || bars >= requests.min(400)), "{bars} bars for {requests}");
        let table = page.split("id=\"requests\"").nth(1).unwrap().split("</table>").next().unwrap();
        assert_eq!(table.matches("<tr>").count() as u64, 1 + requests, "every one is in the table");
    }
}
