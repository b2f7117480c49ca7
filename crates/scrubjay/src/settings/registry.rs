//! The table of every setting: what it takes, what it is without one, what else it is called, and who may set it.

use std::ops::RangeInclusive;

/// What a setting takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// True or false.
    Flag,
    /// A whole number.
    Number(RangeInclusive<u64>),
    /// Any text.
    Text,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Tokens, or a percentage.
    Amount,
    /// Texts; every source adds to them.
    List,
    /// A table with its own shape; lists in it are joined over all sources.
    Table,
}

/// Who may set it. A repository brings its own settings along, so it may only narrow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// Every source.
    Anyone,
    /// Every source, but a repository only to switch it off.
    Narrow,
    /// Every source but a repository: what costs money, forgets, or guards the user.
    NotRepository,
    /// Managed, user, environment and command line: what decides where data goes and what is run.
    UserOnly,
    /// Environment and command line: it must be known before any file is read, or is about this one run.
    Process,
}

/// When a change is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// At once.
    AtOnce,
    /// It changes request bytes: once per session, again at `/clear` and at compaction.
    OncePerSession,
}

/// What a setting is when nobody says anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unset {
    /// On or off.
    Flag(bool),
    /// This many.
    Number(u64),
    /// This text; empty means none.
    Text(&'static str),
    /// Nothing in it.
    Empty,
}

/// One row of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Its name in a settings file.
    pub key: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// What it is without one.
    pub default: Unset,
    /// Its name in the environment, then other names people may have set already.
    pub environment: &'static [&'static str],
    /// The names in the environment say the opposite (`…_DISABLE_…`).
    pub inverted: bool,
    /// Other names in a settings file.
    pub aliases: &'static [&'static str],
    /// Who may set it.
    pub trust: Trust,
    /// When a change is seen.
    pub seen: Seen,
    /// What it does, in a few words.
    pub meaning: &'static str,
}

impl Setting {
    const fn new(key: &'static str, kind: Kind, default: Unset, meaning: &'static str) -> Self {
        Self {
            key,
            kind,
            default,
            environment: &[],
            inverted: false,
            aliases: &[],
            trust: Trust::Anyone,
            seen: Seen::AtOnce,
            meaning,
        }
    }

    const fn environment(mut self, names: &'static [&'static str]) -> Self {
        self.environment = names;
        self
    }

    const fn disabled_by(mut self, names: &'static [&'static str]) -> Self {
        self.environment = names;
        self.inverted = true;
        self
    }

    const fn aliases(mut self, names: &'static [&'static str]) -> Self {
        self.aliases = names;
        self
    }

    const fn user_only(mut self) -> Self {
        self.trust = Trust::UserOnly;
        self
    }

    const fn process(mut self) -> Self {
        self.trust = Trust::Process;
        self
    }

    const fn narrows(mut self) -> Self {
        self.trust = Trust::Narrow;
        self
    }

    const fn not_repository(mut self) -> Self {
        self.trust = Trust::NotRepository;
        self
    }

    const fn once_per_session(mut self) -> Self {
        self.seen = Seen::OncePerSession;
        self
    }
}

const fn flag(key: &'static str, default: bool, meaning: &'static str) -> Setting {
    Setting::new(key, Kind::Flag, Unset::Flag(default), meaning)
}

const fn text(key: &'static str, default: &'static str, meaning: &'static str) -> Setting {
    Setting::new(key, Kind::Text, Unset::Text(default), meaning)
}

