#!/bin/sh
# Compiles the sources to JavaScript in dist/; needs the development dependencies.
set -eu
npm run build
chmod +x dist/src/main.js
