//! Dreams with a model: a good one, and every kind of bad one.

use crate::bench::{Bench, text};
use scrubjay::Learns;
use scrubjay::agents::jobs::{Card, State};
use scrubjay::event::Event;
use scrubjay::limits::Limits;
use scrubjay::memory::dreaming::{DreamError, Landed, Mode};
use scrubjay::memory::extraction::Attendance;
use scrubjay::memory::{Speaker, Trust};
use scrubjay::message::Origin;
use scrubjay::model::ModelError;
use scrubjay::prompt::Prompt;
use scrubjay_providers::scripted::{Gate, Scripted, Turn};
use scrubjay_testkit::Setting;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

fn directive(prompt: &Prompt) -> Option<(usize, String)> {
    let at = prompt
        .history
        .iter()
        .rposition(|message| message.origin == Origin::Reminder && message.text().contains("name=\"dream\""))?;
    let text = prompt.history[at].text();
    Some((at, text.split("copy of it in ").nth(1)?.split(';').next()?.to_owned()))
}

/// What a model does in its n-th turn of a dream, given the folder of the copy.
type Act = fn(usize, &str) -> Turn;

fn dreamer(act: Act) -> Arc<Scripted> {
    Arc::new(Scripted::new().afterwards(move |prompt| match directive(prompt) {
        None => Ok(Turn::text("Yes.")),
        Some((at, copy)) => {
            let turn = prompt.history[at..].iter().filter(|message| message.origin == Origin::Model).count();
            Ok(act(turn, &copy))
        }
    }))
}

fn read(copy: &str, file: &str) -> Turn {
    Turn::call("Read", json!({ "file_path": format!("{copy}/{file}") }))
}

fn write(copy: &str, file: &str, content: &str) -> Turn {
    Turn::call("Write", json!({ "file_path": format!("{copy}/{file}"), "content": content }))
}

fn header(file: &str, extra: &str, body: &str) -> String {
    text(file, "when deploys happen", body).replacen("type:", &format!("{extra}\ntype:"), 1)
}

fn deploys(bench: &Bench) {
    bench.save("deploy_old.md", "deploys", "Deploys happen on Friday evening. Grace watches the dashboard.");
    bench.save("deploy_new.md", "when deploys happen", "Deploys happen on Tuesday evening.");
    bench.save("birds.md", "how birds are fed", "The birds are fed with sunflower seeds each morning.");
    bench.save("roof.md", "the roof", "The roof was mended by the neighbour.");
    bench.session("past-1", bench.now(), &["we moved deploys to Tuesday evening, 18:30 sharp, because Friday broke"]);
    bench.clock.advance(jiff::SignedDuration::from_secs(1));
}

async fn dream(bench: &mut Bench) -> Result<Landed, DreamError> {
    let dreams = bench.dreams();
    bench.story.session.dream(dreams, CancellationToken::new()).await
}

/// The newest dream, as it can be watched.
fn job(bench: &Bench) -> Card {
    let jobs = bench.story.session.jobs().list(&Limits::default());
    jobs.into_iter().find(|card| card.kind == "dream").unwrap()
}

