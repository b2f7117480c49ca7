//! A reply of the Messages dialect, assembled from its events without losing a byte of what matters.

use super::block::OpenBlock;
use crate::exchange::{Assembly, Broken, Progress, Trouble};
use crate::fields::Fields;
use crate::refusal::Said;
use crate::retry::Teller;
use scrubjay::message::{Block, Kind, StopReason, Usage};
use scrubjay::model::Reply;
use scrubjay::transcript::Ttl;
use serde::Deserialize;
use sse_stream::Sse;

/// More blocks than any reply has: a stream that announces more is not a reply.
const MOST_BLOCKS: usize = 10_000;

/// The reply so far.
#[derive(Debug)]
pub(crate) struct Assembling {
    ttl: Ttl,
    model: String,
    id: Option<String>,
    counted: Counted,
    stop: Option<String>,
    slots: Vec<Slot>,
    bad_input: Option<String>,
    cleared: u64,
    is_over: bool,
}

#[derive(Debug)]
struct Slot {
    index: u64,
    state: State,
}

#[derive(Debug)]
enum State {
    Open(Box<OpenBlock>),
    Done(Option<Block>),
}

/// What the service counted. Counts only ever grow, and a missing one says nothing.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
struct Counted {
    input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_creation: Option<Creation>,
    /// What an iteration was for.
    #[serde(rename = "type")]
    kind: Option<String>,
    /// What was counted apart: a summary is not part of the counts above.
    iterations: Vec<Counted>,
}

#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(default)]
struct Creation {
    ephemeral_5m_input_tokens: Option<u64>,
    ephemeral_1h_input_tokens: Option<u64>,
}

impl Counted {
    fn add(&mut self, more: Self) {
        self.input_tokens = self.input_tokens.max(more.input_tokens);
        self.cache_creation_input_tokens = self.cache_creation_input_tokens.max(more.cache_creation_input_tokens);
        self.cache_read_input_tokens = self.cache_read_input_tokens.max(more.cache_read_input_tokens);
        self.output_tokens = self.output_tokens.max(more.output_tokens);
        if !more.iterations.is_empty() {
            self.iterations = more.iterations;
        }
        if let Some(more) = more.cache_creation {
            let mine = self.cache_creation.get_or_insert_default();
            mine.ephemeral_5m_input_tokens = mine.ephemeral_5m_input_tokens.max(more.ephemeral_5m_input_tokens);
            mine.ephemeral_1h_input_tokens = mine.ephemeral_1h_input_tokens.max(more.ephemeral_1h_input_tokens);
        }
    }

    /// What the summary took, for a reply that is nothing else.
    fn of_summary(&self) -> Option<&Self> {
        self.iterations.iter().rfind(|iteration| iteration.kind.as_deref() == Some("compaction"))
    }

    /// As usage; writes without a stated lifetime have the one that was asked for.
    fn usage(&self, ttl: Ttl) -> Usage {
        let written = self.cache_creation_input_tokens.unwrap_or(0);
        let (five, hour) = match (self.cache_creation, ttl) {
            (Some(by), _) => (by.ephemeral_5m_input_tokens.unwrap_or(0), by.ephemeral_1h_input_tokens.unwrap_or(0)),
            (None, Ttl::FiveMinutes) => (written, 0),
            (None, Ttl::OneHour) => (0, written),
        };
        Usage {
            input: self.input_tokens.unwrap_or(0),
            cache_read: self.cache_read_input_tokens.unwrap_or(0),
            cache_write_5m: five,
            cache_write_1h: hour,
            output: self.output_tokens.unwrap_or(0),
        }
    }
}

#[derive(Deserialize)]
struct Event {
    #[serde(rename = "type", default)]
    kind: Option<String>,
    #[serde(default)]
    index: Option<u64>,
    #[serde(default)]
    message: Option<Head>,
    #[serde(default)]
    content_block: Option<Fields>,
    #[serde(default)]
    delta: Option<Fields>,
    #[serde(default)]
    usage: Option<Counted>,
    #[serde(default)]
    context_management: Option<Managed>,
}

/// What the service cleared on its side before it read the request.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Managed {
    applied_edits: Vec<Applied>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Applied {
    cleared_input_tokens: u64,
}

