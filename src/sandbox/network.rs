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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_want_of_the_network_is_told_from_other_failures() {
        assert!(wanted("curl: (6) Could not resolve host: crates.io"));
        assert!(wanted("npm error code EAI_AGAIN\nnpm error request failed, reason: getaddrinfo EAI_AGAIN registry"));
        assert!(wanted("socket.gaierror: [Errno -3] Temporary failure in name resolution"));
        assert!(!wanted("curl: (7) Failed to connect to localhost port 3000: Connection refused"));
    }
}
