use super::*;
use jiff::civil::date;
use proptest::prelude::*;

/// Monday.
const SAID: Date = date(2026, 11, 16);

/// Each date as `2026-11-19`, a range as `first..last`, `?` where people differ.
fn read(text: &str, said: Date) -> Vec<String> {
    let one = |found: Found| match found.when {
        When::Unclear => "?".to_owned(),
        When::Days { first, last } if first == last => first.to_string(),
        When::Days { first, last } => format!("{first}..{last}"),
    };
    find(text, said).into_iter().map(one).collect()
}

#[track_caller]
fn table(said: Date, rows: &[(&str, &[&str])]) {
    for (text, expected) in rows {
        assert_eq!(read(text, said), *expected, "{text}");
    }
}

#[test]
fn english_days() {
    table(
        SAID,
        &[
            ("Ship it today", &["2026-11-16"]),
            ("tomorrow's review", &["2026-11-17"]),
            ("the day after tomorrow", &["2026-11-18"]),
            ("It broke last night.", &["2026-11-15"]),
            ("The freeze starts Thursday.", &["2026-11-19"]),
            ("Finish the draft by Thursday", &["2026-11-19"]),
            ("We decided to freeze releases by Thursday.", &["2026-11-19"]),
            ("We've agreed to ship before Friday", &["2026-11-20"]),
            ("The freeze is on Thursday.", &["2026-11-19"]),
            ("The freeze starts on Thursday, the mobile team cuts its branch then.", &["2026-11-19"]),
            ("The vendor shipped it on Thursday.", &["2026-11-12"]),
            ("The review is scheduled for Friday.", &["2026-11-20"]),
            ("We will meet on Fri.", &["2026-11-20"]),
            ("this Friday", &["2026-11-20"]),
            ("this coming Friday", &["2026-11-20"]),
            ("Tuesday of next week", &["2026-11-24"]),
            ("next week on Tuesday", &["2026-11-24"]),
            ("next week", &["2026-11-23..2026-11-29"]),
            ("last month", &["2026-10-01..2026-10-31"]),
            ("next year", &["2027-01-01..2027-12-31"]),
            ("this weekend", &["2026-11-21..2026-11-22"]),
            ("three weeks ago", &["2026-10-26"]),
            ("It will expire in 10 days", &["2026-11-26"]),
            ("two days from now", &["2026-11-18"]),
            ("2 weeks after tomorrow", &["2026-12-01"]),
            ("the 20th of next month", &["2026-12-20"]),
            ("by the end of the month", &["2026-11-30"]),
            ("It is due Dec. 4", &["2026-12-04"]),
            ("We met on 2 October", &["2026-10-02"]),
            ("Thu, Nov 19", &["2026-11-19"]),
            ("July 4th of last year", &["2025-07-04"]),
        ],
    );
}

#[test]
fn english_days_reckoned_from_the_day_or_another_date() {
    table(
        SAID,
        &[
            ("Nobody merges after Thursday.", &["2026-11-19"]),
            ("After Thursday no merges.", &["2026-11-19"]),
            ("Send it by friday", &["2026-11-20"]),
            ("No deploys before Tuesday", &["2026-11-17"]),
            ("Merges blocked until friday", &["2026-11-20"]),
            ("Merges were blocked until friday", &["2026-11-13"]),
            ("After Thursday everything broke.", &["?"]),
            ("The deadline is the 27th.", &["2026-11-27"]),
            ("the 27th", &["2026-11-27"]),
            ("We must ship on the 3rd", &["2026-12-03"]),
            ("We shipped on the 3rd.", &["2026-11-03"]),
            ("We launched on the 27th.", &["2026-10-27"]),
            ("We hit the wall on the 27th.", &["?"]),
            ("We ship on the 3rd.", &["?"]),
            ("board demo is on the 3rd, only fixes", &["2026-12-03"]),
            ("We have until April 14 to get the audited numbers.", &["2027-04-14"]),
            ("Due on the 16th", &["?"]),
            ("It will end on the 31st", &["?"]),
            ("Meet Friday the 27th", &["2026-11-27"]),
            ("code freeze in 3 days", &["2026-11-19"]),
            ("The freeze starts in two weeks", &["2026-11-30"]),
            ("due end of month", &["2026-11-30"]),
            ("due end of next month", &["2026-12-31"]),
            ("code freeze starts friday, the audit begins the monday after", &["2026-11-20", "2026-11-23"]),
            ("The freeze starts Friday. The audit is the following Monday.", &["2026-11-20", "2026-11-23"]),
            ("The freeze starts on 2026-11-20, the audit the day after.", &["2026-11-20", "2026-11-21"]),
            ("The freeze starts next Friday, the audit the Monday after that.", &["?", "?"]),
            ("The freeze starts Friday, the audit the Monday after we ship.", &["2026-11-20"]),
            ("The freeze starts on 2026-12-04, the audit the Monday after.", &["2026-12-04", "2026-12-07"]),
            ("the Monday after", &[]),
            ("the demo is a week from friday", &["2026-11-27"]),
            ("two weeks from Monday", &["?"]),
            ("Let's meet tomorrow week.", &["2026-11-24"]),
        ],
    );
}

