//! The nine sections of a summary: found in whatever a model wrote, and written back in order.

use crate::prose::{closes, fence_mark};
use serde::Serialize;

/// One of the nine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Section {
    /// What the person wants.
    Request,
    /// Ideas and names that matter.
    Concepts,
    /// Files, what was done to them, snippets.
    Files,
    /// What failed and what followed.
    Errors,
    /// What was tried and found out.
    Solving,
    /// Everything the person said, verbatim.
    UserMessages,
    /// What is still to be done.
    Pending,
    /// What was being done.
    Current,
    /// What would come next.
    Next,
}

/// In order.
pub const ALL: [Section; 9] = [
    Section::Request,
    Section::Concepts,
    Section::Files,
    Section::Errors,
    Section::Solving,
    Section::UserMessages,
    Section::Pending,
    Section::Current,
    Section::Next,
];

impl Section {
    /// Its heading.
    pub fn title(self) -> &'static str {
        match self {
            Section::Request => "Primary Request and Intent",
            Section::Concepts => "Key Technical Concepts",
            Section::Files => "Files and Code Sections",
            Section::Errors => "Errors and Fixes",
            Section::Solving => "Problem Solving",
            Section::UserMessages => "All User Messages",
            Section::Pending => "Pending Tasks",
            Section::Current => "Current Work",
            Section::Next => "Optional Next Step",
        }
    }

    fn index(self) -> usize {
        ALL.iter().position(|section| *section == self).unwrap_or_default()
    }
}

/// A summary, taken apart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sections {
    /// What stands before the first heading.
    pub preamble: String,
    bodies: [String; 9],
    /// Strings that no section had and that must not be lost, under the nine.
    pub anchors: String,
}

impl Sections {
    /// Nine empty sections after a preamble.
    pub fn after(preamble: String) -> Self {
        Self { preamble, ..Self::default() }
    }

    /// The body of one section, without outer blank lines.
    pub fn body(&self, section: Section) -> &str {
        &self.bodies[section.index()]
    }

    /// Put a section's body in place of what it had.
    pub fn set(&mut self, section: Section, body: &str) {
        body.trim_matches('\n').clone_into(&mut self.bodies[section.index()]);
    }

    /// Whether a model wrote anything we can use.
    pub fn is_empty(&self) -> bool {
        self.preamble.trim().is_empty() && self.bodies.iter().all(|body| body.trim().is_empty())
    }

    /// All nine, in order, numbered; an empty one says so.
    pub fn render(&self) -> String {
        let mut whole = self.clone();
        let empty = whole.bodies.iter_mut().filter(|body| body.trim_end().is_empty());
        empty.for_each(|body| NOTHING.clone_into(body));
        whole.brief()
    }

    /// Those that say something, in order, numbered.
    pub fn brief(&self) -> String {
        let mut out = String::new();
        if !self.preamble.is_empty() {
            out.push_str(self.preamble.trim_end_matches('\n'));
            out.push('\n');
        }
        for (index, section) in ALL.into_iter().enumerate() {
            let body = self.bodies[index].trim_end();
            if body.is_empty() {
                continue;
            }
            out.push_str(&format!("## {}. {}\n{body}\n", index + 1, section.title()));
        }
        if !self.anchors.is_empty() {
            out.push_str(&format!("{ANCHORS}\n{}\n", self.anchors.trim_end()));
        }
        out
    }
}

/// Heads the anchors.
pub(super) const ANCHORS: &str = "## Also mentioned";

/// What an empty section says.
pub const NOTHING: &str = "None.";

/// Take a reply apart: the analysis is dropped, the summary is split at its headings. Missing tags, other numbering and
/// other decoration are tolerated; text before the first heading is the preamble.
pub fn parse(reply: &str) -> Sections {
    let mut parts = Sections::default();
    let mut current: Option<Section> = None;
    let mut fence: Option<String> = None;
    let mut collected: [String; 9] = Default::default();
    let (summary, anchors) = apart(summary_of(reply));
    anchors.trim_matches('\n').trim_end().clone_into(&mut parts.anchors);
    for line in summary.split_inclusive('\n') {
        let heading = if fence.is_none() { heading(line) } else { None };
        turn_fence(&mut fence, line);
        let (section, words) = match heading {
            Some((section, rest)) => (Some(section), rest),
            None => (current, line),
        };
        current = section;
        match section {
            Some(section) => {
                let body = &mut collected[section.index()];
                if heading.is_some() && !body.is_empty() && !body.ends_with('\n') {
                    body.push('\n');
                }
                body.push_str(words);
            }
            None => parts.preamble.push_str(words),
        }
    }
    for section in ALL {
        let body = collected[section.index()].trim_matches('\n').trim_end().to_owned();
        parts.set(section, if body == NOTHING { "" } else { &body });
    }
    parts.preamble = parts.preamble.trim_matches('\n').to_owned();
    parts
}

/// The nine sections, and the anchors under them.
fn apart(summary: &str) -> (&str, &str) {
    let (mut at, mut fence) = (0, None);
    for line in summary.split_inclusive('\n') {
        if fence.is_none() && line.trim_end() == ANCHORS {
            return (&summary[..at], &summary[at + line.len()..]);
        }
        turn_fence(&mut fence, line);
        at += line.len();
    }
    (summary, "")
}

