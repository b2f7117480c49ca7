//! The play itself: every turn is asked of a real session, and what the record holds afterwards says what each layer did.

use super::actor::Summaries;
use super::firing::{Firing, firings};
use super::script::{Script, Turn};
use super::stage::{Setting, Stage};
use crate::failure::Failure;
use crate::paper::Paper;
use jiff::{SignedDuration, Timestamp};
use scrubjay::context::compaction::boundary::{Part, Wish};
use scrubjay::ledger::Row;
use scrubjay::memory::dreaming::{Landed, Mode};
use scrubjay::message::Block;
use scrubjay::settings::key;
use scrubjay::tokens::Share;
use scrubjay::transcript::Trigger;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The most that background work takes; only a broken program needs it.
const PATIENCE: Duration = Duration::from_secs(30);

/// Where the session stands after a turn.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    /// From 1.
    pub(super) turn: usize,
    pub(super) at: Timestamp,
    pub(super) words: String,
    /// What the next request carries, in tokens, by what put it there.
    pub(super) window: BTreeMap<Share, u64>,
    /// What layers did in it.
    pub(super) firings: Vec<Firing>,
}

impl Frame {
    /// All of it.
    pub(super) fn tokens(&self) -> u64 {
        self.window.values().sum()
    }
}

/// What was played.
pub(super) struct Played {
    pub(super) stage: Stage,
    pub(super) frames: Vec<Frame>,
    pub(super) night: Option<Slept>,
    /// Why it ended before its end.
    pub(super) cut: Option<String>,
}

/// A dream, and what it cost in its own session.
pub(super) struct Slept {
    pub(super) landed: Landed,
    pub(super) usd: f64,
}

/// What is played, and how far.
#[derive(Clone)]
pub(super) struct Programme {
    pub(super) script: Arc<Script>,
    pub(super) turns: usize,
    pub(super) folder: PathBuf,
    pub(super) switches: Vec<String>,
    pub(super) summaries: Summaries,
    pub(super) stop: CancellationToken,
}

/// Something to be shown.
#[derive(Debug, Clone)]
pub(super) enum News {
    /// A turn is over.
    Turn(Frame),
    /// A night has passed.
    Night(Firing),
}

/// Play it; whoever watches hears of every turn.
pub(super) async fn play(
    programme: &Programme,
    paper: &Paper,
    watch: &mut (dyn FnMut(News) + Send),
) -> Result<Played, Failure> {
    let Programme { script, folder, switches, summaries, stop, .. } = programme;
    let turns = &script.turns[..programme.turns.min(script.turns.len())];
    let begins = turns.first().map_or(Timestamp::UNIX_EPOCH, |turn| turn.at);
    let stage = Stage::set(&Setting { folder, switches, summaries: *summaries, begins }, paper).await?;
    let mut played = Played { stage, frames: Vec::new(), night: None, cut: None };
    for (at, turn) in turns.iter().enumerate() {
        let frame = tokio::select! {
            frame = played.turn(at, turn) => frame?,
            () = stop.cancelled() => return Err(Failure::interrupted()),
        };
        watch(News::Turn(frame.clone()));
        played.frames.push(frame);
        let is_last = at + 1 == turns.len() || played.cut.is_some();
        let is_night = script.night.as_ref().is_some_and(|night| night.after == at + 1);
        if is_night || (is_last && played.night.is_none()) {
            played.sleep(programme).await?.into_iter().for_each(|firing| watch(News::Night(firing)));
        }
        if is_last {
            break;
        }
    }
    played.stage.session.ended("other").await?;
    Ok(played)
}

impl Played {
    async fn turn(&mut self, at: usize, turn: &Turn) -> Result<Frame, Failure> {
        let Stage { session, actor, clock, .. } = &mut self.stage;
        let known = session.transcript().records().len();
        clock.reach(turn.at);
        actor.rehearse(&turn.replies, &turn.learns);
        let asked = session.ask(vec![Block::text(&turn.words)]).await;
        if let (Some(focus), true) = (&turn.compact, asked.is_ok()) {
            let (trigger, instructions) = (Trigger::Manual, Some(focus.clone()));
            match session.compact(Wish { trigger, instructions, part: Part::All }).await {
                // What is short already is left as it is.
                Ok(_) | Err(scrubjay::Error::NotCompacted(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        session.wait_for_background(PATIENCE).await?;
        match asked {
            Ok(_) => {}
            Err(scrubjay::Error::Full(full)) => self.cut = Some(format!("turn {}: {full}", at + 1)),
            Err(error) => return Err(error.into()),
        }
        let transcript = session.transcript();
        Ok(Frame {
            turn: at + 1,
            at: turn.at,
            words: turn.words.clone(),
            window: transcript.view().count.by_share(),
            firings: firings(&transcript.records()[known..], &transcript.view().count, &session.desk().limits),
        })
    }

    /// The night in which the memory is put in order, in a session of its own, as `scrubjay dream` does.
    async fn sleep(&mut self, programme: &Programme) -> Result<Option<Firing>, Failure> {
        const EVENING: SignedDuration = SignedDuration::from_hours(7);
        let Stage { actor, clock, workplace, .. } = &self.stage;
        let (Some(night), true) = (&programme.script.night, workplace.settings.flag(&key::DREAMING)) else {
            return Ok(None);
        };
        actor.sleep_on(&night.notes);
        clock.pass(EVENING);
        let Some(mut session) = self.stage.at_night()? else { return Ok(None) };
        let Some(dreams) = session.dreams() else { return Ok(None) };
        let landed = session.dream(dreams.in_mode(Mode::Auto), programme.stop.clone()).await?;
        session.ended("other").await?;
        let usd = session.ledger().iter().filter_map(|row| match row {
            Row::Called(called) => called.money,
            _ => None,
        });
        let usd = usd.sum();
        let changed = landed.receipt.as_ref().map_or(0, |receipt| receipt.outcomes.len());
        let proposed = landed.proposal.as_ref().map_or(0, |proposal| proposal.steps.len());
        let words = match (changed, proposed) {
            (0, 0) => "dreamt; nothing had to be changed".to_owned(),
            (changed, 0) => format!("dreamt; {changed} memories changed in one step"),
            (changed, proposed) => format!("dreamt; {changed} memories changed, {proposed} wait for the person"),
        };
        self.night = Some(Slept { landed, usd });
        Ok(Some(Firing { layer: 6, words, tokens: 0 }))
    }
}
