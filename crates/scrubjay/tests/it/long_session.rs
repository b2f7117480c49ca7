//! Long sessions over real HTTP, in a window that is small so that they are short: it never overflows, whichever layer is
//! switched off, and what is sent is the same after a kill.

use jiff::SignedDuration;
use scrubjay::agents::fork;
use scrubjay::context::collapse::Unfold;
use scrubjay::errand::{Ending, EndsWhen, Errand};
use scrubjay::gate::Gate;
use scrubjay::ledger::Row;
use scrubjay::limits::Limits;
use scrubjay::message::{Block, Origin};
use scrubjay::prompt::Prompt;
use scrubjay::transcript::{Author, Call, Cause, Entry, Way};
use scrubjay::{Error, tools};
use scrubjay_providers::{Catalogue, Choice, Keys, Provider, connect};
use scrubjay_testkit::simulator::{ModelRow, RecordedRequest, Reply, Script, Simulator, text, tool_use_as};
use scrubjay_testkit::{Setting, Story};
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

const WINDOW: u64 = 20_000;
const ROUNDS: usize = 10;
const QUESTIONS: usize = 50;
const SUMMARY: &str = "<summary>\n## 1. Primary Request and Intent\nKeep the build green.\n\
    ## 8. Current Work\nReading src/lib.rs.\n</summary>";

/// Who is asked for something else than the next step.
fn is_errand(request: &RecordedRequest) -> bool {
    let text = request.all_text();
    text.contains("<scrubjay-errand ")
}

/// A model at work: each question is nine rounds of looking and running, and an answer.
fn at_work() -> Script {
    Script::new().otherwise_with(|request: &RecordedRequest| -> Reply {
        let asked = request.last_user_text();
        match () {
            () if asked.contains("will be replaced by a summary") => text(SUMMARY),
            () if asked.contains("name=\"session_notes\"") => note(request, &asked),
            () if is_errand(request) => text("done"),
            () => step(request),
        }
    })
}

/// The next step, told by the newest question or result. Calls are named by their place, so that two runs name them alike.
fn step(request: &RecordedRequest) -> Reply {
    let place = |message: &serde_json::Value| -> Option<(usize, usize)> {
        let said = message.to_string();
        if said.contains("were replaced by the summary below") {
            return Some((0, ROUNDS));
        }
        let mut numbers = said.rsplit("\"call_").next().filter(|_| said.contains("tool_result"))?.split(['_', '"']);
        Some((numbers.next()?.parse().ok()?, numbers.next()?.parse::<usize>().ok()? + 1))
    };
    let question = |message: &serde_json::Value| {
        let said = message.to_string();
        let part = said.rsplit("please: part ").next().filter(|rest| rest.len() < said.len())?;
        Some((part.split('.').next()?.parse().ok()?, 0))
    };
    let newest = request.messages().iter().rev().find_map(|message| place(message).or_else(|| question(message)));
    let (part, step): (usize, usize) = newest.unwrap_or_default();
    let id = format!("call_{part}_{step}");
    match step {
        4 => tool_use_as(id, "Bash", json!({ "command": "seq 1 3000" })),
        step if step + 1 < ROUNDS => {
            tool_use_as(id, "Read", json!({ "file_path": "src/lib.rs", "offset": 1 + part + step, "limit": 16 }))
        }
        _ => text(format!("Part {part} is done. ").repeat(8)),
    }
}

/// Writes a line below the heading of the current state, as a good fork does.
fn note(request: &RecordedRequest, asked: &str) -> Reply {
    let old = "_What is being done at this moment, what is unfinished, what comes next_";
    let file = asked.split("The notes are in ").nth(1).and_then(|rest| rest.split(" and read now").next());
    let new = format!("{old}\nReading on.");
    let id = format!("note_{}", request.messages().len());
    tool_use_as(id, "Edit", json!({ "file_path": file, "old_string": old, "new_string": new }))
}

/// Every limit in proportion to the window.
fn scaled() -> Limits {
    Limits {
        shell_result_chars: 2_000,
        preview_bytes: 300,
        clear_keep: 2,
        notes_first_tokens: 4_000,
        notes_every_tokens: 5_000,
        notes_section_tokens: 200,
        notes_tokens: 1_500,
        notes_wait_ms: 60_000,
        kept_least_tokens: 800,
        kept_least_messages: 2,
        kept_most_tokens: 9_000,
        summary_tokens: 1_200,
        restored_files: 1,
        restored_file_tokens: 300,
        ..Limits::default()
    }
}

