//! One question and its reply over HTTP: send, listen, assemble, and be patient where that is allowed.

use crate::refusal::{Again, Asked, Fault, Said, looks_like_html, refusal};
use crate::retry::{Patience, Teller};
use crate::stream::{Events, StreamError};
use crate::wire::{SHORT_BYTES, Wire};
use reqwest::Response;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use scrubjay::limits::Limits;
use scrubjay::message::{Block, Usage};
use scrubjay::model::{Delta, ModelError, Reply};
use scrubjay::prompt::Prompt;
use scrubjay::tokens::ContextWindow;
use sse_stream::Sse;

/// A reply in the making, in one dialect.
pub(crate) trait Assembly: Send {
    /// Take one event.
    fn take(&mut self, event: &Sse, teller: &mut Teller<'_>) -> Result<Progress, Trouble>;
    /// Take a whole reply that came in one piece.
    fn take_whole(&mut self, body: &str, teller: &mut Teller<'_>) -> Result<(), Trouble>;
    /// Whether the reply counts as whole when the bytes end here.
    fn is_whole(&self) -> bool;
    /// The whole reply, or what makes it unusable.
    fn finish(self) -> Result<Reply, Broken>;
    /// Whole blocks and the prose so far, and what was counted.
    fn partial(self) -> (Vec<Block>, Usage);
}

/// What an event did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// More is to come.
    More,
    /// That was all.
    Done,
}

/// What can be wrong with an event.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The service reports an error in the middle.
    Reported(Said),
    /// It is not what the dialect says.
    Malformed(String),
}

/// A reply that came to its end and still cannot be used.
#[derive(Debug)]
pub(crate) struct Broken {
    pub(crate) partial: Vec<Block>,
    pub(crate) usage: Usage,
    pub(crate) because: String,
}

/// A question, ready to send.
pub(crate) struct Question<'a> {
    pub(crate) wire: &'a Wire,
    pub(crate) path: &'a str,
    pub(crate) body: String,
    pub(crate) model: &'a str,
    pub(crate) key_name: &'a str,
    pub(crate) near: &'a [String],
    /// How to ask for a shorter reply; `None` where none is asked for.
    pub(crate) reply_room: Option<ReplyRoom<'a>>,
}

/// The room that a request asks for its reply, and the same request with less.
pub(crate) struct ReplyRoom<'a> {
    /// What it asks for.
    pub(crate) asked: u64,
    /// With less than this it is not worth asking.
    pub(crate) least: u64,
    /// The request with this much.
    pub(crate) body: Box<dyn Fn(u64) -> String + Send + Sync + 'a>,
}

/// What a request asks for its reply: what is wanted, what the model writes at most, and what the window has left.
pub(crate) fn reply_tokens(wanted: u64, window: ContextWindow, prompt: &Prompt, limits: &Limits) -> u64 {
    let most = wanted.min(window.max_output).max(1);
    let left = prompt.options.used.map(|used| window.size.saturating_sub(used));
    left.map_or(most, |left| most.min(left.max(least_reply(most, limits))))
}

/// Less is not worth asking for: the conversation has to become shorter.
pub(crate) fn least_reply(asked: u64, limits: &Limits) -> u64 {
    limits.min_output.min(asked / 4).max(1)
}

