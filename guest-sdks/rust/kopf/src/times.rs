//! Times in messages.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A time in RFC 3339, in UTC: `2020-01-01T00:00:00.000000+00:00`. `None` for another format.
pub fn parse(text: &str) -> Option<SystemTime> {
    let digits = |range: std::ops::Range<usize>| text.get(range)?.parse::<u32>().ok();
    let (year, month, day) = (digits(0..4)?, digits(5..7)?, digits(8..10)?);
    let (hour, minute, second) = (digits(11..13)?, digits(14..16)?, digits(17..19)?);
    let rest = text.get(19..)?;
    let zone = rest.find(['+', '-', 'Z'])?;
    if !matches!(&rest[zone..], "Z" | "+00:00" | "-00:00") || !(1..=12).contains(&month) || day == 0 || year < 1970 {
        return None;
    }
    let fraction: f64 = if zone == 0 { 0.0 } else { format!("0{}", &rest[..zone]).parse().ok()? };
    let seconds = (days(year.into(), month.into(), day.into()) * 24 + u64::from(hour)) * 3600;
    let time = Duration::from_secs(seconds + u64::from(minute * 60 + second));
    UNIX_EPOCH.checked_add(time + Duration::from_micros((fraction * 1e6).round() as u64))
}

/// The days since 1970-01-01 in the Gregorian calendar.
fn days(year: u64, month: u64, day: u64) -> u64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) }; // March begins the year
    year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 719_469
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_parsed() {
        let cases = [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2020-01-01T00:00:00.000000+00:00", Some(1_577_836_800_000_000)),
            ("2024-02-29T12:34:56.123456+00:00", Some(1_709_210_096_123_456)),
            ("2100-12-31T23:59:59.5Z", Some(4_133_980_799_500_000)),
            ("2020-01-01T00:00:00+01:00", None),
            ("2020-13-01T00:00:00Z", None),
            ("yesterday", None),
            ("", None),
        ];
        for (text, want) in cases {
            let got = parse(text).map(|time| time.duration_since(UNIX_EPOCH).unwrap().as_micros());
            assert_eq!(got, want, "{text}");
        }
    }
}
