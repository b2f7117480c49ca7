//! Dates in prose against public cases with a reference date: how many are answered, how many of those are wrong.
//!
//! `cargo bench -p scrubjay --bench dates -- [--data PATH] [--wrong]`; cases are looked for in PATH, PATH/dates, or the same below
//! `SCRUBJAY_BENCH_DATA` or `../shared/bench`. The grammar was written with one half of the cases in view (by digest of the sentence).
//! The wrong answers of another quarter were looked at afterwards, once; the last quarter is held back, and `--wrong` never lists it.
//!
//! An answer is right if it is one of the values of the expected result that it overlaps: the same day, the same first and last day, or,
//! where the result is open or built from two dates ("since yesterday", "from today to Friday"), one of its ends. A result that is a
//! time on a day is compared by the day. Answering a time of day, a duration or a set is wrong. An answer that overlaps nothing is
//! wrong, except in files that look for one kind of expression alone and are silent about the others. Results without a value
//! are not judged.

use jiff::civil::{Date, DateTime};
use scrubjay::dates::{Found, When, find};
use scrubjay::digest::Digest;
use serde_json::Value;
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

type Failure = Box<dyn std::error::Error>;

/// The part of the cases that nobody looked at.
const HELD: usize = 2;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(dir) = data(&arguments) else {
        println!("no date cases found: pass --data PATH or set SCRUBJAY_BENCH_DATA; nothing was measured");
        return Ok(());
    };
    let list = arguments.iter().any(|argument| argument == "--wrong");
    println!("{:<36} {:>6} {:>9} {:>9} {:>6} {:>8}", "file", "asked", "answered", "right", "wrong", "coverage");
    let mut parts = [Score::default(), Score::default(), Score::default()];
    for path in files(&dir)? {
        let text = std::fs::read_to_string(&path)?;
        let cases: Vec<Value> = serde_json::from_str(text.trim_start_matches('\u{feff}'))?;
        let mut score = Score::default();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let looks_for =
            if name.contains("Model") || name.contains("Merged") { LooksFor::Everything } else { LooksFor::OneKind };
        for case in cases.iter().filter_map(|case| Case::read(case, looks_for)) {
            let one = case.score();
            if list && case.part != HELD {
                one.wrong.iter().for_each(|wrong| println!("    {wrong}"));
            }
            parts[case.part].add(&one);
            score.add(&one);
        }
        if score.cases > 0 {
            score.print(&name);
        }
    }
    let mut all = Score::default();
    for (part, name) in parts.iter().zip(["half in view", "quarter looked at once", "quarter held back"]) {
        part.print(name);
        all.add(part);
    }
    all.print("all");
    println!("\n{} cases with a reference date; {} answers left unclear on purpose", all.cases, all.unclear);
    Ok(())
}

fn data(arguments: &[String]) -> Option<PathBuf> {
    let given = arguments.iter().position(|argument| argument == "--data").and_then(|at| arguments.get(at + 1));
    let root = given.map(PathBuf::from).or_else(|| std::env::var_os("SCRUBJAY_BENCH_DATA").map(PathBuf::from));
    let roots = root.map_or_else(
        || vec![PathBuf::from("../shared/bench"), Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/bench")],
        |root| vec![root],
    );
    roots.into_iter().flat_map(|root| [root.join("dates"), root]).find(|dir| dir.join("DateTimeModel.json").exists())
}

fn files(dir: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(dir)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    Ok(files)
}

#[derive(Default)]
struct Score {
    cases: usize,
    asked: usize,
    covered: usize,
    right: usize,
    unclear: usize,
    wrong: Vec<String>,
}

impl Score {
    fn add(&mut self, other: &Self) {
        self.cases += other.cases;
        self.asked += other.asked;
        self.covered += other.covered;
        self.right += other.right;
        self.unclear += other.unclear;
        self.wrong.extend(other.wrong.iter().cloned());
    }

    fn print(&self, name: &str) {
        let answered = self.right + self.wrong.len();
        let share = |part: usize, whole: usize| if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 };
        println!(
            "{name:<36} {:>6} {answered:>9} {:>9} {:>6} {:>7.1}%   wrong {:.2}% of answered",
            self.asked,
            self.right,
            self.wrong.len(),
            share(self.covered, self.asked),
            share(self.wrong.len(), answered)
        );
    }
}

/// What a file's results cover.
#[derive(Clone, Copy, PartialEq)]
enum LooksFor {
    Everything,
    OneKind,
}

/// A sentence, the day it was said, and what is expected of it.
struct Case<'a> {
    input: &'a str,
    said: Date,
    part: usize,
    looks_for: LooksFor,
    expected: Vec<Expected>,
}

