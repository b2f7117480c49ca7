//! Permission modes: from a mode, rules and directories to a gate. A pure decision over what a call would do.

use crate::gate::{Gate, Verdict};
use crate::tool::Effect;
use crate::tools::shell::reading;
use crate::tools::{resolve, resolve_as_system};
use globset::{GlobBuilder, GlobMatcher};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// How much may happen without asking.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    /// Reading here is free, everything else asks.
    #[default]
    Ask,
    /// Changing files here is free too.
    AcceptEdits,
    /// Nothing is changed, whatever the rules say.
    ReadOnly,
    /// Everything is free, except what changes how scrubjay, git or the shell behave.
    AllowAll,
    /// Nothing is changed until a plan was approved; then the session goes on in another mode.
    Plan,
}

impl Mode {
    /// Every mode.
    pub const ALL: [Mode; 5] = [Mode::Ask, Mode::AcceptEdits, Mode::ReadOnly, Mode::AllowAll, Mode::Plan];

    /// Its name in settings and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Ask => "ask",
            Mode::AcceptEdits => "accept-edits",
            Mode::ReadOnly => "read-only",
            Mode::AllowAll => "allow-all",
            Mode::Plan => "plan",
        }
    }
}

impl FromStr for Mode {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|mode| mode.name() == name).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("there is no permission mode `{name}`; use one of {names}")
        })
    }
}

/// Something that is allowed without asking: `TOOL`, or `TOOL(pattern)` for some of its calls.
///
/// For files the pattern is a glob below the working directory, or an absolute one; for commands it is compared with
/// each command of the line, `*` standing for anything; for hosts it is a name or `*.name`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    tool: String,
    pattern: Option<String>,
}

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
            glob(Path::new("/"), pattern).ok_or_else(|| format!("the pattern of `{text}` is not a valid glob"))?;
        }
        Ok(Self { tool: tool.to_owned(), pattern: pattern.map(str::to_owned) })
    }
}

/// Whether a rule means a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meant {
    /// It does.
    Surely,
    /// The command line is one that cannot be read closely enough to tell.
    Maybe,
    /// It does not.
    No,
}

/// What a gate is made of.
#[derive(Debug, Clone, Default)]
pub struct Permissions {
    /// How much may happen without asking.
    pub mode: Mode,
    /// What else is allowed.
    pub allow: Vec<Rule>,
    /// What always asks, whatever else allows it.
    pub ask: Vec<Rule>,
    /// What is refused, whatever else allows it.
    pub deny: Vec<Rule>,
    /// The working directory, resolved.
    pub dir: PathBuf,
    /// More directories that may be read freely, resolved.
    pub extra: Vec<PathBuf>,
    /// The memory directory, resolved: free to read and, because every change of it can be taken back, to write.
    pub memory: Option<PathBuf>,
    /// Files and directories of scrubjay's own, resolved: changing them always asks, whether they exist or not.
    pub own: Vec<PathBuf>,
}

impl Permissions {
    /// The gate that decides so.
    pub fn gate(self) -> Gate {
        let name = self.mode.name();
        Gate::new(move |tool, effect| self.decide(tool, effect)).named(name)
    }

    /// May this tool do this?
    pub fn decide(&self, tool: &str, effect: &Effect) -> Verdict {
        match (self.meant(&self.deny, tool, effect), self.meant(&self.ask, tool, effect)) {
            (Meant::Surely, _) => Verdict::Deny("a rule of the person refuses this call; find another way".to_owned()),
            (Meant::No, Meant::No) => self.by_mode(tool, effect),
            // Where a rule may mean this call, nothing happens without asking.
            _ => match self.by_mode(tool, effect) {
                Verdict::Allow => Verdict::Ask,
                verdict => verdict,
            },
        }
    }

