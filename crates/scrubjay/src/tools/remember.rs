//! `remember` and `forget`: what the model wants kept or gone. Neither decides; see `memory::extraction`.

use super::input::{at_once, card, parse};
use super::keeper::Keeper;
use crate::model::Pending;
use crate::tool::{Bench, Effect, MemoryNote, NoteKind, Tool, ToolOutcome};
use crate::transcript::ToolSpec;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

/// Asks for something to be remembered.
pub struct Remember {
    spec: ToolSpec,
    keeper: Arc<dyn Keeper>,
}

/// Asks for something to be forgotten.
pub struct Forget {
    spec: ToolSpec,
    keeper: Arc<dyn Keeper>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RememberInput {
    note: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ForgetInput {
    name: String,
}

impl Remember {
    /// Its name.
    pub const NAME: &'static str = "remember";

    /// The tool, for whoever keeps the memory.
    pub fn kept_by(keeper: Arc<dyn Keeper>) -> Self {
        let about = include_str!("../../prompts/tools/remember.md");
        let spec = card(Self::NAME, about, &["note"], json!({ "note": { "type": "string" } }));
        Self { spec, keeper }
    }
}

impl Forget {
    /// Its name.
    pub const NAME: &'static str = "forget";

    /// The tool, for whoever keeps the memory.
    pub fn kept_by(keeper: Arc<dyn Keeper>) -> Self {
        let about = include_str!("../../prompts/tools/forget.md");
        let spec = card(Self::NAME, about, &["name"], json!({ "name": { "type": "string" } }));
        Self { spec, keeper }
    }
}

fn take_down<'a>(keeper: &'a Arc<dyn Keeper>, note: MemoryNote, bench: &'a Bench<'a>) -> Pending<'a, ToolOutcome> {
    Box::pin(async move {
        match keeper.note(note, bench.occasion, bench.memory).await {
            Ok(kept) => ToolOutcome::ok(kept.in_words(String::new()).trim().to_owned()).telling(kept.notices),
            Err(why) => ToolOutcome::error(why),
        }
    })
}

impl Tool for Remember {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn effect(&self, _: &Value, _: &Path) -> Effect {
        Effect::Nothing
    }

    fn call<'a>(&'a self, input: &'a Value, bench: &'a Bench<'a>) -> Pending<'a, ToolOutcome> {
        match parse::<RememberInput>(input) {
            Err(refusal) => at_once(refusal),
            Ok(input) => take_down(&self.keeper, MemoryNote { kind: NoteKind::Words, text: input.note }, bench),
        }
    }
}

impl Tool for Forget {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn effect(&self, _: &Value, _: &Path) -> Effect {
        Effect::Nothing
    }

    fn call<'a>(&'a self, input: &'a Value, bench: &'a Bench<'a>) -> Pending<'a, ToolOutcome> {
        match parse::<ForgetInput>(input) {
            Err(refusal) => at_once(refusal),
            Ok(input) => take_down(&self.keeper, MemoryNote { kind: NoteKind::Forget, text: input.name }, bench),
        }
    }
}