#[test]
fn german_days() {
    table(
        SAID,
        &[
            ("Ab Donnerstag ist Code Freeze.", &["2026-11-19"]),
            ("Bitte bis Freitag abgeben.", &["2026-11-20"]),
            ("Wir waren bis Freitag weg.", &["?"]),
            ("Die Abnahme ist am 27.", &["2026-11-27"]),
            ("Am 27. liefern wir.", &["2026-11-27"]),
            ("Die Abnahme ist am 3. Dezember.", &["2026-12-03"]),
            ("Die Abnahme ist am 3. Dezember 2027.", &["2027-12-03"]),
            ("Wir sind am 3. Standort", &[]),
            ("Das Release kommt in drei Tagen.", &["2026-11-19"]),
            ("Wir gehen in zwei Wochen live", &["2026-11-30"]),
            ("Wir haben es in drei Tagen gebaut.", &[]),
            ("vor drei Wochen", &["2026-10-26"]),
            ("Ende des Monats", &["2026-11-30"]),
            ("zum Monatsende fällig", &["2026-11-30"]),
            ("Ende der Woche", &["?"]),
            ("gestern, heute und morgen", &["2026-11-15", "2026-11-16", "2026-11-17"]),
            ("Guten Morgen! Jeden Morgen ist am Morgen ein Morgen.", &[]),
            ("letzten Freitag", &["2026-11-13"]),
            ("nächsten Montag", &["2026-11-23"]),
            ("nächsten Freitag", &["?"]),
            ("kommenden Freitag", &["2026-11-20"]),
            ("Der Freeze beginnt Freitag", &["2026-11-20"]),
            ("Demo ist Freitag", &["?"]),
            ("nächste Woche Dienstag", &["2026-11-24"]),
            ("Anfang nächster Woche", &["?"]),
            ("Hier ist der Fehler.", &[]),
        ],
    );
}

#[test]
fn french_and_spanish_days() {
    table(
        SAID,
        &[
            ("jeudi prochain", &["?"]),
            ("lundi prochain", &["2026-11-23"]),
            ("vendredi dernier", &["2026-11-13"]),
            ("On livre demain, hier c'était trop tôt.", &["2026-11-17", "2026-11-15"]),
            ("après-demain", &["2026-11-18"]),
            ("dans trois jours", &["2026-11-19"]),
            ("il y a deux semaines", &["2026-11-02"]),
            ("à la fin du mois", &["2026-11-30"]),
            ("La livraison est le 27.", &["2026-11-27"]),
            ("La livraison est le 3 décembre", &["2026-12-03"]),
            ("jusqu'à vendredi", &["2026-11-20"]),
            ("El viernes pasado", &["2026-11-13"]),
            ("el lunes que viene", &["2026-11-23"]),
            ("Mañana por la mañana, ayer", &["2026-11-17", "2026-11-15"]),
            ("por la mañana", &[]),
            ("en tres días sale", &["2026-11-19"]),
            ("Lo hicimos en tres días", &[]),
            ("dentro de dos semanas", &["2026-11-30"]),
            ("a fin de mes", &["2026-11-30"]),
            ("La entrega es el 27", &["2026-11-27"]),
            ("La entrega es el 3 de diciembre de 2027", &["2027-12-03"]),
            ("hasta el viernes", &["2026-11-20"]),
        ],
    );
}

#[test]
fn days_in_more_languages() {
    table(
        SAID,
        &[
            ("Consegna entro venerdì, domani, tra tre giorni", &["2026-11-20", "2026-11-17", "2026-11-19"]),
            ("até sexta-feira, amanhã", &["2026-11-20", "2026-11-17"]),
            ("Het is over drie dagen klaar, voor vrijdag", &["2026-11-19", "2026-11-20"]),
            ("The build ran over one week", &[]),
            ("до пятницы, завтра, через три дня", &["2026-11-20", "2026-11-17", "2026-11-19"]),
            ("среда разработки", &[]),
            ("来週の金曜日にリリース", &["2026-11-27"]),
            ("来週の日曜日", &["?"]),
            ("明日、昨日", &["2026-11-17", "2026-11-15"]),
            ("今週金曜まで", &["2026-11-20"]),
            ("3日後にリリース", &["2026-11-19"]),
            ("3日間かかる", &[]),
            ("月末、来月末", &["2026-11-30", "2026-12-31"]),
            ("27日までに", &["2026-11-27"]),
            ("金曜日までに提出", &["2026-11-20"]),
            ("金曜日に会議", &["?"]),
            ("27号前完成", &["2026-11-27"]),
            ("住在27号楼", &[]),
            ("27日前完成", &["?"]),
        ],
    );
}

