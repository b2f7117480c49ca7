//! Notes without a model: the template, filled from the transcript alone. The same messages give the same notes, so an
//! update is simply the notes of a longer conversation.

use super::template::written;
use crate::context::compaction::constraints::{Bearing, pinned};
use crate::context::compaction::deeds::{Deeds, deeds};
use crate::context::compaction::todo;
use crate::limits::Limits;
use crate::message::{Block, Message, Origin};
use crate::prompts;
use crate::prose::{code, gist, one_line};
use crate::tools::tasks::Status;
use std::borrow::Borrow;
use std::collections::HashSet;

/// The notes of a conversation, in the sections of `template` that it has under the usual headings (S8).
pub fn notes<M: Borrow<Message>>(template: &str, messages: &[M], limits: &Limits) -> String {
    let deeds = deeds(messages);
    let turns = turns(messages);
    let bytes = |tokens: u64| usize::try_from(tokens.saturating_mul(limits.text_bytes_per_token)).unwrap_or(usize::MAX);
    let share = bytes(limits.notes_section_tokens).min(bytes(limits.notes_tokens) / SECTIONS);
    let sections = [
        ("Session Title", title(&turns)),
        ("Current State", state(messages, &turns)),
        ("Task specification", specification(messages, &turns, limits)),
        ("Files and Functions", files(&deeds)),
        ("Workflow", commands(&deeds)),
        ("Errors & Corrections", errors(&deeds, &turns)),
        ("Learnings", learnings(&deeds)),
        ("Key results", results(&turns)),
        ("Worklog", worklog(&turns, &deeds)),
    ];
    let bodies: Vec<(&str, String)> =
        sections.into_iter().map(|(heading, lines)| (heading, newest(&once(lines), share))).collect();
    written(template, &bodies)
}

/// Each line once, where it was said last.
fn once(lines: Vec<String>) -> Vec<String> {
    let mut seen = HashSet::new();
    let mut kept: Vec<String> = lines.into_iter().rev().filter(|line| seen.insert(line.clone())).collect();
    kept.reverse();
    kept
}

/// What the template itself takes is one share of ten.
const SECTIONS: usize = 11;
const LINE: usize = 240;

/// What the person said, and what followed until they spoke again.
struct Turn {
    said: String,
    at: usize,
    /// The model's last words.
    ended: Option<String>,
}

fn turns<M: Borrow<Message>>(messages: &[M]) -> Vec<Turn> {
    let mut all: Vec<Turn> = Vec::new();
    for (at, message) in messages.iter().map(Borrow::borrow).enumerate() {
        let own = message.blocks.iter().filter_map(Block::as_text).filter(|text| is_typed(text));
        let text = own.collect::<Vec<_>>().join("\n");
        match (message.origin, all.last_mut()) {
            _ if text.trim().is_empty() => {}
            (Origin::Person, _) => all.push(Turn { said: text.trim().to_owned(), at, ended: None }),
            (Origin::Model, Some(turn)) => turn.ended = Some(text.trim().to_owned()),
            _ => {}
        }
    }
    all
}

/// Whether the user said it themselves: what they passed on and what we put beside it are no words of theirs.
fn is_typed(text: &str) -> bool {
    !prompts::is_passed_on(text) && !prompts::is_reminder(text)
}

fn title(turns: &[Turn]) -> Vec<String> {
    let Some(first) = turns.first() else { return Vec::new() };
    // Without marks at its start, so that a title never reads as a heading or a fence.
    let lines = || first.said.lines().map(|line| line.trim_start_matches(|c: char| !c.is_alphanumeric()));
    let line = lines().find(|line| line.len() > 12).or_else(|| lines().find(|line| !line.is_empty()));
    let words: Vec<&str> = line.unwrap_or_default().split_whitespace().take(12).collect();
    vec![gist(&words.join(" "), 100)]
}

