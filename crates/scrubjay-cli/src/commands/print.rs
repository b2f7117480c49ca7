//! Print mode: one question, one answer, and out. Data on standard output, talk on standard error.

use crate::arguments::{Arguments, OutputFormat};
use crate::failure::{Exit, Failure, reason};
use crate::happening::{Happening, Wire, unattended_wire};
use crate::instructed;
use crate::memories::news;
use crate::paper::{Paper, unwritten};
use crate::seat::{Beginning, Seat};
use scrubjay::desk::Request;
use scrubjay::event::Event;
use scrubjay::message::{Block, Question, SpanOrigin, StopReason, Usage};
use scrubjay::model::Delta;
use scrubjay::prompts;
use scrubjay::tool::Effect;
use scrubjay::tools::shown;
use scrubjay::{Answer, Error, Interrupt, Session};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::{IsTerminal as _, Read as _, Write as _};
use tokio::signal::unix::{SignalKind, signal};

/// Answer one question.
pub(crate) async fn run(arguments: &Arguments, seat: Seat, paper: &Paper) -> Result<(), Failure> {
    if arguments.session.resume.as_deref() == Some("") {
        super::sessions::run(&seat.workplace, paper, super::sessions::usual(&seat.workplace))?;
        return Err(Failure::usage("nobody can choose a session here").fix("name one of these with --resume ID"));
    }
    let question = question(arguments, seat.workplace.limits.piped_prompt_bytes)?;
    let printer = Printer { format: arguments.output_format, paper: *paper, denials: RefCell::default() };
    let Wire { events, person, mut happenings } = unattended_wire(refusing(&seat));
    let beginning = seat.beginning(&arguments.session)?;
    let source = beginning.source();
    if beginning == Beginning::New {
        instructed::without_a_person(&seat.workplace, seat.includes, paper)?;
    }
    let (transcript, notices) = seat.transcript(beginning)?;
    notices.iter().for_each(|notice| paper.warn(notice));
    let session = seat.session(transcript, person, events)?;
    printer.begin(&session)?;

    let interrupt = session.interrupt();
    let [mut ctrl_c, mut ended] = [SignalKind::interrupt(), SignalKind::terminate()].map(signal);
    let mut work = tokio::spawn(ask(session, source, question));
    let mut stopped = None;
    let done = loop {
        tokio::select! {
            Some(happening) = happenings.recv() => printer.show(&happening)?,
            done = &mut work => break done,
            () = next(&mut ctrl_c) => { stop(&interrupt, stopped); stopped = Some(Exit::Interrupted); }
            () = next(&mut ended) => { stop(&interrupt, stopped); stopped = Some(Exit::Terminated); }
        }
    };
    while let Ok(happening) = happenings.try_recv() {
        printer.show(&happening)?;
    }
    let (session, answer) = done.map_err(|error| Failure::failed(format!("the session broke: {error}")))?;
    printer.end(&seat, &session, answer, stopped)
}

/// The first time the question is given up, the second time everything is.
fn stop(interrupt: &Interrupt, stopped: Option<Exit>) {
    interrupt.now();
    if stopped.is_some() {
        interrupt.abandon();
    }
}

async fn ask(mut session: Session, source: &str, question: Question) -> (Session, Result<Answer, Error>) {
    let answer = whole(&mut session, source, question).await;
    if let Err(error) = session.ended("other").await {
        tracing::warn!(%error, "the session did not end well");
    }
    (session, answer)
}

async fn whole(session: &mut Session, source: &str, question: Question) -> Result<Answer, Error> {
    session.started(source).await?;
    let mut answer = session.ask(question).await?;
    // The answer is not the last word while agents work in the background.
    while let Some(more) = session.attend().await? {
        let mut usage = answer.usage;
        usage += more.usage;
        answer = Answer { usage, rounds: answer.rounds + more.rounds, ..more };
    }
    Ok(answer)
}

/// A signal that cannot be listened for never comes.
pub(super) async fn next(signal: &mut std::io::Result<tokio::signal::unix::Signal>) {
    let heard = match signal {
        Ok(signal) => signal.recv().await,
        Err(_) => None,
    };
    if heard.is_none() {
        std::future::pending::<()>().await;
    }
}

/// What was typed, then what was piped in. Behind a question it is what the question is about; alone it is the question. What
/// comes through a pipe was not typed.
fn question(arguments: &Arguments, most: u64) -> Result<Question, Failure> {
    let typed = [arguments.print.as_deref(), arguments.words.as_deref()].into_iter().flatten();
    let typed: Vec<&str> = typed.filter(|part| !part.trim().is_empty()).collect();
    let piped = piped(most)?;
    match (typed.is_empty(), piped.is_empty()) {
        (false, true) => Ok(Question::typed(typed.join("\n\n"))),
        (false, false) => {
            let piped = Block::text(prompts::piped_in(&piped));
            Ok(Question::typed(typed.join("\n\n")).with(piped, SpanOrigin::Piped))
        }
        (true, false) => Ok(Question::default().with(Block::text(piped), SpanOrigin::Piped)),
        (true, true) => Err(Failure::usage("there is no question").fix("scrubjay -p \"your question\", or pipe it in")),
    }
}

