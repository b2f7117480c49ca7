//! What an agent in the background is doing, in three to five words, every half minute: asked of a model in the cheaper of
//! two ways, or read off its last call where there is no model or no budget.

use super::roster::Agent;
use crate::desk::Desk;
use crate::ledger::Called;
use crate::ledger::budget::DayBook;
use crate::limits::Limits;
use crate::message::{Block, Kind, Message, MessageId, Origin, Role, ToolUse, Usage};
use crate::model::{Model, Reply};
use crate::prompt::Prompt;
use crate::prompts;
use crate::tokens;
use crate::tools::shown;
use crate::transcript::{Call, Options, Thinking};
use crate::turn::{self, Stage};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;

/// Who asks, in the ledger.
pub const SOURCE: &str = "agent_summary";

/// How many words a model may say.
const WORDS: std::ops::RangeInclusive<usize> = 3..=5;

/// Puts into words what one agent is doing.
pub struct Teller {
    /// Which.
    pub agent: Arc<Agent>,
    /// What it thinks with.
    pub model: Arc<dyn Model>,
    /// The cheapest model there is.
    pub small: Option<Arc<dyn Model>>,
    /// What whoever started it works with.
    pub desk: Desk,
    /// Held while a model is asked: one at a time, whatever the number of agents.
    pub one_at_a_time: Arc<Mutex<()>>,
}

/// The cheaper way to ask.
struct Way {
    model: Arc<dyn Model>,
    prompt: Prompt,
}

impl Teller {
    /// Say it again and again, as long as there is something new.
    pub async fn keep_telling(&self, tell: impl Fn(String, Option<(Called, Call)>)) {
        let pause = Duration::from_millis(self.desk.limits.agent_summary_ms);
        let mut known = 0;
        loop {
            tokio::time::sleep(pause).await;
            let calls = self.agent.calls().len();
            if calls == known {
                continue;
            }
            known = calls;
            let _alone = self.one_at_a_time.lock().await;
            let (words, called) = self.words().await;
            self.agent.say(words.clone());
            tell(words, called);
        }
    }

    /// What it is doing now, and what it took to find out.
    async fn words(&self) -> (String, Option<(Called, Call)>) {
        let Some(way) = self.cheaper_way().filter(|_| self.may_ask()) else { return (self.agent.doing(), None) };
        let asked = self.desk.clock.now();
        let desk = Desk { model: way.model.clone(), ..self.desk.clone() };
        let Ok(reply) = turn::sample(&desk, &way.prompt, Stage::Back, &self.agent.stop).await else {
            return (self.agent.doing(), None);
        };
        let words = few_words(&reply).unwrap_or_else(|| self.agent.doing());
        let now = self.desk.clock.now();
        let took = Duration::try_from(now.duration_since(asked)).unwrap_or_default();
        let Reply { model, usage, stop, cleared, .. } = reply;
        let call = Call { source: SOURCE.to_owned(), model, usage, stop, cleared };
        let called = Called::of(now, &call, way.model.prices(), Default::default(), took);
        let called = Called { agent: Some(self.agent.name().to_owned()), ..called };
        (words, Some((called, call)))
    }

    /// The day's budget holds for this too.
    fn may_ask(&self) -> bool {
        let Desk { clock, zone, limits, day_book, .. } = &self.desk;
        let today = day_book.as_deref().map(|folder| DayBook::at(folder).today(clock.now(), zone, limits));
        today.is_none_or(|today| today.is_ok_and(|today| today.refusal().is_none()))
    }

    /// A small call on the end of what it did, or a fork of it, whose beginning is cached.
    fn cheaper_way(&self) -> Option<Way> {
        let (prompt, said) = self.agent.last()?;
        let small = self.small.as_ref().filter(|small| small.is_a_mind()).unwrap_or(&self.model);
        if !small.is_a_mind() {
            return None;
        }
        let limits = &self.desk.limits;
        let tail = tail_prompt(&prompt, &said, limits);
        let fork = fork_prompt(&prompt);
        let read = self.agent.calls().last().map(|call| call.usage.total_input()).unwrap_or_default();
        let asking = tokens::of_text(&prompts::agent_summary(None), limits);
        let of_tail: u64 = tail.history.iter().map(|message| tokens::of_text(&message.text(), limits)).sum();
        let output = limits.agent_summary_tokens;
        let tail_usage = Usage { input: of_tail, output, ..Usage::default() };
        let fork_usage = Usage { cache_read: read, input: asking, output, ..Usage::default() };
        let price = |model: &Arc<dyn Model>, usage: &Usage| model.prices().and_then(|prices| prices.cost(usage));
        // Where a price is not known, the one with fewer tokens is the safer guess.
        let forked =
            price(&self.model, &fork_usage).zip(price(small, &tail_usage)).is_some_and(|(fork, tail)| fork < tail);
        Some(match forked {
            true => Way { model: self.model.clone(), prompt: fork },
            false => Way { model: small.clone(), prompt: tail },
        })
    }
}

