//! `scrubjay doctor`: what is installed, what works, what is damaged. Its output holds no secret and can be pasted.

mod mends;

use super::memory::{is_broken, pollution_in_words};
use crate::arguments::DoctorFlags;
use crate::background;
use crate::failure::Failure;
use crate::memories;
use crate::paper::{Form, Paper, Tone, counted, wrapped};
use crate::places::HOME_VARIABLE;
use crate::sandbox;
use crate::service::{Route, Service, catalogue, embedder, key_in_force};
use crate::shelf::{Shelf, damage_in_words};
use crate::workplace::Workplace;
use jiff::Timestamp;
use mends::Mend;
use scrubjay::paths::create_dir_private;
use scrubjay::tools::shown;
use scrubjay_providers::Provider;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
use std::io::Write as _;
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

/// Something that was looked at.
struct Check {
    /// What it is about.
    name: &'static str,
    verdict: Verdict,
    /// Names the finding, in `docs/doctor.md` too; nothing is wrong without one.
    code: Option<&'static str>,
    detail: String,
    /// What to do about it.
    remedy: Option<String>,
}

impl Check {
    fn fine(name: &'static str, detail: impl Into<String>) -> Self {
        Self { name, verdict: Verdict::Fine, code: None, detail: detail.into(), remedy: None }
    }

    fn note(name: &'static str, code: &'static str, detail: impl Into<String>) -> Self {
        Self { name, verdict: Verdict::Note, code: Some(code), detail: detail.into(), remedy: None }
    }

    fn broken(name: &'static str, code: &'static str, failure: &Failure) -> Self {
        let (detail, remedy) = (failure.message.clone(), failure.fix.clone());
        Self { name, verdict: Verdict::Broken, code: Some(code), detail, remedy }
    }

    fn remedy(self, remedy: impl Into<String>) -> Self {
        Self { remedy: Some(remedy.into()), ..self }
    }
}

pub(super) fn run(flags: &DoctorFlags, workplace: &Workplace, paper: &Paper) -> Result<(), Failure> {
    let mut mended = Vec::new();
    if flags.fix {
        for mend in mends::find(workplace) {
            let done = if flags.dry_run { None } else { Some(mend.act(workplace)) };
            mended.push(Mended { mend, done });
        }
    }
    let checks = examine(workplace);
    let report = Report { checks: &checks, mended: &mended, home: &workplace.places.home };
    match paper.form {
        Form::Json => paper.json("doctor", report.json())?,
        Form::Words => paper.line(&report.words(paper))?,
    }
    let broken = checks.iter().filter(|check| check.verdict == Verdict::Broken).count();
    let unmended = mended.iter().filter(|mended| matches!(mended.done, Some(Err(_)))).count();
    match (broken, unmended) {
        (0, 0) => Ok(()),
        (0, _) => Err(Failure::failed(format!("{} could not be mended", counted(unmended as u64, "thing")))),
        _ => Err(Failure::failed(format!("{broken} of {} checks failed", checks.len()))
            .fix("each line that failed names its remedy")),
    }
}

fn examine(workplace: &Workplace) -> Vec<Check> {
    let mut checks = vec![Check::fine("version", env!("CARGO_PKG_VERSION"))];
    checks.extend(environment(workplace));
    checks.extend(folders(workplace));
    checks.extend(key_checks(workplace));
    checks.push(model(workplace));
    checks.extend(embeddings(workplace));
    checks.extend(settings(workplace));
    checks.push(sandboxed(workplace));
    checks.extend(sessions(workplace));
    checks.extend(memory(workplace));
    checks.extend(
        background::rests(workplace)
            .iter()
            .map(|rest| Check::note("background", "resting", background::resting(rest, Timestamp::now()))),
    );
    checks.extend(mendable(workplace));
    checks
}

