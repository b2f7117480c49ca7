//! What "always" covers: as little as is useful, and exactly what was shown.

use super::Permissions;
use super::rule::like_whole_words;
use crate::tool::Effect;
use crate::tools::shell::reading;
use std::path::{Path, PathBuf};

/// What a user allows for the rest of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Always {
    /// This tool's changes of the project's ordinary files.
    Files {
        /// Which tool.
        tool: String,
    },
    /// This tool's reading of these paths, and of what lies below them.
    Paths {
        /// Which tool.
        tool: String,
        /// What was shown.
        paths: Vec<PathBuf>,
    },
    /// This tool's contact with a host.
    Host {
        /// Which tool.
        tool: String,
        /// The host.
        host: String,
    },
    /// One command line, letter for letter.
    Line {
        /// Which tool.
        tool: String,
        /// The line.
        line: String,
    },
    /// Commands that begin with these words, with further ones.
    Commands {
        /// Which tool.
        tool: String,
        /// Patterns such as `cargo test *`.
        prefixes: Vec<String>,
    },
}

/// Build tools with what they may be asked to do under a prefix. They run the project's own code, and nothing that their
/// further words could name, apart from the flags below. Whatever is not here is allowed line by line: shells,
/// interpreters, whatever starts, fetches or deletes something.
const BUILDS: &[(&[&str], &[&str])] = &[
    (&["cargo"], &["bench", "build", "check", "clippy", "doc", "fmt", "metadata", "nextest", "test", "tree"]),
    (&["dotnet", "swift"], &["build", "test"]),
    (&["go"], &["build", "test", "vet"]),
    (&["npm", "pnpm", "yarn"], &["lint", "t", "test"]),
    (&["npm", "pnpm", "yarn", "bun"], &["run"]),
    (&["mvn", "gradle"], &["build", "check", "compile", "package", "test", "verify"]),
    (&["mypy", "pytest", "rustfmt", "tsc", "pyright"], &[""]),
    (&["ruff"], &["check", "format"]),
];

/// Flags of build tools that name a program, a configuration or another project: not under a prefix.
const REACHING: &[&str] = &[
    "--config",
    "--config-file",
    "--confcutdir",
    "--exec",
    "--exec-path",
    "--init-script",
    "--manifest-path",
    "--node-options",
    "--override-ini",
    "--plugin",
    "--prefix",
    "--project",
    "--rootdir",
    "--runner",
    "--script-shell",
    "--settings",
    "--target-dir",
    "--userconfig",
    "--cwd",
    "--dir",
    "--include-build",
    "--out-dir",
    "--outDir",
    "--plugins",
    "--basetemp",
    "-exec",
    "-toolexec",
    "-vettool",
    "-modfile",
    "-overlay",
    "-o",
    "-C",
    "-Z",
    "-p",
    "-c",
    "-f",
    "-s",
    "-I",
    "-b",
    "-gs",
    "-D",
    "-P",
    "-ldflags",
    "-gcflags",
];

/// What the name of a tool ends with where a command asks to leave the sandbox. Each time is asked about.
pub const OUTSIDE: &str = " outside the sandbox";

impl Permissions {
    /// What "always" would cover for this call; none where each one is asked about: files that steer, whatever lies
    /// outside of the project, plans, and what a rule restrains.
    pub fn always(&self, tool: &str, effect: &Effect) -> Option<Always> {
        let tool_name = tool.to_owned();
        if self.is_restrained(tool, effect) || tool.ends_with(OUTSIDE) {
            return None;
        }
        match effect {
            Effect::Runs { command, .. } => Some(match self.prefixes(command) {
                Some(prefixes) => Always::Commands { tool: tool_name, prefixes },
                None => Always::Line { tool: tool_name, line: command.clone() },
            }),
            Effect::Writes(path) => self.is_ordinary(path).then_some(Always::Files { tool: tool_name }),
            Effect::Reads(paths) => Some(Always::Paths { tool: tool_name, paths: paths.clone() }),
            Effect::Reaches(host) => Some(Always::Host { tool: tool_name, host: host.clone() }),
            Effect::Nothing | Effect::Summons | Effect::Proposes => None,
        }
    }

    /// Whether what was allowed covers this call too.
    pub fn is_covered(&self, granted: &[Always], tool: &str, effect: &Effect) -> bool {
        let fits = |grant: &Always| match (grant, effect) {
            (Always::Files { tool: of }, Effect::Writes(path)) => of == tool && self.is_ordinary(path),
            (Always::Paths { tool: of, paths: below }, Effect::Reads(paths)) => {
                of == tool
                    && !paths.is_empty()
                    && paths.iter().all(|path| below.iter().any(|root| path.starts_with(root)))
            }
            (Always::Host { tool: of, host: to }, Effect::Reaches(host)) => of == tool && to == host,
            (Always::Line { tool: of, line }, Effect::Runs { command, .. }) => of == tool && line == command,
            _ => false,
        };
        let runs = match effect {
            Effect::Runs { command, .. } => self.line_is_covered(granted, tool, command),
            _ => false,
        };
        (runs || granted.iter().any(fits)) && !self.is_restrained(tool, effect)
    }

