#!/bin/sh
# Creates the secrets of compose.yaml, unless they exist. Keep a copy of STOWAGE_SECRET.
set -eu
cd "$(dirname "$0")"
# Only the owner can enter the folder. In a container, other users read the files: 1000 runs the server, 999 PostgreSQL.
mkdir -p -m 700 secrets
cd secrets
for name in STOWAGE_SECRET STOWAGE_SETUP_CODE POSTGRES_PASSWORD; do
  [ -s "$name" ] || openssl rand -hex 32 > "$name"
done
printf 'postgres://stowage:%s@postgres:5432/stowage\n' "$(cat POSTGRES_PASSWORD)" > DATABASE_URL
chmod 644 ./*
echo "Enter this setup code when you register the first account: $(cat STOWAGE_SETUP_CODE)"
