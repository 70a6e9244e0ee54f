#!/bin/sh
# Creates the data folder ($1) for only the user that runs the server ($2). A new volume that is mounted there takes over
# the owner and mode.
set -eu
install -d -o "$2" -g "$(id -gn "$2")" -m 0700 "$1"