    /// Every command begins like one that was allowed, or only reads, here.
    fn line_is_covered(&self, granted: &[Always], tool: &str, line: &str) -> bool {
        let prefixes: Vec<&String> = granted
            .iter()
            .filter_map(|grant| match grant {
                Always::Commands { tool: of, prefixes } if of == tool => Some(prefixes),
                _ => None,
            })
            .flatten()
            .collect();
        let begins = |words: &[String]| {
            !reaches(words) && prefixes.iter().any(|prefix| like_whole_words(prefix, &words.join(" ")))
        };
        let Some(commands) = reading::plain_commands(line) else { return false };
        commands.iter().any(|words| begins(words))
            && commands.iter().all(|words| begins(words) || reading::only_reads(words))
            && self.stays_here(&commands, begins)
    }

    /// The prefixes of a line in which every command has one, or only reads here.
    fn prefixes(&self, line: &str) -> Option<Vec<String>> {
        let commands = reading::plain_commands(line)?;
        let stays = self.stays_here(&commands, |words| prefix(words).is_some());
        let asked = commands.iter().filter(|words| !reading::only_reads(words));
        let mut prefixes: Vec<String> = asked.map(|words| prefix(words)).collect::<Option<_>>()?;
        prefixes.sort();
        prefixes.dedup();
        (stays && !prefixes.is_empty()).then_some(prefixes)
    }

    /// A file of the project that steers nothing.
    pub fn is_ordinary(&self, path: &Path) -> bool {
        self.is_home(path) && !self.is_memory(path) && self.steering(path).is_none()
    }
}

/// Whether this is a build tool at its usual work.
pub(super) fn is_build(words: &[String]) -> bool {
    prefix(words).is_some()
}

/// The beginning of a command that may stand for others like it.
fn prefix(words: &[String]) -> Option<String> {
    let (name, rest) = words.split_first()?;
    if reaches(words) {
        return None;
    }
    let does = rest.first().map(String::as_str).unwrap_or_default();
    let is_known = |(names, tasks): &&(&[&str], &[&str])| {
        names.contains(&name.as_str()) && (tasks.contains(&does) || tasks.contains(&""))
    };
    let (_, tasks) = BUILDS.iter().find(is_known)?;
    let is_plain = |word: &&String| !word.starts_with('-') && !word.contains([' ', '*']);
    match does {
        _ if tasks.contains(&"") => Some(format!("{name} *")),
        // Which script is run decides everything.
        "run" => rest.get(1).filter(is_plain).map(|script| format!("{name} run {script} *")),
        does => Some(format!("{name} {does} *")),
    }
}

/// Whether a word of a build tool names a program, a configuration or another project.
fn reaches(words: &[String]) -> bool {
    let (tool, ours) = (words.first().map(String::as_str), words.iter().skip(1));
    // What follows `--` is for the tests.
    let ours = ours.take_while(|word| *word != "--" || tool != Some("cargo"));
    let names = |word: &str| {
        let flag = word.split_once('=').map_or(word, |(flag, _)| flag);
        let is_package = tool == Some("cargo") && matches!(flag, "-p");
        let attached = !word.starts_with("--")
            && word.get(..2).is_some_and(|short| matches!(short, "-C" | "-Z" | "-c" | "-D" | "-I"));
        !is_package && (REACHING.contains(&flag) || attached || word.starts_with('+'))
    };
    ours.into_iter().any(|word| names(word))
}

impl Always {
    /// What it covers, exactly, after the word "always".
    pub fn words(&self) -> String {
        match self {
            Always::Files { tool } => format!(
                "{tool} for this project's ordinary files (not those that steer git, shells, editors, builds or agents)"
            ),
            Always::Paths { tool, paths } => {
                let named: Vec<String> = paths.iter().map(|path| crate::tools::shown_path(path)).collect();
                format!("{tool} for {} and what lies below", named.join(", "))
            }
            Always::Host { tool, host } => format!("{tool} from {}", crate::tools::shown(host)),
            Always::Line { .. } => "this exact command".to_owned(),
            Always::Commands { prefixes, .. } => {
                let shown: Vec<String> =
                    prefixes.iter().map(|prefix| format!("`{}`", crate::tools::shown(prefix))).collect();
                format!(
                    "{} (with any further words, except flags that name another program or project)",
                    shown.join(" and ")
                )
            }
        }
    }
}
