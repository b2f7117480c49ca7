//! Stories of folds and snips in a chat.

use crate::stage::{Stage, block};
use crate::terminal::Terminal;
use scrubjay_testkit::simulator::{RecordedRequest, Script, Simulator, text};

fn numbered() -> Script {
    Script::new().otherwise_with(|request: &RecordedRequest| {
        let asked = request.last_user_text();
        text(format!("About {}: {}", asked.trim(), "many words of an answer. ".repeat(60)))
    })
}

async fn talked() -> (Simulator, Stage) {
    let simulator = Simulator::start(numbered()).await.unwrap();
    let stage = Stage::with(&simulator);
    stage.run(&["-p", "oaks. Never fell them."]).ended_with(0);
    for question in ["elms", "ashes"] {
        stage.run(&["-c", "-p", question]).ended_with(0);
    }
    (simulator, stage)
}

fn say(terminal: &mut Terminal, line: &str, shown: &str) {
    terminal.type_line(line);
    terminal.wait_for(&format!("› {line}"));
    terminal.wait_for(shown);
    terminal.wait_for_prompt();
}

// spec: C14
// spec: C15
// spec: Q7
#[tokio::test(flavor = "multi_thread")]
async fn parts_are_folded_taken_out_and_brought_back() {
    let (simulator, stage) = talked().await;
    let listed =
        |request: &RecordedRequest, tool: &str| request.json["tools"].to_string().contains(&format!("\"{tool}\""));
    assert!(!listed(&simulator.last_request().unwrap(), "Snip"), "off by default");
    block(|| {
        let switches =
            ["--set", "layers.snip=true", "--set", "layers.collapse=true", "--set", "limits.fold_keep_rounds=1"];
        let mut terminal = Terminal::start(&stage, &[&["chat", "-c"], &switches[..]].concat());
        terminal.wait_for("3 questions so far");
        terminal.wait_for_prompt();
        say(&mut terminal, "/help", "/snip [N-M");
        say(&mut terminal, "/snip", "nothing was taken out");
        say(&mut terminal, "/snip 9", "there is no question 9");
        say(&mut terminal, "/snip 1-2 felled", "/snip lists what was taken out");
        say(&mut terminal, "/context", "1 span taken out: about");
        say(&mut terminal, "birches", "About birches");
        let sent = simulator.last_request().unwrap();
        assert!(listed(&sent, "Snip") && listed(&sent, "Unfold"));
        let sent = sent.all_text();
        assert!(!sent.contains("About elms") && sent.contains("Never fell them.") && sent.contains("Reason: felled."));

        say(&mut terminal, "/snip undo", "more");
        say(&mut terminal, "/fold 2", "/fold lists what is folded");
        say(&mut terminal, "/fold", "[fold 3: 1 rounds");
        say(&mut terminal, "willows", "About willows");
        let sent = simulator.last_request().unwrap().all_text();
        assert!(sent.contains("Last words: About elms") && sent.contains("oaks. Never fell them."), "{sent}");
        say(&mut terminal, "/fold open 3", "more");
        say(&mut terminal, "/fold open 77", "there is no fold 77");
        say(&mut terminal, "limes", "About limes");
        terminal.type_line("/quit");
        assert!(terminal.wait_for_end().success());
    });
    let sent = simulator.last_request().unwrap().all_text();
    assert!(
        !sent.contains("Last words: About elms") && sent.contains("Last words: About oaks"),
        "one is open, one is folded: {sent}"
    );
    let told = stage.run(&["context", "--json"]).ended_with(0).json();
    assert_eq!((&told["remedies"]["folded"]["spans"], &told["remedies"]["snipped"]["spans"]), (&1.into(), &0.into()));
}

// spec: C14
// spec: C15
#[tokio::test(flavor = "multi_thread")]
async fn a_switch_that_is_off_says_how_it_is_switched_on() {
    let (_simulator, stage) = talked().await;
    block(|| {
        let mut terminal = Terminal::start(&stage, &["chat", "-c"]);
        terminal.wait_for("3 questions so far");
        terminal.wait_for_prompt();
        say(&mut terminal, "/fold", "--set layers.collapse=true");
        say(&mut terminal, "/fold 1", "layers.collapse is switched off");
        say(&mut terminal, "/snip 1", "--set layers.snip=true");
        say(&mut terminal, "/snip undo", "there is no snip to show again");
        terminal.type_line("/quit");
        assert!(terminal.wait_for_end().success());
    });
}
