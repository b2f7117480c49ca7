//! With a team: two folders, of which the extractor is told both, and each memory goes where it belongs.

use scrubjay::limits::Limits;
use scrubjay::memory::extraction::Attendance;
use scrubjay::memory::{Place, SharedMemory, Team, Trust};
use scrubjay::message::Origin;
use scrubjay::model::Model;
use scrubjay::paths::Layout;
use scrubjay::prompt::Prompt;
use scrubjay::tools::{self, Keeper};
use scrubjay::{Learns, Remembering};
use scrubjay_providers::Offline;
use scrubjay_providers::scripted::{Scripted, Turn};
use scrubjay_testkit::{FixedClock, Home, Setting, Story};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

fn begun(model: Arc<dyn Model>) -> (Story, SharedMemory) {
    let (home, limits) = (Home::new().unwrap(), Limits::default());
    let project = Layout::at(home.data()).project(Path::new("/home/ada/birds"), &limits);
    let place = Place { team: Team::On, ..Place::of(&project) };
    let clock = Arc::new(FixedClock::default());
    let (memory, _) = SharedMemory::open(&place, &project, clock, &limits).unwrap();
    let keeper: Arc<dyn Keeper> = Arc::new(memory.clone());
    let setting = Setting::new(model).switch("layers.team", "true").switch("layers.recall", "false");
    let mut story = setting.tools(tools::kept_by(Some(keeper), &[], &limits)).begin_in(home).unwrap();
    let from = Remembering { memory: memory.clone(), chooser: None, root: story.home.project() };
    let learns = Learns { transcripts: project.dir().to_owned(), attendance: Attendance::Person, model: None };
    story.session = story.session.remembering(from).learning(learns);
    (story, memory)
}

async fn say(story: &mut Story, said: &str) {
    story.ask(said).await.unwrap();
    assert!(story.session.wait_for_background(Duration::from_secs(60)).await.unwrap());
    story.check();
}

fn files(memory: &SharedMemory) -> Vec<String> {
    memory.with(|memory| {
        memory.refresh().unwrap();
        memory.scan().entries.iter().map(|entry| entry.path.clone()).collect()
    })
}

/// What the extractor is told, if this is its request, and how often it has written.
fn errand(prompt: &Prompt) -> Option<(String, usize)> {
    let is_errand = |text: &str| text.contains("name=\"extract\"");
    let at = prompt.history.iter().position(|one| one.origin == Origin::Reminder && is_errand(&one.text()))?;
    let rounds = prompt.history[at..].iter().filter(|one| one.origin == Origin::Tool).count();
    Some((prompt.history[at].text(), rounds))
}

/// The folder that a line of the directive names.
fn named(told: &str, line: &str) -> String {
    told.lines().find_map(|one| one.strip_prefix(line)).unwrap().trim().to_owned()
}

const SAID: &str = "I keep bees. Our releases are signed by the harbour office on Thursdays.";

fn note(kind: &str, body: &str, cite: &str) -> String {
    format!("---\nname: {kind} note\ndescription: {body}\ntype: {kind}\ncites: [\"{cite}\"]\n---\n{body}\n")
}

