//! From checked memories to the store: one answer of a learner is one change, which one undo takes back.

use super::super::journal::{Cause, ChangeId};
use super::super::provenance::{Basis, Source, Speaker, Trust};
use super::super::store::{Act, Change, Edit, Outcome, What};
use super::super::{
    Entry, Memory, MemoryError, Scope, SharedMemory, Team, Topic, draft, dreaming, index, name, scope_of, similarity,
};
use super::Grounds;
use super::answer::{Action, Draft, LearnerAnswer};
use super::check::{Checked, check};
use super::request::{Reader, Shown};
use crate::digest::Digest;
use crate::event::{MemoryEvent, MemoryQuestion, QuestionId};
use std::collections::BTreeSet;

/// Sources that are kept of one memory, the newest ones.
const SOURCES: usize = 20;

/// What came of an answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Learned {
    /// Clean memories that were written.
    pub saved: Vec<Saved>,
    /// Memories that were kept unconfirmed.
    pub unconfirmed: Vec<Saved>,
    /// Memories that were removed, by path.
    pub removed: Vec<Saved>,
    /// What is there already: what was handed in, and the memory that says it.
    pub known: Vec<(String, String)>,
    /// What was refused: its title, and why.
    pub refused: Vec<(String, String)>,
    /// What the user is asked.
    pub questions: Vec<MemoryQuestion>,
    /// What is worth knowing about the texts.
    pub notes: Vec<String>,
    /// The change that wrote it all.
    pub change: Option<ChangeId>,
}

/// One memory that was written or removed.
#[derive(Debug, Clone, PartialEq)]
pub struct Saved {
    /// Its file.
    pub path: String,
    /// What it is called.
    pub title: String,
    /// What it says.
    pub topic: Topic,
}

impl Learned {
    /// What the user is told.
    pub fn events(&self) -> Vec<MemoryEvent> {
        let mut events = Vec::new();
        let change = self.change.map(|change| change.0);
        events.extend(self.saved.iter().map(|saved| MemoryEvent::Remembered {
            title: saved.title.clone(),
            path: saved.path.clone(),
            change,
        }));
        events.extend(self.removed.iter().map(|gone| MemoryEvent::Forgotten {
            title: gone.title.clone(),
            path: gone.path.clone(),
            change,
        }));
        events.extend(
            self.refused.iter().map(|(title, why)| MemoryEvent::Refused { title: title.clone(), why: why.clone() }),
        );
        events.extend(
            self.known.iter().map(|(title, path)| MemoryEvent::Note(format!("already remembered: {title} ({path})"))),
        );
        events.extend(self.notes.iter().cloned().map(MemoryEvent::Note));
        events.extend(self.questions.iter().cloned().map(MemoryEvent::Question));
        events
    }

    /// Whether anything was written, removed or asked.
    pub fn is_empty(&self) -> bool {
        self.saved.is_empty() && self.unconfirmed.is_empty() && self.removed.is_empty() && self.questions.is_empty()
    }

    /// Take in what came of a second request.
    pub fn and(&mut self, other: Learned) {
        self.saved.extend(other.saved);
        self.unconfirmed.extend(other.unconfirmed);
        self.removed.extend(other.removed);
        self.known.extend(other.known);
        self.refused.extend(other.refused);
        self.questions.extend(other.questions);
        self.notes.extend(other.notes);
        self.change = other.change.or(self.change);
    }
}

/// Apply an answer. An error means that nothing was changed. Blocks.
pub fn apply(
    answer: &LearnerAnswer,
    shown: &Shown,
    grounds: &Grounds,
    memory: &SharedMemory,
) -> Result<Learned, MemoryError> {
    memory.with(|memory| {
        memory.refresh()?;
        let mut applying =
            Applying { memory, shown, grounds, edits: Vec::new(), taken: BTreeSet::new(), learned: Learned::default() };
        let most = usize::try_from(grounds.limits.extraction_saves).unwrap_or(usize::MAX);
        for draft in answer.drafts.iter().take(most) {
            applying.take(draft)?;
        }
        if answer.drafts.len() > most {
            let why =
                format!("one answer saves at most {most} memories; {} more were left out", answer.drafts.len() - most);
            applying.learned.refused.push(("too many memories".to_owned(), why));
        }
        applying.commit()
    })
}

struct Applying<'a> {
    memory: &'a mut Memory,
    shown: &'a Shown,
    grounds: &'a Grounds,
    edits: Vec<(Edit, Fate)>,
    /// Paths that this change writes.
    taken: BTreeSet<String>,
    learned: Learned,
}

/// What an edit comes to.
enum Fate {
    Saved(Saved),
    Unconfirmed(Saved, String),
    Removed(Saved),
}

