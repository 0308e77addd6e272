read -r request
test -s "$WF_REFS/access" && echo '{"healthy":true}'
