//! Headings in quoted text get a backslash, so that it cannot imitate the structure of what surrounds it.

/// The text with its headings demoted, or `None` when it has none. Lines of code stay as they are: a comment in a script
/// is no heading. A code fence that is never closed is no code, or one line would hide all that follow.
pub(super) fn demoted(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut out = String::with_capacity(text.len() + 8);
    let mut at = 0;
    let mut blocks = Blocks::default();
    let header_end = header_end(&lines);
    while let Some(line) = lines.get(at) {
        let code = blocks.lines(&lines[at..]);
        if code > 0 {
            lines[at..at + code].iter().for_each(|line| out.push_str(line));
            at += code;
            continue;
        }
        let follows_text = at > 0 && at != header_end && !lines[at - 1].trim().is_empty();
        if is_heading(line) || (follows_text && is_underline(line)) {
            let indent = line.len() - line.trim_start_matches(' ').len();
            out.push_str(&line[..indent]);
            out.push('\\');
            out.push_str(&line[indent..]);
        } else {
            out.push_str(line);
        }
        at += 1;
    }
    (out.len() > text.len()).then_some(out)
}

/// The line that closes a front matter; it underlines nothing.
fn header_end(lines: &[&str]) -> usize {
    let is_fence = |line: &&str| line.trim_end() == "---";
    let opened = lines.first().is_some_and(is_fence);
    lines.iter().skip(1).position(is_fence).filter(|_| opened).map_or(0, |end| end + 1)
}

/// `## Title`, indented by at most three spaces.
fn is_heading(line: &str) -> bool {
    let Some(line) = unindented(line) else { return false };
    let hashes = line.bytes().take_while(|byte| *byte == b'#').count();
    (1..=6).contains(&hashes) && line[hashes..].starts_with([' ', '\t', '\n', '\r'])
        || (hashes > 0 && hashes == line.len())
}

/// `===` or `---`, which makes a heading of the line above it.
fn is_underline(line: &str) -> bool {
    let Some(line) = unindented(line).map(str::trim_end) else { return false };
    !line.is_empty() && (line.bytes().all(|byte| byte == b'=') || line.bytes().all(|byte| byte == b'-'))
}

fn unindented(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches(' ');
    (line.len() - rest.len() <= 3).then_some(rest)
}

/// A line that opens or closes a block of code: its character, how many of them, and what else it says.
struct Fence<'a> {
    mark: u8,
    length: usize,
    info: &'a str,
}

impl<'a> Fence<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let rest = unindented(line)?;
        let mark = rest.bytes().next().filter(|byte| [b'`', b'~'].contains(byte))?;
        let length = rest.bytes().take_while(|byte| *byte == mark).count();
        let info = rest[length..].trim();
        (length >= 3 && !(mark == b'`' && info.contains('`'))).then_some(Self { mark, length, info })
    }

    fn ends(&self, opening: &Fence<'_>) -> bool {
        self.mark == opening.mark && self.length >= opening.length && self.info.is_empty()
    }
}

/// Finds where blocks of code end. An end that was looked for in vain is not looked for again.
#[derive(Default)]
struct Blocks {
    endless: Vec<(u8, usize)>,
}

impl Blocks {
    /// How many lines the block takes that begins here; none if there is none, or if it has no end.
    fn lines(&mut self, lines: &[&str]) -> usize {
        let Some(opening) = lines.first().and_then(|line| Fence::of(line)) else { return 0 };
        if self.endless.iter().any(|(mark, length)| *mark == opening.mark && *length <= opening.length) {
            return 0;
        }
        let ends = |line: &&str| Fence::of(line).is_some_and(|fence| fence.ends(&opening));
        match lines.iter().skip(1).position(ends) {
            Some(end) => end + 2,
            None => {
                self.endless.push((opening.mark, opening.length));
                0
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: X3
    #[test]
    fn headings_are_demoted_and_code_is_not() {
        for (text, wanted) in [
            ("## New Instructions", Some("\\## New Instructions")),
            ("a\n   # b\n", Some("a\n   \\# b\n")),
            ("#\n", Some("\\#\n")),
            ("Title\n===\nTitle\n---", Some("Title\n\\===\nTitle\n\\---")),
            ("```\n# unclosed", Some("```\n\\# unclosed")),
            ("```sh\n# comment\n```\n# title", Some("```sh\n# comment\n```\n\\# title")),
            ("~~~~\n# a\n~~~\n# b\n~~~~", None),
            ("    # code", None),
            ("#hashtag and #1", None),
            ("####### seven", None),
            ("\n---\n", None),
            ("---\nname: x\n---\ntext\n---\n", Some("---\nname: x\n---\ntext\n\\---\n")),
            ("---\n# x\n---\n", Some("---\n\\# x\n---\n")),
            ("- a\n- b", None),
            ("\\# already", None),
            ("", None),
        ] {
            assert_eq!(demoted(text).as_deref(), wanted, "{text:?}");
        }
    }
}
