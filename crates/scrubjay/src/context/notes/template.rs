//! The template of the notes: what is fixed in it, whether an update left that alone, and how long its sections are.

use crate::limits::Limits;
use crate::prompts::fill;
use crate::tokens::of_text;

/// The ten sections, unless the person has a template of their own.
pub const TEMPLATE: &str = include_str!("../../../prompts/notes/template.md");

/// What the fork that keeps the notes is told, unless the person has instructions of their own.
pub const INSTRUCTIONS: &str = include_str!("../../../prompts/notes/update.md");

/// Stands between what a model wrote and what code found since.
const SINCE: &str = include_str!("../../../prompts/notes/since.md");

/// The section that code leaves as it is.
const TITLE: &str = "Session Title";

/// An update that broke the template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the update of the notes lost the line `{missing}` of their template; it was rejected and the previous notes stay"
)]
pub struct Broken {
    /// The first line that is missing or out of order.
    pub missing: String,
}

/// One section of the notes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part<'a> {
    /// Its heading, without marks.
    pub heading: &'a str,
    /// The heading line and the italic line, as they stand.
    pub fixed: &'a str,
    /// What was written below them.
    pub body: &'a str,
}

/// The instructions for one update (S5): a single pass, so that what the notes say is never taken for a variable.
pub fn instructions(own: Option<&str>, notes: &str, path: &str, limits: &Limits) -> String {
    let said = fill(own.unwrap_or(INSTRUCTIONS), &[("currentNotes", notes), ("notesPath", path)]);
    match condense(notes, limits) {
        Some(more) => format!("{said}\n\n{more}"),
        None => said,
    }
}

/// Whether every heading and every italic line of the template still stands in the text, in order (S6).
pub fn check(template: &str, text: &str) -> Result<(), Broken> {
    let mut lines = outside_fences(text);
    for fixed in fixed_lines(template) {
        if !lines.any(|line| line == fixed) {
            return Err(Broken { missing: fixed.to_owned() });
        }
    }
    Ok(())
}

/// Whether notes say nothing that the template does not say (S9).
pub fn is_empty(template: &str, text: &str) -> bool {
    let fixed: Vec<&str> = template.lines().map(str::trim_end).collect();
    text.lines().map(str::trim_end).all(|line| line.is_empty() || fixed.contains(&line))
}

/// The lines of a template that no update may touch: headings, and the italic line under each.
fn fixed_lines(template: &str) -> impl Iterator<Item = &str> {
    outside_fences(template).filter(|line| is_heading(line) || is_italic(line))
}

fn is_heading(line: &str) -> bool {
    let text = line.trim_start_matches('#');
    text.len() < line.len() && text.starts_with(' ') && line.len() - text.len() <= 6
}

fn is_italic(line: &str) -> bool {
    ['_', '*'].iter().any(|mark| {
        line.len() > 2
            && line.starts_with(*mark)
            && line.ends_with(*mark)
            && !line.starts_with(&format!("{mark}{mark}"))
    })
}

fn outside_fences(text: &str) -> impl Iterator<Item = &str> {
    let mut fence: Option<&str> = None;
    text.lines().map(str::trim_end).filter(move |line| {
        let mark = crate::prose::fence_mark(line);
        match (fence, mark) {
            (None, Some(mark)) => {
                fence = Some(mark);
                false
            }
            (Some(open), Some(mark)) if crate::prose::closes(line, open, mark) => {
                fence = None;
                false
            }
            (open, _) => open.is_none(),
        }
    })
}

/// The sections of notes. What stands before the first heading belongs to none.
pub fn parts(text: &str) -> Vec<Part<'_>> {
    let offset = |line: &str| line.as_ptr() as usize - text.as_ptr() as usize;
    let starts: Vec<usize> = outside_fences(text).filter(|line| is_heading(line)).map(offset).collect();
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    starts.iter().copied().zip(ends).map(|(start, end)| part(&text[start..end])).collect()
}

fn part(text: &str) -> Part<'_> {
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().unwrap_or_default();
    let second = lines.next().filter(|line| is_italic(line.trim_end())).unwrap_or_default();
    let (fixed, body) = text.split_at(first.len() + second.len());
    Part { heading: first.trim_start_matches('#').trim(), fixed, body }
}

/// Sections over their limit and what each takes, and the whole if it is over its own (S4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TooLong<'a> {
    /// Heading and tokens of each section that is too long.
    pub sections: Vec<(&'a str, u64)>,
    /// Tokens of the whole, if it is too long.
    pub whole: Option<u64>,
}

/// How long notes are, where that is too long.
pub fn too_long<'a>(text: &'a str, limits: &Limits) -> Option<TooLong<'a>> {
    let sizes = parts(text).into_iter().map(|part| (part.heading, of_text(part.body.trim(), limits)));
    let sections: Vec<_> = sizes.filter(|(_, tokens)| *tokens > limits.notes_section_tokens).collect();
    let whole = Some(of_text(text, limits)).filter(|tokens| *tokens > limits.notes_tokens);
    (whole.is_some() || !sections.is_empty()).then_some(TooLong { sections, whole })
}

