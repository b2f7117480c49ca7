//! Thirty ways to fail: which are tried again, how often, and what is said when patience ends.

use crate::fixture::{Answer, Ending, RECORDED, Service, ask, hasty, question};
use scrubjay::limits::Limits;
use scrubjay::model::{Delta, ModelError};
use scrubjay_providers::{Catalogue, Choice, Keys, Provider, connect};

enum Outcome {
    Recovers,
    Fails(fn(&ModelError) -> bool),
}

use Outcome::{Fails, Recovers};

fn error(kind: &str, message: &str) -> String {
    format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"{message}"}}}}"#)
}

fn passing() -> Vec<(&'static str, Answer, Outcome)> {
    let rate = error("rate_limit_error", "too fast");
    let json = |status: u16| Answer::status(status, &error("api_error", "ill"));
    let first_event = RECORDED.find("event: content_block_start").unwrap();
    let overloaded = format!("event: error\ndata: {}\n\n", error("overloaded_error", "Overloaded"));
    vec![
        ("408", json(408), Recovers),
        ("409", json(409), Recovers),
        ("429 with a pause", Answer::status(429, &rate).with("retry-after", "0"), Recovers),
        ("429 with a long pause", Answer::status(429, &rate).with("retry-after", "3600"), Recovers),
        ("429 with a pause in ms", Answer::status(429, &rate).with("retry-after-ms", "1"), Recovers),
        ("429 with a date", Answer::status(429, &rate).with("retry-after", "Fri, 01 Jan 2021 00:00:00 GMT"), Recovers),
        ("429 without a pause", Answer::status(429, &rate), Recovers),
        ("500", json(500), Recovers),
        ("502 as a web page", Answer::status(502, "<html>bad gateway</html>"), Recovers),
        ("503", json(503), Recovers),
        ("504", json(504), Recovers),
        ("529", Answer::status(529, &error("overloaded_error", "Overloaded")), Recovers),
        ("asked to retry", json(400).with("x-should-retry", "true"), Recovers),
        ("an error event first", Answer::sse(&overloaded), Recovers),
        ("cut before the first word", Answer::sse(RECORDED).cut_at(first_event, Ending::Broken), Recovers),
        ("an empty stream", Answer::sse(""), Recovers),
    ]
}

