#!/bin/sh
# Installs exactly the packages of the lock file and passes its arguments to npm. No package needs its install script:
# native packages include prebuilt files, and this image has its own Node.
set -eu
npm ci --ignore-scripts --no-audit --no-fund "$@"
