import type { ServerPage } from '../adapters/cli/server-arguments.ts';
import { programVersion } from '../adapters/system/program-version.ts';

// The help pages of the programs that run until they are stopped. A test compares their settings with the README's.

const version = programVersion();

export const SERVICE_PAGE: ServerPage = {
  name: 'The service',
  command: 'npm start',
  description: `The authorization service: issues access tokens to registered clients. With settings in the environment, for example:
  CLIENT_REPOSITORY=memory CLIENTS_FILE=config/demo/clients.json npm start`,
  settings: [
    ['CLIENT_REPOSITORY', 'required: where registrations are stored, memory or postgres'],
    ['CLIENTS_FILE', 'required for memory: JSON file with the registrations'],
    ['DATABASE_URL', 'required for postgres: postgresql://role:password@host:5432/database'],
    ['HOST', 'address to listen on; default 127.0.0.1'],
    ['PORT', 'port to listen on; default 8080'],
    ['BASE_URL', 'the public URL of the service; default http://localhost:PORT'],
    ['PUBLIC_METADATA', 'true publishes the key set and the metadata; default false'],
    ['TOKEN_LIFETIME_SECONDS', 'the lifetime of a token; default 300'],
    ['TOKEN_AUDIENCE', "claim aud of every token; default the client's id"],
    ['WORKERS', 'number of processes that answer requests; default one for each core'],
  ],
  notes: `docs/settings.md explains these and all others. More programs:
  npm run demo        the service with clients and settings to try it out
  npm run doctor      checks the settings, and what they depend on
  npm run clients -- --help, npm run keys -- --help, npm run migrate -- --help`,
  cure: 'docs/settings.md explains the settings; npm run doctor checks them, and what they depend on.',
  version,
};

export const DEMO_PAGE: ServerPage = {
  ...SERVICE_PAGE,
  command: 'npm run demo',
  description:
    'The authorization service with the clients of config/demo/clients.json, to try it out. It needs no settings.',
  settings: SERVICE_PAGE.settings.filter(([name]) => !/^(CLIENT|DATABASE)/.test(name)),
};

export const LOCATIONS_PAGE: ServerPage = {
  name: 'The resource server',
  command: 'npm run locations',
  description: 'The example resource server: answers requests with a valid access token of the authorization service.',
  settings: [
    ['JWKS_URI', 'required: URL of the key set, such as http://127.0.0.1:8080/oauth2/jwks'],
    ['TOKEN_ISSUER', 'required: claim iss of the tokens'],
    ['TOKEN_AUDIENCE', 'claim aud of the tokens; by default it is not checked'],
    ['HOST', 'address to listen on; default 127.0.0.1'],
    ['PORT', 'port to listen on; default 8082'],
  ],
  notes: 'docs/resource-servers.md explains these and all others.',
  cure: 'docs/resource-servers.md explains the settings.',
  version,
};
