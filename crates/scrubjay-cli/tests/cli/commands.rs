//! Stories of the commands that only look.

use crate::stage::{Stage, finished};
use scrubjay_testkit::simulator::{Script, Simulator, error, text, tool_use};
use serde_json::{Value, json};
use std::process::Command;

// spec: U1
#[tokio::test(flavor = "multi_thread")]
async fn alone_it_never_fails_and_never_asks_for_a_key() {
    let stage = Stage::offline();
    stage.run(&["status"]).ended_with(0);
    let first = stage.run(&[]).ended_with(0);
    assert!(
        first.out.contains("welcome") && first.out.contains("offline") && first.out.contains("scrubjay chat"),
        "{first:#?}"
    );
    let mut blocked = stage.command(&[]);
    stage.write("not-a-folder", "");
    blocked.env("SCRUBJAY_HOME", stage.project().join("not-a-folder/home")).env("SCRUBJAY_MODEL", "claude-opus-5");
    let ran = finished(blocked).ended_with(0);
    assert!(ran.out.contains("cannot be used") && ran.out.contains("no key"), "{ran:#?}");
}

// spec: U8
#[tokio::test(flavor = "multi_thread")]
async fn every_listing_speaks_json_with_its_schema() {
    let simulator = Simulator::start(Script::new().otherwise(text("Yes."))).await.unwrap();
    let stage = Stage::with(&simulator);
    stage.run(&["-p", "is it?"]).ended_with(0);
    for (arguments, schema) in [
        (&["status"][..], "status"),
        (&["sessions"], "sessions"),
        (&["context"], "context"),
        (&["cost"], "cost"),
        (&["flags"], "flags"),
        (&["limits"], "limits"),
        (&["config", "path"], "config-path"),
        (&["config", "show"], "config"),
        (&["config", "show", "--origin"], "flags"),
        (&["jobs"], "jobs"),
        (&["doctor"], "doctor"),
    ] {
        let json = stage.run(&[arguments, &["--json"]].concat()).ended_with(0).json();
        assert_eq!(json["schema"], format!("scrubjay.{schema}/1"), "{arguments:?}");
        assert!(json["tool_version"].is_string());
        let words = stage.run(arguments).ended_with(0);
        assert!(!words.out.trim().is_empty() && !words.out.contains('\u{1b}'), "{arguments:?}: {words:#?}");
    }
    assert!(stage.run(&["limits", "--color", "always"]).out.contains('\u{1b}'));
    let failed = stage.run(&["cost", "--session", "zzz", "--json"]).ended_with(3);
    let error: serde_json::Value = serde_json::from_str(&failed.err).unwrap();
    assert!(error["fix"].as_str().unwrap().contains("scrubjay sessions") && error["exit_code"] == 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_listed_newest_first_and_belong_to_their_project() {
    let simulator = Simulator::start(Script::new().otherwise(text("Yes."))).await.unwrap();
    let stage = Stage::with(&simulator);
    stage.run(&["sessions"]).ended_with(3).complained_about(&["no session"]);
    stage.run(&["-p", "the first \u{1b}[31mquestion"]).ended_with(0);
    stage.run(&["-p", "the second question"]).ended_with(0);
    let listed = stage.run(&["sessions"]).ended_with(0).out;
    let lines: Vec<&str> = listed.lines().collect();
    assert!(lines[0].contains("the second question") && lines[0].contains("1 question "), "{listed}");
    assert!(lines[1].contains("the first ⟦U+001B⟧[31mquestion") && lines[1].contains("just now"), "{listed}");
    std::fs::create_dir(stage.project().join("elsewhere")).unwrap();
    stage.run(&["sessions", "-C", "elsewhere"]).ended_with(3);
    stage.run(&["sessions", "-C", "nowhere"]).ended_with(2).complained_about(&["nowhere", "-C DIR"]);
}

// spec: T5
#[tokio::test(flavor = "multi_thread")]
async fn an_exact_count_is_the_services_or_none_at_all() {
    let simulator = Simulator::start(Script::new().otherwise(text("Yes."))).await.unwrap();
    let stage = Stage::with(&simulator);
    stage.run(&["-p", "is it?"]).ended_with(0);
    let counted = stage.run(&["context", "--exact", "--json"]).ended_with(0).json();
    assert!(counted["certainty"].as_str().unwrap().starts_with("counted by the service"));
    assert!(counted["budget"]["used"].as_u64().unwrap() > 100);
    assert!(simulator.last_request().unwrap().path.contains("count_tokens"));

    simulator
        .set_script(Script::new().at_path("/v1/messages/count_tokens", error(404, "not_found_error", "no such path")));
    let refused = stage.run(&["context", "--exact"]);
    assert!(refused.code != Some(0) && refused.out.is_empty(), "an estimate never stands in: {refused:#?}");

    let offline = Stage::offline();
    offline.run(&["-p", "hello"]).ended_with(0);
    offline.run(&["context", "--exact"]).ended_with(1).complained_about(&["cannot count tokens exactly", "estimate"]);
    assert!(offline.run(&["context"]).ended_with(0).out.contains("estimated"));
}

// spec: W1
#[tokio::test(flavor = "multi_thread")]
async fn settings_come_from_their_sources_and_say_so() {
    let stage = Stage::offline();
    stage.write(
        ".scrubjay.toml",
        "model = \"from-project\"\nbase_url = \"http://evil.example\"\n[layers]\ndreaming = false\n",
    );
    std::fs::create_dir_all(stage.home().join("config")).unwrap();
    std::fs::write(stage.home().join("config/config.toml"), "model = \"from-user\"\nsmall_model = \"small\"\n")
        .unwrap();
    let ran = stage.run(&["flags", "--json", "--set", "thinking=off", "--set", "nonsense=1"]).ended_with(0);
    let row = |key: &str| {
        let json = ran.json();
        let rows = json["settings"].as_array().unwrap().clone();
        let row = rows.into_iter().find(|row| row["key"] == key).unwrap();
        (row["value"].clone(), row["origin"].clone())
    };
    assert_eq!(row("model"), (json!("from-project"), json!("project settings")));
    assert_eq!(row("small_model"), (json!("small"), json!("user settings")));
    assert_eq!(row("base_url"), (json!(""), json!("default")));
    assert_eq!(row("layers.dreaming"), (json!("off"), json!("project settings")));
    assert_eq!(row("thinking"), (json!("off"), json!("command line")));
    let warned = ran.complained_about(&["may not set `base_url`", "`nonsense`"]);
    assert_eq!(warned.err.matches("may not set").count(), 1, "each warning is said once");

    std::fs::write(stage.home().join("config/config.toml"), "model = \n").unwrap();
    stage.run(&["status"]).ended_with(0).complained_about(&["config.toml", "not TOML"]);
    stage.run(&["--config", "missing.toml", "status"]).ended_with(2).complained_about(&["missing.toml"]);
    stage.run(&["--set", "thinking", "status"]).ended_with(2).complained_about(&["KEY=VALUE"]);
}

// spec: V1
#[tokio::test(flavor = "multi_thread")]
async fn savings_are_netted_out_from_receipts() {
    let script = Script::new().reply(tool_use("Bash", json!({ "command": "seq 1 30000" }))).otherwise(text("Counted."));
    let simulator = Simulator::start(script).await.unwrap();
    let stage = Stage::with(&simulator);
    stage.run(&["savings"]).ended_with(3);
    stage.run(&["-p", "count", "--allow", "Bash"]).ended_with(0);
    stage.run(&["-c", "-p", "again"]).ended_with(0);
    let shown = stage.run(&["savings"]).ended_with(0);
    assert!(
        shown.out.contains("3 calls") && shown.out.contains("tool results") && shown.out.contains("net"),
        "{shown:#?}"
    );
    let json = stage.run(&["savings", "--json"]).ended_with(0).json();
    assert!(json["net"]["tokens"].as_i64().unwrap() > 30_000, "{json}");
    assert_eq!(json["net"]["certainty"], "estimated");
    let sum = |parts: Vec<&Value>, unit: &str| parts.iter().map(|part| part[unit].as_f64().unwrap()).sum::<f64>();
    let kinds = ["saved", "cache_damage", "read_again", "longer_lifetime", "own_calls"].map(|kind| &json[kind]);
    for unit in ["tokens", "usd"] {
        let net = json["net"][unit].as_f64().unwrap();
        assert!((sum(kinds.to_vec(), unit) - net).abs() < 1e-9, "the kinds add up to the net in {unit}: {json}");
        let layers = json["by_layer"].as_object().unwrap().values().collect();
        assert!((sum(layers, unit) - net).abs() < 1e-9, "so do the layers in {unit}: {json}");
    }
    let cost = stage.run(&["cost", "--json"]).ended_with(0).json();
    let rows = cost["by_model"].as_array().unwrap().iter().collect();
    assert!((sum(rows, "cost_usd") - cost["cost_usd"].as_f64().unwrap()).abs() < 1e-9, "{cost}");
}

// spec: V1, V4
#[tokio::test(flavor = "multi_thread")]
async fn hit_rate_and_compactions_are_at_hand_and_unknown_money_is_said_to_be() {
    let simulator = Simulator::start(Script::echo()).await.unwrap();
    let stage = Stage::with(&simulator);
    let words =
        "a question that is long enough to be worth caching, as questions about a project often are ".repeat(300);
    stage.run(&["-p", &words]).ended_with(0);
    stage.run(&["-c", "-p", "again"]).ended_with(0);
    for command in ["status", "cost", "savings"] {
        let json = stage.run(&[command, "--json"]).ended_with(0).json();
        assert!(json["health"]["cache_hit_rate"].as_f64().unwrap() > 0.3, "{command}: {json}");
        assert_eq!(json["health"]["compactions_per_hour"], 0.0, "{command}: {json}");
        let shown = stage.run(&[command]).ended_with(0);
        assert!(shown.out.contains("cache hit rate") && shown.out.contains("compactions an hour 0.0"), "{shown:#?}");
    }
    let offline = Stage::offline();
    offline.run(&["-p", "hello"]).ended_with(0);
    let shown = offline.run(&["status"]).ended_with(0);
    assert!(shown.out.contains("cache hit rate n/a"), "{shown:#?}");
}

// spec: S8
#[tokio::test(flavor = "multi_thread")]
async fn notes_are_shown_and_their_absence_is_explained() {
    let stage = Stage::offline();
    stage.run(&["-p", "hello"]).ended_with(0);
    stage.run(&["notes"]).ended_with(3).complained_about(&["no notes yet"]);
    stage.write("seeds.md", &"acorns under the oak\n".repeat(50));
    let soon = ["--set", "limits.notes_first_tokens=10"];
    stage.run(&[&["-c", "-p", "show seeds.md"][..], &soon].concat()).ended_with(0);
    let shown = stage.run(&["notes"]).ended_with(0);
    assert!(shown.out.contains("# Worklog") && shown.out.contains("seeds.md"), "{shown:#?}");
    assert!(stage.run(&["notes", "--json"]).ended_with(0).json()["notes"].as_str().unwrap().contains("# Worklog"));
}

// spec: W1
#[tokio::test(flavor = "multi_thread")]
async fn remote_flags_count_only_where_the_person_names_them_and_may_switch_off() {
    let stage = Stage::offline();
    let config = stage.home().join("config");
    std::fs::create_dir_all(&config).unwrap();
    let flags = "[layers]\ncompaction = false\nteam = true\n[limits]\nclear_keep = 9\n";
    let row = |stage: &Stage, key: &str| {
        let ran = stage.run(&["flags", "--json"]).ended_with(0);
        let rows = ran.json()["settings"].as_array().unwrap().clone();
        let row = rows.into_iter().find(|row| row["key"] == key).unwrap();
        (row["value"].clone(), row["origin"].clone())
    };
    stage.write("flags.toml", flags);
    stage.write(".scrubjay.toml", "remote_flags = \"flags.toml\"\n");
    assert_eq!(row(&stage, "layers.compaction").0, json!("on"), "a repository cannot name them");

    let named = stage.project().join("flags.toml");
    let user = format!("remote_flags = {:?}\n[layers]\ncompaction = true\n", named.to_str().unwrap());
    std::fs::write(config.join("config.toml"), user).unwrap();
    assert_eq!(row(&stage, "layers.compaction"), (json!("off"), json!("remote flags")), "a kill switch");
    assert_eq!(row(&stage, "limits.clear_keep").1, json!("remote flags"));
    std::fs::write(&named, "not = [toml").unwrap();
    stage.run(&["flags"]).ended_with(0).complained_about(&["remote flags", "none count"]);

    let simulator = Simulator::start(Script::new()).await.unwrap();
    for (url, words) in
        [(format!("{}/flags", simulator.url()), "HTTP 404"), ("http://flags.example/x".to_owned(), "must be https")]
    {
        std::fs::write(config.join("config.toml"), format!("remote_flags = {url:?}\n")).unwrap();
        stage.run(&["flags"]).ended_with(0).complained_about(&["not fetched", words]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn usage_is_checked_and_mistakes_are_named() {
    let stage = Stage::offline();
    stage.run(&["sesions"]).ended_with(2).complained_about(&["did you mean `scrubjay sessions`?"]);
    stage.run(&["--no-such-flag"]).ended_with(2);
    let help = stage.run(&["--help"]).ended_with(0).out;
    assert!(help.find("chat").unwrap() < help.find("doctor").unwrap(), "everyday verbs come first");
    assert!(stage.run(&["completions", "bash"]).ended_with(0).out.contains("scrubjay"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_has_seen_enough_is_no_failure() {
    let stage = Stage::offline();
    let program = crate::stage::program();
    let mut bash = Command::new("bash");
    bash.args([
        "-c",
        "set -o pipefail; \"$0\" flags --json | head -c 1; \"$0\" limits | true",
        program.to_str().unwrap(),
    ]);
    bash.env_clear().envs(stage.environment()).current_dir(stage.project());
    let ran = finished(bash).ended_with(0);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("{", ""));
}

// spec: X8
#[tokio::test(flavor = "multi_thread")]
async fn the_doctor_finds_damage_and_shows_no_secret() {
    let simulator = Simulator::start(Script::new().otherwise(text("Yes."))).await.unwrap();
    let stage = Stage::with(&simulator);
    stage.run(&["-p", "is it?"]).ended_with(0);
    let transcript = &stage.transcripts()[0];
    let whole = std::fs::read(transcript).unwrap();
    std::fs::write(transcript, &whole[..whole.len() - 7]).unwrap();
    let ran = stage.run(&["doctor"]).ended_with(0);
    assert!(ran.out.contains("key present") && ran.out.contains("damaged part"), "{ran:#?}");
    assert!(!ran.out.contains(crate::stage::CANARY));
    let keys = stage.home().join("config/keys");
    std::fs::create_dir_all(keys.parent().unwrap()).unwrap();
    std::fs::write(&keys, "OPENAI_API_KEY=canary-two\n").unwrap();
    std::fs::set_permissions(&keys, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    let exposed = stage.run(&["doctor"]).ended_with(1);
    assert!(exposed.out.contains("chmod 600") && !exposed.out.contains("canary-two"), "{exposed:#?}");
}

// spec: X3
#[tokio::test(flavor = "multi_thread")]
async fn nothing_a_repository_brings_steers_the_terminal() {
    let stage = Stage::offline();
    let folder = stage.project().join("a\u{1b}]0;owned\u{7}b");
    std::fs::create_dir(&folder).unwrap();
    let settings = "model = \"\\u001b[31mred\"\n\"\\u001b[2J\" = 1\npermission_mode = \"\\u001b[2J\"\n";
    std::fs::write(folder.join(".scrubjay.toml"), settings).unwrap();
    for arguments in [
        &["status"][..],
        &["flags"],
        &["config", "show"],
        &["config", "path"],
        &["doctor"],
        &["context"],
        &["-p", "hello"],
    ] {
        let ran = stage.run(&[&["-C", folder.to_str().unwrap()], arguments].concat());
        let steers = |text: &str| text.chars().any(|letter| letter != '\n' && letter != '\t' && letter.is_control());
        assert!(!steers(&ran.out) && !steers(&ran.err), "{arguments:?}: {ran:#?}");
    }
}
