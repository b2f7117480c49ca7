//! The simulator from outside: its own endpoints.

use crate::client::*;
use scrubjay_testkit::simulator::{Script, Simulator};
use serde_json::json;

// spec: H5
#[tokio::test]
async fn the_record_the_clock_and_the_script_can_be_reached() {
    let simulator = Simulator::builder().script(Script::echo()).model(plain()).with_control().start().await.unwrap();
    let client = Client::of(&simulator);
    let body = ask(PLAIN, &[user([marked(words("q", 20), "5m")])]);
    client.say(&body).await;
    assert_eq!(counts(&client.say(&body).await).0, 20);
    let (status, moved) = client.post("/_simulator/clock", &json!({ "advance_seconds": 300 })).await;
    assert_eq!((status, &moved["now"]), (200, &json!("2026-11-15T12:05:00Z")));
    assert_eq!(counts(&client.say(&body).await).0, 0);
    assert_eq!(client.post("/_simulator/script", &json!({ "otherwise": { "text": "new" } })).await.0, 200);
    assert_eq!(client.say(&body).await["content"][0]["text"], "new");
    let (_, record) = client.get("/_simulator/requests").await;
    assert_eq!(record.as_array().map(Vec::len), Some(4));
    assert_eq!(record[1]["answer"]["usage"]["cache_read"], 20);
    assert_eq!(record[3]["json"], body);
    for (order, body) in [("clock", json!({})), ("script", json!({ "x": 1 })), ("nothing", json!({}))] {
        assert_eq!(client.post(&format!("/_simulator/{order}"), &body).await.0, 400);
    }
}

#[tokio::test]
async fn without_being_asked_for_they_are_not_there() {
    let simulator = Simulator::start(Script::echo()).await.unwrap();
    assert_eq!(Client::of(&simulator).get("/_simulator/requests").await.0, 404);
}
