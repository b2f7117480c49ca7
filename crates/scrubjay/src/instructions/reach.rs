//! How far an instruction file may reach: what is free, what needs the person's word, what is never included.

use super::{Kind, Places};
use std::path::Path;

/// Whether a file may be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// It belongs to whoever names it.
    Free,
    /// It lies elsewhere: the person decides, once.
    Ask,
    /// Secrets are kept there.
    Never,
}

/// Folders that exist to keep secrets.
const SECRET_FOLDERS: [&str; 12] = [
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".git",
    ".password-store",
    ".pki",
    ".vault",
    ".mozilla",
    "gcloud",
];

/// Dotted folders that hold instructions rather than secrets.
const PLAIN_DOTTED: [&str; 7] = [".claude", ".scrubjay", ".github", ".agents", ".cursor", ".codex", ".gemini"];

/// What the kernel makes up: among it this process's own environment.
const UNREAL: [&str; 3] = ["/proc", "/sys", "/dev"];

/// Decide about a resolved path that a file of this kind names.
pub(super) fn of(real: &Path, kind: Kind, by: &Path, (places, top): (&Places, &Path)) -> Reach {
    let bases: Vec<&Path> = match kind {
        Kind::Managed => vec![Path::new("/")],
        Kind::User => by.parent().into_iter().chain([places.home.as_path()]).collect(),
        Kind::Above | Kind::Project | Kind::Local => vec![top],
    };
    let base = bases.iter().find(|base| real.starts_with(base));
    let inner = base.and_then(|base| real.strip_prefix(base).ok()).unwrap_or(real);
    if is_secret(inner) || UNREAL.iter().any(|root| real.starts_with(root)) {
        return Reach::Never;
    }
    let beside = kind == Kind::Above && by.parent().is_some_and(|folder| real.parent() == Some(folder));
    if base.is_some() || beside { Reach::Free } else { Reach::Ask }
}

/// Below a dotted folder only prose is no secret, and nowhere what is named like a key.
fn is_secret(path: &Path) -> bool {
    let names: Vec<String> = path.iter().map(|name| name.to_string_lossy().to_lowercase()).collect();
    let Some((file, folders)) = names.split_last() else { return true };
    let dotted = |name: &String| name.starts_with('.') && !PLAIN_DOTTED.contains(&name.as_str());
    let prose = [".md", ".markdown", ".mdx", ".txt"].iter().any(|end| file.ends_with(end));
    let key_end = [".pem", ".key", ".p12", ".pfx", ".jks", ".kdbx", ".gpg", ".asc", ".keystore", "_rsa", "_ed25519"];
    let like_a_key = ["id_", "credentials", "secrets", "keys"].iter().any(|begin| file.starts_with(begin)) && !prose;
    names.iter().any(|name| SECRET_FOLDERS.contains(&name.as_str()))
        || dotted(file)
        || (folders.iter().any(dotted) && !prose)
        || key_end.iter().any(|end| file.ends_with(end))
        || like_a_key
}

#[cfg(test)]
mod tests {
    use super::*;

    // safety: F-45
    #[test]
    fn secrets_are_known_by_where_they_lie_and_how_they_are_called() {
        for secret in [
            ".ssh/id_rsa",
            ".ssh/notes.md",
            ".SSH/config",
            ".aws/credentials",
            ".env",
            ".env.local",
            "conf/.env",
            ".netrc",
            ".npmrc",
            ".config/scrubjay/keys",
            ".config/gcloud/x.md",
            ".git/config",
            ".git/notes.md",
            "server.pem",
            "tls/site.key",
            "id_ed25519",
            "deploy_rsa",
            "credentials.json",
            "secrets.yml",
            ".kube/config",
            ".docker/config.json",
            "",
        ] {
            assert!(is_secret(Path::new(secret)), "{secret}");
        }
        for plain in [
            "CLAUDE.md",
            "docs/keys.md",
            ".claude/rules/a.md",
            ".github/CONTRIBUTING.md",
            ".dotfiles/agents.md",
            "src/main.rs",
            ".github/workflows/ci.yml",
            "docs/secrets.md",
            "Makefile",
            "notes.txt",
            ".config/team/rules.md",
        ] {
            assert!(!is_secret(Path::new(plain)), "{plain}");
        }
    }

    // spec: I2
    // safety: F-45
    #[test]
    fn each_kind_reaches_as_far_as_it_should() {
        let places =
            Places { home: "/home/ada".into(), root: "/w/p".into(), dir: "/w/p/a".into(), ..Places::default() };
        let of = |real: &str, kind, by: &str| of(Path::new(real), kind, Path::new(by), (&places, Path::new("/w/p")));
        for (real, kind, by, reach) in [
            ("/w/p/docs/a.md", Kind::Project, "/w/p/CLAUDE.md", Reach::Free),
            ("/w/p2/a.md", Kind::Project, "/w/p/CLAUDE.md", Reach::Ask),
            ("/home/ada/a.md", Kind::Project, "/w/p/CLAUDE.md", Reach::Ask),
            ("/home/ada/a.md", Kind::Local, "/w/p/CLAUDE.local.md", Reach::Ask),
            ("/etc/passwd", Kind::Project, "/w/p/CLAUDE.md", Reach::Ask),
            ("/home/ada/.ssh/id_rsa", Kind::Project, "/w/p/CLAUDE.md", Reach::Never),
            ("/proc/self/environ", Kind::Managed, "/etc/scrubjay/CLAUDE.md", Reach::Never),
            ("/home/ada/notes/a.md", Kind::User, "/home/ada/.claude/CLAUDE.md", Reach::Free),
            ("/home/ada/.dotfiles/a.md", Kind::User, "/home/ada/.claude/CLAUDE.md", Reach::Free),
            ("/home/ada/.ssh/config", Kind::User, "/home/ada/.claude/CLAUDE.md", Reach::Never),
            ("/srv/shared/a.md", Kind::User, "/home/ada/.claude/CLAUDE.md", Reach::Ask),
            ("/srv/shared/a.md", Kind::Managed, "/etc/scrubjay/CLAUDE.md", Reach::Free),
            ("/w/CLAUDE.md", Kind::Above, "/w/CLAUDE.md", Reach::Free),
            ("/w/other/a.md", Kind::Above, "/w/CLAUDE.md", Reach::Ask),
        ] {
            assert_eq!(of(real, kind, by), reach, "{real} by {by}");
        }
        let hidden = Places { root: "/home/ada/.work/p".into(), dir: "/home/ada/.work/p".into(), ..places.clone() };
        let inside = Path::new("/home/ada/.work/p/Makefile");
        let by = Path::new("/home/ada/.work/p/CLAUDE.md");
        let reach = super::of(inside, Kind::Project, by, (&hidden, Path::new("/home/ada/.work/p")));
        assert_eq!(reach, Reach::Free, "where the project lies says nothing about its files");
    }
}
