//! Permission modes: from a mode, rules and directories to a gate. A pure decision over what a call would do.

mod always;
mod lines;
mod restraint;
mod rule;
mod steering;

pub use always::{Always, OUTSIDE};
pub use rule::Rule;

use crate::gate::{Approval, Gate, Verdict};
use crate::tool::Effect;
use crate::tools::shell::reading;
use rule::{is_host, like_whole_words};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use steering::Steering;

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

/// Whether a rule means a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Meant {
    /// It does not.
    No,
    /// The command line is one that cannot be read closely enough to tell.
    Maybe,
    /// It does.
    Surely,
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
    /// Whether there is a sandbox: only in one do commands that read run without asking.
    pub sandboxed: bool,
}

impl Permissions {
    /// The gate that decides so.
    pub fn gate(self) -> Gate {
        let (name, same) = (self.mode.name(), self.clone());
        Gate::new(move |tool, effect| self.decide(tool, effect))
            .named(name)
            .confining(move |tool, effect, approval| same.confines(tool, effect, approval))
    }

    /// Must this run in the read-only sandbox? Everything, where nothing may be changed; otherwise what runs only because
    /// it was found to read. What the user approved, here or by a rule, runs as they expect.
    pub fn confines(&self, tool: &str, effect: &Effect, approval: Approval) -> bool {
        self.confines_in(self.mode, tool, effect, approval)
    }

    /// The same in another mode.
    pub fn confines_in(&self, mode: Mode, tool: &str, effect: &Effect, approval: Approval) -> bool {
        let free = approval == Approval::NotNeeded && mode != Mode::AllowAll && !self.rule_allows(tool, effect);
        matches!(effect, Effect::Runs { .. }) && (only_reads(mode) || free)
    }

    /// May this tool do this?
    pub fn decide(&self, tool: &str, effect: &Effect) -> Verdict {
        self.decide_in(self.mode, tool, effect)
    }

    /// The same in another mode.
    pub fn decide_in(&self, mode: Mode, tool: &str, effect: &Effect) -> Verdict {
        match (self.meant(&self.deny, tool, effect), self.meant(&self.ask, tool, effect)) {
            (Meant::Surely, _) => Verdict::Deny("a rule of the user refuses this call; find another way".to_owned()),
            (Meant::No, Meant::No) => self.by_mode(mode, tool, effect),
            // Where a rule may mean this call, nothing happens without asking.
            _ => match self.by_mode(mode, tool, effect) {
                Verdict::Allow => Verdict::Ask,
                verdict => verdict,
            },
        }
    }

    /// Whether a rule holds this call back, or may.
    fn is_restrained(&self, tool: &str, effect: &Effect) -> bool {
        [&self.deny, &self.ask].into_iter().any(|rules| self.meant(rules, tool, effect) != Meant::No)
    }

    fn by_mode(&self, mode: Mode, tool: &str, effect: &Effect) -> Verdict {
        let only_reads = only_reads(mode);
        match effect {
            // Another agent is no more than this one: each of its calls comes to the same gate.
            Effect::Nothing | Effect::Summons => Verdict::Allow,
            Effect::Writes(path) if self.is_memory(path) && !only_reads => Verdict::Allow,
            Effect::Writes(path) if !only_reads && self.asks_about(mode, path) => Verdict::Ask,
            _ if mode == Mode::AllowAll => Verdict::Allow,
            Effect::Proposes => Verdict::Ask,
            Effect::Reads(paths) => {
                self.free_if(paths.iter().all(|path| self.is_here(path)) || self.rule_allows(tool, effect))
            }
            Effect::Runs { .. } if only_reads && !self.sandboxed => Verdict::Deny(NO_SANDBOX.to_owned()),
            Effect::Runs { command, reads_only: true } if self.sandboxed && self.reads_here(command) => Verdict::Allow,
            Effect::Runs { reads_only: false, .. } | Effect::Writes(_) if only_reads => not_now(mode),
            Effect::Writes(path) if mode == Mode::AcceptEdits && self.is_home(path) => Verdict::Allow,
            Effect::Writes(_) | Effect::Runs { .. } | Effect::Reaches(_) => {
                self.free_if(self.rule_allows(tool, effect))
            }
        }
    }

