//! What waits for the user: changes that dreams and sessions propose, and unconfirmed memories. Each is kept or dropped, and both
//! can be taken back.

use super::dreams::{apply, headline, outline, proposal_json, rejected};
use super::receipt::Told;
use super::{make, stem};
use crate::commands::memory::basis_in_words;
use crate::failure::Failure;
use crate::paper::{Ink, Tone};
use crate::report::ago;
use jiff::Timestamp;
use scrubjay::memory::dreaming::{Dreams, Proposal, Proposer};
use scrubjay::memory::{Edit, Entry, Memory, name};
use scrubjay::tools::shown;
use serde_json::{Value, json};

/// What a user wants of the inbox. Items are named by number, by id or by file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wish {
    /// Show what waits.
    List,
    /// Show all of one.
    Show(String),
    /// Say yes to these.
    Keep(Which),
    /// Say no to these.
    Drop(Which),
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
            Some(("keep" | "accept", some @ [_, ..])) => Ok(Wish::Keep(Which::read(some))),
            Some(("drop" | "reject", some @ [_, ..])) => Ok(Wish::Drop(Which::read(some))),
            Some(("reopen", [one])) => Ok(Wish::Reopen(one.clone())),
            _ => Err("/memory inbox lists what waits for you; show N shows one, keep N and drop N decide, --all on everything"
                .to_owned()),
        }
    }
}

/// Which of the things that wait are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Which {
    /// All of them.
    All,
    /// These, by number, name or id.
    These(Vec<String>),
}

impl Which {
    fn read(words: &[String]) -> Self {
        if words == ["--all"] { Which::All } else { Which::These(words.to_vec()) }
    }
}

/// Yes or no.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    /// A memory is confirmed, a proposal is done.
    Keep,
    /// A memory goes to the trash, a proposal is not made again.
    Drop,
}

/// What is said when nobody agreed to decide on everything.
pub(crate) const LEFT: &str = "nothing was decided; all of it waits as before";

/// The question before everything is decided at once.
pub(crate) fn confirmation(items: &[Item], decision: Decision) -> String {
    let proposals = items.iter().filter(|item| matches!(item, Item::Proposal(_))).count();
    let what = [(items.len() - proposals, "memory", "memories"), (proposals, "proposal", "proposals")];
    let some = what.iter().filter(|(count, ..)| *count > 0);
    let counts = some.map(|(count, one, many)| format!("{count} {}", if *count == 1 { one } else { many }));
    let verb = if decision == Decision::Keep { "keep" } else { "drop" };
    format!("{verb} all of it, {}? [y/N] › ", counts.collect::<Vec<_>>().join(" and "))
}

/// Whether a line agrees.
pub(crate) fn is_yes(line: &str) -> bool {
    ["y", "yes"].contains(&line.trim().to_lowercase().as_str())
}

/// Decide on these. Memories change together, so that one undo takes it back.
pub(crate) fn decide(
    items: &[Item],
    decision: Decision,
    memory: &mut Memory,
    dreams: &Dreams,
) -> Result<Vec<Done>, Failure> {
    let (mut edits, mut done) = (Vec::new(), Vec::new());
    for item in items {
        match (item, decision) {
            (Item::Proposal(proposal), Decision::Keep) => done.push(Done::Changed(apply(dreams, proposal)?)),
            (Item::Proposal(proposal), Decision::Drop) => {
                dreams.reject(&proposal.id)?;
                done.push(Done::Rejected(proposal.id.clone()));
            }
            (Item::Unconfirmed(entry, _), Decision::Keep) => edits.push(Edit::confirm(entry)),
            (Item::Unconfirmed(entry, _), Decision::Drop) => edits.push(Edit::remove(entry)),
        }
    }
    if !edits.is_empty() {
        // A proposal may just have changed what is there.
        memory.refresh()?;
        done.push(Done::Changed(make(memory, edits)?));
    }
    Ok(done)
}

