//! A terminal of our own: what is typed goes in as keys, what is shown is read off the screen.

use crate::stage::{PATIENCE, Stage, program};
use portable_pty::{Child, CommandBuilder, ExitStatus, MasterPty, PtySize, native_pty_system};
use std::io::{Read as _, Write};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

const SIZE: PtySize = PtySize { rows: 50, cols: 120, pixel_width: 0, pixel_height: 0 };

/// A chat in a terminal.
pub(crate) struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    keys: Box<dyn Write + Send>,
    seen: Arc<(Mutex<vt100::Parser>, Condvar)>,
    _master: Box<dyn MasterPty + Send>,
}

impl Terminal {
    /// Start the program in a terminal.
    pub(crate) fn start(stage: &Stage, arguments: &[&str]) -> Self {
        Self::start_with(stage, arguments, &[])
    }

    /// The same with more in its environment.
    pub(crate) fn start_with(stage: &Stage, arguments: &[&str], more: &[(&str, &str)]) -> Self {
        let pair = native_pty_system().openpty(SIZE).unwrap();
        let mut command = CommandBuilder::new(program());
        command.args(arguments);
        command.env_clear();
        for (name, value) in stage.environment() {
            command.env(name, value);
        }
        for (name, value) in more {
            command.env(name, value);
        }
        command.cwd(stage.project());
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let keys = pair.master.take_writer().unwrap();
        let mut output = pair.master.try_clone_reader().unwrap();
        let seen = Arc::new((Mutex::new(vt100::Parser::new(SIZE.rows, SIZE.cols, 1_000)), Condvar::new()));
        let shown = seen.clone();
        std::thread::spawn(move || {
            let mut piece = [0; 4_096];
            while let Ok(read) = output.read(&mut piece) {
                if read == 0 {
                    break;
                }
                shown.0.lock().unwrap().process(&piece[..read]);
                shown.1.notify_all();
            }
        });
        Self { child, keys, seen, _master: pair.master }
    }

    /// Press keys.
    pub(crate) fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// Type a line.
    pub(crate) fn type_line(&mut self, line: &str) {
        self.press(&format!("{line}\r"));
    }

    /// Wait until the screen shows this.
    #[track_caller]
    pub(crate) fn wait_for(&self, words: &str) -> String {
        self.wait_until(words, |screen| screen.contains(words))
    }

    /// Wait until the prompt stands on the last line, empty.
    #[track_caller]
    pub(crate) fn wait_for_prompt(&self) -> String {
        self.wait_until("an empty prompt", |screen| screen.trim_end().ends_with('›'))
    }

    #[track_caller]
    fn wait_until(&self, what: &str, done: impl Fn(&str) -> bool) -> String {
        let begun = Instant::now();
        let mut parser = self.seen.0.lock().unwrap();
        loop {
            let screen = parser.screen().contents();
            if done(&screen) {
                return screen;
            }
            assert!(begun.elapsed() < PATIENCE, "waited for {what}:\n{screen}");
            parser = self.seen.1.wait_timeout(parser, Duration::from_secs(1)).unwrap().0;
        }
    }

    /// Wait until the program has left.
    pub(crate) fn wait_for_end(&mut self) -> ExitStatus {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(begun.elapsed() < PATIENCE, "the program does not leave");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.child.kill().unwrap_or_default();
    }
}
