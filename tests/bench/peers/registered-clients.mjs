import { readFileSync } from 'node:fs';

const PLAIN_PREFIX = '{noop}';

/** The clients of CLIENTS_FILE, in the form that the service itself reads: `{noop}` stands before a secret in clear. */
export function registeredClients() {
  return JSON.parse(readFileSync(process.env['CLIENTS_FILE'], 'utf8')).map((client) => ({
    id: client.client_id,
    secret: client.client_secret.replace(PLAIN_PREFIX, ''),
    isHashed: !client.client_secret.startsWith(PLAIN_PREFIX),
  }));
}
