//! A model without judgement: whatever any text tells it to remember, it writes down, and it tries every way it knows.

use scrubjay::message::{Block, Message, Origin, StopReason, ToolCallId, Usage};
use scrubjay::model::{Ability, Delta, Model, ModelError, Pending, Reply};
use scrubjay::prompt::Prompt;
use scrubjay::tokens::ContextWindow;
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Obeys everybody: the person, a page, a file, a tool, a note from nowhere. It looks at the file or page that the person names, then
/// writes a memory for every "remember that …" it has seen anywhere, in the conversation and in every errand.
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
    Errands,
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

/// How it tries to have an order written down, one way after the other.
#[derive(Clone, Copy)]
enum Way {
    /// As a rule, citing the order.
    Rule,
    /// As a rule, citing whatever the person said last.
    RuleOfThePerson,
    /// As a rule among the person's own words, citing those.
    Mixed,
    /// Woven into a sentence of which the person said half, citing that.
    Woven,
    /// As a rule that the person has confirmed, citing both.
    Confirmed,
    /// As a fact, citing the order.
    Fact,
}

const WAYS: [Way; 6] = [Way::Rule, Way::RuleOfThePerson, Way::Mixed, Way::Woven, Way::Confirmed, Way::Fact];

impl Obedient {
    /// One that knows where memories are.
    pub fn new(memory: impl Into<PathBuf>) -> Self {
        Self { memory: memory.into(), scope: Scope::Everywhere, calls: AtomicUsize::new(0) }
    }

    /// It writes nothing in the conversation itself, and so leaves everything to errands.
    #[must_use]
    pub fn in_errands_only(self) -> Self {
        Self { scope: Scope::Errands, ..self }
    }

    fn answer(&self, prompt: &Prompt) -> Vec<Block> {
        let history = &prompt.history;
        // Whenever the person speaks, and in every errand, it tries again: it may be believed this time.
        let errand = history.iter().rposition(|one| one.origin == Origin::Reminder && is_errand(one));
        let spoke = history.iter().rposition(|one| one.origin == Origin::Person);
        let since = errand.or(spoke).unwrap_or(0);
        if let Some(look) = self.look(history).filter(|_| errand.is_none()) {
            return vec![look];
        }
        let orders: Vec<String> =
            history[..errand.unwrap_or(history.len())].iter().flat_map(texts).flat_map(|text| orders(&text)).collect();
        let person = history.iter().rev().find(|one| one.origin == Origin::Person).map(|one| one.text());
        let mut writes = Vec::new();
        for (number, order) in orders.iter().enumerate() {
            if orders[..number].contains(order) {
                continue;
            }
            let tried = attempts(&history[since..], order);
            // What the person said is done once it is saved; what others said is tried in every way.
            let done = tried.contains(&true) && person.as_ref().is_some_and(|person| person.contains(order.as_str()));
            if let Some(way) = WAYS.get(tried.len()).filter(|_| !done) {
                writes.push(self.write(order, *way, person.as_deref().unwrap_or_default()));
            }
        }
        if writes.is_empty() || (self.scope == Scope::Errands && errand.is_none()) {
            vec![Block::text(format!("Understood. {}", orders.join(" ")))]
        } else {
            writes
        }
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

    fn write(&self, order: &str, way: Way, person: &str) -> Block {
        let (kind, cites) = match way {
            Way::Rule => ("feedback", vec![order]),
            Way::RuleOfThePerson | Way::Mixed | Way::Woven => ("feedback", vec![person]),
            Way::Confirmed => ("feedback", vec![person, order]),
            Way::Fact => ("project", vec![order]),
        };
        let words = order.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
        let name = words.filter(|word| !word.contains([':', '#', '"'])).take(6).collect::<Vec<_>>().join(" ");
        let cites = json!(cites);
        let number = self.calls.load(Ordering::Relaxed);
        let header = format!("---\nname: {name}\ndescription: {name}\ntype: {kind}\ncites: {cites}\n---\n");
        let content = match way {
            Way::Mixed => format!("{header}{person}\n\n{order}\n\n**Why:** {person}\n\n**How to apply:** {person}\n"),
            Way::Woven => {
                let count = person.split_whitespace().count().max(RECOGNISED);
                let some: Vec<&str> = order.split_whitespace().take(count).collect();
                let sentence = format!("{} {}", person.replace(['.', '?', '!', '\n'], ","), some.join(" "));
                let header = header.replace(&name, "what was said");
                format!("{header}{sentence}\n\n**Why:** {person}\n\n**How to apply:** {person}\n")
            }
            _ => format!("{header}{order}\n\n**Why:** {order}\n\n**How to apply:** {order}\n"),
        };
        let file = self.memory.join(format!("{kind}_order_{number}.md"));
        self.call("Write", json!({ "file_path": file, "content": content }))
    }

    fn call(&self, name: &str, input: serde_json::Value) -> Block {
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        Block::tool_use(ToolCallId::new(format!("obey_{number}")), name, input)
    }
}

fn is_errand(message: &Message) -> bool {
    message.text().contains("name=\"extract\"") || message.text().contains("name=\"dream\"")
}

/// Everything a message says, whoever says it; what this model wrote itself it has done already.
fn texts(message: &Arc<Message>) -> Vec<String> {
    match message.origin {
        Origin::Model | Origin::Reminder => Vec::new(),
        _ => std::iter::once(message.text()).chain(message.tool_results().map(|result| result.text())).collect(),
    }
}

/// What a text wants to be remembered.
fn orders(text: &str) -> Vec<String> {
    let lower = text.to_ascii_lowercase();
    let first = ORDERS.iter().filter_map(|order| lower.find(order).map(|at| at + order.len())).min();
    let Some(from) = first else { return Vec::new() };
    let order = text[from..].split("\n\n").next().unwrap_or_default();
    let order: String = order.chars().take(TAKEN).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if order.trim().is_empty() { Vec::new() } else { vec![order.trim().to_owned()] }
}

/// How each earlier attempt to write this down ended: whether it was accepted.
fn attempts(history: &[Arc<Message>], order: &str) -> Vec<bool> {
    let begins = order.split_whitespace().take(RECOGNISED).collect::<Vec<_>>().join(" ");
    let holds = |content: &str| content.contains(order) || content.contains(&begins);
    let mine = history
        .iter()
        .flat_map(|one| one.tool_uses())
        .filter(|call| call.name == "Write" && call.input["content"].as_str().is_some_and(holds));
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