#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    usage: Option<Counted>,
}

#[derive(Deserialize)]
struct Whole {
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    model: Option<String>,
    content: Vec<Fields>,
    #[serde(default)]
    stop_reason: Option<String>,
    #[serde(default)]
    usage: Option<Counted>,
}

impl Assembling {
    /// Nothing has come yet.
    pub(crate) fn new(model: &str, ttl: Ttl) -> Self {
        Self {
            ttl,
            model: model.to_owned(),
            id: None,
            counted: Counted::default(),
            stop: None,
            slots: vec![],
            bad_input: None,
            cleared: 0,
            is_over: false,
        }
    }

    fn head(&mut self, id: Option<String>, model: Option<String>, usage: Option<Counted>) {
        self.id = id.or(self.id.take());
        if let Some(model) = model.filter(|model| !model.is_empty()) {
            self.model = model;
        }
        self.counted.add(usage.unwrap_or_default());
    }

    fn begin(&mut self, index: u64, fields: Fields, teller: &mut Teller<'_>) -> Result<(), Trouble> {
        if self.slots.len() >= MOST_BLOCKS || self.slots.iter().any(|slot| slot.index == index) {
            return Err(Trouble::Malformed(format!("block {index} twice, or too many blocks")));
        }
        self.slots.push(Slot { index, state: State::Open(Box::new(OpenBlock::begin(fields, teller))) });
        Ok(())
    }

    fn add(&mut self, index: u64, delta: &Fields, teller: &mut Teller<'_>) -> Result<(), Trouble> {
        match self.slots.iter_mut().find(|slot| slot.index == index).map(|slot| &mut slot.state) {
            Some(State::Open(block)) => {
                block.add(delta, teller);
                Ok(())
            }
            _ => Err(Trouble::Malformed(format!("a piece of block {index}, which is not open"))),
        }
    }

    fn end(&mut self, index: u64) {
        let Some(slot) = self.slots.iter_mut().find(|slot| slot.index == index) else { return };
        slot.state = match std::mem::replace(&mut slot.state, State::Done(None)) {
            State::Done(block) => State::Done(block),
            State::Open(open) => State::Done(open.end().unwrap_or_else(|bad| {
                self.bad_input = Some(bad.tool);
                None
            })),
        };
    }

    fn dispatch(&mut self, kind: &str, event: Event, teller: &mut Teller<'_>) -> Result<Progress, Trouble> {
        match (kind, event) {
            ("message_start", Event { message: Some(head), .. }) => self.head(head.id, head.model, head.usage),
            ("content_block_start", Event { index: Some(index), content_block: Some(fields), .. }) => {
                self.begin(index, fields, teller)?;
            }
            ("content_block_delta", Event { index: Some(index), delta: Some(delta), .. }) => {
                self.add(index, &delta, teller)?;
            }
            ("content_block_stop", Event { index: Some(index), .. }) => self.end(index),
            ("message_delta", Event { delta, usage, context_management, .. }) => {
                self.counted.add(usage.unwrap_or_default());
                let applied = context_management.unwrap_or_default().applied_edits;
                self.cleared += applied.iter().map(|edit| edit.cleared_input_tokens).sum::<u64>();
                self.stop = delta.and_then(|delta| delta.text("stop_reason")).or(self.stop.take());
            }
            ("message_stop", _) => {
                self.is_over = true;
                return Ok(Progress::Done);
            }
            ("message_start" | "content_block_start" | "content_block_delta" | "content_block_stop", _) => {
                return Err(Trouble::Malformed(format!("a {kind} event without its parts")));
            }
            _ => {}
        }
        Ok(Progress::More)
    }
}

impl Assembly for Assembling {
    fn take(&mut self, sse: &Sse, teller: &mut Teller<'_>) -> Result<Progress, Trouble> {
        let Some(data) = sse.data.as_deref().filter(|data| !data.trim().is_empty()) else { return Ok(Progress::More) };
        let event = match serde_json::from_str::<Event>(data) {
            Ok(event) => event,
            // An event of a kind this program does not know may have any shape.
            Err(_) if sse.event.as_deref().is_some_and(|kind| !KNOWN.contains(&kind)) => return Ok(Progress::More),
            Err(error) => return Err(Trouble::Malformed(format!("an event that is not JSON as expected ({error})"))),
        };
        let kind = event.kind.clone().or_else(|| sse.event.clone()).unwrap_or_default();
        if kind == "error" {
            return Err(Trouble::Reported(Said::read(data)));
        }
        self.dispatch(&kind, event, teller)
    }

