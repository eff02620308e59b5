//! Tells from its output that a command failed for want of the network.

/// What resolvers and programs say when no name can be looked up and no host is reached.
const SAID: [&str; 14] = [
    "could not resolve host",
    "couldn't resolve host",
    "could not resolve proxy",
    "temporary failure in name resolution",
    "temporary failure resolving",
    "name or service not known",
    "failed to lookup address",
    "network is unreachable",
    "no route to host",
    "getaddrinfo eai_again",
    "getaddrinfo enotfound",
    "nodename nor servname provided",
    "connect enetunreach",
    "dial tcp: lookup",
];

/// Tells whether a failed command's output says that it needs the network. It decides nothing but a hint.
pub fn wanted(output: &str) -> bool {
    let output = output.to_lowercase();
    SAID.iter().any(|said| output.contains(said))
}

/// Tells the same of a command that ended well, as a pipeline does whose last part did: there a program has to say it under
/// its own name, since the words may come from a file.
pub fn wanted_within(output: &str) -> bool {
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c));
    output.lines().any(|line| line.split_once(": ").is_some_and(|(name, said)| is_name(name) && wanted(said)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_want_of_the_network_is_told_from_other_failures() {
        assert!(wanted("curl: (6) Could not resolve host: crates.io"));
        assert!(wanted("npm error code EAI_AGAIN\nnpm error request failed, reason: getaddrinfo EAI_AGAIN registry"));
        assert!(wanted("socket.gaierror: [Errno -3] Temporary failure in name resolution"));
        assert!(wanted_within("one\ncurl: (6) Could not resolve host: crates.io\n"));
        assert!(wanted_within("fatal: unable to access 'https://x/': Could not resolve host: x"));
        for read in ["src/a.rs:12: could not resolve host", "could not resolve host", "the name: x\n# no route to host"]
        {
            assert!(!wanted_within(read), "{read}");
        }
        assert!(!wanted("curl: (7) Failed to connect to localhost port 3000: Connection refused"));
    }
}