/// What `--fix` would put right, a line for each kind.
fn mendable(workplace: &Workplace) -> Vec<Check> {
    let mut kinds: BTreeMap<&'static str, Vec<Mend>> = BTreeMap::new();
    for mend in mends::find(workplace) {
        kinds.entry(mend.code()).or_default().push(mend);
    }
    let one = |(code, mends): (&'static str, Vec<Mend>)| {
        let first = mends.first().map(Mend::words).unwrap_or_default();
        let more = if mends.len() > 1 { format!(" and {} more", mends.len() - 1) } else { String::new() };
        Check::note("to mend", code, format!("{first}{more}"))
            .remedy("`scrubjay doctor --fix` does it; with --dry-run it only says what it would do")
    };
    kinds.into_iter().map(one).collect()
}

/// Something that was to be put right, and what came of it; nothing, where it was only said.
struct Mended {
    mend: Mend,
    done: Option<Result<String, Failure>>,
}

/// All that is told. Nothing of it is private: the home folder is `~`, keys are never read out.
struct Report<'a> {
    checks: &'a [Check],
    mended: &'a [Mended],
    home: &'a Path,
}

impl Report<'_> {
    /// A text that can be pasted anywhere.
    fn public(&self, text: &str) -> String {
        let home = self.home.display().to_string();
        let text = if home.len() > 1 { text.replace(&home, "~") } else { text.to_owned() };
        shown(&scrubjay::secrets::veiled(&text)).into_owned()
    }

    fn words(&self, paper: &Paper) -> String {
        let mut lines = Vec::new();
        for Mended { mend, done } in self.mended {
            let (tone, word, said) = match done {
                None => (Tone::Faint, "would", mend.words()),
                Some(Ok(done)) => (Tone::Active, "mended", done.clone()),
                Some(Err(failure)) => (Tone::Bad, "failed", failure.to_string()),
            };
            lines.push(format!("{} {}", paper.ink.paint(tone, &format!("{word:<6}")), self.public(&said)));
        }
        if !self.mended.is_empty() {
            lines.push(String::new());
        }
        for check in self.checks {
            let (tone, word) = word(check.verdict);
            let padded = format!("{word:<6}");
            let word = tone.map_or_else(|| padded.clone(), |tone| paper.ink.paint(tone, &padded));
            let code = check.code.map(|code| format!(" [{code}]")).unwrap_or_default();
            let told = wrapped(&format!("{}{code}", self.public(&check.detail)), paper.width.saturating_sub(20));
            lines.push(format!("{word} {:<12} {}", check.name, told.replace('\n', &format!("\n{:20}", ""))));
            if let Some(remedy) = &check.remedy {
                let told = wrapped(&self.public(remedy), paper.width.saturating_sub(22));
                lines.push(format!("{:20}> {}", "", told.replace('\n', &format!("\n{:22}", ""))));
            }
        }
        lines.join("\n")
    }

    fn json(&self) -> Value {
        let checks: Vec<Value> = self
            .checks
            .iter()
            .map(|check| {
                json!({
                    "name": check.name,
                    "verdict": word(check.verdict).1,
                    "code": check.code,
                    "detail": self.public(&check.detail),
                    "remedy": check.remedy.as_ref().map(|remedy| self.public(remedy)),
                })
            })
            .collect();
        let mended: Vec<Value> = self
            .mended
            .iter()
            .map(|Mended { mend, done }| {
                let said = match done {
                    Some(Ok(done)) => Some(self.public(done)),
                    _ => None,
                };
                let failed = match done {
                    Some(Err(failure)) => Some(self.public(&failure.to_string())),
                    _ => None,
                };
                json!({ "code": mend.code(), "what": self.public(&mend.words()), "done": said, "failed": failed })
            })
            .collect();
        json!({ "checks": checks, "mends": mended })
    }
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
    (!names.is_empty()).then(|| Check::fine("environment", format!("{} set{home}", names.join(", "))))
}

fn folders(workplace: &Workplace) -> Vec<Check> {
    workplace.places.named().into_iter().map(|(name, dir)| folder(name, dir)).collect()
}

