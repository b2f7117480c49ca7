//! A model that somebody else's agent asks: what it takes is counted as it happens, and ends where the limit is.

use super::roster::{Agent, Roster};
use crate::limits::Limits;
use crate::message::StopReason;
use crate::model::{Ability, Delta, Model, ModelError, Pending, Reply};
use crate::prompt::Prompt;
use crate::prompt_cache::prices::Prices;
use crate::tokens::ContextWindow;
use crate::transcript::Call;
use std::sync::Arc;

/// An agent's model.
pub(crate) struct Watched {
    /// The model itself.
    pub(crate) model: Arc<dyn Model>,
    /// Whose calls these are.
    pub(crate) agent: Arc<Agent>,
    /// All agents of the session, who share what may be spent.
    pub(crate) roster: Roster,
    /// Every number.
    pub(crate) limits: Arc<Limits>,
}

const CENTS: f64 = 100.0;

impl Watched {
    /// What an agent took before this call counts; a call that is under way is let finish.
    fn afford(&self) -> Result<(), ModelError> {
        let usage = self.agent.usage();
        let (tokens, most) = (usage.total_input() + usage.output, self.limits.agent_tokens);
        if tokens >= most {
            return Err(ModelError::OutOfBudget(format!(
                "the agent has used {tokens} tokens and may use {most}; divide the task, or raise the limit `agent_tokens`"
            )));
        }
        refusal(&self.roster, &self.limits).map_or(Ok(()), |reason| Err(ModelError::OutOfBudget(reason)))
    }

    fn book(&self, prompt: &Prompt, replied: &Result<Reply, ModelError>) {
        match replied {
            Ok(reply) => self.agent.heard(prompt, reply, self.model.prices()),
            Err(ModelError::Cut { usage, .. }) => {
                let (source, model) = (self.agent.source(), self.model.name().to_owned());
                let call = Call { source, model, usage: *usage, stop: StopReason::Other("cut".to_owned()), cleared: 0 };
                self.agent.spent(call, self.model.prices());
            }
            Err(_) => {}
        }
    }
}

/// Why no agent of this session may spend any more.
pub(crate) fn refusal(roster: &Roster, limits: &Limits) -> Option<String> {
    let (spent, most) = (roster.money() * CENTS, limits.agents_cents);
    (spent >= most as f64 && spent > 0.0).then(|| {
        format!(
            "the agents of this session have cost {spent:.0} cents and may cost {most}; the limit is `agents_cents`"
        )
    })
}

impl Model for Watched {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn is_a_mind(&self) -> bool {
        self.model.is_a_mind()
    }

    fn window(&self) -> ContextWindow {
        self.model.window()
    }

    fn can(&self, ability: Ability) -> bool {
        self.model.can(ability)
    }

    fn prices(&self) -> Option<Prices> {
        self.model.prices()
    }

    fn reply<'a>(
        &'a self,
        prompt: &'a Prompt,
        on: &'a mut (dyn FnMut(Delta) + Send),
    ) -> Pending<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            self.agent.listen();
            self.afford()?;
            let mut glancing = |delta| {
                self.agent.listen();
                on(delta);
            };
            let replied = self.model.reply(prompt, &mut glancing).await;
            self.book(prompt, &replied);
            replied
        })
    }

    fn summarise<'a>(&'a self, prompt: &'a Prompt, instructions: &'a str) -> Pending<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            self.afford()?;
            let replied = self.model.summarise(prompt, instructions).await;
            self.book(prompt, &replied);
            replied
        })
    }

    fn count<'a>(&'a self, prompt: &'a Prompt) -> Pending<'a, Result<Option<u64>, ModelError>> {
        self.model.count(prompt)
    }
}
