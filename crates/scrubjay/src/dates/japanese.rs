//! The Japanese part of the grammar. Calendars begin weeks on Sunday or on Monday, so a day is given only where both agree.

use super::calendar::{self, Unit};
use super::chinese::{self, after, number};
use super::tense::Tense;
use super::{Found, Granularity, Reading};
use jiff::civil::{Date, Weekday};

/// The dates in `text`.
pub(super) fn find(text: &str, said: Date) -> Vec<Found> {
    let mut found = Vec::new();
    let mut end = 0;
    for (at, c) in text.char_indices() {
        let begins = c.is_ascii_digit() || super::words::is_han(c) || is_kana(c);
        if at < end || !begins || chinese::is_inside_a_number(text, at) {
            continue;
        }
        let here = Here { text, at, said };
        if let Some((rest, reading)) = here.read() {
            end = text.len() - rest.len();
            if let Some(Reading { when, granularity, kind }) = reading {
                found.push(Found { span: at..end, when, granularity, kind });
            }
        }
    }
    found
}

fn is_kana(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}')
}

/// Whether words are Japanese and not Chinese.
pub(super) fn is_japanese(words: &str) -> bool {
    words.contains(|c: char| is_kana(c) || matches!(c, '曜' | '週' | '来' | '先' | '後'))
}

const DAYS: &[(&str, i64)] = &[
    ("明後日", 2),
    ("一昨日", -2),
    ("あさって", 2),
    ("おととい", -2),
    ("あした", 1),
    ("きのう", -1),
    ("明日", 1),
    ("昨日", -1),
];

const WEEKS: &[(&str, i64)] = &[("再来週", 2), ("来週", 1), ("今週", 0), ("先々週", -2), ("先週", -1)];

const MONTHS: &[(&str, i64)] = &[("再来月", 2), ("来月", 1), ("今月", 0), ("先々月", -2), ("先月", -1)];

const YEARS: &[(&str, i64)] = &[("再来年", 2), ("来年", 1), ("昨年", -1), ("一昨年", -2)];

fn weekday(text: &str) -> Option<(Weekday, &str)> {
    let first = text.chars().next()?;
    let place = "月火水木金土日".chars().position(|known| known == first)?;
    let rest = text[first.len_utf8()..].strip_prefix('曜')?;
    let weekday = Weekday::from_monday_zero_offset(i8::try_from(place).ok()?).ok()?;
    Some((weekday, rest.strip_prefix('日').unwrap_or(rest)))
}

/// What follows the words, and what they say; nothing for words that are no date.
type Read<'t> = Option<(&'t str, Option<Reading>)>;

/// A place in a text.
struct Here<'t> {
    text: &'t str,
    at: usize,
    said: Date,
}

