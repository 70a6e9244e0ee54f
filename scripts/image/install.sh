#!/bin/sh
# Installs exactly what the lock file names, here; arguments go to npm. No package needs its install script here:
# the native ones bring prebuilt files, and this image has its own Node.
set -eu
npm ci --ignore-scripts --no-audit --no-fund "$@"