impl Question<'_> {
    /// Ask, with patience, until there is a reply or no hope.
    pub(crate) async fn ask<A: Assembly>(
        &self,
        begin: impl Fn() -> A + Send + Sync,
        on: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<Reply, ModelError> {
        let mut teller = Teller::new(on);
        let mut patience = Patience::new(&self.wire.limits);
        let mut refitted: Option<String> = None;
        loop {
            let body = refitted.as_ref().unwrap_or(&self.body);
            let fault = match self.once(body, begin(), &mut teller).await {
                Ok(reply) => return Ok(reply),
                Err(fault) => fault,
            };
            if refitted.is_none() && !teller.has_shown() {
                refitted = self.refitted(&fault);
                if refitted.is_some() {
                    continue;
                }
            }
            patience.wait(fault, &mut teller).await.map_err(|fault| fault.error)?;
        }
    }

    /// The same request with the room for a reply that the service says is left, where that is enough. Nothing that a
    /// cache compares differs.
    fn refitted(&self, fault: &Fault) -> Option<String> {
        let reply = self.reply_room.as_ref()?;
        let room = fault.room.filter(|room| (reply.least..reply.asked).contains(room))?;
        tracing::debug!(host = self.wire.host(), asked = reply.asked, room, "asking for a shorter reply");
        Some((reply.body)(room))
    }

    /// Send without waiting for a stream: the answer's text of at most so many bytes, or `None` where the service does not
    /// have this path.
    pub(crate) async fn ask_plainly(&self, most: u64) -> Result<Option<String>, ModelError> {
        let mut nobody = |_: Delta| {};
        let mut teller = Teller::new(&mut nobody);
        let mut patience = Patience::new(&self.wire.limits);
        loop {
            let fault = match self.text_once(most).await {
                Ok(text) => return Ok(text),
                Err(fault) => fault,
            };
            patience.wait(fault, &mut teller).await.map_err(|fault| fault.error)?;
        }
    }

    async fn text_once(&self, most: u64) -> Result<Option<String>, Fault> {
        let response = self.wire.post(self.path, self.body.clone()).await?;
        let status = response.status();
        if matches!(status.as_u16(), 404 | 405 | 501) {
            return Ok(None);
        }
        let headers = response.headers().clone();
        let text = self.wire.text(response, most).await?;
        if !status.is_success() {
            return Err(refusal(status, &headers, &self.wire.without_key(&text), &self.asked()));
        }
        Ok(Some(text))
    }

    async fn once<A: Assembly>(&self, body: &str, assembly: A, teller: &mut Teller<'_>) -> Result<Reply, Fault> {
        let response = self.wire.post(self.path, body.to_owned()).await?;
        let (status, headers) = (response.status(), response.headers().clone());
        if !status.is_success() {
            let said = self.wire.text(response, SHORT_BYTES).await.unwrap_or_default();
            return Err(refusal(status, &headers, &self.wire.without_key(&said), &self.asked()));
        }
        let kind = header(&headers, CONTENT_TYPE.as_str()).unwrap_or_default().to_ascii_lowercase();
        let mut reply = if kind.contains("html") {
            return Err(self.not_a_reply("a web page"));
        } else if kind.contains("json") {
            self.in_one_piece(response, assembly, teller).await?
        } else {
            self.listen(Events::of(response, &self.wire.limits), assembly, teller).await?
        };
        reply.request_id =
            header(&headers, "request-id").or_else(|| header(&headers, "x-request-id")).or(reply.request_id);
        Ok(reply)
    }

    async fn listen<A: Assembly>(
        &self,
        mut events: Events,
        mut assembly: A,
        teller: &mut Teller<'_>,
    ) -> Result<Reply, Fault> {
        loop {
            match events.next().await {
                Some(Ok(event)) => match assembly.take(&event, teller) {
                    Ok(Progress::More) => {}
                    Ok(Progress::Done) => return whole(assembly),
                    Err(trouble) => return Err(self.in_trouble(trouble, assembly)),
                },
                Some(Err(error)) => return Err(cut(assembly, &error)),
                None if assembly.is_whole() => return whole(assembly),
                None => return Err(cut(assembly, &StreamError::Broken("it ended before the reply did".to_owned()))),
            }
        }
    }

    /// Some servers answer in one piece although a stream was asked for.
    async fn in_one_piece<A: Assembly>(
        &self,
        response: Response,
        mut assembly: A,
        teller: &mut Teller<'_>,
    ) -> Result<Reply, Fault> {
        let body = self.wire.text(response, self.wire.limits.event_bytes).await?;
        if looks_like_html(&body) {
            return Err(self.not_a_reply("a web page"));
        }
        if ["data:", "event:", ":"].iter().any(|opening| body.trim_start().starts_with(opening)) {
            // A stream under a wrong name.
            return self.listen(Events::of_text(body, &self.wire.limits), assembly, teller).await;
        }
        match assembly.take_whole(&body, teller) {
            Ok(()) => whole(assembly),
            Err(Trouble::Malformed(what)) => Err(self.not_a_reply(&what)),
            Err(trouble) => Err(self.in_trouble(trouble, assembly)),
        }
    }

    /// An error in the middle of a stream.
    fn in_trouble<A: Assembly>(&self, trouble: Trouble, assembly: A) -> Fault {
        let (because, again) = match trouble {
            Trouble::Malformed(what) => (format!("{} sent {}", self.wire.host(), self.wire.clean(&what)), Again::Never),
            Trouble::Reported(said) => {
                if let Some(overflow) = said.overflow() {
                    return Fault::overflow(overflow);
                }
                let again = if said.is_transient() { Again::After(None) } else { Again::Never };
                (format!("{} reports: {}", self.wire.host(), self.wire.clean(said.words())), again)
            }
        };
        let (partial, usage) = assembly.partial();
        Fault::new(ModelError::Cut { partial, usage, because }, again)
    }

    fn not_a_reply(&self, what: &str) -> Fault {
        Fault::last(ModelError::Garbled(format!(
            "{} answered with {} instead of a model's reply; check that the base URL is an API address and that no login \
             page or proxy stands between",
            self.wire.host(),
            self.wire.clean(what)
        )))
    }

    fn asked(&self) -> Asked<'_> {
        Asked { host: self.wire.host(), model: self.model, key_name: self.key_name, near: self.near }
    }
}

fn whole<A: Assembly>(assembly: A) -> Result<Reply, Fault> {
    assembly
        .finish()
        .map_err(|Broken { partial, usage, because }| Fault::transient(ModelError::Cut { partial, usage, because }))
}

/// A broken line may hold next time; a silent one has already cost enough time.
fn cut<A: Assembly>(assembly: A, error: &StreamError) -> Fault {
    let (partial, usage) = assembly.partial();
    let again = if matches!(error, StreamError::Broken(_)) { Again::After(None) } else { Again::Never };
    Fault::new(ModelError::Cut { partial, usage, because: error.to_string() }, again)
}

fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}
