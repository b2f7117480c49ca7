//! Context collapse: old rounds behind one line each, the person's words where they are, and every fold can be opened.

use proptest::prelude::*;
use scrubjay::context::collapse::{self, Unfold};
use scrubjay::context::compaction::boundary::{Part, Wish};
use scrubjay::context::compaction::{constraints, extract};
use scrubjay::context::snip::{self, By, Cut};
use scrubjay::context::spans::NotHidden;
use scrubjay::errand::{EndsWhen, Errand};
use scrubjay::event::Event;
use scrubjay::gate::Gate;
use scrubjay::ledger::{Layer, Row};
use scrubjay::limits::Limits;
use scrubjay::message::{Block, Message, MessageId, Origin, Role, SessionId, ToolResult, without_thinking};
use scrubjay::model::{Ability, ModelError};
use scrubjay::prompt::Prompt;
use scrubjay::tokens::ContextWindow;
use scrubjay::transcript::{Author, Began, Compaction, Entry, FORMAT, Hiding, Marks, Transcript, Trigger, View, Way};
use scrubjay::{Error, tools};
use scrubjay_providers::scripted::{Scripted, Turn};
use scrubjay_providers::{Catalogue, Choice, Keys, connect};
use scrubjay_testkit::simulator::{self, RecordedRequest, Script, Simulator};
use scrubjay_testkit::{Setting, Story};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;

const SMALL: ContextWindow = ContextWindow { size: 20_000, max_output: 4_000 };

fn long_answer() -> String {
    "An answer of some length, as answers are. ".repeat(60)
}

fn wants_summary(prompt: &Prompt) -> bool {
    prompt.history.last().is_some_and(|last| last.text().contains("will be replaced by a summary"))
}

/// Answers at length.
fn talkative() -> Scripted {
    Scripted::new().holding(SMALL).afterwards(|prompt| match wants_summary(prompt) {
        true => Ok(Turn::text("<summary>\n## 1. Primary Request and Intent\nSeeds.\n</summary>")),
        false => Ok(Turn::text(long_answer())),
    })
}

/// A story with collapse on, and the tool that goes with it.
fn collapsing(model: Arc<Scripted>) -> Setting {
    let mut setting = Setting::new(model).switch("layers.collapse", "true");
    setting.limits.fold_keep_rounds = 2;
    let mut all = tools::standard(&[], &setting.limits);
    all.push(Arc::new(Unfold::new()));
    setting.tools(all)
}

async fn talk(story: &mut Story, questions: usize) {
    for n in 0..questions {
        story.ask(&format!("question {n}: what about the seeds?")).await.unwrap();
    }
}

fn rendering(story: &Story) -> String {
    Prompt::of(story.session.transcript().view()).rendering()
}

fn folds(story: &Story) -> Vec<u64> {
    story.session.transcript().view().hidden.iter().map(|hidden| hidden.span.number).collect()
}

fn notices(story: &Story) -> Vec<String> {
    let events = story.events().into_iter();
    events.filter_map(|event| if let Event::Notice(text) = event { Some(text) } else { None }).collect()
}

fn said(story: &Story, origin: Origin) -> Vec<String> {
    let history = &story.session.transcript().view().history;
    history.iter().filter(|message| message.origin == origin).map(|message| message.text()).collect()
}

// spec: C14
#[tokio::test]
async fn a_long_conversation_is_folded_and_what_the_person_said_stays() {
    let model = Arc::new(talkative());
    let mut story = collapsing(model.clone()).begin().unwrap();
    story.ask("Never push to main. Fix the seeds.").await.unwrap();
    for n in 0..80 {
        story.ask(&format!("question {n}: what about the seeds?")).await.unwrap();
        let used = story.session.transcript().view().count.total();
        assert!(used < 15_000, "turn {n} uses {used}");
    }
    assert!(model.prompts().iter().all(|prompt| !wants_summary(prompt)), "no summariser is asked");
    let view = story.session.transcript().view();
    assert!(view.compactions.is_empty() && view.noted.is_none(), "automatic compaction and its notes are excluded");
    let people = said(&story, Origin::Person);
    assert_eq!((people.len(), people[0].as_str()), (81, "Never push to main. Fix the seeds."), "every word, in place");
    assert!(folds(&story).len() > 50, "{:?}", folds(&story));
    let newest: Vec<Origin> = view.history.iter().rev().take(4).map(|message| message.origin).collect();
    assert_eq!(newest, [Origin::Model, Origin::Person, Origin::Model, Origin::Person], "the newest rounds are whole");
    let breaks = story.session.transcript().records().iter().filter(|r| matches!(r.entry, Entry::Hid(_))).count();
    assert!((3..12).contains(&breaks), "each folding makes room for a while: {breaks}");
    let removed: u64 = story.session.ledger().iter().filter_map(removed_by_folds).sum();
    assert!(removed > 20_000, "{removed} tokens on the receipt");
    assert!(notices(&story).iter().any(|text| text.contains("/fold lists them")));
    let before = rendering(&story);
    let mut story = story.resume().unwrap();
    assert_eq!(rendering(&story), before);
    story.ask("And on?").await.unwrap();
}

