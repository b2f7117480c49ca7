//! Finding by meaning, over HTTP: a text is read by the model once, and whatever the model does, words still find.

use jiff::tz::TimeZone;
use scrubjay::Remembering;
use scrubjay::clock::Clock as _;
use scrubjay::event::Event;
use scrubjay::limits::Limits;
use scrubjay::memory::find::Finder;
use scrubjay::memory::meaning::{self, Learned};
use scrubjay::memory::recall::{Embedder, Query};
use scrubjay::memory::{Cause, Change, Edit, Memory, Place, SharedMemory};
use scrubjay::message::Origin;
use scrubjay::paths::{Layout, ProjectLayout};
use scrubjay_providers::{Keys, Scripted, embedder};
use scrubjay_testkit::{FixedClock, Home, Manner, Meanings, Setting, Story};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

const LONG: Duration = Duration::from_secs(60);

struct World {
    home: Home,
    project: ProjectLayout,
    limits: Limits,
    service: Meanings,
}

impl World {
    async fn new() -> Self {
        let home = Home::new().unwrap();
        // No second try: the service says at once what it says.
        let limits = Limits { retry_attempts: 1, ..Limits::default() };
        let project = Layout::at(home.data()).project(Path::new("/home/ada/birds"), &limits);
        let service = Meanings::start(&[&["sea", "ocean", "water"], &["tea", "drink"]]).await.unwrap();
        Self { home, project, limits, service }
    }

    fn embedder(&self, model: &str) -> Arc<dyn Embedder> {
        embedder(&self.service.url(), model, &Keys::default(), &self.limits).unwrap()
    }

    fn memory(&self) -> SharedMemory {
        let clock = Arc::new(FixedClock::default());
        SharedMemory::open(&Place::of(&self.project), &self.project, clock, &self.limits).unwrap().0
    }

    /// As another process would: open, catch up, have the model read what it does not know, ask.
    async fn search(&self, memory: &SharedMemory, model: &str, question: &str) -> (Vec<String>, Learned) {
        let model = self.embedder(model);
        let mut finder = Finder::open(&self.project, &self.limits);
        let unread = memory.with(|memory| {
            finder.catch_up(memory);
            finder.unread(memory, model.name())
        });
        let until = Instant::now() + LONG;
        let learned = meaning::read(&*model, &unread, until, &self.limits).await;
        assert_eq!(finder.learn(&learned), None);
        let asked = meaning::ask(&*model, question, until).await;
        let now = FixedClock::default().now().to_zoned(TimeZone::UTC);
        let mut query = Query::new(question, now, 5);
        query.meaning = asked.as_ref().ok().map(Vec::as_slice);
        let found = memory.with(|memory: &mut Memory| {
            let found = finder.find(memory, &query, |_| false);
            found.into_iter().map(|found| found.entry.path.clone()).collect()
        });
        (found, learned)
    }

    /// The texts that the model was given since the last look, without the questions.
    fn read(&self) -> Vec<String> {
        let texts = self.service.take().into_iter().flat_map(|request| request.texts);
        texts.filter(|text| text.contains('\n')).collect()
    }
}

fn text(name: &str, body: &str) -> String {
    format!("---\nname: {name}\ndescription: about {name}\ntype: reference\n---\n{body}\n")
}

fn save(memory: &SharedMemory, path: &str, text: &str) {
    memory.with(|memory| {
        let edit = match memory.text(path).unwrap() {
            Some((entry, _)) => Edit::update(&entry, text),
            None => Edit::create(path, text),
        };
        memory.commit(Change { cause: Cause::Person, edits: vec![edit] }).unwrap();
    });
}

fn filled(world: &World) -> SharedMemory {
    let memory = world.memory();
    save(&memory, "reference_tides.md", &text("Tides", "The ocean rises twice a day."));
    save(&memory, "reference_cups.md", &text("Cups", "Tea at four."));
    memory
}

// spec: L8
// spec: L9
#[tokio::test]
async fn a_text_is_read_once_and_only_what_changed_is_read_again() {
    let world = World::new().await;
    let memory = filled(&world);
    let (found, _) = world.search(&memory, "small", "deep water").await;
    assert_eq!(found, ["reference_tides.md"], "not one word is shared");
    assert_eq!(world.read().len(), 2);
    let (found, _) = world.search(&memory, "small", "something to drink").await;
    assert_eq!((found, world.read().len()), (vec!["reference_cups.md".to_owned()], 0), "another process reads nothing");

    save(&memory, "reference_cups.md", &text("Cups", "Sea water at nine."));
    let (found, _) = world.search(&memory, "small", "something to drink").await;
    let read = world.read();
    assert!(read.len() == 1 && read[0].contains("Sea water"), "{read:?}");
    assert_eq!(found, Vec::<String>::new(), "what it meant before is forgotten");

    world.search(&memory, "large", "deep water").await;
    assert_eq!(world.read().len(), 2, "another model reads everything");
}

