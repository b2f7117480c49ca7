//! Recall in the loop: on each message of the person's memories are looked for beside the request, and what was found is
//! shown at the next opportunity, after everything that was said, so that nothing that was sent changes.

use super::{Error, Session};
use crate::agents::background::Background;
use crate::desk::Desk;
use crate::ledger::Called;
use crate::ledger::breaker::Progress;
use crate::memory::{Candidates, Recollection, SharedMemory, Turn, Wish, recall, select, shown};
use crate::message::{Block, Message, Origin, Role};
use crate::model::{Model, ModelError, Reply};
use crate::settings::{Source, key};
use crate::tools::resolve;
use crate::transcript::{Call, Entry, Recalled, View};
use crate::turn::{self, Halt, Stage};
use jiff::Timestamp;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The memory that a session recalls from.
#[derive(Clone)]
pub struct Remembering {
    /// The memory.
    pub memory: SharedMemory,
    /// A small model that chooses among memories, where one is set.
    pub chooser: Option<Arc<dyn Model>>,
    /// The project, where what memories mention is looked for.
    pub root: PathBuf,
}

/// Where memories are looked for, and where word of it arrives.
pub(super) struct Recalling {
    from: Option<Remembering>,
    background: Background,
    /// Uses that are being counted.
    counting: TaskTracker,
    sender: mpsc::UnboundedSender<Home>,
    receiver: mpsc::UnboundedReceiver<Home>,
    /// Stops the search that runs.
    running: CancellationToken,
    /// Whether that search asks nobody, so that the first request can wait for it.
    is_quick: bool,
    /// Found, and not shown yet.
    found: Vec<Recollection>,
    /// Whether the person was told of memories that cannot be read.
    told: bool,
    /// Whether the person was told that words alone decide.
    told_of_words: bool,
}

/// A search that came home.
struct Home {
    found: Vec<Recollection>,
    calls: Vec<Called>,
    /// The same calls, for the record.
    entries: Vec<Call>,
    skipped: Vec<String>,
    /// What came of asking a model, where one was asked.
    progress: Option<Progress>,
    /// Why meanings were not asked, or not all of them.
    by_words: Option<String>,
    at: Timestamp,
}

impl Default for Recalling {
    fn default() -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        let (background, running) = (Background::default(), CancellationToken::new());
        let (counting, found) = (TaskTracker::new(), Vec::new());
        Self {
            from: None,
            background,
            counting,
            sender,
            receiver,
            running,
            is_quick: false,
            found,
            told: false,
            told_of_words: false,
        }
    }
}

/// How many tools count as used lately.
const LATELY: usize = 10;

impl Session {
    /// With a memory to recall from.
    pub fn remembering(mut self, from: Remembering) -> Self {
        self.recalling.from = Some(from);
        self
    }

    /// The memory it recalls from, where there is one.
    pub(super) fn remembered(&self) -> Option<&Remembering> {
        self.recalling.from.as_ref()
    }

    /// Work beside the conversation that looks for memories; a caller can wait for it.
    pub fn searches(&self) -> Background {
        self.recalling.background.clone()
    }

    /// Before a question: what was found too late for the last one is shown now, unless that one was stopped.
    pub(super) fn show_left_over(&mut self) -> Result<(), Error> {
        self.hear_of_memories()?;
        if self.recalling.running.is_cancelled() {
            self.recalling.found.clear();
        }
        self.show_memories()
    }

