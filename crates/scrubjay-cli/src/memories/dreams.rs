//! Dreams, as the commands and the chat use them: what one would do, what waits for the person, and what came of it.

use super::receipt::Told;
use crate::commands::memory::speaker_in_words;
use crate::failure::{Exit, Failure};
use crate::memories;
use crate::paper::{Ink, Paper, Tone, counted, dollars, grouped};
use crate::remembered;
use crate::report::ago;
use crate::seat::WallClock;
use crate::workplace::Workplace;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use scrubjay::Session;
use scrubjay::agents::jobs::Card;
use scrubjay::limits::Limits;
use scrubjay::memory::dreaming::{
    Closed, DreamError, Dreams, ERRAND, Finding, Gates, Landed, Mode, Proposal, Proposer, Report, Standing, Step,
    Switch, Tried,
};
use scrubjay::memory::{FileDiff, Repairs, SharedMemory, Source};
use scrubjay::settings::{Settings, key};
use scrubjay::tools::shown;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// What a person wants of dreams. A proposal is named by its id or the beginning of it; without one the newest is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wish {
    /// Dream now, and propose.
    Dream,
    /// Show what code alone would do, and write nothing.
    Rehearse,
    /// Show what a proposal would change.
    Diff(Option<String>),
    /// Do what it says.
    Apply(Option<String>),
    /// Never propose it again.
    Reject(Option<String>),
}

impl Wish {
    /// Read what stands behind `/dream`.
    pub(crate) fn read(typed: &str) -> Result<Self, String> {
        let words: Vec<&str> = typed.split_whitespace().collect();
        let (deed, id) = match words.as_slice() {
            [] => return Ok(Wish::Dream),
            [deed] => (*deed, None),
            [deed, id] => (*deed, Some((*id).to_owned())),
            _ => ("", None),
        };
        match deed.trim_start_matches("--") {
            "diff" => Ok(Wish::Diff(id)),
            "apply" => Ok(Wish::Apply(id)),
            "reject" => Ok(Wish::Reject(id)),
            "dry-run" if id.is_none() => Ok(Wish::Rehearse),
            _ => Err("/dream proposes what would be tidied, /dream diff shows it line by line, /dream apply does it, \
                      /dream reject never proposes it again; an ID behind these names another proposal"
                .to_owned()),
        }
    }
}

/// Dreams over this project's memory, where no session is open.
pub(crate) fn open(workplace: &Workplace, paper: &Paper) -> Result<Dreams, Failure> {
    let (dreams, repairs) = open_quietly(workplace)?;
    memories::notices(&repairs).iter().for_each(|notice| paper.warn(notice));
    Ok(dreams)
}

/// The same, and what was found out of order.
pub(crate) fn open_quietly(workplace: &Workplace) -> Result<(Dreams, Repairs), Failure> {
    let (project, clock) = (workplace.project(), Arc::new(WallClock));
    let place = remembered::place(workplace)?;
    let (memory, repairs) = SharedMemory::open(&place, &project, clock.clone(), &workplace.limits)?;
    let places = [project.dir(), workplace.root.as_path()];
    Ok((Dreams::outside(memory, places, &workplace.settings, clock, TimeZone::system()), repairs))
}

/// How dreams stand: the last one, what waits, and what the next one waits for.
#[derive(Debug)]
pub(crate) struct Outlook {
    pub(crate) last: Option<Timestamp>,
    pub(crate) waiting: usize,
    /// The first gate that is closed; `None`: the next answer brings one.
    pub(crate) closed: Option<Closed>,
}

impl Outlook {
    pub(crate) fn of(dreams: &Dreams, settings: &Settings) -> Result<Self, Failure> {
        let switch = if settings.flag(&key::DREAMING) { Switch::On } else { Switch::Off };
        let (last, waiting) = (dreams.last()?, dreams.proposals().len());
        Ok(Self { last, waiting, closed: Gates::default().look(dreams, "", switch).err() })
    }

