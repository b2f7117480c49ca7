//! What the model found out, in its own words: statements that carry something distinctive (numbers, identifiers, ids, rare
//! words), chosen by what they add to a text that says some of it already. There is no list of telling words: a cause, a
//! measured value or a decision is known by what it names.

use super::cover::{Candidate, pick};
use crate::message::{Message, Origin};
use crate::prose::{closes, fence_mark, one_line, sentences, without_list_mark};
use regex::Regex;
use std::borrow::Borrow;
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

/// One sentence, list item or table row of the model's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Statement {
    /// The message it stands in.
    pub(crate) at: usize,
    /// Its words on one line.
    pub(crate) text: String,
    tokens: Vec<Token>,
}

/// A string of a statement, in lower case.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Token {
    text: String,
    sort: Sort,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Sort {
    Reference,
    Number,
    Name,
    Word,
}

impl Sort {
    /// What it is worth to say it for the first time. What cannot be guessed is worth most.
    fn worth(self) -> u64 {
        match self {
            Sort::Reference => 8,
            Sort::Number => 6,
            Sort::Name => 4,
            Sort::Word => 1,
        }
    }
}

/// Shorter is a remark; longer is a paragraph and no statement.
const LENGTHS: std::ops::RangeInclusive<usize> = 20..=400;
/// A line mark and a line break.
const AROUND: usize = "- \n".len();
/// About half a sentence: chatter is short.
const EFFORT: usize = 40;
/// Shorter words are in every text.
const LONG_WORD: usize = 5;

/// Links, dotted and slashed names, flags, issue numbers, numbers with a unit, plain words; an index or a call belongs to
/// its name.
static TOKEN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let parts = [
        r"https?://[^\s<>`]+",
        r"[\p{L}_]\w*(?:[./:#-]+\w+)+(?:\(\))?",
        r"--[a-z][\w-]+",
        r"#\d+",
        r"\d[\d.,]*\s?(?:ms|µs|ns|[kKMG]i?B|[skx]\b|%)?",
        r"[\p{L}_]\w*(?:\[\d+\])?(?:\(\))?",
    ];
    Regex::new(&parts.join("|")).ok()
});

/// Everything the model stated in prose, in order. What stands in a fence is code.
pub(crate) fn statements<M: Borrow<Message>>(messages: &[M]) -> Vec<Statement> {
    let mut all = Vec::new();
    for (at, message) in messages.iter().map(Borrow::borrow).enumerate() {
        if message.origin == Origin::Model {
            let units = units(&message.text()).into_iter().filter(|text| LENGTHS.contains(&text.len()));
            all.extend(units.map(|text| Statement { at, tokens: tokens(&text), text }));
        }
    }
    all
}

/// Sentences, and rows of tables with what their columns are called, so that a number keeps what it measures.
fn units(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut fence: Option<String> = None;
    let mut table: Option<Vec<String>> = None;
    for line in text.lines() {
        match (&fence, fence_mark(line)) {
            (None, Some(mark)) => fence = Some(mark.to_owned()),
            (Some(open), Some(mark)) if closes(line, open, mark) => fence = None,
            (Some(_), _) => {}
            (None, None) if line.trim_start().starts_with('|') => {
                let cells = cells(line);
                match &table {
                    None => table = Some(cells),
                    Some(_) if cells.iter().all(|cell| cell.chars().all(|c| matches!(c, '-' | ':' | ' '))) => {}
                    Some(heads) => all.push(row(heads, &cells)),
                }
                continue;
            }
            (None, None) => {
                let line = without_list_mark(line.trim());
                all.extend(sentences(line).into_iter().map(|sentence| one_line(sentence.text)));
            }
        }
        table = None;
    }
    all
}

fn cells(line: &str) -> Vec<String> {
    line.trim().trim_matches('|').split('|').map(one_line).collect()
}

