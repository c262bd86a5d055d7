#!/bin/sh
# Builds /project for arm64 in /build: in a root file system with the tools and libraries for that.
set -eu
cd /project
if ! { meson setup /build --cross-file tests/vm/arm64.ini -Dwerror=true && ninja -C /build; } >/log 2>&1; then
    tail -n 40 /log >&2
    exit 1
fi
find /build -name '*.p' -prune -exec rm -r {} +
