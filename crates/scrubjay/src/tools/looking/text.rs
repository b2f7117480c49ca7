//! cat, head, tail and wc.

use super::Command;
use super::options::{Known, number, read};

/// How much of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    Lines(usize),
    Bytes(usize),
    /// From this line on.
    From(usize),
}

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counts {
    lines: bool,
    words: bool,
    bytes: bool,
    chars: bool,
}

type Read = Result<(Command, Vec<String>), String>;

const USUAL: usize = 10;
const ENDS: Known = Known { bare: "q", valued: "nc", long: &[("lines", 'n'), ("bytes", 'c'), ("quiet", 'q')] };

pub(super) fn cat(words: &[String]) -> Read {
    let given = read("cat", words, &Known { bare: "n", valued: "", long: &[("number", 'n')] })?;
    Ok((Command::Cat { numbered: given.has('n') }, given.operands))
}

pub(super) fn head(words: &[String]) -> Read {
    let given = read("head", words, &ENDS)?;
    let cut = match (given.value('c'), given.value('n')) {
        (Some(bytes), _) => Cut::Bytes(number("head", bytes)?),
        (None, Some(lines)) => Cut::Lines(number("head", lines)?),
        (None, None) => Cut::Lines(USUAL),
    };
    Ok((Command::Head(cut), given.operands))
}

pub(super) fn tail(words: &[String]) -> Read {
    let given = read("tail", words, &ENDS)?;
    let cut = match (given.value('c'), given.value('n')) {
        (Some(bytes), _) => Cut::Bytes(number("tail", bytes)?),
        (None, Some(lines)) => match lines.strip_prefix('+') {
            Some(first) => Cut::From(number("tail", first)?),
            None => Cut::Lines(number("tail", lines.trim_start_matches('-'))?),
        },
        (None, None) => Cut::Lines(USUAL),
    };
    Ok((Command::Tail(cut), given.operands))
}

pub(super) fn wc(words: &[String]) -> Read {
    let long = &[("lines", 'l'), ("words", 'w'), ("bytes", 'c'), ("chars", 'm')];
    let given = read("wc", words, &Known { bare: "lwcm", valued: "", long })?;
    let [lines, words, bytes, chars] = ['l', 'w', 'c', 'm'].map(|letter| given.has(letter));
    let usual = !(lines || words || bytes || chars);
    let counts = Counts { lines: lines || usual, words: words || usual, bytes: bytes || usual, chars };
    Ok((Command::Wc(counts), given.operands))
}

/// Do it with these texts.
pub(super) fn run(command: &Command, texts: &[(String, String)]) -> String {
    match command {
        Command::Cat { numbered } => {
            let whole: String = texts.iter().map(|(_, text)| text.as_str()).collect();
            if !numbered {
                return whole;
            }
            whole.lines().enumerate().map(|(at, line)| format!("{:>6}\t{line}\n", at + 1)).collect()
        }
        Command::Head(cut) => each(texts, |text| first(text, *cut)),
        Command::Tail(cut) => each(texts, |text| last(text, *cut)),
        Command::Wc(counts) => counted(texts, *counts),
        _ => String::new(),
    }
}

fn each(texts: &[(String, String)], part: impl Fn(&str) -> String) -> String {
    let title = |name: &str| if texts.len() > 1 { format!("==> {name} <==\n") } else { String::new() };
    texts.iter().map(|(name, text)| title(name) + &part(text)).collect::<Vec<_>>().join(if texts.len() > 1 {
        "\n"
    } else {
        ""
    })
}

fn first(text: &str, cut: Cut) -> String {
    match cut {
        Cut::Lines(count) => text.split_inclusive('\n').take(count).collect(),
        Cut::Bytes(count) => text[..text.floor_char_boundary(count)].to_owned(),
        Cut::From(_) => text.to_owned(),
    }
}

fn last(text: &str, cut: Cut) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    match cut {
        Cut::Lines(count) => lines[lines.len().saturating_sub(count)..].concat(),
        Cut::From(first) => lines.into_iter().skip(first.saturating_sub(1)).collect(),
        Cut::Bytes(count) => text[text.ceil_char_boundary(text.len().saturating_sub(count))..].to_owned(),
    }
}

fn counted(texts: &[(String, String)], counts: Counts) -> String {
    let of = |text: &str| {
        let all = [
            (counts.lines, text.matches('\n').count()),
            (counts.words, text.split_whitespace().count()),
            (counts.chars, text.chars().count()),
            (counts.bytes, text.len()),
        ];
        all.into_iter().filter(|(wanted, _)| *wanted).map(|(_, count)| count).collect::<Vec<usize>>()
    };
    let row = |counts: &[usize], name: &str| {
        let counts: Vec<String> = counts.iter().map(usize::to_string).collect();
        format!("{} {name}", counts.join(" ")).trim_end().to_owned() + "\n"
    };
    let all: Vec<Vec<usize>> = texts.iter().map(|(_, text)| of(text)).collect();
    let mut out: String = texts.iter().zip(&all).map(|((name, _), counts)| row(counts, name)).collect();
    if texts.len() > 1 {
        let width = all.first().map_or(0, Vec::len);
        let sums: Vec<usize> = (0..width).map(|at| all.iter().map(|counts| counts[at]).sum()).collect();
        out.push_str(&row(&sums, "total"));
    }
    out
}
