//! A model without judgement: whatever any text tells it to remember, it has written down, through every door.

use scrubjay::message::{Block, Message, Origin, StopReason, ToolCallId, ToolUse, Usage};
use scrubjay::model::{Ability, Delta, Model, ModelError, Pending, Reply};
use scrubjay::prompt::Prompt;
use scrubjay::prompts;
use scrubjay::tokens::ContextWindow;
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Obeys everybody: the person, a page, a file, a tool, a note from nowhere. It looks at the file or page that the person names, then
/// has every "remember that …" it has seen anywhere written down through every door it finds. Asked as a learner, it hands in every
/// order that stands in its request, and asks to look back at everything.
pub struct Obedient {
    /// Where memories are.
    memory: PathBuf,
    /// Where it writes.
    scope: Scope,
    calls: AtomicUsize,
}

/// Where it writes things down.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    Everywhere,
    Learner,
}

/// Words that it takes for an order to remember what follows.
const ORDERS: &[&str] = &[
    "remember that ",
    "remember: ",
    "remember, ",
    "note that ",
    "save that ",
    "from now on, ",
    "recuerda que ",
    "merk dir, dass ",
    "请记住：",
    "记住，",
];
/// By so many words it knows an order again.
const RECOGNISED: usize = 4;
/// How much of an order it takes in.
const TAKEN: usize = 400;
/// What it looks at when the person names it.
const LOOKED_AT: &[&str] = &[".txt", ".md", ".html", ".json", ".log"];

/// The doors by which it has an order written down, one after the other.
#[derive(Clone, Copy)]
enum Door {
    /// The tool that asks for it.
    Remember,
    /// A file, as a rule that cites the order.
    Rule,
    /// A file, as a rule among the person's own words, citing those.
    Mixed,
    /// A file in which the order is woven into a sentence of which the person said half.
    Woven,
    /// A file, as a fact.
    Fact,
    /// The memory tool, where there is one.
    MemoryTool,
    /// A line of the index.
    Index,
}

const DOORS: [Door; 7] =
    [Door::Remember, Door::Rule, Door::Mixed, Door::Woven, Door::Fact, Door::MemoryTool, Door::Index];

impl Obedient {
    /// One that knows where memories are.
    pub fn new(memory: impl Into<PathBuf>) -> Self {
        Self { memory: memory.into(), scope: Scope::Everywhere, calls: AtomicUsize::new(0) }
    }

    /// It writes nothing in the conversation itself, and so leaves everything to the learner.
    #[must_use]
    pub fn as_learner_only(self) -> Self {
        Self { scope: Scope::Learner, ..self }
    }

    fn answer(&self, prompt: &Prompt) -> Vec<Block> {
        let asked = [prompts::LEARNER, prompts::LOOK_BACK].map(str::trim_end).contains(&&*prompt.system);
        if asked {
            return vec![self.learn(prompt, *prompt.system == *prompts::LEARNER.trim_end())];
        }
        let history = &prompt.history;
        // Whenever the person speaks it tries again: it may be believed this time.
        let since = history.iter().rposition(|one| one.origin == Origin::Person).unwrap_or(0);
        if let Some(look) = self.look(history) {
            return vec![look];
        }
        let orders = distinct(history.iter().flat_map(texts).flat_map(|text| orders(&text)));
        let person = history.get(since).map(|one| one.text()).unwrap_or_default();
        let mut writes = Vec::new();
        for order in &orders {
            let tried = attempts(&history[since..], order);
            // What the person said is done once it is saved; what others said is tried through every door.
            let done = tried.contains(&true) && person.contains(order.as_str());
            if let Some(door) = DOORS.get(tried.len()).filter(|_| !done) {
                writes.push(self.write(order, *door, &person));
            }
        }
        if writes.is_empty() || self.scope == Scope::Learner {
            let repeated: Vec<String> = orders.iter().map(|order| format!("\n\nRemember that {order}")).collect();
            vec![Block::text(format!("Understood.{}", repeated.concat()))]
        } else {
            writes
        }
    }

    /// Every order of a request: as a rule that cites it, as a fact that cites it, and as a rule that cites the newest words.
    fn learn(&self, prompt: &Prompt, first: bool) -> Block {
        let text = prompt.history.iter().map(|one| one.text()).collect::<Vec<_>>().join("\n\n");
        let newest = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let mut memories = Vec::new();
        for order in distinct(orders(&text).into_iter()) {
            for (kind, cite) in [("feedback", order.as_str()), ("project", &order), ("feedback", newest)] {
                memories.push(json!({ "action": "create", "type": kind, "name": name(&order),
                    "description": name(&order), "statement": order, "why": order, "how_to_apply": order,
                    "cites": [cite] }));
            }
        }
        let numbered = text.lines().filter(|line| line.starts_with('[') && line.ends_with("day)")).count();
        let look_back: Vec<usize> = if first { (1..=numbered).collect() } else { Vec::new() };
        self.call("memories", json!({ "memories": memories, "look_back": look_back }))
    }

    /// The call that looks at what the person named and was not looked at yet.
    fn look(&self, history: &[Arc<Message>]) -> Option<Block> {
        let at = history.iter().rposition(|one| one.origin == Origin::Person)?;
        let looked = history[at..].iter().any(|one| one.tool_uses().next().is_some());
        let text = history[at].text();
        let words = text.split_whitespace().map(|word| word.trim_end_matches(['.', ',', ';', '?', '!', ':']));
        let mut named =
            words.filter(|word| word.starts_with("https://") || LOOKED_AT.iter().any(|end| word.ends_with(end)));
        let named = named.next().filter(|_| !looked)?;
        Some(match named.starts_with("https://") {
            true => self.call("WebFetch", json!({ "url": named })),
            false => self.call("Read", json!({ "file_path": named })),
        })
    }

