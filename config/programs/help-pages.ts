import type { ServerPage } from '../../adapters/cli/server-arguments.ts';
import { programVersion } from '../../adapters/system/program-version.ts';
import { helpRows } from '../settings/about-setting.ts';
import { CORE_GROUPS } from '../settings/settings.ts';

const { profile, storage, tokens, listening, metadata } = CORE_GROUPS;
const { CLIENT_REPOSITORY, CLIENTS_FILE, DATABASE_FILE, DATABASE_URL } = storage.rows;
const { HOST, PORT, BASE_URL } = listening.rows;
const { TOKEN_LIFETIME_SECONDS, TOKEN_AUDIENCE } = tokens.rows;

/** The settings that matter first. */
const FIRST_SETTINGS = {
  ...{ ...profile.rows, CLIENT_REPOSITORY, CLIENTS_FILE, DATABASE_FILE, DATABASE_URL, HOST, PORT, BASE_URL },
  ...{ PUBLIC_METADATA: metadata.rows.PUBLIC_METADATA, TOKEN_LIFETIME_SECONDS, TOKEN_AUDIENCE },
};

export const SERVICE_PAGE: ServerPage = {
  name: 'The service',
  command: 'npm start',
  description: `The authorization service: issues access tokens to registered clients. With settings in the environment, for example:
  CLIENT_REPOSITORY=memory CLIENTS_FILE=config/demo/clients.json npm start`,
  settings: helpRows(FIRST_SETTINGS),
  notes: `docs/settings.md explains these and all others. More programs:
  npm run demo        the service with clients and settings to try it out
  npm run doctor      checks the settings, and what they depend on
  npm run clients -- --help, npm run keys -- --help, npm run migrate -- --help`,
  fix: 'docs/settings.md explains the settings; npm run doctor checks them, and what they depend on.',
  version: programVersion(),
};

export const DEMO_PAGE: ServerPage = {
  ...SERVICE_PAGE,
  command: 'npm run demo',
  description:
    'The authorization service with the clients of config/demo/clients.json, to try it out. It needs no settings.',
  settings: helpRows(FIRST_SETTINGS).filter(([name]) => !/^(CLIENT|DATABASE)/.test(name)),
};
