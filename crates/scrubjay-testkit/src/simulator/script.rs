//! The script: which reply each request gets.
//!
//! A request is held against the matchers first, in the order they were written; then it takes the next reply of the
//! list; then whatever [`Script::otherwise`] says. A request that the simulator refuses by itself (validation, prompt too
//! long, a wrong key) uses nothing of the script. Closures see the request alone; they must not call the simulator.

use super::recorded::RecordedRequest;
use super::reply::Reply;
use std::collections::VecDeque;

type Matcher = Box<dyn Fn(&RecordedRequest) -> bool + Send>;
type Answer = Box<dyn FnMut(&RecordedRequest) -> Reply + Send>;

/// What the simulated model will say.
#[derive(Default)]
pub struct Script {
    matchers: Vec<(Matcher, Answer)>,
    list: VecDeque<Answer>,
    otherwise: Option<Answer>,
    paths: Vec<(String, Reply)>,
}

impl Script {
    /// An empty script: every request is an error until something is added.
    pub fn new() -> Self {
        Self::default()
    }

    /// A script that says back what the last user message said.
    pub fn echo() -> Self {
        Self::new().otherwise_with(|request| Reply::from(request.last_user_text()))
    }

    /// The next reply of the list, used once.
    pub fn reply(self, reply: impl Into<Reply>) -> Self {
        let mut reply = Some(reply.into());
        self.answer(move |_| reply.take().unwrap_or_else(|| Reply::from("")))
    }

    /// The next reply of the list, computed from the request, used once.
    pub fn answer(mut self, answer: impl FnMut(&RecordedRequest) -> Reply + Send + 'static) -> Self {
        self.list.push_back(Box::new(answer));
        self
    }

    /// The same reply whenever a request matches, as often as it does; the list is not used for it.
    pub fn when(self, matches: impl Fn(&RecordedRequest) -> bool + Send + 'static, reply: impl Into<Reply>) -> Self {
        let reply = reply.into();
        self.when_with(matches, move |_| reply.clone())
    }

    /// A computed reply whenever a request matches.
    pub fn when_with(
        mut self,
        matches: impl Fn(&RecordedRequest) -> bool + Send + 'static,
        answer: impl FnMut(&RecordedRequest) -> Reply + Send + 'static,
    ) -> Self {
        self.matchers.push((Box::new(matches), Box::new(answer)));
        self
    }

    /// The same reply once the list is used up.
    pub fn otherwise(self, reply: impl Into<Reply>) -> Self {
        let reply = reply.into();
        self.otherwise_with(move |_| reply.clone())
    }

    /// A computed reply once the list is used up.
    pub fn otherwise_with(mut self, answer: impl FnMut(&RecordedRequest) -> Reply + Send + 'static) -> Self {
        self.otherwise = Some(Box::new(answer));
        self
    }

    /// A fault for every request to one path, such as a `count_tokens` that is not there. Nothing else is looked at.
    pub fn at_path(mut self, path: impl Into<String>, fault: Reply) -> Self {
        self.paths.push((path.into(), fault));
        self
    }

    /// How many replies of the list are left.
    pub fn left(&self) -> usize {
        self.list.len()
    }

    pub(super) fn push(&mut self, reply: Reply) {
        let mut reply = Some(reply);
        self.list.push_back(Box::new(move |_| reply.take().unwrap_or_else(|| Reply::from(""))));
    }

    pub(super) fn fault_at(&self, path: &str) -> Option<Reply> {
        self.paths.iter().find(|(known, _)| known == path).map(|(_, reply)| reply.clone())
    }

    pub(super) fn next(&mut self, request: &RecordedRequest) -> Option<Reply> {
        if let Some((_, answer)) = self.matchers.iter_mut().find(|(matches, _)| matches(request)) {
            return Some(answer(request));
        }
        if let Some(mut answer) = self.list.pop_front() {
            return Some(answer(request));
        }
        self.otherwise.as_mut().map(|answer| answer(request))
    }
}

impl std::fmt::Debug for Script {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Script")
            .field("matchers", &self.matchers.len())
            .field("left", &self.left())
            .finish_non_exhaustive()
    }
}
