import { InMemoryClientRepository } from '../../adapters/memory/in-memory-client-repository.ts';
import { NO_CLIENT } from '../../application/client-lookup.ts';
import type { Storage } from './storage.ts';

const EMPTY = {
  ready: true,
  note: { ...NO_CLIENT, fix: 'add one to CLIENTS_FILE, as config/demo/clients.json shows' },
} as const;
const close = async () => {};

/** Registrations in a file that is read at startup. Nothing else is kept. */
export const memory: Storage = {
  async openClients({ clients, clock, ids, pickDecoy }) {
    return {
      clients: new InMemoryClientRepository({ ids, clock, pickDecoy }, clients),
      hasPlainSecrets: true,
      ...(clients.length === 0 && { dependency: { name: 'clients file', readiness: () => EMPTY, close } }),
    };
  },
};
