//! What an extractive summary could say, section by section, and what a byte of each is worth.
//!
//! The order of worth: a beginning of everything the person said; what was changed and what is open; more of what the
//! person said; where things stand; what failed; what was read; then the rest, in turns, so that no section starves.

use super::allocation::{Form, Offer};
use super::deeds::{Deeds, Touched};
use super::findings;
use super::quotes::{Said, longest, quote};
use super::sections::{self, Section};
use crate::context::notes::template;
use crate::limits::Limits;
use crate::message::{Message, Origin};
use crate::prose::{code, fence_mark, gist, head, tail};
use crate::tools::tasks::{Status, Task};
use std::borrow::Borrow;
use std::collections::HashMap;

/// Everything in the order it would stand.
pub(super) struct Past<'a, M> {
    pub(super) messages: &'a [M],
    pub(super) said: &'a [Said],
    pub(super) deeds: &'a Deeds,
    pub(super) tasks: &'a [Task],
    pub(super) limits: &'a Limits,
}

const SAID_BRIEFLY: u32 = 1_000;
const CHANGED: u32 = 950;
const OPEN: u32 = 940;
const SAID_MORE: u32 = 900;
const STANDS: u32 = 850;
const READ: u32 = 800;
const FAILED: u32 = 750;
const CONCEPT: u32 = 700;
const FOUND: u32 = 790;
const HOW_CHANGED: u32 = 650;
const RAN: u32 = 600;
const SAID_AT_LENGTH: u32 = 580;
const CARRIED: u32 = 500;
const TURNS: u32 = 450;
/// What stands behind the first few of its kind.
const AGAIN: u32 = 300;
const FIRST_FEW: usize = 6;
/// The newest files are named before any message is quoted at length: a path costs little and opens everything behind it.
const LISTED: usize = 24;
const AT_HAND: u32 = 135;

/// Worth that falls by the rank of a thing among its kind.
fn ranked(worth: u32, rank: usize) -> u32 {
    let step = u32::try_from(rank).unwrap_or(u32::MAX).min(40);
    if rank < FIRST_FEW { worth - step } else { worth.saturating_sub(AGAIN + step) }
}