    /// A question was asked: look for what may help with it. Stopped with the turn, and by the next question.
    pub(super) fn look_for_memories(&mut self, question: &[Block], cancel: &CancellationToken) {
        self.recalling.running.cancel();
        let query = question.iter().rev().find_map(Block::as_text).unwrap_or_default().to_owned();
        let several_words = recall::words(&query).nth(1).is_some();
        let full = shown_bytes(self.transcript.view()) >= self.desk.limits.recall_session_bytes;
        if !several_words || full || !self.desk.settings.flag(&key::RECALL) {
            return;
        }
        let Some(from) = self.recalling.from.clone() else { return };
        let chooser = self.chooser(&from);
        let view = self.transcript.view();
        let now = self.desk.clock.now().to_zoned(self.desk.zone.clone());
        let search = Search {
            wish: Wish {
                query,
                now,
                known: known(view, &self.desk.dir),
                session: self.transcript.session().to_string(),
                said: view.history.iter().map(|message| message.id.to_string()).collect(),
                meaning: None,
            },
            chooser,
            tools: used_lately(&view.history),
            nonce: view.opening.as_ref().map(|opening| opening.nonce.clone()).unwrap_or_default(),
            desk: self.desk.clone(),
            from,
        };
        self.recalling.is_quick = search.chooser.is_none() && search.from.memory.is_local();
        let (stop, sender) = (cancel.child_token(), self.recalling.sender.clone());
        self.recalling.running = stop.clone();
        self.recalling.background.offer(move |leaving| async move {
            tokio::select! {
                biased;
                () = stop.cancelled() => {}
                () = leaving.cancelled() => {}
                // A session that has ended in the meantime has no use for the news.
                home = search.run(&stop) => sender.send(home).unwrap_or_default(),
            }
        });
    }

    /// The model that chooses, where one is set and may be asked.
    fn chooser(&mut self, from: &Remembering) -> Option<Arc<dyn Model>> {
        let said = self.desk.settings.origin(key::MODEL_RECALL.key) != Source::Default;
        let wanted = if said { self.desk.settings.flag(&key::MODEL_RECALL) } else { from.chooser.is_some() };
        let chooser = from.chooser.clone().filter(|model| wanted && model.is_a_mind())?;
        (!self.rests(select::SOURCE) && self.may_work_in_background()).then_some(chooser)
    }

    /// Before a request: show what was found since the last one. What is found without asking anyone takes milliseconds, so
    /// the first request waits for it: a question that is answered at once has it, too. Where no model answers, recalled text
    /// is the answer and is waited for longer. Nothing else ever waits.
    pub(super) async fn bring_back(&mut self, cancel: &CancellationToken) -> Result<(), Error> {
        let limits = &self.desk.limits;
        let is_quick = std::mem::take(&mut self.recalling.is_quick);
        let wait = match self.desk.model.is_a_mind() {
            false => limits.recall_wait_ms,
            true if is_quick => limits.recall_push_ms,
            true => 0,
        };
        if wait > 0 {
            let limit = Duration::from_millis(wait);
            tokio::select! {
                () = cancel.cancelled() => return Err(Error::Interrupted),
                _ = self.recalling.background.idle(limit) => {}
            }
        }
        self.hear_of_memories()?;
        self.show_memories()
    }

    /// Take in what searches brought home, and book what they took.
    pub(super) fn hear_of_memories(&mut self) -> Result<(), Error> {
        while let Ok(home) = self.recalling.receiver.try_recv() {
            let Home { found, calls, entries, skipped, progress, by_words, at } = home;
            calls.into_iter().for_each(|called| self.receipt_of_errand(called));
            for call in entries {
                self.transcript.append(Entry::Replied(call), at)?;
            }
            if let Some(first) = skipped.first().filter(|_| !self.recalling.told) {
                self.desk.events.notice(format!("{} could not be searched: {first}", memories(skipped.len())));
                self.recalling.told = true;
            }
            if let Some(why) = by_words.filter(|_| !self.recalling.told_of_words) {
                self.desk.events.notice(format!("memories are found by their words, not all by their meaning: {why}"));
                self.recalling.told_of_words = true;
            }
            self.recalling.found = found;
            progress.into_iter().for_each(|progress| self.progressed(select::SOURCE, &progress));
        }
        Ok(())
    }

    fn show_memories(&mut self) -> Result<(), Error> {
        let view = self.transcript.view();
        let known = known(view, &self.desk.dir);
        let mut found = std::mem::take(&mut self.recalling.found);
        // One that was removed since it was found is not shown.
        found.retain(|memory| !known.contains(&memory.path) && memory.path.exists());
        let room = self.desk.limits.recall_session_bytes.saturating_sub(shown_bytes(view));
        let nonce = view.opening.as_ref().map(|opening| opening.nonce.clone()).unwrap_or_default();
        let text = loop {
            if found.is_empty() {
                return Ok(());
            }
            let memories: Vec<_> = found.iter().map(Recollection::as_recalled).collect();
            let text = shown::message(&memories, &nonce, self.desk.clock.now(), &self.desk.limits);
            if text.len() as u64 <= room {
                break text;
            }
            found.pop();
        };
        let now = self.desk.clock.now();
        let said = self.transcript.say(Role::User, Origin::Memory, vec![Block::text(text)], now)?;
        let unconfirmed = found.iter().any(|memory| memory.from.is_some());
        let files = found.into_iter().map(|memory| memory.path).collect();
        let recalled = Recalled { message: said.id.clone(), files, unconfirmed };
        Ok(self.transcript.append(Entry::Recalled(recalled), now)?)
    }