/// One thing that waits.
#[derive(Debug, Clone)]
pub(crate) enum Item {
    /// A change that a dream or a session proposes.
    Proposal(Proposal),
    /// An unconfirmed memory: where it is, and what there is to know about it.
    Unconfirmed(Entry, Reason),
}

/// Why a memory is unconfirmed.
#[derive(Debug, Clone)]
pub(crate) struct Reason {
    /// What it rests on.
    rests_on: String,
    /// The doubt, where somebody said.
    doubt: Option<String>,
}

impl Reason {
    fn words(&self) -> String {
        match &self.doubt {
            Some(doubt) => doubt.clone(),
            None => format!("rests on {}", self.rests_on),
        }
    }
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
            Item::Proposal(proposal) if proposal.by == Proposer::Session => {
                let why = proposal.reasons.join("; ");
                (headline(proposal), format!("proposed {}: {why}", ago(proposal.at, now)))
            }
            Item::Proposal(proposal) => (headline(proposal), format!("dreamt {}", ago(proposal.at, now))),
            Item::Unconfirmed(entry, reason) => {
                let head = format!("memory {} · {}", stem(&entry.path), entry.description);
                (head, format!("unconfirmed: {} · {}", reason.words(), ago(entry.modified(), now)))
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
            Item::Unconfirmed(entry, reason) => {
                let text = memory.text(&entry.path)?.map(|(_, text)| text).unwrap_or_default();
                let doubt = reason.doubt.iter().map(|doubt| format!("  unconfirmed: {}\n", shown(doubt)));
                let doubt: String = doubt.collect();
                let rests_on = shown(&reason.rests_on);
                Ok(format!("{}\n{doubt}  rests on {rests_on}\n\n{}", entry.path, shown(text.trim_end())))
            }
        }
    }

    /// For scripts.
    pub(crate) fn json(&self) -> Value {
        match self {
            Item::Proposal(proposal) => {
                let kind = if proposal.by == Proposer::Session { "proposed" } else { "dream" };
                json!({ "kind": kind, "name": proposal.id, "proposal": proposal_json(proposal) })
            }
            Item::Unconfirmed(entry, reason) => json!({
                "kind": "unconfirmed",
                "name": entry.path,
                "description": entry.description,
                "rests_on": reason.rests_on,
                "doubt": reason.doubt,
            }),
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
        let reason = |entry: &Entry| {
            let basis = memory.basis_of(entry);
            let rests_on = basis.map(basis_in_words).unwrap_or_default();
            Reason { rests_on, doubt: basis.and_then(|basis| basis.doubt.clone()) }
        };
        let waiting = memory.unconfirmed().map(|entry| Item::Unconfirmed(entry.clone(), reason(entry)));
        Self(dreams.proposals().into_iter().map(Item::Proposal).chain(waiting).collect())
    }

    /// The list, for people; `door` is what the inbox is called where they are.
    pub(crate) fn words(&self, ink: Ink, door: &str) -> String {
        if self.0.is_empty() {
            return "nothing waits for you: proposed changes and unconfirmed memories wait here until you decide"
                .to_owned();
        }
        let mut lines: Vec<String> = self.0.iter().enumerate().map(|(at, item)| item.words(at + 1, ink)).collect();
        lines.push(
            ink.paint(Tone::Faint, &format!("{door} show N · {door} keep N · {door} drop N · --all: everything")),
        );
        lines.join("\n")
    }

    /// The items that are meant, each by its number, its name or the beginning of a proposal's id.
    pub(crate) fn find(&self, which: &Which) -> Result<Vec<Item>, Failure> {
        match which {
            Which::These(typed) => typed.iter().map(|typed| self.one(typed)).collect(),
            Which::All if self.0.is_empty() => Err(Failure::nothing_found("nothing waits for you")),
            Which::All => Ok(self.0.clone()),
        }
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