    fn free_if(&self, allowed: bool) -> Verdict {
        if allowed { Verdict::Allow } else { Verdict::Ask }
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

    /// Whether changing a file is asked about although changes are allowed. Where everything is, only what steers
    /// scrubjay, git and shells.
    fn asks_about(&self, mode: Mode, path: &Path) -> bool {
        match self.steering(path) {
            Some(Steering::Core) => true,
            Some(Steering::Tools) => mode != Mode::AllowAll,
            None => false,
        }
    }

    /// Whether a file decides what runs or what is allowed later.
    fn steering(&self, path: &Path) -> Option<Steering> {
        if self.own.iter().any(|own| path.starts_with(own)) {
            return Some(Steering::Core);
        }
        let by_place = || if self.is_home(path) { steering::by_place(path, &self.dir) } else { None };
        steering::by_name(path).max(by_place())
    }

    fn rule_allows(&self, tool: &str, effect: &Effect) -> bool {
        let rules: Vec<&Rule> = self.allow.iter().filter(|rule| rule.tool == tool).collect();
        if rules.iter().any(|rule| rule.pattern.is_none()) {
            return true;
        }
        let fits = |path: &PathBuf| rules.iter().any(|rule| rule.fits(&self.dir, path));
        let mut patterns = rules.iter().filter_map(|rule| rule.pattern.as_deref());
        match effect {
            Effect::Reads(paths) => !paths.is_empty() && paths.iter().all(fits),
            Effect::Writes(path) => fits(path),
            Effect::Runs { command, .. } => reading::plain_commands(command).is_some_and(|commands| {
                let patterns: Vec<&str> = patterns.collect();
                commands.iter().all(|words| patterns.iter().any(|pattern| self.command_fits(pattern, words)))
            }),
            Effect::Reaches(host) => patterns.any(|pattern| is_host(pattern, host)),
            Effect::Nothing | Effect::Summons | Effect::Proposes => false,
        }
    }

    /// Whether a pattern that allows means a command.
    fn command_fits(&self, pattern: &str, words: &[String]) -> bool {
        like_whole_words(pattern, &words.join(" "))
    }
}

/// Why no command runs where nothing may be changed.
const NO_SANDBOX: &str =
    "commands run here in a sandbox only, and there is none on this system; use Read, Grep and Glob";

fn only_reads(mode: Mode) -> bool {
    matches!(mode, Mode::ReadOnly | Mode::Plan)
}

fn not_now(mode: Mode) -> Verdict {
    Verdict::Deny(match mode {
        Mode::Plan => "nothing may be changed before a plan is approved; propose one with Plan".to_owned(),
        _ => "this session is read-only; say what you would change instead of changing it".to_owned(),
    })
}

/// Everything lies below no directory: a session without one is not at home anywhere.
fn is_below(path: &Path, root: &Path) -> bool {
    !root.as_os_str().is_empty() && path.starts_with(root)
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
            sandboxed: true,
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
        // What steers other tools is free only where everything is.
        for path in [
            "/work/.claude/skills/x/SKILL.md",
            "/work/CLAUDE.md",
            "/work/sub/AGENTS.md",
            "/work/.github/workflows/ci.yml",
            "/work/.gitlab-ci.yml",
            "/work/.circleci/config.yml",
            "/work/Jenkinsfile",
            "/work/.cargo/config.toml",
            "/work/.vscode/tasks.json",
            "/work/.idea/workspace.xml",
            "/work/tools/pre-commit",
        ] {
            assert_eq!(letters("Write", &writes(path), &["Write", "Write(**)", "Write(/**)"]), "??nyn", "{path}");
        }
        for path in ["/work/.gitignore", "/work/config", "/work/skills/x/SKILL.md", "/work/settings.json"] {
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
        let here = Permissions { dir, sandboxed: true, ..Permissions::default() };
        assert_eq!(here.decide("Bash", &runs("cat link/passwd")), Verdict::Ask);
        assert_eq!(here.decide("Bash", &runs("cd link && ls")), Verdict::Ask);
        assert_eq!(here.decide("Bash", &runs("cat link/../passwd")), Verdict::Ask);
        assert_eq!(here.decide("Bash", &runs("cd link/../x && ls")), Verdict::Ask);
        assert_eq!(here.decide("Bash", &runs("diff . .")), Verdict::Ask);
        assert_eq!(here.decide("Bash", &runs("cat linked")), Verdict::Allow);
    }

    // spec: X2
    #[test]
    fn leaving_the_sandbox_is_asked_about_each_time() {
        let here = permissions(Ask, &[]);
        let granted: Vec<Always> = here.always("Bash", &runs("cargo test")).into_iter().collect();
        assert!(here.is_covered(&granted, "Bash", &runs("cargo test --lib")));
        let outside = format!("Bash{OUTSIDE}");
        assert!(!here.is_covered(&granted, &outside, &runs("cargo test")));
        assert_eq!(here.always(&outside, &runs("cargo test")), None);
    }

    // spec: X1
    #[test]
    fn files_that_may_not_be_read_are_found_for_the_sandbox() {
        let held = tempfile::tempdir().unwrap();
        let (dir, elsewhere) = (held.path().canonicalize().unwrap().join("birds"), held.path().join("elsewhere"));
        std::fs::create_dir_all(dir.join("sub/secrets")).unwrap();
        for file in [&dir.join(".env"), &dir.join("sub/.ENV"), &dir.join("sub/secrets/key"), &dir.join("a"), &elsewhere]
        {
            std::fs::write(file, "x").unwrap();
        }
        let outright = format!("Read({})", elsewhere.display());
        let below = format!("Read({}/*.pem)", held.path().canonicalize().unwrap().display());
        std::fs::write(held.path().join("a.pem"), "x").unwrap();
        let deny = ["Read(.env)", "Read(sub/secrets/**)", &outright, &below].map(|rule| rule.parse().unwrap()).to_vec();
        let mut found = Permissions { dir: dir.clone(), deny, ..Permissions::default() }.denied_files();
        found.sort();
        found.dedup();
        let elsewhere = elsewhere.canonicalize().unwrap();
        let pem = elsewhere.with_file_name("a.pem");
        let mut expected = vec![dir.join(".env"), dir.join("sub/.ENV"), dir.join("sub/secrets"), elsewhere, pem];
        expected.sort();
        assert_eq!(found, expected);
        assert!(Permissions { dir, ..Permissions::default() }.denied_files().is_empty());
    }

    // spec: X2
    #[test]
    fn without_a_sandbox_commands_that_read_ask_or_are_refused() {
        let bare = |mode, rules: &[&str]| Permissions { sandboxed: false, ..permissions(mode, rules) };
        for (mode, rules, word) in [
            (Ask, &[][..], "ask"),
            (AcceptEdits, &[], "ask"),
            (Ask, &["Bash(cat *)"], "allow"),
            (AllowAll, &[], "allow"),
            (ReadOnly, &[], "deny"),
            (Plan, &[], "deny"),
            (Plan, &["Bash"], "deny"),
        ] {
            let verdict = bare(mode, rules).decide("Bash", &runs("cat a"));
            let found = match &verdict {
                Verdict::Allow => "allow",
                Verdict::Ask => "ask",
                Verdict::Deny(reason) => {
                    assert!(reason.contains("sandbox"), "{reason}");
                    "deny"
                }
            };
            assert_eq!(found, word, "{mode:?} {rules:?}");
        }
    }

    // spec: X2
    #[test]
    fn the_sandbox_holds_what_nobody_approved() {
        use Approval::{Given, NotNeeded};
        for (mode, rules, approval, confined) in [
            (Ask, &[][..], NotNeeded, true),
            (Ask, &[], Given, false),
            (AcceptEdits, &[], NotNeeded, true),
            (Ask, &["Bash(cat *)"], NotNeeded, false),
            (AllowAll, &[], NotNeeded, false),
            (ReadOnly, &["Bash"], NotNeeded, true),
            (ReadOnly, &[], Given, true),
            (Plan, &[], Given, true),
        ] {
            let confines = permissions(mode, rules).confines("Bash", &runs("cat a"), approval);
            assert_eq!(confines, confined, "{mode:?} {rules:?} {approval:?}");
        }
        assert!(!permissions(ReadOnly, &[]).confines("Read", &Effect::Reads(Vec::new()), NotNeeded));
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
