import { readFile } from 'node:fs/promises';
import { Verifier, type VerifierOptions } from '@pact-foundation/pact';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { PARTS } from '../../config/container.ts';
import { FixedClock } from '../../tests/support/fixed-clock.ts';
import { startServiceUnderTest } from '../../tests/support/running-service.ts';
import { createTestDatabase, PATIENT } from '../../tests/support/test-database.ts';
import { TOKEN_PLACEHOLDER } from './contract.ts';
import { type Handler, ProviderStates } from './provider-states.ts';

/** The running service, against which contracts are verified. */
export interface Provider extends AsyncDisposable {
  /** Verifies one contract file with Pact's own verifier. Rejects with its result if an interaction fails. */
  verify(file: string): Promise<void>;
}

/** Starts the service on loopback, with no client and a fixed clock. */
export async function startProvider(store: 'memory' | 'postgres'): Promise<Provider> {
  const clock = new FixedClock();
  const database = store === 'postgres' ? await createTestDatabase() : undefined;
  const service = await startServiceUnderTest({
    clients: [],
    environment: {
      PUBLIC_METADATA: 'true',
      ...(database && { CLIENT_REPOSITORY: 'postgres', DATABASE_URL: database.url, ...PATIENT }),
    },
    override: (container) => container.registerInstance(PARTS.clock, clock),
  });
  const states = new ProviderStates(service, clock, database);
  return {
    verify: (file) => verify(file, service.url, states),
    async [Symbol.asyncDispose]() {
      await service.stop();
      await database?.drop();
    },
  };
}

async function verify(file: string, providerBaseUrl: string, states: ProviderStates): Promise<void> {
  const faults = await unknownStates(file, states);
  const verifier = new Verifier({
    providerBaseUrl,
    pactUrls: [file],
    logLevel: 'error',
    stateHandlers: stateHandlers(states, faults),
    messageProviders: {
      'the header and the claims of an access token': async () => ({
        header: { ...decodeProtectedHeader(states.accessToken ?? '') },
        claims: { ...decodeJwt(states.accessToken ?? '') },
      }),
    },
    requestFilter(request, _response, next) {
      const { headers } = request;
      if (headers.authorization === `Bearer ${TOKEN_PLACEHOLDER}` && states.accessToken !== undefined) {
        headers.authorization = `Bearer ${states.accessToken}`;
      }
      // The verifier's proxy parses a form and would forward it as JSON (pact-foundation/pact-js, issue 884).
      if (request.is('application/x-www-form-urlencoded')) {
        request.body = Buffer.from(new URLSearchParams(request.body).toString());
        headers['content-length'] = String(request.body.length);
      }
      next();
    },
  });
  await verifier.verifyProvider();
  if (faults.length > 0) throw new Error(faults.join('\n'));
}

/**
 * If a state has no handler, or its handler fails, Pact's verifier only prints a warning and goes on as if the state
 * were there. An interaction that expects a refusal would then pass for the wrong reason. Both cases are therefore
 * collected.
 */
function stateHandlers(states: ProviderStates, faults: string[]): NonNullable<VerifierOptions['stateHandlers']> {
  const collecting =
    (name: string, handle: Handler = async () => {}) =>
    async (parameters: unknown) => {
      try {
        await handle((parameters ?? {}) as Parameters<Handler>[0]);
      } catch (fault) {
        faults.push(`provider state "${name}": ${fault instanceof Error ? fault.message : fault}`);
      }
    };
  return Object.fromEntries(
    Object.entries(states.byName).map(([name, { setup, teardown }]) => [
      name,
      { setup: collecting(name, setup), teardown: collecting(name, teardown) },
    ]),
  );
}

async function unknownStates(file: string, { byName }: ProviderStates): Promise<string[]> {
  const { interactions = [], messages = [] } = JSON.parse(await readFile(file, 'utf8'));
  const named: readonly { readonly name: string }[] = [...interactions, ...messages].flatMap(
    ({ providerStates = [] }) => providerStates,
  );
  return named.filter(({ name }) => !Object.hasOwn(byName, name)).map(({ name }) => `unknown provider state "${name}"`);
}
