//! Common cron expressions in words. Uncommon ones have none: wrong words are worse.

/// An expression in words, if it is a common one of five fields.
pub(crate) fn cron_in_words(expression: &str) -> Option<String> {
    let expression = match expression {
        "@hourly" => "0 * * * *",
        "@daily" | "@midnight" => "0 0 * * *",
        "@weekly" => "0 0 * * SUN",
        "@monthly" => "0 0 1 * *",
        "@yearly" | "@annually" => "0 0 1 1 *",
        other => other,
    };
    let fields: Vec<&str> = expression.split_whitespace().collect();
    let [minute, hour, day, month, weekday] = fields.as_slice() else {
        return None;
    };
    let time = match (*minute, *hour) {
        ("*", "*") => "every minute".to_owned(),
        (minute, "*") => match minute.strip_prefix("*/") {
            Some(step) => format!("every {} minutes of the hour", even_interval(step, 60)?),
            None => format!("every hour at :{:02}", number(minute, 59)?),
        },
        (minute, hour) => match hour.strip_prefix("*/") {
            Some(step) => {
                let (step, minute) = (even_interval(step, 24)?, number(minute, 59)?);
                format!("every {step} hours of the day at :{minute:02}")
            }
            None => format!("at {:02}:{:02}", number(hour, 23)?, number(minute, 59)?),
        },
    };
    let days = match (*day, *month, *weekday) {
        ("*", "*", "*") => "every day".to_owned(),
        ("*", "*", days) => format!("on {}", names(days)?),
        (day, "*", "*") => format!("on day {} of every month", number(day, 31)?),
        (day, month, "*") => {
            format!("every year on {:02}-{:02}", number(month, 12)?, number(day, 31)?)
        }
        _ => return None,
    };
    if days == "every day" && time.starts_with("every") {
        return Some(time);
    }
    Some(format!("{days} {time}"))
}

fn number(text: &str, most: u32) -> Option<u32> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let number: u32 = text.parse().ok()?;
    (plain && number <= most).then_some(number)
}

/// Returns an interval that divides the whole without a remainder, so it is always the same.
fn even_interval(text: &str, whole: u32) -> Option<u32> {
    let step = number(text, whole)?;
    (step > 1 && step < whole && whole.is_multiple_of(step)).then_some(step)
}

/// Days of the week written by name.
fn names(days: &str) -> Option<String> {
    let parts = days.split([',', '-']);
    let day_names = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
    let named = |part: &str| day_names.iter().any(|day| day.eq_ignore_ascii_case(part));
    let are_names = parts.clone().all(named);
    are_names.then(|| days.to_uppercase().replace(',', ", ").replace('-', " to "))
}

#[cfg(test)]
mod tests {
    use super::cron_in_words;

    #[test]
    fn common_schedules_have_words() {
        for (expression, words) in [
            ("* * * * *", "every minute"),
            ("*/10 * * * *", "every 10 minutes of the hour"),
            ("5 * * * *", "every hour at :05"),
            ("0 */6 * * *", "every 6 hours of the day at :00"),
            ("30 6 * * *", "every day at 06:30"),
            ("0 6 * * MON-FRI", "on MON to FRI at 06:00"),
            ("0 6 * * sat,sun", "on SAT, SUN at 06:00"),
            ("*/15 * * * MON", "on MON every 15 minutes of the hour"),
            ("0 0 1 * *", "on day 1 of every month at 00:00"),
            ("@yearly", "every year on 01-01 at 00:00"),
        ] {
            assert_eq!(cron_in_words(expression).as_deref(), Some(words), "{expression}");
        }
    }

    #[test]
    fn others_have_none_rather_than_wrong_ones() {
        for expression in [
            "*/7 * * * *",
            "0 6 1 * MON",
            "0 6 * * 1",
            "0 6 L * *",
            "0 6 * * 5#2",
            "0 0 6 * * *",
            "0,30 6 * * *",
            "0 8-18 * * *",
            "+5 * * * *",
            "",
        ] {
            assert_eq!(cron_in_words(expression), None, "{expression}");
        }
    }
}
