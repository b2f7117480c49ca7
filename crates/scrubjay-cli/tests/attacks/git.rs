//! A hostile repository and an agent in a worktree of it: every way in which git starts programs, with a program that
//! leaves a mark. The control is git itself.

use crate::stage::{Stage, files};
use crate::tally::Tally;
use scrubjay::agents::worktree::{Settled, Worktree};
use scrubjay::limits::Limits;
use scrubjay_testkit::simulator::{RecordedRequest, Script, Simulator, text, tool_use};
use serde::Deserialize;
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[derive(Deserialize)]
struct Suite {
    planted: Vec<Planted>,
}

/// A way to have a program started.
#[derive(Deserialize, Clone, Default)]
#[serde(deny_unknown_fields, default)]
struct Planted {
    name: String,
    config: String,
    worktree: String,
    hook: String,
    attributes: String,
    info: String,
    /// An object that is looked for elsewhere.
    missing: bool,
    alternate: bool,
    control: String,
}

/// A folder with a hostile repository in it and the marks that its programs leave.
struct Lair {
    folder: tempfile::TempDir,
}

impl Lair {
    fn new(all: &[Planted]) -> Self {
        let lair = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir(lair.marks()).unwrap();
        lair.shell("git init -q -b main project").unwrap();
        let attributes: String = all.iter().map(|one| format!("{}\n", one.attributes)).collect();
        let usual = "*.txt filter=a diff=a merge=a\n";
        fs::write(lair.project().join(".gitattributes"), format!("{attributes}{usual}")).unwrap();
        fs::write(lair.project().join("a.txt"), "a\n").unwrap();
        lair.shell("cd project && git add . && git commit -q -m first").unwrap();
        for one in all {
            lair.plant(one);
        }
        lair
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn project(&self) -> PathBuf {
        self.at("project")
    }

    fn marks(&self) -> PathBuf {
        self.at("marks")
    }

    /// Which programs were started.
    fn marked(&self) -> Vec<String> {
        files(&self.marks()).iter().map(|file| file.file_name().unwrap().to_string_lossy().into_owned()).collect()
    }

    /// The program of one attack.
    fn program(&self, name: &str) -> PathBuf {
        let plain: String = name.chars().map(|letter| if letter.is_alphanumeric() { letter } else { '-' }).collect();
        let file = self.at(&format!("bin-{plain}"));
        let mark = self.marks().join(&plain);
        script(&file, &format!("#!/bin/sh\n: > '{}'\nexit 0\n", mark.display()));
        file
    }

    /// The words of the list, with real places in them.
    fn filled(&self, one: &Planted, words: &str) -> String {
        let program = self.program(&one.name).display().to_string();
        let own = |name: &str| self.at(&format!("{name}-{}", program.len())).display().to_string();
        let (included, hooks, template, attributes) =
            (own("include"), own("hooks"), own("template"), own("attributes"));
        if words.contains("INCLUDED") {
            fs::write(&included, format!("[core]\n\tfsmonitor = {program}\n")).unwrap();
        }
        if words.contains("HOOKS") {
            fs::create_dir_all(&hooks).unwrap();
            for hook in ["post-checkout", "reference-transaction", "post-index-change"] {
                fs::copy(&program, Path::new(&hooks).join(hook)).unwrap();
            }
        }
        if words.contains("TEMPLATE") {
            fs::create_dir_all(Path::new(&template).join("hooks")).unwrap();
            fs::copy(&program, Path::new(&template).join("hooks/post-commit")).unwrap();
        }
        if words.contains("ATTRIBUTES") {
            fs::write(&attributes, "* filter=i\n").unwrap();
        }
        let root = self.project().display().to_string();
        words
            .replace("PROGRAM", &program)
            .replace("INCLUDED", &included)
            .replace("HOOKS", &hooks)
            .replace("TEMPLATE", &template)
            .replace("ATTRIBUTES", &attributes)
            .replace("ROOT", &root)
    }

    fn plant(&self, one: &Planted) {
        let git = self.project().join(".git");
        append(&git.join("config"), &self.filled(one, &one.config));
        append(&git.join("config.worktree"), &self.filled(one, &one.worktree));
        append(&git.join("info/attributes"), &one.info);
        if !one.hook.is_empty() {
            fs::copy(self.program(&one.name), git.join("hooks").join(&one.hook)).unwrap();
        }
        if one.missing {
            // A blob that nobody has: git would ask the remote for it.
            let id = self.shell("cd project && git rev-parse HEAD:a.txt").unwrap();
            let (folder, rest) = id.trim().split_at(2);
            fs::remove_file(git.join("objects").join(folder).join(rest)).unwrap();
        }
        if one.alternate {
            fs::create_dir_all(git.join("objects/info")).unwrap();
        }
    }

    /// A command line where nothing defends.
    fn shell(&self, line: &str) -> Result<String, String> {
        let identity = ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"];
        let output = Command::new("sh")
            .args(["-c", line])
            .current_dir(self.folder.path())
            .env_clear()
            .env("PATH", std::env::var("PATH").unwrap())
            .env("HOME", self.folder.path())
            .envs(identity.map(|name| (name, "a@example.org")))
            .env("TERM", "dumb")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
    }

    /// An agent's worktree: made, looked at and removed; made, changed and kept.
    async fn visited(&self, from: &Path) -> [Result<Settled, String>; 2] {
        let limits = Limits::default();
        let mut ends = Vec::new();
        for (name, change) in [("quiet", false), ("busy", true)] {
            let dir = self.at("data").join(name);
            let made = Worktree::create(from, &dir, &format!("scrubjay/{name}"), &limits).await;
            ends.push(match made {
                Ok(tree) => {
                    if change {
                        fs::write(tree.dir.join("a.txt"), "changed\n").unwrap();
                    }
                    Ok(tree.settle().await)
                }
                Err(why) => Err(why),
            });
        }
        ends.try_into().unwrap()
    }
}

fn script(file: &Path, text: &str) {
    fs::write(file, text).unwrap();
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
}

fn append(file: &Path, text: &str) {
    if text.is_empty() {
        return;
    }
    let before = fs::read_to_string(file).unwrap_or_default();
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, format!("{before}{text}\n")).unwrap();
}