    fn take_whole(&mut self, body: &str, teller: &mut Teller<'_>) -> Result<(), Trouble> {
        let Ok(whole) = serde_json::from_str::<Whole>(body) else {
            let said = Said::read(body);
            let is_error = serde_json::from_str::<Fields>(body).is_ok_and(|fields| fields.get("error").is_some());
            return Err(if is_error { Trouble::Reported(said) } else { Trouble::Malformed("something".to_owned()) });
        };
        self.head(whole.id, whole.model, whole.usage);
        self.stop = whole.stop_reason;
        for (index, fields) in (0..).zip(whole.content) {
            self.begin(index, fields, teller)?;
            self.end(index);
        }
        self.is_over = true;
        Ok(())
    }

    fn is_whole(&self) -> bool {
        self.is_over
    }

    fn finish(self) -> Result<Reply, Broken> {
        let ran_out = matches!(self.stop.as_deref(), Some("max_tokens" | "model_context_window_exceeded"));
        let half_done = self.slots.iter().any(|slot| matches!(slot.state, State::Open(_)));
        let because = match &self.bad_input {
            Some(tool) if !ran_out => Some(format!("the input of its call of {tool} is not JSON")),
            _ if half_done => Some("a block was not finished".to_owned()),
            _ => None,
        };
        let (model, request_id) = (self.model.clone(), self.id.clone());
        if let Some(because) = because {
            let (partial, usage) = self.partial();
            return Err(Broken { partial, usage, because });
        }
        let summary = self.counted.of_summary().filter(|_| self.stop.as_deref() == Some("compaction"));
        let (usage, cleared) = (summary.unwrap_or(&self.counted).usage(self.ttl), self.cleared);
        let blocks = kept(self.slots);
        let stop = stop_reason(self.stop.as_deref(), &blocks);
        Ok(Reply { blocks, usage, stop, model, request_id, cleared })
    }

    fn partial(self) -> (Vec<Block>, Usage) {
        let usage = self.counted.usage(self.ttl);
        (kept(self.slots), usage)
    }
}

const KNOWN: [&str; 7] = [
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
    "error",
];

fn stop_reason(said: Option<&str>, blocks: &[Block]) -> StopReason {
    match said {
        Some("end_turn") => StopReason::EndTurn,
        Some("tool_use") => StopReason::ToolUse,
        Some("max_tokens") => StopReason::MaxTokens,
        Some("stop_sequence") => StopReason::StopSequence,
        Some("model_context_window_exceeded") => StopReason::WindowFull,
        Some("refusal") => StopReason::Refusal,
        Some(other) => StopReason::Other(other.to_owned()),
        None if blocks.iter().any(|block| matches!(block.kind(), Kind::ToolUse(_))) => StopReason::ToolUse,
        None => StopReason::EndTurn,
    }
}

