//! What a memory's file may be called: what the engine writes, what it is willing to load, and which names are one name.
//!
//! The engine writes plain slugs. A folder that people or other programs keep may hold other names; most of them are
//! loaded. Names that could deceive a reader, a shell or another system are listed, escaped, and never loaded.

use std::ffi::OsStr;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// The index of a folder of memories.
pub const INDEX: &str = "MEMORY.md";
/// The folder of the memories that are shared.
pub const TEAM: &str = "team";
/// The folder of the daily logs, which are no memories.
pub const LOGS: &str = "logs";

const SLUG: usize = 64;
const LONGEST: usize = 200;
const DEEPEST: usize = 8;
const EXTENSION: &str = ".md";
/// Names that mean a device elsewhere.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];
const NUMBERED_DEVICES: [&str; 2] = ["com", "lpt"];

/// Whether the engine would give a new memory this name, such as `feedback_tests.md`.
pub fn is_slug(name: &str) -> bool {
    let plain = |c: char| is_letter(c) || is_mark(c) || c == '_' || c == '-';
    name.strip_suffix(EXTENSION).is_some_and(|stem| {
        let begins_well = !stem.starts_with(|c: char| c == '-' || is_mark(c));
        (1..=SLUG).contains(&stem.len()) && stem.chars().all(plain) && begins_well && !is_device(stem)
    })
}

/// A letter or digit of any script, a small one where there are two sizes.
fn is_letter(c: char) -> bool {
    c.is_alphanumeric() && c.to_lowercase().eq([c]) && !deceives(c)
}

/// What stands above or below a letter and makes it another one.
fn is_mark(c: char) -> bool {
    is_combining_mark(c) && !c.is_alphanumeric() && !deceives(c) && !is_selector(c)
}

/// Chooses among the shapes of what it follows, and has none itself.
fn is_selector(c: char) -> bool {
    ('\u{fe00}'..='\u{fe0f}').contains(&c) || ('\u{e0100}'..='\u{e01ef}').contains(&c)
}

/// A slug made of any text: `The Release, again` becomes `the_release_again`.
pub fn slug_of(text: &str) -> String {
    let mut slug = String::new();
    for c in text.nfkc().flat_map(char::to_lowercase) {
        let follows = !slug.is_empty() && !slug.ends_with(['_', '-']);
        match c {
            c if is_letter(c) || c == '-' || (is_mark(c) && follows) => slug.push(c),
            _ if slug.ends_with('_') => {}
            _ => slug.push('_'),
        }
    }
    let trimmed = slug.trim_matches(['_', '-']);
    let end = trimmed.floor_char_boundary(SLUG);
    match trimmed[..end].trim_end_matches(['_', '-']) {
        "" => "untitled".to_owned(),
        device if is_device(device) => format!("{device}_"),
        slug => slug.to_owned(),
    }
}

/// Two names with the same fold are one name somewhere: on a disk that ignores case, or to the eye.
pub fn fold(name: &str) -> String {
    if name.is_ascii() {
        return name.to_ascii_lowercase();
    }
    let upper: String = name.nfkc().collect::<String>().to_uppercase();
    upper.to_lowercase().nfkc().collect()
}

/// Whether a file counts as a memory at all by its name; whether it may be loaded is another question.
pub fn is_markdown(name: &OsStr) -> bool {
    let bytes = name.as_encoded_bytes();
    bytes.len() > EXTENSION.len() && bytes[bytes.len() - EXTENSION.len()..].eq_ignore_ascii_case(EXTENSION.as_bytes())
}

/// Whether this is an index, at any depth.
pub fn is_index(name: &str) -> bool {
    name.eq_ignore_ascii_case(INDEX) || (!name.is_ascii() && fold(name) == fold(INDEX))
}

