//! `scrubjay doctor`: what is installed, what works, what is damaged. Its output holds no secret and can be pasted.

use super::memory::{is_broken, pollution_in_words};
use crate::failure::Failure;
use crate::memories;
use crate::paper::{Form, Paper, Tone, counted};
use crate::places::HOME_VARIABLE;
use crate::service::{Service, catalogue, embedder, keys};
use crate::shelf::{Shelf, damage_in_words};
use crate::workplace::Workplace;
use scrubjay::paths::create_dir_private;
use scrubjay::tools::shown;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use tokio_util::sync::CancellationToken;

/// How a check came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Fine,
    Note,
    Broken,
}

struct Check {
    name: String,
    verdict: Verdict,
    detail: String,
}

impl Check {
    fn new(name: impl Into<String>, verdict: Verdict, detail: impl Into<String>) -> Self {
        Self { name: name.into(), verdict, detail: detail.into() }
    }
}

pub(super) fn run(workplace: &Workplace, paper: &Paper) -> Result<(), Failure> {
    let mut checks = vec![Check::new("version", Verdict::Fine, env!("CARGO_PKG_VERSION"))];
    checks.extend(environment(workplace));
    checks.extend(folders(workplace));
    checks.extend(key_checks(workplace));
    checks.push(model(workplace));
    checks.extend(embeddings(workplace));
    checks.extend(settings(workplace));
    checks.extend(sessions(workplace));
    checks.extend(memory(workplace));
    report(&checks, paper)?;
    let broken = checks.iter().filter(|check| check.verdict == Verdict::Broken).count();
    if broken > 0 { Err(Failure::failed(format!("{broken} of {} checks failed", checks.len()))) } else { Ok(()) }
}

fn report(checks: &[Check], paper: &Paper) -> Result<(), Failure> {
    if paper.form == Form::Json {
        let checks: Vec<Value> = checks
            .iter()
            .map(|check| json!({ "name": check.name, "verdict": word(check.verdict).1, "detail": check.detail }))
            .collect();
        return paper.json("doctor", json!({ "checks": checks }));
    }
    for check in checks {
        let (tone, word) = word(check.verdict);
        let padded = format!("{word:<6}");
        let word = tone.map_or_else(|| padded.clone(), |tone| paper.ink.paint(tone, &padded));
        paper.line(&format!("{word} {:<12} {}", check.name, shown(&check.detail)))?;
    }
    Ok(())
}

fn word(verdict: Verdict) -> (Option<Tone>, &'static str) {
    match verdict {
        Verdict::Fine => (None, "ok"),
        Verdict::Note => (Some(Tone::Warning), "note"),
        Verdict::Broken => (Some(Tone::Bad), "failed"),
    }
}

/// Names only: a value may be a secret.
fn environment(workplace: &Workplace) -> Option<Check> {
    let names: Vec<&str> = workplace
        .environment
        .values()
        .keys()
        .filter(|name| name.starts_with("SCRUBJAY_"))
        .map(String::as_str)
        .collect();
    let home =
        workplace.environment.get(HOME_VARIABLE).map(|home| format!("; everything lies in {home}")).unwrap_or_default();
    (!names.is_empty()).then(|| Check::new("environment", Verdict::Fine, format!("{} set{home}", names.join(", "))))
}

fn folders(workplace: &Workplace) -> Vec<Check> {
    workplace.places.named().into_iter().map(|(name, dir)| folder(name, dir)).collect()
}

/// Sessions need two of the folders; the others may be missing or read-only.
fn folder(name: &str, dir: &Path) -> Check {
    let needed = matches!(name, "data" | "state");
    let shown = dir.display();
    if !needed && !dir.exists() {
        return Check::new(name, Verdict::Fine, format!("{shown} (not there yet)"));
    }
    match writable(dir) {
        Ok(()) => Check::new(name, Verdict::Fine, format!("{shown} (writable)")),
        Err(error) => {
            let verdict = if needed { Verdict::Broken } else { Verdict::Note };
            Check::new(name, verdict, format!("{shown} cannot be written: {error}"))
        }
    }
}

fn writable(dir: &Path) -> std::io::Result<()> {
    if !dir.exists() {
        create_dir_private(dir)?;
    }
    let probe = dir.join(format!(".doctor-{}", std::process::id()));
    std::fs::write(&probe, b"")?;
    std::fs::remove_file(&probe)
}

