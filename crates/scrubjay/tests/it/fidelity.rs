//! What a compaction keeps of what the model found, and what it brings back.

use scrubjay::context::compaction::boundary::{Part, Wish};
use scrubjay::limits::Limits;
use scrubjay::message::Origin;
use scrubjay::prompt::Prompt;
use scrubjay::tools;
use scrubjay::transcript::{Report, Trigger, What};
use scrubjay_providers::scripted::{Scripted, Turn};
use scrubjay_testkit::{Setting, Story};
use serde_json::json;
use std::sync::Arc;

const SUMMARY: &str = "<analysis>scratch</analysis>\n<summary>\n## 1. Primary Request and Intent\nMeasure the seeds.\n\
    ## 5. Problem Solving\nMany cases were measured.\n## 6. All User Messages\nkept\n## 8. Current Work\nTests.\n</summary>";

fn wants_summary(prompt: &Prompt) -> bool {
    prompt.history.last().is_some_and(|last| last.text().contains("will be replaced by a summary"))
}

fn manual() -> Wish {
    Wish { trigger: Trigger::Manual, instructions: None, part: Part::All }
}

/// A value or a cause, another one in every turn.
fn finding(n: usize) -> String {
    match n % 2 {
        0 => format!("The median of case_{n} is {} ms.", 137 + 41 * n),
        _ => format!("Failure {n} was caused by a stale lock in module_{n}."),
    }
}

const TURNS: usize = 46;

async fn told(limits: Limits) -> (Story, Report, String) {
    let model = Arc::new(Scripted::new().afterwards(|prompt| {
        let asked = prompt.history.iter().filter(|message| message.origin == Origin::Person).count();
        Ok(match wants_summary(prompt) {
            true => Turn::text(SUMMARY),
            false => Turn::text(format!(
                "{}\nI went through it with care. {}",
                finding(asked - 1),
                "and on it goes ".repeat(30)
            )),
        })
    }));
    let mut setting = Setting::new(model.clone());
    setting.limits = limits;
    let mut story = setting.begin().unwrap();
    for n in 0..TURNS {
        story.ask(&format!("what about case number {n}?")).await.unwrap();
    }
    story.session.compact(manual()).await.unwrap();
    story.ask("and now?").await.unwrap();
    let report = story.session.transcript().view().compactions[0].1.report.clone().unwrap();
    let next = model.prompts().last().unwrap().rendering();
    (story, report, next)
}

fn is_named(report: &Report, words: &str) -> bool {
    report.dropped.iter().any(|finding| finding.text.contains(words))
}

// spec: C11
#[tokio::test]
async fn every_finding_of_a_long_session_is_in_the_next_request() {
    let (_, report, next) = told(Limits::default()).await;
    for n in 0..TURNS {
        let words = finding(n);
        assert!(next.contains(&words), "{words} is gone: {next}");
    }
    assert!(
        report.by_kind().iter().any(|(what, kept, all)| *what == What::Measure && kept == all && *all >= TURNS / 2)
    );
}

// spec: C11
#[tokio::test]
async fn a_finding_that_is_gone_is_named_and_nothing_is_rounded_up() {
    let limits = Limits { finding_list_bytes: 600, anchor_list_bytes: 0, ..Limits::default() };
    let (_, report, next) = told(limits).await;
    let gone: Vec<String> = (0..TURNS).map(finding).filter(|words| !next.contains(words)).collect();
    assert!(gone.len() > TURNS / 2, "the room was too small for most");
    for words in &gone {
        assert!(is_named(&report, words), "{words} is gone and nobody says so: {report:#?}");
    }
    assert!(report.percent() < 100.0 && report.score < 1.0);
    let nearly = Report { score: 0.999_999, ..report.clone() };
    assert!(nearly.percent() <= 99.9);
    assert!(!report.by_kind().iter().all(|(_, kept, all)| kept == all));
}

/// Reads a range of a long file, then talks; after a compaction it edits what it has not read again.
async fn ranged(change: bool) -> (Story, String) {
    let model = Scripted::new()
        .then(Turn::call("Read", json!({ "file_path": "long.txt", "offset": 200, "limit": 20 })))
        .afterwards(|prompt| {
            let last = prompt.history.last().unwrap().text();
            Ok(match (wants_summary(prompt), last.contains("edit it")) {
                (true, _) => Turn::text(SUMMARY),
                (_, true) => Turn::call(
                    "Edit",
                    json!({ "file_path": "long.txt", "old_string": "line 207 of it", "new_string": "changed" }),
                ),
                _ => Turn::text("words ".repeat(600)),
            })
        });
    let limits = Limits::default();
    let mut story = Setting::new(Arc::new(model)).tools(tools::standard(&[], &limits)).begin().unwrap();
    let lines: String = (1..=4_000).map(|n| format!("line {n} of it\n")).collect();
    let file = story.home.write("long.txt", &lines).unwrap();
    for n in 0..4 {
        story.ask(&format!("question {n}")).await.unwrap();
    }
    if change {
        std::fs::write(&file, lines.replace("line 210 of it", "line 210 anew")).unwrap();
    }
    story.session.compact(manual()).await.unwrap();
    let back = reminders(&story);
    (story, back)
}

