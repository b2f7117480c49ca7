//! What agents need that only the program around the engine knows.

use super::definition::{Author, Definition, Definitions};
use super::letters::{Address, Letter, Trust};
use super::memory::Memories;
use crate::memory::prompt::Index;
use crate::message::{Message, SessionId};
use crate::model::{Model, Pending};
use crate::prompts::Surroundings;
use crate::tool::Task;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Connects a model by its name, or says why not.
pub type Models = Arc<dyn Fn(String) -> Pending<'static, Result<Arc<dyn Model>, String>> + Send + Sync>;

/// What a conversation begins with besides its system prompt: instruction files and these indexes, in tags that end with
/// the session's nonce.
pub type Context = Arc<dyn Fn(&SessionId, &[Index], &str) -> Vec<Arc<Message>> + Send + Sync>;

/// Carries a letter to a socket or over a bridge, or says why not.
pub type Courier = Arc<dyn Fn(Address, Letter) -> Pending<'static, Result<(), String>> + Send + Sync>;

/// Starts a teammate, an agent in a process of its own, and says what it is called, or why there is none.
pub type Recruit = Arc<dyn Fn(Task) -> Pending<'static, Result<String, String>> + Send + Sync>;

/// What it takes to write to agents outside of this process.
#[derive(Clone)]
pub struct Mail {
    /// What this process is called there.
    pub name: String,
    /// Where the mailboxes of the team lie.
    pub folder: PathBuf,
    /// Reaches what is no mailbox.
    pub courier: Courier,
    /// With whom secrets are shared.
    pub trust: Arc<Mutex<Trust>>,
    /// Starts teammates; `None` where there can be none.
    pub recruit: Option<Recruit>,
}

impl Mail {
    /// With whom secrets are shared, now.
    pub fn trusted(&self) -> Trust {
        self.trust.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// What it takes to have agents.
#[derive(Clone)]
pub struct Staff {
    /// Every kind of agent.
    pub kinds: Definitions,
    /// Where they work; the directory is each agent's own.
    pub surroundings: Surroundings,
    /// Connects the models that definitions name.
    pub models: Models,
    /// Names of models that the person has set up: a repository may choose among these alone.
    pub offered: Vec<String>,
    /// The cheapest model, for a few words about what an agent is doing.
    pub small: Option<Arc<dyn Model>>,
    /// What agents begin with.
    pub context: Context,
    /// Where they keep what they learned; `None` when memory is off.
    pub memories: Option<Memories>,
}

impl Staff {
    /// The kinds that come with the program, without memory, each thinking with the model of whoever starts it.
    pub fn new(kinds: Definitions) -> Self {
        Self {
            kinds,
            surroundings: Surroundings::default(),
            models: Arc::new(|name| {
                Box::pin(async move { Err(format!("there is no way to connect the model `{name}` here")) })
            }),
            offered: Vec::new(),
            small: None,
            context: Arc::new(|_, _, _| Vec::new()),
            memories: None,
        }
    }

    /// The model of a kind: its own where it names one that may be used, and why not otherwise.
    pub(crate) async fn model(&self, kind: &Definition) -> Result<Option<Arc<dyn Model>>, String> {
        let Some(name) = &kind.model else { return Ok(None) };
        if kind.author == Author::Project && !self.offered.contains(name) {
            return Err(format!("a repository may only choose among the models that you have set up, not `{name}`"));
        }
        (self.models)(name.clone()).await.map(Some)
    }
}