fn removed_by_folds(row: &Row) -> Option<u64> {
    match row {
        Row::Removed(removed) if removed.layer == Layer::Collapse => Some(removed.tokens),
        _ => None,
    }
}

// spec: C14
#[tokio::test]
async fn what_a_fold_looks_like_and_how_it_is_opened() {
    let read = |n: u64| Turn::call("Read", json!({ "file_path": "seeds.md", "offset": n })).and_text("Let me look.");
    let model = Scripted::new()
        .holding(SMALL)
        .then(read(1))
        .then(Turn::call("Tasks", json!({ "tasks": "none" })))
        .then(Turn::text("Acorns lie under the <oak>.\nThat is all I know of them."))
        .then(read(1))
        .then(Turn::text("Still there."))
        .afterwards(|_| Ok(Turn::text("Short.")));
    let mut story = collapsing(Arc::new(model)).begin().unwrap();
    story.home.write("seeds.md", "acorns under the oak, all of them\n".repeat(60)).unwrap();
    story.ask("Where are the acorns? Never move them.").await.unwrap();
    story.ask("And now?").await.unwrap();
    story.ask("Thanks.").await.unwrap();
    let whole = rendering(&story);
    let done = story.session.fold(1).unwrap();
    assert!(done.after < done.before, "{done:?}");
    assert_eq!(folds(&story), [1]);
    story.ask("What did you find?").await.unwrap();
    let opened = story.session.show(Way::Fold, Some(1)).unwrap();
    assert!(opened.after > opened.before);
    assert!(rendering(&story).starts_with(&whole), "what it hid is there again, to the byte");
    story.ask("Whole again?").await.unwrap();
    let restored =
        |row: &Row| matches!(row, Row::Restored(share) if share.layer == Layer::Collapse && share.tokens > 0);
    assert!(story.session.ledger().iter().any(restored), "taking back is booked too");
    insta::assert_snapshot!(story.storyboard());
}

// spec: C14
#[tokio::test]
async fn a_fold_that_was_opened_before_anything_was_sent_has_broken_nothing() {
    let mut story = collapsing(Arc::new(talkative())).begin().unwrap();
    talk(&mut story, 6).await;
    let whole = rendering(&story);
    story.session.fold(2).unwrap();
    story.session.fold(3).unwrap();
    assert_eq!(folds(&story), [1, 2, 3]);
    let kept = story.session.transcript().view().hidden.iter().map(|hidden| hidden.messages.len()).sum::<usize>();
    assert_eq!(kept, 3, "each answer is behind its own line");
    for number in [2, 1, 3] {
        story.session.show(Way::Fold, Some(number)).unwrap();
    }
    assert_eq!(rendering(&story), whole);
    story.ask("And now?").await.unwrap();
    assert!(rendering(&story).starts_with(&whole));

    story.session.fold(2).unwrap();
    let mut story = story.resume().unwrap();
    story.session.fold(4).unwrap();
    story.session.show(Way::Fold, Some(1)).unwrap();
    story.ask("One break for three commands?").await.unwrap();
    let missing = story.session.show(Way::Fold, Some(1)).unwrap_err();
    assert!(matches!(missing, Error::NotHidden(NotHidden::NoSuchSpan { way: Way::Fold, number: 1 })), "{missing}");
}

