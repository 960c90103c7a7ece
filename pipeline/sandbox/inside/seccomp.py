"""seccomp: system calls that crawled code doesn't get.

A list of what is denied, and not of what is allowed: torch, its allocator and its JIT use much of
the kernel, and a list of allowed calls breaks with each release of libc. Paths are Landlock's work,
so opening files is not filtered here. Denied calls fail with EPERM, as they do for any unprivileged
user; those that libraries probe for fail with ENOSYS, so that they take their other road.

Numbers: asm/unistd_64.h and asm-generic/unistd.h of Linux 6.1.
"""

from __future__ import annotations

import ctypes
import errno
import struct

from . import kernel

_ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}  # linux/audit.h
_COLUMN = {"x86_64": 0, "aarch64": 1}

# name: (x86_64, aarch64); None where an architecture doesn't have the call.
_DENIED: dict[str, tuple[int | None, int | None]] = {
    # The network, and unix sockets of other programs (socketpair stays).
    "socket": (41, 198), "connect": (42, 203), "bind": (49, 200), "listen": (50, 201),
    "accept": (43, 202), "accept4": (288, 242), "sendmsg": (46, 211), "sendmmsg": (307, 269),
    # Other processes.
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "process_madvise": (440, 440), "process_mrelease": (448, 448), "kcmp": (312, 272),
    "pidfd_getfd": (438, 438), "pidfd_send_signal": (424, 424), "tkill": (200, 130),
    # The process group is how a tree is killed where there is no PID namespace.
    "setsid": (112, 157), "setpgid": (109, 154),
    # Mounts and namespaces.
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "move_mount": (429, 429), "open_tree": (428, 428), "fsopen": (430, 430),
    "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433),
    "mount_setattr": (442, 442), "setns": (308, 268), "unshare": (272, 97),
    "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    # Programs that no path leads to.
    "execveat": (322, 281), "memfd_create": (319, 279), "memfd_secret": (447, 447),
    "uselib": (134, None),
    # Parts of the kernel with a long record of holes, of no use to a model.
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282),
    "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218),
    "fanotify_init": (300, 262), "personality": (135, 92), "modify_ldt": (154, None),
    "ioperm": (173, None), "iopl": (172, None), "vhangup": (153, 58), "lookup_dcookie": (212, 18),
    # The machine.
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "init_module": (175, 105),
    "finit_module": (313, 273), "delete_module": (176, 106), "reboot": (169, 142),
    "swapon": (167, 224), "swapoff": (168, 225), "acct": (163, 89), "quotactl": (179, 60),
    "quotactl_fd": (443, 443), "syslog": (103, 116), "sethostname": (170, 161),
    "setdomainname": (171, 162), "settimeofday": (164, 170), "clock_settime": (227, 112),
    "clock_adjtime": (305, 266), "adjtimex": (159, 171),
    # Memory that outlives the process and that no rlimit counts.
    "shmget": (29, 194), "shmat": (30, 196), "msgget": (68, 186), "semget": (64, 190),
    "mq_open": (240, 180),
}  # fmt: skip
_ABSENT: dict[str, tuple[int | None, int | None]] = {
    "clone3": (435, 435),  # its flags lie in memory, where a filter can't look: libc then takes clone
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
}  # fmt: skip
_EXECVE, _FORK, _VFORK = (59, 221), (57, None), (58, None)
_CLONE, _KILL, _TGKILL = (56, 220), (62, 129), (234, 131)
_SIGQUEUE, _TGSIGQUEUE = (129, 138), (297, 240)
_SENDTO, _PRCTL, _IOCTL = (44, 206), (157, 167), (16, 29)

_NEW_NAMESPACE = 0x7E020000  # CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
_CLONE_THREAD = 0x00010000
_PRCTL_DENIED = (1, 4, 35, 36, 0x59616D61)  # PDEATHSIG, DUMPABLE, MM, CHILD_SUBREAPER, PTRACER
_IOCTL_DENIED = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX: typing into a terminal

# Classic BPF, linux/bpf_common.h
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL_PROCESS, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER, _ARCH = 0, 4  # offsets in struct seccomp_data
_SET_MODE_FILTER = 1
_SECCOMP = {"x86_64": 317, "aarch64": 277}

