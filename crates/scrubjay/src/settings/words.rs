//! Values as people type them, and the known name that is nearest to a mistyped one.

use super::registry::{Kind, LIMITS, SETTINGS, Setting};
use super::{Amount, whole};
use crate::limits::Limits;
use toml::Value;

/// A value from a file, if the setting takes it.
pub(super) fn accept(kind: &Kind, value: &Value) -> Option<Value> {
    let fits = match kind {
        Kind::Flag => value.is_bool(),
        Kind::Number(bounds) => whole(value).is_some_and(|number| bounds.contains(&number)),
        Kind::Text => value.is_str(),
        Kind::Choice(words) => value.as_str().is_some_and(|word| words.contains(&word)),
        Kind::Amount => Amount::of(value).is_some(),
        Kind::List => value.as_array().is_some_and(|items| items.iter().all(Value::is_str)),
        Kind::Table => value.is_table(),
    };
    fits.then(|| value.clone())
}

/// A value from the environment or the command line, if the setting takes it.
pub(super) fn read(kind: &Kind, text: &str) -> Option<Value> {
    let text = text.trim();
    let value = match kind {
        Kind::Flag => Value::Boolean(yes_or_no(text)?),
        Kind::Number(_) => Value::Integer(text.replace('_', "").parse().ok()?),
        Kind::Text | Kind::Choice(_) | Kind::Amount => Value::String(text.to_owned()),
        Kind::List => {
            let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
            Value::Array(items.map(|item| Value::String(item.to_owned())).collect())
        }
        Kind::Table => Value::Table(toml::from_str(text).ok()?),
    };
    accept(kind, &value)
}

/// On or off, in the words people use.
pub(super) fn yes_or_no(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Some(true),
        "0" | "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

/// What a setting takes, in words.
pub(super) fn takes(kind: &Kind) -> String {
    match kind {
        Kind::Flag => "true or false".to_owned(),
        Kind::Number(bounds) => format!("a whole number between {} and {}", bounds.start(), bounds.end()),
        Kind::Text => "text".to_owned(),
        Kind::Choice(words) => format!("one of {}", words.join(", ")),
        Kind::Amount => "a number of tokens (120000) or a percentage (60 %)".to_owned(),
        Kind::List => "a list of texts".to_owned(),
        Kind::Table => "a table".to_owned(),
    }
}

/// The setting behind a key or one of its other names.
pub(super) fn find(key: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| setting.key == key || setting.aliases.contains(&key)).copied()
}

/// The known key that a mistyped one most likely meant.
pub(super) fn nearest(key: &str) -> Option<String> {
    // A name much longer than any we know was not mistyped.
    const LONGEST: usize = 100;
    if key.len() > LONGEST {
        return None;
    }
    let limits = Limits::table().into_iter().map(|limit| format!("{LIMITS}{}", limit.name));
    let variables = SETTINGS.iter().flat_map(|setting| setting.environment).map(|name| (*name).to_owned());
    let names = SETTINGS.iter().map(|setting| setting.key.to_owned()).chain(limits).chain(variables);
    let (distance, name) = names.map(|name| (distance(key, &name), name)).min()?;
    (distance <= key.chars().count() / 3).then_some(name)
}

/// How many letters must be changed, added or removed.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replaced = corner + usize::from(from != *to);
            corner = row[j + 1];
            row[j + 1] = replaced.min(corner + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