fn lasting() -> Vec<(&'static str, Answer, Outcome)> {
    let json = |status: u16| Answer::status(status, &error("api_error", "ill"));
    vec![
        (
            "asked not to retry",
            json(500).with("x-should-retry", "false"),
            Fails(|e| matches!(e, ModelError::Busy { .. })),
        ),
        (
            "429 spend limit",
            Answer::status(429, &error("rate_limit_error", "You have reached your spend limit.")),
            Fails(|e| matches!(e, ModelError::OutOfBudget(_))),
        ),
        (
            "429 quota",
            Answer::status(429, r#"{"error":{"code":"insufficient_quota","message":"no quota"}}"#),
            Fails(|e| matches!(e, ModelError::OutOfBudget(_))),
        ),
        (
            "402",
            Answer::status(402, &error("billing_error", "pay")),
            Fails(|e| matches!(e, ModelError::OutOfBudget(_))),
        ),
        (
            "400",
            Answer::status(400, &error("invalid_request_error", "no")),
            Fails(|e| matches!(e, ModelError::Refused(_))),
        ),
        (
            "400 too long",
            Answer::status(400, &error("invalid_request_error", "prompt is too long: 210 tokens > 200 maximum")),
            Fails(|e| matches!(e, ModelError::PromptTooLong { over_by: Some(10) })),
        ),
    ]
}

fn unwelcome() -> Vec<(&'static str, Answer, Outcome)> {
    vec![
        ("413", Answer::status(413, ""), Fails(|e| matches!(e, ModelError::PromptTooLong { over_by: None }))),
        (
            "401",
            Answer::status(401, &error("authentication_error", "bad key")),
            Fails(|e| matches!(e, ModelError::Unauthorised(_))),
        ),
        (
            "403",
            Answer::status(403, &error("permission_error", "no")),
            Fails(|e| matches!(e, ModelError::Unauthorised(_))),
        ),
        (
            "404 model",
            Answer::status(404, &error("not_found_error", "model: claude-opus-5-5")),
            Fails(|e| matches!(e, ModelError::UnknownModel(_))),
        ),
        ("404 path", Answer::status(404, "nothing here"), Fails(|e| matches!(e, ModelError::Refused(_)))),
        (
            "307",
            Answer::status(307, "").with("location", "http://127.0.0.1:9/"),
            Fails(|e| matches!(e, ModelError::Refused(_))),
        ),
        (
            "200 web page",
            Answer::status(200, "<!doctype html><p>log in</p>").with("content-type", "text/html"),
            Fails(|e| matches!(e, ModelError::Garbled(_))),
        ),
        ("200 other JSON", Answer::status(200, r#"{"hello":1}"#), Fails(|e| matches!(e, ModelError::Garbled(_)))),
        (
            "an event that is not JSON",
            Answer::sse("event: message_start\ndata: oops\n\n"),
            Fails(|e| matches!(e, ModelError::Cut { .. })),
        ),
    ]
}

// safety: F-65
// spec: Q2
#[tokio::test]
async fn every_fault_is_met_as_it_deserves() {
    for (name, fault, outcome) in passing().into_iter().chain(lasting()).chain(unwelcome()) {
        let service = Service::start([fault, Answer::sse(RECORDED)]).await;
        let (reply, told) = ask(&*service.claude(&hasty(3)), &question()).await;
        let retries = told.iter().filter(|delta| matches!(delta, Delta::Retry { attempt: 2, .. })).count();
        match outcome {
            Recovers => {
                assert!(reply.is_ok(), "{name}: {reply:?}");
                assert_eq!((retries, service.seen().len()), (1, 2), "{name}");
                let [first, second] = &service.seen()[..] else { panic!("{name}") };
                assert_eq!(first.body, second.body, "{name}: the same question again");
            }
            Fails(expected) => {
                let error = reply.unwrap_err();
                assert!(expected(&error), "{name}: {error:?}");
                assert_eq!((retries, service.seen().len()), (0, 1), "{name}");
            }
        }
    }
}

// safety: F-66
#[tokio::test]
async fn patience_ends_and_says_so() {
    let ill = || Answer::status(529, &error("overloaded_error", "Overloaded")).with("retry-after", "30");
    let service = Service::start((0..9).map(|_| ill())).await;
    let (reply, told) = ask(&*service.claude(&hasty(4)), &question()).await;
    let Err(ModelError::Busy { message, retry_after }) = reply else { panic!("{reply:?}") };
    assert!(message.contains("Overloaded") && message.contains("try again later"), "{message}");
    assert_eq!(retry_after.map(|pause| pause.as_secs()), Some(30));
    assert_eq!((told.len(), service.seen().len()), (3, 4));
}

// safety: F-65
#[tokio::test]
async fn a_host_that_hangs_up_is_called_again() {
    let service = Service::start([Answer::sse(RECORDED)]).await;
    service.hang_up(2);
    let (reply, told) = ask(&*service.claude(&hasty(4)), &question()).await;
    assert!(reply.is_ok(), "{reply:?}");
    assert!(told.iter().any(|delta| matches!(delta, Delta::Retry { .. })));
}

fn at(url: &str, limits: &Limits) -> std::sync::Arc<dyn scrubjay::model::Model> {
    let choice = Choice {
        model: "m".into(),
        provider: Some(Provider::OpenAi),
        base_url: Some(url.to_owned()),
        ..Choice::default()
    };
    connect(&choice, &Keys::default(), &Catalogue::built_in().unwrap(), limits).unwrap()
}

#[tokio::test]
async fn a_host_that_is_not_there_is_named() {
    let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let (reply, told) = ask(&*at(&format!("http://{closed}/v1"), &hasty(2)), &question()).await;
    let Err(ModelError::Unreachable(said)) = reply else { panic!("{reply:?}") };
    assert!(said.contains(&closed.to_string()) && said.contains("--model offline"), "{said}");
    assert_eq!(told.len(), 1);
}

#[tokio::test]
async fn a_failed_handshake_is_named_and_not_repeated() {
    let service = Service::start([]).await;
    let (reply, told) = ask(&*at(&format!("https://{}", service.address), &hasty(3)), &question()).await;
    let Err(ModelError::Unreachable(said)) = reply else { panic!("{reply:?}") };
    assert!(said.contains("no secure connection") && said.contains("http://"), "{said}");
    assert!(told.is_empty());
}
