//! `scrubjay recall`: find what was remembered, noted, stored or said, without a model, and say why it was found.

use crate::arguments::{RecallFlags, RecallIn};
use crate::failure::Failure;
use crate::memories;
use crate::paper::{Form, Ink, Paper, Tone, counted};
use crate::report::ago;
use crate::service::embedder;
use crate::workplace::Workplace;
use jiff::{Timestamp, Zoned};
use scrubjay::limits::Limits;
use scrubjay::memory::draft::cut;
use scrubjay::memory::find::{Archive, Caught, Finder, Found, Shelf, Sighting};
use scrubjay::memory::meaning::{self, Learned, Unread};
use scrubjay::memory::recall::{Embedder, Hit, Query, Signs};
use scrubjay::memory::{Memory, Trust};
use scrubjay::tools::{shown, shown_path};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// A longer line would be broken by the narrowest terminal we look good on.
const WIDTH: usize = 76;

/// Something that was found, in words.
struct Answer {
    /// What to call it.
    name: String,
    /// Where it is, of which kind, how old.
    facts: String,
    /// The line that says most.
    says: String,
    /// How to see all of it.
    more: String,
    file: PathBuf,
    place: &'static str,
    session: Option<String>,
    message: Option<String>,
    unconfirmed: bool,
    hit: Hit,
}

pub(super) async fn run(flags: &RecallFlags, workplace: &Workplace, paper: &Paper) -> Result<(), Failure> {
    let query = flags.query.join(" ");
    let answers = answers(&query, flags, workplace, paper).await?;
    if paper.form == Form::Json && !answers.is_empty() {
        let rows: Vec<Value> = answers.iter().map(Answer::json).collect();
        return paper.json("recall", json!({ "query": query, "in": word(flags.place), "results": rows }));
    }
    if answers.is_empty() {
        return Err(nothing(&query, flags.place));
    }
    for answer in &answers {
        paper.line(&answer.words(paper.ink))?;
        if flags.explain {
            paper.line(&explained(answer, &workplace.limits, paper.ink))?;
        }
    }
    Ok(())
}

/// What the chat is told: the best few memories.
pub(crate) async fn words(query: &str, workplace: &Workplace, paper: &Paper) -> Result<String, Failure> {
    let few = u16::try_from(workplace.limits.recall_places).unwrap_or(u16::MAX);
    let query_words = vec![query.to_owned()];
    let flags =
        RecallFlags { most: few, place: RecallIn::Memory, explain: false, embeddings: None, query: query_words };
    let answers = answers(query, &flags, workplace, paper).await?;
    if answers.is_empty() {
        return Err(nothing(query, RecallIn::Memory));
    }
    Ok(answers.iter().map(|answer| answer.words(paper.ink)).collect::<Vec<_>>().join("\n"))
}

fn nothing(query: &str, place: RecallIn) -> Failure {
    let fix = match place {
        RecallIn::All => "try other words or fewer; `scrubjay memory ls` and `scrubjay sessions` show what there is",
        _ => "try other words or fewer, or `--in all` to look into notes, stored results and past sessions too",
    };
    Failure::nothing_found(format!("nothing answers `{}`", shown(query))).fix(fix)
}

async fn answers(
    query: &str,
    flags: &RecallFlags,
    workplace: &Workplace,
    paper: &Paper,
) -> Result<Vec<Answer>, Failure> {
    if query.trim().is_empty() {
        return Err(Failure::usage("what should be looked for?").fix("scrubjay recall \"how do we test\""));
    }
    let memory = memories::open(workplace, paper)?;
    let meanings = Meanings::of(query, workplace, paper).await;
    let mut query =
        Query::new(query, Zoned::now(), usize::from(flags.most)).above(workplace.limits.recall_search_floor);
    query.meaning = meanings.as_ref().map(|meanings| meanings.asked.as_slice());
    let project = workplace.project();
    if flags.place == RecallIn::Memory {
        let mut finder = Finder::open(&project, &workplace.limits);
        said(&finder.catch_up(&memory), paper);
        if let Some(meanings) = &meanings {
            let unread = finder.unread(&memory, meanings.embedder.name());
            meanings.said(finder.learn(&meanings.read(&unread, workplace, paper).await), paper);
        }
        let found = finder.find(&memory, &query, |_| false);
        return Ok(found.into_iter().map(|found| remembered(&memory, found)).collect());
    }
    let mut archive = Archive::open(&project, &workplace.limits);
    let unsearched = |error: std::io::Error| {
        Failure::failed(format!("the sessions of this project cannot be searched: {error}"))
            .fix("`scrubjay recall` alone looks into the memory only")
    };
    said(&archive.catch_up(Some(&memory)).map_err(unsearched)?, paper);
    if let Some(meanings) = &meanings {
        let unread = archive.unread(Some(&memory), meanings.embedder.name()).map_err(unsearched)?;
        meanings.said(archive.learn(&meanings.read(&unread, workplace, paper).await), paper);
    }
    let found = archive.find(Some(&memory), &query, shelves(flags.place));
    Ok(found.into_iter().map(|sighting| sighted(&archive, &memory, query.text, sighting)).collect())
}

