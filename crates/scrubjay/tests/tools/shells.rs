//! Running commands.

use crate::bench::{Workshop, bad, good, is_alive};
use scrubjay::tool::Effect;
use serde_json::json;

#[tokio::test]
async fn output_and_errors_come_back_in_order_with_the_exit_code() {
    let mut shop = Workshop::new();
    shop.file("here.txt", "x");
    for (command, said) in [
        ("echo one; echo two >&2; echo three", "one\ntwo\nthree\n[exit code 0]"),
        ("ls", "here.txt\n[exit code 0]"),
        ("true", "[no output, exit code 0]"),
        ("printf a", "a\n[exit code 0]"),
        ("read x || echo no input", "no input\n[exit code 0]"),
        ("printf 'bad \\377\\033[1m'", "bad \u{fffd}⟦U+001B⟧[1m\n[exit code 0]"),
        ("echo $TERM $NO_COLOR $PAGER $GIT_PAGER", "dumb 1 cat cat\n[exit code 0]"),
    ] {
        assert_eq!(good(&shop.call("Bash", json!({"command": command})).await), said, "{command}");
    }
    for (command, said) in [
        ("echo oops; exit 3", "oops\n[exit code 3]"),
        ("kill -9 $$", "[stopped by signal 9]"),
        ("no-such-program-anywhere", "[exit code 127]"),
        ("echo 'unterminated", "[exit code"),
    ] {
        assert!(bad(&shop.call("Bash", json!({"command": command})).await).contains(said), "{command}");
    }
    assert!(bad(&shop.call("Bash", json!({"command": " "})).await).contains("Nothing was run"));
    assert!(bad(&shop.call("Bash", json!({"command": "a\0b"})).await).contains("Nothing was run"));
}

#[tokio::test]
async fn two_hundred_megabytes_are_drained_and_counted() {
    let mut shop = Workshop::new();
    shop.limits.shell_output_bytes = 4_096;
    let command = "echo first; head -c 200000000 /dev/zero | tr '\\0' x; echo; echo last";
    let said = good(&shop.call("Bash", json!({"command": command})).await);
    assert!(said.starts_with("first\nxxx") && said.ends_with("xxx\nlast\n[exit code 0]"), "{}", said.len());
    assert!(said.contains(&format!("[… {} bytes left out …]", 200_000_000 + 6 + 6 - 4_096)), "{}", said.len());
    assert!(said.len() < 5_000);
}

#[tokio::test]
async fn a_command_that_never_returns_is_stopped_with_its_grandchildren() {
    let mut shop = Workshop::new();
    let command = "echo $$; (sleep 1000 & echo $!; bash -c 'sleep 1000 & echo $!; wait'); wait";
    let said = bad(&shop.call("Bash", json!({"command": command, "timeout_ms": 1_500})).await);
    assert!(said.contains("did not end within 1500 ms"), "{said}");
    let pids: Vec<&str> = said.lines().filter(|line| line.chars().all(|letter| letter.is_ascii_digit())).collect();
    assert_eq!(pids.len(), 3, "{said}");
    gone(&pids).await;
}

#[tokio::test]
async fn an_interruption_stops_the_whole_group() {
    let mut shop = Workshop::new();
    let cancel = shop.cancel.clone();
    let pids = shop.dir.join("pids");
    let watch = tokio::spawn({
        let pids = pids.clone();
        async move {
            let written = written(&pids).await;
            cancel.cancel();
            written
        }
    });
    let command = "sleep 1000 & echo $$ $! > pids.new; mv pids.new pids; wait";
    assert!(bad(&shop.call("Bash", json!({"command": command})).await).contains("was interrupted"));
    gone(&watch.await.unwrap().split_whitespace().collect::<Vec<_>>()).await;
}

#[tokio::test]
async fn dropping_the_call_leaves_nothing_running() {
    let shop = Workshop::new();
    let tool = Workshop::tool("Bash");
    let command = "sleep 1000 & echo $$ $! > pids.new; mv pids.new pids; wait";
    let file = shop.dir.join("pids");
    let pids = tokio::select! {
        _ = shop.call_this(tool.as_ref(), json!({"command": command})) => panic!("it never returns"),
        pids = written(&file) => pids,
    };
    gone(&pids.split_whitespace().collect::<Vec<_>>()).await;
}

#[tokio::test]
async fn children_left_behind_do_not_hold_the_call_up() {
    let mut shop = Workshop::new();
    let said = good(&shop.call("Bash", json!({"command": "sleep 1000 & echo $!"})).await);
    assert!(said.contains("left in the background were stopped"), "{said}");
    gone(&[said.lines().next().unwrap()]).await;
    // One that left the group keeps the pipe; the call ends all the same, and the test stops it.
    shop.limits.shell_linger_ms = 50;
    let said = good(&shop.call("Bash", json!({"command": "setsid sleep 1000 & echo $!; sleep 0.2"})).await);
    let pid = said.lines().next().unwrap().to_owned();
    std::process::Command::new("kill").arg(&pid).status().unwrap();
}

#[tokio::test]
async fn a_directory_that_is_gone_is_an_error_not_a_crash() {
    let mut shop = Workshop::new();
    std::fs::remove_dir(&shop.dir).unwrap();
    assert!(bad(&shop.call("Bash", json!({"command": "ls"})).await).contains("could not be started"));
}

// spec: X2
#[tokio::test]
async fn the_effect_says_whether_a_line_only_reads() {
    let shop = Workshop::new();
    for (command, reads_only) in [("ls | wc -l", true), ("ls; rm x", false), ("git status", false)] {
        let effect = shop.effect("Bash", json!({"command": command}));
        assert_eq!(effect, Effect::Runs { command: command.into(), reads_only });
    }
}

#[tokio::test]
async fn functions_and_start_files_of_the_environment_are_not_run() {
    // A child of the test carries the hostile environment, so that the test's own stays as it is.
    let out = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "shells::inside_a_hostile_environment", "--ignored", "--nocapture"])
        .env("BASH_FUNC_ls%%", "() { echo hijacked; }")
        .env("BASH_ENV", "/dev/stdin")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success() && text.contains("1 passed"), "{text}");
}

#[tokio::test]
#[ignore = "run by the test above, in an environment of its own"]
async fn inside_a_hostile_environment() {
    let mut shop = Workshop::new();
    shop.file("honest", "");
    assert_eq!(good(&shop.call("Bash", json!({"command": "ls"})).await), "honest\n[exit code 0]");
}

/// Long enough for the slowest machine; only a broken engine gets there.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);

/// Wait until this is so.
async fn until<T>(what: impl Fn() -> Option<T>) -> T {
    let polling = async {
        loop {
            match what() {
                Some(found) => return found,
                None => tokio::time::sleep(std::time::Duration::from_millis(5)).await,
            }
        }
    };
    tokio::time::timeout(PATIENCE, polling).await.expect("it happens")
}

/// What the file says, once it is there.
async fn written(path: &std::path::Path) -> String {
    until(|| std::fs::read_to_string(path).ok()).await
}

/// Wait until none of them runs.
async fn gone(pids: &[&str]) {
    assert!(!pids.is_empty());
    until(|| (!pids.iter().any(|pid| is_alive(pid))).then_some(())).await;
}
