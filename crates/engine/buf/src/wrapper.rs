//! A scheme around a scheme: what a wrapper does not change goes to the scheme behind it.
//!
//! wrapper-1. Every method of [`Scheme`] is in the table below. One that is missing would get the trait's default in a
//!     wrapper, and the scheme behind it would not learn of the event: a wrapped scheme would then behave unlike a bare
//!     one. A wrapper hands on the inner scheme's capabilities, each as a whole (capability-3). Where the wrapper has
//!     one of the same kind, it offers its own instead.

use crate::{Answer, BufRef, Cache, Capabilities, ImageNo, Landing, Leave, Must, Op, Promises, Scheme, Step};
use ordo_ondisk::Ino;
use ordo_rt::Time;
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
            fn inner(&self) -> &Rc<Self::Inner>;

            /// The capabilities of the scheme behind it; a wrapper puts its own over them.
            fn capabilities(self: Rc<Self>) -> Capabilities {
                self.inner().clone().capabilities()
            }

            $(fn $name(&self $(, $arg: $ty)*) $(-> $ret)? {
                self.inner().$name($($arg),*)
            })*
        }

        impl<W: Wrapper> Scheme for W {
            fn capabilities(self: Rc<Self>) -> Capabilities {
                Wrapper::capabilities(self)
            }

            $(fn $name(&self $(, $arg: $ty)*) $(-> $ret)? {
                Wrapper::$name(self $(, $arg)*)
            })*
        }

        #[cfg(test)]
        const FORWARDED: &[&str] = &["capabilities", $(stringify!($name)),*];
    };
}

wrapper! {
    fn name(&self) -> &'static str;
    fn declares(&self) -> Promises;
    fn begin(&self, cache: &Rc<Cache>, op: Op) -> Must;
    fn step(&self, cache: &Rc<Cache>, op: Op, step: Step<'_>) -> Answer;
    fn end(&self, cache: &Rc<Cache>, op: Op) -> Must;
    fn cancelled(&self, cache: &Rc<Cache>, op: Op);
    fn leaving(&self, cache: &Rc<Cache>, buf: &BufRef, image: ImageNo) -> Leave;
    fn landed(&self, cache: &Rc<Cache>, buf: &BufRef, image: ImageNo);
    fn failed(&self, buf: &BufRef);
    fn fsync(&self, cache: &Rc<Cache>, ino: Ino, inode: &BufRef, news: &Landing) -> Must;
    fn sync(&self, cache: &Rc<Cache>) -> Must;
    fn tick(&self, cache: &Rc<Cache>, now: Time);
}

#[cfg(test)]
mod tests {
    use super::FORWARDED;
    use std::collections::BTreeSet;

    /// wrapper-1, read from the trait's own text.
    #[test]
    fn every_method_of_a_scheme_is_forwarded() {
        let text = include_str!("scheme.rs");
        let of_trait = text.split_once("pub trait Scheme {").expect("it is there").1;
        let of_trait = of_trait.split_once("\n}\n").expect("it ends").0;
        let methods = of_trait.lines().filter_map(|line| line.strip_prefix("    fn ")?.split('(').next());
        assert_eq!(methods.collect::<BTreeSet<_>>(), FORWARDED.iter().copied().collect());
    }
}
