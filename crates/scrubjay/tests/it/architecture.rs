//! The rules of the house, checked: module order, walls, where numbers and words may stand, sizes.
//! An exemption is a path and a reason; one that is no longer needed fails too.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Strictly downward: a module uses only modules that stand before it here.
const ORDER: &[&str] = &[
    "limits",
    "clock",
    "dates",
    "digest",
    "fence",
    "frontmatter",
    "secrets",
    "paths",
    "git",
    "withheld",
    "prose",
    "settings",
    "message",
    "tokens",
    "transcript",
    "foreign",
    "prompts",
    "prompt",
    "prompt_cache",
    "ledger",
    "model",
    "tool",
    "gate",
    "event",
    "hooks",
    "errand",
    "desk",
    "tools",
    "permission",
    "context",
    "memory",
    "instructions",
    "turn",
    "agents",
    "query_loop",
    "team",
];

/// Two that never meet, although one stands before the other.
const WALLS: &[(&str, &str)] = &[("memory", "context")];

/// What the engine must not know, and what it should use instead.
const FORBIDDEN: &[(&str, &str)] = &[
    ("std::env::", "the environment is handed in as values"),
    ("env::var", "the environment is handed in as values"),
    ("home_dir", "the home directory is handed in as a path"),
    ("SystemTime::now", "time comes from the desk's clock"),
    ("Timestamp::now", "time comes from the desk's clock"),
    ("Zoned::now", "time comes from the desk's clock"),
    ("TimeZone::system", "the zone comes from the desk"),
    ("TcpStream", "sockets live outside the engine"),
    ("TcpListener", "sockets live outside the engine"),
    ("UnixStream", "sockets live outside the engine"),
    ("UnixListener", "sockets live outside the engine"),
    ("println!", "the engine has no terminal: emit an event"),
    ("print!", "the engine has no terminal: emit an event"),
    ("io::stdout", "the engine has no terminal: emit an event"),
    ("io::stderr", "the engine has no terminal: emit an event"),
];

/// Numbers that are facts and not settings.
const NUMBERS: &[(&str, &str)] = &[
    (
        "context/compaction/offers.rs",
        "worths are compared with each other alone; sizes are steps on the way to a limit",
    ),
    ("hooks/process.rs", "a buffer's size changes nothing a person sees"),
    ("memory/recall/table.rs", "how a number is written in the table of words, not how much of anything there may be"),
    ("paths/project.rs", "a `.git` file holds one path; anything larger is not one"),
    ("secrets/decode.rs", "an encoded run that is longer is a file; what is found in texts does not change with it"),
    ("permission/restraint.rs", "how much is looked at before somebody is asked instead"),
    ("settings/registry.rs", "the bounds of a setting stand in its row"),
    ("tools/edit.rs", "how much is searched for a hint, not what is edited"),
    ("tools/read.rs", "how much is looked at to guess whether a file is text"),
    ("tools/shell/reading.rs", "a longer line is not worth parsing to save a question"),
    ("tools/shell/run.rs", "a buffer's size changes nothing a person sees"),
];

/// Long strings that no model reads.
const LISTS: &[(&str, &str)] = &[
    ("git.rs", "a configuration, which git reads"),
    ("foreign/claude_code.rs", "what another agent writes into its records"),
    ("tools/shell/flags.rs", "flags of known commands"),
];

const FILE_LINES: usize = 500;
const FUNCTION_LINES: usize = 60;
const NESTING: usize = 5;
const LONGEST_WORDS: usize = 240;
const LARGEST_PLAIN_NUMBER: u64 = 999;

/// What every layer file says first.
const LAYER_HEADER: &[&str] = &["What:", "When:", "Cost:", "Spares:", "Leaves:"];
const LAYERS: &[&str] = &[
    "context/tool_results.rs",
    "context/microcompaction.rs",
    "context/session_notes.rs",
    "context/compaction/mod.rs",
    "context/collapse.rs",
    "context/snip.rs",
    "memory/extraction/mod.rs",
    "memory/dreaming/mod.rs",
];

struct Source {
    name: String,
    text: String,
    /// Without tests, comments and the contents of strings.
    code: String,
    /// String literals outside tests.
    words: Vec<String>,
}

