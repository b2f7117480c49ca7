//! What waits for the person: what dreams propose, and memories that rest on what somebody else said. Each is accepted or
//! rejected, and both can be taken back.

use super::dreams::{apply, headline, outline, proposal_json, rejected};
use super::receipt::Told;
use super::{make, stem};
use crate::commands::memory::basis_in_words;
use crate::failure::Failure;
use crate::paper::{Ink, Tone};
use crate::report::ago;
use jiff::Timestamp;
use scrubjay::memory::dreaming::{Dreams, Proposal};
use scrubjay::memory::{Edit, Entry, Memory, name};
use scrubjay::tools::shown;
use serde_json::{Value, json};

/// What a person wants of the inbox. Items are named by number, by id or by file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wish {
    /// Show what waits.
    List,
    /// Show all of one.
    Show(String),
    /// Say yes to these.
    Accept(Vec<String>),
    /// Say no to these.
    Reject(Vec<String>),
    /// Let a rejected proposal wait again.
    Reopen(String),
}

impl Wish {
    /// Read what stands behind `/memory inbox`.
    pub(crate) fn read(typed: &str) -> Result<Self, String> {
        let words: Vec<String> = typed.split_whitespace().map(str::to_owned).collect();
        match words.split_first().map(|(deed, rest)| (deed.as_str(), rest)) {
            None => Ok(Wish::List),
            Some(("show", [one])) => Ok(Wish::Show(one.clone())),
            Some(("accept", some @ [_, ..])) => Ok(Wish::Accept(some.to_vec())),
            Some(("reject", some @ [_, ..])) => Ok(Wish::Reject(some.to_vec())),
            Some(("reopen", [one])) => Ok(Wish::Reopen(one.clone())),
            _ => Err("/memory inbox lists what waits for you; /memory inbox show N, accept N, reject N decide on one"
                .to_owned()),
        }
    }
}

/// One thing that waits.
#[derive(Debug, Clone)]
pub(crate) enum Item {
    /// A dream's.
    Proposal(Proposal),
    /// A memory that nobody confirmed: where it is, and what it rests on.
    Unconfirmed(Entry, String),
}

impl Item {
    /// What it is called beside its number.
    fn name(&self) -> &str {
        match self {
            Item::Proposal(proposal) => &proposal.id,
            Item::Unconfirmed(entry, _) => stem(&entry.path),
        }
    }

    fn words(&self, number: usize, ink: Ink) -> String {
        let now = Timestamp::now();
        let (head, more) = match self {
            Item::Proposal(proposal) => (headline(proposal), format!("dreamt {}", ago(proposal.at, now))),
            Item::Unconfirmed(entry, rests_on) => {
                let head = format!("memory {} · {}", stem(&entry.path), entry.description);
                (head, format!("rests on {rests_on}, {}", ago(entry.modified(), now)))
            }
        };
        let more = ink.paint(Tone::Faint, &shown(&more));
        format!("{number:>3}  {}\n     {more}", ink.paint(Tone::Strong, &shown(&head)))
    }

    /// All of it, for people.
    pub(crate) fn whole(&self, memory: &Memory, ink: Ink) -> Result<String, Failure> {
        match self {
            Item::Proposal(proposal) => {
                Ok(format!("{}\n{}\n{}", headline(proposal), outline(proposal, ink), shown(proposal.diff.trim_end())))
            }
            Item::Unconfirmed(entry, rests_on) => {
                let text = memory.text(&entry.path)?.map(|(_, text)| text).unwrap_or_default();
                Ok(format!("{}\n  rests on {}\n\n{}", entry.path, shown(rests_on), shown(text.trim_end())))
            }
        }
    }

    /// For scripts.
    pub(crate) fn json(&self) -> Value {
        match self {
            Item::Proposal(proposal) => {
                json!({ "kind": "dream", "name": proposal.id, "proposal": proposal_json(proposal) })
            }
            Item::Unconfirmed(entry, rests_on) => json!({
                "kind": "unconfirmed",
                "name": entry.path,
                "description": entry.description,
                "rests_on": rests_on,
            }),
        }
    }

