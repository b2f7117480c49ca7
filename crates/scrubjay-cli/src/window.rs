//! The window of a session as a person sees it: how full, with what, what was done about it, and what comes next. Shown to
//! people, never put into the conversation.

use crate::cache::Cache;
use crate::layers::{Mark, Marked as _};
use crate::paper::{Glyphs, Paper, Tone, Volume, counted, percent, short, size, wrapped};
use crate::remedies::Remedies;
use crate::sketch::{Step, bar, spark};
use crate::workplace::Workplace;
use jiff::Timestamp;
use scrubjay::context::microcompaction::free_when_cold;
use scrubjay::context::{budget_of, compacts_by_itself};
use scrubjay::tokens::{Budget, Certainty, ContextWindow, Form, Share};
use scrubjay::tools::shown;
use scrubjay::transcript::{Filling, Moment, Point, Transcript, course};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Everything that is said about a window.
pub(crate) struct Window {
    model: String,
    budget: Budget,
    /// Whether it is compacted without being asked.
    compacts: bool,
    certainty: &'static str,
    by_share: BTreeMap<Share, u64>,
    by_form: BTreeMap<Form, u64>,
    cache: Cache,
    course: Vec<Point>,
    questions: u64,
    requests: u64,
    recalled: u64,
    live_results: u64,
    remedies: Remedies,
    tips: Vec<Tip>,
}

/// Something that would help now.
struct Tip {
    /// What to type, if anything.
    command: Option<String>,
    why: String,
}

/// A model and what it holds.
pub(crate) struct Holder {
    pub(crate) model: String,
    pub(crate) window: ContextWindow,
}

impl Window {
    /// By the session's own count.
    pub(crate) fn of(transcript: &Transcript, holder: &Holder, workplace: &Workplace, now: Timestamp) -> Self {
        let (view, limits) = (transcript.view(), &workplace.limits);
        let filling = Filling::of(view);
        let course = course(transcript.records(), limits);
        let last = |count: fn(&Point) -> u64| course.last().map(count).unwrap_or_default();
        let mut by_form = view.count.by_form();
        by_form.retain(|_, tokens| *tokens > 0);
        let results = view.history.iter().flat_map(|message| message.tool_results());
        let mut window = Self {
            model: shown(&holder.model).into_owned(),
            budget: budget_of(holder.window, filling.total, &workplace.settings, limits),
            compacts: compacts_by_itself(&workplace.settings),
            certainty: certainty(filling.certainty),
            by_share: filling.by_share,
            by_form,
            cache: Cache::of(transcript, now),
            questions: crate::shelf::asked(transcript),
            requests: last(|point| point.request),
            recalled: view.recalled.values().map(|files| files.len() as u64).sum(),
            live_results: results.filter(|result| !view.cleared.contains(&result.call)).count() as u64,
            remedies: Remedies::of(transcript, limits),
            course,
            tips: Vec::new(),
        };
        window.tips = window.advice(transcript, workplace);
        window
    }

    /// With the count that the service made just now. Its parts cannot be counted apart, so they stay in proportion.
    pub(crate) fn counted(mut self, total: u64) -> Self {
        rescale(&mut self.by_share, self.budget.used.max(1), total);
        rescale(&mut self.by_form, self.budget.used.max(1), total);
        self.budget.used = total;
        self.certainty = "counted by the service as the next question would find it; parts in proportion to estimates";
        self
    }

    /// What would help, most urgent first, two at most.
    fn advice(&self, transcript: &Transcript, workplace: &Workplace) -> Vec<Tip> {
        let mut tips = Vec::new();
        if self.is_nearly_full() {
            let why = "the window is nearly full: /compact in the chat does the same".to_owned();
            tips.push(Tip { command: Some("scrubjay compact --preview".to_owned()), why });
        }
        if let Some((results, tokens)) = free_when_cold(transcript.view(), &workplace.settings, &workplace.limits)
            && let Some(when) = self.cache.free_from()
        {
            let (results, tokens) = (counted(results, "old result"), short(tokens));
            tips.push(Tip { command: None, why: format!("{results}, {tokens} tokens, go for free {when}") });
        }
        if let Some(spilled) = transcript.view().spilled.values().max_by_key(|spilled| spilled.bytes) {
            let command = format!("scrubjay results get {}", shown(spilled.call.as_str()));
            let (tool, whole, seen) = (shown(&spilled.tool), size(spilled.bytes), size(spilled.shown));
            let why = format!("the largest stored result: {tool}, {whole}, {seen} in the window");
            tips.push(Tip { command: Some(command), why });
        }
        tips.truncate(2);
        tips
    }

