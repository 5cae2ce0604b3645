//! `--set`: settings of the scheme, the volume and the exploration.

use crate::out::usage;
use crate::scheme_set::{self, SchemeSet};
use crate::size;
use ordo_crash::{Device, LogShape, Plan, Shape, Subject};
use ordo_workload::script::random::{Ground, PROFILES, Profile};
use ordofs::ondisk::lfs::Version;
use ordofs::ondisk::{Endian, Format};
use ordofs::schemes::Settings;

/// The settings that were given; the others keep their defaults.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Set {
    scheme: SchemeSet,
    size: Option<u64>,
    bsize: Option<u32>,
    fsize: Option<u32>,
    format: Option<Format>,
    version: Option<Version>,
    endian: Option<Endian>,
    profile: Option<Profile>,
    steer: Option<bool>,
    pauses: Option<bool>,
    recovery: Option<u32>,
    exhaustive: Option<usize>,
    through_nbd: bool,
}

/// The keys in addition to those of the scheme.
const KEYS: &str = "size, bsize, fsize, format, version, endian, profile, steer, pauses, recovery, exhaustive, \
                    through";

/// Maximum number of writes of which every subset may be tried: 2^20 states at one cut.
const EXHAUSTIVE_MAX: usize = 20;

impl Set {
    /// Parses `KEY=VALUE`, several between commas.
    ///
    /// # Errors
    /// Wrong usage, with the possible values.
    pub(super) fn read(lists: &[String]) -> anyhow::Result<Set> {
        let mut set = Set::default();
        scheme_set::each(lists, |key, value| set.one(key, value))?;
        Ok(set)
    }

    fn one(&mut self, key: &str, value: &str) -> Result<(), String> {
        let number = || value.parse().map_err(|_| "must be a number".to_owned());
        match key {
            "size" => self.size = Some(size::parse(value)?),
            "bsize" => self.bsize = Some(size::parse_u32(value)?),
            "fsize" => self.fsize = Some(size::parse_u32(value)?),
            "format" => {
                self.format = Some(match value {
                    "ufs1" => Format::Ufs1,
                    "ufs2" => Format::Ufs2,
                    _ => return Err("must be ufs1 or ufs2".into()),
                });
            }
            "version" => {
                self.version = Some(match value {
                    "1" => Version::V1,
                    "2" => Version::V2,
                    "64" => Version::Lfs64,
                    _ => return Err("must be 1, 2 or 64".into()),
                });
            }
            "endian" => {
                self.endian = Some(match value {
                    "little" => Endian::Little,
                    "big" => Endian::Big,
                    _ => return Err("must be little or big".into()),
                });
            }
            "profile" => self.profile = profile(value)?,
            "pauses" => self.pauses = Some(yes_or_no(value)?),
            "steer" => self.steer = Some(yes_or_no(value)?),
            "through" => {
                self.through_nbd = match value {
                    "nbd" => true,
                    "none" => false,
                    _ => return Err("must be nbd or none".into()),
                };
            }
            "recovery" => self.recovery = Some(number()?),
            "exhaustive" => {
                let writes = value.parse().ok().filter(|writes| *writes <= EXHAUSTIVE_MAX);
                self.exhaustive = Some(writes.ok_or(format!("must be a number up to {EXHAUSTIVE_MAX}"))?);
            }
            _ => match self.scheme.one(key, value) {
                Some(set) => set?,
                None => return Err(format!("there is no {key:?}; there are: {}, {KEYS}", scheme_set::KEYS)),
            },
        }
        Ok(())
    }

    /// Sets a subject, and how much of it is tried.
    pub(super) fn apply_all(&self, plan: &mut Plan) {
        self.apply(&mut plan.subject);
        put(self.pauses, &mut plan.pauses);
        put(self.steer, &mut plan.budget.steered);
        put(self.recovery, &mut plan.budget.recovery_cuts);
        put(self.exhaustive, &mut plan.budget.exhaustive);
    }

    /// Sets a subject alone.
    pub(super) fn apply(&self, subject: &mut Subject) {
        let without = std::mem::take(&mut subject.settings.without);
        subject.settings = Settings { without, ..self.scheme.settings.clone() };
        subject.separate_log |= self.scheme.separate_log;
        subject.stream |= self.scheme.stream;
        subject.through_nbd |= self.through_nbd;
        put(self.size, &mut subject.shape.size);
        put(self.bsize, &mut subject.shape.bsize);
        put(self.fsize, &mut subject.shape.fsize);
        put(self.format, &mut subject.shape.format);
        put(self.endian, &mut subject.shape.endian);
        subject.shape = self.log(subject.shape.clone());
    }

    /// The disks are behind the NBD client.
    pub(super) fn is_through_nbd(&self) -> bool {
        self.through_nbd
    }

    /// The profile of random scripts; `None`: all profiles in turn.
    pub(super) fn profile(&self) -> Option<Profile> {
        self.profile
    }

