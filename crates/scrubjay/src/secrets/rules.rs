//! Rules in the format of gitleaks: what a credential looks like, the words that announce it, and what is none. Our own
//! table is one such file; a user may bring others.

use super::shape;
use super::view::View;
use aho_corasick::{AhoCorasick, AhoCorasickBuilder, MatchKind};
use regex::Regex;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Arc, OnceLock};
use unicode_normalization::UnicodeNormalization as _;

const TABLE: &str = include_str!("rules.toml");

/// How far a credential may reach beyond the word that announces it.
const AHEAD: usize = 700;
/// The same for a block of lines.
const BLOCK: usize = 1 << 14;
/// How far before the word a match may begin.
const BACK: usize = 200;
/// A name this short, in the middle of letters, is part of another word.
const SHORT_NAME: usize = 6;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    #[serde(default)]
    rules: Vec<Row>,
    #[serde(default)]
    allowlists: Vec<AllowRow>,
    allowlist: Option<AllowRow>,
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
    tags: Vec<String>,
    #[serde(default)]
    allowlists: Vec<AllowRow>,
    allowlist: Option<AllowRow>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AllowRow {
    #[serde(default)]
    target_rules: Vec<String>,
    #[serde(default)]
    regex_target: String,
    #[serde(default)]
    condition: String,
    #[serde(default)]
    regexes: Vec<String>,
    #[serde(default)]
    stopwords: Vec<String>,
    #[serde(default)]
    paths: Vec<String>,
    #[serde(default)]
    commits: Vec<String>,
}

/// A pattern that is compiled when it is first needed.
struct LazyPattern {
    pattern: String,
    compiled: OnceLock<Result<Regex, String>>,
}

impl LazyPattern {
    /// A text is searched in compatibility form, so a pattern has to be in it too.
    fn new(pattern: &str) -> Self {
        Self { pattern: pattern.nfkd().collect(), compiled: OnceLock::new() }
    }

    /// The pattern, unless it is none.
    fn get(&self) -> Result<&Regex, &str> {
        let compile = || Regex::new(&self.pattern).map_err(|error| error.to_string());
        self.compiled.get_or_init(compile).as_ref().map_err(String::as_str)
    }
}

/// What is no credential although a rule matches it.
struct Allowlist {
    patterns: Vec<LazyPattern>,
    /// Whether the patterns look at the whole match, not at the credential alone.
    whole_match: bool,
    /// In small letters.
    stopwords: Vec<String>,
}

impl Allowlist {
    /// A list that also asks for a path or a commit never applies here: there is neither.
    fn of(row: &AllowRow) -> Option<Self> {
        let elsewhere = !row.paths.is_empty() || !row.commits.is_empty();
        if elsewhere && row.condition.eq_ignore_ascii_case("and") {
            return None;
        }
        Some(Self {
            patterns: row.regexes.iter().map(|pattern| LazyPattern::new(pattern)).collect(),
            whole_match: matches!(row.regex_target.as_str(), "match" | "line"),
            stopwords: row.stopwords.iter().map(|word| word.to_ascii_lowercase()).collect(),
        })
    }

    fn allows(&self, whole: &str, secret: &str) -> bool {
        let target = if self.whole_match { whole } else { secret };
        let lower = secret.to_ascii_lowercase();
        self.stopwords.iter().any(|word| lower.contains(word.as_str()))
            || self.patterns.iter().filter_map(|pattern| pattern.get().ok()).any(|pattern| pattern.is_match(target))
    }
}

/// Where a rule looks for its credential.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Search {
    /// A token that begins with the keyword.
    Token,
    /// What begins with the keyword, which is a name.
    Name,
    /// What lies around the keyword, at most this far behind it.
    Near(usize),
    /// Anywhere in a text that has the keyword.
    Anywhere,
}

impl Search {
    fn of(tags: &[String]) -> Self {
        let has = |tag: &str| tags.iter().any(|known| known == tag);
        match () {
            () if has("token") => Search::Token,
            () if has("name") => Search::Name,
            () if has("block") => Search::Near(BLOCK),
            () if has("near") => Search::Near(AHEAD),
            () => Search::Anywhere,
        }
    }

    fn is_anchored(self) -> bool {
        matches!(self, Search::Token | Search::Name)
    }
}

struct Rule {
    id: String,
    search: Search,
    pattern: LazyPattern,
    entropy: f64,
    group: usize,
    needs_digit: bool,
    is_generic: bool,
    allowlists: Vec<Arc<Allowlist>>,
}

