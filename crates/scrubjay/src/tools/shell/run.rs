//! One process group: started, drained, and stopped as a whole.

use super::output::HeadAndTail;
use super::sandbox::Place;
use crate::limits::Limits;
use crate::withheld::Withheld;
use process_wrap::tokio::{ChildWrapper, CommandWrap, ProcessGroup};
use std::ffi::{OsStr, OsString};
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
use tokio::runtime::Handle;
use tokio::sync::oneshot;

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

/// A command line, where it starts, and what it is confined to.
pub(super) struct Line<'a> {
    pub(super) command: &'a str,
    pub(super) dir: &'a Path,
    pub(super) place: Option<Place>,
    /// What its environment must not hold.
    pub(super) withheld: &'a Withheld,
    /// Nobody was asked, because it only reads: then nothing in the environment may make more of it.
    pub(super) reads_only: bool,
}

/// A shell reads code from the first two, and the others change what plain commands do.
const STEERING_SHELLS: &[&str] = &["BASH_ENV", "ENV", "CDPATH", "GREP_OPTIONS", "POSIXLY_CORRECT", "GLOBIGNORE"];

/// By these, programs that only read start others, load code, write files or look elsewhere. A command that the user
/// approved may need them.
const STEERING_READERS: &[&str] = &[
    "BASHOPTS",
    "BASH_XTRACEFD",
    "DYLD_INSERT_LIBRARIES",
    "GCONV_PATH",
    "GIT_ASKPASS",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_SYSTEM",
    "GIT_DIR",
    "GIT_EDITOR",
    "GIT_EXEC_PATH",
    "GIT_EXTERNAL_DIFF",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PROXY_COMMAND",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_TEST_FSMONITOR",
    "GIT_TRACE",
    "GIT_TRACE2",
    "GIT_TRACE2_EVENT",
    "GIT_TRACE2_PERF",
    "GIT_TRACE_SETUP",
    "GIT_WORK_TREE",
    "IFS",
    "JQ_LIBRARY_PATH",
    "LD_AUDIT",
    "LD_PRELOAD",
    "LESSCLOSE",
    "LESSOPEN",
    "LS_OPTIONS",
    "MAGIC",
    "MANPAGER",
    "NODE_OPTIONS",
    "PERL5DB",
    "PERL5LIB",
    "PERL5OPT",
    "PROMPT_COMMAND",
    "PS4",
    "PYTHONHOME",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "RIPGREP_CONFIG_PATH",
    "RUBYOPT",
    "SHELLOPTS",
    "SSH_ASKPASS",
    "TIME_STYLE",
    "_POSIX2_VERSION",
];

/// Run a command line. Standard output and error are one pipe, so that their order is the order of writing.
pub(super) async fn run(line: Line<'_>, limit: Duration, limits: &Limits) -> io::Result<Run> {
    let (reader, writer) = io::pipe()?;
    let shell = line.place.as_ref().and_then(|place| place.policy.shell.clone());
    let mut group = match shell {
        Some(shell) => start(shell.as_os_str(), &line, &writer).await?,
        None => match start("bash".as_ref(), &line, &writer).await {
            Err(error) if error.kind() == io::ErrorKind::NotFound && line.dir.is_dir() => {
                start("sh".as_ref(), &line, &writer).await?
            }
            started => started?,
        },
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

/// Start a line. A thread of its own goes into the sandbox and starts it there: what a thread gives up, what it starts
/// does not have, and all the other threads keep theirs.
async fn start(shell: &OsStr, line: &Line<'_>, writer: &io::PipeWriter) -> io::Result<Group> {
    let mut wrap = prepared(shell, line, writer)?;
    let Some(place) = &line.place else { return wrap.spawn().map(|child| Group(Some(child))) };
    let (sandbox, policy, runtime) = (place.sandbox.clone(), place.policy.clone(), Handle::current());
    let (sender, receiver) = oneshot::channel();
    std::thread::Builder::new().name("sandbox".to_owned()).spawn(move || {
        let _entered = runtime.enter();
        let started = sandbox.enter(&policy).and_then(|()| wrap.spawn()).map(|child| Group(Some(child)));
        // Where nobody waits any more, the group is let go and thereby stopped.
        drop(sender.send(started));
    })?;
    receiver.await.unwrap_or_else(|_| Err(io::Error::other("the thread that starts it failed")))
}

fn prepared(shell: &OsStr, line: &Line<'_>, writer: &io::PipeWriter) -> io::Result<CommandWrap> {
    // `-p`: functions and options are not taken from the environment, so that `ls` is the program of that name.
    let is_bash = Path::new(shell).file_name().is_some_and(|name| name == "bash");
    let options: &[&str] = if is_bash { &["-p", "-c"] } else { &["-c"] };
    let mut words: Vec<OsString> =
        line.place.iter().flat_map(|place| place.sandbox.launcher(&place.policy)).chain([shell.to_owned()]).collect();
    let program = words.remove(0);
    let mut wrap = CommandWrap::from(Command::new(program));
    let process = wrap.command_mut();
    process.args(words).args(options).arg(line.command).current_dir(line.dir).stdin(Stdio::null());
    process.stdout(OwnedFd::from(writer.try_clone()?)).stderr(OwnedFd::from(writer.try_clone()?));
    for (name, value) in
        [("NO_COLOR", "1"), ("PAGER", "cat"), ("GIT_PAGER", "cat"), ("TERM", "dumb"), ("GIT_TERMINAL_PROMPT", "0")]
    {
        process.env(name, value);
    }
    let readers = if line.reads_only { STEERING_READERS } else { &[] };
    for name in STEERING_SHELLS.iter().chain(readers) {
        process.env_remove(name);
    }
    if let Some(place) = &line.place {
        process.envs(place.policy.env.iter().map(|(name, value)| (name, value)));
    }
    line.withheld.keep_from(process);
    wrap.wrap(ProcessGroup::leader());
    Ok(wrap)
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
