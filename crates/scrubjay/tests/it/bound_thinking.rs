//! Layer 4 on models whose thinking is bound to what stood before it, over HTTP: a service that checks refuses every request
//! that carries thinking where it no longer belongs.

use jiff::SignedDuration;
use scrubjay::context::compaction::boundary::{Part, Wish};
use scrubjay::context::microcompaction;
use scrubjay::ledger::Row;
use scrubjay::limits::Limits;
use scrubjay::message::{Block, Kind, Message, Origin};
use scrubjay::model::Model;
use scrubjay::settings::{Settings, Sources};
use scrubjay::transcript::{Cause, Trigger};
use scrubjay::{Error, tools};
use scrubjay_providers::{Catalogue, Choice, Keys, connect};
use scrubjay_testkit::simulator::{RecordedRequest, Script, Simulator, error, text, thinking, tool_use};
use scrubjay_testkit::{Setting, Story};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;

const SUMMARY: &str = "<analysis>scratch</analysis>\n<summary>\n## 1. Primary Request and Intent\nCount the seeds.\n\
    ## 3. Files and Code Sections\nseeds.txt\n## 6. All User Messages\nKept beside it.\n</summary>";
const BOUND: &str = "claude-opus-5-5";

fn wants_summary(request: &RecordedRequest) -> bool {
    !request.json["compaction"].is_null() || request.last_user_text().contains("will be replaced by a summary")
}

/// Thinks, reads a file, thinks, answers; and summarises when asked either way.
fn thoughtful() -> Script {
    Script::new().otherwise_with(|request: &RecordedRequest| {
        let read = request.messages().last().is_some_and(|last| last.to_string().contains("tool_result"));
        match (wants_summary(request), read) {
            (true, _) => text(SUMMARY),
            (_, false) => thinking("let me see").and(tool_use("Read", json!({ "file_path": "seeds.txt" }))),
            (_, true) => thinking("so be it").and(text("an answer of some length ".repeat(40))),
        }
    })
}

/// Whose summary it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Service,
    Fork,
}

fn model(simulator: &Simulator, by: By) -> Arc<dyn Model> {
    let own = match by {
        By::Service => String::new(),
        By::Fork => format!("[models.'{BOUND}']\nabilities = ['tools', 'cache_markers', 'server_clearing']"),
    };
    let keys = Keys::from_values(&BTreeMap::from([("ANTHROPIC_API_KEY".to_owned(), "k".to_owned())]));
    let choice = Choice { model: BOUND.into(), base_url: Some(simulator.url()), ..Choice::default() };
    let limits = Limits { retry_attempts: 0, ..Limits::default() };
    connect(&choice, &keys, &Catalogue::with(Some(&own)).unwrap(), &limits).unwrap()
}

fn begun(simulator: &Simulator, by: By) -> Story {
    let limits = Limits::default();
    let model = model(simulator, by);
    let mut setting = Setting::new(model.clone()).tools(tools::standard(&[], &limits));
    setting.options.context_management =
        microcompaction::server_clearing(&*model, &[], &Settings::resolve(&Sources::default()), &limits);
    assert!(setting.options.context_management.is_some());
    let story = setting.begin().unwrap();
    story.home.write("seeds.txt", "sunflower\n".repeat(30)).unwrap();
    story
}

async fn talk(story: &mut Story, questions: usize) {
    for n in 0..questions {
        story.ask(&format!("question {n}: how many seeds?")).await.unwrap();
    }
}

fn wish(part: Part) -> Wish {
    Wish { trigger: Trigger::Manual, instructions: None, part }
}

fn refused(simulator: &Simulator) -> Vec<String> {
    let requests = simulator.requests();
    let bad = requests.iter().filter(|request| request.answer.status != 200);
    bad.map(|request| format!("{}: {:?}", request.index, request.answer.error)).collect()
}

fn thinks(message: &Message) -> bool {
    message.blocks.iter().any(|block| matches!(block.kind(), Kind::Thinking(_)))
}

