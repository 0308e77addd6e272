read -r request
echo '{"auth_strategy":"device_code","provider":"Codes","initial_permissions":["read"],"setup_requirements":{"browser":true}}'
