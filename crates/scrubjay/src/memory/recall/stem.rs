//! English words to their stems, by the published Porter2 rules ("english" of Snowball), with two suffixes more that
//! make a noun of a noun: `citizenship` and `citizen` are one word to a person who looks for it, and so are `childhood`
//! and `child`. Words that are not plain lower-case ASCII come back as they are.

/// Whole words that the rules would get wrong.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("skis", "ski"),
    ("skies", "sky"),
    ("dying", "die"),
    ("lying", "lie"),
    ("tying", "tie"),
    ("idly", "idl"),
    ("gently", "gentl"),
    ("ugly", "ugli"),
    ("early", "earli"),
    ("only", "onli"),
    ("singly", "singl"),
];

const UNCHANGED: &[&str] = &["sky", "news", "howe", "atlas", "cosmos", "bias", "andes"];
const UNCHANGED_AFTER_PLURAL: &[&str] =
    &["inning", "outing", "canning", "herring", "earring", "evening", "proceed", "exceed", "succeed"];

/// Beginnings that are no stem of what follows them.
const STARTS: &[&str] = &["gener", "commun", "arsen", "past", "univers", "later", "emerg", "organ", "inter"];

const STEP_2: &[(&str, &str)] = &[
    ("ational", "ate"),
    ("ization", "ize"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("iveness", "ive"),
    ("tional", "tion"),
    ("biliti", "ble"),
    ("lessli", "less"),
    ("ogist", "og"),
    ("entli", "ent"),
    ("ation", "ate"),
    ("alism", "al"),
    ("aliti", "al"),
    ("ousli", "ous"),
    ("iviti", "ive"),
    ("fulli", "ful"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("abli", "able"),
    ("izer", "ize"),
    ("ator", "ate"),
    ("alli", "al"),
    ("bli", "ble"),
    ("ogi", "og"),
    ("li", ""),
];

const STEP_3: &[(&str, &str)] = &[
    ("ational", "ate"),
    ("tional", "tion"),
    ("alize", "al"),
    ("icate", "ic"),
    ("iciti", "ic"),
    ("ative", ""),
    ("ical", "ic"),
    ("ness", ""),
    ("ship", ""),
    ("hood", ""),
    ("ful", ""),
];

const STEP_4: &[&str] = &[
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti", "ous", "ive", "ize", "ion",
    "al", "er", "ic",
];

/// The stem of a lower-case word.
pub(super) fn stem(word: &str) -> String {
    if word.len() < 3 || !word.bytes().all(|b| b.is_ascii_lowercase()) || UNCHANGED.contains(&word) {
        return word.to_owned();
    }
    if let Some((_, stem)) = EXCEPTIONS.iter().find(|(exception, _)| *exception == word) {
        return (*stem).to_owned();
    }
    let mut word = Word::new(word);
    word.plural();
    if !UNCHANGED_AFTER_PLURAL.contains(&word.text().as_str()) {
        word.past();
        word.final_y();
        word.replace(STEP_2, 2);
        word.replace(STEP_3, 3);
        word.drop_suffix();
        word.final_letters();
    }
    word.text().to_ascii_lowercase()
}

/// A word being cut; a `Y` that stands for a consonant is written large.
struct Word {
    bytes: Vec<u8>,
    r1: usize,
    r2: usize,
}

fn is_vowel(byte: u8) -> bool {
    matches!(byte, b'a' | b'e' | b'i' | b'o' | b'u' | b'y')
}

/// Where the region begins that follows the first non-vowel after a vowel.
fn region(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    while at < bytes.len() && !is_vowel(bytes[at]) {
        at += 1;
    }
    while at < bytes.len() && is_vowel(bytes[at]) {
        at += 1;
    }
    (at + 1).min(bytes.len())
}

impl Word {
    fn new(word: &str) -> Self {
        let mut bytes = word.as_bytes().to_vec();
        for at in 0..bytes.len() {
            if bytes[at] == b'y' && (at == 0 || is_vowel(bytes[at - 1])) {
                bytes[at] = b'Y';
            }
        }
        let known = STARTS.iter().find(|start| word.starts_with(**start));
        let r1 = known.map_or_else(|| region(&bytes, 0), |start| start.len());
        let r2 = region(&bytes, r1);
        Self { bytes, r1, r2 }
    }

    fn text(&self) -> String {
        self.bytes.iter().map(|byte| char::from(*byte)).collect()
    }

    fn ends(&self, suffix: &str) -> bool {
        self.bytes.ends_with(suffix.as_bytes())
    }

    /// Where `suffix` begins.
    fn start(&self, suffix: &str) -> usize {
        self.bytes.len() - suffix.len()
    }

    fn cut(&mut self, count: usize) {
        self.bytes.truncate(self.bytes.len() - count);
    }

    fn has_vowel_before(&self, end: usize) -> bool {
        self.bytes[..end].iter().any(|byte| is_vowel(*byte))
    }

    /// Step 1a.
    fn plural(&mut self) {
        if self.ends("sses") {
            self.cut(2);
        } else if self.ends("ied") || self.ends("ies") {
            self.cut(if self.bytes.len() > 4 { 2 } else { 1 });
        } else if self.ends("s") && !self.ends("us") && !self.ends("ss") {
            let end = self.bytes.len();
            if end >= 2 && self.has_vowel_before(end - 2) {
                self.cut(1);
            }
        }
    }

    /// Step 1b.
    fn past(&mut self) {
        if let Some(suffix) = ["eedly", "eed"].into_iter().find(|suffix| self.ends(suffix)) {
            if self.start(suffix) >= self.r1 {
                self.cut(suffix.len() - 2);
            }
            return;
        }
        let Some(suffix) = ["ingly", "edly", "ing", "ed"].into_iter().find(|suffix| self.ends(suffix)) else { return };
        if !self.has_vowel_before(self.start(suffix)) {
            return;
        }
        self.cut(suffix.len());
        if ["at", "bl", "iz"].iter().any(|end| self.ends(end)) {
            self.bytes.push(b'e');
        } else if self.ends_double() {
            self.cut(1);
        } else if self.is_short() {
            self.bytes.push(b'e');
        }
    }

    /// A doubled consonant at the end, but not in `add`, `egg` and `off`.
    fn ends_double(&self) -> bool {
        let is_whole = self.bytes.len() == 3 && matches!(self.bytes[0], b'a' | b'e' | b'o');
        !is_whole && ["bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt"].iter().any(|end| self.ends(end))
    }

    /// Ends in a short syllable, and nothing follows it.
    fn is_short(&self) -> bool {
        self.r1 >= self.bytes.len() && self.ends_short(self.bytes.len())
    }

    fn ends_short(&self, end: usize) -> bool {
        let bytes = &self.bytes[..end];
        match bytes {
            [first, last] => is_vowel(*first) && !is_vowel(*last),
            [.., before, vowel, last] => {
                !is_vowel(*before) && is_vowel(*vowel) && !is_vowel(*last) && !matches!(last, b'w' | b'x' | b'Y')
            }
            _ => false,
        }
    }

    /// Step 1c.
    fn final_y(&mut self) {
        if let [_, .., before, last @ (b'y' | b'Y')] = self.bytes.as_mut_slice()
            && !is_vowel(*before)
        {
            *last = b'i';
        }
    }

    /// Steps 2 and 3: the longest suffix that fits is replaced, if it lies in the first region.
    fn replace(&mut self, table: &[(&str, &str)], step: u8) {
        let Some((suffix, by)) = table.iter().find(|(suffix, _)| self.ends(suffix)) else { return };
        let start = self.start(suffix);
        let before = start.checked_sub(1).map(|at| self.bytes[at]);
        let fits = match (*suffix, step) {
            ("li", _) => before.is_some_and(|b| b"cdeghkmnrt".contains(&b)),
            ("ogi", _) => before == Some(b'l'),
            ("ative", 3) => start >= self.r2,
            _ => true,
        };
        if start >= self.r1 && fits {
            self.bytes.truncate(start);
            self.bytes.extend(by.bytes());
        }
    }

    /// Step 4.
    fn drop_suffix(&mut self) {
        let Some(suffix) = STEP_4.iter().find(|suffix| self.ends(suffix)) else { return };
        let start = self.start(suffix);
        let fits = *suffix != "ion" || start > 0 && matches!(self.bytes[start - 1], b's' | b't');
        if start >= self.r2 && fits {
            self.bytes.truncate(start);
        }
    }

    /// Step 5.
    fn final_letters(&mut self) {
        let end = self.bytes.len();
        if self.ends("e") {
            let at = end - 1;
            if at >= self.r2 || (at >= self.r1 && !self.ends_short(at)) {
                self.cut(1);
            }
        } else if self.ends("ll") && end > self.r2 {
            self.cut(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_their_stems() {
        for (word, expected) in [
            ("consistency", "consist"),
            ("consigned", "consign"),
            ("knightly", "knight"),
            ("running", "run"),
            ("hoping", "hope"),
            ("hopping", "hop"),
            ("cries", "cri"),
            ("ties", "tie"),
            ("gas", "gas"),
            ("dogs", "dog"),
            ("generously", "generous"),
            ("general", "general"),
            ("community", "communiti"),
            ("relational", "relat"),
            ("happily", "happili"),
            ("agreed", "agre"),
            ("feed", "feed"),
            ("conditional", "condit"),
            ("controlling", "control"),
            ("yes", "yes"),
            ("employ", "employ"),
            ("skies", "sky"),
            ("news", "news"),
            ("succeeded", "succeed"),
            ("citizenship", "citizen"),
            ("neighbourhood", "neighbour"),
            ("ship", "ship"),
            ("hood", "hood"),
            ("be", "be"),
            ("naïve", "naïve"),
            ("k8s", "k8s"),
        ] {
            assert_eq!(stem(word), expected, "{word}");
        }
    }
}
