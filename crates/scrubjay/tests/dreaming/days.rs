//! Three days in the life of one preference: stated, confirmed, contradicted, and settled by a dream.

use crate::bench::{files, night, open, project, text};
use scrubjay::limits::Limits;
use scrubjay::memory::dreaming::Mode;
use scrubjay::memory::extraction::{Attendance, TOOL};
use scrubjay::memory::{Cause, SharedMemory, Speaker, Trust};
use scrubjay::message::Origin;
use scrubjay::prompt::Prompt;
use scrubjay::prompts;
use scrubjay::tools::{self, Keeper};
use scrubjay::{Learns, Remembering};
use scrubjay_providers::scripted::{Scripted, Turn};
use scrubjay_testkit::{FixedClock, Home, Setting, Story};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

const LONG: Duration = Duration::from_secs(60);
const OLD: &str = "feedback_tabs.md";
const NEW: &str = "feedback_spaces.md";
const FIRST: &str = "Use tabs for indentation in the parser.";
const AGAIN: &str = "Keep the tabs for indentation in the parser, diffs stay small.";
const SETTLED: &str = "Use four spaces for indentation in the parser.";

/// A model that answers, and does this in the n-th turn of an errand, given the folder the errand names.
type Act = fn(usize, &str) -> Turn;

fn model(errand: &'static str, folder: &'static [&'static str; 2], act: Act) -> Arc<Scripted> {
    let named = move |prompt: &Prompt| {
        let name = format!("name=\"{errand}\"");
        let is_errand = |text: &str| text.contains(&name);
        let at = prompt.history.iter().rposition(|one| one.origin == Origin::Reminder && is_errand(&one.text()))?;
        let dir = prompt.history[at].text().split(folder[0]).nth(1)?.split(folder[1]).next()?.to_owned();
        Some((prompt.history[at..].iter().filter(|one| one.origin == Origin::Model).count(), dir))
    };
    Arc::new(Scripted::new().afterwards(move |prompt| match named(prompt) {
        None => Ok(Turn::text("Understood.")),
        Some((turn, dir)) => Ok(act(turn, &dir)),
    }))
}

const COPY: [&str; 2] = ["copy of it in ", ";"];

fn read(dir: &str, file: &str) -> Turn {
    Turn::call("Read", json!({ "file_path": format!("{dir}/{file}") }))
}

fn write(dir: &str, file: &str, header: &str, body: &str) -> Turn {
    let content = text(file, "indentation in the parser", body).replacen("type:", &format!("{header}\ntype:"), 1);
    Turn::call("Write", json!({ "file_path": format!("{dir}/{file}"), "content": content }))
}

/// A session of its own, on the day the clock shows.
fn begin(home: Home, clock: &FixedClock, model: Arc<Scripted>) -> (Story, SharedMemory) {
    let memory = open(&home.data(), clock);
    let keeper: Arc<dyn Keeper> = Arc::new(memory.clone());
    let mut setting = Setting::new(model).switch("layers.recall", "false");
    setting.clock = clock.clone();
    let setting = setting.tools(tools::kept_by(Some(keeper), &[], &Limits::default()));
    let (root, transcripts) = (home.project(), home.data());
    let mut story = setting.begin_in(home).unwrap();
    let from = Remembering { memory: memory.clone(), chooser: None, root };
    story.session =
        story.session.remembering(from).learning(Learns { transcripts, attendance: Attendance::Person, model: None });
    (story, memory)
}

/// What is said on one day, and what is learned from it; then the night passes.
async fn day(home: Home, clock: &FixedClock, said: &str, (number, memory): (u8, Value)) -> Home {
    let answer = json!({ "memories": [memory], "look_back": [] });
    let model = Arc::new(Scripted::new().afterwards(move |prompt| {
        let learns = *prompt.system == *prompts::LEARNER.trim_end();
        Ok(if learns { Turn::call(TOOL, answer.clone()) } else { Turn::text("Understood.") })
    }));
    let (mut story, _) = begin(home, clock, model);
    story.ask(said).await.unwrap();
    assert!(story.session.wait_for_background(LONG).await.unwrap());
    story.check();
    night(story, clock, &format!("day-{number}")).await
}

fn rule(name: &str, statement: &str, cite: &str) -> Value {
    json!({ "action": "create", "type": "feedback", "name": name, "description": "indentation in the parser",
            "statement": statement, "cites": [cite] })
}

// spec: E7
// spec: Z7
// spec: D11
#[tokio::test]
async fn in_three_days_one_preference_ends_as_one_memory_with_its_history() {
    let (home, clock) = (Home::new().unwrap(), FixedClock::default());
    let home = day(home, &clock, FIRST, (1, rule("Tabs", FIRST, FIRST))).await;
    let mut confirmed = rule("Tabs", &format!("{FIRST} {AGAIN}"), AGAIN);
    (confirmed["action"], confirmed["file"]) = ("change".into(), OLD.into());
    let home = day(home, &clock, &format!("Yes, that was right. {AGAIN}"), (2, confirmed)).await;
    let changed = format!("I changed my mind. {SETTLED} No tabs any more.");
    let home = day(home, &clock, &changed, (3, rule("Spaces", SETTLED, SETTLED))).await;
    let dir = project(&home.data()).memory();
    let before = files(&dir);
    assert!(before[OLD].contains(FIRST) && before[OLD].contains(AGAIN) && before[NEW].contains(SETTLED), "{before:?}");

    let settles: Act = |turn, copy| match turn {
        0 => read(copy, NEW).and_call("Read", json!({ "file_path": format!("{copy}/{OLD}") })),
        1 => {
            let header = format!("merged: [{OLD}]\ncites: [\"{SETTLED} No tabs any more\"]");
            write(copy, NEW, &header, SETTLED)
        }
        _ => Turn::text("One memory about indentation is left."),
    };
    let (mut story, memory) = begin(home, &clock, model("dream", &COPY, settles));
    let dreams = story.session.dreams().unwrap().in_mode(Mode::Auto);
    let landed = story.session.dream(dreams.clone(), CancellationToken::new()).await.unwrap();
    story.check();
    // The newer words contradict one sentence and say nothing about the other, so the person has the last word.
    assert_eq!(landed.receipt, None);
    let proposal = landed.proposal.unwrap();
    let reasons = proposal.reasons.join("; ");
    assert!(reasons.contains(AGAIN) && reasons.contains("nobody would say it any more"), "{reasons}");
    assert_eq!(files(&dir), before);
    dreams.apply(&proposal.id).unwrap();
    let after = files(&dir);
    assert!(!after.contains_key(OLD) && after[NEW].contains(SETTLED) && !after[NEW].contains("cites"), "{after:?}");

    let basis = memory.with(|memory| memory.rests_on(NEW).cloned()).unwrap();
    assert!(
        basis.trust == Trust::Confirmed && basis.sources.iter().any(|one| one.speaker == Speaker::Person),
        "{basis:?}"
    );
    let log = memory.with(|memory| memory.log().unwrap());
    let of =
        |path: &str| log.iter().filter(|change| change.edits.iter().any(|edit| edit.path == path)).collect::<Vec<_>>();
    let learned = of(OLD).iter().filter(|change| matches!(change.cause, Cause::Extraction { .. })).count();
    assert_eq!(learned, 2, "stated and confirmed: {log:#?}");
    let last = of(NEW).last().unwrap().id;
    assert_eq!(of(OLD).last().unwrap().id, last, "both end in one change");
    memory.with(|memory| memory.undo(last)).unwrap();
    assert!(files(&dir)[OLD].contains(AGAIN), "and nothing of it is lost");
}
