import type { Result } from '../../domain/result.ts';
import type { ClientStore } from '../ports/client-store.ts';
import type { Clock } from '../ports/clock.ts';
import { type DescribedClient, describeWithCredentials } from './describe-client.ts';

/** Describes one client: its registration, how it authenticates, and what expires when. */
export class ShowClient {
  readonly #store: ClientStore;
  readonly #clock: Clock;

  constructor(store: ClientStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  async execute(clientId: string): Promise<Result<DescribedClient, 'client_unknown'>> {
    const clients = await this.#store.find(clientId);
    const details = await this.#store.findDetails(clientId);
    return describeWithCredentials({ clients, details }, this.#clock.now());
  }
}
