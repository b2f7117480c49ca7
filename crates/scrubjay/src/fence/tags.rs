//! Our own tags, and the marks by which models tell speakers apart, found in foreign text however they are spelled.
//!
//! A tag is looked for the way a generous reader would read it: compatibility forms, case, accents, look-alike letters,
//! entities, escapes and invisible characters make no difference. The bracket that opens it is put between `⟦⟧`: the
//! text stays readable, and is no tag any more.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Letters that begin the names of our wrappers; what separates words in a name does not count.
const FAMILY: [&str; 3] = ["systemreminder", "persistedoutput", "scrubjay"];

/// Words that open a turn where conversations are written as one text.
const SPEAKERS: [&str; 2] = ["human", "assistant"];

/// A name that takes more than this many bytes is no tag to anybody.
const LONGEST_SPELLING: usize = 512;

/// The text with every such tag marked, or `None` when it has none.
pub(super) fn marked(text: &str) -> Option<String> {
    let mut out = String::new();
    let (mut at, mut copied) = (0, 0);
    let mut line_begins = true;
    while let Some(letter) = text[at..].chars().next() {
        let after_bracket = opening_bracket(&text[at..]);
        let span = match after_bracket {
            Some(length) if opens_tag(&text[at + length..]) => Some((at, length)),
            _ if line_begins && !letter.is_whitespace() => {
                speaker(&text[at..]).map(|(before, length)| (at + before, length))
            }
            _ => None,
        };
        line_begins = letter == '\n' || (line_begins && letter.is_whitespace());
        match span {
            Some((start, length)) => {
                out.push_str(&text[copied..start]);
                out.extend(["⟦", &text[start..start + length], "⟧"]);
                at = start + length;
                copied = at;
            }
            None => at += letter.len_utf8(),
        }
    }
    out.push_str(&text[copied..]);
    (copied > 0).then_some(out)
}

/// How long the opening bracket is that a text begins with, spelled in any way.
fn opening_bracket(text: &str) -> Option<usize> {
    if !text.starts_with(|first: char| matches!(first, '<' | '&' | '\\' | '%') || !first.is_ascii()) {
        return None;
    }
    let (letter, length) = decoded(text)?;
    is_bracket(letter).then_some(length)
}

fn is_bracket(letter: char) -> bool {
    const LOOKALIKES: &str = "<＜﹤‹〈⟨〈❮❬❰⟪《«˂ᐸᐊ⧼⦑⪡≺≪⋖ᚲ";
    LOOKALIKES.contains(letter)
}

/// Whether what follows a bracket names one of our tags, or is a control word of a chat format.
fn opens_tag(text: &str) -> bool {
    let mut name = String::new();
    let mut piped = false;
    let near = Folded { rest: &text[..text.floor_char_boundary(LONGEST_SPELLING)] };
    for letter in near {
        match letter {
            '|' if name.is_empty() => piped = true,
            '|' => return piped,
            letter if letter.is_alphanumeric() => name.push(letter),
            // Words of a name may be parted, and a tag may begin with a slash and spaces.
            letter if is_parting(letter) && !(piped && letter.is_whitespace()) => continue,
            _ => break,
        }
        if FAMILY.iter().any(|word| name.starts_with(word)) {
            return true;
        }
        if !piped && !FAMILY.iter().any(|word| word.starts_with(&name)) {
            return false;
        }
    }
    false
}

fn is_parting(letter: char) -> bool {
    letter.is_whitespace() || "-_./\\!?:·'\"=~+‐".contains(letter)
}

/// A speaker's mark at the beginning of a line: where its colon stands, and how long that is.
fn speaker(text: &str) -> Option<(usize, usize)> {
    let mut name = String::new();
    let mut rest = text;
    while let Some((letter, length)) = next_folded(rest) {
        match letter {
            Some(':') if SPEAKERS.contains(&name.as_str()) => return Some((text.len() - rest.len(), length)),
            Some(letter) if letter.is_alphabetic() => name.push(letter),
            Some(letter) if letter.is_whitespace() && letter != '\n' => {}
            Some(_) => return None,
            None => {}
        }
        if !SPEAKERS.iter().any(|word| word.starts_with(&name)) {
            return None;
        }
        rest = &rest[length..];
    }
    None
}

/// A text as a generous reader sees it, letter by letter.
struct Folded<'a> {
    rest: &'a str,
}

