//! How things go wrong for a person: what happened, what to do, and the exit code a script can rely on.

use crate::paper::spelled_out;
use scrubjay::context::compaction::boundary::NotCompacted;
use scrubjay::context::spans::NotHidden;
use scrubjay::model::ModelError;
use scrubjay::secrets::veiled;
use scrubjay::transcript::TranscriptError;
use std::process::ExitCode;

/// The reason alone, without the advice behind it: for notices about something that is tried again.
pub(crate) fn reason(message: &str) -> &str {
    message.split("; ").next().unwrap_or(message)
}

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// All is well.
    Fine,
    /// It failed.
    Failed,
    /// It was asked for in a way that makes no sense.
    Usage,
    /// What was asked for does not exist.
    NothingFound,
    /// A rule forbids it.
    Refused,
    /// The model service cannot be reached.
    Unreachable,
    /// Ctrl-C.
    Interrupted,
    /// Somebody ended the process.
    Terminated,
}

impl Exit {
    /// The number the shell sees.
    pub(crate) fn code(self) -> u8 {
        match self {
            Exit::Fine => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::NothingFound => 3,
            Exit::Refused => 4,
            Exit::Unreachable => 5,
            Exit::Interrupted => 130,
            Exit::Terminated => 143,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit.code())
    }
}

/// Something went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// How the program ends.
    pub(crate) exit: Exit,
    /// What happened and what it means.
    pub(crate) message: String,
    /// What to do.
    pub(crate) fix: Option<String>,
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), fix: None }
    }

    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::new(Exit::Failed, message)
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    pub(crate) fn nothing_found(message: impl Into<String>) -> Self {
        Self::new(Exit::NothingFound, message)
    }

    /// Nothing to say: the reader of our output has left.
    pub(crate) fn quiet() -> Self {
        Self::new(Exit::Fine, "")
    }

    /// Ctrl-C.
    pub(crate) fn interrupted() -> Self {
        Self::new(Exit::Interrupted, "")
    }

    /// And this is what to do.
    pub(crate) fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }

    /// The same without credentials: what somebody else answered may hold one.
    pub(crate) fn veiled(&self) -> Self {
        Self { exit: self.exit, message: veiled(&self.message), fix: self.fix.as_deref().map(veiled) }
    }

    /// The failure as JSON on one line, for scripts.
    pub(crate) fn to_json(&self) -> String {
        spelled_out(&serde_json::json!({
            "schema": "scrubjay.error/1",
            "tool_version": env!("CARGO_PKG_VERSION"),
            "error": self.message,
            "fix": self.fix,
            "exit_code": self.exit.code(),
        }))
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)?;
        match &self.fix {
            Some(fix) => write!(f, "\n  {fix}"),
            None => Ok(()),
        }
    }
}

impl From<scrubjay::Error> for Failure {
    fn from(error: scrubjay::Error) -> Self {
        match error {
            scrubjay::Error::Model(error) => error.into(),
            scrubjay::Error::Transcript(error) => error.into(),
            scrubjay::Error::NotCompacted(reason) => reason.into(),
            scrubjay::Error::NotHidden(reason) => reason.into(),
            scrubjay::Error::Interrupted => Self::new(Exit::Interrupted, "interrupted"),
            other => Self::failed(other.to_string()),
        }
    }
}

impl From<NotCompacted> for Failure {
    fn from(reason: NotCompacted) -> Self {
        let message = reason.to_string();
        match reason {
            NotCompacted::Nothing
            | NotCompacted::AllThere
            | NotCompacted::NoSuchMessage(_)
            | NotCompacted::NotSmaller { .. } => Self::nothing_found(message)
                .fix("`scrubjay context`, or /context in a chat, shows the room that is left"),
            NotCompacted::Model(error) => Self { message, ..error.into() },
            NotCompacted::Interrupted => Self::new(Exit::Interrupted, message),
            NotCompacted::OpenRound | NotCompacted::TooSmall(_) | NotCompacted::Empty => Self::failed(message),
        }
    }
}