    /// The question is answered: count which memories it was shown and which of them it used. Nobody waits for it, and counts
    /// that cannot be kept are no reason to fail.
    pub(super) fn count_uses(&self) {
        let Some(from) = &self.recalling.from else { return };
        let (view, memory) = (self.transcript.view(), from.memory.clone());
        let (history, recalled) = (view.history.clone().into(), view.recalled.clone());
        let turn = Turn { history, recalled, dir: self.desk.dir.clone() };
        let events = self.desk.events.clone();
        self.recalling.counting.spawn_blocking(move || {
            if let Err(error) = memory.count_turn(&turn) {
                events.notice(format!("the uses of memories were not counted: {error}"));
            }
        });
    }

    /// Wait until all uses are counted, at most this long. Whether they are.
    pub(super) async fn uses_counted(&self, limit: Duration) -> bool {
        let counting = &self.recalling.counting;
        counting.close();
        let counted = tokio::time::timeout(limit, counting.wait()).await.is_ok();
        counting.reopen();
        counted
    }

    /// The session ends: a search that still runs is of no use.
    pub(super) fn stop_looking(&mut self) -> Result<(), Error> {
        self.recalling.running.cancel();
        self.hear_of_memories()
    }
}

/// One search, with everything it needs.
struct Search {
    wish: Wish,
    from: Remembering,
    chooser: Option<Arc<dyn Model>>,
    tools: Vec<String>,
    nonce: String,
    desk: Desk,
}

impl Search {
    async fn run(mut self, stop: &CancellationToken) -> Home {
        let left = self.desk.clock.now();
        let (meaning, by_words) = self.from.memory.meaning(&self.wish.query).await;
        self.wish.meaning = meaning;
        let (memory, wish) = (self.from.memory.clone(), self.wish.clone());
        let looking = tokio::task::spawn_blocking(move || memory.candidates(&wish));
        let mut among = looking.await.unwrap_or_default();
        let asked = self.ask(&among, stop).await;
        let chosen = asked.as_ref().and_then(|asked| asked.as_ref().ok()).and_then(|reply| {
            let text = reply.blocks.iter().filter_map(Block::as_text).collect::<String>();
            select::chosen(&text, &among, &self.desk.limits)
        });
        let progress = asked.as_ref().map(|asked| match (asked, &chosen) {
            (Ok(_), Some(_)) => Progress::Made,
            (Ok(_), None) => Progress::None { because: "the answer names no memories".to_owned(), calls: 1 },
            (Err(Halt::Interrupted { .. }), _) => Progress::Stopped,
            (Err(Halt::Model(error)), _) => Progress::None { because: error.to_string(), calls: 1 },
        });
        let paths = chosen.unwrap_or_else(|| std::mem::take(&mut among.best));
        let (memory, root, stop) = (self.from.memory.clone(), self.from.root.clone(), stop.clone());
        let reading = tokio::task::spawn_blocking(move || memory.recollections(&paths, &root, &stop));
        let found = reading.await.unwrap_or_default();
        let (calls, entries) = self.booked(asked, left);
        let (skipped, at) = (among.skipped, self.desk.clock.now());
        Home { found, calls, entries, skipped, progress, by_words, at }
    }

    /// The choosing model's reply, if there is one to ask and something to choose.
    async fn ask(&self, among: &Candidates, stop: &CancellationToken) -> Option<Result<Reply, Halt>> {
        let chooser = self.chooser.as_ref().filter(|_| !among.manifest.is_empty())?;
        let prompt = select::prompt(&self.wish.query, among, &self.tools, &self.nonce, &self.desk.limits);
        let desk = Desk { model: chooser.clone(), ..self.desk.clone() };
        Some(turn::sample(&desk, &prompt, Stage::Back, stop).await)
    }

