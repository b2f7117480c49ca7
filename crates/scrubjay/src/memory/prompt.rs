//! What the model is told about its memory: how to use it (into the system prompt) and what is in it (into the user
//! context). Computed once per session; nothing in it changes with the day.

use crate::fence::shown_path;
use crate::prompts::{self, Sharing};
use crate::settings::{Settings, key};
use std::path::{Path, PathBuf};

/// The name of an index file.
pub const INDEX: &str = "MEMORY.md";

/// Where a project's memory lies. Whoever names a directory has made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Folders<'a> {
    /// The memory directory.
    pub memory: &'a Path,
    /// The folder of the project's transcripts.
    pub transcripts: &'a Path,
}

/// How memory is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// One file for one memory.
    Normal,
    /// The same, and some of them are shared.
    Team,
    /// A log is written while one works, and distilled at night.
    DailyLog,
}

impl Mode {
    /// What the switches ask for. A log is private, so it goes before the team.
    pub fn of(settings: &Settings) -> Self {
        match (settings.flag(&key::DAILY_LOG), settings.flag(&key::TEAM)) {
            (true, _) => Mode::DailyLog,
            (false, true) => Mode::Team,
            (false, false) => Mode::Normal,
        }
    }
}

/// Whether layer 5 looks for what a session taught. Where the agent logs as it works, it has said so already.
pub fn extracts(settings: &Settings) -> bool {
    let on = settings.flag(&key::EXTRACTION) && settings.memory_off_because().is_none();
    on && Mode::of(settings) != Mode::DailyLog
}

/// What else the behaviour text says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Extras<'a> {
    /// Teach how to search past sessions.
    pub searching: Option<&'a Path>,
    /// What the person adds.
    pub guidelines: &'a str,
}

/// An index, for the user context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Index {
    /// Its file, which introduces it.
    pub path: PathBuf,
    /// Its lines, as far as they are loaded.
    pub text: String,
}

/// Everything the model is told about its memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// How to use it: goes into the system prompt.
    pub behaviour: String,
    /// What is in it: goes into the user context, after the instruction files.
    pub indexes: Vec<Index>,
}

/// How to use memory.
pub fn behaviour(dir: &Path, mode: Mode, extras: &Extras<'_>) -> String {
    let shown_dir = shown_path(dir);
    let team = (mode == Mode::Team).then(|| shown_path(&team_dir(dir)));
    let sharing = if mode == Mode::Team { Sharing::Team } else { Sharing::Private };
    let saving = match mode {
        Mode::DailyLog => prompts::memory_log(&shown_path(&dir.join("logs/YYYY/MM/YYYY-MM-DD.md"))),
        Mode::Normal | Mode::Team => prompts::MEMORY_SAVING.to_owned(),
    };
    let mut parts = vec![
        prompts::memory_where(&shown_dir, team.as_deref()),
        prompts::MEMORY_ASKED.to_owned(),
        prompts::memory_types(sharing),
        prompts::MEMORY_NOT_SAVED.to_owned(),
        saving,
        prompts::MEMORY_LOOKING.to_owned(),
        prompts::MEMORY_TRUST.to_owned(),
        prompts::MEMORY_ELSEWHERE.to_owned(),
    ];
    parts.extend(extras.searching.map(|past| prompts::memory_searching(&shown_dir, &shown_path(past))));
    let guidelines = extras.guidelines.trim();
    parts.extend((!guidelines.is_empty()).then(|| prompts::memory_guidelines(guidelines)));
    parts.iter().map(|part| part.trim_end()).collect::<Vec<_>>().join("\n\n")
}

/// How to use memory, and what is in it. `indexes` are the loaded texts of each index, the team's last.
pub fn behaviour_and_index(dir: &Path, mode: Mode, extras: &Extras<'_>, indexes: &[&str]) -> Told {
    let dirs = [Some(dir.to_owned()), (mode == Mode::Team).then(|| team_dir(dir))];
    let index = |(dir, text): (PathBuf, &&str)| {
        let text = if text.trim().is_empty() { prompts::MEMORY_EMPTY_INDEX } else { text };
        Index { path: dir.join(INDEX), text: text.trim_end().to_owned() }
    };
    Told {
        behaviour: behaviour(dir, mode, extras),
        indexes: dirs.into_iter().flatten().zip(indexes).map(index).collect(),
    }
}

/// What the settings ask for; nothing when memory is off. Without an index the files are found by recall alone.
pub fn told(folders: Folders<'_>, settings: &Settings, indexes: &[&str]) -> Option<Told> {
    if settings.memory_off_because().is_some() {
        return None;
    }
    let extras = Extras {
        searching: settings.flag(&key::SEARCH_PAST_CONTEXT).then_some(folders.transcripts),
        guidelines: settings.text(&key::MEMORY_EXTRA_GUIDELINES),
    };
    let indexes = if settings.flag(&key::SKIP_INDEX) { &[] } else { indexes };
    Some(behaviour_and_index(folders.memory, Mode::of(settings), &extras, indexes))
}

