//! Every command that a line might run, as far as it can be told: also those inside substitutions, subshells and functions,
//! and those that another program is asked to start. What cannot be told is said, so that somebody is asked.

use super::reading::{children, is_deep, parsed, plain_commands, text};
use tree_sitter::Node;

/// A word of a command; `None` where the shell would only know it while it runs.
pub type SeenWord = Option<String>;

/// What can be told about a line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sight {
    /// Each command with its words: first the one that is written, then what it starts.
    pub commands: Vec<Vec<SeenWord>>,
    /// Files that the line redirects from or to.
    pub redirects: Vec<SeenWord>,
    /// Whether these are certainly all.
    pub certain: bool,
}

/// Programs that start what their further words say.
const WRAPPERS: &[&str] = &[
    "alias",
    "arch",
    "busybox",
    "builtin",
    "caffeinate",
    "chroot",
    "chrt",
    "command",
    "coproc",
    "doas",
    "entr",
    "env",
    "exec",
    "expect",
    "fakeroot",
    "fd",
    "firejail",
    "flock",
    "gdb",
    "ionice",
    "ltrace",
    "nice",
    "nohup",
    "nsenter",
    "numactl",
    "parallel",
    "pkexec",
    "proxychains",
    "rlwrap",
    "runuser",
    "script",
    "setarch",
    "setpriv",
    "setsid",
    "ssh",
    "stdbuf",
    "strace",
    "su",
    "sudo",
    "systemd-run",
    "taskset",
    "time",
    "timeout",
    "torsocks",
    "toybox",
    "trap",
    "unbuffer",
    "unshare",
    "watch",
    "xargs",
    "xvfb-run",
];

const SHELLS: &[&str] = &["ash", "bash", "csh", "dash", "fish", "ksh", "mksh", "rbash", "sh", "tcsh", "yash", "zsh"];

/// Programs that run code of which nothing can be told here.
const INTERPRETERS: &[&str] = &[
    "awk",
    "bun",
    "deno",
    "ed",
    "emacs",
    "ex",
    "expect",
    "gawk",
    "gdb",
    "guile",
    "irb",
    "julia",
    "lua",
    "m4",
    "mawk",
    "nawk",
    "node",
    "nodejs",
    "nvim",
    "osascript",
    "perl",
    "php",
    "powershell",
    "pwsh",
    "python",
    "r",
    "rscript",
    "ruby",
    "scheme",
    "tclsh",
    "ts-node",
    "vi",
    "view",
    "vim",
    ".",
    "source",
];

const DEEPEST: usize = 8;

/// Words of a wrapper that are looked at: nobody writes more flags than that.
const MOST_WORDS: usize = 64;

/// What can be told about this line.
pub fn look(line: &str) -> Sight {
    look_below(line, 0)
}

fn look_below(line: &str, depth: usize) -> Sight {
    let mut sight = Sight { certain: true, ..Sight::default() };
    if depth > DEEPEST {
        sight.certain = false;
        return sight;
    }
    let written = match plain_commands(line) {
        Some(commands) => commands.into_iter().map(|words| words.into_iter().map(Some).collect()).collect(),
        None => {
            sight.certain = false;
            loosely(line, &mut sight.redirects)
        }
    };
    for words in written {
        unfold(&words, &mut sight, depth);
    }
    sight
}

/// The commands of a line that is more than plain commands, with what can be told of their words.
fn loosely(line: &str, redirects: &mut Vec<SeenWord>) -> Vec<Vec<SeenWord>> {
    let joined = line.replace("\\\n", "");
    let Some(tree) = parsed(&joined) else { return Vec::new() };
    if is_deep(tree.root_node()) {
        return Vec::new();
    }
    let mut commands = Vec::new();
    collect(tree.root_node(), &joined, &mut commands, redirects);
    commands
}

fn collect(node: Node<'_>, line: &str, commands: &mut Vec<Vec<SeenWord>>, redirects: &mut Vec<SeenWord>) {
    match node.kind() {
        "command" => {
            let is_word = |kind: &str| {
                !matches!(kind, "variable_assignment" | "file_redirect" | "herestring_redirect" | "heredoc_redirect")
            };
            let words = children(node).filter(|child| is_word(child.kind()));
            commands.push(words.map(|child| told(child, line)).collect());
        }
        "file_redirect" => redirects.extend(children(node).last().map(|target| told(target, line))),
        _ => {}
    }
    children(node).for_each(|child| collect(child, line, commands, redirects));
}

