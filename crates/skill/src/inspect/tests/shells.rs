//! Realistic shell scripts: correct reading, and no way to hide commands.

use super::{PY, SH, codes};

/// Scripts without any issue.
const FINE: &[&str] = &[
    "f() { local a=\"$1\" b=${2:-x} c; c=$a; echo \"$a$b$c\"; }; f 1\n",
    "declare -r A=\"$1\"; export B=\"$A\"; readonly C=$B; typeset -i D=$((1)); echo $A $B $C $D\n",
    "declare -A m=([a]=1 [b]=\"$1\"); for k in \"${!m[@]}\"; do echo \"$k ${m[$k]}\"; done\n",
    "local -a all=(\"$@\"); echo \"${#all[@]} ${all[0]}\"\n",
    "if [[ -n \"$1\" && $# -gt 1 ]]; then echo; fi\n",
    "while [[ $# -gt 0 ]]; do case \"$1\" in -a|--all) shift;; *) exit 2;; esac; done\n",
    "[[ \"$1\" =~ ^(a|b)[[:space:]]+\"x y\"$ ]] && echo \"${BASH_REMATCH[1]}\"\n",
    "for ((i = 0; i < 3; i++)); do echo $i; done; (( n += 1 )); echo $n\n",
    "((count++)) || true; x=$((count * 2)); let y=1; echo $x $y $count\n",
    "(( m[$1]++ )); echo ${m[a]}\n",
    "SED=\"sed -i ''\"; $SED 's/a/b/' f; G=(git diff); G+=(\"$1\"); G+=(-q); \"${G[@]}\" \"$1\"\n",
    "PY=$(command -v python3) || exit 1; \"$PY\" a.py\n",
    "f() { echo a; \"$@\"; }; f git diff\n",
    "f() { local name=\"$1\"; shift; \"${@}\"; }; f 'a step' git diff\n",
    "f() { g \"${@:2}\"; }; g() { \"$@\"; }; f 1 ls\n",
    "f() { local cmd=$1; $cmd --version; }; f cc; f ld\n",
    "function f { case $1 in a) echo \"b)\" ;; esac; }\nf\n",
    "x=$(case $1 in a) echo \"x\" ;; (b) echo y ;; esac); echo \"$x\"\n",
    "case $1 in\n  # one\n  a | \"b c\" ) echo ;;&\n  @(x|y)*) echo ;&\n  *) ;;\nesac\n",
    "cat <<-'A' <<B\n\t$UNKNOWN_A\n\tA\n$1\nB\n",
    "x=$(cat <<E\nit's $1 \"\nE\n); echo \"$x\"\n",
    "exec {fd}>a; echo >&$fd; exec 3<&-\n",
    "mapfile -t lines < <(sort a); echo \"${lines[@]}\"; printf -v out '%s' a; echo $out\n",
    "while IFS=, read -r a b; do echo \"$a$b\"; done <<< \"$1\"\n",
    "trap 'rm -f \"$t\"' EXIT; t=$(mktemp); exec env -i ls\n",
    "exec \"$(command -v git)\" log\n",
    "a=1 b=2 env; shopt -s extglob; rm -f !(a|b).x\n",
    "select o in a b; do echo $o; done; until false; do :; done\n",
    "{ echo a; echo b; } | sort | while read -r l; do echo $l; done > f\n",
    "echo \"${x:=1}\" \"${1//\\'/}\" \"${1:0:3}\" \"${1%%\"/\"*}\" \"${1^^}\" $x\n",
];

/// Scripts with a hidden command that is found.
const FOUND: &[(&str, &[&str])] = &[
    ("function f { curl x; }\n", &["net-undeclared"]),
    ("function f() ( curl x )\n", &["net-undeclared"]),
    ("case $1 in a) curl x ;; esac\n", &["net-undeclared"]),
    ("x=$(case a in a) curl x ;; esac)\n", &["net-undeclared"]),
    ("[[ -n $(curl x) ]]\n", &["net-undeclared"]),
    ("(( $(curl x) > 1 ))\n", &["net-undeclared"]),
    ("a=(1 $(curl x))\n", &["net-undeclared"]),
    ("local a=\"$(curl x)\"\n", &["net-undeclared"]),
    ("cat <<E\n$(curl x)\nE\n", &["net-undeclared"]),
    ("c=curl; $c x\n", &["net-undeclared"]),
    ("c=(curl -s); \"${c[@]}\" x\n", &["net-undeclared"]),
    ("c=ls; [ -n \"$1\" ] && c=curl; $c x\n", &["net-undeclared"]),
    ("f() { shift; \"$@\"; }; f a curl x\n", &["net-undeclared"]),
    ("f() { \"${CC:-curl}\" x; }; CC=cc\n", &["net-undeclared"]),
    ("for c in ls wget; do $c x; done\n", &["net-undeclared"]),
    ("exec $X\n", &["argument-run", "env-undeclared"]),
    ("x=$(sort a); $x\n", &["argument-run"]),
    ("read -r x; $x\n", &["argument-run"]),
    ("{ curl x; } | sh\n", &["net-undeclared", "pipe-to-shell"]),
    ("if true; then curl x; fi | sh\n", &["net-undeclared", "pipe-to-shell"]),
    ("curl x | { read -r a; sh; }\n", &["net-undeclared", "pipe-to-shell"]),
    ("curl x | while true; do bash; done\n", &["net-undeclared", "pipe-to-shell"]),
    ("trap 'curl x | sh' EXIT\n", &["net-undeclared", "pipe-to-shell"]),
    ("x=`true)`; sudo ls\n", &["privilege"]),
    ("echo $((TIMEOUT + 1))\n", &["env-undeclared"]),
    ("export A; echo $A\n", &["env-undeclared"]),
    ("case $MODE in $OTHER) ;; esac\n", &["env-undeclared"]),
];

