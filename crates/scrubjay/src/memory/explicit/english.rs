//! What is said outright in English.

use super::phrase::{Language, Row, Sense};

pub(super) const ENGLISH: Language = Language {
    rows: &[FORGETTING, REMEMBERING, CONFIRMING, RULES, PERSON, PROJECT, PLACES],
    lead: r"(?:please|also|and|but|ok(?:ay)?|so|no|nope|yes|yeah|yep|well|btw|by the way|oh|hey|hi|great|thanks?(?: you)?|good|perfect|fine|right|one (?:more|last) thing|just|again|important|important note|then|ah|actually|for the record|fyi|reminder|as i said|like i said|to be clear|correction|sorry|wait|listen|look)\b",
    joints: r"[,;:—–]\s+|\s+-\s+|\s(?:but|so)\s",
    before: r"(?:(?:(?:a |my |the |one |quick |new |final )*(?:note|rule|rules|decision|reminder|correction|preference|deadline|thing|request)(?: to self| for (?:later|you|the future))?|one (?:more|last|other) thing|for (?:future|later|next|all) (?:sessions?|times?|reference)|for (?:the record|context|your information)|about me|as (?:discussed|agreed|mentioned|i mentioned|always)|heads[ -]up|thank you|(?:for|in|within|across) (?:this|our|the whole) (?:repo|repository|project|codebase|code base|team|company|monorepo)|in general|(?:in|for) (?:tests|commits|commit messages|comments|docs|documentation|code|reviews|pull requests|answers|replies)|(?:before|after|when|whenever) (?:you )?(?:commit|push|deploy|merge|review|test|writ|answer|reply|refactor|releas|nam)\w*(?: [\w-]+){0,4}|that(?:['’]s| is) (?:wrong|not (?:right|what i (?:want|meant)))|(?:wrong|not quite|exactly|careful))[\s,:;—–-]*)+|(?:i|i['’]m|we|we['’]re|you|it|that|this|the|our|my|these|those)\b.*(?:[;—–]|\s-|\s(?:but|so|and)|,\s*(?:but|so|and))\s+",
};

const FORGETTING: &[Row] = &[
    (
        Sense::TakeBack,
        r"(?:forget (?:that|it|this)|scratch that|never ?mind(?: that)?|i take (?:that|it) back|(?:ignore|disregard) (?:what i (?:just )?said|that|it|my last (?:message|sentence)))(?:[.!]?\s*$|,.*)",
    ),
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
        r"(?:keep|always do|do) (?:it|that|this|them) (?:like (?:that|this)|that way|this way)(?: from now on| in (?:the )?future| going forward| every time| always|[.!]?\s*$)",
    ),
    (
        Sense::Confirmation,
        r"(?:from now on|in (?:the )?future|going forward|next time)[,:]? (?:always |please )?(?:do|keep) (?:it|that|this|them) (?:exactly )?(?:like (?:that|this)|that way|this way)",
    ),
    (
        Sense::Confirmation,
        r"(?:that['’]s|this is) (?:exactly )?(?:how|the way) i (?:want|like) (?:it|them|these|things)(?: done)?\b.*(?:from now on|in (?:the )?future|going forward|always|every time)",
    ),
];

