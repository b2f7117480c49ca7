//! JSON as text: one line, key order, numbers and escapes exactly as they came.

use serde_json::value::RawValue;

/// The same JSON on one line: white space between tokens is dropped, and U+2028 / U+2029, which some readers take for
/// line ends, are escaped. Numbers, key order and every other escape stay as they are, and doing it twice changes nothing.
pub fn compact(json: Box<RawValue>) -> Box<RawValue> {
    if !needs_work(json.get()) {
        return json;
    }
    RawValue::from_string(rewrite(json.get())).unwrap_or(json)
}

/// Strings are skipped at the speed of a search: a transcript is mostly strings, and nearly all of it needs no work.
fn needs_work(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => match end_of_string(bytes, at + 1) {
                Some(end) => at = end,
                None => return true,
            },
            b' ' | b'\n' | b'\r' | b'\t' => return true,
            _ => {}
        }
        at += 1;
    }
    false
}

/// Where the string that begins here ends; `None` where it holds a line separator, or does not end.
fn end_of_string(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr::memchr3(b'"', b'\\', 0xE2, bytes.get(at..)?)?;
        match bytes[at] {
            b'"' => return Some(at),
            b'\\' => at += 2,
            _ if is_line_separator(&bytes[at..]) => return None,
            _ => at += 1,
        }
    }
}

fn is_line_separator(bytes: &[u8]) -> bool {
    matches!(bytes, [0xE2, 0x80, 0xA8 | 0xA9, ..])
}

fn rewrite(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut in_string = false;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => in_string = !in_string,
            '\\' if in_string => {
                out.push(c);
                out.extend(chars.next());
                continue;
            }
            ' ' | '\n' | '\r' | '\t' if !in_string => continue,
            '\u{2028}' => {
                out.push_str("\\u2028");
                continue;
            }
            '\u{2029}' => {
                out.push_str("\\u2029");
                continue;
            }
            _ => {}
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn one_line(text: &str) -> String {
        compact(RawValue::from_string(text.to_owned()).unwrap()).get().to_owned()
    }

    #[test]
    fn keeps_what_means_something() {
        let text = "{ \"b\" : 1.50e3,\n \"a\" : \"x \\\" \\u00e9 \\n y\" , \"n\":[ 1 , 12345678901234567890123 ] }";
        assert_eq!(one_line(text), "{\"b\":1.50e3,\"a\":\"x \\\" \\u00e9 \\n y\",\"n\":[1,12345678901234567890123]}");
        assert_eq!(one_line("\"a\u{2028}b\u{2029}\""), "\"a\\u2028b\\u2029\"");
    }

    proptest! {
        #[test]
        fn any_text_survives_and_twice_is_once(s in "\\PC*", t in any::<String>()) {
            let pretty = serde_json::to_string_pretty(&serde_json::json!({ "z": s, "a": [t.clone(), 1.25] })).unwrap();
            let once = one_line(&pretty);
            prop_assert!(!once.contains('\n'));
            prop_assert_eq!(one_line(&once), once.clone());
            let back: serde_json::Value = serde_json::from_str(&once).unwrap();
            let before: serde_json::Value = serde_json::from_str(&pretty).unwrap();
            prop_assert_eq!(back, before);
        }
    }
}
