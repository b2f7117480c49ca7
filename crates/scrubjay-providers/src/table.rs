//! A static model for meanings: a table with a row for each piece of a word, and the file that says how text is cut into
//! pieces. A text means the mean of its rows. Any `.safetensors` file with one table and its `tokenizer.json` will do.

use scrubjay::memory::recall::Embedder;
use scrubjay::model::Pending;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokenizers::Tokenizer;

/// No static model is larger; a file that is has something else in it.
const TABLE_BYTES: u64 = 4 << 30;
/// The length of a table's head is written in so many bytes.
const HEAD: usize = 8;
/// Tables that are not one row for each piece.
const REFUSED: [&str; 2] = ["mapping", "weights"];

/// The model.
#[derive(Debug)]
pub(crate) struct Table {
    name: String,
    inner: Arc<Inner>,
}

struct Inner {
    pieces: Tokenizer,
    bytes: Vec<u8>,
    start: usize,
    number: Number,
    rows: usize,
    width: usize,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner").field("rows", &self.rows).field("width", &self.width).finish_non_exhaustive()
    }
}

/// How a number is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Number {
    Full,
    Half,
    Brain,
}

#[derive(Deserialize)]
struct Tensor {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: [usize; 2],
}

impl Table {
    /// Read a folder with both files, or a table whose other file lies beside it.
    pub(crate) fn open(path: &Path) -> Result<Self, String> {
        let failed = |what: &Path, why: &dyn std::fmt::Display| {
            format!("the model for meanings at {} cannot be used: {why}", what.display())
        };
        let folder = if path.is_dir() { path } else { path.parent().unwrap_or(path) };
        let table = if path.is_dir() { named(folder, "model.safetensors", ".safetensors") } else { Some(path.into()) };
        let table = table.ok_or_else(|| failed(folder, &"there is no .safetensors file in it"))?;
        let words = named(folder, "tokenizer.json", "tokenizer_config.json");
        let words = words.ok_or_else(|| failed(folder, &"there is no tokenizer.json in it"))?;
        let size = std::fs::metadata(&table).map_err(|error| failed(&table, &error))?.len();
        if size > TABLE_BYTES {
            return Err(failed(&table, &format!("it has {size} bytes, which no table of words has")));
        }
        let bytes = std::fs::read(&table).map_err(|error| failed(&table, &error))?;
        let mut pieces = Tokenizer::from_file(&words).map_err(|error| failed(&words, &error))?;
        pieces.with_padding(None);
        pieces.with_truncation(None).map_err(|error| failed(&words, &error))?;
        let inner = Inner::of(bytes, pieces).map_err(|why| failed(&table, &why))?;
        // Another file of the same name is told by its size.
        let name = format!("{} ({size} bytes)", table.display());
        Ok(Self { name, inner: Arc::new(inner) })
    }
}

/// The file of this name, else the only one that ends so.
fn named(folder: &Path, name: &str, ending: &str) -> Option<PathBuf> {
    let usual = folder.join(name);
    if usual.is_file() {
        return Some(usual);
    }
    let entries = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = entries.filter(|path| path.to_string_lossy().ends_with(ending)).collect();
    found.pop().filter(|_| found.is_empty())
}

impl Inner {
    fn of(bytes: Vec<u8>, pieces: Tokenizer) -> Result<Self, String> {
        let broken = || "it is not a whole safetensors file".to_owned();
        let (length, rest) = bytes.split_first_chunk::<HEAD>().ok_or_else(broken)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| broken())?;
        let head = rest.get(..length).ok_or_else(broken)?;
        let head: BTreeMap<String, serde_json::Value> = serde_json::from_slice(head).map_err(|_| broken())?;
        if let Some(odd) = REFUSED.iter().find(|name| head.contains_key(**name)) {
            return Err(format!(
                "it has `{odd}`, which this program does not read; take the model without vocabulary quantisation"
            ));
        }
        let tensors = head.into_iter().filter(|(name, _)| name != "__metadata__");
        let tables: Vec<Tensor> =
            tensors.filter_map(|(_, tensor)| serde_json::from_value(tensor).ok()).filter(is_table).collect();
        let [Tensor { dtype, shape, data_offsets: [from, to] }] = tables.as_slice() else {
            return Err(format!("it holds {} tables, and one is needed", tables.len()));
        };
        let (number, size) = match dtype.as_str() {
            "F32" => (Number::Full, 4),
            "F16" => (Number::Half, 2),
            "BF16" => (Number::Brain, 2),
            other => return Err(format!("its numbers are {other}, and F32, F16 and BF16 are read")),
        };
        let (rows, width, start) = (shape[0], shape[1], HEAD + length + from);
        let fits = rows.checked_mul(width).and_then(|all| all.checked_mul(size)) == to.checked_sub(*from);
        if !fits || width == 0 || (HEAD + length).checked_add(*to).is_none_or(|end| end > bytes.len()) {
            return Err(broken());
        }
        Ok(Self { pieces, start, number, rows, width, bytes })
    }

    fn value(&self, at: usize) -> f32 {
        let byte = |offset: usize| self.bytes.get(offset).copied().unwrap_or_default();
        match self.number {
            Number::Full => {
                let at = self.start + 4 * at;
                f32::from_le_bytes([byte(at), byte(at + 1), byte(at + 2), byte(at + 3)])
            }
            Number::Half => half(u16::from_le_bytes([byte(self.start + 2 * at), byte(self.start + 2 * at + 1)])),
            Number::Brain => f32::from_le_bytes([0, 0, byte(self.start + 2 * at), byte(self.start + 2 * at + 1)]),
        }
    }

    /// The mean of the rows of a text's pieces; zeros when there are none.
    fn vector(&self, text: &str) -> Result<Vec<f32>, String> {
        let cut = self.pieces.encode(text, false).map_err(|error| format!("a text could not be cut up: {error}"))?;
        let ids = cut.get_ids().iter().map(|id| *id as usize).filter(|id| *id < self.rows);
        let mut sum = vec![0.0; self.width];
        for id in ids {
            sum.iter_mut().enumerate().for_each(|(at, sum)| *sum += self.value(id * self.width + at));
        }
        let count = cut.get_ids().len().max(1) as f32;
        sum.iter_mut().for_each(|sum| *sum /= count);
        Ok(sum)
    }
}

