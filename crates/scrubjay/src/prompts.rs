//! Every word said to a model, one file each, and a typed function for those with gaps to fill. Foreign text that
//! enters one of our wrappers is fenced where it enters, or by whoever knows what kind of text it is.

use crate::fence::fenced;

/// Answers a call whose real answer never came.
pub const LOST_RESULT: &str = include_str!("../prompts/lost-result.md");
/// Answers a call that the person interrupted.
pub const INTERRUPTED: &str = include_str!("../prompts/interrupted.md");
/// Asks for the rest of a reply that was cut off.
pub const CONTINUE: &str = include_str!("../prompts/continue.md");
/// Answers calls that are still open where a fork begins; the same for every fork.
pub const FORK_PLACEHOLDER: &str = include_str!("../prompts/fork-placeholder.md");
/// Refuses a tool call of a model that was asked for a summary.
pub const NO_TOOLS_NOW: &str = include_str!("../prompts/compaction/no-tools.md");
/// Refuses a fork that wants to look at the conversation, or to change how it is seen.
pub const NOT_IN_A_FORK: &str = include_str!("../prompts/not-in-a-fork.md");
/// Refuses a fork that wants to fork.
pub const FORK_CANNOT_FORK: &str = include_str!("../prompts/fork-cannot-fork.md");

/// How to apply a rule, a decision and a date that the person said outright.
pub const HOW_RULE: &str = include_str!("../prompts/explicit/how-rule.md");
/// The same in Chinese.
pub const HOW_RULE_HAN: &str = include_str!("../prompts/explicit/how-rule.zh.md");
/// For a decision.
pub const HOW_DECISION: &str = include_str!("../prompts/explicit/how-decision.md");
/// The same in Chinese.
pub const HOW_DECISION_HAN: &str = include_str!("../prompts/explicit/how-decision.zh.md");
/// For a date.
pub const HOW_DATE: &str = include_str!("../prompts/explicit/how-date.md");
/// The same in Chinese.
pub const HOW_DATE_HAN: &str = include_str!("../prompts/explicit/how-date.zh.md");
/// All of these.
pub const EXPLICIT: &[&str] = &[HOW_RULE, HOW_RULE_HAN, HOW_DECISION, HOW_DECISION_HAN, HOW_DATE, HOW_DATE_HAN];

/// Stands for a list of a dream's that is empty.
pub const DREAM_NOTHING: &str = include_str!("../prompts/dreaming/nothing.md");
/// Says since when a first dream looks for what is new.
pub const DREAM_FIRST: &str = include_str!("../prompts/dreaming/first.md");

/// What a dreaming fork is told. Lists are fenced where they are made.
#[derive(Debug, Clone, Copy)]
pub struct DreamTask<'a> {
    /// Where the copy is.
    pub copy: &'a str,
    /// When the last dream was.
    pub since: &'a str,
    /// What is left to judge.
    pub findings: &'a str,
    /// What code did.
    pub fixes: &'a str,
    /// Daily logs.
    pub logs: &'a str,
    /// Transcripts.
    pub sessions: &'a str,
    /// Lines of the index that are loaded.
    pub index_lines: &'a str,
    /// Characters of one of them.
    pub line_chars: &'a str,
}

/// The four steps of a dream, and what is known before them.
pub fn dream(task: &DreamTask<'_>) -> String {
    let DreamTask { copy, since, findings, fixes, logs, sessions, index_lines, line_chars } = task;
    let values = [
        ("copy", *copy),
        ("since", since),
        ("findings", findings),
        ("fixes", fixes),
        ("logs", logs),
        ("sessions", sessions),
        ("index_lines", index_lines),
        ("line_chars", line_chars),
    ];
    fill(include_str!("../prompts/dreaming/dream.md"), &values)
}

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

/// Who an agent of a kind is, and where it works.
pub fn agent(role: &str, (kind, name): (&str, &str), surroundings: &Surroundings) -> String {
    let values = [
        ("role", role.trim()),
        ("kind", kind),
        ("name", name),
        ("dir", &surroundings.dir),
        ("platform", &surroundings.platform),
        ("git", &surroundings.git),
    ];
    fill(include_str!("../prompts/agents/system.md"), &values)
}

/// What a worktree of an agent's own is.
pub fn own_worktree(branch: &str) -> String {
    fill(include_str!("../prompts/agents/worktree.md"), &[("branch", branch)])
}

