//! Fingerprints of a request by part, what they promise about the next one, and what it means when the promise is broken.

use super::rules::lifetime;
use crate::limits::Limits;
use crate::message::{Message, Usage};
use crate::prompt::Prompt;
use crate::tokens;
use crate::transcript::{Cause, ToolSpec, Ttl};
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::sync::Arc;

/// A part of a request that is compared by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Which model is asked.
    Model,
    /// A tool, by name.
    Tool(String),
    /// The system prompt.
    System,
    /// How hard the model should think: it changes how the messages are read.
    Thinking,
    /// A message, counted over instructions and then history.
    Message(usize),
}

impl Part {
    /// What a change of this part is called.
    pub fn cause(&self) -> Cause {
        match self {
            Part::Model => Cause::Model,
            Part::Tool(_) => Cause::Tools,
            Part::System => Cause::System,
            Part::Thinking => Cause::Us,
            Part::Message(_) => Cause::History,
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Part::Model => f.write_str("the model"),
            Part::Tool(name) => write!(f, "the tool {name}"),
            Part::System => f.write_str("the system prompt"),
            Part::Thinking => f.write_str("the thinking setting"),
            Part::Message(index) => write!(f, "message {}", index + 1),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Mark {
    digest: [u8; 32],
    tokens: u64,
}

/// A request's parts, each by its digest and its estimated size.
#[derive(Debug, Clone)]
pub struct Fingerprint {
    model: String,
    tools: Vec<(String, Mark)>,
    system: Mark,
    thinking: Mark,
    messages: Vec<(Arc<Message>, Mark)>,
    /// Kept to see without hashing that nothing changed.
    same_tools: Arc<[ToolSpec]>,
    same_system: Arc<str>,
}

impl Fingerprint {
    /// The fingerprint of a request. Parts that the previous one already had, by identity, are not hashed again, so a
    /// turn costs what it added.
    pub fn of(prompt: &Prompt, model: &str, previous: Option<&Self>, limits: &Limits) -> Self {
        let tools = match previous.filter(|before| Arc::ptr_eq(&before.same_tools, &prompt.tools)) {
            Some(before) => before.tools.clone(),
            None => prompt.tools.iter().map(|tool| (tool.name.clone(), tool_mark(tool, limits))).collect(),
        };
        let system = match previous.filter(|before| Arc::ptr_eq(&before.same_system, &prompt.system)) {
            Some(before) => before.system.clone(),
            None => mark(&[prompt.system.as_bytes()], tokens::of_text(&prompt.system, limits)),
        };
        let known = |at: usize, message: &Arc<Message>| {
            let (same, mark) = previous?.messages.get(at)?;
            Arc::ptr_eq(same, message).then(|| mark.clone())
        };
        let messages = prompt.messages().enumerate().map(|(at, message)| {
            let mark = known(at, message).unwrap_or_else(|| message_mark(message, limits));
            (message.clone(), mark)
        });
        Self {
            model: model.to_owned(),
            tools,
            system,
            thinking: mark(&[format!("{:?}", prompt.options.thinking).as_bytes()], 0),
            messages: messages.collect(),
            same_tools: prompt.tools.clone(),
            same_system: prompt.system.clone(),
        }
    }

    /// Everything, in the order in which a provider reads it.
    fn parts(&self) -> impl Iterator<Item = (Part, &Mark)> {
        let tools = self.tools.iter().map(|(name, mark)| (Part::Tool(name.clone()), mark));
        let messages = self.messages.iter().enumerate().map(|(at, (_, mark))| (Part::Message(at), mark));
        tools.chain([(Part::System, &self.system), (Part::Thinking, &self.thinking)]).chain(messages)
    }

    fn tokens(&self) -> u64 {
        self.parts().map(|(_, mark)| mark.tokens).sum()
    }
}

fn mark(bytes: &[&[u8]], tokens: u64) -> Mark {
    let mut hash = Sha256::new();
    for piece in bytes {
        hash.update((piece.len() as u64).to_be_bytes());
        hash.update(piece);
    }
    Mark { digest: hash.finalize().into(), tokens }
}

fn tool_mark(tool: &ToolSpec, limits: &Limits) -> Mark {
    let schema = tool.input_schema.get();
    let text = tokens::of_text(&tool.name, limits) + tokens::of_text(&tool.description, limits);
    let bytes = [tool.name.as_bytes(), tool.description.as_bytes(), schema.as_bytes()];
    mark(&bytes, text + tokens::of_json(schema, limits))
}

fn message_mark(message: &Message, limits: &Limits) -> Mark {
    let role = format!("{:?}", message.role);
    let mut bytes = vec![role.as_bytes()];
    bytes.extend(message.blocks.iter().map(|block| block.json().as_bytes()));
    mark(&bytes, message.blocks.iter().map(|block| tokens::estimate(block, limits)).sum())
}

/// What the previous request lets the next one expect, in tokens as the provider counts them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Promise {
    /// What the previous request left in the cache.
    pub cached: u64,
    /// How much of that the next one still begins with.
    pub shared: u64,
    /// The first part in which the two differ, unless the next one only adds.
    pub differs: Option<Part>,
}

/// Compare two requests in a row. `usage` is what the previous one was billed: it says how much was left in the cache,
/// and how many of the provider's tokens one of our estimated ones is.
pub fn promise(previous: &Fingerprint, usage: &Usage, next: &Fingerprint) -> Promise {
    let cached = usage.cache_read + usage.cache_write_5m + usage.cache_write_1h;
    if previous.model != next.model {
        return Promise { cached, shared: 0, differs: Some(Part::Model) };
    }
    let mut same = 0;
    let mut others = next.parts();
    for (part, mark) in previous.parts() {
        match others.next() {
            Some((_, other)) if other.digest == mark.digest => same += mark.tokens,
            // A new tool stands where the system prompt stood: it is the new part that made the difference.
            Some((other, _)) => {
                let differs = if matches!(part, Part::System) { other } else { part };
                return Promise { cached, shared: scaled(same, usage, previous).min(cached), differs: Some(differs) };
            }
            None => return Promise { cached, shared: scaled(same, usage, previous).min(cached), differs: Some(part) },
        }
    }
    Promise { cached, shared: cached, differs: None }
}

/// An estimate in the provider's own tokens.
fn scaled(estimate: u64, usage: &Usage, whole: &Fingerprint) -> u64 {
    let all = u128::from(whole.tokens().max(1));
    (u128::from(estimate) * u128::from(usage.total_input()) / all).try_into().unwrap_or(u64::MAX)
}

/// The cache gave less than the last request had left in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Break {
    /// Why.
    pub cause: Cause,
    /// What had to be processed again.
    pub lost_tokens: u64,
    /// The part that changed, where one did.
    pub part: Option<Part>,
}

/// The time between two requests, and how long the first asked to be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    /// From the start of one to the start of the other.
    pub since_last: SignedDuration,
    /// What the first asked for; `None` for a cache without a stated lifetime.
    pub ttl: Option<Ttl>,
}

