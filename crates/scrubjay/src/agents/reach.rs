//! How far an agent reaches: never further than whoever started it. Its gate asks that one's gate, and may only add a no.

use super::worktree::Worktree;
use crate::gate::{Approval, Gate, Verdict};
use crate::tool::Effect;
use std::path::{Path, PathBuf};

/// What narrows an agent, and what is its own.
#[derive(Debug, Clone, Default)]
pub struct Reach {
    /// It changes nothing but its own memory.
    pub reads_only: bool,
    /// It starts no agents.
    pub alone: bool,
    /// Its own memory: what is written there can be taken back, so that nobody is asked.
    pub memory: Option<PathBuf>,
    /// Tools that it has for the sake of its memory alone.
    pub for_memory: Vec<String>,
    /// The main memory, which is not its own.
    pub main_memory: Option<PathBuf>,
    /// The worktree that it works in.
    pub worktree: Option<Worktree>,
}

impl Reach {
    /// The gate of an agent that was started from behind this one.
    pub fn gate(self, parent: Gate) -> Gate {
        let (name, reads_only, above) = (parent.name().to_owned(), self.reads_only, parent.clone());
        Gate::new(move |tool, effect| self.decide(tool, effect, &parent)).named(&name).confining(
            move |tool, effect, approval| {
                (reads_only && approval == Approval::NotNeeded) || above.confines(tool, effect, approval)
            },
        )
    }

    fn decide(&self, tool: &str, effect: &Effect, parent: &Gate) -> Verdict {
        let no = |why: &str| Verdict::Deny(why.to_owned());
        if self.is_own(effect) {
            return match parent.decide(tool, effect) {
                Verdict::Ask => Verdict::Allow,
                verdict => verdict,
            };
        }
        match effect {
            _ if self.for_memory.iter().any(|name| name == tool) && !matches!(effect, Effect::Reads(_)) => {
                no("this agent may use this tool in its own memory directory only")
            }
            Effect::Summons if self.alone => no("this agent cannot start another agent; do the work yourself"),
            Effect::Writes(path) if self.is_main_memory(path) => {
                no("the main memory is not an agent's to change; put what should be remembered into the report")
            }
            effect if self.reads_only && !(effect.is_read_only() || *effect == Effect::Summons) => {
                no("this agent only reads; say in the report what should be changed")
            }
            effect => parent.decide(tool, &self.original(effect)),
        }
    }

    /// Everything the call touches lies in the agent's own memory.
    fn is_own(&self, effect: &Effect) -> bool {
        let Some(own) = &self.memory else { return false };
        match effect {
            Effect::Reads(paths) => !paths.is_empty() && paths.iter().all(|path| path.starts_with(own)),
            Effect::Writes(path) => path.starts_with(own),
            _ => false,
        }
    }

    fn is_main_memory(&self, path: &Path) -> bool {
        self.main_memory.as_ref().is_some_and(|main| path.starts_with(main))
    }

    /// A worktree stands for the tree it was made from: what may be done there may be done here.
    fn original(&self, effect: &Effect) -> Effect {
        let Some(worktree) = &self.worktree else { return effect.clone() };
        let there = |path: &PathBuf| worktree.original(path).unwrap_or_else(|| path.clone());
        match effect {
            Effect::Reads(paths) => Effect::Reads(paths.iter().map(there).collect()),
            Effect::Writes(path) => Effect::Writes(there(path)),
            other => other.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(reach: &Reach, tool: &str, effect: Effect, parent: Verdict) -> Verdict {
        reach.clone().gate(Gate::new(move |_, _| parent.clone())).decide(tool, &effect)
    }

    // spec: A3
    #[test]
    fn an_agent_may_never_do_what_its_caller_may_not() {
        let own = PathBuf::from("/memory/reviewer");
        let reach = Reach { memory: Some(own.clone()), ..Reach::default() };
        let narrow = Reach { reads_only: true, alone: true, for_memory: vec!["Write".into()], ..reach.clone() };
        let effects = [
            Effect::Nothing,
            Effect::Reads(vec!["/p/a".into()]),
            Effect::Writes("/p/a".into()),
            Effect::Writes(own.join("a.md")),
            Effect::Runs { command: "rm x".into(), reads_only: false },
            Effect::Reaches("example.org".into()),
            Effect::Summons,
        ];
        for reach in [Reach::default(), reach.clone(), narrow.clone()] {
            for effect in &effects {
                let denied = verdict(&reach, "Write", effect.clone(), Verdict::Deny("no".into()));
                assert!(matches!(denied, Verdict::Deny(_)), "{effect:?}");
                let asked = verdict(&reach, "Write", effect.clone(), Verdict::Ask);
                let in_memory = *effect == Effect::Writes(own.join("a.md")) && reach.memory.is_some();
                assert_eq!(asked == Verdict::Allow, in_memory, "{effect:?}: only its own memory is free");
            }
        }
        let allowed = |reach: &Reach, effect| verdict(reach, "Write", effect, Verdict::Allow) == Verdict::Allow;
        assert!(allowed(&reach, Effect::Writes("/p/a".into())) && !allowed(&narrow, Effect::Writes("/p/a".into())));
        assert!(!allowed(&narrow, Effect::Summons) && allowed(&narrow, Effect::Writes(own.join("b.md"))));
        let main = Reach { main_memory: Some("/main".into()), ..Reach::default() };
        assert!(!allowed(&main, Effect::Writes("/main/a.md".into())) && allowed(&main, Effect::Writes("/p".into())));
    }
}
