//! Rules that a person brings along, in the format of gitleaks: an identifier, a pattern, keywords, what to leave alone.

use super::shape;
use regex::Regex;
use serde::Deserialize;
use std::ops::Range;
use std::sync::OnceLock;

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    rules: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    id: String,
    regex: Option<String>,
    #[serde(default)]
    keywords: Vec<String>,
    #[serde(default)]
    entropy: f64,
    #[serde(default)]
    secret_group: usize,
    #[serde(default)]
    allowlists: Vec<Allowed>,
}

#[derive(Deserialize, Default)]
struct Allowed {
    #[serde(default)]
    regexes: Vec<String>,
    #[serde(default)]
    stopwords: Vec<String>,
}

/// A pattern that is compiled when it is first needed.
pub(super) struct Lazy {
    pattern: String,
    compiled: OnceLock<Result<Regex, String>>,
}

impl Lazy {
    pub(super) fn new(pattern: String) -> Self {
        Self { pattern, compiled: OnceLock::new() }
    }

    /// The pattern, unless it is none.
    pub(super) fn get(&self) -> Result<&Regex, &str> {
        let compile = || Regex::new(&self.pattern).map_err(|error| error.to_string());
        self.compiled.get_or_init(compile).as_ref().map_err(String::as_str)
    }
}

/// One rule of somebody else's.
pub(super) struct Foreign {
    pub(super) id: String,
    pub(super) keywords: Vec<String>,
    pub(super) pattern: Lazy,
    entropy: f64,
    group: usize,
    allowed: Vec<Lazy>,
    stopwords: Vec<String>,
}

impl Foreign {
    /// The rules of a file. Those without a pattern look at file names and are left out.
    pub(super) fn read(text: &str) -> Result<Vec<Self>, String> {
        let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
        Ok(file.rules.into_iter().filter_map(Self::of).collect())
    }

    fn of(row: Row) -> Option<Self> {
        let allowed = row.allowlists.iter().flat_map(|list| list.regexes.iter().cloned()).map(Lazy::new).collect();
        Some(Self {
            pattern: Lazy::new(row.regex?),
            id: row.id,
            keywords: row.keywords.into_iter().map(|word| word.to_ascii_lowercase()).collect(),
            entropy: row.entropy,
            group: row.secret_group,
            allowed,
            stopwords: row.allowlists.into_iter().flat_map(|list| list.stopwords).collect(),
        })
    }

    /// Where the rule finds something.
    pub(super) fn find(&self, text: &str) -> Vec<Range<usize>> {
        let Ok(pattern) = self.pattern.get() else { return Vec::new() };
        let secret = |captures: regex::Captures<'_>| {
            let named = captures.get(self.group).filter(|_| self.group > 0);
            let first = || captures.iter().skip(1).flatten().find(|group| !group.is_empty());
            let found = named.or_else(first).or_else(|| captures.get(0))?;
            (!found.is_empty() && self.counts(found.as_str())).then(|| found.range())
        };
        pattern.captures_iter(text).filter_map(secret).collect()
    }

    fn counts(&self, secret: &str) -> bool {
        let allowed =
            self.allowed.iter().filter_map(|pattern| pattern.get().ok()).any(|pattern| pattern.is_match(secret));
        let lower = secret.to_ascii_lowercase();
        let stopped = self.stopwords.iter().any(|word| lower.contains(&word.to_ascii_lowercase()));
        !allowed && !stopped && shape::entropy(secret) >= self.entropy
    }

    /// The patterns of this rule that are none, with the reason.
    pub(super) fn problems(&self) -> impl Iterator<Item = String> {
        let all = std::iter::once(&self.pattern).chain(&self.allowed);
        all.filter_map(|pattern| pattern.get().err()).map(|error| format!("rule `{}` is left out: {error}", self.id))
    }
}
