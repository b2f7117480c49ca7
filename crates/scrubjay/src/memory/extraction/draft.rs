//! A memory as the extractor hands it in: its text, the file it would go to, and the words it says it rests on.

use super::super::{Kind, Topic};
use crate::frontmatter::{self, Value};
use crate::limits::Limits;

const KEYS: &[&str] = &["name", "description", "type", CITES];
const CITES: &str = "cites";

/// A memory that somebody wants to save.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// The file, below the memory directory.
    pub path: String,
    /// What it is to say, without its citations.
    pub text: String,
    /// The words it rests on, exactly as they were said.
    pub cites: Vec<String>,
    /// What the file says now, if it is there.
    pub before: Option<String>,
}

impl Draft {
    /// Read what a model wrote: the citations are taken out of the header.
    pub fn read(path: &str, written: &str, before: Option<&str>, limits: &Limits) -> Self {
        let mut document = frontmatter::parse(written, KEYS, limits);
        let cites = match document.take(CITES) {
            Some(Value::List(cites)) => cites,
            Some(Value::Text(cite)) => vec![cite],
            None => Vec::new(),
        };
        let cites = cites.into_iter().map(|cite| unwrapped(&cite)).filter(|cite| !cite.is_empty()).collect();
        let text = frontmatter::render(&document);
        Self { path: path.to_owned(), text, cites, before: before.map(str::to_owned) }
    }

    pub(super) fn topic(&self, limits: &Limits) -> Topic {
        Topic::read(&self.text, limits)
    }

    /// The same text with other words in it.
    pub(super) fn with(&self, topic: &Topic, limits: &Limits) -> String {
        topic.text_over(&self.text, limits)
    }

    /// What of the memory is new: all of a new one, otherwise the lines that were not there.
    pub(super) fn added(&self, limits: &Limits) -> Topic {
        let topic = self.topic(limits);
        let Some(before) = &self.before else { return topic };
        let was = Topic::read(before, limits);
        let known: Vec<&str> = was.body.lines().map(str::trim).collect();
        let fresh = |now: &str, was: &str| if now == was { String::new() } else { now.to_owned() };
        let body = topic.body.lines().filter(|line| !known.contains(&line.trim())).collect::<Vec<_>>().join("\n");
        Topic {
            name: fresh(&topic.name, &was.name),
            description: fresh(&topic.description, &was.description),
            kind: topic.kind,
            body,
        }
    }

    /// What the header lacks.
    pub(super) fn lacks(&self, limits: &Limits) -> Option<&'static str> {
        let topic = self.topic(limits);
        match () {
            () if topic.name.trim().is_empty() => Some("name"),
            () if topic.description.trim().is_empty() => Some("description"),
            () if topic.kind == Kind::Untyped => Some("type: user, feedback, project or reference"),
            () if topic.body.trim().is_empty() => Some("text below the header"),
            () if self.cites.is_empty() => Some("cites: the exact words of the new messages it rests on"),
            () => None,
        }
    }
}

/// Models like to put a quotation into marks of its own, or to end it with dots.
fn unwrapped(cite: &str) -> String {
    cite.trim().trim_matches(['"', '\u{201c}', '\u{201d}', '\u{2026}']).trim_end_matches("...").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: X4
    #[test]
    fn citations_are_read_and_never_saved() {
        let limits = Limits::default();
        let body = "---\nname: Tea\ndescription: likes tea\ntype: user\n";
        for cites in
            ["cites: [\"I like tea\", 'at four']\n", "cites:\n  - \"I like tea\"\n  - \u{201c}at four\u{201d}\n"]
        {
            let draft = Draft::read("user_tea.md", &format!("{body}{cites}---\nLikes tea.\n"), None, &limits);
            assert_eq!(draft.cites, ["I like tea", "at four"], "{cites}");
            assert!(!draft.text.contains("cites") && !draft.text.contains("at four"), "{}", draft.text);
            assert_eq!((draft.topic(&limits).kind, draft.lacks(&limits)), (Kind::User, None));
        }
        let twice = format!("{body}cites: [\"I like tea\"]\ncites: [\"at four\n---\nLikes tea.\n");
        let draft = Draft::read("x.md", &twice, None, &limits);
        assert!(!draft.text.contains("cites") && draft.cites.len() == 1, "said twice, and badly: {draft:?}");
        let draft = Draft::read("x.md", &format!("{body}---\nLikes tea.\n"), None, &limits);
        assert!(draft.lacks(&limits).is_some_and(|what| what.starts_with("cites")));
        assert_eq!(Draft::read("x.md", "plain", None, &limits).lacks(&limits), Some("name"));
    }

    #[test]
    fn of_a_changed_memory_only_what_is_new_has_to_rest_on_something() {
        let limits = Limits::default();
        let before = "---\nname: Tea\ndescription: likes tea\ntype: user\n---\nLikes tea.\n";
        let after = before.replace("Likes tea.\n", "Likes tea.\nNo sugar.\n");
        let added = Draft::read("x.md", &after, Some(before), &limits).added(&limits);
        assert_eq!((added.name.as_str(), added.body.as_str()), ("", "No sugar."));
    }
}