/// Sessions need two of the folders; the others may be missing or read-only.
fn folder(name: &'static str, dir: &Path) -> Check {
    let needed = matches!(name, "data" | "state");
    let shown = dir.display();
    if !needed && !dir.exists() {
        return Check::fine(name, format!("{shown} (not there yet)"));
    }
    match writable(dir) {
        Ok(()) => Check::fine(name, format!("{shown} (writable)")),
        Err(error) => {
            let verdict = if needed { Verdict::Broken } else { Verdict::Note };
            let remedy = match error.kind() {
                StorageFull | QuotaExceeded | FileTooLarge => {
                    format!("the disk is full: free some space, or set {HOME_VARIABLE} to a folder on another one")
                }
                _ => format!("make it writable for you, or set {HOME_VARIABLE} to another folder"),
            };
            let check = Check::note(name, "not-writable", format!("{shown} cannot be written: {error}"));
            Check { verdict, ..check.remedy(remedy) }
        }
    }
}

/// A block of most file systems.
const PROBE_BYTES: usize = 1 << 12;

fn writable(dir: &Path) -> std::io::Result<()> {
    if !dir.exists() {
        create_dir_private(dir)?;
    }
    let probe = dir.join(format!(".doctor-{}", std::process::id()));
    // An empty file can be made on a full disk, one with bytes in it cannot.
    let written = std::fs::File::create_new(&probe).and_then(|mut file| {
        file.write_all(&[0; PROBE_BYTES])?;
        file.sync_all()
    });
    let removed = std::fs::remove_file(&probe);
    written.and(removed)
}

fn key_checks(workplace: &Workplace) -> Vec<Check> {
    let mut checks = Vec::new();
    for (name, provider) in [("anthropic", Provider::Anthropic), ("openai", Provider::OpenAi)] {
        match key_in_force(workplace, provider) {
            Ok(Some((key, place))) => checks.push(Check::fine(name, format!("key present: {key} ({place})"))),
            Ok(None) => checks.push(Check::fine(name, "key not set")),
            Err(failure) => return vec![Check::broken("keys", "key-file", &failure)],
        }
    }
    let path = workplace.places.keys();
    let there = if path.exists() { "there" } else { "not there" };
    checks.push(Check::fine("key file", format!("{} ({there})", path.display())));
    if let Ok(Some(route)) = Route::of(workplace) {
        checks.push(Check::fine("service", route.words()));
    }
    checks
}

fn model(workplace: &Workplace) -> Check {
    if let Err(failure) = catalogue(workplace) {
        return Check::broken("model", "model-list", &failure);
    }
    match Service::known(workplace) {
        Ok(service) if service.is_offline() => Check::note("model", "offline", service.described(workplace))
            .remedy("set ANTHROPIC_API_KEY or OPENAI_API_KEY, or name one on this machine with --model ollama/NAME"),
        Ok(service) => Check::fine("model", service.described_whole(workplace)),
        Err(failure) => Check::broken("model", "model", &failure),
    }
}

/// Nothing is sent; a model file is read.
fn embeddings(workplace: &Workplace) -> Option<Check> {
    match embedder(workplace) {
        Ok(embedder) => embedder.map(|embedder| Check::fine("embeddings", embedder.name())),
        Err(failure) => Some(Check::broken("embeddings", "embeddings", &failure)),
    }
}

fn settings(workplace: &Workplace) -> Vec<Check> {
    let warnings = &workplace.settings.warnings;
    if warnings.is_empty() {
        return vec![Check::fine("settings", "nothing was ignored")];
    }
    let one = |warning: &String| {
        Check::note("settings", "setting-ignored", warning.as_str())
            .remedy("`scrubjay config path` lists the files, `scrubjay flags` what holds")
    };
    warnings.iter().map(one).collect()
}

