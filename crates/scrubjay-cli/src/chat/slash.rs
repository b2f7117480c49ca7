//! Slash commands: what a line that begins with `/` means.

use crate::compaction::{Numbers, Order};
use crate::nearest::nearest;

/// A command inside the chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Slash {
    Help,
    Clear,
    Cost,
    Notes,
    Context,
    Resume(Option<String>),
    Model(Option<String>),
    Plan,
    Tasks,
    Compact(Compact),
    Uncompact(Uncompact),
    Quit,
}

/// What `/compact` should do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Compact {
    /// Show the questions with their numbers.
    List,
    /// Show what the last one kept and dropped.
    Report,
    /// Show what would happen.
    Preview(Order),
    /// Do it.
    Now(Order),
}

impl Compact {
    fn read(typed: &str) -> Result<Self, String> {
        let typed = typed.trim();
        match typed.strip_prefix("--preview") {
            Some(rest) if rest.is_empty() || rest.starts_with(char::is_whitespace) => {
                Order::read(rest).map(Compact::Preview)
            }
            _ if typed == "list" => Ok(Compact::List),
            _ if typed == "--report" => Ok(Compact::Report),
            _ => Order::read(typed).map(Compact::Now),
        }
    }
}

/// What `/uncompact` should bring back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Uncompact {
    /// Nothing: show the questions with their numbers.
    List,
    /// Everything.
    All,
    /// Some questions with their answers.
    These(Numbers),
}

impl Uncompact {
    fn read(typed: &str) -> Result<Self, String> {
        match typed {
            "" => Ok(Uncompact::All),
            "list" => Ok(Uncompact::List),
            typed => typed.parse().map(Uncompact::These),
        }
    }
}

/// Every command with what it does, in the order `/help` shows them.
pub(super) const COMMANDS: &[(&str, &str, &str)] = &[
    ("help", "", "this list"),
    ("clear", "", "begin a new session; the old one stays on disk"),
    ("context", "", "what is in the window, and how much room is left"),
    (
        "compact",
        "[focus]",
        "a summary takes the place of what was said; --preview looks first, --report after; from N, up_to N: a part",
    ),
    ("uncompact", "[N-M]", "take the last compaction back, or give those questions back; list shows their numbers"),
    ("notes", "", "the running notes of this session"),
    ("cost", "", "what this session took"),
    ("resume", "[id]", "go on with another session of this project"),
    ("model", "[name]", "show or change the model"),
    ("plan", "", "plan first: nothing is changed until you approve; again to switch it off"),
    ("tasks", "", "the model's task list"),
    ("quit", "", "leave; Ctrl-D does the same"),
];

impl Slash {
    /// Read a command, or say what might have been meant.
    pub(super) fn read(line: &str) -> Result<Self, String> {
        let mut words = line.trim().trim_start_matches('/').splitn(2, char::is_whitespace);
        let name = words.next().unwrap_or_default();
        let rest = words.next().map(str::trim).filter(|rest| !rest.is_empty()).map(str::to_owned);
        match name {
            "help" | "?" => Ok(Slash::Help),
            "clear" | "new" => Ok(Slash::Clear),
            "cost" => Ok(Slash::Cost),
            "notes" => Ok(Slash::Notes),
            "context" => Ok(Slash::Context),
            "resume" => Ok(Slash::Resume(rest)),
            "model" => Ok(Slash::Model(rest)),
            "plan" => Ok(Slash::Plan),
            "tasks" => Ok(Slash::Tasks),
            "compact" => Compact::read(&rest.unwrap_or_default()).map(Slash::Compact),
            "uncompact" => Uncompact::read(rest.as_deref().unwrap_or_default()).map(Slash::Uncompact),
            "quit" | "exit" => Ok(Slash::Quit),
            unknown => {
                let meant = nearest(unknown, COMMANDS.iter().map(|(name, _, _)| *name));
                let meant = meant.map(|name| format!("; did you mean /{name}?")).unwrap_or_default();
                Err(format!("there is no command /{}{meant} /help lists them", scrubjay::tools::shown(unknown)))
            }
        }
    }
}

/// What `/help` says.
pub(super) fn help() -> String {
    let mut text = String::new();
    for (name, argument, meaning) in COMMANDS {
        text.push_str(&format!("  {:<18} {meaning}\n", format!("/{name} {argument}").trim_end()));
    }
    text.push_str("  !command           run a shell command; the model sees it with your next question\n");
    text.push_str("  Alt-Enter, or a line that ends in \\ or opens ```: more lines\n");
    text.push_str("  Ctrl-C             stop the answer; twice: leave");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn focused(kind: fn(Order) -> Compact, focus: &str) -> Slash {
        Slash::Compact(kind(Order { focus: Some(focus.into()), ..Order::default() }))
    }

    // spec: Q7
    #[test]
    fn commands_are_read_and_mistakes_are_named() {
        for (line, slash) in [
            ("/help", Slash::Help),
            ("/model  claude-opus-5 ", Slash::Model(Some("claude-opus-5".into()))),
            ("/model", Slash::Model(None)),
            ("/resume 019a", Slash::Resume(Some("019a".into()))),
            ("/compact", Slash::Compact(Compact::Now(Order::default()))),
            ("/compact list", Slash::Compact(Compact::List)),
            ("/compact list the open ends", focused(Compact::Now, "list the open ends")),
            ("/compact --preview", Slash::Compact(Compact::Preview(Order::default()))),
            ("/compact --preview the seeds", focused(Compact::Preview, "the seeds")),
            ("/uncompact", Slash::Uncompact(Uncompact::All)),
            ("/uncompact 3-5", Slash::Uncompact(Uncompact::These(Numbers { first: 3, last: 5 }))),
            ("/compact --report", Slash::Compact(Compact::Report)),
            ("/exit", Slash::Quit),
        ] {
            assert_eq!(Slash::read(line), Ok(slash), "{line}");
        }
        assert!(Slash::read("/compact --previews").unwrap_err().contains("--preview"));
        assert!(Slash::read("/compact from now").unwrap_err().contains("/compact list"));
        assert!(Slash::read("/hlep").unwrap_err().contains("did you mean /help?"));
        assert!(!Slash::read("/\u{1b}[31m").unwrap_err().contains('\u{1b}'));
        for (name, _, _) in COMMANDS {
            assert!(Slash::read(&format!("/{name}")).is_ok(), "{name} is listed and must exist");
        }
    }
}
