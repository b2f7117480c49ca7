//! Whether the provider still holds what a session sent last, as far as its record tells.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use scrubjay::prompt_cache::rules::lifetime;
use scrubjay::transcript::{Call, Entry, Transcript, Ttl};
use serde_json::{Value, json};

/// Where the cache of a session stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cache {
    /// No answer said that anything was cached.
    Unused,
    /// It holds until then, unless it is used before.
    Warm { until: Timestamp, left: SignedDuration },
    /// It was let go of then.
    Cold { since: Timestamp },
}

impl Cache {
    pub(crate) fn of(transcript: &Transcript, now: Timestamp) -> Self {
        let view = transcript.view();
        let alike =
            view.spent.iter().filter(|((source, _), _)| Call::begins_alike(source)).map(|(_, spent)| spent.usage);
        let (mut read, mut written) = (0, 0);
        for usage in alike {
            read += usage.cache_read;
            written += usage.cache_write_5m + usage.cache_write_1h;
        }
        let answered = |entry: &Entry| matches!(entry, Entry::Replied(call) if Call::begins_alike(&call.source));
        let last = transcript.records().iter().rev().find(|record| answered(&record.entry)).map(|record| record.at);
        let Some(last) = last.filter(|_| read + written > 0) else { return Cache::Unused };
        // A service that says what it wrote keeps it as long as it was asked to; another one for an hour at most.
        let asked = view.opening.as_ref().map(|opening| opening.options.cache_ttl.messages());
        let ttl = asked.filter(|_| written > 0).unwrap_or(Ttl::OneHour);
        let until = last.checked_add(lifetime(ttl)).unwrap_or(last);
        let left = until.duration_since(now);
        if left.is_positive() { Cache::Warm { until, left } } else { Cache::Cold { since: until } }
    }

    pub(crate) fn words(self) -> String {
        match self {
            Cache::Unused => "not used".to_owned(),
            Cache::Warm { until, left } => {
                let minutes = left.as_secs().unsigned_abs().div_ceil(60);
                format!("warm until {} ({minutes} min)", clock(until))
            }
            Cache::Cold { since } => format!("cold since {}", clock(since)),
        }
    }

    /// When what is sent has to be written anew anyway, so that taking something out is free.
    pub(crate) fn free_from(self) -> Option<String> {
        match self {
            Cache::Unused => None,
            Cache::Warm { until, .. } => Some(format!("once the cache is cold: {}", clock(until))),
            Cache::Cold { .. } => Some("with the next question: the cache is cold".to_owned()),
        }
    }

    pub(crate) fn json(self) -> Value {
        match self {
            Cache::Unused => json!({ "state": "unused" }),
            Cache::Warm { until, left } => {
                json!({ "state": "warm", "until": until, "seconds_left": left.as_secs(), "certainty": "estimated" })
            }
            Cache::Cold { since } => json!({ "state": "cold", "since": since, "certainty": "estimated" }),
        }
    }
}

/// The time of day where the person is; the day, too, where it is another one.
fn clock(at: Timestamp) -> String {
    let here = at.to_zoned(TimeZone::system());
    let today = Timestamp::now().to_zoned(TimeZone::system()).date();
    let form = if here.date() == today { "%H:%M" } else { "%Y-%m-%d %H:%M" };
    here.strftime(form).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay::limits::Limits;
    use scrubjay::message::{SessionId, StopReason, Usage};
    use scrubjay::transcript::{Lifetimes, Opening, Options};
    use std::sync::Arc;

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_second(1_790_000_000 + 60 * minute).unwrap()
    }

    fn asked(source: &str, usage: Usage, ttl: Ttl) -> Transcript {
        let mut transcript = Transcript::in_memory(SessionId::new("s"), Arc::new(Limits::default()));
        let options = Options { cache_ttl: Lifetimes::from(ttl), ..Options::default() };
        let opening = Arc::new(Opening { options, ..Opening::new("m", "system", []) });
        transcript.append(Entry::Opened { opening, because: None }, at(0)).unwrap();
        let (source, model) = (source.to_owned(), "m".to_owned());
        let call = Call { source, model, usage, stop: StopReason::EndTurn, cleared: 0 };
        transcript.append(Entry::Replied(call), at(0)).unwrap();
        transcript
    }

    // spec: M2
    #[test]
    fn a_cache_is_warm_as_long_as_it_was_asked_to_live() {
        let wrote = Usage { cache_write_5m: 10, ..Usage::default() };
        let read = Usage { cache_read: 10, ..Usage::default() };
        for (source, usage, ttl, minute, state) in [
            ("main", wrote, Ttl::FiveMinutes, 4, "warm"),
            ("main", wrote, Ttl::FiveMinutes, 5, "cold"),
            ("main", wrote, Ttl::OneHour, 59, "warm"),
            ("session_notes", wrote, Ttl::FiveMinutes, 4, "warm"),
            ("agent:explore", wrote, Ttl::FiveMinutes, 4, "unused"),
            ("main", read, Ttl::FiveMinutes, 30, "warm"),
            ("main", read, Ttl::FiveMinutes, 60, "cold"),
            ("main", Usage { input: 10, ..Usage::default() }, Ttl::FiveMinutes, 1, "unused"),
        ] {
            let cache = Cache::of(&asked(source, usage, ttl), at(minute));
            assert_eq!(cache.json()["state"], state, "{source} {usage:?} {ttl:?} {minute}");
        }
        let warm = Cache::of(&asked("main", wrote, Ttl::FiveMinutes), at(3));
        assert!(warm.words().ends_with("(2 min)") && warm.free_from().unwrap().contains("once the cache is cold"));
    }
}
