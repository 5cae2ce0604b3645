//! Mounting what is on an open disk: its one writer is this one first, and then its layout decides.

use super::Mounted;
use super::ufs::Schemes;
use crate::claim;
use crate::found::Found;
use crate::located::Located;
use crate::options::{LFS_SCHEME, default_scheme, scheme_of_flags};
use crate::{MountOptions, OpenError};
use ordo_buf::Scheme;
use ordo_disk::fence::Claim;
use ordo_rt::Rt;
use std::rc::Rc;

impl Mounted {
    /// Mounts a volume on a disk that is already open.
    ///
    /// # Errors
    /// See [`Mounted::open`].
    pub async fn mount(rt: &Rt, located: Located, options: &MountOptions) -> Result<Mounted, OpenError> {
        if options.read_only || located.disk.info().read_only {
            claim::warned(&located, &options.notices).await;
            return Mounted::mount_claimed(rt, located, options).await;
        }
        let mut located = claim::claimed(rt, located, "ordo mount", &options.notices).await?;
        let claim = located.claim.take();
        match Mounted::mount_claimed(rt, located, options).await {
            Ok(mounted) => Ok(mounted.keeping(claim).await),
            Err(error) => {
                claim::given_back(claim.as_ref()).await;
                Err(error)
            }
        }
    }

    /// The mount that has claimed its volume.
    async fn keeping(self, claim: Option<Claim>) -> Mounted {
        let health = self.cache.health().clone();
        if health.is_read_only() {
            // It will not write, and keeps nobody from repairing the volume.
            claim::given_back(claim.as_ref()).await;
            return self;
        }
        if let Some(claim) = &claim {
            claim.on_lost(move |error| health.degrade(ordo_vfs::Error::io(error)));
        }
        Mounted { claim, ..self }
    }

    async fn mount_claimed(rt: &Rt, located: Located, options: &MountOptions) -> Result<Mounted, OpenError> {
        let scheme = match &located.found {
            Found::Ufs(_) if options.cleaner.is_some() => return Err(OpenError::NoCleaner),
            Found::Ufs(found) => make_scheme(options, &default_scheme(&found.superblock))?,
            Found::Lfs(_) if options.quotas.of_files() => {
                return Err(ordo_vfs::Error::io("a log-structured volume has no quotas").into());
            }
            Found::Lfs(_) => return Mounted::mount_lfs(rt, located, options, None).await,
        };
        // A damaged journal of copies must not keep everybody from a volume that has all its bytes at home.
        let instead = match options.scheme {
            None => Some(make_scheme(options, scheme_of_flags(&located.found.ufs()?.superblock))?),
            Some(_) => None,
        };
        let schemes = Schemes { wanted: scheme, instead };
        Mounted::mount_ufs(rt, located, schemes, options, Some(options.quotas)).await
    }
}

fn make_scheme(options: &MountOptions, default: &str) -> Result<Rc<dyn Scheme>, OpenError> {
    let name = options.scheme.as_deref().unwrap_or(default);
    if name == LFS_SCHEME {
        return Err(OpenError::OnlyLfs);
    }
    let known = ordo_schemes::by_name(name).ok_or_else(|| OpenError::NoScheme(name.into()))?;
    Ok(known.make(options.settings.clone())?)
}
