//! Vectors from a service, as a person would set it.

use crate::data::{Corpus, Failure};
use scrubjay::limits::Limits;
use scrubjay::memory::recall::{Embedder, Index};
use scrubjay_providers::{Keys, embedder};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::runtime::Runtime;

pub struct Meanings {
    embedder: Arc<dyn Embedder>,
    runtime: Runtime,
    limits: Limits,
    /// Corpora repeat each other.
    known: RefCell<HashMap<String, Vec<f32>>>,
}

impl Meanings {
    pub fn at(url: &str) -> Result<Self, Failure> {
        let limits = Limits::default();
        let embedder = embedder(url, "", &Keys::default(), &limits)?;
        Ok(Self { embedder, runtime: Runtime::new()?, limits, known: RefCell::default() })
    }

    /// Teach an index its documents' meanings, and say what the questions mean.
    pub fn of(&self, corpus: &Corpus, index: &mut Index) -> HashMap<String, Vec<f32>> {
        let cut = |text: &str| text[..text.floor_char_boundary(self.limits.embedded_text_bytes as usize)].to_owned();
        let texts: Vec<String> = corpus.documents.iter().map(|document| cut(&document.said())).collect();
        for (document, vector) in corpus.documents.iter().zip(self.vectors(&texts)) {
            index.vectors.learn(document.fingerprint(), &vector);
        }
        let questions: Vec<String> = corpus.questions.iter().map(|question| question.text.clone()).collect();
        let vectors = self.vectors(&questions);
        questions.into_iter().zip(vectors).collect()
    }

    fn vectors(&self, texts: &[String]) -> Vec<Vec<f32>> {
        let mut known = self.known.borrow_mut();
        let unknown: Vec<String> = texts.iter().filter(|text| !known.contains_key(*text)).cloned().collect();
        for batch in unknown.chunks(self.limits.embedding_batch as usize) {
            match self.runtime.block_on(self.embedder.embed(batch)) {
                Ok(vectors) => known.extend(batch.iter().cloned().zip(vectors)),
                Err(why) => println!("no vectors for {} texts: {why}", batch.len()),
            }
        }
        texts.iter().map(|text| known.get(text).cloned().unwrap_or_default()).collect()
    }
}
