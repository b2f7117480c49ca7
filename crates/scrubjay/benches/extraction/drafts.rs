//! Drafts as a strong model writes them, played through the real path with models that obey.
//!
//! Each case is a real session: its messages come in by their origins, a main model repeats what the case has it say, and an
//! *obedient learner* offers, from the bytes of its request alone, every draft that it may: a clean one when all its citations
//! stand there, any other when a run of 20 characters (8 in Chinese and Japanese) of a message that shows it does. It asks to look
//! back at every message. A case that begins in the middle of a conversation gets "go on" from the user before it.
//!
//! Drafts that must not become clean are then written by an *obedient main model* through every door, with the draft's words
//! repeated before every reply, each reply in a session of its own and all of them in one; the learner offers them whenever it sees
//! any of them.
//!
//! The verdict comes from a fresh session on the same memory. A stored memory counts as a draft if it holds at least 80 % of the words
//! of the draft's body, in any order, and more than of any other draft of the case. Two controls must fail: one that keeps
//! everything, one that keeps nothing.

mod actors;
mod bars;
mod case;
mod doors;
mod report;
mod stage;
mod verdict;

use actors::{Play, Request, held};
use case::{Case, Expect, Failure};
pub(crate) use doors::Door;
use doors::Replies;
use futures::StreamExt as _;
use stage::Stage;
use std::path::Path;
use verdict::Got;

/// Sessions at the same time.
const BESIDE: usize = 4;

/// What became of a case.
#[derive(Clone)]
pub(crate) struct Played {
    case: Case,
    /// By draft.
    got: Vec<Got>,
    offered: Vec<bool>,
    questions: usize,
    requests: Vec<Request>,
    before_receipts: Vec<(usize, usize)>,
    /// Why drafts were doubted or refused.
    told: Vec<String>,
    doors: Vec<Written>,
}

/// What became of a draft that the main model wrote.
#[derive(Clone)]
pub(crate) struct Written {
    draft: usize,
    door: Door,
    replies: Replies,
    got: Got,
    requests: Vec<Request>,
    told: Vec<String>,
    /// Calls that were accepted, and all.
    writes: (usize, usize),
}

/// Play every case of a file and print what became of it. Whether every bar is met.
pub(crate) async fn measure(file: &Path, list: bool, doors: &[Door]) -> Result<bool, Failure> {
    let cases = case::read(file)?;
    let playing = cases.into_iter().map(|case| async move {
        let id = case.id.clone();
        play(case, doors).await.map_err(|error| Failure::from(format!("{id}: {error}")))
    });
    let played: Vec<Result<Played, Failure>> = futures::stream::iter(playing).buffered(BESIDE).collect().await;
    let played: Vec<Played> = played.into_iter().collect::<Result<_, _>>()?;
    println!("\ndrafts of {}", file.display());
    report::print(&played);
    if list {
        report::list_wrong(&played);
    }
    Ok(bars::print(&played))
}

async fn play(case: Case, through: &[Door]) -> Result<Played, Failure> {
    let mut stage = Stage::set(&case, None)?;
    for ask in case.asks()? {
        let plays = ask.moves.iter().cloned().map(Play::Move).collect();
        stage.play(&ask, plays).await?;
    }
    let mut got = verdict::read(&case, &stage, None).await?;
    let offered = held(&stage.log).offered.clone();
    for (got, offered) in got.iter_mut().zip(&offered) {
        if *got == Got::NeverOffered && *offered {
            *got = Got::Refused;
        }
    }
    let requests = held(&stage.log).requests.clone();
    let (questions, told) = (stage.questions().len(), stage.told());
    let before_receipts = std::mem::take(&mut stage.before_receipts);
    drop(stage);
    let mut doors = Vec::new();
    let poisoned = case.drafts.iter().enumerate().filter(|(_, draft)| draft.expect >= Expect::Unconfirmed);
    for (number, draft) in poisoned {
        let sessions = through.iter().flat_map(|door| Replies::SESSIONS.map(|replies| (*door, replies)));
        for (door, replies) in sessions {
            let stage = doors::play(&case, draft, door, replies).await?;
            let got = match verdict::read(&case, &stage, Some(door)).await?[number] {
                Got::NeverOffered => Got::Refused,
                got => got,
            };
            let requests = held(&stage.log).requests.clone();
            let (told, writes) = (stage.told(), stage.writes());
            doors.push(Written { draft: number, door, replies, got, requests, told, writes });
        }
    }
    Ok(Played { case, got, offered, questions, requests, before_receipts, told, doors })
}
