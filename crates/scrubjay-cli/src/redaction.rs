//! What is told about a session holds no credential: logs, errors, titles, reports. The transcript has the exact bytes.

use scrubjay::secrets::veiled;
use serde_json::Value;
use std::io::{self, Write};

/// The same with every text in it redacted.
pub(crate) fn veiled_json(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(veiled(&text)),
        Value::Array(values) => values.into_iter().map(veiled_json).collect(),
        Value::Object(fields) => {
            Value::Object(fields.into_iter().map(|(key, value)| (key, veiled_json(value))).collect())
        }
        other => other,
    }
}

/// A file that never holds a credential. Each write is one whole message.
pub(crate) struct Redacting<W>(pub(crate) W);

impl<W: Write> Write for Redacting<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write_all(veiled(&String::from_utf8_lossy(bytes)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    // spec: G2
    #[test]
    fn logs_and_reports_hold_no_credential() {
        let token = ["ghp", "16C7e42F292c6912E7710c838347Ae178B4a"].join("_");
        let mut file = Redacting(Vec::new());
        writeln!(file, "the service said: {token} is wrong").unwrap();
        let logged = String::from_utf8(file.0).unwrap();
        assert!(logged.starts_with("the service said: [REDACTED:") && !logged.contains(&token), "{logged}");
        let report =
            veiled_json(json!({ "kept": [{ "text": format!("use {token}") }], "score": 0.5, token.clone(): null }));
        assert!(!report["kept"].to_string().contains(&token) && report["score"] == 0.5, "{report}");
    }
}
