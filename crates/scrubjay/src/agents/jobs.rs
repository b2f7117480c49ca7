//! Jobs: background work that can be watched and stopped, here and from another process.
//!
//! A job writes a card about itself: what it is, how far it got, what it took. The card lies in `jobs/<id>.json`, replaced
//! whole at every step. Beside it lies `<id>.run`, locked as long as the job's process lives; whoever writes a word into that
//! file asks the job to stop, and the job looks there with every piece of a reply and before every turn.

use super::fork::{self, Origins};
use crate::clock::Clock;
use crate::desk::Desk;
use crate::digest::Digest;
use crate::errand::{Errand, Outcome};
use crate::ledger::Layer;
use crate::ledger::breaker::Progress;
use crate::limits::Limits;
use crate::message::Usage;
use crate::paths;
use crate::prompt_cache::prices::Prices;
use crate::turn::Watcher;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio_util::sync::CancellationToken;

/// How a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It runs.
    Running,
    /// It did what it was for.
    Completed,
    /// It got nowhere.
    Failed,
    /// It was stopped.
    Killed,
    /// Its process ended before it did. Nobody writes this down; it is seen by whoever looks.
    Died,
}

impl State {
    /// The state in one word.
    pub fn word(self) -> &'static str {
        match self {
            State::Running => "running",
            State::Completed => "completed",
            State::Failed => "failed",
            State::Killed => "killed",
            State::Died => "died",
        }
    }
}

/// One turn of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// The beginning of what it said, on one line.
    pub text: String,
    /// How many tools it called.
    pub tools: u64,
}

/// Everything a person can know about a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Card {
    /// Its name.
    pub id: String,
    /// What kind of work: the query source of its calls.
    pub kind: String,
    /// The same in a person's words.
    pub what: String,
    /// The session it works for.
    pub session: String,
    /// The process it runs in.
    pub process: u32,
    /// How it stands.
    pub state: State,
    /// How far it is.
    pub phase: String,
    /// Why it failed.
    #[serde(default)]
    pub because: Option<String>,
    /// When it began.
    pub started: Timestamp,
    /// When it ended.
    #[serde(default)]
    pub ended: Option<Timestamp>,
    /// Model calls that were answered.
    #[serde(default)]
    pub calls: u64,
    /// What they took.
    #[serde(default)]
    pub usage: Usage,
    /// What that cost, where every price is known.
    #[serde(default)]
    pub money: Option<f64>,
    /// Its last turns.
    #[serde(default)]
    pub turns: VecDeque<Turn>,
    /// Files it changed.
    #[serde(default)]
    pub files: Vec<PathBuf>,
    /// Tool calls that were refused.
    #[serde(default)]
    pub denials: u64,
}

impl Card {
    /// Tokens it took, read and written.
    pub fn tokens(&self) -> u64 {
        self.usage.total_input().saturating_add(self.usage.output)
    }

    /// How long it has been at work, or was.
    pub fn elapsed(&self, now: Timestamp) -> std::time::Duration {
        let end = self.ended.unwrap_or(now);
        end.duration_since(self.started).try_into().unwrap_or_default()
    }
}

/// What became of the wish to stop a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stopping {
    /// It was told; it stops with the next piece of its reply, or before its next turn.
    Asked(String),
    /// It does not run any more.
    NotRunning(String, State),
    /// Several begin like this.
    Several(Vec<String>),
    /// There is none.
    NoSuch,
}

/// The jobs of a project. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Jobs(Arc<Registry>);

#[derive(Debug, Default)]
struct Registry {
    folder: Option<PathBuf>,
    /// Those of this process, the newest last.
    here: Mutex<Vec<Arc<Running>>>,
}

#[derive(Debug)]
struct Running {
    card: Mutex<Card>,
    cancel: CancellationToken,
    /// The locked file beside the card.
    hold: Option<File>,
}

/// A job, in the hands of whoever does it. One that is let go without an end counts as stopped.
pub struct Job {
    folder: Option<PathBuf>,
    running: Arc<Running>,
    prices: Option<Prices>,
    clock: Arc<dyn Clock>,
    limits: Arc<Limits>,
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Job").field(&self.card().id).finish()
    }
}

const STARTING: &str = "starting";
const UPDATING: &str = "updating";

impl Jobs {
    /// With cards in this folder; without one, they can be seen in this process alone.
    pub fn at(folder: Option<PathBuf>) -> Self {
        Self(Arc::new(Registry { folder, here: Mutex::default() }))
    }

    /// Run an errand as a job: the same as [`fork::run`], where it can be watched and stopped.
    pub async fn run(&self, origins: Origins, errand: &Errand, desk: &Desk, cancel: &CancellationToken) -> Outcome {
        let job = self.begin(&errand.name, origins.session.as_str(), desk, cancel);
        let outcome = fork::run_as(&job, origins, errand, desk).await;
        job.end(&outcome.progress());
        outcome
    }

