//! A request that leaves no room for the reply it asks for is sent again with what is left, and changes nothing else.

use crate::fixture::{Answer, CHUNKS, RECORDED, Seen, Service, ask, hasty, keys, question};
use scrubjay::limits::Limits;
use scrubjay::model::ModelError;
use scrubjay_providers::{Catalogue, Choice, Provider, VendorVariables, connect};
use serde_json::Value;

fn exceeded(input: u64, asked: u64) -> Answer {
    let words = format!(
        "input length and `max_tokens` exceed context limit: {input} + {asked} > 200000, decrease input length or `max_tokens` and try again"
    );
    Answer::status(
        400,
        &format!(r#"{{"type":"error","error":{{"type":"invalid_request_error","message":"{words}"}}}}"#),
    )
}

/// A request's room for the reply, and everything else of it.
fn parts(seen: &Seen, name: &str) -> (u64, Value) {
    let mut body: Value = serde_json::from_str(&seen.body).unwrap();
    let room = body.as_object_mut().unwrap().remove(name).unwrap();
    (room.as_u64().unwrap(), body)
}

// spec: Q2
#[tokio::test]
async fn a_reply_is_asked_for_again_with_the_room_that_is_left() {
    let service = Service::start([exceeded(190_000, 32_000), Answer::sse(RECORDED)]).await;
    let (reply, told) = ask(&*service.claude(&hasty(1)), &question()).await;
    assert!(reply.is_ok() && !told.is_empty(), "{reply:?}");
    let seen = service.seen();
    let (first, second) = (parts(&seen[0], "max_tokens"), parts(&seen[1], "max_tokens"));
    assert_eq!((seen.len(), first.0, second.0), (2, 32_000, 10_000));
    assert_eq!(first.1, second.1, "nothing else differs");

    let words = "This model's maximum context length is 200000 tokens. However, you requested 65535 output tokens and your \
                 prompt contains at least 185000 input tokens, for a total of at least 250535 tokens.";
    let refused = Answer::status(400, &format!(r#"{{"error":{{"message":"{words}","code":400}}}}"#));
    let service = Service::start([refused, Answer::sse(CHUNKS)]).await;
    let (reply, _) = ask(&*service.model(Provider::OpenAi, "unheard-of", &hasty(1)), &question()).await;
    assert!(reply.is_ok(), "{reply:?}");
    assert_eq!(parts(&service.seen()[1], "max_tokens").0, 15_000);
}

// spec: Q2
#[tokio::test]
async fn too_little_room_is_a_prompt_that_is_too_long() {
    for (input, over_by) in [(199_759, 31_759), (196_001, 28_001)] {
        let service = Service::start([exceeded(input, 32_000), Answer::sse(RECORDED)]).await;
        let (reply, _) = ask(&*service.claude(&hasty(3)), &question()).await;
        assert_eq!(reply.unwrap_err(), ModelError::PromptTooLong { over_by: Some(over_by) });
        assert_eq!(service.seen().len(), 1, "it is not sent again");
    }
    let service = Service::start([exceeded(190_000, 32_000), exceeded(191_000, 10_000)]).await;
    let (reply, _) = ask(&*service.claude(&hasty(3)), &question()).await;
    assert_eq!(reply.unwrap_err(), ModelError::PromptTooLong { over_by: Some(1_000) });
    assert_eq!(service.seen().len(), 2, "once is enough");
}

// spec: Q2
#[tokio::test]
async fn a_window_that_is_nearly_full_is_seen_beforehand() {
    let limits = Limits { min_output: 500, ..hasty(1) };
    for (used, asked) in [(900_000, 32_000), (993_000, 7_000), (999_900, 500), (1_200_000, 500)] {
        let service = Service::start([Answer::sse(RECORDED)]).await;
        let mut prompt = question();
        prompt.options.used = Some(used);
        ask(&*service.claude(&limits), &prompt).await.0.unwrap();
        assert_eq!(parts(&service.seen()[0], "max_tokens").0, asked, "{used} used");
    }
}

// spec: W5
// safety: F-70
#[tokio::test]
async fn headers_of_the_users_own_are_sent_and_never_shown() {
    let header = "canary-of-the-gateway";
    let echo = format!(r#"{{"error":{{"message":"who is {header}?"}}}}"#);
    let service = Service::start([Answer::status(400, &echo)]).await;
    let variables = [
        ("ANTHROPIC_BASE_URL".to_owned(), service.url()),
        ("ANTHROPIC_CUSTOM_HEADERS".to_owned(), format!("X-Gate: {header}\nanthropic-beta: b-1")),
        ("OPENAI_ORG_ID".to_owned(), "org-1".to_owned()),
    ];
    let vendor = VendorVariables::from_values(&variables.into());
    let choice = Choice { model: "claude-opus-4-6".into(), vendor, ..Choice::default() };
    let model = connect(&choice, &keys(), &Catalogue::built_in().unwrap(), &hasty(1)).unwrap();
    let said = ask(&*model, &question()).await.0.unwrap_err();
    assert!(!format!("{said} {said:?}").contains("canary"), "{said}");
    let headers = &service.seen()[0].headers;
    let sent = |name: &str| headers.get(name).map(|value| value.to_str().unwrap());
    assert_eq!(
        (sent("x-gate"), sent("anthropic-beta"), sent("openai-organization")),
        (Some(header), Some("b-1"), None)
    );
    assert!(sent("x-api-key").is_some(), "the vendor's key goes to the host of the vendor's variable");
}
