//! Slash commands: what a line that begins with `/` means.

use crate::compaction::{Numbers, Order};
use crate::memories::dreams::Wish;
use crate::memories::inbox;
use crate::nearest::nearest;
use scrubjay::agents::definition::Author;

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
    Tasks(Tasks),
    Agents(Agents),
    Compact(Compact),
    Uncompact(Uncompact),
    Fold(Fold),
    Snip(Snip),
    /// List the memories, or show one.
    Memory(Option<String>),
    Remember(Option<String>),
    Forget(Option<String>),
    Recall(Option<String>),
    /// Take a change of the memory back: the last one, or this one.
    Undo(Option<u64>),
    /// Put the memory in order.
    Dream(Wish),
    /// What waits for the person.
    Inbox(inbox::Wish),
    Jobs(Jobs),
    Quit,
}

/// What `/jobs` should do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Jobs {
    /// Show what runs, what ran lately and what rests.
    List,
    /// Stop this one.
    Stop(String),
}

impl Jobs {
    fn read(typed: &str) -> Result<Self, String> {
        match typed.split_whitespace().collect::<Vec<_>>().as_slice() {
            [] | ["list"] => Ok(Jobs::List),
            ["stop" | "kill", id] => Ok(Jobs::Stop((*id).to_owned())),
            _ => Err("/jobs lists background work, /jobs stop ID stops one".to_owned()),
        }
    }
}

/// What `/tasks` should do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Tasks {
    /// Show the task list and the agents.
    List,
    /// Follow what this agent does.
    Attach(String),
    /// Stop this agent.
    Stop(String),
    /// Write this to an agent.
    Message { name: String, text: String },
}

impl Tasks {
    fn read(typed: &str) -> Result<Self, String> {
        match typed.split_whitespace().collect::<Vec<_>>().as_slice() {
            [] | ["list"] => Ok(Tasks::List),
            ["message" | "send", name, first, ..] => {
                // The words as they were typed, from the first one on.
                let after = typed.find(name).map_or(0, |at| at + name.len());
                let text = typed[after..].find(first).map_or("", |at| typed[after + at..].trim_end());
                Ok(Tasks::Message { name: (*name).to_owned(), text: text.to_owned() })
            }
            ["attach" | "follow", name] => Ok(Tasks::Attach((*name).to_owned())),
            ["stop" | "kill", name] => Ok(Tasks::Stop((*name).to_owned())),
            _ => Err("/tasks lists tasks and agents, /tasks attach NAME follows an agent, /tasks message NAME TEXT writes to \
                      it, /tasks stop NAME stops it"
                .to_owned()),
        }
    }
}

/// What `/agents` should do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Agents {
    /// Show every kind.
    List,
    /// Show one.
    Show(String),
    /// Define a new one.
    Create { name: String, author: Author },
    /// Change one.
    Edit(String),
}

impl Agents {
    fn read(typed: &str) -> Result<Self, String> {
        match typed.split_whitespace().collect::<Vec<_>>().as_slice() {
            [] | ["list" | "ls"] => Ok(Agents::List),
            ["show", name] => Ok(Agents::Show((*name).to_owned())),
            ["create", name] => Ok(Agents::Create { name: (*name).to_owned(), author: Author::Person }),
            ["create", name, "--project"] | ["create", "--project", name] => {
                Ok(Agents::Create { name: (*name).to_owned(), author: Author::Project })
            }
            ["edit", name] => Ok(Agents::Edit((*name).to_owned())),
            _ => {
                Err("/agents lists kinds of agents, /agents show NAME shows one, /agents create NAME [--project] and \
                      /agents edit NAME open your editor"
                    .to_owned())
            }
        }
    }
}

/// What `/fold` should do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fold {
    /// Show what is folded.
    List,
    /// Fold old rounds up to the end of this question.
    UpTo(u64),
    /// Open this fold.
    Open(u64),
}

