//! What a model found out, judged as `findings/score_findings.py` does: a finding is kept if for one of its alternatives all
//! tokens occur in the text, whatever their case.

use crate::probes::{Failure, Point, load};
use crate::{converted, points_of, share_more};
use scrubjay::context::compaction::extract::summarise;
use scrubjay::context::compaction::fidelity::complete;
use scrubjay::context::compaction::sections::parse;
use scrubjay::limits::Limits;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// One place of one session with what has to survive there.
#[derive(Deserialize)]
struct Asked {
    session: String,
    point: Place,
    findings: Vec<Finding>,
}

#[derive(Deserialize)]
struct Place {
    uuid: String,
}

#[derive(Deserialize)]
struct Finding {
    id: String,
    kind: String,
    statement: String,
    any_of: Vec<Vec<String>>,
    source: String,
    #[serde(default)]
    in_tail: bool,
}

impl Finding {
    fn is_in(&self, lower: &str) -> bool {
        self.any_of.iter().any(|tokens| tokens.iter().all(|token| lower.contains(&token.to_lowercase())))
    }

    /// The rows it counts in.
    fn rows(&self, fold: &str) -> Vec<String> {
        let from_the_model = self.source != "user";
        let mut rows = vec!["all".to_owned(), format!("kind: {}", self.kind), format!("half {fold}: all")];
        rows.extend(from_the_model.then(|| "from the model".to_owned()));
        if !self.in_tail {
            rows.extend(["older".to_owned(), format!("half {fold}: older")]);
        }
        rows
    }
}

const TEXTS: [&str; 3] = ["without a model", "the model's own", "the model's, completed"];

/// Kept and asked, for each text.
type Row = [[usize; 2]; 3];

#[derive(Default)]
struct Board {
    rows: BTreeMap<String, Row>,
    /// The length of each text against the model's own, in percent.
    lengths: [Vec<usize>; 3],
    points: usize,
}

/// Score a file of findings against the transcripts of a folder and print the table.
pub(crate) fn measure(file: &Path, dir: &Path, show: bool, misses: bool) -> Result<(), Failure> {
    let asked: Vec<Asked> = serde_json::from_slice(&std::fs::read(file)?)?;
    let sessions: BTreeSet<&str> = asked.iter().map(|point| point.session.as_str()).collect();
    let mut board = Board::default();
    for one in &asked {
        let half = sessions.iter().position(|session| *session == one.session).unwrap_or_default() % 2;
        let path = dir.join(&one.session);
        if !path.exists() {
            println!("{} is not there: its findings are not counted", path.display());
            continue;
        }
        let records = load(&path)?;
        let at = records.iter().position(|record| record["uuid"] == one.point.uuid.as_str());
        let points = points_of(&records);
        let Some(point) = at.and_then(|at| points.into_iter().find(|point| ends_at(point, &records[at..]))) else {
            println!("{} has no compaction at {}: its findings are not counted", one.session, one.point.uuid);
            continue;
        };
        let texts = texts_of(&point)?;
        if show {
            TEXTS.iter().zip(&texts).for_each(|(name, text)| println!("=== {} {name}\n{text}", one.session));
        }
        board.count(one, ["A", "B"][half], &texts, misses);
    }
    board.print();
    Ok(())
}

/// Whether what was replaced at a point ends where these records begin.
fn ends_at(point: &Point<'_>, boundary: &[serde_json::Value]) -> bool {
    std::ptr::eq(point.before.as_ptr_range().end, boundary.as_ptr())
}

fn texts_of(point: &Point<'_>) -> Result<[String; 3], Failure> {
    let (messages, limits) = (converted(point.before), Limits::default());
    let ours = summarise(&messages, point.room(), &|_| None, &limits)?.text;
    let room = share_more(point.room());
    let completed = complete(&parse(&point.theirs), &messages, room, &|_| None, &limits)?.text;
    Ok([ours, point.theirs.clone(), completed])
}

impl Board {
    fn count(&mut self, asked: &Asked, fold: &str, texts: &[String; 3], misses: bool) {
        self.points += 1;
        let length = texts[1].chars().count().max(1);
        for (lengths, text) in self.lengths.iter_mut().zip(texts) {
            lengths.push(text.chars().count() * 100 / length);
        }
        let lower = texts.each_ref().map(|text| text.to_lowercase());
        for finding in &asked.findings {
            let kept = lower.each_ref().map(|text| finding.is_in(text));
            for row in finding.rows(fold) {
                let row = self.rows.entry(row).or_default();
                for (count, kept) in row.iter_mut().zip(kept) {
                    *count = [count[0] + usize::from(kept), count[1] + 1];
                }
            }
            if misses && kept.contains(&false) {
                let marks: String = kept.iter().map(|kept| if *kept { '+' } else { '-' }).collect();
                println!("{marks} {} {} {} {:?}", finding.id, finding.kind, finding.statement, finding.any_of);
            }
        }
    }

    fn print(&self) {
        let mean = |lengths: &Vec<usize>| lengths.iter().sum::<usize>() / lengths.len().max(1);
        let most = |lengths: &Vec<usize>| lengths.iter().copied().max().unwrap_or_default();
        println!("| {} points | {} |\n|---|---|---|---|", self.points, TEXTS.join(" | "));
        let lengths = self.lengths.each_ref().map(|all| format!("{} % (most {} %)", mean(all), most(all)));
        println!("| length | {} |", lengths.join(" | "));
        let first = ["all", "from the model", "older"].map(str::to_owned);
        let rest = self.rows.keys().filter(|name| !first.contains(name));
        for name in first.iter().chain(rest) {
            let Some(row) = self.rows.get(name) else { continue };
            let cells = row.map(|[kept, all]| format!("{kept}/{all} {:.3}", kept as f64 / all.max(1) as f64));
            println!("| {name} | {} |", cells.join(" | "));
        }
    }
}
