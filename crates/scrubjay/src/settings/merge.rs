//! From candidates to one value a key: the strongest source wins, a repository only narrows, remote flags can stop.

use super::gather::{Candidate, Gathered, gather, plain};
use super::registry::{Kind, LIMITS, OFF_IN_BARE_MODE, Setting, THRESHOLDS, Trust, key};
use super::{Amount, Chosen, Refused, Settings, Source, Sources, usual_threshold, whole, words};
use crate::limits::{Limits, Narrower};
use std::collections::BTreeMap;
use toml::Value;

pub(super) fn resolve(sources: &Sources) -> Settings {
    let Gathered { candidates, warnings, refused } = gather(sources);
    let mut by_key: BTreeMap<String, Vec<Candidate>> = BTreeMap::new();
    for candidate in candidates {
        by_key.entry(candidate.key.clone()).or_default().push(candidate);
    }
    let mut settings = Settings { chosen: BTreeMap::new(), limits: Limits::default(), warnings, refused };
    drop_unasked_remote(&mut by_key, sources, &mut settings.warnings);
    for (name, mut candidates) in by_key {
        candidates.sort_by_key(|candidate| std::cmp::Reverse((candidate.source, candidate.own_name)));
        let candidates = settings.within_what_holds(&name, candidates);
        let chosen = decide(words::find(&name), candidates, &mut settings);
        settings.chosen.extend(chosen.map(|chosen| (name, chosen)));
    }
    settings.apply_limits();
    settings.follow_small_model();
    settings.follow_bare_mode();
    settings
}

/// Remote flags count only when a user-level setting names where they come from.
fn drop_unasked_remote(by_key: &mut BTreeMap<String, Vec<Candidate>>, sources: &Sources, warnings: &mut Vec<String>) {
    let named = by_key.get(key::REMOTE_FLAGS.key).is_some_and(|said| {
        said.iter().max_by_key(|candidate| candidate.source).is_some_and(|one| one.value.as_str() != Some(""))
    });
    if named || sources.remote.is_none() {
        return;
    }
    for candidates in by_key.values_mut() {
        candidates.retain(|candidate| candidate.source != Source::Remote);
    }
    let key = key::REMOTE_FLAGS.key;
    warnings.push(format!("remote flags are ignored, because no user-level setting `{key}` names them"));
}

/// Strongest first in, one value out.
fn decide(setting: Option<&Setting>, candidates: Vec<Candidate>, settings: &mut Settings) -> Option<Chosen> {
    match setting {
        Some(setting) if matches!(setting.kind, Kind::List | Kind::Table) => joined(setting, candidates),
        Some(setting)
            if setting.kind == Kind::Flag && matches!(setting.trust, Trust::Narrow | Trust::NotRepository) =>
        {
            narrowed(setting, candidates, settings)
        }
        _ => candidates.into_iter().next().map(Chosen::from),
    }
}

/// A switch: a repository's "on" does not count, and a remote "off" stops what files switched on.
fn narrowed(setting: &Setting, candidates: Vec<Candidate>, settings: &mut Settings) -> Option<Chosen> {
    let (widening, mut candidates): (Vec<_>, Vec<_>) = candidates.into_iter().partition(|candidate| {
        matches!(candidate.source, Source::Project | Source::Local) && candidate.value == Value::Boolean(true)
    });
    let outranks_remote = |source| source >= Source::Environment;
    let killed = candidates
        .iter()
        .position(|candidate| candidate.source == Source::Remote && candidate.value == Value::Boolean(false))
        .filter(|_| !candidates.iter().any(|candidate| outranks_remote(candidate.source)));
    let chosen = match killed {
        Some(at) => Some(candidates.swap_remove(at)),
        None => candidates.into_iter().next(),
    }
    .map(Chosen::from);
    let on =
        chosen.as_ref().map_or(setting.default == super::Unset::Flag(true), |one| one.value == Value::Boolean(true));
    for one in widening.iter().filter(|_| !on) {
        let file = one.file.as_deref().map(|file| format!(" (`{}`)", file.display())).unwrap_or_default();
        let (who, key) = (one.source.name(), setting.key);
        settings.refused.push(Refused {
            key: key.to_owned(),
            value: "true".to_owned(),
            source: one.source,
            file: one.file.clone(),
            why: "a repository may only switch it off".to_owned(),
        });
        settings.warnings.push(format!(
            "{who}{file} switches `{key}` on, but a repository may only switch it off, so it is ignored; your user \
             settings can switch it on"
        ));
    }
    chosen
}

/// Lists and tables of all sources together; the strongest source is named as the origin. A managed list that widens
/// is final: only narrowing ones (refusals, exclusions) are added to.
fn joined(setting: &Setting, candidates: Vec<Candidate>) -> Option<Chosen> {
    let mut candidates = candidates.into_iter();
    let mut whole = Chosen::from(candidates.next()?);
    let is_final = setting.trust == Trust::UserOnly && whole.source == Source::Managed;
    for candidate in candidates.filter(|candidate| !is_final || candidate.source == Source::Managed) {
        join(&mut whole.value, candidate.value);
    }
    Some(whole)
}