    /// Whether a rule that restrains means a call. One part of the call is enough, unlike with a rule that allows.
    fn meant(&self, rules: &[Rule], tool: &str, effect: &Effect) -> Meant {
        let mut rules = rules.iter().filter(|rule| rule.tool == tool).map(|rule| rule.pattern.as_deref()).peekable();
        if rules.peek().is_none() {
            return Meant::No;
        }
        let commands = match effect {
            Effect::Runs { command, .. } => reading::plain_commands(command),
            _ => Some(Vec::new()),
        };
        let mut means = |pattern: Option<&str>| match (pattern, effect) {
            (None, _) => true,
            (Some(pattern), Effect::Reads(paths)) => paths.iter().any(|path| self.is_like(pattern, path)),
            (Some(pattern), Effect::Writes(path)) => self.is_like(pattern, path),
            (Some(pattern), Effect::Reaches(host)) => is_host(pattern, host),
            (Some(pattern), _) => commands.iter().flatten().any(|words| like(pattern, &words.join(" "))),
        };
        match rules.any(&mut means) {
            true => Meant::Surely,
            false if commands.is_none() => Meant::Maybe,
            false => Meant::No,
        }
    }

    fn is_like(&self, pattern: &str, path: &Path) -> bool {
        glob(&self.dir, pattern).is_some_and(|glob| glob.is_match(path))
    }

    fn by_mode(&self, tool: &str, effect: &Effect) -> Verdict {
        match effect {
            // Another agent is no more than this one: each of its calls comes to the same gate.
            Effect::Nothing | Effect::Summons => Verdict::Allow,
            Effect::Writes(path) if self.is_memory(path) && !self.only_reads() => Verdict::Allow,
            Effect::Writes(path) if self.steers(path) && !self.only_reads() => Verdict::Ask,
            _ if self.mode == Mode::AllowAll => Verdict::Allow,
            Effect::Proposes => Verdict::Ask,
            Effect::Reads(paths) => {
                self.free_if(paths.iter().all(|path| self.is_here(path)) || self.rule_allows(tool, effect))
            }
            Effect::Runs { command, reads_only: true } if self.reads_here(command) => Verdict::Allow,
            Effect::Runs { reads_only: false, .. } | Effect::Writes(_) if self.only_reads() => self.not_now(),
            Effect::Writes(path) if self.mode == Mode::AcceptEdits && self.is_home(path) => Verdict::Allow,
            Effect::Writes(_) | Effect::Runs { .. } | Effect::Reaches(_) => {
                self.free_if(self.rule_allows(tool, effect))
            }
        }
    }

    fn free_if(&self, allowed: bool) -> Verdict {
        if allowed { Verdict::Allow } else { Verdict::Ask }
    }

    fn only_reads(&self) -> bool {
        matches!(self.mode, Mode::ReadOnly | Mode::Plan)
    }

    fn not_now(&self) -> Verdict {
        Verdict::Deny(match self.mode {
            Mode::Plan => "nothing may be changed before a plan is approved; propose one with Plan".to_owned(),
            _ => "this session is read-only; say what you would change instead of changing it".to_owned(),
        })
    }

    /// Below the working directory.
    fn is_home(&self, path: &Path) -> bool {
        is_below(path, &self.dir)
    }

    fn is_memory(&self, path: &Path) -> bool {
        self.memory.as_ref().is_some_and(|memory| is_below(path, memory))
    }

    /// Where reading is free.
    fn is_here(&self, path: &Path) -> bool {
        self.is_home(path) || self.is_memory(path) || self.extra.iter().any(|root| is_below(path, root))
    }

    /// Files that decide what runs or what is allowed later. Names are compared without case, because some file
    /// systems do, and whether or not they exist yet.
    fn steers(&self, path: &Path) -> bool {
        if self.own.iter().any(|own| path.starts_with(own)) {
            return true;
        }
        let names: Vec<String> = path.iter().map(|name| name.to_string_lossy().to_lowercase()).collect();
        let Some((last, parents)) = names.split_last() else { return false };
        let below = |dir: &str| parents.iter().any(|name| name == dir);
        let settings = last.starts_with("settings") && last.ends_with(".json");
        STEERING.contains(&last.as_str())
            || below(".scrubjay")
            || (below(".claude") && (settings || below("hooks")))
            || (below(".git") && (last == "config" || last == "config.worktree" || below("hooks")))
            || (last == ".git")
    }

