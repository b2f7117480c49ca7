//! Credentials: how many made-up tokens are caught, how many false alarms ordinary code and prose give, and at what speed.
//!
//! `cargo bench -p scrubjay --bench secrets -- [--data PATH] [--code PATH] [--prose PATH] [--transcripts PATH] [--missed] [--alarms]`
//!
//! Tokens are drawn from the patterns of a public rule file (ten for each family, always the same ones), put into a sentence and into an
//! assignment, without the random characters that a pattern allows before a name. Our own rules are not made of that file. Labelled
//! strings come from the same place. Code is every `.rs` and `.toml` file below `--code` (by default the sources that cargo keeps), prose every
//! `.json`, `.jsonl`, `.md` and `.gz` file below `--prose` (by default the conversations of the benchmark data), and the same below
//! `--transcripts` (by default sessions of other agents). Speed stands beside reading the same bytes once.

use flate2::read::GzDecoder;
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use scrubjay::secrets::{Certainty, Rules};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

type Failure = Box<dyn std::error::Error>;

const EACH: usize = 10;
/// Enough for a rate with one decimal place.
const MOST_BYTES: usize = 40_000_000;
/// A file that is longer holds tables, not text.
const FILE_BYTES: u64 = 4_000_000;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let rules = Rules::new();
    let problems = rules.problems();
    problems.iter().for_each(|problem| println!("{problem}"));
    match data(&arguments) {
        Some(root) => {
            caught(&rules, &root.join("secrets"), has(&arguments, "--missed"))?;
            labelled(&rules, &root.join("secrets"), has(&arguments, "--missed"))?;
        }
        None => println!("no rule file found: pass --data PATH or set SCRUBJAY_BENCH_DATA; no tokens were made up"),
    }
    let code = given(&arguments, "--code").or_else(|| Some(std::env::home_dir()?.join(".cargo/registry/src")));
    let prose = given(&arguments, "--prose").or_else(|| data(&arguments));
    alarms(&rules, "code", code, &["rs", "toml"], has(&arguments, "--alarms"))?;
    let talk = &["json", "jsonl", "md", "gz"];
    alarms(&rules, "prose", prose, talk, has(&arguments, "--alarms"))?;
    let transcripts = given(&arguments, "--transcripts").or_else(|| Some(data(&arguments)?.join("transcripts")));
    alarms(&rules, "transcripts", transcripts, talk, has(&arguments, "--alarms"))
}

fn has(arguments: &[String], name: &str) -> bool {
    arguments.iter().any(|argument| argument == name)
}

fn given(arguments: &[String], name: &str) -> Option<PathBuf> {
    arguments.iter().position(|argument| argument == name).and_then(|at| arguments.get(at + 1)).map(PathBuf::from)
}

