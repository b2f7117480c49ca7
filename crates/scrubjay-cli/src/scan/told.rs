//! What a scan says: for people in words, for scripts in JSON.

use super::kept::Kinds;
use super::layers::Outcome;
use super::session::{Answer, Damage};
use super::tally::{CAUSES, Compactions, Tally};
use crate::paper::{Ink, Tone, counted, dollars, grouped, percent, short, size};
use crate::redaction::veiled_json;
use jiff::Timestamp;
use scrubjay::context::compaction::fidelity::What;
use scrubjay::message::Usage;
use scrubjay::secrets::veiled;
use scrubjay::tools::{shown, shown_path};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Everything a scan found out.
pub(super) struct Told {
    pub(super) tally: Tally,
    pub(super) files: usize,
    pub(super) bytes: u64,
    pub(super) unread: Vec<(PathBuf, String)>,
    /// What to do next, and what it does.
    pub(super) next: (&'static str, &'static str),
}

/// A headline is this long, and so many unread files are named.
const HEADLINE: usize = 56;
const NAMED: usize = 5;

impl Told {
    pub(super) fn words(&self, ink: Ink) -> String {
        let mut page = Page { ink, lines: Vec::new() };
        self.opening(&mut page);
        self.layers(&mut page);
        self.cost(&mut page);
        self.largest(&mut page);
        self.misses(&mut page);
        self.compactions(&mut page);
        self.trouble(&mut page);
        let (command, why) = self.next;
        page.heading("next");
        page.line(&format!("{}  {why}", ink.paint(Tone::Active, command)));
        page.lines.join("\n")
    }

    fn opening(&self, page: &mut Page) {
        let tally = &self.tally;
        let agents = tally.sessions.iter().map(|(agent, count)| format!("{} {}", agent.name(), grouped(*count)));
        let count = counted(tally.sessions.values().sum(), "session");
        let mut parts = vec![page.ink.paint(Tone::Strong, &count), agents.collect::<Vec<_>>().join(", ")];
        parts.push(counted(tally.projects.len() as u64, "project"));
        parts.extend(days(tally.first, tally.last));
        page.plain(&parts.join(" · "));
        let Usage { cache_read, output, .. } = tally.usage;
        let total = tally.usage.total_input();
        page.plain(&format!(
            "{} · {} tokens in, {} % from cache, {} out (reported)",
            counted(tally.requests, "request"),
            short(total),
            percent(cache_read, total),
            short(output)
        ));
        page.plain(&format!(
            "{} at listed prices, sub-agents included (reported){}",
            dollars(tally.money),
            self.unpriced()
        ));
        let copies = if tally.copies > 0 {
            format!("; {} in more than one file, counted once", counted(tally.copies, "request"))
        } else {
            String::new()
        };
        let read =
            format!("read {} in {}; nothing was written{copies}", size(self.bytes), counted(self.files as u64, "file"));
        page.plain(&page.ink.paint(Tone::Faint, &read));
    }

    fn unpriced(&self) -> String {
        let tally = &self.tally;
        let all = tally.requests + tally.asides;
        if tally.priced == all {
            return String::new();
        }
        let names: Vec<String> =
            tally.unpriced.iter().map(|name| headline(if name.is_empty() { "no name" } else { name })).collect();
        format!("; n/a for {}: {}", counted(all - tally.priced, "request"), names.join(", "))
    }

