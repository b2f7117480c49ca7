//! Layer 6: dreaming.
//!
//! What:   tidies the memory: what needs no judgement by code, the rest by a fork that works on a copy.
//! When:   after an answer, a day after the last time, once some sessions went on since; or when the person asks.
//! Cost:   nothing where nothing is new; otherwise one forked errand a day at most.
//! Spares: recall and the index: duplicates, contradictions and dead links cost every later session.
//! Leaves: everything that was said. Removed memories lie in the trash, every dream is undone by one command, and what a
//!         gate refuses waits for the person.
//!
//! `gates` (when) · `lease` (who) · `world` (what is worked on) · `tidy` with `repair` (what code does)
//! · `evidence`, `copy` (what a model gets and leaves) · `trial` (the gates of the result) · `land` (one transaction) ·
//! `proposal`, `seen`.

mod copy;
mod evidence;
mod gates;
mod land;
mod lease;
mod proposal;
mod repair;
mod seen;
mod tidy;
mod trial;
mod world;

pub use gates::{Closed, Gates, News, Switch};
pub use land::Landed;
pub use lease::Holder;
pub(in crate::memory) use proposal::propose;
pub use proposal::{Proposal, Proposer, Standing};
pub use tidy::{Finding, Fix, Report};
pub use trial::{Refusal, Tried};
pub use world::Step;

use super::{MemoryError, Place, SharedMemory, scope};
use crate::clock::Clock;
use crate::desk::Desk;
use crate::errand::{EndsWhen, Errand, Outcome};
use crate::fence::fenced;
use crate::gate::Gate;
use crate::ledger::breaker::Progress;
use crate::limits::Limits;
use crate::prompts;
use crate::settings::{Settings, key};
use crate::tool::Tool;
use crate::tools::looking::Past;
use copy::Workplace;
use evidence::Evidence;
use gates::Rhythm;
use jiff::tz::TimeZone;
use lease::Lease;
use seen::Seen;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tidy::{Around, Days};
use tokio_util::sync::CancellationToken;
use trial::By;
use world::World;

/// The errand's name, and the name under which its calls and failures are booked.
pub const ERRAND: &str = "dream";

/// Why there was no dream. The memory is as it was.
#[derive(Debug, thiserror::Error)]
pub enum DreamError {
    /// The store refused.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The system refused.
    #[error("{what} failed ({error}); the memory is as it was, and the next dream begins anew")]
    Io {
        /// What was being done.
        what: &'static str,
        /// What the system said.
        error: io::Error,
    },
    /// Somebody else dreams.
    #[error("process {} on {} dreams already, last seen at {}; wait for it, or end it", .0.pid, .0.host, .0.beat)]
    Busy(Holder),
    /// Somebody else took over.
    #[error("another process took over this dream after a long silence; nothing of this one was kept")]
    Lost,
    /// There is no such proposal.
    #[error("there is no proposal `{0}`; `scrubjay dream` lists those that wait")]
    NoProposal(String),
    /// It was stopped.
    #[error("the dream was stopped; the memory is as it was")]
    Killed,
    /// The model failed.
    #[error("the dream failed: {0}; the memory is as it was")]
    Failed(String),
}

impl DreamError {
    fn io(what: &'static str, error: io::Error) -> Self {
        DreamError::Io { what, error }
    }
}

/// What a dream does by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Nothing: everything waits for the person.
    Propose,
    /// Everything but removing memories.
    Additive,
    /// That too, within the gates.
    Auto,
}

/// Dreams over one memory. Cheap to clone.
#[derive(Clone)]
pub struct Dreams {
    memory: SharedMemory,
    place: Place,
    /// Where transcripts lie.
    sessions: PathBuf,
    /// The project, in which what memories mention is looked for.
    root: PathBuf,
    mode: Mode,
    rhythm: Rhythm,
    clock: Arc<dyn Clock>,
    zone: TimeZone,
    limits: Arc<Limits>,
}

impl Dreams {
    /// Over this memory; `sessions` is the folder of transcripts, `root` the project.
    pub fn over(memory: SharedMemory, sessions: &Path, root: &Path, desk: &Desk) -> Self {
        let outside = Self::outside(memory, [sessions, root], &desk.settings, desk.clock.clone(), desk.zone.clone());
        Self { limits: desk.limits.clone(), ..outside }
    }

