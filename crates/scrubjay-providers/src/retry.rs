//! Patience: a request is tried again only while nothing of its reply was shown, and never in a hurry.

use crate::refusal::{Again, Fault};
use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use jiff::{Timestamp, Zoned, fmt::rfc2822};
use reqwest::header::HeaderMap;
use scrubjay::limits::Limits;
use scrubjay::model::Delta;
use std::time::Duration;

/// Passes a reply on as it arrives, and remembers whether anything of it was shown.
pub(crate) struct Teller<'a> {
    on: &'a mut (dyn FnMut(Delta) + Send),
    shown: bool,
}

impl<'a> Teller<'a> {
    /// Tell it to this listener.
    pub(crate) fn new(on: &'a mut (dyn FnMut(Delta) + Send)) -> Self {
        Self { on, shown: false }
    }

    /// Show a piece of the reply.
    pub(crate) fn show(&mut self, delta: Delta) {
        self.shown = true;
        (self.on)(delta);
    }

    /// Whether anything of the reply was shown.
    pub(crate) fn has_shown(&self) -> bool {
        self.shown
    }
}

/// How often and after what pauses a request is tried.
pub(crate) struct Patience {
    pauses: ExponentialBackoff,
    longest: Duration,
    attempt: u64,
    attempts: u64,
}

impl Patience {
    /// As the limits say.
    pub(crate) fn new(limits: &Limits) -> Self {
        let longest = Duration::from_millis(limits.retry_longest_delay_ms);
        let pauses = ExponentialBuilder::new()
            .with_min_delay(Duration::from_millis(limits.retry_first_delay_ms))
            .with_max_delay(longest)
            .without_max_times()
            .with_jitter()
            .build();
        Self { pauses, longest, attempt: 1, attempts: limits.retry_attempts }
    }

    /// Wait before the next attempt and say so, or give the fault back when there is to be none.
    pub(crate) async fn wait(&mut self, fault: Fault, teller: &mut Teller<'_>) -> Result<(), Fault> {
        let Again::After(asked) = fault.again else { return Err(fault) };
        if teller.shown || self.attempt >= self.attempts {
            return Err(fault);
        }
        let own = self.pauses.next().unwrap_or(self.longest);
        let after = asked.unwrap_or(own).min(self.longest);
        self.attempt += 1;
        tracing::debug!(attempt = self.attempt, after_ms = after.as_millis() as u64, "request is tried again");
        (teller.on)(Delta::Retry { attempt: self.attempt, after, because: fault.error.to_string() });
        tokio::time::sleep(after).await;
        Ok(())
    }
}

/// The pause a service asks for, in any of the ways it may say so.
pub(crate) fn asked_pause(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let fine = text("retry-after-ms").and_then(|ms| ms.parse().ok()).map(|ms: f64| ms / 1000.0);
    let coarse = || {
        let after = text("retry-after")?;
        after.parse::<f64>().ok().or_else(|| until(after, Timestamp::now()))
    };
    let seconds = fine.or_else(coarse)?;
    Duration::try_from_secs_f64(seconds.max(0.0)).ok()
}

/// Seconds from now to an HTTP date.
fn until(date: &str, now: Timestamp) -> Option<f64> {
    // HTTP dates end in "GMT", which the mail format knows as an obsolete zone.
    let at: Zoned = rfc2822::DateTimeParser::new().parse_zoned(date).ok()?;
    Some(at.timestamp().duration_since(now).as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::HeaderValue;
    use scrubjay::model::ModelError;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value))).collect()
    }

    // spec: Q2
    #[test]
    fn a_pause_is_read_however_it_is_said() {
        let seconds = |n: f64| Some(Duration::from_secs_f64(n));
        for (pairs, pause) in [
            (&[("retry-after", "12")][..], seconds(12.0)),
            (&[("retry-after", "1.5")][..], seconds(1.5)),
            (&[("retry-after-ms", "250"), ("retry-after", "12")][..], seconds(0.25)),
            (&[("retry-after", "-3")][..], seconds(0.0)),
            (&[("retry-after", "soon")][..], None),
            (&[("retry-after", "inf")][..], None),
            (&[("retry-after", "NaN")][..], seconds(0.0)),
            (&[][..], None),
        ] {
            assert_eq!(asked_pause(&headers(pairs)), pause, "{pairs:?}");
        }
        let now: Timestamp = "2026-11-15T08:49:00Z".parse().unwrap();
        assert_eq!(until("Sun, 15 Nov 2026 08:49:37 GMT", now), Some(37.0));
        assert_eq!(until("yesterday", now), None);
    }

    fn busy(asked: Option<Duration>) -> Fault {
        Fault::new(ModelError::Busy { message: "busy".into(), retry_after: asked }, Again::After(asked))
    }

    // spec: Q2
    #[tokio::test(start_paused = true)]
    async fn pauses_grow_with_jitter_and_are_bounded() {
        let limits = Limits { retry_attempts: 8, retry_longest_delay_ms: 4_000, ..Limits::default() };
        let mut told = vec![];
        let mut on = |delta| told.push(delta);
        let (mut teller, mut patience) = (Teller::new(&mut on), Patience::new(&limits));
        let mut waits = 0;
        while patience.wait(busy((waits == 1).then_some(Duration::from_secs(3600))), &mut teller).await.is_ok() {
            waits += 1;
        }
        assert_eq!(waits, 7);
        let pauses: Vec<Duration> =
            told.iter().filter_map(|d| if let Delta::Retry { after, .. } = d { Some(*after) } else { None }).collect();
        assert_eq!(pauses[1], Duration::from_millis(4_000), "what the server asks for is capped");
        assert!(pauses.iter().all(|pause| (500..=4_000).contains(&pause.as_millis())), "{pauses:?}");
        assert!(matches!(told[0], Delta::Retry { attempt: 2, .. }));
    }

    // safety: F-65
    #[tokio::test(start_paused = true)]
    async fn what_was_shown_is_never_asked_for_again() {
        let mut on = |_| {};
        let mut teller = Teller::new(&mut on);
        teller.show(Delta::Text("a".into()));
        assert!(Patience::new(&Limits::default()).wait(busy(None), &mut teller).await.is_err());
    }
}
