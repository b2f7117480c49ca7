//! Files that decide what other programs run or obey later. Changing one is as good as running a command, so the user is
//! asked about each, whatever else was allowed.
//!
//! What is on the list takes effect by itself: when somebody commits, opens the folder, starts a shell or pushes, or it
//! changes which program a harmless command starts. What only counts when the project is built or run (`package.json`,
//! a makefile, a build script, the code itself) is not on it: running that is asked about when it is run.

use std::path::Path;

/// How far a steering file reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Steering {
    /// Other agents, editors, build tools, services that test what is pushed.
    Tools,
    /// scrubjay itself, git, shells: asked about even where everything is allowed.
    Core,
}

/// Folders in which every file steers, with a folder that must lie above it, if it means nothing alone.
const FOLDERS: &[(Steering, &str, &str)] = &[
    (Steering::Core, "", ".scrubjay"),
    (Steering::Core, "", ".git"),
    (Steering::Core, "", ".githooks"),
    (Steering::Core, "", ".husky"),
    (Steering::Core, "", ".ssh"),
    (Steering::Core, "", ".gnupg"),
    (Steering::Core, ".claude", "hooks"),
    (Steering::Core, ".config", "fish"),
    (Steering::Core, ".config", "git"),
    (Steering::Tools, "", ".hg"),
    (Steering::Tools, "", ".jj"),
    (Steering::Tools, "", ".svn"),
    (Steering::Tools, "", ".claude"),
    (Steering::Tools, "", ".codex"),
    (Steering::Tools, "", ".gemini"),
    (Steering::Tools, "", ".cursor"),
    (Steering::Tools, "", ".windsurf"),
    (Steering::Tools, "", ".clinerules"),
    (Steering::Tools, "", ".continue"),
    (Steering::Tools, "", ".agents"),
    (Steering::Tools, "", ".vscode"),
    (Steering::Tools, "", ".idea"),
    (Steering::Tools, "", ".fleet"),
    (Steering::Tools, "", ".zed"),
    (Steering::Tools, "", ".devcontainer"),
    (Steering::Tools, "", ".lefthook"),
    (Steering::Tools, "", ".circleci"),
    (Steering::Tools, "", ".buildkite"),
    (Steering::Tools, "", ".woodpecker"),
    (Steering::Tools, "", ".teamcity"),
    (Steering::Tools, "", ".gitlab"),
    (Steering::Tools, "", ".mvn"),
    (Steering::Tools, ".github", "workflows"),
    (Steering::Tools, ".github", "actions"),
    (Steering::Tools, ".github", "instructions"),
    (Steering::Tools, ".forgejo", "workflows"),
    (Steering::Tools, ".gitea", "workflows"),
];

