//! What comes back after a compaction: files that were read last, as they are now, skills, the plan, the task list. What is
//! still in view is not brought back, and what an earlier compaction brought back is not forgotten by the next.

use super::boundary::Subject;
use super::todo;
use crate::digest::Digest;
use crate::message::{Block, Message, Origin, Role, ToolCallId, ToolUse};
use crate::prompts::{self, Restored};
use crate::tokens;
use crate::tool::{Bench, Confinement, Effect, Occasion, ToolOutcome, Visible};
use crate::tools;
use crate::transcript::{Brought, Compaction, FileRange};
use serde_json::json;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// One message with everything that is brought back, and what the boundary remembers of it.
pub async fn restored(subject: &Subject<'_>, replaced: &Range<usize>) -> (Option<Arc<Message>>, Brought) {
    let Subject { view, desk, .. } = *subject;
    let lost = Lost::of(subject, replaced);
    let (files, ranges, mut blocks) = lost.files();
    let (skills, texts) = lost.skills().await;
    blocks.extend(texts);
    let (plan, tasks) = (lost.plan(), lost.tasks());
    blocks.extend(plan.iter().map(|plan| prompts::restored_plan(lost.cut(plan, desk.limits.restored_skill_tokens))));
    blocks.extend((!tasks.is_empty()).then(|| prompts::restored_tasks(&tasks.join("\n"))));
    let brought = Brought { files, ranges, skills, plan, tasks };
    let (false, Some(last)) = (blocks.is_empty(), view.history.last()) else { return (None, brought) };
    let id = crate::transcript::derived_id(subject.session, &format!("restored after {}", last.id));
    let blocks = blocks.into_iter().map(Block::text).collect();
    let (role, origin, at) = (Role::User, Origin::Reminder, desk.clock.now());
    (Some(Arc::new(Message { id, role, origin, at, blocks })), brought)
}

/// What a stretch that gives way had, and nothing that stays has.
struct Lost<'a> {
    subject: &'a Subject<'a>,
    /// The conversation with its folds opened.
    history: Vec<Arc<Message>>,
    /// The stretch, in there.
    replaced: Range<usize>,
}

impl<'a> Lost<'a> {
    fn of(subject: &'a Subject<'a>, replaced: &Range<usize>) -> Self {
        let view = subject.view;
        let place = |end: usize| view.unfolded(&view.history[..end]).len();
        let replaced = place(replaced.start)..place(replaced.end);
        Self { subject, history: view.unfolded(&view.history), replaced }
    }

    /// The files that were read last, newest first, re-read from disk at the ranges that were read and cut to their share.
    fn files(&self) -> (Vec<PathBuf>, Vec<FileRange>, Vec<String>) {
        let desk = self.subject.desk;
        let limits = &desk.limits;
        let named = |call: &ToolUse| {
            let is_file = ["Read", "Edit", "Write"].contains(&call.name.as_str());
            call.input["file_path"].as_str().filter(|_| is_file).map(|path| tools::resolve(&desk.dir, path))
        };
        let mut left = limits.restored_files_tokens;
        let (mut paths, mut ranges, mut texts) = (Vec::new(), Vec::new(), Vec::new());
        let visible = self.visible();
        let shows = |call: &ToolUse| call.name == "Read" && visible.contains(&call.id);
        for path in self.newest(named, shows, |brought| brought.files.clone()) {
            if paths.len() as u64 == limits.restored_files || left == 0 {
                break;
            }
            let room = limits.restored_file_tokens.min(left).saturating_mul(limits.text_bytes_per_token);
            let wanted = self.ranges(&path);
            let Some(text) = self.shown(&path, &wanted, room) else { continue };
            left = left.saturating_sub(tokens::of_text(&text, limits));
            texts.push(prompts::restored_file(&path.display().to_string(), &text));
            ranges.extend(wanted);
            paths.push(path);
        }
        (paths, ranges, texts)
    }

