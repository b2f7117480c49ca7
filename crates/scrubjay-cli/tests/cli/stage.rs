//! A home and a project of their own, and the program started in them with nothing else in its environment.

use scrubjay_testkit::ProviderAddress;
use scrubjay_testkit::simulator::Simulator;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// The model most stories ask.
pub(crate) const MODEL: &str = "claude-opus-5";

/// A value that must never be seen anywhere.
pub(crate) const CANARY: &str = "sk-ant-canary-0123456789";

/// A temporary home and project.
pub(crate) struct Stage {
    folder: tempfile::TempDir,
    url: Option<String>,
    /// What leads to the provider's own address.
    provider: Vec<(String, String)>,
}

impl Stage {
    /// Nobody to talk to.
    pub(crate) fn offline() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("project")).unwrap();
        fs::create_dir(folder.path().join("user")).unwrap();
        Self { folder, url: None, provider: Vec::new() }
    }

    /// A simulated service to talk to.
    pub(crate) fn with(simulator: &Simulator) -> Self {
        Self { url: Some(simulator.url()), ..Self::offline() }
    }

    /// The provider itself, at its own address.
    pub(crate) fn at_provider(address: &ProviderAddress) -> Self {
        Self { provider: address.environment(), ..Self::offline() }
    }

    /// From here on, another simulated service.
    pub(crate) fn talk_to(&mut self, simulator: &Simulator) {
        self.url = Some(simulator.url());
    }

    /// Some other address.
    pub(crate) fn at(url: &str) -> Self {
        Self { url: Some(url.to_owned()), ..Self::offline() }
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.project().join(name), text).unwrap();
    }

    /// Names and values the program is started with.
    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        let mut values = vec![
            ("PATH".to_owned(), std::env::var("PATH").unwrap()),
            ("HOME".to_owned(), self.folder.path().join("user").display().to_string()),
            ("SCRUBJAY_HOME".to_owned(), self.home().display().to_string()),
            ("TERM".to_owned(), "xterm-256color".to_owned()),
            // A story that is not about it has every request to itself.
            ("SCRUBJAY_LAYER_EXTRACTION".to_owned(), "false".to_owned()),
        ];
        if let Some(url) = &self.url {
            values.push(("SCRUBJAY_BASE_URL".to_owned(), url.clone()));
        }
        values.extend(self.provider.clone());
        if self.url.is_some() || !self.provider.is_empty() {
            values.push(("SCRUBJAY_MODEL".to_owned(), MODEL.to_owned()));
            values.push(("ANTHROPIC_API_KEY".to_owned(), CANARY.to_owned()));
        }
        values
    }

    /// The program, not yet started.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program());
        command.args(arguments).env_clear().envs(self.environment()).current_dir(self.project());
        command.stdin(Stdio::null());
        command
    }

    /// The program, run to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        finished(self.command(arguments))
    }

    /// Every session file.
    pub(crate) fn transcripts(&self) -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> = files(&self.home())
            .into_iter()
            .filter(|path| has_extension(path, "jsonl") && !path.ends_with("ledger.jsonl"))
            .collect();
        found.sort();
        found
    }
}

/// How long a story may wait before it is given up: only a broken program ever needs it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// A command, run to its end.
pub(crate) fn finished(command: Command) -> Ran {
    Ran::from(block(|| assert_cmd::Command::from_std(command).timeout(PATIENCE).output().unwrap()))
}

/// A named pipe in the project, on which a command can say that it has begun.
pub(crate) struct Bell(mpsc::Receiver<String>);

impl Bell {
    /// Hang it up under this name.
    pub(crate) fn new(stage: &Stage, name: &str) -> Self {
        let path = stage.project().join(name);
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        let (rung, heard) = mpsc::channel();
        std::thread::spawn(move || rung.send(fs::read_to_string(path).unwrap()));
        Self(heard)
    }

    /// Wait until it rings.
    pub(crate) fn wait(&self) {
        block(|| self.0.recv_timeout(PATIENCE).expect("the command never began"));
    }
}

/// Wait for something that blocks while the simulator goes on answering.
pub(crate) fn block<T>(work: impl FnOnce() -> T) -> T {
    tokio::task::block_in_place(work)
}

pub(crate) fn program() -> PathBuf {
    assert_cmd::cargo::cargo_bin!("scrubjay").to_path_buf()
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}

/// Every file below a folder.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found
}

/// How a run ended and what it said.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Ran {
    #[track_caller]
    pub(crate) fn ended_with(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    #[track_caller]
    pub(crate) fn complained_about(self, words: &[&str]) -> Self {
        for word in words {
            assert!(self.err.contains(word), "`{word}` in {self:#?}");
        }
        self
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error} in {self:#?}"))
    }

    #[track_caller]
    pub(crate) fn lines(&self) -> Vec<Value> {
        self.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}
