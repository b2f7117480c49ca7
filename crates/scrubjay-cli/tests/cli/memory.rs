//! Stories of long-term memory at the terminal: the whole life of a memory, and everything that can be typed wrong.

use crate::stage::{CANARY, Ran, Stage, block, files, finished};
use crate::terminal::Terminal;
use scrubjay_testkit::simulator::{Script, Simulator, text};
use scrubjay_testkit::{Manner, Meanings};
use serde_json::{Value, json};
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

const RULE: &str = "Never mock the database; a mock hid a broken migration once.";
const NAME: &str = "feedback_never_mock_the_database";

/// Where the memories of a stage lie.
fn folder(stage: &Stage) -> PathBuf {
    let projects = fs::read_dir(stage.home().join("data/projects")).unwrap();
    projects.flatten().map(|entry| entry.path().join("memory")).find(|dir| dir.is_dir()).unwrap()
}

fn file(stage: &Stage, name: &str) -> PathBuf {
    folder(stage).join(format!("{name}.md"))
}

/// Run with something on standard input.
fn given(stage: &Stage, input: &[u8], arguments: &[&str]) -> Ran {
    let mut command = stage.command(arguments);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    block(|| child.wait_with_output().unwrap().into())
}

fn names(stage: &Stage) -> Vec<String> {
    let json = stage.run(&["memory", "ls", "--by", "name", "--json"]).ended_with(0).json();
    json["memories"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
}

// spec: D11
// spec: U8
#[tokio::test(flavor = "multi_thread")]
async fn the_whole_life_of_a_memory() {
    let stage = Stage::offline();
    stage.run(&["memory", "ls"]).ended_with(3).complained_about(&["nothing is remembered yet", "scrubjay remember"]);
    let saved = stage.run(&["remember", RULE]).ended_with(0);
    for words in ["saved feedback_never_mock_the_database.md: new, 6 lines", "take it back with `scrubjay undo 1`"] {
        assert!(saved.out.contains(words), "{words} in {saved:#?}");
    }
    assert!(saved.out.contains(&file(&stage, NAME).display().to_string()), "the receipt names the file: {saved:#?}");
    saved.complained_about(&["`never` says how to work", "--type", "**Why:**"]);
    let index = fs::read_to_string(folder(&stage).join("MEMORY.md")).unwrap();
    assert!(index.contains("[Never mock the database](feedback_never_mock_the_database.md)"), "{index}");

    let shown = stage.run(&["memory", "show", "never mock the database"]).ended_with(0);
    assert_eq!(shown.out, fs::read_to_string(file(&stage, NAME)).unwrap(), "a pipe gets the exact text");
    let edited = shown.out.replace("hid a broken migration", "hid two broken migrations");
    let receipt = given(&stage, edited.as_bytes(), &["memory", "edit", NAME]).ended_with(0);
    assert!(receipt.out.contains("→") || receipt.out.contains("lines"), "{receipt:#?}");
    assert!(fs::read_to_string(file(&stage, NAME)).unwrap().contains("two broken migrations"));

    let gone = stage.run(&["memory", "forget", NAME]).ended_with(0);
    assert!(gone.out.contains("6 lines, now in the trash"), "{gone:#?}");
    assert!(!file(&stage, NAME).exists() && names(&stage).is_empty());
    stage.run(&["memory", "restore", NAME]).ended_with(0);
    assert!(fs::read_to_string(file(&stage, NAME)).unwrap().contains("two broken migrations"));

    let log = stage.run(&["memory", "log", NAME, "--json"]).ended_with(0).json();
    let told: Vec<(&str, &str)> = log["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| (change["cause"]["by"].as_str().unwrap(), change["edits"][0]["what"].as_str().unwrap()))
        .collect();
    assert_eq!(told, [("restore", "created"), ("person", "removed"), ("person", "changed"), ("person", "created")]);
    let diff = stage.run(&["memory", "diff", "2"]).ended_with(0).out;
    assert!(diff.contains("-Never mock the database; a mock hid a broken") && diff.contains("+Never mock"), "{diff}");
}

// spec: D11
#[tokio::test(flavor = "multi_thread")]
async fn undo_walks_back_one_change_at_a_time_and_can_be_undone() {
    let stage = Stage::offline();
    stage.run(&["undo"]).ended_with(3).complained_about(&["no change to take back"]);
    stage.run(&["remember", "--type", "project", "The jay is blue"]).ended_with(0);
    stage.run(&["remember", "--type", "project", "The nest is high"]).ended_with(0);
    let tried = stage.run(&["undo", "--dry-run"]).ended_with(0);
    assert!(tried.out.contains("-The nest is high") && tried.err.contains("nothing was changed"), "{tried:#?}");
    assert_eq!(names(&stage).len(), 2);
    assert!(stage.run(&["undo"]).ended_with(0).err.contains("change 2 is taken back"));
    assert_eq!(names(&stage), ["project_the_jay_is_blue.md"]);
    assert!(stage.run(&["undo", "--last"]).ended_with(0).err.contains("change 1 is taken back"));
    assert!(names(&stage).is_empty());
    stage.run(&["undo"]).ended_with(3);
    stage.run(&["memory", "undo", "4"]).ended_with(0);
    assert_eq!(names(&stage), ["project_the_jay_is_blue.md"]);
    stage.run(&["undo", "99"]).ended_with(3).complained_about(&["no change 99", "memory log"]);
}

// spec: U8
#[tokio::test(flavor = "multi_thread")]
async fn every_answer_speaks_json_with_its_schema() {
    let stage = Stage::offline();
    stage.write("CLAUDE.md", "# Rules of the house\n");
    for (arguments, schema) in [
        (&["remember", RULE][..], "memory-receipt"),
        (&["memory", "add", "--name", "Role", "--type", "user", "I fix planes"], "memory-receipt"),
        (&["memory", "ls"], "memories"),
        (&["memory", "show", NAME], "memory"),
        (&["memory", "log"], "memory-log"),
        (&["memory", "diff"], "memory-diff"),
        (&["memory", "tokens"], "memory-tokens"),
        (&["memory", "check"], "memory-check"),
        (&["fsck"], "memory-check"),
        (&["recall", "database"], "recall"),
        (&["recall", "database", "--in", "all", "--explain"], "recall"),
        (&["memory", "forget", "user_role", "--dry-run"], "memory-dry-run"),
        (&["memory", "forget", "user_role"], "memory-receipt"),
        (&["memory", "restore", "user_role"], "memory-receipt"),
        (&["import", "CLAUDE.md"], "import"),
        (&["undo"], "memory-receipt"),
        (&["export", "-"], "export"),
        (&["export", "out"], "export"),
        (&["status"], "status"),
    ] {
        let json = stage.run(&[arguments, &["--json"]].concat()).ended_with(0).json();
        assert_eq!(json["schema"], format!("scrubjay.{schema}/1"), "{arguments:?}");
    }
    let receipt = stage.run(&["remember", "--json", "--type", "project", "The jay is blue"]).ended_with(0).json();
    let outcome = &receipt["outcomes"][0];
    assert_eq!((&outcome["outcome"], &outcome["diff"]), (&"saved".into(), &"new, 6 lines".into()));
    assert_eq!(receipt["undo"], format!("scrubjay undo {}", receipt["change"]));
    assert!(PathBuf::from(outcome["path"].as_str().unwrap()).is_file());
    let status = stage.run(&["status", "--json"]).ended_with(0).json();
    assert_eq!(status["memory"]["memories"], 3);
    let failed = stage.run(&["memory", "show", "nothing", "--json"]).ended_with(3);
    let error: Value = serde_json::from_str(&failed.err).unwrap();
    assert!(error["fix"].as_str().unwrap().contains("memory ls"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_typed_wrong_is_named_with_what_to_do() {
    let stage = Stage::offline();
    stage.run(&["remember", RULE]).ended_with(0);
    let long = "x".repeat(2_000_000);
    for (arguments, code, words) in [
        (&["memory", "show", "feedback_never_mock_the_databse"][..], 3, &["did you mean", NAME][..]),
        (&["memory", "show", "mock_database"], 3, &["did you mean", NAME]),
        (&["memory", "show", "zebra"], 3, &["no memory `zebra`", "memory ls"]),
        (&["memory", "forget", "zebra"], 3, &["no memory `zebra`"]),
        (&["memory", "restore", "zebra"], 3, &["no memory `zebra`", "memory log"]),
        (&["memory", "restore", NAME], 2, &["was not removed", "memory undo"]),
        (&["memory", "show", "../../etc/passwd"], 2, &["cannot be the name of a memory"]),
        (&["memory", "edit", "../x"], 2, &["cannot be the name"]),
        (&["memory", "forget", "MEMORY.md"], 2, &["index", "change the memory itself"]),
        (&["memory", "forget"], 2, &["NAME"]),
        (&["memory", "ls", "--type", "recipe"], 2, &["user", "feedback", "project", "reference"]),
        (&["memory", "ls", "--type", "user"], 3, &["no memory has type user"]),
        (&["memory", "log", "zebra"], 3, &["no memory `zebra`"]),
        (&["memory", "diff", "77"], 3, &["no change 77"]),
        (&["memory", "confirm", NAME], 3, &["does not wait"]),
        (&["remember", "   "], 2, &["nothing to remember"]),
        (&["remember"], 2, &["TEXT"]),
        (&["recall", "zebra"], 3, &["nothing answers `zebra`", "--in all"]),
        (&["recall", " "], 2, &["what should be looked for"]),
        (&["recall", "x", "-k", "0"], 2, &["0"]),
        (&["import", "nowhere"], 3, &["nowhere", "cannot be read"]),
        (&["export", "."], 2, &["is not empty"]),
        (
            &["memory", "add", "--name", "Never mock the database", "--type", "feedback", "Do"],
            2,
            &["already", "memory edit"],
        ),
    ] {
        stage.write("keep.txt", "");
        stage.run(arguments).ended_with(code).complained_about(words);
    }
    given(&stage, long.as_bytes(), &["memory", "add", "-"]).ended_with(2).complained_about(&["1048576", "bytes"]);
    given(&stage, b"\xff\xfe", &["memory", "add", "-"]).ended_with(2).complained_about(&["not text"]);
    given(&stage, b"  \n", &["memory", "edit", NAME]).ended_with(2).complained_about(&["empty", "memory forget"]);
    assert_eq!(names(&stage), [format!("{NAME}.md")], "nothing of all that changed anything");
    let again = stage.run(&["remember", RULE]).ended_with(0);
    assert!(again.out.contains("it says that already") && !again.out.contains("undo"), "{again:#?}");
}

// spec: D10
// safety: F-42
#[tokio::test(flavor = "multi_thread")]
async fn what_lies_in_the_folder_is_looked_over() {
    let stage = Stage::offline();
    stage.run(&["remember", RULE]).ended_with(0);
    stage.run(&["fsck"]).ended_with(0).complained_about(&["1 memory looked at"]);
    assert!(Command::new("mkfifo").arg(folder(&stage).join("pipe.md")).status().unwrap().success());
    let ran = stage.run(&["memory", "check"]).ended_with(1).complained_about(&["1 thing to put right"]);
    assert!(ran.out.contains("wrong  pipe.md: it is not loaded"), "{ran:#?}");
    assert_eq!(names(&stage), [format!("{NAME}.md")], "a pipe is listed by nobody and waited for by nobody");
    fs::remove_file(folder(&stage).join("pipe.md")).unwrap();

    let command = |mode: &str| Command::new("chmod").arg(mode).arg(file(&stage, NAME)).status().unwrap().success();
    assert!(command("644"));
    let open = stage.run(&["fsck"]).ended_with(1).complained_about(&["--fix"]);
    assert!(open.out.contains("others on this machine may read it"), "{open:#?}");
    let fixed = stage.run(&["fsck", "--fix"]).ended_with(0);
    assert!(fixed.out.contains("fixed"), "{fixed:#?}");
    assert!(!stage.run(&["memory", "check"]).ended_with(0).out.contains("others"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_takes_no_writes_is_read_and_says_why_not_more() {
    let stage = Stage::offline();
    stage.run(&["remember", RULE]).ended_with(0);
    // Nobody, not even root, may make files below this folder of the system.
    let mut command = stage.command(&["remember", "The jay is blue"]);
    command.env("SCRUBJAY_MEMORY_PATH_OVERRIDE", "/proc/self/fd");
    finished(command).ended_with(1).complained_about(&["error:"]);
    let mut command = stage.command(&["remember", "The jay is blue"]);
    command.env("SCRUBJAY_MEMORY_PATH_OVERRIDE", "/");
    finished(command).ended_with(4).complained_about(&["memory cannot be kept there", "root of the file system"]);
}

// spec: D1
#[tokio::test(flavor = "multi_thread")]
async fn the_folder_may_lie_elsewhere_and_be_another_agents() {
    let stage = Stage::offline();
    let elsewhere = stage.project().join("theirs");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("feedback_tests.md"), "---\nname: Tests\ndescription: how\ntype: feedback\n---\nRun.\n")
        .unwrap();
    let run = |arguments: &[&str]| {
        let mut command = stage.command(arguments);
        command.env("CLAUDE_COWORK_MEMORY_PATH_OVERRIDE", &elsewhere);
        finished(command)
    };
    assert!(run(&["memory", "ls"]).ended_with(0).out.contains("feedback_tests.md"));
    run(&["remember", RULE]).ended_with(0);
    assert!(elsewhere.join(format!("{NAME}.md")).is_file());
    stage.run(&["remember", "--type", "project", "The jay is blue"]).ended_with(0);
    let log = run(&["memory", "log", "--json"]).ended_with(0).json();
    let touched: Vec<&str> = log["changes"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|change| change["edits"].as_array().unwrap())
        .map(|edit| edit["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        touched,
        [format!("{NAME}.md").as_str(), "feedback_tests.md"],
        "each folder has a history of its own: {log}"
    );
    assert_eq!(names(&stage), ["project_the_jay_is_blue.md"]);
    stage.write(".scrubjay.toml", "[memory]\ndirectory = \"/tmp/stolen/memory\"\n");
    let ran = stage.run(&["memory", "ls", "--json"]).ended_with(0);
    assert!(!ran.json()["directory"].as_str().unwrap().contains("stolen"), "a repository does not choose: {ran:#?}");
}

// spec: D1
#[tokio::test(flavor = "multi_thread")]
async fn a_remote_folder_holds_the_memory_and_its_history() {
    let stage = Stage::offline();
    let remote = stage.project().join("mounted/remote");
    let run = |arguments: &[&str]| {
        let mut command = stage.command(arguments);
        command.env("SCRUBJAY_REMOTE_MEMORY_DIR", &remote);
        finished(command)
    };
    run(&["remember", RULE]).ended_with(0);
    let below = files(&remote);
    let holds = |part: &str| below.iter().any(|path| path.to_string_lossy().contains(part));
    assert!(holds(&format!("/memory/{NAME}.md")) && holds("/journal/"), "{below:?}");
    run(&["memory", "undo"]).ended_with(0);
    assert!(!files(&remote).iter().any(|path| path.ends_with(format!("memory/{NAME}.md"))));
}

// safety: F-40
#[tokio::test(flavor = "multi_thread")]
async fn a_memory_cannot_steer_the_terminal() {
    let stage = Stage::offline();
    stage.run(&["remember", RULE]).ended_with(0);
    let evil = "---\nname: \"\\e[2Jevil\"\ndescription: \"\\e]0;owned\\a the colour \\u202e of jays\"\ntype: user\n---\nred \u{1b}[31m text\u{7}\n";
    fs::write(file(&stage, "user_evil"), evil).unwrap();
    for arguments in [
        &["memory", "ls"][..],
        &["memory", "log"],
        &["memory", "diff"],
        &["memory", "check"],
        &["recall", "colour of jays", "--explain"],
        &["recall", "colour of jays", "--in", "all"],
        &["memory", "forget", "user_evil", "--dry-run"],
        &["memory", "forget", "user_evil"],
        &["status"],
        &["doctor"],
    ] {
        let ran = stage.run(arguments);
        assert!(
            !format!("{}{}", ran.out, ran.err).contains(['\u{1b}', '\u{7}', '\u{202e}']),
            "{arguments:?}: {ran:#?}"
        );
    }
    stage.run(&["memory", "restore", "user_evil"]).ended_with(0);
    let json = stage.run(&["memory", "show", "user_evil", "--json"]).ended_with(0);
    assert!(!json.out.contains(['\u{1b}', '\u{7}']) && json.json()["text"] == evil, "whole, and escaped: {json:#?}");
    block(|| {
        let mut terminal = Terminal::start(&stage, &["memory", "show", "user_evil"]);
        let screen = terminal.wait_for("text");
        assert!(screen.contains("⟦U+001B⟧[31m"), "{screen}");
        terminal.wait_for_end();
    });
}

/// A script that stands for the person's editor; it gets the copy as its first argument.
fn editor(stage: &Stage, script: &str) -> String {
    stage.write("editor.sh", script);
    format!("sh {}", stage.project().join("editor.sh").display())
}

fn edit(stage: &Stage, script: &str, until: &str) -> (String, u32) {
    let editor = editor(stage, script);
    block(|| {
        let mut terminal = Terminal::start_with(stage, &["memory", "edit", NAME], &[("EDITOR", &editor)]);
        let screen = terminal.wait_for(until);
        let status = terminal.wait_for_end();
        (screen, status.exit_code())
    })
}

// spec: N2
#[tokio::test(flavor = "multi_thread")]
async fn an_editor_changes_a_copy_and_nobody_loses_a_word() {
    let stage = Stage::offline();
    stage.run(&["remember", RULE]).ended_with(0);
    let before = fs::read_to_string(file(&stage, NAME)).unwrap();

    let (screen, code) = edit(&stage, "exit 3", "nothing was changed");
    assert!(code == 1 && screen.contains("ended with exit status: 3"), "{screen}");
    let (screen, code) = edit(&stage, "echo half a word > \"$1\"; exit 1", "is kept in");
    assert_eq!(code, 1, "{screen}");
    let kept: Vec<PathBuf> = files(&stage.home().join("state/edit"));
    assert_eq!(kept.iter().map(|path| fs::read_to_string(path).unwrap()).collect::<Vec<_>>(), ["half a word\n"]);
    assert_eq!(fs::read_to_string(file(&stage, NAME)).unwrap(), before);

    let (_, code) = edit(&stage, "true", "it says that already");
    assert_eq!(code, 0);
    let (screen, code) = edit(&stage, "echo '**Why:** it cost a day.' >> \"$1\"", "take it back");
    assert!(code == 0 && screen.contains("+ “**Why:** it cost a day.”"), "{screen}");

    // Somebody else saves the same lines while the editor is open.
    let theirs = file(&stage, NAME).display().to_string();
    let script = format!(
        "sed -i 's/cost a day/cost a week/' \"$1\"; sed 's/cost a day/cost a month/' '{theirs}' > '{theirs}.new'; mv '{theirs}.new' '{theirs}'"
    );
    let (screen, code) = edit(&stage, &script, "Both are kept");
    assert_eq!(code, 0, "{screen}");
    assert!(fs::read_to_string(file(&stage, NAME)).unwrap().contains("cost a month"));
    let copy = names(&stage).into_iter().find(|name| name.contains(".conflict-")).unwrap();
    assert!(fs::read_to_string(folder(&stage).join(copy)).unwrap().contains("cost a week"));
}

// spec: L5
#[tokio::test(flavor = "multi_thread")]
async fn recall_finds_and_explains() {
    let stage = Stage::offline();
    stage.run(&["remember", RULE]).ended_with(0);
    stage.run(&["remember", "--type", "project", "The jay stores seeds in autumn"]).ended_with(0);
    let found = stage.run(&["recall", "which", "database", "rule", "--explain"]).ended_with(0);
    assert!(found.out.starts_with(&format!("{NAME}.md")) && found.out.contains("score"), "{found:#?}");
    assert!(found.out.contains("words") && found.out.contains(&format!("scrubjay memory show {NAME}")), "{found:#?}");
    let json = stage.run(&["recall", "seeds", "-k", "1", "--json"]).ended_with(0).json();
    let first = &json["results"][0];
    assert!(first["name"].as_str().unwrap().contains("jay") && json["results"].as_array().unwrap().len() == 1);
    assert!(first["signals"][0]["value"].as_f64().unwrap() > 0.0, "{json}");
    for number in 0..6 {
        stage.run(&["remember", &format!("I drink tea number {number}")]).ended_with(0);
    }
    assert!(found.out.contains("relevance 0.") && found.out.contains("unasked from 0."), "{found:#?}");
    assert!(first["relevance"].as_f64().is_some_and(|relevance| (0.0..=1.0).contains(&relevance)), "{json}");
    let none = stage.run(&["recall", "sort these numbers in ascending order"]).ended_with(3);
    assert!(none.out.is_empty(), "{none:#?}");

    stage.run(&["recall", "which", "database", "rule", "--set", "limits.recall_search_floor=100"]).ended_with(3);
    let simulator = Simulator::start(Script::new().otherwise(text("Acorns, mostly."))).await.unwrap();
    let talking = Stage::with(&simulator);
    talking.run(&["-p", "what do woodpeckers hoard?"]).ended_with(0);
    talking.run(&["recall", "woodpeckers"]).ended_with(3);
    for place in ["sessions", "all"] {
        let said = talking.run(&["recall", "woodpeckers", "--in", place]).ended_with(0);
        assert!(said.out.contains("session ") && said.out.contains("what do woodpeckers hoard?"), "{said:#?}");
    }
}

// spec: L8
#[test]
fn the_example_of_the_readme_shares_no_word_and_is_found() {
    let stage = Stage::offline();
    stage.run(&["remember", "Never mock the database"]).ended_with(0);
    stage.run(&["remember", "--type", "project", "The quarterly report is due on Friday"]).ended_with(0);
    let found = stage.run(&["recall", "how do we test"]).ended_with(0);
    assert!(found.out.contains("Never mock the database"), "{found:#?}");
}

// spec: L8
// spec: W1
// spec: W2
#[tokio::test(flavor = "multi_thread")]
async fn recall_finds_by_meaning_where_a_service_is_named_by_the_person() {
    let service = Meanings::start(&[&["seed", "acorn", "food"], &["database"]]).await.unwrap();
    let stage = Stage::offline();
    stage.run(&["remember", RULE]).ended_with(0);
    stage.run(&["remember", "--type", "project", "The jay stores seeds in autumn"]).ended_with(0);
    let question = ["recall", "hoarded food", "--explain"];
    stage.run(&question).ended_with(3);
    stage.write(".scrubjay.toml", &format!("recall.embeddings = \"{}\"\n", service.url()));
    stage.run(&question).ended_with(3);
    assert!(service.take().is_empty(), "a repository does not decide where texts go");

    let by_meaning = ["recall", "hoarded food", "--explain", "--embeddings", &service.url()];
    let found = stage.run(&by_meaning).ended_with(0);
    assert!(found.out.contains("seeds in autumn") && found.out.contains("meaning"), "{found:#?}");
    assert!(!found.out.contains(NAME), "what is far in meaning and words is not found: {found:#?}");
    assert_eq!(service.take().len(), 2, "the question, and both memories at once");
    stage.run(&by_meaning).ended_with(0);
    assert_eq!(service.take().len(), 1, "the question alone: nothing changed");

    fs::remove_file(stage.project().join(".scrubjay.toml")).unwrap();
    let with = |arguments: &[&str]| {
        let mut command = stage.command(arguments);
        command.env("SCRUBJAY_EMBEDDINGS", service.url()).env("SCRUBJAY_EMBEDDING_MODEL", "tiny");
        command.env("SCRUBJAY_EMBEDDINGS_KEY", CANARY).env("OPENAI_API_KEY", "sk-not-for-this-service");
        finished(command)
    };
    let found = with(&["recall", "--in", "all", "hoarded food"]).ended_with(0);
    assert!(found.out.contains("seeds in autumn"), "{found:#?}");
    let asked = service.take();
    assert!(asked.iter().all(|request| request.authorization.as_deref() == Some(&format!("Bearer {CANARY}"))));
    assert!(asked.iter().all(|request| request.model.as_deref() == Some("tiny")), "{asked:?}");
    let doctor = with(&["doctor"]);
    assert!(doctor.out.contains("tiny at 127.0.0.1") && !doctor.out.contains(CANARY), "{doctor:#?}");

    service.behave(Manner::Refusing(403));
    let found = with(&["recall", "which seeds"]).ended_with(0);
    assert!(found.out.contains("seeds in autumn") && found.err.contains("found by words alone"), "{found:#?}");
    assert!(!format!("{found:?}").contains(CANARY));
}

/// A folder as another agent leaves it.
fn theirs(stage: &Stage) -> PathBuf {
    let dir = stage.project().join("theirs");
    fs::create_dir_all(dir.join("deep")).unwrap();
    let put = |name: &str, text: &str| fs::write(dir.join(name), text).unwrap();
    put("MEMORY.md", "# Index\n- [Real database](tests.md) — never mock it\n\nAda likes short answers.\n");
    put("tests.md", "Run them against the real one.\n");
    put("user_role.md", "---\nname: Role\ndescription: fixes planes\ntype: user\nmood: calm\n---\nSee [[tests]].\n");
    put("deep/tests.md", "---\nname: Deep\ndescription: other\ntype: project\n---\nOther.\n");
    put("AGENTS.md", "# How we build\nwith care\n");
    put("blank.md", "\n");
    put("not-text.md", "");
    fs::write(dir.join("not-text.md"), b"\xff\xfe").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", dir.join("link.md")).unwrap();
    assert!(Command::new("mkfifo").arg(dir.join("pipe.md")).status().unwrap().success());
    dir
}

// spec: X4
#[tokio::test(flavor = "multi_thread")]
async fn another_agents_memory_comes_in_once_as_one_change() {
    let stage = Stage::offline();
    let dir = theirs(&stage);
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(40 * 86_400);
    fs::File::options().write(true).open(dir.join("user_role.md")).unwrap().set_modified(old).unwrap();
    stage.run(&["memory", "add", "--type", "user", "--name", "Role", "Mine"]).ended_with(0);

    let tried = stage.run(&["import", "theirs", "--dry-run"]).ended_with(0);
    assert!(tried.out.contains("+See [[tests]].") && tried.err.contains("5 memories would come"), "{tried:#?}");
    assert_eq!(names(&stage), ["user_role.md"]);

    let came = stage.run(&["import", "theirs"]).ended_with(0);
    came.complained_about(&[
        "5 memories brought in",
        "5 memories wait unconfirmed",
        "`scrubjay inbox keep --all`",
        "link.md is not a plain file",
        "pipe.md",
        "not UTF-8",
        "blank.md is empty",
    ]);
    assert_eq!(
        names(&stage),
        [
            "deep/tests.md",
            "note_what_the_index_said.md",
            "reference_agents_md_of_theirs.md",
            "tests.md",
            "user_role.md",
            "user_role_2.md"
        ]
    );
    let read = |name: &str| fs::read_to_string(file(&stage, name)).unwrap();
    assert!(read("user_role").contains("Mine"), "nothing is overwritten");
    assert_eq!(read("user_role_2"), fs::read_to_string(dir.join("user_role.md")).unwrap());
    assert!(
        read("tests").contains("name: \"Real database\"") && read("tests").contains("description: \"never mock it\"")
    );
    assert!(read("note_what_the_index_said").contains("Ada likes short answers."));
    let reference = read("reference_agents_md_of_theirs");
    assert!(
        reference.contains("AGENTS.md") && !reference.contains("with care"),
        "a reference, not a copy: {reference}"
    );

    let shown = stage.run(&["memory", "show", "user_role_2", "--json"]).ended_with(0).json();
    assert_eq!(shown["rests_on"]["trust"], "tainted", "it is not what the user said");
    assert!(shown["rests_on"]["doubt"].as_str().unwrap().starts_with("imported from "), "{shown}");
    assert_eq!(shown["rests_on"]["sources"][0]["speaker"], "file");
    let index = || fs::read_to_string(file(&stage, "user_role").with_file_name("MEMORY.md")).unwrap();
    assert!(!index().contains("user_role_2"), "no session begins with it: {}", index());
    stage.run(&["inbox", "keep", "--all"]).ended_with(0);
    assert!(index().contains("user_role_2") && index().contains("deep/tests.md"), "{}", index());
    let listed = stage.run(&["memory", "ls"]).ended_with(0).out;
    assert!(listed.contains("user_role_2.md  user · 40 days ago"), "as old as it was: {listed}");

    stage.run(&["undo"]).ended_with(0);
    assert!(!index().contains("user_role_2"), "one yes, taken back as one");
    stage.run(&["undo"]).ended_with(0);
    assert_eq!(names(&stage), ["user_role.md"], "one change, taken back as one");
    stage.run(&["import", "theirs", "--trust"]).ended_with(0);
    assert_eq!(trust(&stage, "user_role_2"), "confirmed", "the user knows it");
    stage.run(&["undo"]).ended_with(0);
    assert!(dir.join("user_role.md").is_file(), "copied, not moved");
}

fn trust(stage: &Stage, name: &str) -> serde_json::Value {
    stage.run(&["memory", "show", name, "--json"]).ended_with(0).json()["rests_on"]["trust"].clone()
}

// spec: X5
#[tokio::test(flavor = "multi_thread")]
async fn what_waits_from_an_import_is_confirmed_when_the_user_trusts_the_same_files() {
    let stage = Stage::offline();
    for name in ["tea", "ferry", "yard"] {
        let text =
            format!("---\nname: {name}\ndescription: about the {name}\ntype: project\n---\nThe {name} is green.\n");
        put(&stage, &format!("project_{name}.md"), &text);
    }
    stage.run(&["import", "vault"]).ended_with(0);
    assert_eq!(trust(&stage, "project_tea"), "tainted");
    let changed = file(&stage, "project_yard");
    fs::write(&changed, fs::read_to_string(&changed).unwrap().replace("green", "closed")).unwrap();
    let again = stage.run(&["import", "vault", "--trust", "--json"]).ended_with(0).json();
    assert_eq!((&again["imported"], &again["confirmed"]), (&0.into(), &2.into()), "{again}");
    assert_eq!(trust(&stage, "project_tea"), "confirmed", "it waited, and the user knows it");
    stage.run(&["undo"]).ended_with(0);
    assert_eq!(trust(&stage, "project_tea"), "tainted", "taken back as one");
}

/// Where a memory leads to that is not there.
fn gone(stage: &Stage, name: &str) -> serde_json::Value {
    stage.run(&["memory", "show", name, "--json"]).ended_with(0).json()["gone"].clone()
}

/// A file of a vault.
fn put(stage: &Stage, name: &str, text: &str) {
    let path = stage.project().join("vault").join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A vault as people keep it: folders, spaces, links of every kind.
fn vault(stage: &Stage) {
    for (name, text) in [
        ("Home.md", "# Home\n- [[Birds]], [birds](Projects/Birds.md#song) and [space](Some%20Folder/My%20Note.md)\n"),
        (
            "Projects/Birds.md",
            "Back [home](../Home.md), [by root](Daily/2026-01-02.md), [gone](nope.md), `[x](../Home.md)`\n",
        ),
        ("Daily/2026-01-02.md", "A day with [birds](../Projects/Birds.md) and [us](../team/Rules.md).\n"),
        ("Some Folder/My Note.md", "Up to [home](<../Home.md>).\n"),
        ("team/Rules.md", "Not shared here: [home](../Home.md)\n"),
        ("CLAUDE.md", "# Build\nmake\n"),
        ("AGENTS.md", "# Build\nmake\n"),
    ] {
        put(stage, name, text);
    }
}

// spec: D11
// spec: F3
#[tokio::test(flavor = "multi_thread")]
async fn a_vault_keeps_its_folders_and_its_links_stay_true() {
    let stage = Stage::offline();
    vault(&stage);
    stage.run(&["memory", "add", "--type", "user", "--name", "Mine", "Mine"]).ended_with(0);
    fs::rename(file(&stage, "user_mine"), file(&stage, "home")).unwrap();

    stage.run(&["import", "vault"]).ended_with(0).complained_about(&["7 memories brought in"]);
    let paths = [
        "daily/2026-01-02.md",
        "home.md",
        "home_2.md",
        "projects/birds.md",
        "reference_agents_md_of_vault.md",
        "reference_claude_md_of_vault.md",
        "some_folder/my_note.md",
        "team_rules.md",
    ];
    assert_eq!(names(&stage), paths);
    let read = |name: &str| fs::read_to_string(file(&stage, name)).unwrap();
    let home = read("home_2");
    assert!(
        home.ends_with("- [[Birds]], [birds](projects/birds.md#song) and [space](some_folder/my_note.md)\n"),
        "{home}"
    );
    assert!(
        read("projects/birds")
            .ends_with("[home](../home_2.md), [by root](../daily/2026-01-02.md), [gone](nope.md), `[x](../Home.md)`\n")
    );
    assert!(read("daily/2026-01-02").ends_with("[birds](../projects/birds.md) and [us](../team_rules.md).\n"));
    assert!(read("some_folder/my_note").ends_with("[home](<../home_2.md>).\n"));
    // The last part of its path is enough to name one.
    for (name, missing) in [("my_note", json!([])), ("birds.md", json!(["nope.md"])), ("home_2", json!([]))] {
        assert_eq!(gone(&stage, name), missing, "{name}");
    }
    let checked = stage.run(&["memory", "check", "--json"]).ended_with(0).json();
    for reason in ["contradicted", "duplicate"] {
        assert_eq!(checked["pollution"]["reasons"][reason], json!([]), "two references are two");
    }
    let reference = read("reference_claude_md_of_vault");
    assert!(reference.ends_with("/vault/CLAUDE.md>)\n\n- Build\n"), "{reference}");
    let birds = stage.run(&["memory", "show", "birds", "--json"]).ended_with(0).json();
    assert_eq!(birds["description"], "Back home, by root, gone, `[x](../Home.md)`");
    assert_eq!(checked["pollution"]["reasons"]["drifted"], json!(["projects/birds.md"]));
    assert_eq!(gone(&stage, "reference_claude_md_of_vault"), json!([]));
    fs::remove_file(stage.project().join("vault/CLAUDE.md")).unwrap();
    assert_eq!(gone(&stage, "reference_claude_md_of_vault"), json!(["vault/CLAUDE.md"]));

    // What comes later leads to what came before.
    put(&stage, "Daily/2026-01-03.md", "Again with [birds](../Projects/Birds.md).\n");
    stage.run(&["import", "vault"]).ended_with(0).complained_about(&["1 memory brought in", "6 memories are here"]);
    assert!(read("daily/2026-01-03").ends_with("[birds](../projects/birds.md).\n"));
    stage.run(&["undo"]).ended_with(0);
    stage.run(&["undo"]).ended_with(0);
    assert_eq!(names(&stage), ["home.md"]);
    assert_eq!(files(file(&stage, "home").parent().unwrap()).len(), 2, "the index and what was there before");
    stage.run(&["memory", "restore", "my_note"]).ended_with(0);
    assert_eq!(names(&stage), ["home.md", "some_folder/my_note.md"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_came_in_once_does_not_come_again() {
    let stage = Stage::offline();
    theirs(&stage);
    stage.run(&["import", "theirs"]).ended_with(0);
    let again = stage
        .run(&["import", "theirs"])
        .ended_with(0)
        .complained_about(&["0 memories brought in", "5 memories are here"]);
    assert!(again.out.is_empty(), "{again:#?}");
    given(
        &stage,
        b"---\nname: Role\ndescription: fixes engines\ntype: user\n---\nx\n",
        &["memory", "edit", "user_role"],
    )
    .ended_with(0);
    stage.run(&["import", "theirs"]).ended_with(0).complained_about(&["0 memories brought in"]);
    assert_eq!(names(&stage).len(), 5, "what was corrected here does not come back");
}

#[tokio::test(flavor = "multi_thread")]
async fn known_agents_are_found_by_name_and_nothing_is_said_aloud() {
    let stage = Stage::offline();
    let empty = stage.project().join("empty");
    fs::create_dir(&empty).unwrap();
    stage.run(&["import", "empty"]).ended_with(3).complained_about(&["no Markdown file"]);
    let root = stage.project().canonicalize().unwrap().display().to_string();
    let slug: String = root.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let user = stage.project().parent().unwrap().join("user");
    let claude = user.join(".claude/projects").join(slug).join("memory");
    let codex = user.join(".codex/memories");
    for dir in [&claude, &codex] {
        fs::create_dir_all(dir).unwrap();
    }
    let header = "name: a\ndescription: from one agent\nmetadata: \n  node_type: memory\n  type: feedback";
    fs::write(claude.join("a.md"), format!("---\n{header}\n---\nFrom one agent.\n")).unwrap();
    fs::write(codex.join("raw_memories.md"), "From another agent.\n").unwrap();
    stage.run(&["import", "claude"]).ended_with(0).complained_about(&["1 memory brought in"]);
    stage.run(&["import", "codex"]).ended_with(0).complained_about(&["1 memory brought in"]);
    assert_eq!(names(&stage), ["a.md", "raw_memories.md"]);
    let kept = stage.run(&["memory", "ls", "--type", "feedback", "--json"]).ended_with(0).json();
    assert_eq!(kept["memories"][0]["name"], "a.md", "its type is read where that agent keeps it");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_goes_out_comes_in_again_and_credentials_stay() {
    let stage = Stage::offline();
    stage.run(&["export", "out"]).ended_with(3).complained_about(&["nothing is remembered"]);
    let secret = &["ghp", "16C7e42F292c6912E7710c838347Ae178B4a"].join("_");
    stage.run(&["remember", RULE]).ended_with(0);
    stage
        .run(&["remember", "--type", "project", &format!("Deploys use {secret}")])
        .ended_with(0)
        .complained_about(&["credential", "take it back"]);
    stage.run(&["export", "out", "--dry-run"]).ended_with(0);
    assert!(!stage.project().join("out").exists());
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(40 * 86_400);
    fs::File::options().write(true).open(file(&stage, NAME)).unwrap().set_modified(old).unwrap();
    let mut short = stage.command(&["export", "out"]);
    short.env("SCRUBJAY_LIMIT_INDEX_LINES", "1");
    finished(short).ended_with(0).complained_about(&["credential"]);
    let index = fs::read_to_string(stage.project().join("out/MEMORY.md")).unwrap();
    assert_eq!(index.lines().count(), 2, "all of it, whatever a session sees: {index}");
    for path in files(&stage.project().join("out")) {
        assert!(!fs::read_to_string(&path).unwrap().contains(secret), "{path:?}");
    }
    let out = stage.run(&["export", "-"]).ended_with(0).out;
    assert!(out.contains(&format!("<!-- {NAME}.md -->")) && !out.contains(secret), "{out}");
    let other = Stage::offline();
    let from = stage.project().join("out").display().to_string();
    other.run(&["import", &from]).ended_with(0).complained_about(&["2 memories brought in"]);
    assert_eq!(fs::read(file(&other, NAME)).unwrap(), fs::read(file(&stage, NAME)).unwrap());
    let listed = other.run(&["memory", "ls"]).ended_with(0).out;
    assert!(listed.contains(&format!("{NAME}.md  feedback · 40 days ago")), "as old as it was: {listed}");
}

// spec: D11
#[tokio::test(flavor = "multi_thread")]
async fn a_files_text_is_remembered_as_the_users_own() {
    let stage = Stage::offline();
    stage.write("rules.md", "Deploys go out on Tuesdays only.\n\nThe rest of the week is for tests.\n");
    stage.run(&["remember", "--type", "project", "--file", "rules.md"]).ended_with(0);
    let path = file(&stage, "project_deploys_go_out_on_tuesdays_only");
    assert!(fs::read_to_string(path).unwrap().contains("The rest of the week is for tests."));
    assert_eq!(stage.run(&["inbox", "--json"]).ended_with(0).json()["waiting"], json!([]), "it is clean");
    given(&stage, b"Never mock the database.", &["remember", "--file", "-"]).ended_with(0);
    assert!(names(&stage).contains(&format!("{NAME}.md")));
    fs::create_dir(stage.project().join("folder")).unwrap();
    fs::write(stage.project().join("picture"), b"\x89PNG\0\xff").unwrap();
    stage.write("empty", " \n");
    stage.write("large", &"a line of a large file\n".repeat(200_000));
    for (name, code, words) in [
        ("nowhere", 3, "there is no file"),
        ("folder", 2, "is a folder"),
        ("picture", 2, "is not a text file"),
        ("empty", 2, "is empty"),
        ("large", 2, "the most a memory may have"),
    ] {
        stage.run(&["remember", "--file", name]).ended_with(code).complained_about(&[name, words]);
    }
    stage.run(&["remember", "--file", "rules.md", "words"]).ended_with(2);
    assert_eq!(names(&stage).len(), 2, "nothing else was kept");
    stage.write("notes.md", "Staging is rebuilt every night.\n");
    block(|| {
        let mut terminal = Terminal::start(&stage, &["chat"]);
        terminal.wait_for_prompt();
        terminal.type_line("/remember --file notes.md");
        terminal.wait_for("take it back with `/undo 3`");
        terminal.wait_for_prompt();
        terminal.type_line("/remember --file nowhere");
        terminal.wait_for("there is no file");
        terminal.wait_for_prompt();
    });
    assert!(names(&stage).contains(&"project_staging_is_rebuilt_every_night.md".to_owned()), "{:?}", names(&stage));
}

// spec: Q7
#[tokio::test(flavor = "multi_thread")]
async fn the_chat_remembers_finds_forgets_and_takes_back() {
    let stage = Stage::offline();
    block(|| {
        let mut terminal = Terminal::start(&stage, &["chat"]);
        terminal.wait_for_prompt();
        for (line, words) in [
            ("/memory", "nothing is remembered yet"),
            ("# Never mock the database", "take it back with `/undo 1`"),
            ("/remember I'm new to Rust", "take it back with `/undo 2`"),
            ("/memory", "user · just now"),
            ("/memory show user_i_m_new_to_rust", "your own words"),
            ("/recall mock database", "scrubjay memory show feedback_never_mock_the_database"),
            ("/forget user_i_m_new_to_rust", "now in the trash"),
            ("/forget zebra", "there is no memory `zebra`"),
            ("/undo", "change 3 is taken back"),
            ("#", "what should be remembered?"),
            ("/help", "the same as /remember"),
        ] {
            terminal.type_line(line);
            terminal.wait_for(words);
            terminal.wait_for_prompt();
        }
        terminal.type_line("/quit");
        terminal.wait_for_end();
    });
    assert_eq!(names(&stage), [format!("{NAME}.md"), "user_i_m_new_to_rust.md".to_owned()]);
}
