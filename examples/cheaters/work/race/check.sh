test "$(cat "$1")" = 55
