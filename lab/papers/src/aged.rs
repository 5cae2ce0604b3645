//! A log-structured volume that was used for a while, before and after its cleaner: for the picture of segments.
//!
//! aged-1. The seed decides both: the volume is in memory, and time is virtual.

use crate::error::{LabError, Result};
use ordo_vfs::{Caller, FileSystem};
use ordo_workload::random::{Op, Outcome, Player};
use ordofs::disk::{Disk, RamDisk};
use ordofs::rt::{Rng, Rt};
use ordofs::{LfsSegments, MountOptions, Mounted, NewLfs, locate_on};
use std::rc::Rc;
use std::time::Duration;

/// Bytes of the volume and of a segment.
const SIZE: u64 = 64 << 20;
const SEGMENT: u32 = 256 << 10;
/// Files, the rounds in which some of them are written anew, and how many of them in a round.
const FILES: u64 = 400;
const ROUNDS: u64 = 12;
const AGAIN: u64 = 24;

/// The segments of the aged volume, and after it was cleaned.
///
/// # Errors
/// The volume fails.
pub fn aged_log(seed: u64) -> Result<[LfsSegments; 2]> {
    let rt = Rt::virtual_time(seed);
    let disk: Rc<dyn Disk> = Rc::new(RamDisk::new(SIZE));
    NewLfs::new(SIZE).with(|of| (of.segment, of.now, of.ident) = (Some(SEGMENT), 946_684_800, 1)).create_on(
        &rt,
        disk.clone(),
        false,
    )?;
    let mounted = mount(&rt, &disk)?;
    let used = rt.block_on(age(&rt, &mounted, seed));
    used.and(rt.block_on(mounted.unmount()).map_err(LabError::from))?;
    let before = mount(&rt, &disk)?;
    let (first, cleaned) = (segments(&before), rt.block_on(before.clean()));
    cleaned.map_err(LabError::from).and(rt.block_on(before.unmount()).map_err(LabError::from))?;
    let after = mount(&rt, &disk)?;
    let second = segments(&after);
    rt.block_on(after.unmount())?;
    rt.drop_tasks();
    Ok([first?, second?])
}

fn mount(rt: &Rt, disk: &Rc<dyn Disk>) -> Result<Mounted> {
    Ok(rt.block_on(Mounted::mount(rt, locate_on(rt, disk.clone())?, &MountOptions::default()))?)
}

fn segments(mounted: &Mounted) -> Result<LfsSegments> {
    mounted.lfs_segments().ok_or_else(|| LabError::Program("the aged volume is no log".to_owned()))
}

/// Writes files of different sizes, removes every third, and then writes some anew in rounds: a few of them often.
async fn age(rt: &Rt, mounted: &Mounted, seed: u64) -> Result<()> {
    let (fs, mut rng) = (&**mounted.fs(), Rng::new(seed));
    let mut player = Player::new(fs, Caller { privileged: true, ..Caller::default() });
    for n in 0..FILES {
        make(&mut player, &mut rng, n).await?;
    }
    fs.syncfs().await?;
    for n in (0..FILES).step_by(3) {
        apply(&mut player, &format!("unlink /f{n}")).await?;
    }
    for _ in 0..ROUNDS {
        for _ in 0..AGAIN {
            // Most of what is written anew is one tenth of the files.
            let most = if rng.chance(9, 10) { FILES / 10 } else { FILES };
            let n = rng.below(most) / 3 * 3 + 1;
            apply(&mut player, &format!("unlink /f{n}")).await?;
            make(&mut player, &mut rng, n).await?;
        }
        fs.syncfs().await?;
        rt.sleep(Duration::from_secs(60)).await;
    }
    Ok(())
}

async fn make<F: FileSystem>(player: &mut Player<'_, F>, rng: &mut Rng, n: u64) -> Result<()> {
    let bytes = rng.range(2 << 10, 160 << 10);
    apply(player, &format!("create /f{n}")).await?;
    apply(player, &format!("write /f{n} 0 {bytes} {n}")).await
}

async fn apply<F: FileSystem>(player: &mut Player<'_, F>, line: &str) -> Result<()> {
    let op: Op = line.parse().map_err(|_| LabError::Program(format!("{line}: is no call")))?;
    match player.apply(&op).await {
        Outcome::Refused(why) => Err(LabError::Program(format!("{line}: {why:?}"))),
        Outcome::Failed(why) => Err(LabError::Program(format!("{line}: {why}"))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cleaning_an_aged_volume_makes_segments_clean_and_loses_nothing() {
        let [before, after] = aged_log(1).unwrap();
        let clean = |of: &LfsSegments| of.usage.iter().filter(|usage| usage.flags.0 & 2 == 0).count();
        let live = |of: &LfsSegments| of.usage.iter().map(|usage| u64::from(usage.nbytes)).sum::<u64>();
        assert!(clean(&after) > clean(&before) + 10, "{} {}", clean(&before), clean(&after));
        assert!(live(&before).abs_diff(live(&after)) < 1 << 20, "{} {}", live(&before), live(&after));
        let part = before.usage.iter().filter(|usage| (SEGMENT / 10..SEGMENT * 8 / 10).contains(&usage.nbytes));
        assert!(part.count() > 20);
        assert_eq!(aged_log(1).unwrap(), [before, after]);
    }
}
