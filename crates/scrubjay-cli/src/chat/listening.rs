//! While the person types: what happens meanwhile is shown above the line, and nobody waits for an answer unheard.

use super::agents::Following;
use super::keyboard::{Purpose, Typed};
use super::questions::told;
use super::{AGAIN, Chat, is_second};
use crate::failure::Failure;
use crate::happening::Happening;
use crate::paper::unwritten;
use std::pin::pin;
use std::time::Duration;

/// How often something that is followed, or the line about agents, is looked at.
pub(super) const LOOK: Duration = Duration::from_millis(250);

impl Chat {
    /// A line from the person.
    pub(super) async fn listen(
        &mut self,
        prompt: &str,
        purpose: Purpose,
        mut following: Option<Following>,
    ) -> Result<Typed, Failure> {
        let mut look = tokio::time::interval(LOOK);
        let moment = Duration::from_millis(self.seat.workplace.limits.second_interrupt_ms);
        let typed = {
            let mut reading = pin!(self.keyboard.read(prompt, purpose));
            loop {
                let lines = tokio::select! {
                    typed = &mut reading => break typed,
                    Some(happening) = self.happenings.recv() => match happening {
                        Happening::Event(event) => {
                            told(&mut self.questions, &self.screen, &event, &self.seat.workplace.limits)
                        }
                        Happening::Question(request, reply) => {
                            self.waiting.push((request, reply));
                            vec!["an agent asks for your permission: press Enter to hear it".to_owned()]
                        }
                    },
                    // The key comes as a signal as long as nobody reads, in the moment between two lines for example.
                    _ = self.ctrl_c.recv(), if purpose == Purpose::Question => {
                        if is_second(&mut self.interrupted, moment) {
                            self.keyboard.give_back();
                            break Typed::End;
                        }
                        vec![AGAIN.to_owned()]
                    }
                    _ = look.tick(), if following.is_some() => {
                        following.iter_mut().flat_map(Following::news).collect()
                    }
                };
                for line in lines.into_iter().filter(|line| !line.is_empty()) {
                    if !self.keyboard.print(&line) {
                        self.screen.line(&line).map_err(unwritten)?;
                    }
                }
            }
        };
        if let Typed::Line(_) = typed {
            self.hear_who_waits().await?;
        }
        Ok(typed)
    }

    async fn hear_who_waits(&mut self) -> Result<(), Failure> {
        let Some(interrupt) = self.session.as_ref().map(scrubjay::Session::interrupt) else { return Ok(()) };
        for (request, reply) in std::mem::take(&mut self.waiting) {
            let consent = self.consent(&request, &interrupt).await?;
            // Whoever asked may have been stopped meanwhile.
            reply.send(consent).unwrap_or_default();
        }
        Ok(())
    }
}
