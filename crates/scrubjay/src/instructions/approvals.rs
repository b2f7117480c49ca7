//! What the person said about files outside of a project that its instruction files want: asked once, remembered in the
//! project's data folder, where no repository and no model writes.

use crate::paths::{create_dir_private, write_private};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// What the person said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// Include it.
    Approved,
    /// Leave it out, and do not ask again.
    Declined,
}

/// The answers of one project, by resolved path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Approvals {
    answers: BTreeMap<String, Answer>,
}

impl Approvals {
    /// The answers in this file; without one there are none yet. A file that cannot be understood approves nothing.
    pub fn read(file: &Path) -> io::Result<Self> {
        let text = match std::fs::read(file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(error),
        };
        Ok(Self { answers: serde_json::from_slice(&text)? })
    }

    /// What was said about a file.
    pub fn answer(&self, path: &Path) -> Option<Answer> {
        self.answers.get(path.to_str()?).copied()
    }

    /// Remember an answer; a path that is not text cannot be approved.
    pub fn remember(&mut self, path: &Path, answer: Answer) {
        self.answers.extend(path.to_str().map(|path| (path.to_owned(), answer)));
    }

    /// Keep the answers.
    pub fn write(&self, file: &Path) -> io::Result<()> {
        create_dir_private(&file.parent().map(PathBuf::from).unwrap_or_default())?;
        write_private(file, &serde_json::to_vec_pretty(&self.answers)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: I2
    #[test]
    fn answers_are_remembered_and_damage_approves_nothing() {
        let held = tempfile::tempdir().unwrap();
        let file = held.path().join("project/includes.json");
        let mut approvals = Approvals::read(&file).unwrap();
        assert_eq!(approvals.answer(Path::new("/x/a.md")), None);
        approvals.remember(Path::new("/x/a.md"), Answer::Approved);
        approvals.remember(Path::new("/x/b.md"), Answer::Declined);
        approvals.write(&file).unwrap();
        let again = Approvals::read(&file).unwrap();
        assert_eq!(again, approvals);
        assert_eq!(again.answer(Path::new("/x/a.md")), Some(Answer::Approved));
        assert_eq!(again.answer(Path::new("/x/b.md")), Some(Answer::Declined));
        std::fs::write(&file, "{\"/x/a.md\":").unwrap();
        assert!(Approvals::read(&file).is_err());
    }
}
