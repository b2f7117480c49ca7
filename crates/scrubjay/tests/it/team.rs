//! With a team: two folders, of which the extractor is told both, and each memory goes where it belongs.

use scrubjay::limits::Limits;
use scrubjay::memory::extraction::{Attendance, TOOL};
use scrubjay::memory::{Place, SharedMemory, Team, Trust};
use scrubjay::model::Model;
use scrubjay::paths::Layout;
use scrubjay::prompts;
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

const SAID: &str = "I keep bees. Our releases are signed by the harbour office on Thursdays.";

// spec: G1
// spec: X5
#[tokio::test]
async fn what_the_learner_saves_goes_where_its_type_belongs() {
    let model = Arc::new(Scripted::new().afterwards(|prompt| {
        let memory = |kind: &str, name: &str, cite: &str| {
            json!({ "action": "create", "type": kind, "name": name, "description": name, "statement": format!("{cite}."), "cites": [cite] })
        };
        let learned = json!({ "look_back": [], "memories": [
            memory("user", "Bees", "I keep bees"),
            memory("project", "Releases", "Our releases are signed by the harbour office on Thursdays"),
            json!({ "action": "create", "type": "reference", "name": "Height", "description": "height",
                    "statement": "The mast is 30 metres high.", "cites": ["I keep bees"] }),
        ]});
        let learns = *prompt.system == *prompts::LEARNER.trim_end();
        Ok(if learns { Turn::call(TOOL, learned) } else { Turn::text("The mast is 30 metres high.") })
    }));
    let (mut story, memory) = begun(model);
    say(&mut story, SAID).await;
    let found = files(&memory);
    assert!(
        found.contains(&"user_bees.md".to_owned()) && found.contains(&"team/project_releases.md".to_owned()),
        "{found:?}"
    );
    let trust = |path: &str| memory.with(|memory| memory.rests_on(path).map(|basis| basis.trust));
    assert_eq!(trust("team/project_releases.md"), Some(Trust::Clean));
    assert_eq!(trust("reference_height.md"), Some(Trust::Tainted), "what is in doubt is not shared: {found:?}");
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
    say(&mut story, "Remember that our tests never mock the database.").await;
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
