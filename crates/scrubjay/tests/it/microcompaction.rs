//! Layer 2: old results are cleared when it costs nothing, by the provider where it can, and never more than that.

use jiff::SignedDuration;
use scrubjay::context::microcompaction::{free_when_cold, server_clearing};
use scrubjay::ledger::{Layer, Row};
use scrubjay::limits::Limits;
use scrubjay::model::Ability;
use scrubjay::settings::{Settings, Sources};
use scrubjay::tokens::ContextWindow;
use scrubjay::tool::Tool;
use scrubjay::tools;
use scrubjay::transcript::{CLEARED, Ttl};
use scrubjay_providers::scripted::{Scripted, Turn};
use scrubjay_providers::{Catalogue, Choice, Keys, connect};
use scrubjay_testkit::simulator::{self, Script, Simulator};
use scrubjay_testkit::{Setting, Story};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;

const READS: usize = 9;

/// A question that reads nine pages and is answered; then short answers.
fn reading() -> Scripted {
    let calls = (0..READS)
        .fold(Turn::default(), |turn, n| turn.and_call("Read", json!({ "file_path": "big.txt", "offset": 1 + n })));
    Scripted::new().then(calls).then(Turn::text("read")).afterwards(|_| Ok(Turn::text("ok")))
}

fn begun(setting: Setting) -> Story {
    let limits = setting.limits.clone();
    let story = setting.tools(tools::standard(&[], &limits)).begin().unwrap();
    story.home.write("big.txt", "a line of some length, as files have them\n".repeat(100)).unwrap();
    story
}

fn texts(story: &Story) -> Vec<String> {
    let history = &story.session.transcript().view().history;
    history.iter().flat_map(|message| message.tool_results().map(|r| r.text()).collect::<Vec<_>>()).collect()
}

fn cleared(story: &Story) -> usize {
    texts(story).iter().filter(|text| *text == CLEARED).count()
}

/// What a person is told will go.
fn foreseen(story: &Story) -> Option<(u64, u64)> {
    let desk = story.session.desk();
    free_when_cold(story.session.transcript().view(), &desk.settings, &desk.limits)
}

fn removed_by_clearing(row: &Row) -> Option<u64> {
    match row {
        Row::Removed(removed) if removed.layer == Layer::Microcompaction => Some(removed.tokens),
        _ => None,
    }
}

// spec: M2
// spec: M5
#[tokio::test]
async fn results_are_cleared_when_the_cache_has_expired_and_only_then() {
    let mut story = begun(Setting::new(Arc::new(reading())));
    story.ask("Read it all").await.unwrap();
    story.setting.clock.advance(SignedDuration::from_secs(290));
    story.ask("Still warm").await.unwrap();
    assert_eq!(cleared(&story), 0, "a warm cache is never spoiled");
    let before = story.session.transcript().view().count.total();
    let (results, tokens) = foreseen(&story).unwrap();
    story.setting.clock.advance(SignedDuration::from_secs(301));
    story.ask("Gone cold").await.unwrap();
    assert_eq!(cleared(&story), READS - 5, "all but the newest five");
    assert_eq!(results as usize, READS - 5, "as a person was told they would");
    let removed = story.session.ledger().iter().find_map(removed_by_clearing).unwrap();
    assert!(
        removed <= tokens && removed + 100 > tokens,
        "{tokens} foreseen, {removed} less what stands in their place"
    );
    assert_eq!(foreseen(&story), None, "there is no more to go");
    assert!(texts(&story)[READS - 5..].iter().all(|text| text != CLEARED), "the oldest went first");
    assert!(story.session.transcript().view().count.total() < before);
    let breaks: Vec<_> = story.session.transcript().records().iter().filter_map(|r| r.entry.breaks_cache()).collect();
    assert_eq!(breaks, ["ttl"], "declared, once");
    story.setting.clock.advance(SignedDuration::from_hours(1));
    let mut story = story.resume().unwrap();
    story.ask("Again cold").await.unwrap();
    assert_eq!(cleared(&story), READS - 5, "what is cleared is not cleared twice");
}

// spec: M2
#[tokio::test]
async fn the_lifetime_is_the_one_that_was_asked_for_or_a_fixed_gap() {
    for (ttl, when, minutes, clears) in [
        (Ttl::FiveMinutes, "pays", 6, true),
        (Ttl::OneHour, "pays", 6, false),
        (Ttl::OneHour, "pays", 61, true),
        (Ttl::FiveMinutes, "fixed_gap", 6, false),
        (Ttl::FiveMinutes, "fixed_gap", 61, true),
    ] {
        let mut setting = Setting::new(Arc::new(reading())).switch("microcompaction.when", when);
        setting.options.cache_ttl = ttl.into();
        let mut story = begun(setting);
        story.ask("Read it all").await.unwrap();
        assert_eq!(foreseen(&story).is_some(), when == "pays", "a fixed gap asks for no cold cache");
        story.setting.clock.advance(SignedDuration::from_mins(minutes));
        story.ask("Back").await.unwrap();
        assert_eq!(cleared(&story) > 0, clears, "{ttl:?}, {when}, {minutes} minutes");
    }
}