fn suite() -> Vec<Planted> {
    toml::from_str::<Suite>(include_str!("../../../../suites/attacks/git.toml")).unwrap().planted
}

fn is_agent(request: &RecordedRequest) -> bool {
    request.system_text().contains("Another agent started you")
}

// spec: A3
#[tokio::test(flavor = "multi_thread")]
async fn git_starts_no_program_of_a_repository() {
    let mut tally = Tally::of("git");
    let all = suite();
    assert!(all.len() >= 25);
    let (mut idle, mut wrong) = (Vec::new(), Vec::new());
    for one in &all {
        let lair = Lair::new(std::slice::from_ref(one));
        let ends = lair.visited(&lair.project()).await;
        let usual = [Ok(Settled::Removed), Ok(Settled::Kept("1 file changed".into()))];
        // What is missing is not fetched, so nothing can be made.
        if if one.missing { !ends.iter().all(Result::is_err) } else { ends != usual } {
            wrong.push(format!("{}: {ends:?}", one.name));
        }
        tally.tried(&one.name, !lair.marked().is_empty());
        let line = lair.filled(one, &one.control);
        let said = lair.shell(&format!("cd project; {line}"));
        tally.control(!lair.marked().is_empty());
        if lair.marked().is_empty() {
            idle.push(format!("{}: {said:?}", one.name));
        }
    }
    elsewhere(&mut tally, &mut wrong).await;
    variables(&mut tally, &mut wrong).await;
    everything_at_once(&mut tally, &all, &mut wrong).await;
    tally.finish();
    assert!(wrong.is_empty(), "agents cannot work there:\n{}", wrong.join("\n"));
    assert!(idle.is_empty(), "git itself does not start these, so they prove nothing:\n{}", idle.join("\n"));
}

