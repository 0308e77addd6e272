read -r request
echo '{"auth_strategy":"secure_input","provider":"Keybox","initial_permissions":["read"],"setup_requirements":{"secure_inputs":[{"ref_id":"token","label":"API key"}]}}'
