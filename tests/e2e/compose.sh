#!/usr/bin/env bash
# Builds the image, starts docker-compose.yml, adds a client on the command line and gets a token for it; then stops and
# removes everything. Needs a Docker engine, Compose and the two base images. Uses free ports.
set -euo pipefail
cd "$(dirname "$0")/../.."

compose() { if docker compose version >/dev/null 2>&1; then docker compose "$@"; else docker-compose "$@"; fi; }
free_port() { node -e "const s=require('net').createServer().listen(0,'127.0.0.1',()=>{console.log(s.address().port);s.close()})"; }
say() { echo "compose: $*"; }
fail() { say "FAILED: $*"; compose logs --no-color --tail 40 || true; exit 1; }

export COMPOSE_PROJECT_NAME="cc-e2e-$$"
export POSTGRES_PASSWORD="e2e-$(node -p 'crypto.randomUUID()')"
POSTGRES_PORT=$(free_port)
SERVICE_PORT=$(free_port)
export POSTGRES_PORT SERVICE_PORT
# To read a location: docker-compose.yml has SERVICE_PROFILE=standard, which serves none.
export TOKEN_AUDIENCE=https://api.example.com EXAMPLE_RESOURCE=true
export DATABASE_URL="postgresql://auth:$POSTGRES_PASSWORD@127.0.0.1:$POSTGRES_PORT/auth"
base="http://127.0.0.1:$SERVICE_PORT"
trap 'compose down --volumes --remove-orphans --rmi local >/dev/null 2>&1 || true' EXIT

compose up --build --detach >/dev/null

await_healthy() {
  for _ in $(seq 120); do
    state=$(docker inspect --format '{{.State.Health.Status}}' "$(compose ps -q service)" 2>/dev/null || true)
    if [ "$state" = healthy ]; then return; fi
    sleep 0.5
  done
  fail 'the service did not become healthy'
}
await_healthy

added=$(compose run --rm programs clients add e2e-client --name 'End to end' --scope 'read write' --json 2>/dev/null)
secret=$(node -p 'JSON.parse(process.argv[1]).client_secret' "$added")
answer=$(curl -sS "$base/oauth2/token" -d grant_type=client_credentials -d client_id=e2e-client --data-urlencode "client_secret=$secret")
token=$(node -p 'JSON.parse(process.argv[1]).access_token ?? ""' "$answer")
[ -n "$token" ] || fail "no token: $answer"
location=$(curl -sS "$base/v1/locations/NYC_USA" -H "Authorization: Bearer $token")
[[ $location == *'"New York City"'* ]] || fail "no location: $location"
say 'a client added on the command line gets a token and reads a location with it'

sql() { compose exec -T postgres psql --username auth --tuples-only --no-align --command "$1" auth; }
role=authorization_service
[ "$(sql "select rolsuper or rolcreatedb or rolcreaterole from pg_roles where rolname = '$role'")" = f ] || fail 'the role of the service is privileged'
[ "$(sql 'select distinct usename from pg_stat_activity where client_addr is not null')" = "$role" ] || fail 'the service uses another role'
for statement in "insert into clients values (1, 'a', 'b', 'c', 'd')" "update clients set scope = 'x'" 'delete from clients' 'drop table clients' 'create table other ()'; do
  refused=$(sql "set role $role; $statement" 2>&1) && fail "the service can write: $statement"
  [[ $refused == *'permission denied'* || $refused == *'must be owner'* ]] || fail "the statement failed for another reason: $refused"
done
say 'the role of the service is no superuser and cannot write'

container=$(compose ps -q service)
docker inspect "$container" | grep -q "$POSTGRES_PASSWORD\|postgresql://" && fail 'the environment of the service contains a password'
compose up --detach >/dev/null 2>&1
[ "$(compose ps -q service)" = "$container" ] || fail 'a second start replaces the service'
answer=$(curl -sS "$base/oauth2/token" -d grant_type=client_credentials -d client_id=e2e-client --data-urlencode "client_secret=$secret")
[[ $answer == *access_token* ]] || fail "no token after a second start: $answer"
[ "$(docker inspect --format '{{.Config.User}}' "$container")" = 10001:10001 ] || fail 'the service runs as root'
[ "$(docker inspect --format '{{.HostConfig.ReadonlyRootfs}}' "$container")" = true ] || fail 'the file system is writable'
docker exec "$container" /node -e "require('fs').writeFileSync('/app/x', '')" 2>/dev/null && fail 'the file system is writable'
report=$(compose run --rm service doctor 2>/dev/null) || fail "the doctor finds a problem: $report"
[[ $report == *'the table clients has the columns and the grants'* ]] || fail "the doctor does not look at the table: $report"
say 'the doctor finds no problem'
docker exec "$container" /node -e "require('typescript')" 2>/dev/null && fail 'a development tool is in the image'
say "the service runs as user 10001 on a read-only file system; image size: $(docker image inspect --format '{{.Size}}' client-credentials-authorization-service) bytes"

compose stop service >/dev/null 2>&1
[ "$(docker inspect --format '{{.State.ExitCode}}' "$container")" = 0 ] || fail 'the service did not stop with exit code 0'
say 'the service stops with exit code 0'

compose start service >/dev/null 2>&1
await_healthy
location=$(curl -sS "$base/v1/locations/NYC_USA" -H "Authorization: Bearer $token")
[[ $location == *'"New York City"'* ]] || fail "a restart made the token invalid: $location"
say 'a token from before a restart is good after it'
