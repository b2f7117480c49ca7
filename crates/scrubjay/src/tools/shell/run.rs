//! One process group: started, drained, and stopped as a whole.

use super::output::HeadAndTail;
use crate::limits::Limits;
use process_wrap::tokio::{ChildWrapper, CommandWrap, ProcessGroup};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::process::Command;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Exited(i32),
    Signalled(i32),
    TimedOut(Duration),
}

/// What came of a command.
pub(super) struct Run {
    pub(super) output: String,
    pub(super) ending: Ending,
    /// Whether it left processes behind, which were stopped.
    pub(super) left_children: bool,
}

/// A running group that is stopped whenever it is let go: at the time limit, on interruption, on every early return.
struct Group(Option<Box<dyn ChildWrapper>>);

impl Group {
    /// Wait for the command itself; its children may go on.
    async fn ended(&mut self) -> io::Result<ExitStatus> {
        match &mut self.0 {
            Some(child) => child.inner_mut().wait().await,
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// Stop every process of the group, once: afterwards its number may belong to somebody else. Says whether there
    /// was one.
    fn stop(&mut self) -> Option<Box<dyn ChildWrapper>> {
        self.0.take().and_then(|mut child| child.start_kill().is_ok().then_some(child))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Run a command line. Standard output and error are one pipe, so that their order is the order of writing.
pub(super) async fn run(command: &str, dir: &Path, limit: Duration, limits: &Limits) -> io::Result<Run> {
    let (reader, writer) = io::pipe()?;
    let mut group = match start("bash", command, dir, &writer) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && dir.is_dir() => start("sh", command, dir, &writer)?,
        started => started?,
    };
    drop(writer);
    let mut pipe = Receiver::from_owned_fd(OwnedFd::from(reader))?;
    let mut kept = HeadAndTail::keeping(limits.shell_output_bytes);
    let waited = tokio::time::timeout(limit, finish(&mut group, &mut pipe, &mut kept)).await;
    let ending = match waited {
        Ok(status) => ending(status?),
        Err(_) => Ending::TimedOut(limit),
    };
    let stopped = group.stop();
    let left_children = stopped.is_some() && !matches!(ending, Ending::TimedOut(_));
    settle(stopped, &mut pipe, &mut kept, Duration::from_millis(limits.shell_linger_ms)).await?;
    Ok(Run { output: kept.text(), ending, left_children })
}

/// Read what was already written and let a stopped command be buried. Neither may take for ever: a process that left
/// the group can hold the pipe open as long as it likes.
async fn settle(
    stopped: Option<Box<dyn ChildWrapper>>,
    pipe: &mut Receiver,
    kept: &mut HeadAndTail,
    linger: Duration,
) -> io::Result<()> {
    let buried = async {
        match stopped {
            Some(mut child) => child.inner_mut().wait().await.map(drop),
            None => Ok(()),
        }
    };
    let both = futures::future::try_join(drain(pipe, kept), buried);
    tokio::time::timeout(linger, both).await.map_or(Ok(()), |settled| settled.map(drop))
}

fn start(shell: &str, command: &str, dir: &Path, writer: &io::PipeWriter) -> io::Result<Group> {
    // `-p`: functions and options are not taken from the environment, so that `ls` is the program of that name.
    let options: &[&str] = if shell == "bash" { &["-p", "-c"] } else { &["-c"] };
    let mut wrap = CommandWrap::from(Command::new(shell));
    let process = wrap.command_mut();
    process.args(options).arg(command).current_dir(dir).stdin(Stdio::null());
    process.stdout(OwnedFd::from(writer.try_clone()?)).stderr(OwnedFd::from(writer.try_clone()?));
    for (name, value) in
        [("NO_COLOR", "1"), ("PAGER", "cat"), ("GIT_PAGER", "cat"), ("TERM", "dumb"), ("GIT_TERMINAL_PROMPT", "0")]
    {
        process.env(name, value);
    }
    // A shell reads code from the first two, and the others change what plain commands do.
    for name in ["BASH_ENV", "ENV", "CDPATH", "GREP_OPTIONS", "POSIXLY_CORRECT", "GLOBIGNORE"] {
        process.env_remove(name);
    }
    wrap.wrap(ProcessGroup::leader());
    wrap.spawn().map(|child| Group(Some(child)))
}

/// Read while it runs, until the command itself has ended. Its children may still hold the pipe.
async fn finish(group: &mut Group, pipe: &mut Receiver, kept: &mut HeadAndTail) -> io::Result<ExitStatus> {
    let mut ended = pin!(group.ended());
    tokio::select! {
        biased;
        status = &mut ended => return status,
        drained = drain(pipe, kept) => drained?,
    }
    ended.await
}

async fn drain(pipe: &mut Receiver, kept: &mut HeadAndTail) -> io::Result<()> {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match pipe.read(&mut buffer).await? {
            0 => return Ok(()),
            count => kept.push(&buffer[..count]),
        }
    }
}

fn ending(status: ExitStatus) -> Ending {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ending::Exited(code),
        (None, signal) => Ending::Signalled(signal.unwrap_or_default()),
    }
}
