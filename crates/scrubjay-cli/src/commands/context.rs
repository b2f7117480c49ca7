//! `scrubjay context`: what is in the window of a session.

use super::chosen;
use crate::arguments::WhichSession;
use crate::failure::Failure;
use crate::paper::{Form, Paper};
use crate::report::Filling;
use crate::service::Service;
use crate::shelf::{asked, damage_in_words};
use crate::workplace::Workplace;
use jiff::Timestamp;
use scrubjay::message::{Block, Message, MessageId, Origin, Role};
use scrubjay::prompt::Prompt;
use scrubjay::settings::key;
use scrubjay::transcript::Transcript;
use std::sync::Arc;

/// Where the number comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counting {
    /// What was reported, and estimates for the rest.
    Estimate,
    /// The service counts now, or the command fails.
    Exact,
}

pub(super) async fn run(
    workplace: &Workplace,
    paper: &Paper,
    which: &WhichSession,
    counting: Counting,
) -> Result<(), Failure> {
    let (shelf, place) = chosen(workplace, which)?;
    let (transcript, damage) = shelf.peek(&place)?;
    if !damage.is_empty() {
        paper.warn(&damage_in_words(&damage));
    }
    let view = transcript.view();
    let recorded = view.opening.as_ref().map(|opening| opening.model.clone());
    // The session's own model, unless another was asked for.
    let named = recorded.filter(|_| workplace.settings.text(&key::MODEL).is_empty());
    let filling = match counting {
        Counting::Estimate => {
            let window = window(workplace, named.as_deref())?;
            Filling::of(&transcript, window, &workplace.limits)
        }
        Counting::Exact => {
            let service = Service::connect(workplace, named.as_deref()).await?;
            let total = count(&service, &transcript).await?;
            Filling::of(&transcript, service.model.window(), &workplace.limits).counted(total)
        }
    };
    if paper.form == Form::Json {
        let mut data = filling.json();
        data["session_id"] = place.id.into();
        return paper.json("context", data);
    }
    paper.line(&filling.words(paper.ink))
}

/// What the catalogue says: looking must work without a key and without a network.
fn window(workplace: &Workplace, named: Option<&str>) -> Result<scrubjay::tokens::ContextWindow, Failure> {
    let model = named.unwrap_or(workplace.settings.text(&key::MODEL));
    Ok(crate::service::catalogue(workplace)?.window(model, &[], None, &workplace.limits))
}

async fn count(service: &Service, transcript: &Transcript) -> Result<u64, Failure> {
    let mut prompt = Prompt::of(transcript.view());
    if asked(transcript) == 0 {
        return Err(Failure::nothing_found("nothing was asked in this session, so there is nothing to count"));
    }
    // A request ends with something for the model to answer, so the shortest question stands in for the next one.
    if prompt.history.last().is_some_and(|last| last.role == Role::Assistant) {
        let (id, at) = (MessageId::new("next"), Timestamp::now());
        let blocks = vec![Block::text(".")];
        prompt.history.push(Arc::new(Message { id, role: Role::User, origin: Origin::Person, at, blocks }));
    }
    match service.model.count(&prompt).await {
        Ok(Some(total)) => Ok(total),
        Ok(None) => Err(Failure::failed(format!("{} cannot count tokens exactly", service.model.name()))
            .fix("without --exact the number is an estimate, and says so")),
        Err(error) => Err(error.into()),
    }
}