    /// Say yes: the proposal is done, or the memory is confirmed.
    pub(crate) fn accept(&self, memory: &mut Memory, dreams: &Dreams) -> Result<Done, Failure> {
        match self {
            Item::Proposal(proposal) => apply(dreams, proposal).map(Done::Changed),
            Item::Unconfirmed(entry, _) => make(memory, vec![Edit::confirm(entry)]).map(Done::Changed),
        }
    }

    /// Say no: the proposal is never made again, or the memory goes to the trash.
    pub(crate) fn reject(&self, memory: &mut Memory, dreams: &Dreams) -> Result<Done, Failure> {
        match self {
            Item::Proposal(proposal) => {
                dreams.reject(&proposal.id)?;
                Ok(Done::Rejected(proposal.id.clone()))
            }
            Item::Unconfirmed(entry, _) => make(memory, vec![Edit::remove(entry)]).map(Done::Changed),
        }
    }
}

/// What came of a decision.
pub(crate) enum Done {
    /// The memory changed.
    Changed(Told),
    /// A proposal is off the table.
    Rejected(String),
}

impl Done {
    /// For people; `undo` is what takes a change back where they are.
    pub(crate) fn words(&self, ink: Ink, undo: &str) -> String {
        match self {
            Done::Changed(told) => told.words(ink, undo),
            Done::Rejected(id) => rejected(id),
        }
    }

    /// For scripts.
    pub(crate) fn json(&self) -> Value {
        match self {
            Done::Changed(told) => told.json(),
            Done::Rejected(id) => {
                json!({ "changed": false, "rejected": id, "undo": format!("scrubjay inbox reopen {id}") })
            }
        }
    }
}

/// Everything that waits, numbered from one: proposals, the newest first, then memories by name.
pub(crate) struct Inbox(pub(crate) Vec<Item>);

impl Inbox {
    pub(crate) fn of(memory: &Memory, dreams: &Dreams) -> Self {
        let rests_on = |entry: &Entry| memory.rests_on(&entry.path).map(basis_in_words).unwrap_or_default();
        let waiting = memory.unconfirmed().map(|entry| Item::Unconfirmed(entry.clone(), rests_on(entry)));
        Self(dreams.proposals().into_iter().map(Item::Proposal).chain(waiting).collect())
    }

    /// The list, for people; `door` is what the inbox is called where they are.
    pub(crate) fn words(&self, ink: Ink, door: &str) -> String {
        if self.0.is_empty() {
            return "nothing waits for you: what a dream would change, and what was learned from others than you, waits here \
                    until you decide"
                .to_owned();
        }
        let mut lines: Vec<String> = self.0.iter().enumerate().map(|(at, item)| item.words(at + 1, ink)).collect();
        lines.push(ink.paint(Tone::Faint, &format!("{door} show N · {door} accept N · {door} reject N")));
        lines.join("\n")
    }

    /// The items that are meant, each by its number, its name or the beginning of a proposal's id.
    pub(crate) fn find(&self, typed: &[String]) -> Result<Vec<Item>, Failure> {
        typed.iter().map(|typed| self.one(typed)).collect()
    }

    /// The item that is meant.
    pub(crate) fn one(&self, typed: &str) -> Result<Item, Failure> {
        let numbered = typed.parse::<usize>().ok().and_then(|number| self.0.get(number.checked_sub(1)?));
        let fold = name::fold(typed.trim().trim_end_matches(".md"));
        let named = || self.0.iter().find(|item| name::fold(item.name()) == fold);
        let begins = |item: &&Item| matches!(item, Item::Proposal(proposal) if proposal.id.starts_with(typed));
        let found = numbered.or_else(named).or_else(|| self.0.iter().find(begins));
        found.cloned().ok_or_else(|| {
            Failure::nothing_found(format!("nothing that waits is called `{}`", shown(typed)))
                .fix("`scrubjay inbox`, or /memory inbox in a chat, lists what waits")
        })
    }
}
