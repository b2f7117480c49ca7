//! One memory: a Markdown file under a header that says what it is called, what it is about and of which kind it is.

use super::name::slug_of;
use crate::frontmatter::{self, Document};
use crate::limits::Limits;
use crate::secrets;
use serde::{Deserialize, Serialize};

const KEYS: &[&str] = &["name", "description", "type"];
const WHY: &str = "**Why:**";
const HOW: &str = "**How to apply:**";

/// What a memory is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Who the person is and how they like to work.
    User,
    /// What they corrected or confirmed.
    Feedback,
    /// What was decided about the work, by whom and until when.
    Project,
    /// Where things are to be found.
    Reference,
    /// Anything else; kept as it is.
    Untyped,
}

impl Kind {
    /// The kinds that have a name.
    pub const NAMED: [Kind; 4] = [Kind::User, Kind::Feedback, Kind::Project, Kind::Reference];

    /// The kind with this name; any other name is untyped.
    pub fn of(name: &str) -> Self {
        Self::NAMED.into_iter().find(|kind| kind.as_str() == name.trim().to_ascii_lowercase()).unwrap_or(Kind::Untyped)
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::User => "user",
            Kind::Feedback => "feedback",
            Kind::Project => "project",
            Kind::Reference => "reference",
            Kind::Untyped => "untyped",
        }
    }
}

/// A memory as it is read and written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topic {
    /// What it is called; empty if its header does not say.
    pub name: String,
    /// What it is about, specifically: recall and the index go by it.
    pub description: String,
    /// Of which kind it is.
    pub kind: Kind,
    /// What it says.
    pub body: String,
}

impl Topic {
    /// Read a file's text. Every text is a memory.
    ///
    /// ```
    /// use scrubjay::{limits::Limits, memory::{Kind, Topic}};
    /// let text = "---\nname: Real database\ndescription: tests use it\ntype: feedback\n---\nNever mock it.\n";
    /// let topic = Topic::read(text, &Limits::default());
    /// assert_eq!((topic.name.as_str(), topic.kind), ("Real database", Kind::Feedback));
    /// assert_eq!(topic.body, "Never mock it.\n");
    /// ```
    pub fn read(text: &str, limits: &Limits) -> Self {
        let header = Header::read(text, limits);
        Self {
            name: header.name,
            description: header.description,
            kind: Kind::of(&header.kind),
            body: header.body.to_owned(),
        }
    }

    /// The text of a new file.
    pub fn text(&self) -> String {
        let mut document = Document::new(&self.body);
        self.write_header(&mut document);
        frontmatter::render(&document)
    }

    /// The text of a file that was there: what its header says besides stays, and a header that says all of this already
    /// stays to the byte.
    pub fn text_over(&self, old: &str, limits: &Limits) -> String {
        let header = &old[..old.len() - Header::read(old, limits).body.len()];
        let same_header = format!("{header}{}", self.body);
        if Topic::read(&same_header, limits) == *self {
            return same_header;
        }
        let mut document = frontmatter::parse(old, KEYS, limits);
        document.body = &self.body;
        self.write_header(&mut document);
        frontmatter::render(&document)
    }

    fn write_header(&self, document: &mut Document<'_>) {
        document.set_text("name", self.name.as_str());
        document.set_text("description", self.description.as_str());
        if self.kind != Kind::Untyped {
            document.set_text("type", self.kind.as_str());
        }
    }

    /// The file name a new memory gets: `<type>_<topic>.md`, without any credential of its title.
    pub fn file_name(&self) -> String {
        let kind = if self.kind == Kind::Untyped { "note" } else { self.kind.as_str() };
        slug_of(&format!("{kind}_{}", slug_of(&secrets::left_out(&self.name)))) + ".md"
    }

    /// Parts that a memory of its kind should have and this one lacks.
    pub fn missing_parts(&self) -> Vec<&'static str> {
        let mut missing = Vec::new();
        let lacks = |part: &str| !self.body.contains(part);
        if self.name.trim().is_empty() {
            missing.push("name");
        }
        if self.description.trim().is_empty() {
            missing.push("description");
        }
        if matches!(self.kind, Kind::Feedback | Kind::Project) {
            missing.extend(
                [(WHY, "Why"), (HOW, "How to apply")].iter().filter(|(part, _)| lacks(part)).map(|(_, name)| *name),
            );
        }
        missing
    }
}

