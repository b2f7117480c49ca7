//! Credentials in a text: found, named by their rule, and replaced.
//!
//! A table of rules in the format of gitleaks (`rules.toml`) says what the tokens of many vendors look like, and how people and files
//! give a password to a name. One pass over the text finds the words that announce them; only there a pattern is tried, and compiled
//! when it is tried first. A credential with a form of its own is *specific*; one that is told by its name or place is *generic*.

mod decode;
mod rules;
mod shape;
#[cfg(test)]
mod tests;
mod view;

use aho_corasick::AhoCorasick;
use rules::RuleTable;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;
use view::View;
pub(crate) use view::is_invisible;

/// How sure a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// It is told by its name or its place.
    Generic,
    /// It has the face of one vendor's credential, or is a value that was known to be secret.
    Specific,
}

/// A credential in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The rule that found it.
    pub rule: String,
    /// The bytes it takes.
    pub span: Range<usize>,
    /// How sure that is.
    pub certainty: Certainty,
}

static OWN: LazyLock<Rules> = LazyLock::new(Rules::new);

/// The credentials in `text` by our own rules, in order and apart from each other.
pub fn scan(text: &str) -> Vec<Finding> {
    OWN.scan(text)
}

/// `text` with every credential replaced, by our own rules.
pub fn redact(text: &str, key: &[u8]) -> String {
    OWN.redact(text, key)
}

/// `text` with every credential replaced by `[REDACTED:rule]`: where nobody needs to know which of them were the same.
pub fn veiled(text: &str) -> String {
    OWN.replaced(text, |rule, _| format!("[REDACTED:{rule}]"))
}

/// `text` with every credential left out: for titles, names of files and lines of an index.
pub fn left_out(text: &str) -> String {
    OWN.replaced(text, |_, _| "…".to_owned())
}

/// The rule that finds a credential in the name of a file, in which words are joined by `_`.
pub fn in_file_name(path: &str) -> Option<String> {
    let words = path.replace(['_', '/'], " ");
    let words = words.strip_suffix(".md").unwrap_or(&words);
    scan(path).into_iter().chain(scan(words)).next().map(|found| found.rule)
}

/// Shorter values would be found in ordinary words.
const KNOWN_LEAST: usize = 12;

/// The rules in force.
pub struct Rules {
    tables: Vec<RuleTable>,
    known: Option<AhoCorasick>,
    problems: Vec<String>,
}

impl Default for Rules {
    fn default() -> Self {
        Self::new()
    }
}

impl Rules {
    /// Our own rules.
    pub fn new() -> Self {
        Self { tables: vec![RuleTable::own()], known: None, problems: Vec::new() }
    }

    /// With the rules of a file in the format of gitleaks besides. What of it cannot be used is in [`Self::problems`].
    #[must_use]
    pub fn with_file(mut self, text: &str) -> Self {
        match RuleTable::read(text) {
            Ok(table) => self.tables.push(table),
            Err(error) => {
                self.problems.push(format!("the file of credential rules cannot be read and is left out: {error}"))
            }
        }
        self
    }

    /// With values that are known to be secret: the keys in use. Those under twelve bytes are left out.
    #[must_use]
    pub fn with_known<'v>(mut self, values: impl IntoIterator<Item = &'v str>) -> Self {
        let values: Vec<&str> = values.into_iter().filter(|value| value.len() >= KNOWN_LEAST).collect();
        match AhoCorasick::new(&values) {
            Ok(known) => self.known = (!values.is_empty()).then_some(known),
            Err(error) => self.problems.push(format!("the known values cannot be searched for: {error}")),
        }
        self
    }

    /// What cannot be used of the rules, in sentences. It compiles every pattern, which takes a moment.
    pub fn problems(&self) -> Vec<String> {
        let tables = self.tables.iter().flat_map(RuleTable::problems);
        self.problems.iter().cloned().chain(tables).collect()
    }

    /// The credentials in `text`, in order and apart from each other.
    ///
    /// It is read without invisible characters and with look-alike forms made plain; what decodes to a credential is one too.
    pub fn scan(&self, text: &str) -> Vec<Finding> {
        let view = View::of(text);
        let mut found = self.plain(&view);
        for (run, decoded) in decode::runs(view.text()) {
            let best = self.plain(&View::of(&decoded)).into_iter().max_by_key(|finding| finding.certainty);
            found.extend(best.map(|finding| Finding { span: view.origin(run), ..finding }));
        }
        apart(found)
    }

    fn plain(&self, view: &View<'_>) -> Vec<Finding> {
        let mut found: Vec<Finding> = Vec::new();
        for hit in self.tables.iter().flat_map(|table| table.find(view)) {
            let certainty = if hit.is_generic { Certainty::Generic } else { Certainty::Specific };
            found.push(Finding { rule: hit.rule.to_owned(), span: hit.span, certainty });
        }
        for value in self.known.iter().flat_map(|known| known.find_iter(view.text())) {
            let span = view.origin(value.range());
            found.push(Finding { rule: "known-value".to_owned(), span, certainty: Certainty::Specific });
        }
        found
    }

    /// `text` with every credential replaced by `[REDACTED:rule:mark]`. The mark is the same for the same credential and key, and tells
    /// nothing about it without the key.
    pub fn redact(&self, text: &str, key: &[u8]) -> String {
        self.replaced(text, |rule, secret| format!("[REDACTED:{rule}:{}]", mark(key, secret)))
    }

    fn replaced(&self, text: &str, by: impl Fn(&str, &str) -> String) -> String {
        let mut text = text.to_owned();
        // What was hidden by its neighbour shows once that is gone.
        for _ in 0..PASSES {
            let found = self.scan(&text);
            if found.is_empty() {
                break;
            }
            let mut out = String::with_capacity(text.len());
            let mut from = 0;
            for finding in found {
                out.push_str(&text[from..finding.span.start]);
                out.push_str(&by(&finding.rule, &text[finding.span.clone()]));
                from = finding.span.end;
            }
            out.push_str(&text[from..]);
            text = out;
        }
        text
    }
}

const PASSES: usize = 8;

/// In order, the surest and then the longest of those that overlap.
fn apart(mut found: Vec<Finding>) -> Vec<Finding> {
    found.sort_by_key(|finding| (std::cmp::Reverse((finding.certainty, finding.span.len())), finding.span.start));
    let mut kept: BTreeMap<usize, Finding> = BTreeMap::new();
    for finding in found {
        // Those kept lie apart, so only the last one that begins before this one ends can overlap it.
        let before = kept.range(..finding.span.end).next_back().map(|(_, other)| other.span.end);
        if !finding.span.is_empty() && before.is_none_or(|end| end <= finding.span.start) {
            kept.insert(finding.span.start, finding);
        }
    }
    kept.into_values().collect()
}

/// Eight hexadecimal digits of an HMAC with SHA-256.
fn mark(key: &[u8], secret: &str) -> String {
    hmac(key, secret.as_bytes())[..4].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// HMAC (RFC 2104) over SHA-256.
fn hmac(key: &[u8], message: &[u8]) -> [u8; 32] {
    use sha2::{Digest as _, Sha256};
    let mut block = [0_u8; 64];
    if key.len() > block.len() {
        block[..32].copy_from_slice(&Sha256::digest(key));
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let inner = Sha256::new().chain_update(block.map(|byte| byte ^ 0x36)).chain_update(message).finalize();
    Sha256::new().chain_update(block.map(|byte| byte ^ 0x5c)).chain_update(inner).finalize().into()
}
