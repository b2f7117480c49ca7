//! Vectors of texts: from an endpoint that speaks the OpenAI embeddings dialect, or from a model file.

use crate::address::Address;
use crate::choice::{ConnectError, OPENAI_HOST};
use crate::exchange::Question;
use crate::keys::{EMBEDDINGS_KEY, Keys};
use crate::wire::{Auth, Wire};
use scrubjay::limits::Limits;
use scrubjay::memory::recall::Embedder;
use scrubjay::model::Pending;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

const EMBEDDINGS: &str = "/v1/embeddings";
/// The vendor's own smallest.
const OPENAI_MODEL: &str = "text-embedding-3-small";

/// What a person named: the URL of an endpoint, or a model on this machine. Nothing is sent yet.
pub fn embedder(named: &str, model: &str, keys: &Keys, limits: &Limits) -> Result<Arc<dyn Embedder>, ConnectError> {
    if is_url(named) {
        return Ok(Arc::new(Endpoint::new(named, model, keys, limits)?));
    }
    local(Path::new(named))
}

/// Whether this names a place on the network rather than a file.
fn is_url(named: &str) -> bool {
    named.contains("://")
}

#[cfg(feature = "embed")]
fn local(path: &Path) -> Result<Arc<dyn Embedder>, ConnectError> {
    crate::table::Table::open(path).map(|table| Arc::new(table) as Arc<dyn Embedder>).map_err(ConnectError::Unusable)
}

#[cfg(not(feature = "embed"))]
fn local(path: &Path) -> Result<Arc<dyn Embedder>, ConnectError> {
    Err(ConnectError::Unusable(format!(
        "this program was built without reading model files, so {} is of no use; name the URL of an embedding service, or \
         build with `--features embed`",
        path.display()
    )))
}

/// An endpoint that makes vectors.
struct Endpoint {
    wire: Wire,
    name: String,
    model: Option<String>,
}

/// The wire holds a key.
impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Endpoint").field("name", &self.name).finish_non_exhaustive()
    }
}

#[derive(Serialize)]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    input: &'a [String],
    encoding_format: &'static str,
}

#[derive(Deserialize)]
struct Made {
    data: Vec<Vector>,
}

#[derive(Deserialize)]
struct Vector {
    index: Option<usize>,
    embedding: Vec<f32>,
}

impl Endpoint {
    fn new(url: &str, model: &str, keys: &Keys, limits: &Limits) -> Result<Self, ConnectError> {
        // People paste the whole path too.
        let address = Address::read(url.trim().trim_end_matches('/').trim_end_matches("/embeddings"))?;
        let is_vendor = address.is_host(OPENAI_HOST);
        // The vendor's key is for the vendor alone.
        let key = keys.embeddings_key.as_ref().or(keys.openai_key.as_ref().filter(|_| is_vendor));
        let auth = match key {
            Some(_) if !address.is_private() => return Err(ConnectError::Unencrypted(address.host())),
            Some(key) => Auth::Bearer(key.clone()),
            None if is_vendor => {
                let names = "OPENAI_API_KEY or SCRUBJAY_EMBEDDINGS_KEY";
                return Err(ConnectError::NoKey { host: address.host(), names });
            }
            None => Auth::None,
        };
        let model = Some(model).filter(|model| !model.is_empty()).or(is_vendor.then_some(OPENAI_MODEL));
        let name = format!("{} at {}", model.unwrap_or("the embedding model"), address.host());
        let wire = Wire::new(address, auth, limits.clone()).map_err(ConnectError::Unusable)?;
        Ok(Self { wire, name, model: model.map(str::to_owned) })
    }

