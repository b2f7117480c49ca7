//! What speaks against keeping a sentence: that it asks, supposes, reports, jokes, is meant for the moment, or must never be kept.

use super::phrase::Sense;
use regex::Regex;
use std::sync::LazyLock;

/// Several patterns that are looked for as one. A test sees to it that they compile.
struct Signs(LazyLock<Option<Regex>>);

impl Signs {
    const fn new(build: fn() -> Option<Regex>) -> Self {
        Self(LazyLock::new(build))
    }

    fn are_in(&self, text: &str) -> bool {
        self.0.as_ref().is_none_or(|signs| signs.is_match(text))
    }
}

macro_rules! signs {
    ($($(#[$doc:meta])* $name:ident = [$($pattern:expr),+ $(,)?];)+) => {
        $($(#[$doc])* static $name: Signs =
            Signs::new(|| Regex::new(&format!("(?i)(?:{})", [$($pattern),+].join("|"))).ok());)+

        #[cfg(test)]
        const ALL: &[&Signs] = &[$(&$name),+];
    };
}

signs! {
    ASKS = [
        r"[?？]\s*[)”」]?\s*$",
        r"^(?:do|does|did|can|could|would|should|shall|is|are|will|have|has) (?:you|we|i|it|they|there|the|this|that)\b",
        r"^(?:what|why|how|where|who|which)\b",
        r"(?:吗|呢)[。！]?\s*$",
        "是不是|要不要|能不能|可不可以|是否|为什么|怎么样",
    ];
    /// Things that are only imagined, or not settled.
    SUPPOSES = [
        r"\b(?:suppose|supposing|imagine|hypothetically|what if|let's say|in theory|maybe|perhaps|i wonder|not sure)\b",
        r"\b(?:i think|i guess|i suppose|might|probably|possibly|wish|would be|would have|could be|if we|if i|if you were)\b",
        r"\b(?:rule like|perfect world|ideally|would love|would like to|thinking about|considering|toying with)\b",
        r"\b(?:for example|for instance|e\.g\.|such as|as if|pretend)\b",
        r"\b(?:vielleicht|angenommen|stell dir vor|peut-être|imagine|supposons|quizás?|tal vez|imagina)\b",
        "如果|假如|假设|要是|也许|可能|或许|比如|例如|万一",
    ];
    /// Words of somebody else.
    REPORTS = [
        r"\b(?:says?|said|writes|wrote|claims?|claimed|states?|according to|quote|quoted|told (?:me|us)|tells (?:me|us))\b",
        r"\b(?:he|she|they|boss|manager|customers?|clients?|people|some(?:one|body)) (?:always |never |all )?(?:wants?|thinks?|insists?|asked|suggests?)\b",
        r"\b(?:readme|docs?|documentation|ticket|issue|comment|e-?mail|page|article|prompt|message|linter|compiler|spec)\b[^.]{0,30}\b(?:tells?|asks?|wants?|recommends?|suggests?|reads?)\b",
        r"\b(?:sagt|schreibt|laut|meint|dit que|selon|écrit|dice que|según)\b",
        "写着|写道|上写|说[：:,，]|说过|据说|提到|声称|要求[：:]|上说|里说|他说|她说|老板说|客户说",
    ];
    JESTS = [
        r"\b(?:oh sure|yeah right|yeah,? sure|sure thing|what could (?:possibly )?go wrong|as if|very funny|great idea|lol|haha|just kidding|kidding|joking)\b",
        r"^(?:brilliant|genius|bravo)\b|\b(?:nobody needs|who needs|why not just|worked so well|works so well|let's just)\b",
        r"(?:^|\s)/s\b|🙄|😂|🤣|😏|😉|🙃",
        r"\b(?:na klar|ironie|haha|bien sûr|jaja|mdr|just so we can|because that worked so well)\b",
        "对对对|呵呵|哈哈|才怪|一定没问题|真是好主意|笑死|开玩笑|反话|可真行|那可太好了",
    ];
    /// Meant for now, in so many words.
    FOR_NOW = [
        r"\b(?:for now|for the moment|right now|at the moment|this time|this once|just once|temporarily|only today|today only)\b",
        r"\b(?:vorerst|diesmal|pour l'instant|cette fois|por ahora|esta vez)\b|这次|这一次|这回|暂时",
    ];
    /// Meant for now.
    MOMENTARY = [
        r"\b(?:yet|currently|tonight|until further notice)\b",
        r"\b(?:for|in|on|with) (?:this|that|the current|the next|your next|the following) (?:\w+ )?(?:task|file|pr|commit|change|answer|one|session|function|run|branch|ticket|reply|response|message|case|chat|conversation|thread|step|test|bug|module|class|method|table|example|section|list)\b",
        r"\b(?:this|that) (?:file|branch|pr|commit|one|task) only\b|\buntil\b|\bwhile (?:i|we|you)(?:'m|'re| am| are)\b|\b(?:for the rest of|during this|as long as)\b",
        r"\b(?:first|today|tomorrow|now|later|anymore today)[.!]?\s*$|\b(?:but|just|so) not (?:now|today)\b|\bbefore (?:you|we) (?:start|begin|continue|proceed)\b",
        r"\b(?:erst ?mal|noch nicht|jetzt nicht|im moment|heute|pas encore|todavía no|de momento)\b",
        "本次|先别|先不|先不要|目前|现在先|今天先|这个文件|这个回答|等我|等下|一会儿|临时|这一步|这个任务",
    ];
    /// What points at something in front of both, and means nothing later.
    POINTS = [
        r"^(?:\S+\s+){1,3}?(?:this|that|these|those|it|them|him|her|here|there)\b",
        r"\bthe (?:above|following|rest|same|other|first|second|last|latter|former)\b|\boption (?:\d|[a-d]\b)|\byour\b[^.]{0,20}\b(?:suggestion|proposal|version|approach|idea)",
        "这样|那样|这么|那么|这个(?:方案|版本|文件)|那个|它",
    ];
    /// This repository and this team last.
    LASTS = [r"\bthis (?:repo|repository|project|codebase|code base|team|company|monorepo|machine|workspace)\b"];
    /// A ban that says for what, or why.
    GROUND = [
        r"\b(?:ever|again|any ?more|any|anything|without|unless|when(?:ever)?|before|every|each|all|everywhere|anywhere|in general|in production|on (?:fri|mon|tues|wednes|thurs|satur|sun)days?)\b",
        r"\b(?:because|otherwise|it breaks|it broke|last time|hid|we got burned)\b",
        r"\bin (?:tests?|commit messages?|comments?|code|docs?|prs?|pull requests?|this (?:repo|repository|project|codebase))\b",
        r"^(?:don't|do not|avoid|stop) (?:use|using|write|writing|add|adding|mock|mocking|suggest|suggesting|include|including|propose|proposing|end|ending|put|putting|create|creating)\s+(?:\w[\w-]*\s+){0,2}\w+s\b",
        r"再|任何|因为|否则|不然|上次|直接|在.{1,12}(?:里|中|时|上|前|之前)",
    ];
    /// Credentials that no rule of the scanner knows, told by the word before them.
    CREDENTIAL = [
        r"\b(?:password|passwort|passphrase|passcode|mot de passe|contraseña|api[ -]?key|access key|secret|token|pin)\b\s*(?:is|ist|est|es|=|:|was)?\s*\S*\d\S*",
        r"\b(?:password|passwort|passphrase|mot de passe|contraseña)\s*(?:is|ist|est|es|=|:)\s*\S+",
        r"(?:密码|口令|密钥|令牌)\s*(?:是|为|：|:|=)?\s*[A-Za-z0-9!@#$%^&*_-]{4,}",
    ];
    /// Judgements of people.
    JUDGES = [
        r"\bi(?:'m| am) no \w+|\b(?:is|are|was|were|i'm|i am|he's|she's)\b[^.,]{0,20}\b(?:careless|lazy|stupid|incompetent|sloppy|an idiot|annoying|useless|dumb|clueless|terrible at|bad at|slow at)\b",
        r"\b(?:faul|dumm|unfähig|paresseux|stupide|incompétent|perezoso|tonto|inútil)\b",
        "粗心|不擅长|水平差|太慢|懒惰|很懒|太懒|很笨|太笨|愚蠢|蠢|无能|差劲|讨厌|马虎|不靠谱",
    ];
    /// The state of today's work, recipes, and what the code says itself.
    FLEETING = [
        r"\b(?:halfway|half-way|in progress|work in progress|wip|next step|left off|still open|we stopped at|todo list|where we were)\b",
        r"\b(?:stopped at|left to do|done so far|so far|remaining work|commit [0-9a-f]{7,}|(?:merged|opened|closed) (?:pr|#\d+|pull request|issue)|fixed (?:the|a|that) (?:bug|crash|test))\b",
        r"\b(?:to fix (?:the|this|that|it)|fails?,? (?:run|restart|delete|clear)|(?:restarting|clearing|deleting|reinstalling)\b.*\bhelp(?:s|ed))\b",
        r"\b(?:the fix (?:was|is)|fixed (?:it )?by|workaround (?:was|is)|the bug was|the error was)\b",
        r"\b(?:is (?:defined|implemented|declared) in|returns? (?:none|null|an? error|true|false|ok|err)|the (?:last|latest) commit|git log|was (?:committed|merged) by)\b",
        r"\b[\w./-]+\.(?:rs|py|ts|tsx|js|go|java|c|h|cpp|rb|kt|swift)\b[^.]{0,40}\b(?:has|contains|defines|exports|calls|line \d+)\b",
        r"还没写|写完了|进行到|做到一半|还剩|修复方法|解决办法是|最后一次提交|返回\s*(?:None|null|空|错误)|定义在|实现在",
    ];
    OFF_RECORD = [
        r"\boff the record\b|\b(?:don't|do not|no need to|never|you needn't) (?:remember|save|memori[sz]e|store|record|write down|note down) (?:this|that|it|any of (?:this|that|it)|what i)\b",
        r"\b(?:merk dir das nicht|nicht merken|ne retiens pas|ne garde pas|no (?:lo )?recuerdes|no guardes)\b",
        r"(?:别|不要|不用|无需|不必)(?:记住|记下|保存|记录|记)(?:这|那|它|了|下来|。|！|$)",
    ];
    /// "Translate this:", "here is the mail:": what follows is somebody's text.
    MATERIAL = [
        r"^(?:please )?(?:translate|proofread|rephrase|rewrite|paraphrase|summari[sz]e|review|explain|analy[sz]e|check|correct|improve|übersetze|traduis|traduce)\b.*[:：]",
        r"\b(?:here(?:'s| is| are)|this is|below|following|pasted?|got this|the (?:ticket|e-?mail|mail|issue|log|error|output|page|readme|docs?|text|message|comment|prompt|spec|file|review) (?:says|reads|is|was))\b.*[:：]$",
        r"^(?:e-?mail|ticket|log|error|output|readme|issue|from|subject|text|prompt|system|assistant|user|human)[:：]",
        r"^(?:请)?(?:翻译|总结|润色|改写|解释|校对|检查).*[:：]",
        r"(?:如下|内容是|邮件|日志|工单|网页|原文|报错)[:：]$",
    ];
    /// What "remember" is not followed by where something is told.
    NOT_TOLD = [
        r"^(?:when|how|what|where|who|why|whether|if|last|our|your|all|me|him|her|them|us|it|this|these|those)\b",
        r"^(?:one|the) (?:time|day|bug|thing)\b|^to\b|^(?:告诉|说|提|带|把)",
    ];
    TOLD_ANYWAY = [
        r"^to (?:always|never|only)\b|^to\b.*\b(?:always|never|whenever|every|each|before|after)\b",
        r"^(?:when(?:ever)?|if|our|your|all|these|this|last|where)\b.*\b(?:is|are|must|should|always|never|use|uses|lives?|goes|go|prefer|means?)\b",
    ];
}

pub(super) fn is_question(sentence: &str) -> bool {
    ASKS.are_in(sentence.trim())
}

pub(super) fn is_supposed(sentence: &str) -> bool {
    SUPPOSES.are_in(sentence)
}

/// Whether the sentence tells what somebody else says. "As I said" does not.
pub(super) fn is_reported(masked: &str) -> bool {
    if masked.split_once(':').is_some_and(|(name, _)| is_a_speaker(name)) {
        return true;
    }
    let own = ["as i said", "like i said", "i said", "i already said", "as i told you", "i told you", "我说过"];
    let lower = own.iter().fold(masked.to_lowercase(), |text, own| text.replace(own, ""));
    REPORTS.are_in(&lower)
}

/// "Bob: never squash" is what Bob says.
fn is_a_speaker(name: &str) -> bool {
    let openers = [
        "decision",
        "decided",
        "agreed",
        "remember",
        "note",
        "important",
        "rule",
        "rules",
        "correction",
        "reminder",
        "deadline",
        "fyi",
        "btw",
        "also",
        "please",
        "so",
        "preference",
        "merke",
        "retiens",
        "recuerda",
    ];
    let one_word = !name.is_empty() && name.chars().all(char::is_alphabetic);
    one_word && name.starts_with(|c: char| c.is_ascii_uppercase()) && !openers.contains(&name.to_lowercase().as_str())
}

pub(super) fn is_jest(sentence: &str) -> bool {
    JESTS.are_in(sentence)
}

pub(super) fn is_momentary(sentence: &str) -> bool {
    is_just_for_now(sentence) || MOMENTARY.are_in(sentence)
}

/// Whether the words say themselves that they are for now.
pub(super) fn is_just_for_now(sentence: &str) -> bool {
    FOR_NOW.are_in(sentence)
}

/// Credentials, judgements of people, the state of the work, what the code says: not kept, even when asked for.
pub(super) fn is_never_kept(sentence: &str) -> bool {
    CREDENTIAL.are_in(sentence) || JUDGES.are_in(sentence) || FLEETING.are_in(sentence)
}

pub(super) fn is_off_the_record(sentence: &str) -> bool {
    OFF_RECORD.are_in(sentence)
}

pub(super) fn introduces_material(sentence: &str) -> bool {
    MATERIAL.are_in(sentence.trim())
}

/// Whether what was caught can stand by itself.
pub(super) fn fits(sense: Sense, what: &str, clause: &str) -> bool {
    let first = clause.split([',', ';', '，', '；', '—']).next().unwrap_or(clause);
    let first = first.replace("it when", "when");
    let points = || POINTS.are_in(&first) && !LASTS.are_in(&first);
    let told = what.chars().filter(|c| c.is_alphanumeric()).count() >= 4;
    match sense {
        Sense::Remember => told && (!NOT_TOLD.are_in(what) || TOLD_ANYWAY.are_in(what)),
        Sense::Forget => told && !ASKS.are_in(what),
        Sense::Ban => told && !points() && GROUND.are_in(clause),
        Sense::Rule | Sense::Liking => told && !points(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sign_compiles() {
        assert!(ALL.iter().all(|signs| signs.0.is_some()));
    }
}