fn state<M: Borrow<Message>>(messages: &[M], turns: &[Turn]) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(turn) = turns.last() {
        lines.push(format!("- The person's latest message: {}", gist(&turn.said, LINE)));
        lines.extend(turn.ended.as_ref().map(|words| format!("- The model's last words: {}", gist(words, 2 * LINE))));
    }
    for task in todo::open(messages) {
        let status = if task.status == Status::InProgress { "in progress" } else { "to do" };
        lines.push(format!("- {status}: {}", gist(&task.title, LINE)));
    }
    lines
}

fn specification<M: Borrow<Message>>(messages: &[M], turns: &[Turn], limits: &Limits) -> Vec<String> {
    let rules = pinned(messages, limits).into_iter().map(|constraint| match constraint.bearing {
        Bearing::Rule => format!("- Holds: {}", constraint.text),
        Bearing::Release => format!("- Taken back: {}", constraint.text),
    });
    let asked = turns.iter().map(|turn| format!("- Asked: {}", gist(&turn.said, 2 * LINE)));
    asked.chain(rules).collect()
}

fn files(deeds: &Deeds) -> Vec<String> {
    let line = |file: &crate::context::compaction::deeds::Touched| {
        let change = file.change.as_ref().map(|change| format!("; last: {change}")).unwrap_or_default();
        format!("- {}: written {}, edited {}, read {} times{change}", file.path, file.writes, file.edits, file.reads)
    };
    deeds.files.iter().map(line).collect()
}

fn commands(deeds: &Deeds) -> Vec<String> {
    let line = |command: &crate::context::compaction::deeds::Command| {
        let printed = command.printed.as_ref().map(|line| format!("; it printed {}", code(line))).unwrap_or_default();
        let runs = if command.runs > 1 { format!(" at the last of {} runs", command.runs) } else { String::new() };
        format!("- {}: {}{runs}{printed}", code(&gist(&command.line, LINE)), command.ending.told())
    };
    deeds.commands.iter().map(line).collect()
}

fn errors(deeds: &Deeds, turns: &[Turn]) -> Vec<String> {
    let mut lines: Vec<(usize, String)> =
        deeds.mishaps.iter().map(|m| (m.at, format!("- {} failed: {}; {}.", m.deed, m.error, m.followed))).collect();
    let corrections = turns.iter().skip(1).filter(|turn| corrects(&turn.said));
    lines.extend(corrections.map(|turn| (turn.at, format!("- The person corrected: {}", gist(&turn.said, 2 * LINE)))));
    lines.sort_by_key(|(at, _)| *at);
    lines.into_iter().map(|(_, line)| line).collect()
}

/// Whether a message sets something right that the model did.
fn corrects(said: &str) -> bool {
    let line = one_line(said).to_lowercase().replace('’', "'");
    let begins = [
        "no ",
        "no,",
        "nope",
        "wrong",
        "that's wrong",
        "that is wrong",
        "that's not",
        "this is wrong",
        "stop",
        "revert",
        "undo",
        "don't",
        "do not",
        "actually",
        "instead",
        "wait",
        "hmm",
        "not ",
        "but ",
        "why did you",
        "why didn't",
        "you forgot",
        "you missed",
        "still ",
        "不对",
        "错了",
        "不是",
        "别",
        "不要",
    ];
    let says = [
        "is wrong",
        "should have",
        "shouldn't",
        "i said",
        "i meant",
        "not what i",
        "still failing",
        "still not",
        "instead of",
        "你忘了",
        "我说的是",
    ];
    begins.iter().any(|start| line.starts_with(start)) || says.iter().any(|phrase| line.contains(phrase))
}

/// What failed and then went well is worth knowing the next time.
fn learnings(deeds: &Deeds) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for mishap in deeds.mishaps.iter().filter(|mishap| mishap.followed.ends_with("went well")) {
        lines.push(format!("- {}: {}, {}.", mishap.deed, mishap.error, mishap.followed));
    }
    lines
}