fn row(heads: &[String], cells: &[String]) -> String {
    let named = cells.iter().enumerate().filter(|(_, cell)| !cell.is_empty());
    let told = named.map(|(at, cell)| match heads.get(at).filter(|head| at > 0 && !head.is_empty()) {
        Some(head) => format!("{head}: {cell}"),
        None => cell.clone(),
    });
    told.collect::<Vec<_>>().join(", ")
}

fn tokens(text: &str) -> Vec<Token> {
    let Some(pattern) = TOKEN.as_ref() else { return Vec::new() };
    let found = pattern.find_iter(text).map(|found| found.as_str().trim_matches(['.', ',', ':', '-']));
    let mut all: Vec<Token> =
        found.filter_map(|text| Some(Token { sort: sort(text)?, text: text.to_lowercase() })).collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn sort(text: &str) -> Option<Sort> {
    let digits = text.chars().filter(char::is_ascii_digit).count();
    let hex = text.chars().all(|c| c.is_ascii_digit() || ('a'..='f').contains(&c));
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    if (hex && digits > 0 && letters > 0 && (7..=40).contains(&text.len())) || text.starts_with(['#']) && digits > 0 {
        return Some(Sort::Reference);
    }
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        return (digits >= 2 || text.len() > digits).then_some(Sort::Number);
    }
    let humps = text.as_bytes().windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    let shouts = text.len() > 1 && text.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit());
    let marked = text.chars().any(|c| matches!(c, '_' | '/' | '.' | '(' | '[' | ':' | '#')) || text.starts_with("--");
    match () {
        () if humps || shouts || marked || digits > 0 => Some(Sort::Name),
        () => (text.chars().count() >= LONG_WORD).then_some(Sort::Word),
    }
}

/// The statements that add most to what `known` says, best first, in at most `room` bytes of list items, each with the
/// strings that are new in it.
pub(crate) fn choose<'a>(all: &'a [Statement], known: &str, room: usize) -> Vec<Choice<'a>> {
    let known = known.to_lowercase();
    let mut there: HashMap<&str, bool> = HashMap::new();
    for token in all.iter().flat_map(|statement| &statement.tokens) {
        there.entry(&token.text).or_insert_with(|| known.contains(&token.text));
    }
    let candidate = |statement: &'a Statement| Candidate {
        cost: statement.text.len() + AROUND,
        effort: EFFORT,
        bonus: 0,
        says: statement.tokens.iter().map(|token| (token.text.as_str(), token.sort.worth())).collect(),
    };
    let candidates: Vec<Candidate<'a>> = all.iter().map(candidate).collect();
    let mut known: HashSet<&'a str> = there.into_iter().filter(|(_, there)| *there).map(|(text, _)| text).collect();
    let picked = pick(&candidates, &mut known.clone(), room);
    let chosen = picked.into_iter().map(|index| {
        let own = all[index].tokens.iter().filter(|token| known.insert(&token.text)).collect();
        Choice { statement: &all[index], own }
    });
    chosen.collect()
}

/// A statement and what nothing before it had said.
pub(crate) struct Choice<'a> {
    pub(crate) statement: &'a Statement,
    own: Vec<&'a Token>,
}

impl Choice<'_> {
    /// What its own strings are worth.
    pub(crate) fn worth(&self) -> u64 {
        self.own.iter().map(|token| token.sort.worth()).sum()
    }

    /// Whether a number or an id is new in it.
    pub(crate) fn measures(&self) -> bool {
        self.own.iter().any(|token| matches!(token.sort, Sort::Number | Sort::Reference))
    }

    /// Whether it says more than a passing word.
    pub(crate) fn tells(&self) -> bool {
        self.distinctive().next().is_some() || self.own.len() >= WORDS_THAT_TELL
    }

    fn distinctive(&self) -> impl Iterator<Item = &&Token> {
        self.own.iter().filter(|token| token.sort != Sort::Word)
    }

    /// Whether a text in lower case still says it: every distinctive string, or of plain words two in three.
    pub(crate) fn is_in(&self, lower: &str) -> bool {
        let said = |token: &&&Token| lower.contains(&token.text);
        if self.distinctive().next().is_some() {
            return self.distinctive().all(|token| said(&token));
        }
        self.own.iter().filter(said).count() * 3 >= self.own.len() * 2
    }
}

