//! What is said outright in English.

use super::phrase::{Language, Row, Sense};

pub(super) const ENGLISH: Language = Language {
    rows: &[FORGETTING, REMEMBERING, CONFIRMING, RULES, PERSON, PROJECT, PLACES],
    lead: r"(?:please|also|and|but|ok(?:ay)?|so|no|nope|yes|yeah|yep|well|btw|by the way|oh|hey|hi|great|thanks?(?: you)?|good|perfect|fine|right|one (?:more|last) thing|just|again|important|important note|then|ah|actually|for the record|fyi|reminder|as i said|like i said|to be clear|correction|sorry|wait|listen|look)\b",
    joints: r"[,;:—–]\s+|\s+-\s+|\s(?:but|so)\s",
};

const FORGETTING: &[Row] = &[
    (
        Sense::TakeBack,
        r"(?:forget (?:that|it|this)|scratch that|never ?mind(?: that)?|i take (?:that|it) back)[.!]?\s*$",
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
        r"(?:remember|keep in mind|bear in mind|don['’]t forget|do not forget|never forget|memori[sz]e|(?:make|take) (?:a )?note|note for (?:later|the future)|note to self|for future reference|for (?:next|later) (?:time|sessions?)|(?:save|add|commit) (?:this )?to (?:your |long-term )?memory)(?:,? please|,? for (?:later|next time|the future|future sessions))?(?:\s+that\s+|\s*[:,—–-]\s*)(?P<what>.+)",
    ),
    (
        Sense::Remember,
        r"(?:remember|keep in mind|bear in mind|don['’]t forget|do not forget|never forget|memori[sz]e) (?P<what>(?:i|we|i['’]m|we['’]re|my|our|you|always|never|to|when(?:ever)?)\s.+)",
    ),
    (
        Sense::Remember,
        r"(?:remember|keep in mind|bear in mind|don['’]t forget|do not forget) (?P<what>(?:the|all|every|each)\s.+\b(?:is|are|must|should|has|have|uses?|lives?|goes|needs?|starts?|ends?|belongs?|means?|runs?)\b.+)",
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
        r"(?:from now on|going forward|henceforth|from here on(?: out)?|in (?:the )?future,|as a (?:general )?rule,|as of now,)[,:]?\s+\S.*",
    ),
    (
        Sense::Rule,
        r"(?:use|keep|write|run|put|make|answer|reply|respond|format|name|check|ask|commit|push|test|start|end|prefix|sign|add|show|give|call|speak|tell|i want you to|i['’]d like you to|you should|you must|we)\s.*\b(?:from now on|going forward|in (?:the )?future|henceforth)[.!]?\s*$",
    ),
    (Sense::Rule, r"(?:always|never)\s+(?:ever\s+)?(?P<verb>[a-z][a-z-]*)\s+\S.*"),
    (Sense::Rule, r"(?:you|we) (?:must|should|shall) (?:always|never)\s+(?P<verb>[a-z][a-z-]*)\b.*"),
    (Sense::Rule, r"i (?:always|never) want you to \S.*|i want you to (?:always|never)\s+\S.*"),
    (
        Sense::Rule,
        r"(?:let['’]s|make sure(?: you| that you| to)?|be sure to|i['’]d like you to|try to) (?:always|never)\s+(?P<verb>[a-z][a-z-]*)\b.*",
    ),
    (
        Sense::Rule,
        r"(?:whenever|every time|each time|any time) (?:you|we) [^,]+, (?:please |then )?(?:always |never |don['’]t )?(?P<verb>[a-z-]+)\b.*",
    ),
    (
        Sense::Rule,
        r"when (?:you|we) [a-z]+ (?:[\w-]+ )?[a-z-]+s, (?:please )?(?:always |never |don['’]t )?(?P<verb>[a-z-]+)\b.*",
    ),
    (
        Sense::Rule,
        r"keep (?:your |the |all |my )?(?:answers|responses|replies|explanations|commit messages|commits|messages|summaries|functions|prs|pull requests|reports)\s.*",
    ),
    (
        Sense::Rule,
        r"you (?:don['’]t|do not) (?:need|have) to \S.*\b(?:every time|each time|always|again|any ?more)\b.*",
    ),
    (Sense::Rule, r"(?:under no circumstances|at no point)\b.*"),
    (Sense::Rule, r"(?:ask|check with) me (?:first )?before (?:you )?\S.*"),
    (
        Sense::Rule,
        r"(?:for|in|within) this (?:repo|repository|project|codebase|code base|team|company|monorepo)[,:]? (?:we |you |please )*(?:always |never |only )?(?:use|prefer|keep|write|avoid|follow|stick|name|put|run|don['’]t|do not|commit|squash|rebase|indent|format)\b.*",
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
        r"i(?:['’]m| am) (?:an? |the )?(?:[\w/+#.-]+ ){0,4}(?:engineer|developer|programmer|scientist|designer|manager|architect|student|teacher|professor|researcher|analyst|administrator|admin|sysadmin|sre|dba|cto|ceo|founder|lead|consultant|contractor|intern|writer|lawyer|doctor|physician|nurse|accountant|maintainer|beginner|novice|physicist|biologist|chemist|mathematician|economist|journalist|editor|translator|violinist|musician|statistician|tester|librarian|owner)\b",
    ),
    (
        Sense::About,
        r"i(?:['’]m| am) (?:red-green )?(?:colou?r[ -]?blind|deaf|hard of hearing|dyslexic|left-handed|blind|visually impaired|new to|not familiar with|unfamiliar with|allergic to|based in|a native)\b.*",
    ),
    (Sense::About, r"i (?:work|live) (?:from|as|at|in|for|remotely|part[- ]time|with)\b.*"),
    (
        Sense::About,
        r"my (?:role|job|job title|title|time ?zone|name|native language|mother tongue|first language|background|pronouns|working hours|work hours|working days|office hours)(?: here)? (?:is|are)\s.*",
    ),
    (
        Sense::About,
        r"i(?:['’]ve| have) (?:been )?(?:writing|using|working with|programming|coding|doing|written|used|worked with|programmed|done)\s.*\bfor\b.*\b(?:years?|decades?|months)\b.*",
    ),
    (
        Sense::About,
        r"i(?:['’]ve| have) never (?:used|written|worked with|touched|done|learned|seen)\s.*|i don['’]t (?:know|speak|understand) (?:any )?[A-Z]\w+.*",
    ),
    (Sense::About, r"i know [\w+#., -]+ (?:very |really |quite |pretty )?well\b.*|i speak [A-Z]\w+.*"),
    (Sense::About, r"(?:please )?call me (?-i:[A-Z])\w+[.!,]?.*"),
];

