//! The Chinese part of the grammar. Weeks are counted from Monday by everybody, so 下周五 is certain where "next Friday" is not.

use super::calendar::{self, Unit};
use super::tense::Tense;
use super::{Found, Granularity, Reading, month_day};
use jiff::civil::{Date, Weekday};

/// The dates in `text`.
pub(super) fn find(text: &str, said: Date) -> Vec<Found> {
    let mut found = Vec::new();
    let mut end = 0;
    for (at, c) in text.char_indices() {
        if at < end || !(c.is_ascii_digit() || super::words::is_han(c)) || is_inside_a_number(text, at) {
            continue;
        }
        let here = Here { text, at, said };
        if let Some((rest, Reading { when, granularity, kind })) = here.read() {
            end = text.len() - rest.len();
            found.push(Found { span: at..end, when, granularity, kind });
        }
    }
    found
}

/// The middle of "2026年" is not where a date begins.
pub(super) fn is_inside_a_number(text: &str, at: usize) -> bool {
    let digit = |c: char| c.is_ascii_digit() || numeral(c).is_some();
    let here = text[at..].chars().next().is_some_and(digit);
    let before = text[..at].chars().next_back();
    here && before.is_some_and(|c| digit(c) || c.is_ascii_alphabetic() || matches!(c, '.' | '-' | '/' | '第' | '几'))
}

pub(super) fn numeral(c: char) -> Option<i64> {
    i64::try_from("零一二三四五六七八九十".chars().position(|known| known == c)?).ok().or((c == '两').then_some(2))
}

/// A number in digits or in words up to ninety-nine, and what follows it.
pub(super) fn number(text: &str) -> Option<(i64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    if end > 0 {
        let digits = text[..end].parse().ok().filter(|_| end <= 4)?;
        return Some((digits, text[end..].trim_start_matches(' ')));
    }
    if let Some(rest) = text.strip_prefix('两') {
        return Some((2, rest));
    }
    let (mut value, mut tens, mut rest) = (0, false, text);
    while let Some(digit) = rest.chars().next().and_then(numeral) {
        rest = &rest['十'.len_utf8()..];
        value = match (digit, tens) {
            (10, false) => value.max(1) * 10,
            (0..=9, true) if value % 10 == 0 => value + digit,
            (0..=9, false) if value == 0 => digit,
            _ => return None,
        };
        tens |= digit == 10;
    }
    (rest.len() < text.len()).then_some((value, rest))
}

fn weekday(text: &str) -> Option<(Weekday, &str)> {
    let c = text.chars().next()?;
    let weekday = match c {
        '一' => Weekday::Monday,
        '二' => Weekday::Tuesday,
        '三' => Weekday::Wednesday,
        '四' => Weekday::Thursday,
        '五' => Weekday::Friday,
        '六' => Weekday::Saturday,
        '日' | '天' => Weekday::Sunday,
        _ => return None,
    };
    Some((weekday, &text[c.len_utf8()..]))
}

pub(super) fn after<'t>(text: &'t str, names: &[&str]) -> Option<&'t str> {
    names.iter().find_map(|name| text.strip_prefix(name))
}

/// 上, 本, 下: how far away.
fn turn(text: &str) -> (Option<i64>, &str) {
    for (name, count) in [("下下", 2), ("上上", -2), ("下", 1), ("上", -1), ("本", 0), ("这", 0)] {
        if let Some(rest) = text.strip_prefix(name) {
            return (Some(count), rest.strip_prefix('个').unwrap_or(rest));
        }
    }
    (None, text)
}

/// The sentence around a place.
pub(super) fn sentence(text: &str, at: usize) -> &str {
    let ends = ['。', '！', '？', '；', '\n', '.', '!', '?', ';'];
    let start = text[..at].rfind(ends).map_or(0, |at| at + text[at..].chars().next().map_or(0, char::len_utf8));
    let end = text[at..].find(ends).map_or(text.len(), |end| at + end);
    &text[start..end]
}

type Read<'t> = Option<(&'t str, Reading)>;

/// A place in a text.
struct Here<'t> {
    text: &'t str,
    at: usize,
    said: Date,
}

impl<'t> Here<'t> {
    fn read(&self) -> Read<'t> {
        self.named_day()
            .or_else(|| self.week())
            .or_else(|| self.month_or_year())
            .or_else(|| self.in_digits())
            .or_else(|| self.counted())
            .or_else(|| self.day_alone())
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn before(&self) -> Option<char> {
        self.text[..self.at].chars().next_back()
    }