/// What a word means, if it means the same whatever happens.
fn told(node: Node<'_>, line: &str) -> SeenWord {
    let raw = text(node, line)?;
    match node.kind() {
        "command_name" => told(node.child(0)?, line),
        "word" | "number" => (node.child_count() == 0).then(|| unescaped(raw))?,
        "raw_string" => Some(raw.strip_prefix('\'')?.strip_suffix('\'')?.to_owned()),
        "string" => {
            let plain = children(node).all(|child| matches!(child.kind(), "\"" | "string_content"));
            let inside = raw.strip_prefix('"')?.strip_suffix('"')?;
            (plain && !inside.contains(['$', '`', '\\'])).then(|| inside.to_owned())
        }
        "concatenation" => children(node).map(|child| told(child, line)).collect(),
        _ => None,
    }
}

fn unescaped(raw: &str) -> SeenWord {
    let mut out = String::new();
    let mut letters = raw.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => out.push(letters.next()?),
            '*' | '?' | '[' | '{' | '~' | '$' | '`' => return None,
            letter => out.push(letter),
        }
    }
    Some(out)
}

/// A command, and what it starts.
fn unfold(words: &[SeenWord], sight: &mut Sight, depth: usize) {
    let Some(first) = words.first() else { return };
    sight.commands.push(words.to_vec());
    let Some(name) = first.as_deref().map(program) else {
        sight.certain = false;
        return;
    };
    let rest = &words[1..];
    match name.as_str() {
        "eval" => script(rest.iter().cloned().collect::<Option<Vec<_>>>().map(|words| words.join(" ")), sight, depth),
        "find" => found(rest, sight, depth),
        name if SHELLS.contains(&name) => shell(rest, sight, depth),
        name if is_interpreter(name) => sight.certain = false,
        name if WRAPPERS.contains(&name) => wrapped(name, rest, sight, depth),
        _ => {}
    }
}

/// Which of the words is the command depends on the wrapper's own flags, so each of them may be.
fn wrapped(name: &str, rest: &[SeenWord], sight: &mut Sight, depth: usize) {
    if depth >= DEEPEST {
        sight.certain = false;
        return;
    }
    sight.certain &= rest.len() <= MOST_WORDS;
    for (at, word) in rest.iter().take(MOST_WORDS).enumerate() {
        let Some(word) = word else {
            sight.certain = false;
            continue;
        };
        if word.contains(char::is_whitespace) {
            script(Some(word.clone()), sight, depth);
        }
        if word.starts_with('-') || (word.contains('=') && name != "alias") {
            continue;
        }
        let mut inner = rest[at..].to_vec();
        if matches!(name, "xargs" | "parallel" | "entr" | "fd") {
            inner.push(None);
        }
        if !sight.commands.contains(&inner) {
            unfold(&inner, sight, depth + 1);
        }
    }
}

fn shell(rest: &[SeenWord], sight: &mut Sight, depth: usize) {
    let takes_line = |word: &SeenWord| {
        word.as_deref().is_some_and(|word| word.starts_with('-') && !word.starts_with("--") && word.contains('c'))
    };
    match rest.iter().position(takes_line) {
        Some(at) => {
            let is_flag = |word: &&SeenWord| word.as_deref().is_some_and(|word| word.starts_with(['-', '+']));
            script(rest[at + 1..].iter().find(|word| !is_flag(word)).cloned().flatten(), sight, depth);
        }
        // What it reads instead is not written here.
        None => sight.certain = false,
    }
}

fn found(rest: &[SeenWord], sight: &mut Sight, depth: usize) {
    let starts = |word: &SeenWord| matches!(word.as_deref(), Some("-exec" | "-execdir" | "-ok" | "-okdir"));
    for (at, _) in rest.iter().enumerate().filter(|(_, word)| starts(word)) {
        let inner = rest[at + 1..].iter().take_while(|word| !matches!(word.as_deref(), Some(";" | "+")));
        let inner: Vec<SeenWord> = inner.map(|word| word.clone().filter(|word| !word.contains("{}"))).collect();
        unfold(&inner, sight, depth + 1);
    }
}

