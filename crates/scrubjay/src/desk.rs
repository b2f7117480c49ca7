//! The desk: what does not change during a session. It holds things and decides nothing.

use crate::clock::Clock;
use crate::event::Events;
use crate::gate::Gate;
use crate::hooks::Hooks;
use crate::limits::Limits;
use crate::model::{Model, Pending};
use crate::prompts;
use crate::settings::{Settings, Sources};
use crate::tokens::Count;
use crate::tool::{Effect, Tool};
use jiff::tz::TimeZone;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;

/// What a session works with.
#[derive(Clone)]
pub struct Desk {
    /// Who answers.
    pub model: Arc<dyn Model>,
    /// What the model can do.
    pub tools: Arc<[Arc<dyn Tool>]>,
    /// What it may do.
    pub gate: Gate,
    /// Who is asked when the gate is unsure.
    pub person: Person,
    /// The person's own commands at named moments.
    pub hooks: Arc<Hooks>,
    /// Who watches.
    pub events: Events,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Where the person is, for dates.
    pub zone: TimeZone,
    /// Every switch, as it was when the session began.
    pub settings: Arc<Settings>,
    /// Every number.
    pub limits: Arc<Limits>,
    /// The person's own words in place of ours.
    pub own_words: Arc<OwnWords>,
    /// Where all sessions write down what their background work took, so that one daily budget holds for them together;
    /// without it, this session counts alone.
    pub day_book: Option<PathBuf>,
    /// The working directory.
    pub dir: PathBuf,
}

impl Desk {
    /// A desk with little on it: no tools, reading below the directory allowed and nothing else, nobody to ask, and
    /// every setting as it is when nobody says anything. Put on it what you have.
    pub fn new(model: Arc<dyn Model>, dir: impl Into<PathBuf>, clock: Arc<dyn Clock>) -> Self {
        let (dir, settings) = (dir.into(), Settings::resolve(&Sources::default()));
        Self {
            model,
            tools: Arc::from([]),
            gate: Gate::scoped(vec![dir.clone()], None),
            person: Person::absent("nobody is here to be asked"),
            hooks: Arc::default(),
            events: Events::default(),
            clock,
            zone: TimeZone::UTC,
            limits: Arc::new(settings.limits().clone()),
            settings: Arc::new(settings),
            own_words: Arc::default(),
            day_book: None,
            dir,
        }
    }

    /// What the model is told of today's date.
    pub fn todays_date(&self) -> String {
        let today = self.clock.now().to_zoned(self.zone.clone()).date();
        prompts::date(&format!("{today} ({:?})", today.weekday()))
    }

    /// The same desk with limits in estimates where they are said in the provider's tokens.
    pub fn measuring(&self, count: &Count) -> Self {
        Self { limits: Arc::new(count.in_estimates(&self.limits)), ..self.clone() }
    }
}

/// Texts that a person has put in place of ours.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnWords {
    /// The template of session notes.
    pub notes_template: Option<String>,
    /// The instructions for updating them.
    pub notes_prompt: Option<String>,
}

/// What a person is asked before a tool call.
#[derive(Debug, Clone)]
pub struct Request {
    /// Which tool.
    pub tool: String,
    /// With what.
    pub input: Value,
    /// What it would do.
    pub effect: Effect,
    /// Which agent asks; none where the conversation itself does.
    pub by: Option<String>,
}

/// What the person says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Consent {
    /// Go ahead.
    Granted,
    /// No, and what to tell the model.
    Declined(String),
}

/// Whoever answers when the gate is unsure.
#[derive(Clone)]
pub struct Person(Arc<dyn Fn(Request) -> Pending<'static, Consent> + Send + Sync>);

impl Person {
    /// Ask this way.
    pub fn new(ask: impl Fn(Request) -> Pending<'static, Consent> + Send + Sync + 'static) -> Self {
        Self(Arc::new(ask))
    }

    /// Nobody is there: every question is declined with these words.
    pub fn absent(reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self::new(move |_| {
            let reason = reason.clone();
            Box::pin(async move { Consent::Declined(reason) })
        })
    }

    /// May this happen?
    pub fn ask(&self, request: Request) -> Pending<'static, Consent> {
        (self.0)(request)
    }
}
