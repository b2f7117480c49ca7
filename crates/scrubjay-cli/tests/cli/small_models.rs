//! Small work beside the conversation goes to the cheapest model of the same provider. That holds at a provider's own address only, so
//! here the simulator stands there: learning, choosing among memories and saying what an agent does, with their models on the wire.

use crate::stage::{MODEL, Stage, block};
use crate::terminal::Terminal;
use crate::workweek::{is_learner, learned};
use scrubjay_testkit::ProviderAddress;
use scrubjay_testkit::simulator::{Pacer, RecordedRequest, Reply, Script, Simulator, error, text, tool_use};
use serde_json::json;
use std::fs;
use std::process::{Child, Stdio};

const CTRL_D: &str = "\u{4}";
const HAIKU: &str = "claude-haiku-4-5";
const GPT: &str = "gpt-5.6";
const GPT_MINI: &str = "gpt-5.6-mini";
/// Prices of another provider, so that it has a cheapest model too.
const PRICES: &str = "[models.\"gpt-5.6\"]\nwindow = 400000\nabilities = [\"tools\"]\nprices = { input = 2.0, output = 8.0 }\n\
                      [models.\"gpt-5.6-mini\"]\nwindow = 400000\nabilities = [\"tools\"]\nprices = { input = 0.2, output = 0.8 }\n";
const LEARNS: &[&str] = &["--set", "layers.extraction=true", "--set", "layers.extraction_headless=true"];
const CHOOSES: &[&str] = &["--set", "layers.model_recall=true"];

fn chooses(request: &RecordedRequest) -> bool {
    request.system_text().contains("selected_memories")
}

fn summarises(request: &RecordedRequest) -> bool {
    request.tool_names().is_empty() && request.last_user_text().contains("three to five words")
}

