//! Whole replies: what was sent for them, and that they come back byte for byte.

use crate::fixture::{Answer, CHUNKS, KEY, RECORDED, Service, ask, hasty, prompt, question, said};
use scrubjay::message::{Block, Role, StopReason, ToolResult, Usage};
use scrubjay::model::Delta;
use scrubjay_providers::Provider;

const THINKING: &str = "{\"type\":\"thinking\",\"thinking\":\"The file, hmm — ü\",\"signature\":\"EosCCkYIBxgC+/==\"}";

// spec: H1
#[tokio::test]
async fn a_reply_of_the_messages_dialect_is_read_and_returned_unchanged() {
    let service =
        Service::start([Answer::sse(RECORDED).with("request-id", "req_7").in_pieces(7), Answer::sse(RECORDED)]).await;
    let model = service.claude(&hasty(1));
    let mut asked = question();
    let (reply, told) = ask(&*model, &asked).await;
    let reply = reply.unwrap();
    let blocks: Vec<&str> = reply.blocks.iter().map(Block::json).collect();
    assert_eq!(
        blocks,
        [
            THINKING,
            r#"{"type":"text","text":"Ich lese die Datei für dich 🐦."}"#,
            r#"{"type":"hologram","depth":2.50}"#,
            r#"{"type":"tool_use","id":"toolu_1","name":"Read","input":{"file_path":"a.rs"},"caller":{"type":"direct"}}"#,
        ]
    );
    assert_eq!(reply.usage, Usage { input: 12, cache_read: 900, cache_write_5m: 30, cache_write_1h: 0, output: 58 });
    assert_eq!((reply.stop, reply.request_id.as_deref()), (StopReason::ToolUse, Some("req_7")));
    let words = |words: &str| Delta::Text(words.into());
    assert_eq!(
        told,
        [
            Delta::Thinking("The file, hmm — ü".into()),
            words("Ich lese "),
            words("die Datei für dich 🐦."),
            Delta::ToolUse { name: "Read".into() }
        ]
    );

    asked.history.push(said(Role::Assistant, reply.blocks.clone()));
    let result = ToolResult { call: "toolu_1".into(), parts: vec![Block::text("fn a() {}")], is_error: false };
    asked.history.push(said(Role::User, vec![Block::tool_result(result)]));
    ask(&*model, &asked).await.0.unwrap();
    let seen = service.seen();
    assert!(seen[1].body.contains(&blocks.join(",")), "the reply went back as it came: {}", seen[1].body);
    let plain = |body: &str| body.replace(r#","cache_control":{"type":"ephemeral"}"#, "");
    let first = plain(&seen[0].body);
    assert!(plain(&seen[1].body).starts_with(first.strip_suffix("]}").unwrap()));
    assert_eq!(seen[0].path, "/v1/messages");
    let header = |name: &str| seen[0].headers.get(name).map(|value| value.to_str().unwrap());
    assert_eq!(header("anthropic-version"), Some("2023-06-01"));
    assert_eq!((header("x-api-key"), header("authorization")), (Some(KEY), None));
    assert_eq!(header("anthropic-beta"), Some("compact-2026-09-04"), "on every request to a model that may summarise");
}

#[tokio::test]
async fn a_reply_of_the_completions_dialect_is_read() {
    let service = Service::start([Answer::sse(CHUNKS).in_pieces(5)]).await;
    let (reply, _) = ask(&*service.model(Provider::OpenAi, "m", &hasty(1)), &question()).await;
    let reply = reply.unwrap();
    let blocks: Vec<&str> = reply.blocks.iter().map(Block::json).collect();
    assert_eq!(
        blocks,
        [
            r#"{"type":"text","text":"Ich lese für dich 🐦."}"#,
            r#"{"type":"tool_use","id":"call_1","name":"Read","input":{"file_path":"a.rs"}}"#
        ]
    );
    assert_eq!(reply.usage, Usage { input: 36, cache_read: 64, output: 9, ..Usage::default() });
    let seen = &service.seen()[0];
    assert_eq!(seen.path, "/v1/chat/completions");
    assert_eq!(seen.headers["authorization"].to_str().unwrap(), format!("Bearer {KEY}"));
    assert!(seen.body.contains(r#""max_tokens":32000"#) && seen.body.contains(r#""include_usage":true"#));
}

#[tokio::test]
async fn an_answer_in_one_piece_is_taken_in_both_dialects() {
    let message = r#"{"id":"msg_1","type":"message","role":"assistant","model":"x","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":1}}"#;
    let completion = r#"{"id":"c","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1}}"#;
    let service = Service::start([Answer::status(200, message), Answer::status(200, completion)]).await;
    for provider in [Provider::Anthropic, Provider::OpenAi] {
        let (reply, told) = ask(&*service.model(provider, "m", &hasty(1)), &question()).await;
        let reply = reply.unwrap();
        assert_eq!((reply.blocks, reply.stop), (vec![Block::text("hi")], StopReason::EndTurn));
        assert_eq!((reply.usage.input, reply.usage.output), (3, 1));
        assert_eq!(told, [Delta::Text("hi".into())]);
    }
}

#[tokio::test]
async fn a_stream_under_a_wrong_name_is_still_a_stream() {
    let mislabelled = |body: &str| Answer::sse(body).with("content-type", "application/json");
    let service = Service::start([mislabelled(RECORDED), mislabelled(CHUNKS)]).await;
    for provider in [Provider::Anthropic, Provider::OpenAi] {
        let (reply, _) = ask(&*service.model(provider, "m", &hasty(1)), &question()).await;
        assert_eq!(reply.unwrap().stop, StopReason::ToolUse);
    }
}

// spec: T5
#[tokio::test]
async fn counting_is_exact_or_not_done() {
    let service = Service::start([Answer::status(200, r#"{"input_tokens":305}"#)]).await;
    let model = service.claude(&hasty(1));
    assert_eq!(model.count(&question()).await, Ok(Some(305)));
    assert_eq!(model.count(&question()).await, Ok(None), "a service without the path cannot count");
    let seen = service.seen();
    assert_eq!(seen[0].path, "/v1/messages/count_tokens");
    assert!(!seen[0].body.contains("max_tokens") && !seen[0].body.contains("stream"));

    let mut plain = prompt(vec![said(Role::User, vec![Block::text("hello world")])]);
    plain.tools = [].into();
    plain.system = "".into();
    let openai = |name: &str| service.model(Provider::OpenAi, name, &hasty(1));
    assert_eq!(openai("gpt-4o").count(&plain).await, Ok(Some(4 + 2 + 3)));
    assert_eq!(openai("llama-3").count(&plain).await, Ok(None));
    let mut seeing = plain.clone();
    seeing.history.push(said(Role::User, vec![Block::image("image/png", "QQ==")]));
    assert_eq!(openai("gpt-4o").count(&seeing).await, Ok(None), "a picture's tokens are not in any table");
}

#[tokio::test]
async fn dropping_the_question_ends_the_request() {
    let half = RECORDED.find("event: weather").unwrap();
    let silent = Answer::sse(RECORDED).cut_at(half, crate::fixture::Ending::Silent);
    let mut service = Service::start([silent]).await;
    let model = service.claude(&hasty(1));
    let (sender, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let task = tokio::spawn(async move { model.reply(&question(), &mut |delta| sender.send(delta).unwrap()).await });
    while heard.recv().await != Some(Delta::Text("Ich lese ".into())) {}
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    service.gone.recv().await.unwrap();
}