// spec: M1
// spec: M2
#[tokio::test]
async fn what_must_stay_stays() {
    let cold = SignedDuration::from_hours(2);
    let mut off = begun(Setting::new(Arc::new(reading())).switch("layers.microcompaction_time", "false"));
    off.ask("Read it all").await.unwrap();
    assert_eq!(foreseen(&off), None);
    off.setting.clock.advance(cold);
    off.ask("Back").await.unwrap();
    assert_eq!(cleared(&off), 0, "switched off");

    let thinking = |model: Scripted| {
        let block: scrubjay::message::Block =
            serde_json::from_str(r#"{"type":"thinking","thinking":"hm","signature":"x"}"#).unwrap();
        model.then_by(move |_| Ok(Turn::blocks([block]).and_text("thought")))
    };
    let calls = || {
        (0..READS)
            .fold(Turn::default(), |turn, n| turn.and_call("Read", json!({ "file_path": "big.txt", "offset": 1 + n })))
    };
    for (abilities, clears) in [(vec![Ability::Tools, Ability::BoundThinking], false), (vec![Ability::Tools], true)] {
        let model = thinking(Scripted::new().then(calls())).able(abilities).afterwards(|_| Ok(Turn::text("ok")));
        let mut story = begun(Setting::new(Arc::new(model)));
        story.ask("Read it all").await.unwrap();
        story.setting.clock.advance(cold);
        story.ask("Back").await.unwrap();
        assert_eq!(cleared(&story) > 0, clears, "bound thinking forbids a rewrite");
    }

    let tasks = (0..READS).fold(Turn::default(), |turn, n| {
        turn.and_call(
            "Tasks",
            json!({ "tasks": [{ "title": format!("a long task {n} ").repeat(200), "status": "pending" }] }),
        )
    });
    let model = Scripted::new().then(tasks).afterwards(|_| Ok(Turn::text("ok")));
    let mut story = begun(Setting::new(Arc::new(model)));
    story.ask("Plan").await.unwrap();
    story.setting.clock.advance(cold);
    story.ask("Back").await.unwrap();
    assert_eq!(cleared(&story), 0, "other tools are never cleared");

    let mut stored = Setting::new(Arc::new(reading())).switch("tool_results.thresholds.Read", "1000");
    stored.limits.cold_clear_tokens = 0;
    let mut story = begun(stored);
    story.ask("Read it all").await.unwrap();
    assert_eq!(story.session.transcript().view().spilled.len(), READS);
    story.setting.clock.advance(cold);
    story.ask("Back").await.unwrap();
    assert_eq!(cleared(&story), 0, "a stored result keeps the preview that says where it is");
}

// spec: M3
#[tokio::test]
async fn where_the_provider_edits_its_cache_nothing_of_ours_changes() {
    let calls = (0..25)
        .fold(Turn::default(), |turn, n| turn.and_call("Read", json!({ "file_path": "big.txt", "offset": 1 + n })));
    let model = Arc::new(
        Scripted::new().then(calls).able([Ability::Tools, Ability::CacheEdits]).afterwards(|_| Ok(Turn::text("ok"))),
    );
    let mut story = begun(Setting::new(model.clone()).switch("layers.microcompaction_cached", "true"));
    story.ask("Read it all").await.unwrap();
    story.ask("And?").await.unwrap();
    story.ask("And then?").await.unwrap();
    assert_eq!(cleared(&story), 0);
    let edits = |prompt: &scrubjay::prompt::Prompt| {
        let blocks = prompt.history.iter().flat_map(|message| &message.blocks);
        blocks
            .filter(|block| block.json().contains("cache_edits"))
            .map(|block| block.json().to_owned())
            .collect::<Vec<_>>()
    };
    let sent = model.prompts();
    let first = edits(&sent[1]);
    assert_eq!(first.len(), 1, "listed with the request after the results");
    assert_eq!(first[0].matches("\"delete\"").count(), 20, "all but the newest five");
    assert_eq!(edits(sent.last().unwrap()), first, "sent again at the same place, and not a second time");
    let breaks = story.session.transcript().records().iter().filter(|r| r.entry.breaks_cache().is_some()).count();
    assert_eq!(breaks, 0);

    let model = Scripted::new().able([Ability::Tools, Ability::CacheEdits]).afterwards(|_| Ok(Turn::text("ok")));
    let mut quiet = begun(Setting::new(Arc::new(model)));
    quiet.ask("Hello").await.unwrap();
    assert!(!quiet.storyboard().contains("cache_edits"), "off unless switched on");
}

fn settings(switches: &[(&str, &str)]) -> Settings {
    let command_line = switches.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Settings::resolve(&Sources { command_line, ..Sources::default() })
}

// spec: M4
#[test]
fn what_the_provider_is_asked_to_clear() {
    let limits = Limits::default();
    let model =
        |size| Scripted::new().able([Ability::ServerClearing]).holding(ContextWindow { size, max_output: 64_000 });
    let named: Vec<Arc<dyn Tool>> = tools::standard(&[], &limits);
    let asked =
        |size: u64, switches: &[(&str, &str)]| server_clearing(&model(size), &named, &settings(switches), &limits);
    let on = ("layers.microcompaction_api", "true");
    assert_eq!(asked(1_000_000, &[]), None, "we clear results ourselves where that is possible");
    let edit = &asked(1_000_000, &[on]).unwrap()["edits"][0];
    assert_eq!(edit["type"], "clear_tool_uses_20250919");
    // The line is at 967,000; below 70 % of it is where clearing alone has to lead.
    assert_eq!((&edit["trigger"]["value"], &edit["clear_at_least"]["value"]), (&json!(962_000), &json!(285_100)));
    assert_eq!(edit["clear_tool_inputs"], json!(["Edit", "Write"]));
    let spared = edit["exclude_tools"].as_array().unwrap();
    assert!(spared.contains(&json!("Plan")) && !spared.contains(&json!("Read")), "{spared:?}");
    assert_eq!(asked(200_000, &[on]).unwrap()["edits"][0]["trigger"]["value"], 162_000);
    let lower = asked(200_000, &[on, ("context.compact_at", "60 %")]).unwrap();
    assert_eq!(lower["edits"][0]["trigger"]["value"], 103_000, "the line that holds is the one that counts");
    assert_eq!(asked(200_000, &[("layers.microcompaction_api", "false")]), None);
    assert_eq!(server_clearing(&Scripted::new(), &named, &settings(&[on]), &limits), None, "only where it can");
    let economy = asked(1_000_000, &[on, ("context.policy", "economy")]).unwrap();
    assert_eq!(economy["edits"][0]["trigger"]["value"], 180_000);
    let thinking = asked(200_000, &[("layers.microcompaction_thinking", "true"), on]).unwrap();
    assert_eq!(thinking["edits"][0]["type"], "clear_thinking_20251015", "it has to stand first");
    assert_eq!(thinking["edits"][1]["type"], "clear_tool_uses_20250919");
    let bound = Scripted::new().able([Ability::ServerClearing, Ability::BoundThinking]);
    assert!(server_clearing(&bound, &named, &settings(&[]), &limits).is_some(), "where thinking is bound");
}

// spec: M4
// spec: M5
#[tokio::test]
async fn the_provider_clears_on_its_side_and_says_so() {
    let script = (0..12).fold(Script::new(), |script, n| {
        script.reply(simulator::tool_use("Read", json!({ "file_path": "big.txt", "offset": 1 + n, "limit": 90 })))
    });
    let simulator =
        Simulator::start(script.reply(simulator::text("done")).otherwise(simulator::text("ok"))).await.unwrap();
    let keys = Keys::from_values(&BTreeMap::from([("ANTHROPIC_API_KEY".to_owned(), "k".to_owned())]));
    let choice = Choice { model: "claude-opus-5-5".into(), base_url: Some(simulator.url()), ..Choice::default() };
    let model = connect(&choice, &keys, &Catalogue::built_in().unwrap(), &Limits::default()).unwrap();
    let mut setting = Setting::new(model);
    setting.limits.server_clear_from = 8_000;
    setting.limits.server_clear_least = 2_000;
    let switched = settings(&[("layers.microcompaction_api", "true"), ("context.policy", "economy")]);
    setting.options.context_management = server_clearing(setting.model.as_ref(), &[], &switched, &setting.limits);
    let mut story = begun(setting);
    story.ask("Read it all").await.unwrap();
    story.setting.clock.advance(SignedDuration::from_hours(2));
    story.ask("Back").await.unwrap();
    assert_eq!(cleared(&story), 0, "what we send does not change");
    let requests = simulator.requests();
    assert!(requests.iter().all(|request| request.json["context_management"]["edits"].is_array()));
    let beta = |request: &simulator::RecordedRequest| request.header("anthropic-beta").unwrap_or_default().to_owned();
    assert!(requests.iter().all(|request| beta(request).contains("context-management-2025-06-27")));
    for pair in requests.windows(2) {
        assert_eq!(pair[1].divergence_from(&pair[0]), None);
    }
    let read_back: u64 = story
        .session
        .transcript()
        .records()
        .iter()
        .map(|record| match &record.entry {
            scrubjay::transcript::Entry::Replied(call) => call.cleared,
            _ => 0,
        })
        .sum();
    assert!(read_back > 2_000, "what the response says was cleared is on record: {read_back}");
}
