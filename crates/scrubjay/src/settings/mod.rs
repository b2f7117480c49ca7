//! Switches and numbers in force for a session: which source said what, and who was allowed to.
//!
//! Nothing here reads a file, the environment or the network: [`Sources`] is handed in, already read. And nothing
//! here fails: a bad value is a warning, and the next source decides.

mod gather;
mod merge;
mod registry;
mod words;

pub use registry::{Kind, SETTINGS, Seen, Setting, Trust, Unset, key};

use crate::limits::Limits;
use crate::paths::{self, Layout, PathError};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Where a value came from, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// Nobody said anything.
    Default,
    /// Remote flags.
    Remote,
    /// The person's own settings.
    User,
    /// Settings that came with the repository.
    Project,
    /// Settings that lie in the repository but are not committed.
    Local,
    /// The environment.
    Environment,
    /// The command line.
    CommandLine,
    /// The system's settings: final.
    Managed,
}

impl Source {
    /// As a person would say it.
    pub fn name(self) -> &'static str {
        match self {
            Source::Default => "default",
            Source::Remote => "remote flags",
            Source::User => "user settings",
            Source::Project => "project settings",
            Source::Local => "local settings",
            Source::Environment => "environment",
            Source::CommandLine => "command line",
            Source::Managed => "managed settings",
        }
    }
}

/// One settings file, already read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SettingsFile {
    /// What it says.
    pub table: toml::Table,
    /// Where it lies, for messages.
    pub file: PathBuf,
}

/// Everything that was found, already read. A `.env` file is not among it, on purpose.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sources {
    /// System-wide.
    pub managed: Option<SettingsFile>,
    /// The person's own.
    pub user: Option<SettingsFile>,
    /// From the repository.
    pub project: Option<SettingsFile>,
    /// In the repository, not committed.
    pub local: Option<SettingsFile>,
    /// Remote flags; they count only if a user-level setting names them.
    pub remote: Option<SettingsFile>,
    /// Names and values of the process environment.
    pub environment: Vec<(String, String)>,
    /// Keys and values from the command line.
    pub command_line: Vec<(String, String)>,
}

/// A value in force.
#[derive(Debug, Clone, PartialEq)]
struct Chosen {
    value: toml::Value,
    source: Source,
    file: Option<PathBuf>,
}

/// What comes first when a conversation is shortened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContextPolicy {
    /// What it says: nothing that was sent changes before it must, and a model writes what replaces it.
    Faithful,
    /// What it costs: old results and old messages give way as soon as that saves money.
    Economy,
}

/// Tokens, or a share of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// This many tokens.
    Tokens(u64),
    /// So many hundredths.
    Percent(u64),
}

impl Amount {
    fn of(value: &toml::Value) -> Option<Self> {
        match value {
            toml::Value::String(text) => Self::parse(text),
            other => whole(other).filter(|tokens| *tokens > 0).map(Self::Tokens),
        }
    }

    /// `120000`, `120_000` or `60 %`.
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim().replace('_', "");
        let number = |digits: &str| digits.trim().parse::<u64>().ok().filter(|number| *number > 0);
        if let Some(share) = text.strip_suffix('%') {
            return number(share).filter(|share| *share <= 100).map(Self::Percent);
        }
        number(&text).map(Self::Tokens)
    }

    /// Whether it is certainly no more than another one: two units cannot be compared without a window.
    fn is_at_most(self, other: Self) -> bool {
        match (self, other) {
            (Self::Tokens(one), Self::Tokens(other)) | (Self::Percent(one), Self::Percent(other)) => one <= other,
            _ => false,
        }
    }
}

impl std::fmt::Display for Amount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tokens(tokens) => write!(f, "{tokens}"),
            Self::Percent(share) => write!(f, "{share} %"),
        }
    }
}

/// A value that its source may not set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The setting.
    pub key: String,
    /// What was asked for.
    pub value: String,
    /// Who asked.
    pub source: Source,
    /// In which file.
    pub file: Option<PathBuf>,
    /// Why not.
    pub why: String,
}

/// The values in force.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    chosen: BTreeMap<String, Chosen>,
    limits: Limits,
    /// What was ignored, and what to do about it.
    pub warnings: Vec<String>,
    refused: Vec<Refused>,
}

/// One line of `scrubjay flags`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The setting.
    pub key: String,
    /// Its value.
    pub value: String,
    /// Who said so.
    pub origin: Source,
    /// In which file.
    pub file: Option<PathBuf>,
    /// Its name in the environment.
    pub environment: String,
    /// What it does.
    pub meaning: String,
}