/// What a fork is told that carries out a part of the work; `worktree` is its directory and what that is.
pub fn fork_task(task: &str, worktree: Option<(&str, &str)>) -> String {
    let place = worktree
        .map(|(dir, what)| fill(include_str!("../prompts/agents/fork-worktree.md"), &[("dir", dir), ("what", what)]));
    let values = [("where", place.unwrap_or_default()), ("task", task.to_owned())];
    fill(include_str!("../prompts/agents/fork.md"), &values.each_ref().map(|(name, value)| (*name, value.as_str())))
}

/// What another agent writes, and what for where it is more than words.
pub fn letter(from: &str, purpose: Option<&str>, text: &str) -> String {
    let purpose = purpose.map(|purpose| format!(" kind=\"{}\"", fenced(purpose))).unwrap_or_default();
    let values = [("from", fenced(from)), ("kind", purpose.into()), ("text", fenced(text))];
    fill(include_str!("../prompts/agents/letter.md"), &values.each_ref().map(|(name, value)| (*name, value.as_ref())))
}

/// Answers a call that wrote to other agents.
pub fn sent(to: &str) -> String {
    fill(include_str!("../prompts/agents/sent.md"), &[("to", to)])
}

/// Answers a call that started an agent in the background.
pub fn agent_started(name: &str) -> String {
    fill(include_str!("../prompts/agents/started.md"), &[("name", name)])
}

/// Answers a call that started a teammate.
pub fn teammate_started(name: &str) -> String {
    fill(include_str!("../prompts/agents/teammate-started.md"), &[("name", name)])
}

/// What a teammate is told first.
pub fn teammate(name: &str, leader: &str, task: &str) -> String {
    fill(include_str!("../prompts/agents/teammate.md"), &[("name", name), ("leader", leader), ("task", task)])
}

/// What a teammate asks of whoever started it.
pub fn teammate_plan(plan: &str) -> String {
    fill(include_str!("../prompts/agents/teammate-plan.md"), &[("plan", plan)])
}

/// Says that an agent was cut off by the end of the program.
pub fn agent_lost(task: &str, record: &str) -> String {
    fill(include_str!("../prompts/agents/lost.md"), &[("task", task), ("record", record)])
}

/// The agents that come with the program, as definitions.
pub const AGENTS: [&str; 2] =
    [include_str!("../prompts/agents/general.md"), include_str!("../prompts/agents/explore.md")];

/// What a person who defines an agent begins with.
pub fn new_agent(name: &str, description: &str) -> String {
    fill(include_str!("../prompts/agents/new.md"), &[("name", name), ("description", description)]) + "\n"
}

/// Introduces memories of an agent that nobody has confirmed.
pub const AGENT_MEMORY_UNCONFIRMED: &str = include_str!("../prompts/agents/unconfirmed.md");

/// What belongs into the memory of a kind of agents, by its scope: `user`, `project` or `local`.
pub fn agent_memory_scope(scope: &str, kind: &str) -> String {
    let text = match scope {
        "user" => include_str!("../prompts/agents/memory-user.md"),
        "project" => include_str!("../prompts/agents/memory-project.md"),
        _ => include_str!("../prompts/agents/memory-local.md"),
    };
    fill(text, &[("kind", kind)])
}

/// Asks what an agent is doing; with the end of what it did where that is not known.
pub fn agent_summary(tail: Option<&str>) -> String {
    let ask = include_str!("../prompts/agents/summary.md").trim_end();
    match tail {
        None => ask.to_owned(),
        Some(tail) => fill(include_str!("../prompts/agents/summary-tail.md"), &[("tail", &fenced(tail)), ("ask", ask)]),
    }
}

/// Text that a hook adds to the conversation.
pub fn hook_context(event: &str, text: &str) -> String {
    fill(include_str!("../prompts/hook-context.md"), &[("event", event), ("text", &fenced(text))])
}

/// A command the person ran beside the conversation, and what it said.
pub fn ran_by_person(command: &str, output: &str) -> String {
    fill(include_str!("../prompts/ran-by-person.md"), &[("command", &fenced(command)), ("output", &fenced(output))])
}

/// What the person piped in behind a question they typed.
pub fn piped_in(input: &str) -> String {
    fill(include_str!("../prompts/piped-in.md"), &[("input", &fenced(input))])
}

/// Refuses a tool that extraction has no use for.
pub const EXTRACTION_OTHER_TOOL: &str = include_str!("../prompts/extraction/other-tool.md");
/// Refuses one memory too many.
pub const EXTRACTION_ENOUGH: &str = include_str!("../prompts/extraction/enough.md");

