//! Every typed message is looked at exactly once, whatever happens around it: random histories of questions, notes, failures,
//! compactions, copies and restarts.

use crate::extraction::{asked, begun, is_learner, learning, memories, nothing, saying, settle};
use proptest::prelude::*;
use scrubjay::context::compaction::boundary::{Part, Wish};
use scrubjay::model::ModelError;
use scrubjay::prompt::Prompt;
use scrubjay::transcript::Trigger;
use scrubjay_providers::scripted::{Scripted, Turn};
use scrubjay_testkit::Setting;
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// What happens next in a history.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// A message of some length.
    Ask,
    /// Too little to look at by itself.
    Acknowledge,
    /// Nothing but a paste.
    Paste,
    /// A message after which the model calls `remember`.
    Remember,
    /// The same, and the learner finds something.
    Learn,
    /// A message at which the learner fails once.
    Fail,
    /// The conversation is compacted.
    Compact,
    /// The program ends and goes on.
    Restart,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    use Step::{Acknowledge, Ask, Compact, Fail, Learn, Paste, Remember, Restart};
    let step = prop::sample::select(vec![Ask, Ask, Acknowledge, Paste, Remember, Learn, Fail, Compact, Restart]);
    // Three failures in a row let the layer rest, and then it looks later.
    let calmed = |steps: Vec<Step>| {
        let mut fails = 0;
        let calm = |step: Step| match step {
            Fail => {
                fails += 1;
                if fails > 2 { Ask } else { Fail }
            }
            step => step,
        };
        steps.into_iter().map(calm).collect::<Vec<_>>()
    };
    prop::collection::vec(step, 1..9).prop_map(calmed)
}

/// The words of a step: one token that nothing else has.
fn words(at: usize, step: Step) -> Option<String> {
    Some(match step {
        Step::Ask => format!("token{at}x is the name of the crane at the harbour"),
        Step::Acknowledge => format!("t{at}x"),
        Step::Paste => format!("```\ntoken{at}x was only pasted here\n```"),
        Step::Remember => format!("token{at}x please, and REMEMBER"),
        Step::Learn => format!("token{at}x please, LEARN and REMEMBER"),
        Step::Fail => format!("token{at}x makes the learner FAIL"),
        Step::Compact | Step::Restart => return None,
    })
}

fn token(at: usize, step: Step) -> Option<String> {
    match step {
        Step::Acknowledge => Some(format!("t{at}x")),
        Step::Paste | Step::Compact | Step::Restart => None,
        _ => Some(format!("token{at}x")),
    }
}

/// A model that learns, fails and remembers as it is told to, and what it was shown when it succeeded.
fn model(looked: &Arc<Mutex<Vec<String>>>) -> Scripted {
    let (looked, failed) = (looked.clone(), Mutex::new(BTreeSet::<String>::new()));
    Scripted::new().afterwards(move |prompt: &Prompt| {
        if !is_learner(prompt) {
            let last = prompt.history.last().map(|message| message.text()).unwrap_or_default();
            let wants = last.contains("REMEMBER") && !last.contains("Kept");
            return Ok(if wants {
                Turn::call("remember", json!({ "note": "a note of the model" }))
            } else {
                Turn::text("Understood.")
            });
        }
        let text = asked(prompt);
        let mut failed = failed.lock().unwrap();
        let fresh = text.split("What the user typed:").nth(1).unwrap_or_default();
        let fails = fresh.lines().filter(|line| line.contains("FAIL") && failed.insert((*line).to_owned())).count();
        if fails > 0 {
            return Err(ModelError::Refused("out of order".into()));
        }
        // What was typed before may be shown again, to be understood with.
        looked.lock().unwrap().push(fresh.to_owned());
        let learned =
            fresh.contains("LEARN").then(|| saying("project", "Something was learned.", "LEARN and REMEMBER"));
        Ok(learned.map_or_else(nothing, |learned| memories(json!([learned]))))
    })
}

async fn play(steps: Vec<Step>) {
    let looked = Arc::new(Mutex::new(Vec::new()));
    let (mut story, memory) = begun(Setting::new(Arc::new(model(&looked))));
    let all: Vec<Step> = steps.iter().copied().chain([Step::Ask, Step::Ask]).collect();
    for (at, step) in all.iter().enumerate() {
        match (words(at, *step), step) {
            (Some(words), _) => drop(story.ask(&words).await.unwrap()),
            (None, Step::Compact) => {
                let wish = Wish { trigger: Trigger::Manual, instructions: None, part: Part::All };
                // Too little to compact is no failure here.
                drop(story.session.compact(wish).await);
            }
            (None, _) => story = learning(story.resume().unwrap(), &memory),
        }
        settle(&mut story).await;
    }
    let looked = looked.lock().unwrap().clone();
    for (at, step) in all.iter().enumerate() {
        let Some(token) = token(at, *step) else { continue };
        let times = looked
            .iter()
            .filter(|text| text.split_whitespace().any(|word| word.trim_end_matches(',') == token))
            .count();
        assert_eq!(times, 1, "{token} of {all:?}: {looked:#?}");
    }
    assert!(looked.iter().all(|text| !text.contains("only pasted")));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    // spec: E4
    #[test]
    fn every_typed_message_is_looked_at_exactly_once(steps in steps()) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        runtime.block_on(play(steps));
    }
}
