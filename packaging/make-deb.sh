#!/bin/sh
# Builds the Debian package from this source: make-deb.sh DIRECTORY
# What is built lies in DIRECTORY, which must not exist. The build dependencies must be installed.
set -eu
source=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$(dirname "$1")"
mkdir "$1"
directory=$(cd "$1" && pwd)
mkdir "$directory/source"
tar -C "$source" --exclude='./build*' --exclude=./.git --exclude=__pycache__ --exclude=node_modules -c . |
    tar -C "$directory/source" -x
cp -R "$source/packaging/debian" "$directory/source/debian"
cd "$directory/source"
dpkg-buildpackage --build=binary --unsigned-source --unsigned-changes --no-pre-clean
cd "$directory"
rm -rf source