fn sandboxed(workplace: &Workplace) -> Check {
    match sandbox::in_force(workplace) {
        Ok(name) => Check::fine("sandbox", name),
        Err(why) => Check::note("sandbox", "no-sandbox", format!("none: {why}"))
            .remedy("commands that only read are asked about, and refused where nobody can be asked"),
    }
}

fn sessions(workplace: &Workplace) -> Vec<Check> {
    let shelf = Shelf::of(workplace);
    let places = match shelf.places() {
        Ok(places) => places,
        Err(failure) => return vec![Check::broken("sessions", "sessions-unreadable", &failure)],
    };
    let mut checks = vec![Check::fine("sessions", format!("{} in this project", places.len()))];
    for place in &places {
        let told = match shelf.peek(place) {
            Ok((_, damage)) if damage.is_empty() => continue,
            Ok((_, damage)) => format!("{}: {}", place.id, damage_in_words(&damage)),
            Err(error) => error.to_string(),
        };
        checks.push(
            Check::note("session", "session-damaged", told)
                .remedy("nothing has to be done: what is readable is used, and the session can be gone on with"),
        );
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
        Ok(None) => return vec![Check::fine("memory", "nothing remembered yet")],
        Err(failure) => return vec![Check::broken("memory", "memory-unreadable", &failure)],
    };
    let count = memories::how_many(memory.scan().entries.len());
    let off = workplace.settings.memory_off_because().map(|why| format!(", off because {why}")).unwrap_or_default();
    let folder = &memory.place().memory;
    let mut checks = vec![Check::fine("memory", format!("{count} in {}{off}", folder.display()))];
    let notices = memories::notices(&repairs).into_iter();
    checks.extend(notices.map(|notice| Check::note("memory", "memory-mended", notice)));
    match memory.pollution(&workplace.root, &CancellationToken::new()) {
        Ok(pollution) => checks.push(Check::fine("memory", pollution_in_words(&pollution))),
        Err(error) => checks.push(Check::note("memory", "memory-unreadable", error.to_string())),
    }
    if std::fs::metadata(folder).is_ok_and(|meta| meta.permissions().mode() & 0o077 != 0) {
        let advice = format!("`chmod 700 {}`", folder.display());
        checks.push(Check::note("memory", "exposed", "others may look into it").remedy(advice));
    }
    let (wrong, advice): (Vec<_>, Vec<_>) = findings.iter().partition(|finding| is_broken(finding));
    if !wrong.is_empty() {
        let told = counted(wrong.len() as u64, "fault");
        checks.push(Check::note("memory", "memory-faults", told).remedy("`scrubjay memory check` says more"));
    }
    if !advice.is_empty() {
        let told = format!("{}; `scrubjay memory check` says more", counted(advice.len() as u64, "hint"));
        checks.push(Check::fine("memory", told));
    }
    checks
}

#[cfg(test)]
mod tests {
    /// The codes that stand in the code above: the second text of each finding, and the words of each mend.
    fn codes() -> Vec<&'static str> {
        let (checks, mends) = (include_str!("mod.rs"), include_str!("mends.rs"));
        let checks = checks.split("#[cfg(test)]").next().unwrap();
        let finding = |rest: &'static str| rest.split('"').nth(3);
        let findings = checks.split("Check::note(").skip(1).chain(checks.split("Check::broken(").skip(1));
        let named = mends.lines().filter(|line| line.trim_start().starts_with("Mend::") && line.contains("=> \""));
        findings.filter_map(finding).chain(named.filter_map(|line| line.split('"').nth(1))).collect()
    }

    #[test]
    fn every_code_is_explained() {
        let page = include_str!("../../../../../docs/commands.md");
        let codes = codes();
        assert!(codes.len() > 15 && codes.contains(&"exposed") && codes.contains(&"offline"), "{codes:?}");
        for code in codes.into_iter().filter(|code| !code.contains([' ', '{'])) {
            assert!(page.contains(&format!("| `{code}` |")), "docs/commands.md does not explain `{code}`");
        }
    }
}
