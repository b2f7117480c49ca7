//! From sources to candidates: every value that may count, and a warning for every one that may not.

use super::registry::{BARE_LIMITS, Kind, LIMITS, SETTINGS, Setting, THRESHOLDS, Trust};
use super::{Refused, SettingsFile, Source, Sources, words};
use crate::limits::{LimitError, Limits};
use std::path::{Path, PathBuf};
use toml::Value;

/// A value that may count.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) key: String,
    pub(super) value: Value,
    pub(super) source: Source,
    pub(super) file: Option<PathBuf>,
    /// Said under the setting's own name, which counts before its other names.
    pub(super) own_name: bool,
}

/// Candidates and warnings, as they are found.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    pub(super) candidates: Vec<Candidate>,
    pub(super) warnings: Vec<String>,
    pub(super) refused: Vec<Refused>,
}

/// Who says something, and where.
#[derive(Clone, Copy)]
struct Speaker<'a> {
    source: Source,
    file: Option<&'a Path>,
}

pub(super) fn gather(sources: &Sources) -> Gathered {
    let mut all = Gathered::default();
    for (source, file) in [
        (Source::Managed, &sources.managed),
        (Source::User, &sources.user),
        (Source::Project, &sources.project),
        (Source::Local, &sources.local),
        (Source::Remote, &sources.remote),
    ] {
        if let Some(SettingsFile { table, file }) = file {
            all.file(Speaker { source, file: Some(file) }, "", table);
        }
    }
    all.environment(&sources.environment);
    let speaker = Speaker { source: Source::CommandLine, file: None };
    for (key, text) in &sources.command_line {
        all.typed(speaker, key, text);
    }
    all
}

impl Gathered {
    fn file(&mut self, speaker: Speaker<'_>, prefix: &str, table: &toml::Table) {
        for (name, value) in table {
            let key = format!("{prefix}{name}");
            let nested = value.as_table().filter(|_| words::find(&key).is_none());
            match nested {
                Some(inner) => self.file(speaker, &format!("{key}."), inner),
                None => self.value(speaker, &key, value),
            }
        }
    }

    fn value(&mut self, speaker: Speaker<'_>, key: &str, value: &Value) {
        if let Some(name) = limit_name(key) {
            return self.limit(speaker, name, words::accept(&Kind::Number(0..=u64::MAX), value));
        }
        let Some((setting, canonical)) = setting_of(key) else { return self.unknown(speaker, key) };
        let kind = kind_of(setting);
        match words::accept(&kind, value) {
            Some(value) => self.offer(speaker, setting, &canonical, (value, canonical == key)),
            None => self.wrong(speaker, key, &kind),
        }
    }

    fn typed(&mut self, speaker: Speaker<'_>, key: &str, text: &str) {
        if let Some(name) = limit_name(key) {
            return self.limit(speaker, name, words::read(&Kind::Number(0..=u64::MAX), text));
        }
        let Some((setting, canonical)) = setting_of(key) else { return self.unknown(speaker, key) };
        let kind = kind_of(setting);
        match words::read(&kind, text) {
            Some(value) => self.offer(speaker, setting, &canonical, (value, canonical == key)),
            None => self.wrong(speaker, key, &kind),
        }
    }

    fn environment(&mut self, variables: &[(String, String)]) {
        let speaker = Speaker { source: Source::Environment, file: None };
        for (name, text) in variables.iter().filter(|(_, text)| !text.trim().is_empty()) {
            if let Some(limit) = name.strip_prefix("SCRUBJAY_LIMIT_") {
                self.limit(speaker, &limit.to_lowercase(), words::read(&Kind::Number(0..=u64::MAX), text));
                continue;
            }
            let Some(setting) = SETTINGS.iter().find(|setting| setting.environment.contains(&name.as_str())) else {
                if name.starts_with("SCRUBJAY_LAYER_") {
                    self.unknown(speaker, name);
                }
                continue;
            };
            let own_name = setting.environment.first() == Some(&name.as_str());
            let value = match (words::read(&setting.kind, text), setting.inverted) {
                (Some(Value::Boolean(disabled)), true) => Some(Value::Boolean(!disabled)),
                (value, _) => value,
            };
            match value {
                Some(value) => self.offer(speaker, Some(setting), setting.key, (value, own_name)),
                None => self.wrong(speaker, name, &setting.kind),
            }
        }
    }

