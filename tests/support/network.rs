//! Machines in network namespaces of their own. None reaches another one: each reaches the middle, where a proxy passes on
//! what it wants to.

#![allow(dead_code, reason = "each test file uses some of it")]

use std::fs::File;
use std::net::Ipv4Addr;
use std::os::fd::AsFd as _;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// Where the middle is, for each machine.
pub const MIDDLE: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);

/// A middle, and machines. They are gone when this is dropped.
pub struct Network {
    /// The beginning of the names of their namespaces.
    name: String,
    machines: Vec<String>,
}

impl Network {
    /// # Errors
    /// Why there can be none: only root creates namespaces.
    pub fn new(machines: &[&str]) -> Result<Self, String> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let network = Self {
            name: format!("flowpipe-{}-{number}", std::process::id()),
            machines: machines.iter().map(|&it| it.to_owned()).collect(),
        };
        let middle = network.namespace("middle");
        ip(&["netns", "add", &middle])?;
        let address = format!("{MIDDLE}/32");
        ip(&["-n", &middle, "link", "set", "lo", "up"])?;
        ip(&["-n", &middle, "address", "add", &address, "dev", "lo"])?;
        for (place, machine) in machines.iter().enumerate() {
            let own = network.namespace(machine);
            let near = format!("link{place}");
            ip(&["netns", "add", &own])?;
            ip(&["-n", &own, "link", "set", "lo", "up"])?;
            let peer = ["type", "veth", "peer", "name", "eth0", "netns", &own];
            ip(&[&["-n", &middle, "link", "add", &near], &peer[..]].concat())?;
            let [gateway, address] = [1, 2].map(|host| format!("10.77.{}.{host}", place + 1));
            for (namespace, device, address) in
                [(&middle, near.as_str(), &gateway), (&own, "eth0", &address)]
            {
                let address = format!("{address}/24");
                ip(&["-n", namespace, "address", "add", &address, "dev", device])?;
                ip(&["-n", namespace, "link", "set", device, "up"])?;
            }
            ip(&["-n", &own, "route", "add", "default", "via", &gateway])?;
        }
        Ok(network)
    }

    /// Where the middle reaches a machine.
    pub fn address(&self, machine: &str) -> Ipv4Addr {
        let place = self.machines.iter().position(|it| it == machine).unwrap();
        Ipv4Addr::new(10, 77, u8::try_from(place + 1).unwrap(), 2)
    }

    /// A program on a machine.
    pub fn command(&self, machine: &str, program: &Command) -> Command {
        let mut command = Command::new("ip");
        command
            .args(["netns", "exec", &self.namespace(machine)])
            .arg(program.get_program())
            .args(program.get_args());
        for (name, value) in program.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if let Some(folder) = program.get_current_dir() {
            command.current_dir(folder);
        }
        command
    }

    /// Does something in the middle. Threads that it starts are there too.
    pub fn in_middle<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        let file = File::open(format!("/run/netns/{}", self.namespace("middle"))).unwrap();
        let act = || {
            let kind = Some(LinkNameSpaceType::Network);
            move_into_link_name_space(file.as_fd(), kind).unwrap();
            work()
        };
        std::thread::scope(|scope| scope.spawn(act).join().unwrap())
    }

    fn namespace(&self, machine: &str) -> String {
        format!("{}-{machine}", self.name)
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for machine in self.machines.iter().map(String::as_str).chain(["middle"]) {
            // It may not be there: what failed has been reported.
            let _ = ip(&["netns", "delete", &self.namespace(machine)]);
        }
    }
}

fn ip(args: &[&str]) -> Result<(), String> {
    let output = Command::new("ip").args(args).output();
    let output = output.map_err(|error| format!("ip: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
    }
}
