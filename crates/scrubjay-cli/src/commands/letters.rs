//! `scrubjay send` and `scrubjay inbox`: write to agents that run, and look at what waits for them.

use crate::arguments::SendFlags;
use crate::failure::Failure;
use crate::letters::{self, socket};
use crate::paper::{Form, Paper, Tone, counted};
use crate::workplace::Workplace;
use jiff::Timestamp;
use scrubjay::agents::letters::inbox::{self, Lying};
use scrubjay::agents::letters::{Address, Letter, address};
use scrubjay::tools::shown;
use serde_json::json;
use std::path::PathBuf;

/// Write to somebody.
pub(super) async fn send(flags: &SendFlags, workplace: &Workplace, paper: &Paper) -> Result<(), Failure> {
    let message = flags.message.join(" ");
    if message.trim().is_empty() {
        return Err(Failure::usage("there is nothing to send").fix("scrubjay send NAME \"what you want to say\""));
    }
    let summary = flags.summary.clone().unwrap_or_else(|| beginning(&message));
    let letter = Letter::new(&flags.from, "main", message, Timestamp::now()).summed_up(&summary);
    let reached = match Address::read(&flags.to).map_err(letters::failure)? {
        Address::Bridge(_) => return Err(Failure::failed(address::NO_BRIDGE)),
        Address::Socket(path) => vec![by_socket(path, &letter, workplace).await?],
        Address::Everybody => {
            let names = inbox::living(&workplace.project().mail());
            if names.is_empty() {
                return Err(unknown("*", workplace));
            }
            names.into_iter().map(|name| by_mailbox(name, &letter, workplace)).collect::<Result<_, _>>()?
        }
        Address::Name(name) => vec![by_name(name, &letter, workplace).await?],
    };
    match paper.form {
        Form::Json => paper.json("sent", json!({ "id": letter.id, "to": reached })),
        Form::Words => paper.line(&format!("sent to {}", reached.join(", "))),
    }
}

/// A mailbox of this project, or else a session of any project that listens under this name.
async fn by_name(name: String, letter: &Letter, workplace: &Workplace) -> Result<String, Failure> {
    let (boxes, sockets) = letters::known(workplace);
    if boxes.contains(&name) {
        return by_mailbox(name, letter, workplace);
    }
    let is_it = |path: &PathBuf| path.file_stem().is_some_and(|stem| stem.to_str() == Some(&name));
    match sockets.into_iter().find(is_it) {
        Some(path) => by_socket(path, letter, workplace).await.map(|_| name),
        None => Err(unknown(&name, workplace)),
    }
}

fn unknown(name: &str, workplace: &Workplace) -> Failure {
    let (boxes, sockets) = letters::known(workplace);
    let sockets = sockets.iter().map(|path| format!("uds:{}", path.display()));
    let all: Vec<String> = boxes.into_iter().chain(sockets).collect();
    Failure::nothing_found(format!("there is nobody called `{}` to write to", shown(name))).fix(if all.is_empty() {
        "nobody listens now".to_owned()
    } else {
        format!("there are: {}", all.join(", "))
    })
}

fn by_mailbox(name: String, letter: &Letter, workplace: &Workplace) -> Result<String, Failure> {
    let letter = Letter { to: name.clone(), ..letter.clone() };
    inbox::deliver(&workplace.project().mail(), &letter, &workplace.limits).map_err(letters::failure)?;
    Ok(name)
}

async fn by_socket(path: PathBuf, letter: &Letter, workplace: &Workplace) -> Result<String, Failure> {
    socket::send(&path, letter, &workplace.limits).await.map_err(Failure::failed)?;
    Ok(format!("uds:{}", path.display()))
}

fn beginning(message: &str) -> String {
    const WORDS: usize = 10;
    message.split_whitespace().take(WORDS).collect::<Vec<_>>().join(" ")
}

/// Look at mailboxes, at one of them, or at one letter.
pub(super) fn inbox(name: &str, letter: Option<&str>, workplace: &Workplace, paper: &Paper) -> Result<(), Failure> {
    let mail = workplace.project().mail();
    if name.is_empty() {
        return mailboxes(workplace, paper);
    }
    if !inbox::known(&mail).iter().any(|known| known == name) {
        return Err(unknown(name, workplace));
    }
    let mut lying = inbox::look(&mail, name, &workplace.limits);
    if let Some(id) = letter {
        lying.retain(|one| one.file.starts_with(id));
        if lying.is_empty() {
            return Err(Failure::nothing_found(format!("no letter of {} begins with `{}`", shown(name), shown(id)))
                .fix(format!("`scrubjay inbox --agent {}` lists them", shown(name))));
        }
    }
    match (paper.form, letter) {
        (Form::Json, _) => paper.json("inbox", json!({ "agent": name, "letters": lying })),
        (Form::Words, Some(_)) => lying.iter().try_for_each(|one| whole(one, paper)),
        (Form::Words, None) if lying.is_empty() => paper.line(&format!("nothing waits for {}", shown(name))),
        (Form::Words, None) => lying.iter().try_for_each(|one| paper.line(&listed(one, paper))),
    }
}

fn mailboxes(workplace: &Workplace, paper: &Paper) -> Result<(), Failure> {
    let (boxes, sockets) = letters::known(workplace);
    let mail = workplace.project().mail();
    let waiting = |name: &str| inbox::look(&mail, name, &workplace.limits).len() as u64;
    if paper.form == Form::Json {
        let boxes: Vec<_> = boxes.iter().map(|name| json!({ "agent": name, "letters": waiting(name) })).collect();
        return paper.json("mailboxes", json!({ "mailboxes": boxes, "sockets": sockets }));
    }
    if boxes.is_empty() && sockets.is_empty() {
        return paper.line("nobody has a mailbox here; a chat and a teammate have one while they run");
    }
    for name in &boxes {
        paper.line(&format!("{name}  {}", counted(waiting(name), "letter")))?;
    }
    sockets.iter().try_for_each(|path| paper.line(&format!("uds:{}", path.display())))
}

fn listed(one: &Lying, paper: &Paper) -> String {
    let place = match one.place {
        "dead" => paper.ink.paint(Tone::Bad, "refused"),
        "cur" => "being read".to_owned(),
        _ => "waits".to_owned(),
    };
    let id = one.file.split('.').next().unwrap_or_default();
    let words = match (&one.why, &one.letter) {
        (Some(why), _) => why.clone(),
        (None, Some(letter)) => format!("{}: {}", letter.from, beginning(&letter.summary)),
        (None, None) => "no letter".to_owned(),
    };
    format!("{}  {place}  {}", shown(id), shown(&words))
}

fn whole(one: &Lying, paper: &Paper) -> Result<(), Failure> {
    paper.line(&listed(one, paper))?;
    let Some(letter) = &one.letter else { return Ok(()) };
    paper.line(&format!("{} · {} · {}", shown(&letter.from), letter.kind.word(), letter.at))?;
    paper.line(&shown(&letter.message))
}
