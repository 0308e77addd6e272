# A list of prices, as a table with its total.
BEGIN { print "<table>" }
NR > 1 {
  print "<tr><td>" $1 "</td><td>" $2 "</td></tr>"
  total += $2
}
END { print "</table><b>" total "</b>" }
