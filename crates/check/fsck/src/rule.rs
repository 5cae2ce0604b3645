//! What every finding tells: its name, the rule that is broken, and how severe that is.

/// Whether an unattended check may repair a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// A crash leaves this, and the repair loses nothing: `-p` repairs it.
    Preen,
    /// Damage that needs a decision of the user: `-p` stops, `-y` repairs it.
    Manual,
}

macro_rules! findings {
    ($(#[$what:meta])+ $all:ident: $( $(#[$doc:meta])+ $name:ident { $($field:ident: $type:ty),* }, $rule:literal, $severity:ident, $text:literal; )*) => {
        $(#[$what])+
        #[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
        #[non_exhaustive]
        #[allow(missing_docs)]
        pub enum $all {
            $( $(#[$doc])+ #[error($text)] $name { $($field: $type),* }, )*
        }

        impl $all {
            /// Every kind, by name.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name)),*];

            /// The kind, by name.
            pub fn name(&self) -> &'static str {
                if let Some((name, ..)) = self.inner() {
                    return name;
                }
                match self { $( $all::$name { .. } => stringify!($name), )* }
            }

            /// The rule that is broken, by its number in `docs/fsck.md`.
            pub fn rule(&self) -> u8 {
                if let Some((_, rule, _)) = self.inner() {
                    return rule;
                }
                match self { $( $all::$name { .. } => $rule, )* }
            }

            /// The severity, where the situation does not change it.
            pub fn severity(&self) -> Severity {
                if let Some((.., severity)) = self.inner() {
                    return severity;
                }
                match self { $( $all::$name { .. } => Severity::$severity, )* }
            }
        }
    };
}
pub(crate) use findings;

/// Name, rule and severity of a finding that another one holds.
pub(crate) type Inner = (&'static str, u8, Severity);