const PROJECT: &[Row] = &[
    (
        Sense::Decision,
        r"(?:we|the team|our team|everyone|everybody|all of us)(?:['’]ve| have| has)?(?: all| finally| just| now| already| also| jointly| collectively)* (?:decided|agreed|resolved|concluded|settled) (?:to|that|on|upon|against|not|we|it)\b.*",
    ),
    (Sense::Decision, r"i(?:['’]ve| have) decided (?:that )?(?:we|the)\b.*"),
    (Sense::Decision, r"(?:decided|agreed)(?::| (?:to|that|on|against|not to))\s.*"),
    (Sense::Decision, r"it(?:['’]s| is| was| has been) (?:now |finally )?(?:decided|agreed|settled)\b(?::| that) .*"),
    (Sense::Decision, r"(?:decision|final decision)(?: made)?(?: (?:on|about|for) [^:]{1,60})?:\s.*"),
    (Sense::Decision, r"(?:the|our) (?:final )?decision (?:is|was) (?:to|that|not)\b.*"),
    (
        Sense::Decision,
        r"we (?:chose|picked|went with|(?:are|['’]re) going with|opted for)\s.*\b(?:over|instead of|rather than|for the|for our|because|and not)\b.*",
    ),
    (Sense::Decision, r"(?:we|they) (?:talked|discussed)\b[^:]{0,30}agreed:\s.*"),
    (
        Sense::Deadline,
        r"(?:[\w'’/&.-]+ ){0,12}?(?:is|are|was moved|has been moved|falls) (?:due|scheduled|planned|set)\b.*",
    ),
    (
        Sense::Deadline,
        r"(?:the|our|my|his|her|their|[\w'’.-]+['’]s) (?:[\w'’/&.-]+ ){0,8}?(?:deadline|cut-?off|freeze|release|launch|demo|audit|contract|licen[cs]e|milestone|go-live|migration|certificate|trial|sprint|review|exam|defen[cs]e|conference|submission|rollout|maintenance window|offsite|embargo|support|sabbatical)(?: [\w'’/&.-]+){0,6}? (?:is|are|ends?|expires?|starts?|begins?|closes?|runs out|runs until|goes live|ships?|falls|happens|takes place|lasts)\b.*",
    ),
    (
        Sense::Deadline,
        r"(?:[\w'’/&.-]+ ){1,8}?(?:starts|begins|ends|expires|closes|goes live|runs out|is due|are due|is over) (?:on|at|by|in|from|next|this|tomorrow|today|the|\d|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b.*",
    ),
    (
        Sense::Deadline,
        r"there(?:['’]s| is| will be) (?:an? )?(?:[\w-]+ ){0,4}(?:freeze|outage|maintenance|release|audit|review|deadline|demo|launch|downtime)\b.*",
    ),
    (
        Sense::Deadline,
        r"we (?:freeze|ship|launch|release|go live|cut the release|present|demo|migrate|cut over|['’]re launching|are launching|['’]re shipping|are shipping|must (?:ship|deliver|be done|be live)|have until)\b.*",
    ),
    (
        Sense::Deadline,
        r"(?:hard )?deadline(?: for [^:.]{1,60})?(?::| is)\s.*|(?:code |feature |release )?freeze (?:is|starts|begins|ends)\b.*",
    ),
];

