//! Declares a small set of flags that keeps the bits it does not know (base-ondisk-3).

/// Declares a set of flags: a newtype of its integer with a constant for each flag.
macro_rules! flag_set {
    ($(#[$meta:meta])* pub struct $name:ident($int:ty) { $( $(#[$fmeta:meta])* $flag:ident = $value:literal, )* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub struct $name(pub $int);

        impl $name {
            $( $(#[$fmeta])* pub const $flag: $name = $name($value); )*

            /// `true` if all of `flags` are set.
            pub fn has(self, flags: $name) -> bool {
                self.0 & flags.0 == flags.0
            }

            /// With `flags` set.
            #[must_use]
            pub fn with(self, flags: $name) -> $name {
                $name(self.0 | flags.0)
            }

            /// With `flags` cleared.
            #[must_use]
            pub fn without(self, flags: $name) -> $name {
                $name(self.0 & !flags.0)
            }

            /// With `flags` set if `on`, else cleared.
            #[must_use]
            pub fn when(self, flags: $name, on: bool) -> $name {
                if on { self.with(flags) } else { self.without(flags) }
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let mut rest = self.0;
                let mut between = "";
                for (flag, name) in [$( ($value, stringify!($flag)), )*] {
                    if rest & flag != 0 {
                        write!(to, "{between}{name}")?;
                        between = "|";
                    }
                    rest &= !flag;
                }
                if rest != 0 || between.is_empty() { write!(to, "{between}{rest:#x}") } else { Ok(()) }
            }
        }
    };
}
pub(crate) use flag_set;
