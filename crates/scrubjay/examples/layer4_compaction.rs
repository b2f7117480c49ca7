//! Layer 4 alone: a conversation becomes a summary, in which what the person forbade stands word for word.

use jiff::Timestamp;
use scrubjay::context::compaction::boundary::{self, Part, Subject, Wish};
use scrubjay::desk::Desk;
use scrubjay::message::{Block, Origin, Role, SessionId};
use scrubjay::transcript::{Entry, Transcript, Trigger};
use scrubjay_providers::scripted::{Scripted, Turn};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Run it.
#[tokio::main]
pub async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let summary =
        "<summary>\n## 1. Primary Request and Intent\nA parser for seeds.\n## 8. Current Work\nTests.\n</summary>";
    let model = Arc::new(Scripted::new().then(Turn::text(summary)));
    let (desk, now) = (Desk::new(model, "/", Arc::new(Timestamp::now)), Timestamp::now());
    let mut record = Transcript::in_memory(SessionId::new("example"), desk.limits.clone());
    for n in 0..10 {
        let asked = format!("Write part {n} of the parser. Never push to main.");
        record.say(Role::User, Origin::Person, vec![Block::text(asked)], now)?;
        record.say(Role::Assistant, Origin::Model, vec![Block::text("Here it is. ".repeat(500))], now)?;
    }
    let before = record.view().count.total();
    let subject = Subject { view: record.view(), session: record.session(), folder: None, desk: &desk };
    let wish = Wish { trigger: Trigger::Manual, instructions: None, part: Part::All };
    let planned = boundary::plan(&subject, &wish, &mut Vec::new(), &CancellationToken::new()).await?;
    record.append(Entry::Compacted(planned.compaction.into()), now)?;
    assert!(record.view().count.total() < before / 2);
    let left: String = record.view().history.iter().map(|message| message.text()).collect();
    assert!(left.contains("Never push to main."), "{left}");
    Ok(())
}