/// A line inside a word.
fn script(line: SeenWord, sight: &mut Sight, depth: usize) {
    let inner = line.map(|line| look_below(&line, depth + 1)).unwrap_or_default();
    sight.certain &= inner.certain;
    sight.commands.extend(inner.commands);
    sight.redirects.extend(inner.redirects);
}

/// Whether a program runs code that is not on the line, or that only the program understands.
pub fn is_interpreter(name: &str) -> bool {
    let stem = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    INTERPRETERS.contains(&name) || (!stem.is_empty() && INTERPRETERS.contains(&stem))
}

/// Whether a program starts another one, in whatever way.
pub fn starts_others(name: &str) -> bool {
    is_interpreter(name) || SHELLS.contains(&name) || WRAPPERS.contains(&name) || matches!(name, "eval" | "find")
}

/// The name of a program without the folder it lies in, and without case.
pub fn program(word: &str) -> String {
    word.trim_end_matches('/').rsplit('/').next().unwrap_or(word).to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(line: &str) -> Vec<String> {
        let named = |words: &Vec<SeenWord>| words.first().cloned().flatten().map(|word| program(&word));
        look(line).commands.iter().filter_map(named).collect()
    }

    // spec: X2
    #[test]
    fn commands_are_seen_through_what_starts_them() {
        for line in [
            "rm x",
            "/bin/rm x",
            "\\rm x",
            "r''m x",
            "'rm' x",
            "\"rm\" x",
            "RM x",
            "ls; rm x",
            "ls && rm x",
            "ls | rm x",
            "(rm x)",
            "{ rm x; }",
            "echo $(rm x)",
            "echo `rm x`",
            "cat <(rm x)",
            "f() { rm x; }; f",
            "! rm x",
            "rm x &",
            "if true; then rm x; fi",
            "while rm x; do :; done",
            "for a in b; do rm $a; done",
            "A=1 rm x",
            "rm x > out",
            "env rm x",
            "env -i A=1 rm x",
            "env -S 'rm x'",
            "sudo -u root rm x",
            "nice -n 5 rm x",
            "nohup rm x",
            "timeout -s KILL 5 rm x",
            "stdbuf -oL rm x",
            "setsid rm x",
            "command rm x",
            "command -p rm x",
            "exec rm x",
            "busybox rm x",
            "time rm x",
            "xargs rm",
            "xargs -n 1 rm -f",
            "find . -exec rm {} +",
            "find . -execdir rm {} \\;",
            "sh -c 'rm x'",
            "bash -lc 'rm x'",
            "bash -c \"rm x\"",
            "zsh -fc 'ls; rm x'",
            "sudo sh -c 'env rm x'",
            "eval rm x",
            "eval 'rm x'",
            "trap 'rm x' EXIT",
            "su -c 'rm x' root",
            "watch 'rm x'",
            "ssh host rm x",
            "echo x | sudo xargs -I{} rm {}",
            "flock lock rm x",
            "doas rm x",
            "sh -c \"sh -c 'rm x'\"",
        ] {
            assert!(names(line).contains(&"rm".to_owned()), "{line}: {:?}", look(line));
        }
    }

    #[test]
    fn what_cannot_be_told_is_said() {
        for line in [
            "$(echo rm) x",
            "$x y",
            "sh script.sh",
            "bash",
            "sh < x",
            "python3 -c 'x'",
            "python3.12 x.py",
            ". ./x",
            "source x",
            "eval \"$x\"",
            "xargs $x",
            "perl -e 1",
            "awk 'BEGIN{}'",
            "echo \"rm x\" | sh",
            "ls *",
            "ls > x",
        ] {
            assert!(!look(line).certain, "{line}");
        }
        for line in ["ls", "cargo test -q", "env ls", "sh -c 'ls; pwd'", "find . -exec cat '{}' +", "git status"] {
            assert!(look(line).certain, "{line}");
        }
    }
}
