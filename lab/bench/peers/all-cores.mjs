import cluster from 'node:cluster';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { availableParallelism } from 'node:os';
import { exportJWK, generateKeyPair } from 'jose';

const PLAIN_PREFIX = '{noop}';

/** The clients of CLIENTS_FILE, in the format of the service itself: `{noop}` marks a plain secret. */
export function registeredClients() {
  return JSON.parse(readFileSync(process.env['CLIENTS_FILE'], 'utf8')).map((client) => ({
    id: client.client_id,
    secret: client.client_secret.replace(PLAIN_PREFIX, ''),
    isHashed: !client.client_secret.startsWith(PLAIN_PREFIX),
  }));
}

/**
 * Listens on a loopback port with PROCESSES processes, one per core by default, all with one key of the algorithm ALG:
 * 2048-bit RSA by default. Prints `listening` when all listen. By default the peers use one core only, so the
 * comparison shows them both ways.
 *
 * @param {(key: import('jose').JWK) => Promise<import('node:http').RequestListener>} createApplication
 */
export async function serveOnAllCores(createApplication) {
  if (cluster.isPrimary) {
    const key = JSON.stringify(await newPrivateKey());
    const length = Number(process.env['PROCESSES'] ?? availableParallelism());
    const workers = Array.from({ length }, () => cluster.fork({ PRIVATE_KEY: key }));
    await Promise.all(workers.map((worker) => once(worker, 'listening')));
    process.stdout.write('listening\n');
  } else {
    const application = await createApplication(JSON.parse(process.env['PRIVATE_KEY']));
    createServer(application).listen(Number(process.env['PORT']), '127.0.0.1');
  }
}

async function newPrivateKey() {
  const alg = process.env['ALG'] ?? 'RS256';
  const { privateKey } = await generateKeyPair(alg, { modulusLength: 2048, extractable: true });
  return { ...(await exportJWK(privateKey)), kid: 'bench', alg, use: 'sig' };
}