impl<'t> Here<'t> {
    fn read(&self) -> Read<'t> {
        self.recurring()
            .or_else(|| self.named_day())
            .or_else(|| self.week())
            .or_else(|| self.month_or_year())
            .or_else(|| self.counted())
            .or_else(|| self.day_alone())
            .or_else(|| self.weekday_alone())
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn follows(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.text[..self.at].ends_with(name))
    }

    fn turned<'n>(&self, names: &'n [(&'n str, i64)]) -> Option<(i64, &'t str)> {
        names.iter().find_map(|(name, count)| Some((*count, self.rest().strip_prefix(name)?)))
    }

    /// Which way the sentence looks, if its verbs look back.
    fn tense(&self) -> Option<Tense> {
        const OVER: &[&str] = &["ました", "でした", "した。", "だった", "った。", "んだ。"];
        let sentence = chinese::sentence(self.text, self.at);
        let closed = format!("{sentence}。");
        OVER.iter().any(|mark| closed.contains(mark)).then_some(Tense::Past)
    }

    /// 毎週金曜日, 金曜日ごと, 月曜から金曜.
    fn recurring(&self) -> Read<'t> {
        if let Some(rest) = after(self.rest(), &["毎週", "隔週", "毎月", "毎年"]) {
            let rest = rest.strip_prefix('の').unwrap_or(rest);
            let rest = weekday(rest).map_or(rest, |(_, rest)| rest);
            return Some((after(rest, &["末"]).unwrap_or(rest), None));
        }
        let (_, rest) = weekday(self.rest())?;
        let range = after(rest, &["から", "〜", "～", "-"]).and_then(weekday).map(|(_, rest)| rest);
        range.or_else(|| rest.strip_prefix("ごと")).map(|rest| (rest, None))
    }

    fn named_day(&self) -> Read<'t> {
        let (days, rest) = self.turned(DAYS)?;
        Some((rest, Some(Reading::day(calendar::shift(self.said, days, Unit::Day)?))))
    }

    /// 来週の金曜日, 今週金曜, 先週.
    fn week(&self) -> Read<'t> {
        let (weeks, rest) = self.turned(WEEKS)?;
        let on_sunday = self.said.weekday() == Weekday::Sunday;
        if let Some((weekday, rest)) = weekday(rest.strip_prefix('の').unwrap_or(rest)) {
            let agreed = !on_sunday && weekday != Weekday::Sunday;
            let day = calendar::in_week(self.said, weeks, weekday)?;
            return Some((rest, Some(if agreed { Reading::day(day) } else { Reading::unclear() })));
        }
        let (first, last) = calendar::whole(self.said, weeks, Unit::Week)?;
        let part = on_sunday || after(rest, &["末", "の初", "半ば", "中", "前半", "後半"]).is_some();
        let reading = if part { Reading::unclear() } else { Reading::relative(first, last, Granularity::Week) };
        Some((rest, Some(reading)))
    }

    /// 来月, 来月末, 来月5日, 月末, 来年.
    fn month_or_year(&self) -> Read<'t> {
        if let Some(rest) = self.rest().strip_prefix("月末") {
            let counted = self.text[..self.at]
                .ends_with(|c: char| c.is_ascii_digit() || "一二三四五六七八九十各年ヶか".contains(c));
            let last = self.said.last_of_month();
            return Some((rest, (!counted).then(|| Reading::day(last))));
        }
        // 十来年 is ten years and some.
        let counts =
            self.text[..self.at].ends_with(|c: char| chinese::numeral(c).is_some() || matches!(c, '百' | '多' | '几'));
        if let Some((years, rest)) = self.turned(YEARS).filter(|_| !counts) {
            let (first, last) = calendar::whole(self.said, years, Unit::Year)?;
            let whole = number(rest.strip_prefix('の').unwrap_or(rest)).is_none()
                && !rest.starts_with(['春', '夏', '秋', '冬', '度']);
            let reading = if whole { Reading::relative(first, last, Granularity::Year) } else { Reading::unclear() };
            return Some((rest, Some(reading)));
        }
        let (months, rest) = self.turned(MONTHS)?;
        let (first, last) = calendar::whole(self.said, months, Unit::Month)?;
        if let Some(rest) = after(rest, &["末", "の末"]) {
            return Some((rest, Some(Reading::day(last))));
        }
        let named = number(rest.strip_prefix('の').unwrap_or(rest));
        if let Some((day, rest)) =
            named.and_then(|(day, rest)| Some((i8::try_from(day).ok()?, rest.strip_prefix('日')?)))
        {
            return Some((rest, Some(Reading::day(Date::new(first.year(), first.month(), day).ok()?))));
        }
        Some((rest, Some(Reading::relative(first, last, Granularity::Month))))
    }

    /// 3日後, 二週間前, 3ヶ月後.
    fn counted(&self) -> Read<'t> {
        let (count, rest) = number(self.rest()).filter(|(count, _)| (1..=366).contains(count))?;
        let (unit, rest) = [
            (Unit::Day, &["日"][..]),
            (Unit::Week, &["週間"][..]),
            (Unit::Month, &["ヶ月", "か月", "カ月", "ヵ月"][..]),
            (Unit::Year, &["年"][..]),
        ]
        .into_iter()
        .find_map(|(unit, names)| Some((unit, after(rest, names)?)))?;
        let (sign, rest) = match (rest.strip_prefix('前'), rest.strip_prefix('後')) {
            (Some(rest), _) => (-1, rest),
            (_, Some(rest)) => (1, rest),
            _ => return None,
        };
        let date = calendar::shift(self.said, sign * count, unit)?;
        // 3日後 in a story is three days after something else; so is その3日後.
        // 27日前 is 27 days ago in Japanese and "before the 27th" in Chinese.
        let chinese = sign == -1 && unit == Unit::Day && !chinese::sentence(self.text, self.at).contains(is_kana);
        let told =
            chinese || (sign == 1 && self.tense() == Some(Tense::Past)) || self.follows(&["その", "の", "から", "月"]);
        Some((rest, Some(if told { Reading::unclear() } else { Reading::relative(date, date, unit.into()) })))
    }

    /// 27日までに: a day of a month, where it is no number of days.
    fn day_alone(&self) -> Read<'t> {
        const SMALLEST_ALONE: i8 = 10;
        let (day, rest) = number(self.rest())?;
        let (day, rest) = (i8::try_from(day).ok().filter(|day| (1..=31).contains(day))?, rest.strip_prefix('日')?);
        let led = after(rest, &["に", "まで", "以降", "締"]).is_some();
        let ends = rest.is_empty() || rest.starts_with(['。', '、', '！', '？', '.', ',', '）', ')', '\n']);
        let counted = self.follows(&["月", "あと", "残り", "約", "全", "の", "計"]);
        if counted || !(led || (ends && day >= SMALLEST_ALONE)) {
            return None;
        }
        let ahead = after(rest, &["まで", "締"]).map(|_| Tense::Future);
        Some((rest, calendar::day_alone(self.said, day, self.tense().or(ahead))))
    }

    /// 金曜日までに looks ahead; a weekday alone is left open.
    fn weekday_alone(&self) -> Read<'t> {
        let (weekday, rest) = weekday(self.rest())?;
        let ahead = after(rest, &["まで", "以降", "締", "より前"]).is_some();
        let date = match (self.tense(), ahead) {
            _ if weekday == self.said.weekday() => None,
            (None, true) => calendar::coming(self.said, weekday),
            (Some(Tense::Past), false) => calendar::recent(self.said, weekday),
            _ => None,
        };
        Some((rest, Some(date.map_or(Reading::unclear(), Reading::day))))
    }
}
