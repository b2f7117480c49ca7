//! Every word said to a model, one file each, and a typed function for those with gaps to fill.

/// Answers a call whose real answer never came.
pub const LOST_RESULT: &str = include_str!("../prompts/lost-result.md");
/// Answers a call that the person interrupted.
pub const INTERRUPTED: &str = include_str!("../prompts/interrupted.md");
/// Asks for the rest of a reply that was cut off.
pub const CONTINUE: &str = include_str!("../prompts/continue.md");
/// Answers calls that are still open where a fork begins; the same for every fork.
pub const FORK_PLACEHOLDER: &str = include_str!("../prompts/fork-placeholder.md");
/// Refuses a fork that wants to fork.
pub const FORK_CANNOT_FORK: &str = include_str!("../prompts/fork-cannot-fork.md");

/// Who the model is and where it works. Nothing in it changes within a session.
pub fn system(surroundings: &Surroundings) -> String {
    fill(
        include_str!("../prompts/system.md"),
        &[("dir", &surroundings.dir), ("platform", &surroundings.platform), ("git", &surroundings.git)],
    )
}

/// Where the agent works, found once at the start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// The working directory.
    pub dir: String,
    /// The operating system.
    pub platform: String,
    /// The state of the repository, or that there is none.
    pub git: String,
}

/// Today's date, told when it is not the date of the last message.
pub fn date(today: &str) -> String {
    fill(include_str!("../prompts/date.md"), &[("today", today)])
}

/// Text that a hook adds to the conversation.
pub fn hook_context(event: &str, text: &str) -> String {
    fill(include_str!("../prompts/hook-context.md"), &[("event", event), ("text", text)])
}

/// A command the person ran beside the conversation, and what it said.
pub fn ran_by_person(command: &str, output: &str) -> String {
    fill(include_str!("../prompts/ran-by-person.md"), &[("command", command), ("output", output)])
}

/// What the model sees of a tool result that was stored.
pub fn stored_result(size: &str, path: &str, how: &str, preview: &str) -> String {
    let values = [("size", size), ("path", path), ("how", how), ("preview", preview)];
    fill(include_str!("../prompts/stored-result.md"), &values)
}

/// What a fork is told.
pub fn errand(name: &str, directive: &str) -> String {
    fill(include_str!("../prompts/errand.md"), &[("name", name), ("directive", directive)])
}

/// Replace `{{name}}` in a single pass: a value that itself contains `{{…}}` stays as it is.
pub fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(template.len());
    let mut rest = template.trim_end();
    while let Some(start) = rest.find("{{") {
        let (before, gap) = rest.split_at(start);
        out.push_str(before);
        let value = gap.find("}}").and_then(|end| {
            let name = gap[2..end].trim();
            values.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value, end + 2))
        });
        match value {
            Some((value, end)) => {
                out.push_str(value);
                rest = &gap[end..];
            }
            None => {
                out.push_str("{{");
                rest = &gap[2..];
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_filled_once() {
        assert_eq!(fill("a {{x}} {{ y }} {{z}} {{", &[("x", "{{y}} $1"), ("y", "2")]), "a {{y}} $1 2 {{z}} {{");
    }

    #[test]
    fn what_the_model_is_told_at_the_start() {
        let told = system(&Surroundings {
            dir: "/work/project".into(),
            platform: "linux".into(),
            git: "a git repository, branch main".into(),
        });
        insta::assert_snapshot!(told);
    }
}
