//! Commands in the sandbox, through the whole program.

use crate::stage::Stage;
use scrubjay_testkit::simulator::{Script, Simulator, text, tool_use};
use serde_json::{Value, json};

/// Whether this system has a sandbox; tests that need one say so where it has none.
fn is_there() -> bool {
    let found = scrubjay_sandbox::detect();
    if let Err(why) = &found {
        println!("skipped: no sandbox on this system: {why}");
    }
    found.is_ok()
}

/// What the model hears when it runs these commands, one after the other.
async fn heard(commands: &[Value], arguments: &[&str], prepare: impl Fn(&Stage)) -> Vec<String> {
    let script = commands.iter().fold(Script::new(), |script, input| script.reply(tool_use("Bash", input.clone())));
    let simulator = Simulator::start(script.reply(text("Done."))).await.unwrap();
    let stage = Stage::with(&simulator);
    stage.write("notes.txt", "a bird\n");
    prepare(&stage);
    stage.run(&[&["-p", "look"], arguments].concat());
    simulator.last_request().unwrap().tool_results().into_iter().map(|(_, text)| text).collect()
}

fn runs(command: &str) -> Value {
    json!({ "command": command })
}

// spec: X2
#[tokio::test(flavor = "multi_thread")]
async fn without_a_sandbox_a_read_only_command_is_refused_with_the_reason() {
    for mode in ["ask", "read-only", "plan"] {
        let flags = ["--sandbox", "off", "--permission-mode", mode];
        let heard = heard(&[runs("cat notes.txt")], &flags, |_| {}).await;
        assert!(!heard[0].contains("a bird") && heard[0].contains("sandbox"), "{mode}: {}", heard[0]);
    }
    let allowed = heard(&[runs("cat notes.txt")], &["--sandbox", "off", "--allow", "Bash"], |_| {}).await;
    assert!(allowed[0].contains("a bird"), "{}", allowed[0]);
}

// spec: X2
#[tokio::test(flavor = "multi_thread")]
async fn read_only_commands_run_without_asking_in_the_sandbox() {
    if !is_there() {
        return;
    }
    for mode in ["ask", "read-only", "plan"] {
        let heard =
            heard(&[runs("cat notes.txt"), runs("echo $TMPDIR; ls")], &["--permission-mode", mode], |_| {}).await;
        assert!(heard[0].contains("a bird"), "{mode}: {}", heard[0]);
        assert!(!heard[1].contains("notes.txt"), "{mode}: an expansion is not known to read: {}", heard[1]);
    }
}

// spec: X2
#[tokio::test(flavor = "multi_thread")]
async fn with_workspace_write_commands_stay_in_the_project() {
    if !is_there() {
        return;
    }
    let flags = ["--sandbox", "workspace-write", "--permission-mode", "allow-all"];
    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().join("x");
    let out = format!("echo out > {}", target.display());
    let commands = [
        runs("echo in > made && cat made"),
        runs(&out),
        json!({ "command": out, "outside_sandbox": true }),
        runs("exec 3<>/dev/tcp/127.0.0.1/9"),
    ];
    let heard = heard(&commands, &flags, |_| {}).await;
    assert!(heard[0].starts_with("in"), "{}", heard[0]);
    assert!(heard[1].contains("Permission denied"), "{}", heard[1]);
    assert!(heard[2].contains("did not leave the sandbox"), "{}", heard[2]);
    assert!(heard[3].contains("Operation not permitted") || heard[3].contains("socket"), "{}", heard[3]);
    assert!(!target.exists());
}

// spec: X2
#[tokio::test(flavor = "multi_thread")]
async fn a_repository_cannot_switch_the_sandbox_off() {
    let from_project = |stage: &Stage| stage.write(".scrubjay.toml", "[sandbox]\nmode = \"off\"\nwrite = [\"/\"]\n");
    let simulator = Simulator::start(Script::new()).await.unwrap();
    let stage = Stage::with(&simulator);
    from_project(&stage);
    let flags = stage.run(&["flags", "--json"]).ended_with(0);
    let said = stage.run(&["doctor"]);
    assert!(!said.out.contains("switched off"), "{}", said.out);
    assert!(flags.out.contains("sandbox"), "{}", flags.out);
    let mine = stage.run(&["doctor", "--set", "sandbox.mode=off"]);
    assert!(mine.out.contains("switched off"), "{}", mine.out);
}
