//! The key goes into one header of requests to one host, and nowhere else.

use crate::fixture::{Answer, KEY, RECORDED, Service, ask, hasty, question};
use scrubjay_providers::{Catalogue, Choice, Keys, Provider, connect};
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::{Arc, Mutex};

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Log {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}

// safety: F-70
// spec: X8
#[tokio::test]
async fn neither_errors_nor_logs_hold_a_key_or_a_message() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    // With one listener alone, a test on another thread could decide that nobody listens to an event it meets first.
    let _second = tracing::Dispatch::new(tracing_subscriber::registry());
    let _logging = tracing::subscriber::set_default(subscriber);

    let echo = format!(r#"{{"error":{{"type":"authentication_error","message":"wrong key {KEY}"}}}}"#);
    let in_stream = format!("event: error\ndata: {echo}\n\n");
    let cut = RECORDED.find("event: weather").unwrap();
    for provider in [Provider::Anthropic, Provider::OpenAi] {
        let answers = [400, 401, 403, 404, 429, 500].map(|status| Answer::status(status, &echo));
        let more = [
            Answer::status(200, &echo),
            Answer::status(200, KEY),
            Answer::sse(&in_stream),
            Answer::sse(&format!("{}{in_stream}", &RECORDED[..cut])),
            Answer::sse(&format!("data: {KEY}\n\n")),
            Answer::status(500, KEY),
        ];
        for answer in answers.into_iter().chain(more) {
            let shown = format!("{answer:?}");
            let service = Service::start([answer]).await;
            let model = service.model(provider, "claude-opus-5-5", &hasty(1));
            let (reply, told) = ask(&*model, &question()).await;
            let error = reply.unwrap_err();
            let said = format!("{error} {error:?} {told:?}");
            assert!(!said.contains("canary"), "{shown}: {said}");
            assert!(service.seen()[0].headers.values().any(|value| value.to_str().unwrap().contains(KEY)));
        }
    }
    let logged = log.text();
    assert!(logged.contains("model service answered"), "something was logged: {logged}");
    let own: Vec<&str> = logged.lines().filter(|line| line.contains("scrubjay")).collect();
    assert!(!logged.contains("canary") && own.iter().all(|line| !line.contains("a.rs")), "{logged}");
}

#[tokio::test]
async fn each_kind_of_key_has_its_own_header() {
    let named = |name: &str| BTreeMap::from([(name.to_owned(), KEY.to_owned())]);
    let bearer = format!("Bearer {KEY}");
    for (values, provider, key, authorization) in [
        (named("ANTHROPIC_API_KEY"), Provider::Anthropic, Some(KEY), None),
        (named("ANTHROPIC_AUTH_TOKEN"), Provider::Anthropic, None, Some(bearer.as_str())),
        (named("OPENAI_API_KEY"), Provider::Anthropic, None, None),
        (named("OPENAI_API_KEY"), Provider::OpenAi, None, Some(bearer.as_str())),
        (named("ANTHROPIC_API_KEY"), Provider::OpenAi, None, None),
        (named("OPENAI_API_KEY"), Provider::Ollama, None, None),
    ] {
        let service = Service::start([]).await;
        let choice =
            Choice { model: "m".into(), provider: Some(provider), base_url: Some(service.url()), ..Choice::default() };
        let model = connect(&choice, &Keys::from_values(&values), &Catalogue::built_in().unwrap(), &hasty(1)).unwrap();
        assert!(ask(&*model, &question()).await.0.is_err());
        let headers = &service.seen()[0].headers;
        let header = |name: &str| headers.get(name).map(|value| value.to_str().unwrap());
        assert_eq!((header("x-api-key"), header("authorization")), (key, authorization), "{values:?} {provider:?}");
    }
}

// safety: F-70
#[tokio::test]
async fn a_redirect_is_not_followed() {
    let other = Service::start([Answer::sse(RECORDED)]).await;
    for status in [301, 302, 303, 307, 308] {
        let service = Service::start([Answer::status(status, "").with("location", other.url())]).await;
        let (reply, _) = ask(&*service.claude(&hasty(3)), &question()).await;
        assert!(reply.unwrap_err().to_string().contains("base URL"), "{status}");
        assert_eq!(service.seen().len(), 1, "{status}");
    }
    assert!(other.seen().is_empty());
}