fn piped(most: u64) -> Result<String, Failure> {
    if std::io::stdin().is_terminal() {
        return Ok(String::new());
    }
    let mut piped = Vec::new();
    let read = std::io::stdin().lock().take(most + 1).read_to_end(&mut piped);
    read.map_err(|error| Failure::failed(format!("the piped question cannot be read: {error}")))?;
    if piped.len() as u64 > most {
        return Err(Failure::usage(format!("the piped question is larger than {most} bytes"))
            .fix("write it to a file and name the file, or raise the limit `piped_prompt_bytes`"));
    }
    let text = String::from_utf8_lossy(&piped);
    Ok(if text.trim().is_empty() { String::new() } else { text.trim_end().to_owned() })
}

/// What the model hears, and the person reads, about a call that nobody could be asked about.
pub(super) fn refusing(seat: &Seat) -> impl Fn(&Request) -> String + Send + Sync + 'static {
    let seat = seat.clone();
    move |request| format!("{}{}", refusal(request), seat.why_asked(request))
}

fn refusal(request: &Request) -> String {
    let leaves = request.input.get("outside_sandbox").and_then(Value::as_bool) == Some(true);
    match request.effect {
        Effect::Runs { .. } if leaves => "nobody can be asked here, so the command did not leave the sandbox; run it \
             inside, or start again without `--sandbox workspace-write`"
            .to_owned(),
        Effect::Proposes => "nobody is here to approve a plan; give the plan as the answer instead".to_owned(),
        _ => format!(
            "nobody can be asked here, so this was not done; to allow it, start again with `--allow {}` or another \
             `--permission-mode`",
            shown(&request.tool)
        ),
    }
}

struct Printer {
    format: OutputFormat,
    paper: Paper,
    /// Calls that were refused, for the result.
    denials: RefCell<Vec<Value>>,
}

/// A refused call with its input, of which long texts are cut: a script wants to know what it was, not to repeat it.
fn denial(call: &str, tool: &str, input: &Value, reason: &str) -> Value {
    json!({ "tool_name": tool, "tool_use_id": call, "tool_input": cut(input), "reason": reason })
}

fn cut(value: &Value) -> Value {
    const LONGEST: usize = 400;
    match value {
        Value::String(text) if text.chars().count() > LONGEST => {
            Value::String(text.chars().take(LONGEST).chain(['…']).collect())
        }
        Value::Array(items) => items.iter().map(cut).collect(),
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), cut(value))).collect(),
        other => other.clone(),
    }
}

impl Printer {
    fn begin(&self, session: &Session) -> Result<(), Failure> {
        let tools: Vec<&str> = session.desk().tools.iter().map(|tool| tool.spec().name.as_str()).collect();
        let begun = json!({
            "type": "init",
            "session_id": session.transcript().session().as_str(),
            "model": session.desk().model.name(),
            "dir": session.desk().dir,
            "tools": tools,
        });
        self.stream(begun)
    }

    fn show(&self, happening: &Happening) -> Result<(), Failure> {
        let Happening::Event(event) = happening else { return Ok(()) };
        if let Event::ToolRefused { call, tool, input, reason } = event {
            self.denials.borrow_mut().push(denial(call.as_str(), tool, input, reason));
        }
        if self.format != OutputFormat::StreamJson {
            self.talk(event);
            return Ok(());
        }
        match event {
            Event::Delta(Delta::Text(text)) => self.stream(json!({ "type": "delta", "text": text })),
            Event::Delta(Delta::Thinking(text)) => self.stream(json!({ "type": "delta", "thinking": text })),
            Event::Delta(Delta::Retry { attempt, after, because }) => self.stream(json!({
                "type": "notice", "text": format!("retrying: {}", reason(because)), "attempt": attempt, "after_ms": after.as_millis() as u64,
            })),
            Event::ToolStarted { call, tool, summary } => {
                self.stream(json!({ "type": "tool_started", "id": call.as_str(), "tool": tool, "summary": summary }))
            }
            Event::ToolFinished { call, tool, is_error, text } => self.stream(json!({
                "type": "tool_finished", "id": call.as_str(), "tool": tool, "is_error": is_error, "text": text,
            })),
            Event::Agent { name, kind, state, words } => self.stream(json!({
                "type": "agent", "name": name, "kind": kind, "state": state, "words": words,
            })),
            Event::Notice(text) => self.stream(json!({ "type": "notice", "text": text })),
            Event::Memory(event) => {
                let mut data = news::json(event);
                data["type"] = "memory".into();
                self.stream(data)
            }
            Event::ToolRefused { call, tool, input, reason } => {
                let mut data = denial(call.as_str(), tool, input, reason);
                data["type"] = "permission_denied".into();
                self.stream(data)
            }
            Event::Delta(Delta::ToolUse { .. }) | Event::Replied { .. } => Ok(()),
        }
    }

