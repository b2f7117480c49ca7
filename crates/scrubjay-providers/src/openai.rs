//! The Chat Completions dialect, as OpenAI, llama.cpp, vLLM, Ollama and many others speak it.

pub(crate) mod reply;
mod request;

use crate::catalogue::{Entry, Known};
use crate::exchange::{Question, ReplyRoom, least_reply, reply_tokens};
use crate::wire::Wire;
use reply::Assembling;
use request::Manner;
use scrubjay::model::{Ability, Delta, Model, ModelError, Pending, Reply};
use scrubjay::prompt::Prompt;
use scrubjay::prompt_cache::prices::Prices;
use scrubjay::tokens::ContextWindow;
use tiktoken_rs::tokenizer::{Tokenizer, get_tokenizer};

const COMPLETIONS: &str = "/v1/chat/completions";
/// By the vendor's published rule: each message is framed by three tokens and a role, each reply is begun by three.
const FRAME_TOKENS: u64 = 4;
const REPLY_TOKENS: u64 = 3;

/// A model behind a Chat Completions endpoint.
pub(crate) struct OpenAi {
    wire: Wire,
    name: String,
    window: ContextWindow,
    entry: Entry,
    near: Vec<String>,
    service: Service,
}

/// Whose endpoint it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Service {
    /// The vendor's own.
    OpenAi,
    /// Anything that speaks like it.
    Compatible,
}

impl OpenAi {
    /// A model on the other end of the wire.
    pub(crate) fn new(wire: Wire, known: Known, service: Service) -> Self {
        let Known { name, window, entry, near } = known;
        Self { wire, name, window, entry, near, service }
    }

    fn manner(&self, prompt: &Prompt) -> Manner {
        // Some servers refuse a prompt that leaves no room for all of this, so what nobody asked for stays modest.
        let modest = || self.wire.limits.max_output.min(self.window.size / 4);
        let wanted = prompt.options.max_output.unwrap_or_else(modest);
        Manner {
            model: self.name.clone(),
            max_tokens: reply_tokens(wanted, self.window, prompt, &self.wire.limits),
            max_tokens_name: match self.service {
                Service::OpenAi => "max_completion_tokens",
                Service::Compatible => "max_tokens",
            },
            images: self.can(Ability::Images),
            strict_tools: self.service == Service::OpenAi && self.can(Ability::StrictTools),
        }
    }

    /// Which table of pieces the model reads in, where that is public.
    fn tokenizer(&self) -> Option<Tokenizer> {
        get_tokenizer(&self.name).filter(|_| is_openai_name(&self.name))
    }
}

impl Model for OpenAi {
    fn name(&self) -> &str {
        &self.name
    }

    fn window(&self) -> ContextWindow {
        self.window
    }

    fn can(&self, ability: Ability) -> bool {
        match ability {
            Ability::ExactCount => self.tokenizer().is_some(),
            other => self.entry.can(other),
        }
    }

    fn prices(&self) -> Option<Prices> {
        self.entry.prices.known()
    }

    fn reply<'a>(
        &'a self,
        prompt: &'a Prompt,
        on: &'a mut (dyn FnMut(Delta) + Send),
    ) -> Pending<'a, Result<Reply, ModelError>> {
        let manner = self.manner(prompt);
        let question = Question {
            wire: &self.wire,
            path: COMPLETIONS,
            body: request::body(prompt, &manner),
            model: &self.name,
            key_name: "OPENAI_API_KEY",
            near: &self.near,
            reply_room: Some(ReplyRoom {
                asked: manner.max_tokens,
                least: least_reply(manner.max_tokens, &self.wire.limits),
                body: Box::new(move |max_tokens| request::body(prompt, &Manner { max_tokens, ..manner.clone() })),
            }),
        };
        Box::pin(async move { question.ask(|| Assembling::new(&self.name, &question.body), on).await })
    }

    fn count<'a>(&'a self, prompt: &'a Prompt) -> Pending<'a, Result<Option<u64>, ModelError>> {
        let Some(tokenizer) = self.tokenizer() else { return Box::pin(async { Ok(None) }) };
        let manner = self.manner(prompt);
        let (tools, lines) = (request::tools(prompt, &manner), request::lines(prompt, &manner));
        Box::pin(async move {
            if lines.iter().any(|line| line.has_picture) {
                return Ok(None);
            }
            let counting = tokio::task::spawn_blocking(move || count(tokenizer, &tools, &lines)).await;
            Ok(counting.ok().flatten())
        })
    }
}

/// `gpt-…`, `chatgpt-…` and `o` with a number are the vendor's own names.
pub(crate) fn is_openai_name(name: &str) -> bool {
    let numbered = name.strip_prefix('o').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    numbered || name.starts_with("gpt-") || name.starts_with("chatgpt-")
}

fn count(tokenizer: Tokenizer, tools: &[String], lines: &[request::Line]) -> Option<u64> {
    let pieces = tiktoken_rs::bpe_for_tokenizer(tokenizer).ok()?;
    let tokens = |text: &String| pieces.count_ordinary(text) as u64;
    let said: u64 = lines.iter().map(|line| FRAME_TOKENS + line.words.iter().map(tokens).sum::<u64>()).sum();
    Some(said + tools.iter().map(tokens).sum::<u64>() + REPLY_TOKENS)
}
