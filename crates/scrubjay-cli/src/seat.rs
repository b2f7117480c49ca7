//! A seat at the desk: everything a session needs, put together once, for chat and print mode alike.

use crate::arguments::{Arguments, Command, SessionFlags};
use crate::failure::Failure;
use crate::instructed::{self, Includes};
use crate::paper::Paper;
use crate::permit::Permit;
use crate::remembered;
use crate::sandbox;
use crate::service::Service;
use crate::shelf::{Place, Shelf, damage_in_words};
use crate::staffed;
use crate::web_fetch::{Reach, WebFetch};
use crate::workplace::Workplace;
use clap::ValueEnum as _;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use scrubjay::agents::{AgentTool, SendMessageTool, Staff};
use scrubjay::clock::Clock;
use scrubjay::context::microcompaction::server_clearing;
use scrubjay::desk::{Desk, OwnWords, Person, Request};
use scrubjay::event::Events;
use scrubjay::hooks::Hooks;
use scrubjay::memory::extraction::Attendance;
use scrubjay::memory::prompt::Told;
use scrubjay::message::SessionId;
use scrubjay::prompts;
use scrubjay::settings::key;
use scrubjay::tool::{Effect, Tool};
use scrubjay::tools::{self, Keeper};
use scrubjay::transcript::{Began, FORMAT, Opening, Options, Thinking, Transcript, Ttl};
use scrubjay::{Learns, Remembering, Session};
use std::path::PathBuf;
use std::sync::Arc;

/// The wall clock.
pub(crate) struct WallClock;

impl Clock for WallClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// Which conversation, and whether in a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Beginning {
    /// A new one.
    New,
    /// Go on with this one.
    GoOn(Place),
    /// Go on in a copy of this one.
    Copy(Place),
}

impl Beginning {
    /// The word that hooks are told.
    pub(crate) fn source(&self) -> &'static str {
        match self {
            Beginning::New => "startup",
            Beginning::GoOn(_) => "resume",
            Beginning::Copy(_) => "fork",
        }
    }
}

/// What sessions of this run have in common.
#[derive(Clone)]
pub(crate) struct Seat {
    pub(crate) workplace: Workplace,
    pub(crate) service: Service,
    pub(crate) permit: Permit,
    /// Why commands that only read have no sandbox to run in, if so.
    no_sandbox: Option<Arc<str>>,
    /// What becomes of files outside of the project that its instruction files name.
    pub(crate) includes: Includes,
    /// Long-term memory, unless it is off.
    memory: Option<Remembering>,
    /// Whether a person sees what is remembered.
    attendance: Attendance,
    /// Agents, unless they are off.
    staff: Option<Arc<Staff>>,
    tools: Arc<[Arc<dyn Tool>]>,
    hooks: Arc<Hooks>,
    /// What was typed and holds for teammates too.
    pub(crate) flags: Vec<String>,
    /// The model that was asked for by name.
    pub(crate) named: Option<String>,
}

impl Seat {
    /// Connect the model, lay out the tools.
    pub(crate) async fn take(arguments: &Arguments, workplace: Workplace, paper: &Paper) -> Result<Self, Failure> {
        let (hooks, warnings) = Hooks::configured(&workplace.settings);
        warnings.iter().for_each(|warning| paper.warn(warning));
        let skills = skill_folders(&workplace);
        let service = Service::connect(&workplace, None).await?;
        let memory = remembered::open(&workplace, &service, paper).await?;
        let shared = memory.as_ref().map(|memory| memory.memory.clone());
        let permit = Permit::new(&arguments.permission, &workplace, &skills)?;
        let permit = permit.remembering(shared.as_ref().map(|memory| memory.dir().to_owned()));
        let sandbox = sandbox::find(&arguments.permission, &workplace, &permit.readable())?;
        let permit = permit.sandboxed(&sandbox);
        let sandbox = sandbox.map(|confined| confined.hiding(permit.denied()));
        let private = workplace.settings.flag(&key::WEB_PRIVATE_ADDRESSES);
        let keeper = shared.map(|memory| Arc::new(memory) as Arc<dyn Keeper>);
        let withheld = workplace.withheld();
        let hooks = hooks.withholding(withheld.clone());
        let confined = sandbox.as_ref().ok();
        let mut tools = tools::with_shell(tools::kept_by(keeper, &skills, &workplace.limits), confined, &withheld);
        tools.push(Arc::new(WebFetch::new(if private { Reach::Everywhere } else { Reach::Public })));
        tools.extend(scrubjay::context::tools(&workplace.settings));
        let staff = staffed::staff(&workplace, (memory.as_ref(), Some(&service)), paper).await;
        if let Some(staff) = &staff {
            tools.push(Arc::new(AgentTool::new(&staff.kinds)));
            tools.push(Arc::new(SendMessageTool::default()));
        }
        let includes = if arguments.permission.approve_includes { Includes::Approved } else { Includes::Asked };
        let alone = arguments.print.is_some() || matches!(arguments.command, Some(Command::Teammate(_)));
        let attendance = if alone { Attendance::Nobody } else { Attendance::Person };
        let (tools, hooks) = (tools.into(), Arc::new(hooks));
        let (flags, named) = (passed_on(arguments), arguments.model.model.clone());
        let no_sandbox = sandbox.err().map(Arc::from);
        Ok(Self {
            workplace,
            service,
            permit,
            no_sandbox,
            includes,
            memory,
            attendance,
            staff,
            tools,
            hooks,
            flags,
            named,
        })
    }

