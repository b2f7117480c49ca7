//! `scrubjay config` and `scrubjay flags`: which settings hold, and who said so.

use crate::failure::Failure;
use crate::paper::{Form, Paper, Tone};
use crate::service::Route;
use crate::workplace::Workplace;
use scrubjay::settings::{Refused, Row, Source};
use scrubjay::tools::{shown, shown_path};
use serde_json::{Value, json};

/// The files that are read, strongest first.
pub(super) fn path(workplace: &Workplace, paper: &Paper) -> Result<(), Failure> {
    if paper.form == Form::Json {
        let files: Vec<Value> =
            workplace.files.iter().map(|file| json!({ "path": file, "exists": file.exists() })).collect();
        return paper.json("config-path", json!({ "files": files }));
    }
    for file in &workplace.files {
        let there = if file.exists() { "" } else { "  (not there)" };
        paper.line(&format!("{}{there}", shown_path(file)))?;
    }
    Ok(())
}

/// Every value and where it comes from.
pub(super) fn flags(workplace: &Workplace, paper: &Paper) -> Result<(), Failure> {
    let rows = workplace.settings.rows();
    if paper.form == Form::Json {
        let rows: Vec<Value> = rows.iter().map(as_json).collect();
        let refused: Vec<Value> = workplace.settings.refused().iter().map(refused_as_json).collect();
        let service = service_as_json(workplace);
        return paper.json("flags", json!({ "settings": rows, "refused": refused, "service": service }));
    }
    for row in rows {
        let tone = if row.origin == Source::Default { Tone::Faint } else { Tone::Active };
        let value = if row.value.is_empty() { "–".into() } else { shown(&row.value) };
        let origin = paper.ink.paint(tone, row.origin.name());
        paper.line(&format!("{:<32} {:<24} {origin}", shown(&row.key), value))?;
        if let Some(file) = &row.file {
            paper.line(&format!("    {}", paper.ink.paint(tone, &shown_path(file))))?;
        }
    }
    for (one, holds) in workplace.settings.refused() {
        let file = one.file.as_deref().map(shown_path).unwrap_or_default();
        let holds = if holds.is_empty() { "–".into() } else { shown(&holds) };
        paper.line(&format!("{:<32} {:<24} refused", shown(&one.key), shown(&one.value)))?;
        paper.line(&format!("    {} {file}: {}; {holds} holds", one.source.name(), shown(&one.why)))?;
    }
    paper.line(&format!("{:<32} {}", "service in force", shown(&service_in_words(workplace))))
}

/// Where requests go, by whose word, and with which key.
fn service_in_words(workplace: &Workplace) -> String {
    match Route::of(workplace) {
        Ok(Some(route)) => route.words(),
        Ok(None) => "none: offline".to_owned(),
        Err(failure) => failure.to_string(),
    }
}

fn service_as_json(workplace: &Workplace) -> Value {
    let Ok(Some(route)) = Route::of(workplace) else { return Value::Null };
    json!({
        "provider": route.destination.provider.to_string(),
        "base_url": route.destination.base_url,
        "base_url_from": route.address_from,
        "key": route.key.map(|(name, _)| name),
        "key_from": route.key.map(|(_, place)| place),
    })
}

fn refused_as_json((one, holds): &(&Refused, String)) -> Value {
    json!({
        "key": one.key,
        "value": one.value,
        "origin": one.source.name(),
        "file": one.file,
        "because": one.why,
        "holds": holds,
    })
}

/// The values that somebody set.
pub(super) fn show(workplace: &Workplace, paper: &Paper) -> Result<(), Failure> {
    let rows: Vec<Row> = workplace.settings.rows().into_iter().filter(|row| row.origin != Source::Default).collect();
    if paper.form == Form::Json {
        let rows: Vec<Value> = rows.iter().map(as_json).collect();
        return paper.json("config", json!({ "settings": rows, "service": service_as_json(workplace) }));
    }
    if rows.is_empty() {
        paper.talk("nothing is set; every value is the default (`scrubjay flags` lists them)");
    }
    for row in rows {
        paper.line(&format!("{} = {}", shown(&row.key), shown(&row.value)))?;
    }
    paper.talk(&format!("service: {}", shown(&service_in_words(workplace))));
    Ok(())
}

fn as_json(row: &Row) -> Value {
    json!({
        "key": row.key,
        "value": row.value,
        "origin": row.origin.name(),
        "file": row.file,
        "environment": row.environment,
        "meaning": row.meaning,
    })
}
