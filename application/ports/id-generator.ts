/** Generates identifiers. */
export interface IdGenerator {
  /** A new random UUID (RFC 9562 version 4, lower case), different at each call. Never fails, costs a microsecond. */
  uuid(): string;
}