impl Fold {
    fn read(typed: &str) -> Result<Self, String> {
        let words: Vec<&str> = typed.split_whitespace().collect();
        let read = match words.as_slice() {
            [] | ["list"] => Some(Fold::List),
            ["open", number] => number.parse().ok().map(Fold::Open),
            [number] => number.parse().ok().map(Fold::UpTo),
            _ => None,
        };
        read.ok_or_else(|| {
            "/fold lists folds, /fold N folds old rounds up to question N, /fold open N opens fold N".to_owned()
        })
    }
}

/// What `/snip` should do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Snip {
    /// Show what was taken out, and the questions with their numbers.
    List,
    /// Take these questions out.
    Out { questions: Numbers, reason: Option<String> },
    /// Bring one back; the last one without a number.
    Undo(Option<u64>),
}

impl Snip {
    fn read(typed: &str) -> Result<Self, String> {
        let (first, rest) = typed.trim().split_once(char::is_whitespace).unwrap_or((typed.trim(), ""));
        let reason = Some(rest.trim().to_owned()).filter(|reason| !reason.is_empty());
        let read = match (first, &reason) {
            ("" | "list", None) => Some(Snip::List),
            ("undo", None) => Some(Snip::Undo(None)),
            ("undo", Some(number)) => number.parse().ok().map(|number| Snip::Undo(Some(number))),
            _ => first.parse().ok().map(|questions| Snip::Out { questions, reason }),
        };
        read.ok_or_else(|| {
            "/snip 2-4 takes questions 2 to 4 out (add a reason if you like), /snip undo N brings a snip back; \
             /snip alone shows the numbers"
                .to_owned()
        })
    }
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
    (
        "fold",
        "[N | open ID]",
        "fold old rounds up to question N into one line each; alone: list; open ID: as they were",
    ),
    ("snip", "[N-M | undo [ID]]", "take questions N to M out of the conversation; alone: list; undo: bring them back"),
    (
        "memory",
        "[show NAME | inbox]",
        "what is remembered across sessions, or one of it; inbox: what waits for you (keep N, drop N)",
    ),
    (
        "remember",
        "TEXT | --file FILE",
        "remember this, or a file's text, in later sessions; a line that begins with # does the same",
    ),
    ("recall", "QUERY", "find something that was remembered"),
    ("forget", "NAME|--source S", "put a memory, or all that rest on a source, into the trash"),
    ("dream", "[apply|diff|reject]", "put the memory in order: propose; apply does it, diff shows it line by line"),
    ("undo", "[N]", "take back the last change of the memory, or change N"),
    ("notes", "", "the running notes of this session"),
    ("cost", "", "what this session took"),
    ("resume", "[id]", "go on with another session of this project"),
    ("model", "[name]", "show or change the model"),
    ("plan", "", "plan first: nothing is changed until you approve; again to switch it off"),
    (
        "tasks",
        "[attach|stop NAME | message NAME TEXT]",
        "the model's task list, and the agents: what each does and took; follow or stop one",
    ),
    ("agents", "[show|create|edit NAME]", "kinds of agents and where they come from; create and edit open your editor"),
    ("jobs", "[stop ID]", "background work: what runs, what it took, what rests; stop ID stops one"),
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
            "tasks" => Tasks::read(rest.as_deref().unwrap_or_default()).map(Slash::Tasks),
            "agents" => Agents::read(rest.as_deref().unwrap_or_default()).map(Slash::Agents),
            "compact" => Compact::read(&rest.unwrap_or_default()).map(Slash::Compact),
            "uncompact" => Uncompact::read(rest.as_deref().unwrap_or_default()).map(Slash::Uncompact),
            "fold" => Fold::read(&rest.unwrap_or_default()).map(Slash::Fold),
            "snip" => Snip::read(&rest.unwrap_or_default()).map(Slash::Snip),
            "memory" => memory(rest),
            "remember" => Ok(Slash::Remember(rest)),
            "forget" => Ok(Slash::Forget(rest)),
            "recall" => Ok(Slash::Recall(rest)),
            "undo" => match rest.map(|number| number.parse()).transpose() {
                Ok(change) => Ok(Slash::Undo(change)),
                Err(_) => Err("/undo takes the number of a change; `scrubjay memory log` lists them".to_owned()),
            },
            "dream" => Wish::read(rest.as_deref().unwrap_or_default()).map(Slash::Dream),
            "jobs" => Jobs::read(rest.as_deref().unwrap_or_default()).map(Slash::Jobs),
            "quit" | "exit" => Ok(Slash::Quit),
            unknown => {
                let meant = nearest(unknown, COMMANDS.iter().map(|(name, _, _)| *name));
                let meant = meant.map(|name| format!("; did you mean /{name}?")).unwrap_or_default();
                Err(format!("there is no command /{}{meant} /help lists them", scrubjay::tools::shown(unknown)))
            }
        }
    }
}

