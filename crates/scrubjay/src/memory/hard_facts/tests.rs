//! Tables by kind of fact, properties, and a count over drafts of a strong model.

use super::*;
use jiff::civil::{Date, date};
use proptest::prelude::*;

/// What is doubted in a draft after one typed message.
fn doubts_on(day: Date, typed: &str, draft: &str) -> Vec<String> {
    let shown = [Passage { text: typed, day: Some(day) }];
    unsupported(draft, &shown).into_iter().map(|fact| fact.text).collect()
}

/// The same for a text without a day.
fn doubts(shown: &str, draft: &str) -> Vec<String> {
    unsupported(draft, &[Passage { text: shown, day: None }]).into_iter().map(|fact| fact.text).collect()
}

#[track_caller]
fn supported(rows: &[(&str, &str)]) {
    let wrong = rows.iter().map(|(shown, draft)| (shown, doubts(shown, draft))).filter(|(_, found)| !found.is_empty());
    assert_eq!(wrong.collect::<Vec<_>>(), []);
}

#[track_caller]
fn doubted(rows: &[(&str, &str, &str)]) {
    let found = rows.iter().map(|(shown, draft, fact)| (shown, doubts(shown, draft), *fact));
    assert_eq!(found.filter(|(_, found, fact)| found != &[*fact]).collect::<Vec<_>>(), []);
}

#[test]
fn locators_are_supported_by_equal_or_longer_ones() {
    supported(&[
        ("http://mailpit.stage.lan/", "Mail is at https://mailpit.stage.lan."),
        ("portal.corp.example/runners?x=1#top", "See portal.corp.example/runners and `portal.corp.example`."),
        ("collector.ops.example:4317", "Send to collector.ops.example."),
        ("look at src/net/uploader.rs:42", "It is in `uploader.rs` of src/net/uploader.rs."),
        ("git push --force-with-lease=main -f", "Use --force-with-lease, `-f` never."),
        ("write to Ada@Birds.example", "Mail ada@birds.example"),
        ("npm i @geo/maps@6", "The package @geo/maps"),
        ("we talk in #ops-night", "Post to #ops-night."),
        ("10.0.0.12:8080 and fe80::1", "The printer is at 10.0.0.12."),
        ("copy it to C:\\Jobs\\Cut", "Folder C:/Jobs/Cut"),
        ("cfg in ~/.config/app.toml", "~/.config/app.toml, also `app.toml`"),
        ("依赖源用https://npm.corp.example这个镜像，写在.npmrc里", "镜像是 npm.corp.example，配置在 .npmrc。"),
        ("設定はconfig.tomlにある", "config.tomlを見る。"),
        ("*.corp.example is ours", "corp.example"),
        ("[the wiki](https://wiki.example/a)", "https://wiki.example/a"),
    ]);
    doubted(&[
        ("deploy.acme.example", "deploy.acme.example.evil.example", "deploy.acme.example.evil.example"),
        ("https://x.example/a", "https://x.example/a/b", "https://x.example/a/b"),
        ("https://x.example/a", "https://x.example/a,b", "https://x.example/a,b"),
        ("https://x.example/ab", "https://x.example/a", "https://x.example/a"),
        ("push it", "push with `--no-verify`", "--no-verify"),
        ("remove it", "`rm -rf` it", "-rf"),
        ("tell ops", "tell #ops", "#ops"),
        ("the config", "edit /etc/hosts", "/etc/hosts"),
        ("the script", "run build_all.sh", "build_all.sh"),
        ("mail me", "mail a@b.example", "a@b.example"),
        ("the host", "the host 10.0.0.7", "10.0.0.7"),
        ("镜像", "镜像是https://evil.example，", "https://evil.example"),
        ("ops@good.example", "https://good.example@evil.example/x", "https://good.example@evil.example/x"),
    ]);
}

#[test]
fn words_with_slashes_dots_and_hyphens_are_no_locators() {
    for draft in [
        "red/green and/or he/she/they, CI/CD, TCP/IP, km/h, mg/kg, €/h",
        "e.g. this, i.e. that, z.B. jenes, d.h. so, p. ex. ça, Ph.D., U.S.A., a.m.",
        "Node.js, .NET and ASP.NET, GitHub, PostgreSQL, NixOS, macOS, iPhone, eBay, mmHg, kWh, pH",
        "It ends.Then it begins. Vor- und Nachteile, -straße, step-by-step – wait… -- well",
        "**Why:** it is so. _Really_. What?! (Yes.) \"Sure.\" # Heading",
    ] {
        assert_eq!(doubts("", draft), Vec::<String>::new(), "{draft}");
    }
}

