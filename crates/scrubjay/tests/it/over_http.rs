//! Whole sessions over real HTTP against the simulator: what the cache really does, what the API really refuses.

use scrubjay::agents::{Definitions, Staff};
use scrubjay::errand::{Ending, EndsWhen, Errand};
use scrubjay::gate::Gate;
use scrubjay::ledger::Row;
use scrubjay::limits::Limits;
use scrubjay::model::{Model, ModelError};
use scrubjay::{Error, tools};
use scrubjay_providers::{Catalogue, Choice, Keys, connect};
use scrubjay_testkit::simulator::{Cut, RecordedRequest, Script, Simulator, error, text, thinking, tool_use};
use scrubjay_testkit::{Setting, Story};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;

const KEY: &str = "sk-ant-canary-1234567890";

fn model(simulator: &Simulator, name: &str) -> Arc<dyn Model> {
    let values = BTreeMap::from([
        ("ANTHROPIC_API_KEY".to_owned(), KEY.to_owned()),
        ("OPENAI_API_KEY".to_owned(), KEY.to_owned()),
    ]);
    let choice = Choice { model: name.into(), base_url: Some(simulator.url()), ..Choice::default() };
    let limits = Limits { retry_first_delay_ms: 1, retry_longest_delay_ms: 5, ..Limits::default() };
    connect(&choice, &Keys::from_values(&values), &Catalogue::built_in().unwrap(), &limits).unwrap()
}

fn story(simulator: &Simulator, name: &str) -> Story {
    let limits = Limits::default();
    let story = Setting::new(model(simulator, name)).tools(tools::standard(&[], &limits)).begin().unwrap();
    story.home.write("src/lib.rs", "pub fn hidden_seeds() -> u32 {\n    7\n}\n".repeat(200)).unwrap();
    story
}

/// Reads a file in each of `turns` rounds and answers in between, thinking all the while.
fn busy(turns: usize) -> Script {
    (0..turns).fold(Script::new(), |script, n| {
        script
            .reply(
                thinking("let me look")
                    .and(tool_use("Read", json!({ "file_path": "src/lib.rs", "offset": 1 + n, "limit": 60 }))),
            )
            .reply(text(format!("Answer {n}.")))
    })
}

/// Invariant B where it counts: no request rewrites what the one before it had sent.
fn assert_append_only(requests: &[RecordedRequest]) {
    for pair in requests.windows(2) {
        assert_eq!(pair[1].divergence_from(&pair[0]), None, "request {} rewrote history", pair[1].index);
    }
}

// spec: H1
// spec: H2
// spec: H5
#[tokio::test]
async fn a_session_reads_nearly_everything_from_the_cache_and_thinking_stays_valid() {
    let simulator = Simulator::start(busy(10)).await.unwrap();
    let mut story = story(&simulator, "claude-opus-5-5");
    for n in 0..5 {
        story.ask(&format!("What about case {n}?")).await.unwrap();
    }
    let mut story = story.resume().unwrap();
    for n in 5..10 {
        story.ask(&format!("What about case {n}?")).await.unwrap();
    }
    let requests = simulator.requests();
    assert_eq!(requests.len(), 20, "none was refused, thinking came back as it was");
    assert_append_only(&requests);
    for pair in requests.windows(2) {
        let (before, now) = (pair[0].answer.usage.unwrap(), pair[1].answer.usage.unwrap());
        assert_eq!(
            now.cache_read,
            before.total_input(),
            "request {} reads all that the one before it sent",
            pair[1].index
        );
        assert_eq!(now.input, 0);
    }
    assert!(requests.iter().all(|request| request.cache_markers() <= 4));
}

// spec: T1
#[tokio::test]
async fn the_count_is_the_providers_and_the_estimate_of_what_is_new_is_close() {
    let simulator = Simulator::start(busy(6)).await.unwrap();
    let mut story = story(&simulator, "claude-sonnet-5");
    for n in 0..6 {
        story.ask("Again, please.").await.unwrap();
        let usage = simulator.last_request().unwrap().answer.usage.unwrap();
        assert_eq!(story.session.transcript().view().count.total(), usage.total_input() + usage.output, "turn {n}");
    }
}

