import cluster from 'node:cluster';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { availableParallelism } from 'node:os';
import { exportJWK, generateKeyPair } from 'jose';

/**
 * Serves on a port of loopback by PROCESSES processes, or else one a core, all with the same RSA key of 2048 bits; prints
 * `listening` when all do. The peers use one core as they ship, so the comparison shows them both ways.
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
  const { privateKey } = await generateKeyPair('RS256', { modulusLength: 2048, extractable: true });
  return { ...(await exportJWK(privateKey)), kid: 'bench', alg: 'RS256', use: 'sig' };
}
