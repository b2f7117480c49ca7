//! A model that follows a script: for tests, and for a demonstration that needs no service.

use scrubjay::message::{Block, Kind, StopReason, ToolCallId, Usage};
use scrubjay::model::{Ability, Delta, Model, ModelError, Pending, Reply};
use scrubjay::prompt::Prompt;
use scrubjay::prompt_cache::prices::Prices;
use scrubjay::tokens::ContextWindow;
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Semaphore;

type Answer = Box<dyn FnOnce(&Prompt) -> Result<Turn, ModelError> + Send>;
type Always = Box<dyn Fn(&Prompt) -> Result<Turn, ModelError> + Send + Sync>;

/// A model whose replies were written beforehand. It remembers every prompt.
pub struct Scripted {
    name: String,
    window: ContextWindow,
    abilities: Vec<Ability>,
    prices: Option<Prices>,
    script: Mutex<VecDeque<Answer>>,
    afterwards: Option<Always>,
    prompts: Mutex<Vec<Prompt>>,
    calls: AtomicUsize,
}

/// One reply of a script, and how it is delivered.
#[derive(Debug, Clone, Default)]
pub struct Turn {
    says: Vec<Said>,
    usage: Usage,
    stop: Option<StopReason>,
    piece_chars: Option<usize>,
    gate: Option<Gate>,
}

#[derive(Debug, Clone)]
enum Said {
    Block(Block),
    Call { name: String, input: Value },
}

/// Holds a reply after its first piece until it is opened.
#[derive(Debug, Clone)]
pub struct Gate {
    reached: Arc<Semaphore>,
    opened: Arc<Semaphore>,
}

impl Default for Gate {
    fn default() -> Self {
        Self { reached: Arc::new(Semaphore::new(0)), opened: Arc::new(Semaphore::new(0)) }
    }
}

impl Gate {
    /// A closed gate.
    pub fn new() -> Self {
        Self::default()
    }

    /// Wait until the reply stands before the gate.
    pub async fn reached(&self) {
        if let Ok(permit) = self.reached.acquire().await {
            permit.forget();
        }
    }

    /// Let the reply go on.
    pub fn open(&self) {
        self.opened.add_permits(1);
    }

    /// Stand before the gate until it is opened.
    pub async fn pass(&self) {
        self.reached.add_permits(1);
        if let Ok(permit) = self.opened.acquire().await {
            permit.forget();
        }
    }
}

impl Turn {
    /// Say something.
    pub fn text(words: impl Into<String>) -> Self {
        Self::default().and_text(words)
    }

    /// Call a tool.
    pub fn call(name: impl Into<String>, input: Value) -> Self {
        Self::default().and_call(name, input)
    }

    /// Any blocks.
    pub fn blocks(blocks: impl IntoIterator<Item = Block>) -> Self {
        Self { says: blocks.into_iter().map(Said::Block).collect(), ..Self::default() }
    }

    /// And say something.
    pub fn and_text(mut self, words: impl Into<String>) -> Self {
        self.says.push(Said::Block(Block::text(words)));
        self
    }

    /// And call a tool; the call gets a name of its own.
    pub fn and_call(mut self, name: impl Into<String>, input: Value) -> Self {
        self.says.push(Said::Call { name: name.into(), input });
        self
    }

    /// Report this usage.
    pub fn counting(self, usage: Usage) -> Self {
        Self { usage, ..self }
    }

    /// Stop for this reason.
    pub fn stopping(self, stop: StopReason) -> Self {
        Self { stop: Some(stop), ..self }
    }

    /// Arrive in pieces of so many characters.
    pub fn in_pieces(self, chars: usize) -> Self {
        Self { piece_chars: Some(chars.max(1)), ..self }
    }

    /// Wait at a gate after the first piece.
    pub fn behind(self, gate: &Gate) -> Self {
        Self { gate: Some(gate.clone()), ..self }
    }
}

impl Default for Scripted {
    fn default() -> Self {
        Self::new()
    }
}

impl Scripted {
    /// An empty script.
    pub fn new() -> Self {
        Self {
            name: "scripted".to_owned(),
            window: ContextWindow { size: 200_000, max_output: 32_000 },
            abilities: vec![Ability::Tools, Ability::Images, Ability::CacheMarkers],
            prices: None,
            script: Mutex::default(),
            afterwards: None,
            prompts: Mutex::default(),
            calls: AtomicUsize::new(0),
        }
    }

    /// A script of plain replies.
    pub fn saying<T: Into<String>>(words: impl IntoIterator<Item = T>) -> Self {
        words.into_iter().fold(Self::new(), |script, words| script.then(Turn::text(words)))
    }

    /// Then reply this.
    pub fn then(self, turn: Turn) -> Self {
        self.push(Box::new(move |_| Ok(turn)))
    }

    /// Then fail like this.
    pub fn then_fail(self, error: ModelError) -> Self {
        self.push(Box::new(move |_| Err(error)))
    }

    /// Then decide by the prompt.
    pub fn then_by(self, answer: impl FnOnce(&Prompt) -> Result<Turn, ModelError> + Send + 'static) -> Self {
        self.push(Box::new(answer))
    }

    /// When the script is over, always decide by the prompt.
    pub fn afterwards(mut self, answer: impl Fn(&Prompt) -> Result<Turn, ModelError> + Send + Sync + 'static) -> Self {
        self.afterwards = Some(Box::new(answer));
        self
    }

    /// With another name.
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// With another window.
    pub fn holding(self, window: ContextWindow) -> Self {
        Self { window, ..self }
    }