fn asking(text: String) -> Arc<Message> {
    let (id, at) = (MessageId::new(SOURCE), jiff::Timestamp::UNIX_EPOCH);
    Arc::new(Message { id, role: Role::User, origin: Origin::Reminder, at, blocks: vec![Block::text(text)] })
}

/// The agent's own request, to the byte, and one message more.
fn fork_prompt(prompt: &Prompt) -> Prompt {
    let mut fork = prompt.clone();
    fork.history.push(asking(prompts::agent_summary(None)));
    fork
}

fn tail_prompt(prompt: &Prompt, said: &[Block], limits: &Limits) -> Prompt {
    let most = usize::try_from(limits.agent_summary_bytes).unwrap_or(usize::MAX);
    let earlier = prompt.history.iter().flat_map(|message| message.blocks.iter().map(|block| (message.role, block)));
    let said = said.iter().map(|block| (Role::Assistant, block));
    let mut lines: Vec<String> = Vec::new();
    let mut room = most;
    for (role, block) in earlier.chain(said).collect::<Vec<_>>().into_iter().rev() {
        let Some(line) = line(role, block, most) else { continue };
        if line.len() > room {
            break;
        }
        room -= line.len();
        lines.push(line);
    }
    lines.reverse();
    Prompt {
        tools: Arc::from([]),
        system: Arc::from(""),
        instructions: Vec::new(),
        history: vec![asking(prompts::agent_summary(Some(&lines.join("\n"))))],
        options: Options {
            max_output: Some(limits.agent_summary_tokens),
            thinking: Thinking::Off,
            ..Options::default()
        },
    }
}

/// What a block says, no longer than a fraction of the whole.
fn line(role: Role, block: &Block, most: usize) -> Option<String> {
    const PARTS: usize = 8;
    let (who, text) = match block.kind() {
        Kind::Text(text) if role == Role::Assistant => ("said", text.clone()),
        Kind::Text(text) => ("told", text.clone()),
        Kind::ToolUse(call) => ("called", format!("{} {}", call.name, call.input)),
        Kind::ToolResult(result) => ("got", result.text()),
        _ => return None,
    };
    Some(format!("{who}: {}", &text[..text.floor_char_boundary(most / PARTS)]))
}

/// A model's words, if they are as few as was asked for.
fn few_words(reply: &Reply) -> Option<String> {
    let text: String = reply.blocks.iter().filter_map(Block::as_text).collect();
    let line = text.trim().trim_end_matches('.').trim_matches(['"', '`', '*']).trim();
    let fits = WORDS.contains(&line.split_whitespace().count()) && line.lines().count() == 1;
    (fits && reply.is_final()).then(|| shown(line).into_owned())
}

/// What a call is about, without asking anybody.
pub fn of_call(call: &ToolUse) -> String {
    const SHOWN: usize = 60;
    let field = |name: &str| call.input.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let words = match call.name.as_str() {
        "Read" => format!("Reading {}", field("file_path")),
        "Write" => format!("Writing {}", field("file_path")),
        "Edit" => format!("Editing {}", field("file_path")),
        "Grep" => format!("Searching for {}", field("pattern")),
        "Glob" => format!("Looking for {}", field("pattern")),
        "Bash" => format!("Running {}", field("command")),
        "WebFetch" => format!("Fetching {}", field("url")),
        "Agent" => format!("Starting {}", field("description")),
        other => format!("Using {other}"),
    };
    let line = words.lines().next().unwrap_or_default();
    let cut: String = line.chars().take(SHOWN).collect();
    shown(&if cut.len() < line.len() { cut + "…" } else { cut }).into_owned()
}
