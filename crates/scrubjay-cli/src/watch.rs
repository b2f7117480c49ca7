//! A picture that is drawn again when files change, until the person leaves with `q` or Ctrl-C. Without a terminal it is
//! written once for each change.

use crate::failure::Failure;
use crate::paper::{Form, Paper, unwritten};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::io::{IsTerminal as _, Read as _, Write as _};
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

/// How often files are looked at.
const PAUSE: Duration = Duration::from_millis(250);

/// A picture with a countdown in it is drawn again after this, whatever happened.
const STALE: Duration = Duration::from_secs(20);

/// Draw now and whenever one of the files changes.
pub(crate) async fn run(
    files: &[PathBuf],
    paper: &Paper,
    draw: impl Fn(&Paper) -> Result<String, Failure>,
) -> Result<(), Failure> {
    let on_screen = std::io::stdout().is_terminal() && paper.form == Form::Words;
    let mut screen = if on_screen { Some(Screen::take()?) } else { None };
    let unheard = |error| Failure::failed(format!("Ctrl-C cannot be heard: {error}"));
    let mut interrupted = signal(SignalKind::interrupt()).map_err(unheard)?;
    let mut ended = signal(SignalKind::terminate()).map_err(unheard)?;
    let mut keys = screen.as_ref().and_then(|_| keys());
    let (mut seen, mut drawn) = (None, Instant::now());
    loop {
        let (now, paper) = (stamps(files), paper.again());
        let is_stale = screen.is_some()
            && (drawn.elapsed() >= STALE || screen.as_ref().is_some_and(|screen| screen.width != paper.width));
        if seen.as_ref() != Some(&now) || is_stale {
            let picture = draw(&paper)?;
            match &mut screen {
                Some(screen) => screen.draw(&paper.spelled(&picture), paper.width)?,
                None => paper.line(&picture)?,
            }
            (seen, drawn) = (Some(now), Instant::now());
        }
        tokio::select! {
            () = tokio::time::sleep(PAUSE) => {}
            _ = interrupted.recv() => return Ok(()),
            _ = ended.recv() => return Ok(()),
            key = next(&mut keys) => if matches!(key, b'q' | b'Q' | 4) { return Ok(()) },
        }
    }
}

/// What tells whether a file is still the same.
fn stamps(files: &[PathBuf]) -> Vec<Option<(u64, SystemTime)>> {
    let stamp = |file: &PathBuf| file.metadata().ok().and_then(|meta| Some((meta.len(), meta.modified().ok()?)));
    files.iter().map(stamp).collect()
}

/// Keys as they are pressed. Reading blocks, so a thread of its own does it; nobody waits for its end.
fn keys() -> Option<mpsc::Receiver<u8>> {
    let (pressed, keys) = mpsc::channel(8);
    let read = move || {
        for key in std::io::stdin().lock().bytes() {
            match key {
                Ok(key) if pressed.blocking_send(key).is_ok() => {}
                _ => return,
            }
        }
    };
    std::thread::Builder::new().name("keys".to_owned()).spawn(read).ok().map(|_| keys)
}

/// The next key; never, where there is no keyboard any more.
async fn next(keys: &mut Option<mpsc::Receiver<u8>>) -> u8 {
    let pressed = match keys {
        Some(keys) => keys.recv().await,
        None => None,
    };
    match pressed {
        Some(key) => key,
        None => std::future::pending().await,
    }
}

/// The terminal, for pictures alone; given back as it was.
struct Screen {
    before: Option<Termios>,
    width: usize,
}

impl Screen {
    fn take() -> Result<Self, Failure> {
        // A page of its own, without the cursor.
        put("\u{1b}[?1049h\u{1b}[?25l")?;
        Ok(Self { before: single_keys(), width: 0 })
    }

    fn draw(&mut self, picture: &str, width: usize) -> Result<(), Failure> {
        self.width = width;
        let lines: String = picture.lines().map(|line| format!("{line}\u{1b}[K\r\n")).collect();
        put(&format!("\u{1b}[H{lines}\u{1b}[K\r\n  q leaves\u{1b}[K\u{1b}[J"))
    }
}

/// Let keys through as they are pressed, unseen. How the terminal was before.
fn single_keys() -> Option<Termios> {
    let before = tcgetattr(std::io::stdin()).ok()?;
    let mut single = before.clone();
    single.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
    tcsetattr(std::io::stdin(), OptionalActions::Now, &single).ok().map(|()| before)
}

impl Drop for Screen {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            tcsetattr(std::io::stdin(), OptionalActions::Now, before).unwrap_or_default();
        }
        put("\u{1b}[?25h\u{1b}[?1049l").unwrap_or_default();
    }
}

fn put(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(unwritten)
}