// spec: Z4
// spec: Z7
// spec: X4
#[tokio::test]
async fn a_contradiction_is_settled_by_what_the_user_said_last_and_the_users_yes() {
    let model = dreamer(|turn, copy| match turn {
        0 => read(copy, "deploy_new.md").and_call("Read", json!({ "file_path": format!("{copy}/deploy_old.md") })),
        1 => write(
            copy,
            "deploy_new.md",
            &header(
                "deploy_new.md",
                "merged: [deploy_old.md]\ncites: [\"we moved deploys to Tuesday evening, 18:30 sharp\"]",
                "Deploys happen on Tuesday evening, 18:30 sharp. Grace watches the dashboard.",
            ),
        ),
        _ => Turn::text("One memory about deploys is left."),
    });
    let mut bench = Bench::answered_by(model.clone());
    deploys(&bench);
    let landed = dream(&mut bench).await.unwrap();
    // Whoever dreams reads whole conversations, so what it takes from them waits.
    let proposal = landed.proposal.unwrap();
    assert!(proposal.reasons.iter().any(|reason| reason.contains("read whole")), "{proposal}");
    assert!(bench.files().contains_key("deploy_old.md"));
    bench.dreams().apply(&proposal.id).unwrap();
    let files = bench.files();
    assert!(!files.contains_key("deploy_old.md"));
    let new = &files["deploy_new.md"];
    assert!(new.contains("18:30 sharp. Grace watches") && !new.contains("merged") && !new.contains("cites"), "{new}");
    let rests = bench.memory.with(|memory| memory.rests_on("deploy_new.md").cloned()).unwrap();
    assert_eq!(rests.trust, Trust::Confirmed);
    let said = rests.sources.iter().find(|source| source.speaker == Speaker::Person).unwrap();
    assert_eq!((said.session.as_str(), said.message.is_empty()), ("past-1", false));
    // It was told what code had found, and worked on a copy that is gone.
    let told = model.prompts()[0].history.last().unwrap().text();
    assert!(told.contains("deploy_new.md (newer) says") && told.contains("past-1.jsonl"), "{told}");
    assert!(
        std::fs::read_dir(bench.folder_of_dreams())
            .unwrap()
            .all(|entry| { !entry.unwrap().file_name().to_string_lossy().starts_with("copy-") })
    );
    let spent = &bench.story.session.transcript().view().spent;
    assert!(spent.keys().any(|(source, _)| source == "dream"));
}

/// Whatever the model does: nothing of it reaches the memory by itself, and the person finds it as a proposal.
async fn refused(act: Act, because: &str) -> Bench {
    let mut bench = Bench::answered_by(dreamer(act));
    deploys(&bench);
    let before = bench.files();
    let landed = dream(&mut bench).await.unwrap();
    assert_eq!(bench.files(), before, "{because}");
    let proposal = landed.proposal.clone().unwrap_or_else(|| panic!("{because}: {landed:?}"));
    assert!(proposal.reasons.iter().any(|reason| reason.contains(because)), "{because}: {:?}", proposal.reasons);
    bench
}

// spec: Z7
// safety: F-19
#[tokio::test]
async fn a_model_that_removes_everything_is_refused() {
    let bench = refused(
        |turn, copy| match turn {
            0..=3 => read(copy, ["birds.md", "roof.md", "deploy_new.md", "deploy_old.md"][turn]),
            4..=7 => write(
                copy,
                ["birds.md", "roof.md", "deploy_new.md", "deploy_old.md"][turn - 4],
                "---\nremove: old\n---\n",
            ),
            _ => Turn::text("All gone."),
        },
        "4 of 4 memories would go",
    )
    .await;
    assert_eq!(bench.dreams().proposals().len(), 1);
}

// spec: Z7
#[tokio::test]
async fn a_model_that_empties_or_shortens_a_memory_is_refused() {
    refused(
        |turn, copy| match turn {
            0 => read(copy, "deploy_old.md"),
            1 => write(copy, "deploy_old.md", &header("deploy_old.md", "", "Deploys happen on Friday evening.")),
            _ => Turn::text("Shorter."),
        },
        "says “Grace watches the dashboard.”, and nobody would say it any more",
    )
    .await;
}

// spec: Z7
#[tokio::test]
async fn a_model_that_invents_a_fact_is_refused() {
    refused(
        |turn, copy| match turn {
            0 => write(copy, "invented.md", &header("invented.md", "", "The office closes at noon in August.")),
            _ => Turn::text("I thought so."),
        },
        "names nothing it rests on",
    )
    .await;
    refused(
        |turn, copy| match turn {
            0 => write(
                copy,
                "invented.md",
                &header("invented.md", "cites: [\"the office closes at noon\"]", "The office closes at noon."),
            ),
            _ => Turn::text("I quote."),
        },
        "which nobody said",
    )
    .await;
    refused(
        |turn, copy| match turn {
            0 => write(
                copy,
                "invented.md",
                &header(
                    "invented.md",
                    "cites: [\"we moved deploys to Tuesday evening\"]",
                    "Deploys moved to Tuesday evening at 21:45.",
                ),
            ),
            _ => Turn::text("Roughly."),
        },
        "states “the number 21:45”, which is in none of its sources",
    )
    .await;
    refused(
        |turn, copy| match turn {
            0 => read(copy, "birds.md"),
            1 => write(
                copy,
                "birds.md",
                &header(
                    "birds.md",
                    "cites: [\"Noted by the model.\"]",
                    "The birds are fed with sunflower seeds each morning. Noted by the model.",
                ),
            ),
            _ => Turn::text("As I said."),
        },
        "would rest on a conversation that a dream read whole",
    )
    .await;
}

