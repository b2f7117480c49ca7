//! The commands that look: what is remembered, what one memory says and rests on, what happened to it.

use crate::arguments::Order;
use crate::failure::Failure;
use crate::memories::{self, receipt};
use crate::paper::{Form, Ink, Paper, Tone, counted, unwritten};
use crate::report::ago;
use crate::workplace::Workplace;
use jiff::Timestamp;
use jiff::civil::Date;
use scrubjay::memory::draft::cut;
use scrubjay::memory::freshness::{self, drift};
use scrubjay::memory::{Basis, ChangeId, Entry, Kind, Memory, Recorded, Speaker, Trace, Trust, Use, Uses, logs};
use scrubjay::secrets::left_out;
use scrubjay::tools::{shown, shown_path};
use serde_json::{Value, json};
use std::io::{IsTerminal as _, Write as _};
use tokio_util::sync::CancellationToken;

/// A longer line would be broken by the narrowest terminal we look good on.
const WIDTH: usize = 78;

pub(super) fn ls(memory: &Memory, kind: Option<Kind>, by: Order, paper: &Paper) -> Result<(), Failure> {
    let uses = memory.uses()?;
    let entries = listed(memory, kind, by, &uses);
    if paper.form == Form::Json {
        let rows: Vec<Value> = entries.iter().map(|entry| entry_json(memory, entry, &uses)).collect();
        let left_out = memory.scan().left_out.len();
        let data = json!({ "directory": memory.place().memory, "memories": rows, "not_loaded": left_out });
        return paper.json("memories", data);
    }
    if entries.is_empty() {
        return Err(nothing(memory, kind));
    }
    let counted = (by == Order::Use).then_some(&uses);
    paper.line(&rows(memory, &entries, counted, paper.ink))?;
    let waiting = match memory.unconfirmed().count() {
        0 => String::new(),
        count => format!(", {count} not confirmed"),
    };
    paper.talk(&format!("{}{waiting} in {}", memories::how_many(entries.len()), shown_path(&memory.place().memory)));
    not_loaded(memory).iter().for_each(|said| paper.warn(said));
    Ok(())
}

/// What looks like a memory and is none.
pub(crate) fn not_loaded(memory: &Memory) -> Option<String> {
    let left_out = memory.scan().left_out.len() as u64;
    (left_out > 0).then(|| format!("{} not loaded; `scrubjay memory check` says why", counted(left_out, "file")))
}

/// The list, for the chat.
pub(crate) fn ls_words(memory: &Memory, ink: Ink) -> Result<String, Failure> {
    let entries = listed(memory, None, Order::Age, &Uses::default());
    if entries.is_empty() {
        return Err(nothing(memory, None));
    }
    let mut words = rows(memory, &entries, None, ink);
    words.extend(not_loaded(memory).map(|said| format!("\n{}", ink.paint(Tone::Faint, &said))));
    Ok(words)
}

fn listed<'m>(memory: &'m Memory, kind: Option<Kind>, by: Order, uses: &Uses) -> Vec<&'m Entry> {
    let mut entries: Vec<&Entry> =
        memory.scan().entries.iter().filter(|entry| kind.is_none_or(|kind| entry.kind == kind)).collect();
    match by {
        Order::Age => entries.sort_by_key(|entry| std::cmp::Reverse(entry.modified())),
        Order::Name => {}
        Order::Use => entries.sort_by(|a, b| {
            let worth = |entry: &Entry| uses.of(&entry.path);
            let (a, b) = (worth(a), worth(b));
            (b.used, b.last).cmp(&(a.used, a.last)).then(b.worth().total_cmp(&a.worth()))
        }),
    }
    entries
}

fn nothing(memory: &Memory, kind: Option<Kind>) -> Failure {
    match kind {
        Some(kind) if !memory.scan().entries.is_empty() => {
            Failure::nothing_found(format!("no memory has type {}", kind.as_str()))
                .fix("`scrubjay memory ls` lists all of them")
        }
        _ => {
            let odd = not_loaded(memory).map(|said| format!("; {said}")).unwrap_or_default();
            Failure::nothing_found(format!("nothing is remembered yet{odd}")).fix(memories::FIRST)
        }
    }
}

/// `used in 2 of 5 answers that saw it, last 3 days ago`.
fn use_in_words(count: Use, now: Timestamp) -> String {
    let last = count.last.map(|at| format!(", last {}", ago(at, now))).unwrap_or_default();
    match count.shown {
        0 => "not recalled yet".to_owned(),
        shown => format!("used in {} of {}{last}", count.used, counted(shown, "recall")),
    }
}

