//! One hook as a process: fed without waiting for it to read, read within bounds, ended with its whole group.

use super::config::Hook;
use crate::limits::Limits;
use crate::withheld::Withheld;
use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop, ProcessGroup};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStdin, Command};

/// How a hook ended.
#[derive(Debug)]
pub(super) enum Ran {
    /// With this code; `None` if a signal ended it.
    Exited { code: Option<i32>, stdout: Captured, stderr: Captured },
    /// It was still running when its time was up, and was ended.
    TimedOut,
    /// It could not be started or watched.
    Failed(String),
}

/// The beginning of a stream, and how long the whole was.
#[derive(Debug, Default)]
pub(super) struct Captured {
    bytes: Vec<u8>,
    total: usize,
}

impl Captured {
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).trim().to_owned()
    }

    pub(super) fn is_cut(&self) -> bool {
        self.total > self.bytes.len()
    }
}

/// `given`: what it reads, and what its environment must not hold.
pub(super) async fn run(hook: &Hook, given: (&[u8], &Withheld), dir: &Path, limits: &Limits) -> Ran {
    let (told, withheld) = given;
    let mut running = match start(hook, dir, withheld) {
        Ok(child) => Running { child, ended: false },
        Err(error) => return Ran::Failed(format!("cannot be started ({error})")),
    };
    match tokio::time::timeout(hook.timeout, running.finish(told, limits)).await {
        Ok(ran) => ran,
        Err(_) => {
            running.end(Duration::from_millis(limits.hook_grace_ms)).await;
            Ran::TimedOut
        }
    }
}

fn start(hook: &Hook, dir: &Path, withheld: &Withheld) -> std::io::Result<Box<dyn ChildWrapper>> {
    let mut command = match &hook.args {
        Some(args) => {
            let mut command = Command::new(&hook.command);
            command.args(args);
            command
        }
        None => shell(&hook.command),
    };
    withheld.keep_from(&mut command);
    command.current_dir(dir).env("SCRUBJAY_PROJECT_DIR", dir).env("CLAUDE_PROJECT_DIR", dir);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut wrapped = CommandWrap::from(command);
    wrapped.wrap(KillOnDrop).wrap(ProcessGroup::leader());
    wrapped.spawn()
}

fn shell(line: &str) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(line);
    command
}

/// A hook that runs. Dropped before its end, its whole group is ended.
struct Running {
    child: Box<dyn ChildWrapper>,
    ended: bool,
}

impl Running {
    async fn finish(&mut self, told: &[u8], limits: &Limits) -> Ran {
        let most = usize::try_from(limits.hook_output_bytes).unwrap_or(usize::MAX);
        let (mut stdout, mut stderr) = (Captured::default(), Captured::default());
        let (input, out, err) = (self.child.stdin().take(), self.child.stdout().take(), self.child.stderr().take());
        let status = {
            let streams = async {
                tokio::join!(feed(input, told), drain(out, most, &mut stdout), drain(err, most, &mut stderr));
            };
            let exit = self.child.wait();
            tokio::pin!(streams, exit);
            let mut open = true;
            let status = loop {
                tokio::select! {
                    status = &mut exit => break status,
                    () = &mut streams, if open => open = false,
                }
            };
            // Its last words are in the pipe by now; a child it left behind may keep the pipe open for ever.
            if open {
                tokio::time::timeout(Duration::from_millis(limits.hook_grace_ms), &mut streams).await.ok();
            }
            status
        };
        self.ended = true;
        match status {
            Ok(status) => Ran::Exited { code: status.code(), stdout, stderr },
            Err(error) => Ran::Failed(format!("cannot be watched ({error})")),
        }
    }

    async fn end(&mut self, grace: Duration) {
        if self.child.start_kill().is_ok() {
            self.ended = tokio::time::timeout(grace, self.child.wait()).await.is_ok();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.ended && self.child.start_kill().is_err() {
            // Nobody is left to be ended.
            self.ended = true;
        }
    }
}

/// A hook need not read what it is told: a closed pipe is no error.
async fn feed(input: Option<ChildStdin>, told: &[u8]) {
    if let Some(mut input) = input
        && input.write_all(told).await.is_ok()
    {
        input.shutdown().await.ok();
    }
}

/// Read to the end and keep the beginning, so that a hook which says too much is not stuck on a full pipe.
async fn drain(stream: Option<impl AsyncRead + Unpin>, most: usize, captured: &mut Captured) {
    let Some(mut stream) = stream else { return };
    let mut piece = [0; 8 * 1024];
    while let Ok(length @ 1..) = stream.read(&mut piece).await {
        let room = most.saturating_sub(captured.bytes.len()).min(length);
        captured.bytes.extend_from_slice(&piece[..room]);
        captured.total += length;
    }
}
