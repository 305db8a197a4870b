import type { InjectionToken } from 'tsyringe';
import { jsonReader } from '../../adapters/files/json-fault.ts';
import { type IssuerSource, KEY_SET_TIMEOUT_MS } from '../../adapters/http-client/federated-jwt/fetch-issuer-keys.ts';
import { inspectIssuers } from '../../adapters/http-client/federated-jwt/inspect-issuers.ts';
import { IssuerKeySets } from '../../adapters/http-client/federated-jwt/issuer-key-sets.ts';
import { readIssuersFile } from '../../adapters/http-client/federated-jwt/read-issuers-file.ts';
import { createStateLog } from '../../adapters/log/state-log.ts';
import { AuthenticateByIdentity } from '../../application/federated-jwt/authenticate-by-identity.ts';
import type { NewClient } from '../../domain/client-registration.ts';
import { type TrustedIssuer, TrustedIssuers } from '../../domain/federated-jwt/trusted-issuers.ts';
import { failure, type Result, success } from '../../domain/result.ts';
import { define } from '../capability.ts';
import { LISTS, PARTS } from '../parts.ts';
import { part } from '../registration.ts';
import type { Configuration } from '../settings/configuration.ts';
import { settingsGroup, type ValuesOf } from '../settings/read-environment.ts';
import { text, wholeNumber } from '../settings/setting-kinds.ts';
import type { Settings } from '../settings/settings.ts';

/** A trusted issuer and the source of its keys. */
type ConfiguredIssuer = TrustedIssuer & Pick<IssuerSource, 'source'>;

// biome-ignore format: one line for each setting, so that checks, defaults and texts stand below each other
const SETTINGS = settingsGroup({
  rows: {
    CLIENT_ASSERTION_ISSUERS_FILE: text().optional().describe('JSON array of [trusted issuers](client-assertions.md#trusted-issuers), required for `federated_jwt`. Only its owner may be able to write to it'),
    CLIENT_ASSERTION_MAX_AGE_SECONDS: wholeNumber(1, 86_400).default(3_600).describe('the greatest age of an assertion by its `iat`. Without `iat`, how far `exp` may be ahead'),
    CLIENT_ASSERTION_KEYS_REFRESH_SECONDS: wholeNumber(1, 3_600).default(60).describe('seconds between two attempts to fetch the key set of an issuer'),
    CLIENT_ASSERTION_KEYS_STALE_SECONDS: wholeNumber(0, 2_592_000).default(86_400).describe('seconds for which a key set is used after the last attempt that succeeded'),
  },
  contradictions: {
    'CLIENT_ASSERTION_ISSUERS_FILE: is required if CLIENT_AUTHENTICATION_METHODS has federated_jwt': (given) => given['CLIENT_AUTHENTICATION_METHODS']?.includes('federated_jwt') && !given['CLIENT_ASSERTION_ISSUERS_FILE'],
  },
  doubts: {
    'CLIENT_ASSERTION_ISSUERS_FILE: has no effect: add federated_jwt to CLIENT_AUTHENTICATION_METHODS, or leave it out': (given) => given['CLIENT_ASSERTION_ISSUERS_FILE'] && !given['CLIENT_AUTHENTICATION_METHODS']?.includes('federated_jwt'),
  },
  ownersFiles: ['CLIENT_ASSERTION_ISSUERS_FILE'],
  methods: ['federated_jwt'],
});

/** Clients authenticate with the identities that other issuers give them, such as Kubernetes or GitHub. */
export const federatedJwt = define({
  name: 'federated-jwt',
  settings: SETTINGS,
  /** The issuers of CLIENT_ASSERTION_ISSUERS_FILE, with their keys or where to fetch them. */
  read({ load, settings, clients }): Result<readonly ConfiguredIssuer[], readonly string[]> {
    const file = load('CLIENT_ASSERTION_ISSUERS_FILE', jsonReader(readIssuersFile));
    if (!file.ok) return file;
    if (settings === undefined) return success([]);
    const { TOKEN_ISSUER } = settings;
    const issuers = (file.value ?? []).map(({ audience = TOKEN_ISSUER, ...issuer }) => ({ audience, ...issuer }));
    const problems = isOn(settings) ? problemsOfRules(clients, new TrustedIssuers(issuers)) : [];
    return problems.length === 0 ? success(issuers) : failure(problems.map((problem) => `CLIENTS_FILE: ${problem}`));
  },
  register(parts, { settings }, issuers) {
    if (!isOn(settings)) return;
    part(parts, PARTS.authenticateByIdentity, (get) => {
      return new AuthenticateByIdentity({
        issuers: new TrustedIssuers(issuers),
        issuerKeys: get(KEY_SETS),
        verifyAssertion: get(PARTS.verifyAssertion),
        clients: get(PARTS.observe).clients(get(PARTS.clientRepository)),
        clock: get(PARTS.clock),
        maxAgeSeconds: settings.CLIENT_ASSERTION_MAX_AGE_SECONDS,
      });
    });
    part(parts, KEY_SETS, (get) => {
      return new IssuerKeySets(issuers, {
        timeoutMs: KEY_SET_TIMEOUT_MS,
        refreshMs: settings.CLIENT_ASSERTION_KEYS_REFRESH_SECONDS * 1_000,
        staleMs: settings.CLIENT_ASSERTION_KEYS_STALE_SECONDS * 1_000,
        log: createStateLog(get(PARTS.log)),
      });
    });
    part(parts, LISTS.dependencies, (get) => get(KEY_SETS));
    part(parts, LISTS.preparations, (get) => () => get(KEY_SETS).start());
    part(parts, LISTS.measurements, (get) => (values) => {
      const help = 'Key sets of trusted issuers: current, stale (the last attempt to fetch it failed), or absent.';
      values.gauges('state', 'auth_issuer_key_sets', help, get(KEY_SETS).counts());
    });
  },
  inspect({ settings }, issuers) {
    if (settings.CLIENT_ASSERTION_ISSUERS_FILE === undefined) return [];
    return [{ name: 'trusted issuers', inspect: () => inspectIssuers(issuers) }];
  },
});

const KEY_SETS = Symbol('IssuerKeySets') as InjectionToken<IssuerKeySets>;

/** The trusted issuers of a configuration, and the greatest age of their assertions. */
export function federationOf({ own, settings }: Configuration) {
  const issuers = own.get(federatedJwt.name) as readonly ConfiguredIssuer[];
  const { CLIENT_ASSERTION_MAX_AGE_SECONDS: maxAgeSeconds } = settings as Settings & ValuesOf<typeof SETTINGS.rows>;
  return { issuers, maxAgeSeconds };
}

function isOn({ CLIENT_AUTHENTICATION_METHODS: methods }: Settings): boolean {
  return methods.includes('federated_jwt');
}

/** The rules that no assertion can match, or that are too weak for the platform of their issuer. */
function problemsOfRules(clients: readonly NewClient[], trusted: TrustedIssuers): readonly string[] {
  return clients.flatMap(({ details }, position) =>
    (details?.subjects ?? []).flatMap((rule, index) => {
      const problem = trusted.problemOf(rule);
      return problem === undefined ? [] : [`entry ${position}: federated_subjects entry ${index} ${problem}`];
    }),
  );
}