    /// The same where no session is open.
    pub fn outside(
        memory: SharedMemory,
        [sessions, root]: [&Path; 2],
        settings: &Settings,
        clock: Arc<dyn Clock>,
        zone: TimeZone,
    ) -> Self {
        let mode = match settings.text(&key::DREAMING_MODE) {
            "propose" => Mode::Propose,
            "auto" => Mode::Auto,
            _ => Mode::Additive,
        };
        let place = memory.with(|memory| memory.place().clone());
        let (sessions, root, limits) = (sessions.to_owned(), root.to_owned(), Arc::new(settings.limits().clone()));
        let rhythm = Rhythm::of(settings);
        Self { memory, place, sessions, root, mode, rhythm, clock, zone, limits }
    }

    /// The same in another mode.
    pub fn in_mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// What is new since the last dream, whether or not it is time for one. `current` is the session that asks. Blocks.
    pub fn news(&self, current: &str) -> Result<News, DreamError> {
        let last = self.memory.with(|memory| memory.last_dream())?;
        gates::news(self, last, current)
    }

    /// Begin a dream: take the lease and tidy, on paper. Nothing is changed. Once `stop` is cancelled it does not land. Blocks.
    pub fn plan(&self, news: News, stop: CancellationToken) -> Result<Dream, DreamError> {
        let lease = Lease::take(&self.place.memory, &self.clock, &self.limits)?;
        let (world, days) = self.memory.with(|memory| -> Result<_, MemoryError> {
            memory.refresh()?;
            let world = World::read(memory, &self.limits)?;
            let days = Days::read(memory, &world)?;
            Ok((world, days))
        })?;
        let around = Around {
            memory: &self.place.memory,
            root: &self.root,
            zone: &self.zone,
            limits: &self.limits,
            stop: &stop,
        };
        let (tidied, report) = tidy::tidy(&world, &days, &around);
        let now = self.clock.now().to_zoned(self.zone.clone());
        let refused = trial::trial(&world, &tidied, By::Code, &now, &self.limits);
        let tidy_world = if refused.is_empty() { world.after(&tidied, &self.limits) } else { world.clone() };
        let seen = Seen::read(&self.place.dreams);
        let judged = |finding: &&Finding| !seen.judged.contains(&tidy::key(finding, &tidy_world));
        let open = report.findings.iter().filter(judged).cloned().collect();
        let evidence = Evidence::read(&news, &self.zone, &self.limits);
        let (dreams, workplace) = (self.clone(), Workplace::of(&self.place.dreams, lease.token()));
        Ok(Dream {
            dreams,
            lease,
            workplace,
            stop,
            news,
            seen,
            evidence,
            world,
            tidied,
            refused,
            tidy_world,
            report,
            open,
        })
    }

    /// What waits for the person, the newest first.
    pub fn proposals(&self) -> Vec<Proposal> {
        Proposal::standing(&self.place.dreams, &[Standing::Waiting])
    }

    /// What no dream does, because the person rejected it, or applied it and took it back, and those memories say what they said
    /// then; the newest first.
    pub fn declined(&self) -> Result<Vec<Proposal>, DreamError> {
        let mut declined = Proposal::standing(&self.place.dreams, &[Standing::Rejected, Standing::Applied]);
        self.memory.with(|memory| -> Result<(), MemoryError> {
            memory.refresh()?;
            let holds = |step: &Step| memory.scan.get(&step.path).map(|entry| &entry.digest) == step.base.as_ref();
            declined.retain(|proposal| proposal.steps.iter().all(holds));
            Ok(())
        })?;
        Ok(declined)
    }

    /// Where the memory lies.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// When the last dream landed.
    pub fn last(&self) -> Result<Option<jiff::Timestamp>, DreamError> {
        Ok(self.memory.with(|memory| memory.last_dream())?)
    }
}

/// A dream that has begun. Dropping it leaves everything as it was.
pub struct Dream {
    dreams: Dreams,
    lease: Lease,
    workplace: Workplace,
    stop: CancellationToken,
    news: News,
    seen: Seen,
    evidence: Evidence,
    /// The memories as they are.
    world: World,
    /// What code would do.
    tidied: Vec<Step>,
    /// What speaks against that.
    refused: Vec<Refusal>,
    /// The memories as they would be.
    tidy_world: World,
    report: Report,
    /// What no dream has judged yet.
    open: Vec<Finding>,
}

impl Dream {
    /// What tidying found and would do.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// What code alone would do.
    pub fn steps(&self) -> &[Step] {
        &self.tidied
    }

    /// What speaks against that.
    pub fn refusals(&self) -> &[Refusal] {
        &self.refused
    }

