//! Credentials through every door of the memory, in the forms of `suites/attacks/secrets.toml`.

use crate::stage::{Stage, files};
use crate::tally::Tally;
use jiff::civil::date;
use jiff::tz::TimeZone;
use scrubjay::limits::Limits;
use scrubjay::memory::extraction::{
    Action, Draft, Grounds, LearnerAnswer, NoteWriter, Passage, Reader, Shown, apply, keep,
};
use scrubjay::memory::{Cause, Change, Edit, Kind, Place, Scope, SharedMemory, Speaker, Team, Topic, draft};
use scrubjay::message::{MessageId, SessionId};
use scrubjay::paths::Layout;
use scrubjay::tool::{MemoryNote, NoteKind, Occasion};
use scrubjay_testkit::FixedClock;
use scrubjay_testkit::simulator::{Script, Simulator, text};
use serde::Deserialize;
use std::fs;
use std::path::Path;
use std::sync::Arc;

#[derive(Deserialize)]
struct List {
    secret: Vec<Secret>,
    harmless: Vec<String>,
}

#[derive(Deserialize)]
struct Secret {
    text: String,
    value: String,
}

fn list() -> List {
    toml::from_str(include_str!("../../../../suites/attacks/secrets.toml")).unwrap()
}

/// A way into the memory, and whether it was let in.
type Door<'a> = &'a dyn Fn(&Desk) -> bool;

/// A memory that is shared with a team.
struct Desk {
    memory: SharedMemory,
    grounds: Grounds,
    held: tempfile::TempDir,
}

impl Desk {
    fn new() -> Self {
        let held = tempfile::tempdir().unwrap();
        let limits = Arc::new(Limits::default());
        let project = Layout::at(held.path()).project(held.path(), &limits);
        let place = Place { team: Team::On, ..Place::of(&project) };
        let clock = Arc::new(FixedClock::default());
        let memory = SharedMemory::open(&place, &project, clock, &limits).unwrap().0;
        let grounds = Grounds::new(SessionId::new("s"), held.path(), TimeZone::UTC, limits);
        Self { memory, grounds, held }
    }

    fn writes(&self, cause: Cause, path: &str, text: &str) -> bool {
        let edit = Edit::create(path, text);
        self.memory.with(|memory| memory.commit(Change { cause, edits: vec![edit] })).is_ok()
    }

    /// What the model asks to be kept.
    fn notes(&self, kind: NoteKind, text: &str) -> bool {
        let by = NoteWriter::of(&Occasion::default(), &self.memory);
        keep(&self.memory, &MemoryNote { kind, text: text.to_owned() }, &by).is_ok()
    }

    /// What a learner answers that was shown these words.
    fn learns(&self, words: &str) -> bool {
        let passage = Passage::new(Speaker::Person, &MessageId::new("m"), date(2026, 11, 16), words.to_owned());
        let shown = Shown::new(Reader::Typed, vec![passage]);
        let draft = Draft { action: Action::Create, file: None, topic: topic(words), cites: vec![words.to_owned()] };
        let answer = LearnerAnswer { drafts: vec![draft], look_back: Vec::new() };
        apply(&answer, &shown, &self.grounds, &self.memory).is_ok_and(|learned| !learned.saved.is_empty())
    }

    /// Whether the value can be found in any file, or in the name of one.
    fn holds(&self, value: &str) -> bool {
        found(self.held.path(), value)
    }
}

fn topic(words: &str) -> Topic {
    let (name, description) = ("Access to staging".to_owned(), "how staging is reached".to_owned());
    Topic { name, description, kind: Kind::Project, body: format!("{words}\n") }
}

fn found(dir: &Path, value: &str) -> bool {
    files(dir).iter().any(|file| fs::read(file).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(value)))
        || named(dir, value)
}

/// Whether the value can be read off a file name, as it is or as a name is made of it.
fn named(dir: &Path, value: &str) -> bool {
    let plain = |text: &str| text.to_lowercase().replace(|c: char| !c.is_alphanumeric(), "");
    let names: Vec<String> = files(dir).iter().map(|file| plain(&file.to_string_lossy())).collect();
    names.iter().any(|name| name.contains(&plain(value)))
}

