//! The table of rules, the words that announce them, and what one of them makes of a place in a text.

use super::foreign::{Foreign, Lazy};
use super::shape;
use super::view::View;
use aho_corasick::{AhoCorasick, AhoCorasickBuilder, MatchKind};
use serde::Deserialize;
use std::ops::Range;

const TABLE: &str = include_str!("rules.toml");

/// Bits per character where a rule does not say.
const LEAST_ENTROPY: f64 = 2.3;
/// How far a token may reach beyond its first word.
const AHEAD: usize = 700;
/// A name this short, in the middle of letters, is part of another word.
const SHORT_NAME: usize = 6;
/// How far back a mark may stand from where its secret begins.
const BACK: usize = 128;

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Table {
    token: Vec<TokenRow>,
    around: Vec<AroundRow>,
    named: Vec<NamedRow>,
    generic: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenRow {
    id: String,
    starts: Vec<String>,
    body: String,
    entropy: Option<f64>,
    #[serde(default)]
    letters: bool,
    #[serde(default)]
    any_case: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AroundRow {
    id: String,
    marks: Vec<String>,
    pattern: String,
    /// How many bytes behind the mark may belong to it.
    reach: Option<usize>,
    entropy: Option<f64>,
    #[serde(default)]
    letters: bool,
    #[serde(default)]
    any_case: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NamedRow {
    names: Vec<String>,
    values: Vec<String>,
    #[serde(default)]
    whole: bool,
}

/// How a rule looks for its secret.
enum Search {
    /// What begins at the word.
    Token,
    /// What lies around the word.
    Around { reach: usize },
    /// What is assigned to the word.
    Named,
    /// The same for a word that is part of others.
    NamedWhole,
    /// The same for words that anything may be assigned to.
    Generic,
}

struct Rule {
    id: String,
    search: Search,
    pattern: Lazy,
    entropy: f64,
    letters: bool,
    any_case: bool,
}

/// What was found: by which rule, where, and whether by the name alone.
pub(super) struct Hit<'r> {
    pub(super) rule: &'r str,
    pub(super) span: Range<usize>,
    pub(super) is_generic: bool,
}

/// The rules in force.
#[derive(Default)]
pub(super) struct RuleTable {
    rules: Vec<Rule>,
    words: Option<AhoCorasick>,
    /// The rules each word announces, and the word itself.
    announced: Vec<(String, Vec<usize>)>,
    pub(super) problems: Vec<String>,
}

impl RuleTable {
    /// Our own rules.
    pub(super) fn own() -> Self {
        let mut this = Self::default();
        let table = toml::from_str(TABLE).unwrap_or_else(|error| {
            this.problems.push(format!("the table of credential rules cannot be read: {error}"));
            Table::default()
        });
        this.add_tokens(table.token);
        for row in table.around {
            let pattern = Lazy::new(if row.any_case { format!("(?i){}", row.pattern) } else { row.pattern });
            let entropy = row.entropy.unwrap_or(LEAST_ENTROPY);
            let search = Search::Around { reach: row.reach.unwrap_or(AHEAD) };
            let rule = Rule { id: row.id, search, pattern, entropy, letters: row.letters, any_case: true };
            this.add(rule, row.marks);
        }
        for row in table.named {
            let id = row.names.first().cloned().unwrap_or_default();
            let search = if row.whole { Search::NamedWhole } else { Search::Named };
            this.add_named(id, row.names, &row.values.join("|"), search);
        }
        this.add_named("generic".to_owned(), table.generic, "[a-z0-9_.=+/~-]{10,150}", Search::Generic);
        this.announce();
        this
    }

    fn add_tokens(&mut self, rows: Vec<TokenRow>) {
        for TokenRow { id, starts, body, entropy, letters, any_case } in rows {
            let pattern = Lazy::new(format!("^(?:{body})"));
            let entropy = entropy.unwrap_or(LEAST_ENTROPY);
            self.add(Rule { id, search: Search::Token, pattern, entropy, letters, any_case }, starts);
        }
    }

    /// A name, more of a name, a sign of assignment, quotes, the value.
    fn add_named(&mut self, id: String, names: Vec<String>, values: &str, search: Search) {
        const ASSIGNED: &str = r#"^[ \ta-z0-9_.-]{0,36}[\s'"]{0,3}(?:=>|:{1,3}=|\?=|\|\||[=>:,]|\sis\s)[`'"\s=]{0,5}"#;
        let pattern = Lazy::new(format!("(?i-u){ASSIGNED}({values})(?:[`'\"\\s;,.)\\]}}<&|]|\\\\[nr]|$)"));
        let entropy = if matches!(search, Search::Generic) { 3.5 } else { LEAST_ENTROPY };
        self.add(Rule { id, search, pattern, entropy, letters: false, any_case: true }, names);
    }

    fn add(&mut self, rule: Rule, words: Vec<String>) {
        let index = self.rules.len();
        self.rules.push(rule);
        for word in words {
            match self.announced.iter_mut().find(|(known, _)| *known == word) {
                Some((_, rules)) => rules.push(index),
                None => self.announced.push((word, vec![index])),
            }
        }
    }

    fn announce(&mut self) {
        let words = self.announced.iter().map(|(word, _)| word);
        let built = AhoCorasickBuilder::new().ascii_case_insensitive(true).match_kind(MatchKind::Standard).build(words);
        match built {
            Ok(words) => self.words = Some(words),
            Err(error) => self.problems.push(format!("credentials cannot be searched for: {error}")),
        }
    }

    /// Every pattern that does not compile.
    pub(super) fn faults(&self) -> Vec<String> {
        let fault =
            |rule: &Rule| rule.pattern.get().err().map(|error| format!("rule `{}` is left out: {error}", rule.id));
        self.problems.iter().cloned().chain(self.rules.iter().filter_map(fault)).collect()
    }

    /// What the rules find.
    pub(super) fn find(&self, view: &View<'_>) -> Vec<Hit<'_>> {
        let Some(words) = &self.words else { return Vec::new() };
        let mut found = Vec::new();
        for word in words.find_overlapping_iter(view.text()) {
            let (written, rules) = &self.announced[word.pattern().as_usize()];
            for rule in rules.iter().map(|index| &self.rules[*index]) {
                if !rule.any_case && !view.text()[word.range()].eq(written) {
                    continue;
                }
                let span = match rule.search {
                    Search::Token => rule.token(view, word.range()),
                    Search::Around { reach } => {
                        rule.around(view.text(), word.range(), reach).map(|span| view.origin(span))
                    }
                    Search::Named | Search::NamedWhole | Search::Generic => {
                        rule.named(view.text(), word.range()).map(|span| view.origin(span))
                    }
                };
                let is_generic = matches!(rule.search, Search::Generic);
                found.extend(span.map(|span| Hit { rule: &rule.id, span, is_generic }));
            }
        }
        found
    }
}

impl Rule {
    /// A token that begins with the word, in one piece or broken over lines.
    fn token(&self, view: &View<'_>, word: Range<usize>) -> Option<Range<usize>> {
        let text = view.text();
        // A token is not the end of a longer word, nor of a file's name.
        let before = text[..word.start].strip_suffix('.').unwrap_or(&text[..word.start]);
        if before.ends_with(|c: char| c.is_ascii_alphanumeric()) {
            return None;
        }
        let end = text.floor_char_boundary(word.end.saturating_add(AHEAD));
        let body = &text[word.end..end];
        if let Some(length) = self.body(body).filter(|length| !shape::goes_on(body.as_bytes().get(*length).copied())) {
            return Some(view.origin(word.start..word.end + length));
        }
        let broken = body.bytes().take_while(|byte| byte.is_ascii_graphic()).count();
        if !matches!(body.as_bytes().get(broken), Some(b'\n' | b'\r')) {
            return None;
        }
        let joined = view.joined(word.end, AHEAD);
        let ends = |at: usize| joined.is_break(at) || !shape::goes_on(joined.text().as_bytes().get(at).copied());
        let length = self.body(joined.text()).filter(|length| ends(*length))?;
        Some(view.origin(word).start..joined.origin(0..length).end)
    }

    /// How long the body is that a text begins with.
    fn body(&self, text: &str) -> Option<usize> {
        let found = self.pattern.get().ok()?.find(text)?;
        self.counts(found.as_str()).then_some(found.end())
    }

    fn around(&self, text: &str, word: Range<usize>, reach: usize) -> Option<Range<usize>> {
        let start = text.floor_char_boundary(word.start.saturating_sub(BACK));
        let end = text.floor_char_boundary(word.end.saturating_add(reach));
        let captures = self.pattern.get().ok()?.captures_iter(&text[start..end]).find(|captures| {
            captures.get(0).is_some_and(|all| start + all.start() <= word.start && word.start < start + all.end())
        })?;
        let secret = captures.get(1).or_else(|| captures.get(0))?;
        self.counts(secret.as_str()).then(|| start + secret.start()..start + secret.end())
    }

    fn named(&self, text: &str, word: Range<usize>) -> Option<Range<usize>> {
        let before = word.start.checked_sub(1).map(|at| text.as_bytes()[at]);
        let inside = before.is_some_and(|byte| byte.is_ascii_alphabetic());
        let camel =
            before.is_some_and(|byte| byte.is_ascii_lowercase()) && text.as_bytes()[word.start].is_ascii_uppercase();
        // Short names are parts of many words.
        let part = inside && !camel && word.len() <= SHORT_NAME;
        if part || matches!(self.search, Search::NamedWhole) && !is_one_case(&text[word.clone()]) {
            return None;
        }
        let end = text.floor_char_boundary(word.end.saturating_add(AHEAD));
        let value = self.pattern.get().ok()?.captures(&text[word.end..end])?.get(1)?;
        self.counts(value.as_str()).then(|| word.end + value.start()..word.end + value.end())
    }

    fn counts(&self, secret: &str) -> bool {
        let digits = self.letters || secret.bytes().any(|byte| byte.is_ascii_digit());
        let mixed = !matches!(self.search, Search::Generic) || is_mixed(secret);
        digits
            && mixed
            && shape::entropy(secret) >= self.entropy
            && (self.entropy == 0.0 || !shape::is_placeholder(secret))
    }
}

/// "sumo", "Sumo", "SUMO".
fn is_one_case(word: &str) -> bool {
    let rest = word.get(1..).unwrap_or_default();
    let upper = |text: &str| text.bytes().all(|byte| !byte.is_ascii_lowercase());
    let lower = |text: &str| text.bytes().all(|byte| !byte.is_ascii_uppercase());
    lower(rest) || upper(word)
}

/// Letters and digits that change places often: names and versions do not.
fn is_mixed(value: &str) -> bool {
    let digit = |byte: u8| byte.is_ascii_digit();
    let changes = value.as_bytes().windows(2).filter(|pair| digit(pair[0]) != digit(pair[1])).count();
    changes >= 4 && value.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// Words that announce somebody else's rules.
pub(super) fn has_keyword(rule: &Foreign, lower: &str) -> bool {
    rule.keywords.is_empty() || rule.keywords.iter().any(|word| lower.contains(word.as_str()))
}