/// What the next update is told about length, if anything is too long (S4).
pub fn condense(text: &str, limits: &Limits) -> Option<String> {
    let found = too_long(text, limits)?;
    let most = limits.notes_section_tokens;
    let mut which: Vec<String> = found
        .sections
        .iter()
        .map(|(heading, tokens)| format!("\"{heading}\" has about {tokens} tokens, {most} are the limit"))
        .collect();
    which.extend(
        found.whole.map(|tokens| format!("the whole has about {tokens} tokens, {} are the limit", limits.notes_tokens)),
    );
    Some(fill(include_str!("../../../prompts/notes/condense.md"), &[("which", &which.join("; "))]))
}

/// The notes with every section cut to its limit, at a line where one is near (S9).
pub fn truncated(text: &str, limits: &Limits) -> String {
    let most =
        usize::try_from(limits.notes_section_tokens.saturating_mul(limits.text_bytes_per_token)).unwrap_or(usize::MAX);
    let all = parts(text);
    let before = all.first().map_or(text.len(), |part| part.fixed.as_ptr() as usize - text.as_ptr() as usize);
    let mut out = cut(&text[..before], most);
    for part in all {
        out.push_str(part.fixed);
        out.push_str(&cut(part.body, most));
    }
    out
}

const CUT: &str = "[cut here: the section was longer than its limit]\n\n";

fn cut(body: &str, most: usize) -> String {
    if body.trim().len() <= most {
        return body.to_owned();
    }
    let kept = &body[..body.floor_char_boundary(most)];
    let kept = match kept.rfind('\n') {
        Some(end) if end * 2 > kept.len() => &kept[..end],
        _ => kept,
    };
    let open = open_fence(kept).map(|fence| format!("{fence}\n")).unwrap_or_default();
    format!("{}\n{open}{CUT}", kept.trim_end())
}

fn open_fence(text: &str) -> Option<&str> {
    use crate::prose::{closes, fence_mark};
    text.lines().fold(None, |fence, line| match (fence, fence_mark(line)) {
        (None, mark) => mark,
        (Some(open), Some(mark)) if closes(line, open, mark) => None,
        (fence, _) => fence,
    })
}

/// A template with text written into its sections, by heading. Headings it does not have are left out.
pub fn written(template: &str, bodies: &[(&str, String)]) -> String {
    let mut out = String::new();
    for part in parts(template) {
        out.push_str(part.fixed.trim_end());
        out.push('\n');
        let known = bodies.iter().find(|(heading, _)| heading.eq_ignore_ascii_case(part.heading));
        let body = known.map_or(part.body.trim(), |(_, body)| body.trim());
        if !body.is_empty() {
            out.push_str(body);
            out.push('\n');
        }
        out.push('\n');
    }
    out
}

/// Notes that a model wrote, with what code found since below its text in each section. What code had added before goes.
pub fn continued(notes: &str, since: &str) -> String {
    let found = parts(since);
    let body = |part: &Part<'_>| {
        let own = part.body.split(SINCE.trim()).next().unwrap_or_default().trim();
        let new = found.iter().find(|new| new.heading == part.heading).map_or("", |new| new.body.trim());
        // A session keeps the title it has.
        let is_said = new.is_empty() || part.heading == TITLE && !own.is_empty();
        if is_said { own.to_owned() } else { format!("{own}\n{}\n{new}", SINCE.trim()) }
    };
    let bodies: Vec<(&str, String)> = parts(notes).iter().map(|part| (part.heading, body(part))).collect();
    written(notes, &bodies)
}