/// Files that steer wherever they lie.
const FILES: &[(Steering, &[&str])] = &[
    (Steering::Core, &[".scrubjay.toml", ".scrubjay.local.toml", ".mcp.json"]),
    // Git: what it runs, and what makes a folder a repository.
    (Steering::Core, &[".gitconfig", ".gitmodules", ".gitattributes", "head"]),
    // Shells, and what changes their environment.
    (Steering::Core, &[".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile"]),
    (Steering::Core, &[".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".mkshrc", ".cshrc"]),
    (Steering::Core, &[".tcshrc", ".login", ".logout", ".inputrc", "config.fish", ".envrc", ".direnvrc"]),
    (Steering::Core, &["mise.toml", ".mise.toml", ".mise.local.toml", ".xprofile", ".xinitrc", ".pam_environment"]),
    // Instructions for agents.
    (Steering::Tools, &["claude.md", "claude.local.md", "agents.md", "agents.override.md", "gemini.md"]),
    (Steering::Tools, &[".cursorrules", ".windsurfrules", ".clinerules", ".goosehints", "copilot-instructions.md"]),
    // Hooks of git by way of a manager.
    (Steering::Tools, &[".pre-commit-config.yaml", "lefthook.yml", ".lefthook.yml", "lefthook.yaml"]),
    (Steering::Tools, &[".overcommit.yml", ".huskyrc", ".huskyrc.json", ".lintstagedrc"]),
    // Services that build what is pushed.
    (Steering::Tools, &[".gitlab-ci.yml", "jenkinsfile", ".travis.yml", "azure-pipelines.yml", ".drone.yml"]),
    (Steering::Tools, &["bitbucket-pipelines.yml", ".woodpecker.yml", "appveyor.yml", ".appveyor.yml"]),
    (Steering::Tools, &["cloudbuild.yaml", "buildspec.yml", ".cirrus.yml", ".semaphore.yml"]),
    // Which program a harmless command starts.
    (Steering::Tools, &["rust-toolchain", "rust-toolchain.toml", ".npmrc", ".yarnrc", ".yarnrc.yml"]),
    (Steering::Tools, &[".pnpmfile.cjs", ".bazelrc", ".curlrc", ".wgetrc", ".netrc", ".gdbinit", ".lldbinit"]),
    (Steering::Tools, &["sitecustomize.py", "usercustomize.py", ".pypirc", ".condarc"]),
    // Editors that run what lies in a folder.
    (Steering::Tools, &[".vimrc", ".exrc", ".nvimrc", ".nvim.lua", ".emacs", ".dir-locals.el"]),
];

/// Names that steer in one folder only.
const FILES_IN: &[(Steering, &str, &[&str])] = &[
    (Steering::Tools, ".cargo", &["config", "config.toml", "credentials", "credentials.toml"]),
    (Steering::Tools, ".bundle", &["config"]),
    (Steering::Tools, ".docker", &["config.json"]),
];

/// Names under which git runs a program, in whatever folder `core.hooksPath` names.
const GIT_HOOKS: &[&str] = &[
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-receive",
    "post-rewrite",
    "post-update",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "pre-receive",
    "prepare-commit-msg",
    "push-to-checkout",
    "reference-transaction",
    "sendemail-validate",
    "update",
];

/// Whether a path steers, decided by its names, whether or not it exists.
pub(super) fn by_name(path: &Path) -> Option<Steering> {
    let names: Vec<String> = path.iter().map(|name| plain(&name.to_string_lossy())).collect();
    let (last, parents) = names.split_last()?;
    let has = |outer: &str, at: usize| outer.is_empty() || (at > 0 && names[at - 1] == outer);
    let folders = FOLDERS.iter().filter(|(_, outer, folder)| {
        names.iter().enumerate().any(|(at, name)| is_named(name, folder) && has(outer, at))
    });
    let files = FILES.iter().filter(|(_, files)| files.contains(&last.as_str())).map(|(how, _)| *how);
    let inside = FILES_IN.iter().filter(|(_, folder, files)| {
        files.contains(&last.as_str()) && parents.last().is_some_and(|parent| parent == folder)
    });
    let settings =
        last.starts_with("settings") && last.ends_with(".json") && parents.iter().any(|name| name == ".claude");
    let hook = GIT_HOOKS.contains(&last.as_str()) || last.ends_with(".code-workspace");
    folders
        .map(|(how, ..)| *how)
        .chain(files)
        .chain(inside.map(|(how, ..)| *how))
        .chain(settings.then_some(Steering::Core))
        .chain(hook.then_some(Steering::Tools))
        .max()
}

/// Whether a path lies in a folder that git takes for a repository although it is not called `.git`, or is what a
/// steering name at the top of the project points to.
pub(super) fn by_place(path: &Path, dir: &Path) -> Option<Steering> {
    let is_repository = |folder: &&Path| {
        folder.join("HEAD").is_file() && folder.join("objects").is_dir() && folder.join("refs").is_dir()
    };
    if path.ancestors().take_while(|folder| folder.starts_with(dir)).any(|folder| is_repository(&folder)) {
        return Some(Steering::Core);
    }
    let entries = std::fs::read_dir(dir).ok()?.flatten();
    let links = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
    links
        .filter_map(|entry| Some((by_name(&entry.path())?, entry.path().canonicalize().ok()?)))
        .filter(|(_, target)| path.starts_with(target) && target != dir)
        .map(|(how, _)| how)
        .max()
}

/// The short form that some file systems give long names counts as well: `git~1`.
fn is_named(name: &str, folder: &str) -> bool {
    name == folder || (folder == ".git" && name.strip_prefix("git~").is_some_and(|rest| rest.parse::<u8>().is_ok()))
}

/// A name as the most forgiving file system reads it: without case, characters that cannot be seen, the name of a
/// stream, and dots and blanks at its end.
pub(super) fn plain(name: &str) -> String {
    let visible: String = name.chars().filter(|letter| !is_ignored(*letter)).collect();
    let folded = visible.to_lowercase().to_uppercase().to_lowercase();
    let stem = folded.split_once(':').map_or(folded.as_str(), |(stem, _)| stem);
    stem.trim_end_matches(['.', ' ']).to_owned()
}

fn is_ignored(letter: char) -> bool {
    matches!(letter, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_as_the_most_forgiving_file_system_does() {
        for (path, how) in [
            ("/w/.git/config", Some(Steering::Core)),
            ("/w/.GIT/info/attributes", Some(Steering::Core)),
            ("/w/.g\u{200c}it/config", Some(Steering::Core)),
            ("/w/.git. /config", Some(Steering::Core)),
            ("/w/git~1/config", Some(Steering::Core)),
            ("/w/.git::$INDEX_ALLOCATION/config", Some(Steering::Core)),
            ("/w/.bash\u{17f}rc", None),
            ("/w/.ba\u{17f}hrc", Some(Steering::Core)),
            ("/w/claude.md", Some(Steering::Tools)),
            ("/w/.cargo/config.toml", Some(Steering::Tools)),
            ("/w/tools/hooks/pre-commit", Some(Steering::Tools)),
            ("/w/.claude/hooks/x.sh", Some(Steering::Core)),
            ("/w/.claude/settings.local.json", Some(Steering::Core)),
            ("/w/src/hooks/use_theme.ts", None),
            ("/w/.github/ISSUE_TEMPLATE.md", None),
            ("/w/workflows/a.yml", None),
            ("/w/package.json", None),
            ("/w/.gitignore", None),
            ("/w/config.toml", None),
            ("/w/agents/main.rs", None),
        ] {
            assert_eq!(by_name(Path::new(path)), how, "{path}");
        }
    }

    #[test]
    fn a_repository_by_another_name_and_the_target_of_a_steering_link_steer() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().canonicalize().unwrap();
        for folder in ["bare/objects", "bare/refs", "env", "src"] {
            std::fs::create_dir_all(dir.join(folder)).unwrap();
        }
        std::fs::write(dir.join("bare/HEAD"), "ref: refs/heads/main\n").unwrap();
        std::fs::write(dir.join("env/setup.sh"), "").unwrap();
        std::os::unix::fs::symlink("env/setup.sh", dir.join(".envrc")).unwrap();
        for (path, how) in [
            ("bare/config", Some(Steering::Core)),
            ("bare/hooks/x", Some(Steering::Core)),
            ("env/setup.sh", Some(Steering::Core)),
            ("env/other.sh", None),
            ("src/main.rs", None),
        ] {
            assert_eq!(by_place(&dir.join(path), &dir), how, "{path}");
        }
    }
}
