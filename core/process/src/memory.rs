//! The memory of a process.

use std::fs::File;
use std::io::Read as _;

/// The longest status of a process that is read. The kernel's has some two kilobytes.
const LONGEST_STATUS: u64 = 16 << 10;

/// The bytes of memory that a process has resident, shared ones included. `None` where the system does not say, or there is
/// no such process.
#[must_use]
pub fn resident_bytes(process: u32) -> Option<u64> {
    let file = File::open(format!("/proc/{process}/status")).ok()?;
    let mut status = String::new();
    file.take(LONGEST_STATUS).read_to_string(&mut status).ok()?;
    resident_of(&status)
}

/// The bytes of memory that the machine has. `None` where the system does not say.
#[must_use]
pub fn total_bytes() -> Option<u64> {
    bytes_of(&std::fs::read_to_string("/proc/meminfo").ok()?, "MemTotal:")
}

fn resident_of(status: &str) -> Option<u64> {
    bytes_of(status, "VmRSS:")
}

fn bytes_of(status: &str, key: &str) -> Option<u64> {
    let mut lines = status.lines();
    let size = lines.find_map(|line| line.strip_prefix(key))?;
    let kilobytes: u64 = size.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    kilobytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_resident_memory_is_read_in_bytes() {
        let status = "Name:\tVmRSS\nVmHWM:\t 9 kB\nVmRSS:\t    2056 kB\nRssAnon:\t 4 kB\n";
        assert_eq!(resident_of(status), Some(2056 * 1024));
        for malformed in [
            "",
            "VmRSS:",
            "VmRSS:\t-1 kB",
            "VmRSS:\t5 MB",
            "VmRSS: 18446744073709551615 kB",
        ] {
            assert_eq!(resident_of(malformed), None, "{malformed}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_has_memory_and_one_that_does_not_exist_has_none() {
        assert!(resident_bytes(std::process::id()).is_some_and(|bytes| bytes > 100_000));
        assert_eq!(resident_bytes(u32::MAX), None);
        assert!(total_bytes() > resident_bytes(std::process::id()));
    }
}