    fn rule_allows(&self, tool: &str, effect: &Effect) -> bool {
        let rules: Vec<Option<&str>> =
            self.allow.iter().filter(|rule| rule.tool == tool).map(|rule| rule.pattern.as_deref()).collect();
        if rules.contains(&None) {
            return true;
        }
        let patterns: Vec<&str> = rules.into_iter().flatten().collect();
        let fits = |path: &PathBuf| patterns.iter().any(|pattern| self.is_like(pattern, path));
        match effect {
            Effect::Reads(paths) => !paths.is_empty() && paths.iter().all(fits),
            Effect::Writes(path) => fits(path),
            Effect::Runs { command, .. } => reading::plain_commands(command).is_some_and(|commands| {
                commands.iter().all(|words| {
                    let words = words.join(" ");
                    patterns.iter().any(|pattern| like(pattern, &words))
                })
            }),
            Effect::Reaches(host) => patterns.iter().any(|pattern| is_host(pattern, host)),
            Effect::Nothing | Effect::Summons | Effect::Proposes => false,
        }
    }

    /// Whether a read-only command line stays here: every word that could be a path leads to a place that may be read,
    /// from every directory the line might be in by then.
    fn reads_here(&self, command: &str) -> bool {
        let Some(commands) = reading::read_only_commands(command) else { return false };
        let mut places = vec![self.dir.clone()];
        commands.iter().all(|words| {
            let Some((name, rest)) = words.split_first() else { return false };
            let stays = name == "echo"
                || rest.iter().flat_map(|word| path_like(word)).all(|path| self.is_free(name, path, &places));
            stays && (name != "cd" || change_directory(rest, &mut places))
        })
    }

    /// A shell takes `..` out before it changes directory, and the system follows links first when it opens a file:
    /// both must end up here. Two directories are compared by following the links in them.
    fn is_free(&self, command: &str, path: &str, places: &[PathBuf]) -> bool {
        places
            .iter()
            .flat_map(|dir| [resolve(dir, path), resolve_as_system(dir, path)])
            .all(|real| self.is_here(&real) && !(command == "diff" && real.is_dir()))
    }
}

/// Where a line may be after `cd`; says no when that is not written there (`cd`, `cd -`).
fn change_directory(words: &[String], places: &mut Vec<PathBuf>) -> bool {
    let Some(to) = words.last().filter(|word| !word.starts_with('-') && !word.is_empty()) else { return false };
    let after: Vec<PathBuf> = places.iter().flat_map(|dir| [resolve(dir, to), resolve_as_system(dir, to)]).collect();
    places.extend(after);
    places.sort();
    places.dedup();
    places.len() <= MOST_PLACES
}

/// Each `cd` may or may not have happened, so places double; nobody writes that many.
const MOST_PLACES: usize = 64;

/// Everything lies below no directory: a session without one is not at home anywhere.
fn is_below(path: &Path, root: &Path) -> bool {
    !root.as_os_str().is_empty() && path.starts_with(root)
}

/// Configuration of shells and of scrubjay: writing it is running it later.
const STEERING: [&str; 14] = [
    ".scrubjay.toml",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".kshrc",
    "config.fish",
    ".gitconfig",
    ".gitmodules",
];

/// What of a word could be a path: the word, what follows an equals sign, and what is attached to a one-letter flag.
fn path_like(word: &str) -> impl Iterator<Item = &str> {
    let attached = word.strip_prefix('-').filter(|rest| !rest.starts_with('-')).and_then(|rest| rest.get(1..));
    let value = word.split_once('=').map(|(_, value)| value);
    let whole = (!word.starts_with('-')).then_some(word);
    [whole, value, attached].into_iter().flatten().filter(|path| !path.is_empty())
}

fn glob(dir: &Path, pattern: &str) -> Option<GlobMatcher> {
    let whole = if pattern.starts_with('/') {
        pattern.to_owned()
    } else {
        let dir = globset::escape(dir.to_str()?);
        format!("{}/{}", dir.trim_end_matches('/'), pattern.trim_start_matches("./"))
    };
    GlobBuilder::new(&whole).literal_separator(true).build().ok().map(|glob| glob.compile_matcher())
}