fn turn_fence(fence: &mut Option<String>, line: &str) {
    let Some(mark) = fence_mark(line) else { return };
    match fence {
        Some(open) if closes(line, open, mark) => *fence = None,
        Some(_) => {}
        None => *fence = Some(mark.to_owned()),
    }
}

/// What stands between the summary tags; without them, everything but the analysis.
fn summary_of(reply: &str) -> &str {
    let (open, close) = ("<summary>", "</summary>");
    let rest = match reply.find("</analysis>") {
        Some(end) => &reply[end + "</analysis>".len()..],
        None => reply,
    };
    let rest = rest.find(open).map_or(rest, |start| &rest[start + open.len()..]);
    let rest = rest.rfind(close).map_or(rest, |end| &rest[..end]);
    match rest.find("<analysis>") {
        // An analysis that never ends: a summary may still follow where the first heading stands.
        Some(start) if !reply.contains("</analysis>") => first_heading(&rest[start..]).unwrap_or(&rest[..start]),
        _ => rest,
    }
}

fn first_heading(text: &str) -> Option<&str> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if heading(line).is_some() {
            return Some(&text[at..]);
        }
        at += line.len();
    }
    None
}

/// The section that a line opens, and what follows the heading on the same line.
fn heading(line: &str) -> Option<(Section, &str)> {
    let start = line.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '#' | '*' | '_'));
    let digits = start.len() - start.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let start = match start[digits..].strip_prefix(['.', ')', ':']) {
        Some(rest) if (1..=2).contains(&digits) => rest.trim_start_matches([' ', '\t', '*', '_']),
        _ if digits == 0 => start,
        _ => return None,
    };
    let decorated = start.len() < line.trim_start().len();
    ALL.into_iter().find_map(|section| {
        let rest = after_title(start, section.title())?;
        let rest = rest.trim_start_matches(['*', '_', ' ', '\t', '#']);
        let rest = rest.strip_prefix('(').and_then(|aside| aside.split_once(')')).map_or(rest, |(_, rest)| rest);
        if rest.trim().is_empty() {
            return Some((section, ""));
        }
        let rest = rest.strip_prefix([':', '：'])?.trim_start_matches(['*', '_', ' ', '\t']);
        (decorated || rest.trim().is_empty()).then_some((section, if rest.trim().is_empty() { "" } else { rest }))
    })
}

/// What follows a title, whatever its case and whether it says "and" or "&".
fn after_title<'a>(text: &'a str, title: &str) -> Option<&'a str> {
    let mut rest = text;
    for (index, word) in title.split(' ').enumerate() {
        if index > 0 {
            rest = rest.strip_prefix(' ')?;
        }
        let long = rest.get(..word.len()).filter(|start| start.eq_ignore_ascii_case(word)).map(|_| &rest[word.len()..]);
        rest = match long {
            Some(after) => after,
            None if word == "and" => rest.strip_prefix('&')?,
            None => return None,
        };
    }
    Some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    // spec: C3
    #[test]
    fn replies_of_every_shape_are_taken_apart() {
        for (reply, section, body) in [
            (
                "<analysis>x</analysis><summary>\n1. Primary Request and Intent:\n   do it\n</summary>",
                Section::Request,
                "   do it",
            ),
            ("## 3) FILES & CODE SECTIONS\n- a.rs", Section::Files, "- a.rs"),
            ("**Current Work**: editing", Section::Current, "editing"),
            ("6. **All User Messages:**\n - hi\n\n7. Pending Tasks\n- x", Section::UserMessages, " - hi"),
            ("<summary>\n# Errors and Fixes\nE1", Section::Errors, "E1"),
            ("<analysis>never closed\n## 9. Optional Next Step\nrest", Section::Next, "rest"),
            (
                "## 6. All User Messages\n```\n## 7. Pending Tasks\n```\n",
                Section::UserMessages,
                "```\n## 7. Pending Tasks\n```",
            ),
            ("Current work is hard\n## 8. Current Work\nyes", Section::Current, "yes"),
            ("## 4. Errors and Fixes\nNone.\n", Section::Errors, ""),
            ("7. Pending Tasks (from the list):\n- x", Section::Pending, "- x"),
            ("2026. Current Work", Section::Current, ""),
        ] {
            assert_eq!(parse(reply).body(section), body, "{reply:?}");
        }
        assert!(!parse("<analysis>secret</analysis>plain words").render().contains("secret"));
        assert_eq!(parse("plain words").preamble, "plain words");
        assert!(parse("<analysis>only this</analysis>").is_empty());
    }

    #[test]
    fn all_nine_come_back_in_order() {
        let text = parse("## 9. Optional Next Step\nlast\n## 1. Primary Request and Intent\nfirst").render();
        let places: Vec<_> = ALL.iter().map(|section| text.find(section.title()).unwrap()).collect();
        assert!(places.is_sorted(), "{text}");
        assert_eq!(parse(&text).render(), text);
    }

    proptest! {
        #[test]
        fn any_reply_is_read_and_written_twice_the_same(reply in "(\n|## |[1-9]\\. |Current Work|Files & Code Sections|:|\\*\\*|```|<analysis>|</analysis>|<summary>|</summary>|ä| |x){0,40}") {
            let once = parse(&reply).render();
            prop_assert!(once.matches("\n## ").count() >= 8);
            parse(&once).render();
        }
    }
}
