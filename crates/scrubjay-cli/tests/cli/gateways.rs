//! Stories of where requests go: a gateway of the user's own, one that sends elsewhere, and a repository that would like to.

use crate::stage::{CANARY, MODEL, Ran, Stage, finished};
use scrubjay_testkit::simulator::{Script, Simulator, text};
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::Command;

async fn service() -> Simulator {
    Simulator::start(Script::new().otherwise(text("Here."))).await.unwrap()
}

/// The program with these variables, which say more than the stage does.
fn with(stage: &Stage, arguments: &[&str], variables: &[(&str, &str)]) -> Command {
    let mut command = stage.command(arguments);
    command.envs(variables.iter().copied());
    command
}

fn keys(simulator: &Simulator) -> Vec<Option<String>> {
    let key = |header: Option<&str>| header.map(str::to_owned);
    simulator
        .requests()
        .iter()
        .map(|request| key(request.header("x-api-key").or(request.header("authorization"))))
        .collect()
}

fn service_in_force(ran: &Ran) -> Value {
    ran.json()["service"].clone()
}

// spec: W5
#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_in_the_vendors_variable_gets_the_requests_and_says_so() {
    let gateway = service().await;
    let (other, stage) = (service().await, Stage::offline());
    let url = gateway.url();
    let variables = [
        ("ANTHROPIC_BASE_URL", url.as_str()),
        ("OPENAI_BASE_URL", &other.url()),
        ("ANTHROPIC_AUTH_TOKEN", CANARY),
        ("ANTHROPIC_CUSTOM_HEADERS", "x-team: blue\nanthropic-beta: context-1m-2025-08-07"),
        ("SCRUBJAY_MODEL", MODEL),
    ];
    let said = finished(with(&stage, &["-p", "hello"], &variables)).ended_with(0);
    assert!(said.out.contains("Here."), "{said:?}");
    assert_eq!((keys(&gateway), other.requests().len()), (vec![Some(format!("Bearer {CANARY}"))], 0));
    let sent = gateway.last_request().unwrap();
    assert_eq!(sent.header("x-team"), Some("blue"));
    assert!(sent.header("anthropic-beta").unwrap().contains("context-1m-2025-08-07"));

    let flags = finished(with(&stage, &["flags", "--json"], &variables)).ended_with(0);
    let expected = json!({
        "provider": "anthropic", "base_url": url, "base_url_from": "ANTHROPIC_BASE_URL",
        "key": "ANTHROPIC_AUTH_TOKEN", "key_from": "environment",
    });
    assert_eq!(service_in_force(&flags), expected);
    let doctor = finished(with(&stage, &["doctor"], &variables)).ended_with(0);
    for words in [&format!("{url} (ANTHROPIC_BASE_URL)") as &str, "ANTHROPIC_AUTH_TOKEN (environment)"] {
        assert!(doctor.out.split_whitespace().collect::<Vec<_>>().join(" ").contains(words), "{words}: {}", doctor.out);
    }
    assert!(![&said, &flags, &doctor].iter().any(|ran| format!("{ran:?}").contains(CANARY)));
}

// spec: W5
#[tokio::test(flavor = "multi_thread")]
async fn the_strongest_base_url_counts() {
    let services = [service().await, service().await, service().await, service().await];
    let [flag, variable, settings, vendor] = services.each_ref().map(Simulator::url);
    let stage = Stage::offline();
    let (key, model) = (("ANTHROPIC_API_KEY", CANARY), ("SCRUBJAY_MODEL", MODEL));
    let vendor_variable = ("ANTHROPIC_BASE_URL", vendor.as_str());
    let own_variable = ("SCRUBJAY_BASE_URL", variable.as_str());
    let counts = || services.each_ref().map(|service| service.requests().len());

    finished(with(&stage, &["-p", "one"], &[key, model, vendor_variable])).ended_with(0);
    assert_eq!(counts(), [0, 0, 0, 1]);
    std::fs::create_dir_all(stage.home().join("config")).unwrap();
    std::fs::write(stage.home().join("config/config.toml"), format!("base_url = \"{settings}\"\n")).unwrap();
    finished(with(&stage, &["-p", "two"], &[key, model, vendor_variable])).ended_with(0);
    assert_eq!(counts(), [0, 0, 1, 1]);
    finished(with(&stage, &["-p", "three"], &[key, model, vendor_variable, own_variable])).ended_with(0);
    assert_eq!(counts(), [0, 1, 1, 1]);
    let all = &[key, model, vendor_variable, own_variable];
    finished(with(&stage, &["-p", "four", "--base-url", &flag], all)).ended_with(0);
    assert_eq!(counts(), [1, 1, 1, 1]);
    for (arguments, from) in
        [(vec!["flags", "--json", "--base-url", &flag], "command line"), (vec!["flags", "--json"], "environment")]
    {
        let said = finished(with(&stage, &arguments, all)).ended_with(0);
        assert_eq!(service_in_force(&said)["base_url_from"], from);
    }
}

/// Answers every request with a redirect, as often as it is asked.
fn redirecting(to: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let to = to.to_owned();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            let mut read = [0; 1 << 16];
            let _ = connection.read(&mut read).unwrap();
            let answer = format!(
                "HTTP/1.1 307 Temporary Redirect\r\nlocation: {to}/v1/messages\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            );
            connection.write_all(answer.as_bytes()).unwrap();
        }
    });
    url
}

// spec: W5
// safety: F-70
#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_redirects_takes_the_key_nowhere() {
    let (other, stage) = (service().await, Stage::offline());
    let gateway = redirecting(&other.url());
    let variables =
        [("ANTHROPIC_BASE_URL", gateway.as_str()), ("ANTHROPIC_API_KEY", CANARY), ("SCRUBJAY_MODEL", MODEL)];
    let said = finished(with(&stage, &["-p", "hello"], &variables)).ended_with(1);
    let said = said.complained_about(&["elsewhere", "carries a key", "base URL"]);
    assert!(!format!("{said:?}").contains(CANARY), "{said:?}");
    assert_eq!(other.requests().len(), 0, "nobody else was asked");
}