fn key_checks(workplace: &Workplace) -> Vec<Check> {
    let found = match keys(workplace) {
        Ok(found) => found,
        Err(failure) => return vec![Check::new("keys", Verdict::Broken, failure.to_string())],
    };
    let present = |there: bool| if there { "present" } else { "not set" };
    vec![
        Check::new("anthropic", Verdict::Fine, format!("key {}", present(found.opens_anthropic()))),
        Check::new("openai", Verdict::Fine, format!("key {}", present(found.openai_key.is_some()))),
        Check::new("key file", Verdict::Fine, {
            let path = workplace.places.keys();
            format!("{} ({})", path.display(), if path.exists() { "there" } else { "not there" })
        }),
    ]
}

fn model(workplace: &Workplace) -> Check {
    if let Err(failure) = catalogue(workplace) {
        return Check::new("model", Verdict::Broken, failure.to_string());
    }
    match Service::known(workplace) {
        Ok(service) if service.is_offline() => Check::new("model", Verdict::Note, service.described(workplace)),
        Ok(service) => Check::new("model", Verdict::Fine, service.described(workplace)),
        Err(failure) => Check::new("model", Verdict::Broken, failure.to_string()),
    }
}

/// Nothing is sent; a model file is read.
fn embeddings(workplace: &Workplace) -> Option<Check> {
    match embedder(workplace) {
        Ok(embedder) => embedder.map(|embedder| Check::new("embeddings", Verdict::Fine, embedder.name())),
        Err(failure) => Some(Check::new("embeddings", Verdict::Broken, failure.to_string())),
    }
}

fn settings(workplace: &Workplace) -> Vec<Check> {
    let warnings = &workplace.settings.warnings;
    if warnings.is_empty() {
        return vec![Check::new("settings", Verdict::Fine, "nothing was ignored")];
    }
    warnings.iter().map(|warning| Check::new("settings", Verdict::Note, warning.as_str())).collect()
}

fn sessions(workplace: &Workplace) -> Vec<Check> {
    let shelf = Shelf::of(workplace);
    let places = match shelf.places() {
        Ok(places) => places,
        Err(failure) => return vec![Check::new("sessions", Verdict::Broken, failure.to_string())],
    };
    let mut checks = vec![Check::new("sessions", Verdict::Fine, format!("{} in this project", places.len()))];
    for place in &places {
        match shelf.peek(place) {
            Ok((_, damage)) if damage.is_empty() => {}
            Ok((_, damage)) => {
                checks.push(Check::new("session", Verdict::Note, format!("{}: {}", place.id, damage_in_words(&damage))))
            }
            Err(error) => checks.push(Check::new("session", Verdict::Note, error.to_string())),
        }
    }
    checks
}

/// The directory, what opening it had to put right, and what of it is wrong. Titles and texts stay out: they are private.
fn memory(workplace: &Workplace) -> Vec<Check> {
    let looked = memories::peek(workplace).and_then(|found| match found {
        None => Ok(None),
        Some((mut memory, repairs)) => {
            let findings = memory.check()?;
            Ok(Some((memory, repairs, findings)))
        }
    });
    let (memory, repairs, findings) = match looked {
        Ok(Some(looked)) => looked,
        Ok(None) => return vec![Check::new("memory", Verdict::Fine, "nothing remembered yet")],
        Err(failure) => return vec![Check::new("memory", Verdict::Broken, failure.to_string())],
    };
    let count = memories::how_many(memory.scan().entries.len());
    let off = workplace.settings.memory_off_because().map(|why| format!(", off because {why}")).unwrap_or_default();
    let mut checks =
        vec![Check::new("memory", Verdict::Fine, format!("{count} in {}{off}", memory.place().memory.display()))];
    checks.extend(memories::notices(&repairs).into_iter().map(|notice| Check::new("memory", Verdict::Note, notice)));
    match memory.pollution(&workplace.root, &CancellationToken::new()) {
        Ok(pollution) => checks.push(Check::new("memory", Verdict::Fine, pollution_in_words(&pollution))),
        Err(error) => checks.push(Check::new("memory", Verdict::Note, error.to_string())),
    }
    let open = std::fs::metadata(&memory.place().memory).is_ok_and(|meta| meta.permissions().mode() & 0o077 != 0);
    if open {
        let advice = format!("others may look into it; `chmod 700 {}`", memory.place().memory.display());
        checks.push(Check::new("memory", Verdict::Note, advice));
    }
    let (wrong, advice): (Vec<_>, Vec<_>) = findings.iter().partition(|finding| is_broken(finding));
    for (verdict, kind, findings) in [(Verdict::Note, "fault", wrong), (Verdict::Fine, "hint", advice)] {
        if !findings.is_empty() {
            let count = counted(findings.len() as u64, kind);
            let found = format!("{count}; `scrubjay memory check` says more");
            checks.push(Check::new("memory", verdict, found));
        }
    }
    checks
}