    fn booked(&self, asked: Option<Result<Reply, Halt>>, left: Timestamp) -> (Vec<Called>, Vec<Call>) {
        let Some(chooser) = &self.chooser else { return (Vec::new(), Vec::new()) };
        let call = match asked {
            Some(Ok(Reply { model, usage, stop, cleared, .. })) => {
                Call { source: select::SOURCE.to_owned(), model, usage, stop, cleared }
            }
            Some(Err(Halt::Model(ModelError::Cut { usage, .. }))) => Call::cut(select::SOURCE, chooser.name(), usage),
            _ => return (Vec::new(), Vec::new()),
        };
        let now = self.desk.clock.now();
        let took = Duration::try_from(now.duration_since(left)).unwrap_or_default();
        let called = Called::of(now, &call, chooser.prices(), Default::default(), took);
        (vec![called], vec![call])
    }
}

/// Files that a conversation holds: memories it shows, and files its tools were called with and whose answers still stand.
fn known(view: &View, dir: &Path) -> BTreeSet<PathBuf> {
    let shown = view.recalled.values().flatten().cloned();
    let calls = view.history.iter().flat_map(|message| message.tool_uses());
    let read = calls.filter(|call| !view.cleared.contains(&call.id)).filter_map(|call| {
        let path = call.input["file_path"].as_str().filter(|path| path.ends_with(".md"))?;
        Some(resolve(dir, path))
    });
    shown.chain(read).collect()
}

/// How much of this view recalled memories take.
fn shown_bytes(view: &View) -> u64 {
    let recalled = view.history.iter().filter(|message| message.origin == Origin::Memory);
    recalled.map(|message| message.text().len() as u64).sum()
}

/// The tools that were called last, each once.
fn used_lately(history: &[Arc<Message>]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for call in history.iter().rev().flat_map(|message| message.tool_uses()) {
        if names.len() < LATELY && !names.contains(&call.name) {
            names.push(call.name.clone());
        }
    }
    names
}

fn memories(count: usize) -> String {
    if count == 1 { "one memory".to_owned() } else { format!("{count} memories") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{MessageId, ToolCallId};
    use serde_json::json;

    fn called(calls: &[(&str, &str, &str)]) -> Arc<Message> {
        let block = |(id, tool, path): &(&str, &str, &str)| {
            Block::tool_use(ToolCallId::new(*id), *tool, json!({ "file_path": path }))
        };
        let (id, at) = (MessageId::new("m"), Timestamp::UNIX_EPOCH);
        let blocks = calls.iter().map(block).collect();
        Arc::new(Message { id, role: Role::Assistant, origin: Origin::Model, at, blocks })
    }

    // spec: L5
    #[test]
    fn what_the_view_shows_or_has_read_is_known_and_what_was_cleared_is_not() {
        let mut view = View::default();
        view.history = vec![called(&[
            ("1", "Read", "/m/read.md"),
            ("2", "Read", "/m/cleared.md"),
            ("3", "Edit", "docs/../here.md"),
            ("4", "Read", "/m/code.rs"),
        ])];
        view.recalled.insert(MessageId::new("r"), vec!["/m/shown.md".into()]);
        view.cleared.insert(ToolCallId::new("2"));
        let known: Vec<PathBuf> = known(&view, Path::new("/p")).into_iter().collect();
        assert_eq!(known, ["/m/read.md", "/m/shown.md", "/p/here.md"].map(PathBuf::from));
    }

    // spec: L4
    #[test]
    fn the_last_ten_tools_count_each_once_the_newest_first() {
        let names: Vec<String> = (0..12).map(|number| format!("T{number}")).collect();
        let calls: Vec<(&str, &str, &str)> = names.iter().map(|name| ("1", name.as_str(), "x")).collect();
        let history: Vec<Arc<Message>> =
            calls.iter().map(|call| called(&[*call])).chain([called(&calls[5..6])]).collect();
        let lately = used_lately(&history);
        assert_eq!(lately, ["T5", "T11", "T10", "T9", "T8", "T7", "T6", "T4", "T3", "T2"]);
        assert_eq!(used_lately(&[]), Vec::<String>::new());
    }
}
