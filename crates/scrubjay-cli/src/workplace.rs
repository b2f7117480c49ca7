//! Where the program was started and what holds there: the project, the folders, the settings.

use crate::arguments::{Arguments, Command};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::places::Places;
use crate::remote_flags::{self, Flags};
use crate::service;
use scrubjay::limits::Limits;
use scrubjay::paths::{Layout, ProjectLayout, project_root};
use scrubjay::prompts::Surroundings;
use scrubjay::settings::{Settings, SettingsFile, Source, Sources, key};
use scrubjay::withheld::Withheld;
use scrubjay_providers::{KEY_NAMES, SECRET_NAMES};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The system's own settings.
const MANAGED: &str = "/etc/scrubjay/config.toml";

/// Settings that come with a repository, and those that stay on this machine.
const PROJECT: &str = ".scrubjay.toml";
const LOCAL: &str = ".scrubjay.local.toml";

/// What a command that prints a key may well mention without its being a key.
const NO_KEYS: &[&str] =
    &["HOME", "LANG", "LOGNAME", "PATH", "PWD", "SHELL", "TERM", "TMPDIR", "USER", "XDG_CONFIG_HOME"];

/// Everything that is known before anything is done.
#[derive(Debug, Clone)]
pub(crate) struct Workplace {
    pub(crate) environment: Environment,
    pub(crate) places: Places,
    pub(crate) settings: Settings,
    pub(crate) limits: Arc<Limits>,
    /// Where the work happens.
    pub(crate) dir: PathBuf,
    /// The project it belongs to.
    pub(crate) root: PathBuf,
    /// The settings files that are looked for, strongest first.
    pub(crate) files: Vec<PathBuf>,
    /// What the settings were decided from.
    sources: Sources,
}

impl Workplace {
    /// Look around. Nothing is written.
    pub(crate) fn find(arguments: &Arguments, environment: Environment) -> Result<Self, Failure> {
        let places = Places::find(&environment)?;
        let dir = working_directory(arguments.general.dir.as_deref())?;
        let root = project_root(&dir);
        let files = SettingsFiles::of(arguments, &places, &root);
        let (sources, mut unread) = files.read(arguments, &environment)?;
        let mut settings = decided(&sources, &environment, &places);
        unread.append(&mut settings.warnings);
        settings.warnings = unread;
        let limits = Arc::new(settings.limits().clone());
        Ok(Self { environment, places, settings, limits, dir, root, files: files.strongest_first(), sources })
    }

    /// Decide again with remote flags, where a user-level setting names some.
    pub(crate) async fn with_remote_flags(mut self) -> Self {
        let named = self.settings.text(&key::REMOTE_FLAGS).to_owned();
        if named.is_empty() {
            return self;
        }
        let Flags { file, warning } =
            remote_flags::read(&named, &self.places.home, &self.places.cache, &self.limits).await;
        self.sources.remote = file;
        let mut warnings = std::mem::take(&mut self.settings.warnings);
        let mut decided = decided(&self.sources, &self.environment, &self.places);
        warnings.extend(warning);
        warnings.extend(decided.warnings.drain(..).filter(|new| !warnings.contains(new)).collect::<Vec<_>>());
        decided.warnings = warnings;
        self.limits = Arc::new(decided.limits().clone());
        self.settings = decided;
        self
    }

    /// Where this project's sessions lie.
    pub(crate) fn project(&self) -> ProjectLayout {
        Layout::at(&self.places.data).project(&self.root, &self.limits)
    }

    /// Variables that commands and hooks do not get: those that hold a key by their name, those that hold the same
    /// key under another name, and those that the command which prints the key names.
    pub(crate) fn withheld(&self) -> Withheld {
        let values = self.environment.values();
        let keys: Vec<&str> = KEY_NAMES
            .iter()
            .filter_map(|name| self.environment.get(name))
            .map(str::trim)
            .filter(|key| !key.is_empty())
            .collect();
        let command = self.settings.text(&key::API_KEY_COMMAND);
        let words: Vec<&str> = command.split(|letter: char| !(letter.is_alphanumeric() || letter == '_')).collect();
        let holds_key =
            |name: &&String, value: &str| words.contains(&name.as_str()) || keys.iter().any(|key| value.contains(key));
        let others = values.iter().filter(|(name, value)| holds_key(name, value)).map(|(name, _)| name.clone());
        let passed = self.settings.list(&key::ENV_PASS);
        let kept = |name: &String| passed.contains(&name.as_str()) || NO_KEYS.contains(&name.as_str());
        Withheld::new(SECRET_NAMES.iter().map(|name| (*name).to_owned()).chain(others).filter(|name| !kept(name)))
    }

    /// What a model is told about where it is.
    pub(crate) fn surroundings(&self) -> Surroundings {
        Surroundings {
            dir: self.dir.display().to_string(),
            platform: std::env::consts::OS.to_owned(),
            git: repository(&self.root),
        }
    }
}