// spec: L9
// spec: X8
#[tokio::test]
async fn damaged_vectors_are_made_again_and_nobody_else_reads_them() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new().await;
    let memory = filled(&world);
    world.search(&memory, "small", "deep water").await;
    let file = world.project.recall().join("memory.vectors");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let whole = fs::read(&file).unwrap();
    for damaged in [&whole[..whole.len() - 1], b"", b"sjvecto1 but not really"] {
        world.service.take();
        fs::write(&file, damaged).unwrap();
        assert_eq!(world.search(&memory, "small", "deep water").await.0, ["reference_tides.md"]);
        assert_eq!((world.read().len(), fs::read(&file).unwrap()), (2, whole.clone()));
    }
}

// spec: L8
#[tokio::test]
async fn only_as_many_as_may_be_are_read_and_only_their_beginning() {
    let mut world = World::new().await;
    world.limits = Limits { embedded_texts: 2, embedded_text_bytes: 64, embedding_batch: 1, ..world.limits };
    let memory = filled(&world);
    save(&memory, "reference_long.md", &text("Long", &"ö".repeat(999)));
    world.search(&memory, "small", "deep water").await;
    let requests = world.service.take();
    let sizes: Vec<usize> = requests.iter().map(|request| request.texts.len()).collect();
    assert_eq!(sizes, [1, 1, 1], "two texts and the question, each by itself");
    assert!(requests.iter().flat_map(|request| &request.texts).all(|text| text.len() <= 64));
    assert_eq!(requests[0].model.as_deref(), Some("small"));
    assert_eq!(requests[0].authorization, None, "no key was given");
}

// spec: W2
#[tokio::test]
async fn an_answer_that_does_not_fit_counts_for_nothing() {
    let world = World::new().await;
    let memory = filled(&world);
    world.service.behave(Manner::Careless);
    let (found, learned) = world.search(&memory, "small", "when is tea at four").await;
    assert!(learned.missing.unwrap().contains("one vector for each"));
    assert_eq!(found, ["reference_cups.md"], "the words find it");
    world.service.behave(Manner::Refusing(404));
    let (_, learned) = world.search(&memory, "small", "tea").await;
    assert!(learned.missing.unwrap().contains("recall.embeddings"));
}

fn tell(world: World, memory: SharedMemory, answers: [&str; 3]) -> (Story, Meanings) {
    let World { home, limits, service, .. } = world;
    let mut setting = Setting::new(Arc::new(Scripted::saying(answers)));
    setting.limits = limits;
    let mut story = setting.begin_in(home).unwrap();
    let root = story.home.project();
    story.session = story.session.remembering(Remembering { memory, chooser: None, root });
    (story, service)
}

fn recalled(story: &Story) -> String {
    let history = &story.session.transcript().view().history;
    history.iter().filter(|message| message.origin == Origin::Memory).map(|message| message.text()).collect()
}

fn notices(story: &Story) -> Vec<String> {
    let notice = |event: Event| if let Event::Notice(text) = event { Some(text) } else { None };
    story.events().into_iter().filter_map(notice).collect()
}

// spec: L8
#[tokio::test]
async fn a_session_recalls_what_shares_no_word_with_the_question() {
    let world = World::new().await;
    let memory = filled(&world).with_embedder(world.embedder("small"));
    let (mut story, service) = tell(world, memory, ["one", "two", "three"]);
    story.ask("How deep is that water?").await.unwrap();
    story.session.wait_for_background(LONG).await.unwrap();
    story.ask("Thanks!").await.unwrap();
    let shown = recalled(&story);
    assert!(shown.contains("rises twice") && !shown.contains("Tea at four"), "{shown}");
    assert_eq!((service.take().len(), notices(&story)), (2, Vec::new()), "the question, and the memories at once");
}

// spec: W2
// spec: L8
#[tokio::test]
async fn a_service_that_fails_or_is_silent_leaves_the_words_and_one_notice() {
    for manner in [Manner::Refusing(500), Manner::Silent, Manner::Careless] {
        let mut world = World::new().await;
        world.limits.embedding_wait_ms = 40;
        let memory = filled(&world).with_embedder(world.embedder("small"));
        world.service.behave(manner);
        let (mut story, _service) = tell(world, memory, ["one", "two", "three"]);
        for question in ["When is tea at four?", "How often does the ocean rise?", "Thanks!"] {
            story.ask(question).await.unwrap();
            story.session.wait_for_background(LONG).await.unwrap();
        }
        let shown = recalled(&story);
        assert!(shown.contains("Tea at four") && shown.contains("rises twice"), "{manner:?}: {shown}");
        let notices = notices(&story);
        assert!(notices.len() == 1 && notices[0].contains("by their words"), "{manner:?}: {notices:?}");
    }
}
