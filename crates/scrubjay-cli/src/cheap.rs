//! Small work beside the conversation goes to a cheap model, and to the conversation's own where the key may not use that one.

use scrubjay::model::{Ability, Delta, Model, ModelError, Pending, Reply};
use scrubjay::prompt::Prompt;
use scrubjay::prompt_cache::prices::Prices;
use scrubjay::tokens::ContextWindow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A cheap model with another one behind it.
pub(crate) struct CheapModel {
    cheap: Arc<dyn Model>,
    main: Arc<dyn Model>,
    /// The service does not let this key use the cheap one.
    refused: AtomicBool,
}

impl CheapModel {
    pub(crate) fn new(cheap: Arc<dyn Model>, main: Arc<dyn Model>) -> Self {
        Self { cheap, main, refused: AtomicBool::new(false) }
    }

    /// The one that is asked now.
    fn current(&self) -> &dyn Model {
        if self.refused.load(Ordering::Relaxed) { self.main.as_ref() } else { self.cheap.as_ref() }
    }
}

impl Model for CheapModel {
    fn name(&self) -> &str {
        self.current().name()
    }

    fn window(&self) -> ContextWindow {
        self.current().window()
    }

    fn can(&self, ability: Ability) -> bool {
        self.current().can(ability)
    }

    fn prices(&self) -> Option<Prices> {
        self.current().prices()
    }

    fn reply<'a>(
        &'a self,
        prompt: &'a Prompt,
        on: &'a mut (dyn FnMut(Delta) + Send),
    ) -> Pending<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            let replied = self.current().reply(prompt, on).await;
            match replied {
                Err(ModelError::UnknownModel(_) | ModelError::Unauthorised(_))
                    if !self.refused.swap(true, Ordering::Relaxed) =>
                {
                    self.main.reply(prompt, on).await
                }
                replied => replied,
            }
        })
    }

    fn count<'a>(&'a self, prompt: &'a Prompt) -> Pending<'a, Result<Option<u64>, ModelError>> {
        self.current().count(prompt)
    }
}
