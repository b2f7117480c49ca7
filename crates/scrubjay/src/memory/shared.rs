//! One memory for everything in a process that uses it: recall, the file tools, the memory tool.

use super::find::{Caught, Finder, Found, Sources, named};
use super::provenance::Trust;
use super::recall::{Embedder, Query};
use super::{Entry, Kind, Memory, MemoryError, Place, Repairs, freshness, meaning, prompt, shown};
use crate::clock::Clock;
use crate::limits::Limits;
use crate::paths::ProjectLayout;
use crate::settings::Settings;
use jiff::{Timestamp, Zoned};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// A memory that is open. Cheap to clone; whoever uses it has it alone for that moment.
#[derive(Debug, Clone)]
pub struct SharedMemory {
    inner: Arc<Mutex<Inner>>,
    dir: Arc<Path>,
    limits: Limits,
    embedder: Option<Arc<dyn Embedder>>,
}

#[derive(Debug)]
struct Inner {
    memory: Memory,
    finder: Finder,
}

/// What is looked for, and what is known already.
#[derive(Debug, Clone)]
pub struct Wish {
    /// The words of the person.
    pub query: String,
    /// When, and where days begin.
    pub now: Zoned,
    /// Files that the conversation holds already: they take no place.
    pub known: BTreeSet<PathBuf>,
    /// The session, and the messages of it that the model still sees: what was made from them is no news.
    pub session: String,
    /// See above.
    pub said: BTreeSet<String>,
    /// What the words mean, as [`SharedMemory::meaning`] says it.
    pub meaning: Option<Vec<f32>>,
}

impl Wish {
    /// What these words are about, by somebody who has seen nothing yet.
    pub fn new(query: &str, now: &Zoned) -> Self {
        let (known, said) = (BTreeSet::new(), BTreeSet::new());
        Self { query: query.to_owned(), now: now.clone(), known, session: String::new(), said, meaning: None }
    }
}

/// What recall can choose from.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Candidates {
    /// What the local ranking would show, best first.
    pub best: Vec<String>,
    /// A line for each memory that a model may choose, by its path.
    pub manifest: Vec<(String, String)>,
    /// Files that could not be read.
    pub skipped: Vec<String>,
}

/// A memory with everything that is shown of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Recollection {
    /// Its file.
    pub path: PathBuf,
    /// Its whole text.
    pub text: String,
    /// When its meaning last changed.
    pub changed: Timestamp,
    /// What it mentions that is gone.
    pub gone: Vec<String>,
    /// Where it comes from, if the person neither said nor confirmed it.
    pub from: Option<String>,
}

impl Recollection {
    /// As it is shown.
    pub fn as_recalled(&self) -> shown::Recalled<'_> {
        shown::Recalled {
            path: &self.path,
            text: &self.text,
            changed: self.changed,
            gone: &self.gone,
            from: self.from.as_deref(),
        }
    }
}

impl SharedMemory {
    /// Open a project's memory; the directory exists afterwards.
    pub fn open(
        place: &Place,
        project: &ProjectLayout,
        clock: Arc<dyn Clock>,
        limits: &Limits,
    ) -> Result<(Self, Repairs), MemoryError> {
        let (memory, repairs) = Memory::open(place, clock, limits)?;
        let dir = place.memory.canonicalize()?;
        let inner = Inner { memory, finder: Finder::open(project, limits) };
        let inner = Arc::new(Mutex::new(inner));
        Ok((Self { inner, dir: dir.into(), limits: limits.clone(), embedder: None }, repairs))
    }

    /// Searched by meaning too.
    pub fn with_embedder(self, embedder: Arc<dyn Embedder>) -> Self {
        Self { embedder: Some(embedder), ..self }
    }