/// The blocks that may be kept, in the order of their places.
fn kept(mut slots: Vec<Slot>) -> Vec<Block> {
    slots.sort_by_key(|slot| slot.index);
    slots
        .into_iter()
        .filter_map(|slot| match slot.state {
            State::Done(block) => block,
            State::Open(open) => open.rescue(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use scrubjay::model::Delta;

    fn event(data: &str) -> Sse {
        Sse { data: Some(data.to_owned()), ..Sse::default() }
    }

    fn read(events: &[&str]) -> (Assembling, Vec<Delta>, Option<Trouble>) {
        let mut told = vec![];
        let mut on = |delta| told.push(delta);
        let mut teller = Teller::new(&mut on);
        let mut assembly = Assembling::new("asked-for", Ttl::FiveMinutes);
        let trouble = events.iter().find_map(|data| assembly.take(&event(data), &mut teller).err());
        (assembly, told, trouble)
    }

    fn block(start: &str, deltas: &[&str]) -> Option<String> {
        let mut events = vec![format!(r#"{{"type":"content_block_start","index":0,"content_block":{start}}}"#)];
        events.extend(deltas.iter().map(|d| format!(r#"{{"type":"content_block_delta","index":0,"delta":{d}}}"#)));
        events.push(r#"{"type":"content_block_stop","index":0}"#.into());
        events.push(r#"{"type":"message_stop"}"#.into());
        let events: Vec<&str> = events.iter().map(String::as_str).collect();
        let reply = read(&events).0.finish().unwrap();
        reply.blocks.first().map(|block| block.json().to_owned())
    }

    // spec: H1
    #[test]
    fn blocks_come_back_with_every_field_known_or_not() {
        let table: [(&str, &[&str], Option<&str>); 9] = [
            (
                r#"{"type":"text","text":""}"#,
                &[r#"{"type":"text_delta","text":"a\n"}"#, r#"{"type":"text_delta","text":"é"}"#],
                Some(r#"{"type":"text","text":"a\né"}"#),
            ),
            (r#"{"type":"text","text":""}"#, &[], None),
            (
                r#"{"type":"thinking","thinking":"","signature":""}"#,
                &[r#"{"type":"thinking_delta","thinking":"hm"}"#, r#"{"type":"signature_delta","signature":"Eo+/=="}"#],
                Some(r#"{"type":"thinking","thinking":"hm","signature":"Eo+/=="}"#),
            ),
            (
                r#"{"type":"tool_use","id":"t","name":"Read","input":{},"caller":{"type":"direct"}}"#,
                &[
                    r#"{"type":"input_json_delta","partial_json":""}"#,
                    r#"{"type":"input_json_delta","partial_json":"{\"z\": 1.50,"}"#,
                    r#"{"type":"input_json_delta","partial_json":"\"a\":2}"}"#,
                ],
                Some(
                    r#"{"type":"tool_use","id":"t","name":"Read","input":{"z":1.50,"a":2},"caller":{"type":"direct"}}"#,
                ),
            ),
            (
                r#"{"type":"tool_use","id":"t","name":"Read","input":{}}"#,
                &[r#"{"type":"input_json_delta","partial_json":""}"#],
                Some(r#"{"type":"tool_use","id":"t","name":"Read","input":{}}"#),
            ),
            (
                r#"{"type":"hologram","n":1.0,"big":12345678901234567890123}"#,
                &[],
                Some(r#"{"type":"hologram","n":1.0,"big":12345678901234567890123}"#),
            ),
            (
                r#"{"type":"hologram","beam":"a"}"#,
                &[r#"{"type":"beam_delta","beam":"b","depth":2.0}"#],
                Some(r#"{"type":"hologram","beam":"ab","depth":2.0}"#),
            ),
            (
                r#"{"type":"text","text":"x","citations":null}"#,
                &[
                    r#"{"type":"citations_delta","citation":{"p":1}}"#,
                    r#"{"type":"citations_delta","citation":{"p":2}}"#,
                ],
                Some(r#"{"type":"text","text":"x","citations":[{"p":1},{"p":2}]}"#),
            ),
            (
                r#"{"type":"compaction","content":null}"#,
                &[r#"{"type":"compaction_delta","content":"sum","encrypted_content":"E"}"#],
                Some(r#"{"type":"compaction","content":"sum","encrypted_content":"E"}"#),
            ),
        ];
        for (start, deltas, expected) in table {
            assert_eq!(block(start, deltas).as_deref(), expected, "{start}");
        }
    }

    #[test]
    fn counts_grow_and_are_never_forgotten() {
        let (assembly, _, trouble) = read(&[
            r#"{"type":"message_start","message":{"id":"msg_1","model":"m","usage":{"input_tokens":10,"cache_read_input_tokens":90,"cache_creation_input_tokens":7,"cache_creation":{"ephemeral_5m_input_tokens":3,"ephemeral_1h_input_tokens":4},"output_tokens":1}}}"#,
            r#"{"type":"ping"}"#,
            r#"{"type":"weather","sun":[1]}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"refusal","stop_sequence":null},"usage":{"output_tokens":15,"input_tokens":null}}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":null},"usage":{"output_tokens":15}}"#,
            r#"{"type":"message_stop"}"#,
        ]);
        assert!(trouble.is_none());
        let reply = assembly.finish().unwrap();
        assert_eq!(reply.usage, Usage { input: 10, cache_read: 90, cache_write_5m: 3, cache_write_1h: 4, output: 15 });
        assert_eq!(
            (reply.model.as_str(), reply.stop, reply.request_id.as_deref()),
            ("m", StopReason::Refusal, Some("msg_1"))
        );
        let plain = Counted { cache_creation_input_tokens: Some(5), ..Counted::default() };
        assert_eq!(plain.usage(Ttl::OneHour).cache_write_1h, 5);
    }

    // spec: Q2
    #[test]
    fn what_is_half_done_is_left_out_except_prose() {
        let start =
            |at: u64, block: &str| format!(r#"{{"type":"content_block_start","index":{at},"content_block":{block}}}"#);
        let events = [
            start(0, r#"{"type":"thinking","thinking":"","signature":""}"#),
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}"#.into(),
            start(1, r#"{"type":"tool_use","id":"t","name":"Read","input":{}}"#),
            start(2, r#"{"type":"text","text":""}"#),
            r#"{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"so far"}}"#.into(),
        ];
        let events: Vec<&str> = events.iter().map(String::as_str).collect();
        let (assembly, told, _) = read(&events);
        assert!(!assembly.is_whole());
        assert_eq!(assembly.partial().0, vec![Block::text("so far")]);
        assert_eq!(
            told,
            [Delta::Thinking("hm".into()), Delta::ToolUse { name: "Read".into() }, Delta::Text("so far".into())]
        );
    }

    #[test]
    fn a_call_whose_input_is_no_json_is_not_passed_off_as_one() {
        let call = [
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"Read","input":{}}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\":"}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
        ];
        assert!(read(&call).0.finish().unwrap_err().because.contains("Read"));
        let mut ran_out = call.to_vec();
        ran_out.push(r#"{"type":"message_delta","delta":{"stop_reason":"max_tokens"}}"#);
        let reply = read(&ran_out).0.finish().unwrap();
        assert_eq!((reply.blocks.len(), reply.stop), (0, StopReason::MaxTokens));
    }

    fn any_event() -> impl Strategy<Value = String> {
        let kinds = [
            "message_start",
            "content_block_start",
            "content_block_delta",
            "content_block_stop",
            "message_delta",
            "odd",
        ];
        let parts = [
            r#""content_block":{"type":"text","text":"a"}"#,
            r#""content_block":{"type":"tool_use","id":"t","name":"n","input":{}}"#,
            r#""content_block":{"type":7}"#,
            r#""delta":{"type":"text_delta","text":"b"}"#,
            r#""delta":{"type":"input_json_delta","partial_json":"{"}"#,
            r#""delta":{"type":"citations_delta","citation":null}"#,
            r#""delta":{"text":[1],"stop_reason":"tool_use"}"#,
            r#""message":{"usage":{"input_tokens":3}}"#,
            r#""usage":{"output_tokens":null}"#,
        ];
        (prop::sample::select(kinds.to_vec()), 0..3u64, prop::sample::select(parts.to_vec()))
            .prop_map(|(kind, index, part)| format!(r#"{{"type":"{kind}","index":{index},{part}}}"#))
    }

    proptest! {
        // safety: F-64
        #[test]
        fn any_order_of_events_is_survived(events in prop::collection::vec(any_event(), 0..24)) {
            let events: Vec<&str> = events.iter().map(String::as_str).collect();
            let (assembly, told, _) = read(&events);
            prop_assert!(!assembly.is_whole());
            let shown: usize = told.iter().filter(|delta| matches!(delta, Delta::Text(_))).count();
            let kept: usize = assembly.partial().0.iter().filter_map(Block::as_text).map(str::len).sum();
            prop_assert_eq!(kept, shown, "every word shown is kept");
        }
    }

    #[test]
    fn nonsense_is_named_not_followed() {
        for bad in [
            "not json",
            r#"{"type":"content_block_start","index":0}"#,
            r#"{"type":"content_block_delta","index":3,"delta":{"type":"text_delta","text":"x"}}"#,
        ] {
            assert!(matches!(read(&[bad]).2, Some(Trouble::Malformed(_))), "{bad}");
        }
        let error = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
        assert!(matches!(read(&[error]).2, Some(Trouble::Reported(said)) if said.is_transient()));
    }
}
