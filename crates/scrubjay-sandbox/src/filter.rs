//! System calls that are refused. Landlock knows paths; this is the rest.
//!
//! Three programs, all of which must agree. The first refuses every call this list has never heard of: what is newer
//! than the list, and the second set of numbers that one processor has for the same calls. The second answers "there is no
//! such call", where programs know another way; the third "not permitted". Calls of another architecture end the process.

use libc::{SYS_fcntl, SYS_ioctl, c_long};
use scrubjay::tools::shell::sandbox::{Policy, Purpose};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Length, SeccompCmpOp as Op, SeccompCondition as Condition,
    SeccompFilter, SeccompRule as Rule, TargetArch, apply_filter, sock_filter,
};
use std::collections::BTreeMap;

/// What Landlock of this kernel cannot refuse, so that it is refused here.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Missing {
    pub(crate) truncate: bool,
    pub(crate) signals: bool,
}

/// Refuse, on this thread and in what it starts, for good.
pub(crate) fn apply(policy: &Policy, missing: Missing) -> Result<(), String> {
    for program in programs(policy.purpose, missing)? {
        apply_filter(&program).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn programs(purpose: Purpose, missing: Missing) -> Result<Vec<BpfProgram>, String> {
    let mut absent: Calls = ABSENT.iter().map(|call| (*call, Vec::new())).collect();
    if missing.truncate {
        absent.insert(libc::SYS_openat2, Vec::new());
    }
    Ok(vec![unheard_of(), program(absent, libc::ENOSYS)?, program(refused(purpose, missing)?, libc::EPERM)?])
}

type Calls = BTreeMap<c_long, Vec<Rule>>;

fn program(calls: Calls, errno: i32) -> Result<BpfProgram, String> {
    let said = |error: seccompiler::BackendError| error.to_string();
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(said)?;
    let errno = SeccompAction::Errno(errno.unsigned_abs());
    SeccompFilter::new(calls, SeccompAction::Allow, errno, arch).and_then(TryInto::try_into).map_err(said)
}

/// The last call of which this list knows what it does. Numbers from 424 on are the same on every processor.
const NEWEST: u32 = 459;

/// Every number above is a call that does not exist. The other set of numbers on x86-64 begins far above.
fn unheard_of() -> BpfProgram {
    let step =
        |code: u32, jt: u8, jf: u8, k: u32| sock_filter { code: u16::try_from(code).unwrap_or_default(), jt, jf, k };
    vec![
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JGT | libc::BPF_K, 0, 1, NEWEST),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs()),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ]
}

/// Calls that the C library does not name everywhere.
const FCHMODAT2: c_long = 452;
const KEXEC_FILE_LOAD: c_long = if cfg!(target_arch = "x86_64") { 320 } else { 294 };

/// Programs have another way, or do without.
const ABSENT: &[c_long] = &[
    // Its flags lie in memory, where no filter can look.
    libc::SYS_clone3,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
];

/// Nobody needs these to work on a project.
const NEVER: &[c_long] = &[
    // The network, and the sockets of other programs: the name of one in the file system is no path to Landlock.
    libc::SYS_socket,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_process_mrelease,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    // Memory and messages that are shared by name.
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semctl,
    libc::SYS_semtimedop,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_mq_timedsend,
    libc::SYS_mq_timedreceive,
    libc::SYS_mq_notify,
    libc::SYS_mq_getsetattr,
    // The shape of the file system, and files by number instead of path.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    // Namespaces, keys, and doors into the kernel.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_bpf,
    libc::SYS_userfaultfd,
    libc::SYS_perf_event_open,
    libc::SYS_personality,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    KEXEC_FILE_LOAD,
    libc::SYS_reboot,
    libc::SYS_syslog,
    libc::SYS_acct,
    libc::SYS_vhangup,
    // The machine's clock and name.
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_uselib,
];