#[test]
fn rules_are_no_dates() {
    for text in [
        "Deploys go out on Tuesdays",
        "every Friday",
        "on Fridays",
        "freitags, jeden Freitag, Montag bis Freitag",
        "les vendredis, chaque vendredi, le vendredi, tous les vendredis",
        "los informes del lunes, en lunes, los viernes, cada viernes, todos los viernes, de lunes a viernes",
        "ogni venerdì, il venerdì",
        "toda sexta-feira, às sextas-feiras",
        "elke vrijdag",
        "каждую пятницу, по пятницам",
        "毎週金曜日, 月曜から金曜まで",
        "每周五",
    ] {
        assert_eq!(read(text, SAID), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn a_date_that_stands_beside_its_words_stays() {
    for text in [
        "Friday 2026-11-20",
        "The freeze starts Friday, 2026-11-20.",
        "The audit begins on Monday (2026-11-23).",
        "Ship it tomorrow (2026-11-17).",
        "next Friday (2026-11-27) is the audit",
        "Empieza el viernes 2026-11-20",
        "Der Freeze beginnt am Freitag (2026-11-20).",
        "周五（2026-11-20）冻结",
        "金曜日（2026-11-20）にリリース",
        "The freeze starts on Friday, that is on 2026-11-20.",
        "Freeze on 2026-11-20, a Friday",
        "gestern = 2026-11-18",
        "Standup is Friday, so it is 2026-11-20.",
    ] {
        assert_eq!(absolute(text, SAID), text);
    }
    // A date for something else settles nothing.
    assert_eq!(
        absolute("We met on 2026-11-13 and will meet again on Friday.", SAID),
        "We met on 2026-11-13 and will meet again on 2026-11-20 (Friday)."
    );
}

#[test]
fn what_was_resolved_and_what_was_left_open_is_counted() {
    for (text, counts) in [
        ("We met yesterday and meet again next Friday, on 2027-01-01 or tomorrow.", (2, 1)),
        ("We meet next Friday.", (0, 1)),
        ("We meet on Fridays.", (0, 0)),
        ("We meet on 2026-11-20 (Friday).", (0, 0)),
    ] {
        let done = resolve(text, SAID);
        assert_eq!((done.resolved, done.left_open), counts, "{text}");
        assert_eq!(done.text == text, counts == (0, 0), "{text}");
    }
    assert_eq!(resolve_ahead("Die Demo ist Freitag.", SAID).text, "Die Demo ist 2026-11-20 (Freitag).");
    assert_eq!(resolve_ahead("Freeze on the 3rd.", SAID).text, "Freeze on 2026-12-03 (the 3rd).");
}

#[test]
fn questions_in_other_languages_name_days() {
    let day = |day: i8| Days::Between(date(2026, 11, day), date(2026, 11, day));
    for (text, days) in [
        ("Was haben wir gestern beschlossen?", vec![day(15)]),
        ("上周五修了什么？", vec![day(13)]),
        ("¿Qué pasó el viernes pasado?", vec![day(13)]),
        ("Was ist Freitag?", vec![]),
    ] {
        assert_eq!(asked(text, &[], SAID).days, days, "{text}");
    }
}

#[test]
fn absolute_dates_are_the_same_whenever_they_are_read() {
    for said in [SAID, date(1999, 1, 1)] {
        table(
            said,
            &[
                ("on 2026-11-19", &["2026-11-19"]),
                ("at 2026-11-19T10:00:00.5Z.", &["2026-11-19"]),
                ("22/04/2016 or 4/22/2016", &["2016-04-22", "2016-04-22"]),
                ("Thursday, November 19, 2026", &["2026-11-19"]),
                ("19th of Nov. 2026", &["2026-11-19"]),
                ("March 2026", &["2026-03-01..2026-03-31"]),
                ("2026年11月19日", &["2026-11-19"]),
            ],
        );
    }
}

#[test]
fn where_people_differ_nobody_guesses() {
    let wednesday = date(2026, 11, 18);
    table(
        wednesday,
        &[
            ("next Friday", &["?"]),
            ("next Tuesday", &["2026-11-24"]),
            ("last Tuesday", &["?"]),
            ("last Friday", &["2026-11-13"]),
            ("this Monday", &["?"]),
            ("We will meet Wednesday", &["?"]),
            ("Standup is Friday", &["?"]),
            ("It was moved to Friday", &["?"]),
            ("early next week", &["?"]),
            ("3 days before Friday", &["?"]),
            ("next weekend", &["?"]),
            ("the end of the week", &["?"]),
            ("next December", &["?"]),
            ("next March", &["2027-03-01..2027-03-31"]),
            ("June 5", &["?"]),
        ],
    );
}

#[test]
fn chinese_days() {
    table(
        SAID,
        &[
            ("明天发布", &["2026-11-17"]),
            ("大后天见", &["2026-11-19"]),
            ("周四要交报告", &["2026-11-19"]),
            ("上周五修好了", &["2026-11-13"]),
            ("下周五之前", &["2026-11-27"]),
            ("本周三", &["2026-11-18"]),
            ("下个月5号", &["2026-12-05"]),
            ("月底前完成", &["2026-11-30"]),
            ("Jenkins 将在 2026 年 11 月底关机", &[]),
            ("三天前", &["2026-11-13"]),
            ("10天后到期", &["2026-11-26"]),
            ("两周后", &["2026-11-30"]),
            ("将在12月4日上线", &["2026-12-04"]),
            ("明年3月", &["2027-03-01..2027-03-31"]),
            ("下周", &["2026-11-23..2026-11-29"]),
            ("周四开会", &["?"]),
            ("每周五", &[]),
            ("周一到周五", &[]),
            ("先天不足，后天弥补", &[]),
            ("第3天后", &[]),
        ],
    );
}

#[test]
fn ordinary_words_names_and_code_are_no_dates() {
    for text in [
        "may I march on?",
        "You may 5 times",
        "The cat sat in the sun for a second.",
        "We wed, then mon and fri",
        "v1.2.3 and 10.0.0.1",
        "05/06 and 05/06/2026",
        "run `today` or ```\nnext week\n```",
        "logs/2026-11-19/today.txt",
        "2026-11-19-a7f3",
        "id 20261119",
        "https://example.org/next/friday?on=2026-11-19",
        "user_today, today_count, today-ish",
        "every Friday",
        "Fridays",
        "Open Monday to Friday",
        "Built in 3 days",
        "It can be done in 3 days",
        "twice in a week",
        "the first Friday of May",
        "Cyber Monday",
        "2026-02-30",
        "It lasts 3 weeks.",
        "over the next week",
        "Meet me on the 3rd floor.",
        "It worked on the 2nd try",
        "The 3rd is broken.",
        "Payday is on the 15th",
        "Rent is due on the 1st of every month",
        "Jada is married to Heidi Montag and to David Ayer",
        "我写了十来年 Java",
    ] {
        assert_eq!(read(text, SAID), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn ends_of_years_leap_days_and_short_months() {
    table(date(2026, 12, 31), &[("tomorrow", &["2027-01-01"]), ("next month", &["2027-01-01..2027-01-31"])]);
    table(date(2027, 1, 1), &[("this week", &["2026-12-28..2027-01-03"]), ("yesterday", &["2026-12-31"])]);
    table(date(2028, 2, 28), &[("tomorrow", &["2028-02-29"]), ("in Feb 2028", &["2028-02-01..2028-02-29"])]);
    table(date(2028, 2, 29), &[("a year ago", &["2027-02-28"]), ("We will do it on Feb 29", &["2028-02-29"])]);
    table(date(2026, 1, 31), &[("It will end in one month", &["2026-02-28"]), ("a month ago", &["2025-12-31"])]);
    // The nights in which clocks change have a tomorrow like any other.
    table(date(2026, 3, 28), &[("tomorrow", &["2026-03-29"]), ("two days from now", &["2026-03-30"])]);
    table(Date::MAX, &[("tomorrow", &[]), ("next week", &[]), ("It will end in 5 years", &[])]);
    table(Date::MIN, &[("yesterday", &[]), ("five years ago", &[])]);
}

// spec: D7
#[test]
fn relative_dates_become_absolute_and_keep_their_words() {
    for (text, expected) in [
        ("Send it by Thursday.", "Send it by 2026-11-19 (Thursday)."),
        ("Away next week, back next month", "Away 2026-11-23 to 2026-11-29 (next week), back 2026-12 (next month)"),
        ("The token will expire in two weeks", "The token will expire on 2026-11-30 (in two weeks)"),
        ("Decided three months ago", "Decided 2026-08 (three months ago)"),
        ("Meet next Friday", "Meet next Friday (said on 2026-11-16)"),
        ("下周五之前完成", "2026-11-27（下周五）之前完成"),
        ("本周休假", "2026-11-16 至 2026-11-22（本周）休假"),
        ("周四开会", "周四（说于 2026-11-16）开会"),
        ("Since 2026-11-01 (Sunday) and Nov 5, 2026", "Since 2026-11-01 (Sunday) and Nov 5, 2026"),
        ("nothing here, `tomorrow` neither", "nothing here, `tomorrow` neither"),
    ] {
        let once = absolute(text, SAID);
        assert_eq!(once, expected);
        assert_eq!(absolute(&once, SAID), once);
        assert_eq!(absolute(&once, date(2030, 5, 2)), once, "a later reader changes nothing");
    }
}

/// Words that mean something to the grammar, and ones that do not.
const PARTS: &[&str] = &[
    "today",
    "tomorrow",
    "next",
    "last",
    "this",
    "Friday",
    "Mon",
    "week",
    "month",
    "year",
    "in",
    "3",
    "two",
    "days",
    "ago",
    "from",
    "now",
    "the",
    "end",
    "of",
    "May",
    "Oct",
    "2nd",
    "2026",
    ",",
    ".",
    "(",
    ")",
    "-",
    "/",
    "`",
    "\n\n",
    "by",
    "will",
    "was",
    "said on",
    "2026-11-19",
    "下周五",
    "明天",
    "三天后",
    "3月5日",
    "月底",
    "（",
    "）",
    "了",
    "é",
    "🙂",
    "'s",
    "every",
    "after",
    "the monday",
    "the 27th",
    "from",
    "Freitag",
    "nächsten",
    "am 27.",
    "bis",
    "in drei Tagen",
    "morgen",
    "el viernes",
    "que viene",
    "le 3 mars",
    "le 27",
    "hier",
    "fin du mois",
    "金曜日",
    "来週",
    "27日",
    "まで",
];

/// Sentences of such words.
fn prose() -> impl Strategy<Value = String> {
    proptest::collection::vec((proptest::sample::select(PARTS), proptest::sample::select(vec![" ", " ", ""])), 0..24)
        .prop_map(|parts| parts.into_iter().map(|(part, gap)| format!("{part}{gap}")).collect())
}

fn days() -> impl Strategy<Value = Date> {
    (1900_i16..2200, 1_i8..=12, 1_i8..=28).prop_map(|(year, month, day)| date(year, month, day))
}

#[test]
fn a_deadline_looks_ahead_whatever_its_verb() {
    // A Monday.
    let said = date(2026, 11, 16);
    for (text, day) in [
        ("We go live on Thursday.", "2026-11-19 (Thursday)"),
        ("The demo has been moved to Friday.", "2026-11-20 (Friday)"),
        ("代码冻结从周四开始。", "2026-11-19（周四）"),
        ("The freeze starts next Wednesday.", "next Wednesday (said on 2026-11-16)"),
        ("The freeze starts on Monday.", "Monday (said on 2026-11-16)"),
        ("It ends tomorrow.", "2026-11-17 (tomorrow)"),
    ] {
        let done = absolute_ahead(text, said);
        assert!(done.contains(day), "{done}");
        assert_eq!(absolute(&done, said), done);
    }
    assert!(absolute("We decided on Friday to drop it.", said).contains("2026-11-13 (Friday)"));
    assert!(absolute("We decided on Friday.", said).contains("Friday (said on 2026-11-16)"));
}

proptest! {
    #[test]
    fn spans_are_in_order_and_on_boundaries(text in prop_oneof![prose(), any::<String>()], said in days()) {
        let mut end = 0;
        for found in find(&text, said) {
            prop_assert!(found.span.start >= end && found.span.end > found.span.start);
            prop_assert!(text.is_char_boundary(found.span.start) && text.is_char_boundary(found.span.end));
            if let When::Days { first, last } = found.when {
                prop_assert!(first <= last);
            }
            end = found.span.end;
        }
    }

    #[test]
    fn making_dates_absolute_twice_changes_nothing(text in prop_oneof![prose(), any::<String>()], said in days()) {
        let once = absolute(&text, said);
        prop_assert_eq!(absolute(&once, said), once);
    }

    #[test]
    fn a_text_without_relative_dates_is_unchanged(text in prose(), said in days()) {
        if find(&text, said).iter().all(|found| found.kind == Kind::Absolute) {
            prop_assert_eq!(absolute(&text, said), text);
        }
    }
}
