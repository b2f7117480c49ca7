//! What is said outright in English.

use super::phrase::{Language, Row, Sense};

pub(super) const ENGLISH: Language = Language {
    rows: &[FORGETTING, REMEMBERING, CONFIRMING, RULES, PERSON, PROJECT, PLACES],
    lead: r"(?:please|also|and|but|ok(?:ay)?|so|nope|yes|yeah|yep|well|btw|by the way|oh|hey|hi|great|thanks?(?: you)?|good|perfect|fine|right|one (?:more|last) thing|just|again|important|important note|then|ah|actually|for the record|fyi|reminder|as i said|like i said|to be clear|correction|sorry|wait|listen|look|hmm?|first(?:ly| of all)?)\b|no[,.!:;—–-]|no (?:no|please)\b",
    joints: r"[,;:—–]\s+|\s+-\s+|\s(?:but|so)\s",
    before: r"(?:(?:(?:a |my |the |one |quick |new |final )*(?:note|rule|rules|decision|reminder|correction|preference|deadline|thing|request)(?: to self)?(?: (?:for (?:later|you|the future|us)|between us|about me|though))*|(?:some |a bit of )?(?:context|background)(?: (?:about|on) me)?|one (?:more|last|other) thing|for (?:future|later|next|all) (?:sessions?|times?|reference)|for (?:the record|context|your information|the future)|before (?:you go on|i forget)|(?:let me give you )?some background|about me|as (?:discussed|agreed|mentioned|i mentioned|always)|heads[ -]up|thank you|(?:for|in|within|across) (?:this|our|the whole) (?:repo|repository|project|codebase|code base|team|company|monorepo)|in general|generally|(?:in|for) (?:tests|commits|commit messages|comments|docs|documentation|code|reviews|pull requests|answers|replies)|(?:before|after|when|whenever) (?:you )?(?:commit|push|deploy|merge|review|test|writ|answer|reply|refactor|releas|nam)\w*(?: [\w-]+){0,4}|that(?:['’]s| is) (?:wrong|not (?:right|what i (?:want|meant)))|(?:wrong|not quite|exactly|careful))[\s,:;—–-]*)+|(?:i|i['’]m|we|we['’]re|you|it|that|this|the|our|my|these|those)\b.*(?:[;—–]|\s-|\s(?:but|so|and)|,\s*(?:but|so|and))\s+|(?:thats|fine|ok|sure|nice|good)\b[^:]*(?:\sbut|,\s*but)\s+|(?:your|that|this|it|these|those|the)\b[^,:]{0,60} (?:is|are|was|were) (?:way |far |much )?(?:too|so) [^,:]{2,30}[,;—–-]\s+|(?:it['’]s official|officially|just so you know)[:,]\s+|(?:less|fewer|more|shorter|no|not|too|way too|enough)\b[^:]{2,60},\s+",
};

const FORGETTING: &[Row] = &[
    (
        Sense::Forget,
        r"(?:you (?:can|may|should) )?(?:now )?forget (?:that |what i (?:said|told you) about |everything (?:i said )?about |(?:the|my|that|your) (?:rule|memory|note|preference) (?:about|that|on|for) )(?P<what>.+)",
    ),
    (
        Sense::Forget,
        r"(?:delete|remove|drop|erase) (?:the|my|that|your) (?:memory|memories|saved note|preference) (?:about|that|on|of) (?P<what>.+)",
    ),
    (Sense::Forget, r"(?:stop remembering|you no longer need to remember) (?:that )?(?P<what>.+)"),
    (Sense::Forget, r"it(?:'s|’s| is) no longer true that (?P<what>.+)"),
];

const REMEMBERING: &[Row] = &[
    // What a word means to the person.
    (
        Sense::Remember,
        r#"(?P<what>(?:when(?:ever)?|by|if) (?:(?:i|we) (?:say|write|talk about|speak of) )?["“„][^"”“]+["”“],? (?:i|we) (?:always |usually )?mean\s\S.*)"#,
    ),
    (
        Sense::Remember,
        r"(?P<what>.{8,}?)[,;—–-]\s+(?:please |so |and |just )*(?:remember (?:that|this|it)|keep (?:that|this|it) (?:in mind|in (?:your )?memory|for (?:later|next time|the future|later sessions|future sessions)(?: too)?)|(?:note|write) (?:that|this|it) down|make a note(?: of (?:that|it|this))?)(?: for (?:later|next time|the future|later sessions))?(?:,? please)?[.!]?\s*$",
    ),
    (
        Sense::RememberThis,
        r"(?:remember|save|note|keep|memori[sz]e) (?:this|that|it|all (?:of )?this)(?: in mind| in (?:your )?memory| to (?:your )?memory)?(?:,? please|,? for (?:later|next time|the future|future sessions))?[.!]?\s*$",
    ),
    (
        Sense::Remember,
        r"(?:do )?(?:remember|never forget|memori[sz]e|(?:make|take) (?:a )?note|note for (?:later|the future)|for future reference|for (?:next|later|future) (?:time|sessions?)|(?:save|add|commit) (?:this )?to (?:your |long-term )?memory)(?:,? please|,? for (?:later|next time|the future|future sessions))?(?:\s+that\s+|\s*[:—–-]\s*)(?P<what>.+)",
    ),
    (
        Sense::Remember,
        r"(?:(?:make|take) (?:a )?note|note for (?:later|the future)|for future reference|for (?:next|later|future) (?:time|sessions?)),\s*(?P<what>.+)",
    ),
    (
        Sense::Remember,
        r"(?:do )?(?:remember|never forget|memori[sz]e) (?P<what>(?:i|we|i['’]m|we['’]re|my|our|you|always|never|to|when(?:ever)?)\s.+)",
    ),
    (
        Sense::Mind,
        r"(?:keep in mind|bear in mind|don['’]t forget|do not forget)(?:,? please)?(?:\s+that\s+|\s*[:—–-]\s*)(?P<what>.+)",
    ),
    (
        Sense::Mind,
        r"(?:keep in mind|bear in mind|don['’]t forget|do not forget) (?P<what>(?:i|we|i['’]m|we['’]re|my|our|you|always|never)\s.+)",
    ),
    (
        Sense::Mind,
        r"(?:remember|keep in mind|bear in mind) (?P<what>(?:the|all|every|each)\s.+\b(?:is|are|must|should|has|have|uses?|lives?|goes|needs?|starts?|ends?|belongs?|means?|runs?)\b.+)",
    ),
];

