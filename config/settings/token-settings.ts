import { z } from 'zod';
import { METADATA_COMPATIBILITIES } from '../../adapters/http/endpoints/discovery-endpoints.ts';
import { AUTHENTICATION_METHODS } from '../../domain/authentication-method.ts';
import { GRANT_NAMES, type GrantType, grantNamed } from '../../domain/grant-type.ts';
import { isResourceIndicator } from '../../domain/resource-indicator.ts';
import { Scope } from '../../domain/scope.ts';
import { BCRYPT_COST_MAX, BCRYPT_COST_MIN } from '../../domain/stored-secret.ts';
import { TOKEN_ALGORITHMS } from '../../domain/token-key.ts';
import { LIFETIME_SECONDS_MAX, LIFETIME_SECONDS_MIN } from '../../domain/token-lifetime.ts';
import { TOKEN_PROFILES } from '../../domain/token-policy.ts';
import { settingsGroup } from './read-environment.ts';
import { refuse, warning } from './rules.ts';
import { listOf, oneOf, text, trueOrFalse, wholeNumber } from './setting-kinds.ts';

/** The defaults of other settings. */
export const profile = settingsGroup({
  rows: {
    SERVICE_PROFILE: oneOf('specification', 'standard')
      .default('specification')
      .describe(
        'which defaults other settings have. With `standard`, [common clients and resource ' +
          'servers](getting-a-token.md) work without further settings, and `TOKEN_AUDIENCE` is required',
      ),
  },
});

/** How clients authenticate. */
export const authentication = settingsGroup({
  rows: {
    CLIENT_AUTHENTICATION_METHODS: listOf(...AUTHENTICATION_METHODS)
      .default(['client_secret_post'])
      .meta({
        standard: 'client_secret_post,client_secret_basic,private_key_jwt',
        description:
          'how clients may authenticate. Only these methods are accepted and published. [Which clients need ' +
          'which](getting-a-token.md)',
      }),
    GRANT_TYPES: listOf('client_credentials', 'jwt-bearer', GRANT_NAMES['jwt-bearer'])
      .transform((names): readonly GrantType[] => [...new Set(names.flatMap((name) => grantNamed(name) ?? []))])
      .default(['client_credentials'])
      .describe(
        'the grants of the token endpoint. `jwt-bearer` is for clients that [sign their grant](client-assertions.md#the-grant-jwt-bearer)',
      ),
    JWT_BEARER_MAX_LIFETIME_SECONDS: wholeNumber(1, 86_400)
      .default(3_600)
      .describe('how far `exp` of an assertion may be ahead that a client has signed for the grant `jwt-bearer`'),
  },
});

/** How secrets are verified. */
export const secrets = settingsGroup({
  rows: {
    CLIENT_SECRET_COST: wholeNumber(BCRYPT_COST_MIN, BCRYPT_COST_MAX)
      .default(10)
      .describe(
        'the BCrypt cost of a refusal until the costs of the stored secrets are known, and where there are none. ' +
          'Otherwise a refusal has theirs',
      ),
    CLIENT_SECRET_COST_MAX: wholeNumber(BCRYPT_COST_MIN, BCRYPT_COST_MAX)
      .default(BCRYPT_COST_MAX)
      .describe(
        'the highest BCrypt cost that is computed. A stored secret with a higher cost matches nothing. ' +
          'At least `CLIENT_SECRET_COST`',
      ),
    CLIENT_SECRET_CACHE_MAX: wholeNumber(0, 1_000_000)
      .default(100_000)
      .describe(
        'verified secrets in memory, as digests of 400 bytes; the least recently used go first. `0` switches the ' +
          'cache off',
      ),
    CLIENT_FAILURES_PER_MINUTE: wholeNumber(0, 1_000_000)
      .default(300)
      .describe(
        'failed attempts per minute for one client id from one address. An IPv6 address counts as its /64 network. ' +
          'Further attempts are slowed down; `0` is no limit, and then [secrets can be guessed ' +
          'faster](operate.md#limits)',
      ),
  },
  rules(_given, values) {
    const isLess = values !== undefined && values.CLIENT_SECRET_COST_MAX < values.CLIENT_SECRET_COST;
    return refuse(isLess, 'CLIENT_SECRET_COST_MAX', 'must be at least CLIENT_SECRET_COST');
  },
});

/** Only the operator knows this value. */
const WHAT_AUDIENCE =
  'write the URL of the API that clients call with the token, such as https://api.example.com, ' +
  'which it finds in claim aud';