    fn layers(&self, page: &mut Page) {
        let (tally, with) = (&self.tally, &self.tally.with);
        page.heading("what each layer would have done (modelled, by the engine's rules)");
        let rows = [
            (
                "1 tool results",
                format!("{} of {} stored", grouped(with.stored), counted(tally.answers, "result")),
                minus(with.stored_tokens),
            ),
            (
                "2 microcompaction",
                format!("{} cleared", counted(with.cleared, "old result")),
                minus(with.cleared_tokens),
            ),
            (
                "3 session notes",
                format!(
                    "written {} times; {} without a call",
                    grouped(with.notes),
                    counted(with.from_notes, "compaction")
                ),
                String::new(),
            ),
            ("4 compaction", format!("{} by a summariser", counted(with.summarised, "compaction")), String::new()),
            (
                "5 extraction",
                format!(
                    "{} said outright in {}",
                    counted(tally.outright, "thing"),
                    counted(tally.questions, "question")
                ),
                String::new(),
            ),
            ("6 dreaming", format!("due {} times", grouped(tally.dreams)), String::new()),
            (
                "7 agents",
                format!("{} by sub-agents", counted(tally.asides, "request")),
                format!("{} tokens", short(tally.aside_usage.total_input())),
            ),
        ];
        for (name, did, tokens) in rows {
            page.line(format!("{name:<18} {did:<48} {tokens}").trim_end());
        }
        if tally.again > 0 {
            page.line(&format!(
                "the same file was read again in the same way {} times, {} tokens",
                grouped(tally.again),
                short(tally.again_tokens)
            ));
        }
    }

    fn cost(&self, page: &mut Page) {
        let Tally { without, with, billed, .. } = &self.tally;
        page.heading("input, weighted by what the cache makes of it (plain input tokens)");
        page.line(&format!(
            "without layers     {:>8}   (modelled; the record was billed {})",
            millions(without.all()),
            millions(*billed)
        ));
        page.line(&format!(
            "with layers        {:>8}   {}; of it own calls {}, reading again {}",
            millions(with.all()),
            change(with.all(), without.all()),
            millions(with.own),
            millions(with.reread)
        ));
        page.line(&format!(
            "{} of {} would have needed text that was no longer shown",
            grouped(with.edits_hidden),
            counted(with.edits, "edit")
        ));
    }

    fn largest(&self, page: &mut Page) {
        if self.tally.largest.is_empty() {
            return;
        }
        page.heading("largest tool results");
        for (answer, path) in &self.tally.largest {
            let line = format!(
                "{:>9} characters  {}  {}",
                grouped(answer.chars),
                headline(&answer.tool),
                headline(&answer.about)
            );
            page.line(line.trim_end());
            page.line(
                &page.ink.paint(Tone::Faint, &format!("{:>21} {}, request {}", "", named(path), answer.step + 1)),
            );
        }
    }

    fn misses(&self, page: &mut Page) {
        let (count, lost) = self.tally.misses.values().fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
        page.heading(&format!(
            "{}, {} tokens processed again",
            counted(count, "cache miss").replace("misss", "misses"),
            short(lost)
        ));
        for cause in CAUSES {
            if let Some((count, lost)) = self.tally.misses.get(cause.word()) {
                page.line(&format!(
                    "{:<8} {:>6}   {:>8} tokens   {}",
                    cause.word(),
                    grouped(*count),
                    short(*lost),
                    meaning(cause.word())
                ));
            }
        }
    }

    fn compactions(&self, page: &mut Page) {
        let all = &self.tally.compactions;
        if all.count == 0 {
            return;
        }
        page.heading(&format!(
            "{} by the agents themselves, from {} to {} tokens in the mean",
            counted(all.count, "compaction"),
            short(all.before / all.count),
            short(all.after / all.count)
        ));
        let Some(score) = all.score() else {
            return page.line("what they dropped is not known: no summary stands in these files, or too much was said");
        };
        let share = |kept: u64, dropped: u64| format!("{} of {}", grouped(dropped), grouped(kept + dropped));
        let Kinds { messages, constraints, findings, anchors } = all.dropped;
        page.line(&format!(
            "dropped: {} of your messages, {} standing constraints",
            share(all.kept.messages, messages),
            share(all.kept.constraints, constraints),
        ));
        page.line(&format!(
            "         {} findings of the model, {} names and numbers",
            share(all.kept.findings, findings),
            share(all.kept.anchors, anchors)
        ));
        page.line(&format!(
            "kept by weight: {:.0} % in the mean of {}",
            (100.0 * score).floor(),
            counted(all.checked, "summary").replace("summarys", "summaries")
        ));
        for (what, text) in &all.examples {
            page.line(&format!("dropped {}: {}", kind(*what), headline(text)));
        }
    }

