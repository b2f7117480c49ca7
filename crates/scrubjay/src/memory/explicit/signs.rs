//! The patterns that speak against keeping a sentence, by what they are signs of.

use regex::Regex;
use std::sync::LazyLock;

/// Several patterns that are looked for as one. A test sees to it that they compile.
pub(super) struct Signs(LazyLock<Option<Regex>>);

impl Signs {
    const fn new(build: fn() -> Option<Regex>) -> Self {
        Self(LazyLock::new(build))
    }

    pub(super) fn start_in(&self, text: &str) -> Option<usize> {
        self.0.as_ref().and_then(|signs| signs.find(text)).map(|found| found.start())
    }

    pub(super) fn are_in(&self, text: &str) -> bool {
        self.0.as_ref().is_none_or(|signs| signs.is_match(text))
    }
}

macro_rules! signs {
    ($($(#[$doc:meta])* $name:ident = [$($pattern:expr),+ $(,)?];)+) => {
        $($(#[$doc])* pub(super) static $name: Signs =
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
        // A statement that leads up to a question is there for its sake.
        r"[,;]\s*(?:so|and|but|or)?\s*(?:(?:can|could|would|will) you|(?:how|what|why|where|which) (?:do|does|can|could|should|would|is|are)|do you|is there|any idea)\b",
        r"(?:吗|呢)[。！]?\s*$",
        "是不是|要不要|能不能|可不可以|是否|为什么|怎么样|怎么回|怎么办|^(?:哪|谁|几)|谁写|谁说|不对吧|对吧|是吧|[，,](?:怎么|为何|咋)|(?:什么|谁|哪里|哪个|怎么\\S{0,4})[。！]?\\s*$",
    ];
    /// A lasting wish in the form of a question.
    REQUESTS = [
        r"^(?:\W|and |so |ok |please |also )*(?:can|could|would|will) you (?:please (?:always|never)\b|(?:please )?(?:from now on|in (?:the )?future|going for?ward)\b|(?:please )?[a-z-]+\s.*\b(?:from now on|going for?ward)(?:,? please)?[.!?]*\s*$)",
    ];
    /// Things that are only imagined, or not settled.
    SUPPOSES = [
        r"\b(?:suppose|supposing|imagine|hypothetically|what if|let's say|in theory|maybe|perhaps|i wonder|not sure)\b",
        r"\b(?:i believe|i assume|iirc|afaik|as far as|if i recall|if i remember|(?:was|were) supposed|rumou?rs?|i heard|heard that|looks like|nobody knows|don['’]t know (?:where|when|what|which|who|if|whether)|let me (?:ask|think|check|sleep)|may end up|to be (?:discussed|decided|confirmed)|tbd|undecided|torn|nobody told|it is wrong|it['’]s wrong|not the case|assume|assuming)\b",
        r"\b(?:i think|i guess|i suppose|might|probably|possibly|wish|would be|would have|could be|if we|if (?:i|you) (?:had|were|was|could|would|wanted?|told|did|always|never|use|used|add|added|go|switch|decide|change|changed|said|say)|if you were)\b",
        r"\b(?:rule like|perfect world|ideally|would love|would like to|thinking about|considering|toying with)\b",
        r"\b(?:for example|for instance|e\.g\.|such as|as if|pretend)\b",
        r"\b(?:vielleicht|angenommen|stell dir vor|peut-être|imagine|supposons|quizás?|tal vez|imagina)\b",
        "如果|假如|假设|要是|也许|可能|或许|比如|例如|万一|(?:以后|今后|往后)(?:就|也|都|还)*(?:不?会(?:[^再变]|再[^变])|才|再说)|设想|提议|最好能|大概|还没定|没定|听说|据说|不知道|再想想|好像|似乎|并不是|没人|定不了|定不下|决定先|什么意思",
        r"\b(?:könnte|würde|nicht entschieden|pourrait|podría)\b",
    ];
    /// Words of somebody else.
    REPORTS = [
        r"\b(?:says?|said|saying|replied|recommends?|writes|wrote|claims?|claimed|states?|according to|quote|quoted|told (?:me|us)|tells (?:me|us))\b",
        r"\b(?:he|she|they|boss|manager|customers?|clients?|people|some(?:one|body)) (?:always |never |all )?(?:wants?|thinks?|insists?|asked|suggests?)\b",
        r"\b(?:readme|docs?|documentation|ticket|issue|comment|e-?mail|page|article|prompt|message|linter|compiler|spec)\b[^.]{0,30}\b(?:tells?|asks?|wants?|recommends?|suggests?|reads?)\b",
        r"\b(?:sagt|schreibt|laut|meint|dit que|selon|écrit|dice que|según)\b",
        "总说|老说|常说|跟我说|告诉我|贴着|有一条|建议|规定|写着|写道|上写|说[：:,，]|说过|据说|[里中上他她]提到|声称|要求[：:]|上说|里说|他说|她说|老板说|客户说",
    ];
    /// What was the case somewhere else, or once.
    ELSEWHERE = [
        r"\b(?:at|in|on|with|from|for) (?:my|our|the|his|her|their|a|an|another) ?(?:very )?(?:last|previous|old|former|other|prior|earlier|different|past|ex-)?-? ?(?:job|company|employer|workplace|gig|internship|startup|university)\b",
        r"\b(?:(?:my|our) (?:last|previous|old|former|other)|another|some other) (?:team|project|repo|repository|company|job|client)\b",
        r"\b(?:back then|back when|back in|years ago|months ago|used to|once upon|in those days|in my experience|years back)\b",
        "上一家|以前的公司|前公司|之前的公司|上家|别的项目|另一个项目|当年|那时候|那会儿|曾经",
    ];
    /// The agent is cast in a role, or given the terms of a game: all of it is the task.
    ROLE = [
        r"\b(?:act as|i want you to act|you are tasked|your task is|you will be given|i will (?:provide|give) you|role-?play|pretend (?:to be|you)|let['’]?s play)\b",
        r"^(?:you are|you['’]re) (?:now )?(?:an?|the|my) \S+",
        "你扮演|扮演一个|假装你是|^你是一[名个位]",
    ];
    /// Said to have something done now.
    ASKED_TO = [
        r"^(?:can|could|would|will) you\b|^(?:i|we) (?:need|want|would like|['’]d like) (?:you )?to\b|^let['’]?s \w+",
        "^(?:帮我?|给我?|把|将|写|改[^用成为到]|修|加|删|实现|重构|生成|检查|看看|看一下|先把|先看|翻译|解释|优化|添加|创建|更新|运行|跑一?下?|用.{1,12}写)",
    ];
    /// For longer than a task, in so many words.
    LASTING = [
        r"\b(?:from now on|from here on|going forward|henceforth|in (?:the )?future|future sessions?|as a (?:general )?rule|in general|generally|usually|ever|any ?more|every time|each time|whenever|at all times|when i\b|for all|everywhere|everything you|anything you|next time|all future|in all (?:of )?(?:my|our|the others)|in any other|(?:goes|holds|applies|counts) for (?:everything|every|all|any|each)|(?:third|second|fourth|nth|last) time i|for the future|for?ward|no matter what|without exception|(?:a|new|standing|house|our|my) rule)\b|\balways\b[^a-z]*$",
        r"\b(?:in|for|across|throughout) this (?:repo|repository|project|codebase|code base|team|company|monorepo)\b",
        "以后|今后|往后|从现在|从今|每次|任何时候|永远|一律|凡是|一直保持|规矩|规则|说过好几次|说过很多次|统统|下次",
    ];
    /// How one works, and not what the program does.
    WORK = [
        r"\b(?:commits?|commit messages?|squash|rebase|force-push|push(?:es)?|merges?|pull requests?|prs?|branch(?:es)?|changelog|release notes|answers?|reply|replies|responses?|explanations?|summar(?:y|ies|i[sz]e|i[sz]ing)|docstrings?|snippets?|worktrees?|emojis?|tests?|test suite|comments?|docs|documentation|dependenc(?:y|ies)|migrations?|deploy(?:s|ments?)?|production|prod|linter|formatter|reviews?|variable names|(?:ask|asking|tell|telling|show|showing|give|giving|warn|remind) me|without my|my laptop|my machine)\b",
        "提交|合并|推送|主分支|分支|测试|注释|文档|回答|回复|生产|线上|部署|上线|评审|格式化|依赖|日志",
    ];
    JESTS = [
        r"\b(?:oh sure|yeah right|yeah,? sure|sure thing|what could (?:possibly )?go wrong|as if|very funny|great idea|lol|haha|just kidding|kidding|joking)\b",
        r"^(?:brilliant|genius|bravo)\b|\b(?:nobody needs|who needs|why not just|worked so well|works so well|let's just)\b",
        r"\boh,? (?:great|wonderful|lovely|fantastic|perfect|joy)\b|\b(?:brilliant|genius|fantastic|wonderful|lovely|splendid) idea\b",
        r"\b(?:tolle idee|super idee|quelle bonne idée|qué gran idea)\b",
        r"(?:^|\s)/s\b|🙄|😂|🤣|😏|😉|🙃",
        r"\b(?:na klar|ironie|haha|bien sûr|jaja|mdr|just so we can|because that worked so well)\b",
        "对对对|呵呵|哈哈|才怪|一定没问题|真是好主意|笑死|开玩笑|反话|可真行|那可太好了",
    ];
    /// Meant for now, in so many words.
    FOR_NOW = [
        r"\b(?:for now|for the moment|right now|at the moment|this time|this once|just once|temporarily|only today|today only|for the time being|for today|just for|for the next (?:\w+ )?(?:minutes?|hours?|days?))\b",
        r"\b(?:vorerst|diesmal|pour l'instant|cette fois|por ahora|esta vez)\b|这次|这一次|这回|暂时",
    ];
    /// Meant for now.
    MOMENTARY = [
        r"\b(?:yet|currently|tonight|until further notice)\b",
        r"\bonly for\b|^today\b|\bduring (?:this|the)\b|\bthis (?:week|morning|afternoon|evening)\b",
        r"\b(?:this|that) (?:file|branch|pr|commit|one|task) only\b|\buntil\b|\bwhile (?:i|we|you)(?:'m|'re| am| are)\b|\b(?:for the rest of|during this|as long as)\b",
        r"(?:[^m]e|[^e\s]) first[.!]?\s*$|\b(?:today|tomorrow|now|later|anymore today)[.!]?\s*$|\b(?:but|just|so) not (?:now|today)\b|\bbefore (?:you|we) (?:start|begin|continue|proceed)\b",
        r"\b(?:erst ?mal|noch nicht|jetzt nicht|im moment|heute|pas encore|todavía no|de momento)\b",
        "结束(?:之前|前)|本次|先别|先不|先不要|目前|现在先|今天先|这个文件|这个回答|等我|等下|一会儿|临时|这一步|这个任务",
    ];
    /// Meant for the piece of work at hand.
    FOR_THIS = [
        r"\b(?:for|in|on|with) this \w+",
        r"\b(?:for|in|on|with) (?:that|the current|the next|your next|the following) (?:\w+ )?(?:task|file|pr|commit|change|answer|one|session|function|run|branch|ticket|reply|response|message|case|chat|conversation|thread|step|test|bug|module|class|method|table|example|section|list)\b",
        r"\bdiese[rmns]? (?:datei|tabelle|funktion|skript|liste|klasse|seite|test|antwort|aufgabe)\b|\b(?:cet?|cette|ces) (?:fichier|fonction|script|tableau|bug|page|test|réponse|classe|module|branche|moment|matin)\b|\best[ea]s? (?:archivo|función|script|tabla|error|página|prueba|respuesta|clase|módulo|rama|mañana)\b",
        "这个(?:函数|方法|类|模块|分支|提交|接口|变量|脚本|页面|循环)",
    ];
    /// What points at something in front of both, and means nothing later.
    POINTS = [
        r"^(?:\S+\s+){1,3}?(?:this|that|these|those|it|them|him|her|here|there)\b|^i (?:\S+\s+){1,5}?(?:this|these|those)\b",
        r"\bthe (?:above|following|rest|same|other|first|second|last|latter|former)\b|\boption (?:\d|[a-d]\b)|\byour\b[^.]{0,20}\b(?:suggestion|proposal|version|approach|idea)",
        r"\b(?:diese[rsnm]? (?:datei|variable|funktion)|hier|ici|aquí|(?:erste|zweite|letzte|andere)[nrs]?|premi(?:er|ère)|deuxième|derni(?:er|ère)|primera?|segund[ao]|últim[ao]|autre|otr[ao]|mehr als|plus de|más de)\b",
        "之前的|刚才|上一版|原来的|这样|那样|这么|那么|这个|那个|它|第[一二三]个|方案[一二三A-Da-d]",
    ];
    /// From here on the text was pasted: the head of a mail, a prompt, a log, a difference.
    PASTED = [
        r"(?m)^(?:from|to|subject|date|cc|von|betreff|发件人|主题)[:：].*\S|^\s*-{2,} ?original|^\s*(?:-{3,}|={3,}|\*{3,}|_{3,})\s*$|^\$ \S|^(?:\+\+\+|---) \S|^@@ |^\+ ?\S",
        r"(?m)^\[?(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d|^\[?(?:error|warn|warning|info|debug|trace|fatal|警告|错误)\b[\]:]?\s|^[\w. -]{2,40}\s\d{1,2}:\d{2}(?:\s?[ap]m)?\s*$",
    ];
    /// The end of a letter.
    SIGNED = [
        r"(?m)^\s*(?:(?:best|kind|warm|many) (?:regards|wishes|thanks)|best|regards|cheers|sincerely|yours|viele grüße|mit freundlichen grüßen|liebe grüße|cordialement|bien à vous|saludos|un saludo|祝好|此致)\b,?[^.\n]{0,20}(?:\n|$)",
    ];
    /// "Actually, no.", "scratch that", "I changed my mind."
    TAKES_BACK = [
        r"^(?:(?:hm+|oh|ok(?:ay)?|no|nah|ah|sorry|actually|wait|oops|well|and|but|or|please|argh|ugh|hang on|you know what)\b[\s,.!:…-]*)*(?:(?:forget|scrap|scratch|strike|cancel|undo|drop|ignore|disregard|skip) (?:that|it|this|what i (?:just )?(?:said|wrote)|my last (?:message|sentence|one)|the last (?:one|bit|part|message))|never ?mind(?: (?:that|it))?|i take (?:that|it|this) back|i(?:['’]ve| have)? changed my mind|i was (?:wrong|only joking|just joking)|(?:that|it) was (?:a joke|meant as a joke|the wrong (?:window|chat))|wrong (?:window|chat|terminal|tab)|on second thoughts?|better not|(?:leave|keep) (?:it|that|things|everything) (?:as|like|the way) (?:it|they|things) (?:was|were|is|are))(?:[.!,;:—–…-].*|\s(?:please|then|again|no)\b.*)?[.!]*\s*$",
        r"^(?:hm+,? ?)?(?:actually,? no|no,? wait|wait,? no|on second thoughts?|oh no,? wait)\b",
        r"^(?:(?:nein|ach|nee|doch|non|ah|no|oh|mejor)\b[\s,.!]*)*(?:vergiss (?:es|das)|doch nicht|lass (?:es|das) (?:wieder )?(?:sein|wie)|oublie(?: ça|-le| tout)|laisse tomber|finalement non|olvídalo|olvida eso|mejor no|déjalo como estaba)\b",
        "^(?:(?:哦|呃|嗯|不|不对|等等|那|还是|抱歉)[，,。！ ]*)*(?:忘了吧|忘掉吧|算了|当我没说|收回|撤回|作废|取消(?:吧|了|掉)?[，,。！]?|取消刚才|我改主意了|改主意了|刚才(?:说|那条|那句|的)?.{0,4}(?:不算|作废|收回|当没说)|不用了|还是(?:照旧|像原来|按原来|跟以前))(?:.{0,40})$",
    ];
    /// "Always.", "That goes for every file.", "Third time I am telling you.": what was said before is meant for good.
    ENDORSES = [
        r"^(?:(?:and|so|please|pls|yes|ok)\b[ ,]*)*(?:always|ever|every (?:single )?time|each time|from now on|from here on(?: out)?|going for?ward|in general|no exceptions|as a (?:general )?rule)(?:,? (?:please|pls|ok|always|for (?:me|us)))*[.!]*\s*$",
        r"^(?:(?:that|this|it|same|and)\b ?)*(?:goes|holds|applies|counts) for (?:everything|every|all|any|each|whatever)\b",
        r"^(?:that|this|it|that['’]s|this is|it['’]s)(?: is)? (?:a|the|my|our) (?:(?:new|standing|general|hard|permanent|house|team|firm) )*(?:rule|style|convention|policy)\b",
        r"^(?:that|it)(?:['’]s| is| was| has been) (?:now |already )?(?:decided|settled|final|agreed|signed off)\b",
        r"^(?:the )?(?:second|third|fourth|fifth|tenth|hundredth|nth|last) time (?:i['’]?m|i am|i|that i)\b|^(?:you|i) keep (?:forgetting|telling|saying|doing|having)\b|^(?:i['’]ve|i have) (?:told|asked) you (?:before|twice|\w+ times|already)",
        r"^(?:in|for|across) (?:all|every|any|each)(?: one)?(?: of)? (?:my|our|other|(?:the )?future)\b.{0,30}$|^not (?:in|on|for) this \w+, (?:not|nor) (?:in|on|for) (?:any|all|every)|^not (?:just|only) (?:here|now|today|this time|(?:in|for|on) this \w+)\b",
        "^(?:以后|今后|往后|从今往后|一直|永远)(?:也|都|就|一直|请)*(?:这样|这么做|照此|如此|按这个来)[。！]?$|^(?:这|此)(?:条|一点|个|点)?(?:是|算|作为)?(?:长期|永久|固定|硬性)?的?(?:规矩|规则|规定|约定|铁律)",
        "^(?:所有|任何|每个|别的|其他)(?:项目|仓库|文件|地方|代码).{0,6}(?:都|也)(?:一样|这样|如此|是)|^(?:我)?(?:都)?(?:说过|说了|讲过|讲了|提醒过?)(?:你)?(?:好几|很多|多少|无数|几|两|三)(?:次|遍)|^(?:这个|这事)?(?:已经|都)?定(?:了|下来了|死了)[。！]?$",
    ];
    /// A subject that is itself told of: "it is wrong that bugs are tracked in …"
    TOLD_OF = [
        r"^(?:\S+ ){0,6}?(?:wrong|case|told|tells?|saying|says|reads|whether|assum\w+|imagine|true)\b|^(?:列出|找出|查|显示|统计|把|给|提醒)",
    ];
    /// Meant for this place.
    HERE = [
        r"\b(?:here|there|below|above|for this|for that)[.!]?\s*$|\b(?:always|never) have \w+(?:ed|en|d)\b",
        r"^(?:whenever|every time|each time|any time) (?:you|we) (?:call|hover|press|click|open|tap|scroll|type|select|hit)\b",
    ];
    /// A liking for one of the things in front of both, or for a bare word.
    AT_CHOICE = [
        r"\b(?:prefer|favou?r) (?:the|that|this) [\w-]+(?: [\w-]+)?[.!]?\s*$|\b(?:prefer|favou?r) [\w-]+[.!]?\s*$|\bprefer to (?:wait|see|look|start|stay|go)\b|,\s*but\b",
        r"\b(?:bevorzuge|préfère|prefiero) (?:les? |la |el |los |las )?[\w-]+[.!]?\s*$",
        r"\b(?:zweite|erste|dritte|letzte|deuxième|première|dernière|segund[oa]|primera?|últim[oa])\b",
    ];
    /// What may be about the program, and not about how one works.
    OF_PROGRAM = [
        r"^(?:make sure|be sure|try to|let['’]s)\b",
        r"^(?:always|never) (?:ever )?(?:return|throw|raise|render|display|sort|sleep|retry|block|panic|allocate|emit|cache|validate|escape|encode|decode|print|close|open|start|stop|load|fetch|send|truncate|round|wrap|fall|call|pass|store|show|hide|include|highlight|redirect|clear|refresh|scroll|focus|pad|trim|strip|reload|draw|place|align|center|select|expand)\b",
    ];
    /// What is said of how things are, and not of how they shall be: beside a task it only leads up to it.
    DESCRIBES = [
        r"^(?:for|in|within|across) (?:this|our) [\w -]{1,20}[,:]? we (?:always |never |only )?\w+",
        "^(?:这个|本|我们)(?:仓库|项目|团队|代码库)(?:里|中)?(?:只|都|全部)?(?:用|使用|采用|不用)",
    ];
    /// Something is found to be bad, and nobody said what it shall be.
    COMPLAINS = [
        r"\b(?:too (?:many|much|few|little|long|often)|way too|far too|so many|poorly|badly|wrong(?:ly)?|worst|terribl[ey]|horribl[ey]|awful|ugly|a mess|regret(?:ted)?)\b",
        r"\b(?:two|three|four|five|six|seven|eight|several|\d+) different\b|\bwe use (?:two|three|several|many|both) (?:[a-rt-z]\w*|s[^p]\w*)s\b",
        "太多|太少|太乱|太差|糟糕|后悔|难看|最差|最烂",
    ];
    /// Said with a shrug or in play, and not as what one is.
    SHRUGS = [
        r"\b(?:apparently|the wrong|by mistake|by accident)\b",
        r"\b(?:(?:kind|sort|something) of|a (?:little )?bit|such)\b",
        r"\b(?:in|for) (?:the|this|that|our|my|a) (?:\w+ )?(?:story|scenario|scene|game|chapter|novel|film|play|sketch|recording|dream|exercise|example)\b",
        r"\b(?:rollenspiel|spiel|übung|jeu|exercice|juego|ejercicio)\b",
        "演戏|扮演|来当|来演",
    ];
    /// Things that work is about: names, numbers, code, and the nouns of the trade.
    OF_WORK = [
        r"\d|`|[\w-]+(?:[._]\w|[/#+])|(?-i:\b[A-Z][A-Z0-9]+\b)|(?-i:[a-z,;:]\s+[A-Z][a-z]+)",
        r"\b(?:apis?|databases?|schemas?|tables?|columns?|services?|queues?|caches?|servers?|clients?|clusters?|repos?|repositor(?:y|ies)|monolith|monorepo|releases?|versions?|librar(?:y|ies)|frameworks?|languages?|formats?|endpoints?|logs?|logged|logging|configs?|configuration|flags?|rewrites?|rewrite|retries|retry|users?|customers?|features?|sprints?|modules?|packages?|builds?|pipelines?|staging|backups?|secrets?|errors?|exceptions?|types?|names?|naming|functions?|class(?:es)?|methods?|files?|folders?|lines?|imports?|headers?|tabs?|spaces?|quotes?|indent\w*|code|sql|scripts?|charts?|diffs?|tickets?|issues?|bugs?|tasks?|meetings?|specs?|designs?|plans?|steps?|lists?|bullets?|tables?|words?|sentences?|paragraphs?|headings?|tone|jargon|acronyms?|abbreviations?|spelling|examples?|recaps?|apologies|apologi[sz]\w*|questions?|jobs?|models?|data|macros?|globals?|mocks?|fixtures?|linters?|keywords?|units?|dates?|times?|timestamps?|templates?|styles?|colou?rs?|themes?|layouts?|components?|vendors?|licen[cs]es?|contracts?|budgets?|invoices?|reports?|partners?|support|on-call|hooks?|generated|shell|terminal|editor|commands?|icons?|buttons?|fonts?|microservices?|serverless|browsers?|composition|inheritance|early returns?|returns|ifs|interfaces?|enums?|structs?|loops?|closures?|recursion|iterators?|generics|traits?|async|threads?|prose|figures?|plots?|notebooks?|quer(?:y|ies)|dashboards?|containers?|parameters?|arguments?|signatures?|variables?|constants?|objects?|patterns?|requirements?|orms?|approvals?|trunk-based|apps?|measurements?|helpers?|firmware|sensors?|hardware|pins?|offline|self-hosted|hosted|imports?|exports?|exporters?|subtitles?|chapters?|semicolons?|bullets|paragraphs|simple words|columns?|linker|registers?|uploads?|downloads?)\b",
        r"\b(?:python|rust|java|javascript|typescript|golang|kotlin|swift|ruby|perl|php|gdscript|matlab|react|vue|svelte|angular|django|flask|rails|node|npm|pnpm|yarn|pip|poetry|cargo|docker|podman|kubernetes|helm|terraform|ansible|postgres(?:ql)?|mysql|mariadb|sqlite|mongo(?:db)?|redis|kafka|rabbitmq|nats|mqtt|lora|azure|linux|windows|macos|ios|android|git|github|gitlab|numpy|pandas|matplotlib|seaborn|pytorch|tensorflow|latex|markdown|json|yaml|toml|xml|csv|html|css|graphql|grpc|bash|zsh|vim|emacs|vscode|webpack|vite|pytest|jest|selenium|cypress|playwright|unity|unreal|godot|blender|figma|excel|powerpoint)\b",
        r"\b(?:antwort\w*|kommentar\w*|nachrichten|réponses?|commentaires?|messages?|respuestas?|mensajes?|comentarios?|cambios|código|ramas?|archivos|pruebas|branches?|fichiers|dateien|zeilen|texte[ns]?|begriffe)\b",
        "\\p{Han}.*[A-Za-z0-9]|[A-Za-z0-9].*\\p{Han}|接口|数据|队列|服务|格式|版本|代码|架构|框架|语言|缓存|分支|功能|模块|用户|客户|变量|函数|命名|缩进|空格|制表符|配置|脚本|数据库|密钥|地址|迁移|发版|总结|解释|表情|拼音|需求|中文|英文|简短|简洁|详细|术语|标题|文件|类型|错误|异常|环境|仓库|项目|合并|金额|单位|发票|日期|时间|方案|单体|重写|微服务|主干|开发|流程|支持|浏览器|旧版|系统|平台|设备|个人信息|隐私|小程序|组合|继承|结论|理由|命令|周报|查询|商城|权限|固件|邮件|标点|图表|表格|段落|组件|样式",
    ];
    /// Of the hours after it.
    LEISURE = [
        r"\b(?:time to go|go with the flow|with the flow|lunch|dinner|breakfast|pizza|food|eat|drinks?|restaurant|coffee|tea|beer|films?|movies?|couch|sleep|bed|weekend|holidays?|vacation|party|kids|home|walk|cinema|hero|castle|cakes?)\b",
        "吃|喝|饭|餐|爬山|电影|下班|睡|玩|聊|火锅|外卖|等等看|旅游|周末",
    ];
    /// From now on, or in all of a place, in so many words.
    FROM_NOW = [
        r"\b(?:from now on|from here on|going for?ward|henceforth|in (?:the )?future|as a (?:general )?rule|whenever|every time|each time|any time|anything you|starting today|as of today|next time|in all my|in all our|in any other|everything you|goes for every\w*|new rule|standing rule|house rule)\b|,? ever[.!]*\s*$|\bever[.,;]",
        r"\b(?:in|for|within|across|throughout) (?:this|our) (?:repo|repository|project|codebase|code base|team|company|monorepo)\b",
        r"\b(?:ab jetzt|ab sofort|von jetzt an|in zukunft|künftig|zukünftig|désormais|dorénavant|à partir de maintenant|à l['’]avenir|a partir de ahora|(?:de ahora )?en adelante|en el futuro)\b",
        "以后|今后|往后|从现在|从今|下次|规矩",
    ];
    /// What the person, or the world, will do: no rule for anybody.
    FORETELLS = [
        r"\bthat from (?:now|here) on\b",
        r"\b(?:so (?:that )?(?:we|i|it|you|they)|in case|to avoid|(?:we|it|they|i|you) (?:can|could|may|might)(?:n['’]t)?)\b[^.]*\b(?:in (?:the )?future|every time|each time|always)\b",
        r"^(?:from now on|from here on(?: out)?|going forward|henceforth)[,:]?\s+(?:(?:i|it|he|she|they)\b(?:['’]ll| will| am| is| are| only)|you(?:['’]re| are| will| can)\b|the story)",
        r"^(?:whenever|every time|each time|any time) (?:you )?(?:are|see|say|feel|like|want|have time)\b|^(?:whenever|every time|each time|any time) you \w+ (?:it|this|that)\b",
        "^(?:以后|今后|往后|从现在(?:起|开始)|从今[^，,]{0,3})[，,]?(?:你(?:会|就会|是|可以)|我(?:要|想|会|请|再|就)|用户|点击|这里|这边|页面|.{0,8}(?:会|就能)(?:报错|失败|明白|好)|别来|别烦|别理)",
        "^(?:下次|以后)(?:别|不要)再?(?:崩|挂|报错|卡|断|错)|(?:每次|总是).{0,12}(?:报错|失败|崩溃|卡住|断|等|加载|重启|熬夜|超时)|用不完",
    ];
    /// What is said leads up to an order about it.
    LEADS_UP = [
        r"(?:[,;—–-]|\band|\bso)\s+(?:so |and |please |then |just )*\w+ (?:it|this|that|them|these|those)\b[^,]{0,20}$",
        r",\s+(?:ändere?|schau|mach|lösch\w*|lade?|corrige|change|cambia|borra) (?:das|es|sie|mal|bitte|ça|eso)\b",
        r",\s+so (?:use|call|add|put|start|make|check|subtract|skip|pass|return|try)\b",
        r"\blike (?:this|that)[.!]?\s*$|\bcoming[.!]?\s*$|[,;]\s+find out\b",
        "[，,](?:照着|按照|按这个|你来|你帮|帮我|你先|重新)|[，,].{0,8}(?:存到|一下|下来|看看|试试|自己找|放到|减一|加一|改掉|再改|切到|换成|重写|问题在)",
    ];
    /// What the code itself says.
    OF_CODE = [
        r"^\W*[\w.:]+\(\)|^(?:careful, )?(?:the )?(?:\w+ )?(?:arg|argument|parameter|index|pointer)\b|^(?:第.{1,2}个?)?(?:参数|返回值|指针|数组)",
        r"^(?:(?:the|this|that|each|every|an?|our) )?(?:\w+ )?(?:function|method|variable|list|array|index|input|argument|parameter|closure|loop|struct|pointer|string|iterator|vector|callback|buffer|response|request|value|result|field|param|row|column|array|key|payload|object|element|node|thread|lock)s?\b[^.]{0,30}\b(?:can|may|could|must|is|are|will|takes?|returns?|gets?|has|have|pops?|starts?)\b",
        r"\bcan be (?:null|none|empty|nil|undefined|negative|zero)\b|\breturn early\b",
        r"\bin an? (?:closure|loop|function|method|macro|test)\b|\bhere[.!]?\s*$|^(?:this|it|that) (?:is|was) (?:only|just)\b",
        "^下标|这里|这一行|这行",
    ];
    /// Places that many come back to.
    OF_PLACE = [
        r"\b(?:our|team|dash ?boards?|boards?|wiki|trackers?|runbooks?|playbooks?|rota|roster|style guide|guides?|manuals?|portal|intranet|backlog|roadmap|handbook|guidelines?|calendar|schedule|status page|metrics|alerts?|channel|registry|minutes|on-call|staging|design docs?|design documents?|postmortems?|specs?|specification|docs|documentation|bugs|incidents)\b",
        "面板|看板|文档|规范|手册|缺陷|问题单|工单|监控|日程|值班|设计|需求|复盘",
    ];
    /// A date that something does not have.
    DENIES = [
        r"day['’]s\b",
        r"\b(?:in the (?:story|game|scene|novel|chapter)|suite|fixtures?|samples?|sample data|mocks?|mock-?ups?|dummy|placeholder|seed data|test data|test case|example)\b|的那[份个条]|一下[。！]?$|示例|样例|测试数据|假数据|占位",
        r"\b(?:is|are|was)(?:n['’]t| not| no longer)\b|\bno (?:deadline|freeze|release)\b|\b(?:since|on hold|due to)\b",
        r"\b(?:meeting|call|lunch|break|build|stand-?up)\b|\s(?:if|unless)\s|\bdoubt\b",
    ];
    /// Something that is not named.
    DANGLES = [r"\b(?:this|it|these|those|them|that)[.!]?\s*$"];
    /// A decision that is none, is one of the hour, or is regretted.
    UNSETTLED = [
        r"\b(?:decided|agreed|settled) (?:on|upon|about|to do) (?:that|this|it)\b|\b(?:mov|switch|migrat|dropp)\w+ (?:away )?(?:from |to |off )?(?:the )?(?:next|other|last|first|second|else|same|step|branch|main|master|line)\b|\bdecided by\b|: if\b|\b(?:branch|file|variable|function|table) name\b|\bon a (?:time|day|place|room)\b|\b(?:regret(?:ted)?|mistake|nonsense)\b|\b(?:fixtures?|sample|dummy|placeholder|at random|test data)\b|\bthe following\b|\bfor (?:this|that) purpose\b|\b(?:pending|nothing|to be made)\b|\bsettled that\b|\bto (?:(?:start|begin) with|grab|eat|meet|look|wait|disagree|see|talk|check)\b|\bon a (?:call|date|meeting)\b|一下",
    ];
    /// A place that is looked at now: "the failing job is at …"
    AT_HAND = [
        r"^(?:the|this|that|my|a|an) (?:\w+ ){0,3}?(?:pr|mr|pull request|issue|ticket|log|error|failure|failing \w+|build|job|commit|branch|stack ?trace|trace|gist|paste|screenshot|repro|article|video|file|bug|problem|diff|answer|question|link|tutorial|example|blog post|post|paper)(?: (?:in question|i mean|i mentioned|from \w+))? (?:is|lives?|sits?|can be)\b",
        r"\b(?:readme|rfc|cargo\.toml|package\.json|claude\.md|agents\.md|contributing)\b",
        r"(?-i:\b(?:in|to|into|on) (?:S3|JSON|YAML|CSV|XML|SQL|Redis|Postgres\w*|Python|Celery|Kafka|Stripe|Git|Docker|Rust|Go)\b)",
        r"^(?:der|die|das|le|la|el) (?:fehler|bug|ticket|datei|log|link|bild|erreur|fichier|error|archivo)\b",
        r"\blocalhost\b|\b127\.0\.0\.1\b",
        r"\.(?:png|jpe?g|gif|svg|zip|csv|pdf|mp4)\b",
        "^(?:这|那|问题|报错|错误|图片|文章|截图|视频|帖子|链接|密码|附件)",
    ];
    /// This repository and this team last.
    LASTS = [
        r"\bthis (?:repo|repository|project|codebase|code base|team|company|monorepo|machine|workspace|client|customer|vendor|supplier|account|course|journal|country|house|office)\b",
        r"\bin (?:any|all(?: the)?) others?\b|\bnot (?:just|only) (?:in|for|on) this\b",
        "这个(?:仓库|项目|团队|代码库)",
    ];
    /// A ban that says for what, or why.
    GROUND = [
        r"\b(?:at the (?:start|beginning|end) of (?:your|every|each|all)|without (?:asking|telling|my)|unless i|in production|on (?:fri|mon|tues|wednes|thurs|satur|sun)days?|after every|at the end of (?:every|each)|to every|in every)\b",
        r"\b(?:last time|it broke|hid|we got burned)\b",
        r"\bin(?:to)? (?:(?:unit|integration|system|our|the|your|code|any|variable) )?(?:tests?|names?|answers?|replies|responses|commit messages?|comments?|code|docs?|prs?|pull requests?)\b",
        r"\b(?:comments|docstrings|tests|messages|names) that (?:only |just |merely )?\w+",
        // To stop is to have done it more than once.
        r"^(?:stop|quit) [a-z-]+ing\b[^,;]*\b(?:to me|in your|at the end of|(?:every|each) (?:\w+ )?(?:answer|reply|response|message|diff|snippet|commit|sentence|paragraph|summary|change|question|step|line))\b",
        r"^(?:avoid|stop) (?:using|writing|adding|mocking|suggesting|including|proposing|ending|putting|creating)\s+(?:\w[\w-]*\s+){0,2}\w+s\b",
        r"上次|上回|没有?我的?(?:同意|确认|许可|允许)|(?:不要|不能|别|不)超过|在(?:代码|测试|提交|注释|日志|生产|主分支|线上|回答|文档|周[一二三四五六日])|直接.{0,6}(?:主分支|main|master|生产|prod|线上)",
    ];
    /// Credentials that no rule of the scanner knows, told by the word before them.
    CREDENTIAL = [
        r"\b(?:password|passphrase|passcode|(?:api|access|secret) (?:key|token)|card number|iban)\b[^.]{0,30}(?:\b(?:is|starts|ends|reads)\b|=|:|\d{4})",
        r"\b(?:password|passwort|passphrase|passcode|mot de passe|contraseña|api[ -]?key|access key|secret|token)\b\s*(?:is|ist|est|es|=|:|was)?\s*\S*\d\S*|\bpin(?: code)?\b\s*(?:is|ist|=|:|was)?\s*\d{4,}\b",
        r"\b(?:log-?in|credentials?|user(?:name)?|account|zugangsdaten)\b[^.]{0,30}(?:\bis\b|\bare\b|=|:)\s*\S+\s*(?:/|:|,|\band\b)\s*\S*\d\S*|(?:账号|账户|登录)[^。]{0,16}(?:是|为|：|:)\s*\S+\s*[/，, ]\s*\S*\d\S*",
        r"\b(?:password|passwort|passphrase|mot de passe|contraseña)\s*(?:is|ist|est|es|=|:)\s*\S+",
        r"(?:密码|口令|密钥|令牌)\s*(?:是|为|：|:|=)?\s*[A-Za-z0-9!@#$%^&*_-]{4,}",
    ];
    /// Judgements of people.
    JUDGES = [
        r"\bi(?:['’]m| am) (?:\w+ )?(?:slow|hopeless|useless|clumsy|forgetful|stupid|an? (?:lousy|terrible|bad|awful|poor|mediocre|horrible|mess)\b)|\b(?:stupid|silly|dumb) mistakes?\b|\bdon['’]t know what i['’]?m doing\b",
        r"\b(?:designer|manager|boss|colleague|intern|developer|engineer|lead|team|people|guys?|person|hire|customer|client|admin|tester|contractor)s? (?:is|are) (?:\w+ )?(?:difficult|slow|terrible|awful|useless|impossible|unreliable|rude|arrogant|bad|weak|hard to)\b",
        r"(?-i:\b[A-Z][a-z]+) (?:is|writes|makes|produces) (?:\w+ )?(?:terrible|awful|bad|sloppy|ugly|difficult|slow|rude|unreliable)\b|\bnever (?:help|answer|listen|test|read)s? (?:to )?any(?:one|body|thing)\b",
        "(?:他|她|我|同事|小\\p{Han}|老\\p{Han}|的人).{0,8}(?:很烂|太烂|很差|太差|难相处)",
        r"\b(?:is|are|was) (?:such )?an? (?:\w+ )?(?:pain|nightmare|jerk|clown|joke|disaster|bully|liar)\b|\balways (?:late|wrong|complaining)\b",
        r"\b(?:guy|girl|colleague|intern|boss|manager|customer|client|vendor|contractor|he|she|they|someone|nobody) (?:\w+ )?never (?:tests?|answers?|reads?|repl(?:y|ies)|listens?|works?|does|delivers?|helps?|checks?|cares?|pays?)\b",
        r"\bi(?:'m| am) no \w+|\b(?:is|are|was|were|i'm|i am|he's|she's)\b[^.,]{0,20}\b(?:careless|lazy|stupid|incompetent|sloppy|an idiot|annoying|useless|dumb|clueless|terrible at|bad at|slow at)\b",
        r"\b(?:faul|dumm|unfähig|paresseux|stupide|incompétent|perezoso|tonto|inútil)\b",
        r"粗心|不擅长|水平差|[他她你]\S{0,4}太慢|懒惰|很懒|太懒|很笨|太笨|愚蠢|蠢|无能|差劲|讨厌|马虎|不靠谱",
    ];
    /// The state of today's work, recipes, and what the code says itself.
    FLEETING = [
        r"\b(?:der fix|die lösung|le correctif|la solution|el arreglo|la solución) (?:war|ist|était|est|era|fue|es)\b",
        r"\b(?:still have to|still has to|(?:is|are) (?:up )?next(?:[.,;!]|$)|(?:is|are) (?:already |all |now )?done(?: and\b|[.,;!]|$)|(?:tests?|build|ci|pipeline) (?:is|are) (?:\w+ )?(?:green|red|failing|passing)|(?:\w+) (?:out )?of (?:\w+) (?:[\w-]+ )?(?:are|is) (?:done|migrated|ported|converted|finished|left|through))",
        r"\bcommit [0-9a-f]{4,}\b|\bwe (?:just |already )?(?:merged|committed|pushed|rebased|tagged|reverted)\b|\b(?:was|were|got) (?:merged|committed|tagged|reverted|pushed) (?:by|on|yesterday|today)\b|\b(?:pr|mr|issue|ticket) #?\d+ (?:is|was)\b",
        r"\b(?:solved|fixed|cured) (?:it|this|that|the)\b|\bmade (?:the|it|that)\b[^.]{0,30}\bgo away\b|\bby (?:deleting|restarting|clearing|reinstalling|downgrading|rebooting)\b|^(?:you |we |i )?(?:fix|solve|cure) (?:it|the|this)\b",
        r"\bif (?:the )?[\w-]+ (?:fails|breaks|crashes|hangs|gets stuck)\b[^.]*\b(?:run|restart|delete|clear|reinstall|reboot|kill)\b",
        r"^`?[\w./-]+\.(?:rs|py|ts|tsx|js|go|java|c|h|cpp|rb|kt|swift)`? \w+|^`[^`]+` (?:is|gets|has|takes|returns|calls)\b|\b(?:loaded|called|used|defined|read|set|parsed|declared) (?:in|from|by|at) (?:`|\S*\(\)|\w+ places)|\bhas an? (?:field|column|method|attribute|property|member)\b",
        r"^\S+\.(?:rs|py|ts|js|go|java|c|cpp)\s*\p{Han}|里有个?.{0,12}(?:字段|方法|属性|函数)|合并了|提交了|还差|没过|就能修好|就好了|就解决了",
        r"\b(?:halfway|half-way|in progress|work in progress|wip|next step|left off|still open|we stopped at|todo list|where we were)\b",
        r"\b(?:stopped at|left to do|done so far|so far|remaining work|commit [0-9a-f]{7,}|(?:merged|opened|closed) (?:pr|#\d+|pull request|issue)|fixed (?:the|a|that) (?:bug|crash|test))\b",
        r"\b(?:to fix (?:the|this|that|it)|fails?,? (?:run|restart|delete|clear)|(?:restarting|clearing|deleting|reinstalling)\b.*\bhelp(?:s|ed))\b",
        r"\b(?:the (?:fix|cure|solution|remedy|workaround|trick|culprit|cause|reason)\b(?: (?:for|to|of|behind|against|here)\b[^,.]{0,40})? (?:was|is)|(?:fixed|solved|resolved|cured|worked around) (?:it |that |this )?by|the (?:bug|error|crash|problem|issue) (?:was|came|went))\b",
        r"\b(?:is (?:defined|implemented|declared) in|returns? (?:none|null|an? error|true|false|ok|err)|the (?:last|latest) commit|git log|was (?:committed|merged) by)\b",
        r"\b[\w./-]+\.(?:rs|py|ts|tsx|js|go|java|c|h|cpp|rb|kt|swift)\b[^.]{0,40}\b(?:has|contains|defines|exports|calls|line \d+)\b",
        r"还没写|写完了|进行到|(?:修复|解决|办法).{0,8}是|卡在|做到一半|还剩|修复方法|解决办法是|最后一次提交|返回\s*(?:None|null|空|错误)|定义在|实现在",
    ];
    /// What an instruction file says already, in the person's own words.
    INSTRUCTED = [
        r"\b(?:in|from|per|see|as|to|follow|like|by|under|read) (?:the |our |my |your )?(?:claude|agents|contributing|gemini)(?:\.md)\b|\b(?:it|that|this)(?:['’]s| is)(?: all| already)? (?:in|from) the (?:readme|docs|guide|config|handbook)\b",
        r"(?:\b(?:claude|agents|contributing|readme)\.md|\.editorconfig|\.cursorrules|\binstruction file|\bcopilot-instructions\S*) (?:has|says|tells|wants|demands|asks|already|requires)\b",
        r"(?:按照?|照|见|根据)\s*(?:claude|agents|contributing|readme)",
    ];
    OFF_RECORD = [
        r"\b(?:off|not for) the record\b|^(?:just )?between (?:us|you and me)\b|\bjust between\b|\bconfidential(?:ly)?\b|\bout of (?:your )?memory\b|\bto yourself\b",
        r"\b(?:don['’]t|do not|no need to|never|needn['’]t) (?:remember|save|memori[sz]e|store|record|keep|write down|note down) (?:this|that|it|any of (?:this|that|it)|what i)\b",
        r"\b(?:don['’]t|do not|no need to|never|needn['’]t) (?:write|note|put) (?:this|that|it|any of (?:this|that|it)) (?:down|anywhere)\b",
        r"\b(?:merk dir das nicht|nicht merken|ne retiens pas|ne garde pas|no (?:lo )?recuerdes|no guardes)\b",
        r"私下说|(?:别|不要|不用|无需|不必)(?:记住|记下|保存|记录|记|存)(?:这|那|它|了|下来|。|！|$)",
    ];
    /// "Translate this:", "here is the mail:": what follows is somebody's text.
    MATERIAL = [
        r"^(?:please )?(?:translate|proofread|rephrase|rewrite|paraphrase|summari[sz]e|review|explain|analy[sz]e|check|correct|improve|übersetze|traduis|traduce)\b.*[:：]",
        r"\b(?:here(?:'s| is| are)|this is|below|following|pasted?|got this|the (?:ticket|e-?mail|mail|issue|log|error|output|page|readme|docs?|text|message|comment|prompt|spec|file|review) (?:says|reads|is|was))\b.*[:：]$",
        r"\b(?:wrote|writes|posted|replied|commented)\b[^.:]{0,30}[:：]\s*$",
        r"^(?:e-?mail|ticket|log|error|output|readme|issue|from|subject|text|prompt|system|assistant|user|human)[:：]",
        r"^(?:请)?(?:翻译|总结|润色|改写|解释|校对|检查).*[:：]",
        r"(?:如下|内容是|邮件|日志|工单|网页|原文|报错)[:：]$",
    ];
    /// A text in front of both, which stands below where the line ends with it.
    SHOWS = [
        r"\b(?:this|these|those|the following|below|attached|pasted|my|our|the|it)\b[^\n]*$",
        "下面|以下|如下|这[段封份篇些条首个张]|原文",
    ];
    /// What "remember" is not followed by where something is told.
    NOT_TOLD = [
        r"^(?:when|how|what|where|who|why|whether|if|last|our|your|all|me|him|her|them|us|it|this|these|those)\b",
        r"\bzu \w+en[.!]?\s*$|^(?:hier|ici|aquí|diese|cette|esta) \w+|^(?:one|the) (?:time|day|bug|thing)\b|^to\b|\bmean (?:the (?:second|first|other|last|next)|this|that|these|those)\b|^(?:告诉|说|提|带|把)",
        r"^(?:function|bug|scene|issue|error|file|test|todo)\b|^i (?:asked|need)\b|^you (?:still|have to|need to|promised|are|were|said)\b|^i (?:have not|haven['’]t|am tired|['’]m tired)\b|^(?:密码|我选|我的选择|时间|用户|上次|滚动|光标)",
        r"^(?:this|it|that) (?:is|was)\b|^(?:sometimes|staying|life|everyone|everybody)\b|^garbage in\b|^(?:we|i)(?:['’]re| are|['’]m| am) (?:only|just|still|currently)\b|^(?:你是|你还|我还|我们只|先点|先按|写到|写在|放到|这首|那首|的|[这那]个[^项仓团代]|这些|那些)",
        r"^(?:we|i|you) (?:talked|discussed|spoke|had|were|did|tried|saw|spent|used to|once|already)\b",
    ];
    TOLD_ANYWAY = [
        r"^to (?:always|never|only)\b|^to\b.*\b(?:always|never|whenever|every time|each time)\b",
        r"^(?:when(?:ever)?|if|our|your|all|these|this (?:repo|repository|project|codebase|team|company|monorepo|machine|workspace)|last|where)\b.*\b(?:is|are|must|should|always|never|use|uses|lives?|goes|go|prefer|means?|starts?|ends?|runs?|has|have|needs?|closes?|opens?|ships?|keeps?|wants?)\b",
    ];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sign_compiles() {
        assert!(ALL.iter().all(|signs| signs.0.is_some()));
    }
}
