//! How an answer travels: at once, paced by hand, or cut on the way.

use super::pacer::Pacer;
use super::recorded::Sent;
use super::reply::{Cut, Reply};
use super::server::Shared;
use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, Response, StatusCode};
use futures::stream;
use std::io;
use std::sync::Arc;

/// What is done at the first byte of an answer.
pub(super) type FirstByte = Box<dyn FnOnce() + Send>;

/// An answer that is ready to go.
pub(super) struct Parcel {
    pub(super) status: u16,
    pub(super) content_type: &'static str,
    pub(super) headers: Vec<(String, String)>,
    /// One chunk an event; a plain body is one chunk.
    pub(super) chunks: Vec<Bytes>,
    pub(super) pacer: Option<Pacer>,
    pub(super) cut: Option<Cut>,
    pub(super) first_byte: Option<FirstByte>,
}

impl Parcel {
    /// A body of one piece.
    pub(super) fn body(status: u16, content_type: &'static str, body: impl Into<Bytes>) -> Self {
        let chunks = vec![body.into()];
        Self { status, content_type, headers: Vec::new(), chunks, pacer: None, cut: None, first_byte: None }
    }

    /// JSON.
    pub(super) fn json(status: u16, json: &serde_json::Value) -> Self {
        Self::body(status, "application/json", json.to_string())
    }

    /// A stream of server-sent events.
    pub(super) fn events(chunks: Vec<Bytes>) -> Self {
        Self { chunks, ..Self::body(200, "text/event-stream", Bytes::new()) }
    }

    /// Travelling as the script wants it.
    pub(super) fn travelling_like(mut self, reply: &Reply) -> Self {
        self.headers.extend(reply.headers.iter().cloned());
        self.pacer = reply.pacer.clone();
        self.cut = reply.cut;
        self
    }

    pub(super) fn at_first_byte(mut self, act: FirstByte) -> Self {
        self.first_byte = Some(act);
        self
    }
}

/// Tells the record when an answer was sent, or that it never was.
struct Witness {
    shared: Arc<Shared>,
    index: usize,
    sent: Sent,
}

impl Drop for Witness {
    fn drop(&mut self) {
        self.shared.update(self.index, |answer| answer.sent = self.sent);
    }
}

struct Road {
    chunks: std::vec::IntoIter<Bytes>,
    pacer: Option<Pacer>,
    /// Bytes until the cut.
    left: Option<usize>,
    first_byte: Option<FirstByte>,
    witness: Witness,
}

/// Send a parcel as the answer to a recorded request.
pub(super) async fn send(parcel: Parcel, shared: Arc<Shared>, index: usize) -> Response<Body> {
    shared.update(index, |answer| answer.status = parcel.status);
    let left = parcel.cut.map(|cut| cut_position(cut, &parcel.chunks));
    let mut road = Road {
        chunks: parcel.chunks.into_iter(),
        pacer: parcel.pacer,
        left,
        first_byte: parcel.first_byte,
        witness: Witness { shared, index, sent: Sent::Broken },
    };
    if parcel.content_type != "text/event-stream" {
        // A body that is no stream begins with its headers: they wait too.
        if let Some(pacer) = road.pacer.take() {
            pacer.wait().await;
        }
        road.begin();
    }
    let body = Body::from_stream(stream::unfold(road, Road::step));
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(parcel.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let fixed = ("content-type".to_owned(), parcel.content_type.to_owned());
    for (name, value) in std::iter::once(fixed).chain(parcel.headers) {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

impl Road {
    fn begin(&mut self) {
        if let Some(act) = self.first_byte.take() {
            act();
        }
    }

    async fn step(mut self) -> Option<(io::Result<Bytes>, Self)> {
        if self.left == Some(0) {
            // What was sent so far must leave the buffer before the line breaks.
            tokio::task::yield_now().await;
            return Some((Err(io::ErrorKind::ConnectionReset.into()), self));
        }
        let Some(mut chunk) = self.chunks.next() else {
            self.witness.sent = Sent::Whole;
            return None;
        };
        if let Some(pacer) = &self.pacer {
            pacer.wait().await;
        }
        self.begin();
        if let Some(left) = &mut self.left {
            chunk.truncate(*left);
            *left -= chunk.len();
        }
        Some((Ok(chunk), self))
    }
}

fn cut_position(cut: Cut, chunks: &[Bytes]) -> usize {
    let whole = |events: usize| chunks.iter().take(events).map(Bytes::len).sum::<usize>();
    match cut {
        Cut::AfterBytes(bytes) => bytes,
        Cut::AfterEvents(events) => whole(events),
        Cut::MidEvent(event) => whole(event) + chunks.get(event).map_or(0, |chunk| chunk.len() / 2),
    }
}