impl Applying<'_> {
    fn take(&mut self, draft: &Draft) -> Result<(), MemoryError> {
        let most = self.grounds.limits.memory_file_bytes;
        let checked = match draft.topic.body.len() as u64 > most {
            true => Err(format!("it has {} bytes, and a memory may have {most}", draft.topic.body.len())),
            false => check(draft, self.shown, self.grounds),
        };
        let checked = match checked {
            Ok(checked) => checked,
            Err(why) => {
                // What is refused may hold a credential, also in its title.
                self.learned.refused.push((draft::title(&title(draft)), why));
                return Ok(());
            }
        };
        match draft.action {
            Action::Create => self.create(checked),
            Action::Change => self.change(checked),
            Action::Remove => self.remove(checked),
        }
    }

    fn create(&mut self, checked: Checked) -> Result<(), MemoryError> {
        let limits = &self.grounds.limits;
        let Checked { draft, basis, notes } = checked;
        if let Some(path) = self.known(&draft.topic, basis.trust)? {
            self.learned.known.push((title(&draft), path));
            return Ok(());
        }
        let path = self.free_path(&draft, basis.trust);
        let topic = index::fitted(&draft.topic, &path, limits).unwrap_or(draft.topic);
        self.write(Edit::create(path, topic.text()).resting_on(basis), topic, notes);
        Ok(())
    }

    /// The new text of a memory that the learner saw in full. One that it did not see is left alone, and the new text stands beside it.
    fn change(&mut self, checked: Checked) -> Result<(), MemoryError> {
        let file = checked.draft.file.clone().unwrap_or_default();
        let Some((digest, before)) = self.shown.memories.get(&file).cloned() else {
            return self
                .create(Checked { draft: Draft { action: Action::Create, file: None, ..checked.draft }, ..checked });
        };
        let Checked { draft, basis, notes } = checked;
        let text = draft.topic.text_over(&before, &self.grounds.limits);
        if basis.trust == Trust::Tainted {
            return self.propose(&file, &digest, Some(text), basis);
        }
        let basis = with_former(basis, self.memory.rests_on(&file));
        let edit = Edit { base: Some(digest), ..Edit::create(file, text) };
        self.write(edit.resting_on(basis), draft.topic, notes);
        Ok(())
    }

    fn remove(&mut self, checked: Checked) -> Result<(), MemoryError> {
        let Checked { draft, basis, .. } = checked;
        let file = draft.file.clone().unwrap_or_default();
        let listed = self.shown.listed.contains_key(&file);
        let Some((entry, text)) = self.memory.text(&file).ok().flatten().filter(|_| listed) else {
            self.learned.refused.push((title(&draft), "there is no such memory to remove".to_owned()));
            return Ok(());
        };
        if basis.trust == Trust::Tainted {
            return self.propose(&file, &entry.digest, None, basis);
        }
        let topic = Topic::read(&text, &self.grounds.limits);
        if self.taken.insert(entry.path.clone()) {
            let saved = Saved { path: entry.path.clone(), title: topic.name.clone(), topic };
            self.edits.push((Edit::remove(&entry), Fate::Removed(saved)));
        }
        Ok(())
    }

    fn write(&mut self, edit: Edit, topic: Topic, notes: Vec<String>) {
        let most = self.grounds.limits.memory_file_bytes;
        let bytes = match &edit.act {
            Act::Save(text) => text.len() as u64,
            _ => 0,
        };
        if bytes > most {
            self.learned.refused.push((topic.name, format!("it has {bytes} bytes, and a memory may have {most}")));
            return;
        }
        if !self.taken.insert(edit.path.clone()) {
            return;
        }
        let saved = Saved { path: edit.path.clone(), title: topic.name.clone(), topic };
        let doubt = edit.rests_on.as_ref().filter(|basis| matches!(basis.trust, Trust::Tainted | Trust::Shared));
        let fate = match doubt {
            Some(basis) => Fate::Unconfirmed(saved, basis.doubt.clone().unwrap_or_default()),
            None => Fate::Saved(saved),
        };
        self.learned.notes.extend(notes);
        self.edits.push((edit, fate));
    }

    /// A change of a clean memory that is in doubt waits for the user.
    fn propose(&mut self, file: &str, digest: &Digest, after: Option<String>, basis: Basis) -> Result<(), MemoryError> {
        let doubt = basis.doubt.clone().unwrap_or_default();
        let question = dreaming::propose(self.memory, (file, digest), after, basis)?;
        self.learned.questions.extend(question.map(|(id, title, text)| MemoryQuestion { id, title, text, doubt }));
        Ok(())
    }

    /// The memory that says this already. An unconfirmed one says nothing for the user.
    fn known(&self, topic: &Topic, trust: Trust) -> Result<Option<String>, MemoryError> {
        let in_this = self.edits.iter().any(|(edit, _)| matches!(&edit.act, Act::Save(text) if Topic::read(text, &self.grounds.limits).body == topic.body));
        if in_this {
            return Ok(Some("this answer".to_owned()));
        }
        let twin =
            self.memory.text(&topic.file_name())?.filter(|(_, text)| Topic::read(text, &self.grounds.limits) == *topic);
        if let Some((entry, _)) = twin {
            return Ok(Some(entry.path));
        }
        Ok(match trust {
            Trust::Tainted => similarity::known_or_unconfirmed(self.memory, topic),
            _ => similarity::known(self.memory, topic),
        })
    }

    /// A file name that nobody has: with a team by its type, otherwise with the user.
    fn free_path(&self, draft: &Draft, trust: Trust) -> String {
        let topic = &draft.topic;
        let shares = self.memory.place().team == Team::On && trust != Trust::Tainted;
        let scope = if shares { scope_of(topic.kind, &topic.body).0 } else { Scope::Private };
        // A fork names its files; a learner does not.
        let named = draft.file.as_deref().filter(|_| self.shown.reader == Reader::Fork);
        let named =
            named.and_then(|file| file.rsplit('/').next()).filter(|file| name::is_slug(file)).map(str::to_owned);
        free(self.memory, &scope.path(&named.unwrap_or_else(|| topic.file_name())), &self.taken)
    }

    fn commit(self) -> Result<Learned, MemoryError> {
        let Applying { memory, grounds, edits, mut learned, .. } = self;
        if edits.is_empty() {
            return Ok(learned);
        }
        let (edits, fates): (Vec<Edit>, Vec<Fate>) = edits.into_iter().unzip();
        let texts: Vec<(String, Act)> = edits.iter().map(|edit| (edit.path.clone(), edit.act.clone())).collect();
        let upto = grounds.upto.as_ref().map(ToString::to_string);
        let cause = Cause::Extraction { session: grounds.session.to_string(), upto };
        let receipt = memory.commit(Change { cause, edits })?;
        learned.change = receipt.changed().then_some(receipt.change);
        for ((fate, outcome), (_, act)) in fates.into_iter().zip(&receipt.outcomes).zip(&texts) {
            learned.settle(fate, outcome, act, memory);
        }
        Ok(learned)
    }
}

