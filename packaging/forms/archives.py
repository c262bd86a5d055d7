"""Archives whose bytes depend on nothing but their members: no owner, one time, one order."""

import gzip
import io
import tarfile
import time
import zipfile

PROGRAM, FILE = 0o755, 0o644


def members_of(tree, prefix=""):
    """The files of a directory, as pairs of a name and a path."""
    for path in sorted(tree.rglob("*")):
        if path.is_file():
            yield f"{prefix}{path.relative_to(tree).as_posix()}", path


class Members:
    """What will be in an archive: names, with bytes and whether they are programs."""

    def __init__(self):
        self.table = {}

    def add(self, name, content, is_program=False):
        self.table[name] = (content if isinstance(content, bytes) else content.encode(), is_program)

    def add_tree(self, tree, prefix=""):
        for name, path in members_of(tree, prefix):
            self.add(name, path.read_bytes(), bool(path.stat().st_mode & 0o100))

    def __iter__(self):
        for name in sorted(self.table):
            content, is_program = self.table[name]
            yield name, content, PROGRAM if is_program else FILE

    def tar_gz(self, epoch):
        packed = io.BytesIO()
        with gzip.GzipFile(filename="", fileobj=packed, mode="wb", mtime=0) as stream, \
                tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as archive:
            for name, content, mode in self:
                member = tarfile.TarInfo(name)
                member.size, member.mode, member.mtime = len(content), mode, epoch
                archive.addfile(member, io.BytesIO(content))
        return packed.getvalue()

    def zip(self, epoch):
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content, mode in self:
                member = zipfile.ZipInfo(name, time.gmtime(epoch)[:6])
                member.external_attr = (0o100000 | mode) << 16
                member.create_system = 3  # Unix, whatever builds it
                member.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(member, content)
        return packed.getvalue()