    /// The ranges of a file that were read, newest first; none if all of it was, or if it was only changed.
    fn ranges(&self, path: &Path) -> Vec<FileRange> {
        let desk = self.subject.desk;
        let replaced = self.history[self.replaced.clone()].iter();
        let calls = replaced.flat_map(|message| message.tool_uses()).filter(|call| {
            let named = call.input["file_path"].as_str();
            call.name == "Read" && named.is_some_and(|named| tools::resolve(&desk.dir, named) == path)
        });
        let mut found: Vec<FileRange> = Vec::new();
        let mut calls: Vec<&ToolUse> = calls.collect();
        calls.reverse();
        for call in &calls {
            let (offset, limit) = (call.input["offset"].as_u64(), call.input["limit"].as_u64());
            if offset.is_none() && limit.is_none() {
                return Vec::new();
            }
            let lines = limit.unwrap_or(desk.limits.read_lines);
            let range = FileRange { path: path.to_owned(), first: offset.unwrap_or(1).max(1), lines };
            if !found.contains(&range) {
                found.push(range);
            }
        }
        if calls.is_empty() {
            let carried = self.carried().flat_map(|brought| brought.ranges.clone());
            found = carried.filter(|range| range.path == path).collect();
        }
        found
    }

    /// A file as it is now in at most `room` bytes: all of it if it fits and was in view, else the ranges that were read, else
    /// its beginning; with what that is, and whether it can be changed as it stands.
    fn shown(&self, path: &Path, wanted: &[FileRange], room: u64) -> Option<String> {
        let Subject { view, desk, .. } = *self.subject;
        let loaded = tools::load_resolved(path, desk.limits.read_file_bytes).ok()?;
        let is_as_seen = loaded.whole && view.files.get(path).is_some_and(|seen| *seen == Digest::of(&loaded.bytes));
        let text = text_of(loaded.bytes)?;
        let room = usize::try_from(room).unwrap_or(usize::MAX);
        let parts = if wanted.is_empty() { vec![beginning(&text, room)?] } else { pieces(&text, wanted, room) };
        let state = if is_as_seen { prompts::RESTORED_UNCHANGED } else { prompts::RESTORED_CHANGED };
        let told: String = parts.iter().map(|(what, piece)| format!("{}\n{piece}", what.told())).collect();
        (!parts.is_empty()).then(|| format!("{}\n{told}", state.trim_end()))
    }

    /// The calls whose results can still be read: neither stored nor cleared.
    fn visible(&self) -> Vec<ToolCallId> {
        let view = self.subject.view;
        let is_gone = |call: &ToolCallId| view.cleared.contains(call) || view.spilled.contains_key(call);
        let results = view.history.iter().flat_map(|message| message.tool_results());
        results.filter(|it| !it.is_error && !is_gone(&it.call)).map(|it| it.call.clone()).collect()
    }

    /// The skills that were loaded, newest first, loaded again and cut to their share.
    async fn skills(&self) -> (Vec<String>, Vec<String>) {
        let limits = &self.subject.desk.limits;
        let named = |call: &ToolUse| call.input["name"].as_str().filter(|_| call.name == SKILL).map(str::to_owned);
        let mut left = limits.restored_skills_tokens;
        let (mut names, mut texts) = (Vec::new(), Vec::new());
        for name in self.newest(named, |_| true, |brought| brought.skills.clone()) {
            let Some(text) = self.skill(&name).await.filter(|_| left > 0) else { continue };
            let text = self.cut(&text, limits.restored_skill_tokens.min(left));
            left = left.saturating_sub(tokens::of_text(text, limits));
            texts.push(prompts::restored_skill(&name, text));
            names.push(name);
        }
        (names, texts)
    }

    async fn skill(&self, name: &str) -> Option<String> {
        let Subject { view, desk, .. } = *self.subject;
        let tool = desk.tools.iter().find(|tool| tool.spec().name == SKILL)?;
        let (call, cancel, input) = (ToolCallId::new("restored"), CancellationToken::new(), json!({ "name": name }));
        let (approved, limits) = (&Effect::Nothing, &*desk.limits);
        let (dir, seen, occasion) = (&*desk.dir, &view.files, &Occasion::default());
        let bench = Bench {
            dir,
            seen,
            limits,
            call: &call,
            approved,
            confinement: Confinement::Usual,
            occasion,
            cancel: &cancel,
            view: None,
            summon: None,
            memory: None,
            visible: &Visible::default(),
        };
        match tool.call(&input, &bench).await {
            ToolOutcome { is_error: false, parts, .. } => parts.first()?.as_text().map(str::to_owned),
            _ => None,
        }
    }

    /// The plan the person approved last.
    fn plan(&self) -> Option<String> {
        let history = &self.history;
        let approved = |at: usize, call: &ToolUse| {
            let answers = history.get(at + 1).into_iter().flat_map(|next| next.tool_results());
            answers.into_iter().any(|answer| answer.call == call.id && !answer.is_error)
        };
        let proposed = |at: usize| {
            let last = history[at].tool_uses().filter(|call| call.name == "Plan" && approved(at, call)).last()?;
            last.input["plan"].as_str().map(str::to_owned)
        };
        match (0..history.len()).rev().find_map(|at| Some((at, proposed(at)?))) {
            Some((at, plan)) => self.replaced.contains(&at).then_some(plan),
            None => self.carried().find_map(|brought| brought.plan.clone()),
        }
    }

