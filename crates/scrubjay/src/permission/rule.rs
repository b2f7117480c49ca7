//! One rule: `TOOL`, or `TOOL(pattern)`. A rule that allows is read narrowly, one that restrains widely.

use super::steering::plain;
use crate::tools::resolve;
use globset::{GlobBuilder, GlobMatcher};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::OnceLock;

/// Something that is allowed without asking, asked about, or refused: `TOOL`, or `TOOL(pattern)` for some of its calls.
///
/// For files the pattern is a glob below the working directory, or an absolute one; for commands it is compared with
/// each command of the line, `*` standing for anything; for hosts it is a name or `*.name`.
#[derive(Debug, Clone)]
pub struct Rule {
    pub(super) tool: String,
    pub(super) pattern: Option<String>,
    /// Compiled for the directory it was asked about first.
    compiled: OnceLock<(PathBuf, Globs)>,
}

#[derive(Debug, Clone)]
struct Globs {
    narrow: Option<GlobMatcher>,
    wide: Vec<GlobMatcher>,
}

impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        self.tool == other.tool && self.pattern == other.pattern
    }
}

impl Eq for Rule {}

impl FromStr for Rule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a rule; write TOOL or TOOL(pattern), such as `Bash(cargo test *)`");
        let (tool, pattern) = match text.trim().split_once('(') {
            None => (text.trim(), None),
            Some((tool, rest)) => (tool.trim(), Some(rest.strip_suffix(')').ok_or_else(wrong)?.trim())),
        };
        let is_name = !tool.is_empty() && tool.chars().all(|letter| letter.is_alphanumeric() || "_-".contains(letter));
        if !is_name || pattern == Some("") {
            return Err(wrong());
        }
        if let Some(pattern) = pattern {
            narrow(Path::new("/"), pattern).ok_or_else(|| format!("the pattern of `{text}` is not a valid glob"))?;
        }
        let (tool, pattern) = (tool.to_owned(), pattern.map(str::to_owned));
        Ok(Self { tool, pattern, compiled: OnceLock::new() })
    }
}

impl Rule {
    /// Whether a rule that allows means this path.
    pub(super) fn fits(&self, dir: &Path, path: &Path) -> bool {
        self.with_globs(dir, |globs| globs.narrow.as_ref().is_some_and(|glob| glob.is_match(path)))
    }

    /// Whether a rule that restrains means this path: also where only the case differs, in every folder if the pattern
    /// is a mere name, and below a folder that the pattern means.
    pub(super) fn catches(&self, dir: &Path, path: &Path) -> bool {
        let folded: PathBuf =
            path.iter().map(|name| if name == "/" { "/".to_owned() } else { plain(&name.to_string_lossy()) }).collect();
        self.with_globs(dir, |globs| globs.wide.iter().any(|glob| glob.is_match(path) || glob.is_match(&folded)))
    }

    fn with_globs<T>(&self, dir: &Path, look: impl FnOnce(&Globs) -> T) -> T {
        let compile = || {
            let pattern = self.pattern.as_deref().unwrap_or_default();
            Globs { narrow: narrow(dir, pattern), wide: wide(dir, pattern) }
        };
        let (of, globs) = self.compiled.get_or_init(|| (dir.to_owned(), compile()));
        if of == dir { look(globs) } else { look(&compile()) }
    }
}

fn narrow(dir: &Path, pattern: &str) -> Option<GlobMatcher> {
    GlobBuilder::new(&whole(dir, pattern)?).literal_separator(true).build().ok().map(|glob| glob.compile_matcher())
}

fn whole(dir: &Path, pattern: &str) -> Option<String> {
    if pattern.starts_with('/') {
        return Some(pattern.to_owned());
    }
    let dir = globset::escape(dir.to_str()?);
    Some(format!("{}/{}", dir.trim_end_matches('/'), pattern.trim_start_matches("./")))
}

fn wide(dir: &Path, pattern: &str) -> Vec<GlobMatcher> {
    let pattern = pattern.trim_start_matches("./").trim_end_matches('/');
    let mut wholes: Vec<String> = whole(dir, pattern).into_iter().chain(through_links(dir, pattern)).collect();
    if !pattern.contains('/') {
        wholes.extend(whole(dir, &format!("**/{pattern}")));
    }
    let with_below = wholes.iter().flat_map(|whole| match whole.strip_suffix("/**") {
        Some(folder) => [whole.clone(), folder.to_owned()],
        None => [whole.clone(), format!("{whole}/**")],
    });
    let build = |whole: String| GlobBuilder::new(&whole).literal_separator(true).case_insensitive(true).build().ok();
    with_below.filter_map(build).map(|glob| glob.compile_matcher()).collect()
}