fn results(turns: &[Turn]) -> Vec<String> {
    let ended = turns.iter().filter_map(|turn| turn.ended.as_ref().map(|words| (turn, words)));
    ended.map(|(turn, words)| format!("- To \"{}\": {}", gist(&turn.said, 60), gist(words, LINE))).collect()
}

fn worklog(turns: &[Turn], deeds: &Deeds) -> Vec<String> {
    let mut lines = Vec::new();
    for (index, turn) in turns.iter().enumerate() {
        let end = turns.get(index + 1).map_or(usize::MAX, |next| next.at);
        let within = |at: usize| at > turn.at && at < end;
        let changed = deeds.files.iter().filter(|file| within(file.last) && file.edits + file.writes > 0);
        let mut did: Vec<String> =
            changed.map(|file| format!("changed {}", file.path.rsplit('/').next().unwrap_or(&file.path))).collect();
        let ran = deeds.commands.iter().filter(|command| within(command.last));
        did.extend(ran.map(|command| format!("ran {} ({})", code(&gist(&command.line, 60)), command.ending.told())));
        let failed = deeds.mishaps.iter().filter(|mishap| within(mishap.at)).count();
        did.extend((failed > 0).then(|| format!("{failed} failures")));
        let did = if did.is_empty() { "answered in words".to_owned() } else { did.join(", ") };
        lines.push(format!("- {}: {}", gist(&turn.said, 80), gist(&did, 2 * LINE)));
    }
    lines
}