/// `more` comes after what is there; identical items stand once; of two plain values the first stays.
fn join(there: &mut Value, more: Value) {
    match (there, more) {
        (Value::Array(there), Value::Array(more)) => {
            for item in more {
                if !there.contains(&item) {
                    there.push(item);
                }
            }
        }
        (Value::Table(there), Value::Table(more)) => {
            for (name, value) in more {
                match there.get_mut(&name) {
                    Some(place) => join(place, value),
                    None => {
                        there.insert(name, value);
                    }
                }
            }
        }
        _ => {}
    }
}

impl From<Candidate> for Chosen {
    fn from(candidate: Candidate) -> Self {
        Self { value: candidate.value, source: candidate.source, file: candidate.file }
    }
}

/// Which way a number is narrower, and what it is when nobody says anything. A tool's threshold is as a limit, and so is
/// what is used of a window.
fn direction(name: &str) -> Option<(Narrower, u64)> {
    if name == key::CONTEXT_WINDOW.key {
        return Some((Narrower::Lower, u64::MAX));
    }
    if let Some(limit) = name.strip_prefix(LIMITS) {
        let row = Limits::table().into_iter().find(|row| row.name == limit)?;
        return Some((row.narrower, row.default));
    }
    let tool = name.strip_prefix(THRESHOLDS)?;
    Some((Narrower::Lower, usual_threshold(tool, &Limits::default())))
}

/// What holds without a repository, which may only narrow it.
enum Holds {
    Number(Narrower, u64),
    /// A line; without one of the user's own any is lower than the one that holds.
    Line(Option<Amount>),
}

impl Holds {
    fn of(name: &str, before: Option<&Value>) -> Option<Self> {
        if name == key::CONTEXT_COMPACT_AT.key {
            return Some(Self::Line(before.and_then(Amount::of)));
        }
        let (narrower, default) = direction(name)?;
        Some(Self::Number(narrower, before.and_then(whole).unwrap_or(default)))
    }

    fn narrower(&self) -> Narrower {
        match self {
            Self::Number(narrower, _) => *narrower,
            Self::Line(_) => Narrower::Lower,
        }
    }

    fn allows(&self, value: &Value) -> bool {
        match self {
            Self::Number(narrower, before) => whole(value).is_some_and(|value| narrower.allows(value, *before)),
            Self::Line(before) => {
                Amount::of(value).is_some_and(|amount| before.is_none_or(|before| amount.is_at_most(before)))
            }
        }
    }
}

impl Settings {
    /// The candidates without those by which a repository would widen what holds without it.
    fn within_what_holds(&mut self, name: &str, candidates: Vec<Candidate>) -> Vec<Candidate> {
        let is_repository = |source: Source| matches!(source, Source::Project | Source::Local);
        let before = candidates.iter().find(|one| one.source < Source::Project).map(|one| one.value.clone());
        let Some(holds) = Holds::of(name, before.as_ref()) else { return candidates };
        let narrower = holds.narrower();
        let narrows = |value: &Value| holds.allows(value);
        let (kept, wider): (Vec<_>, Vec<_>) =
            candidates.into_iter().partition(|one| !is_repository(one.source) || narrows(&one.value));
        for one in wider {
            let file = one.file.as_deref().map(|file| format!(" (`{}`)", plain(&file.to_string_lossy())));
            let (who, rule) = (one.source.name(), narrower.rule());
            self.warnings.push(format!(
                "{who}{} sets `{}` to {}, but {rule}, so it is ignored; your user settings can set it",
                file.unwrap_or_default(),
                plain(name),
                one.value
            ));
            self.refused.push(Refused {
                key: plain(name),
                value: one.value.to_string(),
                source: one.source,
                file: one.file,
                why: rule.to_owned(),
            });
        }
        kept
    }

    fn apply_limits(&mut self) {
        for (name, chosen) in &self.chosen {
            let (Some(limit), Some(value)) = (name.strip_prefix(LIMITS), whole(&chosen.value)) else { continue };
            if let Err(error) = self.limits.set(limit, value) {
                self.warnings.push(error.to_string());
            }
        }
    }

    /// A configured small model chooses memories unless somebody said otherwise.
    fn follow_small_model(&mut self) {
        if self.chosen.contains_key(key::MODEL_RECALL.key) || self.text(&key::SMALL_MODEL).is_empty() {
            return;
        }
        if let Some(model) = self.chosen.get(key::SMALL_MODEL.key) {
            let follows = Chosen { value: Value::Boolean(true), ..model.clone() };
            self.chosen.insert(key::MODEL_RECALL.key.to_owned(), follows);
        }
    }

    fn follow_bare_mode(&mut self) {
        if !self.flag(&key::BARE) {
            return;
        }
        let Some(bare) = self.chosen.get(key::BARE.key).cloned() else { return };
        for setting in OFF_IN_BARE_MODE {
            let off = Chosen { value: Value::Boolean(false), ..bare.clone() };
            self.chosen.insert(setting.key.to_owned(), off);
        }
    }
}