async fn simulator() -> Simulator {
    let row = ModelRow::new("field").window(WINDOW);
    Simulator::builder().script(at_work()).model(row).start().await.unwrap()
}

fn setting(simulator: &Simulator, switches: &[(&str, &str)]) -> Setting {
    let keys = Keys::from_values(&BTreeMap::from([("ANTHROPIC_API_KEY".to_owned(), "k".to_owned())]));
    let (model, base_url) = ("field".to_owned(), Some(simulator.url()));
    let choice =
        Choice { model, base_url, provider: Some(Provider::Anthropic), window: Some(WINDOW), ..Choice::default() };
    let limits = scaled();
    let model = connect(&choice, &keys, &Catalogue::built_in().unwrap(), &limits).unwrap();
    let mut all = tools::standard(&[], &limits);
    all.push(Arc::new(Unfold::new()));
    let mut setting = Setting::new(model).tools(all);
    setting.limits = limits;
    switches.iter().fold(setting, |setting, (key, value)| setting.switch(key, value))
}

fn begun(simulator: &Simulator, switches: &[(&str, &str)]) -> Story {
    let story = setting(simulator, switches).begin().unwrap();
    let code: String = (0..400).map(|n| format!("pub fn seed_{n}() -> u32 {{ {n} }} // a place to hide\n")).collect();
    story.home.write("src/lib.rs", code).unwrap();
    story
}

/// One question. The invariants are checked at the end: on every question it would take long.
async fn ask(story: &mut Story, part: usize) -> Result<(), Error> {
    let rule = if part == 0 { "Never push to main. " } else { "" };
    let question = format!("{rule}Step by step, please: part {part}.");
    story.session.ask(vec![Block::text(question)]).await?;
    // Notes come home between two questions, so that every run is the same.
    assert!(story.session.wait_for_background(Duration::from_secs(60)).await?);
    Ok(())
}

/// Questions of ten requests each, with a pause now and then.
async fn work(story: &mut Story, simulator: &Simulator, questions: usize) -> Result<(), Error> {
    for part in 0..questions {
        if part % 8 == 5 {
            pass(story, simulator, 6);
        }
        ask(story, part).await?;
    }
    Ok(())
}

fn pass(story: &Story, simulator: &Simulator, minutes: u64) {
    story.setting.clock.advance(SignedDuration::from_mins(minutes.try_into().unwrap()));
    simulator.clock().advance(Duration::from_secs(60 * minutes));
}

/// What the layers did and after how many requests: a storyboard in few lines.
fn outline(story: &Story) -> String {
    let (mut out, mut requests, mut spilled) = (String::new(), 0, 0);
    for record in story.session.transcript().records() {
        let done = match &record.entry {
            Entry::Replied(call) if call.source == Call::MAIN => {
                requests += 1;
                continue;
            }
            Entry::Spilled(_) => {
                spilled += 1;
                continue;
            }
            Entry::Cleared { results, .. } => format!("cleared {} results", results.len()),
            Entry::Compacted(compaction) => format!("compacted by {:?}", compaction.author),
            Entry::Hid(hiding) => format!("folded {} spans", hiding.hide.len()),
            _ => continue,
        };
        writeln!(out, "after {requests:>3} requests: {done}").unwrap();
    }
    writeln!(out, "in all {requests} requests, {spilled} results stored").unwrap();
    out
}

/// Nothing was ever refused, both invariants hold, and the rule of the first question is in the last request.
fn assert_well(story: &Story, simulator: &Simulator) {
    let requests = simulator.requests();
    let refused: Vec<_> = requests.iter().filter(|r| r.answer.status != 200).map(|r| r.answer.error.clone()).collect();
    assert_eq!(refused, Vec::new(), "the service takes {WINDOW} tokens");
    let largest = requests.iter().filter_map(|r| Some(r.answer.usage?.total_input())).max();
    assert!(largest.is_some_and(|tokens| tokens > WINDOW / 2 && tokens < WINDOW), "{largest:?}");
    let last = requests.iter().rfind(|request| !is_errand(request)).unwrap();
    assert!(last.all_text().contains("Never push to main."), "{}", last.all_text());
    story.check();
}

fn authors(story: &Story) -> Vec<Author> {
    let entries = story.session.transcript().records().iter();
    let author = |entry: &Entry| if let Entry::Compacted(compaction) = entry { Some(compaction.author) } else { None };
    entries.filter_map(|record| author(&record.entry)).collect()
}

