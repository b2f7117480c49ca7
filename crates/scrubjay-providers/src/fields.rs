//! A JSON object as its fields in order, each as the exact text that came.

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::fmt;

/// The fields of an object. Nothing is reordered, reformatted or dropped.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fields(Vec<(String, Box<RawValue>)>);

impl Fields {
    /// Read an object.
    pub(crate) fn read(json: &str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }

    /// The text of a field.
    pub(crate) fn get(&self, name: &str) -> Option<&RawValue> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| &**value)
    }

    /// A field that is a string.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.get(name)?.get()).ok()
    }

    /// Change a field in its place, or add it at the end.
    pub(crate) fn set(&mut self, name: &str, value: Box<RawValue>) {
        match self.0.iter_mut().find(|(key, _)| key == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name.to_owned(), value)),
        }
    }

    /// All of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &RawValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), &**value))
    }

    /// As one JSON object again.
    pub(crate) fn json(&self) -> String {
        let mut out = String::from("{");
        for (at, (name, value)) in self.0.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            out.push_str(&quoted(name));
            out.push(':');
            out.push_str(value.get());
        }
        out.push('}');
        out
    }
}

/// A string as JSON. Every string has a JSON text.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A string as raw JSON.
pub(crate) fn raw(json: String) -> Option<Box<RawValue>> {
    RawValue::from_string(json).ok()
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Fields;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_comes_back_as_it_was() {
        let json = r#"{"z":1.50,"a":{"q":12345678901234567890123},"é\n":null}"#;
        let mut fields = Fields::read(json).unwrap();
        assert_eq!(fields.json(), json);
        fields.set("z", raw("2".into()).unwrap());
        fields.set("new", raw("[]".into()).unwrap());
        assert_eq!(fields.json(), r#"{"z":2,"a":{"q":12345678901234567890123},"é\n":null,"new":[]}"#);
        assert!(Fields::read("[1]").is_none());
    }
}