    fn talk(&self, event: &Event) {
        match event {
            Event::ToolStarted { tool, summary, .. } => {
                self.paper.talk(&format!("● {} {}", shown(tool), shown(summary)))
            }
            Event::Agent { name, kind, words, .. } => {
                self.paper.talk(&shown(&format!("  ◦ {name} ({kind}): {words}")));
            }
            Event::Notice(text) => self.paper.warn(&shown(text)),
            Event::Memory(event) => self.paper.talk(&shown(&news::words(event, "scrubjay undo"))),
            Event::Delta(Delta::Retry { after, because, .. }) => {
                self.paper.warn(&format!(
                    "retrying in {} s: {}",
                    after.as_millis().div_ceil(1_000),
                    shown(reason(because))
                ));
            }
            _ => {}
        }
    }

    fn stream(&self, data: Value) -> Result<(), Failure> {
        if self.format == OutputFormat::StreamJson { self.paper.json("stream", data) } else { Ok(()) }
    }

    fn end(
        &self,
        seat: &Seat,
        session: &Session,
        answer: Result<Answer, Error>,
        stopped: Option<Exit>,
    ) -> Result<(), Failure> {
        let outcome = answer.map_err(|error| match stopped {
            None => Failure::from(error),
            Some(exit) => Failure::new(exit, "interrupted; what was said until then is saved, `scrubjay -c` goes on"),
        });
        tracing::info!(answered = outcome.is_ok(), "print mode is done");
        match self.format {
            OutputFormat::Text => self.text(&outcome)?,
            OutputFormat::Json => self.paper.json("result", self.result(seat, session, &outcome))?,
            OutputFormat::StreamJson => {
                let mut last = self.result(seat, session, &outcome);
                last["type"] = "result".into();
                self.stream(last)?;
            }
        }
        outcome?;
        self.refused()
    }

    fn result(&self, seat: &Seat, session: &Session, outcome: &Result<Answer, Failure>) -> Value {
        let mut result = result(seat, session, outcome);
        result["permission_denials"] = self.denials.borrow().clone().into();
        result
    }

    /// An answer that was given without what the model wanted to do ends with a number of its own.
    fn refused(&self) -> Result<(), Failure> {
        let denials = self.denials.borrow();
        let names: BTreeSet<&str> = denials.iter().filter_map(|denial| denial["tool_name"].as_str()).collect();
        if names.is_empty() {
            return Ok(());
        }
        let names = names.into_iter().map(|name| shown(name).into_owned()).collect::<Vec<_>>().join(", ");
        let calls = if denials.len() == 1 {
            "1 tool call was".to_owned()
        } else {
            format!("{} tool calls were", denials.len())
        };
        Err(Failure::new(Exit::Refused, format!("{calls} refused ({names}); the answer was given without"))
            .fix("allow what should happen with --allow or --permission-mode, and ask again"))
    }

    fn text(&self, outcome: &Result<Answer, Failure>) -> Result<(), Failure> {
        let Ok(answer) = outcome else { return Ok(()) };
        let mut out = std::io::stdout().lock();
        // A terminal is protected; a pipe gets the exact words.
        let text = if std::io::stdout().is_terminal() { shown(&answer.text) } else { answer.text.as_str().into() };
        let end = if text.ends_with('\n') { "" } else { "\n" };
        write!(out, "{text}{end}").and_then(|()| out.flush()).map_err(unwritten)
    }
}

fn result(seat: &Seat, session: &Session, outcome: &Result<Answer, Failure>) -> Value {
    let nothing = (Usage::default(), 0, Value::Null);
    let (usage, rounds, stop) = match outcome {
        Ok(answer) => (answer.usage, answer.rounds, stop_word(&answer.stop)),
        Err(_) => nothing,
    };
    let (text, is_error) = match outcome {
        Ok(answer) => (answer.text.clone(), false),
        Err(failure) => (failure.message.clone(), true),
    };
    let model = session.desk().model.name();
    json!({
        "session_id": session.transcript().session().as_str(),
        "result": text,
        "is_error": is_error,
        "rounds": rounds,
        "usage": usage,
        "cost_usd": outcome.as_ref().ok().and_then(|_| seat.service.cost(model, &usage)),
        "stop_reason": stop,
        "model": model,
    })
}

fn stop_word(stop: &StopReason) -> Value {
    match stop {
        StopReason::Other(word) => word.as_str().into(),
        known => serde_json::to_value(known).unwrap_or(Value::Null),
    }
}