    /// The tasks that are not done, one line each.
    fn tasks(&self) -> Vec<String> {
        let history = &self.history;
        match todo::last_call(history) {
            Some(at) if !self.replaced.contains(&at) => Vec::new(),
            Some(_) => todo::open(history).iter().map(|it| format!("- [{}] {}", it.status.word(), it.title)).collect(),
            None => self.carried().map(|brought| brought.tasks.clone()).next().unwrap_or_default(),
        }
    }

    /// What calls named, newest first and each once, and then what earlier compactions had brought back; without what a
    /// call that stays still shows.
    fn newest<T: PartialEq>(
        &self,
        named: impl Fn(&ToolUse) -> Option<T>,
        shows: impl Fn(&ToolUse) -> bool,
        brought: impl Fn(&Brought) -> Vec<T>,
    ) -> Vec<T> {
        let (mut lost, mut stays) = (Vec::new(), Vec::new());
        for (at, message) in self.history.iter().enumerate().rev() {
            for call in message.tool_uses() {
                let Some(name) = named(call) else { continue };
                let kept = !self.replaced.contains(&at) && shows(call);
                let names = if kept { &mut stays } else { &mut lost };
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        for name in self.carried().flat_map(brought) {
            if !lost.contains(&name) {
                lost.push(name);
            }
        }
        lost.retain(|name| !stays.contains(name));
        lost
    }

    /// What earlier compactions brought back and this one takes away, newest first.
    fn carried(&self) -> impl Iterator<Item = &Brought> {
        let view = self.subject.view;
        let goes = |message: &Arc<Message>| self.history[self.replaced.clone()].iter().any(|it| it.id == message.id);
        let goes = move |compaction: &&Arc<Compaction>| compaction.restored.iter().any(goes);
        view.compactions.iter().rev().map(|(_, compaction)| compaction).filter(goes).map(|it| &it.marks.brought)
    }

    /// The beginning of a text, cut at a line.
    fn cut<'t>(&self, text: &'t str, tokens: u64) -> &'t str {
        let room = tokens.saturating_mul(self.subject.desk.limits.text_bytes_per_token);
        let room = usize::try_from(room).unwrap_or(usize::MAX);
        if text.len() <= room {
            return text;
        }
        let start = crate::prose::head(text, room);
        start.rfind('\n').map_or(start, |line| &start[..=line])
    }
}

const SKILL: &str = "Skill";

/// A file that is text. Anything else is not worth the room.
fn text_of(bytes: Vec<u8>) -> Option<String> {
    let text = String::from_utf8(bytes).ok()?;
    (!text.is_empty() && !text.contains('\0')).then_some(text)
}

/// All of a text, or its beginning, cut at a line.
fn beginning(text: &str, room: usize) -> Option<(Restored, String)> {
    if text.len() < room {
        return Some((Restored::Whole, ended(text)));
    }
    let cut = &text[..text.floor_char_boundary(room)];
    let end = cut.rfind('\n')? + 1;
    Some((Restored::Head(cut[..end].lines().count(), text.lines().count()), cut[..end].to_owned()))
}

/// The ranges that fit, newest first, none of them twice, shown in their order in the file.
fn pieces(text: &str, wanted: &[FileRange], room: usize) -> Vec<(Restored, String)> {
    let lines: Vec<&str> = text.lines().collect();
    let place = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let mut kept: Vec<(usize, usize)> = Vec::new();
    let mut left = room;
    for range in wanted {
        let first = place(range.first).saturating_sub(1).min(lines.len());
        let mut last = first;
        let most = first.saturating_add(place(range.lines)).min(lines.len());
        let is_kept = |at: usize| kept.iter().any(|(from, to)| (*from..*to).contains(&at));
        while last < most && !is_kept(last) && lines[last].len() < left {
            left -= lines[last].len() + 1;
            last += 1;
        }
        if last > first {
            kept.push((first, last));
        }
    }
    kept.sort_unstable();
    let piece = |(first, last): (usize, usize)| {
        (Restored::Lines(first + 1, last, lines.len()), ended(&lines[first..last].join("\n")))
    };
    kept.into_iter().map(piece).collect()
}

fn ended(text: &str) -> String {
    if text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") }
}
