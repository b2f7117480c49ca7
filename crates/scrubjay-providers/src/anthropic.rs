//! The Messages dialect: requests as exact bytes, replies as they were said.

mod block;
mod reply;
mod request;

use crate::catalogue::{Entry, LONG_CONTEXT_BETA};
use crate::exchange::Question;
use crate::wire::Wire;
use reply::Assembling;
use request::Manner;
use scrubjay::model::{Ability, Delta, Model, ModelError, Pending, Reply};
use scrubjay::prompt::Prompt;
use scrubjay::prompt_cache::prices::Prices;
use scrubjay::tokens::ContextWindow;
use serde::Deserialize;

const VERSION: &str = "2023-06-01";
const MESSAGES: &str = "/v1/messages";
const COUNT: &str = "/v1/messages/count_tokens";
const KEY_NAMES: &str = "ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN";

/// A model behind the Messages API, or behind a server that speaks like it.
pub(crate) struct Anthropic {
    wire: Wire,
    name: String,
    window: ContextWindow,
    entry: Entry,
    near: Vec<String>,
}

/// What is known about a model when it is connected.
pub(crate) struct Known {
    pub(crate) name: String,
    pub(crate) window: ContextWindow,
    pub(crate) entry: Entry,
    pub(crate) near: Vec<String>,
}

impl Anthropic {
    /// A model on the other end of the wire.
    pub(crate) fn new(wire: Wire, known: Known, betas: &[String]) -> Result<Self, String> {
        let Known { name, window, entry, near } = known;
        let mut wire = wire.with_header("anthropic-version", VERSION)?;
        if !betas.is_empty() {
            wire = wire.with_header("anthropic-beta", &betas.join(","))?;
        }
        Ok(Self { wire, name, window, entry, near })
    }

    fn manner(&self, prompt: &Prompt) -> Manner {
        let wanted = prompt.options.max_output.unwrap_or(self.wire.limits.max_output);
        Manner {
            model: self.name.clone(),
            max_tokens: wanted.min(self.window.max_output).max(1),
            thinking: self.entry.thinking.clone(),
            system_messages: self.entry.system_messages,
            marks: self.can(Ability::CacheMarkers),
        }
    }

    fn question<'a>(&'a self, path: &'a str, body: String) -> Question<'a> {
        Question { wire: &self.wire, path, body, model: &self.name, key_name: KEY_NAMES, near: &self.near }
    }
}

/// Which betas a request names, in an order that never changes: they are part of what a provider caches by.
pub(crate) fn betas(chosen: &[String], wants_long_window: LongWindow) -> Vec<String> {
    let mut all: Vec<String> =
        chosen.iter().map(|beta| beta.trim().to_owned()).filter(|beta| !beta.is_empty()).collect();
    if wants_long_window == LongWindow::ByRequest {
        all.push(LONG_CONTEXT_BETA.to_owned());
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// Whether a model's window has to be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LongWindow {
    /// It is as long as it is.
    AsIs,
    /// The long one comes only by request.
    ByRequest,
}

impl Model for Anthropic {
    fn name(&self) -> &str {
        &self.name
    }

    fn window(&self) -> ContextWindow {
        self.window
    }

    fn can(&self, ability: Ability) -> bool {
        self.entry.can(ability)
    }

    fn prices(&self) -> Option<Prices> {
        self.entry.prices.known()
    }

    fn reply<'a>(
        &'a self,
        prompt: &'a Prompt,
        on: &'a mut (dyn FnMut(Delta) + Send),
    ) -> Pending<'a, Result<Reply, ModelError>> {
        let question = self.question(MESSAGES, request::body(prompt, &self.manner(prompt)));
        let ttl = prompt.options.cache_ttl;
        Box::pin(async move { question.ask(|| Assembling::new(&self.name, ttl), on).await })
    }

    fn count<'a>(&'a self, prompt: &'a Prompt) -> Pending<'a, Result<Option<u64>, ModelError>> {
        #[derive(Deserialize)]
        struct Count {
            input_tokens: u64,
        }
        let question = self.question(COUNT, request::count_body(prompt, &self.manner(prompt)));
        Box::pin(async move {
            let Some(text) = question.ask_plainly().await? else { return Ok(None) };
            let count = serde_json::from_str::<Count>(&text).map_err(|_| {
                ModelError::Garbled(format!("{} did not answer a request to count with a number", self.wire.host()))
            })?;
            Ok(Some(count.input_tokens))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: H1
    #[test]
    fn betas_have_one_order() {
        let chosen = ["b-2".to_owned(), " a-1 ".to_owned(), "b-2".to_owned(), String::new()];
        assert_eq!(betas(&chosen, LongWindow::AsIs), ["a-1", "b-2"]);
        assert_eq!(betas(&chosen, LongWindow::ByRequest), ["a-1", "b-2", LONG_CONTEXT_BETA]);
    }
}
