//! Why an export cannot be opened.

/// Why an export could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NbdError {
    /// The address is not valid.
    #[error("not an address of the form nbd://host[:port]/export or nbd+unix:///export?socket=/path")]
    Url,
    /// A parameter of the address is not valid.
    #[error("the parameter {parameter} of the address: {why}")]
    Parameter {
        /// As it stands there.
        parameter: String,
        /// What it should be.
        why: &'static str,
    },
    /// This client was built without encryption.
    #[error("nbds:// asks for TLS, which this build does not have: use nbd:// through a tunnel (ssh -L, stunnel)")]
    NoTls,
    /// The server takes only encrypted connections.
    #[error("the server takes only encrypted connections: use nbds:// (docs/nbd.md says which certificates it takes)")]
    OnlyTls,
    /// The server does not encrypt.
    #[error("the server does not encrypt (code {code:#x}): give it a certificate, or use nbd://")]
    ServerWithoutTls {
        /// What it answered.
        code: u32,
    },
    /// The connection could not be encrypted.
    #[error("TLS: {0}")]
    Tls(String),
    /// No connection, or it broke.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The server does not speak the protocol.
    #[error("the server breaks the protocol: {what} is {found:#x}")]
    Protocol {
        /// The field.
        what: &'static str,
        /// Its value.
        found: u64,
    },
    /// The server refuses the export.
    #[error("the server refuses the export (code {code:#x}): {text}")]
    Refused {
        /// The error of the protocol.
        code: u32,
        /// The server's text.
        text: String,
    },
}