fn rows(memory: &Memory, entries: &[&Entry], uses: Option<&Uses>, ink: Ink) -> String {
    let now = Timestamp::now();
    let row = |entry: &&Entry| {
        let mut facts = format!("{} · {}", entry.kind.as_str(), ago(entry.modified(), now));
        if memory.is_unconfirmed(entry) {
            facts.push_str(" · not confirmed");
        }
        facts.extend(uses.map(|uses| format!(" · {}", use_in_words(uses.of(&entry.path), now))));
        let head = format!("{}  {}", ink.paint(Tone::Strong, &shown(&entry.path)), ink.paint(Tone::Faint, &facts));
        let about = if entry.description.is_empty() { &entry.name } else { &entry.description };
        let about = left_out(about).split_whitespace().collect::<Vec<_>>().join(" ");
        format!("{head}\n  {}", cut(&shown(&about), WIDTH - 2))
    };
    entries.iter().map(row).collect::<Vec<_>>().join("\n")
}

fn entry_json(memory: &Memory, entry: &Entry, uses: &Uses) -> Value {
    let Use { shown, used, last } = uses.of(&entry.path);
    json!({
        "name": entry.path,
        "path": memory.place().memory.join(&entry.path),
        "type": entry.kind.as_str(),
        "title": left_out(&entry.name),
        "description": left_out(&entry.description),
        "modified": entry.modified(),
        "bytes": entry.stamp.size,
        "confirmed": !memory.is_unconfirmed(entry),
        "uses": { "shown": shown, "used": used, "last": last },
    })
}

/// One memory. A terminal is protected and told more; a pipe gets the exact text.
pub(super) fn show(memory: &Memory, name: &str, workplace: &Workplace, paper: &Paper) -> Result<(), Failure> {
    if let Some(date) = logs::date_of(name.trim_end_matches('/')) {
        return show_log(memory, date, paper);
    }
    let entry = memories::find(memory, name)?;
    if paper.form == Form::Json {
        let text = text_of(memory, &entry)?;
        let mut data = entry_json(memory, &entry, &memory.uses()?);
        data["text"] = text.as_str().into();
        data["gone"] = gone(memory, &entry, &text, workplace).into();
        data["rests_on"] = json!(memory.rests_on(&entry.path));
        data["changes"] = changes_of(&memory.log()?, &entry.path).iter().map(|change| change.id.0).collect();
        return paper.json("memory", data);
    }
    if std::io::stdout().is_terminal() {
        return paper.line(&show_words(memory, name, workplace, paper.ink)?);
    }
    let text = text_of(memory, &entry)?;
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(unwritten)
}

/// A day's log, as it stands.
fn show_log(memory: &Memory, date: Date, paper: &Paper) -> Result<(), Failure> {
    let name = logs::file_of(date);
    let missing = || Failure::nothing_found(format!("there is no log of {date}"));
    let text = memory.log_of(date)?.ok_or_else(missing)?;
    if paper.form == Form::Json {
        return paper.json("memory-log-day", json!({ "name": name, "date": date.to_string(), "text": text }));
    }
    let mut out = std::io::stdout().lock();
    let shown = if out.is_terminal() { shown(&text) } else { text.as_str().into() };
    out.write_all(shown.as_bytes()).and_then(|()| out.flush()).map_err(unwritten)
}

/// One memory, for people.
pub(crate) fn show_words(memory: &Memory, name: &str, workplace: &Workplace, ink: Ink) -> Result<String, Failure> {
    let entry = memories::find(memory, name)?;
    let (_, topic) = memory.read(&entry.path)?;
    let text = text_of(memory, &entry)?;
    let log = memory.log()?;
    let changes = changes_of(&log, &entry.path);
    let mut lines = vec![ink.paint(Tone::Strong, &shown(&entry.name))];
    let mut row = |name: &str, value: &str| {
        lines.push(format!("  {} {}", ink.paint(Tone::Faint, &format!("{name:<9}")), shown(value)));
    };
    row("file", &shown_path(&memory.place().memory.join(&entry.path)));
    row("type", entry.kind.as_str());
    row("about", &entry.description);
    row("changed", &format!("{} ({})", ago(entry.modified(), Timestamp::now()), entry.modified().strftime("%Y-%m-%d")));
    row("rests on", &memory.rests_on(&entry.path).map_or_else(|| "your own words".to_owned(), basis_in_words));
    if let Some(last) = changes.first() {
        let more = format!("{}, the last by {}", counted(changes.len() as u64, "change"), last.cause);
        row("history", &format!("{more}; `scrubjay memory log {}`", memories::typed(&entry.path)));
    }
    row("uses", &use_in_words(memory.usefulness(&entry.path)?, Timestamp::now()));
    let gone = gone(memory, &entry, &text, workplace);
    if !gone.is_empty() {
        row("not there", &format!("{}: it names these, and they are not in the project now", gone.join(", ")));
    }
    lines.push(String::new());
    lines.push(shown(topic.body.trim_end()).into_owned());
    Ok(lines.join("\n"))
}

fn text_of(memory: &Memory, entry: &Entry) -> Result<String, Failure> {
    let found = memory.text(&entry.path)?;
    found.map(|(_, text)| text).ok_or_else(|| Failure::nothing_found(format!("`{}` was just removed", entry.path)))
}

