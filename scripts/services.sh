#!/usr/bin/env bash
# Runs a command with a Redis and a PostgreSQL for the tests: scripts/services.sh npx -y pnpm test
#
# What REDIS_URL or DATABASE_URL names, or what listens on the usual port, is used as it is. What is missing is
# started here, from Debian's packages (installed if need be, which takes root), keeps nothing, and ends with the
# command.
set -euo pipefail

redis_port=${REDIS_PORT:-6379}
postgres_port=${POSTGRES_PORT:-5432}
folder=$(mktemp -d)
redis_pid=
postgres_runs=

main() {
  trap end EXIT
  if [ -z "${REDIS_URL:-}" ] && ! listens "$redis_port"; then start_redis; fi
  if [ -z "${DATABASE_URL:-}" ] && ! listens "$postgres_port"; then start_postgres; fi
  "$@"
}

listens() {
  (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

start_redis() {
  command -v redis-server >/dev/null || install redis-server
  redis-server --bind 127.0.0.1 --port "$redis_port" --dir "$folder" --save "" >"$folder/redis.log" &
  redis_pid=$!
  until listens "$redis_port"; do
    kill -0 "$redis_pid" 2>/dev/null || give_up "Redis did not start" "$folder/redis.log"
    sleep 0.1
  done
  export REDIS_URL="redis://127.0.0.1:$redis_port"
}

# A cluster of its own: the one that Debian's package makes asks for passwords, and may hold somebody's data.
start_postgres() {
  postgres_programs >/dev/null || install postgresql
  local data="$folder/postgres"
  mkdir "$data"
  chmod 711 "$folder"
  if is_root; then chown postgres "$data"; fi
  as_postgres initdb --pgdata "$data" --username root --auth trust --no-sync >"$folder/initdb.log"
  # Nothing of it has to outlast a power failure (-F), and no socket file is needed (-k '').
  as_postgres pg_ctl start --wait --silent --pgdata "$data" --log "$data/log" \
    --options "-p $postgres_port -h 127.0.0.1 -k '' -F" || give_up "PostgreSQL did not start" "$data/log"
  postgres_runs=yes
  as_postgres createdb --host 127.0.0.1 --port "$postgres_port" --username root test
  export DATABASE_URL="postgresql://root@127.0.0.1:$postgres_port/test"
}

# Runs one of PostgreSQL's programs, as the user that the package made: the server refuses to run as root.
as_postgres() {
  local program
  program="$(postgres_programs)/$1"
  shift
  (
    cd "$folder"
    if is_root; then runuser -u postgres -- "$program" "$@"; else "$program" "$@"; fi
  )
}

# The folder of the newest; Debian keeps it off the PATH.
postgres_programs() {
  local initdb
  initdb=$(find /usr/lib/postgresql -path '*/bin/initdb' 2>/dev/null | sort -V | tail -n 1)
  initdb=${initdb:-$(command -v initdb)} && dirname "$initdb"
}

install() {
  apt-get update -qq
  apt-get install -y -qq "$1" >/dev/null
}

is_root() {
  [ "$(id -u)" = 0 ]
}

give_up() {
  echo "$1:" >&2
  cat "$2" >&2
  exit 1
}

end() {
  if [ -n "$redis_pid" ]; then kill "$redis_pid" && wait "$redis_pid" || true; fi
  if [ -n "$postgres_runs" ]; then
    as_postgres pg_ctl stop --silent --mode immediate --pgdata "$folder/postgres" || true
  fi
  rm -rf "$folder"
}

main "$@"
