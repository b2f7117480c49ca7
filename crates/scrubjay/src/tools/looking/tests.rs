use super::*;
use crate::digest::FilesSeen;
use crate::message::ToolCallId;
use crate::tool::{Confinement, Occasion, Visible};
use proptest::prelude::*;
use serde_json::json;

async fn look(dir: &Path, command: &str, past: Option<Past>) -> Result<String, String> {
    let tool = Looking::instead_of(ToolSpec::new("Bash", "runs", &json!({})), past);
    let input = json!({ "command": command, "description": "look" });
    let approved = tool.effect(&input, dir);
    let (limits, seen) = (Limits::default(), FilesSeen::default());
    let (call, occasion, cancel) = (ToolCallId::new("c"), Occasion::default(), CancellationToken::new());
    let bench = Bench {
        dir,
        seen: &seen,
        limits: &limits,
        call: &call,
        approved: &approved,
        confinement: Confinement::Usual,
        occasion: &occasion,
        cancel: &cancel,
        view: None,
        summon: None,
        memory: None,
        visible: &Visible::default(),
    };
    let outcome = tool.call(&input, &bench).await;
    let text = outcome.parts[0].as_text().unwrap().to_owned();
    if outcome.is_error { Err(text) } else { Ok(text) }
}

fn folder() -> (tempfile::TempDir, PathBuf) {
    let held = tempfile::tempdir().unwrap();
    let root = held.path().canonicalize().unwrap();
    std::fs::create_dir(root.join("notes")).unwrap();
    std::fs::write(root.join("notes/tea.md"), "green tea\nno sugar\nTea at four\n").unwrap();
    std::fs::write(root.join("notes/ale.md"), "pale ale\n").unwrap();
    std::fs::write(root.join("seven.txt"), "1\n2\n3\n4\n5\n6\n7\n").unwrap();
    std::os::unix::fs::symlink("/etc", root.join("notes/out")).unwrap();
    (held, root)
}

// spec: E5
#[tokio::test]
async fn commands_answer_as_people_know_them() {
    let (_held, root) = folder();
    for (command, answer) in [
        ("cat notes/ale.md", "pale ale\n"),
        ("cat -n notes/ale.md", "     1\tpale ale\n"),
        ("cat notes/ale.md seven.txt | wc -l", "8\n"),
        ("head -2 seven.txt", "1\n2\n"),
        ("head -n 1 seven.txt notes/ale.md", "==> seven.txt <==\n1\n\n==> notes/ale.md <==\npale ale\n"),
        ("tail -n 2 seven.txt", "6\n7\n"),
        ("tail -n +6 seven.txt", "6\n7\n"),
        ("head -c 3 seven.txt", "1\n2"),
        ("wc -lw notes/tea.md notes/ale.md", "3 7 notes/tea.md\n1 2 notes/ale.md\n4 9 total\n"),
        ("grep -n tea notes/tea.md", "1:green tea\n"),
        ("grep -in tea notes/tea.md", "1:green tea\n3:Tea at four\n"),
        ("grep -c tea notes/tea.md notes/ale.md", "notes/tea.md:1\nnotes/ale.md:0\n"),
        ("grep -rl ale notes", "notes/ale.md\n"),
        ("grep -v tea notes/tea.md | tail -1", "Tea at four\n"),
        ("grep -o 'a.e' notes/ale.md", "ale\nale\n"),
        ("grep -E 'sugar|ale' -r notes", "notes/ale.md:pale ale\nnotes/tea.md:no sugar\n"),
        ("grep 'sugar\\|four' notes/tea.md", "no sugar\nTea at four\n"),
        ("grep -F 'a|b' seven.txt", "[no output]"),
        ("grep -A1 -n 4 seven.txt", "4:4\n5-5\n"),
        ("grep -C1 -e 2 -e 6 seven.txt", "1\n2\n3\n--\n5\n6\n7\n"),
        ("grep -r tea notes 2>/dev/null | head -1", "notes/tea.md:green tea\n"),
        ("ls notes", "ale.md\nout\ntea.md\n"),
        ("find . -name '*.md' -type f", "./notes/ale.md\n./notes/tea.md\n"),
        ("find notes -maxdepth 1 -type l", "notes/out\n"),
    ] {
        assert_eq!(look(&root, command, None).await.as_deref(), Ok(answer), "{command}");
    }
    let long = look(&root, "ls -la notes", None).await.unwrap();
    assert!(long.contains("lrwxrwxrwx") && long.contains("        9 ") && long.contains("ale.md"), "{long}");
    assert!(look(&root, "stat seven.txt", None).await.unwrap().starts_with("seven.txt: -rw"));
}