/// The name of a file or folder if it may be loaded, or what is wrong with it.
pub fn loadable(name: &OsStr) -> Result<&str, &'static str> {
    let Some(text) = name.to_str() else { return Err("its name is not text") };
    let stem = text.split('.').next().unwrap_or_default();
    match text {
        _ if text.is_empty() || text.contains('/') => Err("it is not a name"),
        _ if text.len() > LONGEST => Err("its name is too long"),
        _ if text.starts_with(['.', '-', ' ']) => Err("its name begins with a dot, a hyphen or a space"),
        _ if text.ends_with([' ', '.']) => Err("its name ends with a space or a dot"),
        _ if text.chars().any(deceives) => Err("its name holds invisible or direction-changing characters"),
        _ if text.contains(['<', '>', '"', '|', '\\', '*', '?', ':']) => Err("its name means something to a shell"),
        _ if is_device(&stem.to_lowercase()) => Err("its name is a device on some systems"),
        _ => Ok(text),
    }
}

/// The parts of a memory's path below the directory, or what is wrong with it.
pub fn parts(path: &str) -> Result<Vec<&str>, &'static str> {
    let parts: Vec<&str> = path.split('/').collect();
    if parts.len() > DEEPEST {
        return Err("it lies too deep");
    }
    let Some((file, folders)) = parts.split_last() else { return Err("it has no name") };
    if folders.first() == Some(&LOGS) {
        return Err("the daily logs are not memories");
    }
    for folder in folders {
        loadable(OsStr::new(folder))?;
    }
    match loadable(OsStr::new(file))? {
        file if !is_markdown(OsStr::new(file)) => Err("a memory's name ends in `.md`"),
        file if is_index(file) => Err("the index is made from the memories; change the memory itself"),
        _ => Ok(parts),
    }
}

/// How a name is shown when it may not be loaded.
pub fn escaped(name: &OsStr) -> String {
    let Some(text) = name.to_str() else { return name.as_encoded_bytes().escape_ascii().to_string() };
    let mut shown = String::new();
    for c in text.chars() {
        if deceives(c) { shown.extend(c.escape_unicode()) } else { shown.push(c) }
    }
    shown
}

/// The file that keeps the other version when two people changed one memory.
pub fn conflict_name(file: &str, digest: &str) -> String {
    let stem = file.get(..file.len().saturating_sub(EXTENSION.len())).unwrap_or(file);
    let short = digest.get(..8).unwrap_or(digest);
    format!("{stem}.conflict-{short}{EXTENSION}")
}

/// Characters that are not seen, or that make others be seen in another order. Joiners are letters to some scripts.
fn deceives(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
        )
        || matches!(c, '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{3164}' | '\u{ffa0}')
        || ('\u{2028}'..='\u{202e}').contains(&c)
        || ('\u{2060}'..='\u{206f}').contains(&c)
        || ('\u{e000}'..='\u{f8ff}').contains(&c)
        || ('\u{e0000}'..='\u{e007f}').contains(&c)
}

