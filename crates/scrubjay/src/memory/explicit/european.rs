//! What is said outright in German, French and Spanish: a few phrases that mean nothing else.

use super::phrase::{Language, Row, Sense};

pub(super) const EUROPEAN: Language = Language {
    rows: &[GERMAN, FRENCH, SPANISH],
    lead: r"(?:bitte|und|aber|ok(?:ay)?|nein|ja|also|übrigens|gut|danke|s'il te plaît|s’il te plaît|oui|non|et|mais|merci|alors|au fait|por favor|sí|no|y|pero|gracias|además|por cierto)\b",
    joints: r"[,;:—–]\s+|\s(?:aber|und|mais|et|pero|y)\s",
    before: r"(?:(?:noch (?:etwas|eins)|kurze notiz|wichtig|korrektur|in diesem (?:projekt|repo)|encore une chose|important|dans ce (?:projet|dépôt)|una cosa más|importante|en este (?:proyecto|repositorio)|cuidado)[\s,:;—–-]*)+",
};

const GERMAN: &[Row] = &[
    (Sense::Forget, r"(?:du kannst )?vergiss,? (?:dass|was ich (?:über|zu)) (?P<what>.+)"),
    (
        Sense::Remember,
        r"(?:merk(?:e)? dir|denk(?:e)? daran|vergiss nicht|behalte im kopf)(?: bitte)?(?:,? dass\s+|\s*[:,]\s*)(?P<what>.+)",
    ),
    (Sense::RememberThis, r"(?:merk(?:e)? dir das|behalte das)(?: bitte)?[.!]?\s*$"),
    (
        Sense::Confirmation,
        r"(?:mach (?:das|es) (?:immer|künftig|ab jetzt|weiter) so|so ab jetzt immer|genau so weiter)\b",
    ),
    (
        Sense::Rule,
        r"(?:ab jetzt|ab sofort|von jetzt an|in zukunft|künftig|zukünftig)\b[,:]?\s+(?:bitte|nur|immer|nie|niemals|kein\w*|alle[ns]?|jede[rsn]?|antworte|schreib\w*|verwende|nutze?|benutze?|mach\w*|nimm|frag\w*|committe|teste?|gib|zeig\w*|erklär\w*|sprich|lass|setz\w*|du|wir)\b.*",
    ),
    (
        Sense::Rule,
        r"(?:(?:verwende|benutze?|schreib(?:e)?|nutze?|mach(?:e)?|führe?|frag(?:e)?|antworte|committe|pushe|lass|teste?|nimm|ändere?|lösche?)\b.{0,40}?\b(?:immer|nie|niemals|grundsätzlich|stets))\b.*",
    ),
    (Sense::Liking, r"ich (?:bevorzuge|ziehe\s.{2,60}\svor|mag lieber|arbeite lieber|habe lieber)\b.*"),
    (
        Sense::About,
        r"ich (?:arbeite (?:als|(?:bei|in|aus) (?-i:[A-ZÄÖÜ])\w*|von zu ?hause|im homeoffice|remote)|wohne in|bin (?:von beruf|farbenblind|linkshänder)|heiße)\b.*",
    ),
    (
        Sense::About,
        r"ich bin (?:gelernte[rn]?|ausgebildete[rn]?|studierte[rn]?) (?-i:[A-ZÄÖÜ])\w+\b.*|ich bin (?:ein(?:e)? )?(?:[\w-]+ ){0,2}[\w-]*(?:entwickler(?:in)?|ingenieur(?:in)?|student(?:in)?|designer(?:in)?|lehrer(?:in)?|anfänger(?:in)?|informatiker(?:in)?)\b.*",
    ),
    (
        Sense::Decision,
        r"(?:wir|das team) (?:haben|hat) (?:uns |sich )?.{0,80}(?:entschieden|beschlossen|vereinbart|geeinigt)\b.*",
    ),
    (
        Sense::Whereabouts,
        r"(?:[\w-]+ ){1,10}(?:stehen|steht|liegen|liegt|werden|wird)\b.{0,40}\b(?:in|im|auf|unter) (?-i:https?://|[\w-]+(?:\.[\w-]+)+/|Jira|Linear|Notion|Confluence|Wiki|Slack|Grafana).*",
    ),
];

