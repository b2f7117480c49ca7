//! What leaves the person's own scope: where a memory belongs, and what never gets there.
//!
//! Every write passes here on its one way to the disk, so no door can miss it. What somebody put into the shared folder
//! without the engine is found at the next look: it is named by a check and kept out of the index until it is cleaned.

use super::commit::Planned;
use super::journal::{Cause, Rests};
use super::provenance::{Basis, Source, Speaker, Trust};
use super::recall::words;
use super::scan::{Entry, Team, is_shared};
use super::store::Memory;
use super::topic::{Kind, Topic};
use super::{MemoryError, name};
use crate::secrets;

/// Whose memory it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The person's alone.
    Private,
    /// Everybody's who works on the project.
    Team,
}

impl Scope {
    /// A file's path in this scope.
    pub fn path(self, file: &str) -> String {
        match self {
            Scope::Private => file.to_owned(),
            Scope::Team => format!("{}/{file}", name::TEAM),
        }
    }
}

/// Words that make a rule one of the whole project.
const CONVENTION: &[&str] =
    &["we", "our", "us", "everybody", "everyone", "team", "convention", "repository", "project"];
/// Words that make a fact one of a single person.
const PERSONAL: &[&str] = &["i", "i'm", "me", "my", "mine", "myself"];

/// Where a memory belongs when nobody says, and why.
///
/// ```
/// use scrubjay::memory::{Kind, Scope, scope_of};
/// assert_eq!(scope_of(Kind::Feedback, "Keep answers short.").0, Scope::Private);
/// assert_eq!(scope_of(Kind::Feedback, "Our tests never mock the database.").0, Scope::Team);
/// ```
pub fn scope_of(kind: Kind, text: &str) -> (Scope, &'static str) {
    let has = |list: &[&str]| words(text).any(|word| list.contains(&word.replace('’', "'").as_str()));
    match kind {
        Kind::User => (Scope::Private, "what is about you is never shared"),
        Kind::Feedback | Kind::Project | Kind::Reference if has(PERSONAL) => (Scope::Private, "it speaks of you"),
        Kind::Feedback if has(CONVENTION) => (Scope::Team, "it is a convention of the project"),
        Kind::Feedback => (Scope::Private, "how you like it is yours, unless it is a convention of the project"),
        Kind::Project | Kind::Reference => (Scope::Team, "what the project is about concerns everybody in it"),
        Kind::Untyped => (Scope::Private, "it has no type"),
    }
}

/// A credential in a text: what, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credential {
    /// The rule that knows it.
    pub rule: String,
    /// The line it begins in.
    pub line: usize,
}

/// The first credential in a text that is not in `known`.
pub fn credential(text: &str, known: &str) -> Option<Credential> {
    let is_new = |finding: &secrets::Finding| !known.contains(&text[finding.span.clone()]);
    let finding = secrets::scan(text).into_iter().find(is_new)?;
    let line = text[..finding.span.start].matches('\n').count() + 1;
    Some(Credential { rule: finding.rule, line })
}

impl Memory {
    /// Refuse what may not be written: into the shared folder no credential and nothing about the person; by an agent no
    /// credential anywhere; by nobody a file whose name holds one.
    pub(super) fn check_leaving(&self, cause: &Cause, planned: &[Planned]) -> Result<(), MemoryError> {
        use Cause::{Dream, Extraction, Message, Session, Tool};
        let by_agent = matches!(cause, Session { .. } | Message { .. } | Extraction { .. } | Dream | Tool { .. });
        for plan in planned {
            let is_new = plan.was.is_none() && plan.text.is_some();
            if let Some(rule) = is_new.then(|| secrets::in_file_name(&plan.path)).flatten() {
                return Err(MemoryError::CredentialInName { rule });
            }
            let Some(text) = plan.text.as_deref().filter(|_| by_agent || is_shared(&plan.path)) else { continue };
            let known = match is_shared(&plan.path) {
                true => "",
                false => plan.was.as_ref().map_or("", |(_, text)| text.as_str()),
            };
            if let Some(Credential { rule, line }) = credential(text, known) {
                return Err(MemoryError::Credential { path: plan.path.clone(), rule, line });
            }
            if is_shared(&plan.path) && Topic::read(text, &self.limits).kind == Kind::User {
                return Err(MemoryError::Personal { path: plan.path.clone() });
            }
        }
        Ok(())
    }