// spec: A1
#[tokio::test]
async fn forks_read_their_parents_cache() {
    let script = busy(4).when(|request| request.last_user_text().contains("<scrubjay-errand"), text("noted"));
    let simulator = Simulator::start(script).await.unwrap();
    let mut story = story(&simulator, "claude-opus-5-5");
    for _ in 0..4 {
        story.ask("Look again.").await.unwrap();
    }
    for name in ["session_notes", "extract"] {
        let errand = Errand {
            name: name.into(),
            directive: format!("Do {name}."),
            gate: Gate::nothing("no tools"),
            turns: 2,
            ends: EndsWhen::Silent,
            receipt: Box::new(|_| None),
        };
        let outcome = story.session.send(errand).await.unwrap();
        assert_eq!(outcome.ending, Ending::Done);
        let usage = outcome.usage();
        let share = usage.cache_read as f64 / usage.total_input() as f64;
        assert!(share > 0.95, "{name} read {share:.3} of its input from the cache: {usage:?}");
    }
    assert_append_only(&simulator.requests()[..8]);
}

// spec: A1
// spec: A2
#[tokio::test]
async fn five_forks_at_once_from_a_long_session_read_nearly_all_of_it_from_the_cache() {
    let wish = |n: usize| json!({ "prompt": format!("Check part {n}."), "description": "check a part", "fork": true });
    let five = (1..5).fold(tool_use("Agent", wish(0)), |reply, n| reply.and(tool_use("Agent", wish(n))));
    let script = busy(12)
        .reply(five)
        .reply(text("All five are back."))
        .when(|request| request.last_user_text().contains("<scrubjay-errand"), text("This part is fine."));
    let simulator = Simulator::start(script).await.unwrap();
    let limits = Limits::default();
    let staff = Staff::new(Definitions::built_in(&limits));
    let setting = Setting::new(model(&simulator, "claude-opus-5-5")).tools(tools::standard(&[], &limits)).staff(staff);
    let mut story = setting.begin().unwrap();
    story.home.write("src/lib.rs", "pub fn hidden_seeds() -> u32 {\n    7\n}\n".repeat(200)).unwrap();
    for _ in 0..12 {
        story.ask("Look again.").await.unwrap();
    }
    assert_eq!(story.ask("Check all five parts.").await.unwrap().text, "All five are back.");
    let requests = simulator.requests();
    let forks: Vec<_> = requests.iter().filter(|one| one.last_user_text().contains("<scrubjay-errand")).collect();
    assert_eq!(forks.len(), 5);
    let prefix = requests[24].answer.usage.unwrap().total_input();
    for fork in &forks {
        let usage = fork.answer.usage.unwrap();
        assert_eq!(fork.divergence_from(&requests[24]), None, "the conversation's own bytes, and more behind them");
        assert!(usage.cache_read >= prefix && usage.cache_read * 100 >= usage.total_input() * 95, "{usage:?}");
    }
    let booked: Vec<Option<u64>> = story
        .session
        .ledger()
        .iter()
        .filter_map(|row| match row {
            Row::Called(called) if called.source == "agent:fork" => Some(called.prefix_percent()),
            _ => None,
        })
        .collect();
    assert_eq!(booked, [Some(100); 5], "and the ledger says so");
    let own: Vec<RecordedRequest> =
        requests.into_iter().filter(|one| !one.last_user_text().contains("<scrubjay-errand")).collect();
    assert_append_only(&own);
}

// spec: Q2
#[tokio::test]
async fn overload_is_waited_out_and_a_cut_stream_is_continued() {
    let script = Script::new()
        .reply(error(529, "overloaded_error", "Overloaded"))
        .reply(error(429, "rate_limit_error", "slow down").header("retry-after", "0"))
        .reply(text("Patience paid off."))
        .reply(text("The first half of a long answer that is cut").cut(Cut::AfterEvents(4)))
        .reply(text(" and its second half."));
    let simulator = Simulator::start(script).await.unwrap();
    let mut story = story(&simulator, "claude-opus-5-5");
    assert_eq!(story.ask("Hello?").await.unwrap().text, "Patience paid off.");
    assert_eq!(simulator.requests().len(), 3);
    assert_eq!(story.ask("More").await.unwrap().text, " and its second half.");
    let sent = simulator.last_request().unwrap();
    assert!(sent.all_text().contains("The first half"), "what was shown is part of the conversation");
}