impl<M: Borrow<Message>> Past<'_, M> {
    pub(super) fn offers(&self, base: &str) -> Vec<Offer> {
        let mut all = self.request();
        all.extend(self.concepts());
        all.extend(self.files(base));
        all.extend(self.errors());
        all.extend(self.solving());
        all.extend(self.user_messages());
        all.extend(self.pending());
        all.extend(self.current(base));
        all.extend(self.next());
        all.extend(self.carried());
        all
    }

    fn request(&self) -> Vec<Offer> {
        let mut all = Vec::new();
        let own: Vec<&Said> = self.said.iter().collect();
        if let Some(first) = own.first() {
            let text = format!("The session began with: {}\n", quoted(&first.text, 200));
            all.push(Offer::plain(Section::Request, text, STANDS + 2));
        }
        if let Some(last) = own.last().filter(|_| own.len() > 1) {
            let text = format!("The latest request: {}\n", quoted(&last.text, 300));
            all.push(Offer::plain(Section::Request, text, STANDS + 3));
        }
        all
    }

    /// What the model found out, in its words, the most telling first; shown in the order it was said.
    fn concepts(&self) -> Vec<Offer> {
        let statements = findings::statements(self.messages);
        let mut chosen: Vec<_> = findings::choose(&statements, "", usize::MAX);
        chosen.retain(findings::Choice::tells);
        chosen.truncate(MOST_CONCEPTS);
        let mut offers: Vec<(usize, Offer)> = Vec::new();
        for (rank, choice) in chosen.iter().enumerate() {
            let text = format!("- {}\n", choice.statement.text);
            offers.push((choice.statement.at, Offer::plain(Section::Concepts, text, found_worth(rank))));
        }
        offers.sort_by_key(|(at, _)| *at);
        offers.into_iter().map(|(_, offer)| offer).collect()
    }

    /// What the model said in prose, with where.
    fn spoken(&self) -> impl Iterator<Item = (usize, String)> {
        let messages = self.messages.iter().map(Borrow::borrow).enumerate();
        messages.filter(|(_, message)| message.origin == Origin::Model).map(|(at, message)| (at, message.text()))
    }

    pub(super) fn files(&self, base: &str) -> Vec<Offer> {
        let changed = |file: &Touched| file.edits + file.writes > 0;
        let mut newest: Vec<&Touched> = self.deeds.files.iter().rev().collect();
        newest.sort_by_key(|file| !changed(file));
        let offer = |(rank, file): (usize, &&Touched)| {
            let line = format!("- {}: {}", relative(&file.path, base), times(file));
            let worth = match (changed(file), rank < LISTED) {
                (true, true) => CHANGED + AT_HAND,
                (true, false) => CHANGED,
                (false, true) => READ + AT_HAND,
                (false, false) => READ,
            };
            let mut forms = vec![Form { text: format!("{line}\n"), worth }];
            if let Some(change) = &file.change {
                forms.push(Form { text: format!("{line}; last: {change}\n"), worth: ranked(HOW_CHANGED, rank) });
            }
            Offer { section: Section::Files, forms }
        };
        newest.iter().enumerate().map(offer).collect()
    }

    fn errors(&self) -> Vec<Offer> {
        let count = self.deeds.mishaps.len();
        let offer = |(index, mishap): (usize, &super::deeds::Mishap)| {
            let text = format!("- {} failed: {}; {}.\n", mishap.deed, mishap.error, mishap.followed);
            Offer::plain(Section::Errors, text, ranked(FAILED, count - 1 - index))
        };
        self.deeds.mishaps.iter().enumerate().map(offer).collect()
    }

    /// Commands with their endings, and how each turn of the model's ended.
    fn solving(&self) -> Vec<Offer> {
        let count = self.deeds.commands.len();
        let mut all: Vec<Offer> = Vec::new();
        for (index, command) in self.deeds.commands.iter().enumerate() {
            let runs = if command.runs > 1 { format!(" at the last of {} runs", command.runs) } else { String::new() };
            let line = format!("- Ran {}: {}{runs}", code(&gist(&command.line, 120)), command.ending.told());
            let mut forms = vec![Form { text: format!("{line}\n"), worth: ranked(RAN, count - 1 - index) }];
            if let Some(printed) = &command.printed {
                let worth = forms[0].worth.saturating_sub(60);
                forms.push(Form { text: format!("{line}; it printed {}\n", code(printed)), worth });
            }
            all.push(Offer { section: Section::Solving, forms });
        }
        let newest = self.deeds.commits.iter().rev().enumerate().map(|(rank, commit)| {
            let text = format!("- Committed {} on {}: {}\n", code(&commit.id), commit.branch, commit.subject);
            Offer::plain(Section::Solving, text, ranked(STANDS, rank))
        });
        let mut commits: Vec<Offer> = newest.collect();
        commits.reverse();
        all.extend(commits);
        let turns = self.turns();
        let count = turns.len();
        for (index, text) in turns.into_iter().enumerate() {
            let forms = [160, 480].map(|room| format!("- The model concluded: {}\n", quoted(&text, room)));
            let worth = ranked(TURNS, count - 1 - index);
            let [brief, full] = forms;
            all.push(Offer {
                section: Section::Solving,
                forms: vec![Form { text: brief, worth }, Form { text: full, worth: worth.saturating_sub(50) }],
            });
        }
        all
    }

    /// The last words of the model before each message of the person's; the very last ones stand in Current Work.
    fn turns(&self) -> Vec<String> {
        let mut ends = Vec::new();
        let mut last: Option<String> = None;
        for message in self.messages.iter().map(Borrow::borrow) {
            match message.origin {
                Origin::Model if !message.text().trim().is_empty() => last = Some(message.text().trim().to_owned()),
                Origin::Person | Origin::Task => ends.extend(last.take()),
                _ => {}
            }
        }
        ends
    }

    pub(super) fn user_messages(&self) -> Vec<Offer> {
        let most = longest(self.limits);
        let count = self.said.len();
        let offer = |(index, said): (usize, &Said)| {
            let length = said.text.len();
            let mut forms: Vec<Form> = Vec::new();
            // Reading a huge message once for each size would cost more than the sizes between are worth.
            let steps = if length > 16 * most { &STEPS[..1] } else { &STEPS[..] };
            for room in steps.iter().copied().filter(|room| *room < most).chain([most]) {
                let form = quote(said, room);
                if forms.last().is_none_or(|last| form.len() > last.text.len()) {
                    let recent = if index == 0 || index + FIRST_FEW >= count { 10 } else { 0 };
                    forms.push(Form { text: form, worth: said_worth(room, length) + recent });
                }
                if length <= room {
                    break;
                }
            }
            Offer { section: Section::UserMessages, forms }
        };
        self.said.iter().enumerate().map(offer).collect()
    }

    pub(super) fn pending(&self) -> Vec<Offer> {
        let offer = |task: &Task| {
            let (state, worth) = match task.status {
                Status::InProgress => ("in progress", OPEN + 5),
                Status::Pending => ("to do", OPEN),
                Status::Done => {
                    return Offer::plain(
                        Section::Pending,
                        format!("- done: {}\n", gist(&task.title, 160)),
                        TURNS - AGAIN,
                    );
                }
            };
            Offer::plain(Section::Pending, format!("- {state}: {}\n", gist(&task.title, 240)), worth)
        };
        self.tasks.iter().map(offer).collect()
    }

    /// What was done since the person last spoke, and the model's last words.
    fn current(&self, base: &str) -> Vec<Offer> {
        let since = self.messages.iter().rposition(|message| message.borrow().origin.asks()).unwrap_or(0);
        let files = self.deeds.files.iter().filter(|file| file.last > since && file.edits + file.writes > 0);
        let mut done: Vec<String> = files.map(|file| format!("changed {}", relative(&file.path, base))).collect();
        let commands = self.deeds.commands.iter().filter(|command| command.last > since);
        done.extend(
            commands.map(|command| format!("ran {} ({})", code(&gist(&command.line, 60)), command.ending.told())),
        );
        let mut all = Vec::new();
        if !done.is_empty() {
            let newest = done.split_off(done.len().saturating_sub(FIRST_FEW));
            let text = format!("Since the person last spoke the model {}.\n", newest.join(", "));
            all.push(Offer::plain(Section::Current, text, STANDS));
        }
        let last = self.spoken().filter(|(_, text)| !text.trim().is_empty()).last();
        if let Some((_, text)) = last {
            let forms = [(240, STANDS + 1), (900, CONCEPT - 20), (2 * 900, RAN - 20)].map(|(room, worth)| Form {
                text: format!("The model's last words: {}\n", quoted_end(&text, room)),
                worth,
            });
            all.push(Offer { section: Section::Current, forms: forms.into() });
        }
        all
    }

    fn next(&self) -> Vec<Offer> {
        let running = self.tasks.iter().find(|task| task.status == Status::InProgress);
        let first = self.tasks.iter().find(|task| task.status == Status::Pending);
        let last_speaker = self.messages.iter().map(Borrow::borrow).rfind(|message| !message.text().trim().is_empty());
        let text = match (running.or(first), last_speaker.map(|message| message.origin)) {
            (Some(task), _) => format!("Go on with the open task: {}\n", gist(&task.title, 160)),
            (None, Some(Origin::Person | Origin::Task)) => "Answer the person's last message.\n".to_owned(),
            _ => "Nothing is known to be open beyond the person's last message.\n".to_owned(),
        };
        vec![Offer::plain(Section::Next, text, STANDS)]
    }

    /// What earlier summaries said, but for what the person said, the anchors and where things stood then.
    fn carried(&self) -> Vec<Offer> {
        let summaries = self.messages.iter().map(Borrow::borrow).filter(|message| message.origin == Origin::Summary);
        let kept = [Section::Request, Section::Concepts, Section::Files, Section::Errors, Section::Solving];
        let mut all = Vec::new();
        for message in summaries {
            let parts = sections::parse(&super::constraints::without_pinned(&message.text()));
            let pending = self.tasks.is_empty().then_some(Section::Pending);
            let written = kept.into_iter().chain(pending).map(|section| (section, parts.body(section)));
            all.extend(written.chain(noted(&parts.preamble)).flat_map(|(section, body)| carried_on(section, body)));
        }
        all
    }
}