impl Learned {
    fn settle(&mut self, fate: Fate, outcome: &Outcome, act: &Act, memory: &Memory) {
        let moved = |saved: Saved| match &outcome.what {
            What::Conflict(path) => Saved { path: path.clone(), ..saved },
            _ => saved,
        };
        match fate {
            Fate::Removed(saved) if outcome.what == What::Removed => self.removed.push(saved),
            Fate::Removed(saved) => {
                self.refused.push((saved.title, "it was changed in this moment, and stays".to_owned()))
            }
            Fate::Saved(saved) => self.saved.push(moved(saved)),
            Fate::Unconfirmed(saved, doubt) => {
                let saved = moved(saved);
                let text = match act {
                    Act::Save(text) => text.clone(),
                    _ => String::new(),
                };
                let id = QuestionId::Memory { path: saved.path.clone(), digest: digest_of(memory, &saved.path, &text) };
                self.questions.push(MemoryQuestion { id, title: saved.title.clone(), text, doubt });
                self.unconfirmed.push(saved);
            }
        }
    }
}

fn digest_of(memory: &Memory, path: &str, text: &str) -> Digest {
    let known = memory.text(path).ok().flatten().map(|(entry, _)| entry.digest);
    known.unwrap_or_else(|| Digest::of(text.as_bytes()))
}

/// A free file name like the one that is wished for.
pub(in crate::memory) fn free(memory: &Memory, wished: &str, taken: &BTreeSet<String>) -> String {
    let fold = |path: &str| name::fold(path);
    let is_free = |path: &str| {
        !taken.contains(path) && !memory.scan().entries.iter().any(|entry: &Entry| fold(&entry.path) == fold(path))
    };
    if is_free(wished) {
        return wished.to_owned();
    }
    let stem = wished.strip_suffix(".md").unwrap_or(wished);
    let numbered = (2_u64..).map(|number| format!("{stem}_{number}.md"));
    numbered.into_iter().find(|path| is_free(path)).unwrap_or_else(|| wished.to_owned())
}

fn title(draft: &Draft) -> String {
    match (draft.topic.name.trim(), &draft.file) {
        ("", Some(file)) => file.clone(),
        (name, _) => name.to_owned(),
    }
}

/// What was there rests on what it rested on; the user's earlier confirmation holds.
fn with_former(basis: Basis, was: Option<&Basis>) -> Basis {
    let Some(was) = was else { return basis };
    let mut sources: Vec<Source> =
        was.sources.iter().filter(|source| !basis.sources.contains(source)).cloned().collect();
    let Basis { sources: new, mut trust, doubt } = basis;
    sources.extend(new);
    let mut over = sources.len().saturating_sub(SOURCES);
    // Whose facts it took over stays known.
    sources.retain(|source| {
        let goes = over > 0 && !matches!(source.speaker, Speaker::Memory(_));
        over -= usize::from(goes);
        !goes
    });
    if was.trust == Trust::Confirmed && trust == Trust::Clean {
        trust = Trust::Confirmed;
    }
    Basis { sources, trust, doubt }
}