impl Settings {
    /// Decide every setting.
    ///
    /// ```
    /// use scrubjay::settings::{Settings, Source, Sources, key};
    /// let environment = vec![("SCRUBJAY_LAYER_DREAMING".to_owned(), "off".to_owned())];
    /// let settings = Settings::resolve(&Sources { environment, ..Sources::default() });
    /// assert!(!settings.flag(&key::DREAMING));
    /// assert_eq!(settings.origin(key::DREAMING.key), Source::Environment);
    /// ```
    pub fn resolve(sources: &Sources) -> Self {
        merge::resolve(sources)
    }

    /// The same with these switches off.
    pub fn without(&self, off: &[&Setting]) -> Self {
        let mut settings = self.clone();
        for setting in off {
            let chosen = Chosen { value: toml::Value::Boolean(false), source: self.origin(setting.key), file: None };
            settings.chosen.insert(setting.key.to_owned(), chosen);
        }
        settings
    }

    /// Newer values for a session that runs: what changes request bytes stays as it was, or the cached prefix would
    /// break. At `/clear` and at compaction the newer settings are taken whole instead.
    pub fn refreshed(&self, newer: Settings) -> Self {
        let stays = |key: &str| {
            let setting = words::find(key);
            key.starts_with(registry::LIMITS) || setting.is_some_and(|setting| setting.seen == Seen::OncePerSession)
        };
        let mut chosen = newer.chosen;
        chosen.retain(|key, _| !stays(key));
        chosen.extend(self.chosen.iter().filter(|(key, _)| stays(key)).map(|(key, one)| (key.clone(), one.clone())));
        Self { chosen, limits: self.limits.clone(), warnings: newer.warnings, refused: newer.refused }
    }

    /// Whether a switch is on.
    pub fn flag(&self, setting: &Setting) -> bool {
        match (self.said(setting.key), setting.default) {
            (Some(said), _) => said.as_bool().unwrap_or(false),
            (None, Unset::Flag(on)) => on,
            (None, _) => false,
        }
    }

    /// A number.
    pub fn number(&self, setting: &Setting) -> u64 {
        match (self.said(setting.key), setting.default) {
            (Some(said), _) => whole(said).unwrap_or(0),
            (None, Unset::Number(number)) => number,
            (None, _) => 0,
        }
    }

    /// A text or a choice; empty if there is none.
    pub fn text(&self, setting: &Setting) -> &str {
        match (self.said(setting.key), setting.default) {
            (Some(said), _) => said.as_str().unwrap_or_default(),
            (None, Unset::Text(text)) => text,
            (None, _) => "",
        }
    }

    /// Tokens or a percentage, if somebody said so.
    pub fn amount(&self, setting: &Setting) -> Option<Amount> {
        self.said(setting.key).and_then(Amount::of)
    }

    /// What comes first when a conversation is shortened.
    pub fn context_policy(&self) -> ContextPolicy {
        match self.text(&key::CONTEXT_POLICY) {
            "economy" => ContextPolicy::Economy,
            _ => ContextPolicy::Faithful,
        }
    }

    /// A list, over all sources.
    pub fn list(&self, setting: &Setting) -> Vec<&str> {
        let items = self.said(setting.key).and_then(toml::Value::as_array);
        items.into_iter().flatten().filter_map(toml::Value::as_str).collect()
    }

    /// A table, over all sources that may set it.
    pub fn table(&self, setting: &Setting) -> Option<&toml::Table> {
        self.said(setting.key)?.as_table()
    }

    /// The threshold that was set for one tool's results.
    pub fn tool_result_threshold(&self, tool: &str) -> Option<u64> {
        whole(self.said(&format!("{}{tool}", registry::THRESHOLDS))?)
    }

    /// Every number of the engine.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Who decided a key.
    pub fn origin(&self, key: &str) -> Source {
        self.chosen.get(key).map_or(Source::Default, |chosen| chosen.source)
    }