const CONFIRMING: &[Row] = &[
    (
        Sense::Confirmation,
        r"(?:keep|continue) (?:doing|working|writing|handling|formatting) (?:that|it|this|them|like (?:that|this))\b",
    ),
    (
        Sense::Confirmation,
        r"(?:keep|always do|do) (?:it|that|this|them) (?:like (?:that|this)|that way|this way)(?: from now on| in (?:the )?future| going for?ward| every time| always|[.!]?\s*$)",
    ),
    (
        Sense::Confirmation,
        r"(?:from now on|in (?:the )?future|going for?ward|next time)[,:]? (?:always |please )?(?:do|keep) (?:it|that|this|them) (?:exactly )?(?:like (?:that|this)|that way|this way)",
    ),
    (
        Sense::Confirmation,
        r"(?:that['’]s|this is) (?:exactly )?(?:how|the way) i (?:want|like) (?:it|them|these|things)(?: done)?\b.*(?:from now on|in (?:the )?future|going for?ward|always|every time)",
    ),
];

const RULES: &[Row] = &[
    (
        Sense::Rule,
        r"(?:[\w'’-]+ ){1,10}?(?:please|pls)\b.*\b(?:from now on|from here on|(?:for )?all future \w+|in (?:the )?future|in general)[.!]*\s*$",
    ),
    // A request in the form of a question.
    (
        Sense::Rule,
        r"(?:can|could|would|will) you please (?:always|never)\s+(?P<verb>[a-z][a-z-]*)\b.*|(?:can|could|would|will) you (?:please )?(?:(?:from now on|in (?:the )?future|going for?ward)\b.*|[a-z-]+\s.*\b(?:from now on|going for?ward)(?:,? please)?[.!?]*\s*$)",
    ),
    (
        Sense::Rule,
        r"i(?:['’]d| would) (?:appreciate it|be glad|be happy|be grateful|like it) if you (?:always|never|stopped|didn['’]t|did not|used|wrote|would|could)\b.*\b(?:never|always|from now on|whenever|in (?:docs|code|answers|comments|my \w+|your \w+))\b.*",
    ),
    (
        Sense::Rule,
        r"(?:at our place|around here|with us|in our (?:team|company|shop|lab|office)|at our (?:company|shop|office)),? (?:we (?:always|never|only|don['’]t)|nothing|nobody|no|every|all|each|only)\b.*",
    ),
    (Sense::Rule, r"ask (?:me )?(?:first )?before (?:you )?[a-z]+(?:ing)? (?:any|anything|every|everything)\b.*"),
    (Sense::Rule, r"i never want to (?:see|get|read|find|have)\s.*\b(?:again|in (?:this|our|my) \w+)\b.*"),
    (
        Sense::Rule,
        r"i(?:['’]d like| want| would like) (?:all |your |my |the )*(?:answers|replies|explanations|code comments|commit messages|summaries|sources) (?:in|with|without|under|cited|to (?:be|have|start|use))\b.*",
    ),
    (Sense::Rule, r"(?:max|at most|only|shorter|less|fewer)\s.*\b(?:from now on|from here on)[.!]?\s*$"),
    (Sense::Rule, r"(?:use|speak|write|talk|stick to)\s.*\bwith me[.!]?\s*$"),
    (Sense::Rule, r"we (?:write|name|use|format|indent|spell)\s.*\b(?:everywhere|always)[.!]*\s*$"),
    (
        Sense::Rule,
        r"(?:no|we|never|always|don['’]t|use|only|all)\b.{4,120}?[,;.—–-]+\s+(?:that|this|it)(?:['’]s| is) (?:the|our|my|a) (?:[\w-]+ )?(?:rule|style|convention|policy)\b.*",
    ),
    (
        Sense::Rule,
        r"(?:there(?:['’]s| is) (?:a|one) (?:[\w-]+ )?rule (?:in|at|on|for|with) (?:our|this|the) [\w ]{2,20}|(?:(?:a|my|our|one|more|other|last|quick|new|final|house|standing|team|hard|golden)\s+)+(?:rule|convention|policy)(?: (?:between us|for (?:you|us|the future|all of us|this (?:repo|project))|of mine|from now on|here))*)\s?[:—–]\s*\S.*",
    ),
    (
        Sense::Rule,
        r"(?:our|my) (?:[\w-]+ )?(?:convention|rule|policy|standard|house rule|practice)(?: [\w ]{1,30})? is\b(?: that|:)?\s+\S.*",
    ),
    (
        Sense::Rule,
        r"(?:starting|beginning|as of|effective) (?:today|tomorrow|monday|next week|this (?:sprint|release|week))[,:]?\s+(?:please|no|always|never|only|don['’]t|do not|(?:you|we|all|every|each|any|new)\b[^.]*\b(?:must|should|needs?|has to|have to|goes?|only|use|uses|written|requires?))\b.*",
    ),
    (
        Sense::Rule,
        r"(?:from now on|going for?ward|henceforth|from here on(?: out)?|as a (?:general )?rule,)[,:]?\s+(?:please|you|we|i want|i['’]d|let['’]s|all|every|each|any|no|always|never|only|don['’]t|do not|both|when|if)\b.*",
    ),
    (
        Sense::Rule,
        r"(?:from now on|going for?ward|henceforth|from here on(?: out)?|as a (?:general )?rule,)[,:]?\s+(?P<verb>[a-z][a-z-]*)\b.*",
    ),
    (
        Sense::Rule,
        r"(?:from now on|going for?ward|henceforth|from here on(?: out)?|as a (?:general )?rule,)[,:]?\s+[^,]{2,60}\b(?:must|should|needs?|has to|have to|gets?|goes?|only)\b.*",
    ),
    (
        Sense::Rule,
        r"in (?:the )?future,? (?:please |always |never |only |don['’]t |do not |you (?:should|must) )*(?P<verb>[a-z][a-z-]*)\b.*",
    ),
    (
        Sense::Rule,
        r"(?:use|keep|write|run|put|make|answer|reply|respond|format|name|check|ask|commit|push|test|start|end|prefix|sign|add|show|give|call|speak|tell|i want you to|i['’]d like you to|you should|you must|we)\s.*\b(?:from now on|going for?ward|in (?:the )?future|henceforth)[.!]?\s*$",
    ),
    (Sense::Rule, r"(?:always|never)\s+(?:ever\s+)?(?P<verb>[a-z][a-z-]*)\s+\S.*"),
    (
        Sense::Rule,
        r"(?:you )?(?P<verb>[a-z][a-z-]*)\s[^:]*\b(?:from now on|from here on|going for?ward|henceforth|for the future|(?:goes|holds|applies|counts) for (?:everything|every|all|any|each)|everything you (?:write|do|send|hand|give|make|build)|(?:second|third|fourth|nth|last) time i['’]?m? (?:tell|ask|say)\w*)\b.*|(?:leave|keep)\s[^:]*\bin (?:all the others|any other)\b.*|(?:write|spell)\s[^:]*\bin all (?:of )?(?:my|our)\b.*",
    ),
    (
        Sense::Rule,
        r"(?:(?:please|i(?:['’]d| would)? (?:want|rather|prefer|like)|i (?:don['’]t|do not) want|no(?: more)?|don['’]t|do not|let['’]s)\b|(?:in|for) [\w.#+-]+,? i want\b).*\b(?:from now on|from here on|going for?ward|henceforth|for the future|in all (?:of )?(?:my|our) \w+|in all the others|in any other|(?:goes|holds|applies|counts) for (?:everything|every|all|any|each)|everything you (?:write|do|send|hand|give|make|build)|(?:second|third|fourth|nth|last) time i['’]?m? (?:tell|ask|say)\w*|you keep forgetting|ever[.,;!])(?:\W.*)?$|i(?:['’]d| would)? (?:want|rather|prefer|like)\b.*\b(?:from you|you to|have you|(?:see|get|read|review) (?:the|your))\b.*\b(?:every (?:single )?time|always)(?:\W.*)?$|i['’]d rather have\b.*\bthan\b.*\balways[.!]*\s*$|(?:in|for) [\w.#+-]+,? i want\b.*\b(?:everywhere|always|every time)\b.*",
    ),
    (
        Sense::Rule,
        r"(?P<verb>[a-z][a-z-]*)\b.*\b(?:me|my|i|you|your|us|tests|commits|prs|comments|docs)\b.*\b(?:every (?:single )?time|always)(?:,? (?:please|pls))?[.!]*\s*$",
    ),
    (
        Sense::Rule,
        r"(?:if|when) (?:[\w'’/-]+ ){2,12}?[\w'’/-]+, (?:please )?(?:always|never) (?:(?:tell|show|ask|give|warn|remind) me|answer|explain|reply)\b.*",
    ),
    (
        Sense::Rule,
        r"(?:if|when(?:ever)?) (?:i|you|we) [^,]{3,80}, (?:please )?(?P<verb>[a-z-]+)\b.*\b(?:always|every time|each time|from now on)[.!]*\s*$",
    ),
    (
        Sense::Rule,
        r"(?:whenever|every time|each time|any time) you (?:[\w'’./-]+ ){1,10}?(?:please |always )*(?:tell|show|give|ask|warn|remind|send|notify|let) me\b.*",
    ),
    (
        Sense::Rule,
        r"(?:whatever|whichever|any|every|each) (?:[\w-]+ ){1,3}you (?:write|build|make|send|hand|give|create|draft|propose)(?: for)? (?:me|us)\b.*",
    ),
    (
        Sense::Rule,
        r"(?:[\w'’*./-]+ ){1,12}?(?:is|are) (?:strictly |now |absolutely )?(?:forbidden|banned|not allowed|off[- ]limits|taboo|prohibited|mandatory|compulsory|required)\b.*\b(?:from (?:now|here) on|at our place|here|with us|for us|(?:in|on|for) (?:this|our) (?:repo|project|codebase|team|company|monorepo|shop|lab|office))\b.*",
    ),
    (
        Sense::Rule,
        r"we (?:always|never|only) (?:use|merge|deploy|squash|rebase|commit|push|release|write|name|sign|pin|ship|review|tag|branch|format|document|version|mock|indent|prefix)\s+(?:on|in|from|to|with|via|by|[\w-]+s\b|[\w-]+ [\w-]+s\b)[^,]*",
    ),
    (
        Sense::Rule,
        r"we (?:don['’]t |do not )?(?:use|ship|merge|deploy|commit|push|write|mock|allow|squash|rebase|name|indent|format|pin|prefix)\s(?:[a-z-]+ ){1,4}(?:in|for|across|throughout) (?:this|our) (?:repo|repository|project|codebase|code base|team|company|monorepo)[.!]?\s*$",
    ),
    (
        Sense::Rule,
        r"(?:all |your |our |my |the )*(?:commit messages|commits|prs|pull requests|branch names|code comments|changelog entries|docstrings) (?:should|must|need to|have to|are to) (?:always |never |not |only |all )*(?:be (?:in|written|under|short|small|brief|prefixed|named|no|at most)|start|stay|follow|use|have|fit|mention|contain|reference|carry|include|end|begin|exceed|go)\b.*",
    ),
    (
        Sense::Rule,
        r"next time(?: you [^,]{3,50})?,? (?:please )?(?:always |never |don['’]t )?(?:ask|tell|show|check with|warn|wait for) (?:me\b|before you\b|first\b).*",
    ),
    (Sense::Rule, r"(?:you (?:must|should|shall)|we must) (?:always|never)\s+(?P<verb>[a-z][a-z-]*)\b.*"),
    (Sense::Rule, r"i (?:always|never) want you to \S.*|i want you to (?:always|never)\s+\S.*"),
    (
        Sense::Rule,
        r"(?:let['’]s|make sure(?: you| that you| to)?|be sure to|i['’]d like you to|try to) (?:always|never)\s+(?P<verb>[a-z][a-z-]*)\b.*",
    ),
    (
        Sense::Rule,
        r"(?:whenever|every time|each time|any time) you [^,]+, (?:please |then )?(?:always |never |don['’]t )?(?P<verb>[a-z-]+)\b.*",
    ),
    (Sense::Rule, r"when you [a-z]+ (?:[\w-]+ )?[a-z-]+s, (?:please )?(?:always|never) (?P<verb>[a-z-]+)\b.*"),
    (
        Sense::Rule,
        r"keep (?:your )?(?:answers|responses|replies|explanations|commit messages|commits|summaries|prs|pull requests)\s.*",
    ),
    (
        Sense::Rule,
        r"you (?:don['’]t|do not) (?:need|have) to \S.*\b(?:every time|each time|always|again|any ?more)\b.*",
    ),
    (Sense::Rule, r"(?:under no circumstances|at no point),? (?:should|must|may) you\b.*"),
    (Sense::Rule, r"(?:ask|check with) me (?:first )?before (?:you )?\S.*"),
    (
        Sense::Rule,
        r"(?:for|in|within) this (?:repo|repository|project|codebase|code base|team|company|monorepo)[,:]? (?:please )?(?:we (?:always |never |only )?(?:use|prefer|write|avoid|follow|stick|name|put|don['’]t|do not|commit|squash|rebase|indent|format)|(?:always|never|only|prefer|avoid|use|stick|follow|don['’]t|do not))\b.*",
    ),
    (
        Sense::Rule,
        r"(?:keep|prefer|avoid|follow|stick to|stick with|use)\s.*\b(?:in|for|across|throughout) this (?:repo|repository|project|codebase|code base|team|company|monorepo)[.!]?\s*$",
    ),
    (
        Sense::Rule,
        r"(?:in|for) (?:this|our) (?:repo|repository|project|codebase|code base|monorepo),? (?:all )?(?:[\w-]+ ){0,2}[\w-]+s (?:go|live|belong|must|should|have to) \S.*",
    ),
    (Sense::Ban, r"i (?:don['’]t|do not|never) want you to (?P<verb>[a-z][a-z-]+)\s+\S.*"),
    (
        Sense::Ban,
        r"(?:(?:in general|generally),? )?(?:you (?:must|should) not|don['’]t|do not)\s+(?:ever\s+)?(?P<verb>[a-z][a-z-]+)\s+\S.*",
    ),
    (Sense::Ban, r"(?:avoid|stop)\s+(?P<doing>[a-z-]+ing)\s+\S.*"),
    (
        Sense::Ban,
        r"(?:avoid|quit|no(?: more)?)\s+(?:[\w'’-]+ ){0,6}?[a-z]+(?:s|ing)\b.*|i (?:don['’]t|do not) want (?:any |to see |to get )?[a-z-]+s\b.*",
    ),
];

