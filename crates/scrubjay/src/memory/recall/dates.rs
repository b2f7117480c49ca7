//! How well the day on which a text was written fits the days that a question asks about.

use crate::dates::{Days, month_days};
use jiff::civil::Date;

/// People write about a day soon after it: for so many days the mention still counts, less each day.
const ECHO_DAYS: i32 = 7;
const ECHO: f32 = 0.7;

/// How well a text written on `date` fits, between 0 and 1.
pub(super) fn fit(days: Days, date: Date) -> f32 {
    let (from, to) = match days {
        Days::Between(from, to) => (from, to),
        Days::EachYear { month, day } => match month_days(date.year(), month, day) {
            Some(days) => days,
            None => return 0.0,
        },
    };
    if date < from {
        return 0.0;
    }
    let late = (date - to).get_days();
    if late <= 0 { 1.0 } else { ECHO * (1.0 - late as f32 / (ECHO_DAYS + 1) as f32).max(0.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dates::asked;
    use crate::memory::recall::text;
    use proptest::prelude::*;

    fn found(text: &str) -> Vec<String> {
        let today = Date::constant(2024, 3, 13);
        let show = |days: &Days| match days {
            Days::Between(from, to) if from == to => from.to_string(),
            Days::Between(from, to) => format!("{from}..{to}"),
            Days::EachYear { month, day } => format!("--{month}-{}", day.unwrap_or(0)),
        };
        asked(text, &text::words(text), today).days.iter().map(show).collect()
    }

    #[test]
    fn phrases_and_their_days() {
        for (text, expected) in [
            ("What happened on 8 May 2023?", vec!["2023-05-08"]),
            ("on May 8th, 2023", vec!["2023-05-08"]),
            ("on the 8th of May", vec!["--5-8"]),
            ("2023-05-08 and 2023-06", vec!["2023-05-08", "2023-06-01..2023-06-30"]),
            ("in May 2023", vec!["2023-05-01..2023-05-31"]),
            ("camping in June", vec!["--6-0"]),
            ("last May", vec!["2023-05-01..2023-05-31"]),
            ("last February", vec!["2024-02-01..2024-02-29"]),
            ("in 2022", vec!["2022-01-01..2022-12-31"]),
            ("yesterday", vec!["2024-03-12"]),
            ("three days ago", vec!["2024-03-10"]),
            ("a week ago", vec!["2024-03-03..2024-03-09"]),
            ("last week", vec!["2024-03-04..2024-03-10"]),
            ("this month", vec!["2024-03-01..2024-03-31"]),
            ("last Friday", vec!["2024-03-08"]),
            ("the past 10 days", vec!["2024-03-03..2024-03-13"]),
            ("between 1 May 2023 and 5 May 2023", vec!["2023-05-01..2023-05-05"]),
            ("You may go; they march on. 2023 apples, 2 cats", vec![]),
            ("the 31st of February 2023", vec!["2023-02-01..2023-02-28"]),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
    }

    #[test]
    fn a_day_is_spoken_of_on_it_and_soon_after() {
        let day = |day: i8| Date::constant(2023, 5, day);
        let days = Days::Between(day(8), day(8));
        assert_eq!(fit(days, day(7)), 0.0);
        assert_eq!(fit(days, day(8)), 1.0);
        assert!(fit(days, day(9)) > fit(days, day(12)) && fit(days, day(12)) > 0.0);
        assert_eq!(fit(days, day(16)), 0.0);
        assert_eq!(fit(Days::EachYear { month: 5, day: None }, day(31)), 1.0);
        assert_eq!(fit(Days::EachYear { month: 2, day: Some(30) }, day(31)), 0.0);
    }

    proptest! {
        #[test]
        fn any_words_are_read(words in proptest::collection::vec("(last|this|may|8|31st|of|2023|05|ago|a|week|years|366|in|[a-z]{0,4})", 0..12)) {
            let found = asked(&words.join(" "), &words, Date::MAX);
            prop_assert_eq!(found.used.len(), words.len());
        }
    }
}