/// Fewer new words are a turn of phrase.
const WORDS_THAT_TELL: usize = 3;

/// The statements that a text lacks, as list items in the order they were made, in at most `room` bytes.
pub(crate) fn lines(all: &[Statement], known: &str, room: usize) -> String {
    let mut chosen = choose(all, known, room);
    chosen.retain(Choice::tells);
    chosen.sort_by_key(|choice| choice.statement.at);
    chosen.iter().map(|choice| format!("- {}\n", choice.statement.text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Block, Role};
    use proptest::prelude::*;

    fn model(text: &str) -> Message {
        let at = jiff::Timestamp::UNIX_EPOCH;
        Message { id: "m".into(), role: Role::Assistant, origin: Origin::Model, at, blocks: vec![Block::text(text)] }
    }

    // spec: C11
    #[test]
    fn what_a_text_lacks_is_chosen_by_what_it_names() {
        let said = [
            model("The cause was a lock in `wingman.lock` that nobody removed.\nLet me look at it now, shall I."),
            model("| case | median | worst |\n|---|---|---|\n| small repo | 10ms | 84 ms |\n```\nlet x = 4711;\n```"),
            model("Pushed 69a35cf4 to the branch.\n- The limit of 50 entries is what hides them."),
        ];
        let all = statements(&said);
        let nothing = lines(&all, "", 4_000);
        for words in
            ["`wingman.lock` that nobody removed.", "small repo, median: 10ms, worst: 84 ms", "69a35cf4", "limit of 50"]
        {
            assert!(nothing.contains(words), "{words} is missing in {nothing}");
        }
        assert!(!nothing.contains("4711"), "code is no statement");
        let rest = lines(
            &all,
            "WINGMAN.LOCK was left by nobody who removed the cause; small repo: median 10ms, worst 84 ms; limit 50 entries hides",
            4_000,
        );
        assert!(rest.contains("69a35cf4") && !rest.contains("wingman") && !rest.contains("84 ms"), "{rest}");
        let first = lines(&all, "", 60);
        assert!(first.len() <= 60 && first.contains("84 ms"), "the most telling comes first: {first}");
    }

    // spec: C11
    #[test]
    fn a_statement_is_kept_when_all_that_is_distinctive_in_it_is() {
        let said =
            [model("ComputeFileChanges takes 84 ms instead of 208 ms."), model("The scheduler forgot stale locks.")];
        let all = statements(&said);
        let chosen = choose(&all, "", usize::MAX);
        let of = |words: &str| chosen.iter().find(|choice| choice.statement.text.contains(words)).unwrap();
        assert!(of("84 ms").measures() && !of("stale").measures());
        assert!(of("84 ms").is_in("computefilechanges: 84 ms, before it 208 ms"));
        assert!(!of("84 ms").is_in("computefilechanges: 84 ms"));
        assert!(of("stale").is_in("stale locks in the scheduler") && !of("stale").is_in("the scheduler"));
    }

    proptest! {
        #[test]
        fn any_text_is_read_and_the_room_is_kept(text in "(\\n|\\| |```|[a-z]{1,9} |[0-9]{1,4}ms |é|--[a-z]{3} |#[0-9]{2} |\\.){0,60}", room in 0usize..400) {
            let all = statements(&[model(&text)]);
            let lines = lines(&all, "", room);
            prop_assert!(lines.len() <= room);
            prop_assert!(choose(&all, &text, room).iter().all(|choice| !choice.own.is_empty()));
        }
    }
}