/// What a fork is told that looks for memories.
pub struct Extraction<'a> {
    /// How many messages are new.
    pub count: usize,
    /// How the first of them begins.
    pub first: &'a str,
    /// Where the memory is.
    pub place: &'a str,
    /// The shared part of it, where there is one.
    pub team: Option<&'a str>,
    /// What is there already, one line each.
    pub manifest: &'a str,
}

/// Asks a fork to save what the last messages taught.
pub fn extract(about: &Extraction<'_>) -> String {
    let count = about.count.to_string();
    let place = match about.team {
        None => fill(include_str!("../prompts/extraction/where.md"), &[("dir", about.place)]),
        team => {
            let scopes: String =
                include_str!("../prompts/memory/types/scopes.md").lines().map(|line| format!("- {line}\n")).collect();
            format!("{}\n\n{scopes}", memory_where(about.place, team).trim_end())
        }
    };
    let values = [
        ("count", count.as_str()),
        ("first", &fenced(about.first)),
        ("where", place.trim()),
        ("manifest", about.manifest),
    ];
    fill(include_str!("../prompts/extraction/extract.md"), &values)
}

/// Tells a learner what to keep of the user's typed words.
pub const LEARNER: &str = include_str!("../prompts/learning/learner.md");
/// Tells a learner what to keep of an exchange.
pub const LOOK_BACK: &str = include_str!("../prompts/learning/look-back.md");
/// What the learner's one tool does.
pub const LEARNER_TOOL: &str = include_str!("../prompts/learning/tool.md");

/// What a learner is shown.
pub fn learner_words(today: &str, memories: &str, words: &str) -> String {
    let memories = if memories.is_empty() { String::new() } else { format!("{memories}\n\n") };
    let values = [("today", today), ("memories", memories.as_str()), ("words", words)];
    fill(include_str!("../prompts/learning/words.md"), &values)
}

/// The memories that are there.
pub fn learner_memories(list: &str, whole: &str) -> String {
    let whole = if whole.is_empty() { String::new() } else { format!("\n\n{whole}") };
    fill(include_str!("../prompts/learning/memories.md"), &[("list", list), ("whole", whole.as_str())])
}

/// One memory in full.
pub fn learner_memory(path: &str, text: &str) -> String {
    fill(include_str!("../prompts/learning/memory.md"), &[("path", path), ("text", text)])
}

/// What was typed before.
pub fn learner_earlier(words: &str) -> String {
    fill(include_str!("../prompts/learning/earlier.md"), &[("words", words)])
}

/// The answer that a message replies to.
pub fn learner_answer(text: &str) -> String {
    fill(include_str!("../prompts/learning/answer.md"), &[("text", text)])
}

/// Asks once more for an answer that can be read.
pub fn learner_again(why: &str) -> String {
    fill(include_str!("../prompts/learning/again.md"), &[("why", &fenced(why))])
}

/// Whether a text shows an instruction file that came with a repository, or lay where others write.
pub fn holds_repository_file(text: &str) -> bool {
    let kinds = ["above", "project", "local"].map(instruction_kind);
    let included = instruction_kind("included").split("{{").next().unwrap_or_default();
    kinds.into_iter().chain([included]).any(|kind| !kind.is_empty() && text.contains(&format!("({kind}")))
}

/// Whether a text is what the person only passed on: a command with its output, or what was piped in.
pub fn is_passed_on(text: &str) -> bool {
    let frames = [include_str!("../prompts/ran-by-person.md"), include_str!("../prompts/piped-in.md")];
    frames.iter().any(|frame| frame.split("{{").next().is_some_and(|head| text.starts_with(head)))
}

/// Whether a text is a reminder of ours.
pub fn is_reminder(text: &str) -> bool {
    text.starts_with("<system-reminder>")
}

/// What the model sees of a tool result that was stored.
pub fn stored_result(size: &str, path: &str, how: &str, preview: &str) -> String {
    let values = [("size", size), ("path", path), ("how", how), ("preview", preview)];
    fill(include_str!("../prompts/stored-result.md"), &values)
}

/// Says that the index of the memory was cut, why, and how to make room.
pub fn index_cut(why: &str, file: &str) -> String {
    fill(include_str!("../prompts/memory/index-cut.md"), &[("why", why), ("file", file)])
}