/// What the question means, and who says what texts mean.
struct Meanings {
    embedder: Arc<dyn Embedder>,
    asked: Vec<f32>,
    until: Instant,
}

impl Meanings {
    /// Nothing where none is set; one that cannot be used is said, and words decide alone.
    async fn of(query: &str, workplace: &Workplace, paper: &Paper) -> Option<Self> {
        let alone = |why: &str| paper.warn(&format!("found by words alone: {why}"));
        let embedder = match embedder(workplace) {
            Ok(embedder) => embedder?,
            Err(failure) => {
                alone(&failure.to_string());
                return None;
            }
        };
        let until = Instant::now() + Duration::from_millis(workplace.limits.embedding_command_ms);
        let asked = meaning::ask(&*embedder, query, until).await;
        match asked {
            Ok(asked) => Some(Self { embedder, asked, until }),
            Err(why) => {
                alone(&why);
                None
            }
        }
    }

    async fn read(&self, unread: &[Unread], workplace: &Workplace, paper: &Paper) -> Learned {
        let learned = meaning::read(&*self.embedder, unread, self.until, &workplace.limits).await;
        if let Some(why) = &learned.missing {
            let missing = counted((unread.len() - learned.vectors.len()) as u64, "text");
            paper.warn(&format!("{missing} could be found by words alone: {why}"));
        }
        learned
    }

    fn said(&self, unkept: Option<String>, paper: &Paper) {
        unkept.iter().for_each(|why| paper.talk(&format!("the next search asks for meanings again: {}", shown(why))));
    }
}

/// What could not be looked into.
fn said(caught: &Caught, paper: &Paper) {
    if let Some(first) = caught.skipped.first() {
        paper.warn(&format!(
            "{} could not be looked into; the first: {first}",
            counted(caught.skipped.len() as u64, "file")
        ));
    }
    caught.unkept.iter().for_each(|why| paper.talk(&format!("the next search begins anew: {}", shown(why))));
}

fn shelves(place: RecallIn) -> &'static [Shelf] {
    match place {
        RecallIn::Memory => &[Shelf::Memory],
        RecallIn::Notes => &[Shelf::Notes],
        RecallIn::Results => &[Shelf::Results],
        RecallIn::Sessions => &[Shelf::Sessions],
        RecallIn::All => &Shelf::ALL,
    }
}

fn word(place: RecallIn) -> &'static str {
    match shelves(place) {
        [one] => one.word(),
        _ => "all",
    }
}

fn remembered(memory: &Memory, found: Found<'_>) -> Answer {
    let Found { entry, hit } = found;
    let unconfirmed = memory.rests_on(&entry.path).is_some_and(|basis| basis.trust == Trust::Tainted);
    let mark = if unconfirmed { " · not confirmed" } else { "" };
    let says = if entry.description.is_empty() { &entry.name } else { &entry.description };
    Answer {
        name: entry.path.clone(),
        facts: format!("{} · {}{mark}", entry.kind.as_str(), ago(entry.modified(), Timestamp::now())),
        says: says.clone(),
        more: format!("scrubjay memory show {}", memories::typed(&entry.path)),
        file: memory.place().memory.join(&entry.path),
        place: Shelf::Memory.word(),
        session: None,
        message: None,
        unconfirmed,
        hit,
    }
}

