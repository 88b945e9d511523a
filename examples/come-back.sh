#!/bin/sh
# Two minutes with a sandbox that stays: write code, run a server, kill the host, come back, find it running.
# Needs nothing but Geode and a runtime (bubblewrap or Docker); leaves nothing behind.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
chat=${CHAT:-come-back}
host_output=$(mktemp)

geode() { "$here/../bin/geode.js" "$@"; }
say() { printf '\n# %s\n' "$1"; }
# Shows a command as a person would type it, and runs it.
show() {
  printf '$ geode %s\n' "$*"
  geode "$@"
}
finish() {
  geode sandbox rm "$chat" >/dev/null 2>&1 || true
  geode host stop >/dev/null 2>&1 || true
  rm -f "$host_output"
}
trap finish EXIT
trap 'exit 130' INT TERM

say 'A sandbox of your own, which stays until you remove it.'
show sandbox create "$chat"

say 'Some code in it: a server that counts its visitors in memory.'
geode sandbox cp - "$chat":server.py <<'PYTHON'
import http.server

visitors = 0


class Counter(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        global visitors
        visitors += 1
        print(f'visitor {visitors}', flush=True)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(f'you are visitor {visitors}\n'.encode())

    def log_message(self, *words):
        pass


print('open', flush=True)
http.server.HTTPServer(('127.0.0.1', 8000), Counter).serve_forever()
PYTHON
visit="import urllib.request as r; print(r.urlopen('http://127.0.0.1:8000').read().decode(), end='')"

say 'The server runs; the command that started it shows its output.'
echo "\$ geode sandbox exec --timeout 0 $chat -- python3 server.py &"
geode sandbox exec --timeout 0 "$chat" -- python3 server.py >"$host_output" 2>&1 </dev/null &
until grep -q open "$host_output"; do sleep 0.1; done

say 'Other commands work beside it, all through one host in the background.'
show sandbox ps "$chat"
geode status | grep '^Host'
pid=$(geode status --json | sed -n '/"host":/,/}/s/.*"pid": \([0-9]*\).*/\1/p')

say 'Kill the host: the waiting command ends with an error.'
echo "\$ kill -9 $pid"
kill -9 "$pid"
wait || true
cat "$host_output"

say 'Come back: the server still runs, and remembers its visitors.'
show sandbox exec "$chat" -- python3 -c "$visit"
show sandbox exec "$chat" -- python3 -c "$visit"
show sandbox ps "$chat"

say 'Its journal has everything that it wrote.'
process=$(geode sandbox ps --json "$chat" | sed 's/"id":/\n&/g' | sed -n 's/^"id":"\([^"]*\)".*"server.py".*"state":"running".*/\1/p')
show sandbox logs "$chat" "$process"

say 'Remove the sandbox. (For a terminal in one: geode shell)'
show sandbox rm "$chat"
