//! When to dream: gates, the cheapest first, so that a session that will not dream pays one look at one file for it.

use super::{DreamError, Dreams, evidence, lease};
use crate::desk::Desk;
use crate::limits::Limits;
use crate::memory::logs::LogDay;
use crate::settings::{Settings, key};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use std::fmt;
use std::path::PathBuf;

/// Why there is no dream now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Closed {
    /// Dreaming is switched off.
    Off,
    /// The last one landed a short while ago.
    Recent {
        /// When.
        last: Timestamp,
    },
    /// Somebody looked for new sessions a moment ago.
    LookedLately,
    /// Too little happened since the last one.
    FewSessions {
        /// Sessions that went on since.
        new: u64,
        /// How many it takes.
        wanted: u64,
    },
    /// Something could not be read.
    Unreadable(String),
}

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Closed::Off => write!(f, "dreaming is switched off; `layers.dreaming = true` switches it on"),
            Closed::Recent { last } => write!(f, "the last dream landed at {last}; `scrubjay dream` dreams now"),
            Closed::LookedLately => write!(f, "new sessions were looked for a moment ago"),
            Closed::FewSessions { new, wanted } => {
                write!(f, "{new} sessions went on since the last dream and {wanted} are worth one")
            }
            Closed::Unreadable(why) => write!(f, "whether to dream could not be found out: {why}"),
        }
    }
}

/// Whether a layer is switched on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switch {
    /// It may act.
    On,
    /// It may not.
    Off,
}

/// What is new since the last dream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct News {
    /// When the last dream landed.
    pub last: Option<Timestamp>,
    /// Transcripts of sessions that went on since.
    pub sessions: Vec<PathBuf>,
    /// What was logged on days that are over and never read.
    pub(super) logs: Vec<LogDay>,
}

/// How long after a dream the next one may come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rhythm {
    /// After some hours.
    Hours,
    /// After midnight, where the day before was logged.
    Nights,
}

impl Rhythm {
    pub(super) fn of(settings: &Settings) -> Self {
        if settings.flag(&key::DAILY_LOG) { Rhythm::Nights } else { Rhythm::Hours }
    }

    fn is_too_early(self, last: Timestamp, now: Timestamp, zone: &TimeZone, limits: &Limits) -> bool {
        let day = |at: Timestamp| at.to_zoned(zone.clone()).date();
        match self {
            Rhythm::Hours => is_within(last, now, hours(limits.dream_every_hours)),
            Rhythm::Nights => day(last) == day(now),
        }
    }
}

/// What is remembered between two looks.
#[derive(Debug, Default)]
pub struct Gates {
    /// When sessions were last looked for.
    looked: Option<Timestamp>,
    /// The time on the lock file, and what the journal says about it.
    known: Option<(Option<Timestamp>, Option<Timestamp>)>,
}

impl Gates {
    /// Whether it is known without a look that a gate is closed. It costs nothing, so that every answer can ask.
    pub fn are_known_closed(&self, desk: &Desk) -> bool {
        let (now, limits) = (desk.clock.now(), &desk.limits);
        let last = self.known.and_then(|(_, last)| last);
        last.is_some_and(|last| Rhythm::of(&desk.settings).is_too_early(last, now, &desk.zone, limits))
            || self.looked.is_some_and(|looked| is_within(looked, now, minutes(limits.dream_scan_minutes)))
    }

    /// What a dream would be about, or the first gate that is closed. `current` is the session that asks. Blocks.
    pub fn look(&mut self, dreams: &Dreams, current: &str, switch: Switch) -> Result<News, Closed> {
        if switch == Switch::Off {
            return Err(Closed::Off);
        }
        let (now, limits) = (dreams.clock.now(), &dreams.limits);
        let last = self.last(dreams)?;
        let too_early = |last: &Timestamp| dreams.rhythm.is_too_early(*last, now, &dreams.zone, limits);
        if let Some(last) = last.filter(too_early) {
            return Err(Closed::Recent { last });
        }
        if self.looked.is_some_and(|looked| is_within(looked, now, minutes(limits.dream_scan_minutes))) {
            return Err(Closed::LookedLately);
        }
        self.looked = Some(now);
        let news = news(dreams, last, current).map_err(|error| Closed::Unreadable(error.to_string()))?;
        let (new, wanted) = (news.sessions.len() as u64, limits.dream_sessions);
        match new >= wanted || !news.logs.is_empty() {
            true => Ok(news),
            false => Err(Closed::FewSessions { new, wanted }),
        }
    }

    /// When the last dream landed: what the lock file says, once the journal has agreed with it. A copy or a backup moves
    /// the time of a file, and then the journal knows better.
    fn last(&mut self, dreams: &Dreams) -> Result<Option<Timestamp>, Closed> {
        let stamped = lease::last(&dreams.place.memory).map_err(|error| Closed::Unreadable(error.to_string()))?;
        match self.known {
            Some((known, last)) if known == stamped => Ok(last),
            _ => {
                let last = last_dream(dreams)?;
                self.known = Some((stamped, last));
                Ok(last)
            }
        }
    }
}

/// What the journal says about the last dream.
pub(super) fn last_dream(dreams: &Dreams) -> Result<Option<Timestamp>, Closed> {
    dreams.memory.with(|memory| memory.last_dream()).map_err(|error| Closed::Unreadable(error.to_string()))
}

/// What happened since the last dream, whatever the gates say.
pub(super) fn news(dreams: &Dreams, last: Option<Timestamp>, current: &str) -> Result<News, DreamError> {
    let sessions = evidence::sessions_since(&dreams.sessions, last, current)
        .map_err(|error| DreamError::io("looking for new sessions", error))?;
    // Today is still being written.
    let today = dreams.clock.now().to_zoned(dreams.zone.clone()).date();
    let mut logs = dreams.memory.with(|memory| memory.unread_logs())?;
    logs.retain(|log| log.date < today);
    Ok(News { last, sessions, logs })
}

/// A time in the future is as far away as one in the past: a clock that was set back must not stop dreams for good.
fn is_within(then: Timestamp, now: Timestamp, span: SignedDuration) -> bool {
    now.duration_since(then).abs() < span
}

fn minutes(minutes: u64) -> SignedDuration {
    SignedDuration::from_mins(i64::try_from(minutes).unwrap_or(0))
}

fn hours(hours: u64) -> SignedDuration {
    SignedDuration::from_hours(i64::try_from(hours).unwrap_or(0))
}
