//! Workers as if on other hosts: each has a network of its own, and sees no file of the workspace.

use std::{
    process::Command,
    sync::atomic::{AtomicU32, Ordering},
};

use serde_json::Value;

use crate::{
    farm::Farm,
    programs::{Did, until},
};

/// Networks for two hosts, removed with the test.
struct Networks {
    names: Vec<String>,
    /// The ends of their cables, on this side.
    cables: Vec<String>,
    bridge: String,
}

fn ip(args: &[&str]) {
    #[expect(clippy::disallowed_methods, reason = "tests start real programs")]
    let done = Command::new("ip").args(args).output().unwrap();
    assert!(
        done.status.success(),
        "ip {}: {} (this test needs root, and the program `ip`)",
        args.join(" "),
        String::from_utf8_lossy(&done.stderr)
    );
}

impl Networks {
    /// Makes a bridge with an address, and hosts behind it.
    fn new(prefix: &str, number: u32, hosts: u8) -> Self {
        let bridge = format!("wfb{number}");
        let mut networks = Self { names: Vec::new(), cables: Vec::new(), bridge: bridge.clone() };
        ip(&["link", "add", &bridge, "type", "bridge"]);
        ip(&["addr", "add", &format!("{prefix}.1/24"), "dev", &bridge]);
        ip(&["link", "set", &bridge, "up"]);
        for host in 1..=hosts {
            let (name, end) = (format!("wfn{number}-{host}"), format!("wfv{number}-{host}"));
            ip(&["netns", "add", &name]);
            networks.names.push(name.clone());
            ip(&["link", "add", &end, "type", "veth", "peer", "name", "eth0", "netns", &name]);
            ip(&["link", "set", &end, "master", &bridge, "up"]);
            networks.cables.push(end);
            let inside = ["-n", &name];
            ip(&[&inside[..], &["addr", "add", &format!("{prefix}.{}/24", host + 1), "dev", "eth0"]]
                .concat());
            ip(&[&inside[..], &["link", "set", "eth0", "up"]].concat());
            ip(&[&inside[..], &["link", "set", "lo", "up"]].concat());
        }
        networks
    }

    /// Returns the hardware address of a host.
    fn address(&self, host: usize) -> String {
        let file = "/sys/class/net/eth0/address";
        #[expect(clippy::disallowed_methods, reason = "tests start real programs")]
        let read = Command::new("ip").args(["netns", "exec", &self.names[host], "cat", file]).output();
        String::from_utf8(read.unwrap().stdout).unwrap().trim().to_owned()
    }

    /// Cuts a host off, or joins it again.
    fn set(&self, host: usize, state: &str) {
        ip(&["link", "set", &self.cables[host], state]);
    }
}

impl Drop for Networks {
    fn drop(&mut self) {
        for name in &self.names {
            ip(&["netns", "del", name]);
        }
        ip(&["link", "del", &self.bridge]);
    }
}

/// A farm with workers on hosts of their own, w1 and so on, and their networks.
fn farm_of_hosts(hosts: u8) -> (Farm, Networks) {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = std::process::id() * 2 + NEXT.fetch_add(1, Ordering::Relaxed);
    let prefix = format!("10.213.{}", number % 250);
    let networks = Networks::new(&prefix, number % 10_000, hosts);
    let mut farm = Farm::at(&format!("{prefix}.1"));
    let names: Vec<String> = (1..=hosts).map(|host| format!("w{host}")).collect();
    for name in &names {
        std::fs::create_dir_all(farm.path(name)).unwrap();
    }
    for (own, network) in names.iter().zip(&networks.names) {
        let folders = ["space", "home", "server"].into_iter().chain(names.iter().map(String::as_str));
        let hidden = folders.filter(|folder| folder != own).map(|folder| farm.path(folder));
        let hide: String =
            hidden.map(|folder| format!("mount -t tmpfs none {};", folder.display())).collect();
        let args: Vec<String> = farm.worker_args(own).iter().map(|arg| format!("'{arg}'")).collect();
        let script = format!("{hide} exec '{}' {}", env!("CARGO_BIN_EXE_wf-temporal"), args.join(" "));
        let mut command = farm.worker_command(own, "ip");
        command.args(["netns", "exec", network, "unshare", "--mount", "sh", "-c", &script]);
        farm.adopt_worker(own, &mut command);
    }
    (farm, networks)
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn a_step_on_a_host_that_is_cut_off_is_interrupted_and_retried_elsewhere() {
    let (farm, networks) = farm_of_hosts(2);
    let marks = farm.path("marks");
    std::fs::create_dir(&marks).unwrap();
    let at = |mark: &str| marks.join(mark);
    // On the second host, it lasts no longer.
    let script = format!(
        "cat /sys/class/net/eth0/address >> {begun}; until [ -e {go} ]; do sleep 0.05; done",
        begun = at("begun").display(),
        go = at("go").display()
    );
    let begun = || std::fs::read_to_string(at("begun")).unwrap_or_default().lines().count();
    let step = "idempotent: true, retry: {max: 3, on: [interrupted], backoff: 10ms}";
    farm.plan("long", &format!("steps:\n  - {{id: long, run: \"{script}\", {step}}}"));
    let run = farm.start(&["run", "--on", "farm", "long.md"]);
    until("the step began", || begun() == 1);
    let is_first = std::fs::read_to_string(at("begun")).unwrap().trim() == networks.address(0);
    let host = usize::from(!is_first);
    networks.set(host, "down");
    until("it began elsewhere", || begun() == 2);
    std::fs::write(at("go"), "").unwrap();
    Did::ended(run).exits(0);
    networks.set(host, "up");
    let id = farm.run();
    let ended = farm.events(&id).into_iter().filter(|event| event["event"] == "attempt_ended");
    let exits: Vec<Value> = ended.map(|event| event["exit"]["kind"].clone()).collect();
    assert_eq!(exits, ["interrupted", "code"], "what the host did alone does not count");
    farm.wf(&["audit", "verify"]).exits(0).says("valid");
    // It works again.
    let own = if is_first { "w1" } else { "w2" };
    farm.plan("again", &format!("steps:\n  - {{id: again, runs_on: {own}, run: 'true'}}"));
    farm.wf(&["run", "--on", "farm", "again.md"]).exits(0);
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn hosts_share_the_object_store_and_the_server_alone() {
    let (farm, _networks) = farm_of_hosts(2);
    let space = farm.path("space/in.txt").display().to_string();
    farm.file("in.txt", "from the workspace\n");
    let work = r#"run: |
      test ! -e "SPACE"
      cat in.txt > "part-$WF_ITEM.txt"
      cat /sys/class/net/eth0/address > "host-$WF_ITEM.txt""#
        .replace("SPACE", &space);
    let rest = format!(
        r#"policy: {{max_parallel: 4}}
steps:
  - id: one
    runs_on: w1
    for_each: [1, 2, 3, 4]
    {work}
  - id: other
    runs_on: w2
    for_each: [5, 6, 7, 8]
    {work}
  - id: all
    depends_on: [one, other]
    run: |
      test "$(cat part-*.txt | grep -c workspace)" = 8
      echo "hosts=$(cat host-*.txt | sort -u | wc -l)" >> "$WF_OUTPUT"
    outputs: {{hosts: {{type: integer}}}}"#
    );
    farm.plan("spread", &rest);
    farm.wf(&["run", "--on", "farm", "spread.md"]).exits(0);
    let shown = farm.show();
    let all = shown["steps"].as_array().unwrap().iter().find(|step| step["step"] == "all").unwrap();
    assert_eq!(all["outputs"]["hosts"], 2, "both hosts worked: {shown}");
}
