#!/bin/sh
# Checks an approval with openssl and the usual tools alone.
#
#   sh verify-approval.sh plan.approval.json ada.pub      (in the root of the workspace)
#
# Exit code 0: this key signed it, and every file is the one that was approved; 4: not so.
# Whether it expired, was used already or was signed by enough approvers is for the reader.
set -eu
token=$1 key=$2
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

# The files: one line each, as sha256sum reads it.
tr '{' '\n' < "$work/payload" |
    sed -n 's/^"digest":"\([0-9a-f]*\)","path":"\([^"]*\)"}.*/\1  \2/p' > "$work/files"
sha256sum --check --quiet "$work/files" || refuse "a file is not the one that was approved"

cat "$work/payload"
echo
