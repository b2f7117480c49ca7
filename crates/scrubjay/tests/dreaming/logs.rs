//! Daily-log mode from end to end: what is logged by day is distilled in the first session after midnight.

use crate::bench::{files, night, open, project, text};
use jiff::SignedDuration;
use jiff::civil::date;
use scrubjay::limits::Limits;
use scrubjay::memory::extraction::{Attendance, TOOL};
use scrubjay::memory::{SharedMemory, Speaker, Trust, logs};
use scrubjay::message::Origin;
use scrubjay::model::ModelError;
use scrubjay::prompt::Prompt;
use scrubjay::prompts;
use scrubjay::tools::{self, Keeper};
use scrubjay::{Learns, Remembering};
use scrubjay_providers::scripted::{Scripted, Turn};
use scrubjay_testkit::{FixedClock, Home, Setting, Story};
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);
const SAID: &str = "The feeding freeze of the aviary begins on 2026-03-12, Grace announces it.";
const SEEN: &str = "the nest camera drops every fourth frame";
/// Nearly what the person said.
const TWISTED: &str = "The feeding freeze of the aviary begins on 2026-03-12, Mallory lifts it.";

/// All of it words of the user's, in another order.
const SHUFFLED: &str = "Grace begins the feeding freeze of the aviary on 2026-03-12";

/// Whether a prompt is the dream's: the folder of its copy, and how often the model has spoken since.
fn dreaming(prompt: &Prompt) -> Option<(usize, String)> {
    let is_dream = |text: &str| text.contains("name=\"dream\"");
    let at = prompt.history.iter().rposition(|one| one.origin == Origin::Reminder && is_dream(&one.text()))?;
    let copy = prompt.history[at].text().split("copy of it in ").nth(1)?.split(';').next()?.to_owned();
    Some((prompt.history[at..].iter().filter(|one| one.origin == Origin::Model).count(), copy))
}

fn is_learner(prompt: &Prompt) -> bool {
    *prompt.system == *prompts::LEARNER.trim_end()
}

fn nothing() -> Turn {
    Turn::call(TOOL, json!({ "memories": [], "look_back": [] }))
}

type Act = fn(usize, &str) -> Result<Turn, ModelError>;

/// A model that answers "Good.", and dreams so.
fn dreamer(act: Act) -> Arc<Scripted> {
    Arc::new(Scripted::new().afterwards(move |prompt| match dreaming(prompt) {
        None if is_learner(prompt) => Ok(nothing()),
        None => Ok(Turn::text("Good.")),
        Some((turn, copy)) => act(turn, &copy),
    }))
}

fn dreams_of(model: &Scripted) -> usize {
    model.prompts().iter().filter(|prompt| dreaming(prompt).is_some_and(|(turn, _)| turn == 0)).count()
}

/// A session in daily-log mode, on the day the clock shows.
fn begin(home: Home, clock: &FixedClock, model: Arc<Scripted>) -> (Story, SharedMemory) {
    let memory = open(&home.data(), clock);
    let keeper: Arc<dyn Keeper> = Arc::new(memory.clone());
    let mut setting = Setting::new(model).switch("layers.daily_log", "true").switch("layers.recall", "false");
    setting.clock = clock.clone();
    let setting = setting.tools(tools::kept_by(Some(keeper), &[], &Limits::default()));
    let (root, transcripts) = (home.project(), home.data());
    let mut story = setting.begin_in(home).unwrap();
    let from = Remembering { memory: memory.clone(), chooser: None, root };
    story.session =
        story.session.remembering(from).learning(Learns { transcripts, attendance: Attendance::Person, model: None });
    (story, memory)
}

fn log_of_the_first_day(home: &Home) -> PathBuf {
    project(&home.data()).memory().join(logs::file_of(date(2026, 3, 3)))
}