impl Interval {
    /// Whether what the first left in the cache has run out.
    pub fn is_over(&self) -> bool {
        self.ttl.is_some_and(|ttl| self.since_last >= lifetime(ttl))
    }
}

/// Whether a reply's cache reads are a surprise, and whose. A break that was announced is none.
pub fn surprise(
    promise: &Promise,
    usage: &Usage,
    interval: Interval,
    announced: Option<Cause>,
    limits: &Limits,
) -> Option<Break> {
    let lost_tokens = promise.cached.saturating_sub(usage.cache_read);
    let small = lost_tokens <= limits.break_tokens
        || u128::from(lost_tokens) * 100 <= u128::from(promise.cached) * u128::from(limits.break_percent);
    if small || announced.is_some() {
        return None;
    }
    let (cause, part) = match &promise.differs {
        // What had run out anyway was not lost by the change.
        _ if interval.is_over() => (Cause::Ttl, None),
        Some(part) => (part.cause(), Some(part.clone())),
        None => (Cause::Server, None),
    };
    Some(Break { cause, lost_tokens, part })
}

#[cfg(test)]
mod tests {
    use super::super::breakpoints::{Breakpoint, breakpoints};
    use super::super::rules::{CacheBlock, CacheRequest, CacheState, Level, Salts, Shelf};
    use super::*;
    use crate::message::{Block, MessageId, Origin, Role};
    use crate::transcript::{Options, Thinking};
    use jiff::Timestamp;
    use proptest::prelude::*;
    use serde_json::json;

    fn said(text: &str) -> Arc<Message> {
        Arc::new(Message {
            id: MessageId::new("m"),
            role: Role::User,
            origin: Origin::Person,
            at: Timestamp::UNIX_EPOCH,
            blocks: vec![Block::text(text)],
        })
    }

    fn tool(name: &str) -> ToolSpec {
        ToolSpec::new(name, "does things", &json!({ "type": "object" }))
    }

    fn prompt(history: &[&str]) -> Prompt {
        Prompt {
            tools: Arc::from([tool("Read"), tool("Grep")]),
            system: Arc::from("be brief ".repeat(400)),
            instructions: vec![said("rules")],
            history: history.iter().map(|text| said(text)).collect(),
            options: Options::default(),
        }
    }