    fn trouble(&self, page: &mut Page) {
        let Damage { torn, unknown, too_long, cut } = self.tally.damage;
        let mut told = Vec::new();
        for (count, why) in [
            (torn, "torn or not JSON"),
            (unknown, "in a shape that is not known"),
            (too_long, "too long to be a record"),
        ] {
            if count > 0 {
                told.push(format!("{} {why}", counted(count, "line")));
            }
        }
        if cut > 0 {
            told.push(format!("{} longer than is read of one", counted(cut, "file")));
        }
        if told.is_empty() && self.unread.is_empty() {
            return;
        }
        page.heading("what could not be read");
        if !told.is_empty() {
            page.line(&format!(
                "{}, in {}; the rest of them counts",
                told.join(", "),
                counted(self.tally.damaged, "file")
            ));
        }
        for (path, why) in self.unread.iter().take(NAMED) {
            page.line(&format!("{}: {}", shown_path(path), shown(why)));
        }
        if self.unread.len() > NAMED {
            page.line(&format!("and {} more; --json names them all", self.unread.len() - NAMED));
        }
    }

    pub(super) fn json(&self) -> Value {
        let tally = &self.tally;
        let agents: serde_json::Map<String, Value> =
            tally.sessions.iter().map(|(agent, count)| (agent.word().to_owned(), json!(count))).collect();
        let unread: Vec<Value> = self.unread.iter().map(|(path, why)| json!({ "path": path, "why": why })).collect();
        let Damage { torn, unknown, too_long, cut } = tally.damage;
        let largest: Vec<Value> = tally.largest.iter().map(|(answer, path)| largest(answer, path)).collect();
        let misses: serde_json::Map<String, Value> = CAUSES
            .iter()
            .map(|cause| {
                let (count, lost) = tally.misses.get(cause.word()).copied().unwrap_or_default();
                (cause.word().to_owned(), json!({ "count": count, "lost_tokens": lost }))
            })
            .collect();
        json!({
            "files": self.files,
            "bytes": self.bytes,
            "sessions": tally.sessions.values().sum::<u64>(),
            "by_agent": agents,
            "projects": tally.projects.len(),
            "first": tally.first,
            "last": tally.last,
            "requests": tally.requests,
            "requests_in_copies": tally.copies,
            "questions": tally.questions,
            "usage": tally.usage,
            "usage_certainty": "reported",
            "cost_usd": (tally.priced == tally.requests + tally.asides).then_some(tally.money),
            "cost_usd_of_priced": tally.money,
            "priced_requests": tally.priced,
            "models_without_price": tally.unpriced,
            "sub_agents": { "requests": tally.asides, "usage": tally.aside_usage },
            "layers": layers(tally),
            "weighted_input": {
                "unit": "plain input tokens",
                "billed": tally.billed,
                "without": outcome(&tally.without),
                "with": outcome(&tally.with),
                "certainty": "estimated",
            },
            "tool_results": { "count": tally.answers, "characters": tally.answer_chars, "largest": largest },
            "read_again": { "count": tally.again, "tokens": tally.again_tokens },
            "cache_misses": misses,
            "compactions": compactions(&tally.compactions),
            "damage": { "torn_lines": torn, "unknown_lines": unknown, "too_long_lines": too_long, "cut_files": cut, "files": tally.damaged },
            "unread": unread,
            "next": { "command": self.next.0, "why": self.next.1 },
        })
    }
}

/// Lines, the parts under headings indented.
struct Page {
    ink: Ink,
    lines: Vec<String>,
}

impl Page {
    fn plain(&mut self, text: &str) {
        self.lines.push(text.to_owned());
    }

    fn heading(&mut self, text: &str) {
        self.lines.push(String::new());
        self.lines.push(self.ink.paint(Tone::Strong, text));
    }

    fn line(&mut self, text: &str) {
        self.lines.push(format!("  {text}"));
    }
}

