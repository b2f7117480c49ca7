//! Fidelity, checked by code: what must survive a compaction against what did, and what is put back.

use super::anchors::{self, Anchor};
use super::constraints::{self, without_pinned};
use super::deeds::{Commit, Deeds, Touched, deeds};
use super::extract::{self, Seen, Summary, TooSmall, anchor_lines, anchor_room, base_of, buy, preamble};
use super::findings::{self, Choice};
use super::offers::{Past, written};
use super::quotes::{self, Carrier, Said, Wholes};
use super::sections::{ALL, Section, Sections};
use super::todo;
use crate::limits::Limits;
use crate::message::Message;
use crate::prose::{code, head, one_line};
pub use crate::transcript::{Finding, Report, What};
use std::borrow::Borrow;

const CONSTRAINT_WEIGHT: u64 = 500;
const MESSAGE_WEIGHT: u64 = 400;
const TASK_WEIGHT: u64 = 300;
const COMMIT_WEIGHT: u64 = 200;
/// Of one thing that the model found: by what is new in it, and never more than a commit.
const TOKEN_WEIGHT: u64 = 5;

/// Compare messages with the text that replaces them.
pub fn check<M: Borrow<Message>>(messages: &[M], text: &str, limits: &Limits) -> Report {
    let squeezed = one_line(text);
    let seen = Seen { text, base: base_of(text) };
    let mut all: Vec<(Finding, bool)> = Vec::new();
    for constraint in constraints::pinned(messages, limits) {
        let kept = squeezed.contains(&constraint.text);
        all.push((Finding { what: What::Constraint, text: constraint.text, weight: CONSTRAINT_WEIGHT }, kept));
    }
    let carrier = Carrier::new(text);
    for said in quotes::said(messages, &|_| None) {
        let kept = carrier.carries(&said, limits);
        all.push((Finding { what: What::UserMessage, text: said.text, weight: MESSAGE_WEIGHT }, kept));
    }
    for task in todo::open(messages) {
        let kept = squeezed.contains(&one_line(&task.title));
        all.push((Finding { what: What::Task, text: task.title, weight: TASK_WEIGHT }, kept));
    }
    let lower = text.to_lowercase();
    for commit in deeds(messages).commits {
        let kept = lower.contains(head(&commit.id, SHORT_ID));
        all.push((Finding { what: What::Commit, text: committed(&commit), weight: COMMIT_WEIGHT }, kept));
    }
    let statements = findings::statements(messages);
    let mut told = findings::choose(&statements, "", usize::MAX);
    told.retain(Choice::tells);
    let checked = usize::try_from(limits.findings_checked).unwrap_or(usize::MAX);
    let unchecked = told.len().saturating_sub(checked) as u64;
    for choice in told.iter().take(checked) {
        let what = if choice.measures() { What::Measure } else { What::Finding };
        let weight = (TOKEN_WEIGHT * choice.worth()).min(COMMIT_WEIGHT);
        all.push((Finding { what, text: choice.statement.text.clone(), weight }, choice.is_in(&lower)));
    }
    for anchor in most_important(messages, limits) {
        let kept = seen.names(&anchor);
        all.push((Finding { what: What::Anchor, text: anchor.text, weight: anchor.weight }, kept));
    }
    Report { unchecked, ..report(all, limits) }
}

/// Enough of a commit's id to find it by.
const SHORT_ID: usize = 7;

fn committed(commit: &Commit) -> String {
    format!("Committed {} on {}: {}", code(&commit.id), commit.branch, commit.subject)
}

fn most_important<M: Borrow<Message>>(messages: &[M], limits: &Limits) -> Vec<Anchor> {
    let mut anchors = anchors::anchors(messages, limits);
    anchors.retain(Anchor::matters);
    anchors.truncate(usize::try_from(limits.anchors_checked).unwrap_or(usize::MAX));
    anchors
}

/// Of these, what the user or the model said: a model that wrote a summary has weighed what tools said, and what it left out of
/// that does not come back by code.
pub(super) fn said_anchors<M: Borrow<Message>>(messages: &[M], limits: &Limits) -> Vec<Anchor> {
    let mut anchors = most_important(messages, limits);
    anchors.retain(|anchor| anchor.by.person + anchor.by.model + anchor.by.edits > 0);
    anchors
}

