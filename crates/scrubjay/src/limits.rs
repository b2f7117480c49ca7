//! Every number a person might tune: its unit, its part of the engine, its bounds and its reason.
//!
//! A limit is written down once, here. Settings change it as `limits.<name>`, the environment as
//! `SCRUBJAY_LIMIT_<NAME>`; `scrubjay limits` prints this table and `docs/limits.toml` is generated from it.

use std::ops::RangeInclusive;

/// One row of the table: what a limit is called, counts in, belongs to, and why it has this value.
#[derive(Debug, Clone)]
pub struct Limit {
    /// Name in settings and in the environment.
    pub name: &'static str,
    /// What is counted.
    pub unit: &'static str,
    /// Which part of the engine reads it.
    pub part: &'static str,
    /// The value when nothing else is said.
    pub default: u64,
    /// Values outside are refused with a clear error.
    pub bounds: RangeInclusive<u64>,
    /// Which way a repository may change it.
    pub narrower: Narrower,
    /// Why this value.
    pub why: &'static str,
}

/// Which way a limit is narrower: a repository may change it that way and no other.
///
/// What counts is what a hostile repository would gain: a larger budget, but also earlier forgetting, more calls of a
/// model, the user's hooks and instructions cut short, or a shorter way back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Narrower {
    /// Less is narrower: sizes, budgets, counts, waits.
    Lower,
    /// More is narrower: what happens less often, or asks for more proof, the higher it is.
    Higher,
    /// Either way could hurt, so a repository may not change it.
    Fixed,
}

impl Narrower {
    /// Whether a repository may put `value` where `before` would hold.
    pub fn allows(self, value: u64, before: u64) -> bool {
        match self {
            Narrower::Lower => value <= before,
            Narrower::Higher => value >= before,
            Narrower::Fixed => value == before,
        }
    }

    /// In words.
    pub fn rule(self) -> &'static str {
        match self {
            Narrower::Lower => "a repository may only lower it",
            Narrower::Higher => "a repository may only raise it",
            Narrower::Fixed => "a repository may not change it",
        }
    }
}

/// A limit that does not exist, or a value that makes no sense for it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    /// No such name.
    #[error("there is no limit called `{0}`; `scrubjay limits` lists them")]
    Unknown(String),
    /// Outside the bounds.
    #[error("limit `{name}` is {value}, but it must lie between {min} and {max} {unit}; the value is ignored")]
    OutOfBounds {
        /// The limit.
        name: &'static str,
        /// What was asked for.
        value: u64,
        /// Lowest sensible value.
        min: u64,
        /// Highest sensible value.
        max: u64,
        /// What is counted.
        unit: &'static str,
    },
}

macro_rules! limits {
    ($( $name:ident = $default:literal $unit:literal in $part:literal, $min:literal..=$max:literal, $narrower:ident, $why:literal; )*) => {
        /// Every number, with its value in force.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct Limits { $( #[doc = $why] pub $name: u64, )* }

        impl Default for Limits {
            fn default() -> Self { Self { $( $name: $default, )* } }
        }

        impl Limits {
            /// The table of all limits, in reading order.
            pub fn table() -> Vec<Limit> {
                vec![$( Limit { name: stringify!($name), unit: $unit, part: $part, default: $default,
                                bounds: $min..=$max, narrower: Narrower::$narrower, why: $why }, )*]
            }

            /// The value in force for `name`.
            pub fn get(&self, name: &str) -> Option<u64> {
                match name { $( stringify!($name) => Some(self.$name), )* _ => None }
            }

            /// Change one limit, or say why not.
            pub fn set(&mut self, name: &str, value: u64) -> Result<(), LimitError> {
                match name {
                    $( stringify!($name) => {
                        let bounds: RangeInclusive<u64> = $min..=$max;
                        if !bounds.contains(&value) {
                            return Err(LimitError::OutOfBounds { name: stringify!($name), value,
                                min: $min, max: $max, unit: $unit });
                        }
                        self.$name = value;
                        Ok(())
                    } )*
                    other => Err(LimitError::Unknown(other.to_owned())),
                }
            }
        }
    };
}

