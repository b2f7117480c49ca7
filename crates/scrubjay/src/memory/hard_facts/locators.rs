//! Where something is: URLs, hosts, addresses, mail, paths, files, scoped packages, flags and channels.

use super::Side;
use super::plain::{is_han, is_letter};
use std::ops::Range;

/// A locator and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Locator {
    pub(super) span: Range<usize>,
    /// Lower case, without scheme and trailing slash.
    pub(super) key: String,
}

/// Endings that tell a file from a host, and `7.pdf` from a number.
const FILE_ENDINGS: &[&str] = &[
    "c", "conf", "cpp", "css", "csv", "doc", "docx", "go", "h", "html", "java", "jpg", "js", "json", "lock", "log",
    "md", "mov", "mp3", "mp4", "pdf", "png", "pptx", "py", "r", "rb", "rs", "sh", "sql", "stl", "toml", "ts", "tsx",
    "txt", "wav", "xls", "xlsx", "xml", "yaml", "yml", "zip",
];

/// The locators of a text, in order. What was shown is read generously: `red/green` may be a path there.
pub(super) fn find(text: &str, side: Side) -> Vec<Locator> {
    let mut found = Vec::new();
    let mut in_code = false;
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        if !is_run(c) {
            in_code ^= c == '`';
            in_code &= !text[at..].starts_with("\n\n");
            at += c.len_utf8();
            continue;
        }
        let end = at + text[at..].find(|c| !is_run(c)).unwrap_or(text.len() - at);
        let read = Run { text, side, in_code };
        at = read.run(at..end, &mut found).max(end);
    }
    found
}

/// Characters of which locators are made. Quotes, brackets, commas and ideographs end one.
fn is_run(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_graphic() && !"\"'`<>()[]{},;|!^".contains(c) } else { is_letter(c) }
}

/// A URL also goes on after these, so that nothing can be hung onto a shown one behind a comma.
fn is_url(c: char) -> bool {
    is_run(c) || ",;|!^".contains(c)
}

/// A stretch without spaces, and how it is read.
struct Run<'t> {
    text: &'t str,
    side: Side,
    in_code: bool,
}

impl Run<'_> {
    /// Reads one run and says where it ended.
    fn run(&self, span: Range<usize>, found: &mut Vec<Locator>) -> usize {
        let run = &self.text[span.clone()];
        if let Some(scheme) = run.find("://") {
            let before = run[..scheme].rfind(|c: char| !c.is_ascii_alphanumeric() && !"+-.".contains(c));
            let start = span.start + before.map_or(0, |at| at + run[at..].chars().next().map_or(1, char::len_utf8));
            let rest = &self.text[start..];
            let end = start + rest.find(|c| !is_url(c)).unwrap_or(rest.len());
            self.pieces(span.start..start, found);
            let url = trimmed(self.text, start..end);
            let after = self.text[url.clone()].find("://").map_or(url.start, |at| url.start + at + 3);
            if after < url.end {
                found.push(Locator { key: key(&self.text[after..url.end]), span: url });
            }
            return end;
        }
        self.pieces(span.clone(), found);
        span.end
    }

    /// Reads a run without a scheme: whole, or in the parts that `=` and `:` make of it.
    fn pieces(&self, span: Range<usize>, found: &mut Vec<Locator>) {
        let mut start = span.start;
        for part in dots_apart(&self.text[span]) {
            let whole = trimmed(self.text, start..start + part.len());
            start += part.len();
            if self.is_locator(&whole) {
                found.push(self.located(whole));
                continue;
            }
            let mut from = whole.start;
            for piece in self.text[whole.clone()].split_inclusive(['=', ':', '&', '+', '~']) {
                let piece_span = trimmed(self.text, from..from + piece.len());
                from += piece.len();
                if piece_span != whole && self.is_locator(&piece_span) {
                    found.push(self.located(piece_span));
                }
            }
        }
    }

    fn located(&self, span: Range<usize>) -> Locator {
        Locator { key: key(&self.text[span.clone()]), span }
    }

    fn is_locator(&self, span: &Range<usize>) -> bool {
        let word = &self.text[span.clone()];
        if word.len() < 2 || !word.contains(is_word) {
            return false;
        }
        let before = self.text[..span.start].chars().next_back();
        let opens = before.is_none_or(|c| opens_a_word(c) || is_han(c));
        // `Kunde(-n)` is a plural.
        let opens_flag = opens && before != Some('(');
        match word.as_bytes() {
            [b'-', b'-', first, ..] => opens && first.is_ascii_alphabetic() && word.len() > 3,
            [b'-', first, rest @ ..] => opens_flag && first.is_ascii_alphabetic() && self.is_short_flag(rest),
            [b'#', ..] => opens && word[1..].starts_with(is_letter) && word[1..].chars().all(is_name),
            [b'@', ..] => word[1..].split('/').count() == 2 && word[1..].split('/').all(|part| part.contains(is_word)),
            _ if word.contains('@') => is_mail(word),
            _ if word.contains(['/', '\\']) => self.is_path(&word.replace('\\', "/"), opens),
            _ => is_host(word),
        }
    }

    /// `-x` anywhere; `-rf` only in code, as prose has hyphens before whole words too.
    fn is_short_flag(&self, rest: &[u8]) -> bool {
        let letters = rest.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
        let all = rest.iter().all(u8::is_ascii_alphanumeric);
        all && (letters == 0 || self.in_code || self.side == Side::Shown)
    }

    /// Whether a word with a slash is a path and not two alternatives.
    fn is_path(&self, word: &str, opens: bool) -> bool {
        let mut parts = word.split('/').filter(|part| !part.is_empty());
        if !word.contains(is_letter) {
            return parts.next().is_some_and(is_address);
        }
        let rooted = ["/", "./", "../", "~/"].iter().any(|root| word.starts_with(root)) || word.get(1..3) == Some(":/");
        let long = word.trim_matches('/').chars().count() > 1;
        let says_so = parts.any(|part| is_host(part) || part.contains('_') || part.starts_with('.') && part.len() > 2);
        let code = self.in_code && word.trim_matches('/').contains('/');
        (rooted && opens && long) || says_so || code || self.side == Side::Shown
    }
}