    /// `last one 2 h ago, 1 proposal waits; 3 of 5 sessions towards the next`.
    pub(crate) fn words(&self, now: Timestamp, limits: &Limits) -> String {
        let mut said = self.last.map_or_else(|| "none yet".to_owned(), |last| format!("last one {}", ago(last, now)));
        match self.waiting {
            0 => {}
            1 => said.push_str(", 1 proposal waits in `scrubjay inbox`"),
            many => said.push_str(&format!(", {many} proposals wait in `scrubjay inbox`")),
        }
        said.push_str("; ");
        said.push_str(&match &self.closed {
            None => "the next one begins after an answer".to_owned(),
            Some(Closed::Off) => "they are switched off (`layers.dreaming`)".to_owned(),
            Some(Closed::Recent { .. }) => format!("at most one in {} h by itself", limits.dream_every_hours),
            Some(Closed::FewSessions { new, wanted }) => format!("{new} of {wanted} sessions towards the next"),
            Some(other) => other.to_string(),
        });
        said
    }
}

/// Dream in this session, and propose. Nothing is changed.
pub(crate) async fn dream(session: &mut Session) -> Result<Dreamt, Failure> {
    let off =
        || Failure::new(Exit::Refused, "this session has no memory to dream of").fix("`scrubjay flags` shows why");
    let dreams = session.dreams().ok_or_else(off)?.in_mode(Mode::Propose);
    let current = session.transcript().session().to_string();
    let (before, sessions) = (dreams.proposals(), dreams.news(&current)?.sessions.len());
    let Landed { report, proposal, .. } = session.dream(dreams.clone(), CancellationToken::new()).await?;
    let limits = session.desk().limits.clone();
    let ours = |card: &Card| card.kind == ERRAND && card.session == current;
    let card = session.jobs().list(&limits).into_iter().find(ours);
    Ok(Dreamt { sessions, report, proposal, before, declined: dreams.declined()?, card })
}

/// The proposal that is meant.
pub(crate) fn chosen(dreams: &Dreams, id: Option<&str>) -> Result<Proposal, Failure> {
    let mut near = dreams.proposals();
    near.retain(|proposal| id.is_none_or(|id| proposal.id.starts_with(id)));
    match (near.len(), id) {
        (0, None) => {
            Err(Failure::nothing_found("no proposal waits").fix("`scrubjay dream`, or /dream in a chat, makes one"))
        }
        (0, Some(id)) => Err(DreamError::NoProposal(id.to_owned()).into()),
        (1, _) | (_, None) => Ok(near.swap_remove(0)),
        (_, Some(id)) => {
            let ids: Vec<&str> = near.iter().map(|proposal| proposal.id.as_str()).collect();
            Err(Failure::usage(format!("several proposals begin with `{}`", shown(id)))
                .fix(format!("give more of the id: {}", ids.join(", "))))
        }
    }
}

/// Do what a proposal says.
pub(crate) fn apply(dreams: &Dreams, proposal: &Proposal) -> Result<Told, Failure> {
    let told = Told::at(dreams.apply(&proposal.id)?, &dreams.place().memory);
    let done = told.receipt().outcomes.len();
    Ok(match proposal.steps.len().saturating_sub(done) {
        0 => told,
        left => told.with_note(format!(
            "{} left out, because those memories have changed since it was proposed",
            if left == 1 { "one step was".to_owned() } else { format!("{left} steps were") }
        )),
    })
}

/// What code alone would do, and what there is to say about it; no model is asked, and nothing is written.
pub(crate) fn rehearsal(dreams: &Dreams) -> Result<(Vec<FileDiff>, Vec<String>), Failure> {
    let plan = dreams.plan(dreams.news("")?, CancellationToken::new())?;
    let mut notes: Vec<String> = plan.refusals().iter().map(ToString::to_string).collect();
    notes.extend(plan.report().findings.iter().map(ToString::to_string));
    if plan.steps().is_empty() {
        notes.insert(0, "code finds nothing to tidy".to_owned());
    }
    Ok((diffs(plan.steps()), notes))
}

/// What steps would change.
pub(crate) fn diffs(steps: &[Step]) -> Vec<FileDiff> {
    let diff =
        |step: &Step| FileDiff { path: step.path.clone(), before: step.before.clone(), after: step.after.clone() };
    steps.iter().map(diff).collect()
}

/// One that the person wanted none of: what it would do, and since when not.
fn declined(proposal: &Proposal, now: Timestamp) -> String {
    let how = if proposal.standing == Standing::Applied { "applied and taken back" } else { "rejected" };
    let since = proposal.decided.map(|at| format!(" {}", ago(at, now))).unwrap_or_default();
    let steps: Vec<String> = proposal.steps.iter().map(|step| format!("  {}", step_words(step, Ink::Plain))).collect();
    format!("  {} · {how}{since}\n{}", headline(proposal), steps.join("\n"))
}

