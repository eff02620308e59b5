//! Which certificates are trusted: the built-in roots, and those of the machine.

use anyhow::Context;
use anyhow::Result;
use rustls::ClientConfig;
use rustls::RootCertStore;
use std::error::Error;
use std::io;
use std::sync::Arc;

/// Whose certificates are trusted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Roots {
    /// The built-in ones; enough where no encrypted connection is made.
    BuiltIn,
    /// Those of the machine too, where companies put the root of their proxy.
    WithMachine,
}

/// Makes the settings of encrypted connections.
pub(super) fn config(roots: Roots) -> Result<ClientConfig> {
    let mut store = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    if roots == Roots::WithMachine {
        // A machine without a certificate store, as a bare container, still has the built-in roots.
        store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .context("could not set up encrypted connections")?
        .with_root_certificates(store)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// Returns what is wrong with the service's certificate, when that is why a connection failed.
pub(super) fn certificate_problem(error: &(dyn Error + 'static)) -> Option<String> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(rustls::Error::InvalidCertificate(problem)) = error.downcast_ref() {
            return Some(problem.to_string());
        }
        // An I/O error passes over what is inside it when asked for its source.
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        next = match inner {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_certificate_is_found_inside_other_errors() {
        let bad = rustls::Error::InvalidCertificate(rustls::CertificateError::Expired);
        let wrapped =
            anyhow::Error::new(io::Error::other(io::Error::new(io::ErrorKind::InvalidData, bad))).context("connecting");
        let other = io::Error::other("connection reset");

        assert!(
            certificate_problem(wrapped.as_ref())
                .is_some_and(|problem| problem.contains("Expired") || problem.contains("expired"))
        );
        assert_eq!(certificate_problem(&other), None);
    }

    #[test]
    fn both_sets_of_roots_make_a_config() {
        assert_eq!(config(Roots::BuiltIn).unwrap().alpn_protocols.len(), 2);
        assert!(config(Roots::WithMachine).is_ok());
    }
}
