//! Layer 3: session notes.
//!
//! What:   one Markdown file a session, in ten fixed sections, that always says where things stand.
//! When:   after a reply, also in the middle of a tool loop. By a model shortly before the compaction line; by code from the
//!         start until then, and alone where there is no model.
//! Cost:   one forked call for each compaction it spares, a small share of the conversation; by code nothing.
//! Spares: layer 4: notes that are ready become the summary without a call.
//! Leaves: the headings and italic lines of the template; an update that broke them is rejected.

use super::compaction::boundary::{Draft, Planned, Subject};
use super::compaction::{extract, from_notes, rounds};
use super::microcompaction;
use super::notes::{keeper, template};
use crate::desk::Desk;
use crate::digest::Digest;
use crate::errand::{EndsWhen, Errand};
use crate::gate::Gate;
use crate::limits::Limits;
use crate::message::{Message, Origin, Usage};
use crate::paths;
use crate::secrets;
use crate::settings::{ContextPolicy, key};
use crate::tokens::{Budget, Share};
use crate::transcript::{Author, Call, Noted, Trigger, View, Writer};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The errand's name, and the name under which its calls and failures are booked.
pub const ERRAND: &str = "session_notes";

/// Where a session's notes lie, below its folder.
pub fn place(folder: &Path) -> PathBuf {
    folder.join("session-memory").join("summary.md")
}

/// Who is to write them now, if it is time.
pub fn due(view: &View, desk: &Desk) -> Option<Writer> {
    let settings = &desk.settings;
    if !settings.flag(&key::SESSION_NOTES) || !super::compacts_by_itself(settings) {
        return None;
    }
    let has_model = desk.model.is_a_mind();
    match (settings.text(&key::NOTES_WRITER), settings.context_policy()) {
        ("model", _) if has_model => enough_was_said(view, desk).then_some(Writer::Model),
        ("auto", ContextPolicy::Faithful) if has_model => {
            if is_due_by_model(view, desk) {
                return Some(Writer::Model);
            }
            // What a model wrote is its own; until then code keeps them for whoever looks.
            (view.written.is_none() && enough_was_said(view, desk)).then_some(Writer::Code)
        }
        ("auto", ContextPolicy::Economy) if has_model => {
            let share = desk.limits.economy_notes_cost_percent;
            let writer = if is_affordable(view, desk, 2, share) { Writer::Model } else { Writer::Code };
            enough_was_said(view, desk).then_some(writer)
        }
        _ => enough_was_said(view, desk).then_some(Writer::Code),
    }
}

/// Whether code may write into the notes: what a model wrote stays as it is, unless code was chosen to continue it.
pub fn may_keep(view: &View, desk: &Desk) -> bool {
    view.written.is_none() || may_be_by_code(desk)
}

/// Enough words since the last time, and either some tools were used or the model has come to rest.
fn enough_was_said(view: &View, desk: &Desk) -> bool {
    let limits = &view.count.in_estimates(&desk.limits);
    let since = since(view);
    let enough = match &view.noted {
        None => conversation(view) >= limits.notes_first_tokens,
        Some(_) => rounds::weight(since, limits) >= limits.notes_every_tokens,
    };
    let calls = since.iter().map(|message| message.tool_uses().count() as u64).sum::<u64>();
    let resting = since.iter().rev().find(|message| message.origin == Origin::Model);
    enough && (calls >= limits.notes_every_calls || resting.is_some_and(|last| last.tool_uses().next().is_none()))
}

/// Whether a model is to write them: a compaction is near and the notes do not reach that far yet, clearing old results would
/// not spare it, and they cost little against the conversation. Earlier notes would only be written again.
fn is_due_by_model(view: &View, desk: &Desk) -> bool {
    let limits = &desk.limits;
    let budget = super::budget_of(desk.model.window(), view.count.total(), &desk.settings, limits);
    let from = last_notes_from(&budget, view.count.opening(), limits);
    budget.used >= from
        && covered(view) < from
        && is_affordable(view, desk, 1, limits.notes_cost_percent)
        && !microcompaction::suffices(view, desk)
}

/// How full the window is when notes are written that a compaction will start from: a little before the line. Of a small room
/// behind a large opening it is a share.
pub fn last_notes_from(budget: &Budget, opening: u64, limits: &Limits) -> u64 {
    let line = budget.compaction;
    let room = line.saturating_sub(opening);
    let before = limits.notes_last_tokens.min(room.saturating_mul(limits.notes_last_percent) / 100);
    line.saturating_sub(before).max(line.saturating_mul(limits.notes_from_percent) / 100)
}

