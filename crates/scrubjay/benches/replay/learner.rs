//! A learner beside a recorded session: what the engine asks it is counted and charged, what it answers is made up.

use crate::engine::Failure;
use crate::tape::Tape;
use scrubjay::clock::Clock as _;
use scrubjay::limits::Limits;
use scrubjay::memory::extraction::{Attendance, TOOL};
use scrubjay::memory::{Cause, Change, Edit, Place, SharedMemory};
use scrubjay::message::{Block, StopReason, Usage};
use scrubjay::model::{Ability, Delta, Model, ModelError, Pending, Reply};
use scrubjay::paths::Layout;
use scrubjay::prompt::Prompt;
use scrubjay::prompt_cache::bill::Biller;
use scrubjay::prompt_cache::prices::Prices;
use scrubjay::tokens::ContextWindow;
use scrubjay::{Learns, Remembering, Session};
use scrubjay_providers::{Catalogue, Choice, Entry as Facts, Keys, cheapest};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// An answer is charged at least this much.
const LEAST_OUTPUT: u64 = 300;
/// One call in so many finds something.
const FINDS: u64 = 5;
/// A line of so many characters is worth citing.
const CITED: usize = 20;
/// What the service counts for a prefix that it keeps, where the catalogue does not say.
const MIN_CACHEABLE: u64 = 4_096;

/// The cheapest model of the same provider.
struct Learner {
    name: String,
    facts: Facts,
    /// What a token of plain input costs the conversation.
    unit: f64,
    tape: Arc<Tape>,
    biller: Mutex<Biller>,
}

/// A session that learns, into a memory of its own with so many memories in it.
pub fn taught(session: Session, tape: &Arc<Tape>, folder: &Path, memories: usize) -> Result<Session, Failure> {
    let limits = Limits::default();
    let project = Layout::at(folder.join("d")).project(Path::new("/"), &limits);
    let (memory, _) = SharedMemory::open(&Place::of(&project), &project, tape.clone(), &limits)?;
    for number in 0..memories {
        let edits = vec![Edit::create(format!("known-{number}.md"), known(number))];
        memory.with(|memory| memory.commit(Change { cause: Cause::Person, edits }))?;
    }
    let learner: Arc<dyn Model> = Arc::new(Learner::of(tape)?);
    let learns = Learns { transcripts: project.dir().to_owned(), attendance: Attendance::Person, model: Some(learner) };
    Ok(session.remembering(Remembering { memory, chooser: None, root: folder.join("f") }).learning(learns))
}

/// A memory of usual length that was there before.
fn known(number: usize) -> String {
    let about =
        ["commit messages", "tests of the hooks", "the release branch", "reviews", "error messages", "migrations"];
    let about = about[number % about.len()];
    format!(
        "---\nname: Rule {number} about {about}\ndescription: How the user wants {about} handled in part {number} of the repository\n\
         type: feedback\n---\nHandle {about} in part {number} the way the team agreed on: small steps, each explained in a \
         sentence, nothing that was not asked for.\n\n**Why:** A larger change was hard to review and had to be taken back \
         the day after it was merged.\n\n**How to apply:** Whenever {about} come up; ask first where the part is shared \
         with others.\n"
    )
}

impl Learner {
    fn of(tape: &Arc<Tape>) -> Result<Self, Failure> {
        let catalogue = Catalogue::built_in()?;
        let main = &tape.session.model;
        let choice = Choice { model: main.clone(), ..Choice::default() };
        let name = cheapest(&choice, &Keys::default(), &catalogue).unwrap_or_else(|| main.clone());
        let facts = catalogue.find(&name).cloned().ok_or_else(|| format!("{name} has no prices"))?;
        let unit = catalogue.find(main).and_then(|facts| facts.prices.input);
        let unit = unit.ok_or_else(|| format!("{main} has no prices"))? / 1e6;
        let ratio = tape.session.ratio;
        let scale = move |part: scrubjay::prompt_cache::bill::Part<'_>| ((part.chars() as f64 * ratio) as u64).max(1);
        let biller = Biller::new(facts.min_cacheable.unwrap_or(MIN_CACHEABLE), Box::new(scale));
        Ok(Self { name, facts, unit, tape: tape.clone(), biller: Mutex::new(biller) })
    }

    fn answer(&self, prompt: &Prompt) -> Reply {
        let mut biller = self.biller.lock().unwrap_or_else(PoisonError::into_inner);
        let asked = biller.bill(prompt, self.tape.now()).usage;
        let words: Vec<String> = prompt.history.iter().map(|message| message.text()).collect();
        let number = self.tape.learner_calls();
        let found = typed(&words.join("\n")).filter(|_| number % FINDS == FINDS - 1);
        let memories: Vec<Value> = found.map(|line| memory(&line)).into_iter().collect();
        let input = json!({ "memories": memories, "look_back": [] });
        let block = Block::tool_use(format!("learned-{number}").as_str().into(), TOOL, input);
        let usage = Usage { output: biller.weigh(&block).max(LEAST_OUTPUT), ..asked };
        let cost = self.facts.cost(&usage).unwrap_or_default() / self.unit;
        self.tape.learned(cost, &usage);
        let (stop, model) = (StopReason::ToolUse, self.name.clone());
        Reply { blocks: vec![block], usage, stop, model, request_id: None, cleared: 0 }
    }
}

/// The longest line that the user typed last.
fn typed(request: &str) -> Option<String> {
    let fresh = request.split("What the user typed:").last()?;
    let last = fresh.rsplit("</answer-before>").next()?;
    let is_typed = |line: &&str| !line.starts_with('[') && line.chars().count() >= CITED;
    last.lines().map(str::trim).filter(is_typed).max_by_key(|line| line.chars().count()).map(str::to_owned)
}

fn memory(line: &str) -> Value {
    let name: String = line.split_whitespace().take(6).collect::<Vec<_>>().join(" ");
    json!({
        "action": "create", "type": "feedback", "name": name, "description": format!("The user asked for this: {name}"),
        "statement": format!("The user said how this is to be done: {line}"),
        "why": "They had to say it in the middle of the work, after it had been done in another way than they wanted.",
        "how_to_apply": "Whenever the same comes up again; ask first if the situation differs from the one in which it was said.",
        "cites": [line],
    })
}

impl Model for Learner {
    fn name(&self) -> &str {
        &self.name
    }

    fn window(&self) -> ContextWindow {
        let Facts { window, max_output, .. } = &self.facts;
        ContextWindow { size: window.unwrap_or(200_000), max_output: max_output.unwrap_or(32_000) }
    }

    fn can(&self, ability: Ability) -> bool {
        self.facts.can(ability)
    }

    fn prices(&self) -> Option<Prices> {
        self.facts.prices.known()
    }

    fn reply<'a>(
        &'a self,
        prompt: &'a Prompt,
        _on: &'a mut (dyn FnMut(Delta) + Send),
    ) -> Pending<'a, Result<Reply, ModelError>> {
        Box::pin(async move { Ok(self.answer(prompt)) })
    }

    fn count<'a>(&'a self, _prompt: &'a Prompt) -> Pending<'a, Result<Option<u64>, ModelError>> {
        Box::pin(async { Ok(None) })
    }
}
