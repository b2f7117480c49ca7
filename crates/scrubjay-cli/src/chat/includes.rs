//! Asking, once, about files outside of the project that its instruction files name.

use super::Chat;
use super::keyboard::{Purpose, Typed};
use crate::failure::Failure;
use crate::instructed;
use crate::paper::{Tone, unwritten};
use scrubjay::instructions::{Answer, Waiting};
use scrubjay::tools::shown_path;

impl Chat {
    /// Before a session begins. Whoever does not answer is asked again next time.
    pub(super) async fn ask_about_includes(&mut self) -> Result<(), Failure> {
        loop {
            let loaded = instructed::approved(&self.seat.workplace, self.seat.includes)?;
            let mut answers = Vec::new();
            for waiting in &loaded.waiting {
                let Some(answer) = self.ask_about(waiting).await? else { break };
                answers.push((waiting.path.clone(), answer));
            }
            let answered = answers.len() == loaded.waiting.len() && !answers.is_empty();
            if !answers.is_empty() {
                instructed::remember(&self.seat.workplace, &answers)?;
            }
            if !answered {
                return loaded
                    .warnings
                    .iter()
                    .try_for_each(|warning| self.screen.aside(Tone::Warning, warning).map_err(unwritten));
            }
        }
    }

    async fn ask_about(&mut self, waiting: &Waiting) -> Result<Option<Answer>, Failure> {
        let (by, path) = (shown_path(&waiting.by), shown_path(&waiting.path));
        let question = format!("{by} includes {path}, which lies outside of this project");
        self.screen.aside(Tone::Warning, &question).map_err(unwritten)?;
        let typed = self.keyboard.read("  include it, now and later? y = yes · n = no › ", Purpose::Answer).await;
        Ok(match typed {
            Typed::Line(line) if ["y", "yes"].contains(&line.trim().to_lowercase().as_str()) => Some(Answer::Approved),
            Typed::Line(line) if ["n", "no"].contains(&line.trim().to_lowercase().as_str()) => Some(Answer::Declined),
            Typed::Line(_) | Typed::Interrupted | Typed::End => None,
        })
    }
}