/// Asks for a summary. `focus` is what the person wants it to attend to; `part` is how the stretch begins when it is not
/// the whole conversation.
pub fn summarise(focus: &str, part: &str) -> String {
    let focus = match focus.trim() {
        "" => String::new(),
        focus => fill(include_str!("../prompts/compaction/focus.md"), &[("focus", focus)]),
    };
    let part = match part.trim() {
        "" => String::new(),
        part => fill(include_str!("../prompts/compaction/part.md"), &[("part", part)]),
    };
    fill(include_str!("../prompts/compaction/summarise.md"), &[("focus", &focus), ("part", &part)])
}

/// What stands beside a summary that may not be changed.
pub fn beside(text: &str) -> String {
    fill(include_str!("../prompts/compaction/beside.md"), &[("text", text)])
}

/// Whether a text stands beside such a summary.
pub fn is_beside(text: &str) -> bool {
    let frame = include_str!("../prompts/compaction/beside.md");
    frame.split("{{").next().is_some_and(|head| text.starts_with(head))
}

/// A summary, as the model that goes on reads it.
pub fn summary(text: &str) -> String {
    fill(include_str!("../prompts/compaction/summary.md"), &[("summary", text)])
}

/// How much of a file is brought back, and which lines.
pub enum Restored {
    /// All of it.
    Whole,
    /// Its beginning: the last line shown and how many there are.
    Head(usize, usize),
    /// A range: first, last, and how many there are.
    Lines(usize, usize, usize),
}

impl Restored {
    /// For a model to read.
    pub fn told(&self) -> String {
        let number = |number: &usize| number.to_string();
        match self {
            Restored::Whole => include_str!("../prompts/compaction/restored-whole.md").trim_end().to_owned(),
            Restored::Head(last, lines) => fill(
                include_str!("../prompts/compaction/restored-head.md"),
                &[("last", &number(last)), ("lines", &number(lines))],
            ),
            Restored::Lines(first, last, lines) => fill(
                include_str!("../prompts/compaction/restored-lines.md"),
                &[("first", &number(first)), ("last", &number(last)), ("lines", &number(lines))],
            ),
        }
    }
}

/// Said of a file that is brought back and that the model may change as it stands.
pub const RESTORED_UNCHANGED: &str = include_str!("../prompts/compaction/restored-unchanged.md");
/// Said of one that is no longer what the model saw.
pub const RESTORED_CHANGED: &str = include_str!("../prompts/compaction/restored-changed.md");

/// A file that is brought back after a compaction.
pub fn restored_file(path: &str, text: &str) -> String {
    fill(include_str!("../prompts/compaction/restored-file.md"), &[("path", path), ("text", &fenced(text))])
}

/// A skill that is brought back after a compaction.
pub fn restored_skill(name: &str, text: &str) -> String {
    fill(include_str!("../prompts/compaction/restored-skill.md"), &[("name", name), ("text", text)])
}

/// The plan that is brought back after a compaction.
pub fn restored_plan(plan: &str) -> String {
    fill(include_str!("../prompts/compaction/restored-plan.md"), &[("plan", plan)])
}

/// Tasks that are brought back after a compaction.
pub fn restored_tasks(tasks: &str) -> String {
    fill(include_str!("../prompts/compaction/restored-tasks.md"), &[("tasks", tasks)])
}

/// What a fold line says.
pub struct Folded<'a> {
    /// The fold's number.
    pub number: u64,
    /// How many rounds it hides.
    pub rounds: u64,
    /// What they measure.
    pub tokens: u64,
    /// How many calls failed.
    pub failed: u64,
    /// The tools that were used.
    pub tools: &'a str,
    /// The files that were touched.
    pub files: &'a str,
    /// The model's last words.
    pub outcome: &'a str,
}

/// The line that stands for folded rounds.
pub fn fold(folded: &Folded<'_>) -> String {
    let [number, rounds, tokens, failed] =
        [folded.number, folded.rounds, folded.tokens, folded.failed].map(|n| n.to_string());
    let values = [
        ("number", number.as_str()),
        ("rounds", &rounds),
        ("tokens", &tokens),
        ("failed", &failed),
        ("tools", or_none(folded.tools)),
        ("files", or_none(folded.files)),
        ("outcome", or_none(folded.outcome)),
    ];
    fill(include_str!("../prompts/fold.md"), &values)
}

