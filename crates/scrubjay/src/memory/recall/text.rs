//! Text to words, for any script: compatibility forms and accents folded, identifiers taken apart, scripts without
//! spaces as overlapping pairs, each emoji a word. The same for documents and for questions.

use std::borrow::Cow;
use unicode_normalization::UnicodeNormalization;

/// What a text is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// A word, in lower case.
    Word(&'a str),
    /// A part of the identifier that follows as a word: `user` of `userName`.
    Part(&'a str),
    /// The end of a sentence or line.
    Break,
}

/// A longer word is data, not language; its beginning is enough to find it by.
const LONGEST_WORD: usize = 64;
/// What follows an apostrophe and is no word.
const CLITICS: &[&str] = &["s", "t", "re", "ve", "ll", "d", "m"];

/// Begins and ends a part that is no prose.
const FENCE: &str = "```";

/// Hand every piece of `text` to `each`, in reading order.
pub(super) fn pieces(text: &str, each: &mut impl FnMut(Piece<'_>)) {
    let text = folded(text);
    let mut reader = Reader { text: &text, lower: String::new() };
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        at = if is_dense(c) {
            reader.pairs(at, each)
        } else if c.is_alphanumeric() {
            reader.word(at, each)
        } else {
            reader.mark(at, c, each)
        };
    }
}

/// The words of a text, without parts and breaks.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    pieces(text, &mut |piece| {
        if let Piece::Word(word) = piece {
            found.push(word.to_owned());
        }
    });
    found
}

/// A text without its fenced parts, and those.
pub(super) fn fenced(text: &str) -> (Cow<'_, str>, String) {
    if !text.contains(FENCE) {
        return (Cow::Borrowed(text), String::new());
    }
    let part = |first: usize| text.split(FENCE).skip(first).step_by(2).collect::<Vec<_>>().join("\n");
    (Cow::Owned(part(0)), part(1))
}

/// One way to write each character: full-width, ligatures and accents go, Hangul and kana stay whole.
fn folded(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let is_dropped = |c: &char| matches!(c, '\u{300}'..='\u{36f}' | '\u{200b}'..='\u{200d}' | '\u{feff}' | '\u{ad}');
    text.nfkd().filter(|c| !is_dropped(c)).nfc().collect()
}

/// Scripts that are written without spaces.
fn is_dense(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{3040}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{2ffff}')
}

/// A sign that stands inside a word without being a letter: the vowel killers and marks of Indic and Semitic scripts.
fn is_joining(c: char) -> bool {
    matches!(c, '\u{591}'..='\u{5c7}' | '\u{610}'..='\u{61a}' | '\u{64b}'..='\u{65f}' | '\u{900}'..='\u{963}' | '\u{981}'..='\u{dff}')
}

/// An emoji or another small picture says something by itself. What only changes the one before it does not.
fn is_picture(c: char) -> bool {
    let changes = matches!(c, '\u{1f3fb}'..='\u{1f3ff}');
    !changes
        && matches!(c, '\u{2300}'..='\u{23ff}' | '\u{2600}'..='\u{27bf}' | '\u{2b50}' | '\u{2b55}' | '\u{1f000}'..='\u{1faff}')
}

struct Reader<'a> {
    text: &'a str,
    lower: String,
}

