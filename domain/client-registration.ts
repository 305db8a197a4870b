import type { ClientClaims } from './client-claims.ts';
import type { ClientDetails } from './client-details.ts';
import { CLIENT_FIELDS, type ClientFields, TOKEN_FIELD_NAMES, type TokenFieldName } from './client-fields.ts';
import { type GrantType, grantNamed } from './grant-type.ts';
import type { RegisteredResource } from './resource-indicator.ts';
import { failure, type Result, success } from './result.ts';
import { Scope } from './scope.ts';
import { isLocked, StoredSecret } from './stored-secret.ts';
import { hasUnprintable, NO_UNPRINTABLE } from './unprintable.ts';

/** The longest client identifier, in Unicode characters. */
const CLIENT_ID_MAX_LENGTH = 255;

/** The longest secret, name and scope, in UTF-16 code units: each request reads them. */
export const FIELD_MAX_LENGTH = 20_000;

/**
 * Whether a text can be a client identifier: 1 to 255 Unicode characters, none of them a control character. Wider than
 * RFC 6749 appendix A.1 (printable ASCII), since other systems make the registrations; ids are compared byte by byte.
 */
export function isClientId(text: string): boolean {
  if (text.length > 2 * CLIENT_ID_MAX_LENGTH) return false;
  const length = [...text].length;
  return length >= 1 && length <= CLIENT_ID_MAX_LENGTH && !/\p{Cc}/u.test(text);
}

/** The columns of a client, as texts. */
export interface ClientColumns {
  /** The registration's own identifier: numeric in a table, random in memory. Not the client's. */
  readonly id: string;
  readonly clientId: string;
  /** A BCrypt encoding; in memory also `{noop}` and the plain secret. */
  readonly clientSecret: string;
  readonly clientName: string;
  /** Space-delimited (RFC 6749 section 3.3). */
  readonly scope: string;
}

/** A registration as it is stored, before its invariants are checked. */
export interface ClientRegistrationFields extends ClientColumns, Partial<Record<TokenFieldName, unknown>> {
  /** The resources that the client may name in a token request (RFC 8707). */
  readonly resources?: readonly RegisteredResource[];
}

/**
 * A client to register. Storage gives it its `id`. A kind of details that is absent says nothing; an empty one says
 * that there are none.
 */
export interface NewClient extends Omit<ClientColumns, 'id'> {
  readonly details?: Partial<ClientDetails>;
}

/** The fields' names outside: the client metadata of RFC 7591 section 2, as in a clients file and in `--json`. */
export const FIELD_NAMES = {
  id: 'id',
  clientId: 'client_id',
  clientSecret: 'client_secret',
  clientName: 'client_name',
  scope: 'scope',
  claims: 'claims',
  token_lifetime_seconds: 'token_lifetime_seconds',
  grant_types: 'grant_types',
  audiences: 'audiences',
  credentials: 'credentials',
  details: 'details',
} as const satisfies Record<Exclude<keyof ClientRegistrationFields, 'resources'> | 'credentials' | 'details', string>;

/** The field that breaks an invariant, and the invariant; never the field's value. */
export interface RegistrationProblem {
  readonly field: keyof typeof FIELD_NAMES;
  readonly rule: string;
}

/** A problem under the external name of its field, such as `client_name must not be empty`. */
export function describeProblem({ field, rule }: RegistrationProblem): string {
  return `${FIELD_NAMES[field]} ${rule}`;
}

/** A client that was registered to get tokens by its id and secret. Immutable. */
export class ClientRegistration {
  readonly id: string;
  readonly clientId: string;
  readonly clientSecret: StoredSecret;
  readonly clientName: string;
  readonly scope: Scope;
  readonly resources: readonly RegisteredResource[];
  readonly claims: ClientClaims;
  /** Infinity: as long as the deployment's. */
  readonly tokenLifetimeSeconds: number;
  /** What it serves as a resource server. */
  readonly audiences: readonly string[];
  /** Undefined: all that are switched on. */
  readonly #grantTypes: readonly (GrantType | undefined)[] | undefined;

  private constructor(
    fields: ClientRegistrationFields,
    clientSecret: StoredSecret,
    scope: Scope,
    { claims, token_lifetime_seconds, grant_types, audiences }: Pick<ClientFields, TokenFieldName>,
  ) {
    this.id = fields.id;
    this.clientId = fields.clientId;
    this.clientSecret = clientSecret;
    this.clientName = fields.clientName;
    this.scope = scope;
    this.resources = fields.resources ?? [];
    this.claims = claims;
    this.tokenLifetimeSeconds = token_lifetime_seconds ?? Infinity;
    this.audiences = audiences ?? [];
    this.#grantTypes = grant_types?.map(grantNamed);
    Object.freeze(this);
  }

  /**
   * Whether a lock on its secret disables the client, however it authenticates. A plain secret may begin like a lock.
   */
  get isDisabled(): boolean {
    return this.clientSecret.kind === 'unusable' && isLocked(this.clientSecret.reveal());
  }

  mayUse(grant: GrantType): boolean {
    return this.#grantTypes?.includes(grant) ?? true;
  }

  /**
   * A registration that somebody makes now. An id that nobody can see in full is refused; one that another program has
   * stored is not.
   */
  static toRegister(fields: ClientRegistrationFields): Result<ClientRegistration, RegistrationProblem> {
    const registration = ClientRegistration.of(fields);
    if (!registration.ok || !hasUnprintable(fields.clientId)) return registration;
    return failure({ field: 'clientId', rule: NO_UNPRINTABLE });
  }

  /**
   * A registration, or the first invariant that its fields break. A secret that nothing can match is no problem here:
   * this is how a client is locked, and the client is refused when it requests a token.
   */
  static of(fields: ClientRegistrationFields): Result<ClientRegistration, RegistrationProblem> {
    if (fields.id === '') return failure({ field: 'id', rule: 'must not be empty' });
    if (!isClientId(fields.clientId)) {
      return failure({ field: 'clientId', rule: 'must have 1 to 255 characters and no control character' });
    }
    const long = (['clientSecret', 'clientName', 'scope'] as const).find(
      (field) => fields[field].length > FIELD_MAX_LENGTH,
    );
    if (long !== undefined) return failure({ field: long, rule: `must have at most ${FIELD_MAX_LENGTH} characters` });
    if (fields.clientSecret === '') return failure({ field: 'clientSecret', rule: 'must not be empty' });
    if (fields.clientName === '') return failure({ field: 'clientName', rule: 'must not be empty' });
    const scope = Scope.parse(fields.scope);
    if (!scope.ok) {
      return failure({
        field: 'scope',
        rule: 'must be one or more scope tokens with single spaces between (RFC 6749 section 3.3)',
      });
    }
    const tokenFields: Partial<Record<TokenFieldName, unknown>> = {};
    for (const field of TOKEN_FIELD_NAMES) {
      const { [field]: value = CLIENT_FIELDS[field].empty } = fields;
      const rule = CLIENT_FIELDS[field].ruleOf(value);
      if (rule !== undefined) return failure({ field, rule });
      tokenFields[field] = value;
    }
    const checked = tokenFields as Pick<ClientFields, TokenFieldName>;
    return success(new ClientRegistration(fields, StoredSecret.parse(fields.clientSecret), scope.value, checked));
  }
}
