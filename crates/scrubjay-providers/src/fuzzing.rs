//! A door for `suites/fuzz`: replies of both dialects, refusals and vectors from any bytes. Only there while fuzzing.

use crate::embedding;
use crate::exchange::{Assembly, Progress};
use crate::refusal::{Asked, refusal};
use crate::retry::Teller;
use crate::stream::Events;
use crate::{anthropic, openai};
use reqwest::StatusCode;
use reqwest::header::HeaderMap;
use scrubjay::limits::Limits;
use scrubjay::transcript::Ttl;

/// Read these bytes, cut into pieces of this size, as a reply of each dialect, in events and in one piece.
pub fn replies(bytes: &[u8], piece: usize) {
    read(bytes, piece, || anthropic::reply::Assembling::new("m", Ttl::FiveMinutes));
    read(bytes, piece, || openai::reply::Assembling::new("m", "{}"));
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let asked = Asked { host: "h".to_owned(), model: "m", key_name: "K", near: &[] };
    for status in [StatusCode::BAD_REQUEST, StatusCode::NOT_FOUND, StatusCode::TOO_MANY_REQUESTS] {
        drop(refusal(status, &HeaderMap::new(), text, &asked));
    }
    assert!(embedding::read(text, 2).is_none_or(|vectors| vectors.len() == 2), "one vector for each text");
}

fn read<A: Assembly>(bytes: &[u8], piece: usize, begin: impl Fn() -> A) {
    let (mut told, mut kept) = (0, 0);
    let mut on = |_| told += 1;
    let mut teller = Teller::new(&mut on);
    let mut assembly = begin();
    let mut events = Events::of_pieces(bytes, piece, &Limits::default());
    let ran = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let Ok(runtime) = ran else { return };
    let is_over = runtime.block_on(async {
        while let Some(Ok(event)) = events.next().await {
            match assembly.take(&event, &mut teller) {
                Ok(Progress::More) => {}
                Ok(Progress::Done) => return true,
                Err(_) => return false,
            }
        }
        assembly.is_whole()
    });
    if is_over {
        kept += assembly.finish().map_or(0, |reply| reply.blocks.len());
    } else {
        kept += assembly.partial().0.len();
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        let mut whole = begin();
        kept += usize::from(whole.take_whole(text, &mut teller).is_ok() && whole.finish().is_ok());
    }
    std::hint::black_box(kept);
}
