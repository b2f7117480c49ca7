//! Whether a sentence speaks of what was or of what will be, as far as its nearest verb tells.
//!
//! "Thursday" alone names two days. The word closest before it that has a tense decides; without one, a preposition that only
//! looks ahead. Where nothing decides, nobody guesses.

use super::words::Word;

/// Which way a sentence looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tense {
    Past,
    Future,
}

const REACH: usize = 24;
const ENDS: &[&str] = &[".", "!", "?", ";", "¶", "。", "！", "？", "；"];

const AHEAD: &[&str] = &[
    "'ll", "will", "won", "shall", "going", "gonna", "must", "should", "need", "needs", "want", "wants", "plan",
    "plans", "planning", "hope", "hopes", "let", "please", "remind", "schedule", "book", "due", "deadline", "expires",
    "starts", "begins", "ends", "closes", "can", "could", "would", "may", "might", "expect", "expects", "aim", "aims",
];

const BEHIND: &[&str] = &[
    "was",
    "were",
    "wasn",
    "weren",
    "had",
    "hadn",
    "did",
    "didn",
    "went",
    "met",
    "said",
    "told",
    "got",
    "made",
    "came",
    "took",
    "saw",
    "left",
    "found",
    "began",
    "broke",
    "sent",
    "wrote",
    "ran",
    "gave",
    "spoke",
    "fell",
    "held",
    "kept",
    "lost",
    "bought",
    "built",
    "felt",
    "heard",
    "knew",
    "paid",
    "taught",
    "thought",
    "won't",
    "became",
    "caught",
    "chose",
    "drove",
    "ate",
    "flew",
    "forgot",
    "grew",
    "understood",
    "woke",
    "slept",
    "spent",
    "stood",
    "swam",
    "sold",
    "led",
    "lent",
];

/// Participles of arranging: the arranging lies behind, what was arranged may not.
const ARRANGED: &[&str] = &[
    "scheduled",
    "planned",
    "expected",
    "supposed",
    "booked",
    "moved",
    "postponed",
    "delayed",
    "pushed",
    "needed",
    "required",
    "requested",
    "wanted",
    "promised",
    "committed",
    "agreed",
    "decided",
    "rescheduled",
    "deferred",
    "arranged",
    "intended",
];

const LOOKS_AHEAD: &[&str] = &["by", "until", "till", "before", "after", "starting", "effective"];

/// Participles that tell how things are unless "was" stands before them: "merges blocked until Friday".
const STATES: &[&str] = &["allowed", "blocked", "closed", "locked", "disabled", "paused", "extended", "limited"];

/// Arrangements that were just made, and bind: "we decided to ship by Thursday".
const BINDING: &[&str] = &["decided", "agreed", "committed", "promised"];

/// The words of the sentence before `from` and after `to`, as far as they matter.
pub(super) fn clause<'w, 'a>(words: &'w [Word<'a>], from: usize, to: usize) -> (&'w [Word<'a>], &'w [Word<'a>]) {
    let ends = |word: &Word<'_>| ENDS.contains(&word.lower.as_str());
    let before = &words[from.saturating_sub(REACH)..from];
    let start = before.iter().rposition(ends).map_or(0, |at| at + 1);
    let after = &words[to..words.len().min(to + REACH)];
    let end = after.iter().position(ends).unwrap_or(after.len());
    (&before[start..], &after[..end])
}

/// The tense of the sentence around the words `from..to`, if something tells it.
pub(super) fn of(words: &[Word<'_>], from: usize, to: usize) -> Option<Tense> {
    let (before, after) = clause(words, from, to);
    if is_day_of_decision(before, after) {
        return Some(Tense::Past);
    }
    if is_resolved(before) || is_fixed(before) {
        return Some(Tense::Future);
    }
    for at in (0..before.len()).rev() {
        match cue(before, at) {
            Cue::Is(tense) => return Some(tense),
            Cue::Doubtful => return None,
            Cue::Nothing => {}
        }
    }
    let told = (0..after.len()).find_map(|at| match cue(after, at) {
        Cue::Is(tense) => Some(Some(tense)),
        Cue::Doubtful => Some(None),
        Cue::Nothing => None,
    });
    match before.last().is_some_and(|word| LOOKS_AHEAD.contains(&word.lower.as_str())) {
        // "After Thursday everything broke" looks back; "we have until Thursday to read what was written" does not.
        true => Some(Tense::Future).filter(|_| before.len() > 1 || told != Some(Some(Tense::Past))),
        false => told.flatten(),
    }
}

/// "We decided on Friday to": the day on which it was decided.
fn is_day_of_decision(before: &[Word<'_>], after: &[Word<'_>]) -> bool {
    let [.., decided, on] = before else { return false };
    let what = after.first().map_or("", |word| word.lower.as_str());
    BINDING.contains(&decided.lower.as_str()) && on.lower == "on" && matches!(what, "to" | "that" | "not" | "against")
}

/// "We decided to freeze releases by": whoever tells of it so, tells of what is still to come. "We had decided" does not.
fn is_resolved(before: &[Word<'_>]) -> bool {
    let word = |at: usize| before.get(at).map_or("", |word| word.lower.as_str());
    let limited = before.last().is_some_and(|word| word.lower == "on" || LOOKS_AHEAD.contains(&word.lower.as_str()));
    let Some(at) = before.iter().rposition(|word| BINDING.contains(&word.lower.as_str())) else { return false };
    let subject = at.checked_sub(1).map_or("", word);
    let told_so = matches!(subject, "" | "we" | "i" | "team" | "have" | "has" | "'ve" | "just" | "finally" | "and");
    let plain = (at + 1..before.len()).all(|at| matches!(cue(before, at), Cue::Nothing));
    limited && told_so && plain && word(at + 1) == "to"
}

/// "The freeze is on": a day in the present tense is one to come, unless it is a habit.
fn is_fixed(before: &[Word<'_>]) -> bool {
    let [rest @ .., is, on] = before else { return false };
    let fixed = matches!(is.lower.as_str(), "is" | "are" | "'s" | "falls" | "happens" | "lands") && on.lower == "on";
    let subject = rest.first().map_or("", |word| word.lower.as_str());
    let cued = (0..rest.len()).any(|at| !matches!(cue(rest, at), Cue::Nothing));
    fixed && !cued && matches!(subject, "the" | "our" | "my")
}

enum Cue {
    Is(Tense),
    Doubtful,
    Nothing,
}

fn cue(words: &[Word<'_>], at: usize) -> Cue {
    let word = words[at].lower.as_str();
    let before = at.checked_sub(1).map_or("", |before| words[before].lower.as_str());
    let present = matches!(before, "is" | "are" | "'s" | "'re" | "be" | "being" | "not");
    if word == "may" && words[at].is_capitalised() {
        return Cue::Nothing;
    }
    if AHEAD.contains(&word) {
        return Cue::Is(Tense::Future);
    }
    if ARRANGED.contains(&word) {
        return if present { Cue::Is(Tense::Future) } else { Cue::Doubtful };
    }
    if STATES.contains(&word) && !matches!(before, "was" | "were" | "been" | "got" | "had" | "we" | "i" | "they") {
        return Cue::Nothing;
    }
    let regular = word.len() > 4 && word.ends_with("ed") && !word.ends_with("eed");
    if BEHIND.contains(&word) || (regular && !present) {
        return Cue::Is(Tense::Past);
    }
    Cue::Nothing
}
