//! Whether a memory earns its place: how often it was shown to a model, how often the answer made use of it, and when last.
//!
//! Counts lie beside the provenance, one line each, only ever appended to; when the file has grown they are added up.
//! Without counts every memory is worth the same.

use super::folder::Folder;
use super::provenance::Speaker;
use super::recall::content_words;
use super::shared::SharedMemory;
use super::store::Memory;
use super::{MemoryError, Topic, While as _};
use crate::message::{Message, MessageId, Origin};
use crate::paths;
use crate::tools::resolve;
use crate::transcript::{Log, read_from};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How often a memory was shown and used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Use {
    /// Times it was shown to a model.
    pub shown: u64,
    /// Times the answer made use of it. Never more than it was shown.
    pub used: u64,
    /// When it was last used.
    pub last: Option<Timestamp>,
}

impl Use {
    /// What it is worth by its record, from 0 to 1; 0.5 where nothing is known.
    pub fn worth(&self) -> f64 {
        (self.used + 1) as f64 / (self.shown + 2) as f64
    }
}

/// What is known of every memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Uses {
    by_path: HashMap<String, Use>,
    /// Since when it is counted.
    pub since: Option<Timestamp>,
}

impl Uses {
    /// Of one memory.
    pub fn of(&self, path: &str) -> Use {
        self.by_path.get(path).copied().unwrap_or_default()
    }

    fn take(&mut self, line: Line) {
        let known = self.by_path.entry(line.path).or_default();
        let shown = line.shown.max(line.used);
        known.shown = known.shown.saturating_add(shown);
        known.used = known.used.saturating_add(line.used);
        known.last = known.last.max(line.last);
        self.since = Some(self.since.map_or(line.at, |since| since.min(line.at)));
    }
}

/// Counts of one memory: of one turn, or of all turns until then.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    at: Timestamp,
    path: String,
    shown: u64,
    used: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last: Option<Timestamp>,
}

const FILE: &str = "uses.jsonl";
/// Where counts are added up before they take the file's place.
const NEXT: &str = "uses.next.jsonl";

impl Memory {
    /// How often every memory was shown and used. What took over the facts of others took over their counts; it gives them back
    /// when the others come back.
    pub fn uses(&self) -> Result<Uses, MemoryError> {
        let mut uses = self.counted()?;
        for (gone, heir) in self.heirs() {
            let Some(Use { shown, used, last }) = uses.by_path.remove(&gone) else { continue };
            let known = uses.by_path.entry(heir).or_default();
            known.shown = known.shown.saturating_add(shown);
            known.used = known.used.saturating_add(used);
            known.last = known.last.max(last);
        }
        Ok(uses)
    }

    /// Memories that are gone, and who took over what they said.
    fn heirs(&self) -> BTreeMap<String, String> {
        let mut heirs = BTreeMap::new();
        for entry in &self.scan.entries {
            let sources = self.basis_of(entry).map(|basis| basis.sources.as_slice()).unwrap_or_default();
            // A source of a session was only read there.
            for source in sources.iter().filter(|source| source.session.is_empty()) {
                if let Speaker::Memory(gone) = &source.speaker
                    && self.scan.get(gone).is_none()
                {
                    heirs.insert(gone.clone(), entry.path.clone());
                }
            }
        }
        heirs
    }