impl Reader<'_> {
    fn lowered(&mut self, word: &str) -> &str {
        self.lower.clear();
        let end = word.char_indices().map(|(at, _)| at).take_while(|at| *at <= LONGEST_WORD).last().unwrap_or(0);
        let kept = if word.len() <= LONGEST_WORD { word } else { &word[..end] };
        if kept.is_ascii() {
            self.lower.push_str(kept);
            self.lower.make_ascii_lowercase();
        } else {
            self.lower.extend(kept.chars().flat_map(char::to_lowercase));
        }
        &self.lower
    }

    /// A run of a script without spaces, as overlapping pairs.
    fn pairs(&mut self, from: usize, each: &mut impl FnMut(Piece<'_>)) -> usize {
        let rest = &self.text[from..];
        let run = rest.find(|c| !is_dense(c)).map_or(rest, |end| &rest[..end]);
        let starts: Vec<usize> = run.char_indices().map(|(at, _)| at).chain([run.len()]).collect();
        if starts.len() == 2 {
            each(Piece::Word(run));
        }
        for window in starts.windows(3) {
            each(Piece::Word(&run[window[0]..window[2]]));
        }
        from + run.len()
    }

    fn word(&mut self, from: usize, each: &mut impl FnMut(Piece<'_>)) -> usize {
        let rest = &self.text[from..];
        let end = rest.find(|c: char| is_dense(c) || !(c.is_alphanumeric() || is_joining(c))).unwrap_or(rest.len());
        let word = &rest[..end];
        let after = &rest[end..];
        if word.bytes().all(|b| b.is_ascii_digit()) {
            return from + self.number(word, after, each);
        }
        let cuts = cuts(word);
        for pair in cuts.windows(2) {
            let part = self.lowered(&word[pair[0]..pair[1]]);
            each(Piece::Part(part));
        }
        let whole = self.lowered(word);
        each(Piece::Word(whole));
        from + end + clitic(after)
    }

    /// Digits with their thousands, and the sign of hundredths as the word it stands for.
    fn number(&mut self, digits: &str, after: &str, each: &mut impl FnMut(Piece<'_>)) -> usize {
        self.lower.clear();
        self.lower.push_str(digits);
        let mut end = digits.len();
        let mut rest = after;
        while let Some(group) = thousands(rest) {
            self.lower.push_str(group);
            end += 1 + group.len();
            rest = &rest[1 + group.len()..];
        }
        each(Piece::Word(&self.lower));
        if rest.starts_with('%') {
            each(Piece::Word("percent"));
            end += 1;
        }
        end
    }

    fn mark(&mut self, at: usize, c: char, each: &mut impl FnMut(Piece<'_>)) -> usize {
        let next = at + c.len_utf8();
        if is_picture(c) {
            each(Piece::Word(&self.text[at..next]));
        }
        let ends_sentence =
            matches!(c, '.' | '!' | '?') && self.text[next..].chars().next().is_none_or(char::is_whitespace);
        if ends_sentence || matches!(c, '\n' | '。' | '！' | '？' | '؟' | '।') {
            each(Piece::Break);
        }
        next
    }
}

fn thousands(rest: &str) -> Option<&str> {
    let group = rest.strip_prefix(',')?.get(..3)?;
    let is_whole = !rest[4..].starts_with(|c: char| c.is_ascii_digit());
    (group.bytes().all(|b| b.is_ascii_digit()) && is_whole).then_some(group)
}

/// How many bytes after a word belong to it without saying anything: `'s`, `’ll`.
fn clitic(after: &str) -> usize {
    let Some(tail) = after.strip_prefix(['\'', '\u{2019}']) else { return 0 };
    let letters = tail.find(|c: char| !c.is_alphanumeric()).map_or(tail, |end| &tail[..end]);
    let is_clitic = CLITICS.iter().any(|clitic| letters.eq_ignore_ascii_case(clitic));
    if is_clitic { after.len() - tail.len() + letters.len() } else { 0 }
}

/// Where an identifier is taken apart: before a capital that follows a small letter, and before the last capital of
/// several that a small letter follows. Empty when it is one piece.
fn cuts(word: &str) -> Vec<usize> {
    let bytes = word.as_bytes();
    if !word.is_ascii() || !bytes.iter().any(u8::is_ascii_lowercase) {
        return Vec::new();
    }
    let is_cut = |at: usize| {
        let starts = bytes[at].is_ascii_uppercase();
        let after_small = bytes[at - 1].is_ascii_lowercase() || bytes[at - 1].is_ascii_digit();
        let before_small = bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase);
        let is_plural = &bytes[at + 1..] == b"s";
        starts && !is_plural && (after_small || before_small)
    };
    let inner: Vec<usize> = (1..bytes.len()).filter(|at| is_cut(*at)).collect();
    if inner.is_empty() { inner } else { [vec![0], inner, vec![bytes.len()]].concat() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        pieces(text, &mut |piece| match piece {
            Piece::Word(word) => found.push(word.to_owned()),
            Piece::Part(part) => found.push(format!("~{part}")),
            Piece::Break => found.push("|".to_owned()),
        });
        found
    }

    #[test]
    fn texts_and_their_pieces() {
        for (text, expected) in [
            ("Caroline's kids don’t", "caroline kids don"),
            ("getUserName", "~get ~user ~name getusername"),
            ("HTTPServer APIs", "~http ~server httpserver apis"),
            ("max_tokens src/main.rs a.b", "max tokens src main rs a b"),
            ("4,500 words, 65% of 1,23", "4500 words 65 percent of 1 23"),
            ("Ends. Then\nmore!", "ends | then | more |"),
            ("东京都", "东京 京都"),
            ("茶", "茶"),
            ("한국어 text", "한국 국어 text"),
            ("Café ﬁle ＡＢＣ", "cafe file abc"),
            ("हिन्दी शब्द", "हिन्दी शब्द"),
            ("می\u{200c}خواهم", "میخواهم"),
            ("O'Brien", "o brien"),
            ("Shipped🎉🎉 ✅!", "shipped 🎉 🎉 ✅ |"),
            ("👍🏽 ❤\u{fe0f} 👩\u{200d}💻 a → b │", "👍 ❤ 👩 💻 a b"),
            ("", ""),
        ] {
            assert_eq!(all(text).join(" "), expected, "{text}");
        }
    }

    proptest! {
        // spec: L8
        #[test]
        fn any_text_becomes_words(text in any::<String>()) {
            pieces(&text, &mut |piece| {
                if let Piece::Word(word) | Piece::Part(word) = piece {
                    assert!(!word.is_empty() && word.len() <= 4 * LONGEST_WORD);
                    assert!(!word.contains(char::is_whitespace));
                }
            });
        }

        #[test]
        fn case_does_not_matter(text in "[a-z0-9 ,.']{0,40}") {
            prop_assert_eq!(words(&text), words(&text.to_uppercase()));
        }
    }
}
