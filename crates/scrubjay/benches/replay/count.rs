//! The engine's own count of a conversation against what the service billed, at every call after the first answer.

use crate::engine::Failure;
use crate::sessions::{Kind, Session};
use jiff::Timestamp;
use scrubjay::limits::Limits;
use scrubjay::message::{Block, Origin, Role, SessionId, StopReason, Usage};
use scrubjay::transcript::{Call, Entry, Opening, Options, Transcript};
use serde_json::Value;
use std::sync::Arc;

/// How far off each count was, as a share of what was billed.
pub fn errors(sessions: &[Session]) -> Result<Vec<f64>, Failure> {
    let mut errors = Vec::new();
    for session in sessions {
        follow(session, &mut errors)?;
    }
    errors.sort_by(f64::total_cmp);
    Ok(errors)
}

fn follow(session: &Session, errors: &mut Vec<f64>) -> Result<(), Failure> {
    let at = Timestamp::UNIX_EPOCH;
    let mut transcript = begun(session)?;
    let mut is_known = false;
    let mut asked: Vec<&str> = Vec::new();
    for step in &session.steps {
        if step.added.iter().any(|piece| matches!(piece.kind, Kind::Compacted)) {
            (transcript, is_known) = (begun(session)?, false);
        }
        let answers = asked.iter().filter_map(|id| session.results.get(*id));
        let heard: Vec<Block> =
            answers.chain(step.words.iter().map(|word| &word.block)).map(Block::from_value).collect();
        transcript.say(Role::User, Origin::Tool, heard, at)?;
        if is_known && step.billed() > 0 {
            let count = transcript.view().count.total() as f64;
            errors.push((count / step.billed() as f64 - 1.0).abs());
        }
        transcript.say(Role::Assistant, Origin::Model, step.reply.iter().map(Block::from_value).collect(), at)?;
        let usage = Usage { input: step.billed(), output: step.output, ..Usage::default() };
        let (source, model) = (Call::MAIN.to_owned(), session.model.clone());
        transcript.append(Entry::Replied(Call { source, model, usage, stop: StopReason::EndTurn, cleared: 0 }), at)?;
        is_known = step.billed() > 0;
        let calls = step.reply.iter().filter(|block| block["type"] == "tool_use");
        asked = calls.filter_map(|call: &Value| call["id"].as_str()).collect();
    }
    Ok(())
}

/// What the recorded requests began with is not in the record: it is as long as it was billed, in plain prose.
fn begun(session: &Session) -> Result<Transcript, Failure> {
    let limits = Arc::new(Limits::default());
    let chars = usize::try_from(session.base * limits.text_bytes_per_token)?;
    let mut transcript = Transcript::in_memory(SessionId::new("s"), limits);
    let opening = Opening {
        model: session.model.clone(),
        tools: Arc::from([]),
        system: Arc::from("x".repeat(chars)),
        instructions: Vec::new(),
        nonce: String::new(),
        options: Options::default(),
    };
    transcript.append(Entry::Opened { opening: Arc::new(opening), because: None }, Timestamp::UNIX_EPOCH)?;
    Ok(transcript)
}