const RULES: &[Row] = &[
    (
        Sense::Rule,
        r"(?:from now on|going forward|henceforth|from here on(?: out)?|as a (?:general )?rule,)[,:]?\s+(?:please|you|we|i want|i['’]d|let['’]s|all|every|each|any|no|always|never|only|don['’]t|do not|both|when|if)\b.*",
    ),
    (
        Sense::Rule,
        r"(?:from now on|going forward|henceforth|from here on(?: out)?|as a (?:general )?rule,)[,:]?\s+(?P<verb>[a-z][a-z-]*)\b.*",
    ),
    (
        Sense::Rule,
        r"(?:from now on|going forward|henceforth|from here on(?: out)?|as a (?:general )?rule,)[,:]?\s+[^,]{2,60}\b(?:must|should|needs?|has to|have to|gets?|goes?|only)\b.*",
    ),
    (
        Sense::Rule,
        r"in (?:the )?future,? (?:please |always |never |only |don['’]t |do not |you (?:should|must) )*(?P<verb>[a-z][a-z-]*)\b.*",
    ),
    (
        Sense::Rule,
        r"(?:use|keep|write|run|put|make|answer|reply|respond|format|name|check|ask|commit|push|test|start|end|prefix|sign|add|show|give|call|speak|tell|i want you to|i['’]d like you to|you should|you must|we)\s.*\b(?:from now on|going forward|in (?:the )?future|henceforth)[.!]?\s*$",
    ),
    (Sense::Rule, r"(?:always|never)\s+(?:ever\s+)?(?P<verb>[a-z][a-z-]*)\s+\S.*"),
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
    (Sense::Ban, r"i (?:don['’]t|do not|never) want you to (?P<verb>[a-z][a-z-]+)\s+\S.*"),
    (Sense::Ban, r"(?:you (?:must|should) not|don['’]t|do not)\s+(?:ever\s+)?(?P<verb>[a-z][a-z-]+)\s+\S.*"),
    (Sense::Ban, r"(?:avoid|stop)\s+(?P<doing>[a-z-]+ing)\s+\S.*"),
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
        Sense::About,
        r"(?P<first>i)(?:['’]m| am) an? (?:[\w/+#.-]+ ){0,4}(?:engineer|developer|programmer|scientist|designer|manager|architect|student|teacher|professor|researcher|analyst|administrator|admin|sysadmin|sre|dba|cto|ceo|founder|lead|consultant|contractor|intern|writer|lawyer|doctor|physician|nurse|accountant|maintainer|beginner|novice|physicist|biologist|chemist|mathematician|economist|journalist|editor|translator|violinist|musician|statistician|tester|librarian)(?:[,.;!]|$| (?:and|at|for|in|by|with|who|but|here|on|so|from)\b)",
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
    (Sense::About, r"(?:please )?call me (?-i:[A-Z])\w+[.!]?\s*$"),
];

const PROJECT: &[Row] = &[
    (
        Sense::Decision,
        r"(?:we|the team|our team|everyone|everybody|all of us)(?:['’]ve| have| has)?(?: all| finally| just| now| already| also| jointly| collectively)* (?:decided|agreed|resolved|settled)(?: with (?:[\w-]+ ){1,3}?)? ?\b(?:to|that|on|upon|against|not|we)\b.*",
    ),
    (
        Sense::Decision,
        r"i(?:['’]ve| have) decided (?:(?:that )?(?:we|the)|on|against|to (?:use|go with|drop|switch|move|stay with|keep|adopt|stick|replace))\b.*",
    ),
    (Sense::Decision, r"(?:decided|agreed):\s.*|(?P<first>decided) (?:to|that|on|against|not to)\s.*"),
    (Sense::Decision, r"it(?:['’]s| is| was| has been) (?:now |finally )?(?:decided|agreed|settled)\b(?::| that) .*"),
    (Sense::Decision, r"(?:decision|final decision)(?: made)?(?: (?:on|about|for) [^:]{1,60})?:\s.*"),
    (Sense::Decision, r"(?:the|our) (?:final )?decision (?:is|was) (?:to|that|not)\b.*"),
    (
        Sense::Decision,
        r"we (?:chose|picked (?:[^u]|u[^p])|went with|(?:are|['’]re) going with|opted for)\s?.*\b(?:over|instead of|rather than|for the|for our|because)\b.*",
    ),
    (Sense::Decision, r"(?:we|they) (?:talked|discussed)\b[^:]{0,30}agreed:\s.*"),
    (
        Sense::Deadline,
        r"(?:[\w'’/&.-]+ ){0,12}?(?:is|are|was moved|has been moved|falls) (?:due|(?:scheduled|planned|set) (?:for|on|at|to|in|from))\b.*",
    ),
    (
        Sense::Deadline,
        r"(?:the|our|my|his|her|their|[\w'’.-]+['’]s) (?:[\w'’/&.-]+ ){0,8}?(?:deadline|cut-?off|freeze|release|launch|demo|audit|contract|licen[cs]e|milestone|go-live|migration|certificate|trial|sprint|review|exam|defen[cs]e|conference|submission|rollout|maintenance window|offsite|embargo|support|sabbatical)(?: [\w'’/&.-]+){0,6}? (?:(?:is|are) (?:now |already |moved |on |by |in |due |at |from |until |set |the |scheduled |planned |next |this |tomorrow|\d|(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec))|(?:ends?|expires?|starts?|begins?|closes?|runs out|runs until|goes live|ships?|falls|happens|takes place|lasts)\b).*",
    ),
    (
        Sense::Deadline,
        r"(?:[\w'’/&.-]+ ){1,8}?(?:starts|begins|ends|expires|closes|goes live|runs out|is due|are due|is over) (?:on|at|by|in|from|next|this|tomorrow|today|the|\d|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b.*",
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
        r"(?:hard )?deadline for [^:.]{1,60}(?::| is)\s.*|(?:code |feature |release )?freeze (?:is|starts|begins|ends)\b.*",
    ),
];

const PLACES: &[Row] = &[
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