const FRENCH: &[Row] = &[
    (Sense::Forget, r"oublie (?:que|ce que j['’]ai dit sur) (?P<what>.+)"),
    (
        Sense::Remember,
        r"(?:souviens-toi|retiens(?: bien)?|rappelle-toi|n['’]oublie pas|note bien)(?: bien)?(?:\s+qu(?:e\s+|['’])|\s*[:,]\s*)(?P<what>.+)",
    ),
    (Sense::RememberThis, r"(?:retiens (?:ça|cela|bien ça)|souviens-t['’]en)[.!]?\s*$"),
    (
        Sense::Rule,
        r"(?:désormais|dorénavant|à partir de maintenant|à l['’]avenir)[,:]?\s+(?:n['’]|(?:réponds|écris|utilise|fais|mets|demande|donne|lance|garde|commence|évite|ne|toujours|jamais|tous|toutes|chaque|aucune?|pas|seulement|tu|plus)\b).*",
    ),
    (Sense::Rule, r"(?:utilise|écris|fais|mets|demande|réponds|lance|commence|garde)\b.{0,20}\btoujours\b.*"),
    (Sense::Rule, r"(?:ne|n['’])\s?\S+ jamais\b.*"),
    (Sense::Liking, r"je préfère\s+\S.*"),
    (
        Sense::About,
        r"je (?:suis (?:un |une )?(?:développeu(?:r|se)|ingénieure?|étudiante?|traduct(?:eur|rice)|professeure?|médecin|comptable|avocate?|journaliste|bibliothécaire|graphiste|daltonien(?:ne)?|débutante?|gauch(?:er|ère))|travaille (?:chez|comme|(?:à|en|depuis) (?-i:[A-Z])\w*)|m['’]appelle)\b.*",
    ),
    (Sense::Decision, r"(?:nous avons|on a|l['’]équipe a) (?:décidé|convenu|choisi)\b.*"),
];

const SPANISH: &[Row] = &[
    (Sense::Forget, r"olvida (?:que|lo que dije sobre) (?P<what>.+)"),
    (
        Sense::Remember,
        r"(?:recuerda|acuérdate(?: de)?|ten en cuenta|no olvides|apunta)(?:\s+que\s+|\s*[:,]\s*)(?P<what>.+)",
    ),
    (Sense::RememberThis, r"(?:recuerda esto|recuérdalo|guárdalo)[.!]?\s*$"),
    (
        Sense::Rule,
        r"(?:a partir de ahora|de ahora en adelante|en adelante|en el futuro,)[,:]?\s+(?:responde|escribe|usa|utiliza|haz|pon|pregunta|ejecuta|firma|contesta|no|nunca|siempre|todos?|todas?|cada|solo|sólo|por favor|usamos|quiero)\b.*",
    ),
    (
        Sense::Rule,
        r"(?:usa|utiliza|escribe|haz|pon|pregunta|responde|ejecuta|mantén) siempre\b.*|siempre (?:usa|utiliza|escribe|haz|pon|pregunta|responde|ejecuta)\b.*|nunca (?:uses|utilices|escribas|hagas|pongas|ejecutes|subas|borres|toques)\b.*",
    ),
    (Sense::Liking, r"(?:yo )?prefiero\s+\S.*"),
    (
        Sense::About,
        r"(?:soy (?:un |una )?(?:desarrollador(?:a)?|ingenier[oa]|estudiante|bibliotecari[oa]|profesora?|médic[oa]|abogad[oa]|diseñadora?|traductora?|periodista|economista|contable|enfermer[oa]|daltónic[oa]|principiante|zurd[oa])|trabajo (?:como|para|en (?-i:[A-Z])\w*|desde (?:casa|(?-i:[A-Z])\w*))|me llamo)\b.*",
    ),
    (Sense::Decision, r"(?:hemos decidido|decidimos|acordamos|hemos acordado|el equipo decidió)\b.*"),
];
