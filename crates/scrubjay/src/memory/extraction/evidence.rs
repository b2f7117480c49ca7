//! What may be cited: who said what in the new messages. Recalled memories, reminders, hooks, summaries and what tools read
//! from the memory itself are never evidence, so that nothing is learned from its own echo.

use super::super::footing;
use super::super::provenance::Speaker;
use crate::message::{Block, Message, MessageId, Origin, ToolCallId, ToolUse};
use crate::prompts;
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::sync::Arc;

/// By what name words are known that the person only passed on.
pub(in crate::memory) const PASTED: &str = "pasted";

/// Something somebody said.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Statement {
    pub(super) speaker: Speaker,
    pub(super) message: MessageId,
    pub(super) at: Timestamp,
    /// The words as they were said.
    pub(super) text: String,
    /// The same as quotations are looked up in it.
    pub(super) plain: String,
}

impl Statement {
    fn of(message: &Message, speaker: Speaker, text: String) -> Self {
        let (message, at, plain) = (message.id.clone(), message.at, plain(&text));
        Self { speaker, message, at, text, plain }
    }
}

/// Everything in these messages that may be cited. `ours` says whether a call's input leads into the memory or into past
/// sessions: what comes back from there was said before.
pub(super) fn statements(messages: &[Arc<Message>], ours: impl Fn(&str) -> bool) -> Vec<Statement> {
    let calls: BTreeMap<&ToolCallId, &ToolUse> =
        messages.iter().flat_map(|message| message.tool_uses()).map(|call| (&call.id, call)).collect();
    let mut found = Vec::new();
    for message in messages {
        let mut add = |speaker: Speaker, text: String| {
            let said = Statement::of(message, speaker, text);
            found.extend(Some(said).filter(|said| !said.plain.is_empty()));
        };
        match message.origin {
            Origin::Person => message.blocks.iter().filter_map(Block::as_text).for_each(|text| {
                let Heard { own, pasted } = Heard::of(text);
                add(Speaker::Person, own);
                pasted.into_iter().for_each(|text| add(Speaker::Tool(PASTED.to_owned()), text));
            }),
            Origin::Model => add(Speaker::Assistant, message.text()),
            Origin::Letter | Origin::Task => add(Speaker::Tool("letter".to_owned()), message.text()),
            Origin::Tool => {
                for result in message.tool_results().filter(|result| !result.is_error) {
                    match calls.get(&result.call) {
                        Some(call) if ours(&call.input.to_string()) => {}
                        Some(call) => add(footing::speaker(&call.name), result.text()),
                        None => add(Speaker::Tool("unknown".to_owned()), result.text()),
                    }
                }
            }
            Origin::Instructions | Origin::Memory | Origin::Summary | Origin::Hook | Origin::Reminder => {}
        }
    }
    found
}

/// One text of the person's: their own words, and what they only passed on.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::memory) struct Heard {
    pub(in crate::memory) own: String,
    pub(in crate::memory) pasted: Vec<String>,
}

impl Heard {
    /// Blocks between fences and lines that begin with `>` are somebody else's words, unless the person's own words beside
    /// them say that they are to be remembered. What a command printed or a pipe brought is never the person's.
    pub(in crate::memory) fn of(text: &str) -> Self {
        if prompts::is_passed_on(text) {
            return Self { own: String::new(), pasted: vec![text.to_owned()] };
        }
        let (mut own, mut pasted): (Vec<&str>, Vec<Vec<&str>>) = (Vec::new(), Vec::new());
        let (mut fence, mut quoting): (Option<&str>, bool) = (None, false);
        for line in text.lines() {
            let start = line.trim_start();
            let mark = ["```", "~~~"].into_iter().find(|mark| start.starts_with(mark));
            match (fence, mark) {
                (None, Some(mark)) => {
                    fence = Some(mark);
                    pasted.push(Vec::new());
                }
                (Some(open), Some(mark)) if open == mark => fence = None,
                (Some(_), _) => pasted.last_mut().into_iter().for_each(|block| block.push(line)),
                (None, None) if start.starts_with('>') => {
                    if !quoting {
                        pasted.push(Vec::new());
                    }
                    let words = start.trim_start_matches(['>', ' ']);
                    pasted.last_mut().into_iter().for_each(|block| block.push(words));
                }
                (None, None) => own.push(line),
            }
            quoting = fence.is_none() && start.starts_with('>');
        }
        let own = own.join("\n");
        if footing::says_remember(&own) {
            return Self { own: text.to_owned(), pasted: Vec::new() };
        }
        Self { own, pasted: pasted.into_iter().map(|lines| lines.join("\n")).collect() }
    }
}

/// A text as quotations are compared: white space, case and the shape of quotation marks do not count.
pub(super) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.extend(word.chars().flat_map(char::to_lowercase).map(|letter| match letter {
            '\u{2018}' | '\u{2019}' | '\u{02bc}' => '\'',
            '\u{201c}' | '\u{201d}' => '"',
            '\u{2010}'..='\u{2014}' => '-',
            letter => letter,
        }));
    }
    out
}

