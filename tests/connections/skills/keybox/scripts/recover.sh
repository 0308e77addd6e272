read -r request
echo '{"failure_type":"token_revoked","service":"Keybox","message":"the key was taken back"}'