/// Repositories that are not what they seem: what is of a stranger's repository must not be entered.
async fn elsewhere(tally: &mut Tally, wrong: &mut Vec<String>) {
    let fsmonitor = |lair: &Lair, name: &str| format!("[core]\n\tfsmonitor = {}\n", lair.program(name).display());

    // A bare repository among the files, and a session that works in its folder.
    let lair = Lair::new(&[]);
    lair.shell("cd project && git clone -q --bare . sub").unwrap();
    let config = lair.project().join("sub/config");
    let worktree = lair.project().display().to_string();
    append(&config, &format!("{}[core]\n\tbare = false\n\tworktree = {worktree}", fsmonitor(&lair, "bare")));
    let [quiet, _] = lair.visited(&lair.project().join("sub")).await;
    wrong.extend(quiet.err());
    tally.tried("a bare repository among the files", !lair.marked().is_empty());
    lair.shell("cd project/sub && git status").unwrap();
    tally.control(!lair.marked().is_empty());

    // A `.git` file and a link that name somebody else's repository: its files are not the model's to read.
    for (name, line) in [
        ("a .git file that names another repository", "echo \"gitdir: $PWD/victim/.git\" > archive/.git"),
        ("a .git link to another repository", "ln -s \"$PWD/victim/.git\" archive/.git"),
        (
            "a commondir that names another repository",
            "cp -r project/.git archive/.git; echo \"$PWD/victim/.git\" > archive/.git/commondir; cp victim/.git/HEAD archive/.git/; rm -rf archive/.git/refs archive/.git/objects; mkdir archive/.git/refs archive/.git/objects",
        ),
        (
            "core.worktree that names another folder",
            "cp -r project/.git archive/.git; git -C archive config core.worktree \"$PWD/victim\"",
        ),
        (
            "references that are a link",
            "cp -r victim/.git archive/.git; rm -r archive/.git/refs; ln -s \"$PWD/victim/.git/refs\" archive/.git/refs",
        ),
    ] {
        let lair = Lair::new(&[]);
        lair.shell("git init -q -b main victim && echo secret > victim/secret.txt && cd victim && git add . && git commit -q -m s && cd .. && mkdir archive").unwrap();
        lair.shell(line).unwrap();
        let tree = Worktree::create(&lair.at("archive"), &lair.at("data/w"), "scrubjay/w", &Limits::default()).await;
        let touched = lair.shell("git -C victim branch --list 'scrubjay/*'").unwrap().contains("scrubjay");
        let inside = tree.as_ref().is_ok_and(|tree| tree.top != lair.at("archive").canonicalize().unwrap());
        tally.tried(name, touched || inside || (lair.at("data/w/secret.txt").exists() && !name.contains("are a link")));
        let plain = lair.shell("cd archive && git rev-parse --show-toplevel && git worktree add -q ../side");
        let led = lair.at("side/secret.txt").exists() || plain.is_ok_and(|top| top.contains("victim"));
        tally.control(led);
    }

    // A submodule that an agent fills with a repository of its own.
    let lair = Lair::new(&[]);
    lair.shell("cd project && git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),s && git commit -q -m s")
        .unwrap();
    let tree = Worktree::create(&lair.project(), &lair.at("data/w"), "scrubjay/w", &Limits::default()).await.unwrap();
    lair.shell("git init -q data/w/s && cd data/w/s && git commit -q --allow-empty -m x").unwrap();
    append(&tree.dir.join("s/.git/config"), &fsmonitor(&lair, "submodule"));
    let settled = tree.settle().await;
    if settled != Settled::Kept("a submodule has files".into()) {
        wrong.push(format!("submodule: {settled:?}"));
    }
    tally.tried("a submodule with a configuration of its own", !lair.marked().is_empty());
    lair.shell("cd data/w && git status").unwrap();
    tally.control(!lair.marked().is_empty());
}