/// What holds. A repository may name a model, but not by that lead requests and keys to another service.
fn decided(sources: &Sources, environment: &Environment, places: &Places) -> Settings {
    let mut settings = Settings::resolve(sources);
    if matches!(settings.origin(key::MODEL.key), Source::Project | Source::Local) {
        let own = Settings::resolve(&Sources { project: None, local: None, ..sources.clone() });
        if let Some(why) = service::leads_elsewhere(&settings, &own, environment, places) {
            settings.take_back(&key::MODEL, &own, &why);
        }
    }
    settings
}

fn working_directory(asked: Option<&Path>) -> Result<PathBuf, Failure> {
    let dir = asked.unwrap_or(Path::new("."));
    let found = dir.canonicalize().and_then(|found| std::fs::read_dir(&found).map(|_| found));
    found.map_err(|error| {
        let shown = if asked.is_some() { dir.display().to_string() } else { "the current directory".to_owned() };
        Failure::usage(format!("{shown} cannot be worked in: {error}")).fix("name another directory with -C DIR")
    })
}

/// Read from the file that git itself keeps, so that no program has to be run.
fn repository(root: &Path) -> String {
    let git = root.join(".git");
    if !git.exists() {
        return "none".to_owned();
    }
    let head = std::fs::read_to_string(git.join("HEAD")).unwrap_or_default();
    match head.trim().strip_prefix("ref: refs/heads/") {
        Some(branch) if branch.len() < 200 => format!("git, branch {}", branch.escape_debug()),
        _ => "git".to_owned(),
    }
}

struct SettingsFiles {
    managed: PathBuf,
    user: PathBuf,
    project: PathBuf,
    local: PathBuf,
}

impl SettingsFiles {
    fn of(arguments: &Arguments, places: &Places, root: &Path) -> Self {
        let user = arguments.general.config.clone().unwrap_or_else(|| places.settings());
        Self { managed: PathBuf::from(MANAGED), user, project: root.join(PROJECT), local: root.join(LOCAL) }
    }

    fn strongest_first(&self) -> Vec<PathBuf> {
        [&self.managed, &self.local, &self.project, &self.user].into_iter().cloned().collect()
    }

    /// Every source, and what could not be read. A file named with `--config` must be there; the others may be missing.
    fn read(&self, arguments: &Arguments, environment: &Environment) -> Result<(Sources, Vec<String>), Failure> {
        let mut unread = Vec::new();
        let mut optional = |path: &Path| match read_settings(path) {
            Ok(found) => found,
            Err(reason) => {
                unread.push(format!("{reason}; nothing in it counts"));
                None
            }
        };
        let (managed, project, local) = (optional(&self.managed), optional(&self.project), optional(&self.local));
        let user = match &arguments.general.config {
            None => optional(&self.user),
            Some(named) => match read_settings(named) {
                Ok(Some(found)) => Some(found),
                Ok(None) => return Err(Failure::usage(format!("there is no settings file {}", named.display()))),
                Err(reason) => return Err(Failure::usage(reason)),
            },
        };
        let sources = Sources {
            managed,
            user,
            project,
            local,
            remote: None,
            environment: environment.pairs(),
            command_line: typed(arguments)?,
        };
        Ok((sources, unread))
    }
}

fn read_settings(path: &Path) -> Result<Option<SettingsFile>, String> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => return Ok(None),
        Err(error) => return Err(format!("the settings file {} cannot be read: {error}", path.display())),
    };
    let table = toml::from_str(&text).map_err(|error| {
        let line = error.span().map(|span| text[..span.start.min(text.len())].lines().count().max(1));
        let place = line.map(|line| format!(", line {line}")).unwrap_or_default();
        format!("the settings file {}{place} is not TOML: {}", path.display(), error.message().escape_debug())
    })?;
    Ok(Some(SettingsFile { table, file: path.to_owned() }))
}

/// Flags are settings of the strongest kind a person has; `--set` comes first because it is the more exact one.
fn typed(arguments: &Arguments) -> Result<Vec<(String, String)>, Failure> {
    let mut typed = Vec::new();
    for set in &arguments.general.set {
        let Some((key, value)) = set.split_once('=') else {
            return Err(
                Failure::usage(format!("--set takes KEY=VALUE, not `{set}`")).fix("`scrubjay flags` lists the keys")
            );
        };
        typed.push((key.trim().to_owned(), value.to_owned()));
    }
    let model = &arguments.model;
    for (key, value) in [("model", &model.model), ("provider", &model.provider), ("base_url", &model.base_url)] {
        typed.extend(value.clone().map(|value| (key.to_owned(), value)));
    }
    if let Some(Command::Recall(flags)) = &arguments.command {
        typed.extend(flags.embeddings.clone().map(|value| (key::EMBEDDINGS.key.to_owned(), value)));
    }
    if arguments.permission.bare {
        typed.push(("bare".to_owned(), "true".to_owned()));
    }
    Ok(typed)
}
