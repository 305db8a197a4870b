#!/bin/sh
# Creates the role of the service, and writes two files: the URL of that role for DATABASE_URL_FILE, and a secret for
# KEY_SECRET_FILE. Runs before each start of the service; what is there stays as it is. Needs PGHOST and the like. With the argument
# `restore`, only writes standard input in place of the secret.
set -eu
umask 077

# Writes standard input to a file, whole or not at all. The service runs as this group.
keep() {
  cat >"$1.new"
  [ -s "$1.new" ] || { echo "$1: standard input is empty" >&2 && exit 1; }
  chown root:10001 "$1.new"
  chmod 440 "$1.new"
  mv -f "$1.new" "$1"
}

if [ "${1-}" = restore ]; then
  keep /secrets/key-secret
  exit
fi

if ! psql --no-psqlrc --quiet --command 'select 1' >/dev/null; then
  echo "If PostgreSQL has refused the password: it keeps POSTGRES_PASSWORD of its first start. Write that one into .env again, or give it
the one of .env: docker compose exec postgres psql -U $PGUSER -c '\password'" >&2
  exit 1
fi

url=/secrets/database-url
if [ ! -s "$url" ]; then
  password=$(psql --no-psqlrc --tuples-only --no-align --command 'select gen_random_uuid()')
  echo "postgresql://authorization_service:$password@$PGHOST:5432/$PGDATABASE" | keep "$url"
fi
[ -s /secrets/key-secret ] || head -c 32 /dev/urandom | base64 | keep /secrets/key-secret
SERVICE_PASSWORD=$(sed 's|.*:\(.*\)@.*|\1|' "$url")
export SERVICE_PASSWORD
exec psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --single-transaction --file "$(dirname "$0")/service-role.sql"
