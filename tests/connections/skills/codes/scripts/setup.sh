read -r start
echo '{"type":"setup_step","step_id":"code","step":{"type":"device_code","verification_url":"https://codes.example/device","user_code":"WDJB-MJHT","expires_in":900,"poll_interval":1}}'
# The service: after the third poll somebody has typed the code.
for poll in 1 2 3; do sleep 0.1; done
printf 'access-%s' 'a7f3c9e1b5d2' > "$WF_REFS_OUT/access"
echo '{"type":"setup_step","step_id":"end","step":{"type":"completion","connection_payload":{"account":"grace"}}}'