/// What is said of a proposal that was rejected.
pub(crate) fn rejected(id: &str) -> String {
    format!("{id} is rejected and will not be proposed again; `scrubjay inbox reopen {id}` takes that back")
}

/// What came of a dream that a person asked for.
pub(crate) struct Dreamt {
    /// Sessions that went on since the last one.
    pub(crate) sessions: usize,
    /// What tidying found.
    pub(crate) report: Report,
    /// What is proposed.
    pub(crate) proposal: Option<Proposal>,
    /// What waits from before.
    pub(crate) before: Vec<Proposal>,
    /// What would be done if the person had not decided against it.
    pub(crate) declined: Vec<Proposal>,
    /// What it took, where a model was asked.
    pub(crate) card: Option<Card>,
}

impl Dreamt {
    /// For people; `door` is what dreams are called where they are: `scrubjay dream --` or `/dream `.
    pub(crate) fn words(&self, ink: Ink, door: &str) -> String {
        let mut lines = vec![self.heading(ink)];
        let steps = |id: &str| {
            format!("  do it: {door}apply · line by line: {door}diff · never: {door}reject · it is proposal {id}")
        };
        let inbox = if door.starts_with('/') { "/memory inbox" } else { "scrubjay inbox" };
        match (&self.proposal, self.before.as_slice()) {
            (Some(proposal), _) => {
                lines.push(format!("  {}", counts(&proposal.steps)));
                lines.push(outline(proposal, ink));
                lines.push(ink.paint(Tone::Faint, &steps(&proposal.id)));
            }
            (None, []) if !self.declined.is_empty() => {
                lines.push("  nothing new to tidy; this no dream does, because you decided so:".to_owned());
                lines.extend(self.declined.iter().map(|proposal| declined(proposal, Timestamp::now())));
                let again = format!("  to have it proposed all the same: `{inbox} reopen ID`");
                lines.push(ink.paint(Tone::Faint, &again));
            }
            (None, []) if self.report.memories == 0 => lines.push(format!("  nothing to tidy; {}", memories::FIRST)),
            (None, []) => lines.push("  nothing to tidy: the memory is in order".to_owned()),
            (None, before) => {
                lines.push("  nothing new; this waits from before:".to_owned());
                lines.extend(before.iter().map(|proposal| format!("  {}", headline(proposal))));
                lines.push(ink.paint(Tone::Faint, &format!("  `{inbox}` shows, accepts and rejects each")));
            }
        }
        lines.extend(findings(&self.report.findings, ink));
        lines.join("\n")
    }

    fn heading(&self, ink: Ink) -> String {
        let asked = self.card.as_ref().filter(|card| card.calls > 0);
        let took = asked.map_or_else(
            || "no model was asked".to_owned(),
            |card| {
                let cost = card.money.map(|money| format!(", {}", dollars(money))).unwrap_or_default();
                format!("{}, {} tokens{cost}", counted(card.calls, "call"), grouped(card.tokens()))
            },
        );
        let (name, sessions) = (ink.paint(Tone::Strong, "dream"), counted(self.sessions as u64, "session"));
        format!("{name} · {} · {sessions} since the last one · {took}", memories::how_many(self.report.memories))
    }

    /// For scripts.
    pub(crate) fn json(&self) -> Value {
        json!({
            "memories": self.report.memories,
            "sessions": self.sessions,
            "proposal": self.proposal.as_ref().map(proposal_json),
            "waiting": self.before.iter().map(|proposal| proposal.id.as_str()).collect::<Vec<_>>(),
            "declined": self.declined.iter().map(|proposal| proposal.id.as_str()).collect::<Vec<_>>(),
            "findings": self.report.findings.iter().map(Finding::to_string).collect::<Vec<_>>(),
            "calls": self.card.as_ref().map_or(0, |card| card.calls),
            "tokens": self.card.as_ref().map_or(0, Card::tokens),
            "usd": self.card.as_ref().and_then(|card| card.money),
        })
    }
}

