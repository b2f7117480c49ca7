//! Asking before something is done: yes, no, always, or a reason for the model.

use super::Chat;
use super::keyboard::{Purpose, Typed};
use super::screen::one_line;
use crate::failure::Failure;
use crate::paper::{Tone, unwritten};
use crate::permit::Permit;
use scrubjay::Interrupt;
use scrubjay::desk::{Consent, Request};
use scrubjay::permission::Always;
use scrubjay::tool::Effect;
use scrubjay::tools::{shown, shown_path};
use std::time::Instant;

/// What was allowed for the rest of the session.
#[derive(Debug, Default)]
pub(super) struct Standing(Vec<Always>);

impl Standing {
    fn covers(&self, permit: &Permit, request: &Request) -> bool {
        permit.is_covered(&self.0, &request.tool, &request.effect)
    }

    fn extend_to(&mut self, permit: &Permit, request: &Request) {
        self.0.extend(permit.always(&request.tool, &request.effect));
    }
}

impl Chat {
    pub(super) async fn consent(&mut self, request: &Request, interrupt: &Interrupt) -> Result<Consent, Failure> {
        if self.standing.covers(&self.seat.permit, request) {
            return Ok(Consent::Granted);
        }
        let offered = self.seat.permit.always(&request.tool, &request.effect);
        let always = offered.map(|always| format!(" · a = always {}, this session", shown(&always.words())));
        let always = always.unwrap_or_default();
        self.screen.aside(Tone::Warning, &wanted(request)).map_err(unwritten)?;
        let prompt = format!("  y = yes · n = no{always} · or say why not › ");
        let consent = match self.keyboard.read(&prompt, Purpose::Answer).await {
            Typed::Line(line) => self.understand(line.trim(), request),
            Typed::Interrupted => {
                interrupt.now();
                self.interrupted = Some(Instant::now());
                declined("The person interrupted instead of answering.")
            }
            Typed::End => declined("The person left without answering."),
        };
        if consent == Consent::Granted && request.effect == Effect::Proposes {
            self.seat.permit.end_plan();
        }
        Ok(consent)
    }

    fn understand(&mut self, answer: &str, request: &Request) -> Consent {
        match answer.to_lowercase().as_str() {
            "y" | "yes" => Consent::Granted,
            "a" | "always" if self.seat.permit.always(&request.tool, &request.effect).is_some() => {
                self.standing.extend_to(&self.seat.permit, request);
                Consent::Granted
            }
            "a" | "always" => declined(
                "The user wanted to allow this for good, which is not possible: each such call is asked about.",
            ),
            "" | "n" | "no" => declined("The person said no."),
            _ => declined(&format!("The person said no, and why: {answer}")),
        }
    }
}

fn declined(reason: &str) -> Consent {
    Consent::Declined(reason.to_owned())
}

/// What the person is asked about, in full where it matters.
fn wanted(request: &Request) -> String {
    let by = request.by.as_ref().map(|name| format!("{}: ", shown(name))).unwrap_or_default();
    let tool = format!("{by}{}", shown(&request.tool));
    match &request.effect {
        Effect::Runs { command, .. } => format!("{tool} wants to run:\n{}", indented(command)),
        Effect::Writes(path) => format!("{tool} wants to change {}{}", shown_path(path), change(request)),
        Effect::Reads(paths) => {
            let paths: Vec<String> = paths.iter().map(|path| shown_path(path)).collect();
            format!("{tool} wants to read {}", paths.join(", "))
        }
        Effect::Reaches(host) => {
            let url = request.input.get("url").and_then(|url| url.as_str()).map(|url| format!(" ({})", one_line(url)));
            format!("{tool} wants to contact {}{}", shown(host), url.unwrap_or_default())
        }
        Effect::Proposes => {
            let plan = request.input.get("plan").and_then(|plan| plan.as_str()).unwrap_or_default();
            format!("The plan:\n{}\nApprove it?", indented(plan))
        }
        Effect::Nothing | Effect::Summons => format!("{tool} wants to begin"),
    }
}

/// The text that would be written, shortened: the person decides about it, not about a file name.
fn change(request: &Request) -> String {
    let field = |name: &str| request.input.get(name).and_then(|text| text.as_str());
    match (field("old_string"), field("new_string"), field("content")) {
        (Some(old), Some(new), _) => format!("\n{}\n{}", marked(old, '-'), marked(new, '+')),
        (_, _, Some(content)) => format!("\n{}", marked(content, '+')),
        _ => String::new(),
    }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}

fn marked(text: &str, mark: char) -> String {
    const SHOWN: usize = 20;
    let lines: Vec<&str> = text.lines().collect();
    let mut out: Vec<String> = lines.iter().take(SHOWN).map(|line| format!("    {mark} {line}")).collect();
    if lines.len() > SHOWN {
        out.push(format!("    … {} more lines", lines.len() - SHOWN));
    }
    out.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn request(tool: &str, effect: Effect) -> Request {
        Request { tool: tool.into(), input: json!({}), effect, by: None }
    }

    #[test]
    fn a_question_shows_what_would_be_written() {
        let mut edit = request("Edit", Effect::Writes("/p/a".into()));
        edit.input = json!({ "old_string": "a\nb", "new_string": "c" });
        assert_eq!(wanted(&edit), "Edit wants to change /p/a\n    - a\n    - b\n    + c");
        let mut write = request("Write", Effect::Writes("/p/a".into()));
        write.input = json!({ "content": "x\n".repeat(30) });
        assert!(wanted(&write).ends_with("… 10 more lines"));
    }
}