/// The pattern with the links in its fixed part followed: permission is decided on where a path leads.
fn through_links(dir: &Path, pattern: &str) -> Option<String> {
    let is_fixed = |part: &&str| !part.contains(['*', '?', '[', '{', '\\']);
    let parts: Vec<&str> = pattern.split('/').collect();
    let fixed = parts.iter().take_while(|part| is_fixed(part)).count();
    let real =
        resolve(dir, if pattern.starts_with('/') && fixed == 1 { "/".to_owned() } else { parts[..fixed].join("/") });
    let rest = parts[fixed..].join("/");
    let real = globset::escape(real.to_str()?);
    Some(if rest.is_empty() { real } else { format!("{}/{rest}", real.trim_end_matches('/')) })
}

/// Whether a command's words are like a pattern in which `*` stands for anything. Linear in both.
pub(super) fn like(pattern: &str, words: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == words };
    let Some(mut left) = words.strip_prefix(head) else { return false };
    let mut pieces: Vec<&str> = rest.split('*').collect();
    let last = pieces.pop().unwrap_or_default();
    for piece in pieces {
        match left.find(piece) {
            Some(at) => left = &left[at + piece.len()..],
            None => return false,
        }
    }
    left.ends_with(last)
}

/// The same for a rule that allows: a `*` at the end stands for further words, never for the rest of one.
pub(super) fn like_whole_words(pattern: &str, words: &str) -> bool {
    let Some(stem) = pattern.strip_suffix('*') else { return like(pattern, words) };
    let stem = stem.trim_end_matches(' ');
    if stem.is_empty() || stem.ends_with('*') {
        return like(pattern, words);
    }
    // Only after a word: `--test=*` and `./bin/*` are open on purpose.
    let open = !pattern.ends_with(" *") && !stem.ends_with(|letter: char| letter.is_alphanumeric());
    if open { like(pattern, words) } else { like(stem, words) || like(&format!("{stem} *"), words) }
}

/// A host is compared as a whole, or below a name of which a label was left open.
pub(super) fn is_host(pattern: &str, host: &str) -> bool {
    let (pattern, host) = (pattern.to_lowercase(), host.to_lowercase());
    match pattern.strip_prefix("*.") {
        Some(name) => host.strip_suffix(name).is_some_and(|front| front.len() > 1 && front.ends_with('.')),
        None => host == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_at_the_end_of_what_is_allowed_stands_for_further_words() {
        for (pattern, words, fits) in [
            ("cargo test *", "cargo test", true),
            ("cargo test *", "cargo test -q", true),
            ("cargo test *", "cargo testx", false),
            ("cargo test*", "cargo test -q", true),
            ("cargo test*", "cargo test", true),
            ("cargo test*", "cargo testx", false),
            ("cargo *", "cargo", true),
            ("cargo *", "cargox", false),
            ("cargo*", "cargo-evil x", false),
            ("./bin/*", "./bin/run x", true),
            ("npm run *:check", "npm run ts:check", true),
            ("npm run *:check *", "npm run ts:check x", true),
            ("*", "rm -rf x", true),
            ("ls", "ls", true),
            ("ls", "ls -la", false),
        ] {
            assert_eq!(like_whole_words(pattern, words), fits, "{pattern}: {words}");
        }
    }

    #[test]
    fn a_rule_that_restrains_reads_its_pattern_widely() {
        let dir = Path::new("/w");
        for (pattern, path, caught) in [
            (".env", "/w/.env", true),
            (".env", "/w/sub/.env", true),
            (".env", "/w/.ENV", true),
            (".env", "/w/.e\u{200c}nv", true),
            (".env", "/w/.environment", false),
            (".env", "/elsewhere/.env", false),
            ("./.env", "/w/.env", true),
            (".env*", "/w/a/.env.local", true),
            ("secrets/**", "/w/secrets", true),
            ("secrets/**", "/w/secrets/a/b", true),
            ("secrets/", "/w/secrets/a/b", true),
            ("secrets", "/w/a/secrets/b", true),
            ("secrets/**", "/w/open/secrets/b", false),
            ("**/*.pem", "/w/a/b.PEM", true),
            ("/etc/**", "/etc/shadow", true),
            ("/etc", "/etc/shadow", true),
        ] {
            let rule: Rule = format!("Read({pattern})").parse().unwrap();
            assert_eq!(rule.catches(dir, Path::new(path)), caught, "{pattern}: {path}");
        }
    }
}
