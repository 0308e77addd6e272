use std::collections::{BTreeMap, BTreeSet};

use clap::{Arg, Command, CommandFactory as _};

use super::{Cli, groups::GROUPS};

/// The kinds of each command, which determine the shared flags that it has.
///
/// `reports`: it answers a question, so a program can read the answer; `acts`: it does something,
/// and its exit code is the answer; `writes`: it writes a text whose form is somebody else's.
const TABLE: &[(&str, &str)] = &[
    ("init", "acts"),
    ("import sylk", "acts"),
    ("check", "reports"),
    ("run", "reports params signs tries"),
    ("resume", "reports run"),
    ("retry", "reports run params signs tries"),
    ("undo", "reports run signs"),
    ("suggestion list", "reports"),
    ("suggestion accept", "reports signs"),
    ("suggestion dismiss", "acts"),
    ("cancel", "acts run"),
    ("answer", "acts run signs asks"),
    ("deny", "acts run signs asks"),
    ("list", "reports"),
    ("runs", "reports rows"),
    ("plan", "reports replaces"),
    ("replay", "writes run"),
    ("show", "reports run"),
    ("logs", "reports run"),
    ("watch", "acts run"),
    ("why", "reports run"),
    ("verify", "reports run"),
    ("attest", "writes run signs"),
    ("inbox", "reports"),
    ("approve", "acts run params signs asks"),
    ("key init", "acts opens"),
    ("key list", "reports"),
    ("key export", "writes"),
    ("key import", "acts opens"),
    ("key enrol", "acts asks"),
    ("key revoke", "acts"),
    ("key rotate", "acts opens"),
    ("key check-signature", "acts"),
    ("audit verify", "reports"),
    ("audit checkpoint", "writes signs"),
    ("audit report", "reports"),
    ("audit tail", "reports rows"),
    ("memory search", "reports rows"),
    ("memory add", "acts"),
    ("memory trust", "acts asks"),
    ("memory promote", "acts asks"),
    ("session new", "acts"),
    ("session list", "reports"),
    ("session show", "reports"),
    ("session switch", "acts"),
    ("session suspend", "acts"),
    ("session resume", "acts"),
    ("session complete", "acts asks"),
    ("session fail", "acts"),
    ("memory query", "reports"),
    ("memory list", "reports"),
    ("memory explain", "reports"),
    ("memory feedback", "acts"),
    ("memory dream", "reports tries"),
    ("memory forget", "acts asks"),
    ("memory export", "writes replaces"),
    ("memory import", "acts"),
    ("memory sign", "writes signs"),
    ("goal list", "reports"),
    ("queue list", "reports"),
    ("queue inspect", "reports"),
    ("queue requeue", "acts"),
    ("goal next", "reports rows"),
    ("goal simulate", "reports"),
    ("goal run", "reports"),
    ("goal accept", "acts signs asks"),
    ("goal pause", "acts"),
    ("goal resume", "acts"),
    ("goal deploy", "acts"),
    ("goal sync", "acts"),
    ("goal recall", "acts"),
    ("goal history", "reports rows"),
    ("goal backfill", "reports rows tries"),
    ("goal autonomy", "reports"),
    ("goal feedback", "acts"),
    ("goal tighten", "acts"),
    ("connection add", "acts asks"),
    ("connection list", "reports"),
    ("connection show", "reports"),
    ("connection check", "reports"),
    ("connection grant", "acts asks"),
    ("connection approve", "acts signs asks"),
    ("connection remove", "acts asks"),
    ("daemon", "acts"),
    ("serve", "writes"),
    ("serve link", "writes"),
    ("mcp pin", "reports"),
    ("mcp serve", "writes"),
    ("skill list", "reports"),
    ("skill show", "writes"),
    ("skill search", "reports"),
    ("skill validate", "reports"),
    ("skill read-properties", "writes"),
    ("skill to-prompt", "writes"),
    ("skill install", "reports signs asks"),
    ("skill import", "reports tries"),
    ("skill update", "reports signs asks"),
    ("skill remove", "acts"),
    ("skill lock", "reports signs asks"),
    ("skill approve", "acts signs asks"),
    ("skill report", "reports"),
    ("graph", "reports"),
    ("gate test", "reports"),
    ("gate list", "reports"),
    ("diff", "reports run"),
    ("schema", "writes"),
    ("backup", "acts replaces"),
    ("restore", "acts replaces"),
    ("doctor", "reports"),
    ("completions", "writes"),
];

