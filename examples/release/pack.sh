#!/bin/sh
# Writes the archive of FOLDER/NAME to standard output. Times, owners and order are fixed, so
# the same content always gives the same bytes.
set -eu
folder=$1
name=$2
tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u+rw,go=rX \
  -C "$folder" -cf - "$name" | gzip -9n
