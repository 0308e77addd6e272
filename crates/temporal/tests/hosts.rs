//! Workers as if on other hosts: each has a network of its own, and sees no file of the workspace.

use std::process::Command;

use crate::farm::Farm;

/// Networks for two hosts, removed with the test.
struct Networks {
    names: Vec<String>,
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
    fn new(prefix: &str, hosts: u8) -> Self {
        let number = std::process::id() % 10_000;
        let bridge = format!("wfb{number}");
        let mut networks = Self { names: Vec::new(), bridge: bridge.clone() };
        ip(&["link", "add", &bridge, "type", "bridge"]);
        ip(&["addr", "add", &format!("{prefix}.1/24"), "dev", &bridge]);
        ip(&["link", "set", &bridge, "up"]);
        for host in 1..=hosts {
            let (name, end) = (format!("wfn{number}-{host}"), format!("wfv{number}-{host}"));
            ip(&["netns", "add", &name]);
            networks.names.push(name.clone());
            ip(&["link", "add", &end, "type", "veth", "peer", "name", "eth0", "netns", &name]);
            ip(&["link", "set", &end, "master", &bridge, "up"]);
            let inside = ["-n", &name];
            ip(&[&inside[..], &["addr", "add", &format!("{prefix}.{}/24", host + 1), "dev", "eth0"]]
                .concat());
            ip(&[&inside[..], &["link", "set", "eth0", "up"]].concat());
            ip(&[&inside[..], &["link", "set", "lo", "up"]].concat());
        }
        networks
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

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn hosts_share_the_object_store_and_the_server_alone() {
    let prefix = format!("10.213.{}", std::process::id() % 250);
    let networks = Networks::new(&prefix, 2);
    let mut farm = Farm::at(&format!("{prefix}.1"));
    let others = |own: &str| {
        let hidden = ["space", "home", "server", "w1", "w2"].into_iter().filter(|folder| *folder != own);
        hidden
            .map(|folder| format!("mount -t tmpfs none {};", farm.path(folder).display()))
            .collect::<String>()
    };
    for name in ["w1", "w2"] {
        std::fs::create_dir_all(farm.path(name)).unwrap();
    }
    let hidden: Vec<String> = ["w1", "w2"].map(others).into();
    for ((name, network), hide) in ["w1", "w2"].into_iter().zip(&networks.names).zip(&hidden) {
        let args: Vec<String> = farm.worker_args(name).iter().map(|arg| format!("'{arg}'")).collect();
        let script = format!("{hide} exec '{}' {}", env!("CARGO_BIN_EXE_wf-temporal"), args.join(" "));
        let mut command = farm.worker_command(name, "ip");
        command.args(["netns", "exec", network, "unshare", "--mount", "sh", "-c", &script]);
        farm.adopt_worker(name, &mut command);
    }
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