/// How far notes of the model reach, as the window was then; nothing where a compaction has replaced that since.
fn covered(view: &View) -> u64 {
    let noted = view.noted.as_ref().filter(|noted| noted.by == Writer::Model);
    let stands = |noted: &&Noted| view.history.iter().any(|message| message.id == noted.upto);
    noted.filter(stands).map_or(0, |noted| noted.tokens.saturating_add(view.count.opening()))
}

/// What was said after the notes' last message.
fn since(view: &View) -> &[Arc<Message>] {
    let covered = view.noted.as_ref().map(|noted| &noted.upto);
    let at = covered.and_then(|id| view.history.iter().position(|message| message.id == *id));
    &view.history[at.map_or(0, |at| at + 1)..]
}

/// Everything but what every request begins with.
fn conversation(view: &View) -> u64 {
    let fixed = [Share::System, Share::Tools, Share::Instructions];
    view.count.by_share().into_iter().filter(|(share, _)| !fixed.contains(share)).map(|(_, tokens)| tokens).sum()
}

/// What the notes will cover when they are written now.
pub fn covering(view: &View, by: Writer) -> Option<Noted> {
    let upto = view.history.last()?.id.clone();
    Some(Noted { upto, tokens: conversation(view), by })
}

/// Whether so many updates by the model, with all before them, cost no more than a small share of what the conversation has
/// cost. What has no known price is not held against it.
fn is_affordable(view: &View, desk: &Desk, updates: u64, percent: u64) -> bool {
    let (prices, limits) = (desk.model.prices().unwrap_or_default(), &desk.limits);
    let spent = |source: &str| {
        let mut sum = Usage::default();
        view.spent.iter().filter(|((by, _), _)| by == source).for_each(|(_, spent)| sum += spent.usage);
        prices.cost(&sum)
    };
    let update = Usage {
        input: limits.notes_update_tokens,
        cache_read: view.count.total(),
        output: limits.notes_update_tokens,
        ..Usage::default()
    };
    match (spent(Call::MAIN), spent(ERRAND), prices.cost(&update)) {
        (Some(conversation), Some(notes), Some(update)) => {
            notes + update * updates as f64 <= conversation * percent as f64 / 100.0
        }
        _ => true,
    }
}

/// One update: the fork's task, the notes as they are, and the file they are in.
pub struct Update {
    /// What the fork is to do.
    pub errand: Errand,
    /// The file it may edit.
    pub file: PathBuf,
    /// What the file holds now; it comes back when the update breaks the template.
    pub before: String,
    /// The digest of that, so that the fork may edit what it was shown.
    pub digest: Digest,
}

/// Prepare an update by a fork that may edit this one file and nothing else.
pub fn update(folder: &Path, desk: &Desk) -> io::Result<Update> {
    let file = place(folder);
    let before = current(&file, desk)?;
    let own = desk.own_words.notes_prompt.as_deref();
    let directive = template::instructions(own, &before, &file.display().to_string(), &desk.limits);
    let errand = Errand {
        name: ERRAND.to_owned(),
        directive,
        gate: Gate::only_file(file.clone()),
        turns: desk.limits.errand_turns,
        ends: EndsWhen::EditsSucceed,
        receipt: Box::new(|_| None),
    };
    let digest = Digest::of(before.as_bytes());
    Ok(Update { errand, file, before, digest })
}