    /// Begin a job of this kind for a session. Cancelling the token stops it; stopping it does not cancel the token.
    pub fn begin(&self, kind: &str, session: &str, desk: &Desk, cancel: &CancellationToken) -> Job {
        let (started, limits) = (desk.clock.now(), desk.limits.clone());
        self.prune(&limits);
        let (id, hold) = self.name(kind, session, started);
        let what = match Layer::of_source(kind) {
            Layer::Other => kind.to_owned(),
            layer => layer.word().to_owned(),
        };
        let card = Card {
            id,
            kind: kind.to_owned(),
            what,
            session: session.to_owned(),
            process: std::process::id(),
            state: State::Running,
            phase: STARTING.to_owned(),
            because: None,
            started,
            ended: None,
            calls: 0,
            usage: Usage::default(),
            money: None,
            turns: VecDeque::new(),
            files: Vec::new(),
            denials: 0,
        };
        let running = Arc::new(Running { card: Mutex::new(card), cancel: cancel.child_token(), hold });
        self.here().push(running.clone());
        let (folder, prices, clock) = (self.0.folder.clone(), desk.model.prices(), desk.clock.clone());
        let job = Job { folder, running, prices, clock, limits };
        job.change(|_| {});
        job
    }

    /// A short name that no other job has, and the file that says that it lives.
    fn name(&self, kind: &str, session: &str, started: Timestamp) -> (String, Option<File>) {
        const LETTERS: usize = 6;
        let mut tries = 0_u64;
        loop {
            tries += 1;
            let seed = format!("{kind} {session} {started} {} {tries}", std::process::id());
            let mut id = Digest::of(seed.as_bytes()).as_str().to_owned();
            id.truncate(LETTERS);
            if self.here().iter().any(|running| running.card().id == id) {
                continue;
            }
            let Some(folder) = &self.0.folder else { return (id, None) };
            match hold(&run_file(folder, &id)) {
                Ok(file) => return (id, Some(file)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                // Where no file can be made, it can be stopped from here alone.
                Err(_) => return (id, None),
            }
        }
    }

    /// All jobs of the project, the newest first: those of this process as they are, the others as they last wrote.
    pub fn list(&self, limits: &Limits) -> Vec<Card> {
        let mut cards: Vec<Card> = self.here().iter().map(|running| running.card().clone()).collect();
        let elsewhere = self.0.folder.iter().flat_map(|folder| read_all(folder, limits));
        let elsewhere: Vec<Card> = elsewhere.filter(|card| !cards.iter().any(|known| known.id == card.id)).collect();
        cards.extend(elsewhere);
        cards.sort_by(|a, b| (b.started, &b.id).cmp(&(a.started, &a.id)));
        cards
    }

    /// Those of this process that run.
    pub fn running(&self) -> Vec<Card> {
        let cards = self.here().iter().map(|running| running.card().clone()).collect::<Vec<_>>();
        cards.into_iter().filter(|card| card.state == State::Running).collect()
    }

    /// Ask a job to stop, by its name or the beginning of it, whatever process it runs in.
    pub fn stop(&self, wanted: &str, limits: &Limits) -> io::Result<Stopping> {
        let mut near = self.list(limits);
        near.retain(|card| !wanted.is_empty() && card.id.starts_with(wanted));
        let card = match near.as_slice() {
            [] => return Ok(Stopping::NoSuch),
            [one] => one,
            several => return Ok(Stopping::Several(several.iter().map(|card| card.id.clone()).collect())),
        };
        if card.state != State::Running {
            return Ok(Stopping::NotRunning(card.id.clone(), card.state));
        }
        let here = self.here().iter().find(|running| running.card().id == card.id).cloned();
        match (here, &self.0.folder) {
            (Some(running), _) => running.cancel.cancel(),
            (None, Some(folder)) => {
                OpenOptions::new().append(true).open(run_file(folder, &card.id))?.write_all(b"stop\n")?;
            }
            (None, None) => return Ok(Stopping::NoSuch),
        }
        Ok(Stopping::Asked(card.id.clone()))
    }

    /// Forget old jobs that do not run.
    fn prune(&self, limits: &Limits) {
        let most = usize::try_from(limits.jobs_kept).unwrap_or(usize::MAX);
        let ended = |cards: Vec<Card>| cards.into_iter().filter(|card| card.state != State::Running).skip(most);
        let old: Vec<String> = ended(self.list(limits)).map(|card| card.id).collect();
        self.here().retain(|running| !old.contains(&running.card().id));
        for (id, folder) in old.iter().zip(self.0.folder.iter().cycle()) {
            for file in [card_file(folder, id), run_file(folder, id)] {
                // Another process may have been quicker.
                std::fs::remove_file(file).unwrap_or_default();
            }
        }
    }

    fn here(&self) -> MutexGuard<'_, Vec<Arc<Running>>> {
        self.0.here.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Running {
    fn card(&self) -> MutexGuard<'_, Card> {
        self.card.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Job {
    /// The card as it is now.
    pub fn card(&self) -> Card {
        self.running.card().clone()
    }

    /// Cancelled when the job is to stop.
    pub fn cancel(&self) -> &CancellationToken {
        &self.running.cancel
    }

    /// It is at something else now.
    pub fn enter(&self, phase: &str) {
        self.change(|card| phase.clone_into(&mut card.phase));
    }

    /// A model call was answered, with so many tools called.
    pub fn turned(&self, said: &str, tools: u64, usage: Usage) {
        let most = usize::try_from(self.limits.job_turns).unwrap_or(usize::MAX);
        self.change(|card| {
            card.calls += 1;
            card.usage += usage;
            card.money = self.prices.and_then(|prices| prices.cost(&card.usage));
            card.turns.push_back(Turn { text: headline(said), tools });
            while card.turns.len() > most {
                card.turns.pop_front();
            }
        });
    }

    /// Files were changed: from the first one on it is updating.
    pub fn wrote(&self, files: &[PathBuf]) {
        if files.is_empty() {
            return;
        }
        self.change(|card| {
            if card.phase == STARTING {
                UPDATING.clone_into(&mut card.phase);
            }
            for file in files {
                if !card.files.contains(file) {
                    card.files.push(file.clone());
                }
            }
        });
    }

    /// Tool calls were refused.
    pub fn denied(&self, calls: u64) {
        if calls > 0 {
            self.change(|card| card.denials += calls);
        }
    }

    /// These are the files that are changed in the end, whatever it wrote on the way.
    pub fn leaves(&self, files: Vec<PathBuf>) {
        self.change(|card| card.files = files);
    }

    /// It has ended like this.
    pub fn end(self, progress: &Progress) {
        self.close(progress);
    }

    fn close(&self, progress: &Progress) {
        let ended = self.clock.now();
        self.change(|card| {
            card.ended = Some(ended);
            (card.state, card.because) = match progress {
                Progress::Made => (State::Completed, None),
                Progress::Stopped => (State::Killed, None),
                Progress::None { because, .. } => (State::Failed, Some(headline(because))),
            };
        });
        if let Some(folder) = &self.folder {
            std::fs::remove_file(run_file(folder, &self.running.card().id)).unwrap_or_default();
        }
    }

    /// The card is a view for people: where the disk refuses it, the work goes on.
    fn change(&self, change: impl FnOnce(&mut Card)) {
        let mut card = self.running.card();
        change(&mut card);
        if let Some(folder) = &self.folder {
            let bytes = serde_json::to_vec(&*card).unwrap_or_default();
            paths::write_private(&card_file(folder, &card.id), &bytes).unwrap_or_default();
        }
    }
}

impl Watcher for Job {
    /// Somebody elsewhere may have asked it to stop.
    fn glance(&self) {
        let hold = self.running.hold.as_ref();
        if hold.and_then(|file| file.metadata().ok()).is_some_and(|meta| meta.len() > 0) {
            self.running.cancel.cancel();
        }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        let ended = self.running.card().ended.is_some();
        if !ended {
            self.close(&Progress::Stopped);
        }
    }
}

fn card_file(folder: &Path, id: &str) -> PathBuf {
    folder.join(format!("{id}.json"))
}

fn run_file(folder: &Path, id: &str) -> PathBuf {
    folder.join(format!("{id}.run"))
}

fn hold(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        paths::create_dir_private(folder)?;
    }
    let file = OpenOptions::new().read(true).append(true).create_new(true).mode(0o600).open(path)?;
    file.lock()?;
    Ok(file)
}

/// Whether the process that made this file still lives.
pub(super) fn is_held(path: &Path) -> bool {
    let file = File::open(path);
    file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

fn read_all(folder: &Path, limits: &Limits) -> Vec<Card> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    entries.flatten().filter_map(|entry| read(&entry.path(), limits)).collect()
}

/// A card from a file; what is no card, or calls itself otherwise than its file, is passed over.
fn read(path: &Path, limits: &Limits) -> Option<Card> {
    let id = path.file_stem()?.to_str()?;
    if path.extension()? != "json" {
        return None;
    }
    let mut text = String::new();
    File::open(path).ok()?.take(limits.background_file_bytes).read_to_string(&mut text).ok()?;
    let mut card: Card = serde_json::from_str(&text).ok().filter(|card: &Card| card.id == id)?;
    if card.state == State::Running && !is_held(&path.with_extension("run")) {
        card.state = State::Died;
    }
    Some(card)
}

/// The beginning of a text on one line.
fn headline(text: &str) -> String {
    const LONGEST: usize = 160;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
