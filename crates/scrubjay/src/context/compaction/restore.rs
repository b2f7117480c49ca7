//! What comes back after a compaction: files that were read last, as they are now, skills, the plan, the task list. What is
//! still in view is not brought back, and what an earlier compaction brought back is not forgotten by the next.

use super::boundary::Subject;
use super::todo;
use crate::message::{Block, Message, Origin, Role, ToolCallId, ToolUse};
use crate::prompts;
use crate::tokens;
use crate::tool::{Bench, Confinement, Effect, Occasion, ToolOutcome, Visible};
use crate::tools;
use crate::transcript::{Brought, Compaction};
use serde_json::json;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// One message with everything that is brought back, and what the boundary remembers of it.
pub async fn restored(subject: &Subject<'_>, replaced: &Range<usize>) -> (Option<Arc<Message>>, Brought) {
    let Subject { view, desk, .. } = *subject;
    let lost = Lost::of(subject, replaced);
    let (files, mut blocks) = lost.files();
    let (skills, texts) = lost.skills().await;
    blocks.extend(texts);
    let (plan, tasks) = (lost.plan(), lost.tasks());
    blocks.extend(plan.iter().map(|plan| prompts::restored_plan(lost.cut(plan, desk.limits.restored_skill_tokens))));
    blocks.extend((!tasks.is_empty()).then(|| prompts::restored_tasks(&tasks.join("\n"))));
    let brought = Brought { files, skills, plan, tasks };
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

    /// The files that were read last, newest first, re-read from disk and cut to their share.
    fn files(&self) -> (Vec<PathBuf>, Vec<String>) {
        let desk = self.subject.desk;
        let limits = &desk.limits;
        let named = |call: &ToolUse| {
            let is_file = ["Read", "Edit", "Write"].contains(&call.name.as_str());
            call.input["file_path"].as_str().filter(|_| is_file).map(|path| tools::resolve(&desk.dir, path))
        };
        let mut left = limits.restored_files_tokens;
        let (mut paths, mut texts) = (Vec::new(), Vec::new());
        let visible = self.visible();
        let shows = |call: &ToolUse| call.name == "Read" && visible.contains(&call.id);
        for path in self.newest(named, shows, |brought| brought.files.clone()) {
            if paths.len() as u64 == limits.restored_files || left == 0 {
                break;
            }
            let room = limits.restored_file_tokens.min(left).saturating_mul(limits.text_bytes_per_token);
            let Some(text) = read(&path, room) else { continue };
            left = left.saturating_sub(tokens::of_text(&text, limits));
            texts.push(prompts::restored_file(&path.display().to_string(), &text));
            paths.push(path);
        }
        (paths, texts)
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

/// The beginning of a file that is text, cut at a line. Anything else is not worth the room.
fn read(path: &Path, room: u64) -> Option<String> {
    let bytes = tools::load_resolved(path, room).ok()?.bytes;
    let whole = (bytes.len() as u64) < room;
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        // The cut may have gone through a character; more than that is not text.
        Err(error) if error.utf8_error().valid_up_to() + 4 > error.as_bytes().len() => {
            let end = error.utf8_error().valid_up_to();
            String::from_utf8_lossy(&error.as_bytes()[..end]).into_owned()
        }
        Err(_) => return None,
    };
    let end = if whole { text.len() } else { text.rfind('\n').map_or(text.len(), |line| line + 1) };
    (!text.contains('\0') && end > 0).then(|| text[..end].to_owned())
}
