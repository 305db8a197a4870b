import type { DatabaseSync } from 'node:sqlite';

type Value = string | number | null;

/** Statements for a program, on a file that is open. */
export function connectionTo(database: DatabaseSync) {
  return {
    /** With the parameters `$1`, `$2`, … */
    async query<Row>(text: string, values: readonly Value[] = []): Promise<readonly Row[]> {
      const bound: Value[] = [];
      // Each parameter by its place: SQLite looks for a name among all of them, and an import has thousands.
      const placed = text.replaceAll(/\$(\d+)/g, (_, number) => {
        bound.push(values[Number(number) - 1] ?? null);
        return '?';
      });
      const rows = database.prepare(placed).all(...bound);
      // Rows have no prototype.
      return rows.map((row) => ({ ...row })) as unknown as readonly Row[];
    },
    run: async (text: string) => database.exec(text),
    role: async () => undefined,
  };
}