/// What a snip marker says.
pub struct Snipped<'a> {
    /// The snip's number.
    pub number: u64,
    /// How many messages it hides.
    pub messages: u64,
    /// What they measure.
    pub tokens: u64,
    /// Who wanted it.
    pub who: &'a str,
    /// Why.
    pub reason: &'a str,
    /// The person's standing constraints among them, as a block.
    pub constraints: &'a str,
}

/// The marker that stands for what was taken out.
pub fn snip(snipped: &Snipped<'_>) -> String {
    let [number, messages, tokens] = [snipped.number, snipped.messages, snipped.tokens].map(|n| n.to_string());
    let values = [
        ("number", number.as_str()),
        ("messages", &messages),
        ("tokens", &tokens),
        ("who", snipped.who),
        ("reason", or_none(snipped.reason)),
        ("constraints", snipped.constraints),
    ];
    fill(include_str!("../prompts/snip.md"), &values).trim_end().to_owned()
}

fn or_none(words: &str) -> &str {
    if words.trim().is_empty() { "none" } else { words }
}

/// What a fork is told.
pub fn errand(name: &str, directive: &str) -> String {
    fill(include_str!("../prompts/errand.md"), &[("name", name), ("directive", directive)])
}

/// Where the memory is; with a team's folder beside it where there is one.
pub fn memory_where(dir: &str, team: Option<&str>) -> String {
    match team {
        None => fill(include_str!("../prompts/memory/where.md"), &[("dir", dir)]),
        Some(team) => fill(include_str!("../prompts/memory/where-team.md"), &[("dir", dir), ("team", team)]),
    }
}

/// The four types of memory; shared ones also say which folder they belong to.
pub fn memory_types(sharing: Sharing) -> String {
    let scopes = include_str!("../prompts/memory/types/scopes.md");
    let types = [
        ("user", include_str!("../prompts/memory/types/user.md")),
        ("feedback", include_str!("../prompts/memory/types/feedback.md")),
        ("project", include_str!("../prompts/memory/types/project.md")),
        ("reference", include_str!("../prompts/memory/types/reference.md")),
    ];
    let told = types.map(|(name, text)| {
        let scope = match sharing {
            Sharing::Private => String::new(),
            Sharing::Team => format!("\n<scope>{}</scope>", named_line(scopes, name)),
        };
        fill(text, &[("scope", &scope)])
    });
    fill(include_str!("../prompts/memory/types.md"), &[("types", &told.join("\n"))])
}

/// Whether some memories are shared with a team.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// None are.
    Private,
    /// Some are.
    Team,
}

/// What to do when the person says remember or forget.
pub const MEMORY_ASKED: &str = include_str!("../prompts/memory/asked.md");
/// What is never saved.
pub const MEMORY_NOT_SAVED: &str = include_str!("../prompts/memory/not-saved.md");
/// How a memory is saved.
pub const MEMORY_SAVING: &str = include_str!("../prompts/memory/saving.md");
/// When to look into the memory, and when not.
pub const MEMORY_LOOKING: &str = include_str!("../prompts/memory/looking.md");
/// How far a memory can be trusted.
pub const MEMORY_TRUST: &str = include_str!("../prompts/memory/trust.md");
/// What belongs into a plan or a task list instead.
pub const MEMORY_ELSEWHERE: &str = include_str!("../prompts/memory/elsewhere.md");
/// Stands for an index without lines.
pub const MEMORY_EMPTY_INDEX: &str = include_str!("../prompts/memory/empty-index.md");

/// Refuses a name that no memory can have.
pub const MEMORY_ODD_NAME: &str = include_str!("../prompts/memory/odd-name.md");
/// Refuses a memory that is no text.
pub const MEMORY_NOT_TEXT: &str = include_str!("../prompts/memory/not-text.md");
/// Refuses to change what a log says already.
pub const MEMORY_LOG_APPENDS: &str = include_str!("../prompts/memory/log-appends.md");
/// Refuses a log under another name.
pub const MEMORY_LOG_NAME: &str = include_str!("../prompts/memory/log-name.md");
/// Says that a memory waits for the person.
pub const MEMORY_UNCONFIRMED: &str = include_str!("../prompts/memory/unconfirmed.md");
/// Refuses to write the index.
pub const MEMORY_INDEX_REFUSED: &str = include_str!("../prompts/memory/index-refused.md");

/// Tells a model how to choose among memories.
pub fn select(most: u64, nonce: &str) -> String {
    fill(include_str!("../prompts/memory/select.md"), &[("most", &most.to_string()), ("nonce", nonce)])
}

