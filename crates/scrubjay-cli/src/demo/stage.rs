//! Where the demo is played: a folder of its own with a project and a home, and a session put together as for a chat. Nothing
//! of the person's own is read or written.

use super::actor::{Actor, Summaries, facts};
use super::clock::Hands;
use super::project;
use crate::arguments::Arguments;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::instructed;
use crate::paper::Paper;
use crate::permit::Permit;
use crate::places::HOME_VARIABLE;
use crate::remembered;
use crate::staffed;
use crate::workplace::Workplace;
use clap::Parser as _;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use scrubjay::agents::{AgentTool, SendMessageTool, Staff};
use scrubjay::context::microcompaction::server_clearing;
use scrubjay::context::session_notes;
use scrubjay::desk::{Consent, Desk, Person};
use scrubjay::event::Events;
use scrubjay::memory::SharedMemory;
use scrubjay::memory::extraction::Attendance;
use scrubjay::message::SessionId;
use scrubjay::paths::create_dir_private;
use scrubjay::prompts;
use scrubjay::tool::Tool;
use scrubjay::tools::{self, Keeper};
use scrubjay::transcript::{Began, FORMAT, Opening, Options, Transcript};
use scrubjay::{Learns, Remembering, Session};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What the session is called, and the one in which it is dreamt.
pub(super) const SESSION: &str = "four-days";
const NIGHT: &str = "a-night";
/// What lies in the folder.
const HOME: &str = "home";
const PROJECT: &str = "project";

/// A folder that goes away with whoever holds it, but for its page, unless all of it is to be kept.
pub(super) struct Folder {
    path: PathBuf,
    keep: bool,
}

impl Folder {
    /// One of our own among the temporary ones.
    pub(super) fn temporary(environment: &Environment) -> Result<Self, Failure> {
        let base = environment.get("TMPDIR").filter(|dir| !dir.is_empty()).unwrap_or("/tmp");
        let path = Path::new(base).join(format!("scrubjay-demo-{}", crate::identifier::fresh().simple()));
        Ok(Self { path: made(&path)?, keep: false })
    }

    /// The one the person named. What lies in it is not touched: it must be empty.
    pub(super) fn kept(path: &Path) -> Result<Self, Failure> {
        if path.read_dir().is_ok_and(|mut entries| entries.next().is_some()) {
            return Err(Failure::usage(format!("{} is not empty", path.display()))
                .fix("name a folder that does not exist yet; the demo does not write over anything"));
        }
        Ok(Self { path: made(path)?, keep: true })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Where the page about the session lies.
    pub(super) fn page(&self) -> PathBuf {
        self.path.join("report.html")
    }

    pub(super) fn is_kept(&self) -> bool {
        self.keep
    }
}

/// Make a folder for its owner alone, and say where it really is.
fn made(path: &Path) -> Result<PathBuf, Failure> {
    create_dir_private(path).and_then(|()| path.canonicalize()).map_err(|error| {
        Failure::failed(format!("the demo cannot write to {}: {error}", path.display()))
            .fix("name a folder that you may write to with --keep DIR")
    })
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.keep {
            // Whatever cannot be removed is the system's to sweep.
            for name in [HOME, PROJECT] {
                std::fs::remove_dir_all(self.path.join(name)).unwrap_or_default();
            }
            std::fs::remove_dir(&self.path).unwrap_or_default();
        }
    }
}

/// Everything that is needed to play.
pub(super) struct Stage {
    pub(super) session: Session,
    pub(super) actor: Arc<Actor>,
    pub(super) clock: Arc<Hands>,
    pub(super) memory: Option<SharedMemory>,
    pub(super) workplace: Workplace,
}

impl Stage {
    /// A session for a dream over what was remembered; `None` where nothing is.
    pub(super) fn at_night(&self) -> Result<Option<Session>, Failure> {
        let Some(memory) = self.memory.clone() else { return Ok(None) };
        let remembering = Remembering { memory, chooser: None, root: self.workplace.root.clone() };
        let desk = self.session.desk().clone();
        let opening = opening(&self.workplace, &desk, Some(&remembering));
        let transcript = transcript(&self.workplace, NIGHT, &desk)?;
        Ok(Some(Session::new(transcript, desk, opening)?.remembering(remembering)))
    }
}

/// What is to be played, and where.
pub(super) struct Setting<'a> {
    pub(super) folder: &'a Path,
    /// Settings as on a command line.
    pub(super) switches: &'a [String],
    pub(super) summaries: Summaries,
    pub(super) begins: Timestamp,
}

impl Stage {
    /// Write the project and sit down.
    pub(super) async fn set(setting: &Setting<'_>, paper: &Paper) -> Result<Self, Failure> {
        let (home, root) = (setting.folder.join(HOME), setting.folder.join(PROJECT));
        project::write(&root)
            .map_err(|error| Failure::failed(format!("the demo cannot write its project: {error}")))?;
        let arguments = arguments(&root, setting.switches)?;
        let environment = Environment::of(&[(HOME_VARIABLE, &home.display().to_string())]);
        let mut workplace = Workplace::find(&arguments, environment)?;
        // Instructions and agents of the person are theirs.
        workplace.places.home = home;
        workplace.places.prepare()?;
        let clock = Arc::new(Hands::at(setting.begins));
        let memory = memory(&workplace, clock.clone())?;
        let staff = staffed::staff(&workplace, (memory.as_ref(), None), paper).await;
        let actor = Arc::new(actor(&workplace, &clock)?.summarising(setting.summaries));
        let desk = desk(&workplace, &actor, &clock, &arguments, (memory.as_ref(), staff.as_ref()))?;
        let session = session(&workplace, desk, memory.clone(), staff)?;
        Ok(Self { session, actor, clock, memory: memory.map(|memory| memory.memory), workplace })
    }
}