// spec: Z7
#[tokio::test]
async fn a_model_that_says_it_in_its_own_words_lands() {
    let model = dreamer(|turn, copy| match turn {
        0 => write(
            copy,
            "rollout.md",
            &header(
                "rollout.md",
                "cites: [\"we moved deploys to Tuesday evening\"]",
                "Rollouts take place each Tuesday from 18:30 on; the end of the week proved too fragile.",
            ),
        ),
        _ => Turn::text("In my own words."),
    });
    let mut bench = Bench::answered_by(model);
    deploys(&bench);
    let landed = dream(&mut bench).await.unwrap();
    assert_eq!(landed.proposal, None, "{landed}");
    let basis = bench.memory.with(|memory| memory.rests_on("rollout.md").cloned()).unwrap();
    assert_eq!((basis.trust, basis.doubt.is_some()), (Trust::Tainted, true), "kept, and marked");
}

// spec: X5
// spec: Z7
#[tokio::test]
async fn a_memory_is_as_trusted_as_its_least_trusted_source() {
    const BOTH: &str = "cites: [\"we moved deploys to Tuesday evening\", \"Noted by the model.\"]";
    const USER: &str = "cites: [\"we moved deploys to Tuesday evening\"]";
    let acts: [(Act, &str, Trust); 2] = [
        (
            |turn, copy| match turn {
                0 => write(copy, "rollout.md", &header("rollout.md", BOTH, "Deploys moved to Tuesday evening.")),
                _ => Turn::text("Done."),
            },
            BOTH,
            Trust::Tainted,
        ),
        (
            |turn, copy| match turn {
                0 => write(copy, "rollout.md", &header("rollout.md", USER, "Deploys moved to Tuesday evening.")),
                _ => Turn::text("Done."),
            },
            USER,
            Trust::Tainted,
        ),
    ];
    for (act, cites, trust) in acts {
        let mut bench = Bench::answered_by(dreamer(act));
        deploys(&bench);
        dream(&mut bench).await.unwrap();
        let basis = bench.memory.with(|memory| memory.rests_on("rollout.md").cloned()).unwrap();
        assert_eq!(basis.trust, trust, "{cites}");
    }
}

// spec: Z7
// spec: G2
#[tokio::test]
async fn a_model_that_keeps_a_credential_is_refused() {
    refused(
        |turn, copy| {
            let token = ["ghp_", "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0iL3oR6"].concat();
            match turn {
                0 => write(
                    copy,
                    "token.md",
                    &header(
                        "token.md",
                        "cites: [\"we moved deploys to Tuesday evening\"]",
                        &format!("We moved deploys to Tuesday evening: {token}"),
                    ),
                ),
                _ => Turn::text("Kept."),
            }
        },
        "would hold a credential",
    )
    .await;
}

// spec: Z5
#[tokio::test]
async fn a_model_that_writes_outside_of_its_copy_cannot() {
    let model = dreamer(|turn, copy| {
        let memory = copy.rsplit_once("/dreams/").unwrap().0.to_owned() + "/memory/evil.md";
        match turn {
            0 => Turn::call("Write", json!({ "file_path": memory, "content": "evil" }))
                .and_call("Write", json!({ "file_path": format!("{copy}/../evil.json"), "content": "evil" }))
                .and_call("Write", json!({ "file_path": "evil.md", "content": "evil" }))
                .and_call("Bash", json!({ "command": "touch evil" }))
                .and_call("Read", json!({ "file_path": "/etc/passwd" })),
            _ => Turn::text("Tried."),
        }
    });
    let mut bench = Bench::answered_by(model);
    deploys(&bench);
    let before = bench.files();
    let dreams = bench.dreams();
    let landed = bench.story.session.dream(dreams, CancellationToken::new()).await.unwrap();
    assert!(!landed.is_news() && bench.files() == before);
    assert_eq!(std::fs::read_dir(bench.story.home.project()).unwrap().count(), 0);
    let seen = job(&bench);
    assert_eq!((seen.state, seen.denials, seen.turns.len(), seen.turns[0].tools), (State::Completed, 5, 2, 5));
}

