//! Everything that goes wrong on purpose.

use crate::client::*;
use scrubjay_testkit::simulator::{Cut, Pacer, Script, Sent, Simulator, dropped, error, html_page, raw, text};
use serde_json::{Value, json};

fn hello() -> Value {
    ask("claude-opus-5-5", &[user("hi")])
}

fn streamed() -> Value {
    let mut body = hello();
    body["stream"] = json!(true);
    body
}

async fn scripted(script: Script) -> (Simulator, Client) {
    let simulator = Simulator::start(script).await.unwrap();
    let client = Client::of(&simulator);
    (simulator, client)
}

// spec: H5
#[tokio::test]
async fn errors_have_status_type_headers_and_dialect() {
    let overloaded = error(529, "overloaded_error", "Overloaded").header("retry-after", "7");
    let script = Script::new().reply(overloaded.clone()).reply(overloaded).reply(text("back"));
    let (simulator, client) = scripted(script).await;
    let response = client.request("/v1/messages", &hello()).send().await.unwrap();
    assert_eq!((response.status().as_u16(), &response.headers()["retry-after"]), (529, &"7".parse().unwrap()));
    let reply: Value = response.json().await.unwrap();
    assert_eq!(reply["error"], json!({ "type": "overloaded_error", "message": "Overloaded" }));
    let chat = json!({ "model": "gpt-5.6", "messages": [{ "role": "user", "content": "hi" }] });
    let (status, reply) = Client::openai(&simulator).post("/v1/chat/completions", &chat).await;
    assert_eq!((status, &reply["error"]["message"], &reply["type"]), (529, &json!("Overloaded"), &Value::Null));
    assert_eq!(client.say(&hello()).await["content"][0]["text"], "back");
    let errors: Vec<_> = simulator.requests().into_iter().map(|record| record.answer.error).collect();
    assert_eq!(errors, [Some("Overloaded".to_owned()), Some("Overloaded".to_owned()), None]);
}

// spec: H5
#[tokio::test]
async fn the_connection_closes_before_any_header() {
    let (simulator, client) = scripted(Script::new().reply(dropped()).reply(text("back"))).await;
    assert!(client.request("/v1/messages", &hello()).send().await.is_err());
    assert_eq!(simulator.requests()[0].answer.sent, Sent::Broken);
    client.say(&hello()).await;
}

// spec: H5
#[tokio::test]
async fn the_connection_breaks_on_the_way() {
    let words = || text("a reply that is long enough to be cut in the middle of something");
    for cut in [Cut::AfterBytes(0), Cut::AfterBytes(100), Cut::AfterEvents(3), Cut::MidEvent(4)] {
        let (simulator, client) = scripted(Script::new().reply(words().cut(cut)).reply(words())).await;
        let mut response = client.request("/v1/messages", &streamed()).send().await.unwrap();
        assert_eq!(response.status().as_u16(), 200);
        let mut got = Vec::new();
        let broke = loop {
            match response.chunk().await {
                Ok(Some(chunk)) => got.extend(chunk),
                Ok(None) => break false,
                Err(_) => break true,
            }
        };
        assert!(broke, "{cut:?}");
        let got = String::from_utf8(got).unwrap();
        let whole = client.request("/v1/messages", &streamed()).send().await.unwrap().text().await.unwrap();
        let events: Vec<&str> = whole.split_inclusive("\n\n").collect();
        match cut {
            Cut::AfterBytes(bytes) => assert_eq!(got.len(), bytes),
            Cut::AfterEvents(count) => assert_eq!(got.matches("\n\n").count(), count),
            Cut::MidEvent(count) => {
                assert_eq!(got.matches("\n\n").count(), count);
                assert!(!got.ends_with("\n\n") && events.len() > count);
            }
        }
        simulator.wait_until(|records| records[1].answer.sent == Sent::Whole).await;
        assert_eq!(simulator.requests()[0].answer.sent, Sent::Broken);
    }
}