fn report(mut all: Vec<(Finding, bool)>, limits: &Limits) -> Report {
    all.sort_by_key(|(finding, _)| std::cmp::Reverse(finding.weight));
    let total: u64 = all.iter().map(|(finding, _)| finding.weight).sum();
    let (kept, dropped): (Vec<_>, Vec<_>) = all.into_iter().partition(|(_, kept)| *kept);
    let most = usize::try_from(limits.finding_bytes).unwrap_or(usize::MAX);
    let shown = |finding: Finding| Finding { text: head(&finding.text, most).to_owned(), ..finding };
    let only = |findings: Vec<(Finding, bool)>| findings.into_iter().map(|(found, _)| shown(found)).collect::<Vec<_>>();
    let (kept, dropped) = (only(kept), only(dropped));
    let saved: u64 = kept.iter().map(|finding| finding.weight).sum();
    let score = if total == 0 { 1.0 } else { saved as f64 / total as f64 };
    Report { kept, dropped, score, unchecked: 0 }
}

/// How many bytes a summary may take that a model wrote: as many as one by code, or what the model wrote and a share for what
/// it left out.
pub fn room(written: &str, limits: &Limits) -> usize {
    extract::room(limits).max(written.len().saturating_add(share(written.len(), limits)))
}

/// What is kept free for that, of something of this length.
pub(super) fn kept_free(length: usize, free: usize, limits: &Limits) -> usize {
    share(length, limits).min(free / 4) / 2
}

fn share(length: usize, limits: &Limits) -> usize {
    length.saturating_mul(usize::try_from(limits.completion_percent).unwrap_or(0)) / 100
}

/// Complete what a model wrote, in at most `room` bytes: the pinned constraints before it, the user's messages verbatim in
/// their section, files, open tasks, commits and findings it forgot, and a short list of anchors under it. Where it does not
/// fit, the parts that are worth least give way.
pub fn complete<M: Borrow<Message>>(
    reply: &Sections,
    messages: &[M],
    room: usize,
    wholes: Wholes<'_>,
    limits: &Limits,
) -> Result<Summary, TooSmall> {
    let pinned = constraints::pinned(messages, limits);
    let mut parts = Sections::after(preamble(&pinned));
    let needed = parts.render().len();
    let Some(free) = room.checked_sub(needed) else { return Err(TooSmall { needed, room }) };

    let mut model = reply.clone();
    let stray = without_pinned(&model.preamble);
    let request = [stray.trim(), model.body(Section::Request)].join("\n");
    model.set(Section::Request, &request);
    let (said, anchors) = (quotes::said(messages, wholes), said_anchors(messages, limits));
    let told = one_line(model.body(Section::Pending));
    let forgotten: Vec<_> =
        todo::open(messages).into_iter().filter(|task| !told.contains(&one_line(&task.title))).collect();
    let deeds = Deeds { files: unnamed_files(messages, &model.render()), ..Deeds::default() };
    let past = Past { messages, said: &said, deeds: &deeds, tasks: &forgotten, limits };
    let kept: Vec<Section> = ALL.into_iter().filter(|section| *section != Section::UserMessages).collect();
    let offers = [written(&model, &kept), past.files(""), past.pending(), past.user_messages()].concat();
    let kept_free = kept_free(reply.render().len(), free, limits);
    buy(&mut parts, &offers, free - kept_free);
    let text = parts.render();
    put_back(&mut parts, &lacking(messages, &text, room.saturating_sub(text.len()), kept_free, limits));
    let text = parts.render();
    let seen = Seen { text: &text, base: base_of(&text) };
    parts.anchors = anchor_lines(messages, &anchors, &seen, anchor_room(room.saturating_sub(text.len()), limits));
    Ok(Summary { text: parts.render(), pinned })
}

fn put_back(parts: &mut Sections, lines: &str) {
    if !lines.is_empty() {
        let body = format!("{}\n{lines}", parts.body(Section::Solving));
        parts.set(Section::Solving, &body);
    }
}

/// Commits and findings that `text` lacks, under a line that says so, in at most `left` bytes: what was kept free for them, or
/// more where more is left.
pub(super) fn lacking<M: Borrow<Message>>(
    messages: &[M],
    text: &str,
    left: usize,
    kept_free: usize,
    limits: &Limits,
) -> String {
    let most = usize::try_from(limits.finding_list_bytes).unwrap_or(usize::MAX);
    // Some is left for names.
    let most = most.min(left - left / 4).max(kept_free).min(left);
    let Some(mut most) = most.checked_sub(PUT_BACK.len() + 2) else { return String::new() };
    let mut lines = String::new();
    let lower = text.to_lowercase();
    for commit in deeds(messages).commits.iter().rev() {
        let line = format!("- {}\n", committed(commit));
        if !lower.contains(head(&commit.id, SHORT_ID)) && line.len() <= most {
            most -= line.len();
            lines.insert_str(0, &line);
        }
    }
    lines.push_str(&findings::lines(&findings::statements(messages), &format!("{text}\n{lines}"), most));
    if lines.is_empty() { lines } else { format!("{PUT_BACK}\n{lines}") }
}

/// Heads what code puts back.
const PUT_BACK: &str = "Put back by code, as it was said then:";