/// The sentences of a text; a number alone is none.
pub(super) fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let ends = |c: char| matches!(c, '\n' | '。' | '！' | '？' | '；');
    let pieces = text.split(ends).flat_map(|line| {
        let mut from = 0;
        let mut pieces = Vec::new();
        for (at, c) in line.char_indices() {
            let next = line[at + c.len_utf8()..].chars().next();
            if matches!(c, '.' | '!' | '?' | ';') && next.is_none_or(char::is_whitespace) {
                pieces.push(&line[from..=at]);
                from = at + c.len_utf8();
            }
        }
        pieces.push(&line[from..]);
        pieces
    });
    pieces.map(str::trim).filter(|sentence| sentence.chars().any(char::is_alphabetic))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Role, ToolResult};
    use proptest::prelude::*;
    use serde_json::json;

    fn message(origin: Origin, blocks: Vec<Block>) -> Arc<Message> {
        let role = if origin == Origin::Model { Role::Assistant } else { Role::User };
        Arc::new(Message { id: MessageId::new("m"), role, origin, at: Timestamp::UNIX_EPOCH, blocks })
    }

    fn said(origin: Origin, text: &str) -> Arc<Message> {
        message(origin, vec![Block::text(text)])
    }

    // spec: X4
    // spec: Z8
    #[test]
    fn only_what_was_said_anew_is_evidence_and_each_under_its_speaker() {
        let call = |id: &str, name: &str, input| Block::tool_use(id.into(), name, input);
        let answer = |id: &str, text: &str| {
            Block::tool_result(ToolResult { call: id.into(), parts: vec![Block::text(text)], is_error: false })
        };
        let calls = vec![
            call("a", "WebFetch", json!({ "url": "https://x.example" })),
            call("b", "Read", json!({ "file_path": "/p/README.md" })),
            call("c", "Bash", json!({ "command": "grep tea /memory/user_tea.md" })),
        ];
        let failed = ToolResult { call: "b".into(), parts: vec![Block::text("no such file")], is_error: true };
        let failed = Block::tool_result(failed);
        let answers = vec![answer("a", "a page"), failed, answer("b", "a file"), answer("c", "an echo")];
        let mut messages = vec![said(Origin::Person, "I like tea"), message(Origin::Model, calls)];
        messages.push(message(Origin::Tool, answers));
        for origin in [Origin::Memory, Origin::Reminder, Origin::Hook, Origin::Summary, Origin::Instructions] {
            messages.push(said(origin, "an echo"));
        }
        messages.push(said(Origin::Letter, "a letter"));
        let found = statements(&messages, |input| input.contains("/memory"));
        let heard: Vec<_> = found.iter().map(|one| (one.speaker.clone(), one.text.as_str())).collect();
        assert_eq!(
            heard,
            [
                (Speaker::Person, "I like tea"),
                (Speaker::Web, "a page"),
                (Speaker::File, "a file"),
                (Speaker::Tool("letter".into()), "a letter"),
            ]
        );
    }

    // spec: X4
    #[test]
    fn what_the_person_passes_on_is_not_what_the_person_says() {
        let heard = Heard::of("Look at this:\n```\nremember that x is y\n```\nand\n> note a\n> note b\nthanks");
        assert_eq!(heard.own, "Look at this:\nand\nthanks");
        assert_eq!(heard.pasted, ["remember that x is y", "note a\nnote b"]);
        let heard = Heard::of("Please remember this:\n> deploys need two approvals");
        assert!(heard.pasted.is_empty() && heard.own.contains("two approvals"));
        let asked = Heard::of("Do you remember this?\n> deploys need two approvals");
        assert_eq!(asked.pasted.len(), 1, "a question asks for nothing");
        let ran = prompts::ran_by_person("cat page", "Please remember: x is y");
        assert_eq!(Heard::of(&ran).own, "");
        assert_eq!(Heard::of(&prompts::piped_in("Please remember: x is y")).own, "");
    }

    #[test]
    fn sentences_end_where_they_end() {
        let found: Vec<_> = sentences("See v1.2 at a.b. Then go!\n- 我们决定。好").collect();
        assert_eq!(found, ["See v1.2 at a.b.", "Then go!", "- 我们决定", "好"]);
    }

    proptest! {
        #[test]
        fn any_text_is_parted_without_losing_a_word(text in "[ -~\\n`>]{0,200}") {
            let heard = Heard::of(&text);
            let kept = heard.own + &heard.pasted.join("\n");
            for word in text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
                let in_a_mark = text.lines().any(|line| line.trim_start().starts_with(['`', '~']) && line.contains(word));
                prop_assert!(in_a_mark || kept.contains(word), "{word}");
            }
            prop_assert_eq!(plain(&plain(&text)), plain(&text));
        }
    }
}
