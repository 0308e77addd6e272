read -r request
test -s "$WF_REFS/token" || exit 1
printf 'renewed-of-%s' "$(cat "$WF_REFS/token")" > "$WF_REFS_OUT/renewed"
echo '{"success":true,"new_expires_at":"2026-11-21T13:00:00Z"}'
