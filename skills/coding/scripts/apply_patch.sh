#!/bin/sh
# Applies a unified diff: all of it or nothing, and only below one folder.
# Exit codes: 0 done, 1 it does not fit, 2 cannot be done.
set -eu
unset CDPATH

refuse() {
    printf 'apply_patch: %s\n' "$1" >&2
    printf 'remedy: %s\n' "$2" >&2
    exit "${3:-2}"
}

# Where the results go.
results() {
    if [ -n "${WF_OUTPUT:-}" ]; then cat >>"$WF_OUTPUT"; else cat; fi
}

# A path that no command takes for an option.
plain() {
    case $1 in
        /*) printf '%s' "$1" ;;
        *) printf './%s' "$1" ;;
    esac
}

patch='' within='' folder=. strip=1 dry_run='' try=''
for word do
    case $word in
        --patch=*) patch=${word#*=} ;;
        --within=*) within=${word#*=} ;;
        --folder=*) folder=${word#*=} ;;
        --strip=*) strip=${word#*=} ;;
        --dry-run) dry_run=yes ;;
        --try) try=yes ;;
        *) refuse "unknown argument: $word" "see SKILL.md; a flag and its value are one word: --patch=FILE" ;;
    esac
done
[ -n "$patch" ] || refuse "no patch is named" "give --patch=FILE, a unified diff"
[ -n "$within" ] || refuse "it is not said where the patch must stay" "give --within=FOLDER, or --within=. for the whole folder"
[ -n "$folder" ] || refuse "--folder is empty" "leave it out, or name a folder"
case $strip in
    [0-9]) ;;
    *) refuse "--strip is not a number from 0 to 9: $strip" "1 cuts the a/ and b/ that git writes" ;;
esac
# Without leading ./ and trailing /.
while :; do
    case $within in
        ./?*) within=${within#./} ;;
        ?*/) within=${within%/} ;;
        *) break ;;
    esac
done
case /$within/ in
    //* | */../* | *//*) refuse "--within leaves the folder: $within" "give a path below the folder, without .." ;;
esac
command -v git >/dev/null 2>&1 ||
    refuse "git is not there" "install git; no repository is needed"

work=$(mktemp -d "${TMPDIR:-/tmp}/apply_patch.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

if [ -n "$try" ]; then
    skill=${WF_SKILL:-$(cd -- "$(dirname -- "$0")/.." && pwd)}
    mkdir "$work/sample"
    cp "$skill/assets/sample.txt" "$work/sample/"
    patch=$skill/$patch
    folder=$work/sample
fi
case $patch in
    /*) ;;
    *) patch=$(pwd)/$patch ;;
esac
[ -f "$patch" ] && [ -r "$patch" ] ||
    refuse "there is no such file: $patch" "give --patch as a file, relative to where this runs"
# One text, whatever happens to the file meanwhile.
cat "$patch" >"$work/patch"
cd -- "$(plain "$folder")" 2>/dev/null ||
    refuse "there is no folder to go to: $folder" "give --folder as a folder, relative to where this runs"

# Neither the configuration of somebody nor a repository further up has a say.
GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null
GIT_CEILING_DIRECTORIES=$(dirname -- "$(pwd -P)")
LC_ALL=C
export GIT_CONFIG_NOSYSTEM GIT_CONFIG_GLOBAL GIT_CEILING_DIRECTORIES LC_ALL
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE 2>/dev/null || :
git_apply() {
    git -c core.quotePath=false -c core.fsmonitor=false -c apply.whitespace=nowarn \
        -c apply.ignoreWhitespace=no apply -p"$strip" "$@" "$work/patch"
}

if grep -Eq '^(rename|copy) (from|to) ' "$work/patch"; then
    refuse "the patch renames or copies a file" "make it with: git diff --no-renames"
fi
if grep -Eq '^(new file mode|new mode|old mode|deleted file mode|index [0-9a-f]+\.\.[0-9a-f]+) 1[26]0000' "$work/patch"; then
    refuse "the patch has a link or a submodule" "change it by hand"
fi
git_apply --numstat >"$work/files" 2>"$work/why" ||
    refuse "this is no unified diff: $(head -n 1 "$work/why")" "write one with: git diff, or: diff -u OLD NEW"
[ -s "$work/files" ] || refuse "the patch changes nothing" "make it anew"

tab=$(printf '\t')
files=0 added=0 removed=0
while IFS="$tab" read -r plus minus path; do
    case $path in
        '"'* | *"$tab"*) refuse "a name in the patch has odd characters: $path" "change this file by hand" ;;
    esac
    case /$path/ in
        *//* | */../* | */./*) refuse "a path in the patch leaves the folder: $path" "make the patch anew" ;;
    esac
    if [ "$within" != . ]; then
        case $path in
            "$within" | "$within"/*) ;;
            *) refuse "the patch changes $path, which is not within $within" "split the patch, or give another --within" ;;
        esac
    fi
    files=$((files + 1))
    [ "$plus" = - ] || added=$((added + plus))
    [ "$minus" = - ] || removed=$((removed + minus))
done <"$work/files"

if ! git_apply --check 2>"$work/why"; then
    cat "$work/why" >&2
    if git_apply --check --reverse 2>/dev/null; then
        refuse "the patch was applied already" "nothing is left to do" 1
    fi
    refuse "the patch does not fit; nothing was changed" "make it anew from the files as they are" 1
fi
if [ -z "$dry_run" ]; then
    git_apply 2>"$work/why" || {
        cat "$work/why" >&2
        refuse "the patch could not be written" "let the step write the folder: allow: {write: [$within]}" 1
    }
fi
{
    echo "files=$files"
    echo "added=$added"
    echo "removed=$removed"
} | results
