//! Landlock and seccomp: a thread gives up what the policy does not grant, and what it starts has no more than it.
//!
//! Landlock decides about paths, TCP ports and signals, as far as the kernel knows how. Seccomp refuses what Landlock
//! does not know: every socket, modes, owners and times of files, other processes, and doors of the kernel that no
//! command needs (`filter.rs`). What an older kernel's Landlock lacks is refused by seccomp instead; a kernel without
//! cross-folder renames under Landlock (before ABI 2) has no sandbox.

use crate::filter;
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetStatus, Scope, path_beneath_rules,
};
use rustix::thread::{CapabilitySet, capability_is_in_bounding_set, remove_capability_from_bounding_set};
use scrubjay::tools::shell::sandbox::{Policy, Programs, Sandbox};
use std::io;
use std::path::PathBuf;

/// The kernel's own means.
#[derive(Debug, Clone, Copy)]
pub struct Linux {
    abi: ABI,
    /// What the kernel says, which may be newer than what is used here.
    kernel: i32,
}

/// The newest abilities that are used here.
const NEWEST: ABI = ABI::V6;
/// The fewest that are enough.
const OLDEST: ABI = ABI::V2;

impl Linux {
    /// What this kernel can do, found out on a thread that gives itself up for it.
    pub fn detect() -> Result<Self, String> {
        let probe = std::thread::spawn(|| -> Result<Self, String> {
            let created = Ruleset::default().handle_access(AccessFs::from_all(OLDEST)).and_then(Ruleset::create);
            let status = created.and_then(|rules| rules.restrict_self()).map_err(|error| error.to_string())?;
            let (abi, kernel) = match status.landlock {
                LandlockStatus::Available { effective_abi, kernel_abi } => {
                    (effective_abi, kernel_abi.unwrap_or(effective_abi as i32))
                }
                LandlockStatus::NotEnabled => return Err("Landlock is switched off in this kernel".to_owned()),
                LandlockStatus::NotImplemented => return Err("this kernel has no Landlock".to_owned()),
            };
            if abi < OLDEST {
                return Err(format!(
                    "this kernel's Landlock is too old: ABI {kernel}, and {} is needed",
                    OLDEST as i32
                ));
            }
            let found = Self { abi: abi.min(NEWEST), kernel };
            filter::apply(&Policy::default(), found.features()).map_err(|error| format!("no seccomp: {error}"))?;
            Ok(found)
        });
        probe.join().unwrap_or_else(|_| Err("the kernel could not be asked".to_owned()))
    }

    /// The same as an older kernel would have it, for tests.
    pub fn as_of(self, abi: i32) -> Self {
        let known = [ABI::V2, ABI::V3, ABI::V4, ABI::V5, ABI::V6];
        let abi = known.into_iter().rfind(|known| *known as i32 <= abi).unwrap_or(OLDEST);
        Self { abi: abi.min(self.abi), kernel: abi as i32 }
    }

    fn features(self) -> filter::Missing {
        filter::Missing { truncate: self.abi < ABI::V3, signals: self.abi < ABI::V6 }
    }

    fn restrict(self, policy: &Policy) -> Result<(), String> {
        let said = |error: landlock::RulesetError| error.to_string();
        let mut rules = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(self.abi))
            .map_err(said)?;
        if self.abi >= ABI::V4 {
            rules = rules.handle_access(AccessNet::from_all(self.abi)).map_err(said)?;
        }
        if self.abi >= ABI::V6 {
            rules = rules.scope(Scope::from_all(self.abi)).map_err(said)?;
        }
        let mut rules = rules.create().map_err(said)?;
        for (paths, access) in self.grants(policy) {
            rules = rules.add_rules(path_beneath_rules(paths, access)).map_err(said)?;
        }
        let status = rules.restrict_self().map_err(said)?;
        match (status.ruleset, status.no_new_privs) {
            (RulesetStatus::FullyEnforced, true) => Ok(()),
            other => Err(format!("the kernel enforces only part of it: {other:?}")),
        }
    }

    /// Which rights on which paths. Devices are made by nobody.
    fn grants(self, policy: &Policy) -> Vec<(&[PathBuf], BitFlags<AccessFs>)> {
        let look = AccessFs::ReadFile | AccessFs::ReadDir;
        let made = AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::MakeSock;
        let mut change = AccessFs::from_all(self.abi) & !made & !AccessFs::Execute;
        if self.abi >= ABI::V5 {
            change.remove(AccessFs::IoctlDev);
        }
        let run: BitFlags<AccessFs> = AccessFs::Execute.into();
        let mut grants = vec![
            (policy.read.as_slice(), look),
            (policy.list.as_slice(), AccessFs::ReadDir.into()),
            (policy.write.as_slice(), look | change),
        ];
        match &policy.programs {
            Programs::Only(programs) => grants.push((programs, run | AccessFs::ReadFile)),
            Programs::Any => grants.extend([(policy.read.as_slice(), run), (policy.write.as_slice(), run)]),
        }
        grants
    }
}

/// What root may keep: whatever is about files, which Landlock decides.
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::DAC_READ_SEARCH)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID);

/// A command that root starts is not root: some rights of root's go around Landlock, such as looking into the environment of any
/// process. Nobody else has them to begin with.
fn give_up_rights() -> Result<(), String> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    for right in CapabilitySet::all().difference(KEPT).iter() {
        // A right that the kernel does not know is not there.
        if capability_is_in_bounding_set(right) == Ok(true) {
            remove_capability_from_bounding_set(right).map_err(|error| format!("a right of root stays: {error}"))?;
        }
    }
    Ok(())
}

impl Sandbox for Linux {
    fn enter(&self, policy: &Policy) -> io::Result<()> {
        let refused = |reason: String| io::Error::other(format!("the sandbox could not be set up ({reason})"));
        give_up_rights().map_err(refused)?;
        self.restrict(policy).map_err(refused)?;
        filter::apply(policy, self.features()).map_err(refused)
    }

    fn name(&self) -> String {
        format!("Landlock ABI {} and seccomp", self.kernel)
    }
}