/// What was found: by which rule, where, and whether by the name alone.
pub(super) struct Hit<'r> {
    pub(super) rule: &'r str,
    pub(super) span: Range<usize>,
    pub(super) is_generic: bool,
}

/// The rules of one file.
#[derive(Default)]
pub(super) struct RuleTable {
    rules: Vec<Rule>,
    words: Option<AhoCorasick>,
    /// The rules each keyword announces.
    announced: Vec<Vec<usize>>,
    /// Rules without a keyword.
    always: Vec<usize>,
    problems: Vec<String>,
}

impl RuleTable {
    /// Our own rules.
    pub(super) fn own() -> Self {
        Self::read(TABLE).unwrap_or_else(|error| Self {
            problems: vec![format!("the table of credential rules cannot be read: {error}")],
            ..Self::default()
        })
    }

    /// The rules of a file. Those without a pattern look at file names and are left out.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
        let mut this = Self::default();
        let mut words: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        let shared = file.allowlists.iter().chain(&file.allowlist);
        let shared: Vec<(&[String], Arc<Allowlist>)> =
            shared.filter_map(|row| Some((row.target_rules.as_slice(), Arc::new(Allowlist::of(row)?)))).collect();
        for row in &file.rules {
            let index = this.rules.len();
            let Some(rule) = Rule::of(row, &shared) else { continue };
            this.rules.push(rule);
            if row.keywords.is_empty() {
                this.always.push(index);
            }
            for word in &row.keywords {
                words.entry(word.to_ascii_lowercase().nfkd().collect()).or_default().push(index);
            }
        }
        this.announce(words);
        Ok(this)
    }

    fn announce(&mut self, words: BTreeMap<String, Vec<usize>>) {
        let mut builder = AhoCorasickBuilder::new();
        let built = builder.ascii_case_insensitive(true).match_kind(MatchKind::Standard).build(words.keys());
        match built {
            Ok(built) => self.words = Some(built),
            Err(error) => self.problems.push(format!("credentials cannot be searched for: {error}")),
        }
        self.announced = words.into_values().collect();
    }

    /// What cannot be used, in sentences.
    pub(super) fn problems(&self) -> Vec<String> {
        let of_rule = |rule: &Rule| {
            let lists = rule.allowlists.iter().flat_map(|list| &list.patterns);
            let fault = std::iter::once(&rule.pattern).chain(lists).find_map(|pattern| pattern.get().err());
            fault.map(|error| format!("rule `{}` is left out: {error}", rule.id))
        };
        self.problems.iter().cloned().chain(self.rules.iter().filter_map(of_rule)).collect()
    }

    /// What the rules find.
    pub(super) fn find(&self, view: &View<'_>) -> Vec<Hit<'_>> {
        let mut found = Vec::new();
        let mut anywhere: BTreeSet<usize> = self.always.iter().copied().collect();
        // A rule that looks around a word needs not look twice at the same place.
        let mut looked: BTreeMap<usize, usize> = BTreeMap::new();
        let words = self.words.iter().flat_map(|words| words.find_overlapping_iter(view.text()));
        for word in words {
            for index in self.announced[word.pattern().as_usize()].iter().copied() {
                let rule = &self.rules[index];
                let span = match rule.search {
                    Search::Token => rule.token(view, word.range()),
                    Search::Name => rule.named(view.text(), word.range()).map(|span| view.origin(span)),
                    Search::Near(reach) => {
                        let until = looked.entry(index).or_default();
                        let near =
                            if word.start() < *until { None } else { rule.near(view.text(), word.range(), reach) };
                        near.map(|span| {
                            *until = span.end;
                            view.origin(span)
                        })
                    }
                    Search::Anywhere => {
                        anywhere.insert(index);
                        None
                    }
                };
                found.extend(span.map(|span| rule.hit(span)));
            }
        }
        for rule in anywhere.into_iter().map(|index| &self.rules[index]) {
            found.extend(rule.anywhere(view.text()).into_iter().map(|span| rule.hit(view.origin(span))));
        }
        found
    }
}

