//! The parameters of a program as a table: name, kind, default, and meaning with its unit, each said once.

use crate::parameters::{Parameter, Values};

/// What a table makes of a program's parameters.
pub trait Table: Sized {
    /// The parameters, with the defaults.
    fn parameters() -> Vec<Parameter>;

    /// The program with these values for all of its parameters.
    fn new(values: &Values) -> Self;
}

/// What a parameter may be: every value is given as a number.
pub(crate) trait Number {
    fn of(number: u64) -> Self;
    fn number(self) -> u64;
}

impl Number for u64 {
    fn of(number: u64) -> u64 {
        number
    }

    fn number(self) -> u64 {
        self
    }
}

impl Number for bool {
    fn of(number: u64) -> bool {
        number != 0
    }

    fn number(self) -> u64 {
        self.into()
    }
}

/// A struct with a field for each parameter. `..field: Type;` are all parameters of another table, which come first.
macro_rules! table {
    (
        $(#[$what:meta])*
        pub struct $name:ident {
            $($(#[$part_what:meta])* ..$part:ident: $of:ty;)*
            $($key:ident: $kind:ty = $default:expr, $says:literal;)*
        }
    ) => {
        $(#[$what])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $name {
            $($(#[$part_what])* pub $part: $of,)*
            $(#[doc = $says] pub $key: $kind,)*
        }

        impl Default for $name {
            fn default() -> $name {
                $name { $($part: <$of>::default(),)* $($key: $default,)* }
            }
        }

        impl $crate::table::Table for $name {
            fn parameters() -> Vec<$crate::Parameter> {
                [
                    $(<$of as $crate::table::Table>::parameters(),)*
                    vec![$($crate::Parameter::new(
                        stringify!($key),
                        <$kind as $crate::table::Number>::number($default),
                        $says,
                    ),)*],
                ]
                .concat()
            }

            fn new(values: &$crate::Values) -> $name {
                $name {
                    $($part: <$of as $crate::table::Table>::new(values),)*
                    $($key: $crate::table::Number::of(values.get(stringify!($key))),)*
                }
            }
        }
    };
}