/// Whether a command's words are like a pattern in which `*` stands for anything. Linear in both.
fn like(pattern: &str, words: &str) -> bool {
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

/// A host is compared as a whole, or below a name of which a label was left open.
fn is_host(pattern: &str, host: &str) -> bool {
    let (pattern, host) = (pattern.to_lowercase(), host.to_lowercase());
    match pattern.strip_prefix("*.") {
        Some(name) => host.strip_suffix(name).is_some_and(|front| front.len() > 1 && front.ends_with('.')),
        None => host == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Mode::{AcceptEdits, AllowAll, Ask, Plan, ReadOnly};

    fn permissions(mode: Mode, rules: &[&str]) -> Permissions {
        Permissions {
            mode,
            allow: rules.iter().map(|rule| rule.parse().unwrap()).collect(),
            ask: Vec::new(),
            deny: Vec::new(),
            dir: "/work".into(),
            extra: vec!["/extra".into()],
            memory: None,
            own: vec!["/home/me/.config/scrubjay".into()],
        }
    }

    fn runs(command: &str) -> Effect {
        let reads_only = reading::read_only_commands(command).is_some();
        Effect::Runs { command: command.into(), reads_only }
    }

    fn reads(path: &str) -> Effect {
        Effect::Reads(vec![path.into()])
    }

    fn writes(path: &str) -> Effect {
        Effect::Writes(path.into())
    }

    /// The verdict as a letter, in the order of `Mode::ALL`.
    fn letters(tool: &str, effect: &Effect, rules: &[&str]) -> String {
        let letter = |mode| match permissions(mode, rules).decide(tool, effect) {
            Verdict::Allow => 'y',
            Verdict::Ask => '?',
            Verdict::Deny(_) => 'n',
        };
        [Ask, AcceptEdits, ReadOnly, AllowAll, Plan].map(letter).into_iter().collect()
    }

    // spec: Q6
    #[test]
    fn each_mode_decides_on_what_a_call_would_do() {
        for (tool, effect, verdicts) in [
            ("Tasks", Effect::Nothing, "yyyyy"),
            ("Plan", Effect::Proposes, "???y?"),
            ("Agent", Effect::Summons, "yyyyy"),
            ("Fetch", Effect::Reaches("docs.rs".into()), "???y?"),
            ("Read", reads("/work/a"), "yyyyy"),
            ("Read", reads("/work"), "yyyyy"),
            ("Read", reads("/extra/a"), "yyyyy"),
            ("Read", reads("/etc/passwd"), "???y?"),
            ("Read", reads("/workshop/a"), "???y?"),
            ("Read", Effect::Reads(vec!["/work/a".into(), "/etc/b".into()]), "???y?"),
            ("Write", writes("/work/a"), "?ynyn"),
            ("Write", writes("/elsewhere/a"), "??nyn"),
            ("Write", writes("/extra/a"), "??nyn"),
            ("Bash", runs("ls src"), "yyyyy"),
            ("Bash", runs("cargo test"), "??nyn"),
            ("Bash", runs("cat /etc/passwd"), "???y?"),
        ] {
            assert_eq!(letters(tool, &effect, &[]), verdicts, "{tool} {effect:?}");
        }
    }

    #[test]
    fn what_steers_later_sessions_always_asks() {
        for path in [
            "/work/.git/hooks/pre-commit",
            "/work/.git/config",
            "/work/sub/.git/modules/x/hooks/post-checkout",
            "/work/.GIT/Config",
            "/work/.git",
            "/work/.scrubjay.toml",
            "/work/.scrubjay/settings.toml",
            "/work/.claude/settings.json",
            "/work/.claude/settings.local.json",
            "/work/.claude/hooks/x.sh",
            "/work/.bashrc",
            "/home/me/.zshrc",
            "/home/me/.config/fish/config.fish",
            "/home/me/.config/scrubjay/config.toml",
            "/home/me/.config/scrubjay",
        ] {
            assert_eq!(letters("Write", &writes(path), &["Write", "Write(**)", "Write(/**)"]), "??n?n", "{path}");
        }
        for path in ["/work/.gitignore", "/work/config", "/work/.claude/skills/x/SKILL.md", "/work/settings.json"] {
            assert_eq!(letters("Write", &writes(path), &[]), "?ynyn", "{path}");
        }
    }

    #[test]
    fn rules() {
        for (rule, tool, effect, allowed) in [
            ("Read", "Read", reads("/etc/hosts"), true),
            ("Read", "Grep", reads("/etc/hosts"), false),
            ("Read(/etc/*)", "Read", reads("/etc/hosts"), true),
            ("Read(/etc/*)", "Read", reads("/etc/ssh/key"), false),
            ("Edit(src/**)", "Edit", writes("/work/src/a/b.rs"), true),
            ("Edit(src/**)", "Edit", writes("/work/srcs/b.rs"), false),
            ("Edit(src/**)", "Edit", writes("/other/src/b.rs"), false),
            ("Edit(src/**)", "Write", writes("/work/src/b.rs"), false),
            ("Edit(./*.md)", "Edit", writes("/work/a.md"), true),
            ("Bash", "Bash", runs("rm -rf x"), true),
            ("Bash(cargo test*)", "Bash", runs("cargo test --all"), true),
            ("Bash(cargo test*)", "Bash", runs("cargo test && cargo test -q"), true),
            ("Bash(cargo test*)", "Bash", runs("cargo test; rm x"), false),
            ("Bash(cargo test*)", "Bash", runs("cargo test && rm x"), false),
            ("Bash(cargo test*)", "Bash", runs("cargo test | sh"), false),
            ("Bash(cargo test*)", "Bash", runs("cargo test $(rm x)"), false),
            ("Bash(cargo test*)", "Bash", runs("cargo test > /etc/x"), false),
            ("Bash(cargo test*)", "Bash", runs("A=1 cargo test"), false),
            ("Bash(cargo test*)", "Bash", runs("cargo test &"), false),
            ("Bash(cargo test*)", "Bash", runs("cargo build"), false),
            ("Bash(npm run *:check)", "Bash", runs("npm run ts:check"), true),
            ("Bash(npm run *:check)", "Bash", runs("npm run ts:check x"), false),
            ("Fetch(docs.rs)", "Fetch", Effect::Reaches("docs.rs".into()), true),
            ("Fetch(docs.rs)", "Fetch", Effect::Reaches("docs.rs.evil.example".into()), false),
            ("Fetch(*.rust-lang.org)", "Fetch", Effect::Reaches("doc.rust-lang.org".into()), true),
            ("Fetch(*.rust-lang.org)", "Fetch", Effect::Reaches("evilrust-lang.org".into()), false),
            ("Fetch(*.rust-lang.org)", "Fetch", Effect::Reaches(".rust-lang.org".into()), false),
        ] {
            let verdict = permissions(Ask, &[rule]).decide(tool, &effect);
            assert_eq!(verdict == Verdict::Allow, allowed, "{rule}: {tool} {effect:?}");
        }
        let two = permissions(Ask, &["Bash(cargo *)", "Bash(npm *)"]);
        assert_eq!(two.decide("Bash", &runs("cargo test && npm test")), Verdict::Allow);
        for wrong in ["", "Bash(", "Bash(x", "Bash()", "a b", "Edit([)", "(x)"] {
            assert!(wrong.parse::<Rule>().is_err(), "{wrong}");
        }
    }

    // spec: X2
    #[test]
    fn reading_commands_stay_where_reading_is_free() {
        for (command, free) in [
            ("ls", true),
            ("cat src/a.rs /extra/b", true),
            ("cat ../x", false),
            ("cat src/../../x", false),
            ("grep -rn x .", true),
            ("grep -rn x /", false),
            ("cd src && ls", true),
            ("cd src && cat ../a", false),
            ("cd .. && ls", false),
            ("cd && ls", false),
            ("cd - && ls", false),
            ("cd /etc && cat passwd", false),
            ("cd src/x; cat ../../a", false),
            ("find / -name x", false),
            ("find . -newer /etc/passwd", false),
            ("sort -k2 -t/ f", false),
            ("grep --include=/etc/x y", false),
            ("grep -e/etc x", false),
            ("rg x /home", false),
            ("echo /etc/passwd", true),
            ("head -n5 a | tail -n1", true),
            ("test -f /etc/shadow", false),
            ("cd a; cd b; cd c; cd d; cd e; cd f; cd g; cd h; ls", false),
        ] {
            assert_eq!(permissions(Ask, &[]).decide("Bash", &runs(command)) == Verdict::Allow, free, "{command}");
        }
    }

    #[test]
    fn links_count_by_where_they_lead() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().canonicalize().unwrap().join("work");
        std::fs::create_dir(&dir).unwrap();
        std::os::unix::fs::symlink("/etc", dir.join("link")).unwrap();
        let here = Permissions { dir, ..Permissions::default() };
        assert_eq!(here.decide("Bash", &runs("cat link/passwd")), Verdict::Ask);
        assert_eq!(here.decide("Bash", &runs("cd link && ls")), Verdict::Ask);
        assert_eq!(here.decide("Bash", &runs("cat link/../passwd")), Verdict::Ask);
        assert_eq!(here.decide("Bash", &runs("cd link/../x && ls")), Verdict::Ask);
        assert_eq!(here.decide("Bash", &runs("diff . .")), Verdict::Ask);
        assert_eq!(here.decide("Bash", &runs("cat linked")), Verdict::Allow);
    }

    // spec: R2
    #[test]
    fn the_memory_directory_is_free_to_read_and_its_changes_can_be_undone() {
        let memory = Some(PathBuf::from("/data/memory"));
        let with = |mode| Permissions { memory: memory.clone(), own: vec!["/data".into()], ..permissions(mode, &[]) };
        let (inside, beside) = ("/data/memory/user_tea.md", "/data/provenance/rests_on.jsonl");
        for mode in Mode::ALL {
            assert_eq!(with(mode).decide("Read", &Effect::Reads(vec![inside.into()])), Verdict::Allow);
            let written = with(mode).decide("Write", &Effect::Writes(inside.into()));
            assert_eq!(written == Verdict::Allow, !matches!(mode, ReadOnly | Plan), "{mode:?}");
            assert_ne!(with(mode).decide("Write", &Effect::Writes(beside.into())), Verdict::Allow, "{mode:?}");
        }
        let denied = Permissions { deny: vec!["Write".parse().unwrap()], ..with(Ask) };
        assert!(matches!(denied.decide("Write", &Effect::Writes(inside.into())), Verdict::Deny(_)));
    }

    #[test]
    fn modes_have_names() {
        for mode in Mode::ALL {
            assert_eq!(mode.name().parse(), Ok(mode));
        }
        assert!("yolo".parse::<Mode>().unwrap_err().contains("accept-edits"));
        assert_eq!((Mode::default(), Plan, ReadOnly, AllowAll, AcceptEdits).0, Ask);
    }

    #[test]
    fn rules_that_restrain_count_before_everything_else() {
        let rule = |text: &str| vec![text.parse::<Rule>().unwrap()];
        let deny = |text: &str| Permissions { deny: rule(text), ..permissions(Mode::AllowAll, &["Bash", "Write"]) };
        let ask = |text: &str| Permissions { ask: rule(text), ..permissions(Mode::AllowAll, &["Bash", "Write"]) };
        let writes = |path: &str| Effect::Writes(path.into());
        let reads = Effect::Reads(vec!["/work/a".into(), "/work/.env".into()]);
        for (permissions, tool, effect, word) in [
            (deny("Bash(rm *)"), "Bash", runs("rm -rf x"), "deny"),
            (deny("Bash(rm *)"), "Bash", runs("ls && rm x"), "deny"),
            (deny("Bash(rm *)"), "Bash", runs("ls"), "allow"),
            (deny("Bash(rm *)"), "Bash", runs("$(echo rm) x"), "ask"),
            (deny("Bash"), "Bash", runs("ls"), "deny"),
            (deny("Read(.env)"), "Read", reads.clone(), "deny"),
            (deny("Write(secret/**)"), "Write", writes("/work/secret/x"), "deny"),
            (deny("Write(secret/**)"), "Write", writes("/work/open/x"), "allow"),
            (deny("WebFetch(evil.example)"), "WebFetch", Effect::Reaches("evil.example".into()), "deny"),
            (ask("Bash(git push *)"), "Bash", runs("git push origin"), "ask"),
            (ask("Write"), "Write", writes("/work/x"), "ask"),
            (ask("Write"), "Bash", runs("ls"), "allow"),
        ] {
            let verdict = match permissions.decide(tool, &effect) {
                Verdict::Allow => "allow",
                Verdict::Ask => "ask",
                Verdict::Deny(_) => "deny",
            };
            assert_eq!(verdict, word, "{permissions:?} {effect:?}");
        }
    }
}