// spec: C10
#[tokio::test]
async fn a_thinking_bound_model_goes_through_two_compactions_with_no_refused_request() {
    for by in [By::Service, By::Fork] {
        let simulator = Simulator::start(thoughtful()).await.unwrap();
        let mut story = begun(&simulator, by);
        story.ask("Never push to main. This is question one.").await.unwrap();
        for round in 0..2 {
            talk(&mut story, 5).await;
            let history = &story.session.transcript().view().history;
            let part = Part::UpTo(history[history.len() - 6].id.clone());
            story.session.compact(wish(part)).await.unwrap();
            let view = story.session.transcript().view();
            let kept = view.history.iter().filter(|message| message.origin == Origin::Model);
            let kept: Vec<bool> = kept.map(|message| thinks(message)).collect();
            assert!(!kept.is_empty() && kept.iter().all(|thinks| *thinks == (by == By::Service)), "{by:?}: {kept:?}");
            assert_eq!(view.compactions[round].1.without_thinking, by == By::Fork);
            talk(&mut story, 2).await;
        }
        story.session.compact(wish(Part::All)).await.unwrap();
        let mut story = story.resume().unwrap();
        talk(&mut story, 2).await;
        assert_eq!(refused(&simulator), Vec::<String>::new(), "{by:?}");
        let last = simulator.last_request().unwrap();
        assert!(last.all_text().contains("- [") && last.all_text().contains("Never push to main."), "{by:?}");
        let asked: Vec<_> = simulator.requests().into_iter().filter(wants_summary).collect();
        assert_eq!(asked.len(), 3);
        for request in asked {
            let by_service = !request.json["compaction"].is_null();
            assert_eq!(by_service, by == By::Service);
            assert_eq!(request.json["context_management"].is_null(), by_service, "the two exclude each other");
        }
    }
}

// spec: C10
// spec: C3
// spec: M5
#[tokio::test]
async fn the_services_own_summary_stands_first_as_it_came_and_what_it_may_not_lose_stands_beside_it() {
    let simulator = Simulator::start(thoughtful()).await.unwrap();
    let mut story = begun(&simulator, By::Service);
    story.ask("Never push to main. This is question one.").await.unwrap();
    talk(&mut story, 4).await;
    story.session.compact(wish(Part::All)).await.unwrap();
    let made = simulator.requests().into_iter().rfind(wants_summary).unwrap();
    story.ask("another question").await.unwrap();

    let sent = simulator.last_request().unwrap();
    let first = &sent.json["messages"][0];
    assert_eq!((&first["role"], &first["content"]), (&json!("assistant"), &made.answer.content));
    assert!(
        made.json["compaction"]["instructions"].as_str().unwrap().contains("kept word for word beside your summary")
    );
    let history = &story.session.transcript().view().history;
    assert!(thinks(&history[1]), "the reply to what was summarised is kept, with its thinking");
    let beside = history[2].text();
    assert!(beside.contains("Never push to main.") && beside.contains("question 3: how many seeds?"), "{beside}");
    assert!(beside.contains("- ") && !beside.contains("None."), "empty headings say nothing here: {beside}");
    let report = story.session.transcript().view().compactions[0].1.report.clone().unwrap();
    assert_eq!(report.dropped, [], "{report:?}");
    let announced = |row: &&Row| matches!(row, Row::Announced { cause: Cause::Us, .. });
    assert_eq!(
        story.session.ledger().iter().filter(announced).count(),
        2,
        "the request without clearing, and the boundary"
    );
    assert!(!story.session.ledger().iter().any(|row| matches!(row, Row::Broke { .. })));
    let project = story.home.project().display().to_string();
    insta::assert_snapshot!(story.storyboard().replace(&project, "/project"));
}

// spec: C10
// spec: C12
#[tokio::test]
async fn what_was_taken_back_or_given_back_is_never_refused() {
    for by in [By::Service, By::Fork] {
        let simulator = Simulator::start(thoughtful()).await.unwrap();
        let mut story = begun(&simulator, by);
        talk(&mut story, 5).await;
        let first: Vec<_> = story.session.transcript().view().history[..5].iter().map(|it| it.id.clone()).collect();
        story.session.compact(wish(Part::All)).await.unwrap();
        talk(&mut story, 2).await;
        story.session.give_back(first.clone()).unwrap();
        let history = &story.session.transcript().view().history;
        let back: Vec<_> = history.iter().skip(1).take(5).map(|message| message.id.clone()).collect();
        assert_eq!(back, first);
        talk(&mut story, 1).await;
        story.session.uncompact().unwrap();
        talk(&mut story, 2).await;
        assert_eq!(refused(&simulator), Vec::<String>::new(), "{by:?}");
    }
}