    async fn ask(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, String> {
        let body = Body { model: self.model.as_deref(), input: texts, encoding_format: "float" };
        let body = serde_json::to_string(&body).map_err(|error| error.to_string())?;
        let model = self.model.as_deref().unwrap_or_default();
        let (wire, path, key_name) = (&self.wire, EMBEDDINGS, EMBEDDINGS_KEY);
        let question = Question { wire, path, body, model, key_name, near: &[], reply_room: None };
        let answer = question.ask_plainly(self.wire.limits.event_bytes).await.map_err(|error| error.to_string())?;
        let Some(answer) = answer else {
            let host = self.wire.host();
            return Err(format!("{host} has no {EMBEDDINGS}; check the setting `recall.embeddings`"));
        };
        read(&answer, texts.len()).ok_or_else(|| {
            format!("{} did not answer with one vector for each of {} texts", self.wire.host(), texts.len())
        })
    }
}

/// The vectors of an answer, in the order of their texts.
pub(crate) fn read(answer: &str, texts: usize) -> Option<Vec<Vec<f32>>> {
    let Made { data } = serde_json::from_str(answer).ok()?;
    let mut vectors: Vec<Option<Vec<f32>>> = vec![None; texts];
    for (at, vector) in data.into_iter().enumerate() {
        *vectors.get_mut(vector.index.unwrap_or(at))? = Some(vector.embedding);
    }
    vectors.into_iter().collect()
}

impl Embedder for Endpoint {
    fn name(&self) -> &str {
        &self.name
    }

    fn embed<'a>(&'a self, texts: &'a [String]) -> Pending<'a, Result<Vec<Vec<f32>>, String>> {
        Box::pin(self.ask(texts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn keys(names: &[&str]) -> Keys {
        Keys::from_values(&names.iter().map(|name| ((*name).to_owned(), "canary-0123".to_owned())).collect())
    }

    fn said(named: &str, keys: &Keys) -> String {
        embedder(named, "", keys, &Limits::default()).map_or_else(|error| error.to_string(), |it| it.name().to_owned())
    }

    #[test]
    fn vectors_are_read_in_the_order_of_their_texts_or_not_at_all() {
        let whole = r#"{"data":[{"index":1,"embedding":[2,0.5]},{"index":0,"embedding":[1,0]}],"usage":{}}"#;
        assert_eq!(read(whole, 2), Some(vec![vec![1.0, 0.0], vec![2.0, 0.5]]));
        assert_eq!(read(r#"{"data":[{"embedding":[1]},{"embedding":[2]}]}"#, 2), Some(vec![vec![1.0], vec![2.0]]));
        for odd in [
            r#"{"data":[{"index":0,"embedding":[1]}]}"#,
            r#"{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}"#,
            r#"{"data":[{"index":0,"embedding":[1]},{"index":7,"embedding":[1]}]}"#,
            r#"{"data":[{"index":0,"embedding":["x"]},{"index":1,"embedding":[1]}]}"#,
            r#"{"error":"no"}"#,
            "<html>",
            "",
        ] {
            assert_eq!(read(odd, 2), None, "{odd}");
        }
    }

    // safety: F-70
    #[test]
    fn a_key_goes_only_where_it_belongs() {
        let (own, vendor) = (keys(&["SCRUBJAY_EMBEDDINGS_KEY"]), keys(&["OPENAI_API_KEY"]));
        assert!(said("http://h.example/v1", &own).contains("https://"), "a key never travels in the open");
        assert_eq!(said("http://h.example/v1", &vendor), "the embedding model at h.example", "it is not shown the key");
        assert_eq!(said("https://api.openai.com/v1/embeddings", &vendor), "text-embedding-3-small at api.openai.com");
        let missing = said("https://api.openai.com", &Keys::from_values(&BTreeMap::new()));
        assert!(missing.contains("SCRUBJAY_EMBEDDINGS_KEY"), "{missing}");
        let refused = said("https://me:canary@h.example", &own);
        assert!(!refused.contains("canary"), "{refused}");
    }

    #[cfg(not(feature = "embed"))]
    #[test]
    fn a_model_file_needs_a_build_that_reads_it() {
        assert!(said("/models/words", &Keys::default()).contains("--features embed"));
    }
}