/// What it mentions that is not in the project any more.
fn gone(memory: &Memory, entry: &Entry, text: &str, workplace: &Workplace) -> Vec<String> {
    let path = memory.place().memory.join(&entry.path);
    let one = [freshness::Memory { path: &path, text }];
    drift(&one, &workplace.root, &workplace.limits, &CancellationToken::new()).pop().unwrap_or_default()
}

pub(crate) fn basis_in_words(basis: &Basis) -> String {
    let who: Vec<String> = basis.sources.iter().map(|source| speaker_in_words(&source.speaker)).collect();
    let who = if who.is_empty() { "what somebody said".to_owned() } else { who.join(", ") };
    match basis.trust {
        Trust::Clean => who,
        Trust::Confirmed => format!("{who}; you confirmed it"),
        Trust::Shared => format!("{who}; it is shown as theirs"),
        Trust::Tainted => format!("{who}; nobody confirmed it, so sessions do not begin with it"),
    }
}

pub(crate) fn speaker_in_words(speaker: &Speaker) -> String {
    match speaker {
        Speaker::Person => "what you said".to_owned(),
        Speaker::Assistant => "what the model said".to_owned(),
        Speaker::Tool(name) => format!("what the tool {name} said"),
        Speaker::Web => "a page of the web".to_owned(),
        Speaker::File => "a file".to_owned(),
        Speaker::Team(name) if name.is_empty() => "what somebody of the team shared".to_owned(),
        Speaker::Team(name) => format!("what {name} shared"),
        Speaker::Memory(path) => format!("the memory {path}"),
    }
}

/// Newest first.
fn changes_of<'a>(log: &'a [Recorded], path: &str) -> Vec<&'a Recorded> {
    log.iter().rev().filter(|change| change.edits.iter().any(|edit| edit.path == path)).collect()
}

pub(super) fn log(memory: &Memory, name: Option<&str>, paper: &Paper) -> Result<(), Failure> {
    let log = memory.log()?;
    let changes: Vec<&Recorded> = match name {
        None => log.iter().rev().collect(),
        Some(name) => {
            let path = memories::find(memory, name).map(|entry| entry.path);
            changes_of(&log, &path.or_else(|missing| memories::find_removed(memory, name).map_err(|_| missing))?)
        }
    };
    if paper.form == Form::Json {
        let rows: Vec<Value> = changes.iter().map(|change| change_json(change)).collect();
        return paper.json("memory-log", json!({ "changes": rows }));
    }
    if changes.is_empty() {
        return Err(Failure::nothing_found("nothing has happened to this memory yet").fix(memories::FIRST));
    }
    let now = Timestamp::now();
    for change in changes {
        let head = format!("{:>4}  {:<12} {}", change.id.0, ago(change.at, now), change.cause);
        paper.line(&paper.ink.paint(Tone::Strong, &shown(&head)))?;
        for edit in &change.edits {
            paper.line(&format!("      {} {}", mark(edit), shown(&edit.path)))?;
        }
        for notice in &change.notices {
            paper.line(&format!("      {}", paper.ink.paint(Tone::Faint, &shown(notice))))?;
        }
    }
    paper.talk("`scrubjay memory diff N` shows one, `scrubjay memory undo N` takes it back");
    Ok(())
}

fn mark(edit: &Trace) -> &'static str {
    match (&edit.before, &edit.after) {
        (None, _) => "+",
        (_, None) => "−",
        (before, after) if before == after => "=",
        _ => "~",
    }
}

fn change_json(change: &Recorded) -> Value {
    let edit = |edit: &Trace| {
        let what = match mark(edit) {
            "+" => "created",
            "−" => "removed",
            "=" => "confirmed",
            _ => "changed",
        };
        json!({ "name": edit.path, "what": what })
    };
    json!({
        "change": change.id.0,
        "at": change.at,
        "cause": change.cause,
        "edits": change.edits.iter().map(edit).collect::<Vec<_>>(),
        "notices": change.notices,
    })
}

pub(super) fn diff(memory: &Memory, change: Option<u64>, paper: &Paper) -> Result<(), Failure> {
    let last = memory.log()?.iter().rev().find(|change| !change.edits.is_empty()).map(|change| change.id);
    let Some(change) = change.map(ChangeId).or(last) else {
        return Err(Failure::nothing_found("nothing has happened to this memory yet").fix(memories::FIRST));
    };
    let diffs = memory.diff(change)?;
    if paper.form == Form::Json {
        let files: Vec<Value> = diffs.iter().map(receipt::diff_json).collect();
        return paper.json("memory-diff", json!({ "change": change.0, "files": files }));
    }
    for diff in &diffs {
        let text = diff.to_string();
        let text = if text.trim().is_empty() { format!("{}: the text is the same", diff.path) } else { text };
        paper.line(shown(&text).trim_end())?;
    }
    if diffs.is_empty() {
        paper.talk(&format!("change {} changed nothing", change.0));
    }
    Ok(())
}