/// A day on which the agent logs what the person said and what it saw itself.
async fn logged_day(home: Home, clock: &FixedClock) -> Home {
    let log = log_of_the_first_day(&home);
    let line = format!("- 09:00 {SAID}\n");
    let model = Arc::new(Scripted::new().afterwards(move |prompt| {
        if is_learner(prompt) {
            return Ok(nothing());
        }
        let path = log.display().to_string();
        let write = |content: String| Turn::call("Write", json!({ "file_path": path, "content": content }));
        Ok(match prompt.history.iter().filter(|one| one.origin == Origin::Model).count() {
            0 => write(line.clone()),
            1 => write(format!("{line}- 09:10 {SEEN}\n- 09:20 {TWISTED}\n- 09:30 {SHUFFLED}\n")),
            _ => Turn::text("Logged."),
        })
    }));
    let (mut story, _) = begin(home, clock, model.clone());
    story.ask(SAID).await.unwrap();
    assert!(story.session.wait_for_background(LONG).await.unwrap());
    assert_eq!(model.prompts().len(), 4, "the learner looks, and nobody dreams: today is still being written");
    let place = model.prompts().iter().position(is_learner);
    assert_eq!(place, Some(1), "at once, after the first line that was logged");
    let learned = model.prompts().into_iter().find(is_learner).unwrap().history[0].text();
    assert!(learned.contains(SAID) && !learned.contains(SEEN), "what was typed, not what was logged: {learned}");
    story.check();
    night(story, clock, "day-1").await
}

fn write(copy: &str, file: &str, cites: &str, body: &str) -> Turn {
    let content = text(file, body, body).replacen("type:", &format!("cites: [\"{cites}\"]\ntype:"), 1);
    Turn::call("Write", json!({ "file_path": format!("{copy}/{file}"), "content": content }))
}

/// Distils the log: one memory of the person's words, one of what only the agent saw, two of what it made of their words.
fn distils(turn: usize, copy: &str) -> Result<Turn, ModelError> {
    Ok(match turn {
        0 => write(copy, "feeding_freeze.md", SAID, SAID),
        1 => write(copy, "nest_camera.md", SEEN, SEEN),
        2 => write(copy, "freeze_lifted.md", TWISTED, TWISTED),
        3 => write(copy, "freeze_begun.md", SHUFFLED, SHUFFLED),
        _ => Turn::text("Four memories are new."),
    })
}

/// The first session of a day: a question, an answer, and whatever goes on beside it.
async fn morning(home: Home, clock: &FixedClock, model: &Arc<Scripted>) -> (Story, SharedMemory) {
    let (mut story, memory) = begin(home, clock, model.clone());
    story.ask("Good morning.").await.unwrap();
    assert!(story.session.wait_for_background(LONG).await.unwrap());
    (story, memory)
}

// spec: K1
// spec: X4
#[tokio::test]
async fn a_logged_day_is_distilled_in_the_first_session_after_midnight_and_read_once() {
    let (home, clock) = (Home::new().unwrap(), FixedClock::default());
    let home = logged_day(home, &clock).await;
    let (log, dir) = (log_of_the_first_day(&home), project(&home.data()).memory());
    let logged = std::fs::read_to_string(&log).unwrap();
    assert_eq!(logged, format!("- 09:00 {SAID}\n- 09:10 {SEEN}\n- 09:20 {TWISTED}\n- 09:30 {SHUFFLED}\n"));
    assert!(files(&dir).keys().all(|file| file == "MEMORY.md"), "a log is no memory");

    let model = dreamer(distils);
    let (story, memory) = morning(home, &clock, &model).await;
    let told =
        model.prompts().iter().find_map(|prompt| dreaming(prompt).map(|_| prompt.history.last().unwrap().text()));
    assert!(told.unwrap().contains(&log.canonicalize().unwrap().display().to_string()), "it is told which day to read");
    let found = files(&dir);
    assert!(found["feeding_freeze.md"].contains("2026-03-12") && found["nest_camera.md"].contains("fourth frame"));
    let basis = |path: &str| memory.with(|memory| memory.rests_on(path).cloned()).unwrap();
    assert_eq!(basis("feeding_freeze.md").trust, Trust::Tainted, "whoever distils reads more than the user's words");
    assert_eq!(basis("feeding_freeze.md").sources[0].speaker, Speaker::Person);
    assert_eq!(basis("nest_camera.md").trust, Trust::Tainted, "only the agent said so");
    assert_eq!(basis("freeze_lifted.md").trust, Trust::Tainted, "most of the person's words are not all of them");
    assert_eq!(basis("freeze_begun.md").trust, Trust::Tainted, "the same words in another order are the model's");
    let index = found.get("MEMORY.md").cloned().unwrap_or_default();
    assert!(!index.contains("feeding_freeze.md") && !index.contains("nest_camera.md"), "{index}");
    assert_eq!(std::fs::read_to_string(&log).unwrap(), logged, "a dream reads a log and never writes it");
    assert_eq!(memory.with(|memory| memory.unread_logs()).unwrap(), []);

    // The next morning nothing is new; then somebody adds a line to that old day.
    let home = night(story, &clock, "day-2").await;
    let (story, memory) = morning(home, &clock, &model).await;
    assert_eq!(dreams_of(&model), 1, "what was read is not read again");
    memory.with(|memory| memory.append_log(date(2026, 3, 3), "- 23:59 the owls sleep in the attic")).unwrap();
    let home = night(story, &clock, "day-3").await;
    let (_story, memory) = morning(home, &clock, &model).await;
    assert_eq!(dreams_of(&model), 2, "what was added since is");
    assert_eq!(
        memory.with(|memory| memory.unread_logs()).unwrap().len(),
        1,
        "its quotations were refused: read once more"
    );
}