/// The newest lines that fit, in order, and how many older ones were left out.
fn newest(lines: &[String], room: usize) -> String {
    let mut left = room.saturating_sub(48);
    let fits = |line: &&String| {
        let cost = line.len() + 1;
        let fits = cost <= left;
        left = left.saturating_sub(cost);
        fits
    };
    let kept = lines.iter().rev().take_while(fits).count();
    let mut out = match lines.len() - kept {
        0 => String::new(),
        older => format!("- ({older} older lines are left out)\n"),
    };
    for line in &lines[lines.len() - kept..] {
        out.push_str(line);
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::template::{TEMPLATE, check, is_empty, parts, too_long};
    use super::*;
    use crate::context::compaction::deeds::tests::round;
    use crate::message::{Block, Role};
    use proptest::prelude::*;
    use serde_json::json;

    fn said(origin: Origin, text: &str) -> Message {
        let at = jiff::Timestamp::UNIX_EPOCH;
        Message { id: "m".into(), role: Role::User, origin, at, blocks: vec![Block::text(text)] }
    }

    // spec: S8
    #[test]
    fn notes_are_kept_from_the_transcript_alone() {
        let mut messages = vec![said(Origin::Person, "Fix the header parser of the proxy.\nNever push to main.")];
        messages.extend(round(
            "1",
            "Bash",
            json!({"command": "cargo test"}),
            "src/a.rs:3: error: broken thing\n[exit code 101]",
        ));
        messages.extend(round(
            "2",
            "Edit",
            json!({"file_path": "/p/src/a.rs", "old_string": "let x = 1;", "new_string": "let x = 2;"}),
            "ok",
        ));
        messages.extend(round("3", "Bash", json!({"command": "cargo test"}), "3 passed\n[exit code 0]"));
        messages.push(said(Origin::Model, "Fixed: x was wrong."));
        messages.push(said(Origin::Person, "no, keep x at 1 and change y"));
        let notes = notes(TEMPLATE, &messages, &Limits::default());
        assert_eq!(check(TEMPLATE, &notes), Ok(()));
        let body = |heading: &str| {
            parts(&notes).into_iter().find(|part| part.heading == heading).unwrap().body.trim().to_owned()
        };
        assert_eq!(body("Session Title"), "Fix the header parser of the proxy.");
        for (heading, words) in [
            ("Current State", "no, keep x at 1"),
            ("Task specification", "- Holds: Never push to main."),
            (
                "Files and Functions",
                "/p/src/a.rs: written 0, edited 1, read 0 times; last: `let x = 1;` became `let x = 2;`",
            ),
            ("Workflow", "`cargo test`: exit 0 at the last of 2 runs; it printed `3 passed`"),
            (
                "Errors & Corrections",
                "`cargo test` failed: src/a.rs:3: error: broken thing; then `a.rs` was edited and it went well.",
            ),
            ("Errors & Corrections", "- The person corrected: no, keep x at 1 and change y"),
            ("Learnings", "broken thing"),
            ("Key results", "Fixed: x was wrong."),
            ("Worklog", "changed a.rs, ran `cargo test` (exit 0), 1 failures"),
        ] {
            assert!(body(heading).contains(words), "{heading}: {}", body(heading));
        }
    }

    // spec: S8
    #[test]
    fn no_wrapper_and_no_line_twice_and_no_success_that_was_not_seen() {
        let mut messages = vec![said(Origin::Person, "look at the seeds")];
        messages[0].blocks.push(Block::text(prompts::ran_by_person("cat secrets", "never mind this")));
        messages[0].blocks.push(Block::text(prompts::piped_in("piped words")));
        messages[0].blocks.push(Block::text("<system-reminder>\nof something\n</system-reminder>"));
        for n in 0..3 {
            messages.extend(round(
                &n.to_string(),
                "Bash",
                json!({"command": "make"}),
                "Exit code 2\nerror: broken here",
            ));
        }
        messages.extend(round(
            "9",
            "Bash",
            json!({"command": "make"}),
            "<persisted-output>\nbegun\n</persisted-output>",
        ));
        let notes = notes(TEMPLATE, &messages, &Limits::default());
        for wrapper in ["The person ran", "piped", "system-reminder", "persisted-output", "cat secrets"] {
            assert!(!notes.contains(wrapper), "{wrapper} is in {notes}");
        }
        assert_eq!(notes.matches("- `make` failed: error: broken here").count(), 1, "{notes}");
        assert!(!notes.contains("exit 0") && !notes.contains("went well"), "{notes}");
    }

    // spec: S8
    #[test]
    fn another_template_gets_what_it_has_a_place_for() {
        let own = "# Worklog\n_mine_\n\n# Recipes\n_else_\n";
        let notes = notes(own, &[said(Origin::Person, "do a thing that matters")], &Limits::default());
        assert_eq!(notes, "# Worklog\n_mine_\n- do a thing that matters: answered in words\n\n# Recipes\n_else_\n\n");
        assert!(is_empty(TEMPLATE, &super::notes(TEMPLATE, &[] as &[Message], &Limits::default())));
    }

    // spec: S4
    #[test]
    fn notes_kept_by_code_are_never_too_long() {
        let mut messages = Vec::new();
        for n in 0..400 {
            messages.push(said(Origin::Person, &format!("request number {n} {}", "with many words ".repeat(60))));
            messages.extend(round(
                &n.to_string(),
                "Bash",
                json!({"command": format!("run {n} {}", "x".repeat(300))}),
                "Exit code 1\nerror: this went wrong",
            ));
        }
        let limits = Limits::default();
        let notes = notes(TEMPLATE, &messages, &limits);
        assert_eq!(too_long(&notes, &limits), None);
        assert!(notes.contains("request number 399") && notes.contains("older lines are left out"));
    }

    proptest! {
        // spec: S8
        #[test]
        fn any_conversation_keeps_the_template(texts in proptest::collection::vec("(# Worklog|_x_|```|\n|[a-z]{1,8} |never ){0,12}", 0..8), model in any::<bool>()) {
            let messages: Vec<_> = texts.iter().enumerate().map(|(n, text)| {
                said(if model && n % 2 == 1 { Origin::Model } else { Origin::Person }, text)
            }).collect();
            let once = notes(TEMPLATE, &messages, &Limits::default());
            prop_assert_eq!(check(TEMPLATE, &once), Ok(()));
            prop_assert_eq!(parts(&once).len(), 10);
            prop_assert_eq!(once, notes(TEMPLATE, &messages, &Limits::default()));
        }
    }
}
