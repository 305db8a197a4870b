import type { EntitySchema } from '@mikro-orm/core';

/** A table that the service uses: what is made where there is none, and what one that is there has to have. */
export interface TableDefinition {
  readonly name: string;
  /** Of which the statements are made that make the table. */
  readonly schema: EntitySchema;
  /** What a table that somebody else made has to have; it may have more. */
  readonly columns: readonly string[];
  /** What the service does with its rows. */
  readonly access: 'read' | 'read and write';
}
