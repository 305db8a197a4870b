import type { AuthenticationMethod } from './authentication-method.ts';
import type { FederatedSubject } from './client-details.ts';
import type { ClientFields, RecordedFields } from './client-fields.ts';
import type { RegisteredResource } from './resource-indicator.ts';

/** When something stops authenticating its client. */
export interface ExpiryDocument {
  /** Seconds since the epoch; null if it never expires. */
  readonly expires_at: number | null;
  readonly expired: boolean;
}

/** What is shown of a secret. Id and name are null for the one in the column `client_secret`. */
export interface RecordedSecret extends Pick<ExpiryDocument, 'expires_at'> {
  readonly secret_id: string | null;
  readonly name: string | null;
}

interface SecretDocument extends RecordedSecret, ExpiryDocument, Pick<ClientDocument, 'bcrypt_cost'> {
  /** Whether it is 256 random bits of the program. Somebody may have chosen another one. */
  readonly generated: boolean;
}

interface KeyDocument extends ExpiryDocument {
  /** Its SHA-256 thumbprint (RFC 7638). */
  readonly key_id: string;
  readonly kid: string | null;
  readonly kty: string;
  readonly algorithms: readonly string[];
}

/**
 * A client as an operator sees it, valid or not: what `--json` prints and the audit log records, in the names of a
 * clients file (RFC 7591 section 2). Never contains a secret or a hash.
 */
export interface ClientDocument extends ClientFields {
  /** The id of the registration, as text: a table's may be beyond 2^53. */
  readonly id: string;
  readonly client_id: string;
  readonly client_name: string;
  readonly scope: string;
  /** `broken` and `disabled` clients get no token. */
  readonly state: 'enabled' | 'disabled' | 'broken';
  /** log2 of the rounds, also of a locked hash; null if the secret without an id is no BCrypt encoding, or absent. */
  readonly bcrypt_cost: number | null;
  /** The day of its last token, where that is recorded. */
  readonly last_used?: string;
  /** The rule that the registration breaks, so that the service refuses the client; null if it breaks none. */
  readonly problem: string | null;
  /** The methods for which the client has something that is valid now, whatever the service has switched on. */
  readonly authentication_methods: readonly AuthenticationMethod[];
  readonly secrets: readonly SecretDocument[];
  readonly keys: readonly KeyDocument[];
  readonly federated_subjects: readonly FederatedSubject[];
  readonly resources: readonly RegisteredResource[];
}

/** What the audit log says of a client: its secrets only by their public ids and names, its keys only by their ids. */
export interface RecordedClient
  extends Pick<ClientDocument, 'client_name' | 'scope' | 'state' | 'bcrypt_cost' | 'federated_subjects' | 'resources'>,
    RecordedFields {
  readonly secrets: readonly RecordedSecret[];
  readonly keys: readonly Pick<KeyDocument, 'key_id' | 'kid' | 'expires_at'>[];
}
