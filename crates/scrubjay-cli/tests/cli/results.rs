//! Stories of stored tool results: seen, fetched whole, and swept away when nobody refers to them.

use crate::stage::{Stage, block, files};
use crate::terminal::Terminal;
use scrubjay_testkit::simulator::{Pacer, Script, Simulator, text, tool_use_as};
use serde_json::json;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

/// More than the window should carry.
const COMMAND: &str = "seq 1 20000";

fn whole() -> String {
    (1..=20_000).map(|n| format!("{n}\n")).chain(["[exit code 0]".to_owned()]).collect()
}

async fn stored() -> (Simulator, Stage) {
    let script = Script::new()
        .reply(tool_use_as("toolu_large", "Bash", json!({ "command": COMMAND })))
        .reply(text("Many lines."))
        .otherwise(text("Yes."));
    let simulator = Simulator::start(script).await.unwrap();
    let stage = Stage::with(&simulator);
    stage.run(&["-p", "count", "--allow", "Bash"]).ended_with(0);
    (simulator, stage)
}

fn results(stage: &Stage) -> Vec<PathBuf> {
    let below = |path: &PathBuf| path.parent().is_some_and(|parent| parent.ends_with("tool-results"));
    files(&stage.home()).into_iter().filter(below).collect()
}

// spec: R2
// spec: R5
// spec: U8
#[tokio::test(flavor = "multi_thread")]
async fn what_was_stored_is_listed_and_comes_back_whole() {
    let (_simulator, stage) = stored().await;
    let listed = stage.run(&["results", "ls"]).ended_with(0).out;
    assert!(listed.starts_with("toolu_large  Bash") && listed.contains("108.9 kB"), "{listed}");
    let row = stage.run(&["results", "ls", "--json"]).ended_with(0).json()["results"][0].clone();
    assert_eq!((&row["call"], &row["bytes"]), (&json!("toolu_large"), &json!(whole().len())));
    assert_eq!(stage.run(&["results", "get", "toolu_l"]).ended_with(0).out, whole());
    let json = stage.run(&["results", "get", "toolu_large", "--json"]).ended_with(0).json();
    assert_eq!(json["text"], whole());
    let context = stage.run(&["context"]).ended_with(0).out;
    assert!(context.contains("1 result on disk: 108.9 kB"), "{context}");

    stage.run(&["-c", "--fork-session", "-p", "in a copy"]).ended_with(0);
    assert_eq!(stage.run(&["results", "get", "toolu_large"]).ended_with(0).out, whole(), "a copy has it too");
    let all = stage.run(&["results", "ls", "--all", "--json"]).ended_with(0).json();
    assert_eq!(all["results"].as_array().unwrap().len(), 2);

    stage.run(&["results", "get", "zzz"]).ended_with(3).complained_about(&["answers `zzz`"]);
    stage.run(&["results", "ls", "--session", "zzz"]).ended_with(3);
    let file = &results(&stage)[0];
    std::fs::remove_file(file).unwrap();
    symlink("/etc/passwd", file).unwrap();
    stage.run(&["results", "get", "toolu_large"]).ended_with(3).complained_about(&["is gone"]);
    assert!(stage.run(&["results", "ls"]).ended_with(0).out.contains("its file is gone"));
    Stage::offline().run(&["results", "ls", "--all"]).ended_with(3).complained_about(&["no tool result"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_nobody_refers_to_is_swept_away() {
    let (_simulator, stage) = stored().await;
    let kept = results(&stage).remove(0);
    let folder = kept.parent().unwrap().to_owned();
    let (orphan, link, inner) = (folder.join("orphan.txt"), folder.join("link.txt"), folder.join("inner"));
    let elsewhere = stage.project().join("precious.txt");
    std::fs::write(&orphan, "12345").unwrap();
    std::fs::write(&elsewhere, "mine").unwrap();
    symlink(&elsewhere, &link).unwrap();
    std::fs::create_dir(&inner).unwrap();

    let look = stage.run(&["results", "gc", "--dry-run"]).ended_with(0).complained_about(&["not removed: 1 file, 5 B"]);
    assert!(look.out.contains("orphan.txt") && look.out.lines().count() == 1, "{look:#?}");
    stage.run(&["results", "gc"]).ended_with(2).complained_about(&["nothing was removed", "--yes"]);
    stage.run(&["results", "gc", "--dry-run", "--yes"]).ended_with(2);
    assert!(orphan.exists());

    // Only the copy still refers to it.
    stage.run(&["-c", "--fork-session", "-p", "in a copy"]).ended_with(0);
    std::fs::remove_file(folder.parent().unwrap().with_extension("jsonl")).unwrap();
    let swept = stage.run(&["results", "gc", "--yes", "--json"]).ended_with(0).json();
    assert_eq!((&swept["removed"], &swept["bytes"], &swept["kept_because"]), (&json!(true), &json!(5), &json!([])));
    assert!(!orphan.exists() && kept.exists() && link.is_symlink() && inner.exists() && elsewhere.exists());
    stage.run(&["results", "gc", "--yes"]).ended_with(0).complained_about(&["nothing to remove"]);

    for transcript in stage.transcripts() {
        std::fs::remove_file(transcript).unwrap();
    }
    stage.run(&["results", "gc", "--yes"]).ended_with(0).complained_about(&["removed: 1 file, 108.9 kB"]);
    assert!(!kept.exists() && link.is_symlink());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_is_asked_before_anything_is_swept_away() {
    let (_simulator, stage) = stored().await;
    let orphan = results(&stage)[0].with_file_name("orphan.txt");
    std::fs::write(&orphan, "12345").unwrap();
    block(|| {
        for (answer, said, there) in [("", "not removed", true), ("n", "not removed", true), ("y", "\nremoved", false)]
        {
            let mut terminal = Terminal::start(&stage, &["results", "gc"]);
            terminal.wait_for("remove 1 file, 5 B? [y/N]");
            assert!(orphan.exists());
            terminal.type_line(answer);
            terminal.wait_for(&format!("{said}: 1 file, 5 B"));
            assert!(terminal.wait_for_end().success());
            assert_eq!(orphan.exists(), there, "{answer:?}");
        }
    });
}

// spec: X8
#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_record_and_an_open_session_keep_everything_of_theirs() {
    let (simulator, stage) = stored().await;
    let orphan = results(&stage)[0].with_file_name("orphan.txt");
    std::fs::write(&orphan, "12345").unwrap();
    let pacer = Pacer::new();
    simulator.set_script(Script::new().otherwise(text("slow").paced(&pacer)));
    let asked = simulator.requests().len();
    let mut open = stage.command(&["-c", "-p", "wait for me"]).stdout(std::process::Stdio::null()).spawn().unwrap();
    simulator.wait_for_requests(asked + 1).await;
    stage
        .run(&["results", "gc", "--yes"])
        .ended_with(0)
        .complained_about(&["open in another process", "nothing to remove"]);
    pacer.open();
    assert!(block(|| open.wait().unwrap()).success());

    let path = stage.transcripts().remove(0);
    let whole = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, whole.replacen("count", "cOunt", 1)).unwrap();
    stage
        .run(&["results", "gc", "--yes"])
        .ended_with(0)
        .complained_about(&["is damaged, so all of its results are kept"]);
    // A copy of it that lost its own records may refer to the same files.
    std::fs::write(&path, &whole).unwrap();
    simulator.set_script(Script::new().otherwise(text("Yes.")));
    stage.run(&["-c", "--fork-session", "-p", "in a copy"]).ended_with(0);
    let copy = stage.transcripts().into_iter().find(|other| *other != path).unwrap();
    let records = std::fs::read_to_string(&copy).unwrap();
    std::fs::write(&copy, records.replacen("in a copy", "in a cOpy", 1)).unwrap();
    stage.run(&["results", "gc", "--yes"]).ended_with(0).complained_about(&["is damaged"]);
    let beginning = records.find('\n').unwrap();
    std::fs::write(&copy, format!("torn{}", &records[beginning..])).unwrap();
    stage
        .run(&["results", "gc", "--yes"])
        .ended_with(0)
        .complained_about(&["nothing is removed", "does not say where"]);
    assert!(orphan.exists());
    std::fs::write(&copy, &records).unwrap();
    stage.run(&["results", "gc", "--yes"]).ended_with(0).complained_about(&["removed: 1 file"]);
    assert!(!orphan.exists());
}
