//! The one filter: what may become a memory, and what it is worth. A model's writes and what code finds by itself pass it alike.

use super::super::footing::borrows;
use super::super::provenance::{Basis, Source, Speaker, Trust};
use super::super::recall::content_words;
use super::super::store::Edit;
use super::super::{Kind, Memory, index, name};
use super::draft::Draft;
use super::evidence::{Statement, plain};
use super::support::Cited;
use super::{Grounds, worth};
use crate::dates;
use crate::digest::Digest;
use crate::limits::Limits;
use jiff::civil::Date;
use jiff::tz::TimeZone;

/// A memory that may be saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// The change that saves it; it carries what it rests on.
    pub edit: Edit,
    /// What it rests on.
    pub basis: Basis,
    /// What whoever wrote it should know.
    pub notes: Vec<String>,
}

/// A memory that may not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not saved: {reason}")]
pub struct Refusal {
    /// Why, and what would help.
    pub reason: String,
}

impl Refusal {
    fn because(reason: impl Into<String>) -> Self {
        Self { reason: reason.into() }
    }
}

/// Quotations shorter than this are found everywhere.
const SHORTEST_QUOTE: usize = 6;
/// Sources that are kept of one memory, the newest ones.
const SOURCES: usize = 20;

/// Decide about a memory. Nothing is written. Blocks: the project may be walked.
pub fn judge(draft: &Draft, grounds: &Grounds, memory: &Memory) -> Result<Accepted, Refusal> {
    let limits = &memory.limits;
    let refuse = |reason: Option<String>| reason.map_or(Ok(()), |reason| Err(Refusal::because(reason)));
    refuse(misplaced(&draft.path))?;
    refuse(draft.lacks(limits).map(|what| format!("it lacks {what}")))?;
    refuse(worth::passing(draft, limits))?;
    let found =
        draft.cites.iter().map(|cite| Ok((cite.as_str(), grounds.find(cite)?))).collect::<Result<Vec<_>, _>>()?;
    let said = said_on(&found, &grounds.zone);
    let basis = basis(draft, &found, grounds, said)?;
    let kind = draft.topic(limits).kind;
    refuse(match basis.trust {
        Trust::Tainted | Trust::Shared => untrusted(draft, kind, memory),
        Trust::Clean | Trust::Confirmed => awaited(draft, memory),
    })?;
    refuse(worth::known(draft, basis.trust, memory))?;
    refuse(worth::derivable(draft, grounds, limits))?;
    let (text, notes) = written(draft, said, limits);
    let base = draft.before.as_ref().map(|before| Digest::of(before.as_bytes()));
    let basis = with_former(basis, memory.rests_on(&draft.path).filter(|_| base.is_some()));
    let edit = Edit { base, ..Edit::create(draft.path.as_str(), text) }.resting_on(basis.clone());
    Ok(Accepted { edit, basis, notes })
}

/// The day from which relative dates are reckoned: that of the newest cited words that name one, or else of the newest.
fn said_on(found: &[(&str, &Statement)], zone: &TimeZone) -> Date {
    let day = |one: &Statement| one.at.to_zoned(zone.clone()).date();
    let names_one =
        |one: &&Statement| dates::find(&one.text, day(one)).iter().any(|date| date.kind == dates::Kind::Relative);
    let cited = || found.iter().map(|(_, one)| *one);
    cited().filter(names_one).map(day).max().or_else(|| cited().map(day).max()).unwrap_or(Date::ZERO)
}

/// Only a memory of its own is written: not the index, not a log.
fn misplaced(path: &str) -> Option<String> {
    let file = path.rsplit('/').next().unwrap_or_default();
    match () {
        () if name::is_index(file) => {
            Some("the index is kept in step with the files by itself; write the file alone".to_owned())
        }
        () if path.split('/').next() == Some(name::LOGS) => Some("logs are not written by this errand".to_owned()),
        () => None,
    }
}

