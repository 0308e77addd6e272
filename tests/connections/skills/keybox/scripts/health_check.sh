read -r request
test "$(cat "$WF_REFS/session")" = "session-of-$(cat "$WF_REFS/token")" || test -s "$WF_REFS/renewed" || exit 1
if test -s "$WF_REFS/broken"; then
  echo '{"healthy":false,"error":"token expired"}'
else
  echo '{"healthy":true,"latency_ms":7,"warnings":["it is only a test"]}'
fi