    /// `setting` is `None` for limits and a tool's threshold, which a repository may narrow.
    fn offer(&mut self, speaker: Speaker<'_>, setting: Option<&Setting>, key: &str, said: (Value, bool)) {
        if let Some(setting) = setting
            && !may_set(setting.trust, speaker.source)
        {
            return self.forbidden(speaker, setting, &said.0);
        }
        let (value, own_name) = said;
        let file = speaker.file.map(Path::to_path_buf);
        self.candidates.push(Candidate { key: key.to_owned(), value, source: speaker.source, file, own_name });
    }

    fn limit(&mut self, speaker: Speaker<'_>, name: &str, value: Option<Value>) {
        let Some(number) = value.as_ref().and_then(super::whole) else {
            return self.wrong(speaker, &format!("{LIMITS}{name}"), &Kind::Number(0..=u64::MAX));
        };
        match Limits::default().set(name, number) {
            Ok(()) => {
                let value = value.unwrap_or(Value::Boolean(false));
                self.offer(speaker, None, &format!("{LIMITS}{name}"), (value, true));
            }
            Err(LimitError::Unknown(_)) => self.unknown(speaker, &format!("{LIMITS}{name}")),
            Err(error) => self.warnings.push(format!("{}: {error}", speaker.shown())),
        }
    }

    fn unknown(&mut self, speaker: Speaker<'_>, key: &str) {
        let meant = words::nearest(key).map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
        self.warnings.push(format!(
            "{} sets `{}`, which is no setting; it is ignored{meant}",
            speaker.shown(),
            plain(key)
        ));
    }

    fn wrong(&mut self, speaker: Speaker<'_>, key: &str, kind: &Kind) {
        let (who, key, takes) = (speaker.shown(), plain(key), words::takes(kind));
        self.warnings.push(format!("{who} sets `{key}` to something else than {takes}; it is ignored"));
    }

    fn forbidden(&mut self, speaker: Speaker<'_>, setting: &Setting, value: &Value) {
        let variable = setting.environment.first().map(|name| format!(" (`{name}`)")).unwrap_or_default();
        let places = match setting.trust {
            Trust::Process => format!("the environment{variable} or the command line"),
            _ if variable.is_empty() => "your user settings or the command line".to_owned(),
            _ => format!("your user settings, the environment{variable} or the command line"),
        };
        let (who, key) = (speaker.shown(), setting.key);
        self.refused.push(Refused {
            key: key.to_owned(),
            value: value.as_str().map_or_else(|| value.to_string(), str::to_owned),
            source: speaker.source,
            file: speaker.file.map(Path::to_path_buf),
            why: format!("it can be set in {places}"),
        });
        self.warnings.push(format!("{who} may not set `{key}`, so it is ignored; it can be set in {places}"));
    }
}

impl Speaker<'_> {
    fn shown(&self) -> String {
        match self.file {
            Some(file) => format!("{} (`{}`)", self.source.name(), plain(&file.to_string_lossy())),
            None => self.source.name().to_owned(),
        }
    }
}

/// Names come from files that strangers wrote: no line breaks or terminal codes in messages.
pub(super) fn plain(text: &str) -> String {
    text.escape_debug().to_string()
}

fn may_set(trust: Trust, source: Source) -> bool {
    match trust {
        Trust::Anyone | Trust::Narrow => true,
        Trust::NotRepository => !matches!(source, Source::Project | Source::Local),
        Trust::UserOnly => !matches!(source, Source::Project | Source::Local | Source::Remote),
        Trust::Process => matches!(source, Source::Environment | Source::CommandLine),
    }
}

fn limit_name(key: &str) -> Option<&str> {
    key.strip_prefix(LIMITS).or_else(|| BARE_LIMITS.contains(&key).then_some(key))
}

/// The setting a key names, and the name it is kept under. A threshold has no row of its own.
fn setting_of(key: &str) -> Option<(Option<&'static Setting>, String)> {
    if key.strip_prefix(THRESHOLDS).is_some_and(|tool| !tool.is_empty()) {
        return Some((None, key.to_owned()));
    }
    words::find(key).map(|setting| (Some(setting), setting.key.to_owned()))
}

fn kind_of(setting: Option<&Setting>) -> Kind {
    setting.map_or(Kind::Number(1..=u64::MAX), |setting| setting.kind.clone())
}
