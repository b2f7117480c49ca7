//! The hands: what a model can do to the world, one file a tool.

pub mod edit;
pub mod glob;
pub mod grep;
pub mod looking;
pub mod plan;
pub mod read;
pub mod remember;
pub mod shell;
pub mod skill;
pub mod tasks;
pub mod write;

mod file;
mod handles;
pub(crate) mod input;
mod keeper;
mod place;
mod picture;
mod shown;
mod walk;

pub(crate) use file::{explain, load_from, load_resolved, open_resolved};
pub use keeper::{Keeper, Kept, Replacement};
pub use place::resolve;
pub(crate) use place::resolve_as_system;
pub use shown::{shown, shown_path};
pub(crate) use walk::{Hidden, files};

use crate::limits::Limits;
use crate::tool::Tool;
use crate::withheld::Withheld;
use std::path::PathBuf;
use std::sync::Arc;

/// The tools every session has, in the order the model is told about them. The order never changes: it is part of the
/// cached prefix. `skills` are the directories whose folders hold a `SKILL.md`, the most important first.
pub fn standard(skills: &[PathBuf], limits: &Limits) -> Vec<Arc<dyn Tool>> {
    kept_by(None, skills, limits)
}

/// The same, with a folder in which writing is somebody's business.
pub fn kept_by(keeper: Option<Arc<dyn Keeper>>, skills: &[PathBuf], limits: &Limits) -> Vec<Arc<dyn Tool>> {
    let mut tools: Vec<Arc<dyn Tool>> = vec![
        Arc::new(read::Read::new()),
        Arc::new(write::Write::kept_by(keeper.clone())),
        Arc::new(edit::Edit::kept_by(keeper.clone())),
        Arc::new(grep::Grep::new()),
        Arc::new(glob::Glob::new()),
        Arc::new(shell::Bash::new()),
        Arc::new(plan::Plan::new()),
        Arc::new(tasks::Tasks::new()),
    ];
    if let Some(keeper) = keeper {
        tools.push(Arc::new(remember::Remember::kept_by(keeper.clone())));
        tools.push(Arc::new(remember::Forget::kept_by(keeper)));
    }
    if let Some(skill) = skill::Skill::in_dirs(skills, limits) {
        tools.push(Arc::new(skill));
    }
    tools
}

/// The same tools, with a shell whose commands are confined and do not get these variables.
pub fn with_shell(
    mut tools: Vec<Arc<dyn Tool>>,
    confined: Option<&shell::sandbox::Confined>,
    withheld: &Withheld,
) -> Vec<Arc<dyn Tool>> {
    let shell = confined.cloned().map_or_else(shell::Bash::new, shell::Bash::confined);
    let shell: Arc<dyn Tool> = Arc::new(shell.withholding(withheld.clone()));
    for tool in tools.iter_mut().filter(|tool| tool.spec().name == shell.spec().name) {
        *tool = shell.clone();
    }
    tools
}

/// The first bytes of a regular file; nothing else is opened.
pub fn beginning(path: &std::path::Path, most: u64) -> std::io::Result<Vec<u8>> {
    file::load(path, most).map(|loaded| loaded.bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_fixed_and_every_tool_says_what_it_is_for() {
        let names: Vec<String> =
            standard(&[], &Limits::default()).iter().map(|tool| tool.spec().name.clone()).collect();
        assert_eq!(names, ["Read", "Write", "Edit", "Grep", "Glob", "Bash", "Plan", "Tasks"]);
        for tool in standard(&[], &Limits::default()) {
            let spec = tool.spec();
            assert!(spec.description.len() > 80 && !spec.description.ends_with('\n'), "{}", spec.name);
            let schema: serde_json::Value = serde_json::from_str(spec.input_schema.get()).unwrap();
            assert!(!spec.description.contains('#'), "{}", spec.description);
            for (field, about) in schema["properties"].as_object().unwrap() {
                assert!(about["description"].as_str().is_some_and(|text| text.len() > 8), "{} {field}", spec.name);
            }
            assert_eq!((&schema["type"], &schema["additionalProperties"]), (&"object".into(), &false.into()));
        }
    }
}
