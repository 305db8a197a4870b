import { withinNetworks } from '../../adapters/http/parsing/client-address.ts';
import { withoutMapping } from '../../adapters/http/parsing/request-head.ts';
import { createStateLog } from '../../adapters/log/state-log.ts';
import { ProxyHeaders } from '../../adapters/proxy-protocol/proxy-headers.ts';
import type { Feature } from '../feature.ts';
import { type Core, PARTS } from '../parts.ts';
import type { Settings } from '../settings/settings.ts';

/** `PROXY_PROTOCOL`: the client's address from what a proxy sends in front of each connection. */
export function proxyProtocol(
  { PROXY_PROTOCOL, TRUSTED_PROXIES: trusted = [] }: Settings,
  core: Core,
): Feature | undefined {
  if (!PROXY_PROTOCOL) return undefined;
  const isWithin = withinNetworks(trusted);
  const headers = new ProxyHeaders({
    isTrusted: (address) => isWithin(withoutMapping(address)),
    onRefused: createStateLog(core.resolve(PARTS.log)),
  });
  return {
    layer: headers.layer,
    metrics(values) {
      values.total('auth_proxy_headers_refused_total', headers.refused);
    },
  };
}
