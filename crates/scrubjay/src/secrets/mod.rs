//! Credentials in a text: found, named by their rule, and replaced.
//!
//! A table of rules (`rules.toml`) says what the tokens of many vendors look like. One pass over the text finds the words that announce
//! them; only there a pattern is tried, and compiled when it is tried first. What a rule says by itself is *specific*; what only
//! looks random and has a telling name is *generic*, and worth a question but no refusal.

mod decode;
mod foreign;
mod rules;
mod shape;
mod spoken;
#[cfg(test)]
mod tests;
mod view;

pub use spoken::tells_password;

use aho_corasick::AhoCorasick;
use foreign::Foreign;
use regex::Regex;
use rules::RuleTable;
use std::ops::Range;
use std::sync::LazyLock;
use view::View;
pub(crate) use view::is_invisible;

/// How sure a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// It looks random and has a telling name.
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

/// Shorter values would be found in ordinary words.
const KNOWN_LEAST: usize = 12;

/// The rules in force.
pub struct Rules {
    own: RuleTable,
    foreign: Vec<Foreign>,
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
        Self { own: RuleTable::own(), foreign: Vec::new(), known: None, problems: Vec::new() }
    }

    /// With the rules of a file in the format of gitleaks besides. What of it cannot be used is in [`Self::problems`].
    #[must_use]
    pub fn with_file(mut self, text: &str) -> Self {
        match Foreign::read(text) {
            Ok(rules) => self.foreign.extend(rules),
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
        let foreign = self.foreign.iter().flat_map(Foreign::problems);
        self.problems.iter().cloned().chain(self.own.faults()).chain(foreign).collect()
    }

    /// The credentials in `text`, in order and apart from each other.
    ///
    /// It is read without invisible characters and with look-alike forms made plain; what decodes to a credential is one too.
    pub fn scan(&self, text: &str) -> Vec<Finding> {
        let view = View::of(text);
        let mut found = self.plain(&view);
        for (run, decoded) in decode::runs(view.text()) {
            let inside = self.plain(&View::of(&decoded));
            let best = inside.into_iter().find(|finding| finding.certainty == Certainty::Specific);
            found.extend(best.map(|finding| Finding { span: view.origin(run), ..finding }));
        }
        apart(found)
    }

    fn plain(&self, view: &View<'_>) -> Vec<Finding> {
        let mut found: Vec<Finding> = Vec::new();
        for hit in self.own.find(view) {
            let certainty = if hit.is_generic { Certainty::Generic } else { Certainty::Specific };
            found.push(Finding { rule: hit.rule.to_owned(), span: hit.span, certainty });
        }
        found.extend(connections(view));
        let mut add = |rule: &str, span: Range<usize>| {
            found.push(Finding { rule: rule.to_owned(), span: view.origin(span), certainty: Certainty::Specific });
        };
        if let Some(known) = &self.known {
            known.find_iter(view.text()).for_each(|value| add("known-value", value.range()));
        }
        if !self.foreign.is_empty() {
            let lower = view.text().to_ascii_lowercase();
            for rule in self.foreign.iter().filter(|rule| rules::has_keyword(rule, &lower)) {
                rule.find(view.text()).into_iter().for_each(|span| add(&rule.id, span));
            }
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
    let mut kept: Vec<Finding> = Vec::new();
    for finding in found {
        let overlaps = |other: &Finding| other.span.start < finding.span.end && finding.span.start < other.span.end;
        if !finding.span.is_empty() && !kept.iter().any(overlaps) {
            kept.push(finding);
        }
    }
    kept.sort_by_key(|finding| finding.span.start);
    kept
}

/// Passwords in addresses: `scheme://user:password@host`.
fn connections(view: &View<'_>) -> Vec<Finding> {
    static ADDRESS: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#"^://[^\s:/@"'<>]{0,64}:([^\s@"'<>/]{3,128})@([A-Za-z0-9_.\[\]-]+)"#).ok());
    let Some(address) = ADDRESS.as_ref() else { return Vec::new() };
    let text = view.text();
    let mut found = Vec::new();
    for (at, _) in text.match_indices("://") {
        let Some(captures) = address.captures(&text[at..text.floor_char_boundary(at.saturating_add(300))]) else {
            continue;
        };
        let (Some(password), Some(host)) = (captures.get(1), captures.get(2)) else { continue };
        if shape::is_blank_password(password.as_str()) {
            continue;
        }
        let certainty = password_certainty(password.as_str(), host.as_str());
        let span = view.origin(at + password.start()..at + password.end());
        found.push(Finding { rule: "connection-password".to_owned(), span, certainty });
    }
    found
}

/// A long mixed password for a real host is one; the rest may be an example.
fn password_certainty(password: &str, host: &str) -> Certainty {
    let near = host.contains("localhost") || host.contains("example") || host.starts_with("127.");
    let mixed =
        password.len() >= 8 && password.bytes().any(|byte| byte.is_ascii_digit()) && shape::entropy(password) >= 2.5;
    if mixed && !near { Certainty::Specific } else { Certainty::Generic }
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