    /// The directory, with its links followed.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Do something with the memory. Blocks while somebody else does.
    pub fn with<T>(&self, act: impl FnOnce(&mut Memory) -> T) -> T {
        act(&mut self.lock().memory)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the model is told at the beginning; nothing when memory is off. `transcripts` is the folder of past sessions.
    pub fn told(&self, transcripts: &Path, settings: &Settings) -> Option<prompt::Told> {
        let indexes = self.with(|memory| [memory.index(), memory.team_index()]);
        let indexes = indexes.map(|index| index.map(|index| index.text).unwrap_or_default());
        let folders = prompt::Folders { memory: &self.dir, transcripts };
        prompt::told(folders, settings, &indexes.each_ref().map(String::as_str))
    }

    /// Look at what is there now and rank it. What is known takes no place. Blocks.
    pub fn candidates(&self, wish: &Wish) -> Candidates {
        let mut inner = self.lock();
        // A memory that is being changed by somebody else is searched as it was.
        let unseen = inner.memory.refresh().err();
        let Inner { memory, finder } = &mut *inner;
        let Caught { mut skipped, .. } = finder.catch_up(memory);
        skipped.extend(unseen.map(|error| error.to_string()));
        let most = |limit: u64| usize::try_from(limit).unwrap_or(usize::MAX);
        let mut query = Query::new(&wish.query, wish.now.clone(), most(self.limits.recall_candidates));
        query.meaning = wish.meaning.as_deref();
        // What is about the user, or how to work, is not recalled before the user's yes.
        let waits = |entry: &Entry| matches!(entry.kind, Kind::User | Kind::Feedback) && memory.is_unconfirmed(entry);
        let known = |entry: &Entry| wish.known.contains(&self.dir.join(&entry.path)) || is_from(memory, entry, wish);
        let without = |entry: &Entry| known(entry) || waits(entry);
        let ranked = finder.find(memory, &query, without);
        let best = self.likely(memory, &ranked).into_iter().take(most(self.limits.recall_places)).collect();
        let mut entries: Vec<_> = ranked.iter().map(|found| found.entry).collect();
        let mut sources = Sources::new(&self.limits);
        let listed: BTreeSet<&str> = entries.iter().map(|entry| entry.path.as_str()).collect();
        let mut rest: Vec<_> = memory.scan().entries.iter().filter(|entry| !listed.contains(&*entry.path)).collect();
        rest.sort_by_key(|entry| std::cmp::Reverse(entry.stamp.modified));
        entries.retain(|entry| sources.admit(memory, entry));
        entries.extend(rest.into_iter().filter(|entry| !without(entry) && sources.admit(memory, entry)));
        let manifest = entries.into_iter().take(query.limit).map(|entry| {
            let line = shown::manifest_line(entry.kind.as_str(), &entry.path, entry.modified(), &entry.description);
            (entry.path.clone(), line)
        });
        let manifest = manifest.collect();
        Candidates { best, manifest, skipped }
    }

    /// What is likely enough wanted to be shown unasked, likeliest first; of what nobody vouches for only a few, and likelier.
    fn likely(&self, memory: &Memory, ranked: &[Found<'_>]) -> Vec<String> {
        let floor = |found: &Found<'_>| match memory.is_unconfirmed(found.entry) {
            true => hundredths(self.limits.recall_push_floor_unconfirmed),
            false => hundredths(self.limits.recall_push_floor),
        };
        let mut likely: Vec<&Found<'_>> = ranked.iter().filter(|found| found.hit.relevance >= floor(found)).collect();
        likely.sort_by(|a, b| b.hit.relevance.total_cmp(&a.hit.relevance));
        let mut room = self.limits.recall_tainted_places;
        let admitted = likely.into_iter().filter(|found| !memory.is_unconfirmed(found.entry) || take(&mut room));
        admitted.map(|found| found.entry.path.clone()).collect()
    }

    /// Whether finding asks nobody outside of this program.
    pub fn is_local(&self) -> bool {
        self.embedder.is_none()
    }

    /// What some words mean, where there is a model for that, after it has read as many of the memories it does not know as
    /// it manages in time; and why words alone have to do, if so. The memory is nobody's while the model is waited for.
    pub async fn meaning(&self, words: &str) -> (Option<Vec<f32>>, Option<String>) {
        let Some(embedder) = self.embedder.clone() else { return (None, None) };
        let until = Instant::now() + Duration::from_millis(self.limits.embedding_wait_ms);
        let asked = match meaning::ask(&*embedder, words, until).await {
            Ok(asked) => asked,
            Err(why) => return (None, Some(why)),
        };
        let (memory, model) = (self.clone(), embedder.name().to_owned());
        let unread = tokio::task::spawn_blocking(move || memory.unread(&model)).await.unwrap_or_default();
        let learned = meaning::read(&*embedder, &unread, until, &self.limits).await;
        let (memory, missing) = (self.clone(), learned.missing.clone());
        let kept = tokio::task::spawn_blocking(move || memory.lock().finder.learn(&learned)).await;
        (Some(asked), missing.or(kept.ok().flatten()))
    }

    fn unread(&self, model: &str) -> Vec<meaning::Unread> {
        let mut inner = self.lock();
        let Inner { memory, finder } = &mut *inner;
        // What cannot be looked at is reported by the search itself.
        memory.refresh().map(|_| ()).unwrap_or_default();
        finder.catch_up(memory);
        finder.unread(memory, model)
    }

    /// The memories at these paths as they are now, with what they mention that is gone from `root`. One that cannot be
    /// read is left out. Blocks.
    pub fn recollections(&self, paths: &[String], root: &Path, stop: &CancellationToken) -> Vec<Recollection> {
        let read = |path: &String| {
            let (found, from) = self.with(|memory| (memory.text(path), foreign_source(memory, path)));
            let (entry, text) = found.ok()??;
            let (path, changed) = (self.dir.join(path), entry.modified());
            Some(Recollection { path, text, changed, gone: Vec::new(), from })
        };
        let mut found: Vec<Recollection> = paths.iter().filter_map(read).collect();
        let texts: Vec<_> = found.iter().map(|one| freshness::Memory { path: &one.path, text: &one.text }).collect();
        let gone = freshness::drift(&texts, root, &self.limits, stop);
        found.iter_mut().zip(gone).for_each(|(one, gone)| one.gone = gone);
        found
    }
}

/// A limit in hundredths as a share.
fn hundredths(limit: u64) -> f32 {
    limit as f32 / 100.0
}

/// Whether a memory was made from something that the model still sees.
fn is_from(memory: &Memory, entry: &Entry, wish: &Wish) -> bool {
    let sources = memory.rests_on(&entry.path).into_iter().flat_map(|basis| &basis.sources);
    sources.into_iter().any(|source| source.session == wish.session && wish.said.contains(&source.message))
}

/// Whether there was room for one more.
fn take(room: &mut u64) -> bool {
    let free = *room > 0;
    *room = room.saturating_sub(1);
    free
}

/// Where a memory comes from that the user neither said nor confirmed.
fn foreign_source(memory: &Memory, path: &str) -> Option<String> {
    let basis = memory.rests_on(path).filter(|basis| matches!(basis.trust, Trust::Tainted | Trust::Shared))?;
    let mut from: Vec<String> = basis.sources.iter().map(|source| named(&source.speaker)).collect();
    from.sort();
    from.dedup();
    Some(if from.is_empty() { "somebody else".to_owned() } else { from.join(", ") })
}