// spec: C14
#[tokio::test]
async fn a_copy_of_a_session_has_the_same_folds_and_opens_them_alone() {
    let mut story = collapsing(Arc::new(talkative())).begin().unwrap();
    talk(&mut story, 6).await;
    let whole = rendering(&story);
    story.session.fold(1).unwrap();
    story.session.fold(3).unwrap();
    let original = story.session.transcript();
    let (session, version) = ("copy".to_owned(), "test".to_owned());
    let began = Began { format: FORMAT, session, dir: story.home.project(), version, forked_from: None };
    let now = jiff::Timestamp::UNIX_EPOCH;
    let mut copy = original.fork(&story.home.data().join("copy.jsonl"), began, now).unwrap();
    assert_eq!(Prompt::of(copy.view()), Prompt::of(original.view()));
    copy.append(Entry::Hid(Hiding { show: vec![1, 2, 3], ..Hiding::default() }.into()), now).unwrap();
    assert_eq!(Prompt::of(copy.view()).rendering(), whole);
    assert_eq!(folds(&story), [1, 2, 3], "what happens there does not happen here");
}

// spec: C14
// spec: T4
#[tokio::test]
async fn when_nothing_is_left_to_fold_the_request_is_refused_and_compact_still_works() {
    let model = Arc::new(talkative());
    let mut setting = collapsing(model.clone());
    setting.limits.fold_keep_rounds = 100;
    let mut story = setting.begin().unwrap();
    let mut refused = None;
    for n in 0..40 {
        if let Err(error) = story.ask(&format!("question {n}: what about the seeds?")).await {
            refused = Some(error);
            break;
        }
    }
    let refused = refused.unwrap();
    assert!(matches!(refused, Error::Full(_)), "{refused}");
    for remedy in ["/compact", "/fold", "/snip", "/clear", "was not sent"] {
        assert!(refused.to_string().contains(remedy), "{refused}");
    }
    let nothing = story.session.fold(3).unwrap_err();
    assert!(matches!(nothing, Error::NotHidden(NotHidden::NothingToFold)), "{nothing}");
    let wish = Wish { trigger: Trigger::Manual, instructions: None, part: Part::All };
    story.session.compact(wish).await.unwrap();
    story.ask("And now?").await.unwrap();
}

// spec: C11
// spec: C14
#[tokio::test]
async fn a_compaction_after_all_knows_what_was_folded() {
    let model = Scripted::new()
        .then(Turn::call("Write", json!({ "file_path": "trees/acorns.md", "content": "seven\n".repeat(300) })))
        .then(Turn::text("written"))
        .afterwards(|prompt| match wants_summary(prompt) {
            true => Ok(Turn::text("<summary>\n## 1. Primary Request and Intent\nSeeds.\n</summary>")),
            false => Ok(Turn::text(long_answer())),
        });
    let model = Arc::new(model);
    let mut story = collapsing(model.clone()).begin().unwrap();
    story.ask("Count them.").await.unwrap();
    talk(&mut story, 8).await;
    let done = story.session.fold(2).unwrap();
    assert!(done.after < done.before);
    let view = story.session.transcript().view();
    assert!(view.history.iter().all(|message| message.tool_uses().next().is_none()), "the call is folded");
    let wish = Wish { trigger: Trigger::Manual, instructions: None, part: Part::All };
    story.session.compact(wish).await.unwrap();
    let asked = model.prompts().into_iter().rfind(wants_summary).unwrap();
    assert!(!asked.rendering().contains("seven\\nseven"), "the summariser reads what the model read");
    let summary = said(&story, Origin::Summary).remove(0);
    assert!(summary.contains("trees/acorns.md") && summary.contains("Count them."), "{summary}");
    assert!(folds(&story).is_empty());
    story.session.uncompact().unwrap();
    assert_eq!(folds(&story), [1, 2], "and folds come back with what was compacted");
}

// spec: C14
#[tokio::test]
async fn a_prompt_the_service_finds_too_long_is_folded_and_sent_once_more() {
    let model = Arc::new(Scripted::new().afterwards(|prompt| {
        let size: usize = prompt.history.iter().map(|message| message.text().len()).sum();
        if size > 20_000 { Err(ModelError::PromptTooLong { over_by: None }) } else { Ok(Turn::text(long_answer())) }
    }));
    let mut story = collapsing(model).begin().unwrap();
    talk(&mut story, 14).await;
    assert!(!folds(&story).is_empty());
    assert_eq!(said(&story, Origin::Person).len(), 14);
}

