//! Finding by meaning, where the person named a model for it: which texts it has yet to read, what it made of them, and the
//! file beside the index in which that is kept. A text that did not change is never read by the model again.
//!
//! Whatever goes wrong here, the words decide alone.

use super::Memory;
use super::find::{Archive, Finder, Kept, Part, memories, part_of};
use super::recall::{Embedder, Vectors};
use crate::limits::Limits;
use crate::paths;
use crate::tools::beginning;
use std::collections::HashSet;
use std::path::PathBuf;
use tokio::time::Instant;

/// A text whose meaning is not known yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread {
    /// Tells it from others.
    pub fingerprint: u64,
    /// As much of it as the model reads.
    pub text: String,
}

/// What a model made of texts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Learned {
    /// Vectors, by the fingerprints of their texts.
    pub vectors: Vec<(u64, Vec<f32>)>,
    /// Why there are not more.
    pub missing: Option<String>,
}

/// The vector of a question, or why there is none by then.
pub async fn ask(embedder: &dyn Embedder, question: &str, until: Instant) -> Result<Vec<f32>, String> {
    let texts = [question.to_owned()];
    let made = tokio::time::timeout_at(until, embedder.embed(&texts)).await;
    let made = made.map_err(|_| late(embedder))??;
    made.into_iter().next().ok_or_else(|| format!("{} gave no vector", embedder.name()))
}

/// Have a model read texts, in batches, as many as it manages until then.
pub async fn read(embedder: &dyn Embedder, unread: &[Unread], until: Instant, limits: &Limits) -> Learned {
    let mut learned = Learned::default();
    let batch = usize::try_from(limits.embedding_batch).unwrap_or(usize::MAX).max(1);
    let reading = async {
        for batch in unread.chunks(batch) {
            let texts: Vec<String> = batch.iter().map(|unread| unread.text.clone()).collect();
            match embedder.embed(&texts).await {
                Ok(made) if made.len() == texts.len() => {
                    learned.vectors.extend(batch.iter().map(|unread| unread.fingerprint).zip(made));
                }
                Ok(made) => {
                    learned.missing =
                        Some(format!("{} gave {} vectors for {} texts", embedder.name(), made.len(), texts.len()));
                    break;
                }
                Err(why) => {
                    learned.missing = Some(why);
                    break;
                }
            }
        }
    };
    if tokio::time::timeout_at(until, reading).await.is_err() {
        learned.missing = Some(late(embedder));
    }
    learned
}

fn late(embedder: &dyn Embedder) -> String {
    format!("{} did not answer in time; what it read is kept, and the next search goes on there", embedder.name())
}

impl Finder {
    /// What a model has yet to read; if there is too much, the newest. Call it after [`Finder::catch_up`]; nothing else is read.
    pub fn unread(&mut self, memory: &Memory, model: &str) -> Vec<Unread> {
        self.kept.recall_meanings(model, &self.limits);
        self.kept.unread(memories(memory, &self.limits), &self.limits)
    }

    /// Keep what a model made of texts; why it cannot be kept for the next start, if so.
    pub fn learn(&mut self, learned: &Learned) -> Option<String> {
        self.kept.learn(learned)
    }
}

impl Archive {
    /// What a model has yet to read; if there is too much, the newest. Call it after [`Archive::catch_up`]; nothing else is read.
    pub fn unread(&mut self, memory: Option<&Memory>, model: &str) -> std::io::Result<Vec<Unread>> {
        self.kept.recall_meanings(model, &self.limits);
        Ok(self.kept.unread(self.parts(memory)?, &self.limits))
    }

    /// Keep what a model made of texts; why it cannot be kept for the next start, if so.
    pub fn learn(&mut self, learned: &Learned) -> Option<String> {
        self.kept.learn(learned)
    }
}

impl Kept {
    fn meanings(&self) -> PathBuf {
        self.file.with_extension("vectors")
    }

    /// Take up what an earlier run kept of this model. What is damaged, or of another model, is no loss but time.
    fn recall_meanings(&mut self, model: &str, limits: &Limits) {
        if self.index.vectors.model() != model {
            let bytes = beginning(&self.meanings(), limits.recall_cache_bytes).unwrap_or_default();
            self.index.vectors = Vectors::from_bytes(&bytes, model).unwrap_or_else(|| Vectors::of(model));
        }
    }

    fn unread(&self, parts: Vec<Part<'_>>, limits: &Limits) -> Vec<Unread> {
        let most = usize::try_from(limits.embedded_texts).unwrap_or(usize::MAX);
        let wanted = self.index.without_meaning(most);
        let ids: HashSet<&str> = wanted.iter().copied().collect();
        let from: HashSet<&str> = wanted.iter().map(|id| part_of(id)).collect();
        let mut unread = Vec::new();
        for part in parts.into_iter().filter(|part| from.contains(part.id.as_str())) {
            // One that cannot be read was reported when the index looked.
            let documents = (part.read)().unwrap_or_default();
            unread.extend(documents.iter().filter(|document| ids.contains(document.id.as_str())).map(|document| {
                let (said, fingerprint) = (document.said(), document.fingerprint());
                let most = usize::try_from(limits.embedded_text_bytes).unwrap_or(usize::MAX);
                Unread { fingerprint, text: said[..said.floor_char_boundary(most)].to_owned() }
            }));
        }
        unread.retain(|unread| !unread.text.is_empty());
        unread.dedup_by_key(|unread| unread.fingerprint);
        unread
    }

    fn learn(&mut self, learned: &Learned) -> Option<String> {
        for (text, vector) in &learned.vectors {
            self.index.vectors.learn(*text, vector);
        }
        let gone = self.index.forget_meanings();
        if learned.vectors.is_empty() && !gone {
            return None;
        }
        let kept = self.file.parent().map_or(Ok(()), paths::create_dir_private);
        let kept = kept.and_then(|()| paths::write_private(&self.meanings(), &self.index.vectors.to_bytes()));
        kept.err().map(|error| error.to_string())
    }
}
