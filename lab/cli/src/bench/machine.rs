//! The machines around modelled drives.

use ordo_papers::Machine;

/// The machine around a modelled drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum MachineOf {
    /// A 33 MHz 486 with 44 MB and UNIX SVR4
    #[value(name = "1994")]
    Of1994,
    /// A SPARCstation 2 with 4.4BSD
    #[value(name = "1995")]
    Of1995,
    /// A 500 MHz Pentium III with 512 MB and FreeBSD of that year
    #[value(name = "2000")]
    Of2000,
    /// One whose CPU costs next to nothing
    Today,
}

impl MachineOf {
    /// The machine whose own drive this is; that of today for any other drive.
    pub(crate) fn with_drive(name: &str) -> MachineOf {
        match name {
            "hp_c2447" => MachineOf::Of1994,
            "dec_dsp3105" => MachineOf::Of1995,
            "seagate_cheetah_9gb_2000" => MachineOf::Of2000,
            _ => MachineOf::Today,
        }
    }

    /// The year of it.
    pub(crate) fn year(self) -> Option<u32> {
        match self {
            MachineOf::Of1994 => Some(1994),
            MachineOf::Of1995 => Some(1995),
            MachineOf::Of2000 => Some(2000),
            MachineOf::Today => None,
        }
    }

    /// It, with this drive.
    pub(super) fn machine(self, drive: &str) -> Machine {
        let drive = drive.to_owned();
        match self {
            MachineOf::Of1994 => Machine { drive, ..Machine::of_1994() },
            MachineOf::Of1995 => Machine { drive, ..Machine::of_1995() },
            MachineOf::Of2000 => Machine { drive, ..Machine::of_2000() },
            MachineOf::Today => Machine::today(&drive),
        }
    }
}