    /// The volume of a random script: the settings given here, and the rest by the script's seed.
    pub(super) fn ground(&self, seed: u64, device: &Device) -> Ground {
        let usual = Shape::small(device);
        let mut ground = Ground::of(seed, device.sector.into());
        if self.bsize.is_some() || self.fsize.is_some() {
            ground.block = self.bsize.unwrap_or(usual.bsize).into();
            ground.frag = self.fsize.unwrap_or(usual.fsize).into();
        }
        ground.size = self.size.unwrap_or(ground.size);
        ground.ufs1 = self.format.map_or(ground.ufs1, |format| format == Format::Ufs1);
        ground.big_endian = self.endian.map_or(ground.big_endian, |endian| endian == Endian::Big);
        ground
    }

    /// Refuses what a log-structured volume does not have.
    ///
    /// # Errors
    /// Wrong usage.
    pub(super) fn check_for_log(&self) -> anyhow::Result<()> {
        let of_scheme = self.scheme.settings.said().into_iter().next();
        let separate = self.scheme.separate_log.then(|| "log=separate".to_owned());
        let format = self.format.map(|_| "format=".to_owned());
        match of_scheme.or(separate).or(format) {
            Some(set) => Err(usage(format!("--set {set}: is for UFS volumes only; leave it out"))),
            None => Ok(()),
        }
    }

    /// A log-structured volume of the form given here.
    pub(super) fn log(&self, shape: Shape) -> Shape {
        let log = shape.log.map(|log| LogShape { version: self.version.unwrap_or(log.version), ..log });
        Shape { log, ..shape }
    }

    /// UFS1 has no extended attributes.
    pub(super) fn has_attributes(&self) -> bool {
        self.format != Some(Format::Ufs1)
    }
}

fn put<T: Copy>(value: Option<T>, to: &mut T) {
    *to = value.unwrap_or(*to);
}

fn yes_or_no(value: &str) -> Result<bool, String> {
    match value {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err("must be yes or no".into()),
    }
}

/// A profile by name, or `all`.
fn profile(name: &str) -> Result<Option<Profile>, String> {
    let known = || PROFILES.map(|(_, name, _)| name).join(", ");
    match Profile::by_name(name) {
        None if name != "all" => Err(format!("must be one of: all, {}", known())),
        found => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ordofs::AllocInit;

    #[test]
    fn what_is_set_arrives_in_the_plan_and_nothing_else_changes() {
        let lists = ["allocinit=all,size=16M".to_owned(), "bsize=8k,fsize=1k,format=ufs1,pauses=yes".to_owned()];
        let device = ordo_crash::Device::by_name("sata").unwrap();
        let mut plan = Plan::new("sync", ordo_workload::script::find("create").unwrap(), device);
        Set::read(&lists).unwrap().apply_all(&mut plan);
        assert_eq!(
            (plan.subject.settings.alloc_init, plan.subject.shape.size, plan.pauses),
            (Some(AllocInit::All), 16 << 20, true)
        );
        assert_eq!(
            (plan.subject.shape.bsize, plan.subject.shape.fsize, plan.subject.shape.format),
            (8192, 1024, Format::Ufs1)
        );
        let usual = (plan.budget.recovery_cuts, plan.budget.exhaustive);
        Set::read(&[]).unwrap().apply_all(&mut plan);
        assert_eq!(
            (plan.budget.recovery_cuts, plan.budget.exhaustive, plan.subject.shape.bsize),
            (usual.0, usual.1, 8192)
        );
        Set::read(&["recovery=0,exhaustive=3,endian=big,steer=yes".to_owned()]).unwrap().apply_all(&mut plan);
        assert_eq!((plan.budget.recovery_cuts, plan.budget.exhaustive), (0, 3));
        assert_eq!((plan.subject.shape.endian, plan.budget.steered), (Endian::Big, true));
    }

    #[test]
    fn a_random_script_has_what_is_set_of_its_volume_and_the_rest_by_its_seed() {
        let device = Device::by_name("sata").unwrap();
        let own = |seed| Ground::of(seed, 512);
        let set = Set::read(&["format=ufs1,profile=sizes".to_owned()]).unwrap();
        assert_eq!((set.ground(3, device), set.profile()), (Ground { ufs1: true, ..own(3) }, Some(Profile::Sizes)));
        let set = Set::read(&["bsize=8k,fsize=1k,size=16M,endian=big,profile=all".to_owned()]).unwrap();
        let wanted = Ground { ufs1: own(3).ufs1, big_endian: true, size: 16 << 20, block: 8192, frag: 1024 };
        assert_eq!((set.ground(3, device), set.profile()), (wanted, None));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (option, named) in [
            ("allocinit=some", "none, dirs or all"),
            ("fast=1", "there are: allocinit, logmode"),
            ("size=much", "much"),
            ("pauses", "yes or no"),
            ("steer=often", "yes or no"),
            ("endian=middle", "little or big"),
            ("profile=fast", "all, sizes, names"),
            ("exhaustive=60", "up to 20"),
            ("through=tcp", "nbd or none"),
        ] {
            let error = Set::read(&[option.to_owned()]).unwrap_err().to_string();
            assert!(error.contains(named) && error.contains(option), "{error}");
        }
    }
}