impl Source {
    fn module(&self) -> &str {
        self.name.split(['/', '.']).next().unwrap()
    }
}

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn sources(root: &Path) -> Vec<Source> {
    let mut found = Vec::new();
    let mut pending = vec![root.to_owned()];
    while let Some(at) = pending.pop() {
        if at.is_dir() {
            pending.extend(at.read_dir().unwrap().map(|entry| entry.unwrap().path()));
        } else if at.extension().is_some_and(|extension| extension == "rs") && !at.ends_with("tests.rs") {
            let text = std::fs::read_to_string(&at).unwrap();
            let name = at.strip_prefix(root).unwrap().display().to_string();
            let (code, words) = stripped(&text);
            found.push(Source { name, text, code, words });
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

fn engine() -> Vec<Source> {
    sources(&crates().join("scrubjay/src"))
}

/// The code without comments, strings and test modules, line for line, and the strings it had.
fn stripped(text: &str) -> (String, Vec<String>) {
    let (mut code, mut words) = (String::new(), Vec::new());
    let chars: Vec<char> = text.chars().collect();
    let mut at = 0;
    while at < chars.len() {
        let rest = &chars[at..];
        let skipped = match rest {
            ['/', '/', ..] => rest.iter().position(|c| *c == '\n').unwrap_or(rest.len()),
            ['/', '*', ..] => 2 + rest.windows(2).skip(2).position(|pair| pair == ['*', '/']).unwrap_or(rest.len()) + 2,
            ['\'', '\\', ..] => 2 + rest.iter().skip(2).position(|c| *c == '\'').unwrap_or(0) + 1,
            ['\'', _, '\'', ..] => 3,
            ['b', '"', ..] => 1 + string(&rest[1..], &mut words),
            ['r', '"' | '#', ..] if is_raw(rest) => raw_string(rest, &mut words),
            ['"', ..] => string(rest, &mut words),
            _ => 0,
        };
        if skipped == 0 {
            code.push(chars[at]);
            at += 1;
        } else {
            let end = (at + skipped).min(chars.len());
            code.extend(chars[at..end].iter().filter(|c| **c == '\n'));
            at = end;
        }
    }
    without_tests(code, words)
}

fn string(rest: &[char], words: &mut Vec<String>) -> usize {
    let mut at = 1;
    while at < rest.len() && rest[at] != '"' {
        at += if rest[at] == '\\' { 2 } else { 1 };
    }
    words.push(rest[1..at.min(rest.len())].iter().collect());
    at + 1
}

fn is_raw(rest: &[char]) -> bool {
    rest.iter().skip(1).find(|c| **c != '#') == Some(&'"')
}

fn raw_string(rest: &[char], words: &mut Vec<String>) -> usize {
    let hashes = rest.iter().skip(1).take_while(|c| **c == '#').count();
    let end: Vec<char> = std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
    let body = &rest[2 + hashes..];
    let length = body.windows(end.len()).position(|window| window == end).unwrap_or(body.len());
    words.push(body[..length].iter().collect());
    2 + hashes + length + end.len()
}

/// Tests stand at the end of a file, so what follows their mark is theirs.
fn without_tests(code: String, words: Vec<String>) -> (String, Vec<String>) {
    match code.find("#[cfg(test)]\nmod ") {
        Some(at) => (code[..at].to_owned(), words),
        None => (code, words),
    }
}

fn words_outside_tests(source: &Source) -> Vec<String> {
    let end = source.text.find("#[cfg(test)]\nmod ").unwrap_or(source.text.len());
    let (_, words) = stripped(&source.text[..end]);
    assert!(words.len() <= source.words.len());
    words
}

fn place(module: &str) -> usize {
    ORDER
        .iter()
        .position(|known| *known == module)
        .unwrap_or_else(|| panic!("the module `{module}` has no place in ORDER: say what it may use by giving it one"))
}

/// The modules a piece of code names as `crate::x`, also in `use crate::{x, y}`.
fn uses(code: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        let names: String = match rest.strip_prefix('{') {
            Some(group) => group.split('}').next().unwrap().to_owned(),
            None => rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect(),
        };
        let first = |name: &str| name.trim().split([':', ' ', ',']).next().unwrap_or_default().to_owned();
        found.extend(names.split(',').map(first).filter(|name| name.starts_with(|c: char| c.is_lowercase())));
    }
    found
}

fn order_faults(sources: &[Source]) -> Vec<String> {
    let mut faults = Vec::new();
    for source in sources.iter().filter(|source| source.name != "lib.rs") {
        for used in uses(&source.code).iter().filter(|used| *used != source.module()) {
            if place(used) > place(source.module()) {
                faults.push(format!("{} uses `{used}`, which stands above it", source.name));
            }
            if WALLS.iter().any(|(a, b)| [(*a, *b), (*b, *a)].contains(&(source.module(), used.as_str()))) {
                faults.push(format!("{} uses `{used}`: the two never import each other", source.name));
            }
        }
    }
    faults
}

#[test]
fn modules_use_only_what_stands_below_them() {
    assert_eq!(order_faults(&engine()), Vec::<String>::new());
}

#[test]
fn the_order_test_can_fail() {
    let fault = |name: &str, text: &str| {
        let (code, words) = stripped(text);
        order_faults(&[Source { name: name.into(), text: text.into(), code, words }])
    };
    assert_eq!(fault("limits.rs", "use crate::turn;"), ["limits.rs uses `turn`, which stands above it"]);
    assert_eq!(fault("memory/store.rs", "use crate::{context::x, limits};").len(), 1);
    assert_eq!(fault("limits.rs", "// use crate::turn;\nlet a = \"crate::turn\";"), Vec::<String>::new());
}

#[test]
fn the_crate_lists_its_modules_in_reading_order() {
    let lib = std::fs::read_to_string(crates().join("scrubjay/src/lib.rs")).unwrap();
    let listed: Vec<&str> =
        lib.lines().filter_map(|line| line.strip_prefix("pub mod ")).map(|name| name.trim_end_matches(';')).collect();
    let mut ordered = listed.clone();
    ordered.sort_by_key(|name| place(name));
    assert_eq!(listed, ordered);
}

// spec: A3
#[test]
fn git_is_started_in_one_place() {
    let starts = |source: &Source| source.text.contains("Command::new(\"git\"");
    let places: Vec<String> = all_sources().into_iter().filter(starts).map(|source| source.name).collect();
    assert_eq!(places, ["scrubjay/src/git.rs"], "elsewhere a repository's programs would run");
}

#[test]
fn the_engine_knows_no_socket_terminal_environment_home_or_wall_clock() {
    let mut faults = Vec::new();
    for source in engine() {
        for (forbidden, instead) in FORBIDDEN {
            if source.code.contains(forbidden) {
                faults.push(format!("{} uses `{forbidden}`: {instead}", source.name));
            }
        }
    }
    assert_eq!(faults, Vec::<String>::new());
}

/// Plain decimal numbers in code, underscores removed.
fn numbers(code: &str) -> Vec<u64> {
    let mut found = Vec::new();
    for word in code.split(|c: char| !(c.is_alphanumeric() || c == '_')) {
        if word.starts_with(|c: char| c.is_ascii_digit()) && !word.starts_with("0x") && !word.starts_with("0o") {
            let digits: String = word.chars().filter(char::is_ascii_digit).collect();
            found.extend(digits.parse::<u64>());
        }
    }
    found
}

#[test]
fn numbers_that_could_be_tuned_stand_in_limits() {
    let mut used = BTreeSet::new();
    let mut faults = Vec::new();
    for source in engine().iter().filter(|source| source.name != "limits.rs") {
        for number in numbers(&source.code).into_iter().filter(|number| *number > LARGEST_PLAIN_NUMBER) {
            match NUMBERS.iter().find(|(path, _)| *path == source.name) {
                Some((path, _)) => drop(used.insert(*path)),
                None => faults
                    .push(format!("{}: {number} belongs into limits.rs, or needs a reason in NUMBERS", source.name)),
            }
        }
    }
    let stale =
        NUMBERS.iter().filter(|(path, _)| !used.contains(path)).map(|(path, _)| format!("{path}: stale exemption"));
    faults.extend(stale);
    assert_eq!(faults, Vec::<String>::new());
}

#[test]
fn every_limit_is_read_somewhere() {
    let sources = all_sources();
    let is_read = |name: &str| {
        let read = format!(".{name}");
        sources.iter().filter(|source| !source.name.ends_with("/limits.rs")).any(|source| source.code.contains(&read))
    };
    let idle: Vec<&str> =
        scrubjay::limits::Limits::table().iter().map(|limit| limit.name).filter(|name| !is_read(name)).collect();
    assert_eq!(idle, Vec::<&str>::new(), "a number that changes nothing is a promise that is not kept");
}

#[test]
fn words_for_a_model_stand_in_prompts() {
    let mut faults = Vec::new();
    for source in engine().iter().filter(|source| !["limits.rs", "prompts.rs"].contains(&source.name.as_str())) {
        if LISTS.iter().any(|(path, _)| *path == source.name) {
            continue;
        }
        for words in words_outside_tests(source) {
            let reads_like_a_prompt = words.contains("<system-reminder>") || words.contains("You are ");
            if reads_like_a_prompt || words.len() > LONGEST_WORDS {
                faults.push(format!("{}: {words:?} belongs into prompts/", source.name));
            }
        }
    }
    assert_eq!(faults, Vec::<String>::new());
}

fn all_sources() -> Vec<Source> {
    let mut all = Vec::new();
    for krate in ["scrubjay", "scrubjay-providers", "scrubjay-sandbox", "scrubjay-cli", "scrubjay-testkit"] {
        for mut source in sources(&crates().join(krate).join("src")) {
            source.name = format!("{krate}/src/{}", source.name);
            all.push(source);
        }
    }
    all
}

#[test]
fn files_are_short() {
    let mut faults = Vec::new();
    for source in all_sources() {
        let lines = source.code.lines().filter(|line| !line.trim().is_empty()).count();
        if lines > FILE_LINES {
            faults.push(format!("{} has {lines} lines of code; split it at an idea", source.name));
        }
    }
    assert_eq!(faults, Vec::<String>::new());
}

#[test]
fn functions_are_short_and_shallow() {
    let mut faults = Vec::new();
    for source in all_sources() {
        for function in functions(&source.code) {
            if function.lines > FUNCTION_LINES {
                faults.push(format!("{}: `{}` has {} lines", source.name, function.name, function.lines));
            }
            if function.depth > NESTING {
                faults.push(format!("{}: `{}` nests {} deep", source.name, function.name, function.depth));
            }
        }
    }
    assert_eq!(faults, Vec::<String>::new());
}

struct Function {
    name: String,
    lines: usize,
    depth: usize,
}

/// Whether a brace opens a block of statements or arms; struct literals and macro bodies do not nest.
fn opens_a_block(before: &str) -> bool {
    let before = before.trim_end();
    let ends = [")", "=>", "else", "loop", "async", "move", "|"].iter().any(|end| before.ends_with(end));
    let statement = before.rsplit(['{', '}', ';', ',']).next().unwrap_or_default();
    let begins = ["if ", "match ", "while ", "for ", "fn ", "else"].iter().any(|word| statement.contains(word));
    (ends && !before.ends_with("json!(")) || begins
}

/// Functions with a body: their lines, and how deep their blocks nest; the body itself is 1.
fn functions(code: &str) -> Vec<Function> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        let before = code[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let name: String = code[at + 3..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let Some(open) = code[at..].find(['{', ';']).filter(|open| code.as_bytes()[at + open] == b'{') else {
            continue;
        };
        if name.is_empty() {
            continue;
        }
        let (lines, depth) = measure(&code[at..], open);
        found.push(Function { name, lines, depth });
    }
    found
}

fn measure(code: &str, open: usize) -> (usize, usize) {
    let (mut blocks, mut deepest, mut lines) = (Vec::new(), 0, 0);
    for (at, c) in code[open..].char_indices() {
        match c {
            // An empty block holds nothing that could be hard to read.
            '{' => blocks.push(!code[open + at..].starts_with("{}") && opens_a_block(&code[..open + at])),
            '}' => drop(blocks.pop()),
            '\n' => lines += 1,
            _ => {}
        }
        deepest = deepest.max(blocks.iter().filter(|block| **block).count());
        if blocks.is_empty() {
            break;
        }
    }
    (lines, deepest)
}

#[test]
fn the_size_test_can_fail() {
    let code = format!(
        "fn long() {{\n{}}}\nfn deep() {{ if a {{ for b in c {{ match d {{ e => {{ loop {{ F {{ g }} }} }} }} }} }} }}\n",
        "x;\n".repeat(61)
    );
    let found = functions(&code);
    assert_eq!((found[0].lines, found[1].depth), (62, 6));
}

#[test]
fn each_layer_says_what_it_is_in_five_lines() {
    for layer in LAYERS {
        let Ok(text) = std::fs::read_to_string(crates().join("scrubjay/src").join(layer)) else { continue };
        for word in LAYER_HEADER {
            let said = text.lines().take(12).any(|line| line.starts_with("//!") && line.contains(word));
            assert!(said, "{layer} does not say `{word}` in its first lines");
        }
    }
}