// spec: Z5
// spec: E5
#[tokio::test]
async fn a_dream_may_look_as_an_extraction_may_and_nothing_else() {
    let model = dreamer(|turn, copy| {
        let sessions = copy.split("/projects/").next().unwrap();
        match turn {
            0 => Turn::call("Bash", json!({ "command": "cat notes.txt | wc -l" }))
                .and_call("Bash", json!({ "command": format!("grep -h number {sessions}/past-2.jsonl") }))
                .and_call("Grep", json!({ "pattern": "of the seeds", "path": sessions, "output": "content" }))
                .and_call("Bash", json!({ "command": "touch evil" }))
                .and_call("Bash", json!({ "command": "cat /etc/hostname" }))
                .and_call("Tasks", json!({ "tasks": [] }))
                .and_call("Agent", json!({ "prompt": "x", "description": "x" })),
            _ => Turn::text("Nothing had to be changed."),
        }
    });
    let mut bench = Bench::with(Setting::new(model.clone()).switch("layers.tool_results", "false"));
    deploys(&bench);
    bench.story.home.write("notes.txt", "a\nb\n").unwrap();
    let said: Vec<String> = (0..80).map(|n| format!("number {n} of the seeds")).collect();
    bench.session("past-2", bench.now(), &said.iter().map(String::as_str).collect::<Vec<_>>());
    dream(&mut bench).await.unwrap();
    let sent = model.prompts();
    let heard = sent.last().unwrap().history.last().unwrap().clone();
    let answers: Vec<_> = heard.tool_results().map(|result| (result.is_error, result.text())).collect();
    assert_eq!(answers[0], (false, "2\n".to_owned()), "answered without a process");
    for (is_error, found) in &answers[1..3] {
        let lines: Vec<&str> = found.lines().filter(|line| line.contains("of the seeds")).collect();
        assert_eq!((*is_error, lines.len()), (false, 50), "of past sessions the last lines alone: {found}");
        assert!(lines[0].contains("number 30 ") && lines[49].contains("number 79 "), "{found}");
    }
    for (at, why) in [(3, "only ls, find"), (4, "scope"), (5, "Nothing else"), (6, "Nothing else")] {
        assert!(answers[at].0 && answers[at].1.contains(why), "{at}: {:?}", answers[at]);
    }
    assert_eq!((answers.len(), job(&bench).denials), (7, 4), "every refusal is counted");
    assert!(sent.iter().all(|prompt| prompt.tools == sent[0].tools), "all of the parent's tools stay listed");
}

// spec: Z7
#[tokio::test]
async fn a_model_that_never_stops_is_stopped_and_what_it_left_waits() {
    let mut setting = Setting::new(dreamer(|turn, copy| match turn {
        0 => read(copy, "roof.md"),
        1 => write(copy, "roof.md", "---\nremove: it was mended\n---\n"),
        _ => read(copy, "birds.md"),
    }));
    setting.limits.dream_turns = 6;
    let mut bench = Bench::with(setting);
    deploys(&bench);
    let before = bench.files();
    let landed = dream(&mut bench).await.unwrap();
    assert!(landed.proposal.unwrap().reasons.iter().any(|reason| reason.contains("did not come to an end")));
    assert_eq!(bench.files(), before);
    assert!(bench.dreams().last().unwrap().is_some(), "it is not tried again at once");
}

// spec: X7
// spec: Z8
#[tokio::test]
async fn a_model_that_returns_nothing_has_judged_nothing_and_is_not_asked_for_ever() {
    let model = dreamer(|_, _| Turn::text(""));
    let mut bench = Bench::answered_by(model.clone());
    deploys(&bench);
    bench.save("twice.md", "the roof", "The roof was mended by the neighbour.");
    let asked = |model: &Scripted| model.prompts().iter().filter(|prompt| directive(prompt).is_some()).count();
    let landed = dream(&mut bench).await.unwrap();
    assert_eq!((landed.proposal, landed.receipt.is_some()), (None, true), "what code does is done all the same");
    assert_eq!(job(&bench).state, State::Failed);
    for n in 2..=5 {
        bench.clock.advance(jiff::SignedDuration::from_secs(60));
        dream(&mut bench).await.unwrap();
        assert_eq!(asked(&model), n.min(3), "the contradiction is still open, and three empty answers are enough");
    }
    let [rest] = <[_; 1]>::try_from(bench.story.session.resting_work()).unwrap();
    assert_eq!(rest.kind, "dream");
}

