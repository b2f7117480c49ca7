//! Rules of a project that hold for some files only: told once such a file is touched.

use super::discovery::Candidate;
use super::{File, told};
use crate::fence::{fenced, fenced_line, fenced_path, shown_path};
use crate::frontmatter::Document;
use crate::message::{Message, Origin};
use crate::prompts;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// A rule with `paths:` in its header.
#[derive(Debug, Clone)]
pub struct Rule {
    /// Its file.
    pub path: PathBuf,
    /// What it says.
    pub text: String,
    /// What it includes, which is told with it.
    pub(super) included: Vec<File>,
    /// The patterns, as written.
    patterns: Vec<String>,
    files: GlobSet,
    /// What the patterns are relative to.
    base: PathBuf,
}

impl Rule {
    /// A rule for some files; `None` when it names none and so holds for all.
    pub(super) fn of(doc: &Document<'_>, candidate: &Candidate, warnings: &mut Vec<String>) -> Option<Self> {
        let patterns: Vec<String> = doc.list("paths").iter().flat_map(|list| split(list)).collect();
        if patterns.is_empty() {
            return None;
        }
        let mut files = GlobSetBuilder::new();
        for pattern in &patterns {
            // A pattern without a folder means files of that name anywhere.
            let anywhere = if pattern.contains('/') {
                pattern.trim_start_matches("./").to_owned()
            } else {
                format!("**/{pattern}")
            };
            match GlobBuilder::new(&anywhere).literal_separator(true).build() {
                Ok(glob) => drop(files.add(glob)),
                Err(error) => warnings.push(format!(
                    "{} names files by a pattern that cannot be read ({}); it matches nothing",
                    shown_path(&candidate.path),
                    fenced_line(&error.to_string())
                )),
            }
        }
        let files = files.build().unwrap_or_default();
        let text = doc.body.trim().to_owned();
        let (path, base, included) = (candidate.path.clone(), candidate.base.clone(), Vec::new());
        Some(Self { path, text, included, patterns, files, base })
    }

    fn what(&self) -> String {
        prompts::rule(&fenced_line(&self.patterns.join(", ")))
    }

    /// How it begins wherever it is told.
    fn introduction(&self) -> String {
        format!("{} ({}):\n<", fenced_path(&self.path), self.what())
    }

    /// Whether it holds for a file.
    pub fn covers(&self, file: &Path) -> bool {
        let stays = |inner: &Path| inner.components().all(|part| part != Component::ParentDir);
        file.strip_prefix(&self.base).is_ok_and(|inner| stays(inner) && self.files.is_match(inner))
    }
}

/// One line may list several patterns; a comma between braces parts none.
fn split(list: &str) -> Vec<String> {
    let mut depth = 0_usize;
    let parted = list.split(|c: char| {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    parted.map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

/// The rules that hold for files that were touched and that this history does not tell yet, in order.
pub fn due<'a>(rules: &'a [Rule], touched: &[PathBuf], history: &[Arc<Message>]) -> Vec<&'a Rule> {
    let instructions = || history.iter().filter(|message| message.origin == Origin::Instructions);
    let fits = |rule: &&Rule| touched.iter().any(|file| rule.covers(file));
    let is_told = |rule: &&Rule| instructions().any(|message| message.text().contains(&rule.introduction()));
    rules.iter().filter(fits).filter(|rule| !is_told(rule)).collect()
}

/// The text of the message that tells these rules. `nonce` is the session's own.
pub fn rules_text(rules: &[&Rule], nonce: &str) -> String {
    let one = |rule: &&Rule| {
        let own = prompts::instruction_file(&fenced_path(&rule.path), &rule.what(), &fenced(&rule.text), nonce);
        debug_assert!(own.contains(&rule.introduction()));
        let included = rule.included.iter().map(|file| told(file, nonce));
        included.chain([own]).collect::<Vec<_>>().join("\n")
    };
    let all: Vec<String> = rules.iter().map(one).collect();
    prompts::rules(&all.join("\n"), nonce)
}
