//! Settings that come with a repository: each limit and each setting, set to what a stranger would like.

use crate::stage::Stage;
use crate::tally::Tally;
use scrubjay::limits::{Limit, Limits, Narrower};
use scrubjay::settings::{Kind, SETTINGS, Setting, Trust};
use serde_json::Value;

/// The value of every setting, and which were refused.
fn flags(stage: &Stage) -> (Vec<(String, String)>, Vec<Value>) {
    let json = stage.run(&["flags", "--json"]).ended_with(0).json();
    let text = |row: &Value, name: &str| row[name].as_str().unwrap().to_owned();
    let rows = json["settings"].as_array().unwrap().iter().map(|row| (text(row, "key"), text(row, "value"))).collect();
    (rows, json["refused"].as_array().unwrap().clone())
}

fn value_of(rows: &[(String, String)], key: &str) -> String {
    rows.iter().find(|(name, _)| name == key).map(|(_, value)| value.clone()).unwrap_or_default()
}

/// A wider value of every limit.
fn wider() -> Vec<(String, String)> {
    let wider = |row: Limit| match row.narrower {
        Narrower::Lower => (*row.bounds.end() > row.default).then(|| *row.bounds.end()),
        Narrower::Higher => (*row.bounds.start() < row.default).then(|| *row.bounds.start()),
        Narrower::Fixed => {
            Some(if *row.bounds.start() < row.default { *row.bounds.start() } else { *row.bounds.end() })
        }
    };
    Limits::table()
        .into_iter()
        .filter_map(|row| Some((format!("limits.{}", row.name), wider(row)?.to_string())))
        .collect()
}

/// A wider value of every setting, and one of another name that says the same.
fn hostile(setting: &Setting) -> Vec<(String, String)> {
    let value = match (&setting.kind, setting.trust) {
        (_, Trust::Anyone) => return Vec::new(),
        // What is on already cannot be widened by switching it on; what guards can be switched off.
        (Kind::Flag, Trust::Narrow) => "true".to_owned(),
        (Kind::Flag, _) => (setting.default != scrubjay::settings::Unset::Flag(true)).to_string(),
        (Kind::Number(bounds), _) => bounds.end().to_string(),
        (Kind::Text, _) => "\"evil\"".to_owned(),
        (Kind::Choice(words), _) => format!("{:?}", words.last().unwrap()),
        (Kind::Amount, _) => "\"100 %\"".to_owned(),
        (Kind::List, _) => "[\"evil\"]".to_owned(),
        (Kind::Table, _) => "{ Stop = [{ hooks = [{ type = \"command\", command = \"evil\" }] }] }".to_owned(),
    };
    let names = [setting.key].into_iter().chain(setting.aliases.iter().copied());
    names.map(|name| (name.to_owned(), value.clone())).collect()
}

// spec: W1
#[tokio::test(flavor = "multi_thread")]
async fn a_repository_widens_nothing() {
    let mut tally = Tally::of("repository");
    let attempts = wider().into_iter().map(|(name, value)| vec![(name, value)]);
    let attempts: Vec<_> = attempts.chain(SETTINGS.iter().map(|setting| hostile(setting))).collect();
    let thresholds = ["Bash", "Read", "Grep", "Glob", "WebFetch", "Agent"];
    let thresholds = thresholds.map(|tool| (format!("tool_results.thresholds.{tool}"), "100000000".to_owned()));
    let all: Vec<(String, String)> = attempts.into_iter().flatten().chain(thresholds).collect();
    for file in [".scrubjay.toml", ".scrubjay.local.toml"] {
        let stage = Stage::offline();
        let calm = flags(&stage).0;
        let text: String = all.iter().map(|(name, value)| format!("{name} = {value}\n")).collect();
        stage.write(file, &text);
        let (now, refused) = flags(&stage);
        for (name, value) in &all {
            let key =
                SETTINGS.iter().find(|one| one.aliases.contains(&name.as_str())).map_or(name.as_str(), |one| one.key);
            let held = value_of(&now, key) == value_of(&calm, key);
            tally.tried(format!("{file}: {name} = {value}"), !held);
            let said = refused.iter().find(|row| row["key"] == key);
            let is_on = value_of(&calm, key) == "on" && value == "true";
            match said {
                Some(row) => {
                    assert!(row["file"].as_str().unwrap().ends_with(file), "{row}");
                    assert_eq!(row["holds"], value_of(&calm, key), "{row}");
                    assert!(!row["because"].as_str().unwrap().is_empty());
                }
                None => assert!(is_on, "{name} is refused, and `flags` does not say so"),
            }
        }
        // The same values are the user's to set.
        std::fs::remove_file(stage.project().join(file)).unwrap();
        std::fs::create_dir_all(stage.home().join("config")).unwrap();
        std::fs::write(stage.home().join("config/config.toml"), &text).unwrap();
        let (now, _) = flags(&stage);
        for (name, _) in &all {
            tally.control(value_of(&now, name) != value_of(&calm, name));
        }
    }
    let stage = Stage::offline();
    stage.write(".scrubjay.toml", "[limits]\nrecall_places = 900\nread_lines = 10\n");
    let said = stage.run(&["flags"]).ended_with(0);
    let line = "a repository may only lower it; 5 memories holds";
    assert!(said.out.contains("refused") && said.out.contains(line) && said.out.contains("10 lines"), "{}", said.out);
    tally.finish();
}
