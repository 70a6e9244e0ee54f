#!/bin/sh
# Compiles the sources to JavaScript in dist/. Requires the development dependencies.
set -eu
npm run build
chmod +x dist/src/main.js