const fn choice(key: &'static str, words: &'static [&'static str], meaning: &'static str) -> Setting {
    Setting::new(key, Kind::Choice(words), Unset::Text(words[0]), meaning)
}

const fn list(key: &'static str, meaning: &'static str) -> Setting {
    Setting::new(key, Kind::List, Unset::Empty, meaning)
}

const fn table(key: &'static str, meaning: &'static str) -> Setting {
    Setting::new(key, Kind::Table, Unset::Empty, meaning)
}

macro_rules! settings {
    ($( $name:ident = $row:expr; )*) => {
        /// Every setting by name, to ask [`Settings`](super::Settings) for.
        pub mod key {
            use super::*;
            $( #[doc = concat!("The setting `", stringify!($name), "` of the table.")]
               pub static $name: Setting = $row; )*
        }

        /// The whole table, in reading order. Limits have a table of their own.
        pub static SETTINGS: &[&Setting] = &[$( &key::$name ),*];
    };
}

macro_rules! layer {
    ($name:literal, $env:literal, $default:literal, $meaning:literal) => {
        flag(concat!("layers.", $name), $default, $meaning)
            .environment(&[concat!("SCRUBJAY_LAYER_", $env)])
            .narrows()
            .once_per_session()
    };
}

settings! {
    HOME = text("home", "", "one folder for everything").environment(&["SCRUBJAY_HOME"]).process();
    BARE = flag("bare", false, "no recall, notes, extraction, dreaming, agents or hooks").environment(&["SCRUBJAY_SIMPLE", "CLAUDE_CODE_SIMPLE"]).process().once_per_session();
    REMOTE = flag("remote", false, "the session runs on a machine that will not be kept").environment(&["SCRUBJAY_REMOTE", "CLAUDE_CODE_REMOTE"]).process().once_per_session();
    REMOTE_MEMORY_DIRECTORY = text("remote_memory_directory", "", "where memory lies in remote mode").environment(&["SCRUBJAY_REMOTE_MEMORY_DIR", "CLAUDE_CODE_REMOTE_MEMORY_DIR"]).process().once_per_session();
    REMOTE_FLAGS = text("remote_flags", "", "file or URL of remote flags; none are read without it").environment(&["SCRUBJAY_REMOTE_FLAGS"]).user_only();

    MEMORY_ENABLED = flag("memory.enabled", true, "long-term memory").disabled_by(&["SCRUBJAY_DISABLE_AUTO_MEMORY", "CLAUDE_CODE_DISABLE_AUTO_MEMORY"]).aliases(&["autoMemoryEnabled"]).narrows().once_per_session();
    MEMORY_PATH_OVERRIDE = text("memory.path_override", "", "the memory directory, whole path, before everything else").environment(&["SCRUBJAY_MEMORY_PATH_OVERRIDE", "CLAUDE_COWORK_MEMORY_PATH_OVERRIDE"]).process().once_per_session();
    MEMORY_DIRECTORY = text("memory.directory", "", "the memory directory").aliases(&["autoMemoryDirectory", "memory_dir", "storage.memory_dir"]).user_only().once_per_session();
    MEMORY_EXTRA_GUIDELINES = text("memory.extra_guidelines", "", "text added to the memory prompt").environment(&["SCRUBJAY_MEMORY_EXTRA_GUIDELINES", "CLAUDE_COWORK_MEMORY_EXTRA_GUIDELINES"]).user_only().once_per_session();

    TOOL_RESULTS = layer!("tool_results", "TOOL_RESULTS", true, "layer 1: large tool results go to disk");
    MICROCOMPACTION_TIME = layer!("microcompaction_time", "MICROCOMPACTION_TIME", true, "layer 2: clear old results when it pays, mostly because the cache is certainly cold");
    MICROCOMPACTION_CACHED = layer!("microcompaction_cached", "MICROCOMPACTION_CACHED", false, "layer 2: drop old results from the cached prefix");
    MICROCOMPACTION_API = layer!("microcompaction_api", "MICROCOMPACTION_API", true, "layer 2: ask the provider to clear, where it can; without a word of yours only where thinking is bound");
    MICROCOMPACTION_THINKING = layer!("microcompaction_thinking", "MICROCOMPACTION_THINKING", false, "layer 2: ask the provider to drop old thinking, where it can");
    SESSION_NOTES = layer!("session_notes", "SESSION_NOTES", true, "layer 3: a running summary of the session");
    NOTES_COMPACTION = layer!("notes_compaction", "NOTES_COMPACTION", true, "layer 3: compact from the notes, without a model");
    COMPACTION = layer!("compaction", "COMPACTION", true, "layer 4: summarise when the window is nearly full").aliases(&["autoCompactEnabled"]);
    COLLAPSE = layer!("collapse", "COLLAPSE", false, "fold old rounds into one line each instead of compacting");
    SNIP = layer!("snip", "SNIP", false, "let the person and the model take questions out");
    RECALL = layer!("recall", "RECALL", true, "bring back memories that fit the question");
    MODEL_RECALL = layer!("model_recall", "MODEL_RECALL", false, "a small model chooses among memories; on where one is set");
    SKIP_INDEX = layer!("skip_index", "SKIP_INDEX", false, "keep memories without an index");
    SEARCH_PAST_CONTEXT = layer!("search_past_context", "SEARCH_PAST_CONTEXT", false, "teach the model to search old sessions");
    EXTRACTION = layer!("extraction", "EXTRACTION", true, "layer 5: save what a session taught");
    EXTRACTION_HEADLESS = layer!("extraction_headless", "EXTRACTION_HEADLESS", false, "layer 5 in print mode too");
    DREAMING = layer!("dreaming", "DREAMING", true, "layer 6: tidy the memory now and then").aliases(&["autoDreamEnabled"]);
    AGENTS = layer!("agents", "AGENTS", true, "layer 7: sub-agents and their letters");
    AGENT_SUMMARY = layer!("agent_summary", "AGENT_SUMMARY", true, "a few words about what each agent is doing");
    TEAM = layer!("team", "TEAM", false, "share some memories with a team");
    DAILY_LOG = layer!("daily_log", "DAILY_LOG", false, "log as one works, distil at night");

    EMBEDDINGS = text("recall.embeddings", "", "find by meaning too: the URL of a service that makes vectors of texts, or a folder with a local model for it").environment(&["SCRUBJAY_EMBEDDINGS"]).user_only();
    EMBEDDING_MODEL = text("recall.embedding_model", "", "the model of that service").environment(&["SCRUBJAY_EMBEDDING_MODEL"]).user_only();
    EXTRACTION_EVERY_TURNS = Setting::new("extraction.every_turns", Kind::Number(1..=1_000), Unset::Number(1), "extract after every so many turns").environment(&["SCRUBJAY_EXTRACTION_EVERY_TURNS"]).not_repository();
    EXTRACTION_READER = choice("extraction.reader", &["user", "fork"], "who looks for memories: a learner that reads what the user typed, or a fork that reads everything, whose memories wait for the user").environment(&["SCRUBJAY_EXTRACTION_READER"]).user_only();
    EXTRACTION_MODEL = text("models.extract", "", "the model that learns; without one the cheapest of the same provider").environment(&["SCRUBJAY_MODEL_EXTRACT"]).user_only();
    DREAMING_MODE = choice("dreaming.mode", &["additive", "propose", "auto"], "what a dream does by itself: everything but removing memories, nothing, or that too").environment(&["SCRUBJAY_DREAMING_MODE"]).user_only();
    CONTEXT_POLICY = choice("context.policy", &["faithful", "economy"], "what comes first when a conversation is shortened: what it says, or what it costs").environment(&["SCRUBJAY_CONTEXT_POLICY"]).not_repository().once_per_session();
    CONTEXT_COMPACT_AT = Setting::new("context.compact_at", Kind::Amount, Unset::Text(""), "compact here and not only just below the window: tokens, or percent of the effective window").environment(&["SCRUBJAY_CONTEXT_COMPACT_AT"]).once_per_session();
    CONTEXT_WINDOW = Setting::new("context.window", Kind::Number(20_000..=100_000_000), Unset::Number(0), "use only this much of the model's window, in tokens").environment(&["SCRUBJAY_CONTEXT_WINDOW"]).once_per_session();
    NOTES_WRITER = choice("session_notes.writer", &["auto", "model", "code"], "who writes the session notes: the model before a compaction comes near and code until then, or always one of them").environment(&["SCRUBJAY_SESSION_NOTES_WRITER"]).not_repository();
    MICROCOMPACTION_WHEN = choice("microcompaction.when", &["pays", "fixed_gap"], "clear when it pays, or after a fixed gap").environment(&["SCRUBJAY_MICROCOMPACTION_WHEN"]).not_repository();

    PROVIDER = text("provider", "", "which service answers; none is offline").environment(&["SCRUBJAY_PROVIDER"]).user_only().once_per_session();
    BASE_URL = text("base_url", "", "where that service is").environment(&["SCRUBJAY_BASE_URL"]).user_only().once_per_session();
    BETAS = list("betas", "betas that requests of the Messages dialect name").environment(&["SCRUBJAY_BETAS", "ANTHROPIC_BETAS"]).user_only().once_per_session();
    MODEL_WINDOW = Setting::new("model_window", Kind::Number(0..=100_000_000), Unset::Number(0), "how many tokens a model holds that no table knows; 0 asks its service").environment(&["SCRUBJAY_MODEL_WINDOW"]).not_repository().once_per_session();
    API_KEY_COMMAND = text("api_key_command", "", "a command that prints the key").environment(&["SCRUBJAY_API_KEY_COMMAND"]).aliases(&["apiKeyHelper"]).user_only();
    MODEL = text("model", "", "the model that answers").environment(&["SCRUBJAY_MODEL"]).once_per_session();
    SMALL_MODEL = text("small_model", "", "a cheap model for choices and labels").environment(&["SCRUBJAY_SMALL_MODEL"]).not_repository();
    MODEL_FOR_SELECTING = text("models.select", "", "the model that chooses among memories; small_model without one").environment(&["SCRUBJAY_MODEL_SELECT"]).not_repository();
    THINKING = choice("thinking", &["auto", "off", "on"], "whether the model reasons before it answers").environment(&["SCRUBJAY_THINKING"]).once_per_session().not_repository();
    CACHE_TTL = choice("cache_ttl", &["auto", "5m", "1h"], "how long the provider keeps the prefix; auto goes by price").environment(&["SCRUBJAY_CACHE_TTL"]).once_per_session().not_repository();

    PERMISSION_MODE = choice("permission_mode", &["ask", "accept-edits", "read-only", "allow-all", "plan"], "what the agent may do without asking").environment(&["SCRUBJAY_PERMISSION_MODE"]).aliases(&["permissions.defaultMode"]).user_only();
    PERMISSIONS_ALLOW = list("permissions.allow", "calls that need no question").user_only();
    PERMISSIONS_ASK = list("permissions.ask", "calls that always need a question");
    PERMISSIONS_DENY = list("permissions.deny", "calls that are refused");
    SANDBOX_MODE = choice("sandbox.mode", &["read-only", "workspace-write", "off"], "what commands are confined to").environment(&["SCRUBJAY_SANDBOX"]).user_only();
    SANDBOX_WRITE = list("sandbox.write", "more folders that commands may change with workspace-write").user_only();
    HOOKS_ENABLED = flag("hooks_enabled", true, "run configured hooks").environment(&["SCRUBJAY_HOOKS_ENABLED"]).not_repository();
    HOOKS = table("hooks", "commands that run at named moments").user_only();

    ENV_PASS = list("env.pass", "variables with keys that commands and hooks get all the same").user_only();

    WEB_PRIVATE_ADDRESSES = flag("web.private_addresses", false, "let pages be fetched from private networks").environment(&["SCRUBJAY_WEB_PRIVATE_ADDRESSES"]).user_only();
}

/// What bare mode turns off.
pub(super) static OFF_IN_BARE_MODE: &[&Setting] = &[
    &key::RECALL,
    &key::MODEL_RECALL,
    &key::SESSION_NOTES,
    &key::EXTRACTION,
    &key::EXTRACTION_HEADLESS,
    &key::DREAMING,
    &key::AGENTS,
    &key::AGENT_SUMMARY,
    &key::HOOKS_ENABLED,
];

/// The part of a key before a limit's name.
pub(super) const LIMITS: &str = "limits.";
/// The part of a key before a tool's name.
pub(super) const THRESHOLDS: &str = "tool_results.thresholds.";
/// Limits that are also known without their prefix.
pub(super) const BARE_LIMITS: &[&str] = &["max_output"];
