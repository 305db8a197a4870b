import { runKeys } from '../adapters/cli/run-keys.ts';
import { failure, success } from '../domain/result.ts';

/** `npm run keys`: shows and revokes the keys of the shared key directory. */
process.exitCode = await runKeys(process.argv.slice(2), process, open);

/** The URL comes from the environment: every user of the machine can see arguments. */
async function open() {
  const url = process.env['DATABASE_URL'] ?? '';
  if (!/^postgres(ql)?:\/\//.test(url) || !URL.canParse(url)) {
    return failure('DATABASE_URL: must be set in the environment, to a postgresql:// URL.');
  }
  // Loaded here, since the ORM takes longer to load than everything else. Help pages do not need it.
  const { PostgresKeyRecords } = await import('../adapters/postgres/postgres-key-records.ts');
  return success(await PostgresKeyRecords.open(url));
}
