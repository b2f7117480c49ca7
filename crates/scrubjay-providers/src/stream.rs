//! From bytes to events: split anywhere, never too large, never silent for too long.

use crate::wire::causes;
use futures::{Stream, StreamExt, stream};
use reqwest::Response;
use scrubjay::limits::Limits;
use sse_stream::{Sse, SseByteStream};
use std::io::Cursor;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Why no more events come.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum StreamError {
    /// The connection ended in the middle.
    #[error("the connection broke: {0}")]
    Broken(String),
    /// Nothing came for too long.
    #[error("nothing came for {} s", .0.as_secs())]
    Silent(Duration),
    /// One event is larger than any event may be.
    #[error("one event is larger than {0} bytes")]
    TooLarge(u64),
}

type Chunk = Cursor<Vec<u8>>;

/// The events of a response. An event that was not finished does not come at all.
pub(crate) struct Events {
    events: std::pin::Pin<Box<dyn Stream<Item = Result<Sse, sse_stream::Error>> + Send>>,
    since_event: Arc<AtomicU64>,
}

impl Events {
    /// Listen to a response.
    pub(crate) fn of(response: Response, limits: &Limits) -> Self {
        let bytes = response.bytes_stream().map(|chunk| match chunk {
            Ok(bytes) => Ok(Cursor::new(Vec::from(bytes))),
            Err(error) => Err(StreamError::Broken(causes(&error.without_url()))),
        });
        Self::from_bytes(bytes, limits)
    }

    /// Read events that have come already.
    pub(crate) fn of_text(text: String, limits: &Limits) -> Self {
        Self::from_bytes(stream::iter([Ok(Cursor::new(text.into_bytes()))]), limits)
    }

    /// Read events that come in pieces of this size.
    #[cfg(fuzzing)]
    pub(crate) fn of_pieces(bytes: &[u8], size: usize, limits: &Limits) -> Self {
        let pieces: Vec<_> = bytes.chunks(size).map(|piece| Ok(Cursor::new(piece.to_vec()))).collect();
        Self::from_bytes(stream::iter(pieces), limits)
    }

    /// Listen to any bytes.
    fn from_bytes(bytes: impl Stream<Item = Result<Chunk, StreamError>> + Send + 'static, limits: &Limits) -> Self {
        let since_event = Arc::new(AtomicU64::new(0));
        let watched = watched(bytes, Arc::clone(&since_event), limits);
        Self { events: Box::pin(SseByteStream::new(Box::pin(watched))), since_event }
    }

    /// The next event; `None` at the end of the bytes, which is not yet the end of a reply.
    pub(crate) async fn next(&mut self) -> Option<Result<Sse, StreamError>> {
        let event = self.events.next().await?;
        self.since_event.store(0, Ordering::Relaxed);
        Some(event.map_err(|error| match error {
            sse_stream::Error::Body(inner) => match inner.downcast::<StreamError>() {
                Ok(own) => *own,
                Err(other) => StreamError::Broken(other.to_string()),
            },
            other => StreamError::Broken(other.to_string()),
        }))
    }
}

/// The same bytes, as long as they keep coming and an event ends now and then.
fn watched(
    bytes: impl Stream<Item = Result<Chunk, StreamError>> + Send + 'static,
    since_event: Arc<AtomicU64>,
    limits: &Limits,
) -> impl Stream<Item = Result<Chunk, StreamError>> + Send + 'static {
    let (most, patience) = (limits.event_bytes, Duration::from_millis(limits.stream_idle_ms));
    stream::unfold((Box::pin(bytes), since_event), move |(mut bytes, since_event)| async move {
        let chunk = match tokio::time::timeout(patience, bytes.next()).await {
            Ok(chunk) => chunk?,
            Err(_) => Err(StreamError::Silent(patience)),
        };
        let chunk = chunk.and_then(|chunk| {
            // A chunk may end one event and begin many, so what it leaves unfinished counts only when the next one comes.
            let unfinished = since_event.fetch_add(chunk.get_ref().len() as u64, Ordering::Relaxed);
            if unfinished > most { Err(StreamError::TooLarge(most)) } else { Ok(chunk) }
        });
        Some((chunk, (bytes, since_event)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn chunks(text: &[u8], size: usize) -> Vec<Result<Chunk, StreamError>> {
        text.chunks(size.max(1)).map(|chunk| Ok(Cursor::new(chunk.to_vec()))).collect()
    }

    async fn read(chunks: Vec<Result<Chunk, StreamError>>, limits: &Limits) -> (Vec<String>, Option<StreamError>) {
        let mut events = Events::from_bytes(stream::iter(chunks), limits);
        let mut data = vec![];
        while let Some(event) = events.next().await {
            match event {
                Ok(event) => data.extend(event.data),
                Err(error) => return (data, Some(error)),
            }
        }
        (data, None)
    }

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap().block_on(future)
    }

    proptest! {
        // safety: F-64
        #[test]
        fn any_chunking_gives_the_same_events(size in 1..64usize, words in prop::collection::vec("[^\r\n\u{0}]{0,40}", 0..8)) {
            let text: String = words.iter().map(|word| format!("event: e\ndata: x{word}\n\n")).collect();
            let (data, error) = block_on(read(chunks(text.as_bytes(), size), &Limits::default()));
            prop_assert!(error.is_none());
            prop_assert_eq!(data, words.iter().map(|word| format!("x{word}")).collect::<Vec<_>>());
        }

        #[test]
        fn bytes_from_anywhere_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..400), size in 1..50usize) {
            let (data, _) = block_on(read(chunks(&bytes, size), &Limits::default()));
            prop_assert!(data.len() <= bytes.len());
        }
    }

    // safety: F-64
    #[tokio::test(start_paused = true)]
    async fn an_endless_event_and_silence_are_errors() {
        let limits = Limits { event_bytes: 1_024, ..Limits::default() };
        let endless = chunks(format!("data: ok\n\ndata: {}", "x".repeat(4_000)).as_bytes(), 100);
        let (data, error) = read(endless, &limits).await;
        assert_eq!(data, ["ok"]);
        assert!(matches!(error, Some(StreamError::TooLarge(1_024))));

        let many = chunks("data: 0123456789\n\n".repeat(400).as_bytes(), 100);
        let (data, error) = read(many, &limits).await;
        assert_eq!((data.len(), error.is_none()), (400, true));

        let silent = stream::iter(chunks(b"data: ok\n\n", 4)).chain(stream::pending());
        let mut events = Events::from_bytes(silent, &limits);
        assert_eq!(events.next().await.unwrap().unwrap().data.as_deref(), Some("ok"));
        assert!(matches!(events.next().await, Some(Err(StreamError::Silent(_)))));
        assert!(events.next().await.is_none());
    }
}
