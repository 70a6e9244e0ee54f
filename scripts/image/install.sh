#!/bin/sh
# Installs exactly the packages of the lock file and passes its arguments to npm. No package needs its install script:
# native packages include prebuilt files, and this image has its own Node.
set -eu
npm ci --ignore-scripts --no-audit --no-fund "$@"
# The builds for other systems are 14 MB.
[ ! -d node_modules/sodium-native ] || find node_modules/sodium-native/prebuilds -mindepth 1 -maxdepth 1 ! -name 'linux-*' -exec rm -r {} +