limits! {
    default_window = 200_000 "tokens" in "budget", 1_000..=100_000_000, Fixed, "what a model is assumed to hold when nothing says otherwise";
    long_window = 1_000_000 "tokens" in "budget", 1_000..=100_000_000, Fixed, "the window that a `[1m]` suffix or the long-context beta asks for";
    summary_room = 20_000 "tokens" in "budget", 0..=1_000_000, Fixed, "kept free so that a summary of the whole window can still be written";
    compaction_margin = 13_000 "tokens" in "budget", 0..=1_000_000, Fixed, "distance between the effective window and automatic compaction: one large turn";
    warning_margin = 20_000 "tokens" in "budget", 0..=1_000_000, Fixed, "a person is warned this far before automatic compaction";
    refusal_margin = 3_000 "tokens" in "budget", 0..=1_000_000, Fixed, "a request closer than this to the effective window is refused locally";
    compact_at_least = 20_000 "tokens" in "budget", 1_000..=100_000_000, Fixed, "`context.compact_at` never compacts earlier: a summary, restored files and kept messages alone are as much";
    text_bytes_per_token = 4 "bytes" in "estimate", 1..=64, Fixed, "starting ratio for prose; fitted to reported usage afterwards";
    json_bytes_per_token = 2 "bytes" in "estimate", 1..=64, Fixed, "punctuation makes JSON denser than prose";
    image_tokens = 2_000 "tokens" in "estimate", 1..=1_000_000, Fixed, "an image or document is billed by area or page, not by bytes";

    max_output = 32_000 "tokens" in "request", 1..=1_000_000, Fixed, "room for one reply; a model's own maximum lowers it";
    min_output = 4_000 "tokens" in "request", 1..=1_000_000, Fixed, "where the window has less than `max_output` left, a request asks for less, down to this or a quarter of what it wanted; with less than that the conversation is compacted instead";
    cut_stream_resumes = 2 "times" in "request", 0..=20, Lower, "a reply cut in the middle is continued this often before it is an error";
    rounds_per_question = 200 "rounds" in "request", 1..=100_000, Lower, "a loop that has not answered by then is stopped and says so";
    parallel_tools = 8 "calls" in "request", 1..=256, Lower, "read-only tools that run at the same time";
    retry_attempts = 5 "attempts" in "request", 0..=50, Lower, "tries for one request before the first byte is shown";
    retry_first_delay_ms = 500 "milliseconds" in "request", 1..=600_000, Fixed, "first pause of the back-off; jitter is added";
    retry_longest_delay_ms = 60_000 "milliseconds" in "request", 1..=3_600_000, Fixed, "no single pause is longer, whatever the server asks for";
    connect_timeout_ms = 15_000 "milliseconds" in "request", 100..=600_000, Lower, "a host that does not answer by then is unreachable";
    stream_idle_ms = 300_000 "milliseconds" in "request", 1_000..=3_600_000, Fixed, "a stream without a single byte this long is cut";
    event_bytes = 67_108_864 "bytes" in "request", 1_024..=1_073_741_824, Lower, "largest single stream event that is read";
    offline_quote_chars = 4_000 "characters" in "request", 100..=1_000_000, Lower, "of what was found that is quoted when no model is configured";

    result_chars = 50_000 "characters" in "layer 1", 1_000..=100_000_000, Lower, "a larger tool result goes to disk and the model sees a preview";
    shell_result_chars = 8_000 "characters" in "layer 1", 1_000..=100_000_000, Lower, "the same for commands, whose output is mostly looked at once";
    search_result_chars = 8_000 "characters" in "layer 1", 1_000..=100_000_000, Lower, "the same for searches, which are cheap to narrow and repeat";
    read_result_chars = 50_000 "characters" in "layer 1", 1_000..=100_000_000, Lower, "the same for file reads: later edits need their text, so that storing smaller ones costs more reading again than it spares";
    round_chars = 200_000 "characters" in "layer 1", 1_000..=100_000_000, Lower, "all results of one round together; beyond it the largest go to disk";
    preview_bytes = 2_000 "bytes" in "layer 1", 100..=1_000_000, Lower, "how much of a stored result the model sees, cut at a line";

    clear_keep = 5 "results" in "layer 2", 1..=10_000, Fixed, "the newest results are never cleared";
    clear_fixed_gap_minutes = 60 "minutes" in "layer 2", 1..=100_000, Fixed, "the pause after which results are cleared when the setting asks for a fixed one";
    edit_results_from = 20 "results" in "layer 2", 2..=100_000, Fixed, "where the provider edits its cache: from so many results on the oldest are dropped";
    clear_alone_percent = 70 "percent" in "layer 2", 1..=100, Fixed, "of the compaction line: where clearing old results alone brings a request down to this, nothing is summarised";
    server_clear_margin = 5_000 "tokens" in "layer 2", 0..=1_000_000, Fixed, "where the provider clears: this far below the compaction line, so that it comes first";
    server_rewrite_percent = 100 "percent" in "layer 2", 1..=10_000, Fixed, "of the compaction line that clearing by the provider may make us write again before the conversation is compacted instead: it writes anew at every result that leaves the newest";
    server_thinking_keep = 2 "turns" in "layer 2", 1..=10_000, Higher, "of the newest whose thinking stays where the provider is asked to drop it";
    server_clear_from = 180_000 "tokens" in "layer 2", 1_000..=100_000_000, Fixed, "with `context.policy = economy`, where the provider clears: from this size of the request on";
    server_clear_least = 140_000 "tokens" in "layer 2", 1_000..=100_000_000, Fixed, "with `context.policy = economy`, where the provider clears: at least so much, because each clearing costs a rewrite; less where the prices say that less pays";

    notes_first_tokens = 10_000 "tokens" in "layer 3", 0..=10_000_000, Higher, "of conversation before notes are written for the first time";
    notes_every_tokens = 5_000 "tokens" in "layer 3", 1..=10_000_000, Higher, "more before they are written again";
    notes_every_calls = 3 "calls" in "layer 3", 0..=10_000, Higher, "of tools since the last time, unless the model has come to rest";
    notes_from_percent = 60 "percent" in "layer 3", 0..=100, Higher, "of the compaction line before a model writes notes: most conversations end earlier and need none";
    notes_last_tokens = 20_000 "tokens" in "layer 3", 1_000..=10_000_000, Fixed, "before the compaction line, when a model writes its notes: what follows them is kept word for word, and of that more than `kept_most_tokens` cannot be";
    notes_last_percent = 40 "percent" in "layer 3", 1..=100, Fixed, "at most, of the room behind the opening: where that is small, notes are written nearer to the line";
    notes_room_percent = 50 "percent" in "layer 3", 1..=100, Fixed, "of the room behind the opening that a compaction from notes may leave filled; the summariser leaves less";
    notes_cost_percent = 5 "percent" in "layer 3", 0..=100, Lower, "of what the conversation itself has cost that all its notes by a model may cost; beyond that a compaction is left to the summariser";
    economy_notes_cost_percent = 1 "percent" in "layer 3", 0..=100, Lower, "the same with `context.policy = economy`, where code keeps the notes otherwise";
    notes_update_tokens = 2_000 "tokens" in "layer 3", 0..=1_000_000, Fixed, "that a model is expected to read anew and to write for one update, besides the conversation";
    notes_exit_ms = 3_000 "milliseconds" in "layer 3", 0..=600_000, Lower, "notes that are being written get this long when the session ends";
    notes_wait_ms = 15_000 "milliseconds" in "layer 3", 0..=600_000, Lower, "a compaction waits this long for an update that is running";
    kept_least_tokens = 10_000 "tokens" in "layer 3", 0..=10_000_000, Fixed, "of recent messages that stay when the notes become the summary";
    kept_least_messages = 5 "messages" in "layer 3", 0..=10_000, Fixed, "with words in them, that stay when the notes become the summary";
    kept_most_tokens = 40_000 "tokens" in "layer 3", 1..=10_000_000, Fixed, "of recent messages that stay; more than that since the last note, and the notes cannot serve";

    summary_tokens = 4_000 "tokens" in "layer 4", 200..=1_000_000, Fixed, "how long a summary that code makes may be; models keep theirs about as short";
    summary_retries = 3 "times" in "layer 4", 0..=20, Lower, "a summariser whose own request is too long tries again with the oldest rounds left out";
    compaction_strikes = 3 "failures" in "layer 4", 1..=100, Lower, "so many in a row and automatic compaction rests for the session";
    restored_files = 5 "files" in "layer 4", 0..=100, Lower, "read last, and read again after a compaction";
    restored_file_tokens = 5_000 "tokens" in "layer 4", 1..=1_000_000, Lower, "of one file that is brought back";
    restored_files_tokens = 50_000 "tokens" in "layer 4", 1..=10_000_000, Lower, "of all files that are brought back";
    restored_skill_tokens = 5_000 "tokens" in "layer 4", 1..=1_000_000, Lower, "of one skill, or of the plan, that is brought back";
    restored_skills_tokens = 25_000 "tokens" in "layer 4", 1..=10_000_000, Lower, "of all skills that are brought back";
    finding_bytes = 300 "bytes" in "layer 4", 20..=65_536, Lower, "of one thing that a report names; the transcript has the whole";

    fold_keep_rounds = 5 "rounds" in "collapse", 1..=10_000, Fixed, "the newest rounds are never folded: the model is at work on them";
    fold_span_rounds = 20 "rounds" in "collapse", 1..=10_000, Fixed, "one line cannot say more about what was done";
    fold_to_percent = 60 "percent" in "collapse", 1..=99, Fixed, "of the compaction line that a conversation is folded down to: each folding costs a rewrite of the cache, so it must last a while";
    span_words_bytes = 200 "bytes" in "collapse", 40..=65_536, Lower, "of the last words, the tools, the files or the reason that one line names";

    record_inline_bytes = 65_536 "bytes" in "transcript", 1_024..=67_108_864, Fixed, "larger records go to a blob file so that lines stay short";
    record_line_bytes = 33_554_432 "bytes" in "transcript", 65_536..=1_073_741_824, Fixed, "a longer line is damage, not a record";

    scan_file_bytes = 4_294_967_296 "bytes" in "scan", 65_536..=1_099_511_627_776, Lower, "read of one transcript of another agent, unpacked; the longest sessions have some hundred million";
    scan_kept_bytes = 67_108_864 "bytes" in "scan", 0..=1_073_741_824, Lower, "of one conversation that is held to see what its next compaction drops; more was never said in one window";

    read_lines = 2_000 "lines" in "tools", 1..=1_000_000, Lower, "one page of a file read";
    read_line_chars = 2_000 "characters" in "tools", 16..=1_000_000, Lower, "longer lines are cut in a file read, with a mark";
    read_bytes = 262_144 "bytes" in "tools", 1_024..=67_108_864, Lower, "one page of a file read, whatever its lines";
    image_bytes = 5_242_880 "bytes" in "tools", 1_024..=67_108_864, Lower, "largest image that is shown to a model";
    shell_timeout_ms = 120_000 "milliseconds" in "tools", 100..=86_400_000, Lower, "a command that did not say otherwise is stopped then";
    shell_longest_ms = 600_000 "milliseconds" in "tools", 100..=86_400_000, Lower, "the longest a command may ask for";
    shell_output_bytes = 1_048_576 "bytes" in "tools", 1_024..=1_073_741_824, Lower, "kept of a command's output, head and tail; the rest is counted";
    search_results = 500 "results" in "tools", 1..=1_000_000, Lower, "lines or paths one search returns before it says there are more";
    search_line_chars = 500 "characters" in "tools", 16..=1_000_000, Lower, "a matching line is cut here, with a mark";
    search_pattern_bytes = 10_485_760 "bytes" in "tools", 1_024..=1_073_741_824, Lower, "compiled size of a pattern that a model wrote";
    fetch_bytes = 10_485_760 "bytes" in "tools", 1_024..=1_073_741_824, Lower, "largest page that is fetched";
    fetch_chars = 100_000 "characters" in "tools", 1_000..=100_000_000, Lower, "largest text of a page that is shown";
    fetch_timeout_ms = 30_000 "milliseconds" in "tools", 100..=600_000, Lower, "a page that has not come by then is given up";
    skill_bytes = 65_536 "bytes" in "tools", 1_024..=16_777_216, Lower, "largest skill text that is loaded";
    read_file_bytes = 67_108_864 "bytes" in "tools", 65_536..=1_073_741_824, Lower, "read of one file at most; what lies behind is neither shown nor editable";
    shell_linger_ms = 500 "milliseconds" in "tools", 10..=60_000, Lower, "a finished command's output is awaited this long when a child keeps it open";

    hook_timeout_ms = 60_000 "milliseconds" in "hooks", 100..=3_600_000, Fixed, "a hook that did not say otherwise is stopped then";
    hook_output_bytes = 1_048_576 "bytes" in "hooks", 1_024..=67_108_864, Fixed, "read of a hook's answer";
    hook_context_chars = 10_000 "characters" in "hooks", 100..=1_000_000, Fixed, "of one hook's text that reaches the model";
    hook_grace_ms = 500 "milliseconds" in "hooks", 0..=60_000, Fixed, "a background child that keeps a finished hook's output open is waited for this long";

    stop_hook_objections = 8 "times" in "hooks", 0..=1_000, Fixed, "how often Stop hooks may make the model go on with one question";

    notes_section_tokens = 2_000 "tokens" in "notes", 50..=1_000_000, Fixed, "a longer section is asked to be condensed, and is cut when the notes become a summary";
    notes_tokens = 12_000 "tokens" in "notes", 500..=10_000_000, Fixed, "longer notes are asked to be condensed";

    quoted_message_tokens = 2_000 "tokens" in "compaction", 100..=1_000_000, Fixed, "a longer message of the person's keeps its ends, its constraints and the place of the whole";
    constraint_bytes = 600 "bytes" in "compaction", 40..=65_536, Fixed, "of one sentence that is pinned; nobody forbids anything in more";
    constraints_by_message = 50 "sentences" in "compaction", 1..=100_000, Fixed, "more of them in one message are a document; it is quoted, with the place of the whole";
    anchor_percent = 15 "percent" in "compaction", 0..=90, Fixed, "of a summary without a model, for strings that no section named";
    anchor_scan_bytes = 65_536 "bytes" in "compaction", 1_024..=67_108_864, Fixed, "of one text that is searched for strings worth keeping";
    anchor_list_bytes = 4_096 "bytes" in "compaction", 0..=1_048_576, Fixed, "the list of strings that no section named stays short";
    findings_checked = 100 "statements" in "compaction", 0..=100_000, Fixed, "of the model's own, the most telling ones that a summary is checked for";
    finding_list_bytes = 4_096 "bytes" in "compaction", 0..=1_048_576, Fixed, "of the model's statements that its summary left out and that are put back, where there is room";
    completion_percent = 15 "percent" in "compaction", 0..=90, Fixed, "of what a model wrote as its summary, kept free for what it left out";
    anchors_checked = 100 "strings" in "compaction", 0..=100_000, Fixed, "the most important ones that a summary is checked for";
    compaction_worth_percent = 80 "percent" in "compaction", 1..=99, Fixed, "of what was said, system and tools apart; a compaction that leaves more is not worth the break";

    index_lines = 200 "lines" in "memory", 1..=100_000, Lower, "of the index that a session begins with; more of it costs every request";
    index_bytes = 25_000 "bytes" in "memory", 100..=10_000_000, Lower, "of those lines, whatever their number";
    index_line_chars = 150 "characters" in "memory", 40..=10_000, Lower, "a line of the index says what a memory is about, not what it says";
    index_file_bytes = 67_108_864 "bytes" in "memory", 1_024..=1_073_741_824, Lower, "a larger index is not read, and then nothing is written either";
    memory_file_bytes = 1_048_576 "bytes" in "memory", 1_024..=67_108_864, Fixed, "a larger file is listed and not loaded: it is no memory";
    memory_lock_ms = 30_000 "milliseconds" in "memory", 1..=600_000, Lower, "a change waits this long for another one to be finished";
    journal_found_bytes = 8_388_608 "bytes" in "memory", 0..=1_073_741_824, Fixed, "of files changed from outside whose text is kept at one look, so that it can be brought back";
    log_file_bytes = 16_777_216 "bytes" in "memory", 1_024..=1_073_741_824, Fixed, "a longer daily log is not read: nobody wrote that in a day";
    uses_file_bytes = 262_144 "bytes" in "memory", 4_096..=67_108_864, Fixed, "of counts of recalls and uses; then they are added up, one line a memory";
    unrecalled_days = 30 "days" in "memory", 1..=36_500, Fixed, "a memory that was recalled in none of them counts as never recalled";
    trash_days = 30 "days" in "memory", 0..=36_500, Fixed, "a removed memory lies in the trash this long";
    headers_file_bytes = 268_435_456 "bytes" in "memory", 1_024..=1_073_741_824, Fixed, "a larger table of what was seen last is made anew";

    front_matter_bytes = 8_192 "bytes" in "files", 256..=1_048_576, Fixed, "a header longer than this is not a header";
    slug_chars = 200 "characters" in "files", 16..=200, Fixed, "readable part of a project's folder name";

    shown_memory_lines = 200 "lines" in "memory", 1..=1_000_000, Lower, "of one recalled memory that are shown; the rest is pointed at";
    shown_memory_bytes = 4_096 "bytes" in "memory", 64..=16_777_216, Lower, "of one recalled memory that are shown; the rest is pointed at";
    recall_places = 5 "memories" in "memory", 0..=1_000, Lower, "recalled for one message; what is not surely wanted crowds out what is";
    recall_session_bytes = 60_000 "bytes" in "memory", 0..=100_000_000, Lower, "of recalled memories in one view; then no more are looked for until a compaction";
    recall_candidates = 200 "memories" in "memory", 1..=100_000, Lower, "that a model chooses among";
    recall_tainted_places = 2 "memories" in "memory", 0..=1_000, Lower, "of the recalled ones that may be unconfirmed; in a search, of one source";
    select_tokens = 256 "tokens" in "memory", 16..=100_000, Lower, "a model that chooses memories answers in so many";
    memory_view_lines = 999_999 "lines" in "memory", 1..=100_000_000, Lower, "a longer file cannot be viewed with the memory tool, whose users know this number";
    memory_view_chars = 16_000 "characters" in "memory", 100..=100_000_000, Lower, "of a file that the memory tool shows when no range was asked for";
    recall_push_floor = 16 "hundredths" in "memory", 0..=101, Higher, "a memory is shown to the model unasked when it is at least so likely wanted; 101 is never";
    recall_push_floor_unconfirmed = 30 "hundredths" in "memory", 0..=101, Higher, "the same for one that nobody vouches for";
    recall_search_floor = 2 "hundredths" in "memory", 0..=101, Lower, "a search shows what is at least so likely wanted";
    recall_push_ms = 250 "milliseconds" in "memory", 0..=600_000, Lower, "the first request of a question waits so long for memories that are found without asking anyone; what is later comes later";
    recall_wait_ms = 2_000 "milliseconds" in "memory", 0..=600_000, Lower, "where no model answers, recalled text is the answer and is waited for so long";
    recall_cache_bytes = 1_073_741_824 "bytes" in "memory", 1_024..=1_099_511_627_776, Fixed, "a larger kept index is built again";
    embedded_texts = 20_000 "texts" in "memory", 0..=10_000_000, Lower, "of one index whose meaning is kept; of more, the newest";
    embedded_text_bytes = 4_096 "bytes" in "memory", 64..=1_048_576, Lower, "of one text that a model for meanings reads; what it is about is said at its beginning";
    embedding_batch = 64 "texts" in "memory", 1..=2_048, Fixed, "sent to a model for meanings at once";
    embedding_wait_ms = 1_500 "milliseconds" in "memory", 1..=600_000, Lower, "a search in a session waits for meanings so long; then words alone decide";
    embedding_command_ms = 30_000 "milliseconds" in "memory", 1..=3_600_000, Lower, "`scrubjay recall` waits for meanings so long; what was read by then is kept";
    searched_result_bytes = 262_144 "bytes" in "memory", 1_024..=67_108_864, Lower, "of a stored result or of notes that can be searched; what is told apart by its beginning is found by it";
    drift_mentions = 40 "words" in "memory", 0..=100_000, Fixed, "of one memory that are checked against the working tree";
    drift_files = 20_000 "files" in "memory", 0..=10_000_000, Fixed, "walked to find what memories mention; a larger tree is not searched to the end, and nothing is called gone";
    drift_bytes = 33_554_432 "bytes" in "memory", 0..=10_737_418_240, Fixed, "read to find the names that memories mention; more is not read, and no name is called gone";

    dream_every_hours = 24 "hours" in "layer 6", 0..=100_000, Higher, "between two dreams that nobody asked for";
    dream_scan_minutes = 10 "minutes" in "layer 6", 0..=100_000, Higher, "between two looks at which sessions are new; they cost a walk over all of them";
    dream_sessions = 5 "sessions" in "layer 6", 0..=100_000, Higher, "newer than the last dream before another one is worth it";
    dream_lease_minutes = 60 "minutes" in "layer 6", 1..=100_000, Fixed, "of silence after which a dreamer is taken for lost and another may dream";
    dream_beat_seconds = 90 "seconds" in "layer 6", 1..=3_600, Fixed, "between two signs of life of a dreamer";
    dream_turns = 40 "turns" in "layer 6", 1..=1_000, Lower, "that the model has for what code could not decide";
    dream_findings = 60 "findings" in "layer 6", 0..=10_000, Lower, "that the model is told of at once; the rest waits for the next dream";
    dream_removed_percent = 25 "percent" in "layer 6", 0..=100, Lower, "of the memories that one dream may take away; more is never right";
    dream_recall_queries = 1_000 "questions" in "layer 6", 0..=1_000_000, Fixed, "with which a dream is tried before it lands: changed memories first";
    dream_transcript_bytes = 67_108_864 "bytes" in "layer 6", 0..=10_737_418_240, Fixed, "of new sessions in which quoted words are looked for, the newest first";
    dream_alike_pairs = 100_000 "pairs" in "layer 6", 0..=100_000_000, Lower, "of memories that are compared, those with the most rare words in common first";

    instruction_warn_chars = 40_000 "characters" in "instructions", 100..=100_000_000, Fixed, "a longer instruction file crowds out the conversation, so the person is told";
    instruction_file_bytes = 1_048_576 "bytes" in "instructions", 1_024..=67_108_864, Fixed, "read of one instruction file; the rest is left out, and the person is told";
    include_depth = 5 "steps" in "instructions", 0..=100, Fixed, "an instruction file may include one that includes another, this often";
    include_files = 50 "files" in "instructions", 0..=10_000, Fixed, "included by all instruction files together";
    include_bytes = 204_800 "bytes" in "instructions", 0..=67_108_864, Fixed, "of all included files together";

    extraction_turns = 5 "turns" in "layer 5", 1..=100, Lower, "of one extraction: reads, writes, one correction, and room";
    extraction_wait_turns = 10 "turns" in "layer 5", 1..=1_000, Higher, "in which little was typed wait for the learner at most";
    extraction_saves = 10 "memories" in "layer 5", 0..=1_000, Lower, "saved by one extraction at most: one answer rarely teaches more than one";
    extraction_manifest = 200 "memories" in "layer 5", 0..=100_000, Lower, "that a forked extraction is told of, the newest ones";
    learner_least_chars = 12 "characters" in "layer 5", 0..=10_000, Higher, "typed since the last look are worth a request; less is looked at with what comes next";
    learner_list_chars = 4_000 "characters" in "layer 5", 0..=1_000_000, Lower, "of the list of memories that the learner sees, the nearest first";
    learner_nearest = 3 "memories" in "layer 5", 0..=100, Lower, "that the learner sees in full, the nearest ones";
    learner_memory_bytes = 4_096 "bytes" in "layer 5", 0..=1_048_576, Lower, "a longer memory is listed, and not shown in full";
    learner_answer_chars = 2_000 "characters" in "layer 5", 0..=100_000, Lower, "shown of the answer that a message replies to: its beginning and its end";
    learner_cite_chars = 8 "characters" in "layer 5", 0..=1_000, Higher, "letters and digits of typed words that a memory cites at least; with less it is unconfirmed";
    learner_tokens = 4_096 "tokens" in "layer 5", 256..=100_000, Lower, "of one answer of the learner";
    learner_earlier = 6 "messages" in "layer 5", 0..=1_000, Lower, "of the user's that the learner has looked at and sees again, so that new ones can be understood";
    learner_earlier_chars = 1_500 "characters" in "layer 5", 0..=100_000, Lower, "of those, the newest";
    learner_look_back = 5 "replies" in "layer 5", 0..=100, Lower, "that one second request shows with the answers they reply to";
    remember_wait_ms = 8_000 "milliseconds" in "layer 5", 0..=600_000, Lower, "the model waits for the learner after it called `remember`; then its note is kept unconfirmed";
    typed_paste_lines = 8 "lines" in "layer 5", 2..=10_000, Lower, "without a label or a fence count as pasted";
    typed_paste_chars = 1_500 "characters" in "layer 5", 100..=1_000_000, Lower, "in one part count as pasted";
    typed_paste_line_chars = 200 "characters" in "layer 5", 0..=100_000, Lower, "of a paste on one line count as typed: a name, an address, a path";
    typed_echo_chars = 30 "characters" in "layer 5", 8..=10_000, Lower, "in a row that a tool, a file or a page showed before count as pasted; of Chinese and Japanese half as many";
    extraction_exit_ms = 60_000 "milliseconds" in "layer 5", 0..=3_600_000, Lower, "an extraction that is running gets this long when the session ends; a second Ctrl-C abandons it";
    past_lines = 50 "lines" in "layer 5", 1..=100_000, Lower, "of past sessions that a search by a background agent shows, the last ones";

    errand_turns = 5 "turns" in "agents", 1..=1_000, Lower, "a background fork that did not say otherwise";
    agents_at_once = 8 "agents" in "agents", 0..=1_000, Lower, "of one session that work at the same time; another one is refused until one is done";
    agents_per_session = 200 "agents" in "agents", 0..=1_000_000, Lower, "that one session starts; more of them are a loop";
    agent_depth = 2 "steps" in "agents", 0..=16, Lower, "an agent may start agents of its own, this often in a row";
    agent_rounds = 100 "rounds" in "agents", 1..=100_000, Lower, "an agent that has not answered by then is stopped and says so";
    agent_tokens = 20_000_000 "tokens" in "agents", 1_000..=100_000_000_000, Lower, "that one agent reads and writes at most, cache reads included";
    agents_cents = 2_000 "cents" in "agents", 0..=10_000_000, Lower, "that all agents of one session may cost, where prices are known";
    agent_report_bytes = 30_000 "bytes" in "agents", 500..=10_000_000, Lower, "of a report that reaches the one who asked; the whole is in the agent's own record";
    agent_definition_bytes = 65_536 "bytes" in "agents", 1_024..=16_777_216, Fixed, "largest definition of an agent that is read";
    agent_definitions = 100 "definitions" in "agents", 0..=10_000, Fixed, "of agents that are read from one folder; each of them costs a line in every request";
    agent_git_ms = 60_000 "milliseconds" in "agents", 100..=3_600_000, Lower, "a git command about a worktree that takes longer is given up";
    agent_summary_ms = 30_000 "milliseconds" in "agents", 100..=3_600_000, Higher, "how often it is said in a few words what an agent in the background is doing";
    agent_summary_bytes = 6_000 "bytes" in "agents", 200..=1_000_000, Lower, "of what an agent did last that is shown to whoever puts it in words";
    agent_summary_tokens = 64 "tokens" in "agents", 8..=10_000, Lower, "those words are few";
    job_turns = 30 "turns" in "agents", 1..=1_000, Lower, "of a job that its card shows, the newest";
    letter_bytes = 65_536 "bytes" in "agents", 1_024..=16_777_216, Lower, "of one letter between agents; more belongs into a file that the letter names";
    letters_from_one = 1_000 "letters" in "agents", 1..=1_000_000, Lower, "of one sender that may wait in one mailbox: a sender that does not wait for answers is stopped here";
    letters_waiting = 10_000 "letters" in "agents", 1..=10_000_000, Lower, "that may wait in one mailbox, whoever wrote them";
    letters_seen = 10_000 "letters" in "agents", 1..=10_000_000, Fixed, "whose names a mailbox remembers, so that one that is sent again is not read again";
    dead_letters = 200 "letters" in "agents", 0..=1_000_000, Fixed, "that could not be accepted and are kept with the reason, the newest";
    jobs_kept = 50 "jobs" in "agents", 0..=10_000, Fixed, "of a project that have ended and are still listed";

    teammate_idle_minutes = 30 "minutes" in "doors", 1..=525_600, Lower, "a teammate to whom nobody writes this long ends";
    letters_poll_ms = 250 "milliseconds" in "doors", 10..=60_000, Higher, "how often a session looks into its mailbox: a letter waits for the next request anyway";
    socket_clients = 16 "clients" in "doors", 1..=1_000, Fixed, "at the socket of a session at once; when one more comes, the one that has been there longest goes";
    socket_client_ms = 10_000 "milliseconds" in "doors", 10..=600_000, Fixed, "longest that one client may take at the socket of a session: both sides are on this machine";
    flags_timeout_ms = 2_000 "milliseconds" in "doors", 100..=60_000, Fixed, "remote flags that have not come by then are not waited for";
    flags_bytes = 65_536 "bytes" in "doors", 256..=16_777_216, Fixed, "largest set of remote flags";
    fetch_redirects = 10 "redirects" in "doors", 0..=50, Lower, "on one host; another host is never followed to";
    second_interrupt_ms = 2_000 "milliseconds" in "doors", 100..=60_000, Fixed, "a second Ctrl-C within this time leaves the chat";
    history_lines = 1_000 "lines" in "doors", 0..=1_000_000, Fixed, "remembered of what was typed";
    piped_prompt_bytes = 10_485_760 "bytes" in "doors", 1_024..=1_073_741_824, Lower, "largest prompt that is read from a pipe";
    listed_sessions = 20 "sessions" in "doors", 1..=100_000, Lower, "shown by `scrubjay sessions` unless all are asked for";
    expected_turns = 40 "requests" in "planner", 0..=10_000, Fixed, "a session is expected to last as long as it did so far, but never counted on for more than this";
    warm_margin = 4 "times" in "planner", 1..=1_000, Fixed, "rewriting a warm cache must promise this many times its price: the session may end, and text may be needed again";
    warm_clear_keep = 10 "results" in "planner", 1..=10_000, Fixed, "the newest results that stay when a warm cache is rewritten: what is still in use is nearer";
    weigh_every_tokens = 5_000 "tokens" in "planner", 0..=10_000_000, Fixed, "a warm conversation is weighed again when it has grown by so much: weighing walks all of it";
    warm_clear_tokens = 20_000 "tokens" in "planner", 0..=100_000_000, Fixed, "a warm cache is not rewritten to remove less";
    cold_clear_tokens = 1_000 "tokens" in "planner", 0..=100_000_000, Fixed, "a cold cache makes removing free, but less than this is not worth hiding text";
    cold_compaction_percent = 70 "percent" in "planner", 1..=100, Higher, "of the compaction line that a conversation must fill before a cold cache is a reason to compact it from its notes";
    early_compaction_tokens = 48_000 "tokens" in "planner", 1_000..=100_000_000, Fixed, "with `context.policy = economy` a shorter conversation is not compacted before the window is full: notes, restored files and kept messages are some 24,000, so that a compaction at least halves it";
    warm_compaction_percent = 50 "percent" in "planner", 1..=100, Fixed, "with `context.policy = economy`, of the compaction threshold that a conversation must fill before it is compacted while its cache is warm";
    risk_percent = 1 "percent" in "planner", 0..=100, Lower, "of what was spent that may be risked on a guess, besides what was saved";
    break_percent = 5 "percent" in "planner", 0..=100, Fixed, "cache reads that fall short of the promise by less are no break";
    break_tokens = 2_000 "tokens" in "planner", 0..=100_000_000, Fixed, "cache reads that fall short of the promise by less are no break: providers round";

    brake_window = 20 "requests" in "receipts", 1..=10_000, Fixed, "the brake looks at this many requests: long enough that one cold start does not trip it";
    brake_trip_percent = 60 "percent" in "receipts", 0..=100, Fixed, "less of the promised cache reads than this trips the brake";
    brake_release_percent = 80 "percent" in "receipts", 0..=100, Fixed, "this much of the promised cache reads releases it: more than what trips it, so that it does not flutter";
    brake_least_cents = 100 "cents" in "receipts", 0..=100_000, Lower, "a loss smaller than this over the window does not trip the brake: notes are paid for before they save anything";
    brake_least_tokens = 2_000_000 "tokens" in "receipts", 0..=100_000_000, Lower, "the same where prices are not known";
    background_day_tokens = 10_000_000 "tokens" in "receipts", 0..=100_000_000_000, Lower, "background work of one day, cache reads included: some hundred forks of a long session";
    background_day_cents = 500 "cents" in "receipts", 0..=10_000_000, Lower, "background work of one day, where prices are known";
    background_file_bytes = 1_048_576 "bytes" in "receipts", 4_096..=67_108_864, Fixed, "read of a file about background work; ours are far smaller";
    breaker_calls = 3 "calls" in "receipts", 1..=1_000, Lower, "of one kind of background work without progress within the window, and it rests";
    breaker_window_minutes = 30 "minutes" in "receipts", 1..=525_600, Fixed, "in which such calls are counted, and the length of the first rest; each rest after another failure is twice as long";
    breaker_longest_minutes = 1_440 "minutes" in "receipts", 1..=525_600, Fixed, "no rest is longer than this, or than the window";
}

