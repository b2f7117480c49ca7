//! What the stories stand on.

use jiff::{SignedDuration, Timestamp};
use scrubjay::clock::Clock as _;
use scrubjay::limits::Limits;
use scrubjay::memory::dreaming::{Dreams, Judgement, Landed};
use scrubjay::memory::{Basis, Cause, Change, Edit, Place, SharedMemory};
use scrubjay::message::{Block, Origin, Role};
use scrubjay::model::Model;
use scrubjay::paths::{Layout, ProjectLayout};
use scrubjay::query_loop::Remembering;
use scrubjay::tools::{self, Keeper};
use scrubjay::transcript::{Began, FORMAT, Transcript};
use scrubjay_providers::Offline;
use scrubjay_testkit::{FixedClock, Home, Setting, Story};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// A session with a memory, before which other sessions were.
pub(crate) struct Bench {
    pub(crate) story: Story,
    pub(crate) memory: SharedMemory,
    pub(crate) clock: FixedClock,
}

pub(crate) fn project(data: &Path) -> ProjectLayout {
    Layout::at(data).project(Path::new("/home/ada/birds"), &Limits::default())
}

pub(crate) fn open(data: &Path, clock: &FixedClock) -> SharedMemory {
    let project = project(data);
    SharedMemory::open(&Place::of(&project), &project, Arc::new(clock.clone()), &Limits::default()).unwrap().0
}

impl Bench {
    /// Nobody answers.
    pub(crate) fn offline() -> Self {
        Self::with(Setting::new(Arc::new(Offline::new(&Limits::default()))))
    }

    pub(crate) fn answered_by(model: Arc<dyn Model>) -> Self {
        Self::with(Setting::new(model))
    }

    pub(crate) fn with(setting: Setting) -> Self {
        let home = Home::new().unwrap();
        let memory = open(&home.data(), &setting.clock);
        let (clock, root) = (setting.clock.clone(), home.project());
        let keeper: Arc<dyn Keeper> = Arc::new(memory.clone());
        let setting = setting.tools(tools::kept_by(Some(keeper), &[], &Limits::default()));
        let mut story = setting.begin_in(home).unwrap();
        let from = Remembering { memory: memory.clone(), chooser: None, root };
        story.session = story.session.remembering(from);
        Self { story, memory, clock }
    }

    pub(crate) fn dreams(&self) -> Dreams {
        self.story.session.dreams().unwrap()
    }

    pub(crate) fn dir(&self) -> PathBuf {
        project(&self.story.home.data()).memory()
    }

    pub(crate) fn folder_of_dreams(&self) -> PathBuf {
        project(&self.story.home.data()).dreams()
    }

    /// Save a memory: file, description, body.
    pub(crate) fn save(&self, file: &str, description: &str, body: &str) {
        self.commit(Edit::create(file, text(file, description, body)));
    }

    pub(crate) fn save_tainted(&self, file: &str, description: &str, body: &str) {
        let edit = Edit::create(file, text(file, description, body));
        self.commit(edit.resting_on(Basis::of(Vec::new())));
    }

    pub(crate) fn commit(&self, edit: Edit) {
        let change = Change { cause: Cause::Person, edits: vec![edit] };
        self.memory.with(|memory| memory.commit(change)).unwrap();
    }

    /// Every memory on the disk and what it says.
    pub(crate) fn files(&self) -> BTreeMap<String, String> {
        files(&self.dir())
    }

    /// A session of the past in which the person said these things at this moment.
    pub(crate) fn session(&self, name: &str, at: Timestamp, said: &[&str]) -> PathBuf {
        let path = self.story.home.data().join(format!("{name}.jsonl"));
        let began = Began {
            format: FORMAT,
            session: name.to_owned(),
            dir: self.story.home.project(),
            version: "test".to_owned(),
            forked_from: None,
        };
        let mut transcript = Transcript::create(&path, began, at, Arc::new(Limits::default())).unwrap();
        for words in said {
            transcript.say(Role::User, Origin::Person, vec![Block::text(*words)], at).unwrap();
            transcript.say(Role::Assistant, Origin::Model, vec![Block::text("Noted by the model.")], at).unwrap();
        }
        drop(transcript);
        touch(&path, at);
        path
    }

    pub(crate) fn hours_pass(&self, hours: i64) {
        self.clock.advance(SignedDuration::from_hours(hours));
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Dream without a model.
    pub(crate) fn dream(&self) -> Landed {
        let dreams = self.dreams();
        let dream = dreams.plan(dreams.news("story").unwrap(), CancellationToken::new()).unwrap();
        dream.land(Judgement::Nobody).unwrap()
    }
}

pub(crate) fn files(dir: &Path) -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(dir).unwrap().map(Result::unwrap);
    let names = entries.map(|entry| entry.file_name().into_string().unwrap()).filter(|name| name.ends_with(".md"));
    names.map(|name| (name.clone(), std::fs::read_to_string(dir.join(&name)).unwrap())).collect()
}

pub(crate) fn text(name: &str, description: &str, body: &str) -> String {
    let kind = if name.starts_with("feedback") { "feedback" } else { "reference" };
    let name = name.trim_end_matches(".md").replace('_', " ");
    format!("---\nname: {name}\ndescription: {description}\ntype: {kind}\n---\n{body}\n")
}

/// Make a file as old as this.
pub(crate) fn touch(path: &Path, at: Timestamp) {
    std::fs::File::options().append(true).open(path).unwrap().set_modified(at.into()).unwrap();
}

/// The session ends, and the night passes.
pub(crate) async fn night(mut story: Story, clock: &FixedClock, day: &str) -> Home {
    story.session.ended("other").await.unwrap();
    let Story { session, home, .. } = story;
    drop(session);
    let path = home.data().join(format!("{day}.jsonl"));
    std::fs::rename(home.data().join("story.jsonl"), &path).unwrap();
    touch(&path, clock.now());
    clock.advance(SignedDuration::from_hours(24));
    home
}