// spec: Z7
#[tokio::test]
async fn a_memory_that_would_not_be_found_any_more_waits() {
    let act: Act = |turn, copy| match turn {
        0 => read(copy, "fence.md"),
        1 => write(copy, "fence.md", &text("fence.md", "the fence", "Ada paints the fence green.")),
        _ => Turn::text("Shorter."),
    };
    let mut bench = Bench::answered_by(dreamer(act));
    deploys(&bench);
    bench.save("fence.md", "an old lighthouse at dusk", "Ada paints the fence green.");
    let before = bench.files();
    let landed = dream(&mut bench).await.unwrap();
    assert_eq!((landed.receipt, bench.files()), (None, before));
    let reasons = landed.proposal.unwrap().reasons;
    assert_eq!(reasons, ["fence.md would not be found any more by “an old lighthouse at dusk”"]);
}

// spec: Z7
// spec: D9
#[tokio::test]
async fn an_index_that_would_grow_beyond_what_is_loaded_waits() {
    for (lines, waits) in [(5, false), (4, true)] {
        let said = "we moved deploys to Tuesday evening, 18:30 sharp";
        let mut setting = Setting::new(dreamer(|turn, copy| {
            let said = "we moved deploys to Tuesday evening, 18:30 sharp";
            let memory = text("deploys_tuesday.md", "deploys on Tuesday evening", &format!("{said}."));
            match turn {
                0 => write(
                    copy,
                    "deploys_tuesday.md",
                    &memory.replacen("type:", &format!("cites: [\"{said}\"]\ntype:"), 1),
                ),
                _ => Turn::text("One more."),
            }
        }));
        setting.limits.index_lines = lines;
        let mut bench = Bench::with(setting);
        deploys(&bench);
        let landed = dream(&mut bench).await.unwrap();
        let reasons = landed.proposal.map(|proposal| proposal.reasons).unwrap_or_default();
        assert_eq!(bench.files().values().any(|text| text.contains(said)), !waits, "{reasons:?}");
        let because = |reason: &String| reason.starts_with("the index would have 5 lines");
        assert!(reasons.len() == usize::from(waits) && reasons.iter().all(because), "{reasons:?}");
    }
}

// spec: Z5
#[tokio::test]
async fn of_a_long_dream_the_last_thirty_turns_are_shown() {
    let mut setting = Setting::new(dreamer(|turn, copy| {
        let roof = json!({ "file_path": format!("{copy}/roof.md") });
        Turn::text(format!("turn {turn}")).and_call("Read", roof)
    }));
    setting.limits.dream_turns = 40;
    let mut bench = Bench::with(setting);
    deploys(&bench);
    dream(&mut bench).await.unwrap();
    let seen = job(&bench);
    assert_eq!((seen.calls, seen.turns.len()), (40, 30));
    assert_eq!((seen.turns[0].text.as_str(), seen.turns[0].tools), ("turn 10", 1));
}

// spec: Z3
#[tokio::test]
async fn a_model_that_fails_leaves_everything_as_it_was() {
    let model = Arc::new(Scripted::new().afterwards(|_| Err(ModelError::Unreachable("gone".into()))));
    let mut bench = Bench::answered_by(model);
    deploys(&bench);
    bench.save("twice.md", "the roof", "The roof was mended by the neighbour.");
    let before = bench.files();
    let error = dream(&mut bench).await.unwrap_err();
    assert!(matches!(&error, DreamError::Failed(why) if why.contains("gone")), "{error}");
    assert_eq!((bench.files(), bench.dreams().last().unwrap()), (before, None));
    assert!(bench.dreams().proposals().is_empty());
}