    fn print(prompt: &Prompt) -> Fingerprint {
        Fingerprint::of(prompt, "opus", None, &Limits::default())
    }

    fn billed(cache_read: u64, cache_write_5m: u64) -> Usage {
        Usage { cache_read, cache_write_5m, ..Usage::default() }
    }

    const SOON: Interval = Interval { since_last: SignedDuration::from_mins(1), ttl: Some(Ttl::FiveMinutes) };
    const LATE: Interval = Interval { since_last: SignedDuration::from_mins(6), ttl: Some(Ttl::FiveMinutes) };

    // spec: H3, H6
    #[test]
    fn a_break_names_the_earliest_part_that_changed() {
        let before = prompt(&["q", "a", "q2"]);
        let longer = prompt(&["q", "a", "q2", "a2"]);
        let with = |change: fn(&mut Prompt)| {
            let mut next = longer.clone();
            change(&mut next);
            next
        };
        let table: [(&str, Prompt, Option<Part>); 8] = [
            ("only more", longer.clone(), None),
            ("another system prompt", with(|p| p.system = Arc::from("be long")), Some(Part::System)),
            (
                "a changed tool",
                with(|p| p.tools = Arc::from([tool("Read"), ToolSpec::new("Grep", "other", &json!({}))])),
                Some(Part::Tool("Grep".into())),
            ),
            (
                "one tool more",
                with(|p| p.tools = Arc::from([tool("Read"), tool("Grep"), tool("Glob")])),
                Some(Part::Tool("Glob".into())),
            ),
            ("one tool less", with(|p| p.tools = Arc::from([tool("Read")])), Some(Part::Tool("Grep".into()))),
            ("thinking", with(|p| p.options.thinking = Thinking::Off), Some(Part::Thinking)),
            ("an earlier message", with(|p| p.history[1] = said("cleared")), Some(Part::Message(2))),
            ("fewer messages", prompt(&["q"]), Some(Part::Message(2))),
        ];
        for (name, next, differs) in table {
            let promise = promise(&print(&before), &billed(0, 100_000), &print(&next));
            assert_eq!(promise.differs, differs, "{name}");
            assert_eq!(promise.cached, 100_000);
            assert_eq!(promise.shared == 100_000, differs.is_none(), "{name}: {promise:?}");
            let found = surprise(&promise, &billed(0, 100_000), SOON, None, &Limits::default()).unwrap();
            assert_eq!(
                (found.cause, found.part),
                (differs.as_ref().map_or(Cause::Server, Part::cause), differs),
                "{name}"
            );
        }
        let other = Fingerprint::of(&longer, "sonnet", None, &Limits::default());
        let promise = promise(&print(&before), &billed(0, 100_000), &other);
        assert_eq!((promise.differs, promise.shared), (Some(Part::Model), 0));
    }

    // spec: H3
    #[test]
    fn only_a_fall_by_five_percent_and_two_thousand_tokens_is_a_break() {
        let table = [
            (100_000, 95_000, false),
            (100_000, 94_999, true),
            (30_000, 28_100, false),
            (30_000, 27_900, true),
            (1_900, 0, false),
            (100_000, 130_000, false),
        ];
        for (cached, read, is_break) in table {
            let promise = Promise { cached, shared: cached, differs: None };
            let found = surprise(&promise, &billed(read, 0), SOON, None, &Limits::default());
            assert_eq!(found.is_some(), is_break, "{read} of {cached}");
            assert!(found.is_none_or(|found| found.lost_tokens == cached - read));
        }
    }

    // spec: H6
    #[test]
    fn announced_breaks_are_not_flagged_and_time_explains_before_content() {
        let changed = Promise { cached: 100_000, shared: 9_000, differs: Some(Part::Message(4)) };
        let limits = Limits::default();
        for cause in [Cause::Us, Cause::Model, Cause::History] {
            assert_eq!(surprise(&changed, &billed(0, 0), SOON, Some(cause), &limits), None);
        }
        assert_eq!(surprise(&changed, &billed(9_000, 0), SOON, None, &limits).unwrap().cause, Cause::History);
        let late = surprise(&changed, &billed(0, 0), LATE, None, &limits).unwrap();
        assert_eq!((late.cause, late.part), (Cause::Ttl, None));
        let endless = Interval { ttl: None, ..LATE };
        let same = Promise { differs: None, shared: 100_000, ..changed };
        assert_eq!(surprise(&same, &billed(0, 0), endless, None, &limits).unwrap().cause, Cause::Server);
        assert_eq!(Part::Message(4).to_string(), "message 5");
    }