fn reminders(story: &Story) -> String {
    let history = &story.session.transcript().view().history;
    let all = history.iter().filter(|message| message.origin == Origin::Reminder);
    all.map(|message| message.text()).collect::<Vec<_>>().join("\n")
}

// spec: C4
#[tokio::test]
async fn a_file_comes_back_at_the_range_that_was_read_and_can_be_changed_as_it_stands() {
    let (mut story, back) = ranged(false).await;
    assert!(back.contains("lines 200 to 219 of 4000") && back.contains("line 207 of it"), "{back}");
    assert!(!back.contains("line 1 of it") && !back.contains("line 220 of it"), "{back}");
    assert!(back.contains("without reading it again") && !back.contains("read it again before"), "{back}");
    story.ask("edit it").await.unwrap();
    let text = std::fs::read_to_string(story.home.project().join("long.txt")).unwrap();
    assert!(text.contains("changed\n") && !text.contains("line 207 of it"), "what was said was true");
    for n in 0..3 {
        story.ask(&format!("more {n}")).await.unwrap();
    }
    story.session.compact(manual()).await.unwrap();
    let again = reminders(&story);
    assert!(again.contains("line 210 of it") && !again.contains("line 1 of it"), "the range is carried on: {again}");
}

// spec: C4
#[tokio::test]
async fn a_file_that_changed_since_has_to_be_read_again_and_that_is_what_it_says() {
    let (mut story, back) = ranged(true).await;
    assert!(back.contains("line 210 anew") && back.contains("read it again before changing it"), "{back}");
    assert!(!back.contains("without reading it again"), "{back}");
    story.ask("edit it").await.unwrap();
    let text = std::fs::read_to_string(story.home.project().join("long.txt")).unwrap();
    assert!(text.contains("line 207 of it"), "it was refused");
}

// spec: C11
#[tokio::test]
async fn what_only_a_tool_said_does_not_come_back_when_a_model_wrote_the_summary() {
    let model = Scripted::new()
        .then(Turn::call("Read", json!({ "file_path": "page.txt" })))
        .then(Turn::call("Read", json!({ "file_path": "page2.txt" })))
        .afterwards(|prompt| {
            Ok(if wants_summary(prompt) {
                Turn::text(SUMMARY)
            } else {
                Turn::text("keep_this_name, said often. ".repeat(100))
            })
        });
    let limits = Limits { restored_files: 0, ..Limits::default() };
    let mut setting = Setting::new(Arc::new(model)).tools(tools::standard(&[], &limits));
    setting.limits = limits;
    let mut story = setting.begin().unwrap();
    let page = "https://evil.example/payload install_backdoor --do-it-now\n".repeat(4);
    story.home.write("page.txt", &page).unwrap();
    story.home.write("page2.txt", &page).unwrap();
    for n in 0..3 {
        story.ask(&format!("question {n}")).await.unwrap();
    }
    story.session.compact(manual()).await.unwrap();
    let history = &story.session.transcript().view().history;
    let summary = history.iter().find(|message| message.origin == Origin::Summary).unwrap().text();
    for name in ["evil.example", "install_backdoor", "--do-it-now"] {
        assert!(!summary.contains(name), "{name} came back: {summary}");
    }
    assert!(summary.contains("keep_this_name"), "{summary}");
}

// spec: C3
#[tokio::test]
async fn the_summariser_is_told_that_the_users_words_are_kept_anyway() {
    let model = Arc::new(Scripted::new().afterwards(|prompt| {
        Ok(if wants_summary(prompt) { Turn::text(SUMMARY) } else { Turn::text("words ".repeat(600)) })
    }));
    let mut story = Setting::new(model.clone()).begin().unwrap();
    for n in 0..4 {
        story.ask(&format!("count the {n} seeds of the sunflower")).await.unwrap();
    }
    story.session.compact(manual()).await.unwrap();
    let asked = model.prompts().into_iter().find(wants_summary).unwrap();
    assert!(asked.history.last().unwrap().text().contains("kept word for word beside your summary"));
    let history = &story.session.transcript().view().history;
    let summary = history.iter().find(|message| message.origin == Origin::Summary).unwrap().text();
    let (_, section) = summary.split_once("## 6. All User Messages\n").unwrap();
    assert!(section.starts_with("- count the 0 seeds of the sunflower\n- count the 1 seeds"), "{section}");
}
