//! Passwords as people tell them: the word, and behind it something that nobody would say otherwise. Too coarse for files, right for
//! what is to be kept for good.

/// What people call it.
const WORDS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "passwort",
    "kennwort",
    "contraseña",
    "mot de passe",
    "senha",
    "wachtwoord",
    "密码",
    "密碼",
    "口令",
    "パスワード",
];
/// What stands between the word and the password.
const BETWEEN: &[&str] = &["is", "ist", "es", "est", "lautet", "war", "was", "to", "auf"];
/// Shorter ones are no secret.
const SHORTEST: usize = 6;

/// Whether a text tells a password.
pub fn tells_password(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let ends = WORDS.iter().flat_map(|word| lower.match_indices(word).map(|(at, word)| at + word.len()));
    ends.into_iter().any(|end| {
        let parts = text[end..].split(|c: char| c.is_whitespace() || "=:：は是为為\"'`「」“”".contains(c));
        let first = parts.filter(|part| !part.is_empty()).find(|part| !BETWEEN.contains(&&*part.to_lowercase()));
        first.is_some_and(|part| is_secret(part.trim_end_matches(['.', ',', ';', ')', '。', '，'])))
    })
}

/// Letters and digits, and capitals among small letters or a sign.
fn is_secret(part: &str) -> bool {
    let any = |is: fn(char) -> bool| part.chars().any(is);
    let mixed = any(char::is_uppercase) && any(char::is_lowercase);
    let sign = any(|c| c.is_ascii_punctuation());
    part.chars().count() >= SHORTEST && any(|c| c.is_ascii_digit()) && any(char::is_alphabetic) && (mixed || sign)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_told_in_words_is_found_and_talk_about_passwords_is_not() {
        for told in [
            "user ops, password Tr4m-Kiosk-88!. remember that please",
            "the user ops and the password is `Tr4mKiosk88`",
            "Passwort: sommer-2026",
            "密码是 Tr4m-Kiosk-88",
        ] {
            assert!(tells_password(told), "{told}");
        }
        for plain in [
            "it's in 1password, vault 'Shop Staging', entry 'admin'",
            "passwords are rotated every 90 days",
            "the password policy is in SEC-114",
            "reset the password on 2026-11-20",
            "change the password",
        ] {
            assert!(!tells_password(plain), "{plain}");
        }
    }
}