const PLACES: &[Row] = &[
    (
        Sense::Whereabouts,
        r"(?:the|our|my|all) [^.:]{3,60}? (?:is|are|lives?|sits?)(?: here| at| on| under)?:?\s+(?-i:https?://|[\w-]+(?:\.[\w-]+)+/)\S.*",
    ),
    (
        Sense::Whereabouts,
        r"(?:[\w'’/&.-]+[, ]+){1,14}?(?:is|are|gets?|being) (?:all |now |also |always |only )*(?:tracked|documented|kept|listed|filed|logged|collected|archived|recorded|described|managed|planned|discussed|posted|written down|written up|maintained) (?:in|on|at|under|with|via)\b\s*(?:the |our |a |an |my )?(?-i:https?://|[\w-]+(?:\.[\w-]+)+/|#\w|[A-Z]|@|wiki|tracker|spreadsheet|board|team drive|shared drive|issue tracker|channel|runbook|[a-z-]+ (?:board|wiki|channel|project|page|space|tracker|spreadsheet|sheet|runbook|drive|dashboard)).*",
    ),
    (
        Sense::Whereabouts,
        r#"(?:[\w'’/&.-]+[, ]+){1,14}?(?:is|are|lives?|sits?|stays?|can be found|(?:is|are) found) (?:in|on|at|under)\b\s*(?:the |our |a |an |my )?(?-i:https?://|[\w-]+(?:\.[\w-]+)+/|#[a-z]|(?:[A-Za-z"“_”-]+ ){0,4}(?:Linear|Jira|Notion|Confluence|Slack|Grafana|Sentry|Datadog|Trello|Asana|Figma|Airtable|SharePoint|Google Drive|wiki|Wiki|issue tracker|spreadsheet|dashboard|kanban board|runbook)).*"#,
    ),
];