    /// The whole of it, for a person.
    pub(crate) fn words(&self, paper: &Paper) -> String {
        let mut lines = self.header(paper);
        lines.push(String::new());
        lines.push(format!("  {}", bar(&self.by_share, self.budget.window, paper.pencil(paper.width.min(MOST) - 4))));
        lines.push(String::new());
        lines.extend(self.legend(paper));
        lines.push(self.forms(paper));
        lines.push(String::new());
        lines.extend(self.over_time(paper));
        lines.push(self.left(paper));
        lines.extend(self.remedies.words().into_iter().map(|line| format!("  {line}")));
        lines.extend(self.tips.iter().flat_map(|tip| tip.words(paper)));
        lines.join("\n")
    }

    /// Its picture and its size in one line.
    pub(crate) fn brief(&self, paper: &Paper) -> String {
        let Budget { window, used, .. } = self.budget;
        let picture = bar(&self.by_share, window, paper.pencil(20));
        format!("{picture} {} / {} tokens ({} %)", short(used), short(window), percent(used, window))
    }

    /// The same for scripts.
    pub(crate) fn brief_json(&self) -> Value {
        json!({ "budget": self.budget, "by_share": self.by_share, "certainty": self.certainty })
    }

    pub(crate) fn cache(&self) -> Cache {
        self.cache
    }

    /// Whether a person is warned.
    pub(crate) fn is_nearly_full(&self) -> bool {
        self.budget.used > self.budget.warning
    }

    fn header(&self, paper: &Paper) -> Vec<String> {
        let Budget { window, used, compaction, refusal, .. } = self.budget;
        let ends = match self.compacts {
            true => format!("compacts at {}", short(compaction)),
            false => format!("never compacts by itself, refuses at {}", short(refusal)),
        };
        let first = format!(
            "{} · {} / {} tokens ({} %) · {ends}",
            self.model,
            paper.ink.paint(Tone::Strong, &short(used)),
            short(window),
            percent(used, window),
        );
        let asked = format!("question {} · request {}", self.questions, self.requests);
        let certainty = self.certainty.split(" by the service").next().unwrap_or_default();
        let second = format!("cache {} · {asked} · {certainty}", self.cache.words());
        vec![first, wrapped(&second, paper.width)]
    }

    fn legend(&self, paper: &Paper) -> Vec<String> {
        let mut lines: Vec<String> = Share::ALL
            .into_iter()
            .filter_map(|share| self.by_share.get(&share).map(|tokens| (share, *tokens)))
            .map(|(share, tokens)| {
                let mut note = self.note(share);
                note.push_str(tag(" [estimated]", paper));
                self.row(share.mark(), tokens, &note, paper)
            })
            .collect();
        let free = self.budget.window.saturating_sub(self.budget.used);
        lines.push(self.row(Mark::FREE, free, tag("[estimated]", paper), paper));
        lines
    }

    fn row(&self, mark: Mark, tokens: u64, note: &str, paper: &Paper) -> String {
        let badge = match (mark == Mark::FREE, paper.glyphs) {
            (true, Glyphs::Drawn) => "·".to_owned(),
            _ => mark.badge(paper.ink),
        };
        let share = match percent(tokens, self.budget.window) {
            0 if tokens > 0 => "<1".to_owned(),
            percent => percent.to_string(),
        };
        let figures = format!("  {badge} {:<14} {:>7} {share:>3} %", mark.name, short(tokens));
        match note.trim() {
            "" => figures,
            note => format!("{figures}   {}", paper.ink.paint(Tone::Faint, note)),
        }
    }

    /// What else is known about a part.
    fn note(&self, share: Share) -> String {
        match share {
            Share::System | Share::Tools => "the same in every request".to_owned(),
            Share::Instructions => "instruction files and the memory's index".to_owned(),
            Share::Memory if self.recalled > 0 => format!("{} recalled", self.recalled),
            Share::ToolResults => format!("{} whole or in part", counted(self.live_results, "result")),
            _ => String::new(),
        }
    }