// spec: Z9
#[tokio::test]
async fn a_removal_waits_for_the_person_unless_they_trust_dreams_with_it() {
    let act: Act = |turn, copy| match turn {
        0 => read(copy, "roof.md"),
        1 => write(copy, "roof.md", "---\nremove: the house was sold\n---\n"),
        _ => Turn::text("One memory should go."),
    };
    for (mode, goes) in [(Mode::Additive, false), (Mode::Auto, true)] {
        let mut bench = Bench::answered_by(dreamer(act));
        deploys(&bench);
        let dreams = bench.dreams().in_mode(mode);
        let landed = bench.story.session.dream(dreams.clone(), CancellationToken::new()).await.unwrap();
        assert_eq!((landed.receipt.is_some(), bench.files().contains_key("roof.md")), (goes, !goes), "{landed}");
        if let Some(proposal) = landed.proposal {
            assert_eq!(proposal.steps[0].because, "the house was sold");
            dreams.apply(&proposal.id).unwrap();
            assert!(!bench.files().contains_key("roof.md"));
        }
        bench.memory.with(|memory| memory.restore("roof.md")).unwrap();
    }
}

// spec: Z9
#[tokio::test]
async fn a_removal_that_the_person_rejected_happens_in_no_mode_until_the_memory_says_something_else() {
    let model = dreamer(|turn, copy| match turn {
        0 => read(copy, "roof.md"),
        1 => write(copy, "roof.md", "---\nremove: the house was sold\n---\n"),
        _ => Turn::text("One memory should go."),
    });
    let mut bench = Bench::answered_by(model);
    deploys(&bench);
    let dreams = bench.dreams();
    let first = dream(&mut bench).await.unwrap().proposal.unwrap();
    dreams.reject(&first.id).unwrap();
    for mode in [Mode::Propose, Mode::Additive, Mode::Auto] {
        bench.hours_pass(25);
        bench.session(&format!("past-{mode:?}"), bench.now(), &["good morning to all the birds"]);
        let dreams = dreams.clone().in_mode(mode);
        let landed = bench.story.session.dream(dreams, CancellationToken::new()).await.unwrap();
        assert!(!landed.is_news() && bench.files().contains_key("roof.md"), "{mode:?}: {landed}");
    }
    let (entry, said) = bench.memory.with(|memory| memory.text("roof.md")).unwrap().unwrap();
    bench.commit(scrubjay::memory::Edit::update(&entry, format!("{said}\nIt is red.\n")));
    bench.hours_pass(25);
    bench.session("past-last", bench.now(), &["good evening to all the birds"]);
    let again = dream(&mut bench).await.unwrap().proposal.unwrap();
    assert_ne!(again.id, first.id, "it is asked anew");
}

// spec: Z8
#[tokio::test]
async fn what_was_recalled_or_written_by_a_dream_is_no_evidence() {
    use scrubjay::message::{Block, Role};
    use scrubjay::transcript::Transcript;
    let act: Act = |turn, copy| match turn {
        0 => write(
            copy,
            "echo.md",
            &header("echo.md", "cites: [\"the moon is made of green cheese\"]", "The moon is made of green cheese."),
        ),
        _ => Turn::text("As recalled."),
    };
    let mut bench = Bench::answered_by(dreamer(act));
    deploys(&bench);
    let path = bench.session("past-2", bench.now(), &["go on"]);
    let limits = Arc::new(scrubjay::limits::Limits::default());
    let (mut past, _) = Transcript::resume(&path, "past-2".into(), bench.now(), limits).unwrap();
    for origin in [Origin::Memory, Origin::Summary, Origin::Instructions, Origin::Reminder, Origin::Tool] {
        past.say(Role::User, origin, vec![Block::text("the moon is made of green cheese")], bench.now()).unwrap();
    }
    drop(past);
    let landed = dream(&mut bench).await.unwrap();
    assert!(landed.proposal.unwrap().reasons[0].contains("which nobody said"));
}

