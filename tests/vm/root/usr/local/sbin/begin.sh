#!/bin/sh
# Starts the tests in the guest: as a service of systemd, or as pid 1 where the machine has none.
set -eu
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin
export PATH

if test $$ -eq 1; then
    mount -t proc proc /proc
    mount -t sysfs sysfs /sys
    test -c /dev/null || mount -t devtmpfs devtmpfs /dev
    mkdir -p /dev/pts /dev/shm
    mount -t devpts -o gid=5,mode=620,ptmxmode=666 devpts /dev/pts
    mount -t tmpfs -o mode=1777 tmpfs /dev/shm
    ln -sf /proc/self/fd /dev/fd
    mount -t tmpfs -o mode=755 tmpfs /run
fi
mount -t tmpfs -o mode=1777 tmpfs /tmp
# The kernel goes on while it looks for the disks of a controller.
tries=100
until findfs LABEL=tests >/dev/null 2>&1 || test $tries -eq 0; do
    tries=$((tries - 1))
    sleep 0.1
done
mount -o ro LABEL=tests /mnt/tests
# Not exec: as pid 1 this shell reaps what loses its parent.
python3 -B /mnt/tests/project/tests/vm/guest/agent.py
