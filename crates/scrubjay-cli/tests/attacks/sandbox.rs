//! Hostile commands in the sandbox itself, with no classifier before it: whatever is let through by mistake must be
//! harmless. Each list is run as on this kernel and as on every older one that has a sandbox.

#![cfg(target_os = "linux")]

use crate::tally::Tally;
use scrubjay::digest::FilesSeen;
use scrubjay::limits::Limits;
use scrubjay::message::{Block, ToolCallId};
use scrubjay::tool::{Bench, Confinement, Occasion, Tool as _, Visible};
use scrubjay::tools::shell::Bash;
use scrubjay::tools::shell::sandbox::{Confined, Policy, Programs};
use scrubjay_sandbox::linux::Linux;
use scrubjay_sandbox::policy::{self, Places};
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

const CANARY: &str = "CANARY-7c1f";

#[derive(Deserialize)]
struct Attack {
    name: String,
    command: String,
    #[serde(default)]
    alone: bool,
}

#[derive(Deserialize)]
struct Attacks {
    attack: Vec<Attack>,
}

#[derive(Deserialize)]
struct SystemCall {
    name: String,
    body: String,
    #[serde(default)]
    alone: bool,
}

#[derive(Deserialize)]
struct SystemCalls {
    calls: Vec<SystemCall>,
}

/// A project, what lies beside it, and servers that would notice a visitor.
struct Scene {
    _held: tempfile::TempDir,
    root: PathBuf,
    marker: String,
    tcp: TcpListener,
    udp: UdpSocket,
    local: UnixListener,
}