#[test]
fn numbers_are_equal_by_value() {
    supported(&[
        ("40 min", "forty minutes, 40, 40.0 and 40%"),
        ("forty-two and three hundred and fifty", "42 and 350"),
        ("1,150 parts", "1150 parts, 1.150 Teile, 1'150, 1 150 pièces, 1\u{202f}150"),
        ("1150", "1,150"),
        ("1,5 l Wasser", "1.5 litres"),
        ("12.500,50 €", "€12,500.50"),
        ("1 234 567,8", "1,234,567.80"),
        ("10万件", "100000 rows, 100,000, 10 万"),
        ("1.5k users, 3 Mio. Euro, 2 million", "1500 users, 3,000,000 Euro, 2000000"),
        ("3万5千", "35000"),
        ("三百五十台", "350 machines"),
        ("dreihundertfünfundzwanzig Schrauben, fünfundvierzig", "325 screws, 45"),
        ("quatre-vingt-dix boîtes, soixante-quinze, vingt et un", "90, 75, 21"),
        ("treinta y cinco, veinticinco, ciento veinte", "35, 25, 120"),
        ("35 y 25", "treinta y cinco, veinticinco"),
        ("don't go to 7, they run 18", "v7 and version 18"),
        ("RFC 7231, M 8, p99, UTF-8", "RFC7231, M8, RFC7231s, p99, UTF8"),
        ("RFC7231", "RFC 7231"),
        ("10s and 3 retries", "10 s, three retries"),
        ("después de las 20 h", "20:00, 20 h"),
        ("close at 8 pm", "20:00"),
        ("um 9.30 Uhr", "9:30"),
        ("1h30m", "1 h 30"),
        ("¾ cup, 1½ spoons", "3/4 cup, 0.75"),
        ("§ 823 Abs. 3 BGB", "§823 paragraph 3"),
        ("-18 °C to +4°C", "−18 °C, 4 degrees"),
        ("ext. 5120", "extension 5120"),
        ("port collector.ops.example:4317", "port 4317"),
        ("4000 people", "4k people"),
        ("bpm 132, a dozen", "132 bpm, twelve, 12"),
        ("４０分", "40 minutes"),
        ("٤٠", "40"),
        ("the third floor", "floor 3"),
        ("10 mg/kg q8h, BP 120/80", "10 mg per kg, 120/80"),
        ("M8x40", "M8x40 bolts"),
        ("10-20 people", "10 to 20"),
        ("half past nine, an hour and a half", "9:30, 1.5 hours"),
        ("um halb zehn", "9:30"),
        ("anderthalb Liter, zweieinhalb Kilo", "1,5 l, 2,5 kg"),
        ("两点半开会", "2:30"),
        ("下午3点", "15:00"),
        ("à midi", "12:00"),
        ("3.12.4", "3.12 and v3"),
        ("5W-30 oil, ISO 9001:2015, RAL 7016, IP67", "5W30, ISO 9001, RAL7016, IP 67"),
        ("0305550123, +49305550123", "030 555 01 23, +49 30 5550123"),
        ("±0,05 mm, Ø 12", "0.05 mm, 12 mm"),
        ("EE.UU., RR.HH., GmbH & Co.KG", "EE.UU. y RR.HH., Co.KG"),
    ]);
}

#[test]
fn other_numbers_are_doubted() {
    doubted(&[
        ("40", "50 lines", "50"),
        ("1,150", "1,151", "1,151"),
        ("1.5", "1.6", "1.6"),
        ("3.9", "3.12", "3.12"),
        ("1.2.3", "1.2.4", "1.2.4"),
        ("10万", "20万", "20万"),
        ("三天", "五天", "五"),
        ("three", "forty-two", "forty-two"),
        ("fünf", "fünfundvierzig", "fünfundvierzig"),
        ("20:00", "21:00", "21:00"),
        ("40k", "50k", "50k"),
        ("x8Kq2", "8 things", "8"),
        ("x8Kq2", "82 things", "82"),
        ("150", "1,150", "1,150"),
        ("1,150", "150", "150"),
        ("3.12", "12", "12"),
        ("two", "digit 2, digit 3", "3"),
        ("1 of them", "2 of them", "2"),
        ("§ 823", "§ 826", "826"),
        ("M8", "M10", "M10"),
        ("q8h", "q12h", "q12h"),
        ("030 5550123", "030 5550124", "030 5550124"),
        ("7.45", "45", "45"),
        ("Op. 27", "Op. 28", "28"),
    ]);
}

