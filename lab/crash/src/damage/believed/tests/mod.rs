//! Which structures are found, and which sums are made right.

use super::*;
use std::collections::BTreeMap;

/// How many structures of each class a kind of volume has.
fn classes(base: &Base) -> BTreeMap<&'static str, usize> {
    base.classes.iter().map(|class| (base.structures[class[0]].class, class.len())).collect()
}

#[test]
fn the_sums_of_an_undamaged_volume_are_right() {
    for variant in &VARIANTS {
        let base = variant.base().unwrap();
        let mut fixes = base.structures.iter().flat_map(|structure| &structure.fixes);
        assert!(fixes.all(|fix| fix.holds(&base.ram)), "{}", variant.name);
        let nothing = Harm(Vec::new()).image(&base);
        assert_eq!(xxh3_128(&nothing.to_vec()), xxh3_128(&base.ram.to_vec()), "{}", variant.name);
        let found = classes(&base);
        println!("{}: {found:?}", variant.name);
        // Nothing is missed: what a kind of volume must have, was found.
        let must: &[&str] = match variant.name {
            name if name.starts_with("ufs") => &["superblock", "group", "inode", "indirect block", "directory"],
            name if name.starts_with("suj") => &["journal segment", "inode"],
            "file1be" => &["log superblock"],
            name if name.starts_with("file") || name.starts_with("wafs") => &["log superblock", "log record"],
            name if name.starts_with("block") => &["descriptor", "commit", "logged block", "log superblock"],
            "active2be" => &["root of the map", "page of the map"],
            name if name.starts_with("active") => &["root of the map", "descriptor", "commit", "logged block"],
            _ => &["superblock", "segment summary", "ifile", "inode block", "indirect block", "directory"],
        };
        assert!(must.iter().all(|class| found.contains_key(class)), "{}: {found:?}", variant.name);
    }
}

#[test]
fn sums_of_each_form_are_known() {
    let with = |name: &str, class: &str| {
        let base = VARIANTS.iter().find(|variant| variant.name == name).unwrap().base().unwrap();
        let of_class = base.structures.iter().filter(|structure| structure.class == class);
        of_class.map(|structure| structure.fixes.len()).max().unwrap()
    };
    let known = [
        ("ufs2le", "superblock"),
        ("ufs2be", "group"),
        ("ufs2le", "inode"),
        ("wafs1le", "log record"),
        ("block2le", "logged block"),
        ("block2le", "commit"),
        ("active2be", "page of the map"),
        ("lfs1le", "superblock"),
        ("lfs2be", "ifile"),
        ("lfs64le", "inode block"),
    ];
    let sums = known.map(|(name, class)| with(name, class));
    // A logged block is summed in its descriptor, that in the commit; a page in its root; each block of a partial
    // segment in its summary, with a seal. A commit's own sum comes with that of its transaction.
    assert!(sums.iter().zip([1, 1, 1, 1, 4, 3, 3, 1, 3, 3]).all(|(is, least)| *is >= least), "{sums:?}");
}

#[test]
fn an_id_names_its_image_again() {
    let id: ImageId = "lfs2be:7:12".parse().unwrap();
    assert_eq!(id.to_string(), "lfs2be:7:12");
    let ((one, said), (again, _)) = (id.bytes().unwrap(), id.bytes().unwrap());
    assert!(one == again && !said.is_empty());
    for bad in ["lfs2be:7", "lfs3:1:1", "lfs2be:x:1"] {
        assert!(bad.parse::<ImageId>().is_err(), "{bad}");
    }
}