    fn sentence(&self) -> &'t str {
        sentence(self.text, self.at)
    }

    /// Which way the sentence looks, if it does not look both ways.
    fn tense(&self) -> Option<Tense> {
        const DONE: &[&str] = &["了", "曾", "已经", "刚才", "刚刚"];
        const TO_DO: &[&str] = &["将", "需要", "必须", "计划", "打算", "准备", "截止", "到期", "应该", "请", "要在"];
        let sentence = self.sentence();
        let has = |marks: &[&str]| marks.iter().any(|mark| sentence.contains(mark));
        match (has(DONE), has(TO_DO)) {
            (true, false) => Some(Tense::Past),
            (false, true) => Some(Tense::Future),
            _ => None,
        }
    }

    fn named_day(&self) -> Read<'t> {
        const DAYS: &[(&str, i64)] = &[
            ("大后天", 3),
            ("大前天", -3),
            ("今天", 0),
            ("今日", 0),
            ("今晚", 0),
            ("今早", 0),
            ("明天", 1),
            ("明日", 1),
            ("明早", 1),
            ("明晚", 1),
            ("后天", 2),
            ("昨天", -1),
            ("昨日", -1),
            ("昨晚", -1),
            ("前天", -2),
        ];
        let (name, days) = DAYS.iter().find(|(name, _)| self.rest().starts_with(name))?;
        // 先天 and 后天: what one is born with, and what one learns.
        let learned = *name == "后天" && (self.sentence().contains("先天") || self.rest().starts_with("后天的"));
        let date = calendar::shift(self.said, *days, Unit::Day).filter(|_| !learned)?;
        Some((&self.rest()[name.len()..], Reading::day(date)))
    }

    /// 下周五, 本周, 周五.
    fn week(&self) -> Read<'t> {
        let (weeks, rest) = turn(self.rest());
        let rest = after(rest, &["周", "星期", "礼拜"])?;
        let named = weekday(rest);
        match (weeks, named) {
            (Some(weeks), Some((weekday, rest))) => {
                Some((rest, Reading::day(calendar::in_week(self.said, weeks, weekday)?)))
            }
            (Some(weeks), None) => {
                if let Some(rest) = rest.strip_prefix('末') {
                    let saturday = calendar::in_week(self.said, weeks, Weekday::Saturday)?;
                    let sunday = calendar::in_week(self.said, weeks, Weekday::Sunday)?;
                    return Some((rest, Reading::relative(saturday, sunday, Granularity::Week)));
                }
                let (first, last) = calendar::whole(self.said, weeks, Unit::Week)?;
                Some((rest, Reading::relative(first, last, Granularity::Week)))
            }
            (None, Some((weekday, rest))) => Some((rest, self.weekday_alone(weekday, rest)?)),
            (None, None) => None,
        }
    }

    fn weekday_alone(&self, weekday: Weekday, rest: &str) -> Option<Reading> {
        let recurring =
            matches!(self.before(), Some('每' | '逢' | '到' | '至' | '、')) || rest.starts_with(['至', '、']);
        let ranged = after(rest, &["到周", "到星期", "到礼拜"]).is_some();
        if recurring || ranged || self.before().is_some_and(|c| numeral(c).is_some() || c.is_ascii_digit()) {
            return None;
        }
        // 周四前, 周四要…: what follows looks ahead by itself.
        let resolved = ["我们决定", "我们商定", "我们约定"].iter().any(|we| self.text[..self.at].ends_with(we));
        let ahead = (resolved || after(rest, &["前", "之前", "以前", "要"]).is_some()).then_some(Tense::Future);
        Some(match ahead.or_else(|| self.tense()) {
            _ if weekday == self.said.weekday() => Reading::unclear(),
            Some(Tense::Future) => Reading::day(calendar::coming(self.said, weekday)?),
            Some(Tense::Past) => Reading::day(calendar::recent(self.said, weekday)?),
            None => Reading::unclear(),
        })
    }

    /// The character before this place, whatever spaces stand between: 2026 年 11 月底 names its month.
    fn before_spaces(&self) -> Option<char> {
        self.text[..self.at].trim_end_matches(' ').chars().next_back()
    }

    /// 下个月, 下月5号, 月底, 明年, 年底.
    fn month_or_year(&self) -> Read<'t> {
        const YEARS: &[(&str, i64)] = &[("今年", 0), ("明年", 1), ("去年", -1), ("后年", 2), ("前年", -2), ("本年", 0)];
        if let Some((name, years)) = YEARS.iter().find(|(name, _)| self.rest().starts_with(name)) {
            return self.year(&self.rest()[name.len()..], *years);
        }
        let (turned, rest) = turn(self.rest());
        if let Some(rest) = rest.strip_prefix("月底") {
            let plain = turned.is_some()
                || !self
                    .before_spaces()
                    .is_some_and(|c| c.is_ascii_digit() || numeral(c).is_some() || matches!(c, '个' | '每'));
            let last = calendar::whole(self.said, turned.unwrap_or(0), Unit::Month).filter(|_| plain)?.1;
            return Some((rest, Reading::day(last)));
        }
        if let Some(rest) = self.rest().strip_prefix("年底") {
            let plain = !self.before_spaces().is_some_and(|c| c.is_ascii_digit() || numeral(c).is_some() || c == '每');
            return plain.then_some((rest, Reading::day(self.said.last_of_year())));
        }
        let rest = rest.strip_prefix('月')?;
        let (first, last) = calendar::whole(self.said, turned?, Unit::Month)?;
        match self.day(rest) {
            Some((day, rest)) => Some((rest, Reading::day(Date::new(first.year(), first.month(), day).ok()?))),
            None => Some((rest, Reading::relative(first, last, Granularity::Month))),
        }
    }

    /// 明年, and 明年3月, 明年3月5日, 明年年底.
    fn year(&self, rest: &'t str, years: i64) -> Read<'t> {
        let (first, last) = calendar::whole(self.said, years, Unit::Year)?;
        if let Some(rest) = rest.strip_prefix("年底").or_else(|| rest.strip_prefix('底')) {
            return Some((rest, Reading::day(last)));
        }
        let Some((month, after_month)) = number(rest).and_then(|(month, rest)| Some((month, rest.strip_prefix('月')?)))
        else {
            return Some((rest, Reading::relative(first, last, Granularity::Year)));
        };
        let month = i8::try_from(month).ok()?;
        let (day, rest) = self.day(after_month).map_or((None, after_month), |(day, rest)| (Some(day), rest));
        let date = Date::new(first.year(), month, day.unwrap_or(1)).ok()?;
        Some(match day {
            Some(_) => (rest, Reading::day(date)),
            None => (rest, Reading::relative(date, date.last_of_month(), Granularity::Month)),
        })
    }

    fn day(&self, text: &'t str) -> Option<(i8, &'t str)> {
        let (day, rest) = number(text.trim_start_matches(' '))?;
        Some((i8::try_from(day).ok()?, after(rest, &["日", "号"])?))
    }

    /// 2026年11月19日, 11月19日.
    fn in_digits(&self) -> Read<'t> {
        let (value, rest) = number(self.rest())?;
        if let Some(rest) = rest.strip_prefix('年') {
            let year = i16::try_from(value).ok().filter(|_| self.rest().find('年') == Some(4))?;
            let (month, rest) = number(rest.trim_start_matches(' '))?;
            let (month, rest) = (i8::try_from(month).ok()?, rest.strip_prefix('月')?);
            let first = Date::new(year, month, 1).ok()?;
            return Some(match self.day(rest) {
                Some((day, rest)) => {
                    let date = Date::new(year, month, day).ok()?;
                    (rest, Reading::absolute(date, date, Granularity::Day))
                }
                None => (rest, Reading::absolute(first, first.last_of_month(), Granularity::Month)),
            });
        }
        let month = i8::try_from(value).ok()?;
        let (day, rest) = self.day(rest.strip_prefix('月')?)?;
        Some((rest, month_day::nearest(self.said, (month, day), self.tense())?))
    }

    /// 三天前, 两周后, 3个月后.
    fn counted(&self) -> Read<'t> {
        let (count, rest) = number(self.rest())?;
        let (unit, rest) = [
            (Unit::Day, &["天"][..]),
            (Unit::Week, &["周", "个星期", "个礼拜", "星期"][..]),
            (Unit::Month, &["个月"][..]),
            (Unit::Year, &["年"][..]),
        ]
        .into_iter()
        .find_map(|(unit, names)| Some((unit, after(rest, names)?)))?;
        let (sign, rest) = match (after(rest, &["之前", "以前", "前"]), after(rest, &["之后", "以后", "后"]))
        {
            (Some(rest), _) => (-1, rest),
            (_, Some(rest)) => (1, rest),
            _ => return None,
        };
        // 三天后 in a story is three days after something else.
        let told = sign == 1 && self.tense() == Some(Tense::Past);
        let apart = !rest.starts_with(['的', '几']) || sign == -1;
        let date = calendar::shift(self.said, sign * count, unit).filter(|_| count <= 999 && apart)?;
        Some((rest, if told { Reading::unclear() } else { Reading::relative(date, date, unit.into()) }))
    }

    /// 27号前: a day of a month, where it is not the number of something.
    fn day_alone(&self) -> Read<'t> {
        const AHEAD: &[&str] = &["前", "之前", "以前", "截止", "到期", "要", "将"];
        const PLAIN: &[&str] = &["上线", "发布", "开始", "交", "，", "。", "！", "？"];
        let (day, rest) =
            number(self.rest()).and_then(|(day, rest)| Some((i8::try_from(day).ok()?, rest.strip_prefix('号')?)))?;
        let ahead = after(rest, AHEAD).map(|_| Tense::Future);
        let plain = ahead.is_some() || after(rest, PLAIN).is_some() || rest.is_empty();
        let counted = self.before().is_some_and(|c| matches!(c, '月' | '第' | '每' | '的' | '逢'));
        let reading = calendar::day_alone(self.said, day, self.tense().or(ahead))
            .filter(|_| plain && !counted && (1..=31).contains(&day))?;
        Some((rest, reading))
    }
}