/// Whoever only reads does without these, too.
const NOT_TO_READ: &[c_long] = &[
    // What Landlock does not count as writing.
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_utimensat,
    libc::SYS_truncate,
    libc::SYS_mknodat,
    libc::SYS_flock,
    libc::SYS_sync,
    libc::SYS_syncfs,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mknod,
    // Programs that are in no file.
    libc::SYS_memfd_create,
    libc::SYS_memfd_secret,
    libc::SYS_execveat,
    // Leaving the process group, which is stopped as a whole; other groups of processes.
    libc::SYS_setsid,
    libc::SYS_socketpair,
    libc::SYS_setpriority,
    libc::SYS_ioprio_set,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setattr,
];

/// Signals to anybody; only where Landlock cannot keep them among the command's own processes.
const SIGNALS: &[c_long] = &[
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_tgkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_pidfd_send_signal,
];

fn refused(purpose: Purpose, missing: Missing) -> Result<Calls, String> {
    let mut calls = Calls::new();
    let mut whole: Vec<c_long> = NEVER.to_vec();
    match purpose {
        Purpose::Reading => whole.extend(NOT_TO_READ),
        Purpose::Working => working(&mut calls)?,
    }
    if purpose == Purpose::Reading {
        reading(&mut calls)?;
    }
    if missing.signals {
        whole.extend(SIGNALS);
        for owner in [libc::F_SETOWN, F_SETOWN_EX] {
            when(&mut calls, SYS_fcntl, [is(1, owner)])?;
        }
    }
    if missing.truncate {
        whole.push(libc::SYS_truncate);
    }
    everywhere(&mut calls)?;
    // Without a rule the whole call is meant, so that these come last.
    calls.extend(whole.into_iter().map(|call| (call, Vec::new())));
    Ok(calls)
}

const F_SETOWN_EX: i32 = 15;

fn everywhere(calls: &mut Calls) -> Result<(), String> {
    // A file that is opened for reading and emptied while that happens.
    let emptied = u64::from((libc::O_TRUNC | libc::O_ACCMODE).unsigned_abs());
    let empties = |argument| flags(argument, emptied, u64::from(libc::O_TRUNC.unsigned_abs()));
    when(calls, libc::SYS_openat, [empties(2)])?;
    #[cfg(target_arch = "x86_64")]
    when(calls, libc::SYS_open, [empties(1)])?;
    for space in [
        libc::CLONE_NEWNS,
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWCGROUP,
    ] {
        let space = u64::from(space.unsigned_abs());
        when(calls, libc::SYS_clone, [flags(0, space, space)])?;
    }
    // Limits of another process.
    when(calls, libc::SYS_prlimit64, [is_not(0, 0)])
}

/// Requests to an open file that tell something and change nothing. Everything else is refused.
#[allow(clippy::unnecessary_cast, reason = "the type of a request differs between C libraries")]
const HARMLESS: &[u64] = &[
    libc::TCGETS as u64,
    libc::TIOCGWINSZ as u64,
    libc::TIOCGPGRP as u64,
    libc::FIONREAD as u64,
    libc::FIONBIO as u64,
    libc::FIOCLEX as u64,
    libc::FIONCLEX as u64,
    FS_IOC_GETFLAGS,
    FS_IOC_FIEMAP,
];

const FS_IOC_GETFLAGS: u64 = 0x8008_6601;
const FS_IOC_FIEMAP: u64 = 0xc020_660b;
const FS_IOC_FSGETXATTR: u64 = 0x801c_581f;

fn reading(calls: &mut Calls) -> Result<(), String> {
    when(calls, SYS_ioctl, HARMLESS.iter().map(|request| condition(1, Op::Ne, *request)).collect::<Vec<_>>())?;
    // Nobody but the one who starts the command makes a group, of its own process.
    when(calls, libc::SYS_setpgid, [is_not(0, 0)])?;
    when(calls, libc::SYS_setpgid, [is_not(1, 0)])?;
    for command in [
        libc::F_SETLK,
        libc::F_SETLKW,
        libc::F_OFD_SETLK,
        libc::F_OFD_SETLKW,
        libc::F_SETLEASE,
        libc::F_NOTIFY,
        libc::F_SETOWN,
        F_SETOWN_EX,
    ] {
        when(calls, SYS_fcntl, [is(1, command)])?;
    }
    Ok(())
}

