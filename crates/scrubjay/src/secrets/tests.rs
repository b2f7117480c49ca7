use super::*;
use base64::Engine as _;
use proptest::prelude::*;

/// A string that looks random and is none: tokens are put together here so that no scanner takes this file for a leak.
fn random(length: usize) -> String {
    const LETTERS: &[u8] = b"k7Qd2ZwR9xTf4LmB8sVn3GhJ6pYc5XtK";
    (0..length).map(|at| char::from(LETTERS[(at * 7 + at / 32 * 3) % LETTERS.len()])).collect()
}

fn hex(length: usize) -> String {
    const DIGITS: &[u8] = b"7d2f9a4c8b3e6051";
    (0..length).map(|at| char::from(DIGITS[(at * 5 + at / 16) % DIGITS.len()])).collect()
}

fn github() -> String {
    format!("{}{}", "ghp_", random(36))
}

#[track_caller]
fn only(text: &str, rule: &str, secret: &str, certainty: Certainty) {
    let found = scan(text);
    assert_eq!(found.len(), 1, "{text}: {found:?}");
    assert_eq!(
        (found[0].rule.as_str(), &text[found[0].span.clone()], found[0].certainty),
        (rule, secret, certainty),
        "{text}"
    );
}

#[test]
fn every_rule_of_the_table_compiles() {
    assert_eq!(Rules::new().problems(), Vec::<String>::new());
}

#[test]
fn tokens_by_their_face() {
    let key = format!("{}{}AA", "sk-ant-api03-", random(93));
    for (rule, token) in [("github", github()), ("anthropic", key), ("stripe", format!("{}{}", "sk_live_", random(24)))]
    {
        only(&format!("use {token}, please"), rule, &token, Certainty::Specific);
        only(&format!("https://host/?a={token}&b=1"), rule, &token, Certainty::Specific);
        only(&token, rule, &token, Certainty::Specific);
    }
    let jwt = format!("eyJ{}.eyJ{}.{}", random(20), random(30), random(43));
    only(&format!("cookie {jwt}"), "jwt", &jwt, Certainty::Specific);
}

#[test]
fn values_by_the_name_they_are_given_to() {
    let value = hex(32);
    only(&format!("ALGOLIA_API_KEY = \"{value}\""), "algolia", &value, Certainty::Specific);
    only(&format!("the algolia key is {value}."), "algolia", &value, Certainty::Specific);
    let password = random(20);
    only(&format!("password: {password}\n"), "password-assigned", &password, Certainty::Generic);
}

#[test]
fn blocks_addresses_and_headers() {
    let body = random(64);
    let block = format!("-----BEGIN RSA {0}-----\n{body}\n{body}\n-----END RSA {0}-----", "PRIVATE KEY");
    only(&format!("see\n{block}\nthere"), "private-key", &block, Certainty::Specific);
    let password = random(12);
    only(&format!("postgres://app:{password}@db.internal/main"), "connection-password", &password, Certainty::Specific);
    only(&format!("postgres://app:{password}@localhost/main"), "password-in-address", &password, Certainty::Generic);
    let token = random(40);
    only(&format!("Authorization: Bearer {token}"), "http-authorization", &token, Certainty::Specific);
}

#[test]
fn tokens_that_were_taken_apart_are_put_together() {
    let token = github();
    let (head, tail) = token.split_at(19);
    for text in [
        format!("a {head}\u{200b}{tail} b"),
        format!("a gh\u{2060}p_{} b", &token[4..]),
        format!("a {head}\n    {tail} b"),
        format!("a {head}\\\n{tail}\nb"),
        format!("a {}{} b", char::from_u32(u32::from('g') + 0xfee0).unwrap(), &token[1..]),
    ] {
        let found = scan(&text);
        assert_eq!(found.iter().map(|found| found.rule.as_str()).collect::<Vec<_>>(), ["github"], "{text:?}");
        let redacted = redact(&text, b"key");
        assert!(redacted.starts_with("a [REDACTED:github:") && redacted.trim_end().ends_with('b'), "{redacted}");
        assert!(!redacted.contains(&token[25..]), "{redacted}");
    }
}

#[test]
fn what_decodes_to_a_credential_is_one() {
    let token = github();
    let sentence = format!("the token is {token} for now");
    let hexadecimal: String = sentence.bytes().map(|byte| format!("{byte:02x}")).collect();
    let percent: String = token.bytes().map(|byte| format!("%{byte:02X}")).collect();
    for encoded in [base64::engine::general_purpose::STANDARD.encode(&sentence), hexadecimal, percent] {
        only(&format!("data: {encoded} end"), "github", &encoded, Certainty::Specific);
    }
}

#[test]
fn known_values_are_found_wherever_they_stand() {
    let rules = Rules::new().with_known(["correct horse battery", "short"]);
    let found = rules.scan("x=correct horse battery, short");
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].rule, "known-value");
}