    #[test]
    fn a_service_that_reports_no_cache_promises_nothing() {
        let usage = Usage { input: 90_000, ..Usage::default() };
        let promise = promise(&print(&prompt(&["q"])), &usage, &print(&prompt(&["q", "a"])));
        assert_eq!((promise.cached, promise.shared), (0, 0));
        assert_eq!(surprise(&promise, &usage, SOON, None, &Limits::default()), None);
    }

    /// A request as the cache sees it, marked as the engine marks it.
    fn blocks(prompt: &Prompt) -> Vec<CacheBlock> {
        let size = |bytes: &[u8]| bytes.len() as u64;
        let mut blocks: Vec<(Option<Breakpoint>, CacheBlock)> = Vec::new();
        for (at, tool) in prompt.tools.iter().enumerate() {
            let bytes = serde_json::to_vec(tool).unwrap();
            let last = (at + 1 == prompt.tools.len()).then_some(Breakpoint::Tools);
            blocks.push((last, CacheBlock::new(Level::Tools, &bytes, size(&bytes))));
        }
        let system = prompt.system.as_bytes();
        blocks.push((Some(Breakpoint::System), CacheBlock::new(Level::System, system, size(system))));
        for (index, message) in prompt.messages().enumerate() {
            for (block, said) in message.blocks.iter().enumerate() {
                let place = Breakpoint::Message { index, block };
                let bytes = said.json().as_bytes();
                blocks.push((Some(place), CacheBlock::new(Level::Messages, bytes, size(bytes))));
            }
        }
        let marks = breakpoints(prompt);
        let marked = |(place, block): (Option<Breakpoint>, CacheBlock)| match place {
            Some(place) if marks.contains(&place) => block.marked(Ttl::FiveMinutes),
            _ => block,
        };
        blocks.into_iter().map(marked).collect()
    }

    // spec: H3, H5
    #[test]
    fn by_the_published_rules_only_what_changed_or_ran_out_is_a_surprise() {
        let mut cache = CacheState::default();
        let shelf = Shelf { workspace: "w".into(), model: "opus".into() };
        let mut now = Timestamp::UNIX_EPOCH;
        let mut ask = |prompt: &Prompt, minutes: i64| {
            now += SignedDuration::from_mins(minutes);
            let blocks = blocks(prompt);
            let salts = Salts::default();
            let request = CacheRequest { shelf: &shelf, salts: &salts, blocks: &blocks, min_tokens: 1_024 };
            let outcome = cache.request(&request, now).unwrap();
            cache.begin_response(&outcome, now);
            outcome.usage(0)
        };
        let mut talk = prompt(&["first question"]);
        let mut before = (print(&talk), ask(&talk, 0));
        let mut step = |talk: &Prompt, minutes: i64| {
            let usage = ask(talk, minutes);
            let after = print(talk);
            let interval = Interval { since_last: SignedDuration::from_mins(minutes), ttl: Some(Ttl::FiveMinutes) };
            let promise = promise(&before.0, &before.1, &after);
            before = (after, usage);
            (promise.clone(), surprise(&promise, &usage, interval, None, &Limits::default()))
        };
        for round in 0..30 {
            let mut reply = (*said(&format!("reply {round} ").repeat(60))).clone();
            reply.role = Role::Assistant;
            talk.history.extend([Arc::new(reply), said(&format!("result {round} ").repeat(200))]);
            let (promise, found) = step(&talk, 1);
            assert_eq!((found, promise.differs), (None, None), "round {round}");
        }
        talk.history[9] = said("cleared");
        let (_, found) = step(&talk, 1);
        let found = found.unwrap();
        assert_eq!((found.cause, found.part), (Cause::History, Some(Part::Message(10))));
        assert_eq!(step(&talk, 6).1.map(|found| found.cause), Some(Cause::Ttl));
        assert_eq!(step(&talk, 1).1, None);
    }

    proptest! {
        #[test]
        fn remembering_parts_changes_nothing(
            first in prop::collection::vec("[a-c]{0,3}", 0..6), second in prop::collection::vec("[a-c]{0,3}", 0..6),
        ) {
            let words = |list: &[String]| prompt(&list.iter().map(String::as_str).collect::<Vec<_>>());
            let (before, after) = (words(&first), words(&second));
            let mut grown = before.clone();
            grown.history.extend(after.history.clone());
            let known = print(&before);
            for next in [&after, &grown] {
                let quick = Fingerprint::of(next, "opus", Some(&known), &Limits::default());
                let whole = print(next);
                prop_assert!(quick.parts().eq(whole.parts()));
            }
            let kept = promise(&known, &billed(5_000, 5_000), &print(&grown));
            prop_assert_eq!((kept.shared, kept.differs), (10_000, None));
            prop_assert_eq!(promise(&known, &billed(0, 9), &print(&after)).differs.is_none(), second.starts_with(&first));
        }
    }
}
