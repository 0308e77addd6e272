is_right() { test "$(cat "$1")" = 55; }