impl Scene {
    fn new() -> Self {
        let held = tempfile::tempdir().unwrap();
        let root = held.path().canonicalize().unwrap();
        let at = |name: &str| root.join(name);
        for dir in ["project/.git/hooks", "project/src", "outside", "home/.ssh", "scratch"] {
            fs::create_dir_all(at(dir)).unwrap();
        }
        fs::write(at("project/notes.txt"), "a bird in the hand\nanother bird\n").unwrap();
        fs::write(at("project/src/main.rs"), "fn main() {}\n").unwrap();
        fs::write(at("project/.git/config"), "[core]\n").unwrap();
        fs::write(at("project/script.sh"), "echo x > made-by-script\n").unwrap();
        fs::write(at("project/writer"), "#!/bin/sh\necho x > made-by-writer\n").unwrap();
        fs::copy("/usr/bin/touch", at("project/toucher")).unwrap();
        fs::set_permissions(at("project/writer"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(at("outside/secret.txt"), format!("{CANARY}\n")).unwrap();
        fs::write(at("home/.ssh/id"), format!("{CANARY}\n")).unwrap();
        for name in ["-link", "link"] {
            symlink(at("outside/secret.txt"), at("project").join(name)).unwrap();
        }
        symlink(at("outside"), at("project/folder")).unwrap();
        let (tcp, udp) = (TcpListener::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
        let local = UnixListener::bind(at("outside/socket")).unwrap();
        tcp.set_nonblocking(true).unwrap();
        udp.set_nonblocking(true).unwrap();
        local.set_nonblocking(true).unwrap();
        let marker = format!("mark-{}", root.file_name().unwrap().to_string_lossy().trim_start_matches('.'));
        Self { _held: held, root, marker, tcp, udp, local }
    }

    fn project(&self) -> PathBuf {
        self.root.join("project")
    }

    fn fill(&self, text: &str) -> String {
        let port = |address: std::io::Result<std::net::SocketAddr>| address.unwrap().port().to_string();
        text.replace("{project}", &self.project().display().to_string())
            .replace("{outside}", &self.root.join("outside").display().to_string())
            .replace("{home}", &self.root.join("home").display().to_string())
            .replace("{tcp}", &port(self.tcp.local_addr()))
            .replace("{udp}", &port(self.udp.local_addr()))
            .replace("{marker}", &self.marker)
    }

    fn places(&self) -> Places {
        Places { project: self.project(), home: Some(self.root.join("home")), ..Places::default() }
    }

    fn reading(&self) -> Policy {
        policy::reading(&self.places())
    }

    fn lazily(&self, write: fn(&Places) -> Policy) -> impl FnOnce() -> Policy + Send + 'static {
        let places = self.places();
        move || write(&places)
    }

    fn confined(&self, sandbox: Linux, policy: Policy) -> Bash {
        Bash::confined(Confined::new(Arc::new(sandbox), move || policy, self.root.join("scratch")))
    }

    async fn run(&self, bash: &Bash, command: &str, confinement: Confinement) -> String {
        let (seen, limits, call) = (FilesSeen::new(), Limits::default(), ToolCallId::new("t"));
        let (occasion, cancel) = (Occasion::default(), CancellationToken::new());
        let input = json!({ "command": command, "timeout_ms": 5000 });
        let dir = self.project();
        let approved = bash.effect(&input, &dir);
        let bench = Bench {
            dir: &dir,
            seen: &seen,
            limits: &limits,
            call: &call,
            approved: &approved,
            confinement,
            occasion: &occasion,
            cancel: &cancel,
            view: None,
            summon: None,
            memory: None,
            visible: &Visible::default(),
        };
        let outcome = bash.call(&input, &bench).await;
        outcome.parts.iter().filter_map(Block::as_text).collect()
    }

    /// Run it, and say whether it did what it was meant to.
    async fn attack(&self, bash: &Bash, command: &str, confinement: Confinement) -> Result<String, String> {
        let before = self.fingerprint();
        let output = self.run(bash, &self.fill(command), confinement).await;
        let mut seen = Vec::new();
        if self.fingerprint() != before {
            seen.push("changed files");
        }
        if output.contains(CANARY) || output.contains("BROKE") {
            seen.push("said what it should not know, or did what it may not");
        }
        if self.tcp.accept().is_ok() || self.udp.recv(&mut [0]).is_ok() || self.local.accept().is_ok() {
            seen.push("reached a server");
        }
        if self.left_processes() {
            seen.push("left a process");
        }
        if seen.is_empty() { Err(output) } else { Ok(format!("{} ({output})", seen.join(", "))) }
    }

    /// Everything but the scratch folder: names, text, modes, owners, times, link counts.
    fn fingerprint(&self) -> BTreeMap<PathBuf, String> {
        let mut found = BTreeMap::new();
        let mut pending: Vec<PathBuf> = ["project", "outside", "home"].map(|name| self.root.join(name)).to_vec();
        while let Some(path) = pending.pop() {
            let about = fs::symlink_metadata(&path).unwrap();
            if about.is_dir() {
                pending.extend(path.read_dir().unwrap().map(|entry| entry.unwrap().path()));
            }
            let text = if about.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
            let (mode, times) = (about.mode(), (about.mtime(), about.mtime_nsec(), about.ctime(), about.ctime_nsec()));
            found.insert(path, format!("{mode:o} {times:?} {} {} {:?}", about.uid(), about.nlink(), text));
        }
        found
    }

    /// Processes that carry the marker, which are ended.
    fn left_processes(&self) -> bool {
        let mut left = false;
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let words = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let has_marker = String::from_utf8_lossy(&words).contains(&self.marker);
            if let Some(pid) = entry.file_name().to_str().and_then(|pid| pid.parse::<u32>().ok()).filter(|_| has_marker)
            {
                left = true;
                drop(std::process::Command::new("kill").args(["-KILL", &pid.to_string()]).status());
            }
        }
        left
    }

    /// The temporary folder of a command is gone when it has ended.
    fn is_tidy(&self) -> bool {
        self.root.join("scratch").read_dir().unwrap().next().is_none()
    }
}

/// The sandbox of this kernel; where there is none the tests say so and end.
fn sandbox() -> Option<Linux> {
    match Linux::detect() {
        Ok(found) => Some(found),
        Err(why) => {
            println!("skipped: no sandbox on this system: {why}");
            None
        }
    }
}

fn list<T: serde::de::DeserializeOwned>(name: &str) -> T {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../suites/attacks").join(name);
    toml::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// As on the oldest kernel that has a sandbox, on one without limits for signals, and on this one.
const KERNELS: [i32; 3] = [2, 5, 6];

// spec: X2
#[tokio::test(flavor = "multi_thread")]
async fn commands_in_the_read_only_sandbox_are_harmless() {
    let Some(newest) = sandbox() else { return };
    let mut tally = Tally::of("sandbox");
    let attacks: Attacks = list("sandbox.toml");
    for attack in &attacks.attack {
        if !attack.alone {
            let scene = Scene::new();
            let free = scene.attack(&Bash::new(), &attack.command, Confinement::Usual).await;
            if let Err(output) = &free {
                println!("without the sandbox, `{}` does nothing here: {output}", attack.name);
            }
            tally.control(free.is_ok());
        }
        let mut broke = Vec::new();
        for abi in KERNELS {
            let scene = Scene::new();
            let bash = scene.confined(newest.as_of(abi), scene.reading());
            let how = scene.attack(&bash, &attack.command, Confinement::ReadOnly).await;
            assert!(scene.is_tidy(), "{}: the temporary folder stayed", attack.name);
            broke.extend(how.ok().map(|how| format!("ABI {abi}: {how}")));
        }
        tally.tried(format!("{}: {}", attack.name, broke.join("\n")), !broke.is_empty());
    }
    tally.finish();
}

const PERL: &str = "/usr/bin/perl";

// spec: X2
#[cfg(target_arch = "x86_64")]
#[tokio::test(flavor = "multi_thread")]
async fn system_calls_that_change_something_are_refused() {
    let Some(newest) = sandbox() else { return };
    if !Path::new(PERL).is_file() {
        println!("skipped: no {PERL} to make system calls with");
        return;
    }
    let mut tally = Tally::of("system calls");
    let list: SystemCalls = list("system_calls.toml");
    for attack in &list.calls {
        let program = format!(
            "use Errno; sub ok {{ my $r = shift; print 'BRO', 'KE' if defined $r && $r ne '' && $r ne '-1' }} \
             sub call {{ my $n = shift; my $r = syscall($n, @_); $r }} \
             my $file = '{{project}}/notes.txt'; my $parent = getppid; {}",
            attack.body
        );
        let command = format!("{PERL} -e '{}'", program.replace('\'', "'\\''"));
        if !attack.alone {
            let scene = Scene::new();
            let free = scene.attack(&Bash::new(), &command, Confinement::Usual).await;
            if let Err(output) = &free {
                println!("without the sandbox, `{}` does nothing here: {output}", attack.name);
            }
            tally.control(free.is_ok());
        }
        let mut all = Vec::new();
        for abi in KERNELS {
            let scene = Scene::new();
            let mut policy = scene.reading();
            if let Programs::Only(programs) = &mut policy.programs {
                programs.push(PERL.into());
            }
            let bash = scene.confined(newest.as_of(abi), policy);
            let works = scene.run(&bash, &format!("{PERL} -e 'print 6 * 7'"), Confinement::ReadOnly).await;
            assert!(works.starts_with("42"), "perl does not run in the sandbox: {works}");
            let broke = scene.attack(&bash, &command, Confinement::ReadOnly).await;
            let output = broke.as_ref().unwrap_or_else(|output| output);
            assert!(
                !output.contains("syntax error") && !output.contains("Modification of"),
                "{}: {output}",
                attack.name
            );
            all.extend(broke.ok().map(|how| format!("ABI {abi}: {how}")));
        }
        tally.tried(format!("{}: {}", attack.name, all.join("\n")), !all.is_empty());
    }
    tally.finish();
}

/// Ordinary commands. `{project}` holds a few files and one large one.
const ORDINARY: &[&str] = &[
    "ls -la | wc -l",
    "ls src",
    "cat notes.txt",
    "cat notes.txt | head -n1 | tr a-z A-Z",
    "head -n 1 notes.txt; tail -n 1 notes.txt",
    "wc -l notes.txt src/main.rs",
    "grep -rn bird --include=*.txt .",
    "egrep 'bird|hand' notes.txt",
    "rg -n bird notes.txt",
    "rg --files src",
    "find . -name '*.rs' -type f",
    "find . -maxdepth 1 | sort",
    "stat -c %s notes.txt",
    "file notes.txt",
    "pwd",
    "echo hello; printf '%s\\n' there",
    "sort -r notes.txt",
    "sort large.txt | uniq -c | tail -n 2",
    "sort -S 1M large.txt | md5sum",
    "uniq notes.txt",
    "cut -d ' ' -f 1 notes.txt",
    "nl notes.txt",
    "basename src/main.rs .rs; dirname src/main.rs",
    "realpath src/main.rs",
    "readlink link",
    "du -a src | cut -f 2",
    "df . 2> /dev/null | wc -l",
    "date -u -d @0 +%Y",
    "id -u; whoami",
    "uname -s",
    "which cat",
    "true && echo yes || echo no",
    "[ -f notes.txt ] && echo there",
    "sed -n '1p' notes.txt",
    "diff notes.txt src/main.rs",
    "cmp notes.txt notes.txt && echo same",
    "sha256sum notes.txt",
    "tree src",
    "jq -r .name package.json",
    "cd src && ls",
    "ls /nowhere",
    "cat < notes.txt 2>/dev/null",
    "cat <(echo one) <(echo two)",
    "false",
    "exit 3",
];

// spec: X2
#[tokio::test(flavor = "multi_thread")]
async fn ordinary_commands_say_the_same_inside_and_outside() {
    let Some(newest) = sandbox() else { return };
    let scene = Scene::new();
    fs::write(scene.project().join("package.json"), "{\"name\": \"birds\"}").unwrap();
    let large: String = (0..200_000_u32).map(|line| format!("{} line\n", line.wrapping_mul(2_654_435_761))).collect();
    fs::write(scene.project().join("large.txt"), large).unwrap();
    for abi in KERNELS {
        let bash = scene.confined(newest.as_of(abi), scene.reading());
        for command in ORDINARY {
            let name = command.split(' ').next().unwrap_or_default();
            let outside = scene.run(&Bash::new(), command, Confinement::Usual).await;
            let inside = scene.run(&bash, command, Confinement::ReadOnly).await;
            let told = outside.contains("command not found").then_some(name);
            told.iter().for_each(|name| println!("skipped: there is no {name} here"));
            // Where programs are looked for differs, and whether the last one of a line is gone yet.
            let plain = |text: &str| {
                let late = "\n[processes it had left in the background were stopped]";
                text.replace("/usr/bin/", "").replace(late, "")
            };
            assert_eq!(plain(&inside), plain(&outside), "ABI {abi}: {command}");
        }
    }
    assert!(scene.is_tidy());
}

/// In the sandbox for work, after which the same is tried without one.
const WORK: &[(&str, &str)] = &[
    ("write outside", "echo x > {outside}/new"),
    ("write to the home directory", "echo x > {home}/.bashrc"),
    ("write to the system's temporary folder", "echo x > /tmp/{marker} && echo BRO''KE; rm -f /tmp/{marker}"),
    ("write to shared memory", "echo x > /dev/shm/{marker} && echo BRO''KE; rm -f /dev/shm/{marker}"),
    ("move a file out", "mv notes.txt {outside}/"),
    ("link a file in", "ln {outside}/secret.txt here"),
    ("write through a link", "echo x > link"),
    ("read a file outside", "cat {outside}/secret.txt"),
    ("read through a link", "cat link"),
    ("read a key of the user", "cat {home}/.ssh/id"),
    ("read a key with python", "python3 -c 'print(open(\"{home}/.ssh/id\").read())'"),
    ("a connection by the shell", "exec 3<>/dev/tcp/127.0.0.1/{tcp} && echo x >&3"),
    ("a datagram by the shell", "echo x > /dev/udp/127.0.0.1/{udp}"),
    ("curl", "curl -s -m 2 http://127.0.0.1:{tcp}/"),
    (
        "a socket of this machine",
        "perl -e 'use Socket; socket(S, 1, 1, 0) && connect(S, pack(\"S a*\", 1, \"{outside}/socket\"))'",
    ),
    ("a message to a socket of this machine", "perl -e 'socketpair(A, B, 1, 2, 0) && print \"BRO\", \"KE\"'"),
    ("a signal to the parent", "kill -CONT $PPID && echo BRO''KE"),
    ("the environment of the parent", "tr '\\0' '\\n' < /proc/$PPID/environ | sed -n 's/^PATH=.*/BROKE/p'"),
    ("the limits of the parent", "prlimit --pid $PPID --core=0 && echo BRO''KE"),
    ("the shadow file", "sed -n 's/^root:.*/BROKE/p' /etc/shadow"),
    ("become somebody else", "unshare -r true && echo BRO''KE"),
    (
        "an attribute",
        "perl -e 'my ($f, $n, $v) = (\"{outside}/secret.txt\", \"user.x\", \"y\"); print \"BRO\", \"KE\" if syscall(188, $f, $n, $v, 1, 0) == 0'",
    ),
    (
        "empty a file while reading it",
        "perl -e 'my $f = \"{outside}/secret.txt\"; syscall(257, -100, $f, 0x200, 0); print -z $f ? \"BRO\" . \"KE\" : \"\"'",
    ),
    (
        "the owner of a file",
        "perl -e 'print \"BRO\", \"KE\" if chown($<, (split \" \", $()[0], \"{outside}/secret.txt\")'",
    ),
];

// spec: X2
#[tokio::test(flavor = "multi_thread")]
async fn work_in_the_sandbox_stays_in_the_project() {
    let Some(newest) = sandbox() else { return };
    let mut tally = Tally::of("sandbox for work");
    for (name, command) in WORK {
        let scene = Scene::new();
        let free = scene.attack(&Bash::new(), command, Confinement::Usual).await;
        if let Err(output) = &free {
            println!("without the sandbox, `{name}` does nothing here: {output}");
        }
        tally.control(free.is_ok());
        let mut broke = Vec::new();
        for abi in KERNELS {
            let scene = Scene::new();
            let sandbox = Arc::new(newest.as_of(abi));
            let confined = Confined::new(sandbox, scene.lazily(policy::reading), scene.root.join("scratch"))
                .working(scene.lazily(policy::working));
            let bash = Bash::confined(confined);
            let worked = scene
                .run(&bash, "echo made > new && mkdir -p a/b && mv new a/b/ && cat a/b/new", Confinement::Usual)
                .await;
            assert!(worked.starts_with("made"), "ABI {abi}: {worked}");
            let own = scene
                .run(&bash, "echo x > $TMPDIR/y && cat $TMPDIR/y && chmod 700 a && touch a", Confinement::Usual)
                .await;
            assert!(own.starts_with('x') && own.contains("exit code 0"), "ABI {abi}: {own}");
            let how = scene.attack(&bash, command, Confinement::Usual).await;
            broke.extend(how.ok().map(|how| format!("ABI {abi}: {how}")));
        }
        tally.tried(format!("{name}: {}", broke.join("\n")), !broke.is_empty());
    }
    tally.finish();
}

// spec: X2
#[tokio::test(flavor = "multi_thread")]
async fn hidden_files_are_out_of_reach_in_both_sandboxes() {
    let Some(newest) = sandbox() else { return };
    let scene = Scene::new();
    let hidden = scene.project().join("src/.env");
    fs::write(&hidden, CANARY).unwrap();
    let path = hidden.clone();
    let confined = Confined::new(Arc::new(newest), scene.lazily(policy::reading), scene.root.join("scratch"))
        .working(scene.lazily(policy::working))
        .hiding(move || vec![path.clone()]);
    let bash = Bash::confined(confined);
    for confinement in [Confinement::ReadOnly, Confinement::Usual] {
        for command in ["cat src/.env", "grep -r CANARY .", "cd src && cat .env", "cat src/main.rs notes.txt"] {
            let output = scene.run(&bash, command, confinement).await;
            assert!(!output.contains(CANARY), "{confinement:?} {command}: {output}");
            assert!(!command.contains("main.rs") || output.contains("fn main"), "{output}");
        }
    }
    let outside = scene.run(&bash, "cat src/.env", Confinement::Outside).await;
    assert!(outside.contains(CANARY), "{outside}");
}

// spec: X2
#[tokio::test(flavor = "multi_thread")]
async fn without_its_sandbox_a_confined_command_does_not_run() {
    #[derive(Debug)]
    struct Broken;
    impl scrubjay::tools::shell::sandbox::Sandbox for Broken {
        fn enter(&self, _: &Policy) -> std::io::Result<()> {
            Err(std::io::Error::other("the kernel says no"))
        }

        fn name(&self) -> String {
            "broken".to_owned()
        }
    }
    let scene = Scene::new();
    let before = scene.fingerprint();
    let broken =
        Bash::confined(Confined::new(Arc::new(Broken), scene.lazily(policy::reading), scene.root.join("scratch")));
    for (bash, reason) in [(broken, "the kernel says no"), (Bash::new(), "there is none")] {
        let output = scene.run(&bash, "echo ran; echo x > made", Confinement::ReadOnly).await;
        assert!(output.contains(reason) && !output.starts_with("ran"), "{output}");
    }
    assert_eq!(scene.fingerprint(), before);
    assert!(scene.is_tidy());
}

/// How long a command takes, side by side: `cargo test -p scrubjay-cli --test attacks -- --ignored --nocapture what_it_costs`.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "measures, and asserts nothing"]
async fn what_it_costs() {
    let Some(newest) = sandbox() else { return };
    let scene = Scene::new();
    let reading = scene.confined(newest, scene.reading());
    let confined = Confined::new(Arc::new(newest), scene.lazily(policy::reading), scene.root.join("scratch"));
    let working = Bash::confined(confined.working(scene.lazily(policy::working)));
    let began = std::time::Instant::now();
    let policy = scene.reading();
    println!("policy: {:?}, {} paths", began.elapsed(), policy.read.len());
    for command in ["true", "cat notes.txt | head -n1", "grep -r bird ."] {
        let mut times: [Vec<std::time::Duration>; 3] = Default::default();
        for _ in 0..60 {
            let free = Bash::new();
            let each = [(&free, Confinement::Usual), (&reading, Confinement::ReadOnly), (&working, Confinement::Usual)];
            for (index, (bash, confinement)) in each.into_iter().enumerate() {
                let began = std::time::Instant::now();
                scene.run(bash, command, confinement).await;
                times[index].push(began.elapsed());
            }
        }
        let middle = times.map(|mut times| {
            times.sort();
            times[times.len() / 2].as_secs_f64() * 1e3
        });
        let [free, reading, working] = middle;
        println!(
            "{command}: {free:.1} ms free, {reading:.1} ms reading ({:.2}), {working:.1} ms working ({:.2})",
            reading / free,
            working / free
        );
    }
}
