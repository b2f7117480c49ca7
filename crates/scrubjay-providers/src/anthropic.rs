//! The Messages dialect: requests as exact bytes, replies as they were said.

mod block;
pub(crate) mod reply;
mod request;

use crate::catalogue::{Entry, Known, LONG_CONTEXT_BETA};
use crate::exchange::{Question, ReplyRoom, least_reply, reply_tokens};
use crate::wire::{SHORT_BYTES, Wire};
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
const CLEARING_BETA: &str = "context-management-2025-06-27";
const SUMMARY_BETA: &str = "compact-2026-09-04";
const KEY_NAMES: &str = "ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN";

/// A model behind the Messages API, or behind a server that speaks like it.
pub(crate) struct Anthropic {
    wire: Wire,
    /// The same wire for requests that ask the service to clear; the header and the field travel together.
    clearing: Wire,
    name: String,
    window: ContextWindow,
    entry: Entry,
    near: Vec<String>,
}

impl Anthropic {
    /// A model on the other end of the wire.
    pub(crate) fn new(wire: Wire, known: Known, betas: &[String]) -> Result<Self, String> {
        let Known { name, window, entry, near } = known;
        let wire = wire.with_header("anthropic-version", VERSION)?;
        let [clears, summarises] = [CLEARING_BETA, SUMMARY_BETA].map(str::to_owned);
        // Betas are part of what a service caches by, so a model that is asked for summaries is always asked with that one.
        let asked = entry.can(Ability::ServerCompaction) && entry.can(Ability::BoundThinking);
        let summarises = asked.then_some(&summarises);
        let always = self::betas(betas.iter().chain(summarises), LongWindow::AsIs);
        let clearing = with_betas(wire.clone(), &self::betas(always.iter().chain([&clears]), LongWindow::AsIs))?;
        Ok(Self { wire: with_betas(wire, &always)?, clearing, name, window, entry, near })
    }

    fn manner(&self, prompt: &Prompt) -> Manner {
        let wanted = prompt.options.max_output.unwrap_or(self.wire.limits.max_output);
        Manner {
            model: self.name.clone(),
            max_tokens: reply_tokens(wanted, self.window, prompt, &self.wire.limits),
            thinking: self.entry.thinking.clone(),
            system_messages: self.entry.system_messages,
            marks: self.can(Ability::CacheMarkers),
            strict_tools: self.can(Ability::StrictTools),
        }
    }

    fn question<'a>(&'a self, path: &'a str, prompt: &Prompt, body: String) -> Question<'a> {
        let wire = if prompt.options.context_management.is_some() { &self.clearing } else { &self.wire };
        Question { wire, path, body, model: &self.name, key_name: KEY_NAMES, near: &self.near, reply_room: None }
    }

    /// A question that can be asked again with less room for the reply.
    fn refittable<'a>(
        &'a self,
        prompt: &'a Prompt,
        body: impl Fn(&Manner) -> String + Send + Sync + 'a,
    ) -> Question<'a> {
        let manner = self.manner(prompt);
        let question = self.question(MESSAGES, prompt, body(&manner));
        let reply_room = ReplyRoom {
            asked: manner.max_tokens,
            least: least_reply(manner.max_tokens, &self.wire.limits),
            body: Box::new(move |max_tokens| body(&Manner { max_tokens, ..manner.clone() })),
        };
        Question { reply_room: Some(reply_room), ..question }
    }
}

fn with_betas(wire: Wire, betas: &[String]) -> Result<Wire, String> {
    if betas.is_empty() { Ok(wire) } else { wire.with_header("anthropic-beta", &betas.join(",")) }
}

/// Which betas a request names, in an order that never changes: they are part of what a provider caches by.
pub(crate) fn betas<'a>(chosen: impl IntoIterator<Item = &'a String>, wants_long_window: LongWindow) -> Vec<String> {
    let mut all: Vec<String> =
        chosen.into_iter().map(|beta| beta.trim().to_owned()).filter(|beta| !beta.is_empty()).collect();
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
        let question = self.refittable(prompt, move |manner| request::body(prompt, manner));
        let ttl = prompt.options.cache_ttl.messages();
        Box::pin(async move { question.ask(|| Assembling::new(&self.name, ttl), on).await })
    }

    fn summarise<'a>(&'a self, prompt: &'a Prompt, instructions: &'a str) -> Pending<'a, Result<Reply, ModelError>> {
        let question = self.refittable(prompt, move |manner| request::summary_body(prompt, manner, instructions));
        let ttl = prompt.options.cache_ttl;
        Box::pin(async move { question.ask(|| Assembling::new(&self.name, ttl.messages()), &mut |_| {}).await })
    }

    fn count<'a>(&'a self, prompt: &'a Prompt) -> Pending<'a, Result<Option<u64>, ModelError>> {
        #[derive(Deserialize)]
        struct Count {
            input_tokens: u64,
        }
        let question = self.question(COUNT, prompt, request::count_body(prompt, &self.manner(prompt)));
        Box::pin(async move {
            let Some(text) = question.ask_plainly(SHORT_BYTES).await? else { return Ok(None) };
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
