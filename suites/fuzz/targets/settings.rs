//! Settings, hooks and rules for credentials that came with a repository: they may narrow, never widen.
#![no_main]

use libfuzzer_sys::fuzz_target;
use scrubjay::hooks::Hooks;
use scrubjay::settings::{SETTINGS, Settings, SettingsFile, Source, Sources, Trust};

fuzz_target!(|text: &str| {
    let Ok(table) = toml::from_str::<toml::Table>(text) else { return };
    let file = |name: &str| Some(SettingsFile { table: table.clone(), file: name.into() });
    let project = Settings::resolve(&Sources { project: file("p.toml"), local: file("l.toml"), ..Sources::default() });
    let none = Settings::resolve(&Sources::default());
    for setting in SETTINGS {
        let by_repository = matches!(project.origin(setting.key), Source::Project | Source::Local);
        match setting.trust {
            Trust::UserOnly | Trust::Process => assert!(!by_repository, "{}", setting.key),
            Trust::Narrow => assert!(none.flag(setting) || !project.flag(setting), "{}", setting.key),
            Trust::Anyone => {}
        }
    }
    for settings in [&project, &Settings::resolve(&Sources { user: file("u.toml"), ..Sources::default() })] {
        assert!(
            settings.warnings.iter().all(|line| !line.contains(['\n', '\u{1b}', '\u{202e}'])),
            "{:?}",
            settings.warnings
        );
        let _ = (settings.rows(), settings.memory_off_because(), Hooks::configured(settings));
    }
    drop(scrubjay::secrets::Rules::new().with_file(text).scan(text));
});
