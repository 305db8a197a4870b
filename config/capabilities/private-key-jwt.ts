import { TOKEN_PATH } from '../../adapters/http/endpoints/paths.ts';
import { createStateLog } from '../../adapters/log/state-log.ts';
import { InMemoryUsedAssertions } from '../../adapters/memory/private-key-jwt/in-memory-used-assertions.ts';
import { AuthenticateByKey } from '../../application/private-key-jwt/authenticate-by-key.ts';
import { UseAssertion } from '../../application/private-key-jwt/use-assertion.ts';
import { define } from '../capability.ts';
import { LISTS, PARTS } from '../parts.ts';
import { part } from '../registration.ts';
import { settingsGroup } from '../settings/read-environment.ts';
import { oneOf, wholeNumber } from '../settings/setting-kinds.ts';
import type { Settings } from '../settings/settings.ts';
import { databaseOptions } from '../storages.ts';

/** Clients authenticate with assertions that they sign with keys of their own (RFC 7523 section 2.2). */
export const privateKeyJwt = define({
  name: 'private-key-jwt',
  settings: settingsGroup({
    methods: ['private_key_jwt'],
    rows: {
      CLIENT_ASSERTION_AUDIENCE: oneOf('issuer', 'issuer_or_token_endpoint')
        .default('issuer')
        .describe(
          'claim `aud` of an assertion with `private_key_jwt`. `issuer` is `TOKEN_ISSUER` and nothing else. `issuer_or_token_endpoint` also accepts the URL of the token endpoint, for old clients; then a malicious server can have a client sign an assertion that works here (CVE-2025-27370), see [private_key_jwt](client-assertions.md#audience)',
        ),
      CLIENT_ASSERTION_MAX_LIFETIME_SECONDS: wholeNumber(1, 3_600)
        .default(300)
        .describe(
          'how far `exp` of an assertion with `private_key_jwt` may be ahead. Authlib needs `3600`; [used assertions](client-assertions.md#limits) are then kept for as long',
        ),
    },
    doubts: {
      'CLIENT_ASSERTION_AUDIENCE: has no effect: add private_key_jwt to CLIENT_AUTHENTICATION_METHODS, or leave it out':
        (given) =>
          given['CLIENT_ASSERTION_AUDIENCE'] && !given['CLIENT_AUTHENTICATION_METHODS']?.includes('private_key_jwt'),
    },
  }),
  register(parts, { settings }) {
    const { TOKEN_ISSUER: issuer, BASE_URL, CLIENT_ASSERTION_AUDIENCE: audience } = settings;
    const { CLIENT_ASSERTION_MAX_LIFETIME_SECONDS: maxLifetimeSeconds } = settings;
    if (!isOn(settings)) return;
    part(parts, PARTS.authenticateByKey, (get) => {
      return new AuthenticateByKey({
        clients: get(PARTS.observe).clients(get(PARTS.clientRepository)),
        verifyAssertion: get(PARTS.verifyAssertion),
        useAssertion: new UseAssertion(get(PARTS.usedAssertions)),
        clock: get(PARTS.clock),
        maxLifetimeSeconds,
        audiences: audience === 'issuer' ? [issuer] : [issuer, `${BASE_URL}${TOKEN_PATH}`],
      });
    });
    part(parts, LISTS.measurements, (get) => (values) => {
      const { used, max } = get(PARTS.usedAssertions).load;
      values.gauge(
        'auth_used_assertions',
        'Used assertions of clients that are kept, so that none is used again.',
        used,
        max,
      );
    });
    if (settings.CLIENT_REPOSITORY !== 'postgres') {
      part(parts, PARTS.usedAssertions, (get) => new InMemoryUsedAssertions(get(PARTS.monotonicClock)));
      return;
    }
    part(parts, LISTS.openers, (get) => async (container) => {
      const { openUsedAssertions } = await loadUsedAssertions();
      const log = createStateLog(get(PARTS.log).child({ dependency: 'used assertions' }));
      const options = databaseOptions(settings, get(PARTS.log), get(PARTS.processMetrics));
      const { adapter, dependency } = await openUsedAssertions(options, get(PARTS.clock), log);
      container.registerInstance(PARTS.usedAssertions, adapter);
      return dependency;
    });
  },
  async tables(settings) {
    if (!isOn(settings)) return {};
    if (settings.CLIENT_REPOSITORY !== 'postgres') return {};
    const { USED_ASSERTIONS } = await import('../../adapters/postgres/used-assertion-table.ts');
    return { inOwnPool: [USED_ASSERTIONS], connections: (await loadUsedAssertions()).USES_POOL_SIZE };
  },
});

function isOn({ CLIENT_AUTHENTICATION_METHODS: methods }: Settings): boolean {
  return methods.includes('private_key_jwt');
}

function loadUsedAssertions() {
  return import('../../adapters/postgres/private-key-jwt/postgres-used-assertions.ts');
}
