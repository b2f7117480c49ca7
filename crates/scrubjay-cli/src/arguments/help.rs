//! The first page of help: every command in its group, everyday verbs first.

use super::Arguments;
use clap::CommandFactory as _;

/// What people come for, in the order in which they do.
const GROUPS: &[(&str, &[&str])] = &[
    ("Everyday", &["demo", "scan", "chat", "status", "context", "recall", "remember", "forget", "inbox", "undo"]),
    ("Memory", &["memory", "dream", "import", "export", "fsck"]),
    ("Sessions", &["sessions", "notes", "compact", "uncompact", "results"]),
    ("Measure", &["savings", "cost", "report"]),
    ("Agents", &["agents", "send", "teammate", "jobs"]),
    ("Care", &["doctor", "config", "flags", "limits", "completions", "man", "help"]),
];

/// The command line with its first page of help. The groups say what the list of commands would, so that is left out.
pub(crate) fn command() -> clap::Command {
    let mut whole = Arguments::command();
    whole.build();
    let groups = groups(&whole);
    let names: Vec<String> = whole.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    let quiet = names.into_iter().fold(Arguments::command(), |command, name| match name.as_str() {
        "help" => command,
        _ => command.mut_subcommand(name, |one| one.hide(true)),
    });
    quiet.override_usage("scrubjay [OPTIONS] [COMMAND]\n       scrubjay -p \"a question\"").help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}{{all-args}}{{after-help}}"
    ))
}

fn groups(whole: &clap::Command) -> String {
    let mut page = String::new();
    for (title, names) in GROUPS {
        page.push_str(&format!("{title}:\n"));
        for name in *names {
            let about = whole.find_subcommand(name).and_then(clap::Command::get_about);
            page.push_str(&format!("  {name:<12} {}\n", about.map(ToString::to_string).unwrap_or_default()));
        }
        page.push('\n');
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    // spec: U8
    #[test]
    fn every_command_stands_in_one_group() {
        let mut whole = Arguments::command();
        whole.build();
        let there: BTreeSet<&str> =
            whole.get_subcommands().filter(|command| !command.is_hide_set()).map(clap::Command::get_name).collect();
        let told: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        assert_eq!(told.iter().copied().collect::<BTreeSet<_>>(), there, "each command, and none that is not there");
        assert_eq!(told.len(), there.len(), "each once");
    }

    #[test]
    fn every_command_stands_in_the_documents() {
        let page = include_str!("../../../../docs/commands.md");
        for name in GROUPS.iter().flat_map(|(_, names)| names.iter()) {
            assert!(page.contains(&format!("scrubjay {name}")), "docs/commands.md does not say `scrubjay {name}`");
        }
    }

    #[test]
    fn the_page_is_narrow_enough_and_parses_as_before() {
        command().debug_assert();
        let page = groups(&Arguments::command());
        let wide: Vec<&str> = page.lines().filter(|line| line.chars().count() > 80).collect();
        assert_eq!(wide, Vec::<&str>::new());
    }
}
