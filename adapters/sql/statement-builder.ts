import {
  type Dialect,
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import type { DatabaseKind } from './entities.ts';
import type { StatementBuilder } from './sql-database.ts';

const PARTS = {
  postgresql: [PostgresAdapter, PostgresQueryCompiler, PostgresIntrospector],
  sqlite: [SqliteAdapter, SqliteQueryCompiler, SqliteIntrospector],
} as const;

/** A dialect that writes statements, and has no connection. */
export function compileOnly(kind: DatabaseKind): Dialect {
  const [Adapter, Compiler, Introspector] = PARTS[kind];
  return {
    createDriver: () => new DummyDriver(),
    createAdapter: () => new Adapter(),
    createQueryCompiler: () => new Compiler(),
    createIntrospector: (db) => new Introspector(db),
  };
}

export function statementBuilder(kind: DatabaseKind): StatementBuilder {
  return new Kysely({ dialect: compileOnly(kind) });
}