/// The kinds of requests that change how a file system keeps a file, whoever opened it for reading.
const FILE_SYSTEM: [(u64, &[u64]); 4] = [
    (b'f' as u64, &[FS_IOC_GETFLAGS, FS_IOC_FIEMAP]),
    (b'X' as u64, &[FS_IOC_FSGETXATTR]),
    (b'v' as u64, &[]),
    (0x94, &[]),
];

#[allow(clippy::unnecessary_cast, reason = "the type of a request differs between C libraries")]
fn working(calls: &mut Calls) -> Result<(), String> {
    // Typing into a terminal, and taking one over.
    for request in [libc::TIOCSTI, libc::TIOCLINUX, libc::TIOCSETD, libc::TIOCCONS] {
        when(calls, SYS_ioctl, [condition(1, Op::Eq, request as u64)])?;
    }
    for (kind, harmless) in FILE_SYSTEM {
        let mut conditions = vec![condition(1, Op::MaskedEq(0xff00), kind << 8)];
        conditions.extend(harmless.iter().map(|request| condition(1, Op::Ne, *request)));
        when(calls, SYS_ioctl, conditions)?;
    }
    // A pair of connected sockets reaches nobody else, but one for single messages can be pointed elsewhere.
    when(calls, libc::SYS_socketpair, [is_not(0, libc::AF_UNIX)])?;
    for kind in (0..=15).filter(|kind| ![libc::SOCK_STREAM, libc::SOCK_SEQPACKET].contains(kind)) {
        when(calls, libc::SYS_socketpair, [flags(1, 15, u64::from(kind.unsigned_abs()))])?;
    }
    // Of other processes.
    for call in
        [libc::SYS_sched_setaffinity, libc::SYS_sched_setscheduler, libc::SYS_sched_setparam, libc::SYS_sched_setattr]
    {
        when(calls, call, [is_not(0, 0)])?;
    }
    for (call, of_process) in [(libc::SYS_setpriority, 0), (libc::SYS_ioprio_set, 1)] {
        when(calls, call, [is_not(0, of_process)])?;
        when(calls, call, [is_not(1, 0)])?;
    }
    Ok(())
}

/// Refuse a call where all of these hold.
fn when(
    calls: &mut Calls,
    call: c_long,
    conditions: impl IntoIterator<Item = Result<Condition, String>>,
) -> Result<(), String> {
    let conditions = conditions.into_iter().collect::<Result<_, _>>()?;
    calls.entry(call).or_default().push(Rule::new(conditions).map_err(|error| error.to_string())?);
    Ok(())
}

/// The kernel reads these arguments as numbers of 32 bits.
fn condition(argument: u8, operator: Op, value: u64) -> Result<Condition, String> {
    Condition::new(argument, Length::Dword, operator, value).map_err(|error| error.to_string())
}

fn is(argument: u8, value: i32) -> Result<Condition, String> {
    condition(argument, Op::Eq, u64::from(value.unsigned_abs()))
}

fn is_not(argument: u8, value: i32) -> Result<Condition, String> {
    condition(argument, Op::Ne, u64::from(value.unsigned_abs()))
}

fn flags(argument: u8, mask: u64, value: u64) -> Result<Condition, String> {
    condition(argument, Op::MaskedEq(mask), value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_becomes_a_program() {
        for purpose in [Purpose::Reading, Purpose::Working] {
            for missing in [true, false].map(|missing| Missing { truncate: missing, signals: missing }) {
                assert_eq!(programs(purpose, missing).unwrap().len(), 3);
            }
        }
    }

    #[test]
    fn no_call_is_refused_whole_and_in_part() {
        for purpose in [Purpose::Reading, Purpose::Working] {
            let calls = refused(purpose, Missing { truncate: false, signals: false }).unwrap();
            assert!(NEVER.iter().all(|call| calls[call].is_empty()));
        }
    }
}
