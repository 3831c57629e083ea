#!/bin/sh
# Starts the daemon that is named, and sends it requests made up from its own document.
# FUZZ_EXAMPLES says how many for each operation.
set -eu
tools=$(cd "$(dirname "$0")" && pwd)
log=$(mktemp)
"$1" serve --listen 127.0.0.1:0 --store memory --allow-target 0.0.0.0/0 --log-format json 2>"$log" &
daemon=$!
settings=$(mktemp -d)
trap 'kill "$daemon" 2>/dev/null || true; rm -rf "$log" "$settings"' EXIT
address=
for _ in $(seq 100); do
    address=$(sed -n 's/.*"message":"Listening".*"address":"\([^"]*\)".*/\1/p;s/.*"address":"\([^"]*\)".*"message":"Listening".*/\1/p' "$log")
    [ -n "$address" ] && break
    sleep 0.1
done
[ -n "$address" ] || { cat "$log" >&2; exit 1; }
# As a user whose key opens everything: else the first request that signs up would shut out the rest.
export XDG_CONFIG_HOME="$settings" CHRONOS_SERVER="http://$address"
echo 'a horse to fuzz with' | "$1" users create fuzz --password-stdin
echo 'a horse to fuzz with' | "$1" login fuzz --password-stdin
key=$("$1" keys create fuzz --scope read --scope write --scope admin)
# Lines of JSON are beyond it, and have tests of their own. What a schema cannot say, such as which cron expressions there are, may be refused.
# What it remembers of a run goes with the rest.
cd "$settings"
schemathesis --config-file "$tools/schemathesis.toml" run "http://$address/openapi.json" --header "Authorization: Bearer $key" \
    --exclude-path /jobs/bulk --exclude-checks positive_data_acceptance \
    --max-examples "${FUZZ_EXAMPLES:-100}" --generation-database none
# It must be as well as before.
kill -0 "$daemon"