// spec: C14
#[tokio::test]
async fn the_model_can_look_into_a_fold_without_opening_it() {
    let model = Scripted::new()
        .then(Turn::call("Bash", json!({ "command": "echo the secret is 42; true" })))
        .then(Turn::text(long_answer()))
        .then(Turn::text("a"))
        .then(Turn::text("b"))
        .then(Turn::call("Unfold", json!({ "fold": 1 })).and_call("Unfold", json!({ "fold": 7 })))
        .then(Turn::text("It is 42."))
        .then(Turn::call("Unfold", json!({ "fold": 1 })))
        .then(Turn::text("noted"));
    let mut story = collapsing(Arc::new(model)).begin().unwrap();
    for question in ["What is the secret?", "Thanks", "Thanks again"] {
        story.ask(question).await.unwrap();
    }
    story.session.fold(1).unwrap();
    assert!(!rendering(&story).contains("echo the secret"));
    story.ask("What was it?").await.unwrap();
    let view = story.session.transcript().view();
    let results: Vec<String> = view.history.iter().flat_map(|m| m.tool_results().map(|r| r.text())).collect();
    assert!(
        results[0].contains("[Bash {\"command\":\"echo the secret is 42; true\"}]\nthe secret is 42"),
        "{results:?}"
    );
    assert!(results[1].contains("There is no fold 7") && results[1].contains(": 1."), "{results:?}");
    assert_eq!(folds(&story), [1], "the conversation looks as before");

    let (name, directive) = ("session_notes".to_owned(), "Write the notes.".to_owned());
    let errand =
        Errand { name, directive, gate: Gate::open(), turns: 3, ends: EndsWhen::Silent, receipt: Box::new(|_| None) };
    let outcome = story.session.send(errand).await.unwrap();
    let told = outcome.messages.iter().flat_map(|m| m.tool_results().map(|r| r.text())).collect::<String>();
    assert!(told.contains("works on a copy"), "{told}");
}

// spec: C14
// spec: W4
#[tokio::test]
async fn collapse_is_off_unless_switched_on_and_what_is_folded_can_be_opened_all_the_same() {
    let mut off = Setting::new(Arc::new(talkative())).begin().unwrap();
    talk(&mut off, 8).await;
    let refused = off.session.fold(2).unwrap_err();
    assert!(matches!(refused, Error::NotHidden(NotHidden::Off("layers.collapse"))), "{refused}");

    let mut story = collapsing(Arc::new(talkative())).begin().unwrap();
    talk(&mut story, 6).await;
    story.session.fold(2).unwrap();
    story.setting.switches.clear();
    let mut story = story.resume().unwrap();
    story.session.show(Way::Fold, None).unwrap();
    assert_eq!(folds(&story), [1], "the last one is opened first");
    story.ask("And on?").await.unwrap();
}

// spec: C14
#[tokio::test]
async fn what_would_not_fit_is_not_opened() {
    let mut story = collapsing(Arc::new(talkative())).begin().unwrap();
    talk(&mut story, 60).await;
    let (before, all) = (rendering(&story), folds(&story));
    let mut refused = None;
    for number in &all {
        if let Err(error) = story.session.show(Way::Fold, Some(*number)) {
            refused = Some(error);
            break;
        }
    }
    assert!(matches!(refused, Some(Error::NotHidden(NotHidden::NoRoom { .. }))), "{refused:?}");
    let line = scrubjay::context::budget(story.session.transcript(), story.session.desk()).compaction;
    assert!(story.session.transcript().view().count.total() <= line);
    assert_ne!(rendering(&story), before);
    story.ask("And on?").await.unwrap();
}

