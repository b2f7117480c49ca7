use super::*;
use proptest::prelude::*;
use serde_json::{Value, json};

fn event(value: &Value) -> Event {
    read(value.to_string().as_bytes()).unwrap().event
}

fn heard(content: &Value, more: &Value) -> Event {
    let mut line = json!({ "type": "user", "message": { "role": "user", "content": content } });
    line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    event(&line)
}

// spec: U3
#[test]
fn claude_code_says_who_spoke_and_what_was_billed() {
    let reply = json!({
        "type": "assistant", "timestamp": "2026-02-09T11:06:08.627Z", "cwd": "/p", "version": "2.1.37", "isSidechain": false,
        "message": { "id": "msg_1", "model": "claude-opus-4-6", "role": "assistant",
            "content": [
                { "type": "thinking", "thinking": "hm", "signature": "x" },
                { "type": "text", "text": "I look." },
                { "type": "tool_use", "id": "t1", "name": "Read", "input": { "file_path": "/p/a.rs" } },
            ],
            "usage": { "input_tokens": 3, "cache_creation_input_tokens": 500, "cache_read_input_tokens": 9000,
                "cache_creation": { "ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 400 }, "output_tokens": 7 } },
    });
    let record = read(reply.to_string().as_bytes()).unwrap();
    assert_eq!((record.agent, record.aside), (Agent::ClaudeCode, false));
    assert_eq!((record.dir.as_deref(), record.version.as_deref()), (Some("/p"), Some("2.1.37")));
    assert_eq!(record.at, Some("2026-02-09T11:06:08.627Z".parse().unwrap()));
    let Event::Replied { id, model, usage, parts } = record.event else { panic!("{:?}", record.event) };
    assert_eq!((id.as_deref(), model.as_deref()), (Some("msg_1"), Some("claude-opus-4-6")));
    let billed = Usage { input: 3, cache_read: 9_000, cache_write_5m: 100, cache_write_1h: 400, output: 7 };
    assert_eq!(usage, Some(billed));
    let call = Part::Call { id: "t1".into(), tool: "Read".into(), input: r#"{"file_path":"/p/a.rs"}"#.into() };
    assert_eq!(parts, [Part::Thinking("hm".into()), Part::Text("I look.".into()), call]);
}

#[test]
fn what_the_agent_puts_in_a_persons_mouth_is_not_the_persons() {
    let none = json!({});
    let by = |content: &Value, more: &Value| match heard(content, more) {
        Event::Heard { by, parts } => (by, parts),
        other => panic!("{other:?}"),
    };
    let said = "fix it<system-reminder>today is Monday</system-reminder>";
    assert_eq!(by(&json!(said), &none), (Speaker::Person, vec![Part::Text("fix it".into())]));
    for content in [
        json!("<command-name>/clear</command-name>"),
        json!([{ "type": "text", "text": "[Request interrupted by user]" }]),
        json!("<system-reminder>only this</system-reminder>"),
        json!([{ "type": "tool_result", "tool_use_id": "t1", "content": [{ "type": "text", "text": "ok" }] }]),
    ] {
        assert_eq!(by(&content, &none).0, Speaker::Agent, "{content}");
    }
    assert_eq!(by(&json!("a skill's text"), &json!({ "isMeta": true })).0, Speaker::Agent);
    let answer = Part::Answer { id: "t1".into(), text: "a\nb".into(), is_error: true };
    let parts = json!([{ "type": "text", "text": "a" }, { "type": "image" }, { "type": "text", "text": "b" }]);
    let result = json!([{ "type": "tool_result", "tool_use_id": "t1", "is_error": true, "content": parts }]);
    assert_eq!(by(&result, &none).1, [answer]);
}

#[test]
fn compactions_and_sub_agents_are_known() {
    let boundary =
        json!({ "type": "system", "subtype": "compact_boundary", "uuid": "u1", "content": "Conversation compacted" });
    assert_eq!(event(&boundary), Event::Compacted { id: Some("u1".into()), summary: None });
    let summary = heard(&json!("This session is being continued …"), &json!({ "isCompactSummary": true }));
    assert_eq!(summary, Event::Summarised("This session is being continued …".into()));
    let aside = json!({ "type": "user", "isSidechain": true, "message": { "content": "go" } });
    assert!(read(aside.to_string().as_bytes()).unwrap().aside);
    let synthetic = json!({ "type": "assistant", "message": { "model": "<synthetic>", "content": [] } });
    assert_eq!(event(&synthetic), Event::Other);
}

// spec: U3
#[test]
fn codex_says_the_same_in_other_words() {
    let item = |payload: Value| {
        event(&json!({ "timestamp": "2026-07-03T18:15:17Z", "type": "response_item", "payload": payload }))
    };
    let message = |role: &str, text: &str| {
        item(json!({ "type": "message", "role": role, "content": [{ "type": "input_text", "text": text }] }))
    };
    let speaker = |event: Event| match event {
        Event::Heard { by, .. } => Some(by),
        _ => None,
    };
    assert_eq!(speaker(message("user", "fix it")), Some(Speaker::Person));
    assert_eq!(speaker(message("user", "<environment_context>…")), Some(Speaker::Agent));
    assert_eq!(speaker(message("developer", "be brief")), Some(Speaker::Agent));
    assert!(matches!(message("assistant", "done"), Event::Replied { id: None, .. }));
    let call = item(
        json!({ "type": "function_call", "name": "exec_command", "arguments": "{\"cmd\":\"ls\"}", "call_id": "c1" }),
    );
    let Event::Replied { parts, .. } = call else { panic!("{call:?}") };
    assert_eq!(parts, [Part::Call { id: "c1".into(), tool: "exec_command".into(), input: "{\"cmd\":\"ls\"}".into() }]);
    for output in [
        json!("main.rs\n"),
        json!({ "content": "main.rs\n", "success": true }),
        json!([{ "type": "input_text", "text": "main.rs\n" }]),
    ] {
        let answer = item(json!({ "type": "function_call_output", "call_id": "c1", "output": output }));
        let Event::Heard { parts, .. } = answer else { panic!("{answer:?}") };
        assert_eq!(parts, [Part::Answer { id: "c1".into(), text: "main.rs\n".into(), is_error: false }], "{output}");
    }
    assert_eq!(own_tool("exec_command"), "Bash");
}

#[test]
fn codex_counts_cached_tokens_among_the_input_and_may_repeat_itself() {
    let usage =
        json!({ "input_tokens": 14475, "cached_input_tokens": 2432, "output_tokens": 216, "total_tokens": 14691 });
    let info = json!({ "total_token_usage": usage, "last_token_usage": usage, "model_context_window": 258400 });
    let counted = event(&json!({ "type": "event_msg", "payload": { "type": "token_count", "info": info } }));
    let billed = Usage { input: 12_043, cache_read: 2_432, output: 216, ..Usage::default() };
    assert_eq!(counted, Event::Counted { usage: billed, so_far: 14_691, window: Some(258_400) });
    assert_eq!(
        event(&json!({ "type": "event_msg", "payload": { "type": "token_count", "info": null } })),
        Event::Other
    );
    assert_eq!(
        event(&json!({ "type": "turn_context", "payload": { "model": "gpt-5.6", "summary": "auto" } })),
        Event::Chose("gpt-5.6".into())
    );
    let kept = json!([{ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "fix it" }] }]);
    let compacted =
        event(&json!({ "type": "compacted", "payload": { "message": "so far", "replacement_history": kept } }));
    assert_eq!(compacted, Event::Compacted { id: None, summary: Some("so far\nfix it".into()) });
}

#[test]
fn what_is_no_record_says_why() {
    let table: [(&str, Result<(), Unread>); 7] = [
        (r#"{"type":"user","message":{"content":"x"}}"#, Ok(())),
        (r#"{"type":"user","message":{"cont"#, Err(Unread::Torn)),
        ("plain words", Err(Unread::Torn)),
        (r#"{"type":"user","message":{"content":"x"}}{"type":"user"}"#, Err(Unread::Torn)),
        (r#"{"dir":"to_tui","kind":"key_event"}"#, Err(Unread::Unknown)),
        (r#"{"type":"session","version":3,"id":"x"}"#, Err(Unread::Unknown)),
        (r#"{"type":"whatever-comes-next","uuid":"u","data":{}}"#, Ok(())),
    ];
    for (line, wanted) in table {
        assert_eq!(read(line.as_bytes()).map(|_| ()), wanted, "{line}");
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[ -~é]{0,12}".prop_map(Value::from),
        prop_oneof![Just("text"), Just("tool_use"), Just("tool_result"), Just("message"), Just("token_count")]
            .prop_map(Value::from),
    ];
    let name = prop_oneof![
        Just("type"),
        Just("content"),
        Just("text"),
        Just("id"),
        Just("tool_use_id"),
        Just("usage"),
        Just("input_tokens"),
        Just("role"),
        Just("output"),
        Just("info"),
        Just("last_token_usage"),
        Just("name"),
        Just("arguments"),
    ];
    leaf.prop_recursive(4, 48, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((name.clone(), inner), 0..6).prop_map(|fields| {
                fields
                    .into_iter()
                    .map(|(name, value)| (name.to_owned(), value))
                    .collect::<serde_json::Map<_, _>>()
                    .into()
            }),
        ]
    })
}

proptest! {
    #[test]
    fn no_line_is_too_strange(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        drop(read(&bytes));
    }

    #[test]
    fn a_record_of_any_shape_is_read_or_refused(message in any_json(), payload in any_json(), kind in "user|assistant|system|response_item|event_msg|compacted") {
        for line in [json!({ "type": kind, "message": message }), json!({ "type": kind, "payload": payload })] {
            let text = line.to_string();
            prop_assert_ne!(read(text.as_bytes()).err(), Some(Unread::Torn), "{}", text);
        }
    }

    #[test]
    fn a_torn_line_is_torn(text in "[ -~é\n]{0,40}", share in 0.0f64..1.0) {
        let line = json!({ "type": "user", "message": { "content": text } }).to_string();
        let end = (line.len() as f64 * share) as usize;
        prop_assume!(end > 0);
        prop_assert_eq!(read(&line.as_bytes()[..end]).err(), Some(Unread::Torn));
    }
}