/// One expected result.
struct Expected {
    span: Range<usize>,
    is_date: bool,
    /// Every value listed: first day and last day, either may be open.
    values: Vec<(Option<Date>, Option<Date>)>,
}

impl<'a> Case<'a> {
    fn read(case: &'a Value, looks_for: LooksFor) -> Option<Self> {
        let input = case["Input"].as_str()?;
        let said: DateTime = case["Context"]["ReferenceDateTime"].as_str()?.parse().ok()?;
        let digest = Digest::of(input.as_bytes());
        let part = [0, 1, 0, HELD][usize::from(digest.as_str().bytes().next()? % 4)];
        let expected = case["Results"].as_array()?.iter().filter_map(|result| Expected::read(input, result)).collect();
        Some(Self { input, said: said.date(), part, looks_for, expected })
    }

    fn score(&self) -> Score {
        let mut score = Score { cases: 1, ..Score::default() };
        let mut covered = BTreeSet::new();
        for found in find(self.input, self.said) {
            if found.when == When::Unclear {
                score.unclear += 1;
                continue;
            }
            let overlaps =
                |expected: &&Expected| expected.span.start < found.span.end && found.span.start < expected.span.end;
            let beside: Vec<&Expected> = self.expected.iter().filter(overlaps).collect();
            let silent = if beside.is_empty() {
                self.looks_for == LooksFor::OneKind
            } else {
                beside.iter().all(|e| e.values.is_empty())
            };
            match beside.iter().find(|expected| expected.has(&found)) {
                Some(expected) => {
                    score.right += 1;
                    covered.insert(expected.span.start);
                }
                None if silent => {}
                None => score.wrong.push(self.report(&found)),
            }
        }
        score.asked = self.expected.iter().filter(|expected| expected.is_date).count();
        score.covered = self.expected.iter().filter(|e| e.is_date && covered.contains(&e.span.start)).count();
        score
    }

    fn report(&self, found: &Found) -> String {
        let expected: Vec<_> = self.expected.iter().map(|e| (&self.input[e.span.clone()], &e.values)).collect();
        format!(
            "{} {:?} → {:?}: {} expected {expected:?}",
            self.said,
            &self.input[found.span.clone()],
            found.when,
            self.input
        )
    }
}

impl Expected {
    fn read(input: &str, result: &Value) -> Option<Self> {
        let kind = result["TypeName"].as_str().or(result["Type"].as_str()).unwrap_or_default();
        let text = result["Text"].as_str()?;
        let start = result["Start"].as_u64().and_then(|start| usize::try_from(start).ok())?;
        let given = input.char_indices().nth(start).map_or(input.len(), |(at, _)| at);
        // Some offsets are off: the words decide.
        let words = |at: usize| input[at..].to_lowercase().starts_with(&text.to_lowercase());
        let from = if words(given) { given } else { input.char_indices().map(|(at, _)| at).find(|at| words(*at))? };
        let to = input[from..].char_indices().nth(text.chars().count()).map_or(input.len(), |(at, _)| from + at);
        let listed =
            [&result["Resolution"]["values"], &result["Value"]["values"]].into_iter().find_map(Value::as_array);
        let mut values: Vec<_> = match listed {
            Some(values) => values.iter().map(ends).collect(),
            None => ["FutureResolution", "PastResolution"].iter().map(|key| ends(&result["Value"][key])).collect(),
        };
        if result["Value"].is_null() && result["Resolution"].is_null() {
            values.clear();
        }
        let is_date = kind.contains("date") && !values.is_empty();
        Some(Self { span: from..to, is_date, values })
    }

    fn has(&self, found: &Found) -> bool {
        let When::Days { first, last } = found.when else { return false };
        self.values.iter().any(|(from, to)| {
            let behind = to.and_then(|day| day.tomorrow().ok());
            let whole = (*from, *to) == (Some(first), Some(last));
            let end = [*from, *to, behind].contains(&Some(first)) || *to == Some(last) || *from == last.tomorrow().ok();
            whole || end && (first == last || found.span.len() < self.span.len())
        })
    }
}

/// First and last day of a value. Ranges are written with the day after their last one.
fn ends(value: &Value) -> (Option<Date>, Option<Date>) {
    let day = |keys: &[&str]| {
        keys.iter().find_map(|key| value[*key].as_str()).and_then(|text| text.get(..10)?.parse::<Date>().ok())
    };
    if let Some(day) = day(&["value", "date", "dateTime"]) {
        return (Some(day), Some(day));
    }
    let with_time = value["end"].as_str().or(value["endDateTime"].as_str()).is_some_and(|end| end.len() > 10);
    let end = day(&["end", "endDate", "endDateTime"]);
    (
        day(&["start", "startDate", "startDateTime"]),
        if with_time { end } else { end.and_then(|end| end.yesterday().ok()) },
    )
}
