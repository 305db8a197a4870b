/** Where identifiers come from. */
export interface IdGenerator {
  /** A new random UUID (RFC 9562 version 4, lower case), never given before. Never fails, costs a microsecond. */
  uuid(): string;
}
