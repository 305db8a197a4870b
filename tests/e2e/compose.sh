#!/usr/bin/env bash
# Does what docs/first-deployment.md says about Compose and the image, with its blocks as they are printed: builds the image, starts
# docker-compose.yml, adds a client and gets a token for it, loses the volumes and restores them; then stops and removes everything. Needs
# a Docker engine, Compose and the two base images. Uses free ports.
set -Eeuo pipefail
trap 'echo "compose: FAILED: line $LINENO, exit code $?: $BASH_COMMAND"' ERR
cd "$(dirname "$0")/../.."
PATH="$PWD/node_modules/.bin:$PATH"

here=$PWD
folder=$(mktemp -d)
say() { echo "compose: $*"; }
fail() { say "FAILED: $*"; compose logs --no-color --tail 40 || true; exit 1; }
free_port() { node -e "const s=require('net').createServer().listen(0,'127.0.0.1',()=>{console.log(s.address().port);s.close()})"; }

# Compose, with a file .env elsewhere than in this clone, which may have one.
compose() {
  # At a terminal, exec has one.
  if [ "$1" = exec ] && [ "$2" != -T ]; then set -- exec -T "${@:2}"; fi
  local with=(--project-directory "$here" --file "$here/docker-compose.yml" --env-file "$folder/.env")
  if [ -e "$folder/docker-compose.override.yml" ]; then with+=(--file "$folder/docker-compose.override.yml"); fi
  if command docker compose version >/dev/null 2>&1; then command docker compose "${with[@]}" "$@"; else docker-compose "${with[@]}" "$@"; fi
}
# For the blocks of the page. They use names that others may have.
docker() {
  if [ "$1" = compose ]; then shift; compose "$@"; else command docker "${@//ccauth/$COMPOSE_PROJECT_NAME}"; fi
}
# The block of a heading of the page, counted from 0.
block() { block_of docs/first-deployment.md sh "$@"; }
block_of() { # PAGE LANGUAGE [HEADING [NUMBER]]
  node --input-type=module --eval "
    import { blocksOf, readPage } from '$here/tests/support/page-snippets.ts';
    const [page, language, heading, number = 0] = process.argv.slice(1);
    console.log(blocksOf(readPage(page), language, heading)[number]);" "$@"
}
# The row for Compose of the runbook, and the functions below it.
runbook_functions() {
  sed -n 's/^| in \[Compose\][^|]*| `\(.*\)` |$/\1/p' docs/runbook.md
  block_of docs/runbook.md sh 'The commands' | grep '^[a-z]*() '
}
# What the block about a token prints. At a terminal, curl asks for the secret.
token_of() { # SECRET
  local request
  request=$(block 'With Compose' 3)
  eval "${request/--user billing http:\/\/localhost:8080/--user billing:$1 $base}"
}
secret_in() { sed -n 's/.*client_secret  *\([^ ]*\).*/\1/p' <<<"$1"; }

export COMPOSE_PROJECT_NAME="cc-e2e-$$"
POSTGRES_PORT=$(free_port)
SERVICE_PORT=$(free_port)
base="http://127.0.0.1:$SERVICE_PORT"
export POSTGRES_PORT SERVICE_PORT
image=$COMPOSE_PROJECT_NAME
remove_all() {
  compose down --volumes --remove-orphans --rmi local
  command docker rm --force "$image" "$image-demo"
  command docker volume rm "$image"
  command docker rmi "$image"
  rm -r "$folder"
}
trap 'remove_all >/dev/null 2>&1 || true' EXIT

await_healthy() { # CONTAINER
  for _ in $(seq 120); do
    state=$(command docker inspect --format '{{.State.Health.Status}}' "$1" 2>/dev/null || true)
    if [ "$state" = healthy ]; then return; fi
    sleep 0.5
  done
  fail "$1 did not become healthy"
}