// spec: C10
// spec: C14
#[tokio::test]
async fn bound_thinking_survives_folding_and_opening_without_a_refused_request() {
    let script = Script::new().otherwise_with(|request: &RecordedRequest| {
        let thought = simulator::thinking("hm");
        match request.messages().len() % 7 {
            6 => thought.and(simulator::text("An answer. ".repeat(300))),
            n => thought.and(simulator::tool_use("Read", json!({ "file_path": "seeds.md", "offset": n + 1 }))),
        }
    });
    let simulator = Simulator::start(script).await.unwrap();
    let keys = Keys::from_values(&BTreeMap::from([("ANTHROPIC_API_KEY".to_owned(), "k".to_owned())]));
    let choice = Choice { model: "claude-opus-5-5".into(), base_url: Some(simulator.url()), ..Choice::default() };
    let model = connect(&choice, &keys, &Catalogue::built_in().unwrap(), &Limits::default()).unwrap();
    assert!(model.can(Ability::BoundThinking));
    let mut setting =
        Setting::new(model).switch("layers.collapse", "true").tools(tools::standard(&[], &Limits::default()));
    setting.limits.fold_keep_rounds = 2;
    let mut story = setting.begin().unwrap();
    story.home.write("seeds.md", "acorns under the oak, all of them\n".repeat(40)).unwrap();
    for n in 0..6 {
        story.ask(&format!("question {n}")).await.unwrap();
    }
    story.session.fold(4).unwrap();
    story.ask("Folded?").await.unwrap();
    story.session.show(Way::Fold, Some(2)).unwrap();
    story.ask("Opened?").await.unwrap();
    story.session.fold(6).unwrap();
    story.ask("Folded again?").await.unwrap();
    let refused: Vec<_> =
        simulator.requests().iter().filter(|r| r.answer.status != 200).map(|r| r.answer.error.clone()).collect();
    assert_eq!(refused, Vec::new());
}

/// One thing that can happen to a session.
#[derive(Debug, Clone, Copy)]
enum Deed {
    Ask { rounds: u8, forbids: bool },
    Fold(u8),
    Show(u8),
    Snip(u8, u8),
    Compact,
    Uncompact,
    Join(u8),
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        4 => (0..4u8, any::<bool>()).prop_map(|(rounds, forbids)| Deed::Ask { rounds, forbids }),
        2 => any::<u8>().prop_map(Deed::Fold),
        1 => any::<u8>().prop_map(Deed::Show),
        2 => (any::<u8>(), 0..3u8).prop_map(|(from, more)| Deed::Snip(from, more)),
        1 => Just(Deed::Compact),
        1 => Just(Deed::Uncompact),
        1 => any::<u8>().prop_map(Deed::Join),
    ]
}

/// A session that deeds are done to.
struct Bare {
    transcript: Transcript,
    limits: Limits,
    asked: u64,
    forbidden: Vec<String>,
}

impl Bare {
    fn new() -> Self {
        let limits = Limits { fold_keep_rounds: 1, fold_span_rounds: 3, ..Limits::default() };
        let transcript = Transcript::in_memory(SessionId::new("bare"), Arc::new(limits.clone()));
        Self { transcript, limits, asked: 0, forbidden: Vec::new() }
    }

    fn append(&mut self, entry: Entry) {
        self.transcript.append(entry, jiff::Timestamp::UNIX_EPOCH).unwrap();
    }

    fn say(&mut self, role: Role, origin: Origin, blocks: Vec<Block>) {
        self.transcript.say(role, origin, blocks, jiff::Timestamp::UNIX_EPOCH).unwrap();
    }

    fn ask(&mut self, rounds: u8, forbids: bool) {
        self.asked += 1;
        let mut question = format!("Question {}, what about the seeds?", self.asked);
        if forbids {
            self.forbidden.push(format!("Never touch tree {}.", self.asked));
            question = format!("{question}\nNever touch tree {}.", self.asked);
        }
        self.say(Role::User, Origin::Person, vec![Block::text(question)]);
        for round in 0..rounds {
            let id = format!("c{}-{round}", self.asked);
            let thinking = json!({ "type": "thinking", "thinking": "hm", "signature": "s" });
            let call = Block::tool_use(id.as_str().into(), "Read", json!({ "file_path": "a" }));
            self.say(Role::Assistant, Origin::Model, vec![Block::from_value(&thinking), call]);
            let parts = vec![Block::text("a line of a file\n".repeat(60))];
            let result = ToolResult { call: id.as_str().into(), parts, is_error: false };
            self.say(Role::User, Origin::Tool, vec![Block::tool_result(result)]);
        }
        self.say(Role::Assistant, Origin::Model, vec![Block::text("Some words of an answer. ".repeat(30))]);
    }

    fn hide(&mut self, hiding: Hiding) {
        if !hiding.is_empty() {
            self.append(Entry::Hid(hiding.into()));
        }
    }

    fn folding(&self, share: u8) -> Hiding {
        let view = self.transcript.view();
        let mut stretches = collapse::foldable(&view.history, &self.limits);
        stretches.truncate(usize::from(share) * (stretches.len() + 1) / 256);
        collapse::fold(view, &stretches, &self.limits)
    }