fn data(arguments: &[String]) -> Option<PathBuf> {
    let root = given(arguments, "--data").or_else(|| std::env::var_os("SCRUBJAY_BENCH_DATA").map(PathBuf::from));
    let roots = root.map_or_else(
        || vec![PathBuf::from("../shared/bench"), Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/bench")],
        |root| vec![root],
    );
    roots.into_iter().find(|root| root.join("secrets/gitleaks.toml").exists())
}

#[derive(Deserialize)]
struct RuleFile {
    rules: Vec<Family>,
}

#[derive(Deserialize)]
struct Family {
    id: String,
    regex: Option<String>,
}

/// How many made-up tokens of each family are found, specifically and at all.
fn caught(rules: &Rules, dir: &Path, list: bool) -> Result<(), Failure> {
    let file: RuleFile = toml::from_str(&std::fs::read_to_string(dir.join("gitleaks.toml"))?)?;
    let (mut families, mut tokens, mut specific, mut any) = (0, 0, 0, 0);
    let mut missed: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for family in &file.rules {
        let Some(regex) = &family.regex else { continue };
        let drawn = draw(regex)?;
        families += usize::from(!drawn.is_empty());
        for token in drawn {
            let found = rules.scan(&format!("For the deployment we use {token} until the end of the year.\n"));
            let best = found.iter().map(|finding| finding.certainty).max();
            tokens += 1;
            specific += usize::from(best == Some(Certainty::Specific));
            any += usize::from(best.is_some());
            if best != Some(Certainty::Specific) {
                missed.entry(&family.id).or_default().push(token);
            }
        }
    }
    let share = |part: usize| 100.0 * part as f64 / f64::max(tokens as f64, 1.0);
    println!(
        "made-up tokens: {tokens} of {families} families; caught {:.2}% specifically, {:.2}% at all",
        share(specific),
        share(any)
    );
    for (family, tokens) in missed.iter().filter(|_| list) {
        println!("  missed {} of {family}: {:?}", tokens.len(), tokens.first());
    }
    Ok(())
}

/// Strings that a pattern matches. Anchors and the delimiter behind a token are the sentence's business.
fn draw(regex: &str) -> Result<Vec<String>, Failure> {
    let mut pattern = regex.replace(r#"(?:[\x60'"\s;]|\\[nr]|$)"#, "").replace(r"[\w.-]{0,50}?", "");
    for (class, plain) in [
        (r"\b", ""),
        (r"\B", ""),
        (r"\z", ""),
        ("$", ""),
        ("(?:^|", "(?:"),
        (r"(?s:.)", "[a-z \\n]"),
        (r"[\s\S-]", "[A-Za-z0-9+/\\n]"),
    ] {
        pattern = pattern.replace(class, plain);
    }
    let pattern = ascii(&pattern);
    let strategy = proptest::string::string_regex(&pattern).map_err(|error| format!("{regex}: {error}"))?;
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let mut drawn = Vec::new();
    for _ in 0..EACH {
        // Case folding brings the Kelvin sign and the long s along.
        let token = strategy.new_tree(&mut runner).map_err(|reason| reason.to_string())?.current();
        drawn.push(token.replace('\u{212a}', "k").replace('\u{17f}', "s"));
    }
    Ok(drawn)
}

/// Classes as ASCII: a token has no other letters.
fn ascii(pattern: &str) -> String {
    let (mut out, mut in_class, mut chars) = (String::new(), false, pattern.chars());
    while let Some(c) = chars.next() {
        let class = |inside: &str| if in_class { inside.to_owned() } else { format!("[{inside}]") };
        match c {
            '\\' => match chars.next() {
                Some('w') => out.push_str(&class("A-Za-z0-9_")),
                Some('d') => out.push_str(&class("0-9")),
                Some('s') => out.push_str(&class(" ")),
                Some('S') => out.push_str(&class("A-Za-z0-9")),
                Some(next) => out.extend(['\\', next]),
                None => {}
            },
            // A dot without a count is one whose backslash was forgotten.
            '.' if !in_class => {
                let counted = chars.as_str().starts_with(['*', '+', '?', '{']);
                out.push_str(if counted { "[a-z ]" } else { r"\." });
            }
            _ => {
                in_class = (in_class || c == '[') && c != ']';
                out.push(c);
            }
        }
    }
    out
}

#[derive(Deserialize)]
struct Labelled {
    rule: String,
    label: String,
    text: String,
}

fn labelled(rules: &Rules, dir: &Path, list: bool) -> Result<(), Failure> {
    let all: Vec<Labelled> = serde_json::from_str(&std::fs::read_to_string(dir.join("gitleaks_rule_tests.json"))?)?;
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for one in &all {
        let found = match rules.scan(&one.text).iter().map(|finding| finding.certainty).max() {
            Some(Certainty::Specific) => "specific",
            Some(Certainty::Generic) => "generic",
            None => "nothing",
        };
        *counts.entry((&one.label, found)).or_default() += 1;
        if list && (one.label == "secret") != (found == "specific") && (one.label == "secret" || found == "specific") {
            println!(
                "  {} {} found {found}: {:?}",
                one.label,
                one.rule,
                one.text.chars().take(160).collect::<String>()
            );
        }
    }
    println!(
        "labelled strings ({}; some \"secrets\" are patterns or words, some \"clean\" ones are public keys): {counts:?}",
        all.len()
    );
    Ok(())
}

/// False alarms in ordinary text, and the speed of looking for them.
fn alarms(rules: &Rules, kind: &str, root: Option<PathBuf>, extensions: &[&str], list: bool) -> Result<(), Failure> {
    let Some(root) = root.filter(|root| root.exists()) else {
        println!("no {kind} found: pass --{kind} PATH; no false alarms were counted in it");
        return Ok(());
    };
    let texts = texts(&root, extensions)?;
    let bytes: usize = texts.iter().map(|(_, text)| text.len()).sum();
    let started = Instant::now();
    let sum: u64 = texts.iter().flat_map(|(_, text)| text.bytes()).map(u64::from).sum();
    let (read, mut counts) = (started.elapsed(), BTreeMap::<(Certainty, String), usize>::new());
    let started = Instant::now();
    for (path, text) in &texts {
        for finding in rules.scan(text) {
            if list {
                let shown: String = text[finding.span.clone()].chars().take(90).collect();
                println!("  {} {}: {shown:?}", finding.rule, path.display());
            }
            *counts.entry((finding.certainty, finding.rule)).or_default() += 1;
        }
    }
    let scanned = started.elapsed();
    let megabytes = bytes as f64 / 1e6;
    let rate = |wanted: Certainty| {
        counts
            .iter()
            .filter(|((certainty, _), _)| *certainty == wanted)
            .map(|(_, n)| *n as f64)
            .fold(0.0, |sum, n| sum + n)
            / megabytes
    };
    println!(
        "{kind}: {megabytes:.1} MB in {} files; false alarms per MB: {:.3} specific, {:.3} generic",
        texts.len(),
        rate(Certainty::Specific),
        rate(Certainty::Generic)
    );
    println!("  by rule: {counts:?}");
    let speed = |time: Duration| megabytes / time.as_secs_f64();
    println!("  {:.1} MB/s, beside {:.0} MB/s for adding up the bytes ({sum})", speed(scanned), speed(read));
    Ok(())
}

fn texts(root: &Path, extensions: &[&str]) -> Result<Vec<(PathBuf, String)>, Failure> {
    let (mut found, mut pending, mut bytes) = (Vec::new(), vec![root.to_owned()], 0);
    while let Some(at) = pending.pop() {
        if at.is_dir() {
            let mut below: Vec<PathBuf> =
                at.read_dir()?.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
            // Sets of credentials and attacks are no ordinary text.
            below.retain(|path| !["secrets", "injection", "target"].iter().any(|name| path.ends_with(name)));
            below.sort();
            pending.extend(below.into_iter().rev());
            continue;
        }
        let extension = at.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        if !extensions.contains(&extension) || at.metadata()?.len() > FILE_BYTES || bytes > MOST_BYTES {
            continue;
        }
        if let Some(text) = text(&at, extension) {
            bytes += text.len();
            found.push((at, text));
        }
    }
    Ok(found)
}

fn text(path: &Path, extension: &str) -> Option<String> {
    let raw = std::fs::read(path).ok()?;
    if extension != "gz" {
        return String::from_utf8(raw).ok();
    }
    let mut text = String::new();
    GzDecoder::new(raw.as_slice()).read_to_string(&mut text).ok().map(|_| text)
}
