//! `scrubjay context`: what is in the window of a session; of all of them in a line each; or of one as it fills.

use super::chosen;
use crate::arguments::ContextFlags;
use crate::failure::Failure;
use crate::paper::{Form, Paper, Tone, enveloped, percent, short, spelled_out};
use crate::report::{ago, clipped};
use crate::service::Service;
use crate::shelf::{Place, Shelf, asked, damage_in_words, title};
use crate::sketch::bar;
use crate::watch;
use crate::window::{Holder, Window};
use crate::workplace::Workplace;
use jiff::Timestamp;
use scrubjay::ledger::book::Book;
use scrubjay::message::{Block, Message, MessageId, Origin, Role};
use scrubjay::prompt::Prompt;
use scrubjay::settings::key;
use scrubjay::tokens::ContextWindow;
use scrubjay::transcript::{Filling, Transcript};
use serde_json::{Value, json};
use std::sync::Arc;

pub(super) async fn run(workplace: &Workplace, paper: &Paper, flags: &ContextFlags) -> Result<(), Failure> {
    if flags.all {
        return list(workplace, paper);
    }
    let (shelf, place) = chosen(workplace, &flags.which)?;
    if flags.watch {
        let files = [place.path.clone(), Book::path_of(&place.path)];
        return watch::run(&files, paper, |paper| shown(&picture(workplace, &shelf, &place, paper)?, &place, paper))
            .await;
    }
    let window = match flags.exact {
        false => picture(workplace, &shelf, &place, paper)?,
        true => {
            let (transcript, _) = shelf.peek(&place)?;
            let service = Service::connect(workplace, named(workplace, &transcript).as_deref()).await?;
            let total = count(&service, &transcript).await?;
            let holder = Holder { model: service.model.name().to_owned(), window: service.model.window() };
            Window::of(&transcript, &holder, workplace, Timestamp::now()).counted(total)
        }
    };
    paper.line(&shown(&window, &place, paper)?)
}

/// The window of a session by its own count.
fn picture(workplace: &Workplace, shelf: &Shelf, place: &Place, paper: &Paper) -> Result<Window, Failure> {
    let (transcript, damage) = shelf.peek(place)?;
    if !damage.is_empty() {
        paper.warn(&damage_in_words(&damage));
    }
    let holder = holder(workplace, &transcript)?;
    Ok(Window::of(&transcript, &holder, workplace, Timestamp::now()))
}

fn shown(window: &Window, place: &Place, paper: &Paper) -> Result<String, Failure> {
    if paper.form == Form::Words {
        return Ok(window.words(paper));
    }
    let mut data = window.json();
    data["session_id"] = place.id.as_str().into();
    Ok(spelled_out(&enveloped("context", data)))
}

/// The session's own model, unless another was asked for.
fn named(workplace: &Workplace, transcript: &Transcript) -> Option<String> {
    let recorded = transcript.view().opening.as_ref().map(|opening| opening.model.clone());
    recorded.filter(|_| workplace.settings.text(&key::MODEL).is_empty())
}

/// What the catalogue says: looking must work without a key and without a network.
pub(super) fn holder(workplace: &Workplace, transcript: &Transcript) -> Result<Holder, Failure> {
    let model = named(workplace, transcript).unwrap_or_else(|| workplace.settings.text(&key::MODEL).to_owned());
    let window = crate::service::window(workplace, &model)?;
    Ok(Holder { model: if model.is_empty() { "no model yet".to_owned() } else { model }, window })
}

/// Every session of the project in a line each.
fn list(workplace: &Workplace, paper: &Paper) -> Result<(), Failure> {
    let shelf = Shelf::of(workplace);
    let mut rows = Vec::new();
    for place in shelf.places()? {
        match shelf.peek(&place) {
            Ok((transcript, _)) if asked(&transcript) > 0 => rows.push(Row::of(&place, &transcript, workplace)?),
            Ok(_) => {}
            Err(error) => paper.warn(&error.to_string()),
        }
    }
    if paper.form == Form::Json {
        return paper.json("contexts", json!({ "sessions": rows.iter().map(Row::json).collect::<Vec<_>>() }));
    }
    if rows.is_empty() {
        return Err(crate::shelf::none_yet());
    }
    rows.iter().try_for_each(|row| paper.line(&row.words(paper)))
}

struct Row {
    id: String,
    last: Timestamp,
    title: String,
    filling: Filling,
    window: ContextWindow,
}

impl Row {
    fn of(place: &Place, transcript: &Transcript, workplace: &Workplace) -> Result<Self, Failure> {
        Ok(Self {
            id: place.id.clone(),
            last: transcript.records().last().map_or(Timestamp::UNIX_EPOCH, |record| record.at),
            title: title(transcript),
            filling: Filling::of(transcript.view()),
            window: holder(workplace, transcript)?.window,
        })
    }

    fn words(&self, paper: &Paper) -> String {
        let (used, window) = (self.filling.total, self.window.size);
        let picture = bar(&self.filling.by_share, window, paper.pencil(20));
        let figures = format!("{:>7} {:>3} %", short(used), percent(used, window));
        let what = format!("{:<12} {}", ago(self.last, Timestamp::now()), self.title);
        let id: String = self.id.chars().take(13).collect();
        // The picture, the figures, the id and what stands between them.
        let room = paper.width.saturating_sub(20 + 1 + 13 + 2 + 13 + 1);
        let what = clipped(&what, room);
        format!("{picture} {figures}  {} {what}", paper.ink.paint(Tone::Faint, &id))
    }

    fn json(&self) -> Value {
        json!({
            "session_id": self.id,
            "last": self.last,
            "title": self.title,
            "window": self.window.size,
            "used": self.filling.total,
            "by_share": self.filling.by_share,
            "certainty": self.filling.certainty,
        })
    }
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
