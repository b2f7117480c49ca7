//! A policy as a profile of `sandbox-exec`. Plain text, so that it is tested on every system.

use scrubjay::tools::shell::sandbox::{Policy, Programs, Purpose};
use std::fmt::Write as _;
use std::path::Path;

/// A profile that allows nothing.
pub const NOTHING: &str = "(version 1)\n(deny default)\n";

/// The profile; `None` if a path cannot be written in one.
pub fn text(policy: &Policy) -> Option<String> {
    let mut text = NOTHING.to_owned();
    text.push_str("(allow process-fork)\n(allow sysctl-read)\n(allow file-read-metadata)\n");
    text.push_str("(allow signal (target same-sandbox))\n(allow mach-lookup (global-name \"com.apple.system.opendirectoryd.libinfo\"))\n");
    // The loader of the system maps its libraries from here.
    text.push_str("(allow file-read* (literal \"/\") (subpath \"/System/Library\") (subpath \"/usr/lib\") (subpath \"/System/Volumes/Preboot/Cryptexes\") (subpath \"/private/var/db/dyld\"))\n");
    rule(&mut text, "file-read*", &policy.read)?;
    rule(&mut text, "file-read-data", &policy.list)?;
    rule(&mut text, "file-read*", &policy.write)?;
    rule(&mut text, "file-write*", &policy.write)?;
    if policy.purpose == Purpose::Reading {
        text.push_str("(deny file-write-mode file-write-owner file-write-flags file-write-times file-write-xattr)\n");
    }
    match &policy.programs {
        Programs::Any => text.push_str("(allow process-exec*)\n"),
        Programs::Only(programs) => {
            rule(&mut text, "process-exec*", programs)?;
            rule(&mut text, "file-read*", programs)?;
        }
    }
    text.push_str("(deny network*)\n");
    Some(text)
}

/// One rule for all of these paths.
fn rule<'a>(text: &mut String, what: &str, paths: impl IntoIterator<Item = &'a std::path::PathBuf>) -> Option<()> {
    for path in paths {
        writeln!(text, "(allow {what} (subpath {}))", quoted(path)?).ok()?;
    }
    Some(())
}

/// A path as a string of the profile's language. Control characters have no certain spelling there.
fn quoted(path: &Path) -> Option<String> {
    let path = path.to_str().filter(|path| path.starts_with('/') && !path.chars().any(char::is_control))?;
    Some(format!("\"{}\"", path.replace('\\', "\\\\").replace('"', "\\\"")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(read: &str) -> Policy {
        let programs = Programs::Only(vec!["/bin/bash".into(), "/usr/bin/grep".into()]);
        Policy { read: vec![read.into()], write: vec!["/private/tmp/own".into()], programs, ..Policy::default() }
    }

    #[test]
    fn a_profile_denies_by_default_and_names_every_path() {
        let text = text(&policy("/Users/mo/birds")).unwrap();
        assert!(text.starts_with("(version 1)\n(deny default)\n"), "{text}");
        for line in [
            "(allow file-read* (subpath \"/Users/mo/birds\"))",
            "(allow file-write* (subpath \"/private/tmp/own\"))",
            "(allow process-exec* (subpath \"/usr/bin/grep\"))",
            "(deny network*)",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}: {text}");
        }
        assert_eq!(text.matches("file-write* ").count(), 1, "{text}");
        assert!(!text.contains("(allow process-exec*)\n") && !text.contains("(allow network"), "{text}");
    }

    #[test]
    fn a_path_cannot_leave_its_quotes() {
        let hostile = "/p/\") (allow default) (literal \"\\";
        let text = text(&policy(hostile)).unwrap();
        assert!(text.contains("(subpath \"/p/\\\") (allow default) (literal \\\"\\\\\"))\n"), "{text}");
        // Outside of strings nothing is allowed that was not meant to be.
        let mut outside = String::new();
        let (mut inside, mut escaped) = (false, false);
        for letter in text.chars() {
            match letter {
                _ if escaped => escaped = false,
                '\\' if inside => escaped = true,
                '"' => inside = !inside,
                _ if !inside => outside.push(letter),
                _ => {}
            }
        }
        assert!(!inside && !outside.contains("allow default"), "{outside}");
        for path in ["/p/a\nb", "relative", "/p/\u{7f}"] {
            assert_eq!(super::text(&policy(path)), None, "{path:?}");
        }
    }
}
