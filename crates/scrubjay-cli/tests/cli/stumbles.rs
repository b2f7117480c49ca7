//! What a person stumbles over on an ordinary day, and what they are told then.

use crate::stage::{Ran, Stage, block, files, finished, program};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const RULE: &str = "Never mock the database; a mock hid a broken migration once.";
const NAME: &str = "feedback_never_mock_the_database";

fn folder(stage: &Stage) -> PathBuf {
    let listed = stage.run(&["memory", "ls", "--json"]).ended_with(0).json();
    listed["directory"].as_str().unwrap().into()
}

// spec: D11
#[tokio::test(flavor = "multi_thread")]
async fn what_was_taken_back_already_is_not_called_taken_back() {
    let stage = Stage::offline();
    stage.run(&["remember", RULE]).ended_with(0);
    stage.run(&["undo", "1"]).ended_with(0).complained_about(&["change 1 is taken back"]);
    let again = stage.run(&["undo", "1"]).ended_with(0).complained_about(&["nothing of change 1 is left"]);
    assert!(again.out.is_empty() && !again.err.contains("is taken back"), "{again:#?}");
    assert_eq!(stage.run(&["undo", "1", "--json"]).ended_with(0).json()["changed"], false);
}

// spec: D11
#[tokio::test(flavor = "multi_thread")]
async fn after_a_dream_that_only_proposed_the_last_real_change_is_taken_back() {
    let stage = Stage::offline();
    stage.run(&["remember", "Never push on a Friday, because the build team is away"]).ended_with(0);
    stage.run(&["remember", "We never push on a Friday because the build team is away"]).ended_with(0);
    stage.run(&["dream"]).ended_with(0);
    let log = stage.run(&["memory", "log"]).ended_with(0).out;
    let dream: Vec<&str> = log.lines().take(2).map(str::trim).collect();
    assert!(dream[0].ends_with("dream") && dream[1] == "proposed, changed nothing", "{log}");
    let shown = stage.run(&["memory", "diff"]).ended_with(0).out;
    assert!(shown.contains("We never push on a Friday"), "the last change that changed something: {shown}");
    stage.run(&["memory", "diff", "3"]).ended_with(0).complained_about(&["change 3 changed nothing"]);
    stage.run(&["undo"]).ended_with(0).complained_about(&["change 2 is taken back"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_writes_down_what_is_there_or_its_contrary_is_told() {
    let stage = Stage::offline();
    stage.run(&["remember", "Staging listens on port 5433, ask Ada for access"]).ended_with(0);
    let first = "project_staging_listens_on_port_5433_ask_ada";
    let same = stage.run(&["remember", "Staging listens on port 5433: ask Ada for access."]).ended_with(0);
    same.complained_about(&["says the same already", &format!("scrubjay forget {first}`")]);
    stage.run(&["undo"]).ended_with(0);
    let other = stage.run(&["remember", "Staging listens on port 5434, ask Ada for access"]).ended_with(0);
    other.complained_about(&["says otherwise:", &format!("scrubjay forget {first}`")]);
    stage.run(&["forget", first]).ended_with(0);
    let alone = stage.run(&["remember", "The yard is swept on Mondays"]).ended_with(0);
    assert!(!alone.err.contains("already") && !alone.err.contains("otherwise:"), "{alone:#?}");
}

// spec: D11
#[tokio::test(flavor = "multi_thread")]
async fn what_was_forgotten_by_its_title_comes_back_by_its_title() {
    let stage = Stage::offline();
    stage.run(&["remember", RULE]).ended_with(0);
    stage.run(&["memory", "forget", "Never mock the database"]).ended_with(0);
    let back = stage.run(&["memory", "restore", "Never mock the database"]).ended_with(0);
    assert!(back.out.contains(&format!("saved {NAME}.md")), "{back:#?}");
}

// spec: D9
// spec: D10
#[tokio::test(flavor = "multi_thread")]
async fn a_person_is_told_what_of_the_index_sessions_do_not_see() {
    let stage = Stage::offline();
    stage.run(&["remember", RULE]).ended_with(0);
    let folder = folder(&stage);
    assert!(!stage.run(&["memory", "tokens"]).ended_with(0).out.contains("sessions see"));
    for n in 0..205 {
        let text = format!(
            "---\nname: Note {n}\ndescription: {}\n---\nx\n",
            if n == 7 { "d".repeat(151) } else { "d".into() }
        );
        fs::write(folder.join(format!("note_{n}.md")), text).unwrap();
    }
    let checked = stage.run(&["memory", "check", "--fix"]).ended_with(0).out;
    assert!(checked.contains("advice MEMORY.md: sessions see the first 200 of its 206 lines"), "{checked}");
    let long: Vec<&str> = checked.lines().filter(|line| line.contains("too long")).collect();
    assert!(matches!(long.as_slice(), [one] if one.contains("note_7.md")), "{long:?}");
    assert!(stage.run(&["memory", "tokens"]).ended_with(0).out.contains("sessions see the first 200"));
}

// spec: D6
#[tokio::test(flavor = "multi_thread")]
async fn an_edit_that_loses_the_header_says_so() {
    let stage = Stage::offline();
    stage.run(&["remember", RULE]).ended_with(0);
    fs::write(stage.project().join("new.md"), "Only words.\n").unwrap();
    let edit = |more: &[&str]| {
        let mut command = stage.command(&[&["memory", "edit", NAME], more].concat());
        command.stdin(fs::File::open(stage.project().join("new.md")).unwrap());
        Ran::from(block(|| command.output().unwrap())).ended_with(0)
    };
    let lost = ["no name, no description, no type any more"];
    edit(&["--dry-run"]).complained_about(&lost);
    edit(&[]).complained_about(&lost);
    assert!(!edit(&[]).err.contains("any more"), "it had none before");
}

// spec: D6
#[tokio::test(flavor = "multi_thread")]
async fn words_of_any_script_name_their_file() {
    let stage = Stage::offline();
    for (text, name) in [
        ("تیم در تهران است", "project_تیم_در_تهران_است"),
        ("टीम दिल्ली में है", "project_टीम_दिल्ली_में_है"),
        ("团队在上海。", "project_团队在上海"),
        ("Größe des Puffers: 4 MB", "project_größe_des_puffers_4_mb"),
    ] {
        let saved = stage.run(&["remember", text]).ended_with(0);
        assert!(saved.out.contains(&format!("saved {name}.md")), "{saved:#?}");
        let shown = stage.run(&["memory", "show", name]).ended_with(0);
        assert!(shown.out.contains(text.trim_end_matches('。')), "{shown:#?}");
    }
    assert!(stage.run(&["recall", "دختر تهران"]).ended_with(0).out.contains("show project_تیم_در_تهران_است"));
    assert!(!stage.run(&["fsck"]).ended_with(0).out.contains("wrong"));
}

// spec: X3
// safety: F-42
#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_loaded_is_counted_where_memories_are() {
    let stage = Stage::offline();
    stage.run(&["remember", RULE]).ended_with(0);
    let folder = folder(&stage);
    assert!(!stage.run(&["memory", "ls"]).ended_with(0).err.contains("not loaded"));
    fs::write(folder.join("-rf.md"), "x").unwrap();
    fs::write(folder.join("latin.md"), b"caf\xe9").unwrap();
    fs::write(folder.join("two words.md"), "The jay hoards acorns.\n").unwrap();
    stage.run(&["memory", "ls"]).ended_with(0).complained_about(&["2 files not loaded", "memory check"]);
    assert_eq!(stage.run(&["memory", "ls", "--json"]).ended_with(0).json()["not_loaded"], 2);
    let status = stage.run(&["status"]).ended_with(0).out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(status.contains("2 files not loaded"), "{status}");
    let found = stage.run(&["recall", "acorns"]).ended_with(0);
    assert!(found.out.contains("scrubjay memory show 'two words'"), "it can be typed as it stands: {found:#?}");
    let everywhere = stage.run(&["recall", "database", "--in", "all"]).ended_with(0).out;
    assert!(everywhere.contains("memory · feedback") && everywhere.contains("\n  Never mock"), "{everywhere}");
}

/// Run with everything that belongs to the stage mounted read-only; `None` where the system does not let us mount.
fn read_only(stage: &Stage, arguments: &[&str]) -> Option<Ran> {
    let script = "mount --bind \"$0\" \"$0\" && mount -o remount,ro,bind \"$0\" && exec \"$@\"";
    let mounted = |program: PathBuf| {
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--mount", "sh", "-c", script]).arg(stage.home()).arg(program);
        command.env_clear().envs(stage.environment()).current_dir(stage.project()).stdin(Stdio::null());
        command
    };
    mounted("true".into()).status().is_ok_and(|status| status.success()).then(|| {
        let mut command = mounted(program());
        command.args(arguments);
        finished(command)
    })
}

// safety: F-16
#[tokio::test(flavor = "multi_thread")]
async fn where_nothing_can_be_written_the_memory_is_read_and_a_check_calls_it_wrong() {
    let stage = Stage::offline();
    stage.run(&["remember", RULE]).ended_with(0);
    let Some(listed) = read_only(&stage, &["memory", "ls"]) else {
        eprintln!("this system lets nobody mount anything; nothing was tried");
        return;
    };
    let listed = listed.ended_with(0).complained_about(&["can only be read", "Read-only"]);
    assert!(listed.out.contains(NAME), "{listed:#?}");
    let run = |arguments: &[&str]| read_only(&stage, arguments).unwrap();
    assert!(run(&["recall", "database"]).ended_with(0).out.contains(NAME));
    run(&["remember", "The jay is blue"]).ended_with(1).complained_about(&["the memory is as it was"]);
    let checked = run(&["memory", "check"]).ended_with(1).complained_about(&["1 thing to put right"]);
    assert!(
        checked.out.contains("wrong  the memory can only be read") && !checked.out.contains("fixed"),
        "{checked:#?}"
    );
    assert!(
        run(&["memory", "check", "--json"]).ended_with(1).json()["refused"].as_str().unwrap().contains("Read-only")
    );
}

// spec: D10
#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_not_loaded_is_not_called_missing() {
    let stage = Stage::offline();
    stage.run(&["remember", "Never push on a Friday"]).ended_with(0);
    let memory = files(&stage.home()).into_iter().find(|path| path.ends_with("MEMORY.md")).unwrap();
    fs::write(memory.with_file_name("old.md"), b"caf\xe9").unwrap();
    for name in ["old", "old.md", "OLD"] {
        let told = stage.run(&["memory", "show", name]).ended_with(3);
        told.complained_about(&["`old.md` is there", "not UTF-8 text", "memory check"]);
    }
    stage.run(&["memory", "show", "older"]).ended_with(3).complained_about(&["there is no memory `older`"]);
}

/// What others could read, below a folder: each with its mode.
fn open_to_others(folder: &Path) -> Vec<(PathBuf, u32)> {
    use std::os::unix::fs::PermissionsExt as _;
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let data = path.symlink_metadata().unwrap();
            found.push((path.clone(), data.permissions().mode() & 0o777));
            folders.extend(data.is_dir().then_some(path));
        }
    }
    found.retain(|(_, mode)| mode & 0o077 != 0);
    found
}