#[test]
fn scripts_are_read_as_their_shell_reads_them() {
    let mut wrong = Vec::new();
    for text in FINE {
        let found = codes(&[(SH, text)]);
        if !found.is_empty() {
            wrong.push(format!("{text:?}: {found:?}, where nothing is wrong"));
        }
    }
    for (text, expected) in FOUND {
        let found = codes(&[(SH, text)]);
        if found != *expected {
            wrong.push(format!("{text:?}: {found:?}, not {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_script_has_the_variables_of_those_that_load_it() {
    let library = ("scripts/lib.sh", "echo \"$FOLDER\"\n");
    let loads = ("scripts/a.sh", "FOLDER=x\nif true; then source \"$(dirname \"$0\")/lib.sh\"; fi\n");
    assert_eq!(codes(&[library, loads]), [""; 0]);
    assert_eq!(codes(&[library]), ["env-undeclared"]);
}

#[test]
fn what_is_nested_costs_no_more_than_it_is_long() {
    for text in [
        format!("{}a{}\n", "(".repeat(39), ")|b".repeat(39)),
        format!("{}a;{}\n", "{ ".repeat(39), "}|b".repeat(39)),
        format!("{}{}\n", "{ a|".repeat(70), "}; ".repeat(70)),
        "a|b|".repeat(5000) + &"{ c; sh; } | sh;".repeat(3000),
        "f() { \"$@\"; };".to_owned() + &"f f f f $x;".repeat(2000),
        (0..300).map(|n| format!("a{n}=$a{};b{n}=$b{n};", n + 1)).collect::<String>() + "$a0 $b0",
    ] {
        let _ = codes(&[(SH, &text)]);
    }
}

#[test]
fn the_first_line_of_a_script_says_how_it_is_read() {
    use crate::inspect::{ScriptLanguage, language};
    for (path, text, expected) in [
        ("a.sh", "#!/usr/bin/env bash\n", Some(ScriptLanguage::Shell("bash"))),
        ("a.sh", "#!/bin/zsh -e\n", Some(ScriptLanguage::Shell("zsh"))),
        ("a.sh", "echo\n", Some(ScriptLanguage::Shell("sh"))),
        ("a.bash", "", Some(ScriptLanguage::Shell("bash"))),
        ("a.sh", "#!/usr/bin/env python3\n", Some(ScriptLanguage::Python)),
        ("a.py", "#!/usr/bin/env -S uv run --script\n", Some(ScriptLanguage::Python)),
        ("run", "#!/usr/bin/awk -f\n", Some(ScriptLanguage::Other)),
        ("a.md", "echo\n", None),
    ] {
        assert_eq!(language(path, text.as_bytes()), expected, "{path} {text:?}");
    }
    let hidden = "#!/usr/bin/python3\nimport os\nos.system(input())\n";
    assert_eq!(codes(&[(SH, hidden)]), ["eval-input"]);
}

#[test]
fn compiled_python_needs_its_source() {
    assert_eq!(codes(&[("scripts/a.pyc", "x")]), ["compiled"]);
    assert_eq!(codes(&[("scripts/a.PYO", "x")]), ["compiled"]);
    let source = ("scripts/a.py", "print(1)\n");
    assert_eq!(codes(&[("scripts/a.pyc", "x"), source]), ["unread"]);
}

#[test]
fn a_socket_of_the_machine_itself_is_no_network() {
    for text in [
        "import socket\ns = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)\ns.connect(p)\n",
        "import socket as s\nwith s.socket(family=s.AF_UNIX) as x:\n    pass\n",
        "from socket import AF_UNIX, socket\nsocket(AF_UNIX)\n",
        "import socket\ntry:\n    f()\nexcept socket.timeout:\n    pass\n",
        "import socket\ndef f(s: socket.socket) -> socket.socket:\n    return socket.socketpair()\n",
    ] {
        assert_eq!(codes(&[(PY, text)]), [""; 0], "{text}");
    }
    for text in [
        "import socket\nsocket.socket()\n",
        "import socket\nsocket.socket(socket.AF_INET)\n",
        "import socket\nsocket.socket(socket.AF_UNIX)\nsocket.create_connection(a)\n",
        "import socket\nopen = socket.socket\n",
        "from socket import create_connection as c\nc(x)\n",
        "from socket import *\n",
        "import asyncio\nasyncio.open_connection(h, 1)\n",
    ] {
        assert_eq!(codes(&[(PY, text)]), ["net-undeclared"], "{text}");
    }
}

#[test]
fn private_places_are_named() {
    for text in [
        "cat ~/.aws/credentials\n",
        "tar c \"$HOME/.ssh\"\n",
        "cat < \"${HOME}\"/.gnupg/x\n",
        "D=$HOME/.kube; ls \"$D\"\n",
        "f() { cp ~/.mozilla/x \"$1\"; }\n",
    ] {
        assert_eq!(codes(&[(SH, text)]), ["private-place"], "{text}");
    }
    let python = "from pathlib import Path\np = Path.home() / '.aws' / 'credentials'\n";
    assert_eq!(codes(&[(PY, python)]), ["private-place"]);
    let script = "fs.readFileSync(home + '/.bash_history')\n";
    assert_eq!(codes(&[("scripts/a.js", script)]), ["private-place"]);
    assert_eq!(codes(&[(SH, "cat .ssh-notes.md a.aws\n")]), [""; 0]);
}
