//! Options of a command line, read against what is known: anything else is refused by name.

/// What a command knows.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// Letters without a value.
    pub(super) bare: &'static str,
    /// Letters with a value, attached or in the next word.
    pub(super) valued: &'static str,
    /// Long names and the letter each stands for.
    pub(super) long: &'static [(&'static str, char)],
}

/// What was given.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Given {
    options: Vec<(char, String)>,
    pub(super) operands: Vec<String>,
}

impl Given {
    pub(super) fn has(&self, letter: char) -> bool {
        self.options.iter().any(|(known, _)| *known == letter)
    }

    /// The last value of an option.
    pub(super) fn value(&self, letter: char) -> Option<&str> {
        self.values(letter).last()
    }

    pub(super) fn values(&self, letter: char) -> impl Iterator<Item = &str> {
        self.options.iter().filter(move |(known, _)| *known == letter).map(|(_, value)| value.as_str())
    }
}

/// Read the words after a command's name. `-20` is `-n 20`, where `n` takes a value.
pub(super) fn read(command: &str, words: &[String], known: &Known) -> Result<Given, String> {
    let mut given = Given::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let next = |words: &mut std::slice::Iter<'_, String>| {
            words.next().cloned().ok_or_else(|| format!("`{command} {word}` needs a value."))
        };
        if word == "--" {
            given.operands.extend(words.by_ref().cloned());
        } else if let Some(long) = word.strip_prefix("--") {
            let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
            let letter = known.long.iter().find(|(known, _)| *known == name).map(|(_, letter)| *letter);
            let letter = letter.ok_or_else(|| unknown(command, word))?;
            let value = match (known.valued.contains(letter), value) {
                (true, Some(value)) => value.to_owned(),
                (true, None) => next(&mut words)?,
                (false, None) => String::new(),
                (false, Some(_)) => return Err(unknown(command, word)),
            };
            given.options.push((letter, value));
        } else if let Some(digits) = word.strip_prefix('-').filter(|rest| is_number(rest) && known.valued.contains('n'))
        {
            given.options.push(('n', digits.to_owned()));
        } else if let Some(letters) = word.strip_prefix('-').filter(|rest| !rest.is_empty()) {
            for (at, letter) in letters.char_indices() {
                if known.bare.contains(letter) {
                    given.options.push((letter, String::new()));
                    continue;
                }
                if !known.valued.contains(letter) {
                    return Err(unknown(command, word));
                }
                let attached = &letters[at + letter.len_utf8()..];
                let value = if attached.is_empty() { next(&mut words)? } else { attached.to_owned() };
                given.options.push((letter, value));
                break;
            }
        } else {
            given.operands.push(word.clone());
        }
    }
    Ok(given)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

pub(super) fn unknown(command: &str, option: &str) -> String {
    format!("`{command}` is answered here, but not with `{option}`. Leave it out, or use Grep, Glob or Read.")
}

pub(super) fn number<T: std::str::FromStr>(command: &str, text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("`{text}` is not a number that `{command}` takes."))
}