fn sighted(archive: &Archive, memory: &Memory, query: &str, sighting: Sighting) -> Answer {
    let text = archive.text(&sighting).unwrap_or_default();
    let Sighting { shelf, file, session, message, hit } = sighting;
    let below = file.strip_prefix(&memory.place().memory).unwrap_or(&file).display().to_string();
    if let (Shelf::Memory, Some(entry)) = (shelf, memory.scan().get(&below)) {
        let found = remembered(memory, Found { entry, hit });
        return Answer { facts: format!("{} · {}", shelf.word(), found.facts), ..found };
    }
    let name = match shelf {
        Shelf::Memory => below,
        Shelf::Notes => format!("notes of session {session}"),
        Shelf::Results | Shelf::Sessions => format!("session {session}"),
    };
    let more = match shelf {
        Shelf::Memory => format!("scrubjay memory show {}", memories::typed(&name)),
        Shelf::Notes => format!("scrubjay notes --session {session}"),
        Shelf::Results => shown_path(&file),
        Shelf::Sessions => format!("scrubjay chat --resume {session}"),
    };
    Answer {
        facts: shelf.word().to_owned(),
        says: telling_line(&text, &hit, query).to_owned(),
        place: shelf.word(),
        session: (!session.is_empty()).then_some(session),
        name,
        more,
        file,
        message,
        unconfirmed: false,
        hit,
    }
}

/// The line that holds most of what was asked for.
fn telling_line<'a>(text: &'a str, hit: &Hit, query: &str) -> &'a str {
    let held = hit.signals.iter().filter(|signal| signal.name == "words").flat_map(|signal| &signal.terms);
    let asked = held.map(String::as_str).chain(query.split_whitespace());
    let words: Vec<String> = asked.map(str::to_lowercase).filter(|word| word.chars().count() > 2).collect();
    let held = |line: &&str| {
        let line = line.to_lowercase();
        words.iter().filter(|word| line.contains(word.as_str())).count()
    };
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && *line != "---");
    // Of several that hold as much, the first.
    lines.rev().max_by_key(held).unwrap_or_default()
}

impl Answer {
    fn words(&self, ink: Ink) -> String {
        let says = self.says.split_whitespace().collect::<Vec<_>>().join(" ");
        format!(
            "{}  {}\n  {}\n  {}",
            ink.paint(Tone::Strong, &shown(&self.name)),
            ink.paint(Tone::Faint, &self.facts),
            cut(&shown(&says), WIDTH),
            ink.paint(Tone::Faint, &shown(&self.more)),
        )
    }

    fn json(&self) -> Value {
        let signal = |signal: &scrubjay::memory::recall::Signal| json!({ "name": signal.name, "value": signal.value, "terms": signal.terms });
        json!({
            "in": self.place,
            "name": self.name,
            "path": self.file,
            "says": self.says,
            "session_id": self.session,
            "message": self.message,
            "confirmed": !self.unconfirmed,
            "relevance": self.hit.relevance,
            "score": self.hit.score,
            "signals": self.hit.signals.iter().map(signal).collect::<Vec<_>>(),
        })
    }
}

/// How likely it is wanted, what that rests on, and what it would need to be shown to a model unasked; then every signal of its
/// place and what it added, strongest first.
fn explained(answer: &Answer, limits: &Limits, ink: Ink) -> String {
    let hit = &answer.hit;
    let share = |limit: u64| limit as f32 / 100.0;
    let pushed = if answer.unconfirmed { limits.recall_push_floor_unconfirmed } else { limits.recall_push_floor };
    let signs = Signs::NAMES.iter().zip(hit.signs.values()).filter(|(_, value)| *value != 0.0);
    let signs: Vec<String> = signs.map(|(name, value)| format!("{name} {value:.2}")).collect();
    let mut lines = vec![
        format!(
            "    relevance {:.2}; shown from {:.2}, to a model unasked from {:.2}",
            hit.relevance,
            share(limits.recall_search_floor),
            share(pushed)
        ),
        format!("    {}", signs.join(", ")),
        format!("    score {:.3}", hit.score),
    ];
    for signal in &hit.signals {
        // A message of a session is named after a tab.
        let terms = signal.terms.join(", ").replace('\t', " ");
        let terms = match signal.name {
            "newer" => format!("  than {terms}"),
            _ if terms.is_empty() => terms,
            _ => format!("  {terms}"),
        };
        let line = format!("    {:>+8.3}  {:<12}{}", signal.value, signal.name, shown(&terms));
        lines.push(line.trim_end().to_owned());
    }
    ink.paint(Tone::Faint, &lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay::memory::recall::Signal;

    #[test]
    fn the_line_that_holds_most_is_shown() {
        let signals = vec![Signal { name: "words", value: 1.0, terms: vec!["parrot".into()] }];
        let hit = Hit { id: String::new(), relevance: 1.0, signs: Signs::default(), score: 1.0, signals };
        let text = "# Birds\n\nA jay sings.\nThe parrot sings too.\nAnother parrot.\n";
        assert_eq!(telling_line(text, &hit, "which parrot sings"), "The parrot sings too.");
        assert_eq!(telling_line("", &hit, "x"), "");
    }
}
