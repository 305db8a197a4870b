import { withinNetworks } from '../../adapters/http/parsing/client-address.ts';
import { withoutMapping } from '../../adapters/http/parsing/request-head.ts';
import { createStateLog } from '../../adapters/log/state-log.ts';
import { ProxyHeaders } from '../../adapters/proxy-protocol/proxy-headers.ts';
import { define } from '../capability.ts';
import { LISTS, PARTS } from '../parts.ts';
import { part } from '../registration.ts';
import { settingsGroup } from '../settings/read-environment.ts';
import { trueOrFalse } from '../settings/setting-kinds.ts';

/** `PROXY_PROTOCOL`: the client's address from what a proxy sends in front of each connection. */
export const proxyProtocol = define({
  name: 'proxy-protocol',
  settings: settingsGroup({
    rows: {
      PROXY_PROTOCOL: trueOrFalse()
        .default(false)
        .describe(
          '`true`: each connection from `TRUSTED_PROXIES` must begin with a [PROXY header](operations.md#the-proxy-protocol), version 1 or 2, which names the client',
        ),
    },
    contradictions: {
      'TRUSTED_PROXIES: is required if PROXY_PROTOCOL is true': (given) =>
        given['PROXY_PROTOCOL'] === 'true' && !given['TRUSTED_PROXIES'],
    },
  }),
  register(parts, { settings: { PROXY_PROTOCOL: isOn, TRUSTED_PROXIES: trusted = [] } }) {
    if (!isOn) return;
    const isWithin = withinNetworks(trusted);
    part(parts, LISTS.connectionLayers, (get) => {
      const headers = new ProxyHeaders({
        isTrusted: (address) => isWithin(withoutMapping(address)),
        onRefused: createStateLog(get(PARTS.log)),
      });
      const help = 'Connections from trusted proxies that were closed because of their PROXY header.';
      get(PARTS.processMetrics).add((values) => {
        values.total('auth_proxy_headers_refused_total', help, headers.refused);
      });
      return headers.layer;
    });
  },
});
