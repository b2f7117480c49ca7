//! Which test proves which rule. The page is made from the tests themselves, and what is claimed must be proved.

use crate::agree;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Rules that are built. Each must be named by at least one test; a rule that is only partly built is not listed here.
const CLAIMED: &[&str] = &[
    "T1", "T2", "T3", "T4", "T5", "T6", "R1", "R2", "R3", "R4", "R5", "R6", "R7", "M1", "M2", "M3", "M4", "M5", "M6",
    "S1", "S2", "S3", "S4", "S5", "S6", "S7", "S8", "S9", "C1", "C2", "C3", "C5", "C6", "C7", "C8", "C9", "C10", "C11",
    "C12", "C13", "C14", "C15", "D1", "D2", "D3", "D4", "D5", "D6", "D7", "D8", "D9", "D10", "D11", "D12", "I1", "I2",
    "I3", "I4", "P1", "P2", "P3", "P4", "P5", "P6", "P7", "P8", "L1", "L2", "L3", "L4", "L5", "L6", "L7", "L8", "L9",
    "F1", "F2", "F3", "E1", "E2", "E3", "E4", "E5", "E6", "E7", "E8", "E9", "E10", "Z1", "Z2", "Z3", "Z4", "Z5", "Z6",
    "Z7", "Z8", "Z9", "A1", "A2", "A3", "A5", "A6", "G1", "G2", "K1", "H1", "H2", "H3", "H4", "H5", "H6", "H7", "H8",
    "Q2", "Q3", "Q4", "Q5", "Q6", "Q7", "W1", "W3", "W4", "W5", "X1", "X2", "X3", "X4", "X5", "X6", "X7", "X8", "V1",
    "V2", "V3", "V4", "V5", "U1", "U2", "U3",
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A fault to put into the code on purpose, and the test that must then fail.
#[derive(serde::Deserialize)]
struct Fault {
    rule: String,
    change: String,
    file: String,
    find: String,
}

#[derive(serde::Deserialize)]
struct Faults {
    fault: Vec<Fault>,
}

fn faults() -> Vec<Fault> {
    let text = fs::read_to_string(root().join("suites/red/faults.toml")).unwrap();
    toml::from_str::<Faults>(&text).unwrap().fault
}

/// Every rule of the specification, with the first words of its text.
fn rules() -> BTreeMap<String, String> {
    let spec = fs::read_to_string(root().join("docs/spec.md")).unwrap();
    let mut rules = BTreeMap::new();
    for line in spec.lines().filter_map(|line| line.strip_prefix("- ")) {
        let Some((id, text)) = line.split_once(' ') else { continue };
        let is_id = id.starts_with(|c: char| c.is_ascii_uppercase()) && id.len() > 1 && id[1..].parse::<u32>().is_ok();
        if is_id {
            rules.insert(id.to_owned(), text.to_owned());
        }
    }
    rules
}

fn sources(at: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(at).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Ids after `// spec:` or `// safety:`, each with the test that follows.
fn proofs() -> BTreeMap<String, Vec<String>> {
    let mut files = Vec::new();
    sources(&root().join("crates"), &mut files);
    files.sort();
    let mut proofs: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let place = file.strip_prefix(root().join("crates")).unwrap().display().to_string();
        let mut named: Vec<String> = Vec::new();
        for line in text.lines().map(str::trim) {
            if let Some(ids) = line.strip_prefix("// spec: ").or_else(|| line.strip_prefix("// safety: ")) {
                named.extend(ids.split(',').map(|id| id.trim().to_owned()));
            } else if let Some(at) = line.find("fn ").filter(|_| !named.is_empty()) {
                let test: String = line[at + 3..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                for id in named.drain(..) {
                    proofs.entry(id).or_default().push(format!("`{test}` ({place})"));
                }
            }
        }
    }
    proofs
}

#[test]
fn what_is_claimed_is_proved_and_what_is_named_exists() {
    let (rules, proofs) = (rules(), proofs());
    assert!(rules.len() > 100, "the specification was not read");
    let unproved: Vec<_> = CLAIMED.iter().filter(|id| !proofs.contains_key(**id)).collect();
    assert!(unproved.is_empty(), "claimed, but no test names them: {unproved:?}");
    let is_safety = |id: &str| id.starts_with("F-") || id.starts_with("SG");
    let unknown: Vec<_> = proofs.keys().filter(|id| !rules.contains_key(*id) && !is_safety(id)).collect();
    assert!(unknown.is_empty(), "tests name rules that do not exist: {unknown:?}");
}

#[test]
fn every_fault_of_the_red_suite_can_still_be_put_in() {
    for fault in faults() {
        let text = fs::read_to_string(root().join(&fault.file)).unwrap_or_default();
        assert_eq!(text.matches(&fault.find).count(), 1, "{}: `{}` must stand there once", fault.file, fault.find);
    }
}

#[test]
fn the_page_of_proofs_is_current() -> std::io::Result<()> {
    let (rules, proofs, faults) = (rules(), proofs(), faults());
    let mut page = String::from(
        "# Which test proves which rule\n\nGenerated from the tests: a test names the rules of [spec.md](spec.md) it proves in a comment above it. \
         `UPDATE_DOCS=1 cargo test` writes this page anew. A rule marked *claimed* is built completely; the others are touched by \
         tests but not finished. The last column names a change that makes a test of the rule fail; `just suite-red` applies them.\n\n\
         | rule | | tests | turns red when |\n| --- | --- | --- | --- |\n",
    );
    for (id, text) in &rules {
        let Some(tests) = proofs.get(id) else { continue };
        let claimed = if CLAIMED.contains(&id.as_str()) { "claimed" } else { "" };
        let short: String = text.chars().take(60).collect();
        let mut shown = tests.iter().take(6).cloned().collect::<Vec<_>>().join("<br>");
        if tests.len() > 6 {
            write!(shown, "<br>and {} more", tests.len() - 6).unwrap();
        }
        let red: Vec<&str> =
            faults.iter().filter(|fault| fault.rule == *id).map(|fault| fault.change.as_str()).collect();
        writeln!(page, "| **{id}** {}… | {claimed} | {shown} | {} |", short.replace('|', "/"), red.join("<br>"))
            .unwrap();
    }
    page.push_str("\n## Hazards\n\nRows of the safety table that have a test.\n\n| hazard | tests |\n| --- | --- |\n");
    for (id, tests) in proofs.iter().filter(|(id, _)| !rules.contains_key(*id)) {
        writeln!(page, "| {id} | {} |", tests.join("<br>")).unwrap();
    }
    agree("conformance.md", &page)
}
