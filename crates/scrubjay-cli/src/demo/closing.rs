//! What is said after the play: the receipt, what was kept, what is remembered, and what to do next.

use super::actor::BILLED_AS;
use super::kept::{Kept, in_words};
use super::memories::{Changed, Dreamt, Remembered};
use super::receipt::{Bill, Breaks, Receipt, Recoverable};
use super::screen::clipped;
use crate::paper::{Ink, Tone, counted, grouped, short, size};
use anstyle::AnsiColor;
use scrubjay::ledger::savings::{Amount, Savings};

/// Where and how it is written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Page {
    pub(super) ink: Ink,
    pub(super) width: usize,
}

/// What a receipt of half a session says.
const ENDED_EARLY: &str = "The first run ended before the session did, because its window was full and nothing made room: the two cannot be compared.";

impl Page {
    fn heading(&self, words: &str) -> String {
        format!("\n{}", self.ink.paint(Tone::Strong, words))
    }

    fn faint(&self, words: &str) -> String {
        self.ink.paint(Tone::Faint, words)
    }

    /// A text that goes over several lines, each this far in.
    fn wrapped(&self, text: &str, indent: usize) -> Vec<String> {
        let (mut lines, mut line) = (Vec::new(), String::new());
        for word in text.split_whitespace() {
            let word = &clipped(word, self.width.saturating_sub(indent));
            if !line.is_empty() && indent + line.chars().count() + 1 + word.chars().count() > self.width {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        lines.push(line);
        lines.iter().map(|line| format!("{}{line}", " ".repeat(indent))).collect()
    }

    /// A name, and beside it a text of several lines.
    fn named(&self, name: &str, text: &str) -> Vec<String> {
        const INDENT: usize = 18;
        let mut lines = self.wrapped(text, INDENT);
        if let Some(first) = lines.first_mut() {
            *first = format!("  {name:<16}{}", first.trim_start());
        }
        lines
    }

    pub(super) fn paragraph(&self, text: &str) -> Vec<String> {
        self.wrapped(text, 0)
    }

    /// Commands, and what each is for.
    pub(super) fn next(&self, steps: &[(String, &'static str)]) -> Vec<String> {
        let mut lines = vec![self.heading("Next")];
        for (command, why) in steps {
            match command.chars().count() <= 30 {
                true => lines.push(format!("  {command:<32}{}", self.faint(why))),
                false => lines.extend([format!("  {command}"), format!("  {:<32}{}", "", self.faint(why))]),
            }
        }
        lines
    }

    /// What both runs took. `cut` says why the first one ended early, if it did.
    pub(super) fn receipt(&self, receipt: &Receipt, cut: Option<&str>) -> Vec<String> {
        let Receipt { with, without, savings, breaks, recoverable } = receipt;
        let mut lines = vec![self.heading("The receipt")];
        lines.extend(self.compared(with, without, cut));
        lines.push(String::new());
        lines.extend(self.netted(savings));
        lines.push(String::new());
        lines.extend(self.named("prefix breaks", &broken(breaks)));
        lines.extend(self.named("recoverable", &looked_up(recoverable)));
        lines.iter().map(|line| line.trim_end().to_owned()).collect()
    }

    /// Both runs beside each other.
    fn compared(&self, with: &Bill, without: &Bill, cut: Option<&str>) -> Vec<String> {
        // Half a session is not cheaper than a whole one.
        let change = |with: f64, without: f64| if cut.is_some() { String::new() } else { change(with, without) };
        let row = |name: &str, of: &dyn Fn(&Bill) -> String, change: String| {
            format!("  {name:<34}{:>12}{:>14}{change:>10}", of(with), of(without))
        };
        let sent = change(with.sent as f64, without.sent as f64);
        let mut lines = vec![
            self.faint(&format!("  {:<34}{:>12}{:>14}", "", "with", "without")),
            row("tokens sent", &|bill| short(bill.sent), sent),
            row("  of these read from the cache", &share, String::new()),
            row("money, cache included", &|bill| usd(bill.usd), change(with.usd, without.usd)),
            row("  of it notes, summaries, memories", &|bill| usd(bill.own_usd), String::new()),
            row("window compacted", &|bill| times(bill.compactions), String::new()),
        ];
        let how = format!(
            "Without: the same session played a second time, just now, with every layer off but the last resort, a summary \
             when the window is full. Both are billed by the published caching rules at the prices of {BILLED_AS}."
        );
        lines.extend(self.wrapped(&how, 2).iter().map(|line| self.faint(line)));
        lines.extend(cut.into_iter().flat_map(|_| self.wrapped(ENDED_EARLY, 2)));
        lines
    }

    /// What the ledger says about the first run.
    fn netted(&self, savings: &Savings) -> Vec<String> {
        let part =
            |name: &str, amount: &Amount| format!("  {name:<24}{:>12}  {}", signed(amount), amount.certainty.word());
        vec![
            "  The ledger of the first run, as `scrubjay savings` nets it out:".to_owned(),
            part("saved by the layers", &savings.gross),
            part("cache we spoiled", &savings.damage),
            part("hidden, then read again", &savings.read_back),
            part("longer cache lifetime", &savings.premium),
            part("our own calls", &savings.spend),
            self.ink.paint(Tone::Strong, &part("net", &savings.net())),
        ]
    }

    pub(super) fn kept(&self, kept: &Kept) -> Vec<String> {
        let number = match kept.things.len() {
            5 => "Five things".to_owned(),
            some => counted(some as u64, "thing"),
        };
        let mut lines = vec![self.heading(&format!("{number} it kept that a plain summary of the same length lost"))];
        for finding in &kept.things {
            let text = clipped(&finding.text.replace(&kept.root, ""), 2 * self.width.saturating_sub(24));
            lines.extend(self.named(in_words(finding.what), &text));
        }
        let of = match kept.compactions {
            0 => "If it were compacted now".to_owned(),
            count => format!("Over {}", counted(count as u64, "compaction")),
        };
        let scores = format!(
            "{of}: {:.0} % of what mattered is still said, {:.0} % by the plain summary (rules, your words, tasks, \
             findings, names; checked by code). Everything else is one command away: `scrubjay uncompact`.",
            (kept.ours * 100.0).floor(),
            (kept.plain * 100.0).floor()
        );
        lines.extend(self.wrapped(&scores, 2).iter().map(|line| self.faint(line)));
        lines
    }

    pub(super) fn memories(&self, memories: &[Remembered]) -> Vec<String> {
        if memories.is_empty() {
            return Vec::new();
        }
        let mut lines = vec![self.heading("What it will know next time")];
        for memory in memories {
            let waits = if memory.is_confirmed { "" } else { " (a log said so: waits for you)" };
            let room = self.width.saturating_sub(38 + waits.chars().count());
            let about = clipped(&memory.description, room);
            let name = clipped(&memory.path, 32);
            lines.push(format!("  {name:<34}{about}{}", self.ink.paint(Tone::Warning, waits)));
        }
        lines
    }

    pub(super) fn dream(&self, dream: &Dreamt) -> Vec<String> {
        let mut lines = vec![self.heading("What it dreamt at night")];
        for changed in &dream.changed {
            lines.extend(self.changed(changed));
        }
        match (dream.changed.len() as u64, dream.proposed.is_empty() && dream.findings.is_empty()) {
            (0, true) => lines.push("  Nothing had to be changed.".to_owned()),
            (0, false) => {}
            (count, _) => lines.push(self.faint(&format!(
                "  {} changed in one step, for ${:.2}; `scrubjay undo` takes it back.",
                if count == 1 { "One memory".to_owned() } else { format!("{count} memories") },
                dream.usd
            ))),
        }
        for changed in &dream.proposed {
            lines.extend(self.changed(changed));
        }
        for reason in &dream.reasons {
            lines.extend(self.wrapped(&format!("waits for you, because {reason}"), 4));
        }
        let findings = dream.findings.iter().take(MOST_FINDINGS);
        lines.extend(findings.flat_map(|finding| self.wrapped(&format!("for you to judge: {finding}"), 2)));
        lines
    }

    /// A memory that was changed: the lines that came and went.
    fn changed(&self, changed: &Changed) -> Vec<String> {
        if changed.is_gone {
            let words = format!("  − {}: merged, the old text is in the trash", changed.path);
            return vec![self.ink.dye(AnsiColor::Red.on_default(), &clipped_line(&words, self.width))];
        }
        let mut lines = vec![format!("  ~ {}", changed.path)];
        let is_header = |line: &&str| line.starts_with("+++") || line.starts_with("---");
        for line in changed.diff.lines().filter(|line| !is_header(line)).take(MOST_DIFF) {
            let text = clipped_line(&format!("    {line}"), self.width);
            match line.chars().next() {
                Some('+') => lines.push(self.ink.dye(AnsiColor::Green.on_default(), &text)),
                Some('-') => lines.push(self.ink.dye(AnsiColor::Red.on_default(), &text)),
                _ => {}
            }
        }
        lines
    }
}

/// A line that keeps the blanks it begins with.
fn clipped_line(line: &str, width: usize) -> String {
    match line.chars().count() > width {
        true => line.chars().take(width.saturating_sub(1)).chain(['…']).collect(),
        false => line.to_owned(),
    }
}

const MOST_FINDINGS: usize = 3;
/// Lines of a diff that are shown.
const MOST_DIFF: usize = 24;

fn broken(breaks: &Breaks) -> String {
    let announced: u64 = breaks.announced.values().sum();
    let causes: Vec<String> = breaks.announced.iter().map(|(cause, count)| format!("{cause} {count}")).collect();
    let causes = if causes.is_empty() { "none".to_owned() } else { causes.join(", ") };
    format!("{} unexplained; {announced} announced before the request ({causes})", breaks.unexplained)
}

fn looked_up(recoverable: &Recoverable) -> String {
    let Recoverable { stored, stored_bytes, cleared, compacted, lost } = *recoverable;
    let (stored, compacted) = (counted(stored, "result"), counted(compacted, "message"));
    let there = if lost == 0 { "all there".to_owned() } else { format!("{lost} not there") };
    format!(
        "{stored} stored ({}), {cleared} cleared, {compacted} compacted: looked up, and {there}",
        size(stored_bytes)
    )
}

fn share(bill: &Bill) -> String {
    format!("{:.0} %", bill.read as f64 * 100.0 / bill.sent.max(1) as f64)
}

fn usd(amount: f64) -> String {
    format!("${amount:.2}")
}

fn times(count: u64) -> String {
    match count {
        0 => "never".to_owned(),
        1 => "once".to_owned(),
        count => format!("{} times", grouped(count)),
    }
}

fn change(with: f64, without: f64) -> String {
    if without == 0.0 {
        return String::new();
    }
    let percent = (with / without - 1.0) * 100.0;
    format!("{}{:.0} %", if percent < 0.0 { "−" } else { "+" }, percent.abs())
}

fn signed(amount: &Amount) -> String {
    match amount.money {
        Some(money) if money < 0.0 => format!("−${:.2}", -money),
        Some(money) => format!("${money:.2}"),
        None => "n/a".to_owned(),
    }
}