    /// Look through shared memories that were not looked through yet.
    pub(super) fn look_through_shared(&mut self) {
        if self.place.team == Team::Off {
            return;
        }
        let is_unknown = |entry: &&Entry| entry.is_shared() && !self.leaks.contains_key(&entry.digest);
        let unknown: Vec<Entry> = self.scan.entries.iter().filter(is_unknown).cloned().collect();
        for entry in unknown {
            let kept = self.scan.texts.get(&entry.path).cloned();
            let text = kept.or_else(|| self.text(&entry.path).ok().flatten().map(|(_, text)| text));
            let leaks = text.is_some_and(|text| credential(&text, "").is_some());
            self.leaks.insert(entry.digest, leaks);
        }
    }

    /// Whether a memory is kept out of the index: nobody confirmed it, or it is not fit to be shared.
    pub(super) fn is_withheld(&self, entry: &Entry) -> bool {
        let unfit = || entry.kind == Kind::User || self.leaks.get(&entry.digest).is_some_and(|leaks| *leaks);
        self.is_unconfirmed(entry) || (entry.is_shared() && unfit())
    }

    /// What a memory rests on that came from outside: a tainted one on what it rested on, in this text and under this name too, a
    /// shared one on somebody of the team, nobody knows who.
    pub(super) fn rests_from_outside(&self, entry: &Entry) -> Option<Rests> {
        let before = self.provenance.basis(&entry.path, &entry.digest).cloned();
        if self.is_unconfirmed(entry) {
            return Some(Rests { after: before.clone(), before });
        }
        if !entry.is_shared() {
            return None;
        }
        let speaker = Speaker::Team(String::new());
        let source = Source { speaker, session: String::new(), message: String::new(), quote: String::new() };
        Some(Rests { before, after: Some(Basis { sources: vec![source], trust: Trust::Shared, doubt: None }) })
    }
}

/// What somebody else shared is no more than that once it leaves the shared folder.
pub(super) fn placed(basis: Basis, path: &str) -> Basis {
    let left = basis.trust == Trust::Shared && !is_shared(path);
    Basis { trust: if left { Trust::Tainted } else { basis.trust }, ..basis }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: G1
    #[test]
    fn types_route_by_themselves() {
        use Scope::{Private, Team};
        for (kind, text, scope) in [
            (Kind::User, "We are a team of four.", Private),
            (Kind::Feedback, "Keep answers short.", Private),
            (Kind::Feedback, "In this repository tests use the real database.", Team),
            (Kind::Feedback, "I want our commits small.", Private),
            (Kind::Project, "The freeze starts on 2026-11-19.", Team),
            (Kind::Project, "I’m away until 2026-11-19.", Private),
            (Kind::Reference, "Bugs are tracked in INGEST.", Team),
            (Kind::Untyped, "Something.", Private),
        ] {
            assert_eq!(scope_of(kind, text).0, scope, "{text}");
        }
        assert_eq!((Private.path("a.md"), Team.path("a.md")), ("a.md".to_owned(), "team/a.md".to_owned()));
    }

    // spec: G2
    #[test]
    fn a_credential_is_named_by_its_rule_and_its_line() {
        let token = ["ghp", "16C7e42F292c6912E7710c838347Ae178B4a"].join("_");
        let text = format!("---\nname: x\n---\nthe token is {token}\n");
        let found = credential(&text, "").unwrap();
        assert!(found.line == 4 && found.rule.contains("github"), "{found:?}");
        assert_eq!(credential(&text, &text), None, "what was there already is not new");
        assert_eq!(credential("nothing here", ""), None);
    }
}
