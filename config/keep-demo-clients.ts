import { resolve } from 'node:path';
import { encodeWithBcrypt } from '../adapters/secrets/bcrypt-secret-verifier.ts';
import { randomSecret } from '../adapters/system/system.ts';
import { DependencyUnavailable } from '../application/ports/dependency-unavailable.ts';

const COST = 10;

/** The file in which a demo keeps its clients. */
export interface KeptClients {
  readonly path: string;
  /** The secret of `demo-client` if this start has created it. */
  readonly secret: string | undefined;
}

/** Creates the file with its folder and a client, unless there is one. Throws an error that says why it cannot be used. */
export async function keepClients(file = 'ccauth-demo/clients.db'): Promise<KeptClients> {
  const path = resolve(file);
  const secret = randomSecret();
  const client = {
    clientId: 'demo-client',
    clientSecret: await encodeWithBcrypt(secret, COST),
    clientName: 'Client of the demo',
    scope: 'locations.read locations.write',
  };
  const { storeFirstClients } = await import('../adapters/sqlite/store-first-clients.ts');
  try {
    return { path, secret: storeFirstClients(path, [client]) ? secret : undefined };
  } catch (fault) {
    throw fault instanceof DependencyUnavailable ? fault.cause : fault;
  }
}