// spec: C10
// spec: C2
#[tokio::test]
async fn where_the_service_cannot_a_fork_does_and_a_request_that_was_cut_carries_no_thinking() {
    let cannot = error(400, "invalid_request_error", "compaction: Extra inputs are not permitted");
    let too_long = error(400, "invalid_request_error", "prompt is too long: 210000 tokens > 209000 maximum");
    let script = Script::new().reply(cannot).reply(too_long).reply(text(SUMMARY));
    let simulator = Simulator::start(thoughtful()).await.unwrap();
    let mut story = begun(&simulator, By::Service);
    talk(&mut story, 5).await;
    simulator.set_script(script);
    story.session.compact(wish(Part::All)).await.unwrap();
    let asked: Vec<_> = simulator.requests().into_iter().filter(wants_summary).collect();
    assert_eq!(asked.iter().map(|request| request.answer.status).collect::<Vec<_>>(), [400, 400, 200]);
    let thought = |request: &RecordedRequest| request.json.to_string().contains(r#""type":"thinking""#);
    assert_eq!(asked.iter().map(thought).collect::<Vec<_>>(), [true, true, false]);
    simulator.set_script(thoughtful());
    talk(&mut story, 1).await;
}

/// A picture the model was shown, as a person sends it.
fn picture() -> Block {
    Block::image("image/png", "iVBORw0KGgo=")
}

// spec: C2
#[tokio::test]
async fn words_stand_for_pictures_where_the_cache_is_cold_and_in_what_is_kept() {
    for (minutes, shown) in [(1, true), (61, false)] {
        let simulator = Simulator::start(thoughtful()).await.unwrap();
        let mut story = begun(&simulator, By::Fork);
        story.session.ask(vec![Block::text("question: what is this?"), picture()]).await.unwrap();
        talk(&mut story, 4).await;
        story.session.ask(vec![Block::text("question: and this?"), picture()]).await.unwrap();
        story.setting.clock.advance(SignedDuration::from_mins(minutes));
        let upto = story.session.transcript().view().history[12].id.clone();
        story.session.compact(wish(Part::UpTo(upto))).await.unwrap();
        let asked = simulator.requests().into_iter().rfind(wants_summary).unwrap().json["messages"].to_string();
        assert_eq!(asked.contains(r#""type":"image""#), shown, "after {minutes} minutes");
        assert_eq!(asked.contains("[image]"), !shown);
        assert_eq!(asked.contains(r#""type":"thinking""#), shown, "bound to what stood before, so it goes with it");
        let sent = |story: &Story| format!("{:?}", story.session.transcript().view().history);
        assert!(sent(&story).contains("[image]") && !sent(&story).contains(r#""type":"image""#), "kept without them");
        talk(&mut story, 1).await;
        story.session.uncompact().unwrap();
        assert!(sent(&story).contains(r#""type":"image""#), "the transcript had them all along");
        talk(&mut story, 1).await;
        assert_eq!(refused(&simulator), Vec::<String>::new());
    }
}

// spec: C2
#[tokio::test]
async fn a_picture_that_a_waiting_question_is_about_stays() {
    let simulator = Simulator::start(thoughtful()).await.unwrap();
    let mut story = begun(&simulator, By::Fork);
    talk(&mut story, 4).await;
    simulator.set_script(Script::new().otherwise(error(400, "invalid_request_error", "not today")));
    let asked = story.session.ask(vec![Block::text("question: what is this?"), picture()]).await;
    assert!(matches!(asked, Err(Error::Model(_))));
    simulator.set_script(thoughtful());
    story.session.compact(wish(Part::All)).await.unwrap();
    let history = &story.session.transcript().view().history;
    assert!(history.iter().any(|message| message.blocks.contains(&picture())), "{history:?}");
    assert!(history.len() < 5, "{history:?}");
}