// spec: H5
#[tokio::test]
async fn a_stream_can_be_paced_by_hand_and_abandoned() {
    let pacer = Pacer::new();
    let (simulator, client) = scripted(Script::new().reply(text("slow words").paced(&pacer))).await;
    let mut response = client.request("/v1/messages", &streamed()).send().await.unwrap();
    for event in ["message_start", "ping", "content_block_start"] {
        pacer.step(1);
        let chunk = response.chunk().await.unwrap().unwrap();
        assert!(chunk.starts_with(format!("event: {event}\n").as_bytes()), "{chunk:?}");
    }
    assert_eq!(simulator.requests()[0].answer.sent, Sent::Waiting);
    drop(response);
    pacer.step(1);
    simulator.wait_until(|records| records[0].answer.sent == Sent::Broken).await;
}

// spec: H5
#[tokio::test]
async fn an_error_ends_a_stream() {
    let reply = text("words").stream_error(3, "overloaded_error", "Overloaded");
    let (_simulator, client) = scripted(Script::new().reply(reply)).await;
    let events = client.stream("/v1/messages", &streamed()).await;
    assert_eq!(events.len(), 4);
    assert_eq!(events[3]["error"]["type"], "overloaded_error");
}

// spec: H5
#[tokio::test]
async fn bodies_that_are_no_reply() {
    let script = Script::new().reply(raw(200, "application/json", "{\"id\": tru")).reply(html_page(502)).reply(raw(
        200,
        "text/event-stream",
        "",
    ));
    let (_simulator, client) = scripted(script).await;
    let garbage = client.request("/v1/messages", &hello()).send().await.unwrap();
    assert_eq!((garbage.status().as_u16(), garbage.text().await.unwrap().as_str()), (200, "{\"id\": tru"));
    let page = client.request("/v1/messages", &hello()).send().await.unwrap();
    assert_eq!((page.status().as_u16(), &page.headers()["content-type"]), (502, &"text/html".parse().unwrap()));
    let empty = client.request("/v1/messages", &hello()).send().await.unwrap();
    assert_eq!(empty.text().await.unwrap(), "");
}

#[tokio::test]
async fn a_path_can_be_missing_and_a_script_can_end() {
    let script = Script::new().at_path("/v1/messages/count_tokens", error(404, "not_found_error", "Not Found"));
    let (simulator, client) = scripted(script).await;
    assert_eq!(client.post("/v1/messages/count_tokens", &hello()).await.0, 404);
    assert_eq!(client.post("/v1/nothing", &hello()).await.0, 404);
    let (status, reply) = client.post("/v1/messages", &hello()).await;
    assert_eq!(status, 500);
    assert!(reply["error"]["message"].as_str().unwrap().contains("no reply left"));
    simulator.push("more");
    client.say(&hello()).await;
    assert_eq!(client.request("/v1/messages", &json!("text")).send().await.unwrap().status().as_u16(), 400);
}

// spec: H5
#[tokio::test]
async fn what_was_asked_is_recorded_byte_for_byte() {
    let (simulator, client) = scripted(Script::echo()).await;
    let odd = "{ \"model\":\"claude-opus-5-5\",\n\"max_tokens\":9, \"messages\":[{\"role\":\"user\",\"content\":\"h\\u0069\"}],\"z\":1.50,\"a\":null}";
    let request = client.request("/v1/messages?beta=true", &json!(null)).body(odd).header("x-extra", "yes");
    request.send().await.unwrap();
    let record = &simulator.wait_for_requests(1).await[0];
    assert_eq!(
        (record.body.as_slice(), record.path.as_str(), record.query.as_str()),
        (odd.as_bytes(), "/v1/messages", "beta=true")
    );
    assert_eq!((record.header("X-Extra"), record.last_user_text().as_str()), (Some("yes"), "hi"));
    assert_eq!(record.answer.content[0]["text"], "hi");
}