const PERSON: &[Row] = &[
    (Sense::Liking, r"i (?:really |strongly |generally |usually |much |personally |always )*(?:prefer|favou?r)\s+\S.*"),
    (Sense::Liking, r"my (?:strong |personal )?preference is\b.*"),
    (
        Sense::Liking,
        r"i (?:hate|dislike|can['’]t stand|don['’]t like|do not like) (?:it )?(?:when|seeing|reading|getting)\s.*",
    ),
    (Sense::Liking, r"i like \S.*\b(?:better|more|rather) than\b.*|i['’]d rather (?:always|never)\s.*"),
    (
        Sense::Liking,
        r"i(?:['’]d| would) (?:rather|prefer(?: it)?(?: that| if)?) you\b.*\b(?:when(?:ever)?|than|before|every time|each time|always|instead of)\b.*",
    ),
    (
        Sense::About,
        r"(?P<first>i)(?:['’]m| am) an? (?:[\w/+#.-]+ ){0,4}(?:engineer|developer|programmer|scientist|designer|manager|architect|student|teacher|professor|researcher|analyst|administrator|admin|sysadmin|sre|dba|cto|ceo|founder|lead|consultant|contractor|intern|writer|lawyer|doctor|physician|nurse|accountant|maintainer|beginner|novice|physicist|biologist|chemist|mathematician|economist|journalist|editor|translator|violinist|musician|statistician|tester|librarian)(?:[,.;!]|$| (?:and|at|for|in|by|with|who|but|here|on|so|from|learning|working|doing|turned|living|based)\b)",
    ),
    (
        Sense::About,
        r"(?P<first>i)(?:['’]m| am) (?:red-green )?(?:colou?r[ -]?blind|deaf|hard of hearing|dyslexic|left-handed|blind|visually impaired|new to|allergic to|based in|a native)\b.*",
    ),
    (
        Sense::About,
        r"(?P<first>i) (?:work (?:as an?|for (?-i:[A-Z])|remotely|part[- ]time|from home|(?:from|at|in) (?-i:[A-Z]))|live in (?-i:[A-Z])).*",
    ),
    (
        Sense::About,
        r"my name is (?-i:[A-Z])\w+(?: (?-i:[A-Z])\w+)?(?:[.!]?\s*$|(?:,|,? and) (?:i|my)\b.*)|my (?:role|job|job title) is an? .*|my (?:time ?zone|native language|mother tongue|first language|pronouns|working hours|work hours|working days|office hours)(?: here)? (?:is|are) (?:\d|from\b|between\b|utc|gmt|\w+/\w|(?-i:[A-Z])).*",
    ),
    (
        Sense::About,
        r"(?P<first>i)(?:['’]ve| have) (?:been )?(?:writing|using|working with|programming|coding|doing|written|used|worked with|programmed|done)\s.*\bfor\b.*\b(?:years?|decades?)\b.*",
    ),
    (
        Sense::About,
        r"(?P<first>i)(?:['’]ve| have) never (?:used|written|worked with|touched|learned)\s.*|i don['’]t speak (?:any )?(?-i:[A-Z])\w+.*",
    ),
    (Sense::About, r"i speak (?-i:[A-Z])\w+.*"),
    (
        Sense::About,
        r"(?P<first>i) run an? (?:(?:small|little|tiny|family|local) )+(?:[\w-]+ ){0,2}(?:shop|business|company|studio|agency|farm|lab|practice|restaurant|school|clinic|startup)(?:[.,;!].*|$| (?:and|in|with)\b.*)|i(?:['’]m| am) writing my (?:master['’]?s?|phd|bachelor['’]?s?|doctoral)\b.*|i(?:['’]m| am) (?:self-taught|retired)\b.*",
    ),
    (Sense::About, r"(?P<first>i) (?:mostly|mainly) (?:do|write|use|work (?:in|with|on)|code in|program in)\s+\S.*"),
    (
        Sense::About,
        r"(?P<first>i)(?:['’]m| am) the (?:only|sole) (?:[\w-]+ )?(?:developer|engineer|programmer|designer|admin|person|scientist|tester) (?:at|in|on|for)\b.*",
    ),
    (
        Sense::About,
        r"my work(?:ing)? (?:day|week) (?:ends?|starts?|begins?|is|runs)\b.*\d.*|i (?:only )?work (?:\w+ )?(?:\w+) days (?:a|per) week\b.*",
    ),
    (
        Sense::About,
        r"(?P<first>i)(?:['’]m| am) the (?:[\w-]+ ){0,4}(?:lead|head|maintainer|manager|cto|ceo|founder|architect|developer|engineer|designer|admin|person|scientist|tester|programmer) (?:here\b|(?:of|for|at|on|in) (?:this|the|our|a) (?:[\w-]+ ){0,3}?(?:team|company|project|lab|group|department|product|platform|service|app|startup|office|shop|library)\b).*",
    ),
    (Sense::About, r"(?P<first>i)(?:['’]m| am) (?:responsible for|in charge of) (?:the|our|all)\b.*"),
    (
        Sense::About,
        r"i (?:(?:lead|head|manage|maintain|own|look after|run) (?:the|our|an?) (?:[\w-]+ ){0,4}(?:team|department|group|lab)|(?:maintain|own|look after) (?:the|our|an?) (?:[\w-]+ ){0,4}(?:service|app|project|library|package|platform|infrastructure|codebase|backend|frontend|site|shop|product|cluster))(?:[.,;!].*|$| (?:and|here|at|for|with|in)\b.*)",
    ),
    (
        Sense::About,
        r"(?-i:[A-Z])\w+ is(?:n['’]t| not)? my (?:first|second|third|fourth|native) (?:language|tongue)\b.*|i only work (?:on )?(?:mon|tues|wednes|thurs|fri|satur|sun|mornings|afternoons|part)\w*.*",
    ),
    (
        Sense::About,
        r"(?P<first>\d+|ten|twenty|thirty|fifteen|five) years of (?:[\w+#/.-]+ ){1,6}?(?:behind me|under my belt|(?:here )?and (?:zero|no|little) experience)\b.*",
    ),
    (
        Sense::About,
        r"(?P<first>i)(?:['’]m| am) (?:an? )?(?:[\w-]+ )?(?:blind|deaf|dyslexic|colou?r[ -]?blind)\b.*|i (?:have (?:dyslexia|adhd|autism|low vision|rsi|colou?r blindness)|use a screen ?reader|can['’]t (?:see|tell|distinguish|read) (?:red|green|colou?rs?))\b.*",
    ),
    (Sense::About, r"(?:please )?call me (?-i:[A-Z])\w+[.!]?\s*$"),
];