/// The notes as they are; the template where there are none yet. Notes that lost their template are put aside, whole.
fn current(file: &Path, desk: &Desk) -> io::Result<String> {
    let template = template_of(desk);
    match std::fs::read(file).map(String::from_utf8) {
        Ok(Ok(text)) if template::check(template, &text).is_ok() => return Ok(text),
        Ok(_) => {
            let aside = file.with_extension("aside.md");
            std::fs::rename(file, &aside)?;
            let aside = aside.display();
            desk.events
                .notice(format!("the session notes had lost their headings; they are in {aside}, and new ones begin"));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    write(file, template)?;
    Ok(template.to_owned())
}

fn write(file: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        paths::create_dir_private(folder)?;
    }
    // Notes are read by models and shown in reports; the transcript has the exact bytes.
    paths::write_private(file, secrets::veiled(text).as_bytes())
}

fn template_of(desk: &Desk) -> &str {
    desk.own_words.notes_template.as_deref().unwrap_or(template::TEMPLATE)
}

/// Why an update that wrote nothing does not count. It is recorded, but no person has to know.
pub const UNCHANGED: &str = "nothing was written";

/// After an update: the template must have survived, else the notes are what they were.
pub fn accept(file: &Path, before: &str, desk: &Desk) -> Result<(), String> {
    let after = std::fs::read_to_string(file).map_err(|error| format!("the notes cannot be read ({error})"))?;
    if after == before {
        return Err(UNCHANGED.to_owned());
    }
    template::check(template_of(desk), &after).map_err(|broken| {
        let restored = write(file, before).map_or("and could not be restored", |()| "so the previous notes stay");
        format!("the update lost `{}`, {restored}", broken.missing)
    })?;
    // Whatever stands there now is the model's: it saw what code had added and let it stand.
    let own = secrets::veiled(&template::adopted(&after));
    if own == after { Ok(()) } else { write(file, &own).map_err(|error| error.to_string()) }
}

/// Keep the notes by code, from the record alone. What a model wrote stays, and what happened since stands below it.
pub fn keep(view: &View, said: &[Arc<Message>], folder: &Path, desk: &Desk) -> io::Result<()> {
    let (file, limits) = (place(folder), &view.count.in_estimates(&desk.limits));
    let written = view.written.as_ref().and_then(|id| said.iter().position(|message| message.id == *id));
    let before = current(&file, desk)?;
    let text = match written {
        None => keeper::notes(template_of(desk), said, limits),
        Some(at) => template::continued(&before, &keeper::notes(template_of(desk), &said[at + 1..], limits)),
    };
    write(&file, &text)
}

/// Let the notes stand for everything they cover, and keep what came after: no model call. `None`: they cannot serve.
pub async fn compaction(subject: &Subject<'_>) -> Option<Planned> {
    let Subject { view, desk, folder, .. } = *subject;
    let noted = view.noted.as_ref()?;
    let text = std::fs::read_to_string(place(folder?)).ok()?;
    if template::is_empty(template_of(desk), &text) || rounds::is_open(&view.history) {
        return None;
    }
    let desk = &desk.measuring(&view.count);
    let subject = &Subject { desk, ..*subject };
    // What code keeps it can bring up to date at any moment, so there is nothing that is neither noted nor kept.
    let (author, covered) = match &view.written {
        Some(written) if serves_as_written(desk) => (Author::Notes, written),
        Some(_) => (Author::Notes, &noted.upto),
        None => (Author::Extract, &view.history.last()?.id),
    };
    if author == Author::Extract && !may_be_by_code(desk) {
        return None;
    }
    let start = rounds::kept_from(&view.history, Some(covered), &desk.limits)?;
    let notes = (author == Author::Notes).then_some(text.as_str());
    let summary = summary(subject, &view.history[..start], notes)?;
    let draft = Draft { stretch: 0..start, author, summary, beside: None };
    subject.checked(Trigger::Auto, draft).await.ok()
}

/// Whether notes of a model cover what the model saw and no more. With `economy` code brings them up to date in between.
fn serves_as_written(desk: &Desk) -> bool {
    desk.settings.context_policy() == ContextPolicy::Faithful
}

/// Whether code alone may write what replaces a conversation: there is no model, or somebody chose that.
fn may_be_by_code(desk: &Desk) -> bool {
    let chosen = desk.settings.text(&key::NOTES_WRITER) == "code";
    !desk.model.is_a_mind() || chosen || desk.settings.context_policy() == ContextPolicy::Economy
}

/// The notes that a model wrote as a summary: standing constraints before them, the person's own words and a list of anchors
/// after them. Notes that code alone has kept say nothing that the record does not say, so the record is summarised.
fn summary(subject: &Subject<'_>, replaced: &[Arc<Message>], notes: Option<&str>) -> Option<Arc<Message>> {
    let limits = &subject.desk.limits;
    let (wholes, said) = (|message: &Message| subject.whole(message), subject.view.unfolded(replaced));
    let made = match notes {
        Some(notes) => {
            let room = limits.notes_tokens.saturating_mul(limits.text_bytes_per_token);
            let room = usize::try_from(room).unwrap_or(usize::MAX).saturating_add(extract::room(limits));
            from_notes::summary(notes, &said, room, &wholes, limits)
        }
        None => extract::summarise(&said, extract::room(limits), &wholes, limits),
    };
    Some(subject.summary(replaced, &made.ok()?.text))
}
