//! What a summariser is asked.

use super::prose::{gist, one_line};
use crate::prompts::fill;

/// Which part of a conversation is summarised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope<'a> {
    /// All of it.
    Whole,
    /// What follows the message that begins like this.
    From(&'a str),
    /// What precedes the message that begins like this.
    UpTo(&'a str),
}

/// The request for a summary. `focus` is what the person or a hook adds to it.
pub fn instructions(scope: Scope<'_>, focus: Option<&str>) -> String {
    let scope = match scope {
        Scope::Whole => include_str!("../../../prompts/compaction/scope-whole.md").trim_end().to_owned(),
        Scope::From(edge) => {
            fill(include_str!("../../../prompts/compaction/scope-from.md"), &[("edge", &gist(edge, EDGE))])
        }
        Scope::UpTo(edge) => {
            fill(include_str!("../../../prompts/compaction/scope-up-to.md"), &[("edge", &gist(edge, EDGE))])
        }
    };
    let asked = fill(include_str!("../../../prompts/compaction/summarise.md"), &[("scope", &scope)]);
    match focus.map(str::trim).filter(|focus| !one_line(focus).is_empty()) {
        Some(focus) => {
            let more = fill(include_str!("../../../prompts/compaction/focus.md"), &[("focus", focus)]);
            format!("{asked}\n\n{more}")
        }
        None => asked,
    }
}

/// Enough of a message to know it by.
const EDGE: usize = 120;

#[cfg(test)]
mod tests {
    use super::super::sections::ALL;
    use super::*;

    // spec: C3
    #[test]
    fn the_nine_sections_are_asked_for_by_name_and_in_order() {
        let asked = instructions(Scope::Whole, None);
        let places: Vec<_> = ALL.iter().map(|section| asked.find(section.title()).unwrap()).collect();
        assert!(places.is_sorted() && asked.contains("<analysis>") && asked.contains("<summary>"));
        assert!(!asked.contains("{{"));
    }

    // spec: C8
    #[test]
    fn a_part_is_named_by_the_message_at_its_edge() {
        let asked = instructions(Scope::UpTo("now the {{focus}}\npart"), Some("keep SQL"));
        assert!(asked.contains("before the message that begins \"now the {{focus}} part\""), "{asked}");
        assert!(asked.ends_with("in addition to the above: keep SQL"));
        assert!(instructions(Scope::From("x"), Some("  ")).ends_with(instructions(Scope::From("x"), None).as_str()));
    }
}