    /// The counts themselves.
    fn counted(&self) -> Result<Uses, MemoryError> {
        let file = self.place.provenance.join(FILE);
        let parse = |json: &str| serde_json::from_str::<Line>(json).ok();
        let mut uses = Uses::default();
        match read_from(&file, 0, &self.limits, parse) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            read => read.during("reading the counts of uses")?.records.into_iter().for_each(|line| uses.take(line)),
        }
        Ok(uses)
    }

    /// How often one was.
    pub fn usefulness(&self, path: &str) -> Result<Use, MemoryError> {
        Ok(self.uses()?.of(path))
    }

    /// Count a turn: which memories were shown, and whether each was used.
    pub fn count_uses(&self, turn: &[(String, bool)]) -> Result<(), MemoryError> {
        if turn.is_empty() {
            return Ok(());
        }
        let counting = "counting uses";
        paths::create_dir_private(&self.place.provenance).during(counting)?;
        // Everybody who counts holds this lock, so adding up loses nobody's count.
        let folder = Folder::open(&self.place.provenance).during(counting)?;
        let _lock = folder.lock(self.patience())?;
        let at = self.clock.now();
        let mut log = Log::open(&self.place.provenance.join(FILE), &self.limits).during(counting)?;
        for (path, used) in turn {
            let (used, last) = (u64::from(*used), used.then_some(at));
            let line = Line { at, path: path.clone(), shown: 1, used, last };
            log.append_json(&serde_json::to_string(&line).map_err(io::Error::other)?).during(counting)?;
        }
        let size = folder.look(FILE.as_ref()).during(counting)?.map_or(0, |stat| stat.st_size);
        if u64::try_from(size).unwrap_or(0) > self.limits.uses_file_bytes {
            self.add_up(&folder)?;
        }
        Ok(())
    }

    /// One line for each memory that is still there or has an heir, the most used first, as far as there is room for twice as many.
    fn add_up(&self, folder: &Folder) -> Result<(), MemoryError> {
        let counting = "adding up uses";
        let (uses, heirs) = (self.counted()?, self.heirs());
        let at = uses.since.unwrap_or_else(|| self.clock.now());
        let counts = |path: &String| self.scan.get(path).is_some() || heirs.contains_key(path);
        let mut kept: Vec<(&String, &Use)> = uses.by_path.iter().filter(|(path, _)| counts(path)).collect();
        kept.sort_by_key(|(path, count)| (std::cmp::Reverse((count.used, count.shown)), *path));
        folder.remove(NEXT).during(counting)?;
        let mut log = Log::open(&self.place.provenance.join(NEXT), &self.limits).during(counting)?;
        let mut room = self.limits.uses_file_bytes / 2;
        for (path, Use { shown, used, last }) in kept {
            let line = Line { at, path: path.clone(), shown: *shown, used: *used, last: *last };
            let json = serde_json::to_string(&line).map_err(io::Error::other)?;
            let Some(left) = room.checked_sub(json.len() as u64) else { break };
            room = left;
            log.append_json(&json).during(counting)?;
        }
        log.sync().and_then(|()| folder.rename(NEXT, FILE)).and_then(|()| folder.sync()).during(counting)
    }
}

/// A turn as a conversation shows it.
#[derive(Debug, Clone)]
pub struct Turn {
    /// What was said, with what came before it.
    pub history: Arc<[Arc<Message>]>,
    /// Which memories each message showed.
    pub recalled: BTreeMap<MessageId, Vec<PathBuf>>,
    /// Where the tools work.
    pub dir: PathBuf,
}

impl SharedMemory {
    /// Count what the last turn did with the memories it was shown. Blocks.
    pub fn count_turn(&self, turn: &Turn) -> Result<(), MemoryError> {
        let since = beginning_of_turn(&turn.history);
        let shown = shown_since(turn, since, self.dir());
        if shown.is_empty() {
            return Ok(());
        }
        let asked = turn.history[since..].iter().filter(|message| message.origin == Origin::Person);
        let asked: BTreeSet<String> = asked.flat_map(|message| content_words(&message.text())).collect();
        self.with(|memory| {
            let words = |path: &String| {
                let text = memory.text(path).ok().flatten().map(|(_, text)| text).unwrap_or_default();
                let topic = Topic::read(&text, &memory.limits);
                content_words(&[topic.name, topic.description, topic.body].join("\n"))
            };
            let texts: Vec<BTreeSet<String>> = shown.keys().map(words).collect();
            let judged = shown.iter().enumerate().map(|(place, (path, at))| {
                let others = texts.iter().enumerate().filter(|(other, _)| *other != place).flat_map(|(_, words)| words);
                let common: BTreeSet<&String> = others.chain(&asked).collect();
                let own: Vec<&String> = texts[place].iter().filter(|word| !common.contains(word)).collect();
                (path.clone(), Deeds::since(&turn.history[*at..]).uses(path, &own))
            });
            memory.count_uses(&judged.collect::<Vec<_>>())
        })
    }
}

