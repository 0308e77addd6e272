. "${0%/*}/lib.sh"
is_right "$1"
