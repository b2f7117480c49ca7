//! What a model is asked: tools, system, instructions, history, in cache order.

use crate::message::Message;
use crate::transcript::{Options, ToolSpec};
use std::sync::Arc;

/// One request to a model. Two prompts of one lineage differ only at their end, unless a break was declared.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    /// What the model can call.
    pub tools: Arc<[ToolSpec]>,
    /// Who the model is.
    pub system: Arc<str>,
    /// What every conversation here begins with.
    pub instructions: Vec<Arc<Message>>,
    /// What was said.
    pub history: Vec<Arc<Message>>,
    /// What else the request asks for.
    pub options: Options,
}