// spec: G2
#[test]
fn no_credential_gets_to_a_team_or_through_a_model() {
    let mut tally = Tally::of("secrets");
    let list = list();
    for Secret { text, value } in &list.secret {
        let headed = topic(text).text();
        let doors: [(&str, Door<'_>); 5] = [
            ("team", &|desk| desk.writes(Cause::Person, "team/access.md", &headed)),
            ("remember", &|desk| desk.notes(NoteKind::Words, text)),
            ("agent memory", &|desk| desk.notes(NoteKind::File("access.md".to_owned()), &headed)),
            ("learner", &|desk| desk.learns(text)),
            ("dream", &|desk| desk.writes(Cause::Dream, "access.md", &headed)),
        ];
        for (door, enter) in doors {
            let desk = Desk::new();
            let entered = enter(&desk);
            tally.tried(format!("{door}: {text}"), entered || desk.holds(value));
        }
        // A user's own words are kept as they are.
        let own = Desk::new();
        tally.control(own.writes(Cause::Person, "access.md", &headed) && own.holds(value));
    }
    for text in &list.harmless {
        let desk = Desk::new();
        let entered = desk.writes(Cause::Person, &Scope::Team.path("access.md"), &topic(text).text());
        assert!(entered, "a harmless line is refused: {text}");
    }
    tally.finish();
}

// spec: G2
#[test]
fn no_credential_becomes_a_name_or_a_title() {
    let mut tally = Tally::of("secrets in names");
    for Secret { text, value } in &list().secret {
        let desk = Desk::new();
        let named_by_user = Topic { name: text.clone(), ..topic(text) };
        let titled = Topic { name: draft::title(text), description: draft::description(text), ..topic(text) };
        for topic in [named_by_user, titled] {
            let path = topic.file_name();
            tally.control(desk.writes(Cause::Person, &path, &topic.text()));
            let index = desk.memory.with(|memory| memory.index().unwrap().text);
            let shown = index.contains(value.as_str()) || named(desk.held.path(), value);
            tally.tried(format!("{path}: {text}"), shown);
        }
        let slug = text.replace(|c: char| !c.is_alphanumeric() && !"=:/@.-!'\"`".contains(c), "_");
        let path = format!("{}.md", slug.replace('/', "_"));
        let entered = desk.writes(Cause::Person, &path, &topic("nothing").text());
        tally.tried(format!("chosen name {path}"), entered && named(desk.held.path(), value));
    }
    tally.finish();
}

// spec: G2
#[tokio::test(flavor = "multi_thread")]
async fn no_credential_stands_on_a_page_that_is_shown_around() {
    let mut tally = Tally::of("secrets on the page");
    let list = list();
    let words = list.secret.iter().map(|secret| secret.text.as_str()).collect::<Vec<_>>().join("\n\n");
    let simulator = Simulator::start(Script::new().otherwise(text(words.as_str()))).await.unwrap();
    let stage = Stage::with(&simulator);
    stage.run(&["-p", &words]).ended_with(0);
    let told = stage.run(&["report", "--json", "--out", "page.html"]).ended_with(0).out;
    let page = fs::read_to_string(stage.project().join("page.html")).unwrap();
    let escaped = |value: &str| value.replace('&', "&amp;").replace('"', "&quot;").replace('\'', "&#39;");
    for Secret { text, value } in &list.secret {
        let shown = page.contains(value.as_str()) || page.contains(&escaped(value)) || told.contains(value.as_str());
        tally.tried(text, shown);
        // The transcript has the exact words.
        tally.control(stage.transcripts().iter().any(|file| {
            let line = fs::read_to_string(file).unwrap();
            line.contains(value.as_str()) || line.contains(&value.replace('"', "\\\""))
        }));
    }
    tally.finish();
}

/// A user's own memory keeps the words, says what is wrong with that, and shows them in no name and no line.
// spec: G2
#[test]
fn a_user_is_warned_about_a_credential_of_their_own() {
    let stage = Stage::offline();
    for (text, value) in
        [("the staging password is Tr4mKiosk88", "Tr4mKiosk88"), ("DB_PASSWORD=sunnyrabbit", "sunnyrabbit")]
    {
        let ran = stage.run(&["remember", text]).ended_with(0).complained_about(&["looks like a credential"]);
        assert!(!format!("{}{}", ran.out, ran.err).contains(value), "{ran:#?}");
        assert!(found(&stage.home(), value), "the words are kept");
        assert!(!named(&stage.home(), value));
    }
    let name = ["memory", "add", "--name", "PGPASSWORD=sunnyrabbit", "Use it for psql."];
    let ran = stage.run(&name).ended_with(0).complained_about(&["looks like a credential"]);
    assert!(!ran.out.contains("sunnyrabbit") && !named(&stage.home(), "sunnyrabbit"), "{ran:#?}");
    for verb in [&["memory", "ls"][..], &["memory", "ls", "--json"], &["memory", "log"], &["memory", "log", "--json"]] {
        let listed = stage.run(verb).ended_with(0);
        assert!(!listed.out.contains("Tr4mKiosk88") && !listed.out.contains("sunnyrabbit"), "{verb:?}: {listed:#?}");
    }
}