/// The same notes as one text of one writer.
pub fn adopted(notes: &str) -> String {
    notes.split_inclusive('\n').filter(|line| line.trim() != SINCE.trim()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn with(heading: &str, body: &str) -> String {
        written(TEMPLATE, &[(heading, body.to_owned())])
    }

    // spec: S8
    #[test]
    fn what_the_model_wrote_stays_and_what_code_found_since_stands_below_it() {
        let own =
            written(TEMPLATE, &[("Session Title", "Seeds".to_owned()), ("Current State", "- Hiding them.".to_owned())]);
        let found = |state: &str| {
            let title = ("Session Title", "Something else".to_owned());
            written(TEMPLATE, &[title, ("Current State", state.to_owned()), ("Worklog", "- dug a hole".to_owned())])
        };
        let body = |notes: &str, heading: &str| {
            parts(notes).into_iter().find(|part| part.heading == heading).unwrap().body.trim().to_owned()
        };
        let once = continued(&own, &found("- a hole is dug"));
        let again = continued(&once, &found("- two holes are dug"));
        assert_eq!(check(TEMPLATE, &again), Ok(()));
        assert_eq!(body(&again, "Session Title"), "Seeds");
        assert_eq!(
            body(&again, "Current State"),
            format!("- Hiding them.\n{}\n- two holes are dug", SINCE.trim()),
            "code replaces what code had added, and nothing else"
        );
        assert_eq!(body(&again, "Worklog"), format!("{}\n- dug a hole", SINCE.trim()));
        let adopted = adopted(&again);
        assert_eq!(body(&adopted, "Current State"), "- Hiding them.\n- two holes are dug");
        assert_eq!(check(TEMPLATE, &adopted), Ok(()));
    }

    // spec: S1
    #[test]
    fn ten_sections_each_with_a_line_that_says_what_belongs_there() {
        let headings: Vec<_> = parts(TEMPLATE).into_iter().map(|part| part.heading).collect();
        let expected = [
            "Session Title",
            "Current State",
            "Task specification",
            "Files and Functions",
            "Workflow",
            "Errors & Corrections",
            "Codebase and System Documentation",
            "Learnings",
            "Key results",
            "Worklog",
        ];
        assert_eq!(headings, expected);
        assert!(parts(TEMPLATE).iter().all(|part| part.fixed.lines().count() == 2 && part.body.trim().is_empty()));
        assert_eq!(fixed_lines(TEMPLATE).count(), 20);
    }

    // spec: S6
    #[test]
    fn an_update_that_broke_the_template_is_named() {
        let good = with("Workflow", "- cargo test\n```\n# not a heading\n```");
        assert_eq!(check(TEMPLATE, &good), Ok(()));
        for (broken, missing) in [
            (good.replace("# Learnings\n", ""), "# Learnings"),
            (
                good.replace("_Commands that are usually run", "_Commands"),
                "_Commands that are usually run, in which order, and how to read what they print_",
            ),
            (good.replace("# Worklog", "## Worklog"), "# Worklog"),
            (good.replace("# Key results", "```\n# Key results"), "# Key results"),
            (String::new(), "# Session Title"),
        ] {
            assert_eq!(check(TEMPLATE, &broken), Err(Broken { missing: missing.to_owned() }));
        }
        let swapped = "# B\n_b_\n# A\n_a_\n";
        assert!(check("# A\n_a_\n# B\n_b_\n", swapped).is_err());
    }

    // spec: S9
    #[test]
    fn notes_equal_to_the_template_are_empty() {
        assert!(
            is_empty(TEMPLATE, TEMPLATE)
                && is_empty(TEMPLATE, &TEMPLATE.replace('\n', "  \r\n"))
                && is_empty(TEMPLATE, "")
        );
        assert!(!is_empty(TEMPLATE, &with("Learnings", "x")));
    }

    // spec: S4
    #[test]
    fn long_sections_are_named_in_a_condensing_instruction() {
        let limits = Limits::default();
        assert_eq!(condense(&with("Workflow", &"x".repeat(8_000)), &limits), None);
        let long = with("Workflow", &"x".repeat(8_004));
        let told = condense(&long, &limits).unwrap();
        assert!(
            told.contains("\"Workflow\" has about 2001 tokens, 2000 are the limit") && !told.contains("the whole"),
            "{told}"
        );
        let every: Vec<_> = parts(TEMPLATE).iter().map(|part| (part.heading, "y".repeat(6_000))).collect();
        let whole = written(TEMPLATE, &every);
        assert!(condense(&whole, &limits).unwrap().contains("the whole has about"));
        assert!(instructions(None, &long, "/n.md", &limits).contains("too long"));
    }

    // spec: S5
    #[test]
    fn variables_are_replaced_once() {
        let limits = Limits::default();
        let said =
            instructions(Some("at {{notesPath}}: {{currentNotes}} {{other}}"), "a {{notesPath}} $1", "/n.md", &limits);
        assert_eq!(said, "at /n.md: a {{notesPath}} $1 {{other}}");
        assert!(instructions(None, "# x", "/n.md", &limits).contains("The notes are in /n.md"));
    }

    // spec: S9
    #[test]
    fn each_section_is_cut_to_its_limit() {
        let limits = Limits { notes_section_tokens: 50, ..Limits::default() };
        let body = format!("{}```\ncode\n{}", "- a line of work\n".repeat(10), "more code\n".repeat(50));
        let cut = truncated(&with("Worklog", &body), &limits);
        assert_eq!(check(TEMPLATE, &cut), Ok(()));
        let part = parts(&cut).into_iter().find(|part| part.heading == "Worklog").unwrap();
        assert!(part.body.len() <= 200 + CUT.len() + 8 && part.body.contains("cut here"), "{}", part.body);
        assert_eq!(part.body.matches("```").count() % 2, 0);
        assert_eq!(truncated(TEMPLATE, &limits), TEMPLATE);
    }

    proptest! {
        #[test]
        fn any_notes_are_measured_and_cut(text in "(# [a-c]\n|_x_\n|```\n|[a-z é]{0,30}\n|\r\n){0,40}") {
            let limits = Limits { notes_section_tokens: 5, notes_tokens: 20, ..Limits::default() };
            let cut = truncated(&text, &limits);
            prop_assert_eq!(parts(&cut).len(), parts(&text).len());
            condense(&text, &limits);
            prop_assert!(check(&text, &text).is_ok());
            prop_assert!(check(&text, &cut).is_ok() || text.contains("_x_"));
        }
    }
}