/// The flags that follow from a word of the table.
const FLAGS: &[(&str, &[&str])] = &[
    ("reports", &["json"]),
    ("acts", &[]),
    ("writes", &[]),
    ("rows", &["limit"]),
    ("run", &["last"]),
    ("params", &["param", "params"]),
    ("signs", &["key", "passphrase-file"]),
    ("opens", &["passphrase-file"]),
    ("asks", &["yes"]),
    ("tries", &["dry-run"]),
    ("replaces", &["force"]),
];

/// The flags whose value is something else elsewhere, and why.
const OTHERWISE: &[(&str, &str)] = &[
    ("from", "of a retry a step, of time an instant"),
    ("key", "what others than runs are signed with may be a file, too"),
    ("public-key", "`key check-signature` takes everything as digits"),
];

/// The commands that do something, by their names.
fn leaves() -> BTreeMap<String, Command> {
    fn add(above: &str, command: &Command, leaves: &mut BTreeMap<String, Command>) {
        for below in command.get_subcommands() {
            if below.is_hide_set() || below.get_name() == "help" {
                continue;
            }
            let name = format!("{above} {}", below.get_name()).trim().to_owned();
            if below.has_subcommands() {
                add(&name, below, leaves);
            }
            if !below.is_subcommand_required_set() {
                leaves.insert(name, below.clone());
            }
        }
    }
    let mut command = Cli::command();
    command.build();
    let mut leaves = BTreeMap::new();
    add("", &command, &mut leaves);
    leaves
}

fn longs(command: &Command) -> BTreeSet<&str> {
    command.get_arguments().filter_map(Arg::get_long).collect()
}

#[test]
fn every_command_has_the_flags_of_what_it_does() {
    let known_flags: BTreeSet<&str> = FLAGS.iter().flat_map(|(_, flags)| *flags).copied().collect();
    let leaves = leaves();
    let mut wrong = Vec::new();
    for (name, command) in &leaves {
        let Some((_, words)) = TABLE.iter().find(|(row, _)| row == name) else {
            wrong.push(format!("wf {name} stands in no row of the table"));
            continue;
        };
        let words: Vec<&str> = words.split(' ').collect();
        let flags = words.iter().flat_map(|word| {
            let row = FLAGS.iter().find(|(flag, _)| flag == word);
            row.unwrap_or_else(|| panic!("{name}: {word}")).1
        });
        let expected: BTreeSet<&str> = flags.copied().collect();
        let shared: BTreeSet<&str> = longs(command).intersection(&known_flags).copied().collect();
        if shared != expected {
            wrong.push(format!("wf {name}: expected {expected:?}, found {shared:?}"));
        }
        let does = ["reports", "acts", "writes"];
        assert_eq!(words.iter().filter(|word| does.contains(word)).count(), 1, "{name}");
    }
    for (name, _) in TABLE {
        assert!(leaves.contains_key(*name), "there is no command wf {name}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_command_takes_the_global_flags() {
    for (name, command) in leaves() {
        let longs = longs(&command);
        for flag in ["state", "color", "quiet", "verbose"] {
            assert!(longs.contains(flag), "wf {name} --{flag}");
        }
        let shorts: Vec<char> = command.get_arguments().filter_map(Arg::get_short).collect();
        assert!(shorts.contains(&'C'), "wf {name} -C");
    }
}

#[test]
fn a_flag_is_the_same_everywhere() {
    let mut forms: BTreeMap<String, (String, String)> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (name, command) in leaves() {
        for arg in command.get_arguments() {
            let Some(long) = arg.get_long() else {
                assert!(
                    arg.is_positional() || arg.get_short() == Some('C'),
                    "wf {name}: a short flag without a long one: {arg}"
                );
                continue;
            };
            let values = arg.get_value_names().map(|names| names.join(" "));
            let form = format!("{:?} {values:?}", arg.get_short());
            let (first, first_form) = forms.entry(long.into()).or_insert((name.clone(), form.clone()));
            if *first_form != form && OTHERWISE.iter().all(|(flag, _)| *flag != long) {
                wrong.push(format!("--{long} of wf {first}: {first_form}, of wf {name}: {form}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_command_is_in_one_group_of_the_help() {
    let command = Cli::command();
    let visible = command.get_subcommands().filter(|command| !command.is_hide_set());
    let mut expected: Vec<&str> = visible.map(Command::get_name).chain(["help"]).collect();
    let mut listed: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
    expected.sort_unstable();
    listed.sort_unstable();
    assert_eq!(listed, expected);
}