const PROJECT: &[Row] = &[
    (
        Sense::Decision,
        r"(?:we|(?:the |our )?[\w-]+(?: [\w-]+)? and (?:we|i)|the team|our team|everyone|everybody|all of us|the board|our board|(?:the )?management|leadership|the steering (?:group|committee))(?:['’]ve| have| has)?(?: all| finally| just| now| already| also| jointly| collectively)* (?:decided|agreed|resolved|settled)(?: (?:yesterday|today|internally|(?:in|as) (?:the|a) team|(?:this|last|on) [a-z]+|(?:in|at) (?:the|our|today['’]s|yesterday['’]s) (?:[\w-]+ )?(?:meeting|call|review|retro|planning|sync)),?)*(?: with (?:[\w-]+ ){1,3}?)? ?\b(?:to|that|on|upon|against|not|we)\b.*",
    ),
    (
        Sense::Decision,
        r"i(?:['’]ve| have) decided (?:(?:that )?(?:we|the)|on|against|to (?:use|go with|drop|switch|move|stay with|keep|adopt|stick|replace))\b.*",
    ),
    (Sense::Decision, r"(?:decided|agreed):\s.*|(?P<first>decided) (?:to|that|on|against|not to)\s.*"),
    (Sense::Decision, r"it(?:['’]s| is| was| has been) (?:now |finally )?(?:decided|agreed|settled)\b(?::| that) .*"),
    (
        Sense::Decision,
        r"(?:decision|final decision)(?: made)?(?: (?:on|about|for|from|of|after|by|in) [^:]{1,60})?:\s.*",
    ),
    (Sense::Decision, r"(?:the|our) (?:final )?decision (?:is|was) (?:to|that|not)\b.*"),
    (
        Sense::Decision,
        r"we(?:['’]ve| have)? ?(?:chose|chosen|picked (?:[^u]|u[^p])|went with|(?: are|['’]re) going with|opted for)\s?.*\b(?:over|instead of|rather than|for the|for our|because)\b.*|we(?: are|['’]re) going with\s[^,]{2,40},.*",
    ),
    (Sense::Decision, r"(?:we|they) (?:talked|discussed)\b[^:]{0,30}agreed:\s.*"),
    (Sense::Decision, r"we(?:['’]ve| have)? (?:settled|resolved|closed) the [\w -]{2,30}:\s.*"),
    (
        Sense::Decision,
        r"as (?:agreed|decided) (?:with|by|in|on) (?:the|our|all|everyone|\w+['’]s)\b[^,]{2,40}, (?:the|we|our|all|there)\b.*",
    ),
    (Sense::Decision, r"(?:the|our) (?:[\w-]+ ){1,6}?is (?:now |finally )?(?:decided|settled|agreed)(?:[,;.!].*|$)"),
    (
        Sense::Decision,
        r"(?:we|our|the|no)\b[^.:]{5,120}[,;] (?:it was )?(?:decided|agreed) (?:by|in|at|last|with|on)\b.*",
    ),
    (
        Sense::Decision,
        r"(?:after|in|at) (?:the|our|a|\w+['’]s|last \w+['’]s|this \w+['’]s) (?:long )?(?:[\w-]+ )?(?:review|meeting|call|retro|workshop|planning|discussion|sync),? (?:we|the team|everyone)(?: all| finally)? (?:decided|agreed|settled)\b.*",
    ),
    (
        Sense::Decision,
        r"we(?:['’]re| are|['’]ve| have)? (?:moving|switching|migrating|switched|moved|migrated)(?: away| over)? (?:from|to|off)\s.*(?:\b(?:because|instead of|next (?:quarter|year|month|sprint)|for good|in (?:q[1-4]|january|spring|summer|autumn|fall|winter))\b|[,;] (?:management|legal|the board|the team|everyone|it) (?:has |have |was |is )?(?:signed|approved|agreed|decided)\b).*",
    ),
    (
        Sense::Decision,
        r"(?:we|our|there|no)\b.{5,200}?[.,;—–-]+\s+(?:that|this|it)(?:['’]s| is| was| has been) (?:now |all |already )?(?:decided|settled|agreed|signed off|final)\b.*",
    ),
    (
        Sense::Decision,
        r"we(?:['’]re| are) (?:not (?:doing|building|shipping|supporting|using|going to \w+)|dropping|retiring|sunsetting|abandoning|discontinuing|sticking with|staying (?:on|with))\s.*\b(?:because|instead of|for good|as (?:we|the|it)|since (?:we|the|it|nobody))\b.*",
    ),
    (
        Sense::Deadline,
        r"(?:[\w'’/&.-]+ ){0,12}?(?:is|are|falls) (?:due|(?:scheduled|planned|set) (?:for|on|at|to|in|from))\b.*",
    ),
    (
        Sense::Deadline,
        r"(?:[\w'’/&.-]+ ){1,12}?(?:was|were|is|are|has been|have been|got|gets?|will be) (?:moved|postponed|pushed(?: back)?|brought forward|rescheduled|delayed) (?:to|until|till|by)\b.*",
    ),
    (
        Sense::Deadline,
        r"(?:[\w'’/&.-]+ ){1,12}?(?:(?:will be|gets?|is being|are being) (?:switched off|turned off|shut down|retired|removed|frozen|closed|discontinued|decommissioned|replaced|released|published))\b.*",
    ),
    (
        Sense::Deadline,
        r"(?:the|our) (?:[\w-]+ ){1,4}?goes (?:out )?to (?:the|our|its) [\w -]{2,30}? (?:on|by|in) .*|we (?:present|demo|deliver|submit|publish|hand over)\b.*\bon\b.*|we(?:['’]ve| have)? (?:promised|committed to|owe)\b.*\b(?:by|before|on|until|for)\b.*|(?:[\w'’-]+ ){2,10}?(?:must|has to|have to|needs? to) be (?:ready|done|finished|delivered|live|submitted|out|complete|online|signed|in)\b.*\b(?:by|before|on|until)\b.*",
    ),
    (
        Sense::Deadline,
        r"(?:the|our|my|his|her|their|[\w'’.-]+['’]s) (?:[\w'’/&.-]+ ){0,8}?(?:deadline|cut-?off|freeze|release|launch|demo|audit|contract|licen[cs]e|milestone|go-live|migration|certificate|trial|sprint|review|exam|defen[cs]e|conference|submission|rollout|maintenance window|offsite|embargo|support|sabbatical|hearing|pilot|workshop|presentation|inspection|hand-?over|delivery|installation|semester|lease|thesis|opening|premiere|fair|subscription|domain|warranty|cut-?over|shutdown)(?: [\w'’/&.-]+){0,6}? (?:(?:is|are) (?:now |already |moved |on |by |in |due |at |from |until |set |the |scheduled |planned |next |this |tomorrow|\d|(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec))|(?:ends?|expires?|starts?|begins?|closes?|runs out|runs until|opens|goes live|ships?|falls|happens|takes place|lasts)\b).*",
    ),
    (
        Sense::Deadline,
        r"(?:[\w'’/&.-]+ ){1,8}?(?:starts|begins|ends|expires|closes|goes live|runs out|is due|are due|is over) (?:on|at|by|in|from|next|this|tomorrow|today|the|an? (?:week|month|fortnight)|(?:two|three|four) (?:weeks|days|months)|\d|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b.*",
    ),
    (
        Sense::Deadline,
        r"there(?:['’]s| is| will be) (?:an? )?(?:[\w-]+ ){0,4}(?:freeze|outage|maintenance|release|audit|deadline|demo|launch|downtime)\b.*",
    ),
    (
        Sense::Deadline,
        r"we (?:freeze|ship|launch|go live|cut the release|cut over|['’]re launching|are launching|['’]re shipping|are shipping|must (?:ship|deliver|be done|be live)|have until)\b.*",
    ),
    (
        Sense::Deadline,
        r"(?:[\w-]+ ){1,3}(?:deadline|freeze|cut-?off)(?: for [\w. -]{1,30})? is (?:on|next|by|at|\d|moved|(?-i:[A-Z])).*|(?:[\w'’-]+ ){1,5}?(?:ends|drops|stops) (?:the )?support\b.*|we (?:have to|must|need to) (?:deliver|ship|submit|hand in|present|release|launch) (?:the|our|a|an|all|version)\b.*\b(?:by|before|until|on)\b.*",
    ),
    (
        Sense::Deadline,
        r"(?:hard )?deadline for [^:.]{1,60}(?::| is)\s.*|(?:code |feature |release )?freeze (?:is|starts|begins|ends)\b.*|(?:go-live|kick-?off|hand-?over|launch|beta|submission|cut-?over) (?:is|starts|begins|ends) (?:on|at|in|next|tomorrow|from|\d)\b.*",
    ),
];

