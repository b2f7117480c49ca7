//! Identifiers that nobody else has, in the order of their making.

use std::time::{SystemTime, UNIX_EPOCH};
use uuid::{NoContext, Timestamp, Uuid};

/// One of its own. A clock that says it is before 1970 makes them random, and no more than that.
pub(crate) fn fresh() -> Uuid {
    made_at(SystemTime::now())
}

fn made_at(now: SystemTime) -> Uuid {
    match now.duration_since(UNIX_EPOCH) {
        Ok(_) => Uuid::now_v7(),
        Err(_) => Uuid::new_v7(Timestamp::from_unix(NoContext, 0, 0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_clock_before_1970_makes_different_identifiers() {
        let before = UNIX_EPOCH - Duration::from_secs(1);
        assert_ne!(made_at(before), made_at(before));
        assert_eq!(made_at(before).get_version_num(), fresh().get_version_num());
    }
}