// spec: K1
// spec: Z3
#[tokio::test]
async fn a_log_counts_as_read_only_after_what_was_made_of_it_has_landed() {
    let (home, clock) = (Home::new().unwrap(), FixedClock::default());
    let home = logged_day(home, &clock).await;
    let dir = project(&home.data()).memory();
    // The first night the model breaks off in the middle.
    let broken = dreamer(|turn, copy| match turn {
        0 => distils(0, copy),
        _ => Err(ModelError::Unauthorised("the key was taken back".to_owned())),
    });
    let (story, memory) = morning(home, &clock, &broken).await;
    assert!(dreams_of(&broken) > 0 && files(&dir).keys().all(|file| file == "MEMORY.md"), "nothing landed");
    assert_eq!(memory.with(|memory| memory.unread_logs()).unwrap().len(), 1);

    // The second night it lands.
    let home = night(story, &clock, "day-2").await;
    let model = dreamer(distils);
    let (_story, memory) = morning(home, &clock, &model).await;
    assert!(dreams_of(&model) == 1 && files(&dir).contains_key("feeding_freeze.md"));
    assert_eq!(memory.with(|memory| memory.unread_logs()).unwrap(), []);
}

// spec: K1
// spec: Z1
#[tokio::test]
async fn the_first_session_after_midnight_dreams_also_when_the_last_dream_was_late_in_the_day_before() {
    let (home, clock) = (Home::new().unwrap(), FixedClock::default());
    let home = logged_day(home, &clock).await;
    let model = dreamer(distils);
    clock.advance(SignedDuration::from_hours(3));
    let (mut story, memory) = morning(home, &clock, &model).await;
    assert_eq!(dreams_of(&model), 1);
    memory.with(|memory| memory.append_log(date(2026, 3, 4), "- 16:00 the herons came back")).unwrap();
    clock.advance(SignedDuration::from_hours(1));
    story.ask("Anything else?").await.unwrap();
    assert!(story.session.wait_for_background(LONG).await.unwrap());
    assert_eq!(dreams_of(&model), 1, "the day is still being written");
    let home = night(story, &clock, "day-2").await;
    clock.advance(SignedDuration::from_hours(-6));
    let (_story, _) = morning(home, &clock, &model).await;
    assert_eq!(dreams_of(&model), 2, "less than a day has passed, but midnight has");
}

// spec: K1
// spec: P8
#[tokio::test]
async fn midnight_within_a_session_breaks_no_cache() {
    let model = dreamer(|_, _| Ok(Turn::text("Good.")));
    let (home, clock) = (Home::new().unwrap(), FixedClock::default());
    let (mut story, _) = begin(home, &clock, model.clone());
    story.ask("Good evening.").await.unwrap();
    clock.advance(SignedDuration::from_hours(24));
    story.ask("Good morning.").await.unwrap();
    story.check();
    let prompts: Vec<Prompt> = model.prompts().into_iter().filter(|prompt| !is_learner(prompt)).collect();
    let [evening, .., morning] = prompts.as_slice() else { panic!("two questions") };
    assert_eq!(evening.system, morning.system);
    let told = morning.history.iter().map(|one| one.text()).collect::<Vec<_>>().join("\n");
    assert!(told.contains("2026-03-04"), "the new day is told beside it: {told}");
}
