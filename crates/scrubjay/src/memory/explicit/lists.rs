//! The lists: how an explicit statement opens (`openers.txt`), and the signs beside it (`signs.txt`).

use super::words::masked;
use crate::memory::topic::Kind;
use crate::prose::is_verb;
use regex::{Regex, RegexSet};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// What a statement is, by how it opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// "Remember that …"
    Remember,
    /// "…. Remember this."
    This,
    /// "Forget that …"
    Forget,
    /// "Always …", "from now on …"
    Rule,
    /// "Don't …": a rule only if it names a scope.
    Ban,
    /// "I prefer …": a rule only if it is about the work.
    Wish,
    /// "I'm a …"
    User,
    /// "We decided …"
    Decision,
    /// "The freeze is on Thursday."
    Deadline,
    /// "Bugs are tracked in …"
    Place,
}

impl Form {
    fn read(name: &str) -> Option<Self> {
        Some(match name {
            "remember" => Form::Remember,
            "this" => Form::This,
            "forget" => Form::Forget,
            "rule" => Form::Rule,
            "ban" => Form::Ban,
            "wish" => Form::Wish,
            "user" => Form::User,
            "decision" => Form::Decision,
            "deadline" => Form::Deadline,
            "place" => Form::Place,
            _ => return None,
        })
    }

    /// The kind of memory it makes, if the form alone decides.
    pub(super) fn kind(self) -> Option<Kind> {
        match self {
            Form::Rule | Form::Ban | Form::Wish => Some(Kind::Feedback),
            Form::User => Some(Kind::User),
            Form::Decision | Form::Deadline => Some(Kind::Project),
            Form::Place => Some(Kind::Reference),
            Form::Remember | Form::This | Form::Forget => None,
        }
    }

    /// Whether the user spoke of remembering itself.
    pub(super) fn is_asked_for(self) -> bool {
        matches!(self, Form::Remember | Form::This | Form::Forget)
    }

    pub(super) fn is_rule(self) -> bool {
        matches!(self, Form::Rule | Form::Ban | Form::Wish)
    }
}

/// Where a sign of `signs.txt` is in a text.
pub(super) fn place_of(sign: &str, text: &str) -> Option<usize> {
    LISTS.signs.get(sign).and_then(|pattern| pattern.find(text)).map(|found| found.start())
}

/// Whether a sign of `signs.txt` is in a text.
pub(super) fn has(sign: &str, text: &str) -> bool {
    place_of(sign, text).is_some()
}

struct Lists {
    forms: Vec<Form>,
    patterns: Vec<Regex>,
    /// All patterns at once: most sentences match none.
    set: RegexSet,
    signs: BTreeMap<&'static str, Regex>,
    verbs: Vec<&'static str>,
}

static LISTS: LazyLock<Lists> = LazyLock::new(|| Lists::read(include_str!("openers.txt"), include_str!("signs.txt")));

/// The rows of a list: what, language, pattern.
fn rows(list: &'static str) -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let rows = list.lines().filter(|line| !line.starts_with('#'));
    rows.filter_map(|line| {
        let (what, rest) = line.split_once(' ')?;
        let (language, pattern) = rest.trim_start().split_once(' ')?;
        Some((what, language, pattern.trim_start()))
    })
}

/// A pattern of a list as a regular expression.
fn regex(pattern: &str) -> String {
    pattern.replace('\'', "['’]").replace("{verb}", "(?P<verb>[a-z][a-z-]*)").replace(' ', r"\s+")
}

impl Lists {
    fn read(openers: &'static str, signs: &'static str) -> Self {
        let parts: Vec<(String, &str)> = rows(openers)
            .filter(|(what, ..)| *what == "let")
            .filter_map(|(_, _, row)| row.split_once(' '))
            .map(|(name, pattern)| (format!("{{{name}}}"), pattern.trim()))
            .collect();
        let whole = |pattern: &str| {
            let filled = parts.iter().fold(pattern.to_owned(), |text, (name, part)| text.replace(name, part));
            let kept = match (filled.split_once('<'), filled.contains('>')) {
                (Some((before, what)), true) => format!("{before}(?P<what>{}", what.replacen('>', ")", 1)),
                (Some((before, what)), false) => format!("{before}(?P<what>{what}.*)"),
                (None, _) => filled,
            };
            format!("(?is)^(?:{})", regex(&kept))
        };
        let compiled = |(what, _, pattern): (&str, &str, &str)| Form::read(what).zip(Regex::new(&whole(pattern)).ok());
        let (forms, patterns): (Vec<Form>, Vec<Regex>) = rows(openers).filter_map(compiled).unzip();
        let set = RegexSet::new(patterns.iter().map(Regex::as_str)).unwrap_or_default();
        let names: BTreeSet<&str> = rows(signs).map(|(name, ..)| name).filter(|name| *name != "verb").collect();
        let sign = |name: &'static str| Some((name, Regex::new(&sign_of(signs, name)).ok()?));
        let verbs = rows(signs).filter(|(what, ..)| *what == "verb").flat_map(|(.., words)| words.split(' '));
        Self { forms, patterns, set, signs: names.into_iter().filter_map(sign).collect(), verbs: verbs.collect() }
    }
}

