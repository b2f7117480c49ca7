//! Which sessions a command that sums up looks at, and from when on.

use crate::arguments::PeriodFlags;
use crate::failure::Failure;
use crate::shelf::{Place, Shelf, began_in, none_yet, places_in};
use crate::workplace::Workplace;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use scrubjay::ledger::Row;
use scrubjay::ledger::book::{self, Book};
use scrubjay::limits::Limits;
use scrubjay::paths::Layout;
use scrubjay::transcript::Reading;

/// Sessions, newest first, and from when on.
pub(super) struct Period {
    pub(super) sessions: Vec<Session>,
    pub(super) since: Option<Timestamp>,
    scope: Scope,
}

/// A session and the folder its project is known by.
pub(super) struct Session {
    pub(super) project: String,
    pub(super) place: Place,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    One,
    Project,
    Machine,
}

/// How far a command looks that was not told one session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// Into this project.
    Project,
    /// Into every project on this machine.
    Machine,
}

impl Period {
    /// What the flags ask for: one session; with `--all` or `--since` every one of the project; everywhere, where projects are
    /// compared.
    pub(super) fn of(flags: &PeriodFlags, reach: Reach, workplace: &Workplace) -> Result<Self, Failure> {
        let since = flags.since.as_ref().map(|since| since.moment(Timestamp::now(), &TimeZone::system()));
        let scope = match (&flags.session, reach) {
            (Some(_), _) => Scope::One,
            (None, Reach::Machine) => Scope::Machine,
            (None, Reach::Project) if flags.all || since.is_some() => Scope::Project,
            (None, Reach::Project) => Scope::One,
        };
        let shelf = Shelf::of(workplace);
        let project = || workplace.root.display().to_string();
        let here = |place| Session { project: project(), place };
        let mut sessions: Vec<Session> = match scope {
            Scope::One => vec![here(shelf.find(flags.session.as_deref().unwrap_or("last"))?)],
            Scope::Project => shelf.places()?.into_iter().map(here).collect(),
            Scope::Machine => everywhere_in(workplace)?,
        };
        if let Some(since) = since {
            sessions.retain(|session| Timestamp::try_from(session.place.touched).is_ok_and(|touched| touched >= since));
        }
        sessions.sort_by(|a, b| (b.place.touched, &b.place.id).cmp(&(a.place.touched, &a.place.id)));
        match sessions.is_empty() && since.is_none() {
            true => Err(none_yet()),
            false => Ok(Self { sessions, since, scope }),
        }
    }

    /// The period in words.
    pub(super) fn words(&self) -> String {
        let since = self.since.map(|since| {
            let here = since.to_zoned(TimeZone::system());
            format!(" since {}", here.strftime("%Y-%m-%d %H:%M"))
        });
        let sessions = match (self.scope, &self.sessions[..]) {
            (Scope::One, [one]) => format!("session {}", one.place.id),
            (Scope::Machine, all) => format!("{} of every project", crate::paper::counted(all.len() as u64, "session")),
            (_, all) => format!("{} of this project", crate::paper::counted(all.len() as u64, "session")),
        };
        format!("{sessions}{}", since.unwrap_or_default())
    }

    /// There is nothing to sum up.
    pub(super) fn nothing(&self, what: &str) -> Failure {
        let fix = match (self.scope, self.since) {
            (Scope::One, _) => "`scrubjay sessions` lists sessions; --session ID names one, --all takes them all",
            (_, Some(_)) => "take a longer period with --since, or leave it out",
            (_, None) => "start one with `scrubjay chat`",
        };
        Failure::nothing_found(format!("{} holds {what}", self.words())).fix(fix)
    }
}

/// The sessions of every project on this machine, each under the folder it was started in.
fn everywhere_in(workplace: &Workplace) -> Result<Vec<Session>, Failure> {
    let projects = Layout::at(&workplace.places.data).projects();
    let mut all = Vec::new();
    for entry in std::fs::read_dir(projects).into_iter().flatten().flatten() {
        let places = places_in(&entry.path())?;
        let began = places.first().and_then(began_in);
        let name = began.unwrap_or_else(|| entry.file_name().into());
        let project = name.display().to_string();
        all.extend(places.into_iter().map(|place| Session { project: project.clone(), place }));
    }
    Ok(all)
}

/// The receipts beside a session's record; nothing where they cannot be read.
pub(super) fn receipts(place: &Place, limits: &Limits) -> Option<Reading<Row>> {
    book::read(&Book::path_of(&place.path), limits).ok()
}