    /// What these steps would come to, as recall and the index see it.
    pub fn tried(&self, steps: &[Step]) -> Tried {
        let Dreams { clock, zone, limits, .. } = &self.dreams;
        trial::tried(&self.world, steps, &clock.now().to_zoned(zone.clone()), limits)
    }

    /// Whether anything is left that only a model can judge: something no dream has judged yet, or something that was said
    /// since the last one.
    pub fn needs_judgement(&self) -> bool {
        !self.open.is_empty() || !self.evidence.is_empty()
    }

    /// Show a sign of life. An error means that somebody else took over.
    pub fn beat(&self) -> Result<(), DreamError> {
        self.lease.beat()
    }

    /// How often to do that.
    pub fn pulse(&self) -> std::time::Duration {
        std::time::Duration::from_secs(self.dreams.limits.dream_beat_seconds)
    }

    /// Make the copy, and say what a fork is to do with it. `parent` is what the session itself may do.
    pub fn errand(&self, parent: Gate) -> Result<Errand, DreamError> {
        let Dreams { place, sessions, root, limits, .. } = &self.dreams;
        let copy = copy::make(&place.dreams, &self.workplace, &self.tidy_world)
            .map_err(|error| DreamError::io("copying the memory", error))?;
        let readable = [root, &place.memory, sessions].map(|dir| dir.canonicalize().unwrap_or_else(|_| dir.clone()));
        let directive = self.directive(&copy);
        let gate = scope::gate(readable.into_iter().chain([copy.clone()]).collect(), &copy, parent).named(ERRAND);
        let (name, turns) = (ERRAND.to_owned(), limits.dream_turns);
        Ok(Errand { name, directive, gate, turns, ends: EndsWhen::Silent, receipt: Box::new(|_| None) })
    }

    /// The parent's tools as a dream has them: under the same names, because the list is part of the cached prefix.
    pub fn hands(&self, tools: &[Arc<dyn Tool>]) -> Arc<[Arc<dyn Tool>]> {
        let Dreams { place, sessions, limits, .. } = &self.dreams;
        let resolved = |dir: &PathBuf| dir.canonicalize().unwrap_or_else(|_| dir.clone());
        let except = vec![resolved(&place.memory), resolved(&place.dreams)];
        let past = Past { folder: resolved(sessions), except, lines: limits.past_lines };
        tools.iter().map(|tool| scope::restrained(tool, &past)).collect()
    }

    fn directive(&self, copy: &Path) -> String {
        let limits = &self.dreams.limits;
        let lines = |lines: Vec<String>| match lines.is_empty() {
            true => prompts::DREAM_NOTHING.trim_end().to_owned(),
            false => lines.join("\n"),
        };
        let most = usize::try_from(limits.dream_findings).unwrap_or(usize::MAX);
        let findings =
            self.open.iter().take(most).map(|finding| format!("- {}", fenced(&finding.to_string()))).collect();
        let fixes = self.report.fixes.iter().take(most).map(|fix| format!("- {}", fenced(&fix.to_string()))).collect();
        let logs = self.news.logs.iter().map(|log| format!("- {}", log.path.display())).collect();
        let sessions = self.news.sessions.iter().take(most).map(|path| format!("- {}", path.display())).collect();
        let since = self.news.last.map_or_else(|| prompts::DREAM_FIRST.trim_end().to_owned(), |last| last.to_string());
        prompts::dream(&prompts::DreamTask {
            copy: &copy.display().to_string(),
            since: &since,
            findings: &lines(findings),
            fixes: &lines(fixes),
            logs: &lines(logs),
            sessions: &lines(sessions),
            index_lines: &limits.index_lines.to_string(),
            line_chars: &limits.index_line_chars.to_string(),
        })
    }
}

/// How the model's part ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judgement {
    /// No model was asked.
    Nobody,
    /// It came to its end.
    Finished,
    /// Its turns ran out.
    Unfinished,
}

impl Judgement {
    /// What a fork's outcome is worth; an error where it is worth nothing.
    pub fn of(outcome: &Outcome) -> Result<Self, DreamError> {
        use crate::errand::Ending;
        match &outcome.ending {
            // Whoever said nothing judged nothing.
            Ending::Done if matches!(outcome.progress(), Progress::None { .. }) => Ok(Judgement::Nobody),
            Ending::Done => Ok(Judgement::Finished),
            Ending::OutOfTurns => Ok(Judgement::Unfinished),
            Ending::Cancelled => Err(DreamError::Killed),
            Ending::Failed(why) => Err(DreamError::Failed(why.clone())),
        }
    }
}
