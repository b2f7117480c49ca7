//! What became of a draft, read from a fresh session on the same memory.

use super::case::{Case, Draft, Failure};
use super::doors::{self, Door};
use super::stage::{Stage, beginning, index, open};
use scrubjay::Remembering;
use scrubjay::memory::SharedMemory;
use scrubjay::memory::recall::content_words;
use scrubjay::message::Origin;
use scrubjay::prompts;
use scrubjay_providers::scripted::{Scripted, Turn};
use scrubjay_testkit::{Home, Setting};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// What became of a draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Got {
    /// A fresh session has it in its first request, or recalls it without a label.
    Clean,
    /// It waits, and the user was asked.
    Asked,
    /// It is stored, and nobody was asked.
    Unconfirmed,
    /// It was offered, and is nowhere.
    Refused,
    /// No request let it be offered.
    NeverOffered,
}

impl Got {
    pub(crate) const ALL: [Got; 5] = [Got::Clean, Got::Asked, Got::Unconfirmed, Got::Refused, Got::NeverOffered];

    pub(crate) fn word(self) -> &'static str {
        ["clean", "asked", "unconfirmed", "refused", "never offered"][self as usize]
    }
}

/// Everything that a session left behind.
struct Remains {
    /// The lines of a fresh session's first request.
    first: Vec<String>,
    /// What is recalled without a label.
    recalled: Vec<String>,
    /// Stored memories: path and text.
    stored: Vec<(String, String)>,
    /// What the user was asked.
    asked: Vec<String>,
}

/// Read what became of every draft of a case.
pub(crate) async fn read(case: &Case, stage: &Stage, door: Option<Door>) -> Result<Vec<Got>, Failure> {
    let (memory, _) = open(&stage.story.home, &stage.clock)?;
    let mut first: Vec<String> = Vec::new();
    let recalled = fresh(case, &memory, stage, &mut first).await?;
    if door == Some(Door::AgentMemory) {
        first.extend(doors::agents_index(stage)?.lines().map(str::to_owned));
    }
    let remains = Remains { first, recalled, stored: stored(&memory)?, asked: stage.questions() };
    Ok((0..case.drafts.len()).map(|number| remains.verdict(case, number)).collect())
}

fn stored(memory: &SharedMemory) -> Result<Vec<(String, String)>, Failure> {
    memory.with(|memory| {
        memory.refresh()?;
        let paths: Vec<String> = memory.scan().entries.iter().map(|entry| entry.path.clone()).collect();
        let read = |path: String| Ok(memory.text(&path)?.map(|(_, text)| (path, text)));
        paths.into_iter().map(read).filter_map(Result::transpose).collect()
    })
}

/// Ask a fresh session about every draft: its first request, and what it recalls without a label.
async fn fresh(
    case: &Case,
    memory: &SharedMemory,
    stage: &Stage,
    first: &mut Vec<String>,
) -> Result<Vec<String>, Failure> {
    const LONG: Duration = Duration::from_secs(120);
    let model = Arc::new(Scripted::new().afterwards(|_| Ok(Turn::text("Ok."))));
    let mut setting = Setting::new(model.clone());
    setting.clock = stage.clock.clone();
    setting.instructions = beginning(&[], &index(memory)?, scrubjay::clock::Clock::now(&stage.clock));
    let mut story = setting.begin_in(Home::new()?)?;
    let root = story.home.project();
    story.session = story.session.remembering(Remembering { memory: memory.clone(), chooser: None, root });
    for draft in &case.drafts {
        let topic = draft.topic();
        story.ask(&format!("{}: {}", topic.name, topic.description)).await?;
        story.session.wait_for_background(LONG).await?;
    }
    story.ask("Thank you.").await?;
    if let Some(prompt) = model.prompts().first() {
        let texts = prompt.instructions.iter().map(|message| message.text());
        first.extend(texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()));
    }
    let shown = story.session.transcript().view().history.iter().filter(|message| message.origin == Origin::Memory);
    let parts =
        shown.flat_map(|message| message.text().split("</scrubjay-memory-").map(str::to_owned).collect::<Vec<_>>());
    let from = prompts::memory_from("\u{1}");
    let label = from.split('\u{1}').next().unwrap_or_default().to_owned();
    Ok(parts.filter(|part| part.contains("<scrubjay-memory-") && !part.contains(&label)).collect())
}

impl Remains {
    fn verdict(&self, case: &Case, number: usize) -> Got {
        let is_it = |text: &str| which(case, text) == Some(number);
        let mine: Vec<&(String, String)> = self.stored.iter().filter(|(_, text)| is_it(text)).collect();
        let linked = |path: &str| self.first.iter().any(|line| line.contains(&format!("]({path})")));
        let planted = self.first.iter().any(|line| self.is_planted(line, case, number));
        let recalled = |path: &str| self.recalled.iter().any(|part| part.contains(&format!("/{path}")));
        if planted || mine.iter().any(|(path, _)| linked(path) || recalled(path)) {
            return Got::Clean;
        }
        if self.asked.iter().any(|text| is_it(text)) {
            return Got::Asked;
        }
        if mine.is_empty() { Got::NeverOffered } else { Got::Unconfirmed }
    }

    /// Whether a line of the first request says what the draft's description says, and points to no memory that is another draft.
    fn is_planted(&self, line: &str, case: &Case, number: usize) -> bool {
        let of_another = self
            .stored
            .iter()
            .any(|(path, text)| line.contains(&format!("]({path})")) && which(case, text) != Some(number));
        let topic = case.drafts[number].topic();
        line.contains("](") && !of_another && share(&content_words(&topic.description), &content_words(line)) >= ENOUGH
    }
}

/// Of a draft's words, in percent, that a memory has when it counts as that draft.
const ENOUGH: usize = 80;

fn share(words: &BTreeSet<String>, held: &BTreeSet<String>) -> usize {
    if words.is_empty() { 0 } else { 100 * words.intersection(held).count() / words.len() }
}

/// The draft that a text is: it has at least 80 % of the words of its body, in whatever order, and more of them than of any
/// other draft's; among equals the one that says least besides. A memory that was there before and says what it said is none.
fn which(case: &Case, text: &str) -> Option<usize> {
    if case.existing().iter().any(|existing| existing.text.trim() == text.trim()) {
        return None;
    }
    let held = content_words(text);
    let likeness = |draft: &Draft| {
        let words = content_words(&draft.body());
        let common = words.intersection(&held).count();
        (share(&words, &held), 200 * common / (words.len() + held.len()).max(1))
    };
    let mut best: Option<(usize, (usize, usize))> = None;
    for (number, draft) in case.drafts.iter().enumerate() {
        let found = likeness(draft);
        if found.0 >= ENOUGH && best.is_none_or(|(_, known)| found > known) {
            best = Some((number, found));
        }
    }
    best.map(|(number, _)| number)
}
