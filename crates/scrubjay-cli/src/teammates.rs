//! Teammates: sessions in processes of their own, started by a chat. Each gets a secret, over its standard input, by
//! which it knows orders of whoever started it.

use crate::arguments::TeammateFlags;
use crate::failure::Failure;
use crate::seat::Seat;
use scrubjay::agents::letters::trust::Standing;
use scrubjay::agents::letters::{Token, is_name};
use scrubjay::agents::staff::{Mail, Recruit};
use scrubjay::event::Events;
use scrubjay::paths::create_dir_private;
use scrubjay::tool::Task;
use serde::{Deserialize, Serialize};
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::Stdio;
use std::sync::PoisonError;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, Command};

/// Longest that a teammate takes to begin.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a teammate is told by whoever starts it.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Brief {
    /// What it is called.
    pub(crate) name: String,
    /// What it is to do first.
    pub(crate) task: Option<String>,
    /// Who started it.
    pub(crate) leader: Option<String>,
    /// The secret between the two.
    pub(crate) token: Option<String>,
}

impl Brief {
    /// From the command line, or from standard input where an agent started it.
    pub(crate) fn of(flags: &TeammateFlags) -> Result<Self, Failure> {
        const MOST: u64 = 16 << 20;
        if !is_name(&flags.name) {
            return Err(Failure::usage(format!("`{}` cannot be a name", scrubjay::tools::shown(&flags.name)))
                .fix("use letters, digits, `-` and `_`"));
        }
        if !flags.briefed {
            let task = Some(flags.task.join(" ")).filter(|task| !task.trim().is_empty());
            return Ok(Self { name: flags.name.clone(), task, leader: None, token: None });
        }
        let mut text = String::new();
        let read = std::io::stdin().lock().take(MOST).read_to_string(&mut text);
        let brief = read.map_err(|error| error.to_string());
        let brief = brief.and_then(|_| serde_json::from_str::<Self>(&text).map_err(|error| error.to_string()));
        let brief = brief.map_err(|error| Failure::usage(format!("the brief cannot be read: {error}")))?;
        if brief.name == flags.name { Ok(brief) } else { Err(Failure::usage("the brief is for somebody else")) }
    }
}

/// Starts teammates for a session that others know by this mail.
pub(crate) fn recruiter(seat: &Seat, mail: &Mail, events: &Events) -> Recruit {
    let (seat, mail, events) = (seat.clone(), mail.clone(), events.clone());
    std::sync::Arc::new(move |task| {
        let (seat, mail, events) = (seat.clone(), mail.clone(), events.clone());
        Box::pin(async move { start(&seat, &mail, events, task).await })
    })
}

async fn start(seat: &Seat, mail: &Mail, events: Events, task: Task) -> Result<String, String> {
    let name = task.name.clone().unwrap_or_default();
    let secret = format!("{}{}", crate::identifier::fresh().simple(), crate::identifier::fresh().simple());
    // Before it begins, so that its first word finds an open ear.
    let share = |secret: &str| {
        let mut trust = mail.trust.lock().unwrap_or_else(PoisonError::into_inner);
        trust.share(&name, Standing::Teammate, Token::new(secret));
    };
    share(&secret);
    let brief =
        Brief { name: name.clone(), task: Some(task.prompt), leader: Some(mail.name.clone()), token: Some(secret) };
    let log = seat.workplace.places.state.join("log").join(format!("teammate-{name}.log"));
    let mut child = spawn(seat, &name, &log).map_err(|error| format!("The process cannot be started: {error}."))?;
    match tokio::time::timeout(PATIENCE, instruct(&mut child, &brief)).await {
        Ok(Ok(true)) => {}
        _ => {
            child.start_kill().unwrap_or_default();
            let said = std::fs::read_to_string(&log).unwrap_or_default();
            return Err(format!("The teammate did not begin: {}", scrubjay::tools::shown(said.trim())));
        }
    }
    let mate = name.clone();
    tokio::spawn(async move {
        let ended = child.wait().await;
        if !ended.as_ref().is_ok_and(std::process::ExitStatus::success) {
            events.notice(format!("the teammate {mate} broke off; {} says why", log.display()));
        }
    });
    Ok(name)
}

fn spawn(seat: &Seat, name: &str, log: &Path) -> std::io::Result<Child> {
    if let Some(folder) = log.parent() {
        create_dir_private(folder)?;
    }
    let log = std::fs::OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(log)?;
    Command::new(std::env::current_exe()?)
        .args(["teammate", "--briefed", "--name", name, "--permission-mode", seat.permit.mode().name()])
        .args(&seat.flags)
        .args(seat.named.iter().flat_map(|name| ["--model", name]))
        .current_dir(&seat.workplace.dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(log)
        // Ctrl-C in the terminal is for the chat.
        .process_group(0)
        .spawn()
}

/// Tell it what to do; whether it has begun.
async fn instruct(child: &mut Child, brief: &Brief) -> std::io::Result<bool> {
    let bytes = serde_json::to_vec(brief)?;
    let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else { return Ok(false) };
    stdin.write_all(&bytes).await?;
    drop(stdin);
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line).await?;
    Ok(line == "ready\n")
}