    fn compaction(&self) -> Option<Compaction> {
        let view = self.transcript.view();
        let [first, .., last] = view.history.as_slice() else { return None };
        let whole = view.unfolded(&view.history);
        let text = extract::summarise(&whole, 40_000, &|_| None, &self.limits).unwrap().text;
        let (id, blocks) = (MessageId::new(format!("summary of {}", last.id)), vec![Block::text(text)]);
        let summary = Arc::new(Message { id, role: Role::User, origin: Origin::Summary, at: last.at, blocks });
        Some(Compaction {
            trigger: Trigger::Auto,
            author: Author::Extract,
            first: first.id.clone(),
            last: last.id.clone(),
            summary,
            restored: Vec::new(),
            before: 0,
            without_thinking: false,
            without_pictures: false,
            marks: Marks::default(),
            report: None,
        })
    }

    fn uncompact(&mut self) {
        if let Some((entry, _)) = self.transcript.view().compactions.last().cloned() {
            self.append(Entry::Reverted { entry });
        }
    }

    fn deed(&mut self, deed: Deed) {
        match deed {
            Deed::Ask { rounds, forbids } => self.ask(rounds, forbids),
            Deed::Fold(share) => self.hide(self.folding(share)),
            Deed::Show(which) => {
                let hidden = &self.transcript.view().hidden;
                let number = hidden.get(usize::from(which) % hidden.len().max(1)).map(|hidden| hidden.span.number);
                self.hide(Hiding { show: number.into_iter().collect(), ..Hiding::default() });
            }
            Deed::Snip(from, more) => {
                let from = 1 + u64::from(from) % self.asked.max(1);
                let cut =
                    Cut { questions: from..=from + u64::from(more), by: By::Model, reason: Some("<x>\n#".into()) };
                if let Ok(hiding) = snip::snip(self.transcript.view(), &cut, &self.limits) {
                    self.hide(hiding);
                }
            }
            Deed::Compact => {
                if let Some(compaction) = self.compaction() {
                    self.append(Entry::Compacted(compaction.into()));
                }
            }
            Deed::Uncompact => self.uncompact(),
            Deed::Join(share) => {
                let next = self.folding(share);
                if let Some(record) = self.transcript.records().last()
                    && let Entry::Hid(hiding) = record.entry.clone()
                {
                    let entry = record.id;
                    self.append(Entry::Reverted { entry });
                    self.hide(hiding.then(next));
                }
            }
        }
    }

    fn undo_everything(&mut self) {
        loop {
            match self.transcript.view().hidden.last().map(|hidden| hidden.span.number) {
                Some(number) => self.hide(Hiding { show: vec![number], ..Hiding::default() }),
                None if self.transcript.view().compactions.is_empty() => return,
                None => self.uncompact(),
            }
        }
    }
}

proptest! {
    // spec: C14
    // spec: C15
    #[test]
    fn whatever_is_hidden_and_shown_the_request_is_valid_and_nothing_is_lost(deeds in prop::collection::vec(deed(), 0..24)) {
        let mut bare = Bare::new();
        for deed in deeds {
            bare.deed(deed);
            let view = bare.transcript.view();
            prop_assert_eq!(view, &View::of(bare.transcript.records(), &bare.limits), "after {:?}", deed);
            prop_assert_eq!(&Prompt::of(view).history, &view.history, "no round is split, after {:?}", deed);
            let pinned = constraints::pinned(&view.history, &bare.limits);
            for rule in &bare.forbidden {
                prop_assert!(pinned.iter().any(|one| one.text == *rule), "{} after {:?}", rule, deed);
            }
            prop_assert_eq!(view.count.by_share().values().sum::<u64>(), view.count.total());
        }
        bare.undo_everything();
        let said: Vec<Arc<Message>> = bare.transcript.records().iter().filter_map(|record| match &record.entry {
            Entry::Said(message) => Some(message.clone()),
            _ => None,
        }).collect();
        // A compaction that is taken back leaves out what was thought behind it.
        let compacted = bare.transcript.records().iter().any(|record| matches!(record.entry, Entry::Compacted(_)));
        let thoughts = |messages: &[Arc<Message>]| match compacted {
            true => messages.iter().filter_map(without_thinking).collect(),
            false => messages.to_vec(),
        };
        prop_assert_eq!(thoughts(&bare.transcript.view().history), thoughts(&said), "every change can be undone");
    }
}
