import type { EntitySchema } from '@mikro-orm/core';

/** A table that the service uses, and creates if it is missing. */
export interface TableDefinition {
  readonly name: string;
  readonly schema: EntitySchema;
  /** An existing table must have them; it may have more. */
  readonly columns: readonly string[];
  /** Columns that an existing table may lack, all or none. */
  readonly optional: readonly string[];
  /** What to do once a table of this name is lost. */
  readonly ifLost: string;
  /** A statement that completes the table once it is created. */
  readonly more: string | undefined;
  /** What the service does with the rows. Others write what it only reads: such a table comes first, and has a shape that is checked. */
  readonly access: 'read' | 'read and write';
}

/** A table with everything that statements need from its schema. */
export function defineTable(
  schema: EntitySchema,
  access: TableDefinition['access'],
  {
    optional = [],
    more,
    ifLost,
  }: Pick<TableDefinition, 'ifLost'> & Partial<Pick<TableDefinition, 'optional' | 'more'>>,
): TableDefinition {
  const properties = Object.entries(schema.properties);
  const columns = properties.map(([name, { fieldName = name }]) => fieldName);
  return { name: schema.tableName, schema, columns, optional, more, access, ifLost };
}