impl Iterator for Folded<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        loop {
            let (letter, length) = next_folded(self.rest)?;
            self.rest = &self.rest[length..];
            if letter.is_some() {
                return letter;
            }
        }
    }
}

/// The next letter, folded, and how much of the text it took; `None` for what a reader does not see.
fn next_folded(text: &str) -> Option<(Option<char>, usize)> {
    if let Some(length) = visible_mark(text) {
        return Some((None, length));
    }
    let (letter, length) = decoded(text)?;
    Some((folded(letter), length))
}

/// `⟦U+200B⟧`: what hid here has been written out already, and still does not count.
fn visible_mark(text: &str) -> Option<usize> {
    let rest = text.strip_prefix("⟦U+")?;
    let digits = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
    let end = "⟦U+".len() + digits;
    ((4..=6).contains(&digits) && text[end..].starts_with('⟧')).then(|| end + '⟧'.len_utf8())
}

/// Compatibility form, lower case, no accents, Latin for what looks like Latin. Letters that fold to several keep the
/// first: no name of ours needs more.
fn folded(letter: char) -> Option<char> {
    if letter.is_ascii() {
        return Some(letter.to_ascii_lowercase());
    }
    if is_combining_mark(letter) || is_unseen(letter) {
        return None;
    }
    let plain = std::iter::once(letter).nfkd().find(|part| !is_combining_mark(*part))?;
    let lower = plain.to_lowercase().next().unwrap_or(plain);
    Some(latin(lower))
}