/// What it chooses for, and among what.
pub fn select_among(query: &str, tools: &str, manifest: &str, nonce: &str) -> String {
    let values = [("query", query), ("tools", tools), ("manifest", manifest), ("nonce", nonce)];
    fill(include_str!("../prompts/memory/select-among.md"), &values)
}

/// How a memory is saved where it is a daily log; `log` is the pattern of its path.
pub fn memory_log(log: &str) -> String {
    fill(include_str!("../prompts/memory/saving-log.md"), &[("log", log)])
}

/// How past sessions are searched.
pub fn memory_searching(dir: &str, transcripts: &str) -> String {
    fill(include_str!("../prompts/memory/searching.md"), &[("dir", dir), ("transcripts", transcripts)])
}

/// What the person adds about their memory.
pub fn memory_guidelines(guidelines: &str) -> String {
    fill(include_str!("../prompts/memory/guidelines.md"), &[("guidelines", guidelines)])
}

/// What stands above a memory that was saved today or yesterday.
pub fn memory_header(path: &str, age: &str) -> String {
    fill(include_str!("../prompts/memory/header-today.md"), &[("path", path), ("age", age)])
}

/// What stands above an older one.
pub fn old_memory_header(path: &str, age: &str) -> String {
    fill(include_str!("../prompts/memory/header-old.md"), &[("path", path), ("age", age)])
}

/// Where a memory comes from that the person did not say.
pub fn memory_from(from: &str) -> String {
    fill(include_str!("../prompts/memory/header-from.md"), &[("from", from)])
}

/// What a memory mentions that is not there any more.
pub fn memory_gone(gone: &str) -> String {
    fill(include_str!("../prompts/memory/header-gone.md"), &[("gone", gone)])
}

/// Says that a memory goes on, and where.
pub fn memory_cut(path: &str) -> String {
    fill(include_str!("../prompts/memory/cut.md"), &[("path", path)])
}

/// One recalled memory.
pub fn recalled_memory(header: &str, text: &str, nonce: &str) -> String {
    let values = [("header", header), ("text", text), ("nonce", nonce)];
    fill(include_str!("../prompts/memory/recalled-one.md"), &values)
}

/// All memories that are recalled together.
pub fn recalled(memories: &str, nonce: &str) -> String {
    fill(include_str!("../prompts/memory/recalled.md"), &[("memories", memories), ("nonce", nonce)])
}

/// One instruction file.
pub fn instruction_file(path: &str, what: &str, text: &str, nonce: &str) -> String {
    let values = [("path", path), ("what", what), ("text", text), ("nonce", nonce)];
    fill(include_str!("../prompts/instructions/file.md"), &values)
}

/// All instruction files, and the memory index.
pub fn instructions(files: &str, nonce: &str) -> String {
    fill(include_str!("../prompts/instructions/context.md"), &[("files", files), ("nonce", nonce)])
}

/// Stands for the text of an instruction file that is no longer there.
pub const GONE_INSTRUCTIONS: &str = include_str!("../prompts/instructions/gone.md");

/// Instruction files that changed since the conversation was told of them.
pub fn changed_instructions(files: &str, nonce: &str) -> String {
    fill(include_str!("../prompts/instructions/changed.md"), &[("files", files), ("nonce", nonce)])
}

/// Whether a text tells of such a change.
pub fn is_change_of_instructions(text: &str) -> bool {
    include_str!("../prompts/instructions/changed.md").split("{{").next().is_some_and(|head| text.starts_with(head))
}

/// What an instruction file is, by its kind.
pub fn instruction_kind(kind: &str) -> &'static str {
    named_line(include_str!("../prompts/instructions/kinds.md"), kind)
}

/// What an instruction file is that another one includes.
pub fn included_instructions(by: &str) -> String {
    fill(instruction_kind("included"), &[("by", by)])
}

/// Rules that hold for files that were touched.
pub fn rules(files: &str, nonce: &str) -> String {
    fill(include_str!("../prompts/instructions/rules.md"), &[("files", files), ("nonce", nonce)])
}

/// What such a rule is.
pub fn rule(paths: &str) -> String {
    fill(include_str!("../prompts/instructions/rule.md"), &[("paths", paths)])
}

/// The text after `name: ` in a file of short texts.
fn named_line(file: &'static str, name: &str) -> &'static str {
    let line = file.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    line.unwrap_or_default()
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