/// After the model's last word before the newest question: what was found too late for one turn is shown with the next.
fn beginning_of_turn(history: &[Arc<Message>]) -> usize {
    let asked = history.iter().rposition(|message| message.origin == Origin::Person).unwrap_or(0);
    history[..asked].iter().rposition(|message| message.origin == Origin::Model).map_or(0, |last| last + 1)
}

/// The memories that were shown since, or that the model read itself, and where that was.
fn shown_since(turn: &Turn, since: usize, memory: &Path) -> BTreeMap<String, usize> {
    let mut shown = BTreeMap::new();
    let inside = |file: &Path| file.strip_prefix(memory).ok()?.to_str().map(str::to_owned);
    for (at, message) in turn.history.iter().enumerate().skip(since) {
        let recalled = turn.recalled.get(&message.id).into_iter().flatten().cloned();
        let read = message.tool_uses().filter(|call| call.name == "Read");
        let read = read.filter_map(|call| Some(resolve(&turn.dir, call.input["file_path"].as_str()?)));
        for path in recalled.chain(read).filter_map(|file| inside(&file)) {
            if super::name::parts(&path).is_ok() {
                shown.entry(path).or_insert(at);
            }
        }
    }
    shown
}

/// What the model said and did.
struct Deeds {
    said: String,
    words: BTreeSet<String>,
}

/// Of a memory's own words, one in so many must come back, and at least and at most so many.
const ONE_IN: usize = 6;
const LEAST: usize = 3;
const MOST: usize = 8;

impl Deeds {
    fn since(messages: &[Arc<Message>]) -> Self {
        let model = || messages.iter().filter(|message| message.origin == Origin::Model);
        let calls = model().flat_map(|message| message.tool_uses()).map(|call| call.input.to_string());
        let said = model().map(|message| message.text()).chain(calls).collect::<Vec<_>>().join("\n");
        Self { words: content_words(&said), said }
    }

