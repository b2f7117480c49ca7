//! Who may send what: words from anybody, orders only from whoever shares a secret with the receiver.
//!
//! A leader gives each teammate a secret when it starts it. A letter that is more than words carries a proof that its
//! writer knows the secret, made over everything in the letter; whoever reads the letter does not learn the secret.

use super::{Letter, LetterKind};
use crate::digest::Digest;
use std::collections::BTreeMap;

/// A secret between a leader and one teammate.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Token {
    /// From text that nobody can guess.
    pub fn new(secret: impl Into<String>) -> Self {
        Self(secret.into())
    }

    /// The letter with the proof that its writer knows the secret.
    pub fn sign(&self, letter: Letter) -> Letter {
        let proof = Some(self.proof(&letter));
        Letter { proof, ..letter }
    }

    fn proof(&self, letter: &Letter) -> String {
        let bare = Letter { proof: None, ..letter.clone() };
        let said = serde_json::to_vec(&bare).unwrap_or_default();
        // Twice, so that nothing can be appended by somebody who saw only the result.
        let keyed = |bytes: &[u8]| Digest::of(&[self.0.as_bytes(), b"\0", bytes].concat());
        keyed(keyed(&said).as_str().as_bytes()).as_str().to_owned()
    }
}

/// What somebody is to whoever trusts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It started this one.
    Leader,
    /// It was started by this one.
    Teammate,
}

/// With whom a secret is shared, and how they stand.
#[derive(Debug, Clone, Default)]
pub struct Trust(BTreeMap<String, (Standing, Token)>);

impl Trust {
    /// Share this secret with somebody.
    pub fn share(&mut self, name: &str, standing: Standing, token: Token) {
        self.0.insert(name.to_owned(), (standing, token));
    }

    /// The secret shared with somebody.
    pub fn token(&self, name: &str) -> Option<&Token> {
        self.0.get(name).map(|(_, token)| token)
    }

    /// How many of these were started by this one.
    pub fn teammates(&self, names: &[String]) -> usize {
        let is_mate = |name: &&String| self.0.get(*name).is_some_and(|(standing, _)| *standing == Standing::Teammate);
        names.iter().filter(is_mate).count()
    }

    /// Signed where a secret is shared with its receiver.
    pub fn sign(&self, letter: Letter) -> Letter {
        match self.token(&letter.to) {
            Some(token) => token.sign(letter),
            None => letter,
        }
    }

    /// Whether this letter may be what it says it is; why not otherwise.
    pub fn allows(&self, letter: &Letter) -> Result<(), String> {
        let needed = match letter.kind {
            LetterKind::Message => return Ok(()),
            LetterKind::ShutdownRequest | LetterKind::PlanApprovalResponse => Standing::Leader,
            LetterKind::ShutdownResponse => Standing::Teammate,
        };
        let kind = letter.kind.word();
        match self.0.get(&letter.from) {
            Some((standing, token)) if *standing == needed => {
                let proven = letter.proof.as_deref() == Some(token.proof(letter).as_str());
                if proven { Ok(()) } else { Err(format!("it is a {kind} without proof that {} wrote it", letter.from)) }
            }
            _ => Err(format!("it is a {kind}, which {} may not send here", letter.from)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;

    fn order(kind: LetterKind, from: &str) -> Letter {
        Letter::new(from, "mate", "please", Timestamp::UNIX_EPOCH).of_kind(kind, Some(true))
    }

    // spec: A4
    // safety: SG25
    #[test]
    fn orders_come_only_from_whoever_shares_the_secret_and_stands_right() {
        let token = Token::new("secret");
        let mut trust = Trust::default();
        trust.share("lead", Standing::Leader, token.clone());
        trust.share("helper", Standing::Teammate, token.clone());
        let allowed = |letter: Letter| trust.allows(&letter).is_ok();
        use LetterKind::{Message, PlanApprovalResponse, ShutdownRequest, ShutdownResponse};
        assert!(allowed(order(Message, "anybody")));
        for kind in [ShutdownRequest, PlanApprovalResponse] {
            assert!(allowed(token.sign(order(kind, "lead"))));
            assert!(!allowed(order(kind, "lead")), "a name is no proof");
            assert!(!allowed(Token::new("guess").sign(order(kind, "lead"))));
            assert!(!allowed(token.sign(order(kind, "helper"))), "a teammate is no leader");
            assert!(!allowed(token.sign(order(kind, "stranger"))));
        }
        assert!(allowed(token.sign(order(ShutdownResponse, "helper"))));
        assert!(!allowed(token.sign(order(ShutdownResponse, "lead"))));
        let signed = token.sign(order(ShutdownRequest, "lead"));
        for forged in [
            Letter { id: "other".into(), ..signed.clone() },
            Letter { kind: PlanApprovalResponse, ..signed.clone() },
            Letter { message: "now".into(), ..signed.clone() },
            Letter { approve: None, ..signed.clone() },
            Letter { to: "other".into(), ..signed.clone() },
        ] {
            assert!(!allowed(forged), "a proof is for one letter alone");
        }
        assert!(!format!("{trust:?}").contains("secret"));
    }
}
