import bcrypt from 'bcrypt';
import { decodeJwt } from 'jose';
import type { InMemoryClientRepository } from '../../adapters/memory/in-memory-client-repository.ts';
import { PARTS } from '../../config/container.ts';
import { PLACES } from '../../domain/example-resource/location.ts';
import { clientsTable } from '../../tests/support/clients-table.ts';
import type { FixedClock } from '../../tests/support/fixed-clock.ts';
import { getAccessToken } from '../../tests/support/http.ts';
import type { ServiceUnderTest } from '../../tests/support/running-service.ts';
import type { TestDatabase } from '../../tests/support/test-database.ts';

const BCRYPT_COST = 4;
const SECRET = 'provider-state-secret';

type StateParameters = Readonly<Record<string, string>>;
export type Handler = (parameters: StateParameters) => Promise<void>;

/** Every state that a contract may name, created in the running service. docs/contracts.md describes each. */
export class ProviderStates {
  readonly #service: ServiceUnderTest;
  readonly #clock: FixedClock;
  readonly #clients: ReturnType<typeof clientsTable> | InMemoryClientRepository;
  #accessToken: string | undefined;

  readonly byName: Readonly<Record<string, { readonly setup: Handler; readonly teardown?: Handler }>> = {
    'a client is registered': {
      setup: (given) => this.#register(given, required(given, 'client_secret')),
      teardown: (given) => this.#unregister(given),
    },
    'a client is not registered': { setup: (given) => this.#unregister(given) },
    'an access token was issued': {
      setup: async (given) => void (await this.#issueToken(given)),
      teardown: (given) => this.#unregister(given),
    },
    'an access token has expired': {
      setup: async (given) => {
        const token = await this.#issueToken(given);
        // A second later, which replicas allow each other.
        this.#clock.advance((decodeJwt(token).exp ?? 0) + 1 - this.#clock.now());
      },
      teardown: (given) => this.#unregister(given),
    },
    'a location is known': { setup: (given) => this.#checkLocation(given, 'known') },
    'a location is not known': { setup: (given) => this.#checkLocation(given, 'not known') },
    // The service is started with PUBLIC_METADATA=true.
    'the metadata is public': { setup: async () => {} },
  };

  /** @param database where the registrations are; without it they are in memory. */
  constructor(service: ServiceUnderTest, clock: FixedClock, database: TestDatabase | undefined) {
    this.#service = service;
    this.#clock = clock;
    this.#clients =
      database === undefined
        ? (service.container.resolve(PARTS.clientRepository) as InMemoryClientRepository)
        : clientsTable(database);
  }

  /** The token that the current interaction's state issued, if it issued one. */
  get accessToken(): string | undefined {
    return this.#accessToken;
  }

  async #register(given: StateParameters, secret: string): Promise<void> {
    const clientId = required(given, 'client_id');
    const clientSecret = await bcrypt.hash(secret, BCRYPT_COST);
    const scope = required(given, 'scope');
    await this.#clients.add({ clientId, clientSecret, clientName: `Client ${clientId} of a contract`, scope });
  }

  async #unregister(given: StateParameters): Promise<void> {
    this.#accessToken = undefined;
    await this.#clients.remove(required(given, 'client_id'));
  }

  async #issueToken(given: StateParameters): Promise<string> {
    await this.#register(given, SECRET);
    this.#accessToken = await getAccessToken(this.#service.url, required(given, 'client_id'), SECRET);
    return this.#accessToken;
  }

  async #checkLocation(given: StateParameters, expected: 'known' | 'not known'): Promise<void> {
    const code = required(given, 'code');
    const location = PLACES.find((place) => place.code === code);
    const actual = location === undefined ? 'not known' : 'known';
    if (actual !== expected) throw new Error(`location ${code} is ${actual}`);
  }
}

function required(given: StateParameters, name: string): string {
  const value = given[name];
  if (value === undefined) throw new Error(`the parameter ${name} is missing`);
  return value;
}