(cd "$folder" && eval "$(block 'With Compose' 0)")
POSTGRES_PASSWORD=$(sed -n 's/^POSTGRES_PASSWORD=//p' "$folder/.env")
eval "$(block 'With Compose' 1)" >/dev/null
added=$(eval "$(block 'With Compose' 2)" 2>/dev/null)
secret=$(secret_in "$added")
await_healthy "$(compose ps -q service)"
answer=$(token_of "$secret")
token=$(node -p 'JSON.parse(process.argv[1]).access_token ?? ""' "$answer")
[ -n "$token" ] || fail "no token: $answer"
[[ $(eval "$(block 'With Compose' 4 | sed "s|http://localhost:8080|$base|")") == *'"jwks_uri"'* ]] || fail 'the metadata is not public'
# With a token, a path that does not exist is 404; otherwise it is 401.
status_of() { curl -sS -o "$folder/answer" -w '%{http_code}' "$base/nothing" -H "Authorization: Bearer $1"; }
[ "$(status_of "$token") $(status_of "${token%????}AAAA")" = '404 401' ] || fail "the token is not accepted: $(cat "$folder/answer")"
say 'the first client of the page gets a token, which the service accepts'

management="http://127.0.0.1:$(free_port)"
(cd "$folder" && eval "$(block 'The status page' | sed "s|127.0.0.1:8081:|${management#http://}:|")") >/dev/null 2>&1
await_healthy "$(compose ps -q service)"
[[ $(curl -sS --user "any:$(sed -n 's/^MANAGEMENT_TOKEN=//p' "$folder/.env")" "$management/status") == *'Ready'* ]] || fail 'there is no status page'
answer=$(token_of "$secret")
[[ $answer == *access_token* ]] || fail "no token with the override: $answer"
say 'the override of the page publishes the status page'

(cd "$folder" && mkdir clients && export SECRET_BILLING=0123456789abcdef0123456789abcdef
  block_of docs/clients-in-git.md yaml | sed 's/^client_id: .*/client_id: in-git/' >clients/in-git.yaml
  eval "$(block 'Clients in files') --yes" >"$folder/applied" 2>&1) || fail "$(cat "$folder/applied")"
[[ $(cat "$folder/applied") == *'1 to add'* ]] || fail "the clients are not applied: $(cat "$folder/applied")"
say 'clients in a folder of this machine are applied'

# In a shell of its own, since it replaces psql.
runbook=$(MANAGEMENT=$management DATABASE_URL='' AUDIT_FILE=''
  eval "$(runbook_functions)"
  ccauth clients list --limit 5 && psql "$DATABASE_URL" -c 'select client_id from clients' && count '"status":(200|401)' client_id &&
    log | tail -n 5 && metrics '^auth_ready') 2>/dev/null || fail "a command of the runbook fails: $runbook"
for part in "in-git  *Billing" '^ in-git$' '1 "client_id":"billing"' '"level":"info"' '^auth_ready'; do
  found=$(grep -e "$part" <<<"$runbook") || fail "the commands of the runbook show no $part: $runbook"
done
say 'the commands of the runbook work with its row for Compose'

sql() { compose exec postgres psql --username auth --tuples-only --no-align --command "$1" auth; }
role=authorization_service
[ "$(sql "select rolsuper or rolcreatedb or rolcreaterole from pg_roles where rolname = '$role'")" = f ] || fail 'the role of the service is privileged'
[ "$(sql 'select distinct usename from pg_stat_activity where client_addr is not null')" = "$role" ] || fail 'the service uses another role'
for statement in "insert into clients values (1, 'a', 'b', 'c', 'd')" "update clients set scope = 'x'" 'delete from clients' 'drop table clients' 'create table other ()'; do
  refused=$(sql "set role $role; $statement" 2>&1) && fail "the service can write: $statement"
  [[ $refused == *'permission denied'* || $refused == *'must be owner'* ]] || fail "the statement failed for another reason: $refused"
done
say 'the role of the service is no superuser and cannot write'

container=$(compose ps -q service)
# All is read before it is searched: a program whose reader stops early fails, and with it the pipeline.
inspected=$(command docker inspect "$container")
[[ $inspected == *"$POSTGRES_PASSWORD"* || $inspected == *postgresql://* ]] && fail 'the environment of the service contains a password'
compose up --detach >/dev/null 2>&1
[ "$(compose ps -q service)" = "$container" ] || fail 'a second start replaces the service'
answer=$(token_of "$secret")
[[ $answer == *access_token* ]] || fail "no token after a second start: $answer"
[ "$(command docker inspect --format '{{.Config.User}}' "$container")" = 10001:10001 ] || fail 'the service runs as root'
[ "$(command docker inspect --format '{{.HostConfig.ReadonlyRootfs}}' "$container")" = true ] || fail 'the file system is writable'
command docker exec "$container" /node -e "require('fs').writeFileSync('/app/x', '')" 2>/dev/null && fail 'the file system is writable'
report=$(eval "$(block 'With Compose' 5)" 2>/dev/null) || fail "the doctor finds a problem: $report"
[[ $report == *'client repository: the service can use it'* ]] || fail "the doctor does not look at the table: $report"
[[ $report == *'the service runs, and is ready'* ]] || fail "the doctor does not look at the service: $report"
say 'the doctor finds no problem'
if backup=$(cd "$folder" && eval "$(block Backup)" 2>&1); then dumped=yes
# Some images have the server of one version and the clients of another.
elif [[ $backup == *'server version mismatch'* ]]; then dumped=
else fail "the backup fails: $backup"; fi
[ "$(base64 --decode "$folder/key-secret" | wc -c)" = 32 ] || fail 'the copy of the secret of the keys is none'
say 'the backup has the secret that seals the keys'
command docker exec "$container" /node -e "require('typescript')" 2>/dev/null && fail 'a development tool is in the image'
say "the service runs as user 10001 on a read-only file system; image size: $(command docker image inspect --format '{{.Size}}' client-credentials-authorization-service) bytes"

compose stop service >/dev/null 2>&1
[ "$(command docker inspect --format '{{.State.ExitCode}}' "$container")" = 0 ] || fail 'the service did not stop with exit code 0'
say 'the service stops with exit code 0'

compose start service >/dev/null 2>&1
await_healthy "$container"
[ "$(status_of "$token")" = 404 ] || fail "a restart made the token invalid: $(cat "$folder/answer")"
say 'a token from before a restart is good after it'
sed -i 's/^POSTGRES_PASSWORD=.*/POSTGRES_PASSWORD=another/' "$folder/.env"
refused=$(compose run --rm --no-deps -T service-role 2>&1) && fail 'another password of the administrator is accepted'
[[ $refused == *'Write that one into .env again'* ]] || fail "nothing says what to do about the password: $refused"
say 'another password of the administrator is refused, with what to do about it'

sed -i "s/^POSTGRES_PASSWORD=.*/POSTGRES_PASSWORD=$POSTGRES_PASSWORD/" "$folder/.env"
restore=$(block Restore)
if [ "$dumped" ]; then
  compose down --volumes >/dev/null 2>&1
else
  say 'NOT TRIED: the dump, since pg_dump in this image is older than its server'
  compose down >/dev/null 2>&1
  command docker volume rm "${COMPOSE_PROJECT_NAME}_secrets" >/dev/null
  restore=$(sed '/pg_restore/d; s/ <key-secret &&$/ <key-secret/' <<<"$restore")
fi
eval "$(block 'With Compose' 1)" >/dev/null 2>&1
restored=$(cd "$folder" && eval "$restore" 2>&1) || fail "it cannot be restored: $restored"
eval "$(block Restore 1)" >/dev/null 2>&1
await_healthy "$(compose ps -q service)"
[ "$(status_of "$token")" = 404 ] || fail "the token is refused after a restore: $(cat "$folder/answer")"
answer=$(token_of "$secret")
[[ $answer == *access_token* ]] || fail "no token after a restore: $answer"
say 'after a restore, tokens and secrets are good'
compose stop service >/dev/null 2>&1

eval "$(block 'The image, with SQLite' | sed '$d')" >"$folder/added" 2>&1 || fail "$(cat "$folder/added")"
secret=$(secret_in "$(cat "$folder/added")")
eval "$(block 'The image, with SQLite' | tail -n 1 | sed "s|127.0.0.1:8080|127.0.0.1:$SERVICE_PORT|")" >/dev/null
await_healthy "$image"
answer=$(token_of "$secret")
[[ $answer == *access_token* ]] || fail "no token from the image alone: $answer"
command docker rm --force "$image" >/dev/null
say 'the image alone, with SQLite in a volume, issues a token to its first client'

command docker run --detach --name "$image-demo" --publish "127.0.0.1:$SERVICE_PORT:8080" --env BASE_URL="$base" "$image" demo >/dev/null
await_healthy "$image-demo"
printed=$(command docker logs "$image-demo")
request=$(grep 'curl -sS http' <<<"$printed" | sed -n 1p)
[[ $(eval "$request") == *access_token* ]] || fail "the demo prints a request that fails: $request"
say 'the demo in the image is healthy, and prints a request that works'
