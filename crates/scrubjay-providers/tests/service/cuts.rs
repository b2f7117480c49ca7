//! Streams that end where they should not: never a whole reply, never a lost word.

use crate::fixture::{Answer, CHUNKS, Ending, RECORDED, Service, ask, hasty, question};
use scrubjay::limits::Limits;
use scrubjay::message::{Block, Kind};
use scrubjay::model::{Delta, ModelError};
use scrubjay_providers::Provider;

fn shown(told: &[Delta]) -> String {
    told.iter().filter_map(|delta| if let Delta::Text(text) = delta { Some(text.as_str()) } else { None }).collect()
}

async fn cut_everywhere(provider: Provider, recorded: &str, ending: Ending, step: usize) {
    let service = Service::start([]).await;
    let model = service.model(provider, "claude-opus-5-5", &hasty(1));
    let question = question();
    for at in (0..recorded.len()).step_by(step) {
        service.then(Answer::sse(recorded).cut_at(at, ending));
        let (reply, told) = ask(&*model, &question).await;
        let Err(ModelError::Cut { partial, usage, .. }) = reply else { panic!("cut at {at}: {reply:?}") };
        let kept: String = partial.iter().filter_map(Block::as_text).collect();
        assert_eq!(kept, shown(&told), "cut at {at}: what was shown is what is kept");
        for block in &partial {
            match block.kind() {
                Kind::Text(_) | Kind::Other(_) => {}
                Kind::Thinking(_) => assert!(block.json().contains("EosCCkYIBxgC+/=="), "cut at {at}: {block:?}"),
                Kind::ToolUse(call) => assert_eq!(call.input["file_path"], "a.rs", "cut at {at}"),
                other => panic!("cut at {at}: {other:?}"),
            }
        }
        assert!(usage.output <= 58);
    }
    service.then(Answer::sse(recorded));
    assert!(ask(&*model, &question).await.0.is_ok(), "the whole of it is a reply");
}

// safety: F-64
// spec: Q2
#[tokio::test]
async fn a_messages_stream_cut_at_any_byte_is_no_reply() {
    cut_everywhere(Provider::Anthropic, RECORDED, Ending::Broken, 1).await;
}

// safety: F-64
#[tokio::test]
async fn a_messages_stream_that_just_stops_is_no_reply() {
    cut_everywhere(Provider::Anthropic, RECORDED, Ending::Clean, 3).await;
}

// safety: F-64
#[tokio::test]
async fn a_completions_stream_cut_at_any_byte_is_no_reply() {
    cut_everywhere(Provider::OpenAi, CHUNKS, Ending::Broken, 1).await;
}

// safety: F-64
#[tokio::test]
async fn a_completions_stream_is_over_once_it_says_why_it_stopped() {
    let stopped = CHUNKS.find("data: {\"id\":\"c1\",\"choices\":[],").unwrap();
    cut_everywhere(Provider::OpenAi, &CHUNKS[..stopped], Ending::Clean, 1).await;
}

// safety: F-64
#[tokio::test]
async fn silence_and_endless_events_are_cut() {
    let half = RECORDED.find("event: weather").unwrap();
    let service = Service::start([Answer::sse(RECORDED).cut_at(half, Ending::Silent)]).await;
    let limits = Limits { stream_idle_ms: 50, ..hasty(3) };
    let (reply, told) = ask(&*service.claude(&limits), &question()).await;
    let Err(ModelError::Cut { partial, because, .. }) = reply else { panic!("{reply:?}") };
    assert_eq!(partial.last().and_then(Block::as_text), Some("Ich lese "));
    assert!(because.contains("nothing came"), "{because}");
    assert_eq!((shown(&told).as_str(), service.seen().len()), ("Ich lese ", 1));

    let endless = format!("{}event: x\ndata: {}", &RECORDED[..half], "y".repeat(9_000));
    service.then(Answer::sse(&endless).in_pieces(500));
    let (reply, _) = ask(&*service.claude(&Limits { event_bytes: 2_048, ..hasty(1) }), &question()).await;
    assert!(
        matches!(&reply, Err(ModelError::Cut { because, .. }) if because.contains("larger than 2048")),
        "{reply:?}"
    );
}

// spec: Q2
#[tokio::test]
async fn an_error_in_the_middle_keeps_what_was_said() {
    let half = RECORDED.find("event: weather").unwrap();
    let error = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let ill = format!("{}event: error\ndata: {error}\n\n", &RECORDED[..half]);
    let service = Service::start([Answer::sse(&ill), Answer::sse(RECORDED)]).await;
    let (reply, told) = ask(&*service.claude(&hasty(5)), &question()).await;
    let Err(ModelError::Cut { partial, usage, because }) = reply else { panic!("{reply:?}") };
    assert_eq!((partial.len(), usage.cache_read), (2, 900));
    assert!(because.contains("Overloaded"), "{because}");
    assert!(!told.iter().any(|delta| matches!(delta, Delta::Retry { .. })), "what was shown is not asked for again");
    assert_eq!(service.seen().len(), 1);
}
