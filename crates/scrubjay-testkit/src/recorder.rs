//! Keeps every prompt a model was sent.

use scrubjay::model::{Ability, Delta, Model, ModelError, Pending, Reply};
use scrubjay::prompt::Prompt;
use scrubjay::prompt_cache::prices::Prices;
use scrubjay::tokens::ContextWindow;
use std::sync::{Arc, Mutex, PoisonError};

/// A model that passes everything on to another and keeps what it was asked.
#[derive(Clone)]
pub struct Recorder {
    model: Arc<dyn Model>,
    prompts: Arc<Mutex<Vec<Prompt>>>,
}

impl Recorder {
    /// Record what `model` is asked.
    pub fn of(model: Arc<dyn Model>) -> Self {
        Self { model, prompts: Arc::default() }
    }

    /// Every prompt so far.
    pub fn prompts(&self) -> Vec<Prompt> {
        self.prompts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Model for Recorder {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn is_a_mind(&self) -> bool {
        self.model.is_a_mind()
    }

    fn prices(&self) -> Option<Prices> {
        self.model.prices()
    }

    fn window(&self) -> ContextWindow {
        self.model.window()
    }

    fn can(&self, ability: Ability) -> bool {
        self.model.can(ability)
    }

    fn reply<'a>(
        &'a self,
        prompt: &'a Prompt,
        on: &'a mut (dyn FnMut(Delta) + Send),
    ) -> Pending<'a, Result<Reply, ModelError>> {
        self.prompts.lock().unwrap_or_else(PoisonError::into_inner).push(prompt.clone());
        self.model.reply(prompt, on)
    }

    fn summarise<'a>(&'a self, prompt: &'a Prompt, instructions: &'a str) -> Pending<'a, Result<Reply, ModelError>> {
        self.model.summarise(prompt, instructions)
    }

    fn count<'a>(&'a self, prompt: &'a Prompt) -> Pending<'a, Result<Option<u64>, ModelError>> {
        self.model.count(prompt)
    }
}
