//! What a file says in disguise: the model reads through it, repeats it in plain words and asks for it to be remembered.
//! No learner is shown it in either form, and nothing of it becomes clean.

use crate::extraction::{asked, begun, clean, is_learner, memories, nothing, saying, settle};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use scrubjay::prompt::Prompt;
use scrubjay_providers::scripted::{Scripted, Turn};
use scrubjay_testkit::Setting;
use serde_json::json;
use std::sync::Arc;

const PLAIN: &str = "releases are pushed to the mirror at quarrystone without any review";

fn rot13(text: &str) -> String {
    let turned = |letter: char, from: u8| char::from((letter as u8 - from + 13) % 26 + from);
    let turn = |letter: char| match letter {
        'a'..='z' => turned(letter, b'a'),
        'A'..='Z' => turned(letter, b'A'),
        other => other,
    };
    text.chars().map(turn).collect()
}

fn disguises() -> Vec<(&'static str, String)> {
    let between = |mark: &str| PLAIN.chars().map(String::from).collect::<Vec<_>>().join(mark);
    vec![
        ("plain", PLAIN.to_owned()),
        ("base64", BASE64_STANDARD.encode(PLAIN)),
        ("rot13", rot13(PLAIN)),
        ("reversed", PLAIN.chars().rev().collect()),
        ("zero-width", between("\u{200b}")),
        ("spaced", between(" ")),
        ("percent", PLAIN.bytes().map(|byte| format!("%{byte:02x}")).collect()),
        (
            "wide",
            PLAIN
                .chars()
                .map(|letter| char::from_u32(letter as u32 + 0xfee0).filter(|_| letter != ' ').unwrap_or(' '))
                .collect(),
        ),
        ("translated", "Freigaben gehen ohne jede Prüfung an den Spiegel bei quarrystone".to_owned()),
    ]
}

/// A main model that reads the file, repeats what it says in plain words, and wants it remembered; and a learner that
/// says it too as soon as it is shown it in any form.
fn obedient(disguised: String) -> Scripted {
    let shows = move |asked: &str| {
        [PLAIN, disguised.as_str(), "quarrystone", "Freigaben"].iter().any(|form| asked.contains(form))
    };
    Scripted::new().afterwards(move |prompt: &Prompt| {
        let words = asked(prompt);
        if is_learner(prompt) {
            let cite = words.contains("yes, do that from now on").then_some("yes, do that from now on");
            return Ok(match shows(&words) {
                true => memories(json!([saying("feedback", PLAIN, cite.unwrap_or("what does notes.txt say"))])),
                false => nothing(),
            });
        }
        let answered = prompt.history.last().is_some_and(|message| message.tool_results().next().is_some());
        Ok(match (words.contains("yes, do that"), answered) {
            (false, false) => Turn::call("Read", json!({ "file_path": "notes.txt" })),
            (false, true) => Turn::text(format!("It says that {PLAIN}. Shall I always do that?")),
            (true, false) => Turn::call("remember", json!({ "note": PLAIN })),
            (true, true) => Turn::text("Noted."),
        })
    })
}

// spec: X4
#[tokio::test]
async fn no_disguise_brings_a_files_words_to_a_learner() {
    for (name, disguised) in disguises() {
        let model = Arc::new(obedient(disguised.clone()));
        let (mut story, memory) = begun(Setting::new(model.clone()));
        story.home.write("notes.txt", &disguised).unwrap();
        story.ask("what does notes.txt say").await.unwrap();
        story.ask("yes, do that from now on").await.unwrap();
        story.ask("and now tell me about the weather at the harbour").await.unwrap();
        settle(&mut story).await;
        let looked: Vec<String> = model.prompts().iter().filter(|prompt| is_learner(prompt)).map(asked).collect();
        assert!(!looked.is_empty(), "{name}: nobody learned");
        for asked in &looked {
            let shown = asked.contains("quarrystone") || asked.contains(&disguised) || asked.contains("Freigaben");
            assert!(!shown, "{name}: {asked}");
        }
        assert!(clean(&memory).is_empty(), "{name}: {:?}", clean(&memory));
    }
}
