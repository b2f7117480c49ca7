//! Health figures that the ledger can answer.

use super::{Layer, Row};
use jiff::{SignedDuration, Timestamp};

/// The share of the conversation's input that came from the cache; `None` before the first call.
pub fn cache_hit_rate<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Option<f64> {
    let (mut read, mut all) = (0u64, 0u64);
    for row in rows {
        if let Row::Called(called) = row
            && called.is_main()
        {
            read = read.saturating_add(called.usage.cache_read);
            all = all.saturating_add(called.usage.total_input());
        }
    }
    (all > 0).then(|| read as f64 / all as f64)
}

/// Compactions an hour, up to `now`; a session younger than an hour counts as an hour old. `None` before the first row.
pub fn compactions_per_hour<'a>(rows: impl IntoIterator<Item = &'a Row>, now: Timestamp) -> Option<f64> {
    let mut began: Option<Timestamp> = None;
    let mut compactions = 0.0;
    for row in rows {
        began = row.at().map(|at| began.map_or(at, |began| began.min(at))).or(began);
        if let Row::Removed(removed) = row
            && matches!(removed.layer, Layer::SessionNotes | Layer::Compaction)
        {
            compactions += 1.0;
        }
    }
    let age = now.duration_since(began?).max(SignedDuration::from_hours(1));
    Some(compactions / (age.as_secs_f64() / SignedDuration::from_hours(1).as_secs_f64()))
}

#[cfg(test)]
mod tests {
    use super::super::Sent;
    use super::super::tests::{at, called, removed};
    use super::*;
    use crate::message::Usage;

    // spec: V4
    #[test]
    fn hit_rate_and_compactions_per_hour_come_from_the_rows() {
        let usage = Usage { cache_read: 900, cache_write_5m: 60, input: 40, ..Usage::default() };
        let rows = [
            Row::Called(called(0, "main", usage)),
            Row::Called(called(0, "main", Usage { cache_read: 0, input: 1_000, ..Usage::default() })),
            Row::Called(called(1, "extract", Usage { input: 90_000, ..Usage::default() })),
            removed(2, Layer::Microcompaction, 5, Sent::Before),
            removed(3, Layer::Compaction, 5, Sent::Before),
            removed(4, Layer::SessionNotes, 5, Sent::Before),
        ];
        assert_eq!(cache_hit_rate(&rows), Some(0.45));
        assert_eq!(compactions_per_hour(&rows, at(60)), Some(2.0));
        assert_eq!(compactions_per_hour(&rows, at(4 * 3_600)), Some(0.5));
        assert_eq!((cache_hit_rate(&[]), compactions_per_hour(&[], at(0))), (None, None));
    }
}