    /// What to add where a question about this is declined because nobody can be asked.
    pub(crate) fn why_asked(&self, request: &Request) -> String {
        match (&request.effect, &self.no_sandbox) {
            (Effect::Runs { reads_only: true, .. }, Some(why)) => {
                format!("; commands that only read run without asking in a sandbox, and there is none: {why}")
            }
            _ => String::new(),
        }
    }

    /// The same seat with another model, and what that model's provider has for small work beside it.
    pub(crate) async fn with_model(&self, name: &str, paper: &Paper) -> Result<Self, Failure> {
        let service = Service::connect(&self.workplace, Some(name)).await?;
        let mut seat = Self { service, named: Some(name.to_owned()), ..self.clone() };
        if let Some(memory) = &mut seat.memory {
            memory.chooser = remembered::chooser(&self.workplace, &seat.service, paper).await;
        }
        if let Some(staff) = &mut seat.staff {
            Arc::make_mut(staff).small = staffed::small(&self.workplace, Some(&seat.service), paper).await;
        }
        Ok(seat)
    }

    /// A session with this seat's models for what is done beside the conversation: learning, choosing among memories, saying what
    /// agents do.
    pub(crate) fn with_small_work(&self, session: Session, paper: &Paper) -> Session {
        let session = session.summarising_with(self.staff.as_ref().and_then(|staff| staff.small.clone()));
        let Some(memory) = &self.memory else { return session };
        let session = session.remembering(memory.clone());
        match self.learns() {
            Ok(learns) => session.learning(learns),
            Err(failure) => {
                paper.warn(&format!("the learner stays what it was: {failure}"));
                session
            }
        }
    }

    /// Which conversation the flags ask for.
    pub(crate) fn beginning(&self, flags: &SessionFlags) -> Result<Beginning, Failure> {
        let shelf = Shelf::of(&self.workplace);
        let place = match (&flags.resume, flags.newest) {
            (Some(id), _) => shelf.find(id)?,
            (None, true) => shelf.newest()?,
            (None, false) if flags.fork_session => {
                return Err(
                    Failure::usage("--fork-session needs a session to copy").fix("add --continue or --resume ID")
                );
            }
            (None, false) => return Ok(Beginning::New),
        };
        Ok(if flags.fork_session { Beginning::Copy(place) } else { Beginning::GoOn(place) })
    }

    /// Open the record of a conversation; notices say what a person should know about it.
    pub(crate) fn transcript(&self, beginning: Beginning) -> Result<(Transcript, Vec<String>), Failure> {
        let now = Timestamp::now();
        let shelf = Shelf::of(&self.workplace);
        let limits = self.workplace.limits.clone();
        match beginning {
            Beginning::New => {
                let place = shelf.new_place();
                let began = self.began(&place, None);
                Ok((Transcript::create(&place.path, began, now, limits)?, Vec::new()))
            }
            Beginning::GoOn(place) => {
                let id = SessionId::new(place.id.as_str());
                let (transcript, damage) = Transcript::resume(&place.path, id, now, limits)?;
                Ok((transcript, notices(&damage)))
            }
            Beginning::Copy(place) => {
                let (original, damage) = shelf.peek(&place)?;
                let copy = shelf.new_place();
                let transcript = original.fork(&copy.path, self.began(&copy, Some(place.id)), now)?;
                Ok((transcript, notices(&damage)))
            }
        }
    }

    /// Sit down.
    pub(crate) fn session(&self, transcript: Transcript, person: Person, events: Events) -> Result<Session, Failure> {
        let opening = self.opening(&transcript);
        tracing::info!(session = %transcript.session(), model = opening.model, "a session is open");
        let (seat, name) = (self.clone(), transcript.session().clone());
        let rules = instructed::load(&self.workplace).rules;
        let session = Session::new(transcript, self.desk(person, events), opening)?;
        let session = session.instructed(rules, move |opening| {
            let indexes = seat.told().map(|told| told.indexes).unwrap_or_default();
            instructed::again(&seat.workplace, (&name, &indexes), opening)
        });
        let session = match &self.staff {
            Some(staff) => session.staffed(staff.clone()),
            None => session,
        };
        let Some(memory) = &self.memory else { return Ok(session) };
        Ok(session.remembering(memory.clone()).learning(self.learns()?))
    }

    /// How sessions learn, and with which model.
    pub(crate) fn learns(&self) -> Result<Learns, Failure> {
        let (transcripts, attendance) = (self.workplace.project().dir().to_owned(), self.attendance);
        Ok(Learns { transcripts, attendance, model: self.service.learner(&self.workplace)? })
    }

    /// What the model is told about its memory, as it is now.
    fn told(&self) -> Option<Told> {
        let memory = &self.memory.as_ref()?.memory;
        memory.told(self.workplace.project().dir(), &self.workplace.settings)
    }