    /// Why there is no long-term memory in this session; `None` if there is. The first reason counts.
    pub fn memory_off_because(&self) -> Option<&'static str> {
        let off = !self.flag(&key::MEMORY_ENABLED);
        if off && self.origin(key::MEMORY_ENABLED.key) == Source::Environment {
            return Some("the environment switches it off");
        }
        if self.flag(&key::BARE) {
            return Some("bare mode has no memory");
        }
        if self.flag(&key::REMOTE) && self.text(&key::REMOTE_MEMORY_DIRECTORY).is_empty() {
            return Some("remote mode has no memory without a remote memory directory");
        }
        off.then_some("settings switch it off")
    }

    /// The memory directory of a project: the override, the setting, or its place in the layout, which is also called
    /// `default`.
    pub fn memory_directory(&self, layout: &Layout, home: &Path, project: &Path) -> Result<PathBuf, PathError> {
        for setting in [&key::MEMORY_PATH_OVERRIDE, &key::MEMORY_DIRECTORY] {
            let named = self.text(setting);
            if !named.is_empty() && named != "default" {
                return paths::reject(&paths::expand_home(named, home));
            }
        }
        Ok(self.memory_base(layout, home)?.project(project, &self.limits).memory())
    }

    /// The data folder that memories and their history lie in: the remote one where one is set, so that both are there
    /// tomorrow.
    pub fn memory_base(&self, layout: &Layout, home: &Path) -> Result<Layout, PathError> {
        match self.text(&key::REMOTE_MEMORY_DIRECTORY) {
            "" => Ok(layout.clone()),
            remote => Ok(Layout::at(paths::reject(&paths::expand_home(remote, home))?)),
        }
    }

    /// Take back what a repository said about a setting: what holds without it counts, and the user is told why.
    pub fn take_back(&mut self, setting: &Setting, without: &Self, why: &str) {
        let Some(chosen) = self.chosen.remove(setting.key) else { return };
        let value = chosen.value.as_str().map_or_else(|| chosen.value.to_string(), str::to_owned);
        let file = chosen.file.as_deref().map(|file| format!(" (`{}`)", gather::plain(&file.to_string_lossy())));
        self.warnings.push(format!(
            "{}{} sets `{}` to `{}`, but {why}, so it is ignored; you can set it yourself",
            chosen.source.name(),
            file.unwrap_or_default(),
            setting.key,
            gather::plain(&value)
        ));
        let Chosen { source, file, .. } = chosen;
        self.refused.push(Refused { key: setting.key.to_owned(), value, source, file, why: why.to_owned() });
        if let Some(own) = without.chosen.get(setting.key) {
            self.chosen.insert(setting.key.to_owned(), own.clone());
        }
    }

    /// Every value that its source may not set, and what holds instead.
    pub fn refused(&self) -> Vec<(&Refused, String)> {
        let rows = self.rows();
        let held = |key: &str| rows.iter().find(|row| row.key == key).map(|row| row.value.clone()).unwrap_or_default();
        self.refused.iter().map(|one| (one, held(&one.key))).collect()
    }

    /// Every value and where it came from, limits last.
    pub fn rows(&self) -> Vec<Row> {
        let settings = SETTINGS.iter().map(|setting| {
            let environment = setting.environment.first().copied().unwrap_or_default();
            self.row(setting.key, self.shown(setting), environment.to_owned(), setting.meaning.to_owned())
        });
        let thresholds = self.chosen.iter().filter_map(|(key, chosen)| {
            let tool = key.strip_prefix(registry::THRESHOLDS)?;
            let meaning = format!("results of {tool} larger than this are stored");
            Some(self.row(key, chosen.value.to_string(), String::new(), meaning))
        });
        let limits = Limits::table().into_iter().map(|limit| {
            let key = format!("{}{}", registry::LIMITS, limit.name);
            let value = self.limits.get(limit.name).unwrap_or(limit.default);
            let environment = format!("SCRUBJAY_LIMIT_{}", limit.name.to_uppercase());
            self.row(&key, format!("{value} {}", limit.unit), environment, limit.why.to_owned())
        });
        settings.chain(thresholds).chain(limits).collect()
    }

    fn row(&self, key: &str, value: String, environment: String, meaning: String) -> Row {
        let file = self.chosen.get(key).and_then(|chosen| chosen.file.clone());
        Row { key: key.to_owned(), value, origin: self.origin(key), file, environment, meaning }
    }

    fn shown(&self, setting: &Setting) -> String {
        match setting.kind {
            Kind::Flag => (if self.flag(setting) { "on" } else { "off" }).to_owned(),
            Kind::Number(_) => self.number(setting).to_string(),
            Kind::Text | Kind::Choice(_) => self.text(setting).to_owned(),
            Kind::Amount => self.amount(setting).map(|amount| amount.to_string()).unwrap_or_default(),
            Kind::List => self.list(setting).join(", "),
            Kind::Table => self
                .table(setting)
                .map(|table| table.keys().cloned().collect::<Vec<_>>().join(", "))
                .unwrap_or_default(),
        }
    }

    fn said(&self, key: &str) -> Option<&toml::Value> {
        self.chosen.get(key).map(|chosen| &chosen.value)
    }
}

/// How large results of this tool may be before they are stored, where no setting names the tool.
pub(crate) fn usual_threshold(tool: &str, limits: &Limits) -> u64 {
    match tool {
        "Read" => limits.read_result_chars,
        "Bash" => limits.shell_result_chars,
        "Grep" | "Glob" => limits.search_result_chars,
        _ => limits.result_chars,
    }
}

fn whole(value: &toml::Value) -> Option<u64> {
    u64::try_from(value.as_integer()?).ok()
}

#[cfg(test)]
mod tests;