/// What is left to judge.
fn findings(findings: &[Finding], ink: Ink) -> Vec<String> {
    const MOST: usize = 8;
    if findings.is_empty() {
        return Vec::new();
    }
    let mut lines = vec!["  for you to judge:".to_owned()];
    lines.extend(findings.iter().take(MOST).map(|finding| format!("    {}", shown(&finding.to_string()))));
    if let Some(more) = findings.len().checked_sub(MOST).filter(|more| *more > 0) {
        lines.push(format!("    and {more} more; --json has all of them"));
    }
    lines
        .push(ink.paint(Tone::Faint, "    `scrubjay memory edit NAME` and `scrubjay memory forget NAME` settle these"));
    lines
}

/// A proposal in one line.
pub(crate) fn headline(proposal: &Proposal) -> String {
    let by = if proposal.by == Proposer::Session { "proposed" } else { "dream" };
    format!("{by} {} · {}", proposal.id, counts(&proposal.steps))
}

/// A proposal: each memory, how it was tried, why it waits.
pub(crate) fn outline(proposal: &Proposal, ink: Ink) -> String {
    let mut lines: Vec<String> = proposal.steps.iter().map(|step| step_words(step, ink)).collect();
    // A session proposes without trying recall.
    if proposal.by == Proposer::Dream {
        lines.push(format!("  {}", tried_words(proposal.tried)));
    }
    lines.extend(proposal.reasons.iter().map(|reason| format!("  waits because {}", shown(reason))));
    lines.join("\n")
}

/// What happens to one memory: its sign and its word.
fn deed(step: &Step) -> (&'static str, &'static str) {
    match (&step.base, &step.after, &step.into) {
        (None, Some(_), _) => ("+", "new"),
        (_, after @ Some(_), _) if *after == step.before => ("=", "kept"),
        (_, Some(_), _) => ("~", "changed"),
        (_, None, Some(_)) => ("→", "merged"),
        (_, None, None) => ("−", "removed"),
    }
}

fn counts(steps: &[Step]) -> String {
    let count = |word: &str| steps.iter().filter(|step| deed(step).1 == word).count();
    let words = ["new", "changed", "merged", "removed"].map(|word| (count(word), word));
    let some = words.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}"));
    some.collect::<Vec<_>>().join(", ")
}

fn step_words(step: &Step, ink: Ink) -> String {
    let why = match &step.into {
        Some(into) => format!("{into} says it too"),
        None => step.because.clone(),
    };
    let source = step.sources.first().map(|source| format!(" · {}", source_in_words(source))).unwrap_or_default();
    let name = ink.paint(Tone::Strong, &shown(&step.path));
    format!("  {} {name}: {}{}", deed(step).0, shown(&why), ink.paint(Tone::Faint, &shown(&source)))
}

fn source_in_words(source: &Source) -> String {
    const LETTERS: usize = 8;
    let session: String = source.session.chars().take(LETTERS).collect();
    let said = speaker_in_words(&source.speaker);
    if session.is_empty() { said } else { format!("{said} in session {session}") }
}

fn tried_words(tried: Tried) -> String {
    let Tried { asked, found_before, found_after, lines_before, lines_after } = tried;
    format!(
        "recall test: {found_before} of {asked} found now, {found_after} then · lines of the index: {lines_before} now, \
         {lines_after} then"
    )
}

/// A proposal, for scripts.
pub(crate) fn proposal_json(proposal: &Proposal) -> Value {
    let step = |step: &Step| {
        json!({
            "name": step.path,
            "what": deed(step).1,
            "into": step.into,
            "because": step.because,
            "sources": step.sources,
        })
    };
    json!({
        "id": proposal.id,
        "at": proposal.at,
        "reasons": proposal.reasons,
        "steps": proposal.steps.iter().map(step).collect::<Vec<_>>(),
        "recall_test": proposal.tried,
        "diff": proposal.diff,
    })
}

impl From<DreamError> for Failure {
    fn from(error: DreamError) -> Self {
        let exit = match error {
            DreamError::Memory(error) => return error.into(),
            DreamError::NoProposal(_) => Exit::NothingFound,
            DreamError::Killed => Exit::Interrupted,
            DreamError::Busy(_) | DreamError::Io { .. } | DreamError::Lost | DreamError::Failed(_) => Exit::Failed,
        };
        Self::new(exit, error.to_string())
    }
}
