//! What is written to a person or a script: data on standard output, talk on standard error, colour where it is wanted.

use crate::arguments::{ColorWhen, GeneralFlags};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::sketch::Pencil;
use anstyle::{AnsiColor, Style};
use rustix::termios::tcgetwinsize;
use scrubjay::secrets::veiled;
use scrubjay::tools::shown;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::io::{self, Write as _};

/// What a piece of text means; never said by colour alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// A heading, a name.
    Strong,
    /// Beside the point.
    Faint,
    /// Something that acts.
    Active,
    /// Look here.
    Warning,
    /// It went wrong.
    Bad,
}

/// Whether colour is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ink {
    /// Colour.
    Coloured,
    /// None.
    Plain,
}

impl Ink {
    /// The text in its tone.
    pub(crate) fn paint(self, tone: Tone, text: &str) -> String {
        let style = match tone {
            Tone::Strong => Style::new().bold(),
            Tone::Faint => Style::new().dimmed(),
            Tone::Active => AnsiColor::Cyan.on_default(),
            Tone::Warning => AnsiColor::Yellow.on_default(),
            Tone::Bad => AnsiColor::Red.on_default().bold(),
        };
        self.dye(style, text)
    }

    /// The text in a style of its own.
    pub(crate) fn dye(self, style: Style, text: &str) -> String {
        match self {
            Ink::Coloured => format!("{style}{text}{style:#}"),
            Ink::Plain => text.to_owned(),
        }
    }

    /// What the flag, the environment and the stream together ask for.
    fn choose(when: ColorWhen, environment: &Environment, stream: Stream) -> Self {
        let coloured = match when {
            ColorWhen::Always => true,
            ColorWhen::Never => false,
            ColorWhen::Auto if environment.is_set("NO_COLOR") => false,
            ColorWhen::Auto if environment.get("CLICOLOR_FORCE").is_some_and(|force| force != "0") => true,
            ColorWhen::Auto => stream == Stream::Terminal && environment.get("TERM") != Some("dumb"),
        };
        if coloured { Ink::Coloured } else { Ink::Plain }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stream {
    Terminal,
    Other,
}

impl Stream {
    fn of(stream: &impl io::IsTerminal) -> Self {
        if stream.is_terminal() { Stream::Terminal } else { Stream::Other }
    }
}

/// Which letters may be drawn with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Glyphs {
    /// Blocks, dots and arrows.
    Drawn,
    /// Those of a typewriter.
    Ascii,
}

/// How listings are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// For people.
    Words,
    /// For scripts.
    Json,
}

/// How much is said beside the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Volume {
    /// Only what failed.
    Quiet,
    /// What matters.
    Normal,
    /// Everything.
    Loud,
}

/// Where a command writes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paper {
    /// Words or JSON.
    pub(crate) form: Form,
    /// Colour on standard output.
    pub(crate) ink: Ink,
    /// Colour on standard error.
    pub(crate) talk_ink: Ink,
    /// How much is said.
    pub(crate) volume: Volume,
    /// What pictures are made of.
    pub(crate) glyphs: Glyphs,
    /// How many columns there are.
    pub(crate) width: usize,
    /// How many the person says there are.
    said_width: Option<usize>,
}

impl Paper {
    pub(crate) fn new(flags: &GeneralFlags, environment: &Environment) -> Self {
        let volume = match (flags.quiet, flags.verbose) {
            (true, _) => Volume::Quiet,
            (false, true) => Volume::Loud,
            (false, false) => Volume::Normal,
        };
        let said_width = environment.get("COLUMNS").and_then(|columns| columns.parse().ok()).map(readable);
        Self {
            form: if flags.json { Form::Json } else { Form::Words },
            ink: Ink::choose(flags.color, environment, Stream::of(&io::stdout())),
            talk_ink: Ink::choose(flags.color, environment, Stream::of(&io::stderr())),
            volume,
            glyphs: if flags.ascii { Glyphs::Ascii } else { Glyphs::Drawn },
            said_width,
            width: said_width.unwrap_or_else(seen_width),
        }
    }

    /// What pictures of this width are drawn with.
    pub(crate) fn pencil(&self, width: usize) -> Pencil {
        Pencil { ink: self.ink, glyphs: self.glyphs, width }
    }

