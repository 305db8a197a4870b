import type { ObservedPorts } from '../../application/ports/observed-ports.ts';
import type { RequestTracing } from './request-tracing.ts';

/** The steps of a request. `auth.found` and `auth.verdict` say how a step ended; neither has an id or a secret. */
export function tracedPorts(tracing: RequestTracing): ObservedPorts {
  const found = (what: unknown) => ({ 'auth.found': what === undefined ? 'unknown' : 'found' });
  const verdict = (what: string) => ({ 'auth.verdict': what });
  return {
    clients: (port) => ({
      findByClientId: (clientId, secretId) =>
        tracing.step(
          'look up client',
          () => port.findByClientId(clientId, secretId),
          ({ kind }) => ({ 'auth.found': kind }),
        ),
      findSecret: (clientId, secretId) =>
        tracing.step('look up secret', () => port.findSecret(clientId, secretId), found),
      findWithKeys: (clientId) =>
        tracing.step(
          'look up client',
          () => port.findWithKeys(clientId),
          ({ lookup }) => ({ 'auth.found': lookup.kind }),
        ),
      findBySubject: (identity) =>
        tracing.step(
          'look up identity',
          () => port.findBySubject(identity),
          ([one]) => found(one),
        ),
    }),
    slots: (port) => ({
      acquire: (request) => tracing.step('wait for slot', () => port.acquire(request)),
    }),
    secrets: (port) => ({
      get cost() {
        return port.cost;
      },
      verify: (presented, stored) => tracing.step('verify secret', () => port.verify(presented, stored), verdict),
    }),
    assertions: (port) => ({
      cost: (assertion) => port.cost(assertion),
      verify: (assertion, keys) => tracing.step('verify assertion', () => port.verify(assertion, keys), verdict),
    }),
    tokens: (port) => ({
      verify: (token) =>
        tracing.step(
          'verify token',
          () => port.verify(token),
          (verified) => verdict(verified.ok ? 'verified' : verified.problem),
        ),
    }),
    signer: (port) => ({ sign: (claims) => tracing.step('sign token', () => port.sign(claims)) }),
  };
}
