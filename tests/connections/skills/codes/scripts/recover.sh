read -r request
echo "{\"success\":false}"
