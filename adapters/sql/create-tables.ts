import { type EntitySchema, MikroORM } from '@mikro-orm/core';
import type { AbstractSqlDriver } from '@mikro-orm/sql';
import { type DatabaseKind, entitiesFor, type TableName } from './entities.ts';
import { compileOnly } from './statement-builder.ts';

/** The statements that create tables, as MikroORM writes them for a database. Connects to none. */
export async function creationOf(
  kind: DatabaseKind,
  driver: new (...args: never[]) => AbstractSqlDriver,
  ...tables: readonly TableName[]
): Promise<readonly string[]> {
  const entities = entitiesFor(kind);
  const orm = new MikroORM({
    driver: driver as never,
    entities: tables.map((name): EntitySchema => entities[name]),
    dbName: 'none',
    ensureDatabase: false,
    logger: () => {},
    driverOptions: compileOnly(kind),
  });
  const created = await orm.schema.getCreateSchemaSQL({ wrap: false });
  return created.split('\n').filter((statement: string) => statement !== '');
}
