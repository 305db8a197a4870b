import { decodeJwt } from 'jose';
import { BcryptSecretEncoder } from '../../adapters/secrets/bcrypt-secret-encoder.ts';
import { TOKENS } from '../../config/tokens.ts';
import type { NewClient } from '../contracts/client-repository.ts';
import type { FixedClock } from '../support/fixed-clock.ts';
import { getAccessToken, send } from '../support/http.ts';
import type { ServiceUnderTest } from '../support/running-service.ts';

/** What somebody else does to the registrations that the service reads. */
export interface Registrations {
  add(client: NewClient): Promise<void>;
  remove(clientId: string): Promise<void>;
}

export type StateParameters = Readonly<Record<string, string>>;

/** How a state is brought about, and what is taken back after the interaction. */
export interface ProviderState {
  setup(parameters: StateParameters): Promise<void>;
  teardown?(parameters: StateParameters): Promise<void>;
}

const BCRYPT_COST = 4;
const TOKEN_CLIENT_SECRET = 'provider-state-secret';

/** Every state that a contract may name, brought about in the real service. docs/contracts.md explains each. */
export class ProviderStates {
  readonly #service: ServiceUnderTest;
  readonly #registrations: Registrations;
  readonly #clock: FixedClock;
  #accessToken: string | undefined;

  readonly byName: Readonly<Record<string, ProviderState>> = {
    'a client is registered': {
      setup: ({ client_id, client_secret, scope }) => this.#register(given({ client_id, client_secret, scope })),
      teardown: ({ client_id }) => this.#unregister(given({ client_id })),
    },
    'a client is not registered': {
      setup: ({ client_id }) => this.#unregister(given({ client_id })),
    },
    'an access token was issued': {
      setup: async ({ client_id, scope }) => {
        await this.#issueToken(given({ client_id, scope }));
      },
      teardown: ({ client_id }) => this.#unregister(given({ client_id })),
    },
    'an access token has expired': {
      setup: async ({ client_id, scope }) => {
        const token = await this.#issueToken(given({ client_id, scope }));
        this.#clock.advance((decodeJwt(token).exp ?? 0) - this.#clock.now());
      },
      teardown: ({ client_id }) => this.#unregister(given({ client_id })),
    },
    'a location is known': {
      setup: ({ code }) => this.#expectLocation(given({ code }), 'known'),
    },
    'a location is not known': {
      setup: ({ code }) => this.#expectLocation(given({ code }), 'not known'),
    },
    'the metadata is public': {
      setup: () => this.#expectPublicMetadata(),
    },
  };

  constructor(service: ServiceUnderTest, registrations: Registrations, clock: FixedClock) {
    this.#service = service;
    this.#registrations = registrations;
    this.#clock = clock;
  }

  /** The token of the interaction's state, where it names one that has a token. */
  get accessToken(): string | undefined {
    return this.#accessToken;
  }

  async #register({ client_id, client_secret, scope }: Given<'client_id' | 'client_secret' | 'scope'>): Promise<void> {
    await this.#registrations.add({
      clientId: client_id,
      clientSecret: await new BcryptSecretEncoder().encode(client_secret, BCRYPT_COST),
      clientName: `The client ${client_id} of a contract`,
      scope,
    });
  }

  async #unregister({ client_id }: Given<'client_id'>): Promise<void> {
    this.#accessToken = undefined;
    await this.#registrations.remove(client_id);
  }

  async #issueToken({ client_id, scope }: Given<'client_id' | 'scope'>): Promise<string> {
    await this.#register({ client_id, client_secret: TOKEN_CLIENT_SECRET, scope });
    const token = await getAccessToken(this.#service.url, client_id, TOKEN_CLIENT_SECRET);
    this.#accessToken = token;
    return token;
  }

  async #expectLocation({ code }: Given<'code'>, expected: 'known' | 'not known'): Promise<void> {
    const location = await this.#service.container.resolve(TOKENS.findLocation).execute(code);
    const actual = location === undefined ? 'not known' : 'known';
    if (actual !== expected) throw new Error(`location ${code} is ${actual}`);
  }

  async #expectPublicMetadata(): Promise<void> {
    const { status } = await send(this.#service.url, '/.well-known/oauth-authorization-server');
    if (status !== 200) throw new Error(`the metadata is answered with ${status}`);
  }
}

type Given<Name extends string> = Readonly<Record<Name, string>>;

/** The parameters of a state, each of them there. */
function given<Name extends string>(parameters: Readonly<Record<Name, string | undefined>>): Given<Name> {
  for (const [name, value] of Object.entries(parameters)) {
    if (typeof value !== 'string') throw new Error(`the state lacks its parameter ${name}`);
  }
  return parameters as Given<Name>;
}
