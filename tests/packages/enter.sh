#!/bin/sh
# Runs a command in the root file system of a directory: enter.sh DIRECTORY COMMAND...
# By root of a user namespace, in mount and process namespaces of its own. Not by chroot(2), behind which the
# kernel refuses user namespaces.
set -eu
root=$1
shift
mount --rbind "$root" "$root"
mount --make-rprivate "$root"
for device in null zero full random urandom tty; do
    : >>"$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir -p "$root/dev/shm" "$root/dev/pts"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620,gid=5 devpts "$root/dev/pts"
ln -sfn pts/ptmx "$root/dev/ptmx"
ln -sfn /proc/self/fd "$root/dev/fd"
mount -t proc proc "$root/proc"
mkdir -p "$root/outside"
cd "$root"
pivot_root . outside
umount -l /outside
rmdir /outside
cd /root
exec "$@"
