//! What a running session tells the door it was opened at: events, and questions that a person must answer.

use scrubjay::desk::{Consent, Person, Request};
use scrubjay::event::{Event, Events};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

/// Something that a door must do something about.
pub(crate) enum Happening {
    /// To be shown.
    Event(Event),
    /// To be answered.
    Question(Request, oneshot::Sender<Consent>),
}

/// Both ends of the wire between a session and its door.
pub(crate) struct Wire {
    pub(crate) events: Events,
    pub(crate) person: Person,
    pub(crate) happenings: UnboundedReceiver<Happening>,
}

/// A wire on which questions reach a person.
pub(crate) fn wire() -> Wire {
    let (sender, happenings) = unbounded_channel();
    Wire { events: events_to(sender.clone()), person: person_at(sender), happenings }
}

/// A wire at whose end nobody sits: questions are declined in these words.
pub(crate) fn unattended_wire(answer: impl Fn(&Request) -> String + Send + Sync + 'static) -> Wire {
    let (sender, happenings) = unbounded_channel();
    let events = events_to(sender);
    let told = events.clone();
    let person = Person::new(move |request| {
        let reason = answer(&request);
        told.notice(reason.clone());
        Box::pin(async move { Consent::Declined(reason) })
    });
    Wire { events, person, happenings }
}

/// A door that has gone away hears nothing, and the session goes on to its end.
fn events_to(sender: UnboundedSender<Happening>) -> Events {
    Events::to(move |event| sender.send(Happening::Event(event)).unwrap_or_default())
}

fn person_at(sender: UnboundedSender<Happening>) -> Person {
    Person::new(move |request| {
        let sender = sender.clone();
        Box::pin(async move {
            let (reply, answer) = oneshot::channel();
            let asked = sender.send(Happening::Question(request, reply));
            let gone = || Consent::Declined("Nobody is there to be asked any more.".to_owned());
            if asked.is_err() { gone() } else { answer.await.unwrap_or_else(|_| gone()) }
        })
    })
}
