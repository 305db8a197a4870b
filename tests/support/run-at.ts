import pg from 'pg';

/** Runs one statement on a new connection. */
export async function runAt(
  url: string,
  text: string,
  values: readonly unknown[] = [],
): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  // A test may kill the server while this connection is open.
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query(text, [...values])).rows;
  } finally {
    await client.end();
  }
}