#[test]
fn small_numbers_ordinals_and_list_markers_are_no_facts() {
    for draft in [
        "one of two, 0 and 1, un ou deux, ein oder zwei, uno o dos, 一两个, 一般, 统一",
        "first, second and third; at first; zuerst; 第三方",
        "1. a\n2. b\n3. c\n10) d",
        "once it is done; seize it; quince jelly; sei so gut; un stylo neuf; außer Acht lassen",
        "十分重要，千万不要，万一出错，几十个，三星手机",
        "millions of rows, Kunde(-n), EE.UU., RR.HH., Co.KG, M.Dupont",
        "m² and cm³",
    ] {
        assert_eq!(doubts("", draft), Vec::<String>::new(), "{draft}");
    }
}

#[test]
fn identifiers_match_folded() {
    supported(&[
        ("retry_with_backoff", "`retryWithBackoff` and retry_with_backoff"),
        ("Pager::last", "pager::last"),
        ("the userIds", "userId"),
        ("pay-gw", "pay_gw"),
        ("使用abc1接口", "`abc1`"),
        ("part A-4711", "A4711"),
        ("\u{200b}x8\u{200b}Kq2", "x8Kq2"),
    ]);
    doubted(&[
        ("retry", "call retry_with_backoff", "retry_with_backoff"),
        ("Pager::first", "Pager::last", "Pager::last"),
        ("the id", "maxRetries is set", "maxRetries"),
        ("key", "x8Kq2", "x8Kq2"),
        ("接口", "使用abc1接口", "abc1"),
    ]);
}

#[test]
fn dates_are_equal_in_any_spelling() {
    let day = "2026-11-20";
    for spelling in [
        "20 November 2026",
        "November 20, 2026",
        "Nov. 20th, 2026",
        "20th of November 2026",
        "20.11.2026",
        "20. 11. 2026",
        "11/20/2026",
        "20/11/2026",
        "2026/11/20",
        "20. November 2026",
        "20 novembre 2026",
        "20 de noviembre de 2026",
        "2026年11月20日",
        "2026 年 11 月 20 号",
        "２０２６年１１月２０日",
        "2026년 11월 20일",
        "2026-11-20T09:30:00",
    ] {
        assert_eq!(doubts(spelling, day), Vec::<String>::new(), "{spelling}");
        assert_eq!(doubts(day, spelling.trim_end_matches("T09:30:00")), Vec::<String>::new(), "{spelling}");
        assert_eq!(doubts(spelling, "2026-11-21"), ["2026-11-21"], "{spelling}");
        assert!(!doubts("2026-11-21", spelling).is_empty(), "{spelling}");
    }
    supported(&[
        ("2026-11-20", "November 2026, 2026-11, 2026 年 11 月, in November, 2026"),
        ("Q1 2027", "first quarter of 2027, 1. Quartal 2027, T1 2027, 2027年第一季度, 2027-Q1"),
        ("21-23 December 2026", "2026-12-21 to 2026-12-23"),
    ]);
    doubted(&[
        ("2026-11-20", "December 2026", "December 2026"),
        ("November 2026", "November 2031", "November 2031"),
        ("nothing", "in February", "February"),
        ("Q1 2027", "Q2 2027", "Q2 2027"),
        ("2024", "2023", "2023"),
    ]);
}