/// The table as TOML with its defaults: `docs/limits.toml`, and a starting point for a settings file.
pub fn as_toml() -> String {
    let mut out = String::from(
        "# Every limit with its default. Set one as `limits.<name>` in a settings file or as `SCRUBJAY_LIMIT_<NAME>` in the\n\
         # environment. This file is printed from the program's own table; a test compares the two.\n\n[limits]\n",
    );
    let mut part = "";
    for limit in Limits::table() {
        if limit.part != part {
            part = limit.part;
            out.push_str(&format!("\n# {part}\n"));
        }
        let (min, max) = limit.bounds.into_inner();
        out.push_str(&format!(
            "\n# {}.\n# {}, {min} to {max}; {}\n{} = {}\n",
            limit.why,
            limit.unit,
            limit.narrower.rule(),
            limit.name,
            limit.default
        ));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_lies_within_its_bounds_and_can_be_read_by_name() {
        let limits = Limits::default();
        for row in Limits::table() {
            assert!(row.bounds.contains(&row.default), "{} has a default outside its bounds", row.name);
            assert_eq!(limits.get(row.name), Some(row.default));
            assert!(!row.why.is_empty() && !row.unit.is_empty());
        }
    }

    #[test]
    fn absurd_values_are_refused_and_change_nothing() {
        let mut limits = Limits::default();
        let refused = limits.set("text_bytes_per_token", 0).unwrap_err();
        assert!(refused.to_string().contains("between 1 and 64 bytes"), "{refused}");
        assert_eq!(limits.set("no_such", 1), Err(LimitError::Unknown("no_such".into())));
        assert_eq!(limits, Limits::default());
        limits.set("errand_turns", 9).unwrap();
        assert_eq!(limits.errand_turns, 9);
    }
}
