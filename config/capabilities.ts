import { exampleResource } from './capabilities/example-resource.ts';
import { federatedJwt } from './capabilities/federated-jwt.ts';
import { keyDirectory } from './capabilities/key-directory.ts';
import { onePort } from './capabilities/one-port.ts';
import { privateKeyJwt } from './capabilities/private-key-jwt.ts';
import { proxyProtocol } from './capabilities/proxy-protocol.ts';
import { statusPage } from './capabilities/status-page.ts';
import { tls } from './capabilities/tls.ts';
import { tokenReuse } from './capabilities/token-reuse.ts';
import type { Capability } from './capability.ts';

/** What the service can do beside the core; docs/capabilities.md says how to remove one. Programs have no line: nothing starts them here. A PROXY header comes before TLS. */
export const CAPABILITIES: readonly Capability[] = [
  keyDirectory,
  privateKeyJwt,
  federatedJwt,
  exampleResource,
  tokenReuse,
  statusPage,
  onePort,
  proxyProtocol,
  tls,
];