// spec: W5
#[tokio::test(flavor = "multi_thread")]
async fn a_repository_names_neither_a_host_nor_another_vendor() {
    let (chosen, evil) = (service().await, service().await);
    let stage = Stage::with(&chosen);
    let (openai, address) = (("OPENAI_API_KEY", "sk-openai-canary-000"), evil.url());
    let named = format!("base_url = \"{address}\"\nprovider = \"openai\"\nmodel = \"gpt-5.6\"\n");
    for file in [".scrubjay.toml", ".scrubjay.local.toml"] {
        stage.write(file, &named);
        let mut command = with(&stage, &["-p", "hello"], &[openai]);
        command.env_remove("SCRUBJAY_MODEL");
        let said = finished(command).ended_with(0).complained_about(&[
            "may not set `base_url`",
            "may not set `provider`",
            "that model is openai's and your own settings lead to anthropic",
        ]);
        assert!(said.out.contains("Here."), "{said:?}");
        std::fs::remove_file(stage.project().join(file)).unwrap();
    }
    assert_eq!((keys(&chosen), evil.requests().len()), (vec![Some(CANARY.to_owned()); 2], 0));
    assert!(chosen.requests().iter().all(|request| request.path == "/v1/messages"), "the user's own vendor");

    // What a repository may: another model of the same vendor, or none.
    stage.write(".scrubjay.toml", "model = \"claude-haiku-4-5\"\n");
    let mut command = with(&stage, &["-p", "hello"], &[openai]);
    command.env_remove("SCRUBJAY_MODEL");
    finished(command).ended_with(0);
    assert_eq!(chosen.last_request().unwrap().model(), "claude-haiku-4-5");
    // And the user may choose what a repository may not.
    let mut command = with(&stage, &["flags", "--json", "--model", "gpt-5.6"], &[openai]);
    command.env_remove("SCRUBJAY_MODEL");
    assert_eq!(service_in_force(&finished(command).ended_with(0))["key"], "OPENAI_API_KEY");
}

// spec: W5
#[tokio::test(flavor = "multi_thread")]
async fn a_vendors_key_does_not_follow_the_other_vendors_variable() {
    let (wrong, stage) = (service().await, Stage::offline());
    let url = wrong.url();
    // Nothing listens at the vendor's own address here: what is asked is refused before it is sent, or not sent there.
    let claude = [("OPENAI_BASE_URL", url.as_str()), ("ANTHROPIC_API_KEY", CANARY), ("SCRUBJAY_MODEL", MODEL)];
    let said = finished(with(&stage, &["flags", "--json"], &claude)).ended_with(0);
    assert_eq!(service_in_force(&said)["base_url"], "https://api.anthropic.com");
    let gpt = [("ANTHROPIC_BASE_URL", url.as_str()), ("OPENAI_API_KEY", CANARY), ("SCRUBJAY_MODEL", "gpt-5.6")];
    let said = finished(with(&stage, &["flags", "--json"], &gpt)).ended_with(0);
    assert_eq!(service_in_force(&said)["base_url"], "https://api.openai.com");
    // A key that lies under the other vendor's name is not shown to that vendor.
    let said = finished(with(&stage, &["-p", "hello"], &gpt)).ended_with(4);
    let said = said.complained_about(&["api.openai.com", "another vendor's", "nothing was sent"]);
    assert!(!format!("{said:?}").contains(CANARY), "{said:?}");
    let across = [
        ("ANTHROPIC_BASE_URL", "https://api.openai.com/v1"),
        ("ANTHROPIC_API_KEY", "k-123456789"),
        ("SCRUBJAY_MODEL", MODEL),
    ];
    finished(with(&stage, &["-p", "hello"], &across)).ended_with(4).complained_about(&["ANTHROPIC_BASE_URL"]);
    assert_eq!(wrong.requests().len(), 0);
}

// spec: T3
#[tokio::test(flavor = "multi_thread")]
async fn every_step_to_a_window_can_be_taken() {
    let (simulator, stage) = (service().await, Stage::offline());
    let url = simulator.url();
    let window = |model: &str, variables: &[(&str, &str)]| {
        let all: Vec<(&str, &str)> = [("SCRUBJAY_BASE_URL", url.as_str()), ("ANTHROPIC_API_KEY", CANARY)]
            .into_iter()
            .chain(variables.iter().copied())
            .collect();
        finished(with(&stage, &["context", "--json", "--model", model], &all)).ended_with(0).json()["budget"]["window"]
            .clone()
    };
    let variables = [("SCRUBJAY_BASE_URL", url.as_str()), ("ANTHROPIC_API_KEY", CANARY), ("SCRUBJAY_MODEL", MODEL)];
    finished(with(&stage, &["-p", "hello"], &variables)).ended_with(0);
    let (beta, own) = (("ANTHROPIC_BETAS", "context-1m-2025-08-07"), ("SCRUBJAY_MODEL_WINDOW", "50000"));
    assert_eq!(window("claude-haiku-4-5[1m]", &[own]), 1_000_000, "the suffix");
    assert_eq!(window("claude-haiku-4-5", &[beta, own]), 200_000, "the table");
    assert_eq!(window("claude-unheard-of", &[beta, own]), 1_000_000, "the beta");
    assert_eq!(window("claude-unheard-of", &[own]), 50_000, "the environment");
    assert_eq!(window("claude-unheard-of", &[]), 200_000, "what is assumed");
}