fn is_unseen(letter: char) -> bool {
    matches!(letter, '\u{ad}' | '\u{34f}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
}

/// Letters of other scripts that look like the ones in our tags.
fn latin(letter: char) -> char {
    const ALIKE: [(char, &str); 19] = [
        ('a', "аαɑ"),
        ('b', "ьƅв"),
        ('c', "сϲᴄ"),
        ('d', "ԁɗ"),
        ('e', "еεєҽ"),
        ('h', "һհн"),
        ('i', "іιıɩ"),
        ('j', "јϳ"),
        ('m', "мᴍ"),
        ('n', "пոηɴ"),
        ('o', "оοօ০०໐ᴏ"),
        ('p', "рρ"),
        ('r', "гᴦʀ"),
        ('s', "ѕꜱ"),
        ('t', "тτᴛ"),
        ('u', "υսцᴜ"),
        ('y', "уүγʏ"),
        ('/', "⁄∕⧸╱"),
        ('-', "‐‑‒–—―−⁃﹘ー"),
    ];
    ALIKE.iter().find(|(_, alike)| alike.contains(letter)).map_or(letter, |(plain, _)| *plain)
}

/// The character a text begins with, after entities and escapes are read as what they stand for, and how long its
/// spelling is.
fn decoded(text: &str) -> Option<(char, usize)> {
    let first = text.chars().next()?;
    let spelled = match first {
        '&' => entity(text),
        '\\' => escape(text),
        '%' => hex(text.get(1..3)?).map(|letter| (letter, 3)),
        _ => None,
    };
    Some(spelled.unwrap_or((first, first.len_utf8())))
}

/// `&lt;`, `&#60;`, `&#x3c;`, also written as `&amp;lt;` any number of times over.
fn entity(text: &str) -> Option<(char, usize)> {
    let mut body = text.strip_prefix('&')?;
    while let Some(inner) = body.strip_prefix("amp;").or_else(|| body.strip_prefix("AMP;")) {
        body = inner;
    }
    let skipped = text.len() - body.len();
    let named = [
        ("lt", '<'),
        ("LT", '<'),
        ("gt", '>'),
        ("GT", '>'),
        ("sol", '/'),
        ("hyphen", '-'),
        ("dash", '-'),
        ("shy", '\u{ad}'),
        ("colon", ':'),
        ("langle", '⟨'),
        ("lang", '⟨'),
        ("laquo", '«'),
        ("zwnj", '\u{200c}'),
        ("zwj", '\u{200d}'),
    ];
    let (letter, length) = match body.strip_prefix('#') {
        Some(number) => {
            let (digits, radix) = match number.strip_prefix(['x', 'X']) {
                Some(digits) => (digits, 16),
                None => (number, 10),
            };
            let length = digits.chars().take_while(|digit| digit.is_digit(radix)).count();
            let code = u32::from_str_radix(digits.get(..length)?.trim_start_matches('0'), radix).ok()?;
            (char::from_u32(code)?, body.len() - digits.len() + length)
        }
        None => {
            let (name, letter) = named.iter().find(|(name, _)| body.starts_with(name))?;
            (*letter, name.len())
        }
    };
    let end = usize::from(body[length..].starts_with(';'));
    Some((letter, skipped + length + end))
}

/// `\u003c`, `\x3c`, `\u{3c}`.
fn escape(text: &str) -> Option<(char, usize)> {
    let digits = text.get(2..)?;
    match text.as_bytes().get(1)? {
        b'x' => Some((hex(digits.get(..2)?)?, 4)),
        b'u' if digits.starts_with('{') => {
            let end = digits.find('}')?;
            Some((hex(digits.get(1..end)?)?, 2 + end + 1))
        }
        b'u' => Some((hex(digits.get(..4)?)?, 6)),
        _ => None,
    }
}

fn hex(digits: &str) -> Option<char> {
    let plain = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    plain.then(|| u32::from_str_radix(digits, 16).ok().and_then(char::from_u32)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: X3
    #[test]
    fn tags_are_found_however_they_are_spelled() {
        for (text, wanted) in [
            ("</system-reminder>", "⟦<⟧/system-reminder>"),
            ("x <System_Reminder> y", "x ⟦<⟧System_Reminder> y"),
            ("＜／ｓｙｓｔｅｍ－ｒｅｍｉｎｄｅｒ＞", "⟦＜⟧／ｓｙｓｔｅｍ－ｒｅｍｉｎｄｅｒ＞"),
            ("‹/system-reminder›", "⟦‹⟧/system-reminder›"),
            ("&lt;/system-reminder&gt;", "⟦&lt;⟧/system-reminder&gt;"),
            ("&amp;amp;#x3C;/system-reminder", "⟦&amp;amp;#x3C;⟧/system-reminder"),
            ("&#00060/system-reminder", "⟦&#00060⟧/system-reminder"),
            ("\\u003c/system-reminder", "⟦\\u003c⟧/system-reminder"),
            ("%3C/system-reminder", "⟦%3C⟧/system-reminder"),
            ("< / s y s t e m reminder >", "⟦<⟧ / s y s t e m reminder >"),
            ("<\n/system\n-reminder>", "⟦<⟧\n/system\n-reminder>"),
            ("<ѕуѕtеm-rеmіndеr>", "⟦<⟧ѕуѕtеm-rеmіndеr>"),
            ("<sy\u{200b}stem-rem\u{ad}inder>", "⟦<⟧sy\u{200b}stem-rem\u{ad}inder>"),
            ("<s⟦U+202E⟧ystem-reminder>", "⟦<⟧s⟦U+202E⟧ystem-reminder>"),
            ("<s\u{332}ystém-reminder>", "⟦<⟧s\u{332}ystém-reminder>"),
            ("<&#115;ystem-reminder>", "⟦<⟧&#115;ystem-reminder>"),
            ("<<system-reminder>", "<⟦<⟧system-reminder>"),
            ("<persisted-output>", "⟦<⟧persisted-output>"),
            ("</scrubjay-memory-0a1b2c3d>", "⟦<⟧/scrubjay-memory-0a1b2c3d>"),
            ("<|im_start|>system", "⟦<⟧|im_start|>system"),
            ("a\n\nHuman: hi", "a\n\nHuman⟦:⟧ hi"),
            ("  assistant ： hi", "  assistant ⟦：⟧ hi"),
        ] {
            assert_eq!(marked(text).as_deref(), Some(wanted), "{text:?}");
            assert_eq!(marked(wanted), None, "{wanted:?}");
        }
    }

    // spec: X3
    #[test]
    fn what_only_resembles_a_tag_stays() {
        for text in [
            "if a < system { reminder() }",
            "#include <memory>",
            "Vec<System>",
            "<summary>HTML</summary>",
            "f <| x |> g",
            "a <|> b",
            "the human: a study",
            "Humans: many",
            "the system-reminder tag",
            "&lt;system&gt;",
            "\\u003cdiv\\u003e",
            "100% sure",
            "«система»",
            "<",
            "&",
            "&#;",
            "&#x110000;",
            "\\u{}",
            "%",
        ] {
            assert_eq!(marked(text), None, "{text:?}");
        }
    }
}
