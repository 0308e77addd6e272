#!/bin/sh
# Checks an approval with openssl and the usual tools alone.
#
#   sh verify-approval.sh plan.approval.json ada.pub      (in the root of the workspace)
#
# Exit code 0: this key signed it, and every file is the one that was approved; 4: not so.
# Whether it expired, was used already or was signed by enough approvers is for the reader.
set -eu
token=$1 key=$2
case $token in -*) token=./$token ;; esac
type=application/vnd.wf.approval+json
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

refuse() {
    echo "does not hold: $1" >&2
    exit 4
}
field() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p" "$token"; }

[ "$(field payloadType)" = "$type" ] || refuse "this is no approval"
field payload | openssl base64 -d -A > "$work/payload"

# A key is known by the SHA-256 of its DER form.
id=$(openssl pkey -pubin -in "$key" -outform DER | openssl dgst -sha256 -r | cut -d ' ' -f 1)
sed -n "s/.*{\"keyid\":\"$id\",\"sig\":\"\([^\"]*\)\"}.*/\1/p" "$token" |
    openssl base64 -d -A > "$work/signature"
[ -s "$work/signature" ] || refuse "it has no signature by the key $id"

# What is signed: the type and the payload, each with its length (DSSE, version 1).
{
    printf 'DSSEv1 %d %s %d ' "${#type}" "$type" "$(wc -c < "$work/payload")"
    cat "$work/payload"
} > "$work/signed"
openssl pkeyutl -verify -pubin -inkey "$key" -rawin \
    -in "$work/signed" -sigfile "$work/signature" > "$work/told" 2>&1 ||
    refuse "the signature is not by the key $id, or not of this"

# The files: one line each, as sha256sum reads it. A path is a string of JSON, and may hold anything; what
# sha256sum writes otherwise makes its line begin with a backslash. Links stand apart.
: > "$work/links"
: > "$work/modes"
awk -v links="$work/links" -v modes="$work/modes" '
{ text = text $0 "\n" }
END {
    while (match(text, /\{"digest":"[0-9a-f]+",("executable":true,)?("link":true,)?"path":"/)) {
        digest = substr(text, RSTART + 11, 64)
        is_link = substr(text, RSTART + 77, 6) == "\"link\""
        is_executable = substr(text, RSTART + 77, 12) == "\"executable\""
        text = substr(text, RSTART + RLENGTH)
        path = mark = ""
        while ((c = substr(text, 1, 1)) != "\"") {
            text = substr(text, 2)
            if (c == "\\") {
                c = substr(text, 1, 1)
                text = substr(text, 2)
                if (c == "t") c = "\t"
                else if (c == "b") c = "\b"
                else if (c == "f") c = "\f"
                else if (c ~ /[nr\\]/) { c = "\\" c; mark = "\\" }
                else if (c == "u") {
                    c = sprintf("%c", index("0123456789abcdef", substr(text, 4, 1)) - 1 + \
                        16 * (index("0123456789abcdef", substr(text, 3, 1)) - 1))
                    text = substr(text, 5)
                }
            }
            if (c == "") exit 1
            path = path c
        }
        if (is_link) print digest " " path > links
        else {
            print mark digest "  " path
            print (is_executable ? "x" : "-") " " path > modes
        }
    }
}' "$work/payload" > "$work/files" || refuse "its list of files cannot be read"
sha256sum --check --quiet "$work/files" || refuse "a file is not the one that was approved"
# The content of a link is the path that it holds.
while IFS= read -r line; do
    link=$(printf '%bx' "${line#* }")
    link=${link%x}
    [ "$(readlink -n -- "$link" | sha256sum | cut -d ' ' -f 1)" = "${line%% *}" ] ||
        refuse "a link is not the one that was approved: $link"
done < "$work/links"
while IFS= read -r line; do
    file=$(printf '%bx' "${line#* }")
    file=${file%x}
    case $file in -*) file=./$file ;; esac
    mode=$(find "$file" -prune ! -type l \( -perm -100 -o -perm -010 -o -perm -001 \) -exec echo x \;)
    [ "${mode:--}" = "${line%% *}" ] || refuse "its executable bit is not the one that was approved: $file"
done < "$work/modes"

cat "$work/payload"
echo