fn team_dir(dir: &Path) -> PathBuf {
    dir.join("team")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;
    use crate::settings::Sources;
    use crate::tokens;

    const DIR: &str = "/home/ada/.local/share/scrubjay/projects/birds/memory";

    fn settings(switches: &[(&str, &str)]) -> Settings {
        let command_line = switches.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Settings::resolve(&Sources { command_line, ..Sources::default() })
    }

    fn folders() -> Folders<'static> {
        Folders { memory: Path::new(DIR), transcripts: Path::new("/home/ada/.local/share/scrubjay/projects/birds") }
    }

    fn told_with(switches: &[(&str, &str)]) -> Told {
        told(folders(), &settings(switches), &["- [Tests](feedback_tests.md) — real DB\n", "- [Ours](x.md) — y"])
            .unwrap()
    }

    /// The text with its price.
    fn priced(text: &str) -> String {
        format!("{} tokens, by estimate\n\n{text}", tokens::of_text(text, &Limits::default()))
    }

    // spec: P1
    // spec: P2
    // spec: P8
    #[test]
    fn how_to_use_memory() {
        insta::assert_snapshot!("memory_behaviour", priced(&told_with(&[]).behaviour));
    }

    // spec: P1
    // spec: P7
    #[test]
    fn how_to_use_memory_with_a_team_and_past_sessions() {
        let told = told_with(&[
            ("layers.team", "true"),
            ("layers.search_past_context", "true"),
            ("memory.extra_guidelines", "Save in English."),
        ]);
        insta::assert_snapshot!("memory_behaviour_team", priced(&told.behaviour));
    }

    // spec: K1
    // spec: P1
    #[test]
    fn how_to_use_memory_as_a_daily_log() {
        let log = told_with(&[("layers.daily_log", "true"), ("layers.team", "true")]).behaviour;
        insta::assert_snapshot!("memory_behaviour_log", priced(&log));
        assert!(log.contains("/memory/logs/YYYY/MM/YYYY-MM-DD.md"));
        assert!(!log.contains("name: a short title"), "a log has one way to save");
    }

    // spec: K1
    #[test]
    fn nothing_is_extracted_where_the_agent_logs_as_it_works() {
        for (switches, expected) in [
            (&[][..], true),
            (&[("layers.team", "true")], true),
            (&[("layers.daily_log", "true")], false),
            (&[("layers.extraction", "false")], false),
            (&[("memory.enabled", "false")], false),
        ] {
            assert_eq!(extracts(&settings(switches)), expected, "{switches:?}");
        }
        let log = told_with(&[("layers.daily_log", "true")]);
        assert_eq!(log.indexes.len(), 1, "the index stays loaded");
    }

    // spec: P2
    #[test]
    fn every_part_is_there_under_its_title_and_in_order() {
        let titles = [
            "# Memory",
            "## When the user says remember or forget",
            "## The four types of memory",
            "## What not to save",
            "## How to save",
            "## When to look",
            "## Before recommending from memory",
            "## Memory, plan or task list",
        ];
        for mode in [Mode::Normal, Mode::Team, Mode::DailyLog] {
            let text = behaviour(Path::new(DIR), mode, &Extras::default());
            let found: Vec<&str> =
                text.lines().filter(|line| line.starts_with("# ") || line.starts_with("## ")).collect();
            assert_eq!(found, titles, "{mode:?}");
            assert!(text.contains(DIR) && !text.contains("{{"), "{mode:?}");
        }
    }

    // spec: P2
    #[test]
    fn each_type_is_a_block_with_its_six_fields() {
        let normal = prompts::memory_types(Sharing::Private);
        let blocks: Vec<&str> = normal.split("<type>").skip(1).collect();
        let names = ["user", "feedback", "project", "reference"];
        assert_eq!(blocks.len(), names.len());
        for (block, name) in blocks.iter().zip(names) {
            assert!(block.contains(&format!("<name>{name}</name>")), "{block}");
            for field in ["description", "when-to-save", "how-to-use", "structure", "examples"] {
                assert_eq!(block.matches(&format!("<{field}>")).count(), 1, "{name} {field}");
                assert_eq!(block.matches(&format!("</{field}>")).count(), 1, "{name} {field}");
            }
            assert!(block.trim_end().ends_with("</type>") && !block.contains("<scope>"));
        }
        for name in ["feedback", "project"] {
            let block = blocks.iter().find(|block| block.contains(&format!("<name>{name}<"))).unwrap();
            assert!(block.contains("**Why:**") && block.contains("**How to apply:**"), "{name}");
        }
        let shared = prompts::memory_types(Sharing::Team);
        assert_eq!(shared.matches("<scope>").count(), 4);
        assert!(shared.contains("<scope>always private</scope>") && !shared.contains("<scope></scope>"));
    }

    // spec: P2
    // spec: P3
    // spec: P4
    #[test]
    fn the_rules_that_matter_are_said() {
        let text = behaviour(Path::new(DIR), Mode::Normal, &Extras::default());
        for said in [
            "The folder is there, and you may read it", // it exists
            "call `remember` at once",                  // the two tools
            "call `forget` with the memory's file",
            "it is a note, not a decision",                              // who decides
            "yes, exactly",                                              // confirmations
            "takes an unusual choice of yours without objecting",        // silent acceptance
            "Sort by topic, not by time",                                // organise
            "Propose to correct or `forget` what turns out to be wrong", // stale
            "do not write a second one",                                 // no duplicates
            "the Why tells a later reader whether this one still holds", // Why of projects
            "even when you are asked",                                   // what not to save
            "Look when memories seem relevant",
            "You MUST look when the user asks",
            "behave as if it were empty",
            "do not mention what it says",
            "is not \"X exists now\"",
            "check that the file is there",
            "search for it",
        ] {
            assert!(text.contains(said), "{said}");
        }
    }

    // spec: P5
    #[test]
    fn nothing_in_it_changes_from_day_to_day() {
        // The text is a function of folders and settings: there is no clock it could ask. What looks like today is not there.
        assert_eq!(told_with(&[]), told_with(&[]));
        let dates = regex::Regex::new(r"\d{4}-\d{2}-\d{2}").unwrap();
        for mode in [Mode::Normal, Mode::Team, Mode::DailyLog] {
            let text = behaviour(Path::new(DIR), mode, &Extras::default());
            assert!(!text.contains("Today is") && !text.contains("Today's date is"));
            assert!(dates.find_iter(&text).all(|date| date.as_str() == "2026-03-05"), "only the date of an example");
        }
    }

    // spec: P1
    // spec: P6
    #[test]
    fn the_index_is_told_apart_from_the_behaviour_and_by_its_path() {
        let normal = told_with(&[]);
        assert!(!normal.behaviour.contains("real DB"));
        assert_eq!(normal.indexes.len(), 1);
        assert_eq!(normal.indexes[0].path, Path::new(DIR).join("MEMORY.md"));
        assert_eq!(normal.indexes[0].text, "- [Tests](feedback_tests.md) — real DB");
        let team = told_with(&[("layers.team", "true")]);
        assert_eq!(team.indexes[1].path, Path::new(DIR).join("team/MEMORY.md"));
        assert_eq!(told_with(&[("layers.skip_index", "true")]).indexes, []);
        let empty = told(folders(), &settings(&[]), &["\n"]).unwrap();
        assert_eq!(empty.indexes[0].text, "(Nothing is remembered yet.)");
    }

    // spec: G1
    // spec: P1
    // spec: P7
    // spec: P8
    #[test]
    fn off_says_nothing_and_switches_add_their_part() {
        assert_eq!(told(folders(), &settings(&[("memory.enabled", "false"), ("layers.team", "true")]), &["- x"]), None);
        assert_eq!(told(folders(), &settings(&[("memory.enabled", "false")]), &["- x"]), None);
        let bare = Settings::resolve(&Sources {
            environment: vec![("SCRUBJAY_SIMPLE".into(), "1".into())],
            ..Sources::default()
        });
        assert_eq!(told(folders(), &bare, &["- x"]), None);
        let plain = told_with(&[]).behaviour;
        assert!(!plain.contains("## Searching past context") && !plain.contains("## Further guidelines"));
        let more =
            told_with(&[("layers.search_past_context", "true"), ("memory.extra_guidelines", " Save in English. ")]);
        assert!(more.behaviour.starts_with(&plain), "what is added comes last");
        let (files, sessions) = (more.behaviour.find("`*.md`").unwrap(), more.behaviour.find("`*.jsonl`").unwrap());
        assert!(files < sessions, "memory files first, transcripts last");
        assert!(more.behaviour.ends_with("## Further guidelines\n\nSave in English."));
        let environment = vec![("CLAUDE_COWORK_MEMORY_EXTRA_GUIDELINES".to_owned(), "Be brief.".to_owned())];
        let from_environment = Settings::resolve(&Sources { environment, ..Sources::default() });
        assert!(told(folders(), &from_environment, &[]).unwrap().behaviour.ends_with("Be brief."));
    }
}