fn layers(tally: &Tally) -> Value {
    let with = &tally.with;
    json!({
        "tool_results": { "stored": with.stored, "of": tally.answers, "spared_tokens": with.stored_tokens },
        "microcompaction": { "cleared": with.cleared, "spared_tokens": with.cleared_tokens },
        "session_notes": { "updates": with.notes, "compactions": with.from_notes },
        "compaction": { "summarised": with.summarised },
        "extraction": { "said_outright": tally.outright },
        "dreaming": { "due": tally.dreams },
        "agents": { "requests": tally.asides },
        "certainty": "estimated",
    })
}

fn outcome(outcome: &Outcome) -> Value {
    json!({
        "total": outcome.all(),
        "requests": outcome.cost,
        "own_calls": outcome.own,
        "reading_again": outcome.reread,
        "input_tokens": outcome.total,
        "cache_read_tokens": outcome.read,
        "edits": outcome.edits,
        "edits_hidden": outcome.edits_hidden,
    })
}

fn largest(answer: &Answer, path: &Path) -> Value {
    json!({
        "characters": answer.chars,
        "tool": headline(&answer.tool),
        "about": headline(&answer.about),
        "request": answer.step + 1,
        "path": path,
    })
}

fn compactions(all: &Compactions) -> Value {
    let kinds = |kinds: &Kinds| {
        json!({
            "user_messages": kinds.messages,
            "constraints": kinds.constraints,
            "findings": kinds.findings,
            "anchors": kinds.anchors,
        })
    };
    let example = |(what, text): &(What, String)| json!({ "what": kind(*what), "headline": headline(text) });
    json!({
        "count": all.count,
        "checked": all.checked,
        "score": all.score(),
        "kept": kinds(&all.kept),
        "dropped": kinds(&all.dropped),
        "tokens_before": all.before,
        "tokens_after": all.after,
        "examples": all.examples.iter().map(example).map(veiled_json).collect::<Vec<_>>(),
    })
}

fn kind(what: What) -> &'static str {
    match what {
        What::Constraint => "constraint",
        What::UserMessage => "message",
        What::Task => "task",
        What::Commit => "commit",
        What::Measure => "value",
        What::Finding => "finding",
        What::Anchor => "name",
    }
}

fn meaning(cause: &str) -> &'static str {
    match cause {
        "model" => "another model was chosen",
        "system" => "the agent was updated, or its opening changed",
        "tools" => "the tools changed",
        "history" => "earlier messages changed, by a compaction for example",
        "ttl" => "the pause was longer than the cache lives",
        "server" => "nothing in the record explains it",
        _ => "scrubjay changed it",
    }
}

/// The first words of something, or the last of a path, without credentials and without what a terminal would obey.
fn headline(text: &str) -> String {
    let text = veiled(text);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let (count, is_path) = (line.chars().count(), line.starts_with('/') && !line.contains(' '));
    if count > HEADLINE && is_path {
        return format!("…{}", shown(&line.chars().skip(count - HEADLINE).collect::<String>()));
    }
    let cut: String = line.chars().take(HEADLINE).collect();
    let more = if cut.len() < text.trim().len() { "…" } else { "" };
    format!("{}{more}", shown(&cut))
}

/// A session by its project's folder and the beginning of its id.
fn named(path: &Path) -> String {
    let stem = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = stem.trim_end_matches(".gz").trim_end_matches(".jsonl");
    let id: String = stem.strip_prefix("rollout-").unwrap_or(stem).chars().take(36).collect();
    format!("session {}", shown(&id))
}

fn days(first: Option<Timestamp>, last: Option<Timestamp>) -> Option<String> {
    let day = |at: Timestamp| at.strftime("%Y-%m-%d").to_string();
    let (first, last) = (day(first?), day(last?));
    Some(if first == last { first } else { format!("{first} to {last}") })
}

fn minus(tokens: u64) -> String {
    if tokens == 0 { String::new() } else { format!("−{} tokens", short(tokens)) }
}

fn millions(tokens: f64) -> String {
    short(tokens.max(0.0) as u64)
}

/// How much more or less, in the same place and size.
fn change(with: f64, without: f64) -> String {
    if without <= 0.0 {
        return "n/a".to_owned();
    }
    let percent = 100.0 * (with / without - 1.0);
    format!("{}{:.1} %", if percent < 0.0 { "−" } else { "+" }, percent.abs())
}