/// `/memory`, `/memory ls`, `/memory show NAME`, `/memory inbox …`.
fn memory(rest: Option<String>) -> Result<Slash, String> {
    let rest = rest.unwrap_or_default();
    match rest.split_once(char::is_whitespace) {
        Some(("show", name)) => Ok(Slash::Memory(Some(name.trim().to_owned()))),
        Some(("inbox", wish)) => inbox::Wish::read(wish).map(Slash::Inbox),
        None if rest == "inbox" => Ok(Slash::Inbox(inbox::Wish::List)),
        None if rest.is_empty() || rest == "ls" => Ok(Slash::Memory(None)),
        _ => Err("/memory lists what is remembered, /memory show NAME shows one, /memory inbox what waits for you"
            .to_owned()),
    }
}

/// What `/help` says.
pub(super) fn help() -> String {
    let mut text = String::new();
    for (name, argument, meaning) in COMMANDS {
        text.push_str(&format!("  {:<18} {meaning}\n", format!("/{name} {argument}").trim_end()));
    }
    text.push_str("  !command           run a shell command; the model sees it with your next question\n");
    text.push_str("  # text             the same as /remember\n");
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
    fn jobs_are_listed_and_stopped_by_id() {
        assert_eq!(Slash::read("/jobs"), Ok(Slash::Jobs(Jobs::List)));
        assert_eq!(Slash::read("/jobs stop 3f2a"), Ok(Slash::Jobs(Jobs::Stop("3f2a".into()))));
        for wrong in ["/jobs stop", "/jobs 3f2a", "/jobs stop a b"] {
            assert!(Slash::read(wrong).unwrap_err().contains("/jobs stop ID"), "{wrong}");
        }
    }

    // spec: Q7
    #[test]
    fn agents_are_followed_stopped_and_defined_by_name() {
        for (line, slash) in [
            ("/tasks", Slash::Tasks(Tasks::List)),
            ("/tasks attach finder-1", Slash::Tasks(Tasks::Attach("finder-1".into()))),
            ("/tasks  stop finder-1 ", Slash::Tasks(Tasks::Stop("finder-1".into()))),
            (
                "/tasks message finder-1 look in  src, too",
                Slash::Tasks(Tasks::Message { name: "finder-1".into(), text: "look in  src, too".into() }),
            ),
            ("/agents", Slash::Agents(Agents::List)),
            ("/agents show explore", Slash::Agents(Agents::Show("explore".into()))),
            ("/agents edit jay", Slash::Agents(Agents::Edit("jay".into()))),
            ("/agents create jay", Slash::Agents(Agents::Create { name: "jay".into(), author: Author::Person })),
            (
                "/agents create jay --project",
                Slash::Agents(Agents::Create { name: "jay".into(), author: Author::Project }),
            ),
        ] {
            assert_eq!(Slash::read(line), Ok(slash), "{line}");
        }
        for wrong in ["/tasks stop", "/tasks finder-1", "/tasks stop a b", "/tasks message finder-1"] {
            assert!(Slash::read(wrong).unwrap_err().contains("/tasks stop NAME"), "{wrong}");
        }
        for wrong in ["/agents jay", "/agents create", "/agents create a b"] {
            assert!(Slash::read(wrong).unwrap_err().contains("/agents create NAME"), "{wrong}");
        }
    }

    // spec: Q7
    #[test]
    fn dreams_and_what_waits_are_decided_on_by_name() {
        for (line, slash) in [
            ("/dream", Slash::Dream(Wish::Dream)),
            ("/dream apply", Slash::Dream(Wish::Apply(None))),
            ("/dream --reject 3f2a", Slash::Dream(Wish::Reject(Some("3f2a".into())))),
            ("/memory inbox", Slash::Inbox(inbox::Wish::List)),
            (
                "/memory inbox accept 1 2",
                Slash::Inbox(inbox::Wish::Keep(inbox::Which::These(vec!["1".into(), "2".into()]))),
            ),
            ("/memory inbox drop --all", Slash::Inbox(inbox::Wish::Drop(inbox::Which::All))),
        ] {
            assert_eq!(Slash::read(line), Ok(slash), "{line}");
        }
        assert!(Slash::read("/dream of sheep").unwrap_err().contains("/dream apply"));
        assert!(Slash::read("/memory inbox accept").unwrap_err().contains("keep N"));
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
            ("/fold", Slash::Fold(Fold::List)),
            ("/fold 3", Slash::Fold(Fold::UpTo(3))),
            ("/fold  open 12 ", Slash::Fold(Fold::Open(12))),
            ("/snip", Slash::Snip(Snip::List)),
            ("/snip 2", Slash::Snip(Snip::Out { questions: Numbers { first: 2, last: 2 }, reason: None })),
            (
                "/snip 2-4 a wrong track",
                Slash::Snip(Snip::Out {
                    questions: Numbers { first: 2, last: 4 },
                    reason: Some("a wrong track".into()),
                }),
            ),
            ("/snip undo", Slash::Snip(Snip::Undo(None))),
            ("/snip undo 7", Slash::Snip(Snip::Undo(Some(7)))),
            ("/memory", Slash::Memory(None)),
            ("/memory ls", Slash::Memory(None)),
            ("/memory show user_role", Slash::Memory(Some("user_role".into()))),
            ("/remember  never mock it ", Slash::Remember(Some("never mock it".into()))),
            ("/forget user_role", Slash::Forget(Some("user_role".into()))),
            ("/recall how to test", Slash::Recall(Some("how to test".into()))),
            ("/undo", Slash::Undo(None)),
            ("/undo 12", Slash::Undo(Some(12))),
            ("/exit", Slash::Quit),
        ] {
            assert_eq!(Slash::read(line), Ok(slash), "{line}");
        }
        assert!(Slash::read("/compact --previews").unwrap_err().contains("--preview"));
        assert!(Slash::read("/compact from now").unwrap_err().contains("/compact list"));
        for wrong in ["/fold open", "/fold open x", "/fold -1", "/fold 1 2", "/fold all of it"] {
            assert!(Slash::read(wrong).unwrap_err().contains("/fold open N"), "{wrong}");
        }
        for wrong in
            ["/snip x", "/snip 0", "/snip 2-", "/snip 4-2", "/snip 2-3-4", "/snip undo x", "/snip 99999999999999999999"]
        {
            assert!(Slash::read(wrong).unwrap_err().contains("/snip undo N"), "{wrong}");
        }
        assert!(Slash::read("/undo everything").unwrap_err().contains("number"));
        assert!(Slash::read("/memory user_role").unwrap_err().contains("/memory show"));
        assert!(Slash::read("/hlep").unwrap_err().contains("did you mean /help?"));
        assert!(!Slash::read("/\u{1b}[31m").unwrap_err().contains('\u{1b}'));
        for (name, _, _) in COMMANDS {
            assert!(Slash::read(&format!("/{name}")).is_ok(), "{name} is listed and must exist");
        }
    }
}