/// What stands beside a summary that may not be changed, because a service has sealed it: the constraints of the whole
/// `history`, and of the first `end` messages what the person said and what the summary does not name.
pub fn beside<M: Borrow<Message>>(
    written: &str,
    history: &[M],
    end: usize,
    wholes: Wholes<'_>,
    limits: &Limits,
) -> Result<Summary, TooSmall> {
    let (messages, room) = (&history[..end], extract::room(limits));
    let pinned = constraints::pinned(history, limits);
    let mut parts = Sections::after(preamble(&pinned));
    let needed = parts.render().len();
    let Some(free) = room.checked_sub(needed) else { return Err(TooSmall { needed, room }) };
    let told = one_line(written);
    let mut tasks = todo::open(messages);
    tasks.retain(|task| !told.contains(&one_line(&task.title)));
    let (said, anchors) = (quotes::said(messages, wholes), said_anchors(messages, limits));
    let deeds = Deeds { files: unnamed_files(messages, written), ..Deeds::default() };
    let past = Past { messages, said: &said, deeds: &deeds, tasks: &tasks, limits };
    let kept_free = kept_free(written.len(), free, limits);
    buy(&mut parts, &[past.files(""), past.pending(), past.user_messages()].concat(), free - kept_free);
    let text = parts.brief();
    let both = format!("{written}\n{text}");
    put_back(&mut parts, &lacking(messages, &both, room.saturating_sub(text.len()), kept_free, limits));
    let text = parts.brief();
    let both = format!("{written}\n{text}");
    let seen = Seen { text: &both, base: "" };
    parts.anchors = anchor_lines(messages, &anchors, &seen, anchor_room(room.saturating_sub(text.len()), limits));
    Ok(Summary { text: parts.brief(), pinned })
}

/// Files that were touched and that a model's summary does not name.
fn unnamed_files<M: Borrow<Message>>(messages: &[M], text: &str) -> Vec<Touched> {
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    deeds(messages).files.into_iter().filter(|file| !text.contains(&name(&file.path))).collect()
}

/// The person's messages that a text lacks.
pub fn missing_messages<M: Borrow<Message>>(messages: &[M], text: &str, limits: &Limits) -> Vec<Said> {
    let carrier = Carrier::new(text);
    quotes::said(messages, &|_| None).into_iter().filter(|said| !carrier.carries(said, limits)).collect()
}

/// Whether a compaction frees enough to be worth the broken cache (C11).
pub fn is_worth_it(before_tokens: u64, after_tokens: u64, limits: &Limits) -> bool {
    let (before, after) = (u128::from(before_tokens), u128::from(after_tokens));
    after * 100 <= before * u128::from(limits.compaction_worth_percent) && after < before
}

#[cfg(test)]
mod tests {
    use super::super::deeds::tests::round;
    use super::super::sections::parse;
    use super::*;
    use crate::message::{Block, Origin, Role};
    use proptest::prelude::*;
    use serde_json::json;

    fn person(id: &str, text: &str) -> Message {
        let at = jiff::Timestamp::UNIX_EPOCH;
        Message { id: id.into(), role: Role::User, origin: Origin::Person, at, blocks: vec![Block::text(text)] }
    }

    fn story() -> Vec<Message> {
        let tasks = json!({"tasks": [{"title": "write the parser", "status": "in_progress"}, {"title": "old", "status": "done"}]});
        let mut all = vec![person("1", "Never push to main.\nFix parse_header in src/head.rs")];
        all.extend(round(
            "a",
            "Edit",
            json!({"file_path": "/p/src/head.rs", "old_string": "a", "new_string": "b"}),
            "ok",
        ));
        all.extend(round("b", "Tasks", tasks, "ok"));
        all.push(person("2", "and look at PR #343"));
        all
    }

    // spec: C11
    #[test]
    fn the_report_ranks_what_was_dropped() {
        let limits = Limits::default();
        let nothing = check(&story(), "", &limits);
        let first: Vec<_> = nothing.dropped.iter().take(4).map(|finding| finding.what).collect();
        assert_eq!(first, [What::Constraint, What::UserMessage, What::UserMessage, What::Task]);
        assert!(nothing.kept.is_empty() && nothing.score == 0.0);
        let some = check(&story(), "Never push to main. PR #343, write the parser", &limits);
        let dropped: Vec<_> = some.dropped.iter().map(|finding| finding.text.as_str()).collect();
        assert!(
            dropped.contains(&"and look at PR #343")
                && !dropped.contains(&"#343")
                && !dropped.contains(&"write the parser")
        );
        assert!(some.score > 0.0 && some.score < 1.0);
        let read: Report = serde_json::from_str(&serde_json::to_string(&some).unwrap()).unwrap();
        assert_eq!(read, some);
        assert_eq!(check(&[] as &[Message], "", &limits).score, 1.0);
    }

