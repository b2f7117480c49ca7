//! What the simulator knows about models: a small table, overridable row by row.

use serde_json::{Value, json};

/// Which thinking a model can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThinkingModes {
    /// A fixed budget only (`enabled`).
    Budget,
    /// A fixed budget or as much as needed.
    Both,
    /// As much as needed only (`adaptive`).
    Adaptive,
}

/// Which earlier thinking a model reads again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeptThinking {
    /// All of it.
    All,
    /// Only that of the turn in progress; older thinking is stripped from the prompt.
    LastTurn,
}

/// Whether thinking is bound to the exact conversation before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThinkingBinding {
    /// Edited history is refused, or costs the thinking.
    Bound,
    /// History can be edited.
    Free,
}

/// One model of the simulator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelRow {
    /// The name a request carries.
    pub id: String,
    /// Tokens it holds.
    pub window: u64,
    /// Tokens it writes at most.
    pub max_output: u64,
    /// Shortest prefix it caches, in tokens.
    pub min_cacheable: u64,
    /// Tokens it counts for what the plain rule counts as a hundred.
    pub scale_percent: u64,
    /// Which thinking can be asked for.
    pub thinking: ThinkingModes,
    /// Which earlier thinking it reads.
    pub kept_thinking: KeptThinking,
    /// Whether thinking is bound to its prefix.
    pub binding: ThinkingBinding,
    /// Whether `system` messages may stand in the conversation.
    pub system_messages: SystemMessages,
}

/// Whether a model takes `system` messages inside the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SystemMessages {
    /// It does.
    Supported,
    /// It refuses them.
    Refused,
}

impl ModelRow {
    /// A model with a window of 200,000 tokens and nothing special about it.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            window: 200_000,
            max_output: 64_000,
            min_cacheable: 1024,
            scale_percent: 100,
            thinking: ThinkingModes::Both,
            kept_thinking: KeptThinking::All,
            binding: ThinkingBinding::Free,
            system_messages: SystemMessages::Refused,
        }
    }

    /// With another window.
    pub fn window(self, tokens: u64) -> Self {
        Self { window: tokens, ..self }
    }

    /// With another shortest cacheable prefix.
    pub fn min_cacheable(self, tokens: u64) -> Self {
        Self { min_cacheable: tokens, ..self }
    }

    /// With another token scale, in percent.
    pub fn scale_percent(self, percent: u64) -> Self {
        Self { scale_percent: percent, ..self }
    }

    fn large(id: &str, min_cacheable: u64) -> Self {
        Self { window: 1_000_000, max_output: 128_000, min_cacheable, ..Self::new(id) }
    }

    /// The generation with its own tokenizer, adaptive thinking only, and system messages.
    fn newer(id: &str, min_cacheable: u64) -> Self {
        let row = Self::large(id, min_cacheable).scale_percent(130);
        Self { thinking: ThinkingModes::Adaptive, system_messages: SystemMessages::Supported, ..row }
    }

    fn bound(id: &str, min_cacheable: u64) -> Self {
        Self { binding: ThinkingBinding::Bound, ..Self::newer(id, min_cacheable) }
    }

    fn small(id: &str, min_cacheable: u64) -> Self {
        let row = Self::new(id).min_cacheable(min_cacheable);
        Self { thinking: ThinkingModes::Budget, kept_thinking: KeptThinking::LastTurn, ..row }
    }

    pub(super) fn hides_thinking(&self) -> bool {
        self.thinking == ThinkingModes::Adaptive
    }

    /// As `GET /v1/models/{id}` of the Messages API says it.
    pub(super) fn anthropic_json(&self) -> Value {
        let has = |supported: bool| json!({ "supported": supported });
        let adaptive = self.thinking != ThinkingModes::Budget;
        let budget = self.thinking != ThinkingModes::Adaptive;
        json!({
            "type": "model", "id": self.id, "display_name": self.id, "created_at": "2026-01-01T00:00:00Z",
            "lifecycle": "active", "line": null, "deprecated_at": null, "retires_at": null,
            "max_input_tokens": self.window, "max_tokens": self.max_output,
            "capabilities": {
                "batch": has(false), "citations": has(false), "code_execution": has(false),
                "context_management": {
                    "supported": true, "clear_thinking_20251015": has(true), "clear_tool_uses_20250919": has(true),
                    "compact_20260112": has(true)
                },
                "compaction": { "supported": true, "summarize": has(true) },
                "effort": { "supported": true, "low": has(true), "medium": has(true), "high": has(true),
                            "xhigh": has(true), "max": has(true) },
                "image_input": has(true), "pdf_input": has(true), "structured_outputs": has(true),
                "thinking": { "supported": true, "types": { "adaptive": has(adaptive), "enabled": has(budget),
                              "disabled": has(true), "between_tools": has(adaptive) } }
            }
        })
    }

    /// As `GET /v1/models/{id}` of the OpenAI APIs says it.
    pub(super) fn openai_json(&self) -> Value {
        json!({ "id": self.id, "object": "model", "created": 1_767_225_600, "owned_by": "simulator" })
    }
}

/// The models that are there when a test says nothing else.
pub fn default_models() -> Vec<ModelRow> {
    let older = |id: &str, min| ModelRow::large(id, min);
    let mut rows = vec![
        ModelRow::bound("claude-fable-5-1", 512),
        ModelRow::bound("claude-opus-5-5", 512),
        ModelRow::bound("claude-sonnet-5-5", 1024),
        ModelRow::bound("claude-haiku-5-5", 1024),
        ModelRow::newer("claude-fable-5", 512),
        ModelRow::newer("claude-opus-5", 512),
        ModelRow::newer("claude-opus-4-8", 1024),
        older("claude-opus-4-6", 4096),
        older("claude-sonnet-4-6", 1024),
        ModelRow::small("claude-sonnet-4-5", 1024),
        ModelRow::small("claude-haiku-4-5", 4096),
        ModelRow::new("gpt-5.6").window(400_000),
        ModelRow::new("gpt-5.6-mini").window(400_000),
    ];
    let refusing = ModelRow::newer("claude-sonnet-5", 1024);
    rows.push(ModelRow { system_messages: SystemMessages::Refused, ..refusing });
    rows
}