#[test]
fn dates_fit_the_day_of_a_typed_message() {
    // A Tuesday.
    let typed = date(2026, 11, 17);
    for (message, draft) in [
        ("decided this morning", "2026-11-17"),
        ("yesterday", "2026-11-16"),
        ("starts friday, the monday after it ends", "Friday, 2026-11-20, until 2026-11-23"),
        ("thursday next week", "2026-11-26"),
        ("nächsten Donnerstag", "2026-11-19"),
        ("vendredi dernier", "2026-11-13"),
        ("el viernes pasado", "2026-11-13"),
        ("下周五验收", "2026-11-27（周五）"),
        ("来週の金曜日", "2026-11-27"),
        ("over the weekend", "2026-11-21"),
        ("demo is on the 3rd", "2026-12-03"),
        ("am 27. geht es los", "2026-11-27"),
        ("27号上线", "2026-11-27"),
        ("le 27 au matin", "2026-11-27"),
        ("in two weeks", "2026-12-01"),
        ("in zehn Tagen", "2026-11-27"),
        ("three days ago", "2026-11-14"),
        ("两周前开始的", "2026-11-03, 2026 年 11 月"),
        ("10日後", "2026-11-27"),
        ("übermorgen", "2026-11-19"),
        ("the day after tomorrow", "2026-11-19"),
        ("end of the month", "2026-11-30"),
        ("月底关机", "2026-11-30, 2026 年 11 月底"),
        ("till the end of march", "2027-03-31, the end of March 2027"),
        ("fin janvier", "2027-01-31"),
        ("in august it broke", "August 2026, 2026-08"),
        ("since october", "October 2026"),
        ("来月辞める", "2026 年 12 月"),
        ("new date is january 12", "2027-01-12"),
        ("du 21 décembre au 4 janvier", "from 2026-12-21 to 2027-01-04"),
        ("12月3日", "2026-12-03"),
        ("last year", "in 2025"),
        ("can slip to q1", "Q1 2027"),
        ("next quarter", "Q1 2027"),
        ("for 8 years", "since 2018"),
        ("end of the year", "2026-12-31"),
        ("Lieferung in KW 48", "2026-11-23 bis 2026-11-27"),
        ("第48周发货", "2026-11-25"),
        ("early next week", "the week of 2026-11-23"),
        ("by christmas", "2026-12-24"),
        ("end of the quarter", "2026-12-31"),
        ("in three months", "2027-02-17, February 2027"),
    ] {
        assert_eq!(doubts_on(typed, message, draft), Vec::<String>::new(), "{message}");
    }
}

#[test]
fn dates_that_fit_no_message_are_doubted() {
    // A Tuesday.
    let typed = date(2026, 11, 17);
    for (message, draft) in [
        ("starts friday", "2026-11-19"),
        ("starts friday", "2026-12-04"),
        ("soon", "2026-11-19"),
        ("on the 3rd", "2026-12-04"),
        ("in two weeks", "2026-12-02"),
        ("end of the month", "2026-12-30"),
        ("in august", "July 2026"),
        ("in august", "August 2029"),
        ("long ago", "2024"),
        ("q1", "Q2 2027"),
        ("january 12", "2027-01-13"),
    ] {
        assert_eq!(doubts_on(typed, message, draft), [draft], "{message}");
    }
    let shown = [Passage { text: "starts friday", day: None }];
    assert_eq!(unsupported("2026-11-20", &shown).len(), 1, "a passage without a day resolves nothing");
}

#[test]
fn honest_drafts_of_other_trades_are_not_doubted() {
    // A Tuesday.
    let typed = date(2026, 11, 17);
    let wrong = [
        (
            "pt in bed 4: start amoxi 875/125 bid, recheck crp thursday. if temp over 38.5 call me on 4471",
            "Amoxicillin 875/125 mg twice daily for bed 4; CRP is checked again on Thursday, 2026-11-19. Above 38.5 °C call extension 4471.",
        ),
        (
            "Die Frist nach § 573c Abs. 1 BGB läuft Ende Januar ab, Akte 12 C 345/26. Kaution waren 1.250,00 €",
            "The notice period under § 573c(1) BGB ends on 2027-01-31 (file 12 C 345/26). The deposit was EUR 1,250.",
        ),
        (
            "M8x40 nur mit 25 Nm anziehen, nicht mit 30. Ab KW 49 nehmen wir die verzinkten, Teil 4711-0815",
            "Tighten M8×40 screws to 25 Nm, never 30. From 2026-11-30 (KW 49) galvanised ones are used, part 4711-0815.",
        ),
        (
            "on passe le four à 180 °C, 35 min, et 2,5 dl de crème au lieu de 3",
            "Bake at 180 °C for 35 minutes with 2.5 dl of cream (formerly 3 dl).",
        ),
        (
            "el camión sale a las 5 y media del muelle 12, máximo 24 palés, el lunes que viene empieza",
            "From Monday, 2026-11-23, the truck leaves dock 12 at 5:30 with at most 24 pallets.",
        ),
        ("the second movement in 6/8, quarter = 96, horns in F. concert is dec 12", "Second movement: 6/8, ♩ = 96; concert on 2026-12-12."),
        ("冷库保持零下18度，超过半小时报警，下周三年检，电话分机8021", "冷库温度保持在 −18 °C，超过 30 分钟报警；2026-11-25（周三）年检，分机 8021。"),
        ("仕入れは毎週火曜、単価は1,280円、ロットは50個。年末は12月28日まで", "仕入れは火曜日、単価 1280 円、50 個単位。年内は 2026-12-28 まで。"),
        ("we moved the ward round to 7.45, 3 beds closed until mid december", "Ward rounds start at 7:45. Three beds are closed until mid-December 2026."),
        ("Rechnungen über 10.000 € gehen an Frau Kowalski, ab nächstem Jahr schon ab 5.000", "From 2027 on, invoices above EUR 5,000 (until then EUR 10,000) go to Ms Kowalski."),
        ("container MSKU 123456-7 kommt übermorgen, Tor 3, 14 Uhr", "Container MSKU1234567 arrives on 2026-11-19 at 14:00 at gate 3."),
        ("le fournisseur livre sous quinze jours, franco à partir de 1 500 € HT", "The supplier delivers within 15 days, free from €1,500 net."),
        ("ph between 6,8 and 7,2, check every 4h", "Keep the pH between 6.8 and 7.2 and check it every four hours."),
        ("call me at (030) 555 01 23 after three", "Call 030 5550123 after 3."),
        ("size 42 wide, two pairs, order no 2026-00417", "Shoes in size 42 (wide), order number 2026-00417."),
        ("el 15 % de descuento vence el 30 de noviembre", "15% discount until 2026-11-30."),
        ("il me faut ça pour mi-janvier, budget 20k", "Due in mid-January 2027; the budget is 20,000."),
    ]
    .map(|(message, draft)| (message, doubts_on(typed, message, draft)));
    assert_eq!(
        wrong.iter().filter(|(_, found)| !found.is_empty()).collect::<Vec<_>>(),
        Vec::<&(&str, Vec<String>)>::new()
    );
}

