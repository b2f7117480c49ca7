//! What a dream would have done and did not do by itself, kept for a person: a diff, the reasons, and what it was decided
//! upon.

use super::DreamError;
use super::trial::Tried;
use super::world::Step;
use crate::digest::Digest;
use crate::event::QuestionId;
use crate::memory::diff;
use crate::memory::{Basis, Memory, MemoryError, Topic};
use crate::paths;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};

/// How a proposal stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Somebody should look at it.
    Waiting,
    /// It was applied.
    Applied,
    /// It was rejected, and is neither proposed nor done again.
    Rejected,
}

/// Who proposes a change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Proposer {
    /// A dream.
    #[default]
    Dream,
    /// A session: its learner or its model.
    Session,
}

/// A change of the memory that waits for the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposal {
    /// Its name, made from what it says.
    pub id: String,
    /// Who proposes it.
    #[serde(default)]
    pub by: Proposer,
    /// When it was proposed.
    pub at: Timestamp,
    /// How it stands.
    pub standing: Standing,
    /// When the person decided on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided: Option<Timestamp>,
    /// Why it waits.
    pub reasons: Vec<String>,
    /// What it would do, as `diff -u` shows it.
    pub diff: String,
    /// The same, step by step, with the digests it was decided upon.
    pub steps: Vec<Step>,
    /// What it would come to, as recall and the index see it.
    #[serde(default)]
    pub tried: Tried,
}

impl fmt::Display for Proposal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} · {} · waits because {}", self.id, self.at, self.reasons.join("; "))?;
        f.write_str(&self.diff)
    }
}

impl Proposal {
    pub(super) fn new(at: Timestamp, steps: Vec<Step>, reasons: Vec<String>) -> Self {
        // A memory that says something else since is another matter.
        let base = |step: &Step| step.base.as_ref().map(|base| base.as_str().to_owned()).unwrap_or_default();
        let said = |step: &Step| format!("{}\n{}\n{}\n", step.path, base(step), step.after.as_deref().unwrap_or("\0"));
        let said: String = steps.iter().map(said).collect();
        let id = Digest::of(said.as_bytes()).as_str()[..12].to_owned();
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let diff =
            steps.iter().map(|step| diff::unified(&step.path, &text(&step.before), &text(&step.after))).collect();
        let by = Proposer::Dream;
        Self { id, by, at, standing: Standing::Waiting, decided: None, reasons, diff, steps, tried: Tried::default() }
    }

    fn file(dreams: &Path, id: &str) -> PathBuf {
        // An id comes from a command line; nothing in it may lead elsewhere.
        let plain: String = id.chars().filter(char::is_ascii_alphanumeric).collect();
        dreams.join(format!("{plain}.json"))
    }

    /// Keep it, unless it was proposed before: then whatever became of it stands.
    pub(super) fn keep(&self, dreams: &Path) -> std::io::Result<bool> {
        match Self::file(dreams, &self.id).exists() {
            true => Ok(false),
            false => self.write(dreams).map(|()| true),
        }
    }

    pub(super) fn write(&self, dreams: &Path) -> std::io::Result<()> {
        paths::create_dir_private(dreams)?;
        let json = serde_json::to_vec_pretty(self).map_err(std::io::Error::other)?;
        paths::write_private(&Self::file(dreams, &self.id), &json)
    }

    pub(super) fn read(dreams: &Path, id: &str) -> Result<Self, DreamError> {
        let bytes = std::fs::read(Self::file(dreams, id)).ok();
        let known = bytes.and_then(|bytes| serde_json::from_slice::<Self>(&bytes).ok());
        known.ok_or_else(|| DreamError::NoProposal(id.to_owned()))
    }

    /// Those that stand so, the newest first. What cannot be read is none.
    pub(super) fn standing(dreams: &Path, wanted: &[Standing]) -> Vec<Self> {
        let entries = std::fs::read_dir(dreams).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let ids = names.filter_map(|name| name.strip_suffix(".json").map(str::to_owned));
        let mut found: Vec<Self> = ids.filter_map(|id| Self::read(dreams, &id).ok()).collect();
        found.retain(|proposal| wanted.contains(&proposal.standing));
        found.sort_by(|a, b| b.at.cmp(&a.at).then_with(|| a.id.cmp(&b.id)));
        found
    }
}

/// Propose that a clean memory says something else, or goes. `None` if the user has decided about that before; otherwise its name, its
/// title and its diff.
pub(in crate::memory) fn propose(
    memory: &Memory,
    (path, digest): (&str, &Digest),
    after: Option<String>,
    basis: Basis,
) -> Result<Option<(QuestionId, String, String)>, MemoryError> {
    let before = memory.text(path)?.map(|(_, text)| text);
    let name = before.as_deref().map(|text| Topic::read(text, &memory.limits).name).unwrap_or_default();
    let title = if after.is_some() { format!("change of {name}") } else { format!("removal of {name}") };
    let because = basis.doubt.unwrap_or_default();
    let step = Step {
        path: path.to_owned(),
        base: Some(digest.clone()),
        before,
        after,
        merged: Vec::new(),
        into: None,
        sources: basis.sources,
        cited: Vec::new(),
        keeps_age: false,
        because: because.clone(),
    };
    let proposal = Proposal { by: Proposer::Session, ..Proposal::new(memory.now(), vec![step], vec![because]) };
    let dreams = &memory.place().dreams;
    let decided = Proposal::read(dreams, &proposal.id).is_ok_and(|known| known.standing != Standing::Waiting);
    if decided {
        return Ok(None);
    }
    proposal.keep(dreams)?;
    Ok(Some((QuestionId::Proposal { id: proposal.id.clone() }, title, proposal.diff)))
}
