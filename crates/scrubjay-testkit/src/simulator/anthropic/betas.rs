//! The beta names that the API knows.

/// Values of the `anthropic-beta` header that are accepted; any other is refused.
pub(super) const KNOWN: &[&str] = &[
    "advisor-tool-2026-03-01",
    "agent-memory-2026-07-22",
    "cache-diagnosis-2026-04-07",
    "claude-code-20250219",
    "code-execution-2025-05-22",
    "compact-2026-01-12",
    "compact-2026-09-04",
    "computer-use-2025-01-24",
    "computer-use-2025-11-24",
    "context-1m-2025-08-07",
    "context-management-2025-06-27",
    "dev-full-thinking-2025-05-14",
    "dreaming-2026-04-21",
    "extended-cache-ttl-2025-04-11",
    "fallback-credit-2026-07-01",
    "fast-mode-2026-02-01",
    "files-api-2025-04-14",
    "fine-grained-tool-streaming-2025-05-14",
    "inline-tools-2026-09-15",
    "interleaved-thinking-2025-05-14",
    "managed-agents-2026-04-01",
    "mcp-client-2025-11-20",
    "mcp-client-2026-09-15",
    "message-batches-2024-09-24",
    "message-threads-2026-08-12",
    "mid-conversation-output-config-2026-07-01",
    "mid-conversation-system-clear-at-2026-08-21",
    "mid-conversation-tool-changes-2026-07-01",
    "model-context-window-exceeded-2025-08-26",
    "oauth-2025-04-20",
    "output-128k-2025-02-19",
    "output-300k-2026-03-24",
    "pdfs-2024-09-25",
    "prompt-caching-2024-07-31",
    "server-side-fallback-2026-07-01",
    "skills-2025-10-02",
    "structured-outputs-2025-11-13",
    "task-budgets-2026-03-13",
    "thinking-binding-controls-2026-08-01",
    "thinking-display-updates-2026-08-18",
    "thinking-token-count-2026-05-13",
    "token-counting-2024-11-01",
    "token-efficient-tools-2025-02-19",
];

pub(super) const CLEARING: &str = "context-management-2025-06-27";
pub(super) const COMPACTION: &str = "compact-2026-09-04";
pub(super) const THRESHOLD_COMPACTION: &str = "compact-2026-01-12";
pub(super) const DIAGNOSIS: &str = "cache-diagnosis-2026-04-07";
pub(super) const BINDING: &str = "thinking-binding-controls-2026-08-01";
pub(super) const CLEAR_AT: &str = "mid-conversation-system-clear-at-2026-08-21";