fn chosen() -> Reply {
    text(r#"{"selected_memories": ["reference_jays.md"]}"#)
}

/// The models of the requests that are meant, in their order.
fn models(simulator: &Simulator, meant: impl Fn(&RecordedRequest) -> bool) -> Vec<String> {
    let posted = simulator.requests().into_iter().filter(|request| request.method == "POST");
    posted.filter(|request| meant(request)).map(|request| request.model().to_owned()).collect()
}

fn started(stage: &Stage, arguments: &[&str]) -> Child {
    stage.command(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn ended_well(mut child: Child) {
    assert!(block(|| child.wait().unwrap()).success());
}

/// A stage at the provider's own address, with something to choose among.
async fn stage_with(simulator: &Simulator) -> (Stage, ProviderAddress) {
    let address = ProviderAddress::of(&simulator.url()).await.unwrap();
    let stage = Stage::at_provider(&address);
    let config = stage.home().join("config");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("models.toml"), PRICES).unwrap();
    for (name, said) in
        [("Jays", "Jays hide acorns behind the old mill."), ("Mill", "The old mill is closed on Mondays.")]
    {
        let about = ["--name", name, "--description", said, said];
        stage.run(&[&["memory", "add", "--type", "reference"], &about[..]].concat()).ended_with(0);
    }
    (stage, address)
}

// spec: L4
#[tokio::test(flavor = "multi_thread")]
async fn the_cheapest_model_of_the_provider_chooses_among_memories() {
    let script = Script::new().when(chooses, chosen()).reply(text("Behind the old mill.")).reply(text("As I said."));
    let simulator = Simulator::start(script).await.unwrap();
    let (stage, _address) = stage_with(&simulator).await;
    stage.run(&[CHOOSES, &["-p", "Where do the jays hide acorns, at the old mill?"]].concat()).ended_with(0);
    assert_eq!(models(&simulator, chooses), [HAIKU]);
    assert_eq!(models(&simulator, |request| !chooses(request)), [MODEL]);
    let named =
        [CHOOSES, &["--set", "models.select=claude-sonnet-4-6", "-p", "Where do the jays hide acorns?"]].concat();
    stage.run(&named).ended_with(0);
    assert_eq!(models(&simulator, chooses), [HAIKU, "claude-sonnet-4-6"], "whoever names one means it");

    // A key that may not use it: the conversation's own chooses.
    let pacer = Pacer::new();
    let refused = Script::new()
        .when(|request| request.model() == HAIKU, error(404, "not_found_error", "model: claude-haiku-4-5"))
        .when(chooses, chosen())
        .reply(text("Behind the old mill.").paced(&pacer));
    let simulator = Simulator::start(refused).await.unwrap();
    let (stage, _address) = stage_with(&simulator).await;
    let asking = [CHOOSES, &["-p", "Where do the jays hide acorns, at the old mill?"]].concat();
    let child = started(&stage, &asking);
    simulator.wait_until(|requests| requests.iter().filter(|request| chooses(request)).count() == 2).await;
    pacer.open();
    ended_well(child);
    assert_eq!(models(&simulator, chooses), [HAIKU, MODEL]);

    // A base URL of one's own: nobody knows what it serves.
    let own = Script::new().when(chooses, chosen()).reply(text("Behind the old mill."));
    let simulator = Simulator::start(own).await.unwrap();
    let mut stage = stage;
    stage.talk_to(&simulator);
    stage.run(&[CHOOSES, &["-p", "Where do the jays hide acorns, at the old mill?"]].concat()).ended_with(0);
    assert_eq!(models(&simulator, chooses), [MODEL]);
}

// spec: A6
#[tokio::test(flavor = "multi_thread")]
async fn the_cheapest_model_of_the_provider_says_what_an_agent_does() {
    let is_agent = |request: &RecordedRequest| request.system_text().contains("Another agent started you");
    let pacer = Pacer::new();
    let script = Script::new()
        .when(summarises, text("Looking for the seeds"))
        .when(
            move |request| is_agent(request) && request.tool_results().is_empty(),
            tool_use("Glob", json!({ "pattern": "*.txt" })),
        )
        .when(is_agent, text("There are none.").paced(&pacer))
        .reply(tool_use(
            "Agent",
            json!({ "prompt": "Find the seeds.", "description": "find seeds", "background": true }),
        ))
        .reply(text("I wait."))
        .reply(text("There are none."));
    let simulator = Simulator::start(script).await.unwrap();
    let (stage, _address) = stage_with(&simulator).await;
    let child = started(&stage, &["--set", "limits.agent_summary_ms=100", "-p", "Where are the seeds?"]);
    simulator.wait_until(|requests| requests.iter().any(summarises)).await;
    pacer.open();
    ended_well(child);
    let told = models(&simulator, summarises);
    assert!(told.iter().all(|model| model == HAIKU), "{told:?}");
    let others = models(&simulator, |request| !summarises(request));
    assert!(others.iter().all(|model| model == MODEL), "{others:?}");
}

// spec: E1
// spec: L4
#[tokio::test(flavor = "multi_thread")]
async fn another_model_in_a_chat_brings_the_cheapest_of_its_provider() {
    let script = Script::new().when(is_learner, learned(&json!([]))).when(chooses, chosen()).otherwise(text("Noted."));
    let simulator = Simulator::start(script).await.unwrap();
    let (stage, _address) = stage_with(&simulator).await;
    block(|| {
        let arguments = [LEARNS, CHOOSES, &["chat"]].concat();
        let mut terminal = Terminal::start_with(&stage, &arguments, &[("OPENAI_API_KEY", "sk-canary-0123456789")]);
        terminal.wait_for_prompt();
        let mut say = |line: &str, shown: &str| {
            terminal.type_line(line);
            terminal.wait_for(&format!("› {line}"));
            terminal.wait_for(shown);
            terminal.wait_for_prompt();
        };
        say("Where do the jays hide acorns, at the old mill?", "Noted.");
        tokio::runtime::Handle::current().block_on(simulator.wait_until(|seen| seen.iter().any(is_learner)));
        say("/model gpt-5.6", "from now on: gpt-5.6");
        say("When is the old mill of the jays closed?", "Noted.");
        let learners = |seen: &[RecordedRequest]| seen.iter().filter(|request| is_learner(request)).count();
        tokio::runtime::Handle::current().block_on(simulator.wait_until(|seen| learners(seen) == 2));
        terminal.press(CTRL_D);
        assert!(terminal.wait_for_end().success());
    });
    assert_eq!(models(&simulator, is_learner), [HAIKU, GPT_MINI]);
    assert_eq!(models(&simulator, chooses), [HAIKU, GPT_MINI]);
    assert_eq!(models(&simulator, |request| !is_learner(request) && !chooses(request)), [MODEL, GPT]);
}