/// Where the notes' sections go when they served as a summary. Where things stood then is not carried on.
fn noted(preamble: &str) -> impl Iterator<Item = (Section, &str)> {
    template::parts(preamble).into_iter().filter_map(|part| {
        let section = match part.heading {
            "Session Title" | "Task specification" => Section::Request,
            "Files and Functions" => Section::Files,
            "Errors & Corrections" => Section::Errors,
            "Current State" => return None,
            "Key results" | "Worklog" => Section::Solving,
            _ => Section::Concepts,
        };
        Some((section, part.body))
    })
}

fn carried_on(section: Section, body: &str) -> Vec<Offer> {
    let worth = |rank: usize, piece: &str| ranked(CARRIED, rank + if piece.len() > BULKY { FIRST_FEW } else { 0 });
    let pieces = pieces(body).into_iter().enumerate();
    pieces
        .map(|(rank, piece)| (worth(rank, &piece), piece))
        .map(|(worth, piece)| Offer::plain(section, piece, worth))
        .collect()
}

/// A message is quoted up to these sizes in turn, as far as room goes.
const STEPS: [usize; 5] = [400, 800, 1_600, 3_200, 6_400];
/// A piece of an earlier summary that has to wait for the short ones.
const BULKY: usize = 400;
const MOST_CONCEPTS: usize = 400;

