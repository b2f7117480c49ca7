//! The letter slot of a session: a team mailbox that is looked into while the session lives, and a socket for everybody
//! else of the same person. Whatever comes in at the socket goes through the mailbox, so that a kill loses nothing.

pub(crate) mod socket;

use crate::failure::Failure;
use crate::workplace::Workplace;
use scrubjay::agents::letters::{Address, Inbox, Letter, LetterError, LetterKind, Mailbox, Trust, address, inbox};
use scrubjay::agents::staff::{Courier, Mail};
use scrubjay::event::Events;
use scrubjay::limits::Limits;
use socket::Listening;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;

/// The slot of a session that is open.
pub(crate) struct Slot {
    /// What the session needs to write to others.
    pub(crate) mail: Mail,
    stop: CancellationToken,
    task: tokio::task::JoinHandle<()>,
    /// Letters that are more than words, from whoever may send them.
    pub(crate) orders: UnboundedReceiver<Letter>,
}

/// Whom a slot is for.
pub(crate) struct Owner<'a> {
    /// What others call it.
    pub(crate) name: &'a str,
    /// Where the session reads.
    pub(crate) mailbox: Mailbox,
    /// What a person should know.
    pub(crate) events: Events,
    /// With whom secrets are shared from the start.
    pub(crate) trust: Trust,
}

/// What a session is called by others: the end of its id, which differs most.
pub(crate) fn name_of(session: &str) -> String {
    const LETTERS: usize = 8;
    let plain: Vec<char> = session.chars().filter(char::is_ascii_alphanumeric).collect();
    format!("session-{}", plain[plain.len().saturating_sub(LETTERS)..].iter().collect::<String>())
}

impl Slot {
    /// Open it. Somebody else may have the name, or the disk may refuse.
    pub(crate) fn open(workplace: &Workplace, owner: Owner<'_>) -> Result<Self, Failure> {
        let (folder, limits) = (workplace.project().mail(), workplace.limits.clone());
        let inbox = Inbox::open(&folder, owner.name, &limits).map_err(failure)?;
        let stop = CancellationToken::new();
        let rung = Arc::new(tokio::sync::Notify::new());
        let listening = socket::listen(&workplace.places.sockets(), owner.name);
        if let Err(error) = &listening {
            owner.events.notice(format!("other sessions cannot write to this one: {error}"));
        }
        let socket = listening.ok();
        let trust = Arc::new(Mutex::new(owner.trust));
        let mail = Mail {
            name: owner.name.to_owned(),
            folder,
            courier: courier(limits.clone()),
            trust: trust.clone(),
            recruit: None,
        };
        let (sender, orders) = unbounded_channel();
        let reader = Reader { inbox, mailbox: owner.mailbox, events: owner.events, trust, orders: sender, limits };
        let (ending, mail_too, limits) = (stop.clone(), mail.clone(), workplace.limits.clone());
        let task = tokio::spawn(async move {
            let listen = async {
                match socket {
                    Some(socket) => socket.serve(&mail_too, &limits, &rung).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = listen => {}
                () = reader.read(&rung, &ending) => {}
            }
        });
        Ok(Self { mail, stop, task, orders })
    }

    /// Close it. What was not read stays for the next time.
    pub(crate) async fn close(self) {
        self.stop.cancel();
        if let Err(error) = self.task.await {
            tracing::warn!(%error, "the letter slot broke");
        }
    }
}

/// Looks into a mailbox as long as the session lives.
struct Reader {
    inbox: Inbox,
    mailbox: Mailbox,
    events: Events,
    trust: Arc<Mutex<Trust>>,
    orders: UnboundedSender<Letter>,
    limits: Arc<Limits>,
}

impl Reader {
    async fn read(mut self, rung: &tokio::sync::Notify, stop: &CancellationToken) {
        let pause = Duration::from_millis(self.limits.letters_poll_ms);
        let (sender, mut read) = unbounded_channel::<Letter>();
        while !stop.is_cancelled() {
            self.look(&sender);
            tokio::select! {
                () = stop.cancelled() => {}
                () = rung.notified() => {}
                () = tokio::time::sleep(pause) => {}
                Some(letter) = read.recv() => self.done(&letter),
            }
        }
        while let Ok(letter) = read.try_recv() {
            self.done(&letter);
        }
        if let Err(error) = self.inbox.close() {
            tracing::warn!(%error, "an empty mailbox could not be removed");
        }
    }

    fn look(&mut self, read: &UnboundedSender<Letter>) {
        let trust = self.trust.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let received = match self.inbox.receive(&trust, &self.limits) {
            Ok(received) => received,
            Err(error) => return tracing::warn!(%error, "a mailbox cannot be read"),
        };
        for letter in received.letters {
            if matches!(letter.kind, LetterKind::ShutdownRequest | LetterKind::PlanApprovalResponse) {
                self.done(&letter);
                // Whoever does not listen any more is ending anyway.
                self.orders.send(letter).unwrap_or_default();
                continue;
            }
            let (read, copy) = (read.clone(), letter.clone());
            self.mailbox.post_registered(letter, Box::new(move || read.send(copy).unwrap_or_default()));
        }
        for (file, why) in received.dead {
            tracing::warn!(file, why, "a letter was refused");
            self.events.notice(format!("a letter was refused: {why}; it is kept in {}", self.inbox.dir().display()));
        }
    }

    fn done(&mut self, letter: &Letter) {
        if let Err(error) = self.inbox.done(letter, &self.limits) {
            tracing::warn!(%error, letter = letter.id, "a letter that was read could not be removed");
        }
    }
}

/// Reaches sockets; there is no bridge.
pub(crate) fn courier(limits: Arc<Limits>) -> Courier {
    Arc::new(move |address, letter| {
        let limits = limits.clone();
        Box::pin(async move {
            match address {
                Address::Socket(path) => socket::send(&path, &letter, &limits).await,
                Address::Bridge(_) => Err(address::NO_BRIDGE.to_owned()),
                Address::Name(name) => Err(format!("`{name}` is a name")),
                Address::Everybody => Err("everybody is no one in particular".to_owned()),
            }
        })
    })
}

/// Everybody who can be written to from here: mailboxes of this project, and sockets of sessions that live.
pub(crate) fn known(workplace: &Workplace) -> (Vec<String>, Vec<PathBuf>) {
    (inbox::known(&workplace.project().mail()), Listening::living(&workplace.places.sockets()))
}

/// What is wrong, for a person.
pub(crate) fn failure(error: LetterError) -> Failure {
    match error {
        LetterError::Unknown { .. } => Failure::nothing_found(error.to_string()),
        LetterError::NoName(_) | LetterError::TooLarge { .. } => Failure::usage(error.to_string()),
        _ => Failure::failed(error.to_string()),
    }
}