/// The header of a memory as it stands there.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Header<'a> {
    pub(super) name: String,
    pub(super) description: String,
    /// As it is written; it may be no kind at all.
    pub(super) kind: String,
    pub(super) body: &'a str,
}

impl<'a> Header<'a> {
    pub(super) fn read(text: &'a str, limits: &Limits) -> Self {
        if let Some(header) = Self::plain(text, limits) {
            return header;
        }
        let document = frontmatter::parse(text, KEYS, limits);
        let value = |key: &str| document.get(key).unwrap_or_default().trim().to_owned();
        let kind = document.get("type").map(|kind| kind.trim().to_owned()).or_else(|| kind_within(&document));
        let kind = kind.unwrap_or_default();
        Self { name: value("name"), description: value("description"), kind, body: document.body }
    }

    /// The header that nearly every file has, read without a YAML parser: known keys, once each, with values that mean
    /// themselves. It says exactly what the long way would say, or nothing.
    fn plain(text: &'a str, limits: &Limits) -> Option<Self> {
        let rest = text.strip_prefix("---\n")?;
        let end = rest.find("\n---\n")?;
        if (end as u64).saturating_add(9) > limits.front_matter_bytes {
            return None;
        }
        let (mut values, mut seen) = ([String::new(), String::new(), String::new()], [false; 3]);
        for line in rest[..end].split('\n') {
            let (key, value) = line.split_once(": ")?;
            let at = KEYS.iter().position(|known| *known == key)?;
            if std::mem::replace(&mut seen[at], true) {
                return None;
            }
            values[at] = plain_value(value)?;
        }
        let [name, description, kind] = values;
        Some(Self { name, description, kind, body: &rest[end + "\n---\n".len()..] })
    }
}

/// The kind as other agents write it, which keep it a step further in: `metadata:` and below it `type: feedback`.
fn kind_within(document: &Document<'_>) -> Option<String> {
    let mut lines = document.unknown().flat_map(str::lines).skip_while(|line| line.trim_end() != "metadata:").skip(1);
    let within = lines.by_ref().take_while(|line| line.starts_with([' ', '\t']));
    let mut kinds = within.filter_map(|line| line.trim().strip_prefix("type:"));
    kinds.next().map(|kind| kind.trim().trim_matches(['"', '\'']).to_owned())
}

