//! A session to tell a story with: a temporary home, a fixed clock, a recorded model, and the invariants checked after
//! every question, whatever the story is about.

use crate::{FixedClock, Home, Recorder, Storyboard};
use jiff::tz::TimeZone;
use scrubjay::agents::{AgentTool, Staff};
use scrubjay::desk::{Consent, Desk, OwnWords, Person};
use scrubjay::event::{Event, Events};
use scrubjay::gate::Gate;
use scrubjay::hooks::Hooks;
use scrubjay::limits::Limits;
use scrubjay::message::{Block, Message, SessionId};
use scrubjay::model::Model;
use scrubjay::settings::{Settings, Sources};
use scrubjay::tool::Tool;
use scrubjay::transcript::{Began, Damage, FORMAT, Opening, Options, Transcript, TranscriptError};
use scrubjay::{Answer, Error, Session};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// What a story starts from. Change what matters to it and leave the rest.
#[derive(Clone)]
pub struct Setting {
    /// Who answers.
    pub model: Arc<dyn Model>,
    /// What it can do.
    pub tools: Vec<Arc<dyn Tool>>,
    /// What it may do.
    pub gate: Gate,
    /// Who is asked.
    pub person: Person,
    /// What requests ask for besides words.
    pub options: Options,
    /// The person's own words.
    pub own_words: Arc<OwnWords>,
    /// Settings as on a command line: key and value.
    pub switches: Vec<(String, String)>,
    /// Every number.
    pub limits: Limits,
    /// What time it is.
    pub clock: FixedClock,
    /// The person's own commands at named moments.
    pub hooks: Arc<Hooks>,
    /// Agents that can be started.
    pub staff: Option<Arc<Staff>>,
    /// What a conversation begins with: instruction files, and the index of the memory.
    pub instructions: Vec<Arc<Message>>,
}

impl Setting {
    /// This model, no tools, everything allowed.
    pub fn new(model: Arc<dyn Model>) -> Self {
        Self {
            model,
            tools: Vec::new(),
            gate: Gate::open(),
            person: Person::new(|_| Box::pin(async { Consent::Granted })),
            options: Options::default(),
            own_words: Arc::default(),
            switches: Vec::new(),
            limits: Limits::default(),
            clock: FixedClock::default(),
            hooks: Arc::default(),
            staff: None,
            instructions: Vec::new(),
        }
    }

    /// With these tools.
    pub fn tools(mut self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        self.tools = tools.into_iter().collect();
        self
    }

    /// With agents, and the tool that starts them.
    pub fn staff(mut self, staff: Staff) -> Self {
        self.tools.push(Arc::new(AgentTool::new(&staff.kinds)));
        self.staff = Some(Arc::new(staff));
        self
    }

    /// With this setting, as on a command line.
    pub fn switch(mut self, key: &str, value: &str) -> Self {
        self.switches.push((key.to_owned(), value.to_owned()));
        self
    }

    /// Begin the story.
    pub fn begin(self) -> Result<Story, Error> {
        let home = Home::new().map_err(|error| unreadable(PathBuf::from("the test's home"), error))?;
        self.begin_in(home)
    }

    /// Begin it in a home that already holds something.
    pub fn begin_in(self, home: Home) -> Result<Story, Error> {
        let path = home.data().join("story.jsonl");
        let began = Began {
            format: FORMAT,
            session: "story".to_owned(),
            dir: home.project(),
            version: "test".to_owned(),
            forked_from: None,
        };
        let now = scrubjay::clock::Clock::now(&self.clock);
        let transcript = Transcript::create(&path, began, now, Arc::new(self.limits.clone()))?;
        Story::with(self, home, transcript, Vec::new())
    }
}

impl Setting {
    /// Go on with a story whose file lies in this home already.
    pub fn resume_in(self, home: Home) -> Result<Story, Error> {
        let path = home.data().join("story.jsonl");
        let (limits, now) = (Arc::new(self.limits.clone()), scrubjay::clock::Clock::now(&self.clock));
        let (transcript, damage) = Transcript::resume(&path, SessionId::new("story"), now, limits)?;
        Story::with(self, home, transcript, damage)
    }
}

/// A running story.
pub struct Story {
    /// The session.
    pub session: Session,
    /// The setting it was started with.
    pub setting: Setting,
    /// Where it happens.
    pub home: Home,
    /// What was damaged when it was resumed.
    pub damage: Vec<Damage>,
    recorder: Recorder,
    events: Arc<Mutex<Vec<Event>>>,
}

impl Story {
    fn with(setting: Setting, home: Home, transcript: Transcript, damage: Vec<Damage>) -> Result<Self, Error> {
        let recorder = Recorder::of(setting.model.clone());
        let events: Arc<Mutex<Vec<Event>>> = Arc::default();
        let heard = events.clone();
        let desk = Desk {
            model: Arc::new(recorder.clone()),
            tools: setting.tools.clone().into(),
            gate: setting.gate.clone(),
            person: setting.person.clone(),
            hooks: setting.hooks.clone(),
            events: Events::to(move |event| heard.lock().unwrap_or_else(PoisonError::into_inner).push(event)),
            clock: Arc::new(setting.clock.clone()),
            zone: TimeZone::UTC,
            settings: Arc::new(Settings::resolve(&Sources {
                command_line: setting.switches.clone(),
                ..Sources::default()
            })),
            limits: Arc::new(setting.limits.clone()),
            own_words: setting.own_words.clone(),
            day_book: Some(home.data().join("background")),
            dir: home.project(),
        };
        let opening = Opening {
            model: setting.model.name().to_owned(),
            tools: setting.tools.iter().map(|tool| tool.spec().clone()).collect(),
            system: Arc::from("You are the agent of a story."),
            instructions: setting.instructions.clone(),
            options: setting.options.clone(),
            nonce: "0a1b2c3d".to_owned(),
        };
        let session = Session::new(transcript, desk, opening)?;
        let session = match &setting.staff {
            Some(staff) => session.staffed(staff.clone()),
            None => session,
        };
        Ok(Self { session, setting, home, damage, recorder, events })
    }

    /// Ask, then check both invariants.
    ///
    /// # Panics
    /// When an invariant does not hold: that is what stories are for.
    pub async fn ask(&mut self, question: &str) -> Result<Answer, Error> {
        let answer = self.session.ask(vec![Block::text(question)]).await;
        self.check();
        answer
    }

    /// Check both invariants.
    ///
    /// # Panics
    /// When one does not hold.
    pub fn check(&self) {
        let prompts = self.recorder.prompts();
        let checked = Storyboard::new(&prompts, self.session.transcript(), self.setting.limits.clone()).check();
        assert_eq!(checked, Ok(()), "an invariant does not hold");
    }

    /// What the model was sent, drawn.
    pub fn storyboard(&self) -> String {
        let prompts = self.recorder.prompts();
        let board = Storyboard::new(&prompts, self.session.transcript(), self.setting.limits.clone());
        board.draw().unwrap_or_else(|error| error)
    }

    /// Everything that was told to whoever watches.
    pub fn events(&self) -> Vec<Event> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// End the process here, as a kill would, and go on from the file.
    pub fn resume(self) -> Result<Self, Error> {
        let Self { session, setting, home, .. } = self;
        drop(session);
        setting.resume_in(home)
    }
}

fn unreadable(path: PathBuf, error: std::io::Error) -> Error {
    Error::Transcript(TranscriptError::Unreadable { path, error })
}
