/// Puts a goal before each line of a text, so that a log is searched by goal. A line with its goal stays as it is.
pub fn prefix_with_goal(goal: &str, text: &str) -> String {
    let prefix = format!("goal {goal} · ");
    let line =
        |line: &str| if line.starts_with(&prefix) { line.to_owned() } else { format!("{prefix}{line}") };
    text.split_inclusive('\n').map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::prefix_with_goal;

    #[test]
    fn a_goal_is_before_each_line_once() {
        let lines = prefix_with_goal("mirror", "is broken\ngoal mirror · later\n");
        assert_eq!(lines, "goal mirror · is broken\ngoal mirror · later\n");
    }
}
