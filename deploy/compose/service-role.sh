#!/bin/sh
# Creates the role of the service, and writes the URL of that role to a file
# for DATABASE_URL_FILE. Runs before each start of the service; the password stays as it is. Needs PGHOST and the like.
set -eu
file=/database/url

if [ ! -s "$file" ]; then
  password=$(psql --no-psqlrc --tuples-only --no-align --command 'select gen_random_uuid()')
  umask 077
  echo "postgresql://authorization_service:$password@$PGHOST:5432/$PGDATABASE" >"$file"
  # The service runs as this group.
  chown root:10001 "$file"
  chmod 440 "$file"
fi
SERVICE_PASSWORD=$(sed 's|.*:\(.*\)@.*|\1|' "$file")
export SERVICE_PASSWORD
exec psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --single-transaction --file "$(dirname "$0")/service-role.sql"
