//! The members of a group. Many systems create a group for each user, with write access to all his files.

use std::fs::File;
use std::io::Read as _;
use std::sync::OnceLock;

/// The system's users and groups from its local files. Network accounts are missing.
#[derive(Debug, Default)]
pub(crate) struct Accounts {
    /// As `/etc/passwd`.
    users: String,
    /// As `/etc/group`.
    groups: String,
}

/// Longer lists are ignored.
const LONGEST: u64 = 16 << 20;

impl Accounts {
    /// Those of this system, read at the first call.
    pub(crate) fn get() -> &'static Self {
        static THIS: OnceLock<Accounts> = OnceLock::new();
        THIS.get_or_init(|| Self {
            users: read("/etc/passwd"),
            groups: read("/etc/group"),
        })
    }

    /// Whether a group is the user's own or root's, and has no other members.
    pub(crate) fn is_alone_in(&self, user: u32, group: u32) -> bool {
        let Some(name) = self.users().find(|it| it.number == user).map(|it| it.name) else {
            return false;
        };
        let is_known = |member: &str| member == name || member == "root";
        let others = self
            .users()
            .any(|it| it.group == group && !is_known(it.name));
        let mut found = self.groups().filter(|it| it.number == group).peekable();
        found.peek().is_some()
            && !others
            && found.all(|it| {
                is_known(it.name)
                    && it
                        .members
                        .split(',')
                        .all(|one| one.is_empty() || is_known(one))
            })
    }

    fn users(&self) -> impl Iterator<Item = User<'_>> {
        self.users.lines().filter_map(|line| {
            let mut fields = line.split(':');
            Some(User {
                name: fields.next()?,
                number: fields.nth(1)?.parse().ok()?,
                group: fields.next()?.parse().ok()?,
            })
        })
    }

    fn groups(&self) -> impl Iterator<Item = Group<'_>> {
        self.groups.lines().filter_map(|line| {
            let mut fields = line.split(':');
            Some(Group {
                name: fields.next()?,
                number: fields.nth(1)?.parse().ok()?,
                members: fields.next()?,
            })
        })
    }
}

struct User<'a> {
    name: &'a str,
    number: u32,
    group: u32,
}

struct Group<'a> {
    name: &'a str,
    number: u32,
    members: &'a str,
}

fn read(path: &str) -> String {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(LONGEST).read_to_string(&mut text));
    match read {
        Ok(length) if (length as u64) < LONGEST => text,
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_users_own_group_is_private() {
        let accounts = Accounts {
            users: "root:x:0:0:root:/root:/bin/sh\nann:x:1000:1000:,,,:/home/ann:/bin/sh\n\
                    ben:x:1001:100::/home/ben:/bin/sh\ncy:x:1002:1002::/:/bin/sh\ndee:x:1003:1002::/:/bin/sh\nodd\n"
                .to_owned(),
            groups: "root:x:0:\nann:x:1000:\nusers:x:100:\nstaff:x:50:ann\ncy:x:1002:\n\
                     ben:x:1001:ben,ann\nlone:x:1004:ann\nann:x:1005:root,ann\nodd\n"
                .to_owned(),
        };
        let alone = |user, group| accounts.is_alone_in(user, group);
        assert!(alone(1000, 1000) && alone(1000, 0) && alone(0, 0) && alone(1000, 1005));
        assert!(
            !alone(1001, 100),
            "a network account may have it as its first group"
        );
        assert!(!alone(1001, 1001), "ann is in it");
        assert!(!alone(1002, 1002), "it is dee's first group");
        assert!(
            !alone(1000, 50) && !alone(1000, 1004),
            "it is not named after the user"
        );
        assert!(!alone(1000, 77) && !alone(77, 1000) && !alone(1001, 1000));
    }
}
