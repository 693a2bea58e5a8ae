"""How SQLite writes a store: a write-ahead log needs memory that processes share, which network file systems lack."""

from __future__ import annotations

from pathlib import Path

MOUNTS = Path("/proc/self/mountinfo")
# as the Linux kernel names them; of FUSE, those that reach over a network
_NETWORK = {"9p", "afs", "beegfs", "ceph", "cifs", "coda", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4"}
_NETWORK |= {"orangefs", "panfs", "pvfs2", "smb3", "smbfs", "virtiofs"}
_NETWORK |= {f"fuse.{name}" for name in ("ceph-fuse", "glusterfs", "juicefs", "s3fs", "sshfs", "gcsfuse", "rclone")}


def network_file_system(path: Path | str) -> str:
    """`nfs4` where the path lies on one; "" on a local file system, or where nobody can tell (other than Linux)."""
    if str(path) == ":memory:":
        return ""
    try:
        mounts = MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    place = Path(path).resolve()
    kinds = {mount: kind for mount, kind in map(_mount, mounts) if place == mount or mount in place.parents}
    nearest = max(kinds, key=lambda mount: len(mount.parts), default=None)
    return kinds[nearest] if nearest and kinds[nearest] in _NETWORK else ""


def _mount(line: str) -> tuple[Path, str]:
    """`36 35 98:0 / /home rw,noatime shared:1 - nfs4 server:/home rw` -> /home, nfs4"""
    before, _, after = line.partition(" - ")
    return Path(before.split()[4].replace("\\040", " ")), after.split()[0]
