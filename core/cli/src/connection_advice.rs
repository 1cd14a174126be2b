//! What to do when machines can't connect.

use flowpipe_link::transport::FailureReason;
use flowpipe_terminal::escape;

/// What to do about a failure. `reason`: why it failed, if that is known. `own`: the name of this machine.
pub fn advice(reason: Option<FailureReason>, own: &str) -> String {
    let own = escape(own);
    match reason {
        Some(FailureReason::UnknownAuthority) => {
            "its certificate and those here are of different authorities; copy the files that one run of \
             `flowpipe machine init` has created to all machines"
                .to_owned()
        }
        Some(FailureReason::Expired) => {
            "a certificate has expired, or is not valid yet; correct the clocks of both, or remove the folder and run \
             `flowpipe machine init` again"
                .to_owned()
        }
        Some(FailureReason::OtherHost) => {
            "its certificate names another host than `connect`; remove the folder and run `flowpipe machine init` again"
                .to_owned()
        }
        Some(FailureReason::WrongCertificate) => {
            "its certificate is missing or wrong; copy its files again from where `flowpipe machine init` has created them, or \
             remove the folder and run it again"
                .to_owned()
        }
        Some(FailureReason::RefusedCertificate) => {
            format!(
                "it refuses the certificate of machine {own}, which may name another host than the `connect` of {own}; \
                 remove the folder and run `flowpipe machine init` again"
            )
        }
        Some(FailureReason::OtherMachine) => {
            format!("correct `connect`, or give both the same file, with machine {own}")
        }
        Some(FailureReason::Unreachable) => "start it, or correct `connect`".to_owned(),
        Some(FailureReason::UnknownHost) => {
            "the host in its `connect` has no address; correct `connect`, or make the name known to this machine, as in \
             /etc/hosts"
                .to_owned()
        }
        Some(FailureReason::NoAnswer) => {
            "nothing has answered there in time; check that it runs, that `connect` is its address, and that no firewall \
             is between"
                .to_owned()
        }
        Some(
            FailureReason::OwnCertificate | FailureReason::OwnKey | FailureReason::OwnAuthority,
        ) => {
            format!(
                "copy the files of machine {own} again from where `flowpipe machine init` has created them, or remove \
                 the folder and run it again"
            )
        }
        None => {
            format!("check that it runs, and that no other program runs as machine {own}")
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use flowpipe_link::library::abi;

    use super::*;

    #[test]
    fn every_reason_has_its_advice() {
        let own_file = "copy the files of machine desk again";
        let expected = [
            (FailureReason::Unreachable, "start it, or correct `connect`"),
            (
                FailureReason::UnknownAuthority,
                "are of different authorities",
            ),
            (FailureReason::Expired, "a certificate has expired"),
            (
                FailureReason::OtherHost,
                "names another host than `connect`",
            ),
            (
                FailureReason::WrongCertificate,
                "its certificate is missing or wrong",
            ),
            (
                FailureReason::RefusedCertificate,
                "it refuses the certificate of machine desk",
            ),
            (FailureReason::UnknownHost, "has no address"),
            (FailureReason::NoAnswer, "nothing has answered there"),
            (
                FailureReason::OtherMachine,
                "the same file, with machine desk",
            ),
            (FailureReason::OwnCertificate, own_file),
            (FailureReason::OwnKey, own_file),
            (FailureReason::OwnAuthority, own_file),
        ];
        assert_eq!(expected.len(), abi::REASONS.len());
        let mut all = BTreeSet::new();
        for (reason, text) in expected {
            let advice = advice(Some(reason), "desk");
            assert!(advice.contains(text), "{reason:?}: {advice}");
            assert!(
                abi::REASONS.iter().any(|(_, it)| *it == reason),
                "{reason:?}"
            );
            all.insert(advice);
        }
        // Those of the own files alone have the same.
        assert_eq!(all.len(), expected.len() - 2);
        let unknown = advice(None, "desk\u{1b}");
        assert_eq!(
            unknown,
            "check that it runs, and that no other program runs as machine desk\\u001b"
        );
        assert!(!all.contains(&unknown));
    }
}