impl From<NotHidden> for Failure {
    fn from(reason: NotHidden) -> Self {
        let message = reason.to_string();
        match reason {
            NotHidden::Off(key) => Self::failed(message).fix(switch_on(key)),
            NotHidden::NoSuchQuestion { .. } => {
                Self::nothing_found(message).fix("/compact list shows the questions with their numbers")
            }
            NotHidden::NoSuchSpan { .. } | NotHidden::NothingHidden(_) | NotHidden::NothingToFold => {
                Self::nothing_found(message)
            }
            NotHidden::StillOpen(_) | NotHidden::Summary { .. } => Self::failed(message),
            NotHidden::NoRoom { .. } => {
                Self::failed(message).fix("take something else out first, or choose a larger window with /model")
            }
        }
    }
}

/// How a switch that is off is switched on.
pub(crate) fn switch_on(key: &str) -> String {
    format!(
        "start with --set {key}=true, or put `{key} = true` into your settings file; it counts from the next session on"
    )
}

impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Self {
        let message = error.to_string();
        match error {
            ModelError::Unreachable(_) => Self::new(Exit::Unreachable, message)
                .fix("what was said is saved; when the service is there again, `scrubjay -c` goes on"),
            ModelError::Busy { .. } => Self::new(Exit::Unreachable, message)
                .fix("what was said is saved; try again later, `scrubjay -c` goes on"),
            ModelError::Unauthorised(_) => {
                Self::failed(message).fix("a key can also lie in a file of its own; `scrubjay doctor` says where")
            }
            ModelError::UnknownModel(_) => {
                Self::failed(message).fix("choose another with --model, or with /model in a chat")
            }
            ModelError::Cut { .. } => Self::failed(message).fix("what arrived is saved; ask again to go on"),
            ModelError::OutOfBudget(_) => Self::new(Exit::Refused, message),
            _ => Self::failed(message),
        }
    }
}

impl From<TranscriptError> for Failure {
    fn from(error: TranscriptError) -> Self {
        let message = error.to_string();
        match error {
            TranscriptError::Unsaved { .. } => {
                Self::failed(message).fix("make room on the disk, then ask again; what was saved before is unharmed")
            }
            TranscriptError::InUse { .. } => Self::failed(message).fix("add --fork-session to go on in a copy"),
            _ => Self::failed(message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_can_rely_on_the_numbers() {
        let codes = [Exit::Fine, Exit::Failed, Exit::Usage, Exit::NothingFound, Exit::Refused, Exit::Unreachable];
        assert_eq!(codes.map(Exit::code), [0, 1, 2, 3, 4, 5]);
        assert_eq!(Failure::from(ModelError::Unreachable("x".into())).exit, Exit::Unreachable);
        assert_eq!(Failure::from(ModelError::Unauthorised("x".into())).exit, Exit::Failed);
    }

    #[test]
    fn a_compaction_that_did_not_happen_says_why_with_its_number() {
        for (reason, exit) in [
            (NotCompacted::Nothing, Exit::NothingFound),
            (NotCompacted::NotSmaller { before: 2, after: 2 }, Exit::NothingFound),
            (NotCompacted::Empty, Exit::Failed),
            (NotCompacted::OpenRound, Exit::Failed),
            (NotCompacted::Model(ModelError::Unreachable("x".into())), Exit::Unreachable),
            (NotCompacted::Interrupted, Exit::Interrupted),
        ] {
            let words = reason.to_string();
            let failure = Failure::from(scrubjay::Error::NotCompacted(reason));
            assert_eq!((failure.exit, failure.message), (exit, words));
        }
    }

    #[test]
    fn a_failure_in_json_says_what_to_do() {
        let json: serde_json::Value = serde_json::from_str(&Failure::usage("no").fix("do").to_json()).unwrap();
        assert_eq!((&json["fix"], &json["exit_code"], &json["error"]), (&"do".into(), &2.into(), &"no".into()));
    }
}
