import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect, it } from '@jest/globals';
import { AlwaysOnSampler, type ReadableSpan } from '@opentelemetry/sdk-trace';
import bcrypt from 'bcrypt';
import { joseTokenVerifier } from '../../../adapters/jwt/jose-token-verifier.ts';
import { NodeCryptoAssertionVerifier } from '../../../adapters/jwt/node-crypto-assertion-verifier.ts';
import { NodeCryptoTokenSigner } from '../../../adapters/jwt/node-crypto-token-signer.ts';
import { InMemoryFederatedClients } from '../../../adapters/memory/federated-jwt/in-memory-federated-clients.ts';
import { InMemoryClientRepository } from '../../../adapters/memory/in-memory-client-repository.ts';
import { inMemoryClientResources } from '../../../adapters/memory/in-memory-client-resources.ts';
import { inMemoryClientKeys } from '../../../adapters/memory/private-key-jwt/in-memory-client-keys.ts';
import { BcryptSecretVerifier } from '../../../adapters/secrets/bcrypt-secret-verifier.ts';
import { VERIFICATION_QUEUE_LIMITS, VerificationQueue } from '../../../adapters/secrets/verification-queue.ts';
import { RandomIdGenerator, SystemClock } from '../../../adapters/system/system.ts';
import { RequestTracing } from '../../../adapters/tracing/request-tracing.ts';
import { SpanQueue } from '../../../adapters/tracing/span-queue.ts';
import { tracedPorts } from '../../../adapters/tracing/traced-ports.ts';
import { NO_DETAILS } from '../../../domain/client-details.ts';
import { NO_SECRET, StoredSecret } from '../../../domain/stored-secret.ts';
import { describeAssertionVerifier } from '../../contracts/assertion-verifier.ts';
import { describeClientKeys } from '../../contracts/client-keys.ts';
import { A_CLIENT } from '../../contracts/client-repository.ts';
import { describeClientResources } from '../../contracts/client-resources.ts';
import { describeFederatedClients } from '../../contracts/federated-clients.ts';
import { describeSecretVerifier } from '../../contracts/secret-verifier.ts';
import { describeTokenSigner } from '../../contracts/token-signer.ts';
import { describeTokenVerifier } from '../../contracts/token-verifier.ts';
import { describeVerificationSlots } from '../../contracts/verification-slots.ts';
import { atOnce } from '../../support/at-once.ts';
import { FixedClock } from '../../support/fixed-clock.ts';
import { freshKeyRing } from '../../support/fresh-key-ring.ts';

const ended: ReadableSpan[] = [];
const queue = new SpanQueue(
  { spansMax: 100_000, batchMax: 1, delayMs: 1 },
  async (spans) => void ended.push(...spans),
  () => {},
);
const tracing = new RequestTracing({ queue, sampler: new AlwaysOnSampler(), resource: {} });
const ports = tracedPorts(tracing);

/** Does this in a request. */
async function inRequest<Outcome>(work: () => Promise<Outcome>): Promise<Outcome> {
  let outcome: { readonly value: Outcome } | undefined;
  const handle = tracing.around(async () => {
    outcome = { value: await work() };
  });
  await handle({ headers: {} } as IncomingMessage, {} as ServerResponse);
  if (outcome === undefined) throw new Error('the request was not handled');
  return outcome.value;
}

/** The port, with each call in a request of its own. */
function requested<Port extends object>(port: Port, ...methods: readonly (keyof Port)[]): Port {
  const calls = methods.map((name) => {
    const call = port[name] as (...args: unknown[]) => Promise<unknown>;
    return [name, (...args: unknown[]) => inRequest(() => call.apply(port, args))];
  });
  return { ...port, ...Object.fromEntries(calls) };
}

describeSecretVerifier('BcryptSecretVerifier, traced,', () => ({
  verifier: requested(ports.secrets(new BcryptSecretVerifier({ run: atOnce, cost: 4, costMax: 6 })), 'verify'),
  store: async (secret) => StoredSecret.parse(await bcrypt.hash(secret, 4)),
}));
describeAssertionVerifier('NodeCryptoAssertionVerifier, traced,', () =>
  requested(ports.assertions(new NodeCryptoAssertionVerifier({ run: atOnce })), 'verify'),
);
describeTokenSigner('NodeCryptoTokenSigner, traced,', async () => {
  const keys = await freshKeyRing();
  return { signer: requested(ports.signer(new NodeCryptoTokenSigner(keys)), 'sign'), keys };
});
describeTokenVerifier('joseTokenVerifier, traced,', async () => {
  const keys = await freshKeyRing();
  return {
    signer: new NodeCryptoTokenSigner(keys),
    verifier: requested(ports.tokens(joseTokenVerifier(keys)), 'verify'),
  };
});
describeClientKeys('inMemoryClientKeys, traced,', async (clients) => {
  const repository = new InMemoryClientRepository(new RandomIdGenerator(), new FixedClock(), clients);
  return requested(ports.clientKeys(inMemoryClientKeys(repository, clients)), 'findKeys');
});
describeClientResources('inMemoryClientResources, traced,', async (clients) => {
  const registered = clients.map(({ clientId, resources }) => {
    return { ...A_CLIENT, clientId, details: { ...NO_DETAILS, resources } };
  });
  const clientResources = requested(ports.clientResources(inMemoryClientResources(registered)), 'findResources');
  return { clientResources, idOf: () => 'any', close: async () => {} };
});
describeFederatedClients('InMemoryFederatedClients, traced,', async () => {
  const repository = new InMemoryClientRepository(new RandomIdGenerator(), new SystemClock());
  const clients = new InMemoryFederatedClients(repository);
  return {
    clients: requested(ports.federatedClients(clients), 'findBySubject'),
    async add(clientId, subjects) {
      const details = { ...NO_DETAILS, subjects };
      const client = { clientId, clientSecret: NO_SECRET, clientName: 'A workload', scope: 'read', details };
      repository.add(client);
      clients.add(client);
    },
    close: async () => {},
  };
});
describeVerificationSlots('VerificationQueue, traced,', () => {
  const slots = new VerificationQueue({ ...VERIFICATION_QUEUE_LIMITS, concurrentCheap: 1, fifoRounds: 8 * 2 ** 4 });
  return { ...requested(ports.slots(slots), 'acquire'), close: () => slots.close() };
});

it('each traced port has recorded its steps', async () => {
  await queue.forceFlush();
  const names = new Set(ended.map(({ name }) => name));
  expect([...names].toSorted()).toEqual(
    [
      'HTTP',
      'look up identity',
      'look up keys',
      'look up resources',
      'sign token',
      'verify assertion',
      'verify secret',
      'verify token',
      'wait for slot',
    ].toSorted(),
  );
});