fn arguments(root: &Path, switches: &[String]) -> Result<Arguments, Failure> {
    let fixed = ["scrubjay", "--permission-mode", "allow-all", "-C"].map(str::to_owned);
    let set = switches.iter().flat_map(|switch| ["--set".to_owned(), switch.clone()]);
    let words = fixed.into_iter().chain([root.display().to_string()]).chain(set);
    Arguments::try_parse_from(words).map_err(|error| Failure::failed(format!("the demo cannot be set up: {error}")))
}

fn memory(workplace: &Workplace, clock: Arc<Hands>) -> Result<Option<Remembering>, Failure> {
    if workplace.settings.memory_off_because().is_some() {
        return Ok(None);
    }
    let place = remembered::place(workplace)?;
    let (memory, _) = SharedMemory::open(&place, &workplace.project(), clock, &workplace.limits)?;
    Ok(Some(Remembering { memory, chooser: None, root: workplace.root.clone() }))
}

fn actor(workplace: &Workplace, clock: &Arc<Hands>) -> Result<Actor, Failure> {
    let notes = session_notes::place(&workplace.project().session(SESSION));
    Ok(Actor::new(facts()?, clock.clone(), workplace.limits.clone(), notes))
}

fn desk(
    workplace: &Workplace,
    actor: &Arc<Actor>,
    clock: &Arc<Hands>,
    arguments: &Arguments,
    (memory, staff): (Option<&Remembering>, Option<&Arc<Staff>>),
) -> Result<Desk, Failure> {
    let shared = memory.map(|memory| memory.memory.clone());
    let permit = Permit::new(&arguments.permission, workplace, &[])?;
    let permit = permit.remembering(shared.as_ref().map(|memory| memory.dir().to_owned()));
    let keeper = shared.map(|memory| Arc::new(memory) as Arc<dyn Keeper>);
    let tools = tools::kept_by(keeper, &[], &workplace.limits);
    let mut tools = tools::with_shell(tools, None, &workplace.withheld());
    if let Some(staff) = staff {
        tools.push(Arc::new(AgentTool::new(&staff.kinds)) as Arc<dyn Tool>);
        tools.push(Arc::new(SendMessageTool::default()));
    }
    Ok(Desk {
        model: actor.clone(),
        tools: tools.into(),
        gate: permit.gate(),
        person: Person::new(|_| Box::pin(async { Consent::Granted })),
        hooks: Arc::default(),
        events: Events::default(),
        clock: clock.clone(),
        zone: TimeZone::UTC,
        settings: Arc::new(workplace.settings.clone()),
        limits: workplace.limits.clone(),
        own_words: Arc::default(),
        day_book: Some(workplace.places.background()),
        dir: workplace.dir.clone(),
    })
}

fn session(
    workplace: &Workplace,
    desk: Desk,
    memory: Option<Remembering>,
    staff: Option<Arc<Staff>>,
) -> Result<Session, Failure> {
    let transcript = transcript(workplace, SESSION, &desk)?;
    let opening = opening(workplace, &desk, memory.as_ref());
    let (again, remembered) = (workplace.clone(), memory.clone());
    let rules = instructed::load(workplace).rules;
    let mut session = Session::new(transcript, desk, opening)?.instructed(rules, move |opening| {
        let told = told(&again, remembered.as_ref());
        instructed::again(&again, (&SessionId::new(SESSION), &told.1), opening)
    });
    if let Some(staff) = staff {
        session = session.staffed(staff);
    }
    let Some(memory) = memory else { return Ok(session) };
    let transcripts = workplace.project().dir().to_owned();
    Ok(session.remembering(memory).learning(Learns { transcripts, attendance: Attendance::Person, model: None }))
}

fn transcript(workplace: &Workplace, name: &str, desk: &Desk) -> Result<Transcript, Failure> {
    let began = Began {
        format: FORMAT,
        session: name.to_owned(),
        dir: workplace.dir.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        forked_from: None,
    };
    let path = workplace.project().transcript(name);
    Ok(Transcript::create(&path, began, desk.clock.now(), workplace.limits.clone())?)
}

type Told = (Option<String>, Vec<scrubjay::memory::prompt::Index>);

/// What the model is told about its memory, and the indexes of it.
fn told(workplace: &Workplace, memory: Option<&Remembering>) -> Told {
    let told = memory.and_then(|memory| memory.memory.told(workplace.project().dir(), &workplace.settings));
    told.map_or_else(|| (None, Vec::new()), |told| (Some(told.behaviour), told.indexes))
}

fn opening(workplace: &Workplace, desk: &Desk, memory: Option<&Remembering>) -> Opening {
    let nonce = instructed::nonce();
    let (behaviour, indexes) = told(workplace, memory);
    let parts: Vec<String> = [prompts::system(&workplace.surroundings())].into_iter().chain(behaviour).collect();
    let context_management = server_clearing(desk.model.as_ref(), &desk.tools, &workplace.settings, &workplace.limits);
    Opening {
        model: desk.model.name().to_owned(),
        tools: desk.tools.iter().map(|tool| tool.spec().clone()).collect(),
        system: parts.join("\n\n").into(),
        instructions: instructed::messages(workplace, (&SessionId::new(SESSION), &indexes), &nonce),
        nonce,
        options: Options { context_management, ..Options::default() },
    }
}
