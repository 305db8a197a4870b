import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GOOD_CLIENT, GOOD_SECRET, ISSUER } from '../support/running-service.ts';
import { type ServiceWithWorkers, startServiceWithWorkers } from '../support/service-with-workers.ts';
import { TokenForge } from './token-forge.ts';

/** The service in processes of its own, with a key that the tests have too. */
export interface HostileService extends AsyncDisposable {
  readonly port: number;
  readonly forge: TokenForge;
  /** Its log, one line per element, without the last line if that is not complete. */
  logLines(): readonly string[];
  /** What it has printed, the log included. */
  printed(): string;
  /** Whether no process of it has ended since it started. */
  isAlive(): boolean;
}

/** A client whose secret is only guessed, so that the failures of others do not delay it. */
export const WRONGED_CLIENT = { ...GOOD_CLIENT, client_id: 'wronged-client' };

/** Starts a primary and two workers. Without settings for a database, the clients are in memory. */
export async function startHostileService(more: Readonly<Record<string, string>> = {}): Promise<HostileService> {
  const folder = mkdtempSync(join(tmpdir(), 'hostile-'));
  const pem = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs8', format: 'pem' });
  const [clientsFile, keyFile] = [join(folder, 'clients.json'), join(folder, 'key.json')];
  const kid = 'key-of-the-service';
  const key = createPrivateKey(pem);
  writeFileSync(clientsFile, JSON.stringify([GOOD_CLIENT, WRONGED_CLIENT]));
  writeFileSync(keyFile, JSON.stringify({ ...key.export({ format: 'jwk' }), kid }), { mode: 0o600 });
  const service = await startServiceWithWorkers({
    CLIENTS_FILE: clientsFile,
    CLIENT_SECRET_COST: '4',
    KEY_FILE: keyFile,
    BASE_URL: ISSUER,
    ...more,
  });
  const { program } = service;
  const pids = service.workerPids().join();
  return {
    port: Number(new URL(service.url).port),
    forge: new TokenForge(key, kid, ISSUER),
    logLines: () => program.stdout().split('\n').slice(0, -1),
    printed: () => program.stdout() + program.stderr(),
    isAlive: () => isRunning(service) && service.workerPids().join() === pids,
    async [Symbol.asyncDispose]() {
      await program[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true });
    },
  };
}

function isRunning({ program: { process } }: ServiceWithWorkers): boolean {
  return process.exitCode === null && process.signalCode === null;
}

/** The secret that the log and the answers must not have. */
export const SECRETS = new RegExp(`${GOOD_SECRET}|-secret|eyJ|\\$2[abxy]\\$`);
