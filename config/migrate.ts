import './thread-pool-size.ts';
import { migrateTables } from './programs/migrate-tables.ts';

/** `npm run migrate`: creates and changes the service's own tables. */
process.exitCode = await migrateTables(process.argv.slice(2), process, process.env);
