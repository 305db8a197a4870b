import type { HttpTimeouts } from '../../adapters/http/server/http-server.ts';
import type { IssuerSource } from '../../adapters/http-client/federated-jwt/fetch-issuer-keys.ts';
import type { KeySecret } from '../../adapters/jwt/key-secrets.ts';
import type { KeyFile } from '../../adapters/jwt/read-key-file.ts';
import type { SecretText } from '../../adapters/system/secret-text.ts';
import type { ServerCertificate } from '../../adapters/tls/server-certificate.ts';
import type { NewClient } from '../../domain/client-registration.ts';
import type { TrustedIssuer } from '../../domain/federated-jwt/trusted-issuers.ts';
import type { Settings } from './settings.ts';

/** A trusted issuer and the source of its keys. */
export type ConfiguredIssuer = TrustedIssuer & Pick<IssuerSource, 'source'>;

/**
 * Everything that the service needs to know before it starts: its settings, and what is in the files that they name.
 */
export interface Configuration {
  readonly settings: Settings;
  /** The registrations of the in-memory repository; none if they are in a database. */
  readonly clients: readonly NewClient[];
  /** The signing key of KEY_FILE; undefined if keys are generated in memory. */
  readonly keyFile: KeyFile | undefined;
  /** Of KEY_SECRET_FILE, the one that seals first. */
  readonly keySecrets: readonly KeySecret[];
  /** Of CLIENT_ASSERTION_ISSUERS_FILE. */
  readonly issuers: readonly ConfiguredIssuer[];
  /** Of MANAGEMENT_TOKEN, or of its file. */
  readonly managementToken: SecretText | undefined;
  /** Of TLS_CERT_FILE and TLS_KEY_FILE. */
  readonly certificate: ServerCertificate | undefined;
  readonly httpTimeouts: HttpTimeouts;
}