/// All rows of one sign as one expression.
fn sign_of(signs: &'static str, name: &str) -> String {
    let of_it = rows(signs).filter(|(what, ..)| *what == name);
    let each = of_it.map(|(_, language, pattern)| match language {
        "*" | "zh" => regex(pattern),
        _ => format!(r"\b(?:{})\b", regex(pattern)),
    });
    let any = each.collect::<Vec<_>>().join("|");
    if name == "lead" { format!(r"(?i)^(?:(?:{any})[\s,:.!，：！。]*)+") } else { format!("(?i){any}") }
}

/// An explicit statement in a sentence.
#[derive(Debug, Clone, Copy)]
pub(super) struct Opening<'a> {
    pub(super) form: Form,
    /// The words to keep or to forget.
    pub(super) what: &'a str,
}

/// The sentence behind words that only lead up to it.
pub(super) fn behind_lead(sentence: &str) -> &str {
    let lead = LISTS.signs.get("lead").and_then(|lead| lead.find(sentence));
    &sentence[lead.map_or(0, |lead| lead.end())..]
}

/// What a sentence opens with; `mask` is the sentence without its quotations.
pub(super) fn opening<'a>(sentence: &'a str, mask: &str) -> Option<Opening<'a>> {
    let body = behind_lead(mask);
    let at = mask.len() - body.len();
    LISTS.set.matches(body).into_iter().find_map(|number| {
        let caught = LISTS.patterns[number].captures(body)?;
        caught.name("verb").is_none_or(|verb| is_order(verb.as_str())).then_some(())?;
        let what = caught.name("what").map_or(&sentence[at..], |what| &sentence[at + what.start()..at + what.end()]);
        Some(Opening { form: LISTS.forms[number], what })
    })
}

/// Whether a clause opens with an order.
fn orders(clause: &str) -> bool {
    let clause = behind_lead(clause.trim_start());
    let first = clause.split(|c: char| !c.is_alphanumeric() && c != '-').next().unwrap_or_default();
    is_order(first) || clause.starts_with(['帮', '把', '写', '加', '看', '查', '找', '改', '照'])
}

/// Whether a sentence orders something and says nothing explicit.
pub(super) fn is_task(sentence: &str) -> bool {
    let mask = masked(sentence);
    orders(&mask) && opening(sentence, &mask).is_none()
}

/// Whether a statement opens or goes on with an order: "the list is at …, fetch it".
pub(super) fn serves_task(form: Form, body: &str) -> bool {
    let clauses = body.split([',', ';', '，', '；']).flat_map(|clause| clause.split(" and "));
    let clauses = clauses.flat_map(|clause| clause.split(" so "));
    let from = usize::from(!matches!(form, Form::Deadline | Form::Place));
    !matches!(form, Form::Rule | Form::User) && clauses.skip(from).any(orders)
}

/// Whether a verb is something that one tells an agent to do.
fn is_order(verb: &str) -> bool {
    let verb = verb.to_lowercase();
    is_verb(&verb) || LISTS.verbs.contains(&verb.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_compiles() {
        let (openers, signs) = (include_str!("openers.txt"), include_str!("signs.txt"));
        let lists = Lists::read(openers, signs);
        assert_eq!(lists.patterns.len(), rows(openers).filter(|(what, ..)| *what != "let").count());
        assert_eq!(lists.set.len(), lists.patterns.len());
        let names: BTreeSet<&str> = rows(signs).map(|(what, ..)| what).filter(|what| *what != "verb").collect();
        assert_eq!(names, lists.signs.keys().copied().collect());
        let code = include_str!("mod.rs");
        let used = code.split("has(\"").chain(code.split("is(\"")).skip(1).filter_map(|rest| rest.split('"').next());
        assert!(used.filter(|name| name.chars().all(char::is_lowercase)).all(|name| names.contains(name)));
    }
}