fn is_table(tensor: &Tensor) -> bool {
    tensor.shape.len() == 2
}

/// A number of sixteen bits: a sign, five bits of exponent, ten of fraction.
fn half(bits: u16) -> f32 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from((bits >> 10) & 0x1f), f32::from(bits & 0x3ff) / 1024.0);
    match exponent {
        0 => sign * fraction * 2f32.powi(-14),
        0x1f if fraction == 0.0 => sign * f32::INFINITY,
        0x1f => f32::NAN,
        _ => sign * (1.0 + fraction) * 2f32.powi(exponent - 15),
    }
}

impl Embedder for Table {
    fn name(&self) -> &str {
        &self.name
    }

    fn embed<'a>(&'a self, texts: &'a [String]) -> Pending<'a, Result<Vec<Vec<f32>>, String>> {
        let (inner, texts) = (Arc::clone(&self.inner), texts.to_vec());
        Box::pin(async move {
            let reading = move || texts.iter().map(|text| inner.vector(text)).collect();
            tokio::task::spawn_blocking(reading).await.map_err(|error| error.to_string())?
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: &str = r#"{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":{"type":"Lowercase"},
        "pre_tokenizer":{"type":"Whitespace"},"post_processor":null,"decoder":null,
        "model":{"type":"WordLevel","vocab":{"[UNK]":0,"bird":1,"jay":2,"tea":3},"unk_token":"[UNK]"}}"#;

    fn table(dtype: &str, numbers: &[u8]) -> Vec<u8> {
        let head = format!(
            r#"{{"__metadata__":{{}},"t":{{"dtype":"{dtype}","shape":[4,2],"data_offsets":[0,{}]}}}}"#,
            numbers.len()
        );
        [&(head.len() as u64).to_le_bytes()[..], head.as_bytes(), numbers].concat()
    }

    fn folder(table: &[u8]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("words.safetensors"), table).unwrap();
        std::fs::write(folder.path().join("tokenizer.json"), WORDS).unwrap();
        folder
    }

    const ROWS: [f32; 8] = [0.0, 0.0, 1.0, 0.0, 0.5, 0.5, 0.0, -2.0];

    // spec: L8
    #[tokio::test]
    async fn a_text_means_the_mean_of_its_rows() {
        let full: Vec<u8> = ROWS.iter().flat_map(|value| value.to_le_bytes()).collect();
        let brain: Vec<u8> = ROWS.iter().flat_map(|value| value.to_le_bytes()[2..].to_vec()).collect();
        let halves: [u16; 8] = [0, 0, 0x3c00, 0, 0x3800, 0x3800, 0, 0xc000];
        let halves: Vec<u8> = halves.iter().flat_map(|value| value.to_le_bytes()).collect();
        for (dtype, numbers) in [("F32", full), ("F16", halves), ("BF16", brain)] {
            let folder = folder(&table(dtype, &numbers));
            let table = Table::open(folder.path()).unwrap();
            let texts = ["Jay bird".to_owned(), "tea".to_owned(), String::new()];
            let vectors = table.embed(&texts).await.unwrap();
            assert_eq!(vectors, [vec![0.75, 0.25], vec![0.0, -2.0], vec![0.0, 0.0]], "{dtype}");
            let by_file = Table::open(&folder.path().join("words.safetensors")).unwrap();
            assert_eq!(by_file.name(), table.name());
        }
    }

    #[test]
    fn what_is_no_model_says_why() {
        let whole = table("F32", &[0; 32]);
        let said = |table: &[u8]| Table::open(folder(table).path()).unwrap_err();
        for cut in [0, 7, 20, whole.len() - 1] {
            assert!(said(&whole[..cut]).contains("not a whole safetensors file"), "{cut}");
        }
        assert!(said(&table("I8", &[0; 8])).contains("F16"));
        assert!(said(&table("F32", &[0; 31])).contains("not a whole"));
        let empty = tempfile::tempdir().unwrap();
        assert!(Table::open(empty.path()).unwrap_err().contains("no .safetensors"));
        assert!(Table::open(&empty.path().join("none")).unwrap_err().contains("tokenizer.json"));
        assert!(half(0x7c00).is_infinite() && half(0x7e00).is_nan());
    }
}
