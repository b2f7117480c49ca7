//! `scrubjay agents`: the kinds of agents that there are here.

use crate::arguments::{AgentsCommand, CreateFlags};
use crate::failure::Failure;
use crate::kinds::{self, Saved};
use crate::paper::{Form, Paper};
use crate::workplace::Workplace;
use scrubjay::agents::definition::Author;
use serde_json::{Value, json};

pub(super) fn run(what: Option<&AgentsCommand>, workplace: &Workplace, paper: &Paper) -> Result<(), Failure> {
    match what {
        None | Some(AgentsCommand::Ls) => ls(workplace, paper),
        Some(AgentsCommand::Show { name }) => show(name, workplace, paper),
        Some(AgentsCommand::Create(CreateFlags { name, description, project })) => {
            let author = if *project { Author::Project } else { Author::Person };
            tell(&kinds::create(name, description, author, workplace)?, paper)
        }
        Some(AgentsCommand::Edit { name }) => match kinds::edit(name, workplace)? {
            Some(saved) => tell(&saved, paper),
            None => paper.line("nothing was changed"),
        },
    }
}

fn ls(workplace: &Workplace, paper: &Paper) -> Result<(), Failure> {
    let all = kinds::all(workplace);
    if paper.form == Form::Json {
        let listed: Vec<Value> = all.iter().map(kinds::as_json).collect();
        return paper.json("agents", json!({ "agents": listed, "notices": all.notices }));
    }
    paper.line(&kinds::listed(&all, paper.ink))?;
    all.notices.iter().for_each(|notice| paper.warn(notice));
    Ok(())
}

fn show(name: &str, workplace: &Workplace, paper: &Paper) -> Result<(), Failure> {
    let all = kinds::all(workplace);
    let kind = kinds::find(&all, name)?;
    if paper.form == Form::Json {
        let mut data = kinds::as_json(kind);
        data["role"] = kind.role.as_str().into();
        return paper.json("agent", data);
    }
    paper.line(&kinds::described(kind, paper.ink))
}

fn tell(saved: &Saved, paper: &Paper) -> Result<(), Failure> {
    if paper.form == Form::Json {
        return paper.json("agent-saved", saved.json());
    }
    saved.notices.iter().for_each(|notice| paper.warn(notice));
    paper.line(&saved.words())
}
