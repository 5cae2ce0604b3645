//! Whether two superblocks are copies of one.
//!
//! A newer kernel rewrites the first superblock of a UFS1 volume in today's form, with wide fields, and leaves the
//! copies in the groups as an older newfs wrote them. So of two in different forms only what both have is compared.

use super::fields::SbFields;
use super::{Dialect, Superblock};

/// A field: its name, and its value in two superblocks.
pub type Difference = (&'static str, i64, i64);

/// The fields that never change, in every form.
fn geometry(f: &SbFields) -> [(&'static str, i64); 32] {
    [
        ("fs_magic", f.magic.into()),
        ("fs_sblkno", f.sblkno.into()),
        ("fs_cblkno", f.cblkno.into()),
        ("fs_iblkno", f.iblkno.into()),
        ("fs_dblkno", f.dblkno.into()),
        ("fs_ncg", f.ncg.into()),
        ("fs_bsize", f.bsize.into()),
        ("fs_fsize", f.fsize.into()),
        ("fs_frag", f.frag.into()),
        ("fs_bmask", f.bmask.into()),
        ("fs_fmask", f.fmask.into()),
        ("fs_bshift", f.bshift.into()),
        ("fs_fshift", f.fshift.into()),
        ("fs_fragshift", f.fragshift.into()),
        ("fs_fsbtodb", f.fsbtodb.into()),
        ("fs_sbsize", f.sbsize.into()),
        ("fs_nindir", f.nindir.into()),
        ("fs_inopb", f.inopb.into()),
        ("fs_cssize", f.cssize.into()),
        ("fs_cgsize", f.cgsize.into()),
        ("fs_ipg", f.ipg.into()),
        ("fs_fpg", f.fpg.into()),
        ("fs_size", f.size),
        ("fs_csaddr", f.csaddr),
        ("fs_old_cgoffset", f.old_cgoffset.into()),
        ("fs_old_cgmask", f.old_cgmask.into()),
        ("fs_contigsumsize", f.contigsumsize.into()),
        ("fs_maxsymlinklen", f.maxsymlinklen.into()),
        ("fs_old_inodefmt", f.old_inodefmt.into()),
        ("fs_old_postblformat", f.old_postblformat.into()),
        ("fs_old_cpg", f.old_cpg.into()),
        ("fs_old_nrpos", f.old_nrpos.into()),
    ]
}

/// What tells which system keeps the volume.
fn form(sb: &Superblock) -> [(&'static str, i64); 3] {
    let both = matches!(sb.dialect, Dialect::FreeBsd | Dialect::NetBsd);
    [
        ("fs_old_flags", i64::from(sb.fields.old_flags & 0x80)),
        // FreeBSD and NetBSD mount each other's volumes, and set their flags in the primary only.
        ("fs_flags of unknown meaning", sb.features().unknown.into()),
        ("dialect", i64::from(!both)),
    ]
}

impl Superblock {
    /// The first field that never changes and differs from that of `other`; `None` if they are copies of one.
    pub fn difference(&self, other: &Superblock) -> Option<Difference> {
        let fixed = geometry(&self.fields).into_iter().zip(geometry(&other.fields));
        let same_form = self.has_wide_fields() == other.has_wide_fields();
        let form = form(self).into_iter().zip(form(other)).filter(|_| same_form);
        fixed.chain(form).map(|(a, b)| (a.0, a.1, b.1)).find(|&(_, a, b)| a != b)
    }

    /// This superblock with the geometry of `other`, which may have an older form; `None` if that makes none. It is not
    /// marked clean.
    pub fn with_geometry_of(&self, other: &Superblock) -> Option<Superblock> {
        let mut sb = self.clone();
        let (to, from) = (&mut sb.fields, &other.fields);
        (to.sblkno, to.cblkno, to.iblkno, to.dblkno) = (from.sblkno, from.cblkno, from.iblkno, from.dblkno);
        (to.ncg, to.bsize, to.fsize, to.frag) = (from.ncg, from.bsize, from.fsize, from.frag);
        (to.bmask, to.fmask, to.qbmask, to.qfmask) = (from.bmask, from.fmask, from.qbmask, from.qfmask);
        (to.bshift, to.fshift, to.fragshift, to.fsbtodb) = (from.bshift, from.fshift, from.fragshift, from.fsbtodb);
        (to.nindir, to.inopb, to.cssize, to.cgsize) = (from.nindir, from.inopb, from.cssize, from.cgsize);
        (to.ipg, to.fpg, to.size, to.dsize, to.csaddr) = (from.ipg, from.fpg, from.size, from.dsize, from.csaddr);
        (to.old_size, to.old_dsize, to.old_csaddr) = (from.old_size, from.old_dsize, from.old_csaddr);
        (to.old_cgoffset, to.old_cgmask, to.old_ncyl) = (from.old_cgoffset, from.old_cgmask, from.old_ncyl);
        (to.old_cpg, to.old_nrpos, to.old_postblformat) = (from.old_cpg, from.old_nrpos, from.old_postblformat);
        (to.contigsumsize, to.maxsymlinklen, to.old_inodefmt) =
            (from.contigsumsize, from.maxsymlinklen, from.old_inodefmt);
        (to.maxbsize, to.clean) = (from.maxbsize, 0);
        Superblock::decode_whatever_the_hash(&sb.encode_copy(sb.at), sb.at).ok()
    }
}
