//! The meaning of documents as vectors, when the person has a model that makes them. Without one nothing here is used.

use super::cache::{Reader, Writer};
use crate::model::Pending;
use rustc_hash::FxHashMap;
use std::fmt::Debug;

/// Makes vectors of texts: a local model file, or an endpoint. The engine has none of its own.
pub trait Embedder: Debug + Send + Sync {
    /// What its vectors are filed under: those of another model do not fit.
    fn name(&self) -> &str;

    /// One vector for each text, in order; all of one length. Dropping the future cancels the work.
    fn embed<'a>(&'a self, texts: &'a [String]) -> Pending<'a, Result<Vec<Vec<f32>>, String>>;
}

/// The vectors of one model, by the fingerprint of the text.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Vectors {
    model: String,
    known: FxHashMap<u64, Vec<f32>>,
}

/// Changes whenever the bytes change.
const MAGIC: &[u8; 8] = b"sjvecto1";

impl Vectors {
    /// None yet.
    pub fn of(model: &str) -> Self {
        Self { model: model.to_owned(), known: FxHashMap::default() }
    }

    /// The model that made them.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Whether a text's vector is there.
    pub fn knows(&self, text: u64) -> bool {
        self.known.contains_key(&text)
    }

    /// Keep a text's vector. One that says nothing, or is not as long as the others, is not kept.
    pub fn learn(&mut self, text: u64, vector: &[f32]) {
        let fits = self.known.values().next().is_none_or(|other| other.len() == vector.len());
        if let Some(vector) = unit(vector).filter(|_| fits) {
            self.known.insert(text, vector);
        }
    }

    /// Keep only the vectors of these texts. Whether any went.
    pub fn keep_only(&mut self, is_wanted: impl Fn(u64) -> bool) -> bool {
        let before = self.known.len();
        self.known.retain(|text, _| is_wanted(*text));
        self.known.len() < before
    }

    /// How near a text's meaning is to a question's, from -1 to 1, if its vector is known and fits.
    pub(super) fn nearness(&self, text: u64, question: &[f32]) -> Option<f32> {
        let vector = self.known.get(&text).filter(|vector| vector.len() == question.len())?;
        Some(vector.iter().zip(question).map(|(a, b)| a * b).sum())
    }

    /// In a form of their own, checksummed.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut body = Writer::default();
        body.text(&self.model);
        body.number(self.known.values().next().map_or(0, Vec::len) as u64);
        body.number(self.known.len() as u64);
        let mut texts: Vec<&u64> = self.known.keys().collect();
        texts.sort_unstable();
        for text in texts {
            body.raw(&text.to_le_bytes());
            self.known[text].iter().for_each(|value| body.raw(&value.to_le_bytes()));
        }
        body.sealed(MAGIC)
    }

    /// What was written, or nothing when these are not its bytes, whole, of this version and of this model.
    pub fn from_bytes(bytes: &[u8], model: &str) -> Option<Self> {
        let mut reader = Reader::unsealed(bytes, MAGIC)?;
        if reader.text()? != model {
            return None;
        }
        let length = reader.count()?;
        let mut vectors = Self::of(model);
        for _ in 0..reader.count()? {
            let text = u64::from_le_bytes(reader.raw(8)?.try_into().ok()?);
            let (values, _) = reader.raw(length.checked_mul(4)?)?.as_chunks::<4>();
            vectors.known.insert(text, values.iter().map(|value| f32::from_le_bytes(*value)).collect());
        }
        Some(vectors)
    }
}

/// A vector scaled to length one; nothing when it has no direction.
pub(super) fn unit(vector: &[f32]) -> Option<Vec<f32>> {
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    (length.is_normal()).then(|| vector.iter().map(|x| x / length).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn vectors() -> Vectors {
        let mut vectors = Vectors::of("m");
        vectors.learn(1, &[3.0, 4.0]);
        vectors.learn(2, &[0.0, 1.0]);
        vectors
    }

    // spec: L8
    #[test]
    fn a_vector_that_does_not_fit_is_not_kept() {
        let mut vectors = vectors();
        for odd in [&[1.0][..], &[0.0, 0.0], &[f32::NAN, 1.0], &[f32::INFINITY, 1.0], &[]] {
            vectors.learn(3, odd);
        }
        assert_eq!((vectors.len(), vectors.knows(3)), (2, false));
        let near = vectors.nearness(1, &[0.0, 1.0]).unwrap();
        assert!((near - 0.8).abs() < 1e-6, "scaled to length one: {near}");
        assert_eq!(vectors.nearness(1, &[1.0]), None, "a question of another length is no question");
        assert!(vectors.keep_only(|text| text == 2) && !vectors.keep_only(|text| text == 2));
        assert!(!vectors.knows(1) && vectors.knows(2));
    }

    // spec: L9
    #[test]
    fn what_was_kept_is_read_back_for_the_same_model_only() {
        let bytes = vectors().to_bytes();
        assert_eq!(Vectors::from_bytes(&bytes, "m"), Some(vectors()));
        assert_eq!(Vectors::from_bytes(&bytes, "n"), None);
        assert_eq!(Vectors::from_bytes(&Vectors::of("m").to_bytes(), "m"), Some(Vectors::of("m")));
    }

    proptest! {
        // spec: L9
        #[test]
        fn damaged_vectors_are_none(at in 0usize..62, flip in 1u8..=255, cut in 0usize..62) {
            let whole = vectors().to_bytes();
            let mut damaged = whole.clone();
            let at = at % damaged.len();
            damaged[at] ^= flip;
            prop_assert_eq!(Vectors::from_bytes(&damaged, "m"), None);
            prop_assert_eq!(Vectors::from_bytes(&whole[..cut.min(whole.len() - 1)], "m"), None);
        }
    }
}
