read -r start
echo "starting for $WF_CONNECTION" >&2
echo '{"type":"log","level":"info","message":"asking for the key"}'
echo '{"type":"setup_step","step_id":"key","step":{"type":"secure_input","ref_id":"token","label":"API key","guidance":"Keybox > Settings > Keys"}}'
echo '{"type":"await_input","step_id":"key"}'
read -r result || exit 1
case $result in *'"type":"cancel"'*) exit 0;; esac
token=$(cat "$WF_REFS/token") || exit 1
# What the service makes of the key: a session that is a secret, too.
printf 'session-of-%s' "$token" > "$WF_REFS_OUT/session"
case $start in
*'"incremental_scopes":["write"]'*) granted='"read","write"';;
*) granted='"read"';;
esac
echo "{\"type\":\"completion\",\"connection_payload\":{\"permissions_granted\":[$granted],\"token_expires_at\":\"2026-11-21T11:00:00Z\",\"account\":\"ada\"}}"