    fn forms(&self, paper: &Paper) -> String {
        let forms: Vec<String> =
            self.by_form.iter().map(|(form, tokens)| format!("{} {}", word(form), short(*tokens))).collect();
        paper.ink.paint(Tone::Faint, &format!("  by form: {}{}", forms.join(" · "), tag(" [estimated]", paper)))
    }

    /// Tokens over requests, and where the window was compacted.
    fn over_time(&self, paper: &Paper) -> Vec<String> {
        if self.course.len() < 2 {
            return Vec::new();
        }
        let step = |point: &Point| Step { height: point.filling.total, is_marked: point.moment == Moment::Compacted };
        let steps: Vec<Step> = self.course.iter().map(step).collect();
        let top = steps.iter().map(|step| step.height).max().unwrap_or_default();
        let room = paper.width.min(MOST).saturating_sub(34);
        let (line, below) = spark(&steps, paper.pencil(room));
        let mut lines = vec![format!("  over time  {line}  up to {}", short(top))];
        let compacted: Vec<u64> =
            self.course.iter().filter(|point| point.moment == Moment::Compacted).map(|point| point.request).collect();
        if let Some((last, earlier)) = compacted.split_last() {
            let times = if earlier.is_empty() { "compacted" } else { "last compacted" };
            lines.push(format!("             {below}  {times} after request {last}"));
        }
        lines
    }

    fn left(&self, paper: &Paper) -> String {
        let [warning, compaction, refusal] = self.budget.left().map(short);
        let compaction = if self.compacts { format!("compaction {compaction}, ") } else { String::new() };
        let words = format!("  tokens left until the warning {warning}, {compaction}refusal {refusal}");
        if self.is_nearly_full() { paper.ink.paint(Tone::Warning, &words) } else { words }
    }

    pub(crate) fn json(&self) -> Value {
        let [warning, compaction, refusal] = self.budget.left();
        let parts: Vec<Value> = Share::ALL
            .into_iter()
            .map(|share| {
                let mark = share.mark();
                json!({
                    "share": share,
                    "name": mark.name,
                    "letter": mark.letter,
                    "colour": { "light": mark.light(), "dark": mark.dark() },
                    "tokens": self.by_share.get(&share).copied().unwrap_or_default(),
                })
            })
            .collect();
        json!({
            "model": self.model,
            "budget": self.budget,
            "free": self.budget.window.saturating_sub(self.budget.used),
            "left": { "warning": warning, "compaction": compaction, "refusal": refusal },
            "compacts_by_itself": self.compacts,
            "certainty": self.certainty,
            "cache": self.cache.json(),
            "questions": self.questions,
            "requests": self.requests,
            "parts": parts,
            "by_share": self.by_share,
            "by_form": self.by_form,
            "course": self.course,
            "remedies": self.remedies.json(),
            "suggestions": self.tips.iter().map(|tip| json!({ "command": tip.command, "why": tip.why })).collect::<Vec<_>>(),
        })
    }
}

/// Pictures do not get better by being wider.
const MOST: usize = 120;

impl Tip {
    fn words(&self, paper: &Paper) -> Vec<String> {
        let why = wrapped(&self.why, paper.width.saturating_sub(7)).replace('\n', "\n       ");
        match &self.command {
            Some(command) => {
                vec![format!("  try  {}", paper.ink.paint(Tone::Strong, command)), format!("       {why}")]
            }
            None => vec![format!("  note {why}")],
        }
    }
}

/// How sure a figure is, where that is asked for.
fn tag(certainty: &'static str, paper: &Paper) -> &'static str {
    if paper.volume == Volume::Loud { certainty } else { "" }
}

fn certainty(certainty: Certainty) -> &'static str {
    match certainty {
        Certainty::Reported => "reported by the service",
        Certainty::ReportedThenEstimated => "reported, the newest part estimated",
        Certainty::Estimated => "estimated",
    }
}

/// The word a value has in JSON, as people write it.
fn word(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().replace('_', " ")
}

/// Parts of one whole, in proportion to another; what rounding leaves goes to the largest, so that they still add up.
fn rescale<K: Ord>(parts: &mut BTreeMap<K, u64>, before: u64, total: u64) {
    let mut given = 0;
    for tokens in parts.values_mut() {
        *tokens = u64::try_from(u128::from(*tokens) * u128::from(total) / u128::from(before)).unwrap_or(u64::MAX);
        given += *tokens;
    }
    if let Some(largest) = parts.values_mut().max() {
        *largest += total.saturating_sub(given);
    }
}