    /// What the session works with.
    pub(crate) fn desk(&self, person: Person, events: Events) -> Desk {
        Desk {
            model: self.service.model.clone(),
            tools: self.tools.clone(),
            gate: self.permit.gate(),
            person,
            hooks: self.hooks.clone(),
            events,
            clock: Arc::new(WallClock),
            zone: TimeZone::system(),
            settings: Arc::new(self.workplace.settings.clone()),
            limits: self.workplace.limits.clone(),
            own_words: Arc::new(self.own_words()),
            day_book: Some(self.workplace.places.background()),
            dir: self.workplace.dir.clone(),
        }
    }

    /// A person's own template and instructions for session notes, where they have written some.
    fn own_words(&self) -> OwnWords {
        let folder = self.workplace.places.data.join("session-memory/config");
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).ok().filter(|text| !text.trim().is_empty());
        OwnWords { notes_template: read("template.md"), notes_prompt: read("prompt.md") }
    }

    /// What every request begins with. A session that goes on keeps its words: the branch may have changed since, but
    /// the cached prefix must not. Another model breaks it anyway, and may not take what the last one was asked for.
    pub(crate) fn opening(&self, transcript: &Transcript) -> Opening {
        let recorded = transcript.view().opening.as_deref();
        let nonce = recorded.map_or_else(instructed::nonce, |opening| opening.nonce.clone());
        let told = if recorded.is_none() { self.told() } else { None };
        let system = recorded.map(|opening| opening.system.clone()).unwrap_or_else(|| {
            let behaviour = told.as_ref().map(|told| told.behaviour.clone());
            let parts: Vec<String> =
                [prompts::system(&self.workplace.surroundings())].into_iter().chain(behaviour).collect();
            parts.join("\n\n").into()
        });
        let indexes = told.map(|told| told.indexes).unwrap_or_default();
        Opening {
            model: self.service.model.name().to_owned(),
            tools: self.tools.iter().map(|tool| tool.spec().clone()).collect(),
            system,
            instructions: recorded.map_or_else(
                || instructed::messages(&self.workplace, (transcript.session(), &indexes), &nonce),
                |opening| opening.instructions.clone(),
            ),
            options: recorded
                .filter(|opening| opening.model == self.service.model.name())
                .map_or_else(|| self.options(), |opening| opening.options.clone()),
            nonce,
        }
    }

    fn options(&self) -> Options {
        let settings = &self.workplace.settings;
        let thinking = match settings.text(&key::THINKING) {
            "on" => Thinking::Adaptive,
            "off" => Thinking::Off,
            _ => Thinking::Default,
        };
        // Left open, the loop chooses by price once there is something to go by.
        let cache_ttl = if settings.text(&key::CACHE_TTL) == "1h" { Ttl::OneHour } else { Ttl::FiveMinutes };
        let context_management =
            server_clearing(self.service.model.as_ref(), &self.tools, settings, &self.workplace.limits);
        Options { thinking, cache_ttl: cache_ttl.into(), context_management, ..Options::default() }
    }

    fn began(&self, place: &Place, forked_from: Option<String>) -> Began {
        Began {
            format: FORMAT,
            session: place.id.clone(),
            dir: self.workplace.dir.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            forked_from,
        }
    }
}

/// Flags that a process started by this one needs, so that it has the same settings and is allowed no more.
fn passed_on(arguments: &Arguments) -> Vec<String> {
    let (general, model) = (&arguments.general, &arguments.model);
    let config = general.config.as_ref().map(|path| ("--config", path.display().to_string()));
    let set = general.set.iter().map(|set| ("--set", set.clone()));
    let allow = arguments.permission.allow.iter().map(|rule| ("--allow", rule.clone()));
    let service = [("--provider", &model.provider), ("--base-url", &model.base_url)];
    let service = service.into_iter().filter_map(|(flag, value)| Some((flag, value.clone()?)));
    let sandbox = arguments.permission.sandbox.and_then(|mode| mode.to_possible_value());
    let sandbox = sandbox.map(|mode| ("--sandbox", mode.get_name().to_owned()));
    let bare = arguments.permission.bare.then(|| "--bare".to_owned());
    let pairs = config.into_iter().chain(set).chain(allow).chain(sandbox).chain(service);
    pairs.flat_map(|(flag, value)| [flag.to_owned(), value]).chain(bare).collect()
}

fn notices(damage: &[scrubjay::transcript::Damage]) -> Vec<String> {
    if damage.is_empty() { Vec::new() } else { vec![damage_in_words(damage)] }
}

/// Where skills are looked for: the project's own come first. A link that leads out of the project is not followed,
/// because what is found here may be read without asking.
fn skill_folders(workplace: &Workplace) -> Vec<PathBuf> {
    let project = [".scrubjay/skills", ".claude/skills"].map(|name| workplace.root.join(name));
    let project =
        project.iter().filter_map(|dir| dir.canonicalize().ok()).filter(|dir| dir.starts_with(&workplace.root));
    let own = workplace.places.config.join("skills").canonicalize().ok();
    project.chain(own).collect()
}