fn cleared(record: &scrubjay::transcript::Record) -> bool {
    matches!(record.entry, Entry::Cleared { .. })
}

// spec: C1
// spec: W1
#[tokio::test]
async fn five_hundred_turns_never_exceed_the_window() {
    let simulator = simulator().await;
    let mut story = begun(&simulator, &[]);
    work(&mut story, &simulator, QUESTIONS).await.unwrap();
    assert_well(&story, &simulator);
    let view = story.session.transcript().view();
    let authors = authors(&story);
    assert!(authors.contains(&Author::Notes) && !authors.contains(&Author::Extract), "{authors:?}");
    assert!(
        !view.cleared.is_empty() || story.session.transcript().records().iter().any(cleared),
        "layer 2 spares layer 3"
    );
    assert!(!view.spilled.is_empty() && view.spent.keys().any(|(source, _)| source == "session_notes"));
    insta::assert_snapshot!(outline(&story));
}

// spec: W1
#[tokio::test]
async fn without_layer_1_or_2_the_next_one_catches() {
    let simulator = simulator().await;
    let mut story = begun(&simulator, &[("layers.tool_results", "false")]);
    work(&mut story, &simulator, QUESTIONS / 2).await.unwrap();
    assert_well(&story, &simulator);
    assert!(story.session.transcript().view().spilled.is_empty());
    insta::assert_snapshot!("without_layer_1", outline(&story));

    let simulator = self::simulator().await;
    let mut story = begun(&simulator, &[("layers.microcompaction_time", "false")]);
    work(&mut story, &simulator, QUESTIONS / 2).await.unwrap();
    assert_well(&story, &simulator);
    assert!(story.session.transcript().view().cleared.is_empty() && !authors(&story).is_empty());
    insta::assert_snapshot!("without_layer_2", outline(&story));
}

// spec: W1
#[tokio::test]
async fn without_notes_a_model_writes_the_summary() {
    let simulator = simulator().await;
    let mut story = begun(&simulator, &[("layers.session_notes", "false")]);
    work(&mut story, &simulator, QUESTIONS / 2).await.unwrap();
    assert_well(&story, &simulator);
    let authors = authors(&story);
    assert!(!authors.is_empty() && authors.iter().all(|author| *author == Author::Model), "{authors:?}");
    insta::assert_snapshot!(outline(&story));
}

// spec: C14
// spec: W1
#[tokio::test]
async fn with_collapse_instead_of_compaction_old_rounds_are_folded() {
    let simulator = simulator().await;
    let mut story = begun(&simulator, &[("layers.collapse", "true")]);
    work(&mut story, &simulator, QUESTIONS / 2).await.unwrap();
    assert_well(&story, &simulator);
    assert!(authors(&story).is_empty() && !simulator.requests().iter().any(is_errand), "no call but the person's");
    let view = story.session.transcript().view();
    let people = view.history.iter().filter(|message| message.origin == Origin::Person).count();
    assert_eq!(people, QUESTIONS / 2, "every word of the person's is still there");
    assert!(view.hidden.iter().all(|hidden| hidden.span.way == Way::Fold) && view.hidden.len() > 10);
    insta::assert_snapshot!(outline(&story));
}

// spec: T4
// spec: W1
#[tokio::test]
async fn without_compaction_the_request_is_refused_here_with_the_ways_out() {
    let simulator = simulator().await;
    let mut story = begun(&simulator, &[("layers.compaction", "false")]);
    let refused = work(&mut story, &simulator, QUESTIONS / 2).await.unwrap_err();
    assert!(matches!(refused, Error::Full(_)), "{refused}");
    assert!(["/compact", "/clear", "/model"].iter().all(|way| refused.to_string().contains(way)), "{refused}");
    assert_well(&story, &simulator);
    insta::assert_snapshot!(outline(&story));
}