// spec: Q2
#[tokio::test]
async fn a_prompt_that_is_too_long_for_the_service_is_a_clear_error() {
    let script = Script::new()
        .reply(error(400, "invalid_request_error", "prompt is too long: 213462 tokens > 200000 maximum"))
        .reply(text("ok"));
    let simulator = Simulator::start(script).await.unwrap();
    let mut story = story(&simulator, "claude-haiku-4-5");
    let failed = story.ask("Hello?").await.unwrap_err();
    assert!(matches!(failed, Error::Model(ModelError::PromptTooLong { over_by: Some(13_462) })), "{failed}");
    story.ask("Hello?").await.unwrap();
}

// spec: Q2
// spec: C7
#[tokio::test]
async fn no_room_for_a_reply_leads_to_a_compaction() {
    let full = "input length and `max_tokens` exceed context limit: 199759 + 32000 > 200000, decrease input length or \
                `max_tokens` and try again";
    let script = (0..4)
        .fold(Script::new(), |script, n| {
            script.reply(text(format!("Answer {n}. {}", "All is well so far. ".repeat(200))))
        })
        .reply(error(400, "invalid_request_error", full))
        .reply(text("<summary>\n1. Primary Request and Intent:\n   Four questions.\n</summary>"))
        .otherwise(text("Fits now."));
    let simulator = Simulator::start(script).await.unwrap();
    let mut story = story(&simulator, "claude-haiku-4-5");
    for n in 0..4 {
        story.ask(&format!("Question {n}?")).await.unwrap();
    }
    assert_eq!(story.ask("And now?").await.unwrap().text, "Fits now.");
    assert_eq!(story.session.transcript().view().compactions.len(), 1);
    let error = ModelError::PromptTooLong { over_by: None }.to_string();
    assert!(["/compact", "/clear", "/model"].iter().all(|way| error.contains(way)), "{error}");
}

// spec: X8
#[tokio::test]
async fn a_wrong_key_is_told_without_the_key_and_the_next_question_works() {
    let script = Script::new().reply(error(401, "authentication_error", "invalid x-api-key")).reply(text("ok"));
    let simulator = Simulator::start(script).await.unwrap();
    let mut story = story(&simulator, "claude-opus-5-5");
    let failed = story.ask("Hello?").await.unwrap_err();
    assert!(matches!(failed, Error::Model(ModelError::Unauthorised(_))), "{failed}");
    let (debug, shown) = (format!("{failed:?}"), failed.to_string());
    assert!(!debug.contains("canary") && !shown.contains("canary"));
    story.ask("Hello?").await.unwrap();
    let record = std::fs::read_to_string(story.session.transcript().path().unwrap()).unwrap();
    assert!(!record.contains("canary"));
}

// spec: H1
#[tokio::test]
async fn the_other_dialect_is_append_only_too() {
    let script = (0..4).fold(Script::new(), |script, n| {
        script
            .reply(tool_use("Grep", json!({ "pattern": "hidden_seeds", "output_mode": "count" })))
            .reply(text(format!("Answer {n}.")))
    });
    let simulator = Simulator::start(script).await.unwrap();
    let mut story = story(&simulator, "gpt-5.6");
    for n in 0..4 {
        assert_eq!(story.ask("How many?").await.unwrap().text, format!("Answer {n}."));
    }
    let requests = simulator.requests();
    assert!(requests.iter().all(|request| request.path == "/v1/chat/completions"));
    assert_append_only(&requests);
    let last = requests.last().unwrap().answer.usage.unwrap();
    assert!(last.cache_read * 10 > last.total_input() * 8, "{last:?}");
}