    /// The same after the terminal may have been resized.
    pub(crate) fn again(&self) -> Self {
        Self { width: self.said_width.unwrap_or_else(seen_width), ..*self }
    }

    /// A text for people; with plain letters alone, signs that this program likes to use are spelled out.
    pub(crate) fn spelled<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match (self.glyphs, self.form) {
            (Glyphs::Ascii, Form::Words) => {
                text.replace('·', "-").replace('→', "->").replace('…', "...").replace('–', "-").into()
            }
            _ => text.into(),
        }
    }

    /// Data, followed by a line break.
    pub(crate) fn line(&self, text: &str) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        writeln!(out, "{}", self.spelled(text)).and_then(|()| out.flush()).map_err(unwritten)
    }

    /// Data for a script: every object says what it is and who made it.
    pub(crate) fn json(&self, schema: &str, data: Value) -> Result<(), Failure> {
        self.line(&spelled_out(&enveloped(schema, data)))
    }

    /// Something beside the data. A closed standard error is nobody's loss.
    pub(crate) fn talk(&self, text: &str) {
        if self.volume > Volume::Quiet {
            writeln!(io::stderr(), "{}", self.spelled(text)).unwrap_or_default();
        }
    }

    /// Something a person should look at.
    pub(crate) fn warn(&self, text: &str) {
        self.talk(&format!("{} {}", self.talk_ink.paint(Tone::Warning, "note:"), shown(&veiled(text))));
    }

    /// What went wrong.
    pub(crate) fn failure(&self, failure: &Failure) {
        let failure = &failure.veiled();
        let said = match self.form {
            Form::Json => failure.to_json(),
            Form::Words => format!("{} {}", self.talk_ink.paint(Tone::Bad, "error:"), shown(&failure.to_string())),
        };
        writeln!(io::stderr(), "{said}").unwrap_or_default();
    }
}

/// How many columns the terminal has; where there is none, what everybody can read.
fn seen_width() -> usize {
    const USUAL: usize = 80;
    let seen = tcgetwinsize(io::stdout()).ok().map(|size| usize::from(size.ws_col));
    readable(seen.filter(|columns| *columns > 0).unwrap_or(USUAL))
}

/// Nothing can be laid out in less.
fn readable(columns: usize) -> usize {
    const NARROWEST: usize = 40;
    columns.max(NARROWEST)
}

/// An object with its schema and the version of this program in front.
pub(crate) fn enveloped(schema: &str, data: Value) -> Value {
    let mut whole = json!({ "schema": format!("scrubjay.{schema}/1"), "tool_version": env!("CARGO_PKG_VERSION") });
    if let (Some(whole), Value::Object(data)) = (whole.as_object_mut(), data) {
        whole.extend(data);
    }
    whole
}

/// JSON as it is written: what hides in a text or steers a terminal is escaped, so that whoever parses it has every character and
/// whoever looks at it is not deceived.
pub(crate) fn spelled_out(data: &Value) -> String {
    let json = data.to_string();
    if matches!(shown(&json), Cow::Borrowed(_)) {
        return json;
    }
    let mut out = String::with_capacity(json.len());
    for letter in json.chars() {
        let (mut one, mut pair) = ([0; 4], [0; 2]);
        match shown(letter.encode_utf8(&mut one)) {
            Cow::Borrowed(plain) => out.push_str(plain),
            Cow::Owned(_) => letter.encode_utf16(&mut pair).iter().for_each(|unit| out += &format!("\\u{unit:04x}")),
        }
    }
    out
}

/// Standard output is gone. A reader that has seen enough is no failure.
pub(crate) fn unwritten(error: io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::quiet(),
        _ => Failure::failed(format!("the output could not be written: {error}")),
    }
}

/// Numbers as people read them: `1,234,567`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A text in lines of so many columns, broken between words; a word that is longer stands alone.
pub(crate) fn wrapped(text: &str, width: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for paragraph in text.lines() {
        let mut line = String::new();
        for word in paragraph.split(' ') {
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
                lines.push(std::mem::take(&mut line));
            }
            line = if line.is_empty() { word.to_owned() } else { format!("{line} {word}") };
        }
        lines.push(line);
    }
    lines.join("\n")
}