fn said_worth(room: usize, length: usize) -> u32 {
    match room {
        400 => SAID_BRIEFLY,
        800 => SAID_MORE + 20,
        1_600 => SAID_MORE,
        _ if length <= 3_200 => SAID_MORE - 20,
        3_200 => SAID_AT_LENGTH + 200,
        _ => SAID_AT_LENGTH,
    }
}

/// The first of what the model found stand before what failed, the last behind everything else that was done.
fn found_worth(rank: usize) -> u32 {
    let step = u32::try_from(rank).unwrap_or(u32::MAX);
    FOUND.saturating_sub(step).max(TURNS)
}

/// What a model wrote in the other sections, piece by piece; worth more than anything but the beginning of what the
/// person said and what is open.
pub(super) fn written(parts: &sections::Sections, kept: &[Section]) -> Vec<Offer> {
    let all = kept.iter().map(|section| (*section, pieces(parts.body(*section))));
    all.flat_map(|(section, pieces)| {
        let count = pieces.len();
        let worth = move |index: usize| WRITTEN - u32::try_from(index.min(count).min(20)).unwrap_or(0);
        pieces.into_iter().enumerate().map(move |(index, piece)| Offer::plain(section, piece, worth(index)))
    })
    .collect()
}

/// Just below what is open.
const WRITTEN: u32 = OPEN - 10;

/// The lines of a text, fenced pieces whole, each ending with a line break.
fn pieces(body: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut fence: Option<String> = None;
    for line in body.lines() {
        let mark = fence_mark(line);
        match (&fence, all.last_mut()) {
            (Some(_), Some(last)) => last.push_str(&format!("{line}\n")),
            _ if line.trim().is_empty() => {}
            _ => all.push(format!("{line}\n")),
        }
        fence = match (fence, mark) {
            (None, Some(mark)) => Some(mark.to_owned()),
            (Some(open), Some(mark)) if crate::prose::closes(line, &open, mark) => None,
            (fence, _) => fence,
        };
    }
    if let (Some(open), Some(last)) = (fence, all.last_mut()) {
        last.push_str(&format!("{open}\n"));
    }
    all
}

/// The beginning of a text on one line, in quotation marks.
fn quoted(text: &str, most: usize) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    let cut = head(line.trim_matches('"'), most);
    let mark = if cut.len() < text.trim().len() { " […]" } else { "" };
    format!("\"{cut}\"{mark}")
}

/// The end of a text. Several lines are indented, so that nothing in them reads as a heading or a fence of the summary.
fn quoted_end(text: &str, most: usize) -> String {
    let cut = tail(text.trim(), most);
    let mark = if cut.len() < text.trim().len() { "[…] " } else { "" };
    let lines: Vec<String> =
        cut.lines().filter(|line| !line.trim().is_empty()).map(|line| format!("\n  | {line}")).collect();
    format!("{mark}{}", lines.concat())
}

fn times(file: &Touched) -> String {
    let count = |verb: &str, count: u64| match count {
        0 => None,
        1 => Some(verb.to_owned()),
        _ => Some(format!("{verb} {count} times")),
    };
    let parts: Vec<String> = [count("written", file.writes), count("edited", file.edits), count("read", file.reads)]
        .into_iter()
        .flatten()
        .collect();
    if parts.is_empty() { "an edit of it failed".to_owned() } else { parts.join(", ") }
}

fn relative<'a>(path: &'a str, base: &str) -> &'a str {
    path.strip_prefix(base).filter(|rest| !rest.is_empty()).unwrap_or(path)
}

/// The directory whose mention once saves most bytes, with its slash; empty if none saves any.
pub(super) fn base(files: &[Touched]) -> String {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for path in files.iter().map(|file| file.path.as_str()).filter(|path| path.starts_with('/')) {
        for (at, _) in path.match_indices('/').skip(1) {
            *counts.entry(&path[..=at]).or_default() += 1;
        }
    }
    let saved = |(dir, count): &(&str, usize)| dir.len() * count.saturating_sub(1);
    let best = counts.into_iter().filter(|entry| saved(entry) >= 40).max_by_key(|entry| (saved(entry), entry.0));
    best.map(|(dir, _)| dir.to_owned()).unwrap_or_default()
}
