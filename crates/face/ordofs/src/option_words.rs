//! Mount options as words: `ro,scheme=sync,cache=64M`, as `ordo mount -o` takes them.

use crate::{LFS_SCHEME, MountOptions};
use ordo_lfs::Policy;

/// The option that names a stream.
const STREAM: &str = "log=nats://";
const SUFFIXES: [char; 5] = ['k', 'M', 'G', 'T', 'P'];

/// Parses a size. `K`, `KiB` and `kB` mean the same as `k`, and so on.
///
/// # Errors
/// One line, for the user, about what is wrong with the text.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, suffix) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| format!("{text:?} is not a size; write 512, 64k, 1M, 2G or 1T"))?;
    let letter = suffix.strip_suffix("iB").or_else(|| suffix.strip_suffix('B')).unwrap_or(suffix);
    let power = match letter.chars().next() {
        None => 0,
        Some(c) if letter.len() == 1 => SUFFIXES
            .iter()
            .position(|known| known.eq_ignore_ascii_case(&c))
            .map(|index| index as u32 + 1)
            .ok_or_else(|| format!("{text:?} has no known suffix; use k, M, G, T or P"))?,
        Some(_) => return Err(format!("{text:?} has no known suffix; use k, M, G, T or P")),
    };
    number.checked_mul(1u64 << (10 * power)).ok_or_else(|| format!("{text:?} is more than 64 bits hold"))
}

/// The options in a list, which have commas between them. The commas between the servers of a stream
/// (`log=nats://a,b/LOG`) separate nothing.
pub fn split_options(list: &str) -> Vec<&str> {
    let (mut options, mut rest) = (Vec::new(), list);
    while !rest.is_empty() {
        // The servers end where the name of the stream begins.
        let servers = rest.strip_prefix(STREAM).and_then(|servers| servers.find('/')).map_or(0, |at| STREAM.len() + at);
        let end = rest[servers..].find(',').map_or(rest.len(), |at| servers + at);
        if end > 0 {
            options.push(&rest[..end]);
        }
        rest = rest.get(end + 1..).unwrap_or("");
    }
    options
}

/// The options of a list with commas between them.
///
/// ```
/// let options = ordofs::option_list("ro,scheme=sync,cache=64M")?;
/// assert!(options.read_only && options.scheme.as_deref() == Some("sync") && options.cache == 64 << 20);
/// assert_eq!(ordofs::option_list("fast").unwrap_err(), "unknown mount option \"fast\"");
/// # Ok::<(), String>(())
/// ```
///
/// # Errors
/// One line, for the user: an unknown option, or a value that it does not take.
pub fn option_list(list: &str) -> Result<MountOptions, String> {
    let mut options = MountOptions::default();
    for option in split_options(list) {
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (option, None),
        };
        let set = options.set_option(name, value).ok_or_else(|| format!("unknown mount option {option:?}"))?;
        set.map_err(|why| format!("mount option {option}: {why}"))?;
    }
    Ok(options)
}

impl MountOptions {
    /// Sets the option `name` of a volume; `None` if there is no such option with a value, or without one.
    ///
    /// # Errors
    /// Inside: what the value must be.
    pub fn set_option(&mut self, name: &str, value: Option<&str>) -> Option<Result<(), String>> {
        match value {
            None => self.set_flag(name).then_some(Ok(())),
            Some(value) => self.set_value(name, value),
        }
    }

    fn set_flag(&mut self, name: &str) -> bool {
        match name {
            "ro" => self.read_only = true,
            "rw" => self.read_only = false,
            "force" => self.force = true,
            "noatime" => self.noatime = true,
            "direct" => self.direct = true,
            _ => return false,
        }
        true
    }

    fn set_value(&mut self, name: &str, value: &str) -> Option<Result<(), String>> {
        let set = match name {
            "scheme" => self.set_scheme(value),
            "head" => yes_or_no(value).map(|moves| self.policy.near_head = Some(moves)),
            "cache" => parse_size(value).and_then(|bytes| {
                self.cache = usize::try_from(bytes).map_err(|_| "more than this machine has")?;
                Ok(())
            }),
            "cleaner" => Policy::by_name(value).ok_or_else(|| "must be greedy or cost-benefit".into()).map(|known| {
                self.cleaner = Some(known);
            }),
            "log" => {
                self.log = Some(value.into());
                Ok(())
            }
            "volatile_cache" => yes_or_no(value).map(|loses| self.volatile_cache = Some(loses)),
            _ => return self.settings.set(name, value).map(|set| set.map_err(str::to_owned)),
        };
        Some(set)
    }

    fn set_scheme(&mut self, name: &str) -> Result<(), String> {
        if name != LFS_SCHEME && ordo_schemes::by_name(name).is_none() {
            return Err(format!("no scheme is called {name:?}"));
        }
        self.scheme = Some(name.into());
        Ok(())
    }
}

fn yes_or_no(value: &str) -> Result<bool, String> {
    match value {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err("must be yes or no".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_of_a_stream_are_one_option() {
        let list = "ro,log=nats://u:p@a:1,b:2/LOG?timeout=5,,cache=16M,log=nats://x";
        assert_eq!(split_options(list), ["ro", "log=nats://u:p@a:1,b:2/LOG?timeout=5", "cache=16M", "log=nats://x"]);
        assert_eq!(split_options(",,"), Vec::<&str>::new());
    }

    #[test]
    fn each_option_arrives_and_a_wrong_one_is_named() {
        let all =
            "ro,force,noatime,direct,scheme=async,cache=16M,cleaner=greedy,log=/dev/vdb,volatile_cache=no,commit=5";
        let options = option_list(all).unwrap();
        assert!(options.read_only && options.force && options.noatime && options.direct);
        assert_eq!((options.scheme.as_deref(), options.cache), (Some("async"), 16 << 20));
        assert_eq!((options.cleaner, options.volatile_cache), (Some(Policy::Greedy), Some(false)));
        assert!(!option_list("ro,rw,").unwrap().read_only);
        for (list, named) in [
            ("fast", "unknown mount option \"fast\""),
            ("fast=1", "\"fast=1\""),
            ("ro=1", "unknown"),
            ("scheme=best", "scheme=best: no scheme"),
            ("cache=lots", "not a size"),
            ("cleaner=lazy", "greedy or cost-benefit"),
            ("volatile_cache=maybe", "yes or no"),
            ("commit=0", "commit=0: must"),
        ] {
            let said = option_list(list).unwrap_err();
            assert!(said.contains(named), "{list}: {said}");
        }
    }
}
