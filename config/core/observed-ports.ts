import type { ObservedPorts } from '../../application/ports/observed-ports.ts';
import { PARTS } from '../parts.ts';
import type { Get } from '../registration.ts';

const same = <Port>(port: Port): Port => port;

const UNOBSERVED: ObservedPorts = {
  clients: same,
  clientKeys: same,
  clientResources: same,
  federatedClients: same,
  slots: same,
  secrets: same,
  assertions: same,
  tokens: same,
  signer: same,
};

/** What observes the steps of a request; without any, the ports as they are. */
export function observedPorts(get: Get): ObservedPorts {
  return get.optional(PARTS.observedPorts) ?? UNOBSERVED;
}