/// Clean where the user's own words carry it, tainted where only others' do, refused where nobody's do.
fn basis<'a>(draft: &Draft, found: &[(&str, &'a Statement)], grounds: &Grounds, said: Date) -> Result<Basis, Refusal> {
    let added = draft.added(&grounds.limits);
    let by_person: Vec<_> = found.iter().copied().filter(|(_, one)| one.speaker == Speaker::Person).collect();
    let cited = |found: &[(&str, &'a Statement)]| Cited::of(found, &grounds.zone).beside(draft.before.as_deref());
    let whole = [added.name.as_str(), &added.description, &added.body].join("\n");
    let borrows = || grounds.borrowed(&whole, draft.before.as_deref());
    if !by_person.is_empty() && cited(&by_person).lacks(&added, said).is_none() && !borrows() {
        return Ok(Basis::of(sources(&by_person, grounds)));
    }
    if let Some(missing) = cited(found).lacks(&added, said) {
        let shown: String = missing.chars().take(120).collect();
        return Err(Refusal::because(format!(
            "the cited words do not say \"{shown}\"; say only what was said, in those words, or cite where it was"
        )));
    }
    Ok(Basis { sources: sources(found, grounds), trust: Trust::Tainted })
}

fn sources(found: &[(&str, &Statement)], grounds: &Grounds) -> Vec<Source> {
    let source = |(quote, one): &(&str, &Statement)| Source {
        speaker: one.speaker.clone(),
        session: grounds.session.to_string(),
        message: one.message.to_string(),
        quote: (*quote).to_owned(),
    };
    found.iter().map(source).collect()
}

/// What nobody but a tool, a page, a file, an agent or the model itself said may be kept apart; more it may not.
fn untrusted(draft: &Draft, kind: Kind, memory: &Memory) -> Option<String> {
    if matches!(kind, Kind::User | Kind::Feedback) {
        let kind = kind.as_str();
        return Some(format!(
            "a {kind} memory needs the person's own words, and these are not; leave it, or cite the person"
        ));
    }
    let is_trusted =
        draft.before.is_some() && memory.rests_on(&draft.path).is_none_or(|was| was.trust != Trust::Tainted);
    is_trusted.then(|| "what the person said is not changed on somebody else's word; leave it as it is".to_owned())
}

/// A file that waits for the person's word would keep even the person's own words waiting.
fn awaited(draft: &Draft, memory: &Memory) -> Option<String> {
    let waits = draft.before.is_some() && memory.rests_on(&draft.path).is_some_and(|was| was.trust == Trust::Tainted);
    waits.then(|| {
        "this file rests on what somebody else said and waits for the person; write a file of its own".to_owned()
    })
}

/// What was there rests on what it rested on; the person's earlier confirmation holds.
fn with_former(basis: Basis, was: Option<&Basis>) -> Basis {
    let Some(was) = was else { return basis };
    let mut sources: Vec<Source> =
        was.sources.iter().filter(|source| !basis.sources.contains(source)).cloned().collect();
    let Basis { sources: new, mut trust } = basis;
    sources.extend(new);
    let mut over = sources.len().saturating_sub(SOURCES);
    // Whose facts it took over stays known.
    sources.retain(|source| {
        let goes = over > 0 && !matches!(source.speaker, Speaker::Memory(_));
        over -= usize::from(goes);
        !goes
    });
    if was.trust == Trust::Confirmed && trust == Trust::Clean {
        trust = Trust::Confirmed;
    }
    Basis { sources, trust }
}

/// As it is saved: relative dates are absolute, against the day they were said, and the description fits its line.
fn written(draft: &Draft, said: Date, limits: &Limits) -> (String, Vec<String>) {
    let (mut topic, mut notes) = (draft.topic(limits), Vec::new());
    let description = dates::absolute(&topic.description, said);
    let body = dates::absolute(&topic.body, said);
    if (&description, &body) != (&topic.description, &topic.body) {
        (topic.description, topic.body) = (description, body);
        notes.push(format!("dates were made absolute, reckoned from {said}"));
    }
    if let Some(fitted) = index::fitted(&topic, &draft.path, limits) {
        topic = fitted;
        notes.push("the description was too long for its line in the index; all of it stands in the text".to_owned());
    }
    let text = if notes.is_empty() { draft.text.clone() } else { draft.with(&topic, limits) };
    (text, notes)
}

impl Grounds {
    /// Whether a text borrows from somebody else than the user.
    fn borrowed(&self, text: &str, before: Option<&str>) -> bool {
        let is_known = |one: &&Statement| one.speaker == Speaker::Person;
        let (known, others): (Vec<&Statement>, Vec<&Statement>) = self.statements.iter().partition(is_known);
        let known = known.iter().map(|one| one.text.as_str()).chain(before);
        borrows(text, &known.flat_map(content_words).collect(), others.iter().map(|one| one.text.as_str()))
    }

    /// Where a quotation stands; the person's own words first.
    fn find(&self, cite: &str) -> Result<&Statement, Refusal> {
        let quote = plain(cite);
        let shown: String = cite.chars().take(120).collect();
        let is_short = quote.chars().filter(|c| c.is_alphanumeric()).count() < SHORTEST_QUOTE && quote.is_ascii();
        if is_short {
            return Err(Refusal::because(format!("\"{shown}\" is too short a quotation to rest on")));
        }
        let mut holders = self.statements.iter().filter(|one| one.plain.contains(&quote));
        let first = holders.next();
        let person = |one: &&Statement| one.speaker == Speaker::Person;
        first.filter(person).or_else(|| holders.find(person)).or(first).ok_or_else(|| {
            Refusal::because(format!(
                "nobody said \"{shown}\" in the new messages; cites must be exact words from there"
            ))
        })
    }
}
