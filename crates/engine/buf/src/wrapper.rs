//! A scheme around a scheme: what a wrapper does not change goes to the scheme behind it.
//!
//! wrapper-1. Every method of [`Scheme`] is in the table below. One that is missing would get the trait's default in a
//!     wrapper, and the scheme behind it would not learn of the event: a wrapped scheme would then behave unlike a bare
//!     one.

use crate::{
    Ahead, Answer, Boxed, BufRef, Cache, Held, ImageNo, Leave, LogFile, LogKind, Must, Op, Promises, Ready, Scheme,
    Sequence, Step, WhileLeaving,
};
use ordo_disk::Written;
use ordo_ondisk::Ino;
use ordo_rt::Time;
use ordo_vfs::Result;
use std::rc::Rc;

macro_rules! wrapper {
    ($(fn $name:ident(&self $(, $arg:ident: $ty:ty)*) $(-> $ret:ty)?;)*) => {
        /// A scheme that stands before another one. Its methods are those of [`Scheme`], and each calls the inner
        /// scheme's unless the wrapper has its own.
        #[allow(missing_docs, reason = "each method is documented in `Scheme`")]
        pub trait Wrapper {
            /// The type of the scheme behind it.
            type Inner: Scheme + ?Sized;

            /// The scheme behind it.
            fn inner(&self) -> &Self::Inner;

            $(fn $name(&self $(, $arg: $ty)*) $(-> $ret)? {
                self.inner().$name($($arg),*)
            })*
        }

        impl<W: Wrapper> Scheme for W {
            $(fn $name(&self $(, $arg: $ty)*) $(-> $ret)? {
                Wrapper::$name(self $(, $arg)*)
            })*
        }

        #[cfg(test)]
        const FORWARDED: &[&str] = &[$(stringify!($name)),*];
    };
}

wrapper! {
    fn name(&self) -> &'static str;
    fn declares(&self) -> Promises;
    fn wants_log(&self) -> Option<LogKind>;
    fn begin_log(&self, file: LogFile) -> Boxed<'static, Result<u64>>;
    fn wants_changes(&self) -> bool;
    fn will_change(&self, buf: &BufRef);
    fn wants_sync(&self) -> bool;
    fn is_moving(&self, dir: Ino) -> bool;
    fn begin(&self, cache: &Rc<Cache>, op: Op) -> Must;
    fn end(&self, cache: &Rc<Cache>, op: Op) -> Must;
    fn give_up(&self, cache: &Rc<Cache>, op: Op);
    fn look_ahead(&self, ino: Ino, ahead: Ahead);
    fn step(&self, cache: &Rc<Cache>, op: Op, step: Step<'_>) -> Answer;
    fn leaving(&self, cache: &Rc<Cache>, buf: &BufRef, image: ImageNo) -> Leave;
    fn sequence(&self, buf: &BufRef) -> Sequence;
    fn sent(&self, buf: &BufRef, written: &Written, fresh: bool) -> bool;
    fn ready(&self, cache: &Rc<Cache>, buf: &BufRef) -> Ready;
    fn landed(&self, cache: &Rc<Cache>, buf: &BufRef, image: ImageNo);
    fn discarded(&self, cache: &Rc<Cache>, buf: &BufRef);
    fn wants_flush(&self) -> bool;
    fn failed(&self, buf: &BufRef);
    fn while_leaving(&self) -> WhileLeaving;
    fn fsync(&self, cache: &Rc<Cache>, ino: Ino, inode: &BufRef, data_only: bool) -> Must;
    fn sync(&self, cache: &Rc<Cache>) -> Must;
    fn tick(&self, cache: &Rc<Cache>, now: Time);
    fn counters(&self) -> Vec<(&'static str, u64)>;
    fn explain(&self, cache: &Rc<Cache>, buf: &BufRef) -> Vec<Held>;
}

#[cfg(test)]
mod tests {
    use super::FORWARDED;

    /// wrapper-1, read from the trait's own text.
    #[test]
    fn every_method_of_a_scheme_is_forwarded() {
        let text = include_str!("scheme.rs");
        let of_trait = text.split_once("pub trait Scheme {").expect("it is there").1;
        let of_trait = of_trait.split_once("\n}\n").expect("it ends").0;
        let methods = of_trait.lines().filter_map(|line| line.strip_prefix("    fn ")?.split('(').next());
        assert_eq!(methods.collect::<Vec<_>>(), FORWARDED);
    }
}
