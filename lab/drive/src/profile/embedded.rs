//! The built-in profiles.

macro_rules! profiles {
    ($($name:literal),* $(,)?) => {
        /// Name and text of each, in alphabetical order.
        pub(super) const PROFILES: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../profiles/", $name, ".toml")))),*];
    };
}

profiles!(
    "cdc_wren_iv",
    "dec_dsp3105",
    "dec_rz26",
    "fujitsu_m2694exa",
    "hp_c2247a",
    "hp_c2249a",
    "hp_c2447",
    "hp_c2490a",
    "hp_c3323a",
    "ibm_18es",
    "nearline_sata_7200",
    "nvme_ssd_consumer",
    "nvme_ssd_plp",
    "nvram",
    "quantum_atlas_10k",
    "quantum_atlas_iii",
    "ram",
    "seagate_barracuda_st32171w",
    "seagate_cheetah_15k5",
    "seagate_cheetah_4lp",
    "seagate_cheetah_9gb_2000",
    "seagate_cheetah_9lp",
    "seagate_st41601n",
);

/// Name and content of each layout that a profile may name.
pub(super) const LAYOUTS: &[(&str, &[u8])] =
    &[("seagate_cheetah_15k5.layout.json.gz", include_bytes!("../../profiles/seagate_cheetah_15k5.layout.json.gz"))];