/** What tokens and their responses contain. */
export const tokens = settingsGroup({
  rows: {
    TOKEN_ISSUER: text().optional().meta({
      absent: '`BASE_URL`',
      description: 'claim `iss`',
    }),
    TOKEN_LIFETIME_SECONDS: wholeNumber(LIFETIME_SECONDS_MIN, LIFETIME_SECONDS_MAX)
      .default(300)
      .describe('the lifetime of a token. It is `exp - iat`, and `expires_in`'),
    TOKEN_SIGNING_ALG: oneOf(...TOKEN_ALGORITHMS)
      .default('RS256')
      .describe(
        'the algorithm of signatures. `ES256` and `EdDSA` cost a tenth of `RS256`. [What verifiers ' +
          'need](resource-servers.md#the-algorithm), and [how to change it](operate.md#changing-the-algorithm)',
      ),
    TOKEN_PROFILE: oneOf(...TOKEN_PROFILES)
      .default('default')
      .meta({
        standard: 'common',
        description:
          'the form of tokens. `rfc9068`, for strict verifiers: header `typ` = `at+jwt`, claims `client_id` and `scope` (a ' +
          'string). `common`: the same claims and `typ` = `JWT`, since [some common verifiers](resource-servers.md) refuse ' +
          '`at+jwt`. Both require `TOKEN_AUDIENCE`',
      }),
    TOKEN_AUDIENCE: text()
      .optional()
      .meta({
        absent: "the client's id",
        description:
          "claim `aud` of every token that is requested without a `resource`. The service's own paths require it. " +
          'Each resource server can have [its own ' +
          'audience](resource-servers.md#one-audience-for-each-resource-server)',
      }),
    AUDIENCE_PARAMETER: oneOf('ignored', 'resource')
      .default('ignored')
      .meta({
        standard: 'resource',
        description:
          'what the parameter `audience` of a token request means. `resource`: the same as `resource` (RFC 8707), for ' +
          'clients with the habits of other providers; `TOKEN_AUDIENCE` may be named in both',
      }),
    TOKEN_SCOPE_CLAIM: trueOrFalse().default(false).describe('`true` adds claim `scope`, an array of strings'),
    TOKEN_RESPONSE_SCOPE: oneOf('requested', 'always')
      .default('requested')
      .meta({
        standard: 'always',
        description:
          'when the response has `scope`, the scopes of the token. `requested`: if the request has one. Some ' +
          'clients read it to learn what they may do',
      }),
  },
  rules({ TOKEN_PROFILE: form, SERVICE_PROFILE: defaults, TOKEN_AUDIENCE: audience }) {
    const rule = 'is required if TOKEN_PROFILE is rfc9068 or common, or SERVICE_PROFILE is standard';
    const isNeeded = form === 'rfc9068' || form === 'common' || defaults === 'standard';
    return [
      ...refuse(isNeeded && !audience, 'TOKEN_AUDIENCE', rule, WHAT_AUDIENCE),
      ...warning(
        audience && !isResourceIndicator(audience),
        'TOKEN_AUDIENCE',
        'is no URL: clients that name it in the parameter resource, as those of MCP do, are refused',
        'set the URL of the API, and the same value in its verifier',
      ),
    ];
  },
});

const STANDARD_COMPATIBILITY = 'mcp,oidc';

/** What clients and verifiers may read about the service. */
export const metadata = settingsGroup({
  rows: {
    PUBLIC_METADATA: trueOrFalse()
      .default(false)
      .meta({
        standard: 'true',
        description:
          '`true` opens the key set and the metadata to all callers. They are `/oauth2/jwks` and ' +
          '`/.well-known/oauth-authorization-server`',
      }),
    METADATA_COMPATIBILITY: listOf(...METADATA_COMPATIBILITIES)
      .optional()
      .meta({
        standard: STANDARD_COMPATIBILITY,
        description:
          'clients with needs beyond the standard. `mcp` adds to the metadata what clients of the [Model Context ' +
          'Protocol](resource-servers.md#mcp-servers) insist on, and requires `PUBLIC_METADATA=true`. `oidc` serves [a document for clients ' +
          'of OpenID Connect](getting-a-token.md#clients-that-want-openid-connect) at ' +
          '`/.well-known/openid-configuration`',
      }),
    METADATA_SCOPES: scopes()
      .optional()
      .describe('the scopes that the metadata lists as `scopes_supported`, separated by single spaces'),
  },
  rules({ PUBLIC_METADATA: isPublic, METADATA_COMPATIBILITY: compatibility, SERVICE_PROFILE: defaults }) {
    // Nobody has asked for what the profile adds.
    const isOfProfile = defaults === 'standard' && compatibility === STANDARD_COMPATIBILITY;
    const isClosed = compatibility?.includes('mcp') && !isOfProfile && isPublic !== 'true';
    const rule = 'must be true if METADATA_COMPATIBILITY has mcp, since these clients fetch it without a token';
    return refuse(isClosed, 'PUBLIC_METADATA', rule);
  },
});

function scopes() {
  return z
    .string()
    .refine((value) => Scope.parse(value).ok, 'must be scope tokens with single spaces between (RFC 6749 section 3.3)')
    .transform((value) => value.split(' '))
    .meta({ isList: true });
}