    /// Whether a memory was used: its file is named, or enough comes back of what only it said.
    fn uses(&self, path: &str, own: &[&String]) -> bool {
        let file = path.rsplit('/').next().unwrap_or(path);
        let needed = (own.len() / ONE_IN).clamp(LEAST, MOST);
        self.said.contains(file) || own.iter().filter(|word| self.words.contains(**word)).count() >= needed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::limits::Limits;
    use crate::memory::{Cause, Change, Edit, Place};
    use crate::message::{Block, Role};
    use crate::paths::Layout;
    use proptest::prelude::*;
    use serde_json::json;

    struct Noon;
    impl Clock for Noon {
        fn now(&self) -> Timestamp {
            Timestamp::UNIX_EPOCH
        }
    }

    const REAL: &str = "---\nname: Real database\ndescription: integration tests use the real database\ntype: reference\n---\n\
        A throwaway Postgres cluster listens behind pgbouncer; migrations run beforehand.\n";
    const TEA: &str =
        "---\nname: Tea\ndescription: drinks oolong\ntype: reference\n---\nOolong in the morning, sencha later.\n";

    fn opened(dir: &Path, limits: &Limits) -> SharedMemory {
        let project = Layout::at(dir).project(Path::new("/home/ada/birds"), limits);
        let (shared, _) = SharedMemory::open(&Place::of(&project), &project, Arc::new(Noon), limits).unwrap();
        let edits = vec![Edit::create("real.md", REAL), Edit::create("tea.md", TEA)];
        shared.with(|memory| memory.commit(Change { cause: Cause::Person, edits })).unwrap();
        shared
    }

    fn message(id: &str, origin: Origin, block: Block) -> Arc<Message> {
        let role = if origin == Origin::Model { Role::Assistant } else { Role::User };
        Arc::new(Message { id: MessageId::new(id), role, origin, at: Timestamp::UNIX_EPOCH, blocks: vec![block] })
    }

    fn turn(shared: &SharedMemory, answer: Block) -> Turn {
        let files = ["real.md", "tea.md"].map(|file| shared.dir().join(file)).to_vec();
        let history = vec![
            message("q", Origin::Person, Block::text("How do I run the integration tests of the database?")),
            message("r", Origin::Memory, Block::text("shown")),
            message("a", Origin::Model, answer),
        ];
        Turn { history: history.into(), recalled: [(MessageId::new("r"), files)].into(), dir: "/work".into() }
    }

    // spec: V5
    #[test]
    fn what_was_shown_and_what_of_it_was_used() {
        let held = tempfile::tempdir().unwrap();
        let limits = Limits::default();
        let shared = opened(held.path(), &limits);
        let used = |path: &str| shared.with(|memory| memory.usefulness(path)).unwrap();
        assert_eq!((used("real.md"), used("real.md").worth()), (Use::default(), 0.5));
        for (answer, real) in [
            (Block::text("Just run the tests of the database, as integration tests."), 0),
            (Block::text("Start the Postgres cluster behind pgbouncer, run the migrations, then the tests."), 1),
            (Block::tool_use("c".into(), "Bash", json!({ "command": "cat notes/real.md" })), 2),
        ] {
            shared.count_turn(&turn(&shared, answer)).unwrap();
            assert_eq!((used("real.md").used, used("tea.md").used), (real, 0));
        }
        assert_eq!((used("real.md").shown, used("tea.md").shown), (3, 3));
        assert_eq!((used("real.md").last, used("tea.md").last), (Some(Timestamp::UNIX_EPOCH), None));
        assert!(used("real.md").worth() > 0.5 && used("tea.md").worth() < 0.5);
    }

    // spec: V5
    #[test]
    fn a_memory_that_the_model_reads_itself_counts_too() {
        let held = tempfile::tempdir().unwrap();
        let shared = opened(held.path(), &Limits::default());
        let read = Block::tool_use("c".into(), "Read", json!({ "file_path": shared.dir().join("tea.md") }));
        let history = vec![
            message("q", Origin::Person, Block::text("what do I drink?")),
            message("a", Origin::Model, read),
            message("b", Origin::Model, Block::text("I do not know.")),
        ];
        shared.count_turn(&Turn { history: history.into(), recalled: BTreeMap::new(), dir: "/work".into() }).unwrap();
        let count = shared.with(|memory| memory.usefulness("tea.md")).unwrap();
        assert_eq!((count.shown, count.used), (1, 1));
    }

    // spec: V5
    #[test]
    fn counts_survive_being_added_up_by_several_at_once() {
        let held = tempfile::tempdir().unwrap();
        let limits = Limits { uses_file_bytes: 4_096, ..Limits::default() };
        let shared = opened(held.path(), &limits);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let (memory, _) =
                        Memory::open(&shared.with(|memory| memory.place().clone()), Arc::new(Noon), &limits).unwrap();
                    for _ in 0..50 {
                        memory.count_uses(&[("real.md".into(), true), ("tea.md".into(), false)]).unwrap();
                    }
                });
            }
        });
        let place = shared.with(|memory| memory.place().clone());
        shared.with(|memory| {
            assert_eq!(
                (memory.usefulness("real.md").unwrap().used, memory.usefulness("tea.md").unwrap().shown),
                (200, 200)
            );
            assert_eq!(memory.uses().unwrap().since, Some(Timestamp::UNIX_EPOCH));
        });
        assert!(std::fs::metadata(place.provenance.join(FILE)).unwrap().len() <= 8_192, "it stays small");
    }

    proptest! {
        /// Adding lines up in any order and grouping says the same.
        // spec: V5
        #[test]
        fn the_order_of_counts_does_not_matter(lines in proptest::collection::vec((0_i64..100, 0_u64..3, 0_u64..3), 1..20)) {
            let line = |(at, shown, used): &(i64, u64, u64)| {
                let at = Timestamp::from_second(*at).unwrap();
                Line { at, path: "a".into(), shown: *shown, used: *used, last: (*used > 0).then_some(at) }
            };
            let fold = |lines: Vec<Line>| {
                let mut uses = Uses::default();
                lines.into_iter().for_each(|line| uses.take(line));
                uses
            };
            let forward = fold(lines.iter().map(line).collect());
            let backward = fold(lines.iter().rev().map(line).collect());
            prop_assert_eq!(&forward, &backward);
            prop_assert!(forward.of("a").used <= forward.of("a").shown);
        }
    }
}
