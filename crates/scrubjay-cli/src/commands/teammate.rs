//! `scrubjay teammate`: a session without a terminal that does a task, reports to whoever started it, and reads letters
//! until it is asked to end.

use super::print::next;
use crate::arguments::{Arguments, TeammateFlags};
use crate::failure::{Exit, Failure};
use crate::happening::{Happening, Wire, unattended_wire};
use crate::letters::{Owner, Slot};
use crate::paper::Paper;
use crate::permit::Permit;
use crate::seat::{Beginning, Seat};
use crate::shelf::Shelf;
use crate::teammates::Brief;
use jiff::Timestamp;
use scrubjay::agents::letters::trust::Standing;
use scrubjay::agents::letters::{Letter, LetterKind, Token, Trust, inbox};
use scrubjay::agents::staff::Mail;
use scrubjay::desk::{Consent, Person, Request};
use scrubjay::event::Event;
use scrubjay::limits::Limits;
use scrubjay::paths::write_private;
use scrubjay::tool::Effect;
use scrubjay::tools::shown;
use scrubjay::{Answer, Error, Session, prompts};
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Mutex, mpsc};
use tokio_util::sync::CancellationToken;

/// What everything here needs to know.
#[derive(Clone)]
struct Mate {
    brief: Brief,
    mail: Mail,
    limits: Arc<Limits>,
    /// It is to end.
    stop: CancellationToken,
}

/// Work, report, read letters, end.
pub(crate) async fn run(
    arguments: &Arguments,
    flags: &TeammateFlags,
    seat: Seat,
    paper: &Paper,
) -> Result<(), Failure> {
    let brief = Brief::of(flags)?;
    let note = seat.workplace.project().mail().join(&brief.name).join("session");
    let beginning = beginning(arguments, &seat, &note)?;
    let Wire { events, person, mut happenings } = unattended_wire(super::print::refusing(&seat));
    let mailbox = scrubjay::agents::Mailbox::default();
    let owner = Owner { name: &brief.name, mailbox: mailbox.clone(), events: events.clone(), trust: trust(&brief) };
    let mut slot = Slot::open(&seat.workplace, owner)?;
    let (transcript, notices) = seat.transcript(beginning)?;
    write_private(&note, transcript.session().as_str().as_bytes())
        .map_err(|error| Failure::failed(format!("{} cannot be written: {error}", note.display())))?;
    notices.iter().for_each(|notice| paper.warn(notice));
    let (stop, limits) = (CancellationToken::new(), seat.workplace.limits.clone());
    let mate = Mate { brief, mail: slot.mail.clone(), limits, stop };
    let (approvals, answers) = mpsc::unbounded_channel();
    let person = mate.person(person, seat.permit.clone(), answers);
    let mut session = seat.session(transcript, person, events)?;
    session.read_from(mailbox);
    session.write_by(slot.mail.clone());
    mate.ready(paper)?;
    let interrupt = session.interrupt();
    let [mut ctrl_c, mut ended] = [SignalKind::interrupt(), SignalKind::terminate()].map(signal);
    let mut work = tokio::spawn(mate.clone().live(session));
    let done = loop {
        tokio::select! {
            Some(happening) = happenings.recv() => tell(&happening, paper),
            done = &mut work => break done,
            Some(order) = slot.orders.recv() => match order.kind {
                LetterKind::ShutdownRequest => { mate.stop.cancel(); interrupt.now(); }
                _ => approvals.send(order).unwrap_or_default(),
            },
            () = next(&mut ctrl_c) => { mate.stop.cancel(); interrupt.now(); }
            () = next(&mut ended) => { mate.stop.cancel(); interrupt.now(); }
        }
    };
    let done = done.map_err(|error| Failure::failed(format!("the session broke: {error}")));
    mate.goodbye();
    slot.close().await;
    match done? {
        Ok(()) | Err(Error::Interrupted) => Ok(()),
        Err(error) => Err(Failure::new(Exit::Failed, error.to_string())),
    }
}

/// `--continue` goes on with what the last teammate of this name did, if it was cut off.
fn beginning(arguments: &Arguments, seat: &Seat, note: &Path) -> Result<Beginning, Failure> {
    if !arguments.session.newest {
        return seat.beginning(&arguments.session);
    }
    let id = std::fs::read_to_string(note).map_err(|_| {
        Failure::nothing_found("no teammate of this name was cut off").fix("start it without --continue")
    })?;
    Shelf::of(&seat.workplace).find(id.trim()).map(Beginning::GoOn)
}