_Instruction = tuple[int, int, int, int]


def supported() -> bool:
    """Whether there is a filter for this architecture."""
    return kernel.MACHINE in _ARCHITECTURE


def restrict(*, allow_exec: bool, allow_fork: bool, allow_threads: bool, signal_only: int) -> None:
    """Installs the filter, for this process and all that it will fork. Needs no_new_privs.

    Args:
        allow_exec: Whether execve passes.
        allow_fork: Whether new processes may be made.
        allow_threads: Whether new threads may be made.
        signal_only: The one process that may be sent signals; 0 where a PID namespace sees to it.
    """
    program = _program(allow_exec, allow_fork, allow_threads, signal_only)
    code = b"".join(struct.pack("<HBBI", *instruction) for instruction in program)
    block = ctypes.create_string_buffer(code, len(code))
    header = struct.pack("<HxxxxxxQ", len(program), ctypes.addressof(block))
    kernel.syscall(_SECCOMP[kernel.MACHINE], _SET_MODE_FILTER, 0, header)


def _program(
    allow_exec: bool, allow_fork: bool, allow_threads: bool, only: int
) -> list[_Instruction]:
    column = _COLUMN[kernel.MACHINE]
    rules: list[_Instruction] = [
        (_LOAD, 0, 0, _ARCH),
        (_EQUAL, 1, 0, _ARCHITECTURE[kernel.MACHINE]),
        (_RETURN, 0, 0, _KILL_PROCESS),  # 32-bit calls have other numbers
        (_LOAD, 0, 0, _NUMBER),
    ]
    if kernel.MACHINE == "x86_64":
        rules += [(_AT_LEAST, 0, 1, 0x40000000), (_RETURN, 0, 0, _KILL_PROCESS)]  # x32

    def on(numbers: tuple[int | None, int | None], *then: _Instruction) -> None:
        number = numbers[column]
        if number is not None:
            rules.extend([(_EQUAL, 0, len(then), number), *then])

    deny: _Instruction = (_RETURN, 0, 0, _ERRNO | errno.EPERM)
    allow: _Instruction = (_RETURN, 0, 0, _ALLOW)
    for numbers in _DENIED.values():
        on(numbers, deny)
    for numbers in _ABSENT.values():
        on(numbers, (_RETURN, 0, 0, _ERRNO | errno.ENOSYS))
    if not allow_exec:
        on(_EXECVE, deny)
    if not allow_fork:
        on(_FORK, deny)
        on(_VFORK, deny)
    on(_CLONE, *_clone_rules(allow_fork, allow_threads, allow, deny))
    on(_SENDTO, _argument(4), (_EQUAL, 0, 1, 0), allow, deny)  # to no address: an open socketpair
    on(
        _PRCTL,
        _argument(0),
        *[i for op in _PRCTL_DENIED for i in ((_EQUAL, 0, 1, op), deny)],
        allow,
    )
    on(
        _IOCTL,
        _argument(1),
        *[i for op in _IOCTL_DENIED for i in ((_EQUAL, 0, 1, op), deny)],
        allow,
    )
    if only:
        on(_KILL, _argument(0), (_EQUAL, 1, 0, 0), (_EQUAL, 0, 1, only), allow, deny)
        for numbers in (_TGKILL, _SIGQUEUE, _TGSIGQUEUE):
            on(numbers, _argument(0), (_EQUAL, 0, 1, only), allow, deny)
    rules.append(allow)
    return rules


def _clone_rules(
    allow_fork: bool, allow_threads: bool, allow: _Instruction, deny: _Instruction
) -> list[_Instruction]:
    rules = [_argument(0), (_ANY_BIT, 0, 1, _NEW_NAMESPACE), deny]
    rules += [(_ANY_BIT, 0, 1, _CLONE_THREAD), allow if allow_threads else deny]
    return [*rules, allow if allow_fork else deny]


def _argument(index: int) -> _Instruction:
    """Loads the low half of an argument; both architectures are little-endian."""
    return (_LOAD, 0, 0, 16 + 8 * index)
