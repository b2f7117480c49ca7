//! The meaning of documents as vectors, when the user has a model that makes them. Without one nothing here is used.

use std::collections::HashMap;

/// Makes vectors of texts: a local model file, or an endpoint. The engine has none of its own.
pub trait Embedder: Send + Sync {
    /// One vector for each text, in order; all of one length.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, String>;
}

/// The vectors of documents, by their ids.
#[derive(Debug, Clone, Default)]
pub struct Vectors {
    known: HashMap<String, Vec<f32>>,
}

impl Vectors {
    /// Keep a document's vector, scaled to length one.
    pub fn insert(&mut self, id: &str, mut vector: Vec<f32>) {
        let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
        if length > 0.0 && length.is_finite() {
            vector.iter_mut().for_each(|x| *x /= length);
            self.known.insert(id.to_owned(), vector);
        }
    }

    /// How near a document's meaning is to `question`, if its vector is known and fits.
    pub fn nearness(&self, id: &str, question: &[f32]) -> Option<f32> {
        let vector = self.known.get(id).filter(|vector| vector.len() == question.len())?;
        Some(vector.iter().zip(question).map(|(a, b)| a * b).sum())
    }
}
