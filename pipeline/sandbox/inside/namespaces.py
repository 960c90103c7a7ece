"""Namespaces: a file system, a process table, a network and users of one's own.

The server enters once (`enter`): it becomes process 1 of a PID namespace, with a read-only view of
the few folders it needs and a network without interfaces. Each relay then gets a PID namespace
inside that (`fork_as_init`) with a fresh /proc and a fresh tmpfs (`furnish`). When process 1 of a
namespace ends, the kernel kills all others in it: no program outlives its relay, no relay the server.

Modelled on bubblewrap (https://github.com/containers/bubblewrap, bubblewrap.c: pivot_root twice over
a tmpfs), with mount_setattr(2) for recursive read-only binds, which it predates.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable
from pathlib import Path

from . import kernel, view

HOME = "/box"
"""The private tmp inside; /tmp leads there as well."""
NOBODY = 65534

_NEWNS, _NEWUTS, _NEWIPC = 0x20000, 0x04000000, 0x08000000
_NEWUSER, _NEWPID, _NEWNET = 0x10000000, 0x20000000, 0x40000000
_MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_RDONLY = 2, 4, 8, 1
_MS_BIND, _MS_REC, _MS_SLAVE = 0x1000, 0x4000, 0x80000
_MNT_DETACH = 2
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_MOUNT_SETATTR = 442
_AT_RECURSIVE, _AT_FDCWD = 0x8000, -100
_TMPFS_FILES = 16384
"""Files in the private tmp; each takes kernel memory beside its data."""


def enter(folders: Iterable[str]) -> int:
    """Moves this process into namespaces of its own; returns in a child, which is process 1 there.

    The calling process stays outside, waits, and ends as the child ends.

    Args:
        folders: What to show besides the system's, read-only.

    Returns:
        A descriptor of the PID namespace, for `fork_as_init`.

    Raises:
        Unavailable, OSError: the machine doesn't allow it; the process is then fit for nothing.
    """
    _unshare_with_users()
    kernel.call("unshare", _NEWNS | _NEWPID | _NEWNET | _NEWIPC | _NEWUTS)
    _become_init()
    _mount(None, "/", None, _MS_SLAVE | _MS_REC)
    _build_root([*view.SYSTEM, *view.FACTS, *folders])
    return os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)


def fork_as_init(pid_namespace: int) -> int:
    """Forks like os.fork, the child being process 1 of a new PID namespace."""
    kernel.call("unshare", _NEWPID)
    child = -1
    try:
        child = os.fork()
        return child
    finally:
        if child != 0:  # the next namespace has to be made from our own again
            kernel.call("setns", pid_namespace, _NEWPID)


def furnish(megabytes: int, owner: int) -> None:
    """Gives the calling relay a mount namespace with its own /proc and an empty tmpfs at `HOME`."""
    kernel.call("unshare", _NEWNS)
    _mount("proc", "/proc", "proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
    options = f"size={megabytes}m,nr_inodes={_TMPFS_FILES},mode=0700,uid={owner},gid={owner}"
    _mount("tmpfs", HOME, "tmpfs", _MS_NOSUID | _MS_NODEV, options)


def _unshare_with_users() -> None:
    """Enters a user namespace that knows this user and, for root, `NOBODY`.

    Root needs a second identity to give to crawled code, since RLIMIT_NPROC doesn't bind the real
    root. Only a process outside may map two; a fork of ours does.
    """
    user, group = os.geteuid(), os.getegid()
    if user != 0:
        kernel.call("unshare", _NEWUSER)
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
        return
    target, (gate, open_gate) = os.getpid(), os.pipe()
    helper = os.fork()
    if helper == 0:
        status = 1
        try:
            os.close(open_gate)
            os.read(gate, 1)
            for name in ("uid_map", "gid_map"):
                Path(f"/proc/{target}/{name}").write_text(f"0 0 1\n{NOBODY} {NOBODY} 1\n")
            status = 0
        finally:
            os._exit(status)
    try:
        kernel.call("unshare", _NEWUSER)
    finally:
        os.close(gate)
        os.close(open_gate)
        _, status = os.waitpid(helper, 0)
    if status != 0:
        raise kernel.Unavailable(0, "the users of the namespace can't be mapped")


def _become_init() -> None:
    """Forks; the child goes on as process 1, the parent only waits for its end."""
    pid = os.fork()
    if pid == 0:
        kernel.die_with_parent()
        return
    _, status = os.waitpid(pid, 0)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _build_root(paths: Iterable[str]) -> None:
    """Makes a root of empty folders with `paths` bound into it read-only, and moves there."""
    wanted = [(path, os.path.realpath(path)) for path in sorted(set(paths)) if Path(path).exists()]
    links = {path: Path(path).readlink() for path, _ in wanted if Path(path).is_symlink()}
    _mount("tmpfs", "/tmp", "tmpfs", _MS_NOSUID | _MS_NODEV, "mode=0755,size=4m")
    Path("/tmp/old").mkdir()
    Path("/tmp/new").mkdir(0o755)
    _mount("/tmp/new", "/tmp/new", None, _MS_BIND)
    _pivot("/tmp", "/tmp/old")
    shown: list[str] = []
    for path, real in wanted:
        if path.startswith(tuple(folder + "/" for folder in shown)):
            continue  # there already, links included
        if path in links:
            Path("/new" + path).parent.mkdir(parents=True, exist_ok=True)
            Path("/new" + path).symlink_to(links[path])
        else:
            _bind("/old" + real, "/new" + path)
            _make_read_only("/new" + path, _AT_RECURSIVE)
            shown.append(path)
    for device in view.DEVICES:
        _bind("/old" + device, "/new" + device)
    Path("/new" + HOME).mkdir()
    Path("/new/proc").mkdir()
    if not Path("/new/tmp").exists():
        Path("/new/tmp").symlink_to(HOME)
    _mount("proc", "/new/proc", "proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
    _mount("tmpfs", "/new" + HOME, "tmpfs", _MS_NOSUID | _MS_NODEV, "mode=0700,size=64m")
    kernel.call("umount2", b"/old", _MNT_DETACH)
    os.chdir("/new")
    _pivot(".", ".")
    kernel.call("umount2", b".", _MNT_DETACH)
    os.chdir("/")
    _make_read_only("/", 0)


def _bind(source: str, target: str) -> None:
    place = Path(target)
    place.parent.mkdir(parents=True, exist_ok=True)
    if Path(source).is_dir():
        place.mkdir(exist_ok=True)
    else:
        place.touch()
    _mount(source, target, None, _MS_BIND | _MS_REC)


def _make_read_only(path: str, flags: int) -> None:
    attributes = struct.pack("<QQQQ", _MS_RDONLY | _MS_NOSUID | _MS_NODEV, 0, 0, 0)
    kernel.syscall(_MOUNT_SETATTR, _AT_FDCWD, path.encode(), flags, attributes, len(attributes))


def _mount(
    source: str | None, target: str, kind: str | None, flags: int, options: str = ""
) -> None:
    kernel.call(
        "mount",
        source.encode() if source else None,
        target.encode(),
        kind.encode() if kind else None,
        flags,
        options.encode() if options else None,
    )


def _pivot(new: str, old: str) -> None:
    kernel.syscall(_PIVOT_ROOT[kernel.MACHINE], new.encode(), old.encode())
    os.chdir("/" if old != new else ".")
