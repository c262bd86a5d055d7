#!/bin/sh
# The root file system of the guest, as an ext4 disk: make-disk.sh TAR FILES SCRATCH DISK
# TAR is a bare Debian, FILES a directory of what is put over it, SCRATCH is made and removed. Runs
# as root of a user namespace, so that the files on the disk belong to whom they should.
set -eu
PATH=$PATH:/usr/sbin:/sbin # users have no such places
tar=$1 files=$2 scratch=$3 disk=$4

mkdir "$scratch"
tar -C "$scratch" --exclude='./dev/*' -xf "$tar"
cp -r --preserve=mode "$files/." "$scratch"
chown -R 0:0 "$scratch/usr/local" "$scratch/etc/systemd/system"

if test -e "$scratch/etc/passwd"; then
    chroot "$scratch" useradd --create-home --shell /bin/bash --uid 1000 tester
else
    # Only unpacked, for another processor: its programs do not run here.
    for file in passwd group; do
        cp "$scratch/usr/share/base-passwd/$file.master" "$scratch/etc/$file"
    done
    echo 'tester:x:1000:1000::/home/tester:/bin/bash' >>"$scratch/etc/passwd"
    echo 'tester:x:1000:' >>"$scratch/etc/group"
    install --directory --owner=1000 --group=1000 "$scratch/home/tester"
fi
: >"$scratch/etc/fstab"
: >"$scratch/etc/machine-id"
echo guest >"$scratch/etc/hostname"
mkdir -p "$scratch/mnt/tests"

# What takes time at boot under emulation and is of no use to the tests.
for unit in systemd-udevd.service systemd-udevd-control.socket systemd-udevd-kernel.socket \
    systemd-udev-trigger.service systemd-random-seed.service systemd-update-utmp.service \
    systemd-hwdb-update.service systemd-journal-catalog-update.service systemd-journal-flush.service \
    systemd-pcrphase.service systemd-pcrphase-sysinit.service systemd-firstboot.service \
    systemd-modules-load.service systemd-binfmt.service proc-sys-fs-binfmt_misc.automount \
    systemd-remount-fs.service systemd-timesyncd.service sys-kernel-debug.mount \
    sys-kernel-tracing.mount sys-kernel-config.mount sys-fs-fuse-connections.mount \
    dev-hugepages.mount dev-mqueue.mount apparmor.service kmod-static-nodes.service modprobe@.service; do
    ln -sf /dev/null "$scratch/etc/systemd/system/$unit"
done
ln -s tests.target "$scratch/etc/systemd/system/default.target"

# Room for a partition table before it: image.py writes that.
truncate -s 2G "$disk"
mke2fs -q -F -t ext4 -E offset=1048576 -d "$scratch" "$disk" 2096128k
rm -rf "$scratch"
