//! The two policies of scrubjay: for commands that only read, and for work on the project.

use scrubjay::paths::project_root;
use scrubjay::tools::shell::reading;
use scrubjay::tools::shell::sandbox::{Policy, Programs, Purpose};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// What the policies are made from. Paths need not exist.
#[derive(Debug, Clone, Default)]
pub struct Places {
    /// The project's folder.
    pub project: PathBuf,
    /// More that may be read: memory, stored results, skills.
    pub readable: Vec<PathBuf>,
    /// More that commands may change, where they may change something.
    pub writable: Vec<PathBuf>,
    /// Where a user's settings and keys lie.
    pub home: Option<PathBuf>,
    /// The program's own folders, of which only what is `readable` may be read.
    pub own: Vec<PathBuf>,
}

/// Where programs that only read are looked for. Nothing of the environment: a folder that a user can write to could
/// hold another `ls`.
const SEARCH: &[&str] = &["/usr/local/bin", "/usr/bin", "/bin", "/run/current-system/sw/bin", "/opt/homebrew/bin"];

/// The system's own files. Programs are not among them: the loader would run what it can read.
const SYSTEM: &[&str] = &["/usr", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/nix/store", "/opt/homebrew"];
const PROGRAM_FOLDERS: &[&str] = &[
    "/usr/bin",
    "/usr/sbin",
    "/usr/games",
    "/usr/libexec",
    "/usr/local/bin",
    "/usr/local/sbin",
    "/usr/local/games",
    "/usr/local/libexec",
    "/opt/homebrew/bin",
    "/opt/homebrew/sbin",
];

/// Facts about the machine, and none about its processes. A process cannot be granted its own folder alone: the
/// rule would be about the process that makes it, not about those it starts.
const MACHINE: &[&str] = &[
    "/proc/cpuinfo",
    "/proc/filesystems",
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/uptime",
    "/proc/version",
    "/proc/sys/kernel/osrelease",
    "/sys/devices/system/cpu",
];

const SOURCES: &[&str] = &["/dev/random", "/dev/urandom"];
const SINKS: &[&str] = &["/dev/null", "/dev/zero", "/dev/full"];

/// For commands that only read: nothing can be changed but a temporary folder, and nobody can be talked to.
pub fn reading(places: &Places) -> Policy {
    let mut read = real(SYSTEM.iter().chain(MACHINE).chain(SOURCES).map(PathBuf::from));
    read.extend(project(places));
    read.extend(real(places.home.iter().flat_map(|home| [home.join(".gitconfig"), home.join(".config/git/config")])));
    let hidden = [real(PROGRAM_FOLDERS.iter().map(PathBuf::from)), secrets(places)].concat();
    let system =
        Policy { read, list: real(["/bin", "/sbin"].map(PathBuf::from)), ..Policy::default() }.without(&hidden);
    let search = SEARCH.join(":");
    let search = OsString::from(search.as_str());
    Policy {
        purpose: Purpose::Reading,
        // These are named on purpose, so that they stay readable where they lie in a hidden folder.
        read: [system.read, real(places.readable.iter().cloned())].concat(),
        write: real(SINKS.iter().map(PathBuf::from)),
        programs: Programs::Only(programs()),
        shell: find("bash").or_else(|| find("sh")),
        env: vec![("PATH".to_owned(), search)],
        ..system
    }
}

/// What of a home directory tools need to build and test: they and their caches, never documents.
const TOOLS: &[&str] = &[
    ".asdf",
    ".bun",
    ".cache",
    ".cargo",
    ".config/git",
    ".deno",
    ".gitconfig",
    ".gradle",
    ".local",
    ".m2",
    ".npm",
    ".nvm",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".sdkman",
    ".volta",
    "go",
];

/// For work on the project: it and a temporary folder can be changed, tools can be run, and nobody can be talked to.
pub fn working(places: &Places) -> Policy {
    let system =
        ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/proc", "/sys"];
    let mut read = real(system.iter().chain(SOURCES).map(PathBuf::from));
    read.extend(real(places.home.iter().flat_map(|home| TOOLS.iter().map(|name| home.join(name)))));
    read.extend(project(places));
    let write = real([&places.project].into_iter().chain(&places.writable).cloned());
    let policy = Policy { purpose: Purpose::Working, read, write, programs: Programs::Any, ..Policy::default() };
    let mut policy = policy.without(&secrets(places));
    policy.read.extend(real(places.readable.iter().cloned()));
    policy.write.extend(real(SINKS.iter().map(PathBuf::from)));
    policy
}

/// The project, and the repository it is a worktree of, if that points back.
fn project(places: &Places) -> Vec<PathBuf> {
    let root = project_root(&places.project);
    let repository = root.join(".git");
    real([places.project.clone()].into_iter().chain(repository.is_dir().then_some(repository)))
}

/// Paths as the system sees them, those that exist.
fn real(paths: impl IntoIterator<Item = PathBuf>) -> Vec<PathBuf> {
    let found: BTreeSet<PathBuf> = paths.into_iter().filter_map(|path| path.canonicalize().ok()).collect();
    found.into_iter().collect()
}

/// Files of a user that hold keys, passwords, or what was typed elsewhere.
const SECRETS: &[&str] = &[
    ".aws",
    ".azure",
    ".bash_history",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".claude",
    ".codex",
    ".config/BraveSoftware",
    ".config/chromium",
    ".config/gcloud",
    ".config/gh",
    ".config/git/credentials",
    ".config/google-chrome",
    ".config/hub",
    ".config/op",
    ".docker",
    ".gem/credentials",
    ".git-credentials",
    ".gnupg",
    ".gradle/gradle.properties",
    ".kube",
    ".local/share/fish",
    ".local/share/keyrings",
    ".m2/settings-security.xml",
    ".m2/settings.xml",
    ".mozilla",
    ".my.cnf",
    ".mysql_history",
    ".netrc",
    ".node_repl_history",
    ".npmrc",
    ".password-store",
    ".pgpass",
    ".psql_history",
    ".pypirc",
    ".python_history",
    ".ssh",
    ".terraform.d",
    ".terraformrc",
    ".thunderbird",
    ".vault-token",
    ".zsh_history",
];

/// What is hidden wherever the project lies, even in the home directory itself.
fn secrets(places: &Places) -> Vec<PathBuf> {
    let users = places.home.iter().flat_map(|home| SECRETS.iter().map(|name| home.join(name)));
    let mut hidden = real(users.chain(places.own.iter().cloned()));
    hidden.extend(private(Path::new("/etc"), 0));
    hidden
}

/// Whatever other users of the machine may not read, root may not read here either: shadow, sudoers, private keys.
fn private(dir: &Path, depth: usize) -> Vec<PathBuf> {
    const DEEPEST: usize = 6;
    let mut found = Vec::new();
    for entry in dir.read_dir().into_iter().flatten().flatten() {
        let path = entry.path();
        let Ok(about) = entry.metadata() else {
            found.push(path);
            continue;
        };
        let open = if about.is_dir() { 0o005 } else { 0o004 };
        let name = entry.file_name().to_string_lossy().to_lowercase();
        let is_secret = NAMES.iter().any(|secret| name.starts_with(secret));
        if about.is_symlink() {
            continue;
        } else if is_secret || about.permissions().mode() & open != open || depth > DEEPEST {
            found.push(path);
        } else if about.is_dir() {
            found.extend(private(&path, depth + 1));
        }
    }
    found
}

/// Names of the system's secrets, for systems that leave them open.
const NAMES: &[&str] = &["shadow", "gshadow", "sudoers", "opasswd", "private", "krb5.keytab", "ssh_host_"];

/// The programs that the classifier knows, the shells that some of them are written for, and the loader of each.
fn programs() -> Vec<PathBuf> {
    let names = reading::programs().chain(["bash", "sh"]);
    let files = real(names.filter_map(find));
    let loaders: Vec<PathBuf> = files.iter().filter_map(|file| loader(file)).collect();
    [files, real(loaders)].concat()
}

fn find(name: &str) -> Option<PathBuf> {
    SEARCH.iter().map(|dir| Path::new(dir).join(name)).find(|path| path.is_file())
}

/// The loader that a program names: a file that the system executes with it.
fn loader(program: &Path) -> Option<PathBuf> {
    use std::io::Read as _;
    const LOOKED_AT: u64 = 8192;
    let mut bytes = Vec::new();
    fs::File::open(program).ok()?.take(LOOKED_AT).read_to_end(&mut bytes).ok()?;
    let number = |at: usize, size: usize| -> Option<usize> {
        let part = bytes.get(at..at + size)?;
        Some(part.iter().rev().fold(0, |sum, byte| (sum << 8) | usize::from(*byte)))
    };
    // 64 bits, little end first.
    bytes.starts_with(b"\x7fELF\x02\x01").then_some(())?;
    let (headers, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
    const INTERPRETER: usize = 3;
    let header = (0..count).map(|index| headers + index * size).find(|at| number(*at, 4) == Some(INTERPRETER))?;
    let (at, length) = (number(header + 8, 8)?, number(header + 32, 8)?);
    let path = bytes.get(at..at.checked_add(length)?)?.strip_suffix(b"\0")?;
    std::str::from_utf8(path).ok().map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(home: &Path) -> Places {
        let project = home.join("birds");
        fs::create_dir_all(&project).unwrap();
        Places { project, home: Some(home.to_owned()), own: vec![home.join(".own")], ..Places::default() }
    }

    fn grants(policy: &Policy, path: &Path) -> bool {
        policy.read.iter().chain(&policy.write).any(|root| path.starts_with(root))
    }

    #[test]
    fn secrets_are_hidden_even_in_a_project_that_is_the_home() {
        let held = tempfile::tempdir().unwrap();
        let home = held.path().canonicalize().unwrap();
        for dir in [".ssh", ".own/memory", "birds", ".config/git"] {
            fs::create_dir_all(home.join(dir)).unwrap();
        }
        for file in [".ssh/id", ".own/key", ".own/memory/a.md", "notes", ".gitconfig", ".netrc"] {
            fs::write(home.join(file), "x").unwrap();
        }
        let readable = vec![home.join(".own/memory")];
        let all = Places { project: home.clone(), readable, ..places(&home) };
        for policy in [reading(&all), working(&all)] {
            for (file, open) in [
                (".ssh/id", false),
                (".own/key", false),
                (".netrc", false),
                (".own/memory/a.md", true),
                ("notes", true),
                ("birds", true),
            ] {
                assert_eq!(grants(&policy, &home.join(file)), open, "{file}");
            }
            for secret in ["/etc/shadow", "/etc/gshadow", "/etc/shadow-", "/etc/sudoers", "/etc/ssl/private"] {
                assert!(!grants(&policy, Path::new(secret)), "{secret}");
            }
        }
        assert!(reading(&all).write.iter().all(|path| path.starts_with("/dev")));
        let narrow = reading(&places(&home));
        assert!(grants(&narrow, &home.join(".gitconfig")) && !grants(&narrow, &home.join("notes")));
    }

    #[test]
    fn a_pointer_to_a_foreign_repository_opens_nothing() {
        let held = tempfile::tempdir().unwrap();
        let home = held.path().canonicalize().unwrap();
        let places = places(&home);
        fs::create_dir_all(home.join("other/.git/objects")).unwrap();
        fs::create_dir_all(home.join("other/.git/refs")).unwrap();
        fs::write(home.join("other/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(home.join("birds/.git"), format!("gitdir: {}\n", home.join("other/.git").display())).unwrap();
        assert!(!grants(&reading(&places), &home.join("other/.git/HEAD")));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn only_listed_programs_are_executable_and_readable() {
        let held = tempfile::tempdir().unwrap();
        let policy = reading(&places(&held.path().canonicalize().unwrap()));
        let Programs::Only(programs) = &policy.programs else { panic!("any program") };
        let real = |path: &str| Path::new(path).canonicalize().unwrap();
        assert!(programs.contains(&real("/bin/bash")) && programs.contains(&real("/bin/cat")));
        assert!(programs.iter().any(|path| path.to_string_lossy().contains("/ld-")), "no loader: {programs:?}");
        for other in ["/usr/bin/env", "/usr/bin/rm"] {
            assert!(!programs.contains(&real(other)) && !grants(&policy, &real(other)), "{other}");
        }
    }
}