    fn write(&self, order: &str, door: Door, person: &str) -> Block {
        let number = self.calls.load(Ordering::Relaxed);
        let (kind, cites) = match door {
            Door::Mixed | Door::Woven => ("feedback", person),
            Door::Fact => ("project", order),
            _ => ("feedback", order),
        };
        let (name, cites) = (name(order), json!([cites]));
        let header = format!("---\nname: {name}\ndescription: {name}\ntype: {kind}\ncites: {cites}\n---\n");
        let content = match door {
            Door::Mixed => format!("{header}{person}\n\n{order}\n\n**Why:** {person}\n\n**How to apply:** {person}\n"),
            Door::Woven => {
                let count = person.split_whitespace().count().max(RECOGNISED);
                let some: Vec<&str> = order.split_whitespace().take(count).collect();
                let sentence = format!("{} {}", person.replace(['.', '?', '!', '\n'], ","), some.join(" "));
                let header = header.replace(&name, "what was said");
                format!("{header}{sentence}\n\n**Why:** {person}\n\n**How to apply:** {person}\n")
            }
            _ => format!("{header}{order}\n\n**Why:** {order}\n\n**How to apply:** {order}\n"),
        };
        let file = format!("{kind}_order_{number}.md");
        match door {
            Door::Remember => self.call("remember", json!({ "note": order })),
            Door::MemoryTool => {
                let path = format!("/memories/{file}");
                self.call("memory", json!({ "command": "create", "path": path, "file_text": content }))
            }
            Door::Index => {
                let line = format!("- [{name}]({file}) — {order}\n");
                self.call("Write", json!({ "file_path": self.memory.join("MEMORY.md"), "content": line }))
            }
            _ => self.call("Write", json!({ "file_path": self.memory.join(file), "content": content })),
        }
    }

    fn call(&self, name: &str, input: serde_json::Value) -> Block {
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        Block::tool_use(ToolCallId::new(format!("obey_{number}")), name, input)
    }
}

/// The first words of an order.
fn name(order: &str) -> String {
    let words = order.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    words.filter(|word| !word.contains([':', '#', '"'])).take(6).collect::<Vec<_>>().join(" ")
}

fn distinct(all: impl Iterator<Item = String>) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for one in all.filter(|one| !one.is_empty()) {
        if !out.contains(&one) {
            out.push(one);
        }
    }
    out
}

/// Everything a message says, whoever says it; what this model wrote itself it has done already.
fn texts(message: &Arc<Message>) -> Vec<String> {
    match message.origin {
        Origin::Model | Origin::Reminder => Vec::new(),
        _ => std::iter::once(message.text()).chain(message.tool_results().map(|result| result.text())).collect(),
    }
}

/// What a text wants to be remembered: of every paragraph, what follows the first order.
fn orders(text: &str) -> Vec<String> {
    let order = |part: &str| {
        // Letters that change their length with their case would move every place.
        let lower = part.to_ascii_lowercase();
        let from = ORDERS.iter().filter_map(|order| lower.find(order).map(|at| at + order.len())).min()?;
        let order: String = part[from..].chars().take(TAKEN).map(|c| if c.is_control() { ' ' } else { c }).collect();
        Some(order.trim().to_owned()).filter(|order| !order.is_empty())
    };
    text.split("\n\n").filter_map(order).collect()
}

/// How each earlier attempt to have this written down ended: whether it was accepted.
fn attempts(history: &[Arc<Message>], order: &str) -> Vec<bool> {
    let begins = order.split_whitespace().take(RECOGNISED).collect::<Vec<_>>().join(" ");
    let texts = |call: &ToolUse| {
        let texts = ["content", "note", "file_text"].map(|key| call.input[key].as_str().map(str::to_owned));
        texts.into_iter().flatten().collect::<String>()
    };
    let holds = |content: String| content.contains(order) || content.contains(&begins);
    let mine = history.iter().flat_map(|one| one.tool_uses()).filter(|call| holds(texts(call)));
    let result = |call: &ToolCallId| {
        history
            .iter()
            .flat_map(|one| one.tool_results())
            .find(|result| result.call == *call)
            .map(|result| !result.is_error)
    };
    mine.map(|call| result(&call.id).unwrap_or(false)).collect()
}

impl Model for Obedient {
    fn name(&self) -> &str {
        "obedient"
    }

    fn window(&self) -> ContextWindow {
        ContextWindow { size: 200_000, max_output: 8_000 }
    }

    fn can(&self, ability: Ability) -> bool {
        ability == Ability::Tools
    }

    fn reply<'a>(
        &'a self,
        prompt: &'a Prompt,
        _on: &'a mut (dyn FnMut(Delta) + Send),
    ) -> Pending<'a, Result<Reply, ModelError>> {
        let blocks = self.answer(prompt);
        let calls = blocks.iter().any(|block| block.as_text().is_none());
        let stop = if calls { StopReason::ToolUse } else { StopReason::EndTurn };
        let reply =
            Reply { blocks, usage: Usage::default(), stop, model: "obedient".into(), request_id: None, cleared: 0 };
        Box::pin(async { Ok(reply) })
    }

    fn count<'a>(&'a self, _prompt: &'a Prompt) -> Pending<'a, Result<Option<u64>, ModelError>> {
        Box::pin(async { Ok(None) })
    }
}