/// `1 call`, `2 calls`.
pub(crate) fn counted(count: u64, one: &str) -> String {
    format!("{} {one}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// Tokens in few letters: `950`, `12.3k`, `1.2M`.
pub(crate) fn short(number: u64) -> String {
    match number {
        0..=999 => number.to_string(),
        1_000..=999_949 => format!("{}.{}k", number / 1_000, number % 1_000 / 100),
        _ => format!("{}.{}M", number / 1_000_000, number % 1_000_000 / 100_000),
    }
}

/// Bytes in few letters: `950 B`, `12.3 kB`.
pub(crate) fn size(bytes: u64) -> String {
    let short = short(bytes);
    match short.strip_suffix(['k', 'M']) {
        Some(number) => format!("{number} {}B", &short[number.len()..]),
        None => format!("{short} B"),
    }
}

/// Dollars, fine enough that a small question does not cost nothing.
pub(crate) fn dollars(amount: f64) -> String {
    if amount >= 1.0 { format!("${amount:.2}") } else { format!("${amount:.4}") }
}

/// A share in whole per cent.
pub(crate) fn percent(part: u64, whole: u64) -> u64 {
    u64::try_from(u128::from(part) * 100 / u128::from(whole.max(1))).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_is_used_where_it_is_wanted() {
        use ColorWhen::{Always, Auto, Never};
        let set = |names: &[(&str, &str)]| Environment::of(names);
        for (when, environment, stream, coloured) in [
            (Auto, set(&[]), Stream::Terminal, true),
            (Auto, set(&[]), Stream::Other, false),
            (Auto, set(&[("NO_COLOR", "1")]), Stream::Terminal, false),
            (Auto, set(&[("NO_COLOR", "")]), Stream::Terminal, true),
            (Auto, set(&[("CLICOLOR_FORCE", "1")]), Stream::Other, true),
            (Auto, set(&[("CLICOLOR_FORCE", "0")]), Stream::Other, false),
            (Auto, set(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]), Stream::Other, false),
            (Auto, set(&[("TERM", "dumb")]), Stream::Terminal, false),
            (Always, set(&[("NO_COLOR", "1")]), Stream::Other, true),
            (Never, set(&[("CLICOLOR_FORCE", "1")]), Stream::Terminal, false),
        ] {
            let ink = Ink::choose(when, &environment, stream);
            assert_eq!(ink == Ink::Coloured, coloured, "{when:?} {environment:?} {stream:?}");
        }
    }

    #[test]
    fn numbers_for_people() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([7, 1_000, 12_345, 999_949, 1_250_000].map(short), ["7", "1.0k", "12.3k", "999.9k", "1.2M"]);
        assert_eq!([dollars(0.00123), dollars(12.3)], ["$0.0012", "$12.30"]);
        assert_eq!([950, 12_345, 30_000_000].map(size), ["950 B", "12.3 kB", "30.0 MB"]);
        assert_eq!(percent(1, 0), 100);
    }

    #[test]
    fn lines_are_broken_between_words() {
        assert_eq!(wrapped("a jay hides seeds", 9), "a jay\nhides\nseeds");
        assert_eq!(wrapped("unbreakable words", 4), "unbreakable\nwords");
        assert_eq!((wrapped("", 4).as_str(), wrapped("a\nb", 9).as_str()), ("", "a\nb"));
    }

    // spec: X3
    #[test]
    fn json_escapes_what_deceives_a_terminal_and_loses_nothing() {
        let text = "a\u{9b}31m \u{7f} \u{202e} \u{2066} \u{e0041} \u{200b} \u{1b}[0m می\u{200c}خواهم 👩\u{200d}💻 ❤\u{fe0f} \"q\" \\ é\n";
        let written = spelled_out(&json!({ "text": text }));
        let read: Value = serde_json::from_str(&written).unwrap();
        assert_eq!(read["text"], text);
        assert_eq!(shown(&written), written, "nothing in it hides");
        assert!(written.contains("é") && written.contains("💻"), "{written}");
        assert_eq!(spelled_out(&json!({ "a": "é 💻" })), "{\"a\":\"é 💻\"}");
    }

    #[test]
    fn json_says_what_it_is() {
        let whole = enveloped("x", json!({ "a": 1 })).to_string();
        assert!(whole.starts_with(r#"{"schema":"scrubjay.x/1","tool_version":""#) && whole.ends_with(r#""a":1}"#));
    }
}