fn trust(brief: &Brief) -> Trust {
    let mut trust = Trust::default();
    if let (Some(leader), Some(token)) = (&brief.leader, &brief.token) {
        trust.share(leader, Standing::Leader, Token::new(token.as_str()));
    }
    trust
}

fn tell(happening: &Happening, paper: &Paper) {
    match happening {
        Happening::Event(Event::Notice(text)) => paper.warn(&shown(text)),
        Happening::Event(Event::ToolStarted { tool, summary, .. }) => {
            paper.talk(&format!("● {} {}", shown(tool), shown(summary)));
        }
        _ => {}
    }
}

impl Mate {
    /// Whoever started it waits for this line.
    fn ready(&self, paper: &Paper) -> Result<(), Failure> {
        let mut out = std::io::stdout().lock();
        let written = writeln!(out, "ready").and_then(|()| out.flush());
        paper.talk(&format!("{} reads letters; `scrubjay send {} \"…\"` writes to it", self.mail.name, self.mail.name));
        written.map_err(crate::paper::unwritten)
    }

    async fn live(self, mut session: Session) -> Result<(), Error> {
        let lived = self.work(&mut session).await;
        if let Err(error) = session.ended("other").await {
            tracing::warn!(%error, "the session did not end well");
        }
        lived
    }

    async fn work(&self, session: &mut Session) -> Result<(), Error> {
        session.started("startup").await?;
        let leader = self.brief.leader.as_deref().unwrap_or("A person");
        let mut answer = match &self.brief.task {
            Some(task) => Some(session.carry_out(prompts::teammate(&self.brief.name, leader, task)).await),
            None => None,
        };
        let idle = Duration::from_secs(self.limits.teammate_idle_minutes.saturating_mul(60));
        loop {
            answer.iter().for_each(|answer| self.report(answer));
            if let Some(Err(Error::Interrupted)) = answer {
                return Ok(());
            }
            let mailbox = session.mailbox();
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return Ok(()),
                () = mailbox.filled() => answer = session.attend().await.transpose(),
                () = tokio::time::sleep(idle) => return Ok(()),
            }
        }
    }

    /// What it said last, to whoever started it.
    fn report(&self, answer: &Result<Answer, Error>) {
        match answer {
            Ok(answer) => self.write(&answer.text, "its report", None),
            Err(Error::Interrupted) => {}
            Err(error) => self.write(&format!("I could not go on: {error}"), "could not go on", None),
        }
    }

    /// It ends, and says so.
    fn goodbye(&self) {
        let answer = Some((LetterKind::ShutdownResponse, Some(true)));
        self.write("I have ended; my record is kept.", "has ended", answer);
    }

    fn write(&self, words: &str, summary: &str, kind: Option<(LetterKind, Option<bool>)>) {
        let Some(leader) = &self.brief.leader else { return };
        let most = usize::try_from(self.limits.agent_report_bytes).unwrap_or(usize::MAX);
        let words = &words[..words.floor_char_boundary(most)];
        let words = if words.trim().is_empty() { "(nothing to report)" } else { words };
        let (kind, approve) = kind.unwrap_or_default();
        let letter = Letter::new(&self.mail.name, leader, words, Timestamp::now()).summed_up(summary);
        let letter = self.mail.trusted().sign(letter.of_kind(kind, approve));
        if let Err(error) = inbox::deliver(&self.mail.folder, &letter, &self.limits) {
            tracing::warn!(%error, "nobody could be told");
        }
    }

    /// Plans are for whoever started it to approve; nobody else can be asked here.
    fn person(&self, nobody: Person, permit: Permit, answers: mpsc::UnboundedReceiver<Letter>) -> Person {
        let (mate, answers) = (self.clone(), Arc::new(Mutex::new(answers)));
        Person::new(move |request: Request| {
            if request.effect != Effect::Proposes || mate.brief.leader.is_none() {
                let nobody = nobody.clone();
                return Box::pin(async move { nobody.ask(request).await });
            }
            let (mate, permit, answers) = (mate.clone(), permit.clone(), answers.clone());
            Box::pin(async move {
                let plan = request.input.get("plan").and_then(serde_json::Value::as_str).unwrap_or_default();
                mate.write(&prompts::teammate_plan(plan), "asks you to approve its plan", None);
                match answers.lock().await.recv().await {
                    Some(Letter { approve: Some(true), .. }) => {
                        permit.end_plan();
                        Consent::Granted
                    }
                    Some(letter) => Consent::Declined(format!("{} said no: {}", letter.from, letter.message)),
                    None => Consent::Declined("Nobody can be asked any more.".to_owned()),
                }
            })
        })
    }
}