    /// With these abilities alone.
    pub fn able(self, abilities: impl IntoIterator<Item = Ability>) -> Self {
        Self { abilities: abilities.into_iter().collect(), ..self }
    }

    /// At these prices; without them nothing is known about money.
    pub fn priced(self, prices: Prices) -> Self {
        Self { prices: Some(prices), ..self }
    }

    fn push(self, answer: Answer) -> Self {
        held(&self.script).push_back(answer);
        self
    }

    /// Every prompt so far, oldest first.
    pub fn prompts(&self) -> Vec<Prompt> {
        held(&self.prompts).clone()
    }

    /// How many replies are left.
    pub fn left(&self) -> usize {
        held(&self.script).len()
    }

    fn next(&self, prompt: &Prompt) -> Result<Turn, ModelError> {
        held(&self.prompts).push(prompt.clone());
        let answer = held(&self.script).pop_front();
        match (answer, &self.afterwards) {
            (Some(answer), _) => answer(prompt),
            (None, Some(always)) => always(prompt),
            (None, None) => Err(ModelError::Refused("the script has no more replies".to_owned())),
        }
    }

    fn block(&self, said: Said) -> Block {
        match said {
            Said::Block(block) => block,
            Said::Call { name, input } => {
                let at = self.calls.fetch_add(1, Ordering::Relaxed);
                Block::tool_use(ToolCallId::new(format!("call_{at}")), name, input)
            }
        }
    }
}

/// A panic elsewhere does not make a script unreadable.
fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

fn deltas(block: &Block, piece_chars: Option<usize>) -> Vec<Delta> {
    let pieces = |text: &str, as_delta: fn(String) -> Delta| -> Vec<Delta> {
        let chars: Vec<char> = text.chars().collect();
        let size = piece_chars.unwrap_or(chars.len()).max(1);
        chars.chunks(size).map(|piece| as_delta(piece.iter().collect())).collect()
    };
    match block.kind() {
        Kind::Text(text) => pieces(text, Delta::Text),
        Kind::Thinking(text) => pieces(text, Delta::Thinking),
        Kind::ToolUse(call) => vec![Delta::ToolUse { name: call.name.clone() }],
        _ => vec![],
    }
}

impl Model for Scripted {
    fn name(&self) -> &str {
        &self.name
    }

    fn window(&self) -> ContextWindow {
        self.window
    }

    fn can(&self, ability: Ability) -> bool {
        self.abilities.contains(&ability)
    }

    fn prices(&self) -> Option<Prices> {
        self.prices
    }

    fn reply<'a>(
        &'a self,
        prompt: &'a Prompt,
        on: &'a mut (dyn FnMut(Delta) + Send),
    ) -> Pending<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            let Turn { says, usage, stop, piece_chars, mut gate } = self.next(prompt)?;
            let blocks: Vec<Block> = says.into_iter().map(|said| self.block(said)).collect();
            for delta in blocks.iter().flat_map(|block| deltas(block, piece_chars)) {
                on(delta);
                if let Some(gate) = gate.take() {
                    gate.pass().await;
                }
                tokio::task::yield_now().await;
            }
            if let Some(gate) = gate {
                gate.pass().await;
            }
            let calls = blocks.iter().any(|block| matches!(block.kind(), Kind::ToolUse(_)));
            let stop = stop.unwrap_or(if calls { StopReason::ToolUse } else { StopReason::EndTurn });
            Ok(Reply { blocks, usage, stop, model: self.name.clone(), request_id: None, cleared: 0 })
        })
    }

    fn count<'a>(&'a self, _: &'a Prompt) -> Pending<'a, Result<Option<u64>, ModelError>> {
        Box::pin(async { Ok(None) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[tokio::test]
    async fn the_script_is_followed_and_every_prompt_remembered() {
        let model = Scripted::new()
            .then(Turn::text("hello").in_pieces(2).and_call("Read", json!({})))
            .then_fail(ModelError::PromptTooLong { over_by: Some(3) })
            .then_by(|prompt| Ok(Turn::text(format!("{} messages", prompt.history.len()))));
        let prompt = crate::samples::prompt(vec![]);
        let mut told = vec![];
        let reply = model.reply(&prompt, &mut |delta| told.push(delta)).await.unwrap();
        assert_eq!(reply.stop, StopReason::ToolUse);
        let text = |words: &str| Delta::Text(words.into());
        assert_eq!(told, [text("he"), text("ll"), text("o"), Delta::ToolUse { name: "Read".into() }]);
        assert!(matches!(model.reply(&prompt, &mut |_| {}).await, Err(ModelError::PromptTooLong { .. })));
        assert_eq!(model.reply(&prompt, &mut |_| {}).await.unwrap().blocks, [Block::text("0 messages")]);
        assert!(matches!(model.reply(&prompt, &mut |_| {}).await, Err(ModelError::Refused(_))));
        assert_eq!((model.prompts().len(), model.left()), (4, 0));
    }

    #[tokio::test]
    async fn a_reply_can_be_interrupted_in_the_middle() {
        let gate = Gate::new();
        let model = Arc::new(Scripted::new().then(Turn::text("abc").in_pieces(1).behind(&gate)));
        let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
        let asked = Arc::clone(&model);
        let task = tokio::spawn(async move {
            let prompt = crate::samples::prompt(vec![]);
            asked.reply(&prompt, &mut |delta| sender.send(delta).unwrap()).await
        });
        gate.reached().await;
        task.abort();
        assert!(task.await.unwrap_err().is_cancelled());
        assert_eq!(receiver.recv().await, Some(Delta::Text("a".into())));
        assert_eq!(receiver.recv().await, None);
    }
}