impl Rule {
    fn of(row: &Row, shared: &[(&[String], Arc<Allowlist>)]) -> Option<Self> {
        let (regex, search) = (row.regex.as_ref()?, Search::of(&row.tags));
        let regex = if search.is_anchored() { format!("^(?:{regex})") } else { regex.clone() };
        let has = |tag: &str| row.tags.iter().any(|known| known == tag);
        let own = row.allowlists.iter().chain(&row.allowlist).filter_map(Allowlist::of).map(Arc::new);
        let meant = |targets: &[String]| targets.is_empty() || targets.contains(&row.id);
        let shared = shared.iter().filter(|(targets, _)| meant(targets)).map(|(_, list)| Arc::clone(list));
        Some(Self {
            search,
            pattern: LazyPattern::new(&regex),
            entropy: row.entropy,
            group: row.secret_group,
            needs_digit: has("digit"),
            is_generic: has("generic"),
            allowlists: own.chain(shared).collect(),
            id: row.id.clone(),
        })
    }

    fn hit(&self, span: Range<usize>) -> Hit<'_> {
        Hit { rule: &self.id, span, is_generic: self.is_generic }
    }

    /// A token that begins with the word, in one piece or broken over lines.
    fn token(&self, view: &View<'_>, word: Range<usize>) -> Option<Range<usize>> {
        let text = view.text();
        // A token is not the end of a longer word, nor of a file's name.
        let before = text[..word.start].strip_suffix('.').unwrap_or(&text[..word.start]);
        if before.ends_with(|c: char| c.is_ascii_alphanumeric()) {
            return None;
        }
        let end = text.floor_char_boundary(word.end.saturating_add(AHEAD));
        let ahead = &text[word.start..end];
        let found = self.first(ahead).filter(|span| !shape::goes_on(ahead.as_bytes().get(span.end).copied()));
        if let Some(span) = found {
            return Some(view.origin(word.start + span.start..word.start + span.end));
        }
        let broken = ahead.bytes().take_while(|byte| byte.is_ascii_graphic()).count();
        if !matches!(ahead.as_bytes().get(broken), Some(b'\n' | b'\r')) {
            return None;
        }
        let joined = view.joined(word.start, AHEAD);
        let ends = |at: usize| joined.is_break(at) || !shape::goes_on(joined.text().as_bytes().get(at).copied());
        self.first(joined.text()).filter(|span| ends(span.end)).map(|span| joined.origin(span))
    }

    fn named(&self, text: &str, word: Range<usize>) -> Option<Range<usize>> {
        let before = word.start.checked_sub(1).map(|at| text.as_bytes()[at]);
        let letter = text.as_bytes()[word.start].is_ascii_alphabetic();
        let inside = letter && before.is_some_and(|byte| byte.is_ascii_alphabetic());
        let camel =
            before.is_some_and(|byte| byte.is_ascii_lowercase()) && text.as_bytes()[word.start].is_ascii_uppercase();
        // Short names are parts of many words.
        if inside && !camel && word.len() <= SHORT_NAME {
            return None;
        }
        let end = text.floor_char_boundary(word.end.saturating_add(AHEAD));
        self.first(&text[word.start..end]).map(|span| word.start + span.start..word.start + span.end)
    }

    fn near(&self, text: &str, word: Range<usize>, reach: usize) -> Option<Range<usize>> {
        let start = text.floor_char_boundary(word.start.saturating_sub(BACK));
        let end = text.floor_char_boundary(word.end.saturating_add(reach));
        let pattern = self.pattern.get().ok()?;
        let mut around = pattern.captures_iter(&text[start..end]).filter(|captures| {
            captures.get(0).is_some_and(|all| start + all.start() <= word.start && word.start < start + all.end())
        });
        around.find_map(|captures| self.secret(&captures)).map(|span| start + span.start..start + span.end)
    }

    fn anywhere(&self, text: &str) -> Vec<Range<usize>> {
        let Ok(pattern) = self.pattern.get() else { return Vec::new() };
        pattern.captures_iter(text).filter_map(|captures| self.secret(&captures)).collect()
    }

    fn first(&self, text: &str) -> Option<Range<usize>> {
        self.secret(&self.pattern.get().ok()?.captures(text)?)
    }

    /// The credential of a match: the group that is named, else the first one that took part, else all of it.
    fn secret(&self, captures: &regex::Captures<'_>) -> Option<Range<usize>> {
        let whole = captures.get(0)?;
        let named = captures.get(self.group).filter(|_| self.group > 0);
        let first = || captures.iter().skip(1).flatten().find(|group| !group.is_empty());
        let found = named.or_else(first).unwrap_or(whole);
        let secret = found.as_str();
        let counts = !secret.is_empty()
            && (!self.needs_digit || secret.bytes().any(|byte| byte.is_ascii_digit()))
            && shape::entropy(secret) >= self.entropy
            && !self.allowlists.iter().any(|list| list.allows(whole.as_str(), secret));
        counts.then(|| found.range())
    }
}