/// The parts of a run between ellipses; `../x` is none.
fn dots_apart(run: &str) -> impl Iterator<Item = &str> {
    let ends = |at: usize| run[at..].find("...").map_or(run.len(), |found| at + found + 3);
    let mut at = 0;
    std::iter::from_fn(move || {
        let part = (at < run.len()).then(|| &run[at..ends(at)])?;
        at += part.len();
        Some(part)
    })
}

/// A span without the marks that a sentence puts around a word.
fn trimmed(text: &str, span: Range<usize>) -> Range<usize> {
    let word = &text[span.clone()];
    let lead = word.len() - word.trim_start_matches(['*', '_', ':', '=', '&', '+', '?', '%', '$', '|']).len();
    let lead = if word.starts_with("*.") { 2 } else { lead };
    let word = &word[lead..];
    let tail = word.trim_end_matches(|c| ".,;:!?*_=&|^+~\"'".contains(c)).len();
    span.start + lead..span.start + lead + tail
}

fn key(locator: &str) -> String {
    let lower = locator.to_lowercase().replace('\\', "/");
    lower.trim_end_matches('/').to_owned()
}

fn is_word(c: char) -> bool {
    is_letter(c) || c.is_ascii_digit()
}

fn is_name(c: char) -> bool {
    is_word(c) || c == '-' || c == '_'
}

fn opens_a_word(c: char) -> bool {
    c.is_whitespace() || "\"'`<([{,;|“„«‹‘—–:=*_、。，「『（".contains(c)
}

fn is_mail(word: &str) -> bool {
    let Some((user, host)) = word.rsplit_once('@') else { return false };
    user.contains(is_letter) && host.contains(is_letter) && host.starts_with(is_word)
}

/// A name with dots in it, `localhost` or an IP address, with a port or without.
fn is_host(word: &str) -> bool {
    let (name, port) = word.split_once(':').unwrap_or((word, ""));
    let fits = port.chars().all(|c| is_name(c) || "./?=#".contains(c)) && port.is_empty() != word.contains(':');
    let name = name.split(['?', '#']).next().unwrap_or_default();
    fits && (is_dotted(name) || is_address(name) || (name.eq_ignore_ascii_case("localhost") && !port.is_empty()))
}

fn is_address(word: &str) -> bool {
    let word = word.split(':').next().unwrap_or_default();
    word.split('.').count() == 4 && word.split('.').all(|part| part.len() < 4 && part.parse::<u8>().is_ok())
}

/// `host.example`, `file.rs` and `.env`; not `e.g`, `3.5mm`, `Node.js` or a missing space after a full stop.
fn is_dotted(word: &str) -> bool {
    let word = word.trim_start_matches("*.");
    if let Some(hidden) = word.strip_prefix('.') {
        return hidden.len() > 1
            && hidden.starts_with(char::is_lowercase)
            && hidden.chars().all(|c| is_name(c) || c == '.');
    }
    let parts: Vec<&str> = word.split('.').collect();
    let (Some(first), Some(last)) = (parts.first(), parts.last()) else { return false };
    if parts.len() < 2 || !parts.iter().all(|part| !part.is_empty() && part.chars().all(|c| is_name(c) || c == '%')) {
        return false;
    }
    let is_file = FILE_ENDINGS.contains(&last.to_lowercase().as_str());
    let product = first.starts_with(char::is_uppercase) && parts.len() == 2 && last.to_lowercase() == "js";
    let sentence = last.starts_with(char::is_uppercase) && last.contains(char::is_lowercase);
    // `EE.UU` and `Co.KG` are abbreviations.
    let capitals = |part: &str| part.chars().all(char::is_uppercase);
    let short = capitals(last) && !is_file && (last.chars().count() < 4 || !capitals(first));
    let ending = match last.chars().count() {
        1 => is_file && first.chars().count() > 2,
        _ => last.starts_with(is_letter) && !sentence && !short,
    };
    let number = first.bytes().all(|byte| byte.is_ascii_digit());
    let named = !number || is_file || (parts.len() > 2 && parts.iter().skip(1).all(|part| part.contains(is_letter)));
    let initials = parts.iter().all(|part| part.chars().count() == 1);
    ending && named && !product && !initials
}

/// What to call a locator.
pub(super) fn noun(text: &str) -> &'static str {
    let ending = text.rsplit('.').next().unwrap_or_default().to_lowercase();
    match text {
        _ if text.starts_with('-') => "the flag",
        _ if text.starts_with('#') => "the channel",
        _ if text.starts_with('@') => "the package",
        _ if text.contains("://") || text.contains('@') => "the address",
        _ if text.contains('.') && FILE_ENDINGS.contains(&ending.as_str()) => "the file",
        _ if text.starts_with(['/', '.', '~']) || !text.contains(['.', ':']) => "the path",
        _ => "the address",
    }
}