// spec: M2
// spec: H6
#[tokio::test]
async fn an_hour_away_costs_one_rewrite_and_that_is_announced() {
    let simulator = simulator().await;
    let mut story = begun(&simulator, &[]);
    work(&mut story, &simulator, 2).await.unwrap();
    let before = simulator.requests().len();
    pass(&story, &simulator, 61);
    ask(&mut story, 2).await.unwrap();
    let requests = simulator.requests();
    let main: Vec<&RecordedRequest> = requests[before..].iter().filter(|request| !is_errand(request)).collect();
    assert_eq!(main[0].answer.usage.unwrap().cache_read, 0, "the service had forgotten everything");
    assert!(main[0].all_text().contains("[Old tool result content cleared]"), "so old results went at no cost");
    for pair in main.windows(2) {
        assert_eq!(pair[1].divergence_from(pair[0]), None);
        let (before, now) = (pair[0].answer.usage.unwrap(), pair[1].answer.usage.unwrap());
        assert_eq!(now.cache_read, before.total_input(), "from then on everything is read from the cache again");
    }
    let announced = |row: &&Row| matches!(row, Row::Announced { cause: Cause::Ttl, .. });
    assert_eq!(story.session.ledger().iter().filter(announced).count(), 1);
    assert!(!story.session.ledger().iter().any(|row| matches!(row, Row::Broke { .. })), "nothing else broke");
    story.check();
    insta::assert_snapshot!(outline(&story));
}

/// The bodies of the conversation's own requests, with the home's place left out.
fn bodies(story: &Story, simulator: &Simulator) -> Vec<String> {
    let home = story.home.data().parent().unwrap().display().to_string();
    let own = simulator.requests().into_iter().filter(|request| !is_errand(request));
    own.map(|request| String::from_utf8(request.body).unwrap().replace(&home, "HOME")).collect()
}

// spec: Q4
// spec: H1
#[tokio::test]
async fn a_session_that_is_killed_again_and_again_sends_the_same_bytes() {
    for switches in [&[][..], &[("layers.collapse", "true")]] {
        let whole = simulator().await;
        let mut story = begun(&whole, switches);
        work(&mut story, &whole, 12).await.unwrap();
        let expected = bodies(&story, &whole);

        let killed = simulator().await;
        let mut story = begun(&killed, switches);
        for part in 0..12 {
            if part % 8 == 5 {
                pass(&story, &killed, 6);
            }
            if [1, 4, 5, 6, 10].contains(&part) {
                story = story.resume().unwrap();
            }
            ask(&mut story, part).await.unwrap();
        }
        let sent = bodies(&story, &killed);
        assert_eq!(sent.len(), expected.len());
        for (at, (sent, expected)) in sent.iter().zip(&expected).enumerate() {
            assert!(sent == expected, "request {at} differs:\n{sent}\n{expected}");
        }
        story.check();
    }
}

// spec: A1
#[tokio::test]
async fn two_forks_at_once_share_their_parents_prefix() {
    let simulator = simulator().await;
    let mut story = begun(&simulator, &[]);
    work(&mut story, &simulator, 2).await.unwrap();
    let parent = simulator.requests().into_iter().rfind(|request| !is_errand(request)).unwrap();
    let before = simulator.requests().len();
    let errand = |name: &str| Errand {
        name: name.into(),
        directive: format!("Look back for {name}."),
        gate: Gate::nothing("no tools"),
        turns: 1,
        ends: EndsWhen::Silent,
        receipt: Box::new(|_| None),
    };
    let (notes, extract) = (errand("notes_again"), errand("extract"));
    let (origins, desk, cancel) = (story.session.origins(), story.session.desk().clone(), CancellationToken::new());
    let prompt = Prompt::of(story.session.transcript().view());
    let (one, two) =
        tokio::join!(fork::run(origins.clone(), &notes, &desk, &cancel), fork::run(origins, &extract, &desk, &cancel));
    assert_eq!((&one.ending, &two.ending), (&Ending::Done, &Ending::Done));
    let requests = simulator.requests();
    let [left, right] = &requests[before..] else { panic!("two requests") };
    for request in [left, right] {
        assert_eq!(request.divergence_from(&parent), None, "the parent's bytes and more");
        let usage = request.answer.usage.unwrap();
        assert!(usage.cache_read >= parent.answer.usage.unwrap().total_input(), "read from the cache: {usage:?}");
    }
    let (mine, yours) = (left.messages(), right.messages());
    assert_eq!(mine.len(), yours.len());
    assert_eq!(mine[..mine.len() - 2], yours[..yours.len() - 2], "siblings differ at their end alone");
    assert_eq!(Prompt::of(story.session.transcript().view()), prompt, "the parent knows nothing of it");
    story.session.welcome(notes, &one).unwrap();
    story.session.welcome(extract, &two).unwrap();
    ask(&mut story, 2).await.unwrap();
    story.check();
}