// spec: G1
// spec: X5
#[tokio::test]
async fn the_extractor_is_told_of_both_folders_and_writes_into_both() {
    let model = Arc::new(Scripted::new().afterwards(|prompt| {
        let Some((told, round)) = errand(prompt) else { return Ok(Turn::text("The mast is 30 metres high.")) };
        let private = named(&told, "- private, seen by this person alone:");
        let team = named(&told, "- team, seen by everybody who works on this project:");
        let write = |dir: &str, file: &str, text: String| {
            Turn::call("Write", json!({ "file_path": format!("{dir}/{file}"), "content": text }))
        };
        let releases = "Our releases are signed by the harbour office on Thursdays";
        let mast = "The mast is 30 metres high";
        Ok(match round {
            0 => write(&private, "user_bees.md", note("user", "Keeps bees.", "I keep bees")),
            1 => write(&team, "project_releases.md", note("project", &format!("{releases}."), releases)),
            2 => write(&team, "user_bees.md", note("user", "Keeps bees, too.", "I keep bees")),
            3 => write(&team, "reference_mast.md", note("reference", &format!("{mast}."), mast)),
            _ => Turn::text("saved"),
        })
    }));
    let (mut story, memory) = begun(model.clone());
    say(&mut story, SAID).await;
    let (told, _) = model.prompts().iter().find_map(errand).unwrap();
    for words in
        ["two folders", "credential never goes into the team folder", "- user: always private", "- project: team"]
    {
        assert!(told.contains(words), "{words}: {told}");
    }
    let found = files(&memory);
    assert!(found.contains(&"user_bees.md".to_owned()) && found.contains(&"team/project_releases.md".to_owned()));
    assert!(!found.contains(&"team/user_bees.md".to_owned()), "what is about the person is never shared: {found:?}");
    let trust = |path: &str| memory.with(|memory| memory.rests_on(path).map(|basis| basis.trust));
    assert_eq!(trust("team/project_releases.md"), Some(Trust::Clean));
    assert!(!found.contains(&"team/reference_mast.md".to_owned()), "what only the model said is not shared: {found:?}");
    let index = |file: &str| std::fs::read_to_string(memory.dir().join(file)).unwrap();
    assert!(index("MEMORY.md").contains("user_bees.md") && !index("MEMORY.md").contains("releases"));
    assert!(index("team/MEMORY.md").contains("project_releases.md") && !index("team/MEMORY.md").contains("bees"));
}

// spec: G1
// spec: E10
#[tokio::test]
async fn without_a_model_each_kind_goes_where_it_belongs_and_both_indexes_are_loaded() {
    let (mut story, memory) = begun(Arc::new(Offline::new(&Limits::default())));
    say(&mut story, "Remember that I am a violinist.").await;
    say(&mut story, "From now on, keep answers short.").await;
    say(&mut story, "In this repository we use tabs.").await;
    say(&mut story, "We decided to drop support for Python 3.8.").await;
    say(&mut story, "Pipeline bugs are tracked in Linear under INGEST.").await;
    let found = files(&memory);
    let shared: Vec<&str> = found.iter().filter_map(|path| path.strip_prefix("team/")).collect();
    let kinds =
        |paths: &[&str]| paths.iter().map(|path| path.split('_').next().unwrap().to_owned()).collect::<Vec<_>>();
    let private: Vec<&str> = found.iter().map(String::as_str).filter(|path| !path.starts_with("team/")).collect();
    assert_eq!(kinds(&private), ["feedback", "user"], "{found:?}");
    assert_eq!(kinds(&shared), ["feedback", "project", "reference"], "{found:?}");
    let told = memory.told(Path::new("/past"), &story.session.desk().settings).unwrap();
    let [own, team] = told.indexes.as_slice() else { panic!("{:?}", told.indexes) };
    assert!(own.text.contains("violinist") && !own.text.contains("Python"), "{}", own.text);
    assert!(
        team.text.contains("Python") && team.text.contains("bugs") && !team.text.contains("violinist"),
        "{}",
        team.text
    );
    assert!(team.path.ends_with("team/MEMORY.md") && told.behaviour.contains("<scope>always private</scope>"));
}

// spec: X4
// spec: G1
#[tokio::test]
async fn what_somebody_of_the_team_shared_is_shown_as_theirs() {
    let (story, memory) = begun(Arc::new(Offline::new(&Limits::default())));
    std::fs::create_dir_all(memory.dir().join("team")).unwrap();
    let text = "---\nname: Board\ndescription: where bugs are\ntype: reference\n---\nBugs are on the board.\n";
    std::fs::write(memory.dir().join("team/reference_board.md"), text).unwrap();
    assert_eq!(files(&memory), ["team/reference_board.md"]);
    let paths = ["team/reference_board.md".to_owned()];
    let shown = memory.recollections(&paths, &story.home.project(), &CancellationToken::new());
    assert_eq!(shown.iter().map(|one| one.from.as_deref()).collect::<Vec<_>>(), [Some("team")]);
}
