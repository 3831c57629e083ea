#!/bin/sh
# Starts the daemon that is named, and sends it requests made up from its own document.
# FUZZ_EXAMPLES says how many for each operation.
set -eu
log=$(mktemp)
"$1" serve --listen 127.0.0.1:0 --store memory --allow-target 0.0.0.0/0 --log-format json 2>"$log" &
daemon=$!
trap 'kill "$daemon" 2>/dev/null || true; rm -f "$log"' EXIT
address=
for _ in $(seq 100); do
    address=$(sed -n 's/.*"message":"Listening".*"address":"\([^"]*\)".*/\1/p;s/.*"address":"\([^"]*\)".*"message":"Listening".*/\1/p' "$log")
    [ -n "$address" ] && break
    sleep 0.1
done
[ -n "$address" ] || { cat "$log" >&2; exit 1; }
# Lines of JSON are beyond it, and have tests of their own. What a schema cannot say, such as which cron expressions there are, may be refused.
schemathesis run "http://$address/openapi.json" \
    --exclude-path /jobs/bulk --exclude-checks positive_data_acceptance \
    --max-examples "${FUZZ_EXAMPLES:-100}" --generation-database none
# It must be as well as before.
kill -0 "$daemon"