#[test]
fn examples_names_and_digests_are_no_credentials() {
    let crossed = format!("{}{}", "ghp_", "x".repeat(36));
    for text in [
        crossed.as_str(),
        "AKIAIOSFODNN7EXAMPLE",
        "postgres://user:password@host/db",
        "postgres://user:${PASSWORD}@host/db",
        "let key = row.key_length_of_the_table;",
        "sha256:7d2f9a4c8b3e60517d2f9a4c8b3e60517d2f9a4c8b3e60517d2f9a4c8b3e6051",
        "commit 7d2f9a4c8b3e60517d2f9a4c8b3e60517d2f9a4c",
        "monkey: 7d2f9a4c8b3e6051",
        "https://example.org/a/b?c=d#e",
        "2026-11-16T10:00:00Z 10.0.0.1 v1.2.3-alpha.4+build.5",
    ] {
        assert_eq!(scan(text), Vec::new(), "{text}");
    }
}

#[test]
fn rules_may_be_brought_along_and_bad_ones_are_reported() {
    let file = r#"
        [[rules]]
        id = "acme"
        regex = 'acme-([a-z0-9]{12})'
        keywords = ["acme"]
        entropy = 2.0
        [[rules.allowlists]]
        stopwords = ["allowed"]
        [[rules]]
        id = "broken"
        regex = '(unclosed'
        [[rules]]
        id = "file names only"
        path = '\.p12$'
    "#;
    let rules = Rules::new().with_file(file);
    let secret = hex(12);
    let text = format!("use acme-{secret} here, not acme-allowed12345 nor acme-aaaaaaaaaaaa");
    let found = rules.scan(&text);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].rule.as_str(), &text[found[0].span.clone()]), ("acme", secret.as_str()));
    let problems = rules.problems();
    assert!(problems.len() == 1 && problems[0].contains("`broken`"), "{problems:?}");
    assert!(Rules::new().with_file("no = [toml").problems()[0].contains("left out"));
}

#[test]
fn equal_secrets_keep_an_equal_mark_that_needs_the_key() {
    let text = format!("{0} and {0}", github());
    let redacted = redact(&text, b"one install");
    let (first, second) = redacted.split_once(" and ").unwrap();
    assert_eq!(first, second);
    assert!(first.starts_with("[REDACTED:github:") && first.len() == "[REDACTED:github:01234567]".len(), "{first}");
    assert_ne!(redact(&text, b"another install"), redacted);
}

#[test]
fn the_mark_is_an_hmac() {
    let digest =
        |key: &[u8], message: &[u8]| hmac(key, message).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    // RFC 4231, test cases 2 and 6.
    let second = digest(b"Jefe", b"what do ya want for nothing?");
    assert_eq!(second, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    let sixth = digest(&[0xaa; 131], b"Test Using Larger Than Block-Size Key - Hash Key First");
    assert_eq!(sixth, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

/// Texts in which credentials and what surrounds them meet in every way.
fn texts() -> impl Strategy<Value = String> {
    let mut parts = vec![github(), hex(32), hex(40), random(12), random(70), format!("eyJ{}", random(20))];
    let plain = [
        " ",
        "\n",
        "=",
        ":",
        "\"",
        "'",
        ".",
        "-",
        "password",
        "algolia",
        "discord",
        "key",
        "token is ",
        "://u:",
        "@h",
        "ghp_",
        "sk_live_",
        "-----BEGIN PRIVATE KEY-----",
        "-----END PRIVATE KEY-----",
        "Authorization: Bearer ",
        "\u{200b}",
        "é",
        "ｇ",
        "[REDACTED:",
        "]",
        "%41",
        "curl -u a:",
        "xoxb-",
        "SK",
        "_mmk",
        "Q~",
        "🙂",
    ];
    parts.extend(plain.map(str::to_owned));
    let part = prop_oneof![3 => proptest::sample::select(parts), 1 => "[a-zA-Z0-9_-]{1,40}"];
    proptest::collection::vec(part, 0..14).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn spans_are_in_order_and_on_boundaries(text in prop_oneof![texts(), any::<String>()]) {
        let mut end = 0;
        for finding in scan(&text) {
            prop_assert!(finding.span.start >= end && finding.span.end > finding.span.start);
            prop_assert!(text.is_char_boundary(finding.span.start) && text.is_char_boundary(finding.span.end));
            end = finding.span.end;
        }
    }

    #[test]
    fn nothing_is_left_to_find_and_nothing_else_is_touched(text in prop_oneof![texts(), any::<String>()]) {
        let redacted = redact(&text, b"key");
        prop_assert_eq!(scan(&redacted), Vec::new(), "{}", redacted);
        prop_assert_eq!(redact(&redacted, b"key"), redacted.clone());
        if scan(&text).is_empty() {
            prop_assert_eq!(redacted, text);
        }
    }
}