    // spec: C3
    // spec: C11
    #[test]
    fn what_a_model_left_out_is_put_back() {
        let limits = Limits::default();
        let reply = parse(
            "<analysis>hm</analysis><summary>1. Primary Request and Intent:\nThe parser.\n6. All User Messages:\n- fix things\n8. Current Work: editing\n</summary>",
        );
        let summary = complete(&reply, &story(), 20_000, &|_| None, &limits).unwrap();
        let report = check(&story(), &summary.text, &limits);
        assert_eq!(report.dropped, [], "{}", summary.text);
        assert!(missing_messages(&story(), &summary.text, &limits).is_empty());
        assert!(!summary.text.contains("- fix things") && summary.text.contains("The parser."));
        assert!(
            summary.text.contains("- in progress: write the parser")
                && summary.text.contains("- /p/src/head.rs: edited")
        );
        let again = complete(&parse(&summary.text), &story(), 20_000, &|_| None, &limits).unwrap();
        assert_eq!(constraints::parse_pinned(&again.text), summary.pinned);
    }

    // spec: C11
    #[test]
    fn commits_and_findings_that_a_model_left_out_are_put_back_and_told_apart() {
        let limits = Limits::default();
        let mut messages = story();
        let said = "[main 69a35cf4] Repair the header\n[exit code 0]";
        messages.extend(round("c", "Bash", json!({"command": "git commit -am x"}), said));
        let found = "The median fell from 412 ms to 84 ms.\nThe cause was a stale lock in the scheduler.";
        let blocks = vec![Block::text(found)];
        messages.push(Message { role: Role::Assistant, origin: Origin::Model, blocks, ..person("m", "") });
        let nothing = check(&messages, "", &limits);
        let kinds: Vec<_> = nothing.dropped.iter().map(|finding| finding.what).collect();
        assert!([What::Commit, What::Measure, What::Finding].iter().all(|what| kinds.contains(what)), "{nothing:#?}");
        let summary =
            complete(&parse("## 5. Problem Solving\nIt is faster."), &messages, 20_000, &|_| None, &limits).unwrap();
        for words in
            ["Committed `69a35cf4` on main: Repair the header", "from 412 ms to 84 ms", "stale lock in the scheduler"]
        {
            assert!(parse(&summary.text).body(Section::Solving).contains(words), "{words}: {}", summary.text);
        }
        assert_eq!(check(&messages, &summary.text, &limits).dropped, []);
        let long = "x".repeat(40_000);
        assert_eq!((room(&long, &limits), room("", &limits)), (46_000, extract::room(&limits)));
    }

    // spec: C11
    #[test]
    fn a_reply_without_headings_is_kept_and_a_long_one_gives_way() {
        let limits = Limits::default();
        let plain = complete(&parse("just prose"), &story(), 20_000, &|_| None, &limits).unwrap();
        assert!(parse(&plain.text).body(Section::Request).contains("just prose"));
        let long = parse(&format!("## 2. Key Technical Concepts\n{}", "- words and words\n".repeat(500)));
        let cut = complete(&long, &story(), 2_000, &|_| None, &limits).unwrap();
        assert!(cut.text.len() <= 2_000 && cut.text.contains("Fix parse_header in src/head.rs"), "{}", cut.text);
        let refused = complete(&long, &story(), 100, &|_| None, &limits).unwrap_err();
        assert!(refused.to_string().contains("nothing was compacted"));
    }

    // spec: C11
    #[test]
    fn only_what_is_clearly_smaller_is_worth_it() {
        let limits = Limits::default();
        for (before, after, worth) in
            [(100, 80, true), (100, 81, false), (0, 0, false), (1, 1, false), (u64::MAX, 1, true)]
        {
            assert_eq!(is_worth_it(before, after, &limits), worth, "{before} {after}");
        }
    }

    proptest! {
        // spec: C11
        #[test]
        fn any_reply_is_completed_within_the_room(reply in "(\n|## 6\\. All User Messages\n|## 3\\. Files and Code Sections\n|- |```|<analysis>|</summary>|[a-z]{1,12} |é){0,60}", room in 100usize..4_000) {
            let limits = Limits::default();
            let Ok(summary) = complete(&parse(&reply), &story(), room, &|_| None, &limits) else { return Ok(()) };
            prop_assert!(summary.text.len() <= room);
            prop_assert_eq!(constraints::parse_pinned(&summary.text), constraints::pinned(&story(), &limits));
            if room > 3_500 {
                prop_assert!(missing_messages(&story(), &summary.text, &limits).is_empty(), "{}", summary.text);
            }
        }
    }
}