/// Sets up a variable that steers git to a program.
type Steering = fn(&Lair, &Path) -> Vec<(&'static str, String)>;

const STEERING: &[(&str, Steering)] = &[
    ("GIT_CONFIG_COUNT", |_, program| {
        let fsmonitor = |name, value: &str| (name, value.to_owned());
        vec![
            fsmonitor("GIT_CONFIG_COUNT", "1"),
            fsmonitor("GIT_CONFIG_KEY_0", "core.fsmonitor"),
            ("GIT_CONFIG_VALUE_0", program.display().to_string()),
        ]
    }),
    ("GIT_CONFIG_PARAMETERS", |_, program| {
        vec![("GIT_CONFIG_PARAMETERS", format!("'core.fsmonitor'='{}'", program.display()))]
    }),
    ("GIT_CONFIG_GLOBAL", |lair, program| {
        let file = lair.at("global");
        append(&file, &format!("[core]\n\tfsmonitor = {}", program.display()));
        vec![("GIT_CONFIG_GLOBAL", file.display().to_string())]
    }),
    ("GIT_CONFIG_SYSTEM", |lair, program| {
        let file = lair.at("system");
        append(&file, &format!("[core]\n\tfsmonitor = {}", program.display()));
        vec![("GIT_CONFIG_SYSTEM", file.display().to_string())]
    }),
    ("the user's own configuration", |lair, program| {
        append(
            &lair.at("user/.gitconfig"),
            &format!("[filter \"a\"]\n\tclean = {0}\n\tsmudge = {0}", program.display()),
        );
        vec![("HOME", lair.at("user").display().to_string())]
    }),
    ("XDG_CONFIG_HOME", |lair, program| {
        append(&lair.at("xdg/git/config"), &format!("[core]\n\tfsmonitor = {}", program.display()));
        vec![("XDG_CONFIG_HOME", lair.at("xdg").display().to_string())]
    }),
    ("GIT_EXEC_PATH", |lair, program| {
        fs::create_dir(lair.at("exec")).unwrap();
        for name in ["git-read-tree", "git-status", "git-rev-parse", "git-anything"] {
            fs::copy(program, lair.at("exec").join(name)).unwrap();
        }
        vec![("GIT_EXEC_PATH", lair.at("exec").display().to_string())]
    }),
    ("GIT_TRACE", |lair, _| vec![("GIT_TRACE", lair.marks().join("trace").display().to_string())]),
    ("GIT_TRACE2_EVENT", |lair, _| vec![("GIT_TRACE2_EVENT", lair.marks().join("two").display().to_string())]),
    ("GIT_TRACE_SETUP", |lair, _| vec![("GIT_TRACE_SETUP", lair.marks().join("three").display().to_string())]),
    ("GIT_DIR", |lair, program| {
        lair.shell("git init -q -b main other && cd other && git commit -q --allow-empty -m x").unwrap();
        append(&lair.at("other/.git/config"), &format!("[core]\n\tfsmonitor = {}", program.display()));
        vec![("GIT_DIR", lair.at("other/.git").display().to_string())]
    }),
    ("GIT_COMMON_DIR", |lair, program| {
        lair.shell("cp -r project/.git other").unwrap();
        append(&lair.at("other/config"), &format!("[core]\n\tfsmonitor = {}", program.display()));
        vec![
            ("GIT_COMMON_DIR", lair.at("other").display().to_string()),
            ("GIT_DIR", lair.at("project/.git").display().to_string()),
        ]
    }),
    ("a PATH with a dot in it", |lair, program| {
        fs::copy(program, lair.project().join("git")).unwrap();
        vec![("PATH", format!(".:{}", std::env::var("PATH").unwrap()))]
    }),
];

/// What was left in the environment, by `.envrc` or a launcher, tells git nothing.
async fn variables(tally: &mut Tally, wrong: &mut Vec<String>) {
    for (name, setting) in STEERING {
        let lair = Lair::new(&[]);
        let more = setting(&lair, &lair.program(name));
        wrong.extend(session_in(&lair, &more).await);
        tally.tried(format!("environment: {name}"), !lair.marked().is_empty());
        let mut git = Command::new("sh");
        git.args(["-c", "touch a.txt; git status; git anything"]).current_dir(lair.project()).envs(more);
        git.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
        tally.control(!lair.marked().is_empty());
    }
}

/// The program itself, with two agents in worktrees of a project; what went wrong.
async fn session_in(lair: &Lair, more: &[(&'static str, String)]) -> Option<String> {
    let wish = |name: &str| json!({ "prompt": format!("Be {name}."), "description": name, "name": name, "agent": "general", "worktree": true });
    let script = Script::new()
        .when(
            |request| is_agent(request) && request.system_text().contains("busy") && request.tool_results().is_empty(),
            tool_use("Write", json!({ "file_path": "a.txt", "content": "changed\n" })),
        )
        .when(is_agent, text("done"))
        .reply(tool_use("Agent", wish("quiet")).and(tool_use("Agent", wish("busy"))))
        .reply(text("Both are done."));
    let simulator = Simulator::start(script).await.unwrap();
    let stage = Stage::with(&simulator);
    let mut command = stage.command(&["-p", "go", "--permission-mode", "allow-all"]);
    command.current_dir(lair.project()).envs(more.iter().map(|(name, value)| (name, value)));
    let ran = crate::stage::finished(command).ended_with(0);
    let results = format!("{:?}", simulator.last_request().unwrap().tool_results());
    let fine = results.contains("done") && !results.contains("could not make");
    if fine { None } else { Some(format!("{results}\n{}", ran.err)) }
}

/// Everything that can stand beside each other, in a real session.
async fn everything_at_once(tally: &mut Tally, all: &[Planted], wrong: &mut Vec<String>) {
    let together: Vec<Planted> = all.iter().filter(|one| !one.missing).cloned().collect();
    let lair = Lair::new(&together);
    wrong.extend(session_in(&lair, &[]).await);
    let marked = lair.marked();
    tally.tried(format!("everything at once: {marked:?}"), !marked.is_empty());
    lair.shell("cd project; git worktree add -q ../side; git status").ok();
    tally.control(!lair.marked().is_empty());
}