/// A value that is the same to YAML, to a person and to us.
fn plain_value(value: &str) -> Option<String> {
    let inner = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let safe = |c: char| c.is_ascii_alphanumeric() || " ,.;()/_+=!?'—–-äöüßéèáàñç".contains(c);
    let text = inner.unwrap_or(value);
    let ends_well = text.trim() == text && !text.is_empty();
    let starts_well = inner.is_some() || text.starts_with(|c: char| c.is_ascii_alphabetic());
    // A bare word may be YAML's null.
    let is_word = inner.is_some() || !["null", "Null", "NULL"].contains(&text);
    (text.chars().all(safe) && ends_well && starts_well && is_word).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn limits() -> Limits {
        Limits::default()
    }

    fn feedback() -> Topic {
        Topic {
            name: "Real database".into(),
            description: "tests: use the \"real\" one #1".into(),
            kind: Kind::Feedback,
            body: "Never mock it.\n\n**Why:** a mock hid a bug.\n\n**How to apply:** in every test.\n".into(),
        }
    }

    // spec: D6
    #[test]
    fn a_memory_comes_back_as_it_was_written() {
        let topic = feedback();
        assert_eq!(Topic::read(&topic.text(), &limits()), topic);
        assert_eq!(topic.file_name(), "feedback_real_database.md");
        assert_eq!(topic.missing_parts(), Vec::<&str>::new());
    }

    // spec: D6
    #[test]
    fn an_unknown_type_is_kept_and_no_error() {
        let text = "---\nname: a\ntype: recipe\nmood: grumpy\n---\nbody";
        let topic = Topic::read(text, &limits());
        assert_eq!((topic.kind, topic.missing_parts()), (Kind::Untyped, vec!["description"]));
        let again = Topic { description: "d".into(), ..topic }.text_over(text, &limits());
        assert!(again.contains("type: recipe\n") || again.contains("type: \"recipe\"\n"), "{again}");
        assert!(again.contains("mood: grumpy\n"), "{again}");
        assert_eq!(Topic::read("no header at all", &limits()).body, "no header at all");
    }

    // spec: D6
    // spec: X6
    #[test]
    fn a_type_that_other_agents_keep_a_step_further_in_is_read_and_stays_where_it_is() {
        let header = "---\nname: real-db\ndescription: tests use it\nmetadata: \n  node: memory\n  type: feedback\n  origin: 7\n";
        let text = format!("{header}---\nold\n");
        let read = Topic::read(&text, &limits());
        assert_eq!(read.kind, Kind::Feedback);
        let new = Topic { body: "new\n".into(), ..read.clone() };
        assert_eq!(new.text_over(&text, &limits()), text.replace("old\n", "new\n"));
        let renamed = Topic { name: "Real DB".into(), ..read }.text_over(&text, &limits());
        assert!(renamed.contains("metadata: \n  node: memory\n  type: feedback\n  origin: 7\n"), "{renamed}");
        for (more, kind) in [("type: user\n", Kind::User), ("type:\n", Kind::Untyped), ("", Kind::Feedback)] {
            assert_eq!(
                Topic::read(&format!("{header}{more}---\n"), &limits()).kind,
                kind,
                "{more}: its own type goes first"
            );
        }
        for other in
            ["other:\n  type: user\n", "metadata: none\n  type: user\n", "metadata:\n  a: b\nmore:\n  type: user\n"]
        {
            assert_eq!(Topic::read(&format!("---\n{other}---\n"), &limits()).kind, Kind::Untyped, "{other}");
        }
    }

    // spec: X6
    #[test]
    fn the_header_of_a_file_stays_to_the_byte_where_it_says_the_same() {
        let old = "\u{feff}---  \nname: Tests: use the 'real' DB\nmood:   grumpy\ntype: Feedback\ndescription: >\n  a\n  b\n---\nold\n";
        let read = Topic::read(old, &limits());
        let said = Topic { body: "new\n".into(), ..read.clone() }.text_over(old, &limits());
        assert_eq!(said, old.replace("old\n", "new\n"));
        let other = Topic { description: "c".into(), ..read }.text_over(old, &limits());
        assert_eq!(Topic::read(&other, &limits()).description, "c");
        assert!(other.contains("mood:   grumpy\n"), "{other}");
        // A header that nobody closed would swallow a text that looks like one.
        let open = "---\nname: a\n\nold\n";
        let new = Topic { body: "type: user\n".into(), ..Topic::read(open, &limits()) };
        assert_eq!(Topic::read(&new.text_over(open, &limits()), &limits()), new);
    }

    // spec: D6
    #[test]
    fn missing_parts_are_named() {
        let bare = |kind| Topic { name: "n".into(), description: "d".into(), kind, body: "x".into() }.missing_parts();
        assert_eq!(bare(Kind::Feedback), ["Why", "How to apply"]);
        assert_eq!(bare(Kind::Project), ["Why", "How to apply"]);
        assert_eq!((bare(Kind::User), bare(Kind::Reference)), (vec![], vec![]));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(600))]

        /// The short way never says anything the long way would not.
        // spec: X6
        #[test]
        fn the_short_way_says_what_the_long_way_says(
            lines in proptest::collection::vec(
                ("(name|description|type|other|name )", "(: |:|: \")", "[a-zA-Z0-9 ,.;:#'\"()—é~|>{}@*&%!?-]{0,12}", "(\"|)"), 0..5,
            ),
        ) {
            let header: String = lines.iter().map(|(key, colon, value, end)| format!("{key}{colon}{value}{end}\n")).collect();
            let text = format!("---\n{header}---\nbody\n");
            if let Some(short) = Header::plain(&text, &limits()) {
                let document = frontmatter::parse(&text, KEYS, &limits());
                let value = |key: &str| document.get(key).unwrap_or_default().trim().to_owned();
                prop_assert_eq!(&short.name, &value("name"), "{}", text);
                prop_assert_eq!(&short.description, &value("description"), "{}", text);
                prop_assert_eq!(&short.kind, &value("type"), "{}", text);
                prop_assert_eq!(short.body, document.body);
            }
        }

        // spec: X6
        #[test]
        fn any_text_is_a_memory(text in any::<String>(), name in any::<String>(), description in any::<String>()) {
            let topic = Topic { name: name.trim().into(), description: description.trim().into(), kind: Kind::Project, body: text.clone() };
            prop_assert_eq!(&Topic::read(&topic.text(), &limits()), &topic);
            prop_assert!(text.ends_with(&Topic::read(&text, &limits()).body));
            prop_assert_eq!(Topic::read(&topic.text_over(&description, &limits()), &limits()), topic);
        }
    }
}