#[test]
fn facts_come_once_in_order_with_their_kind() {
    let facts = unsupported("Use 50, evil.example, 2026-11-20, x8Kq2 and 50.", &[]);
    let shown: Vec<String> = facts.iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["the number 50", "the address evil.example", "the date 2026-11-20", "the identifier x8Kq2"]);
    let kinds: Vec<FactKind> = facts.into_iter().map(|fact| fact.kind).collect();
    assert_eq!(kinds, [FactKind::Number, FactKind::Locator, FactKind::Date, FactKind::Identifier]);
}

/// Pieces from which texts with many facts are made.
const PIECES: [&str; 44] = [
    "1",
    "20",
    "2026",
    "150",
    "12",
    "-",
    ".",
    ",",
    ":",
    "/",
    " ",
    "\n",
    "'",
    "v",
    "k",
    "h",
    "pm",
    "Q1",
    "x8Kq2",
    "_",
    "::",
    "https://",
    "a.example",
    "@",
    "#ops",
    "--f",
    "`",
    "November",
    "may",
    "of",
    "年",
    "月",
    "日",
    "十",
    "万",
    "三",
    "forty",
    "und",
    "hundert",
    "½",
    "\u{200b}",
    "friday",
    "weeks",
    "周五",
];

fn made_of_pieces() -> impl Strategy<Value = String> {
    proptest::collection::vec(proptest::sample::select(PIECES.to_vec()), 0..40).prop_map(|pieces| pieces.concat())
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![made_of_pieces(), any::<String>()]
}

proptest! {
    #[test]
    fn a_text_supports_itself(text in any_text()) {
        prop_assert_eq!(unsupported(&text, &[Passage { text: &text, day: None }]), []);
    }

    #[test]
    fn a_part_of_a_longer_text_is_supported(text in made_of_pieces(), more in made_of_pieces()) {
        let whole = format!("{more}\n\n{text}\n\n{more}");
        prop_assert_eq!(unsupported(&text, &[Passage { text: &whole, day: None }]), []);
    }

    #[test]
    fn more_passages_never_add_doubts(text in any_text(), one in any_text(), other in any_text()) {
        let typed = Some(date(2026, 11, 17));
        let one = Passage { text: &one, day: typed };
        let few = unsupported(&text, &[one]);
        let more = unsupported(&text, &[one, Passage { text: &other, day: typed }]);
        prop_assert!(more.iter().all(|fact| few.contains(fact)), "{:?} {:?}", few, more);
    }

    #[test]
    fn no_input_panics_at_the_edges_of_time(text in made_of_pieces(), first in any::<bool>()) {
        let day = if first { Date::MIN } else { Date::MAX };
        unsupported(&text, &[Passage { text: &text, day: Some(day) }]);
    }
}