// spec: Z1
// spec: Z5
#[tokio::test]
async fn after_an_answer_a_dream_runs_beside_the_conversation_and_says_one_line() {
    let gate = Gate::new();
    let held = gate.clone();
    let model = Arc::new(Scripted::new().afterwards(move |prompt| match directive(prompt) {
        None => Ok(Turn::text("Yes.")),
        Some(_) => Ok(Turn::text("Looking around.").behind(&held)),
    }));
    let mut bench = Bench::answered_by(model.clone());
    deploys(&bench);
    bench.save("twice.md", "the roof", "The roof was mended by the neighbour.");
    for n in 0..5 {
        bench.session(&format!("past-{n}"), bench.now(), &["good morning to all the birds"]);
    }
    bench.story.ask("Is all well?").await.unwrap();
    gate.reached().await;
    assert_eq!((job(&bench).phase.as_str(), job(&bench).state), ("starting", State::Running));
    bench.story.ask("And now?").await.unwrap();
    gate.open();
    assert!(bench.story.session.wait_for_background(Duration::from_secs(60)).await.unwrap());
    let told: Vec<String> = bench
        .story
        .events()
        .into_iter()
        .filter_map(|event| if let Event::Notice(text) = event { Some(text) } else { None })
        .filter(|text| text.contains("Dreamed"))
        .collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("twice.md") || told[0].contains("roof.md"), "{told:?}");
    assert!(told[0].contains("take it back with `scrubjay memory undo"), "{told:?}");
    let seen = job(&bench);
    assert_eq!((seen.state, seen.turns[0].text.as_str()), (State::Completed, "Looking around."));
    assert!(seen.files.iter().all(|file| file.extension().is_some_and(|end| end == "md")) && !seen.files.is_empty());
    let asked = model.prompts().iter().filter(|prompt| directive(prompt).is_some()).count();
    bench.story.ask("Still?").await.unwrap();
    bench.story.session.wait_for_background(Duration::from_secs(60)).await.unwrap();
    assert_eq!(model.prompts().iter().filter(|prompt| directive(prompt).is_some()).count(), asked, "once a day");
    bench.story.check();
}

// spec: Z1
#[tokio::test]
async fn a_print_run_starts_no_dream_and_leaves_no_job() {
    for (attendance, dreams) in [(Attendance::Nobody, 0), (Attendance::Person, 1)] {
        let model = dreamer(|_, _| Turn::text("Looking around."));
        let mut bench = Bench::with(Setting::new(model.clone()).switch("layers.extraction", "false"));
        deploys(&bench);
        for n in 0..5 {
            bench.session(&format!("past-{n}"), bench.now(), &["good morning to all the birds"]);
        }
        let learns = Learns { transcripts: bench.story.home.data(), attendance, model: None };
        bench.story.session = bench.story.session.learning(learns);
        let before = bench.files();
        bench.story.ask("Is all well?").await.unwrap();
        assert!(bench.story.session.wait_for_background(Duration::from_secs(60)).await.unwrap());
        let jobs = bench.story.session.jobs().list(&Limits::default());
        assert_eq!(jobs.iter().filter(|card| card.kind == "dream").count(), dreams, "{attendance:?}");
        assert_eq!((bench.dreams().last().unwrap().is_some(), bench.files() == before), (dreams == 1, true));
        // By hand it dreams all the same.
        dream(&mut bench).await.unwrap();
        assert!(bench.dreams().last().unwrap().is_some());
        bench.story.check();
    }
}

// spec: Z3
// spec: Z5
#[tokio::test]
async fn a_dream_that_is_killed_leaves_everything_as_it_was() {
    let gate = Gate::new();
    let held = gate.clone();
    let model = Arc::new(Scripted::new().afterwards(move |prompt| match directive(prompt) {
        None => Ok(Turn::text("Yes.")),
        Some(_) => Ok(Turn::text("Looking around.").behind(&held)),
    }));
    let mut bench = Bench::answered_by(model);
    deploys(&bench);
    bench.save("twice.md", "the roof", "The roof was mended by the neighbour.");
    let before = bench.files();
    let (dreams, stop) = (bench.dreams(), CancellationToken::new());
    let (landed, ()) = tokio::join!(bench.story.session.dream(dreams, stop.clone()), async {
        gate.reached().await;
        stop.cancel();
    });
    assert!(matches!(landed, Err(DreamError::Killed)));
    assert_eq!(job(&bench).state, State::Killed);
    assert_eq!((bench.files(), bench.dreams().last().unwrap()), (before, None));
    // The next one begins at once.
    let dreams = bench.dreams();
    let plan = dreams.plan(dreams.news("story").unwrap(), CancellationToken::new()).unwrap();
    assert!(!plan.steps().is_empty());
}