// spec: E5
// spec: X2
#[tokio::test]
async fn everything_else_is_refused_with_a_reason_and_never_counts_as_reading() {
    let (_held, root) = folder();
    let tool = Looking::instead_of(ToolSpec::new("Bash", "runs", &json!({})), None);
    for command in [
        "rm seven.txt",
        "cat seven.txt; rm seven.txt",
        "cat seven.txt && ls",
        "cat seven.txt > copy",
        "find . -delete",
        "find . -exec rm {} +",
        "find . -fprint x",
        "tail -f seven.txt",
        "cat $(echo seven.txt)",
        "ls *.txt",
        "sort seven.txt",
        "grep -f seven.txt notes/tea.md",
        "head --bogus seven.txt",
        "LANG=C ls",
        "cat seven.txt | sh",
        "cat seven.txt | xargs rm",
        "cat",
        "grep x",
        "(ls)",
        "ls & ls",
        "! ls",
    ] {
        let effect = tool.effect(&json!({ "command": command }), &root);
        assert!(matches!(effect, Effect::Runs { reads_only: false, .. }), "{command}: {effect:?}");
        assert!(refusal(command).is_some_and(|why| why.len() > 20), "{command}");
        assert!(look(&root, command, None).await.is_err(), "{command}");
    }
    assert!(root.join("seven.txt").exists() && !root.join("copy").exists());
}

// spec: E5
// spec: X1
#[tokio::test]
async fn what_is_looked_at_is_said_beforehand_with_links_followed() {
    let (_held, root) = folder();
    let tool = Looking::instead_of(ToolSpec::new("Bash", "runs", &json!({})), None);
    let reads = |command: &str| match tool.effect(&json!({ "command": command }), &root) {
        Effect::Reads(paths) => paths,
        other => panic!("{command}: {other:?}"),
    };
    assert_eq!(
        reads("cat notes/out/passwd ../x | grep root"),
        [PathBuf::from("/etc/passwd"), root.parent().unwrap().join("x")]
    );
    for command in ["ls", "find . -name x", "grep -r needle"] {
        assert_eq!(reads(command), std::slice::from_ref(&root), "{command}");
    }
    let walked = look(&root, "grep -r root .", None).await.unwrap();
    assert_eq!(walked, "[no output]", "a walk does not follow links");
    let found = look(&root, "find . -name passwd", None).await.unwrap();
    assert_eq!(found, "[no output]");
}

// spec: E5
#[tokio::test]
async fn of_past_sessions_only_the_last_matching_lines_are_shown() {
    let (_held, root) = folder();
    let lines: String = (0..200).map(|n| format!("{{\"said\":\"tea {n}\"}}\n")).collect();
    std::fs::write(root.join("old.jsonl"), lines).unwrap();
    let past = Past { folder: root.clone(), except: vec![root.join("notes")], lines: 50 };
    let found = look(&root, "grep -r tea .", Some(past)).await.unwrap();
    let shown: Vec<&str> = found.lines().filter(|line| line.contains("said")).collect();
    assert_eq!(shown.len(), 50);
    assert!(shown[0].contains("tea 150") && shown[49].contains("tea 199"), "{shown:?}");
    assert!(found.contains("notes/tea.md:green tea") && found.contains("only the last 50 lines"), "{found}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_line_is_answered_or_refused(line in "(cat|grep|ls|find|head|tail|wc|stat|rm)( [-a-z0-9./'|;&$*]{0,8}){0,5}") {
        let read = Pipeline::read(&line);
        if line.contains("rm") && !line.contains('\'') && read.is_ok() {
            let removes = line.split('|').any(|part| part.split_whitespace().next() == Some("rm"));
            prop_assert!(!removes, "{line}");
        }
    }
}
