#!/bin/sh
# Makes the data folder ($1) for the user that runs the server ($2), and for nobody else. A volume that is mounted there
# for the first time takes over owner and mode.
set -eu
install -d -o "$2" -g "$(id -gn "$2")" -m 0700 "$1"