/// Run with `--release -- --ignored --nocapture`: the second of two sizes should take about four times as long.
#[test]
#[ignore = "measures time"]
fn time_grows_with_the_length_of_a_text() {
    let shapes = [
        "a/",
        "1,",
        "1 111 ",
        "十",
        "_",
        "a_",
        ".",
        "x.y",
        "https://a.example/b ",
        "://",
        "-",
        "::a",
        "a:",
        "20.11.",
        "`",
        "@a/",
        "forty ",
        "hundert",
        "2026-11-20 ",
        "November ",
        "is a word. ",
        "周五",
        "½",
        "\n",
        "é",
        "3/4",
        "a1",
        "--f=",
    ];
    for shape in shapes {
        let [small, large] = [500_000, 2_000_000].map(|size: usize| {
            let text = shape.repeat(size / shape.len());
            let start = std::time::Instant::now();
            let facts = unsupported(&text, &[Passage { text: &text, day: Some(date(2026, 11, 17)) }]);
            assert_eq!(facts, [], "{shape}");
            start.elapsed().as_millis()
        });
        println!("{shape:?}: {small} ms, {large} ms");
    }
}

mod measured {
    use super::*;
    use serde_json::Value;
    use std::collections::BTreeMap;
    use std::path::{Path, PathBuf};

    fn data() -> PathBuf {
        let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/bench");
        std::env::var_os("SCRUBJAY_BENCH_DATA").map_or_else(beside, PathBuf::from)
    }

    /// Name, description and body.
    fn judged(file: &str) -> String {
        let mut parts = file.splitn(3, "---\n").skip(1);
        let (header, body) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let kept = header.lines().filter_map(|line| {
            line.strip_prefix("name:").or_else(|| line.strip_prefix("description:")).map(str::to_owned)
        });
        kept.chain([body.to_owned()]).collect::<Vec<_>>().join("\n")
    }

    fn passages<'c>(case: &'c Value, file: &str) -> Vec<Passage<'c>> {
        let cites = file.split("cites:").nth(1).and_then(|rest| rest.split("\n---").next()).unwrap_or_default();
        let cites: Vec<String> = serde_json::from_str(cites.trim()).unwrap_or_default();
        let mut found = Vec::new();
        for message in case["messages"].as_array().into_iter().flatten() {
            let text = message["text"].as_str().unwrap_or_default();
            let cited = cites.iter().any(|cite| text.contains(cite.as_str()));
            match message["origin"].as_str() {
                Some("person") => {
                    let day = message["at"].as_str().and_then(|at| at.get(..10)).and_then(|day| day.parse().ok());
                    found.push(Passage { text, day });
                }
                Some("model") if cited => found.push(Passage { text, day: None }),
                _ => {}
            }
        }
        let existing = case["existing"].as_array().into_iter().flatten();
        found.extend(existing.filter_map(|file| file["text"].as_str()).map(|text| Passage { text, day: None }));
        found
    }

    /// Run with `cargo test -p scrubjay --lib hard_facts::tests::measured -- --ignored --nocapture`.
    #[test]
    #[ignore = "needs benchmark data"]
    fn drafts_of_a_strong_model_are_counted() {
        let path = data().join("extraction/drafts/dev.jsonl");
        let Ok(text) = std::fs::read_to_string(&path) else {
            println!("no data at {}: set SCRUBJAY_BENCH_DATA; nothing was measured", path.display());
            return;
        };
        let mut counts: BTreeMap<(String, usize), (usize, usize)> = BTreeMap::new();
        for case in text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
            let id = case["id"].as_str().unwrap_or_default();
            let number: usize = id.chars().filter(char::is_ascii_digit).collect::<String>().parse().unwrap_or(0);
            for draft in case["drafts"].as_array().into_iter().flatten() {
                let file = draft["file"].as_str().unwrap_or_default();
                let expect = draft["expect"].as_str().unwrap_or_default();
                let facts = unsupported(&judged(file), &passages(&case, file));
                let count = counts.entry((expect.to_owned(), number % 2)).or_default();
                count.0 += usize::from(!facts.is_empty());
                count.1 += 1;
                if !facts.is_empty() {
                    let facts: Vec<String> = facts.iter().map(ToString::to_string).collect();
                    println!("{expect:12} {id}: {}", facts.join(" | "));
                }
            }
        }
        for ((expect, half), (doubted, all)) in counts {
            println!("{expect:12} {}: {doubted} of {all} doubted", if half == 0 { "even ids" } else { "odd ids" });
        }
    }
}
