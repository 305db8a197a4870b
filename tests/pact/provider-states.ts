import { randomUUID } from 'node:crypto';
import type { VerifierOptions } from '@pact-foundation/pact';
import { TOKENS } from '../../config/tokens.ts';
import { encodeSecret } from '../../management/encode-secret.ts';
import type { NewClient } from '../contracts/client-repository.ts';
import type { FixedClock } from '../support/fixed-clock.ts';
import { getAccessToken } from '../support/http.ts';
import type { ServiceUnderTest } from '../support/running-service.ts';

/** Stands in a contract where a request has an access token. */
export const TOKEN_PLACEHOLDER = 'ACCESS_TOKEN';

/** What somebody else does to the registrations that the service reads. */
export interface Registrations {
  add(client: NewClient): Promise<void>;
  remove(clientId: string): Promise<void>;
}

export interface ProviderParts {
  readonly service: ServiceUnderTest;
  readonly registrations: Registrations;
  /** The service's clock, at which tokens expire. */
  readonly clock: FixedClock;
}

type Parameters = Readonly<Record<string, string>>;

/** One state: how it is brought about, and how it is taken back after the interaction. */
interface State {
  setup(parameters: Parameters): Promise<void>;
  teardown?(parameters: Parameters): Promise<void>;
}

const BCRYPT_COST = 4;
const PAST_EVERY_LIFETIME_SECONDS = 86_401;

/** Brings the real service into the states that contracts name. */
export class ProviderStates {
  readonly #parts: ProviderParts;
  /** Pact prints what a handler throws, and goes on as if the state were there; so it is kept. */
  readonly #faults: string[] = [];
  #accessToken: string | undefined;

  readonly #states: Readonly<Record<string, State>> = {
    'a client is registered': {
      setup: ({ client_id, client_secret, scope }) => this.#register(client_id, client_secret, scope),
      teardown: ({ client_id = '' }) => this.#parts.registrations.remove(client_id),
    },
    'a client is not registered': {
      setup: ({ client_id = '' }) => this.#parts.registrations.remove(client_id),
    },
    'an access token was issued': {
      setup: ({ client_id, scope }) => this.#issue(client_id, scope),
      teardown: (parameters) => this.#forget(parameters),
    },
    'an access token has expired': {
      setup: async ({ client_id, scope }) => {
        await this.#issue(client_id, scope);
        this.#parts.clock.advance(PAST_EVERY_LIFETIME_SECONDS);
      },
      teardown: (parameters) => this.#forget(parameters),
    },
    'a location is known': { setup: ({ code }) => this.#expectLocation(code, true) },
    'a location is not known': { setup: ({ code }) => this.#expectLocation(code, false) },
    'the metadata is public': { setup: () => this.#expectPublicMetadata() },
  };

  constructor(parts: ProviderParts) {
    this.#parts = parts;
  }
}