// spec: X8
#[tokio::test(flavor = "multi_thread")]
async fn whatever_the_program_makes_is_for_its_owner_alone_and_no_umask_changes_that() {
    let stage = Stage::offline();
    let run = |arguments: &[&str]| {
        let program = stage.command(arguments);
        let mut shell = Command::new("sh");
        shell.args(["-c", "umask 0; exec \"$@\"", "sh"]).arg(program.get_program()).args(program.get_args());
        shell.env_clear().envs(stage.environment()).current_dir(stage.project()).stdin(Stdio::null());
        finished(shell).ended_with(0)
    };
    run(&["remember", "Never push on a Friday, because the build team is away"]);
    run(&["remember", "We never push on a Friday because the build team is away"]);
    run(&["remember", "I like tea"]);
    run(&["memory", "forget", "user_i_like_tea"]);
    run(&["undo"]);
    run(&["dream"]);
    run(&["-p", "When do we push to the build team?"]);
    run(&["recall", "push", "--in", "all"]);
    run(&["export", "out/deep"]);
    run(&["import", "out"]);
    run(&["report"]);
    run(&["memory", "check", "--fix"]);
    assert_eq!(open_to_others(&stage.home()), []);
    let made: Vec<_> = ["out", "report.html"].map(|name| stage.project().join(name)).into();
    assert!(made.iter().all(|path| path.exists()), "{made:?}");
    assert_eq!(open_to_others(&stage.project()), []);
    let kept: Vec<String> = files(&stage.home()).iter().map(|path| path.display().to_string()).collect();
    for part in ["/journal/", "/trash/", "/provenance/", "/recall/", "/dreams/", "/memory/", "ledger.jsonl", "/log/"] {
        assert!(kept.iter().any(|path| path.contains(part)), "{part} in {kept:#?}");
    }
}