fn is_device(stem: &str) -> bool {
    let numbered = |device: &str| {
        stem.strip_prefix(device).is_some_and(|rest| rest.len() == 1 && rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    DEVICES.contains(&stem) || NUMBERED_DEVICES.into_iter().any(numbered)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::os::unix::ffi::OsStrExt;

    // safety: F-42
    #[test]
    fn odd_names_are_listed_escaped_and_never_loaded() {
        let long = "a".repeat(252) + ".md";
        let odd: [&[u8]; 14] = [
            b"\xff\xfe.md",
            b"a\nb.md",
            b"-rf.md",
            "\u{202e}txt.md".as_bytes(),
            long.as_bytes(),
            b"..md",
            b"CON.md",
            b"com1.md",
            b"a\x1b[2Jb.md",
            "zero\u{200b}width.md".as_bytes(),
            b" x.md",
            b"a|b.md",
            b"x.md ",
            b"nul.tar.md",
        ];
        for name in odd {
            let name = OsStr::from_bytes(name);
            assert!(loadable(name).is_err(), "{name:?}");
            assert!(!escaped(name).chars().any(deceives), "{name:?}");
            assert!(!escaped(name).is_empty());
        }
        assert_eq!(escaped(OsStr::from_bytes(b"\xff.md")), "\\xff.md");
        assert_eq!(escaped(OsStr::new("a\u{202e}b.md")), "a\\u{202e}b.md");
        for fine in ["user_role.md", "User Prefs.md", "Überblick.md", "می‌خواهم.md", "日本.md", "a (1).md", "v1.2.md"]
        {
            assert_eq!(loadable(OsStr::new(fine)), Ok(fine));
        }
    }

    #[test]
    fn paths_stay_below() {
        for bad in [
            "",
            "/",
            "../x.md",
            "a/../x.md",
            "/etc/x.md",
            "a//x.md",
            "x.txt",
            "MEMORY.md",
            "memory.MD",
            "a/Memory.md",
            "logs/2026/03/2026-03-01.md",
            ".x.md",
            "a/.git/x.md",
            "x.md/",
            "x\0.md",
            "1/2/3/4/5/6/7/8/9.md",
            "./x.md",
        ] {
            assert!(parts(bad).is_err(), "{bad:?}");
        }
        assert_eq!(parts("team/x.md"), Ok(vec!["team", "x.md"]));
        assert_eq!(parts("User Prefs.md"), Ok(vec!["User Prefs.md"]));
    }

    // spec: D6
    #[test]
    fn new_names_are_slugs() {
        for good in ["user_role.md", "a.md", "feedback_real-db_2.md", "é.md", "日本.md", "दिल्ली.md"] {
            assert!(is_slug(good), "{good}");
        }
        let long = "a".repeat(65) + ".md";
        for bad in [
            "User.md",
            "a b.md",
            ".md",
            "É.md",
            "می\u{200c}کنم.md",
            "😀.md",
            "\u{301}a.md",
            "a.b.md",
            "con.md",
            "-a.md",
            "x",
            long.as_str(),
        ] {
            assert!(!is_slug(bad), "{bad}");
        }
        assert_eq!(slug_of("The Release, again!"), "the_release_again");
        for (text, slug) in [
            ("Größe des Puffers", "größe_des_puffers"),
            ("من در تهران زندگی می\u{200c}کنم", "من_در_تهران_زندگی_می_کنم"),
            ("मैं दिल्ली में रहता हूँ", "मैं_दिल्ली_में_रहता_हूँ"),
            ("日本語を使う。", "日本語を使う"),
            ("🎉 deploys ❤️", "deploys"),
            ("🎉", "untitled"),
            ("\u{115f}\u{3164}", "untitled"),
            ("nul", "nul_"),
        ] {
            assert_eq!(slug_of(text), slug);
        }
    }

    // safety: F-44
    #[test]
    fn names_that_are_one_name_somewhere_fold_to_one() {
        for (a, b) in
            [("User.md", "user.MD"), ("e\u{301}.md", "é.md"), ("ｕser.md", "user.md"), ("STRASSE.md", "straße.md")]
        {
            assert_eq!(fold(a), fold(b));
        }
        assert_ne!(fold("a.md"), fold("b.md"));
    }

    #[test]
    fn the_other_version_has_a_name_that_can_be_loaded() {
        assert_eq!(conflict_name("user_role.md", "0123456789abcdef"), "user_role.conflict-01234567.md");
        assert!(parts(&conflict_name("team/x.md", "0123456789")).is_ok());
    }

    proptest! {
        #[test]
        fn any_text_has_a_slug(text in any::<String>()) {
            prop_assert!(is_slug(&format!("{}.md", slug_of(&text))), "{:?}", slug_of(&text));
        }

        #[test]
        fn folding_twice_is_folding_once(text in any::<String>()) {
            prop_assert_eq!(fold(&fold(&text)), fold(&text));
        }
    }
}