const PLACES: &[Row] = &[
    (
        Sense::Whereabouts,
        r"(?:the|our|my|all) (?:[\w-]+ ){1,5}?(?:is|are|lives?|sits?) (?:all |kept |stored )*(?:on|in) (?:the|our) (?:nas|shared? drive|share|file ?server|intranet|team drive|network drive|group drive|shared folder)\b.*",
    ),
    (
        Sense::Whereabouts,
        r#"(?:all |our |the |my |every |new )*(?:[\w-]+ ){0,2}?(?:bugs?|issues|incidents?|tickets|feature requests?|requirements|decisions|designs?|design (?:docs?|documents?|files?)|mock-?ups|wireframes|assets|minutes|runbooks?|playbooks?|roadmap|backlog|schedule|rota|roster|translations|contracts|templates|invoices|dashboards|alerts|post-?mortems|user stories|recordings|slides|meeting notes)(?: (?:for|of|from|about) [\w -]{2,30})? (?:(?:aren['’]t|isn['’]t|are not|is not) in \w+, (?:they['’]re|it['’]s|they are|it is)|is|are|go|goes|lives?|sits?|belongs?|gets?)(?: all| always| now| kept| tracked| filed| stored| documented| posted| collected| managed| reported)* (?:in|into|on|to|under|at) (?:the |our |a )?(?:(?-i:[A-Z][\w.-]+)|\w+(?:,? (?:board|project|folder|space|channel|workspace|page|drive|bucket|depot|under|at)\b))\b\s*(?:["“/#.,;!]|$|(?-i:[A-Z])|under|in|at|for).*"#,
    ),
    (
        Sense::Whereabouts,
        r"we (?:track|file|collect|document|manage|plan|discuss|keep) (?:all |our |the )*(?:[\w-]+ ){0,2}?(?:bugs?|issues|incidents?|tickets|feature requests?|requirements|decisions|designs?|minutes|runbooks?|roadmap|backlog|on-call|work|tasks|meeting notes|postmortems) (?:in|on|with|via|under) (?:the |our |a )?(?-i:[A-Z#])\S*.*",
    ),
    (
        Sense::Whereabouts,
        r"(?:[\w'’/&.-]+ +){1,14}?(?:is|are|gets?|being) (?:all |now |also |always |only )*(?:tracked|filed) (?:in|on|at|under|with|via)\b\s*(?:the |our |a |an |my )?(?-i:[A-Z@]).*",
    ),
    (
        Sense::Whereabouts,
        r"(?:the|our|my|all) [^.:]{3,60}? (?:is|are|lives?|sits?)(?: here| at| on| under)?:?\s+(?-i:https?://|[\w-]+(?:\.[\w-]+)+/)\S.*",
    ),
    (
        Sense::Whereabouts,
        r"(?:[\w'’/&.-]+ +){1,14}?(?:is|are|gets?|being) (?:all |now |also |always |only )*(?:tracked|documented|kept|listed|filed|archived|described|managed|planned|discussed|posted|written down|written up|maintained) (?:in|on|at|under|with|via)\b\s*(?:the |our |a |an |my )?(?-i:https?://|[\w-]+(?:\.[\w-]+)+/|#[a-z]|Linear|Jira|Notion|Confluence|Slack|Grafana|Sentry|Datadog|Trello|Asana|Figma|Airtable|SharePoint|Google|wiki|tracker|spreadsheet|board|team drive|shared drive|issue tracker|channel|runbook|[a-z-]+ (?:board|wiki|channel|project|page|space|tracker|spreadsheet|sheet|runbook|drive|dashboard)).*",
    ),
    (
        Sense::Whereabouts,
        r#"(?:[\w'’/&.-]+ +){1,14}?(?:is|are|lives?|sits?|stays?|can be found|(?:is|are) found) (?:in|on|at|under)\b\s*(?:the |our |a |an |my )?(?-i:https?://|[\w-]+(?:\.[\w-]+)+/|#[a-z]|(?:[A-Za-z"“_”-]+ ){0,4}(?:Linear|Jira|Notion|Confluence|Slack|Grafana|Sentry|Datadog|Trello|Asana|Figma|Airtable|SharePoint|Google Drive|wiki|Wiki|issue tracker)(?:[.,;!]|$| (?:under|in|as|at|page|project|space|board|channel)\b)).*"#,
    ),
];
